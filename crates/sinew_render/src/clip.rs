//! Triangles cut by the near plane and by a guard band around the picture, in homogeneous coordinates
//! (Sutherland–Hodgman 1974).
//!
//! A new corner is computed from the corner inside towards the one outside: two triangles that share an edge get the
//! same one to the bit, so no crack opens. Only coverage uses the cut pieces; depth and barycentrics come from the
//! whole triangle.

use crate::camera::Projected;

/// How far beyond the picture pixel coordinates may reach before they are cut.
pub const GUARD: f64 = 4096.0;

/// At most three corners plus one for each of five planes.
pub struct Polygon {
    corners: [Projected; 8],
    len: usize,
}

impl Polygon {
    /// The corners.
    pub fn corners(&self) -> &[Projected] {
        &self.corners[..self.len]
    }
}

/// What a picture of `width` × `height` shows of a triangle, plus the guard band.
pub fn clip(triangle: &[Projected; 3], near: f64, width: f64, height: f64) -> Polygon {
    let zero = Projected { x: 0.0, y: 0.0, w: 0.0, depth: 0.0 };
    let mut polygon = Polygon { corners: [zero; 8], len: 3 };
    polygon.corners[..3].copy_from_slice(triangle);
    cut(&mut polygon, |p| p.depth - near);
    let (right, bottom) = (width + GUARD, height + GUARD);
    cut(&mut polygon, |p| p.x + GUARD * p.w);
    cut(&mut polygon, |p| right * p.w - p.x);
    cut(&mut polygon, |p| p.y + GUARD * p.w);
    cut(&mut polygon, |p| bottom * p.w - p.y);
    polygon
}

fn cut(polygon: &mut Polygon, distance: impl Fn(&Projected) -> f64) {
    let source = polygon.corners;
    let corners = &source[..polygon.len];
    if corners.iter().all(|p| distance(p) >= 0.0) {
        return;
    }
    polygon.len = 0;
    let mut push = |p: Projected| {
        if let Some(slot) = polygon.corners.get_mut(polygon.len) {
            *slot = p;
            polygon.len += 1;
        }
    };
    for (i, a) in corners.iter().enumerate() {
        let b = &corners[(i + 1) % corners.len()];
        let (da, db) = (distance(a), distance(b));
        if da >= 0.0 {
            push(*a);
        }
        if (da >= 0.0) != (db >= 0.0) {
            let (inside, outside, di, d_o) = if da >= 0.0 { (a, b, da, db) } else { (b, a, db, da) };
            let t = di / (di - d_o);
            let mix = |p: f64, q: f64| p + (q - p) * t;
            push(Projected {
                x: mix(inside.x, outside.x),
                y: mix(inside.y, outside.y),
                w: mix(inside.w, outside.w),
                depth: mix(inside.depth, outside.depth),
            });
        }
    }
}
