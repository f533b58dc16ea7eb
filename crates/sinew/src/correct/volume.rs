//! The volume correction: of the whole, of the segments, or of both.

use super::body::Reach;
use super::correction_map::{MapPlan, SHAPES, Shape, correction_map};
use super::fold_over::Place;
use super::local_volume::{self, Limits, Restored};
use super::segment_volume::restore_segments;
use super::sparse_lu::SparseLu;
use super::surface::Surface;
use super::volume_rows::{RowsFrame, VolumeRows};
use super::{Binding, Bound, Log, Measure, Outcome, Work};
use crate::param::ParamSpec;
use crate::simd::Points;
use crate::skeleton::BoneId;

const SCOPES: &[&str] = &["whole", "segments", "both"];
const STEPS: &[&str] = &["exact", "linear"];

pub(super) const VOLUME_PARAMS: &[ParamSpec] = &[
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
    whole: bool,
    segments: bool,
    limits: Limits,
    gamma: Vec<f64>,
    lu: SparseLu,
    /// For what needs no nodes.
    rows: Option<VolumeRows>,
}

impl Volume {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, rest, surface, values, .. } = *binding;
        let word = |name: &str| values.word(name);
        let scope = word("scope");
        let bones_of = |bone: BoneId| {
            let found = binding.distances.iter().rev().find(|(segments, _)| segments.contains(&bone));
            found.map(|(_, counted)| counted.as_slice())
        };
        let plan = MapPlan {
            shape: Shape::named(word("shape")),
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            painted: binding.painted,
            bones_of: &bones_of,
        };
        let mut gamma = correction_map(rig, rest, surface, &plan);
        for (gamma, is_rider) in gamma.iter_mut().zip(binding.rider_nodes()) {
            if is_rider {
                *gamma = 0.0;
            }
        }
        let alone = scope == "whole" && surface.encloses();
        Self {
            rows: alone.then(|| VolumeRows::new(rig, surface, &gamma)),
            whole: scope != "segments",
            segments: scope != "whole",
            limits: Limits {
                linear: word("step") == "linear",
                gain: binding.gain,
                local: values.number("local"),
                max_move: values.number("max_move"),
            },
            gamma,
            lu: SparseLu::new(&surface.segment_neighbours),
        }
    }
}

impl Bound for Volume {
    fn apply(&self, _: &Place<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let encloses = surface.encloses();
        // What segments are about to change counts as not yet restored.
        let first = encloses && self.whole && self.segments && !work.body.is_still();
        let before = first.then(|| work.body.volume(surface));
        if self.segments || !encloses {
            restore_segments(surface, &mut work.body, &self.gamma, &self.limits, &self.lu, &mut work.segments);
            for (segment, restored) in surface.segments.iter().zip(&work.segments.reports) {
                log.volume(Measure::Segment(segment.bone), restored);
            }
        }
        if encloses && self.whole {
            let restored = local_volume::restore(surface, &mut work.body, &self.gamma, &self.limits);
            log.volume(Measure::Whole, &Restored { before: before.unwrap_or(restored.before), ..restored });
        } else if self.whole {
            let open = Restored { target: 0.0, before: 0.0, after: 0.0, rounds: 0, outcome: Outcome::Open };
            log.volume(Measure::Whole, &open);
        }
        0
    }

    fn reach(&self) -> Reach {
        if self.whole && self.limits.local < 1.0 { Reach::Whole } else { Reach::Moving }
    }

    fn needs_nodes(&self) -> bool {
        self.rows.is_none()
    }

    fn apply_in_rows(
        &self,
        frame: &RowsFrame<'_>,
        points: &mut Points,
        surface: &Surface,
        work: &mut Work,
        log: &mut Log<'_>,
    ) {
        let Some(rows) = &self.rows else { return };
        let Work { body, volume, .. } = work;
        if let Some((restored, largest_move)) = rows.restore(surface, body, &self.limits, frame, points, volume) {
            log.volume(Measure::Whole, &restored);
            log.report.volumes.iter_mut().last().into_iter().for_each(|entry| entry.largest_move = largest_move);
        }
    }
}
