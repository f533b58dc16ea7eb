//! Nanoseconds per vertex of every kernel on a tube, beside a plain loop and ozz: `cargo xtask bench`.
//!
//! ```text
//! sinew_bench [FILTER] [--json]
//! sinew_bench kinodynamic | springs | retune | threads | crowd
//! sinew_bench characters FILE…
//! sinew_bench --frames=N CASE
//! ```
//!
//! The last runs a case N times on 10,000 vertices and 12 bones, or a line of the first table of `kinodynamic` on its own
//! 8,000 and 19, and measures nothing: for a profiler that counts.
//!
//! One thread. FILTER is a part of a case's name; the baselines are measured whatever it says, in the same run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose product is a table on stdout")]

mod cases;
mod characters;
mod crowd;
mod data;
mod kinodynamic;
#[cfg(feature = "ozz")]
mod ozz;
mod plain;
mod plain_velocity;
mod retune;
mod springs;
mod stopwatch;
mod threads;

use std::process::ExitCode;
use std::time::Duration;

use cases::{BONE_COUNTS, Case, OZZ, PLAIN, VERTICES, cases};
use data::Workload;
use stopwatch::Stopwatch;

/// Outlasts a burst of somebody else's work on the core.
const PATIENCE: Duration = Duration::from_millis(300);

/// One line of the table.
struct Row {
    case: String,
    vertices: usize,
    bones: usize,
    ns_per_vertex: f64,
    ratio_to_plain: Option<f64>,
    ratio_to_ozz: Option<f64>,
}

fn main() -> ExitCode {
    let (flags, names): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    if let ([flag], [name]) = (&flags[..], &names[..])
        && let Some(frames) = flag.strip_prefix("--frames=").and_then(|frames| frames.parse().ok())
    {
        return count(name, frames);
    }
    match names.first().map(String::as_str) {
        Some("characters") => {
            pin();
            return match characters::run(&names[1..]) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            };
        }
        Some("springs") => {
            pin();
            return table(springs::run);
        }
        Some("retune") => {
            pin();
            return table(retune::run);
        }
        // Not pinned: threads that start later would inherit the core.
        Some(kinodynamic::NAME) => return table(kinodynamic::run),
        Some("threads") => return table(threads::run),
        Some("crowd") => return table(crowd::run),
        _ => {}
    }
    let json = flags.iter().any(|flag| flag == "--json");
    if names.len() > 1 || flags.iter().any(|flag| flag != "--json") {
        eprintln!("usage: sinew_bench [FILTER] [--json]");
        return ExitCode::from(2);
    }
    let filter = names.first().map_or("", String::as_str);
    let cases = cases();
    if !cases.iter().any(|case| case.name.contains(filter)) {
        let known: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        eprintln!("no case has \"{filter}\" in its name; there are: {}", known.join(", "));
        return ExitCode::from(2);
    }

    let pinned_core = pin();
    match pinned_core {
        Some(core) => eprintln!("pinned to core {core}"),
        None => eprintln!("NOT PINNED: the system gives no core to this thread alone; expect more noise"),
    }
    if cfg!(not(feature = "ozz")) {
        eprintln!("built without the feature \"ozz\": no ratio to ozz");
    }

    if !json {
        println!("time of one frame (positions and normals), one thread, minimum of many runs;");
        println!("ratios are of times: below 1 is faster than the baseline\n");
        println!("{:<38} {:>9} {:>6} {:>10} {:>9} {:>9}", "case", "vertices", "bones", "ns/vertex", "/ plain", "/ ozz");
    }
    let mut rows = Vec::new();
    for &vertices in VERTICES {
        for &bone_count in BONE_COUNTS {
            let work = Workload::tube(vertices, bone_count);
            let measured = measure(&cases, &work, bone_count, filter);
            if !json {
                measured.iter().for_each(print_row);
            }
            rows.extend(measured);
        }
    }
    if json {
        println!("{:#}", to_json(pinned_core, &rows));
    }
    ExitCode::SUCCESS
}

/// Prints a table of its own.
fn table(run: fn()) -> ExitCode {
    run();
    ExitCode::SUCCESS
}

/// Runs one case for a profiler.
fn count(name: &str, frames: usize) -> ExitCode {
    if kinodynamic::count(name, frames) {
        return ExitCode::SUCCESS;
    }
    let cases = cases();
    let Some(case) = cases.iter().find(|case| case.name == name) else {
        eprintln!("no case is called \"{name}\"");
        return ExitCode::from(2);
    };
    case.run(&Workload::tube(10_000, 12), &mut Stopwatch::counting(frames));
    ExitCode::SUCCESS
}

/// Keeps this thread on one core, and says which.
///
/// The last one: systems tend to serve interrupts on the first. Threads started later inherit the core.
fn pin() -> Option<usize> {
    let core = core_affinity::get_core_ids()?.pop()?;
    core_affinity::set_for_current(core).then_some(core.id)
}

/// The cases that match, and the baselines they are compared with.
fn measure(cases: &[Case], work: &Workload, bones: usize, filter: &str) -> Vec<Row> {
    let vertices = work.positions.len();
    let measured: Vec<_> = cases
        .iter()
        .filter(|case| case.name.contains(filter) || [PLAIN, OZZ].contains(&case.name.as_str()))
        .map(|case| {
            let mut stopwatch = Stopwatch::new(PATIENCE);
            case.run(work, &mut stopwatch);
            (case.name.clone(), stopwatch.fastest().as_secs_f64() * 1e9 / vertices as f64)
        })
        .collect();
    let ns_of = |name: &str| measured.iter().find(|(case, _)| case == name).map(|(_, ns)| ns);
    measured
        .iter()
        .map(|(case, ns_per_vertex)| Row {
            case: case.clone(),
            vertices,
            bones,
            ns_per_vertex: *ns_per_vertex,
            ratio_to_plain: ns_of(PLAIN).map(|ns| ns_per_vertex / ns),
            ratio_to_ozz: ns_of(OZZ).map(|ns| ns_per_vertex / ns),
        })
        .collect()
}

fn print_row(row: &Row) {
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    println!(
        "{:<38} {:>9} {:>6} {:>10.2} {:>9} {:>9}",
        row.case,
        row.vertices,
        row.bones,
        row.ns_per_vertex,
        ratio(row.ratio_to_plain),
        ratio(row.ratio_to_ozz)
    );
}

fn to_json(pinned_core: Option<usize>, rows: &[Row]) -> serde_json::Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "case": row.case,
                "vertices": row.vertices,
                "bones": row.bones,
                "ns_per_vertex": row.ns_per_vertex,
                "ratio_to_plain": row.ratio_to_plain,
                "ratio_to_ozz": row.ratio_to_ozz,
            })
        })
        .collect();
    serde_json::json!({ "pinned_core": pinned_core, "rows": rows })
}
