//! Rows of 16 points: the vector types every kernel is written in, and their own sine and cosine.
//!
//! One generic body per kernel; the instruction set is a value passed down ([`Level`]). Lanes never talk to each
//! other, and every product that is summed is an explicit multiply-add, so all levels with fused multiply-add
//! (AVX2, AVX-512, NEON) give the same bits; SSE2 and wasm round twice and agree within a stated tolerance.
//!
//! Kernels are `#[inline(always)]` functions all the way down and hold no closures: a closure cannot be forced inline,
//! and one left out of line loses the instruction set (it cost LBS a factor of six).

#[doc(no_inline)]
pub use fearless_simd::{Level, Simd, dispatch, f32x4, f32x16, f64x4, prelude};
use glam::Vec3;
use prelude::*;

/// Points per row.
pub const LANES: usize = 16;

/// One value per lane.
pub type Lanes = [f32; LANES];

/// Sixteen 3-vectors.
#[derive(Clone, Copy)]
pub struct V3<S: Simd> {
    /// First coordinates.
    pub x: f32x16<S>,
    /// Second coordinates.
    pub y: f32x16<S>,
    /// Third coordinates.
    pub z: f32x16<S>,
}

impl<S: Simd> V3<S> {
    /// The same vector in every lane.
    #[inline(always)]
    pub fn splat(simd: S, v: Vec3) -> Self {
        Self { x: splat(simd, v.x), y: splat(simd, v.y), z: splat(simd, v.z) }
    }

    /// A row of points.
    #[inline(always)]
    pub fn load(simd: S, [x, y, z]: &PointRow) -> Self {
        Self { x: load(simd, x), y: load(simd, y), z: load(simd, z) }
    }

    /// Writes a row of points.
    #[inline(always)]
    pub fn store(self, [x, y, z]: &mut PointRow) {
        self.x.store_array(x);
        self.y.store_array(y);
        self.z.store_array(z);
    }

    /// Component-wise sum.
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "reads in formulas beside mul_add, which has no operator")]
    pub fn add(self, o: Self) -> Self {
        Self { x: self.x + o.x, y: self.y + o.y, z: self.z + o.z }
    }

    /// Component-wise difference.
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "as add")]
    pub fn sub(self, o: Self) -> Self {
        Self { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
    }

    /// Times a factor per lane.
    #[inline(always)]
    pub fn scale(self, k: f32x16<S>) -> Self {
        Self { x: self.x * k, y: self.y * k, z: self.z * k }
    }

    /// `self·k + o`, fused.
    #[inline(always)]
    pub fn mul_add(self, k: f32x16<S>, o: Self) -> Self {
        Self { x: self.x.mul_add(k, o.x), y: self.y.mul_add(k, o.y), z: self.z.mul_add(k, o.z) }
    }

    /// From `self` (0) to `o` (1).
    #[inline(always)]
    pub fn mix(self, o: Self, factor: f32x16<S>) -> Self {
        o.sub(self).mul_add(factor, self)
    }

    /// Scalar product.
    #[inline(always)]
    pub fn dot(self, o: Self) -> f32x16<S> {
        self.z.mul_add(o.z, self.y.mul_add(o.y, self.x * o.x))
    }

    /// Vector product.
    #[inline(always)]
    pub fn cross(self, o: Self) -> Self {
        Self {
            x: self.y.mul_sub(o.z, self.z * o.y),
            y: self.z.mul_sub(o.x, self.x * o.z),
            z: self.x.mul_sub(o.y, self.y * o.x),
        }
    }

    /// Euclidean length.
    #[inline(always)]
    pub fn length(self) -> f32x16<S> {
        self.dot(self).sqrt()
    }

    /// Divided by its length; lanes of length zero (or so short that the square vanishes) take `fallback`.
    #[inline(always)]
    pub fn normalize_or(self, simd: S, fallback: Self) -> Self {
        let square = self.dot(self);
        let ok = square.simd_gt(splat(simd, f32::MIN_POSITIVE));
        let inverse = splat(simd, 1.0) / square.sqrt();
        let unit = self.scale(inverse);
        Self { x: ok.select(unit.x, fallback.x), y: ok.select(unit.y, fallback.y), z: ok.select(unit.z, fallback.z) }
    }
}

/// One value in every lane.
#[inline(always)]
pub fn splat<S: Simd>(simd: S, v: f32) -> f32x16<S> {
    f32x16::splat(simd, v)
}

/// A row of values.
#[inline(always)]
pub fn load<S: Simd>(simd: S, v: &Lanes) -> f32x16<S> {
    f32x16::load_array_ref(simd, v)
}

/// Sine and cosine of half the angle per lane, so that `sin θ = 2sc` and `1 − cos θ = 2s²` keep their relative
/// precision down to the smallest angles.
///
/// Two-part reduction by π, minimax polynomials on ±π/2·½; the largest error against f64 over |θ| ≤ 200 is
/// below 1.5e-7 (tested), and `θ = 0` gives exactly (0, 1).
#[inline(always)]
pub fn half_sin_cos<S: Simd>(simd: S, angle: f32x16<S>) -> (f32x16<S>, f32x16<S>) {
    let x = angle * splat(simd, 0.5);
    let turns = (x * splat(simd, std::f32::consts::FRAC_2_PI)).round_ties_even();
    // π/2 in three parts, each with trailing zeros enough for an exact product with the small integer `turns`.
    let r = turns.mul_add(splat(simd, -1.570_312_5), x);
    let r = turns.mul_add(splat(simd, -4.837_513e-4), r);
    let r = turns.mul_add(splat(simd, -7.549_79e-8), r);
    let r2 = r * r;
    let sin = r2
        .mul_add(splat(simd, 2.608_431_6e-6), splat(simd, -1.981_069_5e-4))
        .mul_add(r2, splat(simd, 8.333_075e-3))
        .mul_add(r2, splat(simd, -1.666_665_7e-1));
    let sin = (sin * r2).mul_add(r, r);
    let cos =
        r2.mul_add(splat(simd, 2.443_315_7e-5), splat(simd, -1.388_731_6e-3)).mul_add(r2, splat(simd, 4.166_664_5e-2));
    let cos = (cos * r2).mul_add(r2, r2.mul_add(splat(simd, -0.5), splat(simd, 1.0)));
    // Quadrant = turns mod 4, by arithmetic on floats: exact for |turns| < 2²², and no integer conversion.
    let quadrant = turns - (turns * splat(simd, 0.25)).floor() * splat(simd, 4.0);
    let odd = (quadrant - splat(simd, 2.0)).abs().simd_eq(splat(simd, 1.0));
    let (s, c) = (odd.select(cos, sin), odd.select(sin, cos));
    let sin_negative = quadrant.simd_gt(splat(simd, 1.5));
    let cos_negative = (quadrant - splat(simd, 1.5)).abs().simd_lt(splat(simd, 1.0));
    (sin_negative.select(-s, s), cos_negative.select(-c, c))
}

/// A bound on a quantity `x ≥ 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Never exceeded.
    pub max: f32,
    /// `x/(1+(x/max)⁴)^¼` instead of `min(x, max)`.
    pub soft: bool,
}

impl Limit {
    /// The bounded quantity divided by x, and its slope by x. Never overflows: past the limit the formula is turned over.
    #[inline(always)]
    pub fn apply<S: Simd>(self, simd: S, x: f32x16<S>) -> (f32x16<S>, f32x16<S>) {
        let one = splat(simd, 1.0);
        // A limit of 0 must give 0 and not 0/0.
        let max = splat(simd, self.max.max(f32::MIN_POSITIVE));
        let beyond = x.simd_gt(max);
        if !self.soft {
            let share = beyond.select(max, one) / beyond.select(x, one);
            return (share, beyond.select(splat(simd, 0.0), one));
        }
        let ratio = beyond.select(max, x) / beyond.select(x, max);
        let square = ratio * ratio;
        let root = square.mul_add(square, one).sqrt().sqrt();
        let share = beyond.select(ratio, one) / root;
        let share_square = share * share;
        // d/dx x(1+(x/m)⁴)^(−¼) = (1+(x/m)⁴)^(−5/4), the fifth power of the share.
        (share, share_square * share_square * share)
    }
}

/// A row of points: first coordinates, second, third. Together, so that a frame reads few streams of memory.
pub type PointRow = [Lanes; 3];

/// Points in rows.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// The rows.
    pub rows: Vec<PointRow>,
}

impl Points {
    /// `rows` rows of zeros.
    pub fn zeros(rows: usize) -> Self {
        Self { rows: vec![[[0.0; LANES]; 3]; rows] }
    }

    /// Changes the number of rows; new ones are zero.
    pub fn resize(&mut self, rows: usize) {
        self.rows.resize(rows, [[0.0; LANES]; 3]);
    }

    /// The point at `slot = 16·row + lane`.
    pub fn get(&self, slot: usize) -> Vec3 {
        let [x, y, z] = &self.rows[slot / LANES];
        let lane = slot % LANES;
        Vec3::new(x[lane], y[lane], z[lane])
    }

    /// Replaces the point at `slot`.
    pub fn set(&mut self, slot: usize, v: Vec3) {
        let [x, y, z] = &mut self.rows[slot / LANES];
        let lane = slot % LANES;
        (x[lane], y[lane], z[lane]) = (v.x, v.y, v.z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Vec<Level> {
        vec![Level::baseline(), Level::new()]
    }

    #[inline(always)]
    fn sin_cos_of<S: Simd>(simd: S, angle: Lanes) -> (Lanes, Lanes) {
        let (s, c) = half_sin_cos(simd, load(simd, &angle));
        (s.to_array(), c.to_array())
    }

    #[test]
    fn half_angle_functions_agree_with_f64() {
        for level in levels() {
            let mut worst = 0.0f64;
            for step in 0..200_000 {
                let angle = (step as f32 - 100_000.0) * 2e-3;
                let (s, c) = dispatch!(level, simd => sin_cos_of(simd, [angle; LANES]));
                let half = f64::from(angle) * 0.5;
                worst = worst.max((f64::from(s[3]) - half.sin()).abs()).max((f64::from(c[3]) - half.cos()).abs());
            }
            assert!(worst < 1.5e-7, "largest error {worst:e}");
            let (s, c) = dispatch!(level, simd => sin_cos_of(simd, [0.0; LANES]));
            assert_eq!((s[0], c[0]), (0.0, 1.0));
        }
    }

    #[test]
    fn small_angles_keep_relative_precision() {
        for angle in [1e-3f32, 1e-6, 1e-12, 1e-30] {
            let (s, _) = dispatch!(Level::new(), simd => sin_cos_of(simd, [angle; LANES]));
            let truth = (f64::from(angle) * 0.5).sin();
            assert!((f64::from(s[0]) / truth - 1.0).abs() < 1e-6);
        }
    }

    #[inline(always)]
    fn limited<S: Simd>(simd: S, x: f32, limit: Limit) -> (f32, f32) {
        let x = splat(simd, x);
        let (share, slope) = limit.apply(simd, x);
        ((share * x).to_array()[0], slope.to_array()[0])
    }

    #[test]
    fn limiters_bound_leave_small_values_alone_and_know_their_slope() {
        for soft in [true, false] {
            let at = |x: f32, max: f32| dispatch!(Level::new(), simd => limited(simd, x, Limit { max, soft }));
            assert_eq!(at(0.0, 0.0).0, 0.0);
            for x in [0.0f32, 1e-20, 1e-3, 0.5, 1.0, 3.0, 1e4, 1e20, 1e38] {
                let (y, _) = at(x, 0.7);
                assert!(y <= 0.7 * 1.000_001, "{x} {y}");
                assert!(x >= 1e-2 || (y - x).abs() <= 1e-6 * x);
                assert!(x <= 100.0 || y > 0.699_99);
            }
            for x in [0.1f32, 0.5, 0.69, 0.8, 1.5] {
                let h = 1e-3;
                let difference = (at(x + h, 0.7).0 - at(x - h, 0.7).0) / (2.0 * h);
                assert!((at(x, 0.7).1 - difference).abs() < 1e-3, "{x}");
            }
        }
    }
}
