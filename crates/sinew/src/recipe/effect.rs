//! One `[[effect]]` section → [`EffectSpec`], and back.
//!
//! Valid keys are those of the effect's [`crate::param::ParamSpec`] list and the few every effect has.

use super::edit::Literal;
use super::error::Fault;
use super::parse::{At, Reader, Section, TIME};
use super::shared::{KeyKind, SharedKey, entry_if, read_shared, write_shared};
use super::splice::dotted;
use super::{BoneGain, Centroid, ConeSpec, EffectSpec, KeyCurve};
use crate::cone::{Cone, ConeError};
use crate::param::{LONGEST, ParamKind, Range};
use crate::registry::{self, Effect};
use crate::table::{Cell, CellKind, CellSpec, Row, RowKind, TableSpec};
use glam::DVec3;
use toml_edit::{Item, TableLike, Value};

/// Keys of every effect. `form` is the first: it says what the others are where they are silent.
pub static EFFECT_KEYS: &[SharedKey<EffectSpec>] = &[
    SharedKey {
        name: "form",
        about: "paper: raw gains, hard limits, no filter and the paper's own measures by default",
        kind: KeyKind::Param(ParamKind::Choice { words: FORMS }),
        behind: false,
        applies: |spec| spec.effect.paper().is_some(),
        read: |reader, given, spec| reader.form(&given.at, spec),
        // What differs from the scale-free form is written out.
        write: |_| Vec::new(),
    },
    SharedKey {
        name: "gain",
        about: "multiplies everything; 0 is off, 1 is as set below",
        kind: KeyKind::Param(ParamKind::Number { unit: GAIN.unit, min: GAIN.min, max: GAIN.max, default: 1.0 }),
        behind: false,
        applies: |_| true,
        read: |reader, given, spec| match reader.setting(&given.at, GAIN, true) {
            Some(Setting::Constant(value)) => spec.gain = value,
            Some(Setting::Keyed(curve)) => spec.keys.push(("gain".to_owned(), curve)),
            None => {}
        },
        write: |spec| match spec.keys.iter().find(|(key, _)| key == "gain") {
            // The curve multiplies the constant, and the file has room for one of them.
            Some((_, curve)) => {
                let scaled = curve.keys().iter().map(|&(time, value)| (time, value * spec.gain)).collect();
                entry_if(true, "gain", KeyCurve::new(scaled).as_ref().unwrap_or(curve))
            }
            None => entry_if(spec.gain != 1.0 && spec.strength.is_none(), "gain", spec.gain),
        },
    },
    SharedKey {
        name: "strength",
        about: "in place of gain, which is solved for: how far the effect alone moves the skin, of the size",
        kind: KeyKind::Share { example: "\"4 %\"" },
        behind: false,
        applies: |_| true,
        read: |reader, given, spec| spec.strength = reader.strength(&given.at),
        write: |spec| spec.strength.map_or_else(Vec::new, |strength| entry_if(true, "strength", strength)),
    },
    SharedKey {
        name: "root",
        about: "gain for the motion of the whole character",
        kind: KeyKind::Param(ParamKind::Number { unit: GAIN.unit, min: GAIN.min, max: GAIN.max, default: 1.0 }),
        behind: false,
        applies: |_| true,
        read: |reader, given, spec| spec.root = reader.number(&given.at, GAIN).unwrap_or(spec.root),
        write: |spec| entry_if(spec.root != 1.0, "root", spec.root),
    },
    SharedKey {
        name: "raw",
        about: "the papers' gains, which depend on the size; × size is in scene units then, without an upper bound",
        kind: KeyKind::Param(ParamKind::Switch { default: false }),
        behind: false,
        applies: |_| true,
        read: |reader, given, spec| spec.raw = reader.switch(&given.at).unwrap_or(spec.raw),
        write: |spec| entry_if(spec.raw, "raw", spec.raw),
    },
    SharedKey {
        name: "map",
        about: "painted map that multiplies the gain",
        kind: KeyKind::Map,
        behind: false,
        applies: |_| true,
        read: |reader, given, spec| spec.map = reader.map_name(&given.at),
        write: |spec| spec.map.as_deref().map_or_else(Vec::new, |map| entry_if(true, "map", map)),
    },
    SharedKey {
        name: "parts",
        about: "acts on the skin of these parts alone, from 0 at their root to 1 at their end; everywhere without",
        kind: KeyKind::Names { example: "[\"@ear\", \"@tail\"]" },
        behind: false,
        applies: |_| true,
        read: |reader, given, spec| spec.parts = reader.part_names(&given.at, "a list such as [\"@ear\", \"@tail\"]"),
        write: |spec| {
            let names = spec.parts.iter().map(|name| name.as_str().into());
            entry_if(!spec.parts.is_empty(), "parts", Literal::list(names))
        },
    },
    SharedKey {
        name: "compensate",
        about: "opposite rotations of successive bones cancel instead of scaling what is beyond them",
        kind: KeyKind::Param(ParamKind::Switch { default: false }),
        behind: true,
        applies: |_| true,
        read: |reader, given, spec| spec.compensate = reader.switch(&given.at).unwrap_or(spec.compensate),
        write: |spec| entry_if(spec.compensate, "compensate", spec.compensate),
    },
    SharedKey {
        name: "cone",
        about: "act only along the normals of a cone; true: as fitted to the region",
        kind: KeyKind::Cells { cells: CONE_CELLS, example: "{ bone = \"NAME\", gain = 10.0, max_length = 0.3 }" },
        behind: true,
        applies: |_| true,
        read: |reader, given, spec| {
            // The form's own, whatever `raw` says beside it.
            let is_paper = given.section.get("form").and_then(Item::as_str) == Some(PAPER);
            let default = if is_paper { ConeSpec::paper() } else { ConeSpec::default() };
            spec.cone = reader.cone(&given.at, spec.effect, spec.raw, default);
        },
        write: |spec| match &spec.cone {
            Some(cone) => entry_if(!spec.effect.needs_cone() || *cone != ConeSpec::default(), "cone", cone),
            None => Vec::new(),
        },
    },
    SharedKey {
        name: BONE_GAINS.key,
        about: BONE_GAINS.about,
        kind: KeyKind::Table(&BONE_GAINS),
        behind: true,
        applies: |_| true,
        read: |reader, given, spec| spec.bones = reader.bones(&given.at),
        write: |spec| {
            spec.bones.iter().map(|(pattern, gain)| (dotted(&[BONE_GAINS.key, pattern]), (*gain).into())).collect()
        },
    },
    SharedKey {
        name: CLIP_GAINS.key,
        about: CLIP_GAINS.about,
        kind: KeyKind::Table(&CLIP_GAINS),
        behind: true,
        applies: |_| true,
        read: |reader, given, spec| {
            let rows = reader.rows(&given.at, &CLIP_GAINS).into_iter();
            spec.clips = rows.filter_map(|(pattern, row)| Some((pattern, row.number("")?))).collect();
        },
        write: |spec| {
            spec.clips.iter().map(|(pattern, gain)| (dotted(&[CLIP_GAINS.key, pattern]), (*gain).into())).collect()
        },
    },
];

/// Gains by clip.
const CLIP_GAINS: TableSpec = TableSpec {
    key: "clips",
    of: "gains",
    about: "gains by clip name, which multiply the gain; * and ? match any, later lines win",
    examples: &["\"Idle*\" = 0.0", "\"Run\" = 0.7"],
    row: RowKind::One(CellKind::Number(GAIN)),
};

/// Gains and centres by bone.
const BONE_GAINS: TableSpec = TableSpec {
    key: "bones",
    of: "gains",
    about: "gains by bone name; * and ? match any, later lines win",
    examples: &[
        "\"tail*\" = 2.0",
        "\"ear.?\" = { rotation = 1.5, translation = 0.0 }",
        "\"head\" = { centroid_offset = [0.0, 0.1, 0.0], squash_about = \"point\" }",
    ],
    row: RowKind::Cells(&[
        CellSpec::by_itself("translation", GAIN, "gain of what the bone's translation causes"),
        CellSpec::by_itself("rotation", GAIN, "gain of what its rotation causes"),
        CellSpec::new("centroid", VECTOR, "the centre of squash, in the bone's frame"),
        CellSpec::new("centroid_offset", VECTOR, "the same, from where the skin has it"),
        CellSpec::new("squash_about", CellKind::Word(ABOUT_WORDS), "what rotational squash acts about"),
    ]),
};

const CONE_CELLS: &[CellSpec] = &[
    CellSpec::new("bone", CellKind::Bone, "the bone that carries it; that which moves most of the region without it"),
    CellSpec::new("gain", CellKind::Number(CONE_GAIN), "how far along the normals"),
    CellSpec::new("max_length", CellKind::Number(CONE_LENGTH), "nothing moves farther"),
    CellSpec::new("axis", VECTOR, "by hand, in the bone's frame: towards the tip"),
    CellSpec::new("apex", VECTOR, "by hand: the tip"),
    CellSpec::new("half_angle", CellKind::Number(ANGLE), "by hand: between axis and side"),
    CellSpec::new("base_radius", CellKind::Number(RADIUS), "by hand: nothing moves that is nearer to the axis"),
];
/// Those of a cone set by hand.
const SHAPE_KEYS: [&str; 4] = ["axis", "apex", "half_angle", "base_radius"];

/// What rotational squash acts about.
const ABOUT_WORDS: &[&str] = &["axis", POINT];
const POINT: &str = "point";

/// Of effects and bones.
pub(crate) const GAIN: Range = Range { min: -100.0, max: 100.0, unit: "" };
const CONE_GAIN: Range = Range { min: -1000.0, max: 1000.0, unit: "" };
const CONE_LENGTH: Range = Range { min: 0.0, max: 10.0, unit: "× size" };
const RAW_CONE_LENGTH: Range = Range { min: 0.0, max: LONGEST, unit: "scene units" };
/// Whether an effect is as its paper has it.
const FORMS: &[&str] = &["scale-free", PAPER];
const PAPER: &str = "paper";
/// A place in a bone's frame: far beyond any character, and far from where single precision ends.
pub(super) const COORDINATE: Range = Range { min: -1e9, max: 1e9, unit: "" };
const VECTOR: CellKind = CellKind::Numbers { each: &[COORDINATE; 3], form: THREE_NUMBERS };
const THREE_NUMBERS: &str = "three numbers, such as [0.0, 0.5, 0.0]";
const RADIUS: Range = Range { min: 0.0, max: 1e9, unit: "" };
const ANGLE: Range = Range { min: 0.0, max: f64::INFINITY, unit: "rad" };

/// A number that may change over the clip.
pub(super) enum Setting {
    Constant(f64),
    Keyed(KeyCurve),
}

impl Reader {
    pub(super) fn effect(&mut self, table: &dyn TableLike, offset: usize, path: &str) -> Option<EffectSpec> {
        let entries: Vec<_> = registry::EFFECTS.iter().map(|effect| (effect.name(), *effect)).collect();
        let effect = self.entry(table, (offset, path), "the type of effect", &entries)?;
        let shared = EFFECT_KEYS.iter().map(|key| key.name);
        let valid = std::iter::once("type").chain(shared).chain(effect.params().iter().map(|spec| spec.name));
        self.refuse_unknown(table, path, valid, Some(Section::Effect));
        let mut spec = EffectSpec::of(effect);
        read_shared(self, EFFECT_KEYS, (table, path), &mut spec);
        self.refuse_gain_and_strength(table, path);
        let shared_curves = spec.keys.len();
        for param in effect.params() {
            let Some(at) = At::of(table, param.name, path) else { continue };
            let filters = effect.inputs().iter().flat_map(|input| input.params()).any(|name| name == param.name);
            let setting = match if spec.raw { param.raw_kind() } else { param.kind } {
                ParamKind::Number { unit, min, max, .. } => self.setting(&at, Range { min, max, unit }, !filters),
                _ => self.param(&at, param).map(Setting::Constant),
            };
            match setting {
                Some(Setting::Constant(value)) => {
                    let taken = spec.values.set(param.name, value);
                    debug_assert!(taken.is_ok(), "the range was checked above");
                }
                Some(Setting::Keyed(curve)) => spec.keys.push((param.name.to_owned(), curve)),
                None => {}
            }
        }
        // Those of the parameters first, as they are listed.
        spec.keys.rotate_left(shared_curves);
        Some(spec)
    }

    /// What the effect is where its section is silent.
    fn form(&mut self, at: &At<'_>, spec: &mut EffectSpec) {
        let forms: Vec<(&str, &str)> = FORMS.iter().map(|&word| (word, word)).collect();
        if self.word(at, &forms) != Some(PAPER) {
            return;
        }
        match EffectSpec::paper(spec.effect) {
            Some(paper) => *spec = paper,
            None => self.fault(at.value_offset(), &at.path, Fault::NoPaper { effect: spec.effect.name() }),
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
        self.list_of(at, expected, &ranges)?.try_into().ok()
    }

    fn vector(&mut self, at: &At<'_>) -> Option<DVec3> {
        self.numbers(at, THREE_NUMBERS, [COORDINATE; 3]).map(DVec3::from)
    }

    fn bones(&mut self, at: &At<'_>) -> Vec<(String, BoneGain)> {
        if let Some(table) = at.item.as_table_like() {
            for (pattern, _) in table.iter() {
                self.refuse_two_centroids(table, pattern, &at.path);
            }
        }
        self.rows(at, &BONE_GAINS).into_iter().map(|(pattern, row)| (pattern, bone_gain(&row))).collect()
    }

    fn refuse_two_centroids(&mut self, bones: &dyn TableLike, pattern: &str, path: &str) {
        let Some(bone) = At::of(bones, pattern, path) else { return };
        let Some(table) = bone.item.as_table_like() else { return };
        let both = At::of(table, "centroid", &bone.path).zip(At::of(table, "centroid_offset", &bone.path));
        if let Some((at, offset)) = both {
            let (later, other) = if at.offset > offset.offset { (at, "centroid_offset") } else { (offset, "centroid") };
            self.fault(later.offset, &later.path, Fault::SaidTwice { other });
        }
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
        self.refuse_unknown(table, path, CONE_CELLS.iter().map(|cell| cell.name), None);
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

fn bone_gain(row: &Row) -> BoneGain {
    let centroid = row.numbers("centroid").map(|at| Centroid::At(DVec3::from_array(at)));
    let offset = row.numbers("centroid_offset").map(|offset| Centroid::Offset(DVec3::from_array(offset)));
    BoneGain {
        translation: row.number("translation").unwrap_or(1.0),
        rotation: row.number("rotation").unwrap_or(1.0),
        centroid: centroid.or(offset),
        about_point: row.word("squash_about") == Some(POINT),
    }
}

impl From<BoneGain> for Literal {
    fn from(BoneGain { translation, rotation, centroid, about_point }: BoneGain) -> Self {
        let mut cells = Vec::new();
        let plain = centroid.is_none() && !about_point;
        if plain || (translation, rotation) != (1.0, 1.0) {
            cells.extend([("translation", Cell::Number(translation)), ("rotation", Cell::Number(rotation))]);
        }
        cells.extend(centroid.map(|centroid| match centroid {
            Centroid::At(at) => ("centroid", Cell::Numbers(at.to_array().to_vec())),
            Centroid::Offset(offset) => ("centroid_offset", Cell::Numbers(offset.to_array().to_vec())),
        }));
        cells.extend(about_point.then_some(("squash_about", Cell::Word(POINT))));
        Self::row(&Row::of(cells), &BONE_GAINS.row)
    }
}

/// The lines of an effect that differ from the defaults.
pub(super) fn effect_entries(spec: &EffectSpec) -> Vec<(String, Literal)> {
    let mut entries = vec![("type".to_owned(), Literal::from(spec.effect.name()))];
    write_shared(EFFECT_KEYS, false, spec, &mut entries);
    for param in spec.effect.params() {
        if let Some((_, curve)) = spec.keys.iter().find(|(key, _)| key == param.name) {
            entries.push((param.name.to_owned(), curve.into()));
        } else if spec.values.number(param.name) != param.default() {
            entries.push((param.name.to_owned(), Literal::param(&spec.values, param)));
        }
    }
    write_shared(EFFECT_KEYS, true, spec, &mut entries);
    entries
}
