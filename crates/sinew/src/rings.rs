//! Sums of faces around points, in single precision: the kernel of volumes and of normals from faces.
//!
//! The *area* of a point is the sum of the doubled area vectors of its faces, `A_i = Σ (q_j − q_i) × (q_{j+1} − q_i)` along
//! the ring of its neighbours; about the point itself, so that nothing cancels. Around a closed surface it is six times
//! the gradient of the volume inside.
//!
//! A point is a [`Record`] of 16 bytes, so that a neighbour is one load, and two points share a register; that is faster
//! here than rows whose lanes have to be gathered. A ring closes on its first neighbour. Where it is open or comes in
//! several pieces, the point itself stands between the ends: its edge is zero and adds nothing.

use crate::csr::Csr;
use crate::simd::{LANES, PointRow, Simd, prelude::*};
use crate::simd8::Half;
use fearless_simd::{f32x4, f32x8, u8x32};
use rayon::prelude::*;
use std::ops::Range;

/// x, y, z and x again: turning it by one lane gives y, z, x.
pub(crate) type Record = [f32; 4];

/// The neighbours of points, two points side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rings {
    /// Where the neighbours of each pair of points stop.
    stops: Vec<u32>,
    to: Vec<[u32; 2]>,
}

impl Rings {
    /// From the faces of `count` points, which is even.
    pub fn new(count: usize, faces: &[[u32; 3]]) -> Self {
        let corners = faces.iter().enumerate().flat_map(|(face, corners)| corners.map(|point| (point, face as u32)));
        let corners = Csr::new(count, corners.collect());
        let mut rings = Self { stops: Vec::with_capacity(count / 2), to: Vec::new() };
        let (mut first, mut second) = (Walk::default(), Walk::default());
        for pair in 0..count as u32 / 2 {
            let sides = |point: u32| {
                let faces = corners.of(point as usize).iter().map(|&face| faces[face as usize]);
                faces.map(move |corners| opposite(corners, point))
            };
            let [a, b] = [2 * pair, 2 * pair + 1];
            side_by_side(first.ring(a, sides(a)), second.ring(b, sides(b)), &mut rings.to);
            rings.stops.push(rings.to.len() as u32);
        }
        rings
    }

    /// Neighbours of a pair of points.
    #[inline(always)]
    pub fn of(&self, pair: usize) -> &[[u32; 2]] {
        let start = if pair == 0 { 0 } else { self.stops[pair - 1] as usize };
        &self.to[start..self.stops[pair] as usize]
    }

    /// Neighbours of some pairs of points.
    #[inline(always)]
    pub fn range(&self, pairs: Range<usize>) -> RingsOf<'_, [u32; 2]> {
        RingsOf::new(&self.stops, &self.to, pairs)
    }
}

/// Adds two rings as one of pairs.
pub(crate) fn side_by_side(first: &[u32], second: &[u32], to: &mut Vec<[u32; 2]>) {
    // The shorter one repeats its last neighbour, which adds nothing.
    let at = |ring: &[u32], k: usize| ring[k.min(ring.len() - 1)];
    to.extend((0..first.len().max(second.len())).map(|k| [at(first, k), at(second, k)]));
}

/// Rings, one after the other.
pub(crate) struct RingsOf<'a, N> {
    at: u32,
    stops: std::slice::Iter<'a, u32>,
    to: &'a [N],
}

impl<'a, N> RingsOf<'a, N> {
    /// Some of those that stop at `stops`.
    #[inline(always)]
    pub fn new(stops: &'a [u32], to: &'a [N], rings: Range<usize>) -> Self {
        let at = if rings.start == 0 { 0 } else { stops[rings.start - 1] };
        Self { at, stops: stops[rings].iter(), to: &to[at as usize..] }
    }
}

impl<'a, N> Iterator for RingsOf<'a, N> {
    type Item = &'a [N];

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let stop = *self.stops.next()?;
        let (ring, to) = self.to.split_at_checked((stop - self.at) as usize)?;
        (self.at, self.to) = (stop, to);
        Some(ring)
    }
}

/// The side of a face across from one of its corners.
pub(crate) fn opposite([a, b, c]: [u32; 3], point: u32) -> (u32, u32) {
    if a == point {
        (b, c)
    } else if b == point {
        (c, a)
    } else {
        (a, b)
    }
}

/// Strings sides together to rings.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// In the order of where they begin, and where the first of each such group stands, how many of it have been walked.
    sides: Vec<(u32, u32)>,
    walked: Vec<u32>,
    ends: Vec<u32>,
    ring: Vec<u32>,
}

impl Walk {
    /// The ring of a point with these sides across from it; never empty.
    pub fn ring(&mut self, point: u32, sides: impl Iterator<Item = (u32, u32)>) -> &[u32] {
        self.ring.clear();
        self.sides.clear();
        self.sides.extend(sides);
        self.sides.sort_unstable();
        self.ends.clear();
        self.ends.extend(self.sides.iter().map(|side| side.1));
        self.ends.sort_unstable();
        self.walked.clear();
        self.walked.resize(self.sides.len(), 0);
        let mut pieces = 0;
        let mut is_closed = true;
        // Open pieces first: they begin where no side ends.
        for open in [true, false] {
            for side in 0..self.sides.len() {
                let from = self.sides[side].0;
                if open && self.ends.binary_search(&from).is_ok() {
                    continue;
                }
                let Some(mut end) = self.step(from) else { continue };
                if pieces > 0 {
                    self.ring.push(point);
                }
                pieces += 1;
                self.ring.extend([from, end]);
                while let Some(next) = self.step(end) {
                    self.ring.push(next);
                    end = next;
                }
                is_closed &= end == from;
            }
        }
        if pieces == 1 && is_closed {
            self.ring.pop();
        } else {
            self.ring.push(point);
        }
        &self.ring
    }

    /// Where the next side from here leads.
    fn step(&mut self, from: u32) -> Option<u32> {
        let first = self.sides.partition_point(|side| side.0 < from);
        let walked = self.walked.get_mut(first)?;
        let side = self.sides.get(first + *walked as usize).filter(|side| side.0 == from)?;
        *walked += 1;
        Some(side.1)
    }
}

/// A neighbour of what a register holds two of: of two points side by side, or of one point in two shapes.
pub(crate) trait Neighbour<R>: Copy {
    /// Its two records.
    fn load<S: Simd>(self, simd: S, records: &[R]) -> f32x8<S>;
}

impl Neighbour<Record> for [u32; 2] {
    #[inline(always)]
    fn load<S: Simd>(self, simd: S, records: &[Record]) -> f32x8<S> {
        let [a, b] = [&records[self[0] as usize], &records[self[1] as usize]];
        f32x4::load_array_ref(simd, a).combine(f32x4::load_array_ref(simd, b))
    }
}

impl Neighbour<[Record; 2]> for u32 {
    #[inline(always)]
    fn load<S: Simd>(self, simd: S, records: &[[Record; 2]]) -> f32x8<S> {
        load_pair(simd, &records[self as usize])
    }
}

/// What [`areas`] turns its sums by.
#[inline(always)]
pub(crate) fn turn<S: Simd>(simd: S) -> u8x32<S> {
    const FROM: [u8; 16] = [4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7];
    let from = fearless_simd::u8x16::load_array_ref(simd, &FROM);
    from.combine(from)
}

/// The areas of the two at `here`, as records.
#[inline(always)]
pub(crate) fn areas<S: Simd, R, N: Neighbour<R>>(
    simd: S,
    ring: &[N],
    records: &[R],
    here: f32x8<S>,
    turn: u8x32<S>,
) -> f32x8<S> {
    let zero = f32x8::splat(simd, 0.0);
    let Some((&first, others)) = ring.split_first() else { return zero };
    // Edges point inwards: both of a product do, and the subtraction takes its operand from memory.
    let first = here - first.load(simd, records);
    let first_turned = first.slide_within_blocks::<1>(first);
    let (mut edge, mut turned) = (first, first_turned);
    let (mut plus, mut minus) = (zero, zero);
    let (mut other_plus, mut other_minus) = (zero, zero);
    // Two at a time into sums of their own: one alone waits for itself.
    let (twos, odd) = others.as_chunks::<2>();
    for [next, after] in twos {
        let next = here - next.load(simd, records);
        let next_turned = next.slide_within_blocks::<1>(next);
        plus = edge.mul_add(next_turned, plus);
        minus = turned.mul_add(next, minus);
        edge = here - after.load(simd, records);
        turned = edge.slide_within_blocks::<1>(edge);
        other_plus = next.mul_add(turned, other_plus);
        other_minus = next_turned.mul_add(edge, other_minus);
    }
    if let Some(next) = odd.first() {
        let next = here - next.load(simd, records);
        let next_turned = next.slide_within_blocks::<1>(next);
        plus = edge.mul_add(next_turned, plus);
        minus = turned.mul_add(next, minus);
        (edge, turned) = (next, next_turned);
    }
    other_plus = edge.mul_add(first_turned, other_plus);
    other_minus = turned.mul_add(first, other_minus);
    ((plus + other_plus) - (minus + other_minus)).swizzle_dyn_within_blocks(turn)
}

/// Two neighbouring records.
#[inline(always)]
pub(crate) fn load_pair<S: Simd>(simd: S, records: &[Record; 2]) -> f32x8<S> {
    f32x8::from_slice(simd, records.as_flattened())
}

/// The scalar products of a sum of products of records, in double precision.
#[inline(always)]
pub(crate) fn total<S: Simd>(sums: f32x8<S>) -> f64 {
    let [a, b, c, _, d, e, f, _] = sums.to_array().map(f64::from);
    (a + b + c) + (d + e + f)
}

/// Four vectors of four, turned: the first holds what was first in each. Within one block of a register, where it is cheap.
#[inline(always)]
pub(crate) fn transposed<S: Simd>([a, b, c, d]: [f32x4<S>; 4]) -> [f32x4<S>; 4] {
    let ((ac, ac_high), (bd, bd_high)) = (a.interleave(c), b.interleave(d));
    let ((first, second), (third, fourth)) = (ac.interleave(bd), ac_high.interleave(bd_high));
    [first, second, third, fourth]
}

/// Four points of a row as records, `(p − centre)·scale`.
#[inline(always)]
pub(crate) fn four_records<S: Simd>(
    simd: S,
    [x, y, z]: &PointRow,
    quarter: usize,
    centre: [f32; 3],
    scale: f32,
) -> [f32x4<S>; 4] {
    let scale = f32x4::splat(simd, scale);
    let x = f32x4::load_array_ref(simd, &x.as_chunks::<4>().0[quarter]) - f32x4::splat(simd, centre[0]);
    let y = f32x4::load_array_ref(simd, &y.as_chunks::<4>().0[quarter]) - f32x4::splat(simd, centre[1]);
    let z = f32x4::load_array_ref(simd, &z.as_chunks::<4>().0[quarter]) - f32x4::splat(simd, centre[2]);
    let x = x * scale;
    transposed([x, y * scale, z * scale, x])
}

/// A row of points as records, `(p − centre)·scale`.
#[inline(always)]
pub(crate) fn records_of<S: Simd>(simd: S, row: &PointRow, centre: [f32; 3], scale: f32, out: &mut [Record; LANES]) {
    for (quarter, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let [a, b, c, d] = four_records(simd, row, quarter, centre, scale);
        a.store_array(&mut out[0]);
        b.store_array(&mut out[1]);
        c.store_array(&mut out[2]);
        d.store_array(&mut out[3]);
    }
}

/// Coordinates of the first or second eight of sixteen records.
#[inline(always)]
pub(crate) fn coordinates<S: Simd>(simd: S, records: &[Record; LANES], half: usize) -> Half<S> {
    let fours = records.as_chunks::<4>().0;
    let (low, high) = (coordinates_of_four(simd, &fours[2 * half]), coordinates_of_four(simd, &fours[2 * half + 1]));
    [low[0].combine(high[0]), low[1].combine(high[1]), low[2].combine(high[2])]
}

#[inline(always)]
fn coordinates_of_four<S: Simd>(simd: S, [a, b, c, d]: &[Record; 4]) -> [f32x4<S>; 4] {
    let (a, b) = (f32x4::load_array_ref(simd, a), f32x4::load_array_ref(simd, b));
    transposed([a, b, f32x4::load_array_ref(simd, c), f32x4::load_array_ref(simd, d)])
}

/// Runs `work` on fixed blocks of two arrays at once, on the threads of a pool or here: the same blocks either way.
pub(crate) fn in_blocks<A: Send, B: Send>(
    pool: Option<&rayon::ThreadPool>,
    (a, a_len): (&mut [A], usize),
    (b, b_len): (&mut [B], usize),
    work: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) {
    match pool {
        Some(pool) if pool.current_num_threads() > 1 => pool.install(|| {
            let blocks = a.par_chunks_mut(a_len).zip(b.par_chunks_mut(b_len)).enumerate();
            // One by one: in longer pieces the last one of a pass keeps all but one thread waiting.
            blocks.with_max_len(1).for_each(|(block, (a, b))| work(block, a, b));
        }),
        _ => {
            for (block, (a, b)) in a.chunks_mut(a_len).zip(b.chunks_mut(b_len)).enumerate() {
                work(block, a, b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, dispatch};
    use glam::{DVec3, Vec3};

    #[inline(always)]
    fn all<S: Simd>(simd: S, rings: &Rings, records: &[Record]) -> Vec<Vec3> {
        let mut out = Vec::new();
        for (index, two) in records.as_chunks::<2>().0.iter().enumerate() {
            let sums = areas(simd, rings.of(index), records, load_pair(simd, two), turn(simd)).to_array();
            out.extend([Vec3::from_slice(&sums), Vec3::from_slice(&sums[4..])]);
        }
        out
    }

    /// Faces in disorder around points in disorder, some rings open, some in pieces, one point without any.
    #[test]
    fn areas_are_sums_over_faces() {
        let faces = [
            [0, 1, 2],
            [0, 3, 4],
            [0, 2, 3],
            [0, 4, 1],
            [5, 1, 0],
            [5, 0, 4],
            [6, 2, 1],
            [6, 3, 2],
            [2, 6, 5],
            [1, 6, 2],
        ];
        let records: Vec<Record> = (0..8)
            .map(|i| {
                let [x, y, z] = [12.9898, 78.233, 37.719].map(|k| (k * (i + 1) as f32).sin() * 0.1 + 5.0);
                [x, y, z, x]
            })
            .collect();
        let at = |point: u32| DVec3::from(std::array::from_fn(|axis| f64::from(records[point as usize][axis])));
        let mut expected = [DVec3::ZERO; 8];
        for face in faces {
            let [a, b, c] = face.map(at);
            face.iter().for_each(|&point| expected[point as usize] += (b - a).cross(c - a));
        }
        let rings = Rings::new(8, &faces);
        for level in [Level::baseline(), Level::new()] {
            for (found, expected) in dispatch!(level, simd => all(simd, &rings, &records)).iter().zip(expected) {
                assert!(found.as_dvec3().distance(expected) < 1e-7, "{found} {expected}");
            }
        }
    }
}
