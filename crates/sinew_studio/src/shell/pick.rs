//! What is under the pointer: the nearest triangle along a ray, in f64.

use crate::character::Character;
use glam::DVec3;
use sinew::DeformedMesh;

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

/// The nearest place of a frame along a ray; faces are met from both sides.
pub fn pick(character: &Character, mesh: &DeformedMesh, origin: DVec3, direction: DVec3) -> Option<Picked> {
    let mut nearest: Option<(f64, Picked)> = None;
    for piece in &character.pieces {
        let start = origin - mesh.origins[piece.character];
        for triangle in &piece.triangles {
            let vertices = triangle.map(|corner| piece.vertices.start + corner as usize);
            let corners = vertices.map(|vertex| mesh.positions[vertex].as_dvec3());
            let Some((away, shares)) = meet(corners, start, direction) else { continue };
            if nearest.as_ref().is_none_or(|(known, _)| away < *known) {
                let point = origin + direction * away;
                nearest = Some((away, Picked { vertices, shares, point }));
            }
        }
    }
    nearest.map(|(_, picked)| picked)
}

/// Möller and Trumbore: distance along the ray and barycentric coordinates.
fn meet([a, b, c]: [DVec3; 3], origin: DVec3, direction: DVec3) -> Option<(f64, [f64; 3])> {
    let (ab, ac) = (b - a, c - a);
    let across = direction.cross(ac);
    let det = ab.dot(across);
    if det == 0.0 {
        return None;
    }
    let from_a = origin - a;
    let v = from_a.dot(across) / det;
    let turned = from_a.cross(ab);
    let w = direction.dot(turned) / det;
    let away = ac.dot(turned) / det;
    (v >= 0.0 && w >= 0.0 && v + w <= 1.0 && away > 0.0).then_some((away, [1.0 - v - w, v, w]))
}
