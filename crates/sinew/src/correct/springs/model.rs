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
//! | anchor | `½κ_a‖a + R_b s⁰ − v‖²` | of points without a direction, in place of all but the surface spring |
//!
//! `ℓ̂ = max(‖s‖, ‖s⁰‖/10)` keeps a point that a collapsed skin left on its bone from being thrown away. The absolute
//! spring is ours: differences alone never restore a radius. The thesis measures the bone spring to the bone's line
//! ([`BoneSpring::ToLine`]), which leaves the turn about the bone free, and the skin unwinds on convergence; the
//! default measures it to the whole bind direction. `κ_b = κ_t(h/ℓ)²` (h mean edge, ℓ blend length, ‖s⁰‖ unless given) is
//! what makes the result independent of the resolution.
//!
//! A point closer to its bone than to its neighbours has no direction worth the name: a move of one edge turns it about,
//! and the tip of a limb pops inside out and stays there. Such points are held to where their bone takes them instead.
//!
//! `D_i = Σ_j(κ_t max(1, ‖s_j⁰‖/‖s_i⁰‖) + κ_s + κ_l) + κ_a + κ_b + κ_e` bounds the stiffness that i feels: what
//! `descent` needs to be stable before anything is tried. Here everything is f64, for programs and as the
//! reference; frames are solved by the same springs in rows (`rows`).
//!
//! Oracle: forces against differences of the energy; bind is a fixed point; from rigid, LBS and DQS to the same shape.

use super::descent::{DescentScratch, Energy, Felt, Scheme, Solved, Stop, descend};
use crate::strokes::frames::least_turn;
use crate::topology::Adjacency;
use glam::DVec3;

/// Share of the bound on a point's stiffness that one step uses up.
pub(super) const SAFETY: f64 = 0.9;
/// Scale vectors shorter than this, in mean edges at their point, have no direction.
const NO_DIRECTION: f64 = 1.0;
/// Scale vectors are not taken for shorter than this share of their rest length.
pub(super) const LEAST_LENGTH: f64 = 0.1;
/// The thesis steps by 1/30.
pub(super) const FIXED_STEPS: f64 = 30.0;

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

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub ends: [u32; 2],
    pub length: f64,
    pub angle: f64,
    pub torsion: f64,
    pub surface: f64,
    pub lengths: f64,
}

/// The springs of a skin at rest.
#[derive(Clone, Debug)]
pub struct Springs {
    pub(super) edges: Vec<Edge>,
    /// Edges of each point, in offset form: edge and whether the point is its second end.
    stops: Vec<u32>,
    incident: Vec<(u32, bool)>,
    /// ‖s⁰‖; 0 for points without a direction.
    pub(super) rest: Vec<f64>,
    pub(super) absolute: Vec<f64>,
    pub(super) bone: Vec<f64>,
    /// Angle of s⁰ to the line, for [`BoneSpring::ToLine`].
    pub(super) line_angle: Vec<f64>,
    pub(super) stiffness: Vec<f64>,
    pub(super) kind: BoneSpring,
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
        let s: Vec<DVec3> = at.points.iter().zip(at.anchors).map(|(p, a)| *p - *a).collect();
        let mean_edge = |i: usize| {
            let neighbours = at.adjacency.of(i);
            let sum: f64 = neighbours.iter().map(|&j| at.points[i].distance(at.points[j as usize])).sum();
            sum / neighbours.len().max(1) as f64
        };
        let length = |i: usize| if s[i].length() > NO_DIRECTION * mean_edge(i) { s[i].length() } else { 0.0 };
        let rest: Vec<f64> = (0..count).map(length).collect();
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
            absolute: (0..count).map(|i| factor(i).absolute * k.absolute).collect(),
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

    /// Edges of a point, and whether it is their second end.
    pub(super) fn of(&self, point: usize) -> &[(u32, bool)] {
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
    descent: DescentScratch<Vec<DVec3>>,
}

impl Springs {
    /// The energy at `points`, and minus its gradient in `forces`.
    pub fn forces(
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
            } else {
                let away = frame.anchors[i] + frame.aims[i] - points[i];
                force += away * self.absolute[i];
                energy += self.absolute[i] * away.length_squared();
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
        let SpringScratch { directions, lengths, terms, descent, .. } = scratch;
        let edits = frame.edits.iter().map(|edit| edit.0).fold(0.0, f64::max);
        let fixed = (1.0 / self.safe_fixed_step() + edits).max(FIXED_STEPS);
        let mut energy = PointEnergy { springs: self, frame, fixed, directions, lengths, terms };
        descend(&mut energy, points, scheme, stop, descent)
    }
}

/// The energy of a frame, point by point.
struct PointEnergy<'a> {
    springs: &'a Springs,
    frame: &'a SpringFrame<'a>,
    /// One bound for all points.
    fixed: f64,
    directions: &'a mut Vec<DVec3>,
    lengths: &'a mut Vec<f64>,
    terms: &'a mut Vec<[f64; 4]>,
}

impl PointEnergy<'_> {
    /// What a plain step multiplies the force on a point by.
    fn gain(&self, point: usize, fixed: bool) -> f64 {
        let bound = if fixed { self.fixed } else { self.springs.bound(self.frame, point) };
        // What nothing holds feels no force.
        if bound > f64::MIN_POSITIVE { SAFETY / bound } else { 0.0 }
    }
}

impl Energy for PointEnergy<'_> {
    type Vectors = Vec<DVec3>;
    const ROUNDING: f64 = 0.0;

    fn forces(&mut self, points: &Vec<DVec3>, forces: &mut Vec<DVec3>) -> Felt {
        let energy = self.springs.forces(self.frame, points, self.directions, self.lengths, self.terms, forces);
        let mut felt = Felt { energy, ..Felt::default() };
        for (i, force) in forces.iter().enumerate() {
            felt.largest_move = felt.largest_move.max(force.length() * self.gain(i, false));
            felt.largest_force = felt.largest_force.max(force.length());
        }
        felt
    }

    fn plain_step(&self, points: &Vec<DVec3>, forces: &Vec<DVec3>, fixed: bool, k: f64, out: &mut Vec<DVec3>) {
        out.clear();
        let both = points.iter().zip(forces).enumerate();
        out.extend(both.map(|(i, (&p, &f))| p + f * (k * self.gain(i, fixed))));
    }

    fn plain_square(&self, a: &Vec<DVec3>) -> f64 {
        a.iter().enumerate().map(|(i, a)| a.length_squared() * self.gain(i, false)).sum()
    }

    fn plain_dot(&self, a: &mut Vec<DVec3>, k: f64, c: &Vec<DVec3>) -> f64 {
        a.iter_mut().enumerate().for_each(|(i, a)| *a *= k * self.gain(i, false));
        self.dot(a, c)
    }

    /// In index order: the same bits everywhere.
    fn dot(&self, a: &Vec<DVec3>, b: &Vec<DVec3>) -> f64 {
        a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
    }

    fn sum(&self, a: &Vec<DVec3>, b: &Vec<DVec3>, k: f64, out: &mut Vec<DVec3>) {
        out.clear();
        out.extend(a.iter().zip(b).map(|(&a, &b)| a + b * k));
    }

    fn add_dot(&self, a: &mut Vec<DVec3>, b: &Vec<DVec3>, k: f64, c: &Vec<DVec3>) -> f64 {
        a.iter_mut().zip(b).for_each(|(a, &b)| *a += b * k);
        self.dot(a, c)
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

/// Angle between two vectors of any length.
fn angle(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b))
}
