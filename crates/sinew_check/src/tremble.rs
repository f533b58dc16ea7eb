//! Trembling and jolts: what effects add that is faster than life.
//!
//! *Trembling* is the share of the energy of the added displacement's velocity above 8 Hz, of a group's points together.
//! Flesh swings at 1 to 6 Hz; faster is seen as shaking. Velocities weigh a frequency by how fast it moves, not only by how
//! far, and unlike accelerations are not ruled by a single kink. A loop is taken whole and exactly (its spectrum is a sum of
//! harmonics); other clips in windows of at most 4 s (Hann, half overlapping). Energy below 8 Hz is summed harmonic by
//! harmonic and the rest is what is left of the whole (Parseval). A base that shakes by itself is told beside it, and what
//! shakes by less than is seen does not count.
//!
//! A *jolt* is a step in the added displacement: with dₖ at 120 Hz, |dₖ₊₁ − dₖ| beyond the larger of the steps before
//! and after it. It goes to zero for what is smooth, and to the step for what is not; the base's own step there is taken off.
//!
//! Oracle: sines of known frequencies, a step (tests below).

use glam::DVec3;
use std::f64::consts::PI;

/// Samples per second.
pub(crate) const RATE: f64 = 120.0;
/// Hz above which motion is shaking.
const FAST: f64 = 8.0;
/// Seconds of a window, of clips that do not loop.
const WINDOW: f64 = 4.0;

/// Energy of velocity: above 8 Hz, and all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Energy {
    pub fast: f64,
    pub all: f64,
    /// Samples it is the sum of, by their windows.
    pub samples: f64,
}

impl Energy {
    pub fn add(&mut self, other: Self) {
        self.fast += other.fast;
        self.all += other.all;
        self.samples += other.samples;
    }

    pub fn share(&self) -> f64 {
        if self.all > 0.0 { self.fast / self.all } else { 0.0 }
    }

    /// Root mean square, in lengths, of what shakes, were it all at 8 Hz: the most it can be.
    pub fn amplitude(&self) -> f64 {
        if self.samples > 0.0 { (self.fast / self.samples).sqrt() / (2.0 * PI * FAST) } else { 0.0 }
    }
}

/// Energy of the velocity of a place over time, sampled every `step` seconds; of a loop the samples are one period
/// without its end.
pub(crate) fn energy(places: &[DVec3], step: f64, loops: bool) -> Energy {
    let count = places.len();
    if count < 4 || step <= 0.0 {
        return Energy::default();
    }
    let velocity = |n: usize| {
        if loops {
            (places[(n + 1) % count] - places[(n + count - 1) % count]) / (2.0 * step)
        } else {
            (places[(n + 1).min(count - 1)] - places[n.saturating_sub(1)])
                / (step * ((n + 1).min(count - 1) - n.saturating_sub(1)) as f64)
        }
    };
    let velocities: Vec<DVec3> = (0..count).map(velocity).collect();
    if loops {
        return split(&velocities, step);
    }
    let width = ((WINDOW / step) as usize).clamp(4, count);
    let hop = (width / 2).max(1);
    let mut energy = Energy::default();
    let mut from = 0;
    loop {
        let window = &velocities[from..from + width];
        // A steady drift is no oscillation, and would leak into all of them.
        let mean = window.iter().sum::<DVec3>() / width as f64;
        let tapered: Vec<DVec3> = (window.iter().enumerate())
            .map(|(n, v)| (v - mean) * (PI * (n as f64 + 0.5) / width as f64).sin().powi(2))
            .collect();
        // The mean of sin⁴ is 3/8.
        energy.add(Energy { samples: 0.375 * width as f64, ..split(&tapered, step) });
        if from + width >= count {
            return energy;
        }
        from = (from + hop).min(count - width);
    }
}

/// Energy of samples that are taken as periodic.
fn split(samples: &[DVec3], step: f64) -> Energy {
    let count = samples.len();
    let all: f64 = samples.iter().map(|v| v.length_squared()).sum();
    let mut slow = 0.0;
    for harmonic in 0..=count / 2 {
        if harmonic as f64 / (count as f64 * step) > FAST {
            break;
        }
        let turn = 2.0 * PI * harmonic as f64 / count as f64;
        let (sine, cosine) = turn.sin_cos();
        // The angle is turned step by step: rounding grows with the count, far below what is measured.
        let (mut c, mut s) = (1.0, 0.0);
        let (mut re, mut im) = (DVec3::ZERO, DVec3::ZERO);
        for &v in samples {
            re += v * c;
            im += v * s;
            (c, s) = (c * cosine - s * sine, s * cosine + c * sine);
        }
        let both = if harmonic == 0 || 2 * harmonic == count { 1.0 } else { 2.0 };
        slow += both * (re.length_squared() + im.length_squared()) / count as f64;
    }
    Energy { fast: (all - slow).max(0.0), all, samples: count as f64 }
}

/// The largest jolt of a series of added displacements beyond the base's own there, and the sample before it.
pub(crate) fn jolt(added: &[DVec3], base: &[DVec3], loops: bool) -> (f64, usize) {
    let count = added.len();
    let mut worst = (0.0, 0);
    if count < 4 {
        return worst;
    }
    let step = |series: &[DVec3], n: usize| series[(n + 1) % count].distance(series[n % count]);
    let excess = |series: &[DVec3], n: usize| {
        step(series, n) - step(series, (n + count - 1) % count).max(step(series, (n + 1) % count))
    };
    let range = if loops { 0..count } else { 1..count - 2 };
    for n in range {
        let found = excess(added, n) - excess(base, n).max(0.0);
        if found > worst.0 {
            worst = (found, n);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(seconds: f64, place: impl Fn(f64) -> f64) -> Vec<DVec3> {
        let count = (seconds * RATE).round() as usize;
        (0..count).map(|n| DVec3::new(0.3, place(n as f64 / RATE), 0.0)).collect()
    }

    #[test]
    fn sines_are_told_by_their_frequency() {
        let sine = |hertz: f64, t: f64| (2.0 * PI * hertz * t).sin();
        for loops in [true, false] {
            let share = |place: &dyn Fn(f64) -> f64| energy(&series(2.0, place), 1.0 / RATE, loops).share();
            assert!(share(&|t| sine(3.0, t)) < 1e-3, "slow");
            assert!(share(&|t| sine(12.0, t)) > 0.999, "fast");
            // A tenth as far at four times the frequency: (0.1 · 4)² as much energy of velocity, less what central
            // differences at 120 Hz take off.
            let mixed = share(&|t| sine(3.0, t) + 0.1 * sine(12.0, t));
            let damped = |hertz: f64| (2.0 * PI * hertz / RATE).sin().powi(2);
            let fast = 0.01 * damped(12.0);
            let expected = fast / (fast + damped(3.0));
            assert!((mixed - expected).abs() < 5e-3, "{mixed} against {expected}");
            assert_eq!(share(&|_| 1.0), 0.0);
        }
        let drift = energy(&series(2.0, |t| 5.0 * t), 1.0 / RATE, false);
        assert!(drift.share() < 1e-6 || drift.all < 1e-12, "{drift:?}");
    }

    #[test]
    fn a_long_clip_is_as_a_short_one() {
        let place = |t: f64| (2.0 * PI * 3.0 * t).sin() + 0.2 * (2.0 * PI * 15.0 * t).sin();
        let share = |seconds: f64| energy(&series(seconds, place), 1.0 / RATE, false).share();
        assert!((share(4.0) - share(37.0)).abs() < 5e-3, "{} {}", share(4.0), share(37.0));
    }

    #[test]
    fn a_step_is_a_jolt_and_a_swing_is_none() {
        let still = series(1.0, |_| 0.0);
        let swing = series(1.0, |t| (2.0 * PI * 4.0 * t).sin());
        let step = series(1.0, |t| (2.0 * PI * 4.0 * t).sin() * 0.1 + if t > 0.5 { 0.4 } else { 0.0 });
        assert!(jolt(&swing, &still, true).0 < 0.03);
        let (found, at) = jolt(&step, &still, false);
        assert!((found - 0.4).abs() < 0.01 && at == 60, "{found} {at}");
        assert!(jolt(&step, &step, false).0 < 1e-12, "the base does the same");
    }
}
