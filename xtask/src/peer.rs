//! Compiles the benchmark peer `ozz-animation-rs` with a stable toolchain.
//!
//! The crate and its glam use `std::simd`, so they ask for a nightly compiler; and versions up to 0.11 do not
//! compile since Rust 1.95, where `Mask::to_int` became `Mask::to_simd`. For the peer alone this program
//! therefore stands in for rustc: it allows the unstable feature in those three crates and compiles ozz
//! from a copy in the target directory with the call renamed. `SkinningJob` itself is compiled as published.
//!
//! Considered instead: an older nightly (a different optimiser for the baseline than for us), a patched copy in
//! the repository (a second home for foreign code), a `[patch]` on the command line (rewrites Cargo.lock).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use crate::command::{exit_like, target_dir};

const CRATE: &str = "ozz_animation_rs";
const CRATES_WITH_UNSTABLE_SIMD: [&str; 3] = [CRATE, "glam", "glam_ext"];
const RENAMED: (&str, &str) = (".to_int()", ".to_simd()");

/// Set for cargo and hence for what cargo calls.
const CALLED_AS_RUSTC: &str = "SINEW_XTASK_IS_RUSTC";

/// Makes a cargo command compile through [`stand_in_for_rustc`].
pub fn with_repair(cargo: &mut Command) -> &mut Command {
    match std::env::current_exe() {
        Ok(this) => cargo.env("RUSTC_WRAPPER", this).env(CALLED_AS_RUSTC, "1"),
        Err(_) => cargo,
    }
}

/// Whether it is cargo that calls, in place of rustc.
pub fn is_called_as_rustc() -> bool {
    std::env::var_os(CALLED_AS_RUSTC).is_some()
}

/// Does what `args`, rustc and its arguments, ask for; repaired where it is the peer's.
pub fn stand_in_for_rustc(args: &[OsString]) -> ExitCode {
    match compile(args) {
        Ok(status) => exit_like(status),
        Err(error) => {
            eprintln!("cannot compile in place of rustc: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compile(args: &[OsString]) -> io::Result<ExitStatus> {
    let [rustc, args @ ..] = args else { return Err(io::ErrorKind::InvalidInput.into()) };
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
    command.status()
}

/// Copies the crate's flat source folder with the call renamed; returns the copy of `lib`.
fn renamed_copy(lib: &Path) -> io::Result<PathBuf> {
    let folder = target_dir().join("peer").join(CRATE);
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(lib.with_file_name(""))? {
        let entry = entry?;
        let source = fs::read_to_string(entry.path())?.replace(RENAMED.0, RENAMED.1);
        let mut copy = File::create(folder.join(entry.file_name()))?;
        copy.write_all(source.as_bytes())?;
        // As old as the original, or cargo takes it for changed and compiles the crate again next time.
        copy.set_modified(entry.metadata()?.modified()?)?;
    }
    Ok(folder.join("lib.rs"))
}
