//! Play a preset, turn one of its knobs while it plays, and export what you see:
//!
//! `cargo run --release --example 05_change_an_amount -- hero.glb hero-livelier.glb`
#![allow(clippy::print_stdout)]

use sinew::recipe::{Place, Strength};
use sinew::{RecipeFile, Stage, Workspace, presets};
use sinew_export::{Options, bake};
use sinew_gltf::Asset;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let (from, to) = paths.next().zip(paths.next()).ok_or("name a .glb or .gltf file and the .glb to write")?;
    let asset = Asset::open_original(from)?;
    let mut recipe = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
    let mut stage = Stage::new(&asset.rig, recipe.solve(&asset.rig, &asset.clips)?.recipe(0))?;
    let clip = asset.clips.first().ok_or("the file has no clips")?;
    let motion = Arc::clone(stage.motion(clip, &recipe.motion(&clip.name))?.motion());

    let mut workspace = Workspace::default();
    for strength in [0.02, 0.04, 0.08].into_iter().filter_map(Strength::new) {
        recipe.set(Place::Strength, strength)?;
        let retuned = stage.retune(recipe.solve(&asset.rig, &asset.clips)?.recipe(0))?;
        let mesh = stage.resume(&motion)?.frame(0.4, &mut workspace);
        println!("{strength} of its size: {:?}, vertex 0 at {}", retuned, mesh.world_position(0, 0));
    }
    bake(&asset, &recipe, &Options::default())?.document.save(to)?;
    Ok(())
}
