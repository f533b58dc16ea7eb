//! Where data goes: stdout, or files that appear whole or not at all. What Sinew itself would read is read again
//! before it takes its name.

use crate::fault::Fault;
use sinew_files::{Existing, FileError, FileSet, NewFolder, Refusal, write_file, write_file_at};
use sinew_gltf::{Document, RawAsset, WriteError};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

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

fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

impl Destination {
    /// `-` is stdout.
    pub fn new(path: &Path, force: bool) -> Self {
        if path == Path::new("-") { Self::Stdout } else { Self::File { path: path.to_owned(), force } }
    }

    /// Refuses early what writing would refuse late.
    pub fn check(&self) -> Result<(), Fault> {
        match self {
            Self::Stdout => Ok(()),
            Self::File { path, force } => sinew_files::check(path, existing(*force)).map_err(unwritable),
        }
    }

    /// Writes data: to stdout, or to a file that then takes its place.
    pub fn write<E: Into<Stopped>>(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), Fault> {
        self.write_and_look(write, |_| Ok(()))
    }

    /// The same, with a look at what lies on the disk before it takes its place.
    fn write_and_look<E: Into<Stopped>>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
        look: impl FnOnce(&mut File) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let write = |out: &mut dyn Write| write(out).map_err(E::into);
        match self {
            Self::Stdout => {
                let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
                let written = write(&mut out).and_then(|()| Ok(out.flush()?));
                written.map_err(|stopped| {
                    // What did not go out is not tried again.
                    let _ = out.into_parts();
                    stopped.or_in_file(stdout_fault)
                })
            }
            Self::File { path, force } => {
                let look = |file: Option<&mut File>| Ok(file.map_or(Ok(()), look)?);
                write_file(path, existing(*force), write, look).map_err(|stopped| told(path, stopped))
            }
        }
    }

    /// As [`Destination::write`], for programs that insist on a path of their own to write to.
    pub fn write_at(&self, write: impl FnOnce(&Path) -> Result<(), Fault>) -> Result<(), Fault> {
        match self {
            Self::File { path, force } if !path.exists() || path.is_file() => {
                let written = write_file_at(path, existing(*force), |path| write(path).map_err(Stopped::Fault));
                written.map_err(|stopped| told(path, stopped))
            }
            _ => Err(Fault::Usage("this format can only be written to a file; name one with -o".into())),
        }
    }

    /// Writes a document, made from `source`, as GLB, once it has been read again; tells its length.
    pub fn write_document(&self, document: &Document, source: &Path) -> Result<u64, Fault> {
        self.write_read_as(ReadAs::Character, document, source)
    }

    /// The same, for documents that need not be characters.
    pub fn write_read_as(&self, reading: ReadAs, document: &Document, source: &Path) -> Result<u64, Fault> {
        let is_file = match self {
            Self::Stdout => false,
            Self::File { path, .. } => path.is_file() || !path.exists(),
        };
        if !is_file {
            // What has gone out cannot be taken back.
            let bytes = document.to_glb().map_err(|error| refused(source)(error).or_in_file(stdout_fault))?;
            readable(reading, &bytes, document, source)?;
            self.write(|out| out.write_all(&bytes))?;
            return Ok(bytes.len() as u64);
        }
        let mut length = 0;
        let look = |file: &mut File| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(|error| Fault::in_file(self, error))?;
            length = bytes.len() as u64;
            readable(reading, &bytes, document, source)
        };
        self.write_and_look(|out| document.write_glb(out).map_err(refused(source)), look)?;
        Ok(length)
    }
}

fn refused(source: &Path) -> impl Fn(WriteError) -> Stopped {
    move |error| match error {
        WriteError::Io(error) => Stopped::Io(error),
        other => Stopped::Fault(Fault::in_file(source.display(), other)),
    }
}

/// What a written document must be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    /// A checked character.
    Character,
    /// A file, whatever it holds.
    File,
}

impl ReadAs {
    /// What it is read as now.
    pub fn of(document: &Document) -> Self {
        match RawAsset::from_document("", document.clone()).and_then(RawAsset::check) {
            Ok(_) => Self::Character,
            Err(_) => Self::File,
        }
    }
}

/// A file as it was written is read, and is what was to be written.
fn readable(reading: ReadAs, bytes: &[u8], document: &Document, source: &Path) -> Result<(), Fault> {
    let unread = |why: &dyn std::fmt::Display| {
        let fault = "nothing was written, because the result could not be read again";
        Fault::in_file(source.display(), format!("{fault}: {why}"))
    };
    let again = Document::from_slice("the result", bytes, None).map_err(|error| unread(&error))?;
    if document.is_packed() && (again.json != document.json || again.buffers.first() != document.buffers.first()) {
        return Err(unread(&"it is not what was to be written; check the disk"));
    }
    if reading == ReadAs::File {
        return Ok(());
    }
    RawAsset::from_document("the result", again).and_then(RawAsset::check).map(drop).map_err(|error| unread(&error))
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

/// Files of a command that take their names together.
#[derive(Default)]
pub struct Outputs(FileSet);

impl Outputs {
    /// Writes one of them.
    pub fn write<E: Into<Stopped>>(
        &mut self,
        path: &Path,
        force: bool,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), Fault> {
        let written = self.0.write(path, existing(force), |out| write(out).map_err(E::into));
        written.map_err(|stopped| told(path, stopped))
    }

    /// Writes a document, made from `source`, as GLB, and reads it again; tells its length.
    pub fn write_document(
        &mut self,
        path: &Path,
        force: bool,
        document: &Document,
        source: &Path,
    ) -> Result<u64, Fault> {
        self.write(path, force, |out| document.write_glb(out).map_err(refused(source)))?;
        let bytes = self.read_last(path)?;
        readable(ReadAs::Character, &bytes, document, source)?;
        Ok(bytes.len() as u64)
    }

    /// Writes a text, and gives it back as it lies on the disk.
    pub fn write_text(&mut self, path: &Path, force: bool, text: &str) -> Result<String, Fault> {
        self.write(path, force, |out| out.write_all(text.as_bytes()))?;
        String::from_utf8(self.read_last(path)?).map_err(|error| Fault::in_file(path.display(), error))
    }

    fn read_last(&self, path: &Path) -> Result<Vec<u8>, Fault> {
        self.0.read_last().map_err(|error| Fault::in_file(path.display(), error))
    }

    /// Lets them take their names.
    pub fn commit(self) -> Result<(), Fault> {
        self.0.commit().map_err(unwritable)
    }
}

/// Refuses a folder that is there already: replacing it could take more than this command put into it.
pub fn check_new_folder(path: &Path) -> Result<(), Fault> {
    NewFolder::check(path).map_err(|error| match error.refusal {
        Refusal::Exists => Fault::in_file(path.display(), "already exists; choose a new folder"),
        _ => unwritable(error),
    })
}

/// Makes a folder that appears whole or not at all: `write` fills a temporary one that then takes its place.
pub fn to_new_folder(path: &Path, write: impl FnOnce(&Path) -> Result<(), Fault>) -> Result<(), Fault> {
    check_new_folder(path)?;
    let made = NewFolder::new(path).map_err(unwritable)?;
    write(made.inside())?;
    made.commit().map_err(unwritable)
}

fn told(path: &Path, stopped: sinew_files::Stopped<Stopped>) -> Fault {
    let in_file = |error: io::Error| unwritable(FileError { path: path.to_owned(), refusal: Refusal::Io(error) });
    match stopped {
        sinew_files::Stopped::File(error) => unwritable(error),
        sinew_files::Stopped::Source(stopped) => stopped.or_in_file(in_file),
    }
}

fn unwritable(error: FileError) -> Fault {
    let path = error.path.display();
    match error.refusal {
        Refusal::Exists => Fault::in_file(path, "already exists; choose another name, or use --force to overwrite it"),
        refusal => Fault::in_file(path, refusal),
    }
}
