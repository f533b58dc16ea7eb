//! `cargo xtask kills`: ends every command that writes at random moments, without warning, and looks at what it left.

use crate::workbench::{Folder, Random, command, run, succeed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TUBE: &str = "zoo:tube:vertices=3000,bones=4";

/// A command that writes, in words with `{}` for a folder of sources.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    /// Whether it can be told to replace what is there.
    replaces: bool,
    /// Its files are frames that are of use one by one: each is old or new, whatever the others are.
    one_by_one: bool,
}

const fn case(name: &'static str, words: &'static [&'static str]) -> Case {
    Case { name, words, replaces: true, one_by_one: false }
}

const CASES: &[Case] = &[
    case("bake", &["bake", TUBE, "--clip", "0", "--fps", "12", "--best-effort", "-o", "out.glb"]),
    case("bake --format pc2", &["bake", TUBE, "--clip", "0", "--format", "pc2", "-o", "out.pc2"]),
    Case {
        replaces: false,
        ..case("bake --format obj-sequence", &["bake", TUBE, "--clip", "0", "--format", "obj-sequence", "-o", "out"])
    },
    case("bake --format mdd", &["bake", TUBE, "--clip", "0", "--format", "mdd", "-o", "out.mdd"]),
    case("pose", &["pose", TUBE, "--strokes", "{}/strokes.json", "-o", "out.glb"]),
    case("edit", &["edit", TUBE, "--edit", "{}/edits.json", "-o", "out.sinew.toml"]),
    case("strip", &["strip", "{}/baked.glb", "-o", "out.glb"]),
    case("bind", &["bind", "zoo:tube:vertices=400,bones=4", "-o", "out.glb"]),
    case("map", &["map", TUBE, "--auto", "bone-distance", "-o", "out."]),
    case("frame", &["frame", TUBE, "-o", "out.json"]),
    Case {
        one_by_one: true,
        ..case("frame --time 0:1:0.05", &["frame", TUBE, "--clip", "0", "--time", "0:1:0.05", "-o", "out.ply"])
    },
    case("render", &["render", TUBE, "--size", "200", "-o", "out.png"]),
    case("render film", &["render", "zoo:tube", "--clip", "0", "--size", "64", "-o", "out.gif"]),
    Case {
        one_by_one: true,
        ..case("render --buffers", &["render", TUBE, "--clip", "0", "--frames", "4", "--size", "100", "--buffers", "."])
    },
    Case { replaces: false, ..case("demo", &["demo", "--only", "bird", "--out", "out"]) },
    case(
        "liven",
        &[
            "liven",
            "zoo:tube:vertices=200,bones=3",
            "--fps",
            "8",
            "--best-effort",
            "-o",
            "out.glb",
            "--recipe-out",
            "out.sinew.toml",
        ],
    ),
];

/// What kills came to.
#[derive(Default)]
struct Tally {
    kills: usize,
    /// Files that were neither the old nor the new, or a mixture of both after one further run.
    torn: usize,
    /// Kills after which anything else was there after one further run.
    litter: usize,
    /// Kills that left something for the further run to remove.
    swept: usize,
    /// Of those that came before the end: old and new.
    old: usize,
    new: usize,
}

/// Kills `program` `count` times over all commands.
pub fn kills(program: &Path, count: usize) -> Result<(), String> {
    let program = &program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
    let sources = Folder::new()?;
    sources.write(
        "strokes.json",
        r#"{"strokes": [{"baseline": [[0,0,0],[0,1,0]], "offset": [[0,0,0],[0.4,0.9,0]],
        "radius": 1}]}"#,
    )?;
    sources.write(
        "edits.json",
        r#"{"edits": [{"name": "low", "rings": 2, "from": [[-0.1,0.6,0.2],[0.1,0.6,0.2]],
        "to": [[-0.1,0.6,0.35],[0.1,0.6,0.35]]}]}"#,
    )?;
    succeed(program, &["bake", TUBE, "--clip", "0", "--fps", "12", "--best-effort", "-o", "baked.glb"], &sources)?;
    let mut random = Random(17);
    let mut all = Tally::default();
    println!("{:<28} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}", "command", "kills", "old", "new", "swept", "torn", "litter");
    for (index, case) in CASES.iter().enumerate() {
        let share = count * (index + 1) / CASES.len() - count * index / CASES.len();
        let tally = case.kill(program, &sources, share, &mut random)?;
        let Tally { kills, torn, litter, swept, old, new } = tally;
        println!("{:<28} {kills:>6} {old:>6} {new:>6} {swept:>6} {torn:>6} {litter:>6}", case.name);
        all.kills += kills;
        all.torn += torn;
        all.litter += litter;
        all.swept += swept;
        all.old += old;
        all.new += new;
    }
    let Tally { kills, torn, litter, swept, old, new } = all;
    println!("{:<28} {kills:>6} {old:>6} {new:>6} {swept:>6} {torn:>6} {litter:>6}", "all");
    if torn + litter > 0 { Err(format!("{torn} torn, {litter} with litter")) } else { Ok(()) }
}

impl Case {
    fn kill(&self, program: &Path, sources: &Folder, count: usize, random: &mut Random) -> Result<Tally, String> {
        let sources = sources.path().to_string_lossy();
        let words: Vec<String> = self.words.iter().map(|word| word.replace("{}", &sources)).collect();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.push("--quiet");
        let whole = Folder::new()?;
        let start = Instant::now();
        succeed(program, &words, &whole)?;
        let took = start.elapsed();
        let after = timeless(&whole);
        let mut tally = Tally::default();
        for round in 0..count {
            let over_old = self.replaces && round % 2 == 1;
            let folder = Folder::new()?;
            let mut before = BTreeMap::new();
            if over_old {
                for name in after.keys() {
                    before.insert(name.clone(), format!("old {name}").into_bytes());
                    folder.write(name, &before[name])?;
                }
            }
            let mut asked = words.clone();
            asked.extend(over_old.then_some("--force"));
            let mut child = command(program, &asked, &folder).spawn().map_err(|error| error.to_string())?;
            // Half of them near the end, when files are written.
            let share = if round % 4 < 2 { random.share() } else { 0.7 + 0.35 * random.share() };
            std::thread::sleep(Duration::from_secs_f64(share * took.as_secs_f64()));
            let _ = child.kill();
            child.wait().map_err(|error| error.to_string())?;
            tally.kills += 1;
            let left = timeless(&folder);
            let is_one =
                |(name, bytes): (&String, &Vec<u8>)| [&before, &after].iter().any(|side| side.get(name) == Some(bytes));
            let is_torn = !left.iter().all(|file| file.0.starts_with('.') || is_one(file));
            tally.swept += usize::from(left.keys().any(|name| name.starts_with('.')));
            run(program, &["frame", "zoo:tube:vertices=20,bones=1", "--quiet", "-o", "further.obj"], &folder)?;
            let mut left = timeless(&folder);
            left.remove("further.obj");
            let has_litter = left.keys().any(|name| !after.contains_key(name));
            let is_each_one = || left.iter().all(is_one) && before.keys().all(|name| left.contains_key(name));
            let is_mixture = left != before && left != after && !(self.one_by_one && is_each_one());
            tally.torn += usize::from(is_torn || (is_mixture && !has_litter));
            tally.litter += usize::from(has_litter);
            tally.old += usize::from(left == before);
            tally.new += usize::from(left == after);
        }
        Ok(tally)
    }
}

/// What is in a folder, pages without their figures: they tell how long the work took.
fn timeless(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let mut contents = folder.contents();
    for (_, page) in contents.iter_mut().filter(|(name, _)| name.ends_with(".html")) {
        page.retain(|byte| !byte.is_ascii_digit());
    }
    contents
}

/// The program that `cargo xtask` builds to be killed.
pub fn built() -> Result<PathBuf, String> {
    crate::command::succeed(&mut crate::command::cargo("build --release --package sinew_cli"))?;
    Ok(crate::command::target_dir().join("release/sinew"))
}
