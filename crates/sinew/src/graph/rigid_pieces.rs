//! Things that do not bend: eyes, teeth, props, armour, parts of machines, and every separate piece that one bone moves
//! and that is not soft.
//!
//! An effect moves points one by one, and would bend a sword. Here a piece as a whole takes the one rigid motion that is
//! nearest to what the effects did to its *anchors*: the skin under it, or the hand that holds it. It is the weighted
//! Procrustes fit (Kabsch 1976) from where the base has the anchors to where the effects have them, and is applied to
//! where the base has the piece. A piece that is a limb itself has no skin under it and is its own anchor; what stands on
//! another rigid piece moves with that one.
//!
//! Anchors are found at rest, from the rig alone: skin that follows the same joint, weighted by its area, its skin weight
//! and its nearness to the piece.
//!
//! Where anchors do not tell a turn (too few, or on a line) the smallest one is taken: the fit is drawn to no turn by a
//! share of the anchors' spread that is far below what they tell anywhere else.
//!
//! Oracles: a box on a bending tube whose skin is moved rigidly, a second formulation of the fit (`tests/all/rigid.rs`).

use super::planting::sunk;
use super::settle::{Directions, Displaced};
use super::{GraphError, role_called};
use crate::anatomy::{Anatomy, Role, owners};
use crate::bvh::Bvh;
use crate::hierarchy::Hierarchy;
use crate::maps::RestSurface;
use crate::polar::nearest_rotation;
use crate::recipe::{Recipe, Riders, Rigid};
use crate::rig::Rig;
use crate::simd::{LANES, Points};
use crate::text::{nearest, wildcard};
use crate::triangle::nearest_on;
use glam::{DMat3, DVec3, Vec3};
use std::collections::BTreeMap;

/// Distance from a piece over which skin counts as under it, in sizes.
const REACH: f64 = 0.02;
/// Anchors that count less than this share of the one that counts most are left out.
const FAINT: f64 = 1e-3;
/// How much larger than all other skin of its joint a piece is that is the limb itself.
const LIMB: f64 = 4.0;
/// How much where a limb meets what carries it counts, against all of it.
const MEETS: f64 = 3.0;
/// How strongly a fit is drawn to no turn, in the spread of the anchors.
const DRAW: f64 = 1e-8;

/// The rigid pieces of a rig, by the motions they share.
#[derive(Debug)]
pub(super) struct RigidPieces {
    shared: Vec<SharedMotion>,
    /// Per piece of the anatomy: whether it is one of them.
    rigid: Vec<bool>,
    /// Riders just follow their bones.
    riders_still: bool,
}

/// Pieces that move as one.
#[derive(Debug, Default)]
struct SharedMotion {
    /// Slots, ascending, and how much they count.
    anchors: Vec<(u32, f64)>,
    /// Slots of pieces of skin; lanes without a point are those that repeat one of theirs.
    skin: Vec<u32>,
    /// Slots of pieces that ride on bones.
    riders: Vec<u32>,
}

/// A turn about a place, and where the place goes.
#[derive(Clone, Copy)]
pub(super) struct RigidMotion {
    pub turn: DMat3,
    from: DVec3,
    to: DVec3,
}

impl RigidPieces {
    /// `None` where no piece is rigid.
    pub fn build(rig: &Rig, tree: &Hierarchy, recipe: &Recipe) -> Result<Option<Self>, GraphError> {
        if recipe.rigid == Rigid::None {
            return Ok(None);
        }
        let anatomy = rig.kept::<Anatomy>();
        let surface = RestSurface::new(rig);
        let finder = Finder::new(rig, tree, &anatomy, &surface, &recipe.rigid)?;
        let shared = finder.shared();
        let (rigid, riders_still) = (finder.rigid, recipe.riders == Riders::Still);
        Ok((!shared.is_empty()).then_some(Self { shared, rigid, riders_still }))
    }

    /// Whether a piece of the anatomy does not bend.
    pub fn holds(&self, piece: usize) -> bool {
        self.rigid[piece]
    }

    /// Follows another word for riders.
    pub fn retune(&mut self, riders: Riders) {
        self.riders_still = riders == Riders::Still;
    }

    /// Slots of all rigid pieces.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        let shared = self.shared.iter();
        shared.flat_map(|shared| shared.skin.iter().chain(&shared.riders)).map(|&slot| slot as usize)
    }

    /// Names the points that it reads or moves.
    pub fn touched(&self, touch: &mut impl FnMut(u32)) {
        for shared in &self.shared {
            shared.anchors.iter().for_each(|&(slot, _)| touch(slot));
            shared.skin.iter().chain(&shared.riders).for_each(|&slot| touch(slot));
        }
    }

    /// Puts rigid pieces where their anchors went. `base` is where the base has all points, `points` where the effects
    /// have them. `directions` are turned too: in place, or from where the base has them.
    pub fn carry(&self, rig: &Rig, base: &Points, points: &mut Points, directions: &mut [Directions<'_>]) {
        for shared in &self.shared {
            let riders = if self.riders_still { &[][..] } else { &shared.riders[..] };
            let motion = fit(&shared.anchors, base, points);
            for &slot in shared.skin.iter().chain(riders) {
                let slot = slot as usize;
                let at = base.get(slot);
                points.set(slot, motion.map_or(at, |motion| motion.of(at.as_dvec3()).as_vec3()));
                let layers = rig.rows()[slot / LANES].layers.clone();
                for slot in layers.map(|layer| layer as usize * LANES + slot % LANES) {
                    for Directions { base, result } in &mut *directions {
                        let at = base.map_or_else(|| result.get(slot), |base| base.get(slot));
                        result.set(slot, motion.map_or(at, |motion| (motion.turn * at.as_dvec3()).as_vec3()));
                    }
                }
            }
        }
    }

    /// Lifts pieces that effects take below the ground, or farther below than the base has them.
    pub fn lift(&self, rig: &Rig, floors: impl Iterator<Item = Option<f32>> + Clone, moved: &mut Displaced<'_>) {
        for shared in &self.shared {
            let riders = if self.riders_still { &[][..] } else { &shared.riders[..] };
            let slots = || shared.skin.iter().chain(riders).map(|&slot| slot as usize);
            let of = slots().next().and_then(|slot| rig.character_of_point(slot));
            let Some(floor) = of.and_then(|of| floors.clone().nth(of).flatten()) else { continue };
            let deepest = slots().map(|slot| sunk(moved, slot, floor)).fold(0.0, f32::max);
            if deepest > 0.0 {
                slots().for_each(|slot| moved.points.set(slot, moved.points.get(slot) + Vec3::Y * deepest));
            }
        }
    }
}

impl RigidMotion {
    /// None, said of a place.
    pub fn none_about(place: DVec3) -> Self {
        Self { turn: DMat3::IDENTITY, from: place, to: place }
    }

    pub fn of(&self, p: DVec3) -> DVec3 {
        self.to + self.turn * (p - self.from)
    }
}

/// The rigid motion nearest to what happened to the anchors; `None` where nothing did.
pub(super) fn fit(anchors: &[(u32, f64)], base: &Points, points: &Points) -> Option<RigidMotion> {
    let pair = |slot: u32| (base.get(slot as usize), points.get(slot as usize));
    let (mut mass, mut from, mut to, mut moved) = (0.0, DVec3::ZERO, DVec3::ZERO, false);
    for &(slot, weight) in anchors {
        let (before, after) = pair(slot);
        moved |= before != after;
        mass += weight;
        from += before.as_dvec3() * weight;
        to += after.as_dvec3() * weight;
    }
    if !moved {
        return None;
    }
    (from, to) = (from / mass, to / mass);
    let (mut covariance, mut spread) = (DMat3::ZERO, 0.0);
    for &(slot, weight) in anchors {
        let (before, after) = pair(slot);
        let (p, q) = (before.as_dvec3() - from, (after.as_dvec3() - to) * weight);
        covariance += DMat3::from_cols(q * p.x, q * p.y, q * p.z);
        spread += weight * p.length_squared();
    }
    let turn = nearest_rotation(covariance + DMat3::from_diagonal(DVec3::splat(DRAW * spread)));
    Some(RigidMotion { turn, from, to })
}

/// What a rigid piece stands on.
enum Ground {
    /// Nothing but itself.
    Own,
    Skin(Vec<(u32, f64)>),
    Piece(usize),
}

/// Finds out which pieces are rigid and what they stand on.
struct Finder<'a> {
    rig: &'a Rig,
    tree: &'a Hierarchy,
    anatomy: &'a Anatomy,
    surface: &'a RestSurface<'a>,
    /// The joint that carries each bone.
    owner: Vec<usize>,
    /// Per joint: slots that follow it and how much, ascending.
    skin: Vec<Vec<(u32, f64)>>,
    /// Per piece: its slots, ascending.
    slots: Vec<Vec<u32>>,
    rigid: Vec<bool>,
}

impl<'a> Finder<'a> {
    fn new(
        rig: &'a Rig,
        tree: &'a Hierarchy,
        anatomy: &'a Anatomy,
        surface: &'a RestSurface<'a>,
        wanted: &Rigid,
    ) -> Result<Self, GraphError> {
        let all: Vec<usize> = surface.all_slots().collect();
        let owner = owners(rig, &all);
        let mut skin = vec![Vec::new(); owner.len()];
        let mut slots = vec![Vec::new(); anatomy.pieces().len()];
        for slot in all {
            for influence in rig.influences(slot) {
                let joint = owner[rig.palette()[influence.palette as usize].bone.index()];
                skin[joint].push((slot as u32, f64::from(influence.weight)));
            }
            if let Some(piece) = anatomy.piece_of_point(slot) {
                slots[piece].push(slot as u32);
            }
        }
        let mut finder = Self { rig, tree, anatomy, surface, owner, skin, slots, rigid: Vec::new() };
        finder.rigid = match wanted {
            Rigid::None => vec![false; finder.slots.len()],
            Rigid::Auto => finder.by_itself(),
            Rigid::Only(names) => finder.called(names)?,
        };
        Ok(finder)
    }

    fn joint(&self, piece: usize) -> usize {
        self.owner[self.anatomy.pieces()[piece].bone.index()]
    }

    /// Per piece: whether it is rigid where nobody says so.
    fn by_itself(&self) -> Vec<bool> {
        /// Share of a piece's weight that one joint has where a sword or an eye moves with it.
        const HELD: f64 = 0.9;
        /// Share of a character's surface from which a piece is the character.
        const WHOLE: f64 = 0.9;
        /// Share of it from which all that one joint moves is most of the character.
        const MOST: f64 = 0.5;
        /// Share of it up to which a piece is a small thing on a piece that is most of the character.
        const SMALL: f64 = 0.05;
        let pieces = self.anatomy.pieces();
        let is_rigid_thing = |piece: usize| pieces[piece].role.is_some_and(Role::is_rigid);
        let plain = |&piece: &usize| pieces[piece].rigid && !is_rigid_thing(piece) && !self.is_soft(piece);
        // Per joint: what it moves in all, and the largest piece of it.
        let mut moved = vec![(0.0, 0.0f64); self.owner.len()];
        for piece in (0..pieces.len()).filter(plain) {
            let (all, largest) = &mut moved[self.joint(piece)];
            (*all, *largest) = (*all + pieces[piece].share, largest.max(pieces[piece].share));
        }
        let apart = |piece: usize| {
            let (all, largest) = moved[self.joint(piece)];
            all <= MOST || (largest > MOST && pieces[piece].share <= SMALL)
        };
        let decide = |piece: usize| match is_rigid_thing(piece) {
            true => pieces[piece].share < WHOLE && self.held(piece) >= HELD,
            false => plain(&piece) && apart(piece),
        };
        (0..pieces.len()).map(decide).collect()
    }

    /// Whether most of a piece is soft.
    fn is_soft(&self, piece: usize) -> bool {
        let slots = &self.slots[piece];
        2 * slots.iter().filter(|&&slot| self.anatomy.role_of_point(slot as usize).is_soft()).count() > slots.len()
    }

    /// How much of a piece follows its joint.
    fn held(&self, piece: usize) -> f64 {
        let joint = self.joint(piece);
        let of_joint = |slot: u32| {
            let bones = self.rig.influences(slot as usize);
            let own = bones.filter(|i| self.owner[self.rig.palette()[i.palette as usize].bone.index()] == joint);
            own.map(|i| f64::from(i.weight)).sum::<f64>()
        };
        let slots = &self.slots[piece];
        slots.iter().map(|&slot| of_joint(slot)).sum::<f64>() / slots.len().max(1) as f64
    }

    /// Per piece: whether some of the names is its role, its bone's or its mesh's.
    fn called(&self, names: &[String]) -> Result<Vec<bool>, GraphError> {
        let pieces = self.anatomy.pieces();
        let skeleton = self.rig.skeleton();
        let mut rigid = vec![false; pieces.len()];
        for name in names {
            let matches = |piece: usize, name: &str| {
                wildcard(name, skeleton.name(pieces[piece].bone)) || wildcard(name, &pieces[piece].mesh)
            };
            let mut found: Vec<usize> = (0..pieces.len()).filter(|&piece| matches(piece, name)).collect();
            if found.is_empty() {
                if let Some(role) = role_called(name, "rigid")? {
                    let is = |&piece: &usize| pieces[piece].role.unwrap_or_else(|| self.main_role(piece)) == role;
                    found.extend((0..pieces.len()).filter(is));
                } else {
                    let all = pieces.iter().flat_map(|piece| [skeleton.name(piece.bone), piece.mesh.as_str()]);
                    return Err(GraphError::UnknownPiece { pattern: name.clone(), nearest: nearest(name, all) });
                }
            }
            found.into_iter().for_each(|piece| rigid[piece] = true);
        }
        Ok(rigid)
    }

    /// What most points of a piece are.
    fn main_role(&self, piece: usize) -> Role {
        let mut counts: BTreeMap<Role, usize> = BTreeMap::new();
        for &slot in &self.slots[piece] {
            *counts.entry(self.anatomy.role_of_point(slot as usize)).or_default() += 1;
        }
        let most = counts.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
        most.map_or(Role::Unknown, |(role, _)| role)
    }

    /// Whether it is put on a body, as against being part of it.
    fn is_put_on(&self, piece: usize) -> bool {
        let role = self.anatomy.pieces()[piece].role;
        role.is_some_and(|role| role.is_rigid() && role != Role::Mechanical)
    }

    /// The pieces by the motions they share.
    fn shared(&self) -> Vec<SharedMotion> {
        // Each stands on one before it: the body before what is put on it, joints above before those below, large
        // before small.
        let pieces = self.anatomy.pieces();
        let depth = |piece: usize| self.tree.ancestors(pieces[piece].bone).count();
        let mut order: Vec<usize> = (0..pieces.len()).filter(|&piece| self.rigid[piece]).collect();
        order.sort_by(|&a, &b| {
            let put_on = self.is_put_on(a).cmp(&self.is_put_on(b));
            let above = depth(a).cmp(&depth(b));
            put_on.then(above).then(pieces[b].share.total_cmp(&pieces[a].share)).then(a.cmp(&b))
        });
        let mut place = vec![usize::MAX; pieces.len()];
        order.iter().enumerate().for_each(|(at, &piece)| place[piece] = at);
        let mut shared: Vec<SharedMotion> = Vec::new();
        let mut motion_of = vec![usize::MAX; pieces.len()];
        for &piece in &order {
            motion_of[piece] = match self.ground(piece, &place) {
                Ground::Piece(under) => motion_of[under],
                ground => {
                    let anchors = match ground {
                        Ground::Skin(anchors) => anchors,
                        _ => self.own_anchors(piece),
                    };
                    shared.push(SharedMotion { anchors, ..SharedMotion::default() });
                    shared.len() - 1
                }
            };
        }
        for (row, packed) in self.rig.rows().iter().enumerate() {
            for lane in (0..LANES).filter(|_| packed.filled > 0) {
                let point = row * LANES + lane.min(packed.filled as usize - 1);
                let motion = self.anatomy.piece_of_point(point).map(|piece| motion_of[piece]);
                let Some(shared) = motion.and_then(|motion| shared.get_mut(motion)) else { continue };
                let to = if self.rig.is_rider(point) { &mut shared.riders } else { &mut shared.skin };
                to.push((row * LANES + lane) as u32);
            }
        }
        shared
    }

    /// The points of a piece that is a limb itself. Where it meets what carries it counts most, so that a head stays on its
    /// neck.
    fn own_anchors(&self, piece: usize) -> Vec<(u32, f64)> {
        let (areas, points) = (self.surface.areas(), self.surface.points());
        let slots = &self.slots[piece];
        let all: f64 = slots.iter().map(|&slot| areas[slot as usize]).sum();
        let share = |slot: u32| if all > 0.0 { areas[slot as usize] / all } else { 1.0 / slots.len().max(1) as f64 };
        let mut own: Vec<(u32, f64)> = slots.iter().map(|&slot| (slot, share(slot))).collect();
        let carriers = self.carriers(piece);
        if !carriers.is_empty() {
            let tree = Bvh::of_points(&carriers);
            let away = |&(slot, _): &(u32, f64)| {
                let p = points[slot as usize];
                let to = |i: u32| Some(carriers[i as usize].distance_squared(p));
                tree.nearest(p, f64::INFINITY, to).map_or(0.0, |(_, squared)| squared.sqrt())
            };
            let distances: Vec<f64> = own.iter().map(away).collect();
            let near: Vec<f64> = self.nearness(piece, &distances);
            let meets: f64 = own.iter().zip(&near).map(|(anchor, near)| anchor.1 * near).sum();
            if meets > 0.0 {
                own.iter_mut().zip(near).for_each(|(anchor, near)| anchor.1 *= 1.0 + MEETS * near / meets);
            }
        }
        own.retain(|anchor| anchor.1 > 0.0);
        own
    }

    /// The points of firm pieces of the joints above a piece.
    fn carriers(&self, piece: usize) -> Vec<DVec3> {
        let (pieces, skeleton) = (self.anatomy.pieces(), self.rig.skeleton());
        let Some(joint) = skeleton.bone(self.joint(piece)) else { return Vec::new() };
        let above: Vec<usize> = self.tree.ancestors(joint).skip(1).map(crate::BoneId::index).collect();
        let carries = |&other: &usize| {
            pieces[other].character == pieces[piece].character
                && above.contains(&self.joint(other))
                && !self.is_put_on(other)
                && !self.is_soft(other)
        };
        let slots = (0..pieces.len()).filter(carries).flat_map(|other| &self.slots[other]);
        slots.map(|&slot| self.surface.points()[slot as usize]).collect()
    }

    /// From 1 at a piece to 0 far from it, by distances.
    fn nearness(&self, piece: usize, distances: &[f64]) -> Vec<f64> {
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        let reach = least + REACH * self.rig.characters()[self.anatomy.pieces()[piece].character].size;
        distances.iter().map(|distance| (1.0 + (distance / reach).powi(2)).powi(-2)).collect()
    }

    /// What a piece stands on: skin, or a rigid piece earlier in the order. What is part of the body looks at its own joint
    /// alone, for it has a motion of its own; what is put on also at the joints above.
    fn ground(&self, piece: usize, place: &[usize]) -> Ground {
        let (areas, skeleton) = (self.surface.areas(), self.rig.skeleton());
        let own: f64 = self.slots[piece].iter().map(|&slot| areas[slot as usize]).sum();
        let put_on = self.is_put_on(piece);
        let Some(joint) = skeleton.bone(self.joint(piece)) else { return Ground::Own };
        for joint in self.tree.ancestors(joint).take(if put_on { usize::MAX } else { 1 }) {
            let under = |&&(slot, _): &&(u32, f64)| {
                let other = self.anatomy.piece_of_point(slot as usize);
                other.is_some_and(|other| other != piece && (!self.rigid[other] || place[other] < place[piece]))
            };
            let counted = |&(slot, weight): &(u32, f64)| (slot, weight * areas[slot as usize]);
            let all: Vec<(u32, f64)> = self.skin[joint.index()].iter().filter(under).map(counted).collect();
            let firm = |&&(slot, _): &&(u32, f64)| !self.anatomy.role_of_point(slot as usize).is_soft();
            let some: Vec<(u32, f64)> = all.iter().filter(firm).copied().collect();
            let skin = if some.iter().any(|anchor| anchor.1 > 0.0) { some } else { all };
            let mass: f64 = skin.iter().map(|anchor| anchor.1).sum();
            if mass <= 0.0 {
                continue;
            }
            if !put_on && own > LIMB * mass {
                break;
            }
            return self.nearest_ground(piece, skin);
        }
        Ground::Own
    }

    /// Of the skin of a joint, what is near a piece.
    fn nearest_ground(&self, piece: usize, mut skin: Vec<(u32, f64)>) -> Ground {
        let nearness = self.nearness(piece, &self.distances(piece, &skin));
        skin.iter_mut().zip(nearness).for_each(|(anchor, near)| anchor.1 *= near);
        let (mut loose, mut stiff) = (0.0, BTreeMap::new());
        let stiff_piece = |slot: u32| self.anatomy.piece_of_point(slot as usize).filter(|&other| self.rigid[other]);
        for &(slot, weight) in &skin {
            match stiff_piece(slot) {
                Some(other) => *stiff.entry(other).or_insert(0.0) += weight,
                None => loose += weight,
            }
        }
        let firmest = stiff.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
        if let Some((under, _)) = firmest.filter(|&(_, weight)| weight > loose) {
            return Ground::Piece(under);
        }
        skin.retain(|&(slot, _)| stiff_piece(slot).is_none());
        let most = skin.iter().map(|anchor| anchor.1).fold(0.0, f64::max);
        skin.retain(|anchor| anchor.1 > FAINT * most);
        let all: f64 = skin.iter().map(|anchor| anchor.1).sum();
        skin.iter_mut().for_each(|anchor| anchor.1 /= all);
        Ground::Skin(skin)
    }

    /// How far points are from the faces of a piece, or from its points where it has no faces.
    fn distances(&self, piece: usize, from: &[(u32, f64)]) -> Vec<f64> {
        let points = self.surface.points();
        let mine = |face: &&[u32; 3]| self.anatomy.piece_of_point(face[0] as usize) == Some(piece);
        let mut faces: Vec<[DVec3; 3]> =
            self.surface.faces().iter().filter(mine).map(|face| face.map(|slot| points[slot as usize])).collect();
        if faces.is_empty() {
            faces = self.slots[piece].iter().map(|&slot| [points[slot as usize]; 3]).collect();
        }
        let tree = Bvh::of_faces(&faces);
        let distance = |&(slot, _): &(u32, f64)| {
            let p = points[slot as usize];
            let to = |face: u32| Some(nearest_on(p, faces[face as usize]).distance_squared(p));
            tree.nearest(p, f64::INFINITY, to).map_or(0.0, |(_, squared)| squared.sqrt())
        };
        from.iter().map(distance).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn points(all: &[DVec3]) -> Points {
        let mut points = Points::zeros(all.len().div_ceil(LANES));
        all.iter().enumerate().for_each(|(slot, p)| points.set(slot, p.as_vec3()));
        points
    }

    #[test]
    fn a_rigid_motion_is_found_and_a_line_turns_least() {
        let turn = DQuat::from_scaled_axis(DVec3::new(0.4, -0.9, 0.2));
        let by = |p: DVec3| turn * p + DVec3::new(1.0, 2.0, 3.0);
        let cloud: Vec<DVec3> = (0..20).map(|i| DVec3::new((i % 3) as f64, (i % 5) as f64, (i % 7) as f64)).collect();
        let weighted: Vec<(u32, f64)> = (0..20).map(|i| (i, 1.0 + f64::from(i))).collect();
        let moved: Vec<DVec3> = cloud.iter().map(|&p| by(p)).collect();
        let found = fit(&weighted, &points(&cloud), &points(&moved)).unwrap();
        for &p in &cloud {
            assert!(found.of(p).distance(by(p)) < 1e-5);
        }
        // On a line: the turn that takes it where it goes, and none about it.
        let line: Vec<DVec3> = (0..20).map(|i| DVec3::X * f64::from(i)).collect();
        let bent: Vec<DVec3> = line.iter().map(|p| DVec3::Y * p.x).collect();
        let found = fit(&weighted, &points(&line), &points(&bent)).unwrap();
        let least = DMat3::from_quat(DQuat::from_rotation_arc(DVec3::X, DVec3::Y));
        assert!((found.turn - least).to_cols_array().iter().all(|x| x.abs() < 1e-6), "{}", found.turn);
        // A single point is moved and not turned; nothing moved is no motion.
        let single = fit(&weighted[..1], &points(&cloud), &points(&moved)).unwrap();
        assert_eq!(single.turn, DMat3::IDENTITY);
        assert!(fit(&weighted, &points(&cloud), &points(&cloud)).is_none());
    }
}
