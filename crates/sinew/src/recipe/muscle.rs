//! `[correction.muscles]` → [`MuscleSpec`]s by bone, and back.

use super::edit::Literal;
use super::fold_over_free::{CAPSULE, ELLIPSOID};
use super::parse::{At, Reader};
use crate::correct::{FittedShape, MuscleShape, MuscleSpec};
use toml_edit::TableLike;

const KEYS: &[&str] = &["flexed_by", "map", "shape", "ellipsoid", "capsule"];

impl Reader {
    pub(super) fn muscles(&mut self, at: &At<'_>) -> Vec<(String, MuscleSpec)> {
        let expected = "a table of muscles by bone name, such as { \"belly*\" = { map = \"belly\" } }";
        let Some(table) = self.table(at, expected) else { return Vec::new() };
        let mut muscles = Vec::new();
        for (pattern, _) in table.iter() {
            let Some(at) = At::of(table, pattern, &at.path) else { continue };
            let Some(inner) = self.table(&at, "a table such as { flexed_by = [\"forearm\"] }") else { continue };
            if !self.refuse_unquoted(pattern, &at, inner, KEYS) {
                muscles.push((pattern.to_owned(), self.muscle(inner, &at.path)));
            }
        }
        muscles
    }

    fn muscle(&mut self, table: &dyn TableLike, path: &str) -> MuscleSpec {
        self.refuse_unknown(table, path, KEYS.iter().copied(), &[]);
        let flexed_by = At::of(table, "flexed_by", path).map_or_else(Vec::new, |at| self.bone_names(&at));
        let mut shape = At::of(table, "shape", path).and_then(|at| self.word(&at, FittedShape::WORDS));
        let mut shape = shape.take().map(MuscleShape::Fitted);
        if let Some(at) = At::of(table, "ellipsoid", path) {
            let expected = "an ellipsoid in the bone's frame, such as [0.0, 0.1, 0.0, 0.05, 0.1, 0.05]: centre, radii";
            shape = self.numbers(&at, expected, ELLIPSOID).map(MuscleShape::Ellipsoid).or(shape);
        }
        if let Some(at) = At::of(table, "capsule", path) {
            let expected = "a capsule in the bone's frame, such as [0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.03]: ends, radius";
            shape = self.numbers(&at, expected, CAPSULE).map(MuscleShape::Capsule).or(shape);
        }
        MuscleSpec { flexed_by, shape, map: self.map(table, path) }
    }
}

impl From<&MuscleSpec> for Literal {
    fn from(muscle: &MuscleSpec) -> Self {
        let mut entries = Vec::new();
        if !muscle.flexed_by.is_empty() {
            let names: Vec<&str> = muscle.flexed_by.iter().map(String::as_str).collect();
            entries.push(("flexed_by", names.as_slice().into()));
        }
        entries.extend(muscle.map.as_deref().map(|map| ("map", map.into())));
        entries.extend(muscle.shape.as_ref().map(|shape| match shape {
            MuscleShape::Fitted(kind) => ("shape", Self::word(*kind, FittedShape::WORDS)),
            MuscleShape::Ellipsoid(numbers) => ("ellipsoid", Self::numbers(numbers)),
            MuscleShape::Capsule(numbers) => ("capsule", Self::numbers(numbers)),
        }));
        Self::table(&entries)
    }
}
