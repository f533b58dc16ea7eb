//! The volume term b of fold-over-free skinning: the curl that gives joints back the volume they displace.
//!
//! Source: KD 4.2, as [`super::fold_over_free`] sums it, each joint met once. Where a joint bends far there is
//! no room for the volume it displaces: beyond [`FULL_VOLUME`] its part of b is reduced, to [`LEAST_VOLUME`] at a half turn.
//! Oracle: the divergence of the whole (tests.rs).

use super::real::{Real, Wide3, load, rounded, splat, store};
use super::tissue::{Limb, Value};
use crate::simd::{Simd, prelude::*};
use glam::DVec3;
use std::ops::Range;

/// Angle in radians up to which volume is kept whole.
const FULL_VOLUME: f64 = 1.75;
/// What is left of the volume term at a half turn.
const LEAST_VOLUME: f64 = 0.25;
/// A joint that moves by less, in sizes, is at rest; one that slides by less turns about its origin.
pub(super) const STILL: f64 = 1e-13;

/// A part of the volume term that is summed over limbs by one share for each: all of it where α and β are the same
/// everywhere, else one for α and one for β.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// Per line; none where all have a share of 1.
    pub shares: Option<Vec<f64>>,
    pub turn: f64,
    pub sink: f64,
    pub slide: f64,
}

impl Pass {
    pub fn all(limbs: &[Limb]) -> Vec<Self> {
        let Some(&Limb { alpha, beta, .. }) = limbs.first() else { return Vec::new() };
        if limbs.iter().all(|limb| limb.alpha == alpha && limb.beta == beta) {
            let slide = alpha + beta;
            return if slide == 0.0 { Vec::new() } else { vec![Self { shares: None, turn: alpha, sink: beta, slide }] };
        }
        let lines = limbs.iter().flat_map(|limb| std::iter::repeat_n(limb, limb.lines()));
        let (alphas, betas) = lines.map(|limb| (limb.alpha, limb.beta)).unzip();
        vec![
            Self { shares: Some(alphas), turn: 1.0, sink: 0.0, slide: 1.0 },
            Self { shares: Some(betas), turn: 0.0, sink: 1.0, slide: 1.0 },
        ]
    }
}

/// How a joint hands what it carries to its parent, from the last joint to the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Branch {
    /// Takes from its one child, adds its own, and hands on: as in the middle of a chain.
    pub plain: bool,
    /// Those of its limb.
    pub lines: Range<usize>,
    /// The joint after it is its child, and hands over directly.
    pub chained: bool,
    /// Other children have left what they carry.
    pub gathers: bool,
    pub to: Handing,
}

/// To whom a joint hands what it carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Handing {
    #[default]
    Nobody,
    /// The joint before it.
    Directly,
    /// A parent farther up, as the first of those who leave something there.
    First(usize),
    Another(usize),
}

/// What a joint does at one place of the way: the potential A of its field, about its own origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointField<T> {
    origin: [T; 3],
    axis: [T; 3],
    /// Of `(q·n) q`, `(q·n)² n` and `‖q‖² n`.
    turn: T,
    along: T,
    around: T,
    /// `½(α+β) v_o`; a plain hinge does not slide.
    slide: Option<[T; 3]>,
}

impl<T: Real> JointField<T> {
    pub fn new(pass: &Pass, origin: DVec3, angular: DVec3, velocity: DVec3) -> Self {
        let (turn, sink) = (pass.turn * angular.length(), 0.5 * pass.sink * angular.length());
        Self {
            origin: rounded(origin),
            axis: rounded(angular.normalize_or_zero()),
            turn: T::of(turn),
            along: T::of(sink - turn),
            around: T::of(-sink),
            slide: (velocity.length() > STILL).then(|| rounded(velocity * (0.5 * pass.slide))),
        }
    }

    /// A at `p`: `turn·(q·n)q_⊥ − ½sink·‖q_⊥‖² n + ½slide·v_o×q`, by powers of q.
    #[inline(always)]
    fn potential<S: Simd>(&self, simd: S, p: Wide3<S, T>) -> Wide3<S, T> {
        let (q, axis) = (p.sub(Wide3::splat(simd, self.origin)), Wide3::<S, T>::splat(simd, self.axis));
        let along = q.dot(axis);
        let on_axis = q.dot(q) * splat::<S, T>(simd, self.around);
        let on_axis = (along * splat::<S, T>(simd, self.along)).mul_add(along, on_axis);
        let potential = axis.mul_add(on_axis, q.scale(along * splat::<S, T>(simd, self.turn)));
        match self.slide {
            None => potential,
            Some(slide) => Wide3::splat(simd, slide).cross_add(q, potential),
        }
    }
}

/// What the volume term is made of: `Σ_j s_j × A_j`, `Σ_j m_j A_j` and ∇M.
pub(super) struct Volume<S: Simd, T: Real> {
    pub turned: Wide3<S, T>,
    pub weighted: Wide3<S, T>,
    pub whole: Wide3<S, T>,
}

/// One pass over the joints, each with what it carries. What the first joints carry is all there is.
#[inline(always)]
pub(super) fn volume<S: Simd, T: Real>(
    simd: S,
    branches: &[Branch],
    fields: &[Option<JointField<T>>],
    p: Wide3<S, T>,
    values: &[Value<T>],
    at: usize,
    carried: &mut [Value<T>],
) -> Volume<S, T> {
    let zero = Wide3::<S, T>::zero(simd);
    let mut sums = Volume { turned: zero, weighted: zero, whole: zero };
    let (mut gradient, mut m) = (zero, zero.x);
    for (j, (branch, field)) in branches.iter().zip(fields).enumerate().rev() {
        if !branch.plain {
            if !branch.chained {
                (gradient, m) = (zero, zero.x);
            }
            if branch.gathers {
                let left = &carried[j];
                gradient = gradient.add(Wide3::load(simd, &left.gradient, at));
                m += load::<S, T>(simd, &left.m, at);
            }
        }
        for own in &values[branch.lines.clone()] {
            gradient = gradient.add(Wide3::load(simd, &own.gradient, at));
            m += load::<S, T>(simd, &own.m, at);
        }
        if let Some(field) = field {
            let potential = field.potential(simd, p);
            sums.turned = gradient.cross_add(potential, sums.turned);
            sums.weighted = potential.mul_add(m, sums.weighted);
        }
        if branch.plain {
            continue;
        }
        match branch.to {
            Handing::Nobody => sums.whole = sums.whole.add(gradient),
            Handing::Directly => {}
            Handing::First(parent) => {
                gradient.store(&mut carried[parent].gradient, at);
                store::<S, T>(m, &mut carried[parent].m, at);
            }
            Handing::Another(parent) => {
                let left = &mut carried[parent];
                gradient.add(Wide3::load(simd, &left.gradient, at)).store(&mut left.gradient, at);
                store::<S, T>(m + load::<S, T>(simd, &left.m, at), &mut left.m, at);
            }
        }
    }
    sums
}

/// The limbs with their shares, and ∇M without.
#[inline(always)]
pub(super) fn share_out<S: Simd, T: Real>(
    simd: S,
    shares: &[f64],
    values: &[Value<T>],
    at: usize,
    shared: &mut [Value<T>],
) -> Wide3<S, T> {
    let mut whole = Wide3::<S, T>::zero(simd);
    for ((value, shared), &share) in values.iter().zip(shared).zip(shares) {
        let (gradient, share) = (Wide3::load(simd, &value.gradient, at), splat::<S, T>(simd, T::of(share)));
        whole = whole.add(gradient);
        gradient.scale(share).store(&mut shared.gradient, at);
        store::<S, T>(load::<S, T>(simd, &value.m, at) * share, &mut shared.m, at);
    }
    whole
}

/// Share of the volume term for a joint that turns by `angle`.
pub(super) fn volume_share(angle: f64) -> f64 {
    let beyond = ((angle - FULL_VOLUME) / (std::f64::consts::PI - FULL_VOLUME)).clamp(0.0, 1.0);
    let smooth = beyond * beyond * (3.0 - 2.0 * beyond);
    1.0 - (1.0 - LEAST_VOLUME) * smooth
}
