//! What is under the pointer, as a place on the skin.

use crate::character::Character;
use glam::DVec3;
use sinew::DeformedMesh;
use sinew_view::Ray;

/// A place on the skin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picked {
    /// Corners, among the rig's vertices.
    pub vertices: [usize; 3],
    /// Barycentric coordinates.
    pub shares: [f64; 3],
    /// In the world.
    pub point: DVec3,
}

impl Picked {
    /// The corner that it is nearest to.
    pub fn vertex(&self) -> usize {
        let nearest = (0..3).max_by(|&a, &b| self.shares[a].total_cmp(&self.shares[b])).unwrap_or(0);
        self.vertices[nearest]
    }
}

/// The nearest place of a frame that is seen along a ray.
pub fn pick(character: &Character, mesh: &DeformedMesh, ray: &Ray) -> Option<Picked> {
    let mut nearest: Option<(f64, Picked)> = None;
    for (piece, drawn) in character.dressed(mesh) {
        let from_origin = Ray { origin: ray.origin - mesh.origins[piece.character], ..*ray };
        let sides = drawn.material.double_sided;
        let Some(hit) = sinew_view::pick(&from_origin, drawn.positions, drawn.triangles, sides) else { continue };
        if nearest.as_ref().is_none_or(|(known, _)| hit.depth < *known) {
            let triangle = drawn.triangles[hit.triangle as usize];
            let vertices = triangle.map(|corner| piece.vertices.start + corner as usize);
            let point = ray.origin + ray.direction * hit.depth;
            nearest = Some((hit.depth, Picked { vertices, shares: hit.barycentrics, point }));
        }
    }
    nearest.map(|(_, picked)| picked)
}
