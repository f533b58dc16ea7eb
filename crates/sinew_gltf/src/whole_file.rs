//! Files that appear whole or not at all.

use sinew_files::{Existing, Stopped, write_file};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file, replacing one of that name.
pub(crate) fn write_whole<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    write_file(path, Existing::Replace, write, |_| Ok(())).map_err(|stopped| match stopped {
        Stopped::File(error) => E::from(error.into()),
        Stopped::Source(error) => error,
    })
}
