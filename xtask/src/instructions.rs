//! `cargo xtask bench --instructions`: instructions per vertex of the main kernels against the committed baseline, so that
//! a slowdown is seen on a machine whose clock is too noisy to show it.
//!
//! Callgrind counts a run of two frames and one of four; half the difference is one frame, without setting up. The same
//! program gives the same count every time; what changes it is the code and the compiler.

use std::fmt::Write as _;
use std::process::{Command, ExitCode};

use crate::command::{cargo, describe, program, root, succeed, target_dir};

const BASELINE: &str = "crates/sinew_bench/instructions.txt";
/// Of a count: what a compiler's mood may change.
const TOLERANCE: f64 = 0.03;
/// Vertices of the tube the cases run on.
const VERTICES: f64 = 9_977.0;

const CASES: [&str; 9] = [
    "lbs",
    "dqs",
    "displace/velocity",
    "displace/velocity-normals",
    "displace/all-normals",
    "correct/nothing",
    "correct/volume-whole",
    "correct/fold-over",
    "correct/springs",
];

pub fn run(update: bool) -> ExitCode {
    match compare(update) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

/// Whether no kernel has become slower.
fn compare(update: bool) -> Result<bool, String> {
    succeed(&mut cargo("build --quiet --release --package sinew_bench"))?;
    let baseline = std::fs::read_to_string(root().join(BASELINE)).unwrap_or_default();
    let mut text = String::from("# Instructions per vertex, by callgrind: cargo xtask bench --instructions --update\n");
    let mut sound = true;
    for case in CASES {
        let frame = (count(case, 4)? - count(case, 2)?) / 2.0 / VERTICES;
        let _ = writeln!(text, "{case} {frame:.1}");
        let change = known(&baseline, case).map(|known| frame / known - 1.0);
        let verdict = match change {
            None => "new".to_owned(),
            Some(change) if change > TOLERANCE => format!("{:+.1} %: SLOWER", 100.0 * change),
            Some(change) if change < -TOLERANCE => format!("{:+.1} %: faster; --update keeps it so", 100.0 * change),
            Some(_) => "as before".to_owned(),
        };
        sound &= change.is_some_and(|change| change <= TOLERANCE);
        println!("{case:<28} {frame:>9.1} instructions per vertex, {verdict}");
    }
    if update {
        std::fs::write(root().join(BASELINE), text).map_err(|error| format!("{BASELINE}: {error}"))?;
        return Ok(true);
    }
    if !sound {
        println!("a kernel has become slower, or is new: mend it, or accept it with --update and say why");
    }
    Ok(sound)
}

fn known(baseline: &str, case: &str) -> Option<f64> {
    let line = baseline.lines().find_map(|line| line.strip_prefix(case)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

/// Instructions of the whole program.
fn count(case: &str, frames: usize) -> Result<f64, String> {
    let mut valgrind = counting();
    valgrind.arg(target_dir().join("release").join("sinew_bench")).args([&format!("--frames={frames}"), case]);
    counted(&mut valgrind)
}

/// What counts the instructions of a program whose name and words are to follow.
pub fn counting() -> Command {
    let mut valgrind = program("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind
}

/// The instructions that [`counting`] counted.
pub fn counted(valgrind: &mut Command) -> Result<f64, String> {
    let output = valgrind.output().map_err(|error| {
        format!("{} does not start: {error}; install valgrind, which holds callgrind", describe(valgrind))
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = said.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok());
    counted.ok_or_else(|| format!("{} counted nothing:\n{said}", describe(valgrind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_knows_every_case() {
        let baseline = std::fs::read_to_string(root().join(BASELINE)).expect("a baseline");
        for case in CASES {
            assert!(known(&baseline, case).is_some_and(|count| count > 1.0), "{case}");
        }
        assert_eq!(known("lbs-rows 3.0\nlbs 2.0\n", "lbs"), Some(2.0));
    }
}
