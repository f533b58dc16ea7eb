//! Ready-made recipes, named as an animator would.
//!
//! Each is the text of a recipe with its comments, to be used as it is or to start from. They are scale-free and name
//! neither bones, maps nor clips, so they fit any rig.
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
        about: "A breath of life that nobody sees and everybody misses",
        text: include_str!("presets/subtle.sinew.toml"),
    },
    Preset {
        name: "lively",
        about: "Drag, a short overshoot, some stretch: the one to start with",
        text: include_str!("presets/lively.sinew.toml"),
    },
    Preset {
        name: "cartoon",
        about: "Squash and stretch seen from the back row, long drag, big overshoot",
        text: include_str!("presets/cartoon.sinew.toml"),
    },
    Preset {
        name: "jelly",
        about: "Everything swings on a spring and rings before it rests",
        text: include_str!("presets/jelly.sinew.toml"),
    },
    Preset {
        name: "heavy",
        about: "Slow mass that comes late, sinks at every landing and settles",
        text: include_str!("presets/heavy.sinew.toml"),
    },
    Preset {
        name: "cloth-twirl",
        about: "Skirts, capes and petals thrown outward by a turn and trailing it",
        text: include_str!("presets/cloth-twirl.sinew.toml"),
    },
    Preset {
        name: "ears-and-tail",
        about: "Far and light parts trail and ring, bodies keep their place",
        text: include_str!("presets/ears-and-tail.sinew.toml"),
    },
    Preset {
        name: "anticipate",
        about: "Pulls back as an action sets off, then leans ahead of it",
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
