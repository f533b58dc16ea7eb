//! Follow-through (AS 4, eq. 9–10): the skin overshoots a bone that brakes.
//!
//! Translation `−𝒟(v,a) K a`; rotation `𝒟(ω,α) (Rot(−K‖α×r‖, α) − I) r`, 𝒟 the indicator of braking.
//!
//! Oracle: with equal parameters, follow-through and acceleration drag together are the plain acceleration deformer; a
//! steady spin gives zero of both; nothing while accelerating.

use super::inertia::{self, Inertia};
use super::{At, BoneInput, Displacement, Input, Psi};
use crate::param::{ParamSpec, Values};
use crate::simd::{Simd, V3};

/// Overshoot: when a bone brakes, the skin swings on past it.
#[derive(Clone, Copy, Debug)]
pub struct Followthrough(Inertia);

impl Displacement for Followthrough {
    const NAME: &'static str = "follow-through";
    const ABOUT: &'static str = "Overshoot: when a bone brakes, the skin swings on past it";
    const PARAMS: &'static [ParamSpec] = &inertia::params(0.8);
    const INPUTS: &'static [Input] = inertia::INPUTS;

    fn new(values: &Values) -> Self {
        Self(Inertia::new(values))
    }

    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> Psi<S> {
        self.0.psi(simd, bone, at, self.0.braking(bone))
    }

    #[inline(always)]
    fn split<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> (V3<S>, V3<S>) {
        self.0.split(simd, bone, at, self.0.braking(bone))
    }
}
