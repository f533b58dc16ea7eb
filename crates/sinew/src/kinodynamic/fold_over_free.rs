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
//! Where a joint bends far there is no room for the volume it displaces: beyond [`FULL_VOLUME`] its part of b is reduced,
//! to [`LEAST_VOLUME`] at a half turn.
//! Oracle: divergence by central differences; determinant of the Jacobian at 150°; volume of a closed tube at 90° and its
//! order of convergence; a point that one limb owns ends where the limb puts it.

use super::fractional::Generator;
use super::pose_path::{Joint, PosePath};
use super::tissue::{Limb, PosedLimbs, Weights};
use glam::{DAffine3, DVec3};

/// How the way is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The paper's: first order.
    Euler,
    /// Exact on rigid parts, second order elsewhere.
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

/// Joints and limbs of a character, in bind space.
///
/// # Invariants
/// Parents come before their children; every limb names a joint.
#[derive(Clone, Debug)]
pub(crate) struct Anatomy {
    joints: Vec<Joint>,
    limbs: Vec<Limb>,
}

impl Anatomy {
    /// `None` unless the invariants hold.
    pub fn new(joints: Vec<Joint>, limbs: Vec<Limb>) -> Option<Self> {
        let sorted = joints.iter().enumerate().all(|(index, joint)| joint.parent.is_none_or(|parent| parent < index));
        let known = limbs.iter().all(|limb| limb.joint < joints.len());
        (sorted && known).then_some(Self { joints, limbs })
    }

    /// Bind pose of the first joint, relative to which ways end.
    pub fn first_bind(&self) -> Option<DAffine3> {
        self.joints.first().map(|joint| joint.bind)
    }
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
    /// `∇a × [θ(q·n)q_⊥ + ½ v_o×q] + ∇b × [½ v_o×q − ½θ‖q_⊥‖² n]`, ∇a and ∇b sums of α∇w and β∇w.
    fn volume(&self, p: DVec3, alpha: DVec3, beta: DVec3) -> DVec3 {
        let q = p - self.origin;
        let along = q.dot(self.axis);
        let across = q - self.axis * along;
        let slide = self.velocity.cross(q) * 0.5;
        alpha.cross(across * (self.angular * along) + slide)
            + beta.cross(slide - self.axis * (0.5 * self.angular * across.length_squared()))
    }
}

/// One place of the way.
#[derive(Clone, Debug, Default)]
struct Stage {
    limbs: PosedLimbs,
    /// Per joint, where it moves and there is a volume term.
    fields: Vec<Option<JointField>>,
}

/// One step of the way.
#[derive(Clone, Debug, Default)]
struct Step {
    /// At its start, middle and end, as far as the method asks.
    stages: [Stage; 3],
    /// Per limb: its velocity over the step (second order), or at the stages (Runge–Kutta).
    velocities: [Vec<Generator>; 3],
    /// Per limb: from the start of the step to its end (Euler).
    increments: Vec<DAffine3>,
}

/// The way to one pose, ready to carry points.
#[derive(Clone, Debug)]
pub(crate) struct Passage {
    method: Method,
    steps: Vec<Step>,
    dl: f64,
    has_volume: bool,
}

/// Memory for one point.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointScratch {
    weights: Weights,
    alpha: Vec<DVec3>,
    beta: Vec<DVec3>,
}

impl Passage {
    /// The way to the pose in which joint j stands at `world[j]`, in any frame; it ends where the first joint is still in
    /// its bind pose.
    pub fn new(anatomy: &Anatomy, world: &[DAffine3], method: Method, steps: usize) -> Self {
        Self::way(anatomy, world, method, 0.0, steps)
    }

    /// From `start` of the way to its end.
    fn way(anatomy: &Anatomy, world: &[DAffine3], method: Method, start: f64, steps: usize) -> Self {
        let steps = steps.max(1);
        let dl = (1.0 - start) / steps as f64;
        let mut path = PosePath::default();
        path.set(&anatomy.joints, world);
        let has_volume = anatomy.limbs.iter().any(|limb| limb.alpha != 0.0 || limb.beta != 0.0);
        let at = |l: f64| {
            let mut here = Vec::new();
            path.at(l, &mut here);
            here
        };
        let stage = |l: f64| {
            let here = at(l);
            let back = |limb: &Limb| {
                let back = anatomy.joints[limb.joint].bind * here[limb.joint].inverse();
                if back.is_finite() { back } else { DAffine3::IDENTITY }
            };
            let field = |j: usize| {
                let share = volume_share(path.angle(j));
                let field = path.joint_field(j, &here);
                let (origin, angular) = (here[j].translation, field.angular());
                let velocity = field.at(origin) * share;
                let moves = angular != DVec3::ZERO || velocity != DVec3::ZERO;
                let axis = angular.normalize_or_zero();
                (has_volume && moves).then_some(JointField {
                    origin,
                    axis,
                    angular: angular.length() * share,
                    velocity,
                })
            };
            let back: Vec<DAffine3> = anatomy.limbs.iter().map(back).collect();
            Stage {
                limbs: PosedLimbs::new(&anatomy.limbs, &back),
                fields: (0..anatomy.joints.len()).map(field).collect(),
            }
        };
        let between = |from: f64, to: f64| {
            let (from, to) = (at(from), at(to));
            let increment = |limb: &Limb| {
                let increment = to[limb.joint] * from[limb.joint].inverse();
                if increment.is_finite() { increment } else { DAffine3::IDENTITY }
            };
            anatomy.limbs.iter().map(increment).collect::<Vec<_>>()
        };
        let velocities = |from: f64, to: f64| {
            let per = 1.0 / (to - from);
            between(from, to).into_iter().map(|increment| Generator::log(increment).times(per)).collect::<Vec<_>>()
        };
        let instant = |l: f64| velocities(l - INSTANT, l + INSTANT);
        let step = |k: usize| {
            let from = start + k as f64 * dl;
            // The last step ends at the pose itself.
            let to = if k + 1 == steps { 1.0 } else { from + dl };
            let middle = 0.5 * (from + to);
            match method {
                Method::Euler => Step {
                    stages: [stage(from), Stage::default(), Stage::default()],
                    increments: between(from, to),
                    ..Step::default()
                },
                Method::SecondOrder => Step {
                    stages: [stage(from), stage(middle), Stage::default()],
                    velocities: [velocities(from, to), Vec::new(), Vec::new()],
                    ..Step::default()
                },
                Method::RungeKutta => Step {
                    stages: [from, middle, to].map(stage),
                    velocities: [from, middle, to].map(instant),
                    ..Step::default()
                },
            }
        };
        Self { method, steps: (0..steps).map(step).collect(), dl, has_volume }
    }

    /// Takes a point of the bind pose all the way.
    pub fn carry(&self, anatomy: &Anatomy, p: DVec3, scratch: &mut PointScratch) -> DVec3 {
        let mut p = p;
        for step in &self.steps {
            p = self.step(anatomy, step, p, scratch);
        }
        p
    }

    fn step(&self, anatomy: &Anatomy, step: &Step, p: DVec3, scratch: &mut PointScratch) -> DVec3 {
        let (dl, [start, middle, end]) = (self.dl, &step.stages);
        match self.method {
            Method::Euler => {
                let b = self.prepare(anatomy, start, p, scratch);
                let follow = |(w, increment): (&f64, &DAffine3)| increment.transform_point3(p) * *w;
                scratch.weights.w.iter().zip(&step.increments).map(follow).sum::<DVec3>() + b * dl
            }
            Method::SecondOrder => {
                let b = self.prepare(anatomy, start, p, scratch);
                let half = blended(&scratch.weights.w, &step.velocities[0]).flow(0.5 * dl, p + b * (0.5 * dl));
                let b = self.prepare(anatomy, middle, half, scratch);
                let field = blended(&scratch.weights.w, &step.velocities[0]);
                field.flow(0.5 * dl, field.flow(0.5 * dl, p) + b * dl)
            }
            Method::RungeKutta => {
                let mut velocity = |stage: &Stage, limbs: &[Generator], p: DVec3| {
                    let b = self.prepare(anatomy, stage, p, scratch);
                    blended(&scratch.weights.w, limbs).at(p) + b
                };
                let [at_start, at_middle, at_end] = &step.velocities;
                let k1 = velocity(start, at_start, p);
                let k2 = velocity(middle, at_middle, p + k1 * (0.5 * dl));
                let k3 = velocity(middle, at_middle, p + k2 * (0.5 * dl));
                let k4 = velocity(end, at_end, p + k3 * dl);
                p + (k1 + (k2 + k3) * 2.0 + k4) * (dl / 6.0)
            }
        }
    }

    /// Weights at `p` into the scratch; the volume term.
    fn prepare(&self, anatomy: &Anatomy, stage: &Stage, p: DVec3, scratch: &mut PointScratch) -> DVec3 {
        scratch.weights.evaluate(&stage.limbs, p, self.has_volume);
        if !self.has_volume {
            return DVec3::ZERO;
        }
        let PointScratch { weights, alpha, beta } = scratch;
        for sums in [&mut *alpha, &mut *beta] {
            sums.clear();
            sums.resize(anatomy.joints.len(), DVec3::ZERO);
        }
        for (limb, &gradient) in anatomy.limbs.iter().zip(&weights.gradients) {
            alpha[limb.joint] += gradient * limb.alpha;
            beta[limb.joint] += gradient * limb.beta;
        }
        let mut b = DVec3::ZERO;
        for (j, joint) in anatomy.joints.iter().enumerate().rev() {
            if let Some(field) = &stage.fields[j] {
                b += field.volume(p, alpha[j], beta[j]);
            }
            if let Some(parent) = joint.parent {
                alpha[parent] = alpha[parent] + alpha[j];
                beta[parent] = beta[parent] + beta[j];
            }
        }
        b
    }

    /// The velocity at one place of the way, per unit of it.
    #[cfg(test)]
    pub fn velocity(anatomy: &Anatomy, world: &[DAffine3], l: f64, p: DVec3, scratch: &mut PointScratch) -> DVec3 {
        // The reference's first stage of a way that starts at l.
        let way = Self::way(anatomy, world, Method::RungeKutta, l, 1);
        let step = &way.steps[0];
        let b = way.prepare(anatomy, &step.stages[0], p, scratch);
        blended(&scratch.weights.w, &step.velocities[0]).at(p) + b
    }

    /// Steps that the bound `dl·Σ‖v_i − v̄‖·‖∇w_i‖ ≤ ½` asks for at points of the bind pose; for two limbs the sum is
    /// `‖v_i − v_k‖·‖∇w‖`.
    pub fn steps_needed(anatomy: &Anatomy, world: &[DAffine3], points: impl Iterator<Item = DVec3>) -> usize {
        let whole = Self::new(anatomy, world, Method::SecondOrder, 1);
        let Some(step) = whole.steps.first() else { return 1 };
        let mut weights = Weights::default();
        let mut most: f64 = 0.0;
        for p in points {
            weights.evaluate(&step.stages[0].limbs, p, true);
            let mean = blended(&weights.w, &step.velocities[0]).at(p);
            let strain = weights.gradients.iter().zip(&step.velocities[0]);
            let strain = strain.map(|(gradient, limb)| gradient.length() * (limb.at(p) - mean).length());
            most = most.max(strain.sum());
        }
        ((2.0 * most).min(1024.0).ceil() as usize).max(1)
    }
}

/// Share of the volume term for a joint that turns by `angle`.
fn volume_share(angle: f64) -> f64 {
    let beyond = ((angle - FULL_VOLUME) / (std::f64::consts::PI - FULL_VOLUME)).clamp(0.0, 1.0);
    let smooth = beyond * beyond * (3.0 - 2.0 * beyond);
    1.0 - (1.0 - LEAST_VOLUME) * smooth
}

fn blended(w: &[f64], velocities: &[Generator]) -> Generator {
    let mut sum = Generator::ZERO;
    for (&w, velocity) in w.iter().zip(velocities) {
        sum.add_times(w, velocity);
    }
    sum
}
