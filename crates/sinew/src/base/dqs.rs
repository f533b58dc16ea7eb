//! Dual quaternion skinning (Kavan et al. 2008), with scale and shear blended linearly first.
//!
//! Each skinning transform is split `T = Q·S` into a rigid part and a stretch (polar decomposition; a mirrored
//! transform keeps its mirror in S). Stretches are blended linearly and applied at rest, rigid parts as dual
//! quaternions. A quaternion and its negative are one rotation: before blending, each takes the sign of its parent's
//! hemisphere, passed root to leaf once per frame, so that the choice is the same for all points and continuous in
//! time; the per-vertex pivot of the original paper jumps where the pivot changes and is kept as an option.
//!
//! Oracle: equal to LBS where one bone has weight 1; a twist keeps the radius; flipping input signs changes nothing.

use super::{Base, BaseBinding, BaseEntry, BaseFrame, Palette, Skinned, blend, largest_influences};
use crate::gradients::Gradient;
use crate::param::ParamSpec;
use crate::polar::polar_rotation;
use crate::rig::Rig;
use crate::simd::{LANES, Simd, V3, f32x16, prelude::*, splat};
use glam::{DMat3, DQuat, DVec4};

/// The base `dqs`.
pub const DQS: BaseEntry = BaseEntry {
    name: "dqs",
    about: "Dual quaternion skinning: twists keep their volume",
    params: &[PIVOT],
    mapped: None,
    tables: &[],
    bind: |binding| Base::Dqs(Antipodality::of(binding)),
};

/// How the sign of a quaternion is chosen.
pub(super) const PIVOT: ParamSpec =
    ParamSpec::switch("pivot", false, "choose signs by each vertex's strongest bone instead of by the parent bone");

/// How the sign of each dual quaternion is chosen.
#[derive(Clone, Debug)]
pub enum Antipodality {
    /// By the parent bone, root to leaf, once per frame.
    Parent,
    /// By each point's largest influence; holds its index within the row's union.
    Pivot(Vec<[u32; LANES]>),
}

impl Antipodality {
    /// As [`PIVOT`] says.
    pub(super) fn of(binding: &BaseBinding<'_>) -> Self {
        if binding.values.switch(PIVOT.name) { Self::Pivot(largest_influences(binding.rig)) } else { Self::Parent }
    }
}

/// Dual quaternions and stretches of one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct DqsPalette {
    /// Real x, y, z, w, then dual x, y, z, w.
    duals: Vec<[f32; 8]>,
    /// Columns of S.
    stretches: Vec<[f32; 9]>,
    /// Whether any S differs from the identity by more than rounding.
    stretched: bool,
}

impl DqsPalette {
    /// Real x, y, z, w, then dual x, y, z, w, by palette entry.
    pub fn duals(&self) -> &[[f32; 8]] {
        &self.duals
    }

    /// Columns of S, by palette entry; `None` where all are the identity but for rounding.
    pub fn stretches(&self) -> Option<&[[f32; 9]]> {
        self.stretched.then_some(&self.stretches[..])
    }

    /// The same, whatever they are.
    pub fn all_stretches(&self) -> &[[f32; 9]] {
        &self.stretches
    }

    /// Splits all transforms of a frame. Parents stand before children in bone order, not in palette order.
    pub fn compose(&mut self, rig: &Rig, palette: &Palette) {
        self.duals.clear();
        self.stretches.clear();
        self.stretched = false;
        for matrix in palette.world() {
            let linear = matrix.matrix3;
            let q = polar_rotation(linear);
            // A mirror stays in the stretch: Q is a proper rotation.
            let stretch = q.transpose() * linear;
            self.stretched |= !stretch.abs_diff_eq(DMat3::IDENTITY, 1e-6);
            let real = DVec4::from(DQuat::from_mat3(&q).normalize());
            let t = matrix.translation;
            let v = real.truncate();
            let dual = (t * real.w + t.cross(v)).extend(-t.dot(v)) * 0.5;
            let mut numbers = [0.0; 8];
            numbers[..4].copy_from_slice(&real.as_vec4().to_array());
            numbers[4..].copy_from_slice(&dual.as_vec4().to_array());
            self.duals.push(numbers);
            self.stretches.push(stretch.to_cols_array().map(|v| v as f32));
        }
        self.align(rig);
    }

    fn align(&mut self, rig: &Rig) {
        for &entry in rig.palette_order() {
            // A root has no parent to agree with: the half with w ≥ 0 is the rotation nearest to none.
            let reference = match rig.palette()[entry as usize].parent {
                Some(parent) => self.duals[parent as usize],
                None => [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            };
            let own = &mut self.duals[entry as usize];
            let dot: f32 = (0..4).map(|k| own[k] * reference[k]).sum();
            if dot < 0.0 {
                *own = own.map(|v| -v);
            }
        }
    }
}

/// Skins one row by the blended dual quaternion.
#[inline(always)]
pub(super) fn dqs_row<S: Simd>(
    simd: S,
    frame: &BaseFrame<'_>,
    antipodality: &Antipodality,
    row: usize,
    rest: V3<S>,
) -> Skinned<S> {
    let sum = blended(simd, frame, antipodality, row);
    let [qx, qy, qz, qw, dx, dy, dz, dw] = sum;
    let square = qw.mul_add(qw, qz.mul_add(qz, qy.mul_add(qy, qx * qx)));
    // Two opposite rotations in equal parts blend to nothing: then any rotation is as good, and none is finite.
    let usable = square.simd_gt(splat(simd, 1e-12));
    let inverse = splat(simd, 1.0) / usable.select(square, splat(simd, 1.0)).sqrt();
    let v = V3 { x: qx, y: qy, z: qz }.scale(inverse);
    let w = usable.select(qw * inverse, splat(simd, 1.0));
    let d = V3 { x: dx, y: dy, z: dz }.scale(inverse);
    let dw = dw * inverse;
    let two = splat(simd, 2.0);
    let t = v.cross(d).add(d.scale(w)).sub(v.scale(dw)).scale(two);
    let (one, two_w) = (splat(simd, 1.0), w + w);
    // Rows of the rotation: 1 − 2(y²+z²), 2(xy − wz), 2(xz + wy); …
    let (x2, y2, z2) = (v.x + v.x, v.y + v.y, v.z + v.z);
    let turn = [
        V3 { x: one - y2.mul_add(v.y, z2 * v.z), y: x2.mul_sub(v.y, two_w * v.z), z: x2.mul_add(v.z, two_w * v.y) },
        V3 { x: x2.mul_add(v.y, two_w * v.z), y: one - x2.mul_add(v.x, z2 * v.z), z: y2.mul_sub(v.z, two_w * v.x) },
        V3 { x: x2.mul_sub(v.z, two_w * v.y), y: y2.mul_add(v.z, two_w * v.x), z: one - x2.mul_add(v.x, y2 * v.y) },
    ];
    if frame.dual.stretched {
        let skin = &frame.rig.rows()[row].skin;
        let range = skin.start as usize..skin.end as usize;
        let (entries, weights) = (&frame.rig.skin_entries()[range.clone()], &frame.rig.skin_weights()[range]);
        let [xx, xy, xz, yx, yy, yz, zx, zy, zz] = blend(simd, entries, weights, &frame.dual.stretches);
        let columns = [V3 { x: xx, y: xy, z: xz }, V3 { x: yx, y: yy, z: yz }, V3 { x: zx, y: zy, z: zz }];
        let mut linear = turn;
        for row in &mut linear {
            *row = V3 { x: row.dot(columns[0]), y: row.dot(columns[1]), z: row.dot(columns[2]) };
        }
        let skinned = Skinned { p: t, linear, blended: linear };
        Skinned { p: skinned.carry(rest).add(t), ..skinned }
    } else {
        let around = v.cross(rest).scale(two);
        Skinned { p: v.cross(around).add(around.mul_add(w, rest)).add(t), linear: turn, blended: turn }
    }
}

/// `Σ w_i Q_i` with the signs chosen.
#[inline(always)]
fn blended<S: Simd>(simd: S, frame: &BaseFrame<'_>, antipodality: &Antipodality, row: usize) -> [f32x16<S>; 8] {
    let skin = &frame.rig.rows()[row].skin;
    let range = skin.start as usize..skin.end as usize;
    let entries = &frame.rig.skin_entries()[range.clone()];
    let weights = &frame.rig.skin_weights()[range];
    let palette = frame.dual;
    match antipodality {
        Antipodality::Parent => blend(simd, entries, weights, &palette.duals),
        Antipodality::Pivot(pivots) => {
            let mut pivot = [splat(simd, 0.0); 4];
            for (k, pivot) in pivot.iter_mut().enumerate() {
                let mut lanes = [0.0; LANES];
                for (lane, value) in lanes.iter_mut().enumerate() {
                    *value = palette.duals[entries[pivots[row][lane] as usize] as usize][k];
                }
                *pivot = f32x16::load_array(simd, lanes);
            }
            let mut sum = [splat(simd, 0.0); 8];
            for (&entry, weight) in entries.iter().zip(weights) {
                let q = &palette.duals[entry as usize];
                let mut dot = splat(simd, 0.0);
                for k in 0..4 {
                    dot = pivot[k].mul_add(splat(simd, q[k]), dot);
                }
                let weight = f32x16::load_array_ref(simd, weight);
                let weight = dot.simd_lt(splat(simd, 0.0)).select(-weight, weight);
                for k in 0..8 {
                    sum[k] = weight.mul_add(splat(simd, q[k]), sum[k]);
                }
            }
            sum
        }
    }
}

/// Adds `∂p/∂w_i ⊗ ∇w_i` to the linear map.
///
/// `p = N/|q|²` with `N = q r q* + 2 vec(d q*)`; along Q_i, `∂p = (∂N − 2(q·q_i) p)/|q|²`.
#[inline(always)]
pub(super) fn dqs_weight_terms<S: Simd>(
    simd: S,
    frame: &BaseFrame<'_>,
    antipodality: &Antipodality,
    gradients: &[Gradient],
    row: usize,
    rest: V3<S>,
    skinned: &mut Skinned<S>,
) {
    let [qx, qy, qz, w, dx, dy, dz, dw] = blended(simd, frame, antipodality, row);
    let (v, d) = (V3 { x: qx, y: qy, z: qz }, V3 { x: dx, y: dy, z: dz });
    let square = w.mul_add(w, v.dot(v));
    let usable = square.simd_gt(splat(simd, 1e-12));
    let inverse = usable.select(splat(simd, 1.0), splat(simd, 0.0)) / usable.select(square, splat(simd, 1.0));
    let two = splat(simd, 2.0);
    let skin = &frame.rig.rows()[row].skin;
    let range = skin.start as usize..skin.end as usize;
    let entries = &frame.rig.skin_entries()[range.clone()];
    let mut stretched = rest;
    if frame.dual.stretched {
        let columns = blend(simd, entries, &frame.rig.skin_weights()[range.clone()], &frame.dual.stretches);
        stretched = apply_columns(&columns, rest);
    }
    let r = stretched;
    let along = v.dot(r);
    let around = v.cross(r);
    for (&entry, gradient) in entries.iter().zip(&gradients[range]) {
        let numbers = &frame.dual.duals[entry as usize];
        let mut q = [splat(simd, 0.0); 8];
        for k in 0..8 {
            q[k] = splat(simd, numbers[k]);
        }
        let [ux, uy, uz, uw, ex, ey, ez, ew] = q;
        let (u, e) = (V3 { x: ux, y: uy, z: uz }, V3 { x: ex, y: ey, z: ez });
        let mut dot = uw.mul_add(w, u.dot(v));
        let mut sign = splat(simd, 1.0);
        if matches!(antipodality, Antipodality::Pivot(_)) {
            // The pivot's half is the blend's half wherever a blend exists.
            sign = dot.simd_lt(splat(simd, 0.0)).select(-sign, sign);
            dot *= sign;
        }
        let turned = r
            .scale(w.mul_sub(uw, v.dot(u)))
            .add(v.scale(u.dot(r)))
            .add(u.scale(along))
            .add(around.scale(uw))
            .add(u.cross(r).scale(w));
        let moved = d.scale(uw).add(e.scale(w)).sub(v.scale(ew)).sub(u.scale(dw)).add(u.cross(d)).add(v.cross(e));
        let change = turned.add(moved).scale(sign).sub(skinned.p.scale(dot)).scale(two * inverse);
        skinned.add_outer(change, V3::load(simd, gradient));
        if frame.dual.stretched {
            // R·S_i r: the rotation is the linear map without the blended stretch.
            let mut columns = [splat(simd, 0.0); 9];
            for k in 0..9 {
                columns[k] = splat(simd, frame.dual.stretches[entry as usize][k]);
            }
            let own = apply_columns(&columns, rest);
            let around = v.cross(own);
            let rotated = own
                .scale(w.mul_sub(w, v.dot(v)))
                .add(v.scale(v.dot(own) * two))
                .add(around.scale(w * two))
                .scale(inverse);
            skinned.add_outer(rotated, V3::load(simd, gradient));
        }
    }
}

#[inline(always)]
fn apply_columns<S: Simd>(m: &[f32x16<S>; 9], p: V3<S>) -> V3<S> {
    let [xx, xy, xz, yx, yy, yz, zx, zy, zz] = *m;
    let (x, y, z) = (V3 { x: xx, y: xy, z: xz }, V3 { x: yx, y: yy, z: yz }, V3 { x: zx, y: zy, z: zz });
    z.mul_add(p.z, y.mul_add(p.y, x.scale(p.x)))
}
