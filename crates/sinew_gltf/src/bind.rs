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
use crate::export::write_skin_palette;
use crate::layer::write_skin;
use crate::view::View;
use crate::{meshes, nodes};
use glam::DAffine3;
use sinew::bind::{BindError, BindOptions, BindReport, bind_skin};
use sinew::raw::{RawBinding, RawBone, RawJoint, RawMesh, RawSkin};
use sinew::{RawRig, Warning};

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

/// Binds meshes anew. Without `skeleton`, those that have a skin, to that skin; with it, those that have none, to the
/// node of that name and all below it. `name` stands for the file in messages.
pub fn bind(
    name: &str,
    document: &mut Document,
    skeleton: Option<&str>,
    options: &BindOptions,
) -> Result<Vec<BoundSkin>, BindDocumentError> {
    let file = || name.to_owned();
    document.pack().map_err(|source| BindDocumentError::Write { file: file(), source })?;
    let mut raw = match skeleton {
        None => {
            let mut raw = crate::interpret(name, document.clone(), Vec::new())?.raw;
            raw.meshes.retain(|mesh| mesh.binding != RawBinding::Node);
            raw
        }
        Some(top) => unbound(document, top).map_err(|fault| fault.in_file(name))?,
    };
    if raw.meshes.is_empty() {
        let (fault, remedy) = match skeleton {
            None => ("no mesh has a skin", "name the topmost bone of its skeleton with --skeleton"),
            Some(_) => ("every mesh has a skin already", "bind without --skeleton to give them new weights"),
        };
        return Err(BindDocumentError::Nothing { file: file(), fault: fault.into(), remedy });
    }
    let mut bound = Vec::new();
    for skin in 0..raw.skins.len() {
        let on_skin = raw.meshes.iter().filter(|mesh| mesh.binding == RawBinding::Skin(skin));
        let meshes: Vec<String> = on_skin.map(|mesh| mesh.name.clone()).collect();
        if !meshes.is_empty() {
            let report = bind_skin(&mut raw, skin, options);
            let report = report.map_err(|source| BindDocumentError::Bind { file: file(), source })?;
            bound.push(BoundSkin { meshes, report });
        }
    }
    write(document, &raw, skeleton.is_some()).map_err(|source| BindDocumentError::Write { file: file(), source })?;
    Ok(bound)
}

/// Meshes without a skin, each with one of its own on the nodes at and below `top`.
fn unbound(document: &Document, top: &str) -> Result<RawRig, Fault> {
    let root = View::root(&document.json);
    let accessors = Accessors::new(root.clone(), &document.buffers);
    let mut warnings: Vec<Warning> = Vec::new();
    let bones = nodes::read(&root, &mut warnings)?;
    let views = root.list("nodes")?;
    let Some(first) = bones.iter().position(|bone| bone.name == top) else {
        let fault = Fault::invalid("nodes", format!("none is called \"{top}\""));
        return Err(fault.remedy("name the topmost bone as the file does; `sinew inspect` lists the nodes of a rig"));
    };
    let carries_mesh: Vec<bool> =
        views.iter().map(|view| view.get("mesh").map(|m| m.is_some())).collect::<Result<_, _>>()?;
    let is_below = below(&bones, flags(bones.len(), std::iter::once(first)));
    let joints: Vec<usize> = (0..bones.len()).filter(|&node| is_below[node] && !carries_mesh[node]).collect();
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
        let index = edit.json().pointer(&at).and_then(serde_json::Value::as_u64).unwrap_or(u64::MAX) as usize;
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
