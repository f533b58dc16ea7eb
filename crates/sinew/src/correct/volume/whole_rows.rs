//! The whole volume of [`super::whole`] in single precision, straight in the rows of a frame: what a body is
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

use super::patches::Patches;
use super::segment_rows::{SegmentRows, SegmentRowsScratch};
use super::whole::WITH_EFFECTS;
use super::whole_kernels::{BARRED, BLOCK, Share, Space, Sums, aim, bend, load, place, place_apexes, record, store};
use crate::correct::body::{Body, Surface, unit};
use crate::correct::bound::RowsFrame;
use crate::csr::Csr;
use crate::rig::Rig;
use crate::rings::{Record, Rings, in_blocks};
use crate::simd::{LANES, PointRow, dispatch};
use glam::{DVec3, Vec3};
use std::ops::Range;

/// The body of one character in rows: what the rig alone decides.
#[derive(Clone, Debug)]
pub(super) struct VolumeRows {
    pub rows: Range<usize>,
    /// Of what encloses the volume; of sheets too, where segments are asked for.
    pub rings: Rings,
    /// Of the same faces.
    pub patches: Patches,
    /// Records of nodes and apexes.
    pub record_of: Vec<u32>,
    /// Segment of every record; their number for those that are no node.
    pub segment_of: Vec<u32>,
    /// Rows with corners of the triangles of each segment, with records of its nodes, and with nodes on capped borders.
    pub corner_rows: Csr,
    pub node_rows: Csr,
    pub border_rows: Vec<u32>,
    /// Nodes of several slots: their records, and those of all their slots.
    pub joined: Vec<u32>,
    pub members: Csr,
    pub borders: Vec<Border>,
    /// Nodes around each apex.
    pub apexes: Csr,
    pub segments: Option<SegmentRows>,
}

/// A node on the border of a cap.
#[derive(Clone, Debug)]
pub(super) struct Border {
    pub node: u32,
    /// Corners of its triangles in caps.
    pub caps: Vec<[u32; 3]>,
    /// Apexes that follow it, with its share in them.
    pub apexes: Vec<(u32, f64)>,
}

/// Where volume is put back, as the rows read it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// Share of every record; 0 for sheets and those on capped borders.
    pub rows: Vec<f32>,
    /// Of nodes on capped borders.
    pub borders: Vec<f64>,
    /// Share of every record, sheets included; 0 for those on capped borders. Empty without segments.
    pub segments: Vec<f32>,
}

impl Shares {
    /// From γ per node, in memory that is there.
    pub fn set(&mut self, of: &VolumeRows, surface: &Surface, gamma: &[f64]) {
        let Self { rows, borders, segments } = self;
        let fill = |shares: &mut Vec<f32>, sheets: bool| {
            shares.resize(of.segment_of.len(), 0.0);
            for node in (0..surface.nodes()).filter(|&node| sheets || surface.has_inside[node]) {
                shares[of.record_of[node] as usize] = gamma[node] as f32;
            }
            for border in &of.borders {
                shares[of.record_of[border.node as usize] as usize] = 0.0;
            }
        };
        rows.clear();
        fill(rows, false);
        segments.clear();
        if of.segments.is_some() {
            fill(segments, true);
        }
        borders.clear();
        borders.extend(of.borders.iter().map(|border| gamma[border.node as usize]));
    }
}

impl Shares {
    /// Those of a map, with the care that a body asks for at a frame.
    pub fn ease(&mut self, plain: &Self, of: &VolumeRows, body: &Body) {
        let Self { rows, borders, segments } = self;
        rows.clone_from(&plain.rows);
        borders.clone_from(&plain.borders);
        segments.clone_from(&plain.segments);
        for (node, &ease) in body.ease.iter().enumerate().filter(|(_, ease)| **ease < 1.0) {
            let at = of.record_of[node] as usize;
            rows[at] *= ease as f32;
            if let Some(share) = segments.get_mut(at) {
                *share *= ease as f32;
            }
        }
        for (share, border) in borders.iter_mut().zip(&of.borders) {
            *share *= body.ease_of(border.node as usize);
        }
    }
}

/// Memory of the solver; contents mean nothing between frames.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeScratch {
    pub points: Vec<Record>,
    pub moves: Vec<Record>,
    pub bends: Vec<f32>,
    pub matrices: Vec<[f32; 10]>,
    /// Records that move: how far, what that does to the volume, how far they may.
    pub capped: Vec<(u32, f64, f64, f64)>,
    /// Per record, how far it has come by moves that are bounded; empty where none has.
    pub spent: Vec<f64>,
    /// Per row: some node of it is at hand; may move.
    pub at_hand: Vec<bool>,
    pub free: Vec<bool>,
    pub sums: Vec<Sums>,
    pub bent: Vec<[f64; 2]>,
    pub apex_areas: Vec<DVec3>,
    /// Slots of joined nodes as they were.
    pub starts: Vec<Vec3>,
    /// How far each point came, squared.
    pub ways: Vec<f32>,
    pub segments: SegmentRowsScratch,
}

impl VolumeRows {
    pub fn new(rig: &Rig, surface: &Surface, by_segments: bool) -> Self {
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
        let caps = &surface.triangles[surface.first_cap..surface.first_sheet];
        let mut on_border: Vec<u32> = apexes.iter().flatten().copied().collect();
        on_border.sort_unstable();
        on_border.dedup();
        let of_rings = apexes.iter().enumerate().flat_map(|(apex, ring)| ring.iter().map(move |&n| (n, apex as u32)));
        let apexes_of = Csr::new(nodes, of_rings.collect());
        let of_caps = caps.iter().enumerate().flat_map(|(cap, corners)| corners.map(|node| (node, cap as u32)));
        let caps_of = Csr::new(nodes + apexes.len(), of_caps.collect());
        let borders = on_border.iter().map(|&node| {
            let share = |&apex: &u32| (apex, 1.0 / apexes.of(apex as usize).len() as f64);
            Border {
                node,
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
        let corner_rows = Csr::new(count_of, corner_rows.collect());
        let node_rows = Csr::new(count_of, (0..nodes).map(node_row).collect());
        let joined: Vec<u32> = (0..nodes as u32).filter(|&node| surface.members.of(node as usize).len() > 1).collect();
        let members = joined.iter().enumerate().flat_map(|(index, &node)| {
            surface.members.of(node as usize).iter().map(move |&slot| (index as u32, slot - first))
        });
        Self {
            members: Csr::new(joined.len(), members.collect()),
            joined: joined.iter().map(|&node| record_of[node as usize]).collect(),
            segments: by_segments.then(|| SegmentRows::new(surface, &record_of, &segment_of, zero as u32)),
            rings: Rings::new(count, &faces),
            patches: Patches::new(count, &faces),
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

    /// Says which rows are at hand and which may move.
    pub fn prepare(&self, body: &Body, scratch: &mut VolumeScratch) {
        let (count, rows) = (self.segment_of.len(), self.rows.len());
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
    pub fn load(&self, frame: &RowsFrame<'_>, rows: &[PointRow], space: Space, scratch: &mut VolumeScratch) -> f32 {
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
    pub fn bend(&self, body: &Body, local: f64, frame: &RowsFrame<'_>, scratch: &mut VolumeScratch) -> Share {
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
            false => Share::EVERYWHERE,
        }
    }

    /// The moves `w`, with `Σ p·A`, `Σ w·A`, `Σ A²` of what moves and a bound on the longest move, squared.
    pub fn aim(&self, share: Share, shares: &Shares, frame: &RowsFrame<'_>, scratch: &mut VolumeScratch) -> Sums {
        let VolumeScratch { points, moves, bends, free, sums, apex_areas: areas, .. } = scratch;
        let (points, bends, free) = (&points[..], &bends[..], &free[..]);
        let of = (&self.rings, &shares.rows[..]);
        in_blocks(frame.pool, (moves, BLOCK * LANES), (sums, 1), |block, moves, sums| {
            sums[0] = dispatch!(frame.level, simd => aim(simd, of, share, points, bends, free, block, moves));
        });
        let mut sum = Sums::total(sums);
        let weight = |_: u32, gamma: f64, at: usize| gamma * f64::from(share.k.mul_add(bends[at], share.even));
        self.aim_borders(shares, (points, moves), areas, weight, |_, w, _, gradient| {
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
        shares: &Shares,
        (points, moves): (&[Record], &mut [Record]),
        apex_areas: &mut Vec<DVec3>,
        weight: impl Fn(u32, f64, usize) -> f64,
        mut tell: impl FnMut(u32, DVec3, DVec3, DVec3),
    ) {
        apex_areas.clear();
        let apexes = &self.record_of[self.record_of.len() - self.apexes.len()..];
        apex_areas.extend(apexes.iter().map(|&at| self.area(at as usize, points)));
        for (border, &gamma) in self.borders.iter().zip(&shares.borders) {
            let at = self.record_of[border.node as usize] as usize;
            let area = self.area(at, points);
            let cap: DVec3 = border.caps.iter().map(|corners| self.triangle(*corners, points)).sum();
            let normal = unit(area - cap);
            let of_apexes = border.apexes.iter().map(|&(apex, part)| apex_areas[apex as usize] * part);
            let gradient = area + of_apexes.sum::<DVec3>();
            let lever = normal.dot(gradient);
            let weight = weight(border.node, gamma, at);
            let w = if weight > 0.0 { normal * (weight * lever) } else { DVec3::ZERO };
            moves[at] = record(w.as_vec3());
            tell(border.node, w, area, gradient);
        }
    }

    /// `Σ p·A(w)` and `Σ w·A(w)`.
    pub fn bent(&self, frame: &RowsFrame<'_>, scratch: &mut VolumeScratch) -> [f64; 2] {
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
    pub fn advance(&self, factor: f64, scratch: &mut VolumeScratch) {
        if factor != 0.0 {
            for (p, w) in scratch.points.iter_mut().zip(&scratch.moves) {
                (0..4).for_each(|k| p[k] = w[k].mul_add(factor as f32, p[k]));
            }
        }
    }

    /// Writes what moved back to the rows, the last moves times `factor` included.
    pub fn store(
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
