//! Plays a plan and lowers, part by part and clip by clip, what fails a gate.
//!
//! Gains are found once, for the plan as it stands; each clip then has factors on them, so that what is too much in a jump
//! does not still a walk. What fails a gate at a place and a moment is the layer that, played alone, moves that place most
//! there; feet are the body's. Where lowering that does not help, all layers are lowered; where that does not either, the
//! gate fails whatever the strength (skin that lies on skin crosses it at the slightest touch): nothing is lowered for it,
//! and it is said. A part that a clip moves and that is seen too little there is raised.
//!
//! Looking is cheaper than a check: every other frame, and limits that are stricter in return; what has been lowered is looked
//! at again in the frames that came near a limit alone, and at last in all frames.

use crate::LivenError;
use crate::plan::{Layer, Lowered, Moved, Plan};
use crate::style::Style;
use crate::survey::PlayedClip;
use crate::text::{MOST_NAMES, enumerated, percent, short_name};
use glam::DVec3;
use rayon::prelude::*;
use sinew::anatomy::{Anatomy, Role};
use sinew::strength::{Solved, solve};
use sinew::{Motion, Outputs, Recipe, Rig, Workspace};
use sinew_check::compare::{GroupFigures, StrainedEdge};
use sinew_check::groups::GroupKind;
use sinew_check::limits::{LIMITS, Limit, Unit};
use sinew_check::{Comparison, Given, Groups, Location, Onlooker, View, Watch};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of so many frames of a check one is looked at; and all of them at the end, where something had to be lowered, since what
/// fails in one frame may pass in those around it.
const EVERY: usize = 2;
/// What limits are multiplied by here, since moments between frames are not seen; and where all frames are looked at.
const STRICT: f64 = 0.85;
const FINELY_STRICT: f64 = 0.97;
/// Gates that are looked at in the very frames of a check from the beginning, and what theirs are multiplied by.
const EXACT: [&str; 2] = ["crossings", "penetration"];
const EXACTLY_STRICT: f64 = 0.995;
/// Times a plan is lowered.
const MOST_ROUNDS: usize = 9;
/// Of its strength: what has less left is switched off.
const LEAST_LEFT: f64 = 0.02;
/// What a part is raised by at most, and in so many rounds: where limits bend what gains give, one is not enough.
const MOST_RAISED: f64 = 80.0;
const RAISING: usize = 7;
/// Of the least that is to be seen, what is enough here and what is aimed at: peaks between frames are not seen.
const ENOUGH: f64 = 1.05;
const RAISED_TO: f64 = 1.12;
/// The most at once, and the least that more gain is taken to give: its strength goes as that power of it.
const RAISED_AT_ONCE: f64 = 8.0;
const LEAST_ANSWER: f64 = 0.2;
/// What is lowered by where a little was of no use, and how often.
const HARD: f64 = 0.4;
const MOST_HARD: u8 = 3;
/// How often what was lowered is raised again between what failed and what passes, and where that is worth it: by the
/// factors, and by how much of its limit is used.
const NEARER: usize = 3;
const FAR: f64 = 1.04;
const USED: f64 = 0.95;
/// What is aimed at there, and how far from either end that must be.
const AIM: f64 = 0.985;
const MIDDLE: [f64; 2] = [0.2, 0.8];
/// A gate that answers by less than this share of what is in proportion is deaf to what was lowered.
const DEAF: f64 = 0.25;
/// A part that is seen by less than this more once it was raised is not raised again.
const ANSWERS: f64 = 1.02;
/// Why a part has less strength than its style.
pub const BOUNDED: &str = "limits of how far it is sheared let no more through";
/// The same as a gate.
const HELD: &str = "its own length";
/// What a part may move at most, as a gate.
const STRENGTH: &str = "strength";
/// The share of its motion from which a clip moves a part.
pub const MOVES: f64 = 0.05;
/// Of that, what counts here as well: moments between frames are not seen.
const ALMOST: f64 = 0.95;
/// A layer that moves a place by this share of what the first does is to blame as well.
const ALSO: f64 = 0.6;

/// What was seen of one part in one clip. Lengths are shares of the size.
#[derive(Clone, Debug, PartialEq)]
pub struct PartFigures {
    /// What it is.
    pub role: Role,
    /// Visible strength.
    pub strength: f64,
    /// Its own motion.
    pub motion: f64,
    /// 99.9th percentile of edge strain.
    pub strain: f64,
    /// The worst.
    pub worst_strain: f64,
}

/// What was seen of a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClipFigures {
    /// Its name.
    pub name: String,
    /// By role.
    pub parts: Vec<PartFigures>,
    /// Visible strength of everything.
    pub strength: f64,
    /// Whether something stands on the ground in it.
    pub is_planted: bool,
    /// Gates, in the order of [`LIMITS`], as far as they were looked at.
    pub gates: Vec<(&'static str, f64)>,
}

/// A gate that is not met.
#[derive(Clone, Debug)]
struct Failure {
    gate: &'static str,
    /// Which of several: a part, a bone.
    label: String,
    value: f64,
    most: f64,
    unit: Unit,
    /// What is to be multiplied with, were all that is to blame.
    factor: f64,
    place: Place,
}

/// Where something happens.
#[derive(Clone, Debug)]
enum Place {
    Vertex(Location),
    Edge(Location, Location),
    Bone(String, f64),
    Part(Role),
}

/// The most that a gate lets through in a style.
pub fn most(limit: &Limit, style: Style) -> f64 {
    match limit.name {
        "strain" => style.strain()[0],
        "worst-strain" => style.strain()[1],
        _ => limit.most,
    }
}

/// Parts of the skin by role, for figures.
pub fn groups(rig: &Rig, anatomy: &Anatomy) -> Groups {
    let of = |slot: usize| Some(anatomy.role_of_point(slot) as u32);
    Groups { names: Role::ALL.map(|role| role.name().to_owned()).to_vec(), of_slot: (0..rig.slots()).map(of).collect() }
}

/// Figures of a clip from a comparison with [`groups`].
pub fn figures(name: &str, comparison: &Comparison) -> ClipFigures {
    let of_kind = |kind| comparison.groups.iter().filter(move |group| group.kind == kind);
    let part = |group: &GroupFigures| {
        Some(PartFigures {
            role: Role::from_name(&group.name)?,
            strength: group.strength,
            motion: group.motion,
            strain: group.strain,
            worst_strain: group.worst_edge.as_ref().map_or(1.0, |edge| edge.strain),
        })
    };
    ClipFigures {
        name: name.to_owned(),
        parts: of_kind(GroupKind::Given).filter_map(part).collect(),
        strength: of_kind(GroupKind::Character).map(|group| group.strength).fold(0.0, f64::max),
        is_planted: !comparison.slips.is_empty(),
        gates: LIMITS.iter().map(|limit| (limit.name, (limit.value)(comparison))).collect(),
    }
}

/// What a plan came to.
pub struct Judged {
    /// What was seen at the end, clip by clip.
    pub clips: Vec<ClipFigures>,
    /// The gains of the plan over all clips; `None` where it does nothing.
    pub solved: Option<Solved>,
}

/// Plays `plan` on the chosen ones of all clips and lowers it in each until it passes all gates.
pub fn judge(
    rig: &Arc<Rig>,
    clips: &[PlayedClip<'_>],
    chosen: &[usize],
    plan: &mut Plan,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Judged, LivenError> {
    let file = plan.recipe()?;
    if !file.recipe().adds() || chosen.is_empty() {
        return Ok(Judged { clips: Vec::new(), solved: None });
    }
    let gains = solve(rig, file.recipe(), clips)?;
    tell_bounds(plan, &gains);
    let onlooker = Onlooker::new(rig, gains.recipe(chosen[0]))?;
    let given = Given { groups: Some(groups(rig, &Anatomy::of(rig))), rigid: onlooker.rigid_pieces(), contacts: None };
    let (total, done) = (chosen.len(), AtomicUsize::new(0));
    let parts = plan.layers.iter().map(|layer| layer.moved.name()).collect();
    let judging = Judging { rig, plan, gains: &gains, layer_of: layer_of(plan), parts, given };
    // Several runs of clips for each thread, so that none waits for one with long clips.
    let each = total.div_ceil(4 * rayon::current_num_threads()).max(1);
    let some = |run: &[usize]| -> Result<Vec<Trial>, LivenError> {
        let mut onlooker = onlooker.with_recipe(gains.recipe(chosen[0]))?;
        let one = |&clip: &usize| {
            let trial = judging.trial(&mut onlooker, clip, &clips[clip]);
            progress(1 + done.fetch_add(1, Ordering::Relaxed), total);
            trial
        };
        run.iter().map(one).collect()
    };
    let trials: Vec<Vec<Trial>> = chosen.par_chunks(each).map(some).collect::<Result<_, _>>()?;
    let trials: Vec<Trial> = trials.into_iter().flatten().collect();
    let names: Vec<&str> = chosen.iter().map(|&clip| clips[clip].0.name.as_str()).collect();
    let layers = judging.layer_of;
    note(plan, &names, &trials);
    let file = plan.recipe()?;
    let solved = if !file.recipe().adds() {
        None
    } else {
        let kept = gains.of_effects(|effect| plan.layers[layers[effect]].is_on());
        Some(kept.map_or_else(|| solve(rig, file.recipe(), clips), |kept| Ok(kept.in_clips(file.recipe(), clips)))?)
    };
    Ok(Judged { clips: trials.into_iter().map(|trial| trial.figures).collect(), solved })
}

/// A step of lowering.
struct Step {
    layer: usize,
    round: usize,
    factor: f64,
    failure: Failure,
}

/// A gate that has failed before.
struct Watched {
    /// How far it was beyond nothing, and what it was lowered by since.
    excess: f64,
    factor: f64,
    response: Response,
}

/// What is lowered for a gate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Response {
    Blamed,
    /// By much, for the so manieth time: within limits a little changes nothing.
    Hard(u8),
    All,
    None,
}

/// What a clip came to.
struct Trial {
    /// Per layer: the factor on its gains.
    factors: Vec<f64>,
    /// Per layer: what it was raised by, the last time by, and what was seen of it before that.
    raised: Vec<f64>,
    last_raised: Vec<f64>,
    seen_before: Vec<f64>,
    steps: Vec<Step>,
    watched: BTreeMap<Key, Watched>,
    figures: ClipFigures,
}

/// A plan being judged.
struct Judging<'a> {
    rig: &'a Arc<Rig>,
    plan: &'a Plan,
    gains: &'a Solved,
    /// Per effect of the recipe: its layer.
    layer_of: Vec<usize>,
    /// Names of the parts that have a layer.
    parts: Vec<&'static str>,
    given: Given,
}

/// Says of which layers limits let through less than is asked for.
fn tell_bounds(plan: &mut Plan, solved: &Solved) {
    let mut reached: BTreeMap<usize, f64> = BTreeMap::new();
    for finding in solved.findings() {
        if let Some((effect, _)) = finding.effect {
            let most = reached.entry(effect).or_default();
            *most = most.max(finding.reached);
        }
    }
    let mut index = 0;
    for layer in plan.layers.iter_mut().filter(|layer| layer.is_on()) {
        let mut is_less = false;
        for effect in &layer.effects {
            is_less |= reached.get(&index).is_some_and(|&most| most < 0.9 * effect.strength);
            index += 1;
        }
        if is_less {
            layer.reasons.push(BOUNDED.to_owned());
        }
    }
}

/// Per effect of a plan's recipe: its layer.
fn layer_of(plan: &Plan) -> Vec<usize> {
    let effects = |(index, layer): (usize, &Layer)| vec![index; if layer.is_on() { layer.effects.len() } else { 0 }];
    plan.layers.iter().enumerate().flat_map(effects).collect()
}

/// Notes what was lowered and raised clip by clip, and what could not be cured.
fn note(plan: &mut Plan, names: &[&str], trials: &[Trial]) {
    let range = plan.range;
    for (index, layer) in plan.layers.iter_mut().enumerate() {
        layer.is_off = trials.iter().all(|trial| trial.factors[index] == 0.0);
        for (&clip, trial) in names.iter().zip(trials) {
            let factor = trial.factors[index];
            if factor != 1.0 {
                layer.in_clips.push((clip.to_owned(), factor));
            }
            let own = trial.steps.iter().filter(|step| step.layer == index && step.failure.gate != STRENGTH);
            // What was raised and then lowered again is less than it was to be as well.
            for step in own.filter(|_| factor < trial.raised[index]) {
                let gate = step.failure.gate;
                let lowered = Lowered { gate, words: step.failure.words(), clip: clip.to_owned(), left: factor };
                // The first word of a gate in a clip tells how far it was off.
                if !layer.lowered.iter().any(|other| (other.gate, other.clip.as_str()) == (gate, clip)) {
                    layer.lowered.push(lowered);
                }
            }
            if trial.raised[index] > 1.0 && !trial.steps.iter().any(|step| step.layer == index) {
                let is_short = |part: &PartFigures| {
                    layer.moved == Moved::Part(part.role) && part.motion > MOVES && part.strength < range[0]
                };
                if trial.figures.parts.iter().any(is_short) {
                    let words = BOUNDED.to_owned();
                    layer.lowered.push(Lowered { gate: HELD, words, clip: clip.to_owned(), left: factor });
                }
            }
        }
    }
    let mut deaf: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (clip, trial) in names.iter().zip(trials) {
        for ((gate, _), _) in trial.watched.iter().filter(|(_, watched)| watched.response == Response::None) {
            let clips = deaf.entry(gate).or_default();
            let name = short_name(clip).to_owned();
            if !clips.contains(&name) {
                clips.push(name);
            }
        }
    }
    for (gate, clips) in deaf {
        plan.remarks.push(format!("{} in {}, whatever the strength", what(gate), enumerated(&clips, MOST_NAMES)));
    }
}

/// Factors with what was seen of them: of each gate, what it is of the most that is let through.
struct Tried {
    factors: Vec<f64>,
    used: BTreeMap<Key, f64>,
}

impl Tried {
    /// Factors between these, that failed, and some that pass, where they are far apart: by how much of their limits those use
    /// that failed.
    fn between(&self, passed: &Self, worth: f64) -> Option<Vec<f64>> {
        let of = |(key, &failed): (&Key, &f64)| Some((failed, *passed.used.get(key)?));
        let share = |(failed, passed): (f64, f64)| match passed < AIM {
            true => (AIM - passed) / (failed - passed),
            false => 0.5,
        };
        let beyond = self.used.iter().filter(|(_, used)| **used > 1.0).filter_map(of);
        let (least, most) =
            beyond.fold((1.0, 0.0), |(least, most): (f64, f64), pair| (least.min(share(pair)), most.max(pair.1)));
        let least = least.clamp(MIDDLE[0], MIDDLE[1]);
        let is_far = |(&failed, &passed): (&f64, &f64)| passed > 0.0 && failed > FAR * passed;
        let between = |(&failed, &passed): (&f64, &f64)| match failed > passed {
            true => told(passed + least * (failed - passed)),
            false => passed,
        };
        let is_worth = most < worth && self.factors.iter().zip(&passed.factors).any(is_far);
        let tried: Vec<f64> = self.factors.iter().zip(&passed.factors).map(between).collect();
        (is_worth && tried != passed.factors).then_some(tried)
    }
}

/// What a look at a clip told.
struct Seen {
    comparison: Comparison,
    used: BTreeMap<Key, f64>,
    failures: Vec<Failure>,
}

impl Seen {
    fn passes(&self) -> bool {
        self.failures.is_empty()
    }

    fn tried(&self, factors: &[f64]) -> Tried {
        Tried { factors: factors.to_vec(), used: self.used.clone() }
    }
}

/// The visible strength of a role's skin.
fn part_strength(found: &Comparison, role: Role) -> Option<f64> {
    let parts = found.groups.iter().filter(|group| group.kind == GroupKind::Given);
    parts.into_iter().find(|part| part.name == role.name()).map(|part| part.strength)
}

/// A clip that is looked at again and again.
struct Looking<'a> {
    onlooker: &'a mut Onlooker,
    clip: usize,
    view: View,
    /// The factors with which all frames were looked at last.
    wholly: Vec<f64>,
    closeness: Closeness,
}

/// How closely a clip is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closeness {
    /// Some frames.
    Coarse,
    /// All frames beside those that came near a limit, from the next look on.
    Next,
    /// Since then.
    Fine,
}

/// Gate and label of a failure.
type Key = (&'static str, String);

impl Judging<'_> {
    /// The recipe of a clip with factors on its layers' gains.
    fn recipe(&self, clip: usize, factors: &[f64]) -> Recipe {
        let mut recipe = self.gains.recipe(clip).clone();
        for (effect, &layer) in recipe.effects.iter_mut().zip(&self.layer_of) {
            effect.scale_gain(factors[layer]);
        }
        recipe
    }

    /// Plays a clip and lowers what fails, until nothing does or nothing helps.
    fn trial(&self, onlooker: &mut Onlooker, clip: usize, played: &PlayedClip<'_>) -> Result<Trial, LivenError> {
        let count = self.plan.layers.len();
        let mut trial = Trial {
            factors: vec![1.0; count],
            raised: vec![1.0; count],
            last_raised: vec![1.0; count],
            seen_before: vec![0.0; count],
            steps: Vec::new(),
            watched: BTreeMap::new(),
            figures: ClipFigures::default(),
        };
        onlooker.retune(&self.recipe(clip, &trial.factors))?;
        // Gains filter nothing: it plays on.
        let motion = Arc::clone(onlooker.stage().motion(played.0, &played.1)?.motion());
        let view = onlooker.view(&played.0.name, &motion, EVERY, &self.given)?;
        let mut looking = Looking { onlooker, clip, view, wholly: Vec::new(), closeness: Closeness::Coarse };
        let mut failed: Option<Tried> = None;
        for round in 0..=MOST_ROUNDS + 1 {
            let mut seen = self.look(&mut looking, &trial.factors)?;
            if seen.passes() && self.may_be_short(&seen, &trial.factors, &looking.wholly) {
                looking.wholly.clear();
                seen = self.look(&mut looking, &trial.factors)?;
            }
            if seen.passes() {
                // What was lowered by much may have been lowered by too much.
                trial.figures = figures(short_name(&played.0.name), &seen.comparison);
                let worth = if self.wants_more(&trial) { 1.0 } else { USED };
                for _ in 0..NEARER {
                    let passed = seen.tried(&trial.factors);
                    let Some(factors) = failed.as_ref().and_then(|failed| failed.between(&passed, worth)) else {
                        break;
                    };
                    let tried = self.look(&mut looking, &factors)?;
                    match tried.passes() {
                        true => (trial.factors, seen) = (factors, tried),
                        false => failed = Some(tried.tried(&factors)),
                    }
                }
            }
            trial.figures = figures(short_name(&played.0.name), &seen.comparison);
            if seen.passes() {
                // Before anything else: what is too much of it shows at the next look.
                if self.raise(&mut trial, round) {
                    continue;
                }
                if looking.closeness == Closeness::Fine {
                    break;
                }
                if failed.is_some() {
                    // With those frames in sight more is let through, where more is wanted.
                    failed = failed.filter(|_| self.wants_more(&trial));
                    // More frames tell other figures: what was of use is learnt anew.
                    trial.watched.retain(|_, watched| watched.response == Response::None);
                    looking.closeness = Closeness::Next;
                    continue;
                }
            }
            if round > MOST_ROUNDS {
                break;
            }
            // What is only too close to a limit is looked at more closely before anything is lowered for it.
            if looking.closeness == Closeness::Coarse && seen.failures.iter().all(Failure::may_pass) && !seen.passes() {
                looking.closeness = Closeness::Next;
                continue;
            }
            let before = trial.factors.clone();
            if !seen.passes() {
                failed = Some(seen.tried(&before));
            }
            for failure in seen.failures {
                self.answer(&mut trial, failure, round, |failure, factors| {
                    self.blamed(failure, factors, looking.onlooker, clip, &motion)
                })?;
            }
            self.raise(&mut trial, round);
            self.settle(&mut trial, round);
            if trial.factors == before {
                break;
            }
        }
        Ok(trial)
    }

    /// Looks at a clip with factors on its layers' gains: where nothing but gains were lowered since all frames were looked at,
    /// at those alone that came near a limit.
    fn look(&self, looking: &mut Looking<'_>, factors: &[f64]) -> Result<Seen, LivenError> {
        let Looking { onlooker, clip, view, wholly, closeness } = looking;
        onlooker.retune(&self.recipe(*clip, factors))?;
        let watch = Watch { most: &|limit| most(limit, self.plan.style), parts: &self.parts };
        let is_lower = !wholly.is_empty() && wholly.iter().zip(factors).all(|(all, own)| own <= all);
        let comparison = if *closeness == Closeness::Next {
            onlooker.look_closer(view, &watch)?
        } else if is_lower {
            onlooker.look_again(view, &watch)?
        } else {
            factors.clone_into(wholly);
            onlooker.look(view)?
        };
        if *closeness == Closeness::Next {
            *closeness = Closeness::Fine;
        }
        let (used, failures) = self.gates(&comparison, *closeness == Closeness::Fine);
        Ok(Seen { comparison, used, failures })
    }

    /// Whether a part may be seen less than it should be though it seems not: frames that were not looked at again tell what they
    /// showed when there was more of it.
    fn may_be_short(&self, seen: &Seen, factors: &[f64], wholly: &[f64]) -> bool {
        let least = ENOUGH * self.plan.range[0];
        let may_be = |((layer, own), all): ((&Layer, &f64), &f64)| {
            let Moved::Part(role) = layer.moved else { return false };
            part_strength(&seen.comparison, role).is_some_and(|told| told >= least && told * own / all < least)
        };
        self.plan.layers.iter().zip(factors).zip(wholly).any(may_be)
    }

    /// Whether something that was lowered is seen less than it should be.
    fn wants_more(&self, trial: &Trial) -> bool {
        let is_low = |(index, layer): (usize, &Layer)| {
            let Moved::Part(role) = layer.moved else { return false };
            let part = trial.figures.parts.iter().find(|part| part.role == role);
            let is_short = part.is_some_and(|p| p.motion > ALMOST * MOVES && p.strength < ENOUGH * self.plan.range[0]);
            is_short && trial.steps.iter().any(|step| step.layer == index)
        };
        self.plan.layers.iter().enumerate().any(is_low)
    }

    /// What each gate of a clip is of the most that is let through, and those that fail.
    fn gates(&self, found: &Comparison, is_fine: bool) -> (BTreeMap<Key, f64>, Vec<Failure>) {
        let style = self.plan.style;
        let (mut used, mut failures) = (BTreeMap::new(), Vec::new());
        let mut add = |gate, label: &str, value: f64, most: f64, unit: Unit, place: Option<Place>| {
            // Of ratios, what they are beyond 1 counts.
            let none = if unit == Unit::Ratio { 1.0 } else { 0.0 };
            let strictness = match (EXACT.contains(&gate), is_fine) {
                (true, _) => EXACTLY_STRICT,
                (_, true) => FINELY_STRICT,
                (_, false) => STRICT,
            };
            let strict = none + strictness * (most - none);
            used.insert((gate, label.to_owned()), (value - none) / (strict - none));
            if let Some(place) = place.filter(|_| value > strict) {
                let factor = if value.is_finite() { 0.97 * (strict - none) / (value - none) } else { 0.0 };
                failures.push(Failure { gate, label: label.to_owned(), value, most, unit, factor, place });
            }
        };
        let edge = |edge: &StrainedEdge| Place::Edge(edge.place.clone(), edge.other.clone());
        for limit in &LIMITS {
            let (value, most) = ((limit.value)(found), most(limit, style));
            let at = |location: &Location| Place::Vertex(location.clone());
            // What moves one against the other is to blame.
            let between = |one: Option<&Location>, other: Option<&Location>| {
                one.zip(other).map(|(one, other)| Place::Edge(one.clone(), other.clone()))
            };
            match limit.name {
                // By role as well as whole.
                "strain" => {
                    let told = |group: &&GroupFigures| matches!(group.kind, GroupKind::Character | GroupKind::Given);
                    for group in found.groups.iter().filter(told) {
                        add(
                            limit.name,
                            &group.name,
                            group.strain,
                            most,
                            limit.unit,
                            group.worst_edge.as_ref().map(edge),
                        );
                    }
                }
                "worst-strain" => {
                    let wholes = found.groups.iter().filter(|group| group.kind == GroupKind::Character);
                    for worst in wholes.filter_map(|group| group.worst_edge.as_ref()) {
                        add(limit.name, "", worst.strain, most, limit.unit, Some(edge(worst)));
                    }
                }
                "slip" => {
                    for slip in &found.slips {
                        let place = Place::Bone(slip.bone.clone(), slip.time);
                        add(limit.name, &slip.bone, slip.effects - 1.1 * slip.base, most, limit.unit, Some(place));
                    }
                }
                name => {
                    let place = match name {
                        "gap" => found.gaps.first().map(|gap| at(&gap.gap.place)),
                        "rigid" => found.distortions.iter().find(|d| d.is_rigid).map(|d| at(&d.residual.place)),
                        "ground" => found.below_ground.as_ref().map(|sunk| at(&sunk.place)),
                        "crossings" => between(found.crossings.worst.as_ref(), found.crossings.worst_other.as_ref()),
                        "penetration" => {
                            let deepest = found.crossings.deepest.as_ref().map(|(deepest, _)| &deepest.place);
                            between(deepest, found.crossings.deepest_other.as_ref())
                        }
                        "thinning" => found.thinnest.as_ref().map(|thinnest| at(&thinnest.place)),
                        _ => None,
                    };
                    add(name, "", value, most, limit.unit, place);
                }
            }
        }
        for layer in self.plan.layers.iter().filter(|layer| layer.is_on()) {
            if let Moved::Part(role) = layer.moved
                && let Some(strength) = part_strength(found, role)
            {
                add(STRENGTH, role.name(), strength, self.plan.range[1], Unit::Share, Some(Place::Part(role)));
            }
        }
        (used, failures)
    }

    /// Raises parts that the clip moves and that are seen too little in it; not what fails. Whether there were any.
    fn raise(&self, trial: &mut Trial, round: usize) -> bool {
        let [least, most] = self.plan.range;
        let before = trial.factors.clone();
        for (index, layer) in self.plan.layers.iter().enumerate().filter(|_| round < RAISING) {
            let Moved::Part(role) = layer.moved else { continue };
            let Some(part) = trial.figures.parts.iter().find(|part| part.role == role) else { continue };
            if part.motion <= ALMOST * MOVES
                || part.strength >= ENOUGH * least
                || trial.steps.iter().any(|step| step.layer == index)
            {
                continue;
            }
            // Within its limits nothing is seen of more.
            let (raised, before) = (trial.raised[index], trial.seen_before[index]);
            if raised > 1.0 && part.strength < before * ANSWERS {
                continue;
            }
            // Limits bend what gains give: by how much, the last time tells.
            let answer = (part.strength / before).ln() / trial.last_raised[index].ln();
            let answer = if answer > LEAST_ANSWER { answer.min(1.0) } else { LEAST_ANSWER };
            let wanted = (RAISED_TO * least / part.strength).min(STRICT * most / part.strength);
            let factor = if raised > 1.0 { wanted.powf(answer.recip()).min(RAISED_AT_ONCE) } else { wanted };
            trial.raised[index] = (raised * factor).min(MOST_RAISED);
            trial.last_raised[index] = factor;
            trial.seen_before[index] = part.strength;
            trial.factors[index] = told(trial.raised[index]);
        }
        trial.factors != before
    }

    /// What is lowered for a failure: the layers that are to blame, all of them, or none where that was no use.
    fn answer(
        &self,
        trial: &mut Trial,
        failure: Failure,
        round: usize,
        blamed: impl FnOnce(&Failure, &[f64]) -> Result<Vec<usize>, LivenError>,
    ) -> Result<(), LivenError> {
        let key = failure.key();
        let none = if failure.unit == Unit::Ratio { 1.0 } else { 0.0 };
        let excess = failure.value - none;
        let response = match trial.watched.get(&key) {
            None => Response::Blamed,
            // Was that any use, against what it would have been in proportion?
            Some(before) => match excess < before.excess * (1.0 - DEAF * (1.0 - before.factor)) {
                true => before.response,
                false if round == MOST_ROUNDS => Response::None,
                false => match before.response {
                    Response::Blamed => Response::Hard(1),
                    Response::Hard(times) if times < MOST_HARD => Response::Hard(times + 1),
                    Response::Hard(_) => Response::All,
                    Response::All | Response::None => Response::None,
                },
            },
        };
        let layers: Vec<usize> = match response {
            Response::Blamed | Response::Hard(_) => blamed(&failure, &trial.factors)?,
            Response::All => (0..trial.factors.len()).filter(|&layer| trial.factors[layer] > 0.0).collect(),
            Response::None => Vec::new(),
        };
        let least = if response == Response::Blamed && round < MOST_ROUNDS { 0.95 } else { HARD };
        let factor = failure.factor.clamp(0.2, least);
        if response == Response::None {
            trial.steps.retain(|step| step.failure.key() != key);
        }
        trial.watched.insert(key, Watched { excess, factor, response });
        trial.steps.extend(layers.into_iter().map(|layer| Step { layer, round, factor, failure: failure.clone() }));
        Ok(())
    }

    /// The factors that follow from all steps: in every round the strictest counts.
    fn settle(&self, trial: &mut Trial, round: usize) {
        let Trial { factors, raised, steps, .. } = trial;
        for (index, layer) in self.plan.layers.iter().enumerate().filter(|(_, layer)| !layer.effects.is_empty()) {
            let of_round = |round: usize| {
                let own = steps.iter().filter(|step| step.layer == index && step.round == round);
                own.map(|step| step.factor).fold(1.0, f64::min)
            };
            let left = (0..=round).map(of_round).product::<f64>();
            let is_off = left < LEAST_LEFT || !layer.is_on();
            factors[index] = if is_off { 0.0 } else { told(raised[index] * left) };
        }
    }

    /// Layers that move a place most, each played alone.
    fn blamed(
        &self,
        failure: &Failure,
        factors: &[f64],
        onlooker: &mut Onlooker,
        clip: usize,
        motion: &Arc<Motion>,
    ) -> Result<Vec<usize>, LivenError> {
        let on: Vec<usize> = (0..factors.len()).filter(|&layer| factors[layer] > 0.0).collect();
        if let Place::Part(role) = failure.place {
            let is = |&layer: &usize| self.plan.layers[layer].moved == Moved::Part(role);
            return Ok(on.into_iter().filter(is).collect());
        }
        if on.len() < 2 {
            return Ok(on);
        }
        // Parts do not reach the feet.
        if let Some(body) = on.iter().find(|&&layer| self.plan.layers[layer].moved == Moved::Body)
            && matches!(failure.gate, "slip" | "ground")
        {
            return Ok(vec![*body]);
        }
        let mut workspace = Workspace::with(Outputs { directions: false, base: true, engine: false });
        let mut moved = vec![0.0; factors.len()];
        for &layer in &on {
            let alone: Vec<f64> = (0..factors.len()).map(|at| if at == layer { factors[at] } else { 0.0 }).collect();
            onlooker.retune(&self.recipe(clip, &alone))?;
            let playing = onlooker.stage().resume(motion)?;
            moved[layer] = failure.place.moved(self.rig, |time| {
                playing.frame(time, &mut workspace);
                &workspace
            });
        }
        let most = on.iter().map(|&layer| moved[layer]).fold(0.0, f64::max);
        Ok(on.into_iter().filter(|&layer| moved[layer] >= ALSO * most).collect())
    }
}

/// A factor of two digits, for people to read.
fn told(factor: f64) -> f64 {
    (100.0 * factor).floor() / 100.0
}

impl Place {
    /// How far a frame moves it.
    fn moved<'w>(&self, rig: &Rig, frame: impl FnOnce(f64) -> &'w Workspace) -> f64 {
        let shift = |workspace: &Workspace, vertex: usize| {
            let character = rig.character_of_point(rig.point(vertex)).unwrap_or(0);
            let [mesh, base] = [workspace.mesh(), workspace.base()].map(|mesh| mesh.world_position(character, vertex));
            mesh - base
        };
        match self {
            Self::Vertex(at) => {
                let workspace = frame(at.time);
                vertex(rig, at).map_or(0.0, |vertex| shift(workspace, vertex).length())
            }
            Self::Edge(at, other) => {
                let workspace = frame(at.time);
                let ends = vertex(rig, at).zip(vertex(rig, other));
                ends.map_or(0.0, |(a, b)| (shift(workspace, a) - shift(workspace, b)).length())
            }
            Self::Bone(name, time) => {
                let workspace = frame(*time);
                let is_on = |vertex: &usize| {
                    rig.main_bone(rig.point(*vertex)).is_some_and(|bone| rig.skeleton().name(bone) == name)
                };
                let (sum, count) = (0..rig.vertex_count())
                    .filter(is_on)
                    .fold((DVec3::ZERO, 0.0), |(sum, count), vertex| (sum + shift(workspace, vertex), count + 1.0));
                sum.length() / f64::max(count, 1.0)
            }
            Self::Part(_) => 0.0,
        }
    }
}

/// The rig's number of a vertex.
fn vertex(rig: &Rig, at: &Location) -> Option<usize> {
    let part = rig.parts().iter().find(|part| part.node == at.node)?;
    let vertices = &part.primitives.get(at.primitive)?.vertices;
    Some(vertices.start + at.vertex).filter(|vertex| vertices.contains(vertex))
}

/// What a gate that fails is, in words.
fn what(gate: &str) -> &'static str {
    match gate {
        "strain" => "edges are strained",
        "worst-strain" => "an edge is strained",
        "gap" => "pieces part",
        "rigid" => "a rigid piece bends",
        "slip" => "a planted foot slips",
        "ground" => "skin goes below the ground",
        "crossings" => "skin goes through itself",
        "penetration" => "one piece goes into another",
        "thinning" => "a limb is pressed flat",
        _ => "it moves farther than it should",
    }
}

impl Failure {
    fn key(&self) -> Key {
        (self.gate, self.label.clone())
    }

    /// Whether it may be none where all frames are looked at.
    fn may_pass(&self) -> bool {
        let none = if self.unit == Unit::Ratio { 1.0 } else { 0.0 };
        !EXACT.contains(&self.gate) && self.value < none + FINELY_STRICT * (self.most - none)
    }

    fn words(&self) -> String {
        let number = |value: f64| match self.unit {
            Unit::Share => percent(value),
            Unit::Ratio => format!("× {value:.2}"),
            Unit::Count => format!("{value:.1}"),
        };
        let beyond = if self.value > self.most { "beyond" } else { "too close to" };
        format!("{}, {}, {beyond} {}", what(self.gate), number(self.value), number(self.most))
    }
}
