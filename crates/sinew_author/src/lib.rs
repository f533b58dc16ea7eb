//! Surface edits of a character, made: what playing them does not need, and what it does need a linear algebra library
//! for. [`sinew`] plays the maps that come out of it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`edit_stage`] | where edits are made: the surface of a pose, and what was done to it |
//! | [`arap`], [`laplacian`] | surfaces solved from handles |
//! | `cotangents`, `cholesky` | weights of edges; the factored system |
//!
//! Absent by design, as in [`sinew`]: files, clocks, environment, printing, threads.

pub mod arap;
mod cholesky;
mod cotangents;
pub mod edit_stage;
pub mod laplacian;
#[cfg(test)]
mod tubes;

pub use arap::{Arap, RegionError};
pub use edit_stage::{EditStage, Marked, PullError, Pulled, Solve};
pub use laplacian::Laplacian;
