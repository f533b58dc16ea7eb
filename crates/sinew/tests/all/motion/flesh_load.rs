//! What flesh feels, and what a muscle's oscillator makes of it.

use super::rates::{cubic_rotations, cubic_translations, differences};
use super::scene::*;
use glam::{DMat3, DQuat, DVec3};
use sinew::{
    Clip, Ends, Filter, FilteredSignal, Interpolation, Kinematics, LiveKinematics, Looping, Motion, MotionSettings,
    Oscillator, Pose, Puppet, Signal, Skeleton, TimeFilter, WorldPose,
};
use std::f64::consts::TAU;

const FLESH_SIGNALS: [Signal; 5] =
    [Signal::FleshAcceleration, Signal::FleshStrainX, Signal::FleshStrainY, Signal::FleshStrainZ, Signal::FleshUp];

fn feeling(skeleton: &Skeleton, clip: &Clip, settings: &MotionSettings, filter: impl Into<Filter>) -> Scene {
    let filter = filter.into();
    let filtered = FLESH_SIGNALS.map(|signal| FilteredSignal { signal, filter });
    let motion = Motion::new(
        Puppet { skeleton, bone_sizes: &vec![1.0; skeleton.len()], morph_layout: &[], hierarchy: None },
        clip,
        settings,
        &filtered,
    )
    .unwrap();
    Scene { skeleton: skeleton.clone(), motion }
}

fn felt(scene: &Scene, t: f64, bone: usize) -> [DVec3; 5] {
    let kinematics = scene.kinematics(t);
    std::array::from_fn(|part| kinematics.filtered[part][bone])
}

fn muscle() -> Oscillator {
    Oscillator::new(3.0, 0.3).unwrap()
}

#[test]
fn a_point_of_the_tip_feels_its_acceleration() {
    let mut random = Random(11);
    let skeleton = chain(4);
    let tracks = (0..4)
        .map(|node| {
            let times = [0.0, 0.9 + 0.05 * node as f64, 2.0];
            let mut track = moves(node, cubic_translations(&mut random, &times));
            track.rotation = Some(cubic_rotations(&mut random, &times));
            track
        })
        .collect();
    let settings = MotionSettings { looping: Looping::No, ..exact() };
    let scene = feeling(&skeleton, &clip(tracks), &settings, TimeFilter::NONE);
    let tip = skeleton.bones().last().unwrap();
    for t in [0.1, 0.37, 0.8, 1.2, 1.7] {
        let [a, x, y, z, up] = felt(&scene, t, tip.index());
        for p in [DVec3::ZERO, DVec3::new(0.3, -0.2, 0.7)] {
            let (_, acceleration) = differences(|t| scene.world(t).world_from_bone(tip).transform_point3(p), t);
            let axes = scene.world(t).world_from_bone(tip).matrix3;
            let told = axes * (a + DMat3::from_cols(x, y, z) * p);
            assert_near(told, acceleration, 1e-8 * (1.0 + acceleration.length()), format!("at {t}"));
            assert_near(axes * up, DVec3::Y, 1e-12, "up");
        }
    }
}

/// Two bones swinging, `periods` times over a second each.
fn swing(periods: usize) -> Clip {
    let times = evenly(30 * periods + 1, 30.0);
    let turn = |t: f64| DQuat::from_rotation_z(0.8 * (TAU * t).sin()) * DQuat::from_rotation_x(0.3 * (TAU * t).cos());
    let tracks = vec![
        turns(0, rotations(Interpolation::Linear, &times, turn)),
        turns(1, rotations(Interpolation::Linear, &times, |t| DQuat::from_rotation_x((TAU * t).sin()))),
    ];
    clip(tracks)
}

#[test]
fn a_loop_is_what_many_periods_come_to() {
    let skeleton = chain(3);
    let looped = feeling(&skeleton, &swing(1), &MotionSettings::default(), muscle());
    assert!(looped.motion.report().period.is_some());
    let settings = MotionSettings { looping: Looping::No, ends: Ends::Continue, ..MotionSettings::default() };
    let long = feeling(&skeleton, &swing(8), &settings, muscle());
    for k in 0..20 {
        let t = f64::from(k) / 20.0;
        for (part, (a, b)) in felt(&looped, t, 2).into_iter().zip(felt(&long, 6.0 + t, 2)).enumerate() {
            let size = 40.0;
            assert_near(a, b, 2e-4 * size, format!("part {part} at {t}"));
        }
    }
    // Position and velocity meet at the seam.
    let h = 1e-5;
    for part in 0..5 {
        let at = |t: f64| felt(&looped, t, 2)[part];
        assert_near(at(1.0 - 1e-9), at(0.0), 1e-5, "seam");
        let (before, after) = ((at(1.0 - h) - at(1.0 - 2.0 * h)) / h, (at(2.0 * h) - at(h)) / h);
        assert_near(before, after, 2e-2 * (1.0 + before.length()), "speed at the seam");
    }
}

#[test]
fn a_window_comes_to_the_whole_as_it_grows() {
    let skeleton = chain(3);
    let scene = feeling(&skeleton, &swing(1), &MotionSettings::default(), muscle());
    let (end, step) = (0.6, 1.0 / 2400.0);
    let whole = felt(&scene, end, 2)[0];
    let windowed = |window: f64| {
        let mut live = LiveKinematics::new(&skeleton, scene.motion.filtered());
        let (mut pose, mut world, mut out) = (Pose::rest(&skeleton), WorldPose::default(), Kinematics::default());
        let steps = (window / step).round() as u32;
        for k in 0..=steps {
            let t = end - window + f64::from(k) * step;
            scene.motion.pose(t.rem_euclid(1.0), &mut pose);
            world.compose(&skeleton, &pose);
            live.push(&skeleton, &pose, &world, step, &mut out);
        }
        (out.filtered[0][2] - whole).length() / whole.length()
    };
    let table = [0.05, 0.2, 0.5, 1.0, 2.0].map(windowed);
    // The poses themselves are keyed 30 times a second; the clip's rates are smoothed, live ones are not.
    assert!(table[4] < 0.05 && table[4] < table[0] && table[3] < table[0], "{table:?}");
}

#[test]
fn a_released_muscle_comes_back() {
    // A second of shaking, or of turning round and round, then nothing.
    let skeleton = chain(2);
    let times = evenly(181, 30.0);
    let shake = |t: f64| if t < 1.0 { 0.8 * (2.0 * TAU * t).sin() } else { 0.0 };
    let spin = |t: f64| TAU * t.min(1.0);
    for angle in [&shake as &dyn Fn(f64) -> f64, &spin] {
        let turn = rotations(Interpolation::Linear, &times, |t| DQuat::from_rotation_z(angle(t)));
        let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
        let scene = feeling(&skeleton, &clip(vec![turns(0, turn)]), &settings, muscle());
        let peak = (0..100).map(|k| felt(&scene, f64::from(k) / 100.0, 1)[0].length()).fold(0.0, f64::max);
        let damping = 2.0 * 0.3 * TAU * 3.0;
        let left = felt(&scene, 1.05 + 24.0 / damping, 1)[0].length();
        assert!(peak > 1.0 && left < 1e-4 * peak, "{left} of {peak}");
    }
}
