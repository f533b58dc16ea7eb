//! Linear blend skinning: `p = Σ w_i T_i r`.
//!
//! Oracle: an independent f64 evaluation of the glTF specification agrees to 3e-6 of the character's size.

use super::{Base, BaseEntry, BaseFrame, Skinned, blend};
use crate::gradients::Gradient;
use crate::simd::{LANES, Lanes, PointRow, Simd, V3, f32x16, prelude::*, splat};
use std::ops::Range;

/// The base `lbs`.
pub const LBS: BaseEntry = BaseEntry {
    name: "lbs",
    about: "Linear blend skinning, as in most engines",
    params: &[],
    mapped: None,
    tables: &[],
    bind: |_| Base::Lbs,
};

/// Rows of points and their layers of normals, without tangents.
pub(crate) struct LinearRows<'a> {
    pub rest: &'a [PointRow],
    pub rest_normals: &'a [PointRow],
    pub points: &'a mut [PointRow],
    pub normals: &'a mut [PointRow],
}

/// What [`lbs_row`] gives, carried to normals and stored, to the same bits.
///
/// As many lanes at a time as two vectors of the processor hold, a coordinate after the other: eight sums and the
/// weights of one entry fit the registers of every instruction set, and every number of a matrix is read once for both
/// vectors.
#[inline(always)]
pub(crate) fn lbs_linear_rows<S: Simd>(
    simd: S,
    frame: &BaseFrame<'_>,
    weights: &[Lanes],
    rows: Range<usize>,
    io: LinearRows<'_>,
) {
    let (entries, palette) = (frame.rig.skin_entries(), &frame.palette.rows);
    let mut layers = io.rest_normals.iter().zip(io.normals);
    let points = io.rest.iter().zip(io.points);
    for (row, (rest, points)) in frame.rig.rows()[rows].iter().zip(points) {
        let range = row.skin.start as usize..row.skin.end as usize;
        let bones = (&entries[range.clone()], &weights[range]);
        // Every point is a vertex at least once. Where a row has several layers the points are blended for each: there
        // are few, and one loop is shorter than two.
        for (rest_normals, normals) in layers.by_ref().take(row.layers.len()) {
            for at in (0..LANES).step_by(2 * S::f32s::LEN) {
                let rest = (rest, rest_normals);
                if S::f32s::LEN == LANES {
                    linear_lanes::<S, 1>(simd, bones, palette, at, rest, points, normals);
                } else {
                    linear_lanes::<S, 2>(simd, bones, palette, at, rest, points, normals);
                }
            }
        }
    }
}

/// `C` vectors of lanes from `at`.
#[inline(always)]
fn linear_lanes<S: Simd, const C: usize>(
    simd: S,
    (entries, weights): (&[u32], &[Lanes]),
    palette: &[Vec<[f32; 4]>; 3],
    at: usize,
    (rest, rest_normals): (&PointRow, &PointRow),
    points: &mut PointRow,
    normals: &mut PointRow,
) {
    let zero = S::f32s::splat(simd, 0.0);
    let mut squares = [zero; C];
    for coordinate in 0..3 {
        let numbers = &palette[coordinate][..];
        let mut sums = [[zero; C]; 4];
        for (&entry, weights) in entries.iter().zip(weights) {
            let numbers = &numbers[entry as usize];
            let mut w = [zero; C];
            for c in 0..C {
                w[c] = native(simd, weights, at, c);
            }
            for k in 0..4 {
                let number = S::f32s::splat(simd, numbers[k]);
                for c in 0..C {
                    sums[k][c] = w[c].mul_add(number, sums[k][c]);
                }
            }
        }
        let [x, y, z, t] = sums;
        for c in 0..C {
            let [px, py, pz] = rest;
            let p = x[c].mul_add(native(simd, px, at, c), t[c]);
            let p = z[c].mul_add(native(simd, pz, at, c), y[c].mul_add(native(simd, py, at, c), p));
            p.store_slice(native_mut::<S>(&mut points[coordinate], at, c));
            let [nx, ny, nz] = rest_normals;
            let n = y[c].mul_add(native(simd, ny, at, c), x[c] * native(simd, nx, at, c));
            let n = z[c].mul_add(native(simd, nz, at, c), n);
            squares[c] = n.mul_add(n, squares[c]);
            n.store_slice(native_mut::<S>(&mut normals[coordinate], at, c));
        }
    }
    for c in 0..C {
        let some = squares[c].simd_gt(S::f32s::splat(simd, f32::MIN_POSITIVE));
        let inverse = S::f32s::splat(simd, 1.0) / squares[c].sqrt();
        for coordinate in 0..3 {
            let unit = native(simd, &normals[coordinate], at, c) * inverse;
            let kept = some.select(unit, native(simd, &rest_normals[coordinate], at, c));
            kept.store_slice(native_mut::<S>(&mut normals[coordinate], at, c));
        }
    }
}

#[inline(always)]
fn native<S: Simd>(simd: S, lanes: &Lanes, at: usize, c: usize) -> S::f32s {
    let start = at + c * S::f32s::LEN;
    S::f32s::from_slice(simd, &lanes[start..start + S::f32s::LEN])
}

#[inline(always)]
fn native_mut<S: Simd>(lanes: &mut Lanes, at: usize, c: usize) -> &mut [f32] {
    let start = at + c * S::f32s::LEN;
    &mut lanes[start..start + S::f32s::LEN]
}

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
    Skinned { p: V3 { x: px, y: py, z: pz }, linear: [x, y, z], blended: [x, y, z] }
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
