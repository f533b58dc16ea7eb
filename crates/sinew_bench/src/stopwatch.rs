//! The minimum of many runs: on a shared machine every disturbance adds time and none removes it.

use std::time::{Duration, Instant};

/// Runs before the clock counts, for caches and branch predictors.
const WARM_UP: usize = 2;
/// Runs at least, however long they take.
const RUNS_AT_LEAST: usize = 8;
/// A run this much below the best so far counts as news and restarts the patience.
const NEWS: f64 = 0.998;

/// Times one case; a case calls [`Stopwatch::time`] once, with everything prepared.
pub struct Stopwatch {
    patience: Duration,
    fastest: Duration,
    /// As many frames and no more, for somebody else's count.
    counted: Option<usize>,
}

impl Stopwatch {
    /// Stops when no run has been faster than the best so far for `patience`.
    pub fn new(patience: Duration) -> Self {
        Self { patience, fastest: Duration::MAX, counted: None }
    }

    /// Runs a fixed number of frames and measures nothing.
    pub fn counting(frames: usize) -> Self {
        Self { patience: Duration::ZERO, fastest: Duration::MAX, counted: Some(frames) }
    }

    /// Calls `frame` over and over and keeps its shortest time.
    pub fn time(&mut self, mut frame: impl FnMut()) {
        if let Some(frames) = self.counted {
            (0..frames).for_each(|_| frame());
            return;
        }
        for _ in 0..WARM_UP {
            frame();
        }
        let mut last_news = Instant::now();
        let mut runs = 0;
        while runs < RUNS_AT_LEAST || last_news.elapsed() < self.patience {
            let start = Instant::now();
            frame();
            let elapsed = start.elapsed();
            if elapsed < self.fastest.mul_f64(NEWS) {
                last_news = Instant::now();
            }
            self.fastest = self.fastest.min(elapsed);
            runs += 1;
        }
    }

    /// The shortest time seen.
    pub fn fastest(&self) -> Duration {
        self.fastest
    }
}
