//! What files may ask for: refused with the limit and the flag that raises it, or read within it; and what is mended is told.
//!
//! A factor below 1 lowers all limits, so that small files show what large ones do.

use crate::common::{Folder, inspect, sinew};
use serde_json::json;
use sinew_testkit::glb::{Builder, base64};

/// Refused for a limit by the lowered limits, and read with the factor that goes on from there.
fn refused(file: &str, factor: &str, words: &str) {
    let run = sinew(["inspect", file, "--limits", factor]);
    assert_eq!(run.code, 1, "{words}: {}", run.stderr);
    assert!(run.stderr.contains(words) && run.stderr.contains("--limits"), "{} ∌ {words}", run.stderr);
    assert_eq!(sinew(["inspect", file, "--quiet"]).code, 0, "{words}");
}

#[test]
fn every_limit_is_named_with_the_flag_that_raises_it() {
    let folder = Folder::new();
    let plain = folder.write("plain.glb", Builder::rigged().glb());
    refused(&plain, "1e-6", "beyond the limit of 268");
    // Three times the same primitive, and no clip, whose length would be told first.
    let primitive = Builder::rigged().json["meshes"][0]["primitives"][0].clone();
    let thrice = Builder::rigged().with("/meshes/0/primitives", json!([primitive, primitive, primitive]));
    let thrice = folder.write("thrice.glb", thrice.without("/animations").glb());
    refused(&thrice, "5e-5", "has 60 vertices in meshes that move, beyond the limit of 50");
    let mut bones = Builder::rigged();
    let pad = (3..40).map(|n| json!({"name": n.to_string()}));
    for node in pad {
        bones.push("/nodes", node);
    }
    // Names on nodes make the file longer, and the limit on bytes must not come first.
    let many = folder.write("bones.glb", bones.glb());
    refused(&many, "2.5e-4", "has 40 nodes, beyond the limit of 32");
    let times = Builder::rigged().json["animations"][0]["samplers"][0]["input"].as_u64().expect("times") as usize;
    let long = Builder::rigged().poke(times, 2, 3_000.0f32);
    let long = folder.write("long.glb", long.glb());
    refused(&long, "0.5", "has 3000 seconds, beyond the limit of 1800");
    let recipe = folder.write("r.sinew.toml", "version = 1\n# and a long comment".repeat(4));
    let run = sinew(["check", "zoo:tube", "--recipe", &recipe, "--limits", "1e-6"]);
    assert!(run.code == 1 && run.stderr.contains("beyond the limit of 67") && run.stderr.contains("--limits"));
    for wrong in ["0", "-1", "NaN", "much"] {
        assert_eq!(sinew(["inspect", &plain, "--limits", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn a_data_uri_is_decoded_as_far_as_it_is_declared() {
    let folder = Folder::new();
    let file = Builder::rigged();
    // Of 20 vertices and four-byte numbers the bytes are no multiple of 3: fewer are declared, and used.
    let declared = file.bin.len() / 3 * 3;
    // Behind what is declared stands what is no base64: it is not looked at.
    let longer = format!("{}{}", base64(&file.bin[..declared]), "!".repeat(1000));
    let declared = file.with("/buffers/0/byteLength", json!(declared));
    let path = folder.write("long.gltf", declared.gltf(&format!("data:application/octet-stream;base64,{longer}")));
    assert_eq!(inspect(&path)["meshes"].as_array().map(Vec::len), Some(1));
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_no_files() {
    let folder = Folder::new();
    let pipe = folder.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for file in ["/dev/zero", &pipe] {
        for words in [
            vec!["inspect", file],
            vec!["check", "zoo:tube", "--recipe", file],
            vec!["pose", "zoo:tube", "--strokes", file, "-o", "never.glb"],
            vec!["edit", "zoo:tube", "--edit", file, "-o", "never.sinew.toml"],
            vec!["frame", "zoo:tube", "--motion", file, "-o", "-"],
        ] {
            let run = sinew(&words);
            assert_eq!(run.code, 1, "{words:?}: {}", run.stderr);
            assert!(run.stderr.contains("a device or a pipe, not a plain file"), "{words:?}: {}", run.stderr);
        }
    }
}

#[test]
fn mended_faults_are_told() {
    let codes = |file: &Builder| -> Vec<String> {
        let folder = Folder::new();
        let found = inspect(&folder.write("mended.glb", file.glb()));
        let warnings = found["warnings"].as_array().expect("warnings").clone();
        warnings.iter().filter_map(|warning| warning["code"].as_str().map(str::to_owned)).collect()
    };
    let told = |file: &Builder, code: &str| {
        let found = codes(file);
        assert!(found.iter().any(|found| found == code), "{code} ∉ {found:?}");
    };
    assert_eq!(codes(&Builder::rigged()), Vec::<String>::new());
    let accessor = |file: &Builder, name: &str| {
        file.json["meshes"][0]["primitives"][0]["attributes"][name].as_u64().expect("an accessor") as usize
    };
    let file = Builder::rigged();
    let joints = accessor(&file, "JOINTS_0");
    told(&file.clone().poke(joints, 2, 9u8), "unused-joint-out-of-range");
    // Both weights of a vertex in the middle are above 0.
    told(&file.clone().poke(joints, 4 * 8 + 1, 0u8), "joint-twice");
    let mut twice = file.clone();
    let mut identity = [0f32; 48];
    (0..3).for_each(|joint| (0..4).for_each(|n| identity[16 * joint + 5 * n] = 1.0));
    let binds = twice.accessor("MAT4", &identity);
    told(
        &twice.with("/skins/0/joints", json!([1, 2, 2])).with("/skins/0/inverseBindMatrices", json!(binds)),
        "skin-joint-twice",
    );
    let mut still = file.clone();
    still.push("/animations", json!({"name": "still", "channels": [], "samplers": []}));
    told(&still, "animation-empty");
    let turns = file.json["animations"][0]["samplers"][0]["output"].as_u64().expect("turns") as usize;
    told(&file.clone().poke(turns, 3, 2.0f32), "key-rotation-not-unit");
    // What integers of eight bits miss is no fault.
    assert_eq!(codes(&file.clone().poke(turns, 3, 1.004f32)), Vec::<String>::new());
    let mut empty = file.clone();
    empty.push("/meshes", json!({"name": "Nothing", "primitives": []}));
    empty.push("/nodes", json!({"name": "Nowhere", "mesh": 1, "skin": 0}));
    empty.push("/scenes/0/nodes", json!(3));
    told(&empty, "mesh-empty");
    let mut pointless = file.clone();
    let none = |file: &mut Builder, code: u32, kind: &str| {
        file.push("/accessors", json!({"componentType": code, "type": kind, "count": 0}))
    };
    let attributes = json!({
        "POSITION": none(&mut pointless, 5126, "VEC3"),
        "JOINTS_0": none(&mut pointless, 5121, "VEC4"),
        "WEIGHTS_0": none(&mut pointless, 5126, "VEC4"),
    });
    pointless.push("/meshes/0/primitives", json!({"attributes": attributes}));
    told(&pointless, "primitive-without-vertices");
}

#[test]
fn bind_and_pose_tell_of_pictures_left_outside() {
    let folder = Folder::new();
    let mut file = Builder::rigged();
    file.push("/images", json!({"uri": "away.png"}));
    let file = folder.write("picture.glb", file.glb());
    let strokes =
        folder.write("s.json", r#"{"strokes": [{"baseline": [[0,0,0],[0,2,0]], "offset": [[0,0,0],[1,1,0]]}]}"#);
    let out = folder.join("out.glb");
    for words in [vec!["pose", &file, "--strokes", &strokes], vec!["bind", &file]] {
        let run = sinew([words, vec!["-o", &out, "--force"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("away.png"), "{}", run.stderr);
    }
}
