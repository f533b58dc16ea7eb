//! Load a character, choose a preset, play it, change an amount and play on:
//!
//! `cargo run --release --example 01_load_and_evaluate -- hero.glb`
#![allow(clippy::print_stdout)]

use sinew::{RecipeFile, Rig, Stage, Workspace, presets};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a .glb or .gltf file with a skinned character and a clip")?;
    let asset = sinew_gltf::import(path.as_ref())?;
    let (rig, warnings) = Rig::build(&asset.raw)?;
    asset.warnings.iter().chain(&warnings).for_each(|warning| println!("warning: {warning}"));

    let recipe = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
    let stage = Stage::new(&Arc::new(rig), recipe.recipe())?;
    let clip = asset.clips.first().ok_or("the file has no clips")?;
    let playing = stage.motion(clip, &recipe.motion(&clip.name))?;
    println!("{:?}: {}", clip.name, playing.report().verdict);

    // Any time, in any order: a frame depends on nothing but its time.
    let mut workspace = Workspace::default();
    for time in [0.5, 0.0, 0.25] {
        let mesh = playing.frame(time, &mut workspace);
        let highest = (0..mesh.positions.len()).map(|v| mesh.world_position(0, v).y).fold(f64::MIN, f64::max);
        println!("{time} s: the highest point is at {highest:.4}");
    }
    Ok(())
}
