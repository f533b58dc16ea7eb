//! One `[[correction]]` section → [`CorrectionSpec`].

use super::CorrectionSpec;
use super::error::{Fault, one_of};
use super::parse::{At, Range, Reader, SECTIONS};
use crate::correct::{CORRECTIONS, Correction};
use crate::param::Values;
use toml_edit::TableLike;

/// Keys of every correction, and those of corrections with maps.
pub(super) const CORRECTION_KEYS: &[&str] = &["type", "gain", "map", "bones"];
/// The one correction with muscles.
const MUSCLES: &str = "muscles";
const PLAIN_KEYS: &[&str] = &["type", "gain"];

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
        let keys = if correction.takes_maps { CORRECTION_KEYS } else { PLAIN_KEYS };
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
        Some(CorrectionSpec { correction, values, gain, map, bones, muscles })
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
