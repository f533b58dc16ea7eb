//! Dual quaternion skinning (Kavan et al. 2008), with scale and shear blended linearly first.
//!
//! Each skinning transform is split `T = Q·S` into a rigid part and a stretch (polar decomposition; a mirrored
//! transform keeps its mirror in S). Stretches are blended linearly and applied at rest, rigid parts as dual
//! quaternions. A quaternion and its negative are one rotation: before blending, each takes the sign of its parent's
//! hemisphere, passed root to leaf once per frame, so that the choice is the same for all points and continuous in
//! time; the per-vertex pivot of the original paper jumps where the pivot changes and is kept as an option.
//!
//! Oracle: equal to LBS where one bone has weight 1; a twist keeps the radius; flipping input signs changes nothing.

use super::{BaseFrame, Palette, Skinned, blend, largest_influences};
use crate::polar::polar_rotation;
use crate::rig::Rig;
use crate::simd::{LANES, Simd, V3, f32x16, prelude::*, splat};
use glam::{DMat3, DQuat, DVec4};

/// How the sign of each dual quaternion is chosen.
#[derive(Clone, Debug)]
pub enum Antipodality {
    /// By the parent bone, root to leaf, once per frame.
    Parent,
    /// By each point's largest influence; holds its index within the row's union.
    Pivot(Vec<[u32; LANES]>),
}

impl Antipodality {
    /// The per-vertex pivot for a rig.
    pub(crate) fn pivot(rig: &Rig) -> Self {
        Self::Pivot(largest_influences(rig))
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
pub(crate) fn dqs_row<S: Simd>(
    simd: S,
    frame: &BaseFrame<'_>,
    antipodality: &Antipodality,
    row: usize,
    rest: V3<S>,
) -> Skinned<S> {
    let skin = &frame.rig.rows()[row].skin;
    let range = skin.start as usize..skin.end as usize;
    let entries = &frame.rig.skin_entries()[range.clone()];
    let weights = &frame.rig.skin_weights()[range];
    let palette = frame.dual;
    let sum = match antipodality {
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
    };
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
    if palette.stretched {
        let [xx, xy, xz, yx, yy, yz, zx, zy, zz] = blend(simd, entries, weights, &palette.stretches);
        let columns = [V3 { x: xx, y: xy, z: xz }, V3 { x: yx, y: yy, z: yz }, V3 { x: zx, y: zy, z: zz }];
        let mut linear = turn;
        for row in &mut linear {
            *row = V3 { x: row.dot(columns[0]), y: row.dot(columns[1]), z: row.dot(columns[2]) };
        }
        let skinned = Skinned { p: t, linear };
        Skinned { p: skinned.carry(rest).add(t), linear }
    } else {
        let around = v.cross(rest).scale(two);
        Skinned { p: v.cross(around).add(around.mul_add(w, rest)).add(t), linear: turn }
    }
}
