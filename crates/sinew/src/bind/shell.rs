//! The mesh to be bound: one point per place along seams, faces in a tree, pieces that are not joined to one another.

use super::BindError;
use crate::bvh::Bvh;
use crate::control_points::{ControlPoints, Copies, DisjointSets};
use crate::raw::RawMesh;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::f64::consts::PI;

/// Faces are this much larger, as a share, so that no ray slips between two of them.
const EDGE: f64 = 1e-9;
/// Of the size.
const LEAST_DISTANCE: f64 = 1e-4;

pub(super) struct Shell {
    points: Vec<DVec3>,
    /// Outward, by area; zero where faces cancel.
    normals: Vec<DVec3>,
    faces: Vec<[u32; 3]>,
    of_vertex: Vec<u32>,
    piece_of: Vec<u32>,
    piece_count: usize,
    /// Per piece, whether it lies around others and encloses nothing itself.
    is_around: Vec<bool>,
    tree: Bvh,
    size: f64,
}

struct Places<'a>(&'a [Vec3]);

impl Copies for Places<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn key(&self, vertex: usize) -> [u64; 3] {
        // −0 is 0.
        (self.0[vertex] + Vec3::ZERO).to_array().map(|v| u64::from(v.to_bits()))
    }
    fn same(&self, a: usize, b: usize) -> bool {
        self.0[a] == self.0[b]
    }
}

impl Shell {
    pub fn new<'a>(meshes: impl Iterator<Item = &'a RawMesh>) -> Result<Self, BindError> {
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for mesh in meshes {
            let bad = || BindError::BadMesh { mesh: mesh.name.clone() };
            for primitive in &mesh.primitives {
                let first = u32::try_from(positions.len()).map_err(|_| bad())?;
                let count = primitive.positions.len();
                let sound = primitive.positions.iter().all(|p| p.is_finite())
                    && primitive.triangles.iter().flatten().all(|&v| (v as usize) < count)
                    && count < (u32::MAX - first) as usize;
                if !sound {
                    return Err(bad());
                }
                positions.extend_from_slice(&primitive.positions);
                triangles.extend(primitive.triangles.iter().map(|t| t.map(|v| v + first)));
            }
        }
        let found = ControlPoints::find(&Places(&positions), &triangles);
        let points: Vec<DVec3> = found.first_vertex.iter().map(|&v| positions[v as usize].as_dvec3()).collect();
        let faces: Vec<[u32; 3]> = triangles
            .into_iter()
            .map(|t| t.map(|v| found.of_vertex[v as usize]))
            .filter(|[a, b, c]| a != b && b != c && c != a)
            .collect();
        let mut normals = vec![DVec3::ZERO; points.len()];
        let mut corners = Vec::with_capacity(faces.len());
        for face in &faces {
            let [a, b, c] = face.map(|v| points[v as usize]);
            corners.push([a, b, c]);
            let area = (b - a).cross(c - a);
            face.iter().for_each(|&v| normals[v as usize] += area);
        }
        normals.iter_mut().for_each(|n| *n = n.normalize_or_zero());
        let (low, high) =
            points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), &p| (low.min(p), high.max(p)));
        let size = (high - low).length();
        let size = if size.is_finite() && size > 0.0 { size } else { 1.0 };
        let (piece_of, piece_count) = pieces(points.len(), &faces);
        let is_around = vec![false; piece_count];
        let of_vertex = found.of_vertex;
        let tree = Bvh::of_faces(&corners);
        Ok(Self { points, normals, faces, of_vertex, piece_of, piece_count, is_around, tree, size })
    }

    pub fn points(&self) -> &[DVec3] {
        &self.points
    }

    pub fn normal(&self, point: usize) -> DVec3 {
        self.normals[point]
    }

    pub fn faces(&self) -> &[[u32; 3]] {
        &self.faces
    }

    pub fn point_of_vertex(&self, vertex: usize) -> usize {
        self.of_vertex[vertex] as usize
    }

    /// Diagonal of the box around it.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Distances below this count as this.
    pub fn least_distance(&self) -> f64 {
        LEAST_DISTANCE * self.size
    }

    pub fn piece_of(&self, point: usize) -> usize {
        self.piece_of[point] as usize
    }

    /// Pieces of faces that share no point.
    pub fn piece_count(&self) -> usize {
        self.piece_count
    }

    /// From a place to the nearest point of each piece.
    pub fn distances_to_pieces(&self, place: DVec3) -> Vec<f64> {
        let mut squares = vec![f64::INFINITY; self.piece_count];
        for (p, &piece) in self.points.iter().zip(&self.piece_of) {
            let square = &mut squares[piece as usize];
            *square = square.min(p.distance_squared(place));
        }
        squares.into_iter().map(f64::sqrt).collect()
    }

    /// How often each piece winds around a place (Jacobson et al. 2013): 1 inside a closed piece, 0 outside, something
    /// between near holes; 0 for pieces around others. The solid angle of a face is by Van Oosterom and Strackee (1983).
    pub fn windings(&self, place: DVec3) -> Vec<f64> {
        let mut angles = vec![0.0; self.piece_count];
        for face in &self.faces {
            let [a, b, c] = face.map(|v| self.points[v as usize] - place);
            let (x, y, z) = (a.length(), b.length(), c.length());
            let across = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
            angles[self.piece_of[face[0] as usize] as usize] += a.dot(b.cross(c)).atan2(across);
        }
        let winding = |(angle, is_around): (f64, &bool)| if *is_around { 0.0 } else { angle / (2.0 * PI) };
        angles.into_iter().zip(&self.is_around).map(winding).collect()
    }

    /// Whether a piece that winds so often around a place encloses it; turned inside out or not.
    pub fn encloses(winding: f64) -> bool {
        winding.abs() > 0.5
    }

    /// The piece that encloses a place; of several the nearest.
    pub fn innermost(windings: &[f64], distances: &[f64]) -> Option<usize> {
        let enclosing = (0..windings.len()).filter(|&piece| Self::encloses(windings[piece]));
        enclosing.min_by(|&a, &b| distances[a].total_cmp(&distances[b]))
    }

    /// Finds the pieces around others: of the places on bones that they enclose, most are inside another piece too. What
    /// is between the legs under a skirt is not inside the body.
    pub fn set_aside_pieces_around_others(&mut self, places: &[DVec3]) {
        let look = |&place: &DVec3| (self.windings(place), self.distances_to_pieces(place));
        let looked: Vec<_> = places.par_iter().map(look).collect();
        let (mut enclosed, mut innermost) = (vec![0; self.piece_count], vec![0; self.piece_count]);
        for (windings, distances) in &looked {
            (enclosed.iter_mut().zip(windings)).for_each(|(count, &w)| *count += u32::from(Self::encloses(w)));
            Self::innermost(windings, distances).into_iter().for_each(|piece| innermost[piece] += 1);
        }
        self.is_around =
            enclosed.iter().zip(&innermost).map(|(enclosed, innermost)| 2 * innermost < *enclosed).collect();
    }

    pub fn is_inside(&self, place: DVec3) -> bool {
        self.windings(place).into_iter().any(Self::encloses)
    }

    /// How far a ray from inside goes, in lengths of `direction`, until it is outside every piece.
    pub fn way_out(&self, origin: DVec3, direction: DVec3) -> Option<f64> {
        let beyond = self.least_distance() / direction.length();
        let mut start = 0.0;
        // A leg in a boot, a neck in a head: few pieces lie in one another.
        for _ in 0..=self.piece_count.min(16) {
            let way = start + self.hit(origin + direction * start, direction, None, |leaving| leaving > 0.0)?;
            start = way + beyond;
            if !self.is_inside(origin + direction * start) {
                return Some(way);
            }
        }
        None
    }

    /// How far a ray from the point `from` goes, in lengths of `direction`, until it enters a piece.
    pub fn entry(&self, origin: DVec3, direction: DVec3, from: u32) -> Option<f64> {
        self.hit(origin, direction, Some(from), |leaving| leaving < 0.0)
    }

    /// How far a ray goes until the first face of that side that does not have the corner `from`.
    fn hit(&self, origin: DVec3, direction: DVec3, from: Option<u32>, side: impl Fn(f64) -> bool) -> Option<f64> {
        self.tree.first_hit(origin, direction, |face| {
            let corners = self.faces[face as usize];
            if from.is_some_and(|point| corners.contains(&point)) {
                return None;
            }
            let [a, b, c] = corners.map(|v| self.points[v as usize]);
            let (ab, ac) = (b - a, c - a);
            // Möller, Trumbore: the determinant is positive where the ray leaves.
            let normal = ab.cross(ac);
            let leaving = direction.dot(normal);
            if leaving == 0.0 || !side(leaving) {
                return None;
            }
            let to = a - origin;
            let across = to.cross(direction);
            let (u, v) = (ac.dot(across) / leaving, -ab.dot(across) / leaving);
            let t = to.dot(normal) / leaving;
            (u >= -EDGE && v >= -EDGE && u + v <= 1.0 + EDGE && t > 0.0).then_some(t)
        })
    }
}

/// The piece of each point, and how many there are; points without faces are pieces of their own.
fn pieces(count: usize, faces: &[[u32; 3]]) -> (Vec<u32>, usize) {
    let mut sets = DisjointSets::new(count);
    for &[a, b, c] in faces {
        sets.union(a, b);
        sets.union(b, c);
    }
    let mut number = vec![u32::MAX; count];
    let mut pieces = 0;
    let piece_of = (0..count as u32).map(|point| {
        let number = &mut number[sets.find(point) as usize];
        if *number == u32::MAX {
            *number = pieces;
            pieces += 1;
        }
        *number
    });
    let piece_of = piece_of.collect();
    (piece_of, pieces as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{RawBinding, RawPrimitive};

    fn box_mesh() -> RawMesh {
        // Each side of the box has corners of its own.
        let mut primitive = RawPrimitive::default();
        for axis in 0..3 {
            for side in [-1.0f32, 1.0] {
                let first = primitive.positions.len() as u32;
                for (u, v) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                    let mut p = [0.0; 3];
                    (p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3]) = (side, u, v);
                    primitive.positions.push(Vec3::from(p));
                }
                let [a, b, c, d] = [0, 1, 2, 3].map(|k| first + k);
                let quads = if side > 0.0 { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] };
                primitive.triangles.extend(quads);
            }
        }
        RawMesh {
            name: String::new(),
            node: 0,
            binding: RawBinding::Node,
            primitives: vec![primitive],
            morph_weights: Vec::new(),
        }
    }

    #[test]
    fn a_box_winds_once_around_what_is_inside() {
        let mesh = box_mesh();
        let shell = Shell::new([&mesh].into_iter()).unwrap();
        for (place, winding) in [(DVec3::ZERO, 1.0), (DVec3::splat(0.99), 1.0), (DVec3::splat(1.01), 0.0)] {
            assert!((shell.windings(place)[0] - winding).abs() < 1e-9);
        }
        // Over the middle of a cube a side is a sixth of all directions.
        let mut open = mesh;
        open.primitives[0].triangles.truncate(10);
        let shell = Shell::new([&open].into_iter()).unwrap();
        assert!((shell.windings(DVec3::ZERO)[0] - 5.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn rays_leave_a_box_where_they_should() {
        let mesh = box_mesh();
        let shell = Shell::new([&mesh].into_iter()).unwrap();
        assert_eq!(shell.points().len(), 8);
        for direction in [DVec3::X, DVec3::NEG_Y * 2.0, DVec3::new(0.3, 0.2, -1.0)] {
            let t = shell.way_out(DVec3::new(0.1, 0.2, 0.3), direction).unwrap();
            let end = DVec3::new(0.1, 0.2, 0.3) + direction * t;
            assert!((end.abs().max_element() - 1.0).abs() < 1e-12, "{end}");
        }
        // From outside it is entered, then left.
        let corner = shell.points().iter().position(|p| *p == DVec3::ONE).unwrap();
        assert!(shell.normal(corner).dot(DVec3::ONE) > 1.0);
        assert_eq!(shell.entry(DVec3::ONE, DVec3::NEG_ONE, corner as u32), None, "a corner sees what is inside");
        let entry = shell.entry(DVec3::new(-3.0, 0.1, 0.2), DVec3::X, corner as u32);
        assert!((entry.unwrap() - 2.0).abs() < 1e-12);
    }
}
