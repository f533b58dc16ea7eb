//! How far effects are to move the skin, in place of a gain: `strength = "4 %"`.

use super::edit::Literal;
use super::error::Fault;
use super::parse::{At, Reader};
use crate::param::Range;
use std::fmt;
use std::str::FromStr;
use toml_edit::{Item, TableLike, Value};

/// Above the whole size something else was meant, such as 4 for 4 %.
const SHARE: Range = Range { min: 0.0, max: 1.0, unit: "× size" };
/// What may stand in a recipe and on a command line.
const EXPECTED: &str = "a share of the character's size, such as \"4 %\" or 0.04";

pub(super) const OVER_WORDS: &[(&str, StrengthOver)] =
    &[("all", StrengthOver::All), ("each", StrengthOver::Each), ("balanced", StrengthOver::Balanced)];

/// How far effects move the skin: the 95th percentile over the frames of a clip of the farthest that they move a point,
/// of the parts that they act on, as a share of the character's size. [`crate::strength::solve`] finds the gain.
///
/// # Invariants
/// From 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Strength(f64);

impl Strength {
    /// `None` unless it is from 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        SHARE.holds(share).then_some(Self(share))
    }

    /// As a share of the size.
    pub fn share(self) -> f64 {
        self.0
    }
}

/// Words that are no strength.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a share of the character's size, such as 4% or 0.04, from 0 to 1")]
pub struct NoStrength;

impl FromStr for Strength {
    type Err = NoStrength;

    fn from_str(given: &str) -> Result<Self, NoStrength> {
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| NoStrength);
        let share = match given.trim().strip_suffix('%') {
            Some(percent) => number(percent)? / 100.0,
            None => number(given)?,
        };
        Self::new(share).ok_or(NoStrength)
    }
}

impl fmt::Display for Strength {
    /// In percent, or as a number where no percentage reads the same again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (0..17).map(|digits| format!("{:.digits$}", 100.0 * self.0));
        let exact = |text: &String| text.parse::<f64>().is_ok_and(|read| read / 100.0 == self.0);
        match percent.into_iter().find(exact) {
            Some(percent) => write!(f, "{percent} %"),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Which clips a strength is measured over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrengthOver {
    /// All clips together: one gain, with which the liveliest clip has the strength, so that a walk stays calmer than a
    /// run.
    #[default]
    All,
    /// Each clip by itself: a gain of its own for every clip, with which all of them have the strength.
    Each,
    /// Between the two: a gain of its own for every clip, with which the liveliest has the strength S and one that moves
    /// the skin by a share q of that at one gain has S √q. What is still, less than a hundredth, is left at that gain.
    Balanced,
}

impl Reader {
    pub(super) fn strength(&mut self, at: &At<'_>) -> Option<Strength> {
        let value = match at.item {
            Item::Value(Value::String(text)) => match text.value().parse() {
                Ok(strength) => return Some(strength),
                Err(NoStrength) => {
                    self.wrong_type(at, format!("{EXPECTED}, from 0 to 1"));
                    return None;
                }
            },
            Item::Value(Value::Integer(value)) => *value.value() as f64,
            Item::Value(Value::Float(value)) => *value.value(),
            _ => {
                self.wrong_type(at, EXPECTED);
                return None;
            }
        };
        let strength = Strength::new(value);
        if strength.is_none() {
            let Range { min, max, unit } = SHARE;
            self.fault(at.value_offset(), &at.path, Fault::OutOfRange { value, min, max, unit });
        }
        strength
    }

    /// An effect has a gain, or a strength that it is solved for.
    pub(super) fn refuse_gain_and_strength(&mut self, effect: &dyn TableLike, path: &str) {
        if let Some((gain, strength)) = At::of(effect, "gain", path).zip(At::of(effect, "strength", path)) {
            let (later, other) = if gain.offset > strength.offset { (gain, "strength") } else { (strength, "gain") };
            self.fault(later.offset, &later.path, Fault::SaidTwice { other });
        }
    }
}

impl From<Strength> for Literal {
    fn from(strength: Strength) -> Self {
        strength.to_string().as_str().into()
    }
}

impl From<StrengthOver> for Literal {
    fn from(over: StrengthOver) -> Self {
        Self::word(over, OVER_WORDS)
    }
}

impl StrengthOver {
    /// The choices, as recipes name them.
    pub const WORDS: &'static [(&'static str, Self)] = OVER_WORDS;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_or_a_number() {
        for (given, share) in
            [("4 %", 0.04), ("4%", 0.04), ("0.04", 0.04), ("0", 0.0), ("100 %", 1.0), ("1.25%", 0.0125)]
        {
            assert_eq!(given.parse::<Strength>().map(Strength::share), Ok(share), "{given}");
        }
        for given in ["", "%", "4", "-1 %", "NaN", "inf %", "101 %", "much"] {
            assert_eq!(given.parse::<Strength>(), Err(NoStrength), "{given}");
        }
    }

    #[test]
    fn what_is_written_reads_the_same() {
        for share in [0.0, 0.04, 0.07, 0.0125, 1.0 / 3.0, 0.1 + 0.2, 1e-5, 1.0] {
            let strength = Strength(share);
            assert_eq!(strength.to_string().parse(), Ok(strength), "{strength}");
        }
        assert_eq!(Strength(0.07).to_string(), "7 %");
    }
}
