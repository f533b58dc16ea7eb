//! `sinew edit FILE --edit E.json -o R.sinew.toml`: surface edits drawn by strokes, as shapes a recipe names.
//!
//! ```json
//! {
//!   "edits": [
//!     { "name": "biceps", "clip": "wave", "time": 0.4,
//!       "from": [[0.1, 1.2, 0.1], [0.2, 1.2, 0.1]], "to": [[0.1, 1.2, 0.2], [0.2, 1.2, 0.2]],
//!       "rings": 4, "solve": "arap", "iterations": 20, "stiffness": 1, "drive": "direct" },
//!     { "name": "belly", "kind": "silhouette", "to": [[700, 400], [760, 500], [705, 600]],
//!       "camera": { "eye": [0, 1, 5], "target": [0, 1, 0], "fov": 28, "size": [1920, 1080] } },
//!     { "name": "vein", "kind": "bulge", "from": [[0.1, 1.2, 0.1], [0.2, 1.4, 0.1]], "height": 0.01, "width": 0.04,
//!       "key": { "time": 0.5, "ease_in": 0.2, "ease_out": 0.3, "easing": "sine-in-out" } }
//!   ]
//! }
//! ```
//!
//! World space at the pose of that clip and time, or at the default transforms; with a `camera` points are pixels (column, row,
//! optionally seconds and pressure). `from` is drawn on the skin, `to` is where it should go: through a camera, on the plane that
//! faces it through `from`, or on a `plane` of a `point` and a `normal`. Kinds: `pull`; `silhouette`, where `to` is the new
//! outline; `bulge` and `groove`, by a `height` within a `width`; `wave`, with `crests` and a `frequency`. Heights and widths are
//! in sizes. Each edit is made on the surface that the recipe given, with the edits before, makes of the pose.

use crate::args::{Input, RecipeArgs};
use crate::fault::Fault;
use crate::load::{Scene, load};
use crate::output::{Destination, Outputs};
use crate::played::find_clip;
use crate::pose;
use crate::recipe::{LoadedRecipe, Played, solved};
use crate::talk::Talk;
use clap::Args as ClapArgs;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::Deserialize;
use sinew::recipe::{Literal, Place, RecipeFile};
use sinew::{Cpu, DeformedMesh, Recipe, Rig, Stage, Workspace, WorldPose};
use sinew_draw::edits::{self, Edit, Made};
use sinew_gltf::map_file::{self, MapFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, ClapArgs)]
pub struct EditArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    input: Input,

    /// The edits: a JSON file that lists strokes on the skin and where they should go.
    #[arg(long, value_name = "E.json")]
    edit: PathBuf,

    #[command(flatten)]
    recipe: RecipeArgs,

    /// The recipe to write: the given one plus the edits, whose maps are written beside it.
    #[arg(long, short, value_name = "OUT.sinew.toml")]
    output: PathBuf,

    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EditsFile {
    edits: Vec<Edit>,
}

pub fn run(options: &EditArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    if destination == Destination::Stdout {
        return Err(Fault::Usage("an edit's maps are written beside its recipe; name the recipe file with -o".into()));
    }
    destination.check()?;
    let file = options.edit.display().to_string();
    let EditsFile { edits: asked } = pose::read(&options.edit, "edits")?;
    let loaded = LoadedRecipe::asked(&options.recipe)?;
    let mut recipe = RecipeFile::parse(&loaded.text()).map_err(|error| Fault::in_file(&loaded.file, error))?;
    let folder = |path: &Path| path.parent().map(Path::to_owned).filter(|p| !p.as_os_str().is_empty());
    let (here, there) = (folder(&options.output), options.recipe.recipe.as_deref().and_then(folder));
    if !recipe.maps().is_empty() && here != there {
        return Err(Fault::Usage(format!(
            "{}: the recipe uses maps beside it; write the new one into the same folder",
            loaded.file
        )));
    }
    let mut scene = load(&options.input, &loaded.maps, &options.recipe.animations)?;
    talk.warnings(&scene.warnings);
    loaded.idle_words(&scene).iter().for_each(|words| talk.note(words));
    let mut files: Vec<(PathBuf, MapFile)> = Vec::new();
    for edit in &asked {
        let words = |fault: String| Fault::in_file(&file, format!("edit \"{}\": {fault}", edit.name));
        let clip = edit.clip.as_deref().map(|clip| find_clip(&scene, clip)).transpose();
        // Named in a file, not on the command line.
        let clip = clip.map_err(|fault| if let Fault::Usage(text) = fault { words(text) } else { fault })?;
        let played = Played { clips: clip.as_slice(), ..Played::default() };
        let playable = solved(&recipe, &scene, &played).map_err(|error| words(error.to_string()))?;
        let (world, mesh) = posed(&scene, playable.recipe(clip.unwrap_or(0)), edit).map_err(words)?;
        let made = edits::make(&scene.rig, &world, &mesh, edit).map_err(words)?;
        let folder = here.clone().unwrap_or_default();
        let maps = map_files(&scene, edit, &made).map_err(words)?;
        let named = recipe.maps().iter().map(|name| (name.clone(), recipe.map_hash(name)));
        let mut named: Vec<(String, Option<u64>)> = named.collect();
        for (name, map) in maps {
            map_file::apply(&mut scene.raw, &map).map_err(|error| words(error.to_string()))?;
            let path = folder.join(&name);
            named.retain(|(other, _)| *other != name);
            files.retain(|(other, _)| *other != path);
            named.push((name, Some(map.hash())));
            files.push((path, map));
        }
        let (rig, _) = Rig::build(&scene.raw).map_err(|error| Fault::in_file(&scene.name, error))?;
        scene.rig = Arc::new(rig.watching(&scene.clips));
        let named: Vec<(&str, Option<u64>)> = named.iter().map(|(name, hash)| (name.as_str(), *hash)).collect();
        let refused = |error: sinew::recipe::EditError| words(error.to_string());
        recipe.set(Place::Maps, Literal::from(named.as_slice())).map_err(refused)?;
        recipe.add_edit(&edits::spec(edit, made.shape).map_err(words)?).map_err(refused)?;
        talk.note(&format!("{}: {} nodes, farthest {:.4} of the size", edit.name, made.moved, made.farthest));
    }
    write(options, &scene, &recipe, &files)?;
    talk.note(&format!("wrote {} and {} maps", options.output.display(), files.len()));
    Ok(())
}

/// Writes recipe and maps together, once they have been read again and played.
fn write(options: &EditArgs, scene: &Scene, recipe: &RecipeFile, files: &[(PathBuf, MapFile)]) -> Result<(), Fault> {
    let unread = |path: &Path, error: &dyn std::fmt::Display| {
        Fault::in_file(
            path.display(),
            format!("nothing was written, because the result could not be read again: {error}"),
        )
    };
    let mut outputs = Outputs::default();
    let mut raw = scene.raw.clone();
    for (path, map) in files {
        let written = outputs.write_text(path, options.force, &map.to_text())?;
        let again = MapFile::from_text(&path.display().to_string(), &written);
        let applied = again.and_then(|again| map_file::apply(&mut raw, &again));
        applied.map_err(|error| unread(path, &error))?;
    }
    let path = &options.output;
    let written = outputs.write_text(path, options.force, &recipe.to_string())?;
    let recipe = RecipeFile::parse(&written).map_err(|error| unread(path, &error))?;
    let (rig, _) = Rig::build(&raw).map_err(|error| unread(path, &error))?;
    let scene = Scene { rig: Arc::new(rig.watching(&scene.clips)), ..scene.clone() };
    let played = Played::default();
    let playable = solved(&recipe, &scene, &played).map_err(|error| unread(path, &error))?;
    let stage = Stage::new(&scene.rig, playable.recipe(0)).map_err(|error| unread(path, &error))?;
    let mut workspace = Workspace::default();
    stage.resting(&mut workspace).deform(&Cpu::serial());
    if !workspace.mesh().positions.iter().all(|p| p.is_finite()) {
        return Err(unread(path, &"it moves the skin to where no number reaches"));
    }
    outputs.commit()
}

/// World transforms and skin of the pose that an edit is made at.
fn posed(scene: &Scene, recipe: &Recipe, edit: &Edit) -> Result<(WorldPose, DeformedMesh), String> {
    let stage = Stage::new(&scene.rig, recipe).map_err(|error| error.to_string())?;
    let time = edit.time.unwrap_or(0.0);
    if !time.is_finite() {
        return Err(format!("the time is {time}; give seconds"));
    }
    let mut workspace = Workspace::default();
    if let Some(name) = &edit.clip {
        let words = |fault: Fault| if let Fault::Usage(words) = fault { words } else { format!("{fault:?}") };
        let clip = &scene.clips[find_clip(scene, name).map_err(words)?];
        let playing = stage.motion(clip, &sinew::MotionSettings::default()).map_err(|error| error.to_string())?;
        playing.frame(time, &mut workspace);
    } else {
        stage.resting(&mut workspace).deform(&Cpu::serial());
    }
    Ok((workspace.world().clone(), workspace.take_mesh()))
}

/// One map for each primitive that an edit reaches and each number it is made of, with its file's name.
fn map_files(scene: &Scene, edit: &Edit, made: &Made) -> Result<Vec<(String, MapFile)>, String> {
    let mut files = Vec::new();
    for part in scene.rig.parts() {
        for (index, primitive) in part.primitives.iter().enumerate() {
            // Where no mesh carries a map it counts as 0.
            let reached = |(_, values): &(&str, Vec<f32>)| values[primitive.vertices.clone()].iter().any(|&v| v != 0.0);
            if !made.maps.iter().any(reached) {
                continue;
            }
            for (ending, values) in &made.maps {
                let values = values[primitive.vertices.clone()].to_vec();
                let name = format!("{}{ending}", edit.name);
                let map =
                    MapFile::new(&scene.raw, &name, part.node, index, values).map_err(|error| error.to_string())?;
                files.push((format!("{name}.{}.{index}.map.json", part.node), map));
            }
        }
    }
    Ok(files)
}
