//! Skinning by attachments: rigid with stretching bones, and incremental rotation (IRS, EX 4.1).
//!
//! A point hangs at `a' = P' + t(C' − P')`, so it follows bones that change their length; its scale vector turns with
//! its bone, `v' = a' + R s⁰`. Near a joint, whose rotation is `Q = R_child R_parent⁻¹`, both sides go half-way to meet:
//! the parent's side turns on by `Q^{c_w/2}`, the child's side back by `Q^{−p_w/2}`, with
//! `p_w = clamp(1 − t/p_inf)` and `c_w = clamp((t − (1 − c_inf))/c_inf)`. (The printed c_w contradicts its text.) Where
//! both act they are blended as rotation vectors. Influence 0 is rigid.
//!
//! **Length correction** puts the point back to the distance from the skeleton that it had at bind (not to ‖s⁰‖, which
//! is longer wherever s⁰ leans): without it a bend grows a sharp point. The skeleton is the point's own line and those
//! that share a joint with it: an arm that passes the hip is not pushed away by it. Bones that are scaled scale s⁰ and
//! the distance, and meet half-way at joints as their rotations do.
//!
//! That is the printed form, `carried = "by-line"`. On artists' characters it tears where neighbours hang on different
//! chains, and folds on the inside of bends: `"evenly"`, the default, blends the lines along the skin and gives way there
//! (`evenly_carried`).
//!
//! Oracle: a straight skeleton gives rigid; at a bent joint both sides meet; the correction keeps the distance.

use super::evenly_carried::{EvenlyCarried, Frame};
use super::pointwise::{Placing, Pointwise};
use super::{Base, BaseBinding, BaseEntry};
use crate::attach::hanging::{ATTACH, DividerEdit, HangPlan, Hanging, SMOOTHING};
use crate::attach::{Attachment, Gap, Line};
use crate::clip::rotation_log;
use crate::correct::surface::Surface;
use crate::graph::LineMotion;
use crate::param::{ParamSpec, Range};
use crate::polar::polar_rotation;
use crate::skeleton::BoneId;
use crate::table::{BoundRow, CellKind, CellSpec, RowKind, TableSpec};
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// The linear part of a bone's skinning transform: a rotation after a stretch, which takes mirrors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turned {
    /// The rotation.
    pub rotation: DQuat,
    /// The stretch.
    pub stretch: DMat3,
}

impl Turned {
    /// Splits a linear map.
    pub fn of(linear: DMat3) -> Self {
        let turn = polar_rotation(linear);
        Self { rotation: DQuat::from_mat3(&turn).normalize(), stretch: turn.transpose() * linear }
    }
}

/// A line at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PosedLine {
    /// Where it is.
    pub line: Line,
    /// How the bone it belongs to has turned.
    pub own: Turned,
    /// The bone before its first joint; its own where there is none.
    pub before: Turned,
    /// The bone after its last joint; its own where there is none.
    pub after: Turned,
    /// How far the first and the last joint reach along it, in [0, 1]; EX takes ½.
    pub influence: [f64; 2],
}

/// A point at bind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hung {
    /// Where it hangs.
    pub attachment: Attachment,
    /// Its scale vector.
    pub scale_vector: DVec3,
    /// Its distance from the skeleton; `None` for no length correction.
    pub distance: Option<f64>,
}

/// Distance of a point from some lines, and the nearest place on them.
pub fn nearest_place(p: DVec3, lines: impl Iterator<Item = Line>) -> Option<(f64, DVec3)> {
    let places = lines.map(|line| line.at(line.nearest(p)));
    places.map(|at| (p.distance(at), at)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Skins one point; `around` are the lines that its distance is kept to.
pub fn skin(point: &Hung, lines: &[PosedLine], around: &[u32]) -> DVec3 {
    let Attachment { line, t } = point.attachment;
    let posed = &lines[line as usize];
    let (turn, stretch) = turned(posed, t);
    let carried = turn * (stretch * point.scale_vector);
    let skinned = posed.line.at(t) + carried;
    let Some(distance) = point.distance else { return skinned };
    let nearest = nearest_place(skinned, around.iter().map(|&line| lines[line as usize].line));
    let scaled = distance * carried.length() / point.scale_vector.length();
    match nearest.and_then(|(_, at)| Some((at, (skinned - at).try_normalize()?))) {
        Some((at, outward)) if scaled.is_finite() => at + outward * scaled,
        _ => skinned,
    }
}

/// How skin turns at a place along a line: as its bone, and on towards those beyond its joints.
pub fn turned(posed: &PosedLine, t: f64) -> (DQuat, DMat3) {
    let [from_first, from_last] = posed.influence;
    // Influence 0 divides by 0: no reach, no weight.
    let weight = |w: f64| if w.is_nan() { 0.0 } else { w.clamp(0.0, 1.0) };
    let (p, c) = (weight(1.0 - t / from_first), weight((t - (1.0 - from_last)) / from_last));
    let Turned { rotation, stretch } = posed.own;
    if p + c == 0.0 {
        return (rotation, stretch);
    }
    // Where one joint acts alone, half its weight; where both do, the mean of the two by weight.
    let (back, on) = (0.5 * p * p / (p + c), 0.5 * c * c / (p + c));
    let turn = rotation_log(posed.after.rotation * rotation.inverse()) * on
        - rotation_log(rotation * posed.before.rotation.inverse()) * back;
    let stretch = stretch * (1.0 - back - on) + posed.before.stretch * back + posed.after.stretch * on;
    (DQuat::from_scaled_axis(turn) * rotation, stretch)
}

const SHARE: Range = Range { min: 0.0, max: 1.0, unit: "" };
const DEGREES: Range = Range { min: -90.0, max: 90.0, unit: "°" };
const SHIFT: Range = Range { min: -1.0, max: 1.0, unit: "× bone" };

/// The base `incremental-rotation`.
pub const INCREMENTAL_ROTATION: BaseEntry = BaseEntry {
    name: "incremental-rotation",
    about: "By where the skin attaches to the bones, rotating evenly around joints; stretches with bones",
    params: &[
        ParamSpec::number("influence", "× bone", [0.0, 1.0], 0.5, "how far joints reach along their bones; 0 is rigid"),
        ParamSpec::switch(
            "keep_distance",
            true,
            "put points back to their distance from the bones, where they are carried by line",
        ),
        ParamSpec::choice("carried", CARRIED, "past joints: by all bones nearby, or by the bone it attaches to alone"),
        ATTACH,
        SMOOTHING,
    ],
    mapped: None,
    tables: &[
        TableSpec {
            key: "joints",
            of: "influences",
            about: "how far each joint's rotation reaches",
            examples: &["\"elbow*\" = 0.3"],
            row: RowKind::One(CellKind::Number(SHARE)),
        },
        TableSpec {
            key: "dividers",
            of: "planes",
            about: "planes between bones moved by hand, where a bone begins; for attach \"planar\"",
            examples: &["\"forearm*\" = { turn = [0, 0, 20], shift = 0.1 }"],
            row: RowKind::Cells(&[
                CellSpec::new(
                    "turn",
                    CellKind::Numbers { each: &[DEGREES; 3], form: "degrees about x, y and z, such as [0, 0, 20]" },
                    "rotation vector of the plane in bind space",
                ),
                CellSpec::new("shift", CellKind::Number(SHIFT), "along the bone that begins there, in its lengths"),
            ]),
        },
    ],
    bind: |binding| {
        Base::Pointwise(Box::new(Pointwise::new(binding.rig, |surface| Incremental::new(binding, surface))))
    },
};

#[derive(Debug)]
struct Incremental {
    hanging: Hanging,
    /// Per line, how far its joints reach.
    reaches: Vec<[f64; 2]>,
    /// Per line, those that share a joint with it.
    around: Vec<Vec<u32>>,
    keep_distance: bool,
    evenly: Option<EvenlyCarried>,
}

/// Distances to its bone over which skin is carried evenly, by influence.
const REACH: f64 = 2.0;
/// What carries skin past a joint.
const CARRIED: &[&str] = &["evenly", "by-line"];

impl Incremental {
    fn new(binding: &BaseBinding<'_>, surface: &Surface) -> Option<Self> {
        let BaseBinding { rig, values, tables, .. } = *binding;
        let divider = |(bones, row): &(Vec<BoneId>, BoundRow)| {
            let turn_degrees = row.numbers("turn").map_or(DVec3::ZERO, DVec3::from);
            (bones.clone(), DividerEdit { turn_degrees, shift: row.number("shift").unwrap_or(0.0) })
        };
        let dividers: Vec<_> = tables.rows("dividers").iter().map(divider).collect();
        let plan = HangPlan { dividers: &dividers, ..HangPlan::of(values, &[]) };
        let hanging = Hanging::new(rig, surface, &plan)?;
        let influence = |bone: BoneId| {
            let own = tables.rows("joints").iter().rev().find(|(bones, _)| bones.contains(&bone));
            own.and_then(|(_, row)| row.number("")).unwrap_or_else(|| values.number("influence"))
        };
        let reaches: Vec<[f64; 2]> =
            (0..hanging.lines.len()).map(|line| hanging.joints(rig, line).map(influence)).collect();
        let around = hanging.lines_around();
        let reach = |node: usize| {
            let Attachment { line, t } = hanging.attachments[node];
            let [first, last] = reaches[line as usize];
            REACH * (first + t * (last - first))
        };
        let evenly = (values.word("carried") == CARRIED[0]).then(|| EvenlyCarried::new(rig, surface, &hanging, &reach));
        Some(Self { evenly, hanging, reaches, around, keep_distance: values.switch("keep_distance") })
    }
}

impl Placing for Incremental {
    type Posed = (Vec<PosedLine>, Frame);

    fn pose(&self, from_bind: &[DAffine3], (posed, frame): &mut Self::Posed) {
        if let Some(evenly) = &self.evenly {
            evenly.pose(&self.hanging, from_bind, frame);
        }
        self.hanging.posed_lines(from_bind, &|line| self.reaches[line], posed);
    }

    fn finish(&self, (_, frame): &mut Self::Posed, bind: &[DVec3], nodes: &mut [DVec3]) {
        if let Some(evenly) = &self.evenly {
            evenly.finish(frame, bind, nodes);
        }
    }

    fn place(&self, (posed, frame): &Self::Posed, node: usize, bind: DVec3, _: &[(u32, f64)]) -> DVec3 {
        if let Some(evenly) = &self.evenly {
            return evenly.place(frame, node, bind);
        }
        let Self { hanging, around, keep_distance, .. } = self;
        let attachment: Attachment = hanging.attachments[node];
        let around = &around[attachment.line as usize];
        let skeleton = || around.iter().map(|&line| hanging.lines[line as usize]);
        let distance = keep_distance.then(|| nearest_place(bind, skeleton())).flatten().map(|found| found.0);
        let scale_vector = bind - attachment.point(&hanging.lines);
        skin(&Hung { attachment, scale_vector, distance }, posed, around)
    }

    fn evenly(&self) -> Option<&EvenlyCarried> {
        self.evenly.as_ref()
    }

    fn tell(&self, (_, frame): &Self::Posed, out: &mut Vec<LineMotion>) {
        if let Some(evenly) = &self.evenly {
            evenly.tell(frame, out);
        }
    }

    fn gap(&self) -> Option<Gap> {
        self.hanging.gap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::direct::nearest_line;
    use crate::attach::tests::straight;
    use std::f64::consts::FRAC_PI_2;

    fn hung(correct: bool) -> (Vec<Hung>, Vec<DVec3>) {
        let (points, _, lines) = straight();
        let hang = |(p, attachment): (&DVec3, Attachment)| {
            let scale_vector = *p - attachment.point(&lines);
            Hung { attachment, scale_vector, distance: correct.then(|| scale_vector.length()) }
        };
        (points.iter().zip(nearest_line(&points, &lines)).map(hang).collect(), points)
    }

    fn posed(turn: DQuat, stretch: f64, influence: f64) -> Vec<PosedLine> {
        let joint = DVec3::Y * 2.0;
        let influence = [influence; 2];
        let [still, moved] = [DQuat::IDENTITY, turn].map(|turn| Turned::of(DMat3::from_quat(turn)));
        let first = Line { start: DVec3::ZERO, end: joint };
        let second = Line { start: joint, end: joint + turn * DVec3::Y * (2.0 * stretch) };
        vec![
            PosedLine { line: first, own: still, before: still, after: moved, influence },
            PosedLine { line: second, own: moved, before: still, after: moved, influence },
        ]
    }

    #[test]
    fn a_straight_skeleton_is_rigid_and_stretches() {
        for correct in [false, true] {
            let (points, rest) = hung(correct);
            for influence in [0.0, 0.5, 1.0] {
                let lines = posed(DQuat::IDENTITY, 1.5, influence);
                for (point, rest) in points.iter().zip(&rest) {
                    let y = if rest.y > 2.0 { 2.0 + 1.5 * (rest.y - 2.0) } else { rest.y };
                    assert!(skin(point, &lines, &[0, 1]).distance(DVec3::new(rest.x, y, rest.z)) < 1e-12);
                }
            }
        }
    }

    #[test]
    fn both_sides_of_a_joint_meet_half_way() {
        let (mut points, _) = hung(false);
        for turn in [DQuat::from_rotation_z(-FRAC_PI_2), DQuat::from_rotation_y(2.0)] {
            let lines = posed(turn, 1.0, 0.5);
            for point in &mut points {
                point.attachment = Attachment { line: 0, t: 1.0 };
                let before = skin(point, &lines, &[0, 1]);
                point.attachment = Attachment { line: 1, t: 0.0 };
                assert!(skin(point, &lines, &[0, 1]).distance(before) < 1e-12);
                let half = DQuat::from_scaled_axis(rotation_log(turn) * 0.5) * point.scale_vector;
                assert!((before - DVec3::Y * 2.0).distance(half) < 1e-12);
                point.attachment = Attachment { line: 0, t: 0.5 };
                assert!(
                    (skin(point, &lines, &[0, 1]) - DVec3::Y).distance(point.scale_vector) < 1e-12,
                    "no farther than asked"
                );
            }
        }
    }

    #[test]
    fn the_correction_keeps_the_distance_to_the_skeleton() {
        let (points, _) = hung(true);
        let lines = posed(DQuat::from_rotation_z(-2.0), 1.0, 0.5);
        // The outer side; on the inner one another line may come nearer once the point has moved.
        for point in points.iter().filter(|point| point.scale_vector.x <= 0.0) {
            let p = skin(point, &lines, &[0, 1]);
            let away = lines.iter().map(|l| l.line.distance(p)).fold(f64::INFINITY, f64::min);
            assert!((away - 0.5).abs() < 1e-9, "{away}");
        }
    }
}
