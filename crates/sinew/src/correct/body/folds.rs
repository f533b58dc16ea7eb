//! Where blending folds the skin.
//!
//! With A the doubled area vector of a face at a frame and T that of its rest shape under its bones, blended,
//! `r = A·T/T²` is 1 where nothing but the blend acts, also where a twist collapses it. Where weights change along the skin
//! it falls on the inside of a bend, and is negative where skin is folded over: on a tube of radius R whose weights change
//! over 2L, bent by θ, `r = 1 − (R/L) tan(θ/2)` on the inside, and the skin crosses itself exactly where that is negative.
//!
//! Oracle: that tube (tests/volume.rs).

use super::frame::Body;
use super::surface::Surface;
use glam::{DMat3, DVec3};

/// Of the area at rest: what blended bones collapse to less counts as this much.
const COLLAPSED: f64 = 0.05;

/// From 0 to 1 between two values, with no slope at either.
pub(crate) fn smoothstep([from, to]: [f64; 2], x: f64) -> f64 {
    let x = ((x - from) / (to - from)).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Faces that more than one bone moves, and how bones blend there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folds {
    /// Corners of each.
    faces: Vec<[u32; 3]>,
    /// Palette entries with their mean weights, one face after the other, and where each face's stop.
    blends: Vec<(u32, f64)>,
    stops: Vec<u32>,
}

impl Folds {
    /// Of faces; `influences` of a node are entries with weights.
    pub fn new<'a>(faces: &[[u32; 3]], influences: impl Fn(usize) -> &'a [(u32, f64)]) -> Self {
        let mut folds = Self::default();
        let mut blend: Vec<(u32, f64)> = Vec::new();
        for corners in faces {
            blend.clear();
            blend.extend(corners.iter().flat_map(|&node| influences(node as usize)).map(|&(e, w)| (e, w / 3.0)));
            blend.sort_unstable_by_key(|&(entry, _)| entry);
            blend.dedup_by(|next, sum| {
                let same = next.0 == sum.0;
                sum.1 += if same { next.1 } else { 0.0 };
                same
            });
            if blend.len() > 1 {
                folds.faces.push(*corners);
                folds.blends.extend_from_slice(&blend);
                folds.stops.push(folds.blends.len() as u32);
            }
        }
        folds
    }

    /// Tells the corners and r of every face whose corners are at hand.
    pub fn measure(
        &self,
        surface: &Surface,
        body: &Body,
        place: impl Fn(u32) -> DVec3,
        mut tell: impl FnMut([u32; 3], f64),
    ) {
        let doubled = |[a, b, c]: [DVec3; 3]| (b - a).cross(c - a);
        let bind = body.bind(surface);
        let mut first = 0;
        for (&corners, &stop) in self.faces.iter().zip(&self.stops) {
            let blend = &self.blends[first..stop as usize];
            first = stop as usize;
            if !corners.iter().all(|&node| body.is_at_hand(surface, node)) {
                continue;
            }
            let now = doubled(corners.map(&place));
            let rest = doubled(corners.map(|node| bind[node as usize]));
            let mut blended = DMat3::ZERO;
            for &(entry, weight) in blend {
                blended += body.from_bind[entry as usize].matrix3 * weight;
            }
            let [x, y, z] = [blended.x_axis, blended.y_axis, blended.z_axis];
            let carried = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y)) * rest;
            let scale = body.from_bind[blend[0].0 as usize].matrix3.x_axis.length_squared();
            let least = (COLLAPSED * scale).powi(2) * rest.length_squared();
            let r = (now.dot(carried) + least) / (carried.length_squared() + least);
            tell(corners, if r.is_finite() { r } else { 1.0 });
        }
    }
}
