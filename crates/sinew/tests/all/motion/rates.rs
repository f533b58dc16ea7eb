//! Velocities and accelerations, exact and smoothed.

use super::scene::*;
use glam::{DQuat, DVec3, Quat, Vec3};
use sinew::{Curve, Ends, Interpolation, Looping, MotionSettings, Pose, Signal, Skeleton, Smoothing, Trs};
use std::f64::consts::TAU;

/// First and second derivative of `f` at `t` by differences of the eighth order.
pub fn differences(f: impl Fn(f64) -> DVec3, t: f64) -> (DVec3, DVec3) {
    let h = 4e-3;
    let sides = |k: i32| (f(t + f64::from(k) * h), f(t - f64::from(k) * h));
    let first = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];
    let second = [8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];
    let mut out = (DVec3::ZERO, f(t) * (-205.0 / 72.0));
    for k in 0..4 {
        let (after, before) = sides(k as i32 + 1);
        out.0 += (after - before) * first[k];
        out.1 += (after + before) * second[k];
    }
    (out.0 / h, out.1 / (h * h))
}

pub fn cubic_translations(random: &mut Random, times: &[f64]) -> Curve<Vec3> {
    let values = times.iter().flat_map(|_| [random.vector(), random.vector(), random.vector()]);
    Curve::new(Interpolation::CubicSpline, times.to_vec(), values.map(|v| v.as_vec3()).collect()).unwrap()
}

pub fn cubic_rotations(random: &mut Random, times: &[f64]) -> Curve<Quat> {
    let mut values = Vec::new();
    for _ in times {
        let mut tangent = || Quat::from_xyzw(0.3, 0.1, -0.2, 0.4) * random.signed() as f32;
        let (into, out) = (tangent(), tangent());
        values.extend([into, random.rotation(0.8).as_quat() * 1.1, out]);
    }
    Curve::new(Interpolation::CubicSpline, times.to_vec(), values).unwrap()
}

#[test]
fn a_chain_composes_to_the_velocity_and_acceleration_of_its_tip() {
    let mut random = Random(7);
    let skeleton = chain(5);
    for round in 0..20 {
        let tracks = (0..5)
            .map(|node| {
                let times = [0.0, 0.9 + 0.05 * node as f64, 2.0];
                let mut track = moves(node, cubic_translations(&mut random, &times));
                track.rotation = Some(if node % 2 == round % 2 {
                    cubic_rotations(&mut random, &times)
                } else {
                    rotations(Interpolation::Linear, &times, |_| random.rotation(1.5))
                });
                track
            })
            .collect();
        let settings = MotionSettings { looping: Looping::No, ..exact() };
        let scene = Scene::new(&skeleton, &clip(tracks), &settings);
        let tip = random.vector();
        let tip_bone = skeleton.bones().last().unwrap();
        let position = |t: f64| scene.world(t).world_from_bone(tip_bone).transform_point3(tip);
        for t in [0.1, 0.37, 0.8, 1.2, 1.7] {
            let (velocity, acceleration) = differences(position, t);
            let (world, kinematics) = (scene.world(t), scene.kinematics(t));
            let (mut v, mut a, mut spin_above) = (DVec3::ZERO, DVec3::ZERO, DVec3::ZERO);
            for bone in skeleton.bones() {
                let m = kinematics.bones[bone.index()];
                let r = position(t) - world.joint_origin(bone);
                let relative = m.linear_velocity + m.angular_velocity.cross(r);
                v += relative;
                a += m.linear_acceleration
                    + m.angular_acceleration.cross(r)
                    + m.angular_velocity.cross(m.angular_velocity.cross(r))
                    + 2.0 * spin_above.cross(relative);
                spin_above += m.angular_velocity;
            }
            assert_near(v, velocity, 1e-8, format!("velocity at {t}"));
            assert_near(a, acceleration, 1e-8 * (1.0 + acceleration.length()), format!("acceleration at {t}"));
        }
    }
}

#[test]
fn a_steady_spin_on_a_turning_parent_has_no_angular_acceleration() {
    let skeleton = chain(2);
    let times = evenly(31, 30.0);
    let spin = |axis: DVec3| rotations(Interpolation::Linear, &times, |t| DQuat::from_scaled_axis(axis * t));
    let tracks = vec![turns(0, spin(DVec3::X * TAU)), turns(1, spin(DVec3::Y * TAU))];
    let scene = Scene::new(&skeleton, &clip(tracks), &MotionSettings::default());
    for t in [0.0, 0.123, 0.5, 1.0] {
        // The keys are f32: 6e-8 over a box of 1/30 s, twice.
        assert_near(scene.signal(t, 1, Signal::AngularAcceleration), DVec3::ZERO, 3e-4, t);
        let spin = scene.signal(t, 1, Signal::AngularVelocity);
        assert!((spin.length() - TAU).abs() < 1e-5, "{spin}");
    }
}

#[test]
fn the_sign_of_key_quaternions_changes_no_bit() {
    let mut random = Random(3);
    let skeleton = chain(1);
    let times = evenly(20, 30.0);
    for interpolation in [Interpolation::Linear, Interpolation::Step] {
        let keys: Vec<Quat> = times.iter().map(|_| random.rotation(1.0).as_quat()).collect();
        let flipped = keys.iter().enumerate().map(|(k, &q)| if k % 3 == 1 { -q } else { q }).collect();
        let scene = |values| {
            let curve = Curve::new(interpolation, times.clone(), values).unwrap();
            Scene::new(&skeleton, &clip(vec![turns(0, curve)]), &MotionSettings::default())
        };
        let (plain, flipped) = (scene(keys.clone()), scene(flipped));
        for k in 0..50 {
            let t = 0.0127 * f64::from(k);
            assert_eq!(bits(&plain.kinematics(t)), bits(&flipped.kinematics(t)), "{interpolation:?} at {t}");
        }
    }
}

#[test]
fn a_mirrored_or_scaled_parent_turns_its_child_the_right_way() {
    let mut random = Random(11);
    for scale in [DVec3::new(-1.0, 1.0, 1.0), DVec3::splat(-3.0), DVec3::new(0.01, 0.01, -0.01)] {
        let parent = Trs { translation: DVec3::new(3.0, -1.0, 2.0), rotation: random.rotation(2.0), scale };
        let bones = [bone("mirror", None, parent), bone("child", Some(0), Trs::from_translation(DVec3::X))];
        let skeleton = Skeleton::build(&bones).unwrap();
        let times = [0.0, 1.0];
        let mut track = turns(1, rotations(Interpolation::Linear, &times, |_| random.rotation(1.5)));
        track.translation = Some(translations(Interpolation::Linear, &times, |_| random.vector()));
        let scene = Scene::new(&skeleton, &clip(vec![track]), &exact());
        let child = skeleton.bone_of_node(1).unwrap();
        let position = |t: f64| scene.world(t).world_from_bone(child).transform_point3(DVec3::new(0.2, 1.0, -0.4));
        let (velocity, _) = differences(position, 0.4);
        let m = scene.kinematics(0.4).bones[child.index()];
        let r = position(0.4) - scene.world(0.4).joint_origin(child);
        assert_near(m.linear_velocity + m.angular_velocity.cross(r), velocity, 1e-9, scale);
    }
}

/// What three boxes make of a curve, from its values alone: a box is a difference of the integral, so the smoothed
/// velocity is a triangle-weighted mean of central differences, the acceleration a mean of second differences.
fn by_boxes(x: impl Fn(f64) -> DVec3, t: f64, h: f64) -> (DVec3, DVec3) {
    let n = 20_000;
    let (mut v, mut a) = (DVec3::ZERO, DVec3::ZERO);
    for k in 0..n {
        let share = (f64::from(k) + 0.5) / f64::from(n);
        let c = (2.0 * share - 1.0) * h;
        v += (x(t + c + 0.5 * h) - x(t + c - 0.5 * h)) / h * ((1.0 - (c / h).abs()) * 2.0 / f64::from(n));
        let c = 0.5 * c;
        a += (x(t + c + h) - 2.0 * x(t + c) + x(t + c - h)) / (h * h * f64::from(n));
    }
    (v, a)
}

#[test]
fn smoothing_is_the_mean_of_differences_for_every_interpolation() {
    let mut random = Random(5);
    let skeleton = chain(1);
    let times: Vec<f64> = (0..12).map(|k| 0.1 * f64::from(k) + 0.03 * random.unit()).collect();
    let (first, last) = (times[0], times[11]);
    for (interpolation, tolerance) in
        [(Interpolation::Linear, 1e-7), (Interpolation::Step, 2e-4), (Interpolation::CubicSpline, 1e-7)]
    {
        let curve = match interpolation {
            Interpolation::CubicSpline => cubic_translations(&mut random, &times),
            _ => translations(interpolation, &times, |_| random.vector()),
        };
        let settings = MotionSettings { smoothing: Smoothing::Box(0.07), looping: Looping::No, ..exact() };
        for ends in [Ends::Rest, Ends::Continue] {
            let scene = Scene::new(
                &skeleton,
                &clip(vec![moves(0, curve.clone())]),
                &MotionSettings { ends, ..settings.clone() },
            );
            let going_in = scene_rate(&skeleton, &curve, first);
            let going_out = scene_rate(&skeleton, &curve, last);
            let x = |s: f64| match ends {
                Ends::Continue if s < first => curve.sample(first) + going_in * (s - first),
                Ends::Continue if s > last => curve.sample(last) + going_out * (s - last),
                _ => curve.sample(s),
            };
            for share in [0.0, 0.02, 0.2, 0.31, 0.5, 0.77, 0.99, 1.0] {
                let t = first + share * (last - first);
                let (v, a) = by_boxes(x, t, 0.07);
                let what = format!("{interpolation:?} {ends:?} at {t}");
                assert_near(scene.signal(t, 0, Signal::LinearVelocity), v, tolerance * 30.0, &what);
                assert_near(scene.signal(t, 0, Signal::LinearAcceleration), a, tolerance * 900.0, &what);
            }
        }
    }
}

/// The exact rate of a curve at a time.
fn scene_rate(skeleton: &Skeleton, curve: &Curve<Vec3>, t: f64) -> DVec3 {
    let settings = MotionSettings { looping: Looping::No, ..exact() };
    Scene::new(skeleton, &clip(vec![moves(0, curve.clone())]), &settings).signal(t, 0, Signal::LinearVelocity)
}

#[test]
fn smoothed_angular_rates_are_the_convolution_of_exact_ones() {
    let mut random = Random(9);
    let skeleton = chain(1);
    let times: Vec<f64> = (0..9).map(|k| 0.1 * f64::from(k) + 0.03 * random.unit()).collect();
    let h = 0.06;
    for cubic in [false, true] {
        let curve = if cubic {
            cubic_rotations(&mut random, &times)
        } else {
            rotations(Interpolation::Linear, &times, |_| random.rotation(1.0))
        };
        let tracks = vec![turns(0, curve)];
        let settings = MotionSettings { looping: Looping::No, ..exact() };
        let raw = Scene::new(&skeleton, &clip(tracks.clone()), &settings);
        let smooth =
            Scene::new(&skeleton, &clip(tracks), &MotionSettings { smoothing: Smoothing::Box(h), ..settings.clone() });
        let omega = |t: f64| raw.signal(t, 0, Signal::AngularVelocity);
        for t in [0.2, 0.33, 0.4, 0.61] {
            let n = 20_000;
            let (mut v, mut a) = (DVec3::ZERO, DVec3::ZERO);
            for k in 0..n {
                let u = ((f64::from(k) + 0.5) / f64::from(n) - 0.5) * 3.0;
                let b = if u.abs() < 0.5 { 0.75 - u * u } else { 0.5 * (1.5 - u.abs()).powi(2) };
                let slope = if u.abs() < 0.5 { -2.0 * u } else { u.abs() - 1.5 };
                let slope = if u.abs() < 0.5 { slope } else { slope * u.signum() };
                let here = omega(t - u * h) * (3.0 / f64::from(n));
                v += here * b;
                a += here * (slope / h);
            }
            let what = format!("cubic {cubic} at {t}");
            assert_near(smooth.signal(t, 0, Signal::AngularVelocity), v, 1e-3, &what);
            assert_near(smooth.signal(t, 0, Signal::AngularAcceleration), a, 3e-2, &what);
        }
    }
}

#[test]
fn a_sine_keyed_at_30_fps_keeps_its_acceleration() {
    let skeleton = chain(2);
    let times = evenly(31, 30.0);
    let tracks = vec![
        moves(0, translations(Interpolation::Linear, &times, |t| DVec3::X * (TAU * t).sin())),
        turns(1, rotations(Interpolation::Linear, &times, |t| DQuat::from_rotation_z((TAU * t).sin()))),
    ];
    let scene = Scene::new(&skeleton, &clip(tracks), &MotionSettings::default());
    assert!((scene.motion.report().smoothing_box - 1.0 / 30.0).abs() < 1e-9);
    let (mut velocity_error, mut acceleration_error) = (0.0, 0.0);
    for k in 0..400 {
        let t = f64::from(k) / 400.0;
        let kinematics = scene.kinematics(t);
        let (v, a) = (TAU * (TAU * t).cos(), -TAU * TAU * (TAU * t).sin());
        let (b0, b1) = (kinematics.bones[0], kinematics.bones[1]);
        velocity_error =
            f64::max(velocity_error, (b0.linear_velocity.x - v).abs().max((b1.angular_velocity.z - v).abs()) / TAU);
        let worst = (b0.linear_acceleration.x - a).abs().max((b1.angular_acceleration.z - a).abs());
        acceleration_error = f64::max(acceleration_error, worst / (TAU * TAU));
    }
    assert!(velocity_error < 0.01, "{velocity_error}");
    assert!(acceleration_error < 0.012, "{acceleration_error}");
}

#[test]
fn a_step_is_an_impulse_that_integrates_to_its_jump() {
    let skeleton = chain(1);
    let turn = DVec3::new(0.4, -1.0, 0.2);
    let mut track = turns(
        0,
        rotations(Interpolation::Step, &[0.0, 0.5, 1.0], |t| {
            DQuat::from_scaled_axis(if t < 0.4 { DVec3::ZERO } else { turn })
        }),
    );
    let jump = DVec3::new(1.0, 2.0, -3.0);
    track.translation =
        Some(translations(
            Interpolation::Step,
            &[0.0, 0.6, 1.0],
            |t| if t < 0.4 { DVec3::ONE } else { DVec3::ONE + jump },
        ));
    let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
    let scene = Scene::new(&skeleton, &clip(vec![track]), &settings);
    let n = 5000;
    let (mut shift, mut rotation, mut speed_change) = (DVec3::ZERO, DVec3::ZERO, DVec3::ZERO);
    for k in 0..n {
        let m = scene.kinematics((f64::from(k) + 0.5) / f64::from(n)).bones[0];
        shift += m.linear_velocity / f64::from(n);
        rotation += m.angular_velocity / f64::from(n);
        speed_change += m.linear_acceleration / f64::from(n);
    }
    assert_near(shift, jump, 1e-4, "translation");
    assert_near(rotation, turn, 1e-4, "rotation");
    assert_near(speed_change, DVec3::ZERO, 1e-3, "speed");
}

#[test]
fn a_hundred_times_the_scene_is_a_hundred_times_the_speed() {
    let times = evenly(31, 30.0);
    let scene = |scale: f64| {
        let bones =
            [bone("root", None, Trs::IDENTITY), bone("child", Some(0), Trs::from_translation(DVec3::Y * scale))];
        let skeleton = Skeleton::build(&bones).unwrap();
        let path = |t: f64| DVec3::new((TAU * t).sin(), 0.3 * (2.0 * TAU * t).cos(), t * t * 0.2) * scale;
        let mut track = moves(0, translations(Interpolation::Linear, &times, path));
        track.rotation = Some(rotations(Interpolation::Linear, &times, |t| DQuat::from_rotation_x((TAU * t).sin())));
        let tracks = vec![
            track,
            turns(1, rotations(Interpolation::Linear, &times, |t| DQuat::from_rotation_z((TAU * t).sin()))),
        ];
        Scene::try_new(&skeleton, &clip(tracks), &MotionSettings::default(), scale).unwrap()
    };
    let (small, large) = (scene(0.02), scene(2.0));
    assert_eq!(
        std::mem::discriminant(&small.motion.report().verdict),
        std::mem::discriminant(&large.motion.report().verdict)
    );
    for k in 0..20 {
        let t = 0.057 * f64::from(k);
        for signal in [Signal::LinearVelocity, Signal::LinearAcceleration] {
            let (a, b) = (small.filtered(t, 0, signal) * 100.0, large.filtered(t, 0, signal));
            assert_near(a, b, 1e-4, format!("{signal:?} at {t}"));
        }
        assert_near(small.signal(t, 1, Signal::AngularVelocity), large.signal(t, 1, Signal::AngularVelocity), 0.0, t);
    }
}

#[test]
fn untouched_bones_stand_at_rest_and_matrix_nodes_are_kept() {
    let skeleton = chain(3);
    let tracks = vec![turns(1, rotations(Interpolation::Linear, &[0.0, 1.0], DQuat::from_rotation_x))];
    let scene = Scene::new(&skeleton, &clip(tracks), &MotionSettings::default());
    let mut pose = Pose::rest(&skeleton);
    scene.motion.pose(0.5, &mut pose);
    assert_eq!(pose.locals[0], skeleton.rest_locals()[0]);
    assert_eq!(pose.locals[2], skeleton.rest_locals()[2]);
    assert_ne!(pose.locals[1], skeleton.rest_locals()[1]);
    assert_eq!(scene.motion.moving().iter().map(|b| b.index()).collect::<Vec<_>>(), [1]);
}
