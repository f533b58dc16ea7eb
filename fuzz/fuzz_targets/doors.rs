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

fuzz_target!(|bytes: &[u8]| (door().run)(bytes));
