//! Propagated weights `w̃_i = Σ_{j∈D(i)} w_j` (VS "upward-propagated", AS "kinematics weights"), without ever
//! storing vertices × depth.
//!
//! Along the path from a point's bones to the root, w̃ changes only where those paths meet. So a row of points needs
//! one column of weights per node of the *virtual tree* of its bones (the bones themselves and their lowest common
//! ancestors); a column holds for the whole path of skeleton bones from its `bottom` up to, not including, `above`.
//! At most `2k − 1` columns for k distinct bones, whatever the depth.

use crate::hierarchy::Hierarchy;
use crate::pose::WorldPose;
use crate::rig::Rig;
use crate::simd::{LANES, Lanes};
use crate::skeleton::BoneId;
use glam::DVec3;
use std::ops::Range;

/// A stretch of the skeleton along which every point of a row has one propagated weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Lowest bone of the stretch.
    pub bottom: BoneId,
    /// The bone above its topmost one; `None` when the stretch reaches the root.
    pub above: Option<BoneId>,
    /// Whether the weight is exactly 1 in all lanes.
    pub uniform: bool,
}

/// What a hierarchy makes of a rig's skin: along which bones motion reaches each point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Propagated {
    hierarchy: Hierarchy,
    /// Per row, where its columns end.
    ends: Vec<u32>,
    columns: Vec<Column>,
    weights: Vec<Lanes>,
    centroids: Vec<Option<DVec3>>,
    roots: Vec<bool>,
}

impl Propagated {
    pub fn new(rig: &Rig, hierarchy: Hierarchy) -> Self {
        let mut propagated = Self {
            centroids: centroids(rig, &hierarchy),
            roots: topmost(rig.carriers(), &hierarchy),
            ..Self::default()
        };
        let ancestry = Ancestry::new(&hierarchy);
        for row in 0..rig.rows().len() {
            let influences = |lane: usize| {
                let of_point = rig.influences(row * LANES + lane);
                of_point.map(|influence| (rig.palette()[influence.palette as usize].bone, influence.weight)).collect()
            };
            let lanes = std::array::from_fn(influences);
            ancestry.columns(&lanes, &mut propagated.columns, &mut propagated.weights);
            propagated.ends.push(propagated.columns.len() as u32);
        }
        Self { hierarchy, ..propagated }
    }

    /// The tree it goes by.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The columns of a row, as positions in [`Self::columns`] and [`Self::weights`].
    #[inline(always)]
    pub fn of_row(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        start..self.ends[row] as usize
    }

    /// Stretches of all rows.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Propagated weights beside [`Self::columns`].
    pub fn weights(&self) -> &[Lanes] {
        &self.weights
    }

    /// Centroid of what a bone moves, in the bone's frame; `None` where it moves no skin.
    pub fn centroid(&self, bone: BoneId) -> Option<DVec3> {
        self.centroids[bone.index()]
    }

    /// Whether a bone carries the motion of the whole character.
    pub fn is_root(&self, bone: BoneId) -> bool {
        self.roots[bone.index()]
    }

    /// Bytes it holds for points.
    pub fn memory(&self) -> usize {
        size_of_val(&self.ends[..]) + size_of_val(&self.columns[..]) + size_of_val(&self.weights[..])
    }
}

/// `c_i = Σ w̃_i m_u p_u / Σ w̃_i m_u` at rest, m_u a third of the area around u, in the bone's frame. Summed up the
/// tree, so that it costs one pass over the bones.
fn centroids(rig: &Rig, hierarchy: &Hierarchy) -> Vec<Option<DVec3>> {
    let mut world = WorldPose::default();
    world.compose(rig.skeleton(), &rig.rest_pose());
    let mut sums = rig.moved().to_vec();
    for &bone in hierarchy.order().iter().rev() {
        if let Some(parent) = hierarchy.parent(bone) {
            let below = sums[bone.index()];
            let sum = &mut sums[parent.index()];
            *sum = (sum.0 + below.0, sum.1 + below.1);
        }
    }
    let centroid = |bone: BoneId| {
        let (sum, mass) = sums[bone.index()];
        let in_bone = world.world_from_bone(bone).inverse().transform_point3(sum / mass);
        (mass > 0.0 && in_bone.is_finite()).then_some(in_bone)
    };
    rig.skeleton().bones().map(centroid).collect()
}

/// Of the marked bones, those without one above them.
fn topmost(marked: &[bool], hierarchy: &Hierarchy) -> Vec<bool> {
    let (mut below, mut topmost) = (vec![false; marked.len()], vec![false; marked.len()]);
    for &bone in hierarchy.order() {
        let under = hierarchy.parent(bone).is_some_and(|parent| below[parent.index()]);
        topmost[bone.index()] = marked[bone.index()] && !under;
        below[bone.index()] = marked[bone.index()] || under;
    }
    topmost
}

/// Answers ancestor questions in logarithmic time and linear memory (jump pointers).
pub(crate) struct Ancestry<'a> {
    hierarchy: &'a Hierarchy,
    jump: Vec<BoneId>,
    /// Place in the order of the hierarchy, parents first.
    rank: Vec<u32>,
    preorder: Vec<u32>,
    size: Vec<u32>,
}

impl<'a> Ancestry<'a> {
    pub(crate) fn new(hierarchy: &'a Hierarchy) -> Self {
        let count = hierarchy.len();
        let order = hierarchy.order();
        let mut jump: Vec<BoneId> = order.to_vec();
        let mut rank = vec![0u32; count];
        let depth = |b: BoneId| i64::from(hierarchy.depth(b));
        for (place, &bone) in order.iter().enumerate() {
            rank[bone.index()] = place as u32;
            jump[bone.index()] = match hierarchy.parent(bone) {
                None => bone,
                Some(parent) => {
                    let far = jump[parent.index()];
                    let farther = jump[far.index()];
                    if depth(parent) - depth(far) == depth(far) - depth(farther) { farther } else { parent }
                }
            };
        }
        // Subtree sizes, leaves up; then preorder numbers, root down, siblings in order.
        let mut size = vec![1u32; count];
        for &bone in order.iter().rev() {
            if let Some(parent) = hierarchy.parent(bone) {
                size[parent.index()] += size[bone.index()];
            }
        }
        let mut next_in = vec![0u32; count];
        let mut next_root = 0;
        let mut preorder = vec![0u32; count];
        for &bone in order {
            let slot = match hierarchy.parent(bone) {
                None => &mut next_root,
                Some(parent) => &mut next_in[parent.index()],
            };
            let number = *slot;
            *slot += size[bone.index()];
            preorder[bone.index()] = number;
            next_in[bone.index()] = number + 1;
        }
        Self { hierarchy, jump, rank, preorder, size }
    }

    /// Whether `bone` is `ancestor` or one of its descendants.
    pub(crate) fn is_at_or_below(&self, bone: BoneId, ancestor: BoneId) -> bool {
        let start = self.preorder[ancestor.index()];
        (start..start + self.size[ancestor.index()]).contains(&self.preorder[bone.index()])
    }

    fn lowest_common_ancestor(&self, mut a: BoneId, mut b: BoneId) -> Option<BoneId> {
        if self.hierarchy.depth(a) < self.hierarchy.depth(b) {
            std::mem::swap(&mut a, &mut b);
        }
        while self.hierarchy.depth(a) > self.hierarchy.depth(b) {
            let far = self.jump[a.index()];
            a = if self.hierarchy.depth(far) >= self.hierarchy.depth(b) { far } else { self.hierarchy.parent(a)? };
        }
        while a != b {
            let (far_a, far_b) = (self.jump[a.index()], self.jump[b.index()]);
            (a, b) = if far_a != far_b && (far_a, far_b) != (a, b) {
                (far_a, far_b)
            } else {
                (self.hierarchy.parent(a)?, self.hierarchy.parent(b)?)
            };
        }
        Some(a)
    }

    /// The columns of one row, those of parents first, from each lane's (bone, weight) list.
    pub(crate) fn columns(
        &self,
        lanes: &[Vec<(BoneId, f32)>; LANES],
        columns: &mut Vec<Column>,
        weights: &mut Vec<Lanes>,
    ) {
        let mut nodes: Vec<BoneId> = lanes.iter().flatten().map(|&(bone, _)| bone).collect();
        let by_preorder = |b: &BoneId| self.preorder[b.index()];
        nodes.sort_unstable_by_key(by_preorder);
        nodes.dedup();
        let meets: Vec<_> = nodes.windows(2).filter_map(|w| self.lowest_common_ancestor(w[0], w[1])).collect();
        nodes.extend(meets);
        let by_rank = |b: &BoneId| self.rank[b.index()];
        nodes.sort_unstable_by_key(by_rank);
        nodes.dedup();

        let first = columns.len();
        let mut above: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
        let mut stack: Vec<usize> = Vec::new();
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_unstable_by_key(|&i| by_preorder(&nodes[i]));
        above.resize(nodes.len(), None);
        for &i in &order {
            while let Some(&top) = stack.last() {
                if self.is_at_or_below(nodes[i], nodes[top]) {
                    break;
                }
                stack.pop();
            }
            above[i] = stack.last().copied();
            stack.push(i);
        }
        let mut sums = vec![[0.0f64; LANES]; nodes.len()];
        let mut counts = vec![[0usize; LANES]; nodes.len()];
        for (lane, influences) in lanes.iter().enumerate() {
            for &(bone, weight) in influences {
                if let Ok(i) = nodes.binary_search_by_key(&by_rank(&bone), by_rank) {
                    sums[i][lane] += f64::from(weight);
                    counts[i][lane] += 1;
                }
            }
        }
        // Ancestors stand before their children.
        for i in (0..nodes.len()).rev() {
            if let Some(up) = above[i] {
                for lane in 0..LANES {
                    sums[up][lane] += sums[i][lane];
                    counts[up][lane] += counts[i][lane];
                }
            }
        }
        for (i, &bottom) in nodes.iter().enumerate() {
            let mut w: Lanes = [0.0; LANES];
            for lane in 0..LANES {
                // All of a point's weight below: exactly 1, whatever rounding did to the sum.
                w[lane] = if counts[i][lane] == lanes[lane].len() { 1.0 } else { sums[i][lane].min(1.0) as f32 };
            }
            columns.push(Column { bottom, above: above[i].map(|up| nodes[up]), uniform: w.iter().all(|&w| w == 1.0) });
            weights.push(w);
        }
        debug_assert!(columns.len() > first, "a row has at least one influence");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::{LocalTransform, Trs};
    use crate::raw::RawBone;
    use crate::skeleton::Skeleton;

    fn skeleton(parents: &[Option<usize>]) -> Skeleton {
        let bones: Vec<_> = parents
            .iter()
            .map(|&parent| RawBone { name: String::new(), parent, local: LocalTransform::Trs(Trs::IDENTITY) })
            .collect();
        Skeleton::build(&bones).unwrap()
    }

    /// The skeleton's own tree, with some bones that follow others.
    fn re_hung(skeleton: &Skeleton, bones: usize, random: &mut impl FnMut(usize) -> usize) -> Hierarchy {
        let all: Vec<_> = skeleton.bones().collect();
        (0..bones).fold(Hierarchy::plain(skeleton), |tree, _| {
            let (bone, parent) = (all[random(all.len())], all[random(all.len())]);
            tree.following(skeleton, bone, parent).unwrap_or(tree)
        })
    }

    /// Against the definition: w̃ of every bone by summing over descendants.
    #[test]
    fn columns_reproduce_the_definition_on_random_trees() {
        let mut seed = 7u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n
        };
        for round in 0..200 {
            let count = 2 + random(60);
            // Two roots now and then; deep chains now and then.
            let parents: Vec<_> = (0..count)
                .map(|i| match i {
                    0 => None,
                    1 if round % 3 == 0 => None,
                    _ if round % 2 == 0 => Some(i - 1 - random(2.min(i))),
                    _ => Some(random(i)),
                })
                .collect();
            let skeleton = skeleton(&parents);
            let bones: Vec<_> = skeleton.bones().collect();
            let lanes: [Vec<(BoneId, f32)>; LANES] = std::array::from_fn(|_| {
                let k = 1 + random(5);
                let mut list: Vec<(BoneId, f32)> = Vec::new();
                for _ in 0..k {
                    let bone = bones[random(count)];
                    if !list.iter().any(|&(b, _)| b == bone) {
                        list.push((bone, 1.0 + random(8) as f32));
                    }
                }
                let sum: f32 = list.iter().map(|l| l.1).sum();
                list.iter().map(|&(b, w)| (b, w / sum)).collect()
            });
            let (mut columns, mut weights) = (Vec::new(), Vec::new());
            let tree = re_hung(&skeleton, random(4), &mut random);
            Ancestry::new(&tree).columns(&lanes, &mut columns, &mut weights);
            let mut found = vec![[0.0f32; LANES]; count];
            let mut seen = vec![0; count];
            for (column, w) in columns.iter().zip(&weights) {
                for bone in tree.ancestors(column.bottom).take_while(|&b| Some(b) != column.above) {
                    found[bone.index()] = *w;
                    seen[bone.index()] += 1;
                }
            }
            for &bone in &bones {
                assert!(seen[bone.index()] <= 1, "stretches overlap");
                for lane in 0..LANES {
                    let truth: f32 =
                        lanes[lane].iter().filter(|&&(b, _)| tree.ancestors(b).any(|a| a == bone)).map(|l| l.1).sum();
                    assert!((found[bone.index()][lane] - truth).abs() < 1e-6);
                }
            }
        }
    }
}
