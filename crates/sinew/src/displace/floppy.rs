//! Floppy (VS 4.2): the skin lags behind the bone.
//!
//! Translation `−k v`; rotation: turn p about the axis (p_i, ω) by `θ = −k‖ω×r‖`, r = p − p_i, so that far points lag
//! more. The rotation vector is −k·distance·ω: smooth through a reversal, no cut-off at small speeds. Both are
//! bounded: `θ/(1+|θ/θ_max|⁴)^¼` bends softly below the limit, the hard form cuts and creases the skin.
//!
//! Oracle: at w̃ = 1 and one rotating bone the distance to the axis is kept and the map has Jacobian 1; zero at zero
//! velocity; gain 0 is the base, bit for bit.

use super::swing::{Drive, Swing, SwingTerm};
use super::{BoneInput, Displacement, HARD, Input, MakerKind, TermMaker, UNLIMITED};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};

/// Drag: the skin lags behind the bone's translation and rotation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floppy(Swing);

impl Displacement for Floppy {
    const NAME: &'static str = "floppy";
    const ABOUT: &'static str = "Drag: the skin lags behind moving and turning bones, more so farther from the joint";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number("translation", "s", [-10.0, 10.0], 0.1, "How far the skin lags behind a bone that moves"),
        ParamSpec::number("rotation", "s", [-10.0, 10.0], 0.1, "How far the skin lags behind a bone that turns"),
        ParamSpec::length("max_length", 10.0, 0.3, "The lag of a moving bone never exceeds this"),
        ParamSpec::number("max_angle", "rad", [0.0, 20.0], 1.0, "The lag of a turning bone never exceeds this"),
        ParamSpec::switch("soft", true, "Ease into the limits instead of clamping"),
        ParamSpec::number("translation_filter", "", [0.001, 1.0], 1.0, "Time filter γ on velocity; 1 is none"),
        ParamSpec::number("rotation_filter", "", [0.001, 1.0], 1.0, "Time filter γ on angular velocity; 1 is none"),
    ];
    const INPUTS: &'static [Input] = &[
        Input::LowPass(Signal::LinearVelocity, "translation_filter"),
        Input::LowPass(Signal::AngularVelocity, "rotation_filter"),
    ];
    const PAPER: Option<&'static [(&'static str, f64)]> = Some(&[UNLIMITED, HARD]);

    type Term = SwingTerm;

    fn new(values: &Values) -> Self {
        Self(Swing::new(values, -1.0))
    }

    fn term(&self, bone: &BoneInput) -> SwingTerm {
        let drive = Drive { linear: bone.linear_velocity, angular: bone.angular_velocity, shares: (1.0, 1.0) };
        self.0.term(bone, drive)
    }

    fn maker(&self) -> TermMaker {
        self.0.maker(MakerKind::Velocity)
    }
}
