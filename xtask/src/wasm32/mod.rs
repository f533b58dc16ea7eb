//! The core as WebAssembly: `sinew_conformance` built for this machine and for wasm, run on both, its frames compared.
//!
//! Node runs the modules: its engine is that of a browser. Wasm has no fused multiply-add, so its frames are other numbers
//! than this machine's; how far apart they may be is stated here once.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{cargo, describe, program, root, stdout, succeed, target_dir, works};

/// The browser's target, which has no way to print: checked only.
pub const BROWSER: &str = "wasm32-unknown-unknown";
/// The same instructions with a stdout.
const PRINTING: &str = "wasm32-wasip1";

const PROGRAM: &str = "sinew_conformance";

/// How far a point may be from where this machine puts it, in sizes of the character.
const POSITIONS: f64 = 2e-6;
/// How far a unit normal may be from this machine's.
const NORMALS: f64 = 1e-5;

/// The whole comparison; what is missing is a failure here.
pub fn run() -> Result<(), String> {
    install(PRINTING)?;
    find_node()?;
    compare_frames()
}

/// Installs a target that is not here.
pub fn install(target: &str) -> Result<(), String> {
    let libraries = stdout(program("rustc").args(["--print", "target-libdir", "--target", target]));
    let installed = libraries.is_some_and(|path| Path::new(path.trim()).is_dir());
    if !installed && succeed(program("rustup").args(["target", "add", target])).is_err() {
        return Err(format!("the target {target} is missing and `rustup target add {target}` does not work"));
    }
    Ok(())
}

/// An error where Node is not here.
pub fn find_node() -> Result<(), String> {
    if works(program("node").args(["--eval", "require('node:wasi')"])) {
        Ok(())
    } else {
        Err("NODE IS NOT HERE: nothing ran as WebAssembly; install Node.js 20 or later".to_owned())
    }
}

/// The core compiles for browsers, and so does the studio with all that it is made of.
pub fn type_check() -> Result<(), String> {
    succeed(cargo("check --package sinew --target").arg(BROWSER))?;
    succeed(cargo("check --package sinew_studio --bin sinew_studio --target").arg(BROWSER))
}

/// Frames of wasm are those of this machine; the error lists all that differ by more than the tolerances.
fn compare_frames() -> Result<(), String> {
    succeed(cargo("build --profile test --package").arg(PROGRAM))?;
    let native = target_dir().join("debug").join(PROGRAM);
    let native = || program(&native.to_string_lossy());
    let here = printed(&mut native())?;
    let mut faults = Vec::new();
    for (machine, there) in
        [("this machine's baseline", printed(native().arg("baseline"))?), ("wasm with simd128", printed_by_wasm()?)]
    {
        let differences = compare(&here, &there).map_err(|fault| format!("{machine}: {fault}"))?;
        println!("{machine:<26} {:>9} {:>9}", "points", "normals");
        for difference in differences {
            println!("  {difference}");
            if !difference.is_tolerable() {
                faults.push(format!("{machine}: {difference}"));
            }
        }
    }
    let tolerance = format!("points may differ by {POSITIONS:e} of the size and normals by {NORMALS:e}");
    if faults.is_empty() { Ok(()) } else { Err(format!("{tolerance}\n{}", faults.join("\n"))) }
}

/// What the program prints as wasm. With simd128 alone: lane by lane, unoptimised, the kernels were not compiled after ten
/// minutes and 14 GB.
fn printed_by_wasm() -> Result<String, String> {
    // Unoptimised kernels keep everything on the stack, and are too long for an engine's optimiser as well.
    let flags = "-Ctarget-feature=+simd128\x1f-Clink-arg=-zstack-size=16777216";
    let mut build = cargo("build --profile wasm --package");
    succeed(build.args([PROGRAM, "--target", PRINTING]).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    let module = target_dir().join(PRINTING).join("wasm").join(PROGRAM).with_extension("wasm");
    printed(
        program("node")
            .args(["--no-warnings", "--liftoff-only"])
            .arg(root().join("xtask/src/wasm32/run.mjs"))
            .arg(module),
    )
}

fn printed(command: &mut Command) -> Result<String, String> {
    command.stderr(Stdio::inherit());
    stdout(command).ok_or_else(|| format!("{} does not end well", describe(command)))
}

/// The largest differences over all vertices and moments of a recipe.
struct Difference {
    recipe: String,
    /// In sizes of the character.
    positions: f64,
    normals: f64,
}

impl Difference {
    fn is_tolerable(&self) -> bool {
        self.positions <= POSITIONS && self.normals <= NORMALS
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<24} {:>9.1e} {:>9.1e}", self.recipe, self.positions, self.normals)
    }
}

/// Recipe by recipe; an error where the two did not print the same frames of as many vertices.
fn compare(here: &str, there: &str) -> Result<Vec<Difference>, String> {
    let mut differences: Vec<Difference> = Vec::new();
    let mut size = f64::NAN;
    let (mut theirs, mut ours) = (there.lines(), here.lines());
    for line in 1.. {
        let (here, there) = match (ours.next(), theirs.next()) {
            (None, None) => break,
            (Some(here), Some(there)) => (here, there),
            _ => return Err(format!("one printed more than the other, from line {line} on")),
        };
        match (vertex(here), vertex(there), differences.last_mut()) {
            (Some(here), Some(there), Some(last)) => {
                last.positions = larger(last.positions, distance(&here[..3], &there[..3]) / size);
                last.normals = larger(last.normals, distance(&here[3..], &there[3..]));
            }
            (None, None, _) if here == there => {
                let (recipe, character) = here.rsplit_once(' ').unwrap_or((here, ""));
                size = character.parse().map_err(|_| format!("line {line} names no size: {here}"))?;
                if differences.last().is_none_or(|last| last.recipe != recipe) {
                    differences.push(Difference { recipe: recipe.to_owned(), positions: 0.0, normals: 0.0 });
                }
            }
            _ => return Err(format!("line {line} is \"{here}\" here and \"{there}\" there")),
        }
    }
    if differences.is_empty() { Err("nothing was printed".to_owned()) } else { Ok(differences) }
}

/// Position and normal; `None` where the line begins a frame.
fn vertex(line: &str) -> Option<[f64; 6]> {
    let numbers: Option<Vec<f64>> = line.split(' ').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// NaN, which no tolerance admits, is larger than everything.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: &str = "lbs 2\n0 1 0 1 0 0\n0 2 0 1 0 0\nvolume of segments 2\n0 1 0 0 0 1\n";

    fn tolerable(there: &str) -> Vec<bool> {
        compare(FRAMES, there).unwrap().iter().map(Difference::is_tolerable).collect()
    }

    #[test]
    fn differences_are_of_the_recipe_they_are_in() {
        let same = compare(FRAMES, FRAMES).unwrap();
        assert_eq!(same.iter().map(|d| d.recipe.as_str()).collect::<Vec<_>>(), ["lbs", "volume of segments"]);
        assert!(same.iter().all(|d| d.positions == 0.0 && d.normals == 0.0));
        assert_eq!(tolerable(&FRAMES.replace("0 2 0", "0 2.000003 0")), [true, true]);
        assert_eq!(tolerable(&FRAMES.replace("0 2 0", "0 2.000005 0")), [false, true]);
        assert_eq!(tolerable(&FRAMES.replace("0 0 1", "0 0.001 1")), [true, false]);
        assert_eq!(tolerable(&FRAMES.replace("0 2 0", "0 NaN 0")), [false, true]);
    }

    #[test]
    fn frames_must_be_the_same() {
        for (from, to) in [("volume", "springs"), ("0 1 0 0 0 1\n", ""), ("lbs 2", "lbs 3"), ("0 2 0 1 0 0", "0 2 0")] {
            assert!(compare(FRAMES, &FRAMES.replace(from, to)).is_err(), "{from} → {to}");
        }
        assert!(compare("", "").is_err());
    }
}
