//! Planting: a walker made here, whose legs are posed by two-bone inverse kinematics, so that it is known when its feet
//! stand; and a leg held by hand.

use crate::common::{Subject, bits, cuboid, effect, recipe};
use glam::{DAffine3, DQuat, DVec3, Quat, Vec3};
use sinew::clip::Track;
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawSkin};
use sinew::recipe::Planted;
use sinew::*;

/// Height of the hip joints at rest, of the ankles, and length of each half of a leg.
const HIP: f64 = 0.9;
const ANKLE: f64 = 0.1;
const HALF: f64 = 0.4;
/// How much lower the hips are in the walk, and how far a step goes.
const CROUCH: f64 = 0.06;
const STRIDE: f64 = 0.4;
/// Share of a period in which a foot stands.
const DUTY: f64 = 0.6;

const SIDES: [(&str, f64); 2] = [("L", 0.2), ("R", -0.2)];

/// A tube around a vertical line, rigged to two bones with a soft joint between them.
fn tube(x: f64, top: f64, bottom: f64, joints: [u32; 3]) -> RawPrimitive {
    let (rings, around) = (17u32, 8u32);
    let mut primitive = RawPrimitive { color: [1.0; 4], ..RawPrimitive::default() };
    for ring in 0..rings {
        let t = f64::from(ring) / f64::from(rings - 1);
        for side in 0..around {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(side) / f64::from(around)).sin_cos();
            primitive.positions.push(DVec3::new(x + 0.06 * cos, top + (bottom - top) * t, 0.06 * sin).as_vec3());
            // Thigh, shin and foot, mixed a little around the knee and the ankle.
            let knee = ((t - 0.4) / 0.2).clamp(0.0, 1.0);
            let ankle = ((t - 0.9) / 0.2).clamp(0.0, 1.0);
            let weights = [1.0 - knee, knee * (1.0 - ankle), ankle];
            primitive.influences.joints.extend(joints);
            primitive.influences.weights.extend(weights.map(|w| w as f32));
        }
    }
    for ring in 0..rings - 1 {
        for side in 0..around {
            let [a, b] = [ring * around + side, ring * around + (side + 1) % around];
            primitive.triangles.extend([[a, b, b + around], [a, b + around, a + around]]);
        }
    }
    primitive.influences.per_vertex = 3;
    primitive
}

fn walker(scale: f64) -> RawRig {
    let bone = |name: &str, parent, place: DVec3| RawBone {
        name: name.into(),
        parent,
        local: LocalTransform::Trs(Trs::from_translation(place * scale)),
    };
    let mut bones = vec![bone("hips", None, DVec3::Y * HIP)];
    let mut legs = Vec::new();
    for (name, x) in SIDES {
        let first = bones.len();
        bones.push(bone(&format!("thigh.{name}"), Some(0), DVec3::X * x));
        bones.push(bone(&format!("shin.{name}"), Some(first), DVec3::NEG_Y * HALF));
        bones.push(bone(&format!("foot.{name}"), Some(first + 1), DVec3::NEG_Y * HALF));
        legs.push([first as u32, first as u32 + 1, first as u32 + 2]);
    }
    let node = bones.len();
    bones.push(bone("body", None, DVec3::ZERO));
    let mut primitives = vec![cuboid(Vec3::new(0.0, 1.2, 0.0), Vec3::new(0.3, 0.25, 0.15), Some(0))];
    for (joints, (_, x)) in legs.iter().zip(SIDES) {
        primitives.push(tube(x, HIP, ANKLE, *joints));
        let sole = Vec3::new(x as f32, 0.05, 0.08);
        primitives.push(cuboid(sole, Vec3::new(0.06, 0.05, 0.14), Some(joints[2])));
    }
    for primitive in &mut primitives {
        primitive.positions.iter_mut().for_each(|p| *p *= scale as f32);
        if primitive.influences.per_vertex == 1 {
            let RawInfluences { joints, .. } = primitive.influences.clone();
            let padded = joints.iter().flat_map(|&joint| [joint, 0, 0]).collect();
            let weights = joints.iter().flat_map(|_| [1.0, 0.0, 0.0]).collect();
            primitive.influences = RawInfluences { per_vertex: 3, joints: padded, weights };
        }
        primitive.normals = None;
    }
    let world = |bone: usize| {
        let mut place = DVec3::ZERO;
        let mut at = Some(bone);
        while let Some(bone) = at {
            if let LocalTransform::Trs(trs) = bones[bone].local {
                place += trs.translation;
            }
            at = bones[bone].parent;
        }
        place
    };
    let joint = |bone: usize| RawJoint { bone, bone_from_rest: DAffine3::from_translation(-world(bone)) };
    let skin = RawSkin { name: "skin".into(), joints: (0..node).map(joint).collect() };
    let mesh =
        RawMesh { name: "body".into(), node, binding: RawBinding::Skin(0), primitives, morph_weights: Vec::new() };
    RawRig { bones, skins: vec![skin], meshes: vec![mesh], ..RawRig::default() }
}

/// Where an ankle is against its hip joint at rest, at a phase of its step from 0 to 1: first it stands.
fn ankle(phase: f64) -> DVec3 {
    let down = -(HIP - ANKLE) + CROUCH;
    if phase < DUTY {
        return DVec3::new(0.0, down, STRIDE * (0.5 - phase / DUTY));
    }
    let s = (phase - DUTY) / (1.0 - DUTY);
    let eased = s * s * (3.0 - 2.0 * s);
    DVec3::new(0.0, down + 0.15 * (std::f64::consts::PI * s).sin(), STRIDE * (eased - 0.5))
}

/// A walk of one second, on the spot or ahead.
fn walk(travels: bool, scale: f64, fps: usize) -> Clip {
    let times: Vec<f64> = (0..=fps).map(|n| n as f64 / fps as f64).collect();
    let speed = if travels { STRIDE / DUTY } else { 0.0 };
    let curve = |values: Vec<Vec3>| Some(Curve::new(Interpolation::Linear, times.clone(), values).unwrap());
    let turns = |values: Vec<Quat>| Some(Curve::new(Interpolation::Linear, times.clone(), values).unwrap());
    let hips = |t: f64| DVec3::new(0.0, HIP - CROUCH, speed * t) * scale;
    let track = |node| Track { node, ..Track::default() };
    let mut tracks = vec![Track { translation: curve(times.iter().map(|&t| hips(t).as_vec3()).collect()), ..track(0) }];
    for (side, first) in [(0usize, 1usize), (1, 4)] {
        let mut angles: [Vec<Quat>; 3] = Default::default();
        for &t in &times {
            let to = ankle((t + 0.5 * side as f64).rem_euclid(1.0));
            let far = to.length().min(2.0 * HALF - 1e-9);
            // The knee bends forward: by the cosine rule.
            let lean = (-to.z).atan2(-to.y) - (far / (2.0 * HALF)).acos();
            let knee = 2.0 * (far / (2.0 * HALF)).acos();
            for (values, angle) in angles.iter_mut().zip([lean, knee, -lean - knee]) {
                values.push(DQuat::from_rotation_x(angle).as_quat());
            }
        }
        tracks.extend(
            angles.into_iter().enumerate().map(|(n, values)| Track { rotation: turns(values), ..track(first + n) }),
        );
    }
    Clip { name: "walk".into(), tracks }
}

fn subject(travels: bool, scale: f64, fps: usize) -> Subject {
    Subject::new(&walker(scale), vec![walk(travels, scale, fps)])
}

fn lag(planted: Planted) -> Recipe {
    Recipe { planted, ..recipe(vec![effect("floppy", &[("rotation", 0.12)]), effect("wobble", &[("rotation", 2.0)])]) }
}

#[test]
fn feet_stand_when_they_were_made_to() {
    for (travels, scale, fps) in [(false, 1.0, 30), (true, 1.0, 30), (false, 100.0, 24), (true, 0.02, 60)] {
        let subject = subject(travels, scale, fps);
        let stage = subject.stage(&lag(Planted::Auto));
        let playing = stage.motion(&subject.clips[0], &MotionSettings::default()).unwrap();
        assert!(playing.report().period.is_some());
        let stands = |bone: BoneId, t: f64| {
            let covers = |c: &&Contact| [t, t + 1.0].iter().any(|t| (c.from..=c.to).contains(t));
            playing.contacts().iter().filter(|c| c.bone == bone).any(|c| covers(&c))
        };
        let mut right = 0;
        for n in 0..120 {
            let t = (f64::from(n) + 0.5) / 120.0;
            for (side, (name, _)) in SIDES.iter().enumerate() {
                let truth = (t + 0.5 * side as f64).rem_euclid(1.0) < DUTY;
                right += usize::from(stands(subject.bone(&format!("foot.{name}")), t) == truth);
            }
        }
        assert!(right >= 228, "{travels} {scale} {fps}: {right} of 240");
        // Nothing else does.
        let feet = SIDES.map(|(name, _)| subject.bone(&format!("foot.{name}")));
        assert!(playing.contacts().iter().all(|contact| feet.contains(&contact.bone)));
    }
}

/// Largest way, over the middle of a stance, that the left sole goes against the ground, in sizes.
fn slip(subject: &Subject, recipe: &Recipe) -> f64 {
    let stage = subject.stage(recipe);
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let foot = subject.bone("foot.L");
    let sole: Vec<usize> = (0..subject.rig.vertex_count())
        .filter(|&v| subject.rig.main_bone(subject.rig.point(v)) == Some(foot))
        .filter(|&v| subject.rig.rest().get(subject.rig.point(v)).y < 1e-3 * subject.size() as f32)
        .collect();
    assert!(sole.len() >= 4);
    let mut places = Vec::new();
    for n in 1..24 {
        let t = DUTY * f64::from(n) / 24.0;
        let mesh = subject.at(&stage, &motion, t, &Cpu::serial());
        let mean = sole.iter().map(|&v| mesh.world_position(0, v)).sum::<DVec3>() / sole.len() as f64;
        // The ground goes back under a walk on the spot.
        places.push(mean + DVec3::Z * (STRIDE / DUTY * t));
    }
    let mut most = 0.0f64;
    for (n, a) in places.iter().enumerate() {
        most = places[..n].iter().map(|b| a.distance(*b)).fold(most, f64::max);
    }
    most / subject.size()
}

#[test]
fn planted_feet_slip_no_more_than_the_base() {
    let subject = subject(false, 1.0, 30);
    let base = slip(&subject, &Recipe::default());
    let free = slip(&subject, &lag(Planted::None));
    let held = slip(&subject, &lag(Planted::Auto));
    assert!(free > base + 0.005, "effects make it slip: {free} {base}");
    assert!(held <= 1.1 * base + 1e-3, "{held} {base}");
    // The body keeps its look: above the hips nothing changes, to the bit.
    let frame = |planted, time| {
        let stage = subject.stage(&lag(planted));
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        subject.at(&stage, &motion, time, &Cpu::serial())
    };
    let hips = subject.bone("hips");
    for time in [0.1, 0.3, 0.55, 0.8] {
        let (free, held) = (frame(Planted::None, time), frame(Planted::Auto, time));
        for vertex in 0..subject.rig.vertex_count() {
            if subject.rig.main_bone(subject.rig.point(vertex)) == Some(hips) {
                assert_eq!(free.positions[vertex], held.positions[vertex]);
            }
        }
    }
}

#[test]
fn a_swinging_leg_that_is_held_rests_at_its_foot_and_moves_at_its_hip() {
    let mut subject = subject(false, 1.0, 30);
    // A leg that swings as one about its hip.
    let times: Vec<f64> = (0..=30).map(|n| f64::from(n) / 30.0).collect();
    let turn = |t: f64| Quat::from_rotation_x(0.4 * (std::f32::consts::TAU * t as f32).sin());
    let rotation = Curve::new(Interpolation::Linear, times.clone(), times.iter().map(|&t| turn(t)).collect()).unwrap();
    let thigh = subject.bone("thigh.L");
    let track = Track { node: subject.rig.skeleton().node(thigh), rotation: Some(rotation), ..Track::default() };
    subject.clips[0].tracks = vec![track];
    let told = |spans: &[(f64, f64)]| MotionSettings {
        contacts: vec![("foot.*".into(), spans.to_vec()), ("thigh*".into(), Vec::new()), ("shin*".into(), Vec::new())],
        ..MotionSettings::default()
    };
    let lag =
        |planted| Recipe { planted, ..recipe(vec![effect("floppy", &[("rotation", 0.05), ("translation", 0.0)])]) };
    let frame = |planted, spans: &[(f64, f64)]| {
        let stage = subject.stage(&lag(planted));
        let motion = subject.motion(0, &told(spans), &stage);
        subject.at(&stage, &motion, 0.02, &Cpu::serial())
    };
    let base = {
        let stage = subject.stage(&Recipe::default());
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        subject.at(&stage, &motion, 0.02, &Cpu::serial())
    };
    let (free, held) = (frame(Planted::None, &[]), frame(Planted::Auto, &[(0.0, 1.0)]));
    let lifted = frame(Planted::Auto, &[]);
    let (mut most_free, mut most_held) = (0.0f32, 0.0f32);
    for vertex in 0..subject.rig.vertex_count() {
        let point = subject.rig.point(vertex);
        let by = |mesh: &DeformedMesh| mesh.positions[vertex] - base.positions[vertex];
        let Some(main) = subject.rig.main_bone(point) else { continue };
        if subject.rig.skeleton().name(main) == "foot.L" {
            assert!(by(&free).length() > 1e-3);
            assert!(by(&held).length() < 1e-6, "{}", by(&held));
        } else if ["thigh.L", "shin.L"].contains(&subject.rig.skeleton().name(main)) {
            // The lag of floppy grows with the square of the distance from the hip, the hold along the leg: between them
            // a bow is left, which is at most a quarter of what the foot had.
            (most_free, most_held) = (most_free.max(by(&free).length()), most_held.max(by(&held).length()));
        } else {
            assert_eq!(free.positions[vertex], held.positions[vertex]);
        }
    }
    assert!(most_held < 0.3 * most_free, "{most_held} {most_free}");
    // What nobody holds is free, but for the ground.
    let higher = |v: usize| lifted.positions[v].y >= free.positions[v].y;
    assert!((0..subject.rig.vertex_count()).all(higher));
}

#[test]
fn no_skin_goes_through_the_ground() {
    let subject = subject(false, 1.0, 30);
    let squash = effect("floppy", &[("rotation", 0.4), ("max_angle", 0.8)]);
    let lowest = |planted| {
        let stage = subject.stage(&Recipe { planted, ..recipe(vec![squash.clone()]) });
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let frame = |n: u32| {
            let mesh = subject.at(&stage, &motion, f64::from(n) / 40.0, &Cpu::serial());
            (0..mesh.positions.len()).map(|v| mesh.world_position(0, v).y).fold(f64::INFINITY, f64::min)
        };
        (0..40).map(frame).fold(f64::INFINITY, f64::min)
    };
    let base = {
        let stage = subject.stage(&Recipe::default());
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let frame = |n: u32| {
            let mesh = subject.at(&stage, &motion, f64::from(n) / 40.0, &Cpu::serial());
            (0..mesh.positions.len()).map(|v| mesh.world_position(0, v).y).fold(f64::INFINITY, f64::min)
        };
        (0..40).map(frame).fold(f64::INFINITY, f64::min)
    };
    assert!(lowest(Planted::None) < base - 0.005 * subject.size());
    assert!(lowest(Planted::Auto) >= base - 1e-4 * subject.size());
}

#[test]
fn frames_are_the_same_in_any_order_on_any_threads_and_close_the_loop() {
    let subject = subject(true, 1.0, 30);
    let stage = subject.stage(&lag(Planted::Auto));
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let times = [0.75, 0.125, 0.875, 0.25];
    let alone: Vec<_> = times.iter().map(|&t| bits(&subject.at(&stage, &motion, t, &Cpu::serial()))).collect();
    let mut workspace = Workspace::default();
    for (&t, alone) in times.iter().zip(&alone).rev() {
        stage.resume(&motion).unwrap().at(t, &mut workspace).deform(&Cpu { pool: Some(&pool), ..Cpu::serial() });
        assert_eq!(bits(workspace.mesh()), *alone);
    }
    // Scrubbed one period on.
    let later = subject.at(&stage, &motion, 1.25, &Cpu::serial());
    assert_eq!(bits(&later), alone[3]);
}

#[test]
fn a_motion_that_does_not_say_what_stands_is_foreign_and_wrong_names_are_told() {
    let subject = subject(false, 1.0, 30);
    let mut stage = subject.stage(&lag(Planted::None));
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    assert!(motion.stance().is_none());
    let retuned = stage.retune(&lag(Planted::Auto)).unwrap();
    assert!(retuned.motion && retuned.rebuilt);
    assert_eq!(stage.resume(&motion).map(|_| ()).unwrap_err(), ForeignMotion::Stance);
    let settings = MotionSettings { contacts: vec![("fot.L".into(), Vec::new())], ..MotionSettings::default() };
    let error = stage.motion(&subject.clips[0], &settings).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("\"foot.L\""), "{error}");
    let only = Recipe { planted: Planted::Only(vec!["@foo".into()]), ..lag(Planted::Auto) };
    let error = Stage::new(&subject.rig, &only).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("@foot"), "{error}");
}

#[test]
fn recipes_say_what_is_planted_and_when() {
    let text =
        "version = 1\nplanted = [\"@foot\"]\n[clip.\"Run*\"]\ncontacts = { \"foot.L\" = [[0.0, 0.25], [0.5, 1]] }\n";
    let file = RecipeFile::parse(text).unwrap();
    assert_eq!(file.recipe().planted, Planted::Only(vec!["@foot".into()]));
    assert_eq!(file.motion("Running").contacts, [("foot.L".to_owned(), vec![(0.0, 0.25), (0.5, 1.0)])]);
    assert!(file.motion("Walk").contacts.is_empty());
    for (wrong, word) in [
        ("planted = \"atuo\"", "auto"),
        ("planted = [1]", "role or bone"),
        ("[clip.\"Run\"]\ncontacts = { \"foot.L\" = [0.5] }", "spans"),
        ("[clip.\"Run\"]\ncontacts = { \"foot.L\" = [[0.5, 0.1]] }", "earlier one first"),
        ("[motion]\ncontacts = { \"foot.L\" = [[0.5, 0.1]] }", "contacts"),
    ] {
        let error = RecipeFile::parse(&format!("version = 1\n{wrong}\n")).unwrap_err().to_string();
        assert!(error.contains(word), "{wrong}: {error}");
    }
}
