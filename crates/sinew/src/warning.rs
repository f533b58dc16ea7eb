//! What was repaired or looks wrong: collected and handed to the caller, never printed here.

use std::fmt;

/// One finding about the input: what it concerns, what is the matter, and how to mend it at the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable kebab-case name of the kind of finding, such as `weights-not-normalised`.
    pub code: &'static str,
    /// The element concerned, such as `mesh 3 "Body", primitive 0, vertex 17`.
    pub subject: String,
    /// What is the matter and what was done about it, with the value found.
    pub message: String,
    /// What the user can do so that it does not happen again.
    pub remedy: &'static str,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]; {}", self.subject, self.message, self.code, self.remedy)
    }
}
