//! Edge strain: how much longer or shorter effects make an edge than it is without them at the same frame.
//!
//! With r the ratio of the two lengths, strain is max(r, 1/r): 1 is untouched, 2 is twice or half as long. Edges that the
//! base itself draws together to less than a thousandth of the size are left out: a ratio to nothing tells nothing. The
//! 99.9th percentile is over all edges and frames of a group.
//!
//! Squares are compared, and counted by the leading bits of the numbers themselves: roots and logarithms of every edge at
//! every frame are most of what such a look would take.
//!
//! Oracle: a strip stretched by a known amount (`truth.rs`).

use crate::groups::Grouping;
use crate::shape::{NONE, Shape};

/// Share of the size: shorter edges are left out.
const SHORTEST: f64 = 1e-3;
/// Bits of the square of a strain that its bin leaves out: what is left of the fraction makes it a thousandth of the strain
/// wide, or less.
const LEFT_OUT: u32 = 52 - 9;
/// The bin in which 1 is, were all counted.
const FIRST: u64 = 1.0f64.to_bits() >> LEFT_OUT;
/// The largest strain that is told: an edge drawn to a point.
const MOST: f64 = 1e6;
const PERCENTILE: f64 = 0.999;

/// The edge most strained so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WorstEdge {
    pub strain: f64,
    pub is_longer: bool,
    pub edge: u32,
    pub time: f64,
}

/// Strains of the edges of one group: a histogram of their squares, and the worst.
#[derive(Clone, Default)]
pub(crate) struct Strains {
    seen: u64,
    bins: Vec<u64>,
    /// The square of the worst.
    most: f64,
    pub worst: Option<WorstEdge>,
}

impl Strains {
    fn see(&mut self, bin: usize, squared: f64, edge: impl FnOnce() -> WorstEdge) {
        self.seen += 1;
        if bin > 0 {
            if bin >= self.bins.len() {
                self.bins.resize(bin + 1, 0);
            }
            self.bins[bin] += 1;
        }
        if self.worst.is_none() || squared > self.most {
            self.most = squared;
            self.worst = Some(edge());
        }
    }

    fn keep(&mut self, edge: WorstEdge) {
        if self.worst.is_none_or(|worst| edge.strain > worst.strain) {
            self.most = edge.strain * edge.strain;
            self.worst = Some(edge);
        }
    }

    pub fn join(&mut self, later: &Self) {
        self.seen += later.seen;
        self.bins.resize(self.bins.len().max(later.bins.len()), 0);
        self.bins.iter_mut().zip(&later.bins).for_each(|(a, b)| *a += b);
        later.worst.into_iter().for_each(|worst| self.keep(worst));
    }

    /// The 99.9th percentile; 1 where nothing was seen.
    pub fn percentile(&self) -> f64 {
        // From the top: how many may lie above.
        let mut above = (self.seen as f64 * (1.0 - PERCENTILE)).floor();
        for (bin, &count) in self.bins.iter().enumerate().rev() {
            let count = count as f64;
            if count > above {
                let [from, to] = [0, 1].map(|end| f64::from_bits((FIRST + bin as u64 + end) << LEFT_OUT));
                let within = 1.0 - above / count;
                return (from + (to - from) * within).sqrt().min(self.worst.map_or(1.0, |worst| worst.strain));
            }
            above -= count;
        }
        1.0
    }
}

/// The bin of the square of a strain.
fn bin(squared: f64) -> usize {
    ((squared.to_bits() >> LEFT_OUT) - FIRST) as usize
}

/// Looks at all edges of a frame, into the groups of both ends: an edge between two is of either.
pub(crate) fn look(
    shape: &Shape,
    groups: &Grouping,
    base: &[glam::DVec3],
    effects: &[glam::DVec3],
    time: f64,
    strains: &mut [Strains],
) {
    for (index, &[a, b]) in shape.edges.iter().enumerate() {
        let (a, b) = (a as usize, b as usize);
        let without = base[a].distance_squared(base[b]);
        if without < (SHORTEST * shape.size(a)).powi(2) {
            continue;
        }
        let with = effects[a].distance_squared(effects[b]);
        let is_longer = with > without;
        let squared = if is_longer { with / without } else { without / with }.min(MOST * MOST);
        let (bin, edge) = (bin(squared), crate::shape::u32_of(index));
        for (&one, &two) in groups.of_point[a].iter().zip(&groups.of_point[b]) {
            for group in [one, if two == one { NONE } else { two }].into_iter().filter(|&group| group != NONE) {
                strains[group as usize].see(bin, squared, || WorstEdge {
                    strain: squared.sqrt(),
                    is_longer,
                    edge,
                    time,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The percentile of a known distribution, in parts joined: ln(strain) even between 0 and 1.
    #[test]
    fn the_percentile_is_that_of_the_values() {
        let mut parts = [Strains::default(), Strains::default()];
        for n in 0..20_000 {
            let strain = (f64::from(n) / 20_000.0).exp();
            let squared = strain * strain;
            parts[n as usize % 2].see(bin(squared), squared, || WorstEdge {
                strain,
                is_longer: true,
                edge: 0,
                time: 0.0,
            });
        }
        let [mut all, later] = parts;
        all.join(&later);
        assert!((all.percentile() / 0.999f64.exp() - 1.0).abs() < 1e-3, "{}", all.percentile());
        assert_eq!(Strains::default().percentile(), 1.0);
    }
}
