//! Muscles as recipes ask for them.

use crate::simd::Lanes;
use crate::skeleton::BoneId;

/// What muscles feel: an acceleration, the three columns of a strain, the way up.
pub(crate) const FELT: usize = 5;

/// The shape of a muscle as a recipe gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MuscleShape {
    /// Fitted to the skin that follows the bone: an ellipsoid, a capsule or the region itself.
    Fitted(FittedShape),
    /// In the bone's frame: centre, radii along its axes.
    Ellipsoid([f64; 6]),
    /// In the bone's frame: ends, radius.
    Capsule([f64; 7]),
}

/// What a muscle is fitted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FittedShape {
    /// The ellipsoid through the skin, drawn inward.
    Ellipsoid,
    /// The capsule in its place.
    Capsule,
    /// The skin itself, drawn inward.
    Region,
}

impl FittedShape {
    /// The words of recipes.
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("ellipsoid", Self::Ellipsoid), ("capsule", Self::Capsule), ("region", Self::Region)];
}

/// Muscles as a recipe asks for them, under the bones that carry them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MuscleSpec {
    /// Bones whose bending contracts it, by name; `*` and `?` match any.
    pub flexed_by: Vec<String>,
    /// Its shape; without one, as the correction says.
    pub shape: Option<MuscleShape>,
    /// Painted map of how much of it each place takes. A region is that of the map.
    pub map: Option<String>,
}

/// The same with its names looked up.
pub(crate) struct BoundMuscle {
    pub bones: Vec<BoneId>,
    pub flexed_by: Vec<BoneId>,
    pub shape: Option<MuscleShape>,
    pub painted: Option<Vec<Lanes>>,
}
