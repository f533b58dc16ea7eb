//! One frame through the graph. Cannot fail: rig and graph were checked when they were built.

use super::accumulate::{Block, RowSums};
use super::{FrameIndependentGraph, MovingBones, NormalsPlan};
use crate::base::{Base, BaseFrame, DqsPalette, LinearRow, Palette, Skinned, SurfaceGradients, lbs_linear_row};
use crate::correct::{CorrectScratch, CorrectionFrame, CorrectionReport};
use crate::kinodynamic::{FreeFrame, FreeScratch};
use crate::motion::Kinematics;
use crate::normals::FanScratch;
use crate::pose::{Pose, WorldPose};
use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{LANES, Lanes, Level, PointRow, Points, Simd, V3, dispatch, f32x4, prelude::*, splat};
use glam::{DVec3, Vec3, Vec4};
use std::ops::Range;

/// Everything a frame is made of, borrowed.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// The rig.
    pub rig: &'a Rig,
    /// Local transforms and morph weights.
    pub pose: &'a Pose,
    /// World transforms composed from `pose`.
    pub world: &'a WorldPose,
    /// How the bones move, with the graph's filtered signals.
    pub kinematics: &'a Kinematics,
    /// Time in the clip, for keyed parameters.
    pub time: f64,
}

/// What to compute on: the same bits whatever it holds (see [`crate::simd`] for the one exception).
#[derive(Clone, Copy)]
pub struct Cpu<'a> {
    /// Instruction set.
    pub level: Level,
    /// Threads; `None` = the caller's own.
    pub pool: Option<&'a rayon::ThreadPool>,
}

impl Cpu<'_> {
    /// The best instruction set here, on the caller's thread.
    pub fn serial() -> Self {
        Self { level: Level::new(), pool: None }
    }
}

/// The result, in the source's vertex order over all parts.
#[derive(Clone, Debug, Default)]
pub struct DeformedMesh {
    /// Per character: the point its positions are relative to.
    pub origins: Vec<DVec3>,
    /// Positions relative to the character's origin.
    pub positions: Vec<Vec3>,
    /// Unit normals.
    pub normals: Vec<Vec3>,
    /// Unit tangents with handedness; empty where no part has them.
    pub tangents: Vec<Vec4>,
    /// What the corrections did.
    pub corrected: CorrectionReport,
}

impl DeformedMesh {
    /// World position of a vertex of a part of `character`.
    pub fn world_position(&self, character: usize, vertex: usize) -> DVec3 {
        self.origins[character] + self.positions[vertex].as_dvec3()
    }
}

/// Memory for intermediate results. Reuse it; its contents mean nothing.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    palette: Palette,
    dual: DqsPalette,
    moving: Vec<MovingBones>,
    rest: Points,
    rest_normals: Points,
    rest_tangents: Points,
    skinned: Points,
    free: FreeScratch,
    carried: Points,
    displaced: Points,
    normals: Points,
    tangents: Points,
    fans: FanScratch,
    corrected: CorrectScratch,
}

/// Rows a thread takes at a time: 256 points, whose sums and derivatives stay in the first cache.
const BLOCK: usize = 16;

/// Evaluates any frame: no history, any order, any machine.
///
/// Allocates only when `scratch` or `out` were last used with a smaller rig.
pub fn evaluate(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    out: &mut DeformedMesh,
) {
    let rig = frame.rig;
    out.origins.clear();
    out.origins.extend((0..rig.characters().len()).map(|character| rig.origin(character, frame.world)));
    scratch.palette.compose(rig, frame.world, &out.origins);
    if graph.base.antipodality().is_some() {
        scratch.dual.compose(rig, &scratch.palette);
    }
    scratch.moving.resize_with(graph.effects.len(), MovingBones::default);
    for (effect, moving) in graph.effects.iter().zip(&mut scratch.moving) {
        effect.prepare(frame, &out.origins, moving);
    }
    let morphed = morph(rig, frame.pose, scratch);
    let (rows, layers) = (rig.rows().len(), rig.vertex_of_layer().len());
    let has_tangents = rig.layer_tangents().is_some();
    let faces = matches!(graph.normals, NormalsPlan::Faces(_));
    let whole = graph.needs_whole_mesh();
    // On one thread a block is written out before the next begins, and all blocks share one piece of cache.
    let (kept_rows, kept_layers) = match cpu.pool {
        None if !whole => (BLOCK.min(rows), largest_block(rig)),
        _ => (rows, layers),
    };
    scratch.skinned.resize(if faces { rows } else { 0 });
    scratch.displaced.resize(kept_rows);
    scratch.normals.resize(kept_layers);
    scratch.tangents.resize(if has_tangents { kept_layers } else { 0 });
    out.positions.resize(rig.vertex_count(), Vec3::ZERO);
    out.normals.resize(rig.vertex_count(), Vec3::ZERO);
    out.tangents.resize(if has_tangents { rig.vertex_count() } else { 0 }, Vec4::ZERO);

    let (world, world_from_rest) = (frame.world, scratch.palette.world());
    let rest = if morphed { &scratch.rest } else { rig.rest() };
    let free = FreeFrame { rig, world, origins: &out.origins, world_from_rest, rest };
    let carried = match &graph.base {
        Base::FoldOverFree(base) => {
            base.carry(&free, cpu.level, cpu.pool, &mut scratch.free, &mut scratch.carried);
            Some(&scratch.carried.rows[..])
        }
        Base::ByPoint(base) => {
            base.carry(&free, cpu.pool, &mut scratch.carried);
            Some(&scratch.carried.rows[..])
        }
        _ => None,
    };
    let job = Job {
        graph,
        level: cpu.level,
        base: BaseFrame { rig, palette: &scratch.palette, dual: &scratch.dual },
        rest: if morphed { &scratch.rest.rows } else { &rig.rest().rows },
        carried,
        rest_normals: if morphed { &scratch.rest_normals.rows } else { &rig.layer_normals().rows },
        rest_tangents: rig
            .layer_tangents()
            .map(|(own, _)| if morphed { &scratch.rest_tangents.rows[..] } else { &own.rows[..] }),
        moving: &scratch.moving,
    };
    let slices = Slices {
        skinned: &mut scratch.skinned.rows,
        displaced: &mut scratch.displaced.rows,
        normals: &mut scratch.normals.rows,
        tangents: &mut scratch.tangents.rows,
    };
    match cpu.pool {
        None => job.run_serial(slices, rows, out),
        Some(pool) => pool.install(|| job.run_parallel(0..rows, slices)),
    }
    out.corrected.clear();
    if cpu.pool.is_none() && !whole {
        return;
    }
    if !graph.corrections.is_empty() {
        let corrections = CorrectionFrame {
            rig,
            world: frame.world,
            origins: &out.origins,
            world_from_rest: scratch.palette.world(),
            morphed_rest: morphed.then_some(&scratch.rest),
            effects_rest: scratch.moving.iter().all(MovingBones::is_empty),
            kinematics: frame.kinematics,
            time: frame.time,
            level: cpu.level,
            pool: cpu.pool,
        };
        graph.corrections.run(&corrections, &mut scratch.displaced, &mut scratch.corrected, &mut out.corrected);
    }
    if let NormalsPlan::Faces(fans) = &graph.normals {
        let tangents = has_tangents.then_some(&mut scratch.tangents);
        let Scratch { skinned, displaced, fans: work, normals, .. } = scratch;
        fans.carry(rig, skinned, displaced, cpu.pool, work, normals, tangents);
    }
    gather(rig, &scratch.displaced, &scratch.normals, &scratch.tangents, cpu, out);
}

/// Rest points, normals and tangents with the file's own morph targets; false where none is active.
fn morph(rig: &Rig, pose: &Pose, scratch: &mut Scratch) -> bool {
    let weight = |index: usize| pose.morph_weights.get(index).copied().unwrap_or(0.0);
    if rig.morphs().iter().all(|morph| weight(morph.weight) == 0.0) {
        return false;
    }
    scratch.rest.rows.clone_from(&rig.rest().rows);
    scratch.rest_normals.rows.clone_from(&rig.layer_normals().rows);
    if let Some((tangents, _)) = rig.layer_tangents() {
        scratch.rest_tangents.rows.clone_from(&tangents.rows);
    }
    for morph in rig.morphs() {
        let weight = weight(morph.weight);
        if weight == 0.0 {
            continue;
        }
        let add = |points: &mut Points, deltas: &[(u32, Vec3)]| {
            for &(slot, delta) in deltas {
                points.set(slot as usize, points.get(slot as usize) + delta * weight);
            }
        };
        add(&mut scratch.rest, &morph.positions);
        add(&mut scratch.rest_normals, &morph.normals);
        if rig.layer_tangents().is_some() {
            add(&mut scratch.rest_tangents, &morph.tangents);
        }
    }
    true
}

/// Some rows; none of an array that is not in use.
fn part(points: &mut [PointRow], rows: Range<usize>) -> &mut [PointRow] {
    if points.is_empty() { points } else { &mut points[rows] }
}

/// At a row, or at the end of an array that is not in use.
fn split(points: &mut [PointRow], row: usize) -> (&mut [PointRow], &mut [PointRow]) {
    points.split_at_mut(row.min(points.len()))
}

/// What a range of rows writes.
struct Slices<'a> {
    skinned: &'a mut [PointRow],
    displaced: &'a mut [PointRow],
    normals: &'a mut [PointRow],
    tangents: &'a mut [PointRow],
}

impl Slices<'_> {
    fn part(&mut self, rows: Range<usize>, layers: Range<usize>) -> Slices<'_> {
        Slices {
            skinned: part(self.skinned, rows.clone()),
            displaced: part(self.displaced, rows),
            normals: part(self.normals, layers.clone()),
            tangents: part(self.tangents, layers),
        }
    }

    fn split_at(self, row: usize, layer: usize) -> (Self, Self) {
        let (skinned, displaced) = (split(self.skinned, row), split(self.displaced, row));
        let (normals, tangents) = (split(self.normals, layer), split(self.tangents, layer));
        (
            Self { skinned: skinned.0, displaced: displaced.0, normals: normals.0, tangents: tangents.0 },
            Self { skinned: skinned.1, displaced: displaced.1, normals: normals.1, tangents: tangents.1 },
        )
    }
}

struct Job<'a> {
    graph: &'a FrameIndependentGraph,
    level: Level,
    base: BaseFrame<'a>,
    rest: &'a [PointRow],
    /// Where a base that is no sum over bones has the points.
    carried: Option<&'a [PointRow]>,
    rest_normals: &'a [PointRow],
    rest_tangents: Option<&'a [PointRow]>,
    moving: &'a [MovingBones],
}

impl Job<'_> {
    /// Block by block; unless something waits for the whole mesh, each block's vertices are written out at once.
    fn run_serial(&self, mut slices: Slices<'_>, rows: usize, out: &mut DeformedMesh) {
        let whole = self.graph.needs_whole_mesh();
        let rig = self.base.rig;
        for start in (0..rows).step_by(BLOCK) {
            let end = (start + BLOCK).min(rows);
            let layers = layers_of(rig, start..end);
            let (row, layer) = if whole { (start, layers.start) } else { (0, 0) };
            let mut block = slices.part(row..row + (end - start), layer..layer + layers.len());
            self.block(start..end, &mut block);
            if !whole {
                let (points, normals, tangents) = (&*block.displaced, &*block.normals, &*block.tangents);
                dispatch!(self.level, simd => scatter(simd, rig, start..end, points, normals, tangents, out));
            }
        }
    }

    /// Halves at multiples of the block, so that every thread count sees the same blocks.
    fn run_parallel(&self, rows: Range<usize>, slices: Slices<'_>) {
        let blocks = rows.len().div_ceil(BLOCK);
        if blocks <= 1 {
            self.block(rows, &mut { slices });
            return;
        }
        let middle = rows.start + blocks / 2 * BLOCK;
        let (left, right) = slices.split_at(middle - rows.start, layers_of(self.base.rig, rows.start..middle).len());
        rayon::join(|| self.run_parallel(rows.start..middle, left), || self.run_parallel(middle..rows.end, right));
    }

    fn block(&self, rows: Range<usize>, slices: &mut Slices<'_>) {
        if self.graph.effects.is_empty() {
            let graph = self.graph;
            let linear = graph.base.linear_weights(self.base.rig).filter(|_| self.carried.is_none());
            match (linear, graph.base.antipodality(), &graph.normals) {
                (Some(weights), None, NormalsPlan::Engine) => {
                    dispatch!(self.level, simd => self.linear_rows(simd, rows, weights, slices));
                }
                _ => dispatch!(self.level, simd => self.finish_rows(simd, rows, None, slices)),
            }
            return;
        }
        self.displaced_block(rows, slices);
    }

    /// A function of its own, so that linear blending alone does not pay for the stack of the sums.
    #[inline(never)]
    fn displaced_block(&self, rows: Range<usize>, slices: &mut Slices<'_>) {
        let mut sums = [RowSums::ZERO; BLOCK];
        let sums = &mut sums[..rows.len()];
        dispatch!(self.level, simd => self.skin_rows(simd, rows.clone(), sums));
        for (effect, moving) in self.graph.effects.iter().zip(self.moving) {
            if moving.is_empty() {
                continue;
            }
            let block = Block {
                rig: self.base.rig,
                rows: rows.clone(),
                gains: &effect.gains,
                gain_gradients: effect.gain_gradients.as_deref(),
                column_gradients: match &self.graph.normals {
                    NormalsPlan::Exact { gradients, .. } => Some(&gradients.columns),
                    _ => None,
                },
                moving,
                cone: effect.cone.as_ref(),
                compensate: effect.compensate,
            };
            effect.node.accumulate(self.level, moving.values.as_ref(), &block, sums);
        }
        dispatch!(self.level, simd => self.finish_rows(simd, rows, Some(sums), slices));
    }

    /// What `finish_rows` does, for linear blending alone: in one function with all the other cases it is slower, by a
    /// few per cent and most on large meshes.
    #[inline(always)]
    fn linear_rows<S: Simd>(&self, simd: S, rows: Range<usize>, weights: &[Lanes], slices: &mut Slices<'_>) {
        let rig = self.base.rig;
        let first_layer = layers_of(rig, rows.clone()).start;
        for (local, row) in rows.enumerate() {
            let layers = layers_of(rig, row..row + 1);
            let own = layers.start - first_layer..layers.end - first_layer;
            let tangents: &[PointRow] = self.rest_tangents.map_or(&[], |tangents| &tangents[layers.clone()]);
            let io = LinearRow {
                rest: &self.rest[row],
                rest_directions: [&self.rest_normals[layers], tangents],
                points: &mut slices.displaced[local],
                directions: [&mut slices.normals[own.clone()], part(slices.tangents, own)],
            };
            lbs_linear_row(simd, &self.base, weights, row, io);
        }
    }

    /// Skinned points for the effects to read.
    #[inline(always)]
    fn skin_rows<S: Simd>(&self, simd: S, rows: Range<usize>, sums: &mut [RowSums]) {
        for (sum, row) in sums.iter_mut().zip(rows) {
            let p = match self.carried {
                Some(carried) => V3::load(simd, &carried[row]),
                None => self.graph.base.row(simd, &self.base, None, row, V3::load(simd, &self.rest[row])).p,
            };
            p.store(&mut sum.p);
        }
    }

    /// Points, normals and tangents of rows, with what the effects added up to.
    #[inline(always)]
    fn finish_rows<S: Simd>(&self, simd: S, rows: Range<usize>, sums: Option<&mut [RowSums]>, slices: &mut Slices<'_>) {
        let rig = self.base.rig;
        let first_layer = rig.rows().get(rows.start).map_or(0, |row| row.layers.start as usize);
        for (local, row) in rows.enumerate() {
            let rest = V3::load(simd, &self.rest[row]);
            let gradients = match &self.graph.normals {
                NormalsPlan::Exact { gradients, factor } => {
                    Some(SurfaceGradients { skin: &gradients.skin, factor: factor.as_deref() })
                }
                _ => None,
            };
            let mut skinned = self.graph.base.row(simd, &self.base, gradients.as_ref(), row, rest);
            if !slices.skinned.is_empty() {
                skinned.p.store(&mut slices.skinned[local]);
            }
            if let Some(carried) = self.carried {
                skinned.p = V3::load(simd, &carried[row]);
            }
            let engine = skinned;
            if let Some(sums) = &sums {
                displace(simd, &sums[local], &mut skinned);
            }
            skinned.p.store(&mut slices.displaced[local]);
            let exact = matches!(self.graph.normals, NormalsPlan::Exact { .. });
            let carrier = if exact { cofactor(simd, &skinned, self.base.mirrored(row)) } else { engine };
            let directions = if exact { skinned } else { engine };
            for layer in rig.rows()[row].layers.start as usize..rig.rows()[row].layers.end as usize {
                let n = V3::load(simd, &self.rest_normals[layer]);
                let fallback = engine.carry(n).normalize_or(simd, n);
                carrier.carry(n).normalize_or(simd, fallback).store(&mut slices.normals[layer - first_layer]);
                if let Some(tangents) = self.rest_tangents {
                    let t = V3::load(simd, &tangents[layer]);
                    directions.carry(t).normalize_or(simd, t).store(&mut slices.tangents[layer - first_layer]);
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
fn largest_block(rig: &Rig) -> usize {
    let rows = rig.rows().len();
    (0..rows).step_by(BLOCK).map(|start| layers_of(rig, start..(start + BLOCK).min(rows)).len()).max().unwrap_or(0)
}

/// Adds what the effects add up to: `p + d`, and `(I + A) J + B` for the linear map.
#[inline(always)]
fn displace<S: Simd>(simd: S, sums: &RowSums, skinned: &mut Skinned<S>) {
    skinned.p = skinned.p.add(V3::load(simd, &sums.d));
    let j = skinned.linear;
    for axis in 0..3 {
        let a = V3::load(simd, &sums.a[axis]);
        let b = V3::load(simd, &sums.b[axis]);
        let turned = j[2].mul_add(a.z, j[1].mul_add(a.y, j[0].scale(a.x)));
        skinned.linear[axis] = j[axis].add(turned).add(b);
    }
}

/// The map of normals that belongs to a map of points: its cofactors. A mirrored character keeps its outside; where the
/// surface itself folds over, the normal stays on the side its faces are wound for.
#[inline(always)]
fn cofactor<S: Simd>(simd: S, skinned: &Skinned<S>, mirrored: bool) -> Skinned<S> {
    let [x, y, z] = skinned.linear;
    let sign = splat(simd, if mirrored { -1.0 } else { 1.0 });
    Skinned { p: skinned.p, linear: [y.cross(z).scale(sign), z.cross(x).scale(sign), x.cross(y).scale(sign)] }
}

/// From rows to the source's vertex order, row by row: the reads are where the kernel just wrote, and the writes of
/// neighbouring rows land close to each other.
#[inline(always)]
fn scatter<S: Simd>(
    simd: S,
    rig: &Rig,
    rows: Range<usize>,
    points: &[PointRow],
    normals: &[PointRow],
    tangents: &[PointRow],
    out: &mut DeformedMesh,
) {
    let first_layer = rig.rows().get(rows.start).map_or(0, |row| row.layers.start as usize);
    for (local, row) in rig.rows()[rows].iter().enumerate() {
        for layer in row.layers.start as usize..row.layers.end as usize {
            let to = (&rig.vertex_of_layer()[layer], rig.layer_runs()[layer]);
            let (vertices, layer) = (to.0, layer - first_layer);
            scatter_row(simd, &points[local], to, &mut out.positions);
            scatter_row(simd, &normals[layer], to, &mut out.normals);
            if let Some((_, handedness)) = rig.layer_tangents() {
                let [x, y, z] = &tangents[layer];
                for lane in (0..LANES).filter(|&lane| vertices[lane] != NO_VERTEX) {
                    let xyz = Vec3::new(x[lane], y[lane], z[lane]);
                    out.tangents[vertices[lane] as usize] = xyz.extend(handedness[layer + first_layer][lane]);
                }
            }
        }
    }
}

/// One row to its vertices. Four lanes are turned at a time in registers: reading and writing their coordinates one
/// by one cost as much as the blending. Vertices that follow each other in the source are written as a whole.
#[inline(always)]
fn scatter_row<S: Simd>(simd: S, row: &PointRow, (vertices, runs): (&[u32; LANES], u8), out: &mut [Vec3]) {
    let first = vertices[0] as usize;
    if runs & 0x10 != 0
        && let Some(run) = out.get_mut(first..first + LANES)
    {
        for (four, run) in run.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            write_run(simd, row, four, run);
        }
        return;
    }
    for (four, vertices) in vertices.as_chunks::<4>().0.iter().enumerate() {
        let first = vertices[0] as usize;
        if runs & 1 << four != 0
            && let Some(run) = out.get_mut(first..first + 4)
        {
            if let Some(run) = run.as_chunks_mut::<4>().0.first_mut() {
                write_run(simd, row, four, run);
            }
            continue;
        }
        let (x, y, z) = four_lanes(simd, row, four);
        let ((xz0, xz1), (yz0, yz1)) = (x.interleave(z), y.interleave(z));
        let ((p0, p1), (p2, p3)) = (xz0.interleave(yz0), xz1.interleave(yz1));
        for (&vertex, xyz) in vertices.iter().zip([p0, p1, p2, p3]) {
            // Lanes without a vertex name none.
            if let Some(value) = out.get_mut(vertex as usize) {
                *value = Vec3::from_slice(xyz.as_slice());
            }
        }
    }
}

#[inline(always)]
fn four_lanes<S: Simd>(simd: S, [x, y, z]: &PointRow, four: usize) -> (f32x4<S>, f32x4<S>, f32x4<S>) {
    let (x, y, z) = (&x.as_chunks::<4>().0[four], &y.as_chunks::<4>().0[four], &z.as_chunks::<4>().0[four]);
    (f32x4::load_array_ref(simd, x), f32x4::load_array_ref(simd, y), f32x4::load_array_ref(simd, z))
}

/// Four lanes to four vertices in a row: x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3.
#[inline(always)]
fn write_run<S: Simd>(simd: S, row: &PointRow, four: usize, run: &mut [Vec3; 4]) {
    let (x, y, z) = four_lanes(simd, row, four);
    let ((xy0, xy1), (zx0, zx1), (yz0, yz1)) = (x.interleave(y), z.interleave(x), y.interleave(z));
    let numbers: &mut [[f32; 4]; 3] = bytemuck::cast_mut(run);
    *numbers = [[xy0[0], xy0[1], zx0[0], zx0[3]], [yz0[2], yz0[3], xy1[0], xy1[1]], [zx1[0], xy1[2], yz1[2], yz1[3]]];
}

/// As [`scatter`], by as many threads as the caller gives: each writes its own vertices.
fn gather(rig: &Rig, points: &Points, normals: &Points, tangents: &Points, cpu: &Cpu<'_>, out: &mut DeformedMesh) {
    use rayon::prelude::*;
    const CHUNK: usize = BLOCK * LANES;
    let Some(pool) = cpu.pool else {
        let (points, normals, tangents) = (&points.rows[..], &normals.rows[..], &tangents.rows[..]);
        return dispatch!(cpu.level, simd => scatter(simd, rig, 0..rig.rows().len(), points, normals, tangents, out));
    };
    let (points_of, slots_of) = (rig.point_of_vertex(), rig.layer_slot_of_vertex());
    pool.install(|| {
        let chunks = out.positions.par_chunks_mut(CHUNK).zip(out.normals.par_chunks_mut(CHUNK));
        chunks.enumerate().for_each(|(chunk, (out_positions, out_normals))| {
            for (i, (position, normal)) in out_positions.iter_mut().zip(out_normals).enumerate() {
                *position = points.get(points_of[chunk * CHUNK + i] as usize);
                *normal = normals.get(slots_of[chunk * CHUNK + i] as usize);
            }
        });
        if let Some((_, handedness)) = rig.layer_tangents() {
            out.tangents.par_iter_mut().zip(slots_of).for_each(|(tangent, &slot)| {
                let slot = slot as usize;
                *tangent = tangents.get(slot).extend(handedness[slot / LANES][slot % LANES]);
            });
        }
    });
}
