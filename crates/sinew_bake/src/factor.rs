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

use crate::matrix::{Tall, largest_vector};
use crate::range::Range;
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{Mat, MatRef, Par, Side};
use rayon::prelude::*;

/// The eigenvalue solver did not converge, or was given numbers that are not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the displacements could not be factored: they hold numbers that are too large or not finite")]
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
    /// Weights of a frame for all targets.
    pub fn weights(&self, frame: &[f32]) -> Vec<f32> {
        let points = self.point_weights.len().max(1);
        let weighted: Vec<f32> = frame.iter().enumerate().map(|(i, x)| x * self.point_weights[i % points]).collect();
        let product = self.targets.transpose_times(&weighted);
        (0..self.targets.columns()).map(|target| product[(target, 0)]).collect()
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
            let per_frame: Vec<f32> = x.chunks_exact(rows).map(largest_vector).collect();
            let points = rows / 3;
            let mut per_point = vec![0.0f32; points];
            for frame in x.chunks_exact(rows) {
                for (point, largest) in per_point.iter_mut().enumerate() {
                    let (x, y, z) = (frame[point], frame[points + point], frame[2 * points + point]);
                    *largest = largest.max(x * x + y * y + z * z);
                }
            }
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

/// Rounds of reweighting that are tried before a number of targets is given up.
const ROUNDS: usize = 12;

/// Factors what the range holds; as few targets as possible within `tolerance`, followed by more for the trade curve.
/// Also tells how many it takes within the range's own picture.
pub fn factor(range: &Range, tolerance: f32) -> Result<(Factors, usize), FactorError> {
    let coefficients = range.coefficients();
    let rank = range.basis().columns();
    let points = vec![1.0; range.basis().rows() / 3];
    let frames = vec![1.0; coefficients.ncols()];
    let mut best = Weighted::solve(range, &coefficients, points, frames)?;
    let mut count = fewest(rank, |count| best.worst(range, &coefficients, count) <= tolerance);
    // Fewer and fewer targets, each time from the weights that did for one step more.
    while count > 1 {
        let wanted = count - (count / 16).max(1);
        let Some(better) = reweighted(range, &coefficients, &best, wanted, tolerance)? else { break };
        count = fewest(wanted, |count| better.worst(range, &coefficients, count) <= tolerance);
        best = better;
    }
    let axes = Mat::from_fn(rank, rank, |row, column| best.axes[(row, column)] as f32);
    Ok((Factors { targets: range.basis().times(axes.as_ref()), point_weights: best.points }, count))
}

/// The smallest number up to `most` that will do, for a test that fails below and passes above; `most` where none does.
fn fewest(most: usize, will_do: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low.midpoint(high);
        if will_do(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Weights under which `count` targets stay within `tolerance`, if a few rounds find them.
fn reweighted(
    range: &Range,
    coefficients: &Mat<f64>,
    from: &Weighted,
    count: usize,
    tolerance: f32,
) -> Result<Option<Weighted>, FactorError> {
    let (mut points, mut frames) = (from.points.clone(), from.frames.clone());
    let (mut per_point, mut per_frame) = from.errors(range, coefficients, count);
    for _ in 0..ROUNDS {
        let worst = largest(&per_frame);
        if worst <= 0.0 {
            return Ok(None);
        }
        points.iter_mut().zip(&per_point).for_each(|(weight, error)| *weight *= (error / worst).max(1e-3));
        frames.iter_mut().zip(&per_frame).for_each(|(weight, error)| *weight *= f64::from((error / worst).max(1e-3)));
        normalise(&mut points, &mut frames);
        let weighted = Weighted::solve(range, coefficients, points.clone(), frames.clone())?;
        (per_point, per_frame) = weighted.errors(range, coefficients, count);
        if largest(&per_frame) <= tolerance {
            return Ok(Some(weighted));
        }
    }
    Ok(None)
}

/// Largest weight 1, none so small that its point or frame is forgotten.
fn normalise(points: &mut [f32], frames: &mut [f64]) {
    let top = largest(points);
    points.iter_mut().for_each(|weight| *weight = (*weight / top).max(1e-4));
    let top = frames.iter().copied().fold(0.0, f64::max);
    frames.iter_mut().for_each(|weight| *weight = (*weight / top).max(1e-6));
}
