//! Pictures and films as files. Writers take any `Write`; whoever calls makes the file appear under its name at once.

mod png_still;
pub use png_still::{EncodeError, write_png};
