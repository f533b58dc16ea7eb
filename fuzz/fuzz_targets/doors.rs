//! libFuzzer on one of the doors that bytes come in by: the one that `SINEW_FUZZ` names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sinew_fuzz::Target;
use std::sync::OnceLock;

fn door() -> &'static Target {
    static DOOR: OnceLock<&'static Target> = OnceLock::new();
    DOOR.get_or_init(|| {
        let name = std::env::var("SINEW_FUZZ").unwrap_or_default();
        let known: Vec<_> = sinew_fuzz::TARGETS.iter().map(|target| target.name).collect();
        sinew_fuzz::target(&name).unwrap_or_else(|| panic!("SINEW_FUZZ must be one of {}", known.join(", ")))
    })
}

/// Seconds of the processor that an input may take: those of a clock depend on what else the machine does.
const SECONDS: u64 = 10;

/// What this process has used of the processor, where the system tells (Linux: user and system time, in hundredths).
fn processor_secs() -> u64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() / 100
}

fuzz_target!(init: warm_up(), |bytes: &[u8]| {
    let start = processor_secs();
    (door().run)(bytes);
    let took = processor_secs() - start;
    assert!(took <= SECONDS, "took {took} s");
});

/// Makes what all inputs share.
fn warm_up() {
    (door().run)(&[]);
}
