//! Parts of a character that figures are told by: the whole, its meshes, its bones, and any labelling a caller gives.

use crate::shape::{NONE, Shape, bone_name, u32_of};
use sinew::Rig;

/// What a group is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// A whole character.
    Character,
    /// A mesh.
    Mesh,
    /// What follows one bone most.
    Bone,
    /// A group of the caller's.
    Given,
}

/// A labelling of control points: a name per group, and the group of every slot of the rig, if it is in one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// Names.
    pub names: Vec<String>,
    /// Group of each slot; slots beyond the end are in none.
    pub of_slot: Vec<Option<u32>>,
}

/// All groups, numbered through.
pub(crate) struct Grouping {
    pub kinds: Vec<GroupKind>,
    pub names: Vec<String>,
    /// The groups of each point, one of each kind; [`NONE`] where there is none.
    pub of_point: Vec<[u32; 4]>,
}

impl Grouping {
    pub fn new(rig: &Rig, shape: &Shape, given: Option<&Groups>) -> Self {
        let mut grouping = Self::of_characters(rig, shape);
        let parts = rig.parts().iter().map(|part| part.name.clone()).collect();
        grouping.add(1, GroupKind::Mesh, parts, |p| shape.part[p]);
        let bones = (0..rig.skeleton().len()).map(|bone| bone_name(rig, u32_of(bone))).collect();
        grouping.add(2, GroupKind::Bone, bones, |p| shape.bone[p]);
        grouping.add_given(shape, given);
        grouping
    }

    /// Characters and the caller's alone.
    pub fn brief(rig: &Rig, shape: &Shape, given: Option<&Groups>) -> Self {
        let mut grouping = Self::of_characters(rig, shape);
        grouping.add_given(shape, given);
        grouping
    }

    fn of_characters(rig: &Rig, shape: &Shape) -> Self {
        let mut grouping = Self { kinds: Vec::new(), names: Vec::new(), of_point: vec![[NONE; 4]; shape.vertex.len()] };
        let wholes = rig.characters().iter().map(|c| c.name.clone()).collect();
        grouping.add(0, GroupKind::Character, wholes, |p| shape.character[p]);
        grouping
    }

    fn add_given(&mut self, shape: &Shape, given: Option<&Groups>) {
        if let Some(groups) = given {
            let of = |p: usize| {
                let found = groups.of_slot.get(shape.slot[p] as usize).copied().flatten();
                found.filter(|&group| (group as usize) < groups.names.len()).unwrap_or(NONE)
            };
            self.add(3, GroupKind::Given, groups.names.clone(), of);
        }
    }

    /// Adds the groups of a kind that have points.
    fn add(&mut self, column: usize, kind: GroupKind, names: Vec<String>, of: impl Fn(usize) -> u32) {
        let mut index = vec![NONE; names.len()];
        for point in 0..self.of_point.len() {
            let group = of(point);
            if group == NONE {
                continue;
            }
            let index = &mut index[group as usize];
            if *index == NONE {
                *index = u32_of(self.names.len());
                self.names.push(names[group as usize].clone());
                self.kinds.push(kind);
            }
            self.of_point[point][column] = *index;
        }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }
}

/// The value below which a share of the values lies; 0 of none.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let rank = ((share * values.len() as f64).ceil() as usize).clamp(1, last + 1) - 1;
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}
