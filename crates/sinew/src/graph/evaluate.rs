//! One frame through the graph. Cannot fail: rig and graph were checked when they were built.

use super::accumulate::RowSums;
use super::blocks::{BLOCK, Job, RowSet, Slices, largest_block};
use super::output::{DeformedMesh, DeformedRows, EngineSkinning, Outputs, Vertices};
use super::plan::{Plan, PlanScratch};
use super::scatter::gather;
use super::settle::{Directions, Displaced, SettleScratch};
use super::{FrameIndependentGraph, NormalsPlan};
use crate::base::{Base, PointwiseScratch};
use crate::correct::{CorrectScratch, CorrectionFrame, CorrectionReport, SegmentVolume, Swung};
use crate::kinodynamic::FreeScratch;
use crate::motion::Kinematics;
use crate::normals::FanScratch;
use crate::pose::{Pose, WorldPose};
use crate::rig::Rig;
use crate::simd::{LANES, Level, Points};
use crate::stance::Standing;
use glam::DVec3;

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
    /// What swings.
    pub swung: &'a Swung,
    /// Start and period of a loop.
    pub cycle: Option<(f64, f64)>,
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

/// Memory for intermediate results. Reuse it; its contents mean nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(super) plan: Plan,
    pub(super) planned: PlanScratch,
    pub(super) sums: Vec<RowSums>,
    pub(super) skinned: Points,
    pub(super) blended: Points,
    free: FreeScratch,
    pub(super) pointwise: PointwiseScratch,
    pub(super) carried: Points,
    pub(super) result: RowSet,
    pub(super) base: RowSet,
    fans: FanScratch,
    pub(super) corrected: CorrectScratch,
    metered: CorrectScratch,
    pub(super) settle: SettleScratch,
}

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
    scratch.plan.make(graph, frame, origins);
    let rest_shape = scratch.plan.rest(rig);
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

    let free = scratch.plan.free(frame, origins);
    let carried = match &graph.base {
        Base::FoldOverFree(base) => {
            base.carry(&free, cpu.level, cpu.pool, &mut scratch.free, &mut scratch.carried);
            Some(&scratch.carried.rows[..])
        }
        Base::Pointwise(base) => {
            base.carry(&free, cpu.pool, &mut scratch.pointwise, &mut scratch.carried);
            Some(&scratch.carried.rows[..])
        }
        _ => None,
    };
    let job = Job {
        graph,
        normals,
        level: cpu.level,
        base: scratch.plan.base(rig),
        rest: rest_shape.points,
        carried,
        rest_normals: rest_shape.normals,
        rest_tangents: rest_shape.tangents,
        moving: &scratch.plan.moving,
        collapsed: &scratch.plan.collapsed,
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
            let written =
                if whole { None } else { out.as_mut().map(|out| (out, base.as_mut().map(|base| &mut base.vertices))) };
            job.run_serial(slices, rows, &mut scratch.sums, written);
        }
        Some(pool) => pool.install(|| job.run_parallel(0..rows, slices)),
    }
    if let Some(settle) = settle.filter(|_| !scratch.plan.is_at_rest()) {
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
    let corrections = scratch.plan.corrections(frame, origins, cpu);
    if !graph.corrections.is_empty() {
        graph.corrections.run(&corrections, &mut scratch.result.points, &mut scratch.corrected, corrected);
    }
    if faces || guarded {
        let base = scratch.plan.base(rig);
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
