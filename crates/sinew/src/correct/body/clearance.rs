//! How much room skin has before it meets skin that is elsewhere at rest: a thigh the belly, an arm the flank. Volume that
//! is put back there would only go through.

use super::folds::smoothstep;
use super::surface::Surface;
use crate::bvh::{Boxes, Bvh};
use crate::triangle::nearest_on;
use glam::DVec3;

/// Skin counts as elsewhere from here at rest, in what a node may move, and fully from there.
const ELSEWHERE: [f64; 2] = [2.0, 4.0];
/// Both sides may swell.
const SIDES: f64 = 2.0;

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
    pub fn lower(
        &self,
        place: impl Fn(u32) -> DVec3,
        (nodes, segments): (impl Fn(usize) -> bool, impl Fn(usize) -> bool),
        rooms: &mut Rooms,
        most: &mut [f64],
    ) {
        let Rooms { around: boxes, trees, is_fitted } = rooms;
        boxes.clear();
        boxes.extend(self.limbs.iter().enumerate().map(|(segment, limb)| match segments(segment) {
            true => limb.box_at(&place),
            false => NOWHERE,
        }));
        trees.resize(self.limbs.len(), Boxes::default());
        // Which of them are needed changes from frame to frame.
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
}

impl Limb {
    fn box_at(&self, place: impl Fn(u32) -> DVec3) -> Box {
        let places = self.faces.iter().flatten().map(|&node| place(node));
        places.fold(NOWHERE, |(low, high), p| (low.min(p), high.max(p)))
    }
}

fn around([a, b, c]: [DVec3; 3]) -> Box {
    (a.min(b).min(c), a.max(b).max(c))
}

fn distance_squared(p: DVec3, (low, high): Box) -> f64 {
    (p.max(low).min(high) - p).length_squared()
}
