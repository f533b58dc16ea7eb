//! Real characters for tests. They are no part of the repository: `SINEW_ASSETS` names the folder that holds them.

use std::path::{Path, PathBuf};

/// The folder of test characters. Without one the caller skips its test, which is said on stderr; where `CI` is
/// `true` nothing may be skipped and this panics.
#[allow(clippy::print_stderr)]
pub fn folder() -> Option<PathBuf> {
    match std::env::var_os("SINEW_ASSETS") {
        Some(folder) if Path::new(&folder).is_dir() => Some(folder.into()),
        other => {
            let why = match other {
                Some(folder) => format!("SINEW_ASSETS is {}, which is no folder", folder.display()),
                None => "SINEW_ASSETS is not set".into(),
            };
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}, and CI=true allows no skipping");
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            eprintln!("SKIPPED {test}: {why}; give it the folder of test characters to run this");
            None
        }
    }
}

/// All `.glb` and `.gltf` files of [`folder`], at any depth, sorted; none when it has to be skipped.
pub fn assets() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folder().into_iter().collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "glb" || e == "gltf") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// One file of [`folder`] by its path inside it; `None` when it has to be skipped.
///
/// # Panics
/// If the folder is there and the file is not.
pub fn asset(path: &str) -> Option<PathBuf> {
    let path = folder()?.join(path);
    assert!(path.is_file(), "{} is missing from the test characters", path.display());
    Some(path)
}
