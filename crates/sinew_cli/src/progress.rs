//! How far long work has come, on stderr, where a terminal shows it.

use crate::talk::Talk;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar with the time left, which goes away when the work is done.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar for `steps` steps of `work`.
    pub fn new(talk: &Talk, work: &str, steps: usize) -> Self {
        if talk.is_quiet() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(steps as u64).with_message(work.to_owned());
        // The template is a constant; should it ever be wrong, a plain bar does.
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// `done` of `steps` are done, the next being part of `work`.
    pub fn tell(&self, work: &'static str, done: usize, steps: usize) {
        self.0.set_length(steps as u64);
        self.0.set_message(work);
        self.0.set_position(done as u64);
    }

    /// One step more is done.
    pub fn advance(&self) {
        self.advance_by(1);
    }

    /// So many steps more are done.
    pub fn advance_by(&self, steps: usize) {
        self.0.inc(steps as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
