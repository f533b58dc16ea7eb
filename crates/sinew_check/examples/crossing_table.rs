//! How often skin crosses itself: every rigged, animated character of `SINEW_ASSETS`, by linear blending and by other
//! bases.
//!
//! `cargo run --release -p sinew_check --example crossing_table -- [NAMES] [FRAMES] [BASE]…`: parts of names with commas
//! between them; frames of a clip; bases as recipes have them, such as `type = "fold-over-free", steps = 8`. Clips: all
//! of up to 8, else 6.

#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use glam::DVec3;
use rayon::prelude::*;
use sinew::{Cpu, DeformedMesh, Recipe, RecipeFile, Rig, Stage, Workspace};
use sinew_check::crossings::{CrossingCount, CrossingCounter};
use sinew_gltf::Asset;
use sinew_testkit::assets::{assets, folder};
use std::time::Instant;

/// What a base does over the frames of a character.
#[derive(Clone, Copy, Default)]
struct Sums {
    within: usize,
    between: usize,
    /// From linear blending, in sizes: the mean over frames and vertices, the farthest.
    mean: f64,
    most: f64,
    seconds: f64,
}

fn placed(rig: &Rig, mesh: &DeformedMesh) -> Vec<DVec3> {
    (0..rig.vertex_count()).map(|v| mesh.world_position(rig.character_of_point(rig.point(v)).unwrap_or(0), v)).collect()
}

fn measure(asset: &Asset, recipes: &[Recipe], frames: usize) -> Result<Vec<Sums>, Box<dyn std::error::Error>> {
    let Asset { rig, clips, .. } = asset;
    let stages = recipes.iter().map(|recipe| Stage::new(rig, recipe)).collect::<Result<Vec<_>, _>>()?;
    let mut workspace = Workspace::default();
    stages[0].resting(&mut workspace).deform(&Cpu::serial());
    let mut counter = CrossingCounter::new(rig, &placed(rig, workspace.mesh()));
    let size = rig.characters().iter().map(|character| character.size).fold(0.0, f64::max);
    let (mut sums, mut looked) = (vec![Sums::default(); recipes.len()], 0);
    let count = if clips.len() <= 8 { clips.len() } else { 6 };
    for clip in (0..count).map(|k| &clips[k * clips.len() / count]) {
        let playing: Vec<_> =
            stages.iter().map(|stage| stage.motion(clip, &Default::default())).collect::<Result<_, _>>()?;
        let (start, end) = clip.span().unwrap_or_default();
        for frame in 0..frames {
            let time = start + (end - start) * (frame as f64 + 0.5) / frames as f64;
            let mut linear = Vec::new();
            for (playing, sums) in playing.iter().zip(&mut sums) {
                let start = Instant::now();
                playing.frame(time, &mut workspace);
                sums.seconds += start.elapsed().as_secs_f64();
                let points = placed(rig, workspace.mesh());
                let CrossingCount { within, between } = counter.count(&points);
                sums.within += within;
                sums.between += between;
                if linear.is_empty() {
                    linear = points;
                } else {
                    let apart = linear.iter().zip(&points).map(|(a, b)| a.distance(*b) / size);
                    sums.mean += apart.clone().sum::<f64>() / linear.len() as f64;
                    sums.most = apart.fold(sums.most, f64::max);
                }
            }
            looked += 1;
        }
    }
    for sums in &mut sums {
        sums.mean /= f64::from(looked.max(1));
        sums.seconds /= f64::from(looked.max(1));
    }
    Ok(sums)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = folder().ok_or("SINEW_ASSETS must name the folder of characters")?;
    let only = std::env::args().nth(1).unwrap_or_default();
    let frames: usize = std::env::args().nth(2).map_or(Ok(6), |frames| frames.parse())?;
    let mut bases: Vec<String> = std::env::args().skip(3).collect();
    if bases.is_empty() {
        bases.push("type = \"fold-over-free\"".to_owned());
    }
    let mut recipes = vec![Recipe::default()];
    for base in &bases {
        recipes.push(RecipeFile::parse(&format!("version = 1\nbase = {{ {base} }}\n"))?.recipe().clone());
    }
    let rows: Vec<_> = (assets().par_iter().with_max_len(1))
        .filter_map(|path| {
            let name = path.strip_prefix(&folder).unwrap_or(path).with_extension("").display().to_string();
            let named = only.split(',').any(|word| name.contains(word));
            let asset = named.then(|| Asset::open_original(path).ok()).flatten()?;
            let fits = !asset.clips.is_empty() && (1..30_000).contains(&asset.rig.vertex_count());
            fits.then(|| (name, measure(&asset, &recipes, frames).map_err(|error| error.to_string())))
        })
        .collect();
    println!(
        "| character | linear | base | within | between | mean ‰ | most ‰ | ms |\n|---|---|---|---|---|---|---|---|"
    );
    for (name, outcome) in rows {
        let sums = outcome?;
        let linear = sums[0];
        for (base, sums) in bases.iter().zip(&sums[1..]) {
            println!(
                "| {name} | {} / {} | {base} | {} | {} | {:.1} | {:.0} | {:.1} |",
                linear.within,
                linear.between,
                sums.within,
                sums.between,
                sums.mean * 1e3,
                sums.most * 1e3,
                sums.seconds * 1e3
            );
        }
    }
    Ok(())
}
