//! One moving bone over the whole clip: its rates at any time, and the filters run over them.

use super::derivatives::RateCurve;
use super::filter::{FilterGrid, Run, Runs, State};
use super::kinematics::{BoneMotion, Signal, WorldAxes};
use super::timeline::{Ends, Timeline, Visible};
use crate::pose::WorldPose;
use crate::skeleton::BoneId;
use glam::{DAffine3, DMat2, DQuat, DVec3};
use std::sync::OnceLock;

/// What all bones of a clip share.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub timeline: Timeline,
    pub grid: FilterGrid,
    /// The filters to be run over every bone.
    pub filters: Runs,
}

impl Clock {
    /// Bytes of history per moving bone.
    pub fn bytes_per_bone(&self) -> u128 {
        (self.grid.intervals() as u128 + 1) * self.filters.width as u128 * size_of::<DVec3>() as u128
    }
}

#[derive(Clone, Debug)]
pub(super) struct MovingBone {
    pub bone: BoneId,
    /// What it moves against.
    pub parent: Option<BoneId>,
    pub linear: RateCurve,
    pub angular: RateCurve,
    /// The turn of the signals from one period to the next.
    pub seam: DQuat,
    /// Angular velocity of the frame the rates are given in: a turning walk's, zero otherwise.
    pub frame_spin: DVec3,
    /// States of the filters at the grid's nodes, node by node; run when first asked for.
    pub history: OnceLock<Box<[DVec3]>>,
}

impl MovingBone {
    /// By its rates in its parent's frame.
    pub fn new(bone: BoneId, parent: Option<BoneId>, linear: RateCurve, angular: RateCurve) -> Self {
        let (seam, frame_spin) = (DQuat::IDENTITY, DVec3::ZERO);
        Self { bone, parent, linear, angular, seam, frame_spin, history: OnceLock::new() }
    }

    /// From the frame the rates are given in to the parent's frame.
    fn turn(&self, t: f64, timeline: &Timeline) -> DQuat {
        DQuat::from_scaled_axis(self.frame_spin * (t - timeline.start))
    }

    /// How its rates look in the world.
    pub fn axes(&self, t: f64, world: &WorldPose, timeline: &Timeline) -> WorldAxes {
        let parent = self.parent.map_or(DAffine3::IDENTITY, |parent| world.world_from_bone(parent));
        WorldAxes::new(parent.matrix3, self.turn(t, timeline))
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
    pub fn filtered(&self, t: f64, now: &BoneMotion, clock: &Clock, mut emit: impl FnMut(usize, Signal, DVec3)) {
        let Clock { timeline, grid, filters } = clock;
        if filters.runs.is_empty() {
            return;
        }
        let history = self.history.get_or_init(|| self.run_filters(clock));
        let node = grid.node_before(t);
        let node_time = grid.time(node);
        let states = &history[node * filters.width..];
        let advance = Advance::new(self, timeline, node_time, t, || self.motion(node_time, timeline));
        for run in &filters.runs {
            let state = advance.state(run, run.load(states), now);
            for &(place, filter) in &run.readers {
                emit(place, run.signal, filter.read(state));
            }
        }
    }

    /// A filter at a start or just after a teleport: what smoothing lets through before it, seen from after it.
    fn restart(&self, at: f64, run: &Run, timeline: &Timeline) -> State {
        let visible = timeline.visible(at);
        let motion = |t| self.motion_seeing(t, visible, timeline).get(run.signal);
        match timeline.ends {
            Ends::Continue => State::steady(motion(at)),
            Ends::Rest => {
                let lead = timeline.reach();
                let steps = (480.0 * lead).ceil().clamp(0.0, 480.0);
                let (mut state, mut from) = (State::ZERO, DVec3::ZERO);
                for k in 1..=steps as u32 {
                    let to = motion(at - lead * (1.0 - f64::from(k) / steps));
                    state = run.kernel.step(lead / steps).apply(state, from, to);
                    from = to;
                }
                state
            }
        }
    }

    /// Runs all filters over the grid.
    fn run_filters(&self, clock: &Clock) -> Box<[DVec3]> {
        let Clock { timeline, grid, filters } = clock;
        let starts_anew = !timeline.loops || timeline.marks.first() == Some(&timeline.start);
        let mut history = vec![DVec3::ZERO; (grid.intervals() + 1) * filters.width];
        if starts_anew {
            for run in &filters.runs {
                run.store(self.restart(timeline.start, run, timeline), &mut history);
            }
        }
        let steps: Vec<_> = filters.runs.iter().map(|run| run.kernel.step(grid.spacing())).collect();
        let mut before = self.motion(grid.time(0), timeline);
        let mut rest = history.as_mut_slice();
        for node in 1..=grid.intervals() {
            let (states, following) = rest.split_at_mut(filters.width);
            let (from, to) = (grid.time(node - 1), grid.time(node));
            let now = self.motion(to, timeline);
            if timeline.marks_in(from, to).is_empty() {
                for (run, step) in filters.runs.iter().zip(&steps) {
                    let state = step.apply(run.load(states), before.get(run.signal), now.get(run.signal));
                    run.store(state, following);
                }
            } else {
                let advance = Advance::new(self, timeline, from, to, || before);
                for run in &filters.runs {
                    run.store(advance.state(run, run.load(states), &now), following);
                }
            }
            before = now;
            rest = following;
        }
        if !starts_anew {
            self.close_period(clock, &mut history);
        }
        history.into_boxed_slice()
    }

    /// The filters are linear: a run from 0 becomes the periodic one by adding what is left of the right start.
    fn close_period(&self, clock: &Clock, history: &mut [DVec3]) {
        let Clock { timeline, grid, filters } = clock;
        let first_mark = timeline.marks.first().copied();
        for run in &filters.runs {
            let end = run.load(&history[grid.intervals() * filters.width..]);
            let start = match first_mark {
                // The end no longer knows the start.
                Some(_) => end.rotated(self.seam.conjugate()),
                None => run.kernel.period(timeline.length()).start(end, self.seam),
            };
            for (node, states) in history.chunks_exact_mut(filters.width).enumerate() {
                let t = grid.time(node);
                let transition = run.kernel.transition(t - timeline.start);
                if transition == DMat2::ZERO || first_mark.is_some_and(|mark| t >= mark) {
                    break;
                }
                run.store(run.load(states) + start.carried(transition), states);
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
    fn new(
        bone: &'a MovingBone,
        timeline: &'a Timeline,
        node: f64,
        t: f64,
        at_node: impl FnOnce() -> BoneMotion,
    ) -> Self {
        let mark = timeline.marks_in(node, t).last().copied();
        let from = mark.map_or_else(at_node, |mark| bone.motion(mark, timeline));
        Self { bone, timeline, secs: t - mark.unwrap_or(node), from, mark }
    }

    fn state(&self, run: &Run, at_node: State, now: &BoneMotion) -> State {
        let begin = self.mark.map_or(at_node, |mark| self.bone.restart(mark, run, self.timeline));
        run.kernel.step(self.secs).apply(begin, self.from.get(run.signal), now.get(run.signal))
    }
}
