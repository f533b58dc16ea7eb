//! Every test character imports, and warns of what is wrong with it and of nothing else.

use sinew::raw::RawBinding;
use sinew_gltf::{Container, Document, RawAsset};
use sinew_testkit::assets::{asset, assets};
use std::path::Path;

#[test]
fn every_character_imports() {
    for path in assets() {
        let asset = RawAsset::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let is_glb = path.extension().is_some_and(|e| e == "glb");
        assert_eq!(asset.document.container == Container::Glb, is_glb);
        for mesh in &asset.raw.meshes {
            for primitive in &mesh.primitives {
                let influences = &primitive.influences;
                assert_eq!(influences.per_vertex > 0, mesh.binding != RawBinding::Node, "{}", path.display());
                assert_eq!(influences.weights.len(), influences.per_vertex * primitive.positions.len());
                assert_eq!(influences.joints.len(), influences.weights.len());
                assert_eq!(primitive.morphs.len(), mesh.morph_weights.len());
            }
        }
    }
}

fn warnings(file: &str) -> Option<Vec<(&'static str, String)>> {
    let asset = RawAsset::open(asset(file)?).unwrap_or_else(|e| panic!("{e}"));
    Some(asset.warnings.into_iter().map(|w| (w.code, w.subject)).collect())
}

#[test]
fn clean_characters_warn_of_nothing() {
    for file in [
        "CesiumMan.glb",
        "Fox.glb",
        "InterpolationTest.glb",
        "KayKit_Knight.glb",
        "MakeHuman_skirt.glb",
        "Quaternius_farm/Cow.gltf",
        "RiggedFigure.glb",
        "RiggedSimple.glb",
        "SimpleSkin.gltf",
        "Spot_velocity_skinning.glb",
        "asset_generator/Animation_Skin_00.gltf",
        "asset_generator/Animation_Skin_01.gltf",
        "asset_generator/Animation_Skin_04.gltf",
        "asset_generator/Animation_Skin_05.gltf",
    ] {
        let Some(warnings) = warnings(file) else { return };
        assert_eq!(warnings, [], "{file}");
    }
}

#[test]
fn dirty_characters_say_what_is_wrong() {
    for (file, code, subject) in [
        ("momentum_test_24fps.glb", "attribute-unsigned-int", "mesh 0 \"attribdelete1\", primitive 0, _capt_parents"),
        ("asset_generator/Animation_Skin_02.gltf", "skinned-mesh-transform", "node 1 \"plane\""),
        ("asset_generator/Animation_Skin_03.gltf", "joints-outside-scene", "skin 0 \"skinA\""),
    ] {
        let Some(warnings) = warnings(file) else { return };
        assert_eq!(warnings, [(code, subject.to_owned())], "{file}");
    }
}

#[test]
fn riders_come_along_and_scenery_does_not() {
    for (file, skinned, riders) in [
        ("RobotExpressive.glb", 2, 12),
        ("KayKit_Knight.glb", 6, 9),
        ("InterpolationTest.glb", 0, 9),
        ("asset_generator/Animation_Skin_05.gltf", 1, 1),
    ] {
        let Some(path) = asset(file) else { return };
        let asset = RawAsset::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let count = |rides: bool| asset.raw.meshes.iter().filter(|m| (m.binding == RawBinding::Node) == rides).count();
        assert_eq!((count(false), count(true)), (skinned, riders), "{file}");
        assert!(asset.raw.meshes.is_sorted_by_key(|m| m.node));
    }
}

#[test]
fn the_document_is_kept_whole() {
    for path in assets() {
        let asset = RawAsset::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let bytes = std::fs::read(&path).expect("readable");
        let text = match asset.document.container {
            Container::Gltf => bytes,
            Container::Glb => {
                let length = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) as usize;
                bytes[20..20 + length].to_vec()
            }
        };
        let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        // As text, so that the order of members counts.
        assert_eq!(asset.document.json.to_string(), json.to_string(), "{}", path.display());
    }
}

#[test]
fn names_in_messages_are_the_paths_given() {
    let Some(path) = asset("Fox.glb") else { return };
    let mut bytes = std::fs::read(&path).expect("readable");
    bytes.truncate(5000);
    let error = Document::from_slice("pets/fox.glb", &bytes, path.parent().map(Path::new)).expect_err("cut short");
    assert!(error.to_string().starts_with("pets/fox.glb: "), "{error}");
}
