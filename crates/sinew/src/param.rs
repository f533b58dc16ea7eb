//! Self-describing parameters: help texts, recipe validation and later the studio's panels come from these lists.

use std::fmt;

/// One parameter of a deformer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Key in a recipe.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What values it takes.
    pub kind: ParamKind,
    /// Whether it is a length in sizes, which a raw effect takes in scene units and without an end.
    pub is_length: bool,
    /// The word that stands for 0, where 0 lies outside the range: `auto`, a number the program finds by itself.
    pub word_for_zero: Option<&'static str>,
}

/// A closed range with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Unit, such as `s`, `rad`, `× size`; empty for a plain number.
    pub unit: &'static str,
}

impl Range {
    /// Whether the value is a number within.
    pub fn holds(self, value: f64) -> bool {
        value.is_finite() && (self.min..=self.max).contains(&value)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, max, unit } = *self;
        let space = if unit.is_empty() { "" } else { " " };
        if max.is_finite() {
            write!(f, "{min} to {max}{space}{unit}")
        } else {
            write!(f, "at least {min}{space}{unit}")
        }
    }
}

/// The longest length in scene units: any limit there binds nothing, and its inverse is still within single precision.
pub const LONGEST: f64 = 1e30;

/// The values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A number in a closed range.
    Number {
        /// Unit, such as `s`, `rad`, `× size`; empty for a plain number.
        unit: &'static str,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Value when the recipe is silent.
        default: f64,
    },
    /// Yes or no.
    Switch {
        /// Value when the recipe is silent.
        default: bool,
    },
    /// One of a few words; the first is the value when the recipe is silent.
    Choice {
        /// The words.
        words: &'static [&'static str],
    },
}

impl ParamSpec {
    /// A number.
    pub const fn number(
        name: &'static str,
        unit: &'static str,
        [min, max]: [f64; 2],
        default: f64,
        about: &'static str,
    ) -> Self {
        Self::of(name, ParamKind::Number { unit, min, max, default }, about)
    }

    const fn of(name: &'static str, kind: ParamKind, about: &'static str) -> Self {
        Self { name, about, kind, is_length: false, word_for_zero: None }
    }

    /// A number, or the word `auto` for one the program finds by itself, which is the default and counts as 0. The
    /// range lies above 0.
    pub const fn number_or_auto(name: &'static str, unit: &'static str, range: [f64; 2], about: &'static str) -> Self {
        Self { word_for_zero: Some("auto"), ..Self::number(name, unit, range, 0.0, about) }
    }

    /// A length in sizes, from 0; of a raw effect in scene units.
    pub const fn length(name: &'static str, max: f64, default: f64, about: &'static str) -> Self {
        Self { is_length: true, ..Self::number(name, "× size", [0.0, max], default, about) }
    }

    /// What values it takes in a raw effect.
    pub fn raw_kind(&self) -> ParamKind {
        match self.kind {
            ParamKind::Number { min, default, .. } if self.is_length => {
                ParamKind::Number { unit: "scene units", min, max: LONGEST, default }
            }
            kind => kind,
        }
    }

    /// A switch.
    pub const fn switch(name: &'static str, default: bool, about: &'static str) -> Self {
        Self::of(name, ParamKind::Switch { default }, about)
    }

    /// One of some words, of which the first is the default.
    pub const fn choice(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::of(name, ParamKind::Choice { words }, about)
    }

    /// The default as a number; switches count as 0 and 1, words by their place.
    pub fn default(&self) -> f64 {
        match self.kind {
            ParamKind::Number { default, .. } => default,
            ParamKind::Switch { default } => f64::from(u8::from(default)),
            ParamKind::Choice { .. } => 0.0,
        }
    }
}

/// Values for a list of parameters, all in range; lengths in that of raw effects.
#[derive(Debug, PartialEq)]
pub struct Values {
    specs: &'static [ParamSpec],
    values: Vec<f64>,
}

impl Clone for Values {
    fn clone(&self) -> Self {
        Self { specs: self.specs, values: self.values.clone() }
    }

    /// In memory that is there.
    fn clone_from(&mut self, other: &Self) {
        self.specs = other.specs;
        self.values.clone_from(&other.values);
    }
}

impl Values {
    /// All defaults.
    pub fn defaults(specs: &'static [ParamSpec]) -> Self {
        Self { specs, values: specs.iter().map(ParamSpec::default).collect() }
    }

    /// The parameters.
    pub fn specs(&self) -> &'static [ParamSpec] {
        self.specs
    }

    /// Sets a number if it is known and in range; switches take 0 and 1, choices the place of their word.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        let index = self.specs.iter().position(|spec| spec.name == name).ok_or(ValueError::Unknown)?;
        // Values do not know whether their effect is raw.
        let (min, max) = match self.specs[index].raw_kind() {
            ParamKind::Number { min, max, .. } => (min, max),
            ParamKind::Switch { .. } => (0.0, 1.0),
            ParamKind::Choice { words } => (0.0, words.len().saturating_sub(1) as f64),
        };
        let whole = !matches!(self.specs[index].kind, ParamKind::Choice { .. }) || value.fract() == 0.0;
        let by_word = self.specs[index].word_for_zero.is_some() && value == 0.0;
        if !(by_word || (min..=max).contains(&value)) || !whole {
            return Err(ValueError::OutOfRange { min, max });
        }
        self.values[index] = value;
        Ok(())
    }

    /// A number. `name` must be of the list.
    pub fn number(&self, name: &str) -> f64 {
        let index = self.specs.iter().position(|spec| spec.name == name);
        debug_assert!(index.is_some(), "no parameter named {name}");
        index.map_or(0.0, |index| self.values[index])
    }

    /// The word of a choice. `name` must be of the list.
    pub fn word(&self, name: &str) -> &'static str {
        let words = self.specs.iter().find(|spec| spec.name == name).map(|spec| spec.kind);
        match words {
            Some(ParamKind::Choice { words }) => words.get(self.number(name) as usize).copied().unwrap_or_default(),
            _ => "",
        }
    }

    /// Chooses a word if it is known.
    pub fn choose(&mut self, name: &str, word: &str) -> Result<(), ValueError> {
        let spec = self.specs.iter().find(|spec| spec.name == name).ok_or(ValueError::Unknown)?;
        let ParamKind::Choice { words } = spec.kind else { return Err(ValueError::Unknown) };
        let index = words.iter().position(|&known| known == word).ok_or(ValueError::Unknown)?;
        self.set(name, index as f64)
    }

    /// A switch. `name` must be of the list.
    pub fn switch(&self, name: &str) -> bool {
        self.number(name) != 0.0
    }
}

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueError {
    /// No parameter of that name.
    Unknown,
    /// Of another kind than asked for: a word for a number, three numbers for six.
    WrongKind,
    /// Not in the closed range, or not a number.
    OutOfRange {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
}
