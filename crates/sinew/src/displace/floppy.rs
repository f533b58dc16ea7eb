//! Floppy (VS 4.2): the skin lags behind the bone.
//!
//! Translation `−k v`; rotation: turn p about the axis (p_i, ω) by `θ = −k‖ω×r‖`, r = p − p_i, so that far points lag
//! more. The rotation vector is −k·distance·ω: smooth through a reversal, no cut-off at small speeds. Both are
//! bounded: `θ/(1+|θ/θ_max|⁴)^¼` bends softly below the limit, the hard form cuts and creases the skin.
//!
//! Oracle: at w̃ = 1 and one rotating bone the distance to the axis is kept and the map has Jacobian 1; zero at zero
//! velocity; gain 0 is the base, bit for bit.

use super::{At, BoneInput, Displacement};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use crate::simd::{Simd, V3, half_sin_cos, limit, prelude::*, splat};

/// Drag: the skin lags behind the bone's translation and rotation.
#[derive(Clone, Copy, Debug)]
pub struct Floppy {
    translation: f32,
    rotation: f32,
    max_length: f32,
    max_angle: f32,
    soft: bool,
}

impl Displacement for Floppy {
    const NAME: &'static str = "floppy";
    const ABOUT: &'static str = "Drag: the skin lags behind moving and turning bones, more the farther out it is";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number("translation", "s", [-10.0, 10.0], 0.1, "How far the skin lags behind a bone that moves"),
        ParamSpec::number("rotation", "s", [-10.0, 10.0], 0.1, "How far the skin lags behind a bone that turns"),
        ParamSpec::number("max_length", "× size", [0.0, 10.0], 0.3, "The lag of a moving bone never exceeds this"),
        ParamSpec::number("max_angle", "rad", [0.0, 20.0], 1.0, "The lag of a turning bone never exceeds this"),
        ParamSpec::switch("soft", true, "Bend smoothly into the limits instead of cutting there"),
        ParamSpec::number("translation_filter", "γ", [0.001, 1.0], 1.0, "Time filter on velocity; 1 is none"),
        ParamSpec::number("rotation_filter", "γ", [0.001, 1.0], 1.0, "Time filter on angular velocity; 1 is none"),
    ];
    const INPUTS: &'static [(Signal, &'static str)] =
        &[(Signal::LinearVelocity, "translation_filter"), (Signal::AngularVelocity, "rotation_filter")];

    fn new(values: &Values) -> Self {
        Self {
            translation: values.number("translation") as f32,
            rotation: values.number("rotation") as f32,
            max_length: values.number("max_length") as f32,
            max_angle: values.number("max_angle") as f32,
            soft: values.switch("soft"),
        }
    }

    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> V3<S> {
        let v = V3::splat(simd, bone.linear_velocity * (-self.translation * bone.translation_gain)).scale(at.gain);
        let lag = v.scale(limit(simd, v.length(), self.max_length * bone.size, self.soft));

        let omega = bone.angular_velocity;
        let rate = omega.length();
        let axis = V3::splat(simd, if rate > 0.0 { omega / rate } else { omega });
        let r = at.p.sub(V3::splat(simd, bone.joint_origin));
        let across = axis.cross(r);
        let k = at.gain * splat(simd, -self.rotation * bone.rotation_gain * rate / bone.size);
        let angle = k * across.length();
        let angle = angle * limit(simd, angle.abs(), self.max_angle, self.soft);
        let (s, c) = half_sin_cos(simd, angle);
        let two_s = s + s;
        let turn = axis.cross(across).mul_add(two_s * s, across.scale(two_s * c));
        lag.add(turn)
    }
}
