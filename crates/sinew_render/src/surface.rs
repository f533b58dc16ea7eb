//! A mesh's values at a point of a triangle.

use crate::scene::Mesh;
use crate::setup::Setup;
use glam::{DVec3, Mat3, Vec2, Vec3};

/// A point on a mesh, given by barycentrics.
#[derive(Clone, Copy)]
pub struct Surface<'a> {
    mesh: &'a Mesh<'a>,
    corners: [usize; 3],
    weights: [f64; 3],
    normals_to_world: Mat3,
    back: bool,
}

/// Carries normals of a mesh outward into the world: the cofactor matrix, which is the inverse transpose without its
/// division, scaled to be harmless in f32.
pub fn normals_to_world(mesh: &Mesh<'_>) -> Mat3 {
    let m = mesh.transform.matrix3;
    let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis];
    let side = if x.cross(y).dot(z) < 0.0 { -1.0 } else { 1.0 };
    let columns = [y.cross(z), z.cross(x), x.cross(y)];
    let largest = columns.iter().map(|c| c.abs().max_element()).fold(0.0, f64::max);
    let [x, y, z] = columns.map(|c| if largest > 0.0 { (c * (side / largest)).as_vec3() } else { Vec3::ZERO });
    Mat3::from_cols(x, y, z)
}

impl<'a> Surface<'a> {
    /// The point of a triangle that has a setup, and so corners in range.
    pub fn new(mesh: &'a Mesh<'a>, setup: &Setup, normals_to_world: Mat3, weights: [f64; 3]) -> Self {
        let corners = mesh.triangles[setup.triangle as usize].map(|i| i as usize);
        Self { mesh, corners, weights, normals_to_world, back: setup.back }
    }

    fn corner_positions(&self) -> [Vec3; 3] {
        self.corners.map(|i| self.mesh.positions[i])
    }

    /// In the world.
    pub fn position(&self) -> DVec3 {
        let [a, b, c] = self.corner_positions().map(Vec3::as_dvec3);
        let [u, v, w] = self.weights;
        self.mesh.transform.transform_point3(a * u + b * v + c * w)
    }

    /// Unit normal in the world, on the side that is seen. The face's own where the mesh has none that is usable.
    pub fn normal(&self) -> Vec3 {
        let [u, v, w] = self.weights.map(|w| w as f32);
        let get = |i: usize| self.mesh.normals.get(self.corners[i]).copied().unwrap_or(Vec3::ZERO);
        let carry = |n: Vec3| (self.normals_to_world * n).try_normalize();
        let normal = carry(get(0) * u + get(1) * v + get(2) * w).or_else(|| {
            let [a, b, c] = self.corner_positions().map(Vec3::as_dvec3);
            carry((b - a).cross(c - a).normalize_or_zero().as_vec3())
        });
        let normal = normal.unwrap_or(Vec3::Y);
        if self.back { -normal } else { normal }
    }

    /// Linear RGBA: base colour × vertex colour × texture. `slopes` are the barycentrics' changes per pixel.
    pub fn color(&self, slopes: impl FnOnce() -> [[f64; 3]; 2]) -> [f32; 4] {
        let mut color = self.mesh.material.base_color;
        if let Some(colors) = self.mesh.colors {
            let get = |i: usize| colors.get(self.corners[i]).copied().unwrap_or([1.0; 4]);
            let [a, b, c] = [get(0), get(1), get(2)];
            let [u, v, w] = self.weights.map(|w| w as f32);
            for i in 0..4 {
                color[i] *= a[i] * u + b[i] * v + c[i] * w;
            }
        }
        if let (Some(texture), Some(uvs)) = (self.mesh.material.texture, self.mesh.uvs) {
            let get = |i: usize| uvs.get(self.corners[i]).copied().unwrap_or(Vec2::ZERO).as_dvec2();
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
