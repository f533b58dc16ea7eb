//! `sinew check FILE`: how good a character is in motion, measured, and held against gates where there are any.

mod against_base;
mod gate;
mod json;
mod text;

use crate::args::{Input, RecipeArgs, StrengthArgs, rate};
use crate::fault::Fault;
use crate::load::{Scene, load, load_original};
use crate::output;
use crate::played::chosen_clips;
use crate::progress::Progress;
use crate::recipe::{LoadedRecipe, Played};
use crate::talk::Talk;
use crate::text::quoted;
use clap::Args as ClapArgs;
use clap::builder::{OsStringValueParser, TypedValueParser};
use gate::{Gate, Outcome};
use sinew::text::wildcard;
use sinew_bake::engine::{ENGINES, Engine};
use sinew_check::shape::Piece;
use sinew_check::surface::Enclosure;
use sinew_check::weights::{WeightReport, weights};
use sinew_check::{Checker, ClipReport, Given};

#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    input: Input,

    #[command(flatten)]
    recipe: RecipeArgs,

    #[command(flatten)]
    strength: StrengthArgs,

    /// A clip, by name or by number from 0; can be repeated [default: all].
    #[arg(long = "clip", value_name = "NAME|N|all")]
    clips: Vec<String>,

    /// Frames per second to measure at.
    #[arg(long, value_name = "F", default_value = "60", value_parser = rate)]
    fps: f64,

    /// A measurement and its limit, such as seam=0.1% or flips=0; exit status 3 if it is exceeded. Can be repeated.
    /// Known: seam, kink, pop, teleports, noise, volume, flips, collapsed, displacement, cracks, weights,
    /// influences, engines, warnings; and, with a recipe, what effects change against the same frame without them: strain,
    /// worst-strain, gap, rigid, slip, ground, tremble, crossings, penetration, thinning, jolt. Those have default limits and
    /// are always on; NAME=off switches one off.
    #[arg(long = "gate", value_name = "NAME=LIMIT", value_parser = Gate::parse)]
    gates: Vec<Gate>,

    /// A mesh or bone whose pieces must not bend, such as "*Sword*". Can be repeated.
    #[arg(long, value_name = "NAME")]
    rigid: Vec<String>,

    /// Write JSON with everything that was measured.
    #[arg(long)]
    json: bool,
}

/// Everything measured.
struct Report<'a> {
    scene: &'a Scene,
    /// The recipe, as the user named it; empty without one.
    recipe: &'a str,
    has_effects: bool,
    fps: f64,
    weights: Vec<WeightReport>,
    enclosures: &'a [Enclosure],
    /// Vertices on others at rest.
    coincident: usize,
    pieces: &'a [Piece],
    clips: Vec<ClipReport>,
    /// What each engine cannot play.
    engines: Vec<(&'static Engine, Vec<String>)>,
}

pub fn run(options: &CheckArgs, talk: &Talk) -> Result<(), Fault> {
    let mut recipe = LoadedRecipe::asked(&options.recipe)?.with_strength(&options.strength)?;
    // With a recipe, effects come from it alone; without one, the file is measured with what it holds.
    let animations = &options.recipe.animations;
    let scene = match recipe.file.is_empty() {
        true => load(&options.input, &[], animations)?,
        false => load_original(&options.input, &recipe.maps, animations)?,
    };
    recipe.idle_words(&scene).iter().for_each(|words| talk.note(words));
    let culprit =
        if recipe.file.is_empty() { scene.name.clone() } else { format!("{} on {}", recipe.file, scene.name) };
    let chosen = chosen_clips(&scene, &options.clips)?;
    recipe.solve(&scene, &Played { clips: &chosen, ..Played::default() }, talk)?;
    let in_file = |error| Fault::in_file(&culprit, error);
    let checker = Checker::new(&scene.rig, recipe.recipe()).map_err(in_file)?;
    if checker.is_crowded() {
        talk.note(
            "so many triangles lie at one place that crossings and gaps are not looked for; remove doubled faces",
        );
    }
    let frames = |index: &usize| {
        let (start, end) = scene.clips[*index].span().unwrap_or_default();
        ((end - start) * options.fps).clamp(0.0, 1e9) as usize + 1
    };
    let progress = Progress::new(talk, "checking", chosen.iter().map(frames).sum());
    let given = Given { rigid: rigid_pieces(&checker, &options.rigid, talk), ..Given::default() };
    let mut clips = Vec::with_capacity(chosen.len());
    for &index in &chosen {
        let clip = &scene.clips[index];
        let motion = recipe.motion(clip);
        let own = if recipe.has_own_gains() {
            Some(checker.with_recipe(recipe.recipe_of(index)).map_err(in_file)?)
        } else {
            None
        };
        let measured = own
            .as_ref()
            .unwrap_or(&checker)
            .clip_given(clip, &motion, options.fps, &given, &|more| progress.advance_by(more));
        clips.push(measured.map_err(in_file)?);
    }
    drop(progress);
    let report = Report {
        scene: &scene,
        recipe: &recipe.file,
        has_effects: checker.has_effects(),
        fps: options.fps,
        weights: weights(&scene.raw),
        enclosures: checker.enclosures(),
        coincident: checker.coincident(),
        pieces: checker.pieces(),
        clips,
        engines: ENGINES.iter().map(|engine| (engine, objections(engine, &scene))).collect(),
    };
    let gates = Gate::all(&options.gates, &report);
    let outcomes: Vec<Outcome> = gates.iter().filter_map(|gate| gate.judge(&report)).collect();
    if options.json {
        output::to_stdout(|out| {
            serde_json::to_writer_pretty(&mut *out, &json::report(&report, &outcomes))?;
            writeln!(out)
        })?;
    } else {
        output::text_to_stdout(|out| text::tell(&report, &outcomes, out))?;
    }
    if outcomes.iter().all(|outcome| outcome.passed) { Ok(()) } else { Err(Fault::Findings) }
}

/// Pieces of a mesh or about a bone that is called so.
fn rigid_pieces(checker: &Checker, names: &[String], talk: &Talk) -> Vec<usize> {
    let matches = |name: &str, piece: &Piece| wildcard(name, &piece.mesh) || wildcard(name, &piece.bone);
    for name in names.iter().filter(|name| !checker.pieces().iter().any(|piece| matches(name, piece))) {
        talk.note(&format!("--rigid {}: no mesh or bone with skin is called so", quoted(name)));
    }
    let is_rigid = |piece: &Piece| names.iter().any(|name| matches(name, piece));
    checker.pieces().iter().enumerate().filter(|(_, piece)| is_rigid(piece)).map(|(index, _)| index).collect()
}

/// What an engine cannot play of the character, its own morph targets included.
fn objections(engine: &Engine, scene: &Scene) -> Vec<String> {
    let mut objections = engine.objections(&scene.rig);
    let found = scene.rig.parts().iter().map(|part| part.morph_weights.len()).max().unwrap_or(0);
    if let Some(most) = engine.max_targets.filter(|&most| found > most) {
        objections.push(format!(
            "{} takes {most} morph targets per mesh, but one has {found}: drop some, or bake with a larger tolerance",
            engine.title
        ));
    }
    objections
}
