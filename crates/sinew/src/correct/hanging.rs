//! The skin of one character as it hangs on its bones: lines between joints, attachments and scale vectors at bind, and
//! where bones take them at a frame.
//!
//! A line runs from a joint to each joint below it in the skin; a joint without any has one to the end of the skin that
//! it moves. Nodes hang on the lines at the bone they follow most (or on those that the recipe counts), smoothed along
//! the surface. Everything is measured in bind units: a character scaled as a whole is divided by that scale.

use super::Binding;
use super::body::Body;
use super::surface::NO_SEGMENT;
use crate::attach::direct::nearest_allowed;
use crate::attach::smoothed::{ROUNDS, smooth};
use crate::attach::{Attachment, Line};
use crate::polar::polar_rotation;
use crate::simd::LANES;
use crate::skeleton::BoneId;
use crate::topology::Adjacency;
use glam::{DAffine3, DMat3, DVec3};

/// Share of a correction that each node takes: the gain times the painted map; nothing for riders.
pub(super) fn shares(binding: &Binding<'_>) -> Vec<f64> {
    let Binding { surface, gain, painted, .. } = *binding;
    let map = |&slot: &u32| painted.map_or(1.0, |map| f64::from(map[slot as usize / LANES][slot as usize % LANES]));
    let share = |(is_rider, slots): (bool, &[u32])| {
        let mean = slots.iter().map(map).sum::<f64>() / slots.len().max(1) as f64;
        if is_rider { 0.0 } else { gain * mean.max(0.0) }
    };
    binding.rider_nodes().zip(surface.members.iter()).map(share).collect()
}

/// Where a line ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// At the joint of another entry.
    Joint(u32),
    /// At a place that goes with its own bone.
    Tip,
}

/// Lines and attachments of one surface.
#[derive(Clone, Debug)]
pub(super) struct Hanging {
    /// The entry that each line turns with, and what it ends at.
    ends: Vec<(u32, End)>,
    /// At bind.
    lines: Vec<Line>,
    pub attachments: Vec<Attachment>,
    pub adjacency: Adjacency,
    /// Smallest side of the box about the nodes that is not flat, at bind.
    pub least_side: f64,
}

/// Lines, attachment points and scale vectors as the bones take them, in bind units.
#[derive(Clone, Debug, Default)]
pub(super) struct Hung {
    lines: Vec<Line>,
    turns: Vec<DMat3>,
    pub anchors: Vec<DVec3>,
    pub aims: Vec<DVec3>,
    pub directions: Vec<DVec3>,
    /// World units per bind unit.
    pub scale: f64,
}

impl Hanging {
    /// `None` for a skin without bones.
    pub fn new(binding: &Binding<'_>) -> Option<Self> {
        let Binding { rig, surface, .. } = *binding;
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
        let (mut ends, mut lines) = (Vec::new(), Vec::new());
        let bone_of = |entry: u32| rig.palette()[entry as usize].bone;
        for &entry in &entries {
            let start = bind_from_bone(entry).translation;
            let is_below = |other: &u32| {
                let parent = rig.palette()[*other as usize].parent;
                parent.is_some_and(|parent| bone_of(parent) == bone_of(entry))
            };
            let first = lines.len();
            for &other in entries.iter().filter(|other| is_below(other)) {
                ends.push((entry, End::Joint(other)));
                lines.push(Line { start, end: bind_from_bone(other).translation });
            }
            if lines.len() == first {
                // As far as the skin goes: half as far again as its middle.
                let tip = rig.centroid(bone_of(entry)).unwrap_or(DVec3::ZERO) * 1.5;
                ends.push((entry, End::Tip));
                lines.push(Line { start, end: bind_from_bone(entry).transform_point3(tip) });
            }
        }
        if lines.is_empty() {
            return None;
        }
        let faces: Vec<[u32; 3]> = surface.triangles[..surface.first_cap]
            .iter()
            .chain(&surface.triangles[surface.first_sheet..])
            .copied()
            .collect();
        let adjacency = Adjacency::new(surface.nodes(), &faces);
        let counted = |bone: BoneId| {
            let asked = binding.distances.iter().rev().find(|(followed, _)| followed.contains(&bone));
            asked.map_or_else(|| vec![bone], |(_, counted)| counted.clone())
        };
        let lines_at = |bone: BoneId, allowed: &mut Vec<u32>| {
            for (line, &(entry, end)) in ends.iter().enumerate() {
                let at_end = matches!(end, End::Joint(other) if bone_of(other) == bone);
                if bone_of(entry) == bone || at_end {
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
        let mut attachments = nearest_allowed(&surface.bind, &lines, |node, allowed| {
            let segment = surface.segment_of_node[node];
            if segment != NO_SEGMENT {
                allowed.extend_from_slice(&by_segment[segment as usize]);
            }
        });
        smooth(&adjacency, &lines, &mut attachments, ROUNDS);
        let (low, high) =
            surface.bind.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), &p| (l.min(p), h.max(p)));
        let sides = (high - low).to_array();
        let longest = sides.into_iter().fold(0.0, f64::max);
        let least_side = sides.into_iter().filter(|&side| side > 1e-3 * longest).fold(longest, f64::min);
        Some(Self { ends, lines, attachments, adjacency, least_side })
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

    /// Where the bones of `body` take everything; false where a bone is flattened.
    pub fn pose(&self, body: &Body, bind: &[DVec3], hung: &mut Hung) -> bool {
        let stretch = |entry: u32| body.from_bind[entry as usize].matrix3.determinant().abs().cbrt();
        hung.scale = self.ends.iter().map(|end| stretch(end.0)).sum::<f64>() / self.ends.len() as f64;
        if !(hung.scale > 0.0 && hung.scale.is_finite()) {
            return false;
        }
        hung.lines.clear();
        hung.turns.clear();
        for (&(entry, end), line) in self.ends.iter().zip(&self.lines) {
            let own = &body.from_bind[entry as usize];
            let far = match end {
                End::Joint(other) => &body.from_bind[other as usize],
                End::Tip => own,
            };
            let [start, end] = [own.transform_point3(line.start), far.transform_point3(line.end)];
            hung.lines.push(Line { start: start / hung.scale, end: end / hung.scale });
            let mirror = if own.matrix3.determinant() < 0.0 { -1.0 } else { 1.0 };
            hung.turns.push(polar_rotation(own.matrix3) * mirror);
        }
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
}
