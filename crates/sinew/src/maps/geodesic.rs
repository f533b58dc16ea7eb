//! Ways along the surface: shortest paths over the edges (Dijkstra 1959), which overestimate by a few per cent.

use super::RestSurface;
use crate::bvh::Bvh;
use crate::control_points::DisjointSets;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Source of a point that none reaches.
pub(super) const UNREACHED: u32 = u32::MAX;

/// Edges with their lengths: ends and one flat array.
pub(super) struct EdgeGraph {
    ends: Vec<usize>,
    edges: Vec<(u32, f64)>,
}

impl EdgeGraph {
    /// The edges of the faces.
    pub fn new(surface: &RestSurface<'_>) -> Self {
        Self::with_bridges(surface, &[])
    }

    /// The edges, with every character made one piece: parts modelled apart (hooves, hair, a dress) are joined where
    /// they lie within an edge's length of each other, and what then is still apart by the shortest bridge.
    pub fn bridged(surface: &RestSurface<'_>) -> Self {
        let points = surface.points();
        let adjacency = surface.rig().adjacency();
        let mut pieces = DisjointSets::new(points.len());
        for slot in 0..points.len() as u32 {
            for &n in adjacency.of(slot as usize) {
                pieces.union(slot, n);
            }
        }
        let mut bridges: Vec<(u32, u32)> = Vec::new();
        for character in 0..surface.rig().characters().len() {
            let slots: Vec<u32> = surface.slots(character).map(|slot| slot as u32).collect();
            let tree = Bvh::of_points(&slots.iter().map(|&slot| points[slot as usize]).collect::<Vec<_>>());
            let mut piece: Vec<u32> = slots.iter().map(|&slot| pieces.find(slot)).collect();
            let nearest_other = |piece: &[u32], i: usize, within: f64| {
                let p = points[slots[i] as usize];
                tree.nearest(p, within * within, |j| {
                    let d = || (points[slots[j as usize] as usize] - p).length_squared();
                    (piece[j as usize] != piece[i]).then(d)
                })
            };
            if piece.iter().any(|&p| p != piece[0]) {
                for i in 0..slots.len() {
                    let within = surface.edge_length(slots[i] as usize);
                    if let Some((j, _)) = nearest_other(&piece, i, within) {
                        bridges.push((slots[i], slots[j as usize]));
                    }
                }
                for &(a, b) in &bridges {
                    pieces.union(a, b);
                }
            }
            // Borůvka: every piece but the largest takes its shortest bridge, until there is one.
            loop {
                for (piece, &slot) in piece.iter_mut().zip(&slots) {
                    *piece = pieces.find(slot);
                }
                let mut order: Vec<usize> = (0..slots.len()).collect();
                order.sort_by_key(|&i| piece[i]);
                let mut groups: Vec<&[usize]> = order.chunk_by(|&a, &b| piece[a] == piece[b]).collect();
                if groups.len() < 2 {
                    break;
                }
                groups.sort_by_key(|group| Reverse(group.len()));
                for group in &groups[1..] {
                    let mut best: Option<(u32, u32)> = None;
                    let mut within = f64::INFINITY;
                    for &i in *group {
                        if let Some((j, d)) = nearest_other(&piece, i, within)
                            && d.sqrt() < within
                        {
                            within = d.sqrt();
                            best = Some((slots[i], slots[j as usize]));
                        }
                    }
                    if let Some((a, b)) = best {
                        bridges.push((a, b));
                        pieces.union(a, b);
                    }
                }
            }
        }
        Self::with_bridges(surface, &bridges)
    }

    fn with_bridges(surface: &RestSurface<'_>, bridges: &[(u32, u32)]) -> Self {
        let points = surface.points();
        let mut both: Vec<(u32, u32)> = bridges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        both.sort_unstable();
        both.dedup();
        let mut both = both.into_iter().peekable();
        let (mut ends, mut edges) = (Vec::with_capacity(points.len()), Vec::new());
        for slot in 0..points.len() as u32 {
            let mut add = |to: u32| edges.push((to, points[to as usize].distance(points[slot as usize])));
            surface.rig().adjacency().of(slot as usize).iter().for_each(|&to| add(to));
            while let Some((_, to)) = both.next_if(|&(from, _)| from == slot) {
                add(to);
            }
            ends.push(edges.len());
        }
        Self { ends, edges }
    }

    /// Edges at a slot: far end and length.
    pub fn of(&self, slot: u32) -> &[(u32, f64)] {
        let slot = slot as usize;
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.edges[start..self.ends[slot]]
    }

    /// Calls `settle(slot, distance, source)` in order of the distance from the nearest of `sources`. `distances` is
    /// infinite everywhere before and again after.
    pub fn spread(&self, sources: &[u32], distances: &mut [f64], mut settle: impl FnMut(u32, f64, u32)) {
        let mut touched: Vec<u32> = sources.to_vec();
        // Distances are not negative, so their bits are in order.
        let mut queue: BinaryHeap<Reverse<(u64, u32, u32)>> =
            sources.iter().map(|&source| Reverse((0, source, source))).collect();
        for &source in sources {
            distances[source as usize] = 0.0;
        }
        while let Some(Reverse((bits, slot, source))) = queue.pop() {
            let distance = f64::from_bits(bits);
            if distance > distances[slot as usize] {
                continue;
            }
            settle(slot, distance, source);
            for &(to, length) in self.of(slot) {
                let through = distance + length;
                let known = &mut distances[to as usize];
                if through < *known {
                    if *known == f64::INFINITY {
                        touched.push(to);
                    }
                    *known = through;
                    queue.push(Reverse((through.to_bits(), to, source)));
                }
            }
        }
        for slot in touched {
            distances[slot as usize] = f64::INFINITY;
        }
    }

    /// For every slot the source nearest along the edges, or [`UNREACHED`].
    pub fn nearest_source(&self, sources: &[u32]) -> Vec<u32> {
        let mut nearest = vec![UNREACHED; self.ends.len()];
        self.spread(sources, &mut vec![f64::INFINITY; self.ends.len()], |slot, _, source| {
            nearest[slot as usize] = source;
        });
        nearest
    }
}
