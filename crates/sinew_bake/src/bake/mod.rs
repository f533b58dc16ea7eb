//! The bake from beginning to end: learn, factor, measure the trade, choose targets, fit normals, choose forms and keys,
//! measure the result.
//!
//! | module | what it does |
//! |---|---|
//! | `trade` | what any number of targets would give; the smallest that will do |
//! | `solution` | the targets kept, their weights and keys |
//! | `forms` | how few bits each target is stored in |
//! | `result` | normals fitted, everything measured once more |
//! | `account` | the report, and why there is none |

mod account;
mod forms;
mod result;
mod solution;
mod trade;

pub use forms::Storage;

use crate::factor::factor;
use crate::groups::groups;
use crate::pulled::{Pulled, PulledGroup, Wanted, each_frame, rest_stretch};
use crate::range::Range;
use crate::sampling::Grid;
use crate::{BakeClip, BakeFailure, Baked, Options, Progress, Subject};
use sinew::rig::PartKind;
use sinew::{Playing, Rig, Stage, Workspace};
use solution::Solution;
use std::sync::atomic::{AtomicUsize, Ordering};
use trade::directions_within;

/// Share of the tolerance the targets may use up; the rest, and whatever a frame does not use, is for rounding and keys.
const TARGETS_SHARE: f64 = 0.85;
/// Precision of the range, as a share of the tolerance.
const RANGE_SHARE: f64 = 0.05;
/// Most columns of a range.
const RANGE_COLUMNS: usize = 1024;
/// Most bytes of all ranges together.
const RANGE_BYTES: usize = 256 << 20;
/// Bytes of displacements held at a time.
const BLOCK_BYTES: usize = 32 << 20;

/// Bakes clips. `progress` is told of every frame evaluated, from any thread.
pub fn bake(
    subject: Subject<'_>,
    clips: &[BakeClip<'_>],
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Baked, BakeFailure> {
    if !subject.rig.parts().iter().any(|part| part.kind == PartKind::Skinned) {
        return Err(BakeFailure::NothingToBake("no mesh is skinned to bones"));
    }
    if clips.is_empty() {
        return Err(BakeFailure::NothingToBake("there is no clip"));
    }
    let run = Run::new(subject, clips, options, progress)?;
    let ranges = run.learn()?;
    let mut factored = Vec::with_capacity(ranges.len());
    for (range, group) in ranges.iter().zip(&run.groups) {
        let tolerance = (TARGETS_SHARE - RANGE_SHARE) * options.tolerance.units(group.group.size);
        factored.push(factor(
            range,
            tolerance as f32,
            directions_within(options.max_targets).filter(|_| options.best_effort),
        )?);
    }
    drop(ranges);
    let trades = run.trade(factored)?;
    let counts = run.choose_counts(&trades)?;
    let mut solutions: Vec<Solution> = (run.groups.iter().zip(trades).zip(counts))
        .map(|((group, trade), count)| Solution::new(group, trade, count))
        .collect();
    run.fit_directions(&mut solutions)?;
    loop {
        for (group, solution) in run.groups.iter().zip(&mut solutions).filter(|(_, solution)| !solution.is_settled) {
            solution.store(group, options.tolerance.units(group.group.size), options.whole_numbers);
            solution.choose_keys(&run.grids, options.tolerance.units(group.group.size));
        }
        let refined = run.refine(&mut solutions)?;
        let measured = run.measure(&solutions, &refined)?;
        let report = run.report(&solutions, measured);
        let mut retried = false;
        for (group, solution) in report.groups.iter().zip(&mut solutions) {
            let is_off = group.error.largest > options.tolerance.units(group.size);
            solution.is_settled = !(is_off && solution.tighten());
            retried |= !solution.is_settled;
        }
        if retried {
            run.meter.total.fetch_add(run.grids.iter().map(|grid| grid.times.len()).sum(), Ordering::Relaxed);
            continue;
        }
        if !report.within_tolerance() && !options.best_effort {
            return Err(run.missed(&report));
        }
        return Ok(run.result(solutions, report));
    }
}

/// What all steps share.
struct Run<'a> {
    subject: Subject<'a>,
    stage: Stage,
    /// Those of clips with a recipe of their own.
    own_stages: Vec<Option<Stage>>,
    groups: Vec<PulledGroup>,
    place_of_slot: Vec<u32>,
    clips: &'a [BakeClip<'a>],
    grids: Vec<Grid>,
    options: &'a Options,
    meter: Meter<'a>,
}

/// Counts frames for whoever watches.
struct Meter<'a> {
    done: AtomicUsize,
    total: AtomicUsize,
    tell: &'a (dyn Fn(Progress) + Sync),
}

impl Meter<'_> {
    fn frame(&self, what: &'static str) {
        let done = 1 + self.done.fetch_add(1, Ordering::Relaxed);
        (self.tell)(Progress { what, done, total: self.total.load(Ordering::Relaxed).max(done) });
    }
}

impl<'a> Run<'a> {
    fn new(
        subject: Subject<'a>,
        clips: &'a [BakeClip<'a>],
        options: &'a Options,
        tell: &'a (dyn Fn(Progress) + Sync),
    ) -> Result<Self, BakeFailure> {
        let stage = Stage::new(subject.rig, subject.recipe)?;
        let own = |clip: &BakeClip<'_>| clip.recipe.map(|recipe| Stage::new(subject.rig, recipe)).transpose();
        let own_stages = clips.iter().map(own).collect::<Result<_, _>>()?;
        let rest_stretch = rest_stretch(&stage);
        let (found, place_of_slot) = groups(subject.rig);
        let groups = found.into_iter().map(|group| PulledGroup::new(group, &rest_stretch)).collect();
        let meter = Meter { done: AtomicUsize::new(0), total: AtomicUsize::new(0), tell };
        let mut run =
            Self { subject, stage, own_stages, groups, place_of_slot, clips, grids: Vec::new(), options, meter };
        for (index, clip) in clips.iter().enumerate() {
            run.grids.push(Grid::new(run.motion(index)?.report(), options.fps, &clip.clip.name)?);
        }
        let (samples, all) = (run.samples(), run.grids.iter().map(|grid| grid.times.len()).sum::<usize>());
        let directions =
            subject.rig.parts().iter().flat_map(|part| &part.primitives).any(|p| p.has_normals || p.has_tangents);
        run.meter.total.store(3 * all + if directions { samples } else { 0 }, Ordering::Relaxed);
        Ok(run)
    }

    fn rig(&self) -> &'a Rig {
        self.subject.rig
    }

    fn samples(&self) -> usize {
        self.grids.iter().map(Grid::samples).sum()
    }

    fn motion(&self, clip: usize) -> Result<Playing<'_>, BakeFailure> {
        let stage = self.own_stages[clip].as_ref().unwrap_or(&self.stage);
        let BakeClip { clip, settings, .. } = &self.clips[clip];
        Ok(stage.motion(clip, settings)?)
    }

    fn pull(&self, group: &PulledGroup, clip: usize, time: f64, workspace: &Workspace) -> Result<Pulled, BakeFailure> {
        group.pull(workspace).ok_or_else(|| BakeFailure::NotFinite {
            clip: self.clips[clip].clip.name.clone(),
            time,
            mesh: group.group.parts.first().map_or(String::new(), |&part| self.rig().parts()[part].name.clone()),
        })
    }

    /// Frames evaluated together: as many as fit.
    fn block(&self) -> usize {
        let bytes: usize = self.groups.iter().map(|group| 12 * group.group.points.len()).sum();
        (BLOCK_BYTES / bytes.max(1)).clamp(4, 64)
    }

    /// One pass over samples and midpoints: what the effects do.
    fn learn(&self) -> Result<Vec<Range>, BakeFailure> {
        let rows: usize = self.groups.iter().map(|group| 3 * group.group.points.len()).sum();
        let columns = (RANGE_BYTES / (4 * rows.max(1))).clamp(32, RANGE_COLUMNS);
        let range = |group: &PulledGroup| {
            let precision = RANGE_SHARE * self.options.tolerance.units(group.group.size);
            Range::new(3 * group.group.points.len(), precision, columns)
        };
        let mut ranges: Vec<Range> = self.groups.iter().map(range).collect();
        for (index, grid) in self.grids.iter().enumerate() {
            let motion = self.motion(index)?;
            let looks: Vec<f64> = grid.times.iter().map(|&time| grid.look(time)).collect();
            for times in looks.chunks(self.block()) {
                let frames = each_frame(&motion, times, Wanted::Positions, |place, workspace| {
                    self.meter.frame("sampling the motion");
                    let pull = |group| Ok(self.pull(group, index, times[place], workspace)?.x);
                    self.groups.iter().map(pull).collect::<Result<Vec<Vec<f32>>, BakeFailure>>()
                })?;
                for (group, range) in ranges.iter_mut().enumerate() {
                    range.add(frames.iter().flat_map(|frame| &frame[group]).copied().collect())?;
                }
            }
        }
        Ok(ranges)
    }
}
