//! The welded skin of one character and where it hangs on its bones: what programs that edit a surface, or let it swing,
//! read and write.
//!
//! *Nodes* are control points joined across the seams of a character. Attachments are those of the default plan, so that
//! what is measured against them means the same under any base.

use super::Attachment;
use super::hanging::{Hanging, Hangings, Hung};
use crate::correct::surface::{Surface, Surfaces};
use crate::graph::DeformedMesh;
use crate::pose::WorldPose;
use crate::rig::Rig;
use crate::simd::LANES;
use crate::topology::Adjacency;
use glam::{DAffine3, DMat3, DVec3};
use std::sync::Arc;

/// The skin of one character.
#[derive(Clone, Debug)]
pub struct AttachedSkin {
    surface: Arc<Surface>,
    faces: Vec<[u32; 3]>,
    hanging: Arc<Hanging>,
}

impl AttachedSkin {
    /// `None` for a character without faces or bones.
    pub fn new(rig: &Rig, character: usize) -> Option<Self> {
        let surface = Arc::clone(rig.kept::<Surfaces>().of(character)?);
        let hanging = rig.kept::<Hangings>().of(character)?;
        Some(Self { faces: surface.faces(), surface, hanging })
    }

    /// Its triangles, by nodes.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.faces
    }

    /// Who is next to whom, by nodes.
    pub fn adjacency(&self) -> &Adjacency {
        &self.hanging.adjacency
    }

    /// Its nodes at bind.
    pub fn bind(&self) -> &[DVec3] {
        &self.surface.bind
    }

    /// Where each node hangs.
    pub fn attachments(&self) -> &[Attachment] {
        &self.hanging.attachments
    }

    /// Attachment points at bind.
    pub fn anchors(&self) -> Vec<DVec3> {
        self.hanging.anchors()
    }

    /// Directions of the nodes' lines at bind.
    pub fn directions(&self) -> Vec<DVec3> {
        self.hanging.directions()
    }

    /// Per palette entry, from bind space to a pose.
    fn palette_from_bind(&self, rig: &Rig, world: &WorldPose) -> Vec<DAffine3> {
        let world_from_rest: Vec<DAffine3> =
            rig.palette().iter().map(|entry| world.world_from_bone(entry.bone) * entry.bone_from_rest).collect();
        let entries = 0..world_from_rest.len() as u32;
        entries.map(|entry| self.surface.world_from_bind(entry, &world_from_rest)).collect()
    }

    /// As the bones of a pose take it. Where a bone is flattened nothing hangs: anchors are 0, aims and directions empty.
    pub fn pose(&self, rig: &Rig, world: &WorldPose) -> Hung {
        let from_bind = self.palette_from_bind(rig, world);
        let mut hung = Hung::default();
        if !self.hanging.pose(&from_bind, &self.surface.bind, &mut hung) {
            hung.scale = 1.0;
            hung.anchors = vec![DVec3::ZERO; self.surface.nodes()];
        }
        self.hanging.pose_axes(&from_bind, &mut hung);
        hung
    }

    /// How the bone that a node hangs on has turned at a pose, mirrors included; as it was where nothing hangs.
    pub fn turn(&self, hung: &Hung, node: usize) -> DMat3 {
        let line = self.hanging.attachments[node].line as usize;
        hung.turns.get(line).copied().unwrap_or(DMat3::IDENTITY)
    }

    /// Its nodes in a frame, in world space.
    pub fn points(&self, rig: &Rig, mesh: &DeformedMesh) -> Vec<DVec3> {
        let mut of_slot = vec![None; rig.rows().len() * LANES];
        for (vertex, &slot) in rig.point_of_vertex().iter().enumerate() {
            of_slot[slot as usize] = Some(mesh.world_position(self.surface.character, vertex));
        }
        let mean = |slots: &[u32]| {
            let seen: Vec<DVec3> = slots.iter().filter_map(|&slot| of_slot[slot as usize]).collect();
            seen.iter().sum::<DVec3>() / seen.len().max(1) as f64
        };
        self.surface.members.iter().map(mean).collect()
    }

    /// Puts nodes in world space into a frame's vertices.
    pub fn put(&self, rig: &Rig, nodes: &[DVec3], mesh: &mut DeformedMesh) {
        let node_of_slot = self.node_of_slot(rig);
        let origin = mesh.origins[self.surface.character];
        for (position, &slot) in mesh.positions.iter_mut().zip(rig.point_of_vertex()) {
            if let Some(p) = node_of_slot[slot as usize].and_then(|node| nodes.get(node)) {
                *position = (*p - origin).as_vec3();
            }
        }
    }

    /// A map with a value for each vertex of the rig, from one for each node; 0 on other characters.
    pub fn map(&self, rig: &Rig, value: impl Fn(usize) -> f64) -> Vec<f32> {
        let node_of_slot = self.node_of_slot(rig);
        let of = |&slot: &u32| node_of_slot[slot as usize].map_or(0.0, |node| value(node) as f32);
        rig.point_of_vertex().iter().map(of).collect()
    }

    fn node_of_slot(&self, rig: &Rig) -> Vec<Option<usize>> {
        let mut node_of_slot = vec![None; rig.rows().len() * LANES];
        for (node, slots) in self.surface.members.iter().enumerate() {
            slots.iter().for_each(|&slot| node_of_slot[slot as usize] = Some(node));
        }
        node_of_slot
    }
}
