//! Distance from the bone: 0 on it, 1 where its limb is farthest from it. Fat, bellies and cloth swing; shins do not.
//!
//! `Σ w_i min(1, d_i/D_i) / Σ w_i`: d_i the distance to the nearest segment of bone i at rest (joint to each child
//! joint; a leaf is a point), D_i the largest d_i among the points that follow i most. The sum runs over bones that
//! some point follows most; where one bone has all the weight it is that limb's own distance, and in between the map is
//! as smooth as the weights, where the main bone alone would jump.

use super::{PointMap, RestSurface};
use crate::limbs::{Leaf, Limbs};

/// Distance from the bone in [0, 1], each limb by its own largest.
pub fn bone_distance(surface: &RestSurface<'_>) -> PointMap {
    let rig = surface.rig();
    let limbs = Limbs::at(rig, surface.world(), Leaf::Point);
    let influences = |slot: usize| {
        rig.influences(slot).map(|influence| (rig.palette()[influence.palette as usize].bone, influence.weight))
    };
    let mut largest: Vec<Option<f64>> = vec![None; rig.skeleton().len()];
    for slot in surface.all_slots() {
        if let Some(bone) = rig.main_bone(slot) {
            let d = limbs.distance(bone.index(), surface.points()[slot]);
            let found = &mut largest[bone.index()];
            *found = Some(found.map_or(d, |other| other.max(d)));
        }
    }
    PointMap::from_fn(rig, |slot| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (bone, weight) in influences(slot) {
            let Some(largest) = largest[bone.index()] else { continue };
            let share = if largest > 0.0 {
                (limbs.distance(bone.index(), surface.points()[slot]) / largest).min(1.0)
            } else {
                0.0
            };
            sum += f64::from(weight) * share;
            total += f64::from(weight);
        }
        if total > 0.0 { (sum / total) as f32 } else { 0.0 }
    })
}
