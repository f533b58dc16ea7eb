//! The surface of one character as a body with a volume: welded, capped, cut into segments.
//!
//! *Nodes* are control points, joined where their open borders coincide and carry the same weights, so that a head and
//! a torso with a skin each are one body, and copies whose weights an exporter pruned differently leave no slit. Open borders are capped by a fan about the
//! mean of their nodes, which is linear in them: the apex is a node that follows its ring. A connected piece has an
//! *inside* if its faces agree on a direction and its caps are small beside it; the others (capes, skirts, planes) are
//! *sheets*, which only the prism estimate of segments can measure.
//!
//! Rest shapes are compared in one *bind space* per character: that of its first skin. Other skins and riders are put
//! there by a bone they share with it or, failing that, by the nodes' default transforms.
//!
//! A *segment* is the nodes that follow one bone most, and the triangles that have most of their corners in it. Segments
//! are numbered from the deepest bone up.

use super::folds::Folds;
use super::pieces::{Pieces, capped_volume, open_edges, volume};
use crate::bind_space::bind_spaces;
use crate::bvh::Bvh;
use crate::control_points::DisjointSets;
use crate::csr::Csr;
use crate::rig::{OfRig, Rig};
use crate::simd::{LANES, Points};
use crate::skeleton::BoneId;
use glam::{DAffine3, DMat3, DVec3};
use std::sync::Arc;

/// Borders this close, in extents of the character, are one.
const SAME_PLACE: f64 = 1e-6;
/// Weights this close are those of copies that an exporter pruned differently; an upper and a lower lip differ by more.
const SAME_WEIGHT: f32 = 0.2;

/// Places this many borders of different weights meet at are no seam.
const MOST_TRIED: usize = 1000;

/// A segment of fewer faces has no volume to speak of.
const LEAST_FACES: usize = 36;
/// Nor one with a smaller part of the body's.
const LEAST_SHARE: f64 = 1e-3;
/// 4π × area over squared length of a cut: 1 of a circle, 0.79 of a square, 0.4 of a strip of six squares.
const ROUND: f64 = 0.4;

/// Changes of a segment by more of its volume than the first are believed less, by more than the second not at all.
const BELIEVED: [f64; 2] = [0.5, 1.0];

pub(crate) const NO_SEGMENT: u32 = u32::MAX;

/// The body of one character.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    pub character: usize,
    /// Slots of each node.
    pub members: Csr,
    /// Nodes of each apex; apexes are numbered after the nodes.
    rings: Csr,
    /// Faces of pieces with an inside, their caps, faces of sheets.
    pub triangles: Vec<[u32; 3]>,
    /// Where the caps begin.
    pub first_cap: usize,
    /// Where the sheets begin.
    pub first_sheet: usize,
    /// Triangles of each node and apex.
    pub corners: Csr,
    /// Whether a node is on a piece with an inside.
    pub has_inside: Vec<bool>,
    /// Nodes at rest, without morph targets, in bind space.
    pub bind: Vec<DVec3>,
    /// A third of the area around each node there, without caps.
    pub areas: Vec<f64>,
    /// Their mean, and the volume inside.
    pub bind_centre: DVec3,
    pub bind_volume: f64,
    /// Share of the bone that moves each node most.
    pub main_weight: Vec<f64>,
    /// Palette entries and weights of each node, one after the other, and where each node's stop.
    influences: Vec<(u32, f64)>,
    influence_stops: Vec<u32>,
    pub segment_of_node: Vec<u32>,
    pub segments: Vec<Segment>,
    pub segment_nodes: Csr,
    pub segment_triangles: Csr,
    /// Those of them whose corners all are the segment's own, and the others.
    pub segment_insides: Csr,
    pub segment_straddlers: Csr,
    /// Corners of a segment's triangles, and those of them that other segments' triangles share.
    pub segment_corners: Csr,
    pub segment_borders: Csr,
    /// Palette entries that move the corners of a segment's triangles.
    pub segment_entries: Csr,
    /// Segments that own a corner of a segment's triangles.
    pub segment_neighbours: Csr,
    /// Where its faces can fold.
    pub folds: Folds,
    /// Per palette entry: from bind space to the rest space it reads.
    rest_from_bind: Vec<DAffine3>,
    bind_from_rest: Vec<DAffine3>,
    /// Entry of largest weight of each slot's row and lane, for slots that are members.
    main_entry_of_member: Vec<u32>,
}

/// What follows one bone.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub bone: BoneId,
    /// The palette entry whose transform is the segment's frame.
    pub entry: u32,
    /// Middle and reach of its nodes in bind space.
    pub middle: DVec3,
    pub reach: f64,
    /// Its part of the character's volume.
    pub share: f64,
    /// Whether its volume means anything: see [`Surface::judge_segments`].
    pub is_sound: bool,
    /// In bind space, closed where it meets others.
    pub volume: f64,
    /// Six times the volume between its triangles with an inside and its middle, and twice their area vectors.
    cone: f64,
    area: DVec3,
}

impl Segment {
    /// What its triangles add to the volume when they move as one.
    pub fn rigid_volume(&self, from_bind: &DAffine3) -> f64 {
        self.carried_volume((self.cone, self.area), from_bind)
    }

    /// Share of a change that is believed, the volume of bind space being `scale`: the prisms of a segment that its
    /// neighbours' bones drag along tell of nothing.
    pub fn trust(&self, change: f64, scale: f64) -> f64 {
        let [some, none] = BELIEVED.map(|share| share * self.volume * scale);
        match (self.is_sound, self.volume > 0.0) {
            (false, _) => 0.0,
            (true, false) => 1.0,
            (true, true) => {
                let x = ((none - change.abs()) / (none - some)).clamp(0.0, 1.0);
                x * x * (3.0 - 2.0 * x)
            }
        }
    }

    /// That of triangles with these sums about its middle.
    fn carried_volume(&self, (cone, area): (f64, DVec3), from_bind: &DAffine3) -> f64 {
        let [x, y, z] = [from_bind.matrix3.x_axis, from_bind.matrix3.y_axis, from_bind.matrix3.z_axis];
        let cofactor = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
        let middle = from_bind.transform_point3(self.middle);
        (x.dot(y.cross(z)) * cone + middle.dot(cofactor * area)) / 6.0
    }
}

/// Six times the volume between triangles and a point, and twice their area vectors.
fn cone_about(middle: DVec3, triangles: impl Iterator<Item = [u32; 3]>, places: &[DVec3]) -> (f64, DVec3) {
    let (mut cone, mut area) = (0.0, DVec3::ZERO);
    for corners in triangles {
        let [a, b, c] = corners.map(|node| places[node as usize] - middle);
        cone += a.dot(b.cross(c));
        area += (b - a).cross(c - a);
    }
    (cone, area)
}

/// The bodies of a rig, by character; `None` for those without faces.
pub(crate) struct Surfaces(Vec<Option<Arc<Surface>>>);

impl OfRig for Surfaces {
    fn of(rig: &Rig) -> Self {
        Self((0..rig.characters().len()).map(|character| Surface::new(rig, character).map(Arc::new)).collect())
    }
}

impl Surfaces {
    /// The body of a character.
    pub fn of(&self, character: usize) -> Option<&Arc<Surface>> {
        self.0.get(character)?.as_ref()
    }

    /// All there are.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Surface>> {
        self.0.iter().flatten()
    }
}

impl Surface {
    /// `None` for a character without faces.
    pub fn new(rig: &Rig, character: usize) -> Option<Self> {
        let bind_from_rest = bind_spaces(rig, character);
        let slots: Vec<u32> = rig.characters()[character]
            .rows
            .clone()
            .flat_map(|row| (0..rig.rows()[row].filled as usize).map(move |lane| (row * LANES + lane) as u32))
            .collect();
        let first_slot = *slots.first()?;
        let local = |slot: u32| (slot - first_slot) as usize;
        let span = local(*slots.last()?) + 1;
        let mut places = vec![DVec3::ZERO; span];
        let mut main = vec![Main::default(); span];
        for &slot in &slots {
            let found = Main::of(rig, slot);
            places[local(slot)] =
                bind_from_rest[found.entry as usize].transform_point3(rig.rest().get(slot as usize).as_dvec3());
            main[local(slot)] = found;
        }
        let faces: Vec<[u32; 3]> = rig
            .point_triangles()
            .iter()
            .filter(|face| rig.rows()[face[0] as usize / LANES].character as usize == character)
            .map(|face| {
                let mirrored = |slot: u32| bind_from_rest[main[local(slot)].entry as usize].matrix3.determinant() < 0.0;
                let [a, b, c] = *face;
                if face.iter().filter(|&&slot| mirrored(slot)).count() >= 2 { [a, c, b] } else { [a, b, c] }
            })
            .collect();

        let mut sets = DisjointSets::new(span);
        join_borders(rig, &faces, &places, first_slot, &mut sets);
        let mut node_of = vec![u32::MAX; span];
        let mut nodes = 0u32;
        let mut pairs = Vec::with_capacity(slots.len());
        for &slot in &slots {
            let root = sets.find(local(slot) as u32) as usize;
            if node_of[root] == u32::MAX {
                node_of[root] = nodes;
                nodes += 1;
            }
            node_of[local(slot)] = node_of[root];
            pairs.push((node_of[root], slot));
        }
        let members = Csr::new(nodes as usize, pairs);
        let nodes = nodes as usize;
        let faces: Vec<[u32; 3]> = faces
            .into_iter()
            .map(|face| face.map(|slot| node_of[local(slot)]))
            .filter(|[a, b, c]| a != b && b != c && c != a)
            .collect();
        if faces.is_empty() {
            return None;
        }
        let main_of_node = |node: usize| main[local(members.of(node)[0])];
        let bind: Vec<DVec3> = (0..nodes)
            .map(|node| {
                let slots = members.of(node);
                slots.iter().map(|&slot| places[local(slot)]).sum::<DVec3>() / slots.len() as f64
            })
            .collect();
        let pieces = Pieces::new(nodes, &faces, &bind);

        let mut used: Vec<BoneId> = (0..nodes).map(|node| main_of_node(node).bone(rig)).collect();
        used.sort_unstable();
        used.dedup();
        used.reverse();
        let segment_of_bone =
            |bone: BoneId| used.binary_search_by(|other| bone.cmp(other)).map_or(0, |found| found as u32);
        let segment_of_node: Vec<u32> = (0..nodes).map(|node| segment_of_bone(main_of_node(node).bone(rig))).collect();
        let majority = |[a, b, c]: [u32; 3]| {
            let [a, b, c] = [a, b, c].map(|node| segment_of_node[node as usize]);
            if b == c { b } else { a }
        };
        let segment_of_triangle: Vec<u32> = pieces
            .triangles
            .iter()
            .enumerate()
            .map(|(t, &corners)| {
                let cap = (pieces.first_cap..pieces.first_sheet).contains(&t);
                if cap { NO_SEGMENT } else { majority(corners) }
            })
            .collect();
        let owned = || {
            let owners = segment_of_triangle.iter().enumerate().filter(|&(_, &segment)| segment != NO_SEGMENT);
            owners.map(|(t, &segment)| (segment, t as u32))
        };
        let corners_of = |t: u32| pieces.triangles[t as usize];
        let segment_triangles = Csr::new(used.len(), owned().collect());
        let is_inside =
            |&(segment, t): &(u32, u32)| corners_of(t).iter().all(|&node| segment_of_node[node as usize] == segment);
        let segment_insides = Csr::new(used.len(), owned().filter(is_inside).collect());
        let segment_straddlers = Csr::new(used.len(), owned().filter(|owned| !is_inside(owned)).collect());
        let neighbours = owned().flat_map(|(segment, t)| {
            corners_of(t).map(|node| (segment, segment_of_node[node as usize])).into_iter().chain([(segment, segment)])
        });
        let segment_neighbours = Csr::new(used.len(), neighbours.collect());
        let segment_corners = owned().flat_map(|(segment, t)| corners_of(t).map(|node| (segment, node)));
        let segment_corners = Csr::new(used.len(), segment_corners.collect());
        let mut owners = vec![0u8; nodes];
        for &node in segment_corners.iter().flatten() {
            owners[node as usize] = owners[node as usize].saturating_add(1);
        }
        let shared = segment_corners.iter().enumerate().flat_map(|(segment, corners)| {
            corners.iter().filter(|&&node| owners[node as usize] > 1).map(move |&node| (segment as u32, node))
        });
        let segment_borders = Csr::new(used.len(), shared.collect());
        let mut entries = Vec::new();
        for (segment, nodes) in segment_corners.iter().enumerate() {
            let slots = nodes.iter().flat_map(|&node| members.of(node as usize));
            let mut found: Vec<u32> = slots.flat_map(|&slot| influences(rig, slot).map(|(entry, _)| entry)).collect();
            found.sort_unstable();
            found.dedup();
            entries.extend(found.into_iter().map(|entry| (segment as u32, entry)));
        }
        let segment_entries = Csr::new(used.len(), entries);
        let segment_nodes =
            Csr::new(used.len(), segment_of_node.iter().enumerate().map(|(node, &s)| (s, node as u32)).collect());
        let segments = used
            .iter()
            .enumerate()
            .map(|(segment, &bone)| {
                let mine = segment_nodes.of(segment);
                let middle = mine.iter().map(|&node| bind[node as usize]).sum::<DVec3>() / mine.len().max(1) as f64;
                let corners = segment_corners.of(segment).iter().map(|&node| bind[node as usize]);
                let reach = corners.map(|p| p.distance(middle)).fold(0.0, f64::max);
                let with_inside = segment_triangles.of(segment).iter().filter(|&&t| (t as usize) < pieces.first_cap);
                let (cone, area) = cone_about(middle, with_inside.map(|&t| corners_of(t)), &bind);
                let entry = mine.first().map_or(0, |&node| main_of_node(node as usize).entry);
                Segment { bone, entry, middle, reach, share: cone.abs(), is_sound: true, volume: 0.0, cone, area }
            })
            .collect::<Vec<_>>();
        let total: f64 = segments.iter().map(|segment| segment.share).sum();
        let count = segments.len() as f64;
        let segments = segments
            .into_iter()
            .map(|segment| Segment { share: if total > 0.0 { segment.share / total } else { 1.0 / count }, ..segment })
            .collect();

        let apexes = pieces.rings.len();
        let corners = pieces.triangles.iter().enumerate().flat_map(|(t, corners)| corners.map(|node| (node, t as u32)));
        let main_entry_of_member = (0..nodes)
            .flat_map(|node| members.of(node).iter().map(|&slot| main[local(slot)].entry).collect::<Vec<_>>())
            .collect();
        let mut moved = (Vec::new(), Vec::with_capacity(nodes));
        for node in 0..nodes {
            let of_node = influences(rig, members.of(node)[0]).map(|(entry, weight)| (entry, f64::from(weight)));
            moved.0.extend(of_node);
            moved.1.push(moved.0.len() as u32);
        }
        let bind_centre = bind.iter().sum::<DVec3>() / nodes as f64;
        let mut areas = vec![0.0; nodes];
        for (t, corners) in pieces.triangles.iter().enumerate() {
            if !(pieces.first_cap..pieces.first_sheet).contains(&t) {
                let [a, b, c] = corners.map(|node| bind[node as usize]);
                corners.iter().for_each(|&node| areas[node as usize] += (b - a).cross(c - a).length() / 6.0);
            }
        }
        let mut surface = Self {
            character,
            bind_centre,
            bind_volume: 0.0,
            areas,
            influences: moved.0,
            influence_stops: moved.1,
            rest_from_bind: bind_from_rest.iter().map(DAffine3::inverse).collect(),
            bind_from_rest,
            main_entry_of_member,
            corners: Csr::new(nodes + apexes, corners.collect()),
            main_weight: (0..nodes).map(|node| f64::from(main_of_node(node).weight)).collect(),
            has_inside: pieces.has_inside,
            rings: pieces.rings,
            first_cap: pieces.first_cap,
            first_sheet: pieces.first_sheet,
            triangles: pieces.triangles,
            members,
            bind,
            segment_of_node,
            segments,
            segment_nodes,
            segment_triangles,
            segment_insides,
            segment_straddlers,
            segment_corners,
            segment_borders,
            segment_entries,
            segment_neighbours,
            folds: Folds::default(),
        };
        let mut shape: Vec<DVec3> = surface.bind.iter().map(|&p| p - bind_centre).collect();
        surface.place_apexes(&mut shape);
        surface.bind_volume = volume(surface.shell(), &shape);
        surface.folds = Folds::new(&surface.faces(), |node| surface.influences_of(node));
        surface.judge_segments();
        Some(surface)
    }

    /// Corners of all triangles that bound the inside.
    pub fn shell(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.triangles[..self.first_sheet].iter().copied()
    }

    /// Says which segments have a volume that means something: those with enough faces, with at least a thousandth of the
    /// body, and cut from their neighbours along lines that are rings, or nearly. What has none (seven bones in one blob,
    /// a patch of a dozen faces) is left to the whole.
    fn judge_segments(&mut self) {
        let least = LEAST_SHARE * self.bind_volume.abs();
        for segment in 0..self.segments.len() {
            let faces = self.segment_triangles.of(segment);
            let sheets = faces.iter().any(|&t| t as usize >= self.first_sheet);
            let enough = faces.len() >= LEAST_FACES;
            let volume = self.segment_volume(segment).abs();
            let is_sound = sheets || enough && volume >= least && self.is_cut_round(segment);
            let own = &mut self.segments[segment];
            (own.is_sound, own.volume) = (is_sound, volume);
        }
    }

    /// Whether each line between a segment and its neighbours goes around something: through the middles of the edges that
    /// it cuts, so that a zigzag of triangles does not count as length.
    fn is_cut_round(&self, segment: usize) -> bool {
        let is_own = |node: u32| self.segment_of_node[node as usize] as usize == segment;
        let mut sets = DisjointSets::new(self.nodes());
        let mut cut = Vec::new();
        for &corners in &self.triangles[..self.first_cap] {
            let own = corners.map(is_own);
            // The corner that is alone on its side.
            let Some(alone) = (0..3).find(|&k| own[k] != own[(k + 1) % 3] && own[k] != own[(k + 2) % 3]) else {
                continue;
            };
            let [a, b, c] = [0, 1, 2].map(|k| corners[(alone + k) % 3]);
            sets.union(a, b);
            sets.union(a, c);
            let middle = |node: u32| (self.bind[a as usize] + self.bind[node as usize]) * 0.5;
            cut.push((a, if own[alone] { [middle(b), middle(c)] } else { [middle(c), middle(b)] }));
        }
        let mut lines: Vec<(u32, [DVec3; 2])> = cut.into_iter().map(|(node, line)| (sets.find(node), line)).collect();
        lines.sort_by_key(|line| line.0);
        lines.chunk_by(|a, b| a.0 == b.0).all(|line| {
            let start = line[0].1[0];
            let length: f64 = line.iter().map(|(_, [a, b])| a.distance(*b)).sum();
            let area: DVec3 = line.iter().map(|(_, [a, b])| 0.5 * (*a - start).cross(*b - start)).sum();
            4.0 * std::f64::consts::PI * area.length() >= ROUND * length * length
        })
    }

    /// Volume of a segment in bind space, closed where it meets others; 0 for one of sheets alone.
    pub fn segment_volume(&self, segment: usize) -> f64 {
        let nodes = self.segment_corners.of(segment);
        let local = |node: u32| nodes.binary_search(&node).map_or(0, |found| found as u32);
        let inside = self.segment_triangles.of(segment).iter().filter(|&&t| (t as usize) < self.first_cap);
        let faces: Vec<[u32; 3]> = inside.map(|&t| self.triangles[t as usize].map(local)).collect();
        let places: Vec<DVec3> = nodes.iter().map(|&node| self.bind[node as usize]).collect();
        capped_volume(&faces, &places)
    }

    /// What the triangles of a segment with an inside would add to the volume, carried by its bone; from a rest shape with
    /// morph targets, where there is one.
    pub fn carried_volume(&self, segment: usize, morphed: Option<&[DVec3]>, from_bind: &DAffine3) -> f64 {
        let own = &self.segments[segment];
        let Some(morphed) = morphed else { return own.rigid_volume(from_bind) };
        let with_inside = self.segment_triangles.of(segment).iter().filter(|&&t| (t as usize) < self.first_cap);
        let triangles = with_inside.map(|&t| self.triangles[t as usize]);
        own.carried_volume(cone_about(own.middle, triangles, morphed), from_bind)
    }

    /// Nodes around each apex.
    pub fn apex_rings(&self) -> &Csr {
        &self.rings
    }

    /// A point inside: where the bones have the middles of the segments.
    pub fn centre(&self, from_bind: &[DAffine3]) -> DVec3 {
        let place = |segment: &Segment| from_bind[segment.entry as usize].transform_point3(segment.middle);
        self.segments.iter().map(|segment| place(segment) * segment.share).sum()
    }

    /// Nodes on capped borders.
    pub fn ring_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.rings.iter().flatten().copied()
    }

    /// Nodes, without apexes.
    pub fn nodes(&self) -> usize {
        self.members.len()
    }

    /// Its triangles without caps.
    pub fn faces(&self) -> Vec<[u32; 3]> {
        [&self.triangles[..self.first_cap], &self.triangles[self.first_sheet..]].concat()
    }

    /// Whether anything of it encloses a volume.
    pub fn encloses(&self) -> bool {
        self.first_cap > 0
    }

    /// Bones that its segments follow, and all others that move its nodes.
    pub fn entries(&self) -> impl Iterator<Item = u32> + '_ {
        self.segment_entries.iter().flatten().copied()
    }

    /// Palette entries that move a node, with their weights.
    pub fn influences_of(&self, node: usize) -> &[(u32, f64)] {
        let start = node.checked_sub(1).map_or(0, |before| self.influence_stops[before] as usize);
        &self.influences[start..self.influence_stops[node] as usize]
    }

    /// Carries bind space to where entry `entry` carries its rest space.
    pub fn world_from_bind(&self, entry: u32, world_from_rest: &[DAffine3]) -> DAffine3 {
        world_from_rest[entry as usize] * self.rest_from_bind[entry as usize]
    }

    /// Nodes at rest in bind space, from rest points with morph targets.
    pub fn bind_points(&self, rest: &Points, out: &mut Vec<DVec3>) {
        out.clear();
        let mut member = 0;
        for slots in self.members.iter() {
            let mut sum = DVec3::ZERO;
            for &slot in slots {
                let entry = self.main_entry_of_member[member] as usize;
                sum += self.bind_from_rest[entry].transform_point3(rest.get(slot as usize).as_dvec3());
                member += 1;
            }
            out.push(sum / slots.len() as f64);
        }
    }

    /// Writes the apexes behind the nodes: each the mean of its ring. It is linear, so moves are treated alike.
    pub fn place_apexes(&self, points: &mut Vec<DVec3>) {
        points.truncate(self.nodes());
        for ring in self.rings.iter() {
            let sum: DVec3 = ring.iter().map(|&node| points[node as usize]).sum();
            points.push(sum / ring.len() as f64);
        }
    }

    /// Hands the gradients of the apexes to their rings.
    pub fn share_apexes(&self, gradients: &mut [DVec3]) {
        for (apex, ring) in self.rings.iter().enumerate() {
            let share = gradients[self.nodes() + apex] / ring.len() as f64;
            for &node in ring {
                gradients[node as usize] += share;
            }
        }
    }
}

/// Palette entries with positive weight at a slot, and the weights.
fn influences(rig: &Rig, slot: u32) -> impl Iterator<Item = (u32, f32)> + '_ {
    rig.influences(slot as usize).map(|influence| (influence.palette, influence.weight))
}

/// The entry that moves a slot most, the lower index among equals.
#[derive(Clone, Copy, Default)]
struct Main {
    entry: u32,
    weight: f32,
}

impl Main {
    fn of(rig: &Rig, slot: u32) -> Self {
        let main = rig.main_influence(slot as usize);
        main.map_or(Self::default(), |main| Self { entry: main.palette, weight: main.weight })
    }

    fn bone(self, rig: &Rig) -> BoneId {
        rig.palette()[self.entry as usize].bone
    }
}

/// Joins nodes that lie on each other along open borders and have the same weights.
fn join_borders(rig: &Rig, faces: &[[u32; 3]], places: &[DVec3], first_slot: u32, sets: &mut DisjointSets) {
    let mut border: Vec<u32> = open_edges(faces.iter().copied())
        .into_iter()
        .flat_map(|edge| [edge.from - first_slot, edge.to - first_slot])
        .collect();
    border.sort_unstable();
    border.dedup();
    let (low, high) = places.iter().fold((places[0], places[0]), |(l, h), &p| (l.min(p), h.max(p)));
    let within = ((high - low).length() * SAME_PLACE).powi(2);
    let weights = |local: u32| {
        influences(rig, local + first_slot)
            .map(|(entry, weight)| (rig.palette()[entry as usize].bone, weight))
            .collect::<Vec<_>>()
    };
    // Copies to the bit are joined first and looked for once, for there may be thousands at one place.
    let exact = |local: u32| {
        let weights: Vec<(BoneId, u32)> = weights(local).iter().map(|&(bone, w)| (bone, w.to_bits())).collect();
        (places[local as usize].to_array().map(f64::to_bits), weights)
    };
    let mut keyed: Vec<_> = border.iter().map(|&local| (exact(local), local)).collect();
    keyed.sort_unstable();
    let mut border = Vec::with_capacity(keyed.len());
    for copies in keyed.chunk_by(|a, b| a.0 == b.0) {
        border.push(copies[0].1);
        copies[1..].iter().for_each(|&(_, copy)| sets.union(copies[0].1, copy));
    }
    border.sort_unstable();
    let at: Vec<DVec3> = border.iter().map(|&local| places[local as usize]).collect();
    let tree = Bvh::of_points(&at);
    for (i, &here) in border.iter().enumerate() {
        let mine = weights(here);
        let mut tried = 0;
        let other_copy = |j: u32| {
            tried += 1;
            if tried > MOST_TRIED {
                return Some(f64::NEG_INFINITY);
            }
            let there = border[j as usize];
            let theirs = weights(there);
            let same = || {
                let of = |weights: &[(BoneId, f32)], bone| weights.iter().find(|w| w.0 == bone).map_or(0.0, |w| w.1);
                let alike = |&(bone, _): &(BoneId, f32)| (of(&mine, bone) - of(&theirs, bone)).abs() <= SAME_WEIGHT;
                mine.iter().chain(&theirs).all(alike)
            };
            ((j as usize) < i && same()).then(|| at[j as usize].distance_squared(at[i]))
        };
        // Giving up is the nearest there is.
        if let Some((j, distance)) = tree.nearest(at[i], within, other_copy)
            && distance >= 0.0
        {
            sets.union(here, border[j as usize]);
        }
    }
}
