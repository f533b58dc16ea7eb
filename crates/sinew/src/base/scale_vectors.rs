//! As rigid as possible on scale vectors (EX 4.1.1): how the skin stands off its bones is solved for along the skin.
//!
//! A point is `v = a + s`, a its attachment point, s its scale vector. With `R_i` the turn (and stretch) of the bone that i
//! hangs on,
//! `Σ_j w_ij (s'_i − s'_j) + h_i s'_i = Σ_j ½w_ij (R_i + R_j)(s_i − s_j) + h_i R_i s_i`: one linear solve. Rigid skinning
//! is what it starts from, and the seams between bones open out along the skin. EX pins a vertex; here every point is held
//! to its bone by `h_i = h A_i/ℓ_i²` (A its area, ℓ its distance to the bone), so that no limb drifts off its bone, over a
//! length that does not depend on the resolution. As linear blending does, the solve shortens scale vectors half-way
//! between two turns: they are put back to the length that bones give them, unless asked not to.
//!
//! Attachment points go where the bones nearby take them ([`EvenWeights`]), so that their line has no corner at a joint.
//! Half cotangents are kept within bounds: the matrix is definite, whatever the triangles. It depends on the rest shape
//! alone, is factored once ([`Cholesky`]) and kept with the rig.
//!
//! Oracle: dense elimination of the energy's own gradient; a turn of all bones is that turn; tests/pointwise.rs.

use super::centres_of_rotation::{TurningBone, TurningBones};
use super::pointwise::{Placing, Pointwise};
use super::{Base, BaseBinding, BaseEntry};
use crate::attach::Gap;
use crate::attach::even_weights::EvenWeights;
use crate::attach::hanging::{ATTACH, HangPlan, Hanging, SMOOTHING};
use crate::cholesky::Cholesky;
use crate::correct::surface::Surface;
use crate::param::ParamSpec;
use crate::rig::{OfRig, Rig};
use glam::{DAffine3, DMat3, DVec3};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// How far the turn of a joint spreads, in distances to the bone.
const SPREAD: f64 = 0.5;
/// Half cotangents of faces are taken for these at least and at most.
const COTANGENT: [f64; 2] = [0.025, 5.0];
/// Distances to the bone are not taken for smaller, in smallest sides of the body.
const LEAST_DISTANCE: f64 = 1e-3;
/// How strongly bones hold the skin unless asked otherwise.
const HOLD: f64 = 1.0;

/// The base `scale-vectors`.
pub const SCALE_VECTORS: BaseEntry = BaseEntry {
    name: "scale-vectors",
    about: "As rigid as possible around the bones: how the skin stands off them is solved for along the skin",
    params: &[
        ParamSpec::number("hold", "", [0.001, 100.0], HOLD, "how strongly each point is held to its own bone"),
        ParamSpec::switch("keep_lengths", true, "put points back to their distance from the bones"),
        ATTACH,
        SMOOTHING,
    ],
    mapped: None,
    tables: &[],
    bind: |binding| {
        Base::Pointwise(Box::new(Pointwise::new(binding.rig, |surface| ScaleVectors::new(binding, surface))))
    },
};

#[derive(Debug)]
struct ScaleVectors {
    net: Arc<Net>,
    keeps_lengths: bool,
}

/// What does not depend on the pose.
#[derive(Debug)]
struct Net {
    hanging: Arc<Hanging>,
    bones: TurningBones,
    /// Lines that carry each node, and how much, in offset form.
    weights: Vec<(u32, f64)>,
    stops: Vec<u32>,
    anchors: Vec<DVec3>,
    /// The palette entry that each node hangs on.
    entries: Vec<u32>,
    /// Nodes that ride on a bone.
    is_rider: Vec<bool>,
    system: System,
}

/// The equations of the scale vectors.
#[derive(Debug)]
struct System {
    edges: Vec<([u32; 2], f64)>,
    held: Vec<f64>,
    factor: Cholesky,
}

/// Bones at a frame, and memory.
#[derive(Default)]
pub(crate) struct Frame {
    bones: Vec<TurningBone>,
    lines: Vec<DAffine3>,
    /// Turn and stretch of each entry.
    turns: Vec<DMat3>,
    anchors: Vec<DVec3>,
    vectors: Vec<DVec3>,
    memory: Vec<DVec3>,
}

/// The nets of the characters of a rig, hung and held as the defaults are.
struct Nets(Vec<OnceLock<Option<Arc<Net>>>>);

impl OfRig for Nets {
    fn of(rig: &Rig) -> Self {
        Self(rig.characters().iter().map(|_| OnceLock::new()).collect())
    }
}

impl ScaleVectors {
    fn new(binding: &BaseBinding<'_>, surface: &Surface) -> Option<Self> {
        let BaseBinding { rig, values, .. } = *binding;
        let (plan, hold) = (HangPlan::of(values, &[]), values.number("hold"));
        let make = || Net::new(rig, surface, Hanging::planned(rig, surface, &plan)?, hold).map(Arc::new);
        let net = match plan.is_default() && hold == HOLD {
            true => rig.kept::<Nets>().0.get(surface.character)?.get_or_init(make).clone()?,
            false => make()?,
        };
        Some(Self { net, keeps_lengths: values.switch("keep_lengths") })
    }
}

impl Net {
    fn new(rig: &Rig, surface: &Surface, hanging: Arc<Hanging>, hold: f64) -> Option<Self> {
        let nodes = surface.nodes();
        let bind = &surface.bind[..nodes];
        let anchors = hanging.anchors();
        let least = LEAST_DISTANCE * hanging.least_side;
        let far: Vec<f64> = bind.iter().zip(&anchors).map(|(p, a)| p.distance(*a).max(least)).collect();
        let even = EvenWeights::new(rig, surface, &hanging, &|_| SPREAD);
        let (mut weights, mut stops): (Vec<(u32, f64)>, _) = (Vec::new(), Vec::with_capacity(nodes));
        for (node, attachment) in hanging.attachments.iter().enumerate() {
            let of = |&(entry, w): &(u32, f64)| (hanging.line_of(entry, attachment).unwrap_or(attachment.line), w);
            weights.extend(even.of(node).iter().map(of));
            stops.push(weights.len() as u32);
        }
        let rides = |slots: &[u32]| slots.iter().any(|&slot| rig.is_rider(slot as usize));
        Some(Self {
            system: System::new(bind, &surface.faces(), &far, hold)?,
            bones: TurningBones::new(rig, surface),
            weights,
            stops,
            entries: hanging.attachments.iter().map(|at| hanging.entry(at.line as usize)).collect(),
            is_rider: surface.members.iter().map(rides).collect(),
            hanging,
            anchors,
        })
    }

    fn lines_of(&self, node: usize) -> &[(u32, f64)] {
        let start = node.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
        &self.weights[start..self.stops[node] as usize]
    }
}

impl System {
    /// `far` is how far points are from their bones.
    fn new(points: &[DVec3], faces: &[[u32; 3]], far: &[f64], hold: f64) -> Option<Self> {
        let (edges, areas) = conductances(points, faces);
        // A point without faces is its bone's.
        let held = |(&area, far): (&f64, &f64)| if area > 0.0 { hold * (area / (far * far)).min(1.0) } else { 1.0 };
        let held: Vec<f64> = areas.iter().zip(far).map(held).collect();
        let mut diagonal = held.clone();
        for &([a, b], weight) in &edges {
            diagonal[a as usize] += weight;
            diagonal[b as usize] += weight;
        }
        Some(Self { factor: Cholesky::new(points, &diagonal, &edges)?, edges, held })
    }

    /// The scale vectors, from those at rest and the turns of points.
    fn solve(
        &self,
        rest: impl Fn(usize) -> DVec3,
        turn: impl Fn(usize) -> DMat3,
        out: &mut Vec<DVec3>,
        memory: &mut Vec<DVec3>,
    ) {
        out.clear();
        out.extend((0..self.held.len()).map(|node| turn(node) * rest(node) * self.held[node]));
        for &([a, b], weight) in &self.edges {
            let (i, j) = (a as usize, b as usize);
            let edge = (turn(i) + turn(j)) * (rest(i) - rest(j)) * (0.5 * weight);
            out[i] += edge;
            out[j] -= edge;
        }
        self.factor.solve(out, memory);
    }
}

/// Half cotangents of edges, bounded, in ascending order, and the areas of points.
fn conductances(points: &[DVec3], faces: &[[u32; 3]]) -> (Vec<([u32; 2], f64)>, Vec<f64>) {
    let mut areas = vec![0.0; points.len()];
    let mut edges: BTreeMap<[u32; 2], f64> = BTreeMap::new();
    for face in faces {
        let corners = face.map(|v| points[v as usize]);
        let doubled = (corners[1] - corners[0]).cross(corners[2] - corners[0]).length();
        for k in 0..3 {
            let (i, j) = (face[(k + 1) % 3], face[(k + 2) % 3]);
            areas[face[k] as usize] += doubled / 6.0;
            if i == j {
                continue;
            }
            let half = 0.5 * (corners[(k + 1) % 3] - corners[k]).dot(corners[(k + 2) % 3] - corners[k]) / doubled;
            // 0/0 where the face is a point.
            let half = if half.is_nan() { 0.0 } else { half }.clamp(COTANGENT[0], COTANGENT[1]);
            *edges.entry([i.min(j), i.max(j)]).or_default() += half;
        }
    }
    (edges.into_iter().collect(), areas)
}

impl Placing for ScaleVectors {
    type Posed = Frame;

    fn pose(&self, from_bind: &[DAffine3], frame: &mut Frame) {
        let Frame { bones, lines, turns, anchors, .. } = frame;
        self.net.bones.pose(from_bind, bones);
        self.net.hanging.line_transforms(from_bind, lines);
        turns.clear();
        turns.extend(bones.iter().map(|bone| DMat3::from_quat(bone.rotation) * bone.stretch));
        anchors.clear();
        anchors.extend(self.net.anchors.iter().enumerate().map(|(node, &anchor)| {
            let carried = |&(line, w): &(u32, f64)| lines[line as usize].transform_point3(anchor) * w;
            self.net.lines_of(node).iter().map(carried).sum::<DVec3>()
        }));
    }

    /// As its bone alone turns it; the solve knows all of them.
    fn place(&self, frame: &Frame, node: usize, bind: DVec3, _: &[(u32, f64)]) -> DVec3 {
        frame.anchors[node] + frame.turns[self.net.entries[node] as usize] * (bind - self.net.anchors[node])
    }

    fn finish(&self, frame: &mut Frame, bind: &[DVec3], nodes: &mut [DVec3]) {
        let (net, Frame { bones, turns, anchors, vectors, memory, .. }) = (&*self.net, frame);
        let rest = |node: usize| bind[node] - net.anchors[node];
        net.system.solve(rest, |node| turns[net.entries[node] as usize], vectors, memory);
        for (node, place) in nodes.iter_mut().enumerate() {
            let (mut vector, rest) = (vectors[node], rest(node));
            if self.keeps_lengths {
                let stretch = |line: u32| bones[net.hanging.entry(line as usize) as usize].stretch;
                let length = |&(line, w): &(u32, f64)| (stretch(line) * rest).length() * w;
                let kept: f64 = net.lines_of(node).iter().map(length).sum();
                // One that the solve leaves without a direction stays where it is.
                vector = vector.try_normalize().map_or(vector, |direction| direction * kept);
            }
            let solved = anchors[node] + vector;
            if !net.is_rider[node] && solved.is_finite() {
                *place = solved;
            }
        }
    }

    fn gap(&self) -> Option<Gap> {
        self.net.hanging.gap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::tests::tube;
    use std::f64::consts::FRAC_PI_2;

    type Bent = (Vec<DVec3>, Vec<[u32; 3]>, Vec<DVec3>, Vec<DMat3>);

    /// A tube along +Y, its scale vectors, and turns of its two halves.
    fn bent(degrees: f64) -> Bent {
        let (points, faces) = tube(|t| (DVec3::Y * (4.0 * t), DVec3::X, DVec3::Z), 0.5, 15, 8);
        let vectors = points.iter().map(|p| DVec3::new(p.x, 0.0, p.z)).collect();
        let turn = |p: &DVec3| if p.y > 2.0 { DMat3::from_rotation_z(-degrees.to_radians()) } else { DMat3::IDENTITY };
        let turns = points.iter().map(turn).collect();
        (points, faces, vectors, turns)
    }

    /// `Σ w_ij‖(s_i − s_j) − ½(R_i + R_j)(s⁰_i − s⁰_j)‖² + Σ h_i‖s_i − R_i s⁰_i‖²`, edge by edge of the faces.
    fn energy((points, faces, rest, turns): &Bent, s: &[DVec3]) -> f64 {
        let mut sum = 0.0;
        let mut areas = vec![0.0; points.len()];
        for face in faces {
            let [a, b, c] = face.map(|v| v as usize);
            let area = 0.5 * (points[b] - points[a]).cross(points[c] - points[a]).length();
            for (i, j, apex) in [(a, b, c), (b, c, a), (c, a, b)] {
                let (u, v) = (points[i] - points[apex], points[j] - points[apex]);
                let weight = (0.5 / u.angle_between(v).tan()).clamp(COTANGENT[0], COTANGENT[1]);
                let wanted = (turns[i] + turns[j]) * (rest[i] - rest[j]) * 0.5;
                sum += weight * (s[i] - s[j] - wanted).length_squared();
                areas[apex] += area / 3.0;
            }
        }
        let held = |i: usize| (areas[i] / 0.25f64).min(1.0) * (s[i] - turns[i] * rest[i]).length_squared();
        sum + (0..points.len()).map(held).sum::<f64>()
    }

    fn solved(bent: &Bent, hold: f64) -> Vec<DVec3> {
        let (points, faces, rest, turns) = bent;
        let system = System::new(points, faces, &vec![0.5; points.len()], hold).expect("definite");
        let mut out = Vec::new();
        system.solve(|i| rest[i], |i| turns[i], &mut out, &mut Vec::new());
        out
    }

    #[test]
    fn no_change_lowers_the_energy() {
        // It is quadratic: the difference over a small step both ways is its slope to rounding.
        let bent = bent(90.0);
        let found = solved(&bent, 1.0);
        let least = energy(&bent, &found);
        let h = 1e-3;
        for node in 0..found.len() {
            for axis in DVec3::AXES {
                let moved = |by: f64| {
                    let mut there = found.clone();
                    there[node] += axis * by;
                    energy(&bent, &there)
                };
                let slope = (moved(h) - moved(-h)) / (2.0 * h);
                assert!(slope.abs() < 1e-9, "{node}: {slope}");
                assert!(moved(h) > least);
            }
        }
    }

    #[test]
    fn one_turn_turns_all_and_a_bend_passes_evenly_from_one_to_the_other() {
        let mut whole = bent(0.0);
        let turn = DMat3::from_rotation_x(1.1) * DMat3::from_rotation_y(-0.7);
        whole.3.fill(turn);
        for (s, rest) in solved(&whole, 1.0).iter().zip(&whole.2) {
            assert!(s.distance(turn * *rest) < 1e-12);
        }
        let bent = bent(90.0);
        let found = solved(&bent, 1.0);
        // Of the outer line: the angle grows along the tube and keeps to a quarter turn.
        let mut last = -1e-9;
        for (p, s) in bent.0.iter().zip(&found).filter(|(p, _)| p.x < -0.49) {
            let angle = (-s.x).atan2(s.y).rem_euclid(std::f64::consts::TAU);
            let angle = (FRAC_PI_2 - angle).abs();
            assert!(angle >= last - 1e-9 && angle <= FRAC_PI_2 + 1e-9, "{p}: {angle} after {last}");
            last = angle;
        }
        assert!(last > 1.4, "{last}");
    }
}
