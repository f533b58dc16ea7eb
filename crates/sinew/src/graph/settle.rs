//! What follows the effects and comes before corrections. An effect moves each point by itself; here the skin as a whole
//! has its say, step by step, and each step sees what those before it have left:
//!
//! | step | what it does |
//! |---|---|
//! | `bending` | parts that effects act on bend as rods, or give no more than their skin can (`strand`) |
//! | `planting` | what stands on the ground stays where it stands, and nothing goes through the ground |
//! | `rigid_pieces` | what does not bend moves as one |
//! | `collide` | cloth and hair stay outside the body |
//! | `sewn` | pieces that touch stay together |

use super::GraphError;
use super::bending::Bending;
use super::collide::{Collide, Collisions};
use super::evaluate::Frame;
use super::planting::{Held, Planting, floors};
use super::rigid_pieces::RigidPieces;
use super::sewn::Sewn;
use crate::hierarchy::Hierarchy;
use crate::recipe::Recipe;
use crate::rig::Rig;
use crate::simd::{LANES, Points};
use glam::{DVec3, Vec3};
use std::sync::OnceLock;

/// The steps a recipe asks for.
#[derive(Debug)]
pub(super) struct Settle {
    bending: Option<Bending>,
    planting: Option<Planting>,
    rigid: Option<RigidPieces>,
    collide: Option<Collide>,
    sewn: Option<Sewn>,
    /// See [`Settle::rows`].
    rows: OnceLock<Vec<u32>>,
}

/// Memory for a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct SettleScratch {
    held: Vec<Held>,
    offsets: Vec<DVec3>,
    collisions: Collisions,
}

/// Points that effects have moved.
pub(super) struct Displaced<'a> {
    /// Where the base has them.
    pub base: &'a Points,
    pub points: &'a mut Points,
}

impl Displaced<'_> {
    /// How far a point has been moved.
    pub fn by(&self, slot: usize) -> DVec3 {
        self.points.get(slot).as_dvec3() - self.base.get(slot).as_dvec3()
    }
}

/// Normals or tangents by layer.
pub(super) struct Directions<'a> {
    /// As the base has them; without, the result holds that still.
    pub base: Option<&'a Points>,
    pub result: &'a mut Points,
}

impl Settle {
    /// `None` where there is nothing to do.
    pub fn build(rig: &Rig, tree: &Hierarchy, recipe: &Recipe) -> Result<Option<Self>, GraphError> {
        let bending = Bending::build(rig, recipe)?;
        let planting = Planting::build(rig, tree, recipe)?;
        let rigid = RigidPieces::build(rig, tree, recipe)?;
        let sewn = Sewn::build(rig, tree, rigid.as_ref(), recipe);
        let collide = Collide::build(rig, recipe);
        let any = planting.is_some() || bending.is_some() || rigid.is_some() || collide.is_some() || sewn.is_some();
        Ok(any.then_some(Self { bending, planting, rigid, collide, sewn, rows: OnceLock::new() }))
    }

    /// The rows that its steps read or move, ascending.
    pub fn rows(&self) -> &[u32] {
        self.rows.get_or_init(|| {
            let mut rows = Vec::new();
            let mut touch = |slot: u32| rows.push(slot / LANES as u32);
            self.bending.iter().for_each(|step| step.touched(&mut touch));
            self.planting.iter().for_each(|step| step.touched(&mut touch));
            self.rigid.iter().for_each(|step| step.touched(&mut touch));
            self.collide.iter().for_each(|step| step.touched(&mut touch));
            self.sewn.iter().for_each(|step| step.touched(&mut touch));
            rows.sort_unstable();
            rows.dedup();
            rows
        })
    }

    /// Whether it does anything at a frame.
    pub fn acts(&self, frame: &Frame<'_>) -> bool {
        let stands = !frame.standing.bones.is_empty() || frame.standing.ground.iter().any(Option::is_some);
        let pieces = self.rigid.is_some() || self.collide.is_some() || self.sewn.is_some();
        let always = self.bending.is_some() || pieces;
        always || (self.planting.is_some() && stands)
    }

    /// Follows other numbers.
    pub fn retune(&mut self, recipe: &Recipe) {
        if let Some(bending) = &mut self.bending {
            bending.retune(recipe.max_strain);
        }
        if let Some(planting) = &mut self.planting {
            planting.retune(recipe.riders);
        }
        if let Some(rigid) = &mut self.rigid {
            rigid.retune(recipe.riders);
        }
        if let Some(collide) = &mut self.collide {
            collide.retune(recipe.riders);
        }
        if let Some(sewn) = &mut self.sewn {
            sewn.retune(recipe.riders);
        }
    }

    /// Slots of the pieces that do not bend.
    pub fn rigid_slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.rigid.iter().flat_map(RigidPieces::slots)
    }

    /// `directions` are turned too: in place, or from where the base has them. `origins` are what points are relative to.
    pub fn run(
        &self,
        frame: &Frame<'_>,
        origins: &[DVec3],
        moved: &mut Displaced<'_>,
        directions: &mut [Directions<'_>],
        scratch: &mut SettleScratch,
    ) {
        if let Some(bending) = &self.bending {
            bending.bend(frame.rig, moved.base, moved.points, directions);
        }
        if let Some(planting) = &self.planting {
            planting.hold(frame.rig, frame.standing, &mut scratch.held, moved);
            planting.lift(frame.rig, floors(frame.standing, origins), &mut scratch.held, moved);
        }
        if let Some(rigid) = &self.rigid {
            rigid.carry(frame.rig, moved.base, moved.points, directions);
            // What is sewn to them goes with them.
            if self.planting.is_some() {
                rigid.lift(frame.rig, floors(frame.standing, origins), moved);
            }
        }
        if let Some(collide) = &self.collide {
            // Without planting there is no ground.
            let floors = floors(frame.standing, origins).map(|floor| floor.filter(|_| self.planting.is_some()));
            collide.push(frame, origins, floors, moved, &mut scratch.collisions);
        }
        if let Some(sewn) = &self.sewn {
            sewn.close(moved, &mut scratch.offsets);
        }
    }
}

/// Sets a point; lanes behind the last one of a row repeat it.
pub(super) fn set_repeated(rig: &Rig, slot: usize, place: Vec3, points: &mut Points) {
    points.set(slot, place);
    let filled = rig.rows()[slot / LANES].filled as usize;
    if slot % LANES + 1 == filled {
        (slot + 1..(slot / LANES + 1) * LANES).for_each(|lane| points.set(lane, place));
    }
}
