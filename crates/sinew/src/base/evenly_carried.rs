//! Skin that hangs on lines between joints and is carried past them evenly: by all bones nearby, blended along the skin.
//!
//! Each bone k takes an attachment point along its own line, `a_k = T_k a⁰` (see [`Hanging::line_transforms`]: bones that
//! grow longer take the skin along), and the scale vector turns by the blend of their rotations:
//! `v' = Σ w_k T_k a⁰ + (Σ w_k R_k) s⁰`. Its length stays, so twists and the outside of bends keep their radius; on the
//! inside there is no room for that, and the skin folds. Where it does, linear blending takes over, `Σ w_k T_k v`, which
//! draws the inside in: with A the area vector of a face and T that of its rest shape, turned, `r = A·T/T²` is 1 where
//! nothing is squeezed and falls to below 0 where it folds.
//!
//! Oracle: a straight skeleton gives rigid, with bones that stretch; a twist keeps the radius; tests/pointwise.rs.

use super::centres_of_rotation::{TurningBone, TurningBones, skin};
use crate::attach::even_weights::EvenWeights;
use crate::attach::hanging::Hanging;
use crate::correct::smoothstep;
use crate::correct::surface::Surface;
use crate::graph::LineMotion;
use crate::rig::Rig;
use glam::{DAffine3, DQuat, DVec3};

/// Where linear blending takes over, of the area that faces would have.
const SQUEEZED: [f64; 2] = [0.1, 0.8];

const NO_TURN: DQuat = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);

/// The lines that carry each point.
#[derive(Debug)]
pub(crate) struct EvenlyCarried {
    bones: TurningBones,
    /// The entry of each line.
    entries: Vec<u32>,
    /// Lines and weights, one point after the other, and where each point's stop.
    weights: Vec<(u32, f64)>,
    stops: Vec<u32>,
    anchors: Vec<DVec3>,
    /// Corners of faces that more than one line carries.
    faces: Vec<[u32; 3]>,
    /// Nodes that more than one line carries.
    blended: Vec<u32>,
}

/// Lines at a frame, and memory.
#[derive(Default)]
pub(crate) struct Frame {
    bones: Vec<TurningBone>,
    transforms: Vec<DAffine3>,
    /// As bones, by line, and how much larger they make what they carry.
    lines: Vec<TurningBone>,
    scales: Vec<f64>,
    /// Per node, sums by weight: rotations, and scales.
    turns: Vec<(DQuat, f64)>,
    /// Per node, the smallest r of its faces.
    openness: Vec<f64>,
}

impl EvenlyCarried {
    /// `reach` of a node: over how many distances to its bone it is carried by others as well.
    pub fn new(rig: &Rig, surface: &Surface, hanging: &Hanging, reach: &dyn Fn(usize) -> f64) -> Self {
        let even = EvenWeights::new(rig, surface, hanging, reach);
        let (mut weights, mut stops): (Vec<(u32, f64)>, _) = (Vec::new(), Vec::new());
        for (node, attachment) in hanging.attachments.iter().enumerate() {
            let of = |&(entry, w): &(u32, f64)| (hanging.line_of(entry, attachment).unwrap_or(attachment.line), w);
            weights.extend(even.of(node).iter().map(of));
            stops.push(weights.len() as u32);
        }
        let mut carried = Self {
            bones: TurningBones::new(rig, surface),
            entries: (0..hanging.lines.len()).map(|line| hanging.entry(line)).collect(),
            weights,
            stops,
            anchors: hanging.anchors(),
            faces: Vec::new(),
            blended: Vec::new(),
        };
        let is_blended = |node: u32| carried.of(node as usize).len() > 1;
        let faces =
            surface.faces().into_iter().filter(|corners| corners.iter().any(|&node| is_blended(node))).collect();
        let blended = (0..surface.nodes() as u32).filter(|&node| is_blended(node)).collect();
        (carried.faces, carried.blended) = (faces, blended);
        carried
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.entries.len()
    }

    /// Where a node hangs at bind.
    pub fn anchor(&self, node: usize) -> DVec3 {
        self.anchors[node]
    }

    /// Corners of faces that more than one line carries.
    pub fn faces(&self) -> &[[u32; 3]] {
        &self.faces
    }

    /// The lines of a frame as plain data.
    pub fn tell(&self, frame: &Frame, out: &mut Vec<LineMotion>) {
        let of = |(line, &scale): (&TurningBone, &f64)| {
            LineMotion::new(&line.transform, line.rotation, &line.stretch, scale)
        };
        out.extend(frame.lines.iter().zip(&frame.scales).map(of));
    }

    /// Lines and weights of a node.
    pub fn of(&self, node: usize) -> &[(u32, f64)] {
        let start = node.checked_sub(1).map_or(0, |before| self.stops[before] as usize);
        &self.weights[start..self.stops[node] as usize]
    }

    pub fn pose(&self, hanging: &Hanging, from_bind: &[DAffine3], frame: &mut Frame) {
        let Frame { bones, transforms, lines, scales, .. } = frame;
        self.bones.pose(from_bind, bones);
        hanging.line_transforms(from_bind, transforms);
        let line = |(&entry, &transform): (&u32, &DAffine3)| TurningBone { transform, ..bones[entry as usize] };
        lines.clear();
        lines.extend(self.entries.iter().zip(&*transforms).map(line));
        scales.clear();
        scales.extend(self.entries.iter().map(|&entry| from_bind[entry as usize].matrix3.determinant().abs().cbrt()));
    }

    pub fn place(&self, frame: &Frame, node: usize, bind: DVec3) -> DVec3 {
        skin(bind, Some(self.anchors[node]), self.of(node), &frame.lines)
    }

    /// Hands over to linear blending where skin is squeezed.
    pub fn finish(&self, frame: &mut Frame, bind: &[DVec3], nodes: &mut [DVec3]) {
        let Frame { lines, scales, turns, openness, .. } = frame;
        turns.clear();
        turns.extend((0..nodes.len()).map(|node| {
            let add = |(turn, scale): (DQuat, f64), &(line, w): &(u32, f64)| {
                (turn + lines[line as usize].rotation * w, scale + scales[line as usize] * w)
            };
            self.of(node).iter().fold((NO_TURN, 0.0), add)
        }));
        openness.clear();
        openness.resize(nodes.len(), 1.0);
        for corners in &self.faces {
            let area = |points: &[DVec3]| {
                let [a, b, c] = corners.map(|node| points[node as usize]);
                (b - a).cross(c - a)
            };
            let [p, q, r] = corners.map(|node| turns[node as usize]);
            let (turn, scale) = (p.0 + q.0 + r.0, (p.1 + q.1 + r.1) / 3.0);
            let rest = area(bind) * (scale * scale);
            let open = area(nodes).dot(turn.normalize() * rest) / rest.length_squared();
            // Opposite rotations cancel, and a face of no area has no sides.
            let open = if open.is_nan() { 1.0 } else { open };
            corners.iter().for_each(|&node| openness[node as usize] = openness[node as usize].min(open));
        }
        for &node in &self.blended {
            let node = node as usize;
            let squeezed = 1.0 - smoothstep(SQUEEZED, openness[node]);
            if squeezed > 0.0 {
                let linear = skin(bind[node], None, self.of(node), lines);
                nodes[node] = nodes[node].lerp(linear, squeezed);
            }
        }
    }
}
