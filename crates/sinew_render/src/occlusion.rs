//! Ambient occlusion in screen space (McGuire, Mara & Luebke 2012): how much of the sky the surfaces nearby hide.
//!
//! Around each pixel, taps on a spiral within a world radius R give points at offsets v (in units of R); each hides
//! `(1−|v|²)³ · max(0, v·n − β)/(|v|² + ε)`. The spiral is turned from pixel to pixel in a 4 × 4 pattern, and a 4 × 4
//! mean over pixels at similar depth takes the pattern out again.

use crate::studio::{OCCLUSION_BETA as BETA, OCCLUSION_STEP as STEP, OCCLUSION_TAPS as TAPS, occlusion_spirals};
use crate::visibility::Visibility;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Light of the sky that arrives, 0…1, at every third pixel of every third row.
pub struct Occlusion {
    open: Vec<f32>,
    depth: Vec<f32>,
    columns: usize,
    rows: usize,
    depth_tolerance: f32,
}

impl Occlusion {
    /// Computes it with taps within `radius` scene units.
    pub fn new(view: &Visibility<'_>, radius: f64) -> Self {
        let [columns, rows] = [view.size.width(), view.size.height()].map(|s| (s as usize).div_ceil(STEP));
        let nodes = || (0..columns * rows).into_par_iter().with_min_len(2048);
        let camera = view.projector.camera();
        let forward = -camera.back().as_vec3();
        let seen: Vec<(f32, Vec3)> = nodes()
            .map(|i| {
                let [x, y] = [i % columns, i / columns].map(|n| (n * STEP) as u32);
                let seen = view.seen(x, y).map(|(_, _, s)| (s.offset_from_eye().dot(forward), s.normal()));
                seen.unwrap_or((f32::INFINITY, Vec3::ZERO))
            })
            .collect();
        let axes = [camera.right(), camera.up(), camera.back()].map(DVec3::as_vec3);
        let spirals = occlusion_spirals();
        let lens = Lens::of(view, radius);
        let depth: Vec<f32> = seen.iter().map(|s| s.0).collect();
        let open = nodes()
            .map(|i| {
                let (x, y) = (i % columns, i / columns);
                let (here, normal) = seen[i];
                if here == f32::INFINITY {
                    return 1.0;
                }
                let normal = Vec3::from(axes.map(|a| a.dot(normal)));
                let reach = lens.nodes(here).min(0.25 * rows as f32).max(2.0);
                let at = lens.point(x, y, here);
                let mut hidden = 0.0;
                for &[dx, dy] in &spirals[x % 4 + 4 * (y % 4)] {
                    let (tx, ty) = (x as f32 + 0.5 + reach * dx, y as f32 + 0.5 + reach * dy);
                    if !(tx >= 0.0 && ty >= 0.0 && tx < columns as f32 && ty < rows as f32) {
                        continue;
                    }
                    let (tx, ty) = (tx as usize, ty as usize);
                    let tap = depth[ty * columns + tx];
                    if tap < f32::INFINITY {
                        let v = lens.point(tx, ty, tap) - at;
                        let square = v.dot(v);
                        let near = (1.0 - square).max(0.0);
                        hidden += near * near * near * (v.dot(normal) - BETA).max(0.0) / (square + 0.02);
                    }
                }
                (1.0 - 1.1 * hidden / TAPS as f32).max(0.0)
            })
            .collect();
        let rough = Self { open, depth, columns, rows, depth_tolerance: (0.5 * radius) as f32 };
        let open = nodes().map(|i| rough.mean(i % columns, i / columns)).collect();
        Self { open, ..rough }
    }

    /// Whether two depths belong to one surface. Where the picture shows nothing, what is around decides.
    fn joined(&self, here: f32, there: f32) -> bool {
        there < f32::INFINITY && (here == f32::INFINITY || (there - here).abs() < self.depth_tolerance)
    }

    /// Takes the 4 × 4 pattern out.
    fn mean(&self, x: usize, y: usize) -> f32 {
        let here = self.depth[y * self.columns + x];
        let (mut sum, mut count) = (0.0, 0.0);
        for ty in y.saturating_sub(2)..(y + 2).min(self.rows) {
            for tx in x.saturating_sub(2)..(x + 2).min(self.columns) {
                let i = ty * self.columns + tx;
                if self.joined(here, self.depth[i]) {
                    sum += self.open[i];
                    count += 1.0;
                }
            }
        }
        if count > 0.0 { sum / count } else { 1.0 }
    }

    /// At a pixel whose surface is at this depth: between the nodes on the same surface.
    pub fn at(&self, x: usize, y: usize, depth: f32) -> f32 {
        let (i, j) = (x / STEP, y / STEP);
        let (right, down) = ((i + 1).min(self.columns - 1), (j + 1).min(self.rows - 1));
        let part = |v: usize| (v % STEP) as f32 / STEP as f32;
        let (fx, fy) = (part(x), part(y));
        let corners = [
            (i, j, (1.0 - fx) * (1.0 - fy)),
            (right, j, fx * (1.0 - fy)),
            (i, down, (1.0 - fx) * fy),
            (right, down, fx * fy),
        ];
        let (mut sum, mut weight, mut any) = (0.0, 0.0, 1.0_f32);
        for (x, y, w) in corners {
            let node = y * self.columns + x;
            any = any.min(self.open[node]);
            if self.joined(depth, self.depth[node]) {
                sum += w * self.open[node];
                weight += w;
            }
        }
        if weight > 0.0 { sum / weight } else { any }
    }
}

/// Nodes to points in the camera's axes, in units of the radius.
struct Lens {
    perspective: bool,
    /// Units of R per pixel and unit of depth (or per pixel).
    step: f32,
    per_radius: f32,
    center: [f32; 2],
}

impl Lens {
    fn of(view: &Visibility<'_>, radius: f64) -> Self {
        let center = [0.5 * view.size.width() as f32, 0.5 * view.size.height() as f32];
        let step = (view.projector.pixel_size(1.0) / radius) as f32;
        Self { perspective: view.projector.is_perspective(), step, per_radius: radius.recip() as f32, center }
    }

    /// Nodes per radius.
    fn nodes(&self, depth: f32) -> f32 {
        1.0 / (STEP as f32 * self.step * if self.perspective { depth } else { 1.0 })
    }

    /// The point of a node.
    fn point(&self, x: usize, y: usize, depth: f32) -> Vec3 {
        let (x, y) = ((STEP * x) as f32, (STEP * y) as f32);
        let scale = self.step * if self.perspective { depth } else { 1.0 };
        Vec3::new((x + 0.5 - self.center[0]) * scale, (self.center[1] - y - 0.5) * scale, -depth * self.per_radius)
    }
}
