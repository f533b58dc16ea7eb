//! Findings that concern the whole scene: legal or harmless, but seldom what the maker meant.

use crate::error::Fault;
use crate::nodes::parents_first;
use crate::view::{View, quoted};
use glam::{DAffine3, DMat3};
use sinew::Warning;
use sinew::raw::{RawBinding, RawBone, RawJoint, RawMesh, RawRig};

/// How far an entry of a 3×3 part may be from the identity's and still be rounding (f32 in JSON and in programs).
const ROUNDING: f64 = 1e-4;

pub(crate) fn audit(root: &View<'_>, raw: &RawRig, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
    ignored_transforms(raw, warnings);
    joints_outside_scene(root, raw, warnings)?;
    unused_skins(root, raw, warnings)
}

/// glTF places a skinned mesh by its joints alone. A transform that mesh and joints share (an armature node above
/// both) acts on both; what lies between the mesh and that common ancestor is lost, and is worth a word unless it
/// is the identity.
fn ignored_transforms(raw: &RawRig, warnings: &mut Vec<Warning>) {
    let moves = flags(raw.bones.len(), raw.animated.iter().copied());
    let mut by_skin: Vec<Vec<&RawMesh>> = vec![Vec::new(); raw.skins.len()];
    for mesh in &raw.meshes {
        if let RawBinding::Skin(skin) = mesh.binding {
            by_skin[skin].push(mesh);
        }
    }
    // The joint above which nodes were marked last, which many skins share, and by node the last joint below it.
    let (mut marked, mut joint_below) = (None, vec![None; raw.bones.len()]);
    for (skin, meshes) in raw.skins.iter().zip(&by_skin).filter(|(_, meshes)| !meshes.is_empty()) {
        let joint = skin.joints.first().map(|joint| joint.bone);
        if let Some(joint) = joint.filter(|_| marked != joint) {
            upwards(&raw.bones, joint).for_each(|node| joint_below[node] = Some(joint));
            marked = Some(joint);
        }
        let is_shared = |&node: &usize| joint.is_some() && joint_below[node] == joint;
        for mesh in meshes {
            let (mut transform, mut is_animated) = (DAffine3::IDENTITY, false);
            for node in upwards(&raw.bones, mesh.node).take_while(|node| !is_shared(node)) {
                transform = raw.bones[node].local.to_affine() * transform;
                is_animated |= moves[node];
            }
            if !is_animated && is_identity(&transform, mesh_size(mesh)) {
                continue;
            }
            let what = if is_animated { "animation" } else { "a transform" };
            warnings.push(Warning {
                code: "skinned-mesh-transform",
                subject: node_words(raw, mesh.node),
                message: format!(
                    "carries a skinned mesh and has {what}, by itself or from a parent, that its joints do not \
                     share; glTF places skinned meshes by their joints alone, so it has no effect"
                ),
                remedy: "apply the mesh's transform before export, or put the mesh at the root of the scene",
            });
        }
    }
}

fn mesh_size(mesh: &RawMesh) -> f64 {
    let points = mesh.primitives.iter().flat_map(|p| &p.positions);
    points.fold(0.0, |size: f64, p| size.max(f64::from(p.abs().max_element())))
}

/// The identity up to rounding; translations are measured against the mesh's `size`.
fn is_identity(transform: &DAffine3, size: f64) -> bool {
    transform.matrix3.abs_diff_eq(DMat3::IDENTITY, ROUNDING) && transform.translation.length() <= ROUNDING * size
}

/// Judged by the scene that viewers show: the default one, else the first.
fn joints_outside_scene(root: &View<'_>, raw: &RawRig, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
    let scene = root.reference_at("scene", "scenes")?.unwrap_or(0);
    if scene >= root.length("scenes")? {
        return Ok(());
    }
    let roots = root.entry("scenes", scene)?.list("nodes")?;
    let roots = roots.iter().map(|node| node.reference("nodes")).collect::<Result<Vec<_>, _>>()?;
    let is_shown = below(&raw.bones, flags(raw.bones.len(), roots));
    let is_hidden = |joint: &&RawJoint| !is_shown[joint.bone];
    let hidden: Vec<_> = raw.skins.iter().map(|skin| skin.joints.iter().find(is_hidden)).collect();
    for mesh in raw.meshes.iter().filter(|mesh| is_shown[mesh.node]) {
        let RawBinding::Skin(skin) = mesh.binding else { continue };
        let Some(joint) = hidden[skin] else { continue };
        warnings.push(Warning {
            code: "joints-outside-scene",
            subject: root.entry("skins", skin)?.words(),
            message: format!(
                "moves {} of the scene, but its joint, {}, is not in the scene; it was used anyway",
                node_words(raw, mesh.node),
                node_words(raw, joint.bone)
            ),
            remedy: "add the skeleton to the scene and export again",
        });
    }
    Ok(())
}

fn node_words(raw: &RawRig, node: usize) -> String {
    format!("node {node} {}", quoted(&raw.bones[node].name))
}

fn unused_skins(root: &View<'_>, raw: &RawRig, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
    let used = flags(
        raw.skins.len(),
        raw.meshes.iter().filter_map(|mesh| match mesh.binding {
            RawBinding::Skin(skin) => Some(skin),
            RawBinding::Node => None,
        }),
    );
    for (skin, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
        warnings.push(Warning {
            code: "skin-unused",
            subject: root.entry("skins", skin)?.words(),
            message: "is not used by any mesh".into(),
            remedy: "remove it, or bind a mesh to it",
        });
    }
    Ok(())
}

/// A flag per item, set for those listed.
pub(crate) fn flags(count: usize, set: impl IntoIterator<Item = usize>) -> Vec<bool> {
    let mut flags = vec![false; count];
    set.into_iter().for_each(|item| flags[item] = true);
    flags
}

/// A node and its ancestors, upwards.
pub(crate) fn upwards(bones: &[RawBone], node: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(node), |&node| bones[node].parent)
}

/// Which nodes are flagged or stand below one that is.
pub(crate) fn below(bones: &[RawBone], mut flagged: Vec<bool>) -> Vec<bool> {
    for node in parents_first(bones) {
        flagged[node] |= bones[node].parent.is_some_and(|parent| flagged[parent]);
    }
    flagged
}
