//! Frames of every base, effect, correction and preset as text, for `cargo xtask ci`: the same source built for two
//! machines, and what they print compared.
//!
//! ```text
//! sinew_conformance [baseline]
//! ```
//!
//! `baseline` uses no instructions but those that every processor of the target has. Per frame one line `NAME SIZE`,
//! then a line per vertex: world position and normal, six numbers that read back to the bit.

use sinew::displace::Input;
use sinew::{Cpu, Level, RecipeFile, Rig, Stage, Workspace};
use std::error::Error;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// Small, for interpreters. More than one row, none of them full at the end, four bones to a point.
const CHARACTER: &str = "tube:vertices=300,bones=5";

/// Moments of the clip, in seconds, far enough from its start for filters to have something behind them.
const MOMENTS: [f64; 2] = [0.37, 0.7];

/// About the tube's axis, wide end down.
const CONE: &str =
    "cone = { bone = 'tube.3', axis = [0, 1, 0], apex = [0, 4, 0], half_angle = 0.2, base_radius = 0.01 }";

/// What no list of the library names.
const RECIPES: &[(&str, &str)] = &[
    ("normals of engines", "normals = 'engine'\n[[effect]]\ntype = 'floppy'"),
    ("normals from faces", "normals = 'faces'\n[[effect]]\ntype = 'floppy'"),
    ("volume of segments", "[[correction]]\ntype = 'volume'\nscope = 'segments'"),
    ("edit", "[[edit]]\ntype = 'radial'\nprofile = 'bulge'\namount = 0.4\nbones = ['*']"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let level = match std::env::args().nth(1).as_deref() {
        None => Level::new(),
        Some("baseline") => Level::baseline(),
        Some(other) => return Err(format!("\"{other}\" is not a level; say \"baseline\" or nothing").into()),
    };
    let zoo = sinew_zoo::build(CHARACTER)?;
    let rig = Arc::new(Rig::build(&zoo.raw)?.0);
    let clip = zoo.clips.first().ok_or("the character has no clip")?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (name, text) in recipes() {
        let file = RecipeFile::parse(&text)?;
        let stage = Stage::new(&rig, &file.recipe().without_strength())?;
        let playing = stage.motion(clip, &file.motion(&clip.name))?;
        for time in MOMENTS {
            let mut workspace = Workspace::default();
            playing.at(time, &mut workspace).deform(&Cpu { level, pool: None });
            let mesh = workspace.mesh();
            writeln!(out, "{name} {}", rig.characters()[0].size)?;
            for (vertex, normal) in mesh.normals.iter().enumerate() {
                let p = mesh.world_position(0, vertex);
                writeln!(out, "{} {} {} {} {} {}", p.x, p.y, p.z, normal.x, normal.y, normal.z)?;
            }
        }
    }
    Ok(out.flush()?)
}

/// Names and texts.
fn recipes() -> impl Iterator<Item = (String, String)> {
    let bases =
        sinew::base::BASES.iter().map(|base| (base.name.to_owned(), format!("version = 1\nbase = '{}'", base.name)));
    let here = RECIPES.iter().map(|(name, text)| ((*name).to_owned(), format!("version = 1\n{text}")));
    let effects = sinew::registry::EFFECTS.iter().map(|effect| {
        let mut text = format!("version = 1\nnormals = 'exact'\n[[effect]]\ntype = '{}'\n", effect.name());
        // Filters on, so that the whole path is taken.
        let mut filters: Vec<&str> = effect.inputs().iter().filter_map(low_pass).collect();
        filters.dedup();
        filters.iter().for_each(|gamma| text += &format!("{gamma} = 0.6\n"));
        if effect.needs_cone() {
            text += CONE;
        }
        (effect.name().to_owned(), text)
    });
    let corrections = sinew::correct::CORRECTIONS.iter().map(|correction| {
        (correction.name.to_owned(), format!("version = 1\n[[correction]]\ntype = '{}'", correction.name))
    });
    let presets = sinew::presets::names().iter().map(|preset| (preset.name.to_owned(), preset.text.to_owned()));
    bases.chain(here).chain(effects).chain(corrections).chain(presets)
}

fn low_pass(input: &Input) -> Option<&'static str> {
    match input {
        Input::LowPass(_, gamma) => Some(gamma),
        _ => None,
    }
}
