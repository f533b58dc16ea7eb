//! How good a character is in motion: measured, not judged. What a measurement means is the caller's to say.
//!
//! | module | what it measures |
//! |---|---|
//! | [`weights`] | skin weights as they came in |
//! | [`keys`] | the clip's own keys: jumps, a first key that does not belong, noise |
//! | [`seam`] | where a loop comes round: position and velocity |
//! | [`surface`] | volume, and triangles that turn over or collapse |
//! | [`cracks`] | vertices that lie together at rest and part in motion |
//! | [`clip`] | all of it for one clip, frame by frame |
//! | [`compare`] | what effects do against the same frame without them: strain, gaps, bends, slip, trembling, crossings |
//! | [`glance`] | the same comparison, cheaply, again and again |
//! | [`limits`] | what those figures may be |
//!
//! Lengths are shares of the size of the character they belong to, so that thresholds hold for rigs of any scale. Frames
//! are evaluated in the rayon pool of the caller; results are the same to the bit at any thread count.

pub mod clip;
pub mod compare;
pub mod cracks;
mod crossing;
pub mod crossings;
pub mod distortion;
pub mod footing;
pub mod gaps;
pub mod gauge;
pub mod glance;
pub mod groups;
pub mod keys;
pub mod limits;
pub mod location;
mod positions;
pub mod seam;
pub mod shape;
pub mod strain;
pub mod surface;
pub mod thickness;
mod tree;
pub mod tremble;
#[cfg(test)]
mod truth;
pub mod weights;

pub use clip::{Checker, ClipReport};
pub use compare::{Comparison, Given};
pub use glance::{Onlooker, View, Watch};
pub use groups::Groups;
pub use location::{Extreme, Location};

use sinew::graph::GraphError;
use sinew::{ForeignMotion, MotionError};

/// Why a character could not be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The recipe does not fit the rig.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The clip cannot be read as asked.
    #[error(transparent)]
    Motion(#[from] MotionError),
    /// A motion does not fit.
    #[error(transparent)]
    Foreign(#[from] ForeignMotion),
    /// More frames than any clip has.
    #[error("clip \"{clip}\" lasts {seconds} s, too long for {fps} frames per second; lower --fps or cut the clip")]
    TooManyFrames {
        /// The clip.
        clip: String,
        /// Its length in seconds.
        seconds: f64,
        /// Frames per second asked for.
        fps: f64,
    },
    /// A frame beyond what numbers hold.
    #[error(
        "clip \"{clip}\" at {time} s: mesh \"{mesh}\" is too far away to compute; look for extreme scales or \
         translations on the nodes above it"
    )]
    NotFinite {
        /// The clip.
        clip: String,
        /// The moment in seconds.
        time: f64,
        /// The mesh.
        mesh: String,
    },
}
