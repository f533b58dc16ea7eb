//! The ground under a character: an invisible plane that darkens where something stands close above it.
//!
//! Seen from above, each cell keeps how near the lowest surface is to the ground, `(1 − h/h₀)²` below the height h₀;
//! blurred, this is the dark rim that makes feet stand instead of float.

use crate::grid::Grid;
use crate::scene::Mesh;
use glam::{DVec2, DVec3};

/// Part of the size above which nothing darkens the ground.
const REACH: f64 = 0.12;

/// Contact shadows on a horizontal plane.
pub struct Contact {
    grid: Grid<1>,
}

impl Contact {
    /// The contact shadow of meshes within a box on the plane `y = height`.
    pub fn new(meshes: &[Mesh<'_>], height: f64, bounds: [DVec3; 2], side: usize) -> Self {
        let diagonal = (bounds[1] - bounds[0]).length().max(f64::MIN_POSITIVE);
        let center = 0.5 * (bounds[0] + bounds[1]);
        let footprint = bounds[1] - bounds[0];
        let extent = footprint.x.max(footprint.z) + 0.5 * diagonal;
        let origin = DVec2::new(center.x, center.z) - 0.5 * extent;
        let mut grid = Grid::new(side, origin, extent, [0.0]);
        let reach = REACH * diagonal;
        for mesh in meshes {
            let points: Vec<DVec3> =
                mesh.world_positions().map(|p| DVec3::new(p.x, p.z, (p.y - height) / reach)).collect();
            for triangle in mesh.triangles {
                if let [Some(a), Some(b), Some(c)] = triangle.map(|i| points.get(i as usize))
                    && a.z.min(b.z).min(c.z) < 1.0
                {
                    grid.draw([*a, *b, *c], |cell, h| {
                        let near = (1.0 - h.max(0.0)).max(0.0) as f32;
                        cell[0] = cell[0].max(near * near);
                    });
                }
            }
        }
        Self { grid: grid.blurred((side / 48).max(1)) }
    }

    /// How dark a point of the plane is, 0…1.
    pub fn at(&self, p: DVec3) -> f32 {
        self.grid.at(DVec2::new(p.x, p.z)).map_or(0.0, |[d]| d)
    }
}
