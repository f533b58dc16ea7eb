//! The `SkinningJob` of `ozz-animation-rs`, given the same vertices in the layout it asks for.

use glam::Vec3;
use ozz_animation_rs::{OzzError, SkinningJobRef};

use crate::data::{INFLUENCES, Skinned, Workload};

/// A workload in ozz's layout and types.
pub struct OzzWorkload {
    positions: Vec<ozz_glam::Vec3>,
    normals: Vec<ozz_glam::Vec3>,
    joint_indices: Vec<u16>,
    /// One fewer than the influences: ozz restores the last weight from the sum.
    joint_weights: Vec<f32>,
    joint_matrices: Vec<ozz_glam::Mat4>,
}

/// What the job writes.
pub struct OzzSkinned {
    positions: Vec<ozz_glam::Vec3>,
    normals: Vec<ozz_glam::Vec3>,
}

impl From<&Workload> for OzzWorkload {
    fn from(work: &Workload) -> Self {
        let vectors = |from: &[Vec3]| from.iter().map(|v| v.to_array().into()).collect();
        Self {
            positions: vectors(&work.positions),
            normals: vectors(&work.normals),
            joint_indices: work.bones.as_flattened().to_vec(),
            joint_weights: work.weights.iter().flat_map(|w| w[..INFLUENCES - 1].to_vec()).collect(),
            joint_matrices: work
                .world_from_bind
                .iter()
                .map(|m| ozz_glam::Mat4::from_cols_array(&m.to_cols_array()))
                .collect(),
        }
    }
}

impl OzzSkinned {
    /// Room for every vertex of `work`.
    pub fn for_workload(work: &OzzWorkload) -> Self {
        Self { positions: work.positions.clone(), normals: work.normals.clone() }
    }
}

impl From<OzzSkinned> for Skinned {
    fn from(skinned: OzzSkinned) -> Self {
        let vectors = |from: Vec<ozz_glam::Vec3>| from.iter().map(|v| v.to_array().into()).collect();
        Self { positions: vectors(skinned.positions), normals: vectors(skinned.normals) }
    }
}

/// Positions and normals of the bent pose.
pub fn skin(work: &OzzWorkload, out: &mut OzzSkinned) -> Result<(), OzzError> {
    let mut job = SkinningJobRef::default();
    job.set_vertex_count(work.positions.len());
    job.set_influences_count(INFLUENCES);
    job.set_joint_matrices(&work.joint_matrices);
    job.set_joint_indices(&work.joint_indices);
    job.set_joint_weights(&work.joint_weights);
    job.set_in_positions(&work.positions);
    job.set_in_normals(&work.normals);
    job.set_out_positions(&mut out.positions);
    job.set_out_normals(&mut out.normals);
    job.run()
}
