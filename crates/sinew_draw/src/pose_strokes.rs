//! Bones posed by strokes as they are asked for (EX 7.1): a baseline chooses them, an offset bends them.
//!
//! With a camera strokes are pixels, drawn on the plane that faces it through the bones near the baseline, or on a given one. Each
//! stroke is applied to the pose that the one before left.

use crate::drawn::{Canvas, CharacterName, PlaneSpec, length, smooth, stroke};
use crate::screen::{CameraSpec, ScreenStroke, TOLERANCE as PIXEL_TOLERANCE};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use sinew::strokes::posing::Posing;
use sinew::strokes::{Fit, Selection, Stroke, pose_by_offset};
use sinew::text::wildcard;
use sinew::{BoneId, Pose, Rig, WorldPose};

/// Radius of selection and tolerance of simplification where a stroke gives none, in sizes of the character.
const RADIUS: f64 = 0.05;
const TOLERANCE: f64 = 0.002;

/// Whether bones follow how the offset differs from the baseline, or lie on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitName {
    /// How it differs.
    #[default]
    Offset,
    /// On it.
    Curve,
}

/// Strokes that pose bones, as files have them: where they lie, and where they should.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PoseStroke {
    /// What pixels are seen through; places in the world without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<CameraSpec>,
    /// What is drawn on; without it, what faces the camera.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<PlaneSpec>,
    /// Only bones of this character; of any without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub character: Option<CharacterName>,
    /// Whether bones follow how the offset differs from the baseline, or lie on it.
    #[serde(default)]
    pub fit: FitName,
    /// Along the bones.
    pub baseline: Vec<Vec<f64>>,
    /// Where they should go.
    pub offset: Vec<Vec<f64>>,
    /// How far from the baseline joints are chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Only bones of such names; * and ? match any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bones: Option<String>,
    /// Whether bones may be longer or shorter.
    #[serde(default)]
    pub stretch: bool,
    /// How far a sample may lie from the curve that leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Normal of the plane the strokes were drawn on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<[f64; 3]>,
}

/// Poses the bones near one baseline; tells how many, or why none.
pub fn apply(rig: &Rig, asked: &PoseStroke, pose: &mut Pose) -> Result<usize, String> {
    let skeleton = rig.skeleton();
    let character = asked.character.as_ref().map(|name| name.find(rig)).transpose()?;
    let pattern = asked.bones.as_deref().unwrap_or("*");
    let mut is_joint = vec![false; skeleton.len()];
    let of_it = rig.palette().iter().filter(|entry| character.is_none_or(|wanted| entry.character as usize == wanted));
    of_it.for_each(|entry| is_joint[entry.bone.index()] = true);
    let candidates: Vec<BoneId> =
        (skeleton.bones()).filter(|&bone| is_joint[bone.index()] && wildcard(pattern, skeleton.name(bone))).collect();
    let mut world = WorldPose::default();
    world.compose(skeleton, pose);
    let canvas = Canvas::of(asked.camera.as_ref(), asked.plane.as_ref())?;
    let (chosen, [baseline, offset], plane_normal) = match &canvas {
        None => in_world(rig, asked, &world, &candidates, character)?,
        Some(canvas) => in_picture(rig, asked, &world, &candidates, canvas)?,
    };
    if chosen.is_empty() {
        let advice = "draw the baseline closer to the joints, or give a larger radius";
        return Err(format!("no joint matching \"{pattern}\" is within the radius of the baseline; {advice}"));
    }
    let up = match asked.normal {
        None => plane_normal,
        Some(normal) => DVec3::from(normal).try_normalize().ok_or("the normal has no direction")?,
    };
    let selection = Selection::by_baseline(&world, chosen.into_iter(), &baseline, f64::INFINITY);
    let is_free = |bone: BoneId| rig.is_root(bone) || skeleton.parent(bone).is_none();
    let fit = match asked.fit {
        FitName::Offset => Fit::Offset,
        FitName::Curve => Fit::Curve,
    };
    let posing = Posing { up, stretch: asked.stretch, fit, is_free: &is_free };
    *pose = pose_by_offset(skeleton, pose, &selection, [&baseline, &offset], &posing);
    Ok(selection.bones().len())
}

/// Bones that a baseline chooses, both strokes, and the normal of the plane they are drawn on.
type Chosen = (Vec<BoneId>, [Stroke; 2], DVec3);

fn in_world(
    rig: &Rig,
    asked: &PoseStroke,
    world: &WorldPose,
    candidates: &[BoneId],
    character: Option<usize>,
) -> Result<Chosen, String> {
    let tolerance_of = |size: f64| length(asked.tolerance, TOLERANCE * size, "tolerance");
    let raw = stroke(&asked.baseline, "baseline", 0.0)?;
    let near = |bone: BoneId| raw.at(raw.nearest(world.joint_origin(bone))).distance(world.joint_origin(bone));
    // Lengths are in sizes of the character that is drawn at.
    let nearest = candidates.iter().min_by(|&&a, &&b| near(a).total_cmp(&near(b)));
    let character = character.or_else(|| nearest.map(|&bone| rig.character_of_bone(bone)));
    let size = character.and_then(|index| rig.characters().get(index)).map_or(1.0, |character| character.size);
    let (radius, tolerance) = (length(asked.radius, RADIUS * size, "radius")?, tolerance_of(size)?);
    let baseline = stroke(&asked.baseline, "baseline", tolerance)?;
    let offset = stroke(&asked.offset, "offset", tolerance)?;
    let selection = Selection::by_baseline(world, candidates.iter().copied(), &baseline, radius);
    Ok((selection.bones().iter().map(|selected| selected.bone).collect(), [baseline, offset], DVec3::Z))
}

fn in_picture(
    rig: &Rig,
    asked: &PoseStroke,
    world: &WorldPose,
    candidates: &[BoneId],
    canvas: &Canvas,
) -> Result<Chosen, String> {
    let height = asked.camera.map_or(0.0, |camera| f64::from(camera.size[1]));
    let tolerance = length(asked.tolerance, PIXEL_TOLERANCE * height, "tolerance")?;
    let baseline = canvas.stroke(&asked.baseline, "baseline", tolerance)?;
    let offset = canvas.stroke(&asked.offset, "offset", tolerance)?;
    let flat = smooth(&baseline.flat(), "baseline")?;
    let mut chosen = Vec::new();
    for &bone in candidates {
        let projected = canvas.view.project(world.joint_origin(bone));
        let Some([x, y]) = projected.pixel().filter(|_| projected.depth > canvas.view.camera().near()) else {
            continue;
        };
        let size = rig.characters()[rig.character_of_bone(bone)].size;
        let radius = length(asked.radius, RADIUS * size, "radius")? / canvas.view.pixel_size(projected.depth);
        let joint = DVec3::new(x, y, 0.0);
        if flat.at(flat.nearest(joint)).distance(joint) <= radius {
            chosen.push(bone);
        }
    }
    let joints: Vec<DVec3> = chosen.iter().map(|&bone| world.joint_origin(bone)).collect();
    if joints.is_empty() {
        return Ok((chosen, [flat.clone(), flat], DVec3::Z));
    }
    let plane = canvas.plane(&joints)?;
    let placed = |stroke: &ScreenStroke, what: &str| {
        let samples = stroke.on_plane(&plane).map_err(|fault| format!("the {what}: {fault}"))?;
        smooth(&samples, what)
    };
    Ok((chosen, [placed(&baseline, "baseline")?, placed(&offset, "offset")?], plane.normal()))
}
