//! `base = { type = "fold-over-free", … }` → [`FoldOverFreeSpec`].

use super::effect::COORDINATE;
use super::parse::{At, FACTOR, Range, Reader};
use crate::kinodynamic::{FoldOverFreeSpec, LimbSpec, MOST_STEPS, Method, WeightSource};
use toml_edit::TableLike;

/// Its name.
pub(super) const FOLD_OVER_FREE: &str = "fold-over-free";
pub(super) const METHODS: &[(&str, Method)] =
    &[("second-order", Method::SecondOrder), ("euler", Method::Euler), ("runge-kutta", Method::RungeKutta)];

pub(super) const WEIGHTS: &[(&str, WeightSource)] = &[("lines", WeightSource::Lines), ("skin", WeightSource::Skin)];
/// As many steps as the bend asks for.
pub(super) const AUTO: &str = "auto";

pub(super) const KEYS: &[&str] = &["type", "method", "steps", "alpha", "beta", "weights", "limbs"];
const LIMB_KEYS: &[&str] = &["alpha", "beta", "radius", "bone", "capsules", "tissue", "map"];

const STEPS: Range = Range { min: 1.0, max: MOST_STEPS as f64, unit: "" };
const WIDENING: Range = Range { min: 0.1, max: 10.0, unit: "× fitted" };
const CORE: Range = Range { min: 0.0, max: 2.0, unit: "× limb radius" };
const PRIMITIVE_RADIUS: Range = Range { min: 1e-9, max: 1e9, unit: "" };

/// Numbers of an ellipsoid in a bone's frame: centre, radii.
pub(super) const ELLIPSOID: [Range; 6] =
    [COORDINATE, COORDINATE, COORDINATE, PRIMITIVE_RADIUS, PRIMITIVE_RADIUS, PRIMITIVE_RADIUS];
const ELLIPSOIDS: &str = "ellipsoids in the bone's frame, such as [[0.0, 0.1, 0.0, 0.05, 0.1, 0.05]]: centre, radii";
/// Numbers of a capsule in a bone's frame: ends, radius.
pub(super) const CAPSULE: [Range; 7] =
    [COORDINATE, COORDINATE, COORDINATE, COORDINATE, COORDINATE, COORDINATE, PRIMITIVE_RADIUS];
const CAPSULES: &str = "capsules in the bone's frame, such as [[0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.03]]: ends, radius";

impl Reader {
    pub(super) fn fold_over_free(&mut self, table: &dyn TableLike, path: &str) -> FoldOverFreeSpec {
        let default = FoldOverFreeSpec::default();
        let method = At::of(table, "method", path).and_then(|at| self.word(&at, METHODS)).unwrap_or(default.method);
        // At most 64.
        let steps = At::of(table, "steps", path).filter(|at| at.item.as_str() != Some(AUTO));
        let steps = steps.and_then(|at| self.number(&at, STEPS)).map(|steps| steps as usize);
        let alpha = self.share(table, "alpha", path).unwrap_or(default.alpha);
        let beta = self.share(table, "beta", path).unwrap_or(default.beta);
        let limbs = At::of(table, "limbs", path).map_or_else(Vec::new, |at| self.limbs(&at));
        let weights = At::of(table, "weights", path).and_then(|at| self.word(&at, WEIGHTS)).unwrap_or_default();
        FoldOverFreeSpec { method, steps, alpha, beta, weights, limbs }
    }

    fn share(&mut self, table: &dyn TableLike, key: &str, path: &str) -> Option<f64> {
        At::of(table, key, path).and_then(|at| self.number(&at, FACTOR))
    }

    fn limbs(&mut self, at: &At<'_>) -> Vec<(String, LimbSpec)> {
        let expected = "a table of limbs by bone name, such as { \"arm*\" = { radius = 1.2 } }";
        let Some(table) = self.table(at, expected) else { return Vec::new() };
        let mut limbs = Vec::new();
        for (pattern, _) in table.iter() {
            let Some(at) = At::of(table, pattern, &at.path) else { continue };
            let Some(inner) = self.table(&at, "a table such as { alpha = 0.1, beta = 0.3 }") else { continue };
            if !self.refuse_unquoted(pattern, &at, inner, LIMB_KEYS) {
                limbs.push((pattern.to_owned(), self.limb(inner, &at.path)));
            }
        }
        limbs
    }

    fn limb(&mut self, table: &dyn TableLike, path: &str) -> LimbSpec {
        self.refuse_unknown(table, path, LIMB_KEYS.iter().copied(), &[]);
        let (mut capsules, mut tissue) = (Vec::new(), Vec::new());
        if let Some(at) = At::of(table, "capsules", path) {
            for (offset, path, item) in self.list(&at, CAPSULES) {
                capsules.extend(self.numbers(&At { item: &item, path, offset }, CAPSULES, CAPSULE));
            }
        }
        if let Some(at) = At::of(table, "tissue", path) {
            for (offset, path, item) in self.list(&at, ELLIPSOIDS) {
                tissue.extend(self.numbers(&At { item: &item, path, offset }, ELLIPSOIDS, ELLIPSOID));
            }
        }
        LimbSpec {
            alpha: self.share(table, "alpha", path),
            beta: self.share(table, "beta", path),
            radius: At::of(table, "radius", path).and_then(|at| self.number(&at, WIDENING)),
            bone: At::of(table, "bone", path).and_then(|at| self.number(&at, CORE)),
            capsules,
            tissue,
            map: self.map(table, path),
        }
    }
}
