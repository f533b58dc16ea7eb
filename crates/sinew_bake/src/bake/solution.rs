//! The targets a group keeps, as they are written and as they are played, with their weights and keys.

use super::Run;
use super::forms::{Allowance, Form};
use super::frames::Frame;
use super::trade::{FrameFit, Trade, written_targets};
use crate::BakeFailure;
use crate::factor::FactorError;
use crate::keys::{self, Moved, WeightCurve};
use crate::lanes::subtract;
use crate::matrix::Tall;
use crate::pulled::{Pulled, PulledGroup, Wanted};
use crate::report::Seam;
use crate::sampling::Grid;
use faer::Mat;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How often the time between two moments is halved where the motion is faster than the samples.
const HALVINGS: usize = 4;

/// What is kept of a group. Weights lie in 0…1, where Blender's and Unity's sliders hold them: `Σ w_k m_k = Σ w'_k (h_k −
/// l_k) m_k + 1·Σ l_k m_k` for weights between l and h. The last sum is one more target, fully on in every clip.
pub(super) struct Solution {
    pub trade: Trade,
    /// Directions kept of the trade's; one less than targets.
    directions: usize,
    pub count: usize,
    /// Targets as they will be played, in world lengths.
    pub played: Tall,
    /// Targets as they will be written but for their scales, in rest space: x of all points, y, z.
    pub written: Tall,
    /// Per clip and place, of the targets kept.
    pub weights: Vec<Vec<Vec<f32>>>,
    /// Least weight of each direction, and how far its weights reach from there.
    spans: Vec<(f32, f32)>,
    pub curves: Vec<WeightCurve>,
    /// Directions of each field of the group.
    pub fields: Vec<Tall>,
    /// Of each field, the targets that have any, and their columns.
    pub used: Vec<(Vec<usize>, Tall)>,
    /// How each target is stored.
    pub forms: Vec<Form>,
    /// Per clip and place, how far points may be off because of it.
    pub rounding: Vec<Vec<f32>>,
    /// Targets, and those of directions, before they were rounded.
    pub unrounded: Option<(Tall, Vec<Tall>)>,
    pub allowance: Allowance,
    /// Per clip, what keys are chosen by.
    pub key_allowances: Vec<Allowance>,
    /// Whether forms are to be chosen, and the keys of which clips.
    pub stale_forms: bool,
    pub stale_keys: Vec<bool>,
}

impl Solution {
    pub(super) fn new(
        group: &PulledGroup,
        mut trade: Trade,
        directions: usize,
        grids: &[Grid],
    ) -> Result<Self, FactorError> {
        let points = group.group.points.len();
        trade.factors.truncate(directions);
        let mut spans = vec![(0.0f32, 0.0f32); directions];
        for fit in trade.fits.iter().flatten() {
            for ((low, high), &weight) in spans.iter_mut().zip(&fit.weights) {
                (*low, *high) = (low.min(weight), high.max(weight));
            }
        }
        spans.iter_mut().for_each(|(low, high)| *high -= *low);
        let mut written = Tall::new(3 * points);
        let mut offset = vec![0.0f64; 3 * points];
        for (target, &(low, range)) in spans.iter().enumerate() {
            let rest: Vec<f64> = (trade.factors.targets.column(target).iter().enumerate())
                .map(|(i, &x)| f64::from(x) / group.scales[i % points])
                .collect();
            offset.iter_mut().zip(&rest).for_each(|(sum, x)| *sum += f64::from(low) * x);
            written.push(&rest.iter().map(|x| (f64::from(range) * x) as f32).collect::<Vec<_>>());
        }
        let count = written_targets(directions);
        if count > 0 {
            written.push(&offset.iter().map(|&x| x as f32).collect::<Vec<_>>());
        }
        let played = group.in_world(&written);
        let unit = |fit: &FrameFit| unit_weights(&fit.weights, &spans);
        let mut weights: Vec<Vec<Vec<f32>>> = trade.fits.iter().map(|fits| fits.iter().map(unit).collect()).collect();
        for (weights, grid) in weights.iter_mut().zip(grids) {
            // Fitted in blocks, equal frames differ in the last bit by where in the block they are.
            for place in (0..weights.len()).filter(|&place| grid.shown(place) != place) {
                weights[place] = weights[grid.shown(place)].clone();
            }
        }
        trade.fits.iter_mut().flatten().for_each(|fit| fit.weights = Vec::new());
        let rounding = trade.fits.iter().map(|fits| vec![0.0; fits.len()]).collect();
        let fits = std::mem::take(&mut trade.directions).into_iter().filter(|_| count > 0);
        let fields = fits.map(|fit| fit.in_units(&spans).solve()).collect::<Result<_, FactorError>>()?;
        let clips = trade.fits.len();
        Ok(Self {
            trade,
            directions,
            count,
            played,
            written,
            weights,
            spans,
            curves: vec![WeightCurve { times: Vec::new(), weights: Vec::new() }; clips],
            fields,
            used: Vec::new(),
            forms: vec![Form::default(); count],
            rounding,
            unrounded: None,
            allowance: Allowance::LOOSE,
            key_allowances: vec![Allowance::LOOSE; clips],
            stale_forms: true,
            stale_keys: vec![true; clips],
        })
    }

    /// What weights do to points, at the most.
    fn moved(&self) -> Moved<'_> {
        Moved { targets: &self.played, stretch: &self.trade.stretch }
    }

    /// The rung of the trade's ladder that was chosen.
    pub(super) fn rung(&self) -> usize {
        self.trade.ladder.iter().position(|&rung| rung == self.directions).unwrap_or(0)
    }

    /// Keys of the clips that need some.
    pub(super) fn choose_keys(&mut self, grids: &[Grid], tolerance: f64) {
        let rung = self.rung();
        for (clip, grid) in grids.iter().enumerate().filter(|(clip, _)| self.stale_keys[*clip]) {
            let Allowance { all, least_keys, .. } = self.key_allowances[clip];
            let errors = self.trade.fits[clip].iter().zip(&self.rounding[clip]);
            let allowed = errors.map(|(fit, rounding)| {
                let error = f64::from(fit.errors[rung]) + f64::from(*rounding);
                (all * tolerance - error).max(least_keys * tolerance) as f32
            });
            let allowed: Vec<f32> = allowed.collect();
            let curve = match self.count {
                0 => WeightCurve { times: vec![grid.times[0]], weights: vec![Vec::new()] },
                _ => keys::curve(&self.moved(), &grid.times, &self.weights[clip], &allowed),
            };
            self.curves[clip] = curve;
        }
    }

    /// Puts keys where the curve would be off by more than `tolerance`, at moments with their frames; tells where it did.
    fn put_keys_unless_within(&mut self, tolerance: f64, clip: usize, moments: &[(f64, &Pulled)]) -> Vec<bool> {
        let displaced: Vec<&[f32]> = moments.iter().map(|(_, pulled)| &pulled.x[..]).collect();
        let found = self.trade.factors.weights_of(&displaced, self.directions);
        let of_moment = |at: usize| -> Vec<f32> { (0..self.directions).map(|row| found[(row, at)]).collect() };
        let weights: Vec<Vec<f32>> = (0..moments.len()).map(|at| unit_weights(&of_moment(at), &self.spans)).collect();
        let matrix = Mat::from_fn(self.count, moments.len(), |row, column| weights[column][row]);
        let played = self.played.times(matrix.as_ref());
        let left = |(at, (_, pulled)): (usize, &(f64, &Pulled))| {
            let mut error = pulled.x.clone();
            subtract(&mut error, 1.0, played.column(at));
            pulled.world_error(&error).largest
        };
        let errors: Vec<f32> = moments.par_iter().enumerate().map(left).collect();
        let offset = |((time, _), weights): (&(f64, &Pulled), &Vec<f32>)| -> Vec<f32> {
            self.curves[clip].at(*time).iter().zip(weights).map(|(a, b)| a - b).collect()
        };
        let offsets: Vec<Vec<f32>> = moments.iter().zip(&weights).map(offset).collect();
        let moved = self.moved().errors(&offsets);
        let is_off = |(error, moved): (&f32, &f32)| f64::from(error + moved) > tolerance;
        let is_off: Vec<bool> = errors.iter().zip(&moved).map(is_off).collect();
        for ((&(time, _), weights), _) in moments.iter().zip(weights).zip(&is_off).filter(|(_, is_off)| **is_off) {
            self.curves[clip].insert(time, weights);
        }
        is_off
    }

    /// How a loop's curve meets itself.
    pub(super) fn seam(&self, clip: usize) -> Seam {
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
        let lengths = self.moved().errors(&[gap, jump]);
        Seam { position: f64::from(lengths[0]), velocity: f64::from(lengths[1]) }
    }
}

impl Run<'_> {
    /// Where a midpoint had to become a key, the motion is faster than the samples: half-way to its neighbours it is
    /// looked at again, and so on. Returns the frames of a clip looked at.
    pub(super) fn refine(&self, index: usize, solutions: &mut [Solution]) -> Result<Vec<Refined>, BakeFailure> {
        let mut looked_at = Vec::new();
        let mut open = stretches_between_samples(&self.grids[index], index, solutions);
        for _ in 0..HALVINGS {
            open.retain(|stretch| stretch.from < stretch.middle() && stretch.middle() < stretch.to);
            let times: Vec<f64> = open.iter().map(Stretch::middle).collect();
            if times.is_empty() {
                break;
            }
            self.meter.total.fetch_add(times.len(), Ordering::Relaxed);
            let frames = self.evaluate(index, &times, |_| Wanted::Positions, "placing keys")?;
            let mut is_off = vec![Vec::new(); open.len()];
            for (group, solution) in solutions.iter_mut().enumerate() {
                let places: Vec<usize> = (0..open.len()).filter(|&at| open[at].groups.contains(&group)).collect();
                let tolerance = self.options.tolerance.units(self.groups[group].group.size);
                for places in places.chunks(self.block()) {
                    let moments: Vec<_> = places.iter().map(|&at| (times[at], &frames[at].groups[group])).collect();
                    let found = solution.put_keys_unless_within(tolerance, index, &moments);
                    let off = places.iter().zip(found).filter(|(_, is_off)| *is_off);
                    off.for_each(|(&at, _)| is_off[at].push(group));
                }
            }
            let mut next = Vec::new();
            for (Stretch { from, to, .. }, (&middle, groups)) in open.iter().zip(times.iter().zip(is_off)) {
                if !groups.is_empty() {
                    next.push(Stretch { from: *from, to: middle, groups: groups.clone() });
                    next.push(Stretch { from: middle, to: *to, groups });
                }
            }
            open = next;
            looked_at.extend(times.into_iter().zip(frames));
        }
        Ok(looked_at)
    }
}

/// A moment between samples and midpoints, and its frame.
pub(super) type Refined = (f64, Arc<Frame>);

/// Time between two keys of some groups.
struct Stretch {
    from: f64,
    to: f64,
    /// Groups that have a key at both ends: to others a key in between would change what stands elsewhere.
    groups: Vec<usize>,
}

impl Stretch {
    /// Half-way, as the file can hold it.
    fn middle(&self) -> f64 {
        f64::from((0.5 * (self.from + self.to)) as f32)
    }
}

/// The stretches of a clip's grid on either side of midpoints that are keys.
fn stretches_between_samples(grid: &Grid, clip: usize, solutions: &[Solution]) -> Vec<Stretch> {
    let has_key = |solution: &Solution, time: f64| {
        solution.count > 0 && solution.curves[clip].times.binary_search_by(|key| key.total_cmp(&time)).is_ok()
    };
    let stretch = |pair: &[f64]| {
        let is_open = |group: &usize| solutions[*group].stale_keys[clip];
        let both = |group: &usize| is_open(group) && pair.iter().all(|&time| has_key(&solutions[*group], time));
        Stretch { from: pair[0], to: pair[1], groups: (0..solutions.len()).filter(both).collect() }
    };
    // Of two neighbours in the grid one is a midpoint.
    grid.times.windows(2).map(stretch).filter(|stretch| !stretch.groups.is_empty()).collect()
}

/// Weights of directions as those of targets: in 0…1, and the last fully on. Where nothing moves all of them are 0: the
/// base to the bit, and on the way to the next key the displacement grows in a straight line all the same.
fn unit_weights(weights: &[f32], spans: &[(f32, f32)]) -> Vec<f32> {
    let moves = weights.iter().take(spans.len()).any(|weight| *weight != 0.0);
    // A target that no frame uses stays at 0.
    let unit = |(&weight, &(low, range)): (&f32, &(f32, f32))| {
        if moves && range > 0.0 { ((weight - low) / range).clamp(0.0, 1.0) } else { 0.0 }
    };
    let all_on = (!spans.is_empty()).then_some(if moves { 1.0 } else { 0.0 });
    weights.iter().zip(spans).map(unit).chain(all_on).collect()
}
