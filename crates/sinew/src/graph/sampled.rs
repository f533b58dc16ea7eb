//! What a crowd is made of, as plain data: what clips do not change, and what of a frame they do, from which frames in
//! between are interpolated elsewhere and the terms of effects made there ([`crate::displace::TermMaker`]).
//!
//! Samples hold what drives terms (the motion of bones), not terms: indicators, limits and directions have corners where
//! the motion is smooth.

use super::evaluate::{Cpu, Frame, Scratch};
use super::plan::{Settling, settle};
use super::rig_arrays::{NoPlan, RigArrays};
use super::{FrameIndependentGraph, NormalsPlan};
use crate::base::Base;
use crate::displace::{TermKind, TermMaker};
use crate::recipe::Recipe;
use crate::rig::Rig;
use crate::simd::LANES;
use glam::{DAffine3, DVec3, Mat3, Vec3};

/// Why no crowd can be made of a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCrowd {
    /// Its frames have no plan.
    #[error(transparent)]
    Plan(#[from] NoPlan),
    /// A crowd is of one character.
    #[error("the file holds {0} characters; a crowd is made of one")]
    Characters(usize),
    /// What works on nodes.
    #[error("{0} moves nodes of the skin one by one, which a crowd does not")]
    Nodes(String),
    /// Parameters over time.
    #[error("parameters of the effect \"{0}\" are keyed; of a crowd, only its gain may be")]
    Keyed(&'static str),
    /// Normals that turn with what settles.
    #[error("normals = \"engine\" do not turn with pieces that settle in a crowd; leave it out, or use \"faces\"")]
    Directions,
    /// Normals by derivatives.
    #[error("normals = \"exact\" are not made for crowds; leave it out, or use \"faces\"")]
    ExactNormals,
    /// Morph targets at work.
    #[error("a clip drives morph targets of the file, which a crowd does not")]
    Morphs,
}

/// What the clips of a crowd do not change.
#[derive(Clone, Debug)]
pub struct CrowdArrays<'a> {
    /// What any frame reads.
    pub rig: RigArrays<'a>,
    /// All effects.
    pub effects: Vec<CrowdEffect>,
    /// Bones, parents first, with those they follow.
    pub bones: Vec<(u32, Option<u32>)>,
    /// Slots of points that the skin as a whole has a say in, ascending.
    pub settling: Vec<u32>,
    /// Whether the base blends dual quaternions.
    pub is_dual: bool,
}

/// An effect of a crowd.
#[derive(Clone, Debug)]
pub struct CrowdEffect {
    /// What it makes terms by.
    pub maker: TermMaker,
    /// Their kind.
    pub kind: TermKind,
    /// The size that terms go by.
    pub size: f32,
    /// Per bone: gains of what its translation and its rotation cause, and whether squash acts about the centroid.
    pub bones: Vec<(f32, f32, bool)>,
}

/// A frame as a crowd samples it.
#[derive(Clone, Debug, Default)]
pub struct CrowdSample {
    /// What everything else is relative to.
    pub origin: DVec3,
    /// Skinning transforms.
    pub palette: Vec<DAffine3>,
    /// Dual quaternions, where the base blends them.
    pub duals: Vec<[f32; 8]>,
    /// What stretches them.
    pub stretches: Vec<[f32; 9]>,
    /// Whether morph targets of the file are at work.
    pub is_morphed: bool,
    /// What effects read.
    pub effects: Vec<EffectSample>,
    /// How far each point of [`CrowdArrays::settling`] is from where the base has it, and whether the skin as a whole has
    /// moved it.
    pub settled: Vec<([f32; 3], bool)>,
}

/// What an effect reads at a frame.
#[derive(Clone, Debug, Default)]
pub struct EffectSample {
    /// Factor on all gains.
    pub gain: f32,
    /// Rotation of the cone's bone.
    pub cone_turn: Mat3,
    /// Per bone.
    pub bones: Vec<BoneSample>,
}

/// What an effect reads of a bone.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoneSample {
    /// p_i.
    pub joint_origin: Vec3,
    /// c_i.
    pub centroid: Vec3,
    /// v, ω, a and α, filtered as the effect asks; 0 where it does not read them.
    pub signals: [Vec3; 4],
}

impl FrameIndependentGraph {
    /// Whether a crowd can be made of it, or what stands in the way.
    pub(crate) fn why_no_crowd(&self, rig: &Rig, recipe: &Recipe) -> Option<NoCrowd> {
        if let Some(reason) = self.why_no_plan() {
            return Some(reason.of(recipe).into());
        }
        if rig.characters().len() != 1 {
            return Some(NoCrowd::Characters(rig.characters().len()));
        }
        if matches!(self.base, Base::Pointwise(_)) {
            return Some(NoCrowd::Nodes(format!("the base \"{}\"", recipe.base.base.name)));
        }
        if !self.corrections.is_empty() {
            return Some(NoCrowd::Nodes("a correction or a surface edit".to_owned()));
        }
        if let Some(effect) = self.effects.iter().find(|effect| !effect.keys.is_empty()) {
            return Some(NoCrowd::Keyed(effect.name));
        }
        if matches!(self.normals, NormalsPlan::Exact { .. }) {
            return Some(NoCrowd::ExactNormals);
        }
        let turns = self.settle.is_some() && !matches!(self.normals, NormalsPlan::Faces(_));
        turns.then_some(NoCrowd::Directions)
    }
}

impl<'a> CrowdArrays<'a> {
    pub(crate) fn new(rig: &'a Rig, graph: &'a FrameIndependentGraph) -> Self {
        let size = rig.characters()[0].size as f32;
        let effects = graph.effects.iter().map(|effect| {
            let (maker, kind) = effect.node.maker();
            let bones = effect.bone_gains.iter();
            let bones = bones.map(|gain| (gain.translation as f32, gain.rotation as f32, gain.about_point));
            CrowdEffect { maker, kind, size: if effect.raw { 1.0 } else { size }, bones: bones.collect() }
        });
        let hierarchy = graph.tree.hierarchy();
        let bone = |&bone: &crate::BoneId| (bone.index() as u32, hierarchy.parent(bone).map(|p| p.index() as u32));
        let rows = graph.settle.as_ref().map_or(&[][..], |settle| settle.rows());
        let slots = |&row: &u32| (0..rig.rows()[row as usize].filled).map(move |lane| row * LANES as u32 + lane);
        Self {
            rig: RigArrays::new(rig, graph),
            effects: effects.collect(),
            bones: hierarchy.order().iter().map(bone).collect(),
            settling: rows.iter().flat_map(slots).collect(),
            is_dual: graph.base.antipodality().is_some(),
        }
    }
}

/// Samples a frame of a graph of which a crowd can be made.
pub(crate) fn sample(
    graph: &FrameIndependentGraph,
    frame: &Frame<'_>,
    cpu: &Cpu<'_>,
    scratch: &mut Scratch,
    out: &mut CrowdSample,
) {
    let rig = frame.rig;
    out.origin = rig.origin(0, frame.world);
    let origins = [out.origin];
    scratch.plan.make(graph, frame, &origins);
    let plan = &scratch.plan;
    out.is_morphed = plan.morphed;
    out.palette.clear();
    out.palette.extend_from_slice(plan.palette.world());
    out.duals.clear();
    out.stretches.clear();
    if graph.base.antipodality().is_some() {
        out.duals.extend_from_slice(plan.dual.duals());
        out.stretches.extend_from_slice(plan.dual.all_stretches());
    }
    out.effects.resize_with(graph.effects.len(), EffectSample::default);
    for ((effect, moving), out) in graph.effects.iter().zip(&plan.moving).zip(&mut out.effects) {
        (out.gain, out.cone_turn) = (moving.gain, moving.cone_turn);
        out.bones.clear();
        out.bones.extend(rig.skeleton().bones().map(|bone| {
            let [joint_origin, centroid] = effect.places(frame, origins[0], &graph.stretches, bone);
            BoneSample { joint_origin, centroid, signals: effect.signals(frame, bone) }
        }));
    }
    out.settled.clear();
    let mut own = std::mem::take(&mut scratch.planned);
    own.begin(&origins);
    settle(graph, frame, cpu, scratch, &mut own, Settling::All);
    let settled = own.settled.iter().zip(&own.has_settled);
    out.settled.extend(settled.map(|(point, &has_settled)| (point.by, has_settled)));
    scratch.planned = own;
}
