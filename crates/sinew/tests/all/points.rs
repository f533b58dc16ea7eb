//! Control points one by one, against the raw rig they were packed from.

use crate::common::Subject;
use sinew::raw::{RawBinding, RawInfluences, RawRig};

/// A tube with a copy of its mesh as a sword on its last bone.
fn tube_with_a_sword() -> RawRig {
    let mut raw = sinew_zoo::build("tube:vertices=300,bones=5").expect("a tube").raw;
    let mut sword = raw.meshes[0].clone();
    sword.name = "sword".to_owned();
    (sword.node, sword.binding) = (raw.skins[0].joints[4].bone, RawBinding::Node);
    sword.primitives.iter_mut().for_each(|primitive| primitive.influences = RawInfluences::default());
    raw.meshes.push(sword);
    raw
}

#[test]
fn influences_and_riders_are_those_of_the_source() {
    let raw = tube_with_a_sword();
    let rig = Subject::new(&raw, Vec::new()).rig;
    let bone = |palette: u32| rig.palette()[palette as usize].bone;
    let source = &raw.meshes[0].primitives[0].influences;
    for (offset, vertex) in rig.parts()[0].primitives[0].vertices.clone().enumerate() {
        let pairs = offset * source.per_vertex..(offset + 1) * source.per_vertex;
        let weights = pairs.clone().map(|i| (raw.skins[0].joints[source.joints[i] as usize].bone, source.weights[i]));
        let mut weights: Vec<_> = weights.filter(|(_, weight)| *weight > 0.0).collect();
        weights.sort_by_key(|(node, _)| *node);
        let slot = rig.point(vertex);
        let found: Vec<_> = rig.influences(slot).map(|i| (rig.skeleton().node(bone(i.palette)), i.weight)).collect();
        assert_eq!(found.len(), weights.len());
        for (a, b) in found.iter().zip(&weights) {
            assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-6, "vertex {vertex}: {found:?}, {weights:?}");
        }
        assert!(!rig.is_rider(slot));
        assert_eq!(rig.character_of_point(slot), Some(0));
    }
    for vertex in rig.parts()[1].primitives[0].vertices.clone() {
        let slot = rig.point(vertex);
        assert!(rig.is_rider(slot));
        assert_eq!(rig.main_bone(slot).map(|bone| rig.skeleton().node(bone)), Some(raw.meshes[1].node));
        assert_eq!(rig.influences(slot).count(), 1);
    }
}

#[test]
fn among_equals_the_first_bone_is_the_main_one() {
    let mut raw = sinew_zoo::build("tube:vertices=300,bones=3").expect("a tube").raw;
    let influences = &mut raw.meshes[0].primitives[0].influences;
    let vertices = influences.weights.len() / influences.per_vertex;
    // The later joint stands first in the file.
    *influences = RawInfluences { per_vertex: 2, joints: [2, 1].repeat(vertices), weights: vec![0.5; 2 * vertices] };
    let rig = Subject::new(&raw, Vec::new()).rig;
    for vertex in 0..rig.vertex_count() {
        let main = rig.main_influence(rig.point(vertex)).expect("an influence");
        assert_eq!((main.palette, main.weight), (1, 0.5));
    }
}

#[test]
fn a_number_that_is_no_slot_has_nothing() {
    let rig = Subject::zoo("tube:vertices=300,bones=3").rig;
    for slot in [rig.slots(), usize::MAX] {
        assert_eq!(rig.influences(slot).count(), 0);
        assert_eq!((rig.main_bone(slot), rig.is_rider(slot), rig.character_of_point(slot)), (None, false, None));
    }
}
