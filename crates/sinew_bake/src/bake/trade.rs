//! What any number of targets would give, measured on every frame, and the smallest number that will do.

use super::{Run, TARGETS_SHARE};
use crate::factor::Factors;
use crate::pulled::{Pulled, PulledGroup, Wanted, each_frame};
use crate::report::{Shortfall, TradePoint, is_round};
use crate::{BakeFailure, Options};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// How one frame of a group is reproduced, before keys are chosen.
#[derive(Default)]
pub(super) struct FrameFit {
    pub weights: Vec<f32>,
    /// Largest error per rung of the ladder.
    pub errors: Vec<f32>,
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
}

impl Run<'_> {
    /// One pass over samples and midpoints: what any number of targets would give.
    pub(super) fn trade(&self, factored: Vec<(Factors, usize)>) -> Result<Vec<Trade>, BakeFailure> {
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
        for (index, grid) in self.grids.iter().enumerate() {
            let motion = self.motion(index)?;
            let looks: Vec<f64> = grid.times.iter().map(|&time| grid.look(time)).collect();
            let frames = each_frame(&motion, &looks, Wanted::Positions, |place, workspace| {
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
    pub(super) fn choose_counts(&self, trades: &[Trade]) -> Result<Vec<usize>, BakeFailure> {
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
