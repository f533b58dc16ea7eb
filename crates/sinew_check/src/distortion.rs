//! Distortion of pieces that hang on one bone: a sword that bends.
//!
//! From the points xₖ of a piece in the base to yₖ with effects, the best rigid motion has the proper rotation nearest to
//! Σ (yₖ − ȳ)(xₖ − x̄)ᵀ (Kabsch). What is left of the farthest point, over the piece's own size in the base, is its
//! distortion. Soft pieces, such as a cape, hang on one bone too: which pieces must stay rigid is the caller's to say.
//!
//! Oracle: a bar bent by a known amount, one that is only turned (`truth.rs`).

use crate::shape::{Shape, bounds};
use glam::{DMat3, DVec3};
use sinew::polar::nearest_rotation;

/// The worst distortion of a piece so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WorstDistortion {
    pub share: f64,
    pub point: u32,
    pub time: f64,
}

impl WorstDistortion {
    pub fn join(&mut self, later: Self) {
        if later.share > self.share {
            *self = later;
        }
    }
}

/// Looks at the pieces of a frame that hang on one bone.
pub(crate) fn look(shape: &Shape, base: &[DVec3], effects: &[DVec3], time: f64, worst: &mut [WorstDistortion]) {
    for ((piece, members), worst) in shape.pieces.iter().zip(&shape.members).zip(worst) {
        if !piece.on_one_bone || members.iter().all(|&p| base[p as usize] == effects[p as usize]) {
            continue;
        }
        let (low, high) = bounds(members.iter().map(|&p| base[p as usize]));
        let size = (high - low).length();
        if size > 0.0 {
            let (residual, point) = residual(members, base, effects);
            worst.join(WorstDistortion { share: residual / size, point, time });
        }
    }
}

/// The farthest that a point of `effects` lies from where the best rigid motion of `base` puts it.
fn residual(members: &[u32], base: &[DVec3], effects: &[DVec3]) -> (f64, u32) {
    let count = members.len() as f64;
    let mean = |points: &[DVec3]| members.iter().map(|&p| points[p as usize]).sum::<DVec3>() / count;
    let (from, to) = (mean(base), mean(effects));
    let mut sum = DMat3::ZERO;
    for &p in members {
        let (x, y) = (base[p as usize] - from, effects[p as usize] - to);
        sum += DMat3::from_cols(y * x.x, y * x.y, y * x.z);
    }
    let turn = nearest_rotation(sum);
    let left = |p: u32| (turn * (base[p as usize] - from)).distance(effects[p as usize] - to);
    members.iter().fold((0.0, u32::MAX), |most, &p| if left(p) > most.0 { (left(p), p) } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn a_rigid_motion_leaves_nothing_and_a_mirror_does() {
        let points: Vec<DVec3> = (0..8u32)
            .map(|n| DVec3::new(f64::from(n & 1), 2.0 * f64::from(n >> 1 & 1), 3.0 * f64::from(n >> 2)))
            .collect();
        let members: Vec<u32> = (0..8).collect();
        let turn = DQuat::from_rotation_x(2.5) * DQuat::from_rotation_z(1.0);
        let moved: Vec<DVec3> = points.iter().map(|&p| turn * p + DVec3::new(7.0, -1.0, 3.0)).collect();
        assert!(residual(&members, &points, &moved).0 < 1e-12);
        let mirrored: Vec<DVec3> =
            points.iter().map(|&p| DVec3::new(-p.x, p.y, p.z) * DVec3::new(1.0, 1.1, 1.0)).collect();
        assert!(residual(&members, &points, &mirrored).0 > 0.1);
        let flat: Vec<u32> = (0..4).collect();
        assert!(residual(&flat, &points, &moved).0 < 1e-12, "points in a plane");
    }
}
