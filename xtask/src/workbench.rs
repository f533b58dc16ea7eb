//! Running a `sinew` program the way a user does, in folders that go away afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A folder that goes away.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sinew-xtask-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Everything in it, by path; folders end in a slash.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.0, "", &mut found);
        found
    }

    /// Paths of what is in it.
    pub fn names(&self) -> Vec<String> {
        self.contents().into_keys().collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn collect(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), format!("{prefix}{}", entry.file_name().to_string_lossy()));
        if path.is_dir() {
            collect(&path, &format!("{name}/"), found);
            found.insert(format!("{name}/"), Vec::new());
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.insert(name, bytes);
        }
    }
}

/// A program and what it is asked to do in a folder.
pub fn command(program: &Path, words: &[&str], folder: &Folder) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs it to the end.
pub fn run(program: &Path, words: &[&str], folder: &Folder) -> Result<Output, String> {
    let mut command = command(program, words, folder);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    output.map_err(|error| format!("{} does not start: {error}", program.display()))
}

/// Runs it to the end, which must be a good one.
pub fn succeed(program: &Path, words: &[&str], folder: &Folder) -> Result<(), String> {
    let output = run(program, words, folder)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: {} {}", words.join(" "), output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// Waits until a folder holds something or the program has ended.
pub fn until_it_writes(child: &mut Child, folder: &Folder) -> Result<(), String> {
    let end = Instant::now() + Duration::from_secs(60);
    let is_empty = || std::fs::read_dir(folder.path()).is_ok_and(|mut entries| entries.next().is_none());
    while is_empty() && matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > end {
            let _ = child.kill();
            return Err("wrote nothing for a minute".to_owned());
        }
    }
    Ok(())
}

/// A repeatable sequence (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}
