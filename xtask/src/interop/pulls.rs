//! Surfaces solved as rigid as possible, solved again by libigl.

use super::{built, folder, libigl, output};
use crate::command::succeed;
use serde_json::Value;
use std::path::PathBuf;

/// Of the size: what libigl's solution may be off ours.
const AGREEMENT: f64 = 1e-4;

pub fn check() -> Result<(), String> {
    let folder = folder("pulls")?;
    succeed(built("examples/arap_pulls").arg(&folder))?;
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let text = output(libigl()?.args(&files))?;
    let mut largest = 0.0f64;
    for line in text.lines() {
        let found: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let apart = found["apart"].as_f64().filter(|apart| *apart <= AGREEMENT);
        largest = largest.max(apart.ok_or_else(|| format!("as rigid as possible, libigl: {line}"))?);
    }
    if text.lines().count() != files.len() || files.is_empty() {
        return Err(format!("libigl solved {} of {} surfaces", text.lines().count(), files.len()));
    }
    println!(
        "  {} surfaces as rigid as possible, libigl: {largest:.1e} of size (at most {AGREEMENT:.0e})",
        files.len()
    );
    Ok(())
}
