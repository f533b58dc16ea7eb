//! What the user asks for: base, effects with their gains, maps, motion settings.
//!
//! [`Recipe`] is plain data that programs fill in; [`RecipeFile`] is the same as a `.sinew.toml` file, with every value
//! checked, its comments kept and its text open to small edits.
//!
//! ```
//! # use sinew::recipe::{Place, RecipeFile};
//! let text = r#"
//! version = 1                    # required
//! base = "dqs"                   # lbs, dqs, rigid, blend; or { type = "blend", factor = 0.5, map = "twist" }
//! riders = "move"                # or still: rigid parts just follow their bone
//! maps = ["belly.map.json"]      # painted map files beside the recipe
//!
//! [motion]                       # for all clips
//! smoothing = "auto"             # or seconds; 0 = exact derivatives
//!
//! [clip."Run*"]                  # over [motion], for clips whose name matches
//! loop = "yes"                   # auto, yes, no
//! teleports = [0.5]              # seconds
//!
//! [[effect]]
//! type = "floppy"
//! gain = 1.0                     # over everything
//! map = "belly"                  # painted map that multiplies the gain
//! rotation = 0.2
//! [effect.bones]                 # names and patterns; later lines win
//! "tail*" = 2.0
//! "ear.?" = { rotation = 1.5, translation = 0.0 }
//! "#;
//! let mut file = RecipeFile::parse(text)?;
//! assert_eq!(file.motion("Run fast").teleports, [0.5]);
//!
//! file.set(Place::Effect(0, "rotation"), 0.3)?;
//! assert_eq!(file.to_string(), text.replace("rotation = 0.2", "rotation = 0.3"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `document` | the file: its text and what the text means |
//! | `parse` | text → meaning, or the first fault in file order |
//! | `edit`, `splice` | changes that leave every other byte alone |
//! | `template` | a recipe that lists every effect and parameter |
//! | `error` | faults with line, column, key and remedy |

mod document;
mod edit;
mod error;
mod parse;
mod splice;
mod template;

pub use document::RecipeFile;
pub use edit::{EditError, Literal, Place};
pub use error::{Fault, RecipeError};
pub use parse::VERSION;

use crate::param::Values;
use crate::registry::{self, Effect};

/// A whole recipe.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Base skinning.
    pub base: BaseSpec,
    /// What happens to rigid parts.
    pub riders: Riders,
    /// Effects; they read the same skinned points, so their order does not matter.
    pub effects: Vec<EffectSpec>,
}

/// Which base skinning.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BaseSpec {
    /// Linear blend skinning, as engines do.
    #[default]
    Lbs,
    /// Dual quaternion skinning.
    Dqs {
        /// Choose quaternion signs by each vertex's largest influence instead of by the parent bone.
        pivot: bool,
    },
    /// Between the two.
    Blend {
        /// 0 = LBS, 1 = DQS.
        factor: f64,
        /// Painted map that multiplies the factor.
        map: Option<String>,
        /// As for DQS.
        pivot: bool,
    },
    /// Largest influence only.
    Rigid,
}

/// What happens to unskinned meshes that follow a bone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Riders {
    /// They are deformed like everything else.
    #[default]
    Move,
    /// They follow their bone rigidly.
    Still,
}

/// One effect with its settings.
#[derive(Clone, Debug)]
pub struct EffectSpec {
    /// The entry of the registry.
    pub effect: &'static dyn Effect,
    /// Its parameters.
    pub values: Values,
    /// Gain over everything.
    pub gain: f64,
    /// The papers' raw gains instead of scale-free ones.
    pub raw: bool,
    /// Painted map that multiplies the gain.
    pub map: Option<String>,
    /// Gains by bone name; `*` and `?` match any. Later entries win.
    pub bones: Vec<(String, BoneGain)>,
}

impl EffectSpec {
    /// An effect of the registry with its defaults.
    pub fn new(name: &str) -> Option<Self> {
        let effect = registry::find(name)?;
        let values = Values::defaults(effect.params());
        Some(Self { effect, values, gain: 1.0, raw: false, map: None, bones: Vec::new() })
    }
}

/// Gain of one bone, for what its translation and its rotation cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoneGain {
    /// For translation.
    pub translation: f64,
    /// For rotation.
    pub rotation: f64,
}
