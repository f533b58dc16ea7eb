//! One `[[effect]]` section → [`EffectSpec`].
//!
//! Valid keys are those of the effect's [`crate::param::ParamSpec`] list and the few every effect has.

use super::error::{Fault, one_of};
use super::parse::{At, Range, Reader, SECTIONS, TIME};
use super::{BoneGain, Centroid, ConeSpec, EffectSpec, KeyCurve};
use crate::cone::{Cone, ConeError};
use crate::param::{LONGEST, ParamKind, ParamSpec};
use crate::registry::{self, Effect};
use glam::DVec3;
use toml_edit::{Item, TableLike, Value};

/// Keys of every effect.
pub(super) const EFFECT_KEYS: &[&str] = &["type", "form", "gain", "root", "raw", "map", "compensate", "cone", "bones"];
const BONE_KEYS: &[&str] = &["translation", "rotation", "centroid", "centroid_offset", "squash_about"];
const CONE_KEYS: &[&str] = &["bone", "gain", "max_length", "axis", "apex", "half_angle", "base_radius"];
/// Those of a cone set by hand.
const SHAPE_KEYS: [&str; 4] = ["axis", "apex", "half_angle", "base_radius"];

/// What rotational squash acts about: whether it is the centroid point.
pub(super) const ABOUT_WORDS: &[(&str, bool)] = &[("axis", false), ("point", true)];

pub(super) const GAIN: Range = Range { min: -100.0, max: 100.0, unit: "" };
pub(super) const CONE_GAIN: Range = Range { min: -1000.0, max: 1000.0, unit: "" };
pub(super) const CONE_LENGTH: Range = Range { min: 0.0, max: 10.0, unit: "× size" };
const RAW_CONE_LENGTH: Range = Range { min: 0.0, max: LONGEST, unit: "scene units" };
/// Whether an effect is as its paper has it.
pub(super) const FORMS: &[(&str, bool)] = &[("scale-free", false), ("paper", true)];
/// A place in a bone's frame: far beyond any character, and far from where single precision ends.
pub(super) const COORDINATE: Range = Range { min: -1e9, max: 1e9, unit: "" };
const RADIUS: Range = Range { min: 0.0, max: 1e9, unit: "" };
const ANGLE: Range = Range { min: 0.0, max: f64::INFINITY, unit: "rad" };

/// A number that may change over the clip.
pub(super) enum Setting {
    Constant(f64),
    Keyed(KeyCurve),
}

impl Reader {
    pub(super) fn effect(&mut self, table: &dyn TableLike, offset: usize, path: &str) -> Option<EffectSpec> {
        let names: Vec<_> = registry::EFFECTS.iter().map(|effect| (effect.name(), *effect)).collect();
        let effect = match At::of(table, "type", path) {
            Some(at) => self.word(&at, &names),
            None => {
                let quoted: Vec<String> = names.iter().map(|(name, _)| format!("\"{name}\"")).collect();
                let add = format!("type = {}", one_of(quoted.iter().map(String::as_str)));
                self.fault(offset, path, Fault::Missing { what: "the type of effect", add });
                None
            }
        }?;
        let params = effect.params();
        let valid = EFFECT_KEYS.iter().copied().chain(params.iter().map(|spec| spec.name));
        self.refuse_unknown(table, path, valid, SECTIONS);
        let default = self.form(table, effect, path);
        let raw = At::of(table, "raw", path).and_then(|at| self.switch(&at)).unwrap_or(default.raw);
        let cone = if default.raw { ConeSpec::paper() } else { ConeSpec::default() };
        let mut values = default.values;
        let mut keys = Vec::new();
        for spec in params {
            let Some(at) = At::of(table, spec.name, path) else { continue };
            let filters = effect.inputs().iter().flat_map(|input| input.params()).any(|name| name == spec.name);
            let setting = match if raw { spec.raw_kind() } else { spec.kind } {
                ParamKind::Number { unit, min, max, .. } => self.setting(&at, Range { min, max, unit }, !filters),
                _ => self.param(&at, spec).map(Setting::Constant),
            };
            match setting {
                Some(Setting::Constant(value)) => {
                    let taken = values.set(spec.name, value);
                    debug_assert!(taken.is_ok(), "the range was checked above");
                }
                Some(Setting::Keyed(curve)) => keys.push((spec.name.to_owned(), curve)),
                None => {}
            }
        }
        let mut gain = 1.0;
        match At::of(table, "gain", path).and_then(|at| self.setting(&at, GAIN, true)) {
            Some(Setting::Constant(value)) => gain = value,
            Some(Setting::Keyed(curve)) => keys.push(("gain".to_owned(), curve)),
            None => {}
        }
        let root = At::of(table, "root", path).and_then(|at| self.number(&at, GAIN)).unwrap_or(1.0);
        let compensate = At::of(table, "compensate", path).and_then(|at| self.switch(&at)).unwrap_or(false);
        let map = self.map(table, path);
        let bones = At::of(table, "bones", path).map_or_else(Vec::new, |at| self.bones(&at));
        let cone = At::of(table, "cone", path).map_or(default.cone, |at| self.cone(&at, effect, raw, cone));
        Some(EffectSpec { effect, values, gain, raw, map, bones, root, compensate, cone, keys })
    }

    /// What the effect is where its section is silent.
    fn form(&mut self, table: &dyn TableLike, effect: &'static Effect, path: &str) -> EffectSpec {
        let default = EffectSpec::of(effect);
        let Some(at) = At::of(table, "form", path) else { return default };
        match self.word(&at, FORMS) {
            Some(true) => EffectSpec::paper(effect).unwrap_or_else(|| {
                self.fault(at.value_offset(), &at.path, Fault::NoPaper { effect: effect.name() });
                default
            }),
            _ => default,
        }
    }

    /// The value of a parameter that is not keyed.
    pub(super) fn param(&mut self, at: &At<'_>, spec: &ParamSpec) -> Option<f64> {
        match spec.kind {
            ParamKind::Number { unit, min, max, .. } => self.number(at, Range { min, max, unit }),
            ParamKind::Switch { .. } => self.switch(at).map(|on| f64::from(u8::from(on))),
            ParamKind::Choice { words } => {
                let words: Vec<_> = words.iter().enumerate().map(|(index, &word)| (word, index as f64)).collect();
                self.word(at, &words)
            }
        }
    }

    /// A number, or keys: `[[seconds, value], …]`.
    pub(super) fn setting(&mut self, at: &At<'_>, range: Range, keyable: bool) -> Option<Setting> {
        match at.item {
            Item::Value(Value::Array(_)) if !keyable => {
                self.fault(at.value_offset(), &at.path, Fault::NotKeyable);
                None
            }
            Item::Value(Value::Array(list)) if !list.is_empty() => self.keys(at, range).map(Setting::Keyed),
            _ => self.number(at, range).map(Setting::Constant),
        }
    }

    fn keys(&mut self, at: &At<'_>, range: Range) -> Option<KeyCurve> {
        let expected = "a key [seconds, value], such as [0.5, 0.2]";
        let mut keys: Vec<(f64, f64)> = Vec::new();
        for (offset, path, item) in self.list(at, expected) {
            let at = At { item: &item, path, offset };
            let [time, value] = self.numbers(&at, expected, [TIME, range])?;
            if let Some(&(before, _)) = keys.last()
                && before >= time
            {
                self.fault(offset, &at.path, Fault::NotInOrder { time, before });
                return None;
            }
            keys.push((time, value));
        }
        KeyCurve::new(keys)
    }

    /// A list of so many numbers, each with its range.
    pub(super) fn numbers<const N: usize>(
        &mut self,
        at: &At<'_>,
        expected: &str,
        ranges: [Range; N],
    ) -> Option<[f64; N]> {
        if at.item.as_array().is_none_or(|list| list.len() != N) {
            self.wrong_type(at, expected);
            return None;
        }
        let mut numbers = Vec::with_capacity(N);
        for ((offset, path, item), range) in self.list(at, expected).into_iter().zip(ranges) {
            numbers.extend(self.number(&At { item: &item, path, offset }, range));
        }
        numbers.try_into().ok()
    }

    fn vector(&mut self, at: &At<'_>) -> Option<DVec3> {
        self.numbers(at, "three numbers, such as [0.0, 0.5, 0.0]", [COORDINATE; 3]).map(DVec3::from)
    }

    fn bones(&mut self, at: &At<'_>) -> Vec<(String, BoneGain)> {
        let Some(table) = self.table(at, "a table of gains by bone name, such as { \"tail*\" = 2.0 }") else {
            return Vec::new();
        };
        let mut bones = Vec::new();
        for (pattern, _) in table.iter() {
            let Some(at) = At::of(table, pattern, &at.path) else { continue };
            let gain = match at.item.as_table_like() {
                None => self.number(&at, GAIN).map(|gain| BoneGain {
                    translation: gain,
                    rotation: gain,
                    ..BoneGain::default()
                }),
                Some(inner) if self.refuse_unquoted(pattern, &at, inner, BONE_KEYS) => None,
                Some(inner) => Some(self.bone(inner, &at.path)),
            };
            bones.extend(gain.map(|gain| (pattern.to_owned(), gain)));
        }
        bones
    }

    fn bone(&mut self, table: &dyn TableLike, path: &str) -> BoneGain {
        self.refuse_unknown(table, path, BONE_KEYS.iter().copied(), &[]);
        let mut gain = |key| At::of(table, key, path).and_then(|at| self.number(&at, GAIN)).unwrap_or(1.0);
        let (translation, rotation) = (gain("translation"), gain("rotation"));
        let centroid = match (At::of(table, "centroid", path), At::of(table, "centroid_offset", path)) {
            (Some(at), Some(offset)) => {
                let (later, other) =
                    if at.offset > offset.offset { (at, "centroid_offset") } else { (offset, "centroid") };
                self.fault(later.offset, &later.path, Fault::SaidTwice { other });
                None
            }
            (Some(at), None) => self.vector(&at).map(Centroid::At),
            (None, Some(at)) => self.vector(&at).map(Centroid::Offset),
            (None, None) => None,
        };
        let about_point =
            At::of(table, "squash_about", path).and_then(|at| self.word(&at, ABOUT_WORDS)).unwrap_or(false);
        BoneGain { translation, rotation, centroid, about_point }
    }

    fn cone(&mut self, at: &At<'_>, effect: &Effect, raw: bool, default: ConeSpec) -> Option<ConeSpec> {
        match at.item.as_bool() {
            Some(true) => return Some(default),
            Some(false) if effect.needs_cone() => {
                self.fault(at.value_offset(), &at.path, Fault::NeedsCone { effect: effect.name() });
                return None;
            }
            Some(false) => return None,
            None => {}
        }
        let table = self.table(at, "true, false or a table such as { bone = \"hips\", gain = 10.0 }")?;
        let path = &at.path;
        self.refuse_unknown(table, path, CONE_KEYS.iter().copied(), &[]);
        let bone = At::of(table, "bone", path)
            .and_then(|at| self.name(&at, "the name of a bone in quotes", "name a bone or leave the key out"));
        let gain = At::of(table, "gain", path).and_then(|at| self.number(&at, CONE_GAIN)).unwrap_or(default.gain);
        let max_length = At::of(table, "max_length", path)
            .and_then(|at| self.number(&at, if raw { RAW_CONE_LENGTH } else { CONE_LENGTH }))
            .unwrap_or(default.max_length);
        let missing: Vec<&str> = SHAPE_KEYS.into_iter().filter(|key| !table.contains_key(key)).collect();
        let by_hand = missing.len() < SHAPE_KEYS.len();
        if by_hand && !missing.is_empty() {
            let add = missing.join(" and ");
            self.fault(at.value_offset(), path, Fault::Missing { what: "part of the cone set by hand", add });
        } else if by_hand && !table.contains_key("bone") {
            let add = "bone = \"NAME\"".to_owned();
            self.fault(at.value_offset(), path, Fault::Missing { what: "the bone that carries the cone", add });
        }
        let cone = if by_hand { self.shape(table, path) } else { None };
        Some(ConeSpec { bone, cone, gain, max_length })
    }

    /// A cone set by hand. Axis and angle are tried on a cone that is sound otherwise, so that the fault is told where
    /// it stands.
    fn shape(&mut self, table: &dyn TableLike, path: &str) -> Option<Cone> {
        let axis = At::of(table, "axis", path).and_then(|at| {
            let axis = self.vector(&at)?;
            self.sound(&at, Cone::new(axis, DVec3::ZERO, 1.0, 0.0)).map(|_| axis)
        });
        let apex = At::of(table, "apex", path).and_then(|at| self.vector(&at));
        let half_angle = At::of(table, "half_angle", path).and_then(|at| {
            let angle = self.number(&at, ANGLE)?;
            self.sound(&at, Cone::new(DVec3::Y, DVec3::ZERO, angle, 0.0)).map(|_| angle)
        });
        let base_radius = At::of(table, "base_radius", path).and_then(|at| self.number(&at, RADIUS));
        Cone::new(axis?, apex?, half_angle?, base_radius?).ok()
    }

    fn sound(&mut self, at: &At<'_>, cone: Result<Cone, ConeError>) -> Option<Cone> {
        cone.map_err(|error| self.fault(at.value_offset(), &at.path, Fault::Cone(error))).ok()
    }
}
