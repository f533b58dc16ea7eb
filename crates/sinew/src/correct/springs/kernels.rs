//! The loops of [`super::rows`]: forces, and the sums that descent needs.

use super::descent::Evaluated;
use super::model::LEAST_LENGTH;
use super::rows::{Record, RowFrame, Spoke, SpringRows, Turned};
use crate::simd::{LANES, Lanes, PointRow, Simd, prelude::*};
use crate::simd8::{
    HALF, Half, dot, lane_max, lane_sum, load_half, load_lanes, mul_add, scale, store_half, store_lanes, sub,
    transposed_blocks,
};
use fearless_simd::f32x8;

/// Added to squares of lengths in extents and of sines.
pub(super) const LEAST: f32 = 1e-36;
/// Angles with smaller `m²`, up to 45°, take a shorter polynomial.
const NARROW: f32 = 0.6;

/// Directions and lengths of scale vectors, and the records that neighbours read.
#[inline(always)]
pub(super) fn hang<S: Simd>(
    simd: S,
    points: &[PointRow],
    anchors: &[PointRow],
    rest: &[Lanes],
    hung: &mut [[Lanes; 4]],
    records: &mut [Record],
) {
    let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
    for (row, (hung, records)) in hung.iter_mut().zip(records.as_chunks_mut::<LANES>().0).enumerate() {
        for half in 0..2 {
            let p = load_half(simd, &points[row], half);
            let s = sub(p, load_half(simd, &anchors[row], half));
            let length = dot(s, s).sqrt();
            let is_long = length.simd_gt(zero);
            let inverse = is_long.select(one, zero) / is_long.select(length, one);
            let direction = scale(s, inverse);
            let rest = load_lanes(simd, &rest[row], half);
            store_lanes(direction[0], &mut hung[0], half);
            store_lanes(direction[1], &mut hung[1], half);
            store_lanes(direction[2], &mut hung[2], half);
            store_lanes(length, &mut hung[3], half);
            let first = transposed_blocks([p[0], p[1], p[2], direction[0]]);
            let second = transposed_blocks([direction[1], direction[2], length - rest, rest]);
            let (here, farther) = records[HALF * half..HALF * (half + 1)].split_at_mut(HALF / 2);
            for k in 0..HALF / 2 {
                let ((a, b), (c, d)) = (first[k].split(), second[k].split());
                a.combine(c).store_array(&mut here[k]);
                b.combine(d).store_array(&mut farther[k]);
            }
        }
    }
}

/// The places that neighbours read.
#[inline(always)]
pub(super) fn tell<S: Simd>(simd: S, points: &[PointRow], records: &mut [Record]) {
    let none = f32x8::splat(simd, 0.0);
    for (points, records) in points.iter().zip(records.as_chunks_mut::<LANES>().0) {
        for half in 0..2 {
            let [x, y, z] = load_half(simd, points, half);
            let turned = transposed_blocks([x, y, z, none]);
            let (here, farther) = records[HALF * half..HALF * (half + 1)].split_at_mut(HALF / 2);
            for k in 0..HALF / 2 {
                let (a, b) = turned[k].split();
                a.combine(a).store_array(&mut here[k]);
                b.combine(b).store_array(&mut farther[k]);
            }
        }
    }
}

/// The places of eight neighbours, turned in registers.
#[inline(always)]
fn places<S: Simd>(simd: S, records: &[Record], to: &[u32; HALF]) -> Half<S> {
    let mut rows = [f32x8::splat(simd, 0.0); 4];
    for k in 0..HALF / 2 {
        let (a, b) = (&records[to[k] as usize], &records[to[k + HALF / 2] as usize]);
        let (a, b) = (f32x8::load_array_ref(simd, a), f32x8::load_array_ref(simd, b));
        rows[k] = a.split().0.combine(b.split().0);
    }
    let [x, y, z, _] = transposed_blocks(rows);
    [x, y, z]
}

/// How forces are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// By edges and places alone.
    Plain,
    /// Springs by direction are alike.
    Alike,
    /// Each is read.
    Each,
}

/// `2 sin θ` and `θ` of unit vectors whose difference has the square length `m2`. Polynomials in `m2` for `θ/(2 sin θ)`, below
/// 7e-8 up to [`NARROW`] and 9e-8 up to a right angle; what is beyond is measured from the other side.
#[inline(always)]
pub(super) fn angle<S: Simd>(simd: S, m2: f32x8<S>) -> [f32x8<S>; 2] {
    if m2.simd_gt(f32x8::splat(simd, NARROW)).any_true() {
        return any_angle(simd, m2);
    }
    let sines = ((f32x8::splat(simd, 4.0) - m2) * m2).sqrt();
    let m4 = m2 * m2;
    let a = f32x8::splat(simd, 0.083_333_515).mul_add(m2, f32x8::splat(simd, 0.5));
    let b = f32x8::splat(simd, 3.595_363_6e-3).mul_add(m2, f32x8::splat(simd, 0.016_663_218));
    let c = f32x8::splat(simd, 2.803_595_3e-4).mul_add(m2, f32x8::splat(simd, 7.199_439e-4));
    [sines, c.mul_add(m4, b).mul_add(m4, a) * sines]
}

#[inline(always)]
pub(super) fn any_angle<S: Simd>(simd: S, m2: f32x8<S>) -> [f32x8<S>; 2] {
    let is_wide = m2.simd_gt(f32x8::splat(simd, 2.0));
    let other = f32x8::splat(simd, 4.0) - m2;
    let sines = (other * m2).max(f32x8::splat(simd, LEAST)).sqrt();
    let u = m2.min(other);
    let (u2, u4) = (u * u, (u * u) * (u * u));
    let a = f32x8::splat(simd, 0.083_333_895).mul_add(u, f32x8::splat(simd, 0.5));
    let b = f32x8::splat(simd, 3.627_356_4e-3).mul_add(u, f32x8::splat(simd, 0.016_657_611));
    let c = f32x8::splat(simd, 4.841_505_7e-4).mul_add(u, f32x8::splat(simd, 6.202_72e-4));
    let d = f32x8::splat(simd, 2.053_853_2e-4).mul_add(u, f32x8::splat(simd, -2.746_159e-4));
    let e = f32x8::splat(simd, 1.109_117_3e-5).mul_add(u, f32x8::splat(simd, -6.534_642e-5));
    let p = e.mul_add(u4, d.mul_add(u2, c)).mul_add(u4, b.mul_add(u2, a));
    let theta = p * sines;
    [sines, is_wide.select(f32x8::splat(simd, std::f32::consts::PI) - theta, theta)]
}

/// Squares of lengths, from [`LEAST`].
#[inline(always)]
pub(super) fn square<S: Simd>(simd: S, [x, y, z]: Half<S>) -> f32x8<S> {
    z.mul_add(z, y.mul_add(y, x.mul_add(x, f32x8::splat(simd, LEAST))))
}

/// The records of eight neighbours, turned in registers.
#[inline(always)]
pub(super) fn gather<S: Simd>(simd: S, records: &[Record], to: &[u32; HALF]) -> [f32x8<S>; 8] {
    let none = f32x8::splat(simd, 0.0);
    let mut first = [none; 4];
    let mut second = [none; 4];
    for k in 0..HALF / 2 {
        let (a, b) = (&records[to[k] as usize], &records[to[k + HALF / 2] as usize]);
        let (a, b) = (f32x8::load_array_ref(simd, a), f32x8::load_array_ref(simd, b));
        let ((a0, a1), (b0, b1)) = (a.split(), b.split());
        first[k] = a0.combine(b0);
        second[k] = a1.combine(b1);
    }
    let ([a, b, c, d], [e, f, g, h]) = (transposed_blocks(first), transposed_blocks(second));
    [a, b, c, d, e, f, g, h]
}

/// Forces on some rows, and what they feel with twice their part of the energy.
#[inline(always)]
pub(super) fn some_forces<S: Simd>(
    simd: S,
    kernel: Kernel,
    springs: &SpringRows,
    frame: &RowFrame,
    first: usize,
    points: &[PointRow],
    forces: &mut [PointRow],
) -> Evaluated {
    let mut energy = 0.0;
    let [mut longest, mut largest] = [f32x8::splat(simd, 0.0); 2];
    for (local, forces) in forces.iter_mut().enumerate() {
        let row = first + local;
        let mut energies = f32x8::splat(simd, 0.0);
        for half in 0..2 {
            let mut force = [f32x8::splat(simd, 0.0); 3];
            energies += match kernel {
                Kernel::Plain => plain_forces(simd, springs, frame, row, half, &points[row], &mut force),
                Kernel::Alike => half_forces::<S, true>(simd, springs, frame, row, half, &points[row], &mut force),
                Kernel::Each => half_forces::<S, false>(simd, springs, frame, row, half, &points[row], &mut force),
            };
            let square = dot(force, force);
            let gain = load_lanes(simd, &frame.gains[row], half);
            longest = longest.max(square * gain * gain);
            largest = largest.max(square);
            store_half(force, forces, half);
        }
        energy += lane_sum(energies);
    }
    let [longest, largest] = [longest, largest].map(|square| f64::from(lane_max(square)).sqrt());
    Evaluated { energy, largest_move: longest, largest_force: largest }
}

/// Edges of eight points against those that bones turn: half of twice their energy, and what they pull by.
#[inline(always)]
fn edge_pull<S: Simd>(
    simd: S,
    (spoke, turned): (&Spoke, &Turned),
    edge: Half<S>,
    pull: &mut Half<S>,
    shared: &mut f32x8<S>,
) {
    let surface = f32x8::load_array_ref(simd, &spoke.surface);
    let off = sub(edge, [0, 1, 2].map(|axis| f32x8::load_array_ref(simd, &turned[axis])));
    *shared = surface.mul_add(dot(off, off), *shared);
    *pull = mul_add(off, surface, *pull);
}

/// Forces of places and edits on eight points; twice their energy.
#[inline(always)]
fn place_pull<S: Simd>(
    simd: S,
    frame: &RowFrame,
    (row, half): (usize, usize),
    p: Half<S>,
    force: &mut Half<S>,
) -> f32x8<S> {
    if frame.pull.is_empty() {
        return f32x8::splat(simd, 0.0);
    }
    let stiffness = load_lanes(simd, &frame.pull[row], half);
    let away = sub(load_half(simd, &frame.places[row], half), p);
    *force = mul_add(away, stiffness, *force);
    stiffness * dot(away, away)
}

/// As [`half_forces`], by edges and places alone.
#[inline(always)]
fn plain_forces<S: Simd>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    row: usize,
    half: usize,
    points: &PointRow,
    force: &mut Half<S>,
) -> f32x8<S> {
    let p = load_half(simd, points, half);
    let mut shared = f32x8::splat(simd, 0.0);
    let spokes = springs.spokes_of(row, half);
    for pair in springs.spokes[spokes.clone()].iter().zip(&frame.turned[spokes]) {
        let edge = sub(places(simd, &frame.records, &pair.0.to), p);
        edge_pull(simd, pair, edge, force, &mut shared);
    }
    let own = place_pull(simd, frame, (row, half), p, force);
    // Springs to neighbours are counted at both ends.
    shared.mul_add(f32x8::splat(simd, 0.5), own)
}

/// Forces on eight points; twice their parts of the energy.
#[inline(always)]
pub(super) fn half_forces<S: Simd, const ALIKE: bool>(
    simd: S,
    springs: &SpringRows,
    frame: &RowFrame,
    row: usize,
    half: usize,
    points: &PointRow,
    force: &mut Half<S>,
) -> f32x8<S> {
    let (zero, one, a_half) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0), f32x8::splat(simd, 0.5));
    let p = load_half(simd, points, half);
    let [dx, dy, dz, length] = &frame.hung[row];
    let direction = [load_lanes(simd, dx, half), load_lanes(simd, dy, half), load_lanes(simd, dz, half)];
    let (length, rest) = (load_lanes(simd, length, half), load_lanes(simd, &springs.rest[row], half));
    let excess = length - rest;
    let mut across = [zero; 3];
    let mut pull = across;
    // Springs to neighbours are counted at both ends: `shared` is halved.
    let [mut bent, mut along, mut shared] = [zero; 3];
    let stiff_rest = rest * f32x8::splat(simd, springs.alike[0]);
    for index in springs.spokes_of(row, half) {
        let spoke = &springs.spokes[index];
        let [px, py, pz, dx, dy, dz, their_excess, their_rest] = gather(simd, &frame.records, &spoke.to);
        let (torsion, lengths) = if ALIKE {
            (stiff_rest * their_rest, f32x8::splat(simd, springs.alike[1]))
        } else {
            let [torsion, lengths] = &springs.stiff[index];
            (f32x8::load_array_ref(simd, torsion), f32x8::load_array_ref(simd, lengths))
        };
        edge_pull(simd, (spoke, &frame.turned[index]), sub([px, py, pz], p), &mut pull, &mut shared);
        let apart = sub([dx, dy, dz], direction);
        let m2 = square(simd, apart);
        let [sines, theta] = angle(simd, m2);
        let slope = their_excess - excess;
        let risen = lengths * slope;
        along += risen;
        shared = risen.mul_add(slope, shared);
        let turn = theta - f32x8::load_array_ref(simd, &spoke.angle);
        let twisted = torsion * turn;
        shared = twisted.mul_add(turn, shared);
        let moment = twisted / sines;
        // ŝ_j − ŝ_i cos θ without the cancellation: ŝ_j − ŝ_i, and m²/2 of ŝ_i.
        across = mul_add(apart, moment, across);
        bent = m2.mul_add(moment, bent);
    }
    let absolute = load_lanes(simd, &springs.absolute[row], half);
    let far = absolute * excess;
    along -= far;
    let mut own = far * excess;
    let towards = load_half(simd, &frame.towards[row], half);
    let apart = sub(towards, direction);
    let m2 = square(simd, apart);
    let [sines, theta] = angle(simd, m2);
    let has_both = (dot(towards, towards) * dot(direction, direction)).simd_gt(a_half);
    let bone = has_both.select(load_lanes(simd, &springs.bone[row], half), zero);
    let turn = theta - load_lanes(simd, &springs.held[row], half);
    let reach = length.max(rest * f32x8::splat(simd, LEAST_LENGTH as f32)).max(f32x8::splat(simd, LEAST.sqrt()));
    let inverse = one / (sines * reach);
    let twisted = bone * turn;
    own = twisted.mul_add(turn, own);
    let moment = twisted * (inverse * reach);
    across = mul_add(apart, moment, across);
    bent = m2.mul_add(moment, bent);
    // The moments lack the two of `2 sin θ`.
    let lever = inverse * sines;
    let along = bent.mul_add(lever, along);
    let lever = lever + lever;
    *force = mul_add(direction, along, mul_add(across, lever, pull));
    own += place_pull(simd, frame, (row, half), p, force);
    shared.mul_add(a_half, own)
}

#[inline(always)]
pub(super) fn plain_step<S: Simd>(
    simd: S,
    points: &[PointRow],
    forces: &[PointRow],
    (gains, one): (&[Lanes], Option<f32>),
    k: f32,
    out: &mut [PointRow],
) {
    let k = f32x8::splat(simd, k);
    for (((p, f), gain), out) in points.iter().zip(forces).zip(gains).zip(out) {
        for half in 0..2 {
            let gain = match one {
                Some(gain) => f32x8::splat(simd, gain),
                None => load_lanes(simd, gain, half),
            };
            store_half(mul_add(load_half(simd, f, half), k * gain, load_half(simd, p, half)), out, half);
        }
    }
}

#[inline(always)]
pub(super) fn plain_square<S: Simd>(simd: S, a: &[PointRow], gains: &[Lanes]) -> f64 {
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for (a, gain) in a.iter().zip(gains) {
        for half in 0..2 {
            let a = load_half(simd, a, half);
            sums[half] = dot(a, a).mul_add(load_lanes(simd, gain, half), sums[half]);
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}

#[inline(always)]
pub(super) fn plain_dot<S: Simd>(simd: S, a: &mut [PointRow], gains: &[Lanes], k: f32, c: &[PointRow]) -> f64 {
    let k = f32x8::splat(simd, k);
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for ((a, gain), c) in a.iter_mut().zip(gains).zip(c) {
        for half in 0..2 {
            let scaled = scale(load_half(simd, a, half), k * load_lanes(simd, gain, half));
            store_half(scaled, a, half);
            sums[half] += dot(scaled, load_half(simd, c, half));
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}

#[inline(always)]
pub(super) fn dot_of<S: Simd>(simd: S, a: &[PointRow], b: &[PointRow]) -> f64 {
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for (a, b) in a.iter().zip(b) {
        for half in 0..2 {
            sums[half] += dot(load_half(simd, a, half), load_half(simd, b, half));
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}

#[inline(always)]
pub(super) fn sum<S: Simd>(simd: S, a: &[PointRow], b: &[PointRow], k: f32, out: &mut [PointRow]) {
    let k = f32x8::splat(simd, k);
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        for half in 0..2 {
            store_half(mul_add(load_half(simd, b, half), k, load_half(simd, a, half)), out, half);
        }
    }
}

#[inline(always)]
pub(super) fn add_dot<S: Simd>(simd: S, a: &mut [PointRow], b: &[PointRow], k: f32, c: &[PointRow]) -> f64 {
    let k = f32x8::splat(simd, k);
    let mut sums = [f32x8::splat(simd, 0.0); 2];
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        for half in 0..2 {
            let added = mul_add(load_half(simd, b, half), k, load_half(simd, a, half));
            store_half(added, a, half);
            sums[half] += dot(added, load_half(simd, c, half));
        }
    }
    lane_sum(sums[0]) + lane_sum(sums[1])
}
