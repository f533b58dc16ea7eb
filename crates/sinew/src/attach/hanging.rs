//! The skin of one character as it hangs on its bones: lines between joints, attachments and scale vectors at bind, and
//! where bones take them at a frame.
//!
//! A line runs from a joint to each joint below it in the skin; a joint without any has one to the joint at its tip
//! that moves no skin, or else to the end of the skin that it moves. Nodes hang on the lines as [`AttachBy`] says,
//! smoothed along the surface. Everything is measured in bind units: a character scaled as a whole is divided by that
//! scale.

use super::direct::{nearest_allowed, nearest_line};
use super::planar::{Divider, between_dividers, dividers};
use super::smoothed::{ROUNDS, smooth};
use super::{Attachment, Gap, Line, largest_gap};
use crate::base::incremental_rotation::{PosedLine, Turned, turned};
use crate::correct::surface::{NO_SEGMENT, Surface, Surfaces};
use crate::csr::Csr;
use crate::param::{ParamSpec, Values};
use crate::polar::polar_rotation;
use crate::rig::{OfRig, Rig};
use crate::skeleton::BoneId;
use crate::topology::Adjacency;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::sync::Arc;

/// How points find their lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttachBy {
    /// The nearest of the lines at the bone that moves the point most.
    #[default]
    Weights,
    /// The nearest of all lines.
    Nearest,
    /// The line between whose divider planes the point lies.
    Planar,
}

impl AttachBy {
    /// Every way by its name in recipes.
    pub const NAMES: &[(&str, Self)] =
        &[("weights", Self::Weights), ("nearest", Self::Nearest), ("planar", Self::Planar)];

    /// The way of that name.
    pub(crate) fn named(name: &str) -> Self {
        Self::NAMES.iter().find(|named| named.0 == name).map_or(Self::default(), |named| named.1)
    }
}

/// Most rounds of smoothing: EX stays below ten.
pub const MOST_ROUNDS: usize = 9;

const WAYS: &[&str] = &["weights", "nearest", "planar"];
/// For what hangs and reads its parameters from a list.
pub(crate) const ATTACH: ParamSpec = ParamSpec::choice(
    "attach",
    WAYS,
    "where the skin attaches: to the bone it follows most, to the nearest, or between planes",
);
/// As [`ATTACH`].
pub(crate) const SMOOTHING: ParamSpec =
    ParamSpec::number("smoothing", "", [0.0, MOST_ROUNDS as f64], ROUNDS as f64, "rounds of smoothing along the skin");

/// A joint at the tip of a bone lies no farther than this from where its skin goes, radians.
const TIP_ANGLE: f64 = std::f64::consts::FRAC_PI_6;

/// A divider moved by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DividerEdit {
    /// Rotation vector in bind space, degrees.
    pub turn_degrees: DVec3,
    /// Along the bone that begins there, in its lengths.
    pub shift: f64,
}

/// How a skin is hung.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HangPlan<'a> {
    pub by: AttachBy,
    pub rounds: usize,
    /// Bones, and those that the skin which follows them hangs on; later entries win.
    pub bones: &'a [(Vec<BoneId>, Vec<BoneId>)],
    /// Bones, and how the dividers at their joints are moved.
    pub dividers: &'a [(Vec<BoneId>, DividerEdit)],
}

impl<'a> HangPlan<'a> {
    /// As [`ATTACH`] and [`SMOOTHING`] say.
    pub fn of(values: &Values, bones: &'a [(Vec<BoneId>, Vec<BoneId>)]) -> Self {
        // The range keeps it small.
        let rounds = values.number(SMOOTHING.name) as usize;
        Self { by: AttachBy::named(values.word(ATTACH.name)), rounds, bones, dividers: &[] }
    }

    /// Whether nothing but the rig decides.
    pub fn is_default(&self) -> bool {
        let Self { by, rounds, bones, dividers } = *self;
        by == AttachBy::default() && rounds == ROUNDS && bones.is_empty() && dividers.is_empty()
    }
}

impl Default for HangPlan<'_> {
    fn default() -> Self {
        Self { by: AttachBy::default(), rounds: ROUNDS, bones: &[], dividers: &[] }
    }
}

/// Where a line ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// At the joint of another entry.
    Joint(u32),
    /// At a place that goes with its own bone.
    Tip,
}

/// The bones that a line goes by.
#[derive(Clone, Copy, Debug)]
struct Rail {
    bone: BoneId,
    /// The entry it turns with.
    entry: u32,
    /// That of the bone before its first joint.
    before: Option<u32>,
    end: End,
}

/// Lines and attachments of one surface.
#[derive(Clone, Debug)]
pub(crate) struct Hanging {
    rails: Vec<Rail>,
    /// At bind.
    pub lines: Vec<Line>,
    pub attachments: Vec<Attachment>,
    pub adjacency: Adjacency,
    /// Smallest side of the box about the nodes that is not flat, at bind.
    pub least_side: f64,
}

/// Lines, attachment points and scale vectors as the bones take them, in bind units.
#[derive(Clone, Debug, Default)]
pub struct Hung {
    pub(crate) lines: Vec<Line>,
    posed: Vec<PosedLine>,
    /// How the bone of each line has turned, mirrors included.
    pub(crate) turns: Vec<DMat3>,
    /// Attachment points.
    pub anchors: Vec<DVec3>,
    /// Scale vectors as their bones turn them.
    pub aims: Vec<DVec3>,
    /// Directions of the nodes' lines.
    pub directions: Vec<DVec3>,
    /// Rotations of the bones at the nodes' attachment points, even across joints.
    pub axes: Vec<DQuat>,
    /// World units per bind unit.
    pub scale: f64,
}

/// The skins of a rig as the default plan hangs them, by character.
pub(crate) struct Hangings(Vec<Option<Arc<Hanging>>>);

impl OfRig for Hangings {
    fn of(rig: &Rig) -> Self {
        let surfaces = rig.kept::<Surfaces>();
        let hung = |character| Hanging::new(rig, surfaces.of(character)?, &HangPlan::default()).map(Arc::new);
        Self((0..rig.characters().len()).map(hung).collect())
    }
}

impl Hangings {
    /// The skin of a character; `None` without bones or faces.
    pub fn of(&self, character: usize) -> Option<Arc<Hanging>> {
        self.0.get(character)?.clone()
    }
}

impl Hanging {
    /// As a plan says; what the default plan gives is kept with the rig.
    pub fn planned(rig: &Rig, surface: &Surface, plan: &HangPlan<'_>) -> Option<Arc<Self>> {
        if plan.is_default() {
            return rig.kept::<Hangings>().of(surface.character);
        }
        Self::new(rig, surface, plan).map(Arc::new)
    }

    /// `None` for a skin without bones.
    pub fn new(rig: &Rig, surface: &Surface, plan: &HangPlan<'_>) -> Option<Self> {
        let bone_from_rest: Vec<DAffine3> = rig.palette().iter().map(|entry| entry.bone_from_rest).collect();
        let bind_from_bone = |entry: u32| surface.world_from_bind(entry, &bone_from_rest).inverse();
        let mut entries: Vec<u32> = surface.entries().collect();
        // Joints between those that move skin bound the lines as well.
        let mut next = 0;
        while let Some(&entry) = entries.get(next) {
            entries.extend(rig.palette()[entry as usize].parent.filter(|parent| !entries.contains(parent)));
            next += 1;
        }
        entries.sort_unstable();
        entries.dedup();
        // A bone in several skins is one joint.
        let mut seen: Vec<BoneId> = Vec::new();
        entries.retain(|&entry| {
            let bone = rig.palette()[entry as usize].bone;
            let is_new = !seen.contains(&bone) && bind_from_bone(entry).is_finite();
            seen.push(bone);
            is_new
        });
        let (mut rails, mut lines) = (Vec::new(), Vec::new());
        let bone_of = |entry: u32| rig.palette()[entry as usize].bone;
        let mut entry_of_bone = vec![None; rig.skeleton().len()];
        entries.iter().for_each(|&entry| entry_of_bone[bone_of(entry).index()] = Some(entry));
        let parent_of = |entry: u32| entry_of_bone[bone_of(rig.palette()[entry as usize].parent?).index()];
        let below = |&entry: &u32| Some((parent_of(entry)?, entry));
        let below = Csr::new(rig.palette().len(), entries.iter().filter_map(below).collect());
        for &entry in &entries {
            let start = bind_from_bone(entry).translation;
            let (bone, before) = (bone_of(entry), parent_of(entry));
            let first = lines.len();
            for &other in below.of(entry as usize) {
                rails.push(Rail { bone, entry, before, end: End::Joint(other) });
                lines.push(Line { start, end: bind_from_bone(other).translation });
            }
            if lines.len() == first {
                let middle = rig.centroid(bone).unwrap_or(DVec3::ZERO);
                // As far as the skin goes: half as far again as its middle.
                let tip = tip_joint(rig, bone, middle).unwrap_or(middle * 1.5);
                rails.push(Rail { bone, entry, before, end: End::Tip });
                lines.push(Line { start, end: bind_from_bone(entry).transform_point3(tip) });
            }
        }
        if lines.is_empty() {
            return None;
        }
        let adjacency = Adjacency::new(surface.nodes(), &surface.faces());
        let mut hanging = Self { rails, lines, attachments: Vec::new(), adjacency, least_side: 0.0 };
        hanging.attachments = match plan.by {
            AttachBy::Weights => hanging.by_weights(rig, surface, plan),
            AttachBy::Nearest => nearest_line(&surface.bind, &hanging.lines),
            AttachBy::Planar => between_dividers(&surface.bind, &hanging.lines, &hanging.dividers(plan)),
        };
        smooth(&hanging.adjacency, &hanging.lines, &mut hanging.attachments, plan.rounds);
        let (low, high) =
            surface.bind.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), &p| (l.min(p), h.max(p)));
        let sides = (high - low).to_array();
        let longest = sides.into_iter().fold(0.0, f64::max);
        hanging.least_side = sides.into_iter().filter(|&side| side > 1e-3 * longest).fold(longest, f64::min);
        Some(hanging)
    }

    fn by_weights(&self, rig: &Rig, surface: &Surface, plan: &HangPlan<'_>) -> Vec<Attachment> {
        let counted = |bone: BoneId| {
            let asked = plan.bones.iter().rev().find(|(followed, _)| followed.contains(&bone));
            asked.map_or_else(|| vec![bone], |(_, counted)| counted.clone())
        };
        let lines_at = |bone: BoneId, allowed: &mut Vec<u32>| {
            for (line, rail) in self.rails.iter().enumerate() {
                let at_end = matches!(rail.end, End::Joint(other) if rig.palette()[other as usize].bone == bone);
                if rail.bone == bone || at_end {
                    allowed.push(line as u32);
                }
            }
        };
        let by_segment: Vec<Vec<u32>> = surface
            .segments
            .iter()
            .map(|segment| {
                let mut allowed = Vec::new();
                counted(segment.bone).into_iter().for_each(|bone| lines_at(bone, &mut allowed));
                allowed
            })
            .collect();
        nearest_allowed(&surface.bind, &self.lines, |node, allowed| {
            let segment = surface.segment_of_node[node];
            if segment != NO_SEGMENT {
                allowed.extend_from_slice(&by_segment[segment as usize]);
            }
        })
    }

    /// The automatic dividers, as the plan moves them.
    fn dividers(&self, plan: &HangPlan<'_>) -> Vec<Divider> {
        let mut planes = dividers(&self.lines);
        for plane in &mut planes {
            let begins_there = |&line: &u32| self.lines[line as usize].start == plane.joint;
            for line in plane.lines.into_iter().filter(begins_there) {
                let bone = self.rails[line as usize].bone;
                if let Some((_, edit)) = plan.dividers.iter().rev().find(|(bones, _)| bones.contains(&bone)) {
                    let DividerEdit { turn_degrees, shift } = *edit;
                    let turn = DQuat::from_scaled_axis(turn_degrees * (std::f64::consts::PI / 180.0));
                    let Line { start, end } = self.lines[line as usize];
                    plane.normal = turn * plane.normal;
                    plane.point = plane.joint + (end - start) * shift;
                }
            }
        }
        planes
    }

    /// The widest gap between neighbours.
    pub fn gap(&self) -> Option<Gap> {
        largest_gap(&self.adjacency, &self.lines, &self.attachments)
    }

    /// The bone of a line.
    pub fn bone(&self, line: u32) -> BoneId {
        self.rails[line as usize].bone
    }

    /// The entry that a line turns with.
    pub fn entry(&self, line: usize) -> u32 {
        self.rails[line].entry
    }

    /// The first line of the bone that begins where a line ends.
    pub fn line_after(&self, line: usize) -> Option<usize> {
        let End::Joint(other) = self.rails[line].end else { return None };
        self.rails.iter().position(|rail| rail.entry == other)
    }

    /// Lines that share a joint with each line, itself first.
    pub fn lines_around(&self) -> Vec<Vec<u32>> {
        let ends = |line: &Line| [line.start, line.end];
        let around = |(index, line): (usize, &Line)| {
            let touches = |other: &&u32| {
                **other as usize != index
                    && ends(&self.lines[**other as usize]).iter().any(|end| ends(line).contains(end))
            };
            let all: Vec<u32> = (0..self.lines.len() as u32).collect();
            std::iter::once(index as u32).chain(all.iter().filter(touches).copied()).collect()
        };
        self.lines.iter().enumerate().map(around).collect()
    }

    /// Attachment points at bind.
    pub fn anchors(&self) -> Vec<DVec3> {
        self.attachments.iter().map(|attachment| attachment.point(&self.lines)).collect()
    }

    /// Directions of the nodes' lines at bind.
    pub fn directions(&self) -> Vec<DVec3> {
        let direction = |attachment: &Attachment| {
            let line = &self.lines[attachment.line as usize];
            line.end - line.start
        };
        self.attachments.iter().map(direction).collect()
    }

    /// Where bones take the lines; `from_bind` is per palette entry.
    fn lines_at(&self, from_bind: &[DAffine3]) -> impl Iterator<Item = (&Rail, Line)> {
        self.rails.iter().zip(&self.lines).map(|(rail, line)| {
            let own = &from_bind[rail.entry as usize];
            let far = match rail.end {
                End::Joint(other) => &from_bind[other as usize],
                End::Tip => own,
            };
            (rail, Line { start: own.transform_point3(line.start), end: far.transform_point3(line.end) })
        })
    }

    /// The lines with the rotations of their bones and those beyond their joints. `reach` is how far the first and the
    /// last joint of each line reach along it; see [`PosedLine::influence`].
    pub fn posed_lines(&self, from_bind: &[DAffine3], reach: &dyn Fn(usize) -> [f64; 2], posed: &mut Vec<PosedLine>) {
        let turned = |entry: u32| Turned::of(from_bind[entry as usize].matrix3);
        posed.clear();
        posed.extend(self.lines_at(from_bind).enumerate().map(|(index, (rail, line))| {
            let own = turned(rail.entry);
            PosedLine {
                line,
                own,
                before: rail.before.map_or(own, turned),
                after: if let End::Joint(other) = rail.end { turned(other) } else { own },
                influence: reach(index),
            }
        }));
    }

    /// For a node, the line of another entry that it hangs on when that entry carries it: of those that begin at its joint, the
    /// one towards the node's own line, or the nearest to where it hangs.
    pub fn line_of(&self, entry: u32, attachment: &Attachment) -> Option<u32> {
        let own = attachment.line as usize;
        if self.rails[own].entry == entry {
            return Some(attachment.line);
        }
        let place = attachment.point(&self.lines);
        let lines = (0..self.lines.len()).filter(|&line| self.rails[line].entry == entry);
        let leads = |line: usize| matches!(self.rails[line].end, End::Joint(other) if other == self.rails[own].entry);
        let by = |line: &usize| (!leads(*line), self.lines[*line].distance(place));
        lines.min_by(|a, b| by(a).partial_cmp(&by(b)).unwrap_or(std::cmp::Ordering::Equal)).map(|line| line as u32)
    }

    /// How bones take the space about each line: as its own, but along the line as far as its ends go.
    pub fn line_transforms(&self, from_bind: &[DAffine3], out: &mut Vec<DAffine3>) {
        out.clear();
        out.extend(self.lines_at(from_bind).zip(&self.lines).map(|((rail, posed), line)| {
            let own = from_bind[rail.entry as usize];
            let along = line.end - line.start;
            let missing = posed.end - own.transform_point3(line.end);
            // A bone of no length stretches nothing.
            let per_length = along / along.length_squared();
            if missing == DVec3::ZERO || !per_length.is_finite() {
                return own;
            }
            let outer = DMat3::from_cols(missing * per_length.x, missing * per_length.y, missing * per_length.z);
            DAffine3 { matrix3: own.matrix3 + outer, translation: own.translation - outer * line.start }
        }));
    }

    /// The bone that each end of a line is the joint of.
    pub fn joints(&self, rig: &Rig, line: usize) -> [BoneId; 2] {
        let Rail { bone, end, .. } = self.rails[line];
        [bone, if let End::Joint(other) = end { rig.palette()[other as usize].bone } else { bone }]
    }

    /// Where the bones take everything; false where a bone is flattened.
    pub fn pose(&self, from_bind: &[DAffine3], bind: &[DVec3], hung: &mut Hung) -> bool {
        let stretch = |entry: u32| from_bind[entry as usize].matrix3.determinant().abs().cbrt();
        hung.scale = self.rails.iter().map(|rail| stretch(rail.entry)).sum::<f64>() / self.rails.len() as f64;
        if !(hung.scale > 0.0 && hung.scale.is_finite()) {
            return false;
        }
        hung.lines.clear();
        let scaled = |line: Line| Line { start: line.start / hung.scale, end: line.end / hung.scale };
        hung.lines.extend(self.lines_at(from_bind).map(|(_, line)| scaled(line)));
        hung.turns.clear();
        hung.turns.extend(self.rails.iter().map(|rail| {
            let linear = from_bind[rail.entry as usize].matrix3;
            polar_rotation(linear) * if linear.determinant() < 0.0 { -1.0 } else { 1.0 }
        }));
        hung.anchors.clear();
        hung.aims.clear();
        hung.directions.clear();
        for (attachment, &rest) in self.attachments.iter().zip(bind) {
            let line = &hung.lines[attachment.line as usize];
            hung.anchors.push(line.at(attachment.t));
            hung.directions.push(line.end - line.start);
            hung.aims.push(hung.turns[attachment.line as usize] * (rest - attachment.point(&self.lines)));
        }
        true
    }

    /// Axes that turn with the bones and pass evenly from one to the next about their joints, as incremental rotation
    /// does: what surface edits are kept in.
    pub fn pose_axes(&self, from_bind: &[DAffine3], hung: &mut Hung) {
        let Hung { axes, posed, .. } = hung;
        self.posed_lines(from_bind, &|_| [0.5; 2], posed);
        let axis = |attachment: &Attachment| turned(&posed[attachment.line as usize], attachment.t).0;
        axes.clear();
        axes.extend(self.attachments.iter().map(axis));
    }
}

/// Where a bone has a joint at its tip, in its own space: the child without skin that lies most nearly where the skin
/// goes, beyond its middle and no farther than skin about that middle can reach twice over.
fn tip_joint(rig: &Rig, bone: BoneId, middle: DVec3) -> Option<DVec3> {
    let skeleton = rig.skeleton();
    let rest = rig.rest_pose();
    let place = |child: BoneId| rest.locals[child.index()].to_affine().translation;
    let along = |&tip: &DVec3| {
        let share = tip.dot(middle) / middle.length_squared();
        (1.0..4.0).contains(&share) && tip.angle_between(middle) < TIP_ANGLE
    };
    let tips = skeleton.bones().filter(|&child| skeleton.parent(child) == Some(bone)).map(place).filter(along);
    tips.min_by(|a, b| a.angle_between(middle).total_cmp(&b.angle_between(middle)))
}

/// The widest gap of a character's attachments, bound without anything set by hand, in sizes; `None` where nothing
/// hangs. Attachments lie in bind space, so the size is the one the character has there: files may bind in other units
/// than those of the scene.
pub fn continuity(rig: &Rig, character: usize, by: AttachBy) -> Option<f64> {
    let surfaces = rig.kept::<Surfaces>();
    let surface = surfaces.of(character)?;
    let hanging = Hanging::new(rig, surface, &HangPlan { by, ..HangPlan::default() })?;
    let (low, high) = surface
        .bind
        .iter()
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), &node| (low.min(node), high.max(node)));
    hanging.gap().map(|gap| gap.distance / low.distance(high)).filter(|gap| gap.is_finite())
}
