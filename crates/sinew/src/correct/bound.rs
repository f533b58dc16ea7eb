//! What every correction is given and what it does: bound to one character, it moves that character's body at a frame and
//! says what it did.

use super::body::{Body, Reach, Surface};
use super::report::{ContactReport, CorrectionReport, Measure, MuscleReport, Outcome, Restored, VolumeReport};
use super::springs::{Swing, Swung};
use super::surface_edit::SurfaceEdit;
use crate::maps::RestSurface;
use crate::memory::Memory;
use crate::motion::Kinematics;
use crate::param::Values;
use crate::pose::WorldPose;
use crate::recipe::EditSpec;
use crate::rig::{OfRig, Rig};
use crate::simd::{LANES, Lanes, Level, Points};
use crate::skeleton::BoneId;
use crate::table::BoundTables;
use glam::{DAffine3, DVec3};

/// Edits of one character, each with its place in the recipe.
#[derive(Default)]
pub(super) struct EditList {
    pub edits: Vec<SurfaceEdit>,
    pub places: Vec<usize>,
}

/// What a correction is bound to.
pub(crate) struct Binding<'a> {
    pub rig: &'a Rig,
    pub surface: &'a Surface,
    pub values: &'a Values,
    pub gain: f64,
    pub painted: Option<&'a [Lanes]>,
    /// The table `bones`; later entries win.
    pub distances: &'a [(Vec<BoneId>, Vec<BoneId>)],
    /// All tables.
    pub tables: &'a BoundTables,
    /// Where the correction's signals stand among the filtered ones.
    pub signals: &'a [usize],
    /// Parameters and painted factors on them.
    pub painted_factors: &'a [(&'static str, &'a [Lanes])],
    /// Edits that springs draw the skin to.
    pub edits: &'a EditList,
}

impl Binding<'_> {
    /// Whether each node belongs to something rigid: a sword, a robot's body.
    pub fn rider_nodes(&self) -> impl Iterator<Item = bool> {
        self.surface.members.iter().map(|slots| slots.iter().any(|&slot| self.rig.is_rider(slot as usize)))
    }

    /// Share of the correction that each node takes: the gain times the painted map; nothing for riders.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let share = |(slots, is_rider): (&[u32], bool)| {
            let map = self.painted.map_or(1.0, |map| mean(slots, map).max(0.0));
            if is_rider { 0.0 } else { self.gain * map }
        };
        self.surface.members.iter().zip(self.rider_nodes()).map(share)
    }
}

/// Means of a painted map over the slots of each node.
pub(super) fn node_means(surface: &Surface, map: &[Lanes]) -> Vec<f64> {
    surface.members.iter().map(|slots| mean(slots, map)).collect()
}

fn mean(slots: &[u32], map: &[Lanes]) -> f64 {
    let value = |&slot: &u32| f64::from(map[slot as usize / LANES][slot as usize % LANES]);
    slots.iter().map(value).sum::<f64>() / slots.len().max(1) as f64
}

/// A rig at the nodes' default transforms.
pub(crate) struct AtRest {
    pub world: WorldPose,
    /// By slot.
    pub points: Vec<DVec3>,
}

impl OfRig for AtRest {
    fn of(rig: &Rig) -> Self {
        let rest = RestSurface::new(rig);
        Self { world: rest.world().clone(), points: rest.points().to_vec() }
    }
}

/// A correction bound to one character.
pub(super) trait Bound: Send + Sync {
    /// Whether it can follow other values, gains and maps in place; names are what they were. `repainted` where the
    /// values of a map may have changed.
    fn can_follow(&self, _: &Binding<'_>, _repainted: bool) -> bool {
        true
    }
    /// Follows them, to the bit as if bound anew. Edits are those it has.
    fn retune(&mut self, binding: &Binding<'_>, repainted: bool);
    /// Takes other edits that springs draw the skin to.
    fn draw_to(&mut self, _: &Rig, _: &Surface, _: &EditList) {}
    /// Follows other amounts and stiffnesses of edits, in the order of the recipe.
    fn retune_edits(&mut self, _: &[EditSpec]) {}
    /// Moves the body; tells how many nodes it brought into contact.
    fn apply(&self, place: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize;
    /// The muscles it moves.
    fn muscles(&self) -> Vec<MuscleReport> {
        Vec::new()
    }
    /// How the skin swings, for one with history.
    fn swing(&self) -> Option<&Swing> {
        None
    }
    /// Whether it makes contacts.
    fn makes_contacts(&self) -> bool {
        false
    }
    /// What it may move.
    fn reach(&self) -> Reach;
    /// Whether it works on the nodes of a body, even where it is the only correction.
    fn needs_nodes(&self) -> bool {
        true
    }
    /// Whether all that `apply` does is a map of each node that bones and time alone decide.
    fn remaps(&self) -> bool {
        false
    }
    /// Sets that map behind each node's own; only the bones of the body have been taken.
    fn remap(&self, _time_secs: f64, _: &Surface, _: &mut Work, _maps: &mut [DAffine3]) {}
    /// What `apply` does, for one that needs no nodes: only the bones of the body have been taken.
    fn apply_in_rows(&self, _: &RowsFrame<'_>, _: &mut Points, _: &Surface, _: &mut Work, _: &mut Log<'_>) {}
}

/// Where the bones are.
pub(super) struct PosedBones<'a> {
    pub rig: &'a Rig,
    pub world: &'a WorldPose,
    /// What the frame's points are relative to.
    pub origin: DVec3,
    /// The same of all characters.
    pub origins: &'a [DVec3],
    /// Per palette entry, relative to them.
    pub world_from_rest: &'a [DAffine3],
    /// Rest points with morph targets, where any is active.
    pub morphed_rest: Option<&'a Points>,
    pub kinematics: &'a Kinematics,
    /// Time in the clip.
    pub time: f64,
    /// What swings.
    pub swung: &'a Swung,
    /// Start and period of a loop.
    pub cycle: Option<(f64, f64)>,
    /// Instruction set.
    pub level: Level,
    /// Threads; `None` = the caller's own.
    pub pool: Option<&'a rayon::ThreadPool>,
}

/// What a frame gives those that need no nodes.
pub(super) struct RowsFrame<'a> {
    pub rig: &'a Rig,
    pub world_from_rest: &'a [DAffine3],
    pub level: Level,
    pub pool: Option<&'a rayon::ThreadPool>,
}

/// One character at one frame, and what its corrections work in.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub body: Body,
    pub memory: Memory,
}

/// Where one pass of one correction writes what it did.
pub(super) struct Log<'a> {
    pub report: &'a mut CorrectionReport,
    pub correction: usize,
    pub character: usize,
    /// The entry to be overwritten, in later passes.
    pub next_volume: Option<usize>,
}

impl Log<'_> {
    /// Whether the list is run again after new contacts.
    pub fn is_later_pass(&self) -> bool {
        self.next_volume.is_some()
    }

    pub fn volume(&mut self, measure: Measure, restored: &Restored) {
        let Restored { target, before, after, rounds, outcome } = *restored;
        match self.next_volume.as_mut() {
            Some(next) => {
                if let Some(entry) = self.report.volumes.get_mut(*next) {
                    entry.after = after;
                    entry.rounds += rounds;
                    entry.outcome = if entry.outcome == Outcome::Still { entry.outcome } else { outcome };
                }
                *next += 1;
            }
            None => self.report.volumes.push(VolumeReport {
                correction: self.correction,
                character: self.character,
                measure,
                target,
                before,
                after,
                rounds,
                largest_move: 0.0,
                outcome,
            }),
        }
    }

    /// Points brought into contact, beside those of earlier passes.
    pub fn contacts(&mut self, points: usize) {
        let Self { correction, character, .. } = *self;
        let known = |entry: &&mut ContactReport| (entry.correction, entry.character) == (correction, character);
        match self.report.contacts.iter_mut().find(known) {
            Some(entry) => entry.points += points,
            None => self.report.contacts.push(ContactReport { correction, character, points }),
        }
    }
}
