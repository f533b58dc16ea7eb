//! Files that are saved: the recipe and the maps painted for it, swapped together or not at all.

use crate::character::{Character, OpenError};
use crate::document::{ChangeError, Document};
use sinew::RecipeFile;
use sinew::recipe::Place;
#[cfg(not(target_arch = "wasm32"))]
use sinew_files::{Existing, FileSet, write_file};
use sinew_files::{FileError, Stopped};
use sinew_gltf::map_file::{MapFile, MapFileError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why nothing was saved or opened.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file cannot be read.
    #[error("{file}: cannot be read ({source}); check the path")]
    Read {
        /// The file.
        file: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The disk refuses what is written.
    #[error("{file}: cannot be written ({source}); check the folder and the free space")]
    Write {
        /// The file.
        file: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The recipe or a map does not fit.
    #[error("{file}: {source}")]
    Change {
        /// The recipe.
        file: String,
        /// Why.
        source: Box<ChangeError>,
    },
    /// A map cannot be written.
    #[error(transparent)]
    Map(#[from] MapFileError),
    /// The character cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The browser refuses a download.
    #[error("{0}")]
    Download(String),
    /// A map file of somebody else lies where one would be written.
    #[error("{file}: already exists and belongs to no map of this recipe; save under another name")]
    Foreign {
        /// The file.
        file: String,
    },
}

/// A file that could not be written.
#[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "a browser's tab writes no files"))]
pub(crate) fn stopped(path: &Path) -> impl Fn(Stopped<std::io::Error>) -> KeepError {
    let file = path.display().to_string();
    move |stopped| match stopped {
        Stopped::File(error) => KeepError::File(error),
        Stopped::Source(source) => KeepError::Write { file: file.clone(), source },
    }
}

/// Extension of recipes.
pub const EXTENSION: &str = ".sinew.toml";

/// What the extension of recipes becomes for what was drawn.
const DRAWN: &str = ".strokes.json";

/// What it becomes for clips that were made by hand, as the command takes them.
pub const TAKES: &str = ".takes.glb";

/// A word as shells read it.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Where clips made by hand lie beside a recipe.
fn takes_beside(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}{TAKES}", stem(path)))
}

/// Where what was drawn lies beside a recipe.
fn drawn_beside(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}{DRAWN}", stem(path)))
}

/// Name of a recipe's file without its extension.
fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(EXTENSION).or_else(|| name.strip_suffix(".toml")).unwrap_or(&name).to_owned()
}

/// The name that a map's file has beside a recipe.
fn map_name(stem: &str, map: &MapFile) -> String {
    format!("{stem}.{}.{}.{}.map.json", map.name(), map.node(), map.primitive())
}

impl Document {
    /// Names the map files in the recipe as they will lie beside it.
    fn name_maps(&mut self, stem: &str) -> Result<Vec<(String, MapFile)>, KeepError> {
        let files: Vec<(String, MapFile)> =
            self.map_files()?.into_iter().map(|map| (map_name(stem, &map), map)).collect();
        let named: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let held: Vec<&str> = self.recipe().maps().iter().map(String::as_str).collect();
        if named != held {
            let outcome = self.edit("Name map files", None, |recipe| match named.is_empty() {
                true => recipe.unset(Place::Maps),
                false => recipe.set(Place::Maps, named.as_slice()),
            });
            outcome.map_err(|error| KeepError::Change { file: format!("{stem}{EXTENSION}"), source: error.into() })?;
        }
        Ok(files)
    }

    /// Hands the recipe out as a download, with its maps and strokes as one archive. Gives its name.
    #[cfg(target_arch = "wasm32")]
    pub fn save(&mut self, path: &Path) -> Result<Vec<PathBuf>, KeepError> {
        let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let maps = self.name_maps(&stem(path))?.into_iter().map(|(name, map)| (name, map.to_text().into_bytes()));
        let drawn = (!self.drawn().is_empty())
            .then(|| (name(&drawn_beside(path)), crate::drawn::to_text(self.drawn()).into_bytes()));
        let takes = self.takes()?.map(|bytes| (name(&takes_beside(path)), bytes));
        let recipe = (name(path), self.text().as_bytes().to_vec());
        let files: Vec<_> = std::iter::once(recipe).chain(maps).chain(drawn).chain(takes).collect();
        let written = match &files[..] {
            [(_, bytes)] => {
                write_bytes(path, bytes)?;
                path.to_owned()
            }
            _ => {
                let large = || KeepError::Download(format!("{}: is too large for an archive", path.display()));
                let archive = path.with_file_name(format!("{}.zip", stem(path)));
                write_bytes(&archive, &crate::stored_zip::write(&files).ok_or_else(large)?)?;
                archive
            }
        };
        self.mark_saved();
        Ok(vec![written])
    }

    /// Saves recipe and maps; all of them, or none. Gives the files written.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn save(&mut self, path: &Path) -> Result<Vec<PathBuf>, KeepError> {
        let before: Vec<String> = self.recipe().maps().to_vec();
        let files = self.name_maps(&stem(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let ours = |name: &String| before.contains(name) || known_maps(path).contains(name);
        let mut set = FileSet::default();
        set.write(path, Existing::Replace, |out| out.write_all(self.text().as_bytes())).map_err(stopped(path))?;
        let mut written = vec![path.to_owned()];
        for (name, map) in &files {
            let target = folder.join(name);
            if target.exists() && !ours(name) {
                return Err(KeepError::Foreign { file: target.display().to_string() });
            }
            set.write(&target, Existing::Replace, |out| out.write_all(map.to_text().as_bytes()))
                .map_err(stopped(&target))?;
            written.push(target);
        }
        let strokes = drawn_beside(path);
        // Of a recipe whose strokes were all removed the file says so.
        if !self.drawn().is_empty() || strokes.exists() {
            let text = crate::drawn::to_text(self.drawn());
            set.write(&strokes, Existing::Replace, |out| out.write_all(text.as_bytes())).map_err(stopped(&strokes))?;
            written.push(strokes);
        }
        if let Some(bytes) = self.takes()? {
            let takes = takes_beside(path);
            set.write(&takes, Existing::Replace, |out| out.write_all(&bytes)).map_err(stopped(&takes))?;
            written.push(takes);
        }
        set.commit()?;
        self.mark_saved();
        Ok(written)
    }

    /// Opens a recipe with the maps beside it, on a character.
    pub fn open_recipe(character: Arc<Character>, path: &Path) -> Result<Self, KeepError> {
        let text = read(path)?;
        let file = path.display().to_string();
        let parsed = RecipeFile::parse(&text)
            .map_err(|error| KeepError::Change { file: file.clone(), source: Box::new(error.into()) })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut maps = Vec::new();
        for name in parsed.maps() {
            maps.push(MapFile::from_text(name, &read(&folder.join(name))?)?);
        }
        let told = |error: ChangeError| KeepError::Change { file: file.clone(), source: error.into() };
        let mut document = Self::with_recipe(character, &text, &maps).map_err(told)?;
        let strokes = drawn_beside(path);
        if strokes.exists() {
            document.take_drawn(&read(&strokes)?).map_err(told)?;
        }
        Ok(document)
    }

    /// The command line that gives the file the window exports.
    pub fn command(&self, recipe: &Path, output: &Path) -> String {
        format!("sinew bake {} -o {}", self.subject(recipe), quoted(&output.display().to_string()))
    }

    /// The character with its clips and its recipe, as commands take them.
    pub(crate) fn subject(&self, recipe: &Path) -> String {
        let quoted_path = |path: &Path| quoted(&path.display().to_string());
        let takes = match self.drawn().takes.is_empty() {
            true => String::new(),
            false => format!(" --animations {}", quoted_path(&takes_beside(recipe))),
        };
        format!("{}{takes} --recipe {}", quoted(&self.character().source.argument()), quoted_path(recipe))
    }

    /// Clips made by hand, as a file.
    fn takes(&self) -> Result<Option<Vec<u8>>, KeepError> {
        crate::drawn::takes_file(self.character(), self.drawn()).map_err(|fault| {
            let file = self.character().source.argument();
            KeepError::Change { file, source: Box::new(ChangeError::Drawn(fault)) }
        })
    }

    /// Where the recipe goes unless people say otherwise.
    pub fn default_path(&self) -> PathBuf {
        let folder = self.character().source.folder().unwrap_or(Path::new(""));
        folder.join(format!("{}{EXTENSION}", self.character().source.title()))
    }
}

/// A folder of the studio's own, for recovery and recent files; none where the system has no place for it.
pub fn state_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))
    };
    base.map(|base| base.join("sinew-studio"))
}

/// Hands a file out as a download.
#[cfg(target_arch = "wasm32")]
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), KeepError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    #[cfg(feature = "window")]
    return crate::browser::files::download(&name, bytes).map_err(KeepError::Download);
    #[cfg(not(feature = "window"))]
    Err(KeepError::Download(format!("{name}: there is no page to download it from ({} bytes)", bytes.len())))
}

/// Writes a file whole or not at all.
#[cfg(not(target_arch = "wasm32"))]
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), KeepError> {
    write_file(path, Existing::Replace, |out| out.write_all(bytes), |_| Ok(())).map_err(stopped(path))
}

/// Maps that the recipe on disk names already.
#[cfg(not(target_arch = "wasm32"))]
fn known_maps(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    RecipeFile::parse(&text).map(|recipe| recipe.maps().to_vec()).unwrap_or_default()
}

fn read(path: &Path) -> Result<String, KeepError> {
    let limits = sinew_gltf::Limits::default();
    limits.read_text(path).map_err(|source| KeepError::Read { file: path.display().to_string(), source })
}
