//! One frame through the graph. Cannot fail: rig and graph were checked when they were built.

use super::accumulate::{Block, Moved, RowSums, accumulate, outer, transposed};
use super::collapsed::Collapsed;
use super::settle::{Directions, Displaced, SettleScratch};
use super::{FrameIndependentGraph, MovingBones, NormalsPlan};
use crate::base::{
    Base, BaseFrame, DqsPalette, LinearRows, Palette, Skinned, SurfaceGradients, lbs_linear_rows, lbs_row,
};
use crate::correct::{CorrectScratch, CorrectionFrame, CorrectionReport, SegmentVolume};
use crate::kinodynamic::{FreeFrame, FreeScratch};
use crate::motion::Kinematics;
use crate::normals::FanScratch;
use crate::pose::{Pose, WorldPose};
use crate::recipe::TotalLimit;
use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{Bounded, LANES, Level, Limit, PointRow, Points, Simd, V3, dispatch, f32x4, prelude::*, splat};
use crate::stance::Standing;
use glam::{DMat3, DVec3, Vec3, Vec4};
use std::ops::Range;

/// Everything a frame is made of, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// The rig that the graph was built for.
    pub rig: &'a Rig,
    /// Local transforms and morph weights.
    pub pose: &'a Pose,
    /// World transforms composed from `pose`.
    pub world: &'a WorldPose,
    /// How the bones move, with the graph's filtered signals.
    pub kinematics: &'a Kinematics,
    /// Time in the clip, for keyed parameters.
    pub time: f64,
    /// What stands on the ground, where that is known.
    pub standing: &'a Standing,
}

/// What a frame is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// Normals and tangents as the recipe asks for them. Without, as engines make them: nothing is cheaper.
    pub directions: bool,
    /// The recipe's base alone, beside the result.
    pub base: bool,
    /// What an engine's own skinning makes of the frame, beside the result.
    pub engine: bool,
}

impl Default for Outputs {
    /// The result alone.
    fn default() -> Self {
        Self { directions: true, base: false, engine: false }
    }
}

/// Linear blending as engines do it, whatever the recipe's base, point by point ([`crate::Rig::point_of_vertex`]).
#[derive(Clone, Debug, Default)]
pub struct EngineSkinning {
    points: Points,
    linear: Vec<[PointRow; 3]>,
}

impl EngineSkinning {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.linear.len() * LANES
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// Where a point is, relative to its character's origin.
    pub fn position(&self, point: usize) -> Vec3 {
        self.points.get(point)
    }

    /// The blended 3×3 of a point, `Σ w_i T_i` without translation: what a morph's displacement is carried by.
    pub fn world_from_rest(&self, point: usize) -> DMat3 {
        let [x, y, z] = &self.linear[point / LANES];
        let lane = point % LANES;
        let row = |row: &PointRow| DVec3::new(row[0][lane].into(), row[1][lane].into(), row[2][lane].into());
        DMat3::from_cols(row(x), row(y), row(z)).transpose()
    }
}

/// Where a frame goes.
pub(crate) struct Results<'a> {
    pub mesh: &'a mut DeformedMesh,
    pub base: &'a mut DeformedMesh,
    pub engine: &'a mut EngineSkinning,
}

/// What to compute on: the same bits whatever it holds, but for instruction sets without fused multiply-add.
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

/// A result in vertices, as it is written.
struct Vertices<'a> {
    positions: &'a mut [Vec3],
    normals: &'a mut [Vec3],
    tangents: &'a mut [Vec4],
}

impl DeformedMesh {
    /// Of the rig's size, taken apart.
    fn sink(&mut self, rig: &Rig) -> (&mut Vec<DVec3>, &mut CorrectionReport, Vertices<'_>) {
        let count = rig.vertex_count();
        self.positions.resize(count, Vec3::ZERO);
        self.normals.resize(count, Vec3::ZERO);
        self.tangents.resize(if rig.layer_tangents().is_some() { count } else { 0 }, Vec4::ZERO);
        let Self { origins, positions, normals, tangents, corrected } = self;
        (origins, corrected, Vertices { positions, normals, tangents })
    }

    /// World position of a vertex of a part of `character`.
    pub fn world_position(&self, character: usize, vertex: usize) -> DVec3 {
        self.origins[character] + self.positions[vertex].as_dvec3()
    }
}

/// Points with their normals and tangents, in rows.
#[derive(Clone, Debug, Default)]
struct RowSet {
    points: Points,
    normals: Points,
    tangents: Points,
}

impl RowSet {
    fn resize(&mut self, rows: usize, layers: usize, has_tangents: bool) {
        self.points.resize(rows);
        self.normals.resize(layers);
        self.tangents.resize(if has_tangents { layers } else { 0 });
    }

    fn slices(&mut self) -> SetSlices<'_> {
        let Self { points, normals, tangents } = self;
        SetSlices { points: &mut points.rows, normals: &mut normals.rows, tangents: &mut tangents.rows }
    }
}

/// Memory for intermediate results. Reuse it; its contents mean nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    palette: Palette,
    dual: DqsPalette,
    moving: Vec<MovingBones>,
    collapsed: Collapsed,
    sums: Vec<RowSums>,
    rest: Points,
    rest_normals: Points,
    rest_tangents: Points,
    skinned: Points,
    blended: Points,
    free: FreeScratch,
    carried: Points,
    result: RowSet,
    base: RowSet,
    fans: FanScratch,
    corrected: CorrectScratch,
    metered: CorrectScratch,
    settle: SettleScratch,
}

/// Rows a thread takes at a time: 256 points, whose sums and derivatives stay in the first cache.
const BLOCK: usize = 16;

/// Blocks that are not worth another thread.
const BLOCKS_AT_LEAST: usize = 4;

/// Evaluates any frame: no history, any order, any machine.
///
/// Allocates only when `scratch` or `results` were last used with a smaller rig.
pub(crate) fn evaluate(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    outputs: Outputs,
    scratch: &mut Scratch,
    results: Results<'_>,
) {
    let Results { mesh, base, engine } = results;
    let (origins, corrected, vertices) = mesh.sink(frame.rig);
    // What nothing is added to is its own base.
    let base_sink = (outputs.base && graph.adds).then(|| {
        let (origins, corrected, vertices) = base.sink(frame.rig);
        BaseSink { origins, segments: &mut corrected.segments, vertices }
    });
    let sinks = Sinks {
        origins,
        corrected,
        vertices: Some(vertices),
        base: base_sink,
        engine: outputs.engine.then_some(engine),
        directions: outputs.directions,
    };
    deform(graph, frame, cpu, scratch, sinks);
    if outputs.base && !graph.adds {
        base.clone_from(mesh);
    }
}

/// As [`evaluate`], and leaves the result in rows.
pub(crate) fn evaluate_rows(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    out: &mut DeformedRows,
) {
    // The rows of the last frame are the memory for this one.
    let swap = |scratch: &mut Scratch, out: &mut DeformedRows| {
        std::mem::swap(&mut scratch.result.points, &mut out.points);
        std::mem::swap(&mut scratch.result.normals, &mut out.normals);
        std::mem::swap(&mut scratch.result.tangents, &mut out.tangents);
    };
    swap(scratch, out);
    let DeformedRows { origins, corrected, .. } = out;
    let sinks = Sinks { origins, corrected, vertices: None, base: None, engine: None, directions: true };
    deform(graph, frame, cpu, scratch, sinks);
    swap(scratch, out);
}

/// Where a frame goes, and what is wanted of it.
struct Sinks<'a> {
    origins: &'a mut Vec<DVec3>,
    corrected: &'a mut CorrectionReport,
    /// Without, the result stays in the rows of the scratch memory.
    vertices: Option<Vertices<'a>>,
    base: Option<BaseSink<'a>>,
    engine: Option<&'a mut EngineSkinning>,
    directions: bool,
}

struct BaseSink<'a> {
    origins: &'a mut Vec<DVec3>,
    segments: &'a mut Vec<SegmentVolume>,
    vertices: Vertices<'a>,
}

/// To vertices, or to rows of the scratch memory.
fn deform(graph: &FrameIndependentGraph, frame: &Frame<'_>, cpu: &Cpu<'_>, scratch: &mut Scratch, sinks: Sinks<'_>) {
    match cpu.pool {
        // A frame goes over to the threads once: to wake one takes as long as a thousand points, and there are many steps.
        Some(pool) => pool.install(|| deform_here(graph, frame, cpu, scratch, sinks)),
        None => deform_here(graph, frame, cpu, scratch, sinks),
    }
}

fn deform_here(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    sinks: Sinks<'_>,
) {
    let rig = frame.rig;
    let Sinks { origins, corrected, vertices: mut out, mut base, mut engine, directions } = sinks;
    let normals = if directions { &graph.normals } else { &NormalsPlan::Engine };
    origins.clear();
    origins.extend((0..rig.characters().len()).map(|character| rig.origin(character, frame.world)));
    if let Some(base) = &mut base {
        base.origins.clone_from(origins);
    }
    scratch.palette.compose(rig, frame.world, origins);
    if graph.base.antipodality().is_some() {
        scratch.dual.compose(rig, &scratch.palette);
    }
    scratch.moving.resize_with(graph.effects.len(), MovingBones::default);
    scratch.collapsed.clear(rig.skeleton().len());
    for (effect, moving) in graph.effects.iter().zip(&mut scratch.moving) {
        effect.prepare(frame, origins, &graph.stretches, &mut scratch.collapsed, moving);
    }
    scratch.collapsed.finish(&graph.stretches);
    let morphed = morph(rig, frame.pose, scratch);
    let (rows, layers) = (rig.rows().len(), rig.vertex_of_layer().len());
    let has_tangents = rig.layer_tangents().is_some();
    let faces = matches!(normals, NormalsPlan::Faces(_));
    let guarded = matches!(normals, NormalsPlan::Exact { .. });
    let whole = faces || guarded || !graph.corrections.is_empty() || graph.base_meter.is_some() || out.is_none();
    let settle = graph.settle.as_ref().filter(|settle| settle.acts(frame));
    let whole = whole || settle.is_some();
    // On one thread a block is written out before the next begins, and all blocks share one piece of cache.
    let (kept_rows, kept_layers) = match cpu.pool {
        None if !whole => (BLOCK.min(rows), largest_block(rig)),
        _ => (rows, layers),
    };
    scratch.skinned.resize(if faces || settle.is_some() { rows } else { 0 });
    scratch.blended.resize(if guarded { layers } else { 0 });
    scratch.result.resize(kept_rows, kept_layers, has_tangents);
    // Exact normals of what is rigid start from the base's.
    match base.is_some() || (guarded && settle.is_some()) {
        true => scratch.base.resize(kept_rows, kept_layers, has_tangents),
        false => scratch.base.resize(0, 0, false),
    }
    if let Some(engine) = &mut engine {
        engine.points.resize(rows);
        engine.linear.resize(rows, [[[0.0; LANES]; 3]; 3]);
    }

    let (world, world_from_rest) = (frame.world, scratch.palette.world());
    let rest = if morphed { &scratch.rest } else { rig.rest() };
    let free = FreeFrame { rig, world, origins, world_from_rest, rest };
    let carried = match &graph.base {
        Base::FoldOverFree(base) => {
            base.carry(&free, cpu.level, cpu.pool, &mut scratch.free, &mut scratch.carried);
            Some(&scratch.carried.rows[..])
        }
        Base::Pointwise(base) => {
            base.carry(&free, cpu.pool, &mut scratch.carried);
            Some(&scratch.carried.rows[..])
        }
        _ => None,
    };
    let job = Job {
        graph,
        normals,
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
    let (engine_points, engine_linear) = match &mut engine {
        Some(engine) => (&mut engine.points.rows[..], &mut engine.linear[..]),
        None => (&mut [][..], &mut [][..]),
    };
    let slices = Slices {
        skinned: &mut scratch.skinned.rows,
        blended: &mut scratch.blended.rows,
        result: scratch.result.slices(),
        base: scratch.base.slices(),
        engine_points,
        engine_linear,
    };
    match cpu.pool {
        None => {
            scratch.sums.resize(job.sums(), RowSums::ZERO);
            let written = if whole { None } else { out.as_mut().map(|out| (out, base.as_mut())) };
            job.run_serial(slices, rows, &mut scratch.sums, written);
        }
        Some(pool) => pool.install(|| job.run_parallel(0..rows, slices)),
    }
    if let Some(settle) = settle.filter(|_| !scratch.moving.iter().all(MovingBones::is_at_rest)) {
        let is_carried = matches!(graph.base, Base::FoldOverFree(_) | Base::Pointwise(_));
        let before = if is_carried { &scratch.carried } else { &scratch.skinned };
        let RowSet { points, normals, tangents } = &mut scratch.result;
        let exact = guarded.then_some(&scratch.base);
        let mut both = [
            Directions { base: exact.map(|base| &base.normals), result: normals },
            Directions { base: exact.map(|base| &base.tangents), result: tangents },
        ];
        // What turns with the faces needs no other turn.
        let turned = if faces || !directions { 0 } else { 1 + usize::from(has_tangents) };
        let mut moved = Displaced { base: before, points };
        settle.run(frame, origins, &mut moved, &mut both[..turned], &mut scratch.settle);
    }
    corrected.clear();
    if let Some(base) = &mut base {
        base.segments.clear();
    }
    if cpu.pool.is_none() && !whole {
        return;
    }
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
    if !graph.corrections.is_empty() {
        graph.corrections.run(&corrections, &mut scratch.result.points, &mut scratch.corrected, corrected);
    }
    if faces || guarded {
        let base = BaseFrame { rig, palette: &scratch.palette, dual: &scratch.dual };
        scratch.fans.mirrored.clear();
        scratch.fans.mirrored.extend((0..rows).map(|row| base.mirrored(row)));
    }
    turn_normals(
        normals,
        cpu,
        has_tangents,
        (&scratch.skinned, &scratch.blended),
        &mut scratch.fans,
        &mut scratch.result,
    );
    if let Some(base) = &mut base {
        if let Some(meter) = &graph.base_meter {
            let corrections = CorrectionFrame { effects_rest: true, ..corrections };
            let mut report = CorrectionReport::default();
            std::mem::swap(&mut report.segments, base.segments);
            meter.run(&corrections, &mut scratch.base.points, &mut scratch.metered, &mut report);
            std::mem::swap(&mut report.segments, base.segments);
        }
        let before = (&scratch.skinned, &scratch.blended);
        turn_normals(normals, cpu, has_tangents, before, &mut scratch.fans, &mut scratch.base);
        gather(rig, &mut scratch.base, cpu, &mut base.vertices);
    }
    if let Some(out) = &mut out {
        gather(rig, &mut scratch.result, cpu, out);
    }
}

/// What faces say of normals: where they turn to, or that they must not stand against them.
fn turn_normals(
    plan: &NormalsPlan,
    cpu: &Cpu<'_>,
    has_tangents: bool,
    (skinned, blended): (&Points, &Points),
    scratch: &mut FanScratch,
    set: &mut RowSet,
) {
    let (how, RowSet { points, normals, tangents }) = ((cpu.level, cpu.pool), set);
    match plan {
        NormalsPlan::Engine => {}
        NormalsPlan::Exact { fans, .. } => fans.guard(how, points, blended, scratch, normals),
        NormalsPlan::Faces(fans) => {
            fans.carry(how, skinned, points, scratch, normals, has_tangents.then_some(tangents));
        }
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
fn part<T>(points: &mut [T], rows: Range<usize>) -> &mut [T] {
    if points.is_empty() { points } else { &mut points[rows] }
}

/// At a row, or at the end of an array that is not in use.
fn split<T>(points: &mut [T], row: usize) -> (&mut [T], &mut [T]) {
    points.split_at_mut(row.min(points.len()))
}

/// What a range of rows writes of points with their normals and tangents.
struct SetSlices<'a> {
    points: &'a mut [PointRow],
    normals: &'a mut [PointRow],
    tangents: &'a mut [PointRow],
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
struct Slices<'a> {
    /// Of all rows, where normals come from faces: what they are turned from.
    skinned: &'a mut [PointRow],
    /// Of all layers, where normals are exact: what they give way to.
    blended: &'a mut [PointRow],
    result: SetSlices<'a>,
    base: SetSlices<'a>,
    engine_points: &'a mut [PointRow],
    engine_linear: &'a mut [[PointRow; 3]],
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

struct Job<'a> {
    graph: &'a FrameIndependentGraph,
    /// How the frame's normals are made.
    normals: &'a NormalsPlan,
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
        mut out: Option<(&mut Vertices<'_>, Option<&mut BaseSink<'_>>)>,
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
                    dispatch!(self.level, simd => scatter(simd, rig, start..end, &block.base, &mut base.vertices));
                }
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
            let local = start - rows.start..end - rows.start;
            self.block(start..end, sums, &mut slices.part(local.clone(), local, own));
        }
    }

    /// Rows of what the effects of a block add up to.
    fn sums(&self) -> usize {
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
        let TotalLimit { length, soft } = self.graph.max_total?;
        let rig = self.base.rig;
        let size = rig.characters()[rig.rows()[row].character as usize].size;
        Some(Limit::new((length * size).min(f64::from(f32::MAX)) as f32, soft))
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
fn largest_block(rig: &Rig) -> usize {
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

/// From rows to the source's vertex order, row by row: the reads are where the kernel just wrote, and the writes of
/// neighbouring rows land close to each other.
#[inline(always)]
fn scatter<S: Simd>(simd: S, rig: &Rig, rows: Range<usize>, from: &SetSlices<'_>, out: &mut Vertices<'_>) {
    let SetSlices { points, normals, tangents } = from;
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
fn gather(rig: &Rig, from: &mut RowSet, cpu: &Cpu<'_>, out: &mut Vertices<'_>) {
    use rayon::prelude::*;
    const CHUNK: usize = BLOCK * LANES;
    let Some(pool) = cpu.pool else {
        let from = from.slices();
        return dispatch!(cpu.level, simd => scatter(simd, rig, 0..rig.rows().len(), &from, out));
    };
    let RowSet { points, normals, tangents } = &*from;
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
