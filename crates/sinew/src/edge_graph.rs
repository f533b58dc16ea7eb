//! Ways along the surface: shortest paths over the edges (Dijkstra 1959), which overestimate by a few per cent.

use crate::topology::Adjacency;
use glam::DVec3;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Source of a point that none reaches.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// Edges with their lengths: ends and one flat array.
pub(crate) struct EdgeGraph {
    ends: Vec<usize>,
    edges: Vec<(u32, f64)>,
}

impl EdgeGraph {
    /// The edges of the faces, and bridges between pairs of points.
    pub fn new(points: &[DVec3], adjacency: &Adjacency, bridges: &[(u32, u32)]) -> Self {
        let mut both: Vec<(u32, u32)> = bridges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        both.sort_unstable();
        both.dedup();
        let mut both = both.into_iter().peekable();
        let (mut ends, mut edges) = (Vec::with_capacity(points.len()), Vec::new());
        for slot in 0..points.len() as u32 {
            let mut add = |to: u32| edges.push((to, points[to as usize].distance(points[slot as usize])));
            adjacency.of(slot as usize).iter().for_each(|&to| add(to));
            while let Some((_, to)) = both.next_if(|&(from, _)| from == slot) {
                add(to);
            }
            ends.push(edges.len());
        }
        Self { ends, edges }
    }

    /// The same edges between points at other places.
    pub fn measured(mut self, points: &[DVec3]) -> Self {
        let mut start = 0;
        for (from, &end) in self.ends.iter().enumerate() {
            for (to, length) in &mut self.edges[start..end] {
                *length = points[*to as usize].distance(points[from]);
            }
            start = end;
        }
        self
    }

    /// The same with those edges alone that are to be kept, by their ends.
    pub fn filtered(&self, keep: impl Fn(u32, u32) -> bool) -> Self {
        let (mut ends, mut edges) = (Vec::with_capacity(self.ends.len()), Vec::new());
        for slot in 0..self.ends.len() as u32 {
            edges.extend(self.of(slot).iter().filter(|edge| keep(slot, edge.0)));
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
    pub fn spread(&self, sources: &[u32], distances: &mut [f64], settle: impl FnMut(u32, f64, u32)) {
        self.spread_from(sources.iter().map(|&source| (source, 0.0)), distances, settle);
    }

    /// The same from sources with a way behind them already, which is not negative. Each is given once.
    pub fn spread_from(
        &self,
        sources: impl Iterator<Item = (u32, f64)>,
        distances: &mut [f64],
        mut settle: impl FnMut(u32, f64, u32),
    ) {
        let mut touched: Vec<u32> = Vec::new();
        // Distances are not negative, so their bits are in order.
        let mut queue: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
        for (source, behind) in sources {
            touched.push(source);
            distances[source as usize] = behind;
            queue.push(Reverse((behind.to_bits(), source, source)));
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
