//! The recipe a command was given: from disk, with the painted maps it names, or a ready-made one.

use crate::args::RecipeArgs;
use crate::fault::Fault;
use crate::load::Scene;
use crate::presets;
use crate::text::quoted;
use sinew::recipe::RecipeFile;
use sinew::text::wildcard;
use sinew::{Clip, MotionSettings, Recipe};
use sinew_gltf::map_file::MapFile;
use std::path::Path;

/// A recipe as a command uses it.
#[derive(Default)]
pub struct LoadedRecipe {
    /// The file or preset, as the user named it; empty without one.
    pub file: String,
    recipe: RecipeFile,
    /// Painted maps, read but not yet matched to a mesh.
    pub maps: Vec<MapFile>,
}

impl LoadedRecipe {
    /// What the flags ask for; without any, a recipe that leaves the character as it is.
    pub fn asked(options: &RecipeArgs) -> Result<Self, Fault> {
        match (&options.recipe, &options.preset) {
            (Some(path), _) => Self::read(path),
            (None, Some(name)) => Self::preset(name),
            (None, None) => Ok(Self::default()),
        }
    }

    /// As [`Self::asked`]; without any flag, the preset of that name.
    pub fn asked_or(options: &RecipeArgs, name: &str) -> Result<Self, Fault> {
        if options.recipe.is_none() && options.preset.is_none() { Self::preset(name) } else { Self::asked(options) }
    }

    /// The preset of that name.
    pub fn preset(name: &str) -> Result<Self, Fault> {
        let file = format!("preset {name}");
        let recipe = RecipeFile::parse(presets::named(name)?).map_err(|error| Fault::in_file(&file, error))?;
        Ok(Self { file, recipe, maps: Vec::new() })
    }

    fn read(path: &Path) -> Result<Self, Fault> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Fault::in_file(&file, format!("the recipe cannot be read ({error}); check the path")))?;
        let recipe = RecipeFile::parse(&text).map_err(|error| Fault::in_file(&file, error))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let maps = recipe
            .maps()
            .iter()
            .map(|map| read_map(folder, map).map_err(|fault| Fault::in_file(&file, fault)))
            .collect::<Result<_, _>>()?;
        Ok(Self { file, recipe, maps })
    }

    /// All of it.
    pub fn as_file(&self) -> &RecipeFile {
        &self.recipe
    }

    /// Base, riders and effects.
    pub fn recipe(&self) -> &Recipe {
        self.recipe.recipe()
    }

    /// The text of the recipe.
    pub fn text(&self) -> String {
        self.recipe.to_string()
    }

    /// How to read a clip.
    pub fn motion(&self, clip: &Clip) -> MotionSettings {
        self.recipe.motion(&clip.name)
    }

    /// Words about what does nothing here: sections of clips that the file does not have, roles (`@tail`) that the
    /// character has no part of.
    pub fn idle_words(&self, scene: &Scene) -> Vec<String> {
        let idle = |pattern: &&str| !scene.clips.iter().any(|clip| wildcard(pattern, &clip.name));
        let say =
            |pattern: &str| format!("{}: no clip is named {}; its section is ignored", self.file, quoted(pattern));
        let mut words: Vec<String> = self.recipe.clip_patterns().filter(idle).map(say).collect();
        let absent: Vec<&str> = self.recipe().absent_roles(&scene.rig).iter().map(|role| role.name()).collect();
        if !absent.is_empty() {
            words.push(format!("{}: no {} found; what it says of that is ignored", self.file, absent.join(", no ")));
        }
        words
    }
}

/// Reads a map file, which must lie in the recipe's folder or below it, links followed.
fn read_map(folder: &Path, map: &str) -> Result<MapFile, String> {
    let unreadable = |error| format!("map file {}: cannot be read ({error}); check the path", quoted(map));
    let folder = folder.canonicalize().map_err(unreadable)?;
    let path = folder.join(map).canonicalize().map_err(unreadable)?;
    if !path.starts_with(&folder) {
        return Err(format!("map file {} is outside the recipe's folder; move it there", quoted(map)));
    }
    let text = std::fs::read_to_string(&path).map_err(unreadable)?;
    MapFile::from_text(map, &text).map_err(|error| error.to_string())
}
