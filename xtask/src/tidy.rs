//! What no compiler checks: files that betray the machine they were written on, unfinished code, missing docs.

use std::fs;
use std::path::Path;

use crate::command::{program, root, stdout};

const LARGEST_FILE: usize = 1_000_000;

/// Top folders of somebody's machine. Without their slashes, so that this file passes its own check.
const MACHINE_FOLDERS: &[&str] = &["Users", "builds", "farm", "home", "mnt", "root", "tmp", "work", "workspace"];

/// Marks of a package mirror, each cut in two for the same reason.
const MIRRORS: &[(&str, &str)] =
    &[("arti", "factory"), ("replace", "-with"), ("sparse", "+http"), ("crates.io", ":443")];

/// Where a lock file may say a package comes from.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Marks of unfinished or switched-off code.
const UNFINISHED: &[(&str, &str)] =
    &[("to", "do!"), ("unimple", "mented!"), ("#[ig", "nore"), ("FIX", "ME"), ("XX", "X")];

/// Checks every tracked file; the error lists all findings, one per line.
pub fn check() -> Result<(), String> {
    let listing = stdout(program("git").args(["ls-files", "-z"]))
        .ok_or("`git ls-files` does not work here: tidiness is a matter of tracked files, so this needs a clone")?;
    let mut findings = Vec::new();
    for path in listing.split_terminator('\0') {
        // Tracked but deleted, not committed yet: nothing to check.
        if let Ok(bytes) = fs::read(root().join(path)) {
            findings.extend(check_file(path, &bytes).into_iter().map(|finding| format!("{path}{finding}")));
        }
    }
    if let Ok(map) = fs::read_to_string(root().join("ARCHITECTURE.md")) {
        let crates = listing.split_terminator('\0').filter_map(crate_of_manifest);
        findings.extend(
            crates
                .filter(|name| !map.contains(&format!("`{name}`")))
                .map(|name| format!("ARCHITECTURE.md: the crate `{name}` is missing")),
        );
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("{} untidy\n{}", findings.len(), findings.join("\n"))) }
}

/// `crates/NAME/Cargo.toml` or `NAME/Cargo.toml`.
fn crate_of_manifest(path: &str) -> Option<&str> {
    let folder = Path::new(path.strip_suffix("/Cargo.toml")?);
    folder.file_name()?.to_str()
}

/// Findings as they read after the path: `:LINE: fault` or `: fault`.
fn check_file(path: &str, bytes: &[u8]) -> Vec<String> {
    let mut findings = Vec::new();
    if bytes.len() > LARGEST_FILE {
        findings.push(format!(": {} bytes; files over {LARGEST_FILE} do not belong in the repository", bytes.len()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return findings };
    let is_rust = path.ends_with(".rs");
    if is_rust && path.starts_with("crates/") && path.contains("/src/") && !text.starts_with("//!") {
        findings.push(":1: no module doc (`//!`) at the top".to_owned());
    }
    for (index, line) in text.lines().enumerate() {
        let mut find = |fault: String| findings.push(format!(":{}: {fault}", index + 1));
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_machine_folder(line, folder)) {
            find(format!("a path of somebody's machine (…{folder}…)"));
        }
        if let Some((a, b)) = MIRRORS.iter().find(|(a, b)| line.contains(&format!("{a}{b}"))) {
            find(format!("a package mirror ({a}{b})"));
        }
        if line.trim_start().starts_with("source = \"registry+") && !line.contains(CRATES_IO) {
            find("a package that does not come from crates.io".to_owned());
        }
        if is_rust && let Some((a, b)) = UNFINISHED.iter().find(|(a, b)| line.contains(&format!("{a}{b}"))) {
            find(format!("unfinished or switched off ({a}{b})"));
        }
    }
    findings
}

/// Whether `line` holds an absolute path into `folder`; `bones/root` and `../tmp/x` are none.
fn names_machine_folder(line: &str, folder: &str) -> bool {
    ['/', '\\'].into_iter().any(|slash| {
        let start = format!("{slash}{folder}");
        line.match_indices(&start).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + start.len()..].chars().next();
            !before.is_some_and(|c| c.is_alphanumeric() || "._-~*)}]".contains(c))
                && !after.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check_file(path, text.as_bytes()).len()
    }

    #[test]
    fn machine_paths_are_found_and_relative_ones_are_not() {
        for folder in MACHINE_FOLDERS {
            for text in [format!("see /{folder}/x"), format!("\"/{folder}\""), format!("file:///{folder}/x")] {
                assert_eq!(findings("README.md", &text), 1, "{text}");
            }
            for text in [format!("../{folder}/x"), format!("bones/{folder}/x"), format!("/{folder}_bone")] {
                assert_eq!(findings("README.md", &text), 0, "{text}");
            }
        }
        assert_eq!(findings("README.md", &format!("C:\\{}\\me", "Users")), 1);
    }

    #[test]
    fn mirrors_are_found_and_crates_io_is_not() {
        assert_eq!(findings("Cargo.lock", &format!("source = \"{CRATES_IO}\"")), 0);
        assert_eq!(findings("Cargo.lock", "source = \"registry+https://mirror.example/index\""), 1);
        for (a, b) in MIRRORS {
            assert_eq!(findings("config.toml", &format!("{a}{b}")), 1);
        }
    }

    #[test]
    fn unfinished_code_is_found_in_rust_alone() {
        for (a, b) in UNFINISHED {
            assert_eq!(findings("xtask/src/x.rs", &format!("    {a}{b}")), 1);
            assert_eq!(findings("README.md", &format!("    {a}{b}")), 0);
        }
    }

    #[test]
    fn sources_of_crates_begin_with_their_doc() {
        assert_eq!(findings("crates/sinew/src/displace/x.rs", "use glam::Vec3;\n"), 1);
        assert_eq!(findings("crates/sinew/src/displace/x.rs", "//! Sway.\n"), 0);
        assert_eq!(findings("crates/sinew/tests/x.rs", "use glam::Vec3;\n"), 0);
    }

    #[test]
    fn large_files_are_found_whatever_they_hold() {
        assert_eq!(check_file("a.glb", &vec![0xff; LARGEST_FILE + 1]).len(), 1);
        assert_eq!(check_file("a.glb", &vec![0xff; LARGEST_FILE]).len(), 0);
    }
}
