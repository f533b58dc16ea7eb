//! One `[[edit]]` section → [`EditSpec`], and back.

use super::edit::Literal;
use super::effect::{COORDINATE, Setting};
use super::error::{Fault, one_of};
use super::parse::{At, Reader, Section, TIME};
use super::{Drive, EditShape, EditSpec, KeyCurve};
use crate::correct::surface_edit::Profile;
use crate::param::Range;
use glam::DVec3;
use toml_edit::{Item, TableLike, Value};

const TYPES: &[(&str, usize)] = &[("shape", 0), ("radial", 1), ("wave", 2)];
/// Keys of every edit, then those of each type.
pub(super) const EDIT_KEYS: &[&str] = &["type", "amount", "stiffness", "drive", "bones", "map"];
const OWN_KEYS: [&[&str]; 3] = [&["shape"], &["profile"], &["along", "reach", "crests", "frequency"]];
pub(super) const DRIVES: &[(&str, Drive)] = &[("direct", Drive::Direct), ("springs", Drive::Springs)];

pub(super) const AMOUNT: Range = Range { min: -10.0, max: 10.0, unit: "" };
pub(super) const STIFFNESS: Range = Range { min: 0.0, max: 1e6, unit: "" };
pub(super) const REACH: Range = Range { min: 1e-6, max: 10.0, unit: "× size" };
pub(super) const CRESTS: Range = Range { min: 0.0, max: 1e3, unit: "" };
pub(super) const FREQUENCY: Range = Range { min: -100.0, max: 100.0, unit: "1/s" };

impl Reader {
    pub(super) fn surface_edit(&mut self, table: &dyn TableLike, offset: usize, path: &str) -> Option<EditSpec> {
        let Some(at) = At::of(table, "type", path) else {
            let quoted: Vec<String> = TYPES.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            let add = format!("type = {}", one_of(quoted.iter().map(String::as_str)));
            self.fault(offset, path, Fault::Missing { what: "the type of edit", add });
            return None;
        };
        let kind = self.word(&at, TYPES)?;
        let valid = EDIT_KEYS.iter().chain(OWN_KEYS[kind]).copied();
        self.refuse_unknown(table, path, valid, Some(Section::Edit));
        let number = |reader: &mut Self, key: &str, range: Range| {
            At::of(table, key, path).and_then(|at| reader.number(&at, range))
        };
        let shape = match kind {
            0 => EditShape::Shape(self.shapes(table, offset, path)?),
            1 => {
                let profile = At::of(table, "profile", path).and_then(|at| self.word(&at, Profile::NAMES));
                EditShape::Radial(profile.unwrap_or(Profile::Bulge))
            }
            _ => EditShape::Wave {
                along: self.along(table, offset, path)?,
                reach: number(self, "reach", REACH).unwrap_or(0.1),
                crests: number(self, "crests", CRESTS).unwrap_or(3.0),
                frequency_hz: number(self, "frequency", FREQUENCY).unwrap_or(1.0),
            },
        };
        let default = EditSpec::new(shape);
        let amount = match At::of(table, "amount", path).and_then(|at| self.setting(&at, AMOUNT, true)) {
            Some(Setting::Constant(value)) => KeyCurve::constant(value),
            Some(Setting::Keyed(curve)) => curve,
            None => default.amount,
        };
        let mut bones = Vec::new();
        if let Some(at) = At::of(table, "bones", path) {
            for (offset, path, item) in self.list(&at, "a list of bone names, such as [\"forearm*\"]") {
                let at = At { item: &item, path, offset };
                bones.extend(self.name(&at, "the name of a bone in quotes", "name a bone or remove it"));
            }
        }
        Some(EditSpec {
            amount,
            stiffness: number(self, "stiffness", STIFFNESS).unwrap_or(default.stiffness),
            drive: At::of(table, "drive", path).and_then(|at| self.word(&at, DRIVES)).unwrap_or(default.drive),
            bones,
            map: At::of(table, "map", path).and_then(|at| self.map_name(&at)),
            shape: default.shape,
        })
    }

    /// A name, or names over time: `[[0.0, ""], [0.5, "biceps"]]`.
    fn shapes(&mut self, table: &dyn TableLike, offset: usize, path: &str) -> Option<Vec<(f64, String)>> {
        let expected = "the name of an edit in quotes, or keys such as [[0.0, \"\"], [0.5, \"biceps\"]]";
        let Some(at) = At::of(table, "shape", path) else {
            self.fault(offset, path, Fault::Missing { what: "the edit's shape", add: "shape = \"NAME\"".to_owned() });
            return None;
        };
        if !at.item.is_array() {
            return Some(vec![(0.0, self.name(&at, expected, "name an edit or remove the section")?)]);
        }
        let mut keys: Vec<(f64, String)> = Vec::new();
        for (offset, path, item) in self.list(&at, expected) {
            let at = At { item: &item, path, offset };
            let pair: Vec<(usize, String, Item)> = self.list(&at, expected);
            let [time, name] = &pair[..] else {
                self.wrong_type(&at, "a key [seconds, \"NAME\"]");
                return None;
            };
            let time = self.number(&At { item: &time.2, path: time.1.clone(), offset: time.0 }, TIME)?;
            let Some(name) = name.2.as_str() else {
                self.wrong_type(&at, "a key [seconds, \"NAME\"]");
                return None;
            };
            if let Some(&(before, _)) = keys.last()
                && before >= time
            {
                self.fault(offset, &at.path, Fault::NotInOrder { time, before });
                return None;
            }
            keys.push((time, name.to_owned()));
        }
        if keys.is_empty() {
            self.wrong_type(&at, expected);
        }
        (!keys.is_empty()).then_some(keys)
    }

    fn along(&mut self, table: &dyn TableLike, offset: usize, path: &str) -> Option<Vec<DVec3>> {
        let expected = "points of a stroke, such as [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]";
        let Some(at) = At::of(table, "along", path) else {
            let add = "along = [[x, y, z], [x, y, z]]".to_owned();
            self.fault(offset, path, Fault::Missing { what: "the stroke that the wave runs along", add });
            return None;
        };
        let mut points = Vec::new();
        for (offset, path, item) in self.list(&at, expected) {
            points.push(DVec3::from(self.numbers(&At { item: &item, path, offset }, expected, [COORDINATE; 3])?));
        }
        if points.len() < 2 {
            self.wrong_type(&at, expected);
            return None;
        }
        Some(points)
    }
}

/// The lines of an edit that differ from the defaults.
pub(super) fn edit_entries(spec: &EditSpec) -> Vec<(String, Literal)> {
    let mut entries: Vec<(&str, Literal)> = Vec::new();
    let list = |items: Vec<String>| Literal::raw(format!("[{}]", items.join(", ")));
    match &spec.shape {
        EditShape::Shape(keys) => {
            entries.push(("type", "shape".into()));
            let key =
                |(time, name): &(f64, String)| format!("[{}, {}]", Value::from(*time), Value::from(name.as_str()));
            entries.push(match &keys[..] {
                [(_, name)] => ("shape", name.as_str().into()),
                _ => ("shape", list(keys.iter().map(key).collect())),
            });
        }
        EditShape::Radial(profile) => {
            entries.push(("type", "radial".into()));
            entries.push(("profile", Literal::word(*profile, Profile::NAMES)));
        }
        EditShape::Wave { along, reach, crests, frequency_hz } => {
            entries.push(("type", "wave".into()));
            let point = |p: &DVec3| format!("[{}, {}, {}]", Value::from(p.x), Value::from(p.y), Value::from(p.z));
            entries.push(("along", list(along.iter().map(point).collect())));
            entries.push(("reach", (*reach).into()));
            entries.push(("crests", (*crests).into()));
            entries.push(("frequency", (*frequency_hz).into()));
        }
    }
    entries.push(match spec.amount.keys() {
        [(_, only)] => ("amount", (*only).into()),
        _ => ("amount", (&spec.amount).into()),
    });
    entries.push(("stiffness", spec.stiffness.into()));
    entries.push(("drive", Literal::word(spec.drive, DRIVES)));
    if !spec.bones.is_empty() {
        let bones: Vec<&str> = spec.bones.iter().map(String::as_str).collect();
        entries.push(("bones", bones.as_slice().into()));
    }
    entries.extend(spec.map.as_deref().map(|map| ("map", map.into())));
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
