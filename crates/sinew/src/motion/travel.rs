//! Travel: the rigid motion `G = X(T)X(0)⁻¹` by which a loop's root ends elsewhere, spread evenly over the loop.
//!
//! `E(t) = exp(t·log(G)/T)` is the steady part. A root's keys seen from it, `p′ = E⁻¹p`, `R′ = E⁻¹R`, are those of
//! the same walk made on the spot; tangents follow from `ṗ = ω×p + v + E ṗ′` and `u̇ = ½ωu + e u̇′`, (ω, v) the twist.
//! Oracle: a straight or turning walk gives what its in-place version gives.

use super::derivatives::Keys;
use crate::clip::rotation_log;
use glam::{DQuat, DVec3};

/// Angle in radians below which the quotients of the exponential and the logarithm lose digits.
const SERIES_BELOW: f64 = 0.1;

/// A steady rigid motion: velocity of a point x is `angular × x + linear`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Twist {
    pub angular: DVec3,
    pub linear: DVec3,
}

impl Twist {
    /// The twist that takes one placement to another in `duration` seconds, turning by at most half a turn.
    pub fn between(from: (DVec3, DQuat), to: (DVec3, DQuat), duration: f64) -> Self {
        let rotation = to.1 * from.1.conjugate();
        let shift = to.0 - rotation * from.0;
        let r = rotation_log(rotation);
        let angle = r.length();
        // V⁻¹ = I − ½[r]× + k[r]×², k = (1 − (θ/2)cot(θ/2))/θ²; the series where the quotient loses digits.
        let square = angle * angle;
        let k = if angle < SERIES_BELOW {
            1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30_240.0 + square / 1_209_600.0))
        } else {
            let half = 0.5 * angle;
            (1.0 - half * half.cos() / half.sin()) / square
        };
        let linear = shift - 0.5 * r.cross(shift) + k * r.cross(r.cross(shift));
        Self { angular: r / duration, linear: linear / duration }
    }

    /// `E(t) = exp(t·twist)`: rotation and translation.
    pub fn at(&self, t: f64) -> (DQuat, DVec3) {
        let (r, shift) = (self.angular * t, self.linear * t);
        let angle = r.length();
        // V = I + (1−cosθ)/θ² [r]× + (θ−sinθ)/θ³ [r]×².
        let square = angle * angle;
        let (k1, k2) = if angle < SERIES_BELOW {
            (
                0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0 - square / 40_320.0)),
                1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0 - square / 362_880.0)),
            )
        } else {
            ((1.0 - angle.cos()) / square, (angle - angle.sin()) / (square * angle))
        };
        let once = r.cross(shift);
        (DQuat::from_scaled_axis(r), shift + k1 * once + k2 * r.cross(once))
    }

    /// A placement carried along for `t` seconds.
    pub fn carry(&self, placement: (DVec3, DQuat), t: f64) -> (DVec3, DQuat) {
        let (rotation, shift) = self.at(t);
        (rotation * placement.0 + shift, rotation * placement.1)
    }

    /// Translation keys seen from the steady motion that starts at `start`.
    pub fn translation_in_place(&self, keys: &mut Keys<DVec3>, start: f64) {
        for (key, &time) in keys.times.iter().enumerate() {
            let (rotation, shift) = self.at(time - start);
            let back = rotation.conjugate();
            let p = keys.values[key];
            if let Some(tangents) = keys.tangents.get_mut(key) {
                *tangents = tangents.map(|tangent| back * (tangent - self.angular.cross(p) - self.linear));
            }
            keys.values[key] = back * (p - shift);
        }
    }

    /// Rotation keys seen from the steady motion that starts at `start`.
    pub fn rotation_in_place(&self, keys: &mut Keys<DQuat>, start: f64) {
        let half_rate = DQuat::from_xyzw(0.5 * self.angular.x, 0.5 * self.angular.y, 0.5 * self.angular.z, 0.0);
        for (key, &time) in keys.times.iter().enumerate() {
            let back = DQuat::from_scaled_axis(self.angular * (time - start)).conjugate();
            let u = keys.values[key];
            if let Some(tangents) = keys.tangents.get_mut(key) {
                *tangents = tangents.map(|tangent| back * (tangent - half_rate * u));
            }
            keys.values[key] = back * u;
        }
    }
}
