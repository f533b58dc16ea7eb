//! Weights by distance (LV 5.1): `w_i ∝ (l_i/d_i)^α` for bones in sight, 0 for others, relaxed along the skin
//! (`conduction`): what is in sight changes from one vertex to the next, and where nothing is in sight the skin follows
//! its surroundings. Without l the border between two bones is half way.
//!
//! Oracle: on a straight tube the border is at the joint without lengths, and shifted towards the shorter bone with them.

use super::conduction::Source;
use super::shell::Shell;
use super::sight::{bones_by_distance, by_normal, by_ray};
use crate::limbs::Limbs;

/// What a point follows by itself; `None` where no bone reaches it.
pub(super) fn source(
    shell: &Shell,
    limbs: &Limbs,
    bones: &[u32],
    point: usize,
    (alpha, by_length, normals_only): (f64, bool, bool),
) -> Option<Source> {
    let longest = (0..limbs.len()).map(|bone| limbs.length(bone)).fold(0.0, f64::max);
    let length = |bone: u32| match limbs.length(bone as usize) {
        // A point counts as long as a bone can be.
        0.0 => longest,
        length => length,
    };
    let mut bones = bones_by_distance(shell, limbs, bones, point);
    bones.retain(
        |seen| {
            if normals_only { by_normal(shell, point, seen.place) } else { by_ray(shell, point, seen.place) }
        },
    );
    let distance = bones.first()?.distance;
    // In units of the nearest, so that no power leaves the range.
    let weight = |bone: u32, d: f64| {
        let l = if by_length && longest > 0.0 { length(bone) / longest } else { 1.0 };
        (l * distance / d).powf(alpha)
    };
    let mut weights: Vec<(u32, f64)> = bones.iter().map(|seen| (seen.bone, weight(seen.bone, seen.distance))).collect();
    weights.retain(|&(_, weight)| weight > 0.0 && weight.is_finite());
    let sum: f64 = weights.iter().map(|w| w.1).sum();
    weights.iter_mut().for_each(|w| w.1 /= sum);
    (!weights.is_empty()).then_some(Source { weights, distance })
}
