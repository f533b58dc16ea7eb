//! The loops of [`super::segment_steps`]: moves, their cubics, strips.

use super::segment_rows::{BATCH, Batch, BindBatch, Kind, RowStrip, RunSums, SegmentRows, StripSums};
use super::whole_kernels::BLOCK;
use crate::rings::{Record, Rings, areas, load_pair, transposed, turn};
use crate::simd::{LANES, Simd, f32x4, f64x4, prelude::*};
use fearless_simd::f32x8;
use glam::DAffine3;

/// One value for each point of a pair.
#[inline(always)]
pub(super) fn splat_pair<S: Simd>(simd: S, [a, b]: [f32; 2]) -> f32x8<S> {
    f32x4::splat(simd, a).combine(f32x4::splat(simd, b))
}

/// The scalar product that a sum over one point of each pair holds.
#[inline(always)]
pub(super) fn sum_of<S: Simd>(sums: f64x4<S>) -> f64 {
    // Fewer than all lanes, and the compiler keeps the sums in pieces.
    let [x, y, z, w] = sums.to_array();
    (x + y + z + w) - w
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel takes what it reads")]
pub(super) fn aim<S: Simd>(
    simd: S,
    (rings, gamma): (&Rings, &[f32]),
    segments: &SegmentRows,
    active: &[f32],
    points: &[Record],
    block: usize,
    moves: &mut [Record],
    sums: &mut [RunSums],
) {
    let turn = turn(simd);
    let (zero, none) = (f32x8::splat(simd, 0.0), f64x4::splat(simd, 0.0));
    let first = block * BLOCK * LANES / 2;
    for (run, sums) in segments.runs_of(block).iter().zip(sums) {
        *sums = RunSums::default();
        let [start, stop] = [run.pairs[0] as usize, run.pairs[1] as usize];
        let moves = &mut moves.as_chunks_mut::<2>().0[start - first..stop - first];
        let active = [active[run.segments[0] as usize], active[run.segments[1] as usize]];
        if active == [0.0; 2] {
            moves.fill([[0.0; 4]; 2]);
            continue;
        }
        let active = splat_pair(simd, active);
        let (mut volume, mut slope) = ([none; 2], [none; 2]);
        let [mut squares, mut longest] = [zero; 2];
        let here = points.as_chunks::<2>().0[start..stop].iter();
        let gamma = gamma.as_chunks::<2>().0[start..stop].iter();
        for (ring, ((here, gamma), moves)) in rings.range(start..stop).zip(here.zip(gamma).zip(moves)) {
            let here = load_pair(simd, here);
            let area = areas(simd, ring, points, here, turn);
            let step = splat_pair(simd, *gamma) * active * area;
            step.store_slice(moves.as_flattened_mut());
            let ((p0, p1), (a0, a1)) = (here.widen(), area.widen());
            volume[0] = p0.mul_add(a0, volume[0]);
            volume[1] = p1.mul_add(a1, volume[1]);
            let (s0, s1) = (step * area).widen();
            slope[0] += s0;
            slope[1] += s1;
            squares = area.mul_add(area, squares);
            longest = longest.max(step * step);
        }
        let (squares0, squares1) = squares.widen();
        let [a, b, c, d, e, f, g, h] = longest.to_array();
        *sums = RunSums {
            first: [sum_of(volume[0]), sum_of(volume[1])],
            second: [sum_of(slope[0]), sum_of(slope[1])],
            squares: [sum_of(squares0), sum_of(squares1)],
            longest: [(a + b + c) + d, (e + f + g) + h],
        };
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel takes what it reads")]
pub(super) fn bent<S: Simd>(
    simd: S,
    rings: &Rings,
    segments: &SegmentRows,
    active: &[f32],
    points: &[Record],
    moves: &[Record],
    block: usize,
    sums: &mut [RunSums],
) {
    let turn = turn(simd);
    let none = f64x4::splat(simd, 0.0);
    for (run, sums) in segments.runs_of(block).iter().zip(sums) {
        *sums = RunSums::default();
        if active[run.segments[0] as usize] == 0.0 && active[run.segments[1] as usize] == 0.0 {
            continue;
        }
        let [start, stop] = [run.pairs[0] as usize, run.pairs[1] as usize];
        let (mut second, mut third) = ([none; 2], [none; 2]);
        let here = points.as_chunks::<2>().0[start..stop].iter().zip(&moves.as_chunks::<2>().0[start..stop]);
        for (ring, (here, step)) in rings.range(start..stop).zip(here) {
            let step = load_pair(simd, step);
            let area = areas(simd, ring, moves, step, turn);
            let (s0, s1) = (load_pair(simd, here) * area).widen();
            let (t0, t1) = (step * area).widen();
            second[0] += s0;
            second[1] += s1;
            third[0] += t0;
            third[1] += t1;
        }
        sums.first = [sum_of(second[0]), sum_of(second[1])];
        sums.second = [sum_of(third[0]), sum_of(third[1])];
    }
}

#[inline(always)]
pub(super) fn advance<S: Simd>(
    simd: S,
    segments: &SegmentRows,
    factors: &[f32],
    moves: &[Record],
    block: usize,
    points: &mut [Record],
) {
    let first = block * BLOCK * LANES / 2;
    for run in segments.runs_of(block) {
        let factor = [factors[run.segments[0] as usize], factors[run.segments[1] as usize]];
        if factor == [0.0; 2] {
            continue;
        }
        let factor = splat_pair(simd, factor);
        let [start, stop] = [run.pairs[0] as usize, run.pairs[1] as usize];
        let points = &mut points.as_chunks_mut::<2>().0[start - first..stop - first];
        for (point, step) in points.iter_mut().zip(&moves.as_chunks::<2>().0[start..stop]) {
            let moved = load_pair(simd, step).mul_add(factor, load_pair(simd, point));
            moved.store_slice(point.as_flattened_mut());
        }
    }
}

/// Four vectors.
type Four<S> = [f64x4<S>; 3];

#[inline(always)]
pub(super) fn dot<S: Simd>(a: Four<S>, b: Four<S>) -> f64x4<S> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

#[inline(always)]
pub(super) fn cross<S: Simd>(a: Four<S>, b: Four<S>) -> Four<S> {
    [a[1].mul_sub(b[2], a[2] * b[1]), a[2].mul_sub(b[0], a[0] * b[2]), a[0].mul_sub(b[1], a[1] * b[0])]
}

#[inline(always)]
pub(super) fn add<S: Simd>(a: Four<S>, b: Four<S>) -> Four<S> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Four records, by coordinates.
#[inline(always)]
pub(super) fn gather<S: Simd>(simd: S, records: &[Record], [a, b, c, d]: &[u32; BATCH]) -> Four<S> {
    let (a, b) = (&records[*a as usize], &records[*b as usize]);
    let (c, d) = (&records[*c as usize], &records[*d as usize]);
    let (a, b) = (f32x4::load_array_ref(simd, a), f32x4::load_array_ref(simd, b));
    let (c, d) = (f32x4::load_array_ref(simd, c), f32x4::load_array_ref(simd, d));
    let [x, y, z, _] = transposed([a, b, c, d]);
    let ((x, y), (z, _)) = (x.combine(y).widen(), z.combine(z).widen());
    [x, y, z]
}

#[inline(always)]
pub(super) fn carried<S: Simd>(simd: S, carry: &DAffine3, place: &[[f64; BATCH]; 3]) -> Four<S> {
    let [x, y, z] = place;
    let (x, y) = (f64x4::load_array_ref(simd, x), f64x4::load_array_ref(simd, y));
    let z = f64x4::load_array_ref(simd, z);
    let mut out = [f64x4::splat(simd, 0.0); 3];
    for axis in 0..3 {
        let (a, b) = (f64x4::splat(simd, carry.matrix3.x_axis[axis]), f64x4::splat(simd, carry.matrix3.y_axis[axis]));
        let (c, d) = (f64x4::splat(simd, carry.matrix3.z_axis[axis]), f64x4::splat(simd, carry.translation[axis]));
        out[axis] = a.mul_add(x, b.mul_add(y, c.mul_add(z, d)));
    }
    out
}

#[inline(always)]
pub(super) fn strip_sums<S: Simd>(
    simd: S,
    strip: &RowStrip,
    batches: &[Batch],
    bind: &[BindBatch],
    carry: &DAffine3,
    points: &[Record],
    moves: &[Record],
) -> StripSums {
    let none = f64x4::splat(simd, 0.0);
    let (mut cone, mut terms) = ([none; 8], [none; 8]);
    let edges = strip.edges();
    for (batch, bind) in batches.iter().zip(bind) {
        let [a, b, c] = &batch.records;
        let p = [gather(simd, points, a), gather(simd, points, b), gather(simd, points, c)];
        let w = [gather(simd, moves, a), gather(simd, moves, b), gather(simd, moves, c)];
        let r = [carried(simd, carry, &bind[0]), carried(simd, carry, &bind[1]), carried(simd, carry, &bind[2])];
        // Products of the two corners that follow one.
        let pp = [cross(p[1], p[2]), cross(p[2], p[0]), cross(p[0], p[1])];
        let ww = [cross(w[1], w[2]), cross(w[2], w[0]), cross(w[0], w[1])];
        cone[0] += dot(p[0], pp[0]);
        cone[7] += dot(w[0], ww[0]);
        for corner in 0..3 {
            cone[1 << corner] += dot(w[corner], pp[corner]);
            cone[7 ^ 1 << corner] += dot(p[corner], ww[corner]);
        }
        for corner in 0..3 {
            if edges[corner] == 0.0 {
                continue;
            }
            let half = f64x4::splat(simd, edges[corner]);
            let (next, other) = ((corner + 1) % 3, (corner + 2) % 3);
            let (area, sum) = (cross(r[corner], r[next]), add(r[corner], r[next]));
            let still = dot(area, add(p[corner], p[next])) - dot(sum, pp[other]);
            let from = dot(w[corner], add(area, cross(sum, p[next])));
            let to = dot(w[next], add(area, cross(p[corner], sum)));
            terms[0] = half.mul_add(still, terms[0]);
            terms[1 << corner] = half.mul_add(from, terms[1 << corner]);
            terms[1 << next] = half.mul_add(to, terms[1 << next]);
            let both = 7 ^ 1 << other;
            terms[both] -= half * dot(sum, ww[other]);
        }
        if strip.kind == Kind::Sheets {
            terms[0] -= dot(r[0], cross(r[1], r[2]));
        }
    }
    let mut sums = StripSums::default();
    for k in 0..8 {
        let [a, b, c, d] = cone[k].to_array();
        sums.cone[k] = (a + b) + (c + d);
        let [a, b, c, d] = terms[k].to_array();
        sums.terms[k] = (a + b) + (c + d);
        if strip.kind != Kind::Caps {
            sums.terms[k] += sums.cone[k];
        }
    }
    sums
}
