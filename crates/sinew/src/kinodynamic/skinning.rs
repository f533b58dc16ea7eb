//! The base `fold-over-free`: a rig's skin carried along the way from its bind pose to the frame's.
//!
//! What is not skin, unskinned meshes that ride on a bone, follows its bone as in every base. Points are independent of
//! each other: the same bits at any thread count.
//!
//! Steps by METHODS' bound, `dl·‖v_i − v_k‖·‖∇w‖ ≤ ½`, are as long as the most strained point allows anywhere on its way;
//! their number is no whole number, so that it changes smoothly from frame to frame. Looked at are the points where
//! weights change fastest, some for each limb, on a way of [`FEWEST_STEPS`]: in the bind pose alone, where skin is not
//! yet compressed, the bound asks for too few.

use super::anatomy::{BoundLimb, LimbPlan, LimbSpec, WeightSource, fit, skin_points};
use super::fold_over_free::{Anatomy, Method, Passage, QuadScratch};
use super::quad::{PointQuad, QUAD, lane, set_lane};
use crate::base::largest_influences;
use crate::bind_space::bind_spaces;
use crate::pose::WorldPose;
use crate::rig::{PartKind, Rig};
use crate::simd::{LANES, Level, PointRow, Points};
use crate::skeleton::BoneId;
use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;

/// Most steps of the way.
pub const MOST_STEPS: usize = 64;
/// Fewest steps that the bound chooses: the paper's.
const FEWEST_STEPS: f64 = 4.0;
/// Points that a diagnosis looks at, at most, evenly chosen.
const LOOKED_AT: usize = 4096;
/// Most that a step strains the skin.
const STRAIN_OF_A_STEP: f64 = 0.5;

/// How a recipe asks for this base.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldOverFreeSpec {
    /// How the way is walked.
    pub method: Method,
    /// In how many steps, 1 to [`MOST_STEPS`]; without a number, as many as the bend of a frame asks for.
    pub steps: Option<usize>,
    /// Share of the volume term along the joints' axes.
    pub alpha: f64,
    /// Share of it across them; 1 together keeps volume.
    pub beta: f64,
    /// Where weights come from.
    pub weights: WeightSource,
    /// By bone name; `*` and `?` match any. Later entries win.
    pub limbs: Vec<(String, LimbSpec)>,
}

impl Default for FoldOverFreeSpec {
    fn default() -> Self {
        let (method, weights) = (Method::SecondOrder, WeightSource::Lines);
        Self { method, steps: None, alpha: 0.5, beta: 0.5, weights, limbs: Vec::new() }
    }
}

/// The base bound to a rig.
#[derive(Clone, Debug)]
pub struct FoldOverFree {
    method: Method,
    steps: Option<usize>,
    /// Per character; none where nothing holds skin.
    characters: Vec<Option<Fitted>>,
    /// Per palette entry of its own character.
    bind_from_rest: Vec<DAffine3>,
    /// The entry that moves each slot most.
    entry_of_slot: Vec<u32>,
    is_rider: Vec<bool>,
}

/// A character ready for its way.
#[derive(Clone, Debug)]
struct Fitted {
    anatomy: Anatomy,
    /// The bones of its joints.
    bones: Vec<BoneId>,
    /// Where the bound is looked at.
    probes: Vec<PointQuad>,
}

/// Memory of a frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeScratch {
    ways: Vec<Way>,
    poses: Vec<DAffine3>,
    quad: QuadScratch,
}

/// The way of one character.
#[derive(Clone, Debug, Default)]
struct Way {
    /// Whether there is one.
    leads: bool,
    passage: Passage,
    /// The motion of the whole: of its first joint.
    whole: DAffine3,
}

impl FoldOverFree {
    /// `limbs` are the recipe's, with their names looked up.
    pub(crate) fn new(rig: &Rig, spec: &FoldOverFreeSpec, limbs: &[BoundLimb]) -> Self {
        let mut bind_from_rest = vec![DAffine3::IDENTITY; rig.palette().len()];
        for character in 0..rig.characters().len() {
            for (index, bind) in bind_spaces(rig, character).into_iter().enumerate() {
                if rig.palette()[index].character as usize == character {
                    bind_from_rest[index] = bind;
                }
            }
        }
        let mut entry_of_slot = Vec::with_capacity(rig.rows().len() * LANES);
        for (row, largest) in rig.rows().iter().zip(largest_influences(rig)) {
            entry_of_slot.extend(largest.map(|i| rig.skin_entries()[(row.skin.start + i) as usize]));
        }
        let mut is_rider = vec![false; rig.rows().len() * LANES];
        for part in rig.parts().iter().filter(|part| part.kind == PartKind::Rider) {
            for vertex in part.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
                is_rider[rig.point_of_vertex()[vertex] as usize] = true;
            }
        }
        let plan = LimbPlan { alpha: spec.alpha, beta: spec.beta, weights: spec.weights, bones: limbs };
        let characters = (0..rig.characters().len())
            .map(|character| {
                let points = skin_points(rig, character, &bind_from_rest, &entry_of_slot, &is_rider);
                let (anatomy, bones) = fit(rig, character, &bind_from_rest, &points, &plan)?;
                let places: Vec<DVec3> = points.iter().map(|point| point.at).collect();
                let probes = anatomy.probes(&places);
                Some(Fitted { anatomy, bones, probes })
            })
            .collect();
        Self { method: spec.method, steps: spec.steps, characters, bind_from_rest, entry_of_slot, is_rider }
    }

    /// Where the frame has all points, relative to their characters' origins.
    pub(crate) fn carry(
        &self,
        frame: &FreeFrame<'_>,
        level: Level,
        pool: Option<&rayon::ThreadPool>,
        scratch: &mut FreeScratch,
        out: &mut Points,
    ) {
        let FreeScratch { ways, poses, quad } = scratch;
        ways.resize_with(self.characters.len(), Way::default);
        for (character, way) in ways.iter_mut().enumerate() {
            self.lay(frame.world, character, frame.origins[character], poses, way, quad);
        }
        out.resize(frame.rig.rows().len());
        let ways = &*ways;
        let carry = |(index, row): (usize, &mut PointRow), quad: &mut QuadScratch| {
            self.row(frame, &ways[frame.rig.rows()[index].character as usize], level, index, row, quad);
        };
        match pool {
            None => out.rows.iter_mut().enumerate().for_each(|row| carry(row, quad)),
            Some(pool) => pool.install(|| {
                let rows = out.rows.par_iter_mut().enumerate();
                rows.for_each_init(QuadScratch::default, |quad, row| carry(row, quad));
            }),
        }
    }

    /// How well the skin of a pose stands: whether anything folds over, and how far off the steps leave it.
    pub fn diagnose(&self, rig: &Rig, world: &WorldPose) -> Diagnosis {
        let mut found = Diagnosis { smallest_determinant: f64::INFINITY, error: 0.0, steps: 0.0, steps_needed: 0.0 };
        let (mut quad, mut poses, mut way) = (QuadScratch::default(), Vec::new(), Way::default());
        let level = Level::new();
        for (character, fitted) in self.characters.iter().enumerate() {
            let Some(Fitted { anatomy, probes, .. }) = fitted else { continue };
            let points = skin_points(rig, character, &self.bind_from_rest, &self.entry_of_slot, &self.is_rider);
            let origin = rig.origin(character, world);
            let steps = self.lay(world, character, origin, &mut poses, &mut way, &mut quad);
            found.steps = found.steps.max(steps);
            found.steps_needed =
                found.steps_needed.max(steps_needed(anatomy, probes, &poses, &mut Passage::default(), &mut quad));
            let mut twice = Passage::default();
            twice.lay(anatomy, &poses, self.method, 2.0 * steps);
            let (low, high) = points.iter().fold((DVec3::MAX, DVec3::MIN), |(l, h), p| (l.min(p.at), h.max(p.at)));
            let size = (high - low).length();
            let h = 1e-5 * size;
            let stride = points.len().div_ceil(LOOKED_AT).max(1);
            for point in points.iter().step_by(stride).filter(|_| way.leads) {
                let mut around = [point.at; 7];
                for (axis, pair) in DVec3::AXES.into_iter().zip(around[1..].chunks_exact_mut(2)) {
                    pair.iter_mut().zip([h, -h]).for_each(|(p, h)| *p += axis * h);
                }
                way.passage.carry_all(anatomy, level, &mut around, &mut quad);
                let [here, x1, x0, y1, y0, z1, z0] = around;
                let [x, y, z] = [x1 - x0, y1 - y0, z1 - z0].map(|difference| difference / (2.0 * h));
                found.smallest_determinant = found.smallest_determinant.min(x.dot(y.cross(z)));
                let mut finer = [point.at];
                twice.carry_all(anatomy, level, &mut finer, &mut quad);
                found.error = found.error.max((here - finer[0]).length() / size);
            }
        }
        found
    }

    /// Lays the way of one character, relative to its origin, and tells in how many steps.
    fn lay(
        &self,
        world: &WorldPose,
        character: usize,
        origin: DVec3,
        poses: &mut Vec<DAffine3>,
        way: &mut Way,
        quad: &mut QuadScratch,
    ) -> f64 {
        way.leads = false;
        let Some(Fitted { anatomy, bones, probes }) = self.characters[character].as_ref() else { return 0.0 };
        poses.clear();
        poses.extend(bones.iter().map(|&bone| {
            let mut pose = world.world_from_bone(bone);
            pose.translation -= origin;
            pose
        }));
        let (Some(first), Some(bind)) = (poses.first(), anatomy.first_bind()) else { return 0.0 };
        way.whole = *first * bind.inverse();
        way.leads = way.whole.is_finite();
        let steps = match self.steps {
            Some(steps) => steps as f64,
            None => {
                let needed = steps_needed(anatomy, probes, poses, &mut way.passage, quad);
                needed.clamp(FEWEST_STEPS, MOST_STEPS as f64)
            }
        };
        way.passage.lay(anatomy, poses, self.method, steps);
        steps
    }

    /// Four slots in bind space; lanes that are no skin take another's place. `None` where none is.
    fn bind_quad(&self, rest: &Points, first: usize) -> Option<PointQuad> {
        let is_skin = |slot: &usize| !self.is_rider[*slot];
        let fallback = (first..first + QUAD).find(is_skin)?;
        let mut quad = [[0.0; QUAD]; 3];
        for index in 0..QUAD {
            let slot = Some(first + index).filter(is_skin).unwrap_or(fallback);
            let bind_from_rest = &self.bind_from_rest[self.entry_of_slot[slot] as usize];
            set_lane(&mut quad, index, bind_from_rest.transform_point3(rest.get(slot).as_dvec3()));
        }
        Some(quad)
    }

    fn row(
        &self,
        frame: &FreeFrame<'_>,
        way: &Way,
        level: Level,
        index: usize,
        out: &mut PointRow,
        scratch: &mut QuadScratch,
    ) {
        let fitted = self.characters[frame.rig.rows()[index].character as usize].as_ref();
        for start in (0..LANES).step_by(QUAD) {
            let first = index * LANES + start;
            let mut carried = None;
            if let (Some(Fitted { anatomy, .. }), true) = (fitted, way.leads)
                && let Some(mut quad) = self.bind_quad(frame.rest, first)
            {
                way.passage.carry(anatomy, level, &mut quad, scratch);
                carried = Some(quad);
            }
            for at in 0..QUAD {
                let skin = carried.as_ref().filter(|_| !self.is_rider[first + at]);
                let place = skin.map(|quad| way.whole.transform_point3(lane(quad, at))).filter(|p| p.is_finite());
                let p = place.map_or_else(|| frame.linear(first + at), |p| p.as_vec3());
                out.iter_mut().zip(p.to_array()).for_each(|(lanes, value)| lanes[start + at] = value);
            }
        }
    }
}

/// Steps that the bound asks for on the way to `poses`; `passage` is scratch.
fn steps_needed(
    anatomy: &Anatomy,
    probes: &[PointQuad],
    poses: &[DAffine3],
    passage: &mut Passage,
    quad: &mut QuadScratch,
) -> f64 {
    passage.lay(anatomy, poses, Method::SecondOrder, FEWEST_STEPS);
    passage.strain(anatomy, probes, quad) / STRAIN_OF_A_STEP
}

/// How well the skin of a pose stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnosis {
    /// Of the Jacobian, over the points of the skin, at most some thousand of them: positive where nothing folds over.
    /// Infinite without skin.
    pub smallest_determinant: f64,
    /// Farthest that a point moves if the steps are halved, in sizes: how far the result is from converged.
    pub error: f64,
    /// Steps that were made; the last may be a part of one.
    pub steps: f64,
    /// Steps after which no point is strained by more than a half in one.
    pub steps_needed: f64,
}

/// What the base reads of a frame.
#[derive(Clone, Copy)]
pub(crate) struct FreeFrame<'a> {
    pub rig: &'a Rig,
    pub world: &'a WorldPose,
    pub origins: &'a [DVec3],
    /// Per palette entry, relative to the characters' origins.
    pub world_from_rest: &'a [DAffine3],
    /// Rest points, with morph targets.
    pub rest: &'a Points,
}

impl FreeFrame<'_> {
    /// By linear blending: what rides on a bone, and what has no way.
    fn linear(&self, slot: usize) -> Vec3 {
        let rest = self.rest.get(slot).as_dvec3();
        let (row, lane) = (&self.rig.rows()[slot / LANES], slot % LANES);
        let follow = |i: usize| {
            let entry = self.rig.skin_entries()[i] as usize;
            let weight = f64::from(self.rig.skin_weights()[i][lane]);
            self.world_from_rest[entry].transform_point3(rest) * weight
        };
        (row.skin.start as usize..row.skin.end as usize).map(follow).sum::<DVec3>().as_vec3()
    }
}
