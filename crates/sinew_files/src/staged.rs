//! A file that is written and has not taken its name yet.

use crate::disk;
use crate::unfinished::{Gate, Unfinished};
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// Names of what is unfinished begin and end like this; between them stand sixteen hexadecimal digits.
pub(crate) const PREFIX: &str = ".sinew-";
pub(crate) const PART: &str = ".part";

/// Attempts at a name that nobody has.
const ATTEMPTS: usize = 100;

/// A number that nobody else has.
fn unique() -> String {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}

/// A path in a folder that nobody has.
pub(crate) fn free_name(folder: &Path, ending: &str) -> PathBuf {
    folder.join(format!("{PREFIX}{}{ending}", unique()))
}

/// A file that is written and has not taken its name yet. Without a name it goes with its handle.
#[derive(Debug)]
pub(crate) struct Staged {
    pub file: File,
    pub named: Option<Unfinished>,
}

impl Staged {
    /// Without a name if that can be.
    pub fn new(folder: &Path) -> io::Result<Self> {
        match disk::create_unnamed(folder)? {
            Some(file) => {
                // For the moment in which it has a temporary name.
                let _ = file.try_lock();
                Ok(Self { file, named: None })
            }
            None => Self::named(folder),
        }
    }

    /// Under a name, which a lock says is in use.
    pub fn named(folder: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let path = free_name(folder, PART);
            let mut gate = Gate::enter();
            let file = match disk::create_new(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            let named = gate.note(&path);
            drop(gate);
            // Before it was locked, another program may have held it for dead.
            if is_locked(&file) && path.exists() {
                return Ok(Self { file, named: Some(named) });
            }
            discard(named);
        }
        Err(io::Error::other("no name is free"))
    }

    /// Under a name at least for the moment before it takes its own: that name, or the one it has.
    fn under_a_name(&mut self, gate: &mut Gate, free: PathBuf) -> io::Result<PathBuf> {
        if let Some(named) = &self.named {
            return Ok(named.path().to_owned());
        }
        let named = gate.note(&free);
        match disk::name_it(&self.file, &free) {
            Ok(()) => {
                self.named = Some(named);
                Ok(free)
            }
            Err(error) => {
                named.done(gate);
                Err(error)
            }
        }
    }

    /// Gives it its name, in place of an old file or, without one, where nothing may be.
    pub fn settle(mut self, gate: &mut Gate, target: &Path, replaces: bool) -> io::Result<()> {
        if self.named.is_none() && !replaces {
            return disk::name_it(&self.file, target);
        }
        let free = free_name(crate::target::folder(target), PART);
        let outcome = self.under_a_name(gate, free).and_then(|path| match replaces {
            true => disk::rename(&path, target),
            false => disk::rename_to_free(&path, target),
        });
        if let Some(named) = self.named.take() {
            if outcome.is_err() {
                let _ = std::fs::remove_file(named.path());
            }
            named.done(gate);
        }
        outcome
    }
}

/// Gives a new file the permissions of the one it is to replace, and its owner where that is allowed.
pub(crate) fn like(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let mine = file.metadata()?;
        if (mine.uid(), mine.gid()) != (old.uid(), old.gid()) {
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
        disk::set_permissions(file, std::fs::Permissions::from_mode(old.mode() & 0o777))
    }
    #[cfg(not(unix))]
    {
        disk::set_permissions(file, old.permissions())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(named) = self.named.take() {
            discard(named);
        }
    }
}

fn discard(named: Unfinished) {
    let _ = std::fs::remove_file(named.path());
    named.done(&mut Gate::enter());
}

/// Where locks are not to be had nobody takes a file for dead.
fn is_locked(file: &File) -> bool {
    !matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}
