//! Weights by distance (LV 5.1): `w_i ∝ (l_i/d_i)^α` for bones in sight, 0 for others; rigid on the nearest bone where
//! none is. d is floored at a ten-thousandth of the size. Without l the border between two bones is half way.
//!
//! Oracle: on a straight tube the border is at the joint without lengths, and shifted towards the shorter bone with them.

use super::shell::Shell;
use super::sight::{bones_by_distance, by_normal, by_ray};
use crate::limbs::Limbs;
use rayon::prelude::*;

const LEAST_DISTANCE: f64 = 1e-4;

/// Weights per point, and how many points no bone reaches.
pub(super) fn weights(
    shell: &Shell,
    limbs: &Limbs,
    alpha: f64,
    by_length: bool,
    normals_only: bool,
) -> (Vec<Vec<(u32, f64)>>, usize) {
    let longest = (0..limbs.len()).map(|bone| limbs.length(bone)).fold(0.0, f64::max);
    let length = |bone: u32| match limbs.length(bone as usize) {
        // A point counts as long as a bone can be.
        0.0 => longest,
        length => length,
    };
    let of_point = |point: usize| -> (Vec<(u32, f64)>, bool) {
        let bones = bones_by_distance(limbs, shell.points()[point]);
        let Some(&(nearest, _, least)) = bones.first() else { return (Vec::new(), false) };
        let least = least.max(LEAST_DISTANCE * shell.size());
        let in_sight = bones.iter().filter(|&&(_, place, _)| {
            if normals_only { by_normal(shell, point, place) } else { by_ray(shell, point, place) }
        });
        // In units of the nearest, so that no power leaves the range.
        let weights: Vec<(u32, f64)> = in_sight
            .map(|&(bone, _, d)| {
                let d = d.max(LEAST_DISTANCE * shell.size()) / least;
                let l = if by_length && longest > 0.0 { length(bone) / longest } else { 1.0 };
                (bone, (l / d).powf(alpha))
            })
            .filter(|&(_, weight)| weight > 0.0 && weight.is_finite())
            .collect();
        if weights.is_empty() { (vec![(nearest, 1.0)], true) } else { (weights, false) }
    };
    let found: Vec<_> = (0..shell.points().len()).into_par_iter().map(of_point).collect();
    let lost = found.iter().filter(|(_, lost)| *lost).count();
    (found.into_iter().map(|(weights, _)| weights).collect(), lost)
}
