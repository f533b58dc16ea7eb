//! `cargo xtask packed`: characters packed by glTF-Transform, with Draco and meshopt, coarse and fine, move as the
//! plain ones do. The comparison is a test of `sinew_gltf`, which at other times knows only the small files kept with
//! it.

use super::{assets, folder};
use crate::command::{cargo, program, succeed};
use std::path::Path;

const GLTF_TRANSFORM: &str = "@gltf-transform/cli@4.5.1";

/// Forms, by the words that make them.
const FORMS: &[(&str, &[&str])] = &[
    ("draco", &["draco"]),
    ("valence", &["draco", "--encode-speed", "0", "--decode-speed", "0", "--quantize-position", "16"]),
    ("sequential", &["draco", "--method", "sequential"]),
    ("meshopt", &["meshopt"]),
    ("medium", &["meshopt", "--level", "medium"]),
];

/// Packs every character at hand and compares.
pub fn run() -> Result<(), String> {
    let files = folder("packed")?;
    for asset in assets() {
        let stem = asset.file_stem().unwrap_or_default().to_string_lossy().replace('.', "_");
        let plain = files.join(format!("{stem}.plain.glb"));
        transform(&["copy"], &asset, &plain)?;
        for (form, words) in FORMS {
            transform(words, &asset, &files.join(format!("{stem}.{form}.glb")))?;
        }
        // Whole numbers for positions, and then Draco on top.
        let quantised = files.join(format!("{stem}.quant.glb"));
        transform(&["quantize"], &asset, &quantised)?;
        transform(&["draco"], &quantised, &files.join(format!("{stem}.quantdraco.glb")))?;
    }
    let mut test = cargo("test --workspace --test all -- compressed::packed_files --nocapture");
    succeed(test.env("SINEW_PACKED", files))
}

fn transform(words: &[&str], from: &Path, to: &Path) -> Result<(), String> {
    let (command, options) = words.split_first().ok_or("no command")?;
    let mut npx = program("npx");
    npx.args(["--yes", "--package", GLTF_TRANSFORM, "gltf-transform", command]).args([from, to]).args(options);
    succeed(&mut npx)
}
