//! The continuous time filter: `y(t) = ∫₀^∞ e^{−s/τ}/τ · x(t−s) ds`, `τ = −1/(60 ln(1−γ))`.
//!
//! Source: AS 6. The paper's recursion per frame depends on the frame rate; this one is a function of time alone,
//! run once over the clip's own grid of equal intervals h with x straight between nodes:
//! `y_n = a y_{n−1} + (r−a) x_{n−1} + (1−r) x_n`, `a = e^{−h/τ}`, `r = (τ/h)(1−a)`; between nodes the same step.
//! Its derivative needs no memory of its own: `ẏ = (x − y)/τ`.
//! Oracle: direct integration of the kernel; differences of y.

use super::filter::{Period, Step};
use glam::{DMat2, DVec2};

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

    /// Φ: the derivative is that of value and input, so of the state only the value counts.
    pub(super) fn transition(self, secs: f64) -> DMat2 {
        if self.tau == 0.0 {
            return DMat2::ZERO;
        }
        let decay = (-secs.max(0.0) / self.tau).exp();
        DMat2::from_cols(DVec2::new(decay, -decay / self.tau), DVec2::ZERO)
    }

    /// The step over `secs` seconds in which the input runs straight.
    pub(super) fn step(self, secs: f64) -> Step {
        let transition = self.transition(secs);
        if self.tau == 0.0 {
            return Step { transition, from: DVec2::ZERO, to: DVec2::X };
        }
        let x = secs.max(0.0) / self.tau;
        let (from, to) = if x < 0.1 {
            // r − a = Σ k(−x)^k·(−1)/(k+1)!, 1 − r = −Σ (−x)^k/(k+1)! from k = 1: the quotients lose these digits.
            let (mut from, mut to, mut term) = (0.0, 0.0, 1.0);
            for k in 1..=9 {
                let k = f64::from(k);
                term *= -x / (k + 1.0);
                to -= term;
                from -= k * term;
            }
            (from, to)
        } else {
            let r = -(-x).exp_m1() / x;
            (r - transition.x_axis.x, 1.0 - r)
        };
        Step { transition, from: DVec2::new(from, -from / self.tau), to: DVec2::new(to, (1.0 - to) / self.tau) }
    }

    pub(super) fn period(self, secs: f64) -> Period {
        let lost = if self.tau == 0.0 { 1.0 } else { -(-secs / self.tau).exp_m1() };
        Period { transition: self.transition(secs), det_of_loss: lost, loss_of_det: 1.0 }
    }
}

/// The derivative of a low-passed signal: continuous wherever the signal is, even where its own derivative jumps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DerivativeFilter(TimeFilter);

impl DerivativeFilter {
    /// The derivative of what [`TimeFilter`] with the same γ gives. `None` unless `0 < gamma < 1`: without a lag it
    /// would be the derivative of the signal itself, which key-framed motion does not have everywhere.
    pub fn new(gamma: f64) -> Option<Self> {
        TimeFilter::new(gamma).filter(|filter| *filter != TimeFilter::NONE).map(Self)
    }

    /// The filter whose derivative it is.
    pub fn low_pass(self) -> TimeFilter {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::State;
    use super::*;
    use glam::DVec3;

    #[test]
    fn gamma_is_the_share_of_a_step_made_in_a_sixtieth() {
        for gamma in [1e-6, 0.1, 0.6, 0.8, 0.999] {
            let filter = TimeFilter::new(gamma).unwrap();
            let y = filter.step(1.0 / 60.0).apply(State::ZERO, DVec3::X, DVec3::X).value.x;
            assert!((y / gamma - 1.0).abs() < 1e-12, "{gamma}: {y}");
        }
        for bad in [0.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(TimeFilter::new(bad), None);
            assert_eq!(DerivativeFilter::new(bad), None);
        }
        assert_eq!(DerivativeFilter::new(1.0), None);
        let none = TimeFilter::NONE.step(0.25).apply(State::steady(DVec3::Y), DVec3::Z, DVec3::X);
        assert_eq!(none, State::steady(DVec3::X));
    }

    #[test]
    fn the_rate_is_the_derivative_of_the_value() {
        let input = |t: f64| DVec3::new(1.0 + 2.0 * t, -t, 3.0);
        for gamma in [1e-6, 0.1, 0.6, 0.999] {
            let filter = TimeFilter::new(gamma).unwrap();
            let at = |t: f64| filter.step(t).apply(State::steady(DVec3::NEG_ONE), input(0.0), input(t));
            for t in [1e-4, 1e-3, 0.02, 0.4] {
                let h = 1e-5 * t;
                let difference = (at(t + h).value - at(t - h).value) / (2.0 * h);
                let error = (at(t).rate - difference).length();
                assert!(error < 1e-6 * (1.0 + difference.length()), "{gamma} {t}: {error}");
            }
        }
    }
}
