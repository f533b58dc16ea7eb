//! A symmetric positive definite sparse system, factored once and solved for three columns at a time.

use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::Llt;
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};
use glam::DVec3;

/// `LLᵀ` of a sparse matrix.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    /// `None` for a system without unknowns.
    factor: Option<Llt<usize, f64>>,
    size: usize,
}

impl Cholesky {
    /// Factors the matrix whose lower triangle is the sum of (row, column, value); `None` where it is not positive
    /// definite.
    pub fn new(size: usize, lower: &[(usize, usize, f64)]) -> Option<Self> {
        if size == 0 {
            return Some(Self { factor: None, size });
        }
        let triplets: Vec<_> = lower.iter().map(|&(row, col, val)| Triplet { row, col, val }).collect();
        let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(size, size, &triplets).ok()?;
        let factor = matrix.sp_cholesky(Side::Lower).ok()?;
        Some(Self { factor: Some(factor), size })
    }

    /// Replaces the right side by the solution.
    pub fn solve(&self, columns: &mut [DVec3]) {
        let Some(factor) = &self.factor else { return };
        let mut right = Mat::<f64>::from_fn(self.size, 3, |row, axis| columns[row][axis]);
        factor.solve_in_place(&mut right);
        for (row, value) in columns.iter_mut().enumerate() {
            *value = DVec3::new(right[(row, 0)], right[(row, 1)], right[(row, 2)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_springs_hangs_straight() {
        // Second differences of a chain pinned at 0 and 10: the solution is linear.
        let n = 9;
        let mut lower = Vec::new();
        for i in 0..n {
            lower.push((i, i, 2.0));
            if i > 0 {
                lower.push((i, i - 1, -1.0));
            }
        }
        let mut right = vec![DVec3::ZERO; n];
        right[n - 1] = DVec3::new(10.0, -10.0, 1.0);
        Cholesky::new(n, &lower).expect("positive definite").solve(&mut right);
        for (i, p) in right.iter().enumerate() {
            let t = (i + 1) as f64;
            assert!((*p - DVec3::new(t, -t, 0.1 * t)).length() < 1e-12);
        }
        assert!(Cholesky::new(2, &[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)]).is_none());
        Cholesky::new(0, &[]).expect("nothing").solve(&mut []);
    }
}
