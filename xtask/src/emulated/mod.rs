//! Kernels for instructions that this machine need not have, executed by emulators: `cargo xtask avx512` and
//! `cargo xtask neon`. What `sinew_conformance` prints there must be what it prints here, to the last digit.
//!
//! AVX-512 runs on Bochs' processor, an Ice Lake. It comes as a Python module (`bochscpu`), installed below the target
//! directory; the script beside this file is the little of an operating system that the program needs. NEON runs on
//! QEMU, as a program of aarch64 Linux.

use crate::command::{cargo, describe, program, python, root, succeed, target_dir, works};
use crate::wasm32::install;
use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = "sinew_conformance";
/// The script reaches into this very version.
const BOCHS: &str = "bochscpu-python==0.4.0";

/// AVX-512 against this machine; whatever is missing is a failure.
pub fn avx512() -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("AVX-512 IS NOT CHECKED: the emulator runs on x86-64 Linux only".to_owned());
    }
    if !works(program("cc").arg("--version")) {
        return Err("AVX-512 IS NOT CHECKED: the emulator needs a C compiler, `cc`".to_owned());
    }
    let python = python(&target_dir().join("avx512"), "bochscpu", BOCHS)?;
    // It loads a program that needs no other file.
    let flags = "-Ctarget-feature=+crt-static\x1f-Crelocation-model=static";
    let built = build("x86_64-unknown-linux-gnu", flags)?;
    let bochs = |options: &[&str]| {
        let mut bochs = program(&python.get_program().to_string_lossy());
        Printed::by(bochs.arg(root().join("xtask/src/emulated/bochs.py")).args(options).arg(&built))
    };
    let here = Printed::by(&mut program(&built.to_string_lossy()))?;
    for (name, there, has_avx512) in [("AVX-512", bochs(&[])?, true), ("AVX2", bochs(&["--no-avx512"])?, false)] {
        let executed = there.wide_instructions()?;
        println!("Bochs with {name}: {executed} instructions of 512 bits");
        if (executed > 0) != has_avx512 {
            return Err(format!("Bochs with {name} executed {executed} instructions of 512 bits"));
        }
        there.compare(&here).map_err(|fault| format!("Bochs with {name}: {fault}"))?;
    }
    println!("{} numbers, the same with AVX-512, with AVX2 and on this machine", here.numbers());
    Ok(())
}

/// NEON against this machine; whatever is missing is a failure.
pub fn neon() -> Result<(), String> {
    const TARGET: &str = "aarch64-unknown-linux-musl";
    const QEMU: &str = "qemu-aarch64";
    if !works(program(QEMU).arg("--version")) {
        return Err(format!("NEON IS NOT CHECKED: `{QEMU}` is not here (Debian has it in the package qemu-user)"));
    }
    install(TARGET)?;
    // The linker that comes with Rust: none for aarch64 has to be installed.
    let built = build(TARGET, "-Clinker=rust-lld")?;
    succeed(cargo("build --profile test --package").arg(PROGRAM))?;
    let here = Printed::by(&mut program(&target_dir().join("debug").join(PROGRAM).to_string_lossy()))?;
    Printed::by(program(QEMU).arg(built))?.compare(&here).map_err(|fault| format!("NEON: {fault}"))?;
    println!("{} numbers, the same with NEON and on this machine", here.numbers());
    Ok(())
}

fn build(target: &str, flags: &str) -> Result<PathBuf, String> {
    // As the workspace's own configuration, which these flags replace.
    let flags = format!("{flags}\x1f--cfg=disable_dispatch_sse4_2");
    let mut build = cargo("build --profile test --package");
    succeed(build.args([PROGRAM, "--target", target]).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    Ok(target_dir().join(target).join("debug").join(PROGRAM))
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

    fn numbers(&self) -> usize {
        self.frames.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).count()
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
