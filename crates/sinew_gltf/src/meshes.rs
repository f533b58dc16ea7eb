//! Meshes: vertices, triangles, influences, morph targets and painted maps, in the file's vertex order.
//!
//! Source: glTF 2.0 specification, chapter 3.7.2 (geometry, topology types, morph targets) and 3.7.3.3 (skinned
//! attributes); KHR_mesh_quantization for integer positions and directions.

use crate::accessor::{Accessor, Accessors, Component};
use crate::error::Fault;
use crate::view::View;
use glam::{Vec3, Vec4};
use sinew::Warning;
use sinew::raw::{RawInfluences, RawMorph, RawPrimitive};
use std::collections::HashSet;

/// Prefix of the vertex attributes that hold painted maps.
pub(crate) const MAP_PREFIX: &str = "_SINEW_";

const EXPORT_AGAIN: &str = "export the mesh again";

/// The primitives of the mesh at `mesh`; without influences unless `skinned`.
pub(crate) fn read(
    mesh: &View<'_>,
    skinned: bool,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<RawPrimitive>, Fault> {
    let mut primitives: Vec<RawPrimitive> = Vec::new();
    for view in mesh.need("primitives")?.entries()? {
        let primitive = read_primitive(&view, skinned, accessors, warnings)?;
        if let Some(first) = primitives.first()
            && first.morphs.len() != primitive.morphs.len()
        {
            let (here, there) = (primitive.morphs.len(), first.morphs.len());
            let fault = view.invalid(format!("has {here} morph targets, but primitive 0 has {there}"));
            return Err(fault.remedy("every primitive of a mesh must have the same morph targets: export it again"));
        }
        primitives.push(primitive);
    }
    if primitives.is_empty() {
        warnings.push(Warning {
            code: "mesh-empty",
            subject: mesh.words(),
            message: "has no primitives; nothing of it moves".into(),
            remedy: "remove the mesh",
        });
    }
    Ok(primitives)
}

/// How many morph targets the mesh at `mesh` has.
pub(crate) fn target_count(mesh: &View<'_>) -> Result<usize, Fault> {
    mesh.first("primitives")?.map_or(Ok(0), |first| first.length("targets"))
}

/// What one more instance of a primitive costs, in numbers; even an empty one takes space.
pub(crate) fn numbers(primitive: &RawPrimitive) -> u64 {
    const EMPTY_PRIMITIVE: usize = size_of::<RawPrimitive>() / size_of::<f32>();
    const EMPTY_MORPH: usize = size_of::<RawMorph>() / size_of::<f32>();
    let deltas = |deltas: &Option<Vec<Vec3>>| deltas.as_ref().map_or(0, |d| 3 * d.len());
    let morph = |m: &RawMorph| EMPTY_MORPH + deltas(&m.positions) + deltas(&m.normals) + deltas(&m.tangents);
    let own = EMPTY_PRIMITIVE
        + 3 * primitive.positions.len()
        + deltas(&primitive.normals)
        + primitive.tangents.as_ref().map_or(0, |t| 4 * t.len())
        + 2 * primitive.influences.weights.len()
        + 3 * primitive.triangles.len();
    let morphs: usize = primitive.morphs.iter().map(morph).sum();
    let maps: usize = primitive.maps.iter().map(|(name, values)| name.len() + values.len()).sum();
    (own + morphs + maps) as u64
}

fn read_primitive(
    view: &View<'_>,
    skinned: bool,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<RawPrimitive, Fault> {
    let attributes = view.need("attributes")?;
    let mode = view.whole_at("mode")?.unwrap_or(4);
    if mode > 6 {
        return Err(view.invalid(format!("has mode {mode}; glTF knows 0 to 6")));
    }
    let has_faces = mode >= 4;
    if !has_faces {
        warnings.push(Warning {
            code: "primitive-without-faces",
            subject: view.words(),
            message: format!(
                "is made of {}, not faces; only its vertices were read",
                if mode == 0 { "points" } else { "lines" }
            ),
            remedy: "remove it from the mesh if you do not need it",
        });
    }
    let is_bound = attributes.get("JOINTS_0")?.is_some() || attributes.get("WEIGHTS_0")?.is_some();
    let position = attributes.get("POSITION")?;
    if position.is_none() {
        warnings.push(Warning {
            code: "primitive-without-positions",
            subject: view.words(),
            message: "has no POSITION; it was left empty".into(),
            remedy: EXPORT_AGAIN,
        });
    }
    // Points and lines need no weights, but then nothing can place them. Either way the primitive keeps its number.
    let Some(reference) = position.filter(|_| has_faces || is_bound || !skinned) else {
        let morphs = vec![RawMorph::default(); view.length("targets")?];
        return Ok(RawPrimitive { morphs, color: color(view)?, material: material(view)?, ..RawPrimitive::default() });
    };
    let accessor = accessors.open(&reference)?;
    let positions = vectors(&accessor)?;
    if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
        let fault = accessor.invalid(format!("has position {} at vertex {vertex}", positions[vertex]));
        return Err(fault.remedy("fix or delete that vertex and export again"));
    }
    let count = positions.len();
    if count == 0 {
        warnings.push(Warning {
            code: "primitive-without-vertices",
            subject: view.words(),
            message: "has no vertices; it was left empty".into(),
            remedy: "remove it from the mesh",
        });
    }
    let normals = directions(&attributes, "NORMAL", count, accessors, warnings, |a| {
        Ok(a.floats::<3>()?.into_iter().map(Vec3::from_array).collect())
    })?;
    let tangents = directions(&attributes, "TANGENT", count, accessors, warnings, |a| {
        Ok(a.floats::<4>()?.into_iter().map(Vec4::from_array).collect())
    })?;
    let influences =
        if skinned { influences(view, &attributes, count, accessors, warnings)? } else { RawInfluences::default() };
    Ok(RawPrimitive {
        triangles: if has_faces { triangles(view, mode, count, accessors, warnings)? } else { Vec::new() },
        normals,
        tangents,
        influences,
        morphs: morphs(view, count, accessors, warnings)?,
        maps: maps(&attributes, count, accessors, warnings)?,
        color: color(view)?,
        material: material(view)?,
        positions,
    })
}

fn vectors(accessor: &Accessor<'_>) -> Result<Vec<Vec3>, Fault> {
    if accessor.component == Component::U32 {
        return Err(accessor.invalid("is UNSIGNED_INT, which cannot hold a vector"));
    }
    Ok(accessor.floats::<3>()?.into_iter().map(Vec3::from_array).collect())
}

/// A vertex attribute that can be computed again from the faces, so a bad one is dropped instead of refused.
fn directions<T: Finite>(
    attributes: &View<'_>,
    key: &str,
    count: usize,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
    read: impl FnOnce(&Accessor<'_>) -> Result<Vec<T>, Fault>,
) -> Result<Option<Vec<T>>, Fault> {
    let Some(reference) = attributes.get(key)? else { return Ok(None) };
    let accessor = accessors.open(&reference)?;
    accessor.expect_count(count, "POSITION")?;
    let directions = read(&accessor)?;
    if let Some(vertex) = directions.iter().position(|d| !d.finite()) {
        warnings.push(Warning {
            code: "direction-not-finite",
            subject: format!("{}, vertex {vertex}", reference.words()),
            message: "is not finite; the whole attribute was dropped".into(),
            remedy: EXPORT_AGAIN,
        });
        return Ok(None);
    }
    Ok(Some(directions))
}

trait Finite {
    fn finite(&self) -> bool;
}

impl Finite for Vec3 {
    fn finite(&self) -> bool {
        self.is_finite()
    }
}

impl Finite for Vec4 {
    fn finite(&self) -> bool {
        self.is_finite()
    }
}

fn influences(
    view: &View<'_>,
    attributes: &View<'_>,
    count: usize,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<RawInfluences, Fault> {
    let mut sets = Vec::new();
    loop {
        let (joints_key, weights_key) = (format!("JOINTS_{}", sets.len()), format!("WEIGHTS_{}", sets.len()));
        let (joints, weights) = match (attributes.get(&joints_key)?, attributes.get(&weights_key)?) {
            (Some(joints), Some(weights)) => (joints, weights),
            (None, None) => break,
            (None, Some(_)) => return Err(attributes.invalid(format!("has {weights_key} but no {joints_key}"))),
            (Some(_), None) => return Err(attributes.invalid(format!("has {joints_key} but no {weights_key}"))),
        };
        let joints = accessors.open(&joints)?;
        joints.expect_count(count, "POSITION")?;
        let weight_words = weights.words();
        let weights = accessors.open(&weights)?;
        weights.expect_count(count, "POSITION")?;
        let normalized = match weights.component {
            Component::F32 => false,
            Component::U8 | Component::U16 => {
                if !weights.normalized {
                    warnings.push(Warning {
                        code: "weights-not-marked-normalised",
                        subject: weight_words,
                        message: "are integers not marked as normalised; they were read as normalised".into(),
                        remedy: EXPORT_AGAIN,
                    });
                }
                true
            }
            other => return Err(weights.invalid(format!("is {}, which cannot hold weights", other.name()))),
        };
        sets.push((joints.unsigned::<4>()?, weights.floats_as::<4>(normalized)?));
    }
    if sets.is_empty() {
        let fault = view.invalid("belongs to a skinned mesh but has no JOINTS_0 and WEIGHTS_0");
        return Err(fault.remedy("paint skin weights on the whole mesh, or separate the unskinned part"));
    }
    let per_vertex = 4 * sets.len();
    let vertices = 0..count;
    Ok(RawInfluences {
        per_vertex,
        joints: vertices.clone().flat_map(|v| sets.iter().flat_map(move |(joints, _)| joints[v])).collect(),
        weights: vertices.flat_map(|v| sets.iter().flat_map(move |(_, weights)| weights[v])).collect(),
    })
}

fn triangles(
    view: &View<'_>,
    mode: u64,
    vertices: usize,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<[u32; 3]>, Fault> {
    let indices = match view.get("indices")? {
        Some(reference) => {
            let accessor = accessors.open(&reference)?;
            let indices = accessor.unsigned::<1>()?;
            let restart = accessor.component.largest_index();
            for (place, &[index]) in indices.iter().enumerate() {
                if Some(index) == restart {
                    let fault = accessor.invalid(format!("has the primitive-restart value {index} at place {place}"));
                    return Err(fault.remedy("glTF does not allow primitive restart: export as a plain triangle list"));
                }
                if index as usize >= vertices {
                    let fault = format!("names vertex {index} at place {place}, but there are only {vertices}");
                    return Err(accessor.invalid(fault));
                }
            }
            Some(indices)
        }
        None => None,
    };
    let length = indices.as_ref().map_or(vertices, Vec::len);
    let faces = if mode == 4 { length / 3 } else { length.saturating_sub(2) };
    if (mode == 4 && length % 3 != 0) || (faces == 0 && length > 0) {
        warnings.push(Warning {
            code: "incomplete-triangle",
            subject: view.words(),
            message: format!("has {length} corners, which do not make whole triangles; those left over were ignored"),
            remedy: EXPORT_AGAIN,
        });
    }
    accessors.budget.take(3 * faces as u64, || view.element())?;
    let corner = |place: usize| indices.as_ref().map_or(place as u32, |indices| indices[place][0]);
    let places = |face: usize| match mode {
        4 => [3 * face, 3 * face + 1, 3 * face + 2],
        5 => [face, face + 1 + face % 2, face + 2 - face % 2],
        _ => [face + 1, face + 2, 0],
    };
    Ok((0..faces).map(|face| places(face).map(corner)).collect())
}

fn morphs(
    view: &View<'_>,
    count: usize,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<RawMorph>, Fault> {
    let mut morphs = Vec::new();
    for target in view.list("targets")? {
        let mut deltas = |key: &str| -> Result<Option<Vec<Vec3>>, Fault> {
            let Some(reference) = target.get(key)? else { return Ok(None) };
            let accessor = accessors.open(&reference)?;
            accessor.expect_count(count, "POSITION")?;
            let mut deltas = vectors(&accessor)?;
            let bad = deltas.iter().filter(|d| !d.is_finite()).count();
            if let Some(vertex) = deltas.iter().position(|d| !d.is_finite()) {
                warnings.push(Warning {
                    code: "morph-not-finite",
                    subject: format!("{}, vertex {vertex}", reference.words()),
                    message: format!("is {}; {bad} such displacements were set to zero", deltas[vertex]),
                    remedy: "fix the shape key and export again",
                });
                deltas.iter_mut().filter(|d| !d.is_finite()).for_each(|d| *d = Vec3::ZERO);
            }
            Ok(Some(deltas))
        };
        morphs.push(RawMorph {
            positions: deltas("POSITION")?,
            normals: deltas("NORMAL")?,
            tangents: deltas("TANGENT")?,
        });
    }
    Ok(morphs)
}

fn maps(
    attributes: &View<'_>,
    count: usize,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<(String, Vec<f32>)>, Fault> {
    let mut maps = Vec::new();
    let mut taken = HashSet::new();
    for (key, reference) in attributes.members()?.into_iter().filter(|(key, _)| key.starts_with('_')) {
        let Some(name) = key.strip_prefix(MAP_PREFIX) else {
            warn_if_integer(&reference, accessors, warnings);
            continue;
        };
        let name = name.to_lowercase();
        if name.is_empty() || !taken.insert(name.clone()) {
            warnings.push(Warning {
                code: "map-name",
                subject: reference.words(),
                message: "has no name of its own after the prefix (capitals do not count); it was ignored".into(),
                remedy: "give each painted map a name of its own",
            });
            continue;
        }
        let accessor = accessors.open(&reference)?;
        accessor.expect_count(count, "POSITION")?;
        let fits = match accessor.component {
            Component::F32 => true,
            Component::U8 | Component::U16 => accessor.normalized,
            _ => false,
        };
        if !fits {
            let fault = format!("is {} (normalised: {})", accessor.component.name(), accessor.normalized);
            let remedy = "store painted maps as FLOAT, or as normalised UNSIGNED_BYTE or UNSIGNED_SHORT";
            return Err(accessor.invalid(fault).remedy(remedy));
        }
        let values: Vec<f32> = accessor.floats::<1>()?.into_iter().map(|[value]| value).collect();
        if let Some(vertex) = values.iter().position(|v| !v.is_finite()) {
            let fault = accessor.invalid(format!("has the painted value {} at vertex {vertex}", values[vertex]));
            return Err(fault.remedy("paint that vertex again and export"));
        }
        maps.push((name, values));
    }
    Ok(maps)
}

/// Custom attributes are none of our business, but glTF forbids this type and strict readers refuse the file.
fn warn_if_integer(reference: &View<'_>, accessors: &Accessors<'_>, warnings: &mut Vec<Warning>) {
    if accessors.component(reference) == Some(Component::U32) {
        warnings.push(Warning {
            code: "attribute-unsigned-int",
            subject: reference.words(),
            message: "is a vertex attribute stored as UNSIGNED_INT, which glTF forbids; it was ignored".into(),
            remedy: "store the attribute as FLOAT or UNSIGNED_SHORT",
        });
    }
}

/// Base colour of the primitive's material; white without one.
fn color(view: &View<'_>) -> Result<[f32; 4], Fault> {
    const WHITE: [f64; 4] = [1.0; 4];
    let Some(material) = view.reference_at("material", "materials")? else { return Ok(WHITE.map(|c| c as f32)) };
    let factor = match view.entry("materials", material)?.get("pbrMetallicRoughness")? {
        Some(pbr) => pbr.numbers_at("baseColorFactor")?.unwrap_or(WHITE),
        None => WHITE,
    };
    Ok(factor.map(|c| c as f32))
}

/// Name of the primitive's material; empty without one.
fn material(view: &View<'_>) -> Result<String, Fault> {
    let material = view.reference_at("material", "materials")?;
    Ok(material.map(|index| view.entry("materials", index)).transpose()?.map_or_else(String::new, |view| view.name()))
}
