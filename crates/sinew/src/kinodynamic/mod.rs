//! Kinodynamic skinning: skin that follows the way from the bind pose to a pose, and flesh that swings on it.
//!
//! Source: KD.
//!
//! | file | what it holds |
//! |---|---|
//! | `fractional` | fractions of transforms |
//! | `real` | points of either precision |
//! | `tissue` | weights in space, with gradients |
//! | `reach` | which limbs each point of the skin feels |
//! | `pose_path` | the way from the bind pose to a pose |
//! | `fold_over_free` | points carried along the way |
//! | `affine_field`, `volume_term` | the velocities that carry them: of limbs, blended, and what keeps volume |
//! | `anatomy` | joints and limbs fitted to skin weights |
//! | `skinning` | the base `fold-over-free` of a rig |
//! | `vortex_field` | displacements by vortex samples |
//! | `muscle`, `least_squares` | shapes that sway and contract |

mod affine_field;
mod anatomy;
mod fold_over_free;
mod fractional;
mod least_squares;
mod muscle;
mod pose_path;
mod reach;
mod real;
mod skinning;
#[cfg(test)]
mod tests;
mod tissue;
mod volume_term;
mod vortex_field;

pub(crate) use muscle::{Muscle, Shape, Sway, spread};
pub(crate) use skinning::{CAPSULE, ELLIPSOID, FreeFrame, FreeScratch, PlainFree};
pub use skinning::{Diagnosis, FOLD_OVER_FREE, FoldOverFree, MOST_STEPS};
pub(crate) use vortex_field::{Blocks, Follow, Followers, Following, VortexField};
