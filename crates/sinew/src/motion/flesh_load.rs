//! What the flesh of a limb feels: accelerations in the bone's own frame, and which way is up.
//!
//! Source: AS 3, KD 5.1. A point p of a bone's frame M accelerates by `M a_p = a + ([α]× + [ω]×²) (M p − o)` in the
//! world, a, ω, α those of the bone itself, added up along its chain with the Coriolis terms: so it feels
//! `M⁻¹a + (M⁻¹ ([α]× + [ω]×²) M) p`, one vector and three columns, whatever p. Driven by these, the oscillator of a muscle
//! runs once per bone. In the bone's own frame a loop needs no turn at its seam, not even one that walks in a circle.
//! Runs start quasi-statically in what lasts, gravity, and from nothing in what moves; loops start where they end. Between
//! the nodes of a run an oscillator is read by the cubic through both ends' values and rates, so that velocities have no
//! kink at a node, nor at the seam of a loop.
//!
//! A [`Window`] forgets what was before it. The equations are linear, so nothing is run anew: started at t₀ = t − w it is
//! the long run and what is left of the difference at its start, `s_w(t) = s(t) + Φ(t − t₀) (s⁰ − s(t₀))`.
//! Oracle: second differences of world positions; a run of its own for every window; windows that grow.

use super::filter::{Filter, FilterGrid, FilteredSignal, Kernel, State};
use super::kinematics::{BoneMotion, Signal};
use super::timeline::{Ends, Timeline};
use super::window::Window;
use crate::hierarchy::Hierarchy;
use crate::pose::WorldPose;
use glam::{DMat2, DQuat, DVec3};
use std::sync::OnceLock;

/// The parts of what a bone feels, in the order of their signals.
pub(super) const PARTS: usize = 7;
/// Nodes of history per second: muscles swing at 12 Hz at most.
const NODES_PER_SECOND: f64 = 240.0;

impl Signal {
    /// Its place among what a bone feels.
    pub(super) fn felt_part(self) -> Option<usize> {
        match self {
            Self::FleshAcceleration => Some(0),
            Self::FleshStrainX => Some(1),
            Self::FleshStrainY => Some(2),
            Self::FleshStrainZ => Some(3),
            Self::FleshUp => Some(4),
            Self::FleshRight => Some(5),
            Self::FleshFront => Some(6),
            _ => None,
        }
    }
}

/// Motion of a bone itself, not relative to its parent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Whole {
    angular_velocity: DVec3,
    angular_acceleration: DVec3,
    acceleration: DVec3,
}

/// What each bone feels, from the motions relative to parents, in world axes. `whole` is scratch.
pub(crate) fn felt(
    hierarchy: &Hierarchy,
    world: &WorldPose,
    bones: &[BoneMotion],
    whole: &mut Vec<Whole>,
    out: &mut Vec<[DVec3; PARTS]>,
) {
    whole.clear();
    whole.resize(hierarchy.len(), Whole::default());
    out.clear();
    out.resize(hierarchy.len(), [DVec3::ZERO; PARTS]);
    for &bone in hierarchy.order() {
        let Some(motion) = bones.get(bone.index()) else { continue };
        let (above, arm) = match hierarchy.parent(bone) {
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
        whole[bone.index()] = here;
        let axes = world.world_from_bone(bone).matrix3;
        let inverse = axes.inverse();
        let strain = |axis: DVec3| {
            let arm = axes * axis;
            let omega = here.angular_velocity;
            inverse * (here.angular_acceleration.cross(arm) + omega.cross(omega.cross(arm)))
        };
        let [right, up, front] = DVec3::AXES.map(|axis| inverse * axis);
        let strains = DVec3::AXES.map(strain);
        let parts = [inverse * here.acceleration, strains[0], strains[1], strains[2], up, right, front];
        // A bone scaled to nothing feels nothing.
        out[bone.index()] = parts.map(|part| if part.is_finite() { part } else { DVec3::ZERO });
    }
}

/// A filter to be run over one part of what bones feel.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    part: usize,
    kernel: Kernel,
}

/// Memory of [`FleshRuns::filtered`].
#[derive(Default)]
pub(super) struct FleshWork {
    pub moments: Moments,
    plan: Vec<Reading>,
}

/// What is felt at the times that windows look back to.
#[derive(Default)]
pub(super) struct Moments {
    all: Vec<(f64, Vec<[DVec3; PARTS]>)>,
    /// Those in use.
    count: usize,
}

impl Moments {
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Room for what is felt at a time.
    pub fn begin(&mut self, time: f64) -> &mut Vec<[DVec3; PARTS]> {
        if self.count == self.all.len() {
            self.all.push(Default::default());
        }
        self.count += 1;
        let moment = &mut self.all[self.count - 1];
        moment.0 = time;
        &mut moment.1
    }

    fn position(&self, time: f64) -> Option<usize> {
        self.all[..self.count].iter().position(|moment| moment.0 == time)
    }

    fn felt_at(&self, moment: usize) -> &[[DVec3; PARTS]] {
        &self.all[moment].1
    }
}

/// A filter at a frame: where it is written, and the moments it reads.
#[derive(Clone, Copy)]
struct Reading {
    place: usize,
    run: usize,
    filter: Filter,
    look: LookBack,
    at: usize,
    start: Option<usize>,
}

/// The filters that read what bones feel, run over a clip.
#[derive(Clone, Debug)]
pub(super) struct FleshRuns {
    runs: Vec<Run>,
    /// Places in the caller's list, the run that is read there, and how.
    readers: Vec<(usize, usize, Filter)>,
    grid: FilterGrid,
    /// Node by node, bone by bone: the inputs, then value and rate of each run; run when first asked for.
    history: OnceLock<Box<[DVec3]>>,
}

impl FleshRuns {
    pub fn new(filtered: &[FilteredSignal], start: f64, end: f64) -> Self {
        let (mut runs, mut readers) = (Vec::new(), Vec::new());
        for (place, entry) in filtered.iter().enumerate() {
            let Some(part) = entry.signal.felt_part() else { continue };
            let run = Run { part, kernel: entry.filter.kernel() };
            let known = runs.iter().position(|known| *known == run);
            let index = known.unwrap_or_else(|| {
                runs.push(run);
                runs.len() - 1
            });
            readers.push((place, index, entry.filter));
        }
        let grid = FilterGrid::with_rate(start, end, NODES_PER_SECOND);
        Self { runs, readers, grid, history: OnceLock::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    fn width(&self) -> usize {
        if self.runs.is_empty() { 0 } else { PARTS + 2 * self.runs.len() }
    }

    /// Bytes of history.
    pub fn bytes(&self, bones: usize) -> u128 {
        (self.grid.intervals() as u128 + 1) * bones as u128 * self.width() as u128 * size_of::<DVec3>() as u128
    }

    /// Writes the filtered values at `t`, the first moment in `work`; `sample` tells what bones feel at any time.
    pub fn filtered(
        &self,
        t: f64,
        timeline: &Timeline,
        mut sample: impl FnMut(f64, &mut Vec<[DVec3; PARTS]>),
        work: &mut FleshWork,
        columns: &mut [Vec<DVec3>],
    ) {
        let FleshWork { moments, plan } = work;
        let bones = moments.felt_at(0).len();
        let history = self.history.get_or_init(|| self.run(bones, timeline, &mut sample));
        let mut moment = |time: f64| {
            moments.position(time).unwrap_or_else(|| {
                sample(time, moments.begin(time));
                moments.count - 1
            })
        };
        plan.clear();
        for &(place, run, filter) in &self.readers {
            let look = match filter {
                Filter::Window(window) => timeline.look_back(t, &window),
                _ => LookBack { at: t, start: None },
            };
            plan.push(Reading { place, run, filter, at: moment(look.at), start: look.start.map(&mut moment), look });
        }
        for &Reading { place, run, filter, look, at, start } in &*plan {
            let Run { part, kernel } = self.runs[run];
            let left = match filter {
                Filter::Window(window) => kernel.transition(window.secs() - window.age_secs()),
                _ => DMat2::ZERO,
            };
            for bone in 0..bones {
                let x = moments.felt_at(at)[bone][part];
                let mut state = self.state(history, bones, run, bone, look.at, x, timeline);
                if let (Some(start), Some(time)) = (start, look.start) {
                    let x = moments.felt_at(start)[bone][part];
                    let long = self.state(history, bones, run, bone, time, x, timeline);
                    state = state + (restart(part, x, timeline) - long).carried(left);
                }
                columns[place][bone] = filter.read(state);
            }
        }
    }

    /// The state of a run at a time of the clip, where `x` is felt.
    #[allow(clippy::too_many_arguments, reason = "all that says where in the history to look")]
    fn state(
        &self,
        history: &[DVec3],
        bones: usize,
        run: usize,
        bone: usize,
        t: f64,
        x: DVec3,
        timeline: &Timeline,
    ) -> State {
        let Run { part, kernel } = self.runs[run];
        let (width, node) = (self.width(), self.grid.node_before(t));
        let stored = |node: usize| history.get((node * bones + bone) * width..).and_then(|from| from.get(..width));
        let (begin, end) = (self.grid.time(node), self.grid.time(node + 1));
        let (Some(before), Some(after)) = (stored(node), stored(node + 1)) else { return restart(part, x, timeline) };
        if !timeline.marks_in(begin, t).is_empty() {
            return restart(part, x, timeline);
        }
        if matches!(kernel, Kernel::Oscillator(_)) && timeline.marks_in(begin, end).is_empty() && end > begin {
            return between(state_of(before, run), state_of(after, run), end - begin, (t - begin) / (end - begin));
        }
        kernel.step(t - begin).apply(state_of(before, run), before[part], x)
    }

    fn run(
        &self,
        bones: usize,
        timeline: &Timeline,
        mut sample: impl FnMut(f64, &mut Vec<[DVec3; PARTS]>),
    ) -> Box<[DVec3]> {
        let (width, nodes) = (self.width(), self.grid.intervals() + 1);
        let starts_anew = !timeline.loops || timeline.marks.first() == Some(&timeline.start);
        let steps: Vec<_> = self.runs.iter().map(|run| run.kernel.step(self.grid.spacing())).collect();
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
                for (index, &Run { part, .. }) in self.runs.iter().enumerate() {
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
        for (index, Run { kernel, .. }) in self.runs.iter().enumerate() {
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

/// Where a window's value is read: in a long run at `at`, and less what that run remembers from before `start`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LookBack {
    at: f64,
    /// None where the long run itself starts within the window.
    start: Option<f64>,
}

impl Timeline {
    fn look_back(&self, t: f64, window: &Window) -> LookBack {
        let (begin, at) = (t - window.secs(), t - window.age_secs());
        let in_clip = |time: f64| {
            if !self.loops {
                return time.max(self.start);
            }
            let into = (time - self.start).rem_euclid(self.length());
            if into < self.length() { self.start + into } else { self.start }
        };
        // The last cut at or before now; in a loop they come again every period.
        let seen = self.marks.iter().map(|&mark| if mark > t && self.loops { mark - self.length() } else { mark });
        let cut = seen.filter(|&mark| mark <= t).fold(f64::NEG_INFINITY, f64::max);
        if cut > begin {
            return LookBack { at: in_clip(at.max(cut)), start: None };
        }
        let start = (self.loops || begin > self.start).then(|| in_clip(begin));
        // The window that ends now reads what is felt now, to the bit.
        LookBack { at: if at == t { t } else { in_clip(at) }, start }
    }
}

/// Between two states `secs` apart: the cubic with their values and rates.
fn between(from: State, to: State, secs: f64, share: f64) -> State {
    let (s, rest) = (share, 1.0 - share);
    let value = from.value * (rest * rest * (1.0 + 2.0 * s))
        + to.value * (s * s * (3.0 - 2.0 * s))
        + (from.rate * rest - to.rate * s) * (secs * s * rest);
    let rate = (to.value - from.value) * (6.0 * s * rest / secs)
        + from.rate * (rest * (1.0 - 3.0 * s))
        + to.rate * (s * (3.0 * s - 2.0));
    State { value, rate }
}

/// A filter at a start or after a cut.
fn restart(part: usize, x: DVec3, timeline: &Timeline) -> State {
    let lasts = [Signal::FleshUp, Signal::FleshRight, Signal::FleshFront].map(Signal::felt_part).contains(&Some(part));
    if lasts || timeline.ends == Ends::Continue { State::steady(x) } else { State::ZERO }
}

fn state_of(stored: &[DVec3], index: usize) -> State {
    State { value: stored[PARTS + 2 * index], rate: stored[PARTS + 2 * index + 1] }
}

fn store(state: State, stored: &mut [DVec3], index: usize) {
    stored[PARTS + 2 * index] = state.value;
    stored[PARTS + 2 * index + 1] = state.rate;
}

#[cfg(test)]
#[allow(clippy::print_stdout, reason = "the figures are read by hand")]
mod tests {
    use super::super::oscillator::Oscillator;
    use super::*;
    use std::f64::consts::TAU;

    fn timeline(loops: bool, marks: Vec<f64>) -> Timeline {
        Timeline { start: 1.0, last_key: 3.0, end: 3.0, loops, marks, ends: Ends::Rest, box_secs: 0.0 }
    }

    /// What one bone feels: periodic in two seconds.
    fn felt_at(t: f64, out: &mut Vec<[DVec3; PARTS]>) {
        let wave = |k: f64| (TAU * k * t / 2.0).sin();
        let shove = DVec3::new(wave(1.0), 0.5 * wave(2.0), wave(3.0));
        let up = DVec3::new(0.1 * wave(1.0), 1.0, 0.0);
        *out = vec![[shove, shove * 0.5, DVec3::ZERO, DVec3::X * wave(1.0), up, DVec3::X, DVec3::Z]];
    }

    fn oscillator() -> Oscillator {
        Oscillator::new(2.0, 0.2).unwrap()
    }

    /// The felt acceleration, and which way is up, through one filter.
    fn value(filter: Filter, timeline: &Timeline, t: f64) -> [DVec3; 2] {
        let filtered = [Signal::FleshAcceleration, Signal::FleshUp].map(|signal| FilteredSignal { signal, filter });
        let runs = FleshRuns::new(&filtered, timeline.start, timeline.end);
        let mut work = FleshWork::default();
        felt_at(t, work.moments.begin(t));
        let mut columns = vec![vec![DVec3::ZERO]; 2];
        runs.filtered(t, timeline, felt_at, &mut work, &mut columns);
        [columns[0][0], columns[1][0]]
    }

    fn windowed(secs: f64, age: f64) -> Filter {
        Filter::Window(Window::new(oscillator(), secs, age).unwrap())
    }

    #[test]
    fn a_window_is_a_run_of_its_own_from_its_start() {
        let (line, mut worst) = (timeline(true, Vec::new()), 0.0f64);
        for (secs, age) in [(0.3, 0.0), (0.3, 0.1), (1.7, 0.0), (5.0, 0.5), (0.3, 0.3)] {
            for t in [1.0, 1.2, 2.9] {
                let found = value(windowed(secs, age), &line, t);
                // Stepped anew, in many small steps over what is felt.
                let steps = 4000;
                let dt = (secs - age) / f64::from(steps);
                let (mut from, mut to) = (Vec::new(), Vec::new());
                felt_at(t - secs, &mut from);
                let mut states = [State::ZERO, State::steady(from[0][4])];
                let step = Filter::Oscillator(oscillator()).kernel().step(dt);
                for k in 1..=steps {
                    felt_at(t - secs + dt * f64::from(k), &mut to);
                    for (state, part) in states.iter_mut().zip([0, 4]) {
                        *state = step.apply(*state, from[0][part], to[0][part]);
                    }
                    from.clone_from(&to);
                }
                for (found, expected) in found.iter().zip(states) {
                    worst = worst.max((*found - expected.value).length());
                }
            }
        }
        // The long run knows what is felt at its nodes, and straight lines between them.
        println!("windows are off by {worst:.1e}");
        assert!(worst < 3e-4, "{worst}");
    }

    #[test]
    fn windows_that_grow_come_to_the_whole_clip() {
        for loops in [true, false] {
            let line = timeline(loops, Vec::new());
            let whole = value(Filter::Oscillator(oscillator()), &line, 2.4)[0];
            let error = |secs: f64| (value(windowed(secs, 0.0), &line, 2.4)[0] - whole).length();
            let table = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0].map(error);
            println!("loops {loops}: off by {table:?} with windows of 0, 0.5, 1, 2, 4, 8 s");
            // ω₀ζ = 2.5 per second: what is before the window is left by e^(−2.5 w), times how far that was.
            for (secs, error) in [0.5, 1.0, 2.0, 4.0, 8.0].into_iter().zip(&table[1..]) {
                assert!(*error <= 3.0 * f64::exp(-0.2 * TAU * 2.0 * secs) + 1e-12, "{secs}: {error}");
            }
            // Without a window nothing moves, and what lasts hangs where it belongs.
            assert_eq!(value(windowed(0.0, 0.0), &line, 2.4)[0], DVec3::ZERO);
            let mut now = Vec::new();
            felt_at(2.4, &mut now);
            assert!((value(windowed(0.0, 0.0), &line, 2.4)[1] - now[0][4]).length() < 1e-12);
        }
    }

    #[test]
    fn a_loop_has_neither_a_jump_nor_a_kink_at_its_seam() {
        let line = timeline(true, Vec::new());
        // A window reads rates of the long run as well, whose own slope is a straight line between nodes.
        for (filter, tolerance) in [(Filter::Oscillator(oscillator()), 1e-6), (windowed(0.4, 0.0), 1e-5)] {
            let at = |t: f64| value(filter, &line, t)[0];
            let h = 2e-6;
            assert!((at(3.0 - 1e-12) - at(1.0)).length() < 1e-9);
            // One-sided differences of second order.
            let after = (at(1.0 + h) * 4.0 - at(1.0 + 2.0 * h) - at(1.0) * 3.0) / (2.0 * h);
            let before = (at(1.0) * 3.0 - at(3.0 - h) * 4.0 + at(3.0 - 2.0 * h)) / (2.0 * h);
            println!("{filter:?}: velocity {after} after the seam, {before} before");
            assert!((after - before).length() < tolerance * (1.0 + after.length()), "{after} {before}");
        }
    }

    #[test]
    fn nothing_before_a_cut_is_remembered() {
        let line = timeline(true, vec![2.0]);
        assert_eq!(value(windowed(1.5, 0.0), &line, 2.5), value(Filter::Oscillator(oscillator()), &line, 2.5));
        assert_eq!(value(windowed(1.5, 0.8), &line, 2.5)[0], DVec3::ZERO);
        let look = line.look_back(1.5, &Window::new(oscillator(), 2.0, 0.1).unwrap());
        assert_eq!(look, LookBack { at: 1.4, start: None });
    }

    #[test]
    fn the_cubic_between_two_states_has_their_values_and_rates() {
        let (from, to) = (State { value: DVec3::X, rate: DVec3::Y }, State { value: DVec3::Z, rate: DVec3::ONE });
        assert_eq!((between(from, to, 0.5, 0.0), between(from, to, 0.5, 1.0)), (from, to));
        let h = 1e-6;
        let slope = (between(from, to, 0.5, 0.3 + h).value - between(from, to, 0.5, 0.3 - h).value) / h;
        assert!((slope - between(from, to, 0.5, 0.3).rate).length() < 1e-6);
    }
}
