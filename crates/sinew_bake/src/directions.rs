//! Normals and tangents on the weights that the positions have chosen.
//!
//! Engines carry a morphed normal by the blended 3×3 and normalise it, so the right morph at a frame is
//! `δ = |A n| A⁻¹ N − n`, N the normal wanted. Over all samples the targets are the least-squares fit
//! `min Σ_f |δ_f − Σ_k w_kf n_k|²`: with `G = Σ_f w_f w_fᵀ` and `R = Σ_f δ_f w_fᵀ`, `n = R G⁻¹`. Tangents alike.
//!
//! Most targets can do without: with `G = L Lᵀ`, `Y = R L⁻ᵀ` and `z = L⁻¹ w`, the fit by the first j targets alone is
//! `Σ_{i ≤ j} Y_i z_i`, so one factorisation tells what any number of them leaves. As few as serve get directions, none
//! where the base's own do. That is judged by the mean angle over some frames, as least squares look at the few vertices
//! that turn most. The last target, which is always on, counts first: it holds what all frames share.
//!
//! Oracle: δ that lie in the span of the weights are found; one frame and one target give that frame exactly; a few
//! targets are what their own fit gives.

use crate::factor::FactorError;
use crate::lanes::{subtract, sum_of_lengths};
use crate::matrix::Tall;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, Par, Side};
use rayon::prelude::*;

/// How much the targets' own size counts beside the fit, as a share of the mean square of the weights: enough to keep
/// targets that are hardly ever used from growing.
const RIDGE: f64 = 1e-5;
/// Angle by which directions may be farther off, on average over vertices and frames, than with as many targets as are
/// best: half a degree. Shading changes by less than one part in a hundred.
const SLACK: f64 = 0.5 * std::f64::consts::PI / 180.0;

/// Sums for the fit of one kind of direction.
#[derive(Debug)]
pub(crate) struct Fit {
    rows: usize,
    /// R, one column per target.
    right: Tall,
    gram: Mat<f64>,
    /// Some frames, to judge by: δ and weights, every `stride`th of those seen.
    kept: Vec<(Vec<f32>, Vec<f32>)>,
    seen: usize,
    stride: usize,
}

/// Bytes of frames to judge by.
const KEPT_BYTES: usize = 32 << 20;
/// Most frames to judge by.
const KEPT_FRAMES: usize = 48;

impl Fit {
    /// For `vertices` directions and `targets` weights.
    pub fn new(vertices: usize, targets: usize) -> Self {
        let rows = 3 * vertices;
        let right = Tall::from_columns(rows, vec![0.0; rows.max(1) * targets]);
        Self { rows, right, gram: Mat::zeros(targets, targets), kept: Vec::new(), seen: 0, stride: 1 }
    }

    /// Takes in frames: δ of all vertices (x y z per vertex), frame by frame, and the frames' weights.
    pub fn add(&mut self, deltas: Vec<f32>, weights: &[&[f32]]) {
        let targets = self.right.columns();
        if self.rows == 0 || targets == 0 {
            return;
        }
        for (frame, weights) in deltas.chunks_exact(self.rows).zip(weights) {
            self.keep(frame, weights);
        }
        let deltas = Tall::from_columns(self.rows, deltas);
        let transposed = Mat::from_fn(weights.len(), targets, |frame, target| weights[frame][target]);
        deltas.add_product(1.0, transposed.as_ref(), self.right.data_mut());
        for frame in weights {
            for row in 0..targets {
                for column in 0..targets {
                    self.gram[(row, column)] += f64::from(frame[row]) * f64::from(frame[column]);
                }
            }
        }
    }

    /// The same for other weights: those seen counted from `low` in units of `range`, and 1, which is the last weight seen.
    pub fn in_units(self, spans: &[(f32, f32)]) -> Self {
        let (seen, targets) = (self.right.columns(), spans.len() + 1);
        let turn = Mat::from_fn(targets, seen, |target, column| match spans.get(target) {
            Some(&(_, range)) if column == target && range > 0.0 => 1.0 / f64::from(range),
            Some(&(low, range)) if column + 1 == seen && range > 0.0 => -f64::from(low) / f64::from(range),
            None if column + 1 == seen => 1.0,
            _ => 0.0,
        });
        let single = Mat::from_fn(seen, targets, |column, target| turn[(target, column)] as f32);
        let turned = |weights: &[f32]| -> Vec<f32> {
            let part = |target: usize, column: usize| turn[(target, column)] * f64::from(weights[column]);
            let sum = |target: usize| (0..seen).map(|column| part(target, column)).sum::<f64>();
            (0..targets).map(|target| sum(target) as f32).collect()
        };
        Self {
            rows: self.rows,
            right: self.right.times(single.as_ref()),
            gram: &turn * &self.gram * turn.transpose(),
            kept: self.kept.into_iter().map(|(frame, weights)| (frame, turned(&weights))).collect(),
            seen: self.seen,
            stride: self.stride,
        }
    }

    fn keep(&mut self, frame: &[f32], weights: &[f32]) {
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push((frame.to_vec(), weights.to_vec()));
            if self.kept.len() > (KEPT_BYTES / (4 * self.rows)).clamp(8, KEPT_FRAMES) {
                self.kept = std::mem::take(&mut self.kept).into_iter().step_by(2).collect();
                self.stride *= 2;
            }
        }
        self.seen += 1;
    }

    /// The targets: one column each, x y z per vertex; zero for those that need no directions.
    pub fn solve(self) -> Result<Tall, FactorError> {
        self.solve_within(SLACK)
    }

    fn solve_within(self, slack: f64) -> Result<Tall, FactorError> {
        let targets = self.right.columns();
        let trace: f64 = (0..targets).map(|i| self.gram[(i, i)]).sum();
        if self.rows == 0 || targets == 0 || trace <= 0.0 {
            return Ok(self.right);
        }
        let ridge = RIDGE * trace / targets as f64;
        let target_of = |place: usize| if place == 0 { targets - 1 } else { place - 1 };
        let gram = Mat::from_fn(targets, targets, |row, column| {
            self.gram[(target_of(row), target_of(column))] + if row == column { ridge } else { 0.0 }
        });
        let lower = gram.llt(Side::Lower).map_err(|_| FactorError)?.L().to_owned();
        let mut inverse = Mat::<f64>::identity(targets, targets);
        solve_lower_triangular_in_place(lower.as_ref(), inverse.as_mut(), Par::Seq);
        // R L⁻ᵀ, its columns in the order of places.
        let turned = Mat::from_fn(targets, targets, |target, place| {
            let row = if target == targets - 1 { 0 } else { target + 1 };
            inverse[(place, row)] as f32
        });
        let fitted = self.right.times(turned.as_ref());
        let used = self.fewest(&fitted, &inverse, slack);
        let back = Mat::from_fn(targets, targets, |place, target| {
            let column = if target == targets - 1 { 0 } else { target + 1 };
            if place < used && column < used { inverse[(place, column)] as f32 } else { 0.0 }
        });
        Ok(fitted.times(back.as_ref()))
    }

    /// As few leading columns of Y as leave no more than `slack` beyond what the best number of them leaves.
    fn fewest(&self, fitted: &Tall, inverse: &Mat<f64>, slack: f64) -> usize {
        let targets = fitted.columns();
        let columns: Vec<Vec<f32>> = (0..targets).into_par_iter().map(|place| by_axis(fitted.column(place))).collect();
        let of_frame = |(deltas, weights): &(Vec<f32>, Vec<f32>)| -> Vec<f64> {
            let mut left = by_axis(deltas);
            // Directions are of length 1: a difference is an angle, which none is larger than where it is large.
            let mut means = vec![sum_of_lengths(&left, 1.0)];
            for place in 0..targets {
                let weight = |other: usize| f64::from(weights[if other == 0 { targets - 1 } else { other - 1 }]);
                let z: f64 = (0..=place).map(|other| inverse[(place, other)] * weight(other)).sum();
                subtract(&mut left, z as f32, &columns[place]);
                means.push(sum_of_lengths(&left, 1.0));
            }
            means
        };
        let frames: Vec<Vec<f64>> = self.kept.par_iter().map(of_frame).collect();
        let count = (self.rows / 3 * frames.len()).max(1) as f64;
        let means: Vec<f64> = (0..=targets).map(|j| frames.iter().map(|means| means[j]).sum::<f64>() / count).collect();
        let best = means.iter().copied().fold(f64::INFINITY, f64::min);
        means.iter().position(|&mean| mean <= best + slack).unwrap_or(targets)
    }
}

/// Vectors x y z as x of all, y, z.
fn by_axis(vectors: &[f32]) -> Vec<f32> {
    (0..3).flat_map(|axis| vectors.iter().skip(axis).step_by(3).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_testkit::random::Random;

    #[test]
    fn what_the_weights_span_is_found() {
        let mut random = Random::new(5);
        let (vertices, targets, frames) = (20, 4, 60);
        let mut numbers = |count: usize| (0..count).map(|_| random.between(-1.0, 1.0) as f32).collect::<Vec<f32>>();
        let truth = Tall::from_columns(3 * vertices, numbers(3 * vertices * targets));
        let weights: Vec<Vec<f32>> = (0..frames).map(|_| numbers(targets)).collect();
        let mut fit = Fit::new(vertices, targets);
        for block in weights.chunks(16) {
            let columns = Mat::from_fn(targets, block.len(), |row, column| block[column][row]);
            let block: Vec<&[f32]> = block.iter().map(Vec::as_slice).collect();
            fit.add(truth.times(columns.as_ref()).data().to_vec(), &block);
        }
        let found = fit.solve_within(0.0).unwrap();
        for (a, b) in found.data().iter().zip(truth.data()) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
    }

    #[test]
    fn nothing_to_fit_is_no_fault() {
        assert_eq!(Fit::new(0, 3).solve().unwrap().rows(), 1);
        let mut fit = Fit::new(2, 1);
        fit.add(vec![0.0; 6], &[&[0.0]]);
        assert!(fit.solve().unwrap().data().iter().all(|x| *x == 0.0));
    }

    /// A second formulation: the normal equations of the last target and the first few alone.
    #[test]
    fn a_few_targets_are_fitted_as_if_there_were_no_others() {
        let mut random = Random::new(8);
        let (vertices, targets, frames) = (30, 5, 40);
        let mut numbers = |count: usize| (0..count).map(|_| random.between(-0.2, 0.2) as f32).collect::<Vec<f32>>();
        let deltas = numbers(3 * vertices * frames);
        let mut weights: Vec<Vec<f32>> = (0..frames).map(|_| numbers(targets)).collect();
        weights.iter_mut().for_each(|weights| weights[targets - 1] = 1.0);
        let fit = |columns: &[usize]| {
            let mut fit = Fit::new(vertices, columns.len());
            let some: Vec<Vec<f32>> = weights.iter().map(|w| columns.iter().map(|&c| w[c]).collect()).collect();
            fit.add(deltas.clone(), &some.iter().map(Vec::as_slice).collect::<Vec<_>>());
            fit
        };
        let left = |targets: &Tall, columns: &[usize]| {
            let mut sum = 0.0;
            for (frame, weights) in deltas.chunks_exact(3 * vertices).zip(&weights) {
                let played =
                    |row: usize| (0..columns.len()).map(|c| weights[columns[c]] * targets.column(c)[row]).sum::<f32>();
                let off = |row: usize| f64::from(frame[row] - played(row));
                sum += (0..vertices).map(|v| (0..3).map(|i| off(3 * v + i).powi(2)).sum::<f64>().sqrt()).sum::<f64>();
            }
            sum / (vertices * frames) as f64
        };
        let everything = [0, 1, 2, 3, 4];
        let all = left(&fit(&everything).solve_within(0.0).unwrap(), &everything);
        let two = left(&fit(&[0, 1, 4]).solve_within(0.0).unwrap(), &[0, 1, 4]);
        let found = fit(&everything).solve_within(1.0001 * (two - all)).unwrap();
        assert!((2..4).all(|target| found.column(target).iter().all(|x| *x == 0.0)));
        assert!((0..2).all(|target| found.column(target).iter().any(|x| *x != 0.0)));
        assert!((left(&found, &everything) - two).abs() < 1e-3 * two, "{two}");
        let none = fit(&everything).solve_within(f64::INFINITY).unwrap();
        assert!(none.data().iter().all(|x| *x == 0.0));
    }
}
