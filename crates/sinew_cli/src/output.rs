//! Where data goes: stdout, or a file that appears whole or not at all.

use crate::fault::Fault;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The temporary file or folder being written, for an interrupt to remove.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes the file or folder being written, if any.
pub fn discard_unfinished() {
    if let Some(path) = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

/// Writes data to stdout.
pub fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Fault> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(stdout_fault)
}

/// Writes text to stdout, its colours only where a terminal shows them.
pub fn text_to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Fault> {
    let mut text = Vec::new();
    let mut out = anstream::stdout().lock();
    write(&mut text).and_then(|()| out.write_all(&text)).and_then(|()| out.flush()).map_err(stdout_fault)
}

fn stdout_fault(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Fault::BrokenPipe,
        _ => Fault::Failed(format!("stdout: cannot be written ({error})")),
    }
}

/// Where a command's result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// stdout.
    Stdout,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// Whether it may replace what is there.
        force: bool,
    },
}

impl Destination {
    /// `-` is stdout.
    pub fn new(path: &Path, force: bool) -> Self {
        if path == Path::new("-") { Self::Stdout } else { Self::File { path: path.to_owned(), force } }
    }

    /// Refuses early what writing would refuse late.
    pub fn check(&self) -> Result<(), Fault> {
        let Self::File { path, force } = self else { return Ok(()) };
        if path.is_dir() {
            return Err(Fault::in_file(path.display(), "is a folder; give the name of a file in it"));
        }
        if path.is_file() && !force {
            return Err(exists(path));
        }
        match folder(path) {
            folder if folder.is_dir() => Ok(()),
            folder => Err(Fault::in_file(path.display(), format!("there is no folder {}; make it", folder.display()))),
        }
    }

    /// Writes data: to stdout, or to a temporary file in the target's folder that then takes its place.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Fault> {
        self.check()?;
        match self {
            Self::Stdout => to_stdout(write),
            Self::File { path, force } => to_file(path, *force, write),
        }
    }
}

/// Refuses a folder that is there already: replacing it could take more than this command put into it.
pub fn check_new_folder(path: &Path) -> Result<(), Fault> {
    if path.exists() {
        return Err(Fault::in_file(path.display(), "exists already; give the name of a new folder"));
    }
    match folder(path) {
        parent if parent.is_dir() => Ok(()),
        parent => Err(Fault::in_file(path.display(), format!("there is no folder {}; make it", parent.display()))),
    }
}

/// Makes a folder that appears whole or not at all: `write` fills a temporary one that then takes its place.
pub fn to_new_folder(path: &Path, write: impl FnOnce(&Path) -> Result<(), Fault>) -> Result<(), Fault> {
    check_new_folder(path)?;
    let unwritable = |error: io::Error| {
        let remedy = "check the folder's permissions and the space left";
        Fault::in_file(path.display(), format!("cannot be written ({error}); {remedy}"))
    };
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix(".sinew-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    let unfinished = builder.tempdir_in(folder(path)).map_err(unwritable)?;
    *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = Some(unfinished.path().to_owned());
    let finished = write(unfinished.path()).and_then(|()| {
        let made = unfinished.keep();
        std::fs::rename(&made, path).map_err(|error| {
            let _ = std::fs::remove_dir_all(&made);
            unwritable(error)
        })
    });
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).take();
    finished
}

fn exists(path: &Path) -> Fault {
    Fault::in_file(path.display(), "exists already; give another name, or --force to replace it")
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn to_file(path: &Path, force: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Fault> {
    let unwritable = |error: io::Error| {
        let remedy = "check the folder's permissions and the space left";
        Fault::in_file(path.display(), format!("cannot be written ({error}); {remedy}"))
    };
    // A link is kept and its target replaced; a device or pipe is written to, never replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        let mut out = BufWriter::new(std::fs::File::options().write(true).open(path).map_err(unwritable)?);
        return write(&mut out).and_then(|()| out.flush()).map_err(unwritable);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sinew-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file: what the user's mask allows, instead of a temporary file's 0600.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder(path)).map_err(unwritable)?;
    *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = Some(file.path().to_owned());
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let written = write(&mut out).and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error));
    let finished = written.map_err(unwritable).and_then(|file| {
        let moved = if force { file.persist(path) } else { file.persist_noclobber(path) };
        moved.map(drop).map_err(|refused| match refused.error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => unwritable(refused.error),
        })
    });
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).take();
    finished
}
