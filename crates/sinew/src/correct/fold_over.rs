//! Skin that folds over itself at a joint goes where skin that cannot fold would be.
//!
//! Linear blending folds skin where weights change faster than a bend allows ([`super::body`] says where, by the r of each
//! face). From such faces a level falls along the skin, over a few radii of the limb; where it is above 0, the skin goes
//! from where linear blending has it to where the flow of [`crate::kinodynamic`] has it, which carries points from the bind
//! pose to the pose without folding them. Both sides of a crook meet there instead of passing through each other. All of
//! it is a continuous function of the pose, and skin that does not fold is left to the bit.
//!
//! The paper (LV 5.4) moves nodes beyond the border of two segments towards their own bone until it is the nearest one
//! again. That compresses skin onto the border from all directions, which folds it there; it jumps where the nearest bone
//! does, and it moves what lies nearer to another bone for no fault of its own.
//!
//! What crosses without folding, such as a leg that goes through the other one, is left as it is.
//!
//! Oracle: crossings of a bent arm, degree by degree (tests/volume.rs).

use super::body::{AllWays, Body, Levels, Reach, Surface, Ways, smoothstep};
use super::bound::{Binding, Bound, Log, PosedBones, Work};
use super::entry::{Correction, no_signals};
use crate::kinodynamic::{FreeFrame, FreeScratch, PlainFree};
use crate::simd::{LANES, Points};
use glam::DVec3;
use std::sync::Arc;

/// r from which a face begins to count as folded, and below which it is.
const FOLDING: [f64; 2] = [0.5, -0.25];
/// How far along the skin the level of a folded face falls from 1 to 0, in radii of the limb.
const REACH: f64 = 10.0;
/// Level from which the skin is moved all the way.
const FULL: f64 = 0.4;

/// The correction `fold-over`.
pub(super) const FOLD_OVER: Correction = Correction {
    name: "fold-over",
    about: "keeps skin in contact where a joint bends, instead of passing through itself",
    params: &[],
    mapped: None,
    tables: &[],
    scaled: &[],
    signals: no_signals,
    bind: |binding| Box::new(FoldOver::bind(binding)),
};

/// The skin of one character that can fold.
pub(super) struct FoldOver {
    free: Arc<PlainFree>,
    ways: Arc<Ways>,
    gain: f64,
}

/// Memory of a frame.
#[derive(Default)]
struct FoldWork {
    levels: Levels,
    free: FreeScratch,
    carried: Points,
    rows: Vec<u32>,
}

impl FoldOver {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, surface, gain, .. } = *binding;
        Self { free: rig.kept::<PlainFree>(), ways: rig.kept::<AllWays>().of(surface), gain }
    }

    /// Moves what folds; tells how many nodes.
    fn unfold(&self, place: &PosedBones<'_>, surface: &Surface, body: &mut Body, work: &mut FoldWork) -> usize {
        let FoldWork { levels, free, carried, rows } = work;
        let at = |node: u32| body.points[node as usize];
        levels.measure((surface, body, &self.ways), FOLDING, REACH, at, |_, _| {});
        let Levels { levels, reached, .. } = levels;
        if reached.is_empty() {
            return 0;
        }
        reached.retain(|&node| body.is_at_hand(surface, node) && !body.pinned[node as usize]);
        reached.sort_unstable();
        rows.clear();
        let slots = |node: u32| surface.members.of(node as usize);
        rows.extend(reached.iter().flat_map(|&node| slots(node)).map(|&slot| slot / LANES as u32));
        rows.sort_unstable();
        rows.dedup();
        let PosedBones { rig, world, origins, world_from_rest, .. } = *place;
        let rest = place.morphed_rest.unwrap_or(rig.rest());
        let frame = FreeFrame { rig, world, origins, world_from_rest, rest };
        let rows = rows.iter().map(|&row| row as usize);
        self.free.0.carry_some(&frame, surface.character, place.level, rows, free, carried);
        let mut moved = 0;
        for &node in &*reached {
            let slots = slots(node);
            let way = |&slot: &u32| (carried.get(slot as usize) - frame.linear(slot as usize)).as_dvec3();
            let way = slots.iter().map(way).sum::<DVec3>() / slots.len() as f64;
            let part = self.gain * smoothstep([0.0, FULL], levels[node as usize]);
            if way.is_finite() {
                body.points[node as usize] += way * part;
                moved += 1;
            }
        }
        surface.place_apexes(&mut body.points);
        moved
    }
}

impl Bound for FoldOver {
    fn retune(&mut self, binding: &Binding<'_>, _: bool) {
        self.gain = binding.gain;
    }

    fn apply(&self, place: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let Work { body, memory } = work;
        // What it does depends on the bones alone: once is enough.
        let done = log.is_later_pass() || body.is_still();
        let points = if done { 0 } else { memory.with(|work| self.unfold(place, surface, body, work)) };
        log.contacts(points);
        points
    }

    fn makes_contacts(&self) -> bool {
        true
    }

    fn reach(&self) -> Reach {
        Reach::Moving
    }
}
