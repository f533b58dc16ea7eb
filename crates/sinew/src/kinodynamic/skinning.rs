//! The base `fold-over-free`: a rig's skin carried along the way from its bind pose to the frame's.
//!
//! What is not skin, unskinned meshes that ride on a bone, follows its bone as in every base. Points are independent of
//! each other: the same bits at any thread count.
//!
//! Pieces that one bone alone moves ride on it too: a hoof or a tooth is as stiff as it was modelled.
//!
//! Steps are as many as a frame asks for, by two measures on a way of few steps: none strains the skin by more than a
//! third, `dl·‖v_i − v_k‖·‖∇w‖ ≤ ⅓`, so that each is one-to-one; and by what twice as many would change, the last ends
//! within a thousandth of the size of where the way leads. Their number is no whole number, so that it changes smoothly
//! from frame to frame. Looked at are the points where weights change fastest, some for each limb: in the bind pose
//! alone, where skin is not yet compressed, both ask for too few.

use super::anatomy::{BoundLimb, Fit, LimbPlan, LimbSpec, Reach, fit};
use super::fold_over_free::{Method, Passage, PointScratch, Probes};
use super::reach::{BoundSkin, FeltRow};
use super::real::set_lane;
use crate::anatomy::Anatomy as Roles;
use crate::base::{Base, BaseEntry};
use crate::hierarchy::Hierarchy;
use crate::param::{ParamSpec, Range, Values};
use crate::pose::WorldPose;
use crate::rig::{OfRig, Rig};
use crate::simd::{LANES, Level, PointRow, Points, Simd, dispatch, prelude::*};
use crate::skeleton::BoneId;
use crate::table::{BoundRow, CellKind, CellSpec, RowKind, TableSpec};
use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Most steps of the way.
pub const MOST_STEPS: usize = 64;
/// Fewest steps that the bound chooses: the paper's.
const FEWEST_STEPS: f64 = 4.0;
/// Points that a diagnosis looks at, at most, evenly chosen.
const LOOKED_AT: usize = 4096;
/// Pieces of the work per thread, so that none waits long for the last.
const PIECES: usize = 8;
/// Most that a step strains the skin.
const STRAIN_OF_A_STEP: f64 = 1.0 / 3.0;
/// Farthest that the steps leave a probe from where the way leads, in sizes of the skeleton. Of a limb only some points
/// are probes; all of the skin is within twice as much.
const SETTLED: f64 = 1e-3;

const SHARE: Range = Range { min: 0.0, max: 1.0, unit: "" };
const WIDENING: Range = Range { min: 0.1, max: 10.0, unit: "× fitted" };
const CORE: Range = Range { min: 0.0, max: 2.0, unit: "× limb radius" };
/// A place in a bone's frame: far beyond any character, and far from where single precision ends.
const COORDINATE: Range = Range { min: -1e9, max: 1e9, unit: "" };
const RADIUS: Range = Range { min: 1e-9, max: 1e9, unit: "" };

/// Numbers of an ellipsoid in a bone's frame: centre, radii.
pub(crate) const ELLIPSOID: &[Range] = &[COORDINATE, COORDINATE, COORDINATE, RADIUS, RADIUS, RADIUS];
/// Numbers of a capsule in a bone's frame: ends, radius.
pub(crate) const CAPSULE: &[Range] = &[COORDINATE, COORDINATE, COORDINATE, COORDINATE, COORDINATE, COORDINATE, RADIUS];

/// The base `fold-over-free`.
pub const FOLD_OVER_FREE: BaseEntry = BaseEntry {
    name: "fold-over-free",
    about: "From the bind pose in small steps, without folding over",
    params: &[
        ParamSpec::choice("method", &["second-order", "euler", "runge-kutta"], "how the way is walked"),
        ParamSpec::number_or_auto(
            "steps",
            "",
            [1.0, MOST_STEPS as f64],
            "steps of the way; auto: as many as the bend of a frame asks for",
        ),
        ParamSpec::number("alpha", "", [0.0, 1.0], 0.0, "share of the volume term along the joints' axes"),
        ParamSpec::number("beta", "", [0.0, 1.0], 0.0, "share of it across them; 1 together keeps volume"),
        ParamSpec::choice(
            "reach",
            &["skin", "space"],
            "which limbs skin feels: those near along it, or all that are near",
        ),
    ],
    mapped: None,
    tables: &[TableSpec {
        key: "limbs",
        of: "limbs",
        about: "single limbs, by the bone that carries them",
        examples: &["\"arm*\" = { radius = 1.2, alpha = 0.1, map = \"NAME\" }"],
        row: RowKind::Cells(&[
            CellSpec::new("alpha", CellKind::Number(SHARE), "as above, of this limb"),
            CellSpec::new("beta", CellKind::Number(SHARE), "as above, of this limb"),
            CellSpec::new("radius", CellKind::Number(WIDENING), "factor on the fitted radius"),
            CellSpec::new("bone", CellKind::Number(CORE), "a rigid core about the limb's lines"),
            CellSpec::new(
                "capsules",
                CellKind::Lists {
                    each: CAPSULE,
                    form: "capsules in the bone's frame, such as [[0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.03]]: ends, radius",
                },
                "rigid places",
            ),
            CellSpec::new(
                "tissue",
                CellKind::Lists {
                    each: ELLIPSOID,
                    form: "ellipsoids in the bone's frame, such as [[0.0, 0.1, 0.0, 0.05, 0.1, 0.05]]: centre, radii",
                },
                "flesh beside the limb's lines",
            ),
            CellSpec::new("map", CellKind::Map, "how much the skin feels of the limb, 0 to 1"),
        ]),
    }],
    bind: |binding| {
        let limbs: Vec<BoundLimb> = binding.tables.rows("limbs").iter().map(limb).collect();
        Base::FoldOverFree(Box::new(FoldOverFree::new(
            binding.rig,
            binding.hierarchy,
            &FoldOverFreeSpec::of(binding.values),
            &limbs,
        )))
    },
};

fn limb((bones, row): &(Vec<BoneId>, BoundRow)) -> BoundLimb {
    let spec = LimbSpec {
        alpha: row.number("alpha"),
        beta: row.number("beta"),
        radius: row.number("radius"),
        bone: row.number("bone"),
        capsules: row.lists("capsules"),
        tissue: row.lists("tissue"),
    };
    BoundLimb { bones: bones.clone(), spec, painted: row.map("map").cloned() }
}

/// The parameters of the base.
pub(crate) struct FoldOverFreeSpec {
    /// How the way is walked.
    pub method: Method,
    /// In how many steps, 1 to [`MOST_STEPS`]; without a number, as many as the bend of a frame asks for.
    pub steps: Option<usize>,
    /// Share of the volume term along the joints' axes.
    pub alpha: f64,
    /// Share of it across them; 1 together keeps volume.
    pub beta: f64,
    /// Which limbs skin feels.
    pub reach: Reach,
}

impl FoldOverFreeSpec {
    fn of(values: &Values) -> Self {
        // The range keeps it small.
        let steps = values.number("steps") as usize;
        Self {
            method: match values.word("method") {
                "euler" => Method::Euler,
                "runge-kutta" => Method::RungeKutta,
                _ => Method::SecondOrder,
            },
            steps: (steps > 0).then_some(steps),
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            reach: if values.word("reach") == "space" { Reach::Space } else { Reach::Skin },
        }
    }
}

/// The base bound to a rig.
#[derive(Clone, Debug)]
pub struct FoldOverFree {
    method: Method,
    steps: Option<usize>,
    /// Per character; none where nothing holds skin.
    characters: Vec<Option<Fitted>>,
    skin: Arc<BoundSkin>,
    /// The entry that moves each slot most.
    entry_of_slot: Vec<u32>,
    /// Per slot: whether it follows its bones as in linear blending, because it is no skin, or skin of a stiff piece.
    rides: Vec<bool>,
    /// Rest points as ways take them; lanes that are no skin take another's place.
    rest: Vec<PointRow>,
    /// Per row.
    felt: Vec<FeltRow<f32>>,
}

/// A character ready for its way.
#[derive(Clone, Debug)]
struct Fitted {
    fit: Fit,
    /// Where the bound is looked at.
    probes: Vec<Probes<f32>>,
}

/// The base as it is without any words, for whoever asks where skin would be that cannot fold.
pub(crate) struct PlainFree(pub FoldOverFree);

impl OfRig for PlainFree {
    fn of(rig: &Rig) -> Self {
        let spec =
            FoldOverFreeSpec { method: Method::SecondOrder, steps: None, alpha: 0.0, beta: 0.0, reach: Reach::Skin };
        Self(FoldOverFree::new(rig, rig.hierarchy(), &spec, &[]))
    }
}

/// Memory of a frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeScratch {
    ways: Vec<Way>,
    poses: Vec<DAffine3>,
    /// Per piece of the work.
    points: Vec<PointScratch<f32>>,
}

/// The way of one character.
#[derive(Clone, Debug, Default)]
struct Way {
    /// Whether there is one.
    leads: bool,
    passage: Passage<f32>,
    /// Where probes end.
    ends: Vec<PointRow>,
    /// The motion of the whole, that of its first joint, from where the way ends: row by row.
    whole: [[f32; 4]; 3],
}

impl FoldOverFree {
    /// `limbs` are the recipe's, with their names looked up.
    pub(crate) fn new(rig: &Rig, hierarchy: &Hierarchy, spec: &FoldOverFreeSpec, limbs: &[BoundLimb]) -> Self {
        let skin = rig.kept::<BoundSkin>();
        let main_entry = |slot: usize| rig.main_influence(slot).map_or(0, |main| main.palette);
        let entry_of_slot: Vec<u32> = (0..rig.slots()).map(main_entry).collect();
        let roles = rig.kept::<Roles>();
        let is_stiff = |slot: usize| roles.piece_of_point(slot).is_some_and(|piece| roles.pieces()[piece].rigid);
        let rides: Vec<bool> = (0..rig.slots()).map(|slot| rig.is_rider(slot) || is_stiff(slot)).collect();
        let plan = LimbPlan { alpha: spec.alpha, beta: spec.beta, reach: spec.reach, bones: limbs };
        let mut felt = vec![FeltRow::default(); rig.rows().len()];
        let characters = (0..rig.characters().len())
            .map(|character| {
                let fit = fit(rig, hierarchy, &skin, character, &plan)?;
                let carried = fit.slots.iter().zip(&fit.points).filter(|(slot, _)| !rides[**slot as usize]);
                let (slots, points): (Vec<u32>, Vec<_>) = carried.map(|(&slot, point)| (slot, point.clone())).unzip();
                let mut pairs = slots.iter().zip(&points).peekable();
                while let Some(&(&first, _)) = pairs.peek() {
                    let row = first as usize / LANES;
                    let mut of_lane: [&[(u32, f64)]; LANES] = [&[]; LANES];
                    while let Some((&slot, point)) = pairs.next_if(|(slot, _)| **slot as usize / LANES == row) {
                        of_lane[slot as usize % LANES] = &point.felt;
                    }
                    let fallback = points_of(&of_lane);
                    of_lane.iter_mut().filter(|felt| felt.is_empty()).for_each(|felt| *felt = fallback);
                    felt[row] = FeltRow::new(of_lane.iter().copied());
                }
                let probes = fit.anatomy.probes(&points);
                Some(Fitted { fit: Fit { slots, points, ..fit }, probes })
            })
            .collect();
        let (method, steps) = (spec.method, spec.steps);
        let mut base = Self { method, steps, characters, skin, entry_of_slot, rides, rest: Vec::new(), felt };
        base.rest = (0..rig.rows().len()).map(|row| base.unit_row(rig, rig.rest(), row)).collect();
        base
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
        let FreeScratch { ways, poses, points } = scratch;
        let pieces = pool.map_or(1, |pool| PIECES * pool.current_num_threads());
        points.resize_with(pieces, PointScratch::default);
        ways.resize_with(self.characters.len(), Way::default);
        for (character, way) in ways.iter_mut().enumerate() {
            self.lay(frame.world, character, frame.origins[character], level, poses, way, &mut points[0]);
        }
        let rows = frame.rig.rows().len();
        out.resize(rows);
        let (ways, length) = (&*ways, rows.div_ceil(pieces).max(1));
        let carry = |(piece, (rows, scratch)): (usize, (&mut [PointRow], &mut PointScratch<f32>))| {
            for (row, out) in rows.iter_mut().enumerate() {
                self.row(frame, ways, level, piece * length + row, out, scratch);
            }
        };
        match pool {
            None => out.rows.chunks_mut(length).zip(points).enumerate().for_each(carry),
            Some(pool) => pool.install(|| out.rows.par_chunks_mut(length).zip(points).enumerate().for_each(carry)),
        }
    }

    /// Where the frame has the points of some rows of one character.
    pub(crate) fn carry_some(
        &self,
        frame: &FreeFrame<'_>,
        character: usize,
        level: Level,
        rows: impl Iterator<Item = usize>,
        scratch: &mut FreeScratch,
        out: &mut Points,
    ) {
        let FreeScratch { ways, poses, points } = scratch;
        points.resize_with(points.len().max(1), PointScratch::default);
        ways.resize_with(self.characters.len(), Way::default);
        let way = &mut ways[character];
        self.lay(frame.world, character, frame.origins[character], level, poses, way, &mut points[0]);
        out.resize(frame.rig.rows().len());
        for row in rows {
            self.row(frame, ways, level, row, &mut out.rows[row], &mut points[0]);
        }
    }

    /// How well the skin of a pose stands: whether anything folds over, and how far off the steps leave it.
    pub fn diagnose(&self, rig: &Rig, world: &WorldPose) -> Diagnosis {
        let mut found = Diagnosis { smallest_determinant: f64::INFINITY, error: 0.0, steps: 0.0, steps_needed: 0.0 };
        let (mut scratch, mut poses, mut way) = (PointScratch::default(), Vec::new(), Way::default());
        let mut exact = PointScratch::default();
        let level = Level::new();
        for (character, fitted) in self.characters.iter().enumerate() {
            let Some(fitted) = fitted else { continue };
            let Fit { anatomy, points, .. } = &fitted.fit;
            let origin = rig.origin(character, world);
            let steps = self.lay(world, character, origin, level, &mut poses, &mut way, &mut scratch);
            found.steps = found.steps.max(steps);
            let needed = self.steps_needed(fitted, &poses, level, &mut Way::default(), &mut scratch);
            found.steps_needed = found.steps_needed.max(needed);
            let [mut once, mut twice] = [Passage::<f64>::default(), Passage::default()];
            once.lay(anatomy, &poses, self.method, steps);
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
                once.carry_all(anatomy, &point.felt, level, &mut around, &mut exact);
                let [here, x1, x0, y1, y0, z1, z0] = around;
                let [x, y, z] = [x1 - x0, y1 - y0, z1 - z0].map(|difference| difference / (2.0 * h));
                found.smallest_determinant = found.smallest_determinant.min(x.dot(y.cross(z)));
                let mut finer = [point.at];
                twice.carry_all(anatomy, &point.felt, level, &mut finer, &mut exact);
                found.error = found.error.max((here - finer[0]).length() / size);
            }
        }
        found
    }

    /// Lays the way of one character, relative to its origin, and tells in how many steps.
    #[allow(clippy::too_many_arguments, reason = "what a way is laid from, and its memory")]
    fn lay(
        &self,
        world: &WorldPose,
        character: usize,
        origin: DVec3,
        level: Level,
        poses: &mut Vec<DAffine3>,
        way: &mut Way,
        scratch: &mut PointScratch<f32>,
    ) -> f64 {
        way.leads = false;
        let Some(fitted) = self.characters[character].as_ref() else { return 0.0 };
        let Fit { anatomy, bones, .. } = &fitted.fit;
        poses.clear();
        poses.extend(bones.iter().map(|&bone| {
            let mut pose = world.world_from_bone(bone);
            pose.translation -= origin;
            pose
        }));
        let (Some(first), Some(bind)) = (poses.first(), anatomy.first_bind()) else { return 0.0 };
        let whole = *first * bind.inverse() * anatomy.unit().back();
        way.leads = whole.is_finite();
        let axes = whole.matrix3;
        way.whole = std::array::from_fn(|axis| {
            [axes.x_axis[axis], axes.y_axis[axis], axes.z_axis[axis], whole.translation[axis]].map(|entry| entry as f32)
        });
        let steps = match self.steps {
            Some(steps) => steps as f64,
            None => {
                let needed = self.steps_needed(fitted, poses, level, way, scratch);
                needed.clamp(FEWEST_STEPS, MOST_STEPS as f64)
            }
        };
        way.passage.lay(anatomy, poses, self.method, steps);
        steps
    }

    /// Steps that the bend of a pose asks for: so many that none strains the skin by more than [`STRAIN_OF_A_STEP`],
    /// and that it ends within [`SETTLED`] of where the way leads. `way` and `scratch` are memory.
    fn steps_needed(
        &self,
        fitted: &Fitted,
        poses: &[DAffine3],
        level: Level,
        way: &mut Way,
        scratch: &mut PointScratch<f32>,
    ) -> f64 {
        let (anatomy, probes, Way { passage, ends, .. }) = (&fitted.fit.anatomy, &fitted.probes, way);
        passage.lay(anatomy, poses, Method::SecondOrder, FEWEST_STEPS);
        let strain = passage.strain(anatomy, level, probes, scratch);
        let to_settle =
            passage.steps_to_settle(anatomy, poses, self.method, FEWEST_STEPS, SETTLED, level, probes, scratch, ends);
        (strain / STRAIN_OF_A_STEP).max(to_settle)
    }

    /// The rest points of a row as ways take them; lanes that are no skin take another's place.
    fn unit_row(&self, rig: &Rig, rest: &Points, row: usize) -> PointRow {
        let mut out = [[0.0; LANES]; 3];
        let slots = row * LANES..(row + 1) * LANES;
        let is_skin = |slot: &usize| !self.rides[*slot];
        let fitted = self.characters[rig.rows()[row].character as usize].as_ref();
        let (Some(fitted), Some(fallback)) = (fitted, slots.clone().find(is_skin)) else { return out };
        for (lane, slot) in slots.enumerate() {
            let slot = Some(slot).filter(is_skin).unwrap_or(fallback);
            let bind_from_rest = &self.skin.bind_from_rest[self.entry_of_slot[slot] as usize];
            let p = bind_from_rest.transform_point3(rest.get(slot).as_dvec3());
            set_lane(&mut out, lane, fitted.fit.anatomy.unit().point(p));
        }
        out
    }

    fn row(
        &self,
        frame: &FreeFrame<'_>,
        ways: &[Way],
        level: Level,
        index: usize,
        out: &mut PointRow,
        scratch: &mut PointScratch<f32>,
    ) {
        let character = frame.rig.rows()[index].character as usize;
        let way = &ways[character];
        let riders = &self.rides[index * LANES..(index + 1) * LANES];
        let fitted = self.characters[character].as_ref().filter(|_| way.leads && riders.contains(&false));
        if let Some(Fitted { fit, .. }) = fitted {
            let morphed = !std::ptr::eq(frame.rest, frame.rig.rest());
            *out = if morphed { self.unit_row(frame.rig, frame.rest, index) } else { self.rest[index] };
            way.passage.carry(&fit.anatomy, self.felt[index].from(0), level, out, LANES, scratch);
            dispatch!(level, simd => place(simd, &way.whole, out));
        }
        for (lane, &rides) in riders.iter().enumerate() {
            let finite = out.iter().all(|coordinate| coordinate[lane].is_finite());
            if rides || fitted.is_none() || !finite {
                let p = frame.linear(index * LANES + lane).to_array();
                out.iter_mut().zip(p).for_each(|(lanes, value)| lanes[lane] = value);
            }
        }
    }
}

/// What the first point that is carried feels.
fn points_of<'a>(of_lane: &[&'a [(u32, f64)]; LANES]) -> &'a [(u32, f64)] {
    of_lane.iter().find(|felt| !felt.is_empty()).copied().unwrap_or_default()
}

/// Takes a row where an affine map has it.
#[inline(always)]
fn place<S: Simd>(simd: S, map: &[[f32; 4]; 3], row: &mut PointRow) {
    for at in (0..LANES).step_by(S::f32s::LEN) {
        let mut p = [S::f32s::splat(simd, 0.0); 3];
        for (p, lanes) in p.iter_mut().zip(&*row) {
            *p = S::f32s::from_slice(simd, &lanes[at..at + S::f32s::LEN]);
        }
        for (&[x, y, z, t], lanes) in map.iter().zip(&mut *row) {
            let mut sum = S::f32s::splat(simd, t);
            for (p, factor) in p.into_iter().zip([x, y, z]) {
                sum = p.mul_add(S::f32s::splat(simd, factor), sum);
            }
            sum.store_slice(&mut lanes[at..at + S::f32s::LEN]);
        }
    }
}

/// How well the skin of a pose stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnosis {
    /// Of the Jacobian, over the points of the skin, at most some thousand of them: positive where nothing folds over.
    /// Each point looks at places around it that feel what it feels. Infinite without skin.
    pub smallest_determinant: f64,
    /// Farthest that a point moves if the steps are halved, in sizes: how far the result is from converged.
    pub error: f64,
    /// Steps that were made; the last may be a part of one.
    pub steps: f64,
    /// Steps that the bend asks for: none strains the skin by more than a third, and all together leave it within 0.2 %
    /// of the size.
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
    pub fn linear(&self, slot: usize) -> Vec3 {
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
