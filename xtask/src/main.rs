//! All checks, benchmarks and tidiness of the workspace behind one command: `cargo xtask`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose product is talk to a developer")]

mod bench;
mod ci;
mod command;
mod emulated;
mod fuzz;
mod gpu;
mod hardening;
mod instructions;
mod interop;
mod kills;
mod licences;
mod peer;
mod pictures;
mod run;
mod scaling;
mod slowest;
mod tidy;
mod wasm32;
mod web;
mod workbench;

use crate::command::{cargo, succeed};
use std::ffi::OsString;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--full]              every check; with --full also the long sweeps
  gpu                      compares frames computed on the GPU with those of the processor; installs a software driver if there is none
  gpu-browsers             the shaders as WebGPU compute of the browsers that are here (Node.js)
  tidy                     what no compiler checks: stray paths, unfinished code, missing module docs
  bench --instructions [--update]
                           instructions per vertex of the main kernels against the committed baseline (valgrind)
  bench [FILTER] [--json]  nanoseconds per vertex of the kernels whose name contains FILTER, beside the baselines
  fuzz [--minutes N] [DOOR…]
                           libFuzzer on every door that bytes come in by, for N minutes each (default 1)
  kills [COUNT [PROGRAM]]  ends every command that writes at random moments, COUNT in all (default 1000): nothing torn,
                           nothing left after one further run
  hardening-write OLD [NEW]
                           what once went wrong in writing files, tried with the sinew programs OLD and NEW (this build)
  licences                 what the packages we build on may be used under; cargo deny where it is installed
  wasm32                   compares frames computed as WebAssembly with those of this machine (Node.js)
  avx512                   the same with AVX-512, executed by Bochs (Python)
  neon                     the same with NEON, executed by QEMU
  interop                  tries baked files in the Khronos validator, three.js and Blender, and ARAP against libigl;
                           installs what they need
  packed                   packs the characters of SINEW_ASSETS by Draco and meshopt and compares them with the plain ones
  scaling [--program SINEW] [AXIS-OR-COMMAND…]
                           time of every command against vertices, bones, clips, primitives, skins, muscles and bad shapes,
                           and the exponents; without a filter writes docs/scaling.md
  scaling --make AXIS N FILE.glb
                           writes the character of an axis at N
  hardening-load OLD [NEW] what once took too long or too much in reading, tried with the sinew programs OLD and NEW (this build)
  web [FOLDER]             makes a folder of static files of the studio for browsers (target/studio-web)
  web --check              the same, used in headless Chromium (npm and Chromium must be here); screens in target/web/screens
  pictures                 redraws the pictures of the manual
  bind-table               binds all characters of SINEW_ASSETS by every method and by Blender and writes docs/bind.md
  bake-table OLD [ASSET…]  bakes the characters of SINEW_ASSETS with this build and with the sinew program OLD by one recipe:
                           bytes added, time, errors as played by the specification; with all of them writes docs/bake.md
  liven-table              livens all characters of SINEW_ASSETS and writes docs/liven.md
  methods-table            skins all characters of SINEW_ASSETS by every method and writes docs/methods.md
  methods-sheets [CHARACTERS [METHODS]]
                           draws eight characters of SINEW_ASSETS by every method into docs/gallery/methods, each at the moment where
                           the method does most; parts of names with commas between draw fewer";

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
        ["gpu"] => report(gpu::find_driver().map_err(|gpu::Missing(why)| why).and_then(|()| gpu::tests())),
        ["gpu-browsers"] => report(gpu::browsers()),
        ["tidy"] => report(tidy::check()),
        ["wasm32"] => report(wasm32::run()),
        ["web", "--check"] => report(web::check()),
        ["web"] => report(web::run("target/studio-web")),
        ["web", folder] => report(web::run(folder)),
        ["web-folder", module, folder] => report(web::folder(module.as_ref(), folder.as_ref())),
        ["avx512"] => report(emulated::avx512()),
        ["neon"] => report(emulated::neon()),
        ["bench", bench_args @ ..] => bench::run(bench_args),
        ["fuzz", "--minutes", minutes, doors @ ..] => report(match minutes.parse() {
            Ok(minutes) => fuzz::run(minutes, doors),
            Err(_) => Err(format!("{minutes} is no number of minutes")),
        }),
        ["fuzz", doors @ ..] => report(fuzz::run(1.0, doors)),
        ["kills"] => report(kills::built().and_then(|program| kills::kills(&program, 1000))),
        ["kills", count] => report(match count.parse() {
            Ok(count) => kills::built().and_then(|program| kills::kills(&program, count)),
            Err(_) => Err(format!("{count} is no number of kills")),
        }),
        ["kills", count, program] => report(match count.parse() {
            Ok(count) => kills::kills(program.as_ref(), count),
            Err(_) => Err(format!("{count} is no number of kills")),
        }),
        ["hardening-write", old] => {
            report(kills::built().and_then(|program| hardening::write::compare(&program, old.as_ref())))
        }
        ["hardening-write", old, new] => report(hardening::write::compare(new.as_ref(), old.as_ref())),
        ["licences"] => report(licences::check().and_then(|()| licences::deny().map(drop))),
        ["interop"] => interop::run(),
        ["hardening-load", old] => {
            report(kills::built().and_then(|program| hardening::load::compare(&program, std::path::Path::new(old))))
        }
        ["hardening-load", old, new] => {
            report(hardening::load::compare(std::path::Path::new(new), std::path::Path::new(old)))
        }
        ["scaling", "--make", axis, n, path] => report(scaling::make(axis, n, path)),
        ["scaling", "--program", program, filter @ ..] => {
            report(scaling::table_of(std::path::Path::new(program), filter))
        }
        ["scaling", filter @ ..] => report(scaling::table(filter)),
        ["packed"] => report(interop::packed()),
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
        ["methods-sheets", names @ ..] => {
            let mut draw =
                cargo("run --release --quiet -p sinew_check --example methods_sheets -- docs/gallery/methods");
            report(succeed(draw.args(names)))
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
