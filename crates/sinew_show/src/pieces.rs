//! What is drawn of a rig, primitive by primitive.

use sinew::Rig;
use std::ops::Range;

/// A primitive: its place in the rig's arrays.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The character it belongs to.
    pub character: usize,
    /// The node of its mesh.
    pub node: usize,
    /// Its number in that mesh.
    pub primitive: usize,
    /// Its vertices among the rig's.
    pub vertices: Range<usize>,
    /// Corners, counted from the first of its vertices.
    pub triangles: Vec<[u32; 3]>,
}

impl Piece {
    /// All primitives, in the rig's order.
    pub fn all(rig: &Rig) -> Vec<Self> {
        let mut pieces = Vec::new();
        for part in rig.parts() {
            for (index, primitive) in part.primitives.iter().enumerate() {
                let first = u32::try_from(primitive.vertices.start).unwrap_or(0);
                let triangles = rig.triangles()[primitive.triangles.clone()].iter().map(|t| t.map(|c| c - first));
                pieces.push(Self {
                    character: part.character,
                    node: part.node,
                    primitive: index,
                    vertices: primitive.vertices.clone(),
                    triangles: triangles.collect(),
                });
            }
        }
        pieces
    }
}
