//! Picking on the processor, exact: the nearest triangle along a ray, in double precision.
//!
//! With corners relative to the ray's origin, the sign of `d · (b × c)` says on which side of the edge b–c the ray passes.
//! Of two triangles that share an edge it is the same number with the other sign, to the bit, so no ray slips between them.

use glam::{DVec3, Vec3};
use sinew_render::Projector;

/// A line of sight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Where it starts.
    pub origin: DVec3,
    /// Where it goes, of any length: depths are measured by it.
    pub direction: DVec3,
    /// The depth from which on it meets anything.
    pub near: f64,
}

impl Ray {
    /// Through a place of the picture; the centre of pixel (x, y) is (x + ½, y + ½).
    pub fn through(projector: &Projector, x: f64, y: f64) -> Self {
        let (origin, direction) = projector.ray(x, y);
        Self { origin, direction, near: projector.camera().near() }
    }
}

/// A point of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// Index of the triangle.
    pub triangle: u32,
    /// Weights of its corners: none negative, sum 1.
    pub barycentrics: [f64; 3],
    /// How often the ray's direction fits until there.
    pub depth: f64,
}

/// The nearest triangle that a ray meets. Corners are counter-clockwise seen from outside; those seen from behind count
/// where `double_sided`. What is out of range or not finite is not met.
pub fn pick(ray: &Ray, positions: &[Vec3], triangles: &[[u32; 3]], double_sided: bool) -> Option<RayHit> {
    let mut found: Option<RayHit> = None;
    for (i, triangle) in triangles.iter().enumerate() {
        let [Some(a), Some(b), Some(c)] = triangle.map(|v| positions.get(v as usize)) else { continue };
        let corners = [a, b, c].map(|p| p.as_dvec3() - ray.origin);
        if let Some((weights, depth, is_front)) = meet(ray, corners)
            && (is_front || double_sided)
            && found.is_none_or(|found| depth < found.depth)
        {
            found = Some(RayHit { triangle: i as u32, barycentrics: weights, depth });
        }
    }
    found
}

/// The point of a triangle's plane that a ray meets, as weights of its corners and a depth: what refines a pick of the GPU.
/// Where the ray passes just beside the triangle, the nearest of its weights that are none negative; `None` for a triangle
/// seen edge-on, without area or not finite.
pub fn refine(ray: &Ray, corners: [DVec3; 3]) -> Option<([f64; 3], f64)> {
    let (weights, _) = sides(ray, corners.map(|p| p - ray.origin))?;
    let weights = weights.map(|w| w.max(0.0));
    let sum: f64 = weights.iter().sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return None;
    }
    let weights = weights.map(|w| w / sum);
    Some((weights, depth(ray, corners.map(|p| p - ray.origin), weights)))
}

/// Weights before they are divided by their sum, and whether the front is seen.
fn sides(ray: &Ray, [a, b, c]: [DVec3; 3]) -> Option<([f64; 3], bool)> {
    let d = ray.direction;
    let weights = [d.dot(c.cross(b)), d.dot(a.cross(c)), d.dot(b.cross(a))];
    let sum: f64 = weights.iter().sum();
    (sum != 0.0 && sum.is_finite()).then(|| (weights.map(|w| w * sum.signum()), sum > 0.0))
}

fn depth(ray: &Ray, [a, b, c]: [DVec3; 3], [u, v, w]: [f64; 3]) -> f64 {
    (a * u + b * v + c * w).dot(ray.direction) / ray.direction.length_squared()
}

fn meet(ray: &Ray, corners: [DVec3; 3]) -> Option<([f64; 3], f64, bool)> {
    let (weights, is_front) = sides(ray, corners)?;
    if !weights.iter().all(|&w| w >= 0.0) {
        return None;
    }
    let sum: f64 = weights.iter().sum();
    let weights = weights.map(|w| w / sum);
    let depth = depth(ray, corners, weights);
    (depth >= ray.near).then_some((weights, depth, is_front))
}
