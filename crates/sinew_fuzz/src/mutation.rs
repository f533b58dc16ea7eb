//! Changes to a document by its structure: a byte of the fuzzer is a place and a deed there, where a byte of the file
//! would mostly spoil the JSON.

use crate::number;
use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};
use sinew_gltf::Document;

/// Most changes at once.
const MOST: u8 = 6;

/// Bytes to start from: no change, and a few of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![Vec::new()];
    for document in 0..3u8 {
        for kind in 0..10u8 {
            seeds.push((0..48u8).map(|n| if n == 0 { document } else { n.wrapping_mul(37) ^ kind }).collect());
        }
    }
    seeds
}

/// Changes a document a few times, below `root` alone where that is given.
pub fn change(document: &mut Document, root: Option<&str>, bytes: &mut Unstructured<'_>) -> Result<()> {
    let changes = bytes.int_in_range(0..=MOST)?;
    for _ in 0..changes {
        if root.is_none() && bytes.ratio(1u8, 4u8)? {
            change_bytes(&mut document.buffers, bytes)?;
        } else {
            change_json(&mut document.json, root.unwrap_or(""), bytes)?;
        }
    }
    Ok(())
}

fn change_bytes(buffers: &mut [Vec<u8>], bytes: &mut Unstructured<'_>) -> Result<()> {
    let Some(buffer) = buffers.first_mut().filter(|buffer| !buffer.is_empty()) else { return Ok(()) };
    let at = 4 * bytes.choose_index(buffer.len().div_ceil(4))?;
    let new = match bytes.int_in_range(0..=3)? {
        0 => (number::any(bytes)? as f32).to_le_bytes(),
        1 => (number::any(bytes)? as u32).to_le_bytes(),
        2 => *bytes.choose(&[f32::NAN.to_le_bytes(), f32::INFINITY.to_le_bytes(), f32::MAX.to_le_bytes()])?,
        _ => bytes.arbitrary::<[u8; 4]>()?,
    };
    match bytes.int_in_range(0..=15)? {
        0 => buffer.truncate(at),
        _ => buffer[at..].iter_mut().zip(new).for_each(|(old, new)| *old = new),
    }
    Ok(())
}

fn change_json(json: &mut Value, root: &str, bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut places = Vec::new();
    if let Some(below) = json.pointer(root) {
        walk(below, root.to_owned(), &mut places);
    }
    if places.is_empty() {
        return Ok(());
    }
    let at = bytes.choose(&places)?.clone();
    let other = bytes.choose(&places)?.clone();
    let deed = bytes.int_in_range(0..=6u8)?;
    let copy = json.pointer(&other).cloned().unwrap_or(Value::Null);
    let Some((parent, key)) = at.rsplit_once('/') else { return Ok(()) };
    let Some(place) = json.pointer_mut(&at) else { return Ok(()) };
    match deed {
        0 | 1 => *place = number(bytes)?,
        2 => *place = copy,
        3 => *place = odd(bytes)?,
        4 => {
            if let Some(entries) = place.as_array_mut() {
                let last = entries.last().cloned().unwrap_or(Value::Null);
                entries.extend(vec![last; bytes.int_in_range(1..=9)?]);
            }
        }
        5 => {
            if let Some(entries) = place.as_array_mut() {
                entries.truncate(entries.len() / 2);
            }
        }
        _ => {
            let key = key.replace("~1", "/").replace("~0", "~");
            match json.pointer_mut(parent) {
                Some(Value::Object(members)) => drop(members.shift_remove(&key)),
                Some(Value::Array(entries)) => {
                    let index = key.parse::<usize>().unwrap_or(0);
                    if index < entries.len() {
                        entries.remove(index);
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// A number as JSON, whole where it can be.
pub fn number(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let number = number::any(bytes)?;
    let whole = number as i64;
    Ok(if whole as f64 == number && bytes.arbitrary()? { json!(whole) } else { json!(number) })
}

fn odd(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let words = ["", "STEP", "CUBICSPLINE", "weights", "scale", "MAT4", "SCALAR", "VEC3", "data:,", "../x", "\u{0}"];
    Ok(match bytes.int_in_range(0..=6)? {
        0 => Value::Null,
        1 => json!(bytes.arbitrary::<bool>()?),
        2 => json!([]),
        3 => Value::Object(Map::new()),
        4 => json!([number(bytes)?, number(bytes)?, number(bytes)?]),
        5 => json!({"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {"POSITION": 0}}}),
        _ => json!(bytes.choose(&words)?),
    })
}

/// All places below a value, by pointer.
fn walk(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(index, entry)| walk(entry, format!("{at}/{index}"), places));
        }
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            walk(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), places);
        }),
        _ => {}
    }
    if !at.is_empty() {
        places.push(at);
    }
}

/// Changes what a document says, and not how: where nodes stand, what accessors hold. It can mostly still be read.
pub fn distort(document: &mut Document, bytes: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..bytes.int_in_range(0..=MOST)? {
        if bytes.ratio(1u8, 3u8)? { move_node(&mut document.json, bytes)? } else { change_values(document, bytes)? }
    }
    Ok(())
}

fn move_node(json: &mut Value, bytes: &mut Unstructured<'_>) -> Result<()> {
    let Some(nodes) = json["nodes"].as_array_mut().filter(|nodes| !nodes.is_empty()) else { return Ok(()) };
    let index = bytes.choose_index(nodes.len())?;
    let Some(node) = nodes[index].as_object_mut() else { return Ok(()) };
    node.shift_remove("matrix");
    let (key, length) = *bytes.choose(&[("translation", 3), ("scale", 3), ("rotation", 4)])?;
    let mut values = Vec::new();
    for _ in 0..length {
        values.push(if bytes.ratio(1u8, 4u8)? { number::any(bytes)? } else { number::unit(bytes)? });
    }
    node.insert(key.to_owned(), json!(values));
    Ok(())
}

/// Changes a stretch of the numbers of an accessor of f32.
fn change_values(document: &mut Document, bytes: &mut Unstructured<'_>) -> Result<()> {
    let whole = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let Some(accessors) = document.json["accessors"].as_array() else { return Ok(()) };
    let Some(accessor) = accessors.get(bytes.choose_index(accessors.len().max(1))?) else { return Ok(()) };
    let view = whole(&accessor["bufferView"]).map_or(&Value::Null, |view| &document.json["bufferViews"][view]);
    let (Some(length), true) = (whole(&view["byteLength"]), accessor["componentType"] == 5126) else { return Ok(()) };
    let start = whole(&view["byteOffset"]).unwrap_or(0);
    let buffer = whole(&view["buffer"]).unwrap_or(0);
    let Some(data) = document.buffers.get_mut(buffer).and_then(|data| data.get_mut(start..start + length)) else {
        return Ok(());
    };
    let count = data.len() / 4;
    if count == 0 {
        return Ok(());
    }
    let first = bytes.choose_index(count)?;
    let most = *bytes.choose(&[1, 3, 12, count])?;
    let (deed, value) = (bytes.int_in_range(0..=4u8)?, number::any(bytes)? as f32);
    let mut last = value;
    for word in data[4 * first..].chunks_exact_mut(4).take(most) {
        let old = f32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let new = match deed {
            0 => value,
            1 => old * value,
            2 => old + value,
            3 => -old,
            // Each is the one before it.
            _ => std::mem::replace(&mut last, old),
        };
        word.copy_from_slice(&new.to_le_bytes());
    }
    Ok(())
}
