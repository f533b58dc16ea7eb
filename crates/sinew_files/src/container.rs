//! A folder beside the targets that holds what is unfinished, locked by the program that made it.
//!
//! ```text
//! .sinew-0123456789abcdef.part/
//!     lock       locked as long as the program lives
//!     0.new      the first new file, until it takes its name
//!     0.old      what has that name, by a second name
//!     journal    while it is there, the swap has not happened
//! ```

use crate::disk;
use crate::staged::{PART, free_name};
use crate::unfinished::{Gate, Unfinished};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

const LOCK: &str = "lock";

/// Attempts until nobody takes a new one for dead.
const ATTEMPTS: usize = 100;

/// A folder for what is unfinished, which goes with all that is in it.
#[derive(Debug)]
pub(crate) struct Container {
    made: Option<Unfinished>,
    path: PathBuf,
    _lock: File,
}

impl Container {
    pub fn new(folder: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let path = free_name(folder, PART);
            let mut gate = Gate::enter();
            match disk::create_folder(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let made = gate.note(&path);
            // Before it is locked, another program may take it for dead and remove it.
            match disk::create_new(&path.join(LOCK)) {
                Ok(lock) if !matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)) && path.exists() => {
                    return Ok(Self { made: Some(made), path, _lock: lock });
                }
                outcome => {
                    let _ = std::fs::remove_dir_all(&path);
                    made.done(&mut gate);
                    match outcome {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => {}
                    }
                }
            }
        }
        Err(io::Error::other("no name is free"))
    }

    /// Where something in it lies.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it where it is, for the next program.
    pub fn leave(mut self, gate: &mut Gate) {
        if let Some(made) = self.made.take() {
            made.done(gate);
        }
    }

    /// Removes it, inside the gate.
    pub fn discard(mut self, gate: &mut Gate) {
        let _ = std::fs::remove_dir_all(&self.path);
        if let Some(made) = self.made.take() {
            made.done(gate);
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            let mut gate = Gate::enter();
            let _ = std::fs::remove_dir_all(&self.path);
            made.done(&mut gate);
        }
    }
}

/// The lock of a container that nobody holds; `None` for one that lives.
pub(crate) fn dead_lock(container: &Path) -> Option<Option<File>> {
    match File::open(container.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok().then_some(Some(lock)),
        Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some(None),
    }
}
