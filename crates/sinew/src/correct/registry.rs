//! The list of corrections, and one as a recipe asks for it.

use super::bound::{Binding, Bound, Factors};
use super::edits::{BULGE_PARAMS, Bulge};
use super::fold_over::{FOLD_OVER_PARAMS, FoldOver};
use super::muscle_spec::{BoundMuscle, FELT};
use super::springs::{SPRING_PARAMS, STIFFNESSES, SpringSkin};
use super::volume::{VOLUME_PARAMS, Volume};
use super::vortex_muscles::{MUSCLE_PARAMS, Muscles};
use crate::param::{ParamSpec, Values};
use crate::simd::Lanes;
use crate::skeleton::BoneId;
use std::fmt;

/// A correction, self-describing.
pub struct Correction {
    /// Name in recipes.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Its parameters, beside the `gain` that all have.
    pub params: &'static [ParamSpec],
    /// Whether it takes a painted map and a table of bones.
    pub takes_maps: bool,
    /// What its table of bones says, where it takes one: bones by bone.
    pub bones_about: &'static str,
    /// Parameters that bones and painted maps may multiply.
    pub scaled: &'static [&'static str],
    pub(super) bind: fn(&Binding<'_>) -> Box<dyn Bound>,
}

impl fmt::Debug for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Correction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every correction, in the order of the manual.
pub static CORRECTIONS: &[Correction] = &[
    Correction {
        name: "volume",
        about: "gives back the volume that bending and twisting take, as bulges of soft tissue",
        params: VOLUME_PARAMS,
        takes_maps: true,
        bones_about: "whose distance counts for the skin of a bone; all without it",
        scaled: &[],
        bind: |binding| Box::new(Volume::bind(binding)),
    },
    Correction {
        name: "fold-over",
        about: "keeps the skin of two limbs in contact where a joint bends, instead of through each other",
        params: FOLD_OVER_PARAMS,
        takes_maps: false,
        bones_about: "",
        scaled: &[],
        bind: |binding| Box::new(FoldOver::bind(binding)),
    },
    Correction {
        name: "muscles",
        about: "flesh lags behind the bones, swings on and bulges where joints bend",
        params: MUSCLE_PARAMS,
        takes_maps: true,
        bones_about: "bones with a muscle, and those whose bending contracts it; fleshy places without it",
        scaled: &[],
        bind: |binding| Box::new(Muscles::bind(binding)),
    },
    Correction {
        name: "springs",
        about: "draws the skin to the balance of springs between neighbours and bones: smooth bends and twists from any base",
        params: SPRING_PARAMS,
        takes_maps: true,
        bones_about: "bones that the skin of a bone hangs on; its own without it",
        scaled: STIFFNESSES,
        bind: |binding| Box::new(SpringSkin::bind(binding)),
    },
    Correction {
        name: "bulge",
        about: "makes limbs grow or shrink along their bones",
        params: BULGE_PARAMS,
        takes_maps: true,
        bones_about: "bones that the skin of a bone hangs on; its own without it",
        scaled: &[],
        bind: |binding| Box::new(Bulge::bind(binding)),
    },
];

/// The correction of that name.
pub fn find(name: &str) -> Option<&'static Correction> {
    CORRECTIONS.iter().find(|correction| correction.name == name)
}

/// One correction as a recipe asks for it, with its names looked up. Holds nothing but numbers where the recipe names no
/// bones.
pub(crate) struct Asked<'a> {
    pub correction: &'static Correction,
    pub values: &'a Values,
    pub gain: f64,
    pub painted: Option<&'a [Lanes]>,
    /// Bones, and those that count for the distance of what follows them; later entries win.
    pub distances: Vec<(Vec<BoneId>, Vec<BoneId>)>,
    /// Muscles by bone, beside those of `distances`.
    pub muscles: Vec<BoundMuscle>,
    /// Where what muscles feel stands among the filtered signals, from now back.
    pub signals: Vec<[usize; FELT]>,
    /// Bones and factors on parameters; later entries win.
    pub factors: Vec<(Vec<BoneId>, Factors)>,
    /// Parameters and painted factors on them.
    pub painted_factors: Vec<(&'static str, &'a [Lanes])>,
}
