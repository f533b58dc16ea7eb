//! No skin goes through the ground that the base keeps above it.
//!
//! A point that effects take below the ground, or farther below it than the base has it, is put back on it; a rigid piece is
//! lifted as a whole. Continuous in time: it does nothing until a point touches.

use super::settle::Displaced;
use crate::rig::Rig;
use crate::stance::Standing;
use glam::DVec3;

/// Per character: how high the ground is above its origin.
pub(super) fn floors<'a>(
    standing: &'a Standing,
    origins: &'a [DVec3],
) -> impl Iterator<Item = Option<f32>> + Clone + 'a {
    standing.ground.iter().zip(origins).map(|(ground, origin)| ground.map(|y| (y - origin.y) as f32))
}

/// Puts points back on the ground.
pub(super) fn hold_up(rig: &Rig, floors: impl Iterator<Item = Option<f32>>, moved: &mut Displaced<'_>) {
    for (character, floor) in rig.characters().iter().zip(floors) {
        let Some(floor) = floor else { continue };
        for row in character.rows.clone() {
            let (points, base) = (&mut moved.points.rows[row][1], &moved.base.rows[row][1]);
            for (y, base) in points.iter_mut().zip(base) {
                *y = y.max(base.min(floor));
            }
        }
    }
}
