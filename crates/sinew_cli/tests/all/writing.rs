//! What commands leave on the disk: permissions, links, pipes, interrupts; and when every operation on files fails in
//! turn, or is the last before the process ends: the old files whole or the new files whole, and nothing else after
//! one further run.

use crate::common::{Folder, Run, command, full, sinew};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

const TUBE: &str = "zoo:tube:vertices=40,bones=2";

/// A command that writes, with the files it is given.
struct Case {
    name: &'static str,
    words: Vec<String>,
    /// What it writes, in a folder that already has old files of these names.
    force: bool,
    /// Its files are frames that are of use one by one: each is old or new, whatever the others are.
    one_by_one: bool,
    /// Every which operation is tried where not all are: those of a command that takes seconds.
    step: usize,
}

/// Files that cases read, outside the folder they write to.
fn cases(sources: &Folder) -> Vec<Case> {
    let strokes = json!({"strokes": [{"baseline": [[0, 0, 0], [0, 1, 0]], "offset": [[0, 0, 0], [0.3, 0.9, 0]],
        "radius": 1}]});
    let edits = json!({"edits": [{"name": "low", "rings": 1, "iterations": 2,
        "from": [[-0.1, 0.6, 0.2], [0.1, 0.6, 0.2]], "to": [[-0.1, 0.6, 0.35], [0.1, 0.6, 0.35]]}]});
    let strokes = sources.write("strokes.json", strokes.to_string());
    let edits = sources.write("edits.json", edits.to_string());
    let recipe = sources.write("drag.sinew.toml", "version = 1\n[[effect]]\ntype = 'floppy'\n");
    let baked = sources.join("baked.glb");
    let bake = ["bake", TUBE, "--recipe", &recipe, "--clip", "0", "--fps", "6", "--best-effort"];
    let run = sinew(bake.iter().copied().chain(["-o", &baked]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let case = |name: &'static str, words: &[&str], force: bool| {
        let words = words.iter().map(|word| (*word).to_owned()).chain(["--quiet".to_owned()]).collect();
        Case { name, words, force, one_by_one: false, step: 1 }
    };
    let baking = |out: &'static str, format: &'static str| [&bake[..], &["-o", out, "--format", format]].concat();
    let film = ["render", TUBE, "--clip", "0", "--as", "film", "--size", "16", "--frames", "2"];
    let mut cases = Vec::new();
    for force in [false, true] {
        cases.extend([
            case("bake", &[&bake[..], &["-o", "out.glb"]].concat(), force),
            case("bake-pc2", &baking("out.pc2", "pc2"), force),
            case("bake-mdd", &baking("out.mdd", "mdd"), force),
            case("pose", &["pose", TUBE, "--strokes", &strokes, "-o", "out.glb"], force),
            case("edit", &["edit", TUBE, "--edit", &edits, "-o", "out.sinew.toml"], force),
            case("strip", &["strip", &baked, "-o", "out.glb"], force),
            case("bind", &["bind", TUBE, "--method", "distance", "-o", "out.glb"], force),
            case("map", &["map", TUBE, "--auto", "bone-distance", "-o", "out."], force),
            case("frame", &["frame", TUBE, "-o", "out.obj"], force),
            Case {
                one_by_one: true,
                ..case("frames", &["frame", TUBE, "--clip", "0", "--time", "0:0.2:0.1", "-o", "out.ply"], force)
            },
            case("render", &["render", TUBE, "--size", "16", "-o", "out.png"], force),
            case("render-film", &[&film[..], &["-o", "out.gif"]].concat(), force),
            case("render-apng", &[&film[..], &["-o", "out.apng"]].concat(), force),
            Case {
                step: 4,
                ..case(
                    "liven",
                    &["liven", TUBE, "--fps", "6", "-o", "out.glb", "--recipe-out", "out.sinew.toml"],
                    force,
                )
            },
        ]);
    }
    // A folder is never replaced.
    cases.push(case("bake-obj-sequence", &baking("sequence", "obj-sequence"), false));
    cases.push(Case { step: 16, ..case("demo", &["demo", "--only", "bird", "-o", "demo"], false) });
    cases
}

/// Everything in a folder, by path, folders among them.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            let inside = contents(&path);
            found.extend(inside.into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
            found.insert(format!("{name}/"), Vec::new());
        } else {
            let mut bytes = std::fs::read(&path).expect("readable");
            if name.ends_with(".html") {
                // It tells how long the work took.
                bytes.retain(|byte| !byte.is_ascii_digit());
            }
            found.insert(name, bytes);
        }
    }
    found
}

impl Case {
    /// Runs it in a folder, with a fault.
    fn run(&self, folder: &Path, fault: Option<&str>) -> std::process::Output {
        let mut command = command();
        command.args(&self.words).current_dir(folder);
        if self.force {
            command.arg("--force");
        }
        command.env_remove("SINEW_FAULT");
        if let Some(fault) = fault {
            command.env("SINEW_FAULT", fault);
        }
        command.output().expect("starts")
    }

    /// What is there before: nothing, or other files of the names it writes.
    fn before(&self, after: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
        let old = |(name, _): (&String, &Vec<u8>)| (name.clone(), format!("old {name}").into_bytes());
        if self.force { after.iter().map(old).collect() } else { BTreeMap::new() }
    }
}

/// The two sets of files that a case may leave.
struct Sides {
    one_by_one: bool,
    before: BTreeMap<String, Vec<u8>>,
    after: BTreeMap<String, Vec<u8>>,
}

impl Sides {
    fn of(case: &Case) -> Self {
        let whole = Folder::new();
        let sound = Case { force: false, words: case.words.clone(), ..*case }.run(whole.path(), None);
        assert!(sound.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&sound.stderr));
        let after = contents(whole.path());
        Self { one_by_one: case.one_by_one, before: case.before(&after), after }
    }

    fn folder(&self) -> Folder {
        let folder = Folder::new();
        self.before.iter().for_each(|(name, bytes)| drop(folder.write(name, bytes)));
        folder
    }

    fn is_one(&self, found: &BTreeMap<String, Vec<u8>>) -> bool {
        let is_each_one =
            || found.iter().all(|file| self.has(file)) && self.before.keys().all(|name| found.contains_key(name));
        *found == self.before || *found == self.after || (self.one_by_one && is_each_one())
    }

    /// Whether a file is whole, an old or a new one.
    fn has(&self, (name, bytes): (&String, &Vec<u8>)) -> bool {
        [&self.before, &self.after].iter().any(|side| side.get(name) == Some(bytes))
    }
}

#[cfg(unix)]
#[test]
fn where_an_operation_fails_old_files_are_whole_or_new_ones_are() {
    let sources = Folder::new();
    let mut tried = 0;
    for (index, case) in cases(&sources).into_iter().enumerate() {
        let sides = Sides::of(&case);
        // All of them, or every third.
        let step = if full() { 1 } else { 3 * case.step };
        for number in (1 + index % step..).step_by(step) {
            let folder = sides.folder();
            let output = case.run(folder.path(), Some(&format!("fail:{number}")));
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            let at = format!("{} (force: {}), operation {number}", case.name, case.force);
            let found = contents(folder.path());
            assert!(sides.is_one(&found), "{at}: {:?}\n{stderr}", found.keys());
            if !stderr.starts_with(&format!("fault {number}\n")) {
                assert!(output.status.success() && found == sides.after, "{at}: {stderr}");
                break;
            }
            let is_told = output.status.code() == Some(1) && stderr.lines().count() == 2;
            // Failing to tidy up behind files that have their names is no failure.
            assert!(is_told || (output.status.success() && found == sides.after), "{at}: {stderr}");
            tried += 1;
        }
    }
    assert!(tried > if full() { 150 } else { 50 }, "{tried} operations");
}

#[cfg(unix)]
#[test]
fn where_the_process_ends_old_files_are_whole_or_new_ones_are_after_one_further_run() {
    let sources = Folder::new();
    let mut tried = 0;
    for (index, case) in cases(&sources).into_iter().enumerate() {
        let sides = Sides::of(&case);
        // All of them, or every fourth.
        let step = if full() { 1 } else { 4 * case.step };
        for number in (1 + index % step..).step_by(step) {
            let folder = sides.folder();
            let output = case.run(folder.path(), Some(&format!("die:{number}")));
            let at = format!("{} (force: {}), before operation {number}", case.name, case.force);
            for (name, bytes) in contents(folder.path()).iter().filter(|(name, _)| !name.starts_with('.')) {
                assert!(sides.has((name, bytes)), "{at}: {name} is torn");
            }
            let further = sinew(["frame", TUBE, "--quiet", "-o", &folder.join("further.obj")]);
            assert_eq!(further.code, 0, "{}", further.stderr);
            let mut found = contents(folder.path());
            found.remove("further.obj");
            assert!(sides.is_one(&found), "{at}: {:?}", found.keys());
            if output.status.success() {
                assert!(found == sides.after, "{at}");
                break;
            }
            tried += 1;
        }
    }
    assert!(tried > if full() { 120 } else { 30 }, "{tried} operations");
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn frame(out: &str) -> Run {
        sinew(["frame", TUBE, "-o", out, "--force", "--quiet"])
    }

    fn mode(path: &str) -> u32 {
        std::fs::metadata(path).expect("there").mode() & 0o777
    }

    #[test]
    fn force_keeps_permissions_and_refuses_what_is_read_only_or_has_other_names() {
        let folder = Folder::new();
        let out = folder.write("out.obj", "old");
        for wanted in [0o600, 0o640, 0o664] {
            std::fs::set_permissions(&out, std::fs::Permissions::from_mode(wanted)).expect("allowed");
            let run = frame(&out);
            assert_eq!((run.code, mode(&out)), (0, wanted), "{}", run.stderr);
        }
        let old = folder.write("old.obj", "old");
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o444)).expect("allowed");
        let run = frame(&old);
        assert!(run.code == 1 && run.stderr.contains("read-only"), "{}", run.stderr);
        let linked = folder.write("linked.obj", "old");
        std::fs::hard_link(&linked, folder.join("other.obj")).expect("links");
        let run = frame(&linked);
        assert!(run.code == 1 && run.stderr.contains("2 names"), "{}", run.stderr);
        for name in ["old.obj", "linked.obj", "other.obj"] {
            assert_eq!(std::fs::read_to_string(folder.join(name)).expect("there"), "old");
        }
        std::os::unix::fs::symlink("nowhere.obj", folder.join("link.obj")).expect("links");
        let run = frame(&folder.join("link.obj"));
        assert!(run.code == 1 && run.stderr.contains("does not exist"), "{}", run.stderr);
    }

    /// Stops a command at its first chance, when it has made something in its folder, and tells its exit status.
    fn interrupted(words: &[&str], folder: &Folder) -> Option<i32> {
        let mut child = command()
            .args(words)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while folder.names().is_empty() && child.try_wait().expect("a child").is_none() {
            assert!(std::time::Instant::now() < end, "nothing is written");
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &id]).stderr(Stdio::null()).status();
        assert!(sent.is_ok());
        child.wait().expect("ends").code()
    }

    #[test]
    fn an_interrupted_sequence_or_cache_leaves_nothing() {
        let bake = ["bake", "zoo:tube:vertices=20000", "--preset", "lively", "--clip", "0", "--fps", "30", "--quiet"];
        for (out, format) in [("sequence", "obj-sequence"), ("cache.pc2", "pc2"), ("cache.mdd", "mdd")] {
            let folder = Folder::new();
            let code = interrupted(&[&bake[..], &["-o", out, "--format", format]].concat(), &folder);
            assert_eq!((code, folder.names()), (Some(130), Vec::new()), "{format}");
        }
    }

    #[test]
    fn a_baked_file_in_a_closed_pipe_is_no_failure() {
        let mut child = command()
            .args(["bake", "zoo:tube:vertices=4000", "--fps", "10", "-o", "-"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(!stderr.contains("error"), "{stderr}");
    }

    #[test]
    fn what_is_dead_is_removed_and_what_lives_is_not() {
        let folder = Folder::new();
        folder.write(".sinew-0123456789abcdef.part", "dead");
        let alive = folder.write(".sinew-00000000000000ff.part", "alive");
        let lock = std::fs::File::open(&alive).expect("there");
        lock.lock().expect("locks");
        folder.write(".sinew-notes", "somebody's");
        std::fs::create_dir(folder.join(".sinew-0000000000000001.part")).expect("made");
        folder.write(".sinew-0000000000000001.part/0.new", "dead");
        assert_eq!(frame(&folder.join("out.obj")).code, 0);
        assert_eq!(folder.names(), [".sinew-00000000000000ff.part", ".sinew-notes", "out.obj"]);
    }
}

#[test]
fn a_map_that_is_not_the_recipes_is_told() {
    let folder = Folder::new();
    let edits = json!({"edits": [{"name": "low", "rings": 1, "iterations": 2,
        "from": [[-0.1, 0.6, 0.2], [0.1, 0.6, 0.2]], "to": [[-0.1, 0.6, 0.35], [0.1, 0.6, 0.35]]}]});
    let edits = folder.write("edits.json", edits.to_string());
    let recipe = folder.join("low.sinew.toml");
    let run = sinew(["edit", TUBE, "--edit", &edits, "-o", &recipe, "--quiet"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let frame = || sinew(["frame", TUBE, "--recipe", &recipe, "-o", "-"]);
    assert_eq!((frame().code, frame().stderr.as_str()), (0, ""));
    let map = folder.names().into_iter().find(|name| name.ends_with(".map.json")).expect("a map");
    let text = std::fs::read_to_string(folder.join(&map)).expect("readable");
    let mut painted: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    // Spelled otherwise it is the same.
    folder.write(&map, format!("{painted:#}"));
    assert_eq!((frame().code, frame().stderr.as_str()), (0, ""));
    painted["values"][0] = json!(0.25);
    folder.write(&map, painted.to_string());
    let told = frame();
    assert!(told.code == 0 && told.stderr.contains(&map) && told.stderr.contains("remove its hash"), "{}", told.stderr);
    // As it says.
    let text = std::fs::read_to_string(&recipe).expect("readable");
    let head = text.split(", hash = \"").next().expect("a beginning");
    let tail: String =
        text.split(", hash = \"").skip(1).filter_map(|part| part.split_once('"')).map(|(_, end)| end).collect();
    folder.write("low.sinew.toml", format!("{head}{tail}"));
    assert_eq!((frame().code, frame().stderr.as_str()), (0, ""));
}
