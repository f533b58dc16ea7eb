//! Skirts are found by their shape: the built-in dancer's, and nobody else's.

use crate::common::Subject;
use sinew::anatomy::{Anatomy, Role};
use sinew::raw::RawRig;

fn cloth(subject: &Subject) -> Vec<usize> {
    let anatomy = Anatomy::of(&subject.rig);
    let is_cloth = |&vertex: &usize| anatomy.role_of_point(subject.rig.point(vertex)) == Role::Cloth;
    (0..subject.rig.vertex_count()).filter(is_cloth).collect()
}

fn dancer(change: impl FnOnce(&mut RawRig)) -> Subject {
    let mut zoo = sinew_zoo::build("dancer").expect("built in");
    change(&mut zoo.raw);
    Subject::new(&zoo.raw, zoo.clips)
}

#[test]
fn a_skirt_is_what_hangs_around_both_legs() {
    let subject = dancer(|_| ());
    let points = &sinew_zoo::build("dancer").expect("built in").raw.meshes[0].primitives;
    let points: Vec<_> = points.iter().flat_map(|primitive| &primitive.positions).collect();
    let found = cloth(&subject);
    let hips = 0.95;
    assert!(found.len() > 500, "{}", found.len());
    assert!(found.iter().all(|&v| points[v].y < hips), "nothing of the bodice");
    // Legs and shoes are within, and no part of it; all that is as wide as the hem is.
    let widest = found.iter().map(|&v| points[v].x.hypot(points[v].z)).fold(0.0, f32::max);
    let below = |v: &usize| points[*v].y < 0.8 && points[*v].x.hypot(points[*v].z) > 0.8 * widest;
    assert!((0..points.len()).filter(below).all(|v| found.binary_search(&v).is_ok()));
    let low = found.iter().map(|&v| points[v].y).fold(f32::INFINITY, f32::min);
    assert!(low > 0.3, "no shoes: {low}");
    for name in sinew_zoo::names().iter().map(|entry| entry.name).filter(|&name| name != "dancer") {
        assert!(cloth(&Subject::zoo(name)).is_empty(), "{name}");
    }
}

/// Without the legs' own skin, what hangs there is the legs.
#[test]
fn what_has_no_legs_within_is_no_skirt() {
    let lies_within = |p: glam::Vec3| p.y < 0.9 && p.x.hypot(p.z) < 0.16;
    let subject = dancer(|raw| {
        for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
            let positions = &primitive.positions;
            primitive.triangles.retain(|t| !t.iter().any(|&v| lies_within(positions[v as usize])));
        }
    });
    assert_eq!(cloth(&subject), [0usize; 0]);
}

#[test]
fn size_changes_nothing() {
    let sized = |factor: f32| {
        dancer(|raw| {
            for bone in &mut raw.bones {
                if let sinew::LocalTransform::Trs(trs) = &mut bone.local {
                    trs.translation *= f64::from(factor);
                }
            }
            for joint in raw.skins.iter_mut().flat_map(|skin| &mut skin.joints) {
                joint.bone_from_rest.translation *= f64::from(factor);
            }
            let primitives = raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives);
            primitives.flat_map(|primitive| &mut primitive.positions).for_each(|p| *p *= factor);
        })
    };
    assert_eq!(cloth(&sized(100.0)), cloth(&sized(1.0)));
}
