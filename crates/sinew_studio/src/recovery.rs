//! What is left after a crash: the document as it was at most two seconds before.
//!
//! In a browser's tab it is a text in the storage of the site.
//!
//! One file per window, rewritten whole while there is something unsaved, removed when everything is saved or the window is
//! closed as it should be. A file whose window no longer runs is what a crash has left.

use crate::character::{Character, Source};
use crate::document::{ChangeError, Document};
use crate::keep::KeepError;
use crate::wire::{named_source, source_name};
use sinew_gltf::map_file::MapFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

/// How long a change may be unwritten.
pub const EVERY: Duration = Duration::from_millis(1500);

/// First line of recovery files.
const HEADER: &str = "sinew recovery 1";
/// What keys of the browser's storage begin with.
#[cfg(all(target_arch = "wasm32", feature = "window"))]
const SHELF: &str = "sinew-recovery-";
/// Stands before each map; no recipe has such a line, for it is no TOML.
const MAP: &str = "--- map\n";
/// Stands before what was drawn, which comes last.
const DRAWN: &str = "--- drawn\n";

/// Writes a document down while it is worked on.
#[derive(Debug)]
pub struct Recovery {
    file: PathBuf,
    written: Option<u64>,
    last: Option<Instant>,
}

impl Recovery {
    /// In a folder that is made if it is not there.
    pub fn new(folder: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let file = folder.join(format!("{}.recovery", std::process::id()));
        Ok(Self { file, written: None, last: None })
    }

    /// In a browser, in a tab's own place.
    #[cfg(all(target_arch = "wasm32", feature = "window"))]
    pub fn of_tab() -> Self {
        let file = format!("{SHELF}{:.0}-{:.0}", js_sys::Date::now(), 1e6 * js_sys::Math::random());
        Self { file: file.into(), written: None, last: None }
    }

    /// To be called often: writes where there is something new and it is time.
    pub fn keep(&mut self, document: &Document) -> Result<(), KeepError> {
        let revision = document.history().revision();
        if !document.is_unsaved() {
            self.forget();
            return Ok(());
        }
        if self.written == Some(revision) || self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return Ok(());
        }
        let text = to_text(document)?;
        write(&self.file, &text)?;
        self.written = Some(revision);
        self.last = Some(Instant::now());
        Ok(())
    }

    /// Nothing is left to be recovered.
    pub fn forget(&mut self) {
        if self.written.take().is_some() {
            remove(&self.file);
        }
    }
}

#[cfg(all(target_arch = "wasm32", feature = "window"))]
fn write(file: &Path, text: &str) -> Result<(), KeepError> {
    let kept = crate::browser::shelf::keep(&file.display().to_string(), text);
    let full = "the browser keeps no more for this page, so nothing is recovered after a crash; save often";
    if kept { Ok(()) } else { Err(KeepError::Download(full.to_owned())) }
}

#[cfg(not(all(target_arch = "wasm32", feature = "window")))]
fn write(file: &Path, text: &str) -> Result<(), KeepError> {
    crate::keep::write_bytes(file, text.as_bytes())
}

/// What cannot be removed is offered again, which does no harm.
fn remove(file: &Path) {
    #[cfg(all(target_arch = "wasm32", feature = "window"))]
    crate::browser::shelf::forget(&file.display().to_string());
    #[cfg(not(all(target_arch = "wasm32", feature = "window")))]
    let _ = std::fs::remove_file(file);
}

/// A document as one text.
pub fn to_text(document: &Document) -> Result<String, KeepError> {
    let (kind, name) = source_name(&document.character().source);
    let mut text = format!("{HEADER}\n{kind} {name}\n");
    text.push_str(document.text());
    for map in document.map_files()? {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{MAP}{}", map.to_text()));
    }
    if !document.drawn().is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{DRAWN}{}", crate::drawn::to_text(document.drawn())));
    }
    Ok(text)
}

/// What a crash has left.
#[derive(Clone, Debug)]
pub struct Left {
    /// The recovery file.
    pub file: PathBuf,
    /// The character it belongs to.
    pub source: Source,
    recipe: String,
    maps: Vec<String>,
    drawn: Option<String>,
}

/// Reads the text of a recovery file; `None` where it is none.
pub fn parse(file: &Path, text: &str) -> Option<Left> {
    let rest = text.strip_prefix(HEADER)?.strip_prefix('\n')?;
    let (source, rest) = rest.split_once('\n')?;
    let (kind, name) = source.split_once(' ')?;
    let source = named_source(kind, name, Vec::new())?;
    let (rest, drawn) = rest.split_once(DRAWN).map_or((rest, None), |(rest, drawn)| (rest, Some(drawn.to_owned())));
    let mut parts = rest.split(MAP);
    let recipe = parts.next()?.to_owned();
    Some(Left { file: file.to_owned(), source, recipe, maps: parts.map(str::to_owned).collect(), drawn })
}

/// What crashes have left in a folder, newest first.
pub fn left(folder: &Path) -> Vec<Left> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(std::time::SystemTime, Left)> = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u32>().ok());
        let is_recovery = path.extension().is_some_and(|extension| extension == "recovery");
        let Some(number) = number.filter(|_| is_recovery) else { continue };
        if number == std::process::id() || is_running(number) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let when = entry.metadata().and_then(|data| data.modified()).unwrap_or(std::time::UNIX_EPOCH);
        found.extend(parse(&path, &text).map(|left| (when, left)));
    }
    found.sort_by_key(|(when, _)| std::cmp::Reverse(*when));
    found.into_iter().map(|(_, left)| left).collect()
}

/// What tabs have left in this browser, newest first.
#[cfg(all(target_arch = "wasm32", feature = "window"))]
pub fn left_by_tabs() -> Vec<Left> {
    let keys = crate::browser::shelf::keys(SHELF).into_iter();
    keys.filter_map(|key| parse(Path::new(&key), &crate::browser::shelf::text(&key)?)).collect()
}

/// Whether a process of that number runs; where the system does not tell, it does not.
fn is_running(number: u32) -> bool {
    cfg!(target_os = "linux") && Path::new("/proc").join(number.to_string()).exists()
}

impl Left {
    /// The document again, on its character.
    pub fn restore(&self) -> Result<Document, KeepError> {
        self.restore_on(Character::reopen(&self.source)?)
    }

    /// The document again, on a character that is there already.
    pub fn restore_on(&self, character: Arc<Character>) -> Result<Document, KeepError> {
        let maps = self.maps.iter().map(|text| MapFile::from_text("recovery", text)).collect::<Result<Vec<_>, _>>()?;
        let file = self.file.display().to_string();
        let mut document = Document::new(character.clone());
        let with = Document::with_recipe(character, &self.recipe, &maps);
        let told = |error: ChangeError| KeepError::Change { file: file.clone(), source: error.into() };
        let mut with = with.map_err(told)?;
        if let Some(text) = &self.drawn {
            with.take_drawn(text).map_err(told)?;
        }
        document.adopt_all("Recover", &with);
        Ok(document)
    }

    /// It is not wanted.
    pub fn discard(&self) {
        remove(&self.file);
    }
}
