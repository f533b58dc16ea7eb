//! How two files differ in what they mean.
//!
//! The JSON trees are compared member by member; the order of members does not count, and neither does whether a
//! default is spelled out. How data are laid out in buffers does not count either: where a member refers to an accessor,
//! what the accessor holds is compared, and for images the bytes of the picture, wherever they lie. Entries of arrays
//! are matched by their number.
//!
//! Source of the defaults: the JSON schemas of glTF 2.0. Oracle: files changed in one known way (`tests/diff.rs`).
//!
//! [`in_motion`] tells how far apart two characters move.

mod defaults;
mod motion;

pub use motion::{ClipDistance, in_motion};

use crate::accessor::{Accessor, Accessors};
use crate::document::Document;
use crate::references;
use crate::uri;
use crate::view::{View, escaped};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// JSON pointer, the same in both files unless one of them lacks it.
    pub pointer: String,
    /// The element in words, such as `animation 0 "Run", sampler 3, output`.
    pub element: String,
    /// What is different.
    pub change: Change,
}

/// What is different.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The second file lacks it.
    OnlyInFirst,
    /// The first file lacks it.
    OnlyInSecond,
    /// Other values, as JSON.
    Value {
        /// In the first file.
        first: Value,
        /// In the second file.
        second: Value,
    },
    /// Data of another kind or number, in words.
    Shape {
        /// In the first file.
        first: String,
        /// In the second file.
        second: String,
    },
    /// Other numbers in accessors of the same shape.
    Numbers {
        /// How many differ.
        differing: usize,
        /// Of how many.
        of: usize,
        /// The largest difference.
        largest: f64,
        /// The element that has it.
        element: usize,
    },
    /// Other bytes.
    Bytes {
        /// How many in the first file.
        first: usize,
        /// How many in the second file.
        second: usize,
    },
}

/// All differences, in the order of the first file's JSON. Numbers that differ by at most `tolerance`, as a share of
/// the larger one, or of the largest in their accessor, count as equal.
pub fn diff(first: &Document, second: &Document, tolerance: f64) -> Vec<Difference> {
    let mut comparison = Comparison {
        first: Side::new(first),
        second: Side::new(second),
        tolerance,
        compared: HashSet::new(),
        path: Vec::new(),
        found: Vec::new(),
    };
    comparison.run();
    comparison.found
}

/// Top-level arrays that are compared where they are referred to.
const BY_REFERENCE: [&str; 4] = ["buffers", "bufferViews", "accessors", "images"];

/// Members of an accessor that [`Comparison::accessors`] looks at by itself, or that are layout.
const OF_ACCESSOR: [&str; 9] =
    ["bufferView", "byteOffset", "componentType", "count", "type", "normalized", "sparse", "min", "max"];

struct Side<'a> {
    document: &'a Document,
    json: &'a Value,
    accessors: Accessors<'a>,
}

impl<'a> Side<'a> {
    fn new(document: &'a Document) -> Self {
        let json = &document.json;
        Self { document, json, accessors: Accessors::new(View::root(json), &document.buffers, &document.limits) }
    }

    fn entry(&self, array: &str, index: usize) -> Option<&'a Value> {
        self.json.get(array)?.get(index)
    }

    fn length(&self, array: &str) -> usize {
        self.json.get(array).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Entries of `array` that nothing refers to.
    fn loose(&self, array: &str) -> Vec<usize> {
        let mut loose: BTreeSet<usize> = (0..self.length(array)).collect();
        references::visit(self.json, &mut |_, referred, index| {
            if referred == array {
                loose.remove(&index);
            }
        });
        loose.into_iter().collect()
    }

    /// The bytes of a buffer view, if it is sound.
    fn view_bytes(&self, index: usize) -> Option<&'a [u8]> {
        let view = self.entry("bufferViews", index)?;
        let number = |key: &str| usize::try_from(view.get(key)?.as_u64()?).ok();
        let start = number("byteOffset").unwrap_or(0);
        self.document.buffers.get(number("buffer")?)?.get(start..start.checked_add(number("byteLength")?)?)
    }

    /// The bytes of an image, wherever they lie; `None` where they cannot be had.
    fn image_bytes(&self, index: usize) -> Option<Vec<u8>> {
        let image = self.entry("images", index)?;
        if let Some(view) = image.get("bufferView").and_then(Value::as_u64) {
            return self.view_bytes(usize::try_from(view).ok()?).map(<[u8]>::to_vec);
        }
        let uri = View::root(self.json).entry("images", index).ok()?.need("uri").ok()?;
        uri::resolve_whole(&uri, self.document.folder.as_deref(), self.document.limits.file_bytes).ok()
    }
}

struct Comparison<'a> {
    first: Side<'a>,
    second: Side<'a>,
    tolerance: f64,
    /// Accessors compared already: a difference is told once.
    compared: HashSet<(usize, usize)>,
    path: Vec<String>,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn run(&mut self) {
        let (first, second) = (self.first.json, self.second.json);
        if let (Some(a), Some(b)) = (first.as_object(), second.as_object()) {
            for key in keys(a, b).filter(|key| !BY_REFERENCE.contains(key)).map(str::to_owned).collect::<Vec<_>>() {
                self.inside(&key, |this| this.values(a.get(&key), b.get(&key)));
            }
        }
        self.images();
        self.loose_accessors();
        self.loose_views();
        let chunks = |side: &Side<'_>| side.document.other_chunks.clone();
        let (a, b) = (chunks(&self.first), chunks(&self.second));
        if a != b {
            let bytes = |chunks: &[(u32, Vec<u8>)]| chunks.iter().map(|(_, bytes)| bytes.len()).sum();
            let change = Change::Bytes { first: bytes(&a), second: bytes(&b) };
            let element = "GLB chunks of other programs".to_owned();
            self.found.push(Difference { pointer: String::new(), element, change });
        }
    }

    fn inside(&mut self, segment: &str, compare: impl FnOnce(&mut Self)) {
        self.path.push(segment.to_owned());
        compare(self);
        self.path.pop();
    }

    fn report(&mut self, change: Change) {
        let pointer: String = self.path.iter().map(|segment| format!("/{}", escaped(segment))).collect();
        let json = if change == Change::OnlyInSecond { self.second.json } else { self.first.json };
        self.found.push(Difference { element: View::words_at(json, &pointer), pointer, change });
    }

    fn values(&mut self, a: Option<&Value>, b: Option<&Value>) {
        match (a, b) {
            (None, None) => {}
            (Some(a), Some(b)) => self.both(a, b),
            (Some(only), None) => {
                if !defaults::is_void(&mut self.path, only) {
                    self.report(Change::OnlyInFirst);
                }
            }
            (None, Some(only)) => {
                if !defaults::is_void(&mut self.path, only) {
                    self.report(Change::OnlyInSecond);
                }
            }
        }
    }

    fn both(&mut self, a: &Value, b: &Value) {
        if let (Some("accessors"), Some(a), Some(b)) = (references::array_of(&self.path), index(a), index(b)) {
            return self.accessors(a, b);
        }
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => self.members(a, b, &[]),
            (Value::Array(a), Value::Array(b)) if is_set(&self.path) => {
                let set = |list: &[Value]| list.iter().map(Value::to_string).collect::<BTreeSet<_>>();
                if set(a) != set(b) {
                    self.report(Change::Value { first: a.clone().into(), second: b.clone().into() });
                }
            }
            (Value::Array(a), Value::Array(b)) if a.iter().chain(b).all(Value::is_number) => {
                let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_number(a, b));
                if !same {
                    self.report(Change::Value { first: a.clone().into(), second: b.clone().into() });
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                for n in 0..a.len().max(b.len()) {
                    self.inside(&n.to_string(), |this| match (a.get(n), b.get(n)) {
                        (Some(a), Some(b)) => this.both(a, b),
                        (Some(_), None) => this.report(Change::OnlyInFirst),
                        _ => this.report(Change::OnlyInSecond),
                    });
                }
            }
            (Value::Number(_), Value::Number(_)) if self.same_number(a, b) => {}
            _ if a == b => {}
            _ => self.report(Change::Value { first: a.clone(), second: b.clone() }),
        }
    }

    fn members(&mut self, a: &Map<String, Value>, b: &Map<String, Value>, but: &[&str]) {
        for key in keys(a, b).filter(|key| !but.contains(key)) {
            self.inside(key, |this| this.values(a.get(key), b.get(key)));
        }
    }

    fn same_number(&self, a: &Value, b: &Value) -> bool {
        match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a == b || (a - b).abs() <= self.tolerance * a.abs().max(b.abs()),
            _ => a == b,
        }
    }

    /// What two accessors hold. The difference is told where the first pair of members refers to them.
    fn accessors(&mut self, a: usize, b: usize) {
        if !self.compared.insert((a, b)) {
            return;
        }
        if let Some(change) = self.accessor_change(a, b) {
            self.report(change);
        }
        if let (Some(Value::Object(x)), Some(Value::Object(y))) =
            (self.first.entry("accessors", a), self.second.entry("accessors", b))
        {
            let path = std::mem::replace(&mut self.path, vec!["accessors".into(), a.to_string()]);
            self.members(x, y, &OF_ACCESSOR);
            for key in ["min", "max"] {
                // They follow from the data, so one may leave them out.
                if let (Some(x), Some(y)) = (x.get(key), y.get(key)) {
                    self.inside(key, |this| this.both(x, y));
                }
            }
            self.path = path;
        }
    }

    fn accessor_change(&self, a: usize, b: usize) -> Option<Change> {
        let (Ok(x), Ok(y)) =
            (self.first.accessors.open_entry(a, String::new()), self.second.accessors.open_entry(b, String::new()))
        else {
            // What cannot be read can still be the same.
            let (x, y) = (self.first.entry("accessors", a), self.second.entry("accessors", b));
            let json = |value: Option<&Value>| value.cloned().unwrap_or_default();
            return (x != y).then(|| Change::Value { first: json(x), second: json(y) });
        };
        let (first, second) = (shape(&x), shape(&y));
        if first != second {
            return Some(Change::Shape { first, second });
        }
        if x.packed_bytes().is_some_and(|bytes| y.packed_bytes() == Some(bytes)) {
            return None;
        }
        let (Ok(numbers), Ok(others)) = (x.numbers(), y.numbers()) else {
            return Some(Change::Shape { first: "too much to compare".into(), second: "too much to compare".into() });
        };
        let scale = numbers.iter().chain(&others).fold(0.0, |scale: f64, n| scale.max(n.abs()));
        let allowed = self.tolerance * scale;
        let (mut differing, mut largest, mut place) = (0, 0.0, 0);
        for (n, (a, b)) in numbers.iter().zip(&others).enumerate() {
            let gap = if a.to_bits() == b.to_bits() { 0.0 } else { (a - b).abs() };
            // A number against one that is none is infinitely far.
            let gap = if gap.is_nan() { f64::INFINITY } else { gap };
            if gap > allowed {
                differing += 1;
                if gap > largest {
                    (largest, place) = (gap, n);
                }
            }
        }
        let element = place / (numbers.len() / x.count.max(1)).max(1);
        (differing > 0).then_some(Change::Numbers { differing, of: numbers.len(), largest, element })
    }

    fn images(&mut self) {
        let count = self.first.length("images").max(self.second.length("images"));
        for n in 0..count {
            self.path = vec!["images".into(), n.to_string()];
            match (self.first.entry("images", n), self.second.entry("images", n)) {
                (Some(Value::Object(a)), Some(Value::Object(b))) => {
                    self.members(a, b, &["uri", "bufferView", "mimeType"]);
                    // The kind of picture follows from its bytes.
                    if let (Some(x), Some(y)) = (a.get("mimeType"), b.get("mimeType")) {
                        self.inside("mimeType", |this| this.both(x, y));
                    }
                    match (self.first.image_bytes(n), self.second.image_bytes(n)) {
                        (None, None) => self.inside("uri", |this| this.values(a.get("uri"), b.get("uri"))),
                        (x, y) if x == y => {}
                        (x, y) => {
                            let length = |bytes: Option<Vec<u8>>| bytes.map_or(0, |bytes| bytes.len());
                            self.report(Change::Bytes { first: length(x), second: length(y) });
                        }
                    }
                }
                (a, b) => self.entries(a, b),
            }
        }
        self.path.clear();
    }

    fn entries(&mut self, a: Option<&Value>, b: Option<&Value>) {
        match (a, b) {
            (Some(a), Some(b)) => self.both(a, b),
            (Some(_), None) => self.report(Change::OnlyInFirst),
            (None, Some(_)) => self.report(Change::OnlyInSecond),
            (None, None) => {}
        }
    }

    /// Accessors that only extensions can refer to, in their order.
    fn loose_accessors(&mut self) {
        let (a, b) = (self.first.loose("accessors"), self.second.loose("accessors"));
        for n in 0..a.len().max(b.len()) {
            let number = a.get(n).or(b.get(n)).map_or(String::new(), usize::to_string);
            self.path = vec!["accessors".into(), number];
            match (a.get(n), b.get(n)) {
                (Some(&a), Some(&b)) => self.accessors(a, b),
                (Some(_), None) => self.report(Change::OnlyInFirst),
                _ => self.report(Change::OnlyInSecond),
            }
        }
        self.path.clear();
    }

    /// Buffer views that only extensions can refer to, in their order.
    fn loose_views(&mut self) {
        let (a, b) = (self.first.loose("bufferViews"), self.second.loose("bufferViews"));
        for n in 0..a.len().max(b.len()) {
            let bytes = |side: &Side<'_>, views: &[usize]| {
                views.get(n).and_then(|&view| side.view_bytes(view)).map(<[u8]>::to_vec)
            };
            let (x, y) = (bytes(&self.first, &a), bytes(&self.second, &b));
            if x != y {
                let number = a.get(n).or(b.get(n)).map_or(String::new(), usize::to_string);
                self.path = vec!["bufferViews".into(), number];
                let length = |bytes: Option<Vec<u8>>| bytes.map_or(0, |bytes| bytes.len());
                self.report(Change::Bytes { first: length(x), second: length(y) });
            }
        }
        self.path.clear();
    }
}

/// Keys of both, those of the first in its order.
fn keys<'k>(a: &'k Map<String, Value>, b: &'k Map<String, Value>) -> impl Iterator<Item = &'k str> {
    a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).map(String::as_str)
}

fn index(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|index| usize::try_from(index).ok())
}

/// Lists whose order means nothing.
fn is_set(path: &[String]) -> bool {
    matches!(path, [list] if list == "extensionsUsed" || list == "extensionsRequired")
}

fn shape(accessor: &Accessor<'_>) -> String {
    let normalized = if accessor.normalized { "normalised " } else { "" };
    format!("{} {normalized}{} {}", accessor.count, accessor.component.name(), accessor.type_name)
}
