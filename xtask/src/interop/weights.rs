//! `cargo xtask bind-table`: skin weights by `sinew bind` and by Blender beside the artists'.

use super::{blender, folder, output};
use crate::command::{cargo, succeed};
use std::path::PathBuf;

/// Writes `docs/bind.md`.
pub fn table() -> Result<(), String> {
    let folder = folder("weights")?;
    let example = || cargo("run --release --quiet --package sinew_gltf --example bind_table --");
    succeed(example().arg("dump").arg(&folder))?;
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_asked = |path: &PathBuf| !path.to_string_lossy().ends_with(".weights.json");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_asked).collect();
    files.sort();
    output(blender("automatic_weights.py")?.args(&files))?;
    succeed(example().arg("table").arg(&folder).arg("docs/bind.md"))
}
