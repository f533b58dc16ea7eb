//! What is worked on: a character, a recipe as text, painted maps; and the one way to change them.
//!
//! # Invariants
//! The recipe is valid throughout. Map values are finite, one per slot of the rig. Undoing everything gives recipe and maps
//! as they were opened, to the bit.

use crate::character::Character;
use crate::drawn::Drawn;
use crate::history::{Dab, History, MapChange};
use sinew::maps::PointMap;
use sinew::recipe::{CorrectionSpec, EditError, EditShape, EditSpec, EffectSpec, Literal, Place};
use sinew::{Recipe, RecipeError, RecipeFile, Rig, RigError, presets};
use sinew_gltf::map_file::{MapFile, MapFileError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Painted values by slot.
pub type Values = Vec<f32>;

/// Why a change was not made. The document is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The recipe would not be valid.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The text is no recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// A map file that does not fit.
    #[error(transparent)]
    Map(#[from] MapFileError),
    /// Maps that the rig cannot be built with.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// A preset that does not exist.
    #[error("there is no preset {0:?}; choose one from the list")]
    NoSuchPreset(String),
    /// A map that does not exist.
    #[error("there is no map {0:?}; make one with New map")]
    NoSuchMap(String),
    /// A map that something else is made of.
    #[error("the map {map:?} is read by {user}; remove that first")]
    MapInUse {
        /// The map.
        map: String,
        /// Who reads it.
        user: String,
    },
    /// A name that cannot be a map's.
    #[error("a map needs a name of its own in lower case, of letters, digits, - and _, and {0:?} is not one")]
    MapName(String),
    /// What was drawn cannot be made.
    #[error("{0}")]
    Drawn(String),
    /// Values for another mesh.
    #[error("the map has {found} values, but the character has {wanted} points; paint it on this character")]
    MapSize {
        /// Values given.
        found: usize,
        /// Values needed.
        wanted: usize,
    },
}

/// A character being worked on.
#[derive(Clone, Debug)]
pub struct Document {
    character: Arc<Character>,
    recipe: RecipeFile,
    /// The text of the recipe, shared with the history.
    text: Arc<str>,
    maps: BTreeMap<String, Values>,
    drawn: Arc<Drawn>,
    history: History,
    saved: u64,
}

impl Document {
    /// A character that is left as it is.
    pub fn new(character: Arc<Character>) -> Self {
        let recipe = RecipeFile::default();
        let text = recipe.to_string().into();
        let (maps, drawn, history) = (BTreeMap::new(), Arc::default(), History::default());
        Self { character, recipe, text, maps, drawn, history, saved: 0 }
    }

    /// A character with a recipe and the maps painted for it.
    pub fn with_recipe(character: Arc<Character>, text: &str, maps: &[MapFile]) -> Result<Self, ChangeError> {
        let recipe = RecipeFile::parse(text)?;
        let maps = by_slot(&character, maps)?;
        Ok(Self { text: text.into(), recipe, maps, ..Self::new(character) })
    }

    /// What is worked on.
    pub fn character(&self) -> &Arc<Character> {
        &self.character
    }

    /// Its rig.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.character.asset.rig
    }

    /// The recipe.
    pub fn recipe(&self) -> &RecipeFile {
        &self.recipe
    }

    /// The text of the recipe.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Painted maps by name.
    pub fn maps(&self) -> &BTreeMap<String, Values> {
        &self.maps
    }

    /// What was drawn over the picture.
    pub fn drawn(&self) -> &Arc<Drawn> {
        &self.drawn
    }

    /// Takes what was drawn from the text of a file, where there is nothing yet: it stands in recipe and maps already.
    pub(crate) fn take_drawn(&mut self, text: &str) -> Result<(), ChangeError> {
        self.drawn = Arc::new(crate::drawn::from_text(text).map_err(ChangeError::Drawn)?);
        Ok(())
    }

    /// Names of all maps that a recipe can use: painted here, or in the character's file.
    pub fn map_names(&self) -> Vec<&str> {
        let own = self.rig().maps().iter().map(|map| map.name.as_str()).filter(|name| !self.maps.contains_key(*name));
        let mut names: Vec<&str> = self.maps.keys().map(String::as_str).chain(own).collect();
        names.sort_unstable();
        names
    }

    /// Every change.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// A gesture begins ([`History::gesture`]).
    pub fn gesture(&mut self) -> u64 {
        self.history.gesture()
    }

    /// Whether there is something that no file has.
    pub fn is_unsaved(&self) -> bool {
        self.history.revision() != self.saved
    }

    /// Files have what is here.
    pub fn mark_saved(&mut self) {
        self.saved = self.history.revision();
    }

    /// Changes the recipe.
    pub fn edit<E>(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        change: impl FnOnce(&mut RecipeFile) -> Result<(), E>,
    ) -> Result<(), ChangeError>
    where
        ChangeError: From<E>,
    {
        let mut recipe = self.recipe.clone();
        change(&mut recipe)?;
        self.adopt(label, gesture, recipe, Vec::new());
        Ok(())
    }

    fn adopt(&mut self, label: &str, gesture: Option<u64>, recipe: RecipeFile, maps: Vec<MapChange>) {
        let drawn = (*self.drawn).clone();
        self.adopt_drawn(label, gesture, Some(recipe), drawn, maps);
    }

    /// Takes another recipe, where there is one, and what was drawn; maps have changed already.
    pub(crate) fn adopt_drawn(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        recipe: Option<RecipeFile>,
        drawn: Drawn,
        maps: Vec<MapChange>,
    ) {
        let text: Arc<str> = recipe.as_ref().map_or_else(|| Arc::clone(&self.text), |recipe| recipe.to_string().into());
        let texts = (text != self.text).then(|| [Arc::clone(&self.text), Arc::clone(&text)]);
        let both = (drawn != *self.drawn).then(|| [Arc::clone(&self.drawn), Arc::new(drawn)]);
        if texts.is_none() && both.is_none() && maps.is_empty() {
            return;
        }
        if let Some([_, drawn]) = &both {
            self.drawn = Arc::clone(drawn);
        }
        self.history.push(label, gesture, texts, both, maps);
        self.recipe = recipe.unwrap_or_else(|| self.recipe.clone());
        self.text = text;
    }

    /// Becomes what another document has come to, as one step.
    pub(crate) fn take_over(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        recipe: RecipeFile,
        drawn: Drawn,
        maps: BTreeMap<String, Values>,
    ) {
        let mut changes = Vec::new();
        for (name, values) in self.maps.iter().filter(|(name, _)| !maps.contains_key(*name)) {
            changes.push(MapChange::Deleted(name.clone(), values.as_slice().into()));
        }
        for (name, values) in &maps {
            let Some(held) = self.maps.get(name) else {
                changes.push(MapChange::Made(name.clone(), values.as_slice().into()));
                continue;
            };
            let differ = |(slot, (&before, &after)): (usize, (&f32, &f32))| {
                let slot = u32::try_from(slot).unwrap_or(u32::MAX);
                (before.to_bits() != after.to_bits()).then_some(Dab { slot, before, after })
            };
            let dabs: Vec<Dab> = held.iter().zip(values).enumerate().filter_map(differ).collect();
            if !dabs.is_empty() {
                changes.push(MapChange::Painted(name.clone(), dabs));
            }
        }
        self.maps = maps;
        self.adopt_drawn(label, gesture, Some(recipe), drawn, changes);
    }

    /// A draft's, without a step.
    pub(crate) fn set_all(&mut self, recipe: RecipeFile, drawn: Drawn, maps: BTreeMap<String, Values>) {
        self.text = recipe.to_string().into();
        (self.recipe, self.drawn, self.maps) = (recipe, Arc::new(drawn), maps);
    }

    /// Sets one setting.
    pub fn set(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        place: Place<'_>,
        value: impl Into<Literal>,
    ) -> Result<(), ChangeError> {
        self.edit(label, gesture, |recipe| recipe.set(place, value))
    }

    /// Back to what counts without it.
    pub fn reset(&mut self, label: &str, place: Place<'_>) -> Result<(), ChangeError> {
        self.edit(label, None, |recipe| recipe.unset(place))
    }

    /// Another text for the whole recipe.
    pub fn replace(&mut self, label: &str, text: &str) -> Result<(), ChangeError> {
        let recipe = RecipeFile::parse(text)?;
        self.adopt(label, None, recipe, Vec::new());
        Ok(())
    }

    /// Another text for the whole recipe but for the surface edits, which stay: they are the character's, not the style's.
    pub fn restyle(&mut self, label: &str, text: &str) -> Result<(), ChangeError> {
        let mut recipe = RecipeFile::parse(text)?;
        self.recipe.recipe().edits.iter().try_for_each(|edit| recipe.add_edit(edit))?;
        self.adopt(label, None, recipe, Vec::new());
        Ok(())
    }

    /// A recipe that is ready to use.
    pub fn choose_preset(&mut self, name: &str) -> Result<(), ChangeError> {
        let text = presets::get(name).ok_or_else(|| ChangeError::NoSuchPreset(name.to_owned()))?;
        self.restyle(name, text)
    }

    /// Adds an effect with its defaults.
    pub fn add_effect(&mut self, effect: &EffectSpec) -> Result<(), ChangeError> {
        self.edit(&format!("Add {}", effect.effect.name()), None, |recipe| recipe.add_effect(effect))
    }

    /// Adds a correction with its defaults.
    pub fn add_correction(&mut self, correction: &CorrectionSpec) -> Result<(), ChangeError> {
        self.edit(&format!("Add {}", correction.correction.name), None, |recipe| recipe.add_correction(correction))
    }

    /// A map of its own, all of one value or with those given; in place of the file's own where that has the name.
    pub fn make_map(&mut self, name: &str, values: Option<Values>) -> Result<(), ChangeError> {
        let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(sound) || self.maps.contains_key(name) {
            return Err(ChangeError::MapName(name.to_owned()));
        }
        let values = self.checked(values.unwrap_or_else(|| self.values_or_zero(name)))?;
        let change = MapChange::Made(name.to_owned(), values.as_slice().into());
        self.maps.insert(name.to_owned(), values);
        self.history.push(&format!("New map {name}"), None, None, None, vec![change]);
        Ok(())
    }

    /// Values of a map: painted here, the file's own, or 0.
    pub fn values_or_zero(&self, name: &str) -> Values {
        if let Some(values) = self.maps.get(name) {
            return values.clone();
        }
        let own = self.rig().maps().iter().find(|map| map.name == name);
        own.map_or_else(|| vec![0.0; self.rig().slots()], |map| map.values.as_flattened().to_vec())
    }

    fn checked(&self, mut values: Values) -> Result<Values, ChangeError> {
        let (found, wanted) = (values.len(), self.rig().slots());
        if found != wanted {
            return Err(ChangeError::MapSize { found, wanted });
        }
        values.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = 0.0);
        Ok(values)
    }

    /// Deletes a map; what names it in the recipe no longer does.
    pub fn delete_map(&mut self, name: &str) -> Result<(), ChangeError> {
        let held = self.maps.get(name).ok_or_else(|| ChangeError::NoSuchMap(name.to_owned()))?;
        let change = MapChange::Deleted(name.to_owned(), held.as_slice().into());
        let held = self.recipe.recipe();
        if let Some(user) = deep_user(held, name) {
            return Err(ChangeError::MapInUse { map: name.to_owned(), user });
        }
        let is_it = |map: &Option<String>| map.as_deref() == Some(name);
        let effects = held.effects.iter().enumerate().filter(|(_, effect)| is_it(&effect.map));
        let corrections = held.corrections.iter().enumerate().filter(|(_, correction)| is_it(&correction.map));
        let edits = held.edits.iter().enumerate().filter(|(_, edit)| is_it(&edit.map));
        let users: Vec<Place<'_>> = effects
            .map(|(index, _)| Place::Effect(index, "map"))
            .chain(corrections.map(|(index, _)| Place::Correction(index, "map")))
            .chain(edits.map(|(index, _)| Place::Edit(index, "map")))
            .chain(is_it(&held.base.map).then_some(Place::BaseKey("map")))
            .collect();
        let mut recipe = self.recipe.clone();
        users.into_iter().try_for_each(|place| recipe.unset(place))?;
        self.maps.remove(name);
        self.adopt(&format!("Delete map {name}"), None, recipe, vec![change]);
        Ok(())
    }

    /// Other values for a map.
    pub fn paint(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        name: &str,
        values: impl IntoIterator<Item = (usize, f32)>,
    ) -> Result<(), ChangeError> {
        let held = self.maps.get_mut(name).ok_or_else(|| ChangeError::NoSuchMap(name.to_owned()))?;
        let mut dabs: Vec<Dab> = Vec::new();
        for (slot, after) in values {
            let Some(value) =
                held.get_mut(slot).filter(|value| after.is_finite() && value.to_bits() != after.to_bits())
            else {
                continue;
            };
            dabs.push(Dab { slot: u32::try_from(slot).unwrap_or(u32::MAX), before: *value, after });
            *value = after;
        }
        dabs.sort_by_key(|dab| dab.slot);
        if !dabs.is_empty() {
            self.history.push(label, gesture, None, None, vec![MapChange::Painted(name.to_owned(), dabs)]);
        }
        Ok(())
    }

    /// Recipe and maps of another document of the same character, as one step.
    pub fn adopt_all(&mut self, label: &str, other: &Self) {
        let mut changes = Vec::new();
        for (name, values) in &self.maps {
            changes.push(MapChange::Deleted(name.clone(), values.as_slice().into()));
        }
        for (name, values) in &other.maps {
            changes.push(MapChange::Made(name.clone(), values.as_slice().into()));
        }
        self.maps.clone_from(&other.maps);
        self.adopt_drawn(label, None, Some(other.recipe.clone()), (*other.drawn).clone(), changes);
    }

    /// One step back; false where there is none.
    pub fn undo(&mut self) -> bool {
        let Some(change) = self.history.undo() else { return false };
        let text = change.recipe.as_ref().map(|[before, _]| Arc::clone(before));
        if let Some([before, _]) = &change.drawn {
            self.drawn = Arc::clone(before);
        }
        for change in change.maps.iter().rev() {
            match change {
                MapChange::Made(name, _) => drop(self.maps.remove(name)),
                MapChange::Deleted(name, values) => drop(self.maps.insert(name.clone(), values.to_vec())),
                MapChange::Painted(name, dabs) => {
                    let Some(held) = self.maps.get_mut(name) else { continue };
                    dabs.iter().for_each(|dab| held[dab.slot as usize] = dab.before);
                }
            }
        }
        self.take(text);
        true
    }

    /// One step forward again; false where there is none.
    pub fn redo(&mut self) -> bool {
        let Some(change) = self.history.redo() else { return false };
        let text = change.recipe.as_ref().map(|[_, after]| Arc::clone(after));
        if let Some([_, after]) = &change.drawn {
            self.drawn = Arc::clone(after);
        }
        for change in &change.maps {
            match change {
                MapChange::Made(name, values) => drop(self.maps.insert(name.clone(), values.to_vec())),
                MapChange::Deleted(name, _) => drop(self.maps.remove(name)),
                MapChange::Painted(name, dabs) => {
                    let Some(held) = self.maps.get_mut(name) else { continue };
                    dabs.iter().for_each(|dab| held[dab.slot as usize] = dab.after);
                }
            }
        }
        self.take(text);
        true
    }

    /// Only texts that have been valid come back.
    fn take(&mut self, text: Option<Arc<str>>) {
        let Some(text) = text else { return };
        if let Ok(recipe) = RecipeFile::parse(&text) {
            self.recipe = recipe;
            self.text = text;
        }
    }

    /// A map as a stage takes it.
    pub fn point_map(&self, name: &str) -> Option<PointMap> {
        let values = self.maps.get(name)?;
        Some(PointMap::from_fn(self.rig(), |slot| values[slot]))
    }

    /// Painted maps as files have them: one per primitive that has a value, and one at least.
    pub fn map_files(&self) -> Result<Vec<MapFile>, MapFileError> {
        let asset = &self.character.asset;
        let mut files = Vec::new();
        for (name, values) in &self.maps {
            let mut written: Vec<(MapFile, bool)> = Vec::new();
            for part in asset.rig.parts() {
                for (index, primitive) in part.primitives.iter().enumerate() {
                    let slots = &asset.rig.point_of_vertex()[primitive.vertices.clone()];
                    let values: Values = slots.iter().map(|&slot| values[slot as usize]).collect();
                    let is_blank = values.iter().all(|&value| value == 0.0);
                    written.push((MapFile::new(&asset.raw, name, part.node, index, values)?, is_blank));
                }
            }
            let all_blank = written.iter().all(|(_, is_blank)| *is_blank);
            let first = written.iter().position(|(_, is_blank)| !is_blank || all_blank);
            let kept = written.into_iter().enumerate();
            files.extend(kept.filter(|(i, (_, is_blank))| !is_blank || Some(*i) == first).map(|(_, (map, _))| map));
        }
        Ok(files)
    }
}

/// Who reads a map in a way that a single key does not undo.
fn deep_user(recipe: &Recipe, name: &str) -> Option<String> {
    let correction = recipe.corrections.iter().find(|spec| spec.painted.iter().any(|(_, map)| map == name));
    let of_shape = |shape: &str| !shape.is_empty() && (name == shape || name.starts_with(&format!("{shape}.")));
    let draws = |edit: &&EditSpec| match &edit.shape {
        EditShape::Shape(shapes) => shapes.iter().any(|(_, shape)| of_shape(shape)),
        _ => false,
    };
    let edit = recipe.edits.iter().find(draws).map(|_| "a surface edit".to_owned());
    correction.map(|spec| format!("the correction {}", spec.correction.name)).or(edit)
}

/// Maps of files, by name and slot: as a rig has them that was painted by these files.
fn by_slot(character: &Character, files: &[MapFile]) -> Result<BTreeMap<String, Values>, ChangeError> {
    if files.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut raw = character.asset.raw.clone();
    files.iter().try_for_each(|file| sinew_gltf::map_file::apply(&mut raw, file))?;
    let (painted, _) = Rig::build(&raw)?;
    let is_named = |name: &str| files.iter().any(|file| file.name() == name);
    let maps = painted.maps().iter().filter(|map| is_named(&map.name));
    Ok(maps.map(|map| (map.name.clone(), map.values.as_flattened().to_vec())).collect())
}
