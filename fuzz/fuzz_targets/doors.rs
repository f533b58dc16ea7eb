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
const SECONDS: i64 = 10;

fn processor_secs() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).tv_sec
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
