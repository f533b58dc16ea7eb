//! The whole volume of [`super::local_volume`] in single precision, straight in the rows of a frame: what a body is
//! restored by where nothing else asks for its nodes.
//!
//! With the areas A of [`crate::rings`], over all nodes, and `w = γA`, which points along the normals,
//!
//! `V(p + t w) = c0 + c1 t + c2 t² + c3 t³`, `c0 = ⅟₁₈ Σ p·A(p)`, `c1 = ⅙ Σ w·A(p)`, `c2 = ⅙ Σ p·A(w)`, `c3 = ⅟₁₈ Σ w·A(w)`:
//!
//! a pass over the rings and one over the faces ([`super::patches`]) give the whole cubic, and its root is the exact step.
//! Nodes on capped borders, whose normals do not see the cap, and apexes are few and done one by one. Points are in sizes
//! of the character about a point inside, sums are of some points in single and over all of them in double precision, in
//! an order that does not change.
//!
//! Where some segments are still, rows without a node that may move are passed over, and the volume is that of the
//! triangles at hand and the closed form of the others.
//!
//! Oracle: the f64 solver, to the rounding of positions (tests); the volume of the result (tests/volume.rs).

use super::body::{Body, bounded, unit};
use super::local_volume::{EXACT, Limits, Outcome, ROUNDS, Restored, WITH_EFFECTS, first_root};
use super::patches::Patches;
use super::segment_rows::{SegmentRows, SegmentRowsScratch};
use super::surface::Surface;
use crate::half_rows::{HALF, lane_max, store_lanes};
use crate::lists::Lists;
use crate::rig::Rig;
use crate::rings::{Record, Rings, areas, coordinates, in_blocks, load_pair, records_of, total, turn};
use crate::simd::{LANES, Level, PointRow, Points, Simd, dispatch, prelude::*};
use fearless_simd::{f32x4, f32x8};
use glam::{DAffine3, DVec3, Vec3};
use std::ops::Range;

/// Rows that a thread takes at a time.
pub(super) const BLOCK: usize = 64;
/// Bends below are rounding.
const LEAST_BEND: f32 = 1e-6;
/// Instead of a bend: not to be moved.
const BARRED: f32 = f32::NEG_INFINITY;

/// The body of one character in rows.
#[derive(Clone, Debug)]
pub(super) struct VolumeRows {
    rows: Range<usize>,
    /// Of what encloses the volume; of sheets too, where segments are asked for.
    pub rings: Rings,
    /// Of the same faces.
    patches: Patches,
    /// Share of every record; 0 for sheets and those on capped borders.
    gamma: Vec<f32>,
    /// Records of nodes and apexes.
    pub record_of: Vec<u32>,
    /// Segment of every record; their number for those that are no node.
    segment_of: Vec<u32>,
    /// Rows with corners of the triangles of each segment, with records of its nodes, and with nodes on capped borders.
    corner_rows: Lists,
    node_rows: Lists,
    border_rows: Vec<u32>,
    /// Nodes of several slots: their records, and those of all their slots.
    joined: Vec<u32>,
    members: Lists,
    borders: Vec<Border>,
    /// Nodes around each apex.
    pub apexes: Lists,
    pub segments: Option<SegmentRows>,
}

/// A node on the border of a cap.
#[derive(Clone, Debug)]
struct Border {
    node: u32,
    gamma: f64,
    /// Corners of its triangles in caps.
    caps: Vec<[u32; 3]>,
    /// Apexes that follow it, with its share in them.
    apexes: Vec<(u32, f64)>,
}

/// What a frame gives.
pub(super) struct RowsFrame<'a> {
    pub rig: &'a Rig,
    pub world_from_rest: &'a [DAffine3],
    pub level: Level,
    pub pool: Option<&'a rayon::ThreadPool>,
}

/// Memory of the solver; contents mean nothing between frames.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeScratch {
    pub points: Vec<Record>,
    pub moves: Vec<Record>,
    bends: Vec<f32>,
    matrices: Vec<[f32; 10]>,
    /// Per row: some node of it is at hand; may move.
    at_hand: Vec<bool>,
    free: Vec<bool>,
    sums: Vec<Sums>,
    bent: Vec<[f64; 2]>,
    pub apex_areas: Vec<DVec3>,
    /// Slots of joined nodes as they were.
    starts: Vec<Vec3>,
    /// How far each point came, squared.
    pub ways: Vec<f32>,
    pub segments: SegmentRowsScratch,
}

/// What a pass adds up.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    first: f64,
    second: f64,
    squares: f64,
    largest: f32,
}

impl Sums {
    fn total(all: &[Self]) -> Self {
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
    fn record(&self, p: Vec3) -> Vec3 {
        (p - self.centre) * self.scale
    }
}

/// How the map depends on bends: `γ(even + k·bend)`.
#[derive(Clone, Copy, Debug)]
struct Share {
    even: f32,
    k: f32,
}

impl VolumeRows {
    pub fn new(rig: &Rig, surface: &Surface, gamma: &[f64], by_segments: bool) -> Self {
        let rows = rig.characters()[surface.character].rows.clone();
        let first = (rows.start * LANES) as u32;
        let nodes = surface.nodes();
        let slots = rows.len() * LANES;
        let apexes = surface.apex_rings();
        let record_of: Vec<u32> = (0..nodes)
            .map(|node| surface.members.of(node)[0] - first)
            .chain((0..apexes.len()).map(|apex| (slots + apex) as u32))
            .collect();
        // One more, which stays 0.
        let zero = slots + apexes.len();
        let count = (zero + 1).next_multiple_of(2);
        let bounding = if by_segments { surface.triangles.len() } else { surface.first_sheet };
        let faces = surface.triangles[..bounding].iter();
        let faces: Vec<[u32; 3]> = faces.map(|corners| corners.map(|node| record_of[node as usize])).collect();
        let mut shares = vec![0.0; count];
        for node in (0..nodes).filter(|&node| surface.has_inside[node]) {
            shares[record_of[node] as usize] = gamma[node] as f32;
        }
        let caps = &surface.triangles[surface.first_cap..surface.first_sheet];
        let mut on_border: Vec<u32> = apexes.iter().flatten().copied().collect();
        on_border.sort_unstable();
        on_border.dedup();
        let of_rings = apexes.iter().enumerate().flat_map(|(apex, ring)| ring.iter().map(move |&n| (n, apex as u32)));
        let apexes_of = Lists::new(nodes, of_rings.collect());
        let of_caps = caps.iter().enumerate().flat_map(|(cap, corners)| corners.map(|node| (node, cap as u32)));
        let caps_of = Lists::new(nodes + apexes.len(), of_caps.collect());
        let borders = on_border.iter().map(|&node| {
            shares[record_of[node as usize] as usize] = 0.0;
            let share = |&apex: &u32| (apex, 1.0 / apexes.of(apex as usize).len() as f64);
            Border {
                node,
                gamma: gamma[node as usize],
                caps: caps_of.of(node as usize).iter().map(|&cap| caps[cap as usize]).collect(),
                apexes: apexes_of.of(node as usize).iter().map(share).collect(),
            }
        });
        let borders = borders.collect();
        let mut segment_of = vec![surface.segments.len() as u32; count];
        for node in 0..nodes {
            segment_of[record_of[node] as usize] = surface.segment_of_node[node];
        }
        let rows_of =
            |node: u32| surface.members.of(node as usize).iter().map(move |slot| (slot - first) / LANES as u32);
        let corner_rows = surface.segment_corners.iter().enumerate().flat_map(|(segment, corners)| {
            corners.iter().copied().flat_map(rows_of).map(move |row| (segment as u32, row))
        });
        let node_row = |node: usize| (surface.segment_of_node[node], record_of[node] / LANES as u32);
        let count_of = surface.segments.len();
        let corner_rows = Lists::new(count_of, corner_rows.collect());
        let node_rows = Lists::new(count_of, (0..nodes).map(node_row).collect());
        let joined: Vec<u32> = (0..nodes as u32).filter(|&node| surface.members.of(node as usize).len() > 1).collect();
        let members = joined.iter().enumerate().flat_map(|(index, &node)| {
            surface.members.of(node as usize).iter().map(move |&slot| (index as u32, slot - first))
        });
        Self {
            members: Lists::new(joined.len(), members.collect()),
            joined: joined.iter().map(|&node| record_of[node as usize]).collect(),
            segments: by_segments.then(|| SegmentRows::new(surface, gamma, &record_of, &segment_of, zero as u32)),
            rings: Rings::new(count, &faces),
            patches: Patches::new(count, &faces),
            gamma: shares,
            segment_of,
            corner_rows,
            node_rows,
            border_rows: on_border.iter().copied().flat_map(rows_of).collect(),
            record_of,
            borders,
            apexes: apexes.clone(),
            rows,
        }
    }

    /// Takes the points of a body whose bones have been taken. `None` where there is no measuring them.
    pub fn take<'a>(
        &'a self,
        surface: &'a Surface,
        body: &'a mut Body,
        frame: &'a RowsFrame<'a>,
        points: &'a mut Points,
        scratch: &'a mut VolumeScratch,
    ) -> Option<Taken<'a>> {
        body.activate(surface);
        let centre = surface.centre(&body.from_bind);
        // A power of two: nothing is rounded by it.
        let unit = body.size.log2().round().exp2();
        let space = Space { centre: centre.as_vec3(), scale: unit.recip() as f32 };
        if !(space.centre.is_finite() && space.scale.is_normal()) {
            return None;
        }
        self.prepare(body, scratch);
        let rows = &mut points.rows[self.rows.clone()];
        let noise = f64::from(self.load(frame, rows, space, scratch)) * f64::from(f32::EPSILON) / 2.0 / unit;
        let (come, factor, before) = (0.0, 0.0, None);
        let of = self;
        let mut taken = Taken { of, surface, body, frame, rows, scratch, space, unit, noise, come, factor, before };
        taken.prepare_segments();
        Some(taken)
    }

    /// Says which rows are at hand and which may move.
    fn prepare(&self, body: &Body, scratch: &mut VolumeScratch) {
        let (count, rows) = (self.gamma.len(), self.rows.len());
        scratch.points.resize(count, [0.0; 4]);
        scratch.moves.resize(count, [0.0; 4]);
        scratch.bends.resize(count, 0.0);
        scratch.sums.resize(count.div_ceil(BLOCK * LANES), Sums::default());
        scratch.bent.resize(self.patches.blocks(), [0.0; 2]);
        // Whatever stays 0 is among them.
        scratch.points[rows * LANES..].fill([0.0; 4]);
        for flags in [&mut scratch.at_hand, &mut scratch.free] {
            flags.clear();
            // Apexes make rows of their own.
            flags.resize(count.div_ceil(LANES), body.all_free);
            flags[rows..].fill(true);
        }
        if !body.all_free {
            scratch.moves.fill([0.0; 4]);
            // Whatever is not at hand is read beside what does not move, and must be a number.
            scratch.points.fill([0.0; 4]);
            for row in &self.border_rows {
                scratch.at_hand[*row as usize] = true;
            }
            for segment in 0..body.active.len() {
                let (active, still) = (body.active[segment], body.still[segment]);
                for row in self.corner_rows.of(segment).iter().filter(|_| active) {
                    scratch.at_hand[*row as usize] = true;
                }
                for row in self.node_rows.of(segment).iter().filter(|_| !still) {
                    scratch.free[*row as usize] = true;
                }
            }
        }
    }

    /// Takes the points; the largest coordinate.
    fn load(&self, frame: &RowsFrame<'_>, rows: &[PointRow], space: Space, scratch: &mut VolumeScratch) -> f32 {
        let VolumeScratch { points, at_hand, sums, starts, .. } = scratch;
        in_blocks(frame.pool, (points, BLOCK * LANES), (sums, 1), |block, records, sums| {
            let rows = rows.get(block * BLOCK..rows.len().min((block + 1) * BLOCK)).unwrap_or(&[]);
            let at_hand = &at_hand[block * BLOCK..];
            sums[0].largest = dispatch!(frame.level, simd => load(simd, rows, at_hand, space, records));
        });
        let at = |slot: u32| {
            let [x, y, z] = &rows[slot as usize / LANES];
            let lane = slot as usize % LANES;
            Vec3::new(x[lane], y[lane], z[lane])
        };
        starts.clear();
        for members in self.members.iter() {
            let sum: DVec3 = members.iter().map(|&slot| at(slot).as_dvec3()).sum();
            let mean = space.record((sum / members.len() as f64).as_vec3());
            starts.extend(members.iter().map(|&slot| at(slot)));
            points[members[0] as usize] = record(mean);
        }
        place_apexes(&self.apexes, &self.record_of, points);
        Sums::total(sums).largest
    }

    /// What blending takes at every node, and how the map depends on it.
    fn bend(&self, body: &Body, local: f64, frame: &RowsFrame<'_>, scratch: &mut VolumeScratch) -> Share {
        let VolumeScratch { bends, matrices, free, sums, .. } = scratch;
        let even = (1.0 - local).max(if body.has_effects { WITH_EFFECTS } else { 0.0 });
        matrices.clear();
        matrices.extend(frame.world_from_rest.iter().map(|world| {
            let [a, b, c, d, e, f, g, h, i] = world.matrix3.to_cols_array().map(|v| v as f32);
            [a, b, c, d, e, f, g, h, i, world.matrix3.determinant() as f32]
        }));
        let first_row = self.rows.start;
        in_blocks(frame.pool, (bends, BLOCK * LANES), (sums, 1), |block, bends, sums| {
            sums[0].largest = 0.0;
            for (local, bends) in bends.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let row = block * BLOCK + local;
                if row < self.rows.len() && free[row] && even < 1.0 {
                    let largest =
                        dispatch!(frame.level, simd => bend(simd, frame.rig, first_row + row, matrices, bends));
                    sums[0].largest = sums[0].largest.max(largest);
                } else {
                    bends.fill(0.0);
                }
            }
        });
        let mut largest = Sums::total(sums).largest;
        if !body.all_free {
            let rows = bends.chunks_mut(LANES).zip(self.segment_of.chunks(LANES)).zip(free.iter());
            largest = 0.0;
            for ((bends, segments), _) in rows.filter(|(_, free)| **free) {
                for (bend, segment) in bends.iter_mut().zip(segments) {
                    let is_free = body.still.get(*segment as usize) == Some(&false);
                    *bend = if is_free { *bend } else { BARRED };
                    largest = largest.max(*bend);
                }
            }
        }
        match largest > 0.0 {
            true => Share { even: even as f32, k: (1.0 - even) as f32 / largest },
            false => Share { even: 1.0, k: 0.0 },
        }
    }

    /// The moves `w`, with `Σ p·A`, `Σ w·A`, `Σ A²` of what moves and a bound on the longest move, squared.
    fn aim(&self, share: Share, frame: &RowsFrame<'_>, scratch: &mut VolumeScratch) -> Sums {
        let VolumeScratch { points, moves, bends, free, sums, apex_areas: areas, .. } = scratch;
        let (points, bends, free) = (&points[..], &bends[..], &free[..]);
        in_blocks(frame.pool, (moves, BLOCK * LANES), (sums, 1), |block, moves, sums| {
            sums[0] = dispatch!(frame.level, simd => aim(simd, self, share, points, bends, free, block, moves));
        });
        let mut sum = Sums::total(sums);
        let weight = |_: u32, gamma: f64, at: usize| gamma * f64::from(share.k.mul_add(bends[at], share.even));
        self.aim_borders((points, moves), areas, weight, |_, w, _, gradient| {
            sum.second += w.dot(gradient);
            sum.squares += if w == DVec3::ZERO { 0.0 } else { gradient.length_squared() };
            sum.largest = sum.largest.max(w.length_squared() as f32);
        });
        place_apexes(&self.apexes, &self.record_of, moves);
        sum
    }

    /// The moves of nodes on capped borders; `weight` of their share and record. Told of each: its move, its area and the
    /// gradient, which apexes share.
    pub fn aim_borders(
        &self,
        (points, moves): (&[Record], &mut [Record]),
        apex_areas: &mut Vec<DVec3>,
        weight: impl Fn(u32, f64, usize) -> f64,
        mut tell: impl FnMut(u32, DVec3, DVec3, DVec3),
    ) {
        apex_areas.clear();
        let apexes = &self.record_of[self.record_of.len() - self.apexes.len()..];
        apex_areas.extend(apexes.iter().map(|&at| self.area(at as usize, points)));
        for border in &self.borders {
            let at = self.record_of[border.node as usize] as usize;
            let area = self.area(at, points);
            let cap: DVec3 = border.caps.iter().map(|corners| self.triangle(*corners, points)).sum();
            let normal = unit(area - cap);
            let of_apexes = border.apexes.iter().map(|&(apex, part)| apex_areas[apex as usize] * part);
            let gradient = area + of_apexes.sum::<DVec3>();
            let lever = normal.dot(gradient);
            let weight = weight(border.node, border.gamma, at);
            let w = if weight > 0.0 { normal * (weight * lever) } else { DVec3::ZERO };
            moves[at] = record(w.as_vec3());
            tell(border.node, w, area, gradient);
        }
    }

    /// `Σ p·A(w)` and `Σ w·A(w)`.
    fn bent(&self, frame: &RowsFrame<'_>, scratch: &mut VolumeScratch) -> [f64; 2] {
        let VolumeScratch { points, moves, at_hand, bent, .. } = scratch;
        let nothing = &mut vec![(); bent.len()][..];
        in_blocks(frame.pool, (bent, 1), (nothing, 1), |block, sums, _| {
            sums[0] = dispatch!(frame.level, simd => self.patches.sums(simd, block, points, moves, at_hand));
        });
        bent.iter().fold([0.0; 2], |sum, block| [sum[0] + block[0], sum[1] + block[1]])
    }

    /// The area of one point.
    fn area(&self, at: usize, points: &[Record]) -> DVec3 {
        let ring = self.rings.of(at / 2);
        let here = place(&points[at]);
        let edge = |k: usize| place(&points[ring[k % ring.len()][at % 2] as usize]) - here;
        (0..ring.len()).map(|k| edge(k).cross(edge(k + 1))).sum()
    }

    fn triangle(&self, corners: [u32; 3], points: &[Record]) -> DVec3 {
        let [a, b, c] = corners.map(|node| place(&points[self.record_of[node as usize] as usize]));
        (b - a).cross(c - a)
    }

    /// Goes on by `factor` times the moves.
    fn advance(&self, factor: f64, scratch: &mut VolumeScratch) {
        if factor != 0.0 {
            for (p, w) in scratch.points.iter_mut().zip(&scratch.moves) {
                (0..4).for_each(|k| p[k] = w[k].mul_add(factor as f32, p[k]));
            }
        }
    }

    /// Writes what moved back to the rows, the last moves times `factor` included.
    fn store(
        &self,
        frame: &RowsFrame<'_>,
        rows: &mut [PointRow],
        space: Space,
        factor: f64,
        unit: f32,
        scratch: &mut VolumeScratch,
    ) {
        let VolumeScratch { points, moves, free, ways, starts, .. } = scratch;
        let step = factor as f32;
        ways.resize(rows.len() * LANES, 0.0);
        in_blocks(frame.pool, (rows, BLOCK), (ways, BLOCK * LANES), |block, rows, ways| {
            let free = &free[block * BLOCK..];
            let (points, moves) = (&points[block * BLOCK * LANES..], &moves[block * BLOCK * LANES..]);
            dispatch!(frame.level, simd => store(simd, rows, free, points, moves, space, step, unit, ways));
        });
        for (index, members) in self.members.iter().enumerate() {
            let first = members[0] as usize;
            let starts = &starts[self.members.start_of(index)..][..members.len()];
            let mean: DVec3 = starts.iter().map(|p| p.as_dvec3()).sum::<DVec3>() / members.len() as f64;
            let start = space.record(mean.as_vec3()).as_dvec3();
            let moved = place(&points[first]) - start + place(&moves[first]) * factor;
            ways[first] = moved.length_squared() as f32;
            for (&slot, start) in members.iter().zip(starts) {
                let p = (start.as_dvec3() + moved * f64::from(unit)).as_vec3();
                let [x, y, z] = &mut rows[slot as usize / LANES];
                let lane = slot as usize % LANES;
                (x[lane], y[lane], z[lane]) = (p.x, p.y, p.z);
            }
        }
    }
}

/// A body at one frame, taken from its rows: what volumes are restored of.
pub(super) struct Taken<'a> {
    pub of: &'a VolumeRows,
    pub surface: &'a Surface,
    pub body: &'a Body,
    pub frame: &'a RowsFrame<'a>,
    rows: &'a mut [PointRow],
    pub scratch: &'a mut VolumeScratch,
    pub space: Space,
    /// The length of 1.
    pub unit: f64,
    /// How far off a coordinate may be from rounding alone.
    pub noise: f64,
    /// How far anything has come, at most.
    pub come: f64,
    /// What the moves are multiplied by that are not yet in the points.
    factor: f64,
    /// The volume before its segments were restored.
    pub before: Option<f64>,
}

impl Taken<'_> {
    /// Restores the volume inside. `None` where points are not finite.
    pub fn restore(&mut self, target: f64, limits: &Limits) -> Option<Restored> {
        let Self { of, body, frame, unit, .. } = *self;
        let share = of.bend(body, limits.local, frame, self.scratch);
        let cube = unit * unit * unit;
        let sheets = of.segments.as_ref().map_or(0.0, |segments| segments.sheet_cones(&self.scratch.points)) / 6.0;

        let (target, mut rounds, mut outcome) = (target / cube, 0, Outcome::Restored);
        let (mut before, mut wanted) = (0.0, 0.0);
        let mut after;
        loop {
            of.advance(self.factor, self.scratch);
            self.factor = 0.0;
            let slopes = of.aim(share, frame, self.scratch);
            after = match body.all_free {
                true => slopes.first / 18.0 - sheets,
                false => self.volume_of_some(slopes.first),
            };
            if rounds == 0 {
                before = after;
                wanted = before + (target - before) * limits.gain;
            }
            let missing = wanted - after;
            if !missing.is_finite() {
                return None;
            }
            let rounding = if rounds == 0 { self.noise * slopes.squares.sqrt() / 6.0 } else { 0.0 };
            if missing.abs() <= (EXACT * target.abs().max(before.abs())).max(rounding) {
                break;
            }
            if rounds == ROUNDS {
                outcome = Outcome::NotReached;
                break;
            }
            let linear = missing / (slopes.second / 6.0);
            if !(slopes.second > 0.0 && linear.is_finite()) {
                outcome = Outcome::NothingMayMove;
                break;
            }
            rounds += 1;
            let [second, third] = of.bent(frame, self.scratch);
            let c = [1.0, second / 6.0 * linear * linear / missing, third / 18.0 * linear.powi(3) / missing];
            let (step, is_root) = match first_root(c) {
                _ if limits.linear => (1.0, true),
                Ok(root) => (root, true),
                Err(turning) => (0.5 * turning.min(1.0), false),
            };
            let full = step * linear;
            let bound = limits.max_move * body.size / unit;
            let longest = f64::from(slopes.largest).sqrt();
            self.factor = match self.come + longest * full.abs() <= bound {
                true => full,
                false => self.bounded_records(0..self.rows.len() * LANES, full, bound),
            };
            let is_bounded = self.factor.abs() < full.abs();
            self.come += longest * self.factor.abs();
            let x = if full == 0.0 { 0.0 } else { step * (self.factor / full) };
            if is_bounded || is_root {
                after += ((c[2] * x + c[1]) * x + c[0]) * x * missing;
                outcome = match (is_bounded, limits.linear) {
                    (true, _) => Outcome::MoveBound,
                    (false, true) => Outcome::Linear,
                    (false, false) => Outcome::Restored,
                };
                break;
            }
        }
        let before = self.before.unwrap_or(before);
        Some(Restored { target: target * cube, before: before * cube, after: after * cube, rounds, outcome })
    }

    /// The volume inside from `Σ p·A` over the nodes of segments that are not still: what triangles that straddle lack of
    /// it, and the closed form of the others.
    fn volume_of_some(&self, sum: f64) -> f64 {
        let Self { of, surface, body, .. } = *self;
        let points = &self.scratch.points;
        let cone = |corners: [u32; 3]| {
            let [a, b, c] = corners.map(|node| place(&points[of.record_of[node as usize] as usize]));
            a.dot(b.cross(c))
        };
        let moves = |node: &&u32| {
            let segment = surface.segment_of_node.get(**node as usize);
            segment.is_some_and(|&segment| !body.still[segment as usize])
        };
        let counted = |corners: [u32; 3]| corners.iter().filter(moves).count() as f64 / 3.0;
        let mut cones = sum / 3.0;
        for (segment, straddlers) in surface.segment_straddlers.iter().enumerate() {
            let carry = self.carry(surface.segments[segment].entry);
            for &t in straddlers.iter().filter(|&&t| (t as usize) < surface.first_cap) {
                let corners = surface.triangles[t as usize];
                let counted = counted(corners);
                if body.still[segment] && counted == 0.0 {
                    continue;
                }
                cones += (1.0 - counted) * cone(corners);
                if body.still[segment] {
                    // The closed form holds it as the bone carries it.
                    let [a, b, c] = corners.map(|node| carry.transform_point3(body.bind(surface)[node as usize]));
                    cones -= a.dot(b.cross(c));
                }
            }
        }
        for &corners in &surface.triangles[surface.first_cap..surface.first_sheet] {
            cones += (1.0 - counted(corners)) * cone(corners);
        }
        if of.segments.is_some() {
            for &corners in &surface.triangles[surface.first_sheet..] {
                let too_much = counted(corners);
                cones -= if too_much == 0.0 { 0.0 } else { too_much * cone(corners) };
            }
        }
        cones / 6.0 + self.still_volume()
    }

    /// What the triangles of segments that are still add to the volume.
    pub fn still_volume(&self) -> f64 {
        let Self { surface, body, .. } = *self;
        let still = (0..surface.segments.len()).filter(|&segment| body.still[segment]);
        still.map(|segment| self.carried_volume(segment)).sum()
    }

    /// What the triangles of a segment would add to the volume, carried by its bone.
    pub fn carried_volume(&self, segment: usize) -> f64 {
        let carry = self.carry(self.surface.segments[segment].entry);
        self.surface.carried_volume(segment, self.body.morphed.as_deref(), &carry)
    }

    /// From bind space to records, by a palette entry.
    pub fn carry(&self, entry: u32) -> DAffine3 {
        let scale = f64::from(self.space.scale);
        let from_bind = self.body.from_bind[entry as usize];
        let translation = (from_bind.translation - self.space.centre.as_dvec3()) * scale;
        DAffine3 { matrix3: from_bind.matrix3 * scale, translation }
    }

    /// The largest part of `factor` on the moves that leaves some records within `bound` of where they started.
    pub fn bounded_records(&self, records: impl Iterator<Item = usize>, factor: f64, bound: f64) -> f64 {
        let joined = |record: usize| self.of.joined.binary_search(&(record as u32)).ok();
        let way = |record: usize| {
            let start = match joined(record) {
                Some(index) => {
                    let (at, count) = (self.of.members.start_of(index), self.of.members.of(index).len());
                    let sum: DVec3 = self.scratch.starts[at..at + count].iter().map(|p| p.as_dvec3()).sum();
                    (sum / count as f64).as_vec3()
                }
                None => {
                    let [x, y, z] = &self.rows[record / LANES];
                    let lane = record % LANES;
                    Vec3::new(x[lane], y[lane], z[lane])
                }
            };
            let moved = place(&self.scratch.points[record]) - self.space.record(start).as_dvec3();
            (moved, place(&self.scratch.moves[record]))
        };
        bounded(records.map(way), factor, bound)
    }

    /// Writes what moved back to the rows; how far the farthest point came, and that of each segment where they are asked
    /// for.
    pub fn store(self, by_segment: &mut Vec<f64>) -> f64 {
        by_segment.clear();
        let Self { of, surface, frame, rows, scratch, space, unit, .. } = self;
        if self.come > 0.0 {
            of.store(frame, rows, space, self.factor, unit as f32, scratch);
        } else {
            scratch.ways.clear();
            scratch.ways.resize(rows.len() * LANES, 0.0);
        }
        let way = |square: f32| f64::from(square).sqrt() * unit;
        if let Some(segments) = &of.segments {
            segments.largest(&scratch.ways, surface.segments.len(), by_segment);
            by_segment.iter_mut().for_each(|square| *square = square.sqrt() * unit);
        }
        way(scratch.ways.iter().copied().fold(0.0, f32::max))
    }
}

fn record(v: Vec3) -> Record {
    [v.x, v.y, v.z, v.x]
}

pub(super) fn place(record: &Record) -> DVec3 {
    DVec3::new(f64::from(record[0]), f64::from(record[1]), f64::from(record[2]))
}

/// Each apex is the mean of its ring.
pub(super) fn place_apexes(apexes: &Lists, record_of: &[u32], records: &mut [Record]) {
    let first = record_of.len() - apexes.len();
    for (apex, ring) in apexes.iter().enumerate() {
        let sum: DVec3 = ring.iter().map(|&node| place(&records[record_of[node as usize] as usize])).sum();
        records[record_of[first + apex] as usize] = record((sum / ring.len() as f64).as_vec3());
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, rows: &[PointRow], at_hand: &[bool], space: Space, records: &mut [Record]) -> f32 {
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
fn bend<S: Simd>(simd: S, rig: &Rig, row: usize, matrices: &[[f32; 10]], out: &mut [f32; LANES]) -> f32 {
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
fn aim<S: Simd>(
    simd: S,
    body: &VolumeRows,
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
        let rings = body.rings.range(first / 2..first / 2 + moves.len() / 2);
        let here = points[records.clone()].as_chunks::<2>().0.iter().zip(moves.as_chunks_mut::<2>().0);
        let weights = body.gamma[records.clone()].as_chunks::<2>().0.iter().zip(bends[records].as_chunks::<2>().0);
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
fn at_most<S: Simd>(squares: f32x8<S>) -> f32 {
    let [a, b, c, d, e, f, g, h] = squares.to_array();
    ((a + b) + (c + d)).max((e + f) + (g + h))
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel takes what it reads")]
fn store<S: Simd>(
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
