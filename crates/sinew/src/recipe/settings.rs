//! What the entries of bases and corrections describe alike, read and written: parameters, painted maps, tables by bone.

use super::edit::Literal;
use super::error::{Fault, one_of};
use super::parse::{At, Reader};
use super::splice::dotted;
use super::{BaseSpec, CorrectionSpec};
use crate::base::{BASES, BaseEntry};
use crate::correct::Correction;
use crate::param::{ParamKind, ParamSpec, Range, Values};
use crate::table::{TableSpec, Tables};
use toml_edit::TableLike;

/// What an entry takes.
#[derive(Clone, Copy)]
pub(super) struct Schema {
    pub params: &'static [ParamSpec],
    pub mapped: Option<&'static str>,
    pub tables: &'static [TableSpec],
    pub scaled: &'static [&'static str],
}

/// The key of the map that multiplies [`Schema::mapped`], and that of maps on [`Schema::scaled`].
pub(super) const MAP: &str = "map";
pub(super) const MAPS: &str = "maps";

impl From<&BaseEntry> for Schema {
    fn from(base: &BaseEntry) -> Self {
        Self { params: base.params, mapped: base.mapped, tables: base.tables, scaled: &[] }
    }
}

impl From<&Correction> for Schema {
    fn from(correction: &Correction) -> Self {
        let Correction { params, mapped, tables, scaled, .. } = *correction;
        Self { params, mapped, tables, scaled }
    }
}

impl Schema {
    /// The keys beside the parameters.
    pub fn keys(self) -> impl Iterator<Item = &'static str> + Clone {
        let maps = self.mapped.map(|_| MAP).into_iter();
        maps.chain(self.tables.iter().map(|table| table.key)).chain((!self.scaled.is_empty()).then_some(MAPS))
    }
}

/// What a section says.
pub(super) struct Settings {
    pub values: Values,
    pub map: Option<String>,
    pub tables: Tables,
    pub painted: Vec<(&'static str, String)>,
}

impl Reader {
    /// Reads what an entry describes; unknown keys have been refused.
    pub(super) fn settings(&mut self, table: &dyn TableLike, path: &str, schema: Schema) -> Settings {
        let mut values = Values::defaults(schema.params);
        for spec in schema.params {
            if let Some(value) = At::of(table, spec.name, path).and_then(|at| self.param(&at, spec)) {
                let taken = values.set(spec.name, value);
                debug_assert!(taken.is_ok(), "the range was checked above");
            }
        }
        let map = schema.mapped.and_then(|_| At::of(table, MAP, path)).and_then(|at| self.map_name(&at));
        let mut tables = Tables::none(schema.tables);
        for spec in schema.tables {
            let rows = At::of(table, spec.key, path).map_or_else(Vec::new, |at| self.rows(&at, spec));
            for (pattern, row) in rows {
                let taken = tables.add(spec.key, &pattern, row);
                debug_assert!(taken.is_ok(), "the row was checked above");
            }
        }
        let painted = At::of(table, MAPS, path).filter(|_| !schema.scaled.is_empty());
        let painted = painted.map_or_else(Vec::new, |at| self.painted(&at, schema.scaled));
        Settings { values, map, tables, painted }
    }

    fn painted(&mut self, at: &At<'_>, scaled: &[&'static str]) -> Vec<(&'static str, String)> {
        let name = scaled.first().copied().unwrap_or_default();
        let expected = format!("a table of painted maps, such as {{ {name} = \"soft\" }}");
        let Some(table) = self.table(at, &expected) else { return Vec::new() };
        self.refuse_unknown(table, &at.path, scaled.iter().copied(), None);
        let mut painted = Vec::new();
        for &name in scaled {
            let map = At::of(table, name, &at.path).and_then(|at| self.map_name(&at));
            painted.extend(map.map(|map| (name, map)));
        }
        painted
    }

    /// The value of a parameter that is not keyed.
    pub(super) fn param(&mut self, at: &At<'_>, spec: &ParamSpec) -> Option<f64> {
        if spec.word_for_zero.is_some() && at.item.as_str() == spec.word_for_zero {
            return Some(0.0);
        }
        match spec.kind {
            ParamKind::Number { unit, min, max, .. } => self.number(at, Range { min, max, unit }),
            ParamKind::Switch { .. } => self.switch(at).map(|on| f64::from(u8::from(on))),
            ParamKind::Choice { words } => {
                let words: Vec<_> = words.iter().enumerate().map(|(index, &word)| (word, index as f64)).collect();
                self.word(at, &words)
            }
        }
    }

    /// The entry that a section names, of those there are.
    pub(super) fn entry<T: Copy>(
        &mut self,
        table: &dyn TableLike,
        (offset, path): (usize, &str),
        what: &'static str,
        entries: &[(&str, T)],
    ) -> Option<T> {
        if let Some(at) = At::of(table, "type", path) {
            return self.word(&at, entries);
        }
        let quoted: Vec<String> = entries.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let add = format!("type = {}", one_of(quoted.iter().map(String::as_str)));
        self.fault(offset, path, Fault::Missing { what, add });
        None
    }

    pub(super) fn base(&mut self, at: &At<'_>) -> BaseSpec {
        let entries: Vec<(&str, &'static BaseEntry)> = BASES.iter().map(|base| (base.name, base)).collect();
        let Some(table) = at.item.as_table_like() else {
            return self.word(at, &entries).map_or_else(BaseSpec::default, BaseSpec::of);
        };
        let place = (at.value_offset(), at.path.as_str());
        let Some(base) = self.entry(table, place, "the type of base", &entries) else { return BaseSpec::default() };
        let schema = Schema::from(base);
        let valid = std::iter::once("type").chain(schema.params.iter().map(|spec| spec.name)).chain(schema.keys());
        self.refuse_unknown(table, &at.path, valid, None);
        let Settings { values, map, tables, .. } = self.settings(table, &at.path, schema);
        BaseSpec { base, values, map, tables }
    }
}

impl From<&BaseSpec> for Literal {
    fn from(spec: &BaseSpec) -> Self {
        let mut entries = vec![("type".to_owned(), spec.base.name.into())];
        add_params(&mut entries, &spec.values, spec.base.mapped.zip(spec.map.as_deref()));
        add_tables(&mut entries, &spec.tables);
        if entries.len() == 1 {
            return spec.base.name.into();
        }
        let entries: Vec<(&str, Self)> = entries.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        Self::table(&entries)
    }
}

/// The lines of a correction that differ from the defaults, beside those that all share.
pub(super) fn correction_settings(spec: &CorrectionSpec, entries: &mut Vec<(String, Literal)>) {
    add_params(entries, &spec.values, spec.correction.mapped.zip(spec.map.as_deref()));
    add_tables(entries, &spec.tables);
    entries.extend(spec.painted.iter().map(|(param, map)| (dotted(&[MAPS, param]), map.as_str().into())));
}

/// Parameters that differ from their defaults, and the map behind what it multiplies.
fn add_params(entries: &mut Vec<(String, Literal)>, values: &Values, map: Option<(&str, &str)>) {
    let own = map.filter(|(mapped, _)| values.specs().iter().any(|spec| spec.name == *mapped));
    // What is no parameter, such as the gain, stands before them all.
    entries.extend(map.filter(|_| own.is_none()).map(|(_, map)| (MAP.to_owned(), map.into())));
    for spec in values.specs() {
        if values.number(spec.name) != spec.default() {
            entries.push((spec.name.to_owned(), Literal::param(values, spec)));
        }
        entries.extend(own.filter(|(mapped, _)| *mapped == spec.name).map(|(_, map)| (MAP.to_owned(), map.into())));
    }
}

fn add_tables(entries: &mut Vec<(String, Literal)>, tables: &Tables) {
    for (spec, rows) in tables.iter() {
        let row = |(pattern, row): &(String, _)| (dotted(&[spec.key, pattern]), Literal::row(row, &spec.row));
        entries.extend(rows.iter().map(row));
    }
}
