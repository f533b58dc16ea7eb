//! The filters over clips, across teleports and live.

use super::scene::*;
use glam::{DQuat, DVec3};
use sinew::clip::Track;
use sinew::{
    Ends, Filter, Interpolation, Kinematics, LiveKinematics, Looping, MotionSettings, Pose, Puppet, Signal, Smoothing,
    TimeFilter, WorldPose,
};
use std::f64::consts::TAU;

/// One second of movement of two bones, not closed unless `closed`.
fn busy(closed: bool, fps: u16) -> Vec<Track> {
    let times = evenly(usize::from(fps) + 1, f64::from(fps));
    let ramp = if closed { 0.0 } else { 1.0 };
    let path = |t: f64| DVec3::new((TAU * t).sin(), ramp * t * t, 0.4 * (2.0 * TAU * t).cos());
    let turn = |t: f64| DQuat::from_scaled_axis(DVec3::new((TAU * t).cos(), ramp * t, 0.5 * (2.0 * TAU * t).sin()));
    let mut root = moves(0, translations(Interpolation::Linear, &times, path));
    root.rotation = Some(rotations(Interpolation::Linear, &times, turn));
    vec![root, turns(1, rotations(Interpolation::Linear, &times, turn))]
}

/// The kernel's integral, by brute force over the unfiltered signal extended as the ends say.
fn integrate(x: impl Fn(f64) -> DVec3, t: f64, tau: f64) -> DVec3 {
    let (reach, n) = (30.0 * tau, 4000);
    let mut y = DVec3::ZERO;
    for k in 0..n {
        let s = reach * (f64::from(k) + 0.5) / f64::from(n);
        y += x(t - s) * ((-s / tau).exp() / tau * reach / f64::from(n));
    }
    y
}

#[test]
fn filtered_signals_are_the_kernels_integral() {
    let skeleton = chain(2);
    let tau = low_pass().time_constant_secs();
    for (closed, ends) in [(true, Ends::Rest), (false, Ends::Rest), (false, Ends::Continue)] {
        let looping = if closed { Looping::Yes } else { Looping::No };
        let settings = MotionSettings { looping, ends, ..MotionSettings::default() };
        let scene = Scene::new(&skeleton, &clip(busy(closed, 30)), &settings);
        // The motion before its start, seen by a clip whose first key is repeated half a second earlier.
        let mut tracks = busy(closed, 30);
        for track in &mut tracks {
            let early = |times: &[f64]| std::iter::once(-0.5).chain(times.iter().copied()).collect::<Vec<_>>();
            track.translation = track
                .translation
                .take()
                .map(|c| translations(Interpolation::Linear, &early(c.times()), |t| c.sample(t)));
            track.rotation =
                track.rotation.take().map(|c| rotations(Interpolation::Linear, &early(c.times()), |t| c.sample(t)));
        }
        let earlier = Scene::new(
            &skeleton,
            &clip(tracks),
            &MotionSettings { smoothing: Smoothing::Box(scene.motion.report().smoothing_box), ..settings.clone() },
        );
        for (bone, signal) in SIGNALS.into_iter().flat_map(|s| [(0, s), (1, s)]) {
            let largest =
                (0..100).map(|k| scene.signal(0.01 * f64::from(k), bone, signal).length()).fold(0.0, f64::max);
            if largest == 0.0 {
                continue;
            }
            for t in [0.0, 0.01, 0.1, 0.5123, 0.9, 1.0] {
                // Bone 1's parent turns: compare in its parent's frame, where the filter lives.
                let local = |scene: &Scene, s: f64| {
                    let parent = scene.world(s).world_from_parent(&skeleton, skeleton.bones().nth(bone).unwrap());
                    parent.matrix3.transpose() * scene.signal(s, bone, signal)
                };
                let x = |s: f64| match (s < 0.0, closed, ends) {
                    (true, true, _) => local(&scene, s.rem_euclid(1.0)),
                    (true, false, Ends::Continue) => local(&scene, 0.0),
                    (true, false, Ends::Rest) if s < -0.4 => DVec3::ZERO,
                    (true, false, Ends::Rest) => local(&earlier, s),
                    _ => local(&scene, s),
                };
                let parent = scene.world(t).world_from_parent(&skeleton, skeleton.bones().nth(bone).unwrap());
                let expected = parent.matrix3 * integrate(x, t, tau);
                let what = format!("{signal:?} of bone {bone} at {t}, closed {closed}, {ends:?}, largest {largest}");
                assert_near(scene.filtered(t, bone, signal), expected, 5e-4 * largest, what);
            }
        }
    }
}

#[test]
fn order_and_frame_rate_change_no_bit() {
    let skeleton = chain(2);
    let scene = || Scene::new(&skeleton, &clip(busy(true, 30)), &MotionSettings::default());
    let (played, scrubbed) = (scene(), scene());
    let at: Vec<(u32, u32)> =
        [24, 30, 60, 120].into_iter().flat_map(|fps| (0..=fps * 3).map(move |f| (f, fps))).collect();
    let frame = |scene: &Scene, (frame, fps): (u32, u32)| bits(&scene.kinematics(f64::from(frame) / f64::from(fps)));
    let in_order: Vec<_> = at.iter().map(|&f| frame(&played, f)).collect();
    let mut random = Random(1);
    let mut order: Vec<usize> = (0..at.len()).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, (random.unit() * (k + 1) as f64) as usize);
    }
    for &k in &order {
        assert_eq!(frame(&scrubbed, at[k]), in_order[k], "{:?}", at[k]);
    }
    // Common times of different rates are the same f64, hence the same bits.
    for fps in [30, 60, 120] {
        for second in 0..=3 {
            let find = |fps: u32| at.iter().position(|&f| f == (second * fps, fps)).unwrap();
            assert_eq!(in_order[find(fps)], in_order[find(24)]);
        }
    }
    // Two threads that both come first to the filters.
    let shared = scene();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for (k, &f) in at.iter().enumerate() {
                    assert_eq!(frame(&shared, f), in_order[k], "{f:?}");
                }
            });
        }
    });
}

#[test]
fn no_filter_gives_the_signal_itself() {
    let skeleton = chain(2);
    let filtered = all_filtered(TimeFilter::NONE);
    let motion = sinew::Motion::new(
        Puppet { skeleton: &skeleton, bone_sizes: &[1.0; 2], morph_layout: &[], hierarchy: None },
        &clip(busy(true, 30)),
        &MotionSettings::default(),
        &filtered,
    )
    .unwrap();
    let scene = Scene { skeleton, motion };
    let kinematics = scene.kinematics(0.3);
    for (column, entry) in kinematics.filtered.iter().zip(&filtered) {
        for (value, bone) in column.iter().zip(&kinematics.bones) {
            assert_eq!(*value, bone.get(entry.signal));
        }
    }
}

/// A hop of five units after 15 keys of steady movement.
fn hopping(times: &[f64]) -> Track {
    let path = |t: f64| DVec3::new(t + if t > 0.49 { 5.0 } else { 0.0 }, (3.0 * t).sin(), 0.0);
    let mut track = moves(0, translations(Interpolation::Linear, times, path));
    track.rotation = Some(rotations(Interpolation::Linear, times, |t| {
        DQuat::from_rotation_z(2.0 * t + if t > 0.49 { 1.0 } else { 0.0 })
    }));
    track
}

#[test]
fn a_teleport_is_two_clips() {
    let skeleton = chain(1);
    let times = evenly(31, 30.0);
    for ends in [Ends::Rest, Ends::Continue] {
        let settings = MotionSettings {
            looping: Looping::No,
            ends,
            smoothing: Smoothing::Box(1.0 / 30.0),
            ..MotionSettings::default()
        };
        let cut = MotionSettings { teleports: vec![0.5], ..settings.clone() };
        let whole = Scene::new(&skeleton, &clip(vec![hopping(&times)]), &cut);
        let before = Scene::new(&skeleton, &clip(vec![hopping(&times[..15])]), &settings);
        let after = Scene::new(&skeleton, &clip(vec![hopping(&times[15..])]), &settings);
        for (scene, range) in [(&before, 0.0..=14.0 / 30.0), (&after, 0.5..=1.0)] {
            for k in 0..=60 {
                let t = f64::from(k) / 60.0;
                if !range.contains(&t) {
                    continue;
                }
                for signal in SIGNALS {
                    assert_near(
                        whole.signal(t, 0, signal),
                        scene.signal(t, 0, signal),
                        1e-10,
                        format!("{signal:?} at {t}"),
                    );
                    for (filter, gain) in filters() {
                        assert_near(
                            whole.through(filter, t, 0, signal),
                            scene.through(filter, t, 0, signal),
                            1e-10 * gain,
                            format!("{signal:?} at {t} through {filter:?}"),
                        );
                    }
                }
            }
        }
        let fastest = (0..500).map(|k| whole.signal(f64::from(k) / 500.0, 0, Signal::LinearVelocity).length());
        assert!(fastest.fold(0.0, f64::max) < 4.0);
    }
}

#[test]
fn a_teleport_in_a_loop_cuts_the_seam_on_both_sides() {
    let skeleton = chain(1);
    let times = evenly(31, 30.0);
    let circle = |t: f64| DVec3::new((TAU * t).cos(), (TAU * t).sin(), 0.0);
    let tracks = vec![moves(0, translations(Interpolation::Linear, &times, circle))];
    let at = |teleports: Vec<f64>| {
        let settings = MotionSettings { teleports, ..MotionSettings::default() };
        Scene::new(&skeleton, &clip(tracks.clone()), &settings)
    };
    let (plain, cut) = (at(vec![]), at(vec![0.5]));
    let seam_jump = |scene: &Scene, signal| {
        let jump = |filter| (scene.through(filter, 0.0, 0, signal) - scene.through(filter, 1.0, 0, signal)).length();
        filters().into_iter().map(|(filter, gain)| jump(filter) / gain).fold(0.0, f64::max)
    };
    for signal in [Signal::LinearVelocity, Signal::LinearAcceleration] {
        // Half a second after the cut and before it, the seam is as in the plain loop.
        assert_near(cut.signal(0.0, 0, signal), plain.signal(0.0, 0, signal), 1e-12, signal_name(signal));
        assert!(seam_jump(&cut, signal) < 1e-9);
        let largest = plain.signal(0.2, 0, signal).length();
        assert_near(cut.filtered(0.0, 0, signal), plain.filtered(0.0, 0, signal), 1e-3 * largest, signal_name(signal));
    }
    assert!(
        cut.filtered(0.5, 0, Signal::LinearVelocity).length()
            < 0.3 * plain.filtered(0.5, 0, Signal::LinearVelocity).length()
    );
}

fn signal_name(signal: Signal) -> String {
    format!("{signal:?}")
}

#[test]
fn live_input_comes_to_what_the_clip_gives() {
    let skeleton = chain(2);
    let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
    // Keys so dense that smoothing, which looks ahead and which live input cannot have, does nothing.
    let scene = Scene::new(&skeleton, &clip(busy(false, 960)), &settings);
    let error_with = |steps: u32, filter: Filter| {
        let filtered = all_filtered(filter);
        let mut live = LiveKinematics::new(&skeleton, &filtered);
        let (mut pose, mut world, mut out) = (Pose::rest(&skeleton), WorldPose::default(), Kinematics::default());
        for k in 0..=steps {
            let t = 0.8 * f64::from(k) / f64::from(steps);
            scene.motion.pose(t, &mut pose);
            world.compose(&skeleton, &pose);
            live.push(&skeleton, &pose, &world, 0.8 / f64::from(steps), &mut out);
        }
        // A derivative is the mean over the last step, as the rates themselves are.
        let lag = if matches!(filter, Filter::Derivative(_)) { 0.4 / f64::from(steps) } else { 0.0 };
        let parent = |t: f64, bone: usize| {
            scene.world(t).world_from_parent(&skeleton, skeleton.bones().nth(bone).unwrap()).matrix3
        };
        (0..2)
            .flat_map(|bone| [(0, bone), (1, bone)])
            .map(|(signal, bone)| {
                let expected = scene.through(filter, 0.8 - lag, bone, SIGNALS[signal]);
                let found = out.filtered[signal][bone];
                (parent(0.8, bone).transpose() * found - parent(0.8 - lag, bone).transpose() * expected).length()
            })
            .fold(0.0, f64::max)
    };
    for (filter, gain) in filters() {
        let (coarse, fine) = (error_with(80, filter), error_with(800, filter));
        assert!(coarse < 0.02 * gain && fine < 1.3e-3 * gain, "{filter:?}: {coarse} {fine}");
    }
}

#[test]
fn live_input_is_exact_for_a_steady_motion_and_forgets_on_reset() {
    let skeleton = chain(1);
    let filtered: Vec<_> = filters().into_iter().flat_map(|(filter, _)| all_filtered(filter)).collect();
    let mut live = LiveKinematics::new(&skeleton, &filtered);
    let mut out = Kinematics::default();
    let (mut pose, mut world) = (Pose::rest(&skeleton), WorldPose::default());
    let mut random = Random(2);
    let spin = DVec3::new(0.5, 1.0, -2.0);
    let mut t = 0.0;
    let mut push = |live: &mut LiveKinematics, t: f64, dt: f64, out: &mut Kinematics| {
        let placed = sinew::Trs {
            translation: DVec3::X * (3.0 * t),
            rotation: DQuat::from_scaled_axis(spin * t),
            scale: DVec3::ONE,
        };
        pose.locals[0] = sinew::LocalTransform::Trs(placed);
        world.compose(&skeleton, &pose);
        live.push(&skeleton, &pose, &world, dt, out);
    };
    push(&mut live, 0.0, 0.1, &mut out);
    assert_eq!(out, Kinematics::at_rest(1, 12));
    for _ in 0..1000 {
        let dt = 0.001 + 0.02 * random.unit();
        t += dt;
        push(&mut live, t, dt, &mut out);
    }
    assert_near(out.bones[0].linear_velocity, DVec3::X * 3.0, 1e-9, "v");
    assert_near(out.bones[0].angular_velocity, spin, 1e-9, "spin");
    for (entry, column) in filtered.iter().zip(&out.filtered) {
        if matches!(entry.signal, Signal::LinearVelocity | Signal::AngularVelocity) {
            let expected = entry.filter.steady(out.bones[0].get(entry.signal));
            assert_near(column[0], expected, 1e-6, format!("{entry:?}"));
        }
    }
    let before = out.clone();
    push(&mut live, t, 0.0, &mut out);
    assert_eq!(out, before, "no time, no change");
    push(&mut live, t, f64::NAN, &mut out);
    assert_eq!(out, before);
    live.reset();
    push(&mut live, 100.0, 0.01, &mut out);
    assert_eq!(out, Kinematics::at_rest(1, 12));
}
