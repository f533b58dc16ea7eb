//! One frame through the graph. Cannot fail: rig and graph were checked when they were built.

use super::accumulate::{Block, Moved, RowSums};
use super::collapsed::Collapsed;
use super::{FrameIndependentGraph, MovingBones, NormalsPlan};
use crate::base::{Base, BaseFrame, DqsPalette, LinearRows, Palette, Skinned, SurfaceGradients, lbs_linear_rows};
use crate::correct::{CorrectScratch, CorrectionFrame, CorrectionReport};
use crate::kinodynamic::{FreeFrame, FreeScratch};
use crate::motion::Kinematics;
use crate::normals::FanScratch;
use crate::pose::{Pose, WorldPose};
use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{LANES, Level, PointRow, Points, Simd, V3, dispatch, f32x4, prelude::*, splat};
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

/// The result in rows, in the rig's own order ([`crate::Rig::rows`]).
#[derive(Clone, Debug, Default)]
pub struct DeformedRows {
    /// Per character: the point its positions are relative to.
    pub origins: Vec<DVec3>,
    /// Control points, by [`crate::Rig::point_of_vertex`].
    pub points: Points,
    /// Unit normals, by [`crate::Rig::layer_slot_of_vertex`].
    pub normals: Points,
    /// Unit tangents as the normals; empty where no part has them.
    pub tangents: Points,
    /// What the corrections did.
    pub corrected: CorrectionReport,
}

/// The result in vertices, as it is written.
struct Vertices<'a> {
    positions: &'a mut [Vec3],
    normals: &'a mut [Vec3],
    tangents: &'a mut [Vec4],
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
    collapsed: Collapsed,
    sums: Vec<RowSums>,
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

/// Blocks that are not worth another thread.
const BLOCKS_AT_LEAST: usize = 4;

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
    out.positions.resize(rig.vertex_count(), Vec3::ZERO);
    out.normals.resize(rig.vertex_count(), Vec3::ZERO);
    out.tangents.resize(if rig.layer_tangents().is_some() { rig.vertex_count() } else { 0 }, Vec4::ZERO);
    let DeformedMesh { origins, positions, normals, tangents, corrected } = out;
    let vertices = Vertices { positions, normals, tangents };
    deform(graph, frame, cpu, scratch, origins, corrected, Some(vertices));
}

/// As [`evaluate`], and leaves the result in rows: what a caller reads who keeps his own buffers in the rig's order, at
/// the speed of the kernels alone.
pub fn evaluate_rows(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    out: &mut DeformedRows,
) {
    // The rows of the last frame are the memory for this one.
    std::mem::swap(&mut scratch.displaced, &mut out.points);
    std::mem::swap(&mut scratch.normals, &mut out.normals);
    std::mem::swap(&mut scratch.tangents, &mut out.tangents);
    deform(graph, frame, cpu, scratch, &mut out.origins, &mut out.corrected, None);
    std::mem::swap(&mut scratch.displaced, &mut out.points);
    std::mem::swap(&mut scratch.normals, &mut out.normals);
    std::mem::swap(&mut scratch.tangents, &mut out.tangents);
}

/// To vertices, or to rows of the scratch memory.
fn deform(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    origins: &mut Vec<DVec3>,
    corrected: &mut CorrectionReport,
    out: Option<Vertices<'_>>,
) {
    match cpu.pool {
        // A frame goes over to the threads once: to wake one takes as long as a thousand points, and there are many steps.
        Some(pool) => pool.install(|| deform_here(graph, frame, cpu, scratch, origins, corrected, out)),
        None => deform_here(graph, frame, cpu, scratch, origins, corrected, out),
    }
}

fn deform_here(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    origins: &mut Vec<DVec3>,
    corrected: &mut CorrectionReport,
    mut out: Option<Vertices<'_>>,
) {
    let rig = frame.rig;
    origins.clear();
    origins.extend((0..rig.characters().len()).map(|character| rig.origin(character, frame.world)));
    scratch.palette.compose(rig, frame.world, origins);
    if graph.base.antipodality().is_some() {
        scratch.dual.compose(rig, &scratch.palette);
    }
    scratch.moving.resize_with(graph.effects.len(), MovingBones::default);
    scratch.collapsed.clear(rig.skeleton().len());
    for (effect, moving) in graph.effects.iter().zip(&mut scratch.moving) {
        effect.prepare(frame, origins, &graph.stretches, &mut scratch.collapsed, moving);
    }
    scratch.collapsed.finish(rig, &graph.stretches);
    let morphed = morph(rig, frame.pose, scratch);
    let (rows, layers) = (rig.rows().len(), rig.vertex_of_layer().len());
    let has_tangents = rig.layer_tangents().is_some();
    let faces = matches!(graph.normals, NormalsPlan::Faces(_));
    let whole = graph.needs_whole_mesh() || out.is_none();
    // On one thread a block is written out before the next begins, and all blocks share one piece of cache.
    let (kept_rows, kept_layers) = match cpu.pool {
        None if !whole => (BLOCK.min(rows), largest_block(rig)),
        _ => (rows, layers),
    };
    scratch.skinned.resize(if faces { rows } else { 0 });
    scratch.displaced.resize(kept_rows);
    scratch.normals.resize(kept_layers);
    scratch.tangents.resize(if has_tangents { kept_layers } else { 0 });

    let (world, world_from_rest) = (frame.world, scratch.palette.world());
    let rest = if morphed { &scratch.rest } else { rig.rest() };
    let free = FreeFrame { rig, world, origins, world_from_rest, rest };
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
        collapsed: &scratch.collapsed,
    };
    let slices = Slices {
        skinned: &mut scratch.skinned.rows,
        displaced: &mut scratch.displaced.rows,
        normals: &mut scratch.normals.rows,
        tangents: &mut scratch.tangents.rows,
    };
    match cpu.pool {
        None => {
            scratch.sums.resize(job.sums(), RowSums::ZERO);
            job.run_serial(slices, rows, &mut scratch.sums, out.as_mut().filter(|_| !whole));
        }
        Some(pool) => pool.install(|| job.run_parallel(0..rows, slices)),
    }
    corrected.clear();
    if cpu.pool.is_none() && !whole {
        return;
    }
    if !graph.corrections.is_empty() {
        let corrections = CorrectionFrame {
            rig,
            world: frame.world,
            origins,
            world_from_rest: scratch.palette.world(),
            morphed_rest: morphed.then_some(&scratch.rest),
            effects_rest: scratch.moving.iter().all(MovingBones::is_at_rest),
            kinematics: frame.kinematics,
            time: frame.time,
            level: cpu.level,
            pool: cpu.pool,
        };
        graph.corrections.run(&corrections, &mut scratch.displaced, &mut scratch.corrected, corrected);
    }
    if let NormalsPlan::Faces(fans) = &graph.normals {
        let tangents = has_tangents.then_some(&mut scratch.tangents);
        let how = (cpu.level, cpu.pool);
        fans.carry(how, &scratch.skinned, &scratch.displaced, &mut scratch.fans, &mut scratch.normals, tangents);
    }
    if let Some(out) = &mut out {
        gather(rig, &scratch.displaced, &scratch.normals, &scratch.tangents, cpu, out);
    }
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
    collapsed: &'a Collapsed,
}

impl Job<'_> {
    /// Block by block, each block's vertices written out at once; without vertices, all blocks are kept.
    fn run_serial(
        &self,
        mut slices: Slices<'_>,
        rows: usize,
        sums: &mut [RowSums],
        mut out: Option<&mut Vertices<'_>>,
    ) {
        let rig = self.base.rig;
        for start in (0..rows).step_by(BLOCK) {
            let end = (start + BLOCK).min(rows);
            let layers = layers_of(rig, start..end);
            let (row, layer) = if out.is_none() { (start, layers.start) } else { (0, 0) };
            let mut block = slices.part(row..row + (end - start), layer..layer + layers.len());
            self.block(start..end, sums, &mut block);
            if let Some(out) = &mut out {
                let (points, normals, tangents) = (&*block.displaced, &*block.normals, &*block.tangents);
                dispatch!(self.level, simd => scatter(simd, rig, start..end, points, normals, tangents, out));
            }
        }
    }

    /// Halves at multiples of the block, so that every thread count sees the same blocks.
    fn run_parallel(&self, rows: Range<usize>, slices: Slices<'_>) {
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
            self.block(start..end, sums, &mut slices.part(start - rows.start..end - rows.start, own));
        }
    }

    /// Rows of what the effects of a block add up to.
    fn sums(&self) -> usize {
        if self.graph.effects.is_empty() { 0 } else { BLOCK }
    }

    fn block(&self, rows: Range<usize>, sums: &mut [RowSums], slices: &mut Slices<'_>) {
        if self.graph.effects.is_empty() {
            let graph = self.graph;
            let rig = self.base.rig;
            let linear = graph.base.linear_weights(rig);
            // It blends once per layer: flat shading has many.
            let few_layers = rig.vertex_of_layer().len() <= 2 * rig.rows().len();
            let linear = linear.filter(|_| self.carried.is_none() && self.rest_tangents.is_none() && few_layers);
            match (linear, graph.base.antipodality(), &graph.normals) {
                (Some(weights), None, NormalsPlan::Engine) => {
                    let io = LinearRows {
                        rest: &self.rest[rows.clone()],
                        rest_normals: &self.rest_normals[layers_of(rig, rows.clone())],
                        points: slices.displaced,
                        normals: slices.normals,
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
        let column_gradients = match &self.graph.normals {
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
                rows: rows.clone(),
                gains: &effect.gains,
                gain_gradients: effect.gain_gradients.as_deref(),
                column_gradients,
                moving,
                cone: effect.cone.as_ref(),
                compensate: effect.compensate,
            };
            effect.node.accumulate(self.level, &block, sums);
        }
        match column_gradients {
            Some(_) => dispatch!(self.level, simd => self.displaced_rows::<_, true>(simd, rows, sums, slices)),
            None => dispatch!(self.level, simd => self.displaced_rows::<_, false>(simd, rows, sums, slices)),
        }
    }

    /// The base at the points of a row.
    #[inline(always)]
    fn skin<S: Simd>(&self, simd: S, row: usize, local: usize, slices: &mut Slices<'_>) -> Skinned<S> {
        let gradients = match &self.graph.normals {
            NormalsPlan::Exact { gradients, factor } => {
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
        let gradients = match &self.graph.normals {
            NormalsPlan::Exact { gradients, .. } => Some(&gradients.columns[..]),
            _ => None,
        };
        for ((local, row), sum) in rows.enumerate().zip(sums) {
            let skinned = self.skin(simd, row, local, slices);
            skinned.p.store(&mut sum.p);
            let stretches = &self.graph.stretches;
            let Moved { d, a, b } =
                self.collapsed.moved::<S, EXACT>(simd, self.base.rig, stretches, gradients, row, skinned.p);
            d.store(&mut sum.d);
            for axis in 0..3 {
                skinned.linear[axis].store(&mut sum.linear[axis]);
                if EXACT {
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
            let skinned = Skinned { p: V3::load(simd, &sum.p), linear };
            let displaced = displace::<S, EXACT>(simd, sum, skinned);
            self.finish::<S, EXACT>(simd, row, (local, first_layer), skinned, displaced, slices);
        }
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
        displaced.p.store(&mut slices.displaced[local]);
        for layer in layers_of(self.base.rig, row..row + 1) {
            let n = V3::load(simd, &self.rest_normals[layer]);
            let mut normal = skinned.carry(n).normalize_or(simd, n);
            if EXACT {
                let carrier = cofactor(simd, &displaced, self.base.mirrored(row));
                normal = carrier.carry(n).normalize_or(simd, normal);
            }
            normal.store(&mut slices.normals[layer - first_layer]);
            if let Some(tangents) = self.rest_tangents {
                let t = V3::load(simd, &tangents[layer]);
                displaced.carry(t).normalize_or(simd, t).store(&mut slices.tangents[layer - first_layer]);
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

/// With what the effects add up to: `p + d`, and `(I + A) J + B` for the linear map.
#[inline(always)]
fn displace<S: Simd, const EXACT: bool>(simd: S, sums: &RowSums, mut skinned: Skinned<S>) -> Skinned<S> {
    skinned.p = skinned.p.add(V3::load(simd, &sums.d));
    if EXACT {
        let j = skinned.linear;
        for axis in 0..3 {
            let a = V3::load(simd, &sums.a[axis]);
            let b = V3::load(simd, &sums.b[axis]);
            let turned = j[2].mul_add(a.z, j[1].mul_add(a.y, j[0].scale(a.x)));
            skinned.linear[axis] = j[axis].add(turned).add(b);
        }
    }
    skinned
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
    out: &mut Vertices<'_>,
) {
    let first_layer = rig.rows().get(rows.start).map_or(0, |row| row.layers.start as usize);
    for (local, row) in rig.rows()[rows].iter().enumerate() {
        for layer in row.layers.start as usize..row.layers.end as usize {
            let to = (&rig.vertex_of_layer()[layer], rig.layer_runs()[layer]);
            let (vertices, layer) = (to.0, layer - first_layer);
            scatter_row(simd, &points[local], to, out.positions);
            scatter_row(simd, &normals[layer], to, out.normals);
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
            write_run(simd, row, 4 * four, run);
        }
        return;
    }
    for (four, vertices) in vertices.as_chunks::<4>().0.iter().enumerate() {
        let first = vertices[0] as usize;
        if runs & 1 << four != 0
            && let Some(run) = out.get_mut(first..first + 4)
        {
            if let Some(run) = run.as_chunks_mut::<4>().0.first_mut() {
                write_run(simd, row, 4 * four, run);
            }
            continue;
        }
        let (x, y, z) = four_lanes(simd, row, 4 * four);
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
fn four_lanes<S: Simd>(simd: S, [x, y, z]: &PointRow, lane: usize) -> (f32x4<S>, f32x4<S>, f32x4<S>) {
    let lanes = lane..lane + 4;
    let (x, y, z) = (&x[lanes.clone()], &y[lanes.clone()], &z[lanes]);
    (f32x4::from_slice(simd, x), f32x4::from_slice(simd, y), f32x4::from_slice(simd, z))
}

/// Four lanes to four vertices in a row: x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3.
#[inline(always)]
fn write_run<S: Simd>(simd: S, row: &PointRow, lane: usize, run: &mut [Vec3; 4]) {
    let (x, y, z) = four_lanes(simd, row, lane);
    let ((xy0, xy1), (zx0, zx1), (yz0, yz1)) = (x.interleave(y), z.interleave(x), y.interleave(z));
    let numbers: &mut [[f32; 4]; 3] = bytemuck::cast_mut(run);
    *numbers = [[xy0[0], xy0[1], zx0[0], zx0[3]], [yz0[2], yz0[3], xy1[0], xy1[1]], [zx1[0], xy1[2], yz1[2], yz1[3]]];
}

/// Points at `slots`, four at a time where they follow each other in a row.
#[inline(always)]
fn gather_some<S: Simd>(simd: S, points: &Points, slots: &[u32], out: &mut [Vec3]) {
    let (fours, rest) = slots.as_chunks::<4>();
    let (out_fours, out_rest) = out.as_chunks_mut::<4>();
    for (slots, out) in fours.iter().zip(out_fours) {
        let (first, lane) = (slots[0], slots[0] as usize % LANES);
        if lane <= LANES - 4 && *slots == [first, first + 1, first + 2, first + 3] {
            write_run(simd, &points.rows[first as usize / LANES], lane, out);
        } else {
            gather_each(points, slots, out);
        }
    }
    gather_each(points, rest, out_rest);
}

#[inline(always)]
fn gather_each(points: &Points, slots: &[u32], out: &mut [Vec3]) {
    for (&slot, out) in slots.iter().zip(out) {
        *out = points.get(slot as usize);
    }
}

/// As [`scatter`], by as many threads as the caller gives: each writes its own vertices.
fn gather(rig: &Rig, points: &Points, normals: &Points, tangents: &Points, cpu: &Cpu<'_>, out: &mut Vertices<'_>) {
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
            let own = chunk * CHUNK..chunk * CHUNK + out_positions.len();
            let (points_of, slots_of) = (&points_of[own.clone()], &slots_of[own]);
            dispatch!(cpu.level, simd => gather_some(simd, points, points_of, out_positions));
            dispatch!(cpu.level, simd => gather_some(simd, normals, slots_of, out_normals));
        });
        if let Some((_, handedness)) = rig.layer_tangents() {
            out.tangents.par_iter_mut().zip(slots_of).for_each(|(tangent, &slot)| {
                let slot = slot as usize;
                *tangent = tangents.get(slot).extend(handedness[slot / LANES][slot % LANES]);
            });
        }
    });
}
