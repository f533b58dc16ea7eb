//! Frames of a scene: the clip sampled, the graph evaluated with and without effects.

use super::motion_file::MotionFile;
use crate::args::FrameArgs;
use crate::fault::Fault;
use crate::load::Scene;
use crate::played::{base_spec, find_clip, looping_of};
use crate::recipe::LoadedRecipe;
use crate::text::quoted;
use glam::DVec3;
use sinew::correct::MuscleReport;
use sinew::kinodynamic::Diagnosis;
use sinew::rig::{Part, Primitive};
use sinew::{
    BoneId, BoneMotion, Cpu, DeformedMesh, Hierarchy, Kinematics, Motion, Outputs, Stage, Workspace, WorldPose,
};
use std::sync::Arc;

/// One frame of a scene, as every format writes it. All of it is finite.
pub(super) struct Snapshot<'a> {
    pub scene: &'a Scene,
    pub clip: Option<PlayedClip<'a>>,
    pub base: &'static str,
    pub world: WorldPose,
    pub kinematics: Kinematics,
    /// What the motions are relative to.
    pub hierarchy: Hierarchy,
    /// Per bone, the middle of what it moves, in its frame.
    pub centroids: Vec<Option<DVec3>>,
    /// With all effects.
    pub deformed: DeformedMesh,
    /// With none.
    pub skinned: DeformedMesh,
    /// How well the base `fold-over-free` stands, where it is the recipe's.
    pub diagnosis: Option<Diagnosis>,
    pub muscles: Vec<MuscleReport>,
}

/// What all frames of a scene share.
pub(super) struct Player<'a> {
    scene: &'a Scene,
    /// Index and motion of the clip.
    clip: Option<(usize, Arc<Motion>)>,
    /// Motion set by hand, in place of the clip's.
    hand_set: Option<Vec<(BoneId, BoneMotion)>>,
    base: &'static str,
    stage: Stage,
    workspace: Workspace,
}

/// The clip a frame is of.
pub(super) struct PlayedClip<'a> {
    pub index: usize,
    pub name: &'a str,
    /// Time sampled, in seconds.
    pub time: f64,
}

impl<'a> Player<'a> {
    pub fn new(
        scene: &'a Scene,
        asked: &LoadedRecipe,
        hand_set: Option<&MotionFile>,
        options: &FrameArgs,
    ) -> Result<Self, Fault> {
        let rig = &scene.rig;
        let mut recipe = asked.recipe().clone();
        if let Some(base) = options.base {
            recipe.base = base_spec(base, &recipe.base);
        }
        let culprit =
            if asked.file.is_empty() { scene.name.clone() } else { format!("{} on {}", asked.file, scene.name) };
        let stage = Stage::new(rig, &recipe).map_err(|error| Fault::in_file(&culprit, error))?;
        let bind = |wanted: &String| {
            let index = find_clip(scene, wanted)?;
            let clip = &scene.clips[index];
            let mut settings = asked.motion(clip);
            if let Some(looping) = options.looping {
                settings.looping = looping_of(looping);
            }
            let playing = stage.motion(clip, &settings).map_err(|error| Fault::in_file(&culprit, error))?;
            Ok::<_, Fault>((index, Arc::clone(playing.motion())))
        };
        Ok(Self {
            scene,
            clip: options.clip.as_ref().map(bind).transpose()?,
            hand_set: hand_set.map(|file| file.bones(rig.skeleton())).transpose()?,
            base: recipe.base.base.name,
            stage,
            workspace: Workspace::with(Outputs { base: true, ..Outputs::default() }),
        })
    }

    /// The frame at a time of the clip.
    pub fn at(&mut self, time: f64) -> Result<Snapshot<'a>, Fault> {
        let Self { scene, clip, hand_set, base, stage, workspace } = self;
        let scene = *scene;
        let mut played = None;
        match clip {
            Some((index, motion)) => {
                let time = motion.sample_time(time);
                played = Some(PlayedClip { index: *index, name: &scene.clips[*index].name, time });
                let playing = stage.resume(motion).map_err(|error| Fault::in_file(&scene.name, error))?;
                playing.at(time, workspace).deform(&Cpu::serial());
            }
            None => stage.resting(workspace).deform(&Cpu::serial()),
        }
        if let Some(hand_set) = hand_set {
            let mut kinematics = stage.at_rest();
            for &mut (bone, motion) in hand_set {
                stage.set_steady(&mut kinematics, bone, motion);
            }
            let (pose, time) = (workspace.pose().clone(), workspace.time());
            let posed = stage.posed(&pose, &kinematics, time, workspace);
            posed.map_err(|error| Fault::in_file(&scene.name, error))?.deform(&Cpu::serial());
        }
        let (deformed, skinned) = (workspace.take_mesh(), workspace.take_base());
        let (world, kinematics) = (workspace.world().clone(), workspace.kinematics().clone());
        let diagnosis = stage.fold_over_free().map(|base| base.diagnose(&scene.rig, &world));
        // A scene without skin has nothing to tell.
        let diagnosis = diagnosis.filter(|found| found.smallest_determinant.is_finite());
        let (base, muscles) = (*base, stage.muscles());
        let hierarchy = stage.hierarchy().clone();
        let centroids = scene.rig.skeleton().bones().map(|bone| stage.centroid(bone)).collect();
        let snapshot = Snapshot {
            scene,
            clip: played,
            base,
            world,
            kinematics,
            hierarchy,
            centroids,
            deformed,
            skinned,
            diagnosis,
            muscles,
        };
        snapshot.check_finite()?;
        Ok(snapshot)
    }

    /// How well muscles do, in words.
    pub fn muscle_findings(&self) -> Vec<String> {
        let skeleton = self.scene.rig.skeleton();
        let words = |muscle: &MuscleReport| {
            let MuscleReport { bone, samples, contraction_residual, .. } = *muscle;
            let mut words = format!("muscle of {}: {samples} vortices", quoted(skeleton.name(bone)));
            if contraction_residual > 0.0 {
                words += &format!("; they reproduce all but {:.0} % of its contraction", 100.0 * contraction_residual);
            }
            words
        };
        self.stage.muscles().iter().map(words).collect()
    }
}

impl<'a> Snapshot<'a> {
    /// Files may scale a character beyond what numbers hold; such a frame is refused, not written with gaps.
    fn check_finite(&self) -> Result<(), Fault> {
        let refuse = |what: String| {
            let remedy = "look for extreme scales or translations on the nodes above it";
            Err(Fault::in_file(&self.scene.name, format!("{what}: its position is too large to write; {remedy}")))
        };
        let skeleton = self.scene.rig.skeleton();
        if let Some(bone) = skeleton.bones().find(|&bone| !self.world.world_from_bone(bone).is_finite()) {
            return refuse(format!("node {} {}", skeleton.node(bone), quoted(skeleton.name(bone))));
        }
        for (part, primitive) in self.parts().iter().flat_map(|part| part.primitives.iter().map(move |p| (part, p))) {
            let finite = |mesh: &DeformedMesh, vertex: usize| {
                mesh.positions[vertex].is_finite() && mesh.normals[vertex].is_finite()
            };
            let mut vertices = primitive.vertices.clone();
            if let Some(vertex) = vertices.find(|&v| !(finite(&self.deformed, v) && finite(&self.skinned, v))) {
                let vertex = vertex - primitive.vertices.start;
                return refuse(format!("mesh node {} {}, vertex {vertex}", part.node, quoted(&part.name)));
            }
        }
        Ok(())
    }

    /// How well steps do, in words.
    pub fn findings(&self) -> Option<String> {
        let Diagnosis { smallest_determinant, error, steps, steps_needed } = self.diagnosis?;
        let folds = if smallest_determinant > 0.0 { "nothing folds over" } else { "something folds over" };
        Some(format!(
            "fold-over-free: {steps:.1} steps, the bend needs {steps_needed:.1}; twice as many would move the \
             skin by at most {:.3} % of the size; {folds} (smallest determinant {smallest_determinant:.3})",
            100.0 * error
        ))
    }

    /// Parts in node order.
    pub fn parts(&self) -> Vec<&'a Part> {
        crate::obj::parts(&self.scene.rig)
    }

    /// World positions of a primitive in one of the two meshes.
    pub fn positions<'m>(
        &self,
        mesh: &'m DeformedMesh,
        part: &Part,
        primitive: &Primitive,
    ) -> impl Iterator<Item = [f64; 3]> + use<'m> {
        let origin = mesh.origins.get(part.character).copied().unwrap_or_default();
        mesh.positions[primitive.vertices.clone()].iter().map(move |p| (origin + p.as_dvec3()).to_array())
    }

    /// Triangles of a primitive, by the primitive's own vertices.
    pub fn triangles(&self, primitive: &Primitive) -> impl Iterator<Item = [u32; 3]> + use<'a> {
        let first = u32::try_from(primitive.vertices.start).unwrap_or(0);
        self.scene.rig.triangles()[primitive.triangles.clone()].iter().map(move |corners| corners.map(|c| c - first))
    }
}
