//! Bones chosen by a baseline stroke and posed by an offset stroke (EX 7.2, fig. 29–31).
//!
//! A joint j within the radius of the baseline b has `t_j`, the fraction of its length nearest to the joint, and
//! `d_j = j − b(t_j)`. Its target on the offset stroke o is `o(t_j) + R_j d_j`, `R_j = F(o, t_j) F(b, t_j)ᵀ`, with frames
//! that turn as little as they can. Here it is added up as `j + (o − b) + (F(o) − F(b)) F(b)ᵀd_j`, the same in exact
//! numbers, and exactly j where the strokes are equal.
//!
//! Targets are applied root to tip. A bone is turned about its joint, by the least rotation, so that the next chosen
//! joint points to its target; the last one is turned by its `R_j`. Lengths of bones are kept, so joints come as near as
//! they can; with `stretch` every joint is put on its target. The topmost chosen joint moves only if it is free to (it
//! carries the whole character), or with `stretch`.
//!
//! [`Fit::Curve`] lays the chain on the offset stroke itself: the next joint is where the stroke first leaves the ball
//! about this one whose radius is the way to it, so joints lie on the stroke with lengths kept. Arc lengths would not do:
//! bones are chords, and run ahead of the arc. Where the stroke ends before the chain, the rest goes straight on.
//!
//! Oracle: offset = baseline leaves the pose bit for bit; a straight chain on an arc of its own length follows it with
//! lengths kept to rounding; with `stretch` joints are on their targets; with [`Fit::Curve`] they are on the stroke.

use super::curve::Stroke;
use super::frames::Frames;
use crate::polar::polar_rotation;
use crate::pose::{LocalTransform, Pose, WorldPose};
use crate::skeleton::{BoneId, Skeleton};
use glam::{DMat3, DQuat, DVec3};

/// Rounds of aiming: one is exact unless a parent's scale is uneven.
const AIM_ROUNDS: usize = 8;

/// A bone near a baseline stroke.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selected {
    /// The bone.
    pub bone: BoneId,
    /// Fraction of the baseline's length nearest to its joint.
    pub t: f64,
    /// From that point of the baseline to the joint.
    pub displacement: DVec3,
}

/// Bones near a baseline stroke, parents first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    bones: Vec<Selected>,
}

impl Selection {
    /// Those of `candidates` whose joints lie within `radius` of the baseline.
    pub fn by_baseline(
        world: &WorldPose,
        candidates: impl Iterator<Item = BoneId>,
        baseline: &Stroke,
        radius: f64,
    ) -> Self {
        let near = |bone: BoneId| {
            let joint = world.joint_origin(bone);
            let t = baseline.nearest(joint);
            let displacement = joint - baseline.at(t);
            (displacement.length() <= radius).then_some(Selected { bone, t, displacement })
        };
        let mut bones: Vec<Selected> = candidates.filter_map(near).collect();
        bones.sort_by_key(|selected| selected.bone);
        bones.dedup_by_key(|selected| selected.bone);
        Self { bones }
    }

    /// The bones, parents first.
    pub fn bones(&self) -> &[Selected] {
        &self.bones
    }

    /// For each chosen bone, the nearest chosen one above it.
    fn above(&self, skeleton: &Skeleton) -> Vec<Option<usize>> {
        let mut chosen: Vec<Option<usize>> = vec![None; skeleton.len()];
        self.bones.iter().enumerate().for_each(|(index, selected)| chosen[selected.bone.index()] = Some(index));
        let mut nearest: Vec<Option<usize>> = vec![None; skeleton.len()];
        for bone in skeleton.bones() {
            let parent = skeleton.parent(bone);
            nearest[bone.index()] = parent.and_then(|parent| chosen[parent.index()].or(nearest[parent.index()]));
        }
        self.bones.iter().map(|selected| nearest[selected.bone.index()]).collect()
    }

    /// For each chosen bone, the one below it that it points to: where the chain forks, the branch that the stroke runs
    /// along leads.
    fn next(&self, above: &[Option<usize>]) -> Vec<Option<usize>> {
        let away = |index: usize| self.bones[index].displacement.length();
        let mut next: Vec<Option<usize>> = vec![None; above.len()];
        for (below, above) in above.iter().enumerate().filter_map(|(below, above)| Some((below, (*above)?))) {
            if next[above].is_none_or(|known| away(below) < away(known)) {
                next[above] = Some(below);
            }
        }
        next
    }

    /// The way from a chosen joint to the end of the chain that it leads.
    fn way_below(&self, world: &WorldPose, next: &[Option<usize>], index: usize) -> f64 {
        let mut joints = std::iter::successors(Some(index), |&index| next[index])
            .map(|index| world.joint_origin(self.bones[index].bone));
        let first = joints.next();
        joints
            .fold((0.0, first), |(way, last), joint| (way + last.map_or(0.0, |last| joint.distance(last)), Some(joint)))
            .0
    }
}

/// What of an offset stroke bones follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// Its difference to the baseline: a joint beside the one is beside the other.
    #[default]
    Offset,
    /// The stroke itself: joints are put on it.
    Curve,
}

/// How bones are posed.
#[derive(Clone, Copy)]
pub struct Posing<'a> {
    /// What the frames' normals begin nearest to: the normal of the plane that strokes were drawn on.
    pub up: DVec3,
    /// Joints are put on their targets, bones change their length.
    pub stretch: bool,
    /// What of the offset stroke they follow.
    pub fit: Fit,
    /// Bones that may be moved as well as turned: those that carry the whole character.
    pub is_free: &'a dyn Fn(BoneId) -> bool,
}

/// The pose after the chosen bones have followed the offset stroke. Nodes given by a matrix that are turned lose their
/// shear.
pub fn pose_by_offset(
    skeleton: &Skeleton,
    pose: &Pose,
    selection: &Selection,
    [baseline, offset]: [&Stroke; 2],
    posing: &Posing<'_>,
) -> Pose {
    let mut posed = pose.clone();
    let mut world = WorldPose::default();
    world.compose(skeleton, &posed);
    let start = world.clone();
    let from_frames = Frames::new(baseline, posing.up);
    let to_frames = from_frames.carried_from(offset);
    let mut targets: Vec<DVec3> = selection
        .bones
        .iter()
        .map(|s| {
            if posing.fit == Fit::Curve {
                return offset.at(s.t);
            }
            let (from, to) = (from_frames.at(s.t), to_frames.at(s.t));
            let in_frame = from.transpose() * s.displacement;
            start.joint_origin(s.bone) + (offset.at(s.t) - baseline.at(s.t)) + (to * in_frame - from * in_frame)
        })
        .collect();
    let above = selection.above(skeleton);
    let next = selection.next(&above);
    // Where on the offset stroke each joint of a chain that is laid along it has come to lie.
    let mut along: Vec<Option<f64>> = vec![None; selection.bones.len()];
    let lays = posing.fit == Fit::Curve && !posing.stretch;
    let mut chosen = selection.bones.iter().enumerate().peekable();
    // Parents come first: what is above a bone stands when its turn comes, and what is below waits for its own.
    for bone in skeleton.bones() {
        world.compose_bone(skeleton, &posed, bone);
        let Some((index, &Selected { t, .. })) = chosen.next_if(|(_, selected)| selected.bone == bone) else {
            continue;
        };
        let may_move = posing.stretch || (above[index].is_none() && (posing.is_free)(bone));
        if lays && along[index].is_none() {
            // As far along as leaves room for the chain.
            let room = 1.0 - selection.way_below(&start, &next, index) / offset.length();
            let wanted = if may_move { t } else { offset.nearest(world.joint_origin(bone)) };
            let begin = if room.is_nan() { 0.0 } else { wanted.min(room.max(0.0)) };
            along[index] = Some(begin);
            targets[index] = offset.at(begin);
        }
        if may_move && world.joint_origin(bone) != targets[index] {
            put(skeleton, &mut posed, &mut world, bone, targets[index]);
        }
        match next[index] {
            Some(next) if lays => {
                let from = along[index].unwrap_or(t);
                along[next] =
                    Some(lay(skeleton, &mut posed, &mut world, [bone, selection.bones[next].bone], offset, from));
            }
            Some(next) => aim(skeleton, &mut posed, &mut world, bone, selection.bones[next].bone, targets[next]),
            None => {
                let (from, to) = (from_frames.at(t), to_frames.at(t));
                let (now, before) = (world.world_from_bone(bone).matrix3, start.world_from_bone(bone).matrix3);
                if from != to || now != before {
                    let turned = polar_rotation(now) * polar_rotation(before).transpose();
                    let turn_by = to * from.transpose() * turned.transpose();
                    turn(skeleton, &mut posed, &mut world, bone, DQuat::from_mat3(&turn_by));
                }
            }
        }
    }
    posed
}

/// Turns the first bone so that the joint of the second, below it, lies on the curve beyond a fraction of its length;
/// returns the fraction at which it does.
fn lay(
    skeleton: &Skeleton,
    pose: &mut Pose,
    world: &mut WorldPose,
    [bone, tip]: [BoneId; 2],
    curve: &Stroke,
    from: f64,
) -> f64 {
    let below: Vec<BoneId> = skeleton.ancestors(tip).take_while(|&above| above != bone).collect();
    let mut at = from;
    // Once is exact unless a parent's scale is uneven, so that the way to the tip changes with its direction.
    for _ in 0..AIM_ROUNDS {
        below.iter().rev().for_each(|&below| world.compose_bone(skeleton, pose, below));
        let (joint, now) = (world.joint_origin(bone), world.joint_origin(tip));
        let way = now.distance(joint);
        // What has passed the end does not turn back to it.
        let target = match (from < 1.0).then(|| leaves_ball(curve, from, joint, way)).flatten() {
            Some(t) => {
                at = t;
                curve.at(t)
            }
            None => {
                at = 1.0;
                straight_on(curve, joint, way)
            }
        };
        if now.distance(target) <= 4.0 * f64::EPSILON * way {
            break;
        }
        aim(skeleton, pose, world, bone, tip, target);
    }
    at
}

/// Where the line that goes on from a curve's end is `radius` away from a point, farthest along it; the end itself where it
/// is nowhere so near.
fn straight_on(curve: &Stroke, middle: DVec3, radius: f64) -> DVec3 {
    let (end, tangent) = (curve.at(1.0), curve.tangent(1.0));
    let away = end - middle;
    let back = away.dot(tangent);
    let beyond = back * back - away.length_squared() + radius * radius;
    if beyond < 0.0 { end } else { end + tangent * (beyond.sqrt() - back).max(0.0) }
}

/// The first fraction of a curve's length beyond `from` at which it is `radius` away from a point; `from` itself where it
/// is farther already, `None` where it ends before.
fn leaves_ball(curve: &Stroke, from: f64, middle: DVec3, radius: f64) -> Option<f64> {
    let is_out = |t: f64| curve.at(t).distance(middle) >= radius;
    if is_out(from) {
        return Some(from);
    }
    let mut inside = from;
    let mut outside = curve.table().filter(|&t| t > from).find(|&t| {
        let out = is_out(t);
        inside = if out { inside } else { t };
        out
    })?;
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        if is_out(middle) {
            outside = middle;
        } else {
            inside = middle;
        }
    }
    Some(outside)
}

/// Turns `bone` so that the joint of `tip`, below it, points to `target`.
fn aim(skeleton: &Skeleton, pose: &mut Pose, world: &mut WorldPose, bone: BoneId, tip: BoneId, target: DVec3) {
    let mut between: Vec<BoneId> = skeleton.ancestors(tip).take_while(|&above| above != bone).collect();
    between.reverse();
    for _ in 0..AIM_ROUNDS {
        between.iter().for_each(|&below| world.compose_bone(skeleton, pose, below));
        let joint = world.joint_origin(bone);
        let (now, then) = (world.joint_origin(tip), target);
        let (Some(from), Some(to)) = ((now - joint).try_normalize(), (then - joint).try_normalize()) else { return };
        if now == then || (from - to).length() <= 4.0 * f64::EPSILON {
            return;
        }
        turn(skeleton, pose, world, bone, DQuat::from_rotation_arc(from, to));
    }
}

/// Turns a bone by a rotation in world axes about its joint.
fn turn(skeleton: &Skeleton, pose: &mut Pose, world: &mut WorldPose, bone: BoneId, by: DQuat) {
    let parent: DMat3 = polar_rotation(world.world_from_parent(skeleton, bone).matrix3);
    let mut local = pose.locals[bone.index()].to_trs();
    let in_parent = DQuat::from_mat3(&(parent.transpose() * DMat3::from_quat(by) * parent));
    local.rotation = (in_parent * local.rotation).normalize();
    pose.locals[bone.index()] = LocalTransform::Trs(local);
    world.compose_bone(skeleton, pose, bone);
}

/// Moves a bone's joint to a place in the world; nowhere if its parent flattens space.
fn put(skeleton: &Skeleton, pose: &mut Pose, world: &mut WorldPose, bone: BoneId, target: DVec3) {
    let place = world.world_from_parent(skeleton, bone).inverse().transform_point3(target);
    if !place.is_finite() {
        return;
    }
    match &mut pose.locals[bone.index()] {
        LocalTransform::Trs(local) => local.translation = place,
        LocalTransform::Matrix(local) => local.translation = place,
    }
    world.compose_bone(skeleton, pose, bone);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::Trs;
    use crate::raw::RawBone;
    use crate::strokes::simplify::Sample;
    use glam::DAffine3;

    fn chain(bones: usize, step: f64) -> Skeleton {
        let bone = |i: usize| RawBone {
            name: i.to_string(),
            parent: i.checked_sub(1),
            local: LocalTransform::Trs(Trs::from_translation(if i == 0 { DVec3::ZERO } else { DVec3::Y * step })),
        };
        Skeleton::build(&(0..bones).map(bone).collect::<Vec<_>>()).expect("a chain")
    }

    fn stroke(points: impl IntoIterator<Item = DVec3>) -> Stroke {
        let samples: Vec<_> = points.into_iter().map(|position| Sample { position, time_secs: 0.0 }).collect();
        Stroke::new(&samples).expect("finite points")
    }

    fn place(skeleton: &Skeleton, pose: &Pose) -> Vec<DVec3> {
        let mut world = WorldPose::default();
        world.compose(skeleton, pose);
        skeleton.bones().map(|bone| world.joint_origin(bone)).collect()
    }

    fn select(skeleton: &Skeleton, pose: &Pose, baseline: &Stroke, radius: f64) -> Selection {
        let mut world = WorldPose::default();
        world.compose(skeleton, pose);
        Selection::by_baseline(&world, skeleton.bones(), baseline, radius)
    }

    const FREE: Posing<'static> = Posing { up: DVec3::Z, stretch: false, fit: Fit::Offset, is_free: &|_| true };

    #[test]
    fn an_equal_stroke_leaves_the_pose_bit_for_bit() {
        let skeleton = chain(7, 0.37);
        let mut pose = Pose::rest(&skeleton);
        for (i, local) in pose.locals.iter_mut().enumerate() {
            let mut trs = local.to_trs();
            trs.rotation = DQuat::from_euler(glam::EulerRot::XYZ, 0.1 * i as f64, 0.3, 0.2);
            trs.scale = DVec3::new(1.0, 1.1, 0.9);
            *local = if i == 3 { LocalTransform::Matrix(trs.to_affine()) } else { LocalTransform::Trs(trs) };
        }
        let baseline = stroke(place(&skeleton, &pose).into_iter().map(|p| p + DVec3::new(0.01, 0.0, 0.02)));
        let selection = select(&skeleton, &pose, &baseline, 0.1);
        assert_eq!(selection.bones().len(), 7);
        for stretch in [false, true] {
            let posing = Posing { stretch, ..FREE };
            let posed = pose_by_offset(&skeleton, &pose, &selection, [&baseline, &baseline.clone()], &posing);
            assert_eq!(posed.locals, pose.locals);
        }
    }

    #[test]
    fn a_chain_bends_to_an_arc_with_its_lengths_kept() {
        let (skeleton, turn) = (chain(9, 0.25), 2.0);
        let pose = Pose::rest(&skeleton);
        let baseline = stroke([DVec3::ZERO, DVec3::Y * 2.0]);
        let radius = 2.0 / turn;
        let on_arc = |a: f64| DVec3::new(radius * (1.0 - a.cos()), radius * a.sin(), 0.0);
        let offset = stroke((0..=64).map(|i| on_arc(turn * f64::from(i) / 64.0)));
        let selection = select(&skeleton, &pose, &baseline, 0.01);
        let posed = pose_by_offset(&skeleton, &pose, &selection, [&baseline, &offset], &FREE);
        let joints = place(&skeleton, &posed);
        for pair in joints.windows(2) {
            assert!((pair[0].distance(pair[1]) / 0.25 - 1.0).abs() < 1e-6);
        }
        // Chords are longer than the arc's by a 24th of the angle squared: that much they run ahead.
        for (i, joint) in joints.iter().enumerate() {
            assert!(joint.distance(on_arc(turn * i as f64 / 8.0)) < 0.01, "{joint}");
        }
        // The last bone ends along the stroke.
        let mut world = WorldPose::default();
        world.compose(&skeleton, &posed);
        let last = skeleton.bones().next_back().expect("a bone");
        assert!((world.world_from_bone(last).matrix3 * DVec3::Y - offset.tangent(1.0)).length() < 1e-9);
    }

    #[test]
    fn stretching_puts_joints_on_their_targets_and_what_is_below_follows() {
        let skeleton = chain(6, 1.0);
        let pose = Pose::rest(&skeleton);
        let baseline = stroke([DVec3::Y * 0.9, DVec3::Y * 4.1]);
        let offset = stroke([DVec3::new(0.0, 0.9, 0.0), DVec3::new(2.0, 2.0, 1.0), DVec3::new(5.0, 4.0, 0.0)]);
        let selection = select(&skeleton, &pose, &baseline, 0.01);
        assert_eq!(selection.bones().len(), 4);
        let posing = Posing { stretch: true, is_free: &|_| false, ..FREE };
        let posed = pose_by_offset(&skeleton, &pose, &selection, [&baseline, &offset], &posing);
        let joints = place(&skeleton, &posed);
        for s in selection.bones() {
            assert!(joints[s.bone.index()].distance(offset.at(s.t)) < 1e-12);
        }
        assert_eq!(joints[0], DVec3::ZERO);
        assert!((joints[5].distance(joints[4]) - 1.0).abs() < 1e-12, "the bone below keeps its length");
        // Kept lengths: the topmost joint, not free, stays.
        let kept = Posing { stretch: false, is_free: &|_| false, ..FREE };
        let joints = place(&skeleton, &pose_by_offset(&skeleton, &pose, &selection, [&baseline, &offset], &kept));
        assert_eq!(joints[1], DVec3::Y);
    }

    #[test]
    fn mirrored_and_unevenly_scaled_parents_are_aimed_too() {
        for scale in [DVec3::new(-1.0, 1.0, 1.0), DVec3::new(1.0, 2.0, 0.5), DVec3::splat(-3.0)] {
            let root = DAffine3::from_scale_rotation_translation(scale, DQuat::from_rotation_x(0.4), DVec3::ONE);
            let mut bones = vec![RawBone { name: "root".into(), parent: None, local: LocalTransform::Matrix(root) }];
            for i in 0..3 {
                let local = LocalTransform::Trs(Trs::from_translation(DVec3::Y));
                bones.push(RawBone { name: "bone".into(), parent: Some(i), local });
            }
            let skeleton = Skeleton::build(&bones).expect("a chain");
            let pose = Pose::rest(&skeleton);
            let joints = place(&skeleton, &pose);
            let baseline = stroke(joints[1..].iter().copied());
            let bent: Vec<DVec3> = joints[1..].iter().zip([0.0, 0.2, 0.9]).map(|(&p, x)| p + DVec3::X * x).collect();
            let offset = stroke(bent);
            let selection = select(&skeleton, &pose, &baseline, 1e-6);
            let kept = Posing { is_free: &|_| false, ..FREE };
            let posed = pose_by_offset(&skeleton, &pose, &selection, [&baseline, &offset], &kept);
            let after = place(&skeleton, &posed);
            let wanted = (offset.at(selection.bones()[1].t) - after[1]).normalize();
            assert!(((after[2] - after[1]).normalize() - wanted).length() < 1e-3, "scale {scale}");
        }
    }

    #[test]
    fn a_chain_laid_on_a_curve_has_its_joints_there_and_its_lengths_kept() {
        let skeleton = chain(12, 0.25);
        let pose = Pose::rest(&skeleton);
        let baseline = stroke([DVec3::ZERO, DVec3::Y * 2.75]);
        let wave = |i: i32| DVec3::new((f64::from(i) * 0.35).sin() * 0.5, f64::from(i) * 0.06, f64::from(i) * 0.01);
        let selection = select(&skeleton, &pose, &baseline, 0.01);
        for is_free in [true, false] {
            // Where the first joint may not move, the stroke begins near it.
            let away = if is_free { DVec3::ONE } else { DVec3::X * 0.02 };
            let offset = stroke((0..60).map(|i| wave(i) + away));
            assert!(offset.length() > 2.75);
            let posing = Posing { fit: Fit::Curve, is_free: &|_| is_free, ..FREE };
            let posed = pose_by_offset(&skeleton, &pose, &selection, [&baseline, &offset], &posing);
            let joints = place(&skeleton, &posed);
            for pair in joints.windows(2) {
                assert!((pair[0].distance(pair[1]) / 0.25 - 1.0).abs() < 1e-9);
            }
            for joint in &joints[usize::from(!is_free)..] {
                assert!(offset.at(offset.nearest(*joint)).distance(*joint) < 1e-7, "{joint}");
            }
            assert!(is_free || joints[0] == DVec3::ZERO);
        }
        // A stroke that ends early: the chain goes straight on.
        let short = stroke([DVec3::ZERO, DVec3::X]);
        let posing = Posing { fit: Fit::Curve, ..FREE };
        let joints = place(&skeleton, &pose_by_offset(&skeleton, &pose, &selection, [&baseline, &short], &posing));
        for (i, joint) in joints.iter().enumerate() {
            assert!(joint.distance(DVec3::X * (0.25 * i as f64)) < 1e-9, "{joint}");
        }
    }
}
