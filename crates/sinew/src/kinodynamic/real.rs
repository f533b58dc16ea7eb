//! Points of either precision, as many at a time as vectors hold: f32 for frames, with the processor's own vectors; f64
//! for what is differenced, and as the reference of both, with those that every processor has. Each instruction set is
//! one more copy of a kernel to compile, and nobody waits for f64.
//!
//! As in [`crate::simd`], kernels are `#[inline(always)]` all the way down and hold no closures, and products that are
//! summed are explicit multiply-adds.

use crate::simd::{LANES, Level, Simd, dispatch, prelude::*};
use glam::{DAffine3, DMat3, DVec3};

/// A precision.
pub(crate) trait Real: SimdFloatElement + Copy + Default + Send + Sync + std::fmt::Debug + 'static {
    /// The processor's own vector of it.
    type Wide<S: Simd>: SimdFloat<S, Element = Self>;
    /// Terms of a series that give a turn of a radian and a half all its digits.
    const TERMS: usize;

    /// Rounded.
    fn of(value: f64) -> Self;
    /// As it is.
    fn to_f64(self) -> f64;
    /// Runs a kernel with the vectors of this precision.
    fn dispatch(level: Level, kernel: impl Kernel);
}

/// What is computed for a row of points, whatever the instruction set.
pub(crate) trait Kernel {
    fn run<S: Simd>(self, simd: S);
}

impl Real for f32 {
    type Wide<S: Simd> = S::f32s;
    const TERMS: usize = 5;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn dispatch(level: Level, kernel: impl Kernel) {
        dispatch!(level, simd => kernel.run(simd));
    }
}

impl Real for f64 {
    type Wide<S: Simd> = S::f64s;
    const TERMS: usize = 6;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    fn dispatch(_: Level, kernel: impl Kernel) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = Level::baseline().as_sse2() {
            kernel.run(simd);
        }
        // Elsewhere there is one instruction set to dispatch to.
        #[cfg(not(target_arch = "x86_64"))]
        dispatch!(Level::baseline(), simd => kernel.run(simd));
    }
}

/// Coordinates in which a character is about 1 large and about 0: where f32 has all its digits, whatever the unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    centre: DVec3,
    size: f64,
}

impl Unit {
    /// Around some places, with something to go by where they are one.
    pub fn around(places: impl Iterator<Item = DVec3>, at_least: f64) -> Self {
        let (low, high) = places.fold((DVec3::MAX, DVec3::MIN), |(l, h), p| (l.min(p), h.max(p)));
        let size = (high - low).max_element().max(at_least);
        if size.is_finite() && size > 0.0 { Self { centre: 0.5 * (low + high), size } } else { Self::default() }
    }

    pub fn point(&self, p: DVec3) -> DVec3 {
        (p - self.centre) / self.size
    }

    /// A velocity, or another difference of points.
    pub fn vector(&self, v: DVec3) -> DVec3 {
        v / self.size
    }

    /// Over a length squared.
    pub fn per_square(&self, k: f64) -> f64 {
        k * self.size * self.size
    }

    /// An affine field of velocities.
    pub fn field(&self, field: DAffine3) -> DAffine3 {
        DAffine3 { translation: self.vector(field.transform_point3(self.centre)), ..field }
    }

    /// Back from these coordinates.
    pub fn back(&self) -> DAffine3 {
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(self.size)), translation: self.centre }
    }
}

impl Default for Unit {
    /// As it is.
    fn default() -> Self {
        Self { centre: DVec3::ZERO, size: 1.0 }
    }
}

/// One number per lane of a row.
pub(crate) type Row<T> = [T; LANES];
/// A row of points: first coordinates, second, third.
pub(crate) type PointsOf<T> = [Row<T>; 3];

/// One value in every lane.
#[inline(always)]
pub(crate) fn splat<S: Simd, T: Real>(simd: S, value: T) -> T::Wide<S> {
    T::Wide::<S>::splat(simd, value)
}

/// The lanes of a row from `at` on.
#[inline(always)]
pub(crate) fn load<S: Simd, T: Real>(simd: S, row: &Row<T>, at: usize) -> T::Wide<S> {
    T::Wide::<S>::from_slice(simd, &row[at..at + T::Wide::<S>::LEN])
}

/// Writes the lanes of a row from `at` on.
#[inline(always)]
pub(crate) fn store<S: Simd, T: Real>(value: T::Wide<S>, row: &mut Row<T>, at: usize) {
    value.store_slice(&mut row[at..at + T::Wide::<S>::LEN]);
}

/// A vector, rounded.
pub(crate) fn rounded<T: Real>(v: DVec3) -> [T; 3] {
    v.to_array().map(T::of)
}

/// A 3-vector per lane.
#[derive(Clone, Copy)]
pub(crate) struct Wide3<S: Simd, T: Real> {
    pub x: T::Wide<S>,
    pub y: T::Wide<S>,
    pub z: T::Wide<S>,
}

impl<S: Simd, T: Real> Wide3<S, T> {
    #[inline(always)]
    pub fn splat(simd: S, [x, y, z]: [T; 3]) -> Self {
        Self { x: splat::<S, T>(simd, x), y: splat::<S, T>(simd, y), z: splat::<S, T>(simd, z) }
    }

    #[inline(always)]
    pub fn zero(simd: S) -> Self {
        Self::splat(simd, [T::default(); 3])
    }

    #[inline(always)]
    pub fn load(simd: S, [x, y, z]: &PointsOf<T>, at: usize) -> Self {
        Self { x: load::<S, T>(simd, x, at), y: load::<S, T>(simd, y, at), z: load::<S, T>(simd, z, at) }
    }

    #[inline(always)]
    pub fn store(self, [x, y, z]: &mut PointsOf<T>, at: usize) {
        store::<S, T>(self.x, x, at);
        store::<S, T>(self.y, y, at);
        store::<S, T>(self.z, z, at);
    }

    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "reads in formulas beside mul_add, which has no operator")]
    pub fn add(self, o: Self) -> Self {
        Self { x: self.x + o.x, y: self.y + o.y, z: self.z + o.z }
    }

    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "as add")]
    pub fn sub(self, o: Self) -> Self {
        Self { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
    }

    #[inline(always)]
    pub fn scale(self, k: T::Wide<S>) -> Self {
        Self { x: self.x * k, y: self.y * k, z: self.z * k }
    }

    /// `self·k + o`, fused.
    #[inline(always)]
    pub fn mul_add(self, k: T::Wide<S>, o: Self) -> Self {
        Self { x: self.x.mul_add(k, o.x), y: self.y.mul_add(k, o.y), z: self.z.mul_add(k, o.z) }
    }

    #[inline(always)]
    pub fn dot(self, o: Self) -> T::Wide<S> {
        self.z.mul_add(o.z, self.y.mul_add(o.y, self.x * o.x))
    }

    #[inline(always)]
    pub fn cross(self, o: Self) -> Self {
        Self {
            x: self.y.mul_sub(o.z, self.z * o.y),
            y: self.z.mul_sub(o.x, self.x * o.z),
            z: self.x.mul_sub(o.y, self.y * o.x),
        }
    }

    /// `self × o + sum`, each product fused.
    #[inline(always)]
    pub fn cross_add(self, o: Self, sum: Self) -> Self {
        Self {
            x: self.y.mul_add(o.z, self.z.mul_add(-o.y, sum.x)),
            y: self.z.mul_add(o.x, self.x.mul_add(-o.z, sum.y)),
            z: self.x.mul_add(o.y, self.y.mul_add(-o.x, sum.z)),
        }
    }
}

/// The point in one lane.
pub(crate) fn lane<T: Real>([x, y, z]: &PointsOf<T>, lane: usize) -> DVec3 {
    DVec3::new(x[lane].to_f64(), y[lane].to_f64(), z[lane].to_f64())
}

/// Replaces the point in one lane.
pub(crate) fn set_lane<T: Real>([x, y, z]: &mut PointsOf<T>, lane: usize, p: DVec3) {
    (x[lane], y[lane], z[lane]) = (T::of(p.x), T::of(p.y), T::of(p.z));
}
