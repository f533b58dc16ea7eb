//! What a file tells of its bones beyond their names: which part of a body each is, and which a player swings by
//! itself.

use super::{Rig, kept};
use crate::skeleton::BoneId;

/// By bone; empty where nothing is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    roles: Vec<Option<String>>,
    sprung: Vec<bool>,
}

impl Rig {
    /// The same rig, with nodes that are told to be a part of the body, in words such as `leftUpperArm` that count
    /// before their names, and nodes that a player will swing by itself, with all below them: effects leave what those
    /// move alone.
    pub fn told(mut self, roles: &[(usize, String)], sprung: &[usize]) -> Self {
        if roles.is_empty() && sprung.is_empty() {
            return self;
        }
        let mut told = Told { roles: vec![None; self.skeleton.len()], sprung: vec![false; self.skeleton.len()] };
        for (node, role) in roles {
            if let Some(bone) = self.skeleton.bone_of_node(*node) {
                told.roles[bone.index()] = Some(role.clone());
            }
        }
        for bone in sprung.iter().filter_map(|&node| self.skeleton.bone_of_node(node)) {
            told.sprung[bone.index()] = true;
        }
        for bone in self.skeleton.bones() {
            let above = self.skeleton.parent(bone);
            told.sprung[bone.index()] |= above.is_some_and(|above| told.sprung[above.index()]);
        }
        self.told = told;
        // Anatomy and what follows from it go by what is told.
        self.kept = kept::Kept::default();
        self
    }

    /// Whether a player swings a bone by itself, or one above it.
    pub fn is_sprung(&self, bone: BoneId) -> bool {
        self.told.sprung.get(bone.index()).copied().unwrap_or(false)
    }

    /// Whether there are such bones.
    pub(crate) fn has_springs(&self) -> bool {
        self.told.sprung.contains(&true)
    }

    /// How much of a point's weight is on bones that nobody swings.
    pub(crate) fn unsprung(&self, slot: usize) -> f32 {
        let sprung = self.influences(slot).filter(|influence| {
            let bone = self.palette[influence.palette as usize].bone;
            self.is_sprung(bone)
        });
        (1.0 - sprung.map(|influence| influence.weight).sum::<f32>()).clamp(0.0, 1.0)
    }

    /// What a bone is called, by the part it is told to be or else by its name.
    pub(crate) fn telling_name(&self, bone: BoneId) -> &str {
        let role = self.told.roles.get(bone.index()).and_then(Option::as_deref);
        role.unwrap_or_else(|| self.skeleton.name(bone))
    }
}
