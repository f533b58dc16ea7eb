//! Which bones follow another one than their parent in the file.
//!
//! Asked are only bones that the clips move off their parent: with `r_ij` the root mean square of how far the joint of j
//! strays from its mean place in the frame of i, in sizes, those with `r > 0.2 %` against their own parent. A joint that
//! only turns has r = 0 whatever clip is added, so a tree that is right stays as it is.
//! What such a bone and all below it move is a piece of skin. The piece follows the bone i with which it shares most, by
//! weights across the edges of the mesh (`A_ij = Σ_uv w_ui w_vj`), or, where it is a piece of its own (a boot, an eye, a
//! plate), the bone whose skin it touches at rest; provided that `r_ij` is at most half of r against its own parent, times that
//! share: the more the skin says for it, the less the motion must.
//! Pieces are hung one by one on what already hangs, the largest share first, beginning with the largest piece: no cycle
//! can come about, and a skeleton without any tree grows one from its trunk.
//!
//! On real characters: feet on the root stray by 6 to 8 %, and by 0.5 to 2 % in the frame of the lower leg, with which they
//! share nearly all of their border; a false candidate (the other leg, a sibling) shares little of it or strays as much.

use super::{Evidence, Follow, Reason};
use crate::clip::Clip;
use crate::motion::{Motion, MotionSettings};
use crate::pose::{Pose, WorldPose};
use crate::propagated::Ancestry;
use crate::rig::Rig;
use crate::skeleton::BoneId;
use glam::{DAffine3, DVec3};

/// Below, a joint keeps its place in its parent; in sizes.
const KEEPS_ITS_PLACE: f64 = 2e-3;
/// Largest r against a new parent, as a share of r against the parent in the file, where all that is shared is its own.
const STRAYS_LESS: f64 = 0.5;
/// Smallest share of a piece's border, or of what it touches.
const SMALLEST_SHARE: f64 = 0.25;
/// Farthest that pieces of skin are apart where they touch, in sizes.
const TOUCHES: f64 = 0.02;
/// Poses looked at per clip, and in all: fewer where there are many bones.
const POSES_PER_CLIP: usize = 12;
const MOST_POSES: usize = 1024;
const MOST_PLACES: usize = 1 << 20;
/// Points of a piece that are looked at for what it touches.
const MOST_POINTS: usize = 512;

pub(super) fn follows(rig: &Rig, clips: &[Clip]) -> Vec<Follow> {
    let skeleton = rig.skeleton();
    let file = super::Hierarchy::plain(skeleton);
    let ancestry = Ancestry::new(&file);
    let poses = poses(rig, clips);
    let strays = |bone: BoneId, of: BoneId| strays(rig, &poses, bone, of);

    // Influences at and below each bone.
    let mut below = vec![0usize; skeleton.len()];
    for slot in points(rig) {
        for influence in rig.influences(slot) {
            below[rig.palette()[influence.palette as usize].bone.index()] += 1;
        }
    }
    for bone in skeleton.bones().rev() {
        if let Some(parent) = skeleton.parent(bone) {
            below[parent.index()] += below[bone.index()];
        }
    }
    // Bones at the top of a piece that the clips move off what carries it and other skin.
    let mut pieces: Vec<Piece> = skeleton
        .bones()
        .filter_map(|bone| {
            let parent = skeleton.parent(bone)?;
            let is_top = below[bone.index()] > 0 && below[parent.index()] > below[bone.index()];
            let strays_in_file = if is_top { strays(bone, parent)? } else { 0.0 };
            (strays_in_file > KEEPS_ITS_PLACE).then(|| Piece {
                bone,
                strays_in_file,
                candidates: Vec::new(),
                touches: false,
            })
        })
        .collect();
    if pieces.is_empty() {
        return Vec::new();
    }

    let shared = shared_skin(rig);
    let rest = rest_points(rig);
    for piece in &mut pieces {
        let inside = |bone: BoneId| ancestry.is_at_or_below(bone, piece.bone);
        let mut shares = Shares::default();
        for bone in skeleton.bones().filter(|&bone| inside(bone)) {
            let others = shared[bone.index()].0.iter().filter(|&&(other, _)| !inside(other));
            others.for_each(|&(other, amount)| shares.add(other, amount));
        }
        piece.touches = shares.0.is_empty();
        if piece.touches {
            shares = touched(rig, &rest, rig.character_of_bone(piece.bone), &inside);
        }
        let total: f64 = shares.0.iter().map(|share| share.1).sum();
        let of_its_own = |&(bone, _): &(BoneId, f64)| rig.character_of_bone(bone) == rig.character_of_bone(piece.bone);
        piece.candidates = shares
            .0
            .into_iter()
            .filter(of_its_own)
            .map(|(bone, amount)| (bone, amount / total))
            .filter(|&(_, share)| share >= SMALLEST_SHARE)
            .filter_map(|(bone, share)| Some(Candidate { bone, share, strays: strays(piece.bone, bone)? }))
            .filter(|candidate| candidate.strays <= STRAYS_LESS * candidate.share * piece.strays_in_file)
            .collect();
    }

    // What hangs already: all that is below no loose piece; a piece inside another one hangs as soon as that one does.
    let mut loose: Vec<Piece> = pieces;
    let mut found = Vec::new();
    while !loose.is_empty() {
        let hangs = |bone: BoneId| !loose.iter().any(|piece| ancestry.is_at_or_below(bone, piece.bone));
        let mut best: Option<(usize, Candidate)> = None;
        for (index, piece) in loose.iter().enumerate() {
            for &candidate in piece.candidates.iter().filter(|candidate| hangs(candidate.bone)) {
                if best.is_none_or(|(_, known)| candidate.share > known.share) {
                    best = Some((index, candidate));
                }
            }
        }
        let Some((index, Candidate { bone: parent, share, strays })) = best else {
            // Nothing to hang anything on: the largest piece stays where it is, and carries others.
            let size = |piece: &Piece| below[piece.bone.index()];
            let largest = (0..loose.len()).max_by(|&a, &b| size(&loose[a]).cmp(&size(&loose[b])).then(b.cmp(&a)));
            loose.remove(largest.unwrap_or(0));
            continue;
        };
        let piece = loose.remove(index);
        let evidence = Evidence { share, strays, strays_in_file: piece.strays_in_file };
        let reason = if piece.touches { Reason::Touch(evidence) } else { Reason::Skin(evidence) };
        found.push(Follow { bone: piece.bone, parent, reason });
    }
    found.retain(|follow| skeleton.parent(follow.bone) != Some(follow.parent));
    found
}

/// The skin at and below a bone that the clips move off its parent.
struct Piece {
    bone: BoneId,
    strays_in_file: f64,
    candidates: Vec<Candidate>,
    /// Whether it shares no skin with anything.
    touches: bool,
}

#[derive(Clone, Copy)]
struct Candidate {
    bone: BoneId,
    share: f64,
    strays: f64,
}

/// Amounts by bone; few, so that looking through them is quickest.
#[derive(Clone, Default)]
struct Shares(Vec<(BoneId, f64)>);

impl Shares {
    fn add(&mut self, bone: BoneId, amount: f64) {
        match self.0.iter_mut().find(|share| share.0 == bone) {
            Some(share) => share.1 += amount,
            None => self.0.push((bone, amount)),
        }
    }
}

/// Slots that hold a point, each once.
fn points(rig: &Rig) -> impl Iterator<Item = usize> + '_ {
    let lanes = crate::simd::LANES;
    rig.rows().iter().enumerate().flat_map(move |(row, data)| (0..data.filled as usize).map(move |k| lanes * row + k))
}

/// `A_ij` per bone.
fn shared_skin(rig: &Rig) -> Vec<Shares> {
    let mut shared = vec![Shares::default(); rig.skeleton().len()];
    let bone = |palette: u32| rig.palette()[palette as usize].bone;
    for slot in points(rig) {
        for &neighbour in rig.adjacency().of(slot) {
            for mine in rig.influences(slot) {
                for theirs in rig.influences(neighbour as usize) {
                    let (mine, theirs, amount) =
                        (bone(mine.palette), bone(theirs.palette), mine.weight * theirs.weight);
                    if mine != theirs {
                        shared[mine.index()].add(theirs, f64::from(amount));
                    }
                }
            }
        }
    }
    shared
}

/// World positions of all slots at the nodes' default transforms.
fn rest_points(rig: &Rig) -> Vec<DVec3> {
    let mut world = WorldPose::default();
    world.compose(rig.skeleton(), &rig.rest_pose());
    let matrices: Vec<DAffine3> =
        rig.palette().iter().map(|entry| world.world_from_bone(entry.bone) * entry.bone_from_rest).collect();
    let skinned = |slot: usize| {
        let point = rig.rest().get(slot).as_dvec3();
        let moved = |palette: u32| matrices[palette as usize].transform_point3(point);
        rig.influences(slot).map(|influence| moved(influence.palette) * f64::from(influence.weight)).sum()
    };
    (0..rig.slots()).map(skinned).collect()
}

/// Whose skin a piece touches at rest: nothing if it is too far from everything.
fn touched(rig: &Rig, rest: &[DVec3], character: usize, inside: &impl Fn(BoneId) -> bool) -> Shares {
    let of_character = |&slot: &usize| rig.character_of_point(slot) == Some(character);
    let is_inside = |slot: &usize| rig.main_bone(*slot).is_some_and(inside);
    let (own, others): (Vec<usize>, Vec<usize>) = points(rig).filter(of_character).partition(is_inside);
    let reach = TOUCHES * rig.characters().get(character).map_or(0.0, |character| character.size);
    let stride = own.len().div_ceil(MOST_POINTS).max(1);
    let nearest = |&slot: &usize| {
        let apart = |other: usize| rest[slot].distance_squared(rest[other]);
        let pairs = others.iter().map(|&other| (apart(other), other));
        pairs.reduce(|best, next| if next.0 < best.0 { next } else { best })
    };
    let mut shares = Shares::default();
    for (square, other) in own.iter().step_by(stride).filter_map(nearest).filter(|pair| pair.0 <= reach * reach) {
        for influence in rig.influences(other) {
            // The nearer, the more it touches.
            let amount = f64::from(influence.weight) * (1.0 - square.sqrt() / reach);
            shares.add(rig.palette()[influence.palette as usize].bone, amount);
        }
    }
    shares
}

/// World poses of all clips, evenly spread over each.
fn poses(rig: &Rig, clips: &[Clip]) -> Vec<WorldPose> {
    let most = (MOST_PLACES / rig.skeleton().len().max(1)).clamp(1, MOST_POSES);
    let per_clip = (most / clips.len().max(1)).clamp(1, POSES_PER_CLIP);
    let mut poses = Vec::new();
    for clip in clips.iter().step_by(clips.len().div_ceil(most).max(1)) {
        // A clip that does not fit says nothing; whoever plays it is told.
        let Ok(motion) = Motion::new(rig.plain_puppet(), clip, &MotionSettings::default(), &[]) else { continue };
        let (start, end) = clip.span().unwrap_or((0.0, 0.0));
        for k in 0..per_clip {
            let mut pose = Pose::rest(rig.skeleton());
            motion.pose(start + (end - start) * ((k as f64 + 0.5) / per_clip as f64), &mut pose);
            let mut world = WorldPose::default();
            world.compose(rig.skeleton(), &pose);
            poses.push(world);
        }
    }
    poses
}

/// Root mean square of how far a joint strays from its mean place in the frame of another bone, in sizes; `None` where no
/// pose can tell. One in which a bone is scaled to nothing cannot.
fn strays(rig: &Rig, poses: &[WorldPose], bone: BoneId, of: BoneId) -> Option<f64> {
    let place = |world: &WorldPose| world.world_from_bone(of).inverse().transform_point3(world.joint_origin(bone));
    let (mut sum, mut count) = (DVec3::ZERO, 0.0);
    for place in poses.iter().map(place).filter(|place| place.is_finite()) {
        (sum, count) = (sum + place, count + 1.0);
    }
    let mean = sum / count;
    // Back in the world, so that a frame's scale does not count.
    let astray = |world: &WorldPose| world.world_from_bone(of).matrix3.mul_vec3(place(world) - mean).length_squared();
    let squares: f64 = poses.iter().map(astray).filter(|square| square.is_finite()).sum();
    let strays = (squares / count).sqrt() / rig.bone_sizes()[bone.index()];
    strays.is_finite().then_some(strays)
}
