//! Springs and bulges through the whole pipeline. (The oracles of the solver are beside it.)
use crate::common::{Subject, based, bits, largest_difference};
use glam::{DQuat, DVec3};
use sinew::clip::{Curve, Interpolation, Track};
use sinew::recipe::{BaseSpec, CorrectionSpec};
use sinew::*;
use std::f64::consts::{FRAC_PI_2, PI};

fn recipe(base: BaseSpec, name: &str, values: &[(&str, f64)], gain: f64) -> Recipe {
    let mut spec = CorrectionSpec::new(name).expect("a correction of that name");
    for (key, value) in values {
        spec.values.set(key, *value).expect("in range");
    }
    spec.gain = gain;
    Recipe { base, corrections: vec![spec], ..Recipe::default() }
}

fn bases() -> [BaseSpec; 3] {
    [based("rigid", &[]), BaseSpec::default(), based("dqs", &[])]
}

#[test]
fn rest_and_gain_zero_are_the_base_to_the_bit() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(1.0))]);
    for name in ["springs", "bulge"] {
        let base = subject.posed(&Recipe::default(), &pose);
        let none = subject.posed(&recipe(BaseSpec::default(), name, &[], 0.0), &pose);
        assert_eq!(none.positions, base.positions, "{name}");
    }
    let rest = subject.rig.rest_pose();
    let still = subject.posed(&Recipe::default(), &rest);
    let sprung = subject.posed(&recipe(BaseSpec::default(), "springs", &[], 1.0), &rest);
    assert_eq!(sprung.positions, still.positions);
}

#[test]
fn bends_from_three_bases_come_together() {
    let subject = Subject::zoo("tube:vertices=2000,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(-FRAC_PI_2))]);
    let starts = bases().map(|base| subject.posed(&Recipe { base, ..Recipe::default() }, &pose));
    let most = |shapes: &[DeformedMesh; 3]| {
        [(0, 1), (1, 2), (0, 2)]
            .into_iter()
            .map(|(a, b)| largest_difference(&shapes[a], &shapes[b]))
            .fold(0.0, f64::max)
    };
    let converged = [("iterations", 1000.0), ("tolerance", 1e-6)];
    let ends = bases().map(|base| subject.posed(&recipe(base, "springs", &converged, 1.0), &pose));
    let fifty = [("iterations", 50.0), ("tolerance", 0.0)];
    let fifty = bases().map(|base| subject.posed(&recipe(base, "springs", &fifty, 1.0), &pose));
    println!(
        "apart in sizes: {:.4} before, {:.4} after 50, {:.6} converged",
        most(&starts) / subject.size(),
        most(&fifty) / subject.size(),
        most(&ends) / subject.size()
    );
    assert!(most(&starts) > 0.02 * subject.size());
    assert!(most(&fifty) <= 0.25 * most(&starts));
    assert!(most(&ends) <= 1e-3 * subject.size());
}

#[test]
fn a_twist_keeps_its_radius_where_linear_blending_loses_it() {
    let subject = Subject::zoo("tube:vertices=2000,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_y(0.75 * PI))]);
    let thinnest = |mesh: &DeformedMesh| {
        let middle = (0..mesh.positions.len()).map(|v| mesh.world_position(0, v)).filter(|p| (p.y - 1.0).abs() < 0.7);
        middle.map(|p| p.x.hypot(p.z)).fold(f64::INFINITY, f64::min) / 0.2
    };
    let converged = [("iterations", 1000.0), ("tolerance", 1e-6)];
    for base in bases() {
        let before = thinnest(&subject.posed(&Recipe { base: base.clone(), ..Recipe::default() }, &pose));
        let after = thinnest(&subject.posed(&recipe(base.clone(), "springs", &converged, 1.0), &pose));
        println!("{base:?}: {before:.3} → {after:.3}");
        assert!(after >= 0.95);
    }
}

#[test]
fn size_and_place_do_not_matter() {
    let subject = Subject::zoo("arm");
    let pose = subject.turned(&[("forearm", DQuat::from_rotation_x(1.3))]);
    for name in ["springs", "bulge"] {
        let recipe = recipe(BaseSpec::default(), name, &[], 1.0);
        let plain = subject.posed(&recipe, &pose);
        let mut moved = pose.clone();
        let root = subject.rig.skeleton().bones().find(|&bone| subject.rig.is_root(bone)).expect("a root");
        let turn = DQuat::from_rotation_y(0.8);
        if let LocalTransform::Trs(trs) = &mut moved.locals[root.index()] {
            (trs.translation, trs.rotation, trs.scale) = (
                turn * trs.translation * 100.0 + DVec3::new(500.0, 0.0, -70.0),
                turn * trs.rotation,
                trs.scale * 100.0,
            );
        }
        let large = subject.posed(&recipe, &moved);
        for v in 0..plain.positions.len() {
            let expected = turn * plain.world_position(0, v) * 100.0 + DVec3::new(500.0, 0.0, -70.0);
            let off = large.world_position(0, v).distance(expected) / (100.0 * subject.size());
            assert!(off < 1e-4, "{name}, vertex {v}: {off}");
        }
    }
}

#[test]
fn a_bulge_grows_limbs_by_its_profile() {
    let subject = Subject::zoo("tube:vertices=2000,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(0.4))]);
    let base = subject.posed(&Recipe::default(), &pose);
    let even = subject.posed(&recipe(BaseSpec::default(), "bulge", &[("amount", 0.5), ("profile", 5.0)], 1.0), &pose);
    // On the first bone, away from the joint: the axis is y.
    for v in 0..base.positions.len() {
        let (p, q) = (base.world_position(0, v), even.world_position(0, v));
        if (0.3..0.5).contains(&p.y) {
            assert!((q.x.hypot(q.z) / p.x.hypot(p.z) - 1.5).abs() < 0.02, "{p} → {q}");
        }
    }
    let bulge = subject.posed(&recipe(BaseSpec::default(), "bulge", &[], 1.0), &subject.rig.rest_pose());
    let widest = (0..base.positions.len())
        .map(|v| bulge.world_position(0, v))
        .filter(|p| (0.3..0.6).contains(&p.y))
        .map(|p| p.x.hypot(p.z) / 0.2)
        .fold(0.0, f64::max);
    assert!((widest - 1.25).abs() < 0.02, "{widest}");
}

#[test]
fn the_same_bits_on_any_thread_count_and_in_any_order() {
    let subject = Subject::zoo("calf");
    let recipe = recipe(BaseSpec::default(), "springs", &[], 1.0);
    let stage = subject.stage(&recipe);
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let first = subject.at(&stage, &motion, 0.3, &Cpu::serial());
    subject.at(&stage, &motion, 0.7, &Cpu::serial());
    assert_eq!(bits(&subject.at(&stage, &motion, 0.3, &Cpu::serial())), bits(&first));
}

/// Springs with a history; numbers that are not asked for are the defaults.
fn swinging(values: &[(&str, f64)]) -> Recipe {
    let mut recipe = recipe(BaseSpec::default(), "springs", values, 1.0);
    recipe.corrections[0].values.choose("history", "live").expect("a word of the list");
    recipe
}

/// The same clip, `by` times as long.
fn slowed(clip: &Clip, by: f64) -> Clip {
    let times = |times: &[f64]| times.iter().map(|time| time * by).collect::<Vec<f64>>();
    let tracks = clip.tracks.iter().map(|track| Track {
        node: track.node,
        translation: track.translation.as_ref().map(|curve| {
            let values = (0..curve.times().len()).map(|key| curve.key_value(key)).collect();
            Curve::new(Interpolation::Linear, times(curve.times()), values).expect("keys as before")
        }),
        rotation: track.rotation.as_ref().map(|curve| {
            let values = (0..curve.times().len()).map(|key| curve.key_value(key)).collect();
            Curve::new(Interpolation::Linear, times(curve.times()), values).expect("keys as before")
        }),
        ..Track::default()
    });
    Clip { name: clip.name.clone(), tracks: tracks.collect() }
}

#[test]
fn skin_with_a_history_is_a_function_of_the_clip_and_closes_to_the_bit() {
    let subject = Subject::zoo("tube:vertices=600,bones=4");
    let stage = subject.stage(&swinging(&[]));
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let period = motion.report().period.expect("it loops");
    let start = motion.report().start;
    let at = |time: f64| subject.at(&stage, &motion, time, &Cpu::serial());
    let still = subject.stage(&recipe(BaseSpec::default(), "springs", &[], 1.0));
    let rest = subject.motion(0, &MotionSettings::default(), &still);
    let mut farthest = 0.0f64;
    for time in [0.9, 0.1, 0.5] {
        let once = at(start + time * period);
        assert_eq!(bits(&at(start + (time + 3.0) * period)), bits(&once), "every round is the same");
        farthest =
            farthest.max(largest_difference(&once, &subject.at(&still, &rest, start + time * period, &Cpu::serial())));
    }
    println!("{:.4} of the size from rest", farthest / subject.size());
    assert!((1e-3..0.2).contains(&(farthest / subject.size())), "{farthest}");
    // Nothing jumps at the seam: a step across it is as long as one beside it.
    let step = |from: f64, to: f64| largest_difference(&at(start + from * period), &at(start + to * period));
    let (across, beside) = (step(-1e-3, 1e-3), step(1e-3, 3e-3));
    println!("{across:.2e} across the seam, {beside:.2e} beside it");
    assert!(across < 1.2 * beside + 1e-6 * subject.size(), "{across} {beside}");
    // Made anew, in another order, by another stage.
    let other = subject.stage(&swinging(&[]));
    let again = subject.motion(0, &MotionSettings::default(), &other);
    assert_eq!(
        bits(&subject.at(&other, &again, start + 0.5 * period, &Cpu::serial())),
        bits(&at(start + 0.5 * period))
    );
}

#[test]
fn slow_motion_leaves_the_balance_alone_and_faster_motion_swings_farther() {
    let mut subject = Subject::zoo("tube:vertices=400,bones=3");
    let clip = subject.clips[0].clone();
    let tight = [("iterations", 1000.0), ("tolerance", 1e-6)];
    let off = |subject: &Subject, time: f64| {
        let frames = [swinging(&tight), recipe(BaseSpec::default(), "springs", &tight, 1.0)].map(|recipe| {
            let stage = subject.stage(&recipe);
            let motion = subject.motion(0, &MotionSettings::default(), &stage);
            subject.at(&stage, &motion, time, &Cpu::serial())
        });
        largest_difference(&frames[0], &frames[1]) / subject.size()
    };
    let offsets = [1.0, 4.0, 40.0].map(|by| {
        subject.clips[0] = slowed(&clip, by);
        off(&subject, 0.4 * by)
    });
    println!("from the balance: {offsets:?} as fast as it is, 4 and 40 times slower");
    assert!(offsets[0] > 4.0 * offsets[1] && offsets[1] > 10.0 * offsets[2], "{offsets:?}");
    assert!(offsets[2] < 1e-4);
}

#[test]
fn poses_that_arrive_one_by_one_swing_as_the_clip_does() {
    let subject = Subject::zoo("tube:vertices=300,bones=3");
    let stage = subject.stage(&swinging(&[("frequency", 2.0)]));
    let playing = stage.motion(&subject.clips[0], &MotionSettings::default()).expect("the clip can be read");
    let period = playing.report().period.expect("it loops");
    let still = subject.stage(&recipe(BaseSpec::default(), "springs", &[], 1.0));
    let balance = still.motion(&subject.clips[0], &MotionSettings::default()).expect("the clip can be read");
    let (rate, rounds) = (240.0, 5.0);
    let (mut live, mut workspace, mut other) = (stage.live(), Workspace::default(), Workspace::default());
    let frames = (rounds * period * rate).round() as usize;
    let (mut apart, mut farthest) = (0.0f64, 0.0f64);
    for frame in 0..=frames {
        let time = frame as f64 / rate;
        playing.at(time, &mut other).deform(&Cpu::serial());
        let (pose, clip) = (other.pose().clone(), other.take_mesh());
        live.at(&pose, 1.0 / rate, time, &mut workspace).expect("fits the rig").deform(&Cpu::serial());
        if time > (rounds - 1.0) * period {
            apart = apart.max(largest_difference(workspace.mesh(), &clip));
            farthest = farthest.max(largest_difference(&clip, balance.frame(time, &mut other)));
        }
    }
    println!("live {:.4} of the size from the clip, which is {:.4} from rest", apart, farthest);
    assert!(apart < 0.15 * farthest, "{apart} {farthest}");
    live.reset();
    let pose = subject.rig.rest_pose();
    let first = {
        live.at(&pose, 0.1, 0.0, &mut workspace).expect("fits the rig").deform(&Cpu::serial());
        workspace.take_mesh()
    };
    assert!(largest_difference(&first, &subject.posed(&Recipe::default(), &pose)) < 1e-5 * subject.size());
}

#[test]
fn normals_swing_with_the_skin() {
    let subject = Subject::zoo("calf");
    let stage = subject.stage(&swinging(&[("frequency", 1.2)]));
    let motion = subject.motion(0, &MotionSettings::default(), &stage);
    let mesh = subject.at(&stage, &motion, 0.3, &Cpu::serial());
    let mut sums = vec![DVec3::ZERO; mesh.positions.len()];
    for face in subject.rig.triangles() {
        let [a, b, c] = face.map(|v| mesh.positions[v as usize].as_dvec3());
        face.iter().for_each(|&v| sums[v as usize] += (b - a).cross(c - a));
    }
    let agree = sums.iter().zip(&mesh.normals).filter(|(sum, normal)| sum.normalize().dot(normal.as_dvec3()) > 0.8);
    let share = agree.count() as f64 / sums.len() as f64;
    println!("{share:.3} of the normals are those of their faces");
    assert!(share > 0.9, "{share}");
}

#[test]
fn a_clip_that_would_not_fit_is_refused() {
    let subject = Subject::zoo("tube:vertices=300,bones=3");
    let stage = subject.stage(&swinging(&[]));
    let settings = MotionSettings { memory_limit: 100_000, ..MotionSettings::default() };
    let refused = stage.motion(&subject.clips[0], &settings).expect_err("too large");
    assert!(matches!(refused, MotionError::SwingMemory { limit: 100_000, .. }), "{refused}");
}

#[test]
fn normals_are_those_of_the_skin_where_the_base_was_torn() {
    let subject = Subject::zoo("tube:vertices=2400,bones=2");
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_y(0.75 * PI))]);
    let mesh = subject.posed(&recipe(based("rigid", &[]), "springs", &[("iterations", 400.0)], 1.0), &pose);
    for v in 0..mesh.positions.len() {
        let p = mesh.world_position(0, v);
        if (0.5..1.5).contains(&p.y) {
            let outward = DVec3::new(p.x, 0.0, p.z).normalize();
            let cosine = mesh.normals[v].as_dvec3().dot(outward);
            assert!(cosine > 0.9, "{p}: {} {cosine}", mesh.normals[v]);
        }
    }
}
