//! Fold-over-free kinematic skinning with a volume term: points follow the bones from the bind pose to the pose.
//!
//! Source: KD 4.1–4.2, METHODS 6. Along the way l the velocity is `Σ w_i(p, l) ξ_i p + b`, with weights that belong to
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
//! coordinates in which the character is about 1 large. Steps need not divide the way: the last is what is left of it, so that their number
//! may follow the bend from frame to frame without a jump.
//! Where a joint bends far there is no room for the volume it displaces: beyond [`FULL_VOLUME`] its part of b is reduced,
//! to [`LEAST_VOLUME`] at a half turn.
//! Oracle: divergence by central differences; determinant of the Jacobian at 150°; volume of a closed tube at 90° and its
//! order of convergence; a point that one limb owns ends where the limb puts it.

use super::fractional::Generator;
use super::pose_path::{Joint, PosePath};
use super::real::{PointsOf, Real, Row, Unit, Wide3, lane, load, rounded, set_lane, splat, store};
use super::tissue::{Limb, PosedLimbs, Total, Values};
use crate::simd::{LANES, Level, Simd, dispatch, prelude::*};
use glam::{DAffine3, DMat3, DVec3};

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

/// Angle in radians up to which volume is kept whole.
const FULL_VOLUME: f64 = 1.75;
/// What is left of the volume term at a half turn.
const LEAST_VOLUME: f64 = 0.25;
/// Half the interval over which velocities of limbs are differenced for the reference.
const INSTANT: f64 = 1e-5;
/// A rest of the way shorter than this share of a step is none.
const NO_STEP: f64 = 1e-9;
/// Points per limb that the bound is looked at.
const PROBES_PER_LIMB: usize = 64;
/// Terms of a flow: to the last bit of what a step of at most half a radian needs.
const FLOW_TERMS: u32 = 10;

/// Joints and limbs of a character, in bind space.
///
/// # Invariants
/// Parents come before their children; every limb names a joint, and no two the same.
#[derive(Clone, Debug)]
pub(crate) struct Anatomy {
    joints: Vec<Joint>,
    limbs: Vec<Limb>,
    branches: Vec<Branch>,
    passes: Vec<Pass>,
    unit: Unit,
}

/// A part of the volume term that is summed over limbs by one share for each: all of it where α and β are the same
/// everywhere, else one for α and one for β.
#[derive(Clone, Debug)]
struct Pass {
    /// Per limb; none where all have a share of 1.
    shares: Option<Vec<f64>>,
    turn: f64,
    sink: f64,
    slide: f64,
}

impl Pass {
    fn all(limbs: &[Limb]) -> Vec<Self> {
        let Some(&Limb { alpha, beta, .. }) = limbs.first() else { return Vec::new() };
        if limbs.iter().all(|limb| limb.alpha == alpha && limb.beta == beta) {
            let slide = alpha + beta;
            return if slide == 0.0 { Vec::new() } else { vec![Self { shares: None, turn: alpha, sink: beta, slide }] };
        }
        let (alphas, betas) = limbs.iter().map(|limb| (limb.alpha, limb.beta)).unzip();
        vec![
            Self { shares: Some(alphas), turn: 1.0, sink: 0.0, slide: 1.0 },
            Self { shares: Some(betas), turn: 0.0, sink: 1.0, slide: 1.0 },
        ]
    }
}

/// How a joint hands what it carries to its parent, from the last joint to the first.
#[derive(Clone, Copy, Debug, Default)]
struct Branch {
    limb: Option<usize>,
    /// The joint after it is its child, and hands over directly.
    chained: bool,
    /// Other children have left what they carry.
    gathers: bool,
    to: Handing,
}

/// To whom a joint hands what it carries.
#[derive(Clone, Copy, Debug, Default)]
enum Handing {
    #[default]
    Nobody,
    /// The joint before it.
    Directly,
    /// A parent farther up, as the first of those who leave something there.
    First(usize),
    Another(usize),
}

impl Anatomy {
    /// `None` unless the invariants hold.
    pub fn new(joints: Vec<Joint>, limbs: Vec<Limb>) -> Option<Self> {
        let sorted = joints.iter().enumerate().all(|(index, joint)| joint.parent.is_none_or(|parent| parent < index));
        if !sorted {
            return None;
        }
        let mut branches = vec![Branch::default(); joints.len()];
        for (index, limb) in limbs.iter().enumerate() {
            if branches.get_mut(limb.joint)?.limb.replace(index).is_some() {
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
        let places = joints.iter().map(|joint| joint.bind.translation).chain(limbs.iter().flat_map(Limb::ends));
        let unit = Unit::around(places, limbs.iter().map(Limb::radius).fold(0.0, f64::max));
        let passes = Pass::all(&limbs);
        Some(Self { joints, limbs, branches, passes, unit })
    }

    /// The points of the bind pose that bends strain most: for each limb, those where its weight changes fastest, times their
    /// distance from the nearest joint, which is what a turn moves them by. Lanes that are left over repeat the first.
    pub fn probes<T: Real>(&self, points: &[DVec3]) -> Vec<PointsOf<T>> {
        let mut limbs = PosedLimbs::<f64>::default();
        limbs.set(&self.limbs, &self.unit, self.limbs.iter().map(|_| DAffine3::IDENTITY));
        let mut steep: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.limbs.len()];
        let mut values = Values::default();
        for (index, &point) in points.iter().enumerate() {
            let (total, total_gradient) = limbs.at(&self.limbs, self.unit.point(point), &mut values);
            let distance = |joint: &Joint| joint.bind.translation.distance(point);
            let arm = self.joints.iter().map(distance).fold(f64::INFINITY, f64::min);
            for (steep, (m, gradient)) in steep.iter_mut().zip(values.m.iter().zip(&values.gradients)) {
                let slope = (lane(gradient, 0) - total_gradient * (m[0] / total)).length() / total;
                steep.push((slope * arm, index));
            }
        }
        for steep in &mut steep {
            steep.sort_by(|a, b| f64::total_cmp(&b.0, &a.0).then(a.1.cmp(&b.1)));
            steep.truncate(PROBES_PER_LIMB);
        }
        let mut chosen: Vec<usize> = steep.into_iter().flatten().map(|(_, index)| index).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let chosen: Vec<DVec3> = chosen.into_iter().map(|index| points[index]).collect();
        chosen.chunks(LANES).map(|points| self.row(points)).collect()
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

/// What a joint does at one place of the way: the potential A of its field, about its own origin.
#[derive(Clone, Copy, Debug)]
struct JointField<T> {
    origin: [T; 3],
    axis: [T; 3],
    /// Of `(q·n) q`, `(q·n)² n` and `‖q‖² n`.
    turn: T,
    along: T,
    around: T,
    /// `½(α+β) v_o`; a plain hinge does not slide.
    slide: Option<[T; 3]>,
}

impl<T: Real> JointField<T> {
    fn new(unit: &Unit, pass: &Pass, origin: DVec3, angular: DVec3, velocity: DVec3) -> Self {
        let (turn, sink) = (pass.turn * angular.length(), 0.5 * pass.sink * angular.length());
        Self {
            origin: rounded(unit.point(origin)),
            axis: rounded(angular.normalize_or_zero()),
            turn: T::of(turn),
            along: T::of(sink - turn),
            around: T::of(-sink),
            slide: (velocity != DVec3::ZERO).then(|| rounded(unit.vector(velocity) * (0.5 * pass.slide))),
        }
    }

    /// A at `p`: `turn·(q·n)q_⊥ − ½sink·‖q_⊥‖² n + ½slide·v_o×q`, by powers of q.
    #[inline(always)]
    fn potential<S: Simd>(&self, simd: S, p: Wide3<S, T>) -> Wide3<S, T> {
        let (q, axis) = (p.sub(Wide3::splat(simd, self.origin)), Wide3::<S, T>::splat(simd, self.axis));
        let along = q.dot(axis);
        let on_axis = q.dot(q) * splat::<S, T>(simd, self.around);
        let on_axis = (along * splat::<S, T>(simd, self.along)).mul_add(along, on_axis);
        let potential = axis.mul_add(on_axis, q.scale(along * splat::<S, T>(simd, self.turn)));
        match self.slide {
            None => potential,
            Some(slide) => Wide3::splat(simd, slide).cross_add(q, potential),
        }
    }
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
                let (angular, velocity) = (field.angular() * share, field.at(origin) * share);
                let moves = angular != DVec3::ZERO || velocity != DVec3::ZERO;
                moves.then(|| JointField::new(&anatomy.unit, pass, origin, angular, velocity))
            };
            self.fields.extend((0..anatomy.joints.len()).map(field));
        }
    }
}

/// An affine field of velocities per limb, column by column. Where all are of rigid motion they are kept as twists:
/// angular, then linear.
#[derive(Clone, Debug, Default)]
struct Affines<T> {
    columns: Vec<[[T; 3]; 4]>,
    rigid: bool,
}

impl<T: Real> Affines<T> {
    fn set(&mut self, unit: &Unit, fields: &[DAffine3]) {
        let skew = |field: &DAffine3| field.matrix3.transpose() == -field.matrix3;
        self.rigid = fields.iter().all(skew);
        self.columns.clear();
        for &field in fields {
            let DAffine3 { matrix3: matrix, translation } = unit.field(field);
            let mut columns = [matrix.x_axis, matrix.y_axis, matrix.z_axis, translation];
            if self.rigid {
                columns[0] = DVec3::new(matrix.y_axis.z, matrix.z_axis.x, matrix.x_axis.y);
                columns[1] = translation;
            }
            self.columns.push(columns.map(rounded));
        }
    }

    /// `Σ w_i c_i` of the first N columns, `w_i = m_i/Σm`.
    #[inline(always)]
    fn blended<S: Simd, const N: usize>(&self, simd: S, m: &[Row<T>], per_total: T::Wide<S>) -> [Wide3<S, T>; N] {
        let mut sums = [Wide3::<S, T>::zero(simd); N];
        for (m, columns) in m.iter().zip(&self.columns) {
            let m = load::<S, T>(simd, m, 0);
            for (sum, &column) in sums.iter_mut().zip(columns) {
                *sum = Wide3::splat(simd, column).mul_add(m, *sum);
            }
        }
        for sum in &mut sums {
            *sum = sum.scale(per_total);
        }
        sums
    }

    /// The field of one limb at `p`.
    #[inline(always)]
    fn of_limb<S: Simd>(&self, simd: S, limb: usize, p: Wide3<S, T>) -> Wide3<S, T> {
        let [x, y, z, t] = self.columns[limb];
        let (x, y) = (Wide3::<S, T>::splat(simd, x), Wide3::splat(simd, y));
        if self.rigid {
            return x.cross_add(p, y);
        }
        Affine { x, y, z: Wide3::splat(simd, z), t: Wide3::splat(simd, t) }.at(p)
    }
}

/// A velocity field per lane, blended from those of the limbs.
trait Field<S: Simd, T: Real>: Copy {
    fn blend(simd: S, limbs: &Affines<T>, m: &[Row<T>], per_total: T::Wide<S>) -> Self;
    fn at(&self, p: Wide3<S, T>) -> Wide3<S, T>;
    /// Where its flow over a time of `t` takes `p`.
    fn flow(&self, simd: S, t: T, p: Wide3<S, T>) -> Wide3<S, T>;
}

/// Any affine field.
#[derive(Clone, Copy)]
struct Affine<S: Simd, T: Real> {
    x: Wide3<S, T>,
    y: Wide3<S, T>,
    z: Wide3<S, T>,
    t: Wide3<S, T>,
}

impl<S: Simd, T: Real> Field<S, T> for Affine<S, T> {
    #[inline(always)]
    fn blend(simd: S, limbs: &Affines<T>, m: &[Row<T>], per_total: T::Wide<S>) -> Self {
        let [x, y, z, t] = limbs.blended::<S, 4>(simd, m, per_total);
        Self { x, y, z, t }
    }

    #[inline(always)]
    fn at(&self, p: Wide3<S, T>) -> Wide3<S, T> {
        self.z.mul_add(p.z, self.y.mul_add(p.y, self.x.mul_add(p.x, self.t)))
    }

    /// By the exponential series: to the last bit of what half a radian needs.
    #[inline(always)]
    fn flow(&self, simd: S, t: T, p: Wide3<S, T>) -> Wide3<S, T> {
        let t = splat::<S, T>(simd, t);
        let mut term = self.at(p).scale(t);
        let mut sum = p.add(term);
        for k in 2..=FLOW_TERMS {
            let turned = self.z.mul_add(term.z, self.y.mul_add(term.y, self.x.scale(term.x)));
            term = turned.scale(t * splat::<S, T>(simd, T::of(1.0 / f64::from(k))));
            sum = sum.add(term);
        }
        sum
    }
}

/// A field of rigid motion: `angular × p + linear`.
#[derive(Clone, Copy)]
struct Twisting<S: Simd, T: Real> {
    angular: Wide3<S, T>,
    linear: Wide3<S, T>,
}

impl<S: Simd, T: Real> Field<S, T> for Twisting<S, T> {
    #[inline(always)]
    fn blend(simd: S, limbs: &Affines<T>, m: &[Row<T>], per_total: T::Wide<S>) -> Self {
        let [angular, linear] = limbs.blended::<S, 2>(simd, m, per_total);
        Self { angular, linear }
    }

    #[inline(always)]
    fn at(&self, p: Wide3<S, T>) -> Wide3<S, T> {
        self.angular.cross_add(p, self.linear)
    }

    /// `p + t v + (1−cos θ)/θ² t² ω×v + (θ−sin θ)/θ³ t³ ω×(ω×v)`, v the velocity at p and θ = t|ω|, by the series of both
    /// quotients.
    #[inline(always)]
    fn flow(&self, simd: S, t: T, p: Wide3<S, T>) -> Wide3<S, T> {
        let t = splat::<S, T>(simd, t);
        let turn = self.angular.scale(t);
        let square = turn.dot(turn);
        let (mut a, mut b) = (splat::<S, T>(simd, T::default()), splat::<S, T>(simd, T::default()));
        for &(of_a, of_b) in &QUOTIENTS[QUOTIENTS.len() - T::TERMS..] {
            a = a.mul_add(square, splat::<S, T>(simd, T::of(of_a)));
            b = b.mul_add(square, splat::<S, T>(simd, T::of(of_b)));
        }
        let moved = self.at(p).scale(t);
        let across = turn.cross(moved);
        turn.cross(across).mul_add(b, across.mul_add(a, p.add(moved)))
    }
}

/// Of (1−cos θ)/θ² and (θ−sin θ)/θ³ in powers of θ², the highest first.
const QUOTIENTS: [(f64, f64); 6] = [
    (-1.0 / 479_001_600.0, -1.0 / 6_227_020_800.0),
    (1.0 / 3_628_800.0, 1.0 / 39_916_800.0),
    (-1.0 / 40_320.0, -1.0 / 362_880.0),
    (1.0 / 720.0, 1.0 / 5_040.0),
    (-1.0 / 24.0, -1.0 / 120.0),
    (0.5, 1.0 / 6.0),
];

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
    values: Values<T>,
    /// Per joint, of what its children have left: Σ∇m and Σm, each limb with its share.
    carried: Vec<(PointsOf<T>, Row<T>)>,
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
                    step.limbs[0].set(&anatomy.unit, fields);
                }
                Method::SecondOrder => {
                    step.stages[1].set(anatomy, path, middle);
                    velocities(from, to, 1.0 / dl, fields);
                    step.limbs[0].set(&anatomy.unit, fields);
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
                        limbs.set(&anatomy.unit, fields);
                    }
                }
            }
        }
    }

    /// Takes the first points of a row of the bind pose ([`Anatomy::row`]) all the way.
    pub fn carry(
        &self,
        anatomy: &Anatomy,
        level: Level,
        points: &mut PointsOf<T>,
        count: usize,
        scratch: &mut PointScratch<T>,
    ) {
        dispatch!(level, simd => self.carry_row(simd, anatomy, points, count, scratch));
    }

    /// As [`Passage::carry`], for any points, in bind space.
    pub fn carry_all(&self, anatomy: &Anatomy, level: Level, points: &mut [DVec3], scratch: &mut PointScratch<T>) {
        let back = anatomy.unit.back();
        for points in points.chunks_mut(LANES) {
            let mut row = anatomy.row(points);
            self.carry(anatomy, level, &mut row, points.len(), scratch);
            points.iter_mut().enumerate().for_each(|(index, p)| *p = back.transform_point3(lane(&row, index)));
        }
    }

    #[inline(always)]
    fn carry_row<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        points: &mut PointsOf<T>,
        count: usize,
        scratch: &mut PointScratch<T>,
    ) {
        for at in (0..count).step_by(T::Wide::<S>::LEN) {
            let mut p = Wide3::load(simd, points, at);
            for step in &self.steps[..self.count] {
                p = self.step(simd, anatomy, step, p, scratch);
            }
            p.store(points, at);
        }
    }

    #[inline(always)]
    fn step<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        step: &Step<T>,
        p: Wide3<S, T>,
        scratch: &mut PointScratch<T>,
    ) -> Wide3<S, T> {
        let ([start, middle, end], limbs) = (&step.stages, &step.limbs);
        let (whole, half) = (splat::<S, T>(simd, step.dl), splat::<S, T>(simd, step.half));
        match self.method {
            Method::Euler => {
                let (moves, b) = start.blend::<S, Affine<S, T>>(simd, anatomy, &limbs[0], p, scratch);
                b.mul_add(whole, p.add(moves.at(p)))
            }
            Method::SecondOrder if limbs[0].rigid => step.second_order::<S, Twisting<S, T>>(simd, anatomy, p, scratch),
            Method::SecondOrder => step.second_order::<S, Affine<S, T>>(simd, anatomy, p, scratch),
            Method::RungeKutta => {
                let k1 = start.velocity(simd, anatomy, &limbs[0], p, scratch);
                let k2 = middle.velocity(simd, anatomy, &limbs[1], k1.mul_add(half, p), scratch);
                let k3 = middle.velocity(simd, anatomy, &limbs[1], k2.mul_add(half, p), scratch);
                let k4 = end.velocity(simd, anatomy, &limbs[2], k3.mul_add(whole, p), scratch);
                let sum = k2.add(k3).mul_add(splat::<S, T>(simd, T::of(2.0)), k1.add(k4));
                sum.mul_add(whole * splat::<S, T>(simd, T::of(1.0 / 6.0)), p)
            }
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
        dispatch!(Level::new(), simd => {
            let p = Wide3::load(simd, &row, 0);
            step.stages[0].velocity(simd, anatomy, &step.limbs[0], p, scratch).store(&mut row, 0);
        });
        anatomy.unit.back().transform_vector3(lane(&row, 0))
    }

    /// The most that any of these points ([`Anatomy::probes`]) is strained on its way, per unit of it: `Σ‖v_i − v̄‖·‖∇w_i‖`,
    /// which for two limbs is `‖v_i − v_k‖·‖∇w‖`, in the middle of every step. Of ways of second order.
    pub fn strain(
        &self,
        anatomy: &Anatomy,
        level: Level,
        points: &[PointsOf<T>],
        scratch: &mut PointScratch<T>,
    ) -> f64 {
        let mut most: f64 = 0.0;
        for points in points {
            let mut strains = [T::default(); LANES];
            dispatch!(level, simd => self.strain_row(simd, anatomy, points, &mut strains, scratch));
            let strains = strains.into_iter().map(T::to_f64);
            most = strains.filter(|strain| strain.is_finite()).fold(most, f64::max);
        }
        most
    }

    #[inline(always)]
    fn strain_row<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        points: &PointsOf<T>,
        out: &mut Row<T>,
        scratch: &mut PointScratch<T>,
    ) {
        for at in (0..LANES).step_by(T::Wide::<S>::LEN) {
            let mut p = Wide3::load(simd, points, at);
            let mut most = splat::<S, T>(simd, T::default());
            for step in &self.steps[..self.count] {
                let half = match step.limbs[0].rigid {
                    true => step.half_way::<S, Twisting<S, T>>(simd, anatomy, p, scratch),
                    false => step.half_way::<S, Affine<S, T>>(simd, anatomy, p, scratch),
                };
                most = most.max(step.stages[1].strain(simd, anatomy, &step.limbs[0], half, scratch));
                p = self.step(simd, anatomy, step, p, scratch);
            }
            store::<S, T>(most, out, at);
        }
    }
}

impl<T: Real> Step<T> {
    /// The predictor.
    #[inline(always)]
    fn half_way<S: Simd, F: Field<S, T>>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        p: Wide3<S, T>,
        scratch: &mut PointScratch<T>,
    ) -> Wide3<S, T> {
        let (field, b) = self.stages[0].blend::<S, F>(simd, anatomy, &self.limbs[0], p, scratch);
        field.flow(simd, self.half, b.mul_add(splat::<S, T>(simd, self.half), p))
    }

    #[inline(always)]
    fn second_order<S: Simd, F: Field<S, T>>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        p: Wide3<S, T>,
        scratch: &mut PointScratch<T>,
    ) -> Wide3<S, T> {
        let half_way = self.half_way::<S, F>(simd, anatomy, p, scratch);
        let (field, b) = self.stages[1].blend::<S, F>(simd, anatomy, &self.limbs[0], half_way, scratch);
        let half_way = field.flow(simd, self.half, p);
        field.flow(simd, self.half, b.mul_add(splat::<S, T>(simd, self.dl), half_way))
    }
}

impl<T: Real> Stage<T> {
    /// `Σ w_i A_i` and the volume term at `p`.
    #[inline(always)]
    fn blend<S: Simd, F: Field<S, T>>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        limbs: &Affines<T>,
        p: Wide3<S, T>,
        scratch: &mut PointScratch<T>,
    ) -> (F, Wide3<S, T>) {
        let has_volume = !anatomy.passes.is_empty();
        let total = self.limbs.evaluate(simd, &anatomy.limbs, p, has_volume, &mut scratch.values);
        let per_total = splat::<S, T>(simd, T::of(1.0)) / total.m;
        let mut b = Wide3::zero(simd);
        let fields = self.fields.chunks_exact(anatomy.joints.len().max(1));
        for (pass, fields) in anatomy.passes.iter().zip(fields) {
            b = volume(simd, anatomy, pass, fields, p, total, per_total, scratch).mul_add(per_total, b);
        }
        (F::blend(simd, limbs, &scratch.values.m, per_total), b)
    }

    #[inline(always)]
    fn velocity<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        limbs: &Affines<T>,
        p: Wide3<S, T>,
        scratch: &mut PointScratch<T>,
    ) -> Wide3<S, T> {
        if limbs.rigid {
            let (field, b) = self.blend::<S, Twisting<S, T>>(simd, anatomy, limbs, p, scratch);
            return field.at(p).add(b);
        }
        let (field, b) = self.blend::<S, Affine<S, T>>(simd, anatomy, limbs, p, scratch);
        field.at(p).add(b)
    }

    /// `Σ‖v_i − v̄‖·‖∇w_i‖`.
    #[inline(always)]
    fn strain<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        limbs: &Affines<T>,
        p: Wide3<S, T>,
        scratch: &mut PointScratch<T>,
    ) -> T::Wide<S> {
        let values = &mut scratch.values;
        let total = self.limbs.evaluate(simd, &anatomy.limbs, p, true, values);
        let per_total = splat::<S, T>(simd, T::of(1.0)) / total.m;
        let mut mean = Wide3::zero(simd);
        for (limb, m) in values.m.iter().enumerate() {
            mean = limbs.of_limb(simd, limb, p).mul_add(load::<S, T>(simd, m, 0) * per_total, mean);
        }
        let mut sum = splat::<S, T>(simd, T::default());
        for (limb, (m, gradient)) in values.m.iter().zip(&values.gradients).enumerate() {
            let w = load::<S, T>(simd, m, 0) * per_total;
            let gradient = total.gradient.mul_add(-w, Wide3::load(simd, gradient, 0)).scale(per_total);
            let apart = limbs.of_limb(simd, limb, p).sub(mean);
            sum = (gradient.dot(gradient) * apart.dot(apart)).sqrt() + sum;
        }
        sum
    }
}

/// `M b`: one pass over the joints, each with what it carries.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "what is read at one point")]
fn volume<S: Simd, T: Real>(
    simd: S,
    anatomy: &Anatomy,
    pass: &Pass,
    fields: &[Option<JointField<T>>],
    p: Wide3<S, T>,
    total: Total<S, T>,
    per_total: T::Wide<S>,
    scratch: &mut PointScratch<T>,
) -> Wide3<S, T> {
    let PointScratch { values, carried } = scratch;
    carried.resize(anatomy.joints.len(), ([[T::default(); LANES]; 3], [T::default(); LANES]));
    let zero = Wide3::<S, T>::zero(simd);
    let (mut turned, mut weighted) = (zero, zero);
    let (mut gradient, mut m) = (zero, zero.x);
    for (j, (branch, field)) in anatomy.branches.iter().zip(fields).enumerate().rev() {
        if !branch.chained {
            (gradient, m) = (zero, zero.x);
        }
        if branch.gathers {
            let (left, left_m) = &carried[j];
            (gradient, m) = (gradient.add(Wide3::load(simd, left, 0)), m + load::<S, T>(simd, left_m, 0));
        }
        if let Some(limb) = branch.limb {
            let own = Wide3::load(simd, &values.gradients[limb], 0);
            let own_m = load::<S, T>(simd, &values.m[limb], 0);
            (gradient, m) = match &pass.shares {
                None => (gradient.add(own), m + own_m),
                Some(shares) => {
                    let share = splat::<S, T>(simd, T::of(shares[limb]));
                    (own.mul_add(share, gradient), own_m.mul_add(share, m))
                }
            };
        }
        if let Some(field) = field {
            let potential = field.potential(simd, p);
            turned = gradient.cross_add(potential, turned);
            weighted = potential.mul_add(m, weighted);
        }
        match branch.to {
            Handing::Nobody | Handing::Directly => {}
            Handing::First(parent) => {
                gradient.store(&mut carried[parent].0, 0);
                store::<S, T>(m, &mut carried[parent].1, 0);
            }
            Handing::Another(parent) => {
                let (left, left_m) = &mut carried[parent];
                gradient.add(Wide3::load(simd, left, 0)).store(left, 0);
                store::<S, T>(m + load::<S, T>(simd, left_m, 0), left_m, 0);
            }
        }
    }
    weighted.scale(per_total).cross_add(total.gradient, turned)
}

/// Share of the volume term for a joint that turns by `angle`.
fn volume_share(angle: f64) -> f64 {
    let beyond = ((angle - FULL_VOLUME) / (std::f64::consts::PI - FULL_VOLUME)).clamp(0.0, 1.0);
    let smooth = beyond * beyond * (3.0 - 2.0 * beyond);
    1.0 - (1.0 - LEAST_VOLUME) * smooth
}
