//! What is said on stderr: errors always, warnings and notes unless `--quiet`. Colour only where a terminal shows it
//! and `NO_COLOR` is not set.

use crate::text::printable;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use sinew::Warning;
use std::fmt::Display;
use std::io::Write;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default();

/// The voice of a command.
pub struct Talk {
    quiet: bool,
}

impl Talk {
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A bar with the time left, on stderr where that is a terminal.
    pub fn progress_bar(&self) -> ProgressBar {
        let bar = if self.is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(0) };
        let style = ProgressStyle::with_template("{msg:>24} {wide_bar} {percent:>3} % {eta:>4} left");
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    pub fn error(&self, message: &str) {
        say(ERROR, "error", message);
    }

    pub fn warnings(&self, warnings: &[Warning]) {
        if !self.quiet {
            for warning in warnings {
                say(WARNING, "warning", warning);
            }
        }
    }

    pub fn note(&self, message: &str) {
        if !self.quiet {
            say(NOTE, "note", message);
        }
    }
}

fn say(style: Style, label: &str, message: impl Display) {
    let message = printable(&message.to_string());
    // When stderr is closed there is nobody left to tell.
    let _ = writeln!(anstream::stderr().lock(), "{style}{label}:{style:#} {message}");
}
