//! The document in motion. Follows every change between two frames: numbers are filled in where they stand, and only what
//! has changed shape is bound anew.
//!
//! A recipe that asks for strengths is played by gains that a job finds ([`crate::jobs`]). Until they arrive, and while a
//! strength is being dragged, gains are those known, times the ratio of the strengths: displacement is all but linear in
//! the gain.

use crate::document::Document;
use crate::drawn::{Drawn, Take};
use crate::shake::{Grab, Moment, Shake};
use sinew::graph::GraphError;
use sinew::{
    Cpu, DeformedMesh, Motion, MotionError, MotionSettings, Outputs, PoseError, Recipe, Retuned, Rig, Stage, Workspace,
    WorldPose,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Gains that were found for the strengths of a recipe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gains {
    /// By clip, then by effect; one for all clips where there is one only.
    pub by_clip: Vec<Vec<f64>>,
}

impl Gains {
    /// Whether they were found over so many clips.
    fn fits(&self, clips: usize) -> bool {
        self.by_clip.len() <= 1 || self.by_clip.len() == clips
    }

    fn of(&self, clip: usize) -> Option<&[f64]> {
        self.by_clip.get(clip.min(self.by_clip.len().checked_sub(1)?)).map(Vec::as_slice)
    }
}

/// What a recipe asks for, effect by effect, when its gains were found.
#[derive(Clone, Debug, Default)]
struct Known {
    gains: Gains,
    /// Effects by name, and strengths asked for: those of the effects, then that of all.
    effects: Vec<&'static str>,
    asked: Vec<f64>,
}

fn asked(recipe: &Recipe) -> Vec<f64> {
    let whole = recipe.strength.map_or(0.0, |strength| strength.share());
    recipe.effects.iter().map(|effect| effect.strength.map_or(0.0, |s| s.share())).chain([whole]).collect()
}

/// Why a document cannot be played.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlayError {
    /// The recipe does not fit the character.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The clip cannot be read as asked.
    #[error(transparent)]
    Motion(#[from] MotionError),
}

/// What following a change has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// More than numbers has changed.
    pub rebuilt: bool,
    /// The clip was bound anew.
    pub motion: bool,
}

/// When a clip begins, how long it lasts, and whether its end is its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// First moment in seconds.
    pub start: f64,
    /// Seconds.
    pub length: f64,
    /// Whether it loops.
    pub loops: bool,
}

/// The document, playing.
#[derive(Debug)]
pub struct Player {
    stage: Stage,
    motion: Option<Arc<Motion>>,
    clip: usize,
    /// What was drawn when the clip was bound: poses lie on it.
    drawn: Arc<Drawn>,
    settings: MotionSettings,
    workspace: Workspace,
    known: Known,
    /// Painted maps that the stage has, by value.
    painted: BTreeMap<String, Vec<f32>>,
    /// Effects that are not heard, by index.
    muted: Vec<bool>,
    /// The only effect that is heard.
    solo: Option<usize>,
    /// Poses that arrive one by one.
    shaken: Option<Shake>,
}

impl Player {
    /// Binds the document to its character; `clip` by number.
    pub fn new(document: &Document, clip: usize) -> Result<Self, PlayError> {
        let stage = Stage::new(document.rig(), &Recipe::default())?;
        let mut player = Self {
            stage,
            motion: None,
            clip,
            drawn: Arc::clone(document.drawn()),
            settings: MotionSettings::default(),
            workspace: Workspace::with(Outputs { base: true, ..Outputs::default() }),
            known: Known::default(),
            painted: BTreeMap::new(),
            muted: Vec::new(),
            solo: None,
            shaken: None,
        };
        player.bind(document)?;
        player.follow(document)?;
        Ok(player)
    }

    /// Another player of a document that was made from this one's, on one of its clips, with the gains that are known.
    pub fn like(&self, document: &Document, clip: Option<usize>) -> Result<Self, PlayError> {
        let mut player = Self::new(document, clip.unwrap_or(0))?;
        player.known = self.known.clone();
        player.follow(document)?;
        Ok(player)
    }

    /// The character at its default transforms.
    pub fn rest(&mut self) -> Frame<'_> {
        self.stage.resting(&mut self.workspace).deform(&Cpu::serial());
        self.last()
    }

    /// Number of the clip that plays.
    pub fn clip(&self) -> usize {
        self.clip
    }

    /// What it plays on.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// The clip as a function of time.
    pub fn motion(&self) -> Option<&Arc<Motion>> {
        self.motion.as_ref()
    }

    /// Whether gains are those of the document's strengths, or of others.
    pub fn is_solved(&self, document: &Document) -> bool {
        let recipe = document.recipe().recipe();
        !recipe.is_unsolved()
            || (self.known.gains.of(self.clip).is_some()
                && self.known.gains.fits(document.clip_count())
                && self.fits(recipe)
                && self.known.asked == asked(recipe))
    }

    fn fits(&self, recipe: &Recipe) -> bool {
        self.known.effects.iter().copied().eq(recipe.effects.iter().map(|effect| effect.effect.name()))
    }

    /// Takes gains that were found for a recipe.
    pub fn take_gains(&mut self, recipe: &Recipe, gains: Gains) {
        let effects = recipe.effects.iter().map(|effect| effect.effect.name()).collect();
        self.known = Known { gains, effects, asked: asked(recipe) };
    }

    /// Which effects are heard.
    pub fn listen(&mut self, muted: Vec<bool>, solo: Option<usize>) {
        (self.muted, self.solo) = (muted, solo);
    }

    /// Whether an effect is silent at the moment.
    pub fn is_muted(&self, index: usize) -> bool {
        self.muted.get(index).copied().unwrap_or(false) || self.solo.is_some_and(|solo| solo != index)
    }

    /// The document's recipe with gains in place of strengths.
    pub fn playable(&self, document: &Document) -> Recipe {
        let asked_now = document.recipe().recipe();
        let mut recipe = asked_now.without_strength();
        let known = self.known.gains.of(self.clip).filter(|_| self.fits(asked_now));
        if let (true, Some(gains)) = (asked_now.is_unsolved(), known) {
            let now = asked(asked_now);
            let ratio = |index: usize| match (self.known.asked[index], now[index]) {
                (before, now) if before > 0.0 => now / before,
                _ => 1.0,
            };
            let whole = ratio(now.len() - 1);
            for (index, effect) in recipe.effects.iter_mut().enumerate() {
                effect.gain = gains[index];
                effect.scale_gain(ratio(index) * whole);
            }
        }
        for index in 0..recipe.effects.len() {
            if self.is_muted(index) {
                recipe.effects[index].gain = 0.0;
                recipe.effects[index].keys.retain(|(name, _)| name != "gain");
            }
        }
        recipe
    }

    /// Follows the document: its maps, then its recipe, then its clip.
    pub fn follow(&mut self, document: &Document) -> Result<Followed, PlayError> {
        let mut followed = Followed::default();
        let mut note = |retuned: Retuned| {
            followed.rebuilt |= retuned.rebuilt;
            followed.motion |= retuned.motion;
        };
        for (name, values) in document.maps() {
            if self.painted.get(name) == Some(values) {
                continue;
            }
            if let Some(map) = document.point_map(name) {
                note(self.stage.repaint(name, map)?);
                self.painted.insert(name.clone(), values.clone());
            }
        }
        note(self.stage.retune(&self.playable(document))?);
        let settings = self.settings_of(document);
        let [before, now] = [&self.drawn, document.drawn()];
        let other_poses = !Arc::ptr_eq(before, now) && (before.poses != now.poses || before.takes != now.takes);
        if followed.motion || settings != self.settings || other_poses {
            self.bind(document)?;
            followed.motion = true;
        }
        Ok(followed)
    }

    fn settings_of(&self, document: &Document) -> MotionSettings {
        let clip = document.clip(self.clip);
        clip.map_or_else(MotionSettings::default, |clip| document.recipe().motion(&clip.name))
    }

    fn bind(&mut self, document: &Document) -> Result<(), PlayError> {
        self.settings = self.settings_of(document);
        self.drawn = Arc::clone(document.drawn());
        self.shaken.iter_mut().for_each(Shake::cut);
        self.motion = match document.played_clip(self.clip) {
            Some(clip) => Some(Arc::clone(self.stage.motion(&clip, &self.settings)?.motion())),
            None => None,
        };
        Ok(())
    }

    /// Plays another clip.
    pub fn choose_clip(&mut self, document: &Document, clip: usize) -> Result<(), PlayError> {
        self.clip = clip;
        self.follow(document)?;
        self.bind(document)
    }

    /// When it begins and ends.
    pub fn span(&self) -> Span {
        let Some(motion) = &self.motion else { return Span::default() };
        let report = motion.report();
        let length = report.period.unwrap_or(report.last_key - report.start);
        Span { start: report.start, length, loops: report.period.is_some() }
    }

    /// The frame at a time: with effects, and without them.
    pub fn frame(&mut self, time: f64) -> Frame<'_> {
        let playing = self.motion.as_ref().and_then(|motion| self.stage.resume(motion).ok());
        match playing {
            Some(playing) => playing.at(time, &mut self.workspace).deform(&Cpu::serial()),
            None => self.stage.resting(&mut self.workspace).deform(&Cpu::serial()),
        }
        Frame { result: self.workspace.mesh(), base: self.workspace.base(), world: self.workspace.world() }
    }

    /// The next of the poses that arrive one by one: the clip's at a time, with a bone in the hand where there is one.
    pub fn shake(&mut self, time: f64, dt: f64, grab: Option<&Grab>) -> Result<Frame<'_>, PoseError> {
        let span = self.span();
        let moment = Moment { time, dt, period: span.loops.then_some(span.length) };
        let shake = self.shaken.get_or_insert_with(|| Shake::new(&self.stage));
        shake.step(&self.stage, self.motion.as_deref(), moment, grab, &mut self.workspace)?;
        Ok(self.last())
    }

    /// Forgets the poses that have arrived, and what was recorded of them.
    pub fn stop_shaking(&mut self) {
        self.shaken = None;
    }

    /// Records the poses that arrive from now on.
    pub fn record(&mut self) {
        self.shaken.get_or_insert_with(|| Shake::new(&self.stage)).record();
    }

    /// Seconds that were recorded; `None` while nothing is.
    pub fn recorded(&self) -> Option<f64> {
        self.shaken.as_ref().and_then(Shake::recorded)
    }

    /// What was recorded, as a take; `None` where nothing has moved.
    pub fn take(&mut self, name: &str) -> Option<Take> {
        self.shaken.as_mut()?.take(self.stage.rig().skeleton(), name)
    }

    /// The last frame.
    pub fn last(&self) -> Frame<'_> {
        Frame { result: self.workspace.mesh(), base: self.workspace.base(), world: self.workspace.world() }
    }
}

/// A moment of the clip.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// With effects.
    pub result: &'a DeformedMesh,
    /// Without.
    pub base: &'a DeformedMesh,
    /// The bones.
    pub world: &'a WorldPose,
}

impl Frame<'_> {
    /// How far effects move each vertex, in sizes.
    pub fn displacement(&self, rig: &Rig, out: &mut Vec<f32>) {
        out.clear();
        out.resize(rig.vertex_count(), 0.0);
        for part in rig.parts() {
            let size = rig.characters()[part.character].size;
            for vertex in part.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
                let place = |mesh: &DeformedMesh| mesh.world_position(part.character, vertex);
                out[vertex] = (place(self.base).distance(place(self.result)) / size) as f32;
            }
        }
    }
}
