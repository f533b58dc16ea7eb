//! A character ready to be shown at any moment of a clip, with and without effects.

use crate::args::LoopName;
use crate::fault::Fault;
use crate::load::Scene;
use crate::played::{base_spec, find_clip, looping_of};
use crate::recipe::LoadedRecipe;
use sinew::base::BaseEntry;
use sinew::correct::MuscleReport;
use sinew::{Backend, Cpu, DeformedMesh, Motion, Outputs, Stage, Workspace, WorldPose};
use std::sync::Arc;

/// How to play a scene.
#[derive(Clone, Copy, Default)]
pub struct Play<'a> {
    /// By name or number; the first without it.
    pub clip: Option<&'a str>,
    pub base: Option<&'static BaseEntry>,
    pub looping: Option<LoopName>,
    /// Who makes frames; `None` for the processor.
    pub backend: Option<&'a dyn Backend>,
}

/// A scene with its clip and recipe.
pub struct Scenery<'a> {
    pub scene: &'a Scene,
    /// Name of the clip; empty where the file has none.
    pub clip: &'a str,
    stage: Stage,
    motion: Option<Arc<Motion>>,
}

/// The meshes of one moment.
pub struct Moment {
    pub time: f64,
    pub world: WorldPose,
    pub base: DeformedMesh,
    /// With effects, if there are any.
    pub result: DeformedMesh,
}

impl<'a> Scenery<'a> {
    pub fn new(scene: &'a Scene, asked: &LoadedRecipe, play: Play<'_>) -> Result<Self, Fault> {
        let rig = &scene.rig;
        if rig.triangles().is_empty() {
            return Err(Fault::in_file(&scene.name, "contains nothing to draw: no mesh with faces is bound to bones"));
        }
        let mut recipe = asked.recipe().clone();
        if let Some(base) = play.base {
            recipe.base = base_spec(base, &recipe.base);
        }
        let culprit =
            if asked.file.is_empty() { scene.name.clone() } else { format!("{} on {}", asked.file, scene.name) };
        let stage = Stage::new(rig, &recipe).map_err(|error| Fault::in_file(&culprit, error))?;
        let stage = match play.backend {
            Some(backend) => stage.made_by(backend),
            None => stage,
        };
        let clip = match play.clip {
            Some(wanted) => Some(&scene.clips[find_clip(scene, wanted)?]),
            None => scene.clips.first(),
        };
        let motion = clip.map(|clip| {
            let mut settings = asked.motion(clip);
            if let Some(looping) = play.looping {
                settings.looping = looping_of(looping);
            }
            let playing = stage.motion(clip, &settings).map_err(|error| Fault::in_file(&culprit, error))?;
            Ok::<_, Fault>(Arc::clone(playing.motion()))
        });
        let motion = motion.transpose()?;
        Ok(Self { scene, clip: clip.map_or("", |clip| &clip.name), stage, motion })
    }

    /// Whether there are effects to see.
    pub fn has_effects(&self) -> bool {
        self.stage.recipe().adds()
    }

    /// The muscles of its recipe.
    pub fn muscles(&self) -> Vec<MuscleReport> {
        self.stage.muscles()
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
        let mut workspace = Workspace::with(Outputs { base: true, ..Outputs::default() });
        let playing = self.motion.as_ref().and_then(|motion| self.stage.resume(motion).ok());
        let time = match playing {
            Some(playing) => {
                let time = playing.motion().sample_time(time);
                playing.frame(time, &mut workspace);
                time
            }
            None => {
                self.stage.resting(&mut workspace).deform(&Cpu::serial());
                time
            }
        };
        let (base, result) = (workspace.take_base(), workspace.take_mesh());
        Moment { time, world: workspace.world().clone(), base, result }
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
