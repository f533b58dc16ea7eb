//! Ready-made recipes, named as an animator would.
//!
//! Each is the text of a recipe with its comments, to be used as it is or to start from. They are scale-free and name
//! roles (`@tail`) but neither bones, maps nor clips, so they fit any rig. They say how far the skin is to move: the gains
//! are solved for over the clips ([`RecipeFile::solve`](crate::RecipeFile::solve)). Where there are none, as in a game that
//! poses bones by itself, [`Recipe::without_strength`](crate::Recipe::without_strength) plays them as they stand.
//!
//! ```
//! # use sinew::{presets, recipe::RecipeFile};
//! let recipe = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// A ready-made recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The recipe.
    pub text: &'static str,
}

static PRESETS: &[Preset] = &[
    Preset {
        name: "subtle",
        about: "Barely visible, but missed when it is gone",
        text: include_str!("presets/subtle.sinew.toml"),
    },
    Preset {
        name: "lively",
        about: "Drag, a short overshoot and some stretch: start with this one",
        text: include_str!("presets/lively.sinew.toml"),
    },
    Preset {
        name: "cartoon",
        about: "Strong squash and stretch, long drag, big overshoot",
        text: include_str!("presets/cartoon.sinew.toml"),
    },
    Preset {
        name: "jelly",
        about: "Everything swings on a spring and oscillates before it settles",
        text: include_str!("presets/jelly.sinew.toml"),
    },
    Preset {
        name: "heavy",
        about: "Slow mass that follows late, sinks at every landing and settles",
        text: include_str!("presets/heavy.sinew.toml"),
    },
    Preset {
        name: "cloth-twirl",
        about: "Skirts, capes and petals fly outward in a turn and trail behind it",
        text: include_str!("presets/cloth-twirl.sinew.toml"),
    },
    Preset {
        name: "ears-and-tail",
        about: "Ears, tails and other tips trail and oscillate; the body stays in place",
        text: include_str!("presets/ears-and-tail.sinew.toml"),
    },
    Preset {
        name: "anticipate",
        about: "Pulls back as an action starts, then leans ahead of it",
        text: include_str!("presets/anticipate.sinew.toml"),
    },
];

/// Every preset, in the order of the manual.
pub fn names() -> &'static [Preset] {
    PRESETS
}

/// The recipe of that name.
pub fn get(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|preset| preset.name == name).map(|preset| preset.text)
}
