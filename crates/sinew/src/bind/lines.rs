//! Bones of a skin as lines in its rest space: from a joint to each child joint.
//!
//! A bone without child joints is a point to the paper (with its parent's length). That point is also the end of its
//! parent's line, so everything beyond it (a fingertip, a skull) would be as near to the one as to the other and follow
//! both by half. Here the line goes on in the parent's direction to nine tenths of the way to the skin; it stays a
//! point where the joint is outside the body or has no parent to tell a direction.

use super::BindError;
use super::shell::Shell;
use crate::limbs::Limbs;
use crate::raw::RawRig;
use glam::DVec3;

/// Of the way from the last joint to the skin.
const INTO_THE_TIP: f64 = 0.9;

/// Joints in rest space; per joint its children's places, and its parent's.
pub(super) struct SkinLines {
    joints: Vec<DVec3>,
    children: Vec<Vec<DVec3>>,
    parents: Vec<Option<DVec3>>,
}

pub(super) fn lines_of_skin(raw: &RawRig, skin: usize) -> Result<SkinLines, BindError> {
    let found = raw.skins.get(skin).ok_or(BindError::NoSkin { skin, count: raw.skins.len() })?;
    if found.joints.is_empty() {
        return Err(BindError::NoJoints { skin });
    }
    let mut joints = Vec::with_capacity(found.joints.len());
    let mut index_of_node = vec![None; raw.bones.len()];
    for (joint, raw_joint) in found.joints.iter().enumerate() {
        let place = raw_joint.bone_from_rest.inverse().translation;
        if !place.is_finite() {
            return Err(BindError::FlatBind { skin, joint });
        }
        joints.push(place);
        if let Some(index) = index_of_node.get_mut(raw_joint.bone) {
            *index = Some(joint);
        }
    }
    let mut lines = SkinLines { children: vec![Vec::new(); joints.len()], parents: vec![None; joints.len()], joints };
    for (joint, raw_joint) in found.joints.iter().enumerate() {
        // The nearest joint above; nodes in between only pass the motion on. A list with a cycle is refused elsewhere.
        let mut above = raw.bones.get(raw_joint.bone).and_then(|bone| bone.parent);
        for _ in 0..raw.bones.len() {
            let Some(node) = above else { break };
            if let Some(&Some(parent)) = index_of_node.get(node) {
                lines.children[parent].push(lines.joints[joint]);
                lines.parents[joint] = Some(lines.joints[parent]);
                break;
            }
            above = raw.bones.get(node).and_then(|bone| bone.parent);
        }
    }
    Ok(lines)
}

/// The lines, with the last ones going on into the tips.
pub(super) fn reach_into(lines: SkinLines, shell: &Shell) -> Limbs {
    let SkinLines { joints, children, parents } = lines;
    let ends = joints.iter().zip(children).zip(parents).map(|((&joint, children), parent)| {
        if !children.is_empty() {
            return (joint, children);
        }
        let tip = parent.and_then(|parent| {
            let direction = joint - parent;
            let way = shell.exit(joint, direction, None)?;
            let tip = joint + direction * (INTO_THE_TIP * way);
            // From outside the body the first face would be passed and a far one found.
            (tip.is_finite() && shell.exit(joint, -direction, None).is_some()).then_some(tip)
        });
        (joint, tip.into_iter().collect())
    });
    Limbs::from_lines(ends)
}
