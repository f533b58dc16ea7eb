//! The affine parts of all effects, summed once per frame: `Σ_i w̃_i (A_i p + b_i)` over bones and effects.
//!
//! Along a stretch of the skeleton all bones have the same propagated weight, so their maps add up to one, and a stretch
//! is the difference of two sums from the root: `Σ_{above < i ≤ bottom} = sum(bottom) − sum(above)`, exactly zero where no
//! bone between them moves. Points pay for stretches, as in skinning, whatever the number of bones and effects.

use super::accumulate::{Moved, outer};
use crate::displace::Affine;
use crate::gradients::Gradient;
use crate::propagated::Propagated;
use crate::rig::Rig;
use crate::simd::{Simd, V3, f32x16, load, prelude::*, splat};
use crate::skeleton::BoneId;
use glam::{DMat3, DVec3};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The stretches of a rig.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    /// The tree they lie in, and the propagated weights along them.
    pub tree: Arc<Propagated>,
    /// Bones from below `above` down to `bottom`.
    list: Vec<(BoneId, Option<BoneId>)>,
    of_column: Vec<u32>,
    /// Per bone: whether bones of another character hang below it. Its motion is another one in their terms.
    shared: Vec<bool>,
}

impl Stretches {
    pub fn new(rig: &Rig, tree: &Arc<Propagated>) -> Self {
        let hierarchy = tree.hierarchy();
        let mut shared = vec![false; hierarchy.len()];
        let mut share = |bone: Option<BoneId>, character: usize| {
            let mut next = bone;
            while let Some(bone) = next {
                shared[bone.index()] |= rig.character_of_bone(bone) != character;
                next = hierarchy.parent(bone);
            }
        };
        for &bone in hierarchy.order() {
            let (character, parent) = (rig.character_of_bone(bone), hierarchy.parent(bone));
            if parent.is_some_and(|parent| rig.character_of_bone(parent) != character) {
                share(parent, character);
            }
        }
        for (index, row) in rig.rows().iter().enumerate() {
            for column in &tree.columns()[tree.of_row(index)] {
                if rig.character_of_bone(column.bottom) != row.character as usize {
                    share(Some(column.bottom), row.character as usize);
                }
            }
        }
        let mut known = BTreeMap::new();
        let mut list = Vec::new();
        let of_column = tree.columns().iter().map(|column| {
            *known.entry((column.bottom, column.above)).or_insert_with(|| {
                list.push((column.bottom, column.above));
                list.len() as u32 - 1
            })
        });
        Self { of_column: of_column.collect(), list, shared, tree: Arc::clone(tree) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The stretch of each column of the tree.
    pub fn of_column(&self) -> &[u32] {
        &self.of_column
    }

    /// How many bones move more than one character.
    pub fn shared(&self) -> usize {
        self.shared.iter().filter(|&&shared| shared).count()
    }

    pub fn is_shared(&self, bone: BoneId) -> bool {
        self.shared[bone.index()]
    }
}

/// What the stretches do to the skin at one frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Collapsed {
    /// Per bone: its own, then all from the root.
    sums: Vec<Affine>,
    /// Per coordinate and stretch: a row of A, and of b.
    rows: [Vec<[f32; 4]>; 3],
    still: Vec<bool>,
    any: bool,
}

impl Collapsed {
    /// Per coordinate and stretch: a row of A, and of b; `None` where nothing was collapsed.
    pub(super) fn rows(&self) -> Option<[&[[f32; 4]]; 3]> {
        let [x, y, z] = &self.rows;
        self.any.then_some([&x[..], &y[..], &z[..]])
    }

    pub(super) fn clear(&mut self, bones: usize) {
        self.sums.clear();
        self.sums.resize(bones, Affine::ZERO);
        self.any = false;
    }

    pub(super) fn add(&mut self, bone: BoneId, affine: Affine) {
        let sum = &mut self.sums[bone.index()];
        sum.matrix += affine.matrix;
        sum.shift += affine.shift;
        self.any |= affine != Affine::ZERO;
    }

    /// Sums up, after every effect has added its own.
    pub(super) fn finish(&mut self, stretches: &Stretches) {
        if !self.any {
            return;
        }
        let hierarchy = stretches.tree.hierarchy();
        for &bone in hierarchy.order() {
            if let Some(parent) = hierarchy.parent(bone) {
                let above = self.sums[parent.index()];
                self.sums[bone.index()].matrix += above.matrix;
                self.sums[bone.index()].shift += above.shift;
            }
        }
        self.rows.iter_mut().for_each(Vec::clear);
        self.still.clear();
        for &(bottom, above) in &stretches.list {
            let (below, above) =
                (self.sums[bottom.index()], above.map_or(Affine::ZERO, |bone| self.sums[bone.index()]));
            let (matrix, shift) = (below.matrix - above.matrix, below.shift - above.shift);
            self.still.push(matrix == DMat3::ZERO && shift == DVec3::ZERO);
            for (coordinate, rows) in self.rows.iter_mut().enumerate() {
                rows.push(matrix.row(coordinate).extend(shift[coordinate]).as_vec4().to_array());
            }
        }
    }

    /// What is done to the points of a row.
    #[inline(always)]
    pub(super) fn moved<S: Simd, const DERIVATIVES: bool>(
        &self,
        simd: S,
        stretches: &Stretches,
        gradients: Option<&[Gradient]>,
        row: usize,
        p: V3<S>,
    ) -> Moved<S> {
        let mut moved = Moved::zero(simd);
        if !self.any {
            return moved;
        }
        let tree = &*stretches.tree;
        let columns = tree.of_row(row);
        let mut d = [splat(simd, 0.0); 3];
        for coordinate in 0..3 {
            let rows = &self.rows[coordinate];
            let mut sum = [splat(simd, 0.0); 4];
            for column in columns.clone() {
                let stretch = stretches.of_column[column] as usize;
                if self.still[stretch] {
                    continue;
                }
                let weight = load(simd, &tree.weights()[column]);
                for k in 0..4 {
                    sum[k] = weight.mul_add(splat(simd, rows[stretch][k]), sum[k]);
                }
            }
            let [x, y, z, t] = sum;
            d[coordinate] = z.mul_add(p.z, y.mul_add(p.y, x.mul_add(p.x, t)));
            moved.a[coordinate] = V3 { x, y, z };
        }
        moved.d = V3 { x: d[0], y: d[1], z: d[2] };
        if DERIVATIVES && let Some(gradients) = gradients {
            for column in columns {
                let stretch = stretches.of_column[column] as usize;
                if !self.still[stretch] {
                    outer(&mut moved.b, self.at(simd, stretch, p), V3::load(simd, &gradients[column]));
                }
            }
        }
        moved
    }

    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, stretch: usize, p: V3<S>) -> V3<S> {
        let [x, y, z] = &self.rows;
        V3 { x: row_at(simd, &x[stretch], p), y: row_at(simd, &y[stretch], p), z: row_at(simd, &z[stretch], p) }
    }
}

#[inline(always)]
fn row_at<S: Simd>(simd: S, row: &[f32; 4], p: V3<S>) -> f32x16<S> {
    let sum = splat(simd, row[0]).mul_add(p.x, splat(simd, row[3]));
    splat(simd, row[2]).mul_add(p.z, splat(simd, row[1]).mul_add(p.y, sum))
}
