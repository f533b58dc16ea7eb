//! Files without skins: meshes on animated nodes are one character for each tree, and have effects like riders.

use serde_json::json;
use sinew::recipe::EffectSpec;
use sinew::{MotionSettings, Recipe, Stage, Workspace};
use sinew_gltf::{Asset, RawAsset};
use sinew_testkit::glb::Builder;
use sinew_testkit::spec::SpecFile;

/// A crane: a foot that stands, an arm that turns on it and a hook that turns on the arm; and a stone that lies about.
fn crane() -> Builder {
    let mut file = Builder::new();
    let mut corners: Vec<f32> = Vec::new();
    for corner in 0..8 {
        corners.extend([0, 1, 2].map(|axis| if corner >> axis & 1 == 1 { 0.5f32 } else { -0.5 }));
    }
    let faces: [u16; 36] =
        [0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5];
    let positions = file.accessor("VEC3", &corners);
    let indices = file.accessor("SCALAR", &faces);
    file.push("/meshes", json!({"primitives": [{"attributes": {"POSITION": positions}, "indices": indices}]}));
    for node in [
        json!({"name": "foot", "mesh": 0, "children": [1]}),
        json!({"name": "arm", "mesh": 0, "translation": [0, 1, 0], "children": [2]}),
        json!({"name": "hook", "mesh": 0, "translation": [3, 0, 0]}),
        json!({"name": "stone", "mesh": 0, "translation": [9, 0, 0]}),
    ] {
        file.push("/nodes", node);
    }
    file.push("/scenes", json!({"nodes": [0, 3]}));
    let times = file.accessor("SCALAR", &[0.0f32, 0.3, 0.6, 0.9]);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let turns =
        file.accessor("VEC4", &[0.0f32, 0.0, 0.0, 1.0, 0.0, half, 0.0, half, 0.0, half, 0.0, half, 0.0, 0.0, 0.0, 1.0]);
    let sampler = json!({"input": times, "output": turns});
    let channel = |node: usize| json!({"sampler": 0, "target": {"node": node, "path": "rotation"}});
    file.push("/animations", json!({"name": "swing", "samplers": [sampler], "channels": [channel(1), channel(2)]}));
    file
}

#[test]
fn trees_of_nodes_are_characters() {
    let file = crane();
    let asset = RawAsset::from_slice("crane.glb", &file.glb()).expect("imports");
    assert_eq!(asset.raw.meshes.iter().map(|mesh| mesh.node).collect::<Vec<_>>(), [0, 1, 2], "not the stone");
    let asset = asset.check().expect("a character");
    assert_eq!(asset.rig.characters().len(), 1);
    assert_eq!(asset.rig.vertex_count(), 24);
}

#[test]
fn they_move_as_the_specification_says_and_have_effects() {
    let file = crane();
    let asset = Asset::from_slice("crane.glb", &file.glb()).expect("imports");
    let truth = SpecFile::from_bytes(&file.glb(), None);
    let frame = |effects: Vec<EffectSpec>, time: f64| {
        let stage = Stage::new(&asset.rig, &Recipe { effects, ..Recipe::default() }).expect("fits");
        let playing = stage.motion(&asset.clips[0], &MotionSettings::default()).expect("a motion");
        playing.frame(time, &mut Workspace::default()).positions.clone()
    };
    let effects = || -> Vec<EffectSpec> {
        let specs = sinew::registry::EFFECTS.iter().map(|&effect| EffectSpec::of(effect));
        specs.filter(|effect| effect.cone.is_none()).collect()
    };
    for time in [0.0, 0.2, 0.45, 0.8] {
        let truth: Vec<[f64; 3]> = (0..3).flat_map(|node| truth.positions(node, Some(0), time)).flatten().collect();
        let base = frame(Vec::new(), time);
        for (p, q) in base.iter().zip(&truth) {
            let apart = p.as_dvec3().distance((*q).into());
            assert!(apart < 1e-5, "{apart} at {time}");
        }
        let with = frame(effects(), time);
        assert!(with.iter().all(|p| p.is_finite()));
        let moved = with.iter().zip(&base).map(|(p, q)| p.distance(*q)).fold(0.0, f32::max);
        assert!(time != 0.2 || moved > 1e-3, "moved by {moved} at {time}");
    }
}
