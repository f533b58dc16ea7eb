//! Least squares with Tikhonov's term, `min ‖Ax − y‖² + (λ‖A‖)²‖x‖²`, by Householder's QR factorisation of `[A; λ‖A‖I]`
//! with column pivoting.
//!
//! The stacked matrix is what keeps the small singular values that the normal equations would square away. Sums run in a
//! fixed order without fused products: the same bits on every machine.
//! Oracle: the closed form of linear regression, constructed solutions, and the gradient of what is minimised.

/// Chains of sums side by side: what hides the time an addition takes.
const CHAINS: usize = 8;

/// `entry(row, column)` of A, rows × columns; `damping` is λ, ‖A‖ the largest column. A matrix of zeros has the answer 0;
/// unknowns that a singular matrix leaves open are 0.
pub(crate) fn least_squares(
    rows: usize,
    columns: usize,
    entry: impl Fn(usize, usize) -> f64,
    y: &[f64],
    damping: f64,
) -> Vec<f64> {
    let height = rows + columns;
    if columns == 0 {
        return Vec::new();
    }
    let mut stacked = vec![0.0; height * columns];
    let mut largest: f64 = 0.0;
    for (index, column) in stacked.chunks_exact_mut(height).enumerate() {
        let above = &mut column[..rows];
        above.iter_mut().enumerate().for_each(|(row, value)| *value = entry(row, index));
        largest = largest.max(dot(above, above).sqrt());
    }
    for (index, column) in stacked.chunks_exact_mut(height).enumerate() {
        column[rows + index] = damping * largest;
    }
    let mut right = y.to_vec();
    right.resize(height, 0.0);
    let Triangle { diagonal, order } = triangle(&mut stacked, height, &mut right);
    let mut solution = vec![0.0; columns];
    for (k, &on_diagonal) in diagonal.iter().enumerate().rev() {
        let x = right[k] / on_diagonal;
        for (above, value) in right[..k].iter_mut().zip(&stacked[k * height..]) {
            *above -= value * x;
        }
        solution[order[k]] = Some(x).filter(|x| x.is_finite()).unwrap_or(0.0);
    }
    solution
}

/// R of a factorisation, what of it lies above the diagonal being left in the matrix.
struct Triangle {
    /// As long as the rank.
    diagonal: Vec<f64>,
    /// The unknown that each column belongs to.
    order: Vec<usize>,
}

/// Turns columns of `height` into R in place, and `right` with them.
fn triangle(matrix: &mut [f64], height: usize, right: &mut [f64]) -> Triangle {
    let columns = matrix.len() / height;
    let mut order: Vec<usize> = (0..columns).collect();
    // What is left of each column's square, and what it was when last summed: a difference far below it has lost its digits.
    let mut left: Vec<[f64; 2]> = matrix.chunks_exact(height).map(|column| [dot(column, column); 2]).collect();
    let mut diagonal: Vec<f64> = Vec::with_capacity(columns);
    for k in 0..columns {
        let Some(pivot) = (k..columns).max_by(|&a, &b| f64::total_cmp(&left[a][0], &left[b][0]).then(b.cmp(&a))) else {
            break;
        };
        if pivot != k {
            left.swap(k, pivot);
            order.swap(k, pivot);
            let (before, from) = matrix.split_at_mut(pivot * height);
            before[k * height..(k + 1) * height].swap_with_slice(&mut from[..height]);
        }
        let (done, rest) = matrix.split_at_mut((k + 1) * height);
        let mirror = &mut done[k * height + k..];
        let length = dot(mirror, mirror).sqrt();
        let rounding = f64::EPSILON * height as f64 * diagonal.first().map_or(0.0, |first| first.abs());
        if length <= rounding {
            break;
        }
        // Away from the column, so that nothing cancels.
        let image = if mirror[0] > 0.0 { -length } else { length };
        let per_square = 1.0 / (length * (length + mirror[0].abs()));
        mirror[0] -= image;
        diagonal.push(image);
        for (column, left) in rest.chunks_exact_mut(height).zip(&mut left[k + 1..]) {
            let column = &mut column[k..];
            reflect(mirror, per_square, column);
            left[0] -= column[0] * column[0];
            if left[0] <= f64::EPSILON.sqrt() * left[1] {
                *left = [dot(&column[1..], &column[1..]); 2];
            }
        }
        reflect(mirror, per_square, &mut right[k..]);
    }
    Triangle { diagonal, order }
}

/// `x − v (v·x)/½‖v‖²`.
fn reflect(v: &[f64], per_half_square: f64, x: &mut [f64]) {
    let share = dot(v, x) * per_half_square;
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= v * share);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<CHAINS>();
    let (b, b_rest) = b.as_chunks::<CHAINS>();
    let mut sums = [0.0; CHAINS];
    for (a, b) in a.iter().zip(b) {
        for chain in 0..CHAINS {
            sums[chain] += a[chain] * b[chain];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
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
        assert_eq!(least_squares(2, 0, |_, _| 1.0, &[1.0, 1.0], 0.1), [0.0; 0]);
        assert_eq!(least_squares(0, 2, |_, _| 1.0, &[], 0.1), [0.0, 0.0]);
        assert_eq!(least_squares(1, 1, |_, _| f64::NAN, &[1.0], 0.1), [0.0]);
    }

    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        }
    }

    /// Columns of all sizes, the largest in the middle, so that their order changes.
    fn size(column: usize, columns: usize, spread: f64) -> f64 {
        spread.powf(-((column as f64 - 0.5 * columns as f64).abs() / columns as f64))
    }

    #[test]
    fn constructed_solutions_are_found() {
        for (seed, columns) in [1, 2, 5, 17, 40].into_iter().enumerate() {
            let (inner, rows) = (2 * columns, 2 * columns + 13);
            let mut random = random(seed as u64 + 1);
            // The last rows of A are 0, and all that y has beside Ax is there; one mirror mixes them with the others.
            let mut of_columns: Vec<Vec<f64>> = (0..columns)
                .map(|column| {
                    let entry = |row| if row < inner { random() * size(column, columns, 1e6) } else { 0.0 };
                    (0..rows).map(entry).collect()
                })
                .collect();
            let x: Vec<f64> = (0..columns).map(|column| random() / size(column, columns, 1e6)).collect();
            let mut y: Vec<f64> = (0..rows)
                .map(|row| (0..columns).map(|column| of_columns[column][row] * x[column]).sum::<f64>())
                .collect();
            y[inner..].iter_mut().for_each(|beside| *beside = random());
            let v: Vec<f64> = (0..rows).map(|_| random()).collect();
            let per_half_square = 2.0 / v.iter().map(|v| v * v).sum::<f64>();
            for side in of_columns.iter_mut().chain([&mut y]) {
                let share = side.iter().zip(&v).map(|(a, v)| a * v).sum::<f64>() * per_half_square;
                side.iter_mut().zip(&v).for_each(|(a, v)| *a -= v * share);
            }
            let found = least_squares(rows, columns, |row, column| of_columns[column][row], &y, 0.0);
            for (column, (found, x)) in found.iter().zip(&x).enumerate() {
                let apart = (found - x).abs() * size(column, columns, 1e6);
                assert!(apart < 1e-12, "{columns} columns: {found} instead of {x}");
            }
        }
    }

    #[test]
    fn what_is_found_is_a_minimum_also_where_the_matrix_is_singular() {
        for (seed, (rows, columns)) in [(3, 7), (12, 12), (60, 21), (200, 48)].into_iter().enumerate() {
            for damping in [0.0, 1e-6, 0.03] {
                let mut random = random(seed as u64 + 99);
                // Every third column is the sum of the two before it.
                let mut a = vec![vec![0.0; columns]; rows];
                for row in &mut a {
                    for column in 0..columns {
                        row[column] = if column % 3 == 2 { row[column - 1] + row[column - 2] } else { random() };
                    }
                }
                let y: Vec<f64> = (0..rows).map(|_| random()).collect();
                let x = least_squares(rows, columns, |row, column| a[row][column], &y, damping);
                let norm = |column: usize| a.iter().map(|row| row[column] * row[column]).sum::<f64>().sqrt();
                let largest = (0..columns).map(norm).fold(0.0, f64::max);
                let beside = |row: usize| (0..columns).map(|column| a[row][column] * x[column]).sum::<f64>() - y[row];
                let length = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
                let scale = largest * (largest * length(&x) + length(&y));
                for column in 0..columns {
                    let slope = (0..rows).map(|row| a[row][column] * beside(row)).sum::<f64>()
                        + (damping * largest).powi(2) * x[column];
                    assert!(slope.abs() < 1e-13 * scale, "{rows} × {columns}, λ {damping}: {slope:e} of {scale:e}");
                }
                assert!(length(&x) < 1e3 * length(&y) / largest, "{x:?}");
            }
        }
    }
}
