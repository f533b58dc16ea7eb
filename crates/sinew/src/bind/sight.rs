//! Which bones a point of the skin sees, and how far they are.
//!
//! A bone is as far as its nearest place, and farther the less it lies under the skin there: twice as far where the way
//! to it runs along the skin, and out of reach where it lies outside. Blender's automatic weights measure so too; without
//! it the skin of the chest goes to the upper arm beside it rather than to the spine behind it.
//!
//! A bone is in sight where the way to it does not enter the body again (LV fig. 5): else it belongs to another finger.
//! Leaving the body is no matter: joints of thin limbs are often just outside.

use super::shell::Shell;
use crate::limbs::Limbs;
use glam::DVec3;

/// Of the way: a bone this close to the skin is reached all the same.
const NEAR_THE_END: f64 = 0.999;
/// Cosine between the way and the normal above which the way leaves the body, for the test by normals alone. Just
/// below 0, so that ways along the skin count as outside.
const OUTWARD: f64 = -0.1;
/// Under the skin at least by this, so that no distance is infinite.
const LEAST_UNDER: f64 = 1e-3;

/// A bone from a point of the skin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub bone: u32,
    /// Its nearest place.
    pub place: DVec3,
    pub distance: f64,
}

/// The bones of the point's piece, the nearest first.
pub(super) fn bones_by_distance(shell: &Shell, limbs: &Limbs, bones: &[u32], point: usize) -> Vec<Seen> {
    let (p, normal) = (shell.points()[point], shell.normal(point));
    let seen = |&bone: &u32| {
        let place = limbs.closest(bone as usize, p);
        let cosine = (p - place).normalize_or_zero().dot(normal);
        let under = (0.5 * (1.0 + cosine)).max(LEAST_UNDER);
        Seen { bone, place, distance: p.distance(place).max(shell.least_distance()) / under }
    };
    let mut bones: Vec<Seen> = bones.iter().map(seen).collect();
    bones.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.bone.cmp(&b.bone)));
    bones
}

/// By a ray from the skin to the place on the bone.
pub(super) fn by_ray(shell: &Shell, point: usize, place: DVec3) -> bool {
    let p = shell.points()[point];
    shell.entry(p, place - p, point as u32).is_none_or(|t| t >= NEAR_THE_END)
}

/// By the angle between way and normal alone.
pub(super) fn by_normal(shell: &Shell, point: usize, place: DVec3) -> bool {
    let way = (place - shell.points()[point]).normalize_or_zero();
    way.dot(shell.normal(point)) <= OUTWARD
}
