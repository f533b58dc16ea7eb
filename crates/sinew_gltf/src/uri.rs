//! Where a buffer's URI may lead: into the file itself, or to a file in the asset's own folder; nowhere else.

use crate::error::{Fault, Kind};
use crate::limits::RAISE;
use crate::view::View;
use std::io::Read;
use std::path::{Path, PathBuf};

const KEEP_TOGETHER: &str = "keep all files of the asset in one folder, or pack them into one .glb";

/// The bytes behind `uri`, at most `limit` of them.
pub(crate) fn resolve(uri: &View<'_>, folder: Option<&Path>, limit: u64) -> Result<Vec<u8>, Fault> {
    let text = uri.text()?;
    let refuse = |fault: String| Fault::new(Kind::Uri, uri.element(), fault, KEEP_TOGETHER);
    if let Some(data) = text.strip_prefix("data:") {
        let (header, payload) =
            data.split_once(',').ok_or_else(|| refuse("is a data URI without a comma before its data".into()))?;
        if !header.ends_with(";base64") {
            return Err(refuse("is a data URI that is not base64".into()));
        }
        // What is beyond the limit is not looked at: a short buffer may stand in front of a long text.
        let digits = usize::try_from(limit.saturating_mul(4).div_ceil(3)).unwrap_or(usize::MAX);
        let wanted = payload.as_bytes().get(..digits).unwrap_or(payload.as_bytes());
        let mut bytes = decode_base64(wanted).ok_or_else(|| refuse("is a data URI with invalid base64".into()))?;
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        return Ok(bytes);
    }
    let shown: String = text.chars().take(100).collect();
    let relative = relative_path(text).map_err(|why| refuse(format!("is \"{shown}\", {why}")))?;
    let folder = folder.ok_or_else(|| refuse(format!("is \"{shown}\", but the asset has no folder to look in")))?;
    read_inside(folder, &relative, limit).map_err(|error| match error {
        Inside::Escapes => refuse(format!("is \"{shown}\", which leaves the asset's folder through a link")),
        Inside::NoFile => refuse(format!("is \"{shown}\", which is not a plain file")),
        Inside::Io(source) => {
            let element = format!("{}, file \"{shown}\"", uri.element());
            Fault::new(Kind::Io(source), element, "", "put the file back beside the asset, or export it again")
        }
    })
}

/// As [`resolve`], of something that is wanted whole: refused where it is longer.
pub(crate) fn resolve_whole(uri: &View<'_>, folder: Option<&Path>, limit: u64) -> Result<Vec<u8>, Fault> {
    let bytes = resolve(uri, folder, limit.saturating_add(1))?;
    if bytes.len() as u64 <= limit {
        return Ok(bytes);
    }
    Err(Fault::new(Kind::TooLarge, uri.element(), format!("has more bytes than the limit of {limit}"), RAISE))
}

/// A percent-decoded relative path that stays below where it starts, or why not.
fn relative_path(uri: &str) -> Result<PathBuf, &'static str> {
    let scheme = uri.split(['/', '\\']).next().unwrap_or_default();
    if scheme.contains(':') {
        return Err("a URL with a scheme; only files beside the asset are read");
    }
    let decoded = percent_decode(uri).ok_or("which is not valid percent-encoded UTF-8")?;
    if decoded.is_empty() {
        return Err("which names no file");
    }
    if decoded.starts_with(['/', '\\']) || decoded.contains([':', '\0']) {
        return Err("an absolute path; only files in the asset's own folder are read");
    }
    let mut path = PathBuf::new();
    for part in decoded.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                if !path.pop() {
                    return Err("which leaves the asset's folder");
                }
            }
            part => path.push(part),
        }
    }
    Ok(path)
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: u8| (byte as char).to_digit(16).and_then(|d| u8::try_from(d).ok());
            let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
            bytes.push(16 * high + low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

enum Inside {
    Escapes,
    NoFile,
    Io(std::io::Error),
}

impl From<std::io::Error> for Inside {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

fn read_inside(folder: &Path, relative: &Path, limit: u64) -> Result<Vec<u8>, Inside> {
    let folder = folder.canonicalize()?;
    let path = folder.join(relative).canonicalize()?;
    if !path.starts_with(&folder) {
        return Err(Inside::Escapes);
    }
    if !path.metadata()?.is_file() {
        return Err(Inside::NoFile);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// RFC 4648, padding optional.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    let text = &text[..text.len() - padding];
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0u32;
        for &byte in group {
            let sextet = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(sextet);
        }
        let bits = bits << (6 * (4 - group.len()));
        let [_, a, b, c] = bits.to_be_bytes();
        match group.len() {
            4 => bytes.extend([a, b, c]),
            3 => bytes.extend([a, b]),
            2 => bytes.push(a),
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_test_vectors_of_rfc_4648() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
            ("Zg", "f"),
        ] {
            assert_eq!(decode_base64(text.as_bytes()).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode_base64(b"Zm9v!A=="), None);
        assert_eq!(decode_base64(b"Z"), None);
    }

    #[test]
    fn paths_stay_below_the_folder() {
        assert_eq!(relative_path("a%20b/c.bin"), Ok(PathBuf::from("a b/c.bin")));
        assert_eq!(relative_path("a/../c.bin"), Ok(PathBuf::from("c.bin")));
        for bad in [
            "../c.bin",
            "a/../../c.bin",
            "%2e%2e/c.bin",
            "..\\c.bin",
            "/etc/x",
            "\\\\host\\x",
            "%2Fetc/x",
            "C:/x",
            "http://host/x.bin",
            "file:///x",
            "",
            "%zz",
            "%ff",
        ] {
            assert!(relative_path(bad).is_err(), "{bad}");
        }
    }
}
