//! `cargo xtask bench`: builds the benchmarks optimised, with the peer when it compiles, and runs them.

use std::process::ExitCode;

use crate::command::{cargo, succeed};
use crate::peer;

const BUILD: &str = "build --release --package sinew_bench";
const RUN: &str = "run --quiet --release --package sinew_bench";

/// Passes `args` on to the benchmarks.
pub fn run(args: &[&str]) -> ExitCode {
    let with_peer = succeed(peer::with_repair(cargo(BUILD).args(["--features", "ozz"])));
    let mut run = cargo(RUN);
    if let Err(fault) = with_peer {
        eprintln!("WITHOUT OZZ: {fault}; the other cases are measured all the same");
    } else {
        peer::with_repair(run.args(["--features", "ozz"]));
    }
    match run.arg("--").args(args).status() {
        Ok(status) => u8::try_from(status.code().unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("cargo does not start: {error}");
            ExitCode::FAILURE
        }
    }
}
