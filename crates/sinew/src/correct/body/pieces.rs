//! The connected pieces of a character's faces: open borders capped, what has an inside told from sheets.

use crate::control_points::DisjointSets;
use crate::csr::{Csr, sorted};
use glam::DVec3;

/// Of caps to faces, by area: beyond it a piece is a sheet. A tube three times as long as wide has a sixth.
const LARGEST_OPENING: f64 = 0.25;
/// Volume over that of a ball of the same area; below it there is nothing inside.
const LEAST_ROUNDNESS: f64 = 1e-3;

/// Volume between triangles and the origin: ⅙ Σ [p_i p_j p_k].
pub(crate) fn volume(triangles: impl Iterator<Item = [u32; 3]>, points: &[DVec3]) -> f64 {
    let sum: f64 = triangles
        .map(|corners| {
            let [a, b, c] = corners.map(|node| points[node as usize]);
            a.dot(b.cross(c))
        })
        .sum();
    sum / 6.0
}

/// An edge that more faces run along in one direction than in the other.
pub(super) struct OpenEdge {
    pub from: u32,
    pub to: u32,
    /// By how many.
    excess: usize,
    /// Faces on it, either way.
    faces: usize,
}

pub(super) fn open_edges(faces: impl Iterator<Item = [u32; 3]>) -> Vec<OpenEdge> {
    let edges: Vec<(u32, (u32, bool))> =
        faces.flat_map(|[a, b, c]| [(a, b), (b, c), (c, a)]).map(|(a, b)| (a.min(b), (a.max(b), a < b))).collect();
    let mut open = Vec::new();
    for run in sorted(edges).chunk_by(|a, b| (a.0, a.1.0) == (b.0, b.1.0)) {
        let (low, (high, _)) = run[0];
        let up = run.iter().filter(|edge| edge.1.1).count();
        let down = run.len() - up;
        if up != down {
            let (from, to) = if up > down { (low, high) } else { (high, low) };
            open.push(OpenEdge { from, to, excess: up.abs_diff(down), faces: run.len() });
        }
    }
    open
}

/// The loops that open edges make.
struct Rings {
    ring_of_node: Vec<u32>,
    nodes: Csr,
}

impl Rings {
    fn new(nodes: usize, open: &[OpenEdge]) -> Self {
        let mut loops = DisjointSets::new(nodes);
        for edge in open {
            loops.union(edge.from, edge.to);
        }
        let mut ring_of_node = vec![u32::MAX; nodes];
        let mut on_rings = Vec::new();
        let mut count = 0u32;
        for edge in open {
            let root = loops.find(edge.from) as usize;
            if ring_of_node[root] == u32::MAX {
                ring_of_node[root] = count;
                count += 1;
            }
            let ring = ring_of_node[root];
            for node in [edge.from, edge.to] {
                ring_of_node[node as usize] = ring;
                on_rings.push((ring, node));
            }
        }
        Self { ring_of_node, nodes: Csr::new(count as usize, on_rings) }
    }

    fn of(&self, edge: &OpenEdge) -> usize {
        self.ring_of_node[edge.from as usize] as usize
    }
}

fn mean(nodes: &[u32], places: &[DVec3]) -> DVec3 {
    nodes.iter().map(|&node| places[node as usize]).sum::<DVec3>() / nodes.len().max(1) as f64
}

/// Volume of some faces, their open borders closed by fans.
pub(super) fn capped_volume(faces: &[[u32; 3]], places: &[DVec3]) -> f64 {
    let open = open_edges(faces.iter().copied());
    let rings = Rings::new(places.len(), &open);
    let centre = places.iter().sum::<DVec3>() / places.len().max(1) as f64;
    let cone = |a: DVec3, b: DVec3, c: DVec3| (a - centre).dot((b - centre).cross(c - centre)) / 6.0;
    let apexes: Vec<DVec3> = rings.nodes.iter().map(|ring| mean(ring, places)).collect();
    let caps = open.iter().map(|edge| {
        let (from, to) = (places[edge.from as usize], places[edge.to as usize]);
        edge.excess as f64 * cone(to, from, apexes[rings.of(edge)])
    });
    let at = |node: u32| places[node as usize];
    faces.iter().map(|&[a, b, c]| cone(at(a), at(b), at(c))).chain(caps).sum()
}

/// Connected pieces, capped and told apart.
pub(super) struct Pieces {
    pub triangles: Vec<[u32; 3]>,
    pub first_cap: usize,
    pub first_sheet: usize,
    pub rings: Csr,
    pub has_inside: Vec<bool>,
}

impl Pieces {
    pub fn new(nodes: usize, faces: &[[u32; 3]], bind: &[DVec3]) -> Self {
        let mut sets = DisjointSets::new(nodes);
        for &[a, b, c] in faces {
            sets.union(a, b);
            sets.union(b, c);
        }
        let piece_of: Vec<usize> = (0..nodes as u32).map(|node| sets.find(node) as usize).collect();
        let open = open_edges(faces.iter().copied());
        let rings = Rings::new(nodes, &open);
        let apexes: Vec<DVec3> = rings.nodes.iter().map(|ring| mean(ring, bind)).collect();

        // About a point near each piece: far from it the sum would lose its digits.
        let (mut area, mut opening, mut volume) = (vec![0.0; nodes], vec![0.0; nodes], vec![0.0; nodes]);
        let mut agrees = vec![true; nodes];
        for &[a, b, c] in faces {
            let piece = piece_of[a as usize];
            let origin = bind[piece];
            let [a, b, c] = [a, b, c].map(|node| bind[node as usize] - origin);
            area[piece] += (b - a).cross(c - a).length() / 2.0;
            volume[piece] += a.dot(b.cross(c)) / 6.0;
        }
        for edge in &open {
            let piece = piece_of[edge.from as usize];
            let origin = bind[piece];
            let apex = apexes[rings.of(edge)] - origin;
            let (a, b) = (bind[edge.to as usize] - origin, bind[edge.from as usize] - origin);
            let count = edge.excess as f64;
            opening[piece] += count * (b - a).cross(apex - a).length() / 2.0;
            volume[piece] += count * a.dot(b.cross(apex)) / 6.0;
            agrees[piece] &= edge.excess == 1 || edge.faces > 2;
        }
        let inside = |piece: usize| {
            let ball = area[piece].powf(1.5) / (6.0 * std::f64::consts::PI.sqrt());
            agrees[piece]
                && opening[piece] <= LARGEST_OPENING * area[piece]
                && volume[piece].abs() > LEAST_ROUNDNESS * ball
        };
        let has_inside: Vec<bool> = piece_of.iter().map(|&piece| inside(piece)).collect();

        let of_body = |face: &&[u32; 3]| has_inside[face[0] as usize];
        let mut triangles: Vec<[u32; 3]> = faces.iter().filter(of_body).copied().collect();
        let first_cap = triangles.len();
        let kept: Vec<usize> =
            (0..rings.nodes.len()).filter(|&ring| has_inside[rings.nodes.of(ring)[0] as usize]).collect();
        let mut apex_of_ring = vec![u32::MAX; rings.nodes.len()];
        for (index, &ring) in kept.iter().enumerate() {
            apex_of_ring[ring] = (nodes + index) as u32;
        }
        for edge in open.iter().filter(|edge| has_inside[edge.from as usize]) {
            let apex = apex_of_ring[rings.of(edge)];
            triangles.extend(std::iter::repeat_n([edge.to, edge.from, apex], edge.excess));
        }
        let first_sheet = triangles.len();
        triangles.extend(faces.iter().filter(|face| !of_body(face)));
        let on_kept = kept
            .iter()
            .enumerate()
            .flat_map(|(index, &ring)| rings.nodes.of(ring).iter().map(move |&node| (index as u32, node)));
        let rings = Csr::new(kept.len(), on_kept.collect());
        Self { triangles, first_cap, first_sheet, rings, has_inside }
    }
}
