//! Whoever makes frames in place of the processor, such as a GPU: the door by which commands and bakes are given one.

use crate::graph::{DeformedMesh, FramePlan};
use crate::stage::Stage;
use std::fmt;

/// Takes stages on.
pub trait Backend: fmt::Debug + Sync {
    /// Makes ready for the frames of a stage; `None` where it cannot make them, and the processor does.
    fn take(&self, stage: &Stage) -> Option<Box<dyn FrameMaker>>;
}

/// Makes the frames of one stage.
pub trait FrameMaker: fmt::Debug + Send + Sync {
    /// Makes a planned frame; false where it could not, and the processor does.
    fn make(&self, plan: &FramePlan<'_>, mesh: &mut DeformedMesh) -> bool;
}
