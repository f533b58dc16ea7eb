//! Strokes that lie on a surface: triangle and barycentric coordinates, so that they follow any deformation (EX 7.4).
//!
//! Oracle: a followed point is the same combination of the moved corners; the nearest point agrees with looking at all.

use super::curve::Stroke;
use super::simplify::Sample;
use crate::bvh::Bvh;
use crate::triangle::nearest_in;
use glam::DVec3;

/// A place on a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// Index of the triangle.
    pub triangle: u32,
    /// Shares of its corners: not negative, summing to 1.
    pub barycentric: DVec3,
}

impl SurfacePoint {
    /// Where it is on a surface of the same triangles; `None` where there is no such triangle or corner.
    pub fn at(&self, triangles: &[[u32; 3]], points: &[DVec3]) -> Option<DVec3> {
        let corners = triangles.get(self.triangle as usize)?;
        let mut sum = DVec3::ZERO;
        for (&corner, share) in corners.iter().zip(self.barycentric.to_array()) {
            sum += *points.get(corner as usize)? * share;
        }
        Some(sum)
    }
}

/// A surface that can be asked for its nearest point.
pub struct SurfaceTree<'a> {
    triangles: &'a [[u32; 3]],
    points: &'a [DVec3],
    tree: Bvh,
}

impl<'a> SurfaceTree<'a> {
    /// Over triangles whose corners are all in `points`; `None` otherwise.
    pub fn new(triangles: &'a [[u32; 3]], points: &'a [DVec3]) -> Option<Self> {
        if triangles.iter().flatten().any(|&corner| corner as usize >= points.len()) {
            return None;
        }
        let corners = |face: &[u32; 3]| face.map(|corner| points[corner as usize]);
        let tree = Bvh::of_faces(&triangles.iter().map(corners).collect::<Vec<_>>());
        Some(Self { triangles, points, tree })
    }

    /// The nearest point of the surface; `None` where there is no triangle.
    pub fn nearest(&self, p: DVec3) -> Option<SurfacePoint> {
        self.nearest_within(p, f64::INFINITY).map(|(place, _)| place)
    }

    /// The nearest point of the surface that is not farther than `within`, and its distance.
    pub(crate) fn nearest_within(&self, p: DVec3, within: f64) -> Option<(SurfacePoint, f64)> {
        let shares = |triangle: u32| {
            let corners = self.triangles[triangle as usize].map(|corner| self.points[corner as usize]);
            let barycentric = nearest_in(p, corners);
            let at = corners[0] * barycentric.x + corners[1] * barycentric.y + corners[2] * barycentric.z;
            (barycentric, at.distance_squared(p))
        };
        let (triangle, squared) = self.tree.nearest(p, within * within, |triangle| Some(shares(triangle).1))?;
        Some((SurfacePoint { triangle, barycentric: shares(triangle).0 }, squared.sqrt()))
    }

    /// The triangles whose boxes meet a box, in the order of the surface.
    pub(crate) fn overlapping(&self, low: DVec3, high: DVec3) -> Vec<[u32; 3]> {
        let mut found = Vec::new();
        self.tree.overlapping(low, high, |triangle| found.push(triangle));
        found.sort_unstable();
        found.into_iter().map(|triangle| self.triangles[triangle as usize]).collect()
    }

    /// Where a segment first goes through the surface, and how far along (Möller and Trumbore 1997).
    pub fn crossing(&self, from: DVec3, to: DVec3) -> Option<(f64, SurfacePoint)> {
        let direction = to - from;
        let mut first: Option<(f64, SurfacePoint)> = None;
        self.tree.first_hit(from, direction, |triangle| {
            let [a, b, c] = self.triangles[triangle as usize].map(|corner| self.points[corner as usize]);
            let (ab, ac, out) = (b - a, c - a, from - a);
            let (across, around) = (direction.cross(ac), out.cross(ab));
            let determinant = ab.dot(across);
            let [v, w, along] = [out.dot(across), direction.dot(around), ac.dot(around)].map(|x| x / determinant);
            let is_hit = v >= 0.0 && w >= 0.0 && v + w <= 1.0 && (0.0..=1.0).contains(&along);
            if is_hit && first.is_none_or(|(least, _)| along < least) {
                first = Some((along, SurfacePoint { triangle, barycentric: DVec3::new(1.0 - v - w, v, w) }));
            }
            is_hit.then_some(along)
        });
        first
    }
}

/// A stroke on a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceStroke {
    points: Vec<SurfacePoint>,
    times_secs: Vec<f64>,
}

impl SurfaceStroke {
    /// The stroke laid on a surface: `count` points at equal steps of its length, each put on the nearest place.
    pub fn lay(stroke: &Stroke, surface: &SurfaceTree<'_>, count: usize) -> Option<Self> {
        let steps = count.max(2) - 1;
        let fractions = (0..=steps).map(|i| i as f64 / steps as f64);
        let points: Option<Vec<_>> = fractions.clone().map(|t| surface.nearest(stroke.at(t))).collect();
        Some(Self { points: points?, times_secs: fractions.map(|t| stroke.time_secs(t)).collect() })
    }

    /// Its points.
    pub fn points(&self) -> &[SurfacePoint] {
        &self.points
    }

    /// Corners of the triangles it passes, ascending: the vertices that an edit along it holds.
    pub fn corners(&self, triangles: &[[u32; 3]]) -> Vec<u32> {
        let passed = self.points.iter().filter_map(|p| triangles.get(p.triangle as usize));
        let mut corners: Vec<u32> = passed.flatten().copied().collect();
        corners.sort_unstable();
        corners.dedup();
        corners
    }

    /// Where it is on a deformed surface of the same triangles.
    pub fn follow(&self, triangles: &[[u32; 3]], points: &[DVec3]) -> Option<Vec<Sample>> {
        let place = |(point, &time_secs): (&SurfacePoint, &f64)| {
            point.at(triangles, points).map(|position| Sample { position, time_secs })
        };
        self.points.iter().zip(&self.times_secs).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let n = 12u32;
        let point = |i: u32| {
            let (x, y) = (f64::from(i % n), f64::from(i / n));
            DVec3::new(x, y, (x * 0.7).sin() + (y * 0.5).cos())
        };
        let faces = (0..n - 1)
            .flat_map(|y| (0..n - 1).map(move |x| y * n + x))
            .flat_map(|a| [[a, a + 1, a + n + 1], [a, a + n + 1, a + n]]);
        ((0..n * n).map(point).collect(), faces.collect())
    }

    #[test]
    fn the_nearest_point_agrees_with_looking_at_all() {
        let (points, faces) = grid();
        let tree = SurfaceTree::new(&faces, &points).expect("corners exist");
        for i in 0..300 {
            let k = f64::from(i);
            let p = DVec3::new(6.0 + 8.0 * (k * 0.9).sin(), 6.0 + 8.0 * (k * 1.7).cos(), 3.0 * (k * 0.33).sin());
            let found = tree.nearest(p).expect("a surface");
            let d = found.at(&faces, &points).expect("a triangle").distance(p);
            // Dense sampling of all triangles as the second opinion.
            let mut least = f64::INFINITY;
            for face in &faces {
                let [a, b, c] = face.map(|v| points[v as usize]);
                for u in 0..=16 {
                    for v in 0..=16 - u {
                        let (u, v) = (f64::from(u) / 16.0, f64::from(v) / 16.0);
                        least = least.min((a * (1.0 - u - v) + b * u + c * v).distance(p));
                    }
                }
            }
            assert!(d <= least + 1e-12 && d >= least - 0.1, "{d} {least}");
            assert!((found.barycentric.element_sum() - 1.0).abs() < 1e-12 && found.barycentric.min_element() >= 0.0);
        }
    }

    #[test]
    fn a_segment_goes_through_where_it_meets_the_surface() {
        let (points, faces) = grid();
        let tree = SurfaceTree::new(&faces, &points).expect("corners exist");
        for i in 0..300 {
            let k = f64::from(i);
            let [from, to] = [4.0, -4.0].map(|z| {
                DVec3::new(5.5 + 5.0 * (k * 0.9).sin(), 5.5 + 5.0 * (k * 1.7).cos(), z) + DVec3::X * (0.05 * z)
            });
            let (along, place) = tree.crossing(from, to).expect("from above to below");
            let at = place.at(&faces, &points).expect("a triangle");
            assert!(at.distance(from.lerp(to, along)) < 1e-12, "{at}");
            // Up to there it is above.
            assert!(tree.crossing(from, from.lerp(to, along - 1e-9)).is_none());
        }
    }

    #[test]
    fn a_stroke_follows_its_surface() {
        let (points, faces) = grid();
        let samples =
            [DVec3::new(1.0, 1.0, 4.0), DVec3::new(9.0, 8.0, 4.0)].map(|position| Sample { position, time_secs: 0.0 });
        let stroke = Stroke::new(&samples).expect("finite");
        let tree = SurfaceTree::new(&faces, &points).expect("corners exist");
        let laid = SurfaceStroke::lay(&stroke, &tree, 100).expect("a surface");
        assert!(laid.corners(&faces).len() > 20);
        // Any affine map of the surface maps the stroke by the same.
        let warp = |p: DVec3| DVec3::new(p.x + 2.0 * p.y, p.y - p.z, 0.5 * p.z + p.x) + 7.0;
        let moved: Vec<DVec3> = points.iter().copied().map(warp).collect();
        let before = laid.follow(&faces, &points).expect("same surface");
        let after = laid.follow(&faces, &moved).expect("same surface");
        for (b, a) in before.iter().zip(&after) {
            assert!(a.position.distance(warp(b.position)) < 1e-12);
        }
        assert!(laid.follow(&faces[..3], &points).is_none());
        assert!(SurfaceTree::new(&[[0, 1, 999]], &points).is_none());
        assert!(SurfaceTree::new(&[], &points).expect("empty").nearest(DVec3::ZERO).is_none());
    }

    #[test]
    fn triangles_without_area_give_a_corner_or_an_edge() {
        for corners in [[DVec3::ONE; 3], [DVec3::ZERO, DVec3::X, DVec3::X * 2.0], [DVec3::ZERO, DVec3::ZERO, DVec3::Y]]
        {
            let shares = nearest_in(DVec3::new(0.3, 0.4, 0.5), corners);
            assert!(shares.is_finite() && (shares.element_sum() - 1.0).abs() < 1e-12);
        }
    }
}
