//! One curve out of two: the weights a file's own morph targets have, and those of targets added behind them.
//!
//! A channel has one sampler for all targets of a node, so both must share keys and interpolation. The file's own curve
//! f keeps every key and value; ours g is linear. With keys at the union of both key times:
//!
//! - f LINEAR: the union, both straight between its times.
//! - f STEP: a jump at key time t becomes a ramp from the last f32 before t to t, which no time stored as f32 can fall
//!   into. Everything is LINEAR.
//! - f CUBICSPLINE: cubic Hermite segments are cut at the new times, value and slope taken from the polynomial, which
//!   leaves the polynomial as it is; g has its own slope on both sides of each segment, which makes the cubic straight.
//!   Everything is CUBICSPLINE.
//!
//! Outside their keys both hold: there slopes are zero. Oracle: f and g evaluated one by one (tests below, and
//! `tests/layer.rs` through the specification's evaluator).

use crate::layer::NodeWeights;
use sinew::Interpolation;
use sinew::clip::{KeySpan, MorphCurve, key_span};

/// The weights of a file's own targets.
pub(crate) enum Own {
    /// Not animated in this clip.
    Constant(Vec<f32>),
    Animated(MorphCurve),
}

/// Both curves as one sampler stores them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merged {
    pub interpolation: Interpolation,
    pub times: Vec<f32>,
    pub values: Vec<f32>,
}

/// Merges the weights of a node's own targets with those of `count` added ones; `None`: these stay 0.
pub(crate) fn merge(own: &Own, added: Option<&NodeWeights>, count: usize) -> Merged {
    match (own, added) {
        (Own::Constant(own), added) => {
            let zeros = vec![0.0; count];
            let (times, weights) = added.map_or((vec![0.0], &zeros), |added| (added.times.clone(), &added.weights));
            let values = weights.chunks(count.max(1)).flat_map(|added| own.iter().chain(added)).copied().collect();
            Merged { interpolation: Interpolation::Linear, times, values }
        }
        (Own::Animated(own), None) => {
            let zeros = vec![0.0; count];
            let parts = own.values().chunks(own.targets().max(1));
            Merged {
                interpolation: own.interpolation(),
                times: own.times().iter().map(|&time| time as f32).collect(),
                values: parts.flat_map(|part| part.iter().chain(&zeros)).copied().collect(),
            }
        }
        (Own::Animated(own), Some(added)) => union(own, &Line::new(added, count)),
    }
}

fn union(own: &MorphCurve, added: &Line<'_>) -> Merged {
    let own_times = own.times().iter().map(|&time| time as f32);
    let mut times: Vec<f32> = own_times.clone().chain(added.keys.iter().map(|&time| time as f32)).collect();
    if own.interpolation() == Interpolation::Step {
        times.extend(own_times.skip(1).map(f32::next_down));
    }
    times.sort_unstable_by(f32::total_cmp);
    // As numbers, so that −0 and 0 are one key.
    times.dedup();
    let interpolation = match own.interpolation() {
        Interpolation::CubicSpline => Interpolation::CubicSpline,
        _ => Interpolation::Linear,
    };
    let mut values = Vec::new();
    let mut weights = vec![0.0; own.targets()];
    for &time in &times {
        let time = f64::from(time);
        own.sample(time, &mut weights);
        if interpolation == Interpolation::CubicSpline {
            let [before, after] = own_slopes(own, time);
            let [added_before, added_after] = added.slopes(time);
            values.extend(before.into_iter().chain(added_before).map(finite));
            values.extend(weights.iter().copied().chain(added.at(time)));
            values.extend(after.into_iter().chain(added_after).map(finite));
        } else {
            values.extend(weights.iter().copied().chain(added.at(time)));
        }
    }
    Merged { interpolation, times, values }
}

/// A slope between keys a hair apart may pass the range of f32.
fn finite(slope: f64) -> f32 {
    slope.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

/// Slopes of a cubic curve just before and just after `time`.
fn own_slopes(own: &MorphCurve, time: f64) -> [Vec<f64>; 2] {
    let (n, times, values) = (own.targets(), own.times(), own.values());
    let last = times.len() - 1;
    // Part 0: in-tangents, 1: values, 2: out-tangents.
    let part = |key: usize, part: usize| values[(3 * key + part) * n..][..n].iter().map(|&v| f64::from(v));
    let still = || vec![0.0; n];
    match key_span(times, time) {
        KeySpan::At(key) if times[key] == time => [
            if key == 0 { still() } else { part(key, 0).collect() },
            if key == last { still() } else { part(key, 2).collect() },
        ],
        KeySpan::At(_) => [still(), still()],
        KeySpan::Between { key, s } => {
            let dt = times[key + 1] - times[key];
            let ends = part(key, 1).zip(part(key, 2)).zip(part(key + 1, 1).zip(part(key + 1, 0)));
            let slope = |((v0, b0), (v1, a1)): ((f64, f64), (f64, f64))| {
                6.0 * s * (1.0 - s) * (v1 - v0) / dt + (3.0 * s * s - 4.0 * s + 1.0) * b0 + (3.0 * s * s - 2.0 * s) * a1
            };
            let slopes: Vec<f64> = ends.map(slope).collect();
            [slopes.clone(), slopes]
        }
    }
}

/// The added curve: straight between its keys.
struct Line<'a> {
    keys: Vec<f64>,
    weights: &'a [f32],
    count: usize,
}

impl<'a> Line<'a> {
    fn new(added: &'a NodeWeights, count: usize) -> Self {
        Self { keys: added.times.iter().map(|&time| f64::from(time)).collect(), weights: &added.weights, count }
    }

    fn key(&self, key: usize) -> impl Iterator<Item = f64> {
        self.weights[key * self.count..][..self.count].iter().map(|&weight| f64::from(weight))
    }

    fn at(&self, time: f64) -> Vec<f32> {
        match key_span(&self.keys, time) {
            KeySpan::At(key) => self.weights[key * self.count..][..self.count].to_vec(),
            KeySpan::Between { key, s } => {
                self.key(key).zip(self.key(key + 1)).map(|(a, b)| (a * (1.0 - s) + b * s) as f32).collect()
            }
        }
    }

    /// Slopes just before and just after `time`.
    fn slopes(&self, time: f64) -> [Vec<f64>; 2] {
        // The segment from `key` to the next; the curve holds outside its keys.
        let segment = |key: Option<usize>| match key.filter(|key| key + 1 < self.keys.len()) {
            Some(key) => {
                let dt = self.keys[key + 1] - self.keys[key];
                self.key(key).zip(self.key(key + 1)).map(|(a, b)| (b - a) / dt).collect()
            }
            None => vec![0.0; self.count],
        };
        match key_span(&self.keys, time) {
            KeySpan::At(key) if self.keys[key] == time => [segment(key.checked_sub(1)), segment(Some(key))],
            KeySpan::At(_) => [segment(None), segment(None)],
            KeySpan::Between { key, .. } => [segment(Some(key)), segment(Some(key))],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added() -> NodeWeights {
        NodeWeights {
            node: 0,
            times: vec![0.25, 0.5, 1.75, 4.0],
            weights: vec![0.0, 1.0, -2.0, 0.5, 3.0, 0.25, 1.0, 0.0],
        }
    }

    fn own(interpolation: Interpolation) -> MorphCurve {
        let values = if interpolation == Interpolation::CubicSpline {
            vec![9.0, 0.5, 2.0, -1.0, 3.0, 0.25, 0.5, -1.0, 7.0]
        } else {
            vec![0.5, 3.0, -1.0]
        };
        MorphCurve::new(interpolation, vec![1.0, 1.5, 3.0], 1, values).expect("sound")
    }

    #[test]
    fn both_curves_are_as_they_were() {
        for interpolation in [Interpolation::Linear, Interpolation::Step, Interpolation::CubicSpline] {
            let (own, added) = (own(interpolation), added());
            let line = MorphCurve::new(
                Interpolation::Linear,
                added.times.iter().map(|&t| f64::from(t)).collect(),
                2,
                added.weights.clone(),
            )
            .expect("sound");
            let merged = merge(&Own::Animated(own.clone()), Some(&added), 2);
            let times = merged.times.iter().map(|&t| f64::from(t)).collect();
            let merged = MorphCurve::new(merged.interpolation, times, 3, merged.values).expect("sound");
            for step in 0..=5000 {
                let time = f64::from(step as f32 / 1000.0);
                let (mut all, mut first, mut rest) = ([0.0; 3], [0.0; 1], [0.0; 2]);
                merged.sample(time, &mut all);
                own.sample(time, &mut first);
                line.sample(time, &mut rest);
                for (found, expected) in all.iter().zip(first.iter().chain(&rest)) {
                    assert!((found - expected).abs() < 2e-6, "{interpolation:?} at {time}: {all:?} {first:?} {rest:?}");
                }
            }
        }
    }

    #[test]
    fn keys_and_values_of_the_file_are_kept_to_the_bit() {
        for interpolation in [Interpolation::Linear, Interpolation::Step, Interpolation::CubicSpline] {
            let own = own(interpolation);
            let merged = merge(&Own::Animated(own.clone()), Some(&added()), 2);
            let cubic = interpolation == Interpolation::CubicSpline;
            let (stride, at) = if cubic { (9, 3) } else { (3, 0) };
            for (key, time) in own.times().iter().enumerate() {
                let place = merged.times.iter().position(|&t| f64::from(t) == *time).expect("kept");
                let value = own.values()[if cubic { 3 * key + 1 } else { key }];
                assert_eq!(merged.values[place * stride + at], value);
            }
        }
    }

    #[test]
    fn a_curve_without_additions_keeps_its_keys() {
        let own = own(Interpolation::Step);
        let merged = merge(&Own::Animated(own), None, 2);
        let values = vec![0.5, 0.0, 0.0, 3.0, 0.0, 0.0, -1.0, 0.0, 0.0];
        assert_eq!(merged, Merged { interpolation: Interpolation::Step, times: vec![1.0, 1.5, 3.0], values });
    }
}
