//! The editable side: a rig as a file or a program describes it. [`crate::Rig::build`] checks it once.
//!
//! Indices into [`RawRig::bones`] are called *nodes*: they are the glTF node indices of an imported file and stay
//! the outward name of a bone, whatever order the built skeleton uses.

use crate::pose::LocalTransform;
use glam::{DAffine3, Vec3, Vec4};

/// Everything of a scene that takes part in skinning. Fields are public and unchecked.
#[derive(Clone, Debug, Default)]
pub struct RawRig {
    /// Scene nodes in any order; the index of each is its *node*.
    pub bones: Vec<RawBone>,
    /// Palettes; two of them may share bones with different binds.
    pub skins: Vec<RawSkin>,
    /// Mesh instances: one per node that carries a mesh.
    pub meshes: Vec<RawMesh>,
    /// Nodes that some clip animates: they decide which skins form one character and which meshes ride along.
    /// Nodes out of range are ignored.
    pub animated: Vec<usize>,
}

/// One scene node.
#[derive(Clone, Debug)]
pub struct RawBone {
    /// Name as written; may be empty or shared by several nodes.
    pub name: String,
    /// Parent node.
    pub parent: Option<usize>,
    /// Default transform relative to the parent.
    pub local: LocalTransform,
}

/// A palette of joints.
#[derive(Clone, Debug, Default)]
pub struct RawSkin {
    /// Name as written.
    pub name: String,
    /// Joints in palette order.
    pub joints: Vec<RawJoint>,
}

/// One palette entry.
#[derive(Clone, Copy, Debug)]
pub struct RawJoint {
    /// The node that moves it.
    pub bone: usize,
    /// Inverse bind matrix: from the mesh's rest space to the bone's space.
    pub bone_from_rest: DAffine3,
}

/// How a mesh instance follows the bones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawBinding {
    /// By per-vertex influences on this skin; the node's own transform is ignored, as glTF says.
    Skin(usize),
    /// Rigidly with its node.
    Node,
}

/// One mesh on one node.
#[derive(Clone, Debug)]
pub struct RawMesh {
    /// Name as written (the node's, else the mesh's).
    pub name: String,
    /// The node that carries it.
    pub node: usize,
    /// How it moves.
    pub binding: RawBinding,
    /// Geometry.
    pub primitives: Vec<RawPrimitive>,
    /// Default weight per morph target.
    pub morph_weights: Vec<f32>,
}

/// A list of triangles with its vertices, in the file's vertex order.
#[derive(Clone, Debug, Default)]
pub struct RawPrimitive {
    /// Rest positions in mesh space.
    pub positions: Vec<Vec3>,
    /// Rest normals; `None` where the source has none (they are computed from the faces).
    pub normals: Option<Vec<Vec3>>,
    /// Rest tangents with handedness in w.
    pub tangents: Option<Vec<Vec4>>,
    /// Influences; empty (`per_vertex == 0`) for meshes bound to their node.
    pub influences: RawInfluences,
    /// Triangles, wound counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Morph targets, added before skinning; every primitive of a mesh has the same number.
    pub morphs: Vec<RawMorph>,
    /// Painted maps by name (without the `_SINEW_` prefix, lower case), one value per vertex.
    pub maps: Vec<(String, Vec<f32>)>,
    /// Base colour, linear RGBA: used only to draw.
    pub color: [f32; 4],
    /// Name of its material; may be empty.
    pub material: String,
}

/// The same number of (palette index, weight) pairs per vertex; unused pairs have weight 0.
#[derive(Clone, Debug, Default)]
pub struct RawInfluences {
    /// Pairs per vertex.
    pub per_vertex: usize,
    /// Palette indices, vertex by vertex.
    pub joints: Vec<u32>,
    /// Weights, vertex by vertex; they need not sum to 1.
    pub weights: Vec<f32>,
}

/// Displacements of one morph target; `None` = all zero.
#[derive(Clone, Debug, Default)]
pub struct RawMorph {
    /// Added to rest positions.
    pub positions: Option<Vec<Vec3>>,
    /// Added to rest normals.
    pub normals: Option<Vec<Vec3>>,
    /// Added to the directions of rest tangents.
    pub tangents: Option<Vec<Vec3>>,
}
