//! Automatic weights on built-in characters, whose own weights are known.

use crate::common::Subject;
use glam::{DQuat, DVec3, Vec3};
use sinew::bind::{BindError, BindOptions, Method, bind_skin};
use sinew::raw::{RawBone, RawInfluences, RawJoint, RawPrimitive, RawRig};
use sinew::*;

const DISTANCE_BY_LENGTH: Method = Method::Distance { alpha: 4.0, by_length: true, normals_only: false };
const DISTANCE_BY_NORMALS: Method = Method::Distance { alpha: 4.0, by_length: false, normals_only: true };
const METHODS: [Method; 4] = [Method::Heat, Method::DISTANCE, DISTANCE_BY_LENGTH, DISTANCE_BY_NORMALS];

fn bound(raw: &RawRig, method: Method, influences: usize) -> RawRig {
    let mut raw = raw.clone();
    let report = bind_skin(&mut raw, 0, &BindOptions { method, influences }).expect("binds");
    assert!(report.points > 0 && report.bones > 0);
    raw
}

/// (bone, weight) pairs of a vertex.
fn weights(primitive: &RawPrimitive, vertex: usize) -> Vec<(u32, f32)> {
    let RawInfluences { per_vertex, joints, weights } = &primitive.influences;
    let range = vertex * per_vertex..(vertex + 1) * per_vertex;
    joints[range.clone()].iter().copied().zip(weights[range].iter().copied()).filter(|w| w.1 > 0.0).collect()
}

#[test]
fn weights_are_sound_and_seams_share_them() {
    for name in ["arm", "tube:vertices=1500,bones=5"] {
        let zoo = sinew_zoo::build(name).unwrap();
        for method in METHODS {
            for influences in if name == "arm" { vec![4] } else { vec![1, 4, 0] } {
                let raw = bound(&zoo.raw, method, influences);
                let (rig, warnings) = Rig::build(&raw).unwrap();
                assert!(warnings.is_empty(), "{name} {method:?}: {warnings:?}");
                assert_eq!(
                    rig.characters()[0].points,
                    Subject::zoo(name).rig.characters()[0].points,
                    "{name} {method:?}"
                );
                for primitive in &raw.meshes[0].primitives {
                    for vertex in 0..primitive.positions.len() {
                        let found = weights(primitive, vertex);
                        let sum: f32 = found.iter().map(|w| w.1).sum();
                        assert!((sum - 1.0).abs() < 1e-5 && (influences == 0 || found.len() <= influences));
                    }
                }
            }
        }
    }
}

/// A vertex that the character's own weights give to one finger alone has nothing of another.
#[test]
fn no_finger_follows_its_neighbour() {
    let zoo = sinew_zoo::build("arm").unwrap();
    let names: Vec<&str> =
        zoo.raw.skins[0].joints.iter().map(|joint| zoo.raw.bones[joint.bone].name.as_str()).collect();
    let fingers = ["index", "middle", "ring", "little", "thumb"];
    let finger_of = |bone: u32| fingers.iter().position(|finger| names[bone as usize].starts_with(finger));
    // Inverse distances see the neighbour's knuckle through the palm.
    for (method, allowed) in [(Method::Heat, 0.02), (Method::DISTANCE, 0.1)] {
        let raw = bound(&zoo.raw, method, 4);
        let (mut on_fingers, mut strayed, mut tips) = (0, 0.0f32, 0);
        for (own, automatic) in zoo.raw.meshes[0].primitives.iter().zip(&raw.meshes[0].primitives) {
            for vertex in 0..own.positions.len() {
                let mut share = [0.0f32; 5];
                for (bone, weight) in weights(own, vertex) {
                    finger_of(bone).into_iter().for_each(|finger| share[finger] += weight);
                }
                let Some(finger) = share.iter().position(|&share| share > 0.95) else { continue };
                on_fingers += 1;
                let found = weights(automatic, vertex);
                let stray = found.iter().filter(|w| finger_of(w.0).is_some_and(|other| other != finger));
                strayed = strayed.max(stray.map(|w| w.1).sum());
                let main = found.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
                tips += usize::from(finger_of(main.0) == Some(finger));
            }
        }
        assert!(on_fingers > 100, "{on_fingers}");
        assert!(strayed < allowed, "{method:?}: {strayed}");
        assert!(tips * 100 >= on_fingers * 97, "{method:?}: {tips} of {on_fingers} follow their finger most");
    }
}

/// On a straight tube of two bones the border is at the joint; by length it moves towards the shorter bone.
#[test]
fn the_border_is_where_it_should_be() {
    let zoo = sinew_zoo::build("tube:vertices=4000,bones=2,influences=2").unwrap();
    let joints: Vec<f64> =
        zoo.raw.skins[0].joints.iter().map(|joint| joint.bone_from_rest.inverse().translation.y).collect();
    let border = |method: Method| {
        let raw = bound(&zoo.raw, method, 4);
        let primitive = &raw.meshes[0].primitives[0];
        let upper =
            |vertex: usize| weights(primitive, vertex).iter().filter(|w| w.0 == 1).map(|w| f64::from(w.1)).sum::<f64>();
        // The lowest place that follows the upper bone more.
        let over = (0..primitive.positions.len()).filter(|&v| upper(v) > 0.5);
        over.map(|v| f64::from(primitive.positions[v].y)).fold(f64::INFINITY, f64::min)
    };
    let length = primitive_length(&zoo.raw);
    for method in [Method::Heat, Method::DISTANCE] {
        let found = border(method);
        assert!((found - joints[1]).abs() < 0.05 * length, "{method:?}: {found} instead of {}", joints[1]);
    }
}

fn primitive_length(raw: &RawRig) -> f64 {
    let ys = || raw.meshes[0].primitives[0].positions.iter().map(|p| p.y);
    f64::from(ys().fold(f32::MIN, f32::max) - ys().fold(f32::MAX, f32::min))
}

#[test]
fn place_turn_and_size_change_nothing() {
    let zoo = sinew_zoo::build("arm").unwrap();
    let turn = DQuat::from_rotation_y(1.0);
    for method in [Method::Heat, Method::DISTANCE] {
        let reference = bound(&zoo.raw, method, 4);
        let mut moved = zoo.raw.clone();
        let map = glam::DAffine3::from_scale_rotation_translation(
            glam::DVec3::splat(64.0),
            turn,
            glam::DVec3::new(3.0, -2.0, 1.0),
        );
        for primitive in moved.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
            primitive.positions.iter_mut().for_each(|p| *p = map.transform_point3(p.as_dvec3()).as_vec3());
        }
        for joint in moved.skins.iter_mut().flat_map(|skin| &mut skin.joints) {
            joint.bone_from_rest *= map.inverse();
        }
        let moved = bound(&moved, method, 4);
        let mut far = 0;
        for (a, b) in reference.meshes[0].primitives.iter().zip(&moved.meshes[0].primitives) {
            for vertex in 0..a.positions.len() {
                let (a, b) = (weights(a, vertex), weights(b, vertex));
                let of = |w: &[(u32, f32)], bone: u32| w.iter().find(|w| w.0 == bone).map_or(0.0, |w| w.1);
                far += usize::from(a.iter().any(|&(bone, weight)| (weight - of(&b, bone)).abs() > 0.02));
            }
        }
        // f32 positions are rounded elsewhere: a ray along an edge may fall to the other side.
        let count: usize = reference.meshes[0].primitives.iter().map(|p| p.positions.len()).sum();
        assert!(far * 100 <= count, "{method:?}: {far} of {count}");
    }
}

/// One more joint of the skin.
fn add_joint(raw: &mut RawRig, name: &str, parent: Option<usize>, place: DVec3) -> usize {
    let bone = raw.bones.len();
    raw.bones.push(RawBone { name: name.to_owned(), parent, ..raw.bones[0].clone() });
    let bone_from_rest = glam::DAffine3::from_translation(-place);
    raw.skins[0].joints.push(RawJoint { bone, bone_from_rest });
    bone
}

/// A root on the ground, maybe twice, a pole and a target that lies on a joint: rigs have them, and no skin follows them.
#[test]
fn what_only_steers_moves_nothing() {
    let zoo = sinew_zoo::build("tube:vertices=1500,bones=4").unwrap();
    let length = primitive_length(&zoo.raw);
    for (method, is_doubled) in METHODS.into_iter().flat_map(|method| [(method, false), (method, true)]) {
        let plain = bound(&zoo.raw, method, 4);
        let mut rigged = zoo.raw.clone();
        let joints = rigged.skins[0].joints.len();
        let third = rigged.skins[0].joints[2].bone_from_rest.inverse().translation;
        let ground = DVec3::new(0.3 * length, -0.1 * length, 0.0);
        let root = add_joint(&mut rigged, "root", None, ground);
        let above = if is_doubled { add_joint(&mut rigged, "root again", Some(root), ground) } else { root };
        rigged.bones[rigged.skins[0].joints[0].bone].parent = Some(above);
        add_joint(&mut rigged, "target", Some(root), third);
        add_joint(&mut rigged, "pole", Some(root), third + DVec3::X * (0.4 * length));
        let rigged = bound(&rigged, method, 4);
        for (a, b) in plain.meshes[0].primitives.iter().zip(&rigged.meshes[0].primitives) {
            for vertex in 0..a.positions.len() {
                let found = weights(b, vertex);
                assert!(found.iter().all(|w| (w.0 as usize) < joints), "{method:?}, {is_doubled}: {found:?}");
            }
            assert_eq!(a.positions.len(), b.positions.len());
        }
    }
}

/// A neck rises and a snout goes on sideways: it is the head's all the same.
#[test]
fn a_last_bone_goes_where_the_body_goes() {
    let zoo = sinew_zoo::build("tube:vertices=3000,bones=4").unwrap();
    let length = primitive_length(&zoo.raw) as f32;
    let head = zoo.raw.skins[0].joints[3].bone_from_rest.inverse().translation.y as f32;
    let mut raw = zoo.raw.clone();
    let (bend, radius) = (head + 0.05 * length, 0.15 * length);
    for p in raw.meshes[0].primitives.iter_mut().flat_map(|primitive| &mut primitive.positions) {
        // Three times as long beyond the last joint, and bent by a right angle.
        let along = (3.0 * (p.y - head) + head - bend).max(0.0);
        let angle = (along / radius).min(std::f32::consts::FRAC_PI_2);
        let (beyond, out) = (along - angle * radius, radius - p.x);
        p.y = if along > 0.0 { bend + out * angle.sin() } else { p.y.min(bend) };
        p.x = if along > 0.0 { radius - out * angle.cos() + beyond } else { p.x };
    }
    for method in [Method::Heat, Method::DISTANCE] {
        let raw = bound(&raw, method, 4);
        let primitive = &raw.meshes[0].primitives[0];
        let snout: Vec<usize> =
            (0..primitive.positions.len()).filter(|&v| primitive.positions[v].x > 0.4 * length).collect();
        assert!(snout.len() > 100);
        for vertex in snout {
            let found = weights(primitive, vertex);
            let of_head: f32 = found.iter().filter(|w| w.0 == 3).map(|w| w.1).sum();
            assert!(of_head > 0.95, "{method:?} at {}: {found:?}", primitive.positions[vertex]);
        }
    }
}

/// A wider tube around the lower half of another, open at both ends, follows what it lies around.
#[test]
fn clothing_follows_what_it_lies_on() {
    let zoo = sinew_zoo::build("tube:vertices=3000,bones=4").unwrap();
    let length = primitive_length(&zoo.raw);
    let mut dressed = zoo.raw.clone();
    let body = dressed.meshes[0].primitives[0].clone();
    let middle = body.positions.iter().sum::<Vec3>() / body.positions.len() as f32;
    let wide = |p: &Vec3| Vec3::new(middle.x + 1.4 * (p.x - middle.x), p.y, middle.z + 1.4 * (p.z - middle.z));
    let mut skirt = RawPrimitive { positions: body.positions.iter().map(wide).collect(), ..body.clone() };
    let low = f64::from(body.positions.iter().map(|p| p.y).fold(f32::MAX, f32::min));
    let kept = |y: f32| (0.2..0.7).contains(&((f64::from(y) - low) / length));
    skirt.triangles.retain(|t| t.iter().all(|&v| kept(body.positions[v as usize].y)));
    dressed.meshes[0].primitives.push(skirt);
    for method in [Method::Heat, Method::DISTANCE] {
        let alone = bound(&zoo.raw, method, 4);
        let dressed = bound(&dressed, method, 4);
        let [inner, outer] = &dressed.meshes[0].primitives[..] else { panic!("two primitives") };
        let of = |w: &[(u32, f32)], bone: u32| w.iter().find(|w| w.0 == bone).map_or(0.0, |w| w.1);
        let mut worst = 0.0f32;
        for vertex in 0..inner.positions.len() {
            let (beneath, plain) = (weights(inner, vertex), weights(&alone.meshes[0].primitives[0], vertex));
            let changed = (0..4).map(|bone| (of(&beneath, bone) - of(&plain, bone)).abs()).fold(0.0, f32::max);
            assert!(changed < 1e-4, "{method:?}: what is worn changes the body by {changed}");
            if outer.triangles.iter().flatten().any(|&v| v as usize == vertex) {
                let worn = weights(outer, vertex);
                worst = (0..4).map(|bone| (of(&worn, bone) - of(&beneath, bone)).abs()).fold(worst, f32::max);
            }
        }
        println!("{method:?}: {worst:.3} apart");
        assert!(worst < 0.35, "{method:?}: {worst}");
    }
}

#[test]
fn what_cannot_be_bound_is_told() {
    let zoo = sinew_zoo::build("tube:vertices=300,bones=3").unwrap();
    let options = BindOptions::default();
    let mut raw = zoo.raw.clone();
    assert_eq!(bind_skin(&mut raw, 7, &options), Err(BindError::NoSkin { skin: 7, count: 1 }));
    raw.skins[0].joints[1].bone_from_rest = glam::DAffine3::ZERO;
    assert_eq!(bind_skin(&mut raw, 0, &options), Err(BindError::FlatBind { skin: 0, joint: 1 }));
    let mut raw = zoo.raw.clone();
    raw.meshes[0].primitives[0].positions[3] = Vec3::NAN;
    assert!(matches!(bind_skin(&mut raw, 0, &options), Err(BindError::BadMesh { .. })));
    let mut raw = zoo.raw.clone();
    raw.meshes[0].primitives[0].triangles[3] = [0, 1, u32::MAX];
    assert!(matches!(bind_skin(&mut raw, 0, &options), Err(BindError::BadMesh { .. })));
    // A mesh without faces is bound to what is nearest.
    let mut raw = zoo.raw;
    raw.meshes[0].primitives[0].triangles.clear();
    for method in METHODS {
        let report = bind_skin(&mut raw, 0, &BindOptions { method, influences: 4 }).unwrap();
        assert!(report.points > 0, "{report:?}");
    }
}
