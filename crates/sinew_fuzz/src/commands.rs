//! Files that commands alone read: motion, strokes, edits. The commands run in this process, on files in a folder of
//! its own, and what they write must be read by the next command.

use crate::characters::{TUBE, documents};
use crate::mutation::{change, distort, number as any_number};
use crate::number;
use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use sinew_gltf::Document;
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

/// A changed file and a random recipe, in any command.
pub fn any(bytes: &[u8]) {
    any_of(documents(), bytes);
}

pub fn any_seeds() -> Vec<Vec<u8>> {
    (0..40u8).map(|n| (0..160u8).map(|k| k.wrapping_mul(2 * n + 1).wrapping_add(n)).collect()).collect()
}

/// The same with files of one's own.
pub fn any_of(documents: &[Document], bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let Ok(chosen) = Chosen::new(documents, &mut bytes) else { return };
    in_folder(|folder| chosen.run(folder));
}

/// What is asked of a command: words, with `IN` for the character, `RECIPE` and `SIDE` for texts beside it and `OUT`
/// for what it writes.
const LINES: [&str; 26] = [
    "inspect IN --anatomy --json",
    "inspect IN",
    "check IN --recipe RECIPE --fps 10 --json",
    "check IN --fps 10",
    "check IN --preset lively --fps 6",
    "frame IN --recipe RECIPE --clip 0 --time 0.1 -o OUT.json",
    "frame IN --recipe RECIPE --clip 0 --time 0:0.3:0.1 -o OUT.obj",
    "frame IN --recipe RECIPE -o OUT.ply",
    "frame IN --recipe RECIPE --strength 4% --clip 0 -o OUT.obj",
    "bake IN --recipe RECIPE --fps 8 --best-effort --max-targets 6 -o OUT.glb",
    "bake IN --preset lively --fps 8 --best-effort --target bevy -o OUT.glb",
    "bake IN --recipe RECIPE --clip 0 --fps 8 --format pc2 -o OUT.pc2",
    "bake IN --recipe RECIPE --clip 0 --fps 8 --format mdd -o OUT.mdd",
    "bake IN --recipe RECIPE --clip 0 --fps 6 --format obj-sequence -o OUT",
    "liven IN --fps 6 --best-effort -o OUT.glb",
    "liven IN --fps 6 --style cartoon --best-effort -o OUT.glb",
    "render IN --recipe RECIPE --size 16 -o OUT.png",
    "render IN --recipe RECIPE --as film --frames 2 --size 16 --heat --skeleton -o OUT.gif",
    "map IN --auto diameter -o OUT.",
    "map IN --auto bone-distance --smooth 3 --mirror x -o OUT.",
    "map IN --auto extremities -o OUT.",
    "pose IN --strokes SIDE -o OUT.glb",
    "edit IN --edit SIDE -o OUT.sinew.toml",
    "bind IN --method heat -o OUT.glb",
    "bind IN --method distance -o OUT.glb",
    "strip IN -o OUT.glb",
];

struct Chosen {
    file: Vec<u8>,
    recipe: String,
    side: Vec<u8>,
    line: &'static str,
}

impl Chosen {
    fn new(documents: &[Document], bytes: &mut Unstructured<'_>) -> Result<Self> {
        let line = *bytes.choose(&LINES)?;
        let mut document = bytes.choose(documents)?.clone();
        match bytes.int_in_range(0..=3)? {
            0 => change(&mut document, None, bytes)?,
            1 => {
                distort(&mut document, bytes)?;
                change(&mut document, None, bytes)?;
            }
            _ => distort(&mut document, bytes)?,
        }
        let side = match line.split(' ').next() {
            Some("pose") => made_strokes(bytes)?.to_string().into_bytes(),
            Some("edit") => made_edits(bytes)?.to_string().into_bytes(),
            _ => Vec::new(),
        };
        let recipe = match line.contains("RECIPE") {
            true if bytes.ratio(1u8, 3u8)? => bytes.choose(sinew::presets::names())?.text.to_owned(),
            true => crate::bake::made(bytes)?,
            false => String::new(),
        };
        let file = document.to_glb().map_err(|_| arbitrary::Error::IncorrectFormat)?;
        Ok(Self { file, recipe, side, line })
    }

    fn run(&self, folder: &Path) {
        let input = write(folder, "in.glb", &self.file);
        let recipe = write(folder, "in.sinew.toml", self.recipe.as_bytes());
        let side = write(folder, "side.json", &self.side);
        let made = folder.join("made");
        std::fs::create_dir(&made).expect("writable");
        let word = |word: &str| match word {
            "IN" => input.clone().into_os_string(),
            "RECIPE" => recipe.clone().into_os_string(),
            "SIDE" => side.clone().into_os_string(),
            out => match out.strip_prefix("OUT") {
                Some(ending) => made.join(format!("out{ending}")).into_os_string(),
                None => out.into(),
            },
        };
        let words = ["sinew", "--quiet"].into_iter().chain(self.line.split(' ')).map(word);
        let code = sinew_cli::run(words.collect::<Vec<_>>());
        assert!(code <= 3, "exit status {code}");
        let written: Vec<_> =
            std::fs::read_dir(&made).expect("readable").map(|file| file.expect("readable").path()).collect();
        assert!(code != 0 || !self.line.contains("OUT") || !written.is_empty(), "nothing was written");
        // Frames are files of their own.
        assert!(code == 0 || written.is_empty() || self.line.contains("OUT.obj"), "a failure leaves files");
        written.iter().for_each(|path| look(path));
    }
}

/// What was written is sound.
fn look(path: &Path) {
    if path.is_dir() {
        return std::fs::read_dir(path).expect("readable").for_each(|file| look(&file.expect("readable").path()));
    }
    let bytes = std::fs::read(path).expect("readable");
    match path.extension().and_then(std::ffi::OsStr::to_str) {
        Some("glb") => drop(Document::from_slice("out", &bytes, None).expect("own output is read")),
        Some("obj" | "json" | "toml") => {
            let text = String::from_utf8(bytes).expect("text");
            // Roots have no parent, and bones without skin no centroid.
            let text = text.replace("\"parent\":null", "").replace("\"centroid\":null", "");
            // No word of a frame, a map or a recipe is one of these.
            let is_number = |word: &str| !matches!(word.trim_matches('-'), "NaN" | "nan" | "inf" | "null");
            assert!(text.split([' ', ',', '[', ']', '\n', ':']).all(is_number), "not a number in {}", path.display());
        }
        Some("pc2") => {
            let numbers = bytes[32..].chunks_exact(4).map(|n| f32::from_le_bytes([n[0], n[1], n[2], n[3]]));
            assert!(numbers.into_iter().all(f32::is_finite), "not a number in {}", path.display());
        }
        _ => {}
    }
}
