//! Skin that folds into its neighbour at a bending joint is brought back to the border between the two (LV 5.4).
//!
//! A node belongs to the bone of its segment if that bone is also the nearest one at rest. If at the frame the bone of
//! a neighbouring segment is nearer, the node has crossed over: it goes back towards the closest point of its own bone
//! until it is nearer to it again. Both sides end on the border, where they touch; the volume that this takes is put
//! back elsewhere by the volume correction, which leaves nodes in contact alone. That is the bulge.
//!
//! The paper steps by a fixed Δs, which must be smaller than the flesh and is slow where the flesh is wide. Here a step
//! is a part of the way to the bone, so it is as wide as the flesh; the end of that way is on the bone itself, so the
//! border is always met, and the last step is bisected.
//!
//! Only pairs of segments that share triangles and whose bones are turned against each other are looked at.
//!
//! Oracle: no triangle of one segment cuts one of the other (tests/volume.rs).

use super::body::Body;
use super::lists::Lists;
use super::surface::Surface;
use crate::limbs::{Leaf, Limbs};
use crate::maps::RestSurface;
use crate::pose::WorldPose;
use crate::rig::Rig;
use glam::{DAffine3, DVec3};

/// Steps from the skin to the bone.
const STEPS: u32 = 8;
const BISECTIONS: u32 = 30;
/// Nearer by this factor is nearer: both sides stop just short of the border.
const CLEARANCE: f64 = 0.999;
/// Distances that differ by less are equal.
const ON_THE_BORDER: f64 = 1e-9;

/// Two segments that meet, and the nodes of the first that are its own at rest.
#[derive(Clone, Debug)]
struct Pair {
    own: u32,
    other: u32,
}

/// The pairs of one surface.
#[derive(Clone, Debug)]
pub(super) struct FoldOver {
    pairs: Vec<Pair>,
    /// Nodes of each pair.
    nodes: Lists,
    /// Cosine of the angle from which a joint counts as bent.
    straight: f64,
    gain: f64,
}

/// Where the bones are.
pub(super) struct Place<'a> {
    pub rig: &'a Rig,
    pub world: &'a WorldPose,
    /// What the frame's points are relative to.
    pub origin: DVec3,
}

impl FoldOver {
    pub fn new(rig: &Rig, rest: &RestSurface<'_>, surface: &Surface, angle: f64, gain: f64) -> Self {
        let limbs = Limbs::at(rig, rest.world(), Leaf::Skin);
        let mut meeting: Vec<(u32, u32)> = Vec::new();
        for (own, others) in surface.segment_neighbours.iter().enumerate() {
            for &other in others.iter().filter(|&&other| other != own as u32) {
                meeting.extend([(own as u32, other), (other, own as u32)]);
            }
        }
        meeting.sort_unstable();
        meeting.dedup();
        let mut nodes = Vec::new();
        for (pair, &(own, other)) in meeting.iter().enumerate() {
            let [bone, neighbour] = [own, other].map(|segment| surface.segments[segment as usize].bone);
            for &node in surface.segment_nodes.of(own as usize) {
                let p = rest.points()[surface.members.of(node as usize)[0] as usize];
                // What lies on the border itself is kept there.
                if limbs.distance(bone.index(), p) <= (1.0 + ON_THE_BORDER) * limbs.distance(neighbour.index(), p) {
                    nodes.push((pair as u32, node));
                }
            }
        }
        let nodes = Lists::new(meeting.len(), nodes);
        let pairs = meeting.into_iter().map(|(own, other)| Pair { own, other }).collect();
        Self { pairs, nodes, straight: angle.cos(), gain }
    }

    /// Brings back what has crossed over and holds it there; tells how many nodes.
    pub fn apply(&self, place: &Place<'_>, surface: &Surface, body: &mut Body, limbs: &mut Limbs) -> usize {
        let mut found = 0;
        let mut posed = false;
        for (index, pair) in self.pairs.iter().enumerate() {
            let [own, other] = [pair.own, pair.other].map(|segment| &surface.segments[segment as usize]);
            let [turned, against] = [own, other].map(|segment| &body.from_bind[segment.entry as usize]);
            if self.nodes.of(index).is_empty() || cosine(turned, against) >= self.straight {
                continue;
            }
            if !std::mem::replace(&mut posed, true) {
                limbs.pose(place.rig, place.world, Leaf::Skin, place.origin + body.centre());
            }
            for &node in self.nodes.of(index) {
                let p = body.points[node as usize];
                let closest = limbs.closest(own.bone.index(), p);
                let crossed = |p: DVec3| p.distance(closest) > CLEARANCE * limbs.distance(other.bone.index(), p);
                // What is just short of the border stays as it is.
                if p.distance(closest) <= limbs.distance(other.bone.index(), p) {
                    continue;
                }
                let back = way_back(|part| crossed(p.lerp(closest, part)));
                body.points[node as usize] = p.lerp(closest, back * self.gain);
                body.held[node as usize] = true;
                found += 1;
            }
        }
        if found > 0 {
            surface.place_apexes(&mut body.points);
        }
        found
    }
}

/// The part of the way to the bone at which the node is back.
fn way_back(crossed: impl Fn(f64) -> bool) -> f64 {
    let step = 1.0 / f64::from(STEPS);
    let Some(back) = (1..=STEPS).map(|k| f64::from(k) * step).find(|&part| !crossed(part)) else { return 1.0 };
    let (mut over, mut back) = (back - step, back);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (over + back);
        if crossed(middle) { over = middle } else { back = middle }
    }
    back
}

/// Of the angle between the rotations of two transforms; scale cancels.
fn cosine(a: &DAffine3, b: &DAffine3) -> f64 {
    let columns = |m: &DAffine3| [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis].map(|c| c.normalize_or_zero());
    let trace: f64 = columns(a).into_iter().zip(columns(b)).map(|(a, b)| a.dot(b)).sum();
    (trace - 1.0) / 2.0
}
