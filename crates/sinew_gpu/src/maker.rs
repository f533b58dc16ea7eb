//! A GPU as whoever makes the frames of stages ([`sinew::Backend`]).

use crate::{Gpu, GpuCharacter, GpuError, gpu_support};
use sinew::{Backend, DeformedMesh, FrameMaker, FramePlan, Stage};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes frames on a GPU, and where that cannot be, has the processor make them and says why.
#[derive(Debug)]
pub struct GpuFrames {
    gpu: Arc<Gpu>,
    troubles: Arc<Troubles>,
}

/// Why the processor had to, each once, in the order in which it came up.
#[derive(Debug, Default)]
struct Troubles(Mutex<Vec<GpuError>>);

impl Troubles {
    fn note(&self, trouble: GpuError) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.contains(&trouble) {
            held.push(trouble);
        }
    }
}

impl GpuFrames {
    /// On a GPU.
    pub fn new(gpu: Gpu) -> Self {
        Self { gpu: Arc::new(gpu), troubles: Arc::default() }
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Why the processor made frames so far, if it did.
    pub fn troubles(&self) -> Vec<GpuError> {
        self.troubles.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Backend for GpuFrames {
    fn take(&self, stage: &Stage) -> Option<Box<dyn FrameMaker>> {
        let character = gpu_support(stage).map_err(GpuError::from).and_then(|()| GpuCharacter::new(&self.gpu, stage));
        match character {
            Ok(character) => {
                let character = Mutex::new(Some(character));
                Some(Box::new(Maker { gpu: Arc::clone(&self.gpu), troubles: Arc::clone(&self.troubles), character }))
            }
            Err(trouble) => {
                self.troubles.note(trouble);
                None
            }
        }
    }
}

#[derive(Debug)]
struct Maker {
    gpu: Arc<Gpu>,
    troubles: Arc<Troubles>,
    /// Until something fails: what has failed once is not tried again.
    character: Mutex<Option<GpuCharacter>>,
}

impl FrameMaker for Maker {
    fn make(&self, plan: &FramePlan<'_>, mesh: &mut DeformedMesh) -> bool {
        let mut held = self.character.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(character) = held.as_mut() else { return false };
        match character.deform(&self.gpu, plan).and_then(|()| character.read_back(&self.gpu, mesh)) {
            Ok(()) => true,
            Err(trouble) => {
                *held = None;
                self.troubles.note(trouble);
                false
            }
        }
    }
}
