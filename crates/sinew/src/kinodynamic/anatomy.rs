//! Joints and limbs of a character, fitted to its skin weights.
//!
//! Joints are the bones that move the skin, in bind space. A bone that some of the skin follows for the most part is a
//! limb: its lines run from its joint to the joints below it that carry skin, or, at the end of a chain, along the middle
//! of its own skin to a radius short of the tip; its radius is the mean distance of its skin from these lines, each point
//! counting by the square of its weight. A recipe may widen a limb, give it tissue and bone, and choose its volume term.

use super::fold_over_free::Anatomy;
use super::pose_path::Joint;
use super::tissue::{Limb, Primitive};
use crate::rig::Rig;
use crate::simd::LANES;
use crate::skeleton::BoneId;
use glam::{DAffine3, DVec3};

/// A bone that no point follows by this much is no limb of its own.
const LEAST_HOLD: f32 = 0.3;
/// Thinnest limb, in extents of the character.
const LEAST_RADIUS: f64 = 1e-3;

/// What a recipe asks of the limbs of one bone pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimbSpec {
    /// Share of the volume term along the joint's axis.
    pub alpha: Option<f64>,
    /// Share of it across the axis.
    pub beta: Option<f64>,
    /// Factor on the fitted radius.
    pub radius: Option<f64>,
    /// A rigid core about the limb's lines, in limb radii.
    pub bone: Option<f64>,
    /// Ellipsoids in the bone's frame: centre, then radii along its axes.
    pub tissue: Vec<[f64; 6]>,
}

/// Limb settings of a character, with the names looked up.
pub(crate) struct LimbPlan<'a> {
    pub alpha: f64,
    pub beta: f64,
    /// Later entries win.
    pub bones: &'a [(Vec<BoneId>, LimbSpec)],
}

/// One of the points that limbs are fitted to: where it is in bind space, and whom it follows.
pub(crate) struct SkinPoint {
    pub at: DVec3,
    pub row: usize,
    pub lane: usize,
}

/// What the skin says about one joint.
#[derive(Clone, Debug, Default)]
struct Flesh {
    weight: f64,
    place: DVec3,
    hold: f32,
    distance: f64,
    /// How far its own skin goes along the line to its middle.
    reach: f64,
}

/// The anatomy of a character and the bones of its joints. `None` where nothing holds skin.
pub(crate) fn fit(
    rig: &Rig,
    character: usize,
    bind_from_rest: &[DAffine3],
    points: &[SkinPoint],
    plan: &LimbPlan<'_>,
) -> Option<(Anatomy, Vec<BoneId>)> {
    let (palette, skeleton) = (rig.palette(), rig.skeleton());
    let mut bones = Vec::new();
    for (entry, bind) in palette.iter().zip(bind_from_rest).filter(|(e, _)| e.character as usize == character) {
        let bind = *bind * entry.bone_from_rest.inverse();
        if bind.is_finite() {
            bones.push((entry.bone, bind));
        }
    }
    // The first skin's bind pose of a bone counts.
    bones.sort_by_key(|&(bone, _)| bone);
    bones.dedup_by_key(|&mut (bone, _)| bone);
    let joint_of = |bone: BoneId| bones.binary_search_by_key(&bone, |&(bone, _)| bone).ok();
    let parent = |bone: BoneId| {
        let mut above = skeleton.parent(bone);
        while let Some(bone) = above {
            if let Some(joint) = joint_of(bone) {
                return Some(joint);
            }
            above = skeleton.parent(bone);
        }
        None
    };
    let joints: Vec<Joint> = bones.iter().map(|&(bone, bind)| Joint { parent: parent(bone), bind }).collect();

    let joint_of = &joint_of;
    let influences = |point: &SkinPoint| {
        let skin = rig.rows()[point.row].skin.clone();
        let lane = point.lane;
        let of = move |i: usize| {
            let weight = rig.skin_weights()[i][lane];
            let joint = joint_of(palette[rig.skin_entries()[i] as usize].bone)?;
            (weight > 0.0).then_some((joint, weight))
        };
        (skin.start as usize..skin.end as usize).filter_map(of)
    };
    let mut flesh = vec![Flesh::default(); joints.len()];
    for point in points {
        for (joint, weight) in influences(point) {
            let square = f64::from(weight).powi(2);
            flesh[joint].weight += square;
            flesh[joint].place += point.at * square;
            flesh[joint].hold = flesh[joint].hold.max(weight);
        }
    }
    let mut carries: Vec<bool> = flesh.iter().map(|flesh| flesh.hold >= LEAST_HOLD).collect();
    for joint in (0..joints.len()).rev() {
        if let (true, Some(parent)) = (carries[joint], joints[joint].parent) {
            carries[parent] = true;
        }
    }
    let origin = |joint: usize| joints[joint].bind.translation;
    let mut lines: Vec<Vec<(DVec3, DVec3)>> = vec![Vec::new(); joints.len()];
    for joint in 0..joints.len() {
        if let (true, Some(parent)) = (carries[joint], joints[joint].parent) {
            lines[parent].push((origin(parent), origin(joint)));
        }
    }
    let tips: Vec<bool> = lines.iter().map(Vec::is_empty).collect();
    let (mut low, mut high) = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
    for point in points {
        (low, high) = (low.min(point.at), high.max(point.at));
    }
    let extent = (high - low).length();
    for (joint, lines) in lines.iter_mut().enumerate().filter(|(joint, _)| tips[*joint]) {
        let middle = flesh[joint].place / flesh[joint].weight;
        let direction = (middle - origin(joint)).normalize_or_zero();
        // Long enough to pass by all its skin: its end is found below.
        lines.push((origin(joint), origin(joint) + direction * (2.0 * extent)));
    }
    for point in points {
        for (joint, weight) in influences(point) {
            let nearest = |&(from, to): &(DVec3, DVec3)| {
                let line = to - from;
                let along = ((point.at - from).dot(line) / line.length_squared()).clamp(0.0, 1.0);
                let closest = if along.is_nan() { from } else { from + line * along };
                (point.at.distance(closest), along * line.length())
            };
            let found = lines[joint].iter().map(nearest).min_by(|a, b| f64::total_cmp(&a.0, &b.0));
            let (distance, along) = found.unwrap_or_default();
            flesh[joint].distance += distance * f64::from(weight).powi(2);
            if weight >= 0.5 && along.is_finite() {
                flesh[joint].reach = flesh[joint].reach.max(along);
            }
        }
    }

    let limb = |joint: usize| {
        let flesh = &flesh[joint];
        if flesh.hold < LEAST_HOLD {
            return None;
        }
        let (bone, bind) = bones[joint];
        let spec = plan.bones.iter().rev().find(|(bones, _)| bones.contains(&bone)).map(|(_, spec)| spec);
        let radius = (flesh.distance / flesh.weight).max(LEAST_RADIUS * extent);
        let radius = radius * spec.and_then(|spec| spec.radius).unwrap_or(1.0);
        let mut lines = lines[joint].clone();
        if tips[joint] {
            let (from, to) = lines[0];
            let direction = (to - from).normalize_or_zero();
            lines[0].1 = from + direction * (flesh.reach - radius).max(0.5 * flesh.reach);
        }
        let mut limb = Limb::new(joint, &lines, radius)?.with_volume(
            spec.and_then(|spec| spec.alpha).unwrap_or(plan.alpha),
            spec.and_then(|spec| spec.beta).unwrap_or(plan.beta),
        );
        if let Some(core) = spec.and_then(|spec| spec.bone) {
            for &(from, to) in &lines {
                limb.add(Primitive::Bone { from, to, radius: core * radius });
            }
        }
        for &[x, y, z, a, b, c] in spec.map_or(&[][..], |spec| &spec.tissue) {
            let centre = DAffine3::from_translation(DVec3::new(x, y, z));
            let from_ball = bind * centre * DAffine3::from_scale(DVec3::new(a, b, c));
            let ball_from_bind = from_ball.inverse();
            if ball_from_bind.is_finite() {
                limb.add(Primitive::Tissue { ball_from_bind });
            }
        }
        Some(limb)
    };
    let limbs: Vec<Limb> = (0..joints.len()).filter_map(limb).collect();
    if limbs.is_empty() {
        return None;
    }
    let anatomy = Anatomy::new(joints, limbs)?;
    Some((anatomy, bones.into_iter().map(|(bone, _)| bone).collect()))
}

/// The points of a character that its skin weights move, in bind space.
pub(crate) fn skin_points(
    rig: &Rig,
    character: usize,
    bind_from_rest: &[DAffine3],
    entry_of_slot: &[u32],
    is_rider: &[bool],
) -> Vec<SkinPoint> {
    let mut points = Vec::new();
    for row in rig.characters()[character].rows.clone() {
        for lane in 0..rig.rows()[row].filled as usize {
            let slot = row * LANES + lane;
            if !is_rider[slot] {
                let rest = rig.rest().get(slot).as_dvec3();
                let at = bind_from_rest[entry_of_slot[slot] as usize].transform_point3(rest);
                points.push(SkinPoint { at, row, lane });
            }
        }
    }
    points
}
