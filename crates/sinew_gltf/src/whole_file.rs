//! Files that appear whole or not at all: a temporary file in the same folder takes the place of what was there.

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file, replacing one of that name.
pub(crate) fn write_whole<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file: what the user's mask allows, instead of a temporary file's 0600.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    let mut out = BufWriter::with_capacity(1 << 16, file.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    file.persist(path).map_err(|refused| refused.error)?;
    Ok(())
}
