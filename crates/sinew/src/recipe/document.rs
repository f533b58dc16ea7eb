//! A recipe file: its text, kept to the last byte, and what the text means.
//!
//! The text is the truth and the meaning is read from it, so an untouched file saves exactly as it was, line ends,
//! byte order mark and all. (`toml_edit`'s own writer would tidy both, and regroup scattered dotted keys.)

use super::Recipe;
use super::error::RecipeError;
use super::parse::{Meaning, MotionKeys, parse};
use crate::motion::{Looping, MotionSettings};
use crate::text::wildcard;
use std::fmt;

/// A `.sinew.toml` file, valid throughout. `Display` gives the text to save.
#[derive(Clone, Debug)]
pub struct RecipeFile {
    pub(super) text: String,
    pub(super) meaning: Meaning,
}

impl RecipeFile {
    /// Reads a recipe, or tells the first fault in the file.
    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        Ok(Self { meaning: parse(text)?, text: text.to_owned() })
    }

    /// Base, riders and effects.
    pub fn recipe(&self) -> &Recipe {
        &self.meaning.recipe
    }

    /// Painted map files, relative to the recipe.
    pub fn maps(&self) -> &[String] {
        &self.meaning.maps
    }

    /// The hash that a map file had when the recipe was written, where the recipe holds it.
    pub fn map_hash(&self, file: &str) -> Option<u64> {
        let named = self.meaning.maps.iter().zip(&self.meaning.map_hashes);
        named.filter(|(map, _)| *map == file).find_map(|(_, hash)| *hash)
    }

    /// How to read the clip of that name: `[motion]`, and over it every `[clip]` section whose name matches, later ones
    /// over earlier ones, key by key.
    pub fn motion(&self, clip_name: &str) -> MotionSettings {
        let mut settings = MotionSettings::default();
        self.meaning.motion.apply(&mut settings);
        for (pattern, keys) in &self.meaning.clips {
            if wildcard(pattern, clip_name) {
                keys.apply(&mut settings);
            }
        }
        settings
    }

    /// Reads every clip as a loop, or as none, whatever the recipe says. The text stays as it is.
    pub fn read_loops_as(&mut self, looping: Looping) {
        self.meaning.clips.push(("*".to_owned(), MotionKeys::looping(looping)));
    }

    /// The names of clips in `[clip]` sections and `[effect.clips]`, in file order: whoever knows the clips can tell of
    /// those that match none.
    pub fn clip_patterns(&self) -> impl Iterator<Item = &str> {
        let of_effects = self.meaning.recipe.effects.iter().flat_map(|effect| &effect.clips);
        let of_sections = self.meaning.clips.iter().map(|(pattern, _)| pattern.as_str());
        of_sections.chain(of_effects.map(|(pattern, _)| pattern.as_str()))
    }
}

impl Default for RecipeFile {
    /// A recipe that leaves the character as it is.
    fn default() -> Self {
        let text = "# Sinew recipe: base skinning below, one [[effect]] section per effect.\nversion = 1\n";
        Self { text: text.to_owned(), meaning: Meaning::default() }
    }
}

impl fmt::Display for RecipeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
