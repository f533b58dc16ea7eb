//! The inner loop of all displacements: `d = Σ_i w̃_i ψ_i` over a block of rows, with derivatives where normals ask.
//!
//! Along the surface `∂d = Σ w̃ (∂ψ/∂p ∂p + ∂ψ/∂k ∂k) + ψ ∂w̃`: the first part is collected as a map A of skinned
//! tangents, the others as a map B of rest tangents.

use super::cone_filter::ConeFilter;
use super::moving::MovingBones;
use super::terms::for_kind;
use crate::displace::{At, Psi, Split, Term};
use crate::gradients::Gradient;
use crate::propagated::Propagated;
use crate::rig::Rig;
use crate::simd::{LANES, Lanes, Level, Simd, V3, dispatch, f32x16, half_sin_cos, load, prelude::*, splat};
use glam::Vec3;
use std::ops::Range;

/// Consecutive rows as an effect reads them.
pub(super) struct Block<'a> {
    pub(super) rig: &'a Rig,
    pub(super) tree: &'a Propagated,
    pub(super) rows: Range<usize>,
    /// Of all rows.
    pub(super) gains: &'a [Lanes],
    pub(super) gain_gradients: Option<&'a [Gradient]>,
    /// Beside the tree's columns; present when derivatives are wanted.
    pub(super) column_gradients: Option<&'a [Gradient]>,
    pub(super) moving: &'a MovingBones,
    pub(super) cone: Option<&'a ConeFilter>,
    pub(super) compensate: bool,
}

/// What the effects add up to in one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSums {
    /// Skinned points.
    pub(super) p: [Lanes; 3],
    /// Rows of their linear map.
    pub(super) linear: [[Lanes; 3]; 3],
    /// Rows of the blended matrix, where the linear map is another.
    pub(super) blended: [[Lanes; 3]; 3],
    /// Displacement.
    pub(super) d: [Lanes; 3],
    /// Rows of A.
    pub(super) a: [[Lanes; 3]; 3],
    /// Rows of B.
    pub(super) b: [[Lanes; 3]; 3],
}

impl RowSums {
    pub(super) const ZERO: Self = Self {
        p: [[0.0; LANES]; 3],
        linear: [[[0.0; LANES]; 3]; 3],
        blended: [[[0.0; LANES]; 3]; 3],
        d: [[0.0; LANES]; 3],
        a: [[[0.0; LANES]; 3]; 3],
        b: [[[0.0; LANES]; 3]; 3],
    };
}

/// Adds what an effect does to `sums`, one entry per row of the block.
pub(super) fn accumulate(level: Level, block: &Block<'_>, sums: &mut [RowSums]) {
    for_kind!(&block.moving.prepared.terms, terms => accumulate_kind(level, block, terms, sums));
}

/// Compiled once for all effects of a kind.
fn accumulate_kind<T: Term>(level: Level, block: &Block<'_>, terms: &[T], sums: &mut [RowSums]) {
    match (block.compensate, block.column_gradients.is_some()) {
        (true, _) => dispatch!(level, simd => composed_rows(simd, block, terms, sums)),
        (false, true) => dispatch!(level, simd => rows::<_, _, true>(simd, block, terms, sums)),
        (false, false) => dispatch!(level, simd => rows::<_, _, false>(simd, block, terms, sums)),
    }
}

/// Displacements of points with the maps A and B.
#[derive(Clone, Copy)]
pub(super) struct Moved<S: Simd> {
    pub d: V3<S>,
    pub a: [V3<S>; 3],
    pub b: [V3<S>; 3],
}

impl<S: Simd> Moved<S> {
    #[inline(always)]
    pub fn zero(simd: S) -> Self {
        let zero = V3::splat(simd, Vec3::ZERO);
        Self { d: zero, a: [zero; 3], b: [zero; 3] }
    }
}

#[inline(always)]
fn rows<S: Simd, T: Term, const DERIVATIVES: bool>(simd: S, block: &Block<'_>, terms: &[T], sums: &mut [RowSums]) {
    for (sum, row) in sums.iter_mut().zip(block.rows.clone()) {
        if no_gain(block, row) {
            continue;
        }
        let data = &block.rig.rows()[row];
        let point = point(simd, block, sum, row);
        let mut moved = Moved::zero(simd);
        for column in block.tree.of_row(row) {
            let stretch = &block.tree.columns()[column];
            let stop = block.moving.nearest(stretch.above);
            let mut mover = block.moving.nearest(Some(stretch.bottom));
            if mover == stop {
                continue;
            }
            // One call in the text: every call is a copy of the kernel for every instruction set.
            let mut psi: Psi<S> = Psi::zero(simd);
            while mover != stop {
                psi = psi.add(terms[block.moving.term_of(mover, data.character)].psi(simd, &point));
                mover = block.moving.above[mover as usize];
            }
            let weight = load(simd, &block.tree.weights()[column]);
            moved.d = psi.d.mul_add(weight, moved.d);
            if DERIVATIVES {
                for axis in 0..3 {
                    moved.a[axis] = psi.dp[axis].mul_add(weight, moved.a[axis]);
                }
                if let Some(gradients) = block.column_gradients {
                    outer(&mut moved.b, psi.d, V3::load(simd, &gradients[column]));
                }
                if let Some(gradients) = block.gain_gradients {
                    let gradient = V3::load(simd, &gradients[row]).scale(splat(simd, block.moving.gain));
                    outer(&mut moved.b, psi.dk.scale(weight), gradient);
                }
            }
        }
        finish::<S, DERIVATIVES>(simd, block, &point, row, moved, sum);
    }
}

/// Rows of `m += a ⊗ b`.
#[inline(always)]
pub(super) fn outer<S: Simd>(m: &mut [V3<S>; 3], a: V3<S>, b: V3<S>) {
    m[0] = b.mul_add(a.x, m[0]);
    m[1] = b.mul_add(a.y, m[1]);
    m[2] = b.mul_add(a.z, m[2]);
}

/// `mᵀ n` for a matrix given by rows.
#[inline(always)]
pub(super) fn transposed<S: Simd>(m: &[V3<S>; 3], n: V3<S>) -> V3<S> {
    m[2].mul_add(n.z, m[1].mul_add(n.y, m[0].scale(n.x)))
}

/// Whether no lane of a row has a gain.
#[inline(always)]
fn no_gain(block: &Block<'_>, row: usize) -> bool {
    block.gains[row] == [0.0; LANES]
}

#[inline(always)]
fn point<S: Simd>(simd: S, block: &Block<'_>, sum: &RowSums, row: usize) -> At<S> {
    At { p: V3::load(simd, &sum.p), gain: load(simd, &block.gains[row]) * splat(simd, block.moving.gain) }
}

/// Filters by the cone and adds to the row's sums. A gain of 0 is the base to the bit, even where a speed beyond all
/// range overflows.
#[inline(always)]
fn finish<S: Simd, const DERIVATIVES: bool>(
    simd: S,
    block: &Block<'_>,
    point: &At<S>,
    row: usize,
    moved: Moved<S>,
    sum: &mut RowSums,
) {
    let moved = match block.cone {
        Some(cone) => cone.apply::<S, DERIVATIVES>(simd, block, row, moved),
        None => moved,
    };
    let zero = splat(simd, 0.0);
    let active = !point.gain.simd_eq(zero);
    let d = [moved.d.x, moved.d.y, moved.d.z];
    for axis in 0..3 {
        (load(simd, &sum.d[axis]) + active.select(d[axis], zero)).store_array(&mut sum.d[axis]);
        if DERIVATIVES {
            let (a, b) = (moved.a[axis], moved.b[axis]);
            for (k, (a, b)) in [(a.x, b.x), (a.y, b.y), (a.z, b.z)].into_iter().enumerate() {
                let (sum_a, sum_b) = (&mut sum.a[axis][k], &mut sum.b[axis][k]);
                (load(simd, sum_a) + active.select(a, zero)).store_array(sum_a);
                // A map may have a slope where its value is 0.
                (load(simd, sum_b) + finite_or_zero(simd, b)).store_array(sum_b);
            }
        }
    }
}

#[inline(always)]
fn finite_or_zero<S: Simd>(simd: S, v: f32x16<S>) -> f32x16<S> {
    v.abs().simd_lt(splat(simd, f32::MAX)).select(v, splat(simd, 0.0))
}

/// The same with the rotations composed: all bones' turns are one screw `(Σ w̃ θn, Σ w̃ θn×r)`, whose exponential is
/// taken once. One bone gives what `rows` gives; opposite turns of two bones cancel to the shift between their axes,
/// where the sum of their displacements would scale what lies beyond them (VS fig. 14).
#[inline(always)]
fn composed_rows<S: Simd, T: Term>(simd: S, block: &Block<'_>, terms: &[T], sums: &mut [RowSums]) {
    for (sum, row) in sums.iter_mut().zip(block.rows.clone()) {
        if no_gain(block, row) {
            continue;
        }
        let data = &block.rig.rows()[row];
        let point = point(simd, block, sum, row);
        let zero = V3::splat(simd, Vec3::ZERO);
        let (mut moved, mut turned, mut swept) = (zero, zero, zero);
        for column in block.tree.of_row(row) {
            let stretch = &block.tree.columns()[column];
            let stop = block.moving.nearest(stretch.above);
            let mut mover = block.moving.nearest(Some(stretch.bottom));
            let weight = load(simd, &block.tree.weights()[column]);
            while mover != stop {
                let Split { shift, spin, arm } = terms[block.moving.term_of(mover, data.character)].split(simd, &point);
                moved = shift.mul_add(weight, moved);
                turned = spin.mul_add(weight, turned);
                swept = spin.cross(arm).mul_add(weight, swept);
                mover = block.moving.above[mover as usize];
            }
        }
        let moved = Moved { d: moved.add(screw(simd, turned, swept)), ..Moved::zero(simd) };
        finish::<S, false>(simd, block, &point, row, moved, sum);
    }
}

/// `(I + (1−cosφ)/φ² [Ω]× + (φ−sinφ)/φ³ [Ω]×²) u`, φ = ‖Ω‖.
#[inline(always)]
fn screw<S: Simd>(simd: S, spin: V3<S>, swept: V3<S>) -> V3<S> {
    let one = splat(simd, 1.0);
    let square = spin.dot(spin);
    let small = square.simd_lt(splat(simd, 1e-3));
    let angle = small.select(one, square).sqrt();
    let (s, c) = half_sin_cos(simd, angle);
    let inverse = one / (angle * angle);
    let first = (s + s) * s * inverse;
    let second = (angle - (s + s) * c) * inverse / angle;
    // Series below an angle of 0.03, where the quotients lose their digits.
    let first = small.select(square.mul_add(splat(simd, -1.0 / 24.0), splat(simd, 0.5)), first);
    let second = small.select(square.mul_add(splat(simd, -1.0 / 120.0), splat(simd, 1.0 / 6.0)), second);
    let across = spin.cross(swept);
    spin.cross(across).mul_add(second, across.mul_add(first, swept))
}
