//! The inner loop: blocks of rows through base, effects and normals, on one thread or many.

use super::accumulate::{Block, Moved, RowSums, accumulate, outer, transposed};
use super::collapsed::Collapsed;
use super::output::Vertices;
use super::rig_arrays::total_limit;
use super::scatter::scatter;
use super::{FrameIndependentGraph, MovingBones, NormalsPlan};
use crate::base::{BaseFrame, LinearRows, Skinned, SurfaceGradients, lbs_linear_rows, lbs_row};
use crate::rig::Rig;
use crate::simd::{Bounded, Level, Limit, PointRow, Points, Simd, V3, dispatch, splat};
use std::ops::Range;

/// Rows a thread takes at a time: 256 points, whose sums and derivatives stay in the first cache.
pub(super) const BLOCK: usize = 16;

/// Blocks that are not worth another thread.
const BLOCKS_AT_LEAST: usize = 4;

/// Points with their normals and tangents, in rows.
#[derive(Clone, Debug, Default)]
pub(super) struct RowSet {
    pub points: Points,
    pub normals: Points,
    pub tangents: Points,
}

impl RowSet {
    pub fn resize(&mut self, rows: usize, layers: usize, has_tangents: bool) {
        self.points.resize(rows);
        self.normals.resize(layers);
        self.tangents.resize(if has_tangents { layers } else { 0 });
    }

    pub fn slices(&mut self) -> SetSlices<'_> {
        let Self { points, normals, tangents } = self;
        SetSlices { points: &mut points.rows, normals: &mut normals.rows, tangents: &mut tangents.rows }
    }
}

/// Some rows; none of an array that is not in use.
fn part<T>(points: &mut [T], rows: Range<usize>) -> &mut [T] {
    if points.is_empty() { points } else { &mut points[rows] }
}

/// At a row, or at the end of an array that is not in use.
fn split<T>(points: &mut [T], row: usize) -> (&mut [T], &mut [T]) {
    points.split_at_mut(row.min(points.len()))
}

/// What a range of rows writes of points with their normals and tangents.
pub(super) struct SetSlices<'a> {
    pub points: &'a mut [PointRow],
    pub normals: &'a mut [PointRow],
    pub tangents: &'a mut [PointRow],
}

impl SetSlices<'_> {
    fn part(&mut self, rows: Range<usize>, layers: Range<usize>) -> SetSlices<'_> {
        SetSlices {
            points: part(self.points, rows),
            normals: part(self.normals, layers.clone()),
            tangents: part(self.tangents, layers),
        }
    }

    fn split_at(self, row: usize, layer: usize) -> (Self, Self) {
        let (points, normals) = (split(self.points, row), split(self.normals, layer));
        let tangents = split(self.tangents, layer);
        (
            Self { points: points.0, normals: normals.0, tangents: tangents.0 },
            Self { points: points.1, normals: normals.1, tangents: tangents.1 },
        )
    }
}

/// What a range of rows writes.
pub(super) struct Slices<'a> {
    /// Of all rows, where normals come from faces: what they are turned from.
    pub skinned: &'a mut [PointRow],
    /// Of all layers, where normals are exact: what they give way to.
    pub blended: &'a mut [PointRow],
    pub result: SetSlices<'a>,
    pub base: SetSlices<'a>,
    pub engine_points: &'a mut [PointRow],
    pub engine_linear: &'a mut [[PointRow; 3]],
}

impl Slices<'_> {
    /// `rows` of what all rows are kept of, `kept` and `layers` of what may be kept of one block alone. Blended normals are
    /// there only where all is kept.
    fn part(&mut self, rows: Range<usize>, kept: Range<usize>, layers: Range<usize>) -> Slices<'_> {
        Slices {
            skinned: part(self.skinned, rows.clone()),
            blended: part(self.blended, layers.clone()),
            result: self.result.part(kept.clone(), layers.clone()),
            base: self.base.part(kept, layers),
            engine_points: part(self.engine_points, rows.clone()),
            engine_linear: part(self.engine_linear, rows),
        }
    }

    fn split_at(self, row: usize, layer: usize) -> (Self, Self) {
        let (skinned, points) = (split(self.skinned, row), split(self.engine_points, row));
        let (linear, result) = (split(self.engine_linear, row), self.result.split_at(row, layer));
        let (base, blended) = (self.base.split_at(row, layer), split(self.blended, layer));
        (
            Self {
                skinned: skinned.0,
                blended: blended.0,
                result: result.0,
                base: base.0,
                engine_points: points.0,
                engine_linear: linear.0,
            },
            Self {
                skinned: skinned.1,
                blended: blended.1,
                result: result.1,
                base: base.1,
                engine_points: points.1,
                engine_linear: linear.1,
            },
        )
    }
}

/// What rows need of the frame.
pub(super) struct Job<'a> {
    pub graph: &'a FrameIndependentGraph,
    /// How the frame's normals are made.
    pub normals: &'a NormalsPlan,
    pub level: Level,
    pub base: BaseFrame<'a>,
    pub rest: &'a [PointRow],
    /// Where a base that is no sum over bones has the points.
    pub carried: Option<&'a [PointRow]>,
    pub rest_normals: &'a [PointRow],
    pub rest_tangents: Option<&'a [PointRow]>,
    pub moving: &'a [MovingBones],
    pub collapsed: &'a Collapsed,
}

impl Job<'_> {
    /// Block by block, each block's vertices written out at once; without vertices, all blocks are kept.
    pub fn run_serial(
        &self,
        mut slices: Slices<'_>,
        rows: usize,
        sums: &mut [RowSums],
        mut out: Option<(&mut Vertices<'_>, Option<&mut Vertices<'_>>)>,
    ) {
        let rig = self.base.rig;
        for start in (0..rows).step_by(BLOCK) {
            let end = (start + BLOCK).min(rows);
            let layers = layers_of(rig, start..end);
            let (row, layer) = if out.is_none() { (start, layers.start) } else { (0, 0) };
            let kept = row..row + (end - start);
            let mut block = slices.part(start..end, kept, layer..layer + layers.len());
            self.block(start..end, sums, &mut block);
            if let Some((out, base)) = &mut out {
                dispatch!(self.level, simd => scatter(simd, rig, start..end, &block.result, out));
                if let Some(base) = base {
                    dispatch!(self.level, simd => scatter(simd, rig, start..end, &block.base, base));
                }
            }
        }
    }

    /// One run of rows, of a block at most, into arrays of all rows.
    pub fn run_some(&self, rows: Range<usize>, sums: &mut [RowSums], slices: &mut Slices<'_>) {
        let layers = layers_of(self.base.rig, rows.clone());
        self.block(rows.clone(), sums, &mut slices.part(rows.clone(), rows, layers));
    }

    /// Halves at multiples of the block, so that every thread count sees the same blocks.
    pub fn run_parallel(&self, rows: Range<usize>, slices: Slices<'_>) {
        let blocks = rows.len().div_ceil(BLOCK);
        if blocks <= BLOCKS_AT_LEAST {
            match self.sums() {
                0 => self.run_blocks(rows, &mut [], slices),
                _ => self.run_blocks(rows, &mut [RowSums::ZERO; BLOCK], slices),
            }
            return;
        }
        let middle = rows.start + blocks / 2 * BLOCK;
        let (left, right) = slices.split_at(middle - rows.start, layers_of(self.base.rig, rows.start..middle).len());
        rayon::join(|| self.run_parallel(rows.start..middle, left), || self.run_parallel(middle..rows.end, right));
    }

    fn run_blocks(&self, rows: Range<usize>, sums: &mut [RowSums], mut slices: Slices<'_>) {
        let first_layer = layers_of(self.base.rig, rows.clone()).start;
        for start in rows.clone().step_by(BLOCK) {
            let end = (start + BLOCK).min(rows.end);
            let layers = layers_of(self.base.rig, start..end);
            let own = layers.start - first_layer..layers.end - first_layer;
            let local = start - rows.start..end - rows.start;
            self.block(start..end, sums, &mut slices.part(local.clone(), local, own));
        }
    }

    /// Rows of what the effects of a block add up to.
    pub fn sums(&self) -> usize {
        if self.graph.effects.is_empty() { 0 } else { BLOCK }
    }

    fn block(&self, rows: Range<usize>, sums: &mut [RowSums], slices: &mut Slices<'_>) {
        if !slices.engine_points.is_empty() {
            dispatch!(self.level, simd => self.engine_rows(simd, rows.clone(), slices));
        }
        if self.graph.effects.is_empty() {
            let graph = self.graph;
            let rig = self.base.rig;
            let linear = graph.base.linear_weights(rig);
            let no_base = slices.base.points.is_empty();
            // It blends once per layer: flat shading has many.
            let few_layers = rig.vertex_of_layer().len() <= 2 * rig.rows().len();
            let linear =
                linear.filter(|_| self.carried.is_none() && self.rest_tangents.is_none() && few_layers && no_base);
            match (linear, graph.base.antipodality(), self.normals) {
                (Some(weights), None, NormalsPlan::Engine) => {
                    let io = LinearRows {
                        rest: &self.rest[rows.clone()],
                        rest_normals: &self.rest_normals[layers_of(rig, rows.clone())],
                        points: slices.result.points,
                        normals: slices.result.normals,
                    };
                    dispatch!(self.level, simd => lbs_linear_rows(simd, &self.base, weights, rows, io));
                }
                (_, _, NormalsPlan::Exact { .. }) => {
                    dispatch!(self.level, simd => self.skinned_rows::<_, true>(simd, rows, slices));
                }
                _ => dispatch!(self.level, simd => self.skinned_rows::<_, false>(simd, rows, slices)),
            }
            return;
        }
        let sums = &mut sums[..rows.len()];
        let column_gradients = match self.normals {
            NormalsPlan::Exact { gradients, .. } => Some(&gradients.columns[..]),
            _ => None,
        };
        match column_gradients {
            Some(_) => dispatch!(self.level, simd => self.begin_rows::<_, true>(simd, rows.clone(), sums, slices)),
            None => dispatch!(self.level, simd => self.begin_rows::<_, false>(simd, rows.clone(), sums, slices)),
        }
        for (effect, moving) in self.graph.effects.iter().zip(self.moving) {
            if moving.is_empty() {
                continue;
            }
            let block = Block {
                rig: self.base.rig,
                tree: &self.graph.tree,
                rows: rows.clone(),
                gains: &effect.gains,
                gain_gradients: effect.gain_gradients.as_deref(),
                column_gradients,
                moving,
                cone: effect.cone.as_ref(),
                compensate: effect.compensate,
            };
            accumulate(self.level, &block, sums);
        }
        match column_gradients {
            Some(_) => dispatch!(self.level, simd => self.displaced_rows::<_, true>(simd, rows, sums, slices)),
            None => dispatch!(self.level, simd => self.displaced_rows::<_, false>(simd, rows, sums, slices)),
        }
    }

    /// What an engine's skinning makes of rows.
    #[inline(always)]
    fn engine_rows<S: Simd>(&self, simd: S, rows: Range<usize>, slices: &mut Slices<'_>) {
        for (local, row) in rows.enumerate() {
            let rest = V3::load(simd, &self.rest[row]);
            let skinned = lbs_row(simd, &self.base, self.base.rig.skin_weights(), row, rest);
            skinned.p.store(&mut slices.engine_points[local]);
            for axis in 0..3 {
                skinned.linear[axis].store(&mut slices.engine_linear[local][axis]);
            }
        }
    }

    /// The base at the points of a row.
    #[inline(always)]
    fn skin<S: Simd>(&self, simd: S, row: usize, local: usize, slices: &mut Slices<'_>) -> Skinned<S> {
        let gradients = match self.normals {
            NormalsPlan::Exact { gradients, factor, .. } => {
                Some(SurfaceGradients { skin: &gradients.skin, factor: factor.as_deref() })
            }
            _ => None,
        };
        let rest = V3::load(simd, &self.rest[row]);
        let mut skinned = self.graph.base.row(simd, &self.base, gradients.as_ref(), row, rest);
        if !slices.skinned.is_empty() {
            skinned.p.store(&mut slices.skinned[local]);
        }
        if let Some(carried) = self.carried {
            skinned.p = V3::load(simd, &carried[row]);
        }
        skinned
    }

    /// Skinned points for the effects to read, and what the effects do alike to all points.
    #[inline(always)]
    fn begin_rows<S: Simd, const EXACT: bool>(
        &self,
        simd: S,
        rows: Range<usize>,
        sums: &mut [RowSums],
        slices: &mut Slices<'_>,
    ) {
        let gradients = match self.normals {
            NormalsPlan::Exact { gradients, .. } => Some(&gradients.columns[..]),
            _ => None,
        };
        for ((local, row), sum) in rows.enumerate().zip(sums) {
            let skinned = self.skin(simd, row, local, slices);
            skinned.p.store(&mut sum.p);
            let stretches = &self.graph.stretches;
            let Moved { d, a, b } = self.collapsed.moved::<S, EXACT>(simd, stretches, gradients, row, skinned.p);
            d.store(&mut sum.d);
            for axis in 0..3 {
                skinned.linear[axis].store(&mut sum.linear[axis]);
                if EXACT {
                    skinned.blended[axis].store(&mut sum.blended[axis]);
                    a[axis].store(&mut sum.a[axis]);
                    b[axis].store(&mut sum.b[axis]);
                }
            }
        }
    }

    /// Points, normals and tangents of rows that no effect acts on.
    #[inline(always)]
    fn skinned_rows<S: Simd, const EXACT: bool>(&self, simd: S, rows: Range<usize>, slices: &mut Slices<'_>) {
        let first_layer = layers_of(self.base.rig, rows.clone()).start;
        for (local, row) in rows.enumerate() {
            let skinned = self.skin(simd, row, local, slices);
            self.finish::<S, EXACT>(simd, row, (local, first_layer), skinned, skinned, slices);
        }
    }

    /// Points, normals and tangents of rows, with what the effects added up to.
    #[inline(always)]
    fn displaced_rows<S: Simd, const EXACT: bool>(
        &self,
        simd: S,
        rows: Range<usize>,
        sums: &[RowSums],
        slices: &mut Slices<'_>,
    ) {
        let first_layer = layers_of(self.base.rig, rows.clone()).start;
        for ((local, row), sum) in rows.enumerate().zip(sums) {
            let [x, y, z] = &sum.linear;
            let linear = [V3::load(simd, x), V3::load(simd, y), V3::load(simd, z)];
            let mut skinned = Skinned { p: V3::load(simd, &sum.p), linear, blended: linear };
            if EXACT {
                let [x, y, z] = &sum.blended;
                skinned.blended = [V3::load(simd, x), V3::load(simd, y), V3::load(simd, z)];
            }
            let displaced = displace::<S, EXACT>(simd, sum, skinned, self.total_limit(row));
            self.finish::<S, EXACT>(simd, row, (local, first_layer), skinned, displaced, slices);
        }
    }

    /// How far the points of a row may be moved in all.
    #[inline(always)]
    fn total_limit(&self, row: usize) -> Option<Limit> {
        let limit = self.graph.max_total?;
        let rig = self.base.rig;
        Some(total_limit(limit, rig.characters()[rig.rows()[row].character as usize].size))
    }

    #[inline(always)]
    fn finish<S: Simd, const EXACT: bool>(
        &self,
        simd: S,
        row: usize,
        (local, first_layer): (usize, usize),
        skinned: Skinned<S>,
        displaced: Skinned<S>,
        slices: &mut Slices<'_>,
    ) {
        displaced.p.store(&mut slices.result.points[local]);
        let with_base = !slices.base.points.is_empty();
        if with_base {
            skinned.p.store(&mut slices.base.points[local]);
        }
        for layer in layers_of(self.base.rig, row..row + 1) {
            let n = V3::load(simd, &self.rest_normals[layer]);
            let mut normal = skinned.carry(n).normalize_or(simd, n);
            let local = layer - first_layer;
            if EXACT {
                skinned.as_engines().carry(n).normalize_or(simd, n).store(&mut slices.blended[local]);
                let mirrored = self.base.mirrored(row);
                if with_base {
                    let carrier = cofactor(simd, &skinned, mirrored);
                    carrier.carry(n).normalize_or(simd, normal).store(&mut slices.base.normals[local]);
                }
                normal = cofactor(simd, &displaced, mirrored).carry(n).normalize_or(simd, normal);
            } else if with_base {
                normal.store(&mut slices.base.normals[local]);
            }
            normal.store(&mut slices.result.normals[local]);
            if let Some(tangents) = self.rest_tangents {
                let t = V3::load(simd, &tangents[layer]);
                displaced.carry(t).normalize_or(simd, t).store(&mut slices.result.tangents[local]);
                if with_base {
                    skinned.carry(t).normalize_or(simd, t).store(&mut slices.base.tangents[local]);
                }
            }
        }
    }
}

/// Layers of a range of rows.
fn layers_of(rig: &Rig, rows: Range<usize>) -> Range<usize> {
    match &rig.rows()[rows] {
        [] => 0..0,
        [only] => only.layers.start as usize..only.layers.end as usize,
        [first, .., last] => first.layers.start as usize..last.layers.end as usize,
    }
}

/// Layers of the block that has most.
pub(super) fn largest_block(rig: &Rig) -> usize {
    let rows = rig.rows().len();
    (0..rows).step_by(BLOCK).map(|start| layers_of(rig, start..(start + BLOCK).min(rows)).len()).max().unwrap_or(0)
}

/// With what the effects add up to: `p + d`, and `(I + A) J + B` for the linear map.
#[inline(always)]
fn displace<S: Simd, const EXACT: bool>(
    simd: S,
    sums: &RowSums,
    mut skinned: Skinned<S>,
    limit: Option<Limit>,
) -> Skinned<S> {
    let mut moved = Moved { d: V3::load(simd, &sums.d), ..Moved::zero(simd) };
    if EXACT {
        for axis in 0..3 {
            moved.a[axis] = V3::load(simd, &sums.a[axis]);
            moved.b[axis] = V3::load(simd, &sums.b[axis]);
        }
    }
    if let Some(limit) = limit {
        moved = bounded::<S, EXACT>(simd, moved, limit);
    }
    skinned.p = skinned.p.add(moved.d);
    if EXACT {
        let j = skinned.linear;
        for axis in 0..3 {
            let (a, b) = (moved.a[axis], moved.b[axis]);
            let turned = j[2].mul_add(a.z, j[1].mul_add(a.y, j[0].scale(a.x)));
            skinned.linear[axis] = j[axis].add(turned).add(b);
        }
    }
    skinned
}

/// The same, no farther than the limit.
#[inline(always)]
fn bounded<S: Simd, const EXACT: bool>(simd: S, mut moved: Moved<S>, limit: Limit) -> Moved<S> {
    let Bounded { unit, bounded, slope, share } = limit.apply_vector(simd, moved.d);
    moved.d = unit.scale(bounded);
    if EXACT {
        let bend = unit.scale(slope - share);
        for map in [&mut moved.a, &mut moved.b] {
            let along = transposed(map, unit);
            for axis in 0..3 {
                map[axis] = map[axis].scale(share);
            }
            outer(map, bend, along);
        }
    }
    moved
}

/// The map of normals that belongs to a map of points: its cofactors. A mirrored character keeps its outside; where the
/// surface itself folds over, the normal stays on the side its faces are wound for.
#[inline(always)]
fn cofactor<S: Simd>(simd: S, skinned: &Skinned<S>, mirrored: bool) -> Skinned<S> {
    let [x, y, z] = skinned.linear;
    let sign = splat(simd, if mirrored { -1.0 } else { 1.0 });
    let linear = [y.cross(z).scale(sign), z.cross(x).scale(sign), x.cross(y).scale(sign)];
    Skinned { linear, ..*skinned }
}
