//! `cargo xtask fuzz --minutes N`: libFuzzer on every door in turn, with a limit of memory and of time for each input.
//!
//! The compiler of this workspace builds it: coverage is a pass of LLVM that needs no other one. Without sanitizers,
//! which look for what safe code cannot do; with the checks of a debug build.

use crate::command::{cargo, root, stdout, succeed, target_dir};
use crate::run::secs_of_children;
use std::path::Path;
use std::process::{Command, Stdio};

/// How programs are compiled so that libFuzzer sees which branches they take.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "--cfg=disable_dispatch_sse4_2",
    "--cfg=disable_dispatch_avx512",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=8",
];

const MEGABYTES: u32 = 1024;
/// By the clock, for what never ends; the program itself allows 10 s of the processor.
const SECONDS: u32 = 120;
const LONGEST_INPUT: u32 = 32_768;

/// What a door came to.
struct Account {
    executions: u64,
    /// Edges of the program seen, and inputs kept because they showed one.
    coverage: u64,
    kept: usize,
    peak_megabytes: u64,
    slowest_secs: u64,
    /// On processors: on a machine that does other things less than the minutes asked for.
    secs: f64,
    fault: Option<String>,
}

/// Fuzzes the doors named, or all, for so many minutes each.
pub fn run(minutes: f64, only: &[&str]) -> Result<(), String> {
    let folder = target_dir().join("fuzz");
    let seeds = folder.join("seeds");
    let written = stdout(cargo("run --quiet --profile test --package sinew_fuzz --example seeds --").arg(&seeds))
        .ok_or("the seeds were not written")?;
    let doors: Vec<&str> = written.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    let host = stdout(Command::new("rustc").arg("-vV")).unwrap_or_default();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("`rustc -vV` names no host")?;
    let mut build = cargo("build --release --manifest-path fuzz/Cargo.toml --target");
    succeed(build.arg(host).arg("--target-dir").arg(&folder).env("RUSTFLAGS", FLAGS.join(" ")))?;
    let program = folder.join(host).join("release/doors");
    let mut faults = Vec::new();
    println!(
        "{:<16} {:>12} {:>9} {:>8} {:>9} {:>10} {:>11}",
        "door", "executions", "coverage", "corpus", "peak MB", "slowest s", "processor s"
    );
    let (mut total, mut all_secs) = (0, 0.0);
    for door in doors.iter().filter(|door| only.is_empty() || only.contains(door)) {
        let account = fuzz(&program, door, &folder, minutes)?;
        let Account { executions, coverage, kept, peak_megabytes, slowest_secs, secs, fault } = account;
        println!(
            "{door:<16} {executions:>12} {coverage:>9} {kept:>8} {peak_megabytes:>9} {slowest_secs:>10} {secs:>11.0}"
        );
        total += executions;
        all_secs += secs;
        faults.extend(fault.map(|fault| format!("{door}: {fault}")));
    }
    println!("{:<16} {total:>12} {:>39} {all_secs:>11.0}", "all", "");
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn fuzz(program: &Path, door: &str, folder: &Path, minutes: f64) -> Result<Account, String> {
    let [corpus, artifacts] = ["corpus", "artifacts"].map(|kind| folder.join(kind).join(door));
    for path in [&corpus, &artifacts] {
        std::fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let known = root().join("fuzz/corpus").join(door);
    let mut fuzzer = Command::new(program);
    fuzzer.env("SINEW_FUZZ", door).env("RAYON_NUM_THREADS", "1");
    fuzzer.args(["-print_final_stats=1", "-close_fd_mask=3", "-detect_leaks=0", "-reload=0"]);
    fuzzer.arg(format!("-rss_limit_mb={MEGABYTES}")).arg(format!("-timeout={SECONDS}"));
    fuzzer.arg(format!("-max_total_time={}", (60.0 * minutes) as u64)).arg(format!("-max_len={LONGEST_INPUT}"));
    fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display()));
    fuzzer.arg(&corpus).arg(folder.join("seeds").join(door)).args(known.is_dir().then_some(known));
    let before = secs_of_children();
    let output = fuzzer.stdout(Stdio::null()).output().map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let stat = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("stat::{name}:")));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    let after = |line: &str, word: &str| line.split(word).nth(1)?.split_whitespace().next()?.parse().ok();
    let fault = (!output.status.success()).then(|| {
        let told = said.lines().find(|line| line.contains("ERROR:")).unwrap_or("ended early").to_owned();
        let artifact = said.lines().find_map(|line| line.split("Test unit written to ").nth(1)).unwrap_or_default();
        format!("{told} {artifact}")
    });
    Ok(Account {
        executions: stat("number_of_executed_units"),
        coverage: said.lines().filter_map(|line| after(line, " cov: ")).max().unwrap_or(0),
        kept: std::fs::read_dir(&corpus).map_or(0, Iterator::count),
        peak_megabytes: stat("peak_rss_mb"),
        slowest_secs: stat("slowest_unit_time_sec"),
        secs: secs_of_children() - before,
        fault,
    })
}
