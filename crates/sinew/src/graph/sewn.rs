//! Pieces of skin that touch stay together: a cape at the shoulders, hair on a head, an arm in its sleeve.
//!
//! Effects move each point by what moves its own bones, and pieces that are not joined part where their bones differ or
//! where one of them does not bend. Here a piece that bends follows those it touches. Where it touches it takes over
//! what they do; that offset is handed on along the piece and fades, so that its free end moves as before:
//!
//! u(p) ← u(p) + f(p)·δ(p),  δ = u(carrier) − u(p) where they touch
//!
//! What touches what is found at rest, from the rig alone: every point near another piece, and the corners of faces
//! that another piece lies on or goes through, with the nearest place of that piece. From there δ is carried away: each
//! point takes the mean of its neighbours that are nearer to the contact, by how much nearer, so there is no crease.
//!
//! Pieces go one after the other and each follows those before it: what is rigid, which cannot give way; the body
//! before what is worn on it; joints above before joints below; large before small. The body never follows what it
//! wears or holds. Two pieces are sewn only where they touch near the joints between them. A hand on a hip is not: it
//! moves about a shoulder that is far away.
//!
//! Oracles: a cape on a tube, against the tube's own displacement (`tests/all/sewn.rs`).

use super::rigid_pieces::RigidPieces;
use super::settle::Displaced;
use crate::anatomy::{Anatomy, Role, owners};
use crate::bvh::Bvh;
use crate::control_points::DisjointSets;
use crate::edge_graph::EdgeGraph;
use crate::hierarchy::Hierarchy;
use crate::maps::RestSurface;
use crate::recipe::{Recipe, Riders, Sewn as Wanted};
use crate::rig::Rig;
use crate::simd::LANES;
use crate::skeleton::BoneId;
use crate::strokes::surface::{SurfacePoint, SurfaceTree};
use glam::DVec3;
use std::cmp::Ordering;

/// Distance at rest up to which pieces touch, in sizes.
const TOUCHING: f64 = 5e-3;
/// Distance from which they have nothing to do with each other, in sizes.
const APART: f64 = 1.5e-2;
/// Share of a corner in a place from which it goes where the place goes.
const CORNER: f64 = 0.25;
/// Distances between a contact and the joints between its two sides, in sizes: up to the first it holds, from the
/// second it does not.
const PIVOT: [f64; 2] = [0.1, 0.2];
/// How far along a piece its free end begins, in the length of the piece, and the bounds of that in sizes.
const FREE: f64 = 0.5;
const REACH: [f64; 2] = [0.15, 0.2];
/// Most pieces that one follows: the nearest, and among those as near the ones that come first.
const CARRIERS: usize = 8;

/// The seams of a rig, in the order they are closed.
#[derive(Debug)]
pub(super) struct Sewn {
    seams: Vec<Seam>,
    /// Riders just follow their bones.
    riders_still: bool,
}

/// A piece that follows others: its points within reach of a contact, nearest to it first.
#[derive(Debug)]
struct Seam {
    rides: bool,
    points: Vec<Follower>,
    /// Where followers touch, those of a follower together.
    stitches: Vec<Stitch>,
    /// Followers that hand their offset on, by their place in `points`, and how much of it is taken; those of a
    /// follower together.
    nearer: Vec<(u32, f64)>,
    /// Lanes that repeat a follower: its slot and theirs.
    copies: Vec<[u32; 2]>,
}

#[derive(Debug)]
struct Follower {
    slot: u32,
    /// How much of its offset it takes itself.
    factor: f64,
    /// Ends of its lists.
    stitches: u32,
    nearer: u32,
}

/// A place on another piece.
#[derive(Debug)]
struct Stitch {
    corners: [u32; 3],
    barycentric: DVec3,
    /// How much it counts.
    weight: f64,
}

impl Sewn {
    /// `None` where nothing is to follow anything.
    pub fn build(rig: &Rig, tree: &Hierarchy, rigid: Option<&RigidPieces>, recipe: &Recipe) -> Option<Self> {
        if recipe.sewn == Wanted::None {
            return None;
        }
        let surface = RestSurface::new(rig);
        let shells = shells(rig, tree, rigid, &surface);
        let joints = Joints::new(tree, &surface);
        let graph = EdgeGraph::new(surface.points(), rig.adjacency(), &[]);
        let trees: Vec<Option<SurfaceTree<'_>>> =
            shells.iter().map(|shell| SurfaceTree::new(&shell.faces, surface.points())).collect();
        let carriers = rig.characters().iter().enumerate().map(|(at, _)| Carriers::of(at, &shells)).collect();
        let contacts = Contacts { surface: &surface, joints: &joints, shells: &shells, carriers, trees: &trees };
        let mut distances = vec![f64::INFINITY; surface.points().len()];
        let seam = |at: usize| seam(rig, &graph, &shells[at], contacts.of(at), &mut distances);
        let seams: Vec<Seam> = (0..shells.len()).filter(|&at| !shells[at].rigid).filter_map(seam).collect();
        (!seams.is_empty()).then_some(Self { seams, riders_still: recipe.riders == Riders::Still })
    }

    /// Follows another word for riders.
    pub fn retune(&mut self, riders: Riders) {
        self.riders_still = riders == Riders::Still;
    }

    /// Names the points that it reads or moves.
    pub fn touched(&self, touch: &mut impl FnMut(u32)) {
        for seam in &self.seams {
            seam.points.iter().for_each(|point| touch(point.slot));
            seam.stitches.iter().flat_map(|stitch| stitch.corners).for_each(&mut *touch);
        }
    }

    /// Closes the seams; `offsets` is memory.
    pub fn close(&self, moved: &mut Displaced<'_>, offsets: &mut Vec<DVec3>) {
        for seam in self.seams.iter().filter(|seam| !(seam.rides && self.riders_still)) {
            seam.close(moved, offsets);
        }
    }
}

impl Seam {
    fn close(&self, moved: &mut Displaced<'_>, offsets: &mut Vec<DVec3>) {
        offsets.clear();
        let (mut stitch, mut near) = (0, 0);
        for point in &self.points {
            let mut offset = DVec3::ZERO;
            for &(from, share) in &self.nearer[near..point.nearer as usize] {
                offset += offsets[from as usize] * share;
            }
            let stitches = &self.stitches[stitch..point.stitches as usize];
            if !stitches.is_empty() {
                let own = moved.by(point.slot as usize);
                for stitch in stitches {
                    let [a, b, c] = stitch.corners.map(|corner| moved.by(corner as usize));
                    let place = a * stitch.barycentric.x + b * stitch.barycentric.y + c * stitch.barycentric.z;
                    offset += (place - own) * stitch.weight;
                }
            }
            offsets.push(offset);
            (stitch, near) = (point.stitches as usize, point.nearer as usize);
        }
        for (point, &offset) in self.points.iter().zip(&*offsets) {
            if offset != DVec3::ZERO {
                let slot = point.slot as usize;
                moved.points.set(slot, (moved.points.get(slot).as_dvec3() + offset * point.factor).as_vec3());
            }
        }
        for &[from, to] in &self.copies {
            moved.points.set(to as usize, moved.points.get(from as usize));
        }
    }
}

/// What triangles connect.
struct Shell {
    rigid: bool,
    /// It is put on the body, as against being part of it.
    worn: bool,
    character: usize,
    /// Ascending.
    slots: Vec<u32>,
    faces: Vec<[u32; 3]>,
    low: DVec3,
    high: DVec3,
}

/// All pieces of skin, each after those it may follow.
fn shells(rig: &Rig, tree: &Hierarchy, rigid: Option<&RigidPieces>, surface: &RestSurface<'_>) -> Vec<Shell> {
    /// What else the order goes by.
    struct Rank {
        depth: u32,
        area: f64,
        centre: DVec3,
    }
    let (points, areas, anatomy) = (surface.points(), surface.areas(), rig.kept::<Anatomy>());
    let mut sets = DisjointSets::new(points.len());
    for face in surface.faces() {
        sets.union(face[0], face[1]);
        sets.union(face[0], face[2]);
    }
    let mut by_root: Vec<(u32, u32)> = surface.all_slots().map(|slot| (sets.find(slot as u32), slot as u32)).collect();
    by_root.sort_unstable();
    let mut faces: Vec<(u32, [u32; 3])> = surface.faces().iter().map(|&face| (sets.find(face[0]), face)).collect();
    faces.sort_by_key(|face| face.0);
    let mut groups = faces.chunk_by(|a, b| a.0 == b.0).peekable();
    let mut ranked: Vec<(Rank, Shell)> = Vec::new();
    for members in by_root.chunk_by(|a, b| a.0 == b.0) {
        // Points without a face touch nothing.
        let Some(faces) = groups.next_if(|faces| faces[0].0 == members[0].0) else { continue };
        let slots: Vec<u32> = members.iter().map(|member| member.1).collect();
        let Some(piece) = anatomy.piece_of_point(slots[0] as usize) else { continue };
        let is_worn = |slot: u32| {
            let role = anatomy.role_of_point(slot as usize);
            role.is_soft() || (role.is_rigid() && role != Role::Mechanical)
        };
        let worn = slots.iter().filter(|&&slot| is_worn(slot)).count();
        let at = || slots.iter().map(|&slot| points[slot as usize]);
        let rigid = rigid.is_some_and(|rigid| rigid.holds(piece));
        let found = &anatomy.pieces()[piece];
        let rank = Rank {
            depth: tree.depth(found.bone),
            area: slots.iter().map(|&slot| areas[slot as usize]).sum(),
            centre: at().sum::<DVec3>() / slots.len() as f64,
        };
        let (low, high) = (at().fold(DVec3::INFINITY, DVec3::min), at().fold(DVec3::NEG_INFINITY, DVec3::max));
        let faces = faces.iter().map(|face| face.1).collect();
        let worn = 2 * worn > slots.len();
        ranked.push((rank, Shell { rigid, worn, character: found.character, slots, faces, low, high }));
    }
    // The body may be soft, but nothing wears it.
    for character in 0..rig.characters().len() {
        let own = ranked.iter_mut().filter(|(_, shell)| shell.character == character && !shell.rigid);
        if let Some((_, shell)) = own.max_by(|a, b| a.0.area.total_cmp(&b.0.area)) {
            shell.worn = false;
        }
    }
    let by_place = |a: DVec3, b: DVec3| {
        let axes = a.to_array().into_iter().zip(b.to_array());
        axes.fold(Ordering::Equal, |order, (a, b)| order.then(a.total_cmp(&b)))
    };
    ranked.sort_by(|(a, one), (b, two)| {
        let kind = two.rigid.cmp(&one.rigid).then(one.worn.cmp(&two.worn)).then(a.depth.cmp(&b.depth));
        kind.then(b.area.total_cmp(&a.area)).then(by_place(a.centre, b.centre))
    });
    ranked.into_iter().map(|ranked| ranked.1).collect()
}

/// The joints between two sides of a contact.
struct Joints<'a> {
    rig: &'a Rig,
    tree: &'a Hierarchy,
    /// The joint that carries each bone.
    owner: Vec<usize>,
    /// Of joints at rest.
    origins: Vec<DVec3>,
}

impl<'a> Joints<'a> {
    fn new(tree: &'a Hierarchy, surface: &RestSurface<'a>) -> Self {
        let rig = surface.rig();
        let owner = owners(rig, &surface.all_slots().collect::<Vec<_>>());
        let origin = |bone: BoneId| surface.world().world_from_bone(bone).translation;
        Self { rig, tree, owner, origins: rig.skeleton().bones().map(origin).collect() }
    }

    fn of(&self, slot: u32) -> Option<BoneId> {
        let bone = self.rig.main_bone(slot as usize)?;
        self.rig.skeleton().bone(self.owner[bone.index()])
    }

    /// How firmly two points hold each other at a place: not at all where neither's joint carries the other's.
    fn hold(&self, slots: [u32; 2], at: DVec3, size: f64) -> f64 {
        let [Some(a), Some(b)] = slots.map(|slot| self.of(slot)) else { return 0.0 };
        let (below, above) = if self.tree.depth(a) >= self.tree.depth(b) { (a, b) } else { (b, a) };
        let mut farthest = 0.0f64;
        for joint in self.tree.ancestors(below) {
            if joint == above {
                let [near, far] = PIVOT.map(|pivot| pivot * size);
                return 1.0 - smoothstep((farthest - near) / (far - near));
            }
            // Nodes between joints do not turn by themselves.
            if self.owner[joint.index()] == joint.index() {
                farthest = farthest.max(self.origins[joint.index()].distance(at));
            }
        }
        0.0
    }
}

/// From 0 at 0 to 1 at 1, level at both.
fn smoothstep(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Where a point of a shell touches others.
struct Contact {
    slot: u32,
    /// Of the nearest: from 1 where it touches to 0.
    closeness: f64,
    /// Of all together.
    total: f64,
    stitches: Vec<Stitch>,
}

/// The shells of a character that others may follow. The body carries what is put on it, and does not bend to a sword.
struct Carriers {
    of_worn: Boxes,
    of_body: Boxes,
}

/// Shells, ascending, and a tree over their boxes.
struct Boxes {
    shells: Vec<usize>,
    tree: Bvh,
}

impl Carriers {
    fn of(character: usize, all: &[Shell]) -> Self {
        let boxes = |may: fn(&Shell) -> bool| {
            let is_one = |at: &usize| all[*at].character == character && may(&all[*at]);
            let shells: Vec<usize> = (0..all.len()).filter(is_one).collect();
            let tree = Bvh::new(&shells.iter().map(|&at| (all[at].low, all[at].high)).collect::<Vec<_>>());
            Boxes { shells, tree }
        };
        Self { of_worn: boxes(|_| true), of_body: boxes(|shell| !shell.worn) }
    }
}

/// Finds out what a shell touches.
struct Contacts<'a> {
    surface: &'a RestSurface<'a>,
    joints: &'a Joints<'a>,
    shells: &'a [Shell],
    /// Of each character.
    carriers: Vec<Carriers>,
    trees: &'a [Option<SurfaceTree<'a>>],
}

impl Contacts<'_> {
    /// The contacts of a shell with those before it, by slot.
    fn of(&self, at: usize) -> Vec<Contact> {
        let (shell, points) = (&self.shells[at], self.surface.points());
        let size = self.joints.rig.characters()[shell.character].size;
        let apart = APART * size;
        // (point, its distance to the carrier by which it touches, the place)
        let mut found: Vec<(u32, f64, Stitch)> = Vec::new();
        for other in self.carriers(at, apart) {
            let (carrier, Some(tree)) = (&self.shells[other], &self.trees[other]) else { continue };
            let corners = self.corners(at, other, size);
            for &slot in &shell.slots {
                let p = points[slot as usize];
                let is_corner = corners.binary_search(&slot).is_ok();
                let beyond = (p.clamp(carrier.low, carrier.high)).distance_squared(p) > apart * apart;
                let within = if is_corner { f64::INFINITY } else { apart };
                if beyond && !is_corner {
                    continue;
                }
                let Some((place, distance)) = tree.nearest_within(p, within) else { continue };
                let SurfacePoint { triangle, barycentric } = place;
                let corners = carrier.faces[triangle as usize];
                let main = corners[barycentric.max_position()];
                let hold = self.joints.hold([slot, main], p, size);
                let distance = if is_corner { 0.0 } else { distance };
                let closeness = 1.0 - smoothstep((distance / size - TOUCHING) / (APART - TOUCHING));
                if hold > 0.0 && closeness > 0.0 {
                    found.push((slot, closeness, Stitch { corners, barycentric, weight: closeness * hold }));
                }
            }
        }
        found.sort_by_key(|found| found.0);
        let mut contacts: Vec<Contact> = Vec::new();
        for (slot, closeness, stitch) in found {
            match contacts.last_mut().filter(|contact| contact.slot == slot) {
                Some(contact) => {
                    contact.closeness = contact.closeness.max(closeness);
                    contact.total += closeness;
                    contact.stitches.push(stitch);
                }
                None => contacts.push(Contact { slot, closeness, total: closeness, stitches: vec![stitch] }),
            }
        }
        contacts
    }

    /// The shells that one may follow, in their order.
    fn carriers(&self, at: usize, apart: f64) -> Vec<usize> {
        let shell = &self.shells[at];
        let carriers = &self.carriers[shell.character];
        let Boxes { shells, tree } = if shell.worn { &carriers.of_worn } else { &carriers.of_body };
        let gap = |index: u32| {
            let other = &self.shells[shells[index as usize]];
            let gap = (other.low - shell.high).max(shell.low - other.high).max(DVec3::ZERO);
            (gap.max_element() <= apart).then(|| gap.length_squared())
        };
        let before = shells.partition_point(|&other| other < at) as u32;
        let near = tree.nearest_few((shell.low, shell.high), 3.0 * apart * apart, CARRIERS, before, gap);
        let mut carriers: Vec<usize> = near.into_iter().map(|index| shells[index as usize]).collect();
        carriers.sort_unstable();
        carriers
    }

    /// Points of a shell, ascending, that hold up a face which another shell lies on or goes through, or an edge that
    /// goes through the other one.
    fn corners(&self, at: usize, other: usize, size: f64) -> Vec<u32> {
        let (shell, carrier, points) = (&self.shells[at], &self.shells[other], self.surface.points());
        let [Some(own), Some(tree)] = [&self.trees[at], &self.trees[other]] else { return Vec::new() };
        let mut corners = Vec::new();
        let mut hold = |place: SurfacePoint| {
            let shares = shell.faces[place.triangle as usize].into_iter().zip(place.barycentric.to_array());
            corners.extend(shares.filter(|corner| corner.1 >= CORNER).map(|corner| corner.0));
        };
        let touching = TOUCHING * size;
        let near = |low: DVec3, high: DVec3, shell: &Shell| {
            (low - touching).cmple(shell.high).all() && shell.low.cmple(high + touching).all()
        };
        // Of a large shell few faces are near a small one.
        let faces = |of: &SurfaceTree<'_>, through: &Shell| -> Vec<[u32; 3]> {
            of.overlapping(through.low - touching, through.high + touching)
        };
        let close = faces(tree, shell);
        let mut slots = close.as_flattened().to_vec();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let p = points[slot as usize];
            if near(p, p, shell) {
                own.nearest_within(p, touching).into_iter().for_each(|(place, _)| hold(place));
            }
        }
        let edges = |faces: &[[u32; 3]], through: &Shell| -> Vec<[u32; 2]> {
            let sides = faces.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
            let mut edges: Vec<[u32; 2]> = sides.map(|[a, b]| [a.min(b), a.max(b)]).collect();
            let is_near = |edge: &[u32; 2]| {
                let [a, b] = edge.map(|slot| points[slot as usize]);
                near(a.min(b), a.max(b), through)
            };
            edges.retain(is_near);
            edges.sort_unstable();
            edges.dedup();
            edges
        };
        for [a, b] in edges(&close, shell) {
            let crossing = own.crossing(points[a as usize], points[b as usize]);
            crossing.into_iter().for_each(|(_, place)| hold(place));
        }
        for [a, b] in edges(&faces(own, carrier), carrier) {
            if let Some((along, _)) = tree.crossing(points[a as usize], points[b as usize]) {
                corners.extend((1.0 - along >= CORNER).then_some(a));
                corners.extend((along >= CORNER).then_some(b));
            }
        }
        corners.sort_unstable();
        corners.dedup();
        corners
    }
}

/// How the contacts of a shell are handed on along it; `None` where it touches nothing. `distances` is memory for
/// [`EdgeGraph::spread`].
fn seam(rig: &Rig, graph: &EdgeGraph, shell: &Shell, contacts: Vec<Contact>, distances: &mut [f64]) -> Option<Seam> {
    let sources: Vec<u32> = contacts.iter().filter(|contact| contact.closeness == 1.0).map(|c| c.slot).collect();
    let mut settled: Vec<(u32, f64)> = Vec::new();
    graph.spread(&sources, distances, |slot, distance, _| settled.push((slot, distance)));
    let &(_, length) = settled.last()?;
    let size = rig.characters()[shell.character].size;
    let reach = (FREE * length).clamp(REACH[0] * size, REACH[1] * size);
    let mut seam = Seam {
        rides: rig.is_rider(shell.slots[0] as usize),
        points: Vec::new(),
        stitches: Vec::new(),
        nearer: Vec::new(),
        copies: Vec::new(),
    };
    let mut contacts: Vec<Option<Contact>> = {
        let mut ascending = contacts.into_iter().peekable();
        shell.slots.iter().map(|&slot| ascending.next_if(|contact| contact.slot == slot)).collect()
    };
    // Per slot of the shell: where it stands in the seam, and its distance.
    let mut place: Vec<Option<(u32, f64)>> = vec![None; shell.slots.len()];
    for (slot, distance) in settled {
        let Ok(at) = shell.slots.binary_search(&slot) else { continue };
        let contact = contacts[at].take();
        let closeness = contact.as_ref().map_or(0.0, |contact| contact.closeness);
        let factor = 1.0 - (1.0 - closeness) * smoothstep(distance / reach);
        if factor <= 0.0 {
            continue;
        }
        if let Some(contact) = contact {
            let share = closeness / contact.total;
            seam.stitches.extend(contact.stitches.into_iter().map(|s| Stitch { weight: s.weight * share, ..s }));
        }
        if closeness < 1.0 {
            let first = seam.nearer.len();
            let mut last = None;
            for &(to, length) in graph.of(slot) {
                let known = shell.slots.binary_search(&to).ok().and_then(|at| place[at]);
                let Some((order, nearer)) = known else { continue };
                last = Some(order);
                if length > 0.0 && nearer < distance {
                    seam.nearer.push((order, (distance - nearer) / (length * length)));
                }
            }
            let total: f64 = seam.nearer[first..].iter().map(|nearer| nearer.1).sum();
            match total > 0.0 {
                true => seam.nearer[first..].iter_mut().for_each(|near| near.1 *= (1.0 - closeness) / total),
                // On the very place of the one it is reached from.
                false => seam.nearer.extend(last.map(|order| (order, 1.0 - closeness))),
            }
        }
        place[at] = Some((seam.points.len() as u32, distance));
        let (stitches, nearer) = (seam.stitches.len() as u32, seam.nearer.len() as u32);
        seam.points.push(Follower { slot, factor, stitches, nearer });
        let (row, lane) = (slot as usize / LANES, slot as usize % LANES);
        let filled = rig.rows()[row].filled as usize;
        if lane + 1 == filled {
            seam.copies.extend((filled..LANES).map(|lane| [slot, (row * LANES + lane) as u32]));
        }
    }
    Some(seam)
}
