//! A mesh's values at a point of a triangle.

use crate::scene::Mesh;
use crate::setup::Setup;
use crate::studio::normals_to_world;
use glam::{DVec3, Vec2, Vec3};
use rayon::prelude::*;

/// A vertex made ready for shading, in the world's axes.
#[derive(Clone, Copy)]
pub struct Corner {
    /// From the eye, so that f32 has digits to spare wherever the scene is.
    from_eye: Vec3,
    /// On the outer side, of any length; zero where the mesh has none.
    normal: Vec3,
}

/// All vertices of a mesh.
pub fn corners(mesh: &Mesh<'_>, eye: DVec3) -> Vec<Corner> {
    let to_world = normals_to_world(&mesh.transform);
    let corner = |(i, position): (usize, &Vec3)| {
        let world = mesh.transform.transform_point3(position.as_dvec3());
        let normal = mesh.normals.get(i).map_or(Vec3::ZERO, |n| to_world * *n);
        Corner { from_eye: (world - eye).as_vec3(), normal }
    };
    mesh.positions.par_iter().with_min_len(4096).enumerate().map(corner).collect()
}

/// A point on a mesh, given by barycentrics.
#[derive(Clone, Copy)]
pub struct Surface<'a> {
    mesh: &'a Mesh<'a>,
    corners: &'a [Corner],
    triangle: [usize; 3],
    weights: [f64; 3],
    back: bool,
}

impl<'a> Surface<'a> {
    /// The point of a triangle that has a setup, and so corners in range.
    #[inline]
    pub fn new(mesh: &'a Mesh<'a>, corners: &'a [Corner], setup: &Setup, weights: [f64; 3]) -> Self {
        let triangle = mesh.triangles[setup.triangle as usize].map(|i| i as usize);
        Self { mesh, corners, triangle, weights, back: setup.back }
    }

    /// In the world, to the last digit.
    pub fn position(&self) -> DVec3 {
        let [a, b, c] = self.triangle.map(|i| self.mesh.positions[i].as_dvec3());
        let [u, v, w] = self.weights;
        self.mesh.transform.transform_point3(a * u + b * v + c * w)
    }

    /// From the eye, in the world's axes.
    #[inline]
    pub fn offset_from_eye(&self) -> Vec3 {
        let [a, b, c] = self.triangle.map(|i| self.corners[i].from_eye);
        let [u, v, w] = self.weights.map(|w| w as f32);
        a * u + b * v + c * w
    }

    /// Unit normal in the world, on the side that is seen. The face's own where the mesh has none that is usable.
    #[inline]
    pub fn normal(&self) -> Vec3 {
        let [a, b, c] = self.triangle.map(|i| self.corners[i].normal);
        let [u, v, w] = self.weights.map(|w| w as f32);
        let smooth = a * u + b * v + c * w;
        let square = smooth.length_squared();
        if square > 1e-12 && square < 1e12 {
            let scale = 1.0 / square.sqrt();
            return smooth * if self.back { -scale } else { scale };
        }
        self.face_normal()
    }

    #[cold]
    fn face_normal(&self) -> Vec3 {
        let [a, b, c] = self.triangle.map(|i| self.mesh.positions[i].as_dvec3());
        let face = (b - a).cross(c - a).normalize_or_zero().as_vec3();
        let normal = (normals_to_world(&self.mesh.transform) * face).try_normalize().unwrap_or(Vec3::Y);
        if self.back { -normal } else { normal }
    }

    /// Linear RGBA: base colour × vertex colour × texture. `slopes` are the barycentrics' changes per pixel.
    #[inline]
    pub fn color(&self, slopes: impl FnOnce() -> [[f64; 3]; 2]) -> [f32; 4] {
        let mut color = self.mesh.material.base_color;
        if let Some(colors) = self.mesh.colors {
            let get = |i: usize| colors.get(self.triangle[i]).copied().unwrap_or([1.0; 4]);
            let [a, b, c] = [get(0), get(1), get(2)];
            let [u, v, w] = self.weights.map(|w| w as f32);
            for i in 0..4 {
                color[i] *= a[i] * u + b[i] * v + c[i] * w;
            }
        }
        if let (Some(texture), Some(uvs)) = (self.mesh.material.texture, self.mesh.uvs) {
            let get = |i: usize| uvs.get(self.triangle[i]).copied().unwrap_or(Vec2::ZERO).as_dvec2();
            let [a, b, c] = [get(0), get(1), get(2)];
            let mix = |[u, v, w]: [f64; 3]| a * u + b * v + c * w;
            let [right, down] = slopes().map(mix);
            let texel = texture.sample(mix(self.weights), right, down);
            for i in 0..4 {
                color[i] *= texel[i];
            }
        }
        color
    }
}
