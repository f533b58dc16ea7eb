//! Loops, missing closing keys and travel.

use super::scene::*;
use glam::{DQuat, DVec3, Vec3};
use sinew::clip::Track;
use sinew::{
    Clip, Curve, Ends, Interpolation, LoopVerdict, Looping, MotionSettings, Pose, Signal, Skeleton, Travel, Trs,
};
use std::f64::consts::{PI, TAU};

fn swing(t: f64) -> DQuat {
    DQuat::from_scaled_axis(DVec3::new((TAU * t).sin(), 0.3 * (2.0 * TAU * t).cos(), 0.2))
}

fn bob(t: f64) -> DVec3 {
    DVec3::new(0.05 * (TAU * t).cos(), 1.0 + 0.1 * (2.0 * TAU * t).sin(), 0.0)
}

/// A walk of one second on the spot: bobbing root and a swinging limb; `place` carries the root elsewhere.
fn walk(keys: usize, place: impl Fn(f64) -> (DVec3, DQuat)) -> Vec<Track> {
    let times = evenly(keys, 30.0);
    let sway = |t: f64| DQuat::from_rotation_z(0.1 * (TAU * t).sin());
    let mut root = moves(0, translations(Interpolation::Linear, &times, |t| place(t).1 * bob(t) + place(t).0));
    root.rotation = Some(rotations(Interpolation::Linear, &times, |t| place(t).1 * sway(t)));
    vec![root, turns(1, rotations(Interpolation::Linear, &times, swing))]
}

fn on_the_spot(_: f64) -> (DVec3, DQuat) {
    (DVec3::ZERO, DQuat::IDENTITY)
}

#[test]
fn a_closed_loop_has_no_seam() {
    let skeleton = chain(2);
    let scene = &Scene::new(&skeleton, &clip(walk(31, on_the_spot)), &MotionSettings::default());
    assert!(matches!(scene.motion.report().verdict, LoopVerdict::Closed { .. }), "{:?}", scene.motion.report());
    let step = 1e-3;
    for bone in 0..2 {
        for signal in SIGNALS {
            let change = |f: &dyn Fn(f64) -> DVec3, t: f64| (f(t + step) - f(t)).length();
            let unfiltered = |t: f64| scene.signal(t, bone, signal);
            let filtered = filters().map(|(filter, _)| move |t: f64| scene.through(filter, t, bone, signal));
            for f in std::iter::once(&unfiltered as &dyn Fn(f64) -> DVec3).chain(filtered.iter().map(|f| f as _)) {
                let inside = (0..990).map(|k| change(f, f64::from(k) * step)).fold(0.0, f64::max);
                let across = (0..8).map(|k| change(f, 1.0 - f64::from(k) * 0.25 * step)).fold(0.0, f64::max);
                assert!(across <= 1.05 * inside, "{signal:?} of bone {bone}: {across} across, {inside} inside");
                assert_near(f(0.0), f(1.0), 1e-9 + 1e-12 * f(0.0).length(), format!("{signal:?} at the seam"));
                assert_near(f(0.3), f(5.3), 1e-9 * (1.0 + f(0.3).length()), format!("{signal:?} five periods on"));
            }
        }
    }
}

#[test]
fn a_residual_within_tolerance_is_taken_out_of_the_motion() {
    let skeleton = chain(2);
    let tracks = walk(31, |t| (DVec3::X * (8e-4 * t), DQuat::IDENTITY));
    let scene = Scene::new(&skeleton, &clip(tracks), &MotionSettings::default());
    let LoopVerdict::Closed { residual: Some(gap) } = &scene.motion.report().verdict else {
        panic!("{:?}", scene.motion.report());
    };
    assert_eq!(gap.name, "bone0");
    assert!((gap.distance - 8e-4).abs() < 1e-6);
    let n = 3000;
    let mean = (0..n).map(|k| scene.signal(f64::from(k) / f64::from(n), 0, Signal::LinearVelocity)).sum::<DVec3>()
        / f64::from(n);
    assert_near(mean, DVec3::ZERO, 1e-6, "mean velocity");
}

#[test]
fn a_missing_closing_key_is_recognised_and_bridged() {
    // As in a well-known walking man: 48 keys at 24 fps, the first at 1/24 s, the last at 2 s.
    let times: Vec<f64> = (1..=48).map(|k| f64::from(k as f32 / 24.0)).collect();
    let skeleton = chain(3);
    let tracks = vec![
        moves(0, translations(Interpolation::Linear, &times, |t| bob(0.5 * t))),
        turns(1, rotations(Interpolation::Linear, &times, |t| swing(0.5 * t))),
        turns(2, rotations(Interpolation::Linear, &times, |_| DQuat::from_rotation_x(0.3))),
    ];
    let scene = Scene::new(&skeleton, &clip(tracks), &MotionSettings::default());
    let report = scene.motion.report();
    assert!(matches!(report.verdict, LoopVerdict::MissingClosingKey { .. }), "{report:?}");
    assert!((report.period.unwrap() - 2.0).abs() < 1e-5, "{report:?}");
    assert!((report.smoothing_box - 1.0 / 24.0).abs() < 1e-5);
    assert_eq!(scene.motion.moving().len(), 2);
    // The loop is smooth where the key is missing: velocity follows the true motion there as elsewhere.
    let truth = |t: f64| (bob(0.5 * (t + 1e-5)) - bob(0.5 * (t - 1e-5))) / 2e-5;
    for k in 0..=40 {
        let t = 1.9 + 0.01 * f64::from(k);
        assert_near(scene.signal(t, 0, Signal::LinearVelocity), truth(t), 0.02, t);
        let pose = |t: f64| {
            let mut pose = Pose::rest(&skeleton);
            scene.motion.pose(t, &mut pose);
            pose.locals[0].to_trs().translation
        };
        assert_near(pose(t), bob(0.5 * t), 2e-3, format!("pose at {t}"));
    }
    // At and before the last key the pose is the file's own, and before the first it is held.
    assert_eq!(scene.motion.sample_time(2.0), 2.0_f64);
    assert_eq!(scene.motion.sample_time(0.0), times[0]);
    assert_eq!(bits(&scene.kinematics(-3.0)), bits(&scene.kinematics(times[0])));
}

#[test]
fn straight_travel_equals_the_walk_on_the_spot() {
    // Key values are multiples of 2⁻¹², exact in f32 with and without the travel of one unit per second.
    let times: Vec<f64> = (0..=32).map(|k| f64::from(k) / 32.0).collect();
    let round = |v: DVec3| (v * 4096.0).round() / 4096.0;
    let scene = |speed: DVec3| {
        let tracks = vec![
            moves(0, translations(Interpolation::Linear, &times, |t| round(bob(t)) + speed * t)),
            turns(1, rotations(Interpolation::Linear, &times, swing)),
        ];
        Scene::new(&chain(2), &clip(tracks), &MotionSettings::default())
    };
    let (still, travels) = (scene(DVec3::ZERO), scene(DVec3::new(1.0, 0.0, -2.0)));
    let LoopVerdict::Travelling { root, spacing } = &travels.motion.report().verdict else {
        panic!("{:?}", travels.motion.report());
    };
    assert!((root.distance - 5.0_f64.sqrt()).abs() < 1e-9 && *spacing == 0.0);
    for k in 0..150 {
        let t = 0.013 * f64::from(k);
        for signal in SIGNALS {
            for bone in 0..2 {
                let what = format!("{signal:?} of bone {bone} at {t}");
                assert_near(travels.signal(t, bone, signal), still.signal(t, bone, signal), 1e-9, &what);
                for (filter, gain) in filters() {
                    let [a, b] = [&travels, &still].map(|scene| scene.through(filter, t, bone, signal));
                    assert_near(a, b, 1e-9 * gain, format!("{what} through {filter:?}"));
                }
            }
        }
    }
}

#[test]
fn a_turning_walk_equals_the_walk_on_the_spot_turned() {
    let skeleton = chain(2);
    let heading = |t: f64| DQuat::from_rotation_y(1.2 * t);
    // Around a circle of radius 2.
    let place = |t: f64| (DVec3::new(2.0, 0.0, 0.0) - heading(t) * DVec3::new(2.0, 0.0, 0.0), heading(t));
    let still = Scene::new(&skeleton, &clip(walk(31, on_the_spot)), &MotionSettings::default());
    let travels = Scene::new(&skeleton, &clip(walk(31, place)), &MotionSettings::default());
    assert!(matches!(travels.motion.report().verdict, LoopVerdict::Travelling { .. }));
    for k in 0..60 {
        let t = f64::from(k) / 60.0;
        for signal in SIGNALS {
            // Between keys the turned root's own pose is another one: slerp of turned keys is not the turned slerp.
            for bone in 0..2 - k as usize % 2 {
                let largest = 1.0 + still.signal(t, bone, signal).length();
                let what = format!("{signal:?} of bone {bone} at {t}");
                // The keys are rounded to f32, 1e-7 of the circle's size, over a box of 1/30 s: once for v, twice for a.
                let tolerance = 1e-5
                    * largest
                    * if matches!(signal, Signal::LinearVelocity | Signal::AngularVelocity) { 1.0 } else { 60.0 };
                assert_near(
                    travels.signal(t, bone, signal),
                    heading(t) * still.signal(t, bone, signal),
                    tolerance,
                    &what,
                );
                for (filter, gain) in filters() {
                    let [a, b] = [&travels, &still].map(|scene| scene.through(filter, t, bone, signal));
                    assert_near(a, heading(t) * b, tolerance * gain, format!("{what} through {filter:?}"));
                }
            }
        }
    }
}

#[test]
fn kept_travel_turns_its_signals_from_period_to_period() {
    let skeleton = chain(2);
    let heading = |t: f64| DQuat::from_rotation_y(1.2 * t);
    let place = |t: f64| (DVec3::new(2.0, 0.0, 0.0) - heading(t) * DVec3::new(2.0, 0.0, 0.0), heading(t));
    let settings = MotionSettings { travel: Travel::Keep, ..MotionSettings::default() };
    let scene = Scene::new(&skeleton, &clip(walk(31, place)), &settings);
    // Walking on for ten periods more, without the wrap: once even the wobble has forgotten the start, it is the loop's.
    let long = Scene::new(&skeleton, &clip(walk(331, place)), &MotionSettings { looping: Looping::No, ..settings });
    for k in 0..=30 {
        let t = f64::from(k) / 30.0;
        for signal in [Signal::LinearVelocity, Signal::AngularVelocity] {
            let back = heading(9.0).conjugate();
            let what = format!("{signal:?} at {t}");
            assert_near(scene.signal(t, 0, signal), back * long.signal(t + 9.0, 0, signal), 1e-4, &what);
            for (filter, gain) in filters() {
                let (found, expected) = (scene.through(filter, t, 0, signal), long.through(filter, t + 9.0, 0, signal));
                assert_near(found, back * expected, 1e-4 * gain, format!("{what} through {filter:?}"));
            }
        }
    }
}

#[test]
fn travel_without_its_closing_key_is_both() {
    let skeleton = chain(2);
    let tracks = walk(30, |t| (DVec3::Z * (1.5 * t), DQuat::IDENTITY));
    let scene = Scene::new(&skeleton, &clip(tracks), &MotionSettings::default());
    let LoopVerdict::Travelling { spacing, .. } = scene.motion.report().verdict else {
        panic!("{:?}", scene.motion.report());
    };
    assert!((spacing - 1.0 / 30.0).abs() < 1e-9);
    assert!((scene.motion.report().period.unwrap() - 1.0).abs() < 1e-9);
    let fastest = (0..1000).map(|k| scene.signal(f64::from(k) / 1000.0, 0, Signal::LinearVelocity).length());
    assert!(fastest.fold(0.0, f64::max) < 1.5);
}

/// A clip with its closing key plays as the motion without it does, is a loop that closes, and needs no other.
#[test]
fn a_closing_key_that_is_added_changes_nothing_before_it() {
    let skeleton = chain(4);
    let mut travelling = walk(30, |t| (DVec3::Z * (1.5 * t), DQuat::IDENTITY));
    let times = evenly(30, 30.0);
    let threes = |at: &dyn Fn(f64) -> Vec3| -> Vec<Vec3> {
        let slope = |t: f64| (at(t + 1e-3) - at(t - 1e-3)) / 2e-3;
        times.iter().flat_map(|&t| [slope(t), at(t), slope(t)]).collect()
    };
    let cubic = threes(&|t| bob(t).as_vec3());
    // One channel in steps, one that ends before the others, one that stays.
    let more = |tracks: &mut Vec<Track>| {
        let mut steps = moves(2, translations(Interpolation::Step, &times, bob));
        steps.scale = Some(Curve::new(Interpolation::CubicSpline, times.clone(), cubic.clone()).unwrap());
        steps.rotation = Some(rotations(Interpolation::Linear, &times[..25], |t| swing(t.min(0.5))));
        tracks.extend([steps, moves(3, translations(Interpolation::Linear, &times, |_| DVec3::Y))]);
    };
    more(&mut travelling);
    let mut on_the_spot = walk(30, on_the_spot);
    more(&mut on_the_spot);
    for tracks in [on_the_spot, travelling] {
        let open = clip(tracks);
        let scene = Scene::new(&skeleton, &open, &MotionSettings::default());
        let (closed, later) = scene.motion.closed(&open, &skeleton).expect("its key is missing");
        assert!((later - 1.0 / 30.0).abs() < 1e-6, "{later}");
        let again = Scene::new(&skeleton, &closed, &MotionSettings::default());
        match (&scene.motion.report().verdict, &again.motion.report().verdict) {
            (LoopVerdict::MissingClosingKey { .. }, LoopVerdict::Closed { residual: None }) => (),
            (LoopVerdict::Travelling { .. }, LoopVerdict::Travelling { spacing: 0.0, .. }) => (),
            (before, after) => panic!("{before:?}, {after:?}"),
        }
        assert!(again.motion.closed(&closed, &skeleton).is_none());
        let length =
            |clip: &Clip| clip.tracks.iter().map(|t| t.translation.iter().map(|c| c.times().len()).sum()).collect();
        let (before, after): (Vec<usize>, Vec<usize>) = (length(&open), length(&closed));
        assert_eq!((before[3], after[3]), (30, 30), "what stays needs no key");
        assert_eq!((before[0], after[0]), (30, 31));
        for step in 0..2000 {
            let time = (29.0 / 30.0 + later) * f64::from(step) / 2000.0;
            let [a, b] = [&scene, &again].map(|scene| {
                let mut pose = Pose::rest(&skeleton);
                scene.motion.pose(time, &mut pose);
                pose.locals.iter().map(|local| local.to_trs()).collect::<Vec<_>>()
            });
            for (a, b) in a.iter().zip(&b) {
                assert_near(a.translation, b.translation, 1e-6, time);
                assert_near(a.scale, b.scale, 1e-6, time);
                assert!(a.rotation.dot(b.rotation).abs() > 1.0 - 1e-10, "{time}: {a:?} {b:?}");
            }
        }
    }
}

/// What becomes of clips that are no plain loops.
#[test]
fn verdicts() {
    let skeleton = chain(2);
    let times = evenly(31, 30.0);
    let verdict = |tracks: Vec<Track>, looping: Looping| {
        let settings = MotionSettings { looping, ..MotionSettings::default() };
        Scene::new(&skeleton, &clip(tracks), &settings).motion.report().verdict.clone()
    };
    let linear =
        |node, times: &[f64], f: &dyn Fn(f64) -> DQuat| turns(node, rotations(Interpolation::Linear, times, f));
    // A door that opens: nothing but an open root.
    let door = || vec![linear(0, &times, &|t| DQuat::from_rotation_y(t * PI / 2.0))];
    assert!(matches!(verdict(door(), Looping::Auto), LoopVerdict::NotALoop { open: Some(_) }));
    assert!(matches!(verdict(door(), Looping::Yes), LoopVerdict::Travelling { .. }));
    // The same with two keys: the only step is the gap itself.
    let two_keys = vec![linear(0, &[0.0, 1.0], &|t| DQuat::from_rotation_y(t * PI / 2.0))];
    assert!(matches!(verdict(two_keys, Looping::Auto), LoopVerdict::NotALoop { .. }));
    // A limb that ends elsewhere.
    let reach = || vec![linear(0, &times, &swing), linear(1, &times, &|t| DQuat::from_rotation_x(t))];
    let LoopVerdict::NotALoop { open: Some(gap) } = verdict(reach(), Looping::Auto) else { panic!() };
    assert_eq!(gap.name, "bone1");
    assert!((gap.angle - 1.0).abs() < 1e-6);
    assert!(matches!(verdict(reach(), Looping::Yes), LoopVerdict::Forced { .. }));
    assert_eq!(verdict(walk(31, on_the_spot), Looping::No), LoopVerdict::NotALoop { open: None });
    // A root that makes all its way in one of two long key intervals, while the limb closes, has travelled.
    let sparse = vec![
        moves(0, translations(Interpolation::Linear, &[0.0, 0.5, 1.0], |t| DVec3::X * if t > 0.6 { 1.0 } else { 0.0 })),
        linear(1, &times, &swing),
    ];
    assert!(matches!(verdict(sparse, Looping::Auto), LoopVerdict::Travelling { spacing: 0.0, .. }));
    // Rounding in the keys of a bone above the root does not make the root a limb.
    let shaking = |t: f64| DVec3::Y * (1e-6 * (50.0 * t).sin());
    let hips = |t: f64| bob(t) + DVec3::Z * (2.0 * t);
    let below = chain(3);
    let tracks = vec![
        moves(0, translations(Interpolation::Linear, &times, shaking)),
        moves(1, translations(Interpolation::Linear, &times, hips)),
        linear(2, &times, &swing),
    ];
    let travels = Scene::new(&below, &clip(tracks), &MotionSettings::default());
    let LoopVerdict::Travelling { root, .. } = &travels.motion.report().verdict else { panic!() };
    assert_eq!(root.name, "bone1");
    assert_eq!(verdict(vec![], Looping::Auto), LoopVerdict::Pose);
    assert_eq!(verdict(vec![linear(0, &[2.0], &swing)], Looping::Yes), LoopVerdict::Pose);
    let still = vec![linear(0, &times, &|_| DQuat::IDENTITY)];
    assert_eq!(verdict(still, Looping::Auto), LoopVerdict::Closed { residual: None });
}

/// Six limbs of which one ends off where it began, by more than a step: by little, it is taken out of its motion; by much, there is no loop.
#[test]
fn one_joint_that_does_not_close_does_not_open_the_others() {
    let skeleton = chain(7);
    let times = evenly(31, 30.0);
    let limbs = |last: usize, off: f64| {
        let turn = move |limb: usize, t: f64| {
            let off = if limb > last { off * t } else { 0.0 };
            DQuat::from_rotation_x(off) * DQuat::from_rotation_z(0.08 * (TAU * t + limb as f64).sin())
        };
        (1..7).map(|limb| turns(limb, rotations(Interpolation::Linear, &times, |t| turn(limb, t)))).collect::<Vec<_>>()
    };
    let off = 1.8f64.to_radians();
    let scene = Scene::new(&skeleton, &clip(limbs(5, off)), &MotionSettings::default());
    let LoopVerdict::Closed { residual: Some(gap) } = &scene.motion.report().verdict else {
        panic!("{:?}", scene.motion.report());
    };
    assert!(gap.name == "bone6" && (gap.angle - off).abs() < 1e-6, "{gap:?}");
    for signal in SIGNALS {
        for bone in 1..7 {
            let [end, start] = [1.0, 0.0].map(|t| scene.signal(t, bone, signal));
            assert_near(end, start, 1e-9 * (1.0 + start.length()), format!("{signal:?} of bone {bone} at the seam"));
        }
    }
    for (last, off) in [(5, 0.3), (3, off)] {
        let scene = Scene::new(&skeleton, &clip(limbs(last, off)), &MotionSettings::default());
        assert!(matches!(scene.motion.report().verdict, LoopVerdict::NotALoop { .. }), "{:?}", scene.motion.report());
    }
}

#[test]
fn a_gap_is_measured_in_the_world() {
    // Centimetres under a node of scale 0.01: a gap of 0.05 local units is 5e-4 of a size of 1.
    let small = Trs { scale: DVec3::splat(0.01), ..Trs::IDENTITY };
    let skeleton = Skeleton::build(&[bone("armature", None, small), bone("hips", Some(0), Trs::IDENTITY)]).unwrap();
    let times = evenly(31, 30.0);
    let path = |t: f64| DVec3::new(0.05 * t, 20.0 * (TAU * t).sin(), 0.0);
    let tracks = vec![moves(1, translations(Interpolation::Linear, &times, path))];
    let scene = Scene::new(&skeleton, &clip(tracks.clone()), &MotionSettings::default());
    assert!(matches!(scene.motion.report().verdict, LoopVerdict::Closed { .. }), "{:?}", scene.motion.report());
    let tiny = Scene::try_new(&skeleton, &clip(tracks), &MotionSettings::default(), 0.1).unwrap();
    assert!(!matches!(tiny.motion.report().verdict, LoopVerdict::Closed { .. }));
}

#[test]
fn a_forced_loop_goes_on_instead_of_jumping_back() {
    // A wheel that makes a quarter turn per clip on a body that stays.
    let skeleton = chain(2);
    let times = evenly(31, 30.0);
    let tracks = vec![
        moves(0, translations(Interpolation::Linear, &times, bob)),
        turns(1, rotations(Interpolation::Linear, &times, |t| DQuat::from_rotation_x(t * PI / 2.0))),
    ];
    let settings = MotionSettings { looping: Looping::Yes, ..MotionSettings::default() };
    let scene = Scene::new(&skeleton, &clip(tracks), &settings);
    for k in 0..40 {
        let t = 0.05 * f64::from(k);
        assert_near(scene.signal(t, 1, Signal::AngularVelocity), DVec3::X * (PI / 2.0), 1e-5, t);
        assert_near(scene.filtered(t, 1, Signal::AngularVelocity), DVec3::X * (PI / 2.0), 1e-5, t);
    }
}

#[test]
fn rest_grows_from_nothing_and_continue_is_at_speed() {
    let skeleton = chain(1);
    let times = evenly(31, 30.0);
    let tracks = || vec![moves(0, translations(Interpolation::Linear, &times, |t| DVec3::X * (4.0 * t)))];
    let at = |ends| {
        let settings = MotionSettings { ends, looping: Looping::No, ..MotionSettings::default() };
        Scene::new(&skeleton, &clip(tracks()), &settings)
    };
    let (rest, goes_on) = (at(Ends::Rest), at(Ends::Continue));
    assert_near(rest.signal(0.0, 0, Signal::LinearVelocity), DVec3::X * 2.0, 1e-6, "half of it at the first key");
    assert!(rest.filtered(0.0, 0, Signal::LinearVelocity).length() < 0.8);
    for t in [0.0, 0.5, 1.0] {
        assert_near(goes_on.signal(t, 0, Signal::LinearVelocity), DVec3::X * 4.0, 1e-5, t);
        assert_near(goes_on.filtered(t, 0, Signal::LinearVelocity), DVec3::X * 4.0, 1e-5, t);
        assert_near(goes_on.signal(t, 0, Signal::LinearAcceleration), DVec3::ZERO, 1e-3, t);
    }
}
