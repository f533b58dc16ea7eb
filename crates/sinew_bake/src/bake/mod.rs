//! The bake from beginning to end: learn, factor, measure the trade, choose targets, fit normals, choose forms and keys,
//! measure the result.
//!
//! | module | what it does |
//! |---|---|
//! | `frames` | the frames, each evaluated once as long as memory lasts |
//! | `trade` | what any number of targets would give; the smallest that will do |
//! | `solution` | the targets kept, their weights and keys |
//! | `forms` | how few bits each target is stored in |
//! | `result` | normals fitted, everything measured once more |
//! | `account` | the report, and why there is none |

mod account;
mod forms;
mod frames;
mod result;
mod solution;
mod trade;

pub use forms::Storage;

use crate::factor::factor;
use crate::groups::groups;
use crate::lanes::{largest_vector, subtract};
use crate::pulled::{Pulled, PulledGroup, stretches};
use crate::range::Range;
use crate::sampling::Grid;
use crate::{BakeClip, BakeFailure, Baked, Options, Progress, Subject, Tolerance};
use frames::{Frame, Frames};
use rayon::prelude::*;
use result::Measured;
use sinew::{Playing, Rig, Stage, Workspace};
use solution::Solution;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use trade::{Trade, directions_within};

/// Share of the tolerance the targets may use up; the rest, and whatever a frame does not use, is for rounding and keys.
const TARGETS_SHARE: f64 = 0.8;
/// The same where no number of targets leaves that little, as where skin is too flat for a morph to move it all the way:
/// whether rounding and keys find room in the rest is seen when the result is measured.
const LAST_SHARE: f64 = 0.95;
/// Precision of the range, as a share of the tolerance. What it leaves out lies across what targets leave: their squares
/// add up.
const RANGE_SHARE: f64 = 0.25;
/// The same where no number of targets would do: what the range leaves out grows on points that count little, up to ten times.
const FINE_RANGE_SHARE: f64 = RANGE_SHARE / 4.0;
/// How far a midpoint may be off the line between its samples, as a share of the tolerance, and not be learnt from.
const FAST_SHARE: f64 = 0.1;
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
    let mut baked = None;
    bake_again(subject, clips, options, progress, |result| {
        baked = Some(result);
        None
    })?;
    baked.unwrap_or(Err(BakeFailure::NothingToBake("there is no clip")))
}

/// Bakes clips at one tolerance after another: `next` is given each bake, beginning with that of `options`, and says at which
/// tolerance the next one is to be. Frames are evaluated once for all of them, as far as they can be held.
pub fn bake_again(
    subject: Subject<'_>,
    clips: &[BakeClip<'_>],
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
    mut next: impl FnMut(Result<Baked, BakeFailure>) -> Option<Tolerance>,
) -> Result<(), BakeFailure> {
    if subject.rig.parts().is_empty() {
        return Err(BakeFailure::NothingToBake("no mesh is moved by bones or nodes"));
    }
    if clips.is_empty() {
        return Err(BakeFailure::NothingToBake("there is no clip"));
    }
    let stages = Stages::new(subject, clips)?;
    let mut run = Run::new(subject, &stages, clips, options, progress)?;
    let mut frames = Frames::new(&run);
    while let Some(tolerance) = next(run.bake(&mut frames)) {
        run.options.tolerance = tolerance;
    }
    Ok(())
}

impl Run<'_> {
    /// Everything, at the tolerance of the options.
    fn bake(&self, frames: &mut Frames) -> Result<Baked, BakeFailure> {
        let (run, options) = (self, &self.options);
        let all: Vec<usize> = (0..run.groups.len()).collect();
        let mut trades = run.targets(frames, &all, Extent::Fast)?;
        for extent in [Extent::All, Extent::Finest] {
            let short: Vec<usize> = all.iter().copied().filter(|&group| run.is_short(group, &trades[group])).collect();
            if !short.is_empty() {
                let better = run.targets(frames, &short, extent)?;
                short.into_iter().zip(better).for_each(|(group, trade)| trades[group] = trade);
            }
        }
        let counts = run.choose_counts(&trades)?;
        let solutions = run.groups.iter().zip(trades).zip(counts);
        let solutions = solutions.map(|((group, trade), count)| Solution::new(group, trade, count, &run.grids));
        let mut solutions = solutions.collect::<Result<Vec<_>, _>>()?;
        let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); run.clips.len()];
        loop {
            for (group, solution) in run.groups.iter().zip(&mut solutions) {
                let tolerance = options.tolerance.units(group.group.size);
                if std::mem::take(&mut solution.stale_forms) {
                    solution.store(group, tolerance, options.whole_numbers);
                }
                solution.choose_keys(&run.grids, tolerance);
            }
            for (clip, measured) in measured.iter_mut().enumerate() {
                if solutions.iter().any(|solution| solution.stale_keys[clip]) {
                    let refined = run.refine(clip, &mut solutions)?;
                    *measured = run.measure(frames, clip, &solutions, &refined)?;
                }
            }
            let mut retried = false;
            for (index, (group, solution)) in run.groups.iter().zip(&mut solutions).enumerate() {
                let tolerance = options.tolerance.units(group.group.size);
                let off: Vec<bool> = measured.iter().map(|clip| clip[index].error.largest > tolerance).collect();
                solution.stale_keys.fill(false);
                retried |= solution.tighten(&off);
            }
            if retried {
                continue;
            }
            let report = run.report(&solutions, &measured);
            if !report.within_tolerance() && !options.best_effort {
                return Err(run.missed(&report));
            }
            return Ok(run.result(solutions, report));
        }
    }
}

/// What frames are made on: one stage for all clips but those with a recipe of their own.
struct Stages {
    shared: Stage,
    own: Vec<Option<Stage>>,
}

impl Stages {
    fn new(subject: Subject<'_>, clips: &[BakeClip<'_>]) -> Result<Self, BakeFailure> {
        let shared = subject.stage(subject.recipe)?;
        let own = |clip: &BakeClip<'_>| clip.recipe.map(|recipe| subject.stage(recipe)).transpose();
        Ok(Self { shared, own: clips.iter().map(own).collect::<Result<_, _>>()? })
    }
}

/// What all steps share.
struct Run<'a> {
    subject: Subject<'a>,
    groups: Vec<PulledGroup>,
    place_of_slot: Vec<u32>,
    clips: &'a [BakeClip<'a>],
    /// The clips, bound once: smoothing and filters run over all of their keys.
    motions: Vec<Playing<'a>>,
    grids: Vec<Grid>,
    options: Options,
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
        stages: &'a Stages,
        clips: &'a [BakeClip<'a>],
        options: &'a Options,
        tell: &'a (dyn Fn(Progress) + Sync),
    ) -> Result<Self, BakeFailure> {
        let bind = |(BakeClip { clip, settings, .. }, own): (&'a BakeClip<'a>, &'a Option<Stage>)| {
            own.as_ref().unwrap_or(&stages.shared).motion(clip, settings)
        };
        let motions = clips.iter().zip(&stages.own).map(bind).collect::<Result<Vec<_>, _>>()?;
        let grid =
            |(motion, clip): (&Playing<'_>, &BakeClip<'_>)| Grid::new(motion.report(), options.fps, &clip.clip.name);
        let grids = motions.iter().zip(clips).map(grid).collect::<Result<_, _>>()?;
        let stretches = stretches(&stages.shared, &motions);
        let (found, place_of_slot) = groups(subject.rig);
        let group = |group| PulledGroup::new(subject, group, &stretches, &place_of_slot);
        let groups = found.into_iter().map(group).collect();
        let meter = Meter { done: AtomicUsize::new(0), total: AtomicUsize::new(0), tell };
        let options = options.clone();
        let run = Self { subject, groups, place_of_slot, clips, motions, grids, options, meter };
        run.meter.total.store(run.grids.iter().map(|grid| grid.times.len()).sum(), Ordering::Relaxed);
        Ok(run)
    }

    fn rig(&self) -> &'a Rig {
        self.subject.rig
    }

    fn samples(&self) -> usize {
        self.grids.iter().map(Grid::samples).sum()
    }

    fn pull(&self, group: &PulledGroup, clip: usize, time: f64, workspace: &Workspace) -> Result<Pulled, BakeFailure> {
        group.pull(workspace).ok_or_else(|| BakeFailure::NotFinite {
            clip: self.clips[clip].clip.name.clone(),
            time,
            mesh: group.group.parts.first().map_or(String::new(), |&part| self.rig().parts()[part].name.clone()),
        })
    }

    /// What any number of targets would give in some groups.
    fn targets(&self, frames: &mut Frames, groups: &[usize], extent: Extent) -> Result<Vec<Trade>, BakeFailure> {
        let range_share = extent.range_share();
        let ranges = self.learn(frames, groups, extent)?;
        let limit = directions_within(self.options.max_targets).filter(|_| self.options.best_effort);
        let share = (TARGETS_SHARE * TARGETS_SHARE - range_share * range_share).sqrt();
        let factored = ranges.iter().zip(groups).map(|(range, &group)| {
            factor(range, (share * self.options.tolerance.units(self.groups[group].group.size)) as f32, limit)
        });
        let factored = factored.collect::<Result<Vec<_>, _>>()?;
        drop(ranges);
        self.trade(frames, groups, factored)
    }

    /// One pass over samples, and over those midpoints where the motion is faster than samples are: what the effects do.
    fn learn(&self, frames: &mut Frames, groups: &[usize], extent: Extent) -> Result<Vec<Range>, BakeFailure> {
        let learnt = || groups.iter().map(|&group| &self.groups[group]);
        let rows: usize = learnt().map(|group| 3 * group.group.points.len()).sum();
        let columns = (RANGE_BYTES / (4 * rows.max(1))).clamp(32, RANGE_COLUMNS);
        let precision = |group: &PulledGroup| extent.range_share() * self.options.tolerance.units(group.group.size);
        let range = |group: &PulledGroup| Range::new(3 * group.group.points.len(), precision(group), columns);
        let mut ranges: Vec<Range> = learnt().map(range).collect();
        let step = if extent == Extent::Fast { 2 } else { 1 };
        let block = self.block();
        for (index, grid) in self.grids.iter().enumerate() {
            let places: Vec<usize> = (0..grid.times.len()).step_by(step).collect();
            // Frames before the block too: a midpoint is judged by two samples on either side.
            let mut window: Vec<Arc<Frame>> = Vec::new();
            for (piece, places) in places.chunks(block).enumerate() {
                let found = self.look(frames, index, places, "sampling the motion")?;
                add(&mut ranges, groups, &found)?;
                if extent != Extent::Fast {
                    continue;
                }
                let first = piece * block - window.len();
                window.extend(found);
                let is_last = places.last().is_some_and(|&last| last + 1 == grid.times.len());
                let judged = window.len().saturating_sub(if is_last { 1 } else { 2 });
                let is_fast = |&at: &usize| {
                    let near = &window[at.saturating_sub(1)..(at + 3).min(window.len())];
                    groups.iter().zip(learnt()).any(|(&group, pulled)| {
                        let x: Vec<&[f32]> = near.iter().map(|frame| &frame.groups[group].x[..]).collect();
                        off_the_line(&x) > (FAST_SHARE * self.options.tolerance.units(pulled.group.size)) as f32
                    })
                };
                let from = if piece == 0 { 0 } else { 1 };
                let fast: Vec<usize> = (from..judged).into_par_iter().filter(is_fast).collect();
                let fast: Vec<usize> = fast.into_iter().map(|at| 2 * (first + at) + 1).collect();
                for fast in fast.chunks(block) {
                    add(&mut ranges, groups, &self.look(frames, index, fast, "sampling the motion")?)?;
                }
                window.drain(..window.len().saturating_sub(3));
            }
        }
        Ok(ranges)
    }
}

/// How much of the motion is learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Samples, and midpoints that are not half-way between them.
    Fast,
    /// Samples and midpoints, more precisely: where no number of targets would do.
    All,
    /// More precisely still.
    Finest,
}

impl Extent {
    /// Precision of the range, as a share of the tolerance.
    fn range_share(self) -> f64 {
        match self {
            Self::Fast => RANGE_SHARE,
            Self::All => FINE_RANGE_SHARE,
            Self::Finest => FINE_RANGE_SHARE / 4.0,
        }
    }
}

fn add(ranges: &mut [Range], groups: &[usize], frames: &[Arc<Frame>]) -> Result<(), BakeFailure> {
    for (&group, range) in groups.iter().zip(ranges) {
        let of_frames: Vec<&[f32]> = frames.iter().map(|frame| &frame.groups[group].x[..]).collect();
        range.add(of_frames.concat())?;
    }
    Ok(())
}

/// How far a point is, at the most, from half-way between two samples, by the cubic through two samples on either side, or
/// the parabola where there is one less: `|x₁ + x₂ − x₀ − x₃| / 16`, `|x₀ − 2 x₁ + x₂| / 8`.
fn off_the_line(x: &[&[f32]]) -> f32 {
    let factors: &[f32] = match x.len() {
        4 => &[-1.0 / 16.0, 1.0 / 16.0, 1.0 / 16.0, -1.0 / 16.0],
        3 => &[1.0 / 8.0, -1.0 / 4.0, 1.0 / 8.0],
        // Two samples tell nothing about what lies between them.
        _ => return f32::INFINITY,
    };
    let mut sum = vec![0.0f32; x[0].len()];
    for (x, &factor) in x.iter().zip(factors) {
        subtract(&mut sum, -factor, x);
    }
    largest_vector(&sum)
}
