//! Fold-over-free kinematic skinning with a volume term: points follow the bones from the bind pose to the pose.
//!
//! Source: KD 4.1–4.2. Along the way l the velocity is `Σ w_i(p, l) ξ_i p + b`, with weights that belong to
//! places in space, not to vertices: two points that meet move alike, so the skin cannot pass through itself.
//! `b = Σ_i Σ_{j∈A(i)} ∇w_i × A_ij`; joint j moves what it carries by `ω×q + v_o`, q = p − o from its current origin o:
//! `A = αθ(q·n)q_⊥ − ½βθ‖q_⊥‖² n + ½(α+β) v_o×q`, ω = θn. The whole is divergence-free where α + β = 1.
//! Gradients are summed from the leaves up, so that each joint is met once: with s_j = Σ∇m and m_j = Σm of what joint j
//! carries, and M and ∇M of all, `M b = Σ_j s_j × A_j − ∇M/M × Σ_j m_j A_j`.
//!
//! | steps | |
//! |---|---|
//! | Euler | `p ← Σ w_i [L_i(l+dl) L_i(l)⁻¹] p + dl b` (the paper's) |
//! | second order | `ξ_i = log(L_i(l+dl) L_i(l)⁻¹)/dl`; `p_m = exp(½dl Σw_iξ_i)(p + ½dl b)`; with w, b at (p_m, l+½dl) and `H = exp(½dl Σw_iξ_i)`: `p ← H(Hp + dl b)` |
//! | Runge–Kutta | the classical fourth order on the velocity: the reference |
//!
//! Points are carried as many at a time as vectors hold, in f32 for frames and in f64 for what is differenced, in
//! coordinates in which the character is about 1 large. What every method does at a place, blending limbs there, is one
//! function for each instruction set: inlined wherever it is called, it would be half of all code with vectors. Steps need not divide the way: the last is what is left of it, so that their number
//! may follow the bend from frame to frame without a jump.
//! Oracle: divergence by central differences; determinant of the Jacobian at 150°; volume of a closed tube at 90° and its
//! order of convergence; a point that one limb owns ends where the limb puts it.

use super::affine_field::{Affine, Affines, Field, Twisting};
use super::fractional::Generator;
use super::pose_path::{Joint, PosePath};
use super::reach::{Felt, FeltRow};
use super::real::{Kernel, PointsOf, Real, Row, Unit, Wide3, lane, load, set_lane, splat, store};
use super::tissue::{Limb, PosedLimbs, Value};
use super::volume_term::{Branch, Handing, JointField, Pass, STILL, share_out, volume, volume_share};
use crate::simd::{LANES, Level, Simd, prelude::*};
use glam::{DAffine3, DMat3, DVec3};
use std::ops::Range;

/// How the way is walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The paper's: first order.
    Euler,
    /// Exact on rigid parts, second order elsewhere.
    #[default]
    SecondOrder,
    /// Fourth order: the reference, at twice the price.
    RungeKutta,
}

impl Method {
    /// The power of a step's length that its error goes with.
    fn order(self) -> i32 {
        match self {
            Self::Euler => 1,
            Self::SecondOrder => 2,
            Self::RungeKutta => 4,
        }
    }
}

/// Half the interval over which velocities of limbs are differenced for the reference.
const INSTANT: f64 = 1e-5;
/// A rest of the way shorter than this share of a step is none.
const NO_STEP: f64 = 1e-9;
/// Points per limb that the bound is looked at.
const PROBES_PER_LIMB: usize = 24;

/// A point of the bind pose, and the lines it feels: how much of each, ascending.
#[derive(Clone, Debug)]
pub(crate) struct SkinPoint {
    pub at: DVec3,
    pub felt: Vec<(u32, f64)>,
}

/// A row of points where a bound is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Probes<T> {
    points: PointsOf<T>,
    felt: FeltRow<T>,
}

/// Joints and limbs of a character, in bind space.
///
/// # Invariants
/// Parents come before their children; every limb names a joint, and no two the same.
#[derive(Clone, Debug)]
pub(crate) struct Anatomy {
    joints: Vec<Joint>,
    limbs: Vec<Limb>,
    /// Per limb, its lines among those of all.
    lines: Vec<Range<usize>>,
    branches: Vec<Branch>,
    passes: Vec<Pass>,
    unit: Unit,
}

impl Anatomy {
    /// `None` unless the invariants hold.
    pub fn new(joints: Vec<Joint>, limbs: Vec<Limb>) -> Option<Self> {
        let sorted = joints.iter().enumerate().all(|(index, joint)| joint.parent.is_none_or(|parent| parent < index));
        if !sorted {
            return None;
        }
        let mut branches = vec![Branch::default(); joints.len()];
        let mut lines: Vec<Range<usize>> = Vec::with_capacity(limbs.len());
        for limb in &limbs {
            let start = lines.last().map_or(0, |before| before.end);
            let own = start..start + limb.lines();
            lines.push(own.clone());
            if !std::mem::replace(&mut branches.get_mut(limb.joint)?.lines, own).is_empty() {
                return None;
            }
        }
        for (index, joint) in joints.iter().enumerate().rev() {
            let Some(parent) = joint.parent else { continue };
            branches[index].to = match (parent + 1 == index, branches[parent].gathers) {
                (true, _) => Handing::Directly,
                (false, false) => Handing::First(parent),
                (false, true) => Handing::Another(parent),
            };
            branches[parent].chained |= parent + 1 == index;
            branches[parent].gathers |= parent + 1 != index;
        }
        for branch in &mut branches {
            let hands_on = matches!(branch.to, Handing::Directly);
            branch.plain = branch.chained && !branch.gathers && hands_on;
        }
        let places = joints.iter().map(|joint| joint.bind.translation).chain(limbs.iter().flat_map(Limb::ends));
        let unit = Unit::around(places, limbs.iter().map(Limb::radius).fold(0.0, f64::max));
        let passes = Pass::all(&limbs);
        Some(Self { joints, limbs, lines, branches, passes, unit })
    }

    /// The points of the bind pose that bends strain most: for each limb, those where its weight changes fastest, times their
    /// distance from the nearest joint, which is what a turn moves them by. Lanes that are left over repeat the first.
    pub fn probes<T: Real>(&self, points: &[SkinPoint]) -> Vec<Probes<T>> {
        let mut limbs = PosedLimbs::<f64>::default();
        limbs.set(&self.limbs, &self.unit, self.limbs.iter().map(|_| DAffine3::IDENTITY));
        let mut steep: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.limbs.len()];
        for (index, point) in points.iter().enumerate() {
            let felt = FeltRow::new(std::iter::once(point.felt.as_slice()));
            let values = limbs.at(&self.limbs, felt.from(0), self.unit.point(point.at));
            let total: f64 = values.iter().map(|(m, _)| m).sum();
            let total_gradient: DVec3 = values.iter().map(|(_, gradient)| *gradient).sum();
            let distance = |joint: &Joint| joint.bind.translation.distance(point.at);
            let arm = self.joints.iter().map(distance).fold(f64::INFINITY, f64::min);
            for (steep, (m, gradient)) in steep.iter_mut().zip(values) {
                let slope = (gradient - total_gradient * (m / total)).length() / total;
                steep.push((rounded_steepness(slope * arm), index));
            }
        }
        for steep in &mut steep {
            steep.sort_by(|a, b| f64::total_cmp(&b.0, &a.0).then(a.1.cmp(&b.1)));
            steep.truncate(PROBES_PER_LIMB);
        }
        let mut chosen: Vec<usize> = steep.into_iter().flatten().map(|(_, index)| index).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let probes = |chosen: &[usize]| {
            let places: Vec<DVec3> = chosen.iter().map(|&index| points[index].at).collect();
            let felt = FeltRow::new(chosen.iter().map(|&index| points[index].felt.as_slice()));
            Probes { points: self.row(&places), felt }
        };
        chosen.chunks(LANES).map(probes).collect()
    }

    /// Lines of all limbs.
    pub fn line_count(&self) -> usize {
        self.lines.last().map_or(0, |last| last.end)
    }

    /// The lines of a limb.
    pub fn lines_of(&self, limb: usize) -> Range<usize> {
        self.lines[limb].clone()
    }

    /// All lines in full: what a point of the paper's feels.
    pub fn everywhere(&self) -> Vec<(u32, f64)> {
        (0..self.line_count()).map(|line| (line as u32, 1.0)).collect()
    }

    /// A row of points of the bind pose as [`Passage::carry`] takes them; lanes beyond the last take the first.
    pub fn row<T: Real>(&self, points: &[DVec3]) -> PointsOf<T> {
        let mut row = [[T::default(); LANES]; 3];
        for index in 0..LANES {
            set_lane(&mut row, index, self.unit.point(*points.get(index).unwrap_or(&points[0])));
        }
        row
    }

    /// Bind pose of the first joint, relative to which ways end.
    pub fn first_bind(&self) -> Option<DAffine3> {
        self.joints.first().map(|joint| joint.bind)
    }

    /// From bind space to the coordinates of rows.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }
}

/// To three digits: round a limb many points are equally steep, and rounding shall not choose among them.
fn rounded_steepness(steepness: f64) -> f64 {
    (steepness.ln() * 1e3).round()
}

/// One place of the way.
#[derive(Clone, Debug, Default)]
struct Stage<T> {
    limbs: PosedLimbs<T>,
    /// Per pass and joint, where it moves.
    fields: Vec<Option<JointField<T>>>,
}

impl<T: Real> Stage<T> {
    fn set(&mut self, anatomy: &Anatomy, path: &PosePath, here: &[DAffine3]) {
        let back = |limb: &Limb| {
            let back = anatomy.joints[limb.joint].bind * here[limb.joint].inverse();
            if back.is_finite() { back } else { DAffine3::IDENTITY }
        };
        self.limbs.set(&anatomy.limbs, &anatomy.unit, anatomy.limbs.iter().map(back));
        self.fields.clear();
        for pass in &anatomy.passes {
            let field = |j: usize| {
                let share = volume_share(path.angle(j));
                let (field, origin) = (path.joint_field(j, here), here[j].translation);
                let (angular, velocity) = (field.angular() * share, anatomy.unit.vector(field.at(origin)) * share);
                let moves = angular.length() + velocity.length() > STILL;
                moves.then(|| JointField::new(pass, anatomy.unit.point(origin), angular, velocity))
            };
            self.fields.extend((0..anatomy.joints.len()).map(field));
        }
    }
}

/// One step of the way.
#[derive(Clone, Debug, Default)]
struct Step<T> {
    dl: T,
    half: T,
    /// At its start, middle and end, as far as the method asks.
    stages: [Stage<T>; 3],
    /// Per limb: what it moves by over the step (Euler), its velocity over the step (second order), or at the stages
    /// (Runge–Kutta).
    limbs: [Affines<T>; 3],
}

/// The way to one pose, ready to carry points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passage<T> {
    method: Method,
    /// Those of longer ways before are kept for their memory.
    steps: Vec<Step<T>>,
    count: usize,
    path: PosePath,
    /// Of all joints at the starts and middles of the steps, and at the end; likewise.
    here: Vec<Vec<DAffine3>>,
    instant: [Vec<DAffine3>; 2],
    fields: Vec<DAffine3>,
}

/// Memory for the points of a vector.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointScratch<T> {
    /// Per line, and with the shares of a pass.
    values: Vec<Value<T>>,
    shared: Vec<Value<T>>,
    /// Per joint, of what its children have left.
    carried: Vec<Value<T>>,
}

impl<T: Real> PointScratch<T> {
    /// For points that feel other lines than those before: what nobody writes is 0.
    fn begin(&mut self, anatomy: &Anatomy) {
        let lines = anatomy.line_count();
        self.values.clear();
        self.values.resize(lines, Value::default());
        self.shared.resize(lines, Value::default());
        self.carried.resize(anatomy.joints.len(), Value::default());
    }
}

/// The limbs of a character, and which of them some points feel.
#[derive(Clone, Copy)]
struct Body<'a, T> {
    anatomy: &'a Anatomy,
    felt: Felt<'a, T>,
}

impl<T> Body<'_, T> {
    /// Of the points of a row from `at` on.
    #[inline(always)]
    fn from(self, at: usize) -> Self {
        Self { felt: Felt { at, ..self.felt }, ..self }
    }
}

impl<T: Real> Passage<T> {
    /// The way to the pose in which joint j stands at `world[j]`, in any frame, in that many steps (of which the last may
    /// be shorter); it ends where the first joint is still in its bind pose. Memory is reused.
    pub fn lay(&mut self, anatomy: &Anatomy, world: &[DAffine3], method: Method, steps: f64) {
        self.lay_from(anatomy, world, method, 0.0, steps);
    }

    /// From `start` of the way to its end.
    fn lay_from(&mut self, anatomy: &Anatomy, world: &[DAffine3], method: Method, start: f64, steps: f64) {
        let steps = if steps >= 1.0 { steps } else { 1.0 };
        let dl = (1.0 - start) / steps;
        let count = ((steps - NO_STEP).ceil() as usize).max(1);
        let Self { path, here, fields, .. } = self;
        (self.method, self.count) = (method, count);
        path.set(&anatomy.joints, world);
        // The last step ends at the pose itself.
        let end = |k: usize| if k == count { 1.0 } else { start + k as f64 * dl };
        here.resize_with(here.len().max(2 * count + 1), Vec::new);
        for (node, here) in here[..2 * count + 1].iter_mut().enumerate() {
            let l = if node % 2 == 0 { end(node / 2) } else { 0.5 * (end(node / 2) + end(node / 2 + 1)) };
            path.at(l, here);
        }
        let increment = |limb: &Limb, from: &[DAffine3], to: &[DAffine3]| {
            let increment = to[limb.joint] * from[limb.joint].inverse();
            if increment.is_finite() { increment } else { DAffine3::IDENTITY }
        };
        let velocities = |from: &[DAffine3], to: &[DAffine3], per: f64, fields: &mut Vec<DAffine3>| {
            let velocity = |limb| DAffine3::from(Generator::log(increment(limb, from, to)).times(per));
            fields.clear();
            fields.extend(anatomy.limbs.iter().map(velocity));
        };
        self.steps.resize_with(self.steps.len().max(count), Step::default);
        for (k, step) in self.steps[..count].iter_mut().enumerate() {
            let nodes = [2 * k, 2 * k + 1, 2 * k + 2];
            let [from, middle, to] = nodes.map(|node| here[node].as_slice());
            let dl = end(k + 1) - end(k);
            (step.dl, step.half) = (T::of(dl), T::of(0.5 * dl));
            step.stages[0].set(anatomy, path, from);
            match method {
                Method::Euler => {
                    fields.clear();
                    fields.extend(anatomy.limbs.iter().map(|limb| {
                        let DAffine3 { matrix3, translation } = increment(limb, from, to);
                        DAffine3 { matrix3: matrix3 - DMat3::IDENTITY, translation }
                    }));
                    step.limbs[0].set(&anatomy.unit, &anatomy.lines, fields);
                }
                Method::SecondOrder => {
                    step.stages[1].set(anatomy, path, middle);
                    velocities(from, to, 1.0 / dl, fields);
                    step.limbs[0].set(&anatomy.unit, &anatomy.lines, fields);
                }
                Method::RungeKutta => {
                    step.stages[1].set(anatomy, path, middle);
                    step.stages[2].set(anatomy, path, to);
                    for (stage, limbs) in step.limbs.iter_mut().enumerate() {
                        let l = end(k) + 0.5 * dl * stage as f64;
                        let [before, after] = &mut self.instant;
                        path.at(l - INSTANT, before);
                        path.at(l + INSTANT, after);
                        velocities(before, after, 0.5 / INSTANT, fields);
                        limbs.set(&anatomy.unit, &anatomy.lines, fields);
                    }
                }
            }
        }
    }

    /// Takes the first points of a row of the bind pose ([`Anatomy::row`]) all the way.
    pub fn carry(
        &self,
        anatomy: &Anatomy,
        felt: Felt<'_, T>,
        level: Level,
        points: &mut PointsOf<T>,
        count: usize,
        scratch: &mut PointScratch<T>,
    ) {
        let body = Body { anatomy, felt };
        T::dispatch(level, Carry { passage: self, body, points, count, scratch });
    }

    /// As [`Passage::carry`], for any points in bind space that feel the same.
    pub fn carry_all(
        &self,
        anatomy: &Anatomy,
        felt: &[(u32, f64)],
        level: Level,
        points: &mut [DVec3],
        scratch: &mut PointScratch<T>,
    ) {
        let (back, felt) = (anatomy.unit.back(), FeltRow::new(std::iter::once(felt)));
        for points in points.chunks_mut(LANES) {
            let mut row = anatomy.row(points);
            self.carry(anatomy, felt.from(0), level, &mut row, points.len(), scratch);
            points.iter_mut().enumerate().for_each(|(index, p)| *p = back.transform_point3(lane(&row, index)));
        }
    }

    /// The velocity at one place of the way, per unit of it.
    #[cfg(test)]
    pub fn velocity(anatomy: &Anatomy, world: &[DAffine3], l: f64, p: DVec3, scratch: &mut PointScratch<T>) -> DVec3 {
        // The reference's first stage of a way that starts at l.
        let mut way = Self::default();
        way.lay_from(anatomy, world, Method::RungeKutta, l, 1.0);
        let step = &way.steps[0];
        let mut row = anatomy.row::<T>(&[p]);
        let felt = FeltRow::new(std::iter::once(anatomy.everywhere().as_slice()));
        let body = Body { anatomy, felt: felt.from(0) };
        T::dispatch(Level::new(), Velocity { step, body, row: &mut row, scratch });
        anatomy.unit.back().transform_vector3(lane(&row, 0))
    }

    /// Steps after which these points ([`Anatomy::probes`]) are within `error` of where the way leads, in the unit of rows,
    /// judged by how far apart so few steps and twice as many leave them. The ways laid are overwritten.
    #[allow(clippy::too_many_arguments, reason = "what a way is laid from, where it is looked at, and its memory")]
    pub fn steps_to_settle(
        &mut self,
        anatomy: &Anatomy,
        world: &[DAffine3],
        method: Method,
        few: f64,
        error: f64,
        level: Level,
        probes: &[Probes<T>],
        scratch: &mut PointScratch<T>,
        ends: &mut Vec<PointsOf<T>>,
    ) -> f64 {
        self.lay(anatomy, world, method, few);
        ends.clear();
        for Probes { points, felt } in probes {
            let mut end = *points;
            self.carry(anatomy, felt.from(0), level, &mut end, LANES, scratch);
            ends.push(end);
        }
        self.lay(anatomy, world, method, 2.0 * few);
        let mut apart: f64 = 0.0;
        for (Probes { points, felt }, end) in probes.iter().zip(ends) {
            let mut finer = *points;
            self.carry(anatomy, felt.from(0), level, &mut finer, LANES, scratch);
            let distances = (0..LANES).map(|index| lane(&finer, index).distance(lane(end, index)));
            apart = distances.filter(|distance| distance.is_finite()).fold(apart, f64::max);
        }
        // Richardson: with so few steps, the error is what halving takes away and the rest of a geometric series.
        let order = method.order();
        let power = f64::powi(2.0, order);
        few * (apart * power / ((power - 1.0) * error)).powf(1.0 / f64::from(order))
    }

    /// The most that any of these points ([`Anatomy::probes`]) is strained on its way, per unit of it: `Σ‖v_i − v̄‖·‖∇w_i‖`,
    /// which for two limbs is `‖v_i − v_k‖·‖∇w‖`, in the middle of every step. Of ways of second order.
    pub fn strain(&self, anatomy: &Anatomy, level: Level, probes: &[Probes<T>], scratch: &mut PointScratch<T>) -> f64 {
        let mut most: f64 = 0.0;
        for Probes { points, felt } in probes {
            let mut strains = [T::default(); LANES];
            let body = Body { anatomy, felt: felt.from(0) };
            T::dispatch(level, Strain { passage: self, body, points, strains: &mut strains, scratch });
            let strains = strains.into_iter().map(T::to_f64);
            most = strains.filter(|strain| strain.is_finite()).fold(most, f64::max);
        }
        most
    }
}

/// Takes the first points of a row all the way.
struct Carry<'a, T> {
    passage: &'a Passage<T>,
    body: Body<'a, T>,
    points: &'a mut PointsOf<T>,
    count: usize,
    scratch: &'a mut PointScratch<T>,
}

impl<T: Real> Kernel for Carry<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // Two vectors share what is read of a limb.
        if T::Wide::<S>::LEN == LANES { self.some::<S, 1>(simd) } else { self.some::<S, 2>(simd) }
    }
}

impl<T: Real> Carry<'_, T> {
    /// C vectors of points at a time.
    #[inline(always)]
    fn some<S: Simd, const C: usize>(self, simd: S) {
        let Self { passage, body, points, count, scratch } = self;
        scratch.begin(body.anatomy);
        for at in (0..count).step_by(C * T::Wide::<S>::LEN) {
            let body = body.from(at);
            let mut p = load_some::<S, T, C>(simd, points, at);
            for step in &passage.steps[..passage.count] {
                p = match step.limbs[0].is_rigid() {
                    true => step.walk::<S, Twisting<S, T>, C>(simd, passage.method, body, &p, scratch),
                    false => step.walk::<S, Affine<S, T>, C>(simd, passage.method, body, &p, scratch),
                };
            }
            for (c, p) in p.into_iter().enumerate() {
                p.store(points, at + c * T::Wide::<S>::LEN);
            }
        }
    }
}

/// The most that each point of a row is strained on a way of second order.
struct Strain<'a, T> {
    passage: &'a Passage<T>,
    body: Body<'a, T>,
    points: &'a PointsOf<T>,
    strains: &'a mut Row<T>,
    scratch: &'a mut PointScratch<T>,
}

impl<T: Real> Kernel for Strain<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // As many vectors as are carried, whose functions it shares.
        if T::Wide::<S>::LEN == LANES { self.some::<S, 1>(simd) } else { self.some::<S, 2>(simd) }
    }
}

impl<T: Real> Strain<'_, T> {
    /// C vectors of points at a time.
    #[inline(always)]
    fn some<S: Simd, const C: usize>(self, simd: S) {
        let Self { passage, body, points, strains, scratch } = self;
        scratch.begin(body.anatomy);
        for at in (0..LANES).step_by(C * T::Wide::<S>::LEN) {
            let body = body.from(at);
            let mut p = load_some::<S, T, C>(simd, points, at);
            let mut most = [splat::<S, T>(simd, T::default()); C];
            for step in &passage.steps[..passage.count] {
                let rigid = step.limbs[0].is_rigid();
                let half_way = match rigid {
                    true => step.half_way::<S, Twisting<S, T>, C>(simd, body, &p, scratch),
                    false => step.half_way::<S, Affine<S, T>, C>(simd, body, &p, scratch),
                };
                let strains = step.stages[1].strain(simd, body, &step.limbs[0], &half_way, scratch);
                for c in 0..C {
                    most[c] = most[c].max(strains[c]);
                }
                p = match rigid {
                    true => step.whole_way::<S, Twisting<S, T>, C>(simd, body, &p, &half_way, scratch),
                    false => step.whole_way::<S, Affine<S, T>, C>(simd, body, &p, &half_way, scratch),
                };
            }
            for (c, most) in most.into_iter().enumerate() {
                store::<S, T>(most, strains, at + c * T::Wide::<S>::LEN);
            }
        }
    }
}

/// The velocity at the first stage of a step, in place of each point.
#[cfg(test)]
struct Velocity<'a, T> {
    step: &'a Step<T>,
    body: Body<'a, T>,
    row: &'a mut PointsOf<T>,
    scratch: &'a mut PointScratch<T>,
}

#[cfg(test)]
impl<T: Real> Kernel for Velocity<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { step, body, row, scratch } = self;
        scratch.begin(body.anatomy);
        let p = load_some::<S, T, 1>(simd, row, 0);
        step.stages[0].velocity(simd, body, &step.limbs[0], &p, scratch)[0].store(row, 0);
    }
}

/// C vectors of a row, from `at` on.
#[inline(always)]
fn load_some<S: Simd, T: Real, const C: usize>(simd: S, points: &PointsOf<T>, at: usize) -> [Wide3<S, T>; C] {
    let mut p = [Wide3::<S, T>::zero(simd); C];
    for (c, p) in p.iter_mut().enumerate() {
        *p = Wide3::load(simd, points, at + c * T::Wide::<S>::LEN);
    }
    p
}

/// `p + t v`.
#[inline(always)]
fn ahead<S: Simd, T: Real, const C: usize>(
    p: &[Wide3<S, T>; C],
    v: &[Wide3<S, T>; C],
    t: T::Wide<S>,
) -> [Wide3<S, T>; C] {
    let mut to = *p;
    for (to, v) in to.iter_mut().zip(v) {
        *to = v.mul_add(t, *to);
    }
    to
}

impl<T: Real> Step<T> {
    #[inline(always)]
    fn walk<S: Simd, F: Field<S, T>, const C: usize>(
        &self,
        simd: S,
        method: Method,
        body: Body<'_, T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> [Wide3<S, T>; C] {
        match method {
            Method::Euler => self.euler::<S, F, C>(simd, body, p, scratch),
            Method::SecondOrder => {
                let half_way = self.half_way::<S, F, C>(simd, body, p, scratch);
                self.whole_way::<S, F, C>(simd, body, p, &half_way, scratch)
            }
            Method::RungeKutta => self.runge_kutta(simd, body, p, scratch),
        }
    }

    #[inline(always)]
    fn euler<S: Simd, F: Field<S, T>, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> [Wide3<S, T>; C] {
        let (moves, b) = self.stages[0].blend::<S, F, C>(simd, body, &self.limbs[0], p, scratch);
        let mut to = *p;
        for c in 0..C {
            to[c] = b[c].mul_add(splat::<S, T>(simd, self.dl), p[c].add(moves[c].at(p[c])));
        }
        to
    }

    /// The predictor of second order.
    #[inline(always)]
    fn half_way<S: Simd, F: Field<S, T>, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> [Wide3<S, T>; C] {
        let (fields, b) = self.stages[0].blend::<S, F, C>(simd, body, &self.limbs[0], p, scratch);
        let mut to = ahead(p, &b, splat::<S, T>(simd, self.half));
        for (to, field) in to.iter_mut().zip(fields) {
            *to = field.flow(simd, self.half, *to);
        }
        to
    }

    /// The step of second order, by what is half way.
    #[inline(always)]
    fn whole_way<S: Simd, F: Field<S, T>, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        p: &[Wide3<S, T>; C],
        half_way: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> [Wide3<S, T>; C] {
        let (fields, b) = self.stages[1].blend::<S, F, C>(simd, body, &self.limbs[0], half_way, scratch);
        let mut to = *p;
        for c in 0..C {
            let half_way = fields[c].flow(simd, self.half, p[c]);
            to[c] = fields[c].flow(simd, self.half, b[c].mul_add(splat::<S, T>(simd, self.dl), half_way));
        }
        to
    }

    #[inline(always)]
    fn runge_kutta<S: Simd, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> [Wide3<S, T>; C] {
        let (mut slopes, mut at) = ([*p; 4], *p);
        // Where each slope is taken, and how far along it the next.
        for (slope, (stage, t)) in slopes.iter_mut().zip([(0, self.half), (1, self.half), (1, self.dl), (2, self.dl)]) {
            *slope = self.stages[stage].velocity(simd, body, &self.limbs[stage], &at, scratch);
            at = ahead(p, slope, splat::<S, T>(simd, t));
        }
        let [k1, k2, k3, k4] = slopes;
        let mut sum = *p;
        for c in 0..C {
            sum[c] = k2[c].add(k3[c]).mul_add(splat::<S, T>(simd, T::of(2.0)), k1[c].add(k4[c]));
        }
        ahead(p, &sum, splat::<S, T>(simd, self.dl) * splat::<S, T>(simd, T::of(1.0 / 6.0)))
    }
}

impl<T: Real> Stage<T> {
    /// `Σ w_i A_i` and the volume term at `p`, out of line.
    #[inline(always)]
    fn blend<S: Simd, F: Field<S, T>, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        limbs: &Affines<T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> ([F; C], [Wide3<S, T>; C]) {
        simd.vectorize(
            #[inline(always)]
            || self.blend_inline(simd, body, limbs, p, scratch),
        )
    }

    #[inline(always)]
    fn blend_inline<S: Simd, F: Field<S, T>, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        limbs: &Affines<T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> ([F; C], [Wide3<S, T>; C]) {
        let PointScratch { values, shared, carried } = scratch;
        let Body { anatomy, felt } = body;
        match anatomy.passes.is_empty() {
            true => self.limbs.evaluate::<S, C, false>(simd, &anatomy.limbs, felt, p, values),
            false => self.limbs.evaluate::<S, C, true>(simd, &anatomy.limbs, felt, p, values),
        }
        let (blended, per_total) = F::blend(simd, limbs, felt.lines, values);
        let mut b = [Wide3::zero(simd); C];
        let fields = self.fields.chunks_exact(anatomy.joints.len().max(1));
        for (pass, fields) in anatomy.passes.iter().zip(fields) {
            for c in 0..C {
                let at = c * T::Wide::<S>::LEN;
                let mut all = None;
                let mut of_pass = &*values;
                if let Some(shares) = &pass.shares {
                    all = Some(share_out(simd, shares, values, at, shared));
                    of_pass = shared;
                }
                let sums = volume(simd, &anatomy.branches, fields, p[c], of_pass, at, carried);
                let whole = all.unwrap_or(sums.whole);
                let sum = sums.weighted.scale(per_total[c]).cross_add(whole, sums.turned);
                b[c] = sum.mul_add(per_total[c], b[c]);
            }
        }
        (blended, b)
    }

    #[inline(always)]
    fn velocity<S: Simd, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        limbs: &Affines<T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> [Wide3<S, T>; C] {
        let mut velocity = *p;
        if limbs.is_rigid() {
            let (fields, b) = self.blend::<S, Twisting<S, T>, C>(simd, body, limbs, p, scratch);
            for c in 0..C {
                velocity[c] = fields[c].at(p[c]).add(b[c]);
            }
        } else {
            let (fields, b) = self.blend::<S, Affine<S, T>, C>(simd, body, limbs, p, scratch);
            for c in 0..C {
                velocity[c] = fields[c].at(p[c]).add(b[c]);
            }
        }
        velocity
    }

    /// `Σ‖v_i − v̄‖·‖∇w_i‖`.
    #[inline(always)]
    fn strain<S: Simd, const C: usize>(
        &self,
        simd: S,
        body: Body<'_, T>,
        limbs: &Affines<T>,
        p: &[Wide3<S, T>; C],
        scratch: &mut PointScratch<T>,
    ) -> [T::Wide<S>; C] {
        let values = &mut scratch.values;
        let Body { anatomy, felt } = body;
        self.limbs.evaluate::<S, C, true>(simd, &anatomy.limbs, felt, p, values);
        let zero = Wide3::<S, T>::zero(simd);
        let mut strains = [zero.x; C];
        for c in 0..C {
            let at = c * T::Wide::<S>::LEN;
            let (mut mean, mut total, mut total_gradient) = (zero, zero.x, zero);
            for (line, value) in values.iter().enumerate() {
                let m = load::<S, T>(simd, &value.m, at);
                mean = limbs.of_line(simd, line, p[c]).mul_add(m, mean);
                total += m;
                total_gradient = total_gradient.add(Wide3::load(simd, &value.gradient, at));
            }
            let per_total = splat::<S, T>(simd, T::of(1.0)) / total;
            let mean = mean.scale(per_total);
            for lines in &anatomy.lines {
                let (mut m, mut gradient) = (zero.x, zero);
                for value in &values[lines.clone()] {
                    m += load::<S, T>(simd, &value.m, at);
                    gradient = gradient.add(Wide3::load(simd, &value.gradient, at));
                }
                let gradient = total_gradient.mul_add(-(m * per_total), gradient).scale(per_total);
                let apart = limbs.of_line(simd, lines.start, p[c]).sub(mean);
                strains[c] = (gradient.dot(gradient) * apart.dot(apart)).sqrt() + strains[c];
            }
        }
        strains
    }
}
