//! A bounded rotation whose angle grows with the distance to the axis: `(Rot(θ, n) − I) r`, `θ = k‖n×r‖`.
//!
//! What floppy, follow-through and drag do with a bone that turns. The distance to the axis is kept whatever θ is, and
//! as a map of space the Jacobian is 1: points slide along circles by an angle that is constant on each circle.

use super::{At, Psi};
use crate::simd::{Limit, Simd, V3, half_sin_cos, prelude::*, splat};
use glam::Vec3;

/// Turns every point about the axis through `origin` along `axis` by `gain·‖axis × r‖`, no farther than the limit.
#[inline(always)]
pub(super) fn turn<S: Simd>(simd: S, origin: Vec3, axis: Vec3, at: &At<S>, limit: Limit) -> Psi<S> {
    let rate = axis.length();
    let unit = if rate > 0.0 { axis / rate } else { Vec3::ZERO };
    let n = V3::splat(simd, unit);
    let r = at.p.sub(V3::splat(simd, origin));
    let across = n.cross(r);
    let inward = n.cross(across);
    let distance = across.length();
    let rate = splat(simd, rate);
    let angle = at.gain * rate * distance;
    let (share, slope) = limit.apply(simd, angle.abs());
    let (s, c) = half_sin_cos(simd, angle * share);
    let (one, two_s) = (splat(simd, 1.0), s + s);
    let (sin, versine) = (two_s * c, two_s * s);
    let d = inward.mul_add(versine, across.scale(sin));
    let per_angle = inward.mul_add(sin, across.scale(one - versine));
    // ∇θ = k·slope·r⊥/ρ, and r⊥ = −inward; on the axis itself per_angle is 0 and any direction will do.
    let off_axis = distance.simd_gt(splat(simd, f32::MIN_POSITIVE));
    let outward = splat(simd, -1.0) / off_axis.select(distance, one);
    let grad = inward.scale(at.gain * rate * slope * outward);
    let k = [unit.x, unit.y, unit.z].map(|v| splat(simd, v));
    let (sx, sy, sz) = (sin * k[0], sin * k[1], sin * k[2]);
    let (vx, vy, vz) = (versine * k[0], versine * k[1], versine * k[2]);
    let dp = [
        grad.mul_add(
            per_angle.x,
            V3 { x: vx.mul_sub(k[0], versine), y: vx.mul_sub(k[1], sz), z: vx.mul_add(k[2], sy) },
        ),
        grad.mul_add(
            per_angle.y,
            V3 { x: vy.mul_add(k[0], sz), y: vy.mul_sub(k[1], versine), z: vy.mul_sub(k[2], sx) },
        ),
        grad.mul_add(
            per_angle.z,
            V3 { x: vz.mul_sub(k[0], sy), y: vz.mul_add(k[1], sx), z: vz.mul_sub(k[2], versine) },
        ),
    ];
    Psi { d, dp, dk: per_angle.scale(rate * distance * slope) }
}

/// The rotation vector of [`turn`].
#[inline(always)]
pub(super) fn turn_vector<S: Simd>(simd: S, origin: Vec3, axis: Vec3, at: &At<S>, limit: Limit) -> V3<S> {
    let rate = axis.length();
    let unit = V3::splat(simd, if rate > 0.0 { axis / rate } else { Vec3::ZERO });
    let r = at.p.sub(V3::splat(simd, origin));
    let angle = at.gain * splat(simd, rate) * unit.cross(r).length();
    let (share, _) = limit.apply(simd, angle.abs());
    unit.scale(angle * share)
}
