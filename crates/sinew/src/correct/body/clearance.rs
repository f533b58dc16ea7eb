//! How much room skin has before it meets skin that is elsewhere at rest: a thigh the belly, an arm the flank. Volume that
//! is put back there would only go through.
//!
//! Where skin folds, both sides of the crook come near each other as well, or cross. Faces there that have come much nearer to
//! each other than they are at rest *touch*: no corner of either goes farther than half the way between them, so that
//! what does not cross yet stays apart whatever moves, and what crosses does not cross more. The bound ends where they are
//! a part of what nodes may move apart, `½ d / (1 − (d/D)²)`, which leaves moves that long to chance, and saves looking
//! at all the skin that is near.

use super::folds::smoothstep;
use super::frame::unit;
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
/// Share of its segment's bone from which a corner follows that stiffly.
const STIFF: f64 = 0.95;

/// The skin of each segment, to be found by place.
#[derive(Debug, Default)]
pub(super) struct Clearance {
    /// By segment: what follows its bone stiffly, and what does not.
    patches: Vec<Patch>,
    /// Patches near each node at rest with how much they count as elsewhere, one node after the other, and where each node's
    /// stop. All others count fully.
    near: Vec<(u32, f64)>,
    stops: Vec<u32>,
}

/// Faces of one segment.
#[derive(Debug)]
struct Patch {
    segment: u32,
    /// They do not come nearer to each other than they are at rest.
    is_stiff: bool,
    triangles: Vec<u32>,
    tree: Bvh,
}

/// Memory of a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    /// Per patch its box, those of its tree, and whether they and its faces are of this frame.
    around: Vec<Box>,
    trees: Vec<Boxes>,
    is_fitted: Vec<bool>,
    /// Per triangle of the surface.
    faces: Vec<Face>,
    /// Per node, how far it could go with all the room there is.
    pub whole: Vec<f64>,
    /// Faces around folds by patch, and of each triangle which of them it is.
    folding: Vec<Folding>,
    folding_of: Vec<u32>,
    /// Patches that one may touch.
    others: Vec<u32>,
}

type Box = (DVec3, DVec3);
const NOWHERE: Box = (DVec3::INFINITY, DVec3::NEG_INFINITY);
const NONE: u32 = u32::MAX;

/// A face at a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Face {
    around: Box,
    /// Of length 1; 0 of a face without area.
    normal: DVec3,
}

impl Face {
    /// How far a triangle stays away from the plane of this face through `at`; 0 where it meets it.
    fn clear_of(&self, at: DVec3, triangle: [DVec3; 3]) -> f64 {
        let [a, b, c] = triangle.map(|p| (p - at).dot(self.normal));
        a.min(b).min(c).max(-a.max(b).max(c)).max(0.0)
    }
}

/// A face around a fold.
#[derive(Clone, Copy, Debug)]
struct Folding {
    triangle: u32,
    /// How fully it touches.
    level: f64,
    /// What is farther does not touch it.
    near: f64,
    /// How long what is 1 at rest is here.
    scale: f64,
}

impl Folding {
    /// The room between it and what is so far.
    fn room(&self, apart: f64) -> f64 {
        apart / SIDES / (1.0 - (apart / self.near).powi(2))
    }

    /// Whether pairs of faces are looked at from this one.
    fn looks_first(&self, other: &Self) -> bool {
        (self.near, other.triangle) > (other.near, self.triangle)
    }
}

impl Rooms {
    /// Fits the faces of a patch, once a frame.
    fn fit(&mut self, surface: &Surface, index: usize, patch: &Patch, places: &[DVec3]) {
        if std::mem::replace(&mut self.is_fitted[index], true) {
            return;
        }
        for &t in &patch.triangles {
            let corners = surface.triangles[t as usize].map(|node| places[node as usize]);
            self.faces[t as usize] = Face { around: around(corners), normal: unit(area(corners)) };
        }
        patch.tree.refit(&mut self.trees[index], |face| self.faces[patch.triangles[face as usize] as usize].around);
    }
}

impl Patch {
    fn box_at(&self, surface: &Surface, places: &[DVec3]) -> Box {
        let corners = self.triangles.iter().flat_map(|&t| surface.triangles[t as usize]);
        corners.map(|node| places[node as usize]).fold(NOWHERE, |(low, high), p| (low.min(p), high.max(p)))
    }
}

impl Clearance {
    /// `most` is how far each node may move, in bind space.
    pub fn new(surface: &Surface, most: impl Fn(usize) -> f64) -> Self {
        let corners = |t: u32| surface.triangles[t as usize].map(|node| surface.bind[node as usize]);
        let follows = |node: u32, entry: u32| {
            let influences = surface.influences_of(node as usize).iter();
            influences.filter(|influence| influence.0 == entry).map(|influence| influence.1).sum::<f64>() >= STIFF
        };
        let mut patches = Vec::new();
        for (segment, own) in surface.segment_triangles.iter().enumerate() {
            let entry = surface.segments[segment].entry;
            let is_stiff = |&&t: &&u32| surface.triangles[t as usize].iter().all(|&node| follows(node, entry));
            let (stiff, soft): (Vec<u32>, Vec<u32>) = own.iter().partition(is_stiff);
            for (is_stiff, triangles) in [(true, stiff), (false, soft)] {
                let boxes: Vec<Box> = triangles.iter().map(|&t| around(corners(t))).collect();
                let tree = Bvh::new(&boxes);
                patches.push(Patch { segment: segment as u32, is_stiff, triangles, tree });
            }
        }
        let boxes: Vec<Box> = patches.iter().map(|patch| patch.box_at(surface, &surface.bind)).collect();
        let mut clearance = Self { patches, near: Vec::new(), stops: Vec::with_capacity(surface.nodes()) };
        for (node, &p) in surface.bind.iter().enumerate() {
            let most = most(node);
            let within = ELSEWHERE[1] * most;
            let own = surface.segment_of_node[node] as usize;
            for (index, patch) in clearance.patches.iter().enumerate() {
                // What bends against its neighbour is for folds to tell.
                if is_beside(surface, own, patch) || gap((p, p), boxes[index]) > within * within {
                    continue;
                }
                let to = |face: u32| Some(nearest_on(p, corners(patch.triangles[face as usize])).distance_squared(p));
                if let Some((_, squared)) = patch.tree.nearest(p, within * within, to) {
                    clearance.near.push((index as u32, smoothstep(ELSEWHERE, squared.sqrt() / most)));
                }
            }
            clearance.stops.push(clearance.near.len() as u32);
        }
        clearance
    }

    /// Begins a frame: how far nodes may move, and which segments count.
    pub fn begin(
        &self,
        surface: &Surface,
        places: &[DVec3],
        counts: impl Fn(usize) -> bool,
        most: &[f64],
        rooms: &mut Rooms,
    ) {
        let Rooms { around: boxes, trees, is_fitted, faces, whole, folding, folding_of, others } = rooms;
        whole.clear();
        whole.extend_from_slice(most);
        boxes.clear();
        boxes.extend(self.patches.iter().map(|patch| match counts(patch.segment as usize) {
            true => patch.box_at(surface, places),
            false => NOWHERE,
        }));
        trees.resize(self.patches.len(), Boxes::default());
        is_fitted.clear();
        is_fitted.resize(self.patches.len(), false);
        // Which of them are needed changes from frame to frame.
        self.patches.iter().zip(trees).for_each(|(patch, boxes)| patch.tree.reserve(boxes));
        let triangles = surface.triangles.len();
        faces.resize(triangles, Face::default());
        folding_of.clear();
        folding_of.resize(triangles, NONE);
        folding.clear();
        folding.reserve(triangles);
        others.clear();
        others.reserve(self.patches.len());
    }

    /// Lowers how far nodes may move where skin from elsewhere is near.
    pub fn lower_elsewhere(
        &self,
        surface: &Surface,
        places: &[DVec3],
        moves: impl Fn(usize) -> bool,
        rooms: &mut Rooms,
        most: &mut [f64],
    ) {
        for own in 0..surface.segments.len() {
            let nodes = || surface.segment_nodes.of(own).iter().map(|&node| node as usize).filter(|&node| moves(node));
            let farthest = nodes().map(|node| most[node]).fold(0.0, f64::max);
            let skin = nodes().map(|node| places[node]).fold(NOWHERE, |(low, high), p| (low.min(p), high.max(p)));
            // What bends against its neighbour is for folds to tell.
            self.find_others(skin, (SIDES * farthest).powi(2), rooms, |patch| !is_beside(surface, own, patch));
            if rooms.others.is_empty() {
                continue;
            }
            for node in nodes() {
                let (p, whole) = (places[node], rooms.whole[node]);
                let reach = (SIDES * whole).powi(2);
                let start = node.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
                let near = &self.near[start..self.stops[node] as usize];
                for index in 0..rooms.others.len() {
                    let other = rooms.others[index] as usize;
                    if gap((p, p), rooms.around[other]) > reach {
                        continue;
                    }
                    let elsewhere = near.iter().find(|known| known.0 as usize == other).map_or(1.0, |known| known.1);
                    if elsewhere == 0.0 {
                        continue;
                    }
                    let patch = &self.patches[other];
                    rooms.fit(surface, other, patch, places);
                    let mut squared = reach;
                    patch.tree.within(&rooms.trees[other], (p, p), reach, |face| {
                        let t = patch.triangles[face as usize] as usize;
                        if gap((p, p), rooms.faces[t].around) < squared {
                            let corners = surface.triangles[t].map(|node| places[node as usize]);
                            squared = squared.min(nearest_on(p, corners).distance_squared(p));
                        }
                    });
                    let room = squared.sqrt() / SIDES;
                    most[node] = most[node].min(whole - elsewhere * (whole - room).max(0.0));
                }
            }
        }
    }

    /// The patches that count whose boxes come near a box.
    fn find_others(&self, skin: Box, squared: f64, rooms: &mut Rooms, counts: impl Fn(&Patch) -> bool) {
        let Rooms { around, others, .. } = rooms;
        others.clear();
        let near = |&index: &usize| gap(skin, around[index]) <= squared && counts(&self.patches[index]);
        others.extend((0..self.patches.len()).filter(near).map(|index| index as u32));
    }

    /// Lowers how far nodes may move where faces touch at folds; `goes_far` says how surely nodes move that far, `scales` how
    /// long what is 1 at rest is in each segment.
    pub fn lower_at_folds(
        &self,
        (surface, bind, levels): (&Surface, &[DVec3], &Levels),
        places: &[DVec3],
        (goes_far, scales): (&[f64], &[f64]),
        rooms: &mut Rooms,
        most: &mut [f64],
    ) {
        for (patch, _) in self.patches.iter().zip(&rooms.around).filter(|(_, around)| **around != NOWHERE) {
            for &t in &patch.triangles {
                let corners = surface.triangles[t as usize];
                let largest = |of: &[f64]| corners.iter().map(|&node| of[node as usize]).fold(0.0, f64::max);
                let level = smoothstep([0.0, AT_FOLDS], largest(&levels.levels)) * largest(goes_far);
                if level > 0.0 {
                    rooms.folding_of[t as usize] = rooms.folding.len() as u32;
                    let (near, scale) = (NEAR * largest(&rooms.whole), scales[patch.segment as usize]);
                    rooms.folding.push(Folding { triangle: t, level, near, scale });
                }
            }
        }
        for (own, patch) in self.patches.iter().enumerate() {
            let mut triangles = patch.triangles.iter().filter(|&&t| rooms.folding_of[t as usize] != NONE);
            let Some(&first) = triangles.next() else { continue };
            let first = rooms.folding_of[first as usize] as usize;
            let stop = first + 1 + triangles.count();
            let nearest = rooms.folding[first..stop].iter().map(|one| one.near).fold(0.0, f64::max);
            let counts = |other: &Patch| !(patch.is_stiff && other.is_stiff && other.segment == patch.segment);
            self.find_others(rooms.around[own], nearest * nearest, rooms, counts);
            rooms.fit(surface, own, patch, places);
            for index in first..stop {
                let one = rooms.folding[index];
                let here = rooms.faces[one.triangle as usize];
                let squared = one.near * one.near;
                for index in 0..rooms.others.len() {
                    let other = rooms.others[index] as usize;
                    if gap(here.around, rooms.around[other]) >= squared {
                        continue;
                    }
                    let patch = &self.patches[other];
                    rooms.fit(surface, other, patch, places);
                    patch.tree.within(&rooms.trees[other], here.around, squared, |face| {
                        let t = patch.triangles[face as usize];
                        let there = &rooms.faces[t as usize];
                        let faces_it = here.normal.dot(there.normal) < FACING[0];
                        if faces_it && gap(here.around, there.around) < squared {
                            keep_apart((surface, bind), places, (&one, t), rooms, most);
                        }
                    });
                }
            }
        }
    }
}

/// Whether the faces of a patch hang together with those of a segment.
fn is_beside(surface: &Surface, segment: usize, patch: &Patch) -> bool {
    patch.segment as usize == segment || surface.segment_neighbours.of(segment).contains(&patch.segment)
}

/// Lowers how far the corners of two faces may move, where they touch.
fn keep_apart(
    (surface, bind): (&Surface, &[DVec3]),
    places: &[DVec3],
    (one, other): (&Folding, u32),
    rooms: &Rooms,
    most: &mut [f64],
) {
    let Rooms { faces, whole, folding, folding_of, .. } = rooms;
    let [here, there] = [one.triangle, other].map(|t| &faces[t as usize]);
    let other_side = folding.get(folding_of[other as usize] as usize);
    if other_side.is_some_and(|other| other.looks_first(one)) {
        return;
    }
    let pair = [one.triangle, other].map(|t| surface.triangles[t as usize]);
    if pair[0].iter().any(|node| pair[1].contains(node)) {
        return;
    }
    let at = |of: &[DVec3], corners: [u32; 3]| corners.map(|node| of[node as usize]);
    let [corners, other_corners] = pair.map(|corners| at(places, corners));
    // They are no nearer than what each is in front of the other's plane, or behind it.
    let nearest = gap(here.around, there.around)
        .sqrt()
        .max(here.clear_of(corners[0], other_corners))
        .max(there.clear_of(other_corners[0], corners));
    if nearest >= one.near {
        return;
    }
    let [rest, other_rest] = pair.map(|corners| at(bind, corners));
    let from_middle = (sum(other_rest) - sum(rest)).length() / 3.0;
    let facing = smoothstep(FACING, here.normal.dot(there.normal));
    // What a side may lower: only if it is near enough for that, and would lower anything.
    let lowers = |side: &Folding, apart: f64| {
        let room = side.room(apart);
        apart < side.near
            && apart < TOUCHING[0] * side.scale * from_middle
            && pair
                .iter()
                .flatten()
                .map(|&node| node as usize)
                .any(|node| most[node] > whole[node] - side.level * facing * (whole[node] - room).max(0.0))
    };
    let sides = [Some(one), other_side].map(|side| side.filter(|side| lowers(side, nearest)));
    if sides.iter().all(Option::is_none) {
        return;
    }
    let apart = apart_squared(corners, other_corners).sqrt();
    let sides = sides.map(|side| side.filter(|side| lowers(side, apart)));
    if sides.iter().all(Option::is_none) {
        return;
    }
    // What is near enough to touch fully, however far it is at rest, need not be measured there.
    let scale = other_side.map_or(one.scale, |other| other.scale.min(one.scale));
    let at_least = scale * gap(around(rest), around(other_rest)).sqrt();
    let at_rest = if apart < TOUCHING[1] * at_least { f64::INFINITY } else { apart_squared(rest, other_rest).sqrt() };
    for side in sides.into_iter().flatten() {
        let touching = side.level * facing * smoothstep(TOUCHING, apart / (side.scale * at_rest));
        // Not a number where they touch at rest too.
        if touching > 0.0 {
            let room = side.room(apart);
            for node in pair.iter().flatten().map(|&node| node as usize) {
                most[node] = most[node].min(whole[node] - touching * (whole[node] - room).max(0.0));
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

pub(super) fn around([a, b, c]: [DVec3; 3]) -> Box {
    (a.min(b).min(c), a.max(b).max(c))
}

/// Between two boxes, squared.
fn gap(one: Box, other: Box) -> f64 {
    (one.0 - other.1).max(other.0 - one.1).max(DVec3::ZERO).length_squared()
}
