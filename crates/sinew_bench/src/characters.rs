//! `sinew_bench characters FILE…`: how full the rows of real characters are, and what a vertex of them costs, beside the
//! tube in the same run.

use std::hint::black_box;
use std::path::Path;

use sinew::recipe::Normals;
use sinew::{Cpu, DeformedRows, MotionSettings, Recipe, Stage, Workspace};
use sinew_gltf::Asset;

use crate::PATIENCE;
use crate::cases;
use crate::stopwatch::Stopwatch;

/// Prints the table; the error of a file that cannot be read.
pub fn run(files: &[String]) -> Result<(), String> {
    println!("nanoseconds per vertex, one thread, in the middle of the first clip\n");
    println!(
        "{:<26} {:>9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "character", "vertices", "bones", "lanes", "bones/row", "B/vertex", "lbs", "in rows", "velocity", "+ normals"
    );
    let tube = sinew_zoo::build("tube:vertices=10000,bones=12").map_err(|error| error.to_string())?;
    line(&Asset::from_raw("zoo:tube", tube.raw, tube.clips).map_err(|error| error.to_string())?)?;
    for file in files {
        line(&Asset::open(file).map_err(|error| error.to_string())?)?;
    }
    Ok(())
}

fn line(asset: &Asset) -> Result<(), String> {
    let (rig, name) = (&asset.rig, Path::new(&asset.name).file_name().unwrap_or_default().to_string_lossy());
    let Some(clip) = asset.clips.first() else { return Err(format!("{name} has no clip")) };
    let points: usize = rig.characters().iter().map(|character| character.points).sum();
    let vertices = rig.vertex_count() as f64;
    let cost = |recipe: Recipe, in_rows: bool| -> Result<f64, String> {
        let stage = Stage::new(rig, &recipe).map_err(|error| format!("{name}: {error}"))?;
        let playing = stage.motion(clip, &MotionSettings::default()).map_err(|error| format!("{name}: {error}"))?;
        let time = 0.5 * (playing.report().start + playing.report().last_key);
        let (mut workspace, mut out) = (Workspace::default(), DeformedRows::default());
        let mut posed = playing.at(time, &mut workspace);
        let mut stopwatch = Stopwatch::new(PATIENCE);
        if in_rows {
            stopwatch.time(|| black_box(&mut posed).deform_rows(&Cpu::serial(), &mut out));
        } else {
            stopwatch.time(|| black_box(&mut posed).deform(&Cpu::serial()));
        }
        Ok(stopwatch.fastest().as_secs_f64() * 1e9 / vertices)
    };
    println!(
        "{name:<26} {vertices:>9} {:>6} {:>8.1}% {:>9.1} {:>9.0} {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
        rig.palette().len(),
        100.0 * points as f64 / rig.slots() as f64,
        rig.bones_per_row(),
        rig.memory() as f64 / vertices,
        cost(Recipe::default(), false)?,
        cost(Recipe::default(), true)?,
        cost(cases::velocity(Normals::Engine), false)?,
        cost(cases::velocity(Normals::Exact), false)?,
    );
    Ok(())
}
