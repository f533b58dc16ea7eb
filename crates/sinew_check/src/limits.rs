//! What figures of a comparison may be: one list of measures, each with a default and the reason for it.

use crate::compare::{Comparison, GroupFigures};
use crate::groups::GroupKind;
use crate::location::Location;

/// How a figure is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share of something, told in percent.
    Share,
    /// A ratio, told as it is.
    Ratio,
    /// A number of things.
    Count,
}

/// A figure of a comparison, and the most it may be.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Name on command lines.
    pub name: &'static str,
    /// What it says of the character, in words.
    pub about: &'static str,
    /// How it is told.
    pub unit: Unit,
    /// The most it may be.
    pub most: f64,
    /// The figure.
    pub value: fn(&Comparison) -> f64,
    /// When it is worst, and where; `None` where there is nothing to see.
    pub at: fn(&Comparison) -> Option<Moment<'_>>,
}

/// A moment of a clip, and a place on the character where one is known.
pub type Moment<'c> = (f64, Option<&'c Location>);

fn at(place: &Location) -> Moment<'_> {
    (place.time, Some(place))
}

/// All limits.
///
/// - Strain: skin of living animals stretches by a third where it moves most; an edge twice as long tears texture.
/// - Gaps and penetration: a two-hundredth of the size is a line that is seen where the character fills the screen.
/// - Rigid: a thousandth of a sword's length is less than a pixel of it.
/// - Slip: a tenth more than the base's and a thousandth of the size, below what is seen against the ground.
/// - Trembling: a quarter of the energy above 8 Hz is shaking at more than half the speed of the motion it rides on.
/// - Crossings: five pairs of triangles are one fold of one edge.
/// - Thickness: squash and stretch halve a limb at their strongest; less reads as a collapse.
/// - Jolts: what steps by a two-hundredth within a hundredth of a second is a jump cut.
pub const LIMITS: [Limit; 11] = [
    Limit {
        name: "strain",
        about: "edges stretched or pressed, 99.9 of 100",
        unit: Unit::Ratio,
        most: 1.3,
        value: |c| characters(c).map(|g| g.strain).fold(1.0, f64::max),
        at: |c| worst_edge(c),
    },
    Limit {
        name: "worst-strain",
        about: "the edge stretched or pressed most",
        unit: Unit::Ratio,
        most: 2.0,
        value: |c| characters(c).filter_map(|g| g.worst_edge.as_ref()).map(|e| e.strain).fold(1.0, f64::max),
        at: |c| worst_edge(c),
    },
    Limit {
        name: "gap",
        about: "gap between pieces that touch",
        unit: Unit::Share,
        most: 5e-3,
        value: |c| c.gaps.first().map_or(0.0, |gap| gap.gap.value),
        at: |c| c.gaps.first().map(|gap| at(&gap.gap.place)),
    },
    Limit {
        name: "rigid",
        about: "bend of pieces said to be rigid",
        unit: Unit::Share,
        most: 1e-3,
        value: |c| c.distortions.iter().find(|d| d.is_rigid).map_or(0.0, |d| d.residual.value),
        at: |c| c.distortions.iter().find(|d| d.is_rigid).map(|d| at(&d.residual.place)),
    },
    Limit {
        name: "slip",
        about: "slip of planted feet beyond the base's",
        unit: Unit::Share,
        most: 1e-3,
        value: |c| c.slips.iter().map(|slip| slip.effects - 1.1 * slip.base).fold(0.0, f64::max),
        at: |c| c.slips.first().map(|slip| (slip.time, None)),
    },
    Limit {
        name: "ground",
        about: "skin below the ground",
        unit: Unit::Share,
        most: 2e-3,
        value: |c| c.below_ground.as_ref().map_or(0.0, |sunk| sunk.value),
        at: |c| c.below_ground.as_ref().map(|sunk| at(&sunk.place)),
    },
    Limit {
        name: "tremble",
        about: "energy above 8 Hz beyond the base's",
        unit: Unit::Share,
        most: 0.25,
        value: |c| c.worst_tremble().map_or(0.0, GroupFigures::excess_tremble),
        at: |_| None,
    },
    Limit {
        name: "crossings",
        about: "new crossings within a piece, per frame",
        unit: Unit::Count,
        most: 5.0,
        value: |c| {
            let (new, base) = (c.crossings.within as f64, c.crossings.base_within as f64);
            (new - 0.02 * base).max(0.0) / c.crossings.frames.max(1) as f64
        },
        at: |c| c.crossings.worst.as_ref().map(at),
    },
    Limit {
        name: "penetration",
        about: "depth of one piece in another beyond the base's",
        unit: Unit::Share,
        most: 5e-3,
        value: |c| c.crossings.deepest.as_ref().map_or(0.0, |(deepest, _)| deepest.value),
        at: |c| c.crossings.deepest.as_ref().map(|(deepest, _)| at(&deepest.place)),
    },
    Limit {
        name: "thinning",
        about: "loss of thickness",
        unit: Unit::Share,
        most: 0.5,
        value: |c| c.thinnest.as_ref().map_or(0.0, |thinnest| 1.0 - thinnest.value),
        at: |c| c.thinnest.as_ref().map(|thinnest| at(&thinnest.place)),
    },
    Limit {
        name: "jolt",
        about: "step between two moments",
        unit: Unit::Share,
        most: 5e-3,
        value: |c| c.jolt.as_ref().map_or(0.0, |jolt| jolt.value),
        at: |c| c.jolt.as_ref().map(|jolt| at(&jolt.place)),
    },
];

fn worst_edge(comparison: &Comparison) -> Option<Moment<'_>> {
    let edges = characters(comparison).filter_map(|group| group.worst_edge.as_ref());
    edges.max_by(|a, b| a.strain.total_cmp(&b.strain)).map(|edge| at(&edge.place))
}

fn characters(comparison: &Comparison) -> impl Iterator<Item = &GroupFigures> {
    comparison.groups.iter().filter(|group| group.kind == GroupKind::Character)
}

impl GroupFigures {
    /// What of its energy trembles beyond the base's share.
    pub fn excess_tremble(&self) -> f64 {
        (self.tremble - self.base_tremble).max(0.0)
    }
}

impl Comparison {
    /// The bone that trembles most beyond the base.
    pub fn worst_tremble(&self) -> Option<&GroupFigures> {
        let bones = self.groups.iter().filter(|group| group.kind == GroupKind::Bone);
        let worst = bones.rev().max_by(|a, b| a.excess_tremble().total_cmp(&b.excess_tremble()));
        worst.filter(|group| group.excess_tremble() > 0.0)
    }
}
