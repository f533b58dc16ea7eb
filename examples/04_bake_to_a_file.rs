//! Put a preset into a file as morph targets that any engine plays:
//!
//! `cargo run --release --example 04_bake_to_a_file -- hero.glb hero-lively.glb`
#![allow(clippy::print_stdout)]

use sinew::{RecipeFile, presets};
use sinew_export::{Options, bake};
use sinew_gltf::Asset;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (paths.next(), paths.next()) else {
        return Err("name a .glb or .gltf file with a skinned character and clips, and the .glb to write".into());
    };

    // Without what an earlier run added, so that a baked file can be baked again.
    let asset = Asset::open_original(from)?;
    let recipe = RecipeFile::parse(presets::get("lively").ok_or("this build has no lively")?)?;
    let baked = bake(&asset, &recipe, &Options::default())?;
    baked.document.save(to)?;

    let (targets, error) = (baked.report.most_targets(), 100.0 * baked.report.largest_share());
    println!("{targets} morph targets, no vertex farther than {error:.3} % of the size from where it belongs");
    Ok(())
}
