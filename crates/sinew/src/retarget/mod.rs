//! Clips of one character on another.
//!
//! Bones are paired by name (`names`). A paired bone turns, from its rest pose, as its partner turns from its own,
//! both in the world: bones that only one of the two has between them change nothing. Rest is where the skin was
//! bound, or the nodes' own transforms without one. Where the two rest in different poses (arms out, arms down), bones
//! are first laid as their partners lie; where they face different ways, the whole is turned.
//!
//! Ways are scaled by the length of the legs. Feet then come to the height their partners come to, in that measure:
//! legs whose thighs and shins are longer or shorter by different factors would miss it, so knees give way (`legs`).
//!
//! Oracle: on the same character nothing changes; on one scaled by parts, feet are as high (`tests/all/retarget.rs`).

mod legs;
mod names;
mod rest;

use crate::clip::{Clip, Curve, Interpolation, Track};
use crate::pose::Trs;
use crate::raw::RawRig;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use legs::Leg;
use rest::{Tree, turn_of};

/// A character that moves, or is to move.
#[derive(Clone, Copy, Debug)]
pub struct Performer<'a> {
    /// Its nodes, and its skins where it has any.
    pub raw: &'a RawRig,
    /// What nodes are in a human body where the file tells, as VRM 1.0 names it: `hips`, `leftUpperArm`.
    pub roles: &'a [(usize, String)],
}

/// Clips for another character, and how they came about.
#[derive(Clone, Debug, Default)]
pub struct Retargeted {
    /// In the order given.
    pub clips: Vec<Clip>,
    /// Nodes that move as one another: source, target.
    pub pairs: Vec<(usize, usize)>,
    /// Nodes that the clips move and that the target has not.
    pub source_only: Vec<usize>,
    /// Joints of the target that no clip moves because the source has them not.
    pub target_only: Vec<usize>,
    /// By how much ways are longer.
    pub scale: f64,
    /// How many limbs were brought to the height of their partners.
    pub legs: usize,
    /// Whether the two face different ways.
    pub turned: bool,
}

/// Gaps between keys are filled so that what is not linear in them is followed: curves, and else how knees give way.
/// Keys of clips that were sampled lie nearer and stay as they are, for the distance of keys tells where a loop closes.
const LONGEST_GAP: f64 = 0.1;
const LONGEST_GAP_OF_CURVES: f64 = 1.0 / 30.0;
/// Keys that fill one gap, however long.
const KEYS_IN_GAP: f64 = 64.0;
/// Bones that rest further apart in direction are laid as their partners lie; nearer ones differ by build.
const OTHER_POSE: f64 = 20.0;

/// Makes `clips`, which move the nodes of `source`, move those of `target`; without pairs there are no clips.
pub fn retarget(source: &Performer<'_>, clips: &[Clip], target: &Performer<'_>) -> Retargeted {
    let mut moving = vec![false; source.raw.bones.len()];
    for track in clips.iter().flat_map(|clip| &clip.tracks) {
        let moves = track.rotation.is_some() || track.translation.is_some() || track.scale.is_some();
        if let Some(moving) = moving.get_mut(track.node) {
            *moving |= moves;
        }
    }
    let pairs = names::pairs(source, &moving, target);
    let mut is_joint = vec![false; target.raw.bones.len()];
    for joint in target.raw.skins.iter().flat_map(|skin| &skin.joints) {
        if let Some(is_joint) = is_joint.get_mut(joint.bone) {
            *is_joint = true;
        }
    }
    let mut alone = (moving.clone(), is_joint);
    for &(source, target) in &pairs {
        (alone.0[source], alone.1[target]) = (false, false);
    }
    let listed = |flags: &[bool]| (0..flags.len()).filter(|&node| flags[node]).collect();
    let (source_only, target_only): (Vec<usize>, Vec<usize>) = (listed(&alone.0), listed(&alone.1));
    if pairs.is_empty() {
        return Retargeted { source_only, target_only, scale: 1.0, ..Retargeted::default() };
    }
    let stage = Transfer::new(Tree::new(source.raw), Tree::new(target.raw), &pairs);
    let clips = clips.iter().map(|clip| stage.clip(clip)).collect();
    let turned = stage.turn != DQuat::IDENTITY;
    let (scale, legs) = (stage.scale, stage.legs.len());
    Retargeted { clips, pairs, source_only, target_only, scale, legs, turned }
}

/// Everything about two characters that no clip changes.
struct Transfer {
    source: Tree,
    target: Tree,
    /// Source nodes and what moves as they do, parents before children in the target.
    pairs: Vec<Pair>,
    /// From the world of the source to that of the target.
    turn: DQuat,
    scale: f64,
    legs: Vec<Leg>,
}

struct Pair {
    source: usize,
    target: usize,
    /// Lays the target's bone as its partner lies at rest.
    laid: DQuat,
}

impl Transfer {
    fn new(source: Tree, target: Tree, pairs: &[(usize, usize)]) -> Self {
        let mut partner = vec![None; target.rest.len()];
        pairs.iter().for_each(|&(s, t)| partner[t] = Some(s));
        let mut nearest: Vec<Option<usize>> = vec![None; partner.len()];
        for &node in &target.order {
            nearest[node] =
                target.parent[node].and_then(|above| partner[above].map_or(nearest[above], |_| Some(above)));
        }
        let turn = facing(&source, &target, pairs);
        let ordered: Vec<(usize, usize)> =
            target.order.iter().filter_map(|&node| partner[node].map(|source| (source, node))).collect();
        let legs = legs::find(&source, &target, &partner, &nearest);
        let scale = scale(&source, &target, pairs, &legs);
        let feet: Vec<usize> = legs.iter().map(|leg| leg.foot.1).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); partner.len()];
        for &(_, node) in &ordered {
            nearest[node].into_iter().for_each(|above| children[above].push(node));
        }
        let mut laid = vec![DQuat::IDENTITY; partner.len()];
        let mut stands = vec![false; partner.len()];
        for &(s, t) in &ordered {
            stands[t] = feet.contains(&t) || nearest[t].is_some_and(|above| stands[above]);
            // Soles are flat in every rest pose.
            if stands[t] {
                continue;
            }
            laid[t] = nearest[t].map_or(DQuat::IDENTITY, |above| laid[above]);
            if let [child] = children[t][..]
                && let Some(child_source) = partner[child]
            {
                let from = (target.rest[child].translation - target.rest[t].translation).normalize_or_zero();
                let to = turn * (source.rest[child_source].translation - source.rest[s].translation);
                let to = to.normalize_or_zero();
                if from != DVec3::ZERO && to != DVec3::ZERO {
                    let is_other = from.angle_between(to) > OTHER_POSE.to_radians();
                    laid[t] = if is_other { DQuat::from_rotation_arc(from, to) } else { DQuat::IDENTITY };
                }
            }
        }
        let pairs = ordered.iter().map(|&(source, target)| Pair { source, target, laid: laid[target] }).collect();
        Self { source, target, pairs, turn, scale, legs }
    }

    fn clip(&self, clip: &Clip) -> Clip {
        let mut tracks: Vec<Option<&Track>> = vec![None; self.source.rest.len()];
        for track in &clip.tracks {
            if let Some(slot) = tracks.get_mut(track.node) {
                *slot = Some(track);
            }
        }
        let times = moments(&tracks);
        let mut turns: Vec<Vec<glam::Quat>> = vec![Vec::with_capacity(times.len()); self.pairs.len()];
        let mut places: Vec<Vec<glam::Vec3>> = vec![Vec::with_capacity(times.len()); self.pairs.len()];
        for &time in &times {
            let played = self.source.worlds(|node, rest| sampled(tracks[node], rest, time));
            let locals = self.locals(&played);
            for (n, pair) in self.pairs.iter().enumerate() {
                let Trs { rotation, translation, .. } = locals[pair.target];
                let mut rotation = rotation.as_quat().normalize();
                if turns[n].last().is_some_and(|last| last.dot(rotation) < 0.0) {
                    rotation = -rotation;
                }
                turns[n].push(rotation);
                places[n].push(translation.as_vec3());
            }
        }
        let track = |n: usize, pair: &Pair| -> Option<Track> {
            let own = self.target.locals[pair.target];
            let size = self.target.size();
            let rotation =
                curve(&times, &turns[n], own.rotation.as_quat(), |a, b| 1.0 - f64::from(a.dot(*b).abs()) > 1e-10);
            // Only what its partner moves in place moves in place, and what is bound elsewhere than it stands.
            let translation =
                curve(&times, &places[n], own.translation.as_vec3(), |a, b| f64::from(a.distance(*b)) > 1e-5 * size);
            let scale = tracks[pair.source].and_then(|track| track.scale.clone());
            let scale =
                scale.and_then(|curve| relative_scale(&curve, self.source.locals[pair.source].scale, own.scale));
            let some = rotation.is_some() || translation.is_some() || scale.is_some();
            some.then_some(Track { node: pair.target, translation, rotation, scale, morph: None })
        };
        let tracks = self.pairs.iter().enumerate().filter_map(|(n, pair)| track(n, pair)).collect();
        Clip { name: clip.name.clone(), tracks }
    }

    /// The target's local transforms where the source's nodes are at `played`.
    fn locals(&self, played: &[DAffine3]) -> Vec<Trs> {
        let (source, target) = (&self.source, &self.target);
        let mut wanted: Vec<Option<DQuat>> = vec![None; target.rest.len()];
        let mut shifted = vec![DVec3::ZERO; target.rest.len()];
        for pair in &self.pairs {
            let since_rest = turn_of(&played[pair.source]) * turn_of(&source.rest[pair.source]).inverse();
            let since_rest = self.turn * since_rest * self.turn.inverse();
            wanted[pair.target] = Some(since_rest * pair.laid * turn_of(&target.rest[pair.target]));
            // How far it has left its place at its parent, in the world.
            let (parent_played, parent_rest) = source.parents(pair.source, played);
            let at_rest = parent_rest.inverse().transform_point3(source.rest[pair.source].translation);
            let left = played[pair.source].translation - parent_played.transform_point3(at_rest);
            let left = self.turn * left * self.scale;
            if left.length() > 1e-5 * target.size() {
                shifted[pair.target] = left;
            }
        }
        let mut posed = target.posed(&wanted, &shifted);
        for leg in &self.legs {
            leg.reach(self, played, &posed.worlds, &mut wanted);
        }
        if !self.legs.is_empty() {
            posed = target.posed(&wanted, &shifted);
        }
        posed.locals
    }
}

/// A node's own transform at a moment.
fn sampled(track: Option<&Track>, rest: Trs, time: f64) -> Trs {
    let Some(track) = track else { return rest };
    Trs {
        translation: track.translation.as_ref().map_or(rest.translation, |curve| curve.sample(time)),
        rotation: track.rotation.as_ref().map_or(rest.rotation, |curve| curve.sample(time)),
        scale: track.scale.as_ref().map_or(rest.scale, |curve| curve.sample(time)),
    }
}

/// All key times, with long gaps filled.
fn moments(tracks: &[Option<&Track>]) -> Vec<f64> {
    let mut keys: Vec<f64> = Vec::new();
    for track in tracks.iter().flatten() {
        keys.extend(track.rotation.iter().flat_map(|curve| curve.times()));
        keys.extend(track.translation.iter().flat_map(|curve| curve.times()));
    }
    keys.sort_by(f64::total_cmp);
    // What rounds to the same number in a file is one key.
    keys.dedup_by(|a, b| *a as f32 == *b as f32);
    let is_cubic = |track: &&Track| {
        let interpolations =
            [track.rotation.as_ref().map(Curve::interpolation), track.translation.as_ref().map(Curve::interpolation)];
        interpolations.contains(&Some(Interpolation::CubicSpline))
    };
    let longest = if tracks.iter().flatten().any(is_cubic) { LONGEST_GAP_OF_CURVES } else { LONGEST_GAP };
    let mut times = Vec::with_capacity(keys.len());
    for pair in keys.windows(2) {
        let parts = ((pair[1] - pair[0]) / longest - 1e-6).ceil().clamp(1.0, KEYS_IN_GAP) as usize;
        let between = (0..parts).map(|n| pair[0] + (pair[1] - pair[0]) * n as f64 / parts as f64);
        times.extend(between);
    }
    times.extend(keys.last());
    times.dedup_by(|a, b| *a as f32 == *b as f32);
    times
}

/// A linear curve; one key where nothing changes, none where that is the node's own transform.
fn curve<T>(times: &[f64], values: &[T], own: T, differ: impl Fn(&T, &T) -> bool) -> Option<Curve<T>>
where
    T: crate::clip::CurveValue,
{
    let first = values.first()?;
    if values.iter().any(|value| differ(first, value)) {
        return Curve::new(Interpolation::Linear, times.to_vec(), values.to_vec()).ok();
    }
    differ(first, &own).then(|| Curve::new(Interpolation::Linear, vec![times[0]], vec![*first]).ok())?
}

/// Growth of the partner on top of one's own; none where it does not grow.
fn relative_scale(curve: &Curve<glam::Vec3>, from: DVec3, to: DVec3) -> Option<Curve<glam::Vec3>> {
    let factor = DVec3::select(from.cmpeq(DVec3::ZERO), DVec3::ONE, to / from);
    let values: Vec<glam::Vec3> = curve.times().iter().map(|&time| (curve.sample(time) * factor).as_vec3()).collect();
    let grows = values.iter().any(|value| (value.as_dvec3() - to).abs().max_element() > 1e-4 * to.abs().max_element());
    grows.then(|| Curve::new(Interpolation::Linear, curve.times().to_vec(), values).ok())?
}

/// The turn by right angles that brings the source's joints at rest nearest to where their partners are.
fn facing(source: &Tree, target: &Tree, pairs: &[(usize, usize)]) -> DQuat {
    /// By how much of what would be perfect another turn must be better than none.
    const CLEARLY: f64 = 0.02;
    let count = pairs.len() as f64;
    let centre = |tree: &Tree, of: fn(&(usize, usize)) -> usize| {
        pairs.iter().map(|pair| tree.rest[of(pair)].translation).sum::<DVec3>() / count
    };
    let (from, to) = (centre(source, |pair| pair.0), centre(target, |pair| pair.1));
    let arms: Vec<(DVec3, DVec3)> =
        pairs.iter().map(|&(s, t)| (source.rest[s].translation - from, target.rest[t].translation - to)).collect();
    let perfect: f64 = arms.iter().map(|(a, b)| a.length() * b.length()).sum();
    let fit = |turn: DQuat| arms.iter().map(|(a, b)| (turn * *a).dot(*b)).sum::<f64>();
    let mut best = (DQuat::IDENTITY, fit(DQuat::IDENTITY) + CLEARLY * perfect);
    let axes = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z];
    for x in axes {
        for y in axes.into_iter().filter(|y| x.dot(*y) == 0.0) {
            let turn = DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y)));
            if fit(turn) > best.1 {
                best = (turn, fit(turn));
            }
        }
    }
    best.0
}

/// By how much the target is larger: by its legs, else by the height of what carries the rest, else by its joints.
fn scale(source: &Tree, target: &Tree, pairs: &[(usize, usize)], legs: &[Leg]) -> f64 {
    let ratio = |from: f64, to: f64| (from > 0.0 && to > 0.0).then_some(to / from);
    let legs_from: f64 = legs.iter().map(|leg| leg.length(source, |pair| pair.0)).sum();
    let legs_to: f64 = legs.iter().map(|leg| leg.length(target, |pair| pair.1)).sum();
    let spread = |tree: &Tree, of: fn(&(usize, usize)) -> usize| {
        let places = || pairs.iter().map(|pair| tree.rest[of(pair)].translation);
        let centre = places().sum::<DVec3>() / pairs.len() as f64;
        places().map(|place| place.distance(centre)).sum::<f64>()
    };
    let by_joints = ratio(spread(source, |pair| pair.0), spread(target, |pair| pair.1));
    ratio(legs_from, legs_to).or(by_joints).unwrap_or(1.0)
}
