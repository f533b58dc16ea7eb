//! Base skinning: rest points and bone transforms to skinned points.
//!
//! Every base gives, per row, the skinned points and the linear map that carries normals and tangents, as engines
//! apply it (the blended 3×3, not its inverse transpose).
//!
//! [`incremental_rotation`], [`centres_of_rotation`] and [`stretchable_twistable`] skin single points in f64;
//! [`pointwise`] binds them to a rig; [`SCALE_VECTORS`] places all of them by one solve.
//!
//! **Adding a base** is a file here with its [`BaseEntry`], its lines in this one (the module, and [`BASES`]), and its
//! oracle test. A base that places points one by one implements [`pointwise`]'s trait; recipes, the template, the
//! command line, benchmarks and conformance find it by themselves.

mod blend;
pub mod centres_of_rotation;
mod dqs;
mod entry;
mod evenly_carried;
pub mod incremental_rotation;
mod lbs;
pub mod pointwise;
mod rigid;
mod scale_vectors;
pub mod stretchable_twistable;

/// Every base, in the order of the manual; the first is the default.
pub static BASES: &[BaseEntry] = &[
    LBS,
    DQS,
    BLEND,
    RIGID,
    FOLD_OVER_FREE,
    incremental_rotation::INCREMENTAL_ROTATION,
    centres_of_rotation::CENTRES_OF_ROTATION,
    stretchable_twistable::STRETCHABLE_TWISTABLE,
    scale_vectors::SCALE_VECTORS,
];

/// The base of that name.
pub fn find(name: &str) -> Option<&'static BaseEntry> {
    BASES.iter().find(|base| base.name == name)
}

pub use blend::BLEND;
pub use dqs::{Antipodality, DQS};
pub(crate) use entry::BaseBinding;
pub use entry::BaseEntry;
pub(crate) use evenly_carried::EvenlyCarried;
pub use lbs::LBS;
pub use pointwise::Pointwise;
pub(crate) use pointwise::PointwiseScratch;
pub use rigid::RIGID;
pub use scale_vectors::SCALE_VECTORS;

pub(crate) use dqs::DqsPalette;
use dqs::{dqs_row, dqs_weight_terms};
use lbs::lbs_weight_terms;
pub(crate) use lbs::{LinearRows, lbs_linear_rows, lbs_row};

use crate::gradients::Gradient;
use crate::kinodynamic::{FOLD_OVER_FREE, FoldOverFree};
use crate::pose::WorldPose;
use crate::rig::Rig;
use crate::simd::{LANES, Lanes, Simd, V3, f32x16, load, prelude::*, splat};
use glam::DAffine3;

/// A skinned row.
#[derive(Clone, Copy)]
pub(crate) struct Skinned<S: Simd> {
    pub p: V3<S>,
    /// Rows of the linear map at each point.
    pub linear: [V3<S>; 3],
    /// Rows of the blended matrix that engines carry normals by: the same, but for the slopes of weights.
    pub blended: [V3<S>; 3],
}

impl<S: Simd> Skinned<S> {
    /// Without the slopes of weights.
    #[inline(always)]
    pub fn as_engines(self) -> Self {
        Self { linear: self.blended, ..self }
    }

    /// `linear · v`.
    #[inline(always)]
    pub fn carry(&self, v: V3<S>) -> V3<S> {
        let [x, y, z] = self.linear;
        V3 { x: x.dot(v), y: y.dot(v), z: z.dot(v) }
    }

    /// Adds `a ⊗ b` to the linear map.
    #[inline(always)]
    pub fn add_outer(&mut self, a: V3<S>, b: V3<S>) {
        self.linear[0] = b.mul_add(a.x, self.linear[0]);
        self.linear[1] = b.mul_add(a.y, self.linear[1]);
        self.linear[2] = b.mul_add(a.z, self.linear[2]);
    }

    #[inline(always)]
    fn mix(self, other: Self, factor: f32x16<S>) -> Self {
        let [ax, ay, az] = self.linear;
        let [bx, by, bz] = other.linear;
        let [cx, cy, cz] = self.blended;
        let [dx, dy, dz] = other.blended;
        Self {
            p: self.p.mix(other.p, factor),
            linear: [ax.mix(bx, factor), ay.mix(by, factor), az.mix(bz, factor)],
            blended: [cx.mix(dx, factor), cy.mix(dy, factor), cz.mix(dz, factor)],
        }
    }
}

/// The transforms of one frame, rounded once, translations relative to the character's origin: per coordinate, the
/// matrix row of every entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    pub rows: [Vec<[f32; 4]>; 3],
    world: Vec<DAffine3>,
}

impl Palette {
    /// Skinning transforms `T_i = L_i B_i⁻¹` of all palette entries.
    pub fn compose(&mut self, rig: &Rig, world: &WorldPose, origins: &[glam::DVec3]) {
        self.world.clear();
        self.world.extend(rig.palette().iter().map(|entry| {
            let mut matrix = world.world_from_bone(entry.bone) * entry.bone_from_rest;
            matrix.translation -= origins[entry.character as usize];
            matrix
        }));
        for (coordinate, rows) in self.rows.iter_mut().enumerate() {
            rows.clear();
            rows.extend(self.world.iter().map(|matrix| {
                let [x, y, z, t] = matrix.to_cols_array_2d();
                [x[coordinate], y[coordinate], z[coordinate], t[coordinate]].map(|v| v as f32)
            }));
        }
    }

    pub fn world(&self) -> &[DAffine3] {
        &self.world
    }
}

/// Which base, with what it needs beyond the rig.
#[derive(Clone, Debug)]
pub enum Base {
    /// Linear blend skinning.
    Lbs,
    /// Dual quaternion skinning.
    Dqs(Antipodality),
    /// From LBS (0) to DQS (1) by a factor per point.
    Blend(Vec<Lanes>, Antipodality),
    /// Each point follows its largest influence alone.
    Rigid(Vec<Lanes>),
    /// Points carried along the way to the pose; directions as in linear blending.
    FoldOverFree(Box<FoldOverFree>),
    /// Points placed one by one; directions as in linear blending.
    Pointwise(Box<Pointwise>),
}

impl Base {
    /// The weights of its linear part.
    #[inline(always)]
    pub(crate) fn linear_weights<'a>(&'a self, rig: &'a Rig) -> Option<&'a [Lanes]> {
        match self {
            Self::Lbs | Self::Blend(..) | Self::FoldOverFree(_) | Self::Pointwise(_) => Some(rig.skin_weights()),
            Self::Rigid(weights) => Some(weights),
            Self::Dqs(_) => None,
        }
    }

    /// Whether dual quaternions are needed.
    pub(crate) fn antipodality(&self) -> Option<&Antipodality> {
        match self {
            Self::Dqs(antipodality) | Self::Blend(_, antipodality) => Some(antipodality),
            Self::Lbs | Self::Rigid(_) | Self::FoldOverFree(_) | Self::Pointwise(_) => None,
        }
    }

    /// Skins one row. With gradients of weights and blend factor, the linear map is the true derivative of the skinned
    /// surface by the rest point; without, the blended matrix that engines carry normals by.
    ///
    /// Each kernel is called in one place: every call is a copy of it for every instruction set.
    #[inline(always)]
    pub(crate) fn row<S: Simd>(
        &self,
        simd: S,
        frame: &BaseFrame<'_>,
        gradients: Option<&SurfaceGradients<'_>>,
        row: usize,
        rest: V3<S>,
    ) -> Skinned<S> {
        let weights = self.linear_weights(frame.rig);
        let mut linear = Skinned { p: rest, linear: [rest; 3], blended: [rest; 3] };
        if let Some(weights) = weights {
            linear = lbs_row(simd, frame, weights, row, rest);
            // Rigid weights are piecewise constant: they have no gradient but for the jumps.
            if let (Some(gradients), false) = (gradients, matches!(self, Self::Rigid(_))) {
                lbs_weight_terms(simd, frame, gradients.skin, row, rest, &mut linear);
            }
        }
        let Some(antipodality) = self.antipodality() else { return linear };
        let mut dual = dqs_row(simd, frame, antipodality, row, rest);
        if let Some(gradients) = gradients {
            dqs_weight_terms(simd, frame, antipodality, gradients.skin, row, rest, &mut dual);
        }
        let Self::Blend(factors, _) = self else { return dual };
        let mut mixed = linear.mix(dual, load(simd, &factors[row]));
        if let Some(factor) = gradients.and_then(|gradients| gradients.factor) {
            mixed.add_outer(dual.p.sub(linear.p), V3::load(simd, &factor[row]));
        }
        mixed
    }
}

/// Per row and lane: the index within the row's union of the largest influence.
pub(crate) fn largest_influences(rig: &Rig) -> Vec<[u32; LANES]> {
    let largest = |index: usize, lane: usize| {
        let skin = &rig.rows()[index].skin;
        let union = &rig.skin_entries()[skin.start as usize..skin.end as usize];
        let main = rig.main_influence(index * LANES + lane);
        main.and_then(|main| union.binary_search(&main.palette).ok()).unwrap_or(0) as u32
    };
    (0..rig.rows().len()).map(|index| std::array::from_fn(|lane| largest(index, lane))).collect()
}

/// How weights and the blend factor change along the rest surface.
pub(crate) struct SurfaceGradients<'a> {
    pub skin: &'a [Gradient],
    pub factor: Option<&'a [Gradient]>,
}

/// What the base kernels read.
pub(crate) struct BaseFrame<'a> {
    pub rig: &'a Rig,
    pub palette: &'a Palette,
    pub dual: &'a DqsPalette,
}

impl BaseFrame<'_> {
    /// Whether the bones of a row turn space inside out.
    pub fn mirrored(&self, row: usize) -> bool {
        let first = self.rig.skin_entries().get(self.rig.rows()[row].skin.start as usize);
        first.is_some_and(|&entry| self.palette.world[entry as usize].matrix3.determinant() < 0.0)
    }
}

/// `Σ w·m` over the row's entries, for N numbers per entry.
///
/// Four entries at a time: their weights stay in registers while the numbers stream by. (Sums that stay in registers
/// while the entries stream by were spilled to the stack by the compiler, at twice the cost.)
#[inline(always)]
fn blend<S: Simd, const N: usize>(simd: S, entries: &[u32], weights: &[Lanes], numbers: &[[f32; N]]) -> [f32x16<S>; N] {
    let mut sum = [splat(simd, 0.0); N];
    let (entries, last_entries) = entries.as_chunks::<4>();
    let (weights, last_weights) = weights.as_chunks::<4>();
    for (entries, weights) in entries.iter().zip(weights) {
        blend_some(simd, entries, weights, numbers, &mut sum);
    }
    match (last_entries, last_weights) {
        (&[a], &[wa]) => blend_some(simd, &[a], &[wa], numbers, &mut sum),
        (&[a, b], &[wa, wb]) => blend_some(simd, &[a, b], &[wa, wb], numbers, &mut sum),
        (&[a, b, c], &[wa, wb, wc]) => blend_some(simd, &[a, b, c], &[wa, wb, wc], numbers, &mut sum),
        _ => {}
    }
    sum
}

#[inline(always)]
fn blend_some<S: Simd, const N: usize, const K: usize>(
    simd: S,
    entries: &[u32; K],
    weights: &[Lanes; K],
    numbers: &[[f32; N]],
    sum: &mut [f32x16<S>; N],
) {
    let mut w = [splat(simd, 0.0); K];
    let mut m = [&[0.0; N]; K];
    for k in 0..K {
        w[k] = load(simd, &weights[k]);
        m[k] = &numbers[entries[k] as usize];
    }
    for n in 0..N {
        for k in 0..K {
            sum[n] = w[k].mul_add(splat(simd, m[k][n]), sum[n]);
        }
    }
}
