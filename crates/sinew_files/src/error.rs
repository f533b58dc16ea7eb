//! Why a file was not written.

use std::io;
use std::path::{Path, PathBuf};

/// A file that was not written, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {refusal}", path.display())]
pub struct FileError {
    /// The file, as the caller named it.
    pub path: PathBuf,
    /// Why.
    pub refusal: Refusal,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is one already, and it was not to be replaced.
    #[error("already exists; choose another name")]
    Exists,
    /// A folder is there.
    #[error("is a folder; name a file in it")]
    IsFolder,
    /// Its folder is not there.
    #[error("the folder {} does not exist; create it first", .0.display())]
    NoFolder(PathBuf),
    /// Nobody may write to the file that is there.
    #[error("is read-only; make it writable or choose another name")]
    ReadOnly,
    /// The file that is there has other names, which would keep the old contents.
    #[error("has {0} names (hard links), and the others would keep what it holds now; remove this one first")]
    Linked(u64),
    /// A symbolic link to nothing.
    #[error("is a link to a file that does not exist; remove the link or create that file")]
    Dangling,
    /// The system refused.
    #[error("cannot be written ({0}); check the folder's permissions and the free space")]
    Io(#[from] io::Error),
}

impl FileError {
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self {
            path: path.to_owned(),
            refusal: match error.kind() {
                io::ErrorKind::AlreadyExists => Refusal::Exists,
                _ => Refusal::Io(error),
            },
        }
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error.refusal {
            Refusal::Io(error) => error,
            Refusal::Exists => Self::new(io::ErrorKind::AlreadyExists, error),
            _ => Self::other(error),
        }
    }
}
