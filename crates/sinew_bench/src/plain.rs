//! Linear blend skinning as anyone would first write it: `p = (Σ w_i T_i) r`, one vertex after the other.

use glam::Mat4;

use crate::data::{Skinned, Workload};

/// Positions and normals of the bent pose.
pub fn skin(work: &Workload, out: &mut Skinned) {
    for vertex in 0..work.positions.len() {
        let mut blend = Mat4::ZERO;
        for (&bone, &weight) in work.bones[vertex].iter().zip(&work.weights[vertex]) {
            blend += work.world_from_bind[usize::from(bone)] * weight;
        }
        out.positions[vertex] = blend.transform_point3(work.positions[vertex]);
        out.normals[vertex] = blend.transform_vector3(work.normals[vertex]);
    }
}
