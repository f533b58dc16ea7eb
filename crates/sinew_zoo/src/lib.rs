//! Built-in characters, made by code: something to see, measure and test with before any file is at hand.
//!
//! [`build`] takes a *spec*: the name of a character and, where they make sense, options after a colon:
//! `calf`, `tube`, `tube:vertices=10000,bones=12`. [`names`] lists them.
//!
//! What holds for every character, and is tested for every character:
//! - metres, +Y up, +Z forward, standing on the ground plane `y = 0` (the bird hovers above it);
//! - every primitive is a closed, oriented two-manifold without doubled points: each edge has exactly two faces;
//! - weights are the values of an analytic [`WeightField`], a smooth function of the rest position alone, with at
//!   most four influences anywhere on the surface and nothing pruned;
//! - clips are loops, keyed at 30 per second from periodic functions; the last key repeats the first bit for bit;
//! - the same call gives the same bits.
//!
//! | module | what it holds |
//! |---|---|
//! | [`weights`] | the fields that weights are read from |
//! | [`tube`](mod@tube) | the one character with options: any resolution, any number of bones |
//! | `solid`, `surface_nets`, `lathe` | signed distances of modelled bodies; their surfaces as even closed meshes; turned cloth |
//! | `body`, `looping` | bones, claims and parts put together into a rig; clips sampled from periodic functions |
//! | `arm`, `bird`, `calf`, `dancer`, `flower`, `snail` | one character each |

mod arm;
mod bird;
mod body;
mod calf;
mod dancer;
mod flower;
mod lathe;
mod looping;
mod snail;
mod solid;
mod spec;
mod surface_nets;
pub mod tube;
pub mod weights;

pub use spec::{Entry, ZooError, build, names};
pub use tube::{TubeOptions, tube};
pub use weights::WeightField;

use glam::DVec3;
use sinew::{Clip, RawRig};

/// A character with its clips.
#[derive(Clone, Debug)]
pub struct ZooCharacter {
    /// Name, as [`build`] knows it.
    pub name: String,
    /// What it is, in a line.
    pub about: &'static str,
    /// The rig: one skin whose palette is the list of bones, and one mesh on a node of its own behind them.
    pub raw: RawRig,
    /// Looping clips.
    pub clips: Vec<Clip>,
    /// Where the weights come from.
    pub field: WeightField,
}

impl ZooCharacter {
    /// The bones (palette index = node) that move the rest position `p`, with their weights: positive, summing to 1.
    pub fn weights_at(&self, p: DVec3) -> Vec<(usize, f64)> {
        self.field.at(p)
    }
}
