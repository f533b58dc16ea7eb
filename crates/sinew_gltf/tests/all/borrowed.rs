//! Clips of other files in a document: they play as they were made, are baked on, and come off with the bake.

use sinew::{Clip, RawRig};
use sinew_gltf::{RawAsset, strip};
use sinew_testkit::random::Random;
use sinew_testkit::spec::SpecFile;
use sinew_zoo::ZooCharacter;

use crate::common::random_layer;

fn dancer() -> (RawRig, Vec<Clip>) {
    let ZooCharacter { raw, clips, .. } = sinew_zoo::build("dancer").expect("built in");
    (raw, clips)
}

fn asset(name: &str, raw: &RawRig, clips: &[Clip]) -> RawAsset {
    RawAsset::from_document(name, sinew_gltf::export(raw, clips).expect("a file")).expect("an asset")
}

/// Bones and clips alone, under Mixamo's prefix.
fn library() -> RawAsset {
    let (mut raw, clips) = dancer();
    raw.bones.iter_mut().for_each(|bone| bone.name = format!("mixamorig:{}", bone.name));
    raw.meshes.clear();
    raw.skins.clear();
    asset("library.glb", &raw, &clips)
}

#[test]
fn a_character_without_clips_gets_those_of_a_library() {
    let (raw, clips) = dancer();
    let still = asset("still.glb", &raw, &[]);
    let moving = still.clone().with_clips_of(&[library()]).expect("they match");
    let names: Vec<&str> = moving.clips.iter().map(|clip| clip.name.as_str()).collect();
    assert_eq!(names, ["twirl", "sway"]);
    let told = moving.warnings.iter().find(|w| w.code == "animations-taken").expect("told");
    assert!(told.message.contains("2 clips") && told.message.contains("matched"), "{}", told.message);
    let (own, taken) = (asset("own.glb", &raw, &clips), moving.document.to_glb().expect("a file"));
    let (own, taken) = (own.document.to_glb().expect("a file"), taken);
    let (own, taken) = (SpecFile::from_bytes(&own, None), SpecFile::from_bytes(&taken, None));
    for clip in 0..2 {
        for time in [0.0, 0.4, 1.0, 1.5] {
            for node in own.skinned_nodes() {
                let (a, b) = (own.positions(node, Some(clip), time), taken.positions(node, Some(clip), time));
                for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
                    let apart = (0..3).map(|n| (a[n] - b[n]).powi(2)).sum::<f64>().sqrt();
                    assert!(apart < 1e-4, "clip {clip} at {time}: {apart}");
                }
            }
        }
    }
}

#[test]
fn what_was_taken_comes_off_with_the_bake() {
    let (raw, _) = dancer();
    let mut still = asset("still.glb", &raw, &[]);
    still.document.pack().expect("one buffer");
    let moving = still.clone().with_clips_of(&[library()]).expect("they match");
    let mut document = moving.document.clone();
    let layer = random_layer(&moving.raw, &document, true, &mut Random::new(3));
    assert!(!layer.clips.is_empty());
    sinew_gltf::layer::add(&mut document, &layer).expect("fits");
    assert!(document.json["animations"].as_array().is_some_and(|clips| clips.len() == 2));
    assert!(strip(&mut document).expect("as it was"));
    assert_eq!(document.json, still.document.json);
    assert!(document.buffers == still.document.buffers);
}

#[test]
fn what_does_not_match_is_told() {
    let (raw, clips) = dancer();
    let mut other = raw.clone();
    let hand = raw.bones.iter().position(|bone| bone.name == "hand.L").expect("a hand");
    other.bones[hand].name = "hook".into();
    let mine = asset("mine.glb", &other, &clips);
    let both = mine.clone().with_clips_of(&[library()]).expect("most match");
    let names: Vec<&str> = both.clips.iter().map(|clip| clip.name.as_str()).collect();
    assert_eq!(names, ["twirl", "sway", "twirl (library)", "sway (library)"]);
    let words = |code: &str| both.warnings.iter().find(|w| w.code == code).map(ToString::to_string).unwrap_or_default();
    assert!(words("animation-bones-missing").contains("\"mixamorig:hand.L\""));
    assert!(words("animation-bones-still").contains("\"hook\""));
    other.bones.iter_mut().enumerate().for_each(|(n, bone)| bone.name = format!("x{n}"));
    let stranger = asset("stranger.glb", &other, &[]);
    let error = stranger.clone().with_clips_of(&[library()]).expect_err("nothing matches").to_string();
    assert!(
        error.starts_with("library.glb: ") && error.contains("mixamorig:hips") && error.contains("\"x0\""),
        "{error}"
    );
    let error = mine.with_clips_of(&[stranger]).expect_err("no clips").to_string();
    assert!(error.starts_with("stranger.glb: ") && error.contains("has none"), "{error}");
}
