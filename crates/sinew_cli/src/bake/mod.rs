//! `sinew bake FILE -o OUT.glb`: effects as morph targets and weight curves that any engine plays.

mod cache;
pub mod report;

use crate::args::{Input, LoopName, RecipeArgs, StrengthArgs, rate};
use crate::fault::Fault;
use crate::gpu::Frames;
use crate::load::{Scene, load_original, require_skin};
use crate::output::{Destination, Outputs, to_stdout};
use crate::played::chosen_clips;
use crate::progress::Progress;
use crate::recipe::LoadedRecipe;
use crate::talk::Talk;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args as ClapArgs, ValueEnum};
use sinew::Backend;
use sinew::strength::Solved;
use sinew_bake::engine::{ENGINES, Engine};
use sinew_bake::{BakeFailure, Options, Tolerance};
use sinew_export::{BakedFile, ExportError, Oversize, Packing, Shipping, bake_clips, bake_shipped};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, ClapArgs)]
pub struct BakeArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    input: Input,

    /// Output file (.glb), or - for stdout; with --format, a point cache or (obj-sequence) a folder.
    #[arg(long, short, value_name = "OUT.glb")]
    output: PathBuf,

    #[command(flatten)]
    recipe: RecipeArgs,

    #[command(flatten)]
    strength: StrengthArgs,

    #[command(flatten)]
    baking: BakingArgs,

    /// Whether clips loop, in place of what the recipe says; auto decides from their keys.
    #[arg(long = "loop", value_name = "yes|no|auto")]
    looping: Option<LoopName>,

    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "glb")]
    format: BakeFormat,

    /// Make frames on the GPU; what is made of them is computed as always.
    #[arg(long)]
    gpu: bool,
}

/// How a bake is made: shared by all commands that end in one.
#[derive(Debug, ClapArgs)]
pub struct BakingArgs {
    /// A clip, by name or by number from 0; can be repeated [default: all].
    #[arg(long = "clip", value_name = "NAME|N|all")]
    pub clips: Vec<String>,

    /// Samples per second; errors are also measured half-way between samples.
    #[arg(long, value_name = "F", default_value = "60", value_parser = rate)]
    pub fps: f64,

    /// How far any vertex may end up from where the effects put it: a share of the character's size (0.1%) or a length
    /// (2mm, 0.5cm, 0.01u for scene units).
    #[arg(long, value_name = "T", default_value = "0.1%")]
    tolerance: Tolerance,

    /// Maximum number of morph targets per mesh.
    #[arg(long, value_name = "K")]
    max_targets: Option<usize>,

    /// Maximum size of the file: 3MB, 800kB, 2.5MiB or a number of bytes. If the tolerance asks for more, nothing is
    /// written; with --best-effort, the smallest error that fits is looked for.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,

    /// Pack what is added; for players that read EXT_meshopt_compression (three.js, Babylon.js, Unity with its package).
    #[arg(long, value_name = "meshopt")]
    compress: Option<CompressName>,

    /// The engine that will play the file; its limits are respected.
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    target: Option<&'static Engine>,

    /// Write the file even if the tolerance is not met.
    #[arg(long)]
    best_effort: bool,

    /// Write the report as JSON.
    #[arg(long)]
    pub json: bool,

    /// Overwrite the output if it exists.
    #[arg(long)]
    pub force: bool,
}

/// How what is added is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompressName {
    /// EXT_meshopt_compression.
    Meshopt,
}

/// What a bake is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BakeFormat {
    /// The original file with morph targets added.
    Glb,
    /// A PC2 point cache of one clip, with the mesh as OBJ beside it.
    Pc2,
    /// The same in MDD format.
    Mdd,
    /// A folder of OBJ files, one per frame of one clip.
    ObjSequence,
}

fn engine(given: &str) -> Result<&'static Engine, String> {
    let known: Vec<_> = ENGINES.iter().map(|engine| engine.name).collect();
    Engine::named(given).ok_or_else(|| format!("known engines: {}", known.join(", ")))
}

/// Bytes.
fn size(given: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 7] =
        [("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];
    let text = given.trim();
    let ends = |unit: &str| text.len() >= unit.len() && text.is_char_boundary(text.len() - unit.len());
    let matches = |unit: &str| ends(unit) && text[text.len() - unit.len()..].eq_ignore_ascii_case(unit);
    let (number, factor) = UNITS
        .iter()
        .find(|(unit, _)| matches(unit))
        .map_or((text, 1.0), |(unit, factor)| (&text[..text.len() - unit.len()], *factor));
    let bytes = number.trim().parse::<f64>().ok().map(|number| number * factor);
    let bytes = bytes.filter(|bytes| (1.0..=u64::MAX as f64).contains(bytes));
    bytes.map(|bytes| bytes as u64).ok_or_else(|| "give a size such as 3MB, 800kB, 2.5MiB or 3000000".to_owned())
}

pub fn run(options: &BakeArgs, talk: &Talk) -> Result<(), Fault> {
    let start = Instant::now();
    let baking = &options.baking;
    let recipe = LoadedRecipe::asked_or(&options.recipe, "lively")?;
    let recipe = recipe.with_strength(&options.strength)?.with_looping(options.looping);
    let to_stdout_too = options.output.as_os_str() == "-";
    if to_stdout_too && (baking.json || options.format != BakeFormat::Glb) {
        let fault = "only a .glb without a report can go to stdout; name a file with -o, or drop --json and --format";
        return Err(Fault::Usage(fault.to_owned()));
    }
    let destination = Destination::new(&options.output, baking.force);
    if options.format != BakeFormat::ObjSequence {
        destination.check()?;
    }
    let scene = load_original(&options.input, &recipe.maps, &options.recipe.animations)?;
    talk.warnings(&scene.warnings);
    require_skin(&scene)?;
    recipe.idle_words(&scene).iter().for_each(|words| talk.note(words));
    let chosen = chosen_clips(&scene, &baking.clips)?;
    let frames = Frames::asked(options.gpu, talk)?;
    if options.format != BakeFormat::Glb {
        if baking.max_size.is_some() || baking.compress.is_some() {
            return Err(Fault::Usage("--max-size and --compress are for .glb files, not for other formats".to_owned()));
        }
        return cache::run(options, &scene, &recipe, &chosen, &frames, talk);
    }
    let (input, output, backend) = (&options.input, &options.output, frames.backend());
    let order = Order { input, output, baking, scene: &scene, recipe: &recipe, backend };
    let written = order.write(&chosen, None, None, talk)?;
    frames.tell(talk);
    written.account(&order, start).tell(to_stdout_too, talk)
}

/// A bake that ends in a file.
pub struct Order<'a> {
    pub input: &'a Input,
    pub output: &'a Path,
    pub baking: &'a BakingArgs,
    pub scene: &'a Scene,
    pub recipe: &'a LoadedRecipe,
    /// Who makes frames; `None` for the processor.
    pub backend: Option<&'a dyn Backend>,
}

/// A bake that has ended in a file.
pub struct Written {
    pub baked: BakedFile,
    /// Of the file before and after.
    bytes: (u64, u64),
}

impl Order<'_> {
    /// Bakes clips and writes the file, and with it a recipe where one is to go beside it.
    pub fn write(
        &self,
        chosen: &[usize],
        gains: Option<Solved>,
        beside: Option<&Path>,
        talk: &Talk,
    ) -> Result<Written, Fault> {
        let Self { input, output, baking, scene, recipe, backend } = *self;
        let limits = limits(baking, scene)?;
        let shipping = Shipping { backend, ..shipping(baking)? };
        // The output may take the place of the input.
        let before = bytes_before(input, scene);
        let bar = Progress::new(talk, "baking", 0);
        let tell = |at: sinew_bake::Progress| bar.tell(at.what, at.done, at.total);
        let outcome = bake_shipped(scene, recipe.as_file(), chosen, gains, &limits, &shipping, &tell);
        drop(bar);
        let baked = outcome.map_err(|error| match error {
            ExportError::Bake { source, .. } => refuse(source, baking, scene, talk),
            ExportError::TooLarge { source, .. } => refuse_size(&source, baking, scene, talk),
            other => other.into(),
        })?;
        talk.warnings(&baked.added.warnings);
        let source = PathBuf::from(input.to_string());
        let after = match beside {
            None => Destination::new(output, baking.force).write_document(&baked.document, &source)?,
            Some(path) => {
                let mut files = Outputs::default();
                recipe.write(&mut files, path, baking.force)?;
                let after = files.write_document(output, baking.force, &baked.document, &source)?;
                files.commit()?;
                after
            }
        };
        Ok(Written { baked, bytes: (before, after) })
    }
}

impl Written {
    /// What there is to tell of it.
    pub fn account<'a>(&'a self, order: &'a Order<'a>, start: Instant) -> report::Account<'a> {
        report::Account {
            scene: order.scene,
            output: order.output,
            fps: order.baking.fps,
            is_json: order.baking.json,
            recipe: &order.recipe.file,
            report: &self.baked.report,
            added: &self.baked.added,
            repaired: &self.baked.repaired,
            strength: &self.baked.strength,
            closed: &self.baked.closed,
            packed: self.baked.packed,
            sizes: &self.baked.sizes,
            max_bytes: order.baking.max_size,
            bytes: self.bytes,
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

/// Bakes the chosen clips of a scene into a copy of the file it lies in.
pub fn baked(
    scene: &Scene,
    recipe: &LoadedRecipe,
    chosen: &[usize],
    limits: &Options,
    talk: &Talk,
    refuse: impl FnOnce(BakeFailure) -> Fault,
) -> Result<BakedFile, Fault> {
    let bar = Progress::new(talk, "baking", 0);
    let outcome = bake_clips(scene, recipe.as_file(), chosen, limits, &|at| bar.tell(at.what, at.done, at.total));
    drop(bar);
    let baked = outcome.map_err(|error| match error {
        ExportError::Bake { source, .. } => refuse(source),
        other => other.into(),
    })?;
    talk.warnings(&baked.added.warnings);
    Ok(baked)
}

/// The options of the bake, within the engine's limits.
fn limits(options: &BakingArgs, scene: &Scene) -> Result<Options, Fault> {
    let mut max_targets = options.max_targets;
    if let Some(engine) = options.target {
        let objections = engine.objections(&scene.rig);
        if !objections.is_empty() {
            return Err(Fault::in_file(&scene.name, objections.join("; ")));
        }
        let left = engine.targets_left(&scene.rig);
        max_targets = [max_targets, left].into_iter().flatten().min();
    }
    Ok(Options {
        fps: options.fps,
        tolerance: options.tolerance,
        max_targets,
        best_effort: options.best_effort,
        whole_numbers: options.target.is_none_or(|engine| engine.reads_whole_numbers),
    })
}

/// What the file is to be; an engine is not given what it does not read.
fn shipping(options: &BakingArgs) -> Result<Shipping<'static>, Fault> {
    let packing = options.compress.map(|CompressName::Meshopt| Packing::Meshopt);
    match options.target.filter(|engine| packing.is_some() && !engine.reads_meshopt) {
        Some(engine) => Err(Fault::Usage(format!(
            "{} does not read what meshopt has packed; leave out --compress, or --target if another engine will play the \
             file",
            engine.title
        ))),
        None => Ok(Shipping { packing, max_bytes: options.max_size, backend: None }),
    }
}

fn refuse_size(oversize: &Oversize, options: &BakingArgs, scene: &Scene, talk: &Talk) -> Fault {
    if options.json {
        // The message tells the same where this cannot be written.
        let _ = to_stdout(|out| writeln!(out, "{}", report::oversize(oversize)));
    }
    let text = oversize.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    lines.for_each(|line| talk.note(line));
    let compress = if options.compress.is_some() { "" } else { "--compress meshopt, " };
    let remedy = match oversize.tried.last() {
        Some(last) if last.bytes > oversize.max_bytes => "allow more".to_owned(),
        _ => format!("raise --max-size or --tolerance, bake fewer clips, or give {compress}--best-effort"),
    };
    Fault::in_file(&scene.name, format!("{first}; {remedy}"))
}

fn refuse(failure: BakeFailure, options: &BakingArgs, scene: &Scene, talk: &Talk) -> Fault {
    let BakeFailure::Shortfall(shortfall) = failure else { return Fault::in_file(&scene.name, failure) };
    if options.json {
        // The message tells the same where this cannot be written.
        let _ = to_stdout(|out| writeln!(out, "{}", report::shortfall(&shortfall)));
    }
    let text = shortfall.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    lines.for_each(|line| talk.note(line));
    let engine = options.target.map_or(String::new(), |engine| format!(" within the limits of {}", engine.title));
    let remedy = "raise --tolerance or --max-targets, bake fewer clips, weaken the recipe, or give --best-effort";
    Fault::in_file(&scene.name, format!("{first}{engine}; {remedy}"))
}

fn bytes_before(input: &Input, scene: &Scene) -> u64 {
    let on_disk = match input {
        Input::Path(path) => std::fs::metadata(path).ok().map(|data| data.len()),
        Input::Zoo(_) => None,
    };
    let buffers = || scene.document.iter().flat_map(|file| &file.buffers).map(|bytes| bytes.len() as u64).sum();
    on_disk.unwrap_or_else(buffers)
}
