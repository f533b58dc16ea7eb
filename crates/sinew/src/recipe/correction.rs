//! One `[[correction]]` section → [`CorrectionSpec`].

use super::CorrectionSpec;
use super::error::{Fault, one_of};
use super::parse::{At, Range, Reader, SECTIONS};
use crate::correct::{CORRECTIONS, Correction, Factors};
use crate::param::Values;
use toml_edit::TableLike;

/// Keys of every correction, and those of corrections with maps.
pub(super) const CORRECTION_KEYS: &[&str] = &["type", "gain", "map", "bones", "stiffness", "maps"];
const MAP_KEYS: &[&str] = &["type", "gain", "map", "bones"];
/// The one correction with muscles.
const MUSCLES: &str = "muscles";
const PLAIN_KEYS: &[&str] = &["type", "gain"];

/// On a stiffness.
const FACTOR: Range = Range { min: 0.0, max: 100.0, unit: "" };
pub(super) const SHARE: Range = Range { min: 0.0, max: 1.0, unit: "" };

impl Reader {
    pub(super) fn correction(&mut self, table: &dyn TableLike, offset: usize, path: &str) -> Option<CorrectionSpec> {
        let names: Vec<(&str, &'static Correction)> = CORRECTIONS.iter().map(|c| (c.name, c)).collect();
        let correction = match At::of(table, "type", path) {
            Some(at) => self.word(&at, &names),
            None => {
                let quoted: Vec<String> = names.iter().map(|(name, _)| format!("\"{name}\"")).collect();
                let add = format!("type = {}", one_of(quoted.iter().map(String::as_str)));
                self.fault(offset, path, Fault::Missing { what: "the type of correction", add });
                None
            }
        }?;
        let keys = match (correction.takes_maps, correction.scaled.is_empty()) {
            (true, false) => CORRECTION_KEYS,
            (true, true) => MAP_KEYS,
            (false, _) => PLAIN_KEYS,
        };
        let own = (correction.name == MUSCLES).then_some(MUSCLES);
        let valid = keys.iter().copied().chain(own).chain(correction.params.iter().map(|spec| spec.name));
        self.refuse_unknown(table, path, valid, SECTIONS);
        let mut values = Values::defaults(correction.params);
        for spec in correction.params {
            if let Some(value) = At::of(table, spec.name, path).and_then(|at| self.param(&at, spec)) {
                let taken = values.set(spec.name, value);
                debug_assert!(taken.is_ok(), "the range was checked above");
            }
        }
        let gain = At::of(table, "gain", path).and_then(|at| self.number(&at, SHARE)).unwrap_or(1.0);
        let map = self.map(table, path);
        let bones = At::of(table, "bones", path).map_or_else(Vec::new, |at| self.counted_bones(&at));
        let muscles = At::of(table, MUSCLES, path).filter(|_| own.is_some());
        let muscles = muscles.map_or_else(Vec::new, |at| self.muscles(&at));
        let (mut factors, mut painted) = (Vec::new(), Vec::new());
        if !correction.scaled.is_empty() {
            factors = At::of(table, "stiffness", path).map_or_else(Vec::new, |at| self.factors(&at, correction));
            painted = At::of(table, "maps", path).map_or_else(Vec::new, |at| self.painted(&at, correction));
        }
        Some(CorrectionSpec { correction, values, gain, map, bones, muscles, factors, painted })
    }

    /// By bone name, a factor on everything that can be scaled, or a table of them.
    fn factors(&mut self, at: &At<'_>, correction: &Correction) -> Vec<(String, Factors)> {
        let expected = "a table of factors by bone name, such as { \"belly*\" = { torsion = 0.2 } }";
        let Some(table) = self.table(at, expected) else { return Vec::new() };
        let mut factors = Vec::new();
        for (pattern, _) in table.iter() {
            let Some(at) = At::of(table, pattern, &at.path) else { continue };
            let Some(inner) = at.item.as_table_like() else {
                if let Some(factor) = self.number(&at, FACTOR) {
                    factors.push((pattern.to_owned(), correction.scaled.iter().map(|&name| (name, factor)).collect()));
                }
                continue;
            };
            if self.refuse_unquoted(pattern, &at, inner, correction.scaled) {
                continue;
            }
            self.refuse_unknown(inner, &at.path, correction.scaled.iter().copied(), &[]);
            let given = correction.scaled.iter().filter_map(|&name| Some((name, At::of(inner, name, &at.path)?)));
            let given: Vec<_> = given.collect();
            let given = given.into_iter().filter_map(|(name, at)| Some((name, self.number(&at, FACTOR)?)));
            factors.push((pattern.to_owned(), given.collect()));
        }
        factors
    }

    fn painted(&mut self, at: &At<'_>, correction: &Correction) -> Vec<(&'static str, String)> {
        let expected = "a table of painted maps, such as { torsion = \"soft\" }";
        let Some(table) = self.table(at, expected) else { return Vec::new() };
        self.refuse_unknown(table, &at.path, correction.scaled.iter().copied(), &[]);
        let given: Vec<_> =
            correction.scaled.iter().filter_map(|&name| Some((name, At::of(table, name, &at.path)?))).collect();
        let remedy = "name a painted map or leave the key out";
        let given = given.into_iter();
        given
            .filter_map(|(name, at)| Some((name, self.name(&at, "the name of a painted map in quotes", remedy)?)))
            .collect()
    }

    fn counted_bones(&mut self, at: &At<'_>) -> Vec<(String, Vec<String>)> {
        let expected = "a table of bone names by bone name, such as { \"belly*\" = [\"spine*\"] }";
        let Some(table) = self.table(at, expected) else { return Vec::new() };
        let mut bones = Vec::new();
        for (pattern, _) in table.iter() {
            let Some(at) = At::of(table, pattern, &at.path) else { continue };
            if let Some(inner) = at.item.as_table_like()
                && self.refuse_unquoted(pattern, &at, inner, &[])
            {
                continue;
            }
            bones.push((pattern.to_owned(), self.bone_names(&at)));
        }
        bones
    }

    pub(super) fn bone_names(&mut self, at: &At<'_>) -> Vec<String> {
        let mut names = Vec::new();
        for (offset, path, item) in self.list(at, "a list of bone names, such as [\"spine*\"]") {
            let at = At { item: &item, path, offset };
            names.extend(self.name(&at, "the name of a bone in quotes", "name a bone or remove it"));
        }
        names
    }
}
