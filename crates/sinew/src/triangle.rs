//! The place of a triangle nearest to a point.

use glam::DVec3;

/// Barycentric coordinates of the point of a triangle nearest to `p` (Ericson 2005, 5.1.5).
pub(crate) fn nearest_in(p: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    // Corners on one another: 0/0.
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let (ab, ac) = (b - a, c - a);
    let (d1, d2) = (ab.dot(p - a), ac.dot(p - a));
    if d1 <= 0.0 && d2 <= 0.0 {
        return DVec3::X;
    }
    let (d3, d4) = (ab.dot(p - b), ac.dot(p - b));
    if d3 >= 0.0 && d4 <= d3 {
        return DVec3::Y;
    }
    let (d5, d6) = (ab.dot(p - c), ac.dot(p - c));
    if d6 >= 0.0 && d5 <= d6 {
        return DVec3::Z;
    }
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let v = share(d1, d1 - d3);
        return DVec3::new(1.0 - v, v, 0.0);
    }
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let w = share(d2, d2 - d6);
        return DVec3::new(1.0 - w, 0.0, w);
    }
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let w = share(d4 - d3, (d4 - d3) + (d5 - d6));
        return DVec3::new(0.0, 1.0 - w, w);
    }
    let sum = va + vb + vc;
    let (v, w) = (vb / sum, vc / sum);
    // A triangle without area that no case above caught: any corner will do.
    if v.is_finite() && w.is_finite() { DVec3::new(1.0 - v - w, v, w) } else { DVec3::X }
}

/// The point itself.
pub(crate) fn nearest_on(p: DVec3, triangle: [DVec3; 3]) -> DVec3 {
    let shares = nearest_in(p, triangle);
    let [a, b, c] = triangle;
    a * shares.x + b * shares.y + c * shares.z
}

/// How far apart two segments are, squared, each given by where it begins and its way (Ericson 2005, 5.1.9).
fn segments_apart_squared([a, u]: [DVec3; 2], [c, v]: [DVec3; 2]) -> f64 {
    let w = a - c;
    let (uu, vv, uv, uw, vw) = (u.dot(u), v.dot(v), u.dot(v), u.dot(w), v.dot(w));
    // 0/0 where a segment is a point, or both run alike: any place on them will do.
    let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
    let s = share(uv * vw - uw * vv, uu * vv - uv * uv);
    let t = share(uv * s + vw, vv);
    let s = share(uv * t - uw, uu);
    (w + u * s - v * t).length_squared()
}

/// A triangle with what its distances are told by.
struct Sides {
    corners: [DVec3; 3],
    /// From each corner to the next.
    edges: [DVec3; 3],
    normal: DVec3,
}

impl Sides {
    fn new([a, b, c]: [DVec3; 3]) -> Self {
        Self { corners: [a, b, c], edges: [b - a, c - b, a - c], normal: (b - a).cross(c - a) }
    }

    /// How far corners of another triangle are above the plane, times the length of the normal.
    fn heights(&self, other: &Self) -> [f64; 3] {
        other.corners.map(|corner| (corner - self.corners[0]).dot(self.normal))
    }

    /// Whether an edge of another triangle goes through this one.
    fn is_pierced(&self, other: &Self, heights: &[f64; 3]) -> bool {
        for k in 0..3 {
            if heights[k] * heights[(k + 1) % 3] < 0.0 {
                let from = other.corners[k];
                let [p, q, r] = self.corners.map(|corner| corner - from);
                let along = other.edges[k];
                let sides = [along.dot(p.cross(q)), along.dot(q.cross(r)), along.dot(r.cross(p))];
                if sides.iter().all(|&side| side > 0.0) || sides.iter().all(|&side| side < 0.0) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a point is above or below the inside.
    fn is_over(&self, p: DVec3) -> bool {
        (0..3).all(|k| self.edges[k].cross(p - self.corners[k]).dot(self.normal) > 0.0)
    }
}

/// How far apart two triangles are, squared: 0 where they cross.
pub(crate) fn apart_squared(one: [DVec3; 3], two: [DVec3; 3]) -> f64 {
    let (one, two) = (Sides::new(one), Sides::new(two));
    let (of_two, of_one) = (one.heights(&two), two.heights(&one));
    if one.is_pierced(&two, &of_two) || two.is_pierced(&one, &of_one) {
        return 0.0;
    }
    let mut nearest = f64::INFINITY;
    for (face, other, heights) in [(&one, &two, &of_two), (&two, &one, &of_one)] {
        let area = face.normal.length_squared();
        for k in 0..3 {
            let squared = heights[k] * heights[k] / area;
            if squared < nearest && face.is_over(other.corners[k]) {
                nearest = squared;
            }
        }
    }
    for i in 0..3 {
        for j in 0..3 {
            let own = [one.corners[i], one.edges[i]];
            nearest = nearest.min(segments_apart_squared(own, [two.corners[j], two.edges[j]]));
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_on_a_triangle_is_nearer_than_any_other_point_of_it() {
        let triangle = [DVec3::ZERO, DVec3::new(2.0, 0.1, 0.0), DVec3::new(0.3, 1.0, 0.5)];
        let grid = |n: i32| (0..=n).flat_map(move |i| (0..=n - i).map(move |j| (f64::from(i), f64::from(j))));
        for p in [DVec3::new(3.0, -1.0, 2.0), DVec3::new(0.6, 0.4, 1.0), DVec3::new(-1.0, 0.5, 0.0), DVec3::ZERO] {
            let found = nearest_on(p, triangle).distance(p);
            let best = grid(200)
                .map(|(i, j)| triangle[0] + triangle[1] * (i / 200.0) + triangle[2] * (j / 200.0))
                .map(|q| q.distance(p))
                .fold(f64::INFINITY, f64::min);
            assert!((found..found + 0.01).contains(&best), "{found} {best}");
        }
        assert_eq!(nearest_on(DVec3::X, [DVec3::ZERO; 3]), DVec3::ZERO);
    }
    #[test]
    fn triangles_are_as_far_apart_as_their_nearest_places() {
        let triangle = [DVec3::ZERO, DVec3::new(2.0, 0.1, 0.0), DVec3::new(0.3, 1.0, 0.5)];
        let grid = || (0..=40).flat_map(|i| (0..=40 - i).map(move |j| (f64::from(i) / 40.0, f64::from(j) / 40.0)));
        let at = |[a, b, c]: [DVec3; 3], (u, v): (f64, f64)| a + (b - a) * u + (c - a) * v;
        let turns = [0.0, 1.1, 2.7, 4.0].map(|angle| glam::DMat3::from_axis_angle(DVec3::ONE.normalize(), angle));
        for (turn, shift) in
            turns.into_iter().zip([DVec3::Z, DVec3::new(1.5, 1.5, 0.2), DVec3::X * 3.0, DVec3::Y * 0.3])
        {
            let other = triangle.map(|p| turn * p + shift);
            let (found, back) = (apart_squared(triangle, other).sqrt(), apart_squared(other, triangle).sqrt());
            let between = |k| grid().map(|l| at(triangle, k).distance(at(other, l))).fold(f64::INFINITY, f64::min);
            let best = grid().map(between).fold(f64::INFINITY, f64::min);
            assert!((found..found + 0.06).contains(&best) && (found - back).abs() < 1e-12, "{found} {back} {best}");
        }
        let through = [DVec3::new(0.7, 0.3, -1.0), DVec3::new(0.7, 0.3, 1.0), DVec3::new(0.8, 0.4, 1.0)];
        assert_eq!(apart_squared(triangle, through), 0.0);
    }
}
