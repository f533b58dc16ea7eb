//! A rig made in code as a glTF document: what [`Asset::open`](crate::Asset::open) reads back.
//!
//! Source: glTF 2.0 specification, chapters 3.5 to 3.11. Positions, weights and values of curves are f32 on both sides
//! and come back to the bit; inverse bind matrices and key times are rounded to f32, which is all glTF stores.
//!
//! Oracle: re-import, and the specification's evaluator, on every built-in character (`tests/export.rs`).

use crate::document::{Container, Document};
use crate::edit::{Edit, Kind, Layout, Role};
use crate::error::WriteError;
use crate::layer::{DIRECTIONS, POSITIONS, TIMES, VECTORS, WEIGHTS, interpolation_name, write_skin};
use crate::limits::Limits;
use crate::meshes::MAP_PREFIX;
use glam::{DMat4, Quat, Vec3};
use serde_json::{Map, Value, json};
use sinew::clip::{CurveValue, Track};
use sinew::raw::{RawBinding, RawBone, RawMesh, RawPrimitive, RawRig, RawSkin};
use sinew::{Clip, Curve, LocalTransform, Trs};
use std::collections::HashSet;

const MATRICES: Layout = Layout { role: Role::Plain, kind: Kind::Mat4, bounds: false };
const TURNS: Layout = Layout { role: Role::Plain, kind: Kind::Vec4, bounds: false };
const VALUES: Layout = Layout { role: Role::Plain, kind: Kind::Vec3, bounds: false };
const INDICES: Layout = Layout { role: Role::Index, kind: Kind::Scalar, bounds: false };
const MAP: Layout = Layout { role: Role::Vertex, kind: Kind::Scalar, bounds: false };

/// The rig and its clips as a document with one buffer.
pub fn export(raw: &RawRig, clips: &[Clip]) -> Result<Document, WriteError> {
    let json = json!({
        "asset": {"version": "2.0", "generator": concat!("sinew ", env!("CARGO_PKG_VERSION"))},
        "buffers": [{"byteLength": 0}],
    });
    let mut document = Document {
        json,
        buffers: vec![Vec::new()],
        container: Container::Glb,
        other_chunks: Vec::new(),
        warnings: Vec::new(),
        folder: None,
        limits: Limits::default(),
        unnoted: None,
        packing: None,
    };
    let mut edit = Edit::begin(&mut document)?;
    write_nodes(&mut edit, raw)?;
    for skin in &raw.skins {
        write_skin_palette(&mut edit, skin)?;
    }
    let mut carriers = HashSet::new();
    for mesh in &raw.meshes {
        if !carriers.insert(mesh.node) {
            let fault = "carries two meshes, where glTF allows one".into();
            return Err(WriteError::Content { element: format!("node {}", mesh.node), fault });
        }
        write_mesh(&mut edit, mesh)?;
    }
    for clip in clips.iter().filter(|clip| clip.span().is_some()) {
        write_clip(&mut edit, clip)?;
    }
    edit.finish()?;
    if document.buffers[0].is_empty() {
        document.buffers.clear();
        document.json.as_object_mut().and_then(|root| root.shift_remove("buffers"));
    }
    Ok(document)
}

fn write_nodes(edit: &mut Edit<'_>, raw: &RawRig) -> Result<(), WriteError> {
    let roots = append_nodes(edit, &raw.bones)?;
    if !roots.is_empty() {
        edit.set("/scene", 0.into())?;
        edit.push("/scenes", json!({"nodes": roots}))?;
    }
    Ok(())
}

/// Nodes behind those there are; returns the topmost.
pub(crate) fn append_nodes(edit: &mut Edit<'_>, bones: &[RawBone]) -> Result<Vec<usize>, WriteError> {
    let first = edit.json().get("nodes").and_then(Value::as_array).map_or(0, Vec::len);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); bones.len()];
    let mut roots = Vec::new();
    for (node, bone) in bones.iter().enumerate() {
        match bone.parent {
            None => roots.push(first + node),
            Some(parent) => {
                let siblings = children.get_mut(parent).ok_or_else(|| {
                    let fault = format!("has parent {parent}, but there are only {} nodes", bones.len());
                    WriteError::Content { element: format!("node {node}"), fault }
                })?;
                siblings.push(first + node);
            }
        }
    }
    for (bone, children) in bones.iter().zip(children) {
        edit.push("/nodes", node(bone, &children))?;
    }
    Ok(roots)
}

fn named(name: &str) -> Map<String, Value> {
    let mut object = Map::new();
    if !name.is_empty() {
        object.insert("name".into(), name.into());
    }
    object
}

fn node(bone: &RawBone, children: &[usize]) -> Value {
    let mut node = named(&bone.name);
    if !children.is_empty() {
        node.insert("children".into(), children.into());
    }
    match bone.local {
        LocalTransform::Matrix(matrix) => {
            node.insert("matrix".into(), DMat4::from(matrix).to_cols_array()[..].into());
        }
        LocalTransform::Trs(Trs { translation, rotation, scale }) => {
            let rest = Trs::IDENTITY;
            let mut part = |key: &str, numbers: &[f64], is_default: bool| {
                if !is_default {
                    node.insert(key.into(), numbers.into());
                }
            };
            part("translation", &translation.to_array(), translation == rest.translation);
            part("rotation", &rotation.to_array(), rotation == rest.rotation);
            part("scale", &scale.to_array(), scale == rest.scale);
        }
    }
    Value::Object(node)
}

/// A skin without its meshes; returns its index.
pub(crate) fn write_skin_palette(edit: &mut Edit<'_>, skin: &RawSkin) -> Result<usize, WriteError> {
    let matrices = skin.joints.iter().flat_map(|joint| DMat4::from(joint.bone_from_rest).to_cols_array());
    let matrices = edit.accessor(MATRICES, matrices.map(|x| x as f32))?;
    let mut entry = named(&skin.name);
    entry.insert("joints".into(), skin.joints.iter().map(|joint| joint.bone).collect());
    entry.insert("inverseBindMatrices".into(), matrices.into());
    edit.push("/skins", Value::Object(entry))
}

fn write_mesh(edit: &mut Edit<'_>, mesh: &RawMesh) -> Result<(), WriteError> {
    let mut entry = named(&mesh.name);
    let weights: Vec<f64> = mesh.morph_weights.iter().map(|&weight| f64::from(weight)).collect();
    if !weights.is_empty() {
        entry.insert("weights".into(), weights.into());
    }
    entry.insert("primitives".into(), Value::Array(Vec::new()));
    let index = edit.push("/meshes", Value::Object(entry))?;
    for primitive in &mesh.primitives {
        write_primitive(edit, &format!("/meshes/{index}/primitives"), primitive)?;
    }
    edit.set(&format!("/nodes/{}/mesh", mesh.node), index.into())?;
    if let RawBinding::Skin(skin) = mesh.binding {
        edit.set(&format!("/nodes/{}/skin", mesh.node), skin.into())?;
    }
    Ok(())
}

fn write_primitive(edit: &mut Edit<'_>, array: &str, primitive: &RawPrimitive) -> Result<(), WriteError> {
    let material = material(edit, primitive.color)?;
    let number = edit.push(array, json!({"attributes": {}, "material": material}))?;
    let at = format!("{array}/{number}");
    if primitive.positions.is_empty() {
        return Ok(());
    }
    let vectors = |vectors: &[Vec3]| vectors.iter().flat_map(|v| v.to_array()).collect::<Vec<f32>>();
    let positions = edit.accessor(POSITIONS, vectors(&primitive.positions))?;
    edit.set(&format!("{at}/attributes/POSITION"), positions.into())?;
    if let Some(normals) = &primitive.normals {
        let normals = edit.accessor(DIRECTIONS, vectors(normals))?;
        edit.set(&format!("{at}/attributes/NORMAL"), normals.into())?;
    }
    if let Some(tangents) = &primitive.tangents {
        let tangents = edit.accessor(VECTORS, tangents.iter().flat_map(|t| t.to_array()))?;
        edit.set(&format!("{at}/attributes/TANGENT"), tangents.into())?;
    }
    if primitive.influences.per_vertex > 0 {
        write_skin(edit, &format!("{at}/attributes"), &primitive.influences)?;
    }
    for (name, values) in &primitive.maps {
        let values = edit.accessor(MAP, values.iter().copied())?;
        edit.set(&format!("{at}/attributes/{MAP_PREFIX}{}", name.to_uppercase()), values.into())?;
    }
    if !primitive.triangles.is_empty() {
        let indices = write_indices(edit, primitive)?;
        edit.set(&format!("{at}/indices"), indices.into())?;
    }
    for morph in &primitive.morphs {
        let mut target = Map::new();
        let zeros = || vec![Vec3::ZERO; primitive.positions.len()];
        let positions = vectors(&morph.positions.clone().unwrap_or_else(zeros));
        target.insert("POSITION".into(), edit.accessor(POSITIONS, positions)?.into());
        for (key, directions) in [("NORMAL", &morph.normals), ("TANGENT", &morph.tangents)] {
            if let Some(directions) = directions {
                target.insert(key.into(), edit.accessor(DIRECTIONS, vectors(directions))?.into());
            }
        }
        edit.push(&format!("{at}/targets"), Value::Object(target))?;
    }
    Ok(())
}

/// The largest value of a type means primitive restart, which glTF forbids.
fn write_indices(edit: &mut Edit<'_>, primitive: &RawPrimitive) -> Result<usize, WriteError> {
    let corners = || primitive.triangles.iter().flatten().copied();
    match corners().map(|v| u16::try_from(v).ok().filter(|&v| v < u16::MAX)).collect::<Option<Vec<u16>>>() {
        Some(short) => edit.accessor(INDICES, short),
        None => edit.accessor(INDICES, corners()),
    }
}

/// The material of a colour; each colour has one.
fn material(edit: &mut Edit<'_>, color: [f32; 4]) -> Result<usize, WriteError> {
    const ROUGHNESS: f64 = 0.8;
    let factor = color.map(f64::from);
    let mut material = json!({
        "pbrMetallicRoughness": {"baseColorFactor": factor, "metallicFactor": 0.0, "roughnessFactor": ROUGHNESS}
    });
    if color[3] < 1.0 {
        material["alphaMode"] = "BLEND".into();
    }
    let materials = edit.json().get("materials").and_then(Value::as_array);
    match materials.and_then(|materials| materials.iter().position(|m| *m == material)) {
        Some(index) => Ok(index),
        None => edit.push("/materials", material),
    }
}

pub(crate) fn write_clip(edit: &mut Edit<'_>, clip: &Clip) -> Result<(), WriteError> {
    let mut entry = named(&clip.name);
    entry.insert("channels".into(), Value::Array(Vec::new()));
    entry.insert("samplers".into(), Value::Array(Vec::new()));
    let index = edit.push("/animations", Value::Object(entry))?;
    let at = format!("/animations/{index}");
    for track in &clip.tracks {
        for path in ["translation", "rotation", "scale", "weights"] {
            if let Some(sampler) = write_sampler(edit, &at, track, path)? {
                let target = json!({"node": track.node, "path": path});
                edit.push(&format!("{at}/channels"), json!({"sampler": sampler, "target": target}))?;
            }
        }
    }
    Ok(())
}

/// Writes one of a track's curves as a sampler of the animation at `at`, and returns its number; `None`: it has none.
pub(crate) fn write_sampler(
    edit: &mut Edit<'_>,
    at: &str,
    track: &Track,
    path: &str,
) -> Result<Option<usize>, WriteError> {
    let vectors = |curve: &Curve<Vec3>| {
        (curve.interpolation(), curve.times().to_vec(), curve_values(curve, |v: Vec3| v.to_array()))
    };
    let written = match path {
        "translation" => track.translation.as_ref().map(vectors),
        "scale" => track.scale.as_ref().map(vectors),
        "rotation" => track
            .rotation
            .as_ref()
            .map(|curve| (curve.interpolation(), curve.times().to_vec(), curve_values(curve, |q: Quat| q.to_array()))),
        _ => track
            .morph
            .as_ref()
            .filter(|_| path == "weights")
            .map(|curve| (curve.interpolation(), curve.times().to_vec(), curve.values().to_vec())),
    };
    let Some((interpolation, times, values)) = written else { return Ok(None) };
    let layout = match path {
        "rotation" => TURNS,
        "weights" => WEIGHTS,
        _ => VALUES,
    };
    let input = edit.accessor(TIMES, key_times(at, &times)?)?;
    let output = edit.accessor(layout, values)?;
    let sampler = json!({"input": input, "output": output, "interpolation": interpolation_name(interpolation)});
    edit.push(&format!("{at}/samplers"), sampler).map(Some)
}

/// Key values, with their tangents around them where there are any.
fn curve_values<T: CurveValue, const N: usize>(curve: &Curve<T>, numbers: impl Fn(T) -> [f32; N]) -> Vec<f32> {
    let keys = 0..curve.times().len();
    keys.flat_map(|key| match curve.key_tangents(key) {
        Some((before, after)) => vec![before, curve.key_value(key), after],
        None => vec![curve.key_value(key)],
    })
    .flat_map(numbers)
    .collect()
}

/// Key times as glTF stores them.
fn key_times(element: &str, times: &[f64]) -> Result<Vec<f32>, WriteError> {
    let times: Vec<f32> = times.iter().map(|&time| time as f32).collect();
    match times.windows(2).find(|pair| pair[0] >= pair[1]) {
        None => Ok(times),
        Some(pair) => {
            let fault = format!("has two keys at {} s once times are rounded to what glTF stores", pair[0]);
            Err(WriteError::Content { element: element.to_owned(), fault })
        }
    }
}
