//! Which tests take longest.
//!
//! Times of single tests come from nextest's JUnit report. The harness of a stable `cargo test` keeps them to
//! itself; without nextest the times are those of whole test binaries.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::{fs, io, thread};

use crate::command::{cargo, describe, root, succeed};

const SHOWN: usize = 10;

/// A test or a test binary.
#[derive(Clone, Debug, PartialEq)]
struct Timed {
    name: String,
    secs: f64,
}

/// What a run of the tests took.
pub struct Times {
    of: &'static str,
    all: Vec<Timed>,
}

impl Times {
    /// Prints the slowest.
    pub fn print_slowest(&self) {
        let mut slowest: Vec<_> = self.all.iter().collect();
        slowest.sort_by(|a, b| b.secs.total_cmp(&a.secs));
        println!("\nslowest of {} {}", slowest.len(), self.of);
        for Timed { name, secs } in slowest.into_iter().take(SHOWN) {
            println!("  {secs:>8.3} s  {name}");
        }
    }
}

/// Runs nextest with the arguments and environment `prepare` adds.
pub fn nextest(prepare: impl FnOnce(&mut Command) -> &mut Command) -> (Result<(), String>, Times) {
    // Nextest keeps its reports here even when the target directory is elsewhere.
    let report = root().join("target/nextest/default/junit.xml");
    // A run that does not compile writes no report; an older one must not stand in for it.
    let _ = fs::remove_file(&report);
    let result = succeed(prepare(&mut cargo("nextest run")));
    let all = times_of_tests(&fs::read_to_string(&report).unwrap_or_default());
    (result, Times { of: "tests", all })
}

/// Runs `cargo test` likewise, passing its output through.
pub fn cargo_test(prepare: impl FnOnce(&mut Command) -> &mut Command) -> (Result<(), String>, Times) {
    let mut command = cargo("test");
    prepare(&mut command);
    let (result, all) = match run_and_read(&mut command) {
        Ok((true, all)) => (Ok(()), all),
        Ok((false, all)) => (Err(format!("{} failed", describe(&command))), all),
        Err(error) => (Err(format!("{} does not start: {error}", describe(&command))), Vec::new()),
    };
    (result, Times { of: "test binaries (times of single tests need cargo-nextest)", all })
}

fn run_and_read(command: &mut Command) -> io::Result<(bool, Vec<Timed>)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take();
    let names = thread::spawn(move || lines(stderr, |line| eprintln!("{line}"), name_of_binary));
    let secs = lines(child.stdout.take(), |line| println!("{line}"), secs_of_binary);
    let success = child.wait()?.success();
    let names = names.join().unwrap_or_default();
    Ok((success, names.into_iter().zip(secs).map(|(name, secs)| Timed { name, secs }).collect()))
}

/// Passes every line on and collects what `parse` finds in them.
fn lines<T>(from: Option<impl Read>, pass_on: fn(&str), parse: fn(&str) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    for line in from.into_iter().flat_map(|from| BufReader::new(from).split(b'\n')).map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        pass_on(&line);
        found.extend(parse(&line));
    }
    found
}

/// `     Running unittests src/lib.rs (target/debug/deps/sinew-0123456789abcdef)`
fn name_of_binary(line: &str) -> Option<String> {
    let (what, path) = line.trim_start().strip_prefix("Running ")?.split_once(" (")?;
    let file = path.trim_end_matches(')').rsplit(['/', '\\']).next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    Some(format!("{name} ({what})"))
}

/// `test result: ok. 3 passed; 0 failed; … finished in 0.12s`
fn secs_of_binary(line: &str) -> Option<f64> {
    line.strip_prefix("test result: ")?.rsplit_once("finished in ")?.1.strip_suffix('s')?.parse().ok()
}

fn times_of_tests(junit: &str) -> Vec<Timed> {
    let attribute = |element: &str, name: &str| {
        let (_, rest) = element.split_once(&format!(" {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let elements = junit.split("<testcase").skip(1).filter_map(|rest| rest.split('>').next());
    elements
        .filter_map(|element| {
            let name = format!("{} {}", attribute(element, "classname")?, attribute(element, "name")?);
            Some(Timed { name, secs: attribute(element, "time")?.parse().ok()? })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junit_report() {
        let junit = r#"<testsuites name="nextest-run" tests="2" time="0.5"><testsuite name="sinew" tests="2">
            <testcase name="pose::tests::a" classname="sinew" timestamp="2026-01-01T00:00:00" time="0.012"></testcase>
            <testcase name="b" classname="sinew::oracle" time="1.5"/></testsuite></testsuites>"#;
        let expected = [("sinew pose::tests::a", 0.012), ("sinew::oracle b", 1.5)];
        let expected = expected.map(|(name, secs)| Timed { name: name.to_owned(), secs });
        assert_eq!(times_of_tests(junit), expected);
    }

    #[test]
    fn cargo_test_output() {
        let name = name_of_binary("     Running unittests src/lib.rs (target/debug/deps/sinew-0123456789abcdef)");
        assert_eq!(name.as_deref(), Some("sinew (unittests src/lib.rs)"));
        let end = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s";
        assert_eq!(secs_of_binary(end), Some(0.12));
        assert_eq!(secs_of_binary("test pose::tests::a ... ok"), None);
    }
}
