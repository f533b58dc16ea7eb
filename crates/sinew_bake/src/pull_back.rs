//! World displacements to rest space: morphs act before skinning, so `A u = d` is solved for u at every point and
//! frame, A the blended 3×3 that an engine will apply.
//!
//! Where a bend or twist flattens A (the candy wrapper), no u, or only a huge one, gives d. With A = Σ sᵢ aᵢ bᵢᵀ the
//! factors 1/sᵢ are taken as they are down to a share ε of the largest, and fall to 0 with sᵢ below:
//! `u = (AᵀA)_ε⁻¹ Aᵀ d`, the eigenvalues of AᵀA raised to at least (ε s)².
//!
//! Oracle: `A u = d` for regular A; for A = diag(1, 1, s) the closed form; bounded by |d| / (ε s) always.

use crate::lanes::larger;
use glam::{DMat3, DVec3};
use sinew::LANES;

/// Smallest singular value, as a share of the largest, that is inverted as it is: beyond it a target would have to move
/// a point by fifty times what is seen.
pub const SMALLEST_SHARE: f64 = 0.02;

/// How displacements come back through one blended matrix.
#[derive(Clone, Copy, Debug)]
pub struct PullBack {
    /// From world displacements to rest displacements.
    pub rest_from_world: DMat3,
    /// Whether the matrix is too flat to be inverted as it is.
    pub flattened: bool,
}

impl PullBack {
    /// Inverts `world_from_rest`. `scale` is the largest stretch the point has elsewhere (at rest): a matrix that shrinks
    /// as a whole, as that of a hidden prop, is flat too.
    pub fn new(world_from_rest: DMat3, scale: f64) -> Self {
        let square = |matrix: DMat3| matrix.to_cols_array().iter().map(|x| x * x).sum::<f64>();
        let stretch = square(world_from_rest).max(scale * scale);
        let inverse = world_from_rest.inverse();
        // The Frobenius norms bound the singular values: most matrices pass here.
        if square(inverse) * stretch < 1.0 / (SMALLEST_SHARE * SMALLEST_SHARE) {
            return Self { rest_from_world: inverse, flattened: false };
        }
        let gram = world_from_rest.transpose() * world_from_rest;
        let (values, vectors) = eigen(gram);
        let floor = (SMALLEST_SHARE * values.max_element().sqrt().max(scale)).powi(2);
        if floor.is_nan() || floor <= 0.0 {
            return Self { rest_from_world: DMat3::ZERO, flattened: true };
        }
        let inverted = DMat3::from_diagonal(DVec3::ONE / values.max(DVec3::splat(floor)));
        let rest_from_world = vectors * inverted * vectors.transpose() * world_from_rest.transpose();
        Self { rest_from_world, flattened: values.min_element() < floor }
    }
}

/// The same of many points at once, in single precision: what is far from flat, which is nearly all of a character.
pub(crate) struct Regular {
    /// Inverses, entry by entry as the matrices.
    pub inverses: [[f32; LANES]; 9],
    /// Whether a matrix was far enough from flat; the inverses of others mean nothing.
    pub is_regular: [bool; LANES],
}

/// Bound on the condition below which single precision is enough: by the product of the squared Frobenius norms, in which a
/// rotation counts 9.
const REGULAR: f32 = 100.0;

impl Regular {
    /// Inverts matrices whose entries are given row by row, divided by the largest stretch of their points.
    #[inline(always)]
    pub fn new(a: &[[f32; LANES]; 9]) -> Self {
        let mut out = Self { inverses: [[0.0; LANES]; 9], is_regular: [false; LANES] };
        for lane in 0..LANES {
            let [a, b, c, d, e, f, g, h, i] = a.map(|entries| entries[lane]);
            let (first, second, third) = (e * i - f * h, f * g - d * i, d * h - e * g);
            let by = 1.0 / (a * first + b * second + c * third);
            let inverse = [
                first * by,
                (c * h - b * i) * by,
                (b * f - c * e) * by,
                second * by,
                (a * i - c * g) * by,
                (c * d - a * f) * by,
                third * by,
                (b * g - a * h) * by,
                (a * e - b * d) * by,
            ];
            let squares: f32 = [a, b, c, d, e, f, g, h, i].iter().map(|x| x * x).sum();
            let of_inverse: f32 = inverse.iter().map(|x| x * x).sum();
            out.is_regular[lane] = larger(squares, 1.0) * of_inverse < REGULAR;
            (0..9).for_each(|entry| out.inverses[entry][lane] = inverse[entry]);
        }
        out
    }
}

/// Eigenvalues (not below 0) and eigenvectors (columns) of a symmetric matrix, by cyclic Jacobi rotations.
fn eigen(symmetric: DMat3) -> (DVec3, DMat3) {
    let mut a = symmetric;
    let mut vectors = DMat3::IDENTITY;
    // Quadratic convergence: six sweeps reach the last bit of any 3×3.
    for _ in 0..6 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = a.col(q)[p];
            if off == 0.0 {
                continue;
            }
            let theta = (a.col(q)[q] - a.col(p)[p]) / (2.0 * off);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let t = if theta == 0.0 { 1.0 } else { t };
            let c = 1.0 / (t * t + 1.0).sqrt();
            let mut turn = DMat3::IDENTITY;
            turn.col_mut(p)[p] = c;
            turn.col_mut(q)[q] = c;
            turn.col_mut(q)[p] = t * c;
            turn.col_mut(p)[q] = -t * c;
            a = turn.transpose() * a * turn;
            vectors *= turn;
        }
    }
    (a.diagonal().max(DVec3::ZERO), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use sinew_testkit::random::Random;

    fn random_vector(random: &mut Random) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|_| random.between(-1.0, 1.0)))
    }

    fn turn(random: &mut Random) -> DMat3 {
        DMat3::from_quat(DQuat::from_scaled_axis(4.0 * random_vector(random)))
    }

    #[test]
    fn many_are_inverted_as_one_is_and_the_flat_are_told() {
        let mut random = Random::new(9);
        let mut flat = 0;
        for round in 0..200 {
            let matrices: [DMat3; LANES] = std::array::from_fn(|lane| {
                let least = if (lane + round) % 3 == 0 { 10f64.powf(random.between(-9.0, 0.0)) } else { 0.5 };
                let stretch = DVec3::new(1.0, random.between(0.5, 1.0), least);
                turn(&mut random) * DMat3::from_diagonal(stretch) * turn(&mut random)
            });
            let entries = matrices.map(|matrix| matrix.transpose().to_cols_array());
            let a = std::array::from_fn(|entry| std::array::from_fn(|lane| entries[lane][entry] as f32));
            let regular = Regular::new(&a);
            for (lane, matrix) in matrices.iter().enumerate() {
                let one = PullBack::new(*matrix, 1.0);
                if !regular.is_regular[lane] {
                    flat += 1;
                    continue;
                }
                assert!(!one.flattened);
                let expected = one.rest_from_world.transpose().to_cols_array();
                for (entry, expected) in expected.iter().enumerate() {
                    let found = f64::from(regular.inverses[entry][lane]);
                    assert!((found - expected).abs() < 1e-4, "{found} {expected}");
                }
            }
        }
        assert!(flat > 200 && flat < 1600, "{flat}");
        assert!(Regular::new(&[[f32::NAN; LANES]; 9]).is_regular.iter().all(|is_regular| !is_regular));
        assert!(Regular::new(&[[0.0; LANES]; 9]).is_regular.iter().all(|is_regular| !is_regular));
    }

    #[test]
    fn regular_matrices_are_inverted() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let stretch = DVec3::from_array(std::array::from_fn(|_| random.between(0.1, 1.0)));
            let unit = 10f64.powf(random.between(-4.0, 4.0));
            let matrix = unit * turn(&mut random) * DMat3::from_diagonal(stretch) * turn(&mut random);
            let d = random_vector(&mut random);
            let pull = PullBack::new(matrix, unit);
            assert!(!pull.flattened);
            assert!((matrix * (pull.rest_from_world * d) - d).length() < 1e-9, "{matrix}");
        }
    }

    #[test]
    fn flat_matrices_give_the_closed_form_and_stay_bounded() {
        let mut random = Random::new(2);
        for share in [0.0, 1e-9, 1e-4, 0.5 * SMALLEST_SHARE, 0.99 * SMALLEST_SHARE, 1.1 * SMALLEST_SHARE] {
            let (left, right) = (turn(&mut random), turn(&mut random));
            let matrix = left * DMat3::from_diagonal(DVec3::new(1.0, 1.0, share)) * right;
            let pull = PullBack::new(matrix, 0.0);
            assert_eq!(pull.flattened, share < SMALLEST_SHARE, "{share}");
            let factor = if share < SMALLEST_SHARE { share / SMALLEST_SHARE.powi(2) } else { 1.0 / share };
            let d = random_vector(&mut random);
            let expected = right.transpose() * (DVec3::new(1.0, 1.0, factor) * (left.transpose() * d));
            assert!((pull.rest_from_world * d - expected).length() < 1e-6, "{share}");
            assert!((pull.rest_from_world * d).length() <= d.length() / SMALLEST_SHARE * (1.0 + 1e-9));
        }
    }

    #[test]
    fn what_vanishes_is_left_alone() {
        let pull = PullBack::new(DMat3::ZERO, 0.0);
        assert!(pull.flattened && pull.rest_from_world == DMat3::ZERO);
        let hidden = PullBack::new(1e-9 * DMat3::IDENTITY, 1.0);
        assert!(hidden.flattened && hidden.rest_from_world.x_axis.length() < 1e-5);
    }
}
