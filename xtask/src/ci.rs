//! `cargo xtask ci`: every check, one step after the other, up to the first that fails.
//!
//! The steps share one target directory, and those that run code share one profile (`test`), so each crate is
//! compiled once for checking and once for running.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::command::{cargo, succeed, works};
use crate::slowest::{self, Times};
use crate::{emulated, gpu, interop, licences, peer, tidy, wasm32};

/// How much of the long sweeps to run.
#[derive(Clone, Copy)]
pub enum Extent {
    /// Seeded samples.
    Sampled,
    /// Everything.
    Full,
}

/// What the steps share. All that compile to run name the whole workspace, so that packages are compiled once: which features
/// they have depends on what is built together.
struct Run {
    extent: Extent,
    /// Once the tests have run.
    times: Option<Times>,
}

/// Why a step did not pass.
enum Stop {
    /// Ends the run.
    Failed(String),
    /// Not done here; the run goes on.
    Skipped(String),
}

impl From<String> for Stop {
    fn from(fault: String) -> Self {
        Self::Failed(fault)
    }
}

type Outcome = Result<(), Stop>;

struct Step {
    name: &'static str,
    run: fn(&mut Run) -> Outcome,
}

const STEPS: &[Step] = &[
    Step { name: "format", run: |_| Ok(succeed(&mut cargo("fmt --all --check"))?) },
    Step { name: "clippy", run: |_| Ok(succeed(&mut cargo("clippy --workspace --all-targets -- --deny warnings"))?) },
    Step {
        name: "docs",
        run: |_| Ok(succeed(cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "--deny warnings"))?),
    },
    Step { name: "graphics driver", run: |_| gpu::find_driver().map_err(|gpu::Missing(why)| missing(why)) },
    Step { name: "tests", run: tests },
    Step { name: "doc tests", run: |run| Ok(succeed(run.extent.tell(&mut cargo("test --workspace --doc")))?) },
    Step {
        name: "examples, benches",
        run: |_| Ok(succeed(&mut cargo("build --workspace --profile test --examples --benches"))?),
    },
    Step { name: "glTF validator", run: validator },
    Step { name: "wasm32", run: webassembly },
    Step { name: "avx512 and neon", run: emulated },
    Step { name: "benchmark peer", run: benchmark_peer },
    Step { name: "licences", run: |_| Ok(licences::check()?) },
    Step { name: "cargo deny", run: deny },
    Step { name: "tidy", run: |_| Ok(tidy::check()?) },
];

/// Runs the steps and sums them up; fails with the first that fails.
pub fn run(extent: Extent) -> ExitCode {
    let mut run = Run { extent, times: None };
    let mut report = Vec::new();
    for step in STEPS {
        eprintln!("\n=== {} ===", step.name);
        let start = Instant::now();
        let outcome = (step.run)(&mut run);
        let took = start.elapsed();
        match &outcome {
            Ok(()) => eprintln!("=== {}: {:.1} s ===", step.name, took.as_secs_f64()),
            Err(Stop::Skipped(why)) => eprintln!("=== {} SKIPPED: {why} ===", step.name),
            Err(Stop::Failed(why)) => eprintln!("=== {} FAILED: {why} ===", step.name),
        }
        let failed = matches!(outcome, Err(Stop::Failed(_)));
        report.push((outcome, took));
        if failed {
            break;
        }
    }
    if let Some(times) = &run.times {
        times.print_slowest();
    }
    summarise(&report)
}

fn summarise(report: &[(Outcome, Duration)]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    println!("\nsteps");
    for (index, step) in STEPS.iter().enumerate() {
        let Some((outcome, took)) = report.get(index) else {
            println!("  {:<20} {:>9}  not run", step.name, "");
            continue;
        };
        let verdict = match outcome {
            Ok(()) => "ok".to_owned(),
            Err(Stop::Skipped(why)) => format!("SKIPPED: {why}"),
            Err(Stop::Failed(why)) => {
                code = ExitCode::FAILURE;
                format!("FAILED: {}", why.lines().next().unwrap_or_default())
            }
        };
        println!("  {:<20} {:>7.1} s  {verdict}", step.name, took.as_secs_f64());
    }
    let total: Duration = report.iter().map(|(_, took)| *took).sum();
    println!("  {:<20} {:>7.1} s", "total", total.as_secs_f64());
    if std::env::var_os("SINEW_ASSETS").is_none() {
        println!("\n  SINEW_ASSETS IS NOT SET: no test has seen a real character");
    }
    code
}

impl Extent {
    /// Lets the tests know how far to go.
    fn tell(self, command: &mut Command) -> &mut Command {
        match self {
            Self::Sampled => command.env_remove("SINEW_FULL"),
            Self::Full => command.env("SINEW_FULL", "1"),
        }
    }
}

fn tests(run: &mut Run) -> Outcome {
    if std::env::var_os("SINEW_ASSETS").is_none() {
        eprintln!("SINEW_ASSETS IS NOT SET: tests on real characters are skipped (with CI=true they fail)");
    }
    let extent = run.extent;
    // Compiled all the same, for one set of features; not run where the step before found nothing to run them on.
    let (is_drawn, on_gpu) =
        (gpu::has_driver(), gpu::PACKAGES.map(|package| format!("package({package})")).join(" + "));
    let (result, times) = if works(&mut cargo("nextest --version")) {
        slowest::nextest(|nextest| {
            extent.tell(nextest.arg("--workspace"));
            if is_drawn { nextest } else { nextest.args(["--filterset", &format!("not ({on_gpu})")]) }
        })
    } else {
        slowest::cargo_test(|test| {
            extent.tell(test.args(["--workspace", "--lib", "--bins", "--tests"]));
            if is_drawn { test } else { test.args(gpu::PACKAGES.iter().flat_map(|package| ["--exclude", package])) }
        })
    };
    run.times = Some(times);
    Ok(result?)
}

/// What is not here is said loudly, and is a fault where nothing may be skipped.
fn missing(why: String) -> Stop {
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    if is_ci { Stop::Failed(why) } else { Stop::Skipped(why) }
}

/// Baked files are sound glTF, by the judge of the format's makers.
fn validator(run: &mut Run) -> Outcome {
    if !interop::has_node() {
        return Err(Stop::Skipped("Node AND npm ARE NOT HERE: no baked file was validated".to_owned()));
    }
    let extent = match run.extent {
        Extent::Sampled => interop::Extent::Sample,
        Extent::Full => interop::Extent::All,
    };
    Ok(interop::validity(extent, &interop::tested())?)
}

/// Licences, faults found since, duplicates, by the tool for it.
fn deny(_: &mut Run) -> Outcome {
    match licences::deny()? {
        true => Ok(()),
        false => Err(Stop::Skipped("cargo deny IS NOT HERE: advisories and duplicates were not looked at".to_owned())),
    }
}

/// The core compiles for browsers; as WebAssembly it computes what it computes here, which takes minutes to compile.
fn webassembly(run: &mut Run) -> Outcome {
    wasm32::install(wasm32::BROWSER).map_err(missing)?;
    wasm32::type_check()?;
    match run.extent {
        Extent::Sampled => Ok(()),
        Extent::Full => {
            wasm32::find_node().map_err(missing)?;
            Ok(wasm32::run()?)
        }
    }
}

/// What other instructions compute is what this machine computes; as slow to compile.
fn emulated(run: &mut Run) -> Outcome {
    match run.extent {
        Extent::Sampled => Err(Stop::Skipped("runs with --full".to_owned())),
        Extent::Full => Ok(emulated::avx512().and_then(|()| emulated::neon())?),
    }
}

/// The baseline that figures are quoted against computes what the plain loop computes, as built for measuring.
fn benchmark_peer(run: &mut Run) -> Outcome {
    match run.extent {
        Extent::Sampled => Err(Stop::Skipped("runs with --full".to_owned())),
        Extent::Full => {
            let mut test = cargo("test --release --package sinew_bench --features ozz ozz_agrees_with_plain");
            Ok(succeed(peer::with_repair(&mut test))?)
        }
    }
}
