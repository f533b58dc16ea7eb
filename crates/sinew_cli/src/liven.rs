//! `sinew liven FILE -o OUT.glb`: a recipe that suits the character, judged, and baked.

use crate::args::Input;
use crate::bake::{BakingArgs, Order, Written};
use crate::fault::Fault;
use crate::load::{load_original, require_skin};
use crate::output::{Destination, text_to_stdout, to_stdout};
use crate::played::chosen_clips;
use crate::progress::Progress;
use crate::recipe::LoadedRecipe;
use crate::talk::Talk;
use crate::text::{count, wrap};
use clap::Args as ClapArgs;
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use sinew::MotionSettings;
use sinew::recipe::Strength;
use sinew_bake::report::Report;
use sinew_gltf::spring_nodes;
use sinew_liven::account::PartAccount;
use sinew_liven::judge::{ClipFigures, PartFigures};
use sinew_liven::plan::Lowered;
use sinew_liven::words::UnknownPart;
use sinew_liven::{Account, Livened, Parts, PlayedClip, Style, Wishes, liven};
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, ClapArgs)]
pub struct LivenArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    input: Input,

    /// Output file (.glb).
    #[arg(long, short, value_name = "OUT.glb")]
    output: PathBuf,

    /// The manner of moving.
    #[arg(long, value_name = "STYLE", default_value = "lively", value_parser = style())]
    style: Style,

    /// How far soft parts move, as a share of the character's size, such as 4%; everything else is scaled with it [default: the
    /// style's].
    #[arg(long, value_name = "S")]
    strength: Option<Strength>,

    /// Only these parts, such as tail,ears; body is the character as a whole.
    #[arg(long, value_name = "PARTS", value_parser = parts)]
    only: Vec<Parts>,

    /// Nothing for these parts, such as face.
    #[arg(long, value_name = "PARTS", value_parser = parts)]
    keep: Vec<Parts>,

    /// Also write the recipe, with its reasons, as a start for your own.
    #[arg(long, value_name = "R.sinew.toml")]
    recipe_out: Option<PathBuf>,

    /// Also take the clips of another file, such as a walk made for another character or a library of animations
    /// without meshes: bones are matched by name (prefixes such as mixamorig: do not count) and retargeted where the
    /// two are built differently. Can be repeated.
    #[arg(long, value_name = "OTHER.glb", value_parser = OsStringValueParser::new().map(Input::from))]
    animations: Vec<Input>,

    #[command(flatten)]
    baking: BakingArgs,
}

/// A style of the list, by its name.
fn style() -> impl TypedValueParser<Value = Style> {
    let names = Style::ALL.iter().map(|style| PossibleValue::new(style.name()).help(style.about()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Style>())
}

fn parts(given: &str) -> Result<Parts, UnknownPart> {
    Parts::parse(given)
}

fn joined(parts: &[Parts]) -> Parts {
    let mut all = Parts::default();
    parts.iter().for_each(|parts| all.join(parts.clone()));
    all
}

pub fn run(options: &LivenArgs, talk: &Talk) -> Result<(), Fault> {
    let start = Instant::now();
    let LivenArgs { input, output, baking, .. } = options;
    if output.as_os_str() == "-" {
        return Err(Fault::Usage("the file cannot go to stdout, where the account goes; name a file with -o".into()));
    }
    Destination::new(output, baking.force).check()?;
    let recipe_out = options.recipe_out.as_ref().map(|path| Destination::new(path, baking.force));
    recipe_out.as_ref().map_or(Ok(()), Destination::check)?;
    let scene = load_original(input, &[], &options.animations)?;
    talk.warnings(&scene.warnings);
    require_skin(&scene)?;
    let chosen = chosen_clips(&scene, &baking.clips)?;
    if chosen.is_empty() {
        let fault = "there is no clip: effects add to motion, and nothing moves; add an animation to the file, or \
                     take those of another by --animations";
        return Err(Fault::in_file(&scene.name, fault));
    }
    let skeleton = scene.rig.skeleton();
    let sprung: Vec<_> = (scene.document.iter().flat_map(|document| spring_nodes(&document.json)))
        .filter_map(|node| skeleton.bone_of_node(node))
        .collect();
    let clips: Vec<PlayedClip<'_>> = scene.clips.iter().map(|clip| (clip, MotionSettings::default())).collect();
    let wishes = Wishes {
        style: options.style,
        strength: options.strength,
        only: joined(&options.only),
        keep: joined(&options.keep),
    };
    let bar = Progress::new(talk, "trying", 0);
    let made = liven(&scene.rig, &clips, &chosen, &sprung, &wishes, &|done, total| bar.tell("trying", done, total));
    drop(bar);
    let Livened { recipe, account, solved } = made.map_err(|error| Fault::in_file(&scene.name, error))?;
    let recipe = LoadedRecipe::made(format!("liven {}", options.style), recipe);
    let order = Order { input, output, baking, scene: &scene, recipe: &recipe, backend: None };
    let written = order.write(&chosen, solved, options.recipe_out.as_deref(), talk)?;
    if baking.json {
        let mut report = written.account(&order, start).json();
        report["liven"] = told(&account, options.style, &recipe.text());
        return to_stdout(|out| writeln!(out, "{report:#}"));
    }
    let lines = lines(options, &account, &written, start);
    text_to_stdout(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}

/// The account for people.
fn lines(options: &LivenArgs, account: &Account, written: &Written, start: Instant) -> Vec<String> {
    let report: &Report = &written.baked.report;
    let error = report.groups.iter().map(|group| group.error.largest / group.size).fold(0.0, f64::max);
    let mut lines = vec![format!("{}: {}", options.output.display(), options.style)];
    lines.extend(account.lines().iter().flat_map(|line| wrap(line, if line.starts_with(' ') { 4 } else { 2 })));
    lines.push(format!(
        "  baked {} into {}, error {:.3} % of the size at most, {:.1} s",
        count(report.clips.len(), "clip", "clips"),
        count(report.most_targets(), "morph target", "morph targets"),
        100.0 * error,
        start.elapsed().as_secs_f64()
    ));
    if let Some(path) = &options.recipe_out {
        lines.push(format!("  recipe: {}", path.display()));
    }
    lines
}

/// The account for programs.
fn told(account: &Account, style: Style, recipe: &str) -> Value {
    let lowered = |lowered: &Lowered| json!({"gate": lowered.gate, "clip": lowered.clip, "left": lowered.left, "words": lowered.words});
    let part = |part: &PartAccount| {
        json!({
            "part": part.moved.name(),
            "on": part.is_on,
            "effects": part.effects,
            "strength": part.strength,
            "reasons": part.reasons,
            "lowered": part.lowered.iter().map(lowered).collect::<Vec<_>>(),
        })
    };
    let figures = |part: &PartFigures| {
        json!({
            "part": part.role.name(),
            "strength": part.strength,
            "motion": part.motion,
            "strain": part.strain,
            "worst_strain": part.worst_strain,
        })
    };
    let clip = |clip: &ClipFigures| {
        json!({
            "name": clip.name,
            "strength": clip.strength,
            "planted": clip.is_planted,
            "parts": clip.parts.iter().map(figures).collect::<Vec<_>>(),
        })
    };
    json!({
        "style": style.name(),
        "parts": account.parts.iter().map(part).collect::<Vec<_>>(),
        "rigid": account.rigid,
        "remarks": account.remarks,
        "clips": account.clips.iter().map(clip).collect::<Vec<_>>(),
        "recipe": recipe,
    })
}
