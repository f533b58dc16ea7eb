//! What is wrong with a recipe file, where, and how to mend it.

use crate::cone::ConeError;
use crate::param::Range;
use crate::text::did_you_mean;
use std::fmt;

/// The first fault of a recipe file.
#[derive(Clone, Debug, PartialEq)]
pub struct RecipeError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Full path of the key, such as `effect[1].rotation`; empty where no key is at fault.
    pub path: String,
    /// What is wrong.
    pub fault: Fault,
}

impl std::error::Error for RecipeError {}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.without_place())
    }
}

impl RecipeError {
    /// Key and fault, for who sees no lines.
    pub(super) fn without_place(&self) -> String {
        if self.path.is_empty() { self.fault.to_string() } else { format!("{}: {}", self.path, self.fault) }
    }
}

/// What can be wrong with a recipe file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// The format's version is not told.
    #[error("the recipe has no version; add \"version = {known}\" as its first line")]
    NoVersion {
        /// The version this program writes.
        known: i64,
    },
    /// From a newer program.
    #[error(
        "this recipe needs version {needed} of the recipe format, but this program reads up to version {known}; \
         update Sinew"
    )]
    NewerVersion {
        /// The version of the file.
        needed: i64,
        /// The newest version known here.
        known: i64,
    },
    /// A paper's form of an effect that is in none.
    #[error("{effect} does not come from a paper, so it has no paper form; leave \"form\" out")]
    NoPaper {
        /// The effect.
        effect: &'static str,
    },
    /// A version there never was.
    #[error("there is no version {found} of the recipe format; write \"version = {known}\"")]
    NoSuchVersion {
        /// What the file says.
        found: i64,
        /// The version this program writes.
        known: i64,
    },
    /// A key that means nothing.
    #[error("no such key{}", remedy(.nearest, .valid))]
    UnknownKey {
        /// The valid key most like it.
        nearest: Option<String>,
        /// All valid keys.
        valid: Vec<String>,
    },
    /// A key that means something elsewhere.
    #[error("this key belongs {belongs}")]
    Misplaced {
        /// Where it belongs, in words.
        belongs: &'static str,
    },
    /// A name with a dot and without quotes, which TOML reads as a table in a table.
    #[error("a name with a dot needs quotes: {name:?}")]
    Unquoted {
        /// The name meant.
        name: String,
    },
    /// A key without which the rest means nothing.
    #[error("{what} is missing; add {add}")]
    Missing {
        /// What is missing, in words.
        what: &'static str,
        /// What to write.
        add: String,
    },
    /// Another type of value.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What may stand here.
        expected: String,
        /// What stands here.
        found: String,
    },
    /// A number out of range.
    #[error("{value} is out of range; give {}", range(*.min, *.max, .unit))]
    OutOfRange {
        /// The number.
        value: f64,
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed; infinite if there is none.
        max: f64,
        /// Unit of all three; may be empty.
        unit: &'static str,
    },
    /// A word that is none of the choices.
    #[error("{found:?} is not one of the choices{}", remedy(.nearest, .valid))]
    UnknownWord {
        /// The word.
        found: String,
        /// The choice most like it.
        nearest: Option<String>,
        /// All choices.
        valid: Vec<String>,
    },
    /// A name that cannot be one.
    #[error("the name is empty; {remedy}")]
    EmptyName {
        /// What to do.
        remedy: &'static str,
    },
    /// Two keys that say the same thing.
    #[error("{other:?} already sets this; keep one of the two")]
    SaidTwice {
        /// The other key.
        other: &'static str,
    },
    /// A parameter that is one for the whole clip.
    #[error("this cannot be keyed: filters run over the whole clip ahead of time; give one number")]
    NotKeyable,
    /// A key curve that goes back in time.
    #[error("this key, at {time} s, does not come after the one before it, at {before} s; sort the keys by time")]
    NotInOrder {
        /// Time of the key.
        time: f64,
        /// Time of the key before it.
        before: f64,
    },
    /// An effect that acts along a cone, without one.
    #[error("{effect} needs a cone; write true, or leave the key out")]
    NeedsCone {
        /// The effect.
        effect: &'static str,
    },
    /// A cone that is none.
    #[error("{0}")]
    Cone(ConeError),
    /// A map file elsewhere.
    #[error("{found:?} is not beside the recipe; give a path relative to it, without \"..\"")]
    NotBeside {
        /// The path.
        found: String,
    },
}

fn remedy(nearest: &Option<String>, valid: &[String]) -> String {
    match nearest {
        Some(_) => did_you_mean(nearest),
        None => format!("; give {}", one_of(valid.iter().map(String::as_str))),
    }
}

/// `a, b or c`.
pub(super) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// `min to max unit`.
fn range(min: f64, max: f64, unit: &'static str) -> Range {
    Range { min, max, unit }
}
