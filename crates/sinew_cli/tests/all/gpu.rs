//! `--gpu` and `sinew gpu-check`: what a program says that was built without, and what one does that was built with it.

use crate::common::{Folder, sinew};

#[cfg(not(feature = "gpu"))]
#[test]
fn a_program_built_without_says_how_to_build_one() {
    let folder = Folder::new();
    let (picture, cache) = (folder.join("calf.png"), folder.join("calf.pc2"));
    for line in [
        &["render", "zoo:calf", "--gpu", "-o", &picture][..],
        &["bake", "zoo:calf", "--clip", "0", "--format", "pc2", "--gpu", "-o", &cache],
        &["gpu-check"],
    ] {
        let run = sinew(line);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{line:?}");
        assert!(run.stderr.contains("cargo install --path crates/sinew_cli --features gpu"), "{}", run.stderr);
    }
    assert!(!std::path::Path::new(&picture).exists() && !std::path::Path::new(&cache).exists());
}

/// Points of a cache made by both are the same but for rounding, and what does not run there is said.
#[cfg(feature = "gpu")]
#[test]
fn both_make_the_same_and_say_where_they_do_not() {
    let check = sinew(["gpu-check"]);
    if check.code == 1 && check.stderr.contains("no GPU was found") {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{}", check.stderr);
        return;
    }
    assert_eq!(check.code, 0, "{}{}", check.stdout, check.stderr);
    assert!(check.stdout.contains("faults: 0"), "{}", check.stdout);
    let folder = Folder::new();
    let points = |name: &str, more: &[&str]| {
        let out = folder.join(name);
        let line =
            ["bake", "zoo:calf", "--clip", "0", "--fps", "10", "--preset", "lively", "--format", "pc2", "-o", &out];
        let run = sinew([&line[..], more].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        (std::fs::read(&out).expect("a cache"), run.stderr)
    };
    let ((gpu, said), (cpu, _)) = (points("gpu.pc2", &["--gpu"]), points("cpu.pc2", &[]));
    assert!(said.contains("frames are made on") && !said.contains("on the processor"), "{said}");
    assert_eq!(gpu.len(), cpu.len());
    let numbers = |bytes: &[u8]| -> Vec<f32> {
        bytes[32..].as_chunks::<4>().0.iter().map(|&number| f32::from_le_bytes(number)).collect()
    };
    let apart = numbers(&gpu).iter().zip(&numbers(&cpu)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 1e-5, "{apart}");
    let recipe = folder.join("volume.sinew.toml");
    std::fs::write(&recipe, "version = 1\n[[correction]]\ntype = 'volume'\n").expect("a recipe");
    let run = sinew(["render", "zoo:calf", "--size", "32", "--gpu", "--recipe", &recipe, "-o", &folder.join("v.png")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("made on the processor: this recipe does not run on the GPU"), "{}", run.stderr);
}
