//! Displacements: `d = Σ_i w̃_i Σ_effect ψ(motion of bone i, gain, p)`.
//!
//! A displacement is a pure function of one bone's motion and one skinned point. All of them read the *same* skinned
//! point; the engine multiplies by the propagated weight and sums, so their order does not matter. Each gives its
//! derivatives by the point and by the gain in closed form, which is what exact normals are made of.
//!
//! What depends on the bone alone is worked out once per frame, as a `Term`, which is plain numbers; the kernels are
//! those of the terms, and effects that differ only in what drives them share one.

mod acceleration_drag;
mod centrifugal_lift;
mod centrifugal_stretch;
mod floppy;
mod followthrough;
mod indicator;
mod inertia;
mod jerk;
mod layout;
mod maker;
#[cfg(test)]
#[path = "../../tests/all/common/reference.rs"]
mod reference;
mod shove;
mod squash;
mod swing;
#[cfg(test)]
mod tests;
mod turn;
mod wobble;

/// Every effect, in the order of the manual.
pub static EFFECTS: &[&Effect] = &[
    &Effect::of::<Squash>(),
    &Effect::of::<Floppy>(),
    &Effect::of::<Followthrough>(),
    &Effect::of::<AccelerationDrag>(),
    &Effect::of::<CentrifugalStretch>(),
    &Effect::of::<CentrifugalLift>(),
    &Effect::of::<Wobble>(),
    &Effect::of::<Jerk>(),
];

pub(crate) use acceleration_drag::AccelerationDrag;
pub(crate) use centrifugal_lift::CentrifugalLift;
pub(crate) use centrifugal_stretch::{CentrifugalStretch, Throw};
pub(crate) use floppy::Floppy;
pub(crate) use followthrough::Followthrough;
pub(crate) use jerk::Jerk;
pub use layout::{TermKind, TermLayout};
pub use maker::{MakerKind, TermMaker};
pub(crate) use squash::{Squash, SquashTerm};
pub(crate) use swing::SwingTerm;
pub(crate) use wobble::Wobble;

use crate::graph::Kind;
use crate::motion::{DerivativeFilter, Filter, Oscillator, Signal, TimeFilter};
use crate::param::{LONGEST, ParamSpec, Values};
use crate::registry::Effect;
use crate::simd::{Limit, Simd, V3, f32x16};
use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3, Vec3};

/// The motion of one bone as an effect sees it at one frame: filtered with the effect's own γ, positions relative to
/// the character's origin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BoneInput {
    /// p_i.
    pub joint_origin: Vec3,
    /// c_i; equal to `joint_origin` for a bone that moves no skin.
    pub centroid: Vec3,
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
    /// Whether rotational squash acts about the centroid point instead of the medial axis.
    pub about_point: bool,
    /// Size L of the character; 1 for the papers' raw gains.
    pub size: f32,
}

impl BoneInput {
    /// A limit given in sizes; finite, however long and large.
    fn length_limit(&self, max: f32, soft: bool) -> Limit {
        Limit::new((max * self.size).min(f32::MAX), soft)
    }
}

/// Points as an effect sees them.
#[derive(Clone, Copy)]
pub(crate) struct At<S: Simd> {
    /// Skinned points.
    pub p: V3<S>,
    /// Global × painted gain, signed.
    pub gain: f32x16<S>,
}

/// A displacement with its derivatives.
#[derive(Clone, Copy)]
pub(crate) struct Psi<S: Simd> {
    /// ψ.
    pub d: V3<S>,
    /// Rows of ∂ψ/∂p.
    pub dp: [V3<S>; 3],
    /// ∂ψ/∂k, k the global × painted gain.
    pub dk: V3<S>,
}

impl<S: Simd> Psi<S> {
    /// No displacement.
    #[inline(always)]
    pub fn zero(simd: S) -> Self {
        let zero = V3::splat(simd, Vec3::ZERO);
        Self { d: zero, dp: [zero; 3], dk: zero }
    }

    /// The sum of two displacements.
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "an operator would hide that derivatives are added too")]
    pub fn add(self, o: Self) -> Self {
        Self {
            d: self.d.add(o.d),
            dp: [self.dp[0].add(o.dp[0]), self.dp[1].add(o.dp[1]), self.dp[2].add(o.dp[2])],
            dk: self.dk.add(o.dk),
        }
    }
}

/// One signal an effect reads, with the parameters that hold its filter's constants. The filtered vector stands in the
/// signal's own place in `BoneInput`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Through a low-pass filter.
    LowPass(Signal, &'static str),
    /// Its derivative, through a low-pass filter.
    Derivative(Signal, &'static str),
    /// What a damped oscillator makes of it: parameters of its frequency and damping.
    Oscillator(Signal, &'static str, &'static str),
}

impl Input {
    /// The signal read.
    pub fn signal(self) -> Signal {
        let (Self::LowPass(signal, _) | Self::Derivative(signal, _) | Self::Oscillator(signal, ..)) = self;
        signal
    }

    /// The parameters its filter depends on, which therefore cannot change over a clip.
    pub fn params(self) -> impl Iterator<Item = &'static str> {
        let (first, second) = match self {
            Self::LowPass(_, gamma) | Self::Derivative(_, gamma) => (gamma, None),
            Self::Oscillator(_, frequency, damping) => (frequency, Some(damping)),
        };
        std::iter::once(first).chain(second)
    }

    /// The filter for these values; `None` where there is nothing to filter.
    pub(crate) fn filter(self, values: &Values) -> Option<Filter> {
        match self {
            Self::LowPass(_, gamma) => {
                TimeFilter::new(values.number(gamma)).filter(|&filter| filter != TimeFilter::NONE).map(Filter::from)
            }
            Self::Derivative(_, gamma) => DerivativeFilter::new(values.number(gamma)).map(Filter::from),
            Self::Oscillator(_, frequency, damping) => {
                Oscillator::new(values.number(frequency), values.number(damping)).map(Filter::from)
            }
        }
    }
}

/// One effect of the velocity and acceleration families.
pub(crate) trait Displacement: Send + Sync + Sized + 'static {
    /// Name in recipes and on the command line.
    const NAME: &'static str;
    /// What it does, in one line.
    const ABOUT: &'static str;
    /// Its parameters.
    const PARAMS: &'static [ParamSpec];
    /// What of the motion it reads.
    const INPUTS: &'static [Input];
    /// Whether it acts along the normals of a cone alone, and so cannot do without one.
    const NEEDS_CONE: bool = false;
    /// Values of its paper's own form, where they are not the defaults; `None` for effects beyond the papers. Gains are
    /// raw there. Papers cut where they limit at all, and filter nothing in the formulas themselves.
    const PAPER: Option<&'static [(&'static str, f64)]> = None;

    /// Its kernel.
    type Term: Kind;

    /// From checked values.
    fn new(values: &Values) -> Self;

    /// What one bone does to the skin at a frame.
    fn term(&self, bone: &BoneInput) -> Self::Term;

    /// What [`Displacement::term`] goes by.
    fn maker(&self) -> TermMaker;
}

/// ψ of one bone at one frame: a pure function of the point and the gain, as plain numbers. Kinds are listed in
/// [`crate::graph`]'s `terms`.
pub(crate) trait Term: Pod + Send + Sync {
    /// The displacement, before the propagated weight.
    fn psi<S: Simd>(&self, simd: S, at: &At<S>) -> Psi<S>;

    /// The same as a shift and a rotation vector about a point, for effects whose rotations can be composed.
    #[inline(always)]
    fn split<S: Simd>(&self, simd: S, at: &At<S>) -> Split<S> {
        let zero = V3::splat(simd, Vec3::ZERO);
        Split { shift: self.psi(simd, at).d, spin: zero, arm: zero }
    }

    /// Takes out what is affine in the point where all points have this gain. Such parts of all bones and effects are
    /// summed once per frame, and cost a point no more than skinning does.
    fn take_affine(&mut self, gain: f32) -> Affine {
        let _ = gain;
        Affine::ZERO
    }

    /// Whether it moves nothing.
    fn is_still(&self) -> bool;
}

/// A displacement as a shift and a turn.
#[derive(Clone, Copy)]
pub(crate) struct Split<S: Simd> {
    /// Moved by.
    pub shift: V3<S>,
    /// Turned by this rotation vector…
    pub spin: V3<S>,
    /// …about what lies this far away: the point relative to the axis.
    pub arm: V3<S>,
}

/// No limit on a length.
const UNLIMITED: (&str, f64) = ("max_length", LONGEST);
/// A limit that cuts.
const HARD: (&str, f64) = ("soft", 0.0);

/// `d = matrix·p + shift`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct Affine {
    /// Linear part.
    pub matrix: DMat3,
    /// The rest.
    pub shift: DVec3,
}

impl Affine {
    /// Moves nothing.
    pub const ZERO: Self = Self { matrix: DMat3::ZERO, shift: DVec3::ZERO };
}
