//! `base = { type = "fold-over-free", … }` → [`FoldOverFreeSpec`].

use super::effect::COORDINATE;
use super::parse::{At, FACTOR, Range, Reader};
use crate::kinodynamic::{FoldOverFreeSpec, LimbSpec, MOST_STEPS, Method};
use toml_edit::TableLike;

/// Its name.
pub(super) const FOLD_OVER_FREE: &str = "fold-over-free";
pub(super) const METHODS: &[(&str, Method)] =
    &[("second-order", Method::SecondOrder), ("euler", Method::Euler), ("runge-kutta", Method::RungeKutta)];

pub(super) const KEYS: &[&str] = &["type", "method", "steps", "alpha", "beta", "limbs"];
const LIMB_KEYS: &[&str] = &["alpha", "beta", "radius", "bone", "tissue"];

const STEPS: Range = Range { min: 1.0, max: MOST_STEPS as f64, unit: "" };
const WIDENING: Range = Range { min: 0.1, max: 10.0, unit: "× fitted" };
const CORE: Range = Range { min: 0.0, max: 2.0, unit: "× limb radius" };
const TISSUE_RADIUS: Range = Range { min: 1e-9, max: 1e9, unit: "" };

impl Reader {
    pub(super) fn fold_over_free(&mut self, table: &dyn TableLike, path: &str) -> FoldOverFreeSpec {
        let default = FoldOverFreeSpec::default();
        let method = At::of(table, "method", path).and_then(|at| self.word(&at, METHODS)).unwrap_or(default.method);
        let steps = At::of(table, "steps", path).and_then(|at| self.number(&at, STEPS));
        let alpha = self.share(table, "alpha", path).unwrap_or(default.alpha);
        let beta = self.share(table, "beta", path).unwrap_or(default.beta);
        let limbs = At::of(table, "limbs", path).map_or_else(Vec::new, |at| self.limbs(&at));
        // At most 64.
        FoldOverFreeSpec { method, steps: steps.map_or(default.steps, |steps| steps as usize), alpha, beta, limbs }
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
        let mut tissue = Vec::new();
        if let Some(at) = At::of(table, "tissue", path) {
            let expected = "ellipsoids in the bone's frame, such as [[0.0, 0.1, 0.0, 0.05, 0.1, 0.05]]: centre, radii";
            for (offset, path, item) in self.list(&at, expected) {
                let ranges = [COORDINATE, COORDINATE, COORDINATE, TISSUE_RADIUS, TISSUE_RADIUS, TISSUE_RADIUS];
                tissue.extend(self.numbers(&At { item: &item, path, offset }, expected, ranges));
            }
        }
        LimbSpec {
            alpha: self.share(table, "alpha", path),
            beta: self.share(table, "beta", path),
            radius: At::of(table, "radius", path).and_then(|at| self.number(&at, WIDENING)),
            bone: At::of(table, "bone", path).and_then(|at| self.number(&at, CORE)),
            tissue,
        }
    }
}
