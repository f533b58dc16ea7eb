//! What can go wrong with a GPU.

use sinew::{NoCrowd, NoPlan};

/// Why a frame was not made on the GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// Nothing to compute on.
    #[error("no GPU was found; looked for {looked_for}: {why}")]
    NoAdapter {
        /// What was looked for.
        looked_for: String,
        /// What was answered.
        why: String,
    },
    /// A GPU that cannot be used.
    #[error("the GPU \"{adapter}\" cannot be used: {why}")]
    NoDevice {
        /// Its name.
        adapter: String,
        /// What was answered.
        why: String,
    },
    /// A recipe that runs on the processor.
    #[error("this recipe does not run on the GPU: {0}")]
    Unsupported(#[from] NoPlan),
    /// A stage of which no crowd can be made.
    #[error("no crowd can be made of this: {0}")]
    NoCrowd(#[from] NoCrowd),
    /// More characters than there is memory for.
    #[error("{seen} characters are seen, but the crowd was made for {most}")]
    Crowded {
        /// How many are seen.
        seen: usize,
        /// For how many there is memory.
        most: usize,
    },
    /// A character that does not fit.
    #[error("the character's {what} take {bytes} bytes; this GPU holds {limit} in one piece")]
    TooLarge {
        /// Of what there is too much.
        what: &'static str,
        /// How much.
        bytes: u64,
        /// How much there may be.
        limit: u64,
    },
    /// No memory left.
    #[error("the GPU has no memory left for this character")]
    OutOfMemory,
    /// The GPU is gone.
    #[error("the GPU was lost ({0}): start again, or compute on the processor")]
    Lost(String),
    /// A frame of another character or recipe.
    #[error("the frame was planned for another character or recipe than the one on the GPU")]
    ForeignPlan,
    /// Something that should not be.
    #[error("the GPU reports: {0}")]
    Failed(String),
}
