//! Rows of 16 points: the vector types every kernel is written in, and their own elementary functions.
//!
//! One generic body per kernel; the instruction set is a value passed down ([`Level`]). Lanes never talk to each
//! other, and every product that is summed is an explicit multiply-add, so all levels with fused multiply-add
//! (AVX2, AVX-512, NEON) give the same bits; SSE2 and wasm round twice and agree within a stated tolerance.
//!
//! Whole rows at a time, also where they are two registers wide or four: effects are long chains of dependent
//! operations, and two chains side by side took three quarters of the time that one took, spilled registers included.
//!
//! Kernels are `#[inline(always)]` functions all the way down and hold no closures: a closure cannot be forced inline,
//! and one left out of line loses the instruction set (it cost LBS a factor of six).

#[doc(no_inline)]
pub use fearless_simd::{Level, Simd, dispatch, f32x4, f32x16, f64x4, prelude, u32x16};
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

/// Sine, and 1 − cosine with its relative precision down to the smallest angles, for |θ| ≤ π/2: no reduction, and the
/// polynomials themselves are right to 2e-8.
#[inline(always)]
pub fn sin_versine<S: Simd>(simd: S, angle: f32x16<S>) -> (f32x16<S>, f32x16<S>) {
    let z = angle * angle;
    let sin = z
        .mul_add(splat(simd, 2.605_078_2e-6), splat(simd, -1.980_900_4e-4))
        .mul_add(z, splat(simd, 8.333_05e-3))
        .mul_add(z, splat(simd, -1.666_665_8e-1));
    let versine = z
        .mul_add(splat(simd, 2.629_727e-7), splat(simd, -2.477_456_8e-5))
        .mul_add(z, splat(simd, 1.388_865_2e-3))
        .mul_add(z, splat(simd, -4.166_666e-2))
        .mul_add(z, splat(simd, 0.5));
    ((sin * z).mul_add(angle, angle), versine * z)
}

/// `u^(−¼)` for 1 ≤ u ≤ 1e37, right to 2e-7. A guess by halving the exponent twice, good to 3 %, and two steps of third
/// order: two square roots and a division take more than twice as long, and every limit needs this.
#[inline(always)]
pub fn inverse_fourth_root<S: Simd>(simd: S, u: f32x16<S>) -> f32x16<S> {
    let bits: u32x16<S> = u.bitcast();
    let mut y: f32x16<S> = (u32x16::splat(simd, 0x4f58_4000) - (bits >> 2)).bitcast();
    for _ in 0..2 {
        let square = y * y;
        // 1 − u y⁴, and y (1 + h/4 + 5h²/32).
        let h = (square * u).mul_add(-square, splat(simd, 1.0));
        y = (y * h).mul_add(h.mul_add(splat(simd, 5.0 / 32.0), splat(simd, 0.25)), y);
    }
    y
}

/// A vector v bounded in length: `d = bounded·unit`, and `∂d = share·∂v + (slope − share)·unit (unit·∂v)`.
#[derive(Clone, Copy)]
pub struct Bounded<S: Simd> {
    /// Direction of v; zero where v is.
    pub unit: V3<S>,
    /// Length of d.
    pub bounded: f32x16<S>,
    /// Its slope by the length of v.
    pub slope: f32x16<S>,
    /// Length of d over that of v.
    pub share: f32x16<S>,
}

/// A bound on a quantity `x ≥ 0`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Limit {
    /// Never exceeded.
    pub max: f32,
    /// 1 for `x/(1+(x/max)⁴)^¼` instead of `min(x, max)`, else 0.
    pub(crate) soft: u32,
}

impl Limit {
    /// No more than `max`; `soft` bends into it instead of cutting there.
    pub fn new(max: f32, soft: bool) -> Self {
        Self { max, soft: soft.into() }
    }

    /// Whether it bends into the limit instead of cutting there.
    pub fn is_soft(self) -> bool {
        self.soft != 0
    }

    /// The bounded quantity, and its slope by x. Never overflows: x is cut where it has been at the limit for long.
    #[inline(always)]
    pub fn apply<S: Simd>(self, simd: S, x: f32x16<S>) -> (f32x16<S>, f32x16<S>) {
        let (one, max) = (splat(simd, 1.0), splat(simd, self.max));
        if self.soft == 0 {
            return (x.min(max), x.simd_gt(max).select(splat(simd, 0.0), one));
        }
        // A limit of 0 must give 0 and not 0/0.
        let ratio = (x * splat(simd, 1.0 / self.max.max(f32::MIN_POSITIVE))).min(splat(simd, 1e9));
        let square = ratio * ratio;
        let share = inverse_fourth_root(simd, square.mul_add(square, one));
        let share_square = share * share;
        // d/dx x(1+(x/m)⁴)^(−¼) = (1+(x/m)⁴)^(−5/4), the fifth power of the share.
        (max * (ratio * share), share_square * share_square * share)
    }

    /// A vector bounded in length.
    #[inline(always)]
    pub fn apply_vector<S: Simd>(self, simd: S, v: V3<S>) -> Bounded<S> {
        let length = v.length();
        let (bounded, slope) = self.apply(simd, length);
        let (one, zero) = (splat(simd, 1.0), splat(simd, 0.0));
        let some = length.simd_gt(splat(simd, f32::MIN_POSITIVE));
        let inverse = some.select(one, zero) / some.select(length, one);
        Bounded { unit: v.scale(inverse), bounded, slope, share: some.select(bounded * inverse, one) }
    }

    /// The same for one number.
    pub fn apply_one(self, x: f32) -> f32 {
        let (x, max) = (f64::from(x), f64::from(self.max));
        if self.soft != 0 && max > 0.0 {
            (x / (1.0 + (x / max).powi(4)).powf(0.25)).min(max) as f32
        } else {
            x.min(max) as f32
        }
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
    fn sin_cos_of<S: Simd>(simd: S, angle: Lanes) -> (f32, f32) {
        let (s, c) = half_sin_cos(simd, load(simd, &angle));
        (s.as_slice()[0], c.as_slice()[0])
    }

    #[test]
    fn half_angle_functions_agree_with_f64() {
        for level in levels() {
            let mut worst = 0.0f64;
            for step in 0..200_000 {
                let angle = (step as f32 - 100_000.0) * 2e-3;
                let (s, c) = dispatch!(level, simd => sin_cos_of(simd, [angle; LANES]));
                let half = f64::from(angle) * 0.5;
                worst = worst.max((f64::from(s) - half.sin()).abs()).max((f64::from(c) - half.cos()).abs());
            }
            assert!(worst < 1.5e-7, "largest error {worst:e}");
            let (s, c) = dispatch!(level, simd => sin_cos_of(simd, [0.0; LANES]));
            assert_eq!((s, c), (0.0, 1.0));
        }
    }

    #[test]
    fn small_angles_keep_relative_precision() {
        for angle in [1e-3f32, 1e-6, 1e-12, 1e-30] {
            let (s, _) = dispatch!(Level::new(), simd => sin_cos_of(simd, [angle; LANES]));
            let truth = (f64::from(angle) * 0.5).sin();
            assert!((f64::from(s) / truth - 1.0).abs() < 1e-6);
        }
    }

    #[inline(always)]
    fn turned<S: Simd>(simd: S, angle: f32) -> (f32, f32) {
        let (sin, versine) = sin_versine(simd, splat(simd, angle));
        (sin.as_slice()[0], versine.as_slice()[0])
    }

    #[test]
    fn sine_and_versine_keep_relative_precision() {
        for step in 1..=100_000 {
            let angle = step as f32 * (std::f32::consts::FRAC_PI_2 / 1e5);
            for angle in [angle, -angle, angle * 1e-6] {
                let (sin, versine) = dispatch!(Level::new(), simd => turned(simd, angle));
                let truth = f64::from(angle);
                assert!((f64::from(sin) / truth.sin() - 1.0).abs() < 2.5e-7, "{angle}");
                assert!((f64::from(versine) / (2.0 * (truth / 2.0).sin().powi(2)) - 1.0).abs() < 2.5e-7, "{angle}");
            }
        }
        assert_eq!(dispatch!(Level::new(), simd => turned(simd, 0.0)), (0.0, 0.0));
    }

    #[inline(always)]
    fn rooted<S: Simd>(simd: S, u: f32) -> f32 {
        inverse_fourth_root(simd, splat(simd, u)).as_slice()[0]
    }

    #[test]
    fn inverse_fourth_root_agrees_with_f64() {
        for level in levels() {
            for step in 0..=200_000 {
                let u = 10f64.powf(37.0 * f64::from(step) / 200_000.0) as f32;
                let root = f64::from(dispatch!(level, simd => rooted(simd, u)));
                assert!((root * f64::from(u).powf(0.25) - 1.0).abs() < 2e-7, "{u}");
            }
        }
    }

    #[inline(always)]
    fn limited<S: Simd>(simd: S, x: f32, limit: Limit) -> (f32, f32) {
        let x = splat(simd, x);
        let (bounded, slope) = limit.apply(simd, x);
        (bounded.as_slice()[0], slope.as_slice()[0])
    }

    #[test]
    fn limiters_bound_leave_small_values_alone_and_know_their_slope() {
        for soft in [true, false] {
            let at = |x: f32, max: f32| dispatch!(Level::new(), simd => limited(simd, x, Limit::new(max, soft)));
            assert_eq!(at(0.0, 0.0).0, 0.0);
            for x in [0.0f32, 1e-20, 1e-3, 0.5, 1.0, 3.0, 1e4, 1e20, 1e38] {
                let (y, _) = at(x, 0.7);
                assert!((y - Limit::new(0.7, soft).apply_one(x)).abs() <= 4e-7 * y);
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
