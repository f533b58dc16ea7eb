//! Weights as analytic functions of the rest position.
//!
//! *Claims.* Bones form a tree, and what is modelled is the propagated weight `w̃_i`: the share of a point that bone i
//! and everything below it moves. A bone claims the part `m_i(p) ∈ [0,1]` of what reached its parent. Where siblings
//! overlap, what they leave to the parent is `Π (1 − m_c)` and the rest is divided in proportion to the claims:
//!
//! ```text
//! w̃_root = 1,   w̃_c = w̃_parent · m_c · (1 − Π(1 − m)) / Σ m,   w_i = w̃_i − Σ_children w̃_c
//! ```
//!
//! So weights are non-negative and sum to 1 wherever the claims are. A claim is a product of factors, each a cubic
//! step `3t² − 2t³` of a smooth function with compact support: the field is C1, exactly 0 away from the joint's
//! surroundings, and nothing needs pruning.
//!
//! *Spline.* Along a straight chain, a uniform B-spline of degree `influences − 1` over the bone parameter, with the
//! functions beyond either end added to the end bones: C2 for four influences, C1 for three.
//!
//! Oracle: sum 1, and differences that stay bounded when halved (`tests/characters.rs`).

use glam::DVec3;

/// Weights of all bones of a character as a function of the rest position.
#[derive(Clone, Debug)]
pub struct WeightField(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Claims(Vec<Claim>),
    Spline(Spline),
}

/// What one bone takes of its parent's share.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub parent: Option<usize>,
    pub factors: Vec<Factor>,
}

/// One factor of a claim.
#[derive(Clone, Debug)]
pub(crate) enum Factor {
    /// From 0 to 1 across the plane through `origin`, along the unit vector `along`, over `half_width` on each side.
    Past { origin: DVec3, along: DVec3, half_width: f64 },
    /// 1 within `inner` of the segment, 0 beyond `outer`.
    Near { segment: [DVec3; 2], inner: f64, outer: f64 },
    /// `1 − Π (1 − f)`: 1 where any factor is. Unlike the largest of them it has no creases.
    Any(Vec<Factor>),
}

/// B-spline weights along the segment from the origin to `(0, length, 0)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spline {
    pub bones: usize,
    pub length: f64,
    /// 1 to 4.
    pub influences: usize,
}

/// The cubic step from 0 to 1 over `t` ∈ [0, 1].
fn smooth_step(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The point of a segment nearest to `p`.
fn nearest_on_segment(p: DVec3, [a, b]: [DVec3; 2]) -> DVec3 {
    let ab = b - a;
    let along = if ab == DVec3::ZERO { 0.0 } else { ((p - a).dot(ab) / ab.length_squared()).clamp(0.0, 1.0) };
    a + ab * along
}

impl Factor {
    fn value(&self, p: DVec3) -> f64 {
        match self {
            Self::Past { origin, along, half_width } => smooth_step(0.5 + 0.5 * (p - *origin).dot(*along) / half_width),
            Self::Near { segment, inner, outer } => {
                1.0 - smooth_step((p.distance(nearest_on_segment(p, *segment)) - inner) / (outer - inner))
            }
            Self::Any(factors) => 1.0 - factors.iter().map(|factor| 1.0 - factor.value(p)).product::<f64>(),
        }
    }
}

impl WeightField {
    /// Bones in an order where parents come first; exactly the first is the root and its factors are not read.
    pub(crate) fn from_claims(claims: Vec<Claim>) -> Self {
        debug_assert!(claims.iter().enumerate().all(|(bone, c)| c.parent.map_or(bone == 0, |parent| parent < bone)));
        Self(Kind::Claims(claims))
    }

    /// Along a tube.
    pub(crate) fn from_spline(spline: Spline) -> Self {
        Self(Kind::Spline(spline))
    }

    /// The bones that move the rest position `p`, in palette order, with their weights: positive, summing to 1.
    pub fn at(&self, p: DVec3) -> Vec<(usize, f64)> {
        match &self.0 {
            Kind::Claims(claims) => claimed_weights(claims, p),
            Kind::Spline(spline) => spline.weights(p.y),
        }
    }
}

fn claimed_weights(claims: &[Claim], p: DVec3) -> Vec<(usize, f64)> {
    let mut claimed = vec![0.0; claims.len()];
    let mut left = vec![1.0; claims.len()];
    let mut sum = vec![0.0; claims.len()];
    for (bone, claim) in claims.iter().enumerate() {
        if let Some(parent) = claim.parent {
            let m: f64 = claim.factors.iter().map(|factor| factor.value(p)).product();
            claimed[bone] = m;
            left[parent] *= 1.0 - m;
            sum[parent] += m;
        }
    }
    let mut propagated = vec![1.0; claims.len()];
    let mut weights = Vec::with_capacity(4);
    for (bone, claim) in claims.iter().enumerate() {
        if let Some(parent) = claim.parent {
            propagated[bone] = if claimed[bone] > 0.0 {
                propagated[parent] * claimed[bone] * (1.0 - left[parent]) / sum[parent]
            } else {
                0.0
            };
        }
        let own = propagated[bone] * left[bone];
        if own > 0.0 {
            weights.push((bone, own));
        }
    }
    weights
}

impl Spline {
    /// Weights at height `y`.
    pub(crate) fn weights(&self, y: f64) -> Vec<(usize, f64)> {
        let last = self.bones - 1;
        let degree = self.influences - 1;
        // Basis function j is centred on the middle of bone j.
        let u = (y / self.length).clamp(0.0, 1.0) * self.bones as f64 - 0.5 + 0.5 * (degree + 1) as f64;
        let knot = u.floor();
        let mut weights: Vec<(usize, f64)> = Vec::with_capacity(self.influences);
        for (k, value) in b_spline(degree, u - knot).into_iter().enumerate().take(self.influences) {
            // `knot` ≤ bones + 2: a small non-negative integer.
            let bone = (knot as usize + k).saturating_sub(degree).min(last);
            match weights.last_mut() {
                Some((previous, sum)) if *previous == bone => *sum += value,
                _ => weights.push((bone, value)),
            }
        }
        weights.retain(|&(_, value)| value > 0.0);
        weights
    }
}

/// The `degree + 1` uniform B-spline functions that are not zero at fraction `s` of a knot interval, oldest first.
fn b_spline(degree: usize, s: f64) -> [f64; 4] {
    let mut basis = [1.0, 0.0, 0.0, 0.0];
    // Cox–de Boor on integer knots.
    for d in 1..=degree {
        let mut next = [0.0; 4];
        for k in 0..d {
            let rising = (s + (d - 1 - k) as f64) / d as f64;
            next[k] += basis[k] * (1.0 - rising);
            next[k + 1] += basis[k] * rising;
        }
        basis = next;
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubic_basis_is_the_textbook_one() {
        for step in 0..=10 {
            let s = f64::from(step) / 10.0;
            let expected = [
                (1.0 - s).powi(3),
                3.0 * s.powi(3) - 6.0 * s * s + 4.0,
                -3.0 * s.powi(3) + 3.0 * s * s + 3.0 * s + 1.0,
                s.powi(3),
            ];
            for (value, expected) in b_spline(3, s).into_iter().zip(expected) {
                assert!((value - expected / 6.0).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn spline_weights_are_a_partition_and_mirror() {
        for influences in 1..=4 {
            for bones in [1, 2, 3, 4, 12, 64] {
                let spline = Spline { bones, length: 2.0, influences };
                for step in 0..=1000 {
                    // Off the knots: a rigid spline has two sides there.
                    let y = 2.0 * (f64::from(step) + 0.37) / 1001.0;
                    let weights = spline.weights(y);
                    assert!(weights.len() <= influences);
                    assert!((weights.iter().map(|w| w.1).sum::<f64>() - 1.0).abs() < 1e-14);
                    let mirrored = spline.weights(2.0 - y);
                    for (a, b) in weights.iter().zip(mirrored.iter().rev()) {
                        assert_eq!(a.0, bones - 1 - b.0);
                        assert!((a.1 - b.1).abs() < 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn overlapping_claims_share_and_sum_to_one() {
        let half = |x: f64| Claim {
            parent: Some(0),
            factors: vec![Factor::Past { origin: DVec3::X * x, along: -DVec3::X * x.signum(), half_width: 1.0 }],
        };
        let field = WeightField::from_claims(vec![Claim { parent: None, factors: vec![] }, half(0.25), half(-0.25)]);
        let weights = field.at(DVec3::ZERO);
        assert_eq!(weights.len(), 3);
        assert_eq!(weights[1].1, weights[2].1);
        assert!((weights.iter().map(|w| w.1).sum::<f64>() - 1.0).abs() < 1e-15);
        assert_eq!(field.at(DVec3::X * 9.0), vec![(2, 1.0)]);
    }
}
