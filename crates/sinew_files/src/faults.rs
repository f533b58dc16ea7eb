//! Faults on demand, for tests: with the feature `faults` the environment says which operation fails or ends the
//! process.

/// What is to happen instead of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    GoOn,
    #[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "made by tests alone"))]
    Fail,
}

/// Comes before every operation on files.
#[cfg(not(feature = "faults"))]
pub(crate) fn fate() -> Fate {
    Fate::GoOn
}

/// Comes before every operation on files.
#[cfg(feature = "faults")]
pub(crate) fn fate() -> Fate {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static ASKED: OnceLock<Option<(bool, u64)>> = OnceLock::new();
    static DONE: AtomicU64 = AtomicU64::new(0);
    let asked = ASKED.get_or_init(|| {
        let asked = std::env::var("SINEW_FAULT").ok()?;
        let (kind, number) = asked.split_once(':')?;
        Some((kind == "die", number.parse().ok()?))
    });
    let number = DONE.fetch_add(1, Ordering::Relaxed) + 1;
    match asked {
        Some((true, at)) if *at == number => std::process::abort(),
        Some((false, at)) if *at == number => {
            #[allow(clippy::print_stderr, reason = "the test must know that there were so many operations")]
            {
                eprintln!("fault {number}");
            }
            Fate::Fail
        }
        _ => Fate::GoOn,
    }
}
