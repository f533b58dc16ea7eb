//! The continuous time filter: `y(t) = ∫₀^∞ e^{−s/τ}/τ · x(t−s) ds`, `τ = −1/(60 ln(1−γ))`.
//!
//! Source: AS 6. The paper's recursion per frame depends on the frame rate; this one is a function of time alone,
//! run once over the clip's own grid of equal intervals h with x straight between nodes:
//! `y_n = a y_{n−1} + (r−a) x_{n−1} + (1−r) x_n`, `a = e^{−h/τ}`, `r = (τ/h)(1−a)`; between nodes the same step.
//! A loop starts where it ends: `y₀ = (Q − a^N I)⁻¹ Y`, Y one period's result from 0, Q the turn at the seam.
//! Oracle: direct integration of the kernel.

use super::kinematics::Signal;
use glam::{DQuat, DVec3};

/// How strongly a signal follows its input: γ ∈ (0, 1], the share of the way made in 1/60 s; 1 = no filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeFilter {
    gamma: f64,
    tau: f64,
}

impl TimeFilter {
    /// y = x.
    pub const NONE: Self = Self { gamma: 1.0, tau: 0.0 };

    /// `None` unless `0 < gamma ≤ 1`.
    pub fn new(gamma: f64) -> Option<Self> {
        let tau = if gamma == 1.0 { 0.0 } else { -1.0 / (60.0 * (-gamma).ln_1p()) };
        (gamma > 0.0 && gamma <= 1.0).then_some(Self { gamma, tau })
    }

    /// γ as given.
    pub fn gamma(self) -> f64 {
        self.gamma
    }

    /// τ in seconds; 0 without a filter.
    pub fn time_constant_secs(self) -> f64 {
        self.tau
    }

    /// The step over `secs` seconds in which the input runs straight.
    pub(super) fn step(self, secs: f64) -> Step {
        if self.tau == 0.0 {
            return Step { decay: 0.0, from: 0.0, to: 1.0 };
        }
        let x = secs.max(0.0) / self.tau;
        let decay = (-x).exp();
        if x < 0.1 {
            // r − a = Σ k(−x)^k·(−1)/(k+1)!, 1 − r = −Σ (−x)^k/(k+1)! from k = 1: the quotients lose these digits.
            let (mut from, mut to, mut term) = (0.0, 0.0, 1.0);
            for k in 1..=9 {
                let k = f64::from(k);
                term *= -x / (k + 1.0);
                to -= term;
                from -= k * term;
            }
            Step { decay, from, to }
        } else {
            let r = -(-x).exp_m1() / x;
            Step { decay, from: r - decay, to: 1.0 - r }
        }
    }

    /// Where a loop of `period` seconds must start so that it ends there turned by `seam`, if from 0 it ends at `end`.
    pub(super) fn periodic_start(self, end: DVec3, period: f64, seam: DQuat) -> DVec3 {
        let x = period / self.tau;
        let lost = -(-x).exp_m1();
        let turn = crate::clip::rotation_log(seam);
        let axis = turn.normalize_or_zero();
        let along = axis * end.dot(axis);
        let across = end - along;
        // Across the axis, Q − a is the complex number e^{iθ} − a.
        let half_sine = (0.5 * turn.length()).sin();
        let (real, imaginary) = (lost - 2.0 * half_sine * half_sine, turn.length().sin());
        let start = if real == 0.0 && imaginary == 0.0 {
            DVec3::ZERO
        } else {
            (across * real - axis.cross(across) * imaginary) / (real * real + imaginary * imaginary) + along / lost
        };
        if start.is_finite() { start } else { DVec3::ZERO }
    }

    /// What is left of a value after `secs` seconds.
    pub(super) fn decay(self, secs: f64) -> f64 {
        if self.tau == 0.0 { 0.0 } else { (-secs / self.tau).exp() }
    }
}

/// A signal that an effect reads through a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilteredSignal {
    /// Which rate.
    pub signal: Signal,
    /// Its filter.
    pub filter: TimeFilter,
}

/// The weights of one filter step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    decay: f64,
    from: f64,
    to: f64,
}

impl Step {
    pub fn apply(self, y: DVec3, from: DVec3, to: DVec3) -> DVec3 {
        y * self.decay + from * self.from + to * self.to
    }

    /// The step under an input that does not change.
    pub fn hold(self, y: DVec3, input: DVec3) -> DVec3 {
        y * self.decay + input * (self.from + self.to)
    }
}

/// Equal intervals over a clip, fine enough for any filter and never more than 2¹⁶.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterGrid {
    start: f64,
    end: f64,
    intervals: usize,
}

impl FilterGrid {
    pub fn new(start: f64, end: f64) -> Self {
        let wanted = (480.0 * (end - start)).ceil();
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

    #[test]
    fn gamma_is_the_share_of_a_step_made_in_a_sixtieth() {
        for gamma in [1e-6, 0.1, 0.6, 0.8, 0.999] {
            let filter = TimeFilter::new(gamma).unwrap();
            let step = filter.step(1.0 / 60.0);
            let y = step.apply(DVec3::ZERO, DVec3::X, DVec3::X).x;
            assert!((y / gamma - 1.0).abs() < 1e-12, "{gamma}: {y}");
        }
        for bad in [0.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(TimeFilter::new(bad), None);
        }
        let none = TimeFilter::NONE.step(0.25).apply(DVec3::Y, DVec3::Z, DVec3::X);
        assert_eq!(none, DVec3::X);
    }

    #[test]
    fn one_step_is_many_small_ones_when_the_input_is_straight() {
        let filter = TimeFilter::new(0.3).unwrap();
        let input = |t: f64| DVec3::new(1.0 + 2.0 * t, -t, 3.0);
        for length in [1e-9, 1e-3, 4e-3, 5e-3, 0.1, 3.0] {
            let whole = filter.step(length).apply(DVec3::ONE, input(0.0), input(length));
            let mut y = DVec3::ONE;
            for k in 0..64 {
                let (a, b) = (length * f64::from(k) / 64.0, length * f64::from(k + 1) / 64.0);
                y = filter.step(length / 64.0).apply(y, input(a), input(b));
            }
            assert!((whole - y).length() < 1e-13, "{length}: {whole} against {y}");
        }
    }

    #[test]
    fn periodic_start_solves_its_equation() {
        let end = DVec3::new(0.3, -2.0, 1.1);
        for gamma in [1e-4, 0.2, 0.9] {
            let filter = TimeFilter::new(gamma).unwrap();
            for turn in [DVec3::ZERO, DVec3::new(0.0, 1e-9, 0.0), DVec3::new(0.4, 1.0, -0.2), DVec3::X * 3.1] {
                let seam = DQuat::from_scaled_axis(turn);
                let y = filter.periodic_start(end, 0.7, seam);
                let residual = seam * y - y * filter.decay(0.7) - end;
                assert!(residual.length() < 1e-12 * (1.0 + y.length()), "{gamma} {turn}: {residual}");
            }
        }
        let hardly = TimeFilter::new(f64::MIN_POSITIVE).unwrap();
        assert!(hardly.periodic_start(DVec3::splat(1e-300), 1.0, DQuat::IDENTITY).is_finite());
    }
}
