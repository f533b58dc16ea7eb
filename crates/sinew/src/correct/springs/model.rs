//! Springs between neighbours, attachments and bones pull any skinned mesh to one equilibrium (EX 4.2).
//!
//! A point v hangs at a; `s = v − a`, ŝ its direction, λ = ‖s‖ − ‖s⁰‖. Forces are minus the gradient of one energy:
//!
//! | spring | energy | force on i |
//! |---|---|---|
//! | surface | `½κ_s c_ij‖e − e*‖²` | to the edge that the bones turn |
//! | bone | `½κ_b(A/ℓ²)‖a + R s⁰ − v‖²` | to where the bones take it |
//! | torsion | `½κ_t‖s_i⁰‖‖s_j⁰‖(θ_ij − θ⁰_ij)²` | towards j across ŝ_i, `/ℓ̂_i` |
//! | length | `½κ_l(λ_j − λ_i)²` | along ŝ_i |
//! | absolute | `½κ_a λ²` | along ŝ_i |
//! | bone, direction only | `½κ_b(h/ℓ)²‖s⁰‖²∠(s, R s⁰)²` | across ŝ_i, `/ℓ̂_i` |
//! | edit | `½κ_e‖v* − v‖²` | to v* |
//!
//! The first two are the default. EX's surface spring keeps the length of an edge: it is not convex, so that skin
//! pressed together buckles and every start ends in folds of its own, and nothing in it keeps the inside of a bend from
//! crossing. Ours keeps the edge as a vector, `e* = R̄ e⁰ + ω × R̄ s̄⁰`: R̄ the mean turn of its ends, ω their twist
//! about the bone. A skin that bends keeps its area inside instead of being drawn in with the radius, twisted skin
//! keeps its radius, and the energy is quadratic: one equilibrium. With c_ij the half cotangents of the faces, A the
//! area of a point and ℓ its blend length (‖s⁰‖ unless given) it is `∫κ_s‖∇(v − v*)‖² + κ_b‖v − v*‖²/ℓ²`, whatever the
//! resolution.
//!
//! EX's other springs round the radius back against that, sharpen the outside and cross inside; they are 0 unless asked
//! for. Its bone spring goes by angles, to the bone's line ([`BoneSpring::Line`]), which leaves the turn about the
//! bone free, or to the whole direction. `ℓ̂ = max(‖s‖, ‖s⁰‖/10)` keeps a point that a collapsed skin left on its bone
//! from being thrown away; points closer to their bone than to their neighbours have no direction and are held to their
//! place.
//!
//! `D_i = Σ_j(κ_t max(1, ‖s_j⁰‖/‖s_i⁰‖) + κ_s c_ij + κ_l) + κ_a + κ_b + κ_e` bounds the stiffness that i feels: what
//! `descent` needs to be stable before anything is tried. Frames are solved by these springs in rows of f32 (`rows`); here
//! everything is f64, as the reference that tests solve by (`oracle`); how the skin swings about its rest is in `swing`.
//!
//! Oracle: forces against differences of the energy; bind is a fixed point; from rigid, LBS and DQS to the same shape.

use crate::topology::Adjacency;
use glam::{DMat3, DQuat, DVec3};

/// Share of the bound on a point's stiffness that one step uses up.
pub(super) const SAFETY: f64 = 0.9;
/// Scale vectors shorter than this, in mean edges at their point, have no direction.
const NO_DIRECTION: f64 = 1.0;
/// Half cotangents of faces are taken for these at least and at most: slivers neither tear nor bind.
const COTANGENT: [f64; 2] = [0.025, 5.0];
/// Scale vectors are not taken for shorter than this share of their rest length.
pub(super) const LEAST_LENGTH: f64 = 0.1;
/// The thesis steps by 1/30.
pub(super) const FIXED_STEPS: f64 = 30.0;

/// How stiff each spring is; all scale-free and not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stiffness {
    /// Between the directions of neighbouring scale vectors.
    pub torsion: f64,
    /// Of edges, as bones turn them.
    pub surface: f64,
    /// Between the lengths of neighbouring scale vectors.
    pub length: f64,
    /// Of each scale vector's own length.
    pub absolute: f64,
    /// Of the place or the direction that bones give.
    pub bone: f64,
}

impl Stiffness {
    /// As factors: no change.
    pub const ONE: Self = Self { torsion: 1.0, surface: 1.0, length: 1.0, absolute: 1.0, bone: 1.0 };
}

impl Default for Stiffness {
    fn default() -> Self {
        Self { torsion: 0.0, surface: 1.0, length: 0.0, absolute: 0.0, bone: 1.0 }
    }
}

/// What the bone spring holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BoneSpring {
    /// The place that bones take the point to.
    #[default]
    Place,
    /// The whole direction that bones give the scale vector.
    Direction,
    /// Only its angle to the bone's line, as the thesis has it.
    Line,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edge {
    pub ends: [u32; 2],
    pub length: f64,
    /// Half cotangents of the faces beside it; of a bridge, how alike its ends move.
    pub conductance: f64,
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
    /// Area of each point.
    pub(super) areas: Vec<f64>,
    pub(super) absolute: Vec<f64>,
    /// Of directions.
    pub(super) bone: Vec<f64>,
    /// Of places.
    pub(super) place: Vec<f64>,
    /// What holds each point to its bones, whatever the kind.
    pub(super) held: Vec<f64>,
    /// Angle of s⁰ to the line, for [`BoneSpring::Line`].
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
    /// Neighbours, bridges among them.
    pub adjacency: &'a Adjacency,
    pub faces: &'a [[u32; 3]],
    /// Pairs of points on different pieces that move together, the first the smaller, ascending, and how alike.
    pub bridges: &'a [(u32, u32, f64)],
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
        self.conduct(at);
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

    /// Areas of points and conductances of edges.
    fn conduct(&mut self, at: &SpringRest<'_>) {
        self.areas.clear();
        self.areas.resize(at.points.len(), 0.0);
        self.edges.iter_mut().for_each(|edge| edge.conductance = 0.0);
        for face in at.faces {
            let [a, b, c] = face.map(|v| at.points[v as usize]);
            let doubled = (b - a).cross(c - a).length();
            for (k, (u, v)) in [(b - a, c - a), (c - b, a - b), (a - c, b - c)].into_iter().enumerate() {
                self.areas[face[k] as usize] += doubled / 6.0;
                let half = 0.5 * u.dot(v) / doubled;
                // 0/0 where the face is a point.
                let half = if half.is_nan() { 0.0 } else { half }.clamp(COTANGENT[0], COTANGENT[1]);
                let (i, j) = (face[(k + 1) % 3], face[(k + 2) % 3]);
                if let Some(edge) = self.edge(i.min(j), i.max(j)) {
                    self.edges[edge].conductance += half;
                }
            }
        }
        for &(a, b, alike) in at.bridges {
            if let Some(edge) = self.edge(a, b) {
                self.edges[edge].conductance += alike;
            }
        }
    }

    /// The edge of two points, the first the smaller: edges ascend.
    fn edge(&self, a: u32, b: u32) -> Option<usize> {
        self.edges.binary_search_by_key(&[a, b], |edge| edge.ends).ok()
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
            edge.surface = both(|f| f.surface) * k.surface * edge.conductance;
            edge.lengths = if hang { both(|f| f.length) * k.length } else { 0.0 };
        }
        self.absolute.clear();
        let absolute = |i: usize| if rest[i] > 0.0 { factor(i).absolute * k.absolute } else { 0.0 };
        self.absolute.extend(points.clone().map(absolute));
        self.bone.clear();
        self.held.clear();
        self.place.clear();
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
            // Where the blend length is not resolved, what is there of a mesh is all that can be blended over.
            let share = |square: f64| if blend * blend > square { square / (blend * blend) } else { 1.0 };
            let stiffness = factor(i).bone * k.bone;
            let by_place = self.kind == BoneSpring::Place || self.rest[i] == 0.0;
            let mean = if valence > 0.0 { length / valence } else { 0.0 };
            let held = stiffness * share(self.areas[i]);
            self.held.push(held);
            self.place.push(if by_place { held } else { 0.0 });
            self.bone.push(if by_place { 0.0 } else { stiffness * share(mean * mean) });
            self.stiffness.push(felt + self.absolute[i] + self.bone[i] + self.place[i]);
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
    /// `R s⁰`: scale vectors as their bones turn them.
    pub aims: &'a [DVec3],
    /// Edges as their bones turn them, in the order of the springs'.
    pub edges: &'a [DVec3],
    /// Directions of their lines; read by [`BoneSpring::Line`].
    pub lines: &'a [DVec3],
    /// Edits per point: stiffness and place; empty for none. Several edits of a point are their weighted mean.
    pub edits: &'a [(f64, DVec3)],
}

impl Springs {
    /// The edges of `rest` as turned and stretched points take them: by the mean of both ends, and on by their twist about
    /// the bone, which a bend does not have.
    pub fn turned_edges(
        &self,
        rest: (&[DVec3], &[DVec3], &[DVec3]),
        (turns, stretches): (&[DQuat], &[DMat3]),
        out: &mut Vec<DVec3>,
    ) {
        let (points, anchors, lines) = rest;
        out.clear();
        out.extend(self.edges.iter().map(|edge| {
            let [i, j] = edge.ends.map(|end| end as usize);
            let (from, to) = (turns[i], if turns[i].dot(turns[j]) < 0.0 { -turns[j] } else { turns[j] });
            // Never opposite: less than a half turn apart.
            let mean = (from + to).normalize();
            let stretch = (stretches[i] + stretches[j]) * 0.5;
            let edge = mean * (stretch * (points[j] - points[i]));
            let axis = mean * (lines[i].normalize_or_zero() + lines[j].normalize_or_zero()).normalize_or_zero();
            let half = to * from.inverse();
            let twist = axis * (2.0 * half.xyz().dot(axis));
            let arm = mean * (stretch * (points[i] - anchors[i] + points[j] - anchors[j])) * 0.5;
            let shear = twist.cross(arm);
            // No more than the edge is long: what seems to twist more is a joint of several bones.
            edge + shear / (1.0 + shear.length_squared() / edge.length_squared().max(f64::MIN_POSITIVE)).sqrt()
        }));
    }
}

#[cfg(test)]
impl Springs {
    /// The energy at `points`, and minus its gradient in `forces`.
    pub fn forces(
        &self,
        frame: &SpringFrame<'_>,
        points: &[DVec3],
        directions: &mut Vec<DVec3>,
        lengths: &mut Vec<f64>,
        terms: &mut Vec<[f64; 3]>,
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
            let off = points[j] - points[i] - frame.edges[terms.len()];
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
            energy += edge.surface * off.length_squared();
            terms.push([moment, cosine, edge.lengths * slope]);
        }
        forces.clear();
        for i in 0..points.len() {
            let (direction, rest) = (directions[i], self.rest[i]);
            let lever = 1.0 / lengths[i].max(LEAST_LENGTH * rest);
            let (mut across, mut along, mut pull) = (DVec3::ZERO, 0.0, DVec3::ZERO);
            for &(index, second) in self.of(i) {
                let edge = &self.edges[index as usize];
                let [moment, cosine, slope] = terms[index as usize];
                let other = edge.ends[usize::from(!second)] as usize;
                across += (directions[other] - direction * cosine) * moment;
                along += if second { -slope } else { slope };
                let target = frame.edges[index as usize] * if second { -1.0 } else { 1.0 };
                pull += (points[other] - points[i] - target) * edge.surface;
            }
            let mut force = pull;
            if rest > 0.0 {
                let excess = lengths[i] - rest;
                energy += self.absolute[i] * excess * excess;
                along -= self.absolute[i] * excess;
                let (towards, held) = match self.kind {
                    BoneSpring::Direction | BoneSpring::Place => (frame.aims[i], 0.0),
                    BoneSpring::Line => (frame.lines[i], self.line_angle[i]),
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
            let away = frame.anchors[i] + frame.aims[i] - points[i];
            force += away * self.place[i];
            energy += self.place[i] * away.length_squared();
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

/// Angle between two vectors of any length.
fn angle(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b))
}
