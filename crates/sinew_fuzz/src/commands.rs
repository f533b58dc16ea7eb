//! Files that commands alone read: motion, strokes, edits. The commands run in this process, on files in a folder of
//! its own, and what they write must be read by the next command.

use crate::characters::TUBE;
use crate::mutation::number as any_number;
use crate::number;
use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Runs a command line.
fn sinew(words: &[&str], files: &[&Path]) -> u8 {
    let files = files.iter().map(|file| file.as_os_str().to_owned());
    let words = ["sinew", "--quiet"].iter().chain(words).map(OsString::from);
    // The words hold a place for each file.
    let mut files = files.collect::<Vec<_>>().into_iter();
    let fill = |word: OsString| if word == "{}" { files.next().unwrap_or(word) } else { word };
    sinew_cli::run(words.map(fill).collect::<Vec<_>>())
}

/// A folder that is empty at first and gone afterwards; one at a time, for its name is the same for all inputs.
fn in_folder(see: impl FnOnce(&Path)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    see(folder.expect("a folder").path());
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("writable");
    path
}

/// Any text, as motion of bones.
pub fn motion(bytes: &[u8]) {
    in_folder(|folder| {
        let motion = write(folder, "motion.toml", bytes);
        let out = folder.join("frame.obj");
        let code = sinew(&["frame", TUBE, "--preset", "lively", "--motion", "{}", "-o", "{}"], &[&motion, &out]);
        assert_eq!(code == 0, out.is_file(), "exit status {code}");
        if let Ok(text) = std::fs::read_to_string(&out) {
            assert!(!text.contains("NaN") && !text.contains("inf"), "not a number");
        }
    });
}

pub fn motion_seeds() -> Vec<Vec<u8>> {
    let all = "[bone.\"*\"]\nangular_velocity = [0, 0, 2]\nlinear_velocity = [0, 1, 0]\n\
               linear_acceleration = [0, -20, 0]\nangular_acceleration = [0, 0, 30]\n";
    vec![all.into(), b"[bone.\"bone?\"]\nlinear_velocity = [1e300, -1, 0]\n".to_vec(), Vec::new()]
}

/// The first byte says whether the rest is text, or choices of which a file is made.
fn file(bytes: &[u8], made: fn(&mut Unstructured<'_>) -> Result<Value>) -> Vec<u8> {
    match bytes.split_first() {
        Some((b'{', _)) => bytes.to_vec(),
        _ => made(&mut Unstructured::new(bytes)).map_or_else(|_| Vec::new(), |file| file.to_string().into_bytes()),
    }
}

/// Strokes, which pose the tube.
pub fn strokes(bytes: &[u8]) {
    in_folder(|folder| {
        let strokes = write(folder, "strokes.json", &file(bytes, made_strokes));
        let out = folder.join("out.glb");
        let code = sinew(&["pose", TUBE, "--strokes", "{}", "-o", "{}"], &[&strokes, &out]);
        assert_eq!(code == 0, out.is_file(), "exit status {code}");
        if code == 0 {
            let frame = folder.join("frame.obj");
            assert_eq!(sinew(&["frame", "{}", "-o", "{}"], &[&out, &frame]), 0, "own output is read");
        }
    });
}

pub fn strokes_seeds() -> Vec<Vec<u8>> {
    let strokes = json!({"strokes": [{"baseline": [[0, 0, 0], [0, 1, 0]],
        "offset": [[0, 0, 0], [0.2, 0.5, 0], [0.6, 0.8, 0]], "radius": 1, "bones": "*", "stretch": true,
        "tolerance": 0.01, "normal": [0, 0, 1]}]});
    vec![strokes.to_string().into_bytes(), (0..64u8).map(|n| n.wrapping_mul(11)).collect()]
}

fn made_strokes(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut strokes = Vec::new();
    for _ in 0..bytes.int_in_range(1..=3)? {
        let mut stroke = json!({"baseline": line(bytes)?, "offset": line(bytes)?});
        for key in ["radius", "tolerance"] {
            if bytes.arbitrary()? {
                stroke[key] = any_number(bytes)?;
            }
        }
        if bytes.arbitrary()? {
            stroke["normal"] = json!([any_number(bytes)?, any_number(bytes)?, any_number(bytes)?]);
        }
        stroke["stretch"] = json!(bytes.arbitrary::<bool>()?);
        strokes.push(stroke);
    }
    Ok(json!({ "strokes": strokes }))
}

/// A polyline, mostly near the tube.
fn line(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let far = bytes.ratio(1u8, 4u8)?;
    let mut points = Vec::new();
    for _ in 0..bytes.int_in_range(1..=6)? {
        let mut point = Vec::new();
        for _ in 0..3 {
            point.push(if far { number::any(bytes)? } else { number::unit(bytes)? });
        }
        points.push(point);
    }
    Ok(json!(points))
}

/// Edits of the tube's surface, by strokes.
pub fn edit(bytes: &[u8]) {
    in_folder(|folder| {
        let edits = write(folder, "edits.json", &file(bytes, made_edits));
        let out = folder.join("out.sinew.toml");
        let code = sinew(&["edit", TUBE, "--edit", "{}", "-o", "{}"], &[&edits, &out]);
        assert_eq!(code == 0, out.is_file(), "exit status {code}");
        if code == 0 {
            let frame = folder.join("frame.obj");
            let words = ["frame", TUBE, "--clip", "0", "--time", "0.2", "--recipe", "{}", "-o", "{}"];
            assert_eq!(sinew(&words, &[&out, &frame]), 0, "own output is read");
        } else {
            let left = std::fs::read_dir(folder).expect("readable").count();
            assert_eq!(left, 1, "a failure leaves files");
        }
    });
}

pub fn edit_seeds() -> Vec<Vec<u8>> {
    let edits = json!({"edits": [{"name": "low", "clip": "wave", "time": 0.3, "rings": 3,
        "from": [[-0.1, 0.6, 0.2], [0.1, 0.6, 0.2]], "to": [[-0.1, 0.6, 0.35], [0.1, 0.6, 0.35]],
        "solve": "arap", "iterations": 3, "stiffness": 1, "drive": "springs"}]});
    vec![edits.to_string().into_bytes(), (0..96u8).map(|n| n.wrapping_mul(7)).collect()]
}

fn made_edits(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut edits = Vec::new();
    for index in 0..bytes.int_in_range(1..=2)? {
        let mut edit = json!({"name": format!("edit{index}"), "from": line(bytes)?, "to": line(bytes)?});
        if bytes.arbitrary()? {
            edit["clip"] = json!("wave");
        }
        let reach = *bytes.choose(&["rings", "distance", "geodesic"])?;
        edit[reach] = if reach == "rings" { json!(bytes.int_in_range(0..=9)?) } else { any_number(bytes)? };
        edit["iterations"] = json!(bytes.int_in_range(0..=9)?);
        edit["solve"] = json!(bytes.choose(&["arap", "laplacian", "scale-vectors"])?);
        edit["drive"] = json!(bytes.choose(&["direct", "springs"])?);
        for key in ["tolerance", "stiffness", "time"] {
            if bytes.ratio(1u8, 3u8)? {
                edit[key] = any_number(bytes)?;
            }
        }
        edits.push(edit);
    }
    Ok(json!({ "edits": edits }))
}
