//! What the user asks for: base, effects with their gains, maps, motion settings.
//!
//! [`Recipe`] is plain data that programs fill in; [`RecipeFile`] is the same as a `.sinew.toml` file, with every value
//! checked, its comments kept and its text open to small edits.
//!
//! ```
//! # use sinew::recipe::{Place, RecipeFile};
//! let text = r#"
//! version = 1                    # required
//! base = "dqs"                   # or another; with settings { type = "blend", factor = 0.5, map = "twist" }
//! riders = "move"                # or still: rigid parts just follow their bone
//! sewn = "auto"                  # or none: pieces that touch may part
//! collide = "auto"               # or none: cloth may go into the body
//! planted = "auto"               # or none, or what stays where it stands: ["@foot"]
//! rigid = "auto"                 # or none, or what never bends: ["@prop", "Sword*"]
//! normals = "auto"               # engine, exact, faces
//! maps = ["belly.map.json"]      # painted map files beside the recipe
//!
//! [hierarchy]                    # bones that follow another one than their parent; hierarchy = "plain": none does
//! "foot.L" = "shin.L"
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
//! gain = [[0.0, 0.0], [0.5, 1.0]]  # a number, or keys: from 0 to 1 in the first half second
//! root = 0.5                     # gain for the motion of the whole character
//! map = "belly"                  # painted map that multiplies the gain
//! rotation = 0.2
//! [effect.bones]                 # names and patterns; later lines win
//! "tail*" = 2.0
//! "ear.?" = { rotation = 1.5, translation = 0.0 }
//!
//! [[effect]]
//! type = "centrifugal-lift"
//! cone = { bone = "hips", gain = 10.0 }   # fitted to the skirt; or set by hand
//!
//! [[correction]]                 # after all effects, in this order
//! type = "volume"
//! shape = "organic"
//! [correction.bones]             # whose distance counts for the skin of the belly: not the legs'
//! "belly*" = ["spine*"]
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
//! | `effect`, `correction`, `surface_edit` | what stands under `[[effect]]`, `[[correction]]` and `[[edit]]` |
//! | `settings`, `rows` | what entries of the lists describe alike: parameters, maps, tables by bone; and back |
//! | `shared` | keys that all of a kind take |
//! | `strength` | how far effects are to move the skin, in place of a gain |
//! | `edit`, `splice` | changes that leave every other byte alone |
//! | `template` | a recipe that lists every base, effect, correction and parameter |
//!
//! What a base, an effect or a correction takes is said by its entry alone ([`crate::base::BASES`],
//! [`crate::registry::EFFECTS`], [`crate::correct::CORRECTIONS`]): nothing here knows one of them by name.
//! | `error` | faults with line, column, key and remedy |

mod correction;
mod document;
mod edit;
mod effect;
mod error;
mod parse;
mod rows;
mod settings;
mod shared;
mod splice;
mod strength;
mod surface_edit;
mod template;

pub use correction::CORRECTION_KEYS;
pub use document::RecipeFile;
pub use edit::{EditError, Literal, Place};
pub use effect::EFFECT_KEYS;
pub(crate) use effect::GAIN;
pub use error::{Fault, RecipeError};
pub use parse::VERSION;
pub use shared::{KeyKind, SharedKey};
pub use strength::{NoStrength, Strength, StrengthOver};

use crate::anatomy::Role;
use crate::base::{self, BaseEntry};
use crate::cone::Cone;
use crate::correct::surface_edit::Profile;
use crate::correct::{self, Correction};
use crate::graph::absent_roles;
use crate::param::{LONGEST, ValueError, Values};
use crate::registry::{self, Effect};
use crate::rig::Rig;
use crate::table::Tables;
use crate::text::wildcard;
use glam::DVec3;

/// A whole recipe.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Base skinning.
    pub base: BaseSpec,
    /// What happens to rigid parts.
    pub riders: Riders,
    /// Which pieces never bend.
    pub rigid: Rigid,
    /// Whether pieces that touch stay together.
    pub sewn: Sewn,
    /// Whether cloth and hair stay outside the body.
    pub collide: Collide,
    /// What stays where it stands on the ground.
    pub planted: Planted,
    /// How normals are made.
    pub normals: Normals,
    /// Which bone carries which, as effects see it.
    pub hierarchy: HierarchySpec,
    /// Bounds what all effects and bones together do to a point; each bone's own limit does not bound their sum.
    pub max_total: Option<TotalLimit>,
    /// How much soft parts are strained at most where they bend.
    pub max_strain: MaxStrain,
    /// How far all of it is to move the skin: the gains of all effects are scaled by one factor, once those effects
    /// that have a strength of their own are solved for.
    pub strength: Option<Strength>,
    /// Which clips strengths are measured over.
    pub strength_over: StrengthOver,
    /// Effects; they read the same skinned points, so their order does not matter.
    pub effects: Vec<EffectSpec>,
    /// Corrections, in the order they are made.
    pub corrections: Vec<CorrectionSpec>,
    /// Surface edits, after everything else; those driven by springs with the corrections of that name.
    pub edits: Vec<EditSpec>,
}

impl Recipe {
    /// The same without effects, corrections and edits.
    pub fn base_only(&self) -> Self {
        Self { strength: None, effects: Vec::new(), corrections: Vec::new(), edits: Vec::new(), ..self.clone() }
    }

    /// Whether gains are to be solved for, or set clip by clip, before it can be played ([`crate::strength::solve`]).
    pub fn is_unsolved(&self) -> bool {
        let is_unsolved = |effect: &EffectSpec| effect.strength.is_some() || !effect.clips.is_empty();
        self.strength.is_some() || self.effects.iter().any(is_unsolved)
    }

    /// Whether clips may have gains of their own once they are solved for.
    pub fn has_own_gains(&self) -> bool {
        self.strength_over != StrengthOver::All || self.effects.iter().any(|effect| !effect.clips.is_empty())
    }

    /// The same with the gains as they stand, whatever the clip.
    pub fn without_strength(&self) -> Self {
        let mut recipe = Self { strength: None, ..self.clone() };
        recipe.effects.iter_mut().for_each(|effect| {
            effect.strength = None;
            effect.clips.clear();
        });
        recipe
    }

    /// The same as a clip of that name has it.
    pub(crate) fn in_clip(&self, name: &str) -> Self {
        let mut recipe = self.clone();
        for effect in &mut recipe.effects {
            let last = effect.clips.iter().rev().find(|(pattern, _)| wildcard(pattern, name));
            let factor = last.map_or(1.0, |&(_, gain)| gain);
            effect.clips.clear();
            effect.scale_gain(factor);
        }
        recipe
    }

    /// The roles (`@tail`) that it names and a rig has no part of: what it says of them does nothing.
    pub fn absent_roles(&self, rig: &Rig) -> Vec<Role> {
        absent_roles(rig, self)
    }

    /// Whether it adds anything to its base.
    pub fn adds(&self) -> bool {
        !(self.effects.is_empty() && self.corrections.is_empty() && self.edits.is_empty())
    }
}

/// A bound on the sum of all displacements, before the corrections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TotalLimit {
    /// No point is moved farther, in sizes.
    pub length: f64,
    /// Bend smoothly into the limit instead of cutting there.
    pub soft: bool,
}

/// How much longer or shorter what is outermost gets where a soft part bends: 1.3 is by 30 %. Cloth and flesh are sheared by
/// no more than goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxStrain(f64);

impl MaxStrain {
    /// The least and the most.
    pub const RANGE: [f64; 2] = [1.01, 3.0];

    /// `None` beyond its range.
    pub fn new(strain: f64) -> Option<Self> {
        (Self::RANGE[0]..=Self::RANGE[1]).contains(&strain).then_some(Self(strain))
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for MaxStrain {
    fn default() -> Self {
        Self(1.28)
    }
}

/// The base skinning with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseSpec {
    /// The entry of [`base::BASES`].
    pub base: &'static BaseEntry,
    /// Its parameters.
    pub values: Values,
    /// Painted map that multiplies [`BaseEntry::mapped`].
    pub map: Option<String>,
    /// What it is told bone by bone.
    pub tables: Tables,
}

impl Default for BaseSpec {
    fn default() -> Self {
        Self::of(&base::LBS)
    }
}

impl BaseSpec {
    /// A base of the list with its defaults.
    pub fn new(name: &str) -> Option<Self> {
        base::find(name).map(Self::of)
    }

    /// A base with its defaults.
    pub fn of(base: &'static BaseEntry) -> Self {
        Self { base, values: Values::defaults(base.params), map: None, tables: Tables::none(base.tables) }
    }

    /// The same with a parameter set, as [`Values::set`] does.
    pub fn with(mut self, name: &str, value: f64) -> Result<Self, ValueError> {
        self.values.set(name, value)?;
        Ok(self)
    }
}

/// How normals and tangents are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normals {
    /// As engines do where there is nothing but the base; turned with the faces where there is more.
    #[default]
    Auto,
    /// By the blended matrix alone, as engines do, whatever the effects.
    Engine,
    /// By the Jacobian of base and displacements along the surface.
    Exact,
    /// From the faces of the result.
    Faces,
}

/// Which bone carries which, as effects see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HierarchySpec {
    /// As the body has it ([`crate::Rig::hierarchy`]).
    #[default]
    Body,
    /// As the file has it, and the papers.
    Plain,
    /// As the body has it, but for these bones, each with what it follows. `*` and `?` match any; later entries win.
    Told(Vec<(String, String)>),
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

/// Which separate pieces of a character no effect bends: each moves as one with the skin under it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rigid {
    /// Eyes, teeth, props, armour, parts of machines, and what one bone alone moves, unless it is soft or most of the
    /// character.
    #[default]
    Auto,
    /// None: every point is moved by itself.
    None,
    /// Those of these roles (`@prop`), bones or meshes; `*` and `?` match any.
    Only(Vec<String>),
}

/// What no effect moves while it stands on the ground ([`crate::stance`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Planted {
    /// Whatever stands. Nor does skin go through the ground.
    #[default]
    Auto,
    /// Nothing, and effects do not know the ground.
    None,
    /// These bones or roles (`@foot`); `*` and `?` match any.
    Only(Vec<String>),
}

/// Whether separate pieces of a character that touch at rest stay together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sewn {
    /// Where a piece touches what carries it, or what is rigid, it follows that; its free end moves as before.
    #[default]
    Auto,
    /// Every piece moves by itself.
    None,
}

/// Whether effects may move cloth and hair into the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collide {
    /// They are pushed out, and go no deeper than they are without effects.
    #[default]
    Auto,
    /// They move as effects say.
    None,
}

/// One effect with its settings.
#[derive(Clone, Debug)]
pub struct EffectSpec {
    /// The entry of the registry.
    pub effect: &'static Effect,
    /// Its parameters.
    pub values: Values,
    /// Gain over everything.
    pub gain: f64,
    /// How far the effect alone is to move the skin: its gain is solved for.
    pub strength: Option<Strength>,
    /// The papers' raw gains instead of scale-free ones; lengths are in scene units.
    pub raw: bool,
    /// Painted map that multiplies the gain.
    pub map: Option<String>,
    /// The parts it acts on: roles (`@tail`), bones or meshes, `*` and `?` match any; none is everywhere.
    pub parts: Vec<String>,
    /// Gains by bone name; `*` and `?` match any. Later entries win.
    pub bones: Vec<(String, BoneGain)>,
    /// Gains by clip name, on top of the gain; `*` and `?` match any. Later entries win.
    pub clips: Vec<(String, f64)>,
    /// Gain for the motion of the whole character: of the topmost animated bones.
    pub root: f64,
    /// Compose the rotations of successive bones instead of adding what they do: two opposite turns then cancel instead
    /// of scaling what lies beyond them. Off is what the papers do.
    pub compensate: bool,
    /// Let the effect act only along the normals of a cone.
    pub cone: Option<ConeSpec>,
    /// Parameters (or `gain`) that change over the clip; filters cannot.
    pub keys: Vec<(String, KeyCurve)>,
}

impl EffectSpec {
    /// Multiplies its gain, within what gains may be.
    pub fn scale_gain(&mut self, factor: f64) {
        self.gain = (self.gain * factor).clamp(GAIN.min, GAIN.max);
    }

    /// An effect of the registry with its defaults.
    pub fn new(name: &str) -> Option<Self> {
        registry::find(name).map(Self::of)
    }

    /// An effect as its paper has it: raw gains, hard limits, no filter, the paper's own measures; `None` for effects
    /// beyond the papers.
    pub fn paper(effect: &'static Effect) -> Option<Self> {
        let mut spec = Self { raw: true, ..Self::of(effect) };
        for (name, value) in effect.paper()? {
            let taken = spec.values.set(name, *value);
            debug_assert!(taken.is_ok(), "{name} of {}", effect.name());
        }
        spec.cone = spec.cone.map(|_| ConeSpec::paper());
        Some(spec)
    }

    /// An effect with its defaults.
    pub fn of(effect: &'static Effect) -> Self {
        let values = Values::defaults(effect.params());
        Self {
            effect,
            values,
            gain: 1.0,
            strength: None,
            raw: false,
            map: None,
            parts: Vec::new(),
            bones: Vec::new(),
            clips: Vec::new(),
            root: 1.0,
            compensate: false,
            cone: effect.needs_cone().then(ConeSpec::default),
            keys: Vec::new(),
        }
    }
}

/// One correction with its settings.
#[derive(Clone, Debug)]
pub struct CorrectionSpec {
    /// The entry of [`correct::CORRECTIONS`].
    pub correction: &'static Correction,
    /// Its parameters.
    pub values: Values,
    /// How much of it is done, from 0 to 1.
    pub gain: f64,
    /// Painted map that multiplies the correction's own; negative values count as 0.
    pub map: Option<String>,
    /// What it is told bone by bone.
    pub tables: Tables,
    /// Parameters of [`Correction::scaled`] and painted maps that multiply them.
    pub painted: Vec<(&'static str, String)>,
}

impl CorrectionSpec {
    /// A correction with its defaults.
    pub fn new(name: &str) -> Option<Self> {
        correct::find(name).map(|correction| Self {
            correction,
            values: Values::defaults(correction.params),
            gain: 1.0,
            map: None,
            tables: Tables::none(correction.tables),
            painted: Vec::new(),
        })
    }
}

/// A surface edit: lengths and turns of what hangs on the bones, at every pose.
#[derive(Clone, Debug, PartialEq)]
pub struct EditSpec {
    /// What it does.
    pub shape: EditShape,
    /// How much of it, over the clip.
    pub amount: KeyCurve,
    /// How strongly it counts against other edits and, driven by springs, against them. Not negative.
    pub stiffness: f64,
    /// What moves the skin there.
    pub drive: Drive,
    /// Only skin that hangs on bones of these names; all without any.
    pub bones: Vec<String>,
    /// Painted map that multiplies how much each point takes.
    pub map: Option<String>,
}

impl EditSpec {
    /// An edit with the defaults.
    pub fn new(shape: EditShape) -> Self {
        let amount = KeyCurve::constant(if matches!(shape, EditShape::Shape(_)) { 1.0 } else { 0.25 });
        Self { shape, amount, stiffness: 1.0, drive: Drive::Direct, bones: Vec::new(), map: None }
    }
}

/// What an edit does.
#[derive(Clone, Debug, PartialEq)]
pub enum EditShape {
    /// Shapes by name over time, at least one, times ascending; an empty name is the skin as it is. The shape NAME is
    /// the maps `NAME.length` (growth of scale vectors), `NAME.turn.x`, `.y`, `.z` (their rotation vector) and `NAME`
    /// (how far inside a point lies).
    Shape(Vec<(f64, String)>),
    /// Growth along bones.
    Radial(Profile),
    /// A wave that runs along a stroke.
    Wave {
        /// The stroke, in world space at the default transforms; two points at least.
        along: Vec<DVec3>,
        /// How far from it the wave fades out, in sizes.
        reach: f64,
        /// Crests along the stroke.
        crests: f64,
        /// How often a crest runs its own length per second; backwards below 0.
        frequency_hz: f64,
    },
}

/// What moves the skin to an edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drive {
    /// It is put there.
    #[default]
    Direct,
    /// The springs of the recipe's correction draw it there.
    Springs,
}

/// Settings of one bone: gains for what its translation and its rotation cause, and where squash has its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoneGain {
    /// For translation.
    pub translation: f64,
    /// For rotation.
    pub rotation: f64,
    /// Where the bone's centroid is, if not where the skin says.
    pub centroid: Option<Centroid>,
    /// Rotational squash acts about the centroid point instead of the medial axis.
    pub about_point: bool,
}

impl Default for BoneGain {
    fn default() -> Self {
        Self { translation: 1.0, rotation: 1.0, centroid: None, about_point: false }
    }
}

/// A centroid given by hand, in the bone's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Centroid {
    /// Added to the skin's own.
    Offset(DVec3),
    /// In its place.
    At(DVec3),
}

/// The cone an effect is filtered by (AS eq. 14): `ψ ↦ K χ (ψ·n) n`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConeSpec {
    /// The bone that carries the cone; by default the one that moves most of the effect's region.
    pub bone: Option<String>,
    /// The cone in that bone's frame; by default fitted to the region.
    pub cone: Option<Cone>,
    /// K, scale-free (in sizes) unless the effect is raw.
    pub gain: f64,
    /// Nothing moves farther, in sizes; of a raw effect in scene units.
    pub max_length: f64,
}

impl Default for ConeSpec {
    fn default() -> Self {
        Self { bone: None, cone: None, gain: 10.0, max_length: 0.3 }
    }
}

impl ConeSpec {
    /// As the paper has it: without a limit.
    pub fn paper() -> Self {
        Self { max_length: LONGEST, ..Self::default() }
    }
}

/// A value over the clip's time: straight between keys, held before the first and after the last.
///
/// # Invariants
/// At least one key; times finite and increasing; values finite.
#[derive(Debug, PartialEq)]
pub struct KeyCurve(Vec<(f64, f64)>);

impl Clone for KeyCurve {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// In memory that is there.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl KeyCurve {
    /// `None` unless the keys are as the invariants say.
    pub fn new(keys: Vec<(f64, f64)>) -> Option<Self> {
        let sound =
            keys.iter().all(|(t, v)| t.is_finite() && v.is_finite()) && keys.windows(2).all(|w| w[0].0 < w[1].0);
        (sound && !keys.is_empty()).then_some(Self(keys))
    }

    /// The same value at all times; 0 for one that is not finite.
    pub fn constant(value: f64) -> Self {
        Self(vec![(0.0, if value.is_finite() { value } else { 0.0 })])
    }

    /// (time, value) pairs.
    pub fn keys(&self) -> &[(f64, f64)] {
        &self.0
    }

    /// The value at `time`.
    pub fn at(&self, time: f64) -> f64 {
        let after = self.0.partition_point(|&(t, _)| t <= time);
        match (after.checked_sub(1).map(|i| self.0[i]), self.0.get(after)) {
            (None, Some(&(_, v))) | (Some((_, v)), None) => v,
            (Some((t0, v0)), Some(&(t1, v1))) => v0 + (v1 - v0) * ((time - t0) / (t1 - t0)),
            (None, None) => 0.0,
        }
    }
}
