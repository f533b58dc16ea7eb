//! Half rows: eight points, which is what one register holds on AVX2. The same eight everywhere, so that sums over lanes
//! are the same.

use crate::simd::{LANES, Lanes, PointRow, Simd, prelude::*};
use fearless_simd::f32x8;

/// Points per half row.
pub(crate) const HALF: usize = LANES / 2;

/// Coordinates of eight points.
pub(crate) type Half<S> = [f32x8<S>; 3];

#[inline(always)]
pub(crate) fn load_lanes<S: Simd>(simd: S, lanes: &Lanes, half: usize) -> f32x8<S> {
    f32x8::load_array_ref(simd, &lanes.as_chunks::<HALF>().0[half])
}

#[inline(always)]
pub(crate) fn store_lanes<S: Simd>(v: f32x8<S>, lanes: &mut Lanes, half: usize) {
    v.store_array(&mut lanes.as_chunks_mut::<HALF>().0[half]);
}

#[inline(always)]
pub(crate) fn load_half<S: Simd>(simd: S, [x, y, z]: &PointRow, half: usize) -> Half<S> {
    [load_lanes(simd, x, half), load_lanes(simd, y, half), load_lanes(simd, z, half)]
}

#[inline(always)]
pub(crate) fn store_half<S: Simd>(v: Half<S>, [x, y, z]: &mut PointRow, half: usize) {
    store_lanes(v[0], x, half);
    store_lanes(v[1], y, half);
    store_lanes(v[2], z, half);
}

#[inline(always)]
pub(crate) fn dot<S: Simd>(a: Half<S>, b: Half<S>) -> f32x8<S> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

#[inline(always)]
pub(crate) fn cross<S: Simd>(a: Half<S>, b: Half<S>) -> Half<S> {
    [a[1].mul_sub(b[2], a[2] * b[1]), a[2].mul_sub(b[0], a[0] * b[2]), a[0].mul_sub(b[1], a[1] * b[0])]
}

#[inline(always)]
pub(crate) fn sub<S: Simd>(a: Half<S>, b: Half<S>) -> Half<S> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(crate) fn scale<S: Simd>(a: Half<S>, k: f32x8<S>) -> Half<S> {
    [a[0] * k, a[1] * k, a[2] * k]
}

/// `a·k + b`, fused.
#[inline(always)]
pub(crate) fn mul_add<S: Simd>(a: Half<S>, k: f32x8<S>, b: Half<S>) -> Half<S> {
    [a[0].mul_add(k, b[0]), a[1].mul_add(k, b[1]), a[2].mul_add(k, b[2])]
}

/// Four times eight values as eight records of four, and back: the first four lanes of the results are the records of
/// the first four points, one each, the others those of the points four farther on. It is [`crate::rings::transposed`] of
/// both blocks of four lanes at a go; they never mix, which is what makes it cheap.
#[inline(always)]
pub(crate) fn transposed_blocks<S: Simd>([a, b, c, d]: [f32x8<S>; 4]) -> [f32x8<S>; 4] {
    let ((ac0, ac1), (bd0, bd1)) = (zipped(a, c), zipped(b, d));
    let ((x, y), (z, w)) = (zipped(ac0, bd0), zipped(ac1, bd1));
    [x, y, z, w]
}

/// Interleaved within blocks of four lanes. The compiler sees that the halves swapped twice stay where they were.
#[inline(always)]
fn zipped<S: Simd>(a: f32x8<S>, b: f32x8<S>) -> (f32x8<S>, f32x8<S>) {
    let (low, high) = a.interleave(b);
    let ((l0, h0), (l1, h1)) = (low.split(), high.split());
    (l0.combine(l1), h0.combine(h1))
}

/// The sum of eight lanes in double precision.
#[inline(always)]
pub(crate) fn lane_sum<S: Simd>(v: f32x8<S>) -> f64 {
    let [a, b, c, d, e, f, g, h] = v.to_array().map(f64::from);
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The largest of eight lanes that are not negative.
#[inline(always)]
pub(crate) fn lane_max<S: Simd>(v: f32x8<S>) -> f32 {
    v.to_array().into_iter().fold(0.0, f32::max)
}
