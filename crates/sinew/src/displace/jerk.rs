//! Jerk: a kick where the acceleration changes (beyond the papers).
//!
//! Translation `−K j`, rotation `(Rot(−K‖j_α×r‖, j_α) − I) r`, with j the low-passed derivative of the acceleration:
//! continuous where the plain derivative of key-framed motion jumps.
//!
//! Oracle: zero at constant acceleration; the derivative of what an acceleration term of the same filter would show.

use super::swing::{Drive, Swing};
use super::{At, BoneInput, Displacement, Input, Psi};
use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use crate::simd::{Simd, V3};

/// A kick at sudden starts and stops.
#[derive(Clone, Copy, Debug)]
pub struct Jerk(Swing);

impl Displacement for Jerk {
    const NAME: &'static str = "jerk";
    const ABOUT: &'static str = "Snap: a short kick of the skin where a bone starts or stops suddenly";
    const PARAMS: &'static [ParamSpec] = &[
        ParamSpec::number(
            "translation",
            "s³",
            [-1.0, 1.0],
            0.0005,
            "How hard a bone that moves suddenly kicks the skin",
        ),
        ParamSpec::number("rotation", "s³", [-1.0, 1.0], 0.0005, "How hard a bone that turns suddenly kicks the skin"),
        ParamSpec::number("max_length", "× size", [0.0, 10.0], 0.1, "The kick of a moving bone never exceeds this"),
        ParamSpec::number("max_angle", "rad", [0.0, 20.0], 0.5, "The kick of a turning bone never exceeds this"),
        ParamSpec::switch("soft", true, "Bend smoothly into the limits instead of cutting there"),
        ParamSpec::number("filter", "", [0.001, 0.999], 0.6, "Time filter γ on the change of acceleration"),
    ];
    const INPUTS: &'static [Input] = &[
        Input::Derivative(Signal::LinearAcceleration, "filter"),
        Input::Derivative(Signal::AngularAcceleration, "filter"),
    ];

    fn new(values: &Values) -> Self {
        Self(Swing::new(values, -1.0))
    }

    #[inline(always)]
    fn psi<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> Psi<S> {
        self.0.psi(simd, bone, at, drive(bone))
    }

    #[inline(always)]
    fn split<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> (V3<S>, V3<S>) {
        self.0.split(simd, bone, at, drive(bone))
    }
}

#[inline(always)]
fn drive(bone: &BoneInput) -> Drive {
    Drive { linear: bone.linear_acceleration, angular: bone.angular_acceleration, shares: (1.0, 1.0) }
}
