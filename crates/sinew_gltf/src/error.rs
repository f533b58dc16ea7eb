//! Why a file was refused: file, element, fault and how to mend it.

use sinew::RigError;

/// A file that cannot be imported. Every message names the file, the element, the fault and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file itself, or one it names, cannot be read.
    #[error("{file}: {element}: cannot be read ({source}); {remedy}")]
    Io {
        /// The file imported.
        file: String,
        /// What was to be read.
        element: String,
        /// The system's reason.
        source: std::io::Error,
        /// How to mend it.
        remedy: &'static str,
    },
    /// Not a glTF file, or its outer shell (GLB header and chunks, JSON text) is broken.
    #[error("{file}: {element}: {fault}; {remedy}")]
    Container {
        /// The file imported.
        file: String,
        /// Part of the shell.
        element: String,
        /// What is wrong.
        fault: String,
        /// How to mend it.
        remedy: &'static str,
    },
    /// A URI that will not be followed, or whose data cannot be had.
    #[error("{file}: {element}: {fault}; {remedy}")]
    Uri {
        /// The file imported.
        file: String,
        /// The element that holds the URI.
        element: String,
        /// What is wrong.
        fault: String,
        /// How to mend it.
        remedy: &'static str,
    },
    /// Legal glTF that this importer does not read.
    #[error("{file}: {element}: {fault}; {remedy}")]
    Unsupported {
        /// The file imported.
        file: String,
        /// The element concerned.
        element: String,
        /// What is not supported.
        fault: String,
        /// How to mend it.
        remedy: &'static str,
    },
    /// Against the glTF specification, and beyond repair.
    #[error("{file}: {element}: {fault}; {remedy}")]
    Invalid {
        /// The file imported.
        file: String,
        /// The element concerned.
        element: String,
        /// What is wrong.
        fault: String,
        /// How to mend it.
        remedy: &'static str,
    },
    /// What the file describes is no character that can be evaluated.
    #[error("{file}: {source}")]
    Rig {
        /// The file imported.
        file: String,
        /// What is wrong with it.
        source: RigError,
    },
    /// What Sinew added to it cannot be taken off, or a character made in code cannot be a file.
    #[error("{file}: {source}")]
    Write {
        /// The file imported.
        file: String,
        /// Why.
        source: WriteError,
    },
    /// More data once unpacked than the file can reasonably mean.
    #[error("{file}: {element}: {fault}; {remedy}")]
    TooLarge {
        /// The file imported.
        file: String,
        /// The element at which the limit was passed.
        element: String,
        /// By how much.
        fault: String,
        /// How to mend it.
        remedy: &'static str,
    },
}

/// An [`ImportError`] that does not yet know its file.
#[derive(Debug)]
pub(crate) struct Fault {
    pub kind: Kind,
    pub element: String,
    pub fault: String,
    pub remedy: &'static str,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Io(std::io::Error),
    Container,
    Uri,
    Unsupported,
    Invalid,
    TooLarge,
}

/// What to advise when the source program wrote something illegal and nothing better can be said.
pub(crate) const REEXPORT: &str = "re-export the file, or check it with the Khronos glTF validator";

impl Fault {
    pub fn new(kind: Kind, element: impl Into<String>, fault: impl Into<String>, remedy: &'static str) -> Self {
        Self { kind, element: element.into(), fault: fault.into(), remedy }
    }

    pub fn invalid(element: impl Into<String>, fault: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, element, fault, REEXPORT)
    }

    pub fn remedy(self, remedy: &'static str) -> Self {
        Self { remedy, ..self }
    }

    /// Why, without where: for messages that name the element themselves.
    pub fn reason(&self) -> String {
        match &self.kind {
            Kind::Io(source) => source.to_string(),
            _ => self.fault.clone(),
        }
    }

    pub fn in_file(self, file: &str) -> ImportError {
        let Self { kind, element, fault, remedy } = self;
        let file = file.to_owned();
        match kind {
            Kind::Io(source) => ImportError::Io { file, element, source, remedy },
            Kind::Container => ImportError::Container { file, element, fault, remedy },
            Kind::Uri => ImportError::Uri { file, element, fault, remedy },
            Kind::Unsupported => ImportError::Unsupported { file, element, fault, remedy },
            Kind::Invalid => ImportError::Invalid { file, element, fault, remedy },
            Kind::TooLarge => ImportError::TooLarge { file, element, fault, remedy },
        }
    }
}

/// A document that cannot be written, changed or taken back. Messages name the element, the fault and the remedy; the
/// file's name is the caller's to add.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The document is not sound enough for what was asked.
    #[error("{element}: {fault}; {remedy}")]
    Document {
        /// The element concerned.
        element: String,
        /// What is wrong.
        fault: String,
        /// How to mend it.
        remedy: &'static str,
    },
    /// What is to be written contradicts itself or the document.
    #[error("{element}: {fault}; give what belongs to this file")]
    Content {
        /// The element concerned.
        element: String,
        /// What is wrong.
        fault: String,
    },
    /// What Sinew added is no longer as it wrote it, so it cannot be taken back without loss.
    #[error("{element}: {fault}; strip a file before other programs change it, or use the original")]
    Changed {
        /// The element concerned.
        element: String,
        /// What is different.
        fault: String,
    },
    /// The note of what was added was written by a later Sinew.
    #[error("asset.extras.sinew is of version {found}, but this Sinew reads up to {supported}; update Sinew")]
    Newer {
        /// The version found.
        found: u64,
        /// The newest version known.
        supported: u64,
    },
    /// More than a GLB can hold.
    #[error("the file would have {bytes} bytes, but a GLB holds at most 4 GiB; write fewer targets or clips")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The bytes could not be delivered.
    #[error("cannot be written ({0}); check the folder and the free space")]
    Io(#[from] std::io::Error),
}

impl From<Fault> for WriteError {
    fn from(fault: Fault) -> Self {
        Self::Document { fault: fault.reason(), element: fault.element, remedy: fault.remedy }
    }
}
