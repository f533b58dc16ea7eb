//! The loops of [`super::whole_rows`]: records in and out, bends, moves.

use crate::csr::Csr;
use crate::rig::Rig;
use crate::rings::{Record, Rings, areas, coordinates, load_pair, records_of, total, turn};
use crate::simd::{LANES, PointRow, Simd, prelude::*};
use crate::simd8::{HALF, lane_max, store_lanes};
use fearless_simd::{f32x4, f32x8};
use glam::{DVec3, Vec3};

/// Rows that a thread takes at a time.
pub(super) const BLOCK: usize = 64;
/// Bends below are rounding.
pub(super) const LEAST_BEND: f32 = 1e-6;
/// Instead of a bend: not to be moved.
pub(super) const BARRED: f32 = f32::NEG_INFINITY;

/// What a pass adds up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub first: f64,
    pub second: f64,
    pub squares: f64,
    pub largest: f32,
}

impl Sums {
    pub fn total(all: &[Self]) -> Self {
        all.iter().fold(Self::default(), |sum, block| Self {
            first: sum.first + block.first,
            second: sum.second + block.second,
            squares: sum.squares + block.squares,
            largest: sum.largest.max(block.largest),
        })
    }
}

/// Where records are: `(p − centre)·scale`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    pub centre: Vec3,
    pub scale: f32,
}

impl Space {
    pub fn record(&self, p: Vec3) -> Vec3 {
        (p - self.centre) * self.scale
    }
}

/// How the map depends on bends: `γ(even + k·bend)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    pub even: f32,
    pub k: f32,
}

impl Share {
    /// The map alone.
    pub const EVERYWHERE: Self = Self { even: 1.0, k: 0.0 };
}

pub(super) fn record(v: Vec3) -> Record {
    [v.x, v.y, v.z, v.x]
}

pub(super) fn place(record: &Record) -> DVec3 {
    DVec3::new(f64::from(record[0]), f64::from(record[1]), f64::from(record[2]))
}

/// Each apex is the mean of its ring.
pub(super) fn place_apexes(apexes: &Csr, record_of: &[u32], records: &mut [Record]) {
    let first = record_of.len() - apexes.len();
    for (apex, ring) in apexes.iter().enumerate() {
        let sum: DVec3 = ring.iter().map(|&node| place(&records[record_of[node as usize] as usize])).sum();
        records[record_of[first + apex] as usize] = record((sum / ring.len() as f64).as_vec3());
    }
}

#[inline(always)]
pub(super) fn load<S: Simd>(simd: S, rows: &[PointRow], at_hand: &[bool], space: Space, records: &mut [Record]) -> f32 {
    let mut farthest = f32x8::splat(simd, 0.0);
    for ((row, &at_hand), records) in rows.iter().zip(at_hand).zip(records.as_chunks_mut::<LANES>().0) {
        if at_hand {
            records_of(simd, row, space.centre.to_array(), space.scale, records);
            for axis in row {
                for half in axis.as_chunks::<HALF>().0 {
                    farthest = farthest.max(f32x8::load_array_ref(simd, half).abs());
                }
            }
        }
    }
    lane_max(farthest)
}

/// `1 − det(Σ w_i R_i) / Σ w_i det(R_i)` of a row: 0 where one bone has all the weight or all move alike, towards 1 where
/// a twist collapses the skin; and the largest.
#[inline(always)]
pub(super) fn bend<S: Simd>(simd: S, rig: &Rig, row: usize, matrices: &[[f32; 10]], out: &mut [f32; LANES]) -> f32 {
    let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
    let skin = rig.rows()[row].skin.start as usize..rig.rows()[row].skin.end as usize;
    let (entries, weights) = (&rig.skin_entries()[skin.clone()], &rig.skin_weights()[skin]);
    let mut largest = zero;
    for (half, out) in out.as_chunks_mut::<HALF>().0.iter_mut().enumerate() {
        let mut sums = [zero; 10];
        for (&entry, weights) in entries.iter().zip(weights) {
            let weight = f32x8::load_array_ref(simd, &weights.as_chunks::<HALF>().0[half]);
            let matrix = &matrices[entry as usize];
            for k in 0..10 {
                sums[k] = weight.mul_add(f32x8::splat(simd, matrix[k]), sums[k]);
            }
        }
        let [a, b, c, d, e, f, g, h, i, unblended] = sums;
        let (x, y, z) = (e.mul_sub(i, f * h), f.mul_sub(g, d * i), d.mul_sub(h, e * g));
        let blended = c.mul_add(z, b.mul_add(y, a * x));
        let lost = one - blended / unblended;
        let counts = lost.simd_gt(f32x8::splat(simd, LEAST_BEND)) & lost.simd_lt(f32x8::splat(simd, f32::MAX));
        let lost = counts.select(lost, zero);
        largest = largest.max(lost);
        lost.store_array(out);
    }
    lane_max(largest)
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel takes what it reads")]
pub(super) fn aim<S: Simd>(
    simd: S,
    (rings, gamma): (&Rings, &[f32]),
    share: Share,
    points: &[Record],
    bends: &[f32],
    free: &[bool],
    block: usize,
    moves: &mut [Record],
) -> Sums {
    let turn = turn(simd);
    let zero = f32x8::splat(simd, 0.0);
    let (even, k) = (f32x8::splat(simd, share.even), f32x8::splat(simd, share.k));
    let barred = f32x8::splat(simd, BARRED);
    let mut sums = Sums::default();
    let mut longest = zero;
    let first = block * BLOCK * LANES;
    for (row, moves) in moves.chunks_mut(LANES).enumerate() {
        if !free[block * BLOCK + row] {
            continue;
        }
        let first = first + row * LANES;
        let [mut volume, mut slope, mut squares] = [zero; 3];
        let records = first..first + moves.len();
        let rings = rings.range(first / 2..first / 2 + moves.len() / 2);
        let here = points[records.clone()].as_chunks::<2>().0.iter().zip(moves.as_chunks_mut::<2>().0);
        let weights = gamma[records.clone()].as_chunks::<2>().0.iter().zip(bends[records].as_chunks::<2>().0);
        for (ring, ((here, moves), (gamma, bends))) in rings.zip(here.zip(weights)) {
            let here = load_pair(simd, here);
            let area = areas(simd, ring, points, here, turn);
            let gamma = f32x4::splat(simd, gamma[0]).combine(f32x4::splat(simd, gamma[1]));
            let bend = f32x4::splat(simd, bends[0]).combine(f32x4::splat(simd, bends[1]));
            let weight = gamma * k.mul_add(bend, even);
            let moving = weight.simd_gt(zero);
            volume = here.mul_add(bend.simd_gt(barred).select(area, zero), volume);
            let area = moving.select(area, zero);
            let step = moving.select(weight * area, zero);
            step.store_slice(moves.as_flattened_mut());
            slope = step.mul_add(area, slope);
            squares = area.mul_add(area, squares);
            longest = longest.max(step * step);
        }
        sums.first += total(volume);
        sums.second += total(slope);
        sums.squares += total(squares);
    }
    Sums { largest: at_most(longest), ..sums }
}

/// A bound on the square of the longest move, from the largest square in each direction.
#[inline(always)]
pub(super) fn at_most<S: Simd>(squares: f32x8<S>) -> f32 {
    let [a, b, c, d, e, f, g, h] = squares.to_array();
    ((a + b) + (c + d)).max((e + f) + (g + h))
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel takes what it reads")]
pub(super) fn store<S: Simd>(
    simd: S,
    rows: &mut [PointRow],
    free: &[bool],
    points: &[Record],
    moves: &[Record],
    space: Space,
    factor: f32,
    unit: f32,
    ways: &mut [f32],
) {
    let (scale, factor) = (f32x8::splat(simd, space.scale), f32x8::splat(simd, factor));
    let unit = f32x8::splat(simd, unit);
    let (points, moves) = (points.as_chunks::<LANES>().0.iter(), moves.as_chunks::<LANES>().0);
    let records = points.zip(moves).zip(ways.as_chunks_mut::<LANES>().0);
    for ((row, &free), ((points, moves), ways)) in rows.iter_mut().zip(free).zip(records) {
        if !free {
            ways.fill(0.0);
            continue;
        }
        for half in 0..2 {
            let (p, w) = (coordinates(simd, points, half), coordinates(simd, moves, half));
            let mut square = f32x8::splat(simd, 0.0);
            for axis in 0..3 {
                let lanes = &mut row[axis].as_chunks_mut::<HALF>().0[half];
                let here = f32x8::load_array_ref(simd, lanes);
                let start = (here - f32x8::splat(simd, space.centre[axis])) * scale;
                let moved = w[axis].mul_add(factor, p[axis] - start);
                square = moved.mul_add(moved, square);
                moved.mul_add(unit, here).store_array(lanes);
            }
            store_lanes(square, ways, half);
        }
    }
}
