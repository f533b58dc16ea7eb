//! The springs of [`super::rows`] brought to rest.

use super::descent::{DescentScratch, Energy, Evaluated, Scheme, Solved, Stop, descend};
use super::kernels::{Kernel, add_dot, dot_of, hang, plain_dot, plain_square, plain_step, some_forces, sum, tell};
use super::model::{SpringFrame, Springs};
use super::rows::{BLOCK, RowFrame, SpringRows};
use crate::rings::in_blocks;
use crate::simd::{LANES, Level, PointRow, dispatch};
use glam::DVec3;
use std::ops::Range;

/// Memory of the solver.
#[derive(Clone, Debug, Default)]
pub(super) struct RowScratch {
    points: Vec<PointRow>,
    frame: RowFrame,
    descent: DescentScratch<Vec<PointRow>>,
}

impl SpringRows {
    /// As [`Springs::solve`]; `springs` are those the rows were made of.
    pub fn solve(
        &self,
        springs: &Springs,
        (level, pool): (Level, Option<&rayon::ThreadPool>),
        frame: &SpringFrame<'_>,
        points: &mut [DVec3],
        (scheme, stop): (Scheme, &Stop),
        scratch: &mut RowScratch,
    ) -> Solved {
        let RowScratch { points: rows, frame: row_frame, descent } = scratch;
        // About a point near them: far from it single precision would lose the shape.
        let middle = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
        self.rows_of(rows, |point| (points[point] - middle) / self.unit);
        self.load(springs, frame, middle, row_frame);
        let stop = Stop {
            largest_move: stop.largest_move / self.unit,
            largest_force: stop.largest_force / self.unit,
            ..*stop
        };
        let mut energy = RowEnergy { springs: self, frame: row_frame, level, pool };
        let solved = match pool {
            // Threads are woken once.
            Some(pool) => pool.install(|| descend(&mut energy, rows, scheme, &stop, descent)),
            None => descend(&mut energy, rows, scheme, &stop, descent),
        };
        for (slot, &point) in self.order.iter().enumerate() {
            let [x, y, z] = &rows[slot / LANES];
            let lane = slot % LANES;
            let p = DVec3::new(f64::from(x[lane]), f64::from(y[lane]), f64::from(z[lane]));
            points[point as usize] = middle + p * self.unit;
        }
        Solved {
            energy: solved.energy * self.unit * self.unit,
            largest_move: solved.largest_move * self.unit,
            ..solved
        }
    }
}

struct RowEnergy<'a> {
    springs: &'a SpringRows,
    frame: &'a mut RowFrame,
    level: Level,
    pool: Option<&'a rayon::ThreadPool>,
}

impl Energy for RowEnergy<'_> {
    type Vectors = Vec<PointRow>;
    const ROUNDING: f64 = 1e-6;

    fn forces(&mut self, points: &Vec<PointRow>, forces: &mut Vec<PointRow>) -> Evaluated {
        forces.resize(points.len(), [[0.0; LANES]; 3]);
        let (springs, level) = (self.springs, self.level);
        let kernel = match (springs.is_plain, springs.stiff.is_empty()) {
            (true, _) => Kernel::Plain,
            (false, true) => Kernel::Alike,
            (false, false) => Kernel::Each,
        };
        let RowFrame { anchors, hung, records, .. } = &mut *self.frame;
        in_blocks(self.pool, (hung, BLOCK), (records, BLOCK * LANES), |block, hung, records| {
            let rows = block * BLOCK..block * BLOCK + hung.len();
            let (points, anchors, rest) = (&points[rows.clone()], &anchors[rows.clone()], &springs.rest[rows]);
            if springs.is_plain {
                dispatch!(level, simd => tell(simd, points, records));
            } else {
                dispatch!(level, simd => hang(simd, points, anchors, rest, hung, records));
            }
        });
        let mut felt = std::mem::take(&mut self.frame.felt);
        let frame = &*self.frame;
        in_blocks(self.pool, (forces, BLOCK), (&mut felt, 1), |block, forces, felt| {
            let first = block * BLOCK;
            felt[0] = match kernel {
                Kernel::Plain => {
                    dispatch!(level, simd => some_forces(simd, Kernel::Plain, springs, frame, first, points, forces))
                }
                Kernel::Alike => {
                    dispatch!(level, simd => some_forces(simd, Kernel::Alike, springs, frame, first, points, forces))
                }
                Kernel::Each => {
                    dispatch!(level, simd => some_forces(simd, Kernel::Each, springs, frame, first, points, forces))
                }
            };
        });
        let all = felt.iter().fold(Evaluated::default(), |all, block| Evaluated {
            energy: all.energy + 0.5 * block.energy,
            largest_move: all.largest_move.max(block.largest_move),
            largest_force: all.largest_force.max(block.largest_force),
        });
        self.frame.felt = felt;
        all
    }

    fn plain_step(&self, points: &Vec<PointRow>, forces: &Vec<PointRow>, fixed: bool, k: f64, out: &mut Vec<PointRow>) {
        out.resize(points.len(), [[0.0; LANES]; 3]);
        let one = fixed.then_some(self.frame.fixed_gain);
        self.each(out, |rows, out| {
            let (points, forces, gains) = (&points[rows.clone()], &forces[rows.clone()], &self.frame.gains[rows]);
            dispatch!(self.level, simd => plain_step(simd, points, forces, (gains, one), k as f32, out));
        });
    }

    fn plain_square(&self, a: &Vec<PointRow>) -> f64 {
        let gains = &self.frame.gains;
        self.total(
            &mut [],
            &|rows, _| dispatch!(self.level, simd => plain_square(simd, &a[rows.clone()], &gains[rows])),
        )
    }

    fn plain_dot(&self, a: &mut Vec<PointRow>, k: f64, c: &Vec<PointRow>) -> f64 {
        let gains = &self.frame.gains;
        self.total(
            a,
            &|rows, a| dispatch!(self.level, simd => plain_dot(simd, a, &gains[rows.clone()], k as f32, &c[rows])),
        )
    }

    fn dot(&self, a: &Vec<PointRow>, b: &Vec<PointRow>) -> f64 {
        self.total(&mut [], &|rows, _| dispatch!(self.level, simd => dot_of(simd, &a[rows.clone()], &b[rows])))
    }

    fn sum(&self, a: &Vec<PointRow>, b: &Vec<PointRow>, k: f64, out: &mut Vec<PointRow>) {
        out.resize(a.len(), [[0.0; LANES]; 3]);
        self.each(out, |rows, out| {
            let (a, b) = (&a[rows.clone()], &b[rows]);
            dispatch!(self.level, simd => sum(simd, a, b, k as f32, out));
        });
    }

    fn add_dot(&self, a: &mut Vec<PointRow>, b: &Vec<PointRow>, k: f64, c: &Vec<PointRow>) -> f64 {
        self.total(a, &|rows, a| dispatch!(self.level, simd => add_dot(simd, a, &b[rows.clone()], k as f32, &c[rows])))
    }
}

impl RowEnergy<'_> {
    /// Runs `work` on fixed blocks of rows.
    fn each(&self, rows: &mut [PointRow], work: impl Fn(Range<usize>, &mut [PointRow]) + Sync) {
        let nothing = &mut vec![(); rows.len()][..];
        in_blocks(self.pool, (rows, BLOCK), (nothing, BLOCK), |block, rows, _| {
            work(block * BLOCK..block * BLOCK + rows.len(), rows);
        });
    }

    /// What `work` gives on fixed blocks of all rows, added up; it may write its block of `rows`, if there are any.
    fn total(&self, rows: &mut [PointRow], work: BlockSum<'_>) -> f64 {
        let on_threads = self.pool.is_some_and(|pool| pool.current_num_threads() > 1);
        total(0..self.springs.rest.len(), rows, on_threads, work)
    }
}

type BlockSum<'a> = &'a (dyn Fn(Range<usize>, &mut [PointRow]) -> f64 + Sync);

/// Halved again and again: the same sums on any number of threads.
fn total(range: Range<usize>, rows: &mut [PointRow], on_threads: bool, work: BlockSum<'_>) -> f64 {
    let blocks = range.len().div_ceil(BLOCK);
    if blocks <= 1 {
        return work(range, rows);
    }
    let half = blocks / 2 * BLOCK;
    let middle = range.start + half;
    let (left, right) = rows.split_at_mut(half.min(rows.len()));
    let mut first = || total(range.start..middle, left, on_threads, work);
    let mut second = || total(middle..range.end, right, on_threads, work);
    if on_threads {
        let (first, second) = rayon::join(first, second);
        first + second
    } else {
        first() + second()
    }
}
