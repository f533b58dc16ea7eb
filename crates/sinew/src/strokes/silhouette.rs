//! The outline of a surface from a view: edges between a face that looks at the viewer and one that does not, and open
//! edges of faces that do.
//!
//! EX filters a rendered picture of normals; this is its exact form, which needs no window and no resolution.
//!
//! Oracle: the outline of a ball from an eye at distance D is its circle at height R²/D towards the eye; of a box seen
//! along a diagonal, six edges.

use glam::DVec3;
use std::collections::VecDeque;

/// Where the surface is looked at from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum View {
    /// A point.
    Eye(DVec3),
    /// Parallel rays that run along this direction.
    Parallel(DVec3),
}

/// Edges of the outline, ends ascending, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Silhouette {
    edges: Vec<[u32; 2]>,
}

impl Silhouette {
    /// The outline of triangles wound counter-clockwise seen from outside; those on missing points are passed over.
    pub fn new(triangles: &[[u32; 3]], points: &[DVec3], view: View) -> Self {
        let mut sides: Vec<(u32, u32, bool)> = Vec::with_capacity(3 * triangles.len());
        for &[a, b, c] in triangles {
            let at = |v: u32| points.get(v as usize).copied();
            let (Some(pa), Some(pb), Some(pc)) = (at(a), at(b), at(c)) else { continue };
            let normal = (pb - pa).cross(pc - pa);
            let towards = match view {
                View::Eye(eye) => eye - pa,
                View::Parallel(direction) => -direction,
            };
            let front = normal.dot(towards) > 0.0;
            sides.extend([(a, b), (b, c), (c, a)].map(|(a, b)| (a.min(b), a.max(b), front)));
        }
        sides.sort_unstable();
        let turns = |faces: &&[(u32, u32, bool)]| {
            let fronts = faces.iter().filter(|face| face.2).count();
            if faces.len() == 1 { fronts == 1 } else { fronts > 0 && fronts < faces.len() }
        };
        let groups = sides.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        Self { edges: groups.filter(turns).map(|faces| [faces[0].0, faces[0].1]).collect() }
    }

    /// Its edges.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// Its vertices, ascending.
    pub fn vertices(&self) -> Vec<u32> {
        let mut vertices: Vec<u32> = self.edges.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        vertices
    }

    /// The vertices from one end to the other along the fewest edges of the outline; `None` where they do not hang
    /// together. The ends are the anchors that a stroke near the outline begins and stops at.
    pub fn between(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let vertices = self.vertices();
        let index = |v: u32| vertices.binary_search(&v).ok();
        let (start, goal) = (index(from)?, index(to)?);
        let mut both: Vec<[usize; 2]> = self
            .edges
            .iter()
            .filter_map(|&[a, b]| Some([index(a)?, index(b)?]))
            .flat_map(|[a, b]| [[a, b], [b, a]])
            .collect();
        both.sort_unstable();
        let mut came_from = vec![None; vertices.len()];
        came_from[goal] = Some(goal);
        let mut queue = VecDeque::from([goal]);
        while let Some(v) = queue.pop_front() {
            let first = both.partition_point(|edge| edge[0] < v);
            for &[_, n] in both[first..].iter().take_while(|edge| edge[0] == v) {
                if came_from[n].is_none() {
                    came_from[n] = Some(v);
                    queue.push_back(n);
                }
            }
        }
        let mut path = vec![vertices[start]];
        let mut v = start;
        while v != goal {
            v = came_from[v]?;
            path.push(vertices[v]);
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{PI, TAU};

    fn ball(rings: u32, around: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut points = vec![-DVec3::Y];
        for ring in 1..rings {
            let (sin, cos) = (PI * f64::from(ring) / f64::from(rings)).sin_cos();
            for k in 0..around {
                let (s, c) = (TAU * f64::from(k) / f64::from(around)).sin_cos();
                points.push(DVec3::new(sin * s, -cos, sin * c));
            }
        }
        points.push(DVec3::Y);
        let at = |ring: u32, k: u32| 1 + (ring - 1) * around + k % around;
        let mut faces = Vec::new();
        for k in 0..around {
            faces.push([0, at(1, k + 1), at(1, k)]);
            faces.push([at(rings - 1, k), at(rings - 1, k + 1), points.len() as u32 - 1]);
            for ring in 1..rings - 1 {
                let [a, b, c, d] = [at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
                faces.extend([[a, b, c], [a, c, d]]);
            }
        }
        (points, faces)
    }

    #[test]
    fn the_outline_of_a_ball_is_its_tangent_circle() {
        let (points, faces) = ball(60, 90);
        for (eye, height) in [(DVec3::new(0.0, 2.0, 0.0), 0.5), (DVec3::new(3.0, 0.0, 4.0), 0.2)] {
            let outline = Silhouette::new(&faces, &points, View::Eye(eye));
            assert!(outline.vertices().len() >= 60);
            for v in outline.vertices() {
                let along = points[v as usize].dot(eye.normalize());
                assert!((along - height).abs() < 0.06, "{along} {height}");
            }
        }
        let flat = Silhouette::new(&faces, &points, View::Parallel(-DVec3::Z));
        assert!(flat.vertices().iter().all(|&v| points[v as usize].z.abs() < 0.06));
        // Half a turn along it joins opposite vertices.
        let vertices = flat.vertices();
        let path = flat.between(vertices[0], vertices[vertices.len() - 1]).expect("one loop");
        assert!(path.len() > 20 && path.first() == Some(&vertices[0]));
        assert!(flat.between(vertices[0], u32::MAX).is_none());
    }

    #[test]
    fn a_box_along_its_diagonal_shows_six_edges() {
        let points: Vec<DVec3> =
            (0..8).map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let faces: Vec<[u32; 3]> = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        let outline = Silhouette::new(&faces, &points, View::Parallel(DVec3::NEG_ONE));
        assert_eq!(outline.edges().len(), 6);
        assert_eq!(outline.vertices().len(), 6);
        // An open sheet shows its border from the front and nothing from behind.
        let sheet = Silhouette::new(&faces[..2], &points, View::Parallel(DVec3::Z));
        assert_eq!(sheet.edges().len(), 4);
        assert!(Silhouette::new(&faces[..2], &points, View::Parallel(-DVec3::Z)).edges().is_empty());
    }
}
