//! The rotation in a 3×3: its orthogonal polar factor, mirrors taken out.

use glam::DMat3;

/// `det(Q)·Q` of the orthogonal polar factor Q of `m`: the rotation by which `m` carries pseudovectors. A singular
/// `m` gives a rotation that agrees with it on the directions it keeps.
pub(crate) fn polar_rotation(m: DMat3) -> DMat3 {
    let largest = m.to_cols_array().into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return DMat3::IDENTITY;
    }
    let m = DMat3::from_cols(m.x_axis / largest, m.y_axis / largest, m.z_axis / largest);
    let mirrored = m.determinant() < 0.0;
    // Nearly every node is nearly a rotation times one scale: then Newton–Schulz, q ← q(3 − qᵀq)/2, squares the error
    // in each round and ends at the polar factor.
    let mean_square = (m.x_axis.length_squared() + m.y_axis.length_squared() + m.z_axis.length_squared()) / 3.0;
    let mut q = m * (if mirrored { -1.0 } else { 1.0 } / mean_square.sqrt());
    for round in 0..6 {
        let excess = q.transpose() * q - DMat3::IDENTITY;
        let error = excess.to_cols_array().into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        if error <= 1e-15 {
            return q;
        }
        if round == 0 && error > 0.1 {
            break;
        }
        q -= q * excess * 0.5;
        if round > 0 && error < 1e-8 {
            return q;
        }
    }
    by_principal_axes(m, if mirrored { -1.0 } else { 1.0 })
}

/// The rotation nearest to `m`: that which maximises `tr(Rᵀm)` (Kabsch 1976). Where `m` mirrors, the direction it
/// stretches least gives way.
pub fn nearest_rotation(m: DMat3) -> DMat3 {
    let largest = m.to_cols_array().into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    if !(largest > 0.0 && largest.is_finite()) || (m * (1.0 / largest)).determinant() >= 0.0 {
        return polar_rotation(m);
    }
    by_principal_axes(m * (1.0 / largest), 1.0)
}

/// `sign` times the matrix with determinant `sign` that takes the two most stretched axes of `m` where `m` does.
fn by_principal_axes(m: DMat3, sign: f64) -> DMat3 {
    let (axes, stretches) = principal_axes(m.transpose() * m);
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| f64::total_cmp(&stretches[b], &stretches[a]));
    let v0 = axes.col(order[0]);
    let v1 = axes.col(order[1]);
    let u0 = (m * v0).normalize();
    let u1 = {
        let image = m * v1;
        let across = image - u0 * image.dot(u0);
        // Rank one: the turn about u0 is free; take the one nearest to none.
        across.try_normalize().unwrap_or_else(|| {
            let across = v1 - u0 * v1.dot(u0);
            across.try_normalize().unwrap_or_else(|| u0.any_orthonormal_vector())
        })
    };
    let images = DMat3::from_cols(u0, u1, u0.cross(u1) * sign);
    images * DMat3::from_cols(v0, v1, v0.cross(v1)).transpose() * sign
}

/// Eigenvectors (as columns) and eigenvalues of a symmetric matrix, by cyclic Jacobi rotations.
pub(crate) fn principal_axes(mut s: DMat3) -> (DMat3, [f64; 3]) {
    let mut axes = DMat3::IDENTITY;
    // Quadratic convergence: six sweeps are more than any 3×3 needs.
    for _ in 0..6 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = s.col(q)[p];
            if off.abs() <= 1e-17 * (s.col(p)[p].abs() + s.col(q)[q].abs()) {
                continue;
            }
            let theta = (s.col(q)[q] - s.col(p)[p]) / (2.0 * off);
            let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
            let sine = tangent * cosine;
            let mut turn = DMat3::IDENTITY;
            turn.col_mut(p)[p] = cosine;
            turn.col_mut(q)[q] = cosine;
            turn.col_mut(q)[p] = sine;
            turn.col_mut(p)[q] = -sine;
            s = turn.transpose() * s * turn;
            axes *= turn;
        }
    }
    (axes, [s.x_axis.x, s.y_axis.y, s.z_axis.z])
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DQuat, DVec3};

    fn close(a: DMat3, b: DMat3, tolerance: f64) {
        let worst = (a - b).to_cols_array().into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        assert!(worst <= tolerance, "{a} against {b}: {worst:e}");
    }

    #[test]
    fn rotation_of_a_stretched_and_mirrored_rotation_is_the_rotation() {
        let r = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(0.3, -1.1, 0.7)));
        let a = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(-0.8, 0.2, 0.5)));
        for scale in [DVec3::ONE, DVec3::splat(1e-30), DVec3::new(1.0, 2.0, 5.0), DVec3::new(1e-7, 3.0, 1.0)] {
            let stretch = a * DMat3::from_diagonal(scale) * a.transpose();
            close(polar_rotation(r * stretch), r, 1e-8);
            // A mirror is −1 times a half turn: det(Q)·Q of −M is that of M.
            close(polar_rotation(-(r * stretch)), r, 1e-8);
        }
        for off in [1e-12, 1e-7, 1e-4, 0.01, 0.04] {
            let stretch = a * DMat3::from_diagonal(DVec3::new(7.0, 7.0 + 7.0 * off, 7.0 - 3.0 * off)) * a.transpose();
            close(polar_rotation(r * stretch), r, 1e-14);
            close(polar_rotation(-(r * stretch)), r, 1e-14);
        }
        let well_conditioned = a * DMat3::from_diagonal(DVec3::new(1.0, 2.0, 5.0)) * a.transpose();
        close(polar_rotation(r * well_conditioned), r, 1e-14);
    }

    #[test]
    fn no_rotation_is_nearer_than_the_nearest() {
        let mut seed = 5u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        for _ in 0..200 {
            let m = DMat3::from_cols_array(&std::array::from_fn(|_| random()));
            let score = |r: DMat3| (r.transpose() * m).to_cols_array().iter().step_by(4).sum::<f64>();
            let best = nearest_rotation(m);
            close(best * best.transpose(), DMat3::IDENTITY, 1e-12);
            assert!(best.determinant() > 0.0);
            for _ in 0..50 {
                let nudge = DQuat::from_scaled_axis(DVec3::new(random(), random(), random()));
                assert!(score(DMat3::from_quat(nudge) * best) <= score(best) + 1e-12);
            }
        }
    }

    #[test]
    fn rotation_of_a_singular_matrix_is_a_rotation() {
        let r = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(0.3, -1.1, 0.7)));
        let flat = polar_rotation(r * DMat3::from_diagonal(DVec3::new(2.0, 0.0, 3.0)));
        close(flat, r, 1e-14);
        for m in [
            r * DMat3::from_diagonal(DVec3::new(0.0, 2.0, 0.0)),
            DMat3::ZERO,
            DMat3::from_diagonal(DVec3::splat(f64::NAN)),
            DMat3::from_diagonal(DVec3::splat(1e-320)),
            DMat3::from_diagonal(DVec3::new(f64::MAX, 1.0, -f64::MAX)),
        ] {
            let q = polar_rotation(m);
            close(q * q.transpose(), DMat3::IDENTITY, 1e-12);
            assert!((q.determinant() - 1.0).abs() < 1e-12);
        }
    }
}
