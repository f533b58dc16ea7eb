//! Centrifugal stretch (AS 5.1): `−K ω×(ω×r)`, outward from the axis a bone turns about.
//!
//! Oracle: a steady spin gives a pure radial stretch proportional to ‖ω‖²‖r⊥‖, and nothing along the axis.

use super::{At, BoneInput, Displacement, HARD, Input, MakerKind, Psi, Term, TermMaker, UNLIMITED};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use crate::simd::{Bounded, Limit, Simd, V3, splat};
use bytemuck::{Pod, Zeroable};
use glam::Vec3;

/// Spinning parts are drawn outward.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CentrifugalStretch {
    stretch: f32,
    max_length: f32,
    soft: bool,
}

impl Displacement for CentrifugalStretch {
    const NAME: &'static str = "centrifugal-stretch";
    const ABOUT: &'static str = "Spinning parts stretch outward, away from their axis of rotation";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number("stretch", "s²", [-10.0, 10.0], 0.005, "How far a turning bone throws the skin outward"),
        ParamSpec::length("max_length", 10.0, 0.3, "The throw never exceeds this"),
        ParamSpec::switch("soft", true, "Ease into the limit instead of clamping"),
        ParamSpec::number("filter", "", [0.001, 1.0], 0.6, "Time filter γ on angular velocity; 1 is none"),
    ];
    const INPUTS: &'static [Input] = &[Input::LowPass(Signal::AngularVelocity, "filter")];
    const PAPER: Option<&'static [(&'static str, f64)]> = Some(&[UNLIMITED, HARD, ("filter", 1.0)]);

    type Term = Throw;

    fn new(values: &Values) -> Self {
        Self {
            stretch: values.number("stretch") as f32,
            max_length: values.number("max_length") as f32,
            soft: values.switch("soft"),
        }
    }

    fn term(&self, bone: &BoneInput) -> Throw {
        let k = self.stretch * bone.rotation_gain;
        Throw::new(bone, k, bone.length_limit(self.max_length, self.soft))
    }

    fn maker(&self) -> TermMaker {
        let Self { stretch, max_length, soft } = *self;
        TermMaker { rotation: stretch, max_length, soft: soft.into(), ..TermMaker::of(MakerKind::Throw) }
    }
}

/// `−k·gain·ω×(ω×r)`, bounded in length.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Throw {
    pub(super) origin: Vec3,
    pub(super) omega: Vec3,
    pub(super) k: f32,
    pub(super) limit: Limit,
}

impl Throw {
    /// About a bone's joint.
    pub(super) fn new(bone: &BoneInput, k: f32, limit: Limit) -> Self {
        Self { origin: bone.joint_origin, omega: bone.angular_velocity, k, limit }
    }
}

impl Term for Throw {
    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S> {
        let omega = self.omega;
        let n = V3::splat(simd, omega);
        let r = at.p.sub(V3::splat(simd, self.origin));
        let outward = n.cross(r).cross(n).scale(splat(simd, self.k));
        let Bounded { unit, bounded, slope, share } = self.limit.apply_vector(simd, outward.scale(at.gain));
        let bend = slope - share;
        // raw = k·gain·(|ω|² I − ωωᵀ) r
        let square = omega.length_squared();
        let matrix = [
            Vec3::new(square - omega.x * omega.x, -omega.x * omega.y, -omega.x * omega.z),
            Vec3::new(-omega.y * omega.x, square - omega.y * omega.y, -omega.y * omega.z),
            Vec3::new(-omega.z * omega.x, -omega.z * omega.y, square - omega.z * omega.z),
        ];
        let factor = at.gain * splat(simd, self.k);
        let rows = [
            V3::splat(simd, matrix[0]).scale(factor),
            V3::splat(simd, matrix[1]).scale(factor),
            V3::splat(simd, matrix[2]).scale(factor),
        ];
        let along = rows[2].mul_add(unit.z, rows[1].mul_add(unit.y, rows[0].scale(unit.x))).scale(bend);
        Psi {
            d: unit.scale(bounded),
            dp: [
                along.mul_add(unit.x, rows[0].scale(share)),
                along.mul_add(unit.y, rows[1].scale(share)),
                along.mul_add(unit.z, rows[2].scale(share)),
            ],
            dk: outward.scale(slope),
        }
    }

    fn is_still(&self) -> bool {
        self.k == 0.0 || self.omega == Vec3::ZERO
    }
}
