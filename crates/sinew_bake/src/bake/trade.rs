//! What any number of targets would give, measured on every frame, and the smallest number that will do.

use super::frames::Frames;
use super::{LAST_SHARE, Run, TARGETS_SHARE};
use crate::directions::Fit;
use crate::factor::Factors;
use crate::lanes::subtract_here;
use crate::pulled::{Pulled, TILE, WorldError};
use crate::report::{Shortfall, TradePoint, is_round};
use crate::{BakeFailure, Options};
use faer::MatRef;
use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

/// How one frame of a group is reproduced, before keys are chosen.
#[derive(Default)]
pub(super) struct FrameFit {
    pub weights: Vec<f32>,
    /// Largest error per rung of the ladder.
    pub errors: Vec<f32>,
    /// Sum of the errors per rung; empty once they have been summed up.
    sums: Vec<f64>,
    pub largest: (f64, usize),
    /// Point, and the distance no target can make up for.
    pub flattened: Vec<(usize, f32)>,
}

/// A group after the trade has been measured.
pub(super) struct Trade {
    pub factors: Factors,
    pub ladder: Vec<usize>,
    pub curve: Vec<TradePoint>,
    /// Per clip and place of its grid.
    pub fits: Vec<Vec<FrameFit>>,
    /// Largest stretch per point over all frames.
    pub stretch: Vec<f32>,
    /// Targets there could be.
    pub rank: usize,
    /// Sums for the fit of normals and tangents to the weights of all directions and to 1.
    pub directions: Vec<Fit>,
}

impl Trade {
    /// Directions that are looked at.
    fn most(&self) -> usize {
        self.ladder.last().copied().unwrap_or(0)
    }

    /// Takes in the directions of frames, where they have some.
    fn fit_directions(&mut self, frames: &[&Pulled], weights: MatRef<'_, f32>) {
        let has_directions = |(_, pulled): &(usize, &&Pulled)| !pulled.deltas.is_empty();
        let some: Vec<(usize, &&Pulled)> = frames.iter().enumerate().filter(has_directions).collect();
        let of_frame = |at: usize| (0..weights.nrows()).map(|row| weights[(row, at)]).chain([1.0]).collect();
        let of_frames: Vec<Vec<f32>> = some.iter().map(|(at, _)| of_frame(*at)).collect();
        let of_frames: Vec<&[f32]> = of_frames.iter().map(Vec::as_slice).collect();
        for (field, fit) in self.directions.iter_mut().enumerate() {
            let deltas: Vec<&[f32]> = some.iter().map(|(_, pulled)| &pulled.deltas[field][..]).collect();
            fit.add(deltas.concat(), &of_frames);
        }
    }
}

/// Frames one thread looks at while a tile of all targets is in its cache.
const FRAMES: usize = 8;

impl Run<'_> {
    /// One pass over samples and midpoints: what any number of targets would give in some groups.
    pub(super) fn trade(
        &self,
        frames: &mut Frames,
        groups: &[usize],
        factored: Vec<(Factors, usize)>,
    ) -> Result<Vec<Trade>, BakeFailure> {
        let limit = directions_within(self.options.max_targets);
        let mut trades = Vec::with_capacity(factored.len());
        for ((factors, estimate), &group) in factored.into_iter().zip(groups) {
            let rank = factors.targets.columns();
            // Some more than needed: the estimate does not know what A does to errors.
            let most = (estimate + estimate / 8 + 6).min(rank);
            trades.push(Trade {
                ladder: ladder(estimate - estimate / 8, most, limit),
                factors,
                curve: Vec::new(),
                fits: Vec::new(),
                stretch: vec![0.0; self.groups[group].group.points.len()],
                rank,
                directions: Vec::new(),
            });
        }
        self.measure_trades(frames, groups, &mut trades)?;
        let too_short = |(trade, &group): (&Trade, &usize)| {
            trade.ladder.last().is_some_and(|&last| last < trade.rank) && self.is_short(group, trade)
        };
        if trades.iter().zip(groups).any(too_short) {
            trades.iter_mut().for_each(|trade| trade.ladder = ladder(0, trade.rank, limit));
            self.measure_trades(frames, groups, &mut trades)?;
        }
        Ok(trades)
    }

    /// Whether no number of targets looked at will do for a group.
    pub(super) fn is_short(&self, group: usize, trade: &Trade) -> bool {
        let tolerance = TARGETS_SHARE * self.options.tolerance.units(self.groups[group].group.size);
        trade.curve.iter().all(|point| point.largest > tolerance)
    }

    fn measure_trades(&self, frames: &mut Frames, groups: &[usize], trades: &mut [Trade]) -> Result<(), BakeFailure> {
        for (trade, &group) in trades.iter_mut().zip(groups) {
            let most = trade.most();
            let fields = self.groups[group].fields.iter().filter(|_| most > 0);
            trade.directions = fields.map(|field| Fit::new(field.len(), most + 1)).collect();
            trade.fits.clear();
        }
        let mut sums: Vec<Vec<f64>> = trades.iter().map(|trade| vec![0.0; trade.ladder.len()]).collect();
        let mut stretch: Vec<Vec<f32>> = trades.iter().map(|trade| vec![0.0; trade.stretch.len()]).collect();
        let block = self.block();
        for (index, grid) in self.grids.iter().enumerate() {
            trades.iter_mut().for_each(|trade| trade.fits.push(Vec::with_capacity(grid.times.len())));
            let places: Vec<usize> = (0..grid.times.len()).collect();
            for places in places.chunks(block) {
                let found = self.look(frames, index, places, "measuring targets")?;
                for (&group, ((trade, sums), stretch)) in
                    groups.iter().zip(trades.iter_mut().zip(&mut sums).zip(&mut stretch))
                {
                    let pulled: Vec<&Pulled> = found.iter().map(|frame| &frame.groups[group]).collect();
                    let displaced: Vec<&[f32]> = pulled.iter().map(|pulled| &pulled.x[..]).collect();
                    let weights = trade.factors.weights_of(&displaced, trade.most());
                    trade.fit_directions(&pulled, weights.as_ref());
                    let (known, weights) = (&*trade, weights.as_ref());
                    let fits: Vec<(Vec<FrameFit>, Vec<f32>)> = pulled
                        .par_chunks(FRAMES)
                        .enumerate()
                        .map(|(chunk, pulled)| fits(known, pulled, weights.subcols(chunk * FRAMES, pulled.len())))
                        .collect();
                    for (fits, bounds) in fits {
                        stretch.iter_mut().zip(bounds).for_each(|(largest, here)| *largest = largest.max(here));
                        for mut fit in fits {
                            sums.iter_mut().zip(&fit.sums).for_each(|(sum, error)| *sum += error);
                            fit.sums = Vec::new();
                            trade.fits[index].push(fit);
                        }
                    }
                }
            }
        }
        for (((trade, stretch), sums), &group) in trades.iter_mut().zip(stretch).zip(&sums).zip(groups) {
            trade.stretch = stretch.into_iter().map(f32::sqrt).collect();
            let fits = || trade.fits.iter().flatten();
            let points = (fits().count() * self.groups[group].group.points.len()).max(1) as f64;
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
    pub(super) fn choose_counts(&self, trades: &[Trade]) -> Result<Vec<usize>, BakeFailure> {
        let limit = self.options.max_targets.unwrap_or(usize::MAX);
        let mut counts = Vec::with_capacity(trades.len());
        let mut short = Vec::new();
        for (trade, group) in trades.iter().zip(&self.groups) {
            let tolerance = self.options.tolerance.units(group.group.size);
            let within = |share: f64| trade.curve.iter().position(|point| point.largest <= share * tolerance);
            let enough = within(TARGETS_SHARE).or_else(|| within(LAST_SHARE));
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
        let Options { tolerance, max_targets, .. } = self.options;
        Err(BakeFailure::Shortfall(Box::new(Shortfall { tolerance, max_targets, groups: short })))
    }
}

/// Targets in the file for a number of directions to move in: one more, which holds what all frames share. See
/// [`super::solution::Solution`].
pub(super) fn written_targets(directions: usize) -> usize {
    if directions == 0 { 0 } else { directions + 1 }
}

/// Directions that a limit on targets leaves room for.
pub(super) fn directions_within(targets: Option<usize>) -> Option<usize> {
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

/// Frames with their weights and their errors on every rung, and how much each point is stretched in them, squared.
fn fits(trade: &Trade, frames: &[&Pulled], weights: MatRef<'_, f32>) -> (Vec<FrameFit>, Vec<f32>) {
    let points = trade.stretch.len();
    let mut errors = vec![vec![WorldError::default(); trade.ladder.len()]; frames.len()];
    dispatch!(Level::new(), _simd => add_errors(trade, frames, weights, &mut errors));
    let of_frame = |(frame, (pulled, errors)): (usize, (&&Pulled, Vec<WorldError>))| {
        let flat = pulled.flattened.iter().map(|flat| (flat.point, flat.left.length()));
        FrameFit {
            weights: (0..weights.nrows()).map(|row| weights[(row, frame)]).collect(),
            errors: errors.iter().map(|error| error.largest).collect(),
            sums: errors.iter().map(|error| error.sum).collect(),
            largest: pulled.largest,
            flattened: flat.filter(|(_, left)| *left > 0.0).collect(),
        }
    };
    let mut stretch = vec![0.0f32; points];
    frames.iter().for_each(|pulled| pulled.raise_stretch_bounds(&mut stretch));
    (frames.iter().zip(errors).enumerate().map(of_frame).collect(), stretch)
}

/// The errors of frames on every rung, tile by tile.
#[inline(always)]
fn add_errors(trade: &Trade, frames: &[&Pulled], weights: MatRef<'_, f32>, errors: &mut [Vec<WorldError>]) {
    let points = trade.stretch.len();
    let mut residual = [[0.0f32; TILE]; 3];
    for first in (0..points).step_by(TILE) {
        let len = TILE.min(points - first);
        for (frame, (pulled, errors)) in frames.iter().zip(&mut *errors).enumerate() {
            for (axis, plane) in residual.iter_mut().enumerate() {
                plane[..len].copy_from_slice(&pulled.x[axis * points + first..][..len]);
            }
            let mut next = 0;
            for (&rung, error) in trade.ladder.iter().zip(errors) {
                for target in next..rung {
                    let (weight, column) = (weights[(target, frame)], trade.factors.targets.column(target));
                    for (axis, plane) in residual.iter_mut().enumerate() {
                        subtract_here(&mut plane[..len], weight, &column[axis * points + first..][..len]);
                    }
                }
                next = rung;
                let [x, y, z] = &residual;
                pulled.add_world_error_here(first, [&x[..len], &y[..len], &z[..len]], error);
            }
        }
    }
}
