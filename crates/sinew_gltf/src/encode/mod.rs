//! What Sinew adds to a file, packed as the file is written. In memory a document is plain: `decode` undoes this when the
//! file is opened, to the bit, so that nobody else knows of it, and what was noted of the plain form holds.
//!
//! | file | what it holds |
//! |---|---|
//! | `meshopt` | the bitstream of `EXT_meshopt_compression` |
//!
//! Everything that was in the file stays as it is. The views that were added lie in a buffer without data, as far apart as
//! they lie in the plain file, and name the streams that follow the file's own bytes.

pub(crate) mod meshopt;

use crate::document::Document;
use crate::error::WriteError;
use crate::note::Note;
use crate::write::{ALIGNMENT, align};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How what is added is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// By meshopt (`EXT_meshopt_compression`).
    Meshopt,
}

const EXTENSION: &str = "EXT_meshopt_compression";
/// Largest element of a stream, in bytes.
const LARGEST_ELEMENT: usize = 256;

/// Bytes that were added, and what they are packed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedBytes {
    /// As they lie in memory.
    pub plain: usize,
    /// As they are written.
    pub packed: usize,
}

impl Document {
    /// What its packing makes of the bytes that Sinew has added; `None` where nothing is packed.
    pub fn packed_bytes(&self) -> Result<Option<PackedBytes>, WriteError> {
        let Some(packed) = packed(self)? else { return Ok(None) };
        let Some(note) = Note::read(&self.json)? else { return Ok(None) };
        let length = |document: &Self| document.buffers.first().map_or(0, Vec::len).saturating_sub(note.bytes.from);
        Ok(Some(PackedBytes { plain: length(self), packed: length(&packed) }))
    }
}

/// The document as it is written; `None` where that is as it is.
pub(crate) fn packed(document: &Document) -> Result<Option<Document>, WriteError> {
    let (Some(Packing::Meshopt), Some(note)) = (document.packing, Note::read(&document.json)?) else { return Ok(None) };
    let Some(added) = note.added.iter().find(|added| added.array == "/bufferViews") else { return Ok(None) };
    let base = note.bytes.from.next_multiple_of(ALIGNMENT);
    let Some(plain) = document.buffers.first().filter(|plain| (base..=plain.len()).contains(&note.bytes.to)) else {
        return Ok(None);
    };
    let mut packed = document.clone();
    packed.packing = None;
    packed.buffers[0].truncate(base);
    let fallback = packed.buffers.len();
    let rows = row_sizes(&document.json);
    for index in added.span.from..added.span.to {
        let at = format!("/bufferViews/{index}");
        let Some(view) = packed.json.pointer_mut(&at) else { return Ok(None) };
        let whole = |key: &str| view.get(key).and_then(Value::as_u64).and_then(|x| usize::try_from(x).ok());
        let (Some(start), Some(length)) = (whole("byteOffset"), whole("byteLength")) else { return Ok(None) };
        let bytes = plain.get(start..start + length).filter(|_| start >= base && length % ALIGNMENT == 0);
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { return Ok(None) };
        let strides = match whole("byteStride") {
            Some(stride) => vec![stride],
            None => rows.iter().copied().filter(|row| length % row == 0).collect(),
        };
        let streams = strides.into_iter().map(|stride| (meshopt::attributes(bytes, stride), stride));
        let Some((stream, stride)) = streams.min_by_key(|(stream, _)| stream.len()) else { return Ok(None) };
        align(&mut packed.buffers[0]);
        let stream_start = packed.buffers[0].len();
        packed.buffers[0].extend_from_slice(&stream);
        view["buffer"] = fallback.into();
        view["byteOffset"] = (start - base).into();
        view["extensions"] = json!({EXTENSION: {
            "buffer": 0,
            "byteOffset": stream_start,
            "byteLength": stream.len(),
            "byteStride": stride,
            "count": length / stride,
            "mode": "ATTRIBUTES",
        }});
    }
    align(&mut packed.buffers[0]);
    packed.json["buffers"][0]["byteLength"] = packed.buffers[0].len().into();
    let stands_in = json!({"byteLength": note.bytes.to - base, "extensions": {EXTENSION: {"fallback": true}}});
    packed.buffers.push(Vec::new());
    for (array, entry) in
        [("buffers", stands_in), ("extensionsUsed", EXTENSION.into()), ("extensionsRequired", EXTENSION.into())]
    {
        match packed.json.get_mut(array).and_then(Value::as_array_mut) {
            Some(entries) => entries.push(entry),
            None => packed.json[array] = vec![entry].into(),
        }
    }
    Ok(Some(packed))
}

/// Sizes that elements of curves may be taken to have, in bytes: one number, or all weights of a key, or as many of these as
/// fit and divide them.
fn row_sizes(json: &Value) -> BTreeSet<usize> {
    let meshes = json.get("meshes").and_then(Value::as_array).into_iter().flatten();
    let targets = meshes.filter_map(|mesh| mesh.pointer("/primitives/0/targets").and_then(Value::as_array));
    let most = LARGEST_ELEMENT / 4;
    let row = |count: usize| 4 * (1..=count.min(most)).rev().find(|part| count.is_multiple_of(*part)).unwrap_or(1);
    targets.map(|targets| row(targets.len())).chain([4]).collect()
}

/// Puts what was unpacked where it lay before it was packed; tells whether that is what `document` is.
pub(crate) fn rejoin(document: &mut Document) -> bool {
    let Ok(Some(note)) = Note::read(&document.json) else { return false };
    let (first, rest) = document.buffers.split_first().map_or((0, &[][..]), |(first, rest)| (first.len(), rest));
    let filled: Vec<usize> = rest.iter().map(Vec::len).filter(|length| *length > 0).collect();
    let whole = match filled[..] {
        // Nothing lay before it.
        [] => first,
        [layer] => first.next_multiple_of(ALIGNMENT) + layer,
        _ => return false,
    };
    if whole != note.bytes.to {
        return false;
    }
    document.merge_buffers();
    true
}
