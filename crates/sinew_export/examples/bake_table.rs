//! Bakes the characters of `SINEW_ASSETS`, and a dancer who never repeats, with this build and with an older `sinew` program,
//! by the same recipe (the older one's preset `lively`) and at the same tolerance, compares the bytes added and the processor
//! time, and writes the table of the manual: `cargo xtask bake-table OLD`. What was baked is played by an evaluator that reads the
//! bytes by the specification alone, and compared with the frames.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose product is a table")]

use sinew::{Clip, RecipeFile, Stage, Workspace};
use sinew_export::{Options, bake};
use sinew_gltf::{Asset, Document, strip};
use sinew_testkit::assets::assets;
use sinew_testkit::spec::SpecFile;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A dance that never repeats.
const DANCE: &str = "dancer:seconds=20";
/// Where the table goes when all characters were baked.
const PAGE: &str = "docs/bake.md";
/// Bakes that took the older program this long, in seconds, have their time compared.
const LEAST_SECONDS: f64 = 2.0;
/// Files below this are no characters that anybody ships.
const LEAST_BYTES: u64 = 100_000;
/// Moments looked at over all clips of a character, at the most; between samples too.
const MOMENTS: usize = 240;
/// Vertices looked at over all these moments, at the most, but for three moments a clip.
const VERTICES: usize = 1 << 20;

struct Row {
    name: String,
    bytes: (usize, usize),
    /// Of processor time, on all cores.
    seconds: (f64, f64),
    targets: usize,
    /// As a share of the size.
    error: f64,
    /// Whether taking the bake off gives the file before.
    strips: bool,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(old) = args.next() else {
        eprintln!("usage: bake_table OLD_SINEW [PART_OF_A_NAME…]");
        return ExitCode::from(2);
    };
    let wanted: Vec<String> = args.collect();
    match table(Path::new(&old), &wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the table; tells whether every bake is within its tolerance and can be taken off.
fn table(old: &Path, wanted: &[String]) -> Result<bool, Box<dyn Error>> {
    let preset = Command::new(old).args(["presets", "lively"]).output()?;
    let recipe = String::from_utf8(preset.stdout)?;
    let folder = tempfile::tempdir()?;
    let recipe_path = folder.path().join("lively.sinew.toml");
    std::fs::write(&recipe_path, &recipe)?;
    let recipe = RecipeFile::parse(&recipe)?;
    let dance = folder.path().join(format!("zoo:{DANCE}.glb"));
    let character = sinew_zoo::build(DANCE)?;
    let clips: Vec<Clip> = character.clips.iter().filter(|clip| clip.name == "dance").cloned().collect();
    let exported = Asset::exported(DANCE, &character.raw, &clips)?;
    exported.document.ok_or("has no file")?.save(&dance)?;
    let heading = "| file | bytes added before | now | ratio | targets | error, % of size | processor time before, s | now \
                   | ratio | strips |\n|---|---|---|---|---|---|---|---|---|---|";
    println!("{heading}");
    let mut page = format!("{INTRODUCTION}\n{heading}\n");
    let mut rows = Vec::new();
    let mut all_baked = true;
    for path in assets().into_iter().chain([dance]) {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_wanted = wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
        if !is_wanted || std::fs::metadata(&path)?.len() < LEAST_BYTES {
            continue;
        }
        if Asset::open_original(&path)?.clips.is_empty() {
            continue;
        }
        let baked_before = folder.path().join("before.glb");
        let start = processor_time()?.1;
        let mut run = Command::new(old);
        run.arg("bake").arg(&path).arg("--recipe").arg(&recipe_path).arg("-o").arg(&baked_before);
        let outcome = run.args(["--force", "--quiet"]).output()?;
        if !outcome.status.success() {
            eprintln!("{name}: {}", String::from_utf8_lossy(&outcome.stderr).trim());
            continue;
        }
        let seconds_before = processor_time()?.1 - start;
        let now = folder.path().join("now.glb");
        let row = match row(&path, &recipe, &baked_before, &now, name.clone(), seconds_before) {
            Ok(row) => row,
            Err(error) => {
                println!("| {name} | {error} |");
                all_baked = false;
                continue;
            }
        };
        let time = match row.seconds {
            (before, now) if before >= LEAST_SECONDS => format!("{:.2}", now / before),
            _ => String::new(),
        };
        let line = format!(
            "| {} | {} | {} | {:.2} | {} | {:.4} | {:.1} | {:.1} | {time} | {} |",
            row.name,
            row.bytes.0,
            row.bytes.1,
            row.bytes.1 as f64 / row.bytes.0 as f64,
            row.targets,
            100.0 * row.error,
            row.seconds.0,
            row.seconds.1,
            if row.strips { "yes" } else { "NO" }
        );
        println!("{line}");
        writeln!(page, "{line}")?;
        rows.push(row);
    }
    let bytes = rows.iter().map(|row| row.bytes.1 as f64 / row.bytes.0 as f64);
    let times = rows.iter().filter(|row| row.seconds.0 >= LEAST_SECONDS).map(|row| row.seconds.1 / row.seconds.0);
    for (what, ratios) in [("bytes added", bytes.collect::<Vec<f64>>()), ("processor time", times.collect())] {
        let mut ratios = ratios;
        ratios.sort_by(f64::total_cmp);
        if let (Some(median), Some(largest)) = (ratios.get(ratios.len() / 2), ratios.last()) {
            let line = format!("\n{what}, {} files: median ratio {median:.2}, largest {largest:.2}", ratios.len());
            println!("{line}");
            writeln!(page, "{line}")?;
        }
    }
    if wanted.is_empty() {
        std::fs::write(PAGE, page)?;
    }
    Ok(all_baked && rows.iter().all(|row| row.strips && row.error <= 1e-3 * (1.0 + 1e-3)))
}

const INTRODUCTION: &str = "# Bakes beside older ones

`cargo xtask bake-table OLD` writes this page: every character is baked by the older program and by this one, with the older one's
preset `lively`, at the default tolerance of 0.1 % of the size. Errors are those of the file as the specification plays it, against
the frames, at samples and half-way between them. Times are of the processor, on all cores together, and compared where the older
program took two seconds or more; targets are the most of any mesh. `zoo:dancer:seconds=20` is 20 s of a dance that never
repeats.
";

/// Of this program and of those it has run, in seconds. Linux counts it in hundredths.
fn processor_time() -> Result<(f64, f64), Box<dyn Error>> {
    let line = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may hold anything: the 12th to the 15th number.
    let behind = line.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> = behind.split_whitespace().skip(11).take(4).map(str::parse).collect::<Result<_, _>>()?;
    match ticks[..] {
        [user, system, of_others, system_of_others] => {
            Ok((0.01 * (user + system), 0.01 * (of_others + system_of_others)))
        }
        _ => Err("processor times are not told here".into()),
    }
}

fn row(
    path: &Path,
    recipe: &RecipeFile,
    baked_before: &Path,
    out: &PathBuf,
    name: String,
    seconds_before: f64,
) -> Result<Row, Box<dyn Error>> {
    let start = processor_time()?.0;
    let asset = Asset::open_original(path)?;
    let baked = bake(&asset, recipe, &Options::default())?;
    baked.document.save(out)?;
    let seconds = (seconds_before, processor_time()?.0 - start);
    let (before, _) = added(baked_before)?;
    let (now, stripped) = added(out)?;
    let mut original = asset.document.clone().ok_or("has no file")?;
    original.pack()?;
    let strips = stripped == original.to_glb()?;
    let error = error(&asset, recipe, out)?;
    Ok(Row { name, bytes: (before, now), seconds, targets: baked.report.most_targets(), error, strips })
}

/// Bytes that a bake added to a file, and the file without them.
fn added(baked: &Path) -> Result<(usize, Vec<u8>), Box<dyn Error>> {
    let mut document = Document::open(baked)?;
    let with = document.to_glb()?.len();
    strip(&mut document)?;
    let without = document.to_glb()?;
    Ok((with.saturating_sub(without.len()), without))
}

/// Largest distance between the file as the specification plays it and the frames, as a share of the size.
fn error(asset: &Asset, recipe: &RecipeFile, baked: &Path) -> Result<f64, Box<dyn Error>> {
    let Asset { rig, clips, .. } = asset;
    let solved = recipe.solve(rig, clips)?;
    let spec = SpecFile::open(baked);
    let mut workspace = Workspace::default();
    let per_clip = (MOMENTS.min(VERTICES / rig.vertex_count().max(1)) / clips.len()).max(3);
    let mut worst = 0.0f64;
    for (index, clip) in clips.iter().enumerate() {
        let stage = Stage::new(rig, solved.recipe(index))?;
        let settings = recipe.motion(&clip.name);
        // The clip as it is, which is what is previewed: its closing key, where it lacks one, is the bake's own affair.
        let playing = stage.motion(clip, &settings)?;
        let report = playing.report();
        let (start, end) = (report.start, report.period.map_or(report.last_key, |period| report.start + period));
        // Samples and the moments half-way between them, where the tolerance is promised.
        let places = 2 * ((end - start) * Options::default().fps - 1e-3).ceil().max(0.0) as usize;
        for step in 0..per_clip {
            let place = places * step / per_clip;
            let time = f64::from((start + (end - start) * place as f64 / places.max(1) as f64) as f32);
            let mesh = playing.frame(time, &mut workspace);
            for part in rig.parts() {
                let size = rig.characters()[part.character].size;
                let played = spec.positions(part.node, Some(index), time);
                for (primitive, played) in part.primitives.iter().zip(played) {
                    for (vertex, played) in primitive.vertices.clone().zip(played) {
                        let off = mesh.world_position(part.character, vertex).distance(played.into());
                        worst = worst.max(off / size);
                    }
                }
            }
        }
    }
    Ok(worst)
}
