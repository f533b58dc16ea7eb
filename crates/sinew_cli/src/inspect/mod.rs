//! `sinew inspect FILE`: what a file holds, gathered once and written as JSON or as text.

mod anatomy;
mod text;

use crate::args::InspectArgs;
use crate::fault::Fault;
use crate::load::{Scene, load};
use crate::output;
use crate::recipe::LoadedRecipe;
use crate::talk::Talk;
use anatomy::AnatomyReport;
use serde::Serialize;
use sinew::attach::hanging::{AttachBy, continuity};
use sinew::graph::{FittedCone, GraphError};
use sinew::hierarchy::{Follow, Reason};
use sinew::recipe::{Literal, Normals};
use sinew::rig::{Part, PartKind};
use sinew::{Clip, Hierarchy, Interpolation, LoopVerdict, Motion, Recipe, Rig, Stage, Warning};
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn run(options: &InspectArgs, talk: &Talk) -> Result<(), Fault> {
    let recipe = LoadedRecipe::asked(&options.recipe)?;
    let scene = load(&options.input, &recipe.maps, &options.recipe.animations)?;
    recipe.idle_words(&scene).iter().for_each(|words| talk.note(words));
    let mut report = Report::new(&scene, &recipe)?;
    report.anatomy = options.anatomy.then(|| AnatomyReport::new(&scene));
    if options.json {
        output::to_stdout(|out| {
            serde_json::to_writer_pretty(&mut *out, &report)?;
            writeln!(out)
        })
    } else {
        output::text_to_stdout(|out| text::print(&report, options.all, out))
    }
}

/// The whole report. Field names are the JSON keys.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    characters: Vec<CharacterReport<'a>>,
    meshes: Vec<MeshReport<'a>>,
    bones: Vec<BoneReport<'a>>,
    /// Bones that follow another one than their parent.
    follows: Vec<FollowReport<'a>>,
    clips: Vec<ClipReport<'a>>,
    maps: Vec<MapReport<'a>>,
    /// Of the recipe given.
    cones: Vec<ConeReport>,
    /// Where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    anatomy: Option<AnatomyReport<'a>>,
    warnings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct CharacterReport<'a> {
    name: &'a str,
    /// Diagonal of the bounding box at the nodes' default transforms.
    size: f64,
    bounds: Bounds,
    control_points: usize,
    /// Control points that lie on another one without being joined to it.
    coincident_points: usize,
    /// Nodes of its meshes.
    meshes: Vec<usize>,
    surface: Surface,
    /// The widest gap between the places where neighbours hang on the bones, in sizes.
    attachment_gap: Option<f64>,
}

#[derive(Serialize)]
struct Bounds {
    min: [f64; 3],
    max: [f64; 3],
}

#[derive(Serialize)]
struct Surface {
    closed: bool,
    edges: usize,
    boundary_edges: usize,
    non_manifold_edges: usize,
    flipped_edges: usize,
    degenerate_triangles: usize,
}

#[derive(Serialize)]
struct MeshReport<'a> {
    node: usize,
    name: &'a str,
    kind: &'static str,
    character: usize,
    primitives: usize,
    vertices: usize,
    control_points: usize,
    triangles: usize,
    /// Most bones that move one vertex.
    influences: usize,
    morph_targets: usize,
}

#[derive(Serialize)]
struct BoneReport<'a> {
    node: usize,
    name: &'a str,
    parent: Option<usize>,
    depth: usize,
    /// Whether some skin names it.
    joint: bool,
    /// Whether some clip moves it.
    animated: bool,
}

/// A bone that effects see below another one than its parent in the file.
#[derive(Serialize)]
struct FollowReport<'a> {
    node: usize,
    name: &'a str,
    follows: usize,
    followed: &'a str,
    /// Name of its parent in the file.
    in_file: Option<&'a str>,
    /// `skin`: they share skin; `touch`: its skin touches what the other one moves; `recipe`: it was told to.
    reason: &'static str,
    /// How much of what it shares or touches is the other bone's.
    share: Option<f64>,
    /// How far it strays in the frame of what it follows, and of its parent in the file: root mean square over the clips, in
    /// sizes.
    strays: Option<f64>,
    strays_in_file: Option<f64>,
}

#[derive(Serialize)]
struct ClipReport<'a> {
    index: usize,
    name: &'a str,
    /// First and last key, in seconds.
    start: f64,
    end: f64,
    length: f64,
    interpolations: Vec<&'static str>,
    loops: bool,
    loop_kind: &'static str,
    /// Why it loops or not, in a sentence.
    loop_note: String,
    period: Option<f64>,
    /// Seconds of each of the three boxes that smooth velocities: `smoothing` in a recipe.
    smoothing: f64,
    key_spacing: Option<f64>,
    moving_bones: usize,
}

#[derive(Serialize)]
struct MapReport<'a> {
    name: &'a str,
    min: f32,
    max: f32,
    /// Nodes of the meshes that carry it.
    meshes: Vec<usize>,
}

/// The cone an effect is filtered by, fitted or given.
#[derive(Serialize)]
struct ConeReport {
    effect: &'static str,
    bone: String,
    /// Towards the apex, in the bone's frame as all of it.
    axis: [f64; 3],
    apex: [f64; 3],
    /// Radians.
    half_angle: f64,
    base_radius: f64,
    /// Root mean square and largest distance of the skin from it, in sizes of the region; `null` when given by hand.
    fit_error: Option<f64>,
    largest_fit_error: Option<f64>,
    /// The same as a line of the effect's section in a recipe.
    recipe: String,
}

/// A warning, as every JSON output writes it.
#[derive(Serialize)]
pub struct Finding<'a> {
    code: &'a str,
    subject: &'a str,
    message: &'a str,
    remedy: &'a str,
}

impl<'a> From<&'a Warning> for Finding<'a> {
    fn from(warning: &'a Warning) -> Self {
        let Warning { code, subject, message, remedy } = warning;
        Self { code, subject, message, remedy }
    }
}

impl<'a> Report<'a> {
    fn new(scene: &'a Scene, recipe: &LoadedRecipe) -> Result<Self, Fault> {
        let rig = &scene.rig;
        let stage =
            bare(rig, recipe).map_err(|error| Fault::in_file(format!("{} on {}", recipe.file, scene.name), error))?;
        Ok(Self {
            file: &scene.name,
            characters: characters(rig),
            meshes: rig.parts().iter().map(|part| mesh(rig, part)).collect(),
            bones: bones(scene),
            follows: follows(rig, stage.hierarchy()),
            clips: clips(scene, recipe)?,
            maps: maps(scene),
            cones: cones(&stage),
            anatomy: None,
            warnings: scene.warnings.iter().map(Finding::from).collect(),
        })
    }
}

fn characters(rig: &Rig) -> Vec<CharacterReport<'_>> {
    let mut reports = Vec::with_capacity(rig.characters().len());
    for (index, character) in rig.characters().iter().enumerate() {
        let surface = character.topology;
        reports.push(CharacterReport {
            name: &character.name,
            size: character.size,
            bounds: Bounds { min: character.bounds[0].to_array(), max: character.bounds[1].to_array() },
            control_points: character.points,
            coincident_points: character.coincident_points,
            meshes: rig.parts().iter().filter(|part| part.character == index).map(|part| part.node).collect(),
            surface: Surface {
                closed: surface.is_closed(),
                edges: surface.edges,
                boundary_edges: surface.boundary_edges,
                non_manifold_edges: surface.non_manifold_edges,
                flipped_edges: surface.flipped_edges,
                degenerate_triangles: surface.degenerate_triangles,
            },
            attachment_gap: continuity(rig, index, AttachBy::default()),
        });
    }
    reports
}

fn mesh<'a>(rig: &Rig, part: &'a Part) -> MeshReport<'a> {
    let mut points: Vec<u32> = part
        .primitives
        .iter()
        .flat_map(|primitive| &rig.point_of_vertex()[primitive.vertices.clone()])
        .copied()
        .collect();
    let vertices = points.len();
    points.sort_unstable();
    points.dedup();
    MeshReport {
        node: part.node,
        name: &part.name,
        kind: match part.kind {
            PartKind::Skinned => "skinned",
            PartKind::Rider => "rider",
        },
        character: part.character,
        primitives: part.primitives.len(),
        vertices,
        control_points: points.len(),
        triangles: part.primitives.iter().map(|primitive| primitive.triangles.len()).sum(),
        influences: points.iter().map(|&slot| rig.influences(slot as usize).count()).max().unwrap_or(0),
        morph_targets: part.morph_weights.len(),
    }
}

fn bones(scene: &Scene) -> Vec<BoneReport<'_>> {
    let skeleton = scene.rig.skeleton();
    let mut is_joint = vec![false; skeleton.len()];
    for joint in scene.raw.skins.iter().flat_map(|skin| &skin.joints) {
        if let Some(flag) = is_joint.get_mut(joint.bone) {
            *flag = true;
        }
    }
    let mut is_animated = vec![false; skeleton.len()];
    for &node in &scene.raw.animated {
        if let Some(flag) = is_animated.get_mut(node) {
            *flag = true;
        }
    }
    let bones = (0..skeleton.len()).filter_map(|node| Some((node, skeleton.bone_of_node(node)?)));
    bones
        .map(|(node, bone)| BoneReport {
            node,
            name: skeleton.name(bone),
            parent: skeleton.parent(bone).map(|parent| skeleton.node(parent)),
            depth: skeleton.depth(bone) as usize,
            joint: is_joint[node],
            animated: is_animated[node],
        })
        .collect()
}

fn clips<'a>(scene: &'a Scene, recipe: &LoadedRecipe) -> Result<Vec<ClipReport<'a>>, Fault> {
    let rig = &scene.rig;
    let mut reports = Vec::with_capacity(scene.clips.len());
    for (index, clip) in scene.clips.iter().enumerate() {
        let settings = recipe.motion(clip);
        let motion =
            Motion::new(rig.puppet(), clip, &settings, &[]).map_err(|error| Fault::in_file(&scene.name, error))?;
        let found = motion.report();
        reports.push(ClipReport {
            index,
            name: &clip.name,
            start: found.start,
            end: found.last_key,
            length: found.last_key - found.start,
            interpolations: interpolations(clip),
            loops: found.period.is_some(),
            loop_kind: loop_kind(&found.verdict),
            loop_note: found.verdict.to_string(),
            period: found.period,
            smoothing: found.smoothing_box,
            key_spacing: found.key_spacing,
            moving_bones: found.moving_bones,
        });
    }
    Ok(reports)
}

/// The kinds of interpolation a clip uses, as glTF writes them.
fn interpolations(clip: &Clip) -> Vec<&'static str> {
    let used = clip.tracks.iter().flat_map(|track| {
        [
            track.translation.as_ref().map(|curve| curve.interpolation()),
            track.rotation.as_ref().map(|curve| curve.interpolation()),
            track.scale.as_ref().map(|curve| curve.interpolation()),
            track.morph.as_ref().map(|curve| curve.interpolation()),
        ]
    });
    let mut names: Vec<_> = used
        .flatten()
        .map(|interpolation| match interpolation {
            Interpolation::Linear => "LINEAR",
            Interpolation::Step => "STEP",
            Interpolation::CubicSpline => "CUBICSPLINE",
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn loop_kind(verdict: &LoopVerdict) -> &'static str {
    match verdict {
        LoopVerdict::Pose => "pose",
        LoopVerdict::Closed { .. } => "closed",
        LoopVerdict::MissingClosingKey { .. } => "missing-closing-key",
        LoopVerdict::Travelling { .. } => "travelling",
        LoopVerdict::Forced { .. } => "forced",
        LoopVerdict::NotALoop { .. } => "not-a-loop",
    }
}

/// A recipe's tree and the cones of its effects. Nothing else of the recipe is built: it may take long.
fn bare(rig: &Arc<Rig>, recipe: &LoadedRecipe) -> Result<Stage, GraphError> {
    let Recipe { effects, riders, hierarchy, .. } = recipe.recipe().clone();
    let effects = effects.into_iter().filter(|effect| effect.cone.is_some()).collect();
    let recipe = Recipe { effects, riders, hierarchy, normals: Normals::Engine, ..Recipe::default() };
    Stage::new(rig, &recipe.without_strength())
}

fn follows<'a>(rig: &'a Rig, hierarchy: &Hierarchy) -> Vec<FollowReport<'a>> {
    let skeleton = rig.skeleton();
    let report = |&Follow { bone, parent, reason }: &Follow| {
        let (reason, evidence) = match reason {
            Reason::Skin(evidence) => ("skin", Some(evidence)),
            Reason::Touch(evidence) => ("touch", Some(evidence)),
            Reason::Told => ("recipe", None),
        };
        FollowReport {
            node: skeleton.node(bone),
            name: skeleton.name(bone),
            follows: skeleton.node(parent),
            followed: skeleton.name(parent),
            in_file: skeleton.parent(bone).map(|parent| skeleton.name(parent)),
            reason,
            share: evidence.map(|evidence| evidence.share),
            strays: evidence.map(|evidence| evidence.strays),
            strays_in_file: evidence.map(|evidence| evidence.strays_in_file),
        }
    };
    hierarchy.follows().iter().map(report).collect()
}

fn cones(stage: &Stage) -> Vec<ConeReport> {
    let report = |(effect, fitted): (&'static str, &FittedCone)| ConeReport {
        effect,
        bone: fitted.bone.clone(),
        axis: fitted.cone.axis().to_array(),
        apex: fitted.cone.apex().to_array(),
        half_angle: fitted.cone.half_angle(),
        base_radius: fitted.cone.base_radius(),
        fit_error: fitted.residual.map(|(rms, _)| rms),
        largest_fit_error: fitted.residual.map(|(_, largest)| largest),
        recipe: format!("cone = {}", Literal::from(&fitted.spec())),
    };
    stage.cones().map(report).collect()
}

fn maps(scene: &Scene) -> Vec<MapReport<'_>> {
    let mut maps: BTreeMap<&str, MapReport<'_>> = BTreeMap::new();
    for mesh in &scene.raw.meshes {
        for (name, values) in mesh.primitives.iter().flat_map(|primitive| &primitive.maps) {
            let empty = MapReport { name, min: f32::INFINITY, max: f32::NEG_INFINITY, meshes: Vec::new() };
            let map = maps.entry(name).or_insert(empty);
            for &value in values {
                map.min = map.min.min(value);
                map.max = map.max.max(value);
            }
            if map.meshes.last() != Some(&mesh.node) {
                map.meshes.push(mesh.node);
            }
        }
    }
    maps.into_values().collect()
}
