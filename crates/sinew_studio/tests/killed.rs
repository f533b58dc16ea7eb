//! A studio that is killed while it is worked in loses at most two seconds. Two kills; `SINEW_FULL=1` makes it fifty.
#![allow(clippy::print_stdout)]

use sinew::recipe::{EffectSpec, Place};
use sinew_studio::character::Character;
use sinew_studio::document::Document;
use sinew_studio::recovery::{Recovery, left};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const FOLDER: &str = "SINEW_TEST_RECOVERY";

/// Works until it is killed: a change every few milliseconds, told once it is made.
fn work(folder: &Path) -> Outcome {
    let mut document = Document::new(Character::built_in("tube")?);
    document.add_effect(&EffectSpec::new("floppy").ok_or("no such effect")?)?;
    let mut recovery = Recovery::new(folder)?;
    for change in 1.. {
        document.set("gain", None, Place::Effect(0, "gain"), f64::from(change) * 1e-4)?;
        println!("change {change}");
        recovery.keep(&document)?;
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[test]
fn at_most_two_seconds_are_lost() -> Outcome {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return work(Path::new(&folder));
    }
    let full = std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1");
    for kill in 0..if full { 50u64 } else { 2 } {
        let folder = tempfile::tempdir()?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["at_most_two_seconds_are_lost", "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = BufReader::new(child.stdout.take().ok_or("no output")?);
        // Anywhere in the time between two writes, which is a second and a half.
        let wanted = Duration::from_millis(1600 + kill * 977 % 1500);
        let (mut told, mut start) = (Vec::new(), None);
        for line in out.lines() {
            let line = line?;
            let Some(number) = line.split("change ").nth(1).and_then(|text| text.trim().parse::<u32>().ok()) else {
                continue;
            };
            told.push((number, Instant::now()));
            if start.get_or_insert_with(Instant::now).elapsed() > wanted {
                child.kill()?;
                break;
            }
        }
        let killed = Instant::now();
        child.wait()?;
        let found = left(folder.path());
        let document = found.first().ok_or("nothing is left")?.restore()?;
        let kept = (document.recipe().recipe().effects[0].gain * 1e4).round() as u32;
        let first_lost = told.iter().find(|(number, _)| *number > kept).map(|(_, when)| *when);
        let lost = first_lost.map_or(Duration::ZERO, |when| killed.duration_since(when));
        assert!(lost <= Duration::from_secs(2), "{lost:?} were lost");
    }
    Ok(())
}
