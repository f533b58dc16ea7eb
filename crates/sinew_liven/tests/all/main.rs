//! The tests of `sinew_liven` through its public interface: one program.

#![allow(clippy::print_stdout, reason = "figures are read by hand")]

mod invariance;
mod livened;
mod measured;
mod real;
mod secondary;
