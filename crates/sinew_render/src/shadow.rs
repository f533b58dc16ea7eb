//! Soft shadows of the key light: variance shadow maps (Donnelly & Lauritzen 2006).
//!
//! Seen from the light, the depth d of the nearest surface and d² are kept per cell and blurred. With mean μ and
//! variance σ² = E(d²) − μ², at most `σ²/(σ² + (t−μ)²)` of the surfaces around a point at depth t > μ are behind it
//! (Chebyshev): the part of light that arrives. Smooth without noise, so the same from frame to frame.

use crate::grid::Grid;
use crate::scene::Mesh;
use crate::studio::{BLEEDING, LEAST_VARIANCE, SHADOW_BIAS, Square, blur_radii};
use glam::{DVec3, Mat3, Vec3};

/// Which points of a scene the key light reaches.
pub struct ShadowMap {
    /// From a point relative to the eye to the place in the grids and the depth.
    from_eye: (Mat3, Vec3),
    sharp: Grid<2>,
    soft: Grid<2>,
}

impl ShadowMap {
    /// The map of a light that shines from `toward_light`, in `side` × `side` cells. The box bounds the meshes.
    pub fn new(meshes: &[Mesh<'_>], toward_light: DVec3, eye: DVec3, bounds: [DVec3; 2], side: usize) -> Self {
        let square = Square::of_light(toward_light, bounds);
        let Square { origin, extent, .. } = square;
        let radius = 0.5 * (square.depth_range[0] - square.depth_range[1]);
        let mut map = Self {
            from_eye: (Mat3::IDENTITY, Vec3::ZERO),
            sharp: Grid::new(side, origin, extent, [0.0; 2]),
            soft: Grid::new(1, origin, extent, [0.0; 2]),
        };
        let mut nearest = Grid::new(side, origin, extent, [1.0]);
        for mesh in meshes {
            let points: Vec<DVec3> = mesh.world_positions().map(|p| square.place(p)).collect();
            for triangle in mesh.triangles {
                if let [Some(a), Some(b), Some(c)] = triangle.map(|i| points.get(i as usize)) {
                    nearest.draw([*a, *b, *c], |cell, depth| cell[0] = cell[0].min(depth));
                }
            }
        }
        let place = |p: DVec3| {
            let q = square.place(p);
            nearest.place(q.truncate()).extend(q.z)
        };
        let start = place(eye);
        let [x, y, z] = DVec3::AXES.map(|axis| (place(eye + axis * radius) - start).as_vec3() / radius as f32);
        map.from_eye = (Mat3::from_cols(x, y, z), start.as_vec3());
        let moments = nearest.map(|&[d]| [d, d * d]);
        let [sharp, soft, ..] = blur_radii(side);
        map.sharp = moments.blurred(sharp);
        map.soft = map.sharp.blurred(soft);
        map
    }

    /// Part of the light that reaches a point of a surface, given from the eye.
    pub fn light_on_surface(&self, from_eye: Vec3) -> f32 {
        self.light(&self.sharp, from_eye, SHADOW_BIAS)
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
        let variance = (square - mean * mean).max(LEAST_VARIANCE);
        let reach = variance / (variance + behind * behind);
        ((reach - BLEEDING) / (1.0 - BLEEDING)).max(0.0)
    }
}
