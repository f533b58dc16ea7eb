//! The volume correction: of the whole, of the segments, or of both.
//!
//! | file | what it holds |
//! |---|---|
//! | `correction_map` | where volume is put back |
//! | `whole`, `segments` | the volume that a body encloses, and those of its segments, restored on nodes in f64 |
//! | `whole_rows`, `taken`, `patches` | the whole in the rows of a frame, in single precision |
//! | `segment_rows`, `segment_steps` | segments in rows |
//! | `whole_kernels`, `segment_kernels` | their loops |
//! | `sparse_lu` | the Newton steps of segments that meet |
//! | `meter` | the volumes of segments, told |
//!
//! Frames that have volume alone are restored in rows. Beside other corrections it works on nodes, and not only tests do:
//! what came before it has moved nodes in f64 and holds some of them in contact, the list may be run again, and volumes
//! are told of the result. Rows know neither; putting nodes into rows and back between corrections would round every
//! position once more and move frames by that much. The solver of segments is one, over either.

mod correction_map;
mod meter;
mod patches;
mod segment_kernels;
mod segment_rows;
mod segment_steps;
mod segments;
mod sparse_lu;
#[cfg(test)]
mod tests;
mod whole;
mod whole_frame;
mod whole_kernels;
mod whole_rows;

pub(super) use meter::VolumeMeter;

use super::body::{AllWays, Body, Reach, Surface, Ways};
use super::bound::{Binding, Bound, Log, PosedBones, RowsFrame, Work};
use super::entry::{Correction, bones, no_signals};
use super::report::{Measure, Outcome, Restored};
use crate::param::ParamSpec;
use crate::rig::{OfRig, Rig};
use crate::simd::Points;
use crate::skeleton::BoneId;
use correction_map::{CorrectionMap, MapPlan, SHAPES, Shape};
use glam::DVec3;
use segments::{Nodes, SegmentScratch, Strip, restore_segments};
use sparse_lu::SparseLu;
use std::sync::{Arc, OnceLock};
use whole::{Limits, target_volume};
use whole_rows::{Shares, VolumeRows, VolumeScratch};

const SCOPES: &[&str] = &["whole", "segments", "both"];
const STEPS: &[&str] = &["exact", "linear"];

/// The correction `volume`.
pub(super) const VOLUME: Correction = Correction {
    name: "volume",
    about: "restores the volume lost in bends and twists, as bulges of soft tissue",
    params: PARAMS,
    mapped: Some("gain"),
    tables: &[bones("bones whose distance counts for the skin of a bone; by default all")],
    scaled: &[],
    signals: no_signals,
    bind: |binding| Box::new(Volume::bind(binding)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::choice(
        "scope",
        SCOPES,
        "volume that is kept: of the whole; of each segment, an estimate; of the segments, then of the whole",
    ),
    ParamSpec::choice("shape", SHAPES, "where it is put back"),
    ParamSpec::number("alpha", "", [0.0, 8.0], 1.0, "higher is closer to the places that the shape prefers"),
    ParamSpec::number("beta", "", [0.0, 8.0], 1.0, "higher is more where the flesh is thick; not for rubber and even"),
    ParamSpec::number(
        "local",
        "",
        [0.0, 1.0],
        1.0,
        "how far the whole is corrected only where bones bend now, and not at joints that are straight",
    ),
    ParamSpec::number(
        "max_move",
        "× size",
        [0.0, 1.0],
        0.25,
        "no vertex is moved farther (of its segment, where that is corrected); what is missing is told",
    ),
    ParamSpec::choice("step", STEPS, "exact volume, or the paper's single linear step, which overshoots"),
];

/// The volume correction of one character.
pub(super) struct Volume {
    tables: Arc<Tables>,
    whole: bool,
    segments: bool,
    limits: Limits,
    map: CorrectionMap,
    ways: Arc<Ways>,
    /// The map for frames where nothing else asks for nodes.
    shares: Shares,
}

/// What the rig alone decides.
struct Tables {
    rows: VolumeRows,
    lu: SparseLu,
    /// Empty for the whole.
    strips: Vec<Strip>,
}

/// Tables of each character, for the whole and for segments, made when first asked for.
struct AllTables(Vec<[OnceLock<Arc<Tables>>; 2]>);

impl OfRig for AllTables {
    fn of(rig: &Rig) -> Self {
        Self(rig.characters().iter().map(|_| Default::default()).collect())
    }
}

impl AllTables {
    fn of(&self, rig: &Rig, surface: &Surface, segments: bool) -> Arc<Tables> {
        let make = || Tables {
            rows: VolumeRows::new(rig, surface, segments),
            lu: SparseLu::new(&surface.segment_neighbours),
            strips: if segments { Strip::all(surface) } else { Vec::new() },
        };
        Arc::clone(self.0[surface.character][usize::from(segments)].get_or_init(|| Arc::new(make())))
    }
}

/// Memory of the correction.
#[derive(Default)]
struct VolumeWork {
    rows: VolumeScratch,
    eased: Shares,
    segments: SegmentScratch,
}

impl Volume {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, surface, .. } = *binding;
        let segments = by_segments(binding);
        let tables = rig.kept::<AllTables>().of(rig, surface, segments);
        let map = with_plan(binding, |plan| CorrectionMap::new(rig, surface, plan));
        let mut shares = Shares::default();
        shares.set(&tables.rows, surface, &map.gamma);
        let ways = rig.kept::<AllWays>().of(surface);
        Self { tables, whole: is_whole(binding), segments, limits: limits(binding), map, ways, shares }
    }
}

fn is_whole(binding: &Binding<'_>) -> bool {
    binding.values.word("scope") != "segments"
}

/// A body that encloses nothing has only its segments.
fn by_segments(binding: &Binding<'_>) -> bool {
    binding.values.word("scope") != "whole" || !binding.surface.encloses()
}

fn limits(binding: &Binding<'_>) -> Limits {
    let values = binding.values;
    Limits {
        linear: values.word("step") == "linear",
        gain: binding.gain,
        local: values.number("local"),
        max_move: values.number("max_move"),
    }
}

/// What the map is made of.
fn with_plan<R>(binding: &Binding<'_>, work: impl FnOnce(&MapPlan<'_>) -> R) -> R {
    let values = binding.values;
    let bones_of = |bone: BoneId| {
        let found = binding.distances.iter().rev().find(|(segments, _)| segments.contains(&bone));
        found.map(|(_, counted)| counted.as_slice())
    };
    work(&MapPlan {
        shape: Shape::named(values.word("shape")),
        is_plain: values.word("step") == "linear",
        alpha: values.number("alpha"),
        beta: values.number("beta"),
        painted: binding.painted,
        bones_of: &bones_of,
    })
}

impl Volume {
    /// Says where skin must not go far. The paper's step knows no such places.
    fn take_care(&self, surface: &Surface, body: &mut Body, place: impl Fn(&Body, u32) -> DVec3) {
        match body.is_still() || self.limits.linear {
            true => [&mut body.ease, &mut body.most].into_iter().for_each(Vec::clear),
            false => {
                // A segment moves as one: a node that touches other skin would hold all of it.
                let opens_later = body.opens_later;
                body.opens_later |= self.segments;
                body.take_care(surface, &self.ways, None, place);
                body.opens_later = opens_later;
            }
        }
    }

    fn apply_to_nodes(&self, surface: &Surface, body: &mut Body, scratch: &mut SegmentScratch, log: &mut Log<'_>) {
        let encloses = surface.encloses();
        self.take_care(surface, body, |body, node| body.points[node as usize]);
        // What segments are about to change counts as not yet restored.
        let first = encloses && self.whole && self.segments && !body.is_still();
        let before = first.then(|| body.volume(surface));
        if self.segments {
            let mut nodes = Nodes { surface, strips: &self.tables.strips, body, gamma: &self.map.gamma };
            restore_segments(&mut nodes, surface, &self.limits, &self.tables.lu, scratch);
            self.log_segments(surface, &scratch.reports, log);
        }
        if encloses && self.whole {
            let restored = whole::restore(surface, body, &self.map.gamma, &self.limits);
            log.volume(Measure::Whole, &Restored { before: before.unwrap_or(restored.before), ..restored });
        } else if self.whole {
            log.volume(Measure::Whole, &OPEN);
        }
    }

    fn log_segments(&self, surface: &Surface, reports: &[Restored], log: &mut Log<'_>) {
        for (segment, restored) in surface.segments.iter().zip(reports) {
            log.volume(Measure::Segment(segment.bone), restored);
        }
    }
}

/// Of a body that encloses nothing.
const OPEN: Restored = Restored { target: 0.0, before: 0.0, after: 0.0, rounds: 0, outcome: Outcome::Open };

impl Bound for Volume {
    fn can_follow(&self, binding: &Binding<'_>, _: bool) -> bool {
        self.segments == by_segments(binding)
    }

    fn retune(&mut self, binding: &Binding<'_>, repainted: bool) {
        let Binding { rig, surface, .. } = *binding;
        (self.whole, self.limits) = (is_whole(binding), limits(binding));
        if with_plan(binding, |plan| self.map.retune(rig, surface, plan, repainted)) {
            self.shares.set(&self.tables.rows, surface, &self.map.gamma);
        }
    }

    fn apply(&self, _: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let Work { body, memory } = work;
        memory.with(|own: &mut VolumeWork| self.apply_to_nodes(surface, body, &mut own.segments, log));
        0
    }

    fn reach(&self) -> Reach {
        if self.whole && self.limits.local < 1.0 { Reach::Whole } else { Reach::Moving }
    }

    fn needs_nodes(&self) -> bool {
        false
    }

    fn apply_in_rows(
        &self,
        frame: &RowsFrame<'_>,
        points: &mut Points,
        surface: &Surface,
        work: &mut Work,
        log: &mut Log<'_>,
    ) {
        let Work { body, memory } = work;
        memory.with(|own| self.restore_in_rows(frame, points, surface, (body, own), log));
    }
}

impl Volume {
    fn restore_in_rows(
        &self,
        frame: &RowsFrame<'_>,
        points: &mut Points,
        surface: &Surface,
        (body, own): (&mut Body, &mut VolumeWork),
        log: &mut Log<'_>,
    ) {
        let VolumeWork { rows, eased, segments } = own;
        if body.is_still() {
            // Looks at none.
            self.apply_to_nodes(surface, body, segments, log);
            return;
        }
        let target = target_volume(surface, body);
        body.activate(surface);
        let place = |node: u32| {
            let slots = surface.members.of(node as usize);
            slots.iter().map(|&slot| points.get(slot as usize).as_dvec3()).sum::<DVec3>() / slots.len() as f64
        };
        self.take_care(surface, body, |_, node| place(node));
        eased.ease(&self.shares, &self.tables.rows, body);
        let Some(mut taken) = self.tables.rows.take(eased, surface, body, frame, points, rows) else { return };
        if self.segments && !restore_segments(&mut taken, surface, &self.limits, &self.tables.lu, segments) {
            return;
        }
        let whole = match (self.whole, surface.encloses()) {
            (false, _) => None,
            (true, false) => Some(OPEN),
            (true, true) => match taken.restore(target, &self.limits) {
                None => return,
                restored => restored,
            },
        };
        let first = log.report.volumes.len();
        if self.segments {
            self.log_segments(surface, &segments.reports, log);
        }
        whole.iter().for_each(|whole| log.volume(Measure::Whole, whole));
        let largest = taken.store(&mut segments.largest_moves);
        let by_segment = segments.largest_moves.iter().copied().filter(|_| self.segments);
        let entries = &mut log.report.volumes[first..];
        entries.iter_mut().zip(by_segment.chain([largest])).for_each(|(entry, largest)| entry.largest_move = largest);
    }
}
