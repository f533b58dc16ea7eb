//! Which bone carries which, as the body has it.
//!
//! A file's node tree says what moves what, and with exported inverse kinematics a foot hangs on the root. Effects ask
//! something else: along which bones does motion reach a piece of skin? A [`Hierarchy`] answers that. It is the node tree
//! but for the bones that *follow* another one; propagated weights, centroids of what a bone moves and the motion of a bone
//! against its parent all go by it. Nodes, base skinning and what is written to files never do.
//!
//! | file | what it holds |
//! |---|---|
//! | `derive` | which bones follow which, from skin, rest pose and clips |

mod derive;

use crate::clip::Clip;
use crate::rig::Rig;
use crate::skeleton::{BoneId, Skeleton};

/// Why a bone follows another one than its parent in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// They share skin.
    Skin(Evidence),
    /// Its skin is a piece of its own that touches what the other one moves.
    Touch(Evidence),
    /// Somebody said so.
    Told,
}

/// What the skin and the clips say for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// How much of the skin it shares with others, or touches, is the other bone's; from 0 to 1.
    pub share: f64,
    /// Root mean square over the clips of how far it strays from its place in the other bone's frame, in sizes.
    pub strays: f64,
    /// The same in the frame of its parent in the file.
    pub strays_in_file: f64,
}

/// A bone that follows another one than its parent in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follow {
    /// The bone.
    pub bone: BoneId,
    /// What it follows.
    pub parent: BoneId,
    /// Why.
    pub reason: Reason,
}

/// A bone cannot follow itself or what it carries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bone \"{bone}\" cannot follow \"{parent}\", which it carries itself")]
pub struct Circular {
    /// The bone.
    pub bone: String,
    /// What it was to follow.
    pub parent: String,
}

/// The tree that effects go by.
///
/// # Invariants
/// A forest over the bones of one skeleton; `order` has each bone once, parents first; it is the skeleton's own order where
/// nothing follows anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hierarchy {
    parents: Vec<Option<BoneId>>,
    depths: Vec<u32>,
    order: Vec<BoneId>,
    follows: Vec<Follow>,
}

impl Hierarchy {
    /// The file's own tree, as the papers have it.
    pub fn plain(skeleton: &Skeleton) -> Self {
        Self {
            parents: skeleton.bones().map(|bone| skeleton.parent(bone)).collect(),
            depths: skeleton.bones().map(|bone| skeleton.depth(bone)).collect(),
            order: skeleton.bones().collect(),
            follows: Vec::new(),
        }
    }

    /// As skin and rest pose tell, where the clips show that the file's tree is not the body's: a bone that keeps its place
    /// in its parent in all of them stays there, and so do all without clips.
    pub fn of(rig: &Rig, clips: &[Clip]) -> Self {
        let mut hierarchy = Self::plain(rig.skeleton());
        for follow in derive::follows(rig, clips) {
            // What was found is a forest; if it were not, the file's tree would be the better one.
            if hierarchy.hang(rig.skeleton(), follow).is_err() {
                return Self::plain(rig.skeleton());
            }
        }
        hierarchy
    }

    /// The same with a bone that follows another one; its own parent in the file puts it back there.
    pub fn following(&self, skeleton: &Skeleton, bone: BoneId, parent: BoneId) -> Result<Self, Circular> {
        let mut hierarchy = self.clone();
        hierarchy.hang(skeleton, Follow { bone, parent, reason: Reason::Told })?;
        Ok(hierarchy)
    }

    fn hang(&mut self, skeleton: &Skeleton, follow: Follow) -> Result<(), Circular> {
        let Follow { bone, parent, .. } = follow;
        if self.ancestors(parent).any(|above| above == bone) {
            let name = |bone| skeleton.name(bone).to_owned();
            return Err(Circular { bone: name(bone), parent: name(parent) });
        }
        self.parents[bone.index()] = Some(parent);
        self.follows.retain(|known| known.bone != bone);
        if skeleton.parent(bone) != Some(parent) {
            self.follows.push(follow);
            self.follows.sort_by_key(|follow| follow.bone);
        }
        self.settle(skeleton);
        Ok(())
    }

    /// Order and depths from the parents: breadth first, as the bones of a skeleton stand.
    fn settle(&mut self, skeleton: &Skeleton) {
        let mut children = vec![Vec::new(); self.len()];
        self.order.clear();
        for bone in skeleton.bones() {
            match self.parent(bone) {
                Some(parent) => children[parent.index()].push(bone),
                None => self.order.push(bone),
            }
        }
        let mut next = 0;
        while next < self.order.len() {
            let bone = self.order[next];
            self.depths[bone.index()] = self.parent(bone).map_or(0, |parent| self.depth(parent) + 1);
            self.order.extend_from_slice(&children[bone.index()]);
            next += 1;
        }
    }

    /// Number of bones.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there are no bones.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// What carries a bone; `None` for a root.
    pub fn parent(&self, bone: BoneId) -> Option<BoneId> {
        self.parents[bone.index()]
    }

    /// Steps from the root: 0 for a root.
    pub fn depth(&self, bone: BoneId) -> u32 {
        self.depths[bone.index()]
    }

    /// All bones, parents first.
    pub fn order(&self) -> &[BoneId] {
        &self.order
    }

    /// The bone and what carries it, upwards.
    pub fn ancestors(&self, bone: BoneId) -> impl Iterator<Item = BoneId> + '_ {
        std::iter::successors(Some(bone), |&b| self.parent(b))
    }

    /// Bones that follow another one than their parent in the file, ascending.
    pub fn follows(&self) -> &[Follow] {
        &self.follows
    }

    /// What a bone follows instead of its parent in the file.
    pub fn followed(&self, bone: BoneId) -> Option<BoneId> {
        let found = self.follows.binary_search_by_key(&bone, |follow| follow.bone).ok()?;
        Some(self.follows[found].parent)
    }
}
