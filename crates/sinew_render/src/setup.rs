//! A triangle made ready for pixels: homogeneous edge functions (Olano & Greer 1997).
//!
//! With corners `p_j = (x_j, y_j, w_j)`, the rows `e_i` of the inverse of `[p_0 p_1 p_2]` satisfy `e_i·p_j = δ_ij`. At
//! the pixel place `q = (X, Y, 1)`, `b_i = e_i·q / Σ e·q` are the barycentrics of the point where the line of sight
//! meets the triangle's plane, whether or not corners are behind the eye; `Σ f_i e_i·q` is `f/w`, linear on the
//! screen. Oracle: ray–triangle intersection in f64.

use crate::camera::{Projected, Projector};
use crate::raster::SUBPIXEL;

/// See the module's text.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Index of the mesh in its layer.
    pub mesh: u32,
    /// Index of the triangle in the mesh.
    pub triangle: u32,
    /// Seen from behind.
    pub back: bool,
    edges: [[f64; 3]; 3],
    key: [f64; 3],
    key_range: [f64; 2],
}

impl Setup {
    /// `None` for a triangle seen edge-on, without area, or not finite.
    pub fn new(mesh: u32, triangle: u32, mirrored: bool, p: &[Projected; 3], projector: &Projector) -> Option<Self> {
        let cross =
            |a: &Projected, b: &Projected| [a.y * b.w - a.w * b.y, a.w * b.x - a.x * b.w, a.x * b.y - a.y * b.x];
        let mut edges = [cross(&p[1], &p[2]), cross(&p[2], &p[0]), cross(&p[0], &p[1])];
        let det = p[0].x * edges[0][0] + p[0].y * edges[0][1] + p[0].w * edges[0][2];
        let inverse = det.recip();
        if !(det.is_finite() && inverse.is_finite() && det != 0.0) {
            return None;
        }
        edges.iter_mut().flatten().for_each(|e| *e *= inverse);
        let value = |i: usize| if projector.is_perspective() { 1.0 } else { -p[i].depth };
        let key = [0, 1, 2].map(|c| (0..3).map(|i| value(i) * edges[i][c]).sum());
        let depth = p.map(|q| q.depth.max(projector.camera().near()));
        let nearest = projector.key_of_depth(depth[0].min(depth[1]).min(depth[2]));
        let farthest = projector.key_of_depth(depth[0].max(depth[1]).max(depth[2]));
        // Rows run downwards: what is counter-clockwise in the world is clockwise here.
        Some(Self { mesh, triangle, back: (det > 0.0) != mirrored, edges, key, key_range: [farthest, nearest] })
    }

    /// Depth keys at the centre of a pixel and offsets from it. Kept within the corners' keys: a sample may lie a
    /// fraction of a grid step outside the triangle, and a plane seen edge-on shoots away there.
    pub fn keys<const N: usize>(&self, offsets: &[(i64, i64); N]) -> impl Fn(i64, i64) -> [f32; N] + use<N> {
        let [a, b, c] = self.key;
        let [low, high] = self.key_range.map(|k| k as f32);
        let grid = SUBPIXEL as f64;
        let shift = offsets.map(|(x, y)| ((a * x as f64 + b * y as f64) / grid) as f32);
        move |x, y| {
            let center = (a * (x as f64 + 0.5) + b * (y as f64 + 0.5) + c) as f32;
            // Not `clamp`, which insists on low ≤ high.
            shift.map(|s| (center + s).max(low).min(high))
        }
    }

    /// Barycentrics at a place of the picture: none negative, sum 1.
    pub fn barycentrics(&self, x: f64, y: f64) -> [f64; 3] {
        let e = self.edges.map(|[a, b, c]| (a * x + b * y + c).max(0.0));
        let sum = e[0] + e[1] + e[2];
        if sum > 0.0 && sum.is_finite() { e.map(|e| e * (1.0 / sum)) } else { [1.0 / 3.0; 3] }
    }

    /// How barycentrics change per pixel to the right and downwards.
    pub fn barycentric_slopes(&self, barycentrics: [f64; 3], x: f64, y: f64) -> [[f64; 3]; 2] {
        let sum: f64 = self.edges.iter().map(|[a, b, c]| a * x + b * y + c).sum();
        [0, 1].map(|axis| {
            let total: f64 = self.edges.iter().map(|e| e[axis]).sum();
            [0, 1, 2].map(|i| (self.edges[i][axis] - barycentrics[i] * total) / sum)
        })
    }

    /// Distance in pixels to the nearest edge.
    pub fn edge_distance(&self, x: f64, y: f64) -> f64 {
        let distance = |&[a, b, c]: &[f64; 3]| (a * x + b * y + c) / (a * a + b * b).sqrt();
        self.edges.iter().map(distance).fold(f64::INFINITY, f64::min).max(0.0)
    }
}
