//! One space for the rest shapes of all skins and riders of a character: that of its first skin.
//!
//! Other skins and riders are put there by a bone they share with it or, failing that, by the nodes' default transforms.

use crate::pose::WorldPose;
use crate::rig::Rig;
use glam::DAffine3;

/// Per palette entry, from its rest space to bind space; identity for other characters.
pub(crate) fn bind_spaces(rig: &Rig, character: usize) -> Vec<DAffine3> {
    let (palette, skeleton) = (rig.palette(), rig.skeleton());
    let mut world = WorldPose::default();
    world.compose(skeleton, &rig.rest_pose());
    let world_from_rest = |entry: usize| world.world_from_bone(palette[entry].bone) * palette[entry].bone_from_rest;
    let mut bind_from_rest = vec![DAffine3::IDENTITY; palette.len()];
    let mine: Vec<usize> = (0..palette.len()).filter(|&e| palette[e].character as usize == character).collect();
    let mut placed: Vec<Option<usize>> = vec![None; skeleton.len()];
    for (turn, space) in mine.chunk_by(|&a, &b| palette[a].space == palette[b].space).enumerate() {
        let above = |&entry: &usize| {
            let mut bone = Some(palette[entry].bone);
            while let Some(here) = bone {
                if let Some(anchor) = placed[here.index()] {
                    return Some((entry, anchor));
                }
                bone = skeleton.parent(here);
            }
            None
        };
        let (entry, anchor) = space.iter().find_map(above).unwrap_or((space[0], mine[0]));
        let carried = bind_from_rest[anchor] * world_from_rest(anchor).inverse() * world_from_rest(entry);
        let usable = turn > 0 && carried.is_finite() && carried.inverse().is_finite();
        for &entry in space {
            bind_from_rest[entry] = if usable { carried } else { DAffine3::IDENTITY };
            placed[palette[entry].bone.index()].get_or_insert(entry);
        }
    }
    bind_from_rest
}
