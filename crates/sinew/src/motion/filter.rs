//! What an effect can make of a signal's past: follow it, tell how fast it changes, ring with it.
//!
//! Source: AS 6 for the time filter; AS 8 names higher derivatives and oscillations as work to come. Every filter is a
//! linear system whose state s is a value and its derivative by time, stepped exactly over an input that runs straight
//! from x₀ to x₁: `s ← Φ s + f x₀ + g x₁`. It is run once over the clip's own grid of equal intervals, and from the last
//! node to any time by the same step, so that it is a function of time alone.
//! A loop whose signals turn by Q from one period to the next starts where it ends: `s₀ = (Q ⊗ I − I ⊗ Φ_T)⁻¹ Y`, Y one
//! period's result from 0.
//! Oracle: direct integration of the kernels; the equation that a periodic start solves.

use super::kinematics::Signal;
use super::oscillator::Oscillator;
use super::time_filter::{DerivativeFilter, TimeFilter};
use super::window::Window;
use glam::{DMat2, DQuat, DVec2, DVec3};

/// How a signal is filtered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filter {
    /// The signal with a lag. Of a steady signal: the signal.
    LowPass(TimeFilter),
    /// The derivative by time of the signal with a lag, per second: jerk, of an acceleration. Of a steady signal: 0.
    Derivative(DerivativeFilter),
    /// The signal as a mass on a damped spring answers to it. Of a steady signal: the signal.
    Oscillator(Oscillator),
    /// The same, of no more than a window of the signal's past. Of a steady signal: the signal.
    Window(Window),
}

impl From<TimeFilter> for Filter {
    fn from(filter: TimeFilter) -> Self {
        Self::LowPass(filter)
    }
}

impl From<DerivativeFilter> for Filter {
    fn from(filter: DerivativeFilter) -> Self {
        Self::Derivative(filter)
    }
}

impl From<Oscillator> for Filter {
    fn from(oscillator: Oscillator) -> Self {
        Self::Oscillator(oscillator)
    }
}

impl Filter {
    /// What it makes of a signal that has always had the value `x`.
    pub fn steady(self, x: DVec3) -> DVec3 {
        self.read(State::steady(x))
    }

    pub(super) fn kernel(self) -> Kernel {
        match self {
            Self::LowPass(filter) => Kernel::LowPass(filter),
            Self::Derivative(filter) => Kernel::LowPass(filter.low_pass()),
            Self::Oscillator(oscillator) => Kernel::Oscillator(oscillator),
            Self::Window(window) => Kernel::Oscillator(window.oscillator()),
        }
    }

    /// Its value in its kernel's state.
    pub(super) fn read(self, state: State) -> DVec3 {
        match self {
            Self::LowPass(_) | Self::Oscillator(_) | Self::Window(_) => state.value,
            Self::Derivative(_) => state.rate,
        }
    }
}

/// A signal that an effect reads through a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilteredSignal {
    /// Which rate.
    pub signal: Signal,
    /// Its filter.
    pub filter: Filter,
}

/// A filtered value and its derivative by time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    pub value: DVec3,
    pub rate: DVec3,
}

impl State {
    pub const ZERO: Self = Self { value: DVec3::ZERO, rate: DVec3::ZERO };

    pub fn steady(value: DVec3) -> Self {
        Self { value, rate: DVec3::ZERO }
    }

    pub fn rotated(self, by: DQuat) -> Self {
        Self { value: by * self.value, rate: by * self.rate }
    }

    /// What is left of it under no input.
    pub fn carried(self, transition: DMat2) -> Self {
        let [value, rate] = transition.transpose().to_cols_array_2d();
        Self { value: self.value * value[0] + self.rate * value[1], rate: self.value * rate[0] + self.rate * rate[1] }
    }
}

impl std::ops::Add for State {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, rate: self.rate + other.rate }
    }
}

impl std::ops::Sub for State {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, rate: self.rate - other.rate }
    }
}

/// One step over an input that runs straight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub transition: DMat2,
    /// Weight of the input at its start.
    pub from: DVec2,
    /// Weight of the input at its end.
    pub to: DVec2,
}

impl Step {
    pub fn apply(&self, state: State, from: DVec3, to: DVec3) -> State {
        let response = |from_weight: f64, to_weight: f64| from * from_weight + to * to_weight;
        let input = State { value: response(self.from.x, self.to.x), rate: response(self.from.y, self.to.y) };
        state.carried(self.transition) + input
    }
}

/// What one period makes of a state, with the two numbers that its inverse needs and that differences would lose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    pub transition: DMat2,
    /// `det(I − Φ)`.
    pub det_of_loss: f64,
    /// `1 − det Φ`.
    pub loss_of_det: f64,
}

impl Period {
    /// Where a loop must start so that it ends there turned by `seam`, if from 0 it ends at `end`.
    ///
    /// `(z − Φ)⁻¹ = (z − adj Φ)/(z·g)`, `g = z + z̄ det Φ − tr Φ`, z the turn: 1 along its axis, `e^{iθ}` across it.
    pub fn start(&self, end: State, seam: DQuat) -> State {
        let turn = crate::clip::rotation_log(seam);
        let axis = turn.normalize_or_zero();
        let half_sine = (0.5 * turn.length()).sin();
        let real = self.det_of_loss - 2.0 * (2.0 - self.loss_of_det) * half_sine * half_sine;
        let imaginary = self.loss_of_det * turn.length().sin();
        let divide = |v: DVec3| {
            let along = axis * v.dot(axis);
            let across = v - along;
            let quotient = if real == 0.0 && imaginary == 0.0 {
                DVec3::ZERO
            } else {
                (across * real - axis.cross(across) * imaginary) / (real * real + imaginary * imaginary)
                    + along / self.det_of_loss
            };
            if quotient.is_finite() { quotient } else { DVec3::ZERO }
        };
        let adjugate = DMat2::from_cols(
            DVec2::new(self.transition.y_axis.y, -self.transition.x_axis.y),
            DVec2::new(-self.transition.y_axis.x, self.transition.x_axis.x),
        );
        let turned_back = end.carried(adjugate).rotated(seam.conjugate());
        State { value: divide(end.value - turned_back.value), rate: divide(end.rate - turned_back.rate) }
    }
}

/// What is remembered of a signal; filters that share it are told from one history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kernel {
    LowPass(TimeFilter),
    Oscillator(Oscillator),
}

impl Kernel {
    /// The step over `secs` seconds in which the input runs straight.
    pub fn step(self, secs: f64) -> Step {
        match self {
            Self::LowPass(filter) => filter.step(secs),
            Self::Oscillator(oscillator) => oscillator.step(secs),
        }
    }

    /// Φ over `secs` seconds.
    pub fn transition(self, secs: f64) -> DMat2 {
        match self {
            Self::LowPass(filter) => filter.transition(secs),
            Self::Oscillator(oscillator) => oscillator.transition(secs),
        }
    }

    pub fn period(self, secs: f64) -> Period {
        match self {
            Self::LowPass(filter) => filter.period(secs),
            Self::Oscillator(oscillator) => oscillator.period(secs),
        }
    }

    /// The step under an input known only by its mean over it. The low-pass's derivative is then a mean as well: the
    /// one at the end of a step longer than τ would know nothing of it.
    pub fn hold(self, state: State, input: DVec3, secs: f64) -> State {
        let next = self.step(secs).apply(state, input, input);
        match self {
            Self::LowPass(_) => State { rate: (next.value - state.value) / secs, ..next },
            Self::Oscillator(_) => next,
        }
    }

    /// Vectors kept per node: a low-pass finds its derivative anew from value and input.
    fn width(self) -> usize {
        match self {
            Self::LowPass(_) => 1,
            Self::Oscillator(_) => 2,
        }
    }
}

/// One filter to be run over one signal, and who reads it.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub signal: Signal,
    pub kernel: Kernel,
    /// Places in the caller's list, and what stands there.
    pub readers: Vec<(usize, Filter)>,
    /// Where it stands among the vectors of a node.
    offset: usize,
}

impl Run {
    pub fn load(&self, node: &[DVec3]) -> State {
        let value = node[self.offset];
        let rate = if self.kernel.width() == 2 { node[self.offset + 1] } else { DVec3::ZERO };
        State { value, rate }
    }

    pub fn store(&self, state: State, node: &mut [DVec3]) {
        node[self.offset] = state.value;
        if self.kernel.width() == 2 {
            node[self.offset + 1] = state.rate;
        }
    }
}

/// All runs that a list of filtered signals needs, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    pub runs: Vec<Run>,
    /// Vectors kept per node of the grid.
    pub width: usize,
}

impl Runs {
    pub fn new(filtered: &[FilteredSignal]) -> Self {
        let mut all = Self::default();
        for (place, entry) in filtered.iter().enumerate() {
            let (signal, kernel) = (entry.signal, entry.filter.kernel());
            if kernel == Kernel::LowPass(TimeFilter::NONE) || signal.felt_part().is_some() {
                continue;
            }
            let reader = (place, entry.filter);
            match all.runs.iter_mut().find(|run| run.signal == signal && run.kernel == kernel) {
                Some(run) => run.readers.push(reader),
                None => {
                    all.runs.push(Run { signal, kernel, readers: vec![reader], offset: all.width });
                    all.width += kernel.width();
                }
            }
        }
        all
    }
}

/// Equal intervals over a clip: 480 per second, eight for each swing of the fastest oscillator, and never more than
/// 2¹⁶ (so fewer per second in clips longer than 136 s).
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterGrid {
    start: f64,
    end: f64,
    intervals: usize,
}

impl FilterGrid {
    pub fn new(start: f64, end: f64) -> Self {
        Self::with_rate(start, end, 480.0)
    }

    pub fn with_rate(start: f64, end: f64, per_second: f64) -> Self {
        let wanted = (per_second * (end - start)).ceil();
        Self { start, end, intervals: wanted.clamp(1.0, 65_536.0) as usize }
    }

    pub fn intervals(&self) -> usize {
        self.intervals
    }

    pub fn spacing(&self) -> f64 {
        (self.end - self.start) / self.intervals as f64
    }

    pub fn time(&self, node: usize) -> f64 {
        if node >= self.intervals {
            self.end
        } else {
            self.start + (self.end - self.start) * (node as f64 / self.intervals as f64)
        }
    }

    /// The node at or before `t` whose interval holds it.
    pub fn node_before(&self, t: f64) -> usize {
        let guess = ((t - self.start) / (self.end - self.start) * self.intervals as f64) as usize;
        let mut node = guess.min(self.intervals - 1);
        while node > 0 && self.time(node) > t {
            node -= 1;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels() -> Vec<Kernel> {
        let low_pass = [1e-4, 0.2, 0.3, 0.9].map(|gamma| Kernel::LowPass(TimeFilter::new(gamma).unwrap()));
        let swings =
            [(0.01, 0.001), (1.3, 0.1), (4.0, 0.999_999), (4.0, 1.0), (4.0, 1.000_001), (7.0, 2.0), (60.0, 0.05)];
        let oscillators = swings.map(|(hz, damping)| Kernel::Oscillator(Oscillator::new(hz, damping).unwrap()));
        low_pass.into_iter().chain(oscillators).collect()
    }

    #[test]
    fn steps_of_any_length_agree_under_a_force_that_is_constant_by_the_second() {
        // KD 5.3: the same state after 1 s by steps from 1 ms to 1 s, to 1e-12; here two seconds of two forces.
        for kernel in kernels().into_iter().filter(|kernel| matches!(kernel, Kernel::Oscillator(_))) {
            let run = |steps: u32| {
                let mut state = State::steady(DVec3::X);
                for force in [DVec3::new(1.0, -2.0, 0.5), DVec3::new(-0.3, 0.0, 1.0)] {
                    for _ in 0..steps {
                        state = kernel.hold(state, force, 1.0 / f64::from(steps));
                    }
                }
                state
            };
            let one = run(1);
            for steps in [2, 10, 100, 1000] {
                let many = run(steps);
                let size = 1.0 + one.rate.length();
                let apart = (many.value - one.value).length().max((many.rate - one.rate).length() / size);
                assert!(apart < 1e-12, "{kernel:?} in {steps} steps: {apart:e}");
            }
        }
    }

    #[test]
    fn what_is_released_comes_back_after_any_load() {
        // KD 5.3: below 1e-4 of its peak after 24/k_d seconds, k_d = 2ζω₀; slower than ringing only beyond ζ = 1.
        for (hz, damping) in [(0.5, 0.05), (3.0, 0.25), (12.0, 0.9)] {
            let oscillator = Oscillator::new(hz, damping).unwrap();
            let kernel = Kernel::Oscillator(oscillator);
            let settled = 24.0 / (2.0 * damping * oscillator.angular_frequency());
            for turns_per_second in [0.0, 0.7, hz] {
                let (dt, mut state, mut peak) = (1e-3, State::ZERO, 0.0f64);
                for k in 0..3000 {
                    let (s, c) = (std::f64::consts::TAU * turns_per_second * dt * f64::from(k)).sin_cos();
                    state = kernel.hold(state, DVec3::new(c, s, 0.3), dt);
                    peak = peak.max(state.value.length());
                }
                for _ in 0..100 {
                    state = kernel.hold(state, DVec3::ZERO, settled / 100.0);
                }
                let left = state.value.length() / peak;
                assert!(left < 1e-4, "{hz} Hz, {damping}, load turning {turns_per_second}/s: {left:e} of the peak");
            }
        }
    }

    #[test]
    fn one_step_is_many_small_ones_when_the_input_is_straight() {
        let input = |t: f64| DVec3::new(1.0 + 2.0 * t, -t, 3.0);
        for kernel in kernels() {
            for length in [1e-9, 1e-3, 4e-3, 5e-3, 0.1, 3.0] {
                let begin = State { value: DVec3::ONE, rate: DVec3::new(0.3, 2.0, -1.0) };
                let whole = kernel.step(length).apply(begin, input(0.0), input(length));
                let mut state = begin;
                for k in 0..64 {
                    let (a, b) = (length * f64::from(k) / 64.0, length * f64::from(k + 1) / 64.0);
                    state = kernel.step(length / 64.0).apply(state, input(a), input(b));
                }
                assert!((whole.value - state.value).length() < 1e-13, "{kernel:?} {length}: {whole:?} {state:?}");
                let rate_size = 1.0 + state.rate.length().max(400.0);
                assert!(
                    (whole.rate - state.rate).length() < 1e-13 * rate_size,
                    "{kernel:?} {length}: {whole:?} {state:?}"
                );
            }
        }
    }

    #[test]
    fn a_periodic_start_solves_its_equation() {
        let turns = [DVec3::ZERO, DVec3::new(0.0, 1e-9, 0.0), DVec3::new(0.4, 1.0, -0.2), DVec3::X * 3.1];
        for kernel in kernels() {
            for secs in [1e-6, 0.7, 1.0, 30.0] {
                // The end of one period that began at 0 under an input of 1: of the size the kernel makes it.
                let push = DVec3::new(0.3, -2.0, 1.1);
                let end = kernel.step(secs).apply(State::ZERO, push, 0.5 * push);
                let end = State { rate: if kernel.width() == 2 { end.rate } else { DVec3::ZERO }, ..end };
                for seam in turns.map(DQuat::from_scaled_axis) {
                    let start = kernel.period(secs).start(end, seam);
                    let left = start.carried(kernel.transition(secs));
                    let residual = seam * start.value - left.value - end.value;
                    let size = start.value.length() + end.value.length();
                    assert!(residual.length() < 1e-14 * size, "{kernel:?} {secs} {seam}: {residual}");
                    if kernel.width() == 2 {
                        let residual = seam * start.rate - left.rate - end.rate;
                        let size = 377.0 * size + start.rate.length() + end.rate.length();
                        assert!(residual.length() < 1e-14 * size, "{kernel:?} {secs} {seam}: {residual}");
                    }
                }
            }
        }
        let hardly = Kernel::LowPass(TimeFilter::new(f64::MIN_POSITIVE).unwrap());
        let tiny = State::steady(DVec3::splat(1e-300));
        assert!(hardly.period(1.0).start(tiny, DQuat::IDENTITY).value.is_finite());
    }

    #[test]
    fn filters_of_one_signal_share_their_history() {
        let low_pass = TimeFilter::new(0.6).unwrap();
        let derivative = DerivativeFilter::new(0.6).unwrap();
        let wobble = Oscillator::new(3.0, 0.2).unwrap();
        let (a, v) = (Signal::LinearAcceleration, Signal::LinearVelocity);
        let entry = |signal, filter: Filter| FilteredSignal { signal, filter };
        let list = [
            entry(a, low_pass.into()),
            entry(a, TimeFilter::NONE.into()),
            entry(a, derivative.into()),
            entry(v, derivative.into()),
            entry(a, wobble.into()),
            entry(a, low_pass.into()),
        ];
        let runs = Runs::new(&list);
        assert_eq!(runs.width, 4);
        let places: Vec<Vec<usize>> =
            runs.runs.iter().map(|run| run.readers.iter().map(|&(place, _)| place).collect()).collect();
        assert_eq!(places, [vec![0, 2, 5], vec![3], vec![4]]);
    }
}
