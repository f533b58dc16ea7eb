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
}
