//! Follow-through (AS 4, eq. 9–10): the skin overshoots a bone that brakes.
//!
//! Translation `−𝒟(v,a) K a`; rotation `𝒟(ω,α) (Rot(−K‖α×r‖, α) − I) r`, 𝒟 the indicator of braking.
//!
//! Oracle: with equal parameters, follow-through and acceleration drag together are the plain acceleration deformer; a
//! steady spin gives zero of both; nothing while accelerating.

use super::inertia::{self, Inertia};
use super::swing::SwingTerm;
use super::{BoneInput, Displacement, Input, MakerKind, TermMaker};
use crate::param::{ParamSpec, Values};

/// Overshoot: when a bone brakes, the skin swings past it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followthrough(Inertia);

impl Displacement for Followthrough {
    const NAME: &'static str = "follow-through";
    const ABOUT: &'static str = "Overshoot: when a bone brakes, the skin swings on past it";
    const PARAMS: &'static [ParamSpec] = &inertia::params(0.8);
    const INPUTS: &'static [Input] = inertia::INPUTS;
    const PAPER: Option<&'static [(&'static str, f64)]> = Some(inertia::PAPER);

    type Term = SwingTerm;

    fn new(values: &Values) -> Self {
        Self(Inertia::new(values))
    }

    fn term(&self, bone: &BoneInput) -> SwingTerm {
        self.0.term(bone, self.0.braking(bone))
    }

    fn maker(&self) -> TermMaker {
        self.0.maker(MakerKind::Braking)
    }
}
