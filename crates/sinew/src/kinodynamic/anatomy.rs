//! Joints and limbs of a character, fitted to its skin weights.
//!
//! Joints are the bones that carry skin, in bind space, along the body's tree: the first is where that branches or
//! first holds skin, and what is above it moves the whole. A bone that some of the skin follows for the most part is a
//! limb: its lines run from its joint to the joints below it that carry skin, or, at the end of a chain, along the
//! middle of its own skin to a radius short of the tip; its radius is the mean distance of its skin from these lines,
//! each point counting by the square of its weight. A recipe may widen a limb, give it tissue and bone, choose its
//! volume term, and paint how much each point feels of it.

use super::fold_over_free::{Anatomy, SkinPoint};
use super::pose_path::Joint;
use super::reach::{BoundSkin, share};
use super::tissue::{Fall, Limb, Primitive};
use crate::hierarchy::Hierarchy;
use crate::influences::Influence;
use crate::rig::Rig;
use crate::simd::{LANES, Lanes};
use crate::skeleton::BoneId;
use glam::{DAffine3, DVec3};

/// Thinnest limb, in extents of the character.
const LEAST_RADIUS: f64 = 1e-3;
/// How far from their joints lines end, in limb radii. Were they to end in them, both limbs of a bent joint would be
/// equally near to all of its outside: that would move as one block, a knob, instead of being spread over an arc.
const PULL: f64 = 0.5;
/// The same at most, in lengths of the line.
const MOST_PULL: f64 = 0.4;
/// Share of a limb that a point feels at least where its skin weight is not 0, so that it always feels something.
const LEAST_SHARE: f64 = 1e-6;

/// Of which limbs points feel how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// By the way along the skin.
    #[default]
    Skin,
    /// All of all, by lines that fall off widely: as in the paper.
    Space,
}

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
    /// Rigid capsules in the bone's frame: both ends, then the radius.
    pub capsules: Vec<[f64; 7]>,
    /// Ellipsoids in the bone's frame: centre, then radii along its axes.
    pub tissue: Vec<[f64; 6]>,
}

/// The same with its names looked up.
pub(crate) struct BoundLimb {
    pub bones: Vec<BoneId>,
    pub spec: LimbSpec,
    /// What its map holds: how much each point feels of it.
    pub painted: Option<Vec<Lanes>>,
}

/// Limb settings of a character, with the names looked up.
pub(crate) struct LimbPlan<'a> {
    pub alpha: f64,
    pub beta: f64,
    pub reach: Reach,
    /// Later entries win.
    pub bones: &'a [BoundLimb],
}

/// What the skin says about one joint.
#[derive(Clone, Debug, Default)]
struct Flesh {
    weight: f64,
    place: DVec3,
    distance: f64,
    /// How far its own skin goes along the line to its middle.
    reach: f64,
}

/// A character's anatomy with its skin.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub anatomy: Anatomy,
    /// The bones of its joints.
    pub bones: Vec<BoneId>,
    /// The points that its skin weights move, by ascending slot.
    pub slots: Vec<u32>,
    pub points: Vec<SkinPoint>,
}

/// The anatomy of a character. `None` where nothing holds skin.
pub(crate) fn fit(
    rig: &Rig,
    hierarchy: &Hierarchy,
    skin: &BoundSkin,
    character: usize,
    plan: &LimbPlan<'_>,
) -> Option<Fit> {
    let bones = joints(rig, hierarchy, skin, character);
    let palette = rig.palette();
    let mut joint_of_bone: Vec<Option<usize>> = vec![None; rig.skeleton().len()];
    for (joint, &(bone, _)) in bones.iter().enumerate() {
        joint_of_bone[bone.index()] = Some(joint);
    }
    let parent = |bone: BoneId| hierarchy.ancestors(bone).skip(1).find_map(|above| joint_of_bone[above.index()]);
    let joints: Vec<Joint> = bones.iter().map(|&(bone, bind)| Joint { parent: parent(bone), bind }).collect();

    let rows = rig.characters()[character].rows.clone();
    let in_row = |row: usize| (row * LANES..row * LANES + rig.rows()[row].filled as usize).map(|slot| slot as u32);
    let slots: Vec<u32> = rows.flat_map(in_row).filter(|&slot| !rig.is_rider(slot as usize)).collect();
    let place = |slot: u32| skin.places[slot as usize];
    let influences = |slot: u32| {
        let of = |influence: Influence| {
            let joint = joint_of_bone[palette[influence.palette as usize].bone.index()]?;
            Some((joint, f64::from(influence.weight)))
        };
        rig.influences(slot as usize).filter_map(of)
    };
    let mut flesh = vec![Flesh::default(); joints.len()];
    for &slot in &slots {
        for (joint, weight) in influences(slot) {
            flesh[joint].weight += weight * weight;
            flesh[joint].place += place(slot) * (weight * weight);
        }
    }
    let origin = |joint: usize| joints[joint].bind.translation;
    let mut lines: Vec<Vec<(DVec3, DVec3)>> = vec![Vec::new(); joints.len()];
    for joint in 0..joints.len() {
        if let Some(parent) = joints[joint].parent {
            lines[parent].push((origin(parent), origin(joint)));
        }
    }
    let tips: Vec<bool> = lines.iter().map(Vec::is_empty).collect();
    let (mut low, mut high) = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
    for &slot in &slots {
        (low, high) = (low.min(place(slot)), high.max(place(slot)));
    }
    let extent = (high - low).length();
    for (joint, lines) in lines.iter_mut().enumerate().filter(|(joint, _)| tips[*joint]) {
        let middle = flesh[joint].place / flesh[joint].weight;
        let direction = (middle - origin(joint)).normalize_or_zero();
        // Long enough to pass by all its skin: its end is found below.
        lines.push((origin(joint), origin(joint) + direction * (2.0 * extent)));
    }
    for &slot in &slots {
        for (joint, weight) in influences(slot) {
            let (distance, along) = nearest(&lines[joint], place(slot));
            flesh[joint].distance += distance * weight * weight;
            if weight >= 0.5 && along.is_finite() {
                flesh[joint].reach = flesh[joint].reach.max(along);
            }
        }
    }
    let mut limbs = Vec::new();
    let mut painted: Vec<Option<&[Lanes]>> = Vec::new();
    for joint in (0..joints.len()).filter(|&joint| skin.is_limb(bones[joint].0.index())) {
        let (flesh, (bone, bind)) = (&flesh[joint], bones[joint]);
        let asked = plan.bones.iter().rev().find(|asked| asked.bones.contains(&bone));
        let default = LimbSpec::default();
        let spec = asked.map_or(&default, |asked| &asked.spec);
        let radius = (flesh.distance / flesh.weight).max(LEAST_RADIUS * extent) * spec.radius.unwrap_or(1.0);
        let mut lines = lines[joint].clone();
        if tips[joint] {
            let (from, to) = lines[0];
            let direction = (to - from).normalize_or_zero();
            lines[0].1 = from + direction * (flesh.reach - radius).max(0.5 * flesh.reach);
        }
        let fall = match plan.reach {
            Reach::Skin => Fall::Narrow,
            Reach::Space => Fall::Wide,
        };
        for (from, to) in lines.iter_mut().filter(|_| fall == Fall::Narrow) {
            let line = *to - *from;
            let pull = (PULL * radius / line.length()).min(MOST_PULL);
            if pull.is_finite() {
                (*from, *to) = (*from + line * pull, if tips[joint] { *to } else { *to - line * pull });
            }
        }
        let Some(limb) = Limb::with_lines(joint, &lines, radius, fall) else { continue };
        let mut limb = limb.with_volume(spec.alpha.unwrap_or(plan.alpha), spec.beta.unwrap_or(plan.beta));
        add_parts(&mut limb, spec, &lines, radius, bind);
        limbs.push(limb);
        painted.push(asked.and_then(|asked| asked.painted.as_deref()));
    }
    if limbs.is_empty() {
        return None;
    }
    let joint_of_limb: Vec<usize> = limbs.iter().map(|limb| limb.joint).collect();
    let bone_of_limb: Vec<usize> = joint_of_limb.iter().map(|&joint| bones[joint].0.index()).collect();
    let ways: Vec<&[f32]> = bone_of_limb.iter().map(|&bone| skin.ways[bone].as_slice()).collect();
    let spans: Vec<f64> = bone_of_limb.iter().map(|&bone| skin.spans[bone]).collect();
    let anatomy = Anatomy::new(joints, limbs)?;
    let feels = |slot: u32| {
        let mut felt = Vec::new();
        for (limb, painted) in painted.iter().enumerate() {
            let is_weighted = influences(slot).any(|(joint, _)| joint == joint_of_limb[limb]);
            let by_way = match plan.reach {
                Reach::Space => 1.0,
                Reach::Skin => share(f64::from(ways[limb][slot as usize]), spans[limb]),
            };
            let least = if is_weighted || by_way > 0.0 { LEAST_SHARE } else { 0.0 };
            let share = painted.map_or(by_way, |map| f64::from(map[slot as usize / LANES][slot as usize % LANES]));
            let share = share.max(least);
            if share > 0.0 {
                felt.extend(anatomy.lines_of(limb).map(|line| (line as u32, share)));
            }
        }
        if felt.is_empty() { anatomy.everywhere() } else { felt }
    };
    let points = slots.iter().map(|&slot| SkinPoint { at: place(slot), felt: feels(slot) }).collect();
    Some(Fit { anatomy, bones: bones.into_iter().map(|(bone, _)| bone).collect(), slots, points })
}

/// The bones that carry limbs with their bind poses, depth first: chains stay together, as the volume term likes them.
fn joints(rig: &Rig, hierarchy: &Hierarchy, skin: &BoundSkin, character: usize) -> Vec<(BoneId, DAffine3)> {
    let mut binds: Vec<Option<DAffine3>> = vec![None; rig.skeleton().len()];
    for (entry, bind) in rig.palette().iter().zip(&skin.bind_from_rest) {
        let bind = *bind * entry.bone_from_rest.inverse();
        if entry.character as usize == character && bind.is_finite() {
            // The first skin's bind pose of a bone counts.
            binds[entry.bone.index()].get_or_insert(bind);
        }
    }
    let mut carries = vec![0_usize; binds.len()];
    let is_limb = |bone: BoneId| binds[bone.index()].is_some() && skin.is_limb(bone.index());
    for &bone in hierarchy.order().iter().rev() {
        carries[bone.index()] += usize::from(is_limb(bone));
        if let Some(parent) = hierarchy.parent(bone) {
            carries[parent.index()] += carries[bone.index()];
        }
    }
    let limbs = hierarchy.order().iter().filter(|&&bone| is_limb(bone)).count();
    // What is above the last bone that carries all limbs moves the whole.
    let topmost = hierarchy.order().iter().rev().find(|&&bone| carries[bone.index()] == limbs);
    let is_above = |bone: BoneId| topmost.is_some_and(|&top| bone != top && carries[bone.index()] == limbs);
    let mut children: Vec<Vec<BoneId>> = vec![Vec::new(); binds.len()];
    let mut open: Vec<BoneId> = Vec::new();
    for &bone in hierarchy.order().iter().rev() {
        match hierarchy.parent(bone) {
            Some(parent) => children[parent.index()].push(bone),
            None => open.push(bone),
        }
    }
    let mut found = Vec::new();
    while let Some(bone) = open.pop() {
        if let (Some(bind), true) = (binds[bone.index()], carries[bone.index()] > 0 && !is_above(bone)) {
            found.push((bone, bind));
        }
        open.extend(&children[bone.index()]);
    }
    found
}

/// Distance from the nearest of some lines, and how far along it that is.
fn nearest(lines: &[(DVec3, DVec3)], p: DVec3) -> (f64, f64) {
    let to_line = |&(from, to): &(DVec3, DVec3)| {
        let line = to - from;
        let along = ((p - from).dot(line) / line.length_squared()).clamp(0.0, 1.0);
        let closest = if along.is_nan() { from } else { from + line * along };
        (p.distance(closest), along * line.length())
    };
    lines.iter().map(to_line).min_by(|a, b| f64::total_cmp(&a.0, &b.0)).unwrap_or_default()
}

/// The bone and tissue that a recipe gives to a limb.
fn add_parts(limb: &mut Limb, spec: &LimbSpec, lines: &[(DVec3, DVec3)], radius: f64, bind: DAffine3) {
    if let Some(core) = spec.bone {
        for &(from, to) in lines {
            limb.add(Primitive::Bone { from, to, radius: core * radius });
        }
    }
    for &[ax, ay, az, bx, by, bz, radius] in &spec.capsules {
        let [from, to] = [DVec3::new(ax, ay, az), DVec3::new(bx, by, bz)].map(|p| bind.transform_point3(p));
        // A bone's frame may be in other units than bind space.
        let radius = radius * bind.matrix3.determinant().abs().cbrt();
        if from.is_finite() && to.is_finite() && radius > 0.0 {
            limb.add(Primitive::Bone { from, to, radius });
        }
    }
    for &[x, y, z, a, b, c] in &spec.tissue {
        let centre = DAffine3::from_translation(DVec3::new(x, y, z));
        let from_ball = bind * centre * DAffine3::from_scale(DVec3::new(a, b, c));
        let ball_from_bind = from_ball.inverse();
        if ball_from_bind.is_finite() {
            limb.add(Primitive::Tissue { ball_from_bind });
        }
    }
}
