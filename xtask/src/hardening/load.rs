//! Reading: time that grows with the square of something, pictures and texts that unpack to gigabytes, files without an end,
//! repairs without a word, numbers that are spelled anew.

use crate::command::{root, stdout, succeed};
use crate::run::{Run, run};
use crate::scaling;
use serde_json::json;
use sinew_testkit::glb::{Builder, base64};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What is asked of a program, and the check: an error says how it fails.
type Check = (&'static str, fn(&Path, &Path) -> Result<(), String>);

const CHECKS: &[Check] = &[
    ("1: a file with bones and no mesh is told, by every command", bones_alone),
    ("2: 24,000 corners at one place are inspected in a second", one_place),
    ("2: 4,000 bones are posed in half a second", posed_bones),
    ("2: a pole of 100,000 triangles is measured in thirty seconds", pole),
    ("2: 100,000 vertices are bound by heat in six seconds", bound),
    ("3: three pictures of 8192² are drawn within a gigabyte", pictures),
    ("3: a long data URI that declares little is not decoded", data_uri),
    ("3: /dev/zero is no character", device),
    ("3: a pipe nobody writes to is no character, recipe or map", pipe),
    ("limits are named, with the flag that raises them", limits),
    ("7: joints out of range with weight 0 are told", |new, folder| told(new, folder, "unused-joint-out-of-range")),
    ("7: a joint that a vertex names twice is told", |new, folder| told(new, folder, "joint-twice")),
    ("7: a joint that a skin lists twice is told", |new, folder| told(new, folder, "skin-joint-twice")),
    ("7: an animation without channels is told", |new, folder| told(new, folder, "animation-empty")),
    ("7: key rotations that are no unit are told", |new, folder| told(new, folder, "key-rotation-not-unit")),
    ("7: an empty mesh is told", |new, folder| told(new, folder, "mesh-empty")),
    ("7: a primitive of no vertices is told", |new, folder| told(new, folder, "primitive-without-vertices")),
    ("7: bind and pose tell of pictures left outside", left_outside),
    ("8: what edit writes by springs is read again, or not written", springs_are_read),
];

/// Runs all checks on both programs; the new one must pass all of them.
pub fn compare(new: &Path, old: &Path) -> Result<(), String> {
    let find = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let (new, old) = (find(new)?, find(old)?);
    let folder = std::env::temp_dir().join(format!("sinew-hardening-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut failed = 0;
    for (name, check) in CHECKS {
        let (now, before) = (check(&new, &folder), check(&old, &folder));
        failed += usize::from(now.is_err());
        println!("{name}\n    new {}\n    old {}", say(&now), say(&before));
    }
    let manual = fs::read_to_string(root().join("docs/commands.md")).map_err(|error| error.to_string())?;
    let old_manual = stdout(Command::new("git").args(["-C", &root().to_string_lossy(), "show", OLD_MANUAL]));
    let now = manual_holds(&new, &folder, &manual);
    let before = old_manual
        .ok_or_else(|| format!("no {OLD_MANUAL}"))
        .and_then(|old_manual| manual_holds(&old, &folder, &old_manual));
    failed += usize::from(now.is_err());
    println!("10: what the manual says of JSON holds\n    new {}\n    old {}", say(&now), say(&before));
    let _ = fs::remove_dir_all(&folder);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} checks fail")) }
}

fn say(outcome: &Result<(), String>) -> String {
    match outcome {
        Ok(()) => "passes".to_owned(),
        Err(why) => format!("FAILS: {}", why.lines().next().unwrap_or_default()),
    }
}

fn expect(truth: bool, why: impl Into<String>) -> Result<(), String> {
    if truth { Ok(()) } else { Err(why.into()) }
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf, String> {
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Runs a command in the folder for at most so many seconds on processors.
fn sinew(program: &Path, folder: &Path, secs: u64, words: &[&str]) -> Result<Run, String> {
    run(Command::new(program).current_dir(folder).args(words), Duration::from_secs(secs))
}

/// Success within so many seconds on processors.
fn quick(program: &Path, folder: &Path, secs: f64, words: &[&str]) -> Result<(), String> {
    let patience = (3.0 * secs).ceil() as u64;
    let run = sinew(program, folder, patience, words)?;
    expect(!run.timed_out, format!("more than {patience} s"))?;
    expect(run.code == Some(0), format!("{:?}: {}", run.code, run.stderr.trim()))?;
    expect(run.secs <= secs, format!("{:.1} s", run.secs))
}

fn made(folder: &Path, axis: &str, n: usize) -> Result<(), String> {
    scaling::make(axis, &n.to_string(), &folder.join("made.glb").to_string_lossy())
}

fn bones_alone(program: &Path, folder: &Path) -> Result<(), String> {
    let file = Builder::rigged().without("/nodes/0/mesh").without("/nodes/0/skin").without("/meshes");
    write(folder, "walk.glb", file.glb())?;
    for (words, code) in [
        (&["check", "walk.glb"][..], 0),
        (&["frame", "walk.glb", "-o", "walk.obj"], 1),
        (&["bake", "walk.glb", "--preset", "lively", "--format", "pc2", "-o", "walk.pc2"], 1),
        (&["map", "walk.glb", "--auto", "diameter", "-o", "walk."], 1),
    ] {
        let run = sinew(program, folder, 10, words)?;
        expect(run.code == Some(code), format!("{} ends with {:?}", words[0], run.code))?;
    }
    Ok(())
}

fn bound(program: &Path, folder: &Path) -> Result<(), String> {
    made(folder, "vertices", 100_000)?;
    quick(program, folder, 6.0, &["bind", "made.glb", "-o", "bound.glb", "--force"])
}

fn springs_are_read(program: &Path, folder: &Path) -> Result<(), String> {
    let edit = json!({"name": "low", "rings": 2, "drive": "springs",
        "from": [[-0.1, 0.6, 0.2], [0.1, 0.6, 0.2]], "to": [[-0.1, 0.6, 0.35], [0.1, 0.6, 0.35]]});
    write(folder, "e.json", json!({"edits": [edit]}).to_string())?;
    let _ = fs::remove_file(folder.join("e.sinew.toml"));
    let run = sinew(program, folder, 20, &["edit", "zoo:tube", "--edit", "e.json", "-o", "e.sinew.toml"])?;
    if run.code == Some(1) {
        // Without springs in the recipe there is nothing that could be read.
        return expect(!folder.join("e.sinew.toml").exists(), "refused, and something was written");
    }
    let run = sinew(program, folder, 20, &["frame", "zoo:tube", "--recipe", "e.sinew.toml", "-o", "-"])?;
    expect(run.code == Some(0), run.stderr.trim())
}

/// Where the manual was.
const OLD_MANUAL: &str = "64cd6d7:README.md";

/// A number of foreign JSON that is spelled in another way comes back with its value; if it does not come back with
/// its spelling, the manual must not promise bytes.
fn manual_holds(program: &Path, folder: &Path, manual: &str) -> Result<(), String> {
    let whole = String::from_utf8(Builder::rigged().embedded()).map_err(|error| error.to_string())?;
    let whole = whole.trim_end().strip_suffix('}').ok_or("no object")?.to_owned() + ",\"extras\":{\"tall\":1.50}}";
    write(folder, "spelled.gltf", whole)?;
    let words =
        ["bake", "spelled.gltf", "--preset", "lively", "--best-effort", "--fps", "8", "-o", "spelled.glb", "--force"];
    let run = sinew(program, folder, 20, &words)?;
    expect(run.code == Some(0), run.stderr.trim())?;
    let baked = fs::read(folder.join("spelled.glb")).map_err(|error| error.to_string())?;
    let has = |text: &str| baked.windows(text.len()).any(|window| window == text.as_bytes());
    expect(has("\"tall\":1.5"), "the value is lost")?;
    let promises_bytes = manual.contains("Everything else in the file stays as it is, byte for byte");
    expect(has("\"tall\":1.50") || !promises_bytes, "it promises bytes, and 1.50 came back as 1.5")
}

fn one_place(program: &Path, folder: &Path) -> Result<(), String> {
    made(folder, "one place", 24_000)?;
    quick(program, folder, 1.0, &["inspect", "made.glb"])
}

fn posed_bones(program: &Path, folder: &Path) -> Result<(), String> {
    made(folder, "bones, a chain", 4_000)?;
    let strokes = json!({"strokes": [{"baseline": [[0, 0, 0], [0, 2, 0]], "offset": [[0, 0, 0], [0.5, 1.9, 0]]}]});
    write(folder, "s.json", strokes.to_string())?;
    quick(program, folder, 0.5, &["pose", "made.glb", "--strokes", "s.json", "-o", "p.glb", "--force"])
}

fn pole(program: &Path, folder: &Path) -> Result<(), String> {
    made(folder, "needles of a pole", 100_000)?;
    quick(program, folder, 30.0, &["map", "made.glb", "--auto", "diameter", "-o", "m.", "--force"])
}

/// A character whose mesh wears these pictures, one per primitive.
fn dressed(pictures: &[Vec<u8>]) -> Builder {
    let mut file = Builder::rigged();
    let uv = file.accessor("VEC2", &[0.5f32; 2 * Builder::RIGGED_VERTICES]);
    let primitive = file.json["meshes"][0]["primitives"][0].clone();
    let mut primitives = Vec::new();
    for (index, picture) in pictures.iter().enumerate() {
        let view = file.view(picture);
        file.push("/images", json!({"bufferView": view, "mimeType": "image/png"}));
        file.push("/textures", json!({"source": index}));
        file.push("/materials", json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": index}}}));
        let mut primitive = primitive.clone();
        primitive["attributes"]["TEXCOORD_0"] = uv.into();
        primitive["material"] = index.into();
        primitives.push(primitive);
    }
    file.set("/meshes/0/primitives", primitives.into());
    file
}

fn black_png(side: u32) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
    let rows = vec![0; side as usize * side as usize];
    writer.write_image_data(&rows).map_err(|error| error.to_string())?;
    writer.finish().map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn pictures(program: &Path, folder: &Path) -> Result<(), String> {
    write(folder, "bomb.glb", dressed(&vec![black_png(8192)?; 3]).glb())?;
    let run =
        sinew(program, folder, 60, &["render", "bomb.glb", "--time", "0", "--size", "64", "-o", "x.png", "--force"])?;
    expect(run.code == Some(0), format!("{:?}: {}", run.code, run.stderr.trim()))?;
    expect(run.peak_bytes < 1_000_000_000, format!("{} MB", run.peak_bytes / 1_000_000))
}

fn data_uri(program: &Path, folder: &Path) -> Result<(), String> {
    let file = Builder::rigged();
    let mut text = base64(&file.bin).trim_end_matches('=').to_owned();
    text.extend(std::iter::repeat_n("AAAA", 40_000_000));
    let file = file.clone().with("/buffers/0/byteLength", json!(file.bin.len()));
    write(folder, "long.gltf", file.gltf(&format!("data:application/octet-stream;base64,{text}")))?;
    // Within the limits the text is read, and little of it decoded; what it takes is the text, as bytes and as JSON.
    let run = sinew(program, folder, 60, &["inspect", "long.gltf"])?;
    expect(run.peak_bytes < 400_000_000, format!("{} MB for a buffer of 1 kB", run.peak_bytes / 1_000_000))
}

/// Refused within a second, in little memory, by a sentence.
fn refused(program: &Path, folder: &Path, words: &[&str], sentence: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    let run = run(command.current_dir(folder).args(words), Duration::from_millis(500))?;
    expect(!run.timed_out, format!("does not end; {} MB by then", run.peak_bytes / 1_000_000))?;
    expect(run.code == Some(1) && run.stderr.contains(sentence), format!("{:?}: {}", run.code, run.stderr.trim()))
}

fn device(program: &Path, folder: &Path) -> Result<(), String> {
    refused(program, folder, &["inspect", "/dev/zero"], "not a plain file")?;
    refused(program, folder, &["check", "zoo:tube", "--recipe", "/dev/zero"], "not a plain file")
}

fn pipe(program: &Path, folder: &Path) -> Result<(), String> {
    let path = folder.join("pipe.glb");
    if !path.exists() {
        succeed(Command::new("mkfifo").arg(&path))?;
    }
    write(folder, "r.sinew.toml", "version = 1\nmaps = [\"pipe.glb\"]\n")?;
    refused(program, folder, &["inspect", "pipe.glb"], "not a plain file")?;
    refused(program, folder, &["check", "zoo:tube", "--recipe", "pipe.glb"], "not a plain file")?;
    refused(program, folder, &["check", "zoo:tube", "--recipe", "r.sinew.toml"], "not a plain file")
}

fn limits(program: &Path, folder: &Path) -> Result<(), String> {
    made(folder, "vertices", 1_200_000)?;
    let run = sinew(program, folder, 60, &["inspect", "made.glb"])?;
    let named = run.stderr.contains("beyond the limit of 1000000") && run.stderr.contains("--limits");
    expect(run.code == Some(1) && named, format!("{:?}: {}", run.code, run.stderr.trim()))
}

/// A character with every small fault that is mended.
fn mended() -> Builder {
    let mut file = Builder::rigged();
    let mut joints = [0u8, 1, 0, 0].repeat(Builder::RIGGED_VERTICES);
    // The first vertex names a joint that is not there, with no weight; the second one joint twice.
    joints[2] = 9;
    let mut weights = [0.5f32, 0.5, 0.0, 0.0].repeat(Builder::RIGGED_VERTICES);
    (joints[5], weights[4], weights[5]) = (0, 0.5, 0.5);
    let (joints, weights) = (file.accessor("VEC4", &joints), file.accessor("VEC4", &weights));
    file.set("/meshes/0/primitives/0/attributes/JOINTS_0", joints.into());
    file.set("/meshes/0/primitives/0/attributes/WEIGHTS_0", weights.into());
    let mut none =
        |code: u32, kind: &str| file.push("/accessors", json!({"componentType": code, "type": kind, "count": 0}));
    let attributes =
        json!({"POSITION": none(5126, "VEC3"), "JOINTS_0": none(5121, "VEC4"), "WEIGHTS_0": none(5126, "VEC4")});
    file.push("/meshes/0/primitives", json!({"attributes": attributes}));
    file.push("/meshes", json!({"name": "Nothing", "primitives": []}));
    file.push("/nodes", json!({"name": "Nowhere", "mesh": 1, "skin": 0}));
    file.push("/scenes/0/nodes", json!(3));
    file.set("/skins/0/joints", json!([1, 2, 2]));
    let mut binds = [0f32; 48];
    (0..3).for_each(|joint| (0..4).for_each(|n| binds[16 * joint + 5 * n] = 1.0));
    (binds[16 + 13], binds[32 + 13]) = (-1.0, -1.0);
    let binds = file.accessor("MAT4", &binds);
    file.set("/skins/0/inverseBindMatrices", binds.into());
    file.push("/animations", json!({"name": "idle", "channels": [], "samplers": []}));
    let turns = file.accessor("VEC4", &[0.0f32, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    file.set("/animations/0/samplers/0/output", turns.into());
    file
}

fn told(program: &Path, folder: &Path, code: &str) -> Result<(), String> {
    write(folder, "mended.glb", mended().glb())?;
    let output = Command::new(program).args(["inspect", "mended.glb", "--json"]).current_dir(folder).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    expect(output.status.success(), String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    expect(text.contains(&format!("\"{code}\"")), "not a word")
}

fn left_outside(program: &Path, folder: &Path) -> Result<(), String> {
    let mut file = Builder::rigged();
    file.push("/images", json!({"uri": "away.png"}));
    write(folder, "picture.glb", file.glb())?;
    write(folder, "s.json", r#"{"strokes": [{"baseline": [[0,0,0],[0,2,0]], "offset": [[0,0,0],[1,1,0]]}]}"#)?;
    for words in [
        &["pose", "picture.glb", "--strokes", "s.json", "-o", "out.glb", "--force"][..],
        &["bind", "picture.glb", "-o", "out.glb", "--force"],
    ] {
        let run = sinew(program, folder, 10, words)?;
        expect(run.code == Some(0), run.stderr.trim())?;
        expect(run.stderr.contains("away.png"), format!("{} says nothing of it", words[0]))?;
    }
    Ok(())
}
