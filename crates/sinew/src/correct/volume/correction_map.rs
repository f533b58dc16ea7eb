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

    pub fn gamma(self, main_weight: f64, distance: f64, alpha: f64, beta: f64) -> f64 {
        let m = main_weight.clamp(0.0, 1.0);
        match self {
            Self::Even => 1.0,
            Self::Rubber => power(1.0 - m, alpha),
            Self::Organic => power(1.0 - m, alpha) * power(distance, beta),
            Self::Muscle => power((2.0 * m - 1.0).max(0.0), alpha) * power(distance, beta),
            Self::Bulge => power((8.0 * (1.0 - m) * (2.0 * m - 1.0)).max(0.0), alpha) * power(distance, beta),
        }
    }

    fn reads_distance(self) -> bool {
        matches!(self, Self::Organic | Self::Muscle | Self::Bulge)
    }
}

/// 0⁰ = 0: an exponent of 0 flattens a map but does not spread it.
fn power(base: f64, exponent: f64) -> f64 {
    if base == 0.0 { 0.0 } else { base.powf(exponent) }
}

/// What a map is made of.
pub(super) struct MapPlan<'a> {
    pub shape: Shape,
    pub alpha: f64,
    pub beta: f64,
    pub painted: Option<&'a [Lanes]>,
    /// Bones that count for the distance of the nodes that follow a bone most; all where `None`.
    pub bones_of: &'a dyn Fn(BoneId) -> Option<&'a [BoneId]>,
}

/// γ per node of a surface, with what it is made of apart: a painted map changes sixty times a second, the exponents
/// less often, distances never.
pub(super) struct CorrectionMap {
    shape: Shape,
    alpha: f64,
    beta: f64,
    /// To the nearest bone, in sizes; where a shape has read them.
    distances: Option<Arc<Vec<f64>>>,
    /// γ of the shape alone; 0 on riders.
    form: Vec<f64>,
    pub gamma: Vec<f64>,
}

impl CorrectionMap {
    pub fn new(rig: &Rig, surface: &Surface, plan: &MapPlan<'_>) -> Self {
        let MapPlan { shape, alpha, beta, .. } = *plan;
        let mut map = Self { shape, alpha, beta, distances: None, form: Vec::new(), gamma: Vec::new() };
        map.reshape(rig, surface, plan);
        map.paint(surface, plan.painted);
        map
    }

    /// Follows a plan for the same bones; whether γ is another one.
    pub fn retune(&mut self, rig: &Rig, surface: &Surface, plan: &MapPlan<'_>, repainted: bool) -> bool {
        let reshaped = (self.shape, self.alpha, self.beta) != (plan.shape, plan.alpha, plan.beta);
        if reshaped {
            self.reshape(rig, surface, plan);
        }
        if reshaped || repainted {
            self.paint(surface, plan.painted);
        }
        reshaped || repainted
    }

    fn reshape(&mut self, rig: &Rig, surface: &Surface, plan: &MapPlan<'_>) {
        let MapPlan { shape, alpha, beta, bones_of, .. } = *plan;
        (self.shape, self.alpha, self.beta) = (shape, alpha, beta);
        if shape.reads_distance() && self.distances.is_none() {
            let own = surface.segments.iter().any(|segment| bones_of(segment.bone).is_some());
            self.distances = Some(match own {
                true => Arc::new(distances(rig, surface, bones_of)),
                false => rig.kept::<Depths>().of(rig, surface),
            });
        }
        let far = self.distances.as_ref().filter(|_| shape.reads_distance());
        let form = |(node, slots): (usize, &[u32])| {
            let distance = far.map_or(1.0, |distances| distances[node]);
            let is_rider = slots.iter().any(|&slot| rig.is_rider(slot as usize));
            if is_rider { 0.0 } else { shape.gamma(surface.main_weight[node], distance, alpha, beta) }
        };
        self.form.clear();
        self.form.extend(surface.members.iter().enumerate().map(form));
    }

    fn paint(&mut self, surface: &Surface, painted: Option<&[Lanes]>) {
        let areas = &surface.areas;
        let mean_area = areas.iter().sum::<f64>() / areas.len().max(1) as f64;
        let gamma = |(node, form): (usize, &f64)| {
            let slot = surface.members.of(node)[0] as usize;
            let painted = painted.map_or(1.0, |rows| f64::from(rows[slot / LANES][slot % LANES]).max(0.0));
            let gamma = painted * form * (mean_area / areas[node]);
            if gamma.is_finite() { gamma } else { 0.0 }
        };
        self.gamma.clear();
        self.gamma.extend(self.form.iter().enumerate().map(gamma));
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
