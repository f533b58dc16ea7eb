//! Acceleration drag (AS eq. 11): the skin is left behind by a bone that sets off.
//!
//! As follow-through with `1 − 𝒟`: translation `−(1−𝒟) K a`, rotation `(1−𝒟) (Rot(−K‖α×r‖, α) − I) r`.
//!
//! Oracle: see follow-through.

use super::inertia::{self, Inertia};
use super::swing::SwingTerm;
use super::{BoneInput, Displacement, Input, MakerKind, TermMaker};
use crate::param::{ParamSpec, Values};

/// When a bone sets off, the skin is left behind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccelerationDrag(Inertia);

impl Displacement for AccelerationDrag {
    const NAME: &'static str = "acceleration-drag";
    const ABOUT: &'static str = "Drag while accelerating: when a bone starts to move, the skin is left behind";
    const PARAMS: &'static [ParamSpec] = &inertia::params(1.0);
    const INPUTS: &'static [Input] = inertia::INPUTS;
    const PAPER: Option<&'static [(&'static str, f64)]> = Some(inertia::PAPER);

    type Term = SwingTerm;

    fn new(values: &Values) -> Self {
        Self(Inertia::new(values))
    }

    fn term(&self, bone: &BoneInput) -> SwingTerm {
        let (moving, turning) = self.0.braking(bone);
        self.0.term(bone, (1.0 - moving, 1.0 - turning))
    }

    fn maker(&self) -> TermMaker {
        self.0.maker(MakerKind::Starting)
    }
}
