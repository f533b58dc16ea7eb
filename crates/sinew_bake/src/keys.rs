//! Which moments become keys: a subset of the grid such that straight lines between them stay within what is allowed, in
//! vertex positions and not in weights.
//!
//! Top-down as by Douglas and Peucker (1973): from first and last on, every stretch that leaves its allowance gets a key
//! at its worst sample, until none does. A midpoint becomes a key only between two neighbouring samples.
//!
//! The error of weights off by δ is bounded by the largest `γ_v |M_v δ|`, γ_v the largest stretch of the point over all
//! frames: what was allowed is met, and a little less is used.

use crate::matrix::Tall;
use faer::Mat;
use rayon::prelude::*;

/// Moments evaluated at a time by one thread.
const MOMENTS: usize = 16;

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

/// The largest `γ |M δ|` for each δ.
pub(crate) fn vertex_errors<W: AsRef<[f32]> + Sync>(targets: &Tall, stretch: &[f32], offsets: &[W]) -> Vec<f32> {
    let rows = targets.rows();
    let points = rows / 3;
    let piece = |offsets: &[W]| -> Vec<f32> {
        let deltas = Mat::from_fn(targets.columns(), offsets.len(), |row, column| offsets[column].as_ref()[row]);
        let mut moved = vec![0.0; rows * offsets.len()];
        targets.add_product(1.0, deltas.as_ref(), &mut moved);
        let largest = |moved: &[f32]| {
            let mut largest = 0.0f32;
            for point in 0..points {
                let (x, y, z) = (moved[point], moved[points + point], moved[2 * points + point]);
                let square = stretch[point] * stretch[point] * (x * x + y * y + z * z);
                largest = if square > largest { square } else { largest };
            }
            largest.sqrt()
        };
        moved.chunks_exact(rows).map(largest).collect()
    };
    offsets.par_chunks(MOMENTS).flat_map_iter(piece).collect()
}

/// Places of the grid that become keys, ascending. `weights` and `allowed` are per place.
pub(crate) fn choose(
    targets: &Tall,
    stretch: &[f32],
    times: &[f64],
    weights: &[Vec<f32>],
    allowed: &[f32],
) -> Vec<usize> {
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
        let errors = vertex_errors(targets, stretch, &offsets);
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
        let keys = choose(&one(), &[1.0], &times, &weights, &vec![allowed; count]);
        let curve = WeightCurve {
            times: keys.iter().map(|&k| times[k]).collect(),
            weights: keys.iter().map(|&k| weights[k].clone()).collect(),
        };
        let worst = times.iter().map(|&t| (f64::from(curve.at(t)[0]) - f(t)).abs()).fold(0.0, f64::max);
        (keys, worst)
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
        assert_eq!(choose(&one(), &[1.0], &[0.5], &[vec![2.0]], &[1e-3]), [0]);
    }
}
