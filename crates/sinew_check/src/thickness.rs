//! Thickness: how thin effects press what lies between two sides of the skin.
//!
//! At rest a ray goes inward from each point; where it leaves through the far side of the same piece, nearly along that
//! side's normal, the two places are a *caliper*. At a frame its length with effects is held against that in the base.
//! Calipers longer than a quarter of the size span hollows, not limbs; shorter ones than a two-hundredth are sheets.
//!
//! Oracle: a bar pressed to a known share of its thickness (`truth.rs`).

use crate::shape::Shape;
use crate::tree::Tree;
use glam::DVec3;

/// Shares of the size between which a caliper means something.
const SHORTEST: f64 = 5e-3;
const LONGEST: f64 = 0.25;
/// Cosine between the ray and the far side's normal.
const FACING: f64 = 0.5;
/// Points of a character up to which each may have a caliper. Of more, some have, and the order of vertices decides which.
const MOST: usize = 16_384;

/// Two places on opposite sides of the skin.
pub(crate) struct Caliper {
    pub point: u32,
    face: u32,
    /// Barycentric coordinates of the second and third corner.
    at: [f64; 2],
}

/// The thinnest so far: with effects over the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thinnest {
    pub ratio: f64,
    pub point: u32,
    pub time: f64,
}

impl Thinnest {
    pub const NONE: Self = Self { ratio: 1.0, point: u32::MAX, time: 0.0 };

    pub fn join(&mut self, later: Self) {
        if later.ratio < self.ratio {
            *self = later;
        }
    }
}

pub(crate) fn calipers(shape: &Shape, trees: &[Tree]) -> Vec<Caliper> {
    let rest = &shape.rest;
    let mut normals = vec![DVec3::ZERO; rest.len()];
    for &[a, b, c] in &shape.triangles {
        let [p, q, r] = [a, b, c].map(|p| rest[p as usize]);
        let normal = (q - p).cross(r - p);
        [a, b, c].iter().for_each(|&p| normals[p as usize] += normal);
    }
    let stride = rest.len().div_ceil(MOST).max(1);
    let mut calipers = Vec::new();
    let mut boxes = Vec::new();
    for (piece, members) in shape.members.iter().enumerate() {
        trees[piece].fit(rest, &shape.triangles, &mut boxes);
        for &point in members.iter().step_by(stride) {
            let Some(inward) = (-normals[point as usize]).try_normalize() else { continue };
            let (from, size) = (rest[point as usize], shape.size(point as usize));
            let own = |face: u32| shape.triangles[face as usize].contains(&point);
            let hit = trees[piece].first_hit(&boxes, rest, &shape.triangles, from, inward, own);
            let Some((length, face, at)) = hit else { continue };
            let [a, b, c] = shape.triangles[face as usize].map(|p| rest[p as usize]);
            let faces_it = (b - a).cross(c - a).normalize_or_zero().dot(inward) > FACING;
            if faces_it && (SHORTEST * size..LONGEST * size).contains(&length) {
                calipers.push(Caliper { point, face, at });
            }
        }
    }
    calipers
}

impl Caliper {
    pub fn length(&self, shape: &Shape, points: &[DVec3]) -> f64 {
        let [a, b, c] = shape.triangles[self.face as usize].map(|p| points[p as usize]);
        (a + (b - a) * self.at[0] + (c - a) * self.at[1]).distance(points[self.point as usize])
    }
}

/// Looks at a frame.
pub(crate) fn look(
    shape: &Shape,
    calipers: &[Caliper],
    base: &[DVec3],
    effects: &[DVec3],
    time: f64,
    thinnest: &mut Thinnest,
) {
    for caliper in calipers {
        let without = caliper.length(shape, base);
        if without >= SHORTEST * shape.size(caliper.point as usize) {
            let ratio = caliper.length(shape, effects) / without;
            thinnest.join(Thinnest { ratio, point: caliper.point, time });
        }
    }
}
