//! One moving bone over the whole clip: its rates at any time, and the filters run over them.

use super::derivatives::RateCurve;
use super::kinematics::{BoneMotion, Signal};
use super::time_filter::{FilterGrid, FilteredSignal, TimeFilter};
use super::timeline::{Ends, Timeline, Visible};
use crate::skeleton::BoneId;
use glam::{DQuat, DVec3};
use std::sync::OnceLock;

/// What all bones of a clip share.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub timeline: Timeline,
    pub grid: FilterGrid,
    /// The signals whose filters keep a history, with their place in the caller's list.
    pub histories: Vec<(usize, FilteredSignal)>,
}

impl Clock {
    /// Bytes of history per moving bone.
    pub fn bytes_per_bone(&self) -> u128 {
        (self.grid.intervals() as u128 + 1) * self.histories.len() as u128 * size_of::<DVec3>() as u128
    }
}

#[derive(Clone, Debug)]
pub(super) struct MovingBone {
    pub bone: BoneId,
    pub linear: RateCurve,
    pub angular: RateCurve,
    /// The turn of the signals from one period to the next.
    pub seam: DQuat,
    /// Angular velocity of the frame the rates are given in: a turning walk's, zero otherwise.
    pub frame_spin: DVec3,
    /// Filtered values at the grid's nodes, node by node; run when first asked for.
    pub history: OnceLock<Box<[DVec3]>>,
}

impl MovingBone {
    /// From the frame the rates are given in to the parent's frame.
    pub fn turn(&self, t: f64, timeline: &Timeline) -> DQuat {
        DQuat::from_scaled_axis(self.frame_spin * (t - timeline.start))
    }

    /// Rates at `t`.
    pub fn motion(&self, t: f64, timeline: &Timeline) -> BoneMotion {
        self.motion_seeing(t, timeline.visible(t), timeline)
    }

    fn motion_seeing(&self, t: f64, visible: Visible, timeline: &Timeline) -> BoneMotion {
        let linear = self.linear.rates(t, visible, timeline, self.seam);
        let angular = self.angular.rates(t, visible, timeline, self.seam);
        BoneMotion {
            linear_velocity: linear.rate,
            angular_velocity: angular.rate,
            linear_acceleration: linear.derivative,
            angular_acceleration: angular.derivative,
        }
    }

    /// Filtered values at `t`, where the bone moves as `now`; calls `emit` with the place in the caller's list.
    pub fn filtered(
        &self,
        t: f64,
        now: &BoneMotion,
        clock: &Clock,
        mut emit: impl FnMut(usize, FilteredSignal, DVec3),
    ) {
        if clock.histories.is_empty() {
            return;
        }
        let history = self.history.get_or_init(|| self.run_filters(clock));
        let node = clock.grid.node_before(t);
        let node_time = clock.grid.time(node);
        let values = &history[node * clock.histories.len()..];
        let advance = Advance::new(self, clock, node_time, t, || self.motion(node_time, &clock.timeline));
        for (&(place, entry), &y) in clock.histories.iter().zip(values) {
            emit(place, entry, advance.value(entry, y, now));
        }
    }

    /// The filters at a start or just after a teleport: what smoothing lets through before it, seen from after it.
    fn restart(&self, at: f64, signal: Signal, filter: TimeFilter, timeline: &Timeline) -> DVec3 {
        let visible = timeline.visible(at);
        let motion = |t| self.motion_seeing(t, visible, timeline).get(signal);
        match timeline.ends {
            Ends::Continue => motion(at),
            Ends::Rest => {
                let lead = timeline.reach();
                let steps = (480.0 * lead).ceil().clamp(0.0, 480.0);
                let (mut y, mut from) = (DVec3::ZERO, DVec3::ZERO);
                for k in 1..=steps as u32 {
                    let to = motion(at - lead * (1.0 - f64::from(k) / steps));
                    y = filter.step(lead / steps).apply(y, from, to);
                    from = to;
                }
                y
            }
        }
    }

    /// Runs all histories over the grid.
    fn run_filters(&self, clock: &Clock) -> Box<[DVec3]> {
        let Clock { timeline, grid, histories } = clock;
        let starts_anew = !timeline.loops || timeline.marks.first() == Some(&timeline.start);
        let mut values = Vec::with_capacity((grid.intervals() + 1) * histories.len());
        values.extend(histories.iter().map(|(_, entry)| {
            if starts_anew { self.restart(timeline.start, entry.signal, entry.filter, timeline) } else { DVec3::ZERO }
        }));
        let steps: Vec<_> = histories.iter().map(|(_, entry)| entry.filter.step(grid.spacing())).collect();
        let mut before = self.motion(grid.time(0), timeline);
        for node in 1..=grid.intervals() {
            let (from, to) = (grid.time(node - 1), grid.time(node));
            let now = self.motion(to, timeline);
            if timeline.marks_in(from, to).is_empty() {
                for (&(_, entry), step) in histories.iter().zip(&steps) {
                    let y = values[values.len() - histories.len()];
                    values.push(step.apply(y, before.get(entry.signal), now.get(entry.signal)));
                }
            } else {
                let advance = Advance::new(self, clock, from, to, || before);
                for &(_, entry) in histories {
                    let y = values[values.len() - histories.len()];
                    values.push(advance.value(entry, y, &now));
                }
            }
            before = now;
        }
        if !starts_anew {
            self.close_period(clock, &mut values);
        }
        values.into_boxed_slice()
    }

    /// The filters are linear: a run from 0 becomes the periodic one by adding what decays from the right start.
    fn close_period(&self, clock: &Clock, values: &mut [DVec3]) {
        let Clock { timeline, grid, histories } = clock;
        let first_mark = timeline.marks.first().copied();
        for (slot, (_, entry)) in histories.iter().enumerate() {
            let end = values[values.len() - histories.len() + slot];
            let start = match first_mark {
                // The end no longer knows the start.
                Some(_) => self.seam.conjugate() * end,
                None => entry.filter.periodic_start(end, timeline.length(), self.seam),
            };
            for (node, y) in values.iter_mut().skip(slot).step_by(histories.len()).enumerate() {
                let t = grid.time(node);
                let left = entry.filter.decay(t - timeline.start);
                if left == 0.0 || first_mark.is_some_and(|mark| t >= mark) {
                    break;
                }
                *y += start * left;
            }
        }
    }
}

/// A filter step from a node to a later time in its interval, begun anew if a teleport lies between.
struct Advance<'a> {
    bone: &'a MovingBone,
    timeline: &'a Timeline,
    secs: f64,
    from: BoneMotion,
    mark: Option<f64>,
}

impl<'a> Advance<'a> {
    fn new(bone: &'a MovingBone, clock: &'a Clock, node: f64, t: f64, at_node: impl FnOnce() -> BoneMotion) -> Self {
        let timeline = &clock.timeline;
        let mark = timeline.marks_in(node, t).last().copied();
        let from = mark.map_or_else(at_node, |mark| bone.motion(mark, timeline));
        Self { bone, timeline, secs: t - mark.unwrap_or(node), from, mark }
    }

    fn value(&self, entry: FilteredSignal, y_at_node: DVec3, now: &BoneMotion) -> DVec3 {
        let FilteredSignal { signal, filter } = entry;
        let y = self.mark.map_or(y_at_node, |mark| self.bone.restart(mark, signal, filter, self.timeline));
        filter.step(self.secs).apply(y, self.from.get(signal), now.get(signal))
    }
}
