//! Changed real characters through every command, without libFuzzer: `cargo run --release -p sinew_fuzz --example attack --
//! FIRST COUNT FILE…`. Tells the numbers at which something panics, takes more than ten seconds of the processor or more
//! than a gigabyte; a number stands for the same input as long as the files are the same.
#![allow(clippy::print_stdout, reason = "a program whose product is talk to a developer")]

use sinew_gltf::Document;
use sinew_testkit::random::Random;
use std::panic::catch_unwind;

/// A field of `/proc/self/status`, in megabytes.
fn megabytes(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Hundredths of a second that this process has used of the processor.
fn hundredths() -> u64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = || args.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let (first, count) = (number(), number());
    let documents: Vec<Document> = args.filter_map(|path| Document::open(path).ok()).collect();
    let mut faults = 0;
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..512).map(|_| random.below(256) as u8).collect();
        // The peak of this input alone, where the system lets us forget the one before.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let start = hundredths();
        let outcome = catch_unwind(|| sinew_fuzz::any_of(&documents, &bytes));
        let (took, peak) = (hundredths() - start, megabytes("VmHWM"));
        if outcome.is_err() || took > 1_000 || peak > 1_024 {
            faults += 1;
            println!(
                "{seed}: {}, {}.{:02} s, {peak} MB",
                if outcome.is_err() { "PANIC" } else { "slow or large" },
                took / 100,
                took % 100
            );
        }
    }
    println!("{count} inputs, {faults} faults, {} s of the processor", hundredths() / 100);
}
