//! Oracles of the velocity and acceleration displacements on whole characters (VS 4, AS 4–5); those of the kernels stand
//! beside them, in `displace`.

use crate::common::reference::{self, Bone, Knobs, Random};
use crate::common::{Subject, effect, recipe};
use glam::{DVec3, Vec3};
use sinew::recipe::TotalLimit;
use sinew::*;

/// With raw gains lengths are in scene units: on a rig of any size the papers' translation runs as far as it will.
#[test]
fn raw_limits_are_in_scene_units_and_have_no_end() {
    let subject = Subject::zoo("tube:vertices=300,bones=2");
    let lag = |limit: f64, soft: f64| {
        let mut spec = effect("floppy", &[("translation", 10.0), ("max_length", limit), ("soft", soft)]);
        spec.raw = true;
        let stage = subject.stage(&recipe(vec![spec]));
        let motion = BoneMotion { linear_velocity: DVec3::X * 40.0, ..BoneMotion::default() };
        let root = subject.rig.skeleton().bones().next().expect("a root");
        let (moved, still) = (by_hand(&subject, &stage, &[(root, motion)]), by_hand(&subject, &stage, &[]));
        f64::from(still.positions[0].x - moved.positions[0].x)
    };
    for soft in [0.0, 1.0] {
        for limit in [1e6, 1e30] {
            assert!((lag(limit, soft) - 400.0).abs() < 1e-3, "{limit}: {}", lag(limit, soft));
        }
        assert!(lag(25.0, soft) <= 25.0 * (1.0 + 1e-6));
    }
    assert!(lag(25.0, 0.0) >= 25.0 * (1.0 - 1e-6));
}

/// Five bones, each within its own limit, together move a point much farther than any of them.
#[test]
fn the_sum_over_bones_and_effects_has_a_limit_of_its_own() {
    let subject = Subject::zoo("tube:vertices=400,bones=5");
    let motion = BoneMotion { linear_velocity: DVec3::new(30.0, 10.0, 0.0), ..BoneMotion::default() };
    let bones: Vec<_> = subject.rig.skeleton().bones().map(|bone| (bone, motion)).collect();
    let moved = |max_total: Option<TotalLimit>| {
        let effects = vec![effect("floppy", &[("max_length", 0.3)])];
        let stage = subject.stage(&Recipe { max_total, ..recipe(effects) });
        let (moved, still) = (by_hand(&subject, &stage, &bones), by_hand(&subject, &stage, &[]));
        let apart = |(a, b): (&Vec3, &Vec3)| (a.as_dvec3() - b.as_dvec3()) / subject.size();
        moved.positions.iter().zip(&still.positions).map(apart).collect::<Vec<_>>()
    };
    let free = moved(None);
    let farthest = |moved: &[DVec3]| moved.iter().map(|d| d.length()).fold(0.0, f64::max);
    assert!(farthest(&free) > 1.4, "{}", farthest(&free));
    for soft in [true, false] {
        let bound = moved(Some(TotalLimit { length: 0.5, soft }));
        assert!(farthest(&bound) <= 0.5 * (1.0 + 1e-6) && farthest(&bound) > 0.49, "{}", farthest(&bound));
        for (free, bound) in free.iter().zip(&bound) {
            let wanted = free.length();
            let expected = if soft { wanted / (1.0 + (wanted / 0.5).powi(4)).powf(0.25) } else { wanted.min(0.5) };
            assert!(bound.distance(free.normalize_or_zero() * expected) < 2e-6, "{free} {bound}");
        }
    }
    // One that does not bind leaves things as they are.
    let wide = moved(Some(TotalLimit { length: 10.0, soft: false }));
    assert!(wide.iter().zip(&free).all(|(a, b)| a.distance(*b) < 1e-6));
}

/// Motion set by hand on one bone of a tube of five.
fn by_hand(subject: &Subject, stage: &Stage, bones: &[(BoneId, BoneMotion)]) -> DeformedMesh {
    let mut kinematics = stage.at_rest();
    for &(bone, motion) in bones {
        kinematics.set_steady(bone, motion, stage.filtered_signals());
    }
    subject.with(stage, &subject.rig.rest_pose(), &kinematics, &Cpu::serial())
}

/// The whole sum by hand: every effect, every bone, the papers' raw gains, weights from the tube's own field.
#[test]
fn a_tube_of_five_bones_moves_as_the_formulas_summed_by_hand() {
    let zoo = sinew_zoo::build("tube:vertices=400,bones=5").unwrap();
    let subject = Subject::new(&zoo.raw, zoo.clips.clone());
    let skeleton = subject.rig.skeleton();
    let mut random = Random(77);
    let motions: Vec<(BoneId, BoneMotion)> = skeleton
        .bones()
        .filter(|&bone| skeleton.name(bone).starts_with("tube."))
        .map(|bone| {
            let motion = BoneMotion {
                linear_velocity: random.vector(0.5),
                angular_velocity: random.vector(2.0),
                linear_acceleration: random.vector(2.0),
                angular_acceleration: random.vector(4.0),
            };
            (bone, motion)
        })
        .collect();
    assert_eq!(motions.len(), 5);
    let mut world = WorldPose::default();
    world.compose(skeleton, &subject.rig.rest_pose());
    let bone_of = |bone: BoneId, m: &BoneMotion| Bone {
        origin: world.joint_origin(bone),
        centroid: world.world_from_bone(bone).transform_point3(subject.rig.centroid(bone).unwrap()),
        v: m.linear_velocity,
        omega: m.angular_velocity,
        a: m.linear_acceleration,
        alpha: m.angular_acceleration,
        size: 1.0,
    };
    let knobs = Knobs { translation: 0.1, rotation: 0.1, max_length: 0.4, max_angle: 0.8, soft: true, rest_time: 0.05 };
    type Truth<'a> = &'a dyn Fn(&Bone, DVec3) -> DVec3;
    type Case<'a> = (&'a str, Vec<(&'a str, f64)>, Truth<'a>);
    let cases: [Case<'_>; 5] = [
        ("floppy", knobs.swing(), &|b, p| reference::floppy(&knobs, b, p, 1.0)),
        ("follow-through", knobs.inertia(), &|b, p| reference::followthrough(&knobs, b, p, 1.0)),
        ("acceleration-drag", knobs.inertia(), &|b, p| reference::acceleration_drag(&knobs, b, p, 1.0)),
        ("centrifugal-stretch", vec![("stretch", 0.05), ("max_length", 0.4)], &|b, p| {
            reference::centrifugal_stretch(0.05, &knobs, b, p, 1.0)
        }),
        ("squash", vec![("translation", 0.1), ("rotation", 0.1), ("max_stretch", 0.4)], &|b, p| {
            reference::squash(&knobs, b, p, 1.0)
        }),
    ];
    let rest = &zoo.raw.meshes[0].primitives[0].positions;
    for (name, values, truth) in cases {
        let mut spec = effect(name, &values);
        spec.raw = true;
        let stage = subject.stage(&recipe(vec![spec]));
        let out = by_hand(&subject, &stage, &motions);
        for (vertex, &p) in rest.iter().enumerate() {
            let p = p.as_dvec3();
            let weights = zoo.weights_at(p);
            let mut sum = p;
            for (bone, motion) in &motions {
                let node = skeleton.node(*bone);
                let propagated: f64 = weights
                    .iter()
                    .filter(|(j, _)| {
                        let joint = skeleton.bone_of_node(*j).unwrap();
                        skeleton.ancestors(joint).any(|a| skeleton.node(a) == node)
                    })
                    .map(|(_, w)| w)
                    .sum();
                sum += truth(&bone_of(*bone, motion), p) * propagated;
            }
            let found = out.world_position(0, vertex);
            assert!(found.distance(sum) <= 1e-5 * subject.size(), "{name} vertex {vertex}: {found} against {sum}");
        }
    }
}

/// AS fig. 4: set off, coast, brake.
#[test]
fn a_turn_shows_the_three_phases() {
    use glam::Quat;
    let mut zoo = sinew_zoo::build("tube:vertices=300,bones=2").unwrap();
    // ω rises over 0.5 s, holds for 1 s, falls over 0.5 s; rest before and after.
    let angle = |t: f64| {
        let ramp = |t: f64| {
            if t < 0.0 {
                0.0
            } else if t < 0.5 {
                t * t
            } else {
                0.25 + (t - 0.5)
            }
        };
        ramp(t) - ramp(t - 1.5)
    };
    let times: Vec<f64> = (0..=240).map(|k| f64::from(k) / 120.0).collect();
    let values = times.iter().map(|&t| Quat::from_rotation_z(angle(t) as f32)).collect();
    let rotation = Some(Curve::new(Interpolation::Linear, times, values).unwrap());
    zoo.clips =
        vec![Clip { name: "turn".to_owned(), tracks: vec![clip::Track { node: 1, rotation, ..Default::default() }] }];
    let subject = Subject::new(&zoo.raw, zoo.clips);
    let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
    let base = subject.stage(&Recipe::default());
    let moved = |name: &str, gamma: f64, time: f64| {
        let filters = [("velocity_filter", gamma), ("acceleration_filter", gamma)];
        let stage = subject.stage(&recipe(vec![effect(name, &filters)]));
        let out = subject.at(&stage, &subject.motion(0, &settings, &stage), time, &Cpu::serial());
        let plain = subject.at(&base, &subject.motion(0, &settings, &base), time, &Cpu::serial());
        crate::common::largest_difference(&out, &plain) / subject.size()
    };
    for time in [0.2, 0.35] {
        assert!(moved("acceleration-drag", 1.0, time) > 1e-3, "sets off at {time}");
        assert!(moved("follow-through", 1.0, time) < 1e-7, "nothing brakes at {time}");
    }
    for time in [0.7, 1.0, 1.3] {
        assert!(moved("acceleration-drag", 1.0, time) < 1e-5, "coasts at {time}");
        assert!(moved("follow-through", 1.0, time) < 1e-5, "coasts at {time}");
    }
    for time in [1.65, 1.85] {
        assert!(moved("follow-through", 1.0, time) > 1e-3, "brakes at {time}");
        assert!(moved("acceleration-drag", 1.0, time) < 1e-7, "brakes fully at {time}");
    }
    // A steady spin stretches radially, by ‖ω‖²ρ.
    let stage = subject.stage(&recipe(vec![effect("centrifugal-stretch", &[("filter", 1.0)])]));
    let out = subject.at(&stage, &subject.motion(0, &settings, &stage), 1.0, &Cpu::serial());
    let plain = subject.at(&base, &subject.motion(0, &settings, &base), 1.0, &Cpu::serial());
    assert!(crate::common::largest_difference(&out, &plain) > 1e-4 * subject.size());
}

/// VS fig. 14: opposite turns of two successive bones; the part beyond them is scaled unless rotations are composed.
#[test]
fn composing_rotations_keeps_what_lies_beyond_two_opposite_turns() {
    let subject = Subject::zoo("tube:vertices=2000,bones=4");
    let (first, second) = (subject.bone("tube.2"), subject.bone("tube.3"));
    let spin = |rate| BoneMotion { angular_velocity: DVec3::Z * rate, ..BoneMotion::default() };
    let motions = [(first, spin(6.0)), (second, spin(-6.0))];
    let values = [("rotation", 0.5), ("max_angle", 20.0), ("soft", 0.0)];
    let still = by_hand(&subject, &subject.stage(&Recipe::default()), &[]);
    // Width of the far end, across the plane of the turns and in it, against the base.
    let tip: Vec<usize> = (0..still.positions.len()).filter(|&v| still.positions[v].y > 1.6).collect();
    let spread = |mesh: &DeformedMesh| {
        let mean: Vec3 = tip.iter().map(|&v| mesh.positions[v]).sum::<Vec3>() / tip.len() as f32;
        let square: f32 = tip.iter().map(|&v| mesh.positions[v].distance_squared(mean)).sum();
        f64::from(square / tip.len() as f32).sqrt()
    };
    let scaled = |compensate| {
        let mut spec = effect("floppy", &values);
        spec.compensate = compensate;
        spread(&by_hand(&subject, &subject.stage(&recipe(vec![spec])), &motions)) / spread(&still)
    };
    let (faithful, composed) = (scaled(false), scaled(true));
    assert!((faithful - 1.0).abs() > 0.2, "the papers' sum scales the far end by {faithful}");
    assert!((composed - 1.0).abs() < 0.25 * (faithful - 1.0).abs(), "composed: {composed}, summed: {faithful}");
    // With one bone moving the two agree.
    let one = |compensate| {
        let mut spec = effect("floppy", &values);
        spec.compensate = compensate;
        by_hand(&subject, &subject.stage(&recipe(vec![spec])), &motions[..1])
    };
    let rigid: Vec<usize> = (0..still.positions.len()).filter(|&v| still.positions[v].y > 1.9).collect();
    let (summed, composed) = (one(false), one(true));
    for &v in &rigid {
        assert!(f64::from(summed.positions[v].distance(composed.positions[v])) < 1e-5 * subject.size());
    }
}

#[test]
fn root_gain_separates_travel_from_limbs_and_keys_change_over_time() {
    let subject = Subject::zoo("tube:vertices=300,bones=3");
    let base = subject.stage(&Recipe::default());
    let (root, limb) = (subject.bone("tube.1"), subject.bone("tube.2"));
    let motion = BoneMotion { linear_velocity: DVec3::X, ..BoneMotion::default() };
    let mut spec = effect("floppy", &[]);
    spec.root = 0.0;
    let stage = subject.stage(&recipe(vec![spec]));
    let still = by_hand(&subject, &base, &[]);
    assert_eq!(
        crate::common::bits(&by_hand(&subject, &stage, &[(root, motion)])).len(),
        crate::common::bits(&still).len()
    );
    assert!(by_hand(&subject, &stage, &[(root, motion)]).positions == still.positions);
    assert!(by_hand(&subject, &stage, &[(limb, motion)]).positions != still.positions);

    let mut spec = effect("floppy", &[("rotation", 0.0)]);
    spec.keys.push(("translation".to_owned(), sinew::recipe::KeyCurve::new(vec![(0.0, 0.0), (1.0, 0.2)]).unwrap()));
    let stage = subject.stage(&recipe(vec![spec]));
    let mut kinematics = stage.at_rest();
    stage.set_steady(&mut kinematics, root, motion);
    let mut workspace = Workspace::default();
    for (time, lag) in [(-1.0, 0.0), (0.5, 0.1), (2.0, 0.2)] {
        let pose = subject.rig.rest_pose();
        stage.posed(&pose, &kinematics, time, &mut workspace).unwrap().deform(&Cpu::serial());
        let found = f64::from(still.positions[0].x - workspace.mesh().positions[0].x);
        assert!((found - lag).abs() < 2e-3, "{time}: {found}");
    }
}
