//! The chapters of the manual run as they stand.

use crate::common::Folder;
use std::path::PathBuf;
use std::process::Command;

/// An example beside the tests: cargo builds both.
fn example(name: &str, args: &[&str]) -> String {
    let tests = std::env::current_exe().expect("this program has a path");
    let target = tests.parent().and_then(|deps| deps.parent()).map_or_else(PathBuf::new, PathBuf::from);
    let program = target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: cargo build --examples", program.display());
    let run = Command::new(program).args(args).output().expect("the example starts");
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("UTF-8")
}

#[test]
fn chapters_run() {
    let folder = Folder::new();
    let built = sinew_zoo::build("tube:vertices=300,bones=4").expect("a tube");
    let file = folder.join("tube.glb");
    let asset = sinew_gltf::Asset::exported("tube", &built.raw, &built.clips).expect("a sound character");
    asset.document.as_ref().expect("exported as a document").save(&file).expect("writable");
    assert!(example("01_load_and_evaluate", &[&file]).contains("the highest point"));
    assert!(!example("02_build_a_rig", &[]).is_empty());
    assert!(!example("03_drive_it_live", &[]).is_empty());
    let [plain, changed] = ["plain.glb", "changed.glb"].map(|name| folder.join(name));
    example("04_bake_to_a_file", &[&file, &plain]);
    let told = example("05_change_an_amount", &[&file, &changed]);
    // One number moved: nothing but numbers was touched, and the motion held.
    assert_eq!(told.lines().filter(|line| line.contains("motion: false, rebuilt: false")).count(), 3, "{told}");
    let [plain, changed] = [plain, changed].map(|file| std::fs::read(file).expect("written"));
    assert!(plain != changed, "the amount is in the file");
}
