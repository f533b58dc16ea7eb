//! Several files of a folder that take their names together.
//!
//! Before the first does, a journal in their container says what was there. Undoing puts back an old file only where
//! the new one is, and leaves alone what somebody has written since. Names in the journal are in hexadecimal and
//! without folders, so that it reaches nothing outside the folder it lies in.

use crate::container::Container;
use crate::disk;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

const JOURNAL: &str = "journal";
const FIRST_LINE: &str = "sinew swap 1";
const LAST_LINE: &str = "end";

/// A new file in a container and the name it takes.
#[derive(Debug)]
pub(crate) struct Entry {
    pub target: OsString,
    pub replaces: bool,
    pub new: Identity,
}

/// What a file is known by again, whatever its name: number in the file system, length and time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity([u128; 3]);

impl Identity {
    pub fn of(file: &Metadata) -> Self {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(file);
        #[cfg(not(unix))]
        let number = 0u64;
        let time = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self([number.into(), file.len().into(), time.map_or(0, |time| time.as_nanos())])
    }
}

/// Where the new file of an entry lies until it takes its name.
pub(crate) fn new_file(container: &Path, index: usize) -> PathBuf {
    container.join(format!("{index}.new"))
}

fn old_file(container: &Path, index: usize) -> PathBuf {
    container.join(format!("{index}.old"))
}

/// Lets the files of a container take their names in its folder, so that it can still be undone; after an error, told
/// with the file's number, everything is as it was.
pub(crate) fn make(container: &Container, entries: &[Entry]) -> Result<(), (usize, io::Error)> {
    let container = container.path();
    let folder = crate::target::folder(container);
    let mut at = 0;
    let outcome = (|| {
        for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.replaces) {
            at = index;
            disk::link_or_copy(&folder.join(&entry.target), &old_file(container, index))?;
        }
        let mut file = disk::create_new(&container.join(JOURNAL))?;
        let mut out = BufWriter::new(disk::Pen(&mut file));
        write_journal(entries, &mut out)?;
        out.flush()?;
        drop(out);
        disk::sync(&file)?;
        disk::sync_folder(container)?;
        disk::sync_folder(folder)?;
        for (index, entry) in entries.iter().enumerate() {
            at = index;
            let (new, target) = (new_file(container, index), folder.join(&entry.target));
            if entry.replaces { disk::rename(&new, &target)? } else { disk::rename_to_free(&new, &target)? }
        }
        disk::sync_folder(folder)
    })();
    outcome.map_err(|error| {
        undo(container, entries);
        (at, error)
    })
}

/// Makes a swap final; after an error it is undone.
pub(crate) fn finish(container: &Container, entries: &[Entry]) -> io::Result<()> {
    let container = container.path();
    disk::remove(&container.join(JOURNAL)).inspect_err(|_| undo(container, entries))?;
    let _ = disk::sync_folder(container);
    Ok(())
}

/// Whether a swap has neither been finished nor undone.
pub(crate) fn is_open(container: &Path) -> bool {
    container.join(JOURNAL).exists()
}

/// Undoes the swap of a program that was killed.
pub(crate) fn undo_dead(container: &Path) {
    let text = std::fs::read_to_string(container.join(JOURNAL)).unwrap_or_default();
    // One that does not end was not whole before the first file took its name.
    undo(container, &read_journal(&text).unwrap_or_default());
}

/// Puts back what was there; the journal stays where that fails.
pub(crate) fn undo(container: &Path, entries: &[Entry]) {
    let folder = crate::target::folder(container);
    let mut is_well = true;
    for (index, entry) in entries.iter().enumerate() {
        let target = folder.join(&entry.target);
        if target.symlink_metadata().is_ok_and(|found| Identity::of(&found) == entry.new) {
            let undone = match entry.replaces {
                true => disk::rename(&old_file(container, index), &target),
                false => disk::remove(&target),
            };
            is_well &= undone.is_ok();
        }
    }
    is_well &= disk::sync_folder(folder).is_ok();
    if is_well {
        let _ = std::fs::remove_file(container.join(JOURNAL));
    }
}

fn write_journal(entries: &[Entry], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{FIRST_LINE}")?;
    for Entry { target, replaces, new: Identity([number, length, time]) } in entries {
        writeln!(out, "{} {} {number} {length} {time}", hex(target)?, u8::from(*replaces))?;
    }
    writeln!(out, "{LAST_LINE}")
}

fn read_journal(text: &str) -> Option<Vec<Entry>> {
    let lines = text.strip_prefix(FIRST_LINE)?.trim_start().strip_suffix(&format!("{LAST_LINE}\n"))?.lines();
    let entry = |line: &str| {
        let [target, replaces, number, length, time] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let numbers = [number.parse().ok()?, length.parse().ok()?, time.parse().ok()?];
        Some(Entry { target: unhex(target)?, replaces: replaces == "1", new: Identity(numbers) })
    };
    lines.map(entry).collect()
}

fn hex(name: &OsStr) -> io::Result<String> {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(name);
    #[cfg(not(unix))]
    let bytes = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?.as_bytes();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A name without folders.
fn unhex(text: &str) -> Option<OsString> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    #[cfg(unix)]
    let name: OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    #[cfg(not(unix))]
    let name: OsString = String::from_utf8(bytes).ok()?.into();
    (Path::new(&name).file_name() == Some(&name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_as_it_was_written_and_not_at_all_if_it_is_not_whole() {
        let entry = |target: &str| Entry {
            target: target.into(),
            replaces: target.len() > 3,
            new: Identity([7, 0, u128::from(u64::MAX)]),
        };
        let entries = [entry("a b\n"), entry("ü")];
        let mut text = Vec::new();
        write_journal(&entries, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let read = read_journal(&text).unwrap();
        let plain = |e: &Entry| (e.target.clone(), e.replaces, e.new);
        assert!(entries.iter().map(plain).eq(read.iter().map(plain)));
        for length in 0..text.len() {
            assert!(read_journal(&text[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn a_journal_reaches_nothing_outside_its_folder() {
        for target in ["../x", "/etc/x", "a/b", "..", ""] {
            assert_eq!(unhex(&hex(OsStr::new(target)).unwrap()), None, "{target}");
        }
    }
}
