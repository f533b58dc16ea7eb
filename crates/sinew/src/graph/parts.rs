//! The parts an effect acts on, `parts = ["@ear", "@tail"]`: a factor on its gain, 0 beyond a part, 1 at its far end.
//!
//! A part is skin that hangs together: what the bones of a role move by half or more, and what anatomy knows by place or
//! by piece. Its *root* is the skin around it that it grows from; a separate piece has its root where it touches the body
//! at rest, and cloth, which lies on the body in other places too, where the highest of that is. Between root and far end
//! the factor rises smoothly with the way along the skin. A part is so held at its root and takes the motion of all that
//! carries it over its whole length: skin weights alone would rise over as little as one edge, and tear there.
//!
//! Everything is found at rest, from the rig alone, in shares of the part's own length.

use super::{GraphError, role_called};
use crate::anatomy::{Anatomy, Role};
use crate::control_points::DisjointSets;
use crate::edge_graph::{EdgeGraph, UNREACHED};
use crate::maps::{PointMap, RestSurface, bridged};
use crate::rig::{OfRig, Rig};
use crate::simd::{LANES, Lanes};
use crate::text::{nearest, wildcard};
use glam::DVec3;
use std::collections::BTreeMap;

/// Share of a point's weight from which it belongs to the bones of a part.
const OWN: f32 = 0.5;
/// Share of the height of hanging cloth within which it is held.
const HELD: f64 = 0.25;

/// The parts of a rig that some names stand for.
#[derive(Debug)]
pub(crate) struct Parts {
    /// From 0 at roots to 1 at far ends, per row; 0 beyond them.
    factor: Vec<Lanes>,
    pub(super) parts: Vec<Part>,
}

/// Skin that hangs together.
#[derive(Debug)]
pub(super) struct Part {
    /// What most of it is.
    pub role: Role,
    /// Its points, ascending by slot.
    pub points: Vec<PartPoint>,
    /// Slots of the skin it grows from, ascending; none where it is all there is.
    pub root: Vec<u32>,
    /// The way along the skin from its root to its far end, at rest.
    pub reach: f64,
}

/// A point of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartPoint {
    pub slot: u32,
    /// How far along the part it is, from 0 at the root to 1.
    pub way: f64,
    /// The point of the root that it is nearest to along the skin.
    pub source: u32,
}

/// The skin at rest as one piece of edges.
pub(crate) struct JoinedSkin {
    pub points: Vec<DVec3>,
    pub areas: Vec<f64>,
    pub graph: EdgeGraph,
    slots: Vec<u32>,
}

impl OfRig for JoinedSkin {
    fn of(rig: &Rig) -> Self {
        let surface = RestSurface::new(rig);
        let slots = surface.all_slots().map(|slot| slot as u32).collect();
        Self { points: surface.points().to_vec(), areas: surface.areas().to_vec(), graph: bridged(&surface), slots }
    }
}

/// From 0 to 1 with level ends.
pub(super) fn smoothstep(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

impl Parts {
    /// The parts of these roles, bones or meshes. A role that the rig does not have is no part.
    pub fn find(rig: &Rig, names: &[String], effect: &'static str) -> Result<Self, GraphError> {
        let anatomy = rig.kept::<Anatomy>();
        let inside = inside(rig, &anatomy, names, effect)?;
        let skin = rig.kept::<JoinedSkin>();
        let parts = if inside.contains(&true) { parts(rig, &anatomy, &skin, &inside) } else { Vec::new() };
        let mut values = vec![0.0f32; rig.slots()];
        for point in parts.iter().flat_map(|part| &part.points) {
            values[point.slot as usize] = smoothstep(point.way) as f32;
        }
        let factor = PointMap::from_fn(rig, |slot| values[slot]).values().to_vec();
        Ok(Self { factor, parts })
    }

    /// The factor on the gain of a control point.
    pub fn at(&self, slot: usize) -> f32 {
        self.factor[slot / LANES][slot % LANES]
    }

    /// The factor on the gain, per row.
    pub fn factor(&self) -> &[Lanes] {
        &self.factor
    }
}

/// Per slot: whether it is of a part.
fn inside(rig: &Rig, anatomy: &Anatomy, names: &[String], effect: &'static str) -> Result<Vec<bool>, GraphError> {
    let (skeleton, pieces) = (rig.skeleton(), anatomy.pieces());
    let mut own = vec![false; skeleton.len()];
    let mut inside = vec![false; rig.slots()];
    for name in names {
        let bones: Vec<_> = skeleton.bones().filter(|&bone| wildcard(name, skeleton.name(bone))).collect();
        let is_called: Vec<bool> = pieces.iter().map(|piece| wildcard(name, &piece.mesh)).collect();
        bones.iter().for_each(|bone| own[bone.index()] = true);
        let in_piece = |slot: usize| anatomy.piece_of_point(slot).is_some_and(|piece| is_called[piece]);
        let role = match bones.is_empty() && !is_called.contains(&true) {
            true => role_called(name, effect)?,
            false => None,
        };
        if let Some(role) = role {
            skeleton.bones().filter(|&bone| anatomy.bone(bone).role == role).for_each(|bone| own[bone.index()] = true);
        } else if bones.is_empty() && !is_called.contains(&true) {
            let bones = skeleton.bones().map(|bone| skeleton.name(bone));
            let all = bones.chain(pieces.iter().map(|piece| piece.mesh.as_str()));
            return Err(GraphError::UnknownPart { pattern: name.clone(), effect, nearest: nearest(name, all) });
        }
        for (slot, inside) in inside.iter_mut().enumerate() {
            *inside |= in_piece(slot) || role.is_some_and(|role| anatomy.role_of_point(slot) == role);
        }
    }
    for (slot, inside) in inside.iter_mut().enumerate() {
        let of_part = rig.influences(slot).filter(|i| own[rig.palette()[i.palette as usize].bone.index()]);
        *inside |= of_part.map(|influence| influence.weight).sum::<f32>() >= OWN;
    }
    Ok(inside)
}

/// The marked skin by what hangs together, each with its root and the ways along it.
fn parts(rig: &Rig, anatomy: &Anatomy, skin: &JoinedSkin, inside: &[bool]) -> Vec<Part> {
    let is_inside = |slot: u32| inside[slot as usize];
    let mut sets = DisjointSets::new(inside.len());
    let marked = || skin.slots.iter().copied().filter(|&slot| is_inside(slot));
    for slot in marked() {
        let edges = skin.graph.of(slot).iter();
        edges.filter(|edge| is_inside(edge.0)).for_each(|edge| sets.union(slot, edge.0));
    }
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for slot in marked() {
        members.entry(sets.find(slot)).or_default().push(slot);
    }
    let roles: Vec<Role> = members.values().map(|slots| main_role(anatomy, &skin.areas, slots)).collect();
    // Per point, what is around it that its part grows from.
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); inside.len()];
    for (slots, &role) in members.values().zip(&roles) {
        root(rig, skin, slots, role, is_inside, &mut around);
    }
    let grows = |slot: u32, to: u32| around[slot as usize].contains(&to);
    let ways = skin.graph.filtered(|from, to| match (is_inside(from), is_inside(to)) {
        (true, true) => true,
        (true, false) => grows(from, to),
        (false, true) => grows(to, from),
        (false, false) => false,
    });
    let mut sources: Vec<u32> = around.iter().flatten().copied().collect();
    sources.sort_unstable();
    sources.dedup();
    let mut nearest = vec![(f64::INFINITY, UNREACHED); inside.len()];
    ways.spread(&sources, &mut vec![f64::INFINITY; inside.len()], |slot, distance, source| {
        nearest[slot as usize] = (distance, source);
    });
    let part = |(slots, &role): (&Vec<u32>, &Role)| {
        let reach =
            slots.iter().map(|&slot| nearest[slot as usize].0).filter(|far| far.is_finite()).fold(0.0, f64::max);
        let point = |&slot: &u32| {
            let (distance, source) = nearest[slot as usize];
            // What nothing holds is moved as a whole.
            PartPoint { slot, way: if distance < reach { distance / reach } else { 1.0 }, source }
        };
        let mut root: Vec<u32> = slots.iter().flat_map(|&slot| &around[slot as usize]).copied().collect();
        root.sort_unstable();
        root.dedup();
        Part { role, points: slots.iter().map(point).collect(), root, reach }
    };
    members.values().zip(&roles).map(part).collect()
}

/// What most of the skin of some points is.
fn main_role(anatomy: &Anatomy, areas: &[f64], slots: &[u32]) -> Role {
    let mut of_role: BTreeMap<Role, f64> = BTreeMap::new();
    for &slot in slots {
        *of_role.entry(anatomy.role_of_point(slot as usize)).or_default() += areas[slot as usize];
    }
    let most = of_role.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    most.map_or(Role::Unknown, |(role, _)| role)
}

/// Finds the neighbours that a part grows from: those it is sewn to; where there are none, those it touches.
fn root(
    rig: &Rig,
    skin: &JoinedSkin,
    slots: &[u32],
    role: Role,
    is_inside: impl Fn(u32) -> bool,
    around: &mut [Vec<u32>],
) {
    let outside = |slot: u32| skin.graph.of(slot).iter().map(|edge| edge.0).filter(|&to| !is_inside(to));
    let is_sewn = |slot: u32, to: u32| rig.adjacency().of(slot as usize).contains(&to);
    let sewn = slots.iter().any(|&slot| outside(slot).any(|to| is_sewn(slot, to)));
    let height = |slot: u32| skin.points[slot as usize].y;
    let touching = || slots.iter().copied().filter(|&slot| outside(slot).next().is_some());
    let mut lowest = f64::NEG_INFINITY;
    if role == Role::Cloth && !sewn {
        let bottom = slots.iter().map(|&slot| height(slot)).fold(f64::INFINITY, f64::min);
        let top = touching().map(height).fold(f64::NEG_INFINITY, f64::max);
        lowest = top - HELD * (top - bottom);
    }
    for slot in touching().filter(|&slot| height(slot) >= lowest) {
        around[slot as usize] = outside(slot).filter(|&to| !sewn || is_sewn(slot, to)).collect();
    }
}
