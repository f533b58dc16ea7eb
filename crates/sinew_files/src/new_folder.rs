//! A folder that appears whole or not at all.

use crate::container::Container;
use crate::dead::sweep;
use crate::disk;
use crate::error::{FileError, Refusal};
use crate::target::folder;
use crate::unfinished::Gate;
use std::path::{Path, PathBuf};

/// A folder that is filled elsewhere and takes its name at last; dropped before, it goes with all that is in it.
#[derive(Debug)]
pub struct NewFolder {
    path: PathBuf,
    container: Container,
    inside: PathBuf,
}

impl NewFolder {
    /// Refuses what is there already: replacing a folder could take more than was put into it.
    pub fn check(path: &Path) -> Result<(), FileError> {
        let refuse = |refusal| Err(FileError { path: path.to_owned(), refusal });
        if path.symlink_metadata().is_ok() {
            return refuse(Refusal::Exists);
        }
        match folder(path) {
            parent if parent.is_dir() => Ok(()),
            parent => refuse(Refusal::NoFolder(parent.to_owned())),
        }
    }

    /// An empty folder that is to be called `path`.
    pub fn new(path: &Path) -> Result<Self, FileError> {
        Self::check(path)?;
        sweep(folder(path));
        let container = Container::new(folder(path)).map_err(FileError::at(path))?;
        let inside = container.join("made");
        disk::create_folder(&inside).map_err(FileError::at(path))?;
        Ok(Self { path: path.to_owned(), container, inside })
    }

    /// Where to put what belongs into it.
    pub fn inside(&self) -> &Path {
        &self.inside
    }

    /// Lets it take its name.
    pub fn commit(self) -> Result<(), FileError> {
        let mut gate = Gate::enter();
        let renamed = disk::sync_folder(&self.inside).and_then(|()| disk::rename_to_free(&self.inside, &self.path));
        self.container.discard(&mut gate);
        renamed.and_then(|()| disk::sync_folder(folder(&self.path))).map_err(FileError::at(&self.path))
    }
}
