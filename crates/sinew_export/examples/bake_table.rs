//! Bakes the characters of `SINEW_ASSETS` with this build and with an older `sinew` program, by the same recipe (the older
//! one's preset `lively`) and at the same tolerance, and compares the bytes added and the time: `cargo xtask bake-table OLD`.
//! What was baked is played by an evaluator that reads the bytes by the specification alone, and compared with the frames.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose product is a table")]

use sinew::{RecipeFile, Stage, Workspace};
use sinew_export::{Options, bake};
use sinew_gltf::{Asset, Document, strip};
use sinew_testkit::assets::assets;
use sinew_testkit::spec::SpecFile;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Files below this are no characters that anybody ships.
const LEAST_BYTES: u64 = 100_000;
/// Moments looked at over all clips of a character, at the most; between samples too.
const MOMENTS: usize = 240;
/// Vertices looked at over all these moments, at the most, but for three moments a clip.
const VERTICES: usize = 1 << 20;

struct Row {
    name: String,
    bytes: (usize, usize),
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
    println!(
        "| file | bytes added before | now | ratio | targets | error, % of size | wall time before, s | now | strips |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut rows = Vec::new();
    for path in assets() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_wanted = wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
        if !is_wanted || std::fs::metadata(&path)?.len() < LEAST_BYTES {
            continue;
        }
        let asset = Asset::open_original(&path)?;
        if asset.clips.is_empty() {
            continue;
        }
        let baked_before = folder.path().join("before.glb");
        let start = Instant::now();
        let mut run = Command::new(old);
        run.arg("bake").arg(&path).arg("--recipe").arg(&recipe_path).arg("-o").arg(&baked_before);
        let outcome = run.args(["--force", "--quiet"]).output()?;
        if !outcome.status.success() {
            eprintln!("{name}: {}", String::from_utf8_lossy(&outcome.stderr).trim());
            continue;
        }
        let seconds_before = start.elapsed().as_secs_f64();
        let row = row(&asset, &recipe, &baked_before, &folder.path().join("now.glb"), name, seconds_before)?;
        println!(
            "| {} | {} | {} | {:.3} | {} | {:.4} | {:.1} | {:.1} | {} |",
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
        rows.push(row);
    }
    let mut ratios: Vec<f64> = rows.iter().map(|row| row.bytes.1 as f64 / row.bytes.0 as f64).collect();
    ratios.sort_by(f64::total_cmp);
    if let (Some(median), Some(largest)) = (ratios.get(ratios.len() / 2), ratios.last()) {
        println!("\n{} files: median ratio {median:.3}, largest {largest:.3}", ratios.len());
    }
    Ok(rows.iter().all(|row| row.strips && row.error <= 1e-3 * (1.0 + 1e-3)))
}

fn row(
    asset: &Asset,
    recipe: &RecipeFile,
    baked_before: &Path,
    out: &PathBuf,
    name: String,
    seconds_before: f64,
) -> Result<Row, Box<dyn Error>> {
    let start = Instant::now();
    let baked = bake(asset, recipe, &Options::default())?;
    baked.document.save(out)?;
    let seconds = (seconds_before, start.elapsed().as_secs_f64());
    let (before, _) = added(baked_before)?;
    let (now, stripped) = added(out)?;
    let mut original = asset.document.clone().ok_or("has no file")?;
    original.pack()?;
    let strips = stripped == original.to_glb()?;
    let error = error(asset, recipe, out)?;
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
        let playing = stage.motion(clip, &recipe.motion(&clip.name))?;
        let (start, end) = (playing.report().start, playing.report().last_key);
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
