//! How much a file may ask for: one list, so that what is too much is said before it is tried.
//!
//! A file of a few hundred bytes can declare millions of points, and a picture of a few kilobytes can unpack to gigabytes.
//! The values here keep every command below a gigabyte of memory. They are raised together, by one factor: whoever raises one
//! has more memory and patience, and need not learn which of the others comes next.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What to advise where a limit is passed.
pub(crate) const RAISE: &str = "make it smaller or, with memory to spare, raise all limits by --limits N";

/// What files may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a character's file and of what it keeps beside it, together.
    pub file_bytes: u64,
    /// Bytes of a recipe, a map, strokes, edits or a motion.
    pub text_bytes: u64,
    /// Numbers that accessors unpack to.
    pub numbers: u64,
    /// Vertices of the meshes that move.
    pub vertices: u64,
    /// Nodes, and joints of all skins together.
    pub bones: u64,
    /// Length of a clip.
    pub clip_secs: f64,
    /// Pixels of all pictures that are decoded.
    pub pixels: u64,
    /// Skin weights in the making: bones times points.
    pub weights: u64,
    /// Characters of a file times its vertices: what is known of each character is kept for all points.
    pub crowd: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 256 << 20,
            text_bytes: 64 << 20,
            numbers: 1 << 27,
            vertices: 1_000_000,
            bones: 1 << 17,
            clip_secs: 3_600.0,
            pixels: 1 << 28,
            weights: 1 << 26,
            crowd: 1 << 23,
        }
    }
}

impl Limits {
    /// All of them times a factor.
    pub fn times(self, factor: f64) -> Self {
        // A float is cast to the nearest integer there is.
        let grown = |limit: u64| (limit as f64 * factor) as u64;
        Self {
            file_bytes: grown(self.file_bytes),
            text_bytes: grown(self.text_bytes),
            numbers: grown(self.numbers),
            vertices: grown(self.vertices),
            bones: grown(self.bones),
            clip_secs: self.clip_secs * factor,
            pixels: grown(self.pixels),
            weights: grown(self.weights),
            crowd: grown(self.crowd),
        }
    }

    /// Pixels of all pictures that are kept to be drawn, which are decoded to less where they have more.
    pub fn kept_pixels(&self) -> u64 {
        self.pixels / 16
    }

    /// Pixels of a picture that can only be decoded whole.
    pub fn whole_pixels(&self) -> u64 {
        self.pixels / 4
    }

    /// Reads a text that a user wrote: a recipe, a map, strokes.
    pub fn read_text(&self, path: &Path) -> io::Result<String> {
        let bytes = read_plain(path, self.text_bytes)?;
        String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
    }
}

/// What is said of something that passes a limit: `has 3 vertices, beyond the limit of 2`.
pub(crate) fn beyond(found: impl std::fmt::Display, unit: &str, limit: impl std::fmt::Display) -> String {
    format!("has {found} {unit}, beyond the limit of {limit}")
}

/// The bytes of a plain file, of at most `limit` of them. A device or a pipe may have no end, and waiting for one none.
pub(crate) fn read_plain(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?;
    if !kind.is_file() {
        let what = if kind.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a plain file")));
    }
    let too_large = |bytes: u64| {
        let words = beyond(bytes, "bytes", limit);
        io::Error::new(io::ErrorKind::FileTooLarge, format!("it {words}; {RAISE}"))
    };
    if kind.len() > limit {
        return Err(too_large(kind.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(kind.len()).unwrap_or(0));
    // Files of some systems say they are empty, and others grow while they are read.
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}
