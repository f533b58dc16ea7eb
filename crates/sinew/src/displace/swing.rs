//! What floppy, follow-through, drag, wobble and jerk share: a vector moves the skin, another turns it about the joint,
//! each within its limit.

use super::shove::shove;
use super::turn::{turn, turn_vector};
use super::{At, BoneInput, Psi};
use crate::param::Values;
use crate::simd::{Limit, Simd, V3, splat};
use glam::Vec3;

/// Gains and limits of a moving and a turning part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swing {
    translation: f32,
    rotation: f32,
    max_length: f32,
    max_angle: f32,
    soft: bool,
}

/// What drives it at one bone: a vector for each part, and the share of each to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    pub linear: Vec3,
    pub angular: Vec3,
    pub shares: (f32, f32),
}

impl Swing {
    /// From the parameters `translation`, `rotation`, `max_length`, `max_angle` and `soft`; gains times `factor`.
    pub fn new(values: &Values, factor: f64) -> Self {
        Self {
            translation: (values.number("translation") * factor) as f32,
            rotation: (values.number("rotation") * factor) as f32,
            max_length: values.number("max_length") as f32,
            max_angle: values.number("max_angle") as f32,
            soft: values.switch("soft"),
        }
    }

    /// The displacement, each part times its share.
    #[inline(always)]
    pub fn psi<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>, drive: Drive) -> Psi<S> {
        let (along, axis) = self.vectors(bone, drive);
        let moved = shove(simd, along, at, self.length(bone)).scale(simd, drive.shares.0);
        moved.add(turn(simd, bone.joint_origin, axis, at, self.angle()).scale(simd, drive.shares.1))
    }

    /// As a shift and a rotation vector. A share scales the displacement in `psi` and the angle here: equal to first
    /// order, and at shares 0 and 1.
    #[inline(always)]
    pub fn split<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>, drive: Drive) -> (V3<S>, V3<S>) {
        let (along, axis) = self.vectors(bone, drive);
        let moved = shove(simd, along, at, self.length(bone)).d;
        let turned = turn_vector(simd, bone.joint_origin, axis, at, self.angle());
        (moved.scale(splat(simd, drive.shares.0)), turned.scale(splat(simd, drive.shares.1)))
    }

    /// Shift per gain, and the axis whose length is the angle per gain and distance.
    #[inline(always)]
    fn vectors(&self, bone: &BoneInput, drive: Drive) -> (Vec3, Vec3) {
        (
            drive.linear * (self.translation * bone.translation_gain),
            drive.angular * (self.rotation * bone.rotation_gain / bone.size),
        )
    }

    #[inline(always)]
    fn length(&self, bone: &BoneInput) -> Limit {
        Limit { max: self.max_length * bone.size, soft: self.soft }
    }

    #[inline(always)]
    fn angle(&self) -> Limit {
        Limit { max: self.max_angle, soft: self.soft }
    }
}
