//! Bones as they are drawn.

use sinew::{BoneId, Rig};

/// Joints, and the nearest joint above each: nodes between them that move no skin are not drawn.
#[derive(Clone, Debug, Default)]
pub struct Bones {
    /// Ascending.
    pub joints: Vec<BoneId>,
    /// By place in `joints`.
    pub parents: Vec<Option<usize>>,
}

impl Bones {
    /// Those of all skins.
    pub fn new(rig: &Rig) -> Self {
        let mut joints: Vec<BoneId> = rig.palette().iter().map(|entry| entry.bone).collect();
        joints.sort_unstable();
        joints.dedup();
        let above = |&bone: &BoneId| rig.skeleton().ancestors(bone).skip(1).find_map(|b| joints.binary_search(&b).ok());
        let parents = joints.iter().map(above).collect();
        Self { joints, parents }
    }
}
