//! The nodes of one character at one frame, in f64 about a point near them: what corrections read and move.

use super::surface::Surface;
use crate::rig::Rig;
use crate::simd::Points;
use glam::{DAffine3, DMat3, DVec3};

/// One character at one frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    /// Nodes and apexes.
    pub points: Vec<DVec3>,
    /// Where they were before any correction.
    start: Vec<DVec3>,
    centre: DVec3,
    /// Nodes that lie in contact and are not to be moved again.
    pub held: Vec<bool>,
    /// Nodes at rest in bind space, where morph targets are active.
    pub morphed: Option<Vec<DVec3>>,
    /// Per palette entry: from bind space to these points.
    pub from_bind: Vec<DAffine3>,
    /// Per node: the part of the volume around it that blending its bones takes, from 0; and the largest of all.
    pub bends: Vec<f64>,
    pub largest_bend: f64,
    /// Per segment: its bones move as one, and no effect moves it.
    pub still: Vec<bool>,
    /// How far off a coordinate may be from rounding alone.
    pub noise: f64,
    pub size: f64,

    /// Twice the area vector of every triangle.
    pub areas: Vec<DVec3>,
    /// ∇V at nodes and apexes.
    pub gradients: Vec<DVec3>,
    pub normals: Vec<DVec3>,
    /// The next move at λ = 1, nodes and apexes.
    pub moves: Vec<DVec3>,
}

/// Bones whose transforms differ by less over the reach of a segment, in sizes, leave it rigid.
const STILL: f64 = 1e-7;

/// What a frame gives a body.
pub(super) struct BodyFrame<'a> {
    pub rig: &'a Rig,
    /// Per palette entry, relative to the characters' origins.
    pub world_from_rest: &'a [DAffine3],
    /// Rest points with morph targets, where any is active.
    pub morphed_rest: Option<&'a Points>,
    /// No effect moves anything.
    pub effects_rest: bool,
    pub points: &'a Points,
}

impl Body {
    /// Takes the frame's points; false if they are not finite.
    pub fn load(&mut self, surface: &Surface, frame: &BodyFrame<'_>) -> bool {
        let mean = |slots: &[u32]| {
            let sum: DVec3 = slots.iter().map(|&slot| frame.points.get(slot as usize).as_dvec3()).sum();
            sum / slots.len() as f64
        };
        self.points.clear();
        self.points.extend(surface.members.iter().map(mean));
        self.centre = self.points.iter().sum::<DVec3>() / self.points.len().max(1) as f64;
        let mut farthest = 0.0f64;
        for p in &mut self.points {
            farthest = farthest.max(p.abs().max_element());
            *p -= self.centre;
        }
        self.noise = farthest * f64::from(f32::EPSILON) / 2.0;
        self.size = frame.rig.characters()[surface.character].size;
        self.begin();
        surface.place_apexes(&mut self.points);
        self.from_bind.clear();
        let centred = DAffine3::from_translation(-self.centre);
        for entry in 0..frame.world_from_rest.len() as u32 {
            self.from_bind.push(centred * surface.world_from_bind(entry, frame.world_from_rest));
        }
        match (frame.morphed_rest, &mut self.morphed) {
            (None, morphed) => *morphed = None,
            (Some(rest), morphed) => surface.bind_points(rest, morphed.get_or_insert_default()),
        }
        self.still.clear();
        for (segment, entries) in surface.segments.iter().zip(surface.segment_entries.iter()) {
            let own = &self.from_bind[segment.entry as usize];
            let alike = |&entry: &u32| {
                let other = &self.from_bind[entry as usize];
                let shift = (other.transform_point3(segment.middle) - own.transform_point3(segment.middle)).length();
                let turn = (other.matrix3 - own.matrix3).to_cols_array().iter().fold(0.0f64, |m, v| m.max(v.abs()));
                shift + turn * segment.reach <= STILL * self.size
            };
            self.still.push(frame.effects_rest && entries.iter().all(alike));
        }
        self.bends.clear();
        self.bends.extend((0..surface.nodes()).map(|node| bend(surface.influences_of(node), &self.from_bind)));
        self.largest_bend = self.bends.iter().copied().fold(0.0, f64::max);
        self.points.iter().all(|p| p.is_finite()) && self.from_bind.iter().all(DAffine3::is_finite)
    }

    /// The points, without apexes, are where moves are counted from.
    pub fn begin(&mut self) {
        self.start.clone_from(&self.points);
        self.held.clear();
        self.held.resize(self.points.len(), false);
    }

    /// What the points are relative to, itself relative to the character's origin.
    pub fn centre(&self) -> DVec3 {
        self.centre
    }

    /// Nodes at rest in bind space.
    pub fn bind<'a>(&'a self, surface: &'a Surface) -> &'a [DVec3] {
        self.morphed.as_deref().unwrap_or(&surface.bind)
    }

    /// Whether nothing but rigid motion happened to the whole body.
    pub fn is_still(&self) -> bool {
        self.still.iter().all(|&still| still)
    }

    /// How far a node has come.
    pub fn moved(&self, node: usize) -> DVec3 {
        self.points[node] - self.start[node]
    }

    pub fn largest_move(&self) -> f64 {
        (0..self.start.len()).map(|node| self.moved(node).length_squared()).fold(0.0, f64::max).sqrt()
    }

    /// Area vectors, gradients and normals of the points as they are.
    pub fn differentiate(&mut self, surface: &Surface) {
        let points = &self.points;
        self.areas.clear();
        self.areas.extend(surface.triangles.iter().map(|corners| {
            let [a, b, c] = corners.map(|node| points[node as usize]);
            (b - a).cross(c - a)
        }));
        self.gradients.clear();
        self.normals.clear();
        let caps = surface.first_cap as u32..surface.first_sheet as u32;
        for triangles in surface.corners.iter() {
            let (mut faces, mut closed) = (DVec3::ZERO, DVec3::ZERO);
            for &t in triangles {
                let area = self.areas[t as usize];
                closed += area;
                if !caps.contains(&t) {
                    faces += area;
                }
            }
            self.gradients.push(closed / 6.0);
            self.normals.push(unit(faces));
        }
        surface.share_apexes(&mut self.gradients);
    }

    /// Adds `factor` times the moves.
    pub fn step(&mut self, surface: &Surface, factor: f64) {
        for (p, w) in self.points.iter_mut().zip(&self.moves) {
            *p += *w * factor;
        }
        surface.place_apexes(&mut self.points);
    }

    /// The largest factor in [0, `factor`] on the moves that leaves each of some nodes within `bound` of where it
    /// started.
    pub fn bounded(&self, nodes: impl Iterator<Item = usize>, factor: f64, bound: f64) -> f64 {
        let mut allowed = factor;
        for node in nodes {
            let (w, moved) = (self.moves[node], self.moved(node));
            if w == DVec3::ZERO || (moved + w * allowed).length_squared() <= bound * bound {
                continue;
            }
            // |moved + s·w| = bound.
            let (a, b, c) = (w.length_squared(), moved.dot(w), moved.length_squared() - bound * bound);
            let root = (b * b - a * c).max(0.0).sqrt();
            allowed = allowed.min(((root - b) / a).max(0.0));
        }
        allowed
    }

    /// Writes what moved back to the points it was loaded from.
    pub fn store(&self, surface: &Surface, points: &mut Points) {
        for (node, slots) in surface.members.iter().enumerate() {
            let moved = self.moved(node);
            if moved != DVec3::ZERO {
                for &slot in slots {
                    let p = points.get(slot as usize).as_dvec3() + moved;
                    points.set(slot as usize, p.as_vec3());
                }
            }
        }
    }
}

/// `1 − det(Σ w_i R_i) / Σ w_i det(R_i)`: 0 where one bone has all the weight or all move alike, towards 1 where a twist
/// collapses the skin.
fn bend(influences: &[(u32, f64)], from_bind: &[DAffine3]) -> f64 {
    if influences.len() < 2 {
        return 0.0;
    }
    let (mut blended, mut unblended) = (DMat3::ZERO, 0.0);
    for &(entry, weight) in influences {
        let matrix = from_bind[entry as usize].matrix3;
        blended += matrix * weight;
        unblended += matrix.determinant() * weight;
    }
    let lost = 1.0 - blended.determinant() / unblended;
    if lost > 0.0 && lost.is_finite() { lost } else { 0.0 }
}

/// Scaled first: a long vector squared may leave the range, and so may a short one.
fn unit(v: DVec3) -> DVec3 {
    (v / v.abs().max_element()).try_normalize().unwrap_or(DVec3::ZERO)
}
