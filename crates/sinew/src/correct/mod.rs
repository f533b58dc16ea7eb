//! Corrections: whole mesh → whole mesh, in order, after the displacements.
//!
//! Each line reads only those above it.
//!
//! | file or folder | what it holds |
//! |---|---|
//! | `body/` | the welded body of a character: caps, segments, rest shape; that body at one frame; where its skin folds |
//! | [`surface_edit`], `muscle_spec`, `report` | plain data: what an edit is, what muscles are asked for, what was done |
//! | `bound` | what every correction is given and does |
//! | `entry` | a correction as the list has it, and as a recipe asks for it |
//! | `volume/` | volumes kept, of the whole and of segments, and told |
//! | `flesh` | where a body has flesh that swings |
//! | `fold_over` | skin in contact where joints bend |
//! | `vortex_muscles` | flesh that swings and bulges |
//! | `edits/` | edits of a recipe on a character, and growth along bones |
//! | `springs/` | springs between neighbours and bones; with history, skin that swings |
//!
//! After skin was brought into contact the other corrections are run once more: volume puts back what that took. Sums run
//! in f64 in index order.
//!
//! **Adding a correction** is a file here with its [`Correction`], its lines in this one (the module, and
//! [`CORRECTIONS`]), and its oracle test. Recipes, the template, the command line, benchmarks and conformance find it, its
//! tables and the signals it reads by themselves.

mod body;
mod bound;
mod edits;
mod entry;
mod flesh;
mod fold_over;
mod muscle_spec;
mod report;
mod springs;
pub mod surface_edit;
mod volume;
mod vortex_muscles;

/// Every correction, in the order of the manual.
pub static CORRECTIONS: &[Correction] =
    &[volume::VOLUME, fold_over::FOLD_OVER, vortex_muscles::MUSCLES, springs::SPRINGS, edits::BULGE];

/// The correction of that name.
pub fn find(name: &str) -> Option<&'static Correction> {
    CORRECTIONS.iter().find(|correction| correction.name == name)
}

pub(crate) use body::{AllWays, smoothstep, surface};
pub(crate) use edits::{EditRequest, Field, Fields};
pub use entry::Correction;
pub(crate) use entry::{BONES, CorrectionRequest};
pub use report::{ContactReport, CorrectionReport, Measure, MuscleReport, Outcome, SegmentVolume, VolumeReport};
pub(crate) use springs::{Swing, SwingState, SwingWork, Swung};

use crate::motion::Kinematics;
use crate::pose::WorldPose;
use crate::recipe::EditSpec;
use crate::rig::Rig;
use crate::simd::{Level, Points};
use body::{BodyFrame, Reach, Surface, Surfaces};
use bound::{Binding, Bound, EditList, Log, PosedBones, RowsFrame, Work};
use edits::{BoundEdits, DirectEdits};
use glam::{DAffine3, DVec3};
use std::fmt;
use std::sync::Arc;
use volume::VolumeMeter;

/// Memory for all characters.
#[derive(Clone, Debug, Default)]
pub(crate) struct CorrectScratch(Vec<CharacterScratch>);

/// Memory for one character.
#[derive(Clone, Debug, Default)]
struct CharacterScratch {
    work: Work,
    /// Per correction, its first entry in the report.
    first_volumes: Vec<usize>,
}

/// A body with what corrects it.
type Corrected = (Arc<Surface>, Vec<Box<dyn Bound>>);

/// The corrections of a recipe, bound to a rig.
pub(crate) struct Corrections {
    /// Per body: what the recipe asks for, in order, then direct edits where any reach it.
    surfaces: Vec<Corrected>,
    /// Number of corrections asked for.
    asked: usize,
    /// Per surface, where segments are to be told.
    meters: Vec<VolumeMeter>,
}

impl fmt::Debug for Corrections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Corrections").field("surfaces", &self.surfaces.len()).finish_non_exhaustive()
    }
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
    /// What swings.
    pub swung: &'a Swung,
    /// Start and period of a loop.
    pub cycle: Option<(f64, f64)>,
    /// Instruction set.
    pub level: Level,
    /// Threads; `None` = the caller's own.
    pub pool: Option<&'a rayon::ThreadPool>,
}

fn binding<'a>(
    rig: &'a Rig,
    surface: &'a Surface,
    asked: &'a CorrectionRequest<'_>,
    edits: &'a EditList,
) -> Binding<'a> {
    let CorrectionRequest { values, gain, painted, distances, tables, signals, painted_factors, .. } = asked;
    let (gain, painted) = (*gain, *painted);
    Binding { rig, surface, values, gain, painted, distances, tables, signals, painted_factors, edits }
}

impl Corrections {
    pub fn build(rig: &Rig, asked: &[CorrectionRequest<'_>], edits: &[EditRequest<'_>]) -> Self {
        let mut corrections = Self { surfaces: Vec::new(), asked: asked.len(), meters: Vec::new() };
        if asked.is_empty() && edits.is_empty() {
            return corrections;
        }
        for surface in rig.kept::<Surfaces>().iter() {
            let BoundEdits { direct, sprung } = BoundEdits::new(rig, surface, edits);
            let bind = |asked: &CorrectionRequest<'_>| (asked.correction.bind)(&binding(rig, surface, asked, &sprung));
            let mut bound: Vec<Box<dyn Bound>> = asked.iter().map(bind).collect();
            bound.extend(DirectEdits::new(rig, surface, &direct).map(|edits| Box::new(edits) as Box<dyn Bound>));
            corrections.surfaces.push((Arc::clone(surface), bound));
        }
        corrections
    }

    /// Whether one of them can follow other values, gains and maps in place.
    pub fn can_follow(&self, rig: &Rig, index: usize, asked: &CorrectionRequest<'_>, repainted: bool) -> bool {
        let none = EditList::default();
        let can_follow =
            |(surface, bound): &Corrected| bound[index].can_follow(&binding(rig, surface, asked, &none), repainted);
        self.surfaces.iter().all(can_follow)
    }

    /// Lets it.
    pub fn retune(&mut self, rig: &Rig, index: usize, asked: &CorrectionRequest<'_>, repainted: bool) {
        let none = EditList::default();
        for (surface, bound) in &mut self.surfaces {
            bound[index].retune(&binding(rig, surface, asked, &none), repainted);
        }
    }

    /// Follows other amounts and stiffnesses of edits.
    pub fn retune_edits(&mut self, specs: &[EditSpec]) {
        self.surfaces.iter_mut().flat_map(|(_, bound)| bound).for_each(|bound| bound.retune_edits(specs));
    }

    /// Follows edits of other shapes.
    pub fn redraw(&mut self, rig: &Rig, edits: &[EditRequest<'_>]) {
        for (surface, bound) in &mut self.surfaces {
            let BoundEdits { direct, sprung } = BoundEdits::new(rig, surface, edits);
            bound.truncate(self.asked);
            bound.iter_mut().for_each(|bound| bound.draw_to(rig, surface, &sprung));
            bound.extend(DirectEdits::new(rig, surface, &direct).map(|edits| Box::new(edits) as Box<dyn Bound>));
        }
    }

    /// Tells the volumes of segments at every frame.
    pub fn meter(&mut self, rig: &Rig) {
        if self.surfaces.is_empty() {
            self.surfaces = rig.kept::<Surfaces>().iter().map(|surface| (Arc::clone(surface), Vec::new())).collect();
        }
        self.meters = self.surfaces.iter().map(|(surface, _)| VolumeMeter::new(surface)).collect();
    }

    pub fn is_empty(&self) -> bool {
        self.surfaces.is_empty()
    }

    /// The first, in the order they are asked for, that is more than a map of each node which bones and time alone decide
    /// ([`Corrections::remap`]); direct edits stand behind them. `None` where none is.
    pub fn first_beyond_maps(&self) -> Option<usize> {
        let beyond = |(_, bound): &Corrected| bound.iter().position(|bound| !bound.remaps());
        self.surfaces.iter().filter_map(beyond).min()
    }

    /// Whether segments are told.
    pub fn is_metered(&self) -> bool {
        !self.meters.is_empty()
    }

    /// What is done to the nodes that anything is done to, where that is a map of each, with about where each is; nodes are
    /// numbered on over all surfaces ([`Surfaces`]).
    pub fn remap(
        &self,
        frame: &CorrectionFrame<'_>,
        points: &Points,
        scratch: &mut CorrectScratch,
        maps: &mut Vec<DAffine3>,
        mut tell: impl FnMut(usize, DVec3, &DAffine3),
    ) {
        scratch.0.resize_with(self.surfaces.len(), CharacterScratch::default);
        let mut first = 0;
        for ((surface, bound), CharacterScratch { work, .. }) in self.surfaces.iter().zip(&mut scratch.0) {
            let CorrectionFrame { rig, world_from_rest, morphed_rest, effects_rest, .. } = *frame;
            let reach = bound.iter().map(|bound| bound.reach()).max().unwrap_or(Reach::Moving);
            work.body.pose(surface, &BodyFrame { rig, world_from_rest, morphed_rest, effects_rest, reach, points });
            maps.clear();
            maps.resize(surface.nodes(), DAffine3::IDENTITY);
            bound.iter().for_each(|bound| bound.remap(frame.time, surface, work, maps));
            let changed = maps.iter().enumerate().filter(|(_, map)| **map != DAffine3::IDENTITY);
            for (node, map) in changed {
                let (bind, bones) = (work.body.bind(surface)[node], &work.body.from_bind);
                let carry = |&(entry, w): &(u32, f64)| bones[entry as usize].transform_point3(bind) * w;
                tell(first + node, surface.influences_of(node).iter().map(carry).sum(), map);
            }
            first += surface.nodes();
        }
    }

    pub fn muscles(&self) -> Vec<MuscleReport> {
        self.surfaces.iter().flat_map(|(_, bound)| bound.iter().flat_map(|bound| bound.muscles())).collect()
    }

    /// The skins that swing: character, place of the correction, and how.
    pub fn swings(&self) -> impl Iterator<Item = (usize, usize, &Swing)> {
        self.surfaces.iter().flat_map(|(surface, bound)| {
            let each = bound.iter().enumerate();
            each.filter_map(|(correction, bound)| Some((surface.character, correction, bound.swing()?)))
        })
    }

    /// Corrects `points` in place and says what was done.
    pub fn run(
        &self,
        frame: &CorrectionFrame<'_>,
        points: &mut Points,
        scratch: &mut CorrectScratch,
        report: &mut CorrectionReport,
    ) {
        scratch.0.resize_with(self.surfaces.len(), CharacterScratch::default);
        for (index, ((surface, bound), scratch)) in self.surfaces.iter().zip(&mut scratch.0).enumerate() {
            let CharacterScratch { work, first_volumes } = scratch;
            let CorrectionFrame { rig, world, world_from_rest, morphed_rest, effects_rest, .. } = *frame;
            let reach = bound.iter().map(|bound| bound.reach()).max().unwrap_or(Reach::Moving);
            let loaded = BodyFrame { rig, world_from_rest, morphed_rest, effects_rest, reach, points };
            work.body.pose(surface, &loaded);
            if let ([only], []) = (&bound[..], &self.meters[..])
                && !only.needs_nodes()
            {
                let in_rows = RowsFrame { rig, world_from_rest, level: frame.level, pool: frame.pool };
                work.body.opens_later = false;
                let mut log = Log { report, correction: 0, character: surface.character, next_volume: None };
                only.apply_in_rows(&in_rows, points, surface, work, &mut log);
                continue;
            }
            if !work.body.is_still() && !work.body.load(surface, &loaded) {
                continue;
            }
            let character = surface.character;
            let place = PosedBones {
                rig,
                world,
                origin: frame.origins[character],
                origins: frame.origins,
                world_from_rest,
                morphed_rest,
                kinematics: frame.kinematics,
                time: frame.time,
                swung: frame.swung,
                cycle: frame.cycle,
                level: frame.level,
                pool: frame.pool,
            };
            let first_volume = report.volumes.len();
            first_volumes.clear();
            let opens = bound.iter().any(|bound| bound.makes_contacts());
            for is_later in [false, true] {
                let mut contacts = 0;
                // What folds is not yet where it will be.
                work.body.opens_later = opens && !is_later;
                for (correction, bound) in bound.iter().enumerate() {
                    if is_later && bound.makes_contacts() {
                        continue;
                    }
                    let next_volume = first_volumes.get(correction).copied();
                    if next_volume.is_none() {
                        first_volumes.push(report.volumes.len());
                    }
                    let mut log = Log { report, correction, character, next_volume };
                    contacts += bound.apply(&place, surface, work, &mut log);
                }
                if contacts == 0 {
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
