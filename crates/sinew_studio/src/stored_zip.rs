//! Several files as one, for browsers, which hand out no more than ten downloads at once: a zip archive that stores them as they
//! are. Read back are archives of this kind; of others, what is stored in them unpacked.
//!
//! Oracle: the standard's check value of the checksum, and what was written is read (tests here); other programs open it.

use crate::handed::File;

const ENTRY: u32 = 0x0403_4b50;
const LISTED: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Names are UTF-8.
const FLAGS: u16 = 0x0800;
/// The first day that the format knows.
const DATE: u16 = 0x0021;

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, &byte: &u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// Files as one archive; `None` where they are too large for one.
pub fn write(files: &[File]) -> Option<Vec<u8>> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let start = u32::try_from(out.len()).ok()?;
        let size = u32::try_from(bytes.len()).ok()?.to_le_bytes();
        let length = u16::try_from(name.len()).ok()?.to_le_bytes();
        let mut facts = Vec::new();
        // Version needed, flags, stored, time, date; then checksum and sizes.
        [20, FLAGS, 0, 0, DATE].iter().for_each(|word| facts.extend(word.to_le_bytes()));
        facts.extend(crc32(bytes).to_le_bytes());
        facts.extend([size, size].as_flattened());
        facts.extend(length);
        facts.extend([0; 2]);
        out.extend(ENTRY.to_le_bytes());
        out.extend(&facts);
        out.extend(name.as_bytes());
        out.extend(bytes);
        list.extend(LISTED.to_le_bytes());
        list.extend(20u16.to_le_bytes());
        list.extend(&facts);
        // No comment, first disk, no attributes.
        list.extend([0; 10]);
        list.extend(start.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let count = u16::try_from(files.len()).ok()?.to_le_bytes();
    let [start, size] = [out.len(), list.len()].map(u32::try_from);
    out.extend(list);
    out.extend(END.to_le_bytes());
    out.extend([0; 4]);
    out.extend([count, count].as_flattened());
    out.extend(size.ok()?.to_le_bytes());
    out.extend(start.ok()?.to_le_bytes());
    out.extend([0; 2]);
    Some(out)
}

/// The files of an archive; what is packed in it is left out.
pub fn read(bytes: &[u8]) -> Vec<File> {
    let word = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let mut files = Vec::new();
    let mut at = 0;
    let mut next = || {
        (long(at)? == ENTRY).then_some(())?;
        let size = long(at + 18)? as usize;
        let name = at + 30..at + 30 + usize::from(word(at + 26)?);
        let start = name.end + usize::from(word(at + 28)?);
        let held = bytes.get(start..start.checked_add(size)?)?;
        let is_stored = word(at + 8)? == 0 && long(at + 14)? == crc32(held);
        let name = String::from_utf8_lossy(bytes.get(name)?).into_owned();
        at = start + size;
        Some(is_stored.then(|| (name, held.to_vec())))
    };
    while let Some(file) = next() {
        files.extend(file);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn what_was_written_is_read() {
        let files = [("a.toml".to_owned(), b"version = 1\n".to_vec()), ("ü.json".to_owned(), Vec::new())];
        let archive = write(&files).expect("small");
        assert_eq!(read(&archive), files);
        for cut in 0..archive.len() {
            assert!(read(&archive[..cut]).len() <= 2);
        }
        assert!(read(b"PK").is_empty());
    }
}
