//! What programs that were killed left behind: names that nobody holds a lock on any more.

use crate::container::dead_lock;
use crate::staged::{PART, PREFIX};
use crate::swap;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Removes what is dead in a folder that is about to be written to, once in the life of this program. What cannot be
/// removed stays: it is no reason not to write.
pub(crate) fn sweep(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let Ok(folder) = folder.canonicalize() else { return };
    if !SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone()) {
        return;
    }
    let Ok(entries) = std::fs::read_dir(&folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(PART));
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if is_ours && kind.is_dir() {
            if let Some(_held) = dead_lock(&path) {
                swap::undo_dead(&path);
                if !swap::is_open(&path) {
                    let _ = std::fs::remove_dir_all(&path);
                }
            }
        } else if is_ours && kind.is_file() {
            let held = File::open(&path).ok().filter(|file| file.try_lock().is_ok());
            if held.is_some() {
                let _ = std::fs::remove_file(&path);
            }
        }
    }
}
