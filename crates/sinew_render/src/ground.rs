//! The ground under a character: an invisible plane that darkens where something stands close above it.
//!
//! Seen from above, each cell keeps how near the lowest surface is to the ground, `(1 − h/h₀)²` below the height h₀;
//! blurred little and widely, this is the dark rim that makes feet stand instead of float.

use crate::grid::Grid;
use crate::scene::Mesh;
use crate::studio::{CONTACT, Square, blur_radii};
use crate::visibility::Visibility;
use glam::{DVec2, DVec3};
use rayon::prelude::*;

/// Darkness of the ground as the picture shows it: exact at every few pixels and linear between, as it is soft.
pub struct GroundShade {
    /// Pixels from node to node, as a power of two.
    shift: u32,
    columns: usize,
    nodes: Vec<f32>,
    /// Whether a row of nodes is dark anywhere.
    dark_rows: Vec<bool>,
}

impl GroundShade {
    /// Darkness `dark(p)` of points of the plane `y = height`.
    pub fn new(view: &Visibility<'_>, dark: impl Fn(DVec3) -> f32 + Sync, height: f64) -> Self {
        let [width, rows] = [view.size.width(), view.size.height()].map(|s| s as usize);
        let shift = (rows / 128).clamp(1, 4).ilog2();
        let columns = (width >> shift) + 2;
        let at = |i: usize| {
            let (x, y) = ((i % columns) << shift, (i / columns) << shift);
            let (origin, direction) = view.projector.ray(x as f64 + 0.5, y as f64 + 0.5);
            let depth = (height - origin.y) / direction.y;
            if direction.y < 0.0 && depth > 0.0 { dark(origin + direction * depth) } else { 0.0 }
        };
        let nodes: Vec<f32> = (0..columns * ((rows >> shift) + 2)).into_par_iter().with_min_len(2048).map(at).collect();
        let dark_rows = nodes.chunks(columns).map(|row| row.iter().any(|&d| d > 0.0)).collect();
        Self { shift, columns, nodes, dark_rows }
    }

    /// At a pixel.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        let row = y >> self.shift;
        if !self.dark_rows[row] && !self.dark_rows[row + 1] {
            return 0.0;
        }
        let step = 1 << self.shift;
        let part = |v: usize| (v & (step - 1)) as f32 / step as f32;
        let i = row * self.columns + (x >> self.shift);
        let (upper, lower) = (&self.nodes[i..i + 2], &self.nodes[i + self.columns..i + self.columns + 2]);
        let top = upper[0] + (upper[1] - upper[0]) * part(x);
        top + (lower[0] + (lower[1] - lower[0]) * part(x) - top) * part(y)
    }
}

/// Contact shadows on a horizontal plane.
pub struct Contact {
    dark: Grid<1>,
}

impl Contact {
    /// The contact shadow of meshes within a box on the plane `y = height`.
    pub fn new(meshes: &[Mesh<'_>], height: f64, bounds: [DVec3; 2], side: usize) -> Self {
        let square = Square::of_ground(height, bounds);
        let mut grid = Grid::new(side, square.origin, square.extent, [0.0]);
        for mesh in meshes {
            let points: Vec<DVec3> = mesh.world_positions().map(|p| square.place(p)).collect();
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
        let [.., near, wide] = blur_radii(side);
        let near = grid.blurred(near);
        let wide = near.blurred(wide);
        let [rim, spread, around] = CONTACT;
        let dark =
            near.zip(&wide, |[near], [wide]| [1.0 - (1.0 - rim * (spread * near).min(1.0)) * (1.0 - around * wide)]);
        Self { dark }
    }

    /// How dark a point of the plane is, 0…1.
    pub fn at(&self, p: DVec3) -> f32 {
        self.dark.at(DVec2::new(p.x, p.z)).map_or(0.0, |[dark]| dark)
    }
}
