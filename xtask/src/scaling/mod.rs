//! Time against n: every command on characters that grow along one axis, and the exponent that fits.
//!
//! Times are those of processors, of all threads. What a command takes at the smallest n there is (starting, reading, the
//! sixty frames of a clip) is taken off first, or it would hide the slope; the exponent is the least-squares slope of the
//! logarithms over two decades of n. Where that comes out too steep, instructions are counted instead: a machine that does
//! other things takes more time for each the more memory they touch, and its clock says nothing about short runs.

mod shapes;

use crate::command::root;
use crate::instructions::{counted, counting};
use crate::kills;
use crate::run::run;
use serde_json::json;
use shapes::{Form, Layout, Plan};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longest run of one command.
const PATIENCE: Duration = Duration::from_secs(200);
/// Steps per decade of n.
const STEPS: usize = 2;

/// What grows.
struct Axis {
    name: &'static str,
    /// The largest n; the fit begins two decades below it.
    most: usize,
    plan: fn(usize) -> Plan,
    commands: &'static [&'static str],
}

const ALL: &[&str] = &["inspect", "frame", "check", "bake", "map", "pose", "bind", "edit"];
const PLAYED: &[&str] = &["inspect", "frame", "check", "bake", "map", "pose"];

const AXES: &[Axis] = &[
    Axis { name: "vertices", most: 100_000, plan: |n| Plan { points: n, ..Plan::default() }, commands: ALL },
    Axis {
        name: "bones, a chain",
        most: 4_000,
        plan: |n| Plan { bones: n, points: 4_000, ..Plan::default() },
        commands: ALL,
    },
    Axis {
        name: "bones, a star",
        most: 4_000,
        plan: |n| Plan { bones: n, points: 4_000, layout: Layout::Star, ..Plan::default() },
        commands: ALL,
    },
    Axis { name: "clips", most: 1_000, plan: |n| Plan { clips: n, ..Plan::default() }, commands: ALL },
    Axis { name: "keys", most: 100_000, plan: |n| Plan { keys: n + 2, ..Plan::default() }, commands: ALL },
    Axis {
        name: "primitives",
        most: 2_000,
        plan: |n| Plan { primitives: n, points: 40, ..Plan::default() },
        commands: ALL,
    },
    Axis { name: "skins", most: 2_000, plan: |n| Plan { skins: n, points: 40, ..Plan::default() }, commands: ALL },
    Axis {
        name: "pieces",
        most: 2_000,
        plan: |n| Plan { pieces: n, points: 40, touching: true, ..Plan::default() },
        commands: ALL,
    },
    Axis {
        name: "muscles",
        most: 400,
        plan: |_| Plan { bones: 400, points: 4_000, ..Plan::default() },
        commands: &["frame", "check", "bake"],
    },
    Axis {
        name: "corners at one place",
        most: 100_000,
        plan: |n| Plan { points: n, form: Form::OnePlace, ..Plan::default() },
        commands: PLAYED,
    },
    Axis {
        name: "triangles around a point",
        most: 100_000,
        plan: |n| Plan { points: n, form: Form::Fan, ..Plan::default() },
        commands: PLAYED,
    },
    Axis {
        name: "needles of a pole",
        most: 100_000,
        plan: |n| Plan { points: n, form: Form::Pole, ..Plan::default() },
        commands: PLAYED,
    },
];

impl Axis {
    /// What the fit is without, then two decades.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        let smallest = self.most / 100;
        let size = move |step: usize| (smallest as f64 * 10f64.powf(step as f64 / STEPS as f64)).round() as usize;
        std::iter::once((smallest / 10).max(1)).chain((0..=2 * STEPS).map(size))
    }
}

/// The exponent that a command may have.
fn most_exponent(command: &str) -> f64 {
    if matches!(command, "bind" | "edit") { 1.5 } else { 1.15 }
}

/// Runs the axes whose name, or whose command, contains a word of `filter`; writes `docs/scaling.md` where there is none.
pub fn table(filter: &[&str]) -> Result<(), String> {
    measure(&kills::built()?, filter)
}

/// Writes the character of the first axis whose name contains `axis`, at `n`.
pub fn make(axis: &str, n: &str, path: &str) -> Result<(), String> {
    let axis = AXES.iter().find(|known| known.name.contains(axis)).ok_or_else(|| format!("no axis {axis}"))?;
    let n = n.parse::<usize>().map_err(|error| format!("{n}: {error}"))?;
    fs::write(path, (axis.plan)(n).glb()).map_err(|error| format!("{path}: {error}"))
}

/// As [`table`], of a program that is there.
pub fn table_of(program: &Path, filter: &[&str]) -> Result<(), String> {
    measure(program, filter)
}

fn measure(program: &Path, filter: &[&str]) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("sinew-scaling-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let outcome = rows(program, &folder, filter);
    let _ = fs::remove_dir_all(&folder);
    let (rows, steep) = outcome?;
    if filter.is_empty() {
        let path = root().join("docs/scaling.md");
        fs::write(&path, page(&rows)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if steep.is_empty() { Ok(()) } else { Err(format!("too steep: {}", steep.join(", "))) }
}

/// One line of the table: axis, command, n and seconds, exponent.
struct Row {
    axis: &'static str,
    command: &'static str,
    times: Vec<(usize, f64)>,
    exponent: Option<f64>,
    /// Whether the exponent is that of instructions.
    counted: bool,
}

fn rows(program: &Path, folder: &Path, filter: &[&str]) -> Result<(Vec<Row>, Vec<String>), String> {
    let (mut rows, mut steep) = (Vec::new(), Vec::new());
    for axis in AXES {
        let wanted = |command: &str| filter.iter().all(|word| axis.name.contains(word) || command == *word);
        let commands: Vec<&'static str> = axis.commands.iter().copied().filter(|command| wanted(command)).collect();
        if commands.is_empty() {
            continue;
        }
        let mut found: Vec<Row> = commands
            .iter()
            .map(|&command| Row { axis: axis.name, command, times: Vec::new(), exponent: None, counted: false })
            .collect();
        let mut floors = vec![0.0; found.len()];
        let mut lost = vec![false; found.len()];
        for (turn, n) in axis.sizes().enumerate() {
            let file = folder.join("made.glb");
            fs::write(&file, (axis.plan)(n).glb()).map_err(|error| error.to_string())?;
            for (at, row) in found.iter_mut().enumerate() {
                if lost[at] {
                    continue;
                }
                let mut command = Command::new(program);
                command.arg("--quiet").args(arguments(row.command, axis.name, &file, folder, n)?);
                let mut secs = f64::INFINITY;
                // The least of a few: whatever else runs on the machine only adds.
                for _ in 0..4 {
                    let run = run(&mut command, PATIENCE)?;
                    if run.timed_out {
                        eprintln!("{}, {n}: {} took more than {PATIENCE:?}", axis.name, row.command);
                        lost[at] = true;
                        break;
                    }
                    if run.code != Some(0) {
                        eprintln!("{}, {n}: {} said {}", axis.name, row.command, run.stderr.trim());
                        lost[at] = true;
                        break;
                    }
                    secs = secs.min(run.secs);
                    if run.secs > 0.5 {
                        break;
                    }
                }
                match turn {
                    0 => floors[at] = secs,
                    _ if secs.is_finite() => row.times.push((n, secs)),
                    _ => {}
                }
            }
        }
        for ((mut row, floor), lost) in found.into_iter().zip(floors).zip(lost) {
            let is_steep = |exponent: Option<f64>| exponent.is_some_and(|found| found > most_exponent(row.command));
            let mut exponent = exponent(&row.times, floor, LEAST_SECS);
            let counted = is_steep(exponent) && !lost;
            if counted {
                exponent = counted_exponent(program, folder, axis, row.command)?;
            }
            if lost || is_steep(exponent) {
                steep.push(format!("{} in {}", row.command, row.axis));
            }
            (row.exponent, row.counted) = (exponent, counted);
            println!("{}", line(&row));
            rows.push(row);
        }
    }
    Ok((rows, steep))
}

/// The exponent of the instructions of a command, on one thread: what others wait for is none of it.
fn counted_exponent(program: &Path, folder: &Path, axis: &Axis, command: &str) -> Result<Option<f64>, String> {
    let mut counts = Vec::new();
    for n in axis.sizes() {
        let file = folder.join("made.glb");
        fs::write(&file, (axis.plan)(n).glb()).map_err(|error| error.to_string())?;
        let mut valgrind = counting();
        valgrind.env("RAYON_NUM_THREADS", "1").arg(program).arg("--quiet");
        counts.push((n, counted(valgrind.args(arguments(command, axis.name, &file, folder, n)?))?));
    }
    Ok(exponent(&counts[1..], counts[0].1, LEAST_INSTRUCTIONS))
}

/// Growth below this is noise.
const LEAST_SECS: f64 = 0.02;
/// The same of instructions, of which a second has some billions.
const LEAST_INSTRUCTIONS: f64 = 5e7;

/// Least-squares slope of log time over log n, without the time that any n takes. None where fewer than two n take `least`
/// longer: then there is nothing to fit but noise.
fn exponent(times: &[(usize, f64)], floor: f64, least: f64) -> Option<f64> {
    let grown: Vec<(f64, f64)> = times
        .iter()
        .filter(|(_, secs)| secs - floor > least)
        .map(|&(n, secs)| ((n as f64).ln(), (secs - floor).ln()))
        .collect();
    if grown.len() < 2 {
        return None;
    }
    let count = grown.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| grown.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (over, under) = grown.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - x) * (p.1 - y), b + (p.0 - x).powi(2)));
    Some(over / under)
}

fn line(row: &Row) -> String {
    let mut text = format!("| {} | `{}` |", row.axis, row.command);
    for (n, secs) in &row.times {
        let _ = write!(text, " {n}: {secs:.2} |");
    }
    match row.exponent {
        Some(exponent) => {
            let _ = write!(text, " **{exponent:.2}**{} |", if row.counted { " (instructions)" } else { "" });
        }
        None => text.push_str(" flat |"),
    }
    text
}

/// What is asked of a command.
fn arguments(command: &str, axis: &str, file: &Path, folder: &Path, n: usize) -> Result<Vec<PathBuf>, String> {
    let written = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).map(|()| path).map_err(|error| error.to_string())
    };
    let mut words: Vec<PathBuf> = vec![command.into(), file.into()];
    let mut say = |more: &[&str]| words.extend(more.iter().map(PathBuf::from));
    let played = matches!(command, "frame" | "check" | "bake");
    if played && axis == "muscles" {
        let mut recipe = "version = 1\n[[correction]]\ntype = \"muscles\"\n[correction.muscles]\n".to_owned();
        for bone in 0..n {
            let _ = writeln!(recipe, "\"bone_{bone}\" = {{ ellipsoid = [0, 0, 0.1, 0.02, 0.02, 0.02] }}");
        }
        let recipe = written("muscles.sinew.toml", recipe)?;
        say(&["--recipe", &recipe.to_string_lossy()]);
    } else if played {
        say(&["--preset", "lively"]);
    }
    match command {
        "frame" => {
            let out = folder.join("frame.json");
            say(&["--clip", "0", "--time", "0.2", "--force", "-o", &out.to_string_lossy()]);
        }
        "check" => say(&["--fps", "20"]),
        "bake" => {
            let out = folder.join("baked.glb");
            say(&["--fps", "12", "--tolerance", "1%", "--best-effort", "--force", "-o", &out.to_string_lossy()]);
        }
        "map" => {
            let out = folder.join("map.");
            say(&["--auto", "diameter", "--force", "-o", &out.to_string_lossy()]);
        }
        "pose" => {
            let stroke =
                json!({"strokes": [{"baseline": [[0, 0, 0], [0, 2, 0]], "offset": [[0, 0, 0], [0.5, 1.9, 0]]}]});
            let strokes = written("strokes.json", stroke.to_string())?;
            let out = folder.join("posed.glb");
            say(&["--strokes", &strokes.to_string_lossy(), "--force", "-o", &out.to_string_lossy()]);
        }
        "bind" => {
            let out = folder.join("bound.glb");
            say(&["--force", "-o", &out.to_string_lossy()]);
        }
        "edit" => {
            let edit = json!({"edits": [{"name": "bump", "rings": 4,
                "from": [[-0.3, 1.0, 0.0], [-0.3, 1.1, 0.0]], "to": [[-0.4, 1.0, 0.0], [-0.4, 1.1, 0.0]]}]});
            let edits = written("edits.json", edit.to_string())?;
            let out = folder.join("edited.sinew.toml");
            say(&["--edit", &edits.to_string_lossy(), "--force", "-o", &out.to_string_lossy()]);
        }
        _ => {}
    }
    Ok(words)
}

fn page(rows: &[Row]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for axis in AXES {
        let of_axis: Vec<&Row> = rows.iter().filter(|row| row.axis == axis.name).collect();
        let Some(longest) = of_axis.iter().max_by_key(|row| row.times.len()) else { continue };
        let _ = write!(text, "\n## {}\n\n| command |", capitalised(axis.name));
        longest.times.iter().for_each(|(n, _)| text.push_str(&format!(" {n} |")));
        let _ = writeln!(text, " exponent |\n|---|{}---|", "---|".repeat(longest.times.len()));
        for row in &of_axis {
            let _ = write!(text, "| `{}` |", row.command);
            for at in 0..longest.times.len() {
                let _ = match row.times.get(at) {
                    Some((_, secs)) => write!(text, " {secs:.2} |"),
                    None => write!(text, " – |"),
                };
            }
            let _ = match row.exponent {
                Some(exponent) if row.counted => writeln!(text, " {exponent:.2} in instructions |"),
                Some(exponent) => writeln!(text, " {exponent:.2} |"),
                None => writeln!(text, " flat |"),
            };
        }
    }
    text
}

const INTRODUCTION: &str = "\
# Time against size

Seconds of processor time (all threads) that commands take on made characters of which one thing grows over two
decades, and the exponent that fits: 1 is linear. `cargo xtask scaling` measures and writes this page. What a command takes at a
tenth of the smallest size is taken off before the fit, for it would hide the slope; *flat* is growth of less than 0.02 s over at
least two sizes. Where the clock gives a steeper exponent than allowed, instructions are counted (callgrind, one thread) and theirs
is told: beside other work, memory gets slower the more of it is used. The exponent may be 1.15 (n log n fits there) for reading, `frame`, `check`, `bake`, `map` and `pose`, and 1.5 for
`bind` and `edit`, whose [limits](LIMITS.md) are a million vertices and 67 million weights.

`frame`, `check` and `bake` play the preset `lively`; `map` is `--auto diameter`, `bind` is `--method heat`. Characters have 400
points, 4 bones, one clip of half a second and 3 keys, except for what grows; bones and muscles grow on 4,000 points; primitives,
skins and pieces are tubes of 40 points, those of pieces touching: in a body of one size each of them touches more of the
others the more there are. The last three tables are shapes that ask for the worst: all
triangles at one place, a fan of all triangles around one point, a pole of needles across the axes.
";

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
