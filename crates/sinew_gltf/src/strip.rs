//! Taking back what [`layer::add`](crate::layer::add) did: the document is as it was before, or untouched.
//!
//! What other programs changed or set elsewhere stays. Where they changed what Sinew wrote, moved it, or built on it,
//! nothing can be taken back without guessing, and the file is refused.
//!
//! Oracle: `strip(add(x))` equals `x`, JSON and bytes, on every character (`tests/layer.rs`).

use crate::document::Document;
use crate::edit::change_member;
use crate::error::WriteError;
use crate::note::{Note, PLACE, fingerprint};
use crate::references;
use serde_json::Value;

/// Takes back what Sinew added to `document`; returns whether there was anything. After an error it is unchanged.
pub fn strip(document: &mut Document) -> Result<bool, WriteError> {
    let Some(note) = Note::read(&document.json)? else { return Ok(false) };
    check(document, &note)?;
    let mut json = document.json.clone();
    undo(&mut json, &note).ok_or_else(|| changed(PLACE, "refers to elements that do not exist"))?;
    if let Some((at, index)) = dangling(&document.json, &json) {
        return Err(changed(&at, &format!("refers to entry {index}, which goes with what Sinew added")));
    }
    if let Some(view) = reaching(&json, note.bytes.from) {
        return Err(changed(&format!("/bufferViews/{view}"), "reaches into bytes that go with what Sinew added"));
    }
    document.json = json;
    if let Some(bytes) = document.buffers.first_mut() {
        bytes.truncate(note.bytes.from);
    }
    Ok(true)
}

fn changed(element: &str, fault: &str) -> WriteError {
    WriteError::Changed { element: element.to_owned(), fault: fault.to_owned() }
}

/// Everything is where the note says and as it was written.
fn check(document: &Document, note: &Note) -> Result<(), WriteError> {
    const AFTER: &str = "has changed since Sinew wrote it";
    let json = &document.json;
    if document.buffers.first().is_none_or(|bytes| bytes.len() != note.bytes.to) {
        let fault = format!("does not have the {} bytes it had when Sinew wrote it", note.bytes.to);
        return Err(changed("/buffers/0", &fault));
    }
    for added in &note.added {
        let entries = json.pointer(&added.array).and_then(Value::as_array).map_or(&[][..], |entries| entries);
        if entries.len() != added.span.to {
            let fault = format!("has {} entries, but had {} when Sinew wrote it", entries.len(), added.span.to);
            return Err(changed(&added.array, &fault));
        }
        if fingerprint(&entries[added.span.from..]) != added.check {
            return Err(changed(&added.array, AFTER));
        }
    }
    for replaced in &note.replaced {
        if json.pointer(&replaced.at).map(|now| fingerprint([now])) != replaced.now {
            return Err(changed(&replaced.at, AFTER));
        }
    }
    Ok(())
}

fn undo(json: &mut Value, note: &Note) -> Option<()> {
    change_member(json, PLACE, None)?;
    for replaced in note.replaced.iter().rev() {
        change_member(json, &replaced.at, replaced.was.clone())?;
    }
    for added in &note.added {
        json.pointer_mut(&added.array)?.as_array_mut()?.truncate(added.span.from);
    }
    for created in note.created.iter().rev() {
        let is_empty = match json.pointer(created)? {
            Value::Array(entries) => entries.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        if is_empty {
            change_member(json, created, None)?;
        }
    }
    change_member(json, "/buffers/0/byteLength", Some(note.bytes.from.into()))?;
    Some(())
}

/// A reference in `after` to an entry that only `before` has, by where it is and the index.
fn dangling(before: &Value, after: &Value) -> Option<(String, usize)> {
    let length = |json: &Value, array: &str| json.get(array).and_then(Value::as_array).map_or(0, Vec::len);
    let mut found = None;
    references::visit(after, &mut |at, array, index| {
        if found.is_none() && (length(after, array)..length(before, array)).contains(&index) {
            found = Some((at.to_owned(), index));
        }
    });
    found
}

/// A buffer view of the first buffer that ends beyond its first `bytes`.
fn reaching(json: &Value, bytes: usize) -> Option<usize> {
    let views = json.get("bufferViews").and_then(Value::as_array)?;
    let member = |view: &Value, name: &str| view.get(name).and_then(Value::as_u64).unwrap_or(0);
    views.iter().position(|view| {
        let end = member(view, "byteOffset").saturating_add(member(view, "byteLength"));
        member(view, "buffer") == 0 && end > bytes as u64
    })
}
