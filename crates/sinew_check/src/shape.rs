//! The skin as comparisons look at it: welded points, their triangles and edges, and the pieces they hang together in.
//!
//! Points are the control points that carry a vertex, numbered densely; copies of a vertex along a seam are one point. A
//! *piece* is what hangs together by triangles: the skin of most characters is several, and nothing but skill keeps the
//! foot at the leg.

use glam::DVec3;
use sinew::{DeformedMesh, Rig};

/// No bone, or no group.
pub(crate) const NONE: u32 = u32::MAX;

/// A connected piece of skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Name of the mesh its first vertex belongs to.
    pub mesh: String,
    /// Name of the bone that moves most of its points.
    pub bone: String,
    /// Index of its character.
    pub character: usize,
    /// Points in it.
    pub points: usize,
    /// Whether it hangs on one bone: all of its points follow that bone alone, or it rides on a node.
    pub on_one_bone: bool,
    /// Diagonal of its box at rest, in scene units.
    pub size: f64,
    /// A vertex of it, by the rig.
    pub(crate) vertex: usize,
}

pub(crate) struct Shape {
    /// The rig's vertex of each point.
    pub vertex: Vec<u32>,
    /// The slot of each point.
    pub slot: Vec<u32>,
    pub character: Vec<u32>,
    /// Main bone of each point, by the skeleton.
    pub bone: Vec<u32>,
    /// Part of each point.
    pub part: Vec<u32>,
    pub piece: Vec<u32>,
    /// Triangles with three distinct points, those of a piece together.
    pub triangles: Vec<[u32; 3]>,
    /// Per piece: its triangles.
    pub faces: Vec<std::ops::Range<usize>>,
    /// Per piece: its points, ascending.
    pub members: Vec<Vec<u32>>,
    pub pieces: Vec<Piece>,
    /// Per piece: whether it is a sheet, such as a skirt or a cape, which has no inside that anything could go into.
    pub is_sheet: Vec<bool>,
    /// Edges, lower point first.
    pub edges: Vec<[u32; 2]>,
    /// Points at rest, in the base.
    pub rest: Vec<DVec3>,
    pub sizes: Vec<f64>,
}

/// Share of a point's weight that may lie on other bones where it still follows one alone: a step of an 8-bit weight.
const ALONE: f32 = 1.0 - 1.0 / 255.0;

/// Length of a piece's border over the root of its area, from which it is a sheet: 4 of a square, 3 of a skirt, 1 of a head
/// that is open at the neck.
const SHEET: f64 = 2.0;

impl Shape {
    /// The skin of a rig; `rest` are its vertices at the nodes' default transforms.
    pub fn new(rig: &Rig, rest: &[DVec3]) -> Self {
        let mut point_of_slot = vec![NONE; rig.slots()];
        let (mut vertex, mut slot, mut part) = (Vec::new(), Vec::new(), Vec::new());
        for (index, of) in rig.parts().iter().enumerate() {
            for at in of.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
                let point = &mut point_of_slot[rig.point(at)];
                if *point == NONE {
                    *point = u32_of(vertex.len());
                    vertex.push(u32_of(at));
                    slot.push(u32_of(rig.point(at)));
                    part.push(u32_of(index));
                }
            }
        }
        let count = vertex.len();
        let of_slot = |slot: u32| point_of_slot[slot as usize];
        let mut triangles: Vec<[u32; 3]> = rig.point_triangles().iter().map(|corners| corners.map(of_slot)).collect();
        triangles.retain(|&[a, b, c]| a != b && b != c && c != a && a.max(b).max(c) != NONE);
        let leaders = leaders(count, &triangles);
        // Pieces by their first point; points without a triangle belong to none.
        let mut piece_of_leader = vec![NONE; count];
        let mut firsts: Vec<u32> = triangles.iter().map(|t| leaders[t[0] as usize]).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts.iter().enumerate().for_each(|(index, &first)| piece_of_leader[first as usize] = u32_of(index));
        let piece: Vec<u32> = leaders.iter().map(|&leader| piece_of_leader[leader as usize]).collect();
        triangles.sort_by_key(|t| piece[t[0] as usize]);
        let mut faces = vec![0..0; firsts.len()];
        for (index, t) in triangles.iter().enumerate() {
            let range = &mut faces[piece[t[0] as usize] as usize];
            *range = if range.start == range.end { index..index + 1 } else { range.start..index + 1 };
        }
        let mut members = vec![Vec::new(); firsts.len()];
        for (point, &of) in piece.iter().enumerate() {
            if of != NONE {
                members[of as usize].push(u32_of(point));
            }
        }
        let mut edges: Vec<[u32; 2]> = triangles
            .iter()
            .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| [a.min(b), a.max(b)])
            .collect();
        edges.sort_unstable();
        let rest: Vec<DVec3> = vertex.iter().map(|&v| rest[v as usize]).collect();
        let mut border = vec![0.0; firsts.len()];
        for edge in edges.chunk_by(|a, b| a == b).filter(|edge| edge.len() == 1) {
            let [a, b] = edge[0].map(|point| point as usize);
            border[piece[a] as usize] += rest[a].distance(rest[b]);
        }
        edges.dedup();
        let is_sheet = (faces.iter().zip(&border))
            .map(|(faces, border)| {
                let area = |t: &[u32; 3]| {
                    let [a, b, c] = t.map(|point| rest[point as usize]);
                    0.5 * (b - a).cross(c - a).length()
                };
                *border > SHEET * triangles[faces.clone()].iter().map(area).sum::<f64>().sqrt()
            })
            .collect();
        let bone: Vec<u32> =
            slot.iter().map(|&s| rig.main_bone(s as usize).map_or(NONE, |bone| u32_of(bone.index()))).collect();
        let character: Vec<u32> =
            slot.iter().map(|&s| u32_of(rig.character_of_point(s as usize).unwrap_or(0))).collect();
        let pieces = members
            .iter()
            .map(|points| {
                let first = points[0] as usize;
                let (low, high) = bounds(points.iter().map(|&p| rest[p as usize]));
                let alone = |&p: &u32| {
                    let slot = slot[p as usize] as usize;
                    rig.is_rider(slot)
                        || bone[p as usize] == bone[first]
                            && rig.main_influence(slot).is_some_and(|main| main.weight >= ALONE)
                };
                let mut bones: Vec<u32> = points.iter().map(|&p| bone[p as usize]).collect();
                bones.sort_unstable();
                let most = bones.chunk_by(|a, b| a == b).rev().max_by_key(|run| run.len()).map_or(NONE, |run| run[0]);
                Piece {
                    mesh: rig.parts()[part[first] as usize].name.clone(),
                    bone: bone_name(rig, most),
                    character: character[first] as usize,
                    points: points.len(),
                    on_one_bone: points.iter().all(alone),
                    size: (high - low).length(),
                    vertex: vertex[first] as usize,
                }
            })
            .collect();
        let sizes = rig.characters().iter().map(|character| character.size).collect();
        Self {
            vertex,
            slot,
            character,
            bone,
            part,
            piece,
            triangles,
            faces,
            members,
            pieces,
            is_sheet,
            edges,
            rest,
            sizes,
        }
    }

    /// Size of the character of a point.
    pub fn size(&self, point: usize) -> f64 {
        self.sizes[self.character[point] as usize]
    }

    /// Points of a frame given by the rig's vertices.
    /// The points of a frame as it was evaluated, in world space.
    pub fn read(&self, mesh: &DeformedMesh, out: &mut Vec<DVec3>) {
        out.clear();
        let placed = self.vertex.iter().zip(&self.character);
        out.extend(placed.map(|(&vertex, &character)| mesh.world_position(character as usize, vertex as usize)));
    }

    pub fn gather(&self, vertices: &[DVec3], out: &mut Vec<DVec3>) {
        out.clear();
        out.extend(self.vertex.iter().map(|&vertex| vertices[vertex as usize]));
    }
}

/// The name of a bone by its index in the skeleton.
pub(crate) fn bone_name(rig: &Rig, bone: u32) -> String {
    let found = rig.skeleton().bone(bone as usize);
    found.map_or(String::new(), |bone| rig.skeleton().name(bone).to_owned())
}

/// Corners of the box around points.
pub(crate) fn bounds(points: impl Iterator<Item = DVec3>) -> (DVec3, DVec3) {
    let nothing = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    points.fold(nothing, |(low, high), point| (low.min(point), high.max(point)))
}

/// The lowest point that each point hangs together with.
fn leaders(points: usize, triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut leader: Vec<u32> = (0..u32_of(points)).collect();
    let find = |leader: &mut [u32], point: u32| {
        let mut at = point as usize;
        while leader[at] as usize != at {
            leader[at] = leader[leader[at] as usize];
            at = leader[at] as usize;
        }
        u32_of(at)
    };
    for &[a, b, c] in triangles {
        for other in [b, c] {
            let (a, b) = (find(&mut leader, a), find(&mut leader, other));
            leader[a.max(b) as usize] = a.min(b);
        }
    }
    (0..u32_of(points)).map(|point| find(&mut leader, point)).collect()
}

/// Rigs hold fewer elements than 32 bits count.
pub(crate) fn u32_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}
