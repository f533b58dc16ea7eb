//! Bones, parents first.

use crate::pose::LocalTransform;
use crate::raw::RawBone;

/// A bone of a [`Skeleton`]; the order is the skeleton's, parents before children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoneId(u32);

impl BoneId {
    /// Position in arrays that run over the skeleton.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An immutable forest of bones.
///
/// # Invariants
/// `parent(b) < b` for every bone that has a parent.
#[derive(Clone, Debug)]
pub struct Skeleton {
    parents: Vec<Option<BoneId>>,
    depths: Vec<u32>,
    names: Vec<String>,
    rest: Vec<LocalTransform>,
    node_of_bone: Vec<u32>,
    bone_of_node: Vec<BoneId>,
}

/// Why a list of nodes is not a forest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkeletonError {
    /// A parent index beyond the list.
    #[error("node {node} names node {parent} as its parent, but there are only {count} nodes")]
    ParentOutOfRange {
        /// The child.
        node: usize,
        /// Its claimed parent.
        parent: usize,
        /// Nodes in the list.
        count: usize,
    },
    /// Following parents comes back to the start.
    #[error("node {node} is its own ancestor: the node tree has a cycle")]
    Cycle {
        /// A node on the cycle.
        node: usize,
    },
    /// A default transform that is not finite.
    #[error("node {node} \"{name}\" has a default transform that is not finite")]
    NotFinite {
        /// The node.
        node: usize,
        /// Its name.
        name: String,
    },
}

impl Skeleton {
    /// Sorts nodes parents first (breadth-first, node order among siblings) and checks them.
    pub fn build(nodes: &[RawBone]) -> Result<Self, SkeletonError> {
        let count = nodes.len();
        let mut children = vec![Vec::new(); count];
        let mut order = Vec::with_capacity(count);
        for (node, raw) in nodes.iter().enumerate() {
            if !raw.local.to_affine().is_finite() {
                return Err(SkeletonError::NotFinite { node, name: raw.name.clone() });
            }
            match raw.parent {
                None => order.push(node),
                Some(parent) if parent >= count => {
                    return Err(SkeletonError::ParentOutOfRange { node, parent, count });
                }
                Some(parent) => children[parent].push(node),
            }
        }
        let mut next = 0;
        while next < order.len() {
            order.extend_from_slice(&children[order[next]]);
            next += 1;
        }
        let mut bone_of_node = vec![None; count];
        for (bone, &node) in order.iter().enumerate() {
            bone_of_node[node] = Some(BoneId(bone as u32));
        }
        let Some(bone_of_node) = bone_of_node.iter().copied().collect::<Option<Vec<_>>>() else {
            let node = bone_of_node.iter().position(Option::is_none).unwrap_or(0);
            return Err(SkeletonError::Cycle { node });
        };
        let parents: Vec<_> = order.iter().map(|&node| nodes[node].parent.map(|parent| bone_of_node[parent])).collect();
        let mut depths: Vec<u32> = Vec::with_capacity(count);
        for parent in &parents {
            depths.push(parent.map_or(0, |p| depths[p.index()] + 1));
        }
        Ok(Self {
            parents,
            depths,
            names: order.iter().map(|&node| nodes[node].name.clone()).collect(),
            rest: order.iter().map(|&node| nodes[node].local).collect(),
            node_of_bone: order.iter().map(|&node| node as u32).collect(),
            bone_of_node,
        })
    }

    /// Number of bones.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there are no bones.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// All bones, parents first.
    pub fn bones(&self) -> impl DoubleEndedIterator<Item = BoneId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(BoneId)
    }

    /// A bone by its place in [`Self::bones`].
    pub fn bone(&self, index: usize) -> Option<BoneId> {
        (index < self.len()).then_some(BoneId(index as u32))
    }

    /// The parent; `None` for a root.
    pub fn parent(&self, bone: BoneId) -> Option<BoneId> {
        self.parents[bone.index()]
    }

    /// Steps from the root: 0 for a root.
    pub fn depth(&self, bone: BoneId) -> u32 {
        self.depths[bone.index()]
    }

    /// Name as written in the source.
    pub fn name(&self, bone: BoneId) -> &str {
        &self.names[bone.index()]
    }

    /// Index in the source's node list ([`crate::RawRig::bones`]).
    pub fn node(&self, bone: BoneId) -> usize {
        self.node_of_bone[bone.index()] as usize
    }

    /// The bone made from a source node; `None` when there is no such node.
    pub fn bone_of_node(&self, node: usize) -> Option<BoneId> {
        self.bone_of_node.get(node).copied()
    }

    /// Default transforms relative to the parents.
    pub fn rest_locals(&self) -> &[LocalTransform] {
        &self.rest
    }

    /// The bone and its ancestors, upwards.
    pub fn ancestors(&self, bone: BoneId) -> impl Iterator<Item = BoneId> + '_ {
        std::iter::successors(Some(bone), |&b| self.parent(b))
    }
}
