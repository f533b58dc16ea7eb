//! Normals and tangents on the weights that the positions have chosen.
//!
//! Engines carry a morphed normal by the blended 3×3 and normalise it, so the right morph at a frame is
//! `δ = |A n| A⁻¹ N − n`, N the normal wanted. Over all samples the targets are the least-squares fit
//! `min Σ_f |δ_f − Σ_k w_kf n_k|²`: with `G = Σ_f w_f w_fᵀ` and `R = Σ_f δ_f w_fᵀ`, `n = R G⁻¹`. Tangents alike.
//!
//! Oracle: δ that lie in the span of the weights are found; one frame and one target give that frame exactly.

use crate::factor::FactorError;
use crate::matrix::Tall;
use faer::prelude::Solve;
use faer::{Mat, MatRef, Side};

/// How much the targets' own size counts beside the fit, as a share of the mean square of the weights: enough to keep
/// targets that are hardly ever used from growing.
const RIDGE: f64 = 1e-5;

/// Sums for the fit of one kind of direction.
#[derive(Debug)]
pub(crate) struct Fit {
    rows: usize,
    /// R, one column per target.
    right: Tall,
    gram: Mat<f64>,
}

impl Fit {
    /// For `vertices` directions and `targets` weights.
    pub fn new(vertices: usize, targets: usize) -> Self {
        let rows = 3 * vertices;
        let right = Tall::from_columns(rows, vec![0.0; rows.max(1) * targets]);
        Self { rows, right, gram: Mat::zeros(targets, targets) }
    }

    /// Takes in frames: δ of all vertices (x y z per vertex), frame by frame, and the frames' weights.
    pub fn add(&mut self, deltas: Vec<f32>, weights: &[Vec<f32>]) {
        let targets = self.right.columns();
        if self.rows == 0 || targets == 0 {
            return;
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

    /// The targets: one column each, x y z per vertex.
    pub fn solve(mut self) -> Result<Tall, FactorError> {
        let targets = self.right.columns();
        if self.rows == 0 || targets == 0 {
            return Ok(self.right);
        }
        let trace: f64 = (0..targets).map(|i| self.gram[(i, i)]).sum();
        if trace <= 0.0 {
            return Ok(self.right);
        }
        let ridge = RIDGE * trace / targets as f64;
        (0..targets).for_each(|i| self.gram[(i, i)] += ridge);
        let factored = self.gram.llt(Side::Lower).map_err(|_| FactorError)?;
        let inverse = factored.solve(Mat::<f64>::identity(targets, targets));
        let inverse = Mat::from_fn(targets, targets, |row, column| inverse[(row, column)] as f32);
        Ok(self.right.times(MatRef::from(inverse.as_ref())))
    }
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
            fit.add(truth.times(columns.as_ref()).data().to_vec(), block);
        }
        let found = fit.solve().unwrap();
        for (a, b) in found.data().iter().zip(truth.data()) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
    }

    #[test]
    fn nothing_to_fit_is_no_fault() {
        assert_eq!(Fit::new(0, 3).solve().unwrap().rows(), 1);
        let mut fit = Fit::new(2, 1);
        fit.add(vec![0.0; 6], &[vec![0.0]]);
        assert!(fit.solve().unwrap().data().iter().all(|x| *x == 0.0));
    }
}
