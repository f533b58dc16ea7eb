//! Baked characters played by three.js and Blender: their vertices against ours.

use super::{again, assets, blender, folder, node, output, sinew};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of the character's size: what a peer may be off the file it plays.
const AGREEMENT: f64 = 1e-4;
/// Of the character's size: what the bake may be off the effects; its default tolerance.
const TOLERANCE: f64 = 1e-3;
/// Frames, at the bake's sixty per second, that are looked at: those within the clip, beyond which some go on, some begin again, and
/// some stand.
const FRAMES: [u32; 5] = [3, 11, 20, 34, 47];

/// Real characters that are played where they are at hand: targets of whole numbers and of parts, of 8, 16 and 32 bits,
/// dense and sparse, on meshes of small, of middling and of large units.
const PLAYED: [&str; 4] = ["CesiumMan.glb", "Fox.glb", "MakeHuman_skirt.glb", "Quaternius_Snake.glb"];

/// The calf, and some real characters where they are at hand.
pub fn check() -> Result<(), String> {
    let sinew = sinew()?;
    let mut inputs = vec!["zoo:calf".to_owned()];
    let is_played = |file: &PathBuf| file.file_name().is_some_and(|name| PLAYED.iter().any(|played| name == *played));
    inputs.extend(assets().into_iter().filter(is_played).map(|file| file.display().to_string()));
    let folder = folder("played")?;
    let mut faults = Vec::new();
    for input in &inputs {
        let stem =
            Path::new(input).file_stem().map(|stem| stem.to_string_lossy().replace(':', "-")).unwrap_or_default();
        let made = |ending: &str| folder.join(format!("{stem}.{ending}")).display().to_string();
        let bake = |out: &str, more: &[&str]| {
            let mut bake = again(&sinew);
            output(bake.args(["bake", input, "--preset", "lively", "--clip", "0", "--force", "-o", out]).args(more))
        };
        let glb = made("glb");
        bake(&glb, &[])?;
        let (packed, floats) = (made("meshopt.glb"), made("floats.glb"));
        bake(&packed, &["--compress", "meshopt"])?;
        bake(&floats, &["--target", "unreal"])?;
        let forms = [&glb, &packed, &floats].map(|form| stripped(&sinew, form, &made("stripped.glb")));
        let [plain, others @ ..] = &forms;
        let plain = plain.as_ref().map_err(Clone::clone)?;
        if others.iter().any(|other| other.as_ref() != Ok(plain)) {
            faults.push(format!("{input}: its forms are not the same file once they are stripped"));
        }
        // A cache begins with the clip's first key, and says nothing between its frames.
        let [start, end] = span(&sinew, input)?;
        let within = FRAMES.iter().map(|&frame| f64::from(frame) / 60.0).filter(|&time| start + time <= end);
        let times: Vec<String> = within.clone().map(|time| (start + time).to_string()).collect();
        let cache_times: Vec<String> = within.map(|time| time.to_string()).collect();
        let effects = ours(&sinew, input, &["--preset", "lively"], &times)?;
        let file = ours(&sinew, &glb, &[], &times)?;
        let mut look = |peer: &str, played: &[Vec<f64>], truth: &[Vec<f64>], limit: f64| {
            let off = distance(played, truth).map(|off| off / size(truth));
            let verdict =
                off.as_ref().map_or_else(Clone::clone, |off| format!("{off:.1e} of size (at most {limit:.1e})"));
            println!("  {input}, {peer}: {verdict}");
            if !off.is_ok_and(|off| off <= limit) {
                faults.push(format!("{input}, {peer}: {verdict}"));
            }
        };
        look("the file against the effects", &file, &effects, TOLERANCE);
        let three = lines(node("three.mjs")?.args([&glb, "0"]).args(&times), three_positions)?;
        look("three.js", &three, &file, AGREEMENT);
        let unpacked = lines(node("three.mjs")?.args([&packed, "0"]).args(&times), three_positions)?;
        look("three.js, packed by meshopt", &unpacked, &file, AGREEMENT);
        let three = lines(node("three.mjs")?.args([&floats, "0"]).args(&times), three_positions)?;
        look("three.js, 32 bits, against the effects", &three, &effects, TOLERANCE);
        let played = lines(blender("blender.py")?.args(["gltf", &glb, "0"]).args(&times), flat_positions)?;
        look("Blender", &played, &file, AGREEMENT);
        for format in ["pc2", "mdd"] {
            let cache = made(format);
            bake(&cache, &["--format", format])?;
            let played =
                lines(blender("blender.py")?.args(["cache", &made("obj"), &cache]).args(&cache_times), flat_positions)?;
            look(&format!("Blender's Mesh Cache, {format}"), &played, &effects, AGREEMENT);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// A file without what was baked.
fn stripped(sinew: &Command, file: &str, out: &str) -> Result<Vec<u8>, String> {
    output(again(sinew).args(["strip", file, "--force", "-o", out]))?;
    std::fs::read(out).map_err(|error| format!("{out}: {error}"))
}

/// World positions by `sinew frame`, a list per time.
fn ours(sinew: &Command, input: &str, recipe: &[&str], times: &[String]) -> Result<Vec<Vec<f64>>, String> {
    let frame = |time: &String| {
        let mut frame = again(sinew);
        let text = output(frame.args(["frame", input, "--clip", "0", "--time", time, "-o", "-"]).args(recipe))?;
        let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let meshes = ["meshes", "rigid_meshes"].into_iter().flat_map(|key| document[key].as_array()).flatten();
        let primitives = meshes.flat_map(|mesh| mesh["primitives"].as_array()).flatten();
        Ok(primitives.flat_map(|primitive| numbers(&primitive["positions"])).collect())
    };
    times.iter().map(frame).collect()
}

/// Times of the first clip's first and last key.
fn span(sinew: &Command, input: &str) -> Result<[f64; 2], String> {
    let text = output(again(sinew).args(["inspect", input, "--json"]))?;
    let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let [start, end] = ["start", "end"].map(|key| document["clips"][0][key].as_f64());
    start.zip(end).map(|(start, end)| [start, end]).ok_or_else(|| format!("{input}: no clip"))
}

/// The lines of JSON a peer prints, one per time; Blender's are marked, as it talks besides.
fn lines(command: &mut Command, read: fn(&Value) -> Vec<f64>) -> Result<Vec<Vec<f64>>, String> {
    let text = output(command)?;
    let lines =
        text.lines().map(|line| line.strip_prefix("RESULT ").unwrap_or(line)).filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).map(|value| read(&value)).map_err(|error| error.to_string())).collect()
}

fn three_positions(line: &Value) -> Vec<f64> {
    line["meshes"].as_array().into_iter().flatten().flat_map(|mesh| numbers(&mesh["positions"])).collect()
}

fn flat_positions(line: &Value) -> Vec<f64> {
    numbers(&line["positions"])
}

/// All numbers of a nested list, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => other.as_f64().into_iter().collect(),
    }
}

/// Largest distance between vertices of the same number.
fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> Result<f64, String> {
    let mut largest = 0.0f64;
    if a.len() != b.len() {
        return Err(format!("{} frames instead of {}", a.len(), b.len()));
    }
    for (a, b) in a.iter().zip(b) {
        if a.len() != b.len() {
            return Err(format!("{} vertices instead of {}", a.len() / 3, b.len() / 3));
        }
        for (a, b) in a.as_chunks::<3>().0.iter().zip(b.as_chunks::<3>().0) {
            let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            largest = largest.max(square.sqrt());
        }
    }
    Ok(largest)
}

/// Diagonal of the box around the first frame.
fn size(frames: &[Vec<f64>]) -> f64 {
    let points = frames.first().map(|frame| frame.as_chunks::<3>().0).unwrap_or_default();
    let side = |axis: usize| {
        let (low, high) = points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[axis]), high.max(p[axis])));
        (high - low) * (high - low)
    };
    (side(0) + side(1) + side(2)).sqrt()
}
