//! Local and world transforms of a skeleton, in f64.

use crate::skeleton::{BoneId, Skeleton};
use glam::{DAffine3, DQuat, DVec3};

/// Translation, rotation, scale; applied as `T·R·S`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trs {
    /// Translation in the parent's space.
    pub translation: DVec3,
    /// Unit rotation.
    pub rotation: DQuat,
    /// Scale along the local axes; may be negative or non-uniform.
    pub scale: DVec3,
}

impl Trs {
    /// The identity.
    pub const IDENTITY: Self = Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY, scale: DVec3::ONE };

    /// A pure translation.
    pub fn from_translation(translation: DVec3) -> Self {
        Self { translation, ..Self::IDENTITY }
    }

    /// As an affine map.
    pub fn to_affine(self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }
}

/// A node's transform relative to its parent. Nodes given by a matrix keep it exactly (it may hold shear);
/// only nodes given by parts can be animated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalTransform {
    /// By parts.
    Trs(Trs),
    /// By a matrix.
    Matrix(DAffine3),
}

impl LocalTransform {
    /// As an affine map.
    pub fn to_affine(self) -> DAffine3 {
        match self {
            Self::Trs(trs) => trs.to_affine(),
            Self::Matrix(matrix) => matrix,
        }
    }

    /// By parts: a matrix is decomposed, losing shear.
    pub fn to_trs(self) -> Trs {
        match self {
            Self::Trs(trs) => trs,
            Self::Matrix(matrix) => {
                let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
                Trs { translation, rotation, scale }
            }
        }
    }
}

/// Local transforms of all bones, and the weights of the file's own morph targets.
#[derive(Clone, Debug, Default)]
pub struct Pose {
    /// Per bone, in skeleton order.
    pub locals: Vec<LocalTransform>,
    /// Per mesh instance, its morph weights, one after the other (offsets: `Rig::morph_offset`).
    pub morph_weights: Vec<f32>,
}

impl Pose {
    /// The nodes' default transforms.
    pub fn rest(skeleton: &Skeleton) -> Self {
        Self { locals: skeleton.rest_locals().to_vec(), morph_weights: Vec::new() }
    }
}

/// World transforms of all bones, composed in f64.
#[derive(Clone, Debug, Default)]
pub struct WorldPose {
    world_from_bone: Vec<DAffine3>,
}

impl WorldPose {
    /// Composes `pose` root to leaf into `self`, reusing its memory.
    pub fn compose(&mut self, skeleton: &Skeleton, pose: &Pose) {
        self.world_from_bone.resize(skeleton.len(), DAffine3::IDENTITY);
        skeleton.bones().for_each(|bone| self.compose_bone(skeleton, pose, bone));
    }

    /// Composes one bone of `pose`, on its parent as it stands; those below it stay where they are.
    pub(crate) fn compose_bone(&mut self, skeleton: &Skeleton, pose: &Pose, bone: BoneId) {
        let local = pose.locals[bone.index()].to_affine();
        self.world_from_bone[bone.index()] = match skeleton.parent(bone) {
            Some(parent) => self.world_from_bone[parent.index()] * local,
            None => local,
        };
    }

    /// World transform of a bone.
    pub fn world_from_bone(&self, bone: BoneId) -> DAffine3 {
        self.world_from_bone[bone.index()]
    }

    /// World transform of a bone's parent; identity for a root.
    pub fn world_from_parent(&self, skeleton: &Skeleton, bone: BoneId) -> DAffine3 {
        skeleton.parent(bone).map_or(DAffine3::IDENTITY, |parent| self.world_from_bone(parent))
    }

    /// Current position of the bone's joint.
    pub fn joint_origin(&self, bone: BoneId) -> DVec3 {
        self.world_from_bone(bone).translation
    }
}
