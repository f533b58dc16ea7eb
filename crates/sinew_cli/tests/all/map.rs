//! `sinew map`: files that recipes can name, reports that tell where.

use crate::common::{Folder, all, farthest, frame, inspect, json, sinew, text};
use serde_json::Value;
use sinew_gltf::map_file::MapFile;
use sinew_testkit::assets::assets;

fn map(file: &str, kind: &str, output: &str, options: &[&str]) -> Value {
    json([&["map", file, "--auto", kind, "-o", output, "--json", "--quiet"], options].concat())
}

/// Every map file of a report, read again.
fn read(report: &Value) -> Vec<MapFile> {
    let paths = report["files"].as_array().unwrap().iter().map(|path| path.as_str().unwrap());
    paths.map(|path| MapFile::from_text(path, &std::fs::read_to_string(path).unwrap()).unwrap()).collect()
}

fn bones<'a>(report: &'a Value, list: &str) -> Vec<&'a str> {
    let entries = report["characters"][0][list].as_array().unwrap();
    entries.iter().map(|entry| entry["bone"].as_str().unwrap()).collect()
}

#[test]
fn one_file_per_primitive_with_a_value_per_vertex() {
    let folder = Folder::new();
    let raw = sinew_zoo::build("calf").unwrap().raw;
    let report = map("zoo:calf", "diameter", &folder.join("calf"), &["--name", "Soft"]);
    assert_eq!(report["name"], "soft");
    let maps = read(&report);
    assert_eq!(maps.len(), raw.meshes[0].primitives.len());
    for (index, (map, primitive)) in maps.iter().zip(&raw.meshes[0].primitives).enumerate() {
        assert_eq!((map.name(), map.node(), map.primitive()), ("soft", raw.meshes[0].node, index));
        assert_eq!(map.values().len(), primitive.positions.len());
        assert!(map.values().iter().all(|v| (0.0..=1.0).contains(v)));
    }
    assert!(folder.names()[0].starts_with("calf.") && folder.names()[0].ends_with(".0.map.json"));
    let thick = report["characters"][0]["thickest"]["bone"].as_str().unwrap();
    let thin = report["characters"][0]["thinnest"]["bone"].as_str().unwrap();
    assert!(["hips", "spine", "chest"].contains(&thick), "{thick}");
    assert!(["tail", "foot", "shin"].iter().any(|part| thin.starts_with(part)), "{thin}");
}

#[test]
fn tips_are_named_by_their_bones() {
    let folder = Folder::new();
    let report = map("zoo:calf", "extremities", text(folder.path()), &[]);
    let mut found = bones(&report, "tips");
    found.sort_unstable();
    assert_eq!(found, ["foot.front.L", "foot.front.R", "foot.hind.L", "foot.hind.R", "head", "head", "head", "tail.3"]);
    assert!(folder.names().iter().all(|name| name.starts_with("extremities.")));
}

#[test]
fn operations_follow_one_another() {
    let folder = Folder::new();
    let plain = read(&map("zoo:bird", "bone-distance", &folder.join("plain"), &[]));
    let turned = read(&map("zoo:bird", "bone-distance", &folder.join("turned"), &["--gamma", "2", "--invert"]));
    for (plain, turned) in plain.iter().zip(&turned) {
        for (a, b) in plain.values().iter().zip(turned.values()) {
            assert!((1.0 - a * a - b).abs() < 1e-6);
        }
    }
    let rough = |maps: &[MapFile]| -> f32 {
        let raw = sinew_zoo::build("bird").unwrap().raw;
        let primitives = raw.meshes[0].primitives.iter().zip(maps);
        let edges = primitives.flat_map(|(p, map)| p.triangles.iter().map(|t| t.map(|v| map.values()[v as usize])));
        edges.map(|[a, b, _]| (a - b).powi(2)).sum()
    };
    let smooth = map("zoo:bird", "bone-distance", &folder.join("smooth"), &["--smooth", "20", "--mirror", "x"]);
    assert!(rough(&read(&smooth)) < 0.9 * rough(&plain));
    assert!(smooth["unmatched"].as_f64().unwrap() < 0.01);
    for side in ["+x", "-x"] {
        map("zoo:bird", "bone-distance", &folder.join("side"), &["--mirror", side, "--force"]);
    }
}

const FLOPPY: &str = "[[effect]]\ntype = \"floppy\"\n";

#[test]
fn a_recipe_reads_them_back() {
    let folder = Folder::new();
    let report = map("zoo:tube", "extremities", text(folder.path()), &[]);
    let maps = read(&report);
    let name = folder.names().remove(0);
    let options = ["--clip", "wave", "--time", "0.4"];
    let with = |head: &str, tail: &str| {
        let recipe = folder.write("hero.sinew.toml", format!("version = 1\n{head}{FLOPPY}{tail}"));
        frame("zoo:tube", &[&["--recipe", &recipe], &options[..]].concat())
    };
    let painted = with(&format!("maps = [\"{name}\"]\n"), "map = \"extremities\"\n");
    let everywhere = with("", "");
    let positions = |frame: &Value, field: &str| all(&frame["meshes"], field);
    let base = positions(&painted, "base_positions");
    let (painted, everywhere) = (positions(&painted, "positions"), positions(&everywhere, "positions"));
    let (mut still, mut moved) = (0, 0);
    for (vertex, &value) in maps[0].values().iter().enumerate() {
        let way = |to: &[[f64; 3]]| farthest(&to[vertex..=vertex], &base[vertex..=vertex]);
        if value == 0.0 {
            assert_eq!(way(&painted), 0.0);
            still += 1;
        } else if value > 0.9 && way(&everywhere) > 1e-3 {
            assert!(way(&painted) > 0.5 * way(&everywhere));
            moved += 1;
        }
    }
    assert!(still > 10 && moved > 10, "{still} {moved}");
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_half_done() {
    let folder = Folder::new();
    let args = ["map", "zoo:calf", "--auto", "bone-distance", "-o", text(folder.path())];
    assert_eq!(sinew(args).code, 0);
    let names = folder.names();
    // All but the last are out of the way: still nothing is written.
    for name in &names[..names.len() - 1] {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let run = sinew(args);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("--force") && run.stdout.is_empty(), "{}", run.stderr);
    assert_eq!(folder.names(), names[names.len() - 1..]);
    assert_eq!(sinew(args.iter().chain(&["--force"])).code, 0);
    assert_eq!(folder.names(), names);
}

#[test]
fn wrong_usage() {
    for (code, args) in [
        (2, &["map", "zoo:tube", "-o", "x"][..]),
        (2, &["map", "zoo:tube", "--auto", "beauty", "-o", "x"]),
        (2, &["map", "zoo:tube", "--auto", "diameter"]),
        (2, &["map", "zoo:tube", "--auto", "diameter", "-o", "-"]),
        (2, &["map", "zoo:tube", "--auto", "diameter", "-o", "x", "--gamma", "0"]),
        (2, &["map", "zoo:tube", "--auto", "diameter", "-o", "x", "--gamma", "NaN"]),
        (2, &["map", "zoo:tube", "--auto", "diameter", "-o", "x", "--mirror", "w"]),
        (2, &["map", "zoo:tube", "--auto", "diameter", "-o", "x", "--smooth", "-1"]),
        (1, &["map", "zoo:tube", "--auto", "diameter", "-o", "x", "--name", ""]),
        (1, &["map", "zoo:tube", "--auto", "diameter", "-o", "no-such-folder/"]),
        (1, &["map", "no-such-file.glb", "--auto", "diameter", "-o", "x"]),
    ] {
        let run = sinew(args);
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert!(run.stdout.is_empty() && run.stderr.starts_with("error: "), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn the_report_is_short_and_in_words() {
    let folder = Folder::new();
    let run = sinew(["map", "zoo:dancer", "--auto", "diameter", "-o", text(folder.path()), "--mirror", "x"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("thinnest at \"") && run.stdout.contains("mirrored; "), "{}", run.stdout);
    let wrote = run.stdout.lines().filter(|line| line.starts_with("wrote ")).count();
    assert_eq!(wrote, folder.names().len());
}

#[test]
fn real_characters() {
    let all = std::env::var_os("SINEW_FULL").is_some();
    // Seconds each: only where time does not matter.
    let large = |path: &std::path::PathBuf| path.metadata().is_ok_and(|data| data.len() > 1_000_000);
    for path in assets().into_iter().filter(|path| all || !large(path)) {
        for kind in ["diameter", "bone-distance", "extremities"] {
            let folder = Folder::new();
            let run = sinew(["map", text(&path), "--auto", kind, "-o", text(folder.path()), "--json", "--quiet"]);
            if run.code == 1 && run.stderr.contains("contains no mesh that bones move") {
                assert_eq!(inspect(text(&path))["meshes"], serde_json::json!([]), "{}", path.display());
                continue;
            }
            assert_eq!(run.code, 0, "{}: {}", path.display(), run.stderr);
            let report: Value = serde_json::from_str(&run.stdout).unwrap();
            for map in read(&report) {
                assert!(map.values().iter().all(|v| (0.0..=1.0).contains(v)), "{}, {kind}", path.display());
            }
        }
    }
}
