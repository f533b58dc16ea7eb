//! Why did this move: which effect, driven by which bone, moves a point how far.
//!
//! Effects add up, and so do bones within an effect, but for limits and what follows the effects (bends, feet, rigid pieces,
//! corrections): each is heard alone, and what is left between their sum and what is seen is told as the rest.

use crate::document::Document;
use crate::player::{PlayError, Player};
use glam::DVec3;
use sinew::maps::PointMap;
use sinew::recipe::{BoneGain, Planted};
use sinew::{BoneId, Clip, Cpu, Hierarchy, Motion, MotionSettings, Recipe, Rig, Stage, Workspace};
use std::borrow::Cow;
use std::sync::Arc;

/// How far one cause moves a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The effect, by index in the recipe.
    pub effect: usize,
    /// Its name.
    pub name: &'static str,
    /// How far it moves the point, in sizes.
    pub share: f64,
    /// The bones that drive it, and how far each alone moves the point, most first.
    pub bones: Vec<(BoneId, f64)>,
}

/// Everything that moves a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// How far it is moved in all, in sizes.
    pub whole: f64,
    /// Effects, most first.
    pub causes: Vec<Cause>,
    /// What corrections, limits, feet and rigid pieces make of it, in sizes.
    pub rest: f64,
}

/// Bones told of each effect, at most.
const MOST_BONES: usize = 6;

/// Asks it of a vertex at a time.
pub fn why(document: &Document, player: &Player, vertex: usize, time: f64) -> Result<Why, PlayError> {
    let rig = document.rig();
    let recipe = player.playable(document);
    let Some(character) = rig.character_of_point(rig.point(vertex)) else {
        return Ok(Why { whole: 0.0, causes: Vec::new(), rest: 0.0 });
    };
    let size = rig.characters()[character].size;
    let mut listener = Listener::new(document, player, vertex, character, time)?;
    let whole = listener.place(&recipe)?;
    // What stands on the ground is of the rest, and takes long to find.
    let bare = Recipe { planted: Planted::None, ..recipe.base_only() };
    let base = listener.place(&bare)?;
    let whole = whole - base;
    let mut sum = DVec3::ZERO;
    let mut causes = Vec::new();
    for (index, effect) in recipe.effects.iter().enumerate() {
        let mut alone = bare.clone();
        alone.effects = vec![effect.clone()];
        let moved = listener.place(&alone)? - base;
        sum += moved;
        if moved == DVec3::ZERO {
            continue;
        }
        let mut bones = Vec::new();
        for bone in drivers(rig, player.stage().hierarchy(), vertex) {
            let mut by_bone = alone.clone();
            let told = effect.bones.clone();
            let silent = BoneGain { translation: 0.0, rotation: 0.0, ..BoneGain::default() };
            let name = rig.skeleton().name(bone);
            let last = told.iter().rev().find(|(pattern, _)| sinew::text::wildcard(pattern, name));
            let own = last.map_or_else(BoneGain::default, |(_, gain)| *gain);
            by_bone.effects[0].bones = vec![("*".to_owned(), silent), (name.to_owned(), own)];
            bones.push((bone, (listener.place(&by_bone)? - base).length() / size));
        }
        bones.retain(|(_, share)| *share > 0.0);
        bones.sort_by(|a, b| b.1.total_cmp(&a.1));
        bones.truncate(MOST_BONES);
        causes.push(Cause { effect: index, name: effect.effect.name(), share: moved.length() / size, bones });
    }
    causes.sort_by(|a, b| b.share.total_cmp(&a.share));
    Ok(Why { whole: whole.length() / size, causes, rest: (whole - sum).length() / size })
}

/// The bones above a vertex, from its own up to the root.
fn drivers(rig: &Rig, hierarchy: &Hierarchy, vertex: usize) -> Vec<BoneId> {
    let slot = rig.point(vertex);
    let mut bones: Vec<BoneId> = Vec::new();
    for influence in rig.influences(slot) {
        bones.extend(hierarchy.ancestors(rig.palette()[influence.palette as usize].bone));
    }
    bones.sort_unstable();
    bones.dedup();
    bones
}

/// Plays other recipes at one moment, and looks at one vertex.
struct Listener<'a> {
    stage: Stage,
    clip: Option<Cow<'a, Clip>>,
    settings: MotionSettings,
    motion: Option<Arc<Motion>>,
    workspace: Workspace,
    vertex: usize,
    character: usize,
    time: f64,
}

impl<'a> Listener<'a> {
    fn new(
        document: &'a Document,
        player: &Player,
        vertex: usize,
        character: usize,
        time: f64,
    ) -> Result<Self, PlayError> {
        let rig = document.rig();
        let mut stage = Stage::new(rig, &Recipe::default())?;
        for map in player.stage().painted() {
            // Nothing reads it yet.
            let _ = stage.repaint(&map.name, PointMap::from_vertex_map(rig, map))?;
        }
        let clip = document.played_clip(player.clip());
        let settings = clip.as_ref().map_or_else(MotionSettings::default, |clip| document.recipe().motion(&clip.name));
        let motion = player.motion().cloned();
        Ok(Self { stage, clip, settings, motion, workspace: Workspace::default(), vertex, character, time })
    }

    fn place(&mut self, recipe: &Recipe) -> Result<DVec3, PlayError> {
        // Whether motions fit is asked below.
        let _ = self.stage.retune(recipe)?;
        if let Some(clip) = &self.clip {
            // Recipes filter differently, and a motion holds what they filter.
            let fits = self.motion.as_ref().is_some_and(|motion| self.stage.resume(motion).is_ok());
            if !fits {
                self.motion = Some(Arc::clone(self.stage.motion(clip, &self.settings)?.motion()));
            }
        }
        match self.motion.as_ref().and_then(|motion| self.stage.resume(motion).ok()) {
            Some(playing) => playing.at(self.time, &mut self.workspace).deform(&Cpu::serial()),
            None => self.stage.resting(&mut self.workspace).deform(&Cpu::serial()),
        }
        Ok(self.workspace.mesh().world_position(self.character, self.vertex))
    }
}
