//! Linear blend skinning: `p = Σ w_i T_i r`.
//!
//! Oracle: an independent f64 evaluation of the glTF specification agrees to 3e-6 of the character's size.

use super::{BaseFrame, Skinned, blend};
use crate::gradients::Gradient;
use crate::simd::{Lanes, Simd, V3, f32x16, prelude::*, splat};

/// Skins one row by the blended matrix, a coordinate at a time: four sums of sixteen lanes fit the registers of every
/// instruction set, twelve do not.
#[inline(always)]
pub(crate) fn lbs_row<S: Simd>(
    simd: S,
    frame: &BaseFrame<'_>,
    weights: &[Lanes],
    row: usize,
    rest: V3<S>,
) -> Skinned<S> {
    let skin = &frame.rig.rows()[row].skin;
    let range = skin.start as usize..skin.end as usize;
    let entries = &frame.rig.skin_entries()[range.clone()];
    let weights = &weights[range];
    let [rows_x, rows_y, rows_z] = &frame.palette.rows;
    let (px, x) = coordinate(simd, entries, weights, rows_x, rest);
    let (py, y) = coordinate(simd, entries, weights, rows_y, rest);
    let (pz, z) = coordinate(simd, entries, weights, rows_z, rest);
    Skinned { p: V3 { x: px, y: py, z: pz }, linear: [x, y, z] }
}

/// One coordinate of the skinned points, and its row of the blended matrix.
#[inline(always)]
fn coordinate<S: Simd>(
    simd: S,
    entries: &[u32],
    weights: &[Lanes],
    rows: &[[f32; 4]],
    rest: V3<S>,
) -> (f32x16<S>, V3<S>) {
    let [x, y, z, t] = blend(simd, entries, weights, rows);
    (z.mul_add(rest.z, y.mul_add(rest.y, x.mul_add(rest.x, t))), V3 { x, y, z })
}

/// Adds `Σ T_i r ⊗ ∇w_i` to the linear map.
#[inline(always)]
pub(super) fn lbs_weight_terms<S: Simd>(
    simd: S,
    frame: &BaseFrame<'_>,
    gradients: &[Gradient],
    row: usize,
    rest: V3<S>,
    skinned: &mut Skinned<S>,
) {
    let skin = &frame.rig.rows()[row].skin;
    let range = skin.start as usize..skin.end as usize;
    let [rows_x, rows_y, rows_z] = &frame.palette.rows;
    for (&entry, gradient) in frame.rig.skin_entries()[range.clone()].iter().zip(&gradients[range]) {
        let entry = entry as usize;
        let moved = V3 {
            x: transform(simd, &rows_x[entry], rest),
            y: transform(simd, &rows_y[entry], rest),
            z: transform(simd, &rows_z[entry], rest),
        };
        // The gradients sum to 0: taking the point itself off changes nothing and keeps the terms small.
        skinned.add_outer(moved.sub(skinned.p), V3::load(simd, gradient));
    }
}

#[inline(always)]
fn transform<S: Simd>(simd: S, row: &[f32; 4], p: V3<S>) -> f32x16<S> {
    let [x, y, z, t] = [splat(simd, row[0]), splat(simd, row[1]), splat(simd, row[2]), splat(simd, row[3])];
    z.mul_add(p.z, y.mul_add(p.y, x.mul_add(p.x, t)))
}
