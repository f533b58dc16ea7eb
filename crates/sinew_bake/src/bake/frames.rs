//! Frames of all clips as the bake sees them, each evaluated once as long as memory lasts.

use super::Run;
use crate::BakeFailure;
use crate::pulled::{Pulled, Wanted, each_frame};
use std::sync::Arc;

/// Bytes of frames that are held, where so much can be addressed with room to spare. What does not fit is evaluated whenever
/// it is looked at.
const HELD_BYTES: usize = if usize::BITS > 32 { 1 << 30 } else { 256 << 20 };
/// Samples that normals are fitted to and measured at, over all clips: up to twice as many.
const FITTED: usize = 384;
/// With more samples than this every second one will do: what lies between two looks much like both.
const FITTED_ALL: usize = 128;

/// Frames looked at together at the least: what is done with all targets is done for so many of them at once.
const LEAST_BLOCK: usize = 16;

/// One frame, group by group.
#[derive(Debug)]
pub(super) struct Frame {
    pub groups: Vec<Pulled>,
    /// Weights of the file's own morphs.
    pub morphs: Vec<f32>,
}

/// Frames that are held, by clip and place of its grid.
pub(super) struct Frames {
    held: Vec<Vec<Option<Arc<Frame>>>>,
    left: usize,
}

impl Frames {
    pub(super) fn new(run: &Run<'_>) -> Self {
        let none = run.grids.iter().map(|grid| vec![None; grid.times.len()]);
        Self { held: none.collect(), left: HELD_BYTES }
    }
}

impl Run<'_> {
    /// Whether normals are looked at there.
    pub(super) fn is_fitted(&self, place: usize) -> bool {
        let samples = self.samples();
        let stride = (samples / FITTED).max(if samples > FITTED_ALL { 2 } else { 1 });
        place.is_multiple_of(2) && (place / 2).is_multiple_of(stride)
    }

    /// Frames at places of a clip's grid, in order; on all cores where they are not held.
    pub(super) fn look(
        &self,
        frames: &mut Frames,
        clip: usize,
        places: &[usize],
        what: &'static str,
    ) -> Result<Vec<Arc<Frame>>, BakeFailure> {
        let grid = &self.grids[clip];
        let mut missing: Vec<usize> = places.iter().map(|&place| grid.shown(place)).collect();
        missing.retain(|&place| frames.held[clip][place].is_none());
        missing.sort_unstable();
        missing.dedup();
        let times: Vec<f64> = missing.iter().map(|&place| grid.times[place]).collect();
        let wanted = |at: usize| if self.is_fitted(missing[at]) { Wanted::Directions } else { Wanted::Positions };
        let found = self.evaluate(clip, &times, wanted, what)?;
        let found: Vec<(usize, Arc<Frame>)> = missing.into_iter().zip(found).collect();
        for (place, frame) in &found {
            let bytes: usize = frame.groups.iter().map(Pulled::bytes).sum();
            if bytes <= frames.left {
                frames.left -= bytes;
                frames.held[clip][*place] = Some(Arc::clone(frame));
            }
        }
        let at = |&place: &usize| {
            let new =
                || found.iter().find(|(other, _)| *other == grid.shown(place)).map(|(_, frame)| Arc::clone(frame));
            frames.held[clip][grid.shown(place)].clone().or_else(new)
        };
        Ok(places.iter().filter_map(at).collect())
    }

    /// Frames at any moments of a clip.
    pub(super) fn evaluate(
        &self,
        clip: usize,
        times: &[f64],
        wanted: impl Fn(usize) -> Wanted + Sync,
        what: &'static str,
    ) -> Result<Vec<Arc<Frame>>, BakeFailure> {
        each_frame(&self.motions[clip], times, wanted, |at, workspace| {
            self.meter.frame(what);
            let pull = |group| self.pull(group, clip, times[at], workspace);
            let groups = self.groups.iter().map(pull).collect::<Result<_, _>>()?;
            Ok(Arc::new(Frame { groups, morphs: workspace.pose().morph_weights.clone() }))
        })
    }

    /// Places looked at together: as many as fit.
    pub(super) fn block(&self) -> usize {
        let of_group = |group: &crate::pulled::PulledGroup| {
            48 * group.group.points.len() + group.fields.iter().map(|field| 12 * field.len()).sum::<usize>()
        };
        let bytes: usize = self.groups.iter().map(of_group).sum();
        (super::BLOCK_BYTES / bytes.max(1)).clamp(LEAST_BLOCK, 64)
    }
}
