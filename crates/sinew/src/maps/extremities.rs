//! Distance to extremities along the surface: 1 at the tip of every limb, ear or tail, 0 where it grows from the body.
//!
//! 1. *Centricity* of a point is its mean distance to the whole surface (Hilaga 2001): small in the middle, largest at
//!    tips, and with no side opposite a chosen centre to be mistaken for one. The mean is taken over samples spread by
//!    farthest point, each counting for the area nearest to it, along the edges.
//! 2. A *tip* is a peak of centricity that stands out: going down from it, one has to lose at least a twentieth of the
//!    largest centricity before meeting a way up to a higher peak (topological prominence).
//! 3. Going down from a tip to where its limb meets another tip's, centricity falls by the length of the limb, step for
//!    step with the distance from the tip. The map is how much of that fall is left. Read off centricity instead of
//!    measured from the one highest point, it is the same all round the hem of a skirt.
//!
//! A ball has no tips and gives 0. Distances are along edges, bridged between parts modelled apart, so everything
//! scales with the character. Cost `n log n` per sample.
//!
//! Oracle: the ends of a tube; hooves, ears, nose and tail of the calf; the whole hem of the dancer's skirt.

use super::geodesic::bridged;
use super::smooth::average;
use super::{PointMap, RestSurface};
use crate::control_points::DisjointSets;
use crate::edge_graph::EdgeGraph;
use glam::DVec3;

const SAMPLES: usize = 32;
const LEAST_PROMINENCE: f64 = 1.0 / 20.0;
const SMOOTHING_ROUNDS: usize = 3;

/// The tip of a limb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tip {
    /// Its control point.
    pub slot: usize,
    /// Fall of centricity along its limb, in world units. Positive.
    pub length: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Extremities {
    /// Tips of all characters, by slot.
    pub tips: Vec<Tip>,
    /// 1 at tips, falling to 0.
    pub map: PointMap,
}

/// Finds the extremities of every character, and how near to them each point is.
pub fn extremities(surface: &RestSurface<'_>) -> Extremities {
    let rig = surface.rig();
    let graph = bridged(surface);
    let mut centricity = vec![0.0; surface.points().len()];
    let mut tips = Vec::new();
    for character in 0..rig.characters().len() {
        let slots: Vec<usize> = surface.slots(character).collect();
        measure_centricity(surface.points(), surface.areas(), &graph, &slots, SAMPLES, &mut centricity);
    }
    average(&mut centricity, rig.adjacency(), SMOOTHING_ROUNDS);
    for character in 0..rig.characters().len() {
        tips.extend(find_tips(&graph, surface.slots(character).collect(), &centricity));
    }
    let mut values = vec![0.0f32; surface.points().len()];
    for tip in &tips {
        let foot = centricity[tip.slot] - tip.length;
        let mut limb = vec![tip.slot as u32];
        values[tip.slot] = 1.0;
        while let Some(slot) = limb.pop() {
            for &(to, _) in graph.of(slot) {
                // Limbs do not overlap: what has a value is of this one and was seen.
                if centricity[to as usize] > foot && values[to as usize] == 0.0 {
                    values[to as usize] = ((centricity[to as usize] - foot) / tip.length).clamp(1e-9, 1.0) as f32;
                    limb.push(to);
                }
            }
        }
    }
    Extremities { tips, map: PointMap::from_fn(rig, |slot| values[slot]) }
}

/// Mean distance to the surface that some ascending slots make up, by area, from that many samples.
pub(crate) fn measure_centricity(
    points: &[DVec3],
    areas: &[f64],
    graph: &EdgeGraph,
    slots: &[usize],
    samples: usize,
    centricity: &mut [f64],
) {
    let mut scratch = vec![f64::INFINITY; points.len()];
    let total: f64 = slots.iter().map(|&slot| areas[slot]).sum();
    let middle: DVec3 = slots.iter().map(|&slot| points[slot] * areas[slot]).sum::<DVec3>() / total;
    let first =
        slots.iter().copied().min_by(|&a, &b| points[a].distance(middle).total_cmp(&points[b].distance(middle)));
    let (Some(mut sample), true) = (first, total > 0.0) else { return };
    let index_of = |slot: u32| slots.binary_search(&(slot as usize));
    let mut fields: Vec<Vec<f64>> = Vec::new();
    let mut nearest = vec![(f64::INFINITY, 0usize); slots.len()];
    for number in 0..samples.min(slots.len()) {
        let mut field = vec![0.0; slots.len()];
        graph.spread(&[sample as u32], &mut scratch, |slot, distance, _| {
            if let Ok(index) = index_of(slot) {
                field[index] = distance;
                if distance < nearest[index].0 {
                    nearest[index] = (distance, number);
                }
            }
        });
        fields.push(field);
        // The first of equals, so that the order of points decides and nothing else.
        let farthest = nearest
            .iter()
            .zip(slots)
            .fold((0.0, sample), |far, (&(d, _), &slot)| if d > far.0 { (d, slot) } else { far });
        sample = farthest.1;
    }
    let mut shares = vec![0.0; fields.len()];
    for (&slot, &(_, number)) in slots.iter().zip(&nearest) {
        shares[number] += areas[slot] / total;
    }
    for (index, &slot) in slots.iter().enumerate() {
        centricity[slot] = fields.iter().zip(&shares).map(|(field, share)| field[index] * share).sum();
    }
}

/// Peaks that stand out, with the fall to where each meets another, by slot.
pub(crate) fn find_tips(graph: &EdgeGraph, slots: Vec<usize>, height: &[f64]) -> Vec<Tip> {
    let mut order: Vec<u32> = slots.iter().map(|&slot| slot as u32).collect();
    order.sort_by(|&a, &b| height[b as usize].total_cmp(&height[a as usize]).then(a.cmp(&b)));
    let (Some(&top), Some(&bottom)) = (order.first(), order.last()) else { return Vec::new() };
    let least = LEAST_PROMINENCE * height[top as usize];
    let mut prominent = Vec::new();
    flood(graph, &order, height.len(), |saddle, _, lower| {
        if height[lower as usize] - height[saddle as usize] >= least {
            prominent.push(lower);
        }
        true
    });
    // The highest peak meets no higher one: its fall is to the lowest point.
    if height[top as usize] - height[bottom as usize] >= least {
        prominent.push(top);
    }
    prominent.sort_unstable();
    let mut lengths: Vec<Option<f64>> = vec![None; prominent.len()];
    flood(graph, &order, height.len(), |saddle, higher, lower| {
        let (Ok(a), Ok(b)) = (prominent.binary_search(&higher), prominent.binary_search(&lower)) else {
            return prominent.binary_search(&lower).is_err();
        };
        for tip in [a, b] {
            lengths[tip].get_or_insert(height[prominent[tip] as usize] - height[saddle as usize]);
        }
        true
    });
    let tips = prominent.iter().zip(lengths).map(|(&slot, length)| Tip {
        slot: slot as usize,
        length: length.unwrap_or(height[slot as usize] - height[bottom as usize]),
    });
    tips.filter(|tip| tip.length > 0.0).collect()
}

/// Lets the points rise out of falling water, highest first. Where two islands meet, calls
/// `meet(point, higher peak, lower peak)`; the joint island keeps the higher peak, or the lower where that says false.
fn flood(graph: &EdgeGraph, order: &[u32], slots: usize, mut meet: impl FnMut(u32, u32, u32) -> bool) {
    let mut islands = DisjointSets::new(slots);
    let mut rank = vec![u32::MAX; slots];
    let mut peak = vec![u32::MAX; slots];
    for (index, &slot) in order.iter().enumerate() {
        rank[slot as usize] = index as u32;
        peak[slot as usize] = slot;
        for &(to, _) in graph.of(slot) {
            if rank[to as usize] == u32::MAX {
                continue;
            }
            let (a, b) = (islands.find(slot), islands.find(to));
            if a == b {
                continue;
            }
            let [pa, pb] = [a, b].map(|island| peak[island as usize]);
            let (higher, lower) = if rank[pa as usize] < rank[pb as usize] { (pa, pb) } else { (pb, pa) };
            // A point just risen is no peak if it touches an island.
            let kept = if lower == slot || meet(slot, higher, lower) { higher } else { lower };
            islands.union(a, b);
            peak[islands.find(a) as usize] = kept;
        }
    }
}
