//! Sinew's deformer graph on the GPU, by wgpu.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let zoo = sinew_zoo::build("calf")?;
//! # let (raw, clips) = (zoo.raw, zoo.clips);
//! use sinew::{Cpu, DeformedMesh, MotionSettings, RecipeFile, Rig, Stage, Workspace, presets};
//! use sinew_gpu::{Gpu, GpuCharacter};
//! use std::sync::Arc;
//!
//! let rig = Arc::new(Rig::build(&raw)?.0);
//! let recipe = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
//! let stage = Stage::new(&rig, recipe.solve(&rig, &clips)?.recipe(0))?;
//! let playing = stage.motion(&clips[0], &MotionSettings::default())?;
//!
//! let gpu = Gpu::new()?;
//! let mut character = GpuCharacter::new(&gpu, &stage)?;
//! let mut workspace = Workspace::default();
//! character.deform(&gpu, &playing.at(0.4, &mut workspace).plan(&Cpu::serial())?)?;
//! // What is drawn stays where it is: `character.positions()` is a vertex buffer. What is wanted here is read back.
//! let mut mesh = DeformedMesh::default();
//! character.read_back(&gpu, &mut mesh)?;
//! # Ok(())
//! # }
//! ```
//!
//! Poses, kinematics, filters and terms stay on the processor, in double precision; so does what the skin as a whole has a
//! say in (feet that stand, rigid pieces, seams), in the rows that it concerns. Every point's base, effects, normals and
//! tangents are made on the GPU. A graph runs wholly on one side: [`gpu_support`] says which, and why.
//!
//! Many characters of one rig are a [`GpuCrowd`]: their clips are sampled once, and per frame each is told 52 bytes.
//!
//! A slider changes what buffers hold, never a pipeline ([`GpuCharacter::retune`]); a frame makes no buffer, no bind group
//! and no pipeline, and waits for nothing.

mod character;
pub mod conformance;
mod crowd;
mod device;
mod error;
mod maker;

pub use character::GpuCharacter;
pub use crowd::{CrowdPage, GpuCrowd};
pub use device::Gpu;
pub use error::GpuError;
pub use maker::GpuFrames;
pub use sinew_shaders::{CrowdMember, Swept};

use sinew::{NoPlan, Stage};

/// Whether frames of a stage can be made on the GPU, or what of its recipe stands in the way.
pub fn gpu_support(stage: &Stage) -> Result<(), NoPlan> {
    stage.arrays().map(|_| ())
}
