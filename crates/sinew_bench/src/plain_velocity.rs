//! Squash and floppy on LBS as anyone would first write them: one vertex after the other, one bone after the other, in
//! glam's types, from the formulas of the paper. The measure of what rows and lanes are worth.

use glam::{Quat, Vec3};
use sinew::BoneId;

use crate::data::{PosedFrame, Skinned, Workload};
use crate::plain;

/// The defaults of the two effects.
const FLOPPY: f32 = 0.1;
const MAX_LENGTH: f32 = 0.3;
const MAX_ANGLE: f32 = 1.0;
const SQUASH: f32 = 0.2;
const MAX_STRETCH: f32 = 0.5;

/// Per bone: its motion, its axis and the propagated weight of every vertex.
struct Bone {
    origin: Vec3,
    centroid: Vec3,
    v: Vec3,
    omega: Vec3,
    weights: Vec<f32>,
}

/// A frame ready to be computed.
pub struct PlainVelocity {
    bones: Vec<Bone>,
    size: f32,
}

impl PlainVelocity {
    /// Gathers what the loop reads.
    pub fn new(work: &Workload, frame: &PosedFrame) -> Self {
        let skeleton = work.rig.skeleton();
        let joints: Vec<BoneId> =
            (0..work.world_from_bind.len()).map(|node| skeleton.bone_of_node(node).expect("a bone")).collect();
        let bones = joints
            .iter()
            .map(|&bone| {
                let below: Vec<bool> =
                    joints.iter().map(|&joint| skeleton.ancestors(joint).any(|above| above == bone)).collect();
                let propagated = |vertex: usize| -> f32 {
                    let influences = work.bones[vertex].iter().zip(work.weights[vertex]);
                    influences.filter(|(b, _)| below[usize::from(**b)]).map(|(_, w)| w).sum()
                };
                let centroid = work.rig.centroid(bone).expect("every bone of the tube moves skin");
                let motion = &frame.kinematics.bones[bone.index()];
                Bone {
                    origin: frame.world.joint_origin(bone).as_vec3(),
                    centroid: frame.world.world_from_bone(bone).transform_point3(centroid).as_vec3(),
                    v: motion.linear_velocity.as_vec3(),
                    omega: motion.angular_velocity.as_vec3(),
                    weights: (0..work.positions.len()).map(propagated).collect(),
                }
            })
            .collect();
        Self { bones, size: work.rig.characters()[0].size as f32 }
    }

    /// Positions with both effects; normals of the base.
    pub fn run(&self, work: &Workload, out: &mut Skinned) {
        plain::skin(work, out);
        for vertex in 0..out.positions.len() {
            let p = out.positions[vertex];
            let mut d = Vec3::ZERO;
            for bone in &self.bones {
                let weight = bone.weights[vertex];
                if weight > 0.0 {
                    d += (self.floppy(bone, p) + self.squash(bone, p)) * weight;
                }
            }
            out.positions[vertex] = p + d;
        }
    }

    fn floppy(&self, bone: &Bone, p: Vec3) -> Vec3 {
        let lag = bone.v * -FLOPPY;
        let lag = lag * soft(lag.length(), MAX_LENGTH * self.size);
        let rate = bone.omega.length();
        if rate == 0.0 {
            return lag;
        }
        let r = p - bone.origin;
        let angle = -FLOPPY / self.size * bone.omega.cross(r).length();
        let angle = angle * soft(angle.abs(), MAX_ANGLE);
        lag + Quat::from_axis_angle(bone.omega / rate, angle) * r - r
    }

    fn squash(&self, bone: &Bone, p: Vec3) -> Vec3 {
        let mut d = Vec3::ZERO;
        let speed = bone.v.length();
        if speed > 0.0 {
            let f = stretch(SQUASH / self.size * speed);
            let (u, q, g) = (bone.v / speed, p - bone.centroid, 1.0 / f.sqrt());
            d += u * ((f - g) * u.dot(q)) + q * (g - 1.0);
        }
        let y = (bone.centroid - bone.origin).normalize();
        let across = bone.omega - y * bone.omega.dot(y);
        let rate = across.length();
        if rate > 1e-6 * bone.omega.length() {
            let (z, r) = (across / rate, p - bone.origin);
            let x = y.cross(z);
            let f = stretch(SQUASH / self.size * across.cross(r).length());
            d += x * ((f - 1.0) * x.dot(r)) + z * ((1.0 / f - 1.0) * z.dot(r));
        }
        d
    }
}

fn soft(x: f32, max: f32) -> f32 {
    (1.0 + (x / max).powi(4)).powf(-0.25)
}

fn stretch(s: f32) -> f32 {
    1.0 + s * soft(s, MAX_STRETCH)
}
