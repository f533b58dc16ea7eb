//! `sinew_bench characters FILE…`: how full the rows of real characters are, and what a vertex of them costs, beside the
//! tube in the same run.

use std::hint::black_box;
use std::path::Path;

use sinew::recipe::Normals;
use sinew::{
    Cpu, DeformedMesh, DeformedRows, Frame, FrameIndependentGraph, Kinematics, Motion, MotionSettings, Recipe, Scratch,
    WorldPose, evaluate, evaluate_rows,
};
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
        let graph = FrameIndependentGraph::build(rig, &recipe).map_err(|error| format!("{name}: {error}"))?;
        let (skeleton, signals) = (rig.skeleton(), graph.filtered_signals());
        let motion = Motion::new(skeleton, rig.bone_sizes(), &[], clip, &MotionSettings::default(), signals);
        let motion = motion.map_err(|error| format!("{name}: {error}"))?;
        let time = 0.5 * (motion.report().start + motion.report().last_key);
        let (mut pose, mut world) = (rig.rest_pose(), WorldPose::default());
        motion.pose(time, &mut pose);
        world.compose(skeleton, &pose);
        let mut kinematics = Kinematics::default();
        motion.kinematics(time, &world, skeleton, &mut kinematics);
        let frame = Frame { rig, pose: &pose, world: &world, kinematics: &kinematics, time };
        let (mut scratch, mut stopwatch) = (Scratch::default(), Stopwatch::new(PATIENCE));
        let (mut mesh, mut out) = (DeformedMesh::default(), DeformedRows::default());
        if in_rows {
            stopwatch.time(|| evaluate_rows(&graph, black_box(&frame), &Cpu::serial(), &mut scratch, &mut out));
        } else {
            stopwatch.time(|| evaluate(&graph, black_box(&frame), &Cpu::serial(), &mut scratch, &mut mesh));
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
