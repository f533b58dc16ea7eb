//! Primitives packed by Draco, as plain accessors.
//!
//! Source: `KHR_draco_mesh_compression`; the bitstream is read by `draco-core`. Vertices come in the order of the
//! stream, which is not that of the file it was packed from. The stream's own counts are those that hold, as in every
//! viewer; what it may hold is bounded by what the accessors declare, and before anything is allocated.
//!
//! Oracle: files packed by the reference encoder hold the points of the plain ones (`tests/compressed.rs`).

use super::{DRACO, Place, REPACK, Spent, place};
use crate::accessor::{Budget, Component, width_of};
use crate::document::Document;
use crate::error::{Fault, Kind};
use crate::view::View;
use crate::write::align;
use draco_core::draco_types::DataType;
use draco_core::geometry_attribute::PointAttribute;
use draco_core::geometry_indices::PointIndex;
use draco_core::{DecodeLimits, DecoderBuffer, ErrorKind, Mesh, MeshDecoder};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// An accessor that gets its numbers from a stream.
struct Filled {
    accessor: usize,
    bytes: Vec<u8>,
    count: usize,
    component: Component,
    /// Distance between elements; none for indices.
    stride: Option<usize>,
    /// The buffer view of the stream, which the indices take the place of.
    replaces: Option<usize>,
}

/// A primitive, by mesh and number, whose member at a path refers to an accessor filled for it alone.
struct Renamed {
    pointer: String,
    copy_of: usize,
    filled: Filled,
}

/// Unpacks primitives; returns the accessors that were filled.
pub(super) fn unpack(document: &mut Document, budget: &Budget, spent: &mut Spent) -> Result<Vec<usize>, Fault> {
    let mut filled: Vec<Filled> = Vec::new();
    let mut renamed: Vec<Renamed> = Vec::new();
    let mut plain: Vec<String> = Vec::new();
    // Which stream and attribute (none: its faces) each accessor was filled from.
    let mut sources: HashMap<usize, (usize, Option<u32>)> = HashMap::new();
    let mut taken: HashSet<usize> = HashSet::new();
    let root = View::root(&document.json);
    for mesh in root.list("meshes")? {
        for primitive in mesh.list("primitives")? {
            let Some(packed) = primitive.get("extensions")?.map_or(Ok(None), |e| e.get(DRACO))? else { continue };
            spent.primitives += 1;
            if has_plain_data(&primitive)? {
                continue;
            }
            let (view, source, accessors) = streams(&primitive, &packed, &document.buffers)?;
            let mesh = decode(&primitive, &accessors, &document.buffers[source.0][source.1.clone()], budget)?;
            spent.places.push(source);
            plain.push(primitive.pointer().to_owned());
            for Wanted { member, id, accessor } in accessors {
                let replaces = (id.is_none() && !taken.contains(&view)).then_some(view);
                taken.extend(replaces);
                let new = match id {
                    None => corners(&member, accessor, &mesh, replaces)?,
                    Some(id) => attribute(&member, accessor, id, &mesh)?,
                };
                match sources.get(&accessor) {
                    Some(&known) if known == (view, id) => {}
                    Some(_) => {
                        renamed.push(Renamed { pointer: member.pointer().to_owned(), copy_of: accessor, filled: new });
                    }
                    None => {
                        sources.insert(accessor, (view, id));
                        filled.push(new);
                    }
                }
            }
        }
    }
    Ok(put(document, filled, renamed, &plain))
}

/// A member of a primitive whose accessor a stream fills: faces, or the attribute with this number.
struct Wanted<'a> {
    member: View<'a>,
    id: Option<u32>,
    accessor: usize,
}

/// Whether every accessor of the primitive has data of its own.
fn has_plain_data(primitive: &View<'_>) -> Result<bool, Fault> {
    let mut members = primitive.need("attributes")?.members()?;
    members.extend(primitive.get("indices")?.map(|indices| ("indices", indices)));
    for (_, member) in members {
        let accessor = member.entry("accessors", member.reference("accessors")?)?;
        if accessor.get("bufferView")?.is_none() && accessor.get("sparse")?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The buffer view of the stream, where it lies, and what is to be filled from it, faces first.
fn streams<'a>(
    primitive: &View<'a>,
    packed: &View<'a>,
    buffers: &[Vec<u8>],
) -> Result<(usize, Place, Vec<Wanted<'a>>), Fault> {
    let view = packed.need("bufferView")?.reference("bufferViews")?;
    let source = place(&packed.entry("bufferViews", view)?, buffers)?;
    let indices = primitive.need("indices")?;
    let accessor = indices.reference("accessors")?;
    let mut wanted = vec![Wanted { member: indices, id: None, accessor }];
    let attributes = primitive.need("attributes")?;
    for (name, id) in packed.need("attributes")?.members()? {
        let Some(member) = attributes.get(name)? else { continue };
        let number = u32::try_from(id.whole()?).map_err(|_| id.invalid("is no number of an attribute"))?;
        let accessor = member.reference("accessors")?;
        wanted.push(Wanted { member, id: Some(number), accessor });
    }
    Ok((view, source, wanted))
}

/// Reads a stream within what its accessors declare.
fn decode(primitive: &View<'_>, wanted: &[Wanted<'_>], stream: &[u8], budget: &Budget) -> Result<Mesh, Fault> {
    /// Bytes of a vertex: as many as sixteen attributes of four floats have.
    const LARGEST_VERTEX: u64 = 256;
    let (mut faces, mut points) = (0, 0);
    for Wanted { member, id, accessor } in wanted {
        let count = member.entry("accessors", *accessor)?.need("count")?.whole()?;
        match id {
            None => faces = count / 3,
            Some(_) => points = points.max(count),
        }
        budget.take(count.saturating_mul(4), || member.element())?;
    }
    // Points are split where attributes have seams, at worst for each corner.
    let points = points.max(faces.saturating_mul(3));
    let bytes = points.saturating_mul(LARGEST_VERTEX).min(budget.left().saturating_mul(4));
    let limits = DecodeLimits::default().with_max_faces(faces).with_max_points(points).with_max_decoded_bytes(bytes);
    let mut mesh = Mesh::new();
    MeshDecoder::new().decode(&mut DecoderBuffer::new(stream).with_limits(limits), &mut mesh).map_err(|error| {
        let kind = if error.kind() == ErrorKind::LimitExceeded { Kind::TooLarge } else { Kind::Invalid };
        let fault = format!("is packed by {DRACO}, and its stream cannot be read ({})", error.message());
        Fault::new(kind, primitive.element(), fault, REPACK)
    })?;
    if mesh.num_points() as u64 > points {
        let fault =
            format!("is packed by {DRACO} with {} vertices, more than its accessors declare", mesh.num_points());
        return Err(Fault::new(Kind::TooLarge, primitive.element(), fault, REPACK));
    }
    Ok(mesh)
}

/// The accessor's own type of number.
fn declared(member: &View<'_>, accessor: usize) -> Result<Component, Fault> {
    let code = member.entry("accessors", accessor)?.need("componentType")?.whole()?;
    Component::of_code(code).ok_or_else(|| member.invalid(format!("has an accessor of unknown componentType {code}")))
}

fn corners(member: &View<'_>, accessor: usize, mesh: &Mesh, replaces: Option<usize>) -> Result<Filled, Fault> {
    let points = mesh.num_points();
    let corners = mesh.faces().as_flattened();
    if let Some(bad) = corners.iter().find(|corner| corner.0 as usize >= points) {
        let fault = format!("is packed by {DRACO}, and names vertex {} of {points}", bad.0);
        return Err(member.invalid(fault).remedy(REPACK));
    }
    // The largest number of a type means the end of a strip.
    let largest = |component: Component| component.largest_index().is_some_and(|largest| points <= largest as usize);
    let component =
        [declared(member, accessor)?, Component::U16].into_iter().find(|&c| largest(c)).unwrap_or(Component::U32);
    let bytes = corners.iter().flat_map(|c| c.0.to_le_bytes().into_iter().take(component.size())).collect();
    Ok(Filled { accessor, bytes, count: corners.len(), component, stride: None, replaces })
}

fn attribute(member: &View<'_>, accessor: usize, id: u32, mesh: &Mesh) -> Result<Filled, Fault> {
    let broken = |fault: String| member.invalid(fault).remedy(REPACK);
    let found = mesh.attribute_by_unique_id(id);
    let found = found.ok_or_else(|| broken(format!("is packed by {DRACO} as attribute {id}, which is not there")))?;
    let view = member.entry("accessors", accessor)?;
    let name = view.need("type")?.text()?;
    let width = width_of(name).filter(|&width| width == usize::from(found.num_components())).ok_or_else(|| {
        let has = found.num_components();
        broken(format!("is of type {name}, but attribute {id} of its {DRACO} stream has {has} numbers"))
    })?;
    let component = declared(member, accessor)?;
    let is_normalized = view.get("normalized")?.map_or(Ok(false), |v| v.truth())?;
    let size = component.size() * width;
    let stride = size.next_multiple_of(4);
    let points = mesh.num_points();
    let mut bytes = vec![0; stride * points];
    let mut convert = converter(found, component, is_normalized).ok_or_else(|| {
        let (has, wants) = (found.data_type(), component.name());
        broken(format!("is {wants}, but attribute {id} of its {DRACO} stream is {has:?}"))
    })?;
    let data = found.buffer().data();
    let number = found.data_type().byte_length();
    let source_stride = usize::try_from(found.byte_stride()).unwrap_or(number * width);
    for (point, out) in bytes.chunks_exact_mut(stride).enumerate() {
        let value = found.mapped_index(PointIndex(point as u32)).0 as usize;
        let source = value.checked_mul(source_stride).and_then(|at| data.get(at..at.checked_add(number * width)?));
        let source =
            source.ok_or_else(|| broken(format!("is packed by {DRACO} without a value for vertex {point}")))?;
        for (out, source) in out[..size].chunks_exact_mut(component.size()).zip(source.chunks_exact(number)) {
            convert(source, out);
        }
    }
    Ok(Filled { accessor, bytes, count: points, component, stride: Some(stride), replaces: None })
}

/// Writes the bytes of one element from those of another.
type Converter = Box<dyn FnMut(&[u8], &mut [u8])>;

/// How a number of the stream becomes one of the accessor; none if it cannot without guessing.
fn converter(from: &PointAttribute, to: Component, is_normalized: bool) -> Option<Converter> {
    let stored = match from.data_type() {
        DataType::Int8 => Component::I8,
        DataType::Uint8 | DataType::Bool => Component::U8,
        DataType::Int16 => Component::I16,
        DataType::Uint16 => Component::U16,
        DataType::Uint32 => Component::U32,
        DataType::Float32 => Component::F32,
        _ => return None,
    };
    let is_normalized = is_normalized || from.normalized();
    Some(match (stored, to) {
        _ if stored == to => Box::new(|from, to| to.copy_from_slice(from)),
        (_, Component::F32) => Box::new(move |from, to| {
            to.copy_from_slice(&stored.float(from, is_normalized).to_le_bytes());
        }),
        // Joints are the one kind of whole numbers that is packed wider than it is declared.
        (Component::U8 | Component::U16 | Component::U32, Component::U8 | Component::U16) if !is_normalized => {
            Box::new(move |from, to| {
                let number = stored.unsigned(from).to_le_bytes();
                to.copy_from_slice(&number[..to.len()]);
            })
        }
        _ => return None,
    })
}

/// Puts unpacked numbers in a buffer of their own; returns the accessors concerned.
fn put(document: &mut Document, filled: Vec<Filled>, renamed: Vec<Renamed>, plain: &[String]) -> Vec<usize> {
    let json = &mut document.json;
    let number = document.buffers.len();
    let mut buffer = Vec::new();
    let mut changed = Vec::new();
    let mut fill = |json: &mut Value, filled: Filled| -> Option<()> {
        let Filled { accessor, bytes, count, component, stride, replaces } = filled;
        align(&mut buffer);
        let mut view = json!({"buffer": number, "byteOffset": buffer.len(), "byteLength": bytes.len()});
        if let Some(stride) = stride {
            view["byteStride"] = stride.into();
        }
        view["target"] = if stride.is_some() { 34962 } else { 34963 }.into();
        let views = json.get_mut("bufferViews")?.as_array_mut()?;
        let index = replaces.unwrap_or(views.len());
        match replaces {
            Some(old) => views[old] = view,
            None => views.push(view),
        }
        let accessor_json = json.get_mut("accessors")?.get_mut(accessor)?.as_object_mut()?;
        accessor_json.shift_remove("byteOffset");
        accessor_json.insert("bufferView".into(), index.into());
        for (key, value) in [("componentType", u64::from(component.code())), ("count", count as u64)] {
            if accessor_json.get(key).and_then(Value::as_f64) != Some(value as f64) {
                accessor_json.insert(key.into(), value.into());
            }
        }
        buffer.extend(bytes);
        changed.push(accessor);
        Some(())
    };
    for filled in filled {
        // The members were read above, so they are there.
        let _ = fill(json, filled);
    }
    for Renamed { pointer, copy_of, mut filled } in renamed {
        let Some(accessors) = json.get_mut("accessors").and_then(Value::as_array_mut) else { continue };
        filled.accessor = accessors.len();
        let copy = accessors[copy_of].clone();
        accessors.push(copy);
        if let Some(member) = json.pointer_mut(&pointer) {
            *member = filled.accessor.into();
        }
        let _ = fill(json, filled);
    }
    for pointer in plain {
        // Faces are always a list, whatever the accessor was to hold.
        if let Some(primitive) = json.pointer_mut(pointer).and_then(Value::as_object_mut) {
            primitive.shift_remove("mode");
        }
    }
    if !buffer.is_empty()
        && let Some(buffers) = json.get_mut("buffers").and_then(Value::as_array_mut)
    {
        buffers.push(json!({"byteLength": buffer.len()}));
        document.buffers.push(buffer);
    }
    changed
}
