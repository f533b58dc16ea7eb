//! Manners of moving: how much, how soft, how slow, and what is still allowed.

use sinew::text::nearest;
use std::fmt;
use std::str::FromStr;

/// A manner of moving, as an animator would call it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Barely visible, but missed when it is gone.
    Subtle,
    /// Soft parts trail and swing past; the body gives a little.
    #[default]
    Lively,
    /// The same, large, with squash and stretch.
    Cartoon,
    /// Mass that follows late and settles slowly.
    Heavy,
    /// Soft parts oscillate for long.
    Bouncy,
    /// Soft parts go ahead of the motion.
    Anticipate,
}

impl Style {
    /// All of them, in the order of the manual.
    pub const ALL: [Self; 6] = [Self::Subtle, Self::Lively, Self::Cartoon, Self::Heavy, Self::Bouncy, Self::Anticipate];

    /// In one word, lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Subtle => "subtle",
            Self::Lively => "lively",
            Self::Cartoon => "cartoon",
            Self::Heavy => "heavy",
            Self::Bouncy => "bouncy",
            Self::Anticipate => "anticipate",
        }
    }

    /// What it looks like, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Subtle => "Barely visible, but missed when it is gone",
            Self::Lively => "Soft parts trail and swing past; the body gives a little",
            Self::Cartoon => "The same, large, with squash and stretch",
            Self::Heavy => "Mass that follows late and settles slowly",
            Self::Bouncy => "Soft parts oscillate before they settle",
            Self::Anticipate => "Soft parts go ahead of the motion and are caught up with",
        }
    }

    /// The figures of the style.
    pub(crate) const fn manner(self) -> Manner {
        const LIVELY: Manner = Manner {
            part: 0.055,
            of_length: 0.4,
            range: [0.02, 0.08],
            drag: 0.7,
            swing: 0.6,
            pace: 1.0,
            damping: 0.35,
            body: 0.01,
            alone: 0.015,
            squash: 0.0,
            leads: false,
            strain: 1.3,
            worst_strain: 2.0,
            max_strain: 1.34,
        };
        match self {
            Self::Lively => LIVELY,
            Self::Subtle => Manner { part: 0.025, range: [0.01, 0.04], body: 0.005, alone: 0.008, ..LIVELY },
            Self::Cartoon => Manner {
                part: 0.11,
                of_length: 0.65,
                range: [0.04, 0.15],
                pace: 0.85,
                damping: 0.25,
                body: 0.012,
                alone: 0.012,
                squash: 0.01,
                strain: 1.6,
                max_strain: 1.66,
                worst_strain: 3.0,
                ..LIVELY
            },
            Self::Heavy => Manner { drag: 0.5, swing: 0.8, pace: 0.6, damping: 0.6, body: 0.015, ..LIVELY },
            Self::Bouncy => Manner { drag: 0.3, swing: 0.9, pace: 1.1, damping: 0.15, ..LIVELY },
            Self::Anticipate => Manner { part: 0.045, damping: 0.8, leads: true, ..LIVELY },
        }
    }

    /// Edge strain a style may have: 99.9 of 100 edges, and the worst of all.
    pub const fn strain(self) -> [f64; 2] {
        let manner = self.manner();
        [manner.strain, manner.worst_strain]
    }

    /// Strength that soft parts are to have where they move: the least and the most, as shares of the size.
    pub const fn range(self) -> [f64; 2] {
        self.manner().range
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No style of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no style {given:?}{}; known: {}", near.as_ref().map_or(String::new(), |near| format!(", did you mean {near}?")), known())]
pub struct UnknownStyle {
    given: String,
    near: Option<String>,
}

fn known() -> String {
    Style::ALL.map(Style::name).join(", ")
}

impl FromStr for Style {
    type Err = UnknownStyle;

    fn from_str(given: &str) -> Result<Self, UnknownStyle> {
        let found = Self::ALL.into_iter().find(|style| style.name() == given.trim());
        found.ok_or_else(|| UnknownStyle {
            given: given.to_owned(),
            near: nearest(given, Self::ALL.iter().map(|style| style.name())),
        })
    }
}

/// The figures of a style. Strengths are shares of the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Manner {
    /// Strength of a soft part in the liveliest clip.
    pub part: f64,
    /// The most that is, of its length: what is moved farther is stretched, not bent.
    pub of_length: f64,
    /// Least and most that a soft part is to have in clips that move it.
    pub range: [f64; 2],
    /// Drag and swing as shares of the part's strength. They are seldom largest at the same moment, so that they make more
    /// than 1 together.
    pub drag: f64,
    pub swing: f64,
    /// Factor on how fast parts oscillate.
    pub pace: f64,
    pub damping: f64,
    /// Strength of the body beside soft parts.
    pub body: f64,
    /// The same where the character has no soft part.
    pub alone: f64,
    /// Squash and stretch of the body.
    pub squash: f64,
    /// Whether parts go ahead of the motion.
    pub leads: bool,
    /// 99.9th percentile of edge strain, and the worst, that are allowed.
    pub strain: f64,
    pub worst_strain: f64,
    /// What soft parts are held to where they bend. Estimated by their thickness, so a little more than what is allowed: the
    /// judge sees to that.
    pub max_strain: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_found_by_name_or_the_nearest_is_told() {
        for style in Style::ALL {
            assert_eq!(style.name().parse(), Ok(style));
        }
        let error = "bouncey".parse::<Style>().expect_err("no such style");
        assert!(error.to_string().contains("did you mean bouncy?"), "{error}");
    }

    #[test]
    fn figures_of_styles_agree_with_each_other() {
        for style in Style::ALL {
            let Manner { part, range: [least, most], body, alone, squash, strain, worst_strain, .. } = style.manner();
            assert!(least < part && part < most && body < least + 1e-12 && alone + squash <= 0.0225, "{style}");
            assert!(1.0 < strain && strain < worst_strain, "{style}");
        }
    }
}
