//! Weights in space: what of a limb a point belongs to, wherever it is.
//!
//! Source: KD 4.3. Each limb i has primitives in its own bind space, `M_i(x) = Σ` over them, and at a pose `m_i(p) =
//! M_i(L_Bi L_i⁻¹ p)`, `w_i = m_i/Σm`, `∇w_i = (∇m_i − w_i Σ∇m_k)/Σm`: the gradient of the same w. The *line* of a limb
//! is its default, `M = ((d/R)² + ε²)⁻ⁿ`, d the distance to a segment and R the limb's radius, without which a thin arm
//! would own the flank of a thick belly. [`Fall`] says how fast it falls. Tissue and bone add to the line, which is
//! their floor: Σm never vanishes and ∇w stays bounded. Each point multiplies a limb by the share it feels of it
//! ([`Felt`]), which it carries along from the bind pose.
//! Oracle: gradients by central differences; weights sum to 1, gradients to 0.

use super::reach::Felt;
use super::real::{Kernel, PointsOf, Real, Row, Unit, Wide3, lane, load, rounded, splat, store};
use crate::simd::{LANES, Level, Simd, prelude::*};
use glam::{DAffine3, DMat3, DVec3};

/// How the weight of a limb's lines falls with the distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fall {
    /// `((d/R)² + 0.36)⁻²`: skin two radii from a joint still lags by a sixteenth of the bend. The smoothest bends.
    #[default]
    Wide,
    /// `((d/R)² + 1)⁻⁴`: a fortieth. Of thick bodies with thin limbs wide lines make knobs of shoulders, and breeches
    /// of legs.
    Narrow,
}

impl Fall {
    /// ε².
    fn softness(self) -> f64 {
        match self {
            Self::Wide => 0.36,
            Self::Narrow => 1.0,
        }
    }

    /// n.
    fn power(self) -> i32 {
        match self {
            Self::Wide => 2,
            Self::Narrow => 4,
        }
    }
}

/// A part of a limb's weight, in bind space.
#[derive(Clone, Debug)]
pub(crate) enum Primitive {
    /// The limb's own line: everywhere.
    Line { from: DVec3, to: DVec3, radius: f64, fall: Fall },
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
        match self {
            &Self::Line { from, to, radius, fall } => {
                let away = x - closest(from, to, x);
                let per_square = 1.0 / (radius * radius);
                let inverse = 1.0 / (away.length_squared() * per_square + fall.softness());
                let value = inverse.powi(fall.power());
                (value, away * (-2.0 * f64::from(fall.power()) * value * inverse * per_square))
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
            &Self::Bone { from, to, radius } => {
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
    /// A limb of wide lines alone.
    #[cfg(test)]
    pub fn new(joint: usize, lines: &[(DVec3, DVec3)], radius: f64) -> Option<Self> {
        Self::with_lines(joint, lines, radius, Fall::Wide)
    }

    /// A limb of lines alone; segments are in bind space. None without a positive radius or a line.
    pub fn with_lines(joint: usize, lines: &[(DVec3, DVec3)], radius: f64, fall: Fall) -> Option<Self> {
        let sound = radius > 0.0 && radius.is_finite() && lines.iter().all(|(a, b)| a.is_finite() && b.is_finite());
        let line = |&(from, to): &(DVec3, DVec3)| Primitive::Line { from, to, radius, fall };
        (sound && !lines.is_empty()).then(|| Self {
            joint,
            alpha: 0.0,
            beta: 0.0,
            primitives: lines.iter().map(line).collect(),
        })
    }

    /// The ends of its lines.
    pub fn ends(&self) -> impl Iterator<Item = DVec3> {
        let ends = |primitive: &Primitive| match *primitive {
            Primitive::Line { from, to, .. } => Some([from, to]),
            _ => None,
        };
        self.primitives.iter().filter_map(ends).flatten()
    }

    /// How many lines it has: at least one.
    pub fn lines(&self) -> usize {
        self.primitives.iter().filter(|primitive| matches!(primitive, Primitive::Line { .. })).count()
    }

    /// How its lines fall.
    fn fall(&self) -> Fall {
        let fall = |primitive: &Primitive| match *primitive {
            Primitive::Line { fall, .. } => Some(fall),
            _ => None,
        };
        self.primitives.iter().find_map(fall).unwrap_or_default()
    }

    /// Radius of its lines.
    pub fn radius(&self) -> f64 {
        let radius = |primitive: &Primitive| match *primitive {
            Primitive::Line { radius, .. } => radius,
            _ => 0.0,
        };
        self.primitives.iter().map(radius).fold(0.0, f64::max)
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
struct PosedLine<T> {
    from: [T; 3],
    line: [T; 3],
    /// The line over the square of its length: of what is on it, how far along; zero for a line without length.
    share: [T; 3],
    /// `R⁻²`, what is added, and the factor of the slope.
    per_square: T,
    softness: T,
    fall: T,
}

impl<T: Real> PosedLine<T> {
    /// A line that is 0 everywhere.
    fn nowhere() -> Self {
        let (zero, none) = (T::default(), [T::default(); 3]);
        let softness = T::of(f64::INFINITY);
        Self { from: none, line: none, share: none, per_square: zero, softness, fall: zero }
    }
}

/// Something else than a line that keeps its shape: seen from the limb's bind space.
#[derive(Clone, Copy, Debug)]
struct Other {
    limb: usize,
    /// The first of its limb.
    line: usize,
    primitive: usize,
    bind_from_unit: DAffine3,
}

/// All limbs at one place of the way, in coordinates of a [`Unit`]. Lines that a limb carries without bending their
/// shape, as nearly all do, are kept where they are; everything else is looked at from the limb's bind space.
#[derive(Clone, Debug, Default)]
pub(crate) struct PosedLimbs<T> {
    /// Of all limbs alike.
    fall: Fall,
    /// Limb by limb; those that are looked at from elsewhere are 0 everywhere.
    lines: Vec<PosedLine<T>>,
    others: Vec<Other>,
}

/// What a line is at some points, the first of a limb with what is no line: m and ∇m, not yet divided by their sums.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Value<T> {
    pub m: Row<T>,
    pub gradient: PointsOf<T>,
}

impl<T: Real> PosedLimbs<T> {
    /// `bind_from_here` takes each limb back to its bind space. Memory is reused.
    pub fn set(&mut self, limbs: &[Limb], unit: &Unit, bind_from_here: impl Iterator<Item = DAffine3>) {
        self.lines.clear();
        self.others.clear();
        self.fall = limbs.first().map_or(Fall::Wide, Limb::fall);
        for (limb, (own, back)) in limbs.iter().zip(bind_from_here).enumerate() {
            let here = back.inverse();
            let scale = back.matrix3.x_axis.length_squared();
            let gram = back.matrix3.transpose() * back.matrix3 - DMat3::from_diagonal(DVec3::splat(scale));
            let similar = gram.to_cols_array().iter().all(|entry| entry.abs() <= SIMILAR * scale) && here.is_finite();
            let line = self.lines.len();
            for (index, primitive) in own.primitives.iter().enumerate() {
                match *primitive {
                    Primitive::Line { from, to, radius, fall } if similar => {
                        let [from, to] = [from, to].map(|end| unit.point(here.transform_point3(end)));
                        let line = to - from;
                        let share = line / line.length_squared();
                        let per_square = unit.per_square(scale / (radius * radius));
                        self.lines.push(PosedLine {
                            from: rounded(from),
                            line: rounded(line),
                            share: rounded(if share.is_finite() { share } else { DVec3::ZERO }),
                            per_square: T::of(per_square),
                            softness: T::of(fall.softness()),
                            fall: T::of(-2.0 * f64::from(fall.power()) * per_square),
                        });
                    }
                    _ => {
                        self.others.push(Other { limb, line, primitive: index, bind_from_unit: back * unit.back() });
                        if matches!(primitive, Primitive::Line { .. }) {
                            self.lines.push(PosedLine::nowhere());
                        }
                    }
                }
            }
        }
    }

    /// m and, if G, ∇m of the lines that C vectors of points feel, in the first lanes of `out`, which has all lines.
    #[inline(always)]
    pub fn evaluate<S: Simd, const C: usize, const G: bool>(
        &self,
        simd: S,
        limbs: &[Limb],
        felt: Felt<'_, T>,
        p: &[Wide3<S, T>; C],
        out: &mut [Value<T>],
    ) {
        let zero = splat::<S, T>(simd, T::default());
        let one = splat::<S, T>(simd, T::of(1.0));
        for (&line, share) in felt.lines.iter().zip(felt.shares) {
            let (line, out) = (&self.lines[line as usize], &mut out[line as usize]);
            let (from, along_share) = (Wide3::<S, T>::splat(simd, line.from), Wide3::<S, T>::splat(simd, line.share));
            let along = Wide3::<S, T>::splat(simd, line.line);
            let (per_square, softness) = (splat::<S, T>(simd, line.per_square), splat::<S, T>(simd, line.softness));
            let fall = splat::<S, T>(simd, line.fall);
            for (c, p) in p.iter().enumerate() {
                let at = c * T::Wide::<S>::LEN;
                let from = p.sub(from);
                let away = along.mul_add(-from.dot(along_share).max(zero).min(one), from);
                let inverse = one / away.dot(away).mul_add(per_square, softness);
                let square = inverse * inverse;
                let value = match self.fall {
                    Fall::Wide => square,
                    Fall::Narrow => square * square,
                };
                let value = value * load::<S, T>(simd, share, felt.at + at);
                store::<S, T>(value, &mut out.m, at);
                if G {
                    away.scale(value * inverse * fall).store(&mut out.gradient, at);
                }
            }
        }
        if !self.others.is_empty() {
            let mut here = [[T::default(); LANES]; 3];
            for (c, p) in p.iter().enumerate() {
                p.store(&mut here, c * T::Wide::<S>::LEN);
            }
            self.add_others(limbs, felt, &here, C * T::Wide::<S>::LEN, G, out);
        }
    }

    /// Adds what is no line, point by point.
    #[inline(never)]
    fn add_others(
        &self,
        limbs: &[Limb],
        felt: Felt<'_, T>,
        p: &PointsOf<T>,
        lanes: usize,
        with_gradients: bool,
        out: &mut [Value<T>],
    ) {
        let add = |sum: &mut T, part: f64| *sum = T::of(sum.to_f64() + part);
        for other in &self.others {
            let Some(share) = felt.share(other.line) else { continue };
            let primitive = &limbs[other.limb].primitives[other.primitive];
            let out = &mut out[other.line];
            for index in 0..lanes {
                let share = share[felt.at + index].to_f64();
                let (value, gradient) = primitive.at(other.bind_from_unit.transform_point3(lane(p, index)));
                let gradient = other.bind_from_unit.matrix3.transpose() * gradient * share;
                add(&mut out.m[index], value * share);
                for (sum, part) in out.gradient.iter_mut().zip(gradient.to_array()).filter(|_| with_gradients) {
                    add(&mut sum[index], part);
                }
            }
        }
    }
}

impl PosedLimbs<f64> {
    /// m and ∇m of each limb at one point.
    pub fn at(&self, limbs: &[Limb], felt: Felt<'_, f64>, p: DVec3) -> Vec<(f64, DVec3)> {
        let mut values = vec![Value::default(); self.lines.len()];
        f64::dispatch(Level::baseline(), AtPoint { posed: self, limbs, felt, p, values: &mut values });
        let mut values = values.iter();
        let limb = |limb: &Limb| {
            let lines = values.by_ref().take(limb.lines());
            lines.fold((0.0, DVec3::ZERO), |(m, g), value| (m + value.m[0], g + lane(&value.gradient, 0)))
        };
        limbs.iter().map(limb).collect()
    }
}

/// All lines at one point, in the first lanes of `values`.
struct AtPoint<'a> {
    posed: &'a PosedLimbs<f64>,
    limbs: &'a [Limb],
    felt: Felt<'a, f64>,
    p: DVec3,
    values: &'a mut [Value<f64>],
}

impl Kernel for AtPoint<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let p = [Wide3::splat(simd, self.p.to_array())];
        self.posed.evaluate::<S, 1, true>(simd, self.limbs, self.felt, &p, self.values);
    }
}

#[cfg(test)]
mod tests {
    use super::super::reach::FeltRow;
    use super::*;
    use glam::DQuat;

    /// Weights and their gradients at one point.
    fn weights(limbs: &[Limb], back: &[DAffine3], p: DVec3) -> (Vec<f64>, Vec<DVec3>) {
        let mut posed = PosedLimbs::<f64>::default();
        posed.set(limbs, &Unit::default(), back.iter().copied());
        let shares = [(0, 1.0), (1, 0.7), (2, 0.7)];
        let lines = limbs.iter().map(Limb::lines).sum();
        let felt = FeltRow::new(std::iter::once(&shares[..lines]));
        let values = posed.at(limbs, felt.from(0), p);
        let total: f64 = values.iter().map(|(m, _)| m).sum();
        let total_gradient: DVec3 = values.iter().map(|(_, gradient)| *gradient).sum();
        let w: Vec<f64> = values.iter().map(|(m, _)| m / total).collect();
        let gradients = values.iter().map(|&(m, gradient)| (gradient - total_gradient * (m / total)) / total).collect();
        (w, gradients)
    }

    fn limbs(fall: Fall) -> Vec<Limb> {
        let fork = [(DVec3::Y * 2.0, DVec3::Y * 4.0), (DVec3::Y * 2.0, DVec3::X)];
        let mut a = Limb::with_lines(0, &[(DVec3::ZERO, DVec3::Y * 2.0)], 0.5, fall).unwrap();
        let mut b = Limb::with_lines(1, &fork, 0.4, fall).unwrap();
        let ball = DAffine3::from_scale_rotation_translation(
            DVec3::new(0.8, 1.6, 0.7),
            DQuat::from_rotation_z(0.3),
            DVec3::new(0.1, 1.0, 0.0),
        );
        a.add(Primitive::Tissue { ball_from_bind: ball.inverse() });
        a.add(Primitive::Bone { from: DVec3::Y * 0.2, to: DVec3::Y * 1.8, radius: 0.3 });
        b.add(Primitive::Bone { from: DVec3::Y * 2.5, to: DVec3::new(1.0, 3.0, 0.0), radius: 0.2 });
        vec![a, b]
    }

    #[test]
    fn gradients_are_those_of_the_weights() {
        let back = [
            DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.4), DVec3::new(0.0, 0.1, 0.2)),
            DAffine3::from_scale_rotation_translation(DVec3::splat(0.8), DQuat::from_rotation_z(-0.9), DVec3::X),
        ];
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64 * 4.0 - 1.0
        };
        for k in 0..300 {
            let limbs = limbs(if k % 2 == 0 { Fall::Wide } else { Fall::Narrow });
            let p = DVec3::new(random() - 1.0, random(), random() - 1.0);
            let (w, gradients) = weights(&limbs, &back, p);
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let largest = gradients.iter().map(|g| g.length()).fold(0.0, f64::max);
            assert!(gradients.iter().sum::<DVec3>().length() <= 1e-13 * (1.0 + largest));
            for axis in DVec3::AXES {
                let h = 1e-6;
                let (after, before) = (weights(&limbs, &back, p + axis * h), weights(&limbs, &back, p - axis * h));
                for limb in 0..2 {
                    let difference = (after.0[limb] - before.0[limb]) / (2.0 * h);
                    let exact = gradients[limb].dot(axis);
                    // Gradients bend at the borders of tissue and bone.
                    let bend = (after.1[limb] - before.1[limb]).length();
                    assert!((difference - exact).abs() < 1e-4 * (1.0 + largest) + bend, "{p}: {difference} {exact}");
                }
            }
        }
    }

    #[test]
    fn lines_kept_in_place_are_those_seen_from_bind_space() {
        let limb = vec![Limb::new(0, &[(DVec3::ZERO, DVec3::Y * 2.0)], 0.5).unwrap()];
        let back = DAffine3::from_scale_rotation_translation(DVec3::splat(0.8), DQuat::from_rotation_z(-0.9), DVec3::X);
        let mut posed = PosedLimbs::<f64>::default();
        let felt = FeltRow::new([[(0, 1.0)].as_slice()].into_iter());
        posed.set(&limb, &Unit::default(), [back].into_iter());
        assert_eq!((posed.lines.len(), posed.others.len()), (1, 0));
        for p in [DVec3::new(0.3, 1.0, 0.2), DVec3::new(-2.0, 3.0, 0.1), DVec3::splat(-1.5)] {
            let (value, gradient) = limb[0].primitives[0].at(back.transform_point3(p));
            let (m, kept) = posed.at(&limb, felt.from(0), p)[0];
            assert!((value - m).abs() < 1e-14 * value);
            assert!((back.matrix3.transpose() * gradient - kept).length() < 1e-13 * gradient.length());
        }
        posed.set(&limb, &Unit::default(), [DAffine3::from_scale(DVec3::new(1.0, 1.1, 1.0))].into_iter());
        assert_eq!((posed.lines.len(), posed.others.len()), (1, 1));
    }

    #[test]
    fn weights_do_not_depend_on_the_unit() {
        let limb = |k: f64| {
            let mut limb = Limb::new(0, &[(DVec3::ZERO, DVec3::Y * k)], 0.2 * k).unwrap();
            limb.add(Primitive::Bone { from: DVec3::ZERO, to: DVec3::Y * k, radius: 0.1 * k });
            vec![limb, Limb::new(1, &[(DVec3::Y * k, DVec3::Y * (2.0 * k))], 0.2 * k).unwrap()]
        };
        let still = [DAffine3::IDENTITY; 2];
        for p in [DVec3::new(0.11, 0.9, 0.0), DVec3::new(0.05, 1.4, 0.3), DVec3::new(3.0, 9.0, 1.0)] {
            let (small, large) = (weights(&limb(1.0), &still, p), weights(&limb(128.0), &still, p * 128.0));
            assert!((small.0[0] - large.0[0]).abs() < 1e-14);
            assert!((small.1[0] - large.1[0] * 128.0).length() < 1e-12);
        }
        assert!(Limb::new(0, &[(DVec3::ZERO, DVec3::Y)], 0.0).is_none());
    }
}
