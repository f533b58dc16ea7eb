//! The ground under a character: an invisible plane that darkens where something stands close above it.
//!
//! Seen from above, each cell keeps how near the lowest surface is to the ground, `(1 − h/h₀)²` below the height h₀;
//! blurred little and widely, this is the dark rim that makes feet stand instead of float.

use crate::grid::Grid;
use crate::scene::Mesh;
use crate::visibility::Visibility;
use glam::{DVec2, DVec3};
use rayon::prelude::*;

/// Part of the size above which nothing darkens the ground.
const REACH: f64 = 0.12;

/// Darkness of the ground as the picture shows it: exact at every few pixels and linear between, as it is soft.
pub struct GroundShade {
    step: usize,
    columns: usize,
    nodes: Vec<f32>,
}

impl GroundShade {
    /// Darkness `dark(p)` of points of the plane `y = height`.
    pub fn new(view: &Visibility<'_>, dark: impl Fn(DVec3) -> f32 + Sync, height: f64) -> Self {
        let [width, rows] = [view.size.width(), view.size.height()].map(|s| s as usize);
        let step = (rows / 128).clamp(1, 4);
        let columns = width / step + 2;
        let at = |i: usize| {
            let (x, y) = (i % columns * step, i / columns * step);
            let (origin, direction) = view.projector.ray(x as f64 + 0.5, y as f64 + 0.5);
            let depth = (height - origin.y) / direction.y;
            if direction.y < 0.0 && depth > 0.0 { dark(origin + direction * depth) } else { 0.0 }
        };
        let nodes = (0..columns * (rows / step + 2)).into_par_iter().with_min_len(2048).map(at).collect();
        Self { step, columns, nodes }
    }

    /// At a pixel.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        let part = |v: usize| (v % self.step) as f32 / self.step as f32;
        let i = y / self.step * self.columns + x / self.step;
        let [a, b, c, d] = [i, i + 1, i + self.columns, i + self.columns + 1].map(|i| self.nodes[i]);
        let top = a + (b - a) * part(x);
        top + (c + (d - c) * part(x) - top) * part(y)
    }
}

/// Contact shadows on a horizontal plane.
pub struct Contact {
    dark: Grid<1>,
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
                        let near = (1.0 - h.max(0.0)).max(0.0);
                        cell[0] = cell[0].max(near * near);
                    });
                }
            }
        }
        let near = grid.blurred((side / 70).max(1));
        let wide = near.blurred((side / 26).max(1));
        let dark = near.zip(&wide, |[near], [wide]| {
            // The rim reaches out from under a foot, where half of the blurred light is already lost.
            [1.0 - (1.0 - 0.55 * (1.8 * near).min(1.0)) * (1.0 - 0.5 * wide)]
        });
        Self { dark }
    }

    /// How dark a point of the plane is, 0…1.
    pub fn at(&self, p: DVec3) -> f32 {
        self.dark.at(DVec2::new(p.x, p.z)).map_or(0.0, |[dark]| dark)
    }
}
