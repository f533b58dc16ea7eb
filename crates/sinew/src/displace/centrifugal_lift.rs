//! Centrifugal lift (AS 5.2, eq. 13): a twirling skirt rises along the normals of the cone it resembles.
//!
//! `K χ (ψ·n) n` with ψ a centrifugal stretch of its own gain; χ and n belong to the cone (see [`crate::cone`]), which
//! the graph applies to the sum over bones.
//!
//! Oracle: zero inside the cone's base radius, along n everywhere.

use super::centrifugal_stretch::Throw;
use super::{BoneInput, Displacement, HARD, Input, MakerKind, TermMaker};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use crate::simd::Limit;

/// A twirled skirt lifts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CentrifugalLift {
    stretch: f32,
}

impl Displacement for CentrifugalLift {
    const NAME: &'static str = "centrifugal-lift";
    const ABOUT: &'static str = "A twirled skirt lifts: thrown outward, but only along the normals of a cone";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number("stretch", "s²", [-10.0, 10.0], 0.01, "How far a turning bone throws the skin outward"),
        ParamSpec::switch("soft", true, "Ease into the cone's limit instead of clamping"),
        ParamSpec::number("filter", "", [0.001, 1.0], 0.6, "Time filter γ on angular velocity; 1 is none"),
    ];
    const INPUTS: &'static [Input] = &[Input::LowPass(Signal::AngularVelocity, "filter")];
    const NEEDS_CONE: bool = true;
    const PAPER: Option<&'static [(&'static str, f64)]> = Some(&[HARD, ("filter", 1.0)]);

    type Term = Throw;

    fn new(values: &Values) -> Self {
        Self { stretch: values.number("stretch") as f32 }
    }

    fn term(&self, bone: &BoneInput) -> Throw {
        // Bounded by the cone's own limit after the normal filter.
        Throw::new(bone, self.stretch * bone.rotation_gain, Limit::new(f32::MAX, false))
    }

    fn maker(&self) -> TermMaker {
        TermMaker { rotation: self.stretch, max_length: f32::MAX, ..TermMaker::of(MakerKind::Throw) }
    }
}
