//! One pass over all frames, whatever their number: an orthonormal basis Q of what the effects do, and the
//! coefficients of the frames in it.
//!
//! Frames come in blocks. A block is projected on what is known (twice where rounding may leave too much the first time);
//! the frame that is worst represented, in the length of its worst point, joins the basis, until every frame of the block
//! is represented to `precision`. So `|x − Q c|∞ ≤ precision` holds for every frame seen, unless the basis is full: then it
//! is turned to its principal axes and the weaker half is given up. Coefficients are kept of the frames that made the
//! basis grow, which are the extremes, and of a bounded number of others, evenly spread; what the basis gave up or skipped
//! is seen when the result is measured against the frames themselves.
//!
//! Oracle: a matrix of known rank gives that rank, and every frame back.

use crate::factor::{FactorError, principal_axes};
use crate::lanes::{dot, largest_vector, subtract};
use crate::matrix::{Tall, gram};
use faer::Mat;
use rayon::prelude::*;

/// Frames whose coefficients are kept beside those that made the basis grow: past it, every second one.
const MOST_FRAMES: usize = 1024;

/// What rounding may leave of a projected frame, as a share of its largest displacement: sums of a few hundred numbers of which
/// each may be off by half a unit in its last place.
const ROUNDING: f32 = 64.0 * f32::EPSILON;

/// What has been seen so far.
#[derive(Debug)]
pub struct Range {
    basis: Tall,
    /// Coefficients per kept frame; shorter than the basis where it grew later.
    frames: Vec<Kept>,
    seen: usize,
    stride: usize,
    precision: f32,
    most_columns: usize,
}

/// A frame that is kept.
#[derive(Clone, Debug, Default)]
struct Kept {
    coefficients: Vec<f32>,
    /// Whether the basis grew by it.
    is_extreme: bool,
}

impl Range {
    /// For frames of `rows` numbers (x of all points, y of all points, z of all points).
    pub fn new(rows: usize, precision: f64, most_columns: usize) -> Self {
        Self {
            basis: Tall::new(rows),
            frames: Vec::new(),
            seen: 0,
            stride: 1,
            precision: precision as f32,
            most_columns: most_columns.clamp(2, rows.max(2)),
        }
    }

    /// The basis, orthonormal.
    pub fn basis(&self) -> &Tall {
        &self.basis
    }

    /// Coefficients of the kept frames, one column each.
    pub fn coefficients(&self) -> Mat<f64> {
        Mat::from_fn(self.basis.columns(), self.frames.len(), |row, column| {
            self.frames[column].coefficients.get(row).copied().map_or(0.0, f64::from)
        })
    }

    /// Takes in a block of frames, one after the other.
    pub fn add(&mut self, frames: Vec<f32>) -> Result<(), FactorError> {
        let rows = self.basis.rows();
        let mut residual = Tall::from_columns(rows, frames);
        let count = residual.columns();
        let mut kept = vec![Kept::default(); count];
        let columns = self.basis.columns();
        // As many as rows are all directions there are: no block needs more.
        if self.most_columns < rows && columns + count > self.most_columns && columns > self.most_columns / 2 {
            self.give_up_half()?;
        }
        // Where rounding may leave more than the precision, it is taken out once more.
        let top = residual.columns_mut().map(|column| largest_vector(column)).reduce(|| 0.0, f32::max);
        let passes = if ROUNDING * top > self.precision { 2 } else { 1 };
        for _ in 0..passes {
            let part = self.basis.transpose_times(residual.data());
            self.basis.add_product(-1.0, part.as_ref(), residual.data_mut());
            for (column, Kept { coefficients, .. }) in kept.iter_mut().enumerate() {
                coefficients.resize(self.basis.columns(), 0.0);
                coefficients.iter_mut().enumerate().for_each(|(row, c)| *c += part[(row, column)]);
            }
        }
        let mut lengths: Vec<f32> = residual.columns_mut().map(|column| largest_vector(column)).collect();
        while self.basis.columns() < self.most_columns {
            let worst =
                (0..count).fold(0, |worst, column| if lengths[column] > lengths[worst] { column } else { worst });
            if count == 0 || lengths[worst] <= self.precision {
                break;
            }
            let Some(direction) = self.new_direction(residual.column(worst)) else { break };
            let take_out = |column: &mut [f32]| {
                let part = dot(&direction, column);
                subtract(column, part, &direction);
                (part, largest_vector(column))
            };
            let parts: Vec<f32>;
            (parts, lengths) = residual.columns_mut().map(take_out).unzip();
            kept.iter_mut().zip(parts).for_each(|(kept, part)| kept.coefficients.push(part));
            kept[worst].is_extreme = true;
            self.basis.push(&direction);
        }
        for kept in kept {
            if kept.is_extreme || self.seen.is_multiple_of(self.stride) {
                self.frames.push(kept);
            }
            self.seen += 1;
        }
        while self.frames.iter().filter(|kept| !kept.is_extreme).count() > MOST_FRAMES {
            self.stride *= 2;
            let mut index = 0;
            self.frames.retain(|kept| {
                index += usize::from(!kept.is_extreme);
                kept.is_extreme || index % 2 == 1
            });
        }
        Ok(())
    }

    /// A unit vector across the basis; `None` where nothing but rounding is left.
    fn new_direction(&self, column: &[f32]) -> Option<Vec<f32>> {
        let mut direction = column.to_vec();
        let before = dot(&direction, &direction);
        let part = self.basis.transpose_times(&direction);
        self.basis.add_product(-1.0, part.as_ref(), &mut direction);
        let after = dot(&direction, &direction);
        let is_rounding = after.is_nan() || after < 0.01 * before || after < f32::MIN_POSITIVE;
        let scale = 1.0 / after.sqrt();
        direction.iter_mut().for_each(|x| *x *= scale);
        (!is_rounding && scale.is_finite()).then_some(direction)
    }

    fn give_up_half(&mut self) -> Result<(), FactorError> {
        let coefficients = self.coefficients();
        let (_, axes) = principal_axes(gram(coefficients.as_ref()).as_ref())?;
        let kept = axes.subcols(0, self.most_columns / 2);
        let turn = Mat::from_fn(kept.nrows(), kept.ncols(), |row, column| kept[(row, column)] as f32);
        self.basis = self.basis.times(turn.as_ref());
        let turned = kept.transpose() * &coefficients;
        for (column, frame) in self.frames.iter_mut().enumerate() {
            frame.coefficients = (0..turned.nrows()).map(|row| turned[(row, column)] as f32).collect();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_testkit::random::Random;

    fn low_rank(rows: usize, frames: usize, rank: usize, random: &mut Random) -> Vec<f32> {
        let mut numbers = |count| (0..count).map(|_| random.between(-1.0, 1.0) as f32).collect::<Vec<_>>();
        let (left, right) = (Tall::from_columns(rows, numbers(rows * rank)), numbers(rank * frames));
        let right = faer::MatRef::from_column_major_slice(&right, rank, frames).to_owned();
        left.times(right.as_ref()).data().to_vec()
    }

    #[test]
    fn a_known_rank_is_found_and_every_frame_comes_back() {
        let (rows, frames, rank) = (300, 120, 7);
        let data = low_rank(rows, frames, rank, &mut Random::new(3));
        let mut range = Range::new(rows, 1e-4, 64);
        for block in data.chunks(16 * rows) {
            range.add(block.to_vec()).unwrap();
        }
        assert_eq!(range.basis().columns(), rank);
        let gram = range.basis().weighted_gram(&[1.0]);
        for row in 0..rank {
            for column in 0..rank {
                let expected = if row == column { 1.0 } else { 0.0 };
                assert!((gram[(row, column)] - expected).abs() < 1e-5);
            }
        }
        let coefficients = range.coefficients();
        let back = range.basis().times(Mat::from_fn(rank, frames, |r, c| coefficients[(r, c)] as f32).as_ref());
        for (a, b) in back.data().iter().zip(&data) {
            assert!((a - b).abs() < 1e-4);
        }
    }

    #[test]
    fn a_basis_that_has_room_for_all_directions_gives_up_none() {
        let mut random = Random::new(5);
        let rows = 30;
        let mut range = Range::new(rows, 1e-5, 1024);
        let data: Vec<f32> = (0..rows * 200).map(|_| random.between(-1.0, 1.0) as f32).collect();
        for block in data.chunks(40 * rows) {
            range.add(block.to_vec()).unwrap();
        }
        assert_eq!(range.basis().columns(), rows);
        let mut residual = data;
        let part = range.basis().transpose_times(&residual);
        range.basis().add_product(-1.0, part.as_ref(), &mut residual);
        assert!(residual.iter().all(|x| x.abs() < 1e-5));
    }

    #[test]
    fn a_full_basis_keeps_its_strongest_half() {
        let mut random = Random::new(4);
        let rows = 90;
        let strong = low_rank(rows, 40, 3, &mut random);
        let mut range = Range::new(rows, 1e-5, 10);
        range.add(strong.clone()).unwrap();
        let weak: Vec<f32> = (0..rows * 200).map(|_| random.between(-1e-3, 1e-3) as f32).collect();
        for block in weak.chunks(8 * rows) {
            range.add(block.to_vec()).unwrap();
        }
        assert!(range.basis().columns() <= 10);
        let mut residual = strong;
        let part = range.basis().transpose_times(&residual);
        range.basis().add_product(-1.0, part.as_ref(), &mut residual);
        assert!(residual.iter().all(|x| x.abs() < 0.02));
    }
}
