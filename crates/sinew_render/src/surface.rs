//! A mesh's values at a point of a triangle.

use crate::scene::Mesh;
use crate::setup::Setup;
use glam::{DVec3, Vec2, Vec3};

/// A point on a mesh, given by barycentrics.
#[derive(Clone, Copy)]
pub struct Surface<'a> {
    mesh: &'a Mesh<'a>,
    corners: [usize; 3],
    weights: [f64; 3],
    back: bool,
}

impl<'a> Surface<'a> {
    /// The point of a triangle that has a setup, and so corners in range.
    pub fn new(mesh: &'a Mesh<'a>, setup: &Setup, weights: [f64; 3]) -> Self {
        let corners = mesh.triangles[setup.triangle as usize].map(|i| i as usize);
        Self { mesh, corners, weights, back: setup.back }
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
        let smooth = (get(0) * u + get(1) * v + get(2) * w).as_dvec3();
        let [x, y, z] = [self.mesh.transform.matrix3.x_axis, self.mesh.transform.matrix3.y_axis, self.mesh.transform.matrix3.z_axis];
        // The cofactor matrix: det·inverse-transpose, which has no division to fail.
        let side = if (x.cross(y).dot(z) < 0.0) != self.back { -1.0 } else { 1.0 };
        let carry = |n: DVec3| (y.cross(z) * n.x + z.cross(x) * n.y + x.cross(y) * n.z) * side;
        let unit = |n: DVec3| carry(n).try_normalize().map(|n| n.as_vec3());
        unit(smooth).unwrap_or_else(|| {
            let [a, b, c] = self.corner_positions().map(Vec3::as_dvec3);
            unit((b - a).cross(c - a)).unwrap_or(Vec3::Y)
        })
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
