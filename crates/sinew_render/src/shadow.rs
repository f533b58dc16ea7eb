//! Soft shadows of the key light: variance shadow maps (Donnelly & Lauritzen 2006).
//!
//! Seen from the light, the depth d of the nearest surface and d² are kept per cell and blurred. With mean μ and
//! variance σ² = E(d²) − μ², at most `σ²/(σ² + (t−μ)²)` of the surfaces around a point at depth t > μ are behind it
//! (Chebyshev): the part of light that arrives. Smooth without noise, so the same from frame to frame.

use crate::grid::Grid;
use crate::scene::Mesh;
use glam::{DVec2, DVec3, Mat3, Vec3};

/// Light that arrives is cut below this part and stretched, against light that bleeds through two layers.
const BLEEDING: f32 = 0.3;

/// Which points of a scene the key light reaches.
pub struct ShadowMap {
    axes: [DVec3; 3],
    depth_range: [f64; 2],
    /// From a point relative to the eye to the place in the grids and the depth.
    from_eye: (Mat3, Vec3),
    sharp: Grid<2>,
    soft: Grid<2>,
}

impl ShadowMap {
    /// The map of a light that shines from `toward_light`, in `side` × `side` cells. The box bounds the meshes.
    pub fn new(meshes: &[Mesh<'_>], toward_light: DVec3, eye: DVec3, bounds: [DVec3; 2], side: usize) -> Self {
        let z = toward_light;
        let x = z.any_orthonormal_vector();
        let axes = [x, z.cross(x), z];
        let center = 0.5 * (bounds[0] + bounds[1]);
        let radius = (0.5 * (bounds[1] - bounds[0]).length()).max(f64::MIN_POSITIVE);
        let [cx, cy, cz] = axes.map(|a| a.dot(center));
        // Room for the blur, so that shadows end before the map does.
        let extent = 2.0 * radius * 1.15;
        let origin = DVec2::new(cx, cy) - 0.5 * extent;
        let depth_range = [cz + radius, cz - radius];
        let mut map = Self {
            axes,
            depth_range,
            from_eye: (Mat3::IDENTITY, Vec3::ZERO),
            sharp: Grid::new(side, origin, extent, [0.0; 2]),
            soft: Grid::new(1, origin, extent, [0.0; 2]),
        };
        let mut nearest = Grid::new(side, origin, extent, [1.0]);
        for mesh in meshes {
            let points: Vec<DVec3> = mesh.world_positions().map(|p| map.to_light(p)).collect();
            for triangle in mesh.triangles {
                if let [Some(a), Some(b), Some(c)] = triangle.map(|i| points.get(i as usize)) {
                    nearest.draw([*a, *b, *c], |cell, depth| cell[0] = cell[0].min(depth));
                }
            }
        }
        let place = |p: DVec3| {
            let q = map.to_light(p);
            nearest.place(q.truncate()).extend(q.z)
        };
        let start = place(eye);
        let [x, y, z] = DVec3::AXES.map(|axis| (place(eye + axis * radius) - start).as_vec3() / radius as f32);
        map.from_eye = (Mat3::from_cols(x, y, z), start.as_vec3());
        let moments = nearest.map(|&[d]| [d, d * d]);
        map.sharp = moments.blurred((side / 160).max(1));
        map.soft = map.sharp.blurred((side / 40).max(1));
        map
    }

    /// Across the light, and depth along it from 0 (nearest) to 1.
    fn to_light(&self, p: DVec3) -> DVec3 {
        let [x, y, z] = self.axes.map(|a| a.dot(p));
        let [near, far] = self.depth_range;
        DVec3::new(x, y, (z - near) / (far - near))
    }

    /// Part of the light that reaches a point of a surface, given from the eye.
    pub fn light_on_surface(&self, from_eye: Vec3) -> f32 {
        self.light(&self.sharp, from_eye, 0.012)
    }

    /// Part of the light that reaches a point of the ground, given from the eye.
    pub fn light_on_ground(&self, from_eye: Vec3) -> f32 {
        self.light(&self.soft, from_eye, 0.0)
    }

    fn light(&self, grid: &Grid<2>, from_eye: Vec3, bias: f32) -> f32 {
        let q = self.from_eye.0 * from_eye + self.from_eye.1;
        let Some([mean, square]) = grid.at_place(q.truncate()) else { return 1.0 };
        // Beyond the map's far end there is nothing more to tell apart.
        let behind = q.z.min(1.0) - bias - mean;
        if behind <= 0.0 {
            return 1.0;
        }
        let variance = (square - mean * mean).max(2e-5);
        let reach = variance / (variance + behind * behind);
        ((reach - BLEEDING) / (1.0 - BLEEDING)).max(0.0)
    }
}
