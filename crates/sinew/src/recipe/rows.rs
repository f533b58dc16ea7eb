//! Tables by bone name, read and written as their [`TableSpec`] says.

use super::edit::Literal;
use super::effect::Setting;
use super::parse::{At, Reader};
use crate::param::Range;
use crate::table::{Cell, CellKind, CellSpec, Row, RowKind, TableSpec};
use toml_edit::TableLike;

impl Reader {
    pub(super) fn rows(&mut self, at: &At<'_>, spec: &TableSpec) -> Vec<(String, Row)> {
        let example = spec.examples.first().copied().unwrap_or_default();
        let expected = format!("a table of {} by bone name, such as {{ {example} }}", spec.of);
        let Some(table) = self.table(at, &expected) else { return Vec::new() };
        let mut rows = Vec::new();
        for (pattern, _) in table.iter() {
            let Some(at) = At::of(table, pattern, &at.path) else { continue };
            rows.extend(self.row(pattern, &at, spec).map(|row| (pattern.to_owned(), row)));
        }
        rows
    }

    fn row(&mut self, pattern: &str, at: &At<'_>, spec: &TableSpec) -> Option<Row> {
        let cells = spec.row.cells();
        let names: Vec<&str> = cells.iter().map(|cell| cell.name).collect();
        let inner = at.item.as_table_like();
        if inner.is_some_and(|inner| self.refuse_unquoted(pattern, at, inner, &names)) {
            return None;
        }
        if let RowKind::One(kind) = spec.row {
            return self.cell(at, kind).map(Row::one);
        }
        if let Some(inner) = inner {
            self.refuse_unknown(inner, &at.path, names.iter().copied(), None);
            return Some(self.cells(inner, &at.path, cells));
        }
        let by_itself: Vec<&CellSpec> = cells.iter().filter(|cell| cell.by_itself).collect();
        let Some(&CellSpec { kind: CellKind::Number(range), .. }) = by_itself.first().copied() else {
            let example = spec.examples.iter().find_map(|row| row.split_once(" = ")).map_or("", |row| row.1);
            self.wrong_type(at, format!("a table such as {example}"));
            return None;
        };
        let value = self.number(at, range)?;
        Some(Row::of(by_itself.into_iter().map(|cell| (cell.name, Cell::Number(value)))))
    }

    fn cells(&mut self, table: &dyn TableLike, path: &str, cells: &'static [CellSpec]) -> Row {
        let mut row = Vec::new();
        for spec in cells {
            let Some(at) = At::of(table, spec.name, path) else { continue };
            row.extend(self.cell(&at, spec.kind).map(|cell| (spec.name, cell)));
        }
        Row::of(row)
    }

    fn cell(&mut self, at: &At<'_>, kind: CellKind) -> Option<Cell> {
        match kind {
            CellKind::Number(range) => self.number(at, range).map(Cell::Number),
            CellKind::Keyed(range) => self.setting(at, range, true).map(|setting| match setting {
                Setting::Constant(value) => Cell::Number(value),
                Setting::Keyed(curve) => Cell::Keyed(curve),
            }),
            CellKind::Numbers { each, form } => self.list_of(at, form, each).map(Cell::Numbers),
            CellKind::Lists { each, form } => {
                let mut lists = Vec::new();
                for (offset, path, item) in self.list(at, form) {
                    lists.extend(self.list_of(&At { item: &item, path, offset }, form, each));
                }
                Some(Cell::Lists(lists))
            }
            CellKind::Word(words) => {
                let words: Vec<(&str, &'static str)> = words.iter().map(|&word| (word, word)).collect();
                self.word(at, &words).map(Cell::Word)
            }
            CellKind::Bones => Some(Cell::Bones(self.bone_names(at))),
            CellKind::Bone => {
                let name = self.name(at, "the name of a bone in quotes", "name a bone or leave the key out");
                name.map(|name| Cell::Bones(vec![name]))
            }
            CellKind::Map => self.map_name(at).map(Cell::Map),
        }
    }

    /// A list of so many numbers, each with its range.
    pub(super) fn list_of(&mut self, at: &At<'_>, expected: &str, ranges: &[Range]) -> Option<Vec<f64>> {
        if at.item.as_array().is_none_or(|list| list.len() != ranges.len()) {
            self.wrong_type(at, expected);
            return None;
        }
        let mut numbers = Vec::with_capacity(ranges.len());
        for ((offset, path, item), &range) in self.list(at, expected).into_iter().zip(ranges) {
            numbers.extend(self.number(&At { item: &item, path, offset }, range));
        }
        (numbers.len() == ranges.len()).then_some(numbers)
    }

    fn bone_names(&mut self, at: &At<'_>) -> Vec<String> {
        let mut names = Vec::new();
        for (offset, path, item) in self.list(at, "a list of bone names, such as [\"spine*\"]") {
            let at = At { item: &item, path, offset };
            names.extend(self.name(&at, "the name of a bone in quotes", "name a bone or remove it"));
        }
        names
    }
}

impl Literal {
    /// A row as short as its table can say it.
    pub(super) fn row(row: &Row, kind: &RowKind) -> Self {
        let by_itself = kind.cells().iter().filter(|cell| cell.by_itself);
        let whole: Vec<Option<f64>> = by_itself.map(|cell| row.number(cell.name)).collect();
        match whole.first() {
            Some(&Some(value)) if row.cells().len() == whole.len() && whole.iter().all(|v| *v == Some(value)) => {
                value.into()
            }
            _ => row.into(),
        }
    }
}

impl From<&Row> for Literal {
    fn from(row: &Row) -> Self {
        match row.cells() {
            [("", cell)] => cell.into(),
            cells => {
                let cells: Vec<(&str, Self)> = cells.iter().map(|(key, cell)| (*key, cell.into())).collect();
                Self::table(&cells)
            }
        }
    }
}

impl From<&Cell> for Literal {
    fn from(cell: &Cell) -> Self {
        match cell {
            Cell::Number(value) => (*value).into(),
            Cell::Keyed(curve) => Self::list(curve.keys().iter().map(|&(time, value)| Self::from(&[time, value][..]))),
            Cell::Numbers(values) => values.as_slice().into(),
            Cell::Lists(lists) => Self::list(lists.iter().map(|list| Self::from(list.as_slice()))),
            Cell::Word(word) => (*word).into(),
            Cell::Bones(names) => Self::list(names.iter().map(|name| name.as_str().into())),
            Cell::Map(name) => name.as_str().into(),
        }
    }
}
