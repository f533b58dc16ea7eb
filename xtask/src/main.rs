//! All checks, benchmarks and tidiness of the workspace behind one command: `cargo xtask`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose product is talk to a developer")]

mod bench;
mod ci;
mod command;
mod emulated;
mod instructions;
mod interop;
mod peer;
mod pictures;
mod slowest;
mod tidy;
mod wasm32;

use crate::command::{cargo, succeed};
use std::ffi::OsString;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--full]              every check; with --full also the long sweeps
  tidy                     what no compiler checks: stray paths, unfinished code, missing module docs
  bench --instructions [--update]
                           instructions per vertex of the main kernels against the committed baseline (valgrind)
  bench [FILTER] [--json]  nanoseconds per vertex of the kernels whose name contains FILTER, beside the baselines
  wasm32                   compares frames computed as WebAssembly with those of this machine (Node.js)
  avx512                   the same with AVX-512, executed by Bochs (Python)
  neon                     the same with NEON, executed by QEMU
  interop                  tries baked files in the Khronos validator, three.js and Blender, and ARAP against libigl;
                           installs what they need
  pictures                 redraws the pictures of the manual
  bind-table               binds all characters of SINEW_ASSETS by every method and by Blender and writes docs/bind.md
  bake-table OLD [ASSET…]  bakes the characters of SINEW_ASSETS with this build and with the sinew program OLD by one recipe:
                           bytes added, time, errors as played by the specification; with all of them writes docs/bake.md
  liven-table              livens all characters of SINEW_ASSETS and writes docs/liven.md
  methods-table            skins all characters of SINEW_ASSETS by every method and writes docs/methods.md";

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if peer::is_called_as_rustc() {
        return peer::stand_in_for_rustc(&args);
    }
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        ["ci"] => ci::run(ci::Extent::Sampled),
        ["ci", "--full"] => ci::run(ci::Extent::Full),
        ["tidy"] => report(tidy::check()),
        ["wasm32"] => report(wasm32::run()),
        ["avx512"] => report(emulated::avx512()),
        ["neon"] => report(emulated::neon()),
        ["bench", bench_args @ ..] => bench::run(bench_args),
        ["interop"] => interop::run(),
        ["pictures"] => pictures::run(),
        ["bind-table"] => report(interop::bind_table()),
        ["bake-table", args @ ..] if !args.is_empty() => {
            let mut table = cargo("run --release --quiet -p sinew_export --example bake_table --");
            report(succeed(table.args(args)))
        }
        ["liven-table"] => report(succeed(&mut cargo("run --release --quiet -p sinew_liven --example liven_table"))),
        ["methods-table"] => {
            report(succeed(&mut cargo("run --release --quiet -p sinew_check --example methods_table")))
        }
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn report(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
