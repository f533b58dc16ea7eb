//! One frame through the graph. Cannot fail: rig and graph were checked when they were built.

use super::accumulate::{Block, RowSums};
use super::{FrameIndependentGraph, MovingBones, NormalsPlan};
use crate::base::{BaseFrame, DqsPalette, Palette, Skinned, SurfaceGradients, lbs_row};
use crate::correct::{CorrectScratch, CorrectionFrame, CorrectionReport};
use crate::motion::Kinematics;
use crate::pose::{Pose, WorldPose};
use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{LANES, Lanes, Level, Points, Simd, V3, dispatch, prelude::*, splat};
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
    displaced: Points,
    normals: Points,
    tangents: Points,
    turns: Vec<(Vec3, f32)>,
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

    let job = Job {
        graph,
        level: cpu.level,
        base: BaseFrame { rig, palette: &scratch.palette, dual: &scratch.dual },
        rest: if morphed { &scratch.rest } else { rig.rest() },
        rest_normals: if morphed { &scratch.rest_normals } else { rig.layer_normals() },
        rest_tangents: rig.layer_tangents().map(|(own, _)| if morphed { &scratch.rest_tangents } else { own }),
        moving: &scratch.moving,
    };
    let slices = Slices {
        skinned: slice_mut(&mut scratch.skinned),
        displaced: slice_mut(&mut scratch.displaced),
        normals: slice_mut(&mut scratch.normals),
        tangents: slice_mut(&mut scratch.tangents),
    };
    match cpu.pool {
        None => job.run_serial(slices, rows, out),
        Some(pool) => pool.install(|| job.run_parallel(0..rows, slices)),
    }
    out.corrected.volumes.clear();
    out.corrected.contacts.clear();
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
        };
        graph.corrections.run(&corrections, &mut scratch.displaced, &mut scratch.corrected, &mut out.corrected);
    }
    if let NormalsPlan::Faces(fans) = &graph.normals {
        let tangents = has_tangents.then_some(&mut scratch.tangents);
        fans.carry(rig, &scratch.skinned, &scratch.displaced, &mut scratch.turns, &mut scratch.normals, tangents);
    }
    gather(rig, &scratch.displaced, &scratch.normals, &scratch.tangents, cpu, out);
}

/// Rest points, normals and tangents with the file's own morph targets; false where none is active.
fn morph(rig: &Rig, pose: &Pose, scratch: &mut Scratch) -> bool {
    let weight = |index: usize| pose.morph_weights.get(index).copied().unwrap_or(0.0);
    if rig.morphs().iter().all(|morph| weight(morph.weight) == 0.0) {
        return false;
    }
    copy(rig.rest(), &mut scratch.rest);
    copy(rig.layer_normals(), &mut scratch.rest_normals);
    if let Some((tangents, _)) = rig.layer_tangents() {
        copy(tangents, &mut scratch.rest_tangents);
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

fn copy(from: &Points, to: &mut Points) {
    to.x.clone_from(&from.x);
    to.y.clone_from(&from.y);
    to.z.clone_from(&from.z);
}

fn slice_mut(points: &mut Points) -> PointsSliceMut<'_> {
    PointsSliceMut { x: &mut points.x, y: &mut points.y, z: &mut points.z }
}

impl<'a> PointsSliceMut<'a> {
    fn split_at(self, row: usize) -> (Self, Self) {
        let row = row.min(self.x.len());
        let ((x0, x1), (y0, y1), (z0, z1)) =
            (self.x.split_at_mut(row), self.y.split_at_mut(row), self.z.split_at_mut(row));
        (Self { x: x0, y: y0, z: z0 }, Self { x: x1, y: y1, z: z1 })
    }

    /// Some rows; none of an array that is not in use.
    fn part(&mut self, rows: Range<usize>) -> PointsSliceMut<'_> {
        let rows = if self.x.is_empty() { 0..0 } else { rows };
        PointsSliceMut { x: &mut self.x[rows.clone()], y: &mut self.y[rows.clone()], z: &mut self.z[rows] }
    }

    fn as_ref(&self) -> PointsSlice<'_> {
        PointsSlice { x: self.x, y: self.y, z: self.z }
    }
}

/// Borrowed rows of points.
#[derive(Clone, Copy)]
struct PointsSlice<'a> {
    x: &'a [Lanes],
    y: &'a [Lanes],
    z: &'a [Lanes],
}

/// Mutably borrowed rows of points.
struct PointsSliceMut<'a> {
    x: &'a mut [Lanes],
    y: &'a mut [Lanes],
    z: &'a mut [Lanes],
}

/// What a range of rows writes.
struct Slices<'a> {
    skinned: PointsSliceMut<'a>,
    displaced: PointsSliceMut<'a>,
    normals: PointsSliceMut<'a>,
    tangents: PointsSliceMut<'a>,
}

impl Slices<'_> {
    fn part(&mut self, rows: Range<usize>, layers: Range<usize>) -> Slices<'_> {
        Slices {
            skinned: self.skinned.part(rows.clone()),
            displaced: self.displaced.part(rows),
            normals: self.normals.part(layers.clone()),
            tangents: self.tangents.part(layers),
        }
    }

    fn split_at(self, row: usize, layer: usize) -> (Self, Self) {
        let (skinned, displaced) = (self.skinned.split_at(row), self.displaced.split_at(row));
        let (normals, tangents) = (self.normals.split_at(layer), self.tangents.split_at(layer));
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
    rest: &'a Points,
    rest_normals: &'a Points,
    rest_tangents: Option<&'a Points>,
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
                let (normals, tangents) = (block.normals.as_ref(), block.tangents.as_ref());
                scatter(rig, start..end, block.displaced.as_ref(), normals, tangents, out);
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
            match (graph.base.linear_weights(self.base.rig), graph.base.antipodality(), &graph.normals) {
                (Some(weights), None, NormalsPlan::Engine) => {
                    dispatch!(self.level, simd => self.linear_rows(simd, rows, weights, slices));
                }
                _ => dispatch!(self.level, simd => self.finish_rows(simd, rows, None, slices)),
            }
            return;
        }
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
            let skinned = lbs_row(simd, &self.base, weights, row, V3::load(simd, self.rest, row));
            store(skinned.p, &mut slices.displaced, local);
            for layer in layers_of(rig, row..row + 1) {
                let n = V3::load(simd, self.rest_normals, layer);
                store(skinned.carry(n).normalize_or(simd, n), &mut slices.normals, layer - first_layer);
                if let Some(tangents) = self.rest_tangents {
                    let t = V3::load(simd, tangents, layer);
                    store(skinned.carry(t).normalize_or(simd, t), &mut slices.tangents, layer - first_layer);
                }
            }
        }
    }

    /// Skinned points for the effects to read.
    #[inline(always)]
    fn skin_rows<S: Simd>(&self, simd: S, rows: Range<usize>, sums: &mut [RowSums]) {
        for (sum, row) in sums.iter_mut().zip(rows) {
            let p = self.graph.base.row(simd, &self.base, None, row, V3::load(simd, self.rest, row)).p;
            p.x.store_array(&mut sum.p[0]);
            p.y.store_array(&mut sum.p[1]);
            p.z.store_array(&mut sum.p[2]);
        }
    }

    /// Points, normals and tangents of rows, with what the effects added up to.
    #[inline(always)]
    fn finish_rows<S: Simd>(&self, simd: S, rows: Range<usize>, sums: Option<&mut [RowSums]>, slices: &mut Slices<'_>) {
        let rig = self.base.rig;
        let first_layer = rig.rows().get(rows.start).map_or(0, |row| row.layers.start as usize);
        for (local, row) in rows.enumerate() {
            let rest = V3::load(simd, self.rest, row);
            let gradients = match &self.graph.normals {
                NormalsPlan::Exact { gradients, factor } => {
                    Some(SurfaceGradients { skin: &gradients.skin, factor: factor.as_deref() })
                }
                _ => None,
            };
            let mut skinned = self.graph.base.row(simd, &self.base, gradients.as_ref(), row, rest);
            if !slices.skinned.x.is_empty() {
                store(skinned.p, &mut slices.skinned, local);
            }
            let engine = skinned;
            if let Some(sums) = &sums {
                displace(simd, &sums[local], &mut skinned);
            }
            store(skinned.p, &mut slices.displaced, local);
            let exact = matches!(self.graph.normals, NormalsPlan::Exact { .. });
            let carrier = if exact { cofactor(simd, &skinned) } else { engine };
            let directions = if exact { skinned } else { engine };
            for layer in rig.rows()[row].layers.start as usize..rig.rows()[row].layers.end as usize {
                let n = V3::load(simd, self.rest_normals, layer);
                let fallback = engine.carry(n).normalize_or(simd, n);
                store(carrier.carry(n).normalize_or(simd, fallback), &mut slices.normals, layer - first_layer);
                if let Some(tangents) = self.rest_tangents {
                    let t = V3::load(simd, tangents, layer);
                    store(directions.carry(t).normalize_or(simd, t), &mut slices.tangents, layer - first_layer);
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
    skinned.p = skinned.p.add(V3::load_lanes(simd, &sums.d));
    let j = skinned.linear;
    for axis in 0..3 {
        let a = V3::load_lanes(simd, &sums.a[axis]);
        let b = V3::load_lanes(simd, &sums.b[axis]);
        let turned = j[2].mul_add(a.z, j[1].mul_add(a.y, j[0].scale(a.x)));
        skinned.linear[axis] = j[axis].add(turned).add(b);
    }
}

/// The map of normals that belongs to a map of points: its cofactors, with the sign of its determinant, so that a
/// mirrored character keeps its outside. Scaled by the largest entry of each row to stay in range.
#[inline(always)]
fn cofactor<S: Simd>(simd: S, skinned: &Skinned<S>) -> Skinned<S> {
    let [x, y, z] = skinned.linear;
    let rows = [y.cross(z), z.cross(x), x.cross(y)];
    let mirrored = x.dot(rows[0]).simd_lt(splat(simd, 0.0));
    let sign = mirrored.select(splat(simd, -1.0), splat(simd, 1.0));
    Skinned { p: skinned.p, linear: [rows[0].scale(sign), rows[1].scale(sign), rows[2].scale(sign)] }
}

#[inline(always)]
fn store<S: Simd>(v: V3<S>, out: &mut PointsSliceMut<'_>, row: usize) {
    v.x.store_array(&mut out.x[row]);
    v.y.store_array(&mut out.y[row]);
    v.z.store_array(&mut out.z[row]);
}

/// From rows to the source's vertex order, row by row: the reads are where the kernel just wrote, and the writes of
/// neighbouring rows land close to each other.
fn scatter(
    rig: &Rig,
    rows: Range<usize>,
    points: PointsSlice<'_>,
    normals: PointsSlice<'_>,
    tangents: PointsSlice<'_>,
    out: &mut DeformedMesh,
) {
    let first_layer = rig.rows().get(rows.start).map_or(0, |row| row.layers.start as usize);
    for (local, row) in rig.rows()[rows].iter().enumerate() {
        let (px, py, pz) = (&points.x[local], &points.y[local], &points.z[local]);
        for layer in row.layers.start as usize..row.layers.end as usize {
            let vertices = &rig.vertex_of_layer()[layer];
            let layer = layer - first_layer;
            let (nx, ny, nz) = (&normals.x[layer], &normals.y[layer], &normals.z[layer]);
            for lane in 0..LANES {
                let vertex = vertices[lane] as usize;
                if let (Some(position), Some(normal)) = (out.positions.get_mut(vertex), out.normals.get_mut(vertex)) {
                    *position = Vec3::new(px[lane], py[lane], pz[lane]);
                    *normal = Vec3::new(nx[lane], ny[lane], nz[lane]);
                }
            }
            if let Some((_, handedness)) = rig.layer_tangents() {
                for lane in (0..LANES).filter(|&lane| vertices[lane] != NO_VERTEX) {
                    let xyz = Vec3::new(tangents.x[layer][lane], tangents.y[layer][lane], tangents.z[layer][lane]);
                    out.tangents[vertices[lane] as usize] = xyz.extend(handedness[layer + first_layer][lane]);
                }
            }
        }
    }
}

/// As [`scatter`], by as many threads as the caller gives: each writes its own vertices.
fn gather(rig: &Rig, points: &Points, normals: &Points, tangents: &Points, cpu: &Cpu<'_>, out: &mut DeformedMesh) {
    use rayon::prelude::*;
    const CHUNK: usize = BLOCK * LANES;
    let Some(pool) = cpu.pool else {
        return scatter(rig, 0..rig.rows().len(), slice(points), slice(normals), slice(tangents), out);
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

fn slice(points: &Points) -> PointsSlice<'_> {
    PointsSlice { x: &points.x, y: &points.y, z: &points.z }
}
