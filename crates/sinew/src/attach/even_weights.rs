//! Skin weights that are even along the skin: what a point follows by itself, spread as heat is, over a length that grows
//! with the distance to its bone and does not depend on the resolution.
//!
//! Pieces that lie on each other and follow the same bones exchange weights, so that a belly's plates stay on the belly;
//! pieces of one bone, such as armour and eyes, keep it, and the skin that they lie on keeps to them.

use super::hanging::Hanging;
use crate::bind::conduction::{Skin, Source, settle};
use crate::control_points::DisjointSets;
use crate::correct::AllWays;
use crate::correct::surface::Surface;
use crate::rig::Rig;

/// What is left of a weight far away is taken off every weight.
const LEAST_WEIGHT: f64 = 1e-3;
/// Distances to bones are not taken for smaller, in smallest sides of the body.
const LEAST_DISTANCE: f64 = 1e-3;
/// Share of their weights that pieces which exchange weights have in common where they touch, at least.
const ALIKE: f64 = 0.5;

/// Palette entries and weights of each point.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvenWeights {
    /// One point after the other, and where each point's stop.
    weights: Vec<(u32, f64)>,
    stops: Vec<u32>,
}

impl EvenWeights {
    /// The skin weights of each node, spread so many distances to its attachment point.
    pub fn new(rig: &Rig, surface: &Surface, hanging: &Hanging, spread: &dyn Fn(usize) -> f64) -> Self {
        let least = LEAST_DISTANCE * hanging.least_side;
        let faces = surface.faces();
        let is_rigid = rigid(surface, &faces);
        let source = |(node, attachment): (usize, &super::Attachment)| {
            let distance = surface.bind[node].distance(attachment.point(&hanging.lines)).max(least);
            let reach = if is_rigid[node] { least } else { (distance * spread(node)).max(least) };
            Some(Source { weights: surface.influences_of(node).to_vec(), distance: reach })
        };
        let sources: Vec<_> = hanging.attachments.iter().enumerate().map(source).collect();
        let bridges = bridges(rig, surface, &faces, &is_rigid);
        let mut even = Self::default();
        let skin = Skin { points: &surface.bind, faces: &faces, bridges: &bridges };
        for (node, spread) in settle(skin, &sources).into_iter().enumerate() {
            let first = even.weights.len();
            even.weights.extend(spread.into_iter().map(|(entry, w)| (entry, w - LEAST_WEIGHT)).filter(|w| w.1 > 0.0));
            let sum: f64 = even.weights[first..].iter().map(|w| w.1).sum();
            if is_rigid[node] {
                even.weights.truncate(first);
                even.weights.extend_from_slice(surface.influences_of(node));
            } else if sum > 0.0 {
                even.weights[first..].iter_mut().for_each(|w| w.1 /= sum);
            } else {
                even.weights.extend_from_slice(surface.influences_of(node));
            }
            even.stops.push(even.weights.len() as u32);
        }
        even
    }

    pub fn of(&self, point: usize) -> &[(u32, f64)] {
        let start = point.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
        &self.weights[start..self.stops[point] as usize]
    }
}

/// Per node, whether one bone alone moves its whole piece.
fn rigid(surface: &Surface, faces: &[[u32; 3]]) -> Vec<bool> {
    let mut pieces = DisjointSets::new(surface.nodes());
    faces.iter().for_each(|&[a, b, c]| [b, c].into_iter().for_each(|other| pieces.union(a, other)));
    let piece_of: Vec<u32> = (0..surface.nodes() as u32).map(|node| pieces.find(node)).collect();
    let mut only: Vec<Option<u32>> = piece_of.iter().map(|&first| alone(surface, first as usize)).collect();
    for (node, &piece) in piece_of.iter().enumerate() {
        if alone(surface, node) != only[piece as usize] {
            only[piece as usize] = None;
        }
    }
    piece_of.iter().map(|&piece| only[piece as usize].is_some()).collect()
}

/// Pairs of nodes over which pieces exchange weights.
fn bridges(rig: &Rig, surface: &Surface, faces: &[[u32; 3]], is_rigid: &[bool]) -> Vec<(u32, u32)> {
    let own = |node: u32| surface.influences_of(node as usize);
    let in_common = |a: u32, b: u32| -> f64 {
        let shared = |&(entry, w): &(u32, f64)| own(b).iter().filter(|x| x.0 == entry).map(|x| x.1.min(w)).sum::<f64>();
        own(a).iter().map(shared).sum()
    };
    let mut bridges = rig.kept::<AllWays>().of(surface).bridges(faces);
    bridges.retain(|&(a, b)| !(is_rigid[a as usize] && is_rigid[b as usize]) && in_common(a, b) > ALIKE);
    bridges
}

/// The bone that a node follows, if it is one.
fn alone(surface: &Surface, node: usize) -> Option<u32> {
    match surface.influences_of(node) {
        &[(entry, _)] => Some(entry),
        _ => None,
    }
}
