//! A playing character: a rig, what a recipe makes of it, the motion that drives it, and memory for its frames, kept
//! together so that what does not belong together cannot be combined.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let zoo = sinew_zoo::build("calf")?;
//! # let (raw, clips) = (zoo.raw, zoo.clips);
//! use sinew::{MotionSettings, RecipeFile, Rig, Stage, Workspace, presets};
//! use std::sync::Arc;
//!
//! let (rig, warnings) = Rig::build(&raw)?;
//! let rig = Arc::new(rig);
//! let recipe = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
//! let stage = Stage::new(&rig, recipe.solve(&rig, &clips)?.recipe(0))?;
//! let playing = stage.motion(&clips[0], &MotionSettings::default())?;
//! let mut workspace = Workspace::default();
//! let mesh = playing.frame(0.4, &mut workspace);
//! assert_eq!(mesh.positions.len(), stage.rig().vertex_count());
//! # assert!(warnings.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! A stage follows its recipe while it plays: a motion made before is taken up again unless filters have changed.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let zoo = sinew_zoo::build("calf")?;
//! # let (raw, clips) = (zoo.raw, zoo.clips);
//! # use sinew::{MotionSettings, RecipeFile, Rig, Stage, Workspace, presets};
//! # use std::sync::Arc;
//! # let (rig, _) = Rig::build(&raw)?;
//! # let recipe = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
//! let mut recipe = recipe.recipe().without_strength();
//! let mut stage = Stage::new(&Arc::new(rig), &recipe)?;
//! let settings = MotionSettings::default();
//! let mut motion = Arc::clone(stage.motion(&clips[0], &settings)?.motion());
//! let mut workspace = Workspace::default();
//! for gain in [0.5, 1.0, 1.5] {
//!     recipe.effects[0].gain = gain;
//!     if stage.retune(&recipe)?.motion {
//!         motion = Arc::clone(stage.motion(&clips[0], &settings)?.motion());
//!     }
//!     let mesh = stage.resume(&motion)?.frame(0.4, &mut workspace);
//! #   assert_eq!(mesh.positions.len(), stage.rig().vertex_count());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | door | what drives the character |
//! |---|---|
//! | [`Stage::motion`] | a clip: any time, any order, the same bits |
//! | [`Stage::live`] | poses that arrive one by one, from an engine or a controller |
//! | [`Stage::posed`] | one pose, with the motion of its bones set by hand |
//! | [`Stage::resting`] | nothing: the nodes' default transforms |

use crate::anatomy::Role;
use crate::backend::{Backend, FrameMaker};
use crate::clip::Clip;
use crate::correct::{MuscleReport, SwingState, SwingWork, Swung};
use crate::gradients::Slopes;
use crate::graph::{
    Change, Cpu, CrowdArrays, CrowdSample, DeformedMesh, DeformedRows, EngineSkinning, FittedCone, Frame,
    FrameIndependentGraph, FramePlan, GraphError, Maps, NoCrowd, NoPlan, Outputs, Results, RigArrays, Scratch, adopt,
    bones_called, evaluate,
};
use crate::hierarchy::Hierarchy;
use crate::maps::PointMap;
use crate::motion::{
    BoneMotion, Felt, FilteredSignal, Kinematics, LiveKinematics, Motion, MotionError, MotionReport, MotionSettings,
    Puppet, Whole, felt,
};
use crate::pose::{Pose, WorldPose};
use crate::recipe::{Planted, Recipe};
use crate::rig::{Rig, VertexMap};
use crate::skeleton::BoneId;
use crate::stance::{Contact, Spans, Stance, Standing};
use glam::DVec3;
use std::sync::Arc;

/// A rig with what a recipe makes of it.
#[derive(Debug)]
pub struct Stage {
    rig: Arc<Rig>,
    recipe: Recipe,
    /// Maps painted since, which stand before the rig's own.
    painted: Vec<VertexMap>,
    graph: FrameIndependentGraph,
    /// Whether it has derivatives that no recipe gives.
    has_slopes: bool,
    is_metered: bool,
    /// Makes its frames in place of the processor.
    maker: Option<Box<dyn FrameMaker>>,
}

/// What a change of the recipe or of a map has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Retuned {
    /// Filters have changed, or what stands is asked for: motions made before no longer fit and are to be made again ([`Stage::motion`]). Without,
    /// they are taken up as they are ([`Stage::resume`]).
    pub motion: bool,
    /// More than numbers has changed, and the recipe was bound anew: what it took was more than a moment.
    pub rebuilt: bool,
}

/// A motion that was made for another rig, or for a recipe that filters other signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignMotion {
    /// Made for another rig, or for another tree of its bones.
    #[error("the motion was made for another rig: make it again with this stage")]
    Rig,
    /// Made for other skin, or for a recipe that does not ask what stands on the ground.
    #[error("the motion does not say what stands on the ground: make it again with this stage")]
    Stance,
    /// Made for other filters.
    #[error("the motion was made for a recipe with other filters: make it again with this stage")]
    Filters,
}

/// A pose, or the motion of its bones, that does not fit the rig.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pose has {found} {what}, but the rig has {wanted}: start from Rig::rest_pose and Stage::at_rest")]
pub struct PoseError {
    /// What there are too many or too few of.
    pub what: &'static str,
    /// How many there are.
    pub found: usize,
    /// How many there should be.
    pub wanted: usize,
}

impl Stage {
    /// Binds a recipe to a rig.
    pub fn new(rig: &Arc<Rig>, recipe: &Recipe) -> Result<Self, GraphError> {
        refuse_unsolved(recipe)?;
        let graph = FrameIndependentGraph::build(Maps { rig, painted: &[] }, recipe)?;
        let (rig, recipe) = (Arc::clone(rig), recipe.clone());
        Ok(Self { rig, recipe, painted: Vec::new(), graph, has_slopes: false, is_metered: false, maker: None })
    }

    /// The same with exact derivatives in place of fitted ones, for exact normals of a rig made in code. They belong to
    /// the recipe as it is: once it is retuned, derivatives are fitted again.
    pub fn with_slopes(self, slopes: &impl Slopes) -> Self {
        Self { graph: self.graph.with_slopes(&self.rig, slopes), has_slopes: true, ..self }
    }

    /// The same, measuring the volume of every segment at every frame ([`crate::correct::SegmentVolume`]), of the
    /// result and of the base where it is asked for.
    pub fn metered(self) -> Self {
        Self { graph: self.graph.metered(&self.rig), is_metered: true, ..self }
    }

    /// The same with frames made by somebody else, as far as he can make them. Once the stage is retuned or repainted, the
    /// processor makes them again.
    pub fn made_by(self, backend: &dyn Backend) -> Self {
        Self { maker: backend.take(&self), ..self }
    }

    /// Follows another recipe, to the bit as if the stage had been made by it. Where only numbers differ (amounts, gains,
    /// those of bones, limits, filters, stiffnesses) everything is kept that does not depend on them, and nothing is
    /// allocated: a slider may move sixty times a second. On an error the stage is as it was.
    pub fn retune(&mut self, recipe: &Recipe) -> Result<Retuned, GraphError> {
        refuse_unsolved(recipe)?;
        self.maker = None;
        let change = Change { held: &self.recipe, wanted: recipe, repainted: None };
        if !self.has_slopes
            && let Some(motion) = self.graph.retune(Maps { rig: &self.rig, painted: &self.painted }, &change)?
        {
            adopt(&mut self.recipe, recipe);
            return Ok(Retuned { motion, rebuilt: false });
        }
        let retuned = self.rebuild(recipe)?;
        self.recipe = recipe.clone();
        Ok(retuned)
    }

    /// Paints a map: other values for one that the rig has, or a new one. What reads it follows as by
    /// [`Stage::retune`]; the rig's own map stays as it is. On an error the stage is as it was.
    pub fn repaint(&mut self, name: &str, map: PointMap) -> Result<Retuned, GraphError> {
        self.maker = None;
        let mut map = map.into_vertex_map(name);
        let (found, wanted) = (map.values.len(), self.rig.rows().len());
        if found != wanted {
            return Err(GraphError::MapSize { name: map.name, found, wanted });
        }
        let known = self.painted.iter().position(|painted| painted.name == name);
        match known {
            Some(place) => std::mem::swap(&mut self.painted[place], &mut map),
            None => {
                self.painted.push(std::mem::replace(&mut map, VertexMap { name: String::new(), values: Vec::new() }))
            }
        }
        let retuned = self.follow_paint(name);
        if retuned.is_err() {
            match known {
                Some(place) => self.painted[place] = map,
                None => _ = self.painted.pop(),
            }
        }
        retuned
    }

    fn follow_paint(&mut self, name: &str) -> Result<Retuned, GraphError> {
        let change = Change { held: &self.recipe, wanted: &self.recipe, repainted: Some(name) };
        let maps = Maps { rig: &self.rig, painted: &self.painted };
        if !self.has_slopes
            && let Some(motion) = self.graph.retune(maps, &change)?
        {
            return Ok(Retuned { motion, rebuilt: false });
        }
        let recipe = self.recipe.clone();
        self.rebuild(&recipe)
    }

    /// Binds a recipe anew, to the maps there are.
    fn rebuild(&mut self, recipe: &Recipe) -> Result<Retuned, GraphError> {
        let graph = FrameIndependentGraph::build(Maps { rig: &self.rig, painted: &self.painted }, recipe)?;
        let motion = graph.filtered_signals() != self.graph.filtered_signals()
            || (recipe.planted != Planted::None && !self.plants());
        self.graph = if self.is_metered { graph.metered(&self.rig) } else { graph };
        self.has_slopes = false;
        Ok(Retuned { motion, rebuilt: true })
    }

    /// What does not change from frame to frame, as plain data for another backend; or why frames cannot be planned.
    pub fn arrays(&self) -> Result<RigArrays<'_>, NoPlan> {
        self.check_plan()?;
        Ok(RigArrays::new(&self.rig, &self.graph))
    }

    /// What does not change over the clips of a crowd, as plain data for another backend; or why there can be none.
    pub fn crowd(&self) -> Result<CrowdArrays<'_>, NoCrowd> {
        self.graph.why_no_crowd(&self.rig, &self.recipe).map_or(Ok(()), Err)?;
        Ok(CrowdArrays::new(&self.rig, &self.graph))
    }

    fn check_plan(&self) -> Result<(), NoPlan> {
        self.graph.why_no_plan().map_or(Ok(()), |reason| Err(reason.of(&self.recipe)))
    }

    /// The maps painted since the rig was made ([`Stage::repaint`]).
    pub fn painted(&self) -> &[VertexMap] {
        &self.painted
    }

    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// What it was made by.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The tree its effects go by.
    pub fn hierarchy(&self) -> &Hierarchy {
        self.graph.tree().hierarchy()
    }

    /// Centroid of what a bone moves by that tree, in the bone's frame; `None` where it moves no skin.
    pub fn centroid(&self, bone: BoneId) -> Option<DVec3> {
        self.graph.tree().centroid(bone)
    }

    /// Whether its motions say what stands, be it for effects that come later.
    fn plants(&self) -> bool {
        self.recipe.planted != Planted::None
    }

    fn puppet(&self) -> Puppet<'_> {
        Puppet { hierarchy: Some(self.hierarchy()), ..self.rig.puppet() }
    }

    /// Binds a clip.
    pub fn motion(&self, clip: &Clip, settings: &MotionSettings) -> Result<Playing<'_>, MotionError> {
        self.motion_like(clip, settings, None)
    }

    /// The same where the clip was bound before, with these settings, by a stage of the same rig: it stands as it stood.
    pub(crate) fn motion_like(
        &self,
        clip: &Clip,
        settings: &MotionSettings,
        like: Option<&Arc<Motion>>,
    ) -> Result<Playing<'_>, MotionError> {
        let motion = Motion::new(self.puppet(), clip, settings, self.filtered_signals())?;
        let (start, end, _) = motion.span();
        let needed = self.graph.swings().map(|(_, _, swing)| swing.bytes(end - start)).sum();
        if needed > settings.memory_limit as u128 {
            return Err(MotionError::SwingMemory { clip: clip.name.clone(), needed, limit: settings.memory_limit });
        }
        let known = like.and_then(|like| like.stance()).filter(|stance| stance.fits(&self.rig));
        let stance = match (self.plants(), known) {
            (false, _) => None,
            (true, Some(stance)) => Some(stance.clone()),
            (true, None) => {
                let told = told_contacts(&self.rig, clip, settings)?;
                Some(Stance::new(&self.rig, &motion, &told))
            }
        };
        Ok(Playing { stage: self, motion: Arc::new(motion.standing(stance)) })
    }

    /// Takes up a motion that was made before, by this stage as it was or by another one.
    pub fn resume(&self, motion: &Arc<Motion>) -> Result<Playing<'_>, ForeignMotion> {
        if !motion.fits(self.puppet()) {
            return Err(ForeignMotion::Rig);
        }
        if motion.filtered() != self.filtered_signals() {
            return Err(ForeignMotion::Filters);
        }
        if self.plants() && !motion.stance().is_some_and(|stance| stance.fits(&self.rig)) {
            return Err(ForeignMotion::Stance);
        }
        Ok(Playing { stage: self, motion: Arc::clone(motion) })
    }

    /// To be driven by poses that arrive one by one.
    pub fn live(&self) -> Live<'_> {
        let history = LiveKinematics::new(self.rig.skeleton(), self.filtered_signals());
        let swings = self.graph.swings().map(|_| SwingState::default()).collect();
        Live { stage: self, history: history.following(self.hierarchy()), swings, work: LiveWork::default() }
    }

    /// Motion of no bone, to be filled in for [`Stage::posed`].
    pub fn at_rest(&self) -> Kinematics {
        Kinematics::at_rest(self.rig.skeleton().len(), self.filtered_signals().len())
    }

    /// Lets a bone move as if it had done so for ever: every filter has settled.
    pub fn set_steady(&self, kinematics: &mut Kinematics, bone: BoneId, motion: BoneMotion) {
        kinematics.set_steady(bone, motion, self.filtered_signals());
    }

    /// One pose with the motion of its bones set by hand; `time` is for what is keyed.
    pub fn posed<'w>(
        &'w self,
        pose: &Pose,
        kinematics: &Kinematics,
        time: f64,
        workspace: &'w mut Workspace,
    ) -> Result<Posed<'w>, PoseError> {
        self.check(pose)?;
        let bones = self.rig.skeleton().len();
        let fits = |what, found, wanted| if found == wanted { Ok(()) } else { Err(PoseError { what, found, wanted }) };
        fits("moving bones", kinematics.bones.len(), bones)?;
        fits("filtered signals", kinematics.filtered.len(), self.filtered_signals().len())?;
        kinematics.filtered.iter().try_for_each(|signal| fits("filtered bones", signal.len(), bones))?;
        workspace.pose.clone_from(pose);
        workspace.world.compose(self.rig.skeleton(), pose);
        workspace.kinematics.clone_from(kinematics);
        workspace.standing.clear();
        workspace.swung.clear();
        workspace.cycle = None;
        workspace.time = time;
        Ok(Posed { stage: self, workspace })
    }

    /// The nodes' default transforms, nothing moving.
    pub fn resting<'w>(&'w self, workspace: &'w mut Workspace) -> Posed<'w> {
        self.rig.reset_pose(&mut workspace.pose);
        workspace.world.compose(self.rig.skeleton(), &workspace.pose);
        workspace.kinematics.reset(self.rig.skeleton().len(), self.filtered_signals().len());
        workspace.standing.clear();
        workspace.swung.clear();
        workspace.cycle = None;
        workspace.time = 0.0;
        Posed { stage: self, workspace }
    }

    fn check(&self, pose: &Pose) -> Result<(), PoseError> {
        let (found, wanted) = (pose.locals.len(), self.rig.skeleton().len());
        if found == wanted { Ok(()) } else { Err(PoseError { what: "bones", found, wanted }) }
    }

    /// The signals that [`Kinematics::filtered`] holds, in its order.
    pub fn filtered_signals(&self) -> &[FilteredSignal] {
        self.graph.filtered_signals()
    }

    /// The base `fold-over-free`, where it is the recipe's.
    pub fn fold_over_free(&self) -> Option<&crate::kinodynamic::FoldOverFree> {
        self.graph.fold_over_free()
    }

    /// The base that places point by point, where it is the recipe's.
    pub fn pointwise(&self) -> Option<&crate::base::Pointwise> {
        self.graph.pointwise()
    }

    /// The muscles of its corrections: those named, or those found in fleshy places.
    pub fn muscles(&self) -> Vec<MuscleReport> {
        self.graph.muscles()
    }

    /// The roles (`@tail`) that the recipe names and this character has no part of: what is said of them does nothing.
    pub fn absent_roles(&self) -> Vec<Role> {
        self.recipe.absent_roles(&self.rig)
    }

    /// Slots of control points whose piece no effect bends, ascending.
    pub fn rigid_points(&self) -> Vec<usize> {
        let mut slots: Vec<usize> = self.graph.rigid_slots().collect();
        slots.sort_unstable();
        slots
    }

    /// The cones its effects are filtered by, with how well they fit, by effect.
    pub fn cones(&self) -> impl Iterator<Item = (&'static str, &FittedCone)> {
        self.graph.cones()
    }
}

/// The bones that a clip's settings say stand, with when.
fn told_contacts(rig: &Rig, clip: &Clip, settings: &MotionSettings) -> Result<Vec<(BoneId, Spans)>, MotionError> {
    let mut told: Vec<(BoneId, Spans)> = Vec::new();
    for (pattern, spans) in &settings.contacts {
        let bones = bones_called(rig, pattern, "contacts").map_err(|error| {
            let nearest = match error {
                GraphError::UnknownBone { nearest, .. } | GraphError::UnknownRole { nearest, .. } => nearest,
                _ => None,
            };
            MotionError::NoSuchContact { clip: clip.name.clone(), pattern: pattern.clone(), nearest }
        })?;
        for bone in bones {
            told.retain(|(known, _)| *known != bone);
            told.push((bone, spans.clone()));
        }
    }
    Ok(told)
}

/// Strengths and gains by clip depend on the clips, which a stage does not know: they must be one gain by now.
fn refuse_unsolved(recipe: &Recipe) -> Result<(), GraphError> {
    if recipe.strength.is_some() {
        return Err(GraphError::Unsolved { effect: None });
    }
    match recipe.effects.iter().find(|effect| effect.strength.is_some() || !effect.clips.is_empty()) {
        Some(spec) => Err(GraphError::Unsolved { effect: Some(spec.effect.name()) }),
        None => Ok(()),
    }
}

/// A clip played on a stage.
#[derive(Clone, Debug)]
pub struct Playing<'s> {
    stage: &'s Stage,
    motion: Arc<Motion>,
}

impl<'s> Playing<'s> {
    /// What it plays on.
    pub fn stage(&self) -> &'s Stage {
        self.stage
    }

    /// The clip as a function of time, to be taken up again after the stage has changed ([`Stage::resume`]).
    pub fn motion(&self) -> &Arc<Motion> {
        &self.motion
    }

    /// When its bones stand on the ground; empty where the recipe does not ask ([`crate::recipe::Planted`]).
    pub fn contacts(&self) -> &[Contact] {
        self.motion.stance().map_or(&[], Stance::contacts)
    }

    /// What was found about the clip.
    pub fn report(&self) -> &MotionReport {
        self.motion.report()
    }

    /// Poses the character at `time`, which is clamped to the clip, or wrapped into it where it loops.
    pub fn at<'w>(&'w self, time: f64, workspace: &'w mut Workspace) -> Posed<'w> {
        let rig = &self.stage.rig;
        let Workspace { pose, world, kinematics, standing, .. } = workspace;
        match self.motion.stance().filter(|_| self.stage.plants()) {
            Some(stance) => stance.at(self.motion.sample_time(time), standing),
            None => standing.clear(),
        }
        rig.reset_pose(pose);
        self.motion.pose(time, pose);
        world.compose(rig.skeleton(), pose);
        self.motion.kinematics(time, world, rig.skeleton(), kinematics);
        self.motion.fade(time, kinematics);
        workspace.time = self.motion.key_time(time);
        workspace.swung.clear();
        let (start, end, loops) = self.motion.span();
        workspace.cycle = loops.then_some((start, end - start));
        for (character, correction, swing) in self.stage.graph.swings() {
            swing.at(&self.motion, rig.skeleton(), time, workspace.swung.begin(character, correction));
        }
        Posed { stage: self.stage, workspace }
    }

    /// The frame at `time` on the caller's thread. Allocates only when `workspace` was last used for something smaller.
    pub fn frame<'w>(&self, time: f64, workspace: &'w mut Workspace) -> &'w DeformedMesh {
        self.at(time, workspace).deform(&Cpu::serial());
        workspace.mesh()
    }
}

/// A character driven by poses as they come. What it remembers can be cloned, to look ahead.
#[derive(Clone, Debug)]
pub struct Live<'s> {
    stage: &'s Stage,
    history: LiveKinematics,
    /// Of the skins that swing, in the graph's order.
    swings: Vec<SwingState>,
    work: LiveWork,
}

/// Memory of a driven character.
#[derive(Clone, Debug, Default)]
struct LiveWork {
    whole: Vec<Whole>,
    felt: Vec<Felt>,
    swing: SwingWork,
}

impl Live<'_> {
    /// Forgets everything: for a teleport or a cut. The next pose is a first one.
    pub fn reset(&mut self) {
        self.history.reset();
        self.swings.fill(SwingState::default());
    }

    /// Takes the pose `dt` seconds after the last one; `time` is for what is keyed.
    pub fn at<'w>(
        &'w mut self,
        pose: &Pose,
        dt: f64,
        time: f64,
        workspace: &'w mut Workspace,
    ) -> Result<Posed<'w>, PoseError> {
        let stage = self.stage;
        stage.check(pose)?;
        let skeleton = stage.rig.skeleton();
        workspace.pose.clone_from(pose);
        workspace.world.compose(skeleton, pose);
        self.history.push(skeleton, pose, &workspace.world, dt, &mut workspace.kinematics);
        let LiveWork { whole, felt: bones, swing: work } = &mut self.work;
        felt(stage.hierarchy(), &workspace.world, &workspace.kinematics.bones, whole, bones);
        workspace.swung.clear();
        workspace.cycle = None;
        for ((character, correction, swing), state) in stage.graph.swings().zip(&mut self.swings) {
            swing.follow(bones, dt, state, work);
            swing.read(state, workspace.swung.begin(character, correction));
        }
        workspace.standing.clear();
        workspace.time = time;
        Ok(Posed { stage, workspace })
    }
}

/// A character in a pose, ready to be deformed.
#[derive(Debug)]
pub struct Posed<'w> {
    stage: &'w Stage,
    workspace: &'w mut Workspace,
}

impl Posed<'_> {
    /// Computes what the workspace is asked for ([`Workspace::outputs`]).
    pub fn deform(&mut self, cpu: &Cpu<'_>) {
        let Self { stage, workspace } = self;
        let Workspace { outputs, pose, world, kinematics, standing, swung, cycle, time, scratch, mesh, base, engine } =
            workspace;
        let frame = Frame { rig: &stage.rig, pose, world, kinematics, time: *time, standing, swung, cycle: *cycle };
        let maker = stage.maker.as_ref().filter(|_| outputs.directions && stage.graph.why_no_plan().is_none());
        let make = |scratch: &mut Scratch, mesh: &mut DeformedMesh| {
            maker.is_some_and(|maker| maker.make(&crate::graph::plan(&stage.graph, &frame, cpu, scratch), mesh))
        };
        let alone = !outputs.base && !outputs.engine;
        if alone && make(scratch, mesh) {
            return;
        }
        evaluate(&stage.graph, &frame, cpu, *outputs, scratch, Results { mesh: &mut *mesh, base, engine });
        if !alone {
            make(scratch, mesh);
        }
    }

    /// As [`Posed::deform`], and leaves the result in rows: what a caller reads who keeps his own buffers in the rig's
    /// order, at the speed of the kernels alone.
    pub fn deform_rows(&mut self, cpu: &Cpu<'_>, out: &mut DeformedRows) {
        let Self { stage, workspace } = self;
        let Workspace { pose, world, kinematics, standing, swung, cycle, time, scratch, .. } = workspace;
        let frame = Frame { rig: &stage.rig, pose, world, kinematics, time: *time, standing, swung, cycle: *cycle };
        crate::graph::evaluate_rows(&stage.graph, &frame, cpu, scratch, out);
    }

    /// The frame as plain data, for a backend that has the stage's [`RigArrays`]; fails where those do.
    pub fn plan(&mut self, cpu: &Cpu<'_>) -> Result<FramePlan<'_>, NoPlan> {
        let Self { stage, workspace } = self;
        stage.check_plan()?;
        let Workspace { pose, world, kinematics, standing, swung, cycle, time, scratch, .. } = &mut **workspace;
        let frame = Frame { rig: &stage.rig, pose, world, kinematics, time: *time, standing, swung, cycle: *cycle };
        Ok(crate::graph::plan(&stage.graph, &frame, cpu, scratch))
    }

    /// The frame as a crowd samples it; fails where the stage has no [`Stage::crowd`].
    pub fn sample(&mut self, cpu: &Cpu<'_>, out: &mut CrowdSample) -> Result<(), NoCrowd> {
        let Self { stage, workspace } = self;
        stage.graph.why_no_crowd(&stage.rig, &stage.recipe).map_or(Ok(()), Err)?;
        let Workspace { pose, world, kinematics, standing, swung, cycle, time, scratch, .. } = &mut **workspace;
        let frame = Frame { rig: &stage.rig, pose, world, kinematics, time: *time, standing, swung, cycle: *cycle };
        crate::graph::sample(&stage.graph, &frame, cpu, scratch, out);
        Ok(())
    }

    /// World transforms of the bones.
    pub fn world(&self) -> &WorldPose {
        &self.workspace.world
    }

    /// How the bones move.
    pub fn kinematics(&self) -> &Kinematics {
        &self.workspace.kinematics
    }
}

/// Memory for frames, and the last one. One per thread; any stage can use it.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// What frames are to give.
    pub outputs: Outputs,
    pose: Pose,
    world: WorldPose,
    kinematics: Kinematics,
    standing: Standing,
    swung: Swung,
    /// Start and period of a loop.
    cycle: Option<(f64, f64)>,
    time: f64,
    scratch: Scratch,
    mesh: DeformedMesh,
    base: DeformedMesh,
    engine: EngineSkinning,
}

impl Workspace {
    /// For frames that give more, or less, than the result.
    pub fn with(outputs: Outputs) -> Self {
        Self { outputs, ..Self::default() }
    }

    /// The result.
    pub fn mesh(&self) -> &DeformedMesh {
        &self.mesh
    }

    /// The result, to be kept.
    pub fn take_mesh(&mut self) -> DeformedMesh {
        std::mem::take(&mut self.mesh)
    }

    /// The base alone; where the recipe adds nothing, what the result is. Empty unless asked for.
    pub fn base(&self) -> &DeformedMesh {
        &self.base
    }

    /// The base, to be kept.
    pub fn take_base(&mut self) -> DeformedMesh {
        std::mem::take(&mut self.base)
    }

    /// What an engine's own skinning makes of the frame. Empty unless asked for.
    pub fn engine(&self) -> &EngineSkinning {
        &self.engine
    }

    /// Local transforms and morph weights.
    pub fn pose(&self) -> &Pose {
        &self.pose
    }

    /// World transforms of the bones.
    pub fn world(&self) -> &WorldPose {
        &self.world
    }

    /// How the bones move.
    pub fn kinematics(&self) -> &Kinematics {
        &self.kinematics
    }

    /// Time in the clip.
    pub fn time(&self) -> f64 {
        self.time
    }
}
