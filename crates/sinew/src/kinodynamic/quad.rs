//! Four points in f64, one per lane: what is carried in many small steps, and differenced for determinants, has no digits
//! to lose.
//!
//! As in [`crate::simd`], kernels are `#[inline(always)]` all the way down and hold no closures, and products that are
//! summed are explicit multiply-adds.

use crate::simd::{Simd, f64x4, prelude::*};
use glam::DVec3;

/// Points per quad.
pub(crate) const QUAD: usize = 4;
/// One number per lane.
pub(crate) type Four = [f64; QUAD];
/// First coordinates, second, third.
pub(crate) type PointQuad = [Four; 3];

/// Four 3-vectors.
#[derive(Clone, Copy)]
pub(crate) struct Q3<S: Simd> {
    pub x: f64x4<S>,
    pub y: f64x4<S>,
    pub z: f64x4<S>,
}

impl<S: Simd> Q3<S> {
    #[inline(always)]
    pub fn splat(simd: S, v: DVec3) -> Self {
        Self { x: f64x4::splat(simd, v.x), y: f64x4::splat(simd, v.y), z: f64x4::splat(simd, v.z) }
    }

    #[inline(always)]
    pub fn load(simd: S, [x, y, z]: &PointQuad) -> Self {
        Self { x: f64x4::load_array_ref(simd, x), y: f64x4::load_array_ref(simd, y), z: f64x4::load_array_ref(simd, z) }
    }

    #[inline(always)]
    pub fn store(self, [x, y, z]: &mut PointQuad) {
        self.x.store_array(x);
        self.y.store_array(y);
        self.z.store_array(z);
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
    pub fn scale(self, k: f64x4<S>) -> Self {
        Self { x: self.x * k, y: self.y * k, z: self.z * k }
    }

    /// `self·k + o`, fused.
    #[inline(always)]
    pub fn mul_add(self, k: f64x4<S>, o: Self) -> Self {
        Self { x: self.x.mul_add(k, o.x), y: self.y.mul_add(k, o.y), z: self.z.mul_add(k, o.z) }
    }

    #[inline(always)]
    pub fn dot(self, o: Self) -> f64x4<S> {
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
}

/// The point in one lane.
pub(crate) fn lane([x, y, z]: &PointQuad, lane: usize) -> DVec3 {
    DVec3::new(x[lane], y[lane], z[lane])
}

/// Replaces the point in one lane.
pub(crate) fn set_lane([x, y, z]: &mut PointQuad, lane: usize, p: DVec3) {
    (x[lane], y[lane], z[lane]) = (p.x, p.y, p.z);
}
