//! Keys that all sections of a kind take, self-describing: reading, writing, the template and the command's help run
//! over these lists.

use super::edit::Literal;
use super::parse::{At, Reader};
use crate::param::ParamKind;
use crate::table::{CellSpec, TableSpec};
use toml_edit::TableLike;

/// A key of every section of its kind, of which `S` is what is read.
pub struct SharedKey<S: 'static> {
    /// The key.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it takes.
    pub kind: KeyKind,
    /// Whether it is listed and written behind the parameters.
    pub(super) behind: bool,
    pub(super) applies: fn(&S) -> bool,
    pub(super) read: fn(&mut Reader, &Given<'_>, &mut S),
    /// What differs from the default.
    pub(super) write: fn(&S) -> Vec<(String, Literal)>,
}

/// What such a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyKind {
    /// What a parameter takes.
    Param(ParamKind),
    /// The name of a painted map.
    Map,
    /// A list of roles, bones or meshes.
    Names {
        /// As it stands in a recipe.
        example: &'static str,
    },
    /// A share, as a number or in percent.
    Share {
        /// As it stands in a recipe.
        example: &'static str,
    },
    /// A table of its own.
    Cells {
        /// What stands in it.
        cells: &'static [CellSpec],
        /// As it stands in a recipe.
        example: &'static str,
    },
    /// A table by bone name.
    Table(&'static TableSpec),
}

/// A key where it is given.
pub(super) struct Given<'a> {
    /// What it stands in.
    pub section: &'a dyn TableLike,
    pub at: At<'a>,
}

impl<S> SharedKey<S> {
    /// Whether it means anything for what the section asks for.
    pub fn applies_to(&self, spec: &S) -> bool {
        (self.applies)(spec)
    }
}

/// Reads those of the keys that are given, in the order of the list.
pub(super) fn read_shared<S>(
    reader: &mut Reader,
    keys: &[SharedKey<S>],
    (section, path): (&dyn TableLike, &str),
    spec: &mut S,
) {
    for key in keys {
        if let Some(at) = At::of(section, key.name, path) {
            (key.read)(reader, &Given { section, at }, spec);
        }
    }
}

/// Those before the parameters, or those behind.
pub(super) fn write_shared<S>(keys: &[SharedKey<S>], behind: bool, spec: &S, entries: &mut Vec<(String, Literal)>) {
    keys.iter().filter(|key| key.behind == behind).for_each(|key| entries.extend((key.write)(spec)));
}

/// One entry where it differs from the default.
pub(super) fn entry_if(differs: bool, key: &str, value: impl Into<Literal>) -> Vec<(String, Literal)> {
    if differs { vec![(key.to_owned(), value.into())] } else { Vec::new() }
}
