//! Stretchable and twistable bones (Jacobson and Sorkine 2011).
//!
//! Every bone a → b blends twice: by its weight w, and along itself by `e`, the point's place between its ends. Stretch
//! moves a point along with the far end, `e·s`, `s = (‖b' − a'‖/‖b − a‖ − 1)(b − a)`, without swelling what it passes; the
//! twists at the two ends meet in between: `v' = Σ w [a' + R·Rot((1 − e)θ_a + eθ_b, b − a)(v − a + e·s)]`.
//!
//! Oracle: without stretch and twist it is linear blending; a stretched straight limb keeps its radius; a twist of one
//! bone is spread evenly and keeps it as well.

use crate::attach::Line;
use glam::{DQuat, DVec3};

/// A bone at bind and at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwistBone {
    /// At bind.
    pub bind: Line,
    /// At the pose.
    pub posed: Line,
    /// Rotation from bind to the pose, without the twists.
    pub rotation: DQuat,
    /// Twist about its line at either end, radians.
    pub twist: [f64; 2],
}

impl TwistBone {
    /// Where the bone alone takes a point.
    pub fn carry(&self, p: DVec3) -> DVec3 {
        let along = self.bind.end - self.bind.start;
        let e = self.bind.nearest(p);
        let grown = (self.posed.end - self.posed.start).length() / along.length() - 1.0;
        // A bone without length has nothing to stretch.
        let stretch = if grown.is_finite() { along * (e * grown) } else { DVec3::ZERO };
        let [first, last] = self.twist;
        let twist = along
            .try_normalize()
            .map_or(DQuat::IDENTITY, |axis| DQuat::from_axis_angle(axis, first + (last - first) * e));
        self.posed.start + self.rotation * (twist * (p - self.bind.start + stretch))
    }
}

/// Skins one point by bones and weights that sum to 1.
pub fn skin(p: DVec3, weights: &[(u32, f64)], bones: &[TwistBone]) -> DVec3 {
    weights.iter().map(|&(bone, weight)| bones[bone as usize].carry(p) * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::tests::straight;

    fn bone(start: f64, end: f64) -> TwistBone {
        let bind = Line { start: DVec3::Y * start, end: DVec3::Y * end };
        TwistBone { bind, posed: bind, rotation: DQuat::IDENTITY, twist: [0.0; 2] }
    }

    #[test]
    fn without_stretch_and_twist_it_is_linear_blending() {
        let (points, _, _) = straight();
        let turn = DQuat::from_rotation_z(1.0);
        let mut second = bone(2.0, 4.0);
        second.rotation = turn;
        second.posed.end = second.posed.start + turn * DVec3::Y * 2.0;
        for p in points {
            let w = (p.y / 4.0).clamp(0.0, 1.0);
            let linear = p * (1.0 - w) + (second.posed.start + turn * (p - DVec3::Y * 2.0)) * w;
            assert!(skin(p, &[(0, 1.0 - w), (1, w)], &[bone(0.0, 2.0), second]).distance(linear) < 1e-12);
        }
    }

    #[test]
    fn stretch_and_twist_keep_the_radius_and_spread_evenly() {
        let (points, _, _) = straight();
        let mut limb = bone(0.0, 4.0);
        limb.posed.end = DVec3::Y * 6.0;
        limb.twist = [0.0, 3.0];
        for p in points {
            let q = skin(p, &[(0, 1.0)], &[limb]);
            assert!((q.x.hypot(q.z) - 0.5).abs() < 1e-12 && (q.y - 1.5 * p.y).abs() < 1e-12);
            let turned = DQuat::from_rotation_y(3.0 * p.y / 4.0) * DVec3::new(p.x, 0.0, p.z);
            assert!(DVec3::new(q.x, 0.0, q.z).distance(turned) < 1e-12);
        }
        let point = Line { start: DVec3::ONE, end: DVec3::ONE };
        let flat = TwistBone { bind: point, posed: point, rotation: DQuat::IDENTITY, twist: [1.0; 2] };
        assert_eq!(flat.carry(DVec3::ZERO), DVec3::ZERO);
    }
}
