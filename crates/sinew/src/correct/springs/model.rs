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
//! `descent` needs to be stable before anything is tried. Frames are solved by these springs in rows of f32 (`rows`); here
//! everything is f64, for what swings with history and as the reference that tests solve by (`oracle`).
//!
//! Oracle: forces against differences of the energy; bind is a fixed point; from rigid, LBS and DQS to the same shape.

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
pub(super) enum BoneSpring {
    /// The whole direction that the bone gives the scale vector.
    #[default]
    ToBind,
    /// Only its angle to the bone's line, as the thesis has it.
    ToLine,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edge {
    pub ends: [u32; 2],
    pub length: f64,
    pub angle: f64,
    pub torsion: f64,
    pub surface: f64,
    pub lengths: f64,
}

/// The springs of a skin at rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Springs {
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
pub(super) struct SpringRest<'a> {
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
    /// Joins neighbours and measures the rest state.
    pub fn new(at: &SpringRest<'_>, k: &Stiffness, kind: BoneSpring) -> Self {
        let count = at.points.len();
        let mut springs = Self { kind, ..Self::default() };
        for i in 0..count as u32 {
            let after = at.adjacency.of(i as usize).iter().filter(|&&j| j > i);
            springs.edges.extend(after.map(|&j| Edge { ends: [i, j], ..Edge::default() }));
        }
        let mut pairs: Vec<(u32, u32, bool)> = Vec::with_capacity(2 * springs.edges.len());
        for (index, edge) in springs.edges.iter().enumerate() {
            pairs.extend([(edge.ends[0], index as u32, false), (edge.ends[1], index as u32, true)]);
        }
        pairs.sort_unstable();
        springs.stops.resize(count, 0);
        pairs.iter().for_each(|pair| springs.stops[pair.0 as usize] += 1);
        let mut sum = 0;
        for stop in &mut springs.stops {
            sum += *stop;
            *stop = sum;
        }
        springs.incident = pairs.into_iter().map(|(_, edge, second)| (edge, second)).collect();
        springs.measure(at);
        springs.stiffen(at.factors, at.blend_length, k);
        springs
    }

    /// The same neighbours at another rest state, in memory that is there.
    pub fn remeasure(&self, at: &SpringRest<'_>, k: &Stiffness, out: &mut Self) {
        out.edges.clone_from(&self.edges);
        out.stops.clone_from(&self.stops);
        out.incident.clone_from(&self.incident);
        out.kind = self.kind;
        out.measure(at);
        out.stiffen(at.factors, at.blend_length, k);
    }

    /// Lengths and angles at rest.
    fn measure(&mut self, at: &SpringRest<'_>) {
        let points = 0..at.points.len();
        let s = |i: usize| at.points[i] - at.anchors[i];
        let mean_edge = |i: usize| {
            let neighbours = at.adjacency.of(i);
            let sum: f64 = neighbours.iter().map(|&j| at.points[i].distance(at.points[j as usize])).sum();
            sum / neighbours.len().max(1) as f64
        };
        let length = |i: usize| if s(i).length() > NO_DIRECTION * mean_edge(i) { s(i).length() } else { 0.0 };
        self.rest.clear();
        self.rest.extend(points.clone().map(length));
        let rest = &self.rest;
        for edge in &mut self.edges {
            let [i, j] = edge.ends.map(|end| end as usize);
            let hang = rest[i] > 0.0 && rest[j] > 0.0;
            edge.length = at.points[i].distance(at.points[j]);
            edge.angle = if hang { angle(s(i), s(j)) } else { 0.0 };
        }
        self.line_angle.clear();
        let line_angle = |i: usize| if rest[i] > 0.0 { angle(s(i), at.lines[i]) } else { 0.0 };
        self.line_angle.extend(points.map(line_angle));
    }

    /// Makes all springs as stiff as asked, at the rest state there is; for other arguments see [`SpringRest`].
    pub fn stiffen(&mut self, factors: &[Stiffness], blend_length: Option<f64>, k: &Stiffness) {
        let points = 0..self.len();
        let factor = |point: usize| factors.get(point).copied().unwrap_or(Stiffness::ONE);
        let rest = &self.rest;
        for edge in &mut self.edges {
            let [i, j] = edge.ends.map(|end| end as usize);
            let (own, other) = (factor(i), factor(j));
            let both = |of: fn(&Stiffness) -> f64| 0.5 * (of(&own) + of(&other));
            let hang = rest[i] > 0.0 && rest[j] > 0.0;
            edge.torsion = if hang { both(|f| f.torsion) * k.torsion * rest[i] * rest[j] } else { 0.0 };
            edge.surface = both(|f| f.surface) * k.surface;
            edge.lengths = if hang { both(|f| f.length) * k.length } else { 0.0 };
        }
        self.absolute.clear();
        self.absolute.extend(points.clone().map(|i| factor(i).absolute * k.absolute));
        self.bone.clear();
        self.stiffness.clear();
        for i in points {
            let (mut length, mut felt, mut valence) = (0.0, 0.0, 0.0);
            for &(edge, second) in self.of(i) {
                let edge = &self.edges[edge as usize];
                let other = self.rest[edge.ends[usize::from(!second)] as usize];
                let own = self.rest[i];
                length += edge.length;
                valence += 1.0;
                felt += edge.surface + edge.lengths;
                if own > 0.0 && other > 0.0 {
                    felt += edge.torsion / (own * own.min(other));
                }
            }
            let blend = blend_length.unwrap_or(self.rest[i]);
            let bone = if self.rest[i] > 0.0 && blend > 0.0 && valence > 0.0 {
                let h = length / valence;
                factor(i).bone * k.bone * k.torsion * (h / blend).powi(2)
            } else {
                0.0
            };
            self.bone.push(bone);
            self.stiffness.push(felt + self.absolute[i] + bone);
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Edges of a point, and whether it is their second end.
    pub(super) fn of(&self, point: usize) -> &[(u32, bool)] {
        let start = if point == 0 { 0 } else { self.stops[point - 1] as usize };
        &self.incident[start..self.stops[point] as usize]
    }
}

/// Where the bones of a frame want the skin.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpringFrame<'a> {
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
pub(super) struct SpringScratch {
    directions: Vec<DVec3>,
    lengths: Vec<f64>,
    /// Per edge: torsion moment over its sine, cosine, surface factor, moment of lengths.
    terms: Vec<[f64; 4]>,
    forces: Vec<DVec3>,
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
    pub fn bound(&self, frame: &SpringFrame<'_>, point: usize) -> f64 {
        (self.stiffness[point] + frame.edits.get(point).map_or(0.0, |edit| edit.0)).max(f64::MIN_POSITIVE)
    }
}

/// What frame-dependent springs carry from one frame to the next; the caller's, reset on a cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpringState {
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
