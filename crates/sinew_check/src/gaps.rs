//! Gaps that open between pieces of skin that touch at rest: a foot that leaves its leg.
//!
//! *Contacts* are found once, at rest: points of a piece within a two-hundredth of the size of another one's surface, and
//! places where an edge of one goes through a triangle of another. At a frame, the distance of each contact to the
//! other piece's surface is compared with that in the base: what it is more is the gap. A contact that effects push into
//! the other piece opens no gap; that is a crossing.
//!
//! Oracle: a foot moved off its leg by a known amount (`truth.rs`).

use crate::crossings::movements;
use crate::shape::{Shape, u32_of};
use crate::tree::{Bounds, Nearest, Steps, Tree, nearest_on_triangle};
use glam::DVec3;

/// Share of the size: pieces that are nearer at rest touch.
const TOUCHING: f64 = 5e-3;
/// Share of the size: smaller gaps are not seen, and not looked for.
const UNSEEN: f64 = 2e-4;
/// Cosine between the way to the surface and its normal below which a contact lies inside.
const INSIDE: f64 = -0.5;

/// A place on an edge of one piece that lies on another piece at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Contact {
    edge: [u32; 2],
    along: f64,
    /// The other piece, and the triangle of it that is nearest at rest.
    other: u32,
    face: u32,
    /// The pair of pieces.
    pair: u32,
}

pub(crate) struct Gaps {
    contacts: Vec<Contact>,
    /// Pieces that touch, the lower one first.
    pub pairs: Vec<[u32; 2]>,
}

/// The widest gap of a pair of pieces so far: shares of the size with effects beyond the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WorstGap {
    pub gap: f64,
    pub point: u32,
    pub time: f64,
}

impl WorstGap {
    pub const NONE: Self = Self { gap: UNSEEN, point: u32::MAX, time: 0.0 };

    /// None, where nobody asks for what is narrower than a share of the size.
    pub fn none_below(gap: f64) -> Self {
        Self { gap: gap.max(UNSEEN), ..Self::NONE }
    }

    pub fn join(&mut self, later: Self) {
        if later.gap > self.gap {
            *self = later;
        }
    }
}

/// Boxes of pieces at one frame, fitted when they are first asked for.
#[derive(Default)]
pub(crate) struct Fitted(Vec<Vec<Bounds>>);

impl Fitted {
    pub fn clear(&mut self, pieces: usize) {
        self.0.resize(pieces, Vec::new());
        self.0.iter_mut().for_each(Vec::clear);
    }

    fn nearest(
        &mut self,
        shape: &Shape,
        trees: &[Tree],
        piece: usize,
        points: &[DVec3],
        at: DVec3,
        within: f64,
    ) -> Option<Nearest> {
        let (tree, boxes) = (&trees[piece], &mut self.0[piece]);
        if boxes.is_empty() {
            tree.fit(points, &shape.triangles, boxes);
        }
        tree.nearest(boxes, points, &shape.triangles, at, within)
    }
}

/// Pairs of pieces of one character whose boxes, `margin` sizes wider, meet, as far as there are `steps`.
pub(crate) fn near_pieces(shape: &Shape, points: &[DVec3], margin: f64, steps: &mut Steps) -> Vec<[u32; 2]> {
    let boxes: Vec<(DVec3, DVec3)> =
        shape.members.iter().map(|members| crate::shape::bounds(members.iter().map(|&p| points[p as usize]))).collect();
    // A sweep along x: pieces by where they begin.
    let mut order: Vec<u32> = (0..u32_of(boxes.len())).collect();
    order.sort_by(|&a, &b| boxes[a as usize].0.x.total_cmp(&boxes[b as usize].0.x).then(a.cmp(&b)));
    let mut pairs = Vec::new();
    for (n, &a) in order.iter().enumerate() {
        let (low, high) = boxes[a as usize];
        let reach = margin * shape.sizes[shape.pieces[a as usize].character];
        for &b in &order[n + 1..] {
            let (other_low, other_high) = boxes[b as usize];
            if other_low.x > high.x + reach || !steps.take() {
                break;
            }
            let is_near = (low - reach).cmple(other_high).all() && other_low.cmple(high + reach).all();
            if is_near && shape.pieces[a as usize].character == shape.pieces[b as usize].character {
                pairs.push([a.min(b), a.max(b)]);
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

impl Gaps {
    pub fn new(shape: &Shape, trees: &[Tree]) -> Self {
        let rest = &shape.rest;
        let mut fitted = Fitted::default();
        fitted.clear(trees.len());
        let (mut contacts, mut pairs) = (Vec::new(), Vec::new());
        let mut steps = Steps::for_triangles(shape.triangles.len());
        let near = near_pieces(shape, rest, TOUCHING, &mut steps);
        let mut others = vec![Vec::new(); shape.pieces.len()];
        for &[a, b] in &near {
            others[a as usize].push(b);
            others[b as usize].push(a);
        }
        for (piece, members) in shape.members.iter().enumerate() {
            if others[piece].is_empty() {
                continue;
            }
            for &point in members {
                let (at, reach) = (rest[point as usize], TOUCHING * shape.size(point as usize));
                let mut best: Option<(u32, Nearest)> = None;
                for &other in others[piece].iter().take_while(|_| steps.take()) {
                    let within = best.map_or(reach * reach, |(_, nearest)| nearest.distance_squared);
                    let found = fitted.nearest(shape, trees, other as usize, rest, at, within);
                    best = found.map(|nearest| (other, nearest)).or(best);
                }
                if let Some((other, nearest)) = best {
                    let face = nearest.triangle;
                    contacts.push(Contact { edge: [point; 2], along: 0.0, other, face, pair: 0 });
                }
            }
        }
        for &[a, b] in &near {
            let (one, two) = (a as usize, b as usize);
            for piece in [one, two] {
                if fitted.0[piece].is_empty() {
                    trees[piece].fit(rest, &shape.triangles, &mut fitted.0[piece]);
                }
            }
            trees[one].pairs(&fitted.0[one], &trees[two], &fitted.0[two], &mut steps, |first, second| {
                for (from, through, other) in [(first, second, b), (second, first, a)] {
                    let triangle = shape.triangles[from as usize];
                    let plane = shape.triangles[through as usize].map(|p| rest[p as usize]);
                    for (p, q) in [(0, 1), (1, 2), (2, 0)] {
                        let edge = [triangle[p].min(triangle[q]), triangle[p].max(triangle[q])];
                        if let Some(along) = pierced(edge.map(|p| rest[p as usize]), plane) {
                            contacts.push(Contact { edge, along, other, face: through, pair: 0 });
                        }
                    }
                }
            });
        }
        if steps.ran_out() {
            contacts.clear();
        }
        contacts.sort_by_key(|contact| (contact.edge, contact.other, contact.face));
        contacts.dedup_by_key(|contact| (contact.edge, contact.other, contact.face));
        let pair = |contact: &Contact| {
            let own = shape.piece[contact.edge[0] as usize];
            [own.min(contact.other), own.max(contact.other)]
        };
        pairs.extend(contacts.iter().map(pair));
        pairs.sort_unstable();
        pairs.dedup();
        for contact in &mut contacts {
            contact.pair = pairs.binary_search(&pair(contact)).map_or(0, u32_of);
        }
        Self { contacts, pairs }
    }

    /// Looks at a frame; `fitted` are the boxes in the base and with effects.
    pub fn look(
        &self,
        shape: &Shape,
        trees: &[Tree],
        [base, effects]: [&[DVec3]; 2],
        time: f64,
        fitted: &mut [Fitted; 2],
        worst: &mut [WorstGap],
    ) {
        fitted.iter_mut().for_each(|fitted| fitted.clear(trees.len()));
        let moved = movements(shape, base, effects);
        for contact in &self.contacts {
            let place = |points: &[DVec3]| {
                let [a, b] = contact.edge.map(|p| points[p as usize]);
                a.lerp(b, contact.along)
            };
            let size = shape.size(contact.edge[0] as usize);
            let worst = &mut worst[contact.pair as usize];
            let (at, before) = (place(effects), place(base));
            // Nothing parts farther than it is moved against the other piece.
            let [low, high] = moved[contact.other as usize].map(|moved| (at - before - moved).abs());
            if low.max(high).length() <= worst.gap * size {
                continue;
            }
            // A gap is at most the distance to any point of the other piece.
            let face = shape.triangles[contact.face as usize].map(|p| effects[p as usize]);
            let most = nearest_on_triangle(at, face).distance_squared(at);
            if most <= (worst.gap * size).powi(2) {
                continue;
            }
            let other = contact.other as usize;
            let Some(found) = fitted[1].nearest(shape, trees, other, effects, at, 1.0001 * most) else { continue };
            let apart = found.distance_squared.sqrt();
            if apart <= worst.gap * size || is_inside(shape, effects, at, &found) {
                continue;
            }
            let in_base = fitted[0].nearest(shape, trees, other, base, before, f64::INFINITY);
            let gap = (apart - in_base.map_or(0.0, |nearest| nearest.distance_squared.sqrt())) / size;
            worst.join(WorstGap { gap, point: contact.edge[0], time });
        }
    }
}

fn is_inside(shape: &Shape, points: &[DVec3], at: DVec3, found: &Nearest) -> bool {
    let [a, b, c] = shape.triangles[found.triangle as usize].map(|p| points[p as usize]);
    let normal = (b - a).cross(c - a);
    let way = at - found.point;
    way.dot(normal) < INSIDE * way.length() * normal.length()
}

/// How far along an edge it goes through a triangle.
fn pierced([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> Option<f64> {
    let normal = (b - a).cross(c - a);
    let (from, to) = ((p - a).dot(normal), (q - a).dot(normal));
    if from * to >= 0.0 {
        return None;
    }
    let along = from / (from - to);
    let at = p.lerp(q, along);
    let is_within = [(a, b), (b, c), (c, a)].iter().all(|&(u, v)| (v - u).cross(at - u).dot(normal) >= 0.0);
    is_within.then_some(along)
}
