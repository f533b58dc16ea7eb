//! One frame through the graph. Cannot fail: rig and graph were checked when they were built.

use super::{Block, FrameIndependentGraph, MovingBones, PointsSlice, PointsSliceMut};
use crate::base::{BaseFrame, DqsPalette, Palette};
use crate::motion::Kinematics;
use crate::pose::{Pose, WorldPose};
use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{LANES, Level, Points, Simd, V3, dispatch, prelude::*};
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
}

/// Rows a thread takes at a time: 1024 points, whose coordinates stay in the first cache.
const BLOCK: usize = 64;

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
    scratch.skinned.resize(rows);
    scratch.displaced.resize(if graph.effects.is_empty() { 0 } else { rows });
    scratch.normals.resize(layers);
    scratch.tangents.resize(if has_tangents { layers } else { 0 });
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
    if cpu.pool.is_none() && graph.effects.is_empty() {
        return;
    }
    if let Some(fans) = &graph.fans {
        let tangents = has_tangents.then_some(&mut scratch.tangents);
        fans.carry(rig, &scratch.skinned, &scratch.displaced, &mut scratch.turns, &mut scratch.normals, tangents);
    }
    let points = if graph.effects.is_empty() { &scratch.skinned } else { &scratch.displaced };
    gather(rig, points, &scratch.normals, &scratch.tangents, cpu, out);
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

    fn reborrow(&mut self) -> PointsSliceMut<'_> {
        PointsSliceMut { x: self.x, y: self.y, z: self.z }
    }

    fn as_ref(&self) -> PointsSlice<'_> {
        PointsSlice { x: self.x, y: self.y, z: self.z }
    }
}

/// What a range of rows writes.
struct Slices<'a> {
    skinned: PointsSliceMut<'a>,
    displaced: PointsSliceMut<'a>,
    normals: PointsSliceMut<'a>,
    tangents: PointsSliceMut<'a>,
}

impl Slices<'_> {
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
    /// Block by block; without effects, each block's vertices are written out while they are in the cache.
    fn run_serial(&self, mut slices: Slices<'_>, rows: usize, out: &mut DeformedMesh) {
        let mut start = 0;
        while start < rows {
            let end = (start + BLOCK).min(rows);
            let (mut block, rest) = slices.split_at(end - start, self.layers(start..end));
            self.block(start..end, &mut block);
            if self.graph.effects.is_empty() {
                let (normals, tangents) = (block.normals.as_ref(), block.tangents.as_ref());
                scatter(self.base.rig, start..end, block.skinned.as_ref(), normals, tangents, out);
            }
            slices = rest;
            start = end;
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
        let (left, right) = slices.split_at(middle - rows.start, self.layers(rows.start..middle));
        rayon::join(|| self.run_parallel(rows.start..middle, left), || self.run_parallel(middle..rows.end, right));
    }

    /// Layers of a range of rows.
    fn layers(&self, rows: Range<usize>) -> usize {
        let all = self.base.rig.rows();
        match (all.get(rows.start), rows.end.checked_sub(1).and_then(|last| all.get(last))) {
            (Some(first), Some(last)) => (last.layers.end - first.layers.start) as usize,
            _ => 0,
        }
    }

    fn block(&self, rows: Range<usize>, slices: &mut Slices<'_>) {
        dispatch!(self.level, simd => self.skin_rows(simd, rows.clone(), slices));
        if self.graph.effects.is_empty() {
            return;
        }
        slices.displaced.x.copy_from_slice(slices.skinned.x);
        slices.displaced.y.copy_from_slice(slices.skinned.y);
        slices.displaced.z.copy_from_slice(slices.skinned.z);
        for (effect, moving) in self.graph.effects.iter().zip(self.moving) {
            if moving.is_empty() {
                continue;
            }
            let block = Block {
                rig: self.base.rig,
                rows: rows.clone(),
                gains: &effect.gains,
                moving,
                p: slices.skinned.as_ref(),
            };
            effect.node.accumulate(self.level, &block, slices.displaced.reborrow());
        }
    }

    #[inline(always)]
    fn skin_rows<S: Simd>(&self, simd: S, rows: Range<usize>, slices: &mut Slices<'_>) {
        let rig = self.base.rig;
        let first_layer = rig.rows()[rows.start].layers.start as usize;
        for (local, row) in rows.enumerate() {
            let skinned = self.graph.base.row(simd, &self.base, row, V3::load(simd, self.rest, row));
            store(skinned.p, &mut slices.skinned, local);
            for layer in rig.rows()[row].layers.start as usize..rig.rows()[row].layers.end as usize {
                let rest = V3::load(simd, self.rest_normals, layer);
                store(skinned.carry(rest).normalize_or(simd, rest), &mut slices.normals, layer - first_layer);
                if let Some(tangents) = self.rest_tangents {
                    let rest = V3::load(simd, tangents, layer);
                    store(skinned.carry(rest).normalize_or(simd, rest), &mut slices.tangents, layer - first_layer);
                }
            }
        }
    }
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
