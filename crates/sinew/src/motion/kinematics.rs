//! Velocities and accelerations of bones relative to their parents, in world axes.
//!
//! Source: VS 3.1–3.2, AS 3. Linear rates go to world axes by the parent's full 3×3 (rotation and scale); angular
//! ones by `det(Q)·Q`, Q the orthogonal polar factor of it, because ω is a pseudovector and a mirror reverses it.
//! Angular acceleration is the derivative of the parent-frame ω, so that a steady relative spin gives 0.
//! Oracle: for one influence on any chain without node scale, the velocity `Σ v_i + ω_i×r_i` and the acceleration
//! `Σ a_i + α_i×r_i + ω_i×(ω_i×r_i) + 2Ω_i×(v_i + ω_i×r_i)` match differences of world positions.

use super::time_filter::FilteredSignal;
use crate::skeleton::BoneId;
use glam::{DMat3, DQuat, DVec3};

/// One of the four rates of a bone's motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// v: length units per second.
    LinearVelocity,
    /// ω: radians per second.
    AngularVelocity,
    /// a: length units per second squared.
    LinearAcceleration,
    /// α: radians per second squared.
    AngularAcceleration,
}

/// How a bone moves relative to its parent. All values are legal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoneMotion {
    /// v of the joint.
    pub linear_velocity: DVec3,
    /// ω about the joint.
    pub angular_velocity: DVec3,
    /// a of the joint.
    pub linear_acceleration: DVec3,
    /// α about the joint.
    pub angular_acceleration: DVec3,
}

impl BoneMotion {
    /// The rate named by `signal`.
    pub fn get(&self, signal: Signal) -> DVec3 {
        match signal {
            Signal::LinearVelocity => self.linear_velocity,
            Signal::AngularVelocity => self.angular_velocity,
            Signal::LinearAcceleration => self.linear_acceleration,
            Signal::AngularAcceleration => self.angular_acceleration,
        }
    }
}

/// The motion of all bones at one moment, in world axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinematics {
    /// Smoothed, not filtered; per bone of the skeleton.
    pub bones: Vec<BoneMotion>,
    /// Per entry of the filtered list, one vector per bone of the skeleton.
    pub filtered: Vec<Vec<DVec3>>,
}

impl Kinematics {
    /// No motion.
    pub fn at_rest(bones: usize, filtered: usize) -> Self {
        Self { bones: vec![BoneMotion::default(); bones], filtered: vec![vec![DVec3::ZERO; bones]; filtered] }
    }

    /// Sets one bone as if it had moved like this for ever: every filter has come to the value itself.
    /// `filtered` is the list the columns of [`Kinematics::filtered`] stand for.
    pub fn set_steady(&mut self, bone: BoneId, motion: BoneMotion, filtered: &[FilteredSignal]) {
        if let Some(slot) = self.bones.get_mut(bone.index()) {
            *slot = motion;
        }
        for (column, entry) in self.filtered.iter_mut().zip(filtered) {
            if let Some(slot) = column.get_mut(bone.index()) {
                *slot = motion.get(entry.signal);
            }
        }
    }

    /// All zero, of the given size, keeping memory.
    pub(super) fn reset(&mut self, bones: usize, filtered: usize) {
        self.bones.clear();
        self.bones.resize(bones, BoneMotion::default());
        self.filtered.resize_with(filtered, Vec::new);
        for column in &mut self.filtered {
            column.clear();
            column.resize(bones, DVec3::ZERO);
        }
    }
}

/// Takes parent-frame rates to world axes.
pub(super) struct WorldAxes {
    linear: DMat3,
    angular: DMat3,
}

impl WorldAxes {
    /// `turn` carries the frame the rates are given in to the parent's frame.
    pub fn new(world_from_parent: DMat3, turn: DQuat) -> Self {
        let turn = DMat3::from_quat(turn);
        Self { linear: world_from_parent * turn, angular: rotation_of(world_from_parent) * turn }
    }

    pub fn map(&self, signal: Signal, rate: DVec3) -> DVec3 {
        let mapped = match signal {
            Signal::LinearVelocity | Signal::LinearAcceleration => self.linear * rate,
            Signal::AngularVelocity | Signal::AngularAcceleration => self.angular * rate,
        };
        // A chain of scales can overflow; a motion that cannot be told is none.
        if mapped.is_finite() { mapped } else { DVec3::ZERO }
    }

    pub fn map_all(&self, motion: &BoneMotion) -> BoneMotion {
        let map = |signal| self.map(signal, motion.get(signal));
        BoneMotion {
            linear_velocity: map(Signal::LinearVelocity),
            angular_velocity: map(Signal::AngularVelocity),
            linear_acceleration: map(Signal::LinearAcceleration),
            angular_acceleration: map(Signal::AngularAcceleration),
        }
    }
}

/// `det(Q)·Q` of the orthogonal polar factor Q of `m`: the rotation by which `m` carries pseudovectors. A singular
/// `m` gives a rotation that agrees with it on the directions it keeps.
fn rotation_of(m: DMat3) -> DMat3 {
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
    let sign = if mirrored { -1.0 } else { 1.0 };
    let images = DMat3::from_cols(u0, u1, u0.cross(u1) * sign);
    images * DMat3::from_cols(v0, v1, v0.cross(v1)).transpose() * sign
}

/// Eigenvectors (as columns) and eigenvalues of a symmetric matrix, by cyclic Jacobi rotations.
fn principal_axes(mut s: DMat3) -> (DMat3, [f64; 3]) {
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
            close(rotation_of(r * stretch), r, 1e-8);
            // A mirror is −1 times a half turn: det(Q)·Q of −M is that of M.
            close(rotation_of(-(r * stretch)), r, 1e-8);
        }
        for off in [1e-12, 1e-7, 1e-4, 0.01, 0.04] {
            let stretch = a * DMat3::from_diagonal(DVec3::new(7.0, 7.0 + 7.0 * off, 7.0 - 3.0 * off)) * a.transpose();
            close(rotation_of(r * stretch), r, 1e-14);
            close(rotation_of(-(r * stretch)), r, 1e-14);
        }
        let well_conditioned = a * DMat3::from_diagonal(DVec3::new(1.0, 2.0, 5.0)) * a.transpose();
        close(rotation_of(r * well_conditioned), r, 1e-14);
    }

    #[test]
    fn rotation_of_a_singular_matrix_is_a_rotation() {
        let r = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(0.3, -1.1, 0.7)));
        let flat = rotation_of(r * DMat3::from_diagonal(DVec3::new(2.0, 0.0, 3.0)));
        close(flat, r, 1e-14);
        for m in [
            r * DMat3::from_diagonal(DVec3::new(0.0, 2.0, 0.0)),
            DMat3::ZERO,
            DMat3::from_diagonal(DVec3::splat(f64::NAN)),
            DMat3::from_diagonal(DVec3::splat(1e-320)),
            DMat3::from_diagonal(DVec3::new(f64::MAX, 1.0, -f64::MAX)),
        ] {
            let q = rotation_of(m);
            close(q * q.transpose(), DMat3::IDENTITY, 1e-12);
            assert!((q.determinant() - 1.0).abs() < 1e-12);
        }
    }
}
