//! What is drawn: borrowed meshes with their materials, ghosts, lines and points.
//!
//! Nothing here is checked: a triangle with an index out of range or a corner that is not finite is not drawn, a
//! missing normal is replaced by the face's, missing colours and texture coordinates are left out.

use crate::overlay::{Dot, Line};
use crate::texture::Texture;
use glam::{DAffine3, DVec3, Vec2, Vec3};

/// How a surface answers light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Finish {
    /// Studio lights, shadows, a soft highlight.
    #[default]
    Studio,
    /// Colours that must be read, such as heat maps: neutral light, gentle shape, no highlight.
    Chart,
    /// The colour itself.
    Flat,
}

/// What a surface looks like.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// Linear RGBA, multiplied with texture and vertex colours.
    pub base_color: [f32; 4],
    /// Texture on the mesh's `uvs`.
    pub texture: Option<&'a Texture>,
    /// Whether faces are seen from behind.
    pub double_sided: bool,
    /// Where alpha is below, there is a hole. `None`: alpha has no meaning.
    pub alpha_cutoff: Option<f32>,
    /// How it answers light.
    pub finish: Finish,
}

impl Default for Material<'_> {
    /// Warm clay.
    fn default() -> Self {
        Self {
            base_color: [0.62, 0.50, 0.42, 1.0],
            texture: None,
            double_sided: false,
            alpha_cutoff: None,
            finish: Finish::Studio,
        }
    }
}

/// Edges of triangles, drawn on the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// Linear RGB.
    pub color: [f32; 3],
    /// Opacity in 0…1.
    pub opacity: f32,
    /// Width in pixels.
    pub width: f32,
}

impl Default for Wire {
    fn default() -> Self {
        Self { color: [0.02, 0.02, 0.03], opacity: 0.55, width: 1.0 }
    }
}

/// Triangles to draw.
#[derive(Clone, Copy, Debug)]
pub struct Mesh<'a> {
    /// One per vertex.
    pub positions: &'a [Vec3],
    /// One per vertex, any length but 0.
    pub normals: &'a [Vec3],
    /// One per vertex; (0,0) is the texture's top left corner, as in glTF.
    pub uvs: Option<&'a [Vec2]>,
    /// Linear RGBA, one per vertex.
    pub colors: Option<&'a [[f32; 4]]>,
    /// Corners, counter-clockwise seen from outside.
    pub triangles: &'a [[u32; 3]],
    /// What it looks like.
    pub material: Material<'a>,
    /// From the mesh's space to the world.
    pub transform: DAffine3,
    /// Edges drawn on it.
    pub wire: Option<Wire>,
}

impl<'a> Mesh<'a> {
    /// A clay mesh in world space.
    pub fn new(positions: &'a [Vec3], normals: &'a [Vec3], triangles: &'a [[u32; 3]]) -> Self {
        Self {
            positions,
            normals,
            uvs: None,
            colors: None,
            triangles,
            material: Material::default(),
            transform: DAffine3::IDENTITY,
            wire: None,
        }
    }

    /// Its positions in the world.
    pub fn world_positions(&self) -> impl Iterator<Item = DVec3> + use<'a> {
        let transform = self.transform;
        self.positions.iter().map(move |p| transform.transform_point3(p.as_dvec3()))
    }
}

/// A mesh drawn as a tinted veil: its nearest surface alone, denser towards its outline.
#[derive(Clone, Copy, Debug)]
pub struct Ghost<'a> {
    /// The mesh; its material's alpha cutoff and sides count, its colours do not.
    pub mesh: Mesh<'a>,
    /// Linear RGB.
    pub tint: [f32; 3],
    /// Opacity in 0…1 where it faces the camera.
    pub opacity: f32,
    /// Part of the opacity left where solid meshes hide it, 0…1.
    pub through: f32,
}

impl<'a> Ghost<'a> {
    /// A blue veil.
    pub fn new(mesh: Mesh<'a>) -> Self {
        Self { mesh, tint: [0.10, 0.32, 0.85], opacity: 0.35, through: 0.15 }
    }
}

/// All there is to draw.
#[derive(Clone, Debug, Default)]
pub struct Scene<'a> {
    /// Solid meshes: what is shaded, casts shadows and can be picked.
    pub meshes: Vec<Mesh<'a>>,
    /// Veils over them.
    pub ghosts: Vec<Ghost<'a>>,
    /// Lines, drawn in this order.
    pub lines: Vec<Line>,
    /// Dots, drawn in this order over the lines.
    pub dots: Vec<Dot>,
}
