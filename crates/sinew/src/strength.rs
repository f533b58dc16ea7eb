//! Gains from strengths: how strong effects must be set to move the skin as far as a recipe asks for.
//!
//! The strength of a clip is what `sinew check` calls visible strength: the 95th percentile over its frames, 60 a second, of
//! the farthest that a point is moved from where it is at the same frame without effects, as a share of its character's
//! size. Of several clips it is that of the liveliest. An effect with a strength of its own is measured alone, so that
//! other effects do not change its gain, and on the parts that it acts on; then the strength of the recipe scales all gains
//! by one factor, with everything at work.
//!
//! Balanced, a clip that the common gain moves by r gets the gain that moves it by √(r S), S being what the liveliest is
//! moved by: between its own strength and that of the liveliest, and as a matter of ratios halfway.
//!
//! Displacement is linear in the gain where nothing limits it, and bent by limits, turns and corrections where something
//! does: the gain is found by regula falsi with halved weights (Illinois) between gains that are known to be too small and
//! too large, which takes two measurements in the first case and a few more in the second. A percentile of few frames is
//! that of the moments they happen to meet, so that all frames are measured; but that is done once, near the end: it is
//! begun with one of four, and what lies below the percentile does not count, so that only the frames that lead are asked
//! again and again.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let zoo = sinew_zoo::build("calf")?;
//! # let (rig, _) = sinew::Rig::build(&zoo.raw)?;
//! # let (rig, clips) = (std::sync::Arc::new(rig), zoo.clips);
//! use sinew::{RecipeFile, Stage};
//!
//! let recipe = RecipeFile::parse("version = 1\nstrength = '4 %'\n[[effect]]\ntype = 'floppy'")?;
//! let solved = recipe.solve(&rig, &clips)?;
//! // such as: strength 4 %: gain 1.83 over 3 clips
//! let words: Vec<String> = solved.findings().map(ToString::to_string).collect();
//! # assert!(words[0].starts_with("strength 4 %: gain "), "{words:?}");
//! let stage = Stage::new(&rig, solved.recipe(0))?;
//! # let _ = stage;
//! # Ok(())
//! # }
//! ```
//!
//! Oracle: a character that is only shifted, without limits, is moved by gain × what it is moved by at gain 1.

use crate::clip::Clip;
use crate::graph::{GraphError, Outputs, Parts};
use crate::motion::{Motion, MotionError, MotionReport, MotionSettings};
use crate::recipe::{EffectSpec, GAIN, Recipe, RecipeFile, Strength, StrengthOver};
use crate::rig::Rig;
use crate::stage::{ForeignMotion, Stage, Workspace};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Frames a second.
const RATE: f64 = 60.0;
/// Of so many frames one is looked at to begin with.
const THINNED: usize = 4;
/// Frames of a clip, at most: longer ones are looked at less often, which their percentile does not notice.
const MOST_FRAMES: f64 = 240.0;
/// Frames by which strength is told: those beyond are moments.
const PERCENTILE: f64 = 0.95;
/// How near the strength found is to that asked for, of it.
const PRECISION: f64 = 1e-4;
/// Share of what the liveliest clip is moved by, below which a clip is still: what moves in it is noise.
const NOISE: f64 = 0.01;
/// The same where clips are balanced: nobody sees the difference, and it saves measurements.
const COARSE: f64 = 0.02;
/// Frames that lead, for each that counts, and some more: others may come to the front at another gain.
const LEADING: usize = 2;
const MORE_LEADING: usize = 4;
/// Clips that lead: those that are moved by this share of the most.
const LEADING_CLIP: f64 = 0.6;
/// Times that those that lead are chosen, at most.
const MOST_CHOICES: usize = 4;
/// Gains tried, at most.
const MOST_GAINS: usize = 40;
/// Share of the size: what is moved by less is not moved but rounded.
const STILL: f64 = 1e-6;
/// Share of what the largest gain gives, where even that is too little: limits are approached without end, and what is
/// nearer to them costs more in jerks than it gives in strength.
const KNEE: f64 = 0.9;

/// Why no gains were found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StrengthError {
    /// The recipe does not fit the rig.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A clip cannot be read as asked.
    #[error(transparent)]
    Motion(#[from] MotionError),
    /// A motion does not fit.
    #[error(transparent)]
    Foreign(#[from] ForeignMotion),
}

/// A recipe with gains in place of strengths.
#[derive(Clone, Debug)]
pub struct Solved {
    /// One for all clips, or one for each.
    tuned: Vec<Tuned>,
}

#[derive(Clone, Debug)]
struct Tuned {
    recipe: Recipe,
    found: Vec<Finding>,
}

impl Solved {
    /// The recipe to play the clip of that index by, in the order they were given; beyond them, that of the last.
    pub fn recipe(&self, clip: usize) -> &Recipe {
        &self.tuned[clip.min(self.tuned.len() - 1)].recipe
    }

    /// The gains found: those of single effects, then that of the recipe; clip by clip where each has its own. An effect on
    /// parts that the rig does not have is not among them.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.tuned.iter().flat_map(|tuned| &tuned.found)
    }

    /// The gains found, times those that a recipe of the same effects has for clips by name: for `solve` without them and
    /// this are `solve` with them.
    pub fn in_clips(&self, recipe: &Recipe, clips: &[(&Clip, MotionSettings)]) -> Self {
        if recipe.effects.iter().all(|effect| effect.clips.is_empty()) {
            return self.clone();
        }
        let named = |tuned: &Tuned| {
            let mut tuned = tuned.clone();
            for (effect, asked) in tuned.recipe.effects.iter_mut().zip(&recipe.effects) {
                effect.clips.clone_from(&asked.clips);
            }
            tuned
        };
        if clips.is_empty() {
            let without = |tuned: &Tuned| Tuned { recipe: tuned.recipe.without_strength(), ..tuned.clone() };
            return Self { tuned: self.tuned.iter().map(without).collect() };
        }
        let of_clip = |(index, (clip, _)): (usize, &(&Clip, MotionSettings))| {
            let Tuned { recipe, found } = named(&self.tuned[index.min(self.tuned.len() - 1)]);
            Tuned { recipe: recipe.in_clip(&clip.name), found }
        };
        Self { tuned: clips.iter().enumerate().map(of_clip).collect() }
    }

    /// The gains of some of the effects: what `solve` finds for a recipe of those alone, since an effect with a strength of its own
    /// is measured alone. `None` where the recipe as a whole asks for a strength, which all have a part in.
    pub fn of_effects(&self, is_kept: impl Fn(usize) -> bool) -> Option<Self> {
        let of = |Tuned { recipe, found }: &Tuned| {
            let place = |effect: usize| (0..effect).filter(|&before| is_kept(before)).count();
            let kept = |finding: &Finding| {
                let (effect, name) = finding.effect?;
                is_kept(effect).then(|| Finding { effect: Some((place(effect), name)), ..finding.clone() })
            };
            let mut recipe = recipe.clone();
            let mut index = 0;
            recipe.effects.retain(|_| {
                index += 1;
                is_kept(index - 1)
            });
            Tuned { recipe, found: found.iter().filter_map(kept).collect() }
        };
        let has_own = |tuned: &Tuned| tuned.found.iter().all(|finding| finding.effect.is_some());
        self.tuned.iter().all(has_own).then(|| Self { tuned: self.tuned.iter().map(of).collect() })
    }

    /// The gains found that the clip of that index is played by.
    pub fn findings_of(&self, clip: usize) -> &[Finding] {
        &self.tuned[clip.min(self.tuned.len() - 1)].found
    }
}

/// A gain found for a strength.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The effect by index and name; `None` is the whole recipe, whose gain is a factor on those of all effects.
    pub effect: Option<(usize, &'static str)>,
    /// What was asked for.
    pub wanted: Strength,
    /// The gain: finite, and not negative.
    pub gain: f64,
    /// The strength that it gives.
    pub reached: f64,
    /// Whether that is what was asked for, and why not.
    pub outcome: Outcome,
    /// What it was measured over.
    pub over: Over,
}

/// Whether a strength was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// It was.
    Reached,
    /// It was in the liveliest clip; this one is calmer, as it should be.
    Balanced,
    /// Nothing moves that effects could follow; the gain is 1.
    Still,
    /// The largest gain there is gives no more than this; the gain found gives nine tenths of it.
    TooWeak {
        /// Strength at the largest gain.
        most: f64,
    },
    /// Corrections and edits alone move the skin farther; effects are off.
    TooStrong,
}

/// Clips a strength was measured over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// So many together.
    All(usize),
    /// One, by its name.
    Clip(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { effect, wanted, gain, reached, outcome, over } = self;
        let percent = |share: f64| format!("{} %", three_digits(100.0 * share));
        write!(f, "strength {wanted}")?;
        if let Some((index, name)) = effect {
            write!(f, " of effect {index} ({name})")?;
        }
        let gain = three_digits(*gain);
        match outcome {
            Outcome::Reached => write!(f, ": gain {gain}")?,
            Outcome::Balanced => write!(f, ": gain {gain} gives {}", percent(*reached))?,
            Outcome::Still => write!(f, ": nothing moves that effects could follow; gain {gain}")?,
            Outcome::TooWeak { most } => write!(
                f,
                ": not reached, the largest gain gives {}; gain {gain} gives {}",
                percent(*most),
                percent(*reached)
            )?,
            Outcome::TooStrong => write!(
                f,
                ": corrections and edits alone move the skin by {}; gain {gain}, effects are off",
                percent(*reached)
            )?,
        }
        match over {
            Over::All(1) => write!(f, " over 1 clip"),
            Over::All(count) => write!(f, " over {count} clips"),
            Over::Clip(name) => write!(f, " in clip \"{name}\""),
        }
    }
}

/// As many decimals as three digits take.
fn three_digits(value: f64) -> String {
    let whole = if value.abs() >= 1.0 { value.abs().log10().floor() as usize + 1 } else { 0 };
    let decimals = match value.abs() {
        0.0 => 0,
        small if small < 1.0 => (3.0 - small.log10().floor()).clamp(3.0, 9.0) as usize - 1,
        _ => 3usize.saturating_sub(whole),
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Finds the gains for the strengths that a recipe asks for, over all of these clips together, each by itself or balanced,
/// as it says. A recipe that asks for none stays as it is. Frames are evaluated on the caller's threads; the gains are the same
/// to the bit on any number of them, and in any order of the clips.
pub fn solve(rig: &Arc<Rig>, recipe: &Recipe, clips: &[(&Clip, MotionSettings)]) -> Result<Solved, StrengthError> {
    let tuned = match recipe.strength_over {
        StrengthOver::Each if !clips.is_empty() => {
            let one = |clip: &(&Clip, MotionSettings)| {
                let subject = Subject::new(rig, recipe, std::slice::from_ref(clip))?;
                tune(&subject, recipe, Over::Clip(clip.0.name.clone()))
            };
            clips.iter().map(one).collect::<Result<_, _>>()?
        }
        StrengthOver::Balanced if clips.len() > 1 => balance(&Subject::new(rig, recipe, clips)?, recipe)?,
        _ => vec![tune(&Subject::new(rig, recipe, clips)?, recipe, Over::All(clips.len()))?],
    };
    Ok(Solved { tuned }.in_clips(recipe, clips))
}

impl RecipeFile {
    /// The recipe to play these clips by, with gains in place of strengths ([`solve`]).
    pub fn solve(&self, rig: &Arc<Rig>, clips: &[Clip]) -> Result<Solved, StrengthError> {
        let settings: Vec<_> = clips.iter().map(|clip| (clip, self.motion(&clip.name))).collect();
        solve(rig, self.recipe(), &settings)
    }
}

/// What is measured.
struct Subject<'a> {
    rig: &'a Arc<Rig>,
    clips: &'a [(&'a Clip, MotionSettings)],
    /// The clips without effects, which stand as they do with any.
    bare: Vec<Arc<Motion>>,
}

impl<'a> Subject<'a> {
    fn new(rig: &'a Arc<Rig>, recipe: &Recipe, clips: &'a [(&'a Clip, MotionSettings)]) -> Result<Self, StrengthError> {
        let mut bare = Vec::new();
        if recipe.is_unsolved() {
            let stage = Stage::new(rig, &recipe.base_only())?;
            let bind =
                |(clip, settings): &(&Clip, MotionSettings)| Ok(Arc::clone(stage.motion(clip, settings)?.motion()));
            bare = clips.par_iter().map(bind).collect::<Result<_, StrengthError>>()?;
        }
        Ok(Self { rig, clips, bare })
    }
}

/// The recipe with gains for all of the clips together.
fn tune(subject: &Subject<'_>, asked: &Recipe, over: Over) -> Result<Tuned, StrengthError> {
    let mut tuned = Tuned::start(asked);
    for (effect, wanted) in asked_strengths(asked) {
        let search = Search::new(subject, alone(asked, &tuned.recipe, effect), wanted.share(), PRECISION)?;
        if let Some(mut search) = search {
            tuned.take(effect, wanted, search.gain(1.0)?, over.clone());
        }
    }
    Ok(tuned)
}

/// Gains clip by clip: the liveliest as strong as asked for, the others between that and what its gain makes of them.
fn balance(subject: &Subject<'_>, asked: &Recipe) -> Result<Vec<Tuned>, StrengthError> {
    let clips = subject.clips;
    let mut common = Tuned::start(asked);
    let mut all = vec![common.clone(); clips.len()];
    for (effect, wanted) in asked_strengths(asked) {
        let search = Search::new(subject, alone(asked, &common.recipe, effect), wanted.share(), COARSE)?;
        let Some(mut search) = search else { continue };
        let (gain, reached, outcome) = search.gain(1.0)?;
        common.take(effect, wanted, (gain, reached, outcome), Over::All(clips.len()));
        for ((index, tuned), raw) in all.iter_mut().enumerate().zip(search.by_clip(gain)?) {
            let answer = if raw >= reached || gain == 0.0 || outcome == Outcome::Still {
                (gain, reached, outcome)
            } else if raw < NOISE * reached {
                (gain, raw, Outcome::Still)
            } else {
                let share = (raw * reached).sqrt();
                search.narrow(index, alone(asked, &tuned.recipe, effect), share);
                let (gain, reached, outcome) = search.near(gain * share / raw)?;
                (gain, reached, if outcome == Outcome::Reached { Outcome::Balanced } else { outcome })
            };
            tuned.take(effect, wanted, answer, Over::Clip(clips[index].0.name.clone()));
        }
    }
    Ok(all)
}

/// The effects with a strength of their own, then the recipe, with what they ask for.
fn asked_strengths(asked: &Recipe) -> impl Iterator<Item = (Option<usize>, Strength)> {
    let of_effect = |(index, spec): (usize, &EffectSpec)| Some((Some(index), spec.strength?));
    let of_recipe = asked.strength.map(|strength| (None, strength));
    asked.effects.iter().enumerate().filter_map(of_effect).chain(of_recipe)
}

/// What is measured: an effect alone, or the recipe as it is tuned so far.
fn alone(asked: &Recipe, tuned: &Recipe, effect: Option<usize>) -> Recipe {
    let Some(effect) = effect else { return tuned.clone() };
    let effect = EffectSpec { strength: None, gain: 1.0, clips: Vec::new(), ..asked.effects[effect].clone() };
    Recipe { effects: vec![effect], corrections: Vec::new(), edits: Vec::new(), strength: None, ..asked.clone() }
}

impl Tuned {
    /// Nothing found yet.
    fn start(asked: &Recipe) -> Self {
        Self { recipe: asked.without_strength(), found: Vec::new() }
    }

    /// Takes over a gain that was found.
    fn take(&mut self, effect: Option<usize>, wanted: Strength, answer: (f64, f64, Outcome), over: Over) {
        let (gain, reached, outcome) = answer;
        match effect {
            Some(effect) => self.recipe.effects[effect].gain = gain,
            None => scale(&self.recipe.clone(), gain, &mut self.recipe),
        }
        let effect = effect.map(|effect| (effect, self.recipe.effects[effect].effect.name()));
        self.found.push(Finding { effect, wanted, gain, reached, outcome, over });
    }
}

/// The gains of a recipe times a factor, within what a gain may be.
fn scale(recipe: &Recipe, factor: f64, out: &mut Recipe) {
    for (spec, out) in recipe.effects.iter().zip(&mut out.effects) {
        out.gain = (factor * spec.gain).clamp(GAIN.min, GAIN.max);
    }
}

/// The largest gain of an effect over its clip.
fn largest_gain(spec: &EffectSpec) -> f64 {
    let keyed = spec.keys.iter().find(|(key, _)| key == "gain");
    let peak = |keys: &[(f64, f64)]| keys.iter().fold(0.0, |most: f64, key| most.max(key.1.abs()));
    (spec.gain * keyed.map_or(1.0, |(_, curve)| peak(curve.keys()))).abs()
}

/// The search for one gain.
struct Search {
    meter: Meter,
    recipe: Recipe,
    /// The recipe as it is tried.
    tried: Recipe,
    wanted: f64,
    /// How near to that is near enough, of it.
    precision: f64,
    /// The largest factor with which all gains are gains.
    ceiling: f64,
    /// Strength without effects, clip by clip.
    floors: Vec<f64>,
    /// The gain with which all frames were measured last, and what it gave clip by clip.
    last: (f64, Vec<f64>),
}

impl Search {
    /// `None` where all effects act on parts that the rig does not have.
    fn new(subject: &Subject<'_>, recipe: Recipe, wanted: f64, precision: f64) -> Result<Option<Self>, StrengthError> {
        let seen = seen(subject.rig, &recipe)?;
        if seen.is_empty() {
            return Ok(None);
        }
        let floors = if recipe.corrections.is_empty() && recipe.edits.is_empty() {
            vec![0.0; subject.clips.len()]
        } else {
            let bare = Recipe { effects: Vec::new(), ..recipe.clone() };
            Meter::new(subject, &bare, seen.clone())?.by_clip()?
        };
        let (meter, last) = (Meter::new(subject, &recipe, seen)?, (f64::NAN, Vec::new()));
        let (tried, ceiling) = (recipe.clone(), ceiling(&recipe));
        Ok(Some(Self { meter, recipe, tried, wanted, precision, ceiling, floors, last }))
    }

    /// From here on for one clip alone, by another recipe that differs in its gains.
    fn narrow(&mut self, clip: usize, recipe: Recipe, wanted: f64) {
        self.meter.follow_leaders(Some(clip));
        self.ceiling = ceiling(&recipe);
        (self.recipe, self.wanted) = (recipe, wanted);
    }

    /// Strength without effects.
    fn floor(&self) -> f64 {
        self.meter.only.map_or_else(|| most(&self.floors), |clip| self.floors[clip])
    }

    fn measure(&mut self, gain: f64) -> Result<f64, StrengthError> {
        scale(&self.recipe, gain, &mut self.tried);
        self.meter.follow(&self.tried)?;
        Ok(most(&self.meter.by_clip()?))
    }

    /// The same by all frames of all clips, which tells those that lead.
    fn measure_all(&mut self, gain: f64) -> Result<f64, StrengthError> {
        if self.last.0 != gain {
            scale(&self.recipe, gain, &mut self.tried);
            self.meter.follow(&self.tried)?;
            self.last = (gain, self.meter.all_by_clip(1)?);
        }
        Ok(most(&self.last.1))
    }

    /// The strength that a gain gives, clip by clip.
    fn by_clip(&mut self, gain: f64) -> Result<Vec<f64>, StrengthError> {
        self.measure_all(gain)?;
        Ok(self.last.1.clone())
    }

    /// The gain, the strength it gives, and whether that is what is wanted; `guess` is the first that is tried.
    fn gain(&mut self, guess: f64) -> Result<(f64, f64, Outcome), StrengthError> {
        let mut found = (guess, 0.0, Outcome::Still);
        for choice in 0..MOST_CHOICES {
            if choice == 0 {
                scale(&self.recipe, self.ceiling.min(found.0), &mut self.tried);
                self.meter.follow(&self.tried)?;
                self.meter.all_by_clip(THINNED)?;
            }
            self.meter.follow_leaders(None);
            let wanted = self.wanted;
            found = self.near(found.0)?;
            // Where limits are in the way less is wanted.
            let wanted = std::mem::replace(&mut self.wanted, wanted);
            let all = self.measure_all(found.0)?;
            let is_it = (all - wanted).abs() <= self.precision * wanted;
            found.1 = if all.is_finite() { all } else { found.1 };
            // Of what limits hold at one value none leads, and others may once the gain is smaller.
            if is_it || matches!(found.2, Outcome::Still | Outcome::TooStrong) {
                break;
            }
        }
        Ok(found)
    }

    /// The same by the frames that lead.
    fn near(&mut self, guess: f64) -> Result<(f64, f64, Outcome), StrengthError> {
        let (wanted, ceiling, floor) = (self.wanted, self.ceiling, self.floor());
        let start = ceiling.min(guess);
        if wanted <= floor {
            let outcome = if floor > wanted * (1.0 + PRECISION) { Outcome::TooStrong } else { Outcome::Reached };
            return Ok((0.0, floor, outcome));
        }
        let first = self.measure(start)?;
        if (first - floor).abs() <= STILL {
            return Ok((start, first, Outcome::Still));
        }
        let mut low = (0.0, floor);
        let mut high = (start, first);
        // Straight on from what is known, and at least twice as far where that has fallen short.
        let mut least = 1.0;
        while high.1 < wanted && !self.is_near(high.1) {
            if high.0 >= ceiling {
                let most = high.1;
                self.wanted = KNEE * most;
                let low = if self.wanted > floor {
                    (0.0, floor)
                } else {
                    return Ok((start, first, Outcome::TooWeak { most }));
                };
                let (gain, reached) = self.between(low, high)?;
                return Ok((gain, reached, Outcome::TooWeak { most }));
            }
            let (gain, strength) = high;
            let slope = if strength > floor { (wanted - floor) / (strength - floor) } else { f64::INFINITY };
            low = high;
            let next = (gain * slope.max(least)).min(ceiling);
            high = (next, self.measure(next)?);
            least = 2.0;
        }
        let (gain, reached) = self.between(low, high)?;
        Ok((gain, reached, Outcome::Reached))
    }

    fn is_near(&self, strength: f64) -> bool {
        (strength - self.wanted).abs() <= self.precision * self.wanted
    }

    /// The gain between one that is too small and one that is not.
    fn between(&mut self, mut low: (f64, f64), mut high: (f64, f64)) -> Result<(f64, f64), StrengthError> {
        let wanted = self.wanted;
        // What they are off by; halved where an end has stayed, so that the other one comes nearer.
        let (mut below, mut above) = (wanted - low.1, high.1 - wanted);
        let mut stayed = 0;
        for _ in 0..MOST_GAINS {
            if self.is_near(high.1) {
                return Ok(high);
            }
            if self.is_near(low.1) {
                return Ok(low);
            }
            let width = high.0 - low.0;
            let share = if above.is_finite() { below / (below + above) } else { 0.5 };
            let gain = low.0 + width * share.clamp(0.01, 0.99);
            let strength = self.measure(gain)?;
            if strength < wanted {
                (low, below) = ((gain, strength), wanted - strength);
                above = if stayed == 1 { above / 2.0 } else { high.1 - wanted };
                stayed = 1;
            } else {
                (high, above) = ((gain, strength), strength - wanted);
                below = if stayed == -1 { below / 2.0 } else { wanted - low.1 };
                stayed = -1;
            }
        }
        Ok(if wanted - low.1 < high.1 - wanted { low } else { high })
    }
}

/// The largest factor with which all gains of a recipe are gains.
fn ceiling(recipe: &Recipe) -> f64 {
    let largest = recipe.effects.iter().map(largest_gain).fold(0.0, f64::max);
    if largest > 0.0 { GAIN.max / largest } else { 1.0 }
}

/// What a recipe does to clips, measured.
struct Meter {
    stage: Stage,
    motions: Vec<Arc<Motion>>,
    /// The clip that is measured, where it is not all of them.
    only: Option<usize>,
    /// Clip and time of all frames, clip after clip.
    frames: Vec<(usize, f64)>,
    /// Per clip: its frames from the one that moves the skin farthest down, as they were when all were measured last, and how
    /// strong that was.
    order: Vec<(Vec<u32>, f64)>,
    /// The frames that are measured, ascending.
    asked: Vec<u32>,
    /// Vertices that are looked at, with their characters.
    seen: Vec<(usize, usize)>,
}

/// The vertices that some effect acts on by half or more, with their characters; all of them where corrections and edits
/// have a say.
fn seen(rig: &Rig, recipe: &Recipe) -> Result<Vec<(usize, usize)>, StrengthError> {
    let parts = recipe.effects.iter().map(|spec| match spec.parts.is_empty() {
        true => Ok(None),
        false => Parts::find(rig, &spec.parts, spec.effect.name()).map(Some),
    });
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let adds = recipe.effects.is_empty() || !recipe.corrections.is_empty() || !recipe.edits.is_empty();
    let everywhere = adds || parts.iter().any(Option::is_none);
    let acts = |vertex: usize| everywhere || parts.iter().flatten().any(|parts| parts.at(rig.point(vertex)) > 0.5);
    let of_part = |part: &crate::rig::Part| {
        let character = part.character;
        let vertices = part.primitives.iter().flat_map(|primitive| primitive.vertices.clone());
        vertices.map(move |vertex| (vertex, character)).collect::<Vec<_>>()
    };
    Ok(rig.parts().iter().flat_map(of_part).filter(|&(vertex, _)| acts(vertex)).collect())
}

fn most(by_clip: &[f64]) -> f64 {
    by_clip.iter().copied().fold(0.0, f64::max)
}

impl Meter {
    fn new(subject: &Subject<'_>, recipe: &Recipe, seen: Vec<(usize, usize)>) -> Result<Self, StrengthError> {
        let stage = Stage::new(subject.rig, recipe)?;
        let bind = |((clip, settings), bare): (&(&Clip, MotionSettings), &Arc<Motion>)| {
            Ok(Arc::clone(stage.motion_like(clip, settings, Some(bare))?.motion()))
        };
        let motions: Vec<Arc<Motion>> =
            subject.clips.par_iter().zip(&subject.bare).map(bind).collect::<Result<_, StrengthError>>()?;
        let of_clip = |(index, motion): (usize, &Arc<Motion>)| {
            times(motion.report()).map(|time| (index, time)).collect::<Vec<_>>()
        };
        let frames: Vec<(usize, f64)> = motions.iter().enumerate().flat_map(of_clip).collect();
        let asked = (0..frames.len() as u32).collect();
        Ok(Self { stage, motions, only: None, frames, order: Vec::new(), asked, seen })
    }

    /// From here on measures the frames that led when all were measured last; of one clip, or of the clips that led.
    fn follow_leaders(&mut self, only: Option<usize>) {
        self.only = only;
        let strongest = most(&self.order.iter().map(|(_, strength)| *strength).collect::<Vec<_>>());
        self.asked.clear();
        for (clip, (frames, strength)) in self.order.iter().enumerate() {
            if only.map_or(*strength >= LEADING_CLIP * strongest, |only| only == clip) {
                let count = LEADING * (1 + beyond(frames.len())) + MORE_LEADING;
                self.asked.extend(frames.iter().take(count));
            }
        }
        self.asked.sort_unstable();
    }

    /// As [`Self::by_clip`], of all clips: all frames, or one of so many. The others rank beside the nearest of these.
    fn all_by_clip(&mut self, every: usize) -> Result<Vec<f64>, StrengthError> {
        self.only = None;
        let clips: Vec<std::ops::Range<usize>> = (0..self.motions.len())
            .map(|clip| {
                self.frames.partition_point(|frame| frame.0 < clip)
                    ..self.frames.partition_point(|frame| frame.0 <= clip)
            })
            .collect();
        let looked = |clip: &std::ops::Range<usize>| clip.clone().step_by(every).map(|frame| frame as u32);
        self.asked = clips.iter().flat_map(looked).collect();
        let reach = self.reach()?;
        let by_clip = self.percentiles(&reach, |of_clip| of_clip.len());
        let farthest = |frame: usize| {
            let place = self.asked.partition_point(|&asked| asked as usize <= frame) - 1;
            reach[place].iter().copied().fold(0.0, f64::max)
        };
        let order = |(clip, &strength): (&std::ops::Range<usize>, &f64)| {
            let mut order: Vec<(f64, u32)> = clip.clone().map(|frame| (farthest(frame), frame as u32)).collect();
            order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            (order.into_iter().map(|(_, frame)| frame).collect(), strength)
        };
        let order = clips.iter().zip(&by_clip).map(order).collect();
        self.order = order;
        Ok(by_clip)
    }

    fn follow(&mut self, recipe: &Recipe) -> Result<(), StrengthError> {
        // Gains filter nothing: motions stay.
        let _ = self.stage.retune(recipe)?;
        Ok(())
    }

    /// Clip by clip, of the liveliest character; infinite where a frame is beyond what numbers hold, and 0 of clips that are
    /// not measured.
    fn by_clip(&mut self) -> Result<Vec<f64>, StrengthError> {
        let reach = self.reach()?;
        let whole =
            |of_clip: &[u32]| self.order.get(self.clip_of(of_clip)).map_or(of_clip.len(), |order| order.0.len());
        let by_clip = self.percentiles(&reach, whole);
        Ok(self.only.map_or(by_clip.clone(), |clip| vec![by_clip[clip]]))
    }

    /// Of the frames that are asked for, by character: the farthest that a point is moved.
    fn reach(&self) -> Result<Vec<Vec<f64>>, StrengthError> {
        let Self { stage, motions, frames, asked, seen, .. } = self;
        let sizes: Vec<f64> = stage.rig().characters().iter().map(|character| character.size).collect();
        let playing = motions.iter().map(|motion| stage.resume(motion)).collect::<Result<Vec<_>, _>>()?;
        let workspace = || Workspace::with(Outputs { directions: false, base: true, engine: false });
        let of_frame = |workspace: &mut Workspace, &frame: &u32| {
            let (clip, time) = frames[frame as usize];
            playing[clip].frame(time, workspace);
            farthest(workspace, seen, &sizes)
        };
        Ok(asked.par_iter().map_init(workspace, of_frame).collect())
    }

    fn clip_of(&self, frames: &[u32]) -> usize {
        frames.first().map_or(0, |&frame| self.frames[frame as usize].0)
    }

    /// Clip by clip, of what is asked for; `whole` is how many frames those of a clip stand for.
    fn percentiles(&self, reach: &[Vec<f64>], whole: impl Fn(&[u32]) -> usize) -> Vec<f64> {
        let mut by_clip = vec![0.0f64; self.motions.len()];
        let mut from = 0;
        for of_clip in self.asked.chunk_by(|&a, &b| self.frames[a as usize].0 == self.frames[b as usize].0) {
            let (clip, to, whole) = (self.clip_of(of_clip), from + of_clip.len(), whole(of_clip));
            for character in 0..reach[from].len() {
                let mut values: Vec<f64> = reach[from..to].iter().map(|frame| frame[character]).collect();
                by_clip[clip] = by_clip[clip].max(nth_largest(&mut values, beyond(whole)));
            }
            from = to;
        }
        by_clip
    }
}

/// Evenly spaced from the first key to the last, both included, or to that which a loop lacks.
fn times(report: &MotionReport) -> impl Iterator<Item = f64> {
    let (start, length) = (report.start, report.period.unwrap_or(report.last_key - report.start));
    // A clip of 2 s keyed in f32 is 1.9999999 s long.
    let steps = (length * RATE - 1e-3).ceil().clamp(0.0, MOST_FRAMES) as u32;
    (0..=steps).map(move |step| start + length * f64::from(step) / f64::from(steps.max(1)))
}

/// By character: the farthest that a point is moved, in sizes.
fn farthest(workspace: &Workspace, seen: &[(usize, usize)], sizes: &[f64]) -> Vec<f64> {
    let (base, mesh) = (workspace.base(), workspace.mesh());
    let mut most = vec![0.0f64; sizes.len()];
    for &(vertex, character) in seen {
        let moved = mesh.world_position(character, vertex).distance(base.world_position(character, vertex));
        let share = if moved == 0.0 { 0.0 } else { moved / sizes[character] };
        most[character] = if share.is_finite() { most[character].max(share) } else { f64::INFINITY };
    }
    most
}

/// Of so many values, how many are beyond that below which 95 % of them lie.
fn beyond(count: usize) -> usize {
    let rank = ((PERCENTILE * count as f64).ceil() as usize).max(1);
    count.saturating_sub(rank)
}

/// The value that so many are larger than; the smallest where there are fewer, and 0 of none.
fn nth_largest(values: &mut [f64], larger: usize) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    *values.select_nth_unstable_by(last - larger.min(last), f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_told() {
        for (value, text) in [
            (0.0, "0"),
            (1.8312, "1.83"),
            (0.012345, "0.0123"),
            (12.345, "12.3"),
            (123.4, "123"),
            (4.0, "4"),
            (100.0, "100"),
        ] {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn percentiles_are_those_of_check() {
        let mut values: Vec<f64> = (1..=61).map(f64::from).rev().collect();
        assert_eq!((beyond(61), nth_largest(&mut values, beyond(61))), (3, 58.0));
        assert_eq!(nth_largest(&mut [3.0], beyond(1)), 3.0);
        assert_eq!(nth_largest(&mut [], beyond(0)), 0.0);
    }
}
