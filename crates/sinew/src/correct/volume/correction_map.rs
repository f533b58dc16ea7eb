//! Where volume is put back: a weight γ ≥ 0 per node (LV eq. 5, 7, 8).
//!
//! With m the share of the main bone and d the distance to the nearest bone at rest:
//!
//! | shape | γ | where |
//! |---|---|---|
//! | `even` | 1 | everywhere |
//! | `rubber` | (1 − m)^α | around joints, on all sides |
//! | `organic` | (1 − m)^α d^β | around joints, where the flesh is thick |
//! | `muscle` | (2 max(0, m − ½))^α d^β | the middle of each segment |
//! | `bulge` | (8 max(0, (1 − m)(2m − 1)))^α d^β | between the joint and the middle |
//!
//! The last two vanish where segments meet, so that segments corrected by different amounts stay smooth; (8) of the
//! paper is `muscle`, which inflates the rigid middle of a bone most, and `bulge` is the same with both ends at 0.
//! A painted map multiplies any of them, its negative values counting as 0. All are divided by the area of the node at
//! rest: moves by (5) are proportional to γ⟨n,∇V⟩, and ⟨n,∇V⟩ is an area, so that without it every large triangle would
//! stick out (the dependence on connectivity that the paper tells of). Only ratios of γ matter: d is measured in sizes,
//! areas in their mean, and a factor on all of γ changes nothing.

use crate::correct::body::Surface;
use crate::correct::bound::AtRest;
use crate::limbs::{Leaf, Limbs};
use crate::rig::{OfRig, Rig};
use crate::simd::{LANES, Lanes};
use crate::skeleton::BoneId;
use std::sync::{Arc, OnceLock};

/// The shape of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Even,
    Rubber,
    Organic,
    Muscle,
    Bulge,
}

/// In the order of the help, the default first.
pub(super) const SHAPES: &[&str] = &["organic", "rubber", "muscle", "bulge", "even"];

impl Shape {
    /// A word of [`SHAPES`].
    pub fn named(word: &str) -> Self {
        match word {
            "rubber" => Self::Rubber,
            "organic" => Self::Organic,
            "muscle" => Self::Muscle,
            "bulge" => Self::Bulge,
            _ => Self::Even,
        }
    }

    /// What α is the exponent of, by the share of the main bone. Round where both bones have half: the paper's has an edge
    /// there, which makes elbows pointed.
    fn around(self, main_weight: f64, is_plain: bool) -> f64 {
        let m = main_weight.clamp(0.0, 1.0);
        if !is_plain && matches!(self, Self::Rubber | Self::Organic) {
            let x = (2.0 - 2.0 * m).min(1.0);
            return 0.5 * x * x * (3.0 - 2.0 * x);
        }
        match self {
            Self::Even => 1.0,
            Self::Rubber | Self::Organic => 1.0 - m,
            Self::Muscle => (2.0 * m - 1.0).max(0.0),
            Self::Bulge => (8.0 * (1.0 - m) * (2.0 * m - 1.0)).max(0.0),
        }
    }

    fn reads_distance(self) -> bool {
        matches!(self, Self::Organic | Self::Muscle | Self::Bulge)
    }
}

/// 0⁰ = 0: an exponent of 0 flattens a map but does not spread it. Most skin follows one bone alone, or an exponent is 1:
/// neither needs a power.
fn power(base: f64, exponent: f64) -> f64 {
    if base == 0.0 || base == 1.0 || exponent == 1.0 { base } else { base.powf(exponent) }
}

/// What a map is made of.
pub(super) struct MapPlan<'a> {
    pub shape: Shape,
    pub alpha: f64,
    pub beta: f64,
    /// As printed in the paper.
    pub is_plain: bool,
    pub painted: Option<&'a [Lanes]>,
    /// Bones that count for the distance of the nodes that follow a bone most; all where `None`.
    pub bones_of: &'a dyn Fn(BoneId) -> Option<&'a [BoneId]>,
}

/// γ per node of a surface, with what it is made of apart: a painted map changes sixty times a second, an exponent less
/// often, distances never.
pub(super) struct CorrectionMap {
    shape: Shape,
    is_plain: bool,
    alpha: f64,
    beta: f64,
    /// To the nearest bone, in sizes; where a shape has read them.
    distances: Option<Arc<Vec<f64>>>,
    /// The factor with the exponent α; 0 on riders.
    around: Vec<f64>,
    /// The factor with the exponent β.
    deep: Vec<f64>,
    pub gamma: Vec<f64>,
}

impl CorrectionMap {
    pub fn new(rig: &Rig, surface: &Surface, plan: &MapPlan<'_>) -> Self {
        let MapPlan { shape, is_plain, alpha, beta, .. } = *plan;
        let (around, deep, gamma) = (Vec::new(), Vec::new(), Vec::new());
        let mut map = Self { shape, is_plain, alpha, beta, distances: None, around, deep, gamma };
        map.gather_around(rig, surface);
        map.deepen(rig, surface, plan);
        map.paint(surface, plan.painted);
        map
    }

    /// Follows a plan for the same bones; whether γ is another one.
    pub fn retune(&mut self, rig: &Rig, surface: &Surface, plan: &MapPlan<'_>, repainted: bool) -> bool {
        let MapPlan { shape, is_plain, alpha, beta, .. } = *plan;
        let replaned = std::mem::replace(&mut self.is_plain, is_plain) != is_plain;
        let before = (self.shape, self.alpha, self.beta);
        (self.shape, self.alpha, self.beta) = (shape, alpha, beta);
        let (around, deep) = (replaned || before != (shape, alpha, before.2), before != (shape, before.1, beta));
        if around {
            self.gather_around(rig, surface);
        }
        if deep {
            self.deepen(rig, surface, plan);
        }
        let changed = around || deep || repainted;
        if changed {
            self.paint(surface, plan.painted);
        }
        changed
    }

    fn gather_around(&mut self, rig: &Rig, surface: &Surface) {
        let Self { shape, is_plain, alpha, around, .. } = self;
        around.clear();
        around.extend(surface.members.iter().zip(&surface.main_weight).map(|(slots, &main_weight)| {
            let is_rider = slots.iter().any(|&slot| rig.is_rider(slot as usize));
            if is_rider { 0.0 } else { power(shape.around(main_weight, *is_plain), *alpha) }
        }));
    }

    fn deepen(&mut self, rig: &Rig, surface: &Surface, plan: &MapPlan<'_>) {
        let Self { shape, beta, distances: known, deep, .. } = self;
        deep.clear();
        if !shape.reads_distance() {
            deep.resize(surface.nodes(), 1.0);
            return;
        }
        let known = known.get_or_insert_with(|| {
            let own = surface.segments.iter().any(|segment| (plan.bones_of)(segment.bone).is_some());
            match own {
                true => Arc::new(distances(rig, surface, plan.bones_of)),
                false => rig.kept::<Depths>().of(rig, surface),
            }
        });
        deep.extend(known.iter().map(|&distance| power(distance, *beta)));
    }

    fn paint(&mut self, surface: &Surface, painted: Option<&[Lanes]>) {
        let areas = &surface.areas;
        let mean_area = areas.iter().sum::<f64>() / areas.len().max(1) as f64;
        let gamma = |(node, (around, deep)): (usize, (&f64, &f64))| {
            let slot = surface.members.of(node)[0] as usize;
            let painted = painted.map_or(1.0, |rows| f64::from(rows[slot / LANES][slot % LANES]).max(0.0));
            let gamma = painted * (around * deep) * (mean_area / areas[node]);
            if gamma.is_finite() { gamma } else { 0.0 }
        };
        self.gamma.clear();
        self.gamma.extend(self.around.iter().zip(&self.deep).enumerate().map(gamma));
    }
}

/// Distances of the nodes of each character to the nearest of all its bones.
struct Depths(Vec<OnceLock<Arc<Vec<f64>>>>);

impl OfRig for Depths {
    fn of(rig: &Rig) -> Self {
        Self(rig.characters().iter().map(|_| OnceLock::new()).collect())
    }
}

impl Depths {
    fn of(&self, rig: &Rig, surface: &Surface) -> Arc<Vec<f64>> {
        Arc::clone(self.0[surface.character].get_or_init(|| Arc::new(distances(rig, surface, &|_| None))))
    }
}

/// From each node to the nearest bone that counts for it, in sizes.
fn distances<'a>(rig: &Rig, surface: &Surface, bones_of: &dyn Fn(BoneId) -> Option<&'a [BoneId]>) -> Vec<f64> {
    let rest = rig.kept::<AtRest>();
    let size = rig.characters()[surface.character].size;
    let limbs = Limbs::at(rig, &rest.world, Leaf::Skin);
    let mut all: Vec<BoneId> = surface.entries().map(|entry| rig.palette()[entry as usize].bone).collect();
    all.sort_unstable();
    all.dedup();
    let distance = |node: usize| {
        let own = surface.segments[surface.segment_of_node[node] as usize].bone;
        let counted = bones_of(own).unwrap_or(&all);
        let p = rest.points[surface.members.of(node)[0] as usize];
        counted.iter().map(|&bone| limbs.distance(bone.index(), p)).fold(f64::INFINITY, f64::min) / size
    };
    (0..surface.nodes()).map(distance).collect()
}
