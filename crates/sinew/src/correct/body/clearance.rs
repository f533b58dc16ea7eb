//! How much room skin has before it meets skin that is elsewhere at rest: a thigh the belly, an arm the flank. Volume that
//! is put back there would only go through.
//!
//! Where skin folds, both sides of the crook come near each other as well, or cross. Faces there that have come much nearer to
//! each other than they are at rest *touch*: no corner of either goes farther than half the way between them, so that
//! what does not cross yet stays apart whatever moves, and what crosses does not cross more. The bound ends where they are
//! a part of what nodes may move apart, `½ d / (1 − (d/D)²)`, which leaves moves that long to chance, and saves looking
//! at all the skin that is near.

use super::folds::smoothstep;
use super::surface::Surface;
use super::ways::Levels;
use crate::bvh::{Boxes, Bvh};
use crate::triangle::{apart_squared, nearest_on};
use glam::DVec3;

/// Skin counts as elsewhere from here at rest, in what a node may move, and fully from there.
const ELSEWHERE: [f64; 2] = [2.0, 4.0];
/// Both sides may swell.
const SIDES: f64 = 2.0;
/// Of the distance at rest: nearer faces begin to touch, and touch.
const TOUCHING: [f64; 2] = [0.6, 0.3];
/// Of how far nodes may move: faces farther from each other do not touch.
const NEAR: f64 = 0.7;
/// Cosine between normals: faces that look nearly the same way are one skin beside itself.
const FACING: [f64; 2] = [0.5, 0.0];
/// Level of a fold from which faces around it touch fully.
const AT_FOLDS: f64 = 0.25;

/// The skin of each segment, to be found by place.
#[derive(Debug, Default)]
pub(super) struct Clearance {
    limbs: Vec<Limb>,
    /// Segments near each node at rest with how much they count as elsewhere, one node after the other, and where each
    /// node's stop. All others count fully.
    near: Vec<(u32, f64)>,
    stops: Vec<u32>,
}

#[derive(Debug)]
struct Limb {
    faces: Vec<[u32; 3]>,
    tree: Bvh,
}

/// Memory: per segment its box, those of its tree, and whether they are of this frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    around: Vec<Box>,
    trees: Vec<Boxes>,
    is_fitted: Vec<bool>,
    /// Per node, how far it could go with all the room there is.
    pub whole: Vec<f64>,
    /// Triangles of the surface that have been looked at.
    seen: Vec<bool>,
}

type Box = (DVec3, DVec3);
const NOWHERE: Box = (DVec3::INFINITY, DVec3::NEG_INFINITY);

impl Clearance {
    /// `most` is how far each node may move, in bind space.
    pub fn new(surface: &Surface, most: impl Fn(usize) -> f64) -> Self {
        let place = |node: u32| surface.bind[node as usize];
        let is_face = |t: &&u32| !(surface.first_cap..surface.first_sheet).contains(&(**t as usize));
        let limb = |segment: usize| {
            let own = surface.segment_triangles.of(segment).iter().filter(is_face);
            let faces: Vec<[u32; 3]> = own.map(|&t| surface.triangles[t as usize]).collect();
            let boxes: Vec<Box> = faces.iter().map(|face| around(face.map(place))).collect();
            Limb { tree: Bvh::new(&boxes), faces }
        };
        let limbs: Vec<Limb> = (0..surface.segments.len()).map(limb).collect();
        let boxes: Vec<Box> = limbs.iter().map(|limb| limb.box_at(place)).collect();
        let mut clearance = Self { limbs, near: Vec::new(), stops: Vec::with_capacity(surface.nodes()) };
        for (node, &p) in surface.bind.iter().enumerate() {
            let most = most(node);
            let within = ELSEWHERE[1] * most;
            let own = surface.segment_of_node[node] as usize;
            for (segment, limb) in clearance.limbs.iter().enumerate() {
                // What bends against its neighbour is for folds to tell.
                if surface.segment_neighbours.of(own).contains(&(segment as u32)) || segment == own {
                    clearance.near.push((segment as u32, 0.0));
                    continue;
                }
                if distance_squared(p, boxes[segment]) > within * within {
                    continue;
                }
                let to = |face: u32| Some(nearest_on(p, limb.faces[face as usize].map(place)).distance_squared(p));
                if let Some((_, squared)) = limb.tree.nearest(p, within * within, to) {
                    clearance.near.push((segment as u32, smoothstep(ELSEWHERE, squared.sqrt() / most)));
                }
            }
            clearance.stops.push(clearance.near.len() as u32);
        }
        clearance
    }

    /// Lowers how far nodes may move where skin from elsewhere is near; `counts` says of which nodes and segments.
    pub fn lower_elsewhere(
        &self,
        surface: &Surface,
        place: impl Fn(u32) -> DVec3,
        (nodes, segments): (impl Fn(usize) -> bool, impl Fn(usize) -> bool),
        rooms: &mut Rooms,
        most: &mut [f64],
    ) {
        let Rooms { around: boxes, trees, is_fitted, whole: wholes, seen } = rooms;
        wholes.clear();
        wholes.extend_from_slice(most);
        // Which of them are needed changes from frame to frame.
        seen.clear();
        seen.reserve(surface.triangles.len());
        boxes.clear();
        boxes.extend(self.limbs.iter().enumerate().map(|(segment, limb)| match segments(segment) {
            true => limb.box_at(&place),
            false => NOWHERE,
        }));
        trees.resize(self.limbs.len(), Boxes::default());
        self.limbs.iter().zip(&mut *trees).for_each(|(limb, boxes)| limb.tree.reserve(boxes));
        is_fitted.clear();
        is_fitted.resize(self.limbs.len(), false);
        for (node, most) in most.iter_mut().enumerate().filter(|(node, _)| nodes(*node)) {
            let (p, whole) = (place(node as u32), *most);
            let reach = (SIDES * whole).powi(2);
            let start = node.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
            let near = &self.near[start..self.stops[node] as usize];
            for (segment, limb) in self.limbs.iter().enumerate() {
                if distance_squared(p, boxes[segment]) > reach {
                    continue;
                }
                let elsewhere = near.iter().find(|other| other.0 as usize == segment).map_or(1.0, |other| other.1);
                if elsewhere == 0.0 {
                    continue;
                }
                let corners = |face: u32| limb.faces[face as usize].map(&place);
                if !std::mem::replace(&mut is_fitted[segment], true) {
                    limb.tree.refit(&mut trees[segment], |face| around(corners(face)));
                }
                let mut squared = reach;
                limb.tree.within(&trees[segment], p, reach, |face| {
                    squared = squared.min(nearest_on(p, corners(face)).distance_squared(p));
                });
                let room = squared.sqrt() / SIDES;
                *most = most.min(whole - elsewhere * (whole - room).max(0.0));
            }
        }
    }

    /// Lowers how far nodes may move where faces touch at folds, after [`Self::lower_elsewhere`] with the same room; `counts`
    /// says which nodes move, and how long what is 1 at rest is in a segment.
    pub fn lower_at_folds(
        &self,
        (surface, bind, levels): (&Surface, &[DVec3], &Levels),
        place: impl Fn(u32) -> DVec3,
        (moves, scale): (impl Fn(usize) -> bool, impl Fn(usize) -> f64),
        rooms: &mut Rooms,
        most: &mut [f64],
    ) {
        let Rooms { around: boxes, trees, is_fitted, whole, seen } = rooms;
        seen.resize(surface.triangles.len(), false);
        let own = levels.reached.iter().flat_map(|&node| surface.corners.of(node as usize));
        for &t in own {
            let is_cap = (surface.first_cap..surface.first_sheet).contains(&(t as usize));
            if is_cap || std::mem::replace(&mut seen[t as usize], true) {
                continue;
            }
            let face = surface.triangles[t as usize];
            if !face.iter().any(|&node| moves(node as usize)) {
                continue;
            }
            let largest = |of: &[f64]| face.iter().map(|&node| of[node as usize]).fold(0.0, f64::max);
            let (level, near) = (smoothstep([0.0, AT_FOLDS], largest(&levels.levels)), NEAR * largest(whole));
            let scale = scale(surface.segment_of_node[face[0] as usize] as usize);
            let (corners, rest) = (face.map(&place), face.map(|node| bind[node as usize]));
            let own_area = area(corners);
            let (low, high) = around(corners);
            let (middle, reach) = (0.5 * (low + high), 0.5 * (high - low).length() + near);
            for (other, limb) in self.limbs.iter().enumerate() {
                if distance_squared(middle, boxes[other]) > reach * reach {
                    continue;
                }
                if !std::mem::replace(&mut is_fitted[other], true) {
                    limb.tree.refit(&mut trees[other], |face| around(limb.faces[face as usize].map(&place)));
                }
                limb.tree.within(&trees[other], middle, reach * reach, |at| {
                    let facing = limb.faces[at as usize];
                    let there = facing.map(&place);
                    let (from, to) = around(there);
                    let gap = (from - high).max(low - to).max(DVec3::ZERO).length_squared();
                    if gap >= near * near || facing.iter().any(|node| face.contains(node)) {
                        return;
                    }
                    let area_there = area(there);
                    let cosine =
                        own_area.dot(area_there) / (own_area.length_squared() * area_there.length_squared()).sqrt();
                    if cosine >= FACING[0] {
                        return;
                    }
                    let facing_rest = facing.map(|node| bind[node as usize]);
                    let at_most = TOUCHING[0] * scale / 3.0;
                    let at_most = (at_most * (sum(facing_rest) - sum(rest))).length_squared();
                    if gap >= at_most {
                        return;
                    }
                    let apart = apart_squared(corners, there);
                    if apart >= near * near || apart >= at_most {
                        return;
                    }
                    let (apart, at_rest) = (apart.sqrt(), scale * apart_squared(rest, facing_rest).sqrt());
                    let touching = level * smoothstep(FACING, cosine) * smoothstep(TOUCHING, apart / at_rest);
                    // Not a number where they touch at rest too.
                    if touching > 0.0 {
                        let room = apart / SIDES / (1.0 - (apart / near).powi(2));
                        for node in face.into_iter().chain(facing).map(|node| node as usize) {
                            most[node] = most[node].min(whole[node] - touching * (whole[node] - room).max(0.0));
                        }
                    }
                });
            }
        }
    }
}

fn sum([a, b, c]: [DVec3; 3]) -> DVec3 {
    a + b + c
}

fn area([a, b, c]: [DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a)
}

impl Limb {
    fn box_at(&self, place: impl Fn(u32) -> DVec3) -> Box {
        let places = self.faces.iter().flatten().map(|&node| place(node));
        places.fold(NOWHERE, |(low, high), p| (low.min(p), high.max(p)))
    }
}

pub(super) fn around([a, b, c]: [DVec3; 3]) -> Box {
    (a.min(b).min(c), a.max(b).max(c))
}

fn distance_squared(p: DVec3, (low, high): Box) -> f64 {
    (p.max(low).min(high) - p).length_squared()
}
