//! Wobble: a damped oscillation that rings after the bone (beyond the papers).
//!
//! The relative displacement of a mass on a spring carried by the bone, `ü + 2ζω₀u̇ + ω₀²u = −a`, found without state by
//! running the oscillator over the clip ahead of time. Translation `k u`; rotation turns p about the joint by the same
//! oscillation of α, growing with the distance like follow-through. Gain 1 is the physical swing.
//!
//! Oracle: a steady acceleration gives −a/ω₀²; after a stop it crosses zero at the damped frequency and decays by
//! e^{−ζω₀t}; a loop is periodic.

use super::swing::{Drive, Swing, SwingTerm};
use super::{BoneInput, Displacement, Input, MakerKind, TermMaker};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use std::f64::consts::TAU;

/// Ringing overshoot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wobble(Swing);

impl Displacement for Wobble {
    const NAME: &'static str = "wobble";
    const ABOUT: &'static str = "Jelly: the skin swings on a spring behind the bone and oscillates before it settles";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number(
            "translation",
            "",
            [-20.0, 20.0],
            1.0,
            "How far it swings when a bone moves; 1 is a real spring",
        ),
        ParamSpec::number(
            "rotation",
            "",
            [-20.0, 20.0],
            1.0,
            "How far it swings when a bone turns; 1 is a real spring",
        ),
        ParamSpec::number("frequency", "Hz", [0.1, 30.0], 4.0, "How fast it oscillates"),
        ParamSpec::number(
            "damping",
            "",
            [0.01, 2.0],
            0.2,
            "How quickly it settles: 0.1 oscillates for long, 1 not at all",
        ),
        ParamSpec::length("max_length", 10.0, 0.3, "The swing of a moving bone never exceeds this"),
        ParamSpec::number("max_angle", "rad", [0.0, 20.0], 1.0, "The swing of a turning bone never exceeds this"),
        ParamSpec::switch("soft", true, "Ease into the limits instead of clamping"),
    ];
    const INPUTS: &'static [Input] = &[
        Input::Oscillator(Signal::LinearAcceleration, "frequency", "damping"),
        Input::Oscillator(Signal::AngularAcceleration, "frequency", "damping"),
    ];

    type Term = SwingTerm;

    fn new(values: &Values) -> Self {
        Self(Swing::new(values, -1.0 / (TAU * values.number("frequency")).powi(2)))
    }

    fn term(&self, bone: &BoneInput) -> SwingTerm {
        let drive = Drive { linear: bone.linear_acceleration, angular: bone.angular_acceleration, shares: (1.0, 1.0) };
        self.0.term(bone, drive)
    }

    fn maker(&self) -> TermMaker {
        self.0.maker(MakerKind::Acceleration)
    }
}
