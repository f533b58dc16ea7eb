//! Every command on every character: the built-in ones, and the real ones of `SINEW_ASSETS`.

use crate::common::{Folder, all, farthest, frame, full, inspect, sinew, stem, text, triples};
use serde_json::Value;
use sinew_testkit::assets::{asset, assets};
use sinew_testkit::glb::Builder;
use sinew_testkit::random::Random;
use sinew_testkit::spec::SpecFile;
use std::path::Path;

/// Agreement with an independent evaluation, as a share of the character's size.
const AGREEMENT: f64 = 3e-6;
/// A clip moves the skin if it moves it by this share of the size.
const MOVES: f64 = 1e-4;

fn codes(report: &Value) -> Vec<&str> {
    report["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect()
}

#[test]
fn built_in_characters_inspect_and_frame() {
    for entry in sinew_zoo::names() {
        let name = format!("zoo:{}", entry.name);
        let report = inspect(&name);
        assert_eq!(report["warnings"], serde_json::json!([]), "{name}");
        assert!(report["characters"].as_array().unwrap().iter().all(|c| c["surface"]["closed"] == true), "{name}");
        assert!(report["clips"].as_array().unwrap().iter().all(|clip| clip["loops"] == true), "{name}");
        let human = sinew(["inspect", &name]);
        assert_eq!(human.code, 0);
        assert!(human.stdout.lines().all(|line| line.chars().count() <= 100), "{name}: fits a terminal");
        let clips = report["clips"].as_array().unwrap();
        for (index, clip) in clips.iter().enumerate().take(if full() { clips.len() } else { 1 }) {
            let positions = |share: f64| {
                let time = clip["start"].as_f64().unwrap() + share * clip["length"].as_f64().unwrap();
                let frame = frame(&name, &["--clip", &index.to_string(), "--time", &time.to_string()]);
                all(&frame["meshes"], "positions")
            };
            let (a, b) = (positions(0.1), positions(0.4));
            assert!(a.iter().chain(&b).flatten().all(|x| x.is_finite()), "{name} {index}");
            assert!(farthest(&a, &b) > 0.0, "{name} {index}");
        }
    }
}

#[test]
fn the_report_counts_what_is_there() {
    let report = inspect("zoo:tube:rings=7,around=5,bones=3");
    let mesh = &report["meshes"][0];
    // Rings and two poles; two triangles per quad, and a fan at each end.
    assert_eq!(mesh["vertices"], 7 * 5 + 2);
    assert_eq!(mesh["control_points"], 7 * 5 + 2);
    assert_eq!(mesh["triangles"], 2 * 6 * 5 + 2 * 5);
    assert_eq!(mesh["kind"], "skinned");
    assert_eq!(report["characters"][0]["surface"]["edges"], (2 * 6 * 5 + 2 * 5) * 3 / 2);
    assert_eq!(report["bones"].as_array().unwrap().iter().filter(|bone| bone["joint"] == true).count(), 3);
}

#[test]
fn painted_maps_are_reported_with_their_range() {
    let mut builder = Builder::rigged();
    let values: Vec<f32> = (0..Builder::RIGGED_VERTICES).map(|vertex| vertex as f32 / 8.0 - 1.0).collect();
    let accessor = builder.accessor("SCALAR", &values);
    builder.set("/meshes/0/primitives/0/attributes/_SINEW_BELLY", serde_json::json!(accessor));
    let folder = Folder::new();
    let file = folder.write("painted.glb", builder.glb());
    let expected = serde_json::json!([{"name": "belly", "min": -1.0, "max": 1.375, "meshes": [0]}]);
    assert_eq!(inspect(&file)["maps"], expected);
    assert!(sinew(["inspect", &file]).stdout.contains("belly  -1.000 to 1.375"));
}

#[test]
fn many_bones_are_collapsed_unless_all_are_wanted() {
    let lines =
        |options: &[&str]| sinew([&["inspect", "zoo:tube:bones=1000"], options].concat()).stdout.lines().count();
    assert!(lines(&[]) < 260);
    assert!(lines(&["--all"]) > 1000);
}

#[test]
fn effects_describe_themselves() {
    let list = crate::common::json(["effects", "--json"]);
    assert!(!list.as_array().unwrap().is_empty());
    for effect in list.as_array().unwrap() {
        let name = effect["name"].as_str().unwrap();
        assert_eq!(crate::common::json(["effects", name, "--json"]), *effect);
        let human = sinew(["effects", name]).stdout;
        let words = human.split_whitespace().collect::<Vec<_>>().join(" ");
        for param in effect["params"].as_array().unwrap() {
            assert!(
                words.contains(param["name"].as_str().unwrap()) && words.contains(param["about"].as_str().unwrap())
            );
        }
        for key in effect["keys"].as_array().unwrap() {
            let (key, about) = (key["name"].as_str().unwrap(), key["about"].as_str().unwrap());
            assert!(words.contains(key) && words.contains(about), "{key}: {human}");
        }
        assert!(human.lines().all(|line| line.chars().count() <= 100), "{human}");
    }
    let of_kind = |kind: &str| list.as_array().unwrap().iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!(of_kind("effect"), sinew::registry::EFFECTS.len());
    assert_eq!(of_kind("correction"), sinew::correct::CORRECTIONS.len());
    assert_eq!(of_kind("base"), sinew::base::BASES.len());
}

#[test]
fn the_template_is_the_librarys_and_every_base_is_known_by_name() {
    assert_eq!(sinew(["effects", "--template"]).stdout, sinew::RecipeFile::template());
    let help = sinew(["frame", "--help"]).stdout;
    for base in sinew::base::BASES {
        assert!(help.contains(base.name), "{}", base.name);
        let run = sinew(["frame", "zoo:tube:vertices=100", "--base", base.name, "-o", "-"]);
        assert_eq!(run.code, 0, "{}: {}", base.name, run.stderr);
        let frame: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(frame["base"], base.name);
    }
}

#[test]
fn real_characters_inspect_and_warn_of_what_is_wrong_with_them() {
    for path in assets() {
        let report = inspect(text(&path));
        let codes = codes(&report);
        let expected: &[&str] = match stem(&path).as_str() {
            "RobotExpressive" => &["weights-not-normalised"],
            "momentum_test_24fps" => &["attribute-unsigned-int"],
            "Quaternius_Rat" => &["non-manifold-edges"],
            "Animation_Skin_02" => &["skinned-mesh-transform"],
            "Animation_Skin_03" => &["joints-outside-scene"],
            "Fox" | "Spot_velocity_skinning" | "Animation_Skin_00" => {
                assert!(codes.is_empty(), "{}: {codes:?}", path.display());
                &[]
            }
            _ => &[],
        };
        assert!(expected.iter().all(|code| codes.contains(code)), "{}: {codes:?}", path.display());
        for warning in report["warnings"].as_array().unwrap() {
            assert!(["subject", "message", "remedy"].iter().all(|key| !warning[key].as_str().unwrap().is_empty()));
        }
    }
}

#[test]
fn figures_of_real_characters() {
    let Some(cesium) = asset("CesiumMan.glb") else { return };
    let report = inspect(text(&cesium));
    assert_eq!(report["clips"][0]["loop_kind"], "missing-closing-key");
    assert_eq!(report["meshes"][0]["vertices"], 3273);
    assert_eq!(report["meshes"][0]["triangles"], 4672);
    assert_eq!(report["characters"][0]["surface"]["closed"], true);
    let Some(rat) = asset("Quaternius_Rat.glb") else { return };
    assert_eq!(inspect(text(&rat))["characters"][0]["surface"]["non_manifold_edges"], 16);
    let Some(spot) = asset("Spot_velocity_skinning.glb") else { return };
    assert_eq!(inspect(text(&spot))["meshes"][0]["influences"], 8);
    let Some(robot) = asset("RobotExpressive.glb") else { return };
    let meshes = inspect(text(&robot))["meshes"].clone();
    let of = |kind: &str| meshes.as_array().unwrap().iter().filter(|mesh| mesh["kind"] == kind).count();
    assert_eq!((of("skinned"), of("rider")), (2, 12));
}

type Points = Vec<[f64; 3]>;

/// Five times over a clip: finite, equal to the independent evaluation, different where that one moves.
fn check_clip(path: &Path, spec: &SpecFile, clip: usize) {
    let span = &spec.clips()[clip];
    let size = inspect_size(path);
    let (mut found, mut expected): (Vec<Points>, Vec<Points>) = Default::default();
    for step in 0..5 {
        let time = span.start + (span.end - span.start) * f64::from(step) / 4.0;
        let options = ["--clip", &clip.to_string(), "--time", &time.to_string(), "--loop", "no"];
        let frame = frame(text(path), &options);
        let at_time = spec.skinned_nodes().into_iter().flat_map(|node| spec.positions(node, Some(clip), time));
        expected.push(at_time.flatten().collect());
        found.push(all(&frame["meshes"], "positions"));
        assert!(found[step as usize].iter().flatten().all(|x| x.is_finite()), "{} {clip} {time}", path.display());
        let off = farthest(&found[step as usize], &expected[step as usize]) / size;
        assert!(off <= AGREEMENT, "{} clip {clip} at {time}: {off:e}", path.display());
        check_riders(path, spec, &frame, clip, time, size);
    }
    let moves = expected.iter().any(|points| farthest(points, &expected[0]) > MOVES * size);
    let differs = found.iter().any(|points| *points != found[0]);
    assert!(differs || !moves, "{} clip {clip} stands still", path.display());
}

/// Riders stand where their nodes put them.
fn check_riders(path: &Path, spec: &SpecFile, frame: &Value, clip: usize, time: f64, size: f64) {
    for mesh in frame["rigid_meshes"].as_array().unwrap() {
        let node = mesh["node"].as_u64().unwrap() as usize;
        let expected = spec.positions(node, Some(clip), time);
        let primitives = mesh["primitives"].as_array().unwrap();
        assert_eq!(primitives.len(), expected.len());
        for (primitive, expected) in primitives.iter().zip(&expected) {
            let off = farthest(&triples(&primitive["positions"]), expected) / size;
            assert!(off <= AGREEMENT, "{} rider {node}, clip {clip} at {time}: {off:e}", path.display());
        }
    }
}

fn inspect_size(path: &Path) -> f64 {
    let report = inspect(text(path));
    let sizes = report["characters"].as_array().unwrap().iter().map(|c| c["size"].as_f64().unwrap());
    sizes.fold(f64::INFINITY, f64::min)
}

#[test]
fn real_clips_are_finite_alive_and_right() {
    let mut random = Random::new(2021);
    for path in assets() {
        // One very large copy of a character that is tested anyway.
        if std::fs::metadata(&path).unwrap().len() > 4_000_000 && !full() {
            continue;
        }
        let spec = SpecFile::open(&path);
        let clips = spec.clips().len();
        let chosen: Vec<usize> =
            if full() { (0..clips).collect() } else { (clips > 0).then(|| random.below(clips)).into_iter().collect() };
        for clip in chosen {
            check_clip(&path, &spec, clip);
        }
    }
}

#[test]
fn riders_keep_their_place() {
    for (name, riders) in [("RobotExpressive.glb", 12), ("KayKit_Knight.glb", 9)] {
        let Some(path) = asset(name) else { return };
        let spec = SpecFile::open(&path);
        let mut random = Random::new(7);
        let size = inspect_size(&path);
        for _ in 0..if full() { 40 } else { 3 } {
            let clip = random.below(spec.clips().len());
            let time = random.between(spec.clips()[clip].start, spec.clips()[clip].end);
            let options = ["--clip", &clip.to_string(), "--time", &time.to_string(), "--loop", "no"];
            let frame = frame(text(&path), &options);
            assert_eq!(frame["rigid_meshes"].as_array().unwrap().len(), riders);
            check_riders(&path, &spec, &frame, clip, time, size);
        }
    }
}
