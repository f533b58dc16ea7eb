//! Whether the way from the skin to a bone stays inside the body (LV fig. 5): else the bone belongs to another finger.

use super::shell::Shell;
use crate::limbs::Limbs;
use glam::DVec3;

/// Of the way: a bone this close to the skin is reached all the same.
const NEAR_THE_END: f64 = 0.999;
/// Cosine between the way and the normal above which the way leaves the body, for the test by normals alone. Just
/// below 0, so that ways along the skin count as outside.
const OUTWARD: f64 = -0.1;

/// The bones from `point` by distance, each with its closest place and whether it is in sight.
pub(super) fn bones_by_distance(limbs: &Limbs, p: DVec3) -> Vec<(u32, DVec3, f64)> {
    let mut bones: Vec<(u32, DVec3, f64)> = (0..limbs.len())
        .map(|bone| {
            let closest = limbs.closest(bone, p);
            (bone as u32, closest, p.distance(closest))
        })
        .collect();
    bones.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
    bones
}

/// By a ray from the skin to the place on the bone.
pub(super) fn by_ray(shell: &Shell, point: usize, place: DVec3) -> bool {
    let p = shell.points()[point];
    let way = place - p;
    // Outward from the start; where the skin has no normal (a sheet), the ray alone decides.
    if way.dot(shell.normal(point)) > 0.0 {
        return false;
    }
    shell.exit(p, way, Some(point as u32)).is_none_or(|t| t >= NEAR_THE_END)
}

/// By the angle between way and normal alone.
pub(super) fn by_normal(shell: &Shell, point: usize, place: DVec3) -> bool {
    let way = (place - shell.points()[point]).normalize_or_zero();
    way.dot(shell.normal(point)) <= OUTWARD
}
