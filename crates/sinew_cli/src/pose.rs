//! `sinew pose FILE --strokes S.json -o OUT.glb`: bones posed by strokes, as the file's new default transforms.
//!
//! ```json
//! {
//!   "strokes": [
//!     { "baseline": [[0, 0, 0], [0, 1, 0]], "offset": [[0, 0, 0], [0.2, 0.5, 0], [0.6, 0.8, 0]],
//!       "radius": 0.1, "bones": "tail*", "stretch": false, "tolerance": 0.01, "normal": [0, 0, 1] }
//!   ]
//! }
//! ```
//!
//! World space, the file's units; a point may carry the second it was drawn at as a fourth number. Strokes are applied
//! in order, each to the pose that the one before left.

use crate::args::Input;
use crate::fault::Fault;
use crate::load::{Scene, load_to_change};
use crate::output::Destination;
use crate::talk::Talk;
use clap::Args as ClapArgs;
use clap::builder::{OsStringValueParser, TypedValueParser};
use glam::{DVec3, Vec3};
use serde::Deserialize;
use sinew::strokes::posing::Posing;
use sinew::strokes::{Sample, Selection, Stroke, pose_by_offset, simplify};
use sinew::text::wildcard;
use sinew::{BoneId, Cpu, LocalTransform, Pose, Recipe, Stage, Workspace, WorldPose};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Radius of selection and tolerance of simplification where a stroke gives none, in sizes of the character.
const RADIUS: f64 = 0.05;
const TOLERANCE: f64 = 0.002;

#[derive(Debug, ClapArgs)]
pub struct PoseArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    input: Input,

    /// The strokes: a JSON file that lists baselines and offsets in world space.
    #[arg(long, value_name = "S.json")]
    strokes: PathBuf,

    /// Output file (.glb), or - for stdout.
    #[arg(long, short, value_name = "OUT.glb")]
    output: PathBuf,

    /// Overwrite the output if it exists.
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StrokesFile {
    strokes: Vec<PosingStroke>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PosingStroke {
    baseline: Vec<Vec<f64>>,
    offset: Vec<Vec<f64>>,
    /// How far from the baseline joints are chosen.
    radius: Option<f64>,
    /// Only bones of such names; * and ? match any.
    bones: Option<String>,
    #[serde(default)]
    stretch: bool,
    /// How far a sample may lie from the curve that leaves it out.
    tolerance: Option<f64>,
    /// Normal of the plane the strokes were drawn on.
    normal: Option<[f64; 3]>,
}

pub fn run(options: &PoseArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    destination.check()?;
    let file = options.strokes.display().to_string();
    let strokes = read(&options.strokes, &file)?;
    let (scene, mut document) = load_to_change(&options.input)?;
    talk.warnings(&scene.warnings);
    let before = scene.rig.rest_pose();
    let mut pose = before.clone();
    for (index, stroke) in strokes.iter().enumerate() {
        let words = |fault: String| Fault::in_file(&file, format!("stroke {}: {fault}", index + 1));
        let chosen = apply(&scene, stroke, &mut pose).map_err(words)?;
        talk.note(&format!("stroke {}: {chosen} bones", index + 1));
    }
    let changes = changed(&scene, &before, &pose);
    if changes.iter().any(|(_, local)| !local.to_affine().is_finite()) || !can_be_played(&scene, &pose)? {
        return Err(Fault::in_file(
            &file,
            "the strokes move bones too far away to be stored; draw them near the character",
        ));
    }
    if let Some((clip, name)) = animated(&scene, &changes) {
        talk.note(&format!("the clip {clip} also animates {name} and overrides its new pose"));
    }
    let refused = |error| Fault::in_file(&scene.name, error);
    sinew_gltf::set_transforms(&mut document, &changes).map_err(refused)?;
    talk.warnings(&document.pack().map_err(refused)?);
    destination.write_document(&document, Path::new(&scene.name))?;
    if destination != Destination::Stdout {
        talk.note(&format!("wrote {}, {} nodes moved", options.output.display(), changes.len()));
    }
    Ok(())
}

fn read(path: &Path, file: &str) -> Result<Vec<PosingStroke>, Fault> {
    let text = crate::limits::chosen()
        .read_text(path)
        .map_err(|error| Fault::in_file(file, format!("the strokes cannot be read ({error}); check the path")))?;
    let parsed: StrokesFile = serde_json::from_str(&text).map_err(|error| {
        Fault::in_file(file, format!("{error}; correct the JSON there, the manual shows the format"))
    })?;
    Ok(parsed.strokes)
}

/// Poses the bones near one baseline; tells how many.
fn apply(scene: &Scene, asked: &PosingStroke, pose: &mut Pose) -> Result<usize, String> {
    let rig = &scene.rig;
    let size = rig.characters().first().map_or(1.0, |character| character.size);
    let length = |given: Option<f64>, share: f64, what: &str| match given {
        None => Ok(share * size),
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Some(value) => Err(format!("the {what} is {value}; give a length of 0 or more")),
    };
    let radius = length(asked.radius, RADIUS, "radius")?;
    let tolerance = length(asked.tolerance, TOLERANCE, "tolerance")?;
    let baseline = stroke(&asked.baseline, "baseline", tolerance)?;
    let offset = stroke(&asked.offset, "offset", tolerance)?;
    let up = match asked.normal {
        None => DVec3::Z,
        Some(normal) => DVec3::from(normal).try_normalize().ok_or("the normal has no direction")?,
    };
    let skeleton = rig.skeleton();
    let pattern = asked.bones.as_deref().unwrap_or("*");
    let mut is_joint = vec![false; skeleton.len()];
    rig.palette().iter().for_each(|entry| is_joint[entry.bone.index()] = true);
    let candidates = skeleton.bones().filter(|&bone| is_joint[bone.index()] && wildcard(pattern, skeleton.name(bone)));
    let mut world = WorldPose::default();
    world.compose(skeleton, pose);
    let selection = Selection::by_baseline(&world, candidates, &baseline, radius);
    if selection.bones().is_empty() {
        let advice = "draw the baseline closer to the joints, or give a larger radius";
        return Err(format!("no joint matching \"{pattern}\" is within {radius} of the baseline; {advice}"));
    }
    let is_free = |bone: BoneId| rig.is_root(bone) || skeleton.parent(bone).is_none();
    let posing = Posing { up, stretch: asked.stretch, is_free: &is_free };
    *pose = pose_by_offset(skeleton, pose, &selection, [&baseline, &offset], &posing);
    Ok(selection.bones().len())
}

/// A stroke of a file, simplified.
pub fn stroke(points: &[Vec<f64>], what: &str, tolerance: f64) -> Result<Stroke, String> {
    let samples = samples(points).map_err(|fault| format!("the {what}: {fault}"))?;
    Stroke::new(&simplify(&samples, tolerance)).map_err(|fault| format!("the {what}: {fault}"))
}

fn samples(points: &[Vec<f64>]) -> Result<Vec<Sample>, String> {
    let sample = |(index, point): (usize, &Vec<f64>)| match point[..] {
        [x, y, z] => Ok(Sample { position: DVec3::new(x, y, z), time_secs: index as f64 }),
        [x, y, z, time_secs] => Ok(Sample { position: DVec3::new(x, y, z), time_secs }),
        _ => Err(format!("point {} has {} numbers; give x, y, z and, optionally, seconds", index, point.len())),
    };
    points.iter().enumerate().map(sample).collect()
}

/// The nodes whose transforms are not what they were.
/// Whether all skin stays where numbers of the file have squares: the next command is to read what is written.
fn can_be_played(scene: &Scene, pose: &Pose) -> Result<bool, Fault> {
    let refused = |error: &dyn std::fmt::Display| Fault::in_file(&scene.name, error.to_string());
    let stage = Stage::new(&scene.rig, &Recipe::default()).map_err(|error| refused(&error))?;
    let mut workspace = Workspace::default();
    let posed = stage.posed(pose, &stage.at_rest(), 0.0, &mut workspace);
    posed.map_err(|error| refused(&error))?.deform(&Cpu::serial());
    let is_near = |point: &Vec3| point.abs().max_element() < f32::MAX.sqrt();
    Ok(workspace.mesh().positions.iter().all(is_near))
}

fn changed(scene: &Scene, before: &Pose, after: &Pose) -> Vec<(usize, LocalTransform)> {
    let skeleton = scene.rig.skeleton();
    let moved = skeleton.bones().filter(|bone| before.locals[bone.index()] != after.locals[bone.index()]);
    moved.map(|bone| (skeleton.node(bone), after.locals[bone.index()])).collect()
}

/// A clip that moves a node of a new pose, and the node's name.
fn animated(scene: &Scene, changes: &[(usize, LocalTransform)]) -> Option<(String, String)> {
    let changed: BTreeSet<usize> = changes.iter().map(|change| change.0).collect();
    scene.clips.iter().find_map(|clip| {
        let node = clip.tracks.iter().map(|track| track.node).find(|node| changed.contains(node))?;
        let name = scene.raw.bones.get(node).map_or_else(String::new, |bone| bone.name.clone());
        Some((format!("\"{}\"", clip.name), format!("\"{name}\"")))
    })
}
