//! Springs between neighbours, attachments and bones pull any skinned mesh to one equilibrium (EX 4.2).
//!
//! A point v hangs at a; `s = v − a`, ŝ its direction, λ = ‖s‖ − ‖s⁰‖. Forces are minus the gradient of one energy:
//!
//! | spring | energy | force on i |
//! |---|---|---|
//! | torsion | `½κ_t‖s_i⁰‖‖s_j⁰‖(θ_ij − θ⁰_ij)²` | towards j across ŝ_i, `/ℓ̂_i` |
//! | surface | `½κ_s(‖e‖ − ‖e⁰‖)²` | along the edge |
//! | length | `½κ_l(λ_j − λ_i)²` | along ŝ_i |
//! | absolute | `½κ_a λ²` | along ŝ_i |
//! | bone | `½κ_b‖s⁰‖²∠(s, R_b s⁰)²` | across ŝ_i, `/ℓ̂_i` |
//! | edit | `½κ_e‖v* − v‖²` | to v* |
//!
//! `ℓ̂ = max(‖s‖, ‖s⁰‖/10)` keeps a point that a collapsed skin left on its bone from being thrown away. The absolute
//! spring is ours: differences alone never restore a radius. The thesis measures the bone spring to the bone's line
//! ([`BoneSpring::ToLine`]), which leaves the turn about the bone free, and the skin unwinds on convergence; the
//! default measures it to the whole bind direction. `κ_b = κ_t(h/ℓ)²` (h mean edge, ℓ blend length, ‖s⁰‖ unless given) is
//! what makes the result independent of the resolution.
//!
//! **Step.** `D_i = Σ_j(κ_t max(1, ‖s_j⁰‖/‖s_i⁰‖) + κ_s + κ_l) + κ_a + κ_b + κ_e` bounds the stiffness that i feels, so
//! `v += 0.9 F/D` is stable before anything is tried; where angles are far from linear the step is halved until the
//! energy falls. No step that raises the energy is ever taken: parameters in range cannot diverge.
//!
//! **Acceleration.** The plain iteration carries news by one edge per round. L-BFGS (Nocedal 1980) on the same energy,
//! with `D⁻¹` as its first guess, reaches the same equilibrium in a fraction of the rounds.
//!
//! Oracle: forces against differences of the energy; bind is a fixed point; from rigid, LBS and DQS to the same shape.

use crate::strokes::frames::least_turn;
use crate::topology::Adjacency;
use glam::DVec3;

/// Share of the bound on a point's stiffness that one step uses up.
const SAFETY: f64 = 0.9;
/// Scale vectors shorter than this, in extents of the skin, have no direction.
const NO_LENGTH: f64 = 1e-6;
/// Scale vectors are not taken for shorter than this share of their rest length.
const LEAST_LENGTH: f64 = 0.1;
/// The thesis steps by 1/30.
const FIXED_STEPS: f64 = 30.0;
/// Halvings of a step before the solver gives up: at rounding.
const HALVINGS: u32 = 40;
/// Corrections that L-BFGS remembers.
const MEMORY: usize = 8;

/// How stiff each spring is; all scale-free and not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stiffness {
    /// Between the directions of neighbouring scale vectors.
    pub torsion: f64,
    /// Along edges.
    pub surface: f64,
    /// Between the lengths of neighbouring scale vectors.
    pub length: f64,
    /// Of each scale vector's own length.
    pub absolute: f64,
    /// Of the bind direction, as a multiple of `κ_t(h/ℓ)²`.
    pub bone: f64,
}

impl Stiffness {
    /// As factors: no change.
    pub const ONE: Self = Self { torsion: 1.0, surface: 1.0, length: 1.0, absolute: 1.0, bone: 1.0 };
}

impl Default for Stiffness {
    fn default() -> Self {
        Self { torsion: 1.0, surface: 0.3, length: 0.5, absolute: 1.0, bone: 1.0 }
    }
}

/// What the bone spring holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoneSpring {
    /// The whole direction that the bone gives the scale vector.
    #[default]
    ToBind,
    /// Only its angle to the bone's line, as the thesis has it.
    ToLine,
}

/// When the solver stops; the first that is met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Iterations at most.
    pub iterations: usize,
    /// No point would be moved farther by a plain step.
    pub largest_move: f64,
    /// No force is larger.
    pub largest_force: f64,
    /// An iteration lowers the energy by less than this share of it.
    pub energy_share: f64,
}

impl Stop {
    /// After so many iterations and nothing else.
    pub fn after(iterations: usize) -> Self {
        Self { iterations, largest_move: 0.0, largest_force: 0.0, energy_share: 0.0 }
    }

    /// When no point would be moved farther, or after many iterations.
    pub fn at_move(largest_move: f64, iterations: usize) -> Self {
        Self { largest_move, ..Self::after(iterations) }
    }
}

/// Why the solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The number of iterations.
    Iterations,
    /// The largest move.
    Move,
    /// The largest force.
    Force,
    /// The energy no longer falls by the share asked for.
    Energy,
    /// No step lowers the energy: it is at its minimum but for rounding.
    Rounding,
}

/// What a solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    /// Iterations.
    pub iterations: usize,
    /// Times that all forces were computed.
    pub evaluations: usize,
    /// Energy at the end.
    pub energy: f64,
    /// How far a plain step would move the farthest point at the end.
    pub largest_move: f64,
    /// Why it stopped.
    pub stopped: Stopped,
}

/// How the solver moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// The thesis' iteration with a safe step per point.
    Plain,
    /// The thesis' own: one time step for all, as long as it is safe.
    Fixed,
    /// L-BFGS to the same equilibrium.
    #[default]
    Accelerated,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    ends: [u32; 2],
    length: f64,
    angle: f64,
    torsion: f64,
    surface: f64,
    lengths: f64,
}

/// The springs of a skin at rest.
#[derive(Clone, Debug)]
pub struct Springs {
    edges: Vec<Edge>,
    /// Edges of each point, in offset form: edge and whether the point is its second end.
    stops: Vec<u32>,
    incident: Vec<(u32, bool)>,
    /// ‖s⁰‖; 0 for points that lie on the skeleton.
    rest: Vec<f64>,
    absolute: Vec<f64>,
    bone: Vec<f64>,
    /// Angle of s⁰ to the line, for [`BoneSpring::ToLine`].
    line_angle: Vec<f64>,
    stiffness: Vec<f64>,
    kind: BoneSpring,
}

/// What the springs of a skin are made from.
pub struct SpringRest<'a> {
    /// Points at bind.
    pub points: &'a [DVec3],
    /// Their attachment points at bind.
    pub anchors: &'a [DVec3],
    /// Directions of their lines at bind, any length.
    pub lines: &'a [DVec3],
    /// Neighbours.
    pub adjacency: &'a Adjacency,
    /// Per-bone and painted factors of the stiffnesses, not negative; empty for 1.
    pub factors: &'a [Stiffness],
    /// Blend length; `None` for ‖s⁰‖ of each point.
    pub blend_length: Option<f64>,
}

impl Springs {
    /// Measures the rest state.
    pub fn new(at: &SpringRest<'_>, k: &Stiffness, kind: BoneSpring) -> Self {
        let count = at.points.len();
        let (low, high) =
            at.points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), &p| (l.min(p), h.max(p)));
        let least = if count > 0 { NO_LENGTH * (high - low).length() } else { 0.0 };
        let s: Vec<DVec3> = at.points.iter().zip(at.anchors).map(|(p, a)| *p - *a).collect();
        let rest: Vec<f64> = s.iter().map(|s| if s.length() > least { s.length() } else { 0.0 }).collect();
        let factor = |point: usize| at.factors.get(point).copied().unwrap_or(Stiffness::ONE);
        let mut edges = Vec::new();
        for i in 0..count {
            for &j in at.adjacency.of(i).iter().filter(|&&j| j as usize > i) {
                let j = j as usize;
                let (own, other) = (factor(i), factor(j));
                let both = |of: fn(&Stiffness) -> f64| 0.5 * (of(&own) + of(&other));
                let hang = rest[i] > 0.0 && rest[j] > 0.0;
                edges.push(Edge {
                    ends: [i as u32, j as u32],
                    length: at.points[i].distance(at.points[j]),
                    angle: if hang { angle(s[i], s[j]) } else { 0.0 },
                    torsion: if hang { both(|f| f.torsion) * k.torsion * rest[i] * rest[j] } else { 0.0 },
                    surface: both(|f| f.surface) * k.surface,
                    lengths: if hang { both(|f| f.length) * k.length } else { 0.0 },
                });
            }
        }
        let mut pairs: Vec<(u32, u32, bool)> = Vec::with_capacity(2 * edges.len());
        for (index, edge) in edges.iter().enumerate() {
            pairs.extend([(edge.ends[0], index as u32, false), (edge.ends[1], index as u32, true)]);
        }
        pairs.sort_unstable();
        let mut stops = vec![0u32; count];
        pairs.iter().for_each(|pair| stops[pair.0 as usize] += 1);
        let mut sum = 0;
        for stop in &mut stops {
            sum += *stop;
            *stop = sum;
        }
        let incident = pairs.into_iter().map(|(_, edge, second)| (edge, second)).collect();
        let mut springs = Self {
            edges,
            stops,
            incident,
            absolute: (0..count).map(|i| if rest[i] > 0.0 { factor(i).absolute * k.absolute } else { 0.0 }).collect(),
            bone: vec![0.0; count],
            line_angle: (0..count).map(|i| if rest[i] > 0.0 { angle(s[i], at.lines[i]) } else { 0.0 }).collect(),
            stiffness: vec![0.0; count],
            rest,
            kind,
        };
        for i in 0..count {
            let (mut length, mut felt, mut valence) = (0.0, 0.0, 0.0);
            for &(edge, second) in springs.of(i) {
                let edge = &springs.edges[edge as usize];
                let other = springs.rest[edge.ends[usize::from(!second)] as usize];
                let own = springs.rest[i];
                length += edge.length;
                valence += 1.0;
                felt += edge.surface + edge.lengths;
                if own > 0.0 && other > 0.0 {
                    felt += edge.torsion / (own * own.min(other));
                }
            }
            let blend = at.blend_length.unwrap_or(springs.rest[i]);
            if springs.rest[i] > 0.0 && blend > 0.0 && valence > 0.0 {
                let h = length / valence;
                springs.bone[i] = factor(i).bone * k.bone * k.torsion * (h / blend).powi(2);
            }
            springs.stiffness[i] = felt + springs.absolute[i] + springs.bone[i];
        }
        springs
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The largest time step at which the thesis' fixed step is safe: 1/max D.
    pub fn safe_fixed_step(&self) -> f64 {
        self.stiffness.iter().copied().fold(0.0, f64::max).recip()
    }

    fn of(&self, point: usize) -> &[(u32, bool)] {
        let start = if point == 0 { 0 } else { self.stops[point - 1] as usize };
        &self.incident[start..self.stops[point] as usize]
    }
}

/// Where the bones of a frame want the skin.
#[derive(Clone, Copy, Debug)]
pub struct SpringFrame<'a> {
    /// Attachment points.
    pub anchors: &'a [DVec3],
    /// `R_b s⁰`: scale vectors as their bones turn them.
    pub aims: &'a [DVec3],
    /// Directions of their lines; read by [`BoneSpring::ToLine`].
    pub lines: &'a [DVec3],
    /// Edits per point: stiffness and place; empty for none. Several edits of a point are their weighted mean.
    pub edits: &'a [(f64, DVec3)],
}

/// Memory of the solver; contents mean nothing between solves.
#[derive(Clone, Debug, Default)]
pub struct SpringScratch {
    directions: Vec<DVec3>,
    lengths: Vec<f64>,
    /// Per edge: torsion moment over its sine, cosine, surface factor, moment of lengths.
    terms: Vec<[f64; 4]>,
    forces: Vec<DVec3>,
    trial: Vec<DVec3>,
    trial_forces: Vec<DVec3>,
    direction: Vec<DVec3>,
    history: Vec<Remembered>,
}

impl Springs {
    /// The energy at `points`, and minus its gradient in `forces`.
    fn forces(
        &self,
        frame: &SpringFrame<'_>,
        points: &[DVec3],
        directions: &mut Vec<DVec3>,
        lengths: &mut Vec<f64>,
        terms: &mut Vec<[f64; 4]>,
        forces: &mut Vec<DVec3>,
    ) -> f64 {
        directions.clear();
        lengths.clear();
        for (p, a) in points.iter().zip(frame.anchors) {
            let s = *p - *a;
            let length = s.length();
            lengths.push(length);
            directions.push(if length > 0.0 { s / length } else { DVec3::ZERO });
        }
        terms.clear();
        let mut energy = 0.0;
        for edge in &self.edges {
            let [i, j] = edge.ends.map(|end| end as usize);
            let between = points[j] - points[i];
            let long = between.length();
            let stretch = long - edge.length;
            let (mut moment, mut cosine, mut slope) = (0.0, 1.0, 0.0);
            if self.rest[i] > 0.0 && self.rest[j] > 0.0 {
                cosine = directions[i].dot(directions[j]);
                let sine = directions[i].cross(directions[j]).length();
                let turn = sine.atan2(cosine) - edge.angle;
                if sine > 0.0 {
                    moment = edge.torsion * turn / sine;
                }
                slope = (lengths[j] - self.rest[j]) - (lengths[i] - self.rest[i]);
                energy += edge.torsion * turn * turn + edge.lengths * slope * slope;
            }
            energy += edge.surface * stretch * stretch;
            let pull = if long > 0.0 { edge.surface * stretch / long } else { 0.0 };
            terms.push([moment, cosine, pull, edge.lengths * slope]);
        }
        forces.clear();
        for i in 0..points.len() {
            let (direction, rest) = (directions[i], self.rest[i]);
            let lever = 1.0 / lengths[i].max(LEAST_LENGTH * rest);
            let (mut across, mut along, mut pull) = (DVec3::ZERO, 0.0, DVec3::ZERO);
            for &(index, second) in self.of(i) {
                let edge = &self.edges[index as usize];
                let [moment, cosine, tension, slope] = terms[index as usize];
                let other = edge.ends[usize::from(!second)] as usize;
                across += (directions[other] - direction * cosine) * moment;
                along += if second { -slope } else { slope };
                pull += (points[other] - points[i]) * tension;
            }
            let mut force = pull;
            if rest > 0.0 {
                let excess = lengths[i] - rest;
                energy += self.absolute[i] * excess * excess;
                along -= self.absolute[i] * excess;
                let (towards, held) = match self.kind {
                    BoneSpring::ToBind => (frame.aims[i], 0.0),
                    BoneSpring::ToLine => (frame.lines[i], self.line_angle[i]),
                };
                let towards = towards.normalize_or_zero();
                let (sine, cosine) = (direction.cross(towards).length(), direction.dot(towards));
                if direction != DVec3::ZERO && towards != DVec3::ZERO {
                    let turn = sine.atan2(cosine) - held;
                    energy += self.bone[i] * rest * rest * turn * turn;
                    if sine > 0.0 {
                        across += (towards - direction * cosine) * (self.bone[i] * rest * rest * turn / sine);
                    }
                }
                force += across * lever + direction * along;
            }
            if let Some(&(k, place)) = frame.edits.get(i) {
                let away = place - points[i];
                force += away * k;
                energy += k * away.length_squared();
            }
            forces.push(force);
        }
        0.5 * energy
    }

    /// What a plain step divides the force on a point by, over the safety.
    fn bound(&self, frame: &SpringFrame<'_>, point: usize) -> f64 {
        (self.stiffness[point] + frame.edits.get(point).map_or(0.0, |edit| edit.0)).max(f64::MIN_POSITIVE)
    }

    /// Moves `points`, a skinned mesh, towards the equilibrium.
    pub fn solve(
        &self,
        frame: &SpringFrame<'_>,
        points: &mut Vec<DVec3>,
        scheme: Scheme,
        stop: &Stop,
        scratch: &mut SpringScratch,
    ) -> Solved {
        let SpringScratch { directions, lengths, terms, forces, trial, trial_forces, direction, history } = scratch;
        history.clear();
        let mut energy = self.forces(frame, points, directions, lengths, terms, forces);
        let mut evaluations = 1;
        let mut iterations = 0;
        let edits = frame.edits.iter().map(|edit| edit.0).fold(0.0, f64::max);
        let fixed = (1.0 / self.safe_fixed_step() + edits).max(FIXED_STEPS);
        // The plain scheme remembers a step that had to be halved and grows it again slowly.
        let mut trust = 1.0f64;
        loop {
            let largest_move = (0..forces.len())
                .map(|i| (forces[i] * (SAFETY / self.bound(frame, i))).length_squared())
                .fold(0.0, f64::max)
                .sqrt();
            let largest_force = forces.iter().map(|f| f.length_squared()).fold(0.0, f64::max).sqrt();
            let met = if largest_move <= stop.largest_move {
                Some(Stopped::Move)
            } else if largest_force <= stop.largest_force {
                Some(Stopped::Force)
            } else if iterations >= stop.iterations {
                Some(Stopped::Iterations)
            } else {
                None
            };
            if let Some(stopped) = met {
                return Solved { iterations, evaluations, energy, largest_move, stopped };
            }
            let plain = |i: usize, f: DVec3| f * (SAFETY / if scheme == Scheme::Fixed { fixed } else { self.bound(frame, i) });
            let accelerated = scheme == Scheme::Accelerated && two_loops(forces, history, direction, plain);
            if !accelerated {
                direction.clear();
                direction.extend(forces.iter().enumerate().map(|(i, &f)| plain(i, f)));
            }
            let mut step = if accelerated { 1.0 } else { trust };
            let mut halvings = 0;
            let lowered = loop {
                trial.clear();
                trial.extend(points.iter().zip(direction.iter()).map(|(&p, &d)| p + d * step));
                let trial_energy = self.forces(frame, trial, directions, lengths, terms, trial_forces);
                evaluations += 1;
                if trial_energy < energy {
                    break Some(trial_energy);
                }
                halvings += 1;
                if halvings > HALVINGS {
                    break None;
                }
                step *= 0.5;
            };
            let Some(lowered) = lowered else {
                if accelerated {
                    // A direction from memory may fail where the plain one does not.
                    history.clear();
                    continue;
                }
                return Solved { iterations, evaluations, energy, largest_move, stopped: Stopped::Rounding };
            };
            if !accelerated {
                trust = if halvings == 0 { (2.0 * step).min(1.0) } else { step };
            }
            if scheme == Scheme::Accelerated {
                remember(history, (points, forces), (trial, trial_forces));
            }
            std::mem::swap(points, trial);
            std::mem::swap(forces, trial_forces);
            let fell = energy - lowered;
            energy = lowered;
            iterations += 1;
            if fell <= stop.energy_share * energy {
                return Solved { iterations, evaluations, energy, largest_move, stopped: Stopped::Energy };
            }
        }
    }
}

/// What frame-dependent springs carry from one frame to the next; the caller's, reset on a cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpringState {
    points: Vec<DVec3>,
    velocities: Vec<DVec3>,
    anchors: Vec<DVec3>,
    aims: Vec<DVec3>,
}

/// How the skin swings, in frame-dependent mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// Natural frequency of a point held at its own bound of stiffness, rad/s.
    pub frequency: f64,
    /// Rate at which velocities die away, 1/s.
    pub damping: f64,
}

impl Springs {
    /// The skin after `dt_secs`, from the last result: carried along by its bones, then by semi-implicit Euler with
    /// `v̈ = ω² F/D − c v̇`. In these units no point is stiffer than ω, so `⌈dt·ω⌉` substeps are stable. An empty state
    /// (or one of another skin) starts at `skinned`, at rest.
    pub fn swing(
        &self,
        frame: &SpringFrame<'_>,
        skinned: &[DVec3],
        (swing, dt_secs): (&Swing, f64),
        state: &mut SpringState,
        scratch: &mut SpringScratch,
    ) {
        if state.points.len() != skinned.len() {
            state.points = skinned.to_vec();
            state.velocities = vec![DVec3::ZERO; skinned.len()];
        } else {
            for i in 0..skinned.len() {
                let turn = |v: DVec3| match (state.aims[i].try_normalize(), frame.aims[i].try_normalize()) {
                    (Some(from), Some(to)) => least_turn(from, to, v),
                    _ => v,
                };
                state.points[i] = frame.anchors[i] + turn(state.points[i] - state.anchors[i]);
                state.velocities[i] = turn(state.velocities[i]);
            }
        }
        state.anchors.clear();
        state.anchors.extend_from_slice(frame.anchors);
        state.aims.clear();
        state.aims.extend_from_slice(frame.aims);
        let SpringScratch { directions, lengths, terms, forces, .. } = scratch;
        // √2 because neighbours that move against each other feel twice the bound.
        let substeps = (dt_secs.max(0.0) * swing.frequency * std::f64::consts::SQRT_2).ceil().clamp(1.0, 1e4);
        let h = dt_secs.max(0.0) / substeps;
        let (gain, fade) = (swing.frequency * swing.frequency * h, (-swing.damping * h).exp());
        for _ in 0..substeps as usize {
            self.forces(frame, &state.points, directions, lengths, terms, forces);
            for i in 0..forces.len() {
                let pull = forces[i] * (gain / self.bound(frame, i));
                state.velocities[i] = (state.velocities[i] + pull) * fade;
                state.points[i] += state.velocities[i] * h;
            }
        }
    }
}

impl SpringState {
    /// The skin as it is.
    pub fn points(&self) -> &[DVec3] {
        &self.points
    }
}

/// A move and the change of the gradient over it, with the inverse of their product.
type Remembered = (Vec<DVec3>, Vec<DVec3>, f64);

fn remember(history: &mut Vec<Remembered>, from: (&[DVec3], &[DVec3]), to: (&[DVec3], &[DVec3])) {
    let (mut moved, mut changed, _) = if history.len() == MEMORY { history.remove(0) } else { Remembered::default() };
    moved.clear();
    moved.extend(to.0.iter().zip(from.0).map(|(b, a)| *b - *a));
    changed.clear();
    changed.extend(from.1.iter().zip(to.1).map(|(a, b)| *a - *b));
    let product = dot(&moved, &changed);
    // Where the energy is not convex the pair says nothing useful.
    if product > 0.0 && product.recip().is_finite() {
        history.push((moved, changed, product.recip()));
    }
}

/// The two-loop recursion (Nocedal 1980): `direction` from the forces and the moves remembered; false where there are
/// none or the direction does not descend.
fn two_loops(
    forces: &[DVec3],
    history: &[Remembered],
    direction: &mut Vec<DVec3>,
    plain: impl Fn(usize, DVec3) -> DVec3,
) -> bool {
    let Some((moved, changed, _)) = history.last() else { return false };
    direction.clear();
    direction.extend_from_slice(forces);
    let mut shares = [0.0; MEMORY];
    for (share, (moved, changed, inverse)) in shares[..history.len()].iter_mut().zip(history).rev() {
        *share = inverse * dot(moved, direction);
        direction.iter_mut().zip(changed).for_each(|(d, &y)| *d -= y * *share);
    }
    let preconditioned: f64 = changed.iter().enumerate().map(|(i, &y)| y.dot(plain(i, y))).sum();
    let scale = dot(moved, changed) / preconditioned;
    direction.iter_mut().enumerate().for_each(|(i, d)| *d = plain(i, *d) * scale);
    for (share, (moved, changed, inverse)) in shares.iter().zip(history) {
        let rest = share - inverse * dot(changed, direction);
        direction.iter_mut().zip(moved).for_each(|(d, &s)| *d += s * rest);
    }
    let descent = dot(direction, forces);
    descent > 0.0 && descent.is_finite()
}

/// In index order: the same bits everywhere.
fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

/// Angle between two vectors of any length.
fn angle(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b))
}

#[cfg(test)]
#[path = "springs_tests.rs"]
mod tests;
