//! The welded skin of all characters as plain data: the nodes that corrections move and that bases place one by one.

use super::plan::vector;
use crate::base::{Base, EvenlyCarried};
use crate::correct::surface::{Surface, Surfaces};
use crate::rig::Rig;
use bytemuck::{Pod, Zeroable};
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// Nodes, numbered on from character to character.
#[derive(Clone, Debug, Default)]
pub struct NodeArrays {
    /// Per node: where its slots stop in `members`.
    pub member_stops: Vec<u32>,
    /// Slots of nodes: what is welded there.
    pub members: Vec<u32>,
    /// Where the base carries them by lines.
    pub carried: Option<CarriedArrays>,
}

/// What carries each node. Lines are numbered on from character to character.
#[derive(Clone, Debug, Default)]
pub struct CarriedArrays {
    /// Nodes at rest in bind space.
    pub bind: Vec<[f32; 3]>,
    /// Where they hang there.
    pub anchors: Vec<[f32; 3]>,
    /// Per node: whether it follows its bones linearly instead.
    pub is_linear: Vec<bool>,
    /// Per node: where its lines stop in `lines`.
    pub line_stops: Vec<u32>,
    /// Lines that carry nodes.
    pub lines: Vec<u32>,
    /// By how much of each.
    pub weights: Vec<f32>,
    /// Per node: where the faces stop that it gives way by; none for a node of one line.
    pub face_stops: Vec<u32>,
    /// Corners of those faces.
    pub faces: Vec<[u32; 3]>,
    /// How many lines there are in all.
    pub line_count: usize,
}

/// What a line does at a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct LineMotion {
    /// Where it takes points of bind space: three rows.
    pub rows: [[f32; 4]; 3],
    /// The rotation in that, with its sign.
    pub turn: [f32; 4],
    /// What is left without the rotation: three rows.
    pub stretch: [[f32; 3]; 3],
    /// How much larger it makes what it carries.
    pub scale: f32,
}

impl LineMotion {
    pub(crate) fn new(transform: &DAffine3, turn: DQuat, stretch: &DMat3, scale: f64) -> Self {
        Self {
            rows: rows(transform),
            turn: turn.to_array().map(|v| v as f32),
            stretch: std::array::from_fn(|axis| vector(stretch.row(axis))),
            scale: scale as f32,
        }
    }
}

/// A node that corrections move: its mean `p` by `L (p − near) + t`, and whatever is welded there as far.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct NodeMove {
    /// The node.
    pub node: u32,
    /// A place near it: far from there products would lose what they differ by.
    pub near: [f32; 3],
    /// Three rows of L and t.
    pub rows: [[f32; 4]; 3],
}

impl NodeMove {
    /// By what a map is more than none.
    pub(super) fn of(node: usize, near: DVec3, map: &DAffine3) -> Self {
        let near = near.as_vec3();
        let there = near.as_dvec3();
        let more =
            DAffine3 { matrix3: map.matrix3 - DMat3::IDENTITY, translation: map.transform_point3(there) - there };
        Self { node: node as u32, near: near.to_array(), rows: rows(&more) }
    }
}

fn rows(map: &DAffine3) -> [[f32; 4]; 3] {
    std::array::from_fn(|axis| map.matrix3.row(axis).extend(map.translation[axis]).to_array().map(|v| v as f32))
}

impl NodeArrays {
    pub(super) fn new(rig: &Rig, base: &Base) -> Self {
        let mut arrays = Self::default();
        let skins = if let Base::Pointwise(base) = base { Some(base) } else { None };
        let mut carried = skins.map(|_| CarriedArrays::default());
        for surface in rig.kept::<Surfaces>().iter() {
            let first = arrays.member_stops.len() as u32;
            for slots in surface.members.iter() {
                arrays.members.extend_from_slice(slots);
                arrays.member_stops.push(arrays.members.len() as u32);
            }
            if let (Some(base), Some(carried)) = (skins, &mut carried) {
                carried.add(rig, surface, first, base.evenly(surface.character));
            }
        }
        arrays.carried = carried;
        arrays
    }
}

impl CarriedArrays {
    fn add(&mut self, rig: &Rig, surface: &Surface, first: u32, evenly: Option<&EvenlyCarried>) {
        let own_line = self.line_count as u32;
        for node in 0..surface.nodes() {
            let rides = surface.members.of(node).iter().any(|&slot| rig.is_rider(slot as usize));
            self.bind.push(vector(surface.bind[node]));
            self.is_linear.push(rides || evenly.is_none());
            self.anchors.push(vector(evenly.map_or(DVec3::ZERO, |evenly| evenly.anchor(node))));
            let lines = evenly.map_or(&[][..], |evenly| evenly.of(node));
            self.lines.extend(lines.iter().map(|line| own_line + line.0));
            self.weights.extend(lines.iter().map(|line| line.1 as f32));
            self.line_stops.push(self.lines.len() as u32);
        }
        self.line_count += evenly.map_or(0, EvenlyCarried::lines);
        let faces = evenly.map_or(&[][..], EvenlyCarried::faces);
        let corners = faces.iter().enumerate().flat_map(|(face, corners)| corners.map(|node| (node, face as u32)));
        let around = crate::csr::Csr::new(surface.nodes(), corners.collect());
        for node in 0..surface.nodes() {
            let gives_way = evenly.is_some_and(|evenly| evenly.of(node).len() > 1);
            let around = around.of(node).iter().filter(|_| gives_way);
            self.faces.extend(around.map(|&face| faces[face as usize].map(|corner| first + corner)));
            self.face_stops.push(self.faces.len() as u32);
        }
    }
}
