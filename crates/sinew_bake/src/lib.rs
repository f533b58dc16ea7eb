//! Effects as morph targets: what a recipe adds to a character becomes a few targets and curves of their weights, which
//! any engine plays.
//!
//! An engine shows `A (r + Σ w_k m_k) + t`: morphs first, then the blended skinning matrix. So the displacement of every
//! point at every frame is pulled back through its blended 3×3, all frames of all clips are factored together, and the
//! fewest targets are kept with which no point is farther from its place than the tolerance, in world space.
//!
//! | module | what it does |
//! |---|---|
//! | `sampling`, `stage` | when clips are looked at; one frame, with and without effects |
//! | `groups` | which meshes share their targets |
//! | [`pull_back`] | world displacements to rest space |
//! | `range` | one pass over frames, in bounded memory |
//! | `factor` | few targets for many frames |
//! | `reach` | how far products of targets and weights move points |
//! | `keys` | the moments that become keys |
//! | `directions`, `field` | normals and tangents on the same weights |
//! | `play` | whole frames one after the other, for caches |
//! | [`engine`] | what engines can play |
//! | [`report`] | what was done, and how well |
//!
//! Frames are held as memory allows and evaluated again where it does not, so that memory is bounded whatever the number of
//! clips. Everything is the same to the bit at any thread count; work runs in the rayon pool of the caller.

mod bake;
mod directions;
pub mod engine;
mod factor;
mod field;
mod groups;
mod keys;
mod lanes;
mod matrix;
mod play;
pub mod pull_back;
mod pulled;
mod range;
mod reach;
pub mod report;
mod sampling;
mod tolerance;

pub use bake::{Storage, bake, bake_again};
pub use factor::FactorError;
pub use keys::WeightCurve;
pub use play::{frame_times, play};
pub use tolerance::{Tolerance, ToleranceError};

use glam::Vec3;
use report::{Report, Shortfall};
use sinew::graph::GraphError;
use sinew::{Backend, Clip, MotionError, MotionSettings, RawRig, Recipe, Rig, Stage};
use std::sync::Arc;

/// What is baked.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// As it came in: where the file's own normal morphs are.
    pub raw: &'a RawRig,
    /// As it is evaluated; built from `raw`.
    pub rig: &'a Arc<Rig>,
    /// What to add to it.
    pub recipe: &'a Recipe,
    /// Who makes its frames; `None` for the processor.
    pub backend: Option<&'a dyn Backend>,
}

impl Subject<'_> {
    /// Its rig with a recipe, for whoever makes the frames.
    pub(crate) fn stage(&self, recipe: &Recipe) -> Result<Stage, GraphError> {
        let stage = Stage::new(self.rig, recipe)?;
        Ok(match self.backend {
            Some(backend) => stage.made_by(backend),
            None => stage,
        })
    }
}

/// A clip to bake, and how to read it.
#[derive(Clone, Debug)]
pub struct BakeClip<'a> {
    /// The clip.
    pub clip: &'a Clip,
    /// Loops, ends, smoothing.
    pub settings: MotionSettings,
    /// What to add in place of what the subject says, where the clip has gains of its own.
    pub recipe: Option<&'a Recipe>,
}

/// How to bake.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Samples per second. Positive and finite.
    pub fps: f64,
    /// Largest error allowed.
    pub tolerance: Tolerance,
    /// Most targets any mesh may get.
    pub max_targets: Option<usize>,
    /// Bake as well as `max_targets` allows where the tolerance asks for more.
    pub best_effort: bool,
    /// Store targets as whole numbers where that is enough; not all engines read them.
    pub whole_numbers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { fps: 60.0, tolerance: Tolerance::default(), max_targets: None, best_effort: false, whole_numbers: true }
    }
}

/// How far a bake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub what: &'static str,
    /// Frames evaluated so far.
    pub done: usize,
    /// Frames to evaluate in all.
    pub total: usize,
}

/// The result: targets per mesh, curves per clip.
#[derive(Clone, Debug)]
pub struct Baked {
    /// Meshes that got targets, in the order of [`Rig::parts`].
    pub parts: Vec<BakedPart>,
    /// Curves of every clip given, in its order: one per entry of `parts`.
    pub clips: Vec<Vec<WeightCurve>>,
    /// What was done, and how well.
    pub report: Report,
}

/// The targets of one mesh.
#[derive(Clone, Debug)]
pub struct BakedPart {
    /// Index in [`Rig::parts`].
    pub part: usize,
    /// Targets, each with one entry per primitive.
    pub targets: Vec<Vec<PrimitiveTarget>>,
}

/// One target on one primitive: displacements in rest space, in the file's vertex order.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimitiveTarget {
    /// Of positions.
    pub positions: Vec<Vec3>,
    /// Of normals, where the source has them.
    pub normals: Option<Vec<Vec3>>,
    /// Of tangents, where the source has them.
    pub tangents: Option<Vec<Vec3>>,
    /// How positions are to be stored: they are numbers that this holds.
    pub position_storage: Storage,
    /// The same of normals and tangents.
    pub direction_storage: Storage,
}

/// Why nothing was baked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BakeFailure {
    /// No mesh moves, or no clip was given.
    #[error("nothing to bake: {0}")]
    NothingToBake(&'static str),
    /// The recipe does not fit the rig.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A clip cannot be read as asked.
    #[error(transparent)]
    Motion(#[from] MotionError),
    /// More frames than any clip has.
    #[error("clip \"{clip}\" lasts {seconds} s, too long for {fps} samples per second; lower --fps or cut the clip")]
    TooManyFrames {
        /// The clip.
        clip: String,
        /// Its length in seconds.
        seconds: f64,
        /// Samples per second asked for.
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
    /// The linear algebra gave up.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// The tolerance asks for more targets than allowed, or cannot be met at all.
    #[error("{0}")]
    Shortfall(Box<Shortfall>),
}
