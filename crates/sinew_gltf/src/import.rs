//! What a document means: nodes, skins, clips, and the meshes that move, skinned or riding.

use crate::accessor::Accessors;
use crate::audit::{self, below, flags, upwards};
use crate::document::Document;
use crate::error::{Fault, Kind};
use crate::limits::{RAISE, beyond};
use crate::nodes::parents_first;
use crate::view::View;
use crate::{animations, meshes, nodes, skins};
use sinew::raw::{RawBinding, RawBone, RawMesh, RawSkin};
use sinew::{Clip, LocalTransform, RawRig, Warning};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// All nodes as bones, all skins, every mesh instance that moves, and one clip per animation.
pub(crate) fn read(document: &Document, warnings: &mut Vec<Warning>) -> Result<(RawRig, Vec<Clip>), Fault> {
    let root = View::root(&document.json);
    let limits = &document.limits;
    let accessors = Accessors::new(root.clone(), &document.buffers, limits);
    let mut bones = nodes::read(&root, warnings)?;
    let skins = skins::read(&root, &accessors, warnings)?;
    let joints = skins.iter().map(|skin| skin.joints.len()).sum::<usize>();
    within(bones.len() as u64, "nodes", limits.bones)?;
    within(joints as u64, "joints in all skins", limits.bones)?;
    let clips = animations::read(&root, &accessors, warnings)?;
    for (index, clip) in clips.iter().enumerate() {
        let secs = clip.span().map_or(0.0, |(first, last)| last - first);
        if secs > limits.clip_secs {
            let element = format!("animation {index} \"{}\"", clip.name);
            return Err(Fault::new(Kind::TooLarge, element, beyond(secs, "seconds", limits.clip_secs), RAISE));
        }
    }
    let animated = animated_nodes(bones.len(), &clips);
    decompose_animated(&root, &mut bones, &animated, warnings)?;
    let meshes = instances(&root, &bones, &skins, &animated, &accessors, warnings)?;
    let vertices = meshes.iter().flat_map(|mesh| &mesh.primitives).map(|primitive| primitive.positions.len() as u64);
    within(vertices.sum(), "vertices in meshes that move", limits.vertices)?;
    let raw = RawRig { bones, skins, meshes, animated };
    audit::audit(&root, &raw, warnings)?;
    Ok((raw, clips))
}

fn within(found: u64, what: &str, limit: u64) -> Result<(), Fault> {
    if found <= limit {
        return Ok(());
    }
    Err(Fault::new(Kind::TooLarge, "the file", beyond(found, what, limit), RAISE))
}

/// Nodes that some clip moves, in order. Morph weights alone move no node.
fn animated_nodes(count: usize, clips: &[Clip]) -> Vec<usize> {
    let tracks = clips.iter().flat_map(|clip| &clip.tracks);
    let moving = tracks.filter(|t| t.translation.is_some() || t.rotation.is_some() || t.scale.is_some());
    let moves = flags(count, moving.map(|track| track.node));
    (0..count).filter(|&node| moves[node]).collect()
}

/// Curves act on parts, so an animated node cannot stay a matrix.
fn decompose_animated(
    root: &View<'_>,
    bones: &mut [RawBone],
    animated: &[usize],
    warnings: &mut Vec<Warning>,
) -> Result<(), Fault> {
    for &node in animated {
        if let LocalTransform::Matrix(matrix) = bones[node].local {
            let view = root.entry("nodes", node)?;
            let parts = bones[node].local.to_trs();
            if !parts.to_affine().is_finite() {
                let fault = view.invalid("is animated, but its matrix is singular and cannot be decomposed");
                return Err(fault.remedy("give the node translation, rotation and scale instead of a matrix"));
            }
            let lost = (parts.to_affine().matrix3 - matrix.matrix3).to_cols_array();
            let lost = lost.iter().fold(0.0, |worst: f64, x| worst.max(x.abs()));
            warnings.push(Warning {
                code: "animated-matrix",
                subject: view.words(),
                message: format!(
                    "is given by a matrix and animated; it was decomposed into translation, rotation and scale \
                     (shear lost: {lost:.1e})"
                ),
                remedy: "export animated nodes with translation, rotation and scale",
            });
            bones[node].local = LocalTransform::Trs(parts);
        }
    }
    Ok(())
}

/// One mesh per node that carries one and is skinned or rides, in node order, in a scene or not.
fn instances(
    root: &View<'_>,
    bones: &[RawBone],
    skins: &[RawSkin],
    animated: &[usize],
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<RawMesh>, Fault> {
    let rides = riders(bones, skins, animated);
    // A mesh on several nodes is read, and its faults reported, once.
    let mut first_instance: HashMap<(usize, bool), usize> = HashMap::new();
    let mut instances: Vec<RawMesh> = Vec::new();
    for (node, view) in root.list("nodes")?.iter().enumerate() {
        let skin = view.reference_at("skin", "skins")?;
        let Some(mesh) = view.reference_at("mesh", "meshes")? else { continue };
        let binding = match skin {
            Some(skin) => RawBinding::Skin(skin),
            None if rides[node] => RawBinding::Node,
            None => continue,
        };
        let mesh_view = root.entry("meshes", mesh)?;
        let primitives = match first_instance.entry((mesh, skin.is_some())) {
            Entry::Occupied(first) => {
                let primitives = &instances[*first.get()].primitives;
                accessors.budget.take(primitives.iter().map(meshes::numbers).sum(), || view.element())?;
                primitives.clone()
            }
            Entry::Vacant(first) => {
                first.insert(instances.len());
                meshes::read(&mesh_view, skin.is_some(), accessors, warnings)?
            }
        };
        let name = if view.name().is_empty() { mesh_view.name() } else { view.name() };
        accessors.budget.take(name.len() as u64, || view.element())?;
        let morph_weights = morph_weights(view, &mesh_view, warnings)?;
        instances.push(RawMesh { name, node, binding, primitives, morph_weights });
    }
    Ok(instances)
}

/// Which nodes carry a mesh along with a character: joints, animated ancestors of joints, and all below them. Without any
/// skin characters are made of rigid parts: every tree of nodes in which something is animated.
fn riders(bones: &[RawBone], skins: &[RawSkin], animated: &[usize]) -> Vec<bool> {
    let moves = flags(bones.len(), animated.iter().copied());
    if skins.is_empty() {
        let mut root: Vec<usize> = (0..bones.len()).collect();
        for node in parents_first(bones) {
            root[node] = bones[node].parent.map_or(node, |parent| root[parent]);
        }
        return below(bones, flags(bones.len(), animated.iter().map(|&node| root[node])));
    }
    let mut carries = vec![false; bones.len()];
    let mut seen = vec![false; bones.len()];
    for joint in skins.iter().flat_map(|skin| &skin.joints) {
        carries[joint.bone] = true;
        for node in upwards(bones, joint.bone) {
            if std::mem::replace(&mut seen[node], true) {
                break;
            }
            carries[node] |= moves[node];
        }
    }
    below(bones, carries)
}

/// The node's own weights, else the mesh's, else zeros.
fn morph_weights(node: &View<'_>, mesh: &View<'_>, warnings: &mut Vec<Warning>) -> Result<Vec<f32>, Fault> {
    let targets = meshes::target_count(mesh)?;
    let holder = if node.get("weights")?.is_some() { node } else { mesh };
    let mut weights = Vec::new();
    for weight in holder.list("weights")? {
        weights.push(weight.number()? as f32);
    }
    if !weights.is_empty() && weights.len() != targets {
        warnings.push(Warning {
            code: "morph-weight-count",
            subject: holder.words(),
            message: format!("has {} morph weights for {targets} targets; missing ones are 0", weights.len()),
            remedy: "export the shape keys again",
        });
    }
    weights.resize(targets, 0.0);
    Ok(weights)
}
