//! `cargo xtask bench`: builds the benchmarks optimised, with the peer when it compiles, and runs them.

use std::process::ExitCode;

use crate::command::{cargo, describe, exit_like, succeed};
use crate::{instructions, peer};

/// Passes `args` on to the benchmarks.
pub fn run(args: &[&str]) -> ExitCode {
    match args {
        ["--instructions"] => return instructions::run(false),
        ["--instructions", "--update"] => return instructions::run(true),
        _ => {}
    }
    let mut run = cargo("run --quiet --release --package sinew_bench");
    match succeed(peer::with_repair(&mut cargo("build --release --package sinew_bench --features ozz"))) {
        Ok(()) => {
            peer::with_repair(run.args(["--features", "ozz"]));
        }
        Err(fault) => eprintln!("WITHOUT OZZ: {fault}; the other cases are measured all the same"),
    }
    match run.arg("--").args(args).status() {
        Ok(status) => exit_like(status),
        Err(error) => {
            eprintln!("{} does not start: {error}", describe(&run));
            ExitCode::FAILURE
        }
    }
}
