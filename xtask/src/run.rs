//! Running a program under watch: what it says, the processor time it takes, the memory it reaches.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// How a run ended and what it took.
#[derive(Clone, Debug)]
pub struct Run {
    /// The exit status; none where the program was ended by a signal.
    pub code: Option<i32>,
    pub stderr: String,
    /// Seconds on processors: within and outside the kernel together, which Linux knows better than either.
    pub secs: f64,
    /// Largest resident memory, as far as a look every few milliseconds sees it.
    pub peak_bytes: u64,
    /// Whether it was ended because it took longer than it was given.
    pub timed_out: bool,
}

/// Runs a command to its end, or until it has been on processors for `limit`, or asleep for ten times that.
pub fn run(command: &mut Command, limit: Duration) -> Result<Run, String> {
    let before = secs_of_children();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} does not start: {error}", crate::command::describe(command)))?;
    let mut stderr = child.stderr.take();
    let heard = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(stderr) = &mut stderr {
            let _ = stderr.read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = format!("/proc/{}/status", child.id());
    let started = Instant::now();
    let (mut peak_bytes, mut timed_out) = (0, false);
    let code = loop {
        peak_bytes = peak_bytes.max(high_water(Path::new(&status)));
        match child.try_wait() {
            Ok(Some(status)) => break status.code(),
            Ok(None) => {}
            Err(error) => return Err(error.to_string()),
        }
        if !timed_out && (started.elapsed() > 10 * limit || on_processors(child.id()) > limit) {
            timed_out = true;
            let _ = child.kill();
        }
        thread::sleep(Duration::from_millis(2));
    };
    let stderr = heard.join().unwrap_or_default();
    Ok(Run { code, stderr, secs: secs_of_children() - before, peak_bytes, timed_out })
}

/// Time of a running program on processors, in hundredths of a second as Linux tells it.
fn on_processors(id: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name of the program, in brackets, may hold anything; user and system time are the twelfth and thirteenth after.
    let after = text.rsplit_once(") ").map_or("", |(_, after)| after);
    let ticks = |n: usize| after.split(' ').nth(n).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

fn high_water(status: &Path) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kb| kb * 1024)
}

/// Seconds that programs that have ended were on processors.
#[cfg(unix)]
pub fn secs_of_children() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeVal;
    let secs = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| secs(usage.user_time()) + secs(usage.system_time()))
}

#[cfg(not(unix))]
pub fn secs_of_children() -> f64 {
    0.0
}
