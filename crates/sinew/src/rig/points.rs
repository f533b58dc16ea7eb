//! Control points one by one: whoever is no kernel asks here and need not know how rows are packed.
//!
//! A point is named by its slot, as in [`Rig::point_of_vertex`]; slots count the lanes of all rows, and those that no
//! point uses repeat the last point of their row. A number that is no slot has no influences.

use super::Rig;
use crate::influences::Influence;
use crate::simd::LANES;
use crate::skeleton::BoneId;
use glam::Vec3;

impl Rig {
    /// Slots there are; every control point is one of them.
    pub fn slots(&self) -> usize {
        self.rows.len() * LANES
    }

    /// The control point (slot) of a vertex.
    pub fn point(&self, vertex: usize) -> usize {
        self.point_of_vertex[vertex] as usize
    }

    /// What moves a point, by ascending palette index; weights are positive and sum to 1 up to rounding.
    pub fn influences(&self, slot: usize) -> impl Iterator<Item = Influence> + '_ {
        let skin = self.rows.get(slot / LANES).map_or(0..0, |row| row.skin.start as usize..row.skin.end as usize);
        let union = self.skin_entries[skin.clone()].iter().zip(&self.skin_weights[skin]);
        let of_point = union.map(move |(&palette, weights)| Influence { palette, weight: weights[slot % LANES] });
        of_point.filter(|influence| influence.weight > 0.0)
    }

    /// What moves a point most: the lower palette index among equals.
    pub fn main_influence(&self, slot: usize) -> Option<Influence> {
        Influence::largest(self.influences(slot))
    }

    /// The bone that moves a point most.
    pub fn main_bone(&self, slot: usize) -> Option<BoneId> {
        self.main_influence(slot).map(|main| self.palette[main.palette as usize].bone)
    }

    /// Whether a point belongs to a part that rides on a bone: a sword, a robot's body. Slots without a point do not.
    pub fn is_rider(&self, slot: usize) -> bool {
        self.rows.get(slot / LANES).is_some_and(|row| row.riders >> (slot % LANES) & 1 == 1)
    }

    /// The character a point belongs to.
    pub fn character_of_point(&self, slot: usize) -> Option<usize> {
        self.rows.get(slot / LANES).map(|row| row.character as usize)
    }

    /// The normal of a vertex at rest, taken from the faces where the source has none.
    pub fn rest_normal(&self, vertex: usize) -> Vec3 {
        self.layer_normals.get(self.layer_slot_of_vertex[vertex] as usize)
    }

    /// The direction of a vertex's tangent at rest; none where no primitive of the rig has tangents.
    pub fn rest_tangent(&self, vertex: usize) -> Option<Vec3> {
        self.layer_tangents.as_ref().map(|(tangents, _)| tangents.get(self.layer_slot_of_vertex[vertex] as usize))
    }

    /// Bones that a row of sixteen points shares, on average: what a point costs in skinning.
    pub fn bones_per_row(&self) -> f64 {
        self.skin_entries.len() as f64 / self.rows.len().max(1) as f64
    }
}
