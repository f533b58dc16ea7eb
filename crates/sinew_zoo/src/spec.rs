//! Characters by name.

use crate::tube::{self, TubeOptions};
use crate::{ZooCharacter, arm, bird, calf, dancer, flower, snail};
use std::fmt;

/// A character that [`build`] can make.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name to ask for it.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Options it takes: name and what it means, in a line.
    pub options: &'static [(&'static str, &'static str)],
    make: fn(&OptionValues<'_>) -> Result<ZooCharacter, ZooError>,
}

/// Options given: name and value as written.
type OptionValues<'a> = [(&'static str, &'a str)];

const TUBE_OPTIONS: &[(&str, &str)] = &[
    ("vertices", "about how many vertices, 11 to 16777216"),
    ("rings", "rings of points between the ends, 3 or more; with `around`, instead of `vertices`"),
    ("around", "points per ring, 3 or more; with `rings`, instead of `vertices`"),
    ("bones", "number of bones, 1 to 4096"),
    ("influences", "bones per vertex, 1 to 4"),
    ("radius", "radius in metres, 0.001 to 1000"),
    ("length", "length over all in metres, at least twice the radius"),
];

const DANCER_OPTIONS: &[(&str, &str)] =
    &[("seconds", "length of a third clip, \"dance\", that never repeats, 0.1 to 600")];

const ENTRIES: &[Entry] = &[
    Entry { name: tube::NAME, about: tube::ABOUT, options: TUBE_OPTIONS, make: make_tube },
    Entry { name: flower::NAME, about: flower::ABOUT, options: &[], make: |_| Ok(flower::flower()) },
    Entry { name: dancer::NAME, about: dancer::ABOUT, options: DANCER_OPTIONS, make: make_dancer },
    Entry { name: calf::NAME, about: calf::ABOUT, options: &[], make: |_| Ok(calf::calf()) },
    Entry { name: bird::NAME, about: bird::ABOUT, options: &[], make: |_| Ok(bird::bird()) },
    Entry { name: snail::NAME, about: snail::ABOUT, options: &[], make: |_| Ok(snail::snail()) },
    Entry { name: arm::NAME, about: arm::ABOUT, options: &[], make: |_| Ok(arm::arm()) },
];

/// Every character, with a line about each.
pub fn names() -> &'static [Entry] {
    ENTRIES
}

/// Why a spec was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZooError {
    /// No character of that name.
    UnknownCharacter {
        /// The name asked for.
        given: String,
        /// The name nearest to it.
        nearest: &'static str,
    },
    /// The character has no such option.
    UnknownOption {
        /// The character.
        character: &'static str,
        /// The option given.
        given: String,
        /// The option nearest to it; `None` if the character takes no options.
        nearest: Option<&'static str>,
    },
    /// Something else than `option=value` behind the colon.
    NotAnOption {
        /// The character.
        character: &'static str,
        /// What stands there.
        given: String,
    },
    /// Two options that exclude each other, or one given twice.
    Conflict {
        /// The character.
        character: &'static str,
        /// One.
        option: &'static str,
        /// The other.
        other: &'static str,
    },
    /// A value that is not a number.
    NotANumber {
        /// The character.
        character: &'static str,
        /// The option.
        option: &'static str,
        /// The value given.
        given: String,
    },
    /// A value beyond its range.
    OutOfRange {
        /// The character.
        character: &'static str,
        /// The option.
        option: &'static str,
        /// The value given.
        given: String,
        /// The values allowed.
        allowed: String,
    },
}

impl fmt::Display for ZooError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCharacter { given, nearest } => {
                let all: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
                write!(
                    f,
                    "there is no built-in character \"{given}\"; did you mean \"{nearest}\"? There are: {}",
                    all.join(", ")
                )
            }
            Self::UnknownOption { character, given, nearest: None } => {
                write!(f, "{character} takes no options, but \"{given}\" was given; ask for plain \"{character}\"")
            }
            Self::UnknownOption { character, given, nearest: Some(nearest) } => {
                let options = ENTRIES.iter().find(|entry| entry.name == *character).map_or(&[][..], |e| e.options);
                let all: Vec<_> = options.iter().map(|option| option.0).collect();
                write!(
                    f,
                    "{character} has no option \"{given}\"; did you mean \"{nearest}\"? There are: {}",
                    all.join(", ")
                )
            }
            Self::NotAnOption { character, given } => write!(
                f,
                "\"{given}\" is not an option of {character}: write {character}:OPTION=NUMBER,… as in \"tube:bones=12\""
            ),
            Self::Conflict { character, option, other } if option == other => {
                write!(f, "{character}: \"{option}\" is given twice; give it once")
            }
            Self::Conflict { character, option, other } => {
                write!(f, "{character}: \"{option}\" and \"{other}\" exclude each other; give one of them")
            }
            Self::NotANumber { character, option, given } => {
                write!(f, "{character}: \"{option}\" must be a number, not \"{given}\"")
            }
            Self::OutOfRange { character, option, given, allowed } => {
                write!(f, "{character}: \"{option}\" is {given}, but must be {allowed}")
            }
        }
    }
}

impl std::error::Error for ZooError {}

/// Makes the character that `spec` asks for: `NAME` or `NAME:OPTION=NUMBER,…`.
pub fn build(spec: &str) -> Result<ZooCharacter, ZooError> {
    let (name, options) = match spec.split_once(':') {
        Some((name, options)) => (name.trim(), options.trim()),
        None => (spec.trim(), ""),
    };
    let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) else {
        let nearest = nearest(name, ENTRIES.iter().map(|entry| entry.name)).unwrap_or(tube::NAME);
        return Err(ZooError::UnknownCharacter { given: name.to_owned(), nearest });
    };
    let mut values: Vec<(&'static str, &str)> = Vec::new();
    for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        let (key, value) = option
            .split_once('=')
            .ok_or_else(|| ZooError::NotAnOption { character: entry.name, given: option.to_owned() })?;
        let (key, value) = (key.trim(), value.trim());
        let Some(&(key, _)) = entry.options.iter().find(|known| known.0 == key) else {
            let nearest = nearest(key, entry.options.iter().map(|known| known.0));
            return Err(ZooError::UnknownOption { character: entry.name, given: key.to_owned(), nearest });
        };
        if values.iter().any(|given| given.0 == key) {
            return Err(ZooError::Conflict { character: entry.name, option: key, other: key });
        }
        values.push((key, value));
    }
    (entry.make)(&values)
}

fn make_tube(values: &OptionValues<'_>) -> Result<ZooCharacter, ZooError> {
    let not_a_number =
        |option, given: &str| ZooError::NotANumber { character: tube::NAME, option, given: given.to_owned() };
    let find = |option: &str| values.iter().find(|value| value.0 == option).copied();
    let count = |option: &str| {
        find(option).map(|(option, given)| given.parse::<usize>().map_err(|_| not_a_number(option, given))).transpose()
    };
    let metres = |option: &str| {
        find(option).map(|(option, given)| given.parse::<f64>().map_err(|_| not_a_number(option, given))).transpose()
    };
    let mut options = TubeOptions::default();
    let (radius, length) = (metres("radius")?, metres("length")?);
    if radius.is_some() || length.is_some() {
        options = options.with_size(radius.unwrap_or(options.radius()), length.unwrap_or(options.length()))?;
    }
    if let Some(bones) = count("bones")? {
        options = options.with_bones(bones)?;
    }
    if let Some(influences) = count("influences")? {
        options = options.with_influences(influences)?;
    }
    match (count("vertices")?, count("rings")?, count("around")?) {
        (None, None, None) => {}
        (Some(vertices), None, None) => options = options.with_vertices(vertices)?,
        (None, rings, around) => {
            options = options.with_grid(rings.unwrap_or(options.rings()), around.unwrap_or(options.around()))?;
        }
        (Some(_), rings, _) => {
            let other = if rings.is_some() { "rings" } else { "around" };
            return Err(ZooError::Conflict { character: tube::NAME, option: "vertices", other });
        }
    }
    Ok(tube::tube(&options))
}

fn make_dancer(values: &OptionValues<'_>) -> Result<ZooCharacter, ZooError> {
    let Some(&(option, given)) = values.first() else { return Ok(dancer::dancer(None)) };
    let (character, given) = (dancer::NAME, given.to_owned());
    match given.parse::<f64>() {
        Ok(seconds) if (0.1..=600.0).contains(&seconds) => Ok(dancer::dancer(Some(seconds))),
        Ok(_) => Err(ZooError::OutOfRange { character, option, given, allowed: "0.1 to 600 seconds".to_owned() }),
        Err(_) => Err(ZooError::NotANumber { character, option, given }),
    }
}

/// The name that takes the fewest edits to reach; the first of equals.
fn nearest(given: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    names.min_by_key(|name| edit_distance(given, name))
}

/// Levenshtein distance: insertions, deletions and replacements of characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_of_known_pairs() {
        for (a, b, expected) in [("kitten", "sitting", 3), ("", "tube", 4), ("calf", "calf", 0), ("clam", "calf", 3)] {
            assert_eq!(edit_distance(a, b), expected, "{a} {b}");
            assert_eq!(edit_distance(b, a), expected, "{b} {a}");
        }
    }
}
