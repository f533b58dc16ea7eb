//! Loops over many numbers, compiled for every instruction set and chosen when they run, as the kernels of frames are.
//! Sums and largest values are kept in lanes of their own and taken together in order: the same bits on all of them.

use fearless_simd::{Level, dispatch};
use sinew::LANES;

/// Numbers summed in f32 before they join a sum in f64.
const PIECE: usize = 256;

/// `x ← x − factor y`.
pub fn subtract(x: &mut [f32], factor: f32, y: &[f32]) {
    dispatch!(Level::new(), _simd => subtract_here(x, factor, y));
}

/// The same within a loop that was dispatched.
#[inline(always)]
pub fn subtract_here(x: &mut [f32], factor: f32, y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x -= factor * y);
}

/// `Σ a b`, in f64 over pieces in order.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    #[inline(always)]
    fn here(a: &[f32], b: &[f32]) -> f64 {
        let mut sum = 0.0;
        for (a, b) in a.chunks(PIECE).zip(b.chunks(PIECE)) {
            let mut sums = [0.0f32; LANES];
            let ((a, last_a), (b, last_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
            for (a, b) in a.iter().zip(b) {
                (0..LANES).for_each(|lane| sums[lane] += a[lane] * b[lane]);
            }
            let last: f32 = last_a.iter().zip(last_b).map(|(a, b)| a * b).sum();
            sum += f64::from(sums.iter().sum::<f32>() + last);
        }
        sum
    }
    dispatch!(Level::new(), _simd => here(a, b)) as f32
}

/// Largest length of the 3-vectors of a column stored as x…, y…, z….
pub fn largest_vector(column: &[f32]) -> f32 {
    #[inline(always)]
    fn here(planes: [&[f32]; 3]) -> f32 {
        let [(xs, last_x), (ys, last_y), (zs, last_z)] = planes.map(|plane| plane.as_chunks::<LANES>());
        let mut tops = [0.0f32; LANES];
        for ((x, y), z) in xs.iter().zip(ys).zip(zs) {
            (0..LANES).for_each(|lane| tops[lane] = larger(square(x[lane], y[lane], z[lane]), tops[lane]));
        }
        let last = last_x.iter().zip(last_y).zip(last_z).map(|((x, y), z)| square(*x, *y, *z));
        last.chain(tops).fold(0.0, |top, square| larger(square, top))
    }
    dispatch!(Level::new(), _simd => here(planes(column))).sqrt()
}

/// Raises squares per point to those of vectors, each multiplied by its entry of `factors` if there are any; tells the square of
/// the longest.
pub fn raise_by(squares: &mut [f32], planes: [&[f32]; 3], factors: Option<&[f32]>) -> f32 {
    #[inline(always)]
    fn here(squares: &mut [f32], [xs, ys, zs]: [&[f32]; 3], factor: impl Fn(usize) -> f32) -> f32 {
        let count = squares.len();
        let (xs, ys, zs) = (&xs[..count], &ys[..count], &zs[..count]);
        let (whole, _) = squares.as_chunks_mut::<LANES>();
        let (mut tops, ended) = ([0.0f32; LANES], whole.len() * LANES);
        for (chunk, squares) in whole.iter_mut().enumerate() {
            let at = chunk * LANES;
            for lane in 0..LANES {
                let i = at + lane;
                let here = square(xs[i], ys[i], zs[i]) * factor(i);
                squares[lane] = larger(here, squares[lane]);
                tops[lane] = larger(here, tops[lane]);
            }
        }
        let mut top = tops.into_iter().fold(0.0, |top, square| larger(square, top));
        for i in ended..count {
            let here = square(xs[i], ys[i], zs[i]) * factor(i);
            squares[i] = larger(here, squares[i]);
            top = larger(here, top);
        }
        top
    }
    match factors {
        Some(factors) => {
            let factors = &factors[..squares.len()];
            dispatch!(Level::new(), _simd => here(squares, planes, |i| factors[i] * factors[i]))
        }
        None => dispatch!(Level::new(), _simd => here(squares, planes, |_| 1.0)),
    }
}

/// The sum over the 3-vectors of a column of their lengths, none counted as more than `most`.
pub fn sum_of_lengths(column: &[f32], most: f32) -> f64 {
    #[inline(always)]
    fn here(planes: [&[f32]; 3], most: f32) -> f64 {
        let length = |x: f32, y: f32, z: f32| -larger(-square(x, y, z).sqrt(), -most);
        let mut sum = 0.0;
        let [x, y, z] = planes.map(|plane| plane.chunks(PIECE));
        for ((x, y), z) in x.zip(y).zip(z) {
            let [(xs, last_x), (ys, last_y), (zs, last_z)] = [x, y, z].map(|plane| plane.as_chunks::<LANES>());
            let mut sums = [0.0f32; LANES];
            for ((x, y), z) in xs.iter().zip(ys).zip(zs) {
                (0..LANES).for_each(|lane| sums[lane] += length(x[lane], y[lane], z[lane]));
            }
            let last: f32 = last_x.iter().zip(last_y).zip(last_z).map(|((x, y), z)| length(*x, *y, *z)).sum();
            sum += f64::from(sums.iter().sum::<f32>() + last);
        }
        sum
    }
    dispatch!(Level::new(), _simd => here(planes(column), most))
}

/// The three coordinates of a column.
#[inline(always)]
fn planes(column: &[f32]) -> [&[f32]; 3] {
    let points = column.len() / 3;
    [&column[..points], &column[points..2 * points], &column[2 * points..3 * points]]
}

#[inline(always)]
fn square(x: f32, y: f32, z: f32) -> f32 {
    x * x + y * y + z * z
}

/// The first where it is larger; what is no number is not.
#[inline(always)]
pub fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_testkit::random::Random;

    #[test]
    fn lanes_give_what_one_number_after_the_other_gives() {
        let mut random = Random::new(4);
        for points in [0, 1, 15, 16, 17, 300] {
            let mut numbers = || (0..3 * points).map(|_| random.between(-1.0, 1.0) as f32).collect::<Vec<f32>>();
            let (a, b) = (numbers(), numbers());
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            assert!((f64::from(dot(&a, &b)) - plain).abs() <= 1e-6 * (1 + points) as f64);
            let length = |p: usize| (a[p].powi(2) + a[points + p].powi(2) + a[2 * points + p].powi(2)).sqrt();
            let lengths: Vec<f32> = (0..points).map(length).collect();
            let longest = lengths.iter().copied().fold(0.0, f32::max);
            assert!((largest_vector(&a) - longest).abs() <= 1e-6);
            let bounded: f64 = lengths.iter().map(|&length| f64::from(length.min(0.9))).sum();
            assert!((sum_of_lengths(&a, 0.9) - bounded).abs() <= 1e-5 * (1 + points) as f64);
            let mut squares = vec![0.25; points];
            assert_eq!(raise_by(&mut squares, planes(&a), None).sqrt(), largest_vector(&a));
            assert!(
                squares.iter().zip(&lengths).all(|(square, length)| (square.sqrt() - length.max(0.5)).abs() <= 1e-6)
            );
            let mut left = a.clone();
            subtract(&mut left, 0.5, &b);
            assert!(left.iter().zip(a.iter().zip(&b)).all(|(left, (a, b))| *left == a - 0.5 * b));
        }
        assert_eq!(largest_vector(&[f32::NAN, 3.0, 0.0, 4.0, 0.0, 0.0]), 5.0);
    }
}
