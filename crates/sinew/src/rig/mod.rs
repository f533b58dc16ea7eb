//! The immutable product: a checked rig, packed for its loops.
//!
//! Control points are numbered by *slot* = 16·row + lane. Points of one row share the union of their bones, so bone
//! data is broadcast and nothing is gathered. Each row carries
//! - *skin rows*: palette entries ascending, a weight per lane ([`Row::skin`]);
//! - *motion rows*: stretches of the skeleton with the propagated weight per lane, one set per hierarchy;
//! - *layers*: the display copies of its points, one copy per lane and layer, with their rest normals and tangents.

mod build;
mod characters;
mod kept;
mod pack;
mod points;
mod read;
mod told;

pub(crate) use kept::OfRig;

use crate::clip::Clip;
use crate::hierarchy::Hierarchy;
use crate::motion::Puppet;
use crate::pose::{Pose, WorldPose};
use crate::propagated::Propagated;
use crate::raw::RawRig;
use crate::simd::{LANES, Lanes, Points};
use crate::skeleton::{BoneId, Skeleton, SkeletonError};
use crate::topology::{Adjacency, Topology};
use crate::warning::Warning;
use glam::{DAffine3, DVec3, Vec3};
use std::ops::Range;
use std::sync::Arc;

/// Marks a layer lane that belongs to no vertex.
pub(crate) const NO_VERTEX: u32 = u32::MAX;

/// A bone as one skin sees it.
#[derive(Clone, Copy, Debug)]
pub struct PaletteEntry {
    /// The bone that moves it.
    pub bone: BoneId,
    /// From the stored rest points to the bone's space.
    pub bone_from_rest: DAffine3,
    /// The entry of the nearest ancestor in the same skin.
    pub parent: Option<u32>,
    /// The character it belongs to.
    pub character: u32,
    /// The rest space it reads: one per skin and one per rider.
    pub space: u32,
}

/// Sixteen control points of one character.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index of the character.
    pub character: u32,
    /// Range of [`Rig::skin_entries`] and [`Rig::skin_weights`].
    pub skin: Range<u32>,
    /// Range of layers.
    pub(crate) layers: Range<u32>,
    /// Lanes in use; the others repeat the last point.
    pub filled: u32,
    /// A bit for each lane whose point belongs to a rider.
    pub(crate) riders: u16,
}

/// How a part follows the bones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// By skin weights.
    Skinned,
    /// Rigidly with its node: a sword, a robot's body.
    Rider,
}

/// A mesh on a node.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name as written.
    pub name: String,
    /// Index of the carrying node in the source.
    pub node: usize,
    /// How it moves.
    pub kind: PartKind,
    /// Index of its character.
    pub character: usize,
    /// Its primitives, as ranges of vertices and triangles.
    pub primitives: Vec<Primitive>,
    /// Its weights in [`Pose::morph_weights`].
    pub morph_weights: Range<usize>,
}

/// A primitive of a part: ranges over the rig's flat arrays.
#[derive(Clone, Debug)]
pub struct Primitive {
    /// Its vertices, in the file's order.
    pub vertices: Range<usize>,
    /// Its triangles in [`Rig::triangles`].
    pub triangles: Range<usize>,
    /// Whether the source had normals.
    pub has_normals: bool,
    /// Whether the source had tangents.
    pub has_tangents: bool,
    /// Base colour, linear RGBA.
    pub color: [f32; 4],
    /// Name of its material; may be empty.
    pub material: String,
}

/// Skins (and their riders) that share a joint or an animated ancestor.
#[derive(Clone, Debug)]
pub struct Character {
    /// Name of its topmost joint.
    pub name: String,
    /// Size L: diagonal of the bounding box at the nodes' default transforms, riders included. Positive.
    pub size: f64,
    /// Corners of that box.
    pub bounds: [DVec3; 2],
    /// Its rows.
    pub rows: Range<usize>,
    /// Its control points.
    pub points: usize,
    /// Control points that lie on another one at rest without being joined to it.
    pub coincident_points: usize,
    /// Its surface.
    pub topology: Topology,
    anchor: BoneId,
}

/// A joint and, per child joint, the far end of the limb between them, in the bone's frame at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct BoneSegments {
    /// Far ends; empty for a leaf, which counts as a point.
    pub ends: Vec<DVec3>,
    /// Length of the longest segment; a leaf takes its parent's.
    pub length: f64,
}

/// One morph target of a part, sparse.
#[derive(Clone, Debug)]
pub(crate) struct Morph {
    /// Index in [`Pose::morph_weights`].
    pub weight: usize,
    pub positions: Vec<(u32, Vec3)>,
    pub normals: Vec<(u32, Vec3)>,
    pub tangents: Vec<(u32, Vec3)>,
}

/// A painted, signed value per control point.
#[derive(Clone, Debug)]
pub struct VertexMap {
    /// Name without prefix.
    pub name: String,
    /// Values per row; 0 where no mesh carries the map.
    pub values: Vec<Lanes>,
}

/// Why a rig was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RigError {
    /// The node tree is broken.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// A skin without joints.
    #[error("skin {skin} \"{name}\" has no joints: bind the mesh to at least one bone")]
    EmptySkin {
        /// Index of the skin.
        skin: usize,
        /// Its name.
        name: String,
    },
    /// A joint that is no node.
    #[error("joint {joint} of skin {skin} is node {node}, which does not exist")]
    JointOutOfRange {
        /// Index of the skin.
        skin: usize,
        /// Index in the skin.
        joint: usize,
        /// The node named.
        node: usize,
    },
    /// An inverse bind matrix that is not finite.
    #[error("the inverse bind matrix of joint {joint} of skin {skin} is not finite: bind the mesh again and re-export")]
    BindNotFinite {
        /// Index of the skin.
        skin: usize,
        /// Index in the skin.
        joint: usize,
    },
    /// A mesh refers to something that does not exist.
    #[error("{mesh} refers to {what} {index}, which does not exist")]
    MissingReference {
        /// The mesh.
        mesh: String,
        /// Node or skin.
        what: &'static str,
        /// The index named.
        index: usize,
    },
    /// An array of another length than its vertices.
    #[error("{primitive} has {vertices} vertices but {found} {what}")]
    LengthMismatch {
        /// The primitive.
        primitive: String,
        /// Number of positions.
        vertices: usize,
        /// What is of another length.
        what: String,
        /// Its length.
        found: usize,
    },
    /// A rest position that is not finite.
    #[error("{vertex} has a position that is not finite: repair the mesh (delete the vertex or set its position)")]
    PositionNotFinite {
        /// The vertex.
        vertex: String,
    },
    /// A triangle on a vertex that does not exist.
    #[error("triangle {triangle} of {primitive} names vertex {vertex}, but there are {vertices}")]
    TriangleOutOfRange {
        /// The primitive.
        primitive: String,
        /// Index of the triangle.
        triangle: usize,
        /// The vertex named.
        vertex: u32,
        /// Vertices there are.
        vertices: usize,
    },
    /// More elements than 32-bit indices can tell apart.
    #[error("the file has {count} {what}; at most {limit} are supported: split it")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many at most.
        limit: usize,
    },
}

/// An immutable rig: skeleton, palettes, control points, surfaces.
///
/// # Invariants
/// Every index stored in it is in range; weights of a point sum to 1; every row belongs to one character; all rest
/// data is finite.
#[derive(Clone, Debug)]
pub struct Rig {
    skeleton: Skeleton,
    parts: Vec<Part>,
    characters: Vec<Character>,
    palette: Vec<PaletteEntry>,
    palette_order: Vec<u32>,
    rows: Vec<Row>,
    skin_entries: Vec<u32>,
    skin_weights: Vec<Lanes>,
    rest: Points,
    layer_normals: Points,
    layer_tangents: Option<(Points, Vec<Lanes>)>,
    vertex_of_layer: Vec<[u32; LANES]>,
    layer_runs: Vec<u8>,
    point_of_vertex: Vec<u32>,
    layer_slot_of_vertex: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    point_triangles: Vec<[u32; 3]>,
    adjacency: Adjacency,
    morphs: Vec<Morph>,
    default_morph_weights: Vec<f32>,
    maps: Vec<VertexMap>,
    moved: Vec<(DVec3, f64)>,
    carriers: Vec<bool>,
    segments: Vec<BoneSegments>,
    character_of_bone: Vec<u32>,
    bone_sizes: Vec<f64>,
    /// Node, offset and count of morph weights per part that has any.
    morph_layout: Vec<(usize, usize, usize)>,
    told: told::Told,
    kept: kept::Kept,
    /// By the file's own tree.
    in_file: Arc<Propagated>,
    /// By the body's: the same one where nothing follows another bone.
    by_body: Arc<Propagated>,
}

impl Rig {
    /// Checks and packs a raw rig. Faults that can be mended are, and are reported.
    pub fn build(raw: &RawRig) -> Result<(Self, Vec<Warning>), RigError> {
        build::build(raw)
    }

    /// The bones.
    pub fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// Mesh instances, in the source's order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Characters, by their first part.
    pub fn characters(&self) -> &[Character] {
        &self.characters
    }

    /// Bytes it holds for points, vertices and triangles.
    pub fn memory(&self) -> usize {
        let tangents = self.layer_tangents.as_ref();
        size_of_val(&self.rows[..])
            + size_of_val(&self.skin_entries[..])
            + size_of_val(&self.skin_weights[..])
            + self.in_file.memory()
            + if Arc::ptr_eq(&self.in_file, &self.by_body) { 0 } else { self.by_body.memory() }
            + size_of_val(&self.rest.rows[..])
            + size_of_val(&self.layer_normals.rows[..])
            + tangents.map_or(0, |(rows, hands)| size_of_val(&rows.rows[..]) + size_of_val(&hands[..]))
            + size_of_val(&self.vertex_of_layer[..])
            + size_of_val(&self.layer_runs[..])
            + size_of_val(&self.point_of_vertex[..])
            + size_of_val(&self.layer_slot_of_vertex[..])
            + size_of_val(&self.triangles[..])
            + size_of_val(&self.point_triangles[..])
            + self.adjacency.memory()
    }

    /// All palettes, one after the other.
    pub fn palette(&self) -> &[PaletteEntry] {
        &self.palette
    }

    /// Palette indices, parents before children.
    pub(crate) fn palette_order(&self) -> &[u32] {
        &self.palette_order
    }

    /// All rows, character by character.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Palette indices of all rows' unions.
    pub fn skin_entries(&self) -> &[u32] {
        &self.skin_entries
    }

    /// Weights beside [`Rig::skin_entries`].
    pub fn skin_weights(&self) -> &[Lanes] {
        &self.skin_weights
    }

    /// Rest points, in the spaces the palette entries expect.
    pub fn rest(&self) -> &Points {
        &self.rest
    }

    /// Rest normals per layer lane.
    pub(crate) fn layer_normals(&self) -> &Points {
        &self.layer_normals
    }

    /// Rest tangents and handedness per layer lane, if any primitive has them.
    pub(crate) fn layer_tangents(&self) -> Option<(&Points, &[Lanes])> {
        self.layer_tangents.as_ref().map(|(points, w)| (points, w.as_slice()))
    }

    /// The vertex of each layer lane, or [`NO_VERTEX`].
    pub(crate) fn vertex_of_layer(&self) -> &[[u32; LANES]] {
        &self.vertex_of_layer
    }

    /// Per layer, which vertices follow each other in the source: a bit for every four lanes, and bit 4 if all do.
    pub(crate) fn layer_runs(&self) -> &[u8] {
        &self.layer_runs
    }

    /// The control point (slot) of each vertex.
    pub fn point_of_vertex(&self) -> &[u32] {
        &self.point_of_vertex
    }

    /// The layer lane (16·layer + lane) of each vertex.
    pub fn layer_slot_of_vertex(&self) -> &[u32] {
        &self.layer_slot_of_vertex
    }

    /// Number of vertices over all parts.
    pub fn vertex_count(&self) -> usize {
        self.point_of_vertex.len()
    }

    /// Triangles on vertices.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The same triangles on control points (slots).
    pub fn point_triangles(&self) -> &[[u32; 3]] {
        &self.point_triangles
    }

    /// Neighbours on control points.
    pub fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    pub(crate) fn morphs(&self) -> &[Morph] {
        &self.morphs
    }

    /// Painted maps.
    pub fn maps(&self) -> &[VertexMap] {
        &self.maps
    }

    /// Centroid of what a bone moves by the file's own tree, in the bone's frame; `None` where it moves no skin.
    pub fn centroid(&self, bone: BoneId) -> Option<DVec3> {
        self.in_file.centroid(bone)
    }

    /// Per bone, what it moves by itself: position times area, and area, at rest in the world.
    pub(crate) fn moved(&self) -> &[(DVec3, f64)] {
        &self.moved
    }

    /// Bones that can carry a whole character.
    pub(crate) fn carriers(&self) -> &[bool] {
        &self.carriers
    }

    /// The same rig with the body's tree as its skin, its rest pose and these clips tell ([`Hierarchy::of`]). Where the
    /// file's own tree is right, nothing changes.
    pub fn watching(self, clips: &[Clip]) -> Self {
        let hierarchy = Hierarchy::of(&self, clips);
        self.with_hierarchy(hierarchy)
    }

    /// The same rig with a tree for effects; recipes may name another one.
    pub fn with_hierarchy(mut self, hierarchy: Hierarchy) -> Self {
        // Anatomy and what follows from it go by the tree.
        if hierarchy != *self.hierarchy() {
            self.kept = kept::Kept::default();
        }
        self.by_body = self.propagated(hierarchy);
        self
    }

    /// The tree that effects go by unless the recipe says otherwise: the file's own after [`Rig::build`].
    pub fn hierarchy(&self) -> &Hierarchy {
        self.by_body.hierarchy()
    }

    /// What a hierarchy makes of the skin, from what is there if it can be.
    pub(crate) fn propagated(&self, hierarchy: Hierarchy) -> Arc<Propagated> {
        let known = [&self.in_file, &self.by_body].into_iter().find(|known| *known.hierarchy() == hierarchy);
        known.map_or_else(|| Arc::new(Propagated::new(self, hierarchy)), Arc::clone)
    }

    /// Limbs that start at a bone.
    pub fn segments(&self, bone: BoneId) -> &BoneSegments {
        &self.segments[bone.index()]
    }

    /// The character a bone belongs to (0 where there is none).
    pub fn character_of_bone(&self, bone: BoneId) -> usize {
        self.character_of_bone[bone.index()] as usize
    }

    /// Size of the character each bone belongs to.
    pub fn bone_sizes(&self) -> &[f64] {
        &self.bone_sizes
    }

    /// Whether a bone carries the motion of the whole character: a topmost animated bone (a topmost joint where
    /// nothing is animated).
    pub fn is_root(&self, bone: BoneId) -> bool {
        self.in_file.is_root(bone)
    }

    /// What clips move.
    pub fn puppet(&self) -> Puppet<'_> {
        Puppet { hierarchy: Some(self.hierarchy()), ..self.plain_puppet() }
    }

    /// The same by the file's own tree.
    pub(crate) fn plain_puppet(&self) -> Puppet<'_> {
        let Self { skeleton, bone_sizes, morph_layout, .. } = self;
        Puppet { skeleton, bone_sizes, morph_layout, hierarchy: None }
    }

    /// The nodes' default transforms with the default morph weights.
    pub fn rest_pose(&self) -> Pose {
        let mut pose = Pose::default();
        self.reset_pose(&mut pose);
        pose
    }

    /// The same, in memory that is there.
    pub(crate) fn reset_pose(&self, pose: &mut Pose) {
        pose.locals.clear();
        pose.locals.extend_from_slice(self.skeleton.rest_locals());
        pose.morph_weights.clone_from(&self.default_morph_weights);
    }

    /// The point a character's positions are relative to at this pose: near it, and 0 near the world's origin, so
    /// that f32 positions keep their precision at any distance.
    pub fn origin(&self, character: usize, world: &WorldPose) -> DVec3 {
        let character = &self.characters[character];
        let grid = 4.0 * character.size.log2().ceil().exp2();
        let snapped = (world.joint_origin(character.anchor) / grid).round() * grid;
        if snapped.is_finite() { snapped } else { DVec3::ZERO }
    }
}
