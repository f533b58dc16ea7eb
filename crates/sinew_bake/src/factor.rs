//! Few targets for many frames: the truncated singular value decomposition, turned from the mean error towards the
//! largest.
//!
//! Frames x = Q c are known by their coefficients ([`crate::range`]). With weights D² per point and γ² per frame, the
//! best K targets in the weighted mean square are the leading left singular vectors of `D Q C γ`: with `Qᵀ D² Q = L Lᵀ`
//! and B the leading eigenvectors of `Lᵀ C γ² Cᵀ L`, the targets are `M = Q L⁻ᵀ B`. They are orthonormal under D², so a
//! frame's weights are `Mᵀ D² x` and do not depend on how many targets follow.
//!
//! What counts is the largest error, and least squares spend their targets on the mean. Lawson's algorithm (1961: the
//! best uniform approximation is a weighted least-squares one; multiply the weights by the errors, again and again)
//! moves the weight to the points and frames that are worst. (A run and three clips of a fox: 21 targets for 25, and 35
//! for 41.)
//!
//! Oracle: without weights, the singular values of a matrix of known spectrum; the truncation error of Eckart and Young;
//! reweighting never gives more targets than plain least squares.

use crate::lanes::raise;
use crate::matrix::Tall;
use crate::range::Range;
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{Mat, MatRef, Par, Side};
use rayon::prelude::*;

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

/// Targets in the order of their importance, and the metric they are orthonormal under.
#[derive(Clone, Debug)]
pub struct Factors {
    /// One column per target: x of all points, y, z.
    pub targets: Tall,
    /// D² per point.
    pub point_weights: Vec<f32>,
}

impl Factors {
    /// Weights of a frame for the first `count` targets.
    pub fn weights(&self, frame: &[f32], count: usize) -> Vec<f32> {
        let product = self.weights_of(std::iter::once(frame), count);
        (0..count).map(|target| product[(target, 0)]).collect()
    }

    /// Weights of many frames for the first `count` targets, one column each.
    pub fn weights_of<'a>(&self, frames: impl Iterator<Item = &'a [f32]>, count: usize) -> Mat<f32> {
        let points = self.point_weights.len().max(1);
        let mut weighted = Vec::with_capacity(frames.size_hint().0 * self.targets.rows());
        for plane in frames.flat_map(|frame| frame.chunks_exact(points)) {
            weighted.extend(plane.iter().zip(&self.point_weights).map(|(x, weight)| x * weight));
        }
        self.targets.first_transpose_times(count, &weighted)
    }
}

/// A choice of weights and what follows from it, in the coordinates of the range.
struct Weighted {
    /// D² per point.
    points: Vec<f32>,
    /// γ² per frame.
    frames: Vec<f64>,
    /// `L⁻ᵀ B`: targets in the range's basis.
    axes: Mat<f64>,
    /// Weights of all kept frames for all targets.
    weights: Mat<f64>,
}

impl Weighted {
    fn solve(range: &Range, coefficients: &Mat<f64>, points: Vec<f32>, frames: Vec<f64>) -> Result<Self, FactorError> {
        let metric = range.basis().weighted_gram(&points);
        let lower = metric.llt(Side::Lower).map_err(|_| FactorError)?.L().to_owned();
        let scaled = Mat::from_fn(coefficients.nrows(), coefficients.ncols(), |row, column| {
            coefficients[(row, column)] * frames[column].sqrt()
        });
        let seen = lower.transpose() * &scaled;
        let gram = &seen * seen.transpose();
        let (_, mut axes) = principal_axes(gram.as_ref())?;
        let weights = axes.transpose() * (lower.transpose() * coefficients);
        solve_upper_triangular_in_place(lower.transpose(), axes.as_mut(), Par::Seq);
        Ok(Self { points, frames, axes, weights })
    }

    /// Largest error per point and per frame with the first `count` targets.
    fn errors(&self, range: &Range, coefficients: &Mat<f64>, count: usize) -> (Vec<f32>, Vec<f32>) {
        const FRAMES: usize = 16;
        let rows = range.basis().rows();
        let (axes, weights) = (self.axes.subcols(0, count), self.weights.subrows(0, count));
        let residual = coefficients - axes * weights;
        let residual = Mat::from_fn(residual.nrows(), residual.ncols(), |r, c| residual[(r, c)] as f32);
        let starts: Vec<usize> = (0..residual.ncols()).step_by(FRAMES).collect();
        let piece = |&start: &usize| {
            let wide = FRAMES.min(residual.ncols() - start);
            let mut x = vec![0.0; rows * wide];
            range.basis().add_product(1.0, residual.as_ref().subcols(start, wide), &mut x);
            let mut per_point = vec![0.0f32; rows / 3];
            let per_frame: Vec<f32> = x.chunks_exact(rows).map(|frame| raise(&mut per_point, frame)).collect();
            per_point.iter_mut().for_each(|square| *square = square.sqrt());
            (per_point, per_frame)
        };
        let pieces: Vec<(Vec<f32>, Vec<f32>)> = starts.par_iter().map(piece).collect();
        let mut per_point = vec![0.0f32; rows / 3];
        let mut per_frame = Vec::with_capacity(residual.ncols());
        for (points, frames) in pieces {
            per_point.iter_mut().zip(points).for_each(|(largest, here)| *largest = largest.max(here));
            per_frame.extend(frames);
        }
        (per_point, per_frame)
    }

    fn worst(&self, range: &Range, coefficients: &Mat<f64>, count: usize) -> f32 {
        largest(&self.errors(range, coefficients, count).1)
    }
}

fn largest(values: &[f32]) -> f32 {
    values.iter().copied().fold(0.0, f32::max)
}

/// Smallest D² beside the largest. What a frame has outside the range is projected along D and grows by up to the square
/// root of their ratio on the points that count least.
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
        return Ok((Factors { targets: range.basis().clone(), point_weights: points }, 0));
    }
    let frames = vec![1.0; coefficients.ncols()];
    let mut best = Weighted::solve(range, &coefficients, points, frames)?;
    let mut count = fewest(rank, rank.div_ceil(2), |count| best.worst(range, &coefficients, count) <= tolerance);
    // Fewer and fewer targets, each time from the weights that did for one step more.
    while count > 1 {
        let wanted = count - (count / 16).max(1);
        let (better, worst) = reweighted(range, &coefficients, &best, wanted, tolerance)?;
        if worst > tolerance {
            break;
        }
        count = fewest(wanted, 1, |count| better.worst(range, &coefficients, count) <= tolerance);
        best = better;
    }
    if let Some(limit) = limit.filter(|&limit| limit < count) {
        let (better, worst) = reweighted(range, &coefficients, &best, limit, tolerance)?;
        if worst < best.worst(range, &coefficients, limit) {
            best = better;
        }
    }
    let axes = Mat::from_fn(rank, rank, |row, column| best.axes[(row, column)] as f32);
    Ok((Factors { targets: range.basis().times(axes.as_ref()), point_weights: best.points }, count))
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
/// `tolerance` is met, and that error.
fn reweighted(
    range: &Range,
    coefficients: &Mat<f64>,
    from: &Weighted,
    count: usize,
    tolerance: f32,
) -> Result<(Weighted, f32), FactorError> {
    let (mut points, mut frames) = (from.points.clone(), from.frames.clone());
    let (mut per_point, mut per_frame) = from.errors(range, coefficients, count);
    let mut best: Option<(Weighted, f32)> = None;
    for _ in 0..ROUNDS {
        let worst = largest(&per_frame).max(f32::MIN_POSITIVE);
        points.iter_mut().zip(&per_point).for_each(|(weight, error)| *weight *= (error / worst).max(1e-3));
        frames.iter_mut().zip(&per_frame).for_each(|(weight, error)| *weight *= f64::from((error / worst).max(1e-3)));
        normalise(&mut points, &mut frames);
        let weighted = Weighted::solve(range, coefficients, points.clone(), frames.clone())?;
        (per_point, per_frame) = weighted.errors(range, coefficients, count);
        let worst = largest(&per_frame);
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
        let plain = Weighted::solve(&range, &range.coefficients(), points, vec![1.0; 50]).unwrap();
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
            let weights = factors.weights(frames.column(frame), factors.targets.columns());
            let column = faer::MatRef::from_column_major_slice(&weights, weights.len(), 1);
            let mut residual = frames.column(frame).to_vec();
            factors.targets.add_product(-1.0, column, &mut residual);
            assert!(largest_vector(&residual) < 1e-5);
        }
    }

    #[test]
    fn reweighting_keeps_the_tolerance_with_no_more_targets() {
        let mut fewer = 0;
        for seed in 0..6 {
            let range = spectrum(60, 80, 24, 0.85, &mut Random::new(seed));
            let coefficients = range.coefficients();
            let plain = Weighted::solve(&range, &coefficients, vec![1.0; 60], vec![1.0; 80]).unwrap();
            let tolerance = 1.1 * plain.worst(&range, &coefficients, 12);
            let plain_count = fewest(24, 1, |count| plain.worst(&range, &coefficients, count) <= tolerance);
            let (factors, count) = factor(&range, tolerance, None).unwrap();
            assert!(count <= plain_count);
            fewer += plain_count - count;
            let frames = frames(&range);
            for frame in 0..80 {
                let weights = factors.weights(frames.column(frame), count);
                let mut residual = frames.column(frame).to_vec();
                for (target, weight) in weights.iter().enumerate() {
                    residual.iter_mut().zip(factors.targets.column(target)).for_each(|(x, m)| *x -= weight * m);
                }
                assert!(largest_vector(&residual) <= 1.001 * tolerance, "seed {seed} frame {frame}");
            }
        }
        assert!(fewer > 0, "reweighting never helped");
    }

    #[test]
    fn a_range_without_anything_has_no_targets() {
        let mut range = Range::new(30, 1e-3, 8);
        range.add(vec![0.0; 30 * 5]).unwrap();
        let (factors, count) = factor(&range, 1e-3, None).unwrap();
        assert_eq!((factors.targets.columns(), count), (0, 0));
    }
}
