//! What the flesh of a limb feels: accelerations in the bone's own frame, and which way is up.
//!
//! Source: METHODS 2 and 6. A point p of a bone's frame M accelerates by `M a_p = a + ([α]× + [ω]×²) (M p − o)` in the
//! world, a, ω, α those of the bone itself, added up along its chain with the Coriolis terms: so it feels
//! `M⁻¹a + (M⁻¹ ([α]× + [ω]×²) M) p`, one vector and three columns, whatever p. Driven by these, the oscillator of a muscle
//! runs once per bone. In the bone's own frame a loop needs no turn at its seam, not even one that walks in a circle.
//! Runs start quasi-statically in what lasts, gravity, and from nothing in what moves; loops start where they end.
//! Oracle: second differences of world positions; one step is many small ones.

use super::filter::{FilterGrid, FilteredSignal, State};
use super::kinematics::{BoneMotion, Signal};
use super::timeline::{Ends, Timeline};
use crate::pose::WorldPose;
use crate::skeleton::Skeleton;
use glam::{DMat2, DQuat, DVec3};
use std::sync::OnceLock;

/// The parts of what a bone feels, in the order of their signals.
pub(super) const PARTS: usize = 5;
/// Nodes of history per second: muscles swing at 12 Hz at most.
const NODES_PER_SECOND: f64 = 120.0;

impl Signal {
    /// Its place among what a bone feels.
    pub(super) fn felt_part(self) -> Option<usize> {
        match self {
            Self::FeltAcceleration => Some(0),
            Self::FeltStrainX => Some(1),
            Self::FeltStrainY => Some(2),
            Self::FeltStrainZ => Some(3),
            Self::FeltUp => Some(4),
            _ => None,
        }
    }
}

/// Motion of a bone itself, not relative to its parent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    angular_velocity: DVec3,
    angular_acceleration: DVec3,
    acceleration: DVec3,
}

/// What each bone feels, from the motions relative to parents, in world axes. `whole` is scratch.
pub(super) fn felt(
    skeleton: &Skeleton,
    world: &WorldPose,
    bones: &[BoneMotion],
    whole: &mut Vec<Whole>,
    out: &mut Vec<[DVec3; PARTS]>,
) {
    whole.clear();
    out.clear();
    for (bone, motion) in skeleton.bones().zip(bones) {
        let (above, arm) = match skeleton.parent(bone) {
            Some(parent) => (whole[parent.index()], world.joint_origin(bone) - world.joint_origin(parent)),
            None => (Whole::default(), DVec3::ZERO),
        };
        let spin = above.angular_velocity;
        let here = Whole {
            angular_velocity: spin + motion.angular_velocity,
            angular_acceleration: above.angular_acceleration
                + motion.angular_acceleration
                + spin.cross(motion.angular_velocity),
            acceleration: above.acceleration
                + above.angular_acceleration.cross(arm)
                + spin.cross(spin.cross(arm))
                + spin.cross(motion.linear_velocity) * 2.0
                + motion.linear_acceleration,
        };
        whole.push(here);
        let axes = world.world_from_bone(bone).matrix3;
        let inverse = axes.inverse();
        let strain = |axis: DVec3| {
            let arm = axes * axis;
            let omega = here.angular_velocity;
            inverse * (here.angular_acceleration.cross(arm) + omega.cross(omega.cross(arm)))
        };
        let parts =
            [inverse * here.acceleration, strain(DVec3::X), strain(DVec3::Y), strain(DVec3::Z), inverse * DVec3::Y];
        // A bone scaled to nothing feels nothing.
        out.push(parts.map(|part| if part.is_finite() { part } else { DVec3::ZERO }));
    }
}

/// The filters that read what bones feel, run over a clip.
#[derive(Clone, Debug)]
pub(super) struct FeltRuns {
    /// Places in the caller's list, and what stands there.
    entries: Vec<(usize, usize, FilteredSignal)>,
    grid: FilterGrid,
    /// Node by node, bone by bone: the inputs, then value and rate of each entry; run when first asked for.
    history: OnceLock<Box<[DVec3]>>,
}

impl FeltRuns {
    pub fn new(filtered: &[FilteredSignal], start: f64, end: f64) -> Self {
        let part = |(place, entry): (usize, &FilteredSignal)| Some((place, entry.signal.felt_part()?, *entry));
        let entries = filtered.iter().enumerate().filter_map(part).collect();
        Self { entries, grid: FilterGrid::with_rate(start, end, NODES_PER_SECOND), history: OnceLock::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn width(&self) -> usize {
        if self.entries.is_empty() { 0 } else { PARTS + 2 * self.entries.len() }
    }

    /// Bytes of history.
    pub fn bytes(&self, bones: usize) -> u128 {
        (self.grid.intervals() as u128 + 1) * bones as u128 * self.width() as u128 * size_of::<DVec3>() as u128
    }

    /// Writes the filtered values at `t`, where bones feel `now`; `sample` tells what they feel at any time.
    pub fn filtered(
        &self,
        t: f64,
        now: &[[DVec3; PARTS]],
        timeline: &Timeline,
        sample: impl FnMut(f64, &mut Vec<[DVec3; PARTS]>),
        columns: &mut [Vec<DVec3>],
    ) {
        let bones = now.len();
        let history = self.history.get_or_init(|| self.run(bones, timeline, sample));
        let width = self.width();
        let node = self.grid.node_before(t);
        let begin = self.grid.time(node);
        let cut = !timeline.marks_in(begin, t).is_empty();
        for (index, &(place, part, entry)) in self.entries.iter().enumerate() {
            let step = entry.filter.kernel().step(t - begin);
            for bone in 0..bones {
                let x = now[bone][part];
                let state = match history.get((node * bones + bone) * width..) {
                    Some(stored) if !cut && stored.len() >= width => {
                        step.apply(state_of(stored, index), stored[part], x)
                    }
                    _ => restart(part, x, timeline),
                };
                columns[place][bone] = entry.filter.read(state);
            }
        }
    }

    fn run(
        &self,
        bones: usize,
        timeline: &Timeline,
        mut sample: impl FnMut(f64, &mut Vec<[DVec3; PARTS]>),
    ) -> Box<[DVec3]> {
        let (width, nodes) = (self.width(), self.grid.intervals() + 1);
        let starts_anew = !timeline.loops || timeline.marks.first() == Some(&timeline.start);
        let steps: Vec<_> = self.entries.iter().map(|(_, _, e)| e.filter.kernel().step(self.grid.spacing())).collect();
        let mut history = vec![DVec3::ZERO; nodes * bones * width];
        let mut inputs = Vec::new();
        for node in 0..nodes {
            let time = self.grid.time(node);
            sample(time, &mut inputs);
            let cut = node > 0 && !timeline.marks_in(self.grid.time(node - 1), time).is_empty();
            let (past, here) = history.split_at_mut(node * bones * width);
            let past = past.len().checked_sub(bones * width).map(|start| &past[start..]);
            for (bone, stored) in here.chunks_exact_mut(width).take(bones).enumerate() {
                stored[..PARTS].copy_from_slice(&inputs[bone]);
                for (index, &(_, part, _)) in self.entries.iter().enumerate() {
                    let x = inputs[bone][part];
                    let state = match past {
                        Some(past) if !cut => {
                            let past = &past[bone * width..];
                            steps[index].apply(state_of(past, index), past[part], x)
                        }
                        None if !starts_anew => State::ZERO,
                        _ => restart(part, x, timeline),
                    };
                    store(state, stored, index);
                }
            }
        }
        if !starts_anew {
            self.close(&mut history, bones, timeline);
        }
        history.into_boxed_slice()
    }

    /// The filters are linear: a run from 0 becomes the periodic one by adding what is left of the right start.
    fn close(&self, history: &mut [DVec3], bones: usize, timeline: &Timeline) {
        let width = self.width();
        let last = self.grid.intervals();
        let first_mark = timeline.marks.first().copied();
        for (index, (_, _, entry)) in self.entries.iter().enumerate() {
            let kernel = entry.filter.kernel();
            let period = kernel.period(timeline.length());
            let starts: Vec<State> = (0..bones)
                .map(|bone| {
                    let end = state_of(&history[(last * bones + bone) * width..], index);
                    // After a cut the end no longer knows the start.
                    if first_mark.is_some() { end } else { period.start(end, DQuat::IDENTITY) }
                })
                .collect();
            for node in 0..=last {
                let time = self.grid.time(node);
                let transition = kernel.transition(time - timeline.start);
                if transition == DMat2::ZERO || first_mark.is_some_and(|mark| time >= mark) {
                    break;
                }
                for (bone, start) in starts.iter().enumerate() {
                    let stored = &mut history[(node * bones + bone) * width..][..width];
                    store(state_of(stored, index) + start.carried(transition), stored, index);
                }
            }
        }
    }
}

/// A filter at a start or after a cut.
fn restart(part: usize, x: DVec3, timeline: &Timeline) -> State {
    let lasts = Some(part) == Signal::FeltUp.felt_part();
    if lasts || timeline.ends == Ends::Continue { State::steady(x) } else { State::ZERO }
}

fn state_of(stored: &[DVec3], index: usize) -> State {
    State { value: stored[PARTS + 2 * index], rate: stored[PARTS + 2 * index + 1] }
}

fn store(state: State, stored: &mut [DVec3], index: usize) {
    stored[PARTS + 2 * index] = state.value;
    stored[PARTS + 2 * index + 1] = state.rate;
}
