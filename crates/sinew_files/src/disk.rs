//! Operations on files, one function each: what may fail, and what tests let fail.

use crate::faults::{Fate, fate};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::Path;

/// Lets tests fail what comes next.
fn may_fail() -> io::Result<()> {
    match fate() {
        Fate::GoOn => Ok(()),
        Fate::Fail => Err(io::ErrorKind::StorageFull.into()),
    }
}

/// A new file under a name that is free.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    may_fail()?;
    File::options().read(true).write(true).create_new(true).open(path)
}

/// A new folder under a name that is free.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    may_fail()?;
    std::fs::create_dir(path)
}

/// A new file without a name in a folder, where the system has such files and can give them a name later.
pub(crate) fn create_unnamed(folder: &Path) -> io::Result<Option<File>> {
    may_fail()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).map(File::from);
        Ok(file.ok().filter(|file| descriptor(file).exists()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        Ok(None)
    }
}

/// Where the system keeps an open file.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Gives a file without a name one that is free.
#[cfg(target_os = "linux")]
pub(crate) fn name_it(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    may_fail()?;
    Ok(rustix::fs::linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn name_it(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A second name for a file, or a copy where the system has none.
pub(crate) fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    may_fail()?;
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => {
            std::fs::copy(from, to)?;
            File::open(to)?.sync_all()
        }
    }
}

/// Another name, in place of what has it.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    may_fail()?;
    std::fs::rename(from, to)
}

/// Another name, which must be free.
pub(crate) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    may_fail()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    may_fail()?;
    std::fs::remove_file(path)
}

pub(crate) fn set_permissions(file: &File, permissions: Permissions) -> io::Result<()> {
    may_fail()?;
    file.set_permissions(permissions)
}

/// What was written is on the disk afterwards.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    may_fail()?;
    file.sync_all()
}

/// The same for the names in a folder, where the system can do that.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    may_fail()?;
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

/// Writes to a file, all of it going through here.
pub(crate) struct Pen<'a>(pub &'a mut File);

impl Write for Pen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = may_fail() {
            // A disk is full in the middle.
            self.0.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        may_fail()?;
        self.0.flush()
    }
}
