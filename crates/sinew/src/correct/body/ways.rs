//! Ways along the skin from where it folds, in radii of the limb beneath.

use super::clearance::Clearance;
use super::folds::smoothstep;
use super::frame::Body;
use super::surface::{Surface, Surfaces};
use crate::csr::Csr;
use crate::maps::shape_diameter::shape_diameters;
use crate::maps::{RestSurface, bridged};
use crate::rig::{OfRig, Rig};
use crate::topology::Adjacency;
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
}

impl Ways {
    /// The room between skin and skin, for nodes that move so many radii at most.
    pub(super) fn clearance(&self, surface: &Surface, most_moved: f64) -> &Clearance {
        self.clearance.get_or_init(|| Clearance::new(surface, |node| most_moved * self.radii[node]))
    }

    /// Neighbours that share no face: over the gaps between pieces.
    pub fn bridges(&self, faces: &[[u32; 3]]) -> Vec<(u32, u32)> {
        let edges = Adjacency::new(self.neighbours.len(), faces);
        let pairs =
            self.neighbours.iter().enumerate().flat_map(|(a, others)| others.iter().map(move |&b| (a as u32, b)));
        pairs.filter(|&(a, b)| a < b && edges.of(a as usize).binary_search(&b).is_err()).collect()
    }
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
            Ways { radii, neighbours, lengths, clearance: OnceLock::new() }
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
    heap: BinaryHeap<Reached>,
}

/// A node that a level has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reached {
    level: f64,
    node: u32,
    /// What the level falls by along a unit of length.
    slope: f64,
}

impl Eq for Reached {}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        self.level.total_cmp(&other.level).then(other.node.cmp(&self.node)).then(self.slope.total_cmp(&other.slope))
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
        let Self { levels, reached, heap } = self;
        levels.clear();
        levels.resize(surface.nodes(), 0.0);
        reached.clear();
        heap.clear();
        surface.folds.measure(surface, body, place, |corners, r| {
            tell(corners, r);
            let level = smoothstep(folding, r);
            if level > 0.0 {
                let radius = corners.iter().map(|&node| ways.radii[node as usize]).sum::<f64>() / 3.0;
                heap.extend(corners.map(|node| Reached { level, node, slope: 1.0 / (reach * radius) }));
            }
        });
        while let Some(Reached { level, node, slope }) = heap.pop() {
            let known = &mut levels[node as usize];
            if level <= *known {
                continue;
            }
            if *known == 0.0 {
                reached.push(node);
            }
            *known = level;
            let first = ways.neighbours.start_of(node as usize);
            for (k, &to) in ways.neighbours.of(node as usize).iter().enumerate() {
                let level = level - slope * ways.lengths[first + k];
                if level > levels[to as usize] {
                    heap.push(Reached { level, node: to, slope });
                }
            }
        }
    }
}
