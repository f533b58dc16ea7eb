//! Where a file is to go, and what is there.

use crate::error::{FileError, Refusal};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// What to do with a file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it and refuse.
    Keep,
    /// Replace it.
    Replace,
}

/// Where a file is to go.
#[derive(Debug)]
pub(crate) enum Target {
    /// A name that is free, or has a file that is to be replaced; links are followed.
    File { path: PathBuf, old: Option<Metadata> },
    /// A device or a pipe, which is written to and never replaced.
    Device(PathBuf),
}

/// The folder a file lies in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses early what writing would refuse late.
pub fn check(path: &Path, existing: Existing) -> Result<(), FileError> {
    Target::find(path, existing).map(drop)
}

impl Target {
    pub fn find(path: &Path, existing: Existing) -> Result<Self, FileError> {
        let refuse = |refusal| FileError { path: path.to_owned(), refusal };
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match folder(path) {
                    folder if folder.is_dir() => Ok(Self::File { path: path.to_owned(), old: None }),
                    folder => Err(refuse(Refusal::NoFolder(folder.to_owned()))),
                };
            }
            Err(error) => return Err(refuse(error.into())),
        };
        if found.is_symlink() {
            return match path.canonicalize() {
                Ok(target) => Self::find(&target, existing).map_err(|error| refuse(error.refusal)),
                Err(_) => Err(refuse(Refusal::Dangling)),
            };
        }
        if found.is_dir() {
            return Err(refuse(Refusal::IsFolder));
        }
        if !found.is_file() {
            return Ok(Self::Device(path.to_owned()));
        }
        if existing == Existing::Keep {
            return Err(refuse(Refusal::Exists));
        }
        // A superuser may open what nobody may write to.
        if found.permissions().readonly() || File::options().write(true).open(path).is_err() {
            return Err(refuse(Refusal::ReadOnly));
        }
        match names(&found) {
            0 | 1 => Ok(Self::File { path: path.to_owned(), old: Some(found) }),
            several => Err(refuse(Refusal::Linked(several))),
        }
    }
}

/// How many names a file has.
fn names(file: &Metadata) -> u64 {
    #[cfg(unix)]
    {
        std::os::unix::fs::MetadataExt::nlink(file)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        1
    }
}
