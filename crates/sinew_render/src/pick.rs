//! Picking, and the buffers other tools read: all exact at pixel centres, of solid meshes only.

use crate::setup::Setup;
use crate::surface::Surface;
use crate::visibility::Visibility;
use glam::Vec3;
use rayon::prelude::*;

/// A point on a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Index in [`crate::Scene::meshes`].
    pub mesh: u32,
    /// Index in the mesh's triangles.
    pub triangle: u32,
    /// Weights of the triangle's corners: none negative, sum 1, perspective-correct.
    pub barycentrics: [f64; 3],
    /// Distance from the eye along the line of sight, scene units.
    pub depth: f64,
}

/// What the picture's pixels see, in row order.
#[derive(Clone, Debug)]
pub struct Buffers {
    /// Distance from the eye along the line of sight, scene units; infinite where nothing is seen.
    pub depth: Vec<f32>,
    /// Unit normals in the world, on the side that is seen; zero where nothing is seen.
    pub normal: Vec<Vec3>,
    /// Points in the world; NaN-free, zero where nothing is seen (see `hit`).
    pub position: Vec<Vec3>,
    /// Mesh, triangle and barycentrics.
    pub hit: Vec<Option<Hit>>,
}

impl Visibility<'_> {
    /// What is under a pixel's centre; `None` for the background and outside the picture.
    pub fn pick(&self, x: u32, y: u32) -> Option<Hit> {
        self.hit(x, y).map(|(hit, _)| hit)
    }

    /// The setup of the triangle under a pixel's centre, and its point.
    pub(crate) fn seen(&self, x: u32, y: u32) -> Option<(&Setup, [f64; 3], Surface<'_>)> {
        let id = self.solid.ids[self.size.index(x, y)? * self.pattern.samples()];
        let setup = self.solid.setups.get(id as usize)?;
        let barycentrics = setup.barycentrics(f64::from(x) + 0.5, f64::from(y) + 0.5);
        Some((setup, barycentrics, self.solid.surface(&self.scene.meshes, setup, barycentrics)))
    }

    fn hit(&self, x: u32, y: u32) -> Option<(Hit, Surface<'_>)> {
        let (setup, barycentrics, surface) = self.seen(x, y)?;
        let depth = self.projector.project(surface.position()).depth;
        Some((Hit { mesh: setup.mesh, triangle: setup.triangle, barycentrics, depth }, surface))
    }

    /// All buffers.
    pub fn buffers(&self) -> Buffers {
        let width = self.size.width() as usize;
        let values: Vec<_> = (0..self.size.pixels())
            .into_par_iter()
            .with_min_len(4096)
            .map(|pixel| match self.hit((pixel % width) as u32, (pixel / width) as u32) {
                None => (f32::INFINITY, Vec3::ZERO, Vec3::ZERO, None),
                Some((hit, surface)) => (hit.depth as f32, surface.normal(), surface.position().as_vec3(), Some(hit)),
            })
            .collect();
        let mut buffers = Buffers { depth: vec![], normal: vec![], position: vec![], hit: vec![] };
        for (depth, normal, position, hit) in values {
            buffers.depth.push(depth);
            buffers.normal.push(normal);
            buffers.position.push(position);
            buffers.hit.push(hit);
        }
        buffers
    }
}
