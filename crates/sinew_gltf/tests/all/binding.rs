//! New weights in documents: bound meshes stay where they are, and everything else as it was.

use glam::DVec3;
use sinew::bind::BindOptions;
use sinew::*;
use sinew_gltf::bind::{BindDocumentError, Skeleton, bind};
use sinew_gltf::{Document, RawAsset, export};

fn at_rest(raw: &RawRig) -> Vec<DVec3> {
    let (rig, _) = Rig::build(raw).expect("builds");
    let stage = Stage::new(&rig.into(), &Recipe::default()).expect("fits");
    let mut workspace = Workspace::default();
    stage.resting(&mut workspace).deform(&Cpu::serial());
    let out = workspace.mesh();
    (0..out.positions.len()).map(|vertex| out.world_position(0, vertex)).collect()
}

fn read_back(document: &Document) -> RawAsset {
    let bytes = document.to_glb().expect("can be written");
    RawAsset::from_slice("bound.glb", &bytes).expect("can be read again")
}

#[test]
fn a_skin_gets_new_weights_and_keeps_everything_else() {
    let zoo = sinew_zoo::build("arm").expect("a zoo character");
    let mut document = export(&zoo.raw, &zoo.clips).expect("exports");
    let before = document.json.clone();
    let bound = bind("arm", &mut document, Skeleton::Own, &BindOptions::default()).expect("binds");
    assert_eq!(bound.len(), 1);
    assert!(bound[0].report.bones > 8, "{:?}", bound[0].report);
    for key in ["nodes", "skins", "animations", "materials", "scenes"] {
        assert_eq!(before.get(key), document.json.get(key), "{key}");
    }
    let asset = read_back(&document);
    assert!(asset.warnings.is_empty(), "{:?}", asset.warnings);
    for (a, b) in at_rest(&asset.raw).iter().zip(at_rest(&zoo.raw)) {
        assert!(a.distance(b) < 1e-6);
    }
    let changed =
        asset.raw.meshes[0].primitives[0].influences.weights != zoo.raw.meshes[0].primitives[0].influences.weights;
    assert!(changed);
}

#[test]
fn a_mesh_without_a_skin_is_bound_where_it_stands() {
    let zoo = sinew_zoo::build("tube:vertices=600,bones=4").expect("a zoo character");
    let mut raw = zoo.raw.clone();
    let expected = at_rest(&raw);
    // The mesh on a node of its own, placed by that node alone.
    let node = raw.meshes[0].node;
    let place = glam::DAffine3::from_scale_rotation_translation(
        DVec3::splat(0.5),
        glam::DQuat::from_rotation_z(0.7),
        DVec3::new(1.0, 2.0, 3.0),
    );
    raw.bones[node].local = LocalTransform::Matrix(place);
    for p in raw.meshes[0].primitives.iter_mut().flat_map(|p| &mut p.positions) {
        *p = place.inverse().transform_point3(p.as_dvec3()).as_vec3();
    }
    raw.meshes[0].primitives.iter_mut().for_each(|p| p.influences = Default::default());
    raw.meshes[0].binding = sinew::raw::RawBinding::Node;
    raw.skins.clear();
    let mut document = export(&raw, &zoo.clips).expect("exports");
    let top = raw.bones[0].name.clone();

    let nothing =
        bind("tube", &mut document.clone(), Skeleton::Own, &BindOptions::default()).expect_err("nothing to bind");
    assert!(nothing.to_string().contains("--skeleton"), "{nothing}");
    let unknown = bind("tube", &mut document.clone(), Skeleton::Below("no such bone"), &BindOptions::default());
    assert!(unknown.expect_err("no such bone").to_string().contains("no such bone"));

    bind("tube", &mut document, Skeleton::Below(&top), &BindOptions::default()).expect("binds");
    let asset = read_back(&document);
    assert_eq!(asset.raw.skins[0].joints.len(), 4);
    for (a, b) in at_rest(&asset.raw).iter().zip(&expected) {
        assert!(a.distance(*b) < 1e-5, "{a} {b}");
    }
    let again = bind("tube", &mut document, Skeleton::Below(&top), &BindOptions::default());
    assert!(matches!(again, Err(BindDocumentError::Nothing { .. })));
}

#[test]
fn the_skeleton_may_come_from_another_file() {
    let zoo = sinew_zoo::build("tube:vertices=600,bones=4").expect("a zoo character");
    let expected = at_rest(&zoo.raw);
    let mut mesh = zoo.raw.meshes[0].clone();
    mesh.binding = raw::RawBinding::Node;
    mesh.node = 0;
    let node = raw::RawBone { name: "sculpt".into(), parent: None, local: LocalTransform::Trs(Trs::IDENTITY) };
    let alone = RawRig { bones: vec![node], meshes: vec![mesh], ..RawRig::default() };
    let mut document = export(&alone, &[]).expect("exports");
    let other = read_back(&export(&zoo.raw, &zoo.clips).expect("exports"));
    bind("sculpt", &mut document, Skeleton::Of(&other), &BindOptions::default()).expect("binds");
    let asset = read_back(&document);
    assert!(asset.warnings.is_empty(), "{:?}", asset.warnings);
    for (a, b) in at_rest(&asset.raw).iter().zip(&expected) {
        assert!(a.distance(*b) < 1e-6);
    }
    let names = |raw: &RawRig| raw.skins[0].joints.iter().map(|j| raw.bones[j.bone].name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&asset.raw), names(&zoo.raw));
    assert_eq!(asset.clips.len(), other.clips.len());
    // The clips move the same bones to the same places.
    for (ours, theirs) in asset.clips.iter().zip(&other.clips) {
        assert_eq!(ours.name, theirs.name);
        for (a, b) in ours.tracks.iter().zip(&theirs.tracks) {
            assert_eq!(asset.raw.bones[a.node].name, other.raw.bones[b.node].name);
            assert_eq!((&a.translation, &a.rotation, &a.scale), (&b.translation, &b.rotation, &b.scale));
        }
    }
}

#[test]
fn more_weights_than_may_be_found_are_refused_with_the_limit() {
    let zoo = sinew_zoo::build("tube:vertices=600,bones=4").expect("a zoo character");
    let mut document = export(&zoo.raw, &zoo.clips).expect("exports");
    document.limits.weights = 1000;
    let before = document.json.clone();
    let error = bind("tube", &mut document, Skeleton::Own, &BindOptions::default()).expect_err("too many");
    let words = error.to_string();
    assert!(words.contains("beyond the limit of 1000") && words.contains("--limits"), "{words}");
    assert_eq!(document.json, before);
}
