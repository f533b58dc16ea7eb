//! The Khronos validator on every baked file: no error that its input lacks, and none on anything we wrote.

use super::{ZOO, again, assets, folder, node, output};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The built-in ones, and the smallest files.
    Sample,
    /// All.
    All,
}

/// Files of a sample.
const SAMPLE: usize = 8;
/// Baked files below so many bytes are baked once more, and packed.
const PACKED_BELOW: u64 = 2_000_000;

/// Bakes and validates; says which files could not be baked.
pub fn check(extent: Extent, sinew: &Command) -> Result<(), String> {
    let baked = folder("baked")?;
    let mut inputs: Vec<(String, Option<PathBuf>)> = ZOO.iter().map(|name| (format!("zoo:{name}"), None)).collect();
    let mut files = assets();
    if extent == Extent::Sample {
        files.sort_by_key(|file| (std::fs::metadata(file).map_or(u64::MAX, |data| data.len()), file.clone()));
        files.truncate(SAMPLE);
    }
    inputs.extend(files.into_iter().map(|file| (file.display().to_string(), Some(file))));
    let (mut faults, mut seen) = (Vec::new(), 0);
    for (input, file) in inputs {
        let stem = Path::new(&input).file_stem().map(|stem| stem.to_string_lossy().replace(':', "-"));
        let out = baked.join(format!("{}.glb", stem.unwrap_or_default()));
        let mut bake = again(sinew);
        // What is looked at is the form of the file, so coarse figures will do.
        bake.args(["bake", &input, "--best-effort", "--tolerance", "0.5%", "--fps", "30", "--force", "-o"]).arg(&out);
        if let Err(words) = output(&mut bake) {
            let why = words.rsplit_once(": ").map_or(words.as_str(), |(_, why)| why);
            println!("  {input}: not baked ({why})");
            continue;
        }
        let before = file.as_deref().map_or(Ok(BTreeSet::new()), errors)?;
        let mut new: Vec<_> = errors(&out)?.difference(&before).cloned().collect();
        if out.metadata().is_ok_and(|data| data.len() < PACKED_BELOW) {
            bake.args(["--compress", "meshopt"]);
            output(&mut bake)?;
            new.extend(errors(&out)?.difference(&before).cloned());
        }
        seen += 1;
        println!("  {input}: {} errors of its own, {} new", before.len(), new.len());
        faults.extend(new.into_iter().map(|(code, pointer)| format!("{input}: {code} at {pointer}")));
    }
    println!("validator: {seen} baked files, {} new errors", faults.len());
    match faults.is_empty() {
        true if seen > 0 => Ok(()),
        true => Err("nothing could be baked".to_owned()),
        false => Err(faults.join("\n")),
    }
}

/// Code and pointer of every error. The validator sees one file per process: some files end it.
fn errors(file: &Path) -> Result<BTreeSet<(String, String)>, String> {
    let text = output(node("validate.mjs")?.arg(file))?;
    let report: Value = serde_json::from_str(text.trim()).map_err(|error| format!("{}: {error}", file.display()))?;
    let word = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let errors = report["errors"].as_array().ok_or_else(|| format!("{}: no report", file.display()))?;
    Ok(errors.iter().map(|error| (word(error, "code"), word(error, "pointer"))).collect())
}
