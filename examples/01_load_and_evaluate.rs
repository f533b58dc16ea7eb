//! Load a character, choose a preset, play it in any order:
//!
//! `cargo run --release --example 01_load_and_evaluate -- hero.glb`
#![allow(clippy::print_stdout)]

use sinew::{RecipeFile, Stage, Workspace, presets};
use sinew_gltf::Asset;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a .glb or .gltf file with a skinned character and a clip")?;
    let Asset { rig, clips, warnings, .. } = Asset::open(path)?;
    warnings.iter().for_each(|warning| println!("warning: {warning}"));

    let recipe = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
    let solved = recipe.solve(&rig, &clips)?;
    solved.findings().for_each(|finding| println!("{finding}"));
    let stage = Stage::new(&rig, solved.recipe(0))?;
    let clip = clips.first().ok_or("the file has no clips")?;
    let playing = stage.motion(clip, &recipe.motion(&clip.name))?;
    println!("{:?}: {}", clip.name, playing.report().verdict);

    // A frame depends on nothing but its time.
    let mut workspace = Workspace::default();
    for time in [0.5, 0.0, 0.25] {
        let mesh = playing.frame(time, &mut workspace);
        let highest = (0..mesh.positions.len()).map(|v| mesh.world_position(0, v).y).fold(f64::MIN, f64::max);
        println!("{time} s: the highest point is at {highest:.4}");
    }
    Ok(())
}
