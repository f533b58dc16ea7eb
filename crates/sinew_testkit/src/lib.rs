//! Helpers for Sinew's tests, sharing no code with what they test.
//!
//! | module | what it holds |
//! |---|---|
//! | [`assets`] | real characters, found through `SINEW_ASSETS` |
//! | [`spec`] | an evaluator in f64, written straight from the glTF 2.0 specification |
//! | [`glb`] | a builder of small glTF files, to be bent and broken |
//! | [`random`] | a seeded generator of numbers |
//! | [`rigid_fit`] | the rigid motion nearest to what happened to points |
//! | [`pulls`] | surfaces of which some is held and some is moved |

pub mod assets;
pub mod glb;
pub mod pulls;
pub mod random;
pub mod rigid_fit;
pub mod spec;
