//! The mesh to be bound: one point per place along seams, faces in a tree.

use super::BindError;
use crate::bvh::Bvh;
use crate::control_points::{ControlPoints, Copies};
use crate::raw::RawMesh;
use glam::{DVec3, Vec3};

/// Faces are this much larger, as a share, so that no ray slips between two of them.
const EDGE: f64 = 1e-9;

pub(super) struct Shell {
    points: Vec<DVec3>,
    /// Outward, by area; zero where faces cancel.
    normals: Vec<DVec3>,
    faces: Vec<[u32; 3]>,
    of_vertex: Vec<u32>,
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
        let mut boxes = Vec::with_capacity(faces.len());
        for face in &faces {
            let [a, b, c] = face.map(|v| points[v as usize]);
            boxes.push((a.min(b).min(c), a.max(b).max(c)));
            let area = (b - a).cross(c - a);
            face.iter().for_each(|&v| normals[v as usize] += area);
        }
        normals.iter_mut().for_each(|n| *n = n.normalize_or_zero());
        let (low, high) =
            points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), &p| (low.min(p), high.max(p)));
        let size = (high - low).length();
        let size = if size.is_finite() && size > 0.0 { size } else { 1.0 };
        Ok(Self { points, normals, faces, of_vertex: found.of_vertex, tree: Bvh::new(&boxes), size })
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

    /// How far a ray goes, in lengths of `direction`, until it leaves through a face that does not have the corner
    /// `from`; faces it enters by are passed.
    pub fn exit(&self, origin: DVec3, direction: DVec3, from: Option<u32>) -> Option<f64> {
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
            if leaving <= 0.0 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{RawBinding, RawPrimitive};

    #[test]
    fn rays_leave_a_box_where_they_should() {
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
        let mesh = RawMesh {
            name: String::new(),
            node: 0,
            binding: RawBinding::Node,
            primitives: vec![primitive],
            morph_weights: Vec::new(),
        };
        let shell = Shell::new([&mesh].into_iter()).unwrap();
        assert_eq!(shell.points().len(), 8);
        for direction in [DVec3::X, DVec3::NEG_Y * 2.0, DVec3::new(0.3, 0.2, -1.0)] {
            let t = shell.exit(DVec3::new(0.1, 0.2, 0.3), direction, None).unwrap();
            let end = DVec3::new(0.1, 0.2, 0.3) + direction * t;
            assert!((end.abs().max_element() - 1.0).abs() < 1e-12, "{end}");
        }
        // From outside it is entered first, then left.
        assert!((shell.exit(DVec3::new(-3.0, 0.1, 0.2), DVec3::X, None).unwrap() - 4.0).abs() < 1e-12);
        let corner = shell.points().iter().position(|p| *p == DVec3::ONE).unwrap();
        assert!(shell.normal(corner).dot(DVec3::ONE) > 1.0);
        assert_eq!(shell.exit(DVec3::ONE, DVec3::ONE, Some(corner as u32)), None);
    }
}
