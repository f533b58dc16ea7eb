//! Corrections: whole mesh → whole mesh, in order, after the displacements.
//!
//! | file | what it holds |
//! |---|---|
//! | `surface` | the welded body of a character: caps, segments, rest shape |
//! | `body` | that body at one frame |
//! | `correction_map` | where volume is put back |
//! | `volume` | the correction that keeps volumes, of the whole and of segments |
//! | `local_volume`, `volume_rows` | the volume that a body encloses, restored; in single precision, without nodes |
//! | `segment_volume`, `segment_rows`, `sparse_lu` | the volumes of its segments, restored together; in rows |
//! | `volume_meter` | the volumes of its segments, told |
//! | `fold_over` | skin in contact where joints bend |
//! | `vortex_muscles` | flesh that swings and bulges |
//! | [`springs`], `spring_rows`, `descent` | springs between neighbours and bones; in rows; how they come to rest |
//! | `spring_skin`, [`live_springs`] | springs as a correction; with history, for what is driven live |
//! | [`surface_edit`], `edits`, `bulge` | edits that follow any pose; those of a recipe; growth along bones as a correction |
//! | [`edit_stage`] | where edits are made: the surface of a pose, and what was done to it |
//! | [`arap`], [`laplacian`], `cotangents`, `cholesky` | surfaces solved from handles |
//!
//! The list is run again while a correction finds new contacts (a bulge may cross the border that the skin was brought
//! back to), at most four times; nodes in contact stay where they are. Sums run in f64 in index order.
//!
//! **Adding a correction** is a file here, a [`Correction`] in [`CORRECTIONS`], and its oracle test.

pub mod arap;
mod body;
mod bulge;
mod cholesky;
mod correction_map;
mod cotangents;
mod descent;
pub mod edit_stage;
mod edits;
mod fold_over;
pub mod laplacian;
pub mod live_springs;
mod local_volume;
mod patches;
mod segment_rows;
mod segment_volume;
mod sparse_lu;
mod spring_rows;
mod spring_skin;
pub mod springs;
pub(crate) mod surface;
pub mod surface_edit;
#[cfg(test)]
mod tests;
mod volume;
mod volume_meter;
mod volume_rows;
mod vortex_muscles;

pub(crate) use edits::{AskedEdit, Field, Fields};
pub use local_volume::Outcome;
pub use volume_meter::SegmentVolume;
pub(crate) use vortex_muscles::{BoundMuscle, FELT, felt_signals};
pub use vortex_muscles::{FittedShape, MuscleReport, MuscleShape, MuscleSpec};

use crate::attach::hanging::Hung;
use crate::limbs::Limbs;
use crate::maps::RestSurface;
use crate::motion::Kinematics;
use crate::param::{ParamSpec, Values};
use crate::pose::WorldPose;
use crate::rig::Rig;
use crate::simd::{LANES, Lanes, Level, Points};
use crate::skeleton::BoneId;
use body::{Body, BodyFrame, Reach};
use bulge::{BULGE_PARAMS, Bulge};
use edits::{BoundEdits, DirectEdits, EditWork};
use fold_over::{FoldOver, Place};
use glam::{DAffine3, DVec3};
use local_volume::Restored;
use segment_volume::SegmentScratch;
use spring_skin::{SPRING_PARAMS, STIFFNESSES, SpringSkin, SpringWork};
use std::fmt;
use surface::Surface;
use surface_edit::SurfaceEdit;
use volume::{VOLUME_PARAMS, Volume};
use volume_meter::VolumeMeter;
use volume_rows::{RowsFrame, VolumeScratch};
use vortex_muscles::{MUSCLE_PARAMS, MuscleWork, Muscles};

/// A correction, self-describing.
pub struct Correction {
    /// Name in recipes.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Its parameters, beside the `gain` that all have.
    pub params: &'static [ParamSpec],
    /// Whether it takes a painted map and a table of bones.
    pub takes_maps: bool,
    /// What its table of bones says, where it takes one: bones by bone.
    pub bones_about: &'static str,
    /// Parameters that bones and painted maps may multiply.
    pub scaled: &'static [&'static str],
    bind: fn(&Binding<'_>) -> Box<dyn Bound>,
}

impl fmt::Debug for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Correction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every correction, in the order of the manual.
pub static CORRECTIONS: &[Correction] = &[
    Correction {
        name: "volume",
        about: "gives back the volume that bending and twisting take, as bulges of soft tissue",
        params: VOLUME_PARAMS,
        takes_maps: true,
        bones_about: "whose distance counts for the skin of a bone; all without it",
        scaled: &[],
        bind: |binding| Box::new(Volume::bind(binding)),
    },
    Correction {
        name: "fold-over",
        about: "keeps the skin of two limbs in contact where a joint bends, instead of through each other",
        params: FOLD_OVER_PARAMS,
        takes_maps: false,
        bones_about: "",
        scaled: &[],
        bind: |binding| {
            let angle = binding.values.number("angle");
            Box::new(FoldOver::new(binding.rig, binding.rest, binding.surface, angle, binding.gain))
        },
    },
    Correction {
        name: "muscles",
        about: "flesh lags behind the bones, swings on and bulges where joints bend",
        params: MUSCLE_PARAMS,
        takes_maps: true,
        bones_about: "bones with a muscle, and those whose bending contracts it; fleshy places without it",
        scaled: &[],
        bind: |binding| Box::new(Muscles::bind(binding)),
    },
    Correction {
        name: "springs",
        about: "draws the skin to the balance of springs between neighbours and bones: smooth bends and twists from any base",
        params: SPRING_PARAMS,
        takes_maps: true,
        bones_about: "bones that the skin of a bone hangs on; its own without it",
        scaled: STIFFNESSES,
        bind: |binding| Box::new(SpringSkin::bind(binding)),
    },
    Correction {
        name: "bulge",
        about: "makes limbs grow or shrink along their bones",
        params: BULGE_PARAMS,
        takes_maps: true,
        bones_about: "bones that the skin of a bone hangs on; its own without it",
        scaled: &[],
        bind: |binding| Box::new(Bulge::bind(binding)),
    },
];

/// The correction of that name.
pub fn find(name: &str) -> Option<&'static Correction> {
    CORRECTIONS.iter().find(|correction| correction.name == name)
}

const FOLD_OVER_PARAMS: &[ParamSpec] =
    &[ParamSpec::number("angle", "rad", [0.0, std::f64::consts::PI], 0.15, "joints that bend less are passed over")];

/// What a volume is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Everything of the character that has an inside.
    Whole,
    /// What follows one bone most: prisms between rest and now, an estimate.
    Segment(BoneId),
}

/// What a volume correction did to one volume at one frame. World units, cubed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeReport {
    /// Index of the correction in the recipe.
    pub correction: usize,
    /// Index of the character.
    pub character: usize,
    /// Which volume is meant.
    pub measure: Measure,
    /// What it should be; 0 for segments, whose volumes are changes from rest.
    pub target: f64,
    /// What it was.
    pub before: f64,
    /// What it is.
    pub after: f64,
    /// Steps it took.
    pub rounds: u32,
    /// The farthest that any of its points was moved, by all corrections together.
    pub largest_move: f64,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a fold-over correction did to one character at one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactReport {
    /// Index of the correction in the recipe.
    pub correction: usize,
    /// Index of the character.
    pub character: usize,
    /// Points brought back to the border.
    pub points: usize,
}

/// What the corrections did at one frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorrectionReport {
    /// Volumes, by character, then correction.
    pub volumes: Vec<VolumeReport>,
    /// Contacts, likewise.
    pub contacts: Vec<ContactReport>,
    /// Segments after all corrections, of graphs that are [`crate::FrameIndependentGraph::metered`].
    pub segments: Vec<SegmentVolume>,
}

impl CorrectionReport {
    pub(crate) fn clear(&mut self) {
        self.volumes.clear();
        self.contacts.clear();
        self.segments.clear();
    }
}

/// Parameters and what multiplies them.
pub type Factors = Vec<(&'static str, f64)>;

/// What a correction is bound to.
pub(crate) struct Binding<'a> {
    rig: &'a Rig,
    rest: &'a RestSurface<'a>,
    surface: &'a Surface,
    values: &'a Values,
    gain: f64,
    painted: Option<&'a [Lanes]>,
    distances: &'a [(Vec<BoneId>, Vec<BoneId>)],
    /// Muscles by bone, beside those of `distances`.
    muscles: &'a [BoundMuscle],
    /// Where what muscles feel stands among the filtered signals, from now back.
    signals: &'a [[usize; FELT]],
    /// Bones and factors on parameters; later entries win.
    factors: &'a [(Vec<BoneId>, Factors)],
    /// Parameters and painted factors on them.
    painted_factors: &'a [(&'static str, Vec<Lanes>)],
    /// Edits that springs draw the skin to.
    edits: &'a [SurfaceEdit],
}

impl Binding<'_> {
    /// Whether each node belongs to something rigid: a sword, a robot's body.
    fn rider_nodes(&self) -> impl Iterator<Item = bool> {
        self.surface.members.iter().map(|slots| slots.iter().any(|&slot| self.rig.is_rider(slot as usize)))
    }

    /// Share of the correction that each node takes: the gain times the painted map; nothing for riders.
    fn shares(&self) -> Vec<f64> {
        let painted = self.painted.map(|map| node_means(self.surface, map));
        let share = |(node, is_rider): (usize, bool)| {
            let map = painted.as_ref().map_or(1.0, |map| map[node].max(0.0));
            if is_rider { 0.0 } else { self.gain * map }
        };
        self.rider_nodes().enumerate().map(share).collect()
    }
}

/// Means of a painted map over the slots of each node.
fn node_means(surface: &Surface, map: &[Lanes]) -> Vec<f64> {
    let value = |&slot: &u32| f64::from(map[slot as usize / LANES][slot as usize % LANES]);
    surface.members.iter().map(|slots| slots.iter().map(value).sum::<f64>() / slots.len().max(1) as f64).collect()
}

/// A correction bound to one character.
trait Bound: Send + Sync {
    /// Moves the body; tells how many nodes it brought into contact.
    fn apply(&self, place: &Place<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize;
    /// The muscles it moves.
    fn muscles(&self) -> Vec<MuscleReport> {
        Vec::new()
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
    /// What `apply` does, for one that needs no nodes: only the bones of the body have been taken.
    fn apply_in_rows(&self, _: &RowsFrame<'_>, _: &mut Points, _: &Surface, _: &mut Work, _: &mut Log<'_>) {}
}

/// Where one pass of one correction writes what it did.
struct Log<'a> {
    report: &'a mut CorrectionReport,
    correction: usize,
    character: usize,
    /// The entry to be overwritten, in later passes.
    next_volume: Option<usize>,
}

impl Log<'_> {
    /// Whether the list is run again after new contacts.
    fn is_later_pass(&self) -> bool {
        self.next_volume.is_some()
    }

    fn volume(&mut self, measure: Measure, restored: &Restored) {
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
}

/// Memory for one character.
#[derive(Clone, Debug, Default)]
struct Work {
    body: Body,
    segments: SegmentScratch,
    limbs: Limbs,
    muscles: MuscleWork,
    springs: SpringWork,
    hung: Hung,
    edits: EditWork,
    volume: VolumeScratch,
    /// Per correction, its first entry in the report.
    first_volumes: Vec<usize>,
}

/// Memory for all characters.
#[derive(Clone, Debug, Default)]
pub(crate) struct CorrectScratch(Vec<Work>);

/// The corrections of a recipe, bound to a rig.
pub(crate) struct Corrections {
    surfaces: Vec<(Surface, Vec<Box<dyn Bound>>)>,
    /// Per surface, where segments are to be told.
    meters: Vec<VolumeMeter>,
}

impl fmt::Debug for Corrections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Corrections").field("surfaces", &self.surfaces.len()).finish_non_exhaustive()
    }
}

/// One correction as a recipe asks for it, with its names looked up.
pub(crate) struct Asked<'a> {
    pub correction: &'static Correction,
    pub values: &'a Values,
    pub gain: f64,
    pub painted: Option<Vec<Lanes>>,
    /// Bones, and those that count for the distance of what follows them; later entries win.
    pub distances: Vec<(Vec<BoneId>, Vec<BoneId>)>,
    /// Muscles by bone, beside those of `distances`.
    pub muscles: Vec<BoundMuscle>,
    /// Where what muscles feel stands among the filtered signals, from now back.
    pub signals: Vec<[usize; FELT]>,
    /// Bones and factors on parameters; later entries win.
    pub factors: Vec<(Vec<BoneId>, Factors)>,
    /// Parameters and painted factors on them.
    pub painted_factors: Vec<(&'static str, Vec<Lanes>)>,
}

/// Everything the corrections read at one frame.
pub(crate) struct CorrectionFrame<'a> {
    pub rig: &'a Rig,
    pub world: &'a WorldPose,
    pub origins: &'a [DVec3],
    pub world_from_rest: &'a [DAffine3],
    pub morphed_rest: Option<&'a Points>,
    pub effects_rest: bool,
    pub kinematics: &'a Kinematics,
    /// Time in the clip, for what is keyed.
    pub time: f64,
    /// Instruction set.
    pub level: Level,
    /// Threads; `None` = the caller's own.
    pub pool: Option<&'a rayon::ThreadPool>,
}

/// Passes over the list while there are new contacts.
const PASSES: usize = 4;

impl Corrections {
    pub fn build(rig: &Rig, asked: &[Asked<'_>], edits: &[AskedEdit<'_>]) -> Self {
        if asked.is_empty() && edits.is_empty() {
            return Self { surfaces: Vec::new(), meters: Vec::new() };
        }
        let rest = RestSurface::new(rig);
        let surfaces = (0..rig.characters().len()).filter_map(|character| Surface::new(rig, character));
        let bind = |surface: Surface| {
            let bound_edits = BoundEdits::new(rig, &surface, edits);
            let bound = asked.iter().map(|asked| {
                let Asked { correction, values, gain, painted, distances, muscles, signals, factors, painted_factors } =
                    asked;
                let painted = painted.as_deref();
                let surface = &surface;
                (correction.bind)(&Binding {
                    rig,
                    rest: &rest,
                    surface,
                    values,
                    gain: *gain,
                    painted,
                    distances,
                    muscles,
                    signals,
                    factors,
                    painted_factors,
                    edits: &bound_edits.sprung,
                })
            });
            let mut bound: Vec<Box<dyn Bound>> = bound.collect();
            bound.extend(
                DirectEdits::new(rig, &surface, bound_edits.direct).map(|edits| Box::new(edits) as Box<dyn Bound>),
            );
            (surface, bound)
        };
        Self { surfaces: surfaces.map(bind).collect(), meters: Vec::new() }
    }

    /// Tells the volumes of segments at every frame.
    pub fn meter(&mut self, rig: &Rig) {
        if self.surfaces.is_empty() {
            let surfaces = (0..rig.characters().len()).filter_map(|character| Surface::new(rig, character));
            self.surfaces = surfaces.map(|surface| (surface, Vec::new())).collect();
        }
        self.meters = self.surfaces.iter().map(|(surface, _)| VolumeMeter::new(surface)).collect();
    }

    pub fn is_empty(&self) -> bool {
        self.surfaces.is_empty()
    }

    pub fn muscles(&self) -> Vec<MuscleReport> {
        self.surfaces.iter().flat_map(|(_, bound)| bound.iter().flat_map(|bound| bound.muscles())).collect()
    }

    /// Corrects `points` in place and says what was done.
    pub fn run(
        &self,
        frame: &CorrectionFrame<'_>,
        points: &mut Points,
        scratch: &mut CorrectScratch,
        report: &mut CorrectionReport,
    ) {
        scratch.0.resize_with(self.surfaces.len(), Work::default);
        for (index, ((surface, bound), work)) in self.surfaces.iter().zip(&mut scratch.0).enumerate() {
            let CorrectionFrame { rig, world, world_from_rest, morphed_rest, effects_rest, .. } = *frame;
            let reach = bound.iter().map(|bound| bound.reach()).max().unwrap_or(Reach::Moving);
            let loaded = BodyFrame { rig, world_from_rest, morphed_rest, effects_rest, reach, points };
            work.body.pose(surface, &loaded);
            if let ([only], []) = (&bound[..], &self.meters[..])
                && !only.needs_nodes()
            {
                let in_rows = RowsFrame { rig, world_from_rest, level: frame.level, pool: frame.pool };
                let mut log = Log { report, correction: 0, character: surface.character, next_volume: None };
                only.apply_in_rows(&in_rows, points, surface, work, &mut log);
                continue;
            }
            if !work.body.is_still() && !work.body.load(surface, &loaded) {
                continue;
            }
            let character = surface.character;
            let place = Place {
                rig,
                world,
                origin: frame.origins[character],
                kinematics: frame.kinematics,
                time: frame.time,
                level: frame.level,
                pool: frame.pool,
            };
            let first_volume = report.volumes.len();
            work.first_volumes.clear();
            for pass in 0..=PASSES {
                let mut new_contacts = 0;
                for (correction, bound) in bound.iter().enumerate() {
                    // The last pass leaves nothing crossed over.
                    if pass == PASSES && !bound.makes_contacts() {
                        continue;
                    }
                    let next_volume = work.first_volumes.get(correction).copied();
                    if next_volume.is_none() {
                        work.first_volumes.push(report.volumes.len());
                    }
                    let mut log = Log { report, correction, character, next_volume };
                    new_contacts += bound.apply(&place, surface, work, &mut log);
                }
                if new_contacts == 0 {
                    break;
                }
            }
            if let Some(meter) = self.meters.get(index) {
                meter.measure(surface, &work.body, &mut report.segments);
            }
            if work.body.is_still() {
                continue;
            }
            for entry in &mut report.volumes[first_volume..] {
                entry.largest_move = match entry.measure {
                    Measure::Whole => work.body.largest_move(),
                    Measure::Segment(bone) => {
                        let segment = surface.segments.iter().position(|segment| segment.bone == bone).unwrap_or(0);
                        let nodes = surface.segment_nodes.of(segment).iter();
                        nodes.map(|&node| work.body.moved(node as usize).length()).fold(0.0, f64::max)
                    }
                };
            }
            work.body.store(surface, points);
        }
    }
}

impl Bound for FoldOver {
    fn apply(&self, place: &Place<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let still = work.body.is_still();
        let points = if still { 0 } else { FoldOver::apply(self, place, surface, &mut work.body, &mut work.limbs) };
        let (correction, character) = (log.correction, log.character);
        let known = |entry: &&mut ContactReport| (entry.correction, entry.character) == (correction, character);
        match log.report.contacts.iter_mut().find(known) {
            Some(entry) => entry.points += points,
            None => log.report.contacts.push(ContactReport { correction, character, points }),
        }
        points
    }

    fn makes_contacts(&self) -> bool {
        true
    }

    fn reach(&self) -> Reach {
        Reach::Moving
    }
}
