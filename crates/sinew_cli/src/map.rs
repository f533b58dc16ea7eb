//! `sinew map`: maps made from the shape, one file per mesh node and primitive.

use crate::args::Input;
use crate::fault::Fault;
use crate::load::{Scene, load, require_skin};
use crate::output::{self, Outputs};
use crate::talk::Talk;
use crate::text::{count, printable, quoted, short, wrap};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use sinew::BoneId;
use sinew::maps::bone_distance::bone_distance;
use sinew::maps::extremities::{Tip, extremities};
use sinew::maps::mirror::{MirrorPlane, MirrorSide};
use sinew::maps::remap::Remap;
use sinew::maps::shape_diameter::{shape_diameters, softness};
use sinew::maps::{PointMap, RestSurface};
use sinew_gltf::map_file::MapFile;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// More smoothing than this makes any map flat.
const MOST_ROUNDS: i64 = 10_000;

#[derive(Debug, Args)]
pub struct MapArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    pub input: Input,

    /// What to measure on the shape.
    #[arg(long, value_name = "KIND")]
    pub auto: Auto,

    /// Rounds of smoothing, each one edge wide.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MOST_ROUNDS))]
    pub smooth: u32,

    /// Make the map symmetric about an axis: x averages both sides, +x copies the side of larger x to the other, -x the
    /// other way round.
    #[arg(long, value_name = "[+|-]AXIS", allow_hyphen_values = true)]
    pub mirror: Option<Mirror>,

    /// Raise values to this power: below 1 raises the middle, above 1 lowers it.
    #[arg(long, value_name = "G", value_parser = gamma)]
    pub gamma: Option<Remap>,

    /// Invert: 1 − value, after everything else.
    #[arg(long)]
    pub invert: bool,

    /// Name of the map, for `map = "NAME"` in a recipe [default: the kind].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Write the report as JSON.
    #[arg(long)]
    pub json: bool,

    /// An existing folder, or a prefix for the file names: NODE.PRIMITIVE.map.json is appended.
    #[arg(long, short, value_name = "FOLDER|PREFIX")]
    pub output: PathBuf,

    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// What a map is read off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Auto {
    /// 1 on thin parts, 0 on thick parts.
    Diameter,
    /// 0 at the bone, 1 where the skin is farthest from it.
    BoneDistance,
    /// 1 at the tips of limbs, ears and tails, 0 where they grow from the body.
    Extremities,
}

impl Auto {
    fn name(self) -> &'static str {
        match self {
            Self::Diameter => "diameter",
            Self::BoneDistance => "bone-distance",
            Self::Extremities => "extremities",
        }
    }
}

/// An axis and where values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mirror {
    X,
    #[value(name = "+x")]
    PlusX,
    #[value(name = "-x")]
    MinusX,
    Y,
    #[value(name = "+y")]
    PlusY,
    #[value(name = "-y")]
    MinusY,
    Z,
    #[value(name = "+z")]
    PlusZ,
    #[value(name = "-z")]
    MinusZ,
}

impl Mirror {
    fn plane(self) -> (MirrorPlane, MirrorSide) {
        let plane = match self {
            Self::X | Self::PlusX | Self::MinusX => MirrorPlane::X,
            Self::Y | Self::PlusY | Self::MinusY => MirrorPlane::Y,
            Self::Z | Self::PlusZ | Self::MinusZ => MirrorPlane::Z,
        };
        let side = match self {
            Self::X | Self::Y | Self::Z => MirrorSide::Both,
            Self::PlusX | Self::PlusY | Self::PlusZ => MirrorSide::FromPositive,
            Self::MinusX | Self::MinusY | Self::MinusZ => MirrorSide::FromNegative,
        };
        (plane, side)
    }
}

fn gamma(given: &str) -> Result<Remap, String> {
    let gamma = given.parse::<f32>().map_err(|_| "give a number above 0, such as 0.5".to_owned())?;
    Remap::gamma(gamma).map_err(|error| error.to_string())
}

pub fn run(options: &MapArgs, talk: &Talk) -> Result<(), Fault> {
    if options.output == Path::new("-") {
        return Err(Fault::Usage("a map may need several files, so it cannot go to stdout; give a folder".to_owned()));
    }
    let scene = load(&options.input, &[], &[])?;
    talk.warnings(&scene.warnings);
    require_skin(&scene)?;
    let surface = RestSurface::new(&scene.rig);
    let made = make(options, &surface);
    let name = options.name.as_deref().unwrap_or(options.auto.name());
    let files = files(options, &scene, name, &made.map)?;
    let mut outputs = Outputs::default();
    for (path, map) in &files {
        let written = outputs.write_text(path, options.force, &map.to_text())?;
        let file = path.display().to_string();
        MapFile::from_text(&file, &written).map_err(|error| Fault::Failed(error.to_string()))?;
    }
    outputs.commit()?;
    let written = files.iter().map(|(path, _)| path.as_path()).collect();
    let report = Report { options, name, surface: &surface, made: &made, written };
    if options.json {
        output::to_stdout(|out| writeln!(out, "{:#}", report.json()))
    } else {
        output::text_to_stdout(|out| report.text(out))
    }
}

/// A map and what was found on the way.
struct Made {
    map: PointMap,
    /// By slot, in scene units.
    diameters: Option<Vec<f64>>,
    tips: Vec<Tip>,
    unmatched: Option<f64>,
}

fn make(options: &MapArgs, surface: &RestSurface<'_>) -> Made {
    let (map, diameters, tips) = match options.auto {
        Auto::Diameter => {
            let diameters = shape_diameters(surface);
            (softness(surface, &diameters), Some(diameters), Vec::new())
        }
        Auto::BoneDistance => (bone_distance(surface), None, Vec::new()),
        Auto::Extremities => {
            let found = extremities(surface);
            (found.map, None, found.tips)
        }
    };
    let mut made = Made { map, diameters, tips, unmatched: None };
    made.map.smooth(surface, options.smooth as usize);
    if let Some(mirror) = options.mirror {
        let (plane, side) = mirror.plane();
        made.unmatched = Some(made.map.mirror(surface, plane, side).unmatched);
    }
    if let Some(gamma) = options.gamma {
        made.map.remap(gamma);
    }
    if options.invert {
        made.map.remap(Remap::invert());
    }
    made
}

/// Every file to be written.
fn files(options: &MapArgs, scene: &Scene, name: &str, map: &PointMap) -> Result<Vec<(PathBuf, MapFile)>, Fault> {
    let given = options.output.to_string_lossy();
    let in_folder = options.output.is_dir() || given.ends_with(['/', MAIN_SEPARATOR]);
    // Names of maps are free; names of files are not.
    let plain = |c: char| if c.is_alphanumeric() || "-_ .".contains(c) { c } else { '_' };
    let stem = match in_folder {
        true => options.output.join(name.chars().map(plain).collect::<String>()),
        false => options.output.clone(),
    };
    let mut files = Vec::new();
    for part in scene.rig.parts() {
        for (index, primitive) in part.primitives.iter().enumerate() {
            let values = map.of_primitive(&scene.rig, primitive);
            let file = MapFile::new(&scene.raw, name, part.node, index, values)
                .map_err(|error| Fault::in_file(&scene.name, error))?;
            let mut path = stem.clone().into_os_string();
            path.push(format!(".{}.{index}.map.json", part.node));
            files.push((path.into(), file));
        }
    }
    Ok(files)
}

/// Mean of a value over the points that follow one bone most, by area.
#[derive(Clone, Copy)]
struct OnBone {
    bone: BoneId,
    mean: f64,
}

struct Report<'a> {
    options: &'a MapArgs,
    name: &'a str,
    surface: &'a RestSurface<'a>,
    made: &'a Made,
    written: Vec<&'a Path>,
}

impl Report<'_> {
    fn bone_name(&self, bone: BoneId) -> &str {
        self.surface.rig().skeleton().name(bone)
    }

    /// Least and largest mean over the bones of a character.
    fn by_bone(&self, character: usize, value: impl Fn(usize) -> f64) -> Option<(OnBone, OnBone)> {
        let mut sums: BTreeMap<BoneId, (f64, f64)> = BTreeMap::new();
        for slot in self.surface.slots(character) {
            if let Some(bone) = self.surface.rig().main_bone(slot) {
                let area = self.surface.areas()[slot];
                let (sum, total) = sums.entry(bone).or_default();
                (*sum, *total) = (*sum + area * value(slot), *total + area);
            }
        }
        let means = sums.into_iter().filter(|(_, (_, total))| *total > 0.0);
        let means: Vec<_> = means.map(|(bone, (sum, total))| OnBone { bone, mean: sum / total }).collect();
        let least = means.iter().copied().min_by(|a, b| a.mean.total_cmp(&b.mean))?;
        let largest = means.iter().copied().min_by(|a, b| b.mean.total_cmp(&a.mean))?;
        Some((least, largest))
    }

    /// Least, mean by area, and largest value of a character.
    fn range(&self, character: usize) -> [f64; 3] {
        let (mut low, mut high, mut sum, mut total) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
        for slot in self.surface.slots(character) {
            let (value, area) = (f64::from(self.made.map.at(slot)), self.surface.areas()[slot]);
            (low, high) = (low.min(value), high.max(value));
            (sum, total) = (sum + area * value, total + area);
        }
        [low, if total > 0.0 { sum / total } else { low }, high].map(|x| if x.is_finite() { x } else { 0.0 })
    }

    fn tips(&self, character: usize) -> impl Iterator<Item = &Tip> {
        let rig = self.surface.rig();
        self.made.tips.iter().filter(move |tip| rig.character_of_point(tip.slot) == Some(character))
    }

    fn json(&self) -> Value {
        let named = |on: OnBone| json!({"bone": self.bone_name(on.bone), "mean": on.mean});
        let characters = self.surface.rig().characters().iter().enumerate().map(|(index, character)| {
            let [min, mean, max] = self.range(index);
            let mut entry = json!({
                "name": character.name, "points": character.points, "min": min, "mean": mean, "max": max,
            });
            if let Some((lowest, highest)) = self.by_bone(index, |slot| f64::from(self.made.map.at(slot))) {
                entry["lowest"] = named(lowest);
                entry["highest"] = named(highest);
            }
            if let Some(diameters) = &self.made.diameters
                && let Some((thinnest, thickest)) = self.by_bone(index, |slot| diameters[slot])
            {
                entry["thinnest"] = named(thinnest);
                entry["thickest"] = named(thickest);
            }
            if self.options.auto == Auto::Extremities {
                let tip = |tip: &Tip| {
                    let bone = self.surface.rig().main_bone(tip.slot).map(|bone| self.bone_name(bone));
                    json!({"bone": bone, "position": self.surface.points()[tip.slot].to_array(), "length": tip.length})
                };
                entry["tips"] = self.tips(index).map(tip).collect();
            }
            entry
        });
        let mut report = json!({
            "file": self.options.input.to_string(),
            "auto": self.options.auto.name(),
            "name": self.name.to_lowercase(),
            "characters": characters.collect::<Vec<_>>(),
        });
        if let Some(unmatched) = self.made.unmatched {
            report["unmatched"] = unmatched.into();
        }
        report["files"] = self.written.iter().map(|path| path.display().to_string()).collect();
        report
    }

    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let bold = anstyle::Style::new().bold();
        let on = |on: OnBone, unit: &str| format!("{} ({}{unit})", quoted(self.bone_name(on.bone)), short(on.mean));
        for (index, character) in self.surface.rig().characters().iter().enumerate() {
            let [min, mean, max] = self.range(index);
            writeln!(out, "{bold}{}{bold:#} of {}", self.name, quoted(&character.name))?;
            writeln!(
                out,
                "  {}: least {}, mean {}, largest {}",
                count(character.points, "point", "points"),
                short(min),
                short(mean),
                short(max)
            )?;
            if let Some((lowest, highest)) = self.by_bone(index, |slot| f64::from(self.made.map.at(slot))) {
                writeln!(out, "  highest on {}, lowest on {}, by their means", on(highest, ""), on(lowest, ""))?;
            }
            if let Some(diameters) = &self.made.diameters
                && let Some((thinnest, thickest)) = self.by_bone(index, |slot| diameters[slot])
            {
                writeln!(out, "  thinnest at {}, thickest at {}", on(thinnest, " across"), on(thickest, " across"))?;
            }
            if self.options.auto == Auto::Extremities {
                let bones = self.tips(index).filter_map(|tip| self.surface.rig().main_bone(tip.slot));
                let bones: Vec<_> = bones.map(|bone| quoted(self.bone_name(bone))).collect();
                let found = count(bones.len(), "tip", "tips");
                let line =
                    if bones.is_empty() { "no tips".to_owned() } else { format!("{found}: {}", bones.join(", ")) };
                for line in wrap(&line, 2) {
                    writeln!(out, "{line}")?;
                }
            }
        }
        if let Some(unmatched) = self.made.unmatched {
            writeln!(
                out,
                "mirrored; {} % of the points have no counterpart and keep their values",
                short(100.0 * unmatched)
            )?;
        }
        for path in &self.written {
            writeln!(out, "wrote {}", printable(&path.display().to_string()))?;
        }
        Ok(())
    }
}
