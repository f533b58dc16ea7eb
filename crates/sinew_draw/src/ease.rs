//! When something drawn holds: fully at one time, nothing before its ease in and after its ease out (EX 5.1, fig. 22).
//!
//! Oracle: exactly 1 at its time, exactly 0 outside; in and out are mirror images (tests here).

use serde::{Deserialize, Serialize};
use sinew::correct::surface_edit::Profile;
use sinew::recipe::KeyCurve;

/// How it comes and goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Easing {
    /// Evenly.
    Linear,
    /// Slowly, then fast.
    CubicIn,
    /// Fast, then slowly.
    QuarticOut,
    /// Slowly at both ends.
    #[default]
    SineInOut,
}

impl Easing {
    /// From 0 to 1.
    pub fn at(self, t: f64) -> f64 {
        let profile = match self {
            Self::Linear => Profile::Linear,
            Self::CubicIn => Profile::CubicIn,
            Self::QuarticOut => Profile::QuarticOut,
            Self::SineInOut => Profile::SineInOut,
        };
        profile.at(t)
    }
}

/// A time with an ease before and after it, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ease {
    /// When it holds fully.
    pub time: f64,
    /// How long it takes to come; at once with 0.
    pub ease_in: f64,
    /// How long it takes to go.
    pub ease_out: f64,
    /// How it does.
    #[serde(default)]
    pub easing: Easing,
}

/// Why an ease is none.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "its time is {time} s with an ease of {ease_in} s in and {ease_out} s out; give seconds, and eases of 0 or more"
)]
pub struct EaseError {
    time: f64,
    ease_in: f64,
    ease_out: f64,
}

/// Start and period of a loop.
pub type Cycle = (f64, f64);

impl Ease {
    /// Keys of a curve per ease: linear pieces are within a two-hundredth of the easings.
    const KEYS: u32 = 24;

    /// Whether its numbers are seconds.
    pub fn check(&self) -> Result<(), EaseError> {
        let Self { time, ease_in, ease_out, .. } = *self;
        let sound = time.is_finite() && [ease_in, ease_out].iter().all(|x| x.is_finite() && *x >= 0.0);
        if sound { Ok(()) } else { Err(EaseError { time, ease_in, ease_out }) }
    }

    /// Its first and last moment.
    pub fn span(&self) -> [f64; 2] {
        [self.time - self.ease_in, self.time + self.ease_out]
    }

    /// How much of it there is; exactly 0 outside its span.
    pub fn weight(&self, time: f64) -> f64 {
        let [start, end] = self.span();
        if time == self.time {
            1.0
        } else if !(start..=end).contains(&time) {
            0.0
        } else if time < self.time {
            self.easing.at((time - start) / self.ease_in)
        } else {
            self.easing.at((end - time) / self.ease_out)
        }
    }

    /// As [`Ease::weight`], coming in before the end of a loop and going out after its start.
    pub fn weight_in(&self, time: f64, cycle: Option<Cycle>) -> f64 {
        let around = |by: f64| cycle.map_or(0.0, |(_, period)| self.weight(time + by * period));
        self.weight(time).max(around(1.0)).max(around(-1.0))
    }

    /// The same as keys of an amount; `None` where its numbers are no seconds.
    pub fn curve(&self, amount: f64) -> Option<KeyCurve> {
        self.check().ok()?;
        let steps = |from: f64, length: f64| {
            (0..=Self::KEYS).map(move |i| from + length * f64::from(i) / f64::from(Self::KEYS))
        };
        let [start, _] = self.span();
        let mut times: Vec<f64> = steps(start, self.ease_in).chain(steps(self.time, self.ease_out)).collect();
        // What comes or goes at once does so within the least step of time that a number has.
        times.extend((self.ease_in == 0.0).then(|| self.time.next_down()));
        times.extend((self.ease_out == 0.0).then(|| self.time.next_up()));
        times.sort_by(f64::total_cmp);
        times.dedup();
        KeyCurve::new(times.into_iter().map(|time| (time, amount * self.weight(time))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_whole_at_its_time_and_nothing_outside() {
        for easing in [Easing::Linear, Easing::CubicIn, Easing::QuarticOut, Easing::SineInOut] {
            let ease = Ease { time: 0.7, ease_in: 0.3, ease_out: 0.3, easing };
            assert_eq!(ease.weight(0.7), 1.0);
            for time in [-5.0, 0.3999, 1.0001, 9.0] {
                assert_eq!(ease.weight(time), 0.0);
            }
            let curve = ease.curve(2.0).expect("sound");
            for i in 1..300 {
                let d = 0.001 * f64::from(i);
                let [before, after] = [ease.weight(0.7 - d), ease.weight(0.7 + d)];
                assert!((before - after).abs() < 1e-9 && (0.0..=1.0).contains(&before));
                assert!((curve.at(0.7 - d) - 2.0 * before).abs() < 0.01);
            }
            assert_eq!((curve.at(0.7), curve.at(0.39), curve.at(1.01), curve.at(5.0)), (2.0, 0.0, 0.0, 0.0));
        }
    }

    #[test]
    fn at_once_and_around_a_loop() {
        let sudden = Ease { time: 0.5, ease_in: 0.0, ease_out: 0.0, easing: Easing::Linear };
        assert_eq!([0.499, 0.5, 0.501].map(|t| sudden.weight(t)), [0.0, 1.0, 0.0]);
        let curve = sudden.curve(1.0).expect("sound");
        assert_eq!([0.499, 0.5, 0.501].map(|t| curve.at(t)), [0.0, 1.0, 0.0]);
        let late = Ease { time: 0.9, ease_in: 0.2, ease_out: 0.3, easing: Easing::Linear };
        let cycle = Some((0.0, 1.0));
        assert!((late.weight_in(0.0, cycle) - late.weight_in(1.0, cycle)).abs() < 1e-12);
        assert!(late.weight_in(0.1, cycle) > 0.3 && late.weight_in(0.1, None) == 0.0);
        assert!(
            Ease { ease_in: f64::NAN, ..late }.check().is_err() && Ease { ease_out: -1.0, ..late }.curve(1.0).is_none()
        );
    }
}
