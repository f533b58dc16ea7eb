//! Stretchable and twistable bones (Jacobson and Sorkine 2011).
//!
//! Every bone a → b blends twice: by its weight w, and along itself by `e`, the point's place between its ends. Stretch
//! moves a point along with the far end, `e·s`, `s = (‖b' − a'‖/‖b − a‖ − 1)(b − a)`, without swelling what it passes; the
//! twists at the two ends meet in between: `v' = Σ w [a' + R·Rot((1 − e)θ_a + eθ_b, b − a)(v − a + e·s)]`. Where a bone is
//! scaled, R is its whole linear part and only what it does not stretch by itself is added.
//!
//! Rigs have no twists at the ends of bones, but joints that twist. A joint's twist τ about the bone that begins there
//! is shared out: `θ_b = στ` at the end of the bone before, `θ_a = −(1 − σ)τ` at the beginning of its own, so both sides
//! meet at the joint for any σ, and a turned wrist winds up the forearm.
//!
//! Oracle: without stretch and twist it is linear blending; a stretched straight limb keeps its radius; a twist of one
//! bone is spread evenly and keeps it as well.

use super::incremental_rotation::PosedLine;
use super::pointwise::{Placing, Pointwise};
use super::{Base, BaseEntry};
use crate::attach::Line;
use crate::attach::hanging::{HangPlan, Hanging};
use crate::correct::surface::Surface;
use crate::param::ParamSpec;
use crate::rig::Rig;
use crate::skeleton::BoneId;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// A bone at bind and at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwistBone {
    /// At bind.
    pub bind: Line,
    /// At the pose.
    pub posed: Line,
    /// Linear part of the transform from bind to the pose, without the twists.
    pub linear: DMat3,
    /// Twist about its line at either end, radians.
    pub twist: [f64; 2],
}

impl TwistBone {
    /// Where the bone alone takes a point.
    pub fn carry(&self, p: DVec3) -> DVec3 {
        let along = self.bind.end - self.bind.start;
        let e = self.bind.nearest(p);
        let grown = (self.posed.end - self.posed.start).length() / (self.linear * along).length() - 1.0;
        // A bone without length has nothing to stretch.
        let stretch = if grown.is_finite() { along * (e * grown) } else { DVec3::ZERO };
        let [first, last] = self.twist;
        let twist = along
            .try_normalize()
            .map_or(DQuat::IDENTITY, |axis| DQuat::from_axis_angle(axis, first + (last - first) * e));
        self.posed.start + self.linear * (twist * (p - self.bind.start + stretch))
    }
}

/// The angle by which a rotation turns about a unit axis (Diebel 2006, swing and twist).
pub fn twist_about(axis: DVec3, rotation: DQuat) -> f64 {
    let q = if rotation.w < 0.0 { -rotation } else { rotation };
    2.0 * DVec3::new(q.x, q.y, q.z).dot(axis).atan2(q.w)
}

/// Skins one point by bones and weights that sum to 1.
pub fn skin(p: DVec3, weights: &[(u32, f64)], bones: &[TwistBone]) -> DVec3 {
    weights.iter().map(|&(bone, weight)| bones[bone as usize].carry(p) * weight).sum()
}

/// The base `stretchable-twistable`.
pub const STRETCHABLE_TWISTABLE: BaseEntry = BaseEntry {
    name: "stretchable-twistable",
    about: "Bones that stretch and twist along their length: a turned wrist twists the forearm",
    params: &[ParamSpec::number(
        "share",
        "",
        [0.0, 1.0],
        0.5,
        "part of a joint's twist that winds up the bone before it; the rest is wound up along its own",
    )],
    mapped: None,
    tables: &[],
    bind: |binding| {
        let share = binding.values.number("share");
        Base::Pointwise(Box::new(Pointwise::new(binding.rig, |surface| Twisting::new(binding.rig, surface, share))))
    },
};

#[derive(Debug)]
struct Twisting {
    hanging: Hanging,
    /// Per palette entry, the line that stands for it.
    lines: Vec<Option<u32>>,
    share: f64,
}

impl Twisting {
    fn new(rig: &Rig, surface: &Surface, share: f64) -> Option<Self> {
        let hanging = Hanging::new(rig, surface, &HangPlan::default())?;
        // Of a bone's lines, the one that its skin lies along.
        let line_of = |bone: BoneId| {
            let middle = rig.centroid(bone);
            let own = (0..hanging.lines.len() as u32).filter(|&line| hanging.bone(line) == bone);
            let bone_from_rest: Vec<DAffine3> = rig.palette().iter().map(|entry| entry.bone_from_rest).collect();
            own.min_by(|&a, &b| {
                let away = |line: u32| {
                    let entry = hanging.entry(line as usize);
                    let bind_from_bone = surface.world_from_bind(entry, &bone_from_rest).inverse();
                    middle.map_or(0.0, |m| hanging.lines[line as usize].distance(bind_from_bone.transform_point3(m)))
                };
                away(a).total_cmp(&away(b))
            })
        };
        let lines = rig.palette().iter().map(|entry| line_of(entry.bone)).collect();
        Some(Self { hanging, lines, share })
    }
}

impl Placing for Twisting {
    type Posed = (Vec<PosedLine>, Vec<TwistBone>);

    fn pose(&self, from_bind: &[DAffine3], (posed, bones): &mut Self::Posed) {
        let Self { hanging, lines, share } = self;
        hanging.posed_lines(from_bind, &|_| [0.0; 2], posed);
        let along = |line: usize| (hanging.lines[line].end - hanging.lines[line].start).normalize_or_zero();
        let bone = |(entry, transform): (usize, &DAffine3)| {
            let still = Line { start: DVec3::ZERO, end: DVec3::ZERO };
            let at = Line { start: transform.translation, ..still };
            let Some(line) = lines[entry].map(|line| line as usize) else {
                return TwistBone { bind: still, posed: at, linear: transform.matrix3, twist: [0.0; 2] };
            };
            let PosedLine { line: now, own, before, after, .. } = posed[line];
            let (rotation, before, after) = (own.rotation, before.rotation, after.rotation);
            // The bone after is measured about its own line, as it does itself.
            let next = hanging.line_after(line).map_or(along(line), along);
            let twist = [
                -(1.0 - share) * twist_about(along(line), before.inverse() * rotation),
                share * twist_about(next, rotation.inverse() * after),
            ];
            TwistBone { bind: hanging.lines[line], posed: now, linear: transform.matrix3, twist }
        };
        bones.clear();
        bones.extend(from_bind.iter().enumerate().map(bone));
    }

    fn place(&self, (_, bones): &Self::Posed, _: usize, bind: DVec3, influences: &[(u32, f64)]) -> DVec3 {
        skin(bind, influences, bones)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::tests::straight;

    fn bone(start: f64, end: f64) -> TwistBone {
        let bind = Line { start: DVec3::Y * start, end: DVec3::Y * end };
        TwistBone { bind, posed: bind, linear: DMat3::IDENTITY, twist: [0.0; 2] }
    }

    #[test]
    fn without_stretch_and_twist_it_is_linear_blending() {
        let (points, _, _) = straight();
        let turn = DQuat::from_rotation_z(1.0);
        let mut second = bone(2.0, 4.0);
        second.linear = DMat3::from_quat(turn);
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
        for angle in [0.0, 1.0, -2.5] {
            let q = DQuat::from_rotation_x(0.7) * DQuat::from_rotation_y(angle);
            assert!(
                (twist_about(DVec3::Y, q) - angle).abs() < 1e-12 && (twist_about(DVec3::Y, -q) - angle).abs() < 1e-12
            );
        }
        let point = Line { start: DVec3::ONE, end: DVec3::ONE };
        let flat = TwistBone { bind: point, posed: point, linear: DMat3::IDENTITY, twist: [1.0; 2] };
        assert_eq!(flat.carry(DVec3::ZERO), DVec3::ZERO);
    }
}
