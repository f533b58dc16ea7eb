//! Files that appear whole or not at all, one by one or several together: the one way in which Sinew writes.
//!
//! A file is written without a name where the system has such files (Linux), else under a name beginning with a dot
//! beside its target; it is flushed to the disk, and takes its name at last. What was there before keeps its name
//! until then, and its permissions are those of the new file. A program that is killed leaves at most names that the
//! next one to write into that folder knows to be dead, because nobody holds a lock on them any more, and removes
//! ([`write_file`]).
//!
//! Several files are swapped together ([`FileSet`]): before the first takes its name, a journal in their folder says
//! what was there. A failure puts it back, and a program that finds the journal of a dead one does so too, so that a
//! swap that was cut off has not happened.
//!
//! Oracle: the tests fail every operation in turn, and end the process before every operation in turn.

mod container;
mod dead;
mod disk;
mod error;
mod faults;
mod new_folder;
mod set;
mod staged;
mod swap;
mod target;
mod unfinished;

pub use error::{FileError, Refusal};
pub use new_folder::NewFolder;
pub use set::{FileSet, Stopped, write_file, write_file_at};
pub use target::{Existing, check, folder};
pub use unfinished::discard_unfinished;
