//! Automatic weights against the artist's, as a table:
//! `cargo test -p sinew_gltf --test all bind_on_real_characters -- --nocapture`.
//!
//! The figure is the mean distance between the two skinned poses over all vertices and clips, in thousandths of the
//! character's size.
use sinew::bind::{BindOptions, Method, bind_skin};
use sinew::*;
use sinew_testkit::assets::asset;
use std::sync::Arc;

const CHARACTERS: [&str; 7] = [
    "CesiumMan.glb",
    "Fox.glb",
    "Quaternius_Apatosaurus.glb",
    "Quaternius_Velociraptor.glb",
    "Quaternius_farm/Cow.gltf",
    "RiggedFigure.glb",
    "Spot_velocity_skinning.glb",
];

const METHODS: [(&str, Method); 4] = [
    ("heat", Method::Heat),
    ("distance", Method::DISTANCE),
    ("by length", Method::Distance { alpha: 4.0, by_length: true, normals_only: false }),
    ("by normals", Method::Distance { alpha: 4.0, by_length: false, normals_only: true }),
];

const FRAMES: usize = 8;

/// Positions of all frames of all clips.
fn poses(raw: &RawRig, clips: &[Clip]) -> (Vec<glam::DVec3>, f64) {
    let rig = Arc::new(Rig::build(raw).expect("builds").0);
    let stage = Stage::new(&rig, &Recipe::default()).expect("an empty recipe fits");
    let mut workspace = Workspace::default();
    let mut found = Vec::new();
    for clip in clips {
        let playing = stage.motion(clip, &MotionSettings::default()).expect("reads");
        let (start, end) = clip.span().unwrap_or((0.0, 0.0));
        for frame in 0..FRAMES {
            let time = start + (end - start) * frame as f64 / FRAMES as f64;
            let out = playing.frame(time, &mut workspace);
            found.extend((0..out.positions.len()).map(|vertex| out.world_position(0, vertex)));
        }
    }
    (found, rig.characters()[0].size)
}

#[test]
fn heat_is_nearer_to_the_artists_weights() {
    let mut sums = [0.0; METHODS.len()];
    let mut rows = 0;
    print!("{:<32}", "character");
    METHODS.iter().for_each(|(name, _)| print!(" {name:>12}"));
    println!();
    for name in CHARACTERS {
        let Some(path) = asset(name) else { return };
        let imported = sinew_gltf::RawAsset::open(&path).expect("imports");
        let (artist, size) = poses(&imported.raw, &imported.clips);
        print!("{name:<32}");
        for (column, (_, method)) in METHODS.iter().enumerate() {
            let mut raw = imported.raw.clone();
            for skin in 0..raw.skins.len() {
                bind_skin(&mut raw, skin, &BindOptions { method: *method, influences: 4 }).expect("binds");
            }
            let (automatic, _) = poses(&raw, &imported.clips);
            let apart: f64 = artist.iter().zip(&automatic).map(|(a, b)| a.distance(*b)).sum();
            let mean = 1000.0 * apart / (artist.len() as f64 * size);
            sums[column] += mean;
            print!(" {mean:>12.3}");
        }
        println!();
        rows += 1;
    }
    print!("{:<32}", "mean");
    sums.iter().for_each(|sum| print!(" {:>12.3}", sum / f64::from(rows)));
    println!();
    assert!(sums[1..].iter().all(|&sum| sums[0] < sum), "{sums:?}");
}
