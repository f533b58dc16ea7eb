//! Least squares with Tikhonov's term, `min ‖Ax − y‖² + (λ‖A‖)²‖x‖²`, by Householder reflections of `[A; λ‖A‖I]`.
//!
//! The stacked matrix is what keeps the small singular values that the normal equations would square away.

/// `entry(row, column)` of A, rows × columns; `damping` is λ, ‖A‖ the largest column.
pub(crate) fn least_squares(
    rows: usize,
    columns: usize,
    entry: impl Fn(usize, usize) -> f64,
    y: &[f64],
    damping: f64,
) -> Vec<f64> {
    let height = rows + columns;
    // Column by column, the right side last.
    let mut a = vec![vec![0.0; height]; columns + 1];
    let mut largest: f64 = 0.0;
    for (column, values) in a.iter_mut().enumerate().take(columns) {
        for (row, value) in values.iter_mut().enumerate().take(rows) {
            *value = entry(row, column);
        }
        largest = largest.max(norm(values));
    }
    for (column, values) in a.iter_mut().enumerate().take(columns) {
        values[rows + column] = damping * largest;
    }
    a[columns][..rows].copy_from_slice(&y[..rows]);

    let mut diagonal = vec![0.0; columns];
    for k in 0..columns {
        let (done, rest) = a.split_at_mut(k + 1);
        let pivot = &mut done[k][k..];
        let length = norm(pivot);
        if length == 0.0 {
            continue;
        }
        // Away from cancellation.
        diagonal[k] = -length.copysign(pivot[0]);
        pivot[0] -= diagonal[k];
        let square: f64 = pivot.iter().map(|v| v * v).sum();
        for other in rest {
            let other = &mut other[k..];
            let share = 2.0 / square * pivot.iter().zip(other.iter()).map(|(p, o)| p * o).sum::<f64>();
            for (o, p) in other.iter_mut().zip(pivot.iter()) {
                *o -= share * p;
            }
        }
    }
    let mut x = vec![0.0; columns];
    for k in (0..columns).rev() {
        let known: f64 = (k + 1..columns).map(|j| a[j][k] * x[j]).sum();
        let quotient = (a[columns][k] - known) / diagonal[k];
        x[k] = if quotient.is_finite() { quotient } else { 0.0 };
    }
    x
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
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
