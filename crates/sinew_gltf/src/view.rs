//! Typed reading of the JSON tree. A [`View`] knows where it stands, so every complaint points at its element.

use crate::error::Fault;
use serde_json::{Map, Value};

/// A place in the JSON tree.
#[derive(Clone)]
pub(crate) struct View<'a> {
    root: &'a Value,
    value: &'a Value,
    pointer: String,
}

/// glTF's arrays and what one entry of each is called.
const ENTRIES: [(&str, &str); 16] = [
    ("accessors", "accessor"),
    ("animations", "animation"),
    ("buffers", "buffer"),
    ("bufferViews", "buffer view"),
    ("channels", "channel"),
    ("children", "child"),
    ("images", "image"),
    ("joints", "joint"),
    ("materials", "material"),
    ("meshes", "mesh"),
    ("nodes", "node"),
    ("primitives", "primitive"),
    ("samplers", "sampler"),
    ("scenes", "scene"),
    ("skins", "skin"),
    ("textures", "texture"),
];

impl<'a> View<'a> {
    pub fn root(json: &'a Value) -> Self {
        Self { root: json, value: json, pointer: String::new() }
    }

    /// The words for the place `pointer` of `json`, which need not exist.
    pub fn words_at(json: &'a Value, pointer: &str) -> String {
        Self { root: json, value: json, pointer: pointer.to_owned() }.words()
    }

    fn at(&self, segment: impl std::fmt::Display, value: &'a Value) -> Self {
        Self { root: self.root, value, pointer: format!("{}/{segment}", self.pointer) }
    }

    /// Where this is, as a JSON pointer.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The JSON here.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The element in words: `mesh 1 "Body", primitive 0, POSITION`.
    pub fn words(&self) -> String {
        let mut words = String::new();
        let mut value = Some(self.root);
        let mut segments = self.pointer.split('/').skip(1).peekable();
        while let Some(segment) = segments.next() {
            value = value.and_then(|v| step(v, segment));
            let entry = ENTRIES.iter().find(|(array, _)| *array == segment);
            let number = segments.next_if(|next| entry.is_some() && next.parse::<usize>().is_ok());
            if segment == "attributes" && segments.peek().is_some() {
                continue;
            }
            if !words.is_empty() {
                words.push_str(", ");
            }
            match (entry, number) {
                (Some((_, entry)), Some(number)) => {
                    value = value.and_then(|v| step(v, number));
                    words.push_str(&format!("{entry} {number}"));
                    if let Some(name) = value.and_then(|v| v.get("name")).and_then(Value::as_str) {
                        words.push_str(&format!(" {}", quoted(name)));
                    }
                }
                _ => words.push_str(segment),
            }
        }
        if words.is_empty() { "the file".into() } else { words }
    }

    /// A refusal that points here.
    pub fn invalid(&self, fault: impl Into<String>) -> Fault {
        Fault::invalid(self.element(), fault)
    }

    /// Words and JSON pointer, for errors.
    pub fn element(&self) -> String {
        if self.pointer.is_empty() { self.words() } else { format!("{} [{}]", self.words(), self.pointer) }
    }

    fn object(&self) -> Result<&'a Map<String, Value>, Fault> {
        self.value.as_object().ok_or_else(|| self.invalid(format!("is {}, not an object", kind_of(self.value))))
    }

    /// Member `key`, if there.
    pub fn get(&self, key: &str) -> Result<Option<Self>, Fault> {
        Ok(self.object()?.get(key).map(|value| self.at(key, value)))
    }

    /// Member `key`, which must be there.
    pub fn need(&self, key: &str) -> Result<Self, Fault> {
        self.get(key)?.ok_or_else(|| self.invalid(format!("has no \"{key}\"")))
    }

    /// All members of an object.
    pub fn members(&self) -> Result<Vec<(&'a str, Self)>, Fault> {
        Ok(self.object()?.iter().map(|(key, value)| (key.as_str(), self.at(escaped(key), value))).collect())
    }

    fn array(&self) -> Result<&'a [Value], Fault> {
        let array = self.value.as_array().map(Vec::as_slice);
        array.ok_or_else(|| self.invalid(format!("is {}, not an array", kind_of(self.value))))
    }

    /// The entries of this array.
    pub fn entries(&self) -> Result<Vec<Self>, Fault> {
        Ok(self.array()?.iter().enumerate().map(|(index, value)| self.at(index, value)).collect())
    }

    /// The entries of the array `key`; none if it is absent.
    pub fn list(&self, key: &str) -> Result<Vec<Self>, Fault> {
        self.get(key)?.map_or(Ok(Vec::new()), |array| array.entries())
    }

    /// How many entries the array `key` has; 0 if it is absent.
    pub fn length(&self, key: &str) -> Result<usize, Fault> {
        self.get(key)?.map_or(Ok(0), |view| Ok(view.array()?.len()))
    }

    /// The first entry of the array `key`, if there.
    pub fn first(&self, key: &str) -> Result<Option<Self>, Fault> {
        let Some(view) = self.get(key)? else { return Ok(None) };
        Ok(view.array()?.first().map(|value| view.at(0, value)))
    }

    pub fn number(&self) -> Result<f64, Fault> {
        let number = self
            .value
            .as_f64()
            .ok_or_else(|| self.invalid(format!("is {}, but a number is expected", kind_of(self.value))))?;
        // Everything ends in f32 somewhere; what overflows there is as good as infinite.
        if (number as f32).is_finite() { Ok(number) } else { Err(self.invalid(format!("is {number}, out of range"))) }
    }

    pub fn whole(&self) -> Result<u64, Fault> {
        let fractionless = |x: f64| (x.fract() == 0.0 && (0.0..9.0e15).contains(&x)).then_some(x as u64);
        self.value
            .as_u64()
            .or_else(|| self.value.as_f64().and_then(fractionless))
            .ok_or_else(|| self.invalid(format!("is {}, but a whole number from 0 is expected", shown(self.value))))
    }

    pub fn text(&self) -> Result<&'a str, Fault> {
        self.value.as_str().ok_or_else(|| self.invalid(format!("is {}, but text is expected", kind_of(self.value))))
    }

    pub fn truth(&self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.invalid(format!("is {}, not true or false", kind_of(self.value))))
    }

    /// Whole number `key`, if there.
    pub fn whole_at(&self, key: &str) -> Result<Option<u64>, Fault> {
        self.get(key)?.map(|v| v.whole()).transpose()
    }

    /// Exactly `N` numbers at `key`, if there.
    pub fn numbers_at<const N: usize>(&self, key: &str) -> Result<Option<[f64; N]>, Fault> {
        let Some(array) = self.get(key)? else { return Ok(None) };
        let entries = array.entries()?;
        if entries.len() != N {
            return Err(array.invalid(format!("has {} numbers, but {N} are expected", entries.len())));
        }
        let mut numbers = [0.0; N];
        for (number, entry) in numbers.iter_mut().zip(&entries) {
            *number = entry.number()?;
        }
        Ok(Some(numbers))
    }

    /// The `name` of this element; empty if it has none (or it is no text: names are not worth refusing a file).
    pub fn name(&self) -> String {
        self.value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// This value as an index into the file's top-level array `array`.
    pub fn reference(&self, array: &str) -> Result<usize, Fault> {
        let index = self.whole()?;
        let count = self.root.get(array).and_then(Value::as_array).map_or(0, Vec::len);
        usize::try_from(index).ok().filter(|&index| index < count).ok_or_else(|| {
            let entry = ENTRIES.iter().find(|(name, _)| *name == array).map_or(array, |(_, entry)| entry);
            self.invalid(format!("names {entry} {index}, but the file has only {count} {array}"))
        })
    }

    /// The entry of the top-level array `array` that member `key` names, if there.
    pub fn reference_at(&self, key: &str, array: &str) -> Result<Option<usize>, Fault> {
        self.get(key)?.map(|v| v.reference(array)).transpose()
    }

    /// Entry `index` of the file's top-level array `array`.
    pub fn entry(&self, array: &str, index: usize) -> Result<Self, Fault> {
        let top = Self::root(self.root);
        let entry = self.root.get(array).and_then(|v| v.get(index));
        entry
            .map(|value| Self { root: self.root, value, pointer: format!("/{array}/{index}") })
            .ok_or_else(|| top.invalid(format!("has no entry {index} in \"{array}\"")))
    }
}

/// A name for a message, cut where it would fill one.
pub(crate) fn quoted(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("\"{}…\"", &name[..end]),
        None => format!("\"{name}\""),
    }
}

/// A key as JSON pointers write it (RFC 6901).
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn step<'a>(value: &'a Value, segment: &str) -> Option<&'a Value> {
    match value {
        Value::Array(array) => array.get(segment.parse::<usize>().ok()?),
        _ => value.get(segment),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    if let Value::Number(number) = value { number.to_string() } else { kind_of(value).into() }
}
