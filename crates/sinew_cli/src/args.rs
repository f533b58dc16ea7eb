//! The command line as plain values.

use crate::bake::BakeArgs;
use crate::bind::BindArgs;
use crate::check::CheckArgs;
use crate::demo::DemoArgs;
use crate::edit::EditArgs;
use crate::gpu_check::GpuCheckArgs;
use crate::liven::LivenArgs;
use crate::map::MapArgs;
use crate::pose::PoseArgs;
use crate::render::RenderArgs;
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use sinew::base::{BASES, BaseEntry};
use sinew::recipe::{Strength, StrengthOver};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Data goes to stdout, everything else to stderr. Input and output use glTF's axes (Y up) and metres.
Exit status: 0 success, 1 failure, 2 wrong usage, 3 success with findings (check, diff), 130 interrupted.";

/// Bring skinned characters to life: squash, drag, follow-through and volume on top of any glTF rig.
#[derive(Debug, Parser)]
#[command(name = "sinew", version, about, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// Print only errors on stderr.
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// Multiply all limits on what files may ask for: bytes, pixels, vertices, bones, seconds.
    ///
    /// Within the limits a command needs less than a gigabyte of memory. The manual lists them (docs/LIMITS.md).
    #[arg(long, global = true, value_name = "FACTOR", default_value_t = 1.0, value_parser = crate::limits::factor)]
    pub limits: f64,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring a character to life: find its soft parts, make a recipe that suits them, judge it, bake it.
    Liven(LivenArgs),
    /// Show what a file contains: characters, meshes, bones, clips, surface, maps, and any problems.
    Inspect(InspectArgs),
    /// List the effects, corrections and bases, or the parameters of one; write a recipe that holds them all.
    Effects(EffectsArgs),
    /// List the presets, or print one as a recipe to start from.
    Presets(PresetsArgs),
    /// Write one frame in world space as OBJ, PLY or JSON.
    Frame(FrameArgs),
    /// Generate a map from the shape for recipes to use: where the character is thin, thick or far out.
    Map(MapArgs),
    /// Render stills, contact sheets and films, with and without effects.
    Render(Box<RenderArgs>),
    /// Bake the effects into the file as morph targets that any engine can play.
    Bake(BakeArgs),
    /// Pose bones with strokes: a baseline drawn along them, and an offset that shows where it should go.
    Pose(PoseArgs),
    /// Edit the surface with strokes drawn on it; writes a recipe in which the edit follows any pose.
    Edit(EditArgs),
    /// Measure a character in motion: seams, jumps, volume, flipped triangles, cracks, weights, engine limits.
    Check(CheckArgs),
    /// Compare what two files mean and how they move; exit status 3 if they differ.
    Diff(DiffArgs),
    /// Remove everything Sinew added to a file.
    Strip(StripArgs),
    /// Bake and render the built-in characters into a new folder, with a page that shows them.
    Demo(DemoArgs),
    /// Compute skin weights from the shape of a mesh that has none, or bad ones.
    Bind(BindArgs),
    /// Check that this computer's GPU makes the same frames as the processor; prints a report to send.
    GpuCheck(GpuCheckArgs),
    /// Print a shell completion script.
    Completions(CompletionsArgs),
}

#[derive(Debug, ClapArgs)]
pub struct InspectArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    pub input: Input,

    /// Write JSON.
    #[arg(long)]
    pub json: bool,

    /// Show every bone, however many there are.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,

    /// Tell what each bone and each piece of skin is, how sure that is, and why: spine, arm, ear, cape, sword.
    #[arg(long)]
    pub anatomy: bool,

    #[command(flatten)]
    pub recipe: RecipeArgs,
}

#[derive(Debug, ClapArgs)]
pub struct EffectsArgs {
    /// The effect, correction or base to describe; without it, all are listed.
    pub name: Option<String>,

    /// Write JSON.
    #[arg(long)]
    pub json: bool,

    /// Write a recipe with every key at its default, each with its unit, range and meaning, to start from.
    #[arg(long, conflicts_with_all = ["name", "json"])]
    pub template: bool,
}

#[derive(Debug, ClapArgs)]
pub struct PresetsArgs {
    /// The preset to print; without it, all presets are listed.
    pub name: Option<String>,
}

/// What to do with the character: shared by all commands that evaluate it.
#[derive(Debug, ClapArgs)]
pub struct RecipeArgs {
    /// A recipe (*.sinew.toml): base skinning, effects, and how clips are read.
    #[arg(long, value_name = "R")]
    pub recipe: Option<PathBuf>,

    /// A built-in recipe instead of your own; `sinew presets` lists them.
    #[arg(long, value_name = "NAME", conflicts_with = "recipe")]
    pub preset: Option<String>,

    /// Also take the clips of another file, such as a walk made for another character or a library of animations
    /// without meshes: bones are matched by name (prefixes such as mixamorig: do not count) and retargeted where the
    /// two are built differently. Can be repeated.
    #[arg(long, value_name = "OTHER.glb", value_parser = OsStringValueParser::new().map(Input::from))]
    pub animations: Vec<Input>,
}

/// How strong the recipe is to be: shared by all commands that show it.
#[derive(Debug, ClapArgs)]
pub struct StrengthArgs {
    /// How far the effects move the skin, as a share of the character's size, such as 4%: the gains of all effects are
    /// scaled by one factor, which is solved for. It is the visible strength that check measures.
    #[arg(long, value_name = "S")]
    pub strength: Option<Strength>,

    /// Which clips the strength is measured over: all of the file together (the liveliest has it, a walk stays calmer than a
    /// run), each by itself, or balanced between the two [default: the recipe's, else all].
    #[arg(long, value_name = "all|each|balanced", value_parser = strength_over())]
    pub strength_over: Option<StrengthOver>,
}

/// A choice of clips, by the name that recipes have for it.
fn strength_over() -> impl TypedValueParser<Value = StrengthOver> {
    let words = StrengthOver::WORDS;
    let found =
        move |name: String| words.iter().find(|(word, _)| *word == name).map(|&(_, over)| over).ok_or("unknown");
    PossibleValuesParser::new(words.iter().map(|&(word, _)| word)).try_map(found)
}

#[derive(Debug, ClapArgs)]
pub struct DiffArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME.
    #[arg(value_name = "A", value_parser = OsStringValueParser::new().map(Input::from))]
    pub first: Input,

    /// What to compare it with.
    #[arg(value_name = "B", value_parser = OsStringValueParser::new().map(Input::from))]
    pub second: Input,

    /// Treat numbers as equal if they differ by no more than this fraction, such as 1e-6 or 0.01%.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    pub tolerance: f64,

    /// Write JSON that lists every difference.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct StripArgs {
    /// A .glb or .gltf file that Sinew wrote.
    #[arg(value_name = "FILE")]
    pub input: PathBuf,

    /// Output file (.glb) for the original, or - for stdout.
    #[arg(long, short, value_name = "OUT.glb")]
    pub output: PathBuf,

    /// Overwrite the output if it exists.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub struct FrameArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    pub input: Input,

    /// The clip, by name or, if no clip has that name, by number from 0; without it, the nodes' default transforms.
    #[arg(long, value_name = "NAME|N")]
    pub clip: Option<String>,

    /// Seconds on the clip's own clock, clamped to the clip or wrapped if it loops; or a range such as 0:1:0.1, every
    /// 0.1 s from 0 to 1 s. Can be repeated [default: 0].
    ///
    /// Several frames go into one JSON file as a list, or into numbered files: walk.0000.obj, walk.0001.obj …
    #[arg(long, value_name = "S|FROM:TO:STEP", value_parser = moments, allow_negative_numbers = true)]
    pub time: Vec<Moments>,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub strength: StrengthArgs,

    /// Base skinning to use instead of the recipe's [default without a recipe: lbs].
    #[arg(long, value_name = "B", value_parser = base_named())]
    pub base: Option<&'static BaseEntry>,

    /// Whether the clip loops; auto decides from its keys.
    #[arg(long = "loop", value_name = "yes|no|auto")]
    pub looping: Option<LoopName>,

    /// Bone velocities and accelerations set by hand instead of the clip's: a TOML file with tables such as
    /// [bone."neck"], relative to the parent, in world axes.
    ///
    /// Keys of a table, each three numbers: linear_velocity = [0, 1, 0] (units per second), angular_velocity = [0, 0, 2]
    /// (radians per second), linear_acceleration = [0, -20, 0] and angular_acceleration = [0, 0, -30] (per second
    /// squared). When a bone brakes, its acceleration points against its velocity.
    #[arg(long, value_name = "M.toml")]
    pub motion: Option<PathBuf>,

    /// Output file, or - for stdout; the file extension selects the format.
    #[arg(long, short, value_name = "OUT.{obj,ply,json}")]
    pub output: PathBuf,

    /// The format, if the file extension does not select one [default for stdout: json].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Overwrite the output if it exists.
    #[arg(long)]
    pub force: bool,
}

/// Where a character comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// A built-in character: what stands behind `zoo:`.
    Zoo(String),
}

impl From<OsString> for Input {
    fn from(given: OsString) -> Self {
        match given.to_str().and_then(|text| text.strip_prefix("zoo:")) {
            Some(spec) => Self::Zoo(spec.to_owned()),
            None => Self::Path(given.into()),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Zoo(spec) => write!(f, "zoo:{spec}"),
        }
    }
}

/// A base of the list, by its name.
pub fn base_named() -> impl TypedValueParser<Value = &'static BaseEntry> {
    let names = BASES.iter().map(|base| PossibleValue::new(base.name).help(base.about));
    PossibleValuesParser::new(names).try_map(|name| sinew::base::find(&name).ok_or("there is no such base"))
}

/// Whether a clip loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoopName {
    /// Treat it as a loop, whatever its keys say.
    Yes,
    /// Treat it as a clip with a beginning and an end.
    No,
    /// Decide from its keys.
    Auto,
}

/// How a frame is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Wavefront OBJ, text.
    Obj,
    /// Stanford PLY, binary, little-endian.
    Ply,
    /// Everything: meshes with and without effects, bones with their motion, warnings.
    Json,
}

pub fn seconds(given: &str) -> Result<f64, String> {
    match given.parse::<f64>() {
        Ok(secs) if secs.is_finite() => Ok(secs),
        _ => Err("give a number of seconds, such as 0.25".to_owned()),
    }
}

/// What `--time` was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moments {
    /// One moment.
    At(f64),
    /// From the first to the last, both included, in steps.
    Range { first: f64, step: f64, count: usize },
}

/// Frames of one range.
const MOST_MOMENTS: f64 = 100_000.0;

impl Moments {
    /// Each in seconds.
    pub fn seconds(self) -> impl Iterator<Item = f64> {
        let (first, step, count) = match self {
            Self::At(time) => (time, 0.0, 1),
            Self::Range { first, step, count } => (first, step, count),
        };
        (0..count).map(move |i| first + i as f64 * step)
    }
}

/// Seconds, or a range of them.
pub fn moments(given: &str) -> Result<Moments, String> {
    let words = "give seconds such as 0.25, or a range such as 0:1:0.1 (first, last, step)";
    let numbers: Vec<f64> = given.split(':').map(seconds).collect::<Result<_, _>>().map_err(|_| words)?;
    match numbers[..] {
        [time] => Ok(Moments::At(time)),
        [first, last, step] if last >= first && step > 0.0 => {
            // The last one counts where rounding puts it a hair beyond.
            let count = ((last - first) / step + 1e-6).floor() + 1.0;
            if count > MOST_MOMENTS {
                return Err(format!("that is more than {MOST_MOMENTS} frames; use a larger step"));
            }
            Ok(Moments::Range { first, step, count: count as usize })
        }
        [_, _, _] => Err("the first time must come before the last, and the step must be above 0".to_owned()),
        _ => Err(words.to_owned()),
    }
}

/// Frames per second.
pub fn rate(given: &str) -> Result<f64, String> {
    match given.parse::<f64>() {
        Ok(rate) if rate.is_finite() && (1e-3..=1e5).contains(&rate) => Ok(rate),
        _ => Err("give samples per second, such as 60".to_owned()),
    }
}

/// A share of 1: a number, or one with a percent sign.
pub fn share(given: &str) -> Result<f64, String> {
    let (number, scale) = given.strip_suffix('%').map_or((given, 1.0), |number| (number, 0.01));
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number * scale),
        _ => Err("give a fraction such as 0.001 or 0.1%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn shares_are_numbers_or_percentages() {
        for (given, expected) in [("0", Some(0.0)), ("1e-3", Some(1e-3)), ("50%", Some(0.5)), ("2 %", Some(0.02))] {
            assert_eq!(share(given).ok(), expected, "{given}");
        }
        for given in ["", "%", "-1", "NaN", "inf%", "a tenth"] {
            assert!(share(given).is_err(), "{given}");
        }
    }

    #[test]
    fn moments_are_numbers_or_ranges() {
        let times = |given: &str| moments(given).map(|moments| moments.seconds().collect::<Vec<_>>()).ok();
        assert_eq!(times("-0.25"), Some(vec![-0.25]));
        assert_eq!(times("1:2:0.5"), Some(vec![1.0, 1.5, 2.0]));
        assert_eq!(times("0:1:0.1").map(|times| times.len()), Some(11));
        assert_eq!(times("0:0.99:0.1").map(|times| times.len()), Some(10));
        assert_eq!(times("2:2:1"), Some(vec![2.0]));
        for given in
            ["", "soon", "1:2", "1:2:0", "1:2:-1", "2:1:0.1", "0:1e300:1e-300", "0:inf:1", "0:1:NaN", "0:1:2:3"]
        {
            assert!(moments(given).is_err(), "{given}");
        }
    }

    #[test]
    fn zoo_names_are_told_from_paths() {
        assert_eq!(Input::from(OsString::from("zoo:tube:bones=3")), Input::Zoo("tube:bones=3".into()));
        assert_eq!(Input::from(OsString::from("./zoo:tube")), Input::Path("./zoo:tube".into()));
    }
}
