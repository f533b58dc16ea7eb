//! An oscillator that remembers no more than a window of time.
//!
//! Source: KD 3. The character stands still, as far as its flesh knows, until `secs` ago, and moves from there:
//! long windows come to what a run over the whole clip gives, a window of 0 is the pose alone. [`crate::motion`] tells its
//! value for what bones feel; in live motion, which has no past to look up, it runs on like any oscillator.

use super::oscillator::Oscillator;

/// An oscillator, its window, and how long ago it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    oscillator: Oscillator,
    secs: f64,
    age_secs: f64,
}

impl Window {
    /// Longest window in seconds.
    pub const LONGEST_SECS: f64 = 60.0;

    /// As it stood `age_secs` ago, in a window that began `secs` ago. `None` unless `0 ≤ age_secs ≤ secs ≤` the longest.
    pub fn new(oscillator: Oscillator, secs: f64, age_secs: f64) -> Option<Self> {
        let legal = (0.0..=Self::LONGEST_SECS).contains(&secs) && (0.0..=secs).contains(&age_secs);
        legal.then_some(Self { oscillator, secs, age_secs })
    }

    /// What swings.
    pub fn oscillator(self) -> Oscillator {
        self.oscillator
    }

    /// How long ago the window began.
    pub fn secs(self) -> f64 {
        self.secs
    }

    /// How long ago it is read.
    pub fn age_secs(self) -> f64 {
        self.age_secs
    }
}
