//! Self-describing tables by bone name: what bases, effects and corrections are told bone by bone.
//!
//! A [`TableSpec`] says what a row may hold; recipes are read, written and explained by it. [`Tables`] are the rows
//! that a recipe has, by names; bound to a rig the same rows hold bones and painted values.

use crate::param::{Range, ValueError};
use crate::recipe::KeyCurve;
use crate::simd::Lanes;
use crate::skeleton::BoneId;

/// A table by bone name: `*` and `?` match any, later rows win.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableSpec {
    /// Key in a recipe.
    pub key: &'static str,
    /// What its rows are, in a word or two: a table of *these*.
    pub of: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
    /// Rows as they stand in a recipe.
    pub examples: &'static [&'static str],
    /// What stands under each name.
    pub row: RowKind,
}

/// What stands under a bone name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowKind {
    /// One value.
    One(CellKind),
    /// A table of values, each of which may be left out.
    Cells(&'static [CellSpec]),
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellSpec {
    /// Key in a recipe.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What values it takes.
    pub kind: CellKind,
    /// Whether a number in place of the whole row is this value.
    pub by_itself: bool,
}

/// The values a row takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellKind {
    /// A number.
    Number(Range),
    /// A number, or keys of it over time.
    Keyed(Range),
    /// So many numbers.
    Numbers {
        /// Each of them.
        each: &'static [Range],
        /// What stands where, with an example.
        form: &'static str,
    },
    /// Any number of lists of so many numbers.
    Lists {
        /// Each number of a list.
        each: &'static [Range],
        /// What stands where, with an example.
        form: &'static str,
    },
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of bone names and patterns.
    Bones,
    /// The name of a bone.
    Bone,
    /// The name of a painted map.
    Map,
}

impl CellSpec {
    /// A value that needs its key.
    pub const fn new(name: &'static str, kind: CellKind, about: &'static str) -> Self {
        Self { name, about, kind, by_itself: false }
    }

    /// A number that may stand for the row.
    pub const fn by_itself(name: &'static str, range: Range, about: &'static str) -> Self {
        Self { name, about, kind: CellKind::Number(range), by_itself: true }
    }
}

impl RowKind {
    /// The values of a table; none where a row is one value.
    pub fn cells(&self) -> &'static [CellSpec] {
        match self {
            Self::One(_) => &[],
            Self::Cells(cells) => cells,
        }
    }

    /// What a value of that name takes; a row that is one value has no name.
    fn kind(&self, name: &str) -> Option<CellKind> {
        match self {
            Self::One(kind) => name.is_empty().then_some(*kind),
            Self::Cells(cells) => cells.iter().find(|cell| cell.name == name).map(|cell| cell.kind),
        }
    }
}

/// One value, with bones and maps by their names or looked up.
#[derive(Clone, Debug, PartialEq)]
pub enum CellOf<B, M> {
    /// A number.
    Number(f64),
    /// A number over time.
    Keyed(KeyCurve),
    /// So many numbers.
    Numbers(Vec<f64>),
    /// Lists of so many numbers.
    Lists(Vec<Vec<f64>>),
    /// A word.
    Word(&'static str),
    /// Bones.
    Bones(B),
    /// A painted map.
    Map(M),
}

/// One value as a recipe has it.
pub type Cell = CellOf<Vec<String>, String>;

impl CellKind {
    /// Whether the value is one of these.
    fn check(self, cell: &Cell) -> Result<(), ValueError> {
        let number = |range: Range, value: f64| {
            let Range { min, max, .. } = range;
            if range.holds(value) { Ok(()) } else { Err(ValueError::OutOfRange { min, max }) }
        };
        let numbers = |ranges: &[Range], values: &[f64]| {
            if ranges.len() != values.len() {
                return Err(ValueError::WrongKind);
            }
            ranges.iter().zip(values).try_for_each(|(&range, &value)| number(range, value))
        };
        match (self, cell) {
            (Self::Number(range) | Self::Keyed(range), &Cell::Number(value)) => number(range, value),
            (Self::Keyed(range), Cell::Keyed(curve)) => curve.keys().iter().try_for_each(|key| number(range, key.1)),
            (Self::Numbers { each, .. }, Cell::Numbers(values)) => numbers(each, values),
            (Self::Lists { each, .. }, Cell::Lists(lists)) => lists.iter().try_for_each(|list| numbers(each, list)),
            (Self::Word(words), Cell::Word(word)) if words.contains(word) => Ok(()),
            (Self::Word(_), Cell::Word(_)) => Err(ValueError::Unknown),
            (Self::Bones, Cell::Bones(_)) | (Self::Map, Cell::Map(_)) => Ok(()),
            (Self::Bone, Cell::Bones(names)) if names.len() == 1 => Ok(()),
            _ => Err(ValueError::WrongKind),
        }
    }
}

/// The values of one row by name; a row that is one value has it under the empty name.
#[derive(Clone, Debug, PartialEq)]
pub struct RowOf<B, M>(pub(crate) Vec<(&'static str, CellOf<B, M>)>);

/// A row as a recipe has it.
pub type Row = RowOf<Vec<String>, String>;

impl<B, M> Default for RowOf<B, M> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<B, M> RowOf<B, M> {
    /// A row that is one value.
    pub fn one(cell: CellOf<B, M>) -> Self {
        Self(vec![("", cell)])
    }

    /// A row of values by name.
    pub fn of(cells: impl IntoIterator<Item = (&'static str, CellOf<B, M>)>) -> Self {
        Self(cells.into_iter().collect())
    }

    /// The values that are given.
    pub fn cells(&self) -> &[(&'static str, CellOf<B, M>)] {
        &self.0
    }

    fn get(&self, name: &str) -> Option<&CellOf<B, M>> {
        self.0.iter().find(|cell| cell.0 == name).map(|cell| &cell.1)
    }

    /// A number, where given.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            CellOf::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// A number over time, where given as such.
    pub fn curve(&self, name: &str) -> Option<&KeyCurve> {
        match self.get(name)? {
            CellOf::Keyed(curve) => Some(curve),
            _ => None,
        }
    }

    /// So many numbers, where given.
    pub fn numbers<const N: usize>(&self, name: &str) -> Option<[f64; N]> {
        match self.get(name)? {
            CellOf::Numbers(values) => values.as_slice().try_into().ok(),
            _ => None,
        }
    }

    /// Lists of so many numbers.
    pub fn lists<const N: usize>(&self, name: &str) -> Vec<[f64; N]> {
        match self.get(name) {
            Some(CellOf::Lists(lists)) => lists.iter().filter_map(|list| list.as_slice().try_into().ok()).collect(),
            _ => Vec::new(),
        }
    }

    /// A word, where given.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        match self.get(name)? {
            CellOf::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Bones, where given.
    pub fn bones(&self, name: &str) -> Option<&B> {
        match self.get(name)? {
            CellOf::Bones(bones) => Some(bones),
            _ => None,
        }
    }

    /// A painted map, where given.
    pub fn map(&self, name: &str) -> Option<&M> {
        match self.get(name)? {
            CellOf::Map(map) => Some(map),
            _ => None,
        }
    }
}

/// Rows for a list of tables, all of their kinds and in range.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    specs: &'static [TableSpec],
    rows: Vec<Vec<(String, Row)>>,
}

impl Tables {
    /// No rows.
    pub fn none(specs: &'static [TableSpec]) -> Self {
        Self { specs, rows: vec![Vec::new(); specs.len()] }
    }

    /// The tables.
    pub fn specs(&self) -> &'static [TableSpec] {
        self.specs
    }

    /// Adds a row after all others of its table, under a bone name or pattern.
    pub fn add(&mut self, key: &str, pattern: &str, row: Row) -> Result<(), ValueError> {
        let index = self.specs.iter().position(|spec| spec.key == key).ok_or(ValueError::Unknown)?;
        let kind = self.specs[index].row;
        for (name, cell) in &row.0 {
            kind.kind(name).ok_or(ValueError::Unknown)?.check(cell)?;
        }
        if matches!(kind, RowKind::One(_)) && row.0.len() != 1 {
            return Err(ValueError::WrongKind);
        }
        self.rows[index].push((pattern.to_owned(), row));
        Ok(())
    }

    /// The rows of a table by pattern; none for a table that is not of the list.
    pub fn rows(&self, key: &str) -> &[(String, Row)] {
        self.specs.iter().position(|spec| spec.key == key).map_or(&[], |index| &self.rows[index])
    }

    /// Whether a row names that painted map.
    pub(crate) fn reads(&self, map: &str) -> bool {
        let mut cells = self.rows.iter().flatten().flat_map(|(_, row)| row.cells());
        cells.any(|(_, cell)| matches!(cell, Cell::Map(own) if own == map))
    }

    /// Whether nothing but single numbers differs.
    pub(crate) fn same_but_for_numbers(&self, other: &Self) -> bool {
        let same_cell = |(a, b): (&(&str, Cell), &(&str, Cell))| {
            a.0 == b.0 && (matches!((&a.1, &b.1), (Cell::Number(_), Cell::Number(_))) || a.1 == b.1)
        };
        let same_row = |(a, b): (&(String, Row), &(String, Row))| {
            let (cells, others) = (a.1.cells(), b.1.cells());
            a.0 == b.0 && cells.len() == others.len() && cells.iter().zip(others).all(same_cell)
        };
        let mut tables = self.rows.iter().zip(&other.rows);
        self.specs == other.specs && tables.all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(same_row))
    }

    /// Every table with its rows.
    pub fn iter(&self) -> impl Iterator<Item = (&'static TableSpec, &[(String, Row)])> {
        self.specs.iter().zip(&self.rows).map(|(spec, rows)| (spec, rows.as_slice()))
    }
}

/// A row with its names looked up.
pub(crate) type BoundRow = RowOf<Vec<BoneId>, Vec<Lanes>>;

/// Tables with their names looked up: rows by the bones they are for.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundTables(pub Vec<(&'static str, BoundRows)>);

/// The rows of one table.
type BoundRows = Vec<(Vec<BoneId>, BoundRow)>;

impl BoundTables {
    pub fn rows(&self, key: &str) -> &[(Vec<BoneId>, BoundRow)] {
        self.0.iter().find(|table| table.0 == key).map_or(&[], |table| &table.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Range = Range { min: 0.0, max: 1.0, unit: "" };
    const SPECS: &[TableSpec] = &[
        TableSpec { key: "joints", of: "shares", about: "", examples: &[], row: RowKind::One(CellKind::Number(SHARE)) },
        TableSpec {
            key: "limbs",
            of: "limbs",
            about: "",
            examples: &[],
            row: RowKind::Cells(&[
                CellSpec::by_itself("share", SHARE, ""),
                CellSpec::new("turn", CellKind::Numbers { each: &[SHARE; 2], form: "" }, ""),
                CellSpec::new("form", CellKind::Word(&["round"]), ""),
                CellSpec::new("swell", CellKind::Keyed(SHARE), ""),
            ]),
        },
    ];

    #[test]
    fn tables_hold_nothing_else_than_they_say() {
        let mut tables = Tables::none(SPECS);
        assert_eq!(tables.add("joints", "a*", Row::one(Cell::Number(0.5))), Ok(()));
        assert_eq!(tables.rows("joints")[0].1.number(""), Some(0.5));
        let out = Err(ValueError::OutOfRange { min: 0.0, max: 1.0 });
        let keyed = |keys: &[(f64, f64)]| Cell::Keyed(KeyCurve::new(keys.to_vec()).unwrap());
        for (key, row, expected) in [
            ("joints", Row::one(Cell::Number(1.5)), out),
            ("joints", Row::one(Cell::Number(f64::NAN)), out),
            ("joints", Row::default(), Err(ValueError::WrongKind)),
            ("joints", Row::of([("share", Cell::Number(0.5))]), Err(ValueError::Unknown)),
            ("knees", Row::default(), Err(ValueError::Unknown)),
            ("limbs", Row::default(), Ok(())),
            ("limbs", Row::of([("turn", Cell::Numbers(vec![0.0]))]), Err(ValueError::WrongKind)),
            ("limbs", Row::of([("turn", Cell::Numbers(vec![0.0, 2.0]))]), out),
            ("limbs", Row::of([("turn", Cell::Word("round"))]), Err(ValueError::WrongKind)),
            ("limbs", Row::of([("form", Cell::Word("square"))]), Err(ValueError::Unknown)),
            ("limbs", Row::of([("form", Cell::Word("round"))]), Ok(())),
            ("limbs", Row::of([("swell", Cell::Number(1.0))]), Ok(())),
            ("limbs", Row::of([("swell", Cell::Number(2.0))]), out),
            ("limbs", Row::of([("swell", keyed(&[(0.0, 0.0), (1.0, 1.0)]))]), Ok(())),
            ("limbs", Row::of([("swell", keyed(&[(0.0, 0.0), (1.0, 2.0)]))]), out),
            ("limbs", Row::of([("share", keyed(&[(0.0, 0.0)]))]), Err(ValueError::WrongKind)),
        ] {
            assert_eq!(tables.add(key, "b", row.clone()), expected, "{key}: {row:?}");
        }
        assert_eq!((tables.rows("joints").len(), tables.rows("limbs").len()), (1, 4));
    }
}
