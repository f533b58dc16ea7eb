//! Linear blend skinning: `p = Σ w_i T_i r`.
//!
//! Oracle: an independent f64 evaluation of the glTF specification agrees to 3e-6 of the character's size.

use super::{BaseFrame, Skinned, blend};
use crate::gradients::Gradient;
use crate::simd::{LANES, Lanes, PointRow, Simd, V3, f32x16, prelude::*, splat};

/// One row of points with its layers of normals and tangents: at rest, and as skinned.
pub(crate) struct LinearRow<'a> {
    pub rest: &'a PointRow,
    pub rest_directions: [&'a [PointRow]; 2],
    pub points: &'a mut PointRow,
    pub directions: [&'a mut [PointRow]; 2],
}

/// What [`lbs_row`] gives, carried to normals and tangents and stored, to the same bits.
///
/// As many lanes at a time as two vectors of the processor hold, a coordinate after the other: eight sums and the
/// weights of one entry fit the registers of every instruction set, and every number of a matrix is read once for both
/// vectors.
#[inline(always)]
pub(crate) fn lbs_linear_row<S: Simd>(
    simd: S,
    frame: &BaseFrame<'_>,
    weights: &[Lanes],
    row: usize,
    mut io: LinearRow<'_>,
) {
    let skin = &frame.rig.rows()[row].skin;
    let range = skin.start as usize..skin.end as usize;
    let entries = &frame.rig.skin_entries()[range.clone()];
    let weights = &weights[range];
    // One layer of normals and no tangents is the usual row; without loops over them it costs a fifth less.
    let single = matches!(io.rest_directions, [[_], []]);
    for coordinate in 0..3 {
        let numbers = &frame.palette.rows[coordinate][..];
        for at in (0..LANES).step_by(2 * S::f32s::LEN) {
            match (S::f32s::LEN == LANES, single) {
                (true, true) => linear_lanes::<S, 1, true>(simd, entries, weights, numbers, coordinate, at, &mut io),
                (true, false) => linear_lanes::<S, 1, false>(simd, entries, weights, numbers, coordinate, at, &mut io),
                (false, true) => linear_lanes::<S, 2, true>(simd, entries, weights, numbers, coordinate, at, &mut io),
                (false, false) => linear_lanes::<S, 2, false>(simd, entries, weights, numbers, coordinate, at, &mut io),
            }
        }
    }
    for (rest, directions) in io.rest_directions.iter().zip(io.directions) {
        for (rest, direction) in rest.iter().zip(directions) {
            V3::load(simd, direction).normalize_or(simd, V3::load(simd, rest)).store(direction);
        }
    }
}

/// One coordinate of `C` vectors of lanes from `at`.
#[inline(always)]
fn linear_lanes<S: Simd, const C: usize, const SINGLE: bool>(
    simd: S,
    entries: &[u32],
    weights: &[Lanes],
    numbers: &[[f32; 4]],
    coordinate: usize,
    at: usize,
    io: &mut LinearRow<'_>,
) {
    let mut sums = [[S::f32s::splat(simd, 0.0); C]; 4];
    for (&entry, weights) in entries.iter().zip(weights) {
        let numbers = &numbers[entry as usize];
        let mut w = [S::f32s::splat(simd, 0.0); C];
        for (c, w) in w.iter_mut().enumerate() {
            *w = native(simd, weights, at, c);
        }
        for (sum, &number) in sums.iter_mut().zip(numbers) {
            let number = S::f32s::splat(simd, number);
            for (sum, w) in sum.iter_mut().zip(w) {
                *sum = w.mul_add(number, *sum);
            }
        }
    }
    let [x, y, z, t] = sums;
    for c in 0..C {
        let [px, py, pz] = io.rest;
        let p = x[c].mul_add(native(simd, px, at, c), t[c]);
        let p = z[c].mul_add(native(simd, pz, at, c), y[c].mul_add(native(simd, py, at, c), p));
        p.store_slice(native_mut::<S>(&mut io.points[coordinate], at, c));
        if SINGLE {
            if let ([rest, ..], [direction, ..]) = (io.rest_directions[0], &mut *io.directions[0]) {
                carry(simd, [x[c], y[c], z[c]], rest, &mut direction[coordinate], at, c);
            }
            continue;
        }
        for (rest, directions) in io.rest_directions.iter().zip(&mut io.directions) {
            for (rest, direction) in rest.iter().zip(directions.iter_mut()) {
                carry(simd, [x[c], y[c], z[c]], rest, &mut direction[coordinate], at, c);
            }
        }
    }
}

#[inline(always)]
fn carry<S: Simd>(simd: S, [x, y, z]: [S::f32s; 3], rest: &PointRow, out: &mut Lanes, at: usize, c: usize) {
    let [nx, ny, nz] = rest;
    let n = y.mul_add(native(simd, ny, at, c), x * native(simd, nx, at, c));
    z.mul_add(native(simd, nz, at, c), n).store_slice(native_mut::<S>(out, at, c));
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
