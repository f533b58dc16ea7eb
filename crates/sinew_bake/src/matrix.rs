//! Tall matrices, column by column in f32, and the few products the factorisation needs.
//!
//! Every product is cut into pieces of fixed size, each computed by one thread, and sums run over the pieces in order:
//! the same bits at any thread count.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Columns of the right-hand side one thread takes at a time.
const COLUMNS: usize = 8;
/// Rows one thread takes at a time.
const ROWS: usize = 2048;

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

    /// `selfᵀ x`, one column per column of `x`.
    pub fn transpose_times(&self, x: &[f32]) -> Mat<f32> {
        self.first_transpose_times(self.columns(), x)
    }

    /// `selfᵀ x` for the first `count` columns of `self`.
    pub fn first_transpose_times(&self, count: usize, x: &[f32]) -> Mat<f32> {
        let wide = x.len() / self.rows;
        let mut product = vec![0.0; count * wide];
        if count > 0 {
            let first = self.view().subcols(0, count);
            let pieces = product.par_chunks_mut(COLUMNS * count).zip(x.par_chunks(COLUMNS * self.rows));
            pieces.for_each(|(product, x)| {
                let wide = x.len() / self.rows;
                let out = MatMut::from_column_major_slice_mut(product, count, wide);
                let x = MatRef::from_column_major_slice(x, self.rows, wide);
                matmul(out, Accum::Replace, first.transpose(), x, 1.0, Par::Seq);
            });
        }
        MatRef::from_column_major_slice(&product, count, wide).to_owned()
    }

    /// `x ← x + factor · self c`.
    pub fn add_product(&self, factor: f32, c: MatRef<'_, f32>, x: &mut [f32]) {
        if self.columns() == 0 {
            return;
        }
        x.par_chunks_mut(COLUMNS * self.rows).enumerate().for_each(|(piece, x)| {
            let wide = x.len() / self.rows;
            let out = MatMut::from_column_major_slice_mut(x, self.rows, wide);
            matmul(out, Accum::Add, self.view(), c.subcols(piece * COLUMNS, wide), factor, Par::Seq);
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
            matmul(&mut gram, Accum::Replace, scaled.transpose(), scaled, 1.0, Par::Seq);
            gram
        };
        let mut sum = Mat::zeros(columns, columns);
        // A few at a time: their grams may be large.
        for some in starts.chunks(16) {
            let grams: Vec<Mat<f64>> = some.par_iter().map(|&start| piece(start)).collect();
            grams.iter().for_each(|gram| sum += gram);
        }
        sum
    }
}
