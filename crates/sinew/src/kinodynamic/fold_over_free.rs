//! Fold-over-free kinematic skinning with a volume term: points follow the bones from the bind pose to the pose.
//!
//! Source: KD 4.1–4.2, METHODS 6. Along the way l the velocity is `Σ w_i(p, l) ξ_i p + b`, with weights that belong to
//! places in space, not to vertices: two points that meet move alike, so the skin cannot pass through itself.
//! `b = Σ_i Σ_{j∈A(i)} ∇w_i × A_ij`; joint j moves what it carries by `ω×q + v_o`, q = p − o from its current origin o:
//! `A = αθ(q·n)q_⊥ − ½βθ‖q_⊥‖² n + ½(α+β) v_o×q`, ω = θn. The whole is divergence-free where α + β = 1.
//! Gradients are summed from the leaves up, so that each joint is met once.
//!
//! | steps | |
//! |---|---|
//! | Euler | `p ← Σ w_i [L_i(l+dl) L_i(l)⁻¹] p + dl b` (the paper's) |
//! | second order | `ξ_i = log(L_i(l+dl) L_i(l)⁻¹)/dl`; `p_m = exp(½dl Σw_iξ_i)(p + ½dl b)`; with w, b at (p_m, l+½dl) and `H = exp(½dl Σw_iξ_i)`: `p ← H(Hp + dl b)` |
//! | Runge–Kutta | the classical fourth order on the velocity: the reference |
//!
//! Points are carried four at a time. Steps need not divide the way: the last is what is left of it, so that their number
//! may follow the bend from frame to frame without a jump.
//! Where a joint bends far there is no room for the volume it displaces: beyond [`FULL_VOLUME`] its part of b is reduced,
//! to [`LEAST_VOLUME`] at a half turn.
//! Oracle: divergence by central differences; determinant of the Jacobian at 150°; volume of a closed tube at 90° and its
//! order of convergence; a point that one limb owns ends where the limb puts it.

use super::fractional::Generator;
use super::pose_path::{Joint, PosePath};
use super::quad::{Four, PointQuad, Q3, QUAD, lane, set_lane};
use super::tissue::{Limb, PosedLimbs, Total, Values};
use crate::simd::{Level, Simd, dispatch, f64x4, prelude::*};
use glam::{DAffine3, DVec3};

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
}

/// A part of the volume term that is summed over limbs by one share for each: all of it where α and β are the same
/// everywhere, else one for α and one for β.
#[derive(Clone, Debug)]
struct Pass {
    shares: Vec<f64>,
    turn: f64,
    sink: f64,
    slide: f64,
}

impl Pass {
    fn all(limbs: &[Limb]) -> Vec<Self> {
        let Some(&Limb { alpha, beta, .. }) = limbs.first() else { return Vec::new() };
        if limbs.iter().all(|limb| limb.alpha == alpha && limb.beta == beta) {
            let (shares, slide) = (vec![1.0; limbs.len()], alpha + beta);
            return if slide == 0.0 { Vec::new() } else { vec![Self { shares, turn: alpha, sink: beta, slide }] };
        }
        let (alphas, betas) = limbs.iter().map(|limb| (limb.alpha, limb.beta)).unzip();
        vec![
            Self { shares: alphas, turn: 1.0, sink: 0.0, slide: 1.0 },
            Self { shares: betas, turn: 0.0, sink: 1.0, slide: 1.0 },
        ]
    }
}

/// How a joint hands what it carries to its parent, from the last joint to the first.
#[derive(Clone, Copy, Debug, Default)]
struct Branch {
    parent: Option<usize>,
    limb: Option<usize>,
    has_children: bool,
    /// Of several children the last comes first, and sets what the others add to.
    comes_first: bool,
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
            if let Some(parent) = joint.parent {
                branches[index].parent = Some(parent);
                branches[index].comes_first = !branches[parent].has_children;
                branches[parent].has_children = true;
            }
        }
        let passes = Pass::all(&limbs);
        Some(Self { joints, limbs, branches, passes })
    }

    /// The points of the bind pose that bends strain most: for each limb, those where its weight changes fastest, times their
    /// distance from the nearest joint, which is what a turn moves them by. Lanes that are left over repeat the first.
    pub fn probes(&self, points: &[DVec3]) -> Vec<PointQuad> {
        let mut limbs = PosedLimbs::default();
        limbs.set(&self.limbs, self.limbs.iter().map(|_| DAffine3::IDENTITY));
        let mut steep: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.limbs.len()];
        let (mut values, mut total, mut total_gradient) = (Values::default(), [0.0; QUAD], [[0.0; QUAD]; 3]);
        for (start, quad) in (0..points.len()).step_by(QUAD).map(|start| (start, quad_at(points, start))) {
            dispatch!(Level::new(), simd => {
                let sums = limbs.evaluate(simd, &self.limbs, Q3::load(simd, &quad), true, &mut values);
                sums.m.store_array(&mut total);
                sums.gradient.store(&mut total_gradient);
            });
            let arms: Four = std::array::from_fn(|index| {
                let distance = |joint: &Joint| joint.bind.translation.distance(lane(&quad, index));
                self.joints.iter().map(distance).fold(f64::INFINITY, f64::min)
            });
            for (steep, (m, gradient)) in steep.iter_mut().zip(values.m.iter().zip(&values.gradients)) {
                for index in 0..QUAD.min(points.len() - start) {
                    let w = m[index] / total[index];
                    let slope = (lane(gradient, index) - lane(&total_gradient, index) * w).length() / total[index];
                    steep.push((slope * arms[index], start + index));
                }
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
        (0..chosen.len()).step_by(QUAD).map(|start| quad_at(&chosen, start)).collect()
    }

    /// Bind pose of the first joint, relative to which ways end.
    pub fn first_bind(&self) -> Option<DAffine3> {
        self.joints.first().map(|joint| joint.bind)
    }
}

/// Four points from `start` on; lanes beyond the last take the first of them.
fn quad_at(points: &[DVec3], start: usize) -> PointQuad {
    let mut quad = [[0.0; QUAD]; 3];
    for index in 0..QUAD {
        set_lane(&mut quad, index, *points.get(start + index).unwrap_or(&points[start]));
    }
    quad
}

/// What a joint does at one place of the way: its field about its own origin.
#[derive(Clone, Copy, Debug)]
struct JointField {
    origin: DVec3,
    axis: DVec3,
    angular: f64,
    velocity: DVec3,
}

impl JointField {
    /// `∇a × [turn·θ(q·n)q_⊥ − sink·½θ‖q_⊥‖² n + ½slide·v_o×q]`, ∇a the sum of what the joint carries.
    #[inline(always)]
    fn volume<S: Simd>(&self, simd: S, p: Q3<S>, carried: Q3<S>, pass: &Pass) -> Q3<S> {
        let (q, axis) = (p.sub(Q3::splat(simd, self.origin)), Q3::splat(simd, self.axis));
        let along = q.dot(axis);
        let across = axis.mul_add(-along, q);
        let turn = along * f64x4::splat(simd, pass.turn * self.angular);
        let sunk = across.dot(across) * f64x4::splat(simd, -0.5 * pass.sink * self.angular);
        let mut potential = axis.mul_add(sunk, across.scale(turn));
        // A plain hinge does not slide.
        if self.velocity != DVec3::ZERO {
            potential = potential.add(Q3::splat(simd, self.velocity * (0.5 * pass.slide)).cross(q));
        }
        carried.cross(potential)
    }
}

/// One place of the way.
#[derive(Clone, Debug, Default)]
struct Stage {
    limbs: PosedLimbs,
    /// Per joint, where it moves and there is a volume term.
    fields: Vec<Option<JointField>>,
}

impl Stage {
    fn set(&mut self, anatomy: &Anatomy, path: &PosePath, here: &[DAffine3]) {
        let back = |limb: &Limb| {
            let back = anatomy.joints[limb.joint].bind * here[limb.joint].inverse();
            if back.is_finite() { back } else { DAffine3::IDENTITY }
        };
        self.limbs.set(&anatomy.limbs, anatomy.limbs.iter().map(back));
        self.fields.clear();
        let field = |j: usize| {
            let share = volume_share(path.angle(j));
            let field = path.joint_field(j, here);
            let (origin, angular) = (here[j].translation, field.angular());
            let velocity = field.at(origin) * share;
            let moves = angular != DVec3::ZERO || velocity != DVec3::ZERO;
            let axis = angular.normalize_or_zero();
            moves.then_some(JointField { origin, axis, angular: angular.length() * share, velocity })
        };
        if !anatomy.passes.is_empty() {
            self.fields.extend((0..anatomy.joints.len()).map(field));
        }
    }
}

/// An affine map per limb, column by column: sums over limbs then stay in registers. Where all are velocities of rigid
/// motion they are kept as twists: angular, then linear.
#[derive(Clone, Debug, Default)]
struct Affines {
    columns: [Vec<DVec3>; 4],
    rigid: bool,
}

impl Affines {
    fn set(&mut self, maps: impl Iterator<Item = DAffine3> + Clone) {
        let skew = |map: DAffine3| map.matrix3.transpose() == -map.matrix3;
        self.rigid = maps.clone().all(skew);
        self.columns.iter_mut().for_each(Vec::clear);
        for map in maps {
            let matrix = map.matrix3;
            let mut columns = [matrix.x_axis, matrix.y_axis, matrix.z_axis, map.translation];
            if self.rigid {
                columns[0] = DVec3::new(matrix.y_axis.z, matrix.z_axis.x, matrix.x_axis.y);
                columns[1] = map.translation;
            }
            self.columns.iter_mut().zip(columns).for_each(|(to, column)| to.push(column));
        }
    }

    /// `Σ w_i c_i` of one column, `w_i = m_i/Σm`.
    #[inline(always)]
    fn blended<S: Simd>(&self, simd: S, column: usize, m: &[Four], per_total: f64x4<S>) -> Q3<S> {
        let mut sum = Q3::splat(simd, DVec3::ZERO);
        for (m, &value) in m.iter().zip(&self.columns[column]) {
            sum = Q3::splat(simd, value).mul_add(f64x4::load_array_ref(simd, m), sum);
        }
        sum.scale(per_total)
    }

    /// The map of one limb at `p`.
    #[inline(always)]
    fn of_limb<S: Simd>(&self, simd: S, limb: usize, p: Q3<S>) -> Q3<S> {
        let [x, y, z, t] = &self.columns;
        if self.rigid {
            return Q3::splat(simd, x[limb]).cross(p).add(Q3::splat(simd, y[limb]));
        }
        let (x, y) = (Q3::splat(simd, x[limb]), Q3::splat(simd, y[limb]));
        let (z, t) = (Q3::splat(simd, z[limb]), Q3::splat(simd, t[limb]));
        Affine { x, y, z, t }.at(p)
    }
}

/// A velocity field per lane, blended from those of the limbs.
trait Field<S: Simd>: Copy {
    fn blend(simd: S, limbs: &Affines, m: &[Four], per_total: f64x4<S>) -> Self;
    fn at(&self, p: Q3<S>) -> Q3<S>;
    /// Where its flow over a time of `t` takes `p`.
    fn flow(&self, simd: S, t: f64, p: Q3<S>) -> Q3<S>;
}

/// Any affine field.
#[derive(Clone, Copy)]
struct Affine<S: Simd> {
    x: Q3<S>,
    y: Q3<S>,
    z: Q3<S>,
    t: Q3<S>,
}

impl<S: Simd> Field<S> for Affine<S> {
    #[inline(always)]
    fn blend(simd: S, limbs: &Affines, m: &[Four], per_total: f64x4<S>) -> Self {
        Self {
            x: limbs.blended(simd, 0, m, per_total),
            y: limbs.blended(simd, 1, m, per_total),
            z: limbs.blended(simd, 2, m, per_total),
            t: limbs.blended(simd, 3, m, per_total),
        }
    }

    #[inline(always)]
    fn at(&self, p: Q3<S>) -> Q3<S> {
        self.z.mul_add(p.z, self.y.mul_add(p.y, self.x.mul_add(p.x, self.t)))
    }

    /// By the exponential series: to the last bit of what half a radian needs.
    #[inline(always)]
    fn flow(&self, simd: S, t: f64, p: Q3<S>) -> Q3<S> {
        let mut term = self.at(p).scale(f64x4::splat(simd, t));
        let mut sum = p.add(term);
        for k in 2..=FLOW_TERMS {
            let turned = self.z.mul_add(term.z, self.y.mul_add(term.y, self.x.scale(term.x)));
            term = turned.scale(f64x4::splat(simd, t / f64::from(k)));
            sum = sum.add(term);
        }
        sum
    }
}

/// A field of rigid motion: `angular × p + linear`.
#[derive(Clone, Copy)]
struct Twisting<S: Simd> {
    angular: Q3<S>,
    linear: Q3<S>,
}

impl<S: Simd> Field<S> for Twisting<S> {
    #[inline(always)]
    fn blend(simd: S, limbs: &Affines, m: &[Four], per_total: f64x4<S>) -> Self {
        Self { angular: limbs.blended(simd, 0, m, per_total), linear: limbs.blended(simd, 1, m, per_total) }
    }

    #[inline(always)]
    fn at(&self, p: Q3<S>) -> Q3<S> {
        self.angular.cross(p).add(self.linear)
    }

    /// `p + t v + (1−cos θ)/θ² t² ω×v + (θ−sin θ)/θ³ t³ ω×(ω×v)`, v the velocity at p and θ = t|ω|, by the series of both
    /// quotients: to the last bit of what half a radian needs.
    #[inline(always)]
    fn flow(&self, simd: S, t: f64, p: Q3<S>) -> Q3<S> {
        let turn = self.angular.scale(f64x4::splat(simd, t));
        let square = turn.dot(turn);
        let (mut a, mut b) = (f64x4::splat(simd, 0.0), f64x4::splat(simd, 0.0));
        for (of_a, of_b) in QUOTIENTS {
            a = a.mul_add(square, f64x4::splat(simd, of_a));
            b = b.mul_add(square, f64x4::splat(simd, of_b));
        }
        let moved = self.at(p).scale(f64x4::splat(simd, t));
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
struct Step {
    dl: f64,
    /// At its start, middle and end, as far as the method asks.
    stages: [Stage; 3],
    /// Per limb: from the start of the step to its end (Euler), its velocity over the step (second order), or at the stages
    /// (Runge–Kutta).
    limbs: [Affines; 3],
}

/// The way to one pose, ready to carry points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passage {
    method: Method,
    steps: Vec<Step>,
    path: PosePath,
    /// Of all joints at the starts and middles of the steps, and at the end.
    here: Vec<Vec<DAffine3>>,
}

/// Memory for four points.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuadScratch {
    values: Values,
    /// Per joint, of what it carries: Σ∇m and Σm, each limb with its share.
    carried: Vec<[Four; 4]>,
}

impl Passage {
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
        let Self { path, here, .. } = self;
        self.method = method;
        path.set(&anatomy.joints, world);
        // The last step ends at the pose itself.
        let end = |k: usize| if k == count { 1.0 } else { start + k as f64 * dl };
        here.resize_with(2 * count + 1, Vec::new);
        for (node, here) in here.iter_mut().enumerate() {
            let l = if node % 2 == 0 { end(node / 2) } else { 0.5 * (end(node / 2) + end(node / 2 + 1)) };
            path.at(l, here);
        }
        let increments = |from: &[DAffine3], to: &[DAffine3]| -> Vec<DAffine3> {
            let increment = |limb: &Limb| {
                let increment = to[limb.joint] * from[limb.joint].inverse();
                if increment.is_finite() { increment } else { DAffine3::IDENTITY }
            };
            anatomy.limbs.iter().map(increment).collect()
        };
        let velocities = |from: &[DAffine3], to: &[DAffine3], per: f64| {
            let velocity = |increment| Generator::log(increment).times(per).into();
            increments(from, to).into_iter().map(velocity).collect::<Vec<DAffine3>>().into_iter()
        };
        self.steps.resize_with(count, Step::default);
        for (k, step) in self.steps.iter_mut().enumerate() {
            let nodes = [2 * k, 2 * k + 1, 2 * k + 2];
            let [from, middle, to] = nodes.map(|node| here[node].as_slice());
            step.dl = end(k + 1) - end(k);
            step.stages[0].set(anatomy, path, from);
            match method {
                Method::Euler => step.limbs[0].set(increments(from, to).into_iter()),
                Method::SecondOrder => {
                    step.stages[1].set(anatomy, path, middle);
                    step.limbs[0].set(velocities(from, to, 1.0 / step.dl));
                }
                Method::RungeKutta => {
                    step.stages[1].set(anatomy, path, middle);
                    step.stages[2].set(anatomy, path, to);
                    for (stage, limbs) in step.limbs.iter_mut().enumerate() {
                        let l = end(k) + 0.5 * step.dl * stage as f64;
                        let (mut before, mut after) = (Vec::new(), Vec::new());
                        path.at(l - INSTANT, &mut before);
                        path.at(l + INSTANT, &mut after);
                        limbs.set(velocities(&before, &after, 0.5 / INSTANT));
                    }
                }
            }
        }
    }

    /// Takes points of the bind pose all the way.
    pub fn carry(&self, anatomy: &Anatomy, level: Level, points: &mut PointQuad, scratch: &mut QuadScratch) {
        dispatch!(level, simd => self.carry_quad(simd, anatomy, points, scratch));
    }

    /// As [`Passage::carry`], for any number of points.
    pub fn carry_all(&self, anatomy: &Anatomy, level: Level, points: &mut [DVec3], scratch: &mut QuadScratch) {
        for points in points.chunks_mut(QUAD) {
            let mut quad = quad_at(points, 0);
            self.carry(anatomy, level, &mut quad, scratch);
            points.iter_mut().enumerate().for_each(|(index, p)| *p = lane(&quad, index));
        }
    }

    #[inline(always)]
    fn carry_quad<S: Simd>(&self, simd: S, anatomy: &Anatomy, points: &mut PointQuad, scratch: &mut QuadScratch) {
        let mut p = Q3::load(simd, points);
        for step in &self.steps {
            p = self.step(simd, anatomy, step, p, scratch);
        }
        p.store(points);
    }

    #[inline(always)]
    fn step<S: Simd>(&self, simd: S, anatomy: &Anatomy, step: &Step, p: Q3<S>, scratch: &mut QuadScratch) -> Q3<S> {
        let (dl, [start, middle, end], limbs) = (step.dl, &step.stages, &step.limbs);
        let (whole, half) = (f64x4::splat(simd, dl), f64x4::splat(simd, 0.5 * dl));
        match self.method {
            Method::Euler => {
                let (map, b) = start.blend::<S, Affine<S>>(simd, anatomy, &limbs[0], p, scratch);
                b.mul_add(whole, map.at(p))
            }
            Method::SecondOrder if limbs[0].rigid => step.second_order::<S, Twisting<S>>(simd, anatomy, p, scratch),
            Method::SecondOrder => step.second_order::<S, Affine<S>>(simd, anatomy, p, scratch),
            Method::RungeKutta => {
                let k1 = start.velocity(simd, anatomy, &limbs[0], p, scratch);
                let k2 = middle.velocity(simd, anatomy, &limbs[1], k1.mul_add(half, p), scratch);
                let k3 = middle.velocity(simd, anatomy, &limbs[1], k2.mul_add(half, p), scratch);
                let k4 = end.velocity(simd, anatomy, &limbs[2], k3.mul_add(whole, p), scratch);
                let two = f64x4::splat(simd, 2.0);
                k2.add(k3).mul_add(two, k1.add(k4)).mul_add(f64x4::splat(simd, dl / 6.0), p)
            }
        }
    }

    /// The velocity at one place of the way, per unit of it.
    #[cfg(test)]
    pub fn velocity(anatomy: &Anatomy, world: &[DAffine3], l: f64, p: DVec3, scratch: &mut QuadScratch) -> DVec3 {
        // The reference's first stage of a way that starts at l.
        let mut way = Self::default();
        way.lay_from(anatomy, world, Method::RungeKutta, l, 1.0);
        let step = &way.steps[0];
        let mut out = [[0.0; QUAD]; 3];
        dispatch!(Level::new(), simd => {
            step.stages[0].velocity(simd, anatomy, &step.limbs[0], Q3::splat(simd, p), scratch).store(&mut out);
        });
        lane(&out, 0)
    }

    /// The most that any of these points of the bind pose is strained on its way, per unit of it: `Σ‖v_i − v̄‖·‖∇w_i‖`, which
    /// for two limbs is `‖v_i − v_k‖·‖∇w‖`, in the middle of every step. Of ways of second order.
    pub fn strain(&self, anatomy: &Anatomy, points: &[PointQuad], scratch: &mut QuadScratch) -> f64 {
        let mut most: f64 = 0.0;
        for points in points {
            let mut strains = [0.0; QUAD];
            dispatch!(Level::new(), simd => self.strain_quad(simd, anatomy, points, &mut strains, scratch));
            most = strains.into_iter().filter(|strain| strain.is_finite()).fold(most, f64::max);
        }
        most
    }

    #[inline(always)]
    fn strain_quad<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        points: &PointQuad,
        out: &mut Four,
        scratch: &mut QuadScratch,
    ) {
        let mut p = Q3::load(simd, points);
        let mut most = f64x4::splat(simd, 0.0);
        for step in &self.steps {
            let half = match step.limbs[0].rigid {
                true => step.half_way::<S, Twisting<S>>(simd, anatomy, p, scratch),
                false => step.half_way::<S, Affine<S>>(simd, anatomy, p, scratch),
            };
            most = most.max(step.stages[1].strain(simd, anatomy, &step.limbs[0], half, scratch));
            p = self.step(simd, anatomy, step, p, scratch);
        }
        most.store_array(out);
    }
}

impl Step {
    /// The predictor.
    #[inline(always)]
    fn half_way<S: Simd, F: Field<S>>(&self, simd: S, anatomy: &Anatomy, p: Q3<S>, scratch: &mut QuadScratch) -> Q3<S> {
        let (field, b) = self.stages[0].blend::<S, F>(simd, anatomy, &self.limbs[0], p, scratch);
        field.flow(simd, 0.5 * self.dl, b.mul_add(f64x4::splat(simd, 0.5 * self.dl), p))
    }

    #[inline(always)]
    fn second_order<S: Simd, F: Field<S>>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        p: Q3<S>,
        scratch: &mut QuadScratch,
    ) -> Q3<S> {
        let half_way = self.half_way::<S, F>(simd, anatomy, p, scratch);
        let (field, b) = self.stages[1].blend::<S, F>(simd, anatomy, &self.limbs[0], half_way, scratch);
        let half_way = field.flow(simd, 0.5 * self.dl, p);
        field.flow(simd, 0.5 * self.dl, b.mul_add(f64x4::splat(simd, self.dl), half_way))
    }
}

impl Stage {
    /// `Σ w_i A_i` and the volume term at `p`.
    #[inline(always)]
    fn blend<S: Simd, F: Field<S>>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        limbs: &Affines,
        p: Q3<S>,
        scratch: &mut QuadScratch,
    ) -> (F, Q3<S>) {
        let has_volume = !anatomy.passes.is_empty();
        let total = self.limbs.evaluate(simd, &anatomy.limbs, p, has_volume, &mut scratch.values);
        let per_total = f64x4::splat(simd, 1.0) / total.m;
        let mut b = Q3::splat(simd, DVec3::ZERO);
        for pass in &anatomy.passes {
            b = self.volume(simd, anatomy, pass, p, total, per_total, scratch).mul_add(per_total, b);
        }
        (F::blend(simd, limbs, &scratch.values.m, per_total), b)
    }

    #[inline(always)]
    fn velocity<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        limbs: &Affines,
        p: Q3<S>,
        scratch: &mut QuadScratch,
    ) -> Q3<S> {
        if limbs.rigid {
            let (field, b) = self.blend::<S, Twisting<S>>(simd, anatomy, limbs, p, scratch);
            return field.at(p).add(b);
        }
        let (field, b) = self.blend::<S, Affine<S>>(simd, anatomy, limbs, p, scratch);
        field.at(p).add(b)
    }

    /// `Σ‖v_i − v̄‖·‖∇w_i‖`.
    #[inline(always)]
    fn strain<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        limbs: &Affines,
        p: Q3<S>,
        scratch: &mut QuadScratch,
    ) -> f64x4<S> {
        let values = &mut scratch.values;
        let total = self.limbs.evaluate(simd, &anatomy.limbs, p, true, values);
        let per_total = f64x4::splat(simd, 1.0) / total.m;
        let mut mean = Q3::splat(simd, DVec3::ZERO);
        for (limb, m) in values.m.iter().enumerate() {
            mean = limbs.of_limb(simd, limb, p).mul_add(f64x4::load_array_ref(simd, m) * per_total, mean);
        }
        let mut sum = f64x4::splat(simd, 0.0);
        for (limb, (m, gradient)) in values.m.iter().zip(&values.gradients).enumerate() {
            let w = f64x4::load_array_ref(simd, m) * per_total;
            let gradient = total.gradient.mul_add(-w, Q3::load(simd, gradient)).scale(per_total);
            let apart = limbs.of_limb(simd, limb, p).sub(mean);
            sum = (gradient.dot(gradient) * apart.dot(apart)).sqrt() + sum;
        }
        sum
    }

    /// One pass over the joints, each with what it carries: `Σ∇w = (Σ∇m − Σm/M ∇M)/M`, M the sum over all limbs; times M.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "what is read at one point")]
    fn volume<S: Simd>(
        &self,
        simd: S,
        anatomy: &Anatomy,
        pass: &Pass,
        p: Q3<S>,
        total: Total<S>,
        per_total: f64x4<S>,
        scratch: &mut QuadScratch,
    ) -> Q3<S> {
        let QuadScratch { values, carried } = scratch;
        carried.resize(anatomy.joints.len(), [[0.0; QUAD]; 4]);
        let zero = Q3::splat(simd, DVec3::ZERO);
        let mut b = zero;
        let joints = anatomy.branches.iter().zip(&self.fields).enumerate();
        for (j, (branch, field)) in joints.rev() {
            let (mut gradient, mut m) = (zero, zero.x);
            if branch.has_children {
                (gradient, m) = load(simd, &carried[j]);
            }
            if let Some(limb) = branch.limb {
                let share = f64x4::splat(simd, pass.shares[limb]);
                gradient = Q3::load(simd, &values.gradients[limb]).mul_add(share, gradient);
                m = f64x4::load_array_ref(simd, &values.m[limb]).mul_add(share, m);
            }
            if let Some(field) = field {
                let slope = total.gradient.mul_add(-(m * per_total), gradient);
                b = b.add(field.volume(simd, p, slope, pass));
            }
            if let Some(parent) = branch.parent {
                if !branch.comes_first {
                    let (others, other_m) = load(simd, &carried[parent]);
                    (gradient, m) = (gradient.add(others), m + other_m);
                }
                let [x, y, z, w] = &mut carried[parent];
                gradient.x.store_array(x);
                gradient.y.store_array(y);
                gradient.z.store_array(z);
                m.store_array(w);
            }
        }
        b
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, [x, y, z, m]: &[Four; 4]) -> (Q3<S>, f64x4<S>) {
    let gradient =
        Q3 { x: f64x4::load_array_ref(simd, x), y: f64x4::load_array_ref(simd, y), z: f64x4::load_array_ref(simd, z) };
    (gradient, f64x4::load_array_ref(simd, m))
}

/// Share of the volume term for a joint that turns by `angle`.
fn volume_share(angle: f64) -> f64 {
    let beyond = ((angle - FULL_VOLUME) / (std::f64::consts::PI - FULL_VOLUME)).clamp(0.0, 1.0);
    let smooth = beyond * beyond * (3.0 - 2.0 * beyond);
    1.0 - (1.0 - LEAST_VOLUME) * smooth
}
