//! Acceleration drag (AS eq. 11): the skin is left behind by a bone that sets off.
//!
//! As follow-through with `1 − 𝒟`: translation `−(1−𝒟) K a`, rotation `(1−𝒟) (Rot(−K‖α×r‖, α) − I) r`.
//!
//! Oracle: see follow-through.

use super::inertia::{self, Inertia};
use super::{At, BoneInput, Displacement, Input, Psi};
use crate::param::{ParamSpec, Values};
use crate::simd::{Simd, V3};

/// When a bone sets off, the skin is left behind.
#[derive(Clone, Copy, Debug)]
pub struct AccelerationDrag(Inertia);

impl Displacement for AccelerationDrag {
    const NAME: &'static str = "acceleration-drag";
    const ABOUT: &'static str = "Drag while speeding up: when a bone sets off, the skin is left behind";
    const PARAMS: &'static [ParamSpec] = &inertia::params(1.0);
    const INPUTS: &'static [Input] = inertia::INPUTS;

    fn new(values: &Values) -> Self {
        Self(Inertia::new(values))
    }

    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> Psi<S> {
        let (moving, turning) = self.0.braking(bone);
        self.0.psi(simd, bone, at, (1.0 - moving, 1.0 - turning))
    }

    #[inline(always)]
    fn split<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> (V3<S>, V3<S>) {
        let (moving, turning) = self.0.braking(bone);
        self.0.split(simd, bone, at, (1.0 - moving, 1.0 - turning))
    }
}
