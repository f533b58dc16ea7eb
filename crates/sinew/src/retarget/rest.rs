//! Nodes, parents first, with where they are at rest: where skins were bound, else as the nodes stand.

use crate::pose::Trs;
use crate::raw::{RawRig, RawSkin};
use glam::{DAffine3, DQuat, DVec3};

/// The nodes of a character.
pub(super) struct Tree {
    /// Parents before children.
    pub order: Vec<usize>,
    pub parent: Vec<Option<usize>>,
    /// Own transforms as the file has them.
    pub locals: Vec<Trs>,
    /// Places in the world at rest.
    pub rest: Vec<DAffine3>,
}

/// A pose, node by node.
pub(super) struct Posed {
    pub locals: Vec<Trs>,
    pub worlds: Vec<DAffine3>,
}

/// The turn in a transform.
pub(super) fn turn_of(transform: &DAffine3) -> DQuat {
    let (_, turn, _) = transform.to_scale_rotation_translation();
    if turn.is_finite() && turn.length_squared() > 0.0 { turn.normalize() } else { DQuat::IDENTITY }
}

impl Tree {
    pub fn new(raw: &RawRig) -> Self {
        let count = raw.bones.len();
        let parent: Vec<Option<usize>> =
            raw.bones.iter().map(|bone| bone.parent.filter(|&parent| parent < count)).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (node, parent) in parent.iter().enumerate() {
            parent.iter().for_each(|&parent| children[parent].push(node));
        }
        let mut order: Vec<usize> = (0..count).filter(|&node| parent[node].is_none()).collect();
        let mut next = 0;
        while next < order.len() {
            let node = order[next];
            order.extend(&children[node]);
            next += 1;
        }
        let locals = raw.bones.iter().map(|bone| bone.local.to_trs()).collect();
        let mut tree = Self { order, parent, locals, rest: vec![DAffine3::IDENTITY; count] };
        let stands = tree.worlds(|_, own| own);
        let mut bound: Vec<Option<DAffine3>> = vec![None; count];
        for (number, skin) in raw.skins.iter().enumerate() {
            let carriers = raw.meshes.iter().filter(|mesh| mesh.binding == crate::raw::RawBinding::Skin(number));
            let carriers: Vec<usize> = carriers.map(|mesh| mesh.node).filter(|&node| node < count).collect();
            let world = tree.bind_world(skin, &stands, &carriers);
            for joint in skin.joints.iter().filter(|joint| joint.bone < count) {
                let place = world * joint.bone_from_rest.inverse();
                if place.is_finite() && bound[joint.bone].is_none() {
                    bound[joint.bone] = Some(place);
                }
            }
        }
        for &node in &tree.order {
            let above = tree.parent[node].map_or(DAffine3::IDENTITY, |parent| tree.rest[parent]);
            tree.rest[node] = bound[node].unwrap_or_else(|| above * tree.locals[node].to_affine());
        }
        tree
    }

    /// From the space a skin was bound in to the world: that of the likely ones in which most joints stand where they
    /// were bound.
    fn bind_world(&self, skin: &RawSkin, stands: &[DAffine3], carriers: &[usize]) -> DAffine3 {
        let joints = || skin.joints.iter().filter(|joint| joint.bone < stands.len());
        let mut rank = vec![usize::MAX; stands.len()];
        self.order.iter().enumerate().for_each(|(place, &node)| rank[node] = place);
        let Some(top) = joints().min_by_key(|joint| rank[joint.bone]) else { return DAffine3::IDENTITY };
        let mut likely = vec![DAffine3::IDENTITY];
        likely.extend(carriers.iter().map(|&node| stands[node]));
        likely.extend(self.parent[top.bone].map(|node| stands[node]));
        likely.push(stands[top.bone] * top.bone_from_rest);
        let off = |world: &DAffine3| -> f64 {
            let distance = |joint: &crate::raw::RawJoint| {
                let bound = *world * joint.bone_from_rest.inverse();
                let apart = bound.translation.distance(stands[joint.bone].translation);
                if apart.is_finite() { apart } else { 0.0 }
            };
            joints().map(distance).sum()
        };
        let offs: Vec<f64> = likely.iter().map(off).collect();
        let mut best = 0;
        for n in 1..likely.len() {
            // Among equals the first.
            if offs[n] < 0.999 * offs[best] {
                best = n;
            }
        }
        likely[best]
    }

    /// Places in the world where own transforms are as `local` says, which is given each node's.
    pub fn worlds(&self, local: impl Fn(usize, Trs) -> Trs) -> Vec<DAffine3> {
        let mut worlds = vec![DAffine3::IDENTITY; self.locals.len()];
        for &node in &self.order {
            let above = self.parent[node].map_or(DAffine3::IDENTITY, |parent| worlds[parent]);
            worlds[node] = above * local(node, self.locals[node]).to_affine();
        }
        worlds
    }

    /// What carries a node: in a pose, and at rest.
    pub fn parents(&self, node: usize, posed: &[DAffine3]) -> (DAffine3, DAffine3) {
        self.parent[node].map_or((DAffine3::IDENTITY, DAffine3::IDENTITY), |parent| (posed[parent], self.rest[parent]))
    }

    /// The pose in which nodes have the turns `wanted` in the world and are `shifted` from their place at their parent.
    /// Nodes without either are as the file has them.
    pub fn posed(&self, wanted: &[Option<DQuat>], shifted: &[DVec3]) -> Posed {
        let mut locals = self.locals.clone();
        let mut worlds = vec![DAffine3::IDENTITY; locals.len()];
        for &node in &self.order {
            let (above, above_rest) = self.parents(node, &worlds);
            if let Some(turn) = wanted[node] {
                locals[node].rotation = (turn_of(&above).inverse() * turn).normalize();
                let place = above_rest.inverse().transform_point3(self.rest[node].translation);
                let place = place + above.inverse().transform_vector3(shifted[node]);
                if place.is_finite() {
                    locals[node].translation = place;
                }
            }
            worlds[node] = above * locals[node].to_affine();
        }
        Posed { locals, worlds }
    }

    /// How far joints are spread at rest.
    pub fn size(&self) -> f64 {
        let places = || self.rest.iter().map(|place| place.translation);
        let high = places().fold(DVec3::NEG_INFINITY, DVec3::max);
        let low = places().fold(DVec3::INFINITY, DVec3::min);
        let size = (high - low).length();
        if size.is_finite() { size } else { 0.0 }
    }
}
