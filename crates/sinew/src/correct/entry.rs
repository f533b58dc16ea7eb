//! A correction as the list has it, self-describing; and one as a recipe asks for it.

use super::bound::{Binding, Bound};
use crate::motion::FilteredSignal;
use crate::param::{ParamSpec, Values};
use crate::simd::Lanes;
use crate::skeleton::BoneId;
use crate::table::{BoundTables, CellKind, RowKind, TableSpec, Tables};
use std::fmt;

/// A correction, self-describing.
pub struct Correction {
    /// Name in recipes.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Its parameters, beside the `gain` that all have.
    pub params: &'static [ParamSpec],
    /// What a painted map multiplies, where it takes one.
    pub mapped: Option<&'static str>,
    /// What it is told bone by bone.
    pub tables: &'static [TableSpec],
    /// Parameters that painted maps of their own may multiply.
    pub scaled: &'static [&'static str],
    /// Signals of the motion that it reads, for its parameters and tables.
    pub(crate) signals: fn(&Values, &Tables) -> Vec<FilteredSignal>,
    pub(super) bind: fn(&Binding<'_>) -> Box<dyn Bound>,
}

impl fmt::Debug for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Correction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// For a correction that reads the pose alone.
pub(super) fn no_signals(_: &Values, _: &Tables) -> Vec<FilteredSignal> {
    Vec::new()
}

/// The table `bones`: bones by bone.
pub(super) const fn bones(about: &'static str) -> TableSpec {
    TableSpec {
        key: BONES,
        of: "bone names",
        about,
        examples: &["\"belly*\" = [\"spine*\"]"],
        row: RowKind::One(CellKind::Bones),
    }
}

pub(crate) const BONES: &str = "bones";

/// One correction as a recipe asks for it, with its names looked up. Holds nothing but numbers where the recipe names no
/// bones.
pub(crate) struct CorrectionRequest<'a> {
    pub correction: &'static Correction,
    pub values: &'a Values,
    pub gain: f64,
    pub painted: Option<&'a [Lanes]>,
    /// The table [`BONES`]; later entries win.
    pub distances: Vec<(Vec<BoneId>, Vec<BoneId>)>,
    pub tables: BoundTables,
    /// Where its signals stand among the filtered ones.
    pub signals: Vec<usize>,
    /// Parameters and painted factors on them.
    pub painted_factors: Vec<(&'static str, &'a [Lanes])>,
}
