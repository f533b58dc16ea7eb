//! Muscles as recipes ask for them.

use crate::kinodynamic::{CAPSULE, ELLIPSOID};
use crate::param::{ParamKind, ParamSpec, Range};
use crate::table::{CellKind, CellSpec, RowKind, TableSpec};

/// What muscles feel: an acceleration, the three columns of a strain, the way up.
pub(super) const FLESH_SIGNALS: usize = 5;
/// What they feel besides where a force comes from elsewhere: the world's other axes.
pub(super) const FORCE_SIGNALS: usize = 2;

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

/// What all muscles have, and each may have otherwise.
pub(super) const SETTINGS: [ParamSpec; 10] = [
    ParamSpec::number("frequency", "Hz", [0.1, 12.0], 3.0, "how fast the flesh swings; its k_s is (2π·frequency)²"),
    ParamSpec::number(
        "damping",
        "",
        [0.01, 2.0],
        0.25,
        "how quickly it settles; below 1 it oscillates; its k_d is 4π·damping·frequency",
    ),
    ParamSpec::number(
        "density",
        "",
        [0.0, 1000.0],
        1000.0,
        "density of the flesh relative to its surroundings; 1 floats",
    ),
    ParamSpec::number("gravity", "× size/s²", [0.0, 50.0], 0.0, "pull downwards, or where `tilt` and `heading` say"),
    ParamSpec::number("life", "", [0.0, 2.0], 0.0, "1 moves with the bone, more leads it"),
    ParamSpec::number("stretch", "", [-1.0, 1.0], 0.0, "squash (negative) or stretch along the longest axis"),
    ParamSpec::number("contraction", "", [-1.0, 1.5], 0.6, "bulge when the bones that flex a muscle turn by 180°"),
    ParamSpec::number("stiffening", "", [0.0, 1000.0], 0.0, "how much sheared flesh stiffens: κ of the shear strain"),
    ParamSpec::number("limit", "× muscle radius", [0.01, 2.0], 0.35, "how far a muscle may leave its place"),
    ParamSpec::number(
        "full_at",
        "°",
        [10.0, 180.0],
        180.0,
        "turn of the bones that flex a muscle from which it contracts no more",
    ),
];

/// Forces from outside, alike for all muscles.
pub(super) const FORCES: [ParamSpec; 7] = [
    ParamSpec::number(
        "tilt",
        "°",
        [0.0, 180.0],
        0.0,
        "angle of gravity from straight down: 90 pulls sideways, 180 upwards",
    ),
    ParamSpec::number(
        "heading",
        "°",
        [-360.0, 360.0],
        0.0,
        "where tilted gravity pulls: 0 to the front (+z), 90 to +x",
    ),
    ParamSpec::number("wind", "× size/s²", [0.0, 50.0], 0.0, "push of a wind"),
    ParamSpec::number("wind_heading", "°", [-360.0, 360.0], 0.0, "where it blows to: 0 to the front (+z), 90 to +x"),
    ParamSpec::number("wind_lift", "°", [-90.0, 90.0], 0.0, "how far upwards it blows"),
    ParamSpec::number("gusts", "× wind", [0.0, 2.0], 0.5, "how much it comes and goes"),
    ParamSpec::number(
        "gust_rate",
        "Hz",
        [0.05, 10.0],
        0.5,
        "how often; in a loop gusts come a whole number of times, so that it closes",
    ),
];

/// Settings that are run ahead over a clip, so that they are the same all along it.
const PACE: usize = 2;

/// A setting of one muscle.
const fn own(setting: usize) -> CellSpec {
    let ParamSpec { name, about, kind, .. } = SETTINGS[setting];
    match kind {
        ParamKind::Number { unit, min, max, .. } => {
            let range = Range { min, max, unit };
            let kind = if setting < PACE { CellKind::Number(range) } else { CellKind::Keyed(range) };
            CellSpec::new(name, kind, about)
        }
        _ => panic!("settings of muscles are numbers"),
    }
}

const COMPONENT: Range = Range { min: -1.0, max: 1.0, unit: "" };

/// Muscles by the bones that carry them; each row makes its own.
pub(super) const MUSCLE_TABLE: TableSpec = TableSpec {
    key: "muscles",
    of: "muscles",
    about: "muscles by the bone that carries them, each with keys of its own",
    examples: &[
        "\"upper_arm.*\" = { flexed_by = [\"forearm.*\"], map = \"NAME\", shape = \"region\" }",
        "\"belly\" = { frequency = 2.0, damping = 0.15, gravity = 3.0 }",
        "\"chest\" = { target = \"NAME\", contraction = [[0.0, 0.0], [0.4, 1.0]] }",
    ],
    row: RowKind::Cells(&[
        CellSpec::new("flexed_by", CellKind::Bones, "bones whose bending contracts it"),
        CellSpec::new("map", CellKind::Map, "how much of it each place takes, and where a region is"),
        CellSpec::new(
            "target",
            CellKind::Map,
            "where its contraction pushes the skin, outwards or (negative) inwards, in radii of the muscle, in place of a bulge; \
             without `flexed_by` it is contracted by `contraction` alone",
        ),
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
        CellSpec::new(
            "axis",
            CellKind::Numbers {
                each: &[COMPONENT; 3],
                form: "a direction in the bone's frame, such as [0.0, 1.0, 0.0]",
            },
            "what it is squashed or stretched along, in place of its longest axis",
        ),
        own(0),
        own(1),
        own(2),
        own(3),
        own(4),
        own(5),
        own(6),
        own(7),
        own(8),
        own(9),
    ]),
};
