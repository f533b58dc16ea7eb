//! Baked files, judged by the specification's evaluator and by what `sinew frame` computes.

use crate::common::{Folder, command, full, json, sinew, stem, text};
use serde_json::Value;
use sinew::{RecipeFile, Stage, Workspace};
use sinew_gltf::Asset;
use sinew_testkit::assets::{asset, assets};
use sinew_testkit::glb::Builder;
use sinew_testkit::random::Random;
use sinew_testkit::spec::SpecFile;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A character as the library sees it.
fn character(file: &str) -> Asset {
    match file.strip_prefix("zoo:") {
        // As a file has it: with times in f32.
        Some(spec) => {
            let built = sinew_zoo::build(spec).unwrap();
            Asset::exported(file, &built.raw, &built.clips).unwrap()
        }
        None => Asset::open(file).unwrap(),
    }
}

/// Largest distance, as a share of the size, between the baked file as the specification plays it and the frames
/// computed, over samples and midpoints.
fn worst(file: &str, recipe: &str, baked: &str, report: &Value) -> f64 {
    let Asset { rig, clips, .. } = character(file);
    let recipe = RecipeFile::parse(recipe).unwrap();
    let solved = recipe.solve(&rig, &clips).unwrap();
    let spec = SpecFile::open(Path::new(baked));
    let (mut worst, mut workspace) = (0.0f64, Workspace::default());
    for told in report["clips"].as_array().unwrap() {
        let name = told["name"].as_str().unwrap();
        let index = clips.iter().position(|clip| clip.name == name).unwrap();
        let stage = Stage::new(&rig, solved.recipe(index)).unwrap();
        let settings = recipe.motion(name);
        // As it is previewed: the closing key that the bake gives a loop changes nothing.
        let playing = stage.motion(&clips[index], &settings).unwrap();
        let samples = told["samples"].as_u64().unwrap() as usize;
        let report = playing.report();
        let (start, end) = (report.start, report.period.map_or(report.last_key, |period| report.start + period));
        let places = 2 * samples - 1;
        for place in 0..places {
            let exact = start + (end - start) * place as f64 / (places - 1).max(1) as f64;
            let time = if place + 1 == places { end } else { f64::from(exact as f32) };
            if place > 0 && place + 1 == places && !told["seam"].is_null() {
                // The end of a loop shows its start.
                for part in rig.parts() {
                    let weights = |time| spec.channel(index, part.node, "weights", time);
                    assert_eq!(weights(start), weights(end), "{file} {name}");
                }
                continue;
            }
            let mesh = playing.frame(time, &mut workspace);
            for part in rig.parts() {
                let size = rig.characters()[part.character].size;
                let played = spec.positions(part.node, Some(index), time);
                for (primitive, played) in part.primitives.iter().zip(played) {
                    for (vertex, played) in primitive.vertices.clone().zip(played) {
                        let wanted = mesh.world_position(part.character, vertex).to_array();
                        let distance: f64 = wanted.iter().zip(played).map(|(a, b)| (a - b).powi(2)).sum();
                        worst = worst.max(distance.sqrt() / size);
                    }
                }
            }
        }
    }
    worst
}

fn bake_and_judge(file: &str, recipe: &str, tolerance: &str, allowed: f64) {
    let folder = Folder::new();
    let out = folder.join("baked.glb");
    let told = folder.write("recipe.sinew.toml", recipe);
    let run = sinew(["bake", file, "-o", &out, "--recipe", &told, "--tolerance", tolerance, "--json", "--quiet"]);
    if run.code == 1 && run.stderr.contains("nothing to bake") {
        return;
    }
    assert_eq!(run.code, 0, "{file}: {}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let told = report["largest_error_share"].as_f64().unwrap();
    let found = worst(file, recipe, &out, &report);
    assert!(found <= allowed * 1.001 + 3e-6, "{file}: {found} where {allowed} is allowed");
    assert!((found - told).abs() <= 0.01 * allowed + 3e-6, "{file}: {found} where the report says {told}");
}

#[test]
fn playing_a_baked_file_gives_what_was_computed() {
    let preset = |name: &str| sinew::presets::get(name).unwrap();
    bake_and_judge("zoo:calf", preset("lively"), "0.2%", 2e-3);
    bake_and_judge("zoo:snail", preset("jelly"), "0.5%", 5e-3);
    // Another skinning on an engine that has but the linear one.
    bake_and_judge("zoo:arm", "version = 1\nbase = \"dqs\"\n", "0.1%", 1e-3);
    let named = if full() { Vec::new() } else { vec!["Fox.glb", "RiggedFigure.glb", "SimpleSkin.gltf"] };
    for file in named.into_iter().filter_map(asset) {
        bake_and_judge(text(&file), preset("lively"), "0.2%", 2e-3);
    }
    if full() {
        for character in ["arm", "bird", "dancer", "flower", "tube"] {
            bake_and_judge(&format!("zoo:{character}"), preset("lively"), "0.2%", 2e-3);
        }
        // The largest is measured elsewhere: the evaluator is not made for it.
        for file in assets().iter().filter(|file| stem(file) != "CesiumMan_sub3") {
            bake_and_judge(text(file), preset("lively"), "0.2%", 2e-3);
        }
    }
}

#[test]
fn everything_else_in_the_file_stays() {
    let folder = Folder::new();
    for (number, file) in ["Fox.glb", "RobotExpressive.glb"].into_iter().filter_map(asset).enumerate() {
        let out = folder.join(&format!("{number}.glb"));
        let run = sinew(["bake", text(&file), "-o", &out, "--clip", "0", "--tolerance", "1%", "--quiet"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (before, after) = (std::fs::read(&file).unwrap(), std::fs::read(&out).unwrap());
        let (bin_before, bin_after) = (bin(&before), bin(&after));
        let (before, after) = (SpecFile::open(&file), SpecFile::open(Path::new(&out)));
        let (before, after) = (before.json(), after.json());
        for member in ["scene", "scenes", "materials", "textures", "images", "samplers", "skins"] {
            assert_eq!(before.get(member), after.get(member), "{member}");
        }
        let names = |json: &Value| json["extensionsUsed"].as_array().cloned().unwrap_or_default();
        let added: Vec<Value> = names(after).into_iter().filter(|name| !names(before).contains(name)).collect();
        assert!(added.iter().all(|name| name == "KHR_mesh_quantization"), "{added:?}");
        for member in ["accessors", "bufferViews"] {
            let (old, new) = (before[member].as_array().unwrap(), after[member].as_array().unwrap());
            assert_eq!(old[..], new[..old.len()], "{member}");
        }
        // Accessors and views are as they were, so are their bytes: curves and textures are the same to the bit.
        assert_eq!(bin_before[..], bin_after[..bin_before.len()]);
        let animations = before["animations"].as_array().unwrap().iter().zip(after["animations"].as_array().unwrap());
        for (old, new) in animations {
            let own = old["channels"].as_array().unwrap().iter();
            for channel in own.filter(|channel| channel["target"]["path"] != "weights") {
                let mut targets = new["channels"].as_array().unwrap().iter();
                let kept = targets.find(|new| new["target"] == channel["target"]).expect("still there");
                if kept != channel {
                    // A loop without its last key: the copy has that one more.
                    let keys = |json: &Value, clip: &Value, sampler: &Value| {
                        let input = clip["samplers"][sampler.as_u64().unwrap() as usize]["input"].as_u64().unwrap();
                        json["accessors"][input as usize]["count"].as_u64().unwrap()
                    };
                    let counts = (keys(after, new, &kept["sampler"]), keys(before, old, &channel["sampler"]));
                    assert_eq!(counts.0, counts.1 + 1, "{channel}");
                }
            }
            let samplers = old["samplers"].as_array().unwrap();
            assert_eq!(samplers[..], new["samplers"].as_array().unwrap()[..samplers.len()]);
        }
    }
}

/// The BIN chunk of a GLB, as long as its buffer says.
fn bin(file: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let start = 20 + word(12);
    file[start + 8..start + 8 + word(start)].to_vec()
}

#[test]
fn the_same_bits_at_any_thread_count_and_when_baked_again() {
    let folder = Folder::new();
    let bake = |file: &str, name: &str, threads: &str| {
        let out = folder.join(name);
        let run = command()
            .args(["bake", file, "-o", &out, "--tolerance", "0.3%", "--quiet"])
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        std::fs::read(out).unwrap()
    };
    let one = bake("zoo:bird", "one.glb", "1");
    assert!(one == bake("zoo:bird", "three.glb", "3"), "threads change the result");
    assert!(one == bake(&folder.join("one.glb"), "again.glb", "2"), "baking a baked file does not start afresh");
}

/// Ends the command at a random moment and looks at what it left.
#[test]
fn killed_at_any_moment_there_is_the_whole_file_or_none() {
    let folder = Folder::new();
    let arguments = |out: &str| ["bake", "zoo:tube:vertices=400,bones=6", "-o", out, "--quiet"].map(str::to_owned);
    let whole = folder.join("whole.glb");
    let start = Instant::now();
    assert_eq!(sinew(arguments(&whole)).code, 0);
    let took = start.elapsed();
    let whole = std::fs::read(whole).unwrap();
    let mut random = Random::new(17);
    for round in 0..if full() { 50 } else { 8 } {
        let out = folder.join(&format!("{round}.glb"));
        let mut child = command().args(arguments(&out)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs_f64(random.between(0.0, 1.2 * took.as_secs_f64())));
        let gently = round % 2 == 0 && interrupt(child.id());
        if !gently {
            // It may be done already.
            let _ = child.kill();
        }
        let code = child.wait().unwrap().code();
        match std::fs::read(&out) {
            Ok(bytes) => assert!(bytes == whole, "round {round}: half a file"),
            Err(_) => assert_ne!(code, Some(0), "round {round}: no file"),
        }
        if gently {
            // An interrupt that comes before the handler is set ends the process by the signal itself.
            assert!([Some(130), Some(0), None].contains(&code), "{code:?}");
            let left = folder.names().into_iter().filter(|name| name.ends_with(".part")).count();
            assert_eq!(left, 0, "round {round}");
        }
    }
    assert_eq!(sinew(arguments(&folder.join("last.glb"))).code, 0);
    let left: Vec<_> = folder.names().into_iter().filter(|name| name.ends_with(".part")).collect();
    assert!(left.is_empty(), "after one further run: {left:?}");
}

/// Sends an interrupt, where the system has one.
fn interrupt(process: u32) -> bool {
    cfg!(unix)
        && std::process::Command::new("kill")
            .args(["-INT", &process.to_string()])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

#[test]
fn what_cannot_be_done_is_refused_without_a_file() {
    let folder = Folder::new();
    let out = folder.join("out.glb");
    let refuse = |arguments: &[&str], code: i32, words: &str| {
        let run = sinew([&["bake"], arguments, &["-o", &out]].concat());
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    };
    refuse(&["zoo:calf", "--tolerance", "0.01%", "--max-targets", "3"], 1, "would be enough");
    refuse(&["zoo:calf", "--tolerance", "0.1"], 2, "0.1%");
    refuse(&["zoo:calf", "--fps", "0"], 2, "samples per second");
    refuse(&["zoo:calf", "--target", "quake"], 2, "bevy, blender, godot");
    refuse(&["zoo:calf", "--clip", "gallop"], 2, "no clip");
    refuse(&["zoo:calf", "--format", "pc2"], 2, "one clip");
    if let Some(still) = asset("asset_generator/Animation_Skin_00.gltf") {
        refuse(&[text(&still)], 1, "nothing to bake");
    }
    if let Some(spot) = asset("Spot_velocity_skinning.glb") {
        refuse(&[text(&spot), "--target", "three"], 1, "limit the influences to 4");
    }
}

/// A robot without a skin: two boxes, the upper on the lower, which lifts it.
#[test]
fn a_rigid_hierarchy_gets_effects_by_every_command() {
    let folder = Folder::new();
    let mut robot = Builder::rigged().without("/nodes/0/mesh").without("/nodes/0/skin").without("/skins");
    robot.json["nodes"][1]["mesh"] = 0.into();
    robot.json["nodes"][2]["mesh"] = 0.into();
    let robot = folder.write("robot.glb", robot.glb());
    let lively = sinew::presets::get("lively").unwrap();
    bake_and_judge(&robot, lively, "0.2%", 2e-3);
    let report = json(["bake", &robot, "-o", &folder.join("baked.glb"), "--preset", "lively", "--quiet", "--json"]);
    assert_eq!(report["meshes"].as_array().map(Vec::len), Some(2), "{report}");
    let stripped = folder.join("stripped.glb");
    assert_eq!(sinew(["strip", &folder.join("baked.glb"), "-o", &stripped]).code, 0);
    assert_eq!(sinew(["diff", &robot, &stripped]).code, 0);
    for words in [
        &["liven", &robot, "-o", &folder.join("livened.glb")][..],
        &["render", &robot, "--preset", "lively", "--size", "32", "-o", &folder.join("robot.png")],
        &["check", &robot, "--preset", "lively"],
    ] {
        let run = sinew(words);
        assert!(run.code == 0 || words[0] == "check" && run.code == 3, "{words:?}: {}", run.stderr);
    }
}

#[test]
fn best_effort_writes_what_the_limit_allows_and_says_so() {
    let folder = Folder::new();
    let report = json([
        "bake",
        "zoo:calf",
        "-o",
        &folder.join("out.glb"),
        "--max-targets",
        "3",
        "--best-effort",
        "--json",
        "--target",
        "bevy",
    ]);
    assert_eq!(report["targets"], 3);
    assert_eq!(report["within_tolerance"], false);
    assert!(report["largest_error_share"].as_f64().unwrap() > 1e-3);
    let seam = &report["clips"][0]["seam"];
    assert_eq!(seam["position_share"], 0.0);
    assert!(report["bytes_after"].as_u64() > report["bytes_before"].as_u64());
}

#[test]
fn loops_are_read_as_asked() {
    let folder = Folder::new();
    let bake = |looping: &[&str]| {
        let out = folder.join("out.glb");
        let arguments = ["bake", "zoo:calf", "--clip", "trot", "-o", &out, "--force", "--json"];
        json([&arguments[..], looping].concat())["clips"][0].clone()
    };
    for looping in [&[][..], &["--loop", "auto"], &["--loop", "yes"]] {
        let seam = &bake(looping)["seam"];
        assert_eq!(seam["position_share"], 0.0, "{looping:?}");
        assert!(seam["velocity_share_per_second"].as_f64().is_some_and(|jump| jump >= 0.0), "{looping:?}");
    }
    assert!(bake(&["--loop", "no"])["seam"].is_null());
    let run = sinew(["bake", "zoo:calf", "-o", &folder.join("other.glb"), "--loop", "maybe"]);
    assert!(run.code == 2 && run.stderr.contains("maybe"), "{}", run.stderr);
}

#[test]
fn caches_hold_the_frames_in_the_order_of_the_mesh_beside_them() {
    let folder = Folder::new();
    let (pc2, mdd) = (folder.join("trot.pc2"), folder.join("again.mdd"));
    // Plain gains: a strength is solved for, and a file's rounded key times may end it at another gain.
    let recipe = folder.write("drag.sinew.toml", "version = 1\nplanted = 'none'\n[[effect]]\ntype = 'floppy'\n");
    let bake = |out: &str, format: &str| {
        let clip = ["--clip", "trot", "--fps", "10", "--recipe", &recipe];
        let run = sinew([&["bake", "zoo:calf", "-o", out, "--format", format], &clip[..]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    bake(&pc2, "pc2");
    bake(&mdd, "mdd");
    bake(&folder.join("sequence"), "obj-sequence");
    assert_eq!(folder.names(), ["again.mdd", "again.obj", "drag.sinew.toml", "sequence", "trot.obj", "trot.pc2"]);
    let frames = std::fs::read_dir(folder.path().join("sequence")).unwrap().count();
    let (pc2, mdd) = (std::fs::read(pc2).unwrap(), std::fs::read(mdd).unwrap());
    let little = |at: usize| u32::from_le_bytes(pc2[at..at + 4].try_into().unwrap()) as usize;
    let big = |at: usize| u32::from_be_bytes(mdd[at..at + 4].try_into().unwrap()) as usize;
    let points = little(16);
    assert_eq!((little(28), big(0), big(4)), (frames, frames, points));
    assert_eq!((pc2.len(), mdd.len()), (32 + 12 * points * frames, 8 + 4 * frames + 12 * points * frames));
    let mesh = std::fs::read_to_string(folder.join("trot.obj")).unwrap();
    assert_eq!(mesh.lines().filter(|line| line.starts_with("v ")).count(), points);
    for frame in [0, 3] {
        let time = format!("{}", frame as f64 / 10.0);
        let shown = crate::common::frame("zoo:calf", &["--clip", "trot", "--time", &time, "--recipe", &recipe]);
        let shown = crate::common::all(&shown["meshes"], "positions");
        for (point, shown) in shown.iter().enumerate() {
            for axis in 0..3 {
                let number = 12 * (frame * points + point) + 4 * axis;
                let a = f32::from_bits(little(32 + number) as u32);
                let b = f32::from_bits(big(8 + 4 * frames + number) as u32);
                assert_eq!(a, b);
                assert!((f64::from(a) - shown[axis]).abs() < 1e-5, "frame {frame} point {point}");
            }
        }
    }
}

#[test]
fn sizes_are_kept_and_engines_are_not_given_what_they_cannot_read() {
    let folder = Folder::new();
    let out = folder.join("baked.glb");
    let run = |more: &[&str]| {
        let base = ["bake", "zoo:tube:vertices=300,bones=4", "-o", &out, "--force", "--quiet", "--json"];
        sinew(base.iter().copied().chain(more.iter().copied()))
    };
    let plain: Value = serde_json::from_str(&run(&[]).stdout).unwrap();
    let bytes = plain["bytes_after"].as_u64().unwrap();
    let small = run(&["--compress", "meshopt"]);
    assert_eq!(small.code, 0, "{}", small.stderr);
    let small: Value = serde_json::from_str(&small.stdout).unwrap();
    assert!(small["packed"]["packed"].as_u64() < small["packed"]["plain"].as_u64(), "{}", small["packed"]);
    for engine in ["blender", "bevy", "godot", "unreal"] {
        let refused = run(&["--compress", "meshopt", "--target", engine]);
        assert!(refused.code == 2 && refused.stderr.contains("does not read what meshopt has packed"), "{engine}");
    }
    assert_eq!(run(&["--compress", "meshopt", "--target", "three"]).code, 0);
    let budget = (bytes - plain["bytes_added"]["positions"].as_u64().unwrap() / 2).to_string();
    let refused = run(&["--max-size", &budget]);
    assert!(refused.code == 1 && refused.stderr.contains("bytes, where"), "{}", refused.stderr);
    let told: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert!(told["sizes"].as_array().unwrap().len() > 1, "{told}");
    let kept = run(&["--max-size", &format!("{budget}B"), "--best-effort"]);
    let kept: Value = serde_json::from_str(&kept.stdout).unwrap();
    assert!(kept["bytes_after"].as_u64().unwrap() <= budget.parse().unwrap(), "{kept}");
    assert!(std::fs::metadata(&out).unwrap().len() <= budget.parse().unwrap());
    for wrong in ["3 elephants", "", "-1MB", "0", "nan"] {
        assert_eq!(run(&[&format!("--max-size={wrong}")]).code, 2, "{wrong}");
    }
}
