//! What a fuzzer does with bytes: one function per door of Sinew that bytes come in by.
//!
//! Nothing may panic, whatever the bytes; where something comes out it must be sound. The programs in `fuzz/` hand
//! these functions to libFuzzer (`cargo xtask fuzz`); the tests of this crate hand them everything that was ever found
//! (`fuzz/corpus`) and the seeds.

mod bake;
mod characters;
mod commands;
mod documents;
mod mutation;
mod number;
mod packed;
mod text;

pub use commands::any_of;

/// A door that bytes come in by.
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// Does with bytes what Sinew does; panics where something is wrong.
    pub run: fn(&[u8]),
    /// Bytes to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "import", run: documents::import, seeds: documents::import_seeds },
    Target { name: "import_changed", run: documents::import_changed, seeds: mutation::seeds },
    Target { name: "packed", run: packed::packed, seeds: packed::seeds },
    Target { name: "strip", run: documents::strip_changed, seeds: mutation::seeds },
    Target { name: "recipe", run: text::recipe, seeds: text::recipe_seeds },
    Target { name: "map", run: text::map, seeds: text::map_seeds },
    Target { name: "motion", run: commands::motion, seeds: commands::motion_seeds },
    Target { name: "strokes", run: commands::strokes, seeds: commands::strokes_seeds },
    Target { name: "edit", run: commands::edit, seeds: commands::edit_seeds },
    Target { name: "bake", run: bake::bake_random, seeds: bake::seeds },
    Target { name: "commands", run: commands::any, seeds: commands::any_seeds },
];

/// The door of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
