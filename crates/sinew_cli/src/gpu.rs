//! `--gpu`: frames made on the GPU, in a program built with the feature `gpu`; in any other, what to do about it.

use crate::fault::Fault;
use crate::talk::Talk;
use sinew::Backend;

/// Who makes the frames of a command.
pub struct Frames {
    #[cfg(feature = "gpu")]
    gpu: Option<sinew_gpu::GpuFrames>,
}

impl Frames {
    /// The GPU if it is asked for, else the processor.
    #[cfg(feature = "gpu")]
    pub fn asked(gpu: bool, talk: &Talk) -> Result<Self, Fault> {
        let found = gpu.then(open).transpose()?;
        if let Some(gpu) = &found {
            talk.note(&format!("frames are made on {}", gpu.name()));
        }
        Ok(Self { gpu: found.map(sinew_gpu::GpuFrames::new) })
    }

    #[cfg(not(feature = "gpu"))]
    pub fn asked(gpu: bool, _: &Talk) -> Result<Self, Fault> {
        if gpu { Err(not_built()) } else { Ok(Self {}) }
    }

    /// The GPU, if it is to make them.
    #[cfg(feature = "gpu")]
    pub fn backend(&self) -> Option<&dyn Backend> {
        self.gpu.as_ref().map(|gpu| gpu as &dyn Backend)
    }

    #[cfg(not(feature = "gpu"))]
    pub fn backend(&self) -> Option<&dyn Backend> {
        None
    }

    /// Says where the processor had to make them.
    pub fn tell(&self, talk: &Talk) {
        #[cfg(feature = "gpu")]
        for trouble in self.gpu.iter().flat_map(sinew_gpu::GpuFrames::troubles) {
            talk.note(&format!("frames were made on the processor: {trouble}"));
        }
        #[cfg(not(feature = "gpu"))]
        let _ = talk;
    }
}

/// The GPU there is.
#[cfg(feature = "gpu")]
pub fn open() -> Result<sinew_gpu::Gpu, Fault> {
    sinew_gpu::Gpu::new().map_err(|error| Fault::Failed(error.to_string()))
}

/// What a program without the feature says.
#[cfg(not(feature = "gpu"))]
pub fn not_built() -> Fault {
    Fault::Usage(
        "this sinew was built without the GPU; build it with: cargo install --path crates/sinew_cli --features gpu"
            .to_owned(),
    )
}
