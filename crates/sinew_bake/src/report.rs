//! What a bake did, and how well.

use crate::Tolerance;
use std::fmt;

/// The whole account.
#[derive(Clone, Debug)]
pub struct Report {
    /// Samples over all clips.
    pub frames: usize,
    /// What was allowed.
    pub tolerance: Tolerance,
    /// Meshes that share targets.
    pub groups: Vec<GroupReport>,
    /// Clips, in the order given.
    pub clips: Vec<ClipReport>,
}

impl Report {
    /// The largest error of all groups, as a share of the size of its character.
    pub fn largest_share(&self) -> f64 {
        self.groups.iter().map(|group| group.error.largest / group.size).fold(0.0, f64::max)
    }

    /// Whether every group is within the tolerance.
    pub fn within_tolerance(&self) -> bool {
        self.groups.iter().all(|group| group.error.largest <= self.tolerance.units(group.size))
    }

    /// The most targets of any mesh.
    pub fn most_targets(&self) -> usize {
        self.groups.iter().map(|group| group.targets).max().unwrap_or(0)
    }
}

/// Meshes that share targets and weights.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// Indices of the rig's parts.
    pub parts: Vec<usize>,
    /// Names of the parts.
    pub names: Vec<String>,
    /// Size of their character in scene units.
    pub size: f64,
    /// Control points.
    pub points: usize,
    /// Targets kept.
    pub targets: usize,
    /// Largest displacement by the effects, in scene units.
    pub displacement: Located,
    /// Error of the result at samples and midpoints, in scene units.
    pub error: Error,
    /// Largest error at the moments looked at between samples and midpoints, where the motion is faster than they are.
    pub error_between: f64,
    /// Error by number of targets, with weights at every sample.
    pub curve: Vec<TradePoint>,
    /// Angles between normals as played and as wanted.
    pub normals: Option<AngleError>,
    /// The same of tangents.
    pub tangents: Option<AngleError>,
    /// Where skinning is too flat for a morph to be seen.
    pub flattened: Option<FlattenedReport>,
}

/// A length somewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Located {
    /// In scene units.
    pub length: f64,
    /// Index among the clips given.
    pub clip: usize,
    /// Seconds on the clip's clock.
    pub time: f64,
    /// Index of the part.
    pub part: usize,
    /// Vertex over all primitives of the part.
    pub vertex: usize,
}

/// Distances between points as played and as wanted, in scene units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Error {
    /// The largest over all points, samples and midpoints.
    pub largest: f64,
    /// Their mean.
    pub mean: f64,
    /// Where the largest is.
    pub at: Located,
}

/// What a number of targets gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TradePoint {
    /// Targets.
    pub targets: usize,
    /// Largest error in scene units.
    pub largest: f64,
    /// Mean error in scene units.
    pub mean: f64,
}

/// Angles in radians.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AngleError {
    /// The largest over all vertices and the samples that normals are looked at, some hundreds over all clips. Where skinning is
    /// too flat to tell, none counts.
    pub largest: f64,
    /// Their mean.
    pub mean: f64,
    /// The largest without the bake's targets.
    pub largest_before: f64,
    /// The mean without them.
    pub mean_before: f64,
}

/// Points that skinning squeezes flat while an effect moves them.
#[derive(Clone, Debug, PartialEq)]
pub struct FlattenedReport {
    /// Points, each counted once.
    pub points: usize,
    /// Points times frames.
    pub times: usize,
    /// Bones that hold most of their weight, a few.
    pub bones: Vec<String>,
    /// The first clip it happens in, among those given.
    pub clip: usize,
    /// The moment in seconds.
    pub time: f64,
    /// The largest distance that no target can make up for, in scene units.
    pub left: f64,
}

/// One clip.
#[derive(Clone, Debug)]
pub struct ClipReport {
    /// Name.
    pub name: String,
    /// Samples taken.
    pub samples: usize,
    /// Keys written, over all groups that have targets.
    pub keys: usize,
    /// Keys that had to be put between samples.
    pub keys_between: usize,
    /// Largest error, as a share of the size.
    pub largest_share: f64,
    /// How well a loop closes; `None` for clips that do not.
    pub seam: Option<Seam>,
}

/// The jump of the baked displacements from the last frame of a loop to its first, as a share of the size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seam {
    /// Of positions.
    pub position: f64,
    /// Of velocities, per second.
    pub velocity: f64,
}

/// The tolerance was not met.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// What was allowed.
    pub tolerance: Tolerance,
    /// Most targets allowed.
    pub max_targets: Option<usize>,
    /// The groups that are short, with what would do.
    pub groups: Vec<GroupShortfall>,
}

/// One group that does not meet the tolerance.
#[derive(Clone, Debug)]
pub struct GroupShortfall {
    /// Names of its meshes.
    pub names: Vec<String>,
    /// Size of the character in scene units.
    pub size: f64,
    /// Targets that would meet the tolerance; `None` where no number does.
    pub would_do: Option<usize>,
    /// What keeps it from being met where no number of targets does.
    pub obstacle: Option<String>,
    /// Error by number of targets.
    pub curve: Vec<TradePoint>,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tolerance of {} is not met", self.tolerance)?;
        for group in &self.groups {
            let GroupShortfall { names, size, would_do, obstacle, curve } = group;
            write!(f, "\n  mesh {}: ", listed(names))?;
            let error = |targets: usize| curve.iter().rfind(|point| point.targets <= targets);
            if let Some(point) = self.max_targets.and_then(error).or(curve.last()) {
                write!(f, "{} targets give {:.3} % of the size", point.targets, 100.0 * point.largest / size)?;
            }
            match (would_do, obstacle) {
                (Some(count), _) => write!(f, "; {count} would be enough")?,
                (None, Some(obstacle)) => write!(f, "; {obstacle}")?,
                (None, None) => write!(f, "; no number of targets would be enough")?,
            }
            write!(f, "\n  targets  largest error  mean error (% of the size)")?;
            for point in thinned(curve) {
                let share = |length: f64| 100.0 * length / size;
                write!(f, "\n  {:>7}  {:>13.4}  {:>10.5}", point.targets, share(point.largest), share(point.mean))?;
            }
        }
        Ok(())
    }
}

/// A few names in quotes.
pub fn listed(names: &[String]) -> String {
    let mut words: Vec<String> = names.iter().take(4).map(|name| format!("\"{name}\"")).collect();
    if names.len() > 4 {
        words.push(format!("{} more", names.len() - 4));
    }
    words.join(", ")
}

/// 0, 1, 2, 3, 4, 6, 8, 12, 16, 24 …
pub(crate) fn is_round(count: usize) -> bool {
    count < 4 || count.is_power_of_two() || (count.is_multiple_of(3) && (count / 3).is_power_of_two())
}

/// A curve short enough to read: round numbers of targets, and its end.
pub fn thinned(curve: &[TradePoint]) -> impl Iterator<Item = &TradePoint> {
    let last = curve.last().map_or(0, |point| point.targets);
    curve.iter().filter(move |point| is_round(point.targets) || point.targets == last)
}
