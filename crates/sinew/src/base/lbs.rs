//! Linear blend skinning: `p = Σ w_i T_i r`.
//!
//! Oracle: an independent f64 evaluation of the glTF specification agrees to 3e-6 of the character's size.

use super::{BaseFrame, Skinned, blend};
use crate::simd::{Lanes, Simd, V3};

/// Skins one row by the blended matrix.
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
    let [xx, xy, xz, yx, yy, yz, zx, zy, zz, tx, ty, tz] =
        blend(simd, entries, &weights[range], &frame.palette.matrices);
    let linear = [V3 { x: xx, y: xy, z: xz }, V3 { x: yx, y: yy, z: yz }, V3 { x: zx, y: zy, z: zz }];
    let t = V3 { x: tx, y: ty, z: tz };
    let p = linear[2].mul_add(rest.z, linear[1].mul_add(rest.y, linear[0].mul_add(rest.x, t)));
    Skinned { p, linear }
}
