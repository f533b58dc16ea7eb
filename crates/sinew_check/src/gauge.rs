//! A skin against itself at rest, whatever has moved it: what any method of skinning can be held to.
//!
//! The judge of clips (`clip.rs`) holds effects against the base. A base, a correction of it or other weights have no such
//! base: what they do to a body is told by the body at rest.
//!
//! Oracle: a tube scaled and folded by known amounts (`truth.rs`).

use crate::crossings::{Boxes, Pairs, all, missing, trees};
use crate::shape::Shape;
use crate::thickness::{Caliper, calipers};
use crate::tree::Tree;
use glam::DVec3;
use sinew::Rig;

/// Share of the size: shorter edges are left out.
const SHORTEST_EDGE: f64 = 1e-3;

/// Looks at frames of one rig.
pub struct Gauge {
    shape: Shape,
    trees: Vec<Tree>,
    calipers: Vec<Caliper>,
    rest: [Pairs; 2],
    boxes: Boxes,
    points: Vec<DVec3>,
}

/// What a frame does to the skin, against rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Pairs of triangles that cross and do not at rest, within one connected piece, the two sharing no point.
    pub within: usize,
    /// The same between pieces.
    pub between: usize,
    /// The longest an edge gets, over its length at rest.
    pub stretch: f64,
    /// The thinnest a limb gets, over its thickness at rest; infinite where nothing is thick.
    pub thinnest: f64,
    /// Volume of all pieces that have one, over that at rest; not a number where none has.
    pub volume: f64,
}

impl Gauge {
    /// `rest` are the rig's vertices at the nodes' default transforms.
    pub fn new(rig: &Rig, rest: &[DVec3]) -> Self {
        let shape = Shape::new(rig, rest);
        let trees = trees(&shape);
        let calipers = calipers(&shape, &trees);
        let mut boxes = Boxes::default();
        let rest = all(&shape, &trees, &shape.rest, &mut boxes, |_, _| true).unwrap_or_default();
        Self { shape, trees, calipers, rest, boxes, points: Vec::new() }
    }

    /// Whether most of the skin has an inside: the area of sheets is less than a tenth.
    pub fn is_nearly_closed(&self) -> bool {
        let area = |piece: usize| -> f64 {
            let faces = &self.shape.triangles[self.shape.faces[piece].clone()];
            faces
                .iter()
                .map(|t| t.map(|p| self.shape.rest[p as usize]))
                .map(|[a, b, c]| (b - a).cross(c - a).length())
                .sum()
        };
        let all: f64 = (0..self.shape.faces.len()).map(area).sum();
        let sheets: f64 = (0..self.shape.faces.len()).filter(|&piece| self.shape.is_sheet[piece]).map(area).sum();
        sheets < 0.1 * all
    }

    /// Of the rig's vertices at a frame.
    pub fn read(&mut self, vertices: &[DVec3]) -> Reading {
        self.shape.gather(vertices, &mut self.points);
        let (shape, points) = (&self.shape, &self.points);
        let found = all(shape, &self.trees, points, &mut self.boxes, |_, _| true).unwrap_or_default();
        let [within, between] = [0, 1].map(|kind| missing(&found[kind], &[&self.rest[kind]]).len());
        let stretch = (shape.edges.iter())
            .filter_map(|&[a, b]| {
                let length = |points: &[DVec3]| points[a as usize].distance(points[b as usize]);
                let at_rest = length(&shape.rest);
                (at_rest >= SHORTEST_EDGE * shape.size(a as usize)).then(|| length(points) / at_rest)
            })
            .fold(0.0, f64::max);
        let thinnest = (self.calipers.iter())
            .map(|caliper| caliper.length(shape, points) / caliper.length(shape, &shape.rest))
            .fold(f64::INFINITY, f64::min);
        Reading { within, between, stretch, thinnest, volume: volume(shape, points) / volume(shape, &shape.rest) }
    }
}

/// Of all pieces but sheets. Each is seen from its middle, so that a small hole costs little.
fn volume(shape: &Shape, points: &[DVec3]) -> f64 {
    (0..shape.faces.len())
        .filter(|&piece| !shape.is_sheet[piece])
        .map(|piece| {
            let members = &shape.members[piece];
            let middle = members.iter().map(|&p| points[p as usize]).sum::<DVec3>() / members.len() as f64;
            let corner = |t: [u32; 3]| t.map(|p| points[p as usize] - middle);
            let faces = shape.triangles[shape.faces[piece].clone()].iter();
            faces.map(|&t| corner(t)).map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum::<f64>()
        })
        .sum()
}
