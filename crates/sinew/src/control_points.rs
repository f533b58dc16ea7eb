//! Copies of a vertex along UV and normal seams become one *control point*, so that a seam never opens.
//!
//! Two copies are one iff binding, rest position, normalised weights and morph deltas are equal **and** their face
//! fans join along shared edges. Copies equal in position only (closed lips, touching limbs) stay apart.

use crate::csr::sorted;

/// Which control point each vertex belongs to, numbered in order of first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlPoints {
    pub of_vertex: Vec<u32>,
    pub first_vertex: Vec<u32>,
    pub copies: Vec<u32>,
}

/// Everything two copies must share, apart from their fans.
pub(crate) trait Copies {
    /// Number of vertices.
    fn len(&self) -> usize;
    /// Equal for copies; cheap, and different for almost all others.
    fn key(&self, vertex: usize) -> [u64; 3];
    /// Whether two vertices are copies.
    fn same(&self, a: usize, b: usize) -> bool;
}

impl ControlPoints {
    pub(crate) fn find(vertices: &impl Copies, triangles: &[[u32; 3]]) -> Self {
        let class = classes(vertices);
        // An edge between two classes joins the fans of all its faces: their corners at either end are one point.
        let mut edges: Vec<(u32, [u32; 3])> = Vec::with_capacity(3 * triangles.len());
        for t in triangles {
            for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
                let (ca, cb) = (class[a as usize], class[b as usize]);
                if ca != cb {
                    edges.push(if ca < cb { (ca, [cb, a, b]) } else { (cb, [ca, b, a]) });
                }
            }
        }
        let mut sets = DisjointSets::new(vertices.len());
        for pair in sorted(edges).windows(2) {
            let [(a0, [b0, va0, vb0]), (a1, [b1, va1, vb1])] = [pair[0], pair[1]];
            if (a0, b0) == (a1, b1) {
                sets.union(va0, va1);
                sets.union(vb0, vb1);
            }
        }
        let mut points = Self::default();
        let mut point_of_root = vec![u32::MAX; vertices.len()];
        for vertex in 0..vertices.len() as u32 {
            let root = sets.find(vertex) as usize;
            if point_of_root[root] == u32::MAX {
                point_of_root[root] = points.first_vertex.len() as u32;
                points.first_vertex.push(vertex);
                points.copies.push(0);
            }
            let point = point_of_root[root];
            points.copies[point as usize] += 1;
            points.of_vertex.push(point);
        }
        points
    }
}

/// Numbers vertices such that equal numbers mean copies.
fn classes(vertices: &impl Copies) -> Vec<u32> {
    let mut order: Vec<([u64; 3], u32)> = (0..vertices.len()).map(|v| (vertices.key(v), v as u32)).collect();
    order.sort_unstable();
    let mut class = vec![0; vertices.len()];
    let mut next = 0;
    for run in order.chunk_by(|a, b| a.0 == b.0) {
        // More than one class per run only when keys collide by chance.
        let mut found: Vec<(u32, u32)> = Vec::new();
        for &(_, vertex) in run {
            let known = found.iter().find(|&&(sample, _)| vertices.same(sample as usize, vertex as usize));
            class[vertex as usize] = match known {
                Some(&(_, class)) => class,
                None => {
                    found.push((vertex, next));
                    next += 1;
                    next - 1
                }
            };
        }
    }
    class
}

/// Union-find with path halving; the root of a set is its smallest member.
#[derive(Clone, Debug)]
pub(crate) struct DisjointSets(Vec<u32>);

impl DisjointSets {
    pub(crate) fn new(len: usize) -> Self {
        Self((0..len as u32).collect())
    }

    pub(crate) fn find(&mut self, mut a: u32) -> u32 {
        while self.0[a as usize] != a {
            let up = self.0[self.0[a as usize] as usize];
            self.0[a as usize] = up;
            a = up;
        }
        a
    }

    pub(crate) fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named<'a>(&'a [u64]);
    impl Copies for Named<'_> {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn key(&self, vertex: usize) -> [u64; 3] {
            [self.0[vertex], 0, 0]
        }
        fn same(&self, a: usize, b: usize) -> bool {
            self.0[a] == self.0[b]
        }
    }

    #[test]
    fn a_seam_is_one_point_and_touching_fans_are_two() {
        // Two triangles sharing the edge 1–2 through copies, and a third touching only at position 0.
        let points = ControlPoints::find(&Named(&[0, 1, 2, 1, 2, 3, 0, 8, 9]), &[[0, 1, 2], [4, 3, 5], [6, 7, 8]]);
        assert_eq!(points.of_vertex, [0, 1, 2, 1, 2, 3, 4, 5, 6]);
        assert_eq!(points.copies, [1, 2, 2, 1, 1, 1, 1]);
    }
}
