//! The welded body of a character: its surface at rest, and its nodes at one frame. Reads nothing of the corrections.

mod frame;
mod pieces;
pub(crate) mod surface;

pub(super) use frame::{Body, BodyFrame, Reach, bounded, unit};
pub(super) use pieces::volume;
pub(crate) use surface::Surface;

use crate::rig::{PartKind, Rig};
use crate::simd::LANES;

/// Per slot: on a mesh that rides on a bone.
pub(crate) fn rider_slots(rig: &Rig) -> Vec<bool> {
    let mut is_rider = vec![false; rig.rows().len() * LANES];
    for part in rig.parts().iter().filter(|part| part.kind == PartKind::Rider) {
        for vertex in part.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
            is_rider[rig.point_of_vertex()[vertex] as usize] = true;
        }
    }
    is_rider
}
