//! Changes to a recipe's text that leave every other byte alone.
//!
//! An edit is a splice of the text at the places the parser reports, after which the whole text is parsed again: what
//! would not be a valid recipe is refused and nothing has changed. New keys are written the way their neighbours are:
//! on a line of their own, dotted, or between braces.

use super::correction::correction_entries;
use super::effect::effect_entries;
use super::error::RecipeError;
use super::parse::{AUTO_WORDS, COLLIDE_WORDS, NORMALS_WORDS, RIDERS_WORDS, SEWN_WORDS, parse};
use super::splice::{Step, append_section, find, insert, insert_element, remove};
use super::surface_edit::edit_entries;
use super::{
    Collide, ConeSpec, CorrectionSpec, EditSpec, EffectSpec, KeyCurve, Normals, Planted, RecipeFile, Riders, Rigid,
    Sewn, TotalLimit,
};
use crate::param::{ParamKind, ParamSpec, Values};
use glam::DVec3;
use toml_edit::Value;

/// One setting of a recipe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place<'a> {
    /// `base`
    Base,
    /// A key of the base, such as a parameter.
    BaseKey(&'a str),
    /// The row of a bone name or pattern in a table of the base: table, then name.
    BaseRow(&'a str, &'a str),
    /// `riders`
    Riders,
    /// `rigid`
    Rigid,
    /// `sewn`
    Sewn,
    /// `collide`
    Collide,
    /// `planted`
    Planted,
    /// `normals`
    Normals,
    /// `max_total`
    MaxTotal,
    /// `max_strain`
    MaxStrain,
    /// `strength`
    Strength,
    /// `strength_over`
    StrengthOver,
    /// `maps`
    Maps,
    /// `hierarchy`
    Hierarchy,
    /// What a bone of that name follows, under `[hierarchy]`.
    Follows(&'a str),
    /// A key of `[motion]`.
    Motion(&'a str),
    /// A key of the `[clip]` section of that name or pattern.
    Clip(&'a str, &'a str),
    /// A key of the effect of that index, such as `gain`, `cone` or a parameter.
    Effect(usize, &'a str),
    /// The settings of a bone name or pattern in the effect of that index.
    Bone(usize, &'a str),
    /// A key of the correction of that index.
    Correction(usize, &'a str),
    /// The row of a bone name or pattern in a table of the correction of that index: table, then name.
    CorrectionRow(usize, &'a str, &'a str),
    /// A key of the surface edit of that index.
    Edit(usize, &'a str),
}

impl<'a> Place<'a> {
    fn steps(self) -> Vec<Step<'a>> {
        use Step::{Index, Key};
        match self {
            Self::Base => vec![Key("base")],
            Self::BaseKey(key) => vec![Key("base"), Key(key)],
            Self::BaseRow(table, name) => vec![Key("base"), Key(table), Key(name)],
            Self::Riders => vec![Key("riders")],
            Self::Rigid => vec![Key("rigid")],
            Self::Sewn => vec![Key("sewn")],
            Self::Collide => vec![Key("collide")],
            Self::Planted => vec![Key("planted")],
            Self::Normals => vec![Key("normals")],
            Self::MaxTotal => vec![Key("max_total")],
            Self::MaxStrain => vec![Key("max_strain")],
            Self::Strength => vec![Key("strength")],
            Self::StrengthOver => vec![Key("strength_over")],
            Self::Maps => vec![Key("maps")],
            Self::Hierarchy => vec![Key("hierarchy")],
            Self::Follows(name) => vec![Key("hierarchy"), Key(name)],
            Self::Motion(key) => vec![Key("motion"), Key(key)],
            Self::Clip(name, key) => vec![Key("clip"), Key(name), Key(key)],
            Self::Effect(index, key) => vec![Key("effect"), Index(index), Key(key)],
            Self::Bone(index, name) => vec![Key("effect"), Index(index), Key("bones"), Key(name)],
            Self::Correction(index, key) => vec![Key("correction"), Index(index), Key(key)],
            Self::Edit(index, key) => vec![Key("edit"), Index(index), Key(key)],
            Self::CorrectionRow(index, table, name) => {
                vec![Key("correction"), Index(index), Key(table), Key(name)]
            }
        }
    }
}

/// A value as it is written in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal(String);

impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<TotalLimit> for Literal {
    fn from(TotalLimit { length, soft }: TotalLimit) -> Self {
        if soft { length.into() } else { Self::table(&[("length", length.into()), ("soft", soft.into())]) }
    }
}

impl From<f64> for Literal {
    fn from(value: f64) -> Self {
        Self(Value::from(value).to_string())
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Self {
        Self(value.to_string())
    }
}

impl From<&str> for Literal {
    fn from(value: &str) -> Self {
        Self(Value::from(value).to_string())
    }
}

impl From<&[f64]> for Literal {
    fn from(values: &[f64]) -> Self {
        let values: Vec<String> = values.iter().map(|&value| Self::from(value).0).collect();
        Self(format!("[{}]", values.join(", ")))
    }
}

impl From<&[&str]> for Literal {
    fn from(values: &[&str]) -> Self {
        let values: Vec<String> = values.iter().map(|&value| Self::from(value).0).collect();
        Self(format!("[{}]", values.join(", ")))
    }
}

/// Map files, and the hash of each where it is to be held.
impl From<&[(&str, Option<u64>)]> for Literal {
    fn from(maps: &[(&str, Option<u64>)]) -> Self {
        let entry = |&(file, hash): &(&str, Option<u64>)| match hash {
            None => Self::from(file),
            Some(hash) => Self::table(&[("file", file.into()), ("hash", format!("{hash:016x}").as_str().into())]),
        };
        Self::list(maps.iter().map(entry))
    }
}

impl From<Riders> for Literal {
    fn from(riders: Riders) -> Self {
        Self::word(riders, RIDERS_WORDS)
    }
}

impl From<&Planted> for Literal {
    fn from(planted: &Planted) -> Self {
        match planted {
            Planted::Auto => Self::word(true, AUTO_WORDS),
            Planted::None => Self::word(false, AUTO_WORDS),
            Planted::Only(names) => Self::list(names.iter().map(|name| name.as_str().into())),
        }
    }
}

impl From<&Rigid> for Literal {
    fn from(rigid: &Rigid) -> Self {
        match rigid {
            Rigid::Auto => Self::word(true, AUTO_WORDS),
            Rigid::None => Self::word(false, AUTO_WORDS),
            Rigid::Only(names) => Self::list(names.iter().map(|name| name.as_str().into())),
        }
    }
}

impl From<Sewn> for Literal {
    fn from(sewn: Sewn) -> Self {
        Self::word(sewn, SEWN_WORDS)
    }
}

impl From<Collide> for Literal {
    fn from(collide: Collide) -> Self {
        Self::word(collide, COLLIDE_WORDS)
    }
}

impl From<Normals> for Literal {
    fn from(normals: Normals) -> Self {
        Self::word(normals, NORMALS_WORDS)
    }
}

impl From<DVec3> for Literal {
    fn from(v: DVec3) -> Self {
        Self::from(v.to_array().as_slice())
    }
}

impl From<&KeyCurve> for Literal {
    fn from(curve: &KeyCurve) -> Self {
        let keys: Vec<String> =
            curve.keys().iter().map(|&(time, value)| Self::from([time, value].as_slice()).0).collect();
        Self(format!("[{}]", keys.join(", ")))
    }
}

impl From<&ConeSpec> for Literal {
    fn from(spec: &ConeSpec) -> Self {
        let default = ConeSpec::default();
        if *spec == default {
            return Self::from(true);
        }
        let mut entries: Vec<(&str, Self)> = Vec::new();
        entries.extend(spec.bone.as_ref().map(|bone| ("bone", bone.as_str().into())));
        // A cone by hand is to be the same in a section of another form, where the defaults are others.
        let whole = spec.cone.is_some();
        entries.extend((whole || spec.gain != default.gain).then(|| ("gain", spec.gain.into())));
        let bounded = whole || spec.max_length != default.max_length;
        entries.extend(bounded.then(|| ("max_length", spec.max_length.into())));
        if let Some(cone) = &spec.cone {
            entries.extend([
                ("axis", cone.axis().into()),
                ("apex", cone.apex().into()),
                ("half_angle", cone.half_angle().into()),
                ("base_radius", cone.base_radius().into()),
            ]);
        }
        Self::table(&entries)
    }
}

impl Literal {
    /// A list of values.
    pub(super) fn list(values: impl Iterator<Item = Self>) -> Self {
        let values: Vec<String> = values.map(|value| value.0).collect();
        Self(format!("[{}]", values.join(", ")))
    }

    /// Text that is a value of TOML as it stands.
    pub(super) fn raw(text: String) -> Self {
        Self(text)
    }

    pub(super) fn word<T: PartialEq>(value: T, words: &[(&str, T)]) -> Self {
        Self::from(words.iter().find(|(_, meaning)| *meaning == value).map_or("", |&(word, _)| word))
    }

    pub(super) fn param(values: &Values, spec: &ParamSpec) -> Self {
        if let Some(word) = spec.word_for_zero.filter(|_| values.number(spec.name) == 0.0) {
            return word.into();
        }
        match spec.kind {
            ParamKind::Number { .. } => values.number(spec.name).into(),
            ParamKind::Switch { .. } => values.switch(spec.name).into(),
            ParamKind::Choice { .. } => values.word(spec.name).into(),
        }
    }

    pub(super) fn table(entries: &[(&str, Self)]) -> Self {
        let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key} = {}", value.0)).collect();
        Self(format!("{{ {} }}", entries.join(", ")))
    }
}

/// Why an edit was not made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EditError {
    /// An effect that is not there.
    #[error("there is no effect {index}; the recipe has {count}, counted from 0")]
    NoSuchEffect {
        /// The index.
        index: usize,
        /// How many effects there are.
        count: usize,
    },
    /// A correction that is not there.
    #[error("there is no correction {index}; the recipe has {count}, counted from 0")]
    NoSuchCorrection {
        /// The index.
        index: usize,
        /// How many corrections there are.
        count: usize,
    },
    /// A surface edit that is not there.
    #[error("there is no edit {index}; the recipe has {count}, counted from 0")]
    NoSuchEdit {
        /// The index.
        index: usize,
        /// How many edits there are.
        count: usize,
    },
    /// The recipe would not be valid; the place is that in the text as it would have been.
    #[error("{}", .0.without_place())]
    Refused(#[from] RecipeError),
}

impl RecipeFile {
    /// Sets a value; the key is added if it is not there.
    pub fn set(&mut self, place: Place<'_>, value: impl Into<Literal>) -> Result<(), EditError> {
        self.check_index(place)?;
        let steps = place.steps();
        let value = value.into().0;
        let mut text = self.text.clone();
        if matches!(place, Place::BaseKey(_) | Place::BaseRow(..)) {
            open_base(&mut text);
        }
        match find(&text, &steps, |node| node.value_span()) {
            Some(span) => text.replace_range(span, &value),
            // Nothing there, or a table spread over lines of its own.
            None => {
                remove(&mut text, &steps);
                insert(&mut text, &steps, &value);
            }
        }
        self.replace(text)
    }

    /// Removes a key, so that its default counts again.
    pub fn unset(&mut self, place: Place<'_>) -> Result<(), EditError> {
        self.check_index(place)?;
        let mut text = self.text.clone();
        remove(&mut text, &place.steps());
        self.replace(text)
    }

    /// Adds an effect after all others.
    pub fn add_effect(&mut self, effect: &EffectSpec) -> Result<(), EditError> {
        self.add_section("effect", effect_entries(effect))
    }

    /// Removes an effect with its bone gains and the comment right above it.
    pub fn remove_effect(&mut self, index: usize) -> Result<(), EditError> {
        self.check_effect(index)?;
        self.remove_section("effect", index)
    }

    /// Adds a correction after all others.
    pub fn add_correction(&mut self, correction: &CorrectionSpec) -> Result<(), EditError> {
        self.add_section("correction", correction_entries(correction))
    }

    /// Removes a correction with its bones and the comment right above it.
    pub fn remove_correction(&mut self, index: usize) -> Result<(), EditError> {
        self.check_correction(index)?;
        self.remove_section("correction", index)
    }

    /// Adds a surface edit after all others.
    pub fn add_edit(&mut self, edit: &EditSpec) -> Result<(), EditError> {
        self.add_section("edit", edit_entries(edit))
    }

    /// Removes a surface edit and the comment right above it.
    pub fn remove_edit(&mut self, index: usize) -> Result<(), EditError> {
        self.check_edit(index)?;
        self.remove_section("edit", index)
    }

    fn add_section(&mut self, kind: &str, entries: Vec<(String, Literal)>) -> Result<(), EditError> {
        let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key} = {}", value.0)).collect();
        let mut text = self.text.clone();
        match find(&text, &[Step::Key(kind)], |node| node.elements()) {
            Some((list, spans)) => {
                let entry = format!("{{ {} }}", entries.join(", "));
                insert_element(&mut text, list, spans.last(), &entry);
            }
            None => append_section(&mut text, &format!("[[{kind}]]"), &entries),
        }
        self.replace(text)
    }

    fn remove_section(&mut self, kind: &str, index: usize) -> Result<(), EditError> {
        let mut text = self.text.clone();
        remove(&mut text, &[Step::Key(kind), Step::Index(index)]);
        self.replace(text)
    }

    fn check_index(&self, place: Place<'_>) -> Result<(), EditError> {
        match place {
            Place::Effect(index, _) | Place::Bone(index, _) => self.check_effect(index),
            Place::Correction(index, _) | Place::CorrectionRow(index, ..) => self.check_correction(index),
            Place::Edit(index, _) => self.check_edit(index),
            _ => Ok(()),
        }
    }

    fn check_effect(&self, index: usize) -> Result<(), EditError> {
        let count = self.recipe().effects.len();
        if index < count { Ok(()) } else { Err(EditError::NoSuchEffect { index, count }) }
    }

    fn check_correction(&self, index: usize) -> Result<(), EditError> {
        let count = self.recipe().corrections.len();
        if index < count { Ok(()) } else { Err(EditError::NoSuchCorrection { index, count }) }
    }

    fn check_edit(&self, index: usize) -> Result<(), EditError> {
        let count = self.recipe().edits.len();
        if index < count { Ok(()) } else { Err(EditError::NoSuchEdit { index, count }) }
    }

    fn replace(&mut self, text: String) -> Result<(), EditError> {
        self.meaning = parse(&text)?;
        self.text = text;
        Ok(())
    }
}

/// `base = "NAME"` as a table, which has room for keys.
fn open_base(text: &mut String) {
    let span = find(text, &[Step::Key("base")], |node| node.value_span());
    if let Some(span) = span.filter(|span| !text[span.clone()].starts_with('{')) {
        let name = text[span.clone()].to_owned();
        text.replace_range(span, &format!("{{ type = {name} }}"));
    }
}
