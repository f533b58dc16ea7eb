//! A base as the list has it: self-describing.

use super::Base;
use crate::hierarchy::Hierarchy;
use crate::param::{ParamSpec, Values};
use crate::rig::Rig;
use crate::simd::{LANES, Lanes};
use crate::table::{BoundTables, TableSpec};
use std::fmt;

/// A base, self-describing.
pub struct BaseEntry {
    /// Name in recipes and on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// The parameter that a painted map multiplies, where it takes one.
    pub mapped: Option<&'static str>,
    /// What it is told bone by bone.
    pub tables: &'static [TableSpec],
    pub(crate) bind: fn(&BaseBinding<'_>) -> Base,
}

impl fmt::Debug for BaseEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for BaseEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What a base is bound to.
pub(crate) struct BaseBinding<'a> {
    pub rig: &'a Rig,
    /// The tree that the recipe goes by.
    pub hierarchy: &'a Hierarchy,
    pub values: &'a Values,
    pub painted: Option<&'a [Lanes]>,
    pub tables: &'a BoundTables,
}

impl BaseBinding<'_> {
    /// A parameter times the painted map, per row.
    pub fn painted(&self, param: &str) -> Vec<Lanes> {
        let factor = self.values.number(param) as f32;
        match self.painted {
            None => vec![[factor; LANES]; self.rig.rows().len()],
            Some(map) => map.iter().map(|row| row.map(|value| value * factor)).collect(),
        }
    }
}
