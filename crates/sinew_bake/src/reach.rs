//! How far a product of matrices reaches: the longest of its 3-vectors per point and per column, as largest errors are made
//! of. It is computed tile by tile and never held.
//!
//! Oracle: the whole product.

use crate::lanes::raise_by;
use crate::matrix::Tall;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Points of a tile, and columns: what they make stays in the second cache.
const POINTS: usize = 384;
const COLUMNS: usize = 64;

/// Longest vectors of a product.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reach {
    /// Per point, over all columns.
    pub points: Vec<f32>,
    /// Per column, over all points.
    pub columns: Vec<f32>,
}

impl Reach {
    /// Of all points and columns.
    pub fn largest(&self) -> f32 {
        self.columns.iter().copied().fold(0.0, f32::max)
    }
}

/// Of `matrix · coefficients`, x of all points, y, z; the vectors of a point multiplied by its entry of `stretch`, if there is
/// any.
pub fn reach(matrix: &Tall, coefficients: MatRef<'_, f32>, stretch: Option<&[f32]>) -> Reach {
    let (points, columns) = (matrix.rows() / 3, coefficients.ncols());
    let mut reach = Reach { points: vec![0.0; points], columns: vec![0.0; columns] };
    if matrix.columns() == 0 {
        return reach;
    }
    let tile = |first: usize| (0..columns).step_by(COLUMNS).map(move |column| (first, column));
    let tiles: Vec<(usize, usize)> = (0..points).step_by(POINTS).flat_map(tile).collect();
    let of_tile = |planes: &mut Vec<f32>, &(first, column): &(usize, usize)| {
        let (rows, wide) = (POINTS.min(points - first), COLUMNS.min(columns - column));
        planes.resize(3 * rows * wide, 0.0);
        for (axis, plane) in planes.chunks_exact_mut(rows * wide).enumerate() {
            let out = MatMut::from_column_major_slice_mut(plane, rows, wide);
            let rows = matrix.view().subrows(axis * points + first, rows);
            matmul(out, Accum::Replace, rows, coefficients.subcols(column, wide), 1.0, Par::Seq);
        }
        let mut squares = vec![0.0f32; rows];
        let stretch = stretch.map(|stretch| &stretch[first..first + rows]);
        let of_column = |at: usize| {
            let plane = |axis: usize| &planes[(axis * wide + at) * rows..][..rows];
            raise_by(&mut squares, [plane(0), plane(1), plane(2)], stretch).sqrt()
        };
        let of_columns: Vec<f32> = (0..wide).map(of_column).collect();
        (squares, of_columns)
    };
    let found: Vec<(Vec<f32>, Vec<f32>)> = tiles.par_iter().map_init(Vec::new, of_tile).collect();
    for ((first, column), (squares, of_columns)) in tiles.into_iter().zip(found) {
        let of_points = reach.points[first..].iter_mut().zip(&squares);
        of_points.for_each(|(largest, square)| *largest = largest.max(square.sqrt()));
        let of_all = reach.columns[column..].iter_mut().zip(&of_columns);
        of_all.for_each(|(largest, here)| *largest = largest.max(*here));
    }
    reach
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;
    use sinew_testkit::random::Random;

    #[test]
    fn tiles_give_what_the_whole_product_gives() {
        let mut random = Random::new(2);
        for (points, inner, columns) in [(1, 1, 1), (POINTS, 3, COLUMNS), (2 * POINTS + 5, 7, COLUMNS + 9), (30, 0, 4)]
        {
            let mut numbers = |count: usize| (0..count).map(|_| random.between(-1.0, 1.0) as f32).collect::<Vec<f32>>();
            let matrix = Tall::from_columns(3 * points, numbers(3 * points * inner));
            let (c, stretch) = (numbers(inner * columns), numbers(points));
            let c = Mat::from_fn(inner, columns, |row, column| c[column * inner + row]);
            let mut whole = Reach { points: vec![0.0; points], columns: vec![0.0; columns] };
            for column in 0..columns {
                for point in 0..points {
                    let of_axis = |axis: usize| -> f64 {
                        let row = axis * points + point;
                        (0..inner).map(|k| f64::from(matrix.column(k)[row]) * f64::from(c[(k, column)])).sum()
                    };
                    let length = (0..3).map(|axis| of_axis(axis).powi(2)).sum::<f64>().sqrt();
                    let length = (length * f64::from(stretch[point]).abs()) as f32;
                    whole.points[point] = whole.points[point].max(length);
                    whole.columns[column] = whole.columns[column].max(length);
                }
            }
            let found = reach(&matrix, c.as_ref(), Some(&stretch));
            let pairs = found.points.iter().zip(&whole.points).chain(found.columns.iter().zip(&whole.columns));
            pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-5, "{a} {b}"));
            let ones = vec![1.0; points];
            assert_eq!(reach(&matrix, c.as_ref(), None), reach(&matrix, c.as_ref(), Some(&ones)));
            assert_eq!(found.largest(), found.points.iter().copied().fold(0.0, f32::max));
        }
    }
}
