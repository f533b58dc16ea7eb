//! The recipe a command was given: from disk, with the painted maps it names, or a ready-made one.

use crate::args::{LoopName, RecipeArgs, StrengthArgs};
use crate::fault::Fault;
use crate::load::Scene;
use crate::output::Outputs;
use crate::played::{base_spec, looping_of};
use crate::presets;
use crate::talk::Talk;
use crate::text::quoted;
use sinew::base::BaseEntry;
use sinew::recipe::{Place, RecipeFile, StrengthOver};
use sinew::strength::{self, Finding, Solved, StrengthError};
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
    /// With gains in place of strengths, and the first clip they were asked for.
    solved: Option<(Playable, usize)>,
    /// Painted maps, read but not yet matched to a mesh.
    pub maps: Vec<MapFile>,
    /// Files of maps that are not as they were when the recipe was written.
    changed_maps: Vec<String>,
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

    /// One that was made by a program, under the name users know it by.
    pub fn made(file: String, recipe: RecipeFile) -> Self {
        Self { file, recipe, ..Self::default() }
    }

    /// The preset of that name.
    pub fn preset(name: &str) -> Result<Self, Fault> {
        let file = format!("preset {name}");
        let recipe = RecipeFile::parse(presets::named(name)?).map_err(|error| Fault::in_file(&file, error))?;
        Ok(Self { file, recipe, ..Self::default() })
    }

    fn read(path: &Path) -> Result<Self, Fault> {
        let file = path.display().to_string();
        let text = crate::limits::chosen()
            .read_text(path)
            .map_err(|error| Fault::in_file(&file, format!("the recipe cannot be read ({error}); check the path")))?;
        let recipe = RecipeFile::parse(&text).map_err(|error| Fault::in_file(&file, error))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let maps = recipe
            .maps()
            .iter()
            .map(|map| read_map(folder, map).map_err(|fault| Fault::in_file(&file, fault)))
            .collect::<Result<Vec<MapFile>, _>>()?;
        let changed = recipe.maps().iter().zip(&maps);
        let changed = changed.filter(|(name, map)| recipe.map_hash(name).is_some_and(|hash| hash != map.hash()));
        let changed_maps = changed.map(|(name, _)| name.clone()).collect();
        Ok(Self { file, recipe, maps, changed_maps, ..Self::default() })
    }

    /// The same with the strength asked for, if one is.
    pub fn with_strength(mut self, asked: &StrengthArgs) -> Result<Self, Fault> {
        let StrengthArgs { strength, strength_over } = *asked;
        if self.file.is_empty() && (strength.is_some() || strength_over.is_some()) {
            let remedy = "there are no effects to be strong or weak; give --preset or --recipe";
            return Err(Fault::Usage(format!("--strength: {remedy}")));
        }
        let set = strength.map(|strength| self.recipe.set(Place::Strength, strength));
        let set_over = strength_over.map(|over| self.recipe.set(Place::StrengthOver, over));
        let refused = [set, set_over].into_iter().flatten().collect::<Result<Vec<_>, _>>();
        refused.map_err(|error| Fault::in_file(&self.file, error))?;
        Ok(self)
    }

    /// The same with clips looping as asked, if that is.
    pub fn with_looping(mut self, asked: Option<LoopName>) -> Self {
        if let Some(name) = asked {
            self.recipe.read_loops_as(looping_of(name));
        }
        self
    }

    /// Finds the gains for the strengths it asks for, where it is to play these clips, and tells them.
    pub fn solve(&mut self, scene: &Scene, played: &Played<'_>, talk: &Talk) -> Result<(), Fault> {
        if !self.recipe.recipe().is_unsolved() {
            return Ok(());
        }
        let culprit = format!("{} on {}", self.file, scene.name);
        let solved = solved(&self.recipe, scene, played).map_err(|error| Fault::in_file(&culprit, error))?;
        let first = [played.clips.first().copied().unwrap_or(0)];
        let told = if solved.has_own_gains { played.clips } else { &first };
        let findings = told.iter().flat_map(|&clip| solved.findings(clip));
        findings.for_each(|finding| talk.note(&finding.to_string()));
        self.solved = Some((solved, first[0]));
        Ok(())
    }

    /// Base, riders and effects, to play the clip of that number by.
    pub fn recipe_of(&self, clip: usize) -> &Recipe {
        match &self.solved {
            Some((solved, _)) => solved.recipe(clip),
            None => self.recipe.recipe(),
        }
    }

    /// Whether each clip has gains of its own.
    pub fn has_own_gains(&self) -> bool {
        self.solved.as_ref().is_some_and(|(solved, _)| solved.has_own_gains)
    }

    /// All of it.
    pub fn as_file(&self) -> &RecipeFile {
        &self.recipe
    }

    /// Base, riders and effects; of several clips with gains of their own, those of the first.
    pub fn recipe(&self) -> &Recipe {
        self.solved.as_ref().map_or(self.recipe.recipe(), |(solved, first)| solved.recipe(*first))
    }

    /// The text of the recipe.
    pub fn text(&self) -> String {
        self.recipe.to_string()
    }

    /// Writes the text, which is read again, with other files.
    pub fn write(&self, files: &mut Outputs, path: &Path, force: bool) -> Result<(), Fault> {
        let written = files.write_text(path, force, &self.text())?;
        RecipeFile::parse(&written).map(drop).map_err(|error| Fault::in_file(path.display(), error))
    }

    /// How to read a clip.
    pub fn motion(&self, clip: &Clip) -> MotionSettings {
        self.recipe.motion(&clip.name)
    }

    /// Words about what does nothing here (sections of clips that the file does not have, roles (`@tail`) that the
    /// character has no part of) and about maps that are not those the recipe was made with.
    pub fn idle_words(&self, scene: &Scene) -> Vec<String> {
        let idle = |pattern: &&str| !scene.clips.iter().any(|clip| wildcard(pattern, &clip.name));
        let say = |pattern: &str| {
            format!("{}: no clip is named {}; what it says of that is ignored", self.file, quoted(pattern))
        };
        let mut words: Vec<String> = self.recipe.clip_patterns().filter(idle).map(say).collect();
        words.extend(self.changed_maps.iter().map(|map| {
            format!(
                "{}: the map file {} is not as it was when the recipe was written; if you painted it, remove its hash from \
                 the recipe, otherwise write both again",
                self.file,
                quoted(map)
            )
        }));
        let absent: Vec<&str> = self.recipe().absent_roles(&scene.rig).iter().map(|role| role.name()).collect();
        if !absent.is_empty() {
            words.push(format!("{}: no {} found; what it says of that is ignored", self.file, absent.join(", no ")));
        }
        words
    }
}

/// What a recipe is to play.
#[derive(Default)]
pub struct Played<'a> {
    /// Clips, by number.
    pub clips: &'a [usize],
    /// The base in place of the recipe's.
    pub base: Option<&'static BaseEntry>,
    /// How the clips loop, in place of what the recipe says.
    pub looping: Option<LoopName>,
}

/// A recipe with gains in place of strengths.
pub struct Playable {
    solved: Solved,
    /// The clips it was solved for, by number.
    measured: Vec<usize>,
    /// Whether each clip has gains of its own.
    has_own_gains: bool,
}

impl Playable {
    fn place(&self, clip: usize) -> usize {
        self.measured.iter().position(|&other| other == clip).unwrap_or(0)
    }

    /// To play the clip of that number by.
    pub fn recipe(&self, clip: usize) -> &Recipe {
        self.solved.recipe(self.place(clip))
    }

    fn findings(&self, clip: usize) -> &[Finding] {
        self.solved.findings_of(self.place(clip))
    }
}

/// The recipe with gains in place of strengths. But for those of each clip by itself they are measured over all clips of the
/// file, whichever are played, so that every command shows the same.
pub fn solved(file: &RecipeFile, scene: &Scene, played: &Played<'_>) -> Result<Playable, StrengthError> {
    let mut recipe = file.recipe().clone();
    if let Some(base) = played.base {
        recipe.base = base_spec(base, &recipe.base);
    }
    let measured: Vec<usize> = match recipe.strength_over {
        StrengthOver::Each => played.clips.to_vec(),
        StrengthOver::All | StrengthOver::Balanced => (0..scene.clips.len()).collect(),
    };
    let settings = |&index: &usize| {
        let clip = &scene.clips[index];
        let mut settings = file.motion(&clip.name);
        if let Some(looping) = played.looping.filter(|_| played.clips.contains(&index)) {
            settings.looping = looping_of(looping);
        }
        (clip, settings)
    };
    let solved = strength::solve(&scene.rig, &recipe, &measured.iter().map(settings).collect::<Vec<_>>())?;
    Ok(Playable { solved, measured, has_own_gains: recipe.has_own_gains() })
}

/// Reads a map file, which must lie in the recipe's folder or below it, links followed.
fn read_map(folder: &Path, map: &str) -> Result<MapFile, String> {
    let unreadable = |error| format!("map file {}: cannot be read ({error}); check the path", quoted(map));
    let folder = folder.canonicalize().map_err(unreadable)?;
    let path = folder.join(map).canonicalize().map_err(unreadable)?;
    if !path.starts_with(&folder) {
        return Err(format!("map file {} is outside the recipe's folder; move it there", quoted(map)));
    }
    let text = crate::limits::chosen().read_text(&path).map_err(unreadable)?;
    MapFile::from_text(map, &text).map_err(|error| error.to_string())
}
