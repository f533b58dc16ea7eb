//! Everything that a fuzzer ever found, and the seeds, go through their doors.

#![allow(clippy::print_stderr, reason = "tells what it was at where it fails")]

use sinew_fuzz::TARGETS;
use std::path::Path;

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

#[test]
fn what_was_found_stays_mended() {
    let mut replayed = 0;
    for target in TARGETS {
        let Ok(files) = std::fs::read_dir(corpus().join(target.name)) else { continue };
        let mut files: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
        files.sort();
        for file in files {
            // Told where it panics, and captured where it does not.
            eprintln!("{}", file.display());
            (target.run)(&std::fs::read(&file).expect("readable"));
            replayed += 1;
        }
    }
    assert!(replayed > 0, "no corpus in {}", corpus().display());
}

#[test]
fn seeds_pass() {
    let is_full = std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1");
    let most = if is_full { usize::MAX } else { 3 };
    for target in TARGETS {
        for (index, seed) in (target.seeds)().iter().enumerate().take(most) {
            eprintln!("{} seed {index}", target.name);
            (target.run)(seed);
        }
    }
}

#[test]
fn every_folder_of_the_corpus_has_a_target() {
    for folder in std::fs::read_dir(corpus()).expect("a corpus") {
        let name = folder.expect("readable").file_name();
        assert!(TARGETS.iter().any(|target| *target.name == *name), "{}", name.display());
    }
}
