//! What is being written under a name, for an interrupt to remove.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while names are made or changed, so that an interrupt comes before or after.
static GATE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Nothing is interrupted while this lives.
pub(crate) struct Gate(MutexGuard<'static, Vec<PathBuf>>);

impl Gate {
    pub fn enter() -> Self {
        Self(GATE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a path is being written, as long as what is returned lives.
    pub fn note(&mut self, path: &Path) -> Unfinished {
        self.0.push(path.to_owned());
        Unfinished(path.to_owned())
    }
}

/// A note that a path is being written.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes the note back, inside the gate.
    pub fn done(self, gate: &mut Gate) {
        gate.0.retain(|path| *path != self.0);
    }
}

/// Removes the files and folders being written, and lets nobody begin or finish one: for a program that ends now.
pub fn discard_unfinished() {
    let mut gate = Gate::enter();
    for path in gate.0.drain(..) {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    std::mem::forget(gate);
}
