//! The tests of `sinew_author` through its public interface: edits made here and played by `sinew`.

#![allow(clippy::print_stdout, reason = "figures and tables are read by hand")]

mod arap;
mod edits;
mod on_real_characters;
