//! Jerk: a kick where the acceleration changes (beyond the papers).
//!
//! Translation `−K j`, rotation `(Rot(−K‖j_α×r‖, j_α) − I) r`, with j the low-passed derivative of the acceleration:
//! continuous where the plain derivative of key-framed motion jumps.
//!
//! Oracle: zero at constant acceleration; the derivative of what an acceleration term of the same filter would show.

use super::swing::{Drive, Swing, SwingTerm};
use super::{BoneInput, Displacement, Input, MakerKind, TermMaker};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};

/// A kick at sudden starts and stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jerk(Swing);

impl Displacement for Jerk {
    const NAME: &'static str = "jerk";
    const ABOUT: &'static str = "Snap: a short kick of the skin when a bone starts or stops suddenly";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number(
            "translation",
            "s³",
            [-1.0, 1.0],
            0.0005,
            "How hard a bone that moves suddenly kicks the skin",
        ),
        ParamSpec::number("rotation", "s³", [-1.0, 1.0], 0.0005, "How hard a bone that turns suddenly kicks the skin"),
        ParamSpec::length("max_length", 10.0, 0.1, "The kick of a moving bone never exceeds this"),
        ParamSpec::number("max_angle", "rad", [0.0, 20.0], 0.5, "The kick of a turning bone never exceeds this"),
        ParamSpec::switch("soft", true, "Ease into the limits instead of clamping"),
        ParamSpec::number("filter", "", [0.001, 0.999], 0.6, "Time filter γ on the change of acceleration"),
    ];
    const INPUTS: &'static [Input] = &[
        Input::Derivative(Signal::LinearAcceleration, "filter"),
        Input::Derivative(Signal::AngularAcceleration, "filter"),
    ];

    type Term = SwingTerm;

    fn new(values: &Values) -> Self {
        Self(Swing::new(values, -1.0))
    }

    fn term(&self, bone: &BoneInput) -> SwingTerm {
        let drive = Drive { linear: bone.linear_acceleration, angular: bone.angular_acceleration, shares: (1.0, 1.0) };
        self.0.term(bone, drive)
    }

    fn maker(&self) -> TermMaker {
        self.0.maker(MakerKind::Acceleration)
    }
}
