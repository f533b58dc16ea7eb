//! What the triangles of a character say about its surface: neighbours, edges, open borders.

use crate::csr::{Csr, sorted};

/// Neighbours of every control point.
#[derive(Clone, Debug, Default)]
pub struct Adjacency(Csr);

impl Adjacency {
    /// Bytes it holds.
    pub(crate) fn memory(&self) -> usize {
        4 * (self.0.len() + self.0.items())
    }

    /// Distinct neighbours along triangle edges, ascending; corners that are no point are passed over.
    pub fn new(points: usize, triangles: &[[u32; 3]]) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(6 * triangles.len());
        for &[a, b, c] in triangles {
            pairs.extend([(a, b), (b, a), (b, c), (c, b), (c, a), (a, c)]);
        }
        pairs.retain(|&(a, b)| a != b && (a.max(b) as usize) < points);
        Self(Csr::new(points, pairs))
    }

    /// Neighbours of one point.
    pub fn of(&self, point: usize) -> &[u32] {
        self.0.of(point)
    }
}

/// Edge statistics of a triangle mesh on control points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Distinct edges.
    pub edges: usize,
    /// Edges with one face.
    pub boundary_edges: usize,
    /// Edges with more than two faces.
    pub non_manifold_edges: usize,
    /// Edges whose two faces run along them in the same direction.
    pub flipped_edges: usize,
    /// Triangles with fewer than three distinct corners.
    pub degenerate_triangles: usize,
}

impl Topology {
    pub(crate) fn new(triangles: impl Iterator<Item = [u32; 3]>) -> Self {
        let mut topology = Self::default();
        let mut edges: Vec<(u32, (u32, bool))> = Vec::new();
        for [a, b, c] in triangles {
            if a == b || b == c || c == a {
                topology.degenerate_triangles += 1;
                continue;
            }
            edges.extend([(a, b), (b, c), (c, a)].map(|(a, b)| (a.min(b), (a.max(b), a < b))));
        }
        for faces in sorted(edges).chunk_by(|a, b| (a.0, a.1.0) == (b.0, b.1.0)) {
            topology.edges += 1;
            match faces {
                [_] => topology.boundary_edges += 1,
                [(_, a), (_, b)] if a.1 == b.1 => topology.flipped_edges += 1,
                [_, _] => {}
                _ => topology.non_manifold_edges += 1,
            }
        }
        topology
    }

    /// Whether the surface has an inside: every edge has two faces that agree on it.
    pub fn is_closed(&self) -> bool {
        self.edges > 0 && self.boundary_edges == 0 && self.non_manifold_edges == 0 && self.flipped_edges == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tetrahedron_is_closed_and_losing_a_face_opens_it() {
        let faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        let closed = Topology::new(faces.into_iter());
        assert!(closed.is_closed());
        assert_eq!(closed.edges, 6);
        assert_eq!(Topology::new(faces[..3].iter().copied()).boundary_edges, 3);
        assert_eq!(Topology::new(faces.into_iter().chain([[0, 1, 9]])).non_manifold_edges, 1);
        assert_eq!(Topology::new([[0, 2, 1], [0, 3, 1]].into_iter()).flipped_edges, 1);
        let adjacency = Adjacency::new(5, &faces);
        assert_eq!(adjacency.of(0), [1, 2, 3]);
        assert!(adjacency.of(4).is_empty());
    }
}
