//! Joints and limbs of a character, fitted to its skin weights.
//!
//! Joints are the bones that move the skin, in bind space. A bone that some of the skin follows for the most part is a
//! limb: its lines run from its joint to the joints below it that carry skin, or, at the end of a chain, along the middle
//! of its own skin to a radius short of the tip; its radius is the mean distance of its skin from these lines, each point
//! counting by the square of its weight. A recipe may widen a limb, give it tissue and bone, and choose its volume term;
//! and it may take weights from the skin, or from painted maps, in place of lines.

use super::fold_over_free::Anatomy;
use super::pose_path::Joint;
use super::surface_weights::SurfaceWeights;
use super::tissue::{Limb, Primitive};
use crate::rig::Rig;
use crate::simd::{LANES, Lanes};
use crate::skeleton::BoneId;
use glam::{DAffine3, DVec3};

/// A bone that no point follows by this much is no limb of its own.
const LEAST_HOLD: f32 = 0.3;
/// Thinnest limb, in extents of the character.
const LEAST_RADIUS: f64 = 1e-3;

/// Reach of weights off the skin, in limb radii.
const SURFACE_REACH: f64 = 1.0;
/// What is left of a limb's lines under weights of the skin, so that Σm vanishes nowhere.
const SURFACE_FLOOR: f64 = 1e-3;

/// Where the weights of the way come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightSource {
    /// The distance to the bones, in limb radii.
    #[default]
    Lines,
    /// The weights of the skin, extended off it by the closest point.
    Skin,
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
    /// What its map holds, in place of the limb's weights.
    pub painted: Option<Vec<Lanes>>,
}

/// Limb settings of a character, with the names looked up.
pub(crate) struct LimbPlan<'a> {
    pub alpha: f64,
    pub beta: f64,
    pub weights: WeightSource,
    /// Later entries win.
    pub bones: &'a [BoundLimb],
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

    // What is no skin has no place, and its triangles are left out.
    let mut places = vec![DVec3::NAN; rig.rows().len() * LANES];
    for point in points {
        places[point.row * LANES + point.lane] = point.at;
    }
    let slots = |vertices: &[u32; 3]| vertices.map(|vertex| rig.point_of_vertex()[vertex as usize]);
    let faces: Vec<[u32; 3]> = rig.triangles().iter().map(slots).collect();
    let skin_weight = |slot: usize, joint: usize| {
        let point = SkinPoint { at: places[slot], row: slot / LANES, lane: slot % LANES };
        let own = influences(&point).filter(|&(other, _)| other == joint);
        own.map(|(_, weight)| f64::from(weight)).sum::<f64>()
    };
    let limb = |joint: usize| {
        let flesh = &flesh[joint];
        if flesh.hold < LEAST_HOLD {
            return None;
        }
        let (bone, bind) = bones[joint];
        let asked = plan.bones.iter().rev().find(|asked| asked.bones.contains(&bone));
        let (default, painted) = (LimbSpec::default(), asked.and_then(|asked| asked.painted.as_deref()));
        let spec = asked.map_or(&default, |asked| &asked.spec);
        let radius = (flesh.distance / flesh.weight).max(LEAST_RADIUS * extent) * spec.radius.unwrap_or(1.0);
        let mut lines = lines[joint].clone();
        if tips[joint] {
            let (from, to) = lines[0];
            let direction = (to - from).normalize_or_zero();
            lines[0].1 = from + direction * (flesh.reach - radius).max(0.5 * flesh.reach);
        }
        let surface = (painted.is_some() || plan.weights == WeightSource::Skin).then(|| {
            let of_slot = |&slot: &u32| match painted {
                Some(painted) => f64::from(painted[slot as usize / LANES][slot as usize % LANES]).max(0.0),
                None => skin_weight(slot as usize, joint),
            };
            let triangle = |slots: &[u32; 3]| (slots.map(|slot| places[slot as usize]), slots.each_ref().map(of_slot));
            SurfaceWeights::new(faces.iter().map(triangle), SURFACE_REACH * radius)
        });
        let surface = surface.flatten();
        let strength = if surface.is_some() { SURFACE_FLOOR } else { 1.0 };
        let mut limb = Limb::with_lines(joint, &lines, radius, strength)?
            .with_volume(spec.alpha.unwrap_or(plan.alpha), spec.beta.unwrap_or(plan.beta));
        surface.into_iter().for_each(|surface| limb.add(Primitive::Surface(surface)));
        if let Some(core) = spec.bone {
            for &(from, to) in &lines {
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
