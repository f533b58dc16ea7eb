//! What was drawn over the picture: strokes as they were drawn, with what they were made into, so that they stay editable.
//!
//! Surface edits are entries of the recipe and maps, named after the edit; poses are layers on clips. Each edit was made on the
//! skin as it stood with the edits before it, so whoever changes one makes those after it again.
//!
//! Oracle: `sinew edit` and `sinew pose` make the same of the same strokes, to the bit (tests/drawing.rs).

use crate::character::Character;
use crate::document::{ChangeError, Document, Values};
use crate::player::Player;
use glam::{Quat, Vec3};
use serde::{Deserialize, Serialize};
use sinew::clip::{Curve, CurveError, Interpolation, Track};
use sinew::recipe::EditShape;
use sinew::{Clip, Motion, MotionSettings, Pose, RecipeFile, Rig};
use sinew_draw::edits::{self, Edit, KindName, Made};
use sinew_draw::pose_strokes::{self, PoseStroke};
use sinew_draw::{Cycle, Ease, Layers, PoseLayer};
use std::borrow::Cow;

/// All that was drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Surface edits, in the order in which they were made.
    #[serde(default)]
    pub edits: Vec<Edit>,
    /// Poses on clips.
    #[serde(default)]
    pub poses: Vec<DrawnPose>,
    /// Clips that were made by hand, after those of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<Take>,
}

/// A clip that was made by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Take {
    /// Its name, which no other clip has.
    pub name: String,
    /// Seconds.
    pub times: Vec<f64>,
    /// What moves in it.
    pub tracks: Vec<TakeTrack>,
}

/// Keys of one node, as many as there are times; what has none stays as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TakeTrack {
    /// The node in the file.
    pub node: usize,
    /// In the parent's space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<Vec<[f32; 3]>>,
    /// As x, y, z, w.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Vec<[f32; 4]>>,
    /// Along the local axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Vec<[f32; 3]>>,
}

impl Take {
    /// As files have clips; why not, where it is none.
    pub fn clip(&self) -> Result<Clip, String> {
        let told = |error: CurveError| format!("{}: {error}", self.name);
        let vectors = |keys: &Option<Vec<[f32; 3]>>| {
            let keys = keys.as_ref().map(|keys| keys.iter().map(|&key| Vec3::from_array(key)).collect());
            keys.map(|keys| Curve::new(Interpolation::Linear, self.times.clone(), keys)).transpose().map_err(told)
        };
        let tracks = self.tracks.iter().map(|track| -> Result<Track, String> {
            let turns = track.rotation.as_ref();
            let turns = turns.map(|keys| keys.iter().map(|&key| Quat::from_array(key)).collect());
            let rotation = turns.map(|keys| Curve::new(Interpolation::Linear, self.times.clone(), keys));
            Ok(Track {
                node: track.node,
                translation: vectors(&track.translation)?,
                rotation: rotation.transpose().map_err(told)?,
                scale: vectors(&track.scale)?,
                morph: None,
            })
        });
        Ok(Clip { name: self.name.clone(), tracks: tracks.collect::<Result<_, String>>()? })
    }
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
        self.edits.is_empty() && self.poses.is_empty() && self.takes.is_empty()
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

/// A clip of the file, or, after these, one made by hand.
pub fn own_clip<'a>(character: &'a Character, drawn: &Drawn, number: usize) -> Option<Cow<'a, Clip>> {
    let of_file = &character.asset.clips;
    match of_file.get(number) {
        Some(clip) => Some(Cow::Borrowed(clip)),
        None => drawn.takes.get(number - of_file.len())?.clip().ok().map(Cow::Owned),
    }
}

/// A clip with the poses that were drawn on it, where there are some.
pub fn posed_clip(character: &Character, drawn: &Drawn, number: usize) -> Option<Clip> {
    let clip = own_clip(character, drawn, number)?;
    let layers = drawn.layers(&clip.name);
    if layers.is_empty() {
        return None;
    }
    let (_, cycle) = motion(&character.asset.rig, &clip).ok()?;
    let skeleton = character.asset.rig.skeleton();
    Some(Layers::new(skeleton, &layers, cycle).ok()?.clip(skeleton, &clip))
}

/// Clips that were made by hand, with the poses drawn on them, as a file that `--animations` takes; `None` without such.
pub fn takes_file(character: &Character, drawn: &Drawn) -> Result<Option<Vec<u8>>, String> {
    let asset = &character.asset;
    if drawn.takes.is_empty() {
        return Ok(None);
    }
    let numbers = asset.clips.len()..asset.clips.len() + drawn.takes.len();
    let posed =
        |number| posed_clip(character, drawn, number).map(Cow::Owned).or_else(|| own_clip(character, drawn, number));
    let clips: Vec<Clip> = numbers.filter_map(posed).map(Cow::into_owned).collect();
    let told = |error: sinew_gltf::WriteError| error.to_string();
    sinew_gltf::export(&asset.raw, &clips).map_err(told)?.to_glb().map_err(told).map(Some)
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
    /// How many clips there are: those of the file, then those made by hand.
    pub fn clip_count(&self) -> usize {
        self.character().asset.clips.len() + self.drawn().takes.len()
    }

    /// Their names.
    pub fn clip_names(&self) -> Vec<String> {
        let of_file = self.character().asset.clips.iter().map(|clip| &clip.name);
        of_file.chain(self.drawn().takes.iter().map(|take| &take.name)).cloned().collect()
    }

    /// A clip without the poses drawn on it.
    pub fn clip(&self, number: usize) -> Option<Cow<'_, Clip>> {
        own_clip(self.character(), self.drawn(), number)
    }

    /// A clip as it is played: with the poses drawn on it.
    pub fn played_clip(&self, number: usize) -> Option<Cow<'_, Clip>> {
        posed_clip(self.character(), self.drawn(), number).map(Cow::Owned).or_else(|| self.clip(number))
    }

    /// The number of a clip.
    pub fn clip_number(&self, name: &str) -> Option<usize> {
        self.clip_names().iter().position(|known| known == name)
    }

    fn clip_named(&self, name: &str) -> Result<(usize, Cow<'_, Clip>), String> {
        let number = self.clip_number(name);
        let found = number.and_then(|number| Some((number, self.clip(number)?)));
        found.ok_or_else(|| format!("there is no clip \"{name}\""))
    }

    /// A name that no clip has.
    pub fn free_clip_name(&self, kind: &str) -> String {
        let taken = self.clip_names();
        (1..).map(|number| format!("{kind} {number}")).find(|name| !taken.contains(name)).unwrap_or_default()
    }

    /// One more clip, after all others.
    pub fn add_take(&mut self, take: Take) -> Result<(), String> {
        let clip = take.clip()?;
        if self.clip_number(&take.name).is_some() {
            return Err(format!("there is a clip \"{}\" already", take.name));
        }
        motion(self.rig(), &clip)?;
        let label = format!("Record {}", take.name);
        let mut drawn = (**self.drawn()).clone();
        drawn.takes.push(take);
        self.adopt_drawn(&label, None, None, drawn, Vec::new());
        Ok(())
    }

    /// Without a clip that was made by hand, nor the poses drawn on it.
    pub fn remove_take(&mut self, name: &str) {
        let mut drawn = (**self.drawn()).clone();
        drawn.takes.retain(|take| take.name != name);
        drawn.poses.retain(|pose| pose.clip != name);
        self.adopt_drawn(&format!("Remove {name}"), None, None, drawn, Vec::new());
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
            let (motion, cycle) = motion(self.rig(), &clip)?;
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
