//! Displacements: `d = Σ_i w̃_i Σ_effect ψ(motion of bone i, gain, p)`.
//!
//! A displacement is a pure function of one bone's motion and one skinned point. All of them read the *same* skinned
//! point; the engine multiplies by the propagated weight and sums, so their order does not matter.

mod floppy;

pub use floppy::Floppy;

use crate::motion::Signal;
use crate::param::{ParamSpec, Values};
use crate::simd::{Simd, V3, f32x16};
use glam::Vec3;

/// The motion of one bone as an effect sees it at one frame: filtered with the effect's own γ, positions relative to
/// the character's origin.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoneInput {
    /// p_i.
    pub joint_origin: Vec3,
    /// v.
    pub linear_velocity: Vec3,
    /// ω.
    pub angular_velocity: Vec3,
    /// a.
    pub linear_acceleration: Vec3,
    /// α.
    pub angular_acceleration: Vec3,
    /// Gain of what the bone's translation causes.
    pub translation_gain: f32,
    /// Gain of what the bone's rotation causes.
    pub rotation_gain: f32,
    /// Size L of the character; 1 for the papers' raw gains.
    pub size: f32,
}

/// Sixteen points as an effect sees them.
#[derive(Clone, Copy)]
pub struct At<S: Simd> {
    /// Skinned points.
    pub p: V3<S>,
    /// Painted gain, signed.
    pub gain: f32x16<S>,
}

/// One effect of the velocity and acceleration families.
pub trait Displacement: Send + Sync + Sized + 'static {
    /// Name in recipes and on the command line.
    const NAME: &'static str;
    /// What it does, in one line.
    const ABOUT: &'static str;
    /// Its parameters.
    const PARAMS: &'static [ParamSpec];
    /// What of the motion it reads, each with the parameter that holds its γ.
    const INPUTS: &'static [(Signal, &'static str)];

    /// From checked values.
    fn new(values: &Values) -> Self;

    /// The displacement one bone causes, before the propagated weight.
    fn psi<S: Simd>(&self, simd: S, bone: &BoneInput, at: &At<S>) -> V3<S>;
}
