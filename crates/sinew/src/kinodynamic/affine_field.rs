//! Velocity fields that are affine in the place, one per limb, blended per point, and where their flow takes a point.
//!
//! Of rigid motion `ξ p = ω×p + v` they are twists, whose flow is Rodrigues' formula; of any other, `exp(tξ) p` by its
//! series.

use super::real::{Real, Unit, Wide3, load, rounded, splat};
use super::tissue::Value;
use crate::simd::{Simd, prelude::*};
use glam::{DAffine3, DVec3};
use std::ops::Range;

/// Terms of a flow: to the last bit of what a step of at most half a radian needs.
const FLOW_TERMS: u32 = 10;

/// An affine field of velocities per line, column by column. Where all are of rigid motion they are kept as twists:
/// angular, then linear.
#[derive(Clone, Debug, Default)]
pub(super) struct Affines<T> {
    columns: Vec<[[T; 3]; 4]>,
    rigid: bool,
}

impl<T: Real> Affines<T> {
    /// From the fields of the limbs.
    pub fn set(&mut self, unit: &Unit, lines: &[Range<usize>], fields: &[DAffine3]) {
        let skew = |field: &DAffine3| field.matrix3.transpose() == -field.matrix3;
        self.rigid = fields.iter().all(skew);
        self.columns.clear();
        for (&field, lines) in fields.iter().zip(lines) {
            let DAffine3 { matrix3: matrix, translation } = unit.field(field);
            let mut columns = [matrix.x_axis, matrix.y_axis, matrix.z_axis, translation];
            if self.rigid {
                columns[0] = DVec3::new(matrix.y_axis.z, matrix.z_axis.x, matrix.x_axis.y);
                columns[1] = translation;
            }
            self.columns.resize(lines.end, columns.map(rounded));
        }
    }

    /// Whether all are of rigid motion.
    #[inline(always)]
    pub fn is_rigid(&self) -> bool {
        self.rigid
    }

    /// `Σ w_i c_i` of the first N columns of these lines, `w_i = m_i/Σm`; and 1/Σm.
    #[inline(always)]
    #[allow(clippy::type_complexity, reason = "columns of each vector, and a number for each")]
    fn blended<S: Simd, const C: usize, const N: usize>(
        &self,
        simd: S,
        lines: &[u32],
        values: &[Value<T>],
    ) -> ([[Wide3<S, T>; N]; C], [T::Wide<S>; C]) {
        let mut sums = [[Wide3::<S, T>::zero(simd); N]; C];
        let mut total = [splat::<S, T>(simd, T::default()); C];
        for &line in lines {
            let (value, columns) = (&values[line as usize], &self.columns[line as usize]);
            let mut wide = [Wide3::<S, T>::zero(simd); N];
            for (wide, &column) in wide.iter_mut().zip(columns) {
                *wide = Wide3::splat(simd, column);
            }
            for c in 0..C {
                let m = load::<S, T>(simd, &value.m, c * T::Wide::<S>::LEN);
                total[c] += m;
                for (sum, wide) in sums[c].iter_mut().zip(wide) {
                    *sum = wide.mul_add(m, *sum);
                }
            }
        }
        for (sums, total) in sums.iter_mut().zip(&mut total) {
            *total = splat::<S, T>(simd, T::of(1.0)) / *total;
            for sum in sums {
                *sum = sum.scale(*total);
            }
        }
        (sums, total)
    }

    /// The field of one line at `p`.
    #[inline(always)]
    pub fn of_line<S: Simd>(&self, simd: S, line: usize, p: Wide3<S, T>) -> Wide3<S, T> {
        let [x, y, z, t] = self.columns[line];
        let (x, y) = (Wide3::<S, T>::splat(simd, x), Wide3::splat(simd, y));
        if self.rigid {
            return x.cross_add(p, y);
        }
        Affine { x, y, z: Wide3::splat(simd, z), t: Wide3::splat(simd, t) }.at(p)
    }
}

/// A velocity field per lane, blended from those of the limbs.
pub(super) trait Field<S: Simd, T: Real>: Copy {
    /// Of these lines. And 1/Σm.
    fn blend<const C: usize>(
        simd: S,
        limbs: &Affines<T>,
        lines: &[u32],
        values: &[Value<T>],
    ) -> ([Self; C], [T::Wide<S>; C]);
    fn at(&self, p: Wide3<S, T>) -> Wide3<S, T>;
    /// Where its flow over a time of `t` takes `p`.
    fn flow(&self, simd: S, t: T, p: Wide3<S, T>) -> Wide3<S, T>;
}

/// Any affine field.
#[derive(Clone, Copy)]
pub(super) struct Affine<S: Simd, T: Real> {
    x: Wide3<S, T>,
    y: Wide3<S, T>,
    z: Wide3<S, T>,
    t: Wide3<S, T>,
}

impl<S: Simd, T: Real> Field<S, T> for Affine<S, T> {
    #[inline(always)]
    fn blend<const C: usize>(
        simd: S,
        limbs: &Affines<T>,
        lines: &[u32],
        values: &[Value<T>],
    ) -> ([Self; C], [T::Wide<S>; C]) {
        let (sums, per_total) = limbs.blended::<S, C, 4>(simd, lines, values);
        let zero = Wide3::zero(simd);
        let mut fields = [Self { x: zero, y: zero, z: zero, t: zero }; C];
        for (field, [x, y, z, t]) in fields.iter_mut().zip(sums) {
            *field = Self { x, y, z, t };
        }
        (fields, per_total)
    }

    #[inline(always)]
    fn at(&self, p: Wide3<S, T>) -> Wide3<S, T> {
        self.z.mul_add(p.z, self.y.mul_add(p.y, self.x.mul_add(p.x, self.t)))
    }

    /// By the exponential series: to the last bit of what half a radian needs.
    #[inline(always)]
    fn flow(&self, simd: S, t: T, p: Wide3<S, T>) -> Wide3<S, T> {
        let t = splat::<S, T>(simd, t);
        let mut term = self.at(p).scale(t);
        let mut sum = p.add(term);
        for k in 2..=FLOW_TERMS {
            let turned = self.z.mul_add(term.z, self.y.mul_add(term.y, self.x.scale(term.x)));
            term = turned.scale(t * splat::<S, T>(simd, T::of(1.0 / f64::from(k))));
            sum = sum.add(term);
        }
        sum
    }
}

/// A field of rigid motion: `angular × p + linear`.
#[derive(Clone, Copy)]
pub(super) struct Twisting<S: Simd, T: Real> {
    angular: Wide3<S, T>,
    linear: Wide3<S, T>,
}

impl<S: Simd, T: Real> Field<S, T> for Twisting<S, T> {
    #[inline(always)]
    fn blend<const C: usize>(
        simd: S,
        limbs: &Affines<T>,
        lines: &[u32],
        values: &[Value<T>],
    ) -> ([Self; C], [T::Wide<S>; C]) {
        let (sums, per_total) = limbs.blended::<S, C, 2>(simd, lines, values);
        let mut fields = [Self { angular: Wide3::zero(simd), linear: Wide3::zero(simd) }; C];
        for (field, [angular, linear]) in fields.iter_mut().zip(sums) {
            *field = Self { angular, linear };
        }
        (fields, per_total)
    }

    #[inline(always)]
    fn at(&self, p: Wide3<S, T>) -> Wide3<S, T> {
        self.angular.cross_add(p, self.linear)
    }

    /// `p + t v + (1−cos θ)/θ² t² ω×v + (θ−sin θ)/θ³ t³ ω×(ω×v)`, v the velocity at p and θ = t|ω|, by the series of both
    /// quotients.
    #[inline(always)]
    fn flow(&self, simd: S, t: T, p: Wide3<S, T>) -> Wide3<S, T> {
        let t = splat::<S, T>(simd, t);
        let turn = self.angular.scale(t);
        let square = turn.dot(turn);
        let (mut a, mut b) = (splat::<S, T>(simd, T::default()), splat::<S, T>(simd, T::default()));
        for &(of_a, of_b) in &QUOTIENTS[QUOTIENTS.len() - T::TERMS..] {
            a = a.mul_add(square, splat::<S, T>(simd, T::of(of_a)));
            b = b.mul_add(square, splat::<S, T>(simd, T::of(of_b)));
        }
        let moved = self.at(p).scale(t);
        let across = turn.cross(moved);
        turn.cross(across).mul_add(b, across.mul_add(a, p.add(moved)))
    }
}

/// Of (1−cos θ)/θ² and (θ−sin θ)/θ³ in powers of θ², the highest first.
const QUOTIENTS: [(f64, f64); 6] = [
    (-1.0 / 479_001_600.0, -1.0 / 6_227_020_800.0),
    (1.0 / 3_628_800.0, 1.0 / 39_916_800.0),
    (-1.0 / 40_320.0, -1.0 / 362_880.0),
    (1.0 / 720.0, 1.0 / 5_040.0),
    (-1.0 / 24.0, -1.0 / 120.0),
    (0.5, 1.0 / 6.0),
];
