//! Where data goes: stdout, or a file that appears whole or not at all.

use crate::fault::Fault;
use sinew_gltf::{Document, WriteError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The temporary files and folders being written, for an interrupt to remove.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the files and folders being written.
pub fn discard_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

/// Notes that a path is being written, as long as this lives.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
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
            return Err(Fault::in_file(path.display(), "is a folder; name a file in it"));
        }
        if path.is_file() && !force {
            return Err(exists(path));
        }
        match folder(path) {
            folder if folder.is_dir() => Ok(()),
            folder => Err(Fault::in_file(
                path.display(),
                format!("the folder {} does not exist; create it first", folder.display()),
            )),
        }
    }

    /// Writes data: to stdout, or to a temporary file in the target's folder that then takes its place.
    pub fn write<E: Into<Stopped>>(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), Fault> {
        self.check()?;
        match self {
            Self::Stdout => {
                let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
                let written = write(&mut out).map_err(E::into).and_then(|()| Ok(out.flush()?));
                written.map_err(|stopped| stopped.or_in_file(stdout_fault))
            }
            Self::File { path, force } => to_file(path, *force, write),
        }
    }

    /// As [`Destination::write`], for programs that insist on a path of their own to write to.
    pub fn write_at(&self, write: impl FnOnce(&Path) -> Result<(), Fault>) -> Result<(), Fault> {
        self.check()?;
        match self {
            Self::File { path, force } if !path.exists() || path.is_file() => {
                let path = &path.canonicalize().unwrap_or_else(|_| path.clone());
                replace(path, *force, |file| write(file.path()).map_err(Stopped::Fault))
            }
            _ => Err(Fault::Usage("this format can only be written to a file; name one with -o".into())),
        }
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdout => f.write_str("stdout"),
            Self::File { path, .. } => write!(f, "{}", path.display()),
        }
    }
}

/// Why writing ended early: because of the file, or of what was to be written to it.
pub enum Stopped {
    Io(io::Error),
    Fault(Fault),
}

impl Stopped {
    fn or_in_file(self, in_file: impl FnOnce(io::Error) -> Fault) -> Fault {
        match self {
            Self::Io(error) => in_file(error),
            Self::Fault(fault) => fault,
        }
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Destination {
    /// Writes a document, made from `source`, as GLB.
    pub fn write_document(&self, document: &Document, source: &Path) -> Result<(), Fault> {
        let mut refused = None;
        let written = self.write(|out| match document.write_glb(out) {
            Ok(()) => Ok(()),
            Err(WriteError::Io(error)) => Err(error),
            Err(other) => {
                let error = io::Error::other(other.to_string());
                refused = Some(other);
                Err(error)
            }
        });
        match refused {
            Some(error) => Err(Fault::in_file(source.display(), error)),
            None => written,
        }
    }
}

/// Refuses a folder that is there already: replacing it could take more than this command put into it.
pub fn check_new_folder(path: &Path) -> Result<(), Fault> {
    if path.exists() {
        return Err(Fault::in_file(path.display(), "already exists; choose a new folder"));
    }
    match folder(path) {
        parent if parent.is_dir() => Ok(()),
        parent => Err(Fault::in_file(
            path.display(),
            format!("the folder {} does not exist; create it first", parent.display()),
        )),
    }
}

/// Makes a folder that appears whole or not at all: `write` fills a temporary one that then takes its place.
pub fn to_new_folder(path: &Path, write: impl FnOnce(&Path) -> Result<(), Fault>) -> Result<(), Fault> {
    check_new_folder(path)?;
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix(".sinew-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    let unfinished = builder.tempdir_in(folder(path)).map_err(unwritable(path))?;
    let _noted = Unfinished::new(unfinished.path());
    write(unfinished.path()).and_then(|()| {
        let made = unfinished.keep();
        std::fs::rename(&made, path).map_err(|error| {
            let _ = std::fs::remove_dir_all(&made);
            unwritable(path)(error)
        })
    })
}

fn exists(path: &Path) -> Fault {
    Fault::in_file(path.display(), "already exists; choose another name, or use --force to overwrite it")
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn unwritable(path: &Path) -> impl Fn(io::Error) -> Fault {
    move |error| {
        let remedy = "check the folder's permissions and the free space";
        Fault::in_file(path.display(), format!("cannot be written ({error}); {remedy}"))
    }
}

fn to_file<E: Into<Stopped>>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), Fault> {
    let write_all = |file: &mut std::fs::File| -> Result<(), Stopped> {
        let mut out = BufWriter::with_capacity(1 << 16, file);
        write(&mut out).map_err(E::into)?;
        Ok(out.flush()?)
    };
    // A link is kept and its target replaced; a device or pipe is written to, never replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        let mut device = std::fs::File::options().write(true).open(path).map_err(unwritable(path))?;
        return write_all(&mut device).map_err(|stopped| stopped.or_in_file(unwritable(path)));
    }
    replace(path, force, |file| write_all(file.as_file_mut()))
}

/// Fills a temporary file beside `path` and gives it that name.
fn replace(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut tempfile::NamedTempFile) -> Result<(), Stopped>,
) -> Result<(), Fault> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sinew-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file: what the user's mask allows, instead of a temporary file's 0600.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder(path)).map_err(unwritable(path))?;
    let _noted = Unfinished::new(file.path());
    let filled = fill(&mut file).map_err(|stopped| stopped.or_in_file(unwritable(path)));
    filled.and_then(|()| {
        let moved = if force { file.persist(path) } else { file.persist_noclobber(path) };
        moved.map(drop).map_err(|refused| match refused.error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => unwritable(path)(refused.error),
        })
    })
}
