//! What was drawn over the picture: strokes as they were drawn, with what they were made into, so that they stay editable.
//!
//! Surface edits are entries of the recipe and maps, named after the edit; poses are layers on clips. Each edit was made on the
//! skin as it stood with the edits before it, so whoever changes one makes those after it again.
//!
//! Oracle: `sinew edit` and `sinew pose` make the same of the same strokes, to the bit (tests/drawing.rs).

use crate::character::Character;
use crate::document::{ChangeError, Document, Values};
use crate::player::Player;
use serde::{Deserialize, Serialize};
use sinew::recipe::EditShape;
use sinew::{Clip, Motion, MotionSettings, Pose, RecipeFile, Rig};
use sinew_draw::edits::{self, Edit, KindName, Made};
use sinew_draw::pose_strokes::{self, PoseStroke};
use sinew_draw::{Cycle, Ease, Layers, PoseLayer};

/// All that was drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Surface edits, in the order in which they were made.
    #[serde(default)]
    pub edits: Vec<Edit>,
    /// Poses on clips.
    #[serde(default)]
    pub poses: Vec<DrawnPose>,
}

/// A pose that was drawn on a moment of a clip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnPose {
    /// The clip, by name.
    pub clip: String,
    /// Its strokes, applied in this order.
    pub strokes: Vec<PoseStroke>,
    /// When it comes and goes.
    pub ease: Ease,
    /// What became of them.
    pub layer: PoseLayer,
}

impl Drawn {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.poses.is_empty()
    }

    /// A name that no edit has.
    pub fn free_name(&self, kind: &str) -> String {
        let is_free = |name: &String| self.edits.iter().all(|edit| edit.name != *name);
        (1..).map(|number| format!("{kind}-{number}")).find(is_free).unwrap_or_default()
    }

    /// Whether a map is one that an edit is made of; the one of its name, how far inside skin lies, is anybody's to paint.
    pub fn is_made_of(&self, map: &str) -> bool {
        self.edits.iter().any(|edit| is_of(map, edit) && map != edit.name)
    }

    /// Layers on a clip.
    pub fn layers(&self, clip: &str) -> Vec<PoseLayer> {
        self.poses.iter().filter(|pose| pose.clip == clip).map(|pose| pose.layer.clone()).collect()
    }
}

/// A clip with the poses that were drawn on it, where there are some.
pub fn posed_clip(character: &Character, drawn: &Drawn, number: usize) -> Option<Clip> {
    let clip = character.asset.clips.get(number)?;
    let layers = drawn.layers(&clip.name);
    if layers.is_empty() {
        return None;
    }
    let (_, cycle) = motion(&character.asset.rig, clip).ok()?;
    let skeleton = character.asset.rig.skeleton();
    Some(Layers::new(skeleton, &layers, cycle).ok()?.clip(skeleton, clip))
}

/// A clip as a function of time; with when it begins and its period, if it loops.
fn motion(rig: &Rig, clip: &Clip) -> Result<(Motion, Option<Cycle>), String> {
    let motion = Motion::new(rig.puppet(), clip, &MotionSettings::default(), &[]);
    let motion = motion.map_err(|error| error.to_string())?;
    let report = motion.report();
    let cycle = report.period.map(|period| (report.start, period));
    Ok((motion, cycle))
}

impl Document {
    fn clip_named(&self, name: &str) -> Result<(usize, &Clip), String> {
        let mut clips = self.character().asset.clips.iter().enumerate();
        clips.find(|(_, clip)| clip.name == name).ok_or_else(|| format!("there is no clip \"{name}\""))
    }

    /// Poses from a number on, put in place of those that are there.
    pub fn draw_poses(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        from: usize,
        poses: impl IntoIterator<Item = (String, Vec<PoseStroke>, Ease)>,
    ) -> Result<(), String> {
        let mut drawn = (**self.drawn()).clone();
        drawn.poses.truncate(from);
        for (clip_name, strokes, ease) in poses {
            ease.check().map_err(|fault| fault.to_string())?;
            let (_, clip) = self.clip_named(&clip_name)?;
            let (motion, cycle) = motion(self.rig(), clip)?;
            let skeleton = self.rig().skeleton();
            let mut before = Pose::default();
            motion.pose(ease.time, &mut before);
            let held = Layers::new(skeleton, &drawn.layers(&clip_name), cycle);
            held.map_err(|error| error.to_string())?.apply(ease.time, &mut before);
            let mut after = before.clone();
            for stroke in &strokes {
                pose_strokes::apply(self.rig(), stroke, &mut after)?;
            }
            let layer = PoseLayer::between(skeleton, &before, &after, ease).map_err(|error| error.to_string())?;
            let layer = PoseLayer { name: format!("layer {}", drawn.poses.len() + 1), ..layer };
            // A layer that no clip can play is told here and not later.
            Layers::new(skeleton, std::slice::from_ref(&layer), cycle).map_err(|error| error.to_string())?;
            drawn.poses.push(DrawnPose { clip: clip_name, strokes, ease, layer });
        }
        self.adopt_drawn(label, gesture, None, drawn, Vec::new());
        Ok(())
    }

    /// Edits from a number on, made anew in this order and put in place of those that are there. `player` tells what is known of
    /// gains. What is refused is told, and leaves everything as it was.
    pub fn draw_edits(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        from: usize,
        edits: Vec<Edit>,
        player: &Player,
    ) -> Result<(), String> {
        let told = |error: ChangeError| error.to_string();
        let mut work = self.clone();
        work.cut_edits(from).map_err(told)?;
        for edit in edits {
            let clip = edit.clip.as_deref().map(|name| self.clip_named(name)).transpose()?.map(|(number, _)| number);
            let mut standing = player.like(&work, clip).map_err(|error| error.to_string())?;
            let frame = match clip {
                Some(_) => standing.frame(edit.time.unwrap_or(0.0)),
                None => standing.rest(),
            };
            let made = edits::make(self.rig(), frame.world, frame.result, &edit)?;
            work.put_edit(edit, made).map_err(told)?;
        }
        let (recipe, drawn, maps) = (work.recipe().clone(), (**work.drawn()).clone(), work.maps().clone());
        self.take_over(label, gesture, recipe, drawn, maps);
        Ok(())
    }

    /// Without the edits from a number on: neither their entries nor their maps.
    fn cut_edits(&mut self, from: usize) -> Result<(), ChangeError> {
        let mut drawn = (**self.drawn()).clone();
        let mut recipe = self.recipe().clone();
        let mut maps = self.maps().clone();
        while drawn.edits.len() > from {
            let Some(edit) = drawn.edits.pop() else { break };
            if let Some(section) = section_of(&recipe, &drawn, &edit) {
                recipe.remove_edit(section)?;
            }
            maps.retain(|name, _| !is_of(name, &edit));
        }
        self.set_all(recipe, drawn, maps);
        Ok(())
    }

    fn put_edit(&mut self, edit: Edit, made: Made) -> Result<(), ChangeError> {
        let told = |fault: String| ChangeError::Drawn(format!("{}: {fault}", edit.name));
        let mut recipe = self.recipe().clone();
        recipe.add_edit(&edits::spec(&edit, made.shape).map_err(told)?)?;
        let mut maps = self.maps().clone();
        for (ending, of_vertex) in made.maps {
            let mut values: Values = vec![0.0; self.rig().slots()];
            for (&slot, value) in self.rig().point_of_vertex().iter().zip(of_vertex) {
                values[slot as usize] = value;
            }
            maps.insert(format!("{}{ending}", edit.name), values);
        }
        let mut drawn = (**self.drawn()).clone();
        drawn.edits.push(edit);
        self.set_all(recipe, drawn, maps);
        Ok(())
    }
}

/// Whether a map is one of an edit's.
fn is_of(map: &str, edit: &Edit) -> bool {
    map.strip_prefix(edit.name.as_str()).is_some_and(|ending| ending.is_empty() || ending.starts_with('.'))
}

/// The entry of a recipe that plays an edit which was drawn after all of `drawn`.
fn section_of(recipe: &RecipeFile, drawn: &Drawn, edit: &Edit) -> Option<usize> {
    let mut entries = recipe.recipe().edits.iter().enumerate();
    if edit.kind == KindName::Wave {
        // Waves have no name: they are told apart by their order.
        let before = drawn.edits.iter().filter(|other| other.kind == KindName::Wave).count();
        let waves = entries.filter(|(_, entry)| matches!(entry.shape, EditShape::Wave { .. }));
        return waves.map(|(index, _)| index).nth(before);
    }
    let is_it = |shape: &EditShape| matches!(shape, EditShape::Shape(shapes) if matches!(&shapes[..], [(_, name)] if *name == edit.name));
    entries.find(|(_, entry)| is_it(&entry.shape)).map(|(index, _)| index)
}

/// What was drawn, as a file has it.
pub fn to_text(drawn: &Drawn) -> String {
    serde_json::to_string_pretty(drawn).unwrap_or_default()
}

/// What was drawn, from such a file.
pub fn from_text(text: &str) -> Result<Drawn, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
