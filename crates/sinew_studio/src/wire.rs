//! Jobs and what comes of them as plain data: what a browser's worker is sent, and what it sends back.
//!
//! Oracle: what has gone over the wire does what it would have done here (tests/document.rs).

use crate::character::{Character, Source};
use crate::drawn::Drawn;
use crate::jobs::{Baked, Done, Export, Finding, Job, Task};
use crate::pictures::Reel;
use crate::player::Gains;
use crate::portrait::{Portrait, Subject};
use serde::{Deserialize, Serialize};
use sinew::recipe::Strength;
use sinew::{RecipeFile, presets};
use sinew_gltf::map_file::MapFile;
use sinew_liven::Style;
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
enum PlainJob {
    Liven { style: String, strength: Option<f64> },
    Solve,
    Check,
    Bake(Export),
    Style { style: String, clip: usize },
    Preset { preset: String, clip: usize },
    Reel(Reel),
}

#[derive(Serialize, Deserialize)]
struct PlainTask {
    recipe: String,
    maps: Vec<String>,
    drawn: Drawn,
    job: PlainJob,
}

#[derive(Serialize, Deserialize)]
enum PlainDone {
    Livened { text: String, account: Vec<String>, gains: Vec<Vec<f64>> },
    Solved(Vec<Vec<f64>>),
    Checked(Vec<Finding>),
    Baked { lines: Vec<String>, trade: Vec<(usize, f64)> },
    Portrait { width: usize, height: usize },
    Pictured,
    Failed(String),
}

/// A source without its bytes: its kind, and its name.
pub fn source_name(source: &Source) -> (&'static str, String) {
    match source {
        Source::Path(path) => ("file", path.display().to_string()),
        Source::BuiltIn(name) => ("built-in", name.clone()),
        Source::Memory { name, .. } => ("memory", name.clone()),
    }
}

/// The source again; `bytes` are those of a file in memory.
pub fn named_source(kind: &str, name: &str, bytes: Vec<u8>) -> Option<Source> {
    match kind {
        "file" => Some(Source::Path(name.into())),
        "built-in" => Some(Source::BuiltIn(name.to_owned())),
        "memory" => Some(Source::Memory { name: name.to_owned(), bytes: bytes.into() }),
        _ => None,
    }
}

/// A task as text; the character goes by itself.
pub fn task_to_text(task: &Task) -> String {
    let job = match &task.job {
        Job::Liven(style, strength) => {
            PlainJob::Liven { style: style.name().to_owned(), strength: strength.map(Strength::share) }
        }
        Job::Solve => PlainJob::Solve,
        Job::Check => PlainJob::Check,
        Job::Bake(export) => PlainJob::Bake(export.clone()),
        Job::Reel(reel) => PlainJob::Reel(*reel),
        Job::Portrait(Subject::Style(style), clip) => PlainJob::Style { style: style.name().to_owned(), clip: *clip },
        Job::Portrait(Subject::Preset(name), clip) => PlainJob::Preset { preset: (*name).to_owned(), clip: *clip },
    };
    let maps = task.maps.iter().map(MapFile::to_text).collect();
    serde_json::to_string(&PlainTask { recipe: task.recipe.to_string(), maps, drawn: (*task.drawn).clone(), job })
        .unwrap_or_default()
}

/// The task again, on its character.
pub fn task_from_text(character: Arc<Character>, text: &str) -> Result<Task, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let plain: PlainTask = serde_json::from_str(text).map_err(|error| told(&error))?;
    let recipe = RecipeFile::parse(&plain.recipe).map_err(|error| told(&error))?;
    let maps = plain.maps.iter().map(|map| MapFile::from_text("map", map)).collect::<Result<_, _>>();
    let job = match plain.job {
        PlainJob::Liven { style, strength } => Job::Liven(style_named(&style)?, strength.and_then(Strength::new)),
        PlainJob::Reel(reel) => Job::Reel(reel),
        PlainJob::Style { style, clip } => Job::Portrait(Subject::Style(style_named(&style)?), clip),
        PlainJob::Preset { preset, clip } => {
            let known = presets::names().iter().find(|known| known.name == preset).ok_or("no such preset")?;
            Job::Portrait(Subject::Preset(known.name), clip)
        }
        PlainJob::Solve => Job::Solve,
        PlainJob::Check => Job::Check,
        PlainJob::Bake(export) => Job::Bake(export),
    };
    let drawn = Arc::new(plain.drawn);
    Ok(Task { character, recipe, maps: maps.map_err(|error| told(&error))?, drawn, job })
}

fn style_named(name: &str) -> Result<Style, String> {
    Style::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| "no such style".to_owned())
}

/// What a task has come to, as text and the bytes of a file.
pub fn done_to_text(done: Done) -> (String, Vec<u8>) {
    let (plain, bytes) = match done {
        Done::Livened { text, account, gains } => {
            (PlainDone::Livened { text, account, gains: gains.by_clip }, Vec::new())
        }
        Done::Solved(gains) => (PlainDone::Solved(gains.by_clip), Vec::new()),
        Done::Checked(findings) => (PlainDone::Checked(findings), Vec::new()),
        Done::Baked(Baked { bytes, lines, trade }) => (PlainDone::Baked { lines, trade }, bytes),
        Done::Pictured(bytes) => (PlainDone::Pictured, bytes),
        Done::Portrait(Portrait { width, height, pixels }) => (PlainDone::Portrait { width, height }, pixels),
        Done::Failed(why) => (PlainDone::Failed(why), Vec::new()),
    };
    (serde_json::to_string(&plain).unwrap_or_default(), bytes)
}

/// What it has come to again.
pub fn done_from_text(text: &str, bytes: Vec<u8>) -> Done {
    match serde_json::from_str(text) {
        Ok(PlainDone::Livened { text, account, gains }) => {
            Done::Livened { text, account, gains: Gains { by_clip: gains } }
        }
        Ok(PlainDone::Solved(by_clip)) => Done::Solved(Gains { by_clip }),
        Ok(PlainDone::Checked(findings)) => Done::Checked(findings),
        Ok(PlainDone::Baked { lines, trade }) => Done::Baked(Baked { bytes, lines, trade }),
        Ok(PlainDone::Portrait { width, height }) if bytes.len() == 4 * width * height => {
            Done::Portrait(Portrait { width, height, pixels: bytes })
        }
        Ok(PlainDone::Pictured) => Done::Pictured(bytes),
        Ok(PlainDone::Portrait { .. }) => Done::Failed("a picture has arrived in part".to_owned()),
        Ok(PlainDone::Failed(why)) => Done::Failed(why),
        Err(error) => Done::Failed(error.to_string()),
    }
}
