//! Writing: litter, sets of files, permissions, own output, pipes and interrupts.

use crate::workbench::{Folder, command, run, succeed, until_it_writes};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What is asked of a program, and the check: an error says how it fails.
type Check = (&'static str, fn(&Path) -> Result<(), String>);

const CHECKS: &[Check] = &[
    ("4: killed while writing, nothing is left after one further run", no_litter),
    ("5: an edit that fails in the middle leaves nothing", edit_is_whole),
    ("5: an edit whose map was changed is told", changed_map_is_told),
    ("6: --force keeps permissions", permissions_are_kept),
    ("6: --force does not part hard links", links_are_kept),
    ("6: --force leaves a read-only file alone", read_only_is_kept),
    ("8: a posed file can be read, however far the strokes", pose_is_read),
    ("8: a damaged note gives back the original or is refused", note_is_checked),
    ("9: bake -o - into a closed pipe is quiet", pipe_is_quiet),
    ("9: an interrupted point cache leaves no .obj", cache_leaves_nothing),
    ("9: an interrupted OBJ sequence leaves no folder and exits with 130", sequence_leaves_nothing),
    ("9: files are flushed to the disk before they take their names", is_flushed),
];

/// Runs all checks on both programs; the new one must pass all of them.
pub fn compare(new: &Path, old: &Path) -> Result<(), String> {
    let find = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let (new, old) = (find(new)?, find(old)?);
    let mut failed = 0;
    for (name, check) in CHECKS {
        let (now, before) = (check(&new), check(&old));
        failed += usize::from(now.is_err());
        let say = |outcome: &Result<(), String>| match outcome {
            Ok(()) => "passes".to_owned(),
            Err(why) => format!("FAILS: {why}"),
        };
        println!("{name}\n    new {}\n    old {}", say(&now), say(&before));
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} checks fail")) }
}

fn expect(truth: bool, why: impl Into<String>) -> Result<(), String> {
    if truth { Ok(()) } else { Err(why.into()) }
}

fn no_litter(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    let large = ["frame", "zoo:tube:vertices=100000", "--quiet", "--force", "-o", "large.json"];
    for round in 0..6 {
        let mut child = command(program, &large, &folder).spawn().map_err(|error| error.to_string())?;
        // While it writes, where that can be seen; otherwise at any moment.
        let end = Instant::now() + Duration::from_millis(400 + 150 * round);
        let is_seen = || folder.names().iter().any(|name| name.starts_with(".sinew-"));
        while !is_seen() && Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        child.wait().map_err(|error| error.to_string())?;
        let _ = std::fs::remove_file(folder.path().join("large.json"));
    }
    succeed(program, &["frame", "zoo:tube", "--quiet", "-o", "small.obj"], &folder)?;
    expect(folder.names() == ["small.obj"], format!("{:?}", folder.names()))
}

const EDITS: &str = r#"{"edits": [{"name": "low", "rings": 1, "iterations": 2,
    "from": [[-0.1,0.6,0.2],[0.1,0.6,0.2]], "to": [[-0.1,0.6,0.35],[0.1,0.6,0.35]]}]}"#;
const EDIT: [&str; 7] = ["edit", "zoo:tube", "--quiet", "--edit", "edits.json", "-o", "low.sinew.toml"];

fn edit_is_whole(program: &Path) -> Result<(), String> {
    let whole = Folder::new()?;
    whole.write("edits.json", EDITS)?;
    succeed(program, &EDIT, &whole)?;
    let maps: Vec<String> = whole.names().into_iter().filter(|name| name.ends_with(".map.json")).collect();
    for map in maps {
        let folder = Folder::new()?;
        folder.write("edits.json", EDITS)?;
        folder.write(&map, "somebody's")?;
        let run = run(program, &EDIT, &folder)?;
        let names = folder.names();
        expect(!run.status.success() && names.len() == 2, format!("{map} was there, and now there are {names:?}"))?;
    }
    Ok(())
}

fn changed_map_is_told(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    folder.write("edits.json", EDITS)?;
    succeed(program, &EDIT, &folder)?;
    let (name, bytes) = folder.contents().into_iter().find(|(name, _)| name.ends_with(".map.json")).ok_or("no map")?;
    let mut map: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    map["values"][0] = json!(0.75);
    folder.write(&name, map.to_string())?;
    let run = run(program, &["frame", "zoo:tube", "--recipe", "low.sinew.toml", "-o", "frame.obj"], &folder)?;
    expect(String::from_utf8_lossy(&run.stderr).contains(&name), "not a word")
}

/// Runs `frame --force` over `out.obj`, and gives whether it succeeded.
fn force_over(program: &Path, folder: &Folder) -> Result<bool, String> {
    let run = run(program, &["frame", "zoo:tube", "--quiet", "--force", "-o", "out.obj"], folder)?;
    Ok(run.status.success())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(|error| error.to_string())
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> Result<(), String> {
    Err("this system has no such permissions".to_owned())
}

fn permissions_are_kept(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    let out = folder.write("out.obj", "old")?;
    set_mode(&out, 0o600)?;
    expect(force_over(program, &folder)?, "refused")?;
    let now = std::fs::metadata(&out).map_err(|error| error.to_string())?.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        expect(now.mode() & 0o777 == 0o600, format!("0600 became {:o}", now.mode() & 0o777))
    }
    #[cfg(not(unix))]
    {
        drop(now);
        Ok(())
    }
}

fn links_are_kept(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    let out = folder.write("out.obj", "old")?;
    std::fs::hard_link(&out, folder.path().join("other.obj")).map_err(|error| error.to_string())?;
    force_over(program, &folder)?;
    let contents = folder.contents();
    expect(contents.get("out.obj") == contents.get("other.obj"), "the two names are two files now")
}

fn read_only_is_kept(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    let out = folder.write("out.obj", "old")?;
    set_mode(&out, 0o444)?;
    force_over(program, &folder)?;
    expect(std::fs::read(&out).is_ok_and(|bytes| bytes == b"old"), "it was replaced")
}

fn pose_is_read(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    let offset = "[[0.2, 0.5, 1e100], [1.9, 0.8, 1e30], [1e37, -0.2, 1e19]]";
    let strokes = format!(
        r#"{{"strokes": [{{"baseline": [[0,0,0], [0,1,0]], "offset": {offset}, "radius": 1e30, "stretch": true}}]}}"#
    );
    folder.write("strokes.json", strokes)?;
    let posed = run(program, &["pose", "zoo:tube", "--strokes", "strokes.json", "-o", "out.glb"], &folder)?;
    match posed.status.success() {
        true => succeed(program, &["frame", "out.glb", "-o", "frame.obj"], &folder),
        false => expect(folder.names() == ["strokes.json"], "refused, and something was written"),
    }
}

/// A GLB's JSON, changed.
fn with_json(glb: &[u8], change: impl FnOnce(&mut Value)) -> Option<Vec<u8>> {
    let word = |at: usize| Some(u32::from_le_bytes(glb.get(at..at + 4)?.try_into().ok()?) as usize);
    let length = word(12)?;
    let mut json: Value = serde_json::from_slice(glb.get(20..20 + length)?).ok()?;
    change(&mut json);
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let rest = glb.get(20 + length..)?;
    let total = u32::try_from(20 + text.len() + rest.len()).ok()?;
    let chunk = u32::try_from(text.len()).ok()?;
    let head = [&b"glTF"[..], &2u32.to_le_bytes(), &total.to_le_bytes(), &chunk.to_le_bytes(), b"JSON"].concat();
    Some([head, text, rest.to_vec()].concat())
}

fn note_is_checked(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    succeed(program, &["bake", "zoo:tube", "--quiet", "--clip", "0", "-o", "baked.glb"], &folder)?;
    succeed(program, &["strip", "baked.glb", "--quiet", "-o", "original.glb"], &folder)?;
    let contents = folder.contents();
    let (baked, original) = (&contents["baked.glb"], &contents["original.glb"]);
    let damages: &[(&str, Value)] = &[
        ("/asset/extras/sinew/created", json!([])),
        ("/asset/extras/sinew/replaced/0/was", json!(7)),
        ("/asset/extras/sinew/bytes/from", json!(12)),
        ("/asset/extras/sinew/added", json!([])),
        ("/asset/extras/sinew/replaced", json!([])),
    ];
    for (place, value) in damages {
        let set = |json: &mut Value| {
            if let Some(found) = json.pointer_mut(place) {
                *found = value.clone();
            }
        };
        folder.write("damaged.glb", with_json(baked, set).ok_or("no GLB")?)?;
        let run = run(program, &["strip", "damaged.glb", "--quiet", "--force", "-o", "out.glb"], &folder)?;
        let out = std::fs::read(folder.path().join("out.glb")).ok();
        let is_same = out.is_some_and(|out| out == *original);
        expect(
            !run.status.success() || is_same,
            format!("{place} changed, and another file came back without a word"),
        )?;
    }
    Ok(())
}

fn pipe_is_quiet(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    let mut bake = command(program, &["bake", "zoo:calf", "--clip", "0", "--quiet", "-o", "-"], &folder);
    let child = bake.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    drop(child.stdout.take());
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    expect(output.status.success() && said.is_empty(), format!("{}, {said}", output.status))
}

/// Interrupts a bake once it writes; gives exit status and what is left.
fn interrupted(program: &Path, words: &[&str], after: u64) -> Result<(Option<i32>, Vec<String>), String> {
    let folder = Folder::new()?;
    let words = [&["bake", "--clip", "0", "--quiet", "--preset", "jelly"], words].concat();
    let mut child = command(program, &words, &folder).spawn().map_err(|error| error.to_string())?;
    until_it_writes(&mut child, &folder)?;
    std::thread::sleep(Duration::from_millis(after));
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().map_err(|error| error.to_string())?;
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok((status.code(), folder.names()))
}

fn cache_leaves_nothing(program: &Path) -> Result<(), String> {
    let (code, left) = interrupted(program, &["zoo:tube:vertices=20000", "--format", "pc2", "-o", "out.pc2"], 100)?;
    expect(left.is_empty() && code == Some(130), format!("exit status {code:?}, left {left:?}"))
}

fn sequence_leaves_nothing(program: &Path) -> Result<(), String> {
    // Many small files, so that one is being made when the interrupt comes.
    let words = ["zoo:tube:vertices=60,bones=2", "--fps", "1000", "--format", "obj-sequence", "-o", "out"];
    for round in 0..40 {
        let (code, left) = interrupted(program, &words, 10 + 5 * round)?;
        // It may be done already.
        expect(
            (left.is_empty() && code == Some(130)) || code == Some(0),
            format!("exit status {code:?}, {} files left", left.len()),
        )?;
    }
    Ok(())
}

fn is_flushed(program: &Path) -> Result<(), String> {
    let folder = Folder::new()?;
    let program = program.to_string_lossy();
    let words = ["-f", "-e", "trace=fsync,fdatasync", "-o", "calls", &program, "frame", "zoo:tube", "-o", "out.obj"];
    if run(Path::new("strace"), &words, &folder).is_err() {
        return Err("strace IS NOT HERE: nothing is known".to_owned());
    }
    let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap_or_default();
    let flushed = calls.matches("fsync(").count() + calls.matches("fdatasync(").count();
    expect(flushed >= 2, format!("{flushed} flushes, of the file and of its folder there should be two"))
}
