//! `sinew pose FILE --strokes S.json -o OUT.glb`: bones posed by strokes, as the file's new default transforms, or with `--clip`
//! as a layer on a clip, in its tracks.
//!
//! ```json
//! {
//!   "strokes": [
//!     { "baseline": [[0, 0, 0], [0, 1, 0]], "offset": [[0, 0, 0], [0.2, 0.5, 0], [0.6, 0.8, 0]],
//!       "radius": 0.1, "bones": "tail*", "stretch": false, "fit": "curve", "tolerance": 0.01, "normal": [0, 0, 1] },
//!     { "camera": { "eye": [0, 1, 5], "target": [0, 1, 0], "fov": 28, "size": [1920, 1080] },
//!       "baseline": [[900, 500], [960, 300]], "offset": [[900, 500], [1100, 350]] }
//!   ]
//! }
//! ```
//!
//! World space, the file's units; a point may carry the second it was drawn at as a fourth number. With a camera points are
//! pixels (column, row, optionally seconds and pressure), drawn on the plane that faces it through the bones near the baseline,
//! or on a `plane` of a `point` and a `normal`. Strokes are applied in order, each to the pose that the one before left.

use crate::args::{Input, seconds};
use crate::fault::Fault;
use crate::load::{Scene, load_to_change};
use crate::output::{Destination, Outputs};
use crate::played::find_clip;
use crate::talk::Talk;
use clap::Args as ClapArgs;
use clap::builder::{OsStringValueParser, TypedValueParser};
use glam::Vec3;
use serde::{Deserialize, Serialize};
use sinew::{Cpu, LocalTransform, Motion, MotionSettings, Pose, Recipe, Stage, Workspace};
use sinew_draw::pose_strokes::{self, PoseStroke};
use sinew_draw::{Cycle, Ease, Easing, Layers, PoseLayer};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug, ClapArgs)]
pub struct PoseArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    input: Input,

    /// The strokes: a JSON file that lists baselines and offsets, in world space or as pixels of a camera.
    #[arg(long, value_name = "S.json", required_unless_present = "layers")]
    strokes: Option<PathBuf>,

    /// Pose a moment of this clip, by name or number, instead of the default transforms: a layer on it that comes and goes.
    #[arg(long, value_name = "NAME|N", requires = "time")]
    clip: Option<String>,

    /// That moment, in seconds on the clip's own clock.
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true, requires = "clip")]
    time: Option<f64>,

    /// Seconds in which the pose comes.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "0.25")]
    ease_in: f64,

    /// Seconds in which it goes.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "0.25")]
    ease_out: f64,

    /// How it comes and goes.
    #[arg(long, value_name = "EASING", default_value = "sine-in-out",
        value_parser = ["linear", "cubic-in", "quartic-out", "sine-in-out"])]
    easing: String,

    /// Layers that the clip has already: a JSON file written by --save-layers. They add up with what is drawn.
    #[arg(long, value_name = "L.json", requires = "clip")]
    layers: Option<PathBuf>,

    /// Keep the layers, those of --layers and the new one, as plain data to be played or changed later.
    #[arg(long, value_name = "L.json", requires = "clip")]
    save_layers: Option<PathBuf>,

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
    strokes: Vec<PoseStroke>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LayersFile {
    layers: Vec<PoseLayer>,
}

pub fn run(options: &PoseArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    destination.check()?;
    let strokes: StrokesFile = match &options.strokes {
        Some(path) => read(path, "strokes")?,
        None => StrokesFile { strokes: Vec::new() },
    };
    let file = options.strokes.as_ref().map_or_else(String::new, |path| path.display().to_string());
    let (scene, mut document) = load_to_change(&options.input)?;
    talk.warnings(&scene.warnings);
    let layered = options.clip.as_deref().map(|clip| layered(options, &scene, clip)).transpose()?;
    let before = layered.as_ref().map_or_else(|| scene.rig.rest_pose(), |layered| layered.pose.clone());
    let mut pose = before.clone();
    for (index, stroke) in strokes.strokes.iter().enumerate() {
        let words = |fault: String| Fault::in_file(&file, format!("stroke {}: {fault}", index + 1));
        let chosen = pose_strokes::apply(&scene.rig, stroke, &mut pose).map_err(words)?;
        talk.note(&format!("stroke {}: {chosen} bones", index + 1));
    }
    let changes = changed(&scene, &before, &pose);
    if changes.iter().any(|(_, local)| !local.to_affine().is_finite()) || !can_be_played(&scene, &pose)? {
        return Err(Fault::in_file(
            &file,
            "the strokes move bones too far away to be stored; draw them near the character",
        ));
    }
    let refused = |error| Fault::in_file(&scene.name, error);
    if let Some(layered) = layered {
        let Layered { clip, cycle, mut layers, ease, .. } = layered;
        let skeleton = scene.rig.skeleton();
        let unfit = |error: sinew_draw::LayerError| Fault::in_file(&scene.name, error);
        if !changes.is_empty() {
            let new = PoseLayer::between(skeleton, &before, &pose, ease).map_err(unfit)?;
            layers.layers.push(PoseLayer { name: format!("layer {}", layers.layers.len() + 1), ..new });
        }
        let played = Layers::new(skeleton, &layers.layers, cycle).map_err(unfit)?;
        let changed = played.clip(skeleton, &scene.clips[clip]);
        talk.warnings(&document.replace_tracks(clip, &scene.clips[clip], &changed).map_err(refused)?);
        if let Some(path) = &options.save_layers {
            let text = serde_json::to_string_pretty(&layers).map_err(|error| Fault::in_file(path.display(), error))?;
            let mut outputs = Outputs::default();
            outputs.write_text(path, options.force, &text)?;
            outputs.commit()?;
        }
        let moved = layers.layers.len();
        destination.write_document(&document, Path::new(&scene.name))?;
        if destination != Destination::Stdout {
            talk.note(&format!("wrote {}, {moved} layers in \"{}\"", options.output.display(), scene.clips[clip].name));
        }
        return Ok(());
    }
    if let Some((clip, name)) = animated(&scene, &changes) {
        talk.note(&format!("the clip {clip} also animates {name} and overrides its new pose"));
    }
    sinew_gltf::set_transforms(&mut document, &changes).map_err(refused)?;
    talk.warnings(&document.pack().map_err(refused)?);
    destination.write_document(&document, Path::new(&scene.name))?;
    if destination != Destination::Stdout {
        talk.note(&format!("wrote {}, {} nodes moved", options.output.display(), changes.len()));
    }
    Ok(())
}

/// A moment of a clip, with the layers that lie on it.
struct Layered {
    clip: usize,
    cycle: Option<Cycle>,
    layers: LayersFile,
    ease: Ease,
    pose: Pose,
}

fn layered(options: &PoseArgs, scene: &Scene, clip: &str) -> Result<Layered, Fault> {
    let clip = find_clip(scene, clip)?;
    let layers: LayersFile = match &options.layers {
        Some(path) => read(path, "layers")?,
        None => LayersFile::default(),
    };
    let easing = match options.easing.as_str() {
        "linear" => Easing::Linear,
        "cubic-in" => Easing::CubicIn,
        "quartic-out" => Easing::QuarticOut,
        _ => Easing::SineInOut,
    };
    let time = options.time.unwrap_or(0.0);
    let ease = Ease { time, ease_in: options.ease_in, ease_out: options.ease_out, easing };
    ease.check().map_err(|fault| Fault::Usage(fault.to_string()))?;
    let motion = Motion::new(scene.rig.puppet(), &scene.clips[clip], &MotionSettings::default(), &[])
        .map_err(|error| Fault::in_file(&scene.name, error))?;
    let report = motion.report();
    let cycle = report.period.map(|period| (report.start, period));
    let mut pose = Pose::default();
    motion.pose(time, &mut pose);
    let played = Layers::new(scene.rig.skeleton(), &layers.layers, cycle);
    played.map_err(|error| Fault::in_file(&scene.name, error))?.apply(time, &mut pose);
    Ok(Layered { clip, cycle, layers, ease, pose })
}

pub fn read<T: serde::de::DeserializeOwned>(path: &Path, what: &str) -> Result<T, Fault> {
    let file = path.display();
    let text = crate::limits::chosen()
        .read_text(path)
        .map_err(|error| Fault::in_file(&file, format!("the {what} cannot be read ({error}); check the path")))?;
    serde_json::from_str(&text)
        .map_err(|error| Fault::in_file(&file, format!("{error}; correct the JSON there, the manual shows the format")))
}

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

/// The nodes whose transforms are not what they were.
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
