//! Surface edits as they are asked for, made: strokes on the skin of a pose, and where they should go; outlines redrawn; bulges,
//! grooves and waves along a stroke (EX 7). What comes out is maps and an entry of a recipe.
//!
//! World space at a pose; with a `camera` points are pixels (column, row, optionally seconds and pressure). `from` is drawn on the
//! skin, `to` is where it should go: through a camera, on the plane that faces it through `from`, or on a `plane`.

use crate::drawn::{Canvas, CharacterName, PlaneSpec, length, smooth, stroke};
use crate::ease::Ease;
use crate::redraw::{self, Surface};
use crate::screen::{CameraSpec, ScreenSample, depth_beyond, skin_under};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use sinew::recipe::{Drive, EditShape, EditSpec, KeyCurve};
use sinew::strokes::surface::SurfaceTree;
use sinew::strokes::{Reach, Stroke, SurfaceStroke};
use sinew::{Cpu, DeformedMesh, Recipe, Rig, Stage, Workspace, WorldPose};
use sinew_author::{EditStage, Pulled, Solve};
use std::sync::Arc;

/// Rings around a stroke that give way where an edit does not say.
const RINGS: usize = 4;
const ITERATIONS: usize = 20;
const MOST_ITERATIONS: usize = 1000;
/// Of bulges, grooves and waves, in sizes.
const WIDTH: f64 = 0.05;
const HEIGHT: f64 = 0.02;

/// An edit that is asked for, as files have it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// What its maps are called.
    pub name: String,
    /// The clip whose pose it is drawn at; the default transforms without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<String>,
    /// Seconds on the clip's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// What is done.
    #[serde(default)]
    pub kind: KindName,
    /// The one that is drawn on without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub character: Option<CharacterName>,
    /// What the strokes' pixels are seen through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<CameraSpec>,
    /// What `to` is drawn on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<PlaneSpec>,
    /// On the skin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Vec<f64>>,
    /// Where it should go; of a silhouette the new outline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<Vec<f64>>,
    /// Of a bulge, a groove or a wave, in sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<f64>,
    /// How far from the stroke it ends, in sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// Crests of a wave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crests: Option<f64>,
    /// How often a crest of a wave runs its own length, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<f64>,
    /// When it holds; always without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Ease>,
    /// How many rings of skin give way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<usize>,
    /// Or how far from the stroke skin gives way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    /// Or how far along the skin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geodesic: Option<f64>,
    /// How it does.
    #[serde(default)]
    pub solve: SolveName,
    /// Of that solver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// How far a sample may lie from the line that leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// How strongly it counts against others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stiffness: Option<f64>,
    /// What moves the skin there.
    #[serde(default)]
    pub drive: DriveName,
}

/// What an edit does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindName {
    /// Takes a line on the skin to another.
    #[default]
    Pull,
    /// Takes the outline to a line.
    Silhouette,
    /// Raises the skin along a line.
    Bulge,
    /// Lowers it.
    Groove,
    /// Lets a wave run along a line.
    Wave,
}

/// How skin between what is pulled and what stays gives way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolveName {
    /// As rigidly as possible.
    #[default]
    Arap,
    /// Smoothly.
    Laplacian,
    /// By its scale vectors.
    ScaleVectors,
}

/// What moves the skin to an edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveName {
    /// It is put there.
    #[default]
    Direct,
    /// Springs draw it there.
    Springs,
}

/// What an edit came to.
#[derive(Clone, Debug)]
pub struct Made {
    /// For a recipe.
    pub shape: EditShape,
    /// Names' endings and a value per vertex of the rig; a wave has none.
    pub maps: Vec<(&'static str, Vec<f32>)>,
    /// Nodes that it moves.
    pub moved: usize,
    /// How far at most, in sizes.
    pub farthest: f64,
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

/// Makes an edit on a rig as it stands: its bones, and its skin with all that the recipe does. In words why not.
pub fn make(rig: &Arc<Rig>, world: &WorldPose, mesh: &DeformedMesh, edit: &Edit) -> Result<Made, String> {
    if edit.name.is_empty() || edit.name.contains(['/', '\\', ':']) {
        return Err("give it a name without / \\ and :".to_owned());
    }
    let all = standing(rig, mesh, edit)?;
    let canvas = Canvas::of(edit.camera.as_ref(), edit.plane.as_ref())?;
    let tolerance = length(edit.tolerance, 0.0, "tolerance")?;
    let drawn = Drawn { edit, canvas, tolerance };
    let at = drawn.character(&all)?;
    let pulled = match edit.kind {
        KindName::Wave => return drawn.wave(rig, at),
        KindName::Silhouette => drawn.silhouette(at)?,
        KindName::Bulge | KindName::Groove => drawn.relief(at)?,
        KindName::Pull => drawn.pull(rig, world, at)?,
    };
    if pulled.points.iter().any(|p| !p.as_vec3().is_finite()) {
        return Err("the strokes move the skin too far away to be stored; draw them near the character".to_owned());
    }
    let changes = at.stage.encode(world, rig, &at.before, &pulled.points);
    let apart = || at.before.iter().zip(&pulled.points).map(|(a, b)| a.distance(*b));
    Ok(Made {
        // Maps are known by their names in lower case.
        shape: EditShape::Shape(vec![(0.0, edit.name.to_lowercase())]),
        maps: at.stage.maps(rig, &changes, &pulled.inside).into(),
        moved: apart().filter(|&d| d > 0.0).count(),
        farthest: apart().fold(0.0, f64::max) / at.size,
    })
}

/// The characters that an edit may be drawn on.
fn standing(rig: &Rig, mesh: &DeformedMesh, edit: &Edit) -> Result<Vec<Standing>, String> {
    let asked = edit.character.as_ref().map(|name| name.find(rig)).transpose()?;
    let standing = |character: usize| {
        let stage = EditStage::new(rig, character)?;
        let before = stage.skin().points(rig, mesh);
        Some(Standing { before, stage, size: rig.characters()[character].size })
    };
    let wanted = (0..rig.characters().len()).filter(|&character| asked.is_none_or(|asked| asked == character));
    Ok(wanted.filter_map(standing).collect())
}

/// The skin that an edit will move, before it is made: places in the world, each with how far inside it lies, 0…1.
pub fn region(rig: &Rig, mesh: &DeformedMesh, edit: &Edit) -> Result<Vec<(DVec3, f64)>, String> {
    let all = standing(rig, mesh, edit)?;
    let canvas = Canvas::of(edit.camera.as_ref(), edit.plane.as_ref())?;
    let drawn = Drawn { edit, canvas, tolerance: length(edit.tolerance, 0.0, "tolerance")? };
    let at = drawn.character(&all)?;
    let marked = at.stage.mark(&at.before, &drawn.from(at)?, reach(edit)?).map_err(|error| error.to_string())?;
    let shares = at.before.iter().copied().zip(marked.inside);
    Ok(shares.filter(|(_, share)| *share > 0.0).collect())
}

/// What was drawn, and through what.
struct Drawn<'a> {
    edit: &'a Edit,
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
                    let seen = |s: &ScreenSample| skin_under(&canvas.view, &tree, s.pixel, reach);
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
    fn wave(&self, rig: &Arc<Rig>, at: &Standing) -> Result<Made, String> {
        let edit = self.edit;
        let laid = SurfaceStroke::lay(&self.from(at)?, &at.tree()?, 33).ok_or("there is no skin to draw on")?;
        let stage = Stage::new(rig, &Recipe::default()).map_err(|error| error.to_string())?;
        let mut workspace = Workspace::default();
        stage.resting(&mut workspace).deform(&Cpu::serial());
        let rest = at.stage.skin().points(rig, workspace.mesh());
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

fn reach(edit: &Edit) -> Result<Reach, String> {
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

/// The entry of a recipe that plays it.
pub fn spec(edit: &Edit, shape: EditShape) -> Result<EditSpec, String> {
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
