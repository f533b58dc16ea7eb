//! Running the command as a user does.
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The command, in a known environment.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

/// What a run left behind.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text is UTF-8");
        let run = Self {
            code: output.status.code().expect("ended by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        run
    }
}

/// Runs the command.
pub fn sinew<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Run {
    command().args(args).output().expect("the command starts").into()
}

/// Runs the command, which must succeed, and reads its stdout as JSON.
pub fn json<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Value {
    let run = sinew(args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("stdout is JSON and nothing else")
}

/// `inspect --json`.
pub fn inspect(file: &str) -> Value {
    json(["inspect", file, "--json"])
}

/// `frame … -o -`.
pub fn frame(file: &str, options: &[&str]) -> Value {
    json([&["frame", file, "-o", "-", "--quiet"], options].concat())
}

/// Whether long sweeps run whole.
pub fn full() -> bool {
    std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1")
}

/// A folder that goes away with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Writes a file and tells its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.0.path().join(name), bytes).expect("writable");
        self.join(name)
    }

    /// Names of what is in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).expect("readable");
        let mut names: Vec<_> = entries.map(|e| e.expect("entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// A JSON array of triples as numbers.
pub fn triples(value: &Value) -> Vec<[f64; 3]> {
    value.as_array().expect("an array").iter().map(triple).collect()
}

pub fn triple(value: &Value) -> [f64; 3] {
    let numbers: Vec<f64> = value.as_array().expect("a triple").iter().map(|x| x.as_f64().expect("a number")).collect();
    numbers.try_into().expect("three numbers")
}

/// All `field`s (positions, normals …) of a list of meshes, one after the other.
pub fn all(meshes: &Value, field: &str) -> Vec<[f64; 3]> {
    let meshes = meshes.as_array().expect("an array").iter();
    let primitives = meshes.flat_map(|mesh| mesh["primitives"].as_array().expect("primitives"));
    primitives.flat_map(|primitive| triples(&primitive[field])).collect()
}

/// Largest distance between two lists of points.
pub fn farthest(a: &[[f64; 3]], b: &[[f64; 3]]) -> f64 {
    assert_eq!(a.len(), b.len());
    let distance = |(a, b): (&[f64; 3], &[f64; 3])| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    a.iter().zip(b).map(distance).fold(0.0, f64::max)
}

/// Path of an asset as text.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("assets have plain names")
}

/// Name of a file in the assets folder.
pub fn stem(path: &Path) -> String {
    PathBuf::from(path).file_stem().expect("a name").to_string_lossy().into_owned()
}
