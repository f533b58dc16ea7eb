//! A stroke as a curve: centripetal Catmull–Rom (Barry and Goldman 1988; Yuksel et al. 2011) as composite cubic Bézier.
//!
//! Through points p₀ p₁ p₂ p₃ with `d_k = ‖p_k − p_{k−1}‖^½` the inner controls of the piece p₁ → p₂ are
//! `(d₁²p₂ − d₂²p₀ + (2d₁² + 3d₁d₂ + d₂²)p₁) / (3d₁(d₁ + d₂))` and its mirror image. The direction is continuous where
//! pieces join, so the curve by arc length is C1; centripetal knots have no cusps and no loops within a piece. Before
//! the first and after the last point the polyline goes on straight.
//!
//! Arc length is integrated by Gauss–Legendre on a fixed table per piece and inverted by bisected Newton, so `at` is
//! parametrised by the fraction of the length.
//!
//! Oracle: length of a circle's arc; equal fractions give equal lengths; passes through every point it was given.

use super::simplify::Sample;
use glam::DVec3;

/// Largest coordinate.
const LARGEST: f64 = 1e100;
/// Nodes of the arc-length table per piece.
const STEPS: usize = 8;
/// Gauss–Legendre on [−1, 1], five points.
const GAUSS: [(f64, f64); 5] = [
    (0.0, 0.568_888_888_888_888_9),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];

/// Why samples make no stroke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrokeError {
    /// There is no sample.
    #[error("the stroke has no points: draw at least one")]
    Empty,
    /// A position or time is no number, or beyond 10¹⁰⁰.
    #[error("point {index} of the stroke is not a usable number: remove it or draw it again")]
    NotFinite {
        /// Index of the sample.
        index: usize,
    },
}

/// A smooth curve through samples, by the fraction t ∈ [0, 1] of its length.
///
/// # Invariants
/// At least one knot; successive knots are apart; all values finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    knots: Vec<Sample>,
    /// Bézier controls between successive knots.
    pieces: Vec<[DVec3; 4]>,
    /// Length from the start at `STEPS` equal steps of each piece's parameter; begins with 0.
    lengths: Vec<f64>,
}

impl Stroke {
    /// The curve through the samples; of samples on one place the first counts.
    pub fn new(samples: &[Sample]) -> Result<Self, StrokeError> {
        // Squares of lengths stay in range.
        let usable = |s: &Sample| s.position.abs().max_element() <= LARGEST && s.time_secs.abs() <= LARGEST;
        if let Some(index) = samples.iter().position(|s| !usable(s) || s.position.is_nan()) {
            return Err(StrokeError::NotFinite { index });
        }
        let mut knots: Vec<Sample> = samples.to_vec();
        // The least distances vanish when squared.
        knots.dedup_by(|next, kept| next.position.distance(kept.position) <= 0.0);
        if knots.is_empty() {
            return Err(StrokeError::Empty);
        }
        let p = |k: usize| knots[k].position;
        let pieces: Vec<[DVec3; 4]> = (1..knots.len())
            .map(|k| {
                let (p1, p2) = (p(k - 1), p(k));
                let p0 = if k >= 2 { p(k - 2) } else { p1 + (p1 - p2) };
                let p3 = if k + 1 < knots.len() { p(k + 1) } else { p2 + (p2 - p1) };
                [p1, control(p0, p1, p2), control(p3, p2, p1), p2]
            })
            .collect();
        let mut lengths = Vec::with_capacity(pieces.len() * STEPS + 1);
        lengths.push(0.0);
        let mut sum = 0.0;
        for piece in &pieces {
            for step in 0..STEPS {
                sum += piece_length(piece, step as f64 / STEPS as f64, (step + 1) as f64 / STEPS as f64);
                lengths.push(sum);
            }
        }
        Ok(Self { knots, pieces, lengths })
    }

    /// Its length.
    pub fn length(&self) -> f64 {
        self.lengths.last().copied().unwrap_or(0.0)
    }

    /// The samples it passes through.
    pub fn knots(&self) -> &[Sample] {
        &self.knots
    }

    /// Fractions of the length at which the table has nodes: fine enough to follow the curve.
    pub fn table(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        let length = self.length();
        self.lengths.iter().map(move |&s| if length > 0.0 { s / length } else { 0.0 })
    }

    /// Position at a fraction of the length.
    pub fn at(&self, t: f64) -> DVec3 {
        match self.locate(t) {
            Some((piece, u)) => position(&self.pieces[piece], u),
            None => self.knots[0].position,
        }
    }

    /// Unit tangent; zero for a stroke of one point.
    pub fn tangent(&self, t: f64) -> DVec3 {
        let Some((piece, u)) = self.locate(t) else { return DVec3::ZERO };
        let controls = &self.pieces[piece];
        // The derivative vanishes only where controls coincide; the chord is then its limit to first order.
        velocity(controls, u).try_normalize().unwrap_or_else(|| (controls[3] - controls[0]).normalize_or_zero())
    }

    /// When the device was there.
    pub fn time_secs(&self, t: f64) -> f64 {
        match self.locate(t) {
            Some((piece, u)) => {
                let (from, to) = (self.knots[piece].time_secs, self.knots[piece + 1].time_secs);
                from + (to - from) * u
            }
            None => self.knots[0].time_secs,
        }
    }

    /// Fraction of the length at which the curve is nearest to `p`; the first of equals.
    pub fn nearest(&self, p: DVec3) -> f64 {
        let length = self.length();
        if length <= 0.0 {
            return 0.0;
        }
        let node = |i: usize| {
            let (piece, step) = (i / STEPS, i % STEPS);
            if piece == self.pieces.len() {
                self.pieces[piece - 1][3]
            } else {
                position(&self.pieces[piece], step as f64 / STEPS as f64)
            }
        };
        let distances: Vec<f64> = (0..self.lengths.len()).map(|i| node(i).distance_squared(p)).collect();
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        let mut best = (f64::INFINITY, 0.0);
        for i in 1..distances.len() {
            // Between two nodes the curve comes no nearer than their distance less the way between them.
            let way = self.lengths[i] - self.lengths[i - 1];
            if distances[i - 1].min(distances[i]).sqrt() - way > least.sqrt() {
                continue;
            }
            let (piece, step) = ((i - 1) / STEPS, (i - 1) % STEPS);
            let [low, high] = [step, step + 1].map(|s| s as f64 / STEPS as f64);
            let u = golden_section(low, high, |u| position(&self.pieces[piece], u).distance_squared(p));
            for u in [low, u, high] {
                let d = position(&self.pieces[piece], u).distance_squared(p);
                if d < best.0 {
                    best = (d, (self.lengths[i - 1] + piece_length(&self.pieces[piece], low, u)) / length);
                }
            }
        }
        best.1.clamp(0.0, 1.0)
    }

    /// Piece and its parameter at a fraction of the length; `None` for a single point.
    fn locate(&self, t: f64) -> Option<(usize, f64)> {
        if self.pieces.is_empty() {
            return None;
        }
        let s = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) } * self.length();
        let i = self.lengths.partition_point(|&l| l <= s).clamp(1, self.lengths.len() - 1) - 1;
        let (piece, step) = (i / STEPS, i % STEPS);
        let controls = &self.pieces[piece];
        let (mut low, mut high) = (step as f64 / STEPS as f64, (step + 1) as f64 / STEPS as f64);
        let (start, way) = (low, s - self.lengths[i]);
        let whole = self.lengths[i + 1] - self.lengths[i];
        let mut u = if whole > 0.0 { low + (high - low) * (way / whole).clamp(0.0, 1.0) } else { low };
        for _ in 0..20 {
            let error = piece_length(controls, start, u) - way;
            if error > 0.0 {
                high = u
            } else {
                low = u
            }
            let newton = u - error / velocity(controls, u).length();
            let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
            if (next - u).abs() <= f64::EPSILON {
                break;
            }
            u = next;
        }
        Some((piece, u))
    }
}

/// The control of the piece from `at` to `to` beside `at`, where the curve comes from `before`.
fn control(before: DVec3, at: DVec3, to: DVec3) -> DVec3 {
    let (d1, d2) = (at.distance(before).sqrt(), to.distance(at).sqrt());
    (to * (d1 * d1) - before * (d2 * d2) + at * (2.0 * d1 * d1 + 3.0 * d1 * d2 + d2 * d2)) / (3.0 * d1 * (d1 + d2))
}

fn position(c: &[DVec3; 4], u: f64) -> DVec3 {
    let v = 1.0 - u;
    c[0] * (v * v * v) + c[1] * (3.0 * v * v * u) + c[2] * (3.0 * v * u * u) + c[3] * (u * u * u)
}

fn velocity(c: &[DVec3; 4], u: f64) -> DVec3 {
    let v = 1.0 - u;
    ((c[1] - c[0]) * (v * v) + (c[2] - c[1]) * (2.0 * v * u) + (c[3] - c[2]) * (u * u)) * 3.0
}

fn piece_length(c: &[DVec3; 4], from: f64, to: f64) -> f64 {
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    GAUSS.iter().map(|&(x, w)| w * velocity(c, middle + half * x).length()).sum::<f64>() * half
}

/// Where `f` is least between two parameters, if it has one minimum there.
fn golden_section(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const SHARE: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (high - SHARE * (high - low), low + SHARE * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    for _ in 0..60 {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - SHARE * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + SHARE * (high - low);
            fb = f(b);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn stroke(points: &[DVec3]) -> Stroke {
        let sample = |(i, &position): (usize, &DVec3)| Sample { position, time_secs: i as f64 };
        Stroke::new(&points.iter().enumerate().map(sample).collect::<Vec<_>>()).expect("finite points")
    }

    fn arc(points: usize, angle: f64) -> Vec<DVec3> {
        (0..points)
            .map(|i| {
                let (sin, cos) = (angle * i as f64 / (points - 1) as f64).sin_cos();
                DVec3::new(cos, sin, 0.0)
            })
            .collect()
    }

    #[test]
    fn the_length_of_a_circles_arc() {
        let curve = stroke(&arc(65, PI));
        assert!((curve.length() - PI).abs() < 2e-4, "{}", curve.length());
        assert!((stroke(&arc(129, PI)).length() - PI).abs() < 6e-5);
        // Away from the ends, where it begins straight, it is as good as a cubic can be.
        assert!((curve.at(0.5) - DVec3::Y).length() < 1e-5);
        assert!((curve.tangent(0.5) + DVec3::X).length() < 1e-5);
    }

    #[test]
    fn it_passes_through_its_points_at_equal_lengths_per_fraction() {
        let points = [DVec3::ZERO, DVec3::X, DVec3::new(1.2, 3.0, 0.5), DVec3::new(-2.0, 3.1, 0.0), DVec3::Z * 4.0];
        let curve = stroke(&points);
        for &p in &points {
            let t = curve.nearest(p);
            assert!(curve.at(t).distance(p) < 1e-6 * curve.length());
        }
        // Chords of fine equal fractions are as long as each other.
        let chords: Vec<f64> =
            (0..2000).map(|i| curve.at(f64::from(i) / 2000.0).distance(curve.at(f64::from(i + 1) / 2000.0))).collect();
        let mean = curve.length() / 2000.0;
        let uneven = chords.iter().filter(|&&c| (c / mean - 1.0).abs() > 1e-3).count();
        assert!(uneven <= 8, "{uneven} chords differ: only sharp turns may");
        assert!((chords.iter().sum::<f64>() / curve.length() - 1.0).abs() < 1e-4);
    }

    #[test]
    fn directions_are_continuous_where_pieces_join() {
        let curve = stroke(&[DVec3::ZERO, DVec3::X, DVec3::new(1.0, 4.0, 0.0), DVec3::new(9.0, 4.0, 2.0)]);
        for pair in curve.pieces.windows(2) {
            let (end, start) = (velocity(&pair[0], 1.0).normalize(), velocity(&pair[1], 0.0).normalize());
            assert!((end - start).length() < 1e-12);
        }
    }

    #[test]
    fn nearest_agrees_with_looking_everywhere() {
        let curve = stroke(&[DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::Y, DVec3::new(0.2, 0.1, 0.3)]);
        for i in 0..60 {
            let p = DVec3::new((f64::from(i) * 0.7).sin(), (f64::from(i) * 1.3).cos(), (f64::from(i) * 0.3).sin());
            let exhaustive =
                (0..=20_000).map(|i| curve.at(f64::from(i) / 20_000.0).distance(p)).fold(f64::INFINITY, f64::min);
            let found = curve.at(curve.nearest(p)).distance(p);
            assert!(found <= exhaustive + 1e-7, "{found} {exhaustive}");
        }
    }

    #[test]
    fn one_and_two_points_and_duplicates() {
        let point = stroke(&[DVec3::ONE]);
        assert_eq!((point.at(0.7), point.tangent(0.7), point.length()), (DVec3::ONE, DVec3::ZERO, 0.0));
        assert_eq!(stroke(&[DVec3::ONE; 4]).knots().len(), 1);
        let line = stroke(&[DVec3::ZERO, DVec3::ZERO, DVec3::X * 2.0]);
        assert!((line.at(0.25) - DVec3::X * 0.5).length() < 1e-12 && (line.time_secs(0.5) - 1.0).abs() < 1e-9);
        assert_eq!(Stroke::new(&[]), Err(StrokeError::Empty));
        let broken = Sample { position: DVec3::NAN, time_secs: 0.0 };
        assert_eq!(Stroke::new(&[broken]), Err(StrokeError::NotFinite { index: 0 }));
        let far = Sample { position: DVec3::X * 1e200, time_secs: 0.0 };
        assert_eq!(Stroke::new(&[far]), Err(StrokeError::NotFinite { index: 0 }));
        // Any size: tiny and huge strokes give the same fractions.
        for scale in [1e-100, 1e-9, 1e9] {
            let big = stroke(&[DVec3::ZERO, DVec3::X * scale, DVec3::new(1.0, 1.0, 0.0) * scale]);
            let unit = stroke(&[DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0)]);
            assert!((big.at(0.3) / scale - unit.at(0.3)).length() < 1e-9);
        }
    }
}
