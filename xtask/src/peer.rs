//! Compiles the benchmark peer `ozz-animation-rs` with a stable toolchain.
//!
//! The crate and its glam use `std::simd`, so they ask for a nightly compiler; and no published version
//! compiles since Rust 1.95, where `Mask::to_int` became `Mask::to_simd`. For the peer alone this program
//! therefore stands in for rustc: it allows the unstable feature in those three crates and compiles ozz
//! from a copy in the target directory with the call renamed. `SkinningJob` itself is compiled as published.
//!
//! Tried instead: an older nightly (a different optimiser for the baseline than for us), a patched copy in
//! the repository (a second home for foreign code), a `[patch]` on the command line (rewrites Cargo.lock).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

use crate::command::target_dir;

const CRATE: &str = "ozz_animation_rs";
const CRATES_WITH_UNSTABLE_SIMD: [&str; 3] = [CRATE, "glam", "glam_ext"];
const RENAMED: (&str, &str) = (".to_int()", ".to_simd()");

/// Makes a cargo command compile through [`stand_in_for_rustc`].
pub fn with_repair(cargo: &mut Command) -> &mut Command {
    match std::env::current_exe() {
        Ok(this) => cargo.env("RUSTC_WRAPPER", this),
        Err(_) => cargo,
    }
}

/// What cargo calls in place of rustc: the same compilation, repaired where it is the peer's.
pub fn stand_in_for_rustc(rustc: &OsStr, args: &[OsString]) -> ExitCode {
    match compile(rustc, args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cannot prepare {CRATE}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compile(rustc: &OsStr, args: &[OsString]) -> io::Result<ExitCode> {
    let name = args.windows(2).find(|pair| pair[0] == "--crate-name").and_then(|pair| pair[1].to_str());
    let mut command = Command::new(rustc);
    if name.is_some_and(|name| CRATES_WITH_UNSTABLE_SIMD.contains(&name)) {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    for arg in args {
        if name == Some(CRATE) && Path::new(arg).ends_with("src/lib.rs") {
            command.arg(renamed_copy(Path::new(arg))?);
        } else {
            command.arg(arg);
        }
    }
    let code = command.status()?.code().unwrap_or(1);
    Ok(u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Copies the crate's flat source folder with the call renamed; returns the copy of `lib`.
fn renamed_copy(lib: &Path) -> io::Result<PathBuf> {
    let copy = target_dir().join("peer").join(CRATE);
    fs::create_dir_all(&copy)?;
    for entry in fs::read_dir(lib.with_file_name(""))? {
        let entry = entry?;
        let source = fs::read_to_string(entry.path())?;
        fs::write(copy.join(entry.file_name()), source.replace(RENAMED.0, RENAMED.1))?;
    }
    Ok(copy.join("lib.rs"))
}
