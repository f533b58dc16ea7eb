//! What an effect makes its terms by, as plain data: for whoever makes them elsewhere, from motions sampled ahead of time.

use bytemuck::{Pod, Zeroable};

/// Which family an effect's terms are of, and what drives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakerKind {
    /// A shove and a turn by velocities.
    Velocity,
    /// A shove and a turn by accelerations, or by what stands in their place.
    Acceleration,
    /// The same where the bone brakes.
    Braking,
    /// The same where it does not.
    Starting,
    /// Both parts of a squash.
    Squash,
    /// Outward from an axis.
    Throw,
}

/// The numbers of an effect; what its kind has no use for is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct TermMaker {
    /// Number of its kind.
    pub kind: u32,
    /// Gain of what translation causes.
    pub translation: f32,
    /// Gain of what rotation causes.
    pub rotation: f32,
    /// Limit of lengths in sizes, or of stretches.
    pub max_length: f32,
    /// Limit of angles.
    pub max_angle: f32,
    /// 1 where it eases into them.
    pub soft: u32,
    /// Rounds the corner of a stretch at rest.
    pub ease: f32,
    /// 1 where squash goes by the full rotation.
    pub paper_spin: u32,
    /// 1 for the paper's indicator.
    pub paper_indicator: u32,
    /// Time to rest, or the paper's D of moving bones.
    pub indicator: f32,
    /// The paper's D of turning bones.
    pub angular_indicator: f32,
}

impl TermMaker {
    /// Of a kind, with nothing else said.
    pub(super) fn of(kind: MakerKind) -> Self {
        Self { kind: kind as u32, ..Self::zeroed() }
    }
}
