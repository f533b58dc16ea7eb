//! New skin weights in a document: `JOINTS_n` and `WEIGHTS_n` of its meshes, and the skins where there are none. All
//! else stays as it is.
//!
//! Source: glTF 2.0 specification, chapter 3.7.3. A skinned mesh ignores its node's transform, so a mesh bound where it
//! stands has that transform in its inverse bind matrices.
//!
//! Oracle: at the nodes' default transforms the bound mesh is where it was (`tests/binding.rs`).

use crate::accessor::Accessors;
use crate::audit::{below, flags};
use crate::document::Document;
use crate::edit::Edit;
use crate::error::{Fault, ImportError, WriteError};
use crate::export::{append_nodes, write_clip, write_skin_palette};
use crate::layer::write_skin;
use crate::limits::{RAISE, beyond};
use crate::view::View;
use crate::{RawAsset, meshes, nodes};
use glam::DAffine3;
use serde_json::{Value, json};
use sinew::bind::{BindError, BindOptions, BindReport, bind_skin};
use sinew::clip::Track;
use sinew::raw::{RawBinding, RawBone, RawJoint, RawMesh, RawSkin};
use sinew::{Clip, RawRig, Warning};

/// A skin that has new weights.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundSkin {
    /// The meshes on it.
    pub meshes: Vec<String>,
    /// What was found.
    pub report: BindReport,
}

/// Why a document was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindDocumentError {
    /// It cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Nothing to bind.
    #[error("{file}: {fault}; {remedy}")]
    Nothing {
        /// The file.
        file: String,
        /// What is missing.
        fault: String,
        /// How to mend it.
        remedy: &'static str,
    },
    /// A skin or mesh cannot be bound.
    #[error("{file}: {source}")]
    Bind {
        /// The file.
        file: String,
        /// Why.
        source: BindError,
    },
    /// It cannot be written.
    #[error("{file}: {source}")]
    Write {
        /// The file.
        file: String,
        /// Why.
        source: WriteError,
    },
}

/// What meshes are bound to.
#[derive(Clone, Copy, Debug)]
pub enum Skeleton<'a> {
    /// Meshes with a skin, to that skin.
    Own,
    /// Meshes without a skin, to the node of that name and all below it.
    Below(&'a str),
    /// Meshes without a skin, to the skeleton of another file, which is added with its clips.
    Of(&'a RawAsset),
}

/// Binds meshes anew. `name` stands for the file in messages.
pub fn bind(
    name: &str,
    document: &mut Document,
    skeleton: Skeleton<'_>,
    options: &BindOptions,
) -> Result<Vec<BoundSkin>, BindDocumentError> {
    let file = || name.to_owned();
    let write_error = |source| BindDocumentError::Write { file: file(), source };
    document.pack().map_err(write_error)?;
    let mut raw = match skeleton {
        Skeleton::Own => {
            let mut raw = RawAsset::from_document(name, document.clone())?.raw;
            raw.meshes.retain(|mesh| mesh.binding != RawBinding::Node);
            raw
        }
        Skeleton::Below(top) => unbound(document, |bones| below_named(bones, top)).map_err(|f| f.in_file(name))?,
        Skeleton::Of(other) => {
            let added = graft(document, other).map_err(write_error)?;
            unbound(document, |bones| Ok(flags(bones.len(), added.iter().copied()))).map_err(|f| f.in_file(name))?
        }
    };
    let with_skins = !matches!(skeleton, Skeleton::Own);
    if raw.meshes.is_empty() {
        let (fault, remedy) = match with_skins {
            false => ("no mesh has a skin", "name the topmost bone of its skeleton, or a file, with --skeleton"),
            true => ("every mesh has a skin already", "bind without --skeleton to give them new weights"),
        };
        return Err(BindDocumentError::Nothing { file: file(), fault: fault.into(), remedy });
    }
    let mut bound = Vec::new();
    for skin in 0..raw.skins.len() {
        let on_skin = raw.meshes.iter().filter(|mesh| mesh.binding == RawBinding::Skin(skin));
        let meshes: Vec<String> = on_skin.map(|mesh| mesh.name.clone()).collect();
        if !meshes.is_empty() {
            let on_skin = raw.meshes.iter().filter(|mesh| mesh.binding == RawBinding::Skin(skin));
            let vertices: usize = on_skin.flat_map(|mesh| &mesh.primitives).map(|p| p.positions.len()).sum();
            let weights = vertices as u64 * raw.skins[skin].joints.len() as u64;
            if weights > document.limits.weights {
                let found = format!("{} on {vertices} vertices, {weights}", raw.skins[skin].joints.len());
                let fault = format!("skin {skin} {}", beyond(found, "weights to be found", document.limits.weights));
                return Err(BindDocumentError::Nothing { file: file(), fault, remedy: RAISE });
            }
            let report = bind_skin(&mut raw, skin, options);
            let report = report.map_err(|source| BindDocumentError::Bind { file: file(), source })?;
            bound.push(BoundSkin { meshes, report });
        }
    }
    write(document, &raw, with_skins).map_err(write_error)?;
    Ok(bound)
}

fn below_named(bones: &[RawBone], top: &str) -> Result<Vec<bool>, Fault> {
    let Some(first) = bones.iter().position(|bone| bone.name == top) else {
        let fault = Fault::invalid("nodes", format!("none is called \"{top}\""));
        return Err(fault.remedy("name the topmost bone as the file does; `sinew inspect` lists the nodes of a rig"));
    };
    Ok(below(bones, flags(bones.len(), std::iter::once(first))))
}

/// Adds the skeleton of another file, where it stands there, and the clips that move it; returns its bones. Those are
/// the joints of its skins, or all its nodes where it has none.
fn graft(document: &mut Document, other: &RawAsset) -> Result<Vec<usize>, WriteError> {
    let bones = &other.raw.bones;
    let mut is_joint = vec![other.raw.skins.is_empty(); bones.len()];
    for joint in other.raw.skins.iter().flat_map(|skin| &skin.joints) {
        is_joint[joint.bone] = true;
    }
    let mut is_needed = is_joint.clone();
    for node in (0..bones.len()).filter(|&node| is_joint[node]) {
        let mut above = bones[node].parent;
        while let Some(parent) = above.filter(|&parent| !is_needed[parent]) {
            is_needed[parent] = true;
            above = bones[parent].parent;
        }
    }
    let kept: Vec<usize> = (0..bones.len()).filter(|&node| is_needed[node]).collect();
    let place = |node: usize| kept.binary_search(&node).ok();
    let copied: Vec<RawBone> = kept
        .iter()
        .map(|&node| RawBone { parent: bones[node].parent.and_then(place), ..bones[node].clone() })
        .collect();
    let mut edit = Edit::begin(document)?;
    let first = edit.json().get("nodes").and_then(Value::as_array).map_or(0, Vec::len);
    let roots = append_nodes(&mut edit, &copied)?;
    let scene = edit.json().get("scene").and_then(Value::as_u64).unwrap_or(0);
    let at = format!("/scenes/{scene}");
    if edit.json().pointer(&at).is_none() {
        edit.set("/scene", 0.into())?;
        edit.push("/scenes", json!({"nodes": roots}))?;
    } else {
        edit.create(&format!("{at}/nodes"), Value::Array(Vec::new()))?;
        for root in roots {
            edit.push(&format!("{at}/nodes"), root.into())?;
        }
    }
    for clip in &other.clips {
        let moved = clip.tracks.iter().filter_map(|track| {
            let node = first + place(track.node)?;
            Some(Track { node, morph: None, ..track.clone() })
        });
        let clip = Clip { name: clip.name.clone(), tracks: moved.collect() };
        if clip.span().is_some() {
            write_clip(&mut edit, &clip)?;
        }
    }
    edit.finish()?;
    Ok(kept.iter().enumerate().filter(|(_, node)| is_joint[**node]).map(|(index, _)| first + index).collect())
}

/// Meshes without a skin, each with one of its own on the nodes that are chosen.
fn unbound(document: &Document, choose: impl FnOnce(&[RawBone]) -> Result<Vec<bool>, Fault>) -> Result<RawRig, Fault> {
    let root = View::root(&document.json);
    let accessors = Accessors::new(root.clone(), &document.buffers, &document.limits);
    let mut warnings: Vec<Warning> = Vec::new();
    let bones = nodes::read(&root, &mut warnings)?;
    let views = root.list("nodes")?;
    let carries_mesh: Vec<bool> =
        views.iter().map(|view| view.get("mesh").map(|m| m.is_some())).collect::<Result<_, _>>()?;
    let is_chosen = choose(&bones)?;
    let joints: Vec<usize> = (0..bones.len()).filter(|&node| is_chosen[node] && !carries_mesh[node]).collect();
    let mut raw = RawRig { bones, ..RawRig::default() };
    for (node, view) in views.iter().enumerate() {
        let (Some(mesh), None) = (view.reference_at("mesh", "meshes")?, view.get("skin")?) else { continue };
        let mesh_view = root.entry("meshes", mesh)?;
        let primitives = meshes::read(&mesh_view, false, &accessors, &mut warnings)?;
        let placed = world_from_node(&raw.bones, node);
        let joint =
            |&bone: &usize| RawJoint { bone, bone_from_rest: world_from_node(&raw.bones, bone).inverse() * placed };
        let name = if view.name().is_empty() { mesh_view.name() } else { view.name() };
        let joints = joints.iter().map(joint).collect();
        raw.skins.push(RawSkin { name: name.clone(), joints });
        let binding = RawBinding::Skin(raw.skins.len() - 1);
        raw.meshes.push(RawMesh { name, node, binding, primitives, morph_weights: Vec::new() });
    }
    Ok(raw)
}

/// Nodes form a forest: `nodes::read` has seen to it.
fn world_from_node(bones: &[RawBone], node: usize) -> DAffine3 {
    let mut world = bones[node].local.to_affine();
    let mut above = bones[node].parent;
    while let Some(parent) = above {
        world = bones[parent].local.to_affine() * world;
        above = bones[parent].parent;
    }
    world
}

fn write(document: &mut Document, raw: &RawRig, with_skins: bool) -> Result<(), WriteError> {
    let mut edit = Edit::begin(document)?;
    let mut written: Vec<(usize, &RawMesh)> = Vec::new();
    for mesh in &raw.meshes {
        let at = format!("/nodes/{}/mesh", mesh.node);
        let index = edit.json().pointer(&at).and_then(Value::as_u64).unwrap_or(u64::MAX) as usize;
        let other = written.iter().find(|(known, _)| *known == index).map(|(_, other)| *other);
        let conflict = |other: &RawMesh| with_skins || other.binding != mesh.binding;
        match other {
            Some(other) if conflict(other) => {
                let element = format!("mesh {index}");
                let fault =
                    format!("is on nodes {} and {}, which would need weights of their own", other.node, mesh.node);
                let remedy = "give each node a mesh of its own (make them single-user) and export again";
                return Err(WriteError::Document { element, fault, remedy });
            }
            Some(_) => continue,
            None => written.push((index, mesh)),
        }
        for (primitive, raw) in mesh.primitives.iter().enumerate().filter(|(_, p)| !p.positions.is_empty()) {
            let attributes = format!("/meshes/{index}/primitives/{primitive}/attributes");
            write_skin(&mut edit, &attributes, &raw.influences)?;
        }
        if with_skins && let RawBinding::Skin(skin) = mesh.binding {
            let skin = write_skin_palette(&mut edit, &raw.skins[skin])?;
            edit.set(&format!("/nodes/{}/skin", mesh.node), skin.into())?;
        }
    }
    edit.finish()
}
