//! How far a baked point may be from where it belongs.

use std::fmt;
use std::str::FromStr;

/// The largest distance in world space between a point as played and as computed. Positive and finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// As a share of the character's size.
    OfSize(f64),
    /// In scene units, which glTF says are metres.
    Units(f64),
}

impl Tolerance {
    /// In scene units, for a character of the given size.
    pub fn units(self, size: f64) -> f64 {
        match self {
            Self::OfSize(share) => share * size,
            Self::Units(units) => units,
        }
    }

    /// So many times as much.
    pub fn times(self, factor: f64) -> Self {
        match self {
            Self::OfSize(share) => Self::OfSize(factor * share),
            Self::Units(units) => Self::Units(factor * units),
        }
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Self::OfSize(1e-3)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfSize(share) => write!(f, "{} %", 100.0 * share),
            Self::Units(units) => write!(f, "{units} units"),
        }
    }
}

/// Why a tolerance was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{given}\" is not a tolerance; give a share of the character's size, such as 0.1%, or a length, such as 2mm, 0.5cm or 0.01u (scene units)"
)]
pub struct ToleranceError {
    given: String,
}

impl FromStr for Tolerance {
    type Err = ToleranceError;

    fn from_str(text: &str) -> Result<Self, ToleranceError> {
        const ENDINGS: [(&str, Tolerance); 5] = [
            ("%", Tolerance::OfSize(100.0)),
            ("mm", Tolerance::Units(1000.0)),
            ("cm", Tolerance::Units(100.0)),
            ("m", Tolerance::Units(1.0)),
            ("u", Tolerance::Units(1.0)),
        ];
        let parsed = ENDINGS.iter().find_map(|(ending, parts_of_one)| {
            let number: f64 = text.trim().strip_suffix(ending)?.trim().parse().ok()?;
            let tolerance = match parts_of_one {
                Self::OfSize(parts) => Self::OfSize(number / parts),
                Self::Units(parts) => Self::Units(number / parts),
            };
            (number > 0.0 && number.is_finite()).then_some(tolerance)
        });
        parsed.ok_or_else(|| ToleranceError { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_lengths_are_told_apart() {
        for (text, expected) in [
            ("0.1%", Tolerance::OfSize(0.1 / 100.0)),
            (" 2 % ", Tolerance::OfSize(0.02)),
            ("0.5mm", Tolerance::Units(0.0005)),
            ("2cm", Tolerance::Units(0.02)),
            ("1m", Tolerance::Units(1.0)),
            ("2u", Tolerance::Units(2.0)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["0.1", "", "%", "-1%", "0mm", "infu", "NaN%", "2ft"] {
            assert!(text.parse::<Tolerance>().is_err(), "{text}");
        }
    }
}
