//! `cargo xtask interop`: what others make of ours. The Khronos validator reads every baked file; three.js and
//! Blender play some, as glTF and as point caches, and their vertices are compared with ours; libigl solves surfaces again
//! that were solved as rigid as possible.
//!
//! What the peers need is installed below the target directory: npm packages by `npm`, Blender as the Python module
//! `bpy` (Python 3.11) and libigl as `igl` by `pip`.

mod packed;
mod peers;
mod pulls;
mod validity;
mod weights;

pub use packed::run as packed;
pub use validity::{Extent, check as validity};
pub use weights::table as bind_table;

use crate::command::{cargo, describe, program, python, root, succeed, target_dir, works};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Built-in characters, as `sinew inspect zoo:` lists them.
const ZOO: &[&str] = &["tube", "flower", "dancer", "calf", "bird", "snail", "arm"];

const NODE_PACKAGES: &[&str] = &["gltf-validator@2.0.0-dev.3.10", "meshoptimizer@1.3.0", "three@0.187.0"];
const BLENDER: &str = "bpy==5.0.1";
const LIBIGL: &str = "libigl==2.6.3";

/// Everything, one peer after the other; a peer that cannot be installed is a failure here.
pub fn run() -> ExitCode {
    let outcome = sinew()
        .and_then(|sinew| validity(Extent::All, &sinew))
        .and_then(|()| peers::check())
        .and_then(|()| pulls::check());
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("\nINTEROP FAILED: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// Whether Node and its package manager are here.
pub fn has_node() -> bool {
    works(program("node").arg("--version")) && works(program("npm").arg("--version"))
}

/// A folder below the target directory, made if need be.
fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = target_dir().join("interop").join(name);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Node with the packages; `script` is one of those beside this file.
fn node(script: &str) -> Result<Command, String> {
    let folder = folder("node")?;
    let wanted = NODE_PACKAGES.join("\n");
    if std::fs::read_to_string(folder.join("installed")).ok().as_deref() != Some(&wanted) {
        let mut npm = program("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).args(NODE_PACKAGES);
        std::fs::write(folder.join("package.json"), "{ \"private\": true, \"type\": \"module\" }\n")
            .map_err(|error| error.to_string())?;
        succeed(npm.current_dir(&folder))?;
        std::fs::write(folder.join("installed"), wanted).map_err(|error| error.to_string())?;
    }
    // Beside the packages, where Node looks for them.
    let copy = folder.join(script);
    std::fs::copy(root().join("xtask/src/interop").join(script), &copy).map_err(|error| error.to_string())?;
    let mut node = program("node");
    node.arg(copy);
    Ok(node)
}

/// Python with Blender; runs a script beside this file.
fn blender(script: &str) -> Result<Command, String> {
    let mut command = python(&folder("python")?, "bpy", BLENDER)
        .map_err(|fault| format!("{fault}; bpy 5.0 needs Python 3.11, 64 bit, on Linux, macOS or Windows"))?;
    command.arg(root().join("xtask/src/interop").join(script));
    Ok(command)
}

/// Python with libigl; runs the script beside this file.
fn libigl() -> Result<Command, String> {
    let mut command = python(&folder("python-libigl")?, "igl", LIBIGL)?;
    command.arg(root().join("xtask/src/interop/libigl.py"));
    Ok(command)
}

/// The `sinew` command, built anew, with the examples.
fn sinew() -> Result<Command, String> {
    succeed(&mut cargo("build --quiet --workspace --profile test --bins --examples"))?;
    Ok(tested())
}

/// The `sinew` command that the tests ran last. Built alone it has other features, so everything would be compiled again.
pub fn tested() -> Command {
    built("sinew")
}

/// A program as the tests have it, by its path there without the ending.
fn built(path: &str) -> Command {
    program(&target_dir().join("debug").join(format!("{path}{}", std::env::consts::EXE_SUFFIX)).to_string_lossy())
}

/// A fresh command like `sinew`'s, quiet.
fn again(sinew: &Command) -> Command {
    let mut command = program(&sinew.get_program().to_string_lossy());
    command.arg("--quiet");
    command
}

/// The real characters, if the environment names them.
fn assets() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "glb" || ending == "gltf") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    match std::env::var_os("SINEW_ASSETS") {
        Some(folder) => walk(Path::new(&folder), &mut found),
        None => eprintln!("SINEW_ASSETS IS NOT SET: built-in characters only"),
    }
    found.sort();
    found
}

/// What a program prints, or its last words.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{} does not start: {error}", describe(command)))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|error| error.to_string());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {}", describe(command), words.trim()))
}
