//! A file that is written whole, and files that are written one after the other and take their names together.

use crate::container::Container;
use crate::dead::sweep;
use crate::disk::{self, Pen};
use crate::error::FileError;
use crate::staged::{Staged, like};
use crate::swap::{self, Entry, Identity, new_file};
use crate::target::{Existing, Target, folder};
use crate::unfinished::Gate;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// Files that are written one after the other and take their names together, or, if this is dropped before, not at all.
///
/// ```
/// use sinew_files::{Existing, FileError, FileSet};
/// # fn main() -> Result<(), FileError> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (mesh, cache) = (folder.path().join("a.obj"), folder.path().join("a.pc2"));
/// let mut files = FileSet::default();
/// files.write(&mesh, Existing::Keep, |out| Ok::<_, std::io::Error>(out.write_all(b"v 0 0 0\n")?)).unwrap();
/// files.write(&cache, Existing::Keep, |out| Ok::<_, std::io::Error>(out.write_all(b"POINTCACHE2\0")?)).unwrap();
/// assert!(!mesh.exists());
/// files.commit()?;
/// assert!(mesh.exists() && cache.exists());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct FileSet {
    rooms: Vec<Room>,
    last: Option<PathBuf>,
}

/// The files of one folder that wait for their names.
#[derive(Debug)]
struct Room {
    folder: PathBuf,
    container: Container,
    entries: Vec<Entry>,
    /// As the caller named them.
    paths: Vec<PathBuf>,
}

/// Why a file could not be written: the system, or what was to be written to it.
#[derive(Debug)]
pub enum Stopped<E> {
    /// The file.
    File(FileError),
    /// What was to be written.
    Source(E),
}

impl<E> Stopped<E> {
    fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        let at = FileError::at(path);
        move |error| Self::File(at(error))
    }
}

/// Writes one file, which is there whole afterwards or not at all. What is a device or a pipe gets it at once. `look`
/// is shown the bytes as they lie on the disk, or `None` where they are gone, before the file takes its name.
pub fn write_file<E>(
    path: &Path,
    existing: Existing,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    look: impl FnOnce(Option<&mut File>) -> Result<(), E>,
) -> Result<(), Stopped<E>> {
    let failed = Stopped::at(path);
    match Target::find(path, existing).map_err(Stopped::File)? {
        Target::Device(device) => {
            let mut device = File::options().write(true).open(device).map_err(failed)?;
            filled(&mut device, path, fill)?;
            look(None).map_err(Stopped::Source)
        }
        Target::File { path: target, old } => {
            sweep(folder(&target));
            let mut staged = Staged::new(folder(&target)).map_err(&failed)?;
            if let Some(old) = &old {
                like(&staged.file, old).map_err(&failed)?;
            }
            filled(&mut staged.file, path, fill)?;
            disk::sync(&staged.file).map_err(&failed)?;
            staged.file.rewind().map_err(&failed)?;
            look(Some(&mut staged.file)).map_err(Stopped::Source)?;
            settled(staged, &target, old.is_some()).map_err(failed)
        }
    }
}

/// As [`write_file`], for programs that insist on a path of their own to write to.
pub fn write_file_at<E>(
    path: &Path,
    existing: Existing,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), Stopped<E>> {
    let failed = Stopped::at(path);
    match Target::find(path, existing).map_err(Stopped::File)? {
        Target::Device(_) => Err(failed(io::Error::other("not a file"))),
        Target::File { path: target, old } => {
            sweep(folder(&target));
            let staged = Staged::named(folder(&target)).map_err(&failed)?;
            if let Some(old) = &old {
                like(&staged.file, old).map_err(&failed)?;
            }
            let named = staged.named.as_ref().map(|named| named.path().to_owned()).unwrap_or_default();
            fill(&named).map_err(Stopped::Source)?;
            disk::sync(&staged.file).map_err(&failed)?;
            settled(staged, &target, old.is_some()).map_err(failed)
        }
    }
}

fn settled(staged: Staged, target: &Path, replaces: bool) -> io::Result<()> {
    staged.settle(&mut Gate::enter(), target, replaces)?;
    disk::sync_folder(folder(target))
}

fn filled<E>(
    file: &mut File,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), Stopped<E>> {
    let mut out = BufWriter::with_capacity(1 << 16, Pen(file));
    if let Err(error) = fill(&mut out) {
        // What did not go out is not tried again.
        let _ = out.into_parts();
        return Err(Stopped::Source(error));
    }
    out.flush().map_err(Stopped::at(path))
}

impl FileSet {
    /// Writes a file. What is a device or a pipe gets it at once.
    pub fn write<E>(
        &mut self,
        path: &Path,
        existing: Existing,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), Stopped<E>> {
        let failed = Stopped::at(path);
        let (target, old) = match Target::find(path, existing).map_err(Stopped::File)? {
            Target::Device(device) => {
                self.last = None;
                return filled(&mut File::options().write(true).open(device).map_err(failed)?, path, fill);
            }
            Target::File { path, old } => (path, old),
        };
        let room = self.room(folder(&target)).map_err(&failed)?;
        let new = new_file(room.container.path(), room.entries.len());
        let mut file = disk::create_new(&new).map_err(&failed)?;
        if let Some(old) = &old {
            like(&file, old).map_err(&failed)?;
        }
        filled(&mut file, path, fill)?;
        disk::sync(&file).map_err(&failed)?;
        let new_is = Identity::of(&file.metadata().map_err(&failed)?);
        let target = target.file_name().map(OsStr::to_owned).unwrap_or_default();
        room.entries.push(Entry { target, replaces: old.is_some(), new: new_is });
        room.paths.push(path.to_owned());
        self.last = Some(new);
        Ok(())
    }

    fn room(&mut self, folder: &Path) -> io::Result<&mut Room> {
        let known = self.rooms.iter().position(|room| room.folder == folder);
        let index = match known {
            Some(index) => index,
            None => {
                sweep(folder);
                let container = Container::new(folder)?;
                let folder = folder.to_owned();
                self.rooms.push(Room { folder, container, entries: Vec::new(), paths: Vec::new() });
                self.rooms.len() - 1
            }
        };
        Ok(&mut self.rooms[index])
    }

    /// The bytes of the file written last, as they lie on the disk; none of a device.
    pub fn read_last(&self) -> io::Result<Vec<u8>> {
        self.last.as_ref().map_or_else(|| Ok(Vec::new()), std::fs::read)
    }

    /// Lets all of them take their names. After an error none has: old files are where they were.
    pub fn commit(self) -> Result<(), FileError> {
        let mut gate = Gate::enter();
        let mut outcome = Ok(());
        let mut made = 0;
        for room in &self.rooms {
            if let Err((index, error)) = swap::make(&room.container, &room.entries) {
                outcome = Err(FileError::at(&room.paths[index])(error));
                break;
            }
            made += 1;
        }
        let mut finished = 0;
        while outcome.is_ok() && finished < made {
            let room = &self.rooms[finished];
            outcome = swap::finish(&room.container, &room.entries).map_err(FileError::at(&room.paths[0]));
            finished += 1;
        }
        if outcome.is_err() {
            let undone = self.rooms[finished..made].iter();
            undone.for_each(|room| swap::undo(room.container.path(), &room.entries));
        }
        for room in self.rooms {
            // What could not be put back is left for the next program to try.
            let is_done = !swap::is_open(room.container.path());
            if is_done { room.container.discard(&mut gate) } else { room.container.leave(&mut gate) }
        }
        outcome
    }
}
