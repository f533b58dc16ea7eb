//! `--animations`: clips of other files on every command that plays clips; what is baked holds them, and strip takes
//! them off.

use crate::common::{Folder, frame, inspect, json, sinew};
use serde_json::{Value, json};
use sinew_testkit::glb::Builder;

/// The small character of the test kit without clips, under a prefix.
fn still(folder: &Folder) -> String {
    let mut file = Builder::rigged();
    file.json["nodes"][1]["name"] = "mixamorig:lower".into();
    file.json["nodes"][2]["name"] = "mixamorig:upper".into();
    folder.write("still.glb", file.without("/animations").glb())
}

#[test]
fn clips_are_played_baked_and_taken_off() {
    let folder = Folder::new();
    let still = still(&folder);
    let moves = folder.write("moves.glb", Builder::rigged().glb());
    let options = ["--animations", &moves, "--clip", "bend", "--time", "0.5"];
    let (taken, own) = (frame(&still, &options), frame(&moves, &options[2..]));
    assert_eq!(taken["clip"], "bend");
    let places = |frame: &Value| crate::common::all(&frame["meshes"], "positions");
    assert!(crate::common::farthest(&places(&taken), &places(&own)) < 1e-5);
    let report = json(["inspect", &still, "--json", "--animations", &moves]);
    assert!(report["warnings"].to_string().contains("animations-taken"), "{}", report["warnings"]);
    let baked = folder.join("baked.glb");
    let run = sinew(["bake", &still, "--animations", &moves, "-o", &baked, "--preset", "lively"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("3 bones matched"), "{}", run.stderr);
    assert_eq!(inspect(&baked)["clips"][0]["name"], "bend");
    let stripped = folder.join("stripped.glb");
    assert_eq!(sinew(["strip", &baked, "-o", &stripped]).code, 0);
    assert_eq!(sinew(["diff", &still, &stripped]).code, 0);
    for args in [vec!["check"], vec!["render", "-o", "-"], vec!["liven", "-o", "x.glb"]] {
        let mut args = args;
        args.insert(1, &still);
        args.extend(["--animations", "zoo:snail"]);
        let run = sinew(args);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("zoo:snail: its clips: move"), "{}", run.stderr);
    }
}

#[test]
fn files_that_nothing_can_be_added_to_are_told_why() {
    let folder = Folder::new();
    let mut morphs = Builder::rigged().without("/nodes/0/skin").without("/skins");
    morphs.json["meshes"][0]["primitives"][0]["targets"] = json!([{"POSITION": 0}]);
    let weights = morphs.accessor("SCALAR", &[0.0f32, 1.0, 0.0]);
    let samplers = morphs.json["animations"][0]["samplers"].as_array_mut().expect("samplers");
    samplers.truncate(1);
    samplers[0]["output"] = weights.into();
    let target = json!({"node": 0, "path": "weights"});
    morphs.json["animations"][0]["channels"] = json!([{"sampler": 0, "target": target}]);
    let morphs = folder.write("morphs.glb", morphs.glb());
    for command in
        [&["frame", &morphs, "-o", "x.obj"][..], &["liven", &morphs, "-o", "x.glb"], &["bake", &morphs, "-o", "x.glb"]]
    {
        let run = sinew(command);
        assert_eq!(run.code, 1, "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains("morphs.glb") && run.stderr.contains("morph targets alone"), "{}", run.stderr);
    }
}
