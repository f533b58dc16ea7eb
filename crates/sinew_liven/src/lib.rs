//! From a character to a recipe that suits it: what it has that is soft, how that should move, and whether it looks right.
//!
//! | module | what it holds |
//! |---|---|
//! | [`style`] | manners of moving |
//! | [`words`] | parts of a body, as people name them |
//! | [`survey`] | what a character has, and how its clips move that |
//! | [`secondary`] | whether a part swings already |
//! | [`plan`] | a recipe in the making, with the reasons |
//! | [`judge`] | plays it, and lowers what fails a gate |
//! | [`account`] | what was done, in an animator's words |
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let zoo = sinew_zoo::build("calf")?;
//! # let (rig, _) = sinew::Rig::build(&zoo.raw)?;
//! # let (rig, clips) = (std::sync::Arc::new(rig), zoo.clips);
//! use sinew::MotionSettings;
//! use sinew_liven::{Wishes, liven};
//!
//! let clips: Vec<_> = clips.iter().map(|clip| (clip, MotionSettings::default())).collect();
//! let livened = liven(&rig, &clips, &[0, 1], &[], &Wishes::default(), &|_, _| ())?;
//! println!("{}", livened.account.lines().join("\n"));
//! println!("{}", livened.recipe);
//! # assert!(livened.recipe.recipe().adds());
//! # Ok(())
//! # }
//! ```
//!
//! Lengths are shares of the size of the character they belong to. Frames are evaluated in the rayon pool of the caller;
//! results are the same to the bit at any thread count.

pub mod account;
pub mod judge;
pub mod plan;
pub mod secondary;
pub mod style;
pub mod survey;
mod text;
pub mod words;

pub use account::Account;
pub use plan::{Plan, Wishes};
pub use style::Style;
pub use survey::{PlayedClip, Survey};
pub use words::Parts;

use sinew::graph::GraphError;
use sinew::strength::{Solved, StrengthError};
use sinew::{BoneId, ForeignMotion, MotionError, RecipeError, RecipeFile, Rig};
use sinew_check::CheckError;
use std::sync::Arc;

/// Why a character could not be livened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LivenError {
    /// The recipe does not fit the rig.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A clip cannot be read as asked.
    #[error(transparent)]
    Motion(#[from] MotionError),
    /// A motion does not fit.
    #[error(transparent)]
    Foreign(#[from] ForeignMotion),
    /// No gains were found.
    #[error(transparent)]
    Strength(#[from] StrengthError),
    /// It could not be measured.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The recipe cannot be read.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
}

/// A recipe made for a character.
#[derive(Clone, Debug)]
pub struct Livened {
    /// The recipe, with the reasons as comments.
    pub recipe: RecipeFile,
    /// What was done.
    pub account: Account,
    /// Its gains over all clips; `None` where it does nothing.
    pub solved: Option<Solved>,
}

/// Makes a recipe for a character: strengths are those over all of its clips, and the chosen ones are judged. `sprung` are bones that the player swings by itself. `progress` is told how much of
/// the work is done.
pub fn liven(
    rig: &Arc<Rig>,
    clips: &[PlayedClip<'_>],
    chosen: &[usize],
    sprung: &[BoneId],
    wishes: &Wishes,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Livened, LivenError> {
    let survey = survey::survey(rig, clips, sprung)?;
    let mut plan = plan::plan(&survey, wishes);
    let judged = judge::judge(rig, clips, chosen, &mut plan, progress)?;
    let (recipe, account) = (plan.recipe()?, Account::new(&survey, &plan, judged.clips));
    Ok(Livened { recipe, account, solved: judged.solved })
}
