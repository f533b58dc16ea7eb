//! Smoothing: every value becomes half itself, half the mean of its neighbours, for a number of rounds.
//!
//! Each round is an average, so the range is never left and constants stay; a round reaches one edge further, so finer
//! meshes need more rounds for the same width.

use super::{PointMap, RestSurface};
use crate::topology::Adjacency;

impl PointMap {
    /// Smooths the map over the surface.
    pub fn smooth(&mut self, surface: &RestSurface<'_>, rounds: usize) {
        let mut values: Vec<f64> = self.values.iter().flatten().map(|&v| f64::from(v)).collect();
        average(&mut values, surface.rig.adjacency(), rounds);
        *self = Self::from_fn(surface.rig, |slot| values[slot] as f32);
    }
}

/// Rounds of averaging on values by slot.
pub(super) fn average(values: &mut Vec<f64>, adjacency: &Adjacency, rounds: usize) {
    let mut next = values.clone();
    for _ in 0..rounds {
        for (slot, next) in next.iter_mut().enumerate() {
            let neighbours = adjacency.of(slot);
            if !neighbours.is_empty() {
                let sum: f64 = neighbours.iter().map(|&n| values[n as usize]).sum();
                *next = 0.5 * values[slot] + 0.5 * (sum / neighbours.len() as f64);
            }
        }
        std::mem::swap(values, &mut next);
    }
}
