//! Oracles of the kernels (VS 4, AS 4–5).

use super::reference::{self, Bone, Knobs, Random};
use super::*;
use crate::simd::{Level, dispatch, prelude::*, splat};
use glam::DMat3;

/// ψ with its derivatives at one point.
#[derive(Clone, Copy, Debug)]
struct Single {
    d: DVec3,
    dp: DMat3,
    dk: DVec3,
}

#[inline(always)]
fn psi_of<S: Simd, D: Displacement>(simd: S, effect: &D, bone: &BoneInput, p: Vec3, gain: f32) -> Single {
    let psi = effect.term(bone).psi(simd, &At { p: V3::splat(simd, p), gain: splat(simd, gain) });
    let vector = |v: V3<S>| DVec3::new(v.x.as_slice()[1].into(), v.y.as_slice()[1].into(), v.z.as_slice()[1].into());
    let rows = psi.dp.map(vector);
    Single { d: vector(psi.d), dp: DMat3::from_cols(rows[0], rows[1], rows[2]).transpose(), dk: vector(psi.dk) }
}

fn single<D: Displacement>(values: &[(&str, f64)], bone: &BoneInput, p: Vec3, gain: f32) -> Single {
    let mut all = Values::defaults(D::PARAMS);
    for (name, value) in values {
        all.set(name, *value).unwrap();
    }
    dispatch!(Level::new(), simd => psi_of(simd, &D::new(&all), bone, p, gain))
}

impl Random {
    /// f32 numbers, so that both formulations start from the same ones.
    fn bone(&mut self) -> (Bone, BoneInput) {
        let size = 10f64.powf(self.signed(1.5));
        let mut v = |most: f64| self.vector(most).as_vec3();
        let input = BoneInput {
            joint_origin: v(size),
            centroid: v(size),
            linear_velocity: v(3.0 * size),
            angular_velocity: v(6.0),
            linear_acceleration: v(30.0 * size),
            angular_acceleration: v(60.0),
            translation_gain: 1.0,
            rotation_gain: 1.0,
            about_point: false,
            size: size as f32,
        };
        let bone = Bone {
            origin: input.joint_origin.as_dvec3(),
            centroid: input.centroid.as_dvec3(),
            v: input.linear_velocity.as_dvec3(),
            omega: input.angular_velocity.as_dvec3(),
            a: input.linear_acceleration.as_dvec3(),
            alpha: input.angular_acceleration.as_dvec3(),
            size: f64::from(input.size),
        };
        (bone, input)
    }
}

/// Compares value and both derivatives with the second formulation on random input.
fn agrees<D: Displacement>(
    values: &dyn Fn(&Knobs) -> Vec<(&'static str, f64)>,
    truth: &dyn Fn(&Knobs, &Bone, DVec3, f64) -> DVec3,
) {
    let mut random = Random(11);
    let rounds = if std::env::var_os("SINEW_FULL").is_some() { 100_000 } else { 4_000 };
    for _ in 0..rounds {
        let (bone, input) = random.bone();
        let knobs = Knobs {
            translation: random.signed(0.3),
            rotation: random.signed(0.3),
            max_length: 0.05 + random.next(),
            max_angle: 0.05 + 2.0 * random.next(),
            soft: random.next() < 0.7,
            rest_time: 0.02 + 0.2 * random.next(),
        };
        let p = random.vector(bone.size).as_vec3();
        let gain = random.signed(1.5) as f32;
        let found = single::<D>(&values(&knobs), &input, p, gain);
        let at = |p: DVec3, gain: f64| truth(&knobs, &bone, p, gain);
        let (p, k) = (p.as_dvec3(), f64::from(gain));
        let scale = bone.size + (p - bone.origin).length() + (p - bone.centroid).length();
        let d = at(p, k);
        assert!(found.d.distance(d) <= 1e-5 * scale, "{}: {found:?} against {d}, {knobs:?} {bone:?}", D::NAME);
        // A hard limit has a corner, where differences mean nothing.
        if !knobs.soft {
            continue;
        }
        let h = 1e-5 * bone.size;
        for (axis, e) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
            let difference = (at(p + e * h, k) - at(p - e * h, k)) / (2.0 * h);
            let apart = found.dp.col(axis).distance(difference);
            assert!(
                apart <= 2e-3 * (1.0 + difference.length()),
                "{} by p: {} against {difference}",
                D::NAME,
                found.dp.col(axis)
            );
        }
        let hk = 1e-5;
        if k.abs() > 2.0 * hk {
            let difference = (at(p, k + hk) - at(p, k - hk)) / (2.0 * hk);
            assert!(found.dk.distance(difference) <= 2e-3 * (scale + difference.length()), "{} by k", D::NAME);
        }
    }
}

#[test]
fn floppy_agrees_with_the_matrix_exponential() {
    agrees::<Floppy>(&Knobs::swing, &reference::floppy);
}

#[test]
fn followthrough_and_drag_agree_with_the_matrix_exponential() {
    agrees::<Followthrough>(&Knobs::inertia, &reference::followthrough);
    agrees::<AccelerationDrag>(&Knobs::inertia, &reference::acceleration_drag);
}

#[test]
fn stretch_agrees_with_the_formula() {
    let values = |k: &Knobs| {
        vec![("stretch", 0.1 * k.translation), ("max_length", k.max_length), ("soft", f64::from(u8::from(k.soft)))]
    };
    agrees::<CentrifugalStretch>(&values, &|k, b, p, gain| {
        reference::centrifugal_stretch(0.1 * k.translation, k, b, p, gain)
    });
}

#[test]
fn squash_agrees_with_explicit_bases() {
    let values = |k: &Knobs| {
        vec![
            ("translation", k.translation),
            ("rotation", k.rotation),
            ("max_stretch", k.max_length),
            ("soft", f64::from(u8::from(k.soft))),
        ]
    };
    agrees::<Squash>(&values, &reference::squash);
}

#[test]
fn squash_keeps_volume_whatever_the_gain() {
    let mut random = Random(5);
    for round in 0..2_000 {
        let (_, mut input) = random.bone();
        let p = random.vector(f64::from(input.size)).as_vec3();
        // Far beyond a hard limit the stretch is one number: what is left is the matrix itself.
        let moving = round % 2 == 0;
        if moving {
            input.angular_velocity = Vec3::ZERO;
        } else {
            input.linear_velocity = Vec3::ZERO;
        }
        input.about_point = round % 3 == 0;
        let limit = random.next();
        let gain = if round % 5 < 2 { -1e6 } else { 1e6 };
        let found = single::<Squash>(&[("max_stretch", limit), ("soft", 0.0)], &input, p, gain);
        let determinant = (DMat3::IDENTITY + found.dp).determinant();
        assert!((determinant - 1.0).abs() < 1e-6, "{determinant} at limit {limit}");
    }
}

#[test]
fn floppy_rotation_keeps_the_distance_to_the_axis_and_volume() {
    let mut random = Random(9);
    for _ in 0..2_000 {
        let (bone, mut input) = random.bone();
        input.linear_velocity = Vec3::ZERO;
        let p = random.vector(bone.size).as_vec3();
        let found = single::<Floppy>(&[("rotation", 1.0), ("max_angle", 3.0)], &input, p, random.signed(1.0) as f32);
        let r = p.as_dvec3() - bone.origin;
        let axis = bone.omega.normalize();
        let (before, after) = (axis.cross(r).length(), axis.cross(r + found.d).length());
        assert!((before - after).abs() <= 1e-6 * (bone.size + r.length()), "{before} {after}");
        assert!((axis.dot(found.d)).abs() <= 1e-6 * (bone.size + r.length()));
        let determinant = (DMat3::IDENTITY + found.dp).determinant();
        assert!((determinant - 1.0).abs() < 2e-5, "{determinant}");
    }
}

#[test]
fn limits_hold_at_any_speed() {
    let mut random = Random(21);
    for _ in 0..5_000 {
        let (bone, mut input) = random.bone();
        let speed = 10f64.powf(random.signed(4.0)) as f32;
        input.linear_velocity = input.linear_velocity.normalize() * speed;
        input.angular_velocity = input.angular_velocity.normalize() * speed;
        input.linear_acceleration *= speed;
        input.angular_acceleration *= speed;
        let p = random.vector(bone.size).as_vec3();
        let (length, angle) = (random.next(), 3.0 * random.next());
        let values = [("translation", 10.0), ("rotation", -10.0), ("max_length", length), ("max_angle", angle)];
        let gain = random.signed(2.0) as f32;
        let r = (p.as_dvec3() - bone.origin).length();
        // A rotation by θ moves a point at distance ρ from the axis by 2ρ sin(θ/2).
        let most = length * bone.size + 2.0 * r * (0.5 * angle).min(std::f64::consts::FRAC_PI_2).sin();
        for found in [
            single::<Floppy>(&values, &input, p, gain),
            single::<Followthrough>(&values, &input, p, gain),
            single::<AccelerationDrag>(&values, &input, p, gain),
        ] {
            assert!(found.d.is_finite() && found.d.length() <= most + 1e-5 * (bone.size + r));
        }
        let limits = [("max_stretch", length), ("translation", 10.0), ("rotation", 10.0)];
        let squashed = single::<Squash>(&limits, &input, p, gain);
        let farthest = r + (p.as_dvec3() - bone.centroid).length();
        assert!(squashed.d.is_finite() && squashed.d.length() <= 2.0 * length * farthest + 1e-5 * farthest);
    }
}

#[test]
fn drag_and_followthrough_add_up_to_the_plain_acceleration_term() {
    let mut random = Random(33);
    for _ in 0..2_000 {
        let (bone, input) = random.bone();
        let p = random.vector(bone.size).as_vec3();
        let both = single::<Followthrough>(&[], &input, p, 0.7).d + single::<AccelerationDrag>(&[], &input, p, 0.7).d;
        let knobs =
            Knobs { translation: 0.01, rotation: 0.01, max_length: 0.3, max_angle: 1.0, soft: true, rest_time: 0.05 };
        let steady = Bone { v: bone.a, omega: bone.alpha, ..bone };
        // With the velocity along the acceleration nothing brakes: drag is the whole term.
        let whole = reference::acceleration_drag(&knobs, &steady, p.as_dvec3(), f64::from(0.7f32));
        assert!(both.distance(whole) <= 1e-5 * (bone.size + (p.as_dvec3() - bone.origin).length()));
    }
}

#[test]
fn everything_vanishes_at_rest_and_where_there_is_no_skin() {
    let rest = BoneInput { size: 1.0, translation_gain: 1.0, rotation_gain: 1.0, ..BoneInput::default() };
    let p = Vec3::new(0.3, -0.2, 0.9);
    for found in [
        single::<Floppy>(&[], &rest, p, 1.0),
        single::<Squash>(&[], &rest, p, 1.0),
        single::<Followthrough>(&[], &rest, p, 1.0),
        single::<AccelerationDrag>(&[], &rest, p, 1.0),
        single::<CentrifugalStretch>(&[], &rest, p, 1.0),
        single::<Wobble>(&[], &rest, p, 1.0),
        single::<Jerk>(&[], &rest, p, 1.0),
    ] {
        assert_eq!(found.d, DVec3::ZERO);
    }
    let moving = BoneInput { linear_velocity: Vec3::X, angular_velocity: Vec3::Z, ..rest };
    assert_eq!(single::<Squash>(&[], &moving, p, 1.0).d, DVec3::ZERO, "centroid = joint: no skin");
}
