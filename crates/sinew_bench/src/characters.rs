//! `sinew_bench characters FILE…`: how full the rows of real characters are, and what a vertex of them costs, beside the
//! tube in the same run.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use sinew::recipe::Normals;
use sinew::simd::LANES;
use sinew::{Clip, Cpu, DeformedRows, MotionSettings, RawRig, Recipe, Rig, Stage, Workspace};

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
    line("zoo:tube", &tube.raw, tube.clips.first())?;
    for file in files {
        let asset = sinew_gltf::import(Path::new(file)).map_err(|error| error.to_string())?;
        let name = Path::new(file).file_name().map_or(file.clone(), |name| name.to_string_lossy().into_owned());
        line(&name, &asset.raw, asset.clips.first())?;
    }
    Ok(())
}

fn line(name: &str, raw: &RawRig, clip: Option<&Clip>) -> Result<(), String> {
    let rig = Arc::new(Rig::build(raw).map_err(|error| format!("{name}: {error}"))?.0);
    let Some(clip) = clip else { return Err(format!("{name} has no clip")) };
    let rows = rig.rows();
    let filled: usize = rows.iter().map(|row| row.filled as usize).sum();
    let vertices = rig.vertex_count() as f64;
    let cost = |recipe: Recipe, in_rows: bool| -> Result<f64, String> {
        let stage = Stage::new(&rig, &recipe).map_err(|error| format!("{name}: {error}"))?;
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
    let entries = rig.skin_entries().len() as f64 / rows.len() as f64;
    println!(
        "{name:<26} {vertices:>9} {:>6} {:>8.1}% {entries:>9.1} {:>9.0} {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
        rig.palette().len(),
        100.0 * filled as f64 / (rows.len() * LANES) as f64,
        rig.memory() as f64 / vertices,
        cost(Recipe::default(), false)?,
        cost(Recipe::default(), true)?,
        cost(cases::velocity(Normals::Engine), false)?,
        cost(cases::velocity(Normals::Exact), false)?,
    );
    Ok(())
}
