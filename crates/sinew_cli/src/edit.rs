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
use crate::drawn::{Canvas, CharacterName, PlaneSpec, length, smooth, stroke};
use crate::fault::Fault;
use crate::load::{Scene, load};
use crate::output::{Destination, Outputs};
use crate::played::find_clip;
use crate::pose;
use crate::recipe::{LoadedRecipe, Played, solved};
use crate::talk::Talk;
use clap::Args as ClapArgs;
use clap::builder::{OsStringValueParser, TypedValueParser};
use glam::DVec3;
use serde::Deserialize;
use sinew::recipe::KeyCurve;
use sinew::recipe::{Drive, EditShape, EditSpec, Literal, Place, RecipeFile};
use sinew::strokes::surface::SurfaceTree;
use sinew::strokes::{Reach, Stroke, SurfaceStroke};
use sinew::{Cpu, DeformedMesh, Recipe, Rig, Stage, Workspace, WorldPose};
use sinew_author::{EditStage, Pulled, Solve};
use sinew_draw::redraw::{self, Surface};
use sinew_draw::screen::{depth_beyond, skin_under};
use sinew_draw::{CameraSpec, Ease};
use sinew_gltf::map_file::{self, MapFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rings around a stroke that give way where an edit does not say.
const RINGS: usize = 4;
const ITERATIONS: usize = 20;
const MOST_ITERATIONS: usize = 1000;
/// Of bulges, grooves and waves, in sizes.
const WIDTH: f64 = 0.05;
const HEIGHT: f64 = 0.02;

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
    edits: Vec<AskedEdit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedEdit {
    name: String,
    clip: Option<String>,
    time: Option<f64>,
    #[serde(default)]
    kind: KindName,
    /// The one that is drawn on without it.
    character: Option<CharacterName>,
    camera: Option<CameraSpec>,
    plane: Option<PlaneSpec>,
    #[serde(default)]
    from: Vec<Vec<f64>>,
    #[serde(default)]
    to: Vec<Vec<f64>>,
    /// Of a bulge, a groove or a wave, in sizes.
    height: Option<f64>,
    width: Option<f64>,
    crests: Option<f64>,
    frequency: Option<f64>,
    /// When it holds; always without it.
    key: Option<Ease>,
    rings: Option<usize>,
    distance: Option<f64>,
    geodesic: Option<f64>,
    #[serde(default)]
    solve: SolveName,
    iterations: Option<usize>,
    tolerance: Option<f64>,
    stiffness: Option<f64>,
    #[serde(default)]
    drive: DriveName,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindName {
    #[default]
    Pull,
    Silhouette,
    Bulge,
    Groove,
    Wave,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SolveName {
    #[default]
    Arap,
    Laplacian,
    ScaleVectors,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DriveName {
    #[default]
    Direct,
    Springs,
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
        let made = make(&scene, playable.recipe(clip.unwrap_or(0)), edit).map_err(words)?;
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
        recipe.add_edit(&spec(edit, made.shape).map_err(words)?).map_err(refused)?;
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

/// What an edit came to.
struct Made {
    shape: EditShape,
    /// Names' endings and a value per vertex of the rig; a wave has none.
    maps: Vec<(&'static str, Vec<f32>)>,
    moved: usize,
    /// In sizes.
    farthest: f64,
}

/// A character as it stands where an edit is made.
struct Standing {
    stage: EditStage,
    before: Vec<DVec3>,
    size: f64,
}

impl Standing {
    fn surface(&self) -> Surface<'_> {
        let skin = self.stage.skin();
        Surface { triangles: skin.triangles(), adjacency: skin.adjacency(), points: &self.before, size: self.size }
    }

    fn tree(&self) -> Result<SurfaceTree<'_>, String> {
        SurfaceTree::new(self.stage.skin().triangles(), &self.before).ok_or_else(|| "there is no skin".to_owned())
    }
}

fn make(scene: &Scene, recipe: &Recipe, edit: &AskedEdit) -> Result<Made, String> {
    if edit.name.is_empty() || edit.name.contains(['/', '\\', ':']) {
        return Err("give it a name without / \\ and :".to_owned());
    }
    let rig = &scene.rig;
    let (world, mesh) = posed(scene, recipe, edit)?;
    let asked = edit.character.as_ref().map(|name| name.find(rig)).transpose()?;
    let standing = |character: usize| {
        let stage = EditStage::new(rig, character)?;
        let before = stage.skin().points(rig, &mesh);
        Some(Standing { before, stage, size: rig.characters()[character].size })
    };
    let wanted = (0..rig.characters().len()).filter(|&character| asked.is_none_or(|asked| asked == character));
    let all: Vec<Standing> = wanted.filter_map(standing).collect();
    let canvas = Canvas::of(edit.camera.as_ref(), edit.plane.as_ref())?;
    let tolerance = length(edit.tolerance, 0.0, "tolerance")?;
    let drawn = Drawn { edit, canvas, tolerance };
    let at = drawn.character(&all)?;
    let pulled = match edit.kind {
        KindName::Wave => return drawn.wave(scene, at),
        KindName::Silhouette => drawn.silhouette(at)?,
        KindName::Bulge | KindName::Groove => drawn.relief(at)?,
        KindName::Pull => drawn.pull(rig, &world, at)?,
    };
    if pulled.points.iter().any(|p| !p.as_vec3().is_finite()) {
        return Err("the strokes move the skin too far away to be stored; draw them near the character".to_owned());
    }
    let changes = at.stage.encode(&world, rig, &at.before, &pulled.points);
    let apart = || at.before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b));
    Ok(Made {
        // Maps are known by their names in lower case.
        shape: EditShape::Shape(vec![(0.0, edit.name.to_lowercase())]),
        maps: at.stage.maps(rig, &changes, &pulled.inside).into(),
        moved: apart().filter(|&d| d > 0.0).count(),
        farthest: apart().fold(0.0, f64::max) / at.size,
    })
}

/// What was drawn, and through what.
struct Drawn<'a> {
    edit: &'a AskedEdit,
    canvas: Option<Canvas>,
    tolerance: f64,
}

impl Drawn<'_> {
    /// The character that is drawn on: the one under the stroke, or nearest to it.
    fn character<'s>(&self, all: &'s [Standing]) -> Result<&'s Standing, String> {
        let points = if self.edit.kind == KindName::Silhouette { &self.edit.to } else { &self.edit.from };
        let mut nearest: Option<(f64, &Standing)> = None;
        for standing in all {
            let away = match &self.canvas {
                _ if all.len() == 1 => 0.0,
                None => {
                    let first = stroke(points, "from", 0.0)?.at(0.0);
                    let tree = standing.tree()?;
                    let place =
                        tree.nearest(first).and_then(|at| at.at(standing.surface().triangles, &standing.before));
                    place.map_or(f64::INFINITY, |place| place.distance(first))
                }
                Some(canvas) if self.edit.kind == KindName::Silhouette => {
                    let stroke = canvas.stroke(points, "to", self.tolerance)?;
                    let Ok(part) = redraw::part(&standing.surface(), &standing.before, &stroke) else { continue };
                    let moves = part.moves();
                    moves.iter().map(|(_, by)| by.length()).sum::<f64>() / moves.len().max(1) as f64
                }
                Some(canvas) => {
                    let (tree, reach) = (standing.tree()?, depth_beyond(&canvas.view, &standing.before));
                    let stroke = canvas.stroke(points, "from", self.tolerance)?;
                    let seen = |s: &sinew_draw::ScreenSample| skin_under(&canvas.view, &tree, s.pixel, reach);
                    stroke.samples().iter().find_map(seen).map_or(f64::INFINITY, |(_, depth)| depth)
                }
            };
            if nearest.is_none_or(|(least, _)| away < least) {
                nearest = Some((away, standing));
            }
        }
        nearest
            .map(|(_, standing)| standing)
            .ok_or_else(|| "there is no character with faces and bones to edit".to_owned())
    }

    /// The stroke on the skin.
    fn from(&self, at: &Standing) -> Result<Stroke, String> {
        let Some(canvas) = &self.canvas else { return stroke(&self.edit.from, "from", self.tolerance) };
        let drawn = canvas.stroke(&self.edit.from, "from", self.tolerance)?;
        let pieces = drawn.on_skin(&at.tree()?, depth_beyond(&canvas.view, &at.before));
        let pieces = pieces.map_err(|fault| format!("the from: {fault}"))?;
        // Of a stroke that leaves the skin and comes back the longest piece counts.
        let longest = pieces.into_iter().max_by_key(Vec::len).unwrap_or_default();
        smooth(&longest.iter().map(|sample| sample.sample).collect::<Vec<_>>(), "from")
    }

    fn pull(&self, rig: &Rig, world: &WorldPose, at: &Standing) -> Result<Pulled, String> {
        let edit = self.edit;
        let from = self.from(at)?;
        let to = match &self.canvas {
            None => stroke(&edit.to, "to", self.tolerance)?,
            Some(canvas) => {
                let places: Vec<DVec3> = from.knots().iter().map(|knot| knot.position).collect();
                let drawn = canvas.stroke(&edit.to, "to", self.tolerance)?;
                let samples = drawn.on_plane(&canvas.plane(&places)?).map_err(|fault| format!("the to: {fault}"))?;
                smooth(&samples, "to")?
            }
        };
        let iterations = edit.iterations.unwrap_or(ITERATIONS).min(MOST_ITERATIONS);
        let solve = match edit.solve {
            SolveName::Arap => Solve::Arap(iterations),
            SolveName::Laplacian => Solve::Laplacian,
            SolveName::ScaleVectors => Solve::ScaleVectors,
        };
        at.stage.pull(world, rig, &at.before, [&from, &to], reach(edit)?, solve).map_err(|error| error.to_string())
    }

    fn silhouette(&self, at: &Standing) -> Result<Pulled, String> {
        let canvas =
            self.canvas.as_ref().ok_or("an outline is seen from somewhere; give the camera it is drawn over")?;
        let drawn = canvas.stroke(&self.edit.to, "to", self.tolerance)?;
        let reach = self.edit.distance.map(|distance| length(Some(distance), 0.0, "distance")).transpose()?;
        redraw::redraw(&at.surface(), &drawn, reach).map_err(|fault| fault.to_string())
    }

    fn relief(&self, at: &Standing) -> Result<Pulled, String> {
        let height = at.size * length(self.edit.height, HEIGHT, "height")?;
        let height = if self.edit.kind == KindName::Groove { -height } else { height };
        let width = at.size * length(self.edit.width, WIDTH, "width")?;
        at.stage.relief(&at.before, &self.from(at)?, height, width).map_err(|error| error.to_string())
    }

    /// A wave runs where the stroke lies at rest.
    fn wave(&self, scene: &Scene, at: &Standing) -> Result<Made, String> {
        let edit = self.edit;
        let laid = SurfaceStroke::lay(&self.from(at)?, &at.tree()?, 33).ok_or("there is no skin to draw on")?;
        let stage = Stage::new(&scene.rig, &Recipe::default()).map_err(|error| error.to_string())?;
        let mut workspace = Workspace::default();
        stage.resting(&mut workspace).deform(&Cpu::serial());
        let rest = at.stage.skin().points(&scene.rig, workspace.mesh());
        let along = laid.follow(at.stage.skin().triangles(), &rest).ok_or("there is no skin to draw on")?;
        Ok(Made {
            shape: EditShape::Wave {
                along: along.iter().map(|sample| sample.position).collect(),
                reach: length(edit.width, WIDTH, "width")?,
                crests: length(edit.crests, 3.0, "number of crests")?,
                frequency_hz: edit.frequency.unwrap_or(1.0),
            },
            maps: Vec::new(),
            moved: 0,
            farthest: 0.0,
        })
    }
}

fn reach(edit: &AskedEdit) -> Result<Reach, String> {
    let length = |value: f64, what: &str| {
        if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(format!("the {what} is {value}; give a length")) }
    };
    match (edit.rings, edit.distance, edit.geodesic) {
        (None, Some(distance), None) => Ok(Reach::Distance(length(distance, "distance")?)),
        (None, None, Some(geodesic)) => Ok(Reach::Geodesic(length(geodesic, "geodesic distance")?)),
        (rings, None, None) => Ok(Reach::Rings(rings.unwrap_or(RINGS))),
        _ => Err("rings, distance and geodesic set the same thing; give only one of them".to_owned()),
    }
}

/// World transforms and skin of the pose that an edit is made at.
fn posed(scene: &Scene, recipe: &Recipe, edit: &AskedEdit) -> Result<(WorldPose, DeformedMesh), String> {
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
fn map_files(scene: &Scene, edit: &AskedEdit, made: &Made) -> Result<Vec<(String, MapFile)>, String> {
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

fn spec(edit: &AskedEdit, shape: EditShape) -> Result<EditSpec, String> {
    let mut spec = EditSpec::new(shape);
    if let (EditShape::Wave { .. }, Some(height)) = (&spec.shape, edit.height) {
        spec.amount = KeyCurve::constant(height);
    }
    if let Some(key) = &edit.key {
        key.check().map_err(|fault| fault.to_string())?;
        let amount = spec.amount.at(key.time);
        spec.amount = key.curve(amount).ok_or("its key is no time")?;
    }
    spec.stiffness = edit.stiffness.unwrap_or(spec.stiffness);
    if !(spec.stiffness.is_finite() && spec.stiffness >= 0.0) {
        return Err(format!("the stiffness is {}; give 0 or more", spec.stiffness));
    }
    spec.drive = match edit.drive {
        DriveName::Direct => Drive::Direct,
        DriveName::Springs => Drive::Springs,
    };
    Ok(spec)
}
