//! A bounded translation `k·u`: what floppy, follow-through and drag do with a bone that moves.

use super::{Affine, At, Psi};
use crate::simd::{Limit, Simd, V3, prelude::*, splat};
use bytemuck::{Pod, Zeroable};
use glam::Vec3;

/// Moves every point by `share·gain·u`, `gain·u` no farther than the limit; none where the share is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Shove {
    pub(super) unit: Vec3,
    pub(super) length: f32,
    pub(super) limit: Limit,
    pub(super) share: f32,
}

impl Shove {
    pub fn new(u: Vec3, limit: Limit, share: f32) -> Self {
        let length = u.length();
        let moves = length > 0.0 && length.is_finite();
        if moves { Self { unit: u / length, length, limit, share } } else { Self::zeroed() }
    }

    #[inline(always)]
    pub fn moves(&self) -> bool {
        self.share != 0.0
    }

    #[inline(always)]
    pub fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S> {
        let zero = V3::splat(simd, Vec3::ZERO);
        let (unit, length) = (V3::splat(simd, self.unit * self.share), splat(simd, self.length));
        let (bounded, slope) = self.limit.apply(simd, at.gain.abs() * length);
        Psi { d: unit.scale(bounded.copysign(at.gain)), dp: [zero; 3], dk: unit.scale(slope * length) }
    }

    /// What it does to points of one gain.
    pub fn affine(&self, gain: f32) -> Affine {
        let length = self.limit.apply_one(gain.abs() * self.length).copysign(gain);
        Affine { shift: self.unit.as_dvec3() * f64::from(length * self.share), ..Affine::ZERO }
    }
}
