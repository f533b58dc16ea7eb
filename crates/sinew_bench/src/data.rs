//! The workload: a tube along y, weighted to a chain of bones inside it, and one bent pose of that chain.

use std::f32::consts::{PI, TAU};

use glam::{Mat4, Vec3};

/// Influences of every vertex.
pub const INFLUENCES: usize = 4;

const RADIUS: f32 = 1.0;
const LENGTH: f32 = 8.0;
/// What the pose bends the whole chain by.
const BEND: f32 = 2.0 * PI / 3.0;

/// How fine the tube is: `around × rings` vertices.
#[derive(Clone, Copy, Debug)]
pub struct Resolution {
    /// Vertices of one ring.
    pub around: usize,
    /// Rings along the tube; at least two.
    pub rings: usize,
}

/// Everything a kernel reads, one entry per vertex except for the matrices.
pub struct Workload {
    /// Rest positions.
    pub positions: Vec<Vec3>,
    /// Rest normals, unit length.
    pub normals: Vec<Vec3>,
    /// The bones that move the vertex.
    pub bones: Vec<[u16; INFLUENCES]>,
    /// Their weights; they sum to 1.
    pub weights: Vec<[f32; INFLUENCES]>,
    /// Per bone, the skinning matrix of the bent pose.
    pub world_from_bind: Vec<Mat4>,
}

/// What a kernel writes, one entry per vertex.
#[derive(Clone)]
pub struct Skinned {
    /// Skinned positions.
    pub positions: Vec<Vec3>,
    /// Skinned normals, not normalised.
    pub normals: Vec<Vec3>,
}

impl Skinned {
    /// Room for every vertex of `work`.
    pub fn for_workload(work: &Workload) -> Self {
        Self { positions: vec![Vec3::ZERO; work.positions.len()], normals: vec![Vec3::ZERO; work.positions.len()] }
    }
}

/// A tube at `resolution` over a chain of `bone_count ≥ 4` bones.
pub fn tube(resolution: Resolution, bone_count: u16) -> Workload {
    let Resolution { around, rings } = resolution;
    let vertex_count = around * rings;
    let mut work = Workload {
        positions: Vec::with_capacity(vertex_count),
        normals: Vec::with_capacity(vertex_count),
        bones: Vec::with_capacity(vertex_count),
        weights: Vec::with_capacity(vertex_count),
        world_from_bind: bent_chain(bone_count),
    };
    for ring in 0..rings {
        let y = LENGTH * ring as f32 / (rings - 1) as f32;
        let (bones, weights) = nearest_bones(y, bone_count);
        for step in 0..around {
            let (sin, cos) = (TAU * step as f32 / around as f32).sin_cos();
            let normal = Vec3::new(cos, 0.0, sin);
            work.positions.push(RADIUS * normal + y * Vec3::Y);
            work.normals.push(normal);
            work.bones.push(bones);
            work.weights.push(weights);
        }
    }
    work
}

/// The four bones whose middles are nearest to height `y`, with weights that fall off smoothly.
fn nearest_bones(y: f32, bone_count: u16) -> ([u16; INFLUENCES], [f32; INFLUENCES]) {
    let height_in_bones = y / LENGTH * f32::from(bone_count);
    let first = (height_in_bones - 1.5).round().clamp(0.0, f32::from(bone_count) - INFLUENCES as f32) as u16;
    let bones = std::array::from_fn(|k| first + k as u16);
    let falloff = bones.map(|bone| {
        let distance = height_in_bones - (f32::from(bone) + 0.5);
        (distance * distance + 0.25).powi(-2)
    });
    let sum: f32 = falloff.iter().sum();
    (bones, falloff.map(|f| f / sum))
}

fn bent_chain(bone_count: u16) -> Vec<Mat4> {
    let bone_length = LENGTH / f32::from(bone_count);
    let bend = Mat4::from_rotation_z(BEND / f32::from(bone_count));
    let mut world_from_bone = bend;
    (0..bone_count)
        .map(|bone| {
            let bone_from_bind = Mat4::from_translation(-bone_length * f32::from(bone) * Vec3::Y);
            let world_from_bind = world_from_bone * bone_from_bind;
            world_from_bone *= Mat4::from_translation(bone_length * Vec3::Y) * bend;
            world_from_bind
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_on_bones_that_exist() {
        for bone_count in [4, 12, 64] {
            let work = tube(Resolution { around: 8, rings: 50 }, bone_count);
            for (bones, weights) in work.bones.iter().zip(&work.weights) {
                assert!(bones.iter().all(|&bone| bone < bone_count));
                assert!(weights.iter().all(|&weight| weight > 0.0));
                assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_chain_is_connected_and_bent_by_the_whole_angle() {
        let matrices = bent_chain(12);
        for (joint, pair) in matrices.windows(2).enumerate() {
            let at_rest = Vec3::Y * (LENGTH / 12.0 * (joint + 1) as f32);
            let gap = pair[0].transform_point3(at_rest).distance(pair[1].transform_point3(at_rest));
            assert!(gap < 1e-5 * LENGTH, "bones {joint} and {} come apart by {gap}", joint + 1);
        }
        let tip = matrices[11].transform_vector3(Vec3::Y);
        assert!((tip.angle_between(Vec3::Y) - BEND).abs() < 1e-5);
    }
}
