//! Tall matrices, column by column in f32, and the few products the factorisation needs.
//!
//! Every product is cut into pieces of fixed size, each computed by one thread, and sums run over the pieces in order:
//! the same bits at any thread count.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Rows one thread takes at a time: few enough that those of all columns stay in the second cache.
const ROWS: usize = 2048;
/// Pieces whose sums are held at a time.
const TOGETHER: usize = 16;

/// A matrix with many rows, grown column by column.
#[derive(Clone, Debug)]
pub struct Tall {
    rows: usize,
    data: Vec<f32>,
}

impl Tall {
    /// No columns yet. `rows` is at least 1.
    pub fn new(rows: usize) -> Self {
        Self { rows: rows.max(1), data: Vec::new() }
    }

    /// From columns one after the other.
    pub fn from_columns(rows: usize, data: Vec<f32>) -> Self {
        debug_assert!(data.len().is_multiple_of(rows.max(1)));
        Self { rows: rows.max(1), data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.data.len() / self.rows
    }

    /// All numbers, column by column.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// All numbers, to be changed.
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// One column.
    pub fn column(&self, index: usize) -> &[f32] {
        &self.data[index * self.rows..(index + 1) * self.rows]
    }

    /// One column, to be changed.
    pub fn column_mut(&mut self, index: usize) -> &mut [f32] {
        &mut self.data[index * self.rows..(index + 1) * self.rows]
    }

    /// All columns, to be changed one by one.
    pub fn columns_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [f32]> {
        self.data.par_chunks_exact_mut(self.rows)
    }

    /// Adds a column; its length must be the number of rows.
    pub fn push(&mut self, column: &[f32]) {
        debug_assert_eq!(column.len(), self.rows);
        self.data.extend_from_slice(column);
    }

    /// Keeps the first columns.
    pub fn truncate(&mut self, columns: usize) {
        self.data.truncate(columns * self.rows);
    }

    /// As the linear algebra sees it.
    pub fn view(&self) -> MatRef<'_, f32> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.columns())
    }

    /// Rows of some points alone, x of all of them, y, z; `self` has three times as many rows as there are points.
    pub fn of_points(&self, points: &[u32]) -> Self {
        let all = self.rows / 3;
        let mut some = Self::new(3 * points.len());
        some.data.reserve(some.rows * self.columns());
        for plane in self.data.chunks_exact(all.max(1)).take(3 * self.columns()) {
            some.data.extend(points.iter().map(|&point| plane[point as usize]));
        }
        some
    }

    /// `selfᵀ x`, one column per column of `x`.
    pub fn transpose_times(&self, x: &[f32]) -> Mat<f32> {
        self.first_transpose_times(self.columns(), x)
    }

    /// `selfᵀ x` for the first `count` columns of `self`, summed over pieces in f64.
    pub fn first_transpose_times(&self, count: usize, x: &[f32]) -> Mat<f32> {
        let wide = x.len() / self.rows;
        let (first, x) = (self.view().subcols(0, count), MatRef::from_column_major_slice(x, self.rows, wide));
        let starts: Vec<usize> = (0..self.rows).step_by(ROWS).collect();
        let piece = |&start: &usize| {
            let rows = ROWS.min(self.rows - start);
            let mut product = Mat::<f32>::zeros(count, wide);
            let (first, x) = (first.subrows(start, rows), x.subrows(start, rows));
            matmul(&mut product, Accum::Replace, first.transpose(), x, 1.0, Par::Seq);
            product
        };
        let mut sum = Mat::<f64>::zeros(count, wide);
        for some in starts.chunks(TOGETHER) {
            let products: Vec<Mat<f32>> = some.par_iter().map(piece).collect();
            for product in products {
                for column in 0..wide {
                    for row in 0..count {
                        sum[(row, column)] += f64::from(product[(row, column)]);
                    }
                }
            }
        }
        Mat::from_fn(count, wide, |row, column| sum[(row, column)] as f32)
    }

    /// `x ← x + factor · self c`.
    pub fn add_product(&self, factor: f32, c: MatRef<'_, f32>, x: &mut [f32]) {
        if self.columns() == 0 || x.is_empty() {
            return;
        }
        let wide = x.len() / self.rows;
        by_rows(MatMut::from_column_major_slice_mut(x, self.rows, wide), 0, &|out, start| {
            let piece = self.view().subrows(start, out.nrows());
            matmul(out, Accum::Add, piece, c, factor, Par::Seq);
        });
    }

    /// `self c`.
    pub fn times(&self, c: MatRef<'_, f32>) -> Self {
        let mut product = vec![0.0; self.rows * c.ncols()];
        self.add_product(1.0, c, &mut product);
        Self { rows: self.rows, data: product }
    }

    /// `selfᵀ W self` in f64, W the diagonal of `weights` repeated for the three coordinates.
    pub fn weighted_gram(&self, weights: &[f32]) -> Mat<f64> {
        let columns = self.columns();
        let starts: Vec<usize> = (0..self.rows).step_by(ROWS).collect();
        let piece = |start: usize| {
            let rows = ROWS.min(self.rows - start);
            // Once per row: the weights of a coordinate begin anew somewhere in it.
            let root = |row: usize| f64::from(weights[(start + row) % weights.len()]).sqrt();
            let roots: Vec<f64> = (0..rows).map(root).collect();
            let mut scaled = Vec::with_capacity(rows * columns);
            for column in 0..columns {
                let column = &self.column(column)[start..start + rows];
                scaled.extend(column.iter().zip(&roots).map(|(x, root)| f64::from(*x) * root));
            }
            let scaled = MatRef::from_column_major_slice(&scaled, rows, columns);
            let mut gram = Mat::zeros(columns, columns);
            lower_gram(scaled.transpose(), &mut gram);
            gram
        };
        let mut sum = Mat::zeros(columns, columns);
        for some in starts.chunks(TOGETHER) {
            let grams: Vec<Mat<f64>> = some.par_iter().map(|&start| piece(start)).collect();
            grams.iter().for_each(|gram| sum += gram);
        }
        mirror(&mut sum);
        sum
    }
}

/// `a aᵀ`.
pub fn gram(a: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.nrows(), a.nrows());
    lower_gram(a, &mut product);
    mirror(&mut product);
    product
}

/// The lower half of `a aᵀ`, which is symmetric.
fn lower_gram(a: MatRef<'_, f64>, out: &mut Mat<f64>) {
    let (half, all) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(out, half, Accum::Replace, a, all, a.transpose(), all, 1.0, Par::Seq);
}

fn mirror(lower: &mut Mat<f64>) {
    for column in 0..lower.ncols() {
        for row in 0..column {
            lower[(row, column)] = lower[(column, row)];
        }
    }
}

/// Cuts a matrix into pieces of [`ROWS`] rows; `see` is given each, and where it begins.
fn by_rows(out: MatMut<'_, f32>, start: usize, see: &(impl Fn(MatMut<'_, f32>, usize) + Sync)) {
    let rows = out.nrows();
    if rows <= ROWS {
        see(out, start);
        return;
    }
    let above = rows.div_ceil(ROWS).div_ceil(2) * ROWS;
    let (top, bottom) = out.split_at_row_mut(above);
    rayon::join(|| by_rows(top, start, see), || by_rows(bottom, start + above, see));
}
