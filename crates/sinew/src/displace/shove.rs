//! A bounded translation `k·u`: what floppy, follow-through and drag do with a bone that moves.

use super::{At, Psi};
use crate::simd::{Limit, Simd, V3, prelude::*, splat};
use glam::Vec3;

/// Moves every point by `gain·u`, no farther than the limit.
#[inline(always)]
pub(super) fn shove<S: Simd>(simd: S, u: Vec3, at: &At<S>, limit: Limit) -> Psi<S> {
    let zero = V3::splat(simd, Vec3::ZERO);
    let u_lanes = V3::splat(simd, u);
    let length = at.gain.abs() * splat(simd, u.length());
    let (share, slope) = limit.apply(simd, length);
    Psi { d: u_lanes.scale(at.gain * share), dp: [zero; 3], dk: u_lanes.scale(slope) }
}
