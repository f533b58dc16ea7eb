//! Bones of a skin as lines in its rest space: from a joint to its child joints.
//!
//! A skeleton is not all flesh. Its root stands on the ground and its lines to the feet run outside the body; targets of
//! inverse kinematics hang on that root and lie on the very joints that they steer. So:
//!
//! - a joint is joined to its parent where the line between them runs inside the body, most of it from the root, half of
//!   it from a joint with several children; an only child is always joined;
//! - of joints that are joined to one another, a group that lies on a joint of a larger group steers it and moves no skin;
//! - nor does a joint outside the body that no child is joined to;
//! - any other group that hangs on the root and is not joined to it, as feet do, goes on from the nearest last joint of a larger
//!   one, if most of the line between runs inside the body.
//!
//! Where the skeleton fans out, a bone is a line to each child, but only half as long as the shortest: farther out there
//! are other bones, and a centre of gravity would take what is theirs. Children that lie in one direction, as a forearm's fingers,
//! are no fan.
//!
//! A bone without child joints is a point to the paper (with its parent's length). That point is also the end of its
//! parent's line, so everything beyond it (a fingertip, a skull) would be as near to the one as to the other and follow
//! both by half. Here the line goes on in the parent's direction to nine tenths of the way to the skin; it stays a
//! point where the joint is outside the body or has no parent to tell a direction. Where other joints lie ahead, as neck and head
//! before a rib cage that ends under them, it goes half the way to the first of them. A neck rises and a snout does not: where
//! the skin that is nearest to the joint goes on farther another way, a second line goes there.

use super::BindError;
use super::shell::Shell;
use super::sight::by_ray;
use crate::control_points::DisjointSets;
use crate::raw::RawRig;
use glam::DVec3;
use rayon::prelude::*;

/// Of the way from the last joint to the skin.
const INTO_THE_TIP: f64 = 0.9;
/// Skin that is as far from a joint as this share of the farthest is where its line goes on to.
const FAR: f64 = 0.85;
/// Tangent of the angle within which a joint lies ahead.
const AHEAD: f64 = 0.5;
/// A line that goes on this much farther than in the parent's direction is one more.
const FARTHER: f64 = 1.25;
/// Share of a line from the root that is inside the body.
const MOST: f64 = 0.75;
const HALF: f64 = 0.5;
/// Places looked at along a line.
const PLACES: usize = 8;
/// Of the size: joints this close are on one another.
const SAME_PLACE: f64 = 1e-3;

/// Joints in rest space; per joint its nearest joint above.
pub(super) struct Joints {
    places: Vec<DVec3>,
    parents: Vec<Option<usize>>,
}

impl Joints {
    /// Places along all lines between joints.
    pub fn places_along(&self) -> Vec<DVec3> {
        let lines = self.parents.iter().zip(&self.places).filter_map(|(parent, &place)| Some(((*parent)?, place)));
        lines.flat_map(|(parent, place)| along(self.places[parent], place)).collect()
    }
}

/// A bone that moves skin.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub joint: DVec3,
    /// Far ends of its lines; none for a point.
    pub ends: Vec<DVec3>,
}

impl Line {
    /// Places evenly along it; its joint where it is a point.
    pub fn places(&self) -> Vec<DVec3> {
        if self.ends.is_empty() {
            return vec![self.joint];
        }
        self.ends.iter().flat_map(|&end| along(self.joint, end)).collect()
    }

    /// Of its longest line.
    pub fn length(&self) -> f64 {
        self.ends.iter().map(|end| end.distance(self.joint)).fold(0.0, f64::max)
    }
}

fn along(a: DVec3, b: DVec3) -> impl Iterator<Item = DVec3> {
    (0..PLACES).map(move |k| a.lerp(b, (k as f64 + 0.5) / PLACES as f64))
}

/// Whether at least a share of a line is inside the body.
fn runs_inside(shell: &Shell, a: DVec3, b: DVec3, least: f64) -> bool {
    along(a, b).filter(|&place| shell.is_inside(place)).count() as f64 >= least * PLACES as f64
}

pub(super) fn joints_of_skin(raw: &RawRig, skin: usize) -> Result<Joints, BindError> {
    let found = raw.skins.get(skin).ok_or(BindError::NoSkin { skin, count: raw.skins.len() })?;
    if found.joints.is_empty() {
        return Err(BindError::NoJoints { skin });
    }
    let mut places = Vec::with_capacity(found.joints.len());
    let mut index_of_node = vec![None; raw.bones.len()];
    for (joint, raw_joint) in found.joints.iter().enumerate() {
        let place = raw_joint.bone_from_rest.inverse().translation;
        if !place.is_finite() {
            return Err(BindError::FlatBind { skin, joint });
        }
        places.push(place);
        if let Some(index) = index_of_node.get_mut(raw_joint.bone) {
            *index = Some(joint);
        }
    }
    let mut parents = vec![None; places.len()];
    for (joint, raw_joint) in found.joints.iter().enumerate() {
        // The nearest joint above; nodes in between only pass the motion on. A list with a cycle is refused elsewhere.
        let mut above = raw.bones.get(raw_joint.bone).and_then(|bone| bone.parent);
        for _ in 0..raw.bones.len() {
            let Some(node) = above else { break };
            if let Some(&Some(parent)) = index_of_node.get(node) {
                parents[joint] = Some(parent);
                break;
            }
            above = raw.bones.get(node).and_then(|bone| bone.parent);
        }
    }
    Ok(Joints { places, parents })
}

/// The bones as lines inside the body; `None` for those that move no skin.
pub(super) fn lines(Joints { places, parents }: &Joints, shell: &Shell) -> Vec<Option<Line>> {
    let count = places.len();
    let mut children = vec![Vec::new(); count];
    for (joint, parent) in parents.iter().enumerate() {
        parent.iter().for_each(|&parent| children[parent].push(joint));
    }
    let is_inside: Vec<bool> = places.par_iter().map(|&place| shell.is_inside(place)).collect();
    // Exporters put joints of their own on the root.
    let is_root = |joint: usize| {
        let on_it = |above: usize| places[above].distance(places[joint]) <= SAME_PLACE * shell.size();
        std::iter::successors(parents[joint], |&above| parents[above]).all(on_it)
    };
    let is_joined = |joint: usize| {
        let Some(parent) = parents[joint] else { return false };
        let least = match (is_root(parent), children[parent].len()) {
            (true, _) => MOST,
            (false, 1) => return true,
            _ => HALF,
        };
        runs_inside(shell, places[parent], places[joint], least)
    };
    let is_joined: Vec<bool> = (0..count).into_par_iter().map(is_joined).collect();
    children.iter_mut().for_each(|children| children.retain(|&child| is_joined[child]));

    let mut groups = DisjointSets::new(count);
    for joint in (0..count).filter(|&joint| is_joined[joint]) {
        parents[joint].iter().for_each(|&parent| groups.union(joint as u32, parent as u32));
    }
    let group_of: Vec<usize> = (0..count as u32).map(|joint| groups.find(joint) as usize).collect();
    let mut sizes = vec![0; count];
    group_of.iter().for_each(|&group| sizes[group] += 1);
    let mut steers = vec![false; count];
    for (joint, place) in places.iter().enumerate() {
        let steered = |other: usize| {
            sizes[group_of[other]] > sizes[group_of[joint]]
                && places[other].distance(*place) <= SAME_PLACE * shell.size()
        };
        steers[group_of[joint]] |= (0..count).any(steered);
    }

    let hangs = |joint: usize| !is_joined[joint] && !steers[group_of[joint]] && parents[joint].is_some_and(is_root);
    let hangs: Vec<usize> = (0..count).filter(|&joint| hangs(joint)).collect();
    let is_last = |joint: usize| children[joint].is_empty() && !steers[group_of[joint]];
    let lasts: Vec<usize> = (0..count).filter(|&joint| is_last(joint)).collect();
    let hung = hangs.into_iter().filter_map(|joint| {
        let place = places[joint];
        let larger = lasts.iter().copied().filter(|&last| sizes[group_of[last]] > sizes[group_of[joint]]);
        let to = |last: usize| places[last].distance_squared(place);
        let nearest = larger.min_by(|&a, &b| to(a).total_cmp(&to(b)))?;
        runs_inside(shell, places[nearest], place, MOST).then_some((joint, nearest))
    });
    let hung: Vec<(usize, usize)> = hung.collect();
    let (mut parents, mut is_joined) = (parents.clone(), is_joined);
    for (joint, above) in hung {
        children[above].push(joint);
        (parents[joint], is_joined[joint]) = (Some(above), true);
    }
    let (parents, is_joined) = (&parents, &is_joined);

    let had_children = parents.iter().flatten().fold(vec![false; count], |mut had, &parent| {
        had[parent] = true;
        had
    });
    // Points nearest to each joint that moves skin.
    let nearest = |point: DVec3| {
        let moving = (0..count).filter(|&joint| !steers[group_of[joint]]);
        moving.min_by(|&a, &b| places[a].distance_squared(point).total_cmp(&places[b].distance_squared(point)))
    };
    let nearest: Vec<Option<usize>> = shell.points().par_iter().map(|&point| nearest(point)).collect();
    let mut around = vec![Vec::new(); count];
    for (point, joint) in nearest.into_iter().enumerate() {
        joint.into_iter().for_each(|joint| around[joint].push(point));
    }
    let line = |joint: usize| {
        let (place, children) = (places[joint], &children[joint]);
        if steers[group_of[joint]] || (had_children[joint] && children.is_empty() && !is_inside[joint]) {
            return None;
        }
        let ways = || children.iter().map(|&child| places[child] - place);
        let shortest = ways().map(DVec3::length).fold(f64::INFINITY, f64::min);
        let fans_out = ways().any(|way| ways().any(|other| way_to(other, way).is_none()));
        let longest = if fans_out { HALF * shortest } else { shortest };
        let mut ends: Vec<DVec3> = ways().map(|way| place + way.clamp_length_max(longest)).collect();
        if let (true, Some(parent)) = (children.is_empty() && is_inside[joint], parents[joint]) {
            let direction = place - places[parent];
            let others = (0..count).filter(|&other| other != joint && other != parent && !steers[group_of[other]]);
            let ahead = others.filter_map(|other| way_to(places[other] - place, direction));
            let most = 0.5 * ahead.fold(f64::INFINITY, f64::min);
            let tip = shell.way_out(place, direction).map(|way| place + direction * most.min(INTO_THE_TIP * way));
            ends.extend(tip.filter(|tip| tip.is_finite()));
            // Feet that hang on the root of the skeleton have no direction that tells front from back.
            let far = is_joined[joint].then(|| farthest(shell, place, direction, &around[joint])).flatten();
            let far = far.map(|far| place.lerp(far, INTO_THE_TIP));
            let reached = ends.iter().map(|end| end.distance(place)).fold(0.0, f64::max);
            ends.extend(far.filter(|far| far.distance(place) > FARTHER * reached && shell.is_inside(*far)));
        }
        Some(Line { joint: place, ends })
    };
    (0..count).into_par_iter().map(line).collect()
}

/// How far along a direction something lies that is ahead, in lengths of that.
fn way_to(to: DVec3, direction: DVec3) -> Option<f64> {
    let way = to.dot(direction) / direction.length_squared();
    let off = (to - direction * way).length();
    (way > 0.0 && off < AHEAD * way * direction.length()).then_some(way)
}

/// The middle of the farthest of some points that are not behind a place and in its sight.
fn farthest(shell: &Shell, place: DVec3, ahead: DVec3, points: &[usize]) -> Option<DVec3> {
    let at = |point: usize| shell.points()[point];
    let mut points: Vec<(f64, usize)> = points.iter().map(|&point| (at(point).distance(place), point)).collect();
    points.retain(|&(_, point)| (at(point) - place).dot(ahead) >= 0.0);
    points.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut in_sight = points.iter().filter(|&&(_, point)| by_ray(shell, point, place)).peekable();
    let most = in_sight.peek()?.0;
    let (mut sum, mut total) = (DVec3::ZERO, 0.0);
    for &(distance, point) in in_sight.take_while(|far| far.0 > FAR * most) {
        let share = distance - FAR * most;
        sum += at(point) * share;
        total += share;
    }
    (total > 0.0).then(|| sum / total)
}
