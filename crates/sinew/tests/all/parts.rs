//! Effects on parts alone: a tube whose upper half is a part, against factors known beforehand, and rods against the field
//! that they stand for.

use crate::common::{Subject, bits, effect, recipe};
use glam::DVec3;
use sinew::recipe::EffectSpec;
use sinew::*;

/// A tube of two bones, each moving its half alone; the upper one is called an ear.
fn eared() -> Subject {
    let mut zoo = sinew_zoo::build("tube:vertices=800,bones=2,influences=1,radius=0.1,length=1").unwrap();
    zoo.raw.bones.iter_mut().filter(|bone| bone.name == "tube.2").for_each(|bone| bone.name = "ear".into());
    Subject::new(&zoo.raw, zoo.clips)
}

/// A tube that one bone moves, a head by name, whose upper half is an ear by its material alone.
fn eared_by_place() -> Subject {
    let mut zoo = sinew_zoo::build("tube:vertices=800,bones=1,influences=1,radius=0.1,length=1").unwrap();
    zoo.raw.bones.iter_mut().filter(|bone| bone.name == "tube.1").for_each(|bone| bone.name = "head".into());
    let primitives = &mut zoo.raw.meshes[0].primitives;
    let mut ear = primitives[0].clone();
    let above = |t: &[u32; 3]| t.iter().map(|&v| ear.positions[v as usize].y).sum::<f32>() > 1.5;
    let (upper, lower) = ear.triangles.iter().partition(|triangle| above(triangle));
    (primitives[0].triangles, ear.triangles, ear.material) = (lower, upper, "ear".into());
    primitives.push(ear);
    let (rig, _) = Rig::build(&zoo.raw).expect("the rig builds");
    Subject { rig: std::sync::Arc::new(rig), clips: zoo.clips }
}

/// Shoves all skin alike, by that much.
fn shove(by: f64) -> EffectSpec {
    effect("floppy", &[("translation", by), ("rotation", 0.0), ("max_length", 10.0)])
}

fn of_parts(effect: EffectSpec, parts: &[&str]) -> EffectSpec {
    EffectSpec { parts: parts.iter().map(|&part| part.to_owned()).collect(), ..effect }
}

/// The rest pose while the lowest bone moves so.
fn moving(subject: &Subject, effects: Vec<EffectSpec>, motion: BoneMotion) -> Vec<DVec3> {
    let stage = subject.stage(&recipe(effects));
    let mut kinematics = stage.at_rest();
    let skeleton = subject.rig.skeleton();
    let lowest = skeleton.bones().find(|&bone| ["tube.1", "head"].contains(&skeleton.name(bone)));
    kinematics.set_steady(lowest.expect("a lowest bone"), motion, stage.filtered_signals());
    let mesh = subject.with(&stage, &subject.rig.rest_pose(), &kinematics, &Cpu::serial());
    mesh.positions.iter().map(|p| mesh.origins[0] + p.as_dvec3()).collect()
}

fn towards(direction: DVec3) -> BoneMotion {
    BoneMotion { linear_velocity: direction, ..BoneMotion::default() }
}

fn rest(subject: &Subject) -> Vec<DVec3> {
    moving(subject, Vec::new(), BoneMotion::default())
}

fn smoothstep(x: f64) -> f64 {
    x * x * (3.0 - 2.0 * x)
}

/// How far along the part above a height each vertex is, by way of the meridian: from the last ring that is not above it.
fn ways(rest: &[DVec3], above: f64) -> Vec<f64> {
    let mut rings: Vec<(f64, f64)> = rest.iter().map(|p| (p.y, p.x.hypot(p.z))).collect();
    rings.sort_by(|a, b| a.0.total_cmp(&b.0));
    rings.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-6);
    let root = rings.iter().rposition(|ring| ring.0 < above).expect("a ring below");
    let mut far = vec![0.0; rings.len()];
    for ring in root + 1..rings.len() {
        far[ring] = far[ring - 1] + (rings[ring].0 - rings[ring - 1].0).hypot(rings[ring].1 - rings[ring - 1].1);
    }
    let reach = far[rings.len() - 1];
    let of = |p: &DVec3| rings.iter().position(|ring| (ring.0 - p.y).abs() < 2e-6).expect("a ring");
    rest.iter().map(|p| far[of(p)] / reach).collect()
}

#[test]
fn a_part_takes_nothing_at_its_root_and_all_at_its_end() {
    // Six bones that share their skin: no rod, so that the field is what is seen.
    let subject = Subject::zoo("tube:vertices=1200,bones=9,length=2");
    let rest = rest(&subject);
    let motion = towards(DVec3::new(0.3, 0.1, -0.2));
    let whole = moving(&subject, vec![shove(0.02)], motion);
    let bones = ["tube.4", "tube.5", "tube.6", "tube.7", "tube.8", "tube.9"];
    let part = moving(&subject, vec![of_parts(shove(0.02), &bones)], motion);
    let ways = ways(&rest, 2.0 / 3.0);
    for (vertex, way) in ways.iter().enumerate() {
        let expected = rest[vertex].lerp(whole[vertex], smoothstep(*way));
        assert!(part[vertex].distance(expected) < 2e-6, "{vertex} at {way}: {} {expected}", part[vertex]);
        assert!(*way > 0.0 || part[vertex] == rest[vertex], "{vertex}");
    }
    // By mesh it is all there is, and nothing holds it.
    assert_eq!(moving(&subject, vec![of_parts(shove(0.02), &["tub?"])], motion), whole);
}

#[test]
fn names_are_looked_up_and_roles_may_be_absent() {
    let subject = eared();
    let build = |parts: &[&str]| Stage::new(&subject.rig, &recipe(vec![of_parts(shove(0.1), parts)]));
    let words = |parts: &[&str]| build(parts).expect_err("no such part").to_string();
    assert_eq!(
        words(&["eer"]),
        "no bone and no mesh is called \"eer\" (parts of effect floppy); did you mean \"ear\"?"
    );
    assert!(words(&["@eer"]).contains("did you mean \"@ear\"?"), "{}", words(&["@eer"]));
    assert!(build(&["@ear", "ea*", "tube"]).unwrap().absent_roles().is_empty());
    assert_eq!(build(&["@wing", "@ear"]).unwrap().absent_roles(), [anatomy::Role::Wing]);
    let motion = towards(DVec3::X);
    assert_eq!(moving(&subject, vec![of_parts(shove(0.1), &["@wing"])], motion), rest(&subject));
}

#[test]
fn a_part_without_bones_is_known_by_its_place() {
    let subject = eared_by_place();
    let rest = rest(&subject);
    let ear = moving(&subject, vec![of_parts(shove(0.1), &["@ear"])], towards(DVec3::X));
    let whole = moving(&subject, vec![shove(0.1)], towards(DVec3::X));
    // It leans at its root: skin around that goes with it, as far as one and a half times the root's radius.
    for (p, rest) in ear.iter().zip(&rest).filter(|(_, rest)| rest.y < 0.3) {
        assert_eq!(p, rest);
    }
    let tip = (0..rest.len()).max_by(|&a, &b| rest[a].y.total_cmp(&rest[b].y)).expect("a tip");
    let (tip, all, was) = (ear[tip], whole[tip], rest[tip]);
    assert!(all.distance(was) < tip.distance(was) && tip.distance(was) < 2.0 * all.distance(was), "{tip} {all} {was}");
    // About its root, which stays: its length is kept.
    let root = DVec3::new(0.0, 0.5, 0.0);
    assert!((tip.distance(root) / was.distance(root) - 1.0).abs() < 0.02, "{tip}");
}

/// Areas around vertices times how far along they are: what counts in means.
fn weights(subject: &Subject, rest: &[DVec3], ways: &[f64]) -> Vec<f64> {
    let mut weights = vec![0.0; rest.len()];
    for triangle in subject.rig.triangles() {
        let [a, b, c] = triangle.map(|vertex| rest[vertex as usize]);
        let area = (b - a).cross(c - a).length();
        triangle.iter().for_each(|&vertex| weights[vertex as usize] += area * smoothstep(ways[vertex as usize]));
    }
    let all: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= all);
    weights
}

#[test]
fn a_rod_goes_where_the_field_goes_and_bends_instead() {
    let subject = eared();
    let rest = rest(&subject);
    let ways = ways(&rest, 0.5);
    let weights = weights(&subject, &rest, &ways);
    let mean = |points: &[DVec3]| -> DVec3 {
        points.iter().zip(&rest).zip(&weights).map(|((p, rest), weight)| (*p - *rest) * *weight).sum()
    };
    let ear = |by: f64, direction: DVec3| moving(&subject, vec![of_parts(shove(by), &["@ear"])], towards(direction));
    let field = |by: f64, direction: DVec3| -> Vec<DVec3> {
        rest.iter().zip(&ways).map(|(p, way)| *p - direction * (by * smoothstep(*way))).collect()
    };
    // Across, to the second order in how far it is: a quarter of the error at half the way.
    let across = DVec3::new(0.6, 0.0, -0.8);
    let error = |by: f64| (mean(&ear(by, across)) - mean(&field(by, across))).reject_from(DVec3::Y).length();
    let (much, half) = (error(0.04), error(0.02));
    assert!(much < 0.05 * 0.04 && half < 0.3 * much, "{much} {half}");
    // Along it nothing is left: no rod gets longer or shorter.
    for (p, rest) in ear(0.05, DVec3::Y).iter().zip(&rest) {
        assert!(p.distance(*rest) < 1e-5, "{p} {rest}");
    }
    // The field shears; the rod is strained by its thickness.
    for (by, direction) in [(0.1, across), (0.25, DVec3::new(0.5, 0.7, 0.5))] {
        let of = |points: &[DVec3]| strain(&subject, &rest, points);
        let (bent, sheared) = (of(&ear(by, direction)), of(&field(by, direction)));
        assert!(bent - 1.0 < 0.8 * (sheared - 1.0), "{by}: {bent} {sheared}");
    }
    // No farther than its limit, however far the field goes.
    let tip = (0..rest.len()).max_by(|&a, &b| rest[a].y.total_cmp(&rest[b].y)).expect("a tip");
    let far = ear(5.0, across)[tip];
    assert!((far - DVec3::Y * 0.5).length() < 0.56 && far.y > 0.5, "{far}");
}

/// The largest strain of any edge.
fn strain(subject: &Subject, rest: &[DVec3], points: &[DVec3]) -> f64 {
    let edges = subject.rig.triangles().iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]);
    let ratio = |(a, b): (u32, u32)| {
        let length = |points: &[DVec3]| points[a as usize].distance(points[b as usize]);
        length(points) / length(rest)
    };
    edges.map(ratio).map(|r| r.max(1.0 / r)).fold(1.0, f64::max)
}

/// An ear that grows out of a flat head leans there: it is moved farther than one that a tube goes on in, whose skin would have to be
/// pressed for that, and strained no more.
#[test]
fn an_ear_on_flat_skin_leans_at_its_root() {
    let mut zoo = sinew_zoo::build("tube:vertices=1600,bones=2,influences=1,radius=0.1,length=1").unwrap();
    zoo.raw.bones.iter_mut().filter(|bone| bone.name == "tube.2").for_each(|bone| bone.name = "ear".into());
    let tube = Subject::new(&zoo.raw, zoo.clips.clone());
    // The lower half becomes a disc about the ear.
    for p in zoo.raw.meshes[0].primitives.iter_mut().flat_map(|primitive| &mut primitive.positions) {
        let below = (0.5 - p.y).max(0.0);
        (p.x, p.z) = (p.x * (1.0 + 10.0 * below), p.z * (1.0 + 10.0 * below));
        p.y = p.y.max(0.5) - 0.05 * below;
    }
    let flat = Subject::new(&zoo.raw, zoo.clips);
    let far = |subject: &Subject| {
        let rest = rest(subject);
        let moved = moving(subject, vec![of_parts(shove(5.0), &["@ear"])], towards(DVec3::X));
        let farthest = rest.iter().zip(&moved).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        (farthest, strain(subject, &rest, &moved), rest, moved)
    };
    let ((on_tube, strained, ..), (on_disc, strained_flat, rest, moved)) = (far(&tube), far(&flat));
    assert!(on_disc > 1.15 * on_tube, "{on_disc} {on_tube}");
    assert!(strained_flat < 1.05 * strained, "{strained_flat} {strained}");
    let is_far = |p: &DVec3| p.x.hypot(p.z) > 0.4;
    assert!(rest.iter().zip(&moved).filter(|(rest, _)| is_far(rest)).all(|(rest, moved)| rest == moved));
    // One side of the skin about it rises as the other sinks.
    let around: f64 = rest.iter().zip(&moved).filter(|(p, _)| p.y < 0.5).map(|(a, b)| b.y - a.y).sum();
    let rises = rest.iter().zip(&moved).filter(|(p, _)| p.y < 0.5).map(|(a, b)| b.y - a.y).fold(0.0, f64::max);
    assert!(rises > 0.01 && around.abs() < 0.1 * rises * rest.len() as f64, "{rises} {around}");
}

#[test]
fn what_moves_everything_rigidly_keeps_a_rod_as_it_is() {
    let subject = eared();
    let rest = rest(&subject);
    // The ear is a rod, and nothing acts on it alone.
    let idle = of_parts(EffectSpec { gain: 0.0, ..shove(0.1) }, &["@ear"]);
    let turn = effect("floppy", &[("translation", 0.1), ("rotation", 0.2), ("max_length", 10.0), ("max_angle", 9.0)]);
    for motion in [
        towards(DVec3::new(0.4, -0.2, 0.3)),
        BoneMotion { angular_velocity: DVec3::new(0.0, 0.6, 0.0), ..towards(DVec3::X) },
    ] {
        let free = moving(&subject, vec![turn.clone()], motion);
        let rod = moving(&subject, vec![turn.clone(), idle.clone()], motion);
        for (a, b) in free.iter().zip(&rod) {
            assert!(a.distance(*b) < 2e-2 * free[0].distance(rest[0]).max(1e-3), "{a} {b}");
        }
    }
    // Nothing at work is the base to the bit, on any thread.
    let stage = subject.stage(&recipe(vec![of_parts(shove(0.1), &["@ear"])]));
    let still = subject.with(&stage, &subject.rig.rest_pose(), &stage.at_rest(), &Cpu::serial());
    assert_eq!(bits(&still), bits(&subject.posed(&Recipe::default(), &subject.rig.rest_pose())));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let [one, three] = [None, Some(&pool)].map(|pool| subject.at(&stage, &motion, 0.4, &Cpu { pool, ..Cpu::serial() }));
    assert_eq!(bits(&one), bits(&three));
}
