//! Why a command ended early.

/// What went wrong, as a message for the user where there is one.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// The command line asks for something that does not exist.
    Usage(String),
    /// What was asked for could not be done.
    Failed(String),
    /// Everything was done, and what was asked about is not as it should be; it has been told.
    Findings,
    /// The reader of stdout went away.
    BrokenPipe,
}

impl Fault {
    /// A failure that concerns `file`.
    pub fn in_file(file: impl std::fmt::Display, fault: impl std::fmt::Display) -> Self {
        Self::Failed(format!("{file}: {fault}"))
    }
}
