//! The same character, cut finer: methods that look at the surface put it in the same place. Prints a table:
//! `cargo test -p sinew_gltf --test all resolution_on_real_characters -- --nocapture`. `SINEW_FULL=1` cuts twice.

use crate::normals_on_real_characters::subdivided;
use sinew::*;
use sinew_testkit::assets::asset;
use std::sync::Arc;

const METHODS: [(&str, &str); 4] = [
    ("springs", "version = 1\n[[correction]]\ntype = 'springs'\n"),
    ("volume", "version = 1\n[[correction]]\ntype = 'volume'\n"),
    ("fold-over-free", "version = 1\nbase = 'fold-over-free'\n"),
    ("incremental-rotation", "version = 1\nbase = 'incremental-rotation'\n"),
];

#[test]
#[allow(clippy::print_stdout, reason = "the figures are the point")]
fn a_finer_cut_of_a_character_stays_in_place() {
    let (cuts, frames) = if std::env::var_os("SINEW_FULL").is_some() { (1, 24) } else { (1, 3) };
    let Some(path) = asset("CesiumMan.glb") else { return };
    let imported = sinew_gltf::RawAsset::open(&path).expect("imports");
    let mut fine = imported.raw.clone();
    for primitive in fine.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        (0..cuts).for_each(|_| *primitive = subdivided(primitive));
    }
    let count = imported.raw.meshes[0].primitives[0].positions.len();
    let rigs = [&imported.raw, &fine].map(|raw| Arc::new(Rig::build(raw).expect("builds").0));
    let size = rigs[0].characters()[0].size;
    let clip = &imported.clips[0];
    let (start, end) = clip.span().expect("keys");
    for (name, recipe) in METHODS {
        let recipe = RecipeFile::parse(recipe).expect("a recipe").recipe().clone();
        let (mut largest, mut sum) = (0.0f64, 0.0);
        let stages = rigs.each_ref().map(|rig| Stage::new(rig, &recipe).expect("fits"));
        for frame in 0..frames {
            let time = start + (end - start) * (f64::from(frame) + 0.5) / f64::from(frames);
            let [coarse, fine] = stages.each_ref().map(|stage| {
                let playing = stage.motion(clip, &MotionSettings::default()).expect("reads");
                playing.frame(time, &mut Workspace::default()).clone()
            });
            for vertex in 0..count {
                let apart = coarse.world_position(0, vertex).distance(fine.world_position(0, vertex)) / size;
                largest = largest.max(apart);
                sum += apart;
            }
        }
        println!(
            "{name}: at most {:.2} % of the size, {:.3} % in the mean",
            100.0 * largest,
            100.0 * sum / f64::from(frames) / count as f64
        );
        assert!(largest < 0.011, "{name}: {largest}");
    }
}
