//! `sinew frame`: the JSON layout, the same frame in every format, and the numbers against an evaluator written from
//! the glTF specification alone.

use crate::common::{Folder, all, farthest, frame, inspect, sinew, triple, triples};
use serde_json::{Value, json};
use sinew_testkit::glb::Builder;
use sinew_testkit::spec::SpecFile;

/// Rounding of positions to f32, for the small characters used here.
const ROUNDING: f64 = 1e-6;
/// The tests' JSON reader may miss the last bit of a number.
const READING: f64 = 1e-15;

#[test]
fn the_layout_is_as_documented() {
    let frame = frame("zoo:tube", &["--clip", "wave", "--time", "0.4"]);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&frame),
        ["file", "clip", "clip_index", "base", "characters", "warnings", "time", "meshes", "rigid_meshes", "bones"]
    );
    assert_eq!(keys(&frame["characters"][0]), ["name", "size"]);
    assert_eq!(frame["characters"][0]["size"], inspect("zoo:tube")["characters"][0]["size"]);
    assert_eq!(frame["meshes"][0]["character"], 0);
    assert_eq!(frame["clip"], "wave");
    assert_eq!(frame["clip_index"], 0);
    assert_eq!(frame["time"], 0.4);
    assert_eq!(frame["base"], "lbs");
    assert_eq!(frame["rigid_meshes"], json!([]));
    let mesh = &frame["meshes"][0];
    assert_eq!(keys(mesh), ["node", "name", "character", "primitives"]);
    let primitive = &mesh["primitives"][0];
    assert_eq!(keys(primitive), ["positions", "base_positions", "normals", "indices"]);
    let vertices = triples(&primitive["positions"]).len();
    assert_eq!(primitive["positions"], primitive["base_positions"], "no recipe, no effects");
    for normal in triples(&primitive["normals"]) {
        assert!((normal.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-5);
    }
    assert_eq!(triples(&primitive["normals"]).len(), vertices);
    let indices = primitive["indices"].as_array().unwrap();
    assert!(indices.len().is_multiple_of(3) && indices.iter().all(|i| i.as_u64().unwrap() < vertices as u64));
    for (node, bone) in frame["bones"].as_array().unwrap().iter().enumerate() {
        assert_eq!(
            keys(bone),
            [
                "node",
                "name",
                "parent",
                "origin",
                "centroid",
                "linear_velocity",
                "angular_velocity",
                "linear_acceleration",
                "angular_acceleration"
            ]
        );
        assert_eq!(bone["node"], node);
    }
    assert_eq!(frame["bones"][0]["parent"], Value::Null);
    assert_eq!(frame["bones"][1]["parent"], 0);
    assert_eq!(frame["bones"][4]["name"], "tube");
    assert_eq!(frame["bones"][4]["centroid"], Value::Null, "a node that moves no skin");
}

#[test]
fn positions_agree_with_the_specification() {
    let folder = Folder::new();
    // Far from the origin the digits must still be there.
    for (name, far) in [("near.glb", 0.0), ("far.glb", 10_000.0)] {
        let builder = Builder::rigged().with("/nodes/1/translation", json!([far, 0.25, -far]));
        let turn = json!([{"sampler": 0, "target": {"node": 2, "path": "rotation"}}]);
        let file = folder.write(name, builder.with("/animations/0/channels", turn).glb());
        let spec = SpecFile::open(file.as_ref());
        let node = spec.skinned_nodes()[0];
        let clip = &spec.clips()[0];
        assert!(
            farthest(&all(&frame(&file, &[])["meshes"], "positions"), &spec.positions(node, None, 0.0)[0]) < ROUNDING
        );
        for step in 0..5 {
            let time = clip.start + (clip.end - clip.start) * f64::from(step) / 4.0;
            let frame = frame(&file, &["--clip", "0", "--loop", "no", "--time", &time.to_string()]);
            assert_eq!(frame["meshes"][0]["node"], node);
            for field in ["positions", "base_positions"] {
                let off = farthest(&all(&frame["meshes"], field), &spec.positions(node, Some(0), time)[0]);
                assert!(off < ROUNDING, "{name} {field} at {time}: {off:e}");
            }
            for bone in frame["bones"].as_array().unwrap() {
                let world = spec.node_world(bone["node"].as_u64().unwrap() as usize, Some(0), time);
                assert!(
                    farthest(&[triple(&bone["origin"])], &[[world[12], world[13], world[14]]]) < 1e-9 * (1.0 + far)
                );
            }
        }
    }
}

#[test]
fn indices_are_the_files_own() {
    let folder = Folder::new();
    let file = folder.write("tube.glb", Builder::rigged().glb());
    let spec = SpecFile::open(file.as_ref());
    let accessor = spec.json().pointer("/meshes/0/primitives/0/indices").unwrap().as_u64().unwrap();
    let expected: Vec<u64> = spec.accessor(accessor as usize).iter().map(|&i| i as u64).collect();
    assert_eq!(frame(&file, &[])["meshes"][0]["primitives"][0]["indices"], json!(expected));
}

#[test]
fn times_outside_the_clip_are_clamped_or_wrapped() {
    let at = |time: &str, looping: &str| frame("zoo:tube", &["--clip", "wave", "--time", time, "--loop", looping]);
    assert_eq!(at("-5", "no")["time"], 0.0);
    assert_eq!(at("99", "no")["time"], at("1.6", "no")["time"]);
    let (wrapped, inside) = (at("3.6", "auto"), at("0.4", "auto"));
    assert!((wrapped["time"].as_f64().unwrap() - 0.4).abs() < 1e-6);
    assert!(farthest(&all(&wrapped["meshes"], "positions"), &all(&inside["meshes"], "positions")) < 1e-5);
}

#[test]
fn a_name_is_tried_before_a_number() {
    let folder = Folder::new();
    let mut builder = Builder::rigged();
    let mut second = builder.json.pointer("/animations/0").unwrap().clone();
    builder.set("/animations/0/name", json!("1"));
    second["name"] = json!("other");
    builder.push("/animations", second);
    let file = folder.write("clips.glb", builder.glb());
    for (asked, index) in [("1", 0), ("0", 0), ("other", 1)] {
        assert_eq!(frame(&file, &["--clip", asked])["clip_index"], index, "{asked}");
    }
}

#[test]
fn a_file_without_skins_gives_empty_meshes() {
    let folder = Folder::new();
    let builder = Builder::rigged().without("/nodes/0/skin").without("/skins");
    let frame = frame(&folder.write("plain.glb", builder.glb()), &[]);
    assert_eq!(frame["meshes"], json!([]));
    assert_eq!(frame["bones"].as_array().unwrap().len(), 3);
}

#[test]
fn every_format_tells_the_same() {
    let folder = Folder::new();
    let options = ["--clip", "twist", "--time", "0.3", "--base", "dqs"];
    let json = frame("zoo:tube", &options);
    let (positions, normals) = (all(&json["meshes"], "positions"), all(&json["meshes"], "normals"));
    let indices: Vec<u64> =
        json["meshes"][0]["primitives"][0]["indices"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect();
    let write = |name: &str| {
        let target = folder.join(name);
        let run = sinew([&["frame", "zoo:tube", "-o", &target], &options[..]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        std::fs::read(target).unwrap()
    };

    let obj = String::from_utf8(write("frame.obj")).unwrap();
    let numbers = |key: &str| -> Vec<[f64; 3]> {
        let lines = obj.lines().filter_map(|line| line.strip_prefix(key));
        lines.map(|l| l.split(' ').map(|x| x.parse().unwrap()).collect::<Vec<f64>>().try_into().unwrap()).collect()
    };
    assert!(farthest(&numbers("v "), &positions) < READING);
    assert!(farthest(&numbers("vn "), &normals) < 1e-7);
    let corners = obj.lines().filter_map(|line| line.strip_prefix("f ")).flat_map(|face| face.split(' '));
    let corners: Vec<u64> = corners
        .map(|corner| {
            let (v, n) = corner.split_once("//").unwrap();
            assert_eq!(v, n);
            v.parse::<u64>().unwrap() - 1
        })
        .collect();
    assert_eq!(corners, indices);

    let ply = write("frame.ply");
    let end = b"end_header\n";
    let header = ply.windows(end.len()).position(|window| window == end).unwrap() + end.len();
    let text = std::str::from_utf8(&ply[..header]).unwrap();
    assert!(text.starts_with("ply\nformat binary_little_endian 1.0\n"), "{text}");
    assert!(text.contains(&format!("element vertex {}\n", positions.len())), "{text}");
    assert!(text.contains(&format!("element face {}\n", indices.len() / 3)), "{text}");
    let (vertices, faces) = ply[header..].split_at(36 * positions.len());
    for (vertex, position) in vertices.chunks(36).zip(&positions) {
        let x = |axis: usize| f64::from_le_bytes(vertex[8 * axis..8 * axis + 8].try_into().unwrap());
        assert!(farthest(&[[x(0), x(1), x(2)]], &[*position]) < READING);
    }
    assert_eq!(faces.len(), 13 * indices.len() / 3);
    for (face, corners) in faces.chunks(13).zip(indices.chunks(3)) {
        let corner = |i: usize| u64::from(u32::from_le_bytes(face[1 + 4 * i..5 + 4 * i].try_into().unwrap()));
        assert_eq!((face[0], [corner(0), corner(1), corner(2)].as_slice()), (3, corners));
    }

    let text = String::from_utf8(write("frame.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json);
}

#[test]
fn stdout_takes_any_format() {
    let run = sinew(["frame", "zoo:tube", "-o", "-", "--format", "obj"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.starts_with("o tube\nv ") && run.stderr.is_empty());
}

#[test]
fn the_base_can_be_chosen() {
    let positions = |base: &str| {
        let frame = frame("zoo:tube", &["--clip", "twist", "--time", "0.4", "--base", base]);
        assert_eq!(frame["base"], base);
        all(&frame["meshes"], "positions")
    };
    let [lbs, dqs, blend, rigid] = ["lbs", "dqs", "blend", "rigid"].map(positions);
    let between = farthest(&lbs, &dqs);
    assert!(between > 1e-3 && farthest(&lbs, &rigid) > 1e-3);
    assert!(farthest(&lbs, &blend) < between && farthest(&dqs, &blend) < between);
}

const FLOPPY: &str = "version = 1\n[[effect]]\ntype = \"floppy\"\nsoft = false\n";

#[test]
fn motion_set_by_hand_drives_the_effects() {
    let folder = Folder::new();
    let recipe = folder.write("hero.sinew.toml", FLOPPY);
    let motion = folder.write("m.toml", "[bone.\"tube.1\"]\nlinear_velocity = [1.0, 0, -2]\n");
    for pose in [&[][..], &["--clip", "wave", "--time", "0.4"]] {
        let frame = frame("zoo:tube", &[&["--recipe", &recipe, "--motion", &motion], pose].concat());
        assert_eq!(triple(&frame["bones"][0]["linear_velocity"]), [1.0, 0.0, -2.0]);
        for bone in &frame["bones"].as_array().unwrap()[1..] {
            assert_eq!(triple(&bone["angular_velocity"]), [0.0; 3], "the clip's own motion is replaced");
        }
        // Everything hangs on the first bone: the lag is −k v, k = 0.1 s.
        let base = all(&frame["meshes"], "base_positions");
        let expected: Vec<_> = base.iter().map(|p| [p[0] - 0.1, p[1], p[2] + 0.2]).collect();
        let positions = all(&frame["meshes"], "positions");
        assert!(farthest(&positions, &expected) < ROUNDING, "{pose:?}: {:e}", farthest(&positions, &expected));
    }
}

#[test]
fn accelerations_set_by_hand_drive_the_effects() {
    let folder = Folder::new();
    let moved = |effect: &str, motion: &str| {
        let text = format!("version = 1\n[[effect]]\ntype = \"{effect}\"\nsoft = false\n");
        let recipe = folder.write("hero.sinew.toml", text);
        let motion = folder.write("m.toml", format!("[bone.\"tube.1\"]\n{motion}\n"));
        let frame = frame("zoo:tube", &["--recipe", &recipe, "--motion", &motion]);
        (all(&frame["meshes"], "base_positions"), all(&frame["meshes"], "positions"))
    };
    // −K a with K = 0.01 s²: setting off, all of it is drag; braking with 0.1 s to rest, all of it is follow-through.
    let (off, braking) =
        ("linear_acceleration = [10, 0, -20]", "linear_velocity = [-1, 0, 2]\nlinear_acceleration = [10, 0, -20]");
    for (effect, motion, share) in [
        ("acceleration-drag", off, 1.0),
        ("follow-through", off, 0.0),
        ("acceleration-drag", braking, 0.0),
        ("follow-through", braking, 1.0),
    ] {
        let (base, found) = moved(effect, motion);
        let expected: Vec<_> = base.iter().map(|p| [p[0] - 0.1 * share, p[1], p[2] + 0.2 * share]).collect();
        assert!(farthest(&found, &expected) < ROUNDING, "{effect}, {motion}: {:e}", farthest(&found, &expected));
    }
    let (base, turned) = moved("acceleration-drag", "angular_acceleration = [0, 0, 30]");
    assert!(farthest(&base, &turned) > 0.05);
}

#[test]
fn several_times_are_one_list_or_numbered_files() {
    let folder = Folder::new();
    let clip = ["--clip", "wave", "--preset", "lively"];
    let single = |time: &str| frame("zoo:tube", &[&clip[..], &["--time", time]].concat());
    let several = frame("zoo:tube", &[&clip[..], &["--time", "0.4", "--time", "0:0.2:0.1"]].concat());
    let frames = several["frames"].as_array().expect("a list of frames");
    assert_eq!(frames.len(), 4);
    for (found, time) in frames.iter().zip(["0.4", "0", "0.1", "0.2"]) {
        let alone = single(time);
        for (key, value) in found.as_object().unwrap() {
            assert_eq!(*value, alone[key], "{key} at {time}");
        }
        // Between them they have every key of a single frame.
        for key in alone.as_object().unwrap().keys() {
            assert!(found.get(key).or(several.get(key)).is_some(), "{key}");
        }
    }
    assert_eq!(several["characters"], single("0")["characters"]);

    for format in ["obj", "ply"] {
        let out = folder.join(&format!("walk.{format}"));
        let args = [&["frame", "zoo:tube", "-o", &out], &clip[..], &["--time", "0:0.2:0.1"]].concat();
        assert_eq!(sinew(&args).code, 0);
        let alone = folder.join(&format!("alone.{format}"));
        let one = [&["frame", "zoo:tube", "-o", &alone], &clip[..], &["--time", "0.1"]].concat();
        assert_eq!(sinew(one).code, 0);
        let read = |name: String| std::fs::read(folder.path().join(name)).expect("written");
        assert!(read(format!("walk.0001.{format}")) == read(format!("alone.{format}")));
        let refused = sinew(&args);
        assert!(refused.code == 1 && refused.stderr.contains("walk.0000"), "{}", refused.stderr);
    }
    let names = ["alone.obj", "alone.ply", "walk.0000.obj", "walk.0000.ply", "walk.0001.obj", "walk.0001.ply"];
    assert_eq!(folder.names(), [&names[..], &["walk.0002.obj", "walk.0002.ply"]].concat());
    let stdout = ["frame", "zoo:tube", "-o", "-", "--format", "obj", "--time", "0", "--time", "1"];
    assert_eq!(sinew(stdout).code, 2, "several files do not fit into stdout");
    for bad in ["1:0:0.1", "0:1:0", "0:1", "0:1e9:1e-9"] {
        assert_eq!(sinew(["frame", "zoo:tube", "-o", "-", "--time", bad]).code, 2, "{bad}");
    }
}

#[test]
fn globs_reach_several_bones() {
    let folder = Folder::new();
    let motion = folder.write("m.toml", "[bone.\"tube.[\"]\n");
    assert_eq!(sinew(["frame", "zoo:tube", "--motion", &motion, "-o", "-"]).code, 1);
    let motion = folder.write("m.toml", "[bone.\"tube.*\"]\nangular_acceleration = [0, 3, 0]\n");
    let frame = frame("zoo:tube", &["--motion", &motion]);
    let turning = frame["bones"].as_array().unwrap().iter().filter(|b| triple(&b["angular_acceleration"])[1] == 3.0);
    assert_eq!(turning.count(), 4);
}

#[test]
fn a_recipe_moves_the_skin_and_leaves_the_base() {
    let folder = Folder::new();
    let recipe = folder.write("hero.sinew.toml", FLOPPY);
    let options = ["--clip", "wave", "--time", "0.4"];
    let plain = frame("zoo:tube", &options);
    let lively = frame("zoo:tube", &[&["--recipe", &recipe], &options[..]].concat());
    let base = all(&lively["meshes"], "base_positions");
    assert_eq!(base, all(&plain["meshes"], "positions"));
    assert!(farthest(&base, &all(&lively["meshes"], "positions")) > 0.01);
}

#[test]
fn painted_maps_are_read_from_beside_the_recipe() {
    let folder = Folder::new();
    let character = sinew_zoo::build("tube").unwrap();
    let primitive = &character.raw.meshes[0].primitives[0];
    // Zero below the middle, one above.
    let values: Vec<f32> = primitive.positions.iter().map(|p| if p.y > 1.0 { 1.0 } else { 0.0 }).collect();
    let node = character.raw.meshes[0].node;
    let map = sinew_gltf::map_file::MapFile::new(&character.raw, "belly", node, 0, values.clone()).unwrap();
    std::fs::create_dir(folder.path().join("maps")).unwrap();
    map.save(&folder.path().join("maps/belly.map.json")).unwrap();
    let text =
        format!("version = 1\nmaps = [\"maps/belly.map.json\"]\n{}map = \"belly\"\n", &FLOPPY["version = 1\n".len()..]);
    let recipe = folder.write("hero.sinew.toml", text);
    let frame = frame("zoo:tube", &["--clip", "wave", "--time", "0.4", "--recipe", &recipe]);
    let (base, positions) = (all(&frame["meshes"], "base_positions"), all(&frame["meshes"], "positions"));
    let moved = |painted: f32| {
        let mut chosen = base.iter().zip(&positions).zip(&values).filter(move |(_, value)| **value == painted);
        chosen.any(|((base, position), _)| base != position)
    };
    assert!(!moved(0.0) && moved(1.0));

    // On another mesh it is refused, with both counts.
    let run = sinew(["frame", "zoo:tube:vertices=500", "--recipe", &recipe, "-o", "-"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("belly") && run.stderr.contains(&values.len().to_string()), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn maps_behind_a_link_out_of_the_folder_are_refused() {
    let (outside, folder) = (Folder::new(), Folder::new());
    let secret = outside.write("secret.json", "{}");
    std::os::unix::fs::symlink(secret, folder.path().join("belly.map.json")).unwrap();
    let recipe = folder.write("hero.sinew.toml", "version = 1\nmaps = [\"belly.map.json\"]\n");
    let run = sinew(["frame", "zoo:tube", "--recipe", &recipe, "-o", "-"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("outside the recipe's folder"), "{}", run.stderr);
}
