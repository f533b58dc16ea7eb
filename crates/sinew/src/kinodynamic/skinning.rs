//! The base `fold-over-free`: a rig's skin carried along the way from its bind pose to the frame's.
//!
//! What is not skin, unskinned meshes that ride on a bone, follows its bone as in every base. Points are independent of
//! each other: the same bits at any thread count.

use super::anatomy::{LimbPlan, LimbSpec, fit, skin_points};
use super::fold_over_free::{Anatomy, Method, Passage, PointScratch};
use crate::base::largest_influences;
use crate::bind_space::bind_spaces;
use crate::pose::WorldPose;
use crate::rig::{PartKind, Rig};
use crate::simd::{LANES, Points};
use crate::skeleton::BoneId;
use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;

/// Most steps of the way.
pub const MOST_STEPS: usize = 64;

/// How a recipe asks for this base.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldOverFreeSpec {
    /// How the way is walked.
    pub method: Method,
    /// In how many steps, 1 to [`MOST_STEPS`].
    pub steps: usize,
    /// Share of the volume term along the joints' axes.
    pub alpha: f64,
    /// Share of it across them; 1 together keeps volume.
    pub beta: f64,
    /// By bone name; `*` and `?` match any. Later entries win.
    pub limbs: Vec<(String, LimbSpec)>,
}

impl Default for FoldOverFreeSpec {
    fn default() -> Self {
        Self { method: Method::SecondOrder, steps: 8, alpha: 0.5, beta: 0.5, limbs: Vec::new() }
    }
}

/// The base bound to a rig.
#[derive(Clone, Debug)]
pub struct FoldOverFree {
    method: Method,
    steps: usize,
    /// Per character; none where nothing holds skin.
    characters: Vec<Option<(Anatomy, Vec<BoneId>)>>,
    /// Per palette entry of its own character.
    bind_from_rest: Vec<DAffine3>,
    /// The entry that moves each slot most.
    entry_of_slot: Vec<u32>,
    is_rider: Vec<bool>,
}

impl FoldOverFree {
    /// `limbs` are the recipe's, with their names looked up.
    pub(crate) fn new(rig: &Rig, spec: &FoldOverFreeSpec, limbs: &[(Vec<BoneId>, LimbSpec)]) -> Self {
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
        let plan = LimbPlan { alpha: spec.alpha, beta: spec.beta, bones: limbs };
        let characters = (0..rig.characters().len())
            .map(|character| {
                let points = skin_points(rig, character, &bind_from_rest, &entry_of_slot, &is_rider);
                fit(rig, character, &bind_from_rest, &points, &plan)
            })
            .collect();
        Self { method: spec.method, steps: spec.steps, characters, bind_from_rest, entry_of_slot, is_rider }
    }

    /// Where the frame has all points, relative to their characters' origins. `world_from_rest` is per palette entry.
    pub(crate) fn carry(&self, frame: &FreeFrame<'_>, pool: Option<&rayon::ThreadPool>, out: &mut Points) {
        let FreeFrame { rig, world, origins, .. } = *frame;
        let ways: Vec<Option<Way<'_>>> =
            (0..self.characters.len()).map(|character| self.way(world, character, origins[character])).collect();
        let row = |row: usize, scratch: &mut PointScratch| -> [Vec3; LANES] {
            let way = ways[rig.rows()[row].character as usize].as_ref();
            std::array::from_fn(|lane| self.point(frame, way, row * LANES + lane, scratch))
        };
        let rows = rig.rows().len();
        let carried: Vec<[Vec3; LANES]> = match pool {
            None => {
                let mut scratch = PointScratch::default();
                (0..rows).map(|index| row(index, &mut scratch)).collect()
            }
            Some(pool) => pool.install(|| {
                (0..rows)
                    .into_par_iter()
                    .map_init(PointScratch::default, |scratch, index| row(index, scratch))
                    .collect()
            }),
        };
        out.resize(rows);
        for (index, points) in carried.iter().enumerate() {
            for (lane, &p) in points.iter().enumerate() {
                out.set(index * LANES + lane, p);
            }
        }
    }

    /// How well the skin of a pose stands: whether anything folds over, and how far off the steps leave it.
    pub fn diagnose(&self, rig: &Rig, world: &WorldPose) -> Diagnosis {
        let mut found = Diagnosis { smallest_determinant: f64::INFINITY, error: 0.0, steps_needed: 1 };
        let mut scratch = PointScratch::default();
        for (character, fitted) in self.characters.iter().enumerate() {
            let origin = rig.origin(character, world);
            let (Some((anatomy, bones)), Some(way)) = (fitted, self.way(world, character, origin)) else { continue };
            let poses: Vec<DAffine3> = bones.iter().map(|&bone| world.world_from_bone(bone)).collect();
            let twice = Passage::new(anatomy, &poses, self.method, 2 * self.steps);
            let points = skin_points(rig, character, &self.bind_from_rest, &self.entry_of_slot, &self.is_rider);
            let (low, high) = points.iter().fold((DVec3::MAX, DVec3::MIN), |(l, h), p| (l.min(p.at), h.max(p.at)));
            let size = (high - low).length();
            let h = 1e-5 * size;
            for point in &points {
                let mut carry = |p: DVec3| way.passage.carry(anatomy, p, &mut scratch);
                let [x, y, z] = DVec3::AXES.map(|a| (carry(point.at + a * h) - carry(point.at - a * h)) / (2.0 * h));
                found.smallest_determinant = found.smallest_determinant.min(x.dot(y.cross(z)));
                let apart = carry(point.at) - twice.carry(anatomy, point.at, &mut scratch);
                found.error = found.error.max(apart.length() / size);
            }
            let needed = Passage::steps_needed(anatomy, &poses, points.iter().map(|point| point.at));
            found.steps_needed = found.steps_needed.max(needed);
        }
        found
    }

    /// The way of one character, relative to its origin.
    fn way(&self, world: &WorldPose, character: usize, origin: DVec3) -> Option<Way<'_>> {
        let (anatomy, bones) = self.characters[character].as_ref()?;
        let relative = |&bone: &BoneId| {
            let mut pose = world.world_from_bone(bone);
            pose.translation -= origin;
            pose
        };
        let poses: Vec<DAffine3> = bones.iter().map(relative).collect();
        let whole = *poses.first()? * anatomy.first_bind()?.inverse();
        let passage = Passage::new(anatomy, &poses, self.method, self.steps);
        whole.is_finite().then_some(Way { anatomy, passage, whole })
    }

    fn point(&self, frame: &FreeFrame<'_>, way: Option<&Way<'_>>, slot: usize, scratch: &mut PointScratch) -> Vec3 {
        let rest = frame.rest.get(slot).as_dvec3();
        if let (Some(way), false) = (way, self.is_rider[slot]) {
            let bind = self.bind_from_rest[self.entry_of_slot[slot] as usize].transform_point3(rest);
            let carried = way.whole.transform_point3(way.passage.carry(way.anatomy, bind, scratch));
            if carried.is_finite() {
                return carried.as_vec3();
            }
        }
        let (row, lane) = (&frame.rig.rows()[slot / LANES], slot % LANES);
        let follow = |i: usize| {
            let entry = frame.rig.skin_entries()[i] as usize;
            let weight = f64::from(frame.rig.skin_weights()[i][lane]);
            frame.world_from_rest[entry].transform_point3(rest) * weight
        };
        (row.skin.start as usize..row.skin.end as usize).map(follow).sum::<DVec3>().as_vec3()
    }
}

/// How well the skin of a pose stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnosis {
    /// Of the Jacobian, over all points of the skin: positive where nothing folds over. Infinite without skin.
    pub smallest_determinant: f64,
    /// Farthest that a point moves if the steps are halved, in sizes.
    pub error: f64,
    /// Steps after which no point is strained by more than a half in one.
    pub steps_needed: usize,
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

/// The way of one character.
struct Way<'a> {
    anatomy: &'a Anatomy,
    passage: Passage,
    /// The motion of the whole: of its first joint.
    whole: DAffine3,
}
