//! Least squares with Tikhonov's term, `min ‖Ax − y‖² + (λ‖A‖)²‖x‖²`, by the pivoted QR factorisation of `[A; λ‖A‖I]`.
//!
//! The stacked matrix is what keeps the small singular values that the normal equations would square away.

use faer::Mat;
use faer::linalg::solvers::SolveLstsq;

/// `entry(row, column)` of A, rows × columns; `damping` is λ, ‖A‖ the largest column. A matrix of zeros has the answer 0.
pub(crate) fn least_squares(
    rows: usize,
    columns: usize,
    entry: impl Fn(usize, usize) -> f64,
    y: &[f64],
    damping: f64,
) -> Vec<f64> {
    let mut stacked = Mat::<f64>::zeros(rows + columns, columns);
    let mut largest: f64 = 0.0;
    for column in 0..columns {
        let mut square = 0.0;
        for row in 0..rows {
            let value = entry(row, column);
            stacked[(row, column)] = value;
            square += value * value;
        }
        largest = largest.max(square.sqrt());
    }
    for column in 0..columns {
        stacked[(rows + column, column)] = damping * largest;
    }
    let right = Mat::<f64>::from_fn(rows + columns, 1, |row, _| if row < rows { y[row] } else { 0.0 });
    let solution = stacked.col_piv_qr().solve_lstsq(&right);
    let finite = |column: usize| Some(solution[(column, 0)]).filter(|x| x.is_finite()).unwrap_or(0.0);
    (0..columns).map(finite).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_fitted_and_a_singular_matrix_has_the_shortest_answer() {
        // y = 2 + 3t over four points, one of them off by known amounts: the closed form of linear regression.
        let t = [0.0, 1.0, 2.0, 3.0];
        let y = [2.0, 5.5, 7.5, 11.0];
        let found = least_squares(4, 2, |row, column| if column == 0 { 1.0 } else { t[row] }, &y, 0.0);
        let slope = (0..4).map(|i| (t[i] - 1.5) * (y[i] - 6.5)).sum::<f64>() / 5.0;
        assert!((found[1] - slope).abs() < 1e-12 && (found[0] - (6.5 - 1.5 * slope)).abs() < 1e-12);
        let shortest = least_squares(2, 2, |_, _| 1.0, &[2.0, 2.0], 1e-8);
        assert!(shortest.iter().all(|x| (x - 1.0).abs() < 1e-6), "{shortest:?}");
        assert_eq!(least_squares(2, 2, |_, _| 0.0, &[1.0, 1.0], 0.1), [0.0, 0.0]);
    }
}
