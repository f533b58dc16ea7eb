//! A bounded rotation whose angle grows with the distance to the axis: `(Rot(θ, n) − I) r`, `θ = k‖n×r‖`.
//!
//! What floppy, follow-through and drag do with a bone that turns. The distance to the axis is kept whatever θ is, and
//! as a map of space the Jacobian is 1: points slide along circles by an angle that is constant on each circle.

use super::{At, Psi};
use crate::simd::{Limit, Simd, V3, f32x16, half_sin_cos, prelude::*, sin_versine, splat};
use bytemuck::{Pod, Zeroable};
use glam::Vec3;

/// Turns every point about the axis through `origin` along `unit` by `gain·rate·‖unit × r‖`, no farther than the limit,
/// and takes a share of the displacement; none where the share is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Turn {
    pub(super) origin: Vec3,
    pub(super) unit: Vec3,
    pub(super) rate: f32,
    pub(super) limit: Limit,
    pub(super) share: f32,
}

/// A point seen from the axis.
struct Seen<S: Simd> {
    r: V3<S>,
    across: V3<S>,
    distance: f32x16<S>,
    angle: f32x16<S>,
    slope: f32x16<S>,
}

impl Turn {
    /// By `gain·‖axis × r‖`.
    pub fn new(origin: Vec3, axis: Vec3, limit: Limit, share: f32) -> Self {
        let rate = axis.length();
        let moves = rate > 0.0 && rate.is_finite();
        if moves { Self { origin, unit: axis / rate, rate, limit, share } } else { Self::zeroed() }
    }

    #[inline(always)]
    pub fn moves(&self) -> bool {
        self.share != 0.0
    }

    #[inline(always)]
    fn see<S: Simd>(&self, simd: S, at: &At<S>) -> Seen<S> {
        let r = at.p.sub(V3::splat(simd, self.origin));
        let across = V3::splat(simd, self.unit).cross(r);
        let distance = across.length();
        let (bounded, slope) = self.limit.apply(simd, at.gain.abs() * splat(simd, self.rate) * distance);
        Seen { r, across, distance, angle: bounded.copysign(at.gain), slope }
    }

    #[inline(always)]
    pub fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S> {
        let Seen { across, distance, angle, slope, .. } = self.see(simd, at);
        let (unit, rate) = (self.unit, splat(simd, self.rate));
        let inward = V3::splat(simd, unit).cross(across);
        let (sin, versine) = if self.limit.max <= std::f32::consts::FRAC_PI_2 {
            sin_versine(simd, angle)
        } else {
            let (s, c) = half_sin_cos(simd, angle);
            let two_s = s + s;
            (two_s * c, two_s * s)
        };
        let (one, share) = (splat(simd, 1.0), splat(simd, self.share));
        let cos = (one - versine) * share;
        let (sin, versine) = (sin * share, versine * share);
        let d = inward.mul_add(versine, across.scale(sin));
        let per_angle = inward.mul_add(sin, across.scale(cos));
        // ∇θ = k·slope·r⊥/ρ, and r⊥ = −inward; on the axis itself per_angle is 0 and any direction will do.
        let off_axis = distance.simd_gt(splat(simd, f32::MIN_POSITIVE));
        let outward = splat(simd, -1.0) / off_axis.select(distance, one);
        let grad = inward.scale(at.gain * rate * slope * outward);
        let k = [splat(simd, unit.x), splat(simd, unit.y), splat(simd, unit.z)];
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

    /// Rotation vector and arm. The share scales the displacement in [`Turn::psi`] and the angle here: equal to first
    /// order, and at shares 0 and 1.
    #[inline(always)]
    pub fn spin<S: Simd>(&self, simd: S, at: &At<S>) -> (V3<S>, V3<S>) {
        let seen = self.see(simd, at);
        (V3::splat(simd, self.unit).scale(seen.angle * splat(simd, self.share)), seen.r)
    }
}
