//! Volume, and triangles that turn over or collapse.
//!
//! *Volume* of a closed surface: V = ⅙ Σ (a − c) · ((b − c) × (d − c)) over its triangles (a, b, d), about the mean c of
//! their corners, in f64 (divergence theorem). Parts are taken apart into connected pieces, and closed pieces counted.
//!
//! *Turned over*: a linear map M takes the area vector n of a triangle to cof(M) n. In the base, a triangle is turned over
//! if it faces against ⅓ Σ cof(Mᵢ) n, the mean of what the blended matrices of its corners would make of it; with effects,
//! if it faces against itself in the base. *Collapsed*: less than a thousandth of the area of either. So a part that is
//! mirrored or scaled away by its bones is sound, and one that is drawn through itself is not.
//!
//! Oracle: a cube (tests below); rigid motion and scale keep everything, a corner pulled across its triangle turns it
//! (`tests/zoo.rs`).

use crate::positions::Positions;
use glam::DVec3;
use sinew::Rig;
use std::collections::HashMap;

/// Share of its area below which a triangle counts as collapsed.
const COLLAPSED: f64 = 1e-3;
/// V²/A³ below which a closed piece is too flat to have a volume worth a ratio; a sphere has 1/(36π).
const FLAT: f64 = 1e-9;

/// What a part encloses.
#[derive(Clone, Debug, PartialEq)]
pub struct Enclosure {
    /// The mesh node.
    pub node: usize,
    /// Name of the mesh.
    pub mesh: String,
    /// Pieces that hang together and are closed.
    pub closed_pieces: usize,
    /// Pieces with an open border or with edges of more than two faces: they have no volume.
    pub open_pieces: usize,
    /// Triangles of the closed pieces, by the rig's vertices.
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Volume at the nodes' default transforms, in scene units; 0 where nothing is closed.
    pub volume: f64,
}

/// The closed pieces of every part; `rest` is the rig at its default transforms.
pub(crate) fn enclosures(rig: &Rig, rest: &[DVec3]) -> Vec<Enclosure> {
    let enclosure = |part: &sinew::rig::Part| {
        let ranges = part.primitives.iter().flat_map(|primitive| primitive.triangles.clone());
        let faces: Vec<usize> = ranges.collect();
        let points: Vec<[u32; 3]> = faces.iter().map(|&face| rig.point_triangles()[face]).collect();
        let (mut triangles, mut closed_pieces, mut open_pieces) = (Vec::new(), 0, 0);
        for piece in pieces(&points) {
            if is_closed(piece.iter().map(|&face| points[face])) {
                closed_pieces += 1;
                triangles.extend(piece.iter().map(|&face| rig.triangles()[faces[face]]));
            } else {
                open_pieces += 1;
            }
        }
        let area: f64 = triangles.iter().map(|&t| area_vector(rest, t).length()).sum();
        let volume = volume(rest, &triangles);
        let is_flat = volume * volume <= FLAT * area.powi(3);
        Enclosure {
            node: part.node,
            mesh: part.name.clone(),
            closed_pieces,
            open_pieces,
            triangles: if is_flat { Vec::new() } else { triangles },
            volume: if is_flat { 0.0 } else { volume },
        }
    };
    rig.parts().iter().map(enclosure).collect()
}

/// Faces that hang together by a corner, piece by piece.
fn pieces(faces: &[[u32; 3]]) -> Vec<Vec<usize>> {
    let mut leader: HashMap<u32, u32> = HashMap::new();
    fn find(leader: &mut HashMap<u32, u32>, point: u32) -> u32 {
        let mut at = point;
        while let Some(&next) = leader.get(&at).filter(|&&next| next != at) {
            at = next;
        }
        leader.insert(point, at);
        at
    }
    for &[a, b, c] in faces {
        let first = find(&mut leader, a);
        for other in [b, c] {
            let other = find(&mut leader, other);
            // The lower number leads, so that the outcome does not depend on the order of faces.
            let (low, high) = (first.min(other), first.max(other));
            let low = find(&mut leader, low);
            leader.insert(high, low);
        }
    }
    let mut pieces: Vec<(u32, usize)> =
        faces.iter().enumerate().map(|(face, &[a, _, _])| (find(&mut leader, a), face)).collect();
    pieces.sort_unstable();
    pieces.chunk_by(|a, b| a.0 == b.0).map(|piece| piece.iter().map(|&(_, face)| face).collect()).collect()
}

/// Whether every edge has two faces that run along it in opposite directions.
fn is_closed(faces: impl Iterator<Item = [u32; 3]>) -> bool {
    let mut edges: Vec<(u32, u32, bool)> = Vec::new();
    for [a, b, c] in faces.filter(|&[a, b, c]| a != b && b != c && c != a) {
        edges.extend([(a, b), (b, c), (c, a)].map(|(a, b)| (a.min(b), a.max(b), a < b)));
    }
    edges.sort_unstable();
    let mut edges = edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).peekable();
    edges.peek().is_some() && edges.all(|faces| matches!(faces, [a, b] if a.2 != b.2))
}

/// Signed volume.
pub(crate) fn volume(points: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let corners = || triangles.iter().flatten().map(|&corner| points[corner as usize]);
    let mean = corners().sum::<DVec3>() / (3 * triangles.len()).max(1) as f64;
    let corner = |vertex: u32| points[vertex as usize] - mean;
    triangles.iter().map(|&[a, b, c]| corner(a).dot(corner(b).cross(corner(c)))).sum::<f64>() / 6.0
}

/// Normal of a triangle times twice its area.
pub(crate) fn area_vector(points: &[DVec3], [a, b, c]: [u32; 3]) -> DVec3 {
    let [a, b, c] = [a, b, c].map(|vertex| points[vertex as usize]);
    (b - a).cross(c - a)
}

/// What triangles do over a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleReport {
    /// Triangles that turn over in some frame.
    pub turned: usize,
    /// Triangles that collapse in some frame.
    pub collapsed: usize,
    /// The first frame in which one turns over: a corner of it (by the rig's vertices) and the time.
    pub(crate) first_turned: Option<(usize, f64)>,
    pub(crate) first_collapsed: Option<(usize, f64)>,
}

/// One flag per triangle.
#[derive(Clone, Default)]
pub(crate) struct Flags(Vec<u64>);

impl Flags {
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub fn set(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    pub fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Triangles that turned over or collapsed so far.
#[derive(Clone)]
pub(crate) struct Turned {
    turned: Flags,
    collapsed: Flags,
    first_turned: Option<(usize, f64)>,
    first_collapsed: Option<(usize, f64)>,
}

impl Turned {
    pub fn new(triangles: usize) -> Self {
        let flags = || Flags::new(triangles);
        Self { turned: flags(), collapsed: flags(), first_turned: None, first_collapsed: None }
    }

    /// Looks at a triangle's area vector, and at what it should be near.
    fn see(&mut self, triangle: &SoundTriangle, found: DVec3, expected: DVec3, time: f64) {
        let corner = triangle.vertices[0] as usize;
        if found.dot(expected) < 0.0 {
            self.turned.set(triangle.index);
            self.first_turned.get_or_insert((corner, time));
        }
        if found.length() < COLLAPSED * expected.length() {
            self.collapsed.set(triangle.index);
            self.first_collapsed.get_or_insert((corner, time));
        }
    }

    pub fn join(&mut self, later: &Self) {
        self.turned.join(&later.turned);
        self.collapsed.join(&later.collapsed);
        self.first_turned = self.first_turned.or(later.first_turned);
        self.first_collapsed = self.first_collapsed.or(later.first_collapsed);
    }

    pub fn report(&self) -> TriangleReport {
        TriangleReport {
            turned: self.turned.count(),
            collapsed: self.collapsed.count(),
            first_turned: self.first_turned,
            first_collapsed: self.first_collapsed,
        }
    }
}

/// The triangles that have an area at rest.
pub(crate) struct SoundTriangles {
    triangles: Vec<SoundTriangle>,
    pub count: usize,
}

struct SoundTriangle {
    index: usize,
    vertices: [u32; 3],
    points: [u32; 3],
    /// Area vector in the space the blended matrices start from.
    area: DVec3,
}

impl SoundTriangles {
    pub fn new(rig: &Rig) -> Self {
        let rest: Vec<DVec3> = (0..rig.slots()).map(|slot| rig.rest().get(slot).as_dvec3()).collect();
        let both = rig.triangles().iter().zip(rig.point_triangles()).enumerate();
        let triangles = both.map(|(index, (&vertices, &points))| {
            let area = area_vector(&rest, points);
            SoundTriangle { index, vertices, points, area }
        });
        Self {
            triangles: triangles.filter(|triangle| triangle.area.length() > 0.0).collect(),
            count: rig.triangles().len(),
        }
    }

    /// Looks at a frame: in the base, and with effects.
    pub fn look(&self, frame: &Positions, has_effects: bool, time: f64, base: &mut Turned, effects: &mut Turned) {
        for triangle in &self.triangles {
            let expected = triangle.points.map(|point| frame.cofactors[point as usize] * triangle.area);
            let expected = expected.iter().sum::<DVec3>() / 3.0;
            let in_base = area_vector(&frame.base, triangle.vertices);
            base.see(triangle, in_base, expected, time);
            if has_effects {
                effects.see(triangle, area_vector(&frame.effects, triangle.vertices), in_base, time);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit cube at `offset`, outward.
    fn cube(offset: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let corner = |n: u32| DVec3::new(f64::from(n & 1), f64::from(n >> 1 & 1), f64::from(n >> 2)) + offset;
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]);
        ((0..8).map(corner).collect(), triangles.collect())
    }

    #[test]
    fn a_cube_has_its_volume_wherever_it_is() {
        for offset in [DVec3::ZERO, DVec3::splat(1e6)] {
            let (points, triangles) = cube(offset);
            assert!((volume(&points, &triangles) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn pieces_are_told_apart_and_open_ones_found() {
        let (_, faces) = cube(DVec3::ZERO);
        let shifted = faces.iter().map(|t| t.map(|c| c + 100));
        let both: Vec<[u32; 3]> = faces.iter().copied().chain(shifted.skip(1)).collect();
        let pieces = pieces(&both);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [12, 11]);
        assert!(is_closed(pieces[0].iter().map(|&face| both[face])));
        assert!(!is_closed(pieces[1].iter().map(|&face| both[face])));
        assert!(!is_closed(std::iter::empty()));
    }
}
