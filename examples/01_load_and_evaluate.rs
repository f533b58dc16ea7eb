//! Load a file and evaluate one frame of it, with the skin lagging behind its bones:
//!
//! `cargo run --release --example 01_load_and_evaluate -- hero.glb`
#![allow(clippy::print_stdout)]

use sinew::recipe::EffectSpec;
use sinew::{
    Cpu, DeformedMesh, Frame, FrameIndependentGraph, Kinematics, Motion, MotionSettings, Recipe, Scratch, WorldPose,
    evaluate,
};
use sinew_gltf::Asset;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a .glb or .gltf file with a skinned character and a clip")?;

    // A file becomes a rig and clips in one fallible call. From here on nothing can fail per frame.
    let Asset { rig, clips, warnings, .. } = Asset::open(path)?;
    for warning in &warnings {
        println!("warning: {warning}");
    }

    // What to do with it: linear blend skinning, and the effect `floppy` with its defaults.
    let floppy = EffectSpec::new("floppy").ok_or("this build has no floppy")?;
    let recipe = Recipe { effects: vec![floppy], ..Recipe::default() };
    let graph = FrameIndependentGraph::build(&rig, &recipe)?;

    // A clip as a function of time: pose, velocities and accelerations at any moment, without history.
    let clip = clips.first().ok_or("the file has no clips")?;
    let motion = Motion::new(
        rig.skeleton(),
        rig.bone_sizes(),
        &rig.morph_layout(),
        clip,
        &MotionSettings::default(),
        graph.filtered_signals(),
    )?;
    println!("{:?}: {}", clip.name, motion.report().verdict);

    let (mut pose, mut world, mut kinematics) = (rig.rest_pose(), WorldPose::default(), Kinematics::default());
    let (mut scratch, mut mesh) = (Scratch::default(), DeformedMesh::default());
    for time in [0.0, 0.25, 0.5] {
        motion.pose(time, &mut pose);
        world.compose(rig.skeleton(), &pose);
        motion.kinematics(time, &world, rig.skeleton(), &mut kinematics);
        let frame = Frame { rig: &rig, pose: &pose, world: &world, kinematics: &kinematics, time };
        evaluate(&graph, &frame, &Cpu::serial(), &mut scratch, &mut mesh);

        for part in rig.parts() {
            let vertices = part.primitives.iter().flat_map(|primitive| primitive.vertices.clone());
            let highest = vertices.map(|v| mesh.world_position(part.character, v).y).fold(f64::MIN, f64::max);
            println!("{time} s: the highest point of {:?} is at {highest:.4}", part.name);
        }
    }
    Ok(())
}
