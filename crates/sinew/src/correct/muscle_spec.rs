//! Muscles as recipes ask for them.

use crate::kinodynamic::{CAPSULE, ELLIPSOID};
use crate::table::{CellKind, CellSpec, RowKind, TableSpec};

/// What muscles feel: an acceleration, the three columns of a strain, the way up.
pub(super) const FLESH_SIGNALS: usize = 5;

/// What a muscle is fitted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FittedShape {
    /// The ellipsoid through the skin, drawn inward.
    Ellipsoid,
    /// The capsule in its place.
    Capsule,
    /// The skin itself, drawn inward.
    Region,
}

impl FittedShape {
    /// The words of recipes.
    pub const WORDS: &'static [&'static str] = &["ellipsoid", "capsule", "region"];

    /// That of a word.
    pub fn named(word: &str) -> Self {
        match word {
            "capsule" => Self::Capsule,
            "region" => Self::Region,
            _ => Self::Ellipsoid,
        }
    }
}

/// Muscles by the bones that carry them; each row makes its own.
pub(super) const MUSCLE_TABLE: TableSpec = TableSpec {
    key: "muscles",
    of: "muscles",
    about: "muscles by the bone that carries them, each with keys of its own",
    examples: &["\"upper_arm.*\" = { flexed_by = [\"forearm.*\"], map = \"NAME\", shape = \"region\" }"],
    row: RowKind::Cells(&[
        CellSpec::new("flexed_by", CellKind::Bones, "bones whose bending contracts it"),
        CellSpec::new("map", CellKind::Map, "how much of it each place takes, and where a region is"),
        CellSpec::new("shape", CellKind::Word(FittedShape::WORDS), "what it is fitted to the skin as"),
        CellSpec::new(
            "ellipsoid",
            CellKind::Numbers {
                each: ELLIPSOID,
                form: "an ellipsoid in the bone's frame, such as [0.0, 0.1, 0.0, 0.05, 0.1, 0.05]: centre, radii",
            },
            "its shape by hand",
        ),
        CellSpec::new(
            "capsule",
            CellKind::Numbers {
                each: CAPSULE,
                form: "a capsule in the bone's frame, such as [0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.03]: ends, radius",
            },
            "its shape by hand, before an ellipsoid",
        ),
    ]),
};
