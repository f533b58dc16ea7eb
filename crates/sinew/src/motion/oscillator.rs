//! The wobble: a mass on a damped spring that a signal drives, `ü + 2ζω₀u̇ + ω₀²u = ω₀²x`.
//!
//! `u(t) = ∫₀^∞ h(s) x(t−s) ds`, `h(s) = ω₀²/ω_d · e^{−ζω₀s} sin(ω_d s)`, `ω_d = ω₀√(1−ζ²)`; ∫h = 1, so that a steady
//! signal is answered by itself. Driven by the acceleration of a bone, −u/ω₀² is the displacement of a mass carried by
//! it on a spring: it overshoots and rings, which no low-pass does. ζ = 1 comes to rest fastest without ringing.
//! In θ = ω₀t the state (u, u̇/ω₀) obeys `s′ = A s + (0, x)`, `A = [[0, 1], [−1, −2ζ]]`, and
//! `Φ = e^{Aθ} = e^{−ζθ}(C·I + S·(A + ζI))`, `C = cos κθ`, `S = sin κθ/κ`, `κ² = 1 − ζ²`, hyperbolic for ζ > 1.
//! An input `x₀ + mθ` is answered, once settled, by `(x − 2ζm, m)`: the step is exact.
//! Oracle: direct integration of the kernel; Runge–Kutta on the equation.

use super::filter::{Period, Step};
use glam::{DMat2, DVec2};
use std::f64::consts::TAU;

/// A frequency and a damping ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillator {
    frequency_hz: f64,
    damping: f64,
}

/// Below this ω₀t the closed form of the input's weights loses digits.
const SERIES_BELOW: f64 = 0.1;
/// Beyond this ω₀t nothing is left: `e^{−ζθ}` is 0 for every damping.
const FORGOTTEN: f64 = 1e6;

impl Oscillator {
    /// Lowest frequency, in Hz.
    pub const LOWEST_HZ: f64 = 0.01;
    /// Highest frequency, in Hz: what signals known 480 times a second can drive.
    pub const HIGHEST_HZ: f64 = 60.0;
    /// Least damping ratio. Without any, nothing would ever be forgotten and a loop in tune would have no end.
    pub const LEAST_DAMPING: f64 = 0.001;
    /// Largest damping ratio.
    pub const LARGEST_DAMPING: f64 = 2.0;

    /// `frequency_hz` is that of the spring without damping. `None` unless both are within the limits above.
    pub fn new(frequency_hz: f64, damping: f64) -> Option<Self> {
        let legal = (Self::LOWEST_HZ..=Self::HIGHEST_HZ).contains(&frequency_hz)
            && (Self::LEAST_DAMPING..=Self::LARGEST_DAMPING).contains(&damping);
        legal.then_some(Self { frequency_hz, damping })
    }

    /// As given.
    pub fn frequency_hz(self) -> f64 {
        self.frequency_hz
    }

    /// ζ as given: below 1 it rings.
    pub fn damping(self) -> f64 {
        self.damping
    }

    /// ω₀ in radians per second.
    pub fn angular_frequency(self) -> f64 {
        TAU * self.frequency_hz
    }

    /// √|1 − ζ²|.
    fn kappa(self) -> f64 {
        ((1.0 - self.damping) * (1.0 + self.damping)).abs().sqrt()
    }

    /// `e^{Aθ}`.
    fn exponential(self, theta: f64) -> DMat2 {
        let (zeta, kappa, theta) = (self.damping, self.kappa(), theta.min(FORGOTTEN));
        let (c, s) = if zeta < 1.0 {
            let decay = (-zeta * theta).exp();
            let (sine, cosine) = (kappa * theta).sin_cos();
            (decay * cosine, decay * sine / kappa)
        } else {
            // The slower of the two exponentials in front: cosh and sinh alone would overflow.
            let slow = (-(zeta - kappa) * theta).exp();
            let ratio_lost = -(-2.0 * kappa * theta).exp_m1();
            let s = if kappa == 0.0 { theta } else { 0.5 * ratio_lost / kappa };
            (slow * (1.0 - 0.5 * ratio_lost), slow * s)
        };
        DMat2::from_cols(DVec2::new(c + zeta * s, -s), DVec2::new(s, c - zeta * s))
    }

    /// From (u, u̇/ω₀) to (u, u̇).
    fn in_seconds(self, dimensionless: DMat2) -> DMat2 {
        let omega = self.angular_frequency();
        let [x, y] = [dimensionless.x_axis, dimensionless.y_axis];
        DMat2::from_cols(DVec2::new(x.x, x.y * omega), DVec2::new(y.x / omega, y.y))
    }

    pub(super) fn transition(self, secs: f64) -> DMat2 {
        self.in_seconds(self.exponential(self.angular_frequency() * secs.max(0.0)))
    }

    pub(super) fn step(self, secs: f64) -> Step {
        let (zeta, omega) = (self.damping, self.angular_frequency());
        let theta = omega * secs.max(0.0);
        let transition = self.exponential(theta);
        let (from, to) = if theta < SERIES_BELOW {
            // g = Σ Aᵏ(0,1) θᵏ⁺¹/(k+2)!, f = Σ (k+1) Aᵏ(0,1) θᵏ⁺¹/(k+2)! from k = 0.
            let (mut from, mut to, mut term) = (DVec2::ZERO, DVec2::ZERO, DVec2::new(0.0, 0.5 * theta));
            for k in 0..12 {
                let k = f64::from(k);
                to += term;
                from += term * (k + 1.0);
                term = DVec2::new(term.y, -term.x - 2.0 * zeta * term.y) * (theta / (k + 3.0));
            }
            (from, to)
        } else {
            let per_slope = DVec2::new(-2.0 * zeta, 1.0) / theta;
            let left = transition * per_slope;
            (left - per_slope - transition.x_axis, DVec2::X + per_slope - left)
        };
        let scale = DVec2::new(1.0, omega);
        Step { transition: self.in_seconds(transition), from: from * scale, to: to * scale }
    }

    pub(super) fn period(self, secs: f64) -> Period {
        let (zeta, kappa) = (self.damping, self.kappa());
        let theta = (self.angular_frequency() * secs).min(FORGOTTEN);
        let lost = |rate: f64| -(-rate * theta).exp_m1();
        let det_of_loss = if zeta < 1.0 {
            let half_sine = (0.5 * kappa * theta).sin();
            lost(zeta) * lost(zeta) + 4.0 * (1.0 - lost(zeta)) * half_sine * half_sine
        } else {
            lost(zeta - kappa) * lost(zeta + kappa)
        };
        Period { transition: self.transition(secs), det_of_loss, loss_of_det: lost(2.0 * zeta) }
    }
}
