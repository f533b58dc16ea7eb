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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::Interpolation;

    fn twist(angle: f64) -> Twist {
        Twist { angular: DVec3::new(0.3, -0.5, 0.8).normalize() * angle, linear: DVec3::new(1.0, 2.0, -0.7) }
    }

    #[test]
    fn the_twist_between_two_placements_carries_one_to_the_other() {
        let from = (DVec3::new(4.0, -1.0, 0.3), DQuat::from_scaled_axis(DVec3::new(0.2, 1.0, 0.4)));
        for angle in [0.0, 1e-9, 1e-4, 0.0999, 0.1001, 1.0, 3.0] {
            let to = twist(angle).carry(from, 1.0);
            for duration in [0.5, 3.0] {
                let found = Twist::between(from, to, duration);
                let again = found.carry(from, duration);
                assert!((again.0 - to.0).length() < 1e-13 * 10.0, "{angle}: {again:?} against {to:?}");
                assert!(again.1.dot(to.1).abs() > 1.0 - 1e-14);
                assert!((found.angular * duration - twist(angle).angular).length() < 1e-12, "{angle}");
            }
            // Halves add up, which a wrong exponential does not.
            let half = twist(angle).carry(twist(angle).carry(from, 0.5), 0.5);
            assert!((half.0 - to.0).length() < 1e-13 * 10.0);
        }
    }

    #[test]
    fn keys_in_place_are_those_of_the_motion_without_the_travel() {
        let twist = twist(1.1);
        let times = vec![0.2, 0.7, 1.3];
        let path = |t: f64| DVec3::new(t.sin(), t * t, 1.0 - t);
        let spin = |t: f64| DQuat::from_scaled_axis(DVec3::new(0.4, 0.1, -0.9) * (t * t)) * 1.3;
        let h = 1e-5;
        let slope = |t: f64| (path(t + h) - path(t - h)) / (2.0 * h);
        let spin_slope = |t: f64| (spin(t + h) - spin(t - h)) * (0.5 / h);
        let carried = |t: f64| {
            let (rotation, shift) = twist.at(t - 0.2);
            rotation * path(t) + shift
        };
        let carried_spin = |t: f64| twist.at(t - 0.2).0 * spin(t);
        let interpolation = Interpolation::CubicSpline;
        let mut moves = Keys {
            interpolation,
            values: times.iter().map(|&t| carried(t)).collect(),
            tangents: times.iter().map(|&t| [(carried(t + h) - carried(t - h)) / (2.0 * h); 2]).collect(),
            times: times.clone(),
        };
        let mut turns = Keys {
            interpolation,
            values: times.iter().map(|&t| carried_spin(t)).collect(),
            tangents: times.iter().map(|&t| [(carried_spin(t + h) - carried_spin(t - h)) * (0.5 / h); 2]).collect(),
            times: times.clone(),
        };
        twist.translation_in_place(&mut moves, 0.2);
        twist.rotation_in_place(&mut turns, 0.2);
        let apart = |a: DQuat, b: DQuat| (a - b).length();
        for (key, &t) in times.iter().enumerate() {
            assert!((moves.values[key] - path(t)).length() < 1e-13);
            assert!((moves.tangents[key][0] - slope(t)).length() < 1e-8);
            assert!(apart(turns.values[key], spin(t)) < 1e-13);
            assert!(apart(turns.tangents[key][1], spin_slope(t)) < 1e-8);
        }
    }
}
