//! Broken input: one line on stderr that names the file, exit 1, nothing on stdout. The kinds of damage themselves are
//! tested where files are read; here, that each way of failing comes out of the command as it should.

use crate::common::{Folder, sinew};
use serde_json::json;
use sinew_testkit::glb::Builder;

fn expect_refusal(file: &str, what: &str) {
    for args in [&["inspect", file][..], &["inspect", file, "--json"], &["frame", file, "-o", "-"]] {
        let run = sinew(args);
        assert_eq!(run.code, 1, "{what}: {}", run.stderr);
        assert!(run.stdout.is_empty(), "{what}: nothing may pass for data");
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains(file), "{what}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{what}: {}", run.stderr);
    }
}

#[test]
fn broken_files_are_refused_in_one_line() {
    let folder = Folder::new();
    let whole = Builder::rigged().glb();
    let damaged = [
        ("empty", Vec::new()),
        ("noise", vec![0xa5; 4096]),
        ("wrong magic", [b"glTG", &whole[4..]].concat()),
        ("truncated header", whole[..10].to_vec()),
        ("truncated", whole[..whole.len() / 2].to_vec()),
        ("not JSON", b"{\"asset\": {".to_vec()),
        ("other JSON", b"[1, 2, 3]".to_vec()),
        ("depth bomb", [b"[".repeat(100_000), b"]".repeat(100_000)].concat()),
        ("self-parent", Builder::rigged().with("/nodes/1/children", json!([1])).glb()),
        ("cycle", Builder::rigged().with("/nodes/2/children", json!([1])).glb()),
        ("missing buffer", Builder::rigged().gltf("nowhere.bin")),
        ("http", Builder::rigged().gltf("http://example.com/hero.bin")),
        ("traversal", Builder::rigged().gltf("../../hero.bin")),
        (
            "unknown extension",
            Builder::rigged()
                .with("/extensionsRequired", json!(["ACME_magic"]))
                .with("/meshes/0/extensions", json!({"ACME_magic": {}}))
                .glb(),
        ),
        ("skin without joints", Builder::rigged().with("/skins/0/joints", json!([])).glb()),
        ("joint out of range", Builder::rigged().with("/skins/0/joints", json!([1, 99])).glb()),
    ];
    for (what, bytes) in damaged {
        expect_refusal(&folder.write(&format!("{}.glb", what.replace(' ', "-")), bytes), what);
    }
    expect_refusal(folder.path().to_str().unwrap(), "a folder");
}

#[test]
fn a_frame_beyond_all_numbers_is_refused() {
    let folder = Folder::new();
    for scale in [1e30, 1e38] {
        let scale = json!([scale, scale, scale]);
        let builder = Builder::rigged().with("/nodes/1/scale", scale.clone()).with("/nodes/2/scale", scale);
        let file = folder.write("huge.glb", builder.glb());
        let run = sinew(["frame", &file, "-o", "-"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
        assert!(run.stderr.contains("mesh node 0 \"Tube\", vertex"), "{}", run.stderr);
        assert_eq!(sinew(["inspect", &file]).code, 0);
    }
}

#[test]
fn every_truncation_ends_well() {
    let folder = Folder::new();
    let whole = Builder::rigged().glb();
    let mut random = sinew_testkit::random::Random::new(7);
    for _ in 0..20 {
        let file = folder.write("cut.glb", &whole[..random.below(whole.len())]);
        expect_refusal(&file, "truncated");
    }
}

#[test]
fn recipes_and_motion_files_are_refused_in_one_line() {
    let folder = Folder::new();
    for (flag, name, text) in [
        ("--recipe", "r.sinew.toml", "version = 2000\n"),
        ("--recipe", "r.sinew.toml", "version = 1\n[[effect]]\ntype = \"flopy\"\n"),
        ("--recipe", "r.sinew.toml", "version = 1\n[[effect]]\ntype = \"floppy\"\nrotation = 1e9\n"),
        ("--recipe", "r.sinew.toml", "version = 1\n[[effect]]\ntype = \"floppy\"\nmap = \"belly\"\n"),
        ("--recipe", "r.sinew.toml", "version = 1\nmaps = [\"missing.map.json\"]\n"),
        ("--recipe", "r.sinew.toml", "version = 1\nmaps = [\"../outside.map.json\"]\n"),
        ("--recipe", "r.sinew.toml", "version = 1\nmaps = [\"r.sinew.toml\"]\n"),
        ("--recipe", "r.sinew.toml", "\u{0}"),
        ("--motion", "m.toml", "[bone.tube]\nangular_velocity = [1, 2]\n"),
        ("--motion", "m.toml", "[bone.unicorn]\nangular_velocity = [1, 2, 3]\n"),
        ("--motion", "m.toml", "[bone.\"é\"\n"),
        ("--motion", "m.toml", "bone = [é"),
    ] {
        let file = folder.write(name, text);
        let run = sinew(["frame", "zoo:tube", flag, &file, "-o", "-"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{text}");
        assert!(run.stderr.starts_with(&format!("error: {file}")), "{text}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{text}: {}", run.stderr);
    }
    let file = folder.write("m.toml", b"[bone.\xff]");
    assert_eq!(sinew(["frame", "zoo:tube", "--motion", &file, "-o", "-"]).code, 1);
}

/// Files of animations hold bones and clips and nothing that they move.
#[test]
fn a_skin_without_a_mesh_is_told_by_every_command() {
    let folder = Folder::new();
    let whole = Builder::rigged().without("/nodes/0/mesh").without("/nodes/0/skin").without("/meshes");
    let file = folder.write("walk.glb", whole.glb());
    let there = folder.names();
    assert_eq!(sinew(["inspect", &file, "--anatomy"]).code, 0);
    assert_eq!(sinew(["check", &file]).code, 0);
    let to = |name: &str| folder.join(name);
    let commands: [&[&str]; 7] = [
        &["frame", &file, "-o", &to("a.obj")],
        &["render", &file, "-o", &to("a.png")],
        &["map", &file, "--auto", "diameter", "-o", &to("maps")],
        &["bake", &file, "--preset", "lively", "-o", &to("a.glb")],
        &["bake", &file, "--preset", "lively", "--format", "pc2", "-o", &to("a.pc2")],
        &["liven", &file, "-o", &to("b.glb")],
        &["bind", &file, "-o", &to("c.glb")],
    ];
    for args in commands {
        let run = sinew(args);
        assert_eq!(run.code, 1, "{args:?}: {}", run.stderr);
        let last = run.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: ") && last.contains(&file), "{args:?}: {}", run.stderr);
    }
    assert_eq!(folder.names(), there, "nothing is written");
}
