//! The tests of `sinew_draw` through its public interface, on built-in and real characters.

#![allow(clippy::print_stdout, reason = "figures and tables are read by hand")]

mod common;
mod layers;
mod posing;
mod screen;
mod silhouettes;
mod surface;
