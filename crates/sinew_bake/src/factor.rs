//! Few targets for many frames: the truncated singular value decomposition, turned from the mean error towards the
//! largest.
//!
//! Frames x = Q c are known by their coefficients ([`crate::range`]). With weights D² per point and γ² per frame, the
//! best K targets in the weighted mean square are the leading left singular vectors of `D Q C γ`: with `Qᵀ D² Q = L Lᵀ`
//! and B the leading eigenvectors of `Lᵀ C γ² Cᵀ L`, the targets are `M = Q L⁻ᵀ B`. They are orthonormal under D², so a
//! frame's weights are `Mᵀ D² Q Qᵀ x` and do not depend on how many targets follow. What it has outside the range is taken
//! off first: `Mᵀ D² x` would see it through D, in which it is not orthogonal to the range, and points that count little
//! would pay for it.
//!
//! What counts is the largest error, and least squares spend their targets on the mean. Lawson's algorithm (1961: the
//! best uniform approximation is a weighted least-squares one; multiply the weights by the errors, again and again)
//! moves the weight to the points and frames that are worst. (A run and three clips of a fox: 21 targets for 25, and 35
//! for 41.)
//!
//! Oracle: without weights, the singular values of a matrix of known spectrum; the truncation error of Eckart and Young;
//! reweighting never gives more targets than plain least squares.

use crate::matrix::{Tall, gram};
use crate::range::Range;
use crate::reach::{Reach, reach};
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{Mat, MatRef, Par, Scale, Side};

/// The eigenvalue solver did not converge, or was given numbers that are not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the displacements could not be factored: they contain numbers that are too large or not finite")]
pub struct FactorError;

/// Eigenvalues, largest first, and eigenvectors of a symmetric matrix.
pub(crate) fn principal_axes(symmetric: MatRef<'_, f64>) -> Result<(Vec<f64>, Mat<f64>), FactorError> {
    let size = symmetric.nrows();
    if (0..size).any(|i| !symmetric[(i, i)].is_finite()) {
        return Err(FactorError);
    }
    let eigen = symmetric.self_adjoint_eigen(Side::Lower).map_err(|_| FactorError)?;
    let (values, vectors) = (eigen.S(), eigen.U());
    let values = (0..size).rev().map(|i| values[i]).collect();
    Ok((values, Mat::from_fn(size, size, |row, column| vectors[(row, size - 1 - column)])))
}

/// Targets in the order of their importance, and what frames are projected on them by.
#[derive(Clone, Debug)]
pub struct Factors {
    /// One column per target: x of all points, y, z.
    pub targets: Tall,
    /// `Q (Qᵀ D² Q) L⁻ᵀ B = Q L B`, one column per target.
    duals: Tall,
}

impl Factors {
    /// Keeps the first targets.
    pub fn truncate(&mut self, count: usize) {
        self.targets.truncate(count);
        self.duals.truncate(count);
    }

    /// Weights of many frames for the first `count` targets, one column each.
    pub fn weights_of(&self, frames: &[&[f32]], count: usize) -> Mat<f32> {
        self.duals.first_transpose_times(count, &frames.concat())
    }
}

/// The points that weights are found by. The others count least and are looked at when a number of targets would do by these;
/// those that are off join them.
struct Watch {
    points: Vec<u32>,
    /// Their rows of the range's basis.
    basis: Tall,
}

/// Points watched at first, spread evenly: neighbours on a fine mesh say the same.
const WATCHED: usize = 4096;

impl Watch {
    fn new(range: &Range) -> Self {
        let points = (range.basis().rows() / 3) as u32;
        Self::of(range, (0..points).step_by((points as usize).div_ceil(WATCHED).max(1)).collect())
    }

    fn of(range: &Range, points: Vec<u32>) -> Self {
        let is_all = 3 * points.len() == range.basis().rows();
        let basis = if is_all { range.basis().clone() } else { range.basis().of_points(&points) };
        Self { points, basis }
    }

    /// With those that are off by more than `tolerance` as well.
    fn joined(&self, range: &Range, off: &[f32], tolerance: f32) -> Self {
        let mut points = self.points.clone();
        points.extend((0u32..).zip(off).filter(|(_, off)| **off > tolerance).map(|(point, _)| point));
        points.sort_unstable();
        points.dedup();
        Self::of(range, points)
    }
}

/// A choice of weights and what follows from it, in the coordinates of the range.
struct Weighted {
    /// D² per point.
    points: Vec<f32>,
    /// γ² per frame.
    frames: Vec<f64>,
    /// L.
    lower: Mat<f64>,
    /// `L⁻ᵀ B`: targets in the range's basis.
    axes: Mat<f64>,
    /// Weights of all kept frames for all targets.
    weights: Mat<f64>,
}

impl Weighted {
    /// Points that are not watched have the least weight of all.
    fn solve(watch: &Watch, coefficients: &Mat<f64>, points: Vec<f32>, frames: Vec<f64>) -> Result<Self, FactorError> {
        let least = points.iter().copied().fold(f32::INFINITY, f32::min);
        let beyond: Vec<f32> = watch.points.iter().map(|&point| points[point as usize] - least).collect();
        // The basis is orthonormal: what all points have in common costs nothing.
        let mut metric = Mat::<f64>::identity(watch.basis.columns(), watch.basis.columns()) * Scale(f64::from(least));
        if beyond.iter().any(|weight| *weight > 0.0) {
            metric += watch.basis.weighted_gram(&beyond);
        }
        let lower = metric.llt(Side::Lower).map_err(|_| FactorError)?.L().to_owned();
        let scaled = Mat::from_fn(coefficients.nrows(), coefficients.ncols(), |row, column| {
            coefficients[(row, column)] * frames[column].sqrt()
        });
        let seen = lower.transpose() * &scaled;
        let (_, mut axes) = principal_axes(gram(seen.as_ref()).as_ref())?;
        let weights = axes.transpose() * (lower.transpose() * coefficients);
        solve_upper_triangular_in_place(lower.transpose(), axes.as_mut(), Par::Seq);
        Ok(Self { points, frames, lower, axes, weights })
    }

    /// Largest error per point of a basis and per frame with the first `count` targets.
    fn errors(&self, basis: &Tall, coefficients: &Mat<f64>, count: usize) -> Reach {
        let (axes, weights) = (self.axes.subcols(0, count), self.weights.subrows(0, count));
        let residual = coefficients - axes * weights;
        let residual = Mat::from_fn(residual.nrows(), residual.ncols(), |r, c| residual[(r, c)] as f32);
        reach(basis, residual.as_ref(), None)
    }

    /// Whether the first `count` targets leave no more than `tolerance`.
    fn will_do(&self, range: &Range, watch: &Watch, coefficients: &Mat<f64>, count: usize, tolerance: f32) -> bool {
        let is_within = |basis: &Tall| self.errors(basis, coefficients, count).largest() <= tolerance;
        is_within(&watch.basis) && (watch.basis.rows() == range.basis().rows() || is_within(range.basis()))
    }
}

fn largest(values: &[f32]) -> f32 {
    values.iter().copied().fold(0.0, f32::max)
}

/// Smallest D² beside the largest: none is so small that its point is forgotten.
const LEAST_POINT_WEIGHT: f32 = 0.01;

/// Rounds of reweighting that are tried before a number of targets is given up.
const ROUNDS: usize = 8;

/// Factors what the range holds; as few targets as possible within `tolerance`, followed by more for the trade curve.
/// Also tells how many it takes within the range's own picture. With a `limit` below that, the targets are those that
/// make the best of it.
pub fn factor(range: &Range, tolerance: f32, limit: Option<usize>) -> Result<(Factors, usize), FactorError> {
    let coefficients = range.coefficients();
    let rank = range.basis().columns();
    let points = vec![1.0; range.basis().rows() / 3];
    if rank == 0 {
        return Ok((Factors { targets: range.basis().clone(), duals: range.basis().clone() }, 0));
    }
    let mut watch = Watch::new(range);
    let frames = vec![1.0; coefficients.ncols()];
    let mut best = Weighted::solve(&watch, &coefficients, points, frames)?;
    let fewest_of = |best: &Weighted, watch: &Watch, most: usize, step: usize| {
        fewest(most, step, |count| best.will_do(range, watch, &coefficients, count, tolerance))
    };
    let mut count = fewest_of(&best, &watch, rank, rank.div_ceil(2));
    // Fewer and fewer targets, each time from the weights that did for one step more.
    while count > 1 {
        let wanted = count - (count / 16).max(1);
        let (better, worst) = reweighted(range, &mut watch, &coefficients, &best, wanted, tolerance)?;
        if worst > tolerance {
            break;
        }
        count = fewest_of(&better, &watch, wanted, 1);
        best = better;
    }
    if let Some(limit) = limit.filter(|&limit| limit < count) {
        let (better, _) = reweighted(range, &mut watch, &coefficients, &best, limit, tolerance)?;
        let worst = |weighted: &Weighted| weighted.errors(range.basis(), &coefficients, limit).largest();
        if worst(&better) < worst(&best) {
            best = better;
        }
    }
    let duals = &best.lower * (best.lower.transpose() * &best.axes);
    let in_space = |axes: &Mat<f64>| {
        let single = Mat::from_fn(rank, rank, |row, column| axes[(row, column)] as f32);
        range.basis().times(single.as_ref())
    };
    Ok((Factors { targets: in_space(&best.axes), duals: in_space(&duals) }, count))
}

/// The smallest number up to `most` that will do, for a test that fails below and passes above; `most` where none does.
/// It is looked for in steps downwards, the first of `step`, each twice the one before.
fn fewest(most: usize, mut step: usize, will_do: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let tried = high.saturating_sub(step).max(low.midpoint(high));
        if will_do(tried) {
            high = tried;
            step = step.saturating_mul(2);
        } else {
            low = tried + 1;
            step = usize::MAX;
        }
    }
    low
}

/// The weights under which `count` targets have the smallest largest error, as far as a few rounds find them or until
/// `tolerance` is met, and that error, which is that of the points watched where it is not met.
fn reweighted(
    range: &Range,
    watch: &mut Watch,
    coefficients: &Mat<f64>,
    from: &Weighted,
    count: usize,
    tolerance: f32,
) -> Result<(Weighted, f32), FactorError> {
    let mut points = vec![LEAST_POINT_WEIGHT; from.points.len()];
    watch.points.iter().for_each(|&point| points[point as usize] = from.points[point as usize]);
    let mut frames = from.frames.clone();
    let mut errors = from.errors(&watch.basis, coefficients, count);
    let mut best: Option<(Weighted, f32)> = None;
    for _ in 0..ROUNDS {
        let worst = errors.largest().max(f32::MIN_POSITIVE);
        let share = |error: &f32| (error / worst).max(1e-3);
        for (&point, error) in watch.points.iter().zip(&errors.points) {
            points[point as usize] *= share(error);
        }
        frames.iter_mut().zip(&errors.columns).for_each(|(weight, error)| *weight *= f64::from(share(error)));
        normalise(&mut points, &mut frames);
        let weighted = Weighted::solve(watch, coefficients, points.clone(), frames.clone())?;
        errors = weighted.errors(&watch.basis, coefficients, count);
        let mut worst = errors.largest();
        if worst <= tolerance && watch.basis.rows() < range.basis().rows() {
            let all = weighted.errors(range.basis(), coefficients, count);
            worst = all.largest();
            if worst > tolerance {
                *watch = watch.joined(range, &all.points, tolerance);
                let of_watched = watch.points.iter().map(|&point| all.points[point as usize]).collect();
                errors = Reach { points: of_watched, ..all };
            }
        }
        if best.as_ref().is_none_or(|(_, least)| worst < *least) {
            best = Some((weighted, worst));
        }
        if worst <= tolerance {
            break;
        }
    }
    best.ok_or(FactorError)
}

/// Largest weight 1, none so small that its point or frame is forgotten.
fn normalise(points: &mut [f32], frames: &mut [f64]) {
    let top = largest(points);
    points.iter_mut().for_each(|weight| *weight = (*weight / top).max(LEAST_POINT_WEIGHT));
    let top = frames.iter().copied().fold(0.0, f64::max);
    frames.iter_mut().for_each(|weight| *weight = (*weight / top).max(1e-6));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::largest_vector;
    use sinew_testkit::random::Random;

    /// Frames `Σ_k s_k u_k v_k(f)` with orthonormal u, and v of length 1 over the frames; s_k = ratioᵏ.
    fn spectrum(points: usize, frames: usize, rank: usize, ratio: f64, random: &mut Random) -> Range {
        let mut orthonormal = |rows: usize| {
            let mut range = Range::new(rows, 0.0, rank);
            let data = (0..rows * rank).map(|_| random.between(-1.0, 1.0) as f32).collect();
            range.add(data).unwrap();
            range.basis().clone()
        };
        let (left, right) = (orthonormal(3 * points), orthonormal(frames));
        let scaled = Mat::from_fn(rank, frames, |k, f| right.column(k)[f] * ratio.powi(k as i32) as f32);
        let mut range = Range::new(3 * points, 1e-7, 3 * rank);
        range.add(left.times(scaled.as_ref()).data().to_vec()).unwrap();
        range
    }

    fn frames(range: &Range) -> Tall {
        let coefficients = range.coefficients();
        let single = Mat::from_fn(coefficients.nrows(), coefficients.ncols(), |r, c| coefficients[(r, c)] as f32);
        range.basis().times(single.as_ref())
    }

    #[test]
    fn without_weights_the_singular_values_come_out() {
        let range = spectrum(40, 50, 8, 0.5, &mut Random::new(6));
        let (factors, _) = factor(&range, 0.0, None).unwrap();
        let frames = frames(&range);
        let points = vec![1.0; 40];
        let plain = Weighted::solve(&Watch::new(&range), &range.coefficients(), points, vec![1.0; 50]).unwrap();
        for target in 0..8 {
            let energy: f64 = (0..50).map(|frame| plain.weights[(target, frame)].powi(2)).sum();
            assert!((energy.sqrt() - 0.5f64.powi(target as i32)).abs() < 1e-5, "{target}: {}", energy.sqrt());
        }
        // Eckart and Young: what is left after three has the energy of the others.
        let left: f64 =
            (0..50).map(|frame| (3..8).map(|target| plain.weights[(target, frame)].powi(2)).sum::<f64>()).sum();
        let expected: f64 = (3..8).map(|k| 0.25f64.powi(k)).sum();
        assert!((left - expected).abs() < 1e-5);
        // All targets together give every frame back.
        for frame in 0..50 {
            let weights = factors.weights_of(&[frames.column(frame)], factors.targets.columns());
            let mut residual = frames.column(frame).to_vec();
            factors.targets.add_product(-1.0, weights.as_ref(), &mut residual);
            assert!(largest_vector(&residual) < 1e-5);
        }
    }

    #[test]
    fn reweighting_keeps_the_tolerance_with_no_more_targets() {
        let mut fewer = 0;
        for seed in 0..6 {
            let range = spectrum(60, 80, 24, 0.85, &mut Random::new(seed));
            let coefficients = range.coefficients();
            let plain = Weighted::solve(&Watch::new(&range), &coefficients, vec![1.0; 60], vec![1.0; 80]).unwrap();
            let worst = |count: usize| plain.errors(range.basis(), &coefficients, count).largest();
            let tolerance = 1.1 * worst(12);
            let plain_count = fewest(24, 1, |count| worst(count) <= tolerance);
            let (factors, count) = factor(&range, tolerance, None).unwrap();
            assert!(count <= plain_count);
            fewer += plain_count - count;
            let frames = frames(&range);
            for frame in 0..80 {
                let weights = factors.weights_of(&[frames.column(frame)], count);
                let mut residual = frames.column(frame).to_vec();
                for target in 0..count {
                    let column = residual.iter_mut().zip(factors.targets.column(target));
                    column.for_each(|(x, m)| *x -= weights[(target, 0)] * m);
                }
                assert!(largest_vector(&residual) <= 1.001 * tolerance, "seed {seed} frame {frame}");
            }
        }
        assert!(fewer > 0, "reweighting never helped");
    }

    /// Of every two points one is watched at first; one of the others alone moves differently.
    #[test]
    fn points_that_are_not_watched_are_within_the_tolerance_too() {
        let (points, frames, odd) = (WATCHED + 6, 24, 7);
        let mut random = Random::new(3);
        let mut data = vec![0.0f32; 3 * points * frames];
        for frame in data.chunks_exact_mut(3 * points) {
            let (all, own) = (random.between(-1.0, 1.0) as f32, random.between(-1.0, 1.0) as f32);
            frame[..points].fill(all);
            frame[odd] = own;
        }
        let mut range = Range::new(3 * points, 1e-4, 8);
        range.add(data.clone()).unwrap();
        assert!(Watch::new(&range).points.binary_search(&(odd as u32)).is_err());
        let (factors, count) = factor(&range, 0.01, None).unwrap();
        assert_eq!(count, 2);
        for frame in data.chunks_exact(3 * points) {
            let mut left = frame.to_vec();
            factors.targets.add_product(-1.0, factors.weights_of(&[frame], 2).as_ref(), &mut left);
            assert!(largest_vector(&left) <= 0.0101, "{}", largest_vector(&left));
        }
    }

    #[test]
    fn a_range_without_anything_has_no_targets() {
        let mut range = Range::new(30, 1e-3, 8);
        range.add(vec![0.0; 30 * 5]).unwrap();
        let (factors, count) = factor(&range, 1e-3, None).unwrap();
        assert_eq!((factors.targets.columns(), count), (0, 0));
    }
}
