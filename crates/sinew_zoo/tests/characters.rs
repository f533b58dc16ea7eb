//! What the crate promises of every character, checked on every character with nothing of the crate's own.

use glam::{DVec3, Quat};
use sinew::raw::RawPrimitive;
use sinew::{Clip, Curve, Interpolation, Skeleton, Trs};
use sinew_zoo::{ZooCharacter, ZooError, build, names};
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

const TUBES: &[&str] = &[
    "tube:vertices=11,bones=1",
    "tube:vertices=1600,bones=4",
    "tube:vertices=10000,bones=12",
    "tube:vertices=10000,bones=64,influences=3",
    "tube:rings=7,around=5,bones=64,influences=2",
    "tube:radius=0.01,length=0.02,influences=1",
    "tube:radius=50,length=200,vertices=3000",
];

/// Every character and some tubes, built once for all tests.
fn everything() -> &'static [(String, ZooCharacter)] {
    static EVERYTHING: OnceLock<Vec<(String, ZooCharacter)>> = OnceLock::new();
    EVERYTHING.get_or_init(|| {
        let specs = names().iter().map(|entry| entry.name).chain(TUBES.iter().copied());
        specs.map(|spec| (spec.to_owned(), build(spec).unwrap())).collect()
    })
}

fn primitives(character: &ZooCharacter) -> impl Iterator<Item = &RawPrimitive> {
    character.raw.meshes.iter().flat_map(|mesh| &mesh.primitives)
}

fn corners(primitive: &RawPrimitive, triangle: [u32; 3]) -> [DVec3; 3] {
    triangle.map(|vertex| primitive.positions[vertex as usize].as_dvec3())
}

/// For each vertex its connected component.
fn components(primitive: &RawPrimitive) -> Vec<usize> {
    let mut label: Vec<usize> = (0..primitive.positions.len()).collect();
    fn root(label: &mut [usize], mut at: usize) -> usize {
        while label[at] != at {
            label[at] = label[label[at]];
            at = label[at];
        }
        at
    }
    for triangle in &primitive.triangles {
        let first = root(&mut label, triangle[0] as usize);
        for &vertex in &triangle[1..] {
            let other = root(&mut label, vertex as usize);
            label[other] = first;
        }
    }
    (0..label.len()).map(|vertex| root(&mut label, vertex)).collect()
}

#[test]
fn surfaces_are_closed_manifolds() {
    for (spec, character) in everything() {
        for (index, primitive) in primitives(character).enumerate() {
            let mut next: HashMap<(u32, u32), u32> = HashMap::new();
            for &[a, b, c] in &primitive.triangles {
                for (from, to, opposite) in [(a, b, c), (b, c, a), (c, a, b)] {
                    assert_ne!(from, to, "{spec} primitive {index}");
                    assert!(
                        next.insert((from, to), opposite).is_none(),
                        "{spec} primitive {index}: edge {from}-{to} has two faces on one side"
                    );
                }
            }
            for &(from, to) in next.keys() {
                assert!(next.contains_key(&(to, from)), "{spec} primitive {index}: edge {from}-{to} is open");
            }
            // One fan per vertex: walking around it from any face meets all its faces.
            let mut faces = vec![0_usize; primitive.positions.len()];
            let mut start = vec![None; primitive.positions.len()];
            for &[a, b, c] in &primitive.triangles {
                for (vertex, neighbour) in [(a, b), (b, c), (c, a)] {
                    faces[vertex as usize] += 1;
                    start[vertex as usize] = Some(neighbour);
                }
            }
            for (vertex, start) in start.into_iter().enumerate() {
                let start = start.unwrap_or_else(|| panic!("{spec} primitive {index}: vertex {vertex} has no face"));
                let mut at = next[&(vertex as u32, start)];
                let mut met = 1;
                while at != start {
                    at = next[&(vertex as u32, at)];
                    met += 1;
                }
                assert_eq!(met, faces[vertex], "{spec} primitive {index}: vertex {vertex} pinches the surface");
            }
        }
    }
}

#[test]
fn surfaces_face_outwards_and_have_no_doubled_points() {
    for (spec, character) in everything() {
        for (index, primitive) in primitives(character).enumerate() {
            let component = components(primitive);
            let mut volumes: HashMap<usize, f64> = HashMap::new();
            for &triangle in &primitive.triangles {
                let [a, b, c] = corners(primitive, triangle);
                *volumes.entry(component[triangle[0] as usize]).or_default() += a.dot(b.cross(c)) / 6.0;
            }
            for volume in volumes.values() {
                assert!(*volume > 0.0, "{spec} primitive {index}: volume {volume}");
            }
            let distinct: HashSet<[u32; 3]> =
                primitive.positions.iter().map(|p| (*p + 0.0).to_array().map(f32::to_bits)).collect();
            assert_eq!(distinct.len(), primitive.positions.len(), "{spec} primitive {index}: doubled points");
        }
    }
}

#[test]
fn triangles_are_well_shaped_and_agree_with_the_normals() {
    for (spec, character) in everything() {
        // The fans at a fine tube's poles are thin by nature.
        let modelled = character.name != "tube";
        for (index, primitive) in primitives(character).enumerate() {
            let normals = primitive.normals.as_ref().unwrap();
            assert_eq!(normals.len(), primitive.positions.len());
            assert!(normals.iter().all(|n| (n.as_dvec3().length() - 1.0).abs() < 1e-6), "{spec} primitive {index}");
            let mut against = 0;
            for &triangle in &primitive.triangles {
                let [a, b, c] = corners(primitive, triangle);
                let area2 = (b - a).cross(c - a);
                let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
                let altitude = area2.length() / longest;
                let least = if modelled { 0.05 } else { 1e-3 };
                assert!(altitude > least * longest, "{spec} primitive {index}: {triangle:?} is a sliver at {a}");
                let facing = area2.normalize();
                let agrees = triangle.iter().all(|&v| normals[v as usize].as_dvec3().dot(facing) > 0.0);
                against += usize::from(!agrees);
            }
            // Knife edges are rounder than the triangles on them can be.
            let allowed =
                if spec.contains("vertices=11") { primitive.triangles.len() } else { primitive.triangles.len() / 200 };
            assert!(against <= allowed, "{spec} primitive {index}: {against} of {} against", primitive.triangles.len());
        }
    }
}

#[test]
fn weights_are_those_of_the_field_and_change_gently() {
    for (spec, character) in everything() {
        let smooth = !spec.contains("influences=1") && !spec.contains("around=5") && !spec.contains("vertices=11");
        for (index, primitive) in primitives(character).enumerate() {
            let influences = &primitive.influences;
            let per_vertex = influences.per_vertex;
            assert!((1..=4).contains(&per_vertex), "{spec} primitive {index}: {per_vertex} influences");
            assert_eq!(influences.joints.len(), per_vertex * primitive.positions.len());
            assert_eq!(influences.weights.len(), per_vertex * primitive.positions.len());
            let palette = character.raw.skins[0].joints.len();
            let mut dense = Vec::with_capacity(primitive.positions.len());
            for (vertex, position) in primitive.positions.iter().enumerate() {
                let range = vertex * per_vertex..(vertex + 1) * per_vertex;
                let mut stored = vec![0.0_f64; palette];
                for (&bone, &weight) in influences.joints[range.clone()].iter().zip(&influences.weights[range]) {
                    assert!(weight >= 0.0);
                    stored[bone as usize] += f64::from(weight);
                }
                assert!((stored.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{spec} primitive {index} vertex {vertex}");
                let field = character.weights_at(position.as_dvec3());
                assert!(field.len() <= 4);
                assert!((field.iter().map(|w| w.1).sum::<f64>() - 1.0).abs() < 1e-12);
                for &(bone, weight) in &field {
                    assert!(weight > 0.0);
                    if smooth {
                        assert!((stored[bone] - weight).abs() < 1e-5, "{spec} primitive {index} vertex {vertex}");
                    }
                }
                dense.push(stored);
            }
            if !smooth {
                continue;
            }
            for &[a, b, c] in &primitive.triangles {
                for (from, to) in [(a, b), (b, c), (c, a)] {
                    let most = dense[from as usize]
                        .iter()
                        .zip(&dense[to as usize])
                        .map(|(x, y)| (x - y).abs())
                        .fold(0.0, f64::max);
                    assert!(
                        most < 0.6,
                        "{spec} primitive {index}: weights jump by {most} from {} to {}",
                        primitive.positions[from as usize],
                        primitive.positions[to as usize]
                    );
                }
            }
        }
    }
}

/// Central differences at a step and at its half agree ever better: the gradient exists and is continuous.
#[test]
fn weight_fields_are_differentiable() {
    for (spec, character) in everything() {
        if TUBES.contains(&spec.as_str()) {
            continue;
        }
        let bones = character.raw.skins[0].joints.len();
        let dense = |p: DVec3| {
            let mut weights = vec![0.0; bones];
            for (bone, weight) in character.weights_at(p) {
                weights[bone] = weight;
            }
            weights
        };
        for primitive in primitives(character) {
            for position in primitive.positions.iter().step_by(7) {
                let p = position.as_dvec3();
                for axis in DVec3::AXES {
                    let slope = |at: DVec3, h: f64| -> Vec<f64> {
                        let (ahead, behind) = (dense(at + axis * h), dense(at - axis * h));
                        ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * h)).collect()
                    };
                    let here = slope(p, 1e-7);
                    for (bone, (a, b)) in here.iter().zip(slope(p + axis * 1e-6, 1e-7)).enumerate() {
                        // Second derivatives stay below 1/(0.5 mm)² nearly everywhere; a kink would give |a − b| ~ 100.
                        assert!((a - b).abs() < 5.0, "{spec} bone {bone} at {p}: slopes {a} and {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn rest_pose_is_the_bind_pose() {
    for (spec, character) in everything() {
        let skeleton = Skeleton::build(&character.raw.bones).unwrap();
        let mut world = sinew::WorldPose::default();
        world.compose(&skeleton, &sinew::Pose::rest(&skeleton));
        assert_eq!(character.raw.skins.len(), 1);
        assert_eq!(character.raw.meshes.len(), 1);
        for (index, joint) in character.raw.skins[0].joints.iter().enumerate() {
            assert_eq!(joint.bone, index, "{spec}: palette and nodes in one order");
            let bone = skeleton.bone_of_node(joint.bone).unwrap();
            let skinning = world.world_from_bone(bone) * joint.bone_from_rest;
            assert!(skinning.abs_diff_eq(glam::DAffine3::IDENTITY, 1e-9), "{spec} bone {index}");
            // One tree: everything hangs from bone 0.
            assert_eq!(skeleton.ancestors(bone).last(), skeleton.bone_of_node(0), "{spec} bone {index}");
        }
        let named: HashSet<_> = character.raw.bones.iter().map(|bone| bone.name.as_str()).collect();
        assert_eq!(named.len(), character.raw.bones.len(), "{spec}: names are distinct");
        // Every bone moves something.
        let used: HashSet<u32> = primitives(character)
            .flat_map(|p| p.influences.joints.iter().zip(&p.influences.weights))
            .filter_map(|(&bone, &weight)| (weight > 0.2).then_some(bone))
            .collect();
        if !TUBES.contains(&spec.as_str()) {
            assert_eq!(used.len(), character.raw.skins[0].joints.len(), "{spec}: bones without skin");
        }
    }
}

fn assert_closed<T: sinew::clip::CurveValue + PartialEq + std::fmt::Debug>(what: &str, curve: &Curve<T>) -> usize {
    let last = curve.times().len() - 1;
    assert_eq!(curve.interpolation(), Interpolation::Linear, "{what}");
    assert_eq!(curve.times()[0], 0.0, "{what}");
    assert_eq!(curve.key_value(0), curve.key_value(last), "{what}");
    for (key, time) in curve.times().iter().enumerate() {
        assert!((time * 30.0 - key as f64).abs() < 1e-9, "{what}");
    }
    last
}

fn quaternion_keys(curve: &Curve<Quat>) -> impl Iterator<Item = (Quat, Quat)> {
    (1..curve.times().len()).map(|key| (curve.key_value(key - 1), curve.key_value(key)))
}

#[test]
fn clips_are_loops() {
    for (spec, character) in everything() {
        assert!((1..=3).contains(&character.clips.len()), "{spec}");
        let mut animated: Vec<usize> = Vec::new();
        for clip in &character.clips {
            let Clip { name, tracks } = clip;
            let (start, end) = clip.span().unwrap();
            assert!(start == 0.0 && (0.8..=2.0).contains(&end), "{spec} {name}: {start} to {end}");
            let nodes: HashSet<usize> = tracks.iter().map(|track| track.node).collect();
            assert_eq!(nodes.len(), tracks.len(), "{spec} {name}: one track per node");
            animated.extend(&nodes);
            for track in tracks {
                let what = format!("{spec} {name} {}", character.raw.bones[track.node].name);
                let rest: Trs = character.raw.bones[track.node].local.to_trs();
                if let Some(curve) = &track.rotation {
                    let last = assert_closed(&what, curve);
                    for (a, b) in quaternion_keys(curve) {
                        assert!((a.length() - 1.0).abs() < 1e-6, "{what}");
                        // Signs never flip, and no key is more than 60° from the one before.
                        assert!(a.dot(b) > 0.866, "{what}: {a} then {b}");
                    }
                    // The seam is no sharper than the inside: the step across it, forwards, like the steps beside it.
                    let step = |key: usize| {
                        let (a, b) = (curve.key_value(key), curve.key_value(key + 1));
                        sinew::clip::rotation_log(b.as_dquat() * a.as_dquat().conjugate())
                    };
                    let sharpest = (1..last).map(|key| (step(key) - step(key - 1)).length()).fold(0.0, f64::max);
                    assert!((step(0) - step(last - 1)).length() <= 1.5 * sharpest + 1e-6, "{what}: a kink at the seam");
                }
                if let Some(curve) = &track.translation {
                    assert_closed(&what, curve);
                    let far = (0..curve.times().len())
                        .map(|key| (curve.key_value(key).as_dvec3() - rest.translation).length())
                        .fold(0.0, f64::max);
                    assert!(far < 0.5, "{what}: {far} m from rest");
                }
                assert!(track.scale.is_none() && track.morph.is_none(), "{what}");
            }
        }
        animated.sort_unstable();
        animated.dedup();
        assert_eq!(character.raw.animated, animated, "{spec}");
    }
}

#[test]
fn same_bits_every_time() {
    for (spec, character) in everything() {
        let again = build(spec).unwrap();
        assert_eq!(format!("{:?}", character.raw), format!("{:?}", again.raw));
        assert_eq!(format!("{:?}", character.clips), format!("{:?}", again.clips));
    }
}

/// Vertices of a primitive that a bone moves at all.
fn moved_by<'a>(character: &'a ZooCharacter, primitive: &'a RawPrimitive, bone: &str) -> impl Iterator<Item = usize> {
    let node = character.raw.bones.iter().position(|b| b.name == bone).unwrap() as u32;
    let influences = &primitive.influences;
    let pairs = influences.joints.iter().zip(&influences.weights).enumerate();
    pairs
        .filter(move |(_, (joint, weight))| **joint == node && **weight > 0.0)
        .map(|(at, _)| at / influences.per_vertex)
}

fn weight_of(character: &ZooCharacter, p: DVec3, bone: &str) -> f64 {
    let weights = character.weights_at(p);
    weights.iter().filter(|w| character.raw.bones[w.0].name == bone).map(|w| w.1).sum()
}

#[test]
fn no_finger_follows_its_neighbour() {
    let arm = build("arm").unwrap();
    let primitive = &arm.raw.meshes[0].primitives[0];
    let fingers = ["index", "middle", "ring", "little", "thumb"];
    let mut owner: HashMap<usize, &str> = HashMap::new();
    for finger in fingers {
        let mut moved: HashSet<usize> = moved_by(&arm, primitive, &format!("{finger}.1")).collect();
        moved.extend(moved_by(&arm, primitive, &format!("{finger}.2")));
        assert!(moved.len() > 60, "{finger} has {} vertices", moved.len());
        for &vertex in &moved {
            if let Some(other) = owner.insert(vertex, finger) {
                panic!("vertex {vertex} follows {finger} and {other}");
            }
        }
        // What a finger moves is one piece: a patch on its neighbour would be a second.
        let mut neighbours: HashMap<usize, Vec<usize>> = HashMap::new();
        for triangle in &primitive.triangles {
            let [a, b, c] = triangle.map(|vertex| vertex as usize);
            for (from, to) in [(a, b), (b, c), (c, a)] {
                neighbours.entry(from).or_default().push(to);
            }
        }
        let mut reached: HashSet<usize> = HashSet::new();
        let mut open: Vec<usize> = moved.iter().take(1).copied().collect();
        while let Some(vertex) = open.pop() {
            if reached.insert(vertex) {
                open.extend(neighbours[&vertex].iter().filter(|next| moved.contains(next)));
            }
        }
        assert_eq!(reached, moved, "{finger} moves something apart from itself");
    }
}

#[test]
fn parts_follow_the_bones_they_should() {
    let calf = build("calf").unwrap();
    let height = primitives(&calf).flat_map(|p| &p.positions).map(|p| p.y).fold(0.0, f32::max);
    assert!((1.0..1.2).contains(&height), "the calf is {height} m tall");
    for p in primitives(&calf).flat_map(|p| &p.positions).filter(|p| p.y > 0.93 && p.x.abs() > 0.13) {
        assert_eq!(weight_of(&calf, p.as_dvec3(), "head"), 1.0, "ear at {p}");
    }
    let bird = build("bird").unwrap();
    assert_eq!(bird.raw.skins[0].joints.len(), 1);
    assert!(primitives(&bird).all(|p| p.influences.weights.iter().all(|&w| w == 1.0)));

    let dancer = build("dancer").unwrap();
    let dress = &dancer.raw.meshes[0].primitives[1];
    for p in &dress.positions {
        let hips = weight_of(&dancer, p.as_dvec3(), "hips");
        if (0.97..1.02).contains(&p.y) || p.y < 0.6 {
            assert!(hips > 0.95, "waist and hem hang from the hips: {hips} at {p}");
        }
        let below: f64 = ["shin.L", "shin.R", "foot.L", "foot.R", "upper_arm.L", "upper_arm.R"]
            .iter()
            .map(|bone| weight_of(&dancer, p.as_dvec3(), bone))
            .sum();
        assert!(below < 0.1, "the dress at {p} follows shins or arms by {below}");
    }
}

#[test]
fn tubes_have_the_vertices_asked_for() {
    for vertices in [1_600, 10_000, 100_000, 1_000_000] {
        for bones in [4, 12, 64] {
            let character = build(&format!("tube:vertices={vertices},bones={bones}")).unwrap();
            let primitive = &character.raw.meshes[0].primitives[0];
            let count = primitive.positions.len() as f64;
            assert!((count / f64::from(vertices) - 1.0).abs() < 0.02, "{count} of {vertices}");
            assert_eq!(character.raw.skins[0].joints.len(), bones);
            let four = primitive.influences.weights.chunks(4).filter(|w| w.iter().all(|&w| w > 0.0)).count();
            assert!(bones < 12 || four as f64 > 0.6 * count, "{four} of {count} vertices have 4 influences");
        }
    }
}

#[test]
fn refusals_name_the_fault_and_the_nearest_valid_name() {
    let message = |spec: &str| build(spec).unwrap_err().to_string();
    assert!(matches!(build("cafl").unwrap_err(), ZooError::UnknownCharacter { nearest: "calf", .. }));
    assert!(message("").contains("tube"));
    assert!(message("tube:bnes=4").contains("did you mean \"bones\""));
    assert!(message("calf:bones=4").contains("takes no options"));
    assert!(message("tube:bones").contains("OPTION=NUMBER"));
    assert!(message("tube:bones=four").contains("\"four\""));
    assert!(message("tube:bones=-1").contains("\"-1\""));
    assert!(message("tube:bones=0").contains("from 1 to 4096"));
    assert!(message("tube:bones=4,bones=5").contains("twice"));
    assert!(message("tube:vertices=100,rings=5").contains("exclude"));
    assert!(message("tube:vertices=99999999999").contains("from 11"));
    assert!(message("tube:rings=4000000,around=4000000").contains("vertices"));
    assert!(message("tube:radius=NaN").contains("radius"));
    assert!(message("tube:radius=1,length=1").contains("twice the radius"));
    assert!(message("tube:influences=5").contains("from 1 to 4"));
    assert_eq!(build(" tube : bones = 3 , ").unwrap().raw.skins[0].joints.len(), 3);
}
