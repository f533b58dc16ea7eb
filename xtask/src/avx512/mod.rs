//! `cargo xtask avx512`: the kernels for AVX-512 on any x86-64 Linux machine. Bochs' processor executes them, an Ice Lake;
//! what `sinew_conformance` prints on it must be what it prints here, to the last digit.
//!
//! The processor comes as a Python module (`bochscpu`), installed below the target directory; the script beside this file
//! is the little of an operating system that the program needs.

use crate::command::{cargo, describe, program, python, root, succeed, target_dir, works};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";
const PROGRAM: &str = "sinew_conformance";
/// The script reaches into this very version.
const EMULATOR: &str = "bochscpu-python==0.4.0";

/// The comparison; whatever is missing is a failure.
pub fn run() -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("AVX-512 IS NOT CHECKED: the emulator runs on x86-64 Linux only".to_owned());
    }
    if !works(program("cc").arg("--version")) {
        return Err("AVX-512 IS NOT CHECKED: the emulator needs a C compiler, `cc`".to_owned());
    }
    let mut emulator = python(&target_dir().join("avx512"), "bochscpu", EMULATOR)?;
    emulator.arg(root().join("xtask/src/avx512/bochs.py"));

    let flags = "-Ctarget-feature=+crt-static\x1f-Crelocation-model=static\x1f--cfg=disable_dispatch_sse4_2";
    let mut build = cargo("build --profile test --package");
    succeed(build.args([PROGRAM, "--target", TARGET]).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    let built = target_dir().join(TARGET).join("debug").join(PROGRAM);

    let here = Printed::by(&mut program(&built.to_string_lossy()))?;
    let with = Printed::by(program(&emulator.get_program().to_string_lossy()).args(emulator.get_args()).arg(&built))?;
    let mut without = program(&emulator.get_program().to_string_lossy());
    let without = Printed::by(without.args(emulator.get_args()).arg("--no-avx512").arg(&built))?;

    let values = here.frames.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).count();
    for (name, there, has_avx512) in [("AVX-512", &with, true), ("AVX2", &without, false)] {
        let executed = there.wide_instructions()?;
        println!("Bochs with {name}: {executed} instructions of 512 bits");
        if (executed > 0) != has_avx512 {
            return Err(format!("Bochs with {name} executed {executed} instructions of 512 bits"));
        }
        there.compare(&here).map_err(|fault| format!("Bochs with {name}: {fault}"))?;
    }
    println!("{values} numbers, the same with AVX-512, with AVX2 and on this machine");
    Ok(())
}

struct Printed {
    frames: String,
    words: String,
}

impl Printed {
    fn by(command: &mut Command) -> Result<Self, String> {
        let output = command.output().map_err(|error| format!("{} does not start: {error}", describe(command)))?;
        let [frames, words] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if !output.status.success() || frames.is_empty() {
            return Err(format!("{} ended with {}: {}", describe(command), output.status, words.trim()));
        }
        Ok(Self { frames, words })
    }

    /// How many instructions of 512 bits the emulator counted.
    fn wide_instructions(&self) -> Result<u64, String> {
        let counted =
            self.words.lines().rev().find_map(|line| line.rsplit_once(", 512 ")?.1.replace(',', "").parse().ok());
        counted.ok_or_else(|| format!("the emulator does not tell what it executed: {}", self.words.trim()))
    }

    fn compare(&self, other: &Self) -> Result<(), String> {
        if self.frames == other.frames {
            return Ok(());
        }
        let lines = self.frames.lines().zip(other.frames.lines()).enumerate();
        let mut differ = lines.filter(|(_, (there, here))| there != here);
        Err(match differ.next() {
            Some((line, (there, here))) => {
                let more = differ.count();
                format!("line {} is \"{there}\" there and \"{here}\" here, and {more} more differ", line + 1)
            }
            None => "one printed more than the other".to_owned(),
        })
    }
}
