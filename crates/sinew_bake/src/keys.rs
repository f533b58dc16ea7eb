//! Which moments become keys, and the weights there: straight lines between them stay within what is allowed, in vertex
//! positions and not in weights.
//!
//! Top-down as by Douglas and Peucker (1973): from first and last on, every stretch that leaves its allowance gets a key
//! at its worst sample, until none does. A midpoint becomes a key only between two neighbouring samples.
//!
//! Lines through the curve itself run on one side of it. Where there are many keys beside few points, fewer are placed
//! for a wider allowance, all weights but the first and last are fitted to the whole curve by least squares (the hat
//! functions of neighbouring keys overlap: a tridiagonal system), and keys are added where that leaves the allowance.
//!
//! The error of weights off by δ is bounded by the largest `γ_v |M_v δ|`, γ_v the largest stretch of the point over all
//! frames: what was allowed is met, and a little less is used.
//!
//! Oracle: parabolas, whose best lines are known; what is allowed is met at every moment.

use crate::matrix::Tall;
use crate::reach::reach;
use faer::Mat;
use rayon::prelude::*;

/// Weights over a clip: straight between keys.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightCurve {
    /// Key times in seconds, ascending.
    pub times: Vec<f64>,
    /// Weights, key by key.
    pub weights: Vec<Vec<f32>>,
}

impl WeightCurve {
    /// Puts a key between the others.
    pub(crate) fn insert(&mut self, time: f64, weights: Vec<f32>) {
        let at = self.times.partition_point(|&key| key < time);
        self.times.insert(at, time);
        self.weights.insert(at, weights);
    }

    /// The weights at `time`, as a player computes them.
    pub fn at(&self, time: f64) -> Vec<f32> {
        let after = self.times.partition_point(|&key| key <= time);
        match (after.checked_sub(1), self.times.get(after)) {
            (None, _) => self.weights.first().cloned().unwrap_or_default(),
            (Some(before), None) => self.weights[before].clone(),
            (Some(before), Some(next)) => {
                let s = (time - self.times[before]) / (next - self.times[before]);
                between(&self.weights[before], &self.weights[after], s as f32)
            }
        }
    }
}

fn between(a: &[f32], b: &[f32], s: f32) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a * (1.0 - s) + b * s).collect()
}

/// What weights do to points, at the most: targets in world lengths, and the largest stretch of each point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved<'a> {
    pub targets: &'a Tall,
    pub stretch: &'a [f32],
}

impl Moved<'_> {
    /// The largest `γ |M δ|` for each δ.
    pub fn errors<W: AsRef<[f32]>>(&self, offsets: &[W]) -> Vec<f32> {
        let deltas = Mat::from_fn(self.targets.columns(), offsets.len(), |row, column| offsets[column].as_ref()[row]);
        reach(self.targets, deltas.as_ref(), Some(self.stretch)).columns
    }
}

/// Keys for a curve beside which fitted ones are tried, as a share of the points they move: below it targets take far
/// more room.
const KEYS_WORTH_FITTING: f64 = 0.05;
/// What keys are placed for before they are fitted, beside what is allowed: lines through the ends of a parabola are off
/// by h²/4, those of least squares by h²/6.
const WIDER: f32 = 1.5;
/// Rounds of fitting and adding keys before the attempt is given up.
const ROUNDS: usize = 12;

/// The curve through as few keys as will do. `weights` and `allowed` are per moment.
pub(crate) fn curve(moved: &Moved<'_>, times: &[f64], weights: &[Vec<f32>], allowed: &[f32]) -> WeightCurve {
    let own = choose(moved, times, weights, allowed);
    let at = |keys: &[usize]| keys.iter().map(|&key| times[key]).collect();
    let is_worth_it = own.len() > 2 && own.len() as f64 > KEYS_WORTH_FITTING * moved.stretch.len() as f64;
    if is_worth_it && let Some((keys, weights)) = fitted(moved, times, weights, allowed, own.len()) {
        return WeightCurve { times: at(&keys), weights };
    }
    WeightCurve { times: at(&own), weights: own.iter().map(|&key| weights[key].clone()).collect() }
}

/// Fewer than `most` keys with weights that fit the whole curve; `None` where that is not found.
fn fitted(
    moved: &Moved<'_>,
    times: &[f64],
    weights: &[Vec<f32>],
    allowed: &[f32],
    most: usize,
) -> Option<(Vec<usize>, Vec<Vec<f32>>)> {
    let wider: Vec<f32> = allowed.iter().map(|allowed| WIDER * allowed).collect();
    let mut keys = choose(moved, times, weights, &wider);
    for _ in 0..ROUNDS {
        if keys.len() >= most {
            return None;
        }
        let found = fit(times, weights, &keys)?;
        let curve = WeightCurve { times: keys.iter().map(|&key| times[key]).collect(), weights: found };
        let offset = |(time, weights): (&f64, &Vec<f32>)| -> Vec<f32> {
            curve.at(*time).iter().zip(weights).map(|(a, b)| a - b).collect()
        };
        let offsets: Vec<Vec<f32>> = times.par_iter().zip(weights).map(offset).collect();
        let errors = moved.errors(&offsets);
        let excess = |place: usize| errors[place] / allowed[place].max(f32::MIN_POSITIVE);
        let mut added = Vec::new();
        for pair in keys.windows(2) {
            let worst = (pair[0]..=pair[1]).max_by(|&a, &b| excess(a).total_cmp(&excess(b)).then(b.cmp(&a)))?;
            if excess(worst) > 1.0 {
                // Where the key itself is off, another near it takes the load.
                let inside = worst.clamp(pair[0] + 1, (pair[1] - 1).max(pair[0] + 1));
                let middle = if inside == worst { worst } else { pair[0].midpoint(pair[1]) };
                if pair[1] - pair[0] > 1 {
                    added.push(nearest_sample(middle, pair[0], pair[1]));
                }
            }
        }
        if (0..times.len()).all(|place| excess(place) <= 1.0) {
            return Some((keys, curve.weights));
        }
        if added.is_empty() {
            return None;
        }
        keys.extend(added);
        keys.sort_unstable();
        keys.dedup();
    }
    None
}

/// Weights at `keys` whose lines fit those of all moments; first and last are what they are.
fn fit(times: &[f64], weights: &[Vec<f32>], keys: &[usize]) -> Option<Vec<Vec<f32>>> {
    let (count, targets) = (keys.len(), weights.first()?.len());
    // Diagonal, what couples a key to the next, and the right-hand side.
    let (mut diagonal, mut coupling) = (vec![0.0f64; count], vec![0.0f64; count]);
    let mut right = vec![vec![0.0f64; targets]; count];
    for (key, pair) in keys.windows(2).enumerate() {
        let last = key + 2 == count;
        for place in pair[0]..(if last { pair[1] + 1 } else { pair[1] }) {
            let s = (times[place] - times[pair[0]]) / (times[pair[1]] - times[pair[0]]);
            diagonal[key] += (1.0 - s) * (1.0 - s);
            diagonal[key + 1] += s * s;
            coupling[key] += s * (1.0 - s);
            for (target, &weight) in weights[place].iter().enumerate() {
                right[key][target] += (1.0 - s) * f64::from(weight);
                right[key + 1][target] += s * f64::from(weight);
            }
        }
    }
    for (end, neighbour) in [(0, 1), (count - 1, count - 2)] {
        let known: Vec<f64> = weights[keys[end]].iter().map(|&weight| f64::from(weight)).collect();
        let link = std::mem::take(&mut coupling[end.min(neighbour)]);
        if count > 2 {
            right[neighbour].iter_mut().zip(&known).for_each(|(sum, known)| *sum -= link * known);
        }
        (diagonal[end], right[end]) = (1.0, known);
    }
    // Thomas' algorithm; hat functions over at least their own keys are well conditioned.
    for key in 1..count {
        let factor = coupling[key - 1] / diagonal[key - 1];
        diagonal[key] -= factor * coupling[key - 1];
        let (before, here) = right.split_at_mut(key);
        here[0].iter_mut().zip(&before[key - 1]).for_each(|(sum, above)| *sum -= factor * above);
    }
    for key in (0..count).rev() {
        let (here, after) = right.split_at_mut(key + 1);
        for (target, sum) in here[key].iter_mut().enumerate() {
            let next = after.first().map_or(0.0, |next| next[target]);
            *sum = (*sum - coupling[key] * next) / diagonal[key];
        }
    }
    let unit = |weights: Vec<f64>| weights.into_iter().map(|weight| (weight as f32).clamp(0.0, 1.0)).collect();
    Some(right.into_iter().map(unit).collect())
}

/// Places of the grid that become keys, ascending. `weights` and `allowed` are per place.
fn choose(moved: &Moved<'_>, times: &[f64], weights: &[Vec<f32>], allowed: &[f32]) -> Vec<usize> {
    let last = times.len().saturating_sub(1);
    let mut keys = if last == 0 { vec![0] } else { vec![0, last] };
    // Stretches that have not been found good yet.
    let mut open: Vec<(usize, usize)> = if last > 0 { vec![(0, last)] } else { Vec::new() };
    while !open.is_empty() {
        let offset = |(from, to): (usize, usize), place: usize| {
            let s = (times[place] - times[from]) / (times[to] - times[from]);
            let straight = between(&weights[from], &weights[to], s as f32);
            straight.iter().zip(&weights[place]).map(|(a, b)| a - b).collect::<Vec<f32>>()
        };
        let inside = |&(from, to): &(usize, usize)| (from + 1..to).map(move |place| ((from, to), place));
        let places: Vec<_> = open.iter().flat_map(inside).collect();
        let offsets: Vec<Vec<f32>> = places.par_iter().map(|&(stretch, place)| offset(stretch, place)).collect();
        let errors = moved.errors(&offsets);
        let mut next = Vec::new();
        let mut at = 0;
        for &(from, to) in &open {
            let count = to - from - 1;
            let excess: Vec<f32> =
                (0..count).map(|i| errors[at + i] / allowed[from + 1 + i].max(f32::MIN_POSITIVE)).collect();
            at += count;
            let worst = (0..count).fold(None, |worst: Option<usize>, i| match worst {
                Some(w) if excess[w] >= excess[i] => worst,
                _ => Some(i),
            });
            let Some(worst) = worst.filter(|&i| excess[i] > 1.0) else { continue };
            let key = nearest_sample(from + 1 + worst, from, to);
            keys.push(key);
            next.extend([(from, key), (key, to)].into_iter().filter(|(from, to)| to - from > 1));
        }
        open = next;
    }
    keys.sort_unstable();
    keys
}

/// A sample strictly between `from` and `to` next to `place`, or `place` itself where there is none.
fn nearest_sample(place: usize, from: usize, to: usize) -> usize {
    if place.is_multiple_of(2) {
        place
    } else if place + 1 < to {
        place + 1
    } else if place > from + 1 {
        place - 1
    } else {
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One point, one target along x of length 1: weights are positions.
    fn one() -> Tall {
        Tall::from_columns(3, vec![1.0, 0.0, 0.0])
    }

    fn run(f: impl Fn(f64) -> f64, count: usize, allowed: f32) -> (Vec<usize>, f64) {
        let times: Vec<f64> = (0..count).map(|i| i as f64 / (count - 1) as f64).collect();
        let weights: Vec<Vec<f32>> = times.iter().map(|&t| vec![f(t) as f32]).collect();
        let (targets, allowed) = (one(), vec![allowed; count]);
        let moved = Moved { targets: &targets, stretch: &[1.0] };
        let keys = choose(&moved, &times, &weights, &allowed);
        let worst =
            |curve: &WeightCurve| times.iter().map(|&t| (f64::from(curve.at(t)[0]) - f(t)).abs()).fold(0.0, f64::max);
        let plain = WeightCurve {
            times: keys.iter().map(|&k| times[k]).collect(),
            weights: keys.iter().map(|&k| weights[k].clone()).collect(),
        };
        (keys, worst(&plain))
    }

    #[test]
    fn fitted_keys_are_fewer_and_meet_the_ends() {
        let times: Vec<f64> = (0..401).map(|i| f64::from(i) / 400.0).collect();
        let weights: Vec<Vec<f32>> = times.iter().map(|&t| vec![(t * t) as f32]).collect();
        let (targets, allowed) = (one(), vec![0.003f32; 401]);
        let moved = Moved { targets: &targets, stretch: &[1.0] };
        let curve = curve(&moved, &times, &weights, &allowed);
        let worst = times.iter().map(|&t| (f64::from(curve.at(t)[0]) - t * t).abs()).fold(0.0, f64::max);
        assert!(worst <= 0.003 + 1e-6, "{worst}");
        assert!(curve.times.len() < choose(&moved, &times, &weights, &allowed).len(), "{}", curve.times.len());
        assert_eq!((curve.weights[0][0], curve.weights.last().unwrap()[0]), (0.0, 1.0));
    }

    /// A second formulation: lines through random keys are found again.
    #[test]
    fn the_fit_of_a_broken_line_is_that_line() {
        let keys = [0usize, 3, 4, 9, 12];
        let times: Vec<f64> = (0..13).map(|i| f64::from(i) * 0.1 + if i > 5 { 0.03 } else { 0.0 }).collect();
        let given: Vec<Vec<f32>> = [0.2f32, 0.9, 0.1, 0.5, 0.4].iter().map(|&w| vec![w, 1.0 - w]).collect();
        let line = WeightCurve { times: keys.iter().map(|&key| times[key]).collect(), weights: given.clone() };
        let weights: Vec<Vec<f32>> = times.iter().map(|&time| line.at(time)).collect();
        for (found, given) in fit(&times, &weights, &keys).unwrap().iter().flatten().zip(given.iter().flatten()) {
            assert!((found - given).abs() < 1e-5, "{found} {given}");
        }
    }

    #[test]
    fn straight_motion_needs_its_ends_alone() {
        assert_eq!(run(|t| 3.0 * t - 1.0, 101, 1e-5).0, [0, 100]);
        assert_eq!(run(|t| t, 1 + 2, 1e-5).0, [0, 2]);
    }

    #[test]
    fn curves_stay_within_what_is_allowed() {
        // A parabola over n stretches is off by 1/(4 n²): ten keys' worth for 0.0025 at least.
        let (keys, worst) = run(|t| t * t, 401, 0.0025);
        assert!(worst <= 0.0025 + 1e-6 && (11..=18).contains(&keys.len()), "{worst} {keys:?}");
        let (keys, worst) = run(|t| (6.0 * t).sin(), 401, 1e-3);
        assert!(worst <= 1e-3 + 1e-6 && keys.len() < 80, "{worst} {}", keys.len());
    }

    #[test]
    fn midpoints_serve_only_where_samples_do_not() {
        // A peak on a midpoint: the neighbouring samples, then the midpoint itself.
        let (keys, worst) = run(|t| if (t - 0.15).abs() < 0.01 { 1.0 } else { 0.0 }, 21, 1e-3);
        assert!(worst <= 1e-3 && keys.contains(&3), "{keys:?}");
        let (keys, _) = run(|t| (6.0 * t).sin(), 401, 1e-2);
        assert!(keys.iter().all(|key| key % 2 == 0));
    }

    #[test]
    fn a_pose_has_one_key() {
        let moved = Moved { targets: &one(), stretch: &[1.0] };
        assert_eq!(choose(&moved, &[0.5], &[vec![2.0]], &[1e-3]), [0]);
    }
}
