//! Weights in space: what of a limb a point belongs to, wherever it is.
//!
//! Source: KD 4.3, METHODS 6. Each limb i has primitives in its own bind space, `M_i(x) = Σ` over them, and at a pose
//! `m_i(p) = M_i(L_Bi L_i⁻¹ p)`, `w_i = m_i/Σm`, `∇w_i = (∇m_i − w_i Σ∇m_k)/Σm`: the gradient of the same w.
//! The *line* of a limb is its default, `M = ((d/R)² + 0.36)⁻²`, d the distance to a segment and R the limb's radius:
//! METHODS' `(d²+ε²)⁻²` with ε = 0.6 R, in units of R⁻⁴, without which a thin arm would own the flank of a thick belly.
//! Tissue and bone add to the line, which is their floor: Σm never vanishes and ∇w stays bounded.
//! Oracle: gradients by central differences; weights sum to 1, gradients to 0.

use glam::{DAffine3, DMat3, DVec3};

/// ε² in limb radii.
const SOFTNESS: f64 = 0.36;

/// A part of a limb's weight, in bind space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Primitive {
    /// The limb's own line: everywhere, falling with the fourth power of the distance.
    Line { from: DVec3, to: DVec3, radius: f64 },
    /// `(d² − 1)²` inside an ellipsoid, given by what makes it the unit ball.
    Tissue { ball_from_bind: DAffine3 },
    /// 1 inside a capsule, falling smoothly to 0 over a third of its radius.
    Bone { from: DVec3, to: DVec3, radius: f64 },
}

/// A transform this close to a rotation and one scale is that.
const SIMILAR: f64 = 1e-12;
/// Width of the fall-off of bone, in radii.
const BONE_SKIN: f64 = 1.0 / 3.0;

impl Primitive {
    /// Value and gradient.
    fn at(&self, x: DVec3) -> (f64, DVec3) {
        match *self {
            Self::Line { from, to, radius } => {
                let away = x - closest(from, to, x);
                let per_square = 1.0 / (radius * radius);
                let inverse = 1.0 / (away.length_squared() * per_square + SOFTNESS);
                let value = inverse * inverse;
                (value, away * (-4.0 * value * inverse * per_square))
            }
            Self::Tissue { ball_from_bind } => {
                let d = ball_from_bind.transform_point3(x);
                let inside = 1.0 - d.length_squared();
                if inside > 0.0 {
                    (inside * inside, ball_from_bind.matrix3.transpose() * d * (-4.0 * inside))
                } else {
                    (0.0, DVec3::ZERO)
                }
            }
            Self::Bone { from, to, radius } => {
                let away = x - closest(from, to, x);
                let distance = away.length();
                let outside = (distance / radius - 1.0) / BONE_SKIN;
                if outside <= 0.0 {
                    (1.0, DVec3::ZERO)
                } else if outside < 1.0 {
                    let rest = 1.0 - outside * outside;
                    (rest * rest, away * (-4.0 * rest * outside / (BONE_SKIN * radius * distance)))
                } else {
                    (0.0, DVec3::ZERO)
                }
            }
        }
    }
}

/// The point of a segment that is nearest to `x`.
fn closest(from: DVec3, to: DVec3, x: DVec3) -> DVec3 {
    let line = to - from;
    let along = ((x - from).dot(line) / line.length_squared()).clamp(0.0, 1.0);
    // A segment without length: 0/0.
    if along.is_nan() { from } else { from + line * along }
}

/// What follows one joint: its weight in space.
#[derive(Clone, Debug)]
pub(crate) struct Limb {
    /// Index of its joint.
    pub joint: usize,
    /// Of the volume term: along the axis and across it.
    pub alpha: f64,
    pub beta: f64,
    primitives: Vec<Primitive>,
}

impl Limb {
    /// A limb of lines alone; segments are in bind space. None without a positive radius or a line.
    pub fn new(joint: usize, lines: &[(DVec3, DVec3)], radius: f64) -> Option<Self> {
        let sound = radius > 0.0 && radius.is_finite() && lines.iter().all(|(a, b)| a.is_finite() && b.is_finite());
        let line = |&(from, to): &(DVec3, DVec3)| Primitive::Line { from, to, radius };
        (sound && !lines.is_empty()).then(|| Self {
            joint,
            alpha: 0.0,
            beta: 0.0,
            primitives: lines.iter().map(line).collect(),
        })
    }

    /// With other shares of the volume term.
    pub fn with_volume(self, alpha: f64, beta: f64) -> Self {
        Self { alpha, beta, ..self }
    }

    /// Adds tissue or bone.
    pub fn add(&mut self, primitive: Primitive) {
        self.primitives.push(primitive);
    }
}

/// A line where a limb has carried it.
#[derive(Clone, Copy, Debug)]
struct PosedLine {
    limb: usize,
    from: DVec3,
    line: DVec3,
    per_length_squared: f64,
    per_radius_squared: f64,
}

impl PosedLine {
    /// As [`Primitive::at`].
    #[inline]
    fn at(&self, p: DVec3) -> (f64, DVec3) {
        let from = p - self.from;
        let along = (from.dot(self.line) * self.per_length_squared).clamp(0.0, 1.0);
        let away = from - self.line * along;
        let inverse = 1.0 / (away.length_squared() * self.per_radius_squared + SOFTNESS);
        let value = inverse * inverse;
        (value, away * (-4.0 * value * inverse * self.per_radius_squared))
    }
}

/// All limbs at one place of the way. Lines that a limb carries without bending their shape, as nearly all do, are kept
/// where they are; everything else is looked at from the limb's bind space.
#[derive(Clone, Debug, Default)]
pub(crate) struct PosedLimbs {
    count: usize,
    lines: Vec<PosedLine>,
    others: Vec<(usize, DAffine3, Primitive)>,
}

impl PosedLimbs {
    /// `bind_from_here[i]` takes limb i back to its bind space.
    pub fn new(limbs: &[Limb], bind_from_here: &[DAffine3]) -> Self {
        let mut posed = Self { count: limbs.len(), ..Self::default() };
        for (limb, (own, back)) in limbs.iter().zip(bind_from_here).enumerate() {
            let here = back.inverse();
            let scale = back.matrix3.x_axis.length_squared();
            let gram = back.matrix3.transpose() * back.matrix3 - DMat3::from_diagonal(DVec3::splat(scale));
            let similar = gram.to_cols_array().iter().all(|entry| entry.abs() <= SIMILAR * scale) && here.is_finite();
            for primitive in &own.primitives {
                match *primitive {
                    Primitive::Line { from, to, radius } if similar => {
                        let (from, to) = (here.transform_point3(from), here.transform_point3(to));
                        let line = to - from;
                        let per_length_squared = 1.0 / line.length_squared();
                        let has_length = per_length_squared.is_finite();
                        posed.lines.push(PosedLine {
                            limb,
                            from,
                            line,
                            per_length_squared: if has_length { per_length_squared } else { 0.0 },
                            per_radius_squared: scale / (radius * radius),
                        });
                    }
                    _ => posed.others.push((limb, *back, primitive.clone())),
                }
            }
        }
        posed
    }
}

/// Weights of all limbs at one point, and their gradients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights {
    pub w: Vec<f64>,
    pub gradients: Vec<DVec3>,
}

impl Weights {
    /// At `p`.
    pub fn evaluate(&mut self, limbs: &PosedLimbs, p: DVec3, with_gradients: bool) {
        self.w.clear();
        self.w.resize(limbs.count, 0.0);
        self.gradients.clear();
        self.gradients.resize(if with_gradients { limbs.count } else { 0 }, DVec3::ZERO);
        let (mut total, mut total_gradient) = (0.0, DVec3::ZERO);
        let mut add = |limb: usize, (value, gradient): (f64, DVec3)| {
            total += value;
            self.w[limb] += value;
            if with_gradients {
                total_gradient += gradient;
                self.gradients[limb] += gradient;
            }
        };
        for line in &limbs.lines {
            add(line.limb, line.at(p));
        }
        for (limb, back, primitive) in &limbs.others {
            let (value, gradient) = primitive.at(back.transform_point3(p));
            add(*limb, (value, back.matrix3.transpose() * gradient));
        }
        let per_total = if total > 0.0 { 1.0 / total } else { 0.0 };
        for w in &mut self.w {
            *w *= per_total;
        }
        for (gradient, &w) in self.gradients.iter_mut().zip(&self.w) {
            *gradient = (*gradient - total_gradient * w) * per_total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn limbs() -> Vec<Limb> {
        let mut a = Limb::new(0, &[(DVec3::ZERO, DVec3::Y * 2.0)], 0.5).unwrap();
        let b = Limb::new(1, &[(DVec3::Y * 2.0, DVec3::Y * 4.0), (DVec3::Y * 2.0, DVec3::X)], 0.4).unwrap();
        let ball = DAffine3::from_scale_rotation_translation(
            DVec3::new(0.8, 1.6, 0.7),
            DQuat::from_rotation_z(0.3),
            DVec3::new(0.1, 1.0, 0.0),
        );
        a.add(Primitive::Tissue { ball_from_bind: ball.inverse() });
        a.add(Primitive::Bone { from: DVec3::Y * 0.2, to: DVec3::Y * 1.8, radius: 0.3 });
        vec![a, b]
    }

    #[test]
    fn gradients_are_those_of_the_weights() {
        let limbs = limbs();
        let back = [
            DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.4), DVec3::new(0.0, 0.1, 0.2)),
            DAffine3::from_scale_rotation_translation(DVec3::splat(0.8), DQuat::from_rotation_z(-0.9), DVec3::X),
        ];
        let posed = PosedLimbs::new(&limbs, &back);
        let (mut here, mut there) = (Weights::default(), Weights::default());
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64 * 4.0 - 1.0
        };
        for _ in 0..300 {
            let p = DVec3::new(random() - 1.0, random(), random() - 1.0);
            here.evaluate(&posed, p, true);
            assert!((here.w.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let largest = here.gradients.iter().map(|g| g.length()).fold(0.0, f64::max);
            assert!(here.gradients.iter().sum::<DVec3>().length() <= 1e-13 * (1.0 + largest));
            for axis in DVec3::AXES {
                let h = 1e-6;
                for limb in 0..2 {
                    there.evaluate(&posed, p + axis * h, false);
                    let after = there.w[limb];
                    there.evaluate(&posed, p - axis * h, false);
                    let difference = (after - there.w[limb]) / (2.0 * h);
                    let exact = here.gradients[limb].dot(axis);
                    // Second derivatives jump at the borders of tissue and bone.
                    assert!((difference - exact).abs() < 1e-4 * (1.0 + largest), "{p}: {difference} {exact}");
                }
            }
        }
    }

    #[test]
    fn lines_kept_in_place_are_those_seen_from_bind_space() {
        let limb = vec![Limb::new(0, &[(DVec3::ZERO, DVec3::Y * 2.0)], 0.5).unwrap()];
        let back = DAffine3::from_scale_rotation_translation(DVec3::splat(0.8), DQuat::from_rotation_z(-0.9), DVec3::X);
        let posed = PosedLimbs::new(&limb, &[back]);
        assert_eq!((posed.lines.len(), posed.others.len()), (1, 0));
        for p in [DVec3::new(0.3, 1.0, 0.2), DVec3::new(-2.0, 3.0, 0.1), DVec3::splat(-1.5)] {
            let (value, gradient) = limb[0].primitives[0].at(back.transform_point3(p));
            let (kept, kept_gradient) = posed.lines[0].at(p);
            assert!((value - kept).abs() < 1e-14 * value);
            assert!((back.matrix3.transpose() * gradient - kept_gradient).length() < 1e-13 * gradient.length());
        }
        let sheared = PosedLimbs::new(&limb, &[DAffine3::from_scale(DVec3::new(1.0, 1.1, 1.0))]);
        assert_eq!((sheared.lines.len(), sheared.others.len()), (0, 1));
    }

    #[test]
    fn weights_do_not_depend_on_the_unit() {
        let (mut small, mut large) = (Weights::default(), Weights::default());
        let limb = |k: f64| {
            let mut limb = Limb::new(0, &[(DVec3::ZERO, DVec3::Y * k)], 0.2 * k).unwrap();
            limb.add(Primitive::Bone { from: DVec3::ZERO, to: DVec3::Y * k, radius: 0.1 * k });
            vec![limb, Limb::new(1, &[(DVec3::Y * k, DVec3::Y * (2.0 * k))], 0.2 * k).unwrap()]
        };
        let still = [DAffine3::IDENTITY; 2];
        for p in [DVec3::new(0.11, 0.9, 0.0), DVec3::new(0.05, 1.4, 0.3), DVec3::new(3.0, 9.0, 1.0)] {
            small.evaluate(&PosedLimbs::new(&limb(1.0), &still), p, true);
            large.evaluate(&PosedLimbs::new(&limb(128.0), &still), p * 128.0, true);
            assert!((small.w[0] - large.w[0]).abs() < 1e-14);
            assert!((small.gradients[0] - large.gradients[0] * 128.0).length() < 1e-12);
        }
        assert!(Limb::new(0, &[(DVec3::ZERO, DVec3::Y)], 0.0).is_none());
    }
}
