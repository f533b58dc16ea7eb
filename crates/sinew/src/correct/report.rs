//! What corrections did at a frame, and what there is to tell about them.

use crate::skeleton::BoneId;
use glam::DAffine3;

/// What a volume is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Everything of the character that has an inside.
    Whole,
    /// What follows one bone most: prisms between rest and now, an estimate.
    Segment(BoneId),
}

/// What a volume correction did to one volume at one frame. World units, cubed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeReport {
    /// Index of the correction in the recipe.
    pub correction: usize,
    /// Index of the character.
    pub character: usize,
    /// Which volume is meant.
    pub measure: Measure,
    /// What it should be; 0 for segments, whose volumes are changes from rest.
    pub target: f64,
    /// What it was.
    pub before: f64,
    /// What it is.
    pub after: f64,
    /// Steps it took.
    pub rounds: u32,
    /// The farthest that any of its points was moved, by all corrections together.
    pub largest_move: f64,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a fold-over correction did to one character at one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactReport {
    /// Index of the correction in the recipe.
    pub correction: usize,
    /// Index of the character.
    pub character: usize,
    /// Points brought back to the border.
    pub points: usize,
}

/// What the corrections did at one frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorrectionReport {
    /// Volumes, by character, then correction.
    pub volumes: Vec<VolumeReport>,
    /// Contacts, likewise.
    pub contacts: Vec<ContactReport>,
    /// Segments after all corrections, of stages that are [`crate::Stage::metered`].
    pub segments: Vec<SegmentVolume>,
}

impl CorrectionReport {
    pub(crate) fn clear(&mut self) {
        self.volumes.clear();
        self.contacts.clear();
        self.segments.clear();
    }
}

/// How a restoration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The bones moved it as one, and no effect did at all: there was nothing to do.
    Still,
    /// The volume is what was asked for.
    Restored,
    /// One linear step was taken, as asked for: it overshoots.
    Linear,
    /// The map is 0 wherever the volume could be changed.
    NothingMayMove,
    /// Nodes would have moved farther than they may.
    MoveBound,
    /// The segment's volume means nothing: it has few faces, next to no volume, no cut that goes around it, or changes that
    /// are no part of it. The whole takes what it lost.
    NoEstimate,
    /// No way along the normals leads there.
    NotReached,
    /// It has no inside: only its segments can be measured.
    Open,
}

/// Volume before and after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Restored {
    pub target: f64,
    pub before: f64,
    pub after: f64,
    pub rounds: u32,
    pub outcome: Outcome,
}

/// Volume of what follows one bone most, at one frame. World units, cubed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentVolume {
    /// Index of the character.
    pub character: usize,
    /// The bone.
    pub bone: BoneId,
    /// At rest, under the scale of the bone; 0 where it has no inside.
    pub rest: f64,
    /// What was added to it.
    pub change: f64,
}

/// A muscle of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuscleReport {
    /// The bone that carries it.
    pub bone: BoneId,
    /// The ellipsoid it fills in that bone's frame, as the image of the unit ball.
    pub ellipsoid: DAffine3,
    /// Vortices it has.
    pub samples: usize,
    /// What of its contraction the vortices cannot do: 0 nothing, 1 all of it. 0 for muscles that nothing flexes.
    pub contraction_residual: f64,
}
