//! What a frame is to a loop over points: palette, movers, terms, collapsed affine parts, and what the skin as a whole
//! has its say in, as plain numbers, composed in f64 and rounded once. The loops here consume it, and so can others.

use super::blocks::{BLOCK, Job, Slices};
use super::collapsed::Collapsed;
use super::evaluate::{Cpu, Frame, Scratch};
use super::nodes::{LineMotion, NodeMove};
use super::rig_arrays::NoPlan;
use super::settle::{Directions, Displaced};
use super::{FrameIndependentGraph, MovingBones, NormalsPlan};
use crate::base::{Base, BaseFrame, DqsPalette, Palette};
use crate::correct::CorrectionFrame;
use crate::displace::TermKind;
use crate::kinodynamic::FreeFrame;
use crate::pose::Pose;
use crate::rig::Rig;
use crate::simd::{LANES, PointRow, Points};
use bytemuck::{Pod, Zeroable};
use glam::{DAffine3, DVec3, Mat3, Vec3};
use std::ops::Range;

/// A frame as plain data.
#[derive(Clone, Debug)]
pub struct FramePlan<'a> {
    /// Per character: what its positions are relative to.
    pub origins: &'a [DVec3],
    /// Per coordinate: a row of every palette entry's transform.
    pub palette: [&'a [[f32; 4]]; 3],
    /// Per palette entry: −1 where it turns space inside out, else 1.
    pub outside: &'a [f32],
    /// Dual quaternions of the entries, real part first; empty where the base needs none.
    pub duals: &'a [[f32; 8]],
    /// Columns of what stretches them; empty where nothing does.
    pub stretches: &'a [[f32; 9]],
    /// Per coordinate and stretch of bones: a row of the affine map of what effects do alike to all points.
    pub collapsed: Option<[&'a [[f32; 4]]; 3]>,
    effects: &'a [MovingBones],
    /// Points, normals and tangents at rest.
    pub rest: Rest<'a>,
    /// Points that are moved otherwise than effects move them by themselves, ascending.
    pub settled: &'a [SettledPoint],
    /// Normals that are turned with them, and tangents.
    pub directions: [&'a [SettledDirection]; 2],
    /// Lines that carry nodes, where the base does it by them.
    pub lines: &'a [LineMotion],
    /// Nodes at rest in bind space, where morph targets of the file are at work and lines carry nodes.
    pub bind: &'a [[f32; 3]],
    /// Nodes that corrections move, ascending, after everything else.
    pub moves: &'a [NodeMove],
}

impl<'a> FramePlan<'a> {
    /// What each effect does.
    pub fn effects(&self) -> impl ExactSizeIterator<Item = EffectPlan<'a>> + use<'a> {
        self.effects.iter().map(MovingBones::plan)
    }
}

/// The rest shape at a frame.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'a> {
    /// Points, per row.
    pub points: &'a [PointRow],
    /// Normals, per layer.
    pub normals: &'a [PointRow],
    /// Tangents, per layer, where there are any.
    pub tangents: Option<&'a [PointRow]>,
    /// Whether morph targets of the file are at work: it is another shape than the rig's.
    pub morphed: bool,
}

impl<'a> Rest<'a> {
    /// The rig's own.
    pub(super) fn of(rig: &'a Rig) -> Self {
        Self {
            points: &rig.rest().rows,
            normals: &rig.layer_normals().rows,
            tangents: rig.layer_tangents().map(|(own, _)| &own.rows[..]),
            morphed: false,
        }
    }
}

/// One effect at a frame. A *mover* is a bone that moves the effect.
#[derive(Clone, Copy, Debug)]
pub struct EffectPlan<'a> {
    /// Whether points have to look at it one by one.
    pub acts: bool,
    /// Factor on all gains.
    pub gain: f32,
    /// Kind of its terms.
    pub kind: TermKind,
    /// Terms as words ([`TermKind::layout`]): of the movers, then of what `elsewhere` says.
    pub terms: &'a [u32],
    /// Per bone: the nearest mover at or above it, or [`super::rig_arrays::NO_BONE`].
    pub nearest: &'a [u32],
    /// Per mover: the next one above it.
    pub above: &'a [u32],
    /// Per mover: its character.
    pub characters: &'a [u32],
    /// Per mover: where its terms for the points of each character begin, for those of others than its own.
    pub elsewhere: &'a [u32],
    /// Per character: the size that its cone goes by.
    pub sizes: &'a [f32],
    /// Rotation of the cone's bone.
    pub cone_turn: Mat3,
}

/// A point that settled somewhere.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct SettledPoint {
    /// Where it is in the rows.
    pub slot: u32,
    /// How far from where the base has it; linear blending, for a base that carries nodes by lines.
    pub by: [f32; 3],
}

/// A normal or a tangent that turned with it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct SettledDirection {
    /// Where it is in the layers: `16·layer + lane`.
    pub slot: u32,
    /// Where to.
    pub to: [f32; 3],
}

/// What a frame's points are made of, before any of them is looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub palette: Palette,
    pub dual: DqsPalette,
    pub moving: Vec<MovingBones>,
    pub collapsed: Collapsed,
    pub rest: Points,
    pub rest_normals: Points,
    pub rest_tangents: Points,
    pub morphed: bool,
}

impl Plan {
    pub fn make(&mut self, graph: &FrameIndependentGraph, frame: &Frame<'_>, origins: &[DVec3]) {
        let rig = frame.rig;
        self.palette.compose(rig, frame.world, origins);
        if graph.base.antipodality().is_some() {
            self.dual.compose(rig, &self.palette);
        }
        self.moving.resize_with(graph.effects.len(), MovingBones::default);
        self.collapsed.clear(rig.skeleton().len());
        for (effect, moving) in graph.effects.iter().zip(&mut self.moving) {
            effect.prepare(frame, origins, &graph.stretches, &mut self.collapsed, moving);
        }
        self.collapsed.finish(&graph.stretches);
        self.morphed = self.morph(rig, frame.pose);
    }

    pub fn base<'a>(&'a self, rig: &'a Rig) -> BaseFrame<'a> {
        BaseFrame { rig, palette: &self.palette, dual: &self.dual }
    }

    /// The rest shape of the frame.
    pub fn rest<'a>(&'a self, rig: &'a Rig) -> Rest<'a> {
        let tangents = rig.layer_tangents();
        match self.morphed {
            true => Rest {
                points: &self.rest.rows,
                normals: &self.rest_normals.rows,
                tangents: tangents.map(|_| &self.rest_tangents.rows[..]),
                morphed: true,
            },
            false => Rest::of(rig),
        }
    }

    /// What bases read that carry all points at once.
    pub fn free<'a>(&'a self, frame: &Frame<'a>, origins: &'a [DVec3]) -> FreeFrame<'a> {
        let rest = if self.morphed { &self.rest } else { frame.rig.rest() };
        FreeFrame { rig: frame.rig, world: frame.world, origins, world_from_rest: self.palette.world(), rest }
    }

    /// What corrections read.
    pub fn corrections<'a>(&'a self, frame: &Frame<'a>, origins: &'a [DVec3], cpu: &Cpu<'a>) -> CorrectionFrame<'a> {
        CorrectionFrame {
            rig: frame.rig,
            world: frame.world,
            origins,
            world_from_rest: self.palette.world(),
            morphed_rest: self.morphed.then_some(&self.rest),
            effects_rest: self.is_at_rest(),
            kinematics: frame.kinematics,
            time: frame.time,
            swung: frame.swung,
            cycle: frame.cycle,
            level: cpu.level,
            pool: cpu.pool,
        }
    }

    /// Whether no effect moves anything.
    pub fn is_at_rest(&self) -> bool {
        self.moving.iter().all(MovingBones::is_at_rest)
    }

    /// Rest points, normals and tangents with the file's own morph targets; false where none is active.
    fn morph(&mut self, rig: &Rig, pose: &Pose) -> bool {
        let weight = |index: usize| pose.morph_weights.get(index).copied().unwrap_or(0.0);
        if rig.morphs().iter().all(|morph| weight(morph.weight) == 0.0) {
            return false;
        }
        self.rest.rows.clone_from(&rig.rest().rows);
        self.rest_normals.rows.clone_from(&rig.layer_normals().rows);
        if let Some((tangents, _)) = rig.layer_tangents() {
            self.rest_tangents.rows.clone_from(&tangents.rows);
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
            add(&mut self.rest, &morph.positions);
            add(&mut self.rest_normals, &morph.normals);
            if rig.layer_tangents().is_some() {
                add(&mut self.rest_tangents, &morph.tangents);
            }
        }
        true
    }
}

/// Memory for a plan that is handed out.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanScratch {
    origins: Vec<DVec3>,
    outside: Vec<f32>,
    /// Of the rows that settle, before they do.
    before: Vec<PointRow>,
    layers_before: [Vec<PointRow>; 2],
    pub(super) settled: Vec<SettledPoint>,
    /// Beside them where all are told: whether they have.
    pub(super) has_settled: Vec<bool>,
    directions: [Vec<SettledDirection>; 2],
    lines: Vec<LineMotion>,
    bind: Vec<[f32; 3]>,
    maps: Vec<DAffine3>,
    moves: Vec<NodeMove>,
}

impl PlanScratch {
    /// Empties what settles.
    pub(super) fn begin(&mut self, origins: &[DVec3]) {
        self.origins.clear();
        self.origins.extend_from_slice(origins);
        self.settled.clear();
        self.has_settled.clear();
        self.directions.iter_mut().for_each(Vec::clear);
    }
}

/// Which points of the rows that settle are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settling {
    /// Those that have.
    Changed,
    /// Every one, whatever the frame.
    All,
}

impl FrameIndependentGraph {
    /// Whether frames of it can be planned, or what stands in the way; `None` is for what measures.
    pub(crate) fn why_no_plan(&self) -> Option<NoPlanReason> {
        match &self.base {
            Base::Pointwise(base) if base.is_even() => {}
            Base::Pointwise(_) | Base::FoldOverFree(_) => return Some(NoPlanReason::Base),
            Base::Lbs | Base::Dqs(_) | Base::Blend(..) | Base::Rigid(_) => {}
        }
        if self.corrections.is_metered() || self.base_meter.is_some() {
            return Some(NoPlanReason::Measuring);
        }
        self.corrections.first_beyond_maps().map(NoPlanReason::Correction)
    }
}

/// What of a graph stands in the way of a plan; the recipe knows its name.
pub(crate) enum NoPlanReason {
    Base,
    Measuring,
    /// Of those that are at work.
    Correction(usize),
}

impl NoPlanReason {
    pub fn of(self, recipe: &crate::Recipe) -> NoPlan {
        match self {
            Self::Base => NoPlan::Base(recipe.base.base.name),
            Self::Measuring => NoPlan::Correction("the measuring of segments".to_owned()),
            Self::Correction(index) => {
                let active = recipe.corrections.iter().filter(|spec| spec.gain != 0.0).nth(index);
                let name = active.map_or("", |spec| spec.correction.name);
                NoPlan::Correction(format!("the correction \"{name}\""))
            }
        }
    }
}

/// Plans a frame of a graph for which nothing stands in the way. What the skin as a whole has a say in is settled here,
/// in the rows that it concerns.
pub(crate) fn plan<'a>(
    graph: &'a FrameIndependentGraph,
    frame: &Frame<'a>,
    cpu: &Cpu<'_>,
    scratch: &'a mut Scratch,
) -> FramePlan<'a> {
    let rig = frame.rig;
    let mut own = std::mem::take(&mut scratch.planned);
    own.origins.clear();
    own.origins.extend((0..rig.characters().len()).map(|character| rig.origin(character, frame.world)));
    scratch.plan.make(graph, frame, &own.origins);
    let transforms = scratch.plan.palette.world().iter();
    own.outside.clear();
    own.outside.extend(transforms.map(|matrix| if matrix.matrix3.determinant() < 0.0 { -1.0 } else { 1.0 }));
    own.settled.clear();
    own.has_settled.clear();
    own.directions.iter_mut().for_each(Vec::clear);
    if let Base::Pointwise(base) = &graph.base {
        let free = scratch.plan.free(frame, &own.origins);
        base.tell(&free, scratch.plan.morphed, &mut scratch.pointwise, (&mut own.lines, &mut own.bind));
    }
    settle(graph, frame, cpu, scratch, &mut own, Settling::Changed);
    correct(graph, frame, cpu, scratch, &mut own);
    scratch.planned = own;
    let Scratch { plan, planned, .. } = scratch;
    let [x, y, z] = &plan.palette.rows;
    let [normals, tangents] = &planned.directions;
    let is_dual = graph.base.antipodality().is_some();
    FramePlan {
        origins: &planned.origins,
        palette: [x, y, z],
        outside: &planned.outside,
        duals: if is_dual { plan.dual.duals() } else { &[] },
        stretches: plan.dual.stretches().filter(|_| is_dual).unwrap_or(&[]),
        collapsed: plan.collapsed.rows(),
        effects: &plan.moving,
        rest: plan.rest(rig),
        settled: &planned.settled,
        directions: [normals, tangents],
        lines: &planned.lines,
        bind: &planned.bind,
        moves: &planned.moves,
    }
}

/// A vector rounded once.
pub(super) fn vector(v: DVec3) -> [f32; 3] {
    v.as_vec3().to_array()
}

fn correct(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    out: &mut PlanScratch,
) {
    let PlanScratch { origins, maps, moves, .. } = out;
    moves.clear();
    if graph.corrections.is_empty() {
        return;
    }
    let Scratch { plan, corrected, result, .. } = scratch;
    let corrections = plan.corrections(frame, origins, cpu);
    graph.corrections.remap(&corrections, &result.points, corrected, maps, |node, near, map| {
        moves.push(NodeMove::of(node, near, map));
    });
}

pub(super) fn settle(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    out: &mut PlanScratch,
    which: Settling,
) {
    let Some(settle) = &graph.settle else { return };
    let acts = settle.acts(frame) && !scratch.plan.is_at_rest();
    if !acts && which == Settling::Changed {
        return;
    }
    let (rig, settling) = (frame.rig, settle.rows());
    let (rows, layers) = (rig.rows().len(), rig.vertex_of_layer().len());
    if let Base::Pointwise(base) = &graph.base {
        // What is carried depends on what lies beside it.
        let free = scratch.plan.free(frame, &out.origins);
        base.carry(&free, cpu.pool, &mut scratch.pointwise, &mut scratch.carried);
    }
    let rest = scratch.plan.rest(rig);
    scratch.skinned.resize(rows);
    scratch.result.resize(rows, layers, rest.tangents.is_some());
    // Exact normals of what is rigid start from the base's.
    let exact = matches!(graph.normals, NormalsPlan::Exact { .. });
    match exact {
        true => scratch.base.resize(rows, layers, rest.tangents.is_some()),
        false => scratch.base.resize(0, 0, false),
    }
    scratch.blended.resize(if exact { layers } else { 0 });
    let job = Job {
        graph,
        normals: &graph.normals,
        level: cpu.level,
        base: scratch.plan.base(rig),
        rest: rest.points,
        carried: matches!(graph.base, Base::Pointwise(_)).then_some(&scratch.carried.rows[..]),
        rest_normals: rest.normals,
        rest_tangents: rest.tangents,
        moving: &scratch.plan.moving,
        collapsed: &scratch.plan.collapsed,
    };
    scratch.sums.resize(job.sums(), super::accumulate::RowSums::ZERO);
    let mut slices = Slices {
        skinned: &mut scratch.skinned.rows,
        blended: &mut scratch.blended.rows,
        result: scratch.result.slices(),
        base: scratch.base.slices(),
        engine_points: &mut [],
        engine_linear: &mut [],
    };
    for rows in runs(settling) {
        job.run_some(rows, &mut scratch.sums, &mut slices);
    }
    let super::blocks::RowSet { points, normals, tangents } = &mut scratch.result;
    let row_of = |&row: &u32| &rig.rows()[row as usize];
    let layers_of = |row: &u32| row_of(row).layers.start as usize..row_of(row).layers.end as usize;
    out.before.clear();
    out.before.extend(settling.iter().map(|&row| points.rows[row as usize]));
    // What turns with the faces needs no other turn.
    let faces = matches!(graph.normals, NormalsPlan::Faces(_));
    let turned = if faces { 0 } else { 1 + usize::from(rest.tangents.is_some()) };
    for (before, now) in out.layers_before.iter_mut().zip([&*normals, &*tangents]).take(turned) {
        before.clear();
        before.extend(settling.iter().flat_map(layers_of).map(|layer| now.rows[layer]));
    }
    let base = exact.then_some(&scratch.base);
    let mut both = [
        Directions { base: base.map(|base| &base.normals), result: normals },
        Directions { base: base.map(|base| &base.tangents), result: tangents },
    ];
    let before = if matches!(graph.base, Base::Pointwise(_)) { &scratch.carried } else { &scratch.skinned };
    let mut moved = Displaced { base: before, points };
    if acts {
        settle.run(frame, &out.origins, &mut moved, &mut both[..turned], &mut scratch.settle);
    }
    if which == Settling::All {
        for (&row, unsettled) in settling.iter().zip(&out.before) {
            for lane in 0..rig.rows()[row as usize].filled as usize {
                let slot = row as usize * LANES + lane;
                let by = (points.get(slot) - scratch.skinned.get(slot)).to_array();
                out.settled.push(SettledPoint { slot: slot as u32, by });
                out.has_settled.push((0..3).any(|axis| unsettled[axis][lane] != points.rows[row as usize][axis][lane]));
            }
        }
        return;
    }
    for (&row, unsettled) in settling.iter().zip(&out.before) {
        for slot in changed(row as usize, unsettled, &points.rows[row as usize]) {
            let by = points.get(slot) - scratch.skinned.get(slot);
            out.settled.push(SettledPoint { slot: slot as u32, by: by.to_array() });
        }
    }
    for ((before, now), out) in out.layers_before.iter().zip([normals, tangents]).zip(&mut out.directions).take(turned)
    {
        for (layer, before) in settling.iter().flat_map(layers_of).zip(before) {
            for slot in changed(layer, before, &now.rows[layer]) {
                out.push(SettledDirection { slot: slot as u32, to: now.get(slot).to_array() });
            }
        }
    }
}

/// Slots of a row that differ.
fn changed<'a>(row: usize, before: &'a PointRow, after: &'a PointRow) -> impl Iterator<Item = usize> + 'a {
    let differs = move |&lane: &usize| (0..3).any(|axis| before[axis][lane] != after[axis][lane]);
    (0..LANES).filter(differs).map(move |lane| row * LANES + lane)
}

/// Ascending rows as runs of at most a block.
fn runs(rows: &[u32]) -> impl Iterator<Item = Range<usize>> + '_ {
    let follow = |a: &u32, b: &u32| *b == *a + 1;
    let runs = rows.chunk_by(follow).flat_map(|run| run.chunks(BLOCK));
    runs.map(|run| run[0] as usize..run[0] as usize + run.len())
}
