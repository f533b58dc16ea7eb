//! `base = { type = "incremental-rotation", … }` → [`IncrementalRotationSpec`], and back.

use super::edit::Literal;
use super::parse::{At, FACTOR, Range, Reader};
use crate::attach::hanging::{AttachBy, DividerEdit, MOST_ROUNDS};
use crate::base::IncrementalRotationSpec;
use glam::DVec3;
use toml_edit::TableLike;

/// Names of the bases that place point by point.
pub(super) const INCREMENTAL_ROTATION: &str = "incremental-rotation";
pub(super) const CENTRES_OF_ROTATION: &str = "centres-of-rotation";
pub(super) const STRETCHABLE_TWISTABLE: &str = "stretchable-twistable";

pub(super) const INCREMENTAL_KEYS: &[&str] =
    &["type", "influence", "keep_distance", "attach", "smoothing", "joints", "dividers"];
const DIVIDER_KEYS: &[&str] = &["turn", "shift"];
const ROUNDS: Range = Range { min: 0.0, max: MOST_ROUNDS as f64, unit: "" };
const DEGREES: Range = Range { min: -90.0, max: 90.0, unit: "°" };
const SHIFT: Range = Range { min: -1.0, max: 1.0, unit: "× bone" };

impl Reader {
    pub(super) fn incremental_rotation(&mut self, table: &dyn TableLike, path: &str) -> IncrementalRotationSpec {
        let default = IncrementalRotationSpec::default();
        let smoothing = At::of(table, "smoothing", path).and_then(|at| self.number(&at, ROUNDS));
        let mut joints = Vec::new();
        if let Some(at) = At::of(table, "joints", path)
            && let Some(inner) = self.table(&at, "a table of influences by bone name, such as { \"elbow*\" = 0.3 }")
        {
            for (pattern, _) in inner.iter() {
                let Some(at) = At::of(inner, pattern, &at.path) else { continue };
                if let Some(deeper) = at.item.as_table_like()
                    && self.refuse_unquoted(pattern, &at, deeper, &[])
                {
                    continue;
                }
                joints.extend(self.number(&at, FACTOR).map(|influence| (pattern.to_owned(), influence)));
            }
        }
        IncrementalRotationSpec {
            influence: At::of(table, "influence", path)
                .and_then(|at| self.number(&at, FACTOR))
                .unwrap_or(default.influence),
            keep_distance: At::of(table, "keep_distance", path)
                .and_then(|at| self.switch(&at))
                .unwrap_or(default.keep_distance),
            attach: At::of(table, "attach", path)
                .and_then(|at| self.word(&at, AttachBy::NAMES))
                .unwrap_or(default.attach),
            // At most nine.
            smoothing: smoothing.map_or(default.smoothing, |rounds| rounds as usize),
            joints,
            dividers: At::of(table, "dividers", path).map_or_else(Vec::new, |at| self.dividers(&at)),
        }
    }

    fn dividers(&mut self, at: &At<'_>) -> Vec<(String, DividerEdit)> {
        let expected = "a table of planes by bone name, such as { \"forearm*\" = { turn = [0, 0, 20], shift = 0.1 } }";
        let Some(table) = self.table(at, expected) else { return Vec::new() };
        let mut dividers = Vec::new();
        for (pattern, _) in table.iter() {
            let Some(at) = At::of(table, pattern, &at.path) else { continue };
            let Some(inner) = self.table(&at, "a table such as { turn = [0, 0, 20] }") else { continue };
            if self.refuse_unquoted(pattern, &at, inner, DIVIDER_KEYS) {
                continue;
            }
            self.refuse_unknown(inner, &at.path, DIVIDER_KEYS.iter().copied(), &[]);
            let turn = At::of(inner, "turn", &at.path)
                .and_then(|at| self.numbers(&at, "degrees about x, y and z, such as [0, 0, 20]", [DEGREES; 3]));
            let shift = At::of(inner, "shift", &at.path).and_then(|at| self.number(&at, SHIFT));
            let edit = DividerEdit { turn_degrees: turn.map_or(DVec3::ZERO, DVec3::from), shift: shift.unwrap_or(0.0) };
            dividers.push((pattern.to_owned(), edit));
        }
        dividers
    }
}

impl From<&IncrementalRotationSpec> for Literal {
    fn from(spec: &IncrementalRotationSpec) -> Self {
        let mut entries = vec![
            ("type", INCREMENTAL_ROTATION.into()),
            ("influence", spec.influence.into()),
            ("keep_distance", spec.keep_distance.into()),
            ("attach", Self::word(spec.attach, AttachBy::NAMES)),
            ("smoothing", Self::raw(spec.smoothing.to_string())),
        ];
        let table = |rows: Vec<(String, Self)>| {
            let rows: Vec<(&str, Self)> = rows.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
            Self::table(&rows)
        };
        let quoted = |name: &str| Self::from(name).text().to_owned();
        if !spec.joints.is_empty() {
            let joint = |(name, influence): &(String, f64)| (quoted(name), (*influence).into());
            entries.push(("joints", table(spec.joints.iter().map(joint).collect())));
        }
        if !spec.dividers.is_empty() {
            let divider = |(name, edit): &(String, DividerEdit)| {
                (quoted(name), Self::table(&[("turn", edit.turn_degrees.into()), ("shift", edit.shift.into())]))
            };
            entries.push(("dividers", table(spec.dividers.iter().map(divider).collect())));
        }
        Self::table(&entries)
    }
}
