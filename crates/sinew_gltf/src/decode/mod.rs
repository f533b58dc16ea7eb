//! Compressed files as plain ones: what meshopt or Draco has packed is unpacked when a document is opened, so that
//! nobody behind this door knows of it. The extensions go; what is written is not compressed.
//!
//! | file | what it holds |
//! |---|---|
//! | `meshopt` | the bitstreams of `EXT_meshopt_compression` and `KHR_meshopt_compression` |
//! | `draco` | primitives of `KHR_draco_mesh_compression` as accessors |
//! | `cut` | taking packed bytes that nobody reads any more out of their buffers |
//!
//! Unpacked views lie where they said they would: in the buffer without data that stands in for them. What a file may
//! unpack to is drawn from the same kind of [`Budget`] as its numbers, before it is allocated. Where plain data lies
//! beside the packed, it is used.

mod cut;
mod draco;
pub(crate) mod meshopt;

use crate::accessor::{Accessors, Budget};
use crate::document::Document;
use crate::encode;
use crate::error::Fault;
use crate::view::View;
use meshopt::Filter;
use serde_json::{Map, Value};
use sinew::Warning;
use std::ops::Range;

const MESHOPT: [&str; 2] = ["EXT_meshopt_compression", "KHR_meshopt_compression"];
const DRACO: &str = "KHR_draco_mesh_compression";
const REPACK: &str = "pack the file again from its source, or unpack it with `gltf-transform copy IN OUT`";

/// Extensions that are gone once a document is open.
pub(crate) fn undoes(extension: &str) -> bool {
    extension == DRACO || MESHOPT.contains(&extension)
}

/// Bytes of one buffer.
type Place = (usize, Range<usize>);

/// A stream that nobody needs any more.
struct Spent {
    places: Vec<Place>,
    views: usize,
    primitives: usize,
}

/// Unpacks all that is packed in `document`.
pub(crate) fn unpack(document: &mut Document) -> Result<(), Fault> {
    let listed = ["extensionsUsed", "extensionsRequired"].iter().any(|key| {
        let names = document.json.get(key).and_then(Value::as_array);
        names.is_some_and(|names| names.iter().filter_map(Value::as_str).any(undoes))
    });
    // A file must list what it uses, but one that forgot is read all the same.
    if !listed && !mentions(&document.json) {
        return Ok(());
    }
    let budget = Budget::within(&document.limits);
    let mut spent = Spent { places: Vec::new(), views: 0, primitives: 0 };
    let mut changed = unpack_views(document, &budget, &mut spent)?;
    changed.extend(draco::unpack(document, &budget, &mut spent)?);
    forget(&mut document.json);
    cut::cut(document, &spent.places);
    if spent.views > 0 && encode::rejoin(document) {
        // What Sinew itself has packed is nobody's concern.
        spent.views = 0;
    }
    measure(document, &changed);
    for (count, what, by) in [
        (spent.views, "buffer view", "meshopt (EXT_meshopt_compression or KHR_meshopt_compression)"),
        (spent.primitives, "primitive", "Draco (KHR_draco_mesh_compression)"),
    ] {
        if count > 0 {
            document.warnings.push(Warning {
                code: "compression-unpacked",
                subject: "the file".into(),
                message: format!(
                    "has {count} {what}{} packed by {by}; what is written, also by strip, is not compressed",
                    if count == 1 { "" } else { "s" }
                ),
                remedy: "to ship the result compressed, pack it as the last step",
            });
        }
    }
    Ok(())
}

/// Whether a view or primitive is packed.
fn mentions(json: &Value) -> bool {
    fn entries<'a>(value: &'a Value, key: &str) -> &'a [Value] {
        value.get(key).and_then(Value::as_array).map_or(&[][..], |entries| entries)
    }
    let packed = |value: &Value| {
        let extensions = value.get("extensions").and_then(Value::as_object);
        extensions.is_some_and(|extensions| extensions.keys().any(|name| undoes(name)))
    };
    entries(json, "bufferViews").iter().any(packed)
        || entries(json, "meshes").iter().any(|mesh| entries(mesh, "primitives").iter().any(packed))
}

/// The part of the buffers that `view` (a buffer view, or what packs one) names.
fn place(view: &View<'_>, buffers: &[Vec<u8>]) -> Result<Place, Fault> {
    let buffer = view.need("buffer")?.reference("buffers")?;
    let start = view.whole_at("byteOffset")?.unwrap_or(0);
    let length = view.need("byteLength")?.whole()?;
    let have = buffers.get(buffer).map_or(0, Vec::len);
    let end = start.checked_add(length).and_then(|end| usize::try_from(end).ok()).filter(|&end| end <= have);
    match (usize::try_from(start), end) {
        (Ok(start), Some(end)) => Ok((buffer, start..end)),
        _ => Err(view.invalid(format!("names {length} bytes from {start} on, but buffer {buffer} has {have}"))),
    }
}

/// Unpacks buffer views; returns the accessors that read them.
fn unpack_views(document: &mut Document, budget: &Budget, spent: &mut Spent) -> Result<Vec<usize>, Fault> {
    let mut filled: Vec<(usize, usize, Vec<u8>)> = Vec::new();
    let mut ends = vec![0u64; document.buffers.len()];
    let mut unpacked = Vec::new();
    let root = View::root(&document.json);
    for (index, view) in root.list("bufferViews")?.iter().enumerate() {
        let Some(extensions) = view.get("extensions")? else { continue };
        let packed = MESHOPT.iter().map(|name| extensions.get(name)).collect::<Result<Vec<_>, _>>()?;
        let Some(packed) = packed.into_iter().flatten().next() else { continue };
        let source = place(&packed, &document.buffers)?;
        spent.views += 1;
        spent.places.push(source.clone());
        let buffer = view.need("buffer")?.reference("buffers")?;
        if document.buffers.get(buffer).is_some_and(|bytes| !bytes.is_empty()) {
            continue;
        }
        let bytes = unpack_view(view, &packed, &document.buffers[source.0][source.1], budget)?;
        let start = view.whole_at("byteOffset")?.unwrap_or(0);
        let end = start.saturating_add(bytes.len() as u64);
        // A gap before it is memory too.
        budget.take(end.saturating_sub(ends[buffer]) / 4, || view.element())?;
        ends[buffer] = ends[buffer].max(end);
        filled.push((buffer, usize::try_from(start).unwrap_or(usize::MAX), bytes));
        unpacked.push(index);
    }
    for (buffer, start, bytes) in filled {
        let target = &mut document.buffers[buffer];
        let end = start + bytes.len();
        target.resize(target.len().max(end), 0);
        target[start..end].copy_from_slice(&bytes);
    }
    let accessors = document.json.get("accessors").and_then(Value::as_array).map_or(&[][..], |accessors| accessors);
    let view_of = |accessor: &Value| accessor.get("bufferView").and_then(Value::as_u64);
    let reads =
        |accessor: &Value| view_of(accessor).is_some_and(|view| unpacked.binary_search(&(view as usize)).is_ok());
    Ok((0..accessors.len()).filter(|&index| reads(&accessors[index])).collect())
}

fn unpack_view(view: &View<'_>, packed: &View<'_>, stream: &[u8], budget: &Budget) -> Result<Vec<u8>, Fault> {
    let broken = |fault: String| view.invalid(fault).remedy(REPACK);
    let whole = |key: &str| packed.need(key)?.whole();
    let (count, stride) = (whole("count")?, whole("byteStride")?);
    let mode = packed.need("mode")?.text()?;
    let filter = packed.get("filter")?.map_or(Ok("NONE"), |filter| filter.text())?;
    let Some(filter) = Filter::of_name(filter) else {
        return Err(broken(format!("is packed with the filter \"{filter}\", which does not exist")));
    };
    let declared = view.need("byteLength")?.whole()?;
    let length = count.checked_mul(stride).filter(|&length| length == declared);
    let (Some(length), Ok(count), Ok(stride)) = (length, usize::try_from(count), usize::try_from(stride)) else {
        return Err(broken(format!("has {declared} bytes, but is packed as {count} elements of {stride} bytes")));
    };
    let fits = match mode {
        "ATTRIBUTES" => (4..=256).contains(&stride) && stride % 4 == 0 && filter.is_none_or(|f| f.fits(stride)),
        _ => (stride == 2 || stride == 4) && filter.is_none(),
    };
    if !fits {
        return Err(broken(format!("is packed as {mode} of {stride} bytes, which cannot be or not with its filter")));
    }
    budget.take(length / 4, || view.element())?;
    let corners = |corners: Vec<u32>| {
        let write = |corner: &u32| corner.to_le_bytes().into_iter().take(stride);
        corners.iter().flat_map(write).collect()
    };
    let unpacked = match mode {
        "ATTRIBUTES" => {
            let mut bytes = vec![0; count * stride];
            meshopt::attributes(stream, stride, &mut bytes).map(|()| {
                filter.into_iter().for_each(|filter| filter.undo(stride, &mut bytes));
                bytes
            })
        }
        "TRIANGLES" => meshopt::triangles(stream, count).map(corners),
        "INDICES" => meshopt::indices(stream, count).map(corners),
        other => return Err(broken(format!("is packed in the mode \"{other}\", which does not exist"))),
    };
    unpacked.map_err(|reason| broken(format!("is packed by meshopt, and its stream {reason}")))
}

/// Takes the extensions out of the JSON.
fn forget(json: &mut Value) {
    for key in ["extensionsUsed", "extensionsRequired"] {
        let Some(Value::Array(names)) = json.get_mut(key) else { continue };
        names.retain(|name| !name.as_str().is_some_and(undoes));
        if names.is_empty()
            && let Some(root) = json.as_object_mut()
        {
            root.shift_remove(key);
        }
    }
    let entries = |json: &mut Value, key: &str, act: &mut dyn FnMut(&mut Value)| {
        json.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().for_each(act);
    };
    for key in ["buffers", "bufferViews"] {
        entries(json, key, &mut |entry| {
            if let Some(entry) = entry.as_object_mut() {
                forget_in(entry);
            }
        });
    }
    entries(json, "meshes", &mut |mesh| {
        entries(mesh, "primitives", &mut |primitive| {
            if let Some(primitive) = primitive.as_object_mut() {
                forget_in(primitive);
            }
        });
    });
}

fn forget_in(holder: &mut Map<String, Value>) {
    let Some(Value::Object(extensions)) = holder.get_mut("extensions") else { return };
    extensions.retain(|name, _| !undoes(name));
    if extensions.is_empty() {
        holder.shift_remove("extensions");
    }
}

/// Bounds that accessors declare are those of their numbers, also where packing has rounded these.
fn measure(document: &mut Document, accessors: &[usize]) {
    let mut bounds = Vec::new();
    let reader = Accessors::new(View::root(&document.json), &document.buffers, &document.limits);
    for &index in accessors {
        let declares = |key: &str| document.json.pointer(&format!("/accessors/{index}/{key}")).is_some();
        if !declares("min") && !declares("max") {
            continue;
        }
        // One that cannot be read is refused by whoever needs it.
        let Ok((numbers, width)) = reader.open_entry(index, String::new()).and_then(|a| Ok((a.numbers()?, a.width())))
        else {
            continue;
        };
        let fold = |start: f64, pick: fn(f64, f64) -> f64| -> Vec<f64> {
            let component = |n: usize| numbers.iter().skip(n).step_by(width).copied().fold(start, pick);
            (0..width).map(component).collect()
        };
        bounds.push((index, [("min", fold(f64::INFINITY, f64::min)), ("max", fold(f64::NEG_INFINITY, f64::max))]));
    }
    for (index, bounds) in bounds {
        let Some(accessor) = document.json.pointer_mut(&format!("/accessors/{index}")) else { continue };
        for (key, found) in bounds {
            let Some(Value::Array(declared)) = accessor.get_mut(key) else { continue };
            let same = |(value, &found): (&Value, &f64)| value.as_f64() == Some(found);
            if found.iter().all(|x| x.is_finite())
                && !(declared.len() == found.len() && declared.iter().zip(&found).all(same))
            {
                *declared = found.into_iter().map(Value::from).collect();
            }
        }
    }
}
