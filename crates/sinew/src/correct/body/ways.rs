//! Ways along the skin from where it folds, in radii of the limb beneath.

use super::clearance::{Clearance, around};
use super::folds::smoothstep;
use super::frame::{Body, unit};
use super::surface::{Surface, Surfaces};
use crate::bvh::Bvh;
use crate::csr::Csr;
use crate::maps::shape_diameter::{exit_through, shape_diameters};
use crate::maps::{RestSurface, bridged};
use crate::rig::{OfRig, Rig};
use crate::topology::Adjacency;
use crate::triangle::apart_squared;
use glam::DVec3;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, OnceLock};

/// The skin of one character as edges.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// Half the shape diameter under each node, in bind space.
    pub radii: Vec<f64>,
    /// Neighbours of each node, over the gaps between pieces too, so that a skirt goes with the legs under it; and the
    /// lengths of those edges in bind space, in the same order.
    neighbours: Csr,
    lengths: Vec<f64>,
    /// Made when first asked for.
    clearance: OnceLock<Clearance>,
    freedom: OnceLock<Vec<f64>>,
}

/// Of the move at which an edge of a crease or a ridge has shrunk to nothing: what its ends may move.
const UNCREASED: f64 = 0.5;
/// Of the shortest edge: faces that do not hang together and are nearer than this go no farther than such ends.
const NARROW: f64 = 0.3;
/// How far from another piece that skin lies on it moves freely, in radii.
const OFF_CONTACT: f64 = 1.0;

impl Ways {
    /// The room between skin and skin, for nodes that move so many radii at most.
    pub(super) fn clearance(&self, surface: &Surface, most_moved: f64) -> &Clearance {
        self.clearance.get_or_init(|| Clearance::new(surface, |node| most_moved * self.radii[node]))
    }

    /// How freely volume may move each node, by the shape at rest, for nodes that move so many radii at most: from 0 where
    /// pieces lie on each other, which would come apart or go through each other, and less than 1 in creases and on
    /// ridges that are narrower than that.
    pub(super) fn freedom(&self, surface: &Surface, most_moved: f64) -> &[f64] {
        self.freedom.get_or_init(|| {
            let (faces, bind) = (surface.faces(), &surface.bind);
            let mut normals = vec![DVec3::ZERO; surface.nodes()];
            for corners in &faces {
                let [a, b, c] = corners.map(|node| bind[node as usize]);
                corners.iter().for_each(|&node| normals[node as usize] += (b - a).cross(c - a));
            }
            normals.iter_mut().for_each(|normal| *normal = unit(*normal));
            let mut freedom = vec![1.0f64; surface.nodes()];
            for corners in &faces {
                for [a, b] in [[0, 1], [1, 2], [2, 0]].map(|edge| edge.map(|corner| corners[corner] as usize)) {
                    let way = bind[b] - bind[a];
                    // Moves of m along the normals change its length by m·(way·(n_b − n_a))/‖way‖.
                    let gone = way.length_squared() / way.dot(normals[b] - normals[a]).abs();
                    for node in [a, b] {
                        let share = UNCREASED * gone / (most_moved * self.radii[node]);
                        freedom[node] = freedom[node].min(if share.is_nan() { 1.0 } else { share });
                    }
                }
            }
            let mut hold = |node: usize, gap: f64| {
                let share = UNCREASED * gap / (most_moved * self.radii[node]);
                freedom[node] = freedom[node].min(if share.is_nan() { 1.0 } else { share });
            };
            for (one, other, apart) in narrows(&faces, bind) {
                faces[one].into_iter().chain(faces[other]).for_each(|node| hold(node as usize, apart));
            }
            let gaps = gaps(&faces, &bind[..surface.nodes()], &normals);
            gaps.into_iter().enumerate().for_each(|(node, gap)| hold(node, gap));
            let mut contact = Levels::default();
            contact.begin(surface);
            for node in self.bridges(&faces).into_iter().flat_map(|(a, b)| [a, b]) {
                contact.fold(self, [node; 3], 1.0, OFF_CONTACT);
            }
            contact.spread(self);
            freedom.iter_mut().zip(&contact.levels).for_each(|(freedom, level)| *freedom *= 1.0 - level);
            freedom
        })
    }

    /// Neighbours that share no face: over the gaps between pieces.
    pub fn bridges(&self, faces: &[[u32; 3]]) -> Vec<(u32, u32)> {
        let edges = Adjacency::new(self.neighbours.len(), faces);
        let pairs =
            self.neighbours.iter().enumerate().flat_map(|(a, others)| others.iter().map(move |&b| (a as u32, b)));
        pairs.filter(|&(a, b)| a < b && edges.of(a as usize).binary_search(&b).is_err()).collect()
    }
}

/// Faces that share no corner, look at each other, and are nearer than a part of their edges' lengths; with how far apart
/// they are.
fn narrows(faces: &[[u32; 3]], places: &[DVec3]) -> Vec<(usize, usize, f64)> {
    let corners = |face: usize| faces[face].map(|node| places[node as usize]);
    let narrow = |[a, b, c]: [DVec3; 3]| NARROW * a.distance(b).min(b.distance(c)).min(c.distance(a));
    let boxes: Vec<(DVec3, DVec3)> = (0..faces.len()).map(|face| around(corners(face))).collect();
    let tree = Bvh::new(&boxes);
    let mut found = Vec::new();
    for (one, &(low, high)) in boxes.iter().enumerate() {
        let within = narrow(corners(one));
        tree.overlapping(low - within, high + within, |other| {
            let other = other as usize;
            if other > one && !faces[one].iter().any(|node| faces[other].contains(node)) {
                let (here, there) = (corners(one), corners(other));
                let apart = apart_squared(here, there).sqrt();
                let is_narrow = apart < within.min(narrow(there)) && looks_at(here, there) && looks_at(there, here);
                found.extend(is_narrow.then_some((one, other, apart)));
            }
        });
    }
    found
}

/// Whether the middle of a face is in front of another one.
fn looks_at([a, b, c]: [DVec3; 3], other: [DVec3; 3]) -> bool {
    (other[0] + other[1] + other[2] - a - b - c).dot((b - a).cross(c - a)) > 0.0
}

/// Per node: how far the skin in front of it is, along its normal; infinite where there is none.
fn gaps(faces: &[[u32; 3]], places: &[DVec3], normals: &[DVec3]) -> Vec<f64> {
    let corners: Vec<[DVec3; 3]> = faces.iter().map(|face| face.map(|node| places[node as usize])).collect();
    let tree = Bvh::of_faces(&corners);
    let ahead = |(node, (&p, &normal)): (usize, (&DVec3, &DVec3))| {
        let hit = tree.first_hit(p, normal, |face| {
            let is_own = faces[face as usize].contains(&(node as u32));
            let [a, b, c] = corners[face as usize];
            // Turned around, it is left where the face is entered.
            if is_own { None } else { exit_through(p, normal, [a, c, b]) }
        });
        hit.unwrap_or(f64::INFINITY)
    };
    places.iter().zip(normals).enumerate().map(ahead).collect()
}

/// Those of all characters of a rig.
pub(crate) struct AllWays(Vec<Arc<Ways>>);

impl OfRig for AllWays {
    fn of(rig: &Rig) -> Self {
        let rest = RestSurface::new(rig);
        let (diameters, graph) = (shape_diameters(&rest), bridged(&rest));
        let of_surface = |surface: &Surface| {
            let mut node_of = BTreeMap::new();
            for (node, slots) in surface.members.iter().enumerate() {
                node_of.extend(slots.iter().map(|&slot| (slot, node as u32)));
            }
            let edges = surface.members.iter().enumerate().flat_map(|(node, slots)| {
                let others = slots.iter().flat_map(|&slot| graph.of(slot)).filter_map(|(to, _)| node_of.get(to));
                others.map(move |&other| (node as u32, other)).filter(|(node, other)| node != other)
            });
            let neighbours = Csr::new(surface.nodes(), edges.collect());
            let slot_of = |node: usize| surface.members.of(node)[0] as usize;
            let (mut lengths, mut placed) = (Vec::with_capacity(neighbours.items()), 0.0);
            for (node, others) in neighbours.iter().enumerate() {
                for other in others.iter().map(|&other| other as usize) {
                    lengths.push(surface.bind[node].distance(surface.bind[other]));
                    placed += rest.points()[slot_of(node)].distance(rest.points()[slot_of(other)]);
                }
            }
            let to_bind = if placed > 0.0 { lengths.iter().sum::<f64>() / placed } else { 1.0 };
            let radii = (0..surface.nodes()).map(|node| 0.5 * to_bind * diameters[slot_of(node)]).collect();
            Ways { radii, neighbours, lengths, clearance: OnceLock::new(), freedom: OnceLock::new() }
        };
        let surfaces = rig.kept::<Surfaces>();
        let of_character = |character| Arc::new(surfaces.of(character).map_or_else(Ways::default, |s| of_surface(s)));
        Self((0..rig.characters().len()).map(of_character).collect())
    }
}

impl AllWays {
    /// Of one character.
    pub fn of(&self, surface: &Surface) -> Arc<Ways> {
        Arc::clone(&self.0[surface.character])
    }
}

/// How near each node is to skin that folds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// Per node: from 1 where it folds to 0.
    pub levels: Vec<f64>,
    /// Nodes whose level is above 0.
    pub reached: Vec<u32>,
    /// The gentlest slope that has come to each node.
    gentlest: Vec<f64>,
    /// The highest level that begins at each node, with its slope.
    begun: Vec<(f64, f64)>,
    heap: BinaryHeap<Reached>,
}

/// A node that a level has come to.
#[derive(Clone, Copy, Debug)]
struct Reached {
    level: f64,
    node: u32,
    /// What the level falls by along a unit of length.
    slope: f64,
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Reached {}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        // No level is negative, so bits are ordered as they are.
        self.level.to_bits().cmp(&other.level.to_bits()).then(other.node.cmp(&self.node))
    }
}

impl Levels {
    /// Levels from faces that fold, or are about to: from `folding` r on, falling from 1 to 0 over `reach` radii.
    pub fn measure(
        &mut self,
        (surface, body, ways): (&Surface, &Body, &Ways),
        folding: [f64; 2],
        reach: f64,
        place: impl Fn(u32) -> DVec3,
        mut tell: impl FnMut([u32; 3], f64),
    ) {
        self.begin(surface);
        surface.folds.measure(surface, body, place, |corners, r| {
            tell(corners, r);
            self.fold(ways, corners, smoothstep(folding, r), reach);
        });
        self.spread(ways);
    }

    /// Nothing folds yet.
    pub fn begin(&mut self, surface: &Surface) {
        let Self { levels, reached, gentlest, begun, heap } = self;
        levels.clear();
        levels.resize(surface.nodes(), 0.0);
        gentlest.clear();
        gentlest.resize(surface.nodes(), f64::INFINITY);
        begun.clear();
        begun.resize(surface.nodes(), (0.0, f64::INFINITY));
        reached.clear();
        reached.reserve(surface.nodes());
        heap.clear();
    }

    /// A face has a level, which falls from 1 to 0 over `reach` radii.
    pub fn fold(&mut self, ways: &Ways, corners: [u32; 3], level: f64, reach: f64) {
        if level > 0.0 {
            let radius = corners.iter().map(|&node| ways.radii[node as usize]).sum::<f64>() / 3.0;
            let slope = 1.0 / (reach * radius);
            for node in corners {
                let begun = &mut self.begun[node as usize];
                if level > begun.0 {
                    *begun = (level, slope);
                } else if slope >= begun.1 {
                    // Nowhere higher than what begins here already.
                    continue;
                }
                self.heap.push(Reached { level, node, slope });
            }
        }
    }

    /// Levels fall along the skin.
    pub fn spread(&mut self, ways: &Ways) {
        let Self { levels, reached, gentlest, heap, .. } = self;
        // The highest comes first, and what comes later to a node goes on only where it falls more gently: else a little more
        // or less of one fold would decide which of two fills the skin beyond.
        while let Some(Reached { level, node, slope }) = heap.pop() {
            if slope >= gentlest[node as usize] {
                continue;
            }
            gentlest[node as usize] = slope;
            let known = &mut levels[node as usize];
            if *known == 0.0 {
                *known = level;
                reached.push(node);
            }
            let first = ways.neighbours.start_of(node as usize);
            for (k, &to) in ways.neighbours.of(node as usize).iter().enumerate() {
                let level = level - slope * ways.lengths[first + k];
                if level > 0.0 && slope < gentlest[to as usize] {
                    heap.push(Reached { level, node: to, slope });
                }
            }
        }
    }
}
