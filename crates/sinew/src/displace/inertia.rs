//! What follow-through and acceleration drag share: `−K a` and `(Rot(−K‖α×r‖, α) − I) r`, each times a share that the
//! indicator of braking decides.

use super::indicator::Indicator;
use super::swing::{Drive, Swing, SwingTerm};
use super::{BoneInput, HARD, Input, MakerKind, TermMaker, UNLIMITED};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};

/// The acceleration deformer before it is split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inertia {
    swing: Swing,
    indicator: Indicator,
}

/// The parameters of both, with the default of their time filters.
pub(super) const fn params(filter: f64) -> [ParamSpec; 11] {
    [
        ParamSpec::number("translation", "s²", [-10.0, 10.0], 0.01, "How far the skin swings when a bone moves"),
        ParamSpec::number("rotation", "s²", [-10.0, 10.0], 0.01, "How far the skin swings when a bone turns"),
        ParamSpec::length("max_length", 10.0, 0.3, "The swing of a moving bone never exceeds this"),
        ParamSpec::number("max_angle", "rad", [0.0, 20.0], 1.0, "The swing of a turning bone never exceeds this"),
        ParamSpec::switch("soft", true, "Ease into the limits instead of clamping"),
        ParamSpec::number(
            "rest_time",
            "s",
            [0.001, 10.0],
            0.05,
            "A bone counts as fully braking this long before it stops",
        ),
        ParamSpec::switch("paper_indicator", false, "Use the paper's indicator, which switches in a few milliseconds"),
        ParamSpec::number("paper_linear", "s⁻³", [1e-9, 1e9], 1.0, "D of the paper's indicator for moving bones"),
        ParamSpec::number("paper_angular", "s⁻³", [1e-9, 1e9], 1.0, "D of the paper's indicator for turning bones"),
        ParamSpec::number("velocity_filter", "", [0.001, 1.0], filter, "Time filter γ on velocities; 1 is none"),
        ParamSpec::number("acceleration_filter", "", [0.001, 1.0], filter, "Time filter γ on accelerations; 1 is none"),
    ]
}

/// The paper's form of both.
pub(super) const PAPER: &[(&str, f64)] = &[
    UNLIMITED,
    ("max_angle", 20.0),
    HARD,
    ("paper_indicator", 1.0),
    ("velocity_filter", 1.0),
    ("acceleration_filter", 1.0),
];

pub(super) const INPUTS: &[Input] = &[
    Input::LowPass(Signal::LinearVelocity, "velocity_filter"),
    Input::LowPass(Signal::AngularVelocity, "velocity_filter"),
    Input::LowPass(Signal::LinearAcceleration, "acceleration_filter"),
    Input::LowPass(Signal::AngularAcceleration, "acceleration_filter"),
];

impl Inertia {
    pub fn new(values: &Values) -> Self {
        let number = |name| values.number(name) as f32;
        Self {
            swing: Swing::new(values, -1.0),
            indicator: if values.switch("paper_indicator") {
                Indicator::Paper { linear: number("paper_linear"), angular: number("paper_angular") }
            } else {
                Indicator::TimeToRest(number("rest_time"))
            },
        }
    }

    /// The share of the motion that is braking: (translation, rotation).
    pub fn braking(&self, bone: &BoneInput) -> (f32, f32) {
        (
            self.indicator.linear(bone.linear_velocity, bone.linear_acceleration, bone.size),
            self.indicator.angular(bone.angular_velocity, bone.angular_acceleration),
        )
    }

    /// The numbers of both.
    pub fn maker(&self, kind: MakerKind) -> TermMaker {
        let (paper_indicator, indicator, angular_indicator) = match self.indicator {
            Indicator::TimeToRest(time) => (0, time, 0.0),
            Indicator::Paper { linear, angular } => (1, linear, angular),
        };
        TermMaker { paper_indicator, indicator, angular_indicator, ..self.swing.maker(kind) }
    }

    /// The deformer with each part taken by its share.
    pub fn term(&self, bone: &BoneInput, shares: (f32, f32)) -> SwingTerm {
        let drive = Drive { linear: bone.linear_acceleration, angular: bone.angular_acceleration, shares };
        self.swing.term(bone, drive)
    }
}
