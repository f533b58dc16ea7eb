//! Changes to a packed document, made through one hand that notes how each is taken back.
//!
//! New data goes to the end of buffer 0, new entries to the end of their arrays; members changed in place are noted
//! with what they were. What lies inside an entry added here needs no note: it goes with the entry.

use crate::accessor::Component;
use crate::document::Document;
use crate::encode::{Packing, meshopt};
use crate::error::WriteError;
use crate::note::{Added, Note, PLACE, Replaced, Span, fingerprint};
use crate::write::{ALIGNMENT, align};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// What a block of numbers is for: it decides how its buffer view is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// A vertex attribute or a morph target.
    Vertex,
    /// Vertex indices.
    Index,
    /// Anything else: curves, matrices.
    Plain,
    /// Which elements of a sparse accessor are not zero, and what they are.
    Sparse,
}

/// How a block of numbers is described by its accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    pub role: Role,
    pub kind: Kind,
    /// Whether the accessor tells its smallest and largest element, as glTF asks of positions and key times.
    pub bounds: bool,
}

/// glTF's accessor types that Sinew writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Scalar,
    Vec3,
    Vec4,
    Mat4,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "SCALAR",
            Self::Vec3 => "VEC3",
            Self::Vec4 => "VEC4",
            Self::Mat4 => "MAT4",
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Vec3 => 3,
            Self::Vec4 => 4,
            Self::Mat4 => 16,
        }
    }
}

/// A number as accessors store it.
pub(crate) trait Number: Copy {
    const COMPONENT: Component;
    fn append(self, bytes: &mut Vec<u8>);
    fn value(self) -> f64;
}

macro_rules! number {
    ($($kind:ty = $component:ident),*) => {$(
        impl Number for $kind {
            const COMPONENT: Component = Component::$component;
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn value(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}

number!(i8 = I8, u8 = U8, i16 = I16, u16 = U16, u32 = U32, f32 = F32);

/// How numbers lie in an accessor: their type, and whether whole numbers stand for parts of the largest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Encoding {
    component: Component,
    normalized: bool,
}

/// What the JSON of a sparse accessor takes beyond that of a dense one, in bytes.
const SPARSE_JSON: usize = 128;

/// Storage of the numbers of elements in a sparse accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndexSize {
    One,
    Two,
    Four,
}

impl IndexSize {
    fn for_elements(count: usize) -> Self {
        match count {
            0..=0x100 => Self::One,
            0x101..=0x1_0000 => Self::Two,
            _ => Self::Four,
        }
    }

    fn component(self) -> Component {
        match self {
            Self::One => Component::U8,
            Self::Two => Component::U16,
            Self::Four => Component::U32,
        }
    }

    fn bytes(self) -> usize {
        self.component().size()
    }

    fn append(self, element: usize, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(element as u64).to_le_bytes()[..self.bytes()]);
    }
}

/// The members that dense and sparse accessors share.
fn describe(accessor: &mut Value, encoding: Encoding, count: usize, layout: Layout, (least, most): (&[f64], &[f64])) {
    accessor["componentType"] = encoding.component.code().into();
    if encoding.normalized {
        accessor["normalized"] = true.into();
    }
    accessor["count"] = count.into();
    accessor["type"] = layout.kind.name().into();
    if layout.bounds {
        accessor["min"] = least.into();
        accessor["max"] = most.into();
    }
}

/// A stretch of the buffer already written.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    length: usize,
    view: usize,
}

/// The buffer view that the next block may join.
struct OpenView {
    role: Role,
    stride: usize,
    start: usize,
    index: usize,
}

/// What was added to a document and is in no note yet.
#[derive(Clone, Debug)]
pub(crate) struct Unnoted {
    bytes_before: usize,
    created: Vec<String>,
    /// Arrays that grew, with their former length.
    grown: Vec<(String, usize)>,
    replaced: Vec<(String, Option<Value>)>,
}

/// A document being changed.
pub(crate) struct Edit<'a> {
    document: &'a mut Document,
    bytes_before: usize,
    created: Vec<String>,
    /// Arrays that grew, with their former length.
    grown: Vec<(String, usize)>,
    replaced: Vec<(String, Option<Value>)>,
    open_view: Option<OpenView>,
    blocks: HashMap<u64, Vec<Block>>,
    accessors: HashMap<(usize, usize, usize, Encoding, Layout), usize>,
}

fn missing(at: &str) -> WriteError {
    WriteError::Document {
        element: at.to_owned(),
        fault: "is missing or of the wrong type".into(),
        remedy: crate::error::REEXPORT,
    }
}

impl<'a> Edit<'a> {
    /// Begins changing a packed `document` that has a buffer.
    pub fn begin(document: &'a mut Document) -> Result<Self, WriteError> {
        let Some(buffer) = document.buffers.first() else { return Err(missing("/buffers/0")) };
        let bytes = buffer.len();
        let none = || Unnoted { bytes_before: bytes, created: Vec::new(), grown: Vec::new(), replaced: Vec::new() };
        let Unnoted { bytes_before, created, grown, replaced } = document.unnoted.take().unwrap_or_else(none);
        Ok(Self {
            document,
            bytes_before,
            created,
            grown,
            replaced,
            open_view: None,
            blocks: HashMap::new(),
            accessors: HashMap::new(),
        })
    }

    /// The JSON as it stands.
    pub fn json(&self) -> &Value {
        &self.document.json
    }

    /// Makes room for `bytes` more in the buffer.
    pub fn reserve(&mut self, bytes: usize) {
        self.document.buffers[0].reserve_exact(bytes);
    }

    /// Bytes added so far.
    pub fn bytes_added(&self) -> usize {
        self.document.buffers[0].len() - self.bytes_before
    }

    /// Appends an entry to the array at `array`, which is made where it is absent; returns its index.
    pub fn push(&mut self, array: &str, entry: Value) -> Result<usize, WriteError> {
        self.create(array, Value::Array(Vec::new()))?;
        let entries = self.document.json.pointer_mut(array).and_then(Value::as_array_mut);
        let entries = entries.ok_or_else(|| missing(array))?;
        let index = entries.len();
        entries.push(entry);
        if !self.goes_with_an_entry(array) && !self.grown.iter().any(|(grown, _)| grown == array) {
            self.grown.push((array.to_owned(), index));
        }
        Ok(index)
    }

    /// Puts an empty object or array where nothing is.
    pub fn create(&mut self, at: &str, empty: Value) -> Result<(), WriteError> {
        if self.document.json.pointer(at).is_none() {
            self.member(at, Some(empty))?;
            if !self.goes_with_an_entry(at) {
                self.created.push(at.to_owned());
            }
        }
        Ok(())
    }

    /// Sets the member at `at`, whose parent is there.
    pub fn set(&mut self, at: &str, value: Value) -> Result<(), WriteError> {
        self.replace(at, Some(value))
    }

    /// Removes the member at `at`, if it is there.
    pub fn remove(&mut self, at: &str) -> Result<(), WriteError> {
        if self.document.json.pointer(at).is_some() { self.replace(at, None) } else { Ok(()) }
    }

    fn replace(&mut self, at: &str, value: Option<Value>) -> Result<(), WriteError> {
        let was = self.member(at, value)?;
        let is_noted =
            |noted: &str| at.strip_prefix(noted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !self.goes_with_an_entry(at) && !self.replaced.iter().any(|(noted, _)| is_noted(noted)) {
            self.replaced.push((at.to_owned(), was));
        }
        Ok(())
    }

    /// Whether `at` lies inside an entry that was added.
    fn goes_with_an_entry(&self, at: &str) -> bool {
        self.grown.iter().any(|(array, from)| {
            let entry = at.strip_prefix(array.as_str()).and_then(|rest| rest.strip_prefix('/')?.split('/').next());
            entry.and_then(|entry| entry.parse::<usize>().ok()).is_some_and(|entry| entry >= *from)
        })
    }

    /// Changes the member at `at` and returns what was there.
    fn member(&mut self, at: &str, value: Option<Value>) -> Result<Option<Value>, WriteError> {
        change_member(&mut self.document.json, at, value).ok_or_else(|| missing(at))
    }

    /// Stores numbers as an accessor and returns its index; the same numbers are stored once.
    pub fn accessor<T: Number>(
        &mut self,
        layout: Layout,
        numbers: impl IntoIterator<Item = T>,
    ) -> Result<usize, WriteError> {
        self.rows(layout, 1, numbers)
    }

    /// As [`Self::accessor`], of elements that come in rows of so many: those of other rows lie in other buffer views, where
    /// views are packed.
    pub fn rows<T: Number>(
        &mut self,
        layout: Layout,
        per_row: usize,
        numbers: impl IntoIterator<Item = T>,
    ) -> Result<usize, WriteError> {
        let width = layout.kind.width();
        let (mut least, mut most) = ([f64::INFINITY; 16], [f64::NEG_INFINITY; 16]);
        let bytes = &mut self.document.buffers[0];
        align(bytes);
        let start = bytes.len();
        let mut written = 0;
        for number in numbers {
            let (lane, value) = (written % width, number.value());
            if !value.is_finite() {
                let fault = format!("has the value {value} at element {}", written / width);
                return Err(WriteError::Content { element: "numbers to be written".into(), fault });
            }
            least[lane] = least[lane].min(value);
            most[lane] = most[lane].max(value);
            number.append(bytes);
            written += 1;
        }
        let count = written / width;
        if count == 0 || written % width != 0 {
            let fault = format!("are {written} numbers, which make no whole elements of {width}");
            return Err(WriteError::Content { element: "numbers to be written".into(), fault });
        }
        let per_row = if self.document.packing.is_some() { per_row } else { 1 };
        let block = self.block(start, layout.role, T::COMPONENT.size() * width * per_row)?;
        let encoding = Encoding { component: T::COMPONENT, normalized: false };
        self.dense(block, encoding, count, layout, (&least[..width], &most[..width]))
    }

    /// Stores three numbers per vertex, normalised where `normalized` says so: elements that are all zero cost nothing
    /// where a sparse accessor is smaller than a dense one.
    pub fn vectors<T: Number>(
        &mut self,
        layout: Layout,
        normalized: bool,
        vectors: &[[T; 3]],
    ) -> Result<usize, WriteError> {
        let (mut least, mut most) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for (element, vector) in vectors.iter().enumerate() {
            for (lane, value) in vector.iter().map(|number| number.value()).enumerate() {
                if !value.is_finite() {
                    let fault = format!("has the value {value} at element {element}");
                    return Err(WriteError::Content { element: "numbers to be written".into(), fault });
                }
                least[lane] = least[lane].min(value);
                most[lane] = most[lane].max(value);
            }
        }
        let is_zero = |vector: &[T; 3]| vector.iter().all(|number| number.value() == 0.0);
        let used: Vec<usize> = (0..vectors.len()).filter(|&element| !is_zero(&vectors[element])).collect();
        let encoding = Encoding { component: T::COMPONENT, normalized };
        let size = 3 * T::COMPONENT.size();
        // Vertex attributes begin at multiples of four bytes, elements of sparse ones where the last ended.
        let stride = size.next_multiple_of(ALIGNMENT);
        let index = IndexSize::for_elements(vectors.len());
        let bounds = (&least[..], &most[..]);
        let start = self.start_block();
        let bytes = &mut self.document.buffers[0];
        for vector in vectors {
            vector.iter().for_each(|number| number.append(bytes));
            align(bytes);
        }
        let dense = match self.document.packing {
            None => vectors.len() * stride,
            Some(Packing::Meshopt) => meshopt::attributes(&bytes[start..], stride).len(),
        };
        if used.len() * (size + index.bytes()) + SPARSE_JSON < dense || used.is_empty() {
            bytes.truncate(start);
            return self.sparse(index, &used, encoding, vectors, layout, bounds);
        }
        let block = self.block(start, layout.role, stride)?;
        self.dense(block, encoding, vectors.len(), layout, bounds)
    }

    /// The end of the buffer, where a block can begin.
    fn start_block(&mut self) -> usize {
        let bytes = &mut self.document.buffers[0];
        align(bytes);
        bytes.len()
    }

    fn dense(
        &mut self,
        block: Block,
        encoding: Encoding,
        count: usize,
        layout: Layout,
        bounds: (&[f64], &[f64]),
    ) -> Result<usize, WriteError> {
        let key = (block.view, block.start, count, encoding, layout);
        if let Some(&index) = self.accessors.get(&key) {
            return Ok(index);
        }
        let mut accessor = json!({"bufferView": block.view, "byteOffset": self.offset(block)});
        describe(&mut accessor, encoding, count, layout, bounds);
        let index = self.push("/accessors", accessor)?;
        self.accessors.insert(key, index);
        Ok(index)
    }

    /// An accessor of zeros but for the elements `used`.
    fn sparse<T: Number>(
        &mut self,
        index: IndexSize,
        used: &[usize],
        encoding: Encoding,
        vectors: &[[T; 3]],
        layout: Layout,
        bounds: (&[f64], &[f64]),
    ) -> Result<usize, WriteError> {
        let mut accessor = json!({});
        describe(&mut accessor, encoding, vectors.len(), layout, bounds);
        if !used.is_empty() {
            let start = self.start_block();
            let bytes = &mut self.document.buffers[0];
            used.iter().for_each(|&element| index.append(element, bytes));
            let indices = self.block(start, Role::Sparse, index.bytes())?;
            let start = self.start_block();
            let bytes = &mut self.document.buffers[0];
            used.iter().flat_map(|&element| vectors[element]).for_each(|number| number.append(bytes));
            let values = self.block(start, Role::Sparse, 3 * T::COMPONENT.size())?;
            accessor["sparse"] = json!({
                "count": used.len(),
                "indices": {
                    "bufferView": indices.view,
                    "byteOffset": self.offset(indices),
                    "componentType": index.component().code(),
                },
                "values": {"bufferView": values.view, "byteOffset": self.offset(values)},
            });
        }
        self.push("/accessors", accessor)
    }

    /// Where a block lies in its buffer view.
    fn offset(&self, block: Block) -> u64 {
        let start = self.document.json.pointer(&format!("/bufferViews/{}/byteOffset", block.view));
        block.start as u64 - start.and_then(Value::as_u64).unwrap_or(0)
    }

    /// Names an extension that readers must know.
    pub fn require(&mut self, extension: &str) -> Result<(), WriteError> {
        for array in ["/extensionsUsed", "/extensionsRequired"] {
            let named = self.document.json.pointer(array).and_then(Value::as_array);
            if !named.is_some_and(|named| named.iter().any(|name| name == extension)) {
                self.push(array, extension.into())?;
            }
        }
        Ok(())
    }

    /// The bytes from `start` to the end as a block: an earlier equal one, or these in a buffer view.
    fn block(&mut self, start: usize, role: Role, size: usize) -> Result<Block, WriteError> {
        let bytes = &mut self.document.buffers[0];
        // Packed views have whole words.
        align(bytes);
        let length = bytes.len() - start;
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes[start..]);
        hasher.write_usize(size);
        hasher.write_u8(role as u8);
        let same = self.blocks.entry(hasher.finish()).or_default();
        let earlier = same.iter().find(|b| b.length == length && bytes[b.start..b.start + length] == bytes[start..]);
        if let Some(&block) = earlier {
            bytes.truncate(start);
            return Ok(block);
        }
        let end = bytes.len();
        let view = match &self.open_view {
            Some(open) if open.role == role && (open.stride == size || role == Role::Sparse) => {
                self.document.json["bufferViews"][open.index]["byteLength"] = (end - open.start).into();
                open.index
            }
            _ => {
                let mut view = json!({"buffer": 0, "byteOffset": start, "byteLength": end - start});
                match role {
                    Role::Vertex => {
                        view["byteStride"] = size.into();
                        view["target"] = 34962.into();
                    }
                    Role::Index => view["target"] = 34963.into(),
                    Role::Plain | Role::Sparse => {}
                }
                let index = self.push("/bufferViews", view)?;
                self.open_view = Some(OpenView { role, stride: size, start, index });
                index
            }
        };
        let block = Block { start, length, view };
        self.blocks.entry(hasher.finish()).or_default().push(block);
        Ok(block)
    }

    /// Brings the buffer's declared length up to date.
    pub fn finish(self) -> Result<(), WriteError> {
        let length = self.document.buffers[0].len();
        let at = "/buffers/0/byteLength";
        change_member(&mut self.document.json, at, Some(length.into())).ok_or_else(|| missing(at))?;
        Ok(())
    }

    /// As [`Self::finish`]; the next edit notes what this one has done as its own.
    pub fn finish_unnoted(mut self) -> Result<(), WriteError> {
        self.document.unnoted = Some(Unnoted {
            bytes_before: self.bytes_before,
            created: std::mem::take(&mut self.created),
            grown: std::mem::take(&mut self.grown),
            replaced: std::mem::take(&mut self.replaced),
        });
        self.finish()
    }

    /// As [`Self::finish`], leaving a note of everything done.
    pub fn finish_with_note(mut self, recipe: &str) -> Result<(), WriteError> {
        self.create("/asset/extras", Value::Object(Map::new()))?;
        let json = &self.document.json;
        let added = self.grown.iter().map(|(array, from)| {
            let entries = json.pointer(array).and_then(Value::as_array).ok_or_else(|| missing(array))?;
            let check = fingerprint(&entries[*from..]);
            Ok(Added { array: array.clone(), span: Span { from: *from, to: entries.len() }, check })
        });
        let added = added.collect::<Result<_, WriteError>>()?;
        let replaced = self.replaced.iter().map(|(at, was)| {
            let now = json.pointer(at).map(|now| fingerprint([now]));
            Replaced { at: at.clone(), was: was.clone(), now }
        });
        let note = Note {
            recipe: recipe.to_owned(),
            bytes: Span { from: self.bytes_before, to: self.document.buffers[0].len() },
            added,
            replaced: replaced.collect(),
            created: std::mem::take(&mut self.created),
        };
        self.member(PLACE, Some(note.to_json()))?;
        self.finish()
    }
}

/// Sets the member at `at`, or removes it, and returns what was there; `None` where there is no such place.
pub(crate) fn change_member(json: &mut Value, at: &str, value: Option<Value>) -> Option<Option<Value>> {
    let (parent, key) = at.rsplit_once('/')?;
    let parent = json.pointer_mut(parent)?;
    match (parent, value) {
        (Value::Object(object), Some(value)) => Some(object.insert(key.to_owned(), value)),
        (Value::Object(object), None) => Some(object.shift_remove(key)),
        (Value::Array(array), Some(value)) => {
            let entry = array.get_mut(key.parse::<usize>().ok()?)?;
            Some(Some(std::mem::replace(entry, value)))
        }
        _ => None,
    }
}
