//! Every face once: the cheap way to add up what faces give where no point asks for its own.
//!
//! With the areas A of [`crate::rings`] and the doubled area vectors `N = (w_b − w_a) × (w_c − w_a)` of faces,
//!
//! `Σ p·A(w) = Σ (p_a + p_b + p_c)·N` and `Σ w·A(w) = 3 Σ w_a·N` over faces,
//!
//! and the right sides meet a face once where the left ones meet it at each corner. A *patch* is a run of faces around a
//! point: its neighbours are loaded once for two faces. Patches next to a whole ring are taken around the points across
//! from its sides; on a regular mesh that covers everything with whole rings of every third point.

use crate::csr::Csr;
use crate::rings::{Neighbour, Record, RingsOf, Walk, opposite, side_by_side, total, turn};
use crate::simd::{LANES, Simd, prelude::*};
use fearless_simd::f32x8;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::RangeInclusive;

/// Pairs of patches that a thread takes at a time.
const BLOCK: usize = 128;
/// Pairs whose sums are made in single precision.
const TOGETHER: usize = 8;
/// Patches among which pairs of one length are sought: near enough to share memory.
const NEAR: usize = 64;

/// Patches, two side by side.
#[derive(Clone, Debug)]
pub(super) struct Patches {
    centres: Vec<[u32; 2]>,
    /// Where the neighbours of each pair stop.
    stops: Vec<u32>,
    to: Vec<[u32; 2]>,
}

impl Patches {
    /// Of the faces of `count` points.
    pub fn new(count: usize, faces: &[[u32; 3]]) -> Self {
        let mut cover = Cover::new(count, faces);
        let mut queue = VecDeque::new();
        // Regular rings first: those across from the sides of others get into each other's way.
        for degrees in [6..=6, 4..=8] {
            for seed in 0..count as u32 {
                queue.push_back(seed);
                while let Some(point) = queue.pop_front() {
                    if cover.is_whole(point, &degrees) {
                        cover.take(point);
                        queue.extend(cover.across());
                    }
                }
            }
        }
        // What is left, most at a go.
        let left = |cover: &Cover<'_>, point: u32| (cover.left[point as usize], Reverse(point));
        let mut heap: BinaryHeap<(u32, Reverse<u32>)> = (0..count as u32).map(|point| left(&cover, point)).collect();
        while let Some((faces, Reverse(point))) = heap.pop() {
            match cover.left[point as usize] {
                0 => {}
                now if now < faces => heap.push(left(&cover, point)),
                _ => cover.take(point),
            }
        }

        let mut patches = cover.patches;
        patches.sort_by_key(|patch| patch.0);
        patches.chunks_mut(NEAR).for_each(|near| near.sort_by_key(|(_, ring)| ring.len()));
        let pairs = patches.len().div_ceil(2);
        let mut out = Self { centres: Vec::with_capacity(pairs), stops: Vec::with_capacity(pairs), to: Vec::new() };
        for two in patches.chunks(2) {
            // The last one may stand beside a point without a face.
            let alone = (two[0].0, vec![two[0].0]);
            let (first, second) = (&two[0], two.get(1).unwrap_or(&alone));
            out.centres.push([first.0, second.0]);
            side_by_side(&first.1, &second.1, &mut out.to);
            out.stops.push(out.to.len() as u32);
        }
        out
    }

    /// Blocks of work.
    pub fn blocks(&self) -> usize {
        self.stops.len().div_ceil(BLOCK)
    }

    /// `Σ p·A(w)` and `Σ w·A(w)` over a block; patches around points in rows that are not at hand move nothing.
    #[inline(always)]
    pub fn sums<S: Simd>(
        &self,
        simd: S,
        block: usize,
        points: &[Record],
        moves: &[Record],
        at_hand: &[bool],
    ) -> [f64; 2] {
        // One length for both: their indices are checked once.
        let moves = &moves[..points.len()];
        let turn = turn(simd);
        let zero = f32x8::splat(simd, 0.0);
        let mut sums = [0.0; 2];
        let stop = self.stops.len().min((block + 1) * BLOCK);
        for start in (block * BLOCK..stop).step_by(TOGETHER) {
            let pairs = start..stop.min(start + TOGETHER);
            let [mut second, mut third] = [zero; 2];
            for (ring, &centre) in RingsOf::new(&self.stops, &self.to, pairs.clone()).zip(&self.centres[pairs]) {
                let Some((&first, others)) = ring.split_first() else { continue };
                if !centre.map(|at| at_hand[at as usize / LANES]).contains(&true) {
                    continue;
                }
                let here = centre.load(simd, moves);
                let first_edge = here - first.load(simd, moves);
                let first_turned = first_edge.slide_within_blocks::<1>(first_edge);
                let (mut edge, mut turned) = (first_edge, first_turned);
                // A sum of its own for each patch: they need not wait for each other.
                let [mut before, mut all, mut own] = [zero; 3];
                let mut point = first.load(simd, points);
                for next in others {
                    let next_edge = here - next.load(simd, moves);
                    let next_turned = next_edge.slide_within_blocks::<1>(next_edge);
                    let area = edge.mul_sub(next_turned, turned * next_edge);
                    own = point.mul_add((before + area).swizzle_dyn_within_blocks(turn), own);
                    all += area;
                    (edge, turned, before) = (next_edge, next_turned, area);
                    point = next.load(simd, points);
                }
                let area = edge.mul_sub(first_turned, turned * first_edge);
                own = point.mul_add((before + area).swizzle_dyn_within_blocks(turn), own);
                own = first.load(simd, points).mul_add(area.swizzle_dyn_within_blocks(turn), own);
                let all = (all + area).swizzle_dyn_within_blocks(turn);
                second += centre.load(simd, points).mul_add(all, own);
                third = here.mul_add(all, third);
            }
            sums[0] += total(second);
            sums[1] += 3.0 * total(third);
        }
        sums
    }
}

/// What has been covered while patches are chosen.
struct Cover<'a> {
    faces: &'a [[u32; 3]],
    corners: Csr,
    /// The corner across from each directed edge.
    across: Vec<((u32, u32), u32)>,
    is_taken: Vec<bool>,
    /// Faces of each point that are not taken.
    left: Vec<u32>,
    sides: Vec<(u32, u32)>,
    walk: Walk,
    patches: Vec<(u32, Vec<u32>)>,
}

impl<'a> Cover<'a> {
    fn new(count: usize, faces: &'a [[u32; 3]]) -> Self {
        let corners = faces.iter().enumerate().flat_map(|(face, corners)| corners.map(|point| (point, face as u32)));
        let corners = Csr::new(count, corners.collect());
        let edges = faces.iter().flat_map(|&[a, b, c]| [((a, b), c), ((b, c), a), ((c, a), b)]);
        let mut across: Vec<((u32, u32), u32)> = edges.collect();
        across.sort_unstable();
        let left = (0..count).map(|point| corners.of(point).len() as u32).collect();
        let is_taken = vec![false; faces.len()];
        Self { faces, corners, across, is_taken, left, sides: Vec::new(), walk: Walk::default(), patches: Vec::new() }
    }

    /// It has as many faces, and none is taken.
    fn is_whole(&self, point: u32, degrees: &RangeInclusive<u32>) -> bool {
        let left = self.left[point as usize];
        degrees.contains(&left) && left as usize == self.corners.of(point as usize).len()
    }

    /// Makes a patch of all faces that are left around a point.
    fn take(&mut self, point: u32) {
        self.sides.clear();
        for &face in self.corners.of(point as usize) {
            let corners = self.faces[face as usize];
            if !std::mem::replace(&mut self.is_taken[face as usize], true) {
                corners.iter().for_each(|&corner| self.left[corner as usize] -= 1);
                self.sides.push(opposite(corners, point));
            }
        }
        self.patches.push((point, self.walk.ring(point, self.sides.iter().copied()).to_vec()));
    }

    /// The points across from the sides of the newest patch.
    fn across(&self) -> impl Iterator<Item = u32> {
        let ring = self.patches.last().map_or(&[][..], |patch| &patch.1);
        let sides = ring.iter().zip(ring.iter().cycle().skip(1));
        sides.filter_map(|(&a, &b)| {
            let at = self.across.partition_point(|side| side.0 < (b, a));
            self.across.get(at).filter(|side| side.0 == (b, a)).map(|side| side.1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, dispatch};
    use glam::DVec3;

    fn random(seed: &mut u32) -> f32 {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*seed >> 8) as f32 / (1 << 24) as f32
    }

    fn place(record: &Record) -> DVec3 {
        DVec3::new(f64::from(record[0]), f64::from(record[1]), f64::from(record[2]))
    }

    /// A band of 24 by 31 cells with edges turned here and there, one face thrice and a point without any.
    fn faces() -> (usize, Vec<[u32; 3]>) {
        let (rings, around) = (25u32, 31u32);
        let at = |i: u32, k: u32| i * around + k % around;
        let mut faces = Vec::new();
        let mut seed = 3;
        for (i, k) in (0..rings - 1).flat_map(|i| (0..around).map(move |k| (i, k))) {
            let [a, b, c, d] = [at(i, k), at(i, k + 1), at(i + 1, k + 1), at(i + 1, k)];
            faces.extend(if random(&mut seed) < 0.8 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
        faces.extend([faces[70], faces[70]]);
        ((rings * around + 1) as usize, faces)
    }

    #[test]
    fn sums_are_those_over_faces() {
        let (count, faces) = faces();
        let mut seed = 9;
        let mut records = |size: f32| -> Vec<Record> {
            (0..count.next_multiple_of(2))
                .map(|_| {
                    let [x, y, z] = [random(&mut seed), random(&mut seed), random(&mut seed)].map(|v| v * size);
                    [x, y, z, x]
                })
                .collect()
        };
        let (points, moves) = (records(2.0), records(0.3));
        let (mut second, mut third) = (0.0, 0.0);
        for face in &faces {
            let [p, w] = [&points, &moves].map(|records| face.map(|at| place(&records[at as usize])));
            let area = (w[1] - w[0]).cross(w[2] - w[0]);
            second += (p[0] + p[1] + p[2]).dot(area);
            third += 3.0 * w[0].dot(area);
        }
        let patches = Patches::new(count, &faces);
        let at_hand = vec![true; count.div_ceil(LANES)];
        for level in [Level::baseline(), Level::new()] {
            let mut found = [0.0; 2];
            for block in 0..patches.blocks() {
                let sums = dispatch!(level, simd => patches.sums(simd, block, &points, &moves, &at_hand));
                found = [found[0] + sums[0], found[1] + sums[1]];
            }
            assert!((found[0] - second).abs() < 1e-4 * second.abs(), "{found:?} {second}");
            assert!((found[1] - third).abs() < 1e-4 * third.abs(), "{found:?} {third}");
        }
    }

    #[test]
    fn a_regular_mesh_is_covered_by_whole_rings() {
        let (rings, around) = (40u32, 60u32);
        // The pole comes first.
        let at = |i: u32, k: u32| 1 + i * around + k % around;
        let cells = (0..rings - 1).flat_map(|i| (0..around).map(move |k| (i, k)));
        let faces = cells.flat_map(|(i, k)| {
            let [a, b, c, d] = [at(i, k), at(i, k + 1), at(i + 1, k + 1), at(i + 1, k)];
            [[a, b, c], [a, c, d]]
        });
        let faces: Vec<[u32; 3]> = faces.chain((0..around).map(|k| [at(0, k + 1), at(0, k), 0])).collect();
        let patches = Patches::new(1 + (rings * around) as usize, &faces);
        let steps = 2 * patches.to.len();
        assert!(steps < faces.len() * 11 / 10, "{steps} neighbours for {} faces", faces.len());
    }
}
