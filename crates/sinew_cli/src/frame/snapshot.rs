//! One frame of a scene: the clip sampled, the graph evaluated with and without effects.

use super::motion_file::MotionFile;
use crate::args::FrameArgs;
use crate::fault::Fault;
use crate::load::Scene;
use crate::played::{base_name, base_spec, find_clip, looping_of};
use crate::recipe::LoadedRecipe;
use crate::text::quoted;
use sinew::correct::MuscleReport;
use sinew::kinodynamic::Diagnosis;
use sinew::rig::{Part, Primitive};
use sinew::{Cpu, DeformedMesh, Kinematics, Outputs, Stage, Workspace, WorldPose};

/// One frame of a scene, as every format writes it. All of it is finite.
pub(super) struct Snapshot<'a> {
    pub scene: &'a Scene,
    pub clip: Option<PlayedClip<'a>>,
    pub base: &'static str,
    pub world: WorldPose,
    pub kinematics: Kinematics,
    /// With all effects.
    pub deformed: DeformedMesh,
    /// With none.
    pub skinned: DeformedMesh,
    /// How well the base `fold-over-free` stands, where it is the recipe's.
    pub diagnosis: Option<Diagnosis>,
    pub muscles: Vec<MuscleReport>,
}

/// The clip a frame is of.
pub(super) struct PlayedClip<'a> {
    pub index: usize,
    pub name: &'a str,
    /// Time sampled, in seconds.
    pub time: f64,
}

impl<'a> Snapshot<'a> {
    pub fn take(
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

        let mut workspace = Workspace::with(Outputs { base: true, ..Outputs::default() });
        let mut played = None;
        if let Some(wanted) = &options.clip {
            let index = find_clip(scene, wanted)?;
            let clip = &scene.clips[index];
            let mut settings = asked.motion(clip);
            if let Some(looping) = options.looping {
                settings.looping = looping_of(looping);
            }
            let playing = stage.motion(clip, &settings).map_err(|error| Fault::in_file(&culprit, error))?;
            let time = playing.motion().sample_time(options.time.unwrap_or(0.0));
            playing.frame(time, &mut workspace);
            played = Some(PlayedClip { index, name: &clip.name, time });
        } else {
            stage.resting(&mut workspace).deform(&Cpu::serial());
        }
        if let Some(hand_set) = hand_set {
            let mut kinematics = stage.at_rest();
            for (bone, motion) in hand_set.bones(rig.skeleton())? {
                stage.set_steady(&mut kinematics, bone, motion);
            }
            let (pose, time) = (workspace.pose().clone(), workspace.time());
            let posed = stage.posed(&pose, &kinematics, time, &mut workspace);
            posed.map_err(|error| Fault::in_file(&culprit, error))?.deform(&Cpu::serial());
        }
        let (deformed, skinned) = (workspace.take_mesh(), workspace.take_base());
        let (world, kinematics) = (workspace.world().clone(), workspace.kinematics().clone());
        let base = base_name(&recipe.base);
        let diagnosis = stage.fold_over_free().map(|base| base.diagnose(rig, &world));
        // A scene without skin has nothing to tell.
        let diagnosis = diagnosis.filter(|found| found.smallest_determinant.is_finite());
        let muscles = stage.muscles();
        let snapshot = Self { scene, clip: played, base, world, kinematics, deformed, skinned, diagnosis, muscles };
        snapshot.check_finite()?;
        Ok(snapshot)
    }

    /// Files may scale a character beyond what numbers hold; such a frame is refused, not written with gaps.
    fn check_finite(&self) -> Result<(), Fault> {
        let refuse = |what: String| {
            let remedy = "look for extreme scales or translations on the nodes above it";
            Err(Fault::in_file(&self.scene.name, format!("{what}: its position is too large to be told; {remedy}")))
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

    /// How well steps and muscles do, in words.
    pub fn findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(Diagnosis { smallest_determinant, error, steps, steps_needed }) = self.diagnosis {
            let folds = if smallest_determinant > 0.0 { "nothing folds over" } else { "something folds over" };
            found.push(format!(
                "fold-over-free: {steps:.1} steps, where the bend asks for {steps_needed:.1}; twice as many would move the \
                 skin by at most {:.3} % of the size; {folds} (smallest determinant {smallest_determinant:.3})",
                100.0 * error
            ));
        }
        let skeleton = self.scene.rig.skeleton();
        for MuscleReport { bone, samples, contraction_residual } in &self.muscles {
            let mut words = format!("muscle of {}: {samples} vortices", quoted(skeleton.name(*bone)));
            if *contraction_residual > 0.0 {
                words += &format!("; they miss {:.0} % of its contraction", 100.0 * contraction_residual);
            }
            found.push(words);
        }
        found
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
