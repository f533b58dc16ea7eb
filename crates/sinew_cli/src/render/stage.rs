//! A character ready to be shown at any moment of a clip, with and without effects.

use crate::args::{BaseName, LoopName};
use crate::fault::Fault;
use crate::load::Scene;
use crate::played::{base_spec, find_clip, looping_of};
use crate::recipe::LoadedRecipe;
use sinew::{
    Cpu, DeformedMesh, Frame, FrameIndependentGraph, Kinematics, Motion, MotionSettings, Recipe, Scratch, WorldPose,
    evaluate,
};

/// How to play a scene.
#[derive(Clone, Copy, Default)]
pub struct Play<'a> {
    /// By name or number; the first without it.
    pub clip: Option<&'a str>,
    pub base: Option<BaseName>,
    pub looping: Option<LoopName>,
}

/// A scene with its clip and recipe.
pub struct Stage<'a> {
    pub scene: &'a Scene,
    /// Name of the clip; empty where the file has none.
    pub clip: &'a str,
    motion: Option<Motion>,
    base: FrameIndependentGraph,
    effects: Option<FrameIndependentGraph>,
}

/// The meshes of one moment.
pub struct Moment {
    pub time: f64,
    pub world: WorldPose,
    pub base: DeformedMesh,
    effects: Option<DeformedMesh>,
}

impl Moment {
    /// With effects, if there are any.
    pub fn result(&self) -> &DeformedMesh {
        self.effects.as_ref().unwrap_or(&self.base)
    }
}

impl<'a> Stage<'a> {
    pub fn new(scene: &'a Scene, asked: &LoadedRecipe, play: Play<'_>) -> Result<Self, Fault> {
        let rig = &scene.rig;
        if rig.triangles().is_empty() {
            return Err(Fault::in_file(&scene.name, "holds nothing to draw: no mesh with faces is bound to bones"));
        }
        let mut recipe = asked.recipe().clone();
        if let Some(base) = play.base {
            recipe.base = base_spec(base, &recipe.base);
        }
        let culprit =
            if asked.file.is_empty() { scene.name.clone() } else { format!("{} on {}", asked.file, scene.name) };
        let build = |recipe: &Recipe| {
            FrameIndependentGraph::build(rig, recipe).map_err(|error| Fault::in_file(&culprit, error))
        };
        let base = build(&recipe.base_only())?;
        let adds = recipe.adds();
        let effects = adds.then(|| build(&recipe)).transpose()?;
        let clip = match play.clip {
            Some(wanted) => Some(&scene.clips[find_clip(scene, wanted)?]),
            None => scene.clips.first(),
        };
        let filtered = effects.as_ref().map_or(&[][..], FrameIndependentGraph::filtered_signals);
        let motion = clip.map(|clip| {
            let mut settings: MotionSettings = asked.motion(clip);
            if let Some(looping) = play.looping {
                settings.looping = looping_of(looping);
            }
            Motion::new(rig.skeleton(), rig.bone_sizes(), &rig.morph_layout(), clip, &settings, filtered)
                .map_err(|error| Fault::in_file(&culprit, error))
        });
        Ok(Self { scene, clip: clip.map_or("", |clip| &clip.name), motion: motion.transpose()?, base, effects })
    }

    /// Whether there are effects to see.
    pub fn has_effects(&self) -> bool {
        self.effects.is_some()
    }

    /// First moment and length in seconds, and whether the end is the beginning.
    pub fn span(&self) -> Span {
        let Some(motion) = &self.motion else { return Span { start: 0.0, length: 0.0, loops: false } };
        let report = motion.report();
        let length = report.period.unwrap_or(report.last_key - report.start);
        Span { start: report.start, length, loops: report.period.is_some() }
    }

    /// Everything at a time, clamped or wrapped. Any order, any thread, the same bits.
    pub fn moment(&self, time: f64) -> Moment {
        let rig = &self.scene.rig;
        let skeleton = rig.skeleton();
        let filtered = self.effects.as_ref().map_or(0, |graph| graph.filtered_signals().len());
        let (mut pose, mut world) = (rig.rest_pose(), WorldPose::default());
        let mut kinematics = Kinematics::at_rest(skeleton.len(), filtered);
        let mut time = time;
        if let Some(motion) = &self.motion {
            time = motion.sample_time(time);
            motion.pose(time, &mut pose);
        }
        world.compose(skeleton, &pose);
        if let Some(motion) = &self.motion {
            motion.kinematics(time, &world, skeleton, &mut kinematics);
        }
        let frame = Frame { rig, pose: &pose, world: &world, kinematics: &kinematics, time };
        let mut scratch = Scratch::default();
        let mut shown = |graph: &FrameIndependentGraph| {
            let mut mesh = DeformedMesh::default();
            evaluate(graph, &frame, &Cpu::serial(), &mut scratch, &mut mesh);
            mesh
        };
        let (base, effects) = (shown(&self.base), self.effects.as_ref().map(shown));
        Moment { time, world, base, effects }
    }
}

/// When a clip plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub start: f64,
    /// Seconds; of a loop its period.
    pub length: f64,
    pub loops: bool,
}
