//! One `[[correction]]` section → [`CorrectionSpec`], and back.

use super::CorrectionSpec;
use super::edit::Literal;
use super::parse::{Reader, Section};
use super::settings::{Schema, Settings, correction_settings};
use super::shared::{KeyKind, SharedKey, entry_if, read_shared, write_shared};
use crate::correct::{CORRECTIONS, Correction};
use crate::param::{ParamKind, Range};
use toml_edit::TableLike;

const SHARE: Range = Range { min: 0.0, max: 1.0, unit: "" };

/// Keys of every correction.
pub static CORRECTION_KEYS: &[SharedKey<CorrectionSpec>] = &[SharedKey {
    name: "gain",
    about: "how much of it is applied; 0 is off",
    kind: KeyKind::Param(ParamKind::Number { unit: SHARE.unit, min: SHARE.min, max: SHARE.max, default: 1.0 }),
    behind: false,
    applies: |_| true,
    read: |reader, given, spec| spec.gain = reader.number(&given.at, SHARE).unwrap_or(spec.gain),
    write: |spec| entry_if(spec.gain != 1.0, "gain", spec.gain),
}];

impl Reader {
    pub(super) fn correction(&mut self, table: &dyn TableLike, offset: usize, path: &str) -> Option<CorrectionSpec> {
        let entries: Vec<(&str, &'static Correction)> = CORRECTIONS.iter().map(|entry| (entry.name, entry)).collect();
        let correction = self.entry(table, (offset, path), "the type of correction", &entries)?;
        let schema = Schema::from(correction);
        let shared = CORRECTION_KEYS.iter().map(|key| key.name);
        let params = schema.params.iter().map(|spec| spec.name);
        let valid = std::iter::once("type").chain(shared).chain(schema.keys()).chain(params);
        self.refuse_unknown(table, path, valid, Some(Section::Correction));
        let Settings { values, map, tables, painted } = self.settings(table, path, schema);
        let mut spec = CorrectionSpec { correction, values, gain: 1.0, map, tables, painted };
        read_shared(self, CORRECTION_KEYS, (table, path), &mut spec);
        Some(spec)
    }
}

/// The lines of a correction that differ from the defaults.
pub(super) fn correction_entries(spec: &CorrectionSpec) -> Vec<(String, Literal)> {
    let mut entries = vec![("type".to_owned(), Literal::from(spec.correction.name))];
    write_shared(CORRECTION_KEYS, false, spec, &mut entries);
    correction_settings(spec, &mut entries);
    write_shared(CORRECTION_KEYS, true, spec, &mut entries);
    entries
}
