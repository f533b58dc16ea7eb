//! The welded body of a character: its surface at rest, and its nodes at one frame. Reads nothing of the corrections.

mod clearance;
mod folds;
mod frame;
mod pieces;
pub(crate) mod surface;
mod ways;

pub(crate) use folds::smoothstep;
pub(super) use frame::{Body, BodyFrame, Reach, bounded, unit};
pub(super) use pieces::volume;
pub(crate) use surface::{Surface, Surfaces};
pub(super) use ways::Levels;
pub(crate) use ways::{AllWays, Ways};
