//! Local shape diameter: how thick the body is beneath each point (Shapira, Shamir, Cohen-Or 2008; VS fig. 11).
//!
//! From each face, rays go inward in a cone of 120° about the inverse normal; its diameter is the mean of their lengths
//! within one standard deviation of the median, and that of a point the mean over its faces by area. (From the points
//! themselves, rays at the hem of a cloth or the edge of a leaf would start through the faces they start on.) Softness
//! falls with the diameter,
//! `1 − ln(1 + 4x)/ln 5`, `x = d/d₉₅`, d₉₅ the diameter that 95 % of the character's own area stay below: a thread has 1,
//! the bulk of the body 0, and a body that is equally thick everywhere is 0 all over (normalising by the least
//! diameter as well would blow up noise there).
//!
//! Details where readings differ:
//! - The rays stand on rings of equal steps in angle. Shapira spreads them evenly over the cone and weighs each by the
//!   inverse of its angle: the same measure up to sinθ/θ, without the pole at θ = 0.
//! - Rings are turned to the direction from the character's centre, so the ray set turns, grows and mirrors with the
//!   character.
//! - A ray ends where it *leaves* the body: faces it enters by (an eye, a shirt over skin) are passed.
//! - A ray that never leaves (open meshes) is ignored, and so is a face with fewer than a third of its rays. Points
//!   without a face take the diameter of the nearest point on their own piece; a piece without any is a sheet of no
//!   thickness: diameter 0, softest.
//!
//! Cost `n log n`; every face is its own sum, so any number of threads gives the same bits.
//!
//! Oracle: ball, tube and ring against the same mean over thousands of rays cut with the exact shape.

use super::smooth::average;
use super::{PointMap, RestSurface};
use crate::bvh::Bvh;
use crate::edge_graph::{EdgeGraph, UNREACHED};
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::{FRAC_PI_3, TAU};

const RINGS: usize = 3;
const RAYS_PER_RING: usize = 6;
const RAYS: usize = RINGS * RAYS_PER_RING;
const HALF_ANGLE: f64 = FRAC_PI_3;
const LEAST_HITS: usize = RAYS / 3;
const SMOOTHING_ROUNDS: usize = 3;
const REFERENCE_QUANTILE: f64 = 0.95;
const CONTRAST: f64 = 4.0;
/// Faces per parallel task.
const BLOCK: usize = 256;

/// Softness in [0, 1]: thin parts high.
pub fn shape_diameter(surface: &RestSurface<'_>) -> PointMap {
    softness(surface, &shape_diameters(surface))
}

/// Diameter at each slot, in world units, smoothed by three rounds.
pub fn shape_diameters(surface: &RestSurface<'_>) -> Vec<f64> {
    let rig = surface.rig();
    let mut sums = vec![(0.0, 0.0); surface.points().len()];
    for character in 0..rig.characters().len() {
        let body = Body::new(surface, character);
        let measure = |block: &[[u32; 3]], first: usize| -> Vec<Option<(f64, f64)>> {
            (first..first + block.len()).map(|face| body.diameter(face)).collect()
        };
        let blocks = body.faces.par_chunks(BLOCK).enumerate();
        let measured: Vec<_> = blocks.flat_map_iter(|(k, block)| measure(block, k * BLOCK)).collect();
        for (face, found) in body.faces.iter().zip(measured) {
            if let Some((diameter, area)) = found {
                for &slot in face {
                    let (sum, total) = &mut sums[slot as usize];
                    (*sum, *total) = (*sum + diameter * area, *total + area);
                }
            }
        }
    }
    let diameters: Vec<_> = sums.into_iter().map(|(sum, total)| (total > 0.0).then_some(sum / total)).collect();
    let mut diameters = filled(surface, &diameters);
    average(&mut diameters, rig.adjacency(), SMOOTHING_ROUNDS);
    diameters
}

/// Softness from diameters by slot, normalised per character.
pub fn softness(surface: &RestSurface<'_>, diameters: &[f64]) -> PointMap {
    let rig = surface.rig();
    let mut soft = vec![0.0f32; diameters.len()];
    for character in 0..rig.characters().len() {
        let slots: Vec<usize> = surface.slots(character).collect();
        let reference = area_quantile(surface, &slots, diameters, REFERENCE_QUANTILE);
        for slot in slots {
            let share = if reference > 0.0 { (diameters[slot] / reference).clamp(0.0, 1.0) } else { 0.0 };
            soft[slot] = (1.0 - (CONTRAST * share).ln_1p() / CONTRAST.ln_1p()) as f32;
        }
    }
    PointMap::from_fn(rig, |slot| soft[slot])
}

/// The diameter that a share of the area stays below.
fn area_quantile(surface: &RestSurface<'_>, slots: &[usize], diameters: &[f64], share: f64) -> f64 {
    let mut order = slots.to_vec();
    order.sort_by(|&a, &b| diameters[a].total_cmp(&diameters[b]).then(a.cmp(&b)));
    let total: f64 = order.iter().map(|&slot| surface.areas()[slot]).sum();
    let mut below = 0.0;
    for &slot in &order {
        below += surface.areas()[slot];
        if below >= share * total {
            return diameters[slot];
        }
    }
    order.last().map_or(0.0, |&slot| diameters[slot])
}

/// One character, ready for rays.
struct Body<'s> {
    surface: &'s RestSurface<'s>,
    faces: Vec<[u32; 3]>,
    tree: Bvh,
    centre: DVec3,
}

impl<'s> Body<'s> {
    fn new(surface: &'s RestSurface<'s>, character: usize) -> Self {
        let faces = surface.faces_of(character);
        let (mut sum, mut total) = (DVec3::ZERO, 0.0);
        for slot in surface.slots(character) {
            sum += surface.points()[slot] * surface.areas()[slot];
            total += surface.areas()[slot];
        }
        let centre = if total > 0.0 { sum / total } else { DVec3::ZERO };
        Self { surface, tree: surface.tree(&faces), faces, centre }
    }

    /// Diameter at the middle of a face, and its area.
    fn diameter(&self, face: usize) -> Option<(f64, f64)> {
        let [a, b, c] = self.corners(face);
        let doubled = (b - a).cross(c - a);
        let (origin, normal) = ((a + b + c) / 3.0, doubled.try_normalize()?);
        let outward = origin - self.centre;
        let across = (outward - normal * normal.dot(outward)).normalize_or(normal.any_orthonormal_vector());
        let mut lengths = [0.0; RAYS];
        let mut hits = 0;
        for direction in rays(-normal, across) {
            let exit = self.tree.first_hit(origin, direction, |other| {
                let other = other as usize;
                if other == face { None } else { exit_through(origin, direction, self.corners(other)) }
            });
            if let Some(length) = exit {
                lengths[hits] = length;
                hits += 1;
            }
        }
        (hits >= LEAST_HITS).then(|| (robust_mean(&mut lengths[..hits]), doubled.length()))
    }

    fn corners(&self, face: usize) -> [DVec3; 3] {
        self.faces[face].map(|slot| self.surface.points()[slot as usize])
    }
}

/// Ray against a triangle seen from behind (Möller and Trumbore 1997). A little slack at the edges: between two faces a
/// ray must not slip out, and to hit both does no harm.
pub(crate) fn exit_through(origin: DVec3, direction: DVec3, [a, b, c]: [DVec3; 3]) -> Option<f64> {
    const SLACK: f64 = 1e-9;
    let (ab, ac) = (b - a, c - a);
    let across = direction.cross(ac);
    let determinant = -ab.dot(across);
    if determinant <= 0.0 {
        return None;
    }
    let from = origin - a;
    let u = -from.dot(across) / determinant;
    let turned = from.cross(ab);
    let v = -direction.dot(turned) / determinant;
    let t = -ac.dot(turned) / determinant;
    (u >= -SLACK && v >= -SLACK && u + v <= 1.0 + SLACK && t >= 0.0).then_some(t)
}

/// Unit directions about `inward`, the rings turned to `across`, every second one by half a step.
fn rays(inward: DVec3, across: DVec3) -> impl Iterator<Item = DVec3> {
    let side = inward.cross(across);
    (0..RAYS).map(move |ray| {
        let (ring, k) = (ray / RAYS_PER_RING, ray % RAYS_PER_RING);
        let (sin, cos) = ((ring as f64 + 0.5) / RINGS as f64 * HALF_ANGLE).sin_cos();
        let turn = (k as f64 + 0.5 * (ring % 2) as f64) / RAYS_PER_RING as f64 * TAU;
        inward * cos + (across * turn.cos() + side * turn.sin()) * sin
    })
}

/// Mean of what lies within one standard deviation of the median.
fn robust_mean(lengths: &mut [f64]) -> f64 {
    lengths.sort_by(f64::total_cmp);
    let count = lengths.len() as f64;
    let median = 0.5 * (lengths[(lengths.len() - 1) / 2] + lengths[lengths.len() / 2]);
    let mean = lengths.iter().sum::<f64>() / count;
    let deviation = (lengths.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / count).sqrt();
    // Half the lengths or more always stay; equal ones may not, by rounding.
    let near = lengths.iter().filter(|l| (*l - median).abs() <= deviation);
    let (sum, left) = near.fold((0.0, 0.0), |(sum, left), l| (sum + l, left + 1.0));
    if left > 0.0 { sum / left } else { median }
}

/// Points without a diameter take the nearest one's along the surface; pieces without any are sheets.
fn filled(surface: &RestSurface<'_>, diameters: &[Option<f64>]) -> Vec<f64> {
    let known: Vec<u32> = (0..diameters.len() as u32).filter(|&slot| diameters[slot as usize].is_some()).collect();
    let all: usize = surface.all_slots().count();
    if known.len() == all {
        return diameters.iter().map(|d| d.unwrap_or(0.0)).collect();
    }
    let nearest = EdgeGraph::new(surface.points(), surface.rig().adjacency(), &[]).nearest_source(&known);
    let value = |source: u32| if source == UNREACHED { 0.0 } else { diameters[source as usize].unwrap_or(0.0) };
    nearest.into_iter().map(value).collect()
}
