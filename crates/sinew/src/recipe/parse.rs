//! Text → meaning. Every key, word and range is checked; of several faults the first in the file is told.
//!
//! What stands under `[[effect]]` is read in `effect`, what stands under `[[correction]]` in `correction`, the base in
//! `settings`.
//!
//! Versions: [`VERSION`] is what this program writes. When a version 2 comes, the older document is rewritten at the
//! head of [`parse`], step by step, before anything else looks at it; each version keeps a test file.

use super::correction::CORRECTION_KEYS;
use super::effect::EFFECT_KEYS;
use super::error::{Fault, RecipeError, one_of};
use super::settings::Schema;
use super::strength::OVER_WORDS;
use super::surface_edit::EDIT_KEYS;
use super::{Collide, HierarchySpec, MaxStrain, Normals, Planted, Recipe, Riders, Rigid, Sewn, TotalLimit};
use crate::correct::CORRECTIONS;
use crate::motion::{Ends, Looping, MotionSettings, Smoothing, Travel};
use crate::param::Range;
use crate::stance::Spans;
use crate::text::{is_slip, nearest};
use toml_edit::{Document, Item, Key, TableLike, Value};

/// The version of the recipe format that this program reads and writes.
pub const VERSION: i64 = 1;

/// What the text of a recipe means.
#[derive(Clone, Debug, Default)]
pub(super) struct Meaning {
    pub(super) recipe: Recipe,
    pub(super) maps: Vec<String>,
    /// Of each map: the hash it had when the recipe was written, if that says.
    pub(super) map_hashes: Vec<Option<u64>>,
    pub(super) motion: MotionKeys,
    /// By pattern, in file order.
    pub(super) clips: Vec<(String, MotionKeys)>,
}

/// What a `[motion]` or `[clip]` section says; silent keys are `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct MotionKeys {
    looping: Option<Looping>,
    ends: Option<Ends>,
    travel: Option<Travel>,
    smoothing: Option<Smoothing>,
    teleports: Option<Vec<f64>>,
    contacts: Option<Vec<(String, Spans)>>,
}

impl MotionKeys {
    /// Tells how to loop, and nothing else.
    pub(super) fn looping(looping: Looping) -> Self {
        Self { looping: Some(looping), ..Self::default() }
    }

    /// Overrides what is told here.
    pub(super) fn apply(&self, settings: &mut MotionSettings) {
        settings.looping = self.looping.unwrap_or(settings.looping);
        settings.ends = self.ends.unwrap_or(settings.ends);
        settings.travel = self.travel.unwrap_or(settings.travel);
        settings.smoothing = self.smoothing.unwrap_or(settings.smoothing);
        if let Some(teleports) = &self.teleports {
            settings.teleports.clone_from(teleports);
        }
        if let Some(contacts) = &self.contacts {
            settings.contacts.clone_from(contacts);
        }
    }
}

const TOP_KEYS: &[&str] = &[
    "version",
    "base",
    "riders",
    "rigid",
    "sewn",
    "collide",
    "planted",
    "normals",
    "max_total",
    "max_strain",
    "strength",
    "strength_over",
    "maps",
    "hierarchy",
    "motion",
    "clip",
    "effect",
    "correction",
    "edit",
];
const MOTION_KEYS: &[&str] = &["loop", "ends", "travel", "smoothing"];
const CLIP_KEYS: &[&str] = &["loop", "ends", "travel", "smoothing", "teleports", "contacts"];

/// Where keys belong: writing a top key below the first section is the commonest slip in TOML.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Top,
    Motion,
    Clip,
    Effect,
    Correction,
    Edit,
}

impl Section {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Top, "at the top of the file, before the first [section]"),
        (Self::Motion, "under [motion], or under [clip.\"NAME\"] for one clip"),
        (Self::Clip, "under [clip.\"NAME\"]"),
        (Self::Effect, "under [[effect]]"),
        (Self::Correction, "under [[correction]]"),
        (Self::Edit, "under [[edit]]"),
    ];

    /// Whether it takes the key, parameters apart.
    fn takes(self, key: &str) -> bool {
        match self {
            Self::Top => TOP_KEYS.contains(&key),
            Self::Motion => MOTION_KEYS.contains(&key),
            Self::Clip => CLIP_KEYS.contains(&key),
            Self::Effect => key == "type" || EFFECT_KEYS.iter().any(|shared| shared.name == key),
            Self::Correction => {
                let own = |correction| Schema::from(correction).keys().any(|own| own == key);
                key == "type" || CORRECTION_KEYS.iter().any(|shared| shared.name == key) || CORRECTIONS.iter().any(own)
            }
            Self::Edit => EDIT_KEYS.contains(&key),
        }
    }

    /// Where a key belongs that strayed into this section.
    fn belongs(self, key: &str) -> Option<&'static str> {
        let found = Self::ALL.into_iter().find(|(section, _)| section.takes(key));
        found.filter(|_| !self.takes(key)).map(|(_, place)| place)
    }
}

pub(super) const LOOP_WORDS: &[(&str, Looping)] =
    &[("auto", Looping::Auto), ("yes", Looping::Yes), ("no", Looping::No)];
pub(super) const ENDS_WORDS: &[(&str, Ends)] = &[("rest", Ends::Rest), ("continue", Ends::Continue)];
pub(super) const TRAVEL_WORDS: &[(&str, Travel)] = &[("subtract", Travel::Subtract), ("keep", Travel::Keep)];
pub(super) const COLLIDE_WORDS: &[(&str, Collide)] = &[("auto", Collide::Auto), ("none", Collide::None)];
pub(super) const SEWN_WORDS: &[(&str, Sewn)] = &[("auto", Sewn::Auto), ("none", Sewn::None)];
pub(super) const RIDERS_WORDS: &[(&str, Riders)] = &[("move", Riders::Move), ("still", Riders::Still)];
/// What a list names, and the remedy for an empty name.
const PIECE: [&str; 2] = ["a role, bone or mesh in quotes", "name a role, bone or mesh or remove it"];
const BONE: [&str; 2] = ["a role or bone in quotes", "name a role or bone or remove it"];

/// What is left to Sinew, switched off, or named.
enum Chosen {
    Auto,
    None,
    Only(Vec<String>),
}

pub(super) const AUTO_WORDS: &[(&str, bool)] = &[("auto", true), ("none", false)];
pub(super) const NORMALS_WORDS: &[(&str, Normals)] =
    &[("auto", Normals::Auto), ("engine", Normals::Engine), ("exact", Normals::Exact), ("faces", Normals::Faces)];

/// Whether the tree is the file's own.
pub(super) const HIERARCHY_WORDS: &[(&str, bool)] = &[("body", false), ("plain", true)];
const FOLLOWED: &str = "the name of the bone it follows, as in \"foot.L\" = \"shin.L\"";

pub(super) const TOTAL_LENGTH: Range = Range { min: 0.0, max: 10.0, unit: "× size" };
pub(super) const MAX_STRAIN: Range = Range { min: MaxStrain::RANGE[0], max: MaxStrain::RANGE[1], unit: "× length" };
pub(super) const SMOOTHING: Range = Range { min: 0.0, max: 1.0, unit: "s" };
/// A time of a clip.
pub(super) const TIME: Range = Range { min: 0.0, max: f64::INFINITY, unit: "s" };

pub(super) fn parse(text: &str) -> Result<Meaning, RecipeError> {
    let document = Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Found { offset, path: String::new(), fault: Fault::Syntax(error.message().to_owned()) }.locate(text)
    })?;
    let mut reader = Reader { first: None };
    let meaning = reader.file(document.as_table());
    match reader.first {
        None => Ok(meaning),
        Some(found) => Err(found.locate(text)),
    }
}

/// A fault by its place in the text.
struct Found {
    offset: usize,
    path: String,
    fault: Fault,
}

impl Found {
    fn locate(self, text: &str) -> RecipeError {
        let before: &str = text.get(..text.floor_char_boundary(self.offset)).unwrap_or_default();
        let (line, column) =
            before.rsplit_once('\n').map_or((1, before), |(above, line)| (above.split('\n').count() + 1, line));
        let column = column.trim_start_matches('\u{feff}').chars().count() + 1;
        RecipeError { line, column, path: self.path, fault: self.fault }
    }
}

/// An item with the words to speak of it.
pub(super) struct At<'a> {
    pub(super) item: &'a Item,
    pub(super) path: String,
    pub(super) offset: usize,
}

impl<'a> At<'a> {
    pub(super) fn of(table: &'a dyn TableLike, key: &str, parent: &str) -> Option<Self> {
        let (found, item) = table.get_key_value(key)?;
        let offset = found.span().or(item.span()).map_or(0, |span| span.start);
        Some(Self { item, path: join(parent, key), offset })
    }

    /// Where the value starts, or its key if it has no text of its own.
    pub(super) fn value_offset(&self) -> usize {
        match self.item {
            Item::Value(value) => value.span().map_or(self.offset, |span| span.start),
            _ => self.offset,
        }
    }
}

fn join(parent: &str, key: &str) -> String {
    let key = Key::new(key);
    let key = key.display_repr();
    if parent.is_empty() { key.into_owned() } else { format!("{parent}.{key}") }
}

/// Reads item after item and remembers the first fault.
pub(super) struct Reader {
    first: Option<Found>,
}

impl Reader {
    pub(super) fn fault(&mut self, offset: usize, path: &str, fault: Fault) {
        if self.first.as_ref().is_none_or(|first| offset < first.offset) {
            self.first = Some(Found { offset, path: path.to_owned(), fault });
        }
    }

    pub(super) fn wrong_type(&mut self, at: &At<'_>, expected: impl Into<String>) {
        let fault = Fault::WrongType { expected: expected.into(), found: describe(at.item) };
        self.fault(at.value_offset(), &at.path, fault);
    }

    fn file(&mut self, root: &dyn TableLike) -> Meaning {
        let mut meaning = Meaning::default();
        // Keys of another version would only lead astray.
        if !self.version(root) {
            return meaning;
        }
        self.refuse_unknown(root, "", TOP_KEYS.iter().copied(), Some(Section::Top));
        if let Some(at) = At::of(root, "base", "") {
            meaning.recipe.base = self.base(&at);
        }
        if let Some(at) = At::of(root, "riders", "") {
            meaning.recipe.riders = self.word(&at, RIDERS_WORDS).unwrap_or_default();
        }
        if let Some(at) = At::of(root, "collide", "") {
            meaning.recipe.collide = self.word(&at, COLLIDE_WORDS).unwrap_or_default();
        }
        if let Some(at) = At::of(root, "sewn", "") {
            meaning.recipe.sewn = self.word(&at, SEWN_WORDS).unwrap_or_default();
        }
        if let Some(at) = At::of(root, "rigid", "") {
            meaning.recipe.rigid = match self.auto_or_names(&at, PIECE, "[\"@prop\", \"Sword*\"]") {
                Chosen::Auto => Rigid::Auto,
                Chosen::None => Rigid::None,
                Chosen::Only(names) => Rigid::Only(names),
            };
        }
        if let Some(at) = At::of(root, "planted", "") {
            meaning.recipe.planted = match self.auto_or_names(&at, BONE, "[\"@foot\", \"paw*\"]") {
                Chosen::Auto => Planted::Auto,
                Chosen::None => Planted::None,
                Chosen::Only(names) => Planted::Only(names),
            };
        }
        if let Some(at) = At::of(root, "normals", "") {
            meaning.recipe.normals = self.word(&at, NORMALS_WORDS).unwrap_or_default();
        }
        if let Some(at) = At::of(root, "max_total", "") {
            meaning.recipe.max_total = self.max_total(&at);
        }
        if let Some(at) = At::of(root, "max_strain", "") {
            let strain = self.number(&at, MAX_STRAIN).and_then(MaxStrain::new);
            meaning.recipe.max_strain = strain.unwrap_or_default();
        }
        if let Some(at) = At::of(root, "strength", "") {
            meaning.recipe.strength = self.strength(&at);
        }
        if let Some(at) = At::of(root, "strength_over", "") {
            meaning.recipe.strength_over = self.word(&at, OVER_WORDS).unwrap_or_default();
        }
        if let Some(at) = At::of(root, "maps", "") {
            (meaning.maps, meaning.map_hashes) = self.maps(&at).into_iter().unzip();
        }
        if let Some(at) = At::of(root, "hierarchy", "") {
            meaning.recipe.hierarchy = self.hierarchy(&at);
        }
        if let Some(at) = At::of(root, "motion", "")
            && let Some(table) = self.table(&at, "a section [motion]")
        {
            meaning.motion = self.motion(table, &at.path, Section::Motion);
        }
        if let Some(at) = At::of(root, "clip", "")
            && let Some(table) = self.table(&at, "sections [clip.\"NAME\"]")
        {
            meaning.clips = self.clips(table, &at.path);
        }
        if let Some(at) = At::of(root, "effect", "") {
            meaning.recipe.effects = self.sections(&at, "{ type = \"floppy\" }", Self::effect);
        }
        if let Some(at) = At::of(root, "correction", "") {
            meaning.recipe.corrections = self.sections(&at, "{ type = \"volume\" }", Self::correction);
        }
        if let Some(at) = At::of(root, "edit", "") {
            meaning.recipe.edits = self.sections(&at, "{ type = \"radial\" }", Self::surface_edit);
        }
        meaning
    }

    /// A word, or a table of bones with what each follows.
    fn hierarchy(&mut self, at: &At<'_>) -> HierarchySpec {
        let Some(table) = at.item.as_table_like() else {
            if at.item.is_str() {
                let is_plain = self.word(at, HIERARCHY_WORDS).unwrap_or_default();
                return if is_plain { HierarchySpec::Plain } else { HierarchySpec::Body };
            }
            self.wrong_type(at, "\"body\", \"plain\" or a section [hierarchy] with lines like \"foot.L\" = \"shin.L\"");
            return HierarchySpec::default();
        };
        let mut told = Vec::new();
        for (bone, _) in table.iter() {
            let Some(at) = At::of(table, bone, &at.path) else { continue };
            if let Some(inner) = at.item.as_table_like() {
                if !self.refuse_unquoted(bone, &at, inner, &[]) {
                    self.wrong_type(&at, FOLLOWED);
                }
            } else if let Some(parent) = self.name(&at, FOLLOWED, "name the bone it follows") {
                told.push((bone.to_owned(), parent));
            }
        }
        HierarchySpec::Told(told)
    }

    /// `auto`, `none`, or a list of names of that kind.
    fn auto_or_names(&mut self, at: &At<'_>, kind: [&'static str; 2], example: &str) -> Chosen {
        if at.item.as_str().is_some() {
            return match self.word(at, AUTO_WORDS) {
                Some(true) => Chosen::Auto,
                _ => Chosen::None,
            };
        }
        Chosen::Only(self.names(at, kind, &format!("\"auto\", \"none\" or a list such as {example}")))
    }

    /// A list of roles, bones or meshes.
    pub(super) fn part_names(&mut self, at: &At<'_>, expected: &str) -> Vec<String> {
        self.names(at, PIECE, expected)
    }

    fn names(&mut self, at: &At<'_>, kind: [&'static str; 2], expected: &str) -> Vec<String> {
        let mut names = Vec::new();
        for (offset, path, item) in self.list(at, expected) {
            let at = At { item: &item, path, offset };
            names.extend(self.name(&at, kind[0], kind[1]));
        }
        names
    }

    /// A number of sizes, or a table that also says how it binds.
    fn max_total(&mut self, at: &At<'_>) -> Option<TotalLimit> {
        let Some(table) = at.item.as_table_like() else {
            return self.number(at, TOTAL_LENGTH).map(|length| TotalLimit { length, soft: true });
        };
        self.refuse_unknown(table, &at.path, ["length", "soft"].into_iter(), None);
        let soft = At::of(table, "soft", &at.path).and_then(|at| self.switch(&at)).unwrap_or(true);
        let Some(length) = At::of(table, "length", &at.path) else {
            let add = "length = 0.5".to_owned();
            self.fault(
                at.value_offset(),
                &at.path,
                Fault::Missing { what: "how far the effects may move a point", add },
            );
            return None;
        };
        self.number(&length, TOTAL_LENGTH).map(|length| TotalLimit { length, soft })
    }

    fn version(&mut self, root: &dyn TableLike) -> bool {
        let Some(at) = At::of(root, "version", "") else {
            self.fault(0, "version", Fault::NoVersion { known: VERSION });
            return false;
        };
        match at.item.as_integer() {
            Some(VERSION) => return true,
            Some(found) if found > VERSION => {
                self.fault(at.value_offset(), &at.path, Fault::NewerVersion { needed: found, known: VERSION });
            }
            Some(found) => self.fault(at.value_offset(), &at.path, Fault::NoSuchVersion { found, known: VERSION }),
            None => self.wrong_type(&at, format!("the whole number {VERSION}")),
        }
        false
    }

    /// In a `section`, a key may have strayed from another.
    pub(super) fn refuse_unknown<'a>(
        &mut self,
        table: &dyn TableLike,
        path: &str,
        valid: impl Iterator<Item = &'a str> + Clone,
        section: Option<Section>,
    ) {
        for (key, _) in table.iter().filter(|&(key, _)| !valid.clone().any(|name| name == key)) {
            let Some(at) = At::of(table, key, path) else { continue };
            // `[effect.clip]` is a slip for `[effect.clips]`, though files have a `[clip]` of their own.
            let is_slip = valid.clone().any(|name| is_slip(key, name));
            let fault = match section.and_then(|section| section.belongs(key)).filter(|_| !is_slip) {
                Some(belongs) => Fault::Misplaced { belongs },
                None => Fault::UnknownKey {
                    nearest: nearest(key, valid.clone()),
                    valid: valid.clone().map(str::to_owned).collect(),
                },
            };
            self.fault(at.offset, &at.path, fault);
        }
    }

    /// `ear.L = 2.0` is a table in a table to TOML, but the dot was meant as part of the name: a key that is not
    /// `valid` and holds a table, or that is not even like a valid one, says so.
    pub(super) fn refuse_unquoted(&mut self, name: &str, at: &At<'_>, table: &dyn TableLike, valid: &[&str]) -> bool {
        let part_of_name = |&(key, item): &(&str, &Item)| {
            let unlike = table.is_dotted() && nearest(key, valid.iter().copied()).is_none();
            !valid.contains(&key) && (item.is_table_like() || unlike)
        };
        let Some((key, mut item)) = table.iter().find(part_of_name) else { return false };
        let mut name = format!("{name}.{key}");
        while let Some((key, inner)) = item.as_table_like().and_then(|table| table.iter().next())
            && !valid.contains(&key)
        {
            name = format!("{name}.{key}");
            item = inner;
        }
        self.fault(at.offset, &at.path, Fault::Unquoted { name });
        true
    }

    pub(super) fn table<'a>(&mut self, at: &At<'a>, expected: &str) -> Option<&'a dyn TableLike> {
        let table = at.item.as_table_like();
        if table.is_none() {
            self.wrong_type(at, expected);
        }
        table
    }

    pub(super) fn number(&mut self, at: &At<'_>, range: Range) -> Option<f64> {
        let value = match at.item {
            Item::Value(Value::Integer(value)) => *value.value() as f64,
            Item::Value(Value::Float(value)) => *value.value(),
            _ => {
                self.wrong_type(at, format!("a number, {range}"));
                return None;
            }
        };
        if range.holds(value) {
            return Some(value);
        }
        let Range { min, max, unit } = range;
        self.fault(at.value_offset(), &at.path, Fault::OutOfRange { value, min, max, unit });
        None
    }

    pub(super) fn switch(&mut self, at: &At<'_>) -> Option<bool> {
        let value = at.item.as_bool();
        if value.is_none() {
            self.wrong_type(at, "true or false");
        }
        value
    }

    pub(super) fn name(&mut self, at: &At<'_>, expected: &str, remedy: &'static str) -> Option<String> {
        match at.item.as_str() {
            None => self.wrong_type(at, expected),
            Some("") => self.fault(at.value_offset(), &at.path, Fault::EmptyName { remedy }),
            Some(name) => return Some(name.to_owned()),
        }
        None
    }

    pub(super) fn map_name(&mut self, at: &At<'_>) -> Option<String> {
        self.name(at, "the name of a painted map in quotes", "name a painted map or leave the key out")
    }

    pub(super) fn word<T: Copy>(&mut self, at: &At<'_>, words: &[(&str, T)]) -> Option<T> {
        let names = words.iter().map(|&(word, _)| word);
        let Some(found) = at.item.as_str() else {
            let quoted: Vec<String> = names.map(|word| format!("\"{word}\"")).collect();
            self.wrong_type(at, one_of(quoted.iter().map(String::as_str)));
            return None;
        };
        let value = words.iter().find(|&&(word, _)| word == found).map(|&(_, value)| value);
        if value.is_none() {
            let fault = Fault::UnknownWord {
                found: found.to_owned(),
                nearest: nearest(found, names.clone()),
                valid: names.map(|word| format!("\"{word}\"")).collect(),
            };
            self.fault(at.value_offset(), &at.path, fault);
        }
        value
    }

    /// The elements of a list.
    pub(super) fn list(&mut self, at: &At<'_>, expected: &str) -> Vec<(usize, String, Item)> {
        let Some(array) = at.item.as_array() else {
            self.wrong_type(at, expected);
            return Vec::new();
        };
        let element = |(index, value): (usize, &Value)| {
            let offset = value.span().map_or(at.offset, |span| span.start);
            (offset, format!("{}[{index}]", at.path), Item::Value(value.clone()))
        };
        array.iter().enumerate().map(element).collect()
    }

    /// Map files, each with its hash where the recipe holds that.
    fn maps(&mut self, at: &At<'_>) -> Vec<(String, Option<u64>)> {
        let mut maps = Vec::new();
        for (offset, path, item) in self.list(at, "a list of map files, such as [\"belly.map.json\"]") {
            let at = At { item: &item, path, offset };
            let (file, hash) = match item.as_table_like() {
                None => (Some(self.map_path(&at)), None),
                Some(table) => {
                    self.refuse_unknown(table, &at.path, ["file", "hash"].into_iter(), None);
                    let hash = At::of(table, "hash", &at.path);
                    (At::of(table, "file", &at.path).map(|at| self.map_path(&at)), hash.and_then(|at| self.hash(&at)))
                }
            };
            match file {
                Some(file) => maps.extend(file.map(|file| (file, hash))),
                None => self.wrong_type(&at, "a map file, such as { file = \"belly.map.json\" }"),
            }
        }
        maps
    }

    fn map_path(&mut self, at: &At<'_>) -> Option<String> {
        let map = self.name(at, "the path of a map file in quotes", "name a map file or remove it")?;
        let leaves = map.starts_with(['/', '\\']) || map.contains(':') || map.split(['/', '\\']).any(|p| p == "..");
        if leaves {
            self.fault(at.value_offset(), &at.path, Fault::NotBeside { found: map });
            return None;
        }
        Some(map)
    }

    fn hash(&mut self, at: &At<'_>) -> Option<u64> {
        let digits = at.item.as_str().filter(|text| text.len() == 16 && text.bytes().all(|c| c.is_ascii_hexdigit()));
        let hash = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if hash.is_none() {
            self.wrong_type(at, "16 hexadecimal digits in quotes, or no hash at all");
        }
        hash
    }

    fn motion(&mut self, table: &dyn TableLike, path: &str, section: Section) -> MotionKeys {
        let valid = if section == Section::Clip { CLIP_KEYS } else { MOTION_KEYS };
        self.refuse_unknown(table, path, valid.iter().copied(), Some(section));
        let mut keys = MotionKeys::default();
        if let Some(at) = At::of(table, "loop", path) {
            keys.looping = self.word(&at, LOOP_WORDS);
        }
        if let Some(at) = At::of(table, "ends", path) {
            keys.ends = self.word(&at, ENDS_WORDS);
        }
        if let Some(at) = At::of(table, "travel", path) {
            keys.travel = self.word(&at, TRAVEL_WORDS);
        }
        if let Some(at) = At::of(table, "smoothing", path) {
            keys.smoothing = self.smoothing(&at);
        }
        if valid.contains(&"teleports")
            && let Some(at) = At::of(table, "teleports", path)
        {
            let mut times = Vec::new();
            for (offset, path, item) in self.list(&at, "a list of seconds, such as [0.5]") {
                times.extend(self.number(&At { item: &item, path, offset }, TIME));
            }
            keys.teleports = Some(times);
        }
        if valid.contains(&"contacts")
            && let Some(at) = At::of(table, "contacts", path)
        {
            keys.contacts = Some(self.contacts(&at));
        }
        keys
    }

    /// Bones, each with the spans in which it stands.
    fn contacts(&mut self, at: &At<'_>) -> Vec<(String, Spans)> {
        const SPANS: &str = "a list of spans in seconds, such as [[0.0, 0.4]]";
        let Some(table) = self.table(at, "a table of bones, such as { \"foot.L\" = [[0.0, 0.4]] }") else {
            return Vec::new();
        };
        let mut contacts = Vec::new();
        for (bone, _) in table.iter() {
            let Some(at) = At::of(table, bone, &at.path) else { continue };
            let mut spans = Vec::new();
            for (offset, path, item) in self.list(&at, SPANS) {
                let span = At { item: &item, path, offset };
                let mut ends = Vec::new();
                for (offset, path, item) in self.list(&span, SPANS) {
                    ends.extend(self.number(&At { item: &item, path, offset }, TIME));
                }
                match ends[..] {
                    [from, to] if from <= to => spans.push((from, to)),
                    _ => self.wrong_type(&span, "two times in seconds, the earlier one first, such as [0.0, 0.4]"),
                }
            }
            contacts.push((bone.to_owned(), spans));
        }
        contacts
    }

    fn smoothing(&mut self, at: &At<'_>) -> Option<Smoothing> {
        match at.item {
            Item::Value(Value::Integer(_) | Value::Float(_)) => self.number(at, SMOOTHING).map(Smoothing::Box),
            Item::Value(Value::String(word)) if word.value() == "auto" => Some(Smoothing::Auto),
            _ => {
                self.wrong_type(at, format!("\"auto\" or {SMOOTHING}"));
                None
            }
        }
    }

    fn clips(&mut self, table: &dyn TableLike, path: &str) -> Vec<(String, MotionKeys)> {
        let mut clips = Vec::new();
        for (name, _) in table.iter() {
            let Some(at) = At::of(table, name, path) else { continue };
            let Some(inner) = self.table(&at, "a section [clip.\"NAME\"]") else { continue };
            if !self.refuse_unquoted(name, &at, inner, CLIP_KEYS) {
                clips.push((name.to_owned(), self.motion(inner, &at.path, Section::Clip)));
            }
        }
        clips
    }

    /// Sections in double brackets, or the same as a list of tables such as `example`.
    fn sections<T>(
        &mut self,
        at: &At<'_>,
        example: &str,
        mut read: impl FnMut(&mut Self, &dyn TableLike, usize, &str) -> Option<T>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        match at.item {
            Item::ArrayOfTables(tables) => {
                for (index, table) in tables.iter().enumerate() {
                    let offset = table.span().map_or(at.offset, |span| span.start);
                    found.extend(read(self, table, offset, &format!("{}[{index}]", at.path)));
                }
            }
            Item::Value(Value::Array(_)) => {
                for (offset, path, item) in self.list(at, &format!("sections [[{}]]", at.path)) {
                    let at = At { item: &item, path, offset };
                    if let Some(table) = self.table(&at, &format!("a table such as {example}")) {
                        found.extend(read(self, table, offset, &at.path));
                    }
                }
            }
            _ => self.wrong_type(at, format!("sections [[{}]], with two brackets", at.path)),
        }
        found
    }
}

/// A value in the words of an error.
fn describe(item: &Item) -> String {
    /// Longest text quoted whole.
    const LONGEST: usize = 40;
    match item {
        Item::Value(Value::String(text)) if text.value().chars().count() > LONGEST => "a long text".to_owned(),
        Item::Value(Value::String(text)) => format!("the text {:?}", text.value()),
        Item::Value(Value::Integer(number)) => format!("the number {}", number.value()),
        Item::Value(Value::Float(number)) => format!("the number {}", number.value()),
        Item::Value(Value::Boolean(switch)) => switch.value().to_string(),
        Item::Value(Value::Datetime(_)) => "a date".to_owned(),
        Item::Value(Value::Array(list)) if list.is_empty() => "an empty list".to_owned(),
        Item::Value(Value::Array(_)) => "a list".to_owned(),
        Item::Value(Value::InlineTable(_)) | Item::Table(_) => "a table".to_owned(),
        Item::ArrayOfTables(_) => "a list of tables".to_owned(),
        Item::None => "nothing".to_owned(),
    }
}
