//! What is said on stderr: errors always, warnings and notes unless `--quiet`. Colour only where a terminal shows it
//! and `NO_COLOR` is not set.

use crate::text::printable;
use anstyle::{AnsiColor, Style};
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
