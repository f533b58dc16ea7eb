//! The bake from beginning to end: learn, factor, measure the trade, choose targets and keys, fit normals, measure the
//! result.

use crate::directions::Fit;
use crate::factor::{Factors, factor};
use crate::field::{Field, Kind};
use crate::groups::{groups, vertices};
use crate::keys::{self, WeightCurve};
use crate::matrix::Tall;
use crate::range::Range;
use crate::report::{
    AngleError, ClipReport, Error, FlattenedReport, GroupReport, GroupShortfall, Located, Report, Seam, Shortfall,
    TradePoint, is_round,
};
use crate::sampling::Grid;
use crate::stage::{Pulled, PulledGroup, Stage, Wanted, Workspace, each_frame};
use crate::{BakeClip, BakeFailure, Baked, BakedPart, Options, PrimitiveTarget, Progress, Subject};
use faer::MatRef;
use glam::Vec3;
use sinew::rig::PartKind;
use sinew::simd::LANES;
use sinew::{Motion, Rig};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Share of the tolerance the targets may use up; the rest, and whatever a frame does not use, is for the keys.
const TARGETS_SHARE: f64 = 0.9;
/// Precision of the range, as a share of the tolerance.
const RANGE_SHARE: f64 = 0.05;
/// Most columns of a range.
const RANGE_COLUMNS: usize = 1024;
/// Most bytes of all ranges together.
const RANGE_BYTES: usize = 256 << 20;
/// Bytes of displacements held at a time.
const BLOCK_BYTES: usize = 32 << 20;
/// How often the time between two moments is halved where the motion is faster than the samples.
const HALVINGS: usize = 4;
/// Least share of the tolerance that keys may use where targets have used it up (best effort).
const LEAST_KEY_SHARE: f64 = 0.1;

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
    for (group, solution) in run.groups.iter().zip(&mut solutions) {
        solution.choose_keys(&run.grids, options.tolerance.units(group.group.size));
    }
    let refined = run.refine(&mut solutions)?;
    solutions.iter_mut().for_each(Solution::keep_weights_within_one);
    run.fit_directions(&mut solutions)?;
    let measured = run.measure(&solutions, &refined)?;
    let report = run.report(&solutions, measured);
    if !report.within_tolerance() && !options.best_effort {
        return Err(run.missed(&report));
    }
    Ok(run.result(solutions, report))
}

/// What all steps share.
struct Run<'a> {
    stage: Stage<'a>,
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

/// How one frame of a group is reproduced, before keys are chosen.
#[derive(Default)]
struct FrameFit {
    weights: Vec<f32>,
    /// Largest error per rung of the ladder.
    errors: Vec<f32>,
    largest: (f64, usize),
    /// Point, and the distance no target can make up for.
    flattened: Vec<(usize, f32)>,
}

/// A group after the trade has been measured.
struct Trade {
    factors: Factors,
    ladder: Vec<usize>,
    curve: Vec<TradePoint>,
    /// Per clip and place of its grid.
    fits: Vec<Vec<FrameFit>>,
    /// Largest stretch per point over all frames.
    stretch: Vec<f32>,
    /// Targets there could be.
    rank: usize,
}

/// What is kept of a group.
struct Solution {
    trade: Trade,
    count: usize,
    /// Targets as they will be played, in world lengths.
    played: Tall,
    /// Targets as they will be written, in rest space: x of all points, y, z.
    written: Tall,
    /// Per clip and place, of the targets kept.
    weights: Vec<Vec<Vec<f32>>>,
    /// Largest weight of each target before they were brought to 1.
    peaks: Vec<f32>,
    curves: Vec<WeightCurve>,
    fields: Vec<(Field, Tall)>,
}

/// What the last look at all frames found in a group.
#[derive(Default)]
struct Measured {
    error: Error,
    between: f64,
    sum: f64,
    count: usize,
    per_clip: Vec<f64>,
    angles: Vec<AngleError>,
    angle_counts: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(
        subject: Subject<'a>,
        clips: &'a [BakeClip<'a>],
        options: &'a Options,
        tell: &'a (dyn Fn(Progress) + Sync),
    ) -> Result<Self, BakeFailure> {
        let stage = Stage::new(subject)?;
        let rest_stretch = stage.rest_stretch();
        let (found, place_of_slot) = groups(subject.rig);
        let groups = found.into_iter().map(|group| PulledGroup::new(group, &rest_stretch)).collect();
        let meter = Meter { done: AtomicUsize::new(0), total: AtomicUsize::new(0), tell };
        let mut run = Self { stage, groups, place_of_slot, clips, grids: Vec::new(), options, meter };
        for clip in clips {
            run.grids.push(Grid::new(run.motion(clip)?.report(), options.fps, &clip.clip.name)?);
        }
        let (samples, all) = (run.samples(), run.grids.iter().map(|grid| grid.times.len()).sum::<usize>());
        let directions =
            subject.rig.parts().iter().flat_map(|part| &part.primitives).any(|p| p.has_normals || p.has_tangents);
        run.meter.total.store(3 * all + if directions { samples } else { 0 }, Ordering::Relaxed);
        Ok(run)
    }

    fn rig(&self) -> &'a Rig {
        self.stage.subject.rig
    }

    fn samples(&self) -> usize {
        self.grids.iter().map(Grid::samples).sum()
    }

    fn motion(&self, clip: &BakeClip<'_>) -> Result<Motion, BakeFailure> {
        let rig = self.rig();
        let BakeClip { clip, settings } = clip;
        let filtered = self.stage.filtered_signals();
        Ok(Motion::new(rig.skeleton(), rig.bone_sizes(), &rig.morph_layout(), clip, settings, filtered)?)
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
        for (index, (clip, grid)) in self.clips.iter().zip(&self.grids).enumerate() {
            let motion = self.motion(clip)?;
            let looks: Vec<f64> = grid.times.iter().map(|&time| grid.look(time)).collect();
            for times in looks.chunks(self.block()) {
                let frames = each_frame(&self.stage, &motion, times, Wanted::Positions, |place, workspace| {
                    self.meter.frame("looking at the motion");
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

    /// One pass over samples and midpoints: what any number of targets would give.
    fn trade(&self, factored: Vec<(Factors, usize)>) -> Result<Vec<Trade>, BakeFailure> {
        let limit = directions_within(self.options.max_targets);
        let mut trades = Vec::with_capacity(factored.len());
        for ((factors, estimate), group) in factored.into_iter().zip(&self.groups) {
            let rank = factors.targets.columns();
            // Some more than needed: the estimate does not know what A does to errors.
            let most = (estimate + estimate / 8 + 6).min(rank);
            trades.push(Trade {
                ladder: ladder(estimate - estimate / 4, most, limit),
                factors,
                curve: Vec::new(),
                fits: Vec::new(),
                stretch: vec![0.0; group.group.points.len()],
                rank,
            });
        }
        self.measure_trades(&mut trades)?;
        let too_short = |(trade, group): (&Trade, &PulledGroup)| {
            let tolerance = TARGETS_SHARE * self.options.tolerance.units(group.group.size);
            trade.ladder.last().is_some_and(|&last| last < trade.rank)
                && trade.curve.iter().all(|point| point.largest > tolerance)
        };
        if trades.iter().zip(&self.groups).any(too_short) {
            trades.iter_mut().for_each(|trade| trade.ladder = ladder(0, trade.rank, limit));
            let all: usize = self.grids.iter().map(|grid| grid.times.len()).sum();
            self.meter.total.fetch_add(all, Ordering::Relaxed);
            self.measure_trades(&mut trades)?;
        }
        Ok(trades)
    }

    fn measure_trades(&self, trades: &mut [Trade]) -> Result<(), BakeFailure> {
        let stretch: Vec<Mutex<Vec<f32>>> = trades.iter().map(|trade| Mutex::new(trade.stretch.clone())).collect();
        let mut sums: Vec<Vec<f64>> = trades.iter().map(|trade| vec![0.0; trade.ladder.len()]).collect();
        trades.iter_mut().for_each(|trade| trade.fits.clear());
        for (index, (clip, grid)) in self.clips.iter().zip(&self.grids).enumerate() {
            let motion = self.motion(clip)?;
            let looks: Vec<f64> = grid.times.iter().map(|&time| grid.look(time)).collect();
            let frames = each_frame(&self.stage, &motion, &looks, Wanted::Positions, |place, workspace| {
                self.meter.frame("measuring targets");
                let mut fits = Vec::with_capacity(trades.len());
                for ((trade, group), stretch) in trades.iter().zip(&self.groups).zip(&stretch) {
                    let pulled = self.pull(group, index, grid.times[place], workspace)?;
                    let mut largest = stretch.lock().unwrap_or_else(PoisonError::into_inner);
                    largest.iter_mut().zip(pulled.stretch_bounds()).for_each(|(l, here)| *l = l.max(here.sqrt()));
                    drop(largest);
                    fits.push(fit(trade, &pulled));
                }
                Ok(fits)
            })?;
            trades.iter_mut().for_each(|trade| trade.fits.push(Vec::with_capacity(frames.len())));
            for frame in frames {
                for ((trade, sums), (fit, errors)) in trades.iter_mut().zip(&mut sums).zip(frame) {
                    sums.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error);
                    trade.fits[index].push(fit);
                }
            }
        }
        for (((trade, stretch), sums), group) in trades.iter_mut().zip(stretch).zip(&sums).zip(&self.groups) {
            trade.stretch = stretch.into_inner().unwrap_or_else(PoisonError::into_inner);
            let fits = || trade.fits.iter().flatten();
            let points = (fits().count() * group.group.points.len()).max(1) as f64;
            let point = |(rung, &directions): (usize, &usize)| TradePoint {
                targets: written_targets(directions),
                largest: fits().map(|fit| f64::from(fit.errors[rung])).fold(0.0, f64::max),
                mean: sums[rung] / points,
            };
            trade.curve = trade.ladder.iter().enumerate().map(point).collect();
        }
        Ok(())
    }

    /// The smallest number of targets per group that will do.
    fn choose_counts(&self, trades: &[Trade]) -> Result<Vec<usize>, BakeFailure> {
        let limit = self.options.max_targets.unwrap_or(usize::MAX);
        let mut counts = Vec::with_capacity(trades.len());
        let mut short = Vec::new();
        for (trade, group) in trades.iter().zip(&self.groups) {
            let tolerance = TARGETS_SHARE * self.options.tolerance.units(group.group.size);
            let enough = trade.curve.iter().position(|point| point.largest <= tolerance);
            let allowed = |rung: &usize| trade.curve[*rung].targets <= limit;
            if enough.is_none_or(|rung| !allowed(&rung)) {
                short.push(self.shortfall(group, trade, enough.map(|rung| trade.curve[rung].targets)));
            }
            let most = trade.ladder.len().saturating_sub(1);
            let rung = (0..=enough.unwrap_or(most)).rev().find(allowed).unwrap_or(0);
            counts.push(trade.ladder[rung]);
        }
        if short.is_empty() || self.options.best_effort {
            return Ok(counts);
        }
        let Options { tolerance, max_targets, .. } = *self.options;
        Err(BakeFailure::Shortfall(Box::new(Shortfall { tolerance, max_targets, groups: short })))
    }

    fn shortfall(&self, group: &PulledGroup, trade: &Trade, would_do: Option<usize>) -> GroupShortfall {
        let flattened = self.flattened(group, trade).filter(|_| would_do.is_none());
        let obstacle = flattened.map(|flat| {
            format!(
                "skinning squeezes {} points flat (bones {}; first in clip \"{}\" at {:.3} s), where no morph is seen; \
                 weaken the effects there or spread the skin weights",
                flat.points,
                crate::report::listed(&flat.bones),
                self.clips[flat.clip].clip.name,
                flat.time
            )
        });
        GroupShortfall {
            names: self.names(group),
            size: group.group.size,
            would_do,
            obstacle,
            curve: trade.curve.clone(),
        }
    }

    fn names(&self, group: &PulledGroup) -> Vec<String> {
        group.group.parts.iter().map(|&part| self.rig().parts()[part].name.clone()).collect()
    }

    /// Where a midpoint had to become a key, the motion is faster than the samples: half-way to its neighbours it is
    /// looked at again, and so on. Returns the moments looked at, per clip.
    fn refine(&self, solutions: &mut [Solution]) -> Result<Vec<Vec<f64>>, BakeFailure> {
        let mut refined = Vec::with_capacity(self.clips.len());
        for (index, (clip, grid)) in self.clips.iter().zip(&self.grids).enumerate() {
            let mut looked_at = Vec::new();
            let is_between = |time: f64| {
                let mut keys = solutions.iter().filter(|s| s.count > 0).map(|solution| &solution.curves[index].times);
                !grid.is_sample(time) && keys.any(|keys| keys.binary_search_by(|key| key.total_cmp(&time)).is_ok())
            };
            let pairs = grid.times.windows(2).map(|pair| (pair[0], pair[1]));
            let mut open: Vec<(f64, f64)> = pairs.filter(|&(a, b)| is_between(a) || is_between(b)).collect();
            let motion = if open.is_empty() { None } else { Some(self.motion(clip)?) };
            for _ in 0..HALVINGS {
                let halved = |&(a, b): &(f64, f64)| {
                    let middle = f64::from((0.5 * (a + b)) as f32);
                    (a < middle && middle < b).then_some([a, middle, b])
                };
                let halves: Vec<[f64; 3]> = open.iter().filter_map(halved).collect();
                let times: Vec<f64> = halves.iter().map(|half| half[1]).collect();
                let (Some(motion), false) = (&motion, times.is_empty()) else { break };
                self.meter.total.fetch_add(2 * times.len(), Ordering::Relaxed);
                let fits = each_frame(&self.stage, motion, &times, Wanted::Positions, |place, workspace| {
                    self.meter.frame("placing keys");
                    let mut fits = Vec::with_capacity(solutions.len());
                    for (group, solution) in self.groups.iter().zip(&*solutions) {
                        fits.push(solution.project(&self.pull(group, index, times[place], workspace)?));
                    }
                    Ok(fits)
                })?;
                open.clear();
                for ([a, middle, b], fits) in halves.into_iter().zip(fits) {
                    let mut missed = false;
                    for ((solution, group), (weights, error)) in solutions.iter_mut().zip(&self.groups).zip(fits) {
                        let played = solution.curves[index].at(middle);
                        let offset = played.iter().zip(&weights).map(|(a, b)| a - b).collect();
                        let moved = keys::vertex_errors(&solution.played, &solution.trade.stretch, &[offset])[0];
                        if f64::from(error + moved) > self.options.tolerance.units(group.group.size)
                            && solution.count > 0
                        {
                            solution.curves[index].insert(middle, weights);
                            missed = true;
                        }
                    }
                    if missed {
                        open.extend([(a, middle), (middle, b)]);
                    }
                }
                looked_at.extend(times);
            }
            refined.push(looked_at);
        }
        Ok(refined)
    }

    /// One pass over all samples: normals and tangents for the weights that are played.
    fn fit_directions(&self, solutions: &mut [Solution]) -> Result<(), BakeFailure> {
        let fields: Vec<Vec<Field>> = self
            .groups
            .iter()
            .zip(&*solutions)
            .map(|(group, solution)| match solution.count {
                0 => Vec::new(),
                _ => Kind::ALL
                    .iter()
                    .filter_map(|&kind| Field::new(self.stage.subject, &group.group.parts, kind))
                    .collect(),
            })
            .collect();
        if fields.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let mut fits: Vec<Vec<Fit>> = fields
            .iter()
            .zip(&*solutions)
            .map(|(fields, solution)| fields.iter().map(|field| Fit::new(field.len(), solution.count)).collect())
            .collect();
        let largest: usize = fields.iter().flatten().map(|field| 12 * field.len()).sum();
        let block = (BLOCK_BYTES / largest.max(1)).clamp(4, 64);
        for (index, (clip, grid)) in self.clips.iter().zip(&self.grids).enumerate() {
            let motion = self.motion(clip)?;
            let samples: Vec<f64> = grid.times.iter().step_by(2).map(|&time| grid.look(time)).collect();
            for times in samples.chunks(block) {
                let frames = each_frame(&self.stage, &motion, times, Wanted::Directions, |_, workspace| {
                    self.meter.frame("fitting normals");
                    let morphs = self.stage.morph_weights(workspace);
                    let deltas = |field: &Field| field.deltas(self.rig(), workspace, morphs);
                    Ok(fields.iter().map(|fields| fields.iter().map(deltas).collect::<Vec<_>>()).collect::<Vec<_>>())
                })?;
                for (group, (fits, solution)) in fits.iter_mut().zip(&*solutions).enumerate() {
                    let weights: Vec<Vec<f32>> = times.iter().map(|&time| solution.curves[index].at(time)).collect();
                    for (field, fit) in fits.iter_mut().enumerate() {
                        fit.add(frames.iter().flat_map(|frame| &frame[group][field]).copied().collect(), &weights);
                    }
                }
            }
        }
        for ((solution, fields), fits) in solutions.iter_mut().zip(fields).zip(fits) {
            for (field, fit) in fields.into_iter().zip(fits) {
                solution.fields.push((field, fit.solve()?));
            }
        }
        Ok(())
    }

    /// The last pass: what is played against what is wanted, at samples, midpoints, and the moments in `refined`.
    fn measure(&self, solutions: &[Solution], refined: &[Vec<f64>]) -> Result<Vec<Measured>, BakeFailure> {
        let mut measured: Vec<Measured> = solutions
            .iter()
            .map(|solution| Measured {
                angles: vec![AngleError::default(); solution.fields.len()],
                angle_counts: vec![0; solution.fields.len()],
                ..Measured::default()
            })
            .collect();
        let wanted = if solutions.iter().all(|solution| solution.fields.is_empty()) {
            Wanted::Positions
        } else {
            Wanted::Directions
        };
        for (index, (clip, grid)) in self.clips.iter().zip(&self.grids).enumerate() {
            let motion = self.motion(clip)?;
            let mut times = [&grid.times[..], &refined[index]].concat();
            times.sort_by(f64::total_cmp);
            let looks: Vec<f64> = times.iter().map(|&time| grid.look(time)).collect();
            let frames = each_frame(&self.stage, &motion, &looks, wanted, |place, workspace| {
                self.meter.frame("checking the result");
                let mut found = Vec::with_capacity(solutions.len());
                for (group, solution) in self.groups.iter().zip(solutions) {
                    let pulled = self.pull(group, index, times[place], workspace)?;
                    let weights = solution.curves[index].at(times[place]);
                    let mut error = pulled.x.clone();
                    solution.played.add_product(-1.0, column(&weights), &mut error);
                    let morphs = self.stage.morph_weights(workspace);
                    let angle = |(field, targets): &(Field, Tall)| {
                        field.angles(self.rig(), workspace, morphs, targets.times(column(&weights)).data())
                    };
                    found.push((pulled.world_error(&error), solution.fields.iter().map(angle).collect::<Vec<_>>()));
                }
                Ok(found)
            })?;
            for measured in &mut measured {
                measured.per_clip.push(0.0);
            }
            for (&time, found) in times.iter().zip(frames) {
                for ((measured, (error, angles)), group) in measured.iter_mut().zip(found).zip(&self.groups) {
                    let largest = f64::from(error.largest);
                    if grid.place(time).is_none() {
                        measured.between = measured.between.max(largest);
                        continue;
                    }
                    measured.sum += error.sum;
                    measured.count += group.group.points.len();
                    measured.per_clip[index] = measured.per_clip[index].max(largest);
                    if largest > measured.error.largest {
                        measured.error.largest = largest;
                        measured.error.at = self.locate(group, largest, index, time, error.point);
                    }
                    for ((sums, count), angle) in measured.angles.iter_mut().zip(&mut measured.angle_counts).zip(angles)
                    {
                        *count += angle.vertices;
                        sums.largest = sums.largest.max(angle.largest);
                        sums.largest_before = sums.largest_before.max(angle.largest_before);
                        sums.mean += angle.sum;
                        sums.mean_before += angle.sum_before;
                    }
                }
            }
        }
        for measured in &mut measured {
            measured.error.mean = measured.sum / measured.count.max(1) as f64;
            for (sums, &count) in measured.angles.iter_mut().zip(&measured.angle_counts) {
                sums.mean /= count.max(1) as f64;
                sums.mean_before /= count.max(1) as f64;
            }
        }
        Ok(measured)
    }

    fn locate(&self, group: &PulledGroup, length: f64, clip: usize, time: f64, point: usize) -> Located {
        let vertex = group.group.points.get(point).map_or(0, |point| point.vertex as usize);
        let holds = |&&part: &&usize| vertices(&self.rig().parts()[part]).any(|other| other == vertex);
        let part = group.group.parts.iter().find(holds).copied().unwrap_or(0);
        let vertex = vertices(&self.rig().parts()[part]).position(|other| other == vertex).unwrap_or(0);
        Located { length, clip, time, part, vertex }
    }

    fn flattened(&self, group: &PulledGroup, trade: &Trade) -> Option<FlattenedReport> {
        let mut flat = vec![false; group.group.points.len()];
        let (mut times, mut left, mut first) = (0, 0.0f64, None);
        for (clip, fits) in trade.fits.iter().enumerate() {
            for (place, fit) in fits.iter().enumerate() {
                for &(point, distance) in &fit.flattened {
                    flat[point] = true;
                    times += 1;
                    left = left.max(f64::from(distance));
                    first.get_or_insert((clip, self.grids[clip].times[place]));
                }
            }
        }
        let (clip, time) = first?;
        let points = flat.iter().filter(|flat| **flat).count();
        let slots =
            group.group.points.iter().zip(&flat).filter(|(_, flat)| **flat).map(|(point, _)| point.slot as usize);
        let bones: BTreeSet<String> = slots.filter_map(|slot| main_bone(self.rig(), slot)).collect();
        Some(FlattenedReport { points, times, bones: bones.into_iter().take(8).collect(), clip, time, left })
    }

    fn report(&self, solutions: &[Solution], measured: Vec<Measured>) -> Report {
        let mut clips: Vec<ClipReport> = Vec::new();
        for (index, (clip, grid)) in self.clips.iter().zip(&self.grids).enumerate() {
            let mut report = ClipReport {
                name: clip.clip.name.clone(),
                samples: grid.samples(),
                keys: 0,
                keys_between: 0,
                largest_share: 0.0,
                seam: grid.closes.then(Seam::default),
            };
            for ((group, solution), measured) in self.groups.iter().zip(solutions).zip(&measured) {
                report.largest_share = report.largest_share.max(measured.per_clip[index] / group.group.size);
                if solution.count == 0 {
                    continue;
                }
                let keys = &solution.curves[index].times;
                report.keys += keys.len();
                report.keys_between += keys.iter().filter(|&&key| !grid.is_sample(key)).count();
                if let Some(seam) = &mut report.seam {
                    let here = solution.seam(index);
                    seam.position = seam.position.max(here.position / group.group.size);
                    seam.velocity = seam.velocity.max(here.velocity / group.group.size);
                }
            }
            clips.push(report);
        }
        let mut groups: Vec<GroupReport> = Vec::new();
        for ((group, solution), measured) in self.groups.iter().zip(solutions).zip(measured) {
            let mut displacement = (0.0, 0, 0, 0);
            for (clip, fits) in solution.trade.fits.iter().enumerate() {
                for (place, fit) in fits.iter().enumerate() {
                    if fit.largest.0 > displacement.0 {
                        displacement = (fit.largest.0, clip, place, fit.largest.1);
                    }
                }
            }
            let (length, clip, place, point) = displacement;
            let angle = |kind: Kind| {
                let found = solution.fields.iter().position(|(field, _)| field.kind() == kind)?;
                measured.angles.get(found).copied()
            };
            groups.push(GroupReport {
                parts: group.group.parts.clone(),
                names: self.names(group),
                size: group.group.size,
                points: group.group.points.len(),
                targets: solution.count,
                displacement: self.locate(group, length, clip, self.grids[clip].times[place], point),
                normals: angle(Kind::Normal),
                tangents: angle(Kind::Tangent),
                error: measured.error.clone(),
                error_between: measured.between,
                curve: solution.trade.curve.clone(),
                flattened: self.flattened(group, &solution.trade),
            });
        }
        Report { frames: self.samples(), tolerance: self.options.tolerance, groups, clips }
    }

    /// What is played exceeds what was promised.
    fn missed(&self, report: &Report) -> BakeFailure {
        let tolerance = self.options.tolerance;
        let short = report.groups.iter().filter(|group| group.error.largest > tolerance.units(group.size));
        let groups = short.map(|group| GroupShortfall {
            names: group.names.clone(),
            size: group.size,
            would_do: None,
            obstacle: Some(format!(
                "played with f32 numbers, clip \"{}\" at {:.4} s is off by {:.4} % of the size; allow a little more",
                self.clips[group.error.at.clip].clip.name,
                group.error.at.time,
                100.0 * group.error.largest / group.size,
            )),
            curve: group.curve.clone(),
        });
        let groups = groups.collect();
        BakeFailure::Shortfall(Box::new(Shortfall { tolerance, max_targets: self.options.max_targets, groups }))
    }

    fn result(&self, solutions: Vec<Solution>, report: Report) -> Baked {
        let rig = self.rig();
        let mut parts: Vec<(BakedPart, usize)> = Vec::new();
        for (index, (group, solution)) in self.groups.iter().zip(&solutions).enumerate() {
            if solution.count == 0 {
                continue;
            }
            for &part in &group.group.parts {
                let target = |target: usize| -> Vec<PrimitiveTarget> {
                    let count = group.group.points.len();
                    let written = solution.written.column(target);
                    let delta = |vertex: usize| {
                        let place = self.place_of_slot[rig.point_of_vertex()[vertex] as usize] as usize;
                        Vec3::new(written[place], written[count + place], written[2 * count + place])
                    };
                    let primitives = rig.parts()[part].primitives.iter().enumerate();
                    primitives
                        .map(|(number, primitive)| {
                            let directions = |kind: Kind| {
                                let (field, targets) =
                                    solution.fields.iter().find(|(field, _)| field.kind() == kind)?;
                                field.of_primitive(part, number, targets.column(target))
                            };
                            PrimitiveTarget {
                                positions: primitive.vertices.clone().map(delta).collect(),
                                normals: directions(Kind::Normal),
                                tangents: directions(Kind::Tangent),
                            }
                        })
                        .collect()
                };
                parts.push((BakedPart { part, targets: (0..solution.count).map(target).collect() }, index));
            }
        }
        parts.sort_by_key(|(part, _)| part.part);
        let curves = |clip: usize| parts.iter().map(|&(_, group)| solutions[group].curves[clip].clone()).collect();
        let clips = (0..self.clips.len()).map(curves).collect();
        Baked { parts: parts.into_iter().map(|(part, _)| part).collect(), clips, report }
    }
}

/// Targets in the file for a number of directions to move in: one more, which holds what all frames share. See
/// [`Solution::keep_weights_within_one`].
fn written_targets(directions: usize) -> usize {
    if directions == 0 { 0 } else { directions + 1 }
}

/// Directions that a limit on targets leaves room for.
fn directions_within(targets: Option<usize>) -> Option<usize> {
    targets.map(|most| most.saturating_sub(1))
}

/// Numbers of directions the trade is measured at: a few small ones, then all from `from` on, in ever wider steps past 64;
/// the limit and the end always.
fn ladder(from: usize, most: usize, limit: Option<usize>) -> Vec<usize> {
    let mut rungs: Vec<usize> = (0..from).filter(|&rung| is_round(written_targets(rung))).collect();
    let mut rung = from;
    while rung < most {
        rungs.push(rung);
        rung += (rung / 64).max(1);
    }
    rungs.push(most);
    rungs.extend(limit.filter(|&limit| limit < most));
    rungs.sort_unstable();
    rungs.dedup();
    rungs
}

/// Weights of a frame, and its errors on every rung: the largest in the fit, and their sums.
fn fit(trade: &Trade, pulled: &Pulled) -> (FrameFit, Vec<f64>) {
    let most = trade.ladder.last().copied().unwrap_or(0);
    let weights = trade.factors.weights(&pulled.x, most);
    let mut residual = pulled.x.clone();
    let (mut errors, mut sums) = (Vec::with_capacity(trade.ladder.len()), Vec::with_capacity(trade.ladder.len()));
    let mut next = 0;
    for &rung in &trade.ladder {
        for target in next..rung {
            let weight = weights[target];
            residual.iter_mut().zip(trade.factors.targets.column(target)).for_each(|(x, m)| *x -= weight * m);
        }
        next = rung;
        let error = pulled.world_error(&residual);
        errors.push(error.largest);
        sums.push(error.sum);
    }
    let flattened = pulled.flattened.iter().filter(|flat| flat.left > 0.0).map(|flat| (flat.point, flat.left.sqrt()));
    (FrameFit { weights, errors, largest: pulled.largest, flattened: flattened.collect() }, sums)
}

impl Solution {
    fn new(group: &PulledGroup, mut trade: Trade, count: usize) -> Self {
        let points = group.group.points.len();
        trade.factors.targets.truncate(count);
        let mut peaks = vec![0.0f32; count];
        for fit in trade.fits.iter().flatten() {
            peaks.iter_mut().zip(&fit.weights).for_each(|(peak, weight)| *peak = peak.max(weight.abs()));
        }
        // A target that no frame uses keeps its size.
        peaks.iter_mut().filter(|peak| **peak == 0.0).for_each(|peak| *peak = 1.0);
        let mut written = Tall::new(3 * points);
        let mut played = Tall::new(3 * points);
        for (target, &peak) in peaks.iter().enumerate() {
            let column = trade.factors.targets.column(target);
            let rest: Vec<f32> = column
                .iter()
                .enumerate()
                .map(|(i, x)| (f64::from(x * peak) / group.scales[i % points]) as f32)
                .collect();
            let world: Vec<f32> =
                rest.iter().enumerate().map(|(i, x)| (f64::from(*x) * group.scales[i % points]) as f32).collect();
            written.push(&rest);
            played.push(&world);
        }
        let scaled = |fit: &FrameFit| fit.weights.iter().zip(&peaks).map(|(weight, peak)| weight / peak).collect();
        let weights = trade.fits.iter().map(|fits| fits.iter().map(scaled).collect()).collect();
        Self { trade, count, played, written, weights, peaks, curves: Vec::new(), fields: Vec::new() }
    }

    /// Brings all weights to 0…1, where Blender's and Unity's sliders hold them: `Σ w_k m_k = Σ w'_k (h_k − l_k) m_k +
    /// 1·Σ l_k m_k` for weights between l and h. The last sum is one more target, fully on in every clip.
    fn keep_weights_within_one(&mut self) {
        if self.count == 0 {
            return;
        }
        let mut offset = [&self.written, &self.played].map(|targets| vec![0.0f64; targets.rows()]);
        for target in 0..self.count {
            let weights = self.curves.iter().flat_map(|curve| &curve.weights).map(|weights| weights[target]);
            let (low, high) = weights.fold((0.0f32, 0.0f32), |(low, high), w| (low.min(w), high.max(w)));
            let range = high - low;
            // A target that no key uses stays at 0.
            let unit = |weight: f32| if range > 0.0 { ((weight - low) / range).clamp(0.0, 1.0) } else { 0.0 };
            for weights in self.curves.iter_mut().flat_map(|curve| &mut curve.weights) {
                weights[target] = unit(weights[target]);
            }
            for (targets, offset) in [&mut self.written, &mut self.played].into_iter().zip(&mut offset) {
                for (m, sum) in targets.column_mut(target).iter_mut().zip(offset) {
                    *sum += f64::from(low) * f64::from(*m);
                    *m *= range;
                }
            }
        }
        for (targets, offset) in [&mut self.written, &mut self.played].into_iter().zip(offset) {
            targets.push(&offset.into_iter().map(|m| m as f32).collect::<Vec<_>>());
        }
        self.curves.iter_mut().flat_map(|curve| &mut curve.weights).for_each(|weights| weights.push(1.0));
        self.count += 1;
    }

    /// The weights of a frame outside the grid, and the error they leave.
    fn project(&self, pulled: &Pulled) -> (Vec<f32>, f32) {
        let weights: Vec<f32> = self
            .trade
            .factors
            .weights(&pulled.x, self.count)
            .iter()
            .zip(&self.peaks)
            .map(|(weight, peak)| weight / peak)
            .collect();
        let mut error = pulled.x.clone();
        self.played.add_product(-1.0, column(&weights), &mut error);
        (weights, pulled.world_error(&error).largest)
    }

    fn choose_keys(&mut self, grids: &[Grid], tolerance: f64) {
        let rung = self.trade.ladder.iter().position(|&rung| rung == self.count).unwrap_or(0);
        for (clip, grid) in grids.iter().enumerate() {
            let weights = &self.weights[clip];
            let errors = self.trade.fits[clip].iter().map(|fit| fit.errors[rung]);
            let least = LEAST_KEY_SHARE * tolerance;
            let allowed: Vec<f32> = errors.map(|error| (tolerance - f64::from(error)).max(least) as f32).collect();
            let keys = match self.count {
                0 => vec![0],
                _ => keys::choose(&self.played, &self.trade.stretch, &grid.times, weights, &allowed),
            };
            self.curves.push(WeightCurve {
                times: keys.iter().map(|&key| grid.times[key]).collect(),
                weights: keys.iter().map(|&key| weights[key].clone()).collect(),
            });
        }
        // What the keys hold is enough from here on.
        self.weights = Vec::new();
        self.trade.fits.iter_mut().flatten().for_each(|fit| fit.weights = Vec::new());
    }

    /// How a loop's curve meets itself.
    fn seam(&self, clip: usize) -> Seam {
        let WeightCurve { times, weights } = &self.curves[clip];
        let ([first, second, ..], [.., before, last]) = (&weights[..], &weights[..]) else { return Seam::default() };
        let count = times.len();
        let slope = |a: &[f32], b: &[f32], seconds: f64| -> Vec<f32> {
            a.iter().zip(b).map(|(a, b)| (f64::from(b - a) / seconds) as f32).collect()
        };
        let out = slope(before, last, times[count - 1] - times[count - 2]);
        let into = slope(first, second, times[1] - times[0]);
        let jump: Vec<f32> = out.iter().zip(&into).map(|(a, b)| a - b).collect();
        let gap: Vec<f32> = last.iter().zip(first).map(|(a, b)| a - b).collect();
        let lengths = keys::vertex_errors(&self.played, &self.trade.stretch, &[gap, jump]);
        Seam { position: f64::from(lengths[0]), velocity: f64::from(lengths[1]) }
    }
}

fn column(weights: &[f32]) -> MatRef<'_, f32> {
    MatRef::from_column_major_slice(weights, weights.len(), 1)
}

/// Name of the bone with the largest weight on a slot.
fn main_bone(rig: &Rig, slot: usize) -> Option<String> {
    let row = rig.rows().get(slot / LANES)?;
    let range = row.skin.start as usize..row.skin.end as usize;
    let entry = range.max_by(|&a, &b| {
        rig.skin_weights()[a][slot % LANES].total_cmp(&rig.skin_weights()[b][slot % LANES]).then(b.cmp(&a))
    })?;
    let bone = rig.palette().get(*rig.skin_entries().get(entry)? as usize)?.bone;
    Some(rig.skeleton().name(bone).to_owned())
}
