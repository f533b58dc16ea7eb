//! Plays a plan and lowers, part by part, what fails a gate.
//!
//! Gains are found for the plan as it stands and then scaled, which costs nothing; what passes by scaled gains is looked at
//! once more by those that its strengths are solved for, and these are what is baked. What fails a gate at a place and a moment is the layer that, played alone, moves that place most
//! there; feet are the body's. Where lowering that does not help, all layers are lowered; where that does not either, the
//! gate fails whatever the strength (skin that lies on skin crosses it at the slightest touch): nothing is lowered for it,
//! and it is said. Clips that pass are not looked at again unless something was raised.
//!
//! Looking is cheaper than a check: fewer frames a second, and limits that are a tenth stricter in return.

use crate::LivenError;
use crate::plan::{Layer, Lowered, Moved, Plan};
use crate::style::Style;
use crate::survey::PlayedClip;
use crate::text::percent;
use glam::DVec3;
use rayon::prelude::*;
use sinew::anatomy::{Anatomy, Role};
use sinew::strength::{Solved, solve};
use sinew::{Outputs, Recipe, Rig, Stage, Workspace};
use sinew_check::compare::{GroupFigures, StrainedEdge};
use sinew_check::groups::GroupKind;
use sinew_check::limits::{LIMITS, Limit, Unit};
use sinew_check::{Checker, Comparison, Given, Groups, Location};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Frames a second looked at.
const RATE: f64 = 30.0;
/// What limits are multiplied by here, since moments between frames are not seen.
const STRICT: f64 = 0.85;
/// Times a plan is lowered before what still fails is switched off.
const MOST_ROUNDS: usize = 7;
/// Of its strength: what has less left is switched off.
const LEAST_LEFT: f64 = 0.1;
/// What a part is raised by at most.
const MOST_RAISED: f64 = 2.0;
/// A gate that answers by less than this share of what is in proportion is deaf to what was lowered.
const DEAF: f64 = 0.25;
/// Why a part has less strength than its style.
pub const BOUNDED: &str = "limits of how far it is sheared let no more through";
/// What a part may move at most, as a gate.
const STRENGTH: &str = "strength";
/// The share of its motion from which a clip moves a part.
pub const MOVES: f64 = 0.05;
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
#[derive(Clone, Debug, PartialEq)]
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
    clip: usize,
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

/// Plays `plan` on the chosen ones of all clips and lowers it until it passes all gates.
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
    let solved = solve(rig, file.recipe(), clips)?;
    let is_bounded = bound(plan, &solved);
    let mut judging = Judging::new(rig, clips, chosen, plan, solved)?;
    judging.is_rough = is_bounded;
    let mut seen: Vec<Option<ClipFigures>> = vec![None; chosen.len()];
    let mut open: Vec<usize> = (0..chosen.len()).collect();
    let total = 2 * chosen.len();
    let mut done = 0;
    for round in 0..=MOST_ROUNDS {
        let looked = judging.look(&open)?;
        done += open.len();
        progress(done.min(total), total);
        let mut failures = Vec::new();
        for (&clip, comparison) in open.iter().zip(&looked) {
            let figures = figures(&judging.name(clip), comparison);
            failures.extend(judging.failures(clip, comparison, &figures));
            seen[clip] = Some(figures);
        }
        let open_before = open.clone();
        judging.lower(&failures, round)?;
        let raised = round == 0 && judging.raise(&seen);
        let changed = |clip: &usize| judging.is_stale(*clip) && failures.iter().any(|failure| failure.clip == *clip);
        open = if raised { (0..chosen.len()).collect() } else { open_before.into_iter().filter(changed).collect() };
        if open.is_empty() && !judging.has_other_gains() {
            break;
        }
        // What passes by scaled gains must pass by those that are solved for.
        if open.is_empty() {
            judging.solve()?;
            open = judging.clips_lowered_for();
        }
    }
    if judging.has_other_gains() {
        judging.solve()?;
    }
    judging.rescale(&mut seen);
    let solved = judging.finish();
    progress(total, total);
    Ok(Judged { clips: seen.into_iter().flatten().collect(), solved })
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
    All,
    None,
}

/// A plan being judged. Clips are numbered among those chosen.
struct Judging<'a> {
    rig: &'a Arc<Rig>,
    clips: Vec<&'a PlayedClip<'a>>,
    plan: &'a mut Plan,
    all_clips: &'a [PlayedClip<'a>],
    chosen: &'a [usize],
    /// The gains of the plan, and the factors of its layers they were found for.
    gains: Option<Solved>,
    solved_at: Vec<f64>,
    /// Whether strengths have changed since.
    is_rough: bool,
    /// Per clip: the recipe with those gains.
    solved: Vec<Recipe>,
    /// Per effect of the recipe: its layer.
    layer_of: Vec<usize>,
    checker: Checker,
    given: Given,
    /// Per clip: the factors of layers it was last seen with.
    seen_with: Vec<Vec<f64>>,
    /// Per layer: what it was raised by.
    raised: Vec<f64>,
    steps: Vec<Step>,
    watched: BTreeMap<Key, Watched>,
}

/// Asks for no more than limits let through, so that what is lowered is lowered from there; whether that is less.
fn bound(plan: &mut Plan, solved: &Solved) -> bool {
    let mut reached: BTreeMap<usize, f64> = BTreeMap::new();
    for finding in solved.findings() {
        if let Some((effect, _)) = finding.effect {
            let most = reached.entry(effect).or_default();
            *most = most.max(finding.reached);
        }
    }
    let (mut is_bounded, mut index) = (false, 0);
    for layer in plan.layers.iter_mut().filter(|layer| layer.is_on()) {
        let mut is_less = false;
        for effect in &mut layer.effects {
            if let Some(&most) = reached.get(&index)
                && most < 0.97 * effect.strength
            {
                (effect.strength, is_less) = (most, true);
            }
            index += 1;
        }
        if is_less {
            layer.reasons.push(BOUNDED.to_owned());
        }
        is_bounded |= is_less;
    }
    is_bounded
}

/// Per effect of a plan's recipe: its layer.
fn layer_of(plan: &Plan) -> Vec<usize> {
    let effects = |(index, layer): (usize, &Layer)| vec![index; if layer.is_on() { layer.effects.len() } else { 0 }];
    plan.layers.iter().enumerate().flat_map(effects).collect()
}

/// Gate, clip and label of a failure.
type Key = (&'static str, usize, String);

impl<'a> Judging<'a> {
    fn new(
        rig: &'a Arc<Rig>,
        clips: &'a [PlayedClip<'a>],
        chosen: &'a [usize],
        plan: &'a mut Plan,
        gains: Solved,
    ) -> Result<Self, LivenError> {
        let solved: Vec<Recipe> = chosen.iter().map(|&clip| gains.recipe(clip).clone()).collect();
        let checker = Checker::new(rig, &solved[0])?;
        let given = Given {
            groups: Some(groups(rig, &Anatomy::of(rig))),
            rigid: checker.rigid_pieces(),
            contacts: None,
            is_brief: true,
        };
        Ok(Self {
            rig,
            clips: chosen.iter().map(|&clip| &clips[clip]).collect(),
            all_clips: clips,
            chosen,
            gains: Some(gains),
            solved_at: plan.layers.iter().map(|layer| layer.factor).collect(),
            is_rough: false,
            raised: vec![1.0; plan.layers.len()],
            layer_of: layer_of(plan),
            plan,
            checker,
            given,
            seen_with: vec![Vec::new(); solved.len()],
            solved,
            steps: Vec::new(),
            watched: BTreeMap::new(),
        })
    }

    /// The name of a clip, or its number where it has none.
    fn name(&self, clip: usize) -> String {
        match self.clips[clip].0.name.as_str() {
            "" => format!("clip {clip}"),
            name => name.rsplit('|').next().unwrap_or(name).to_owned(),
        }
    }

    fn factors(&self) -> Vec<f64> {
        self.plan.layers.iter().map(|layer| layer.factor).collect()
    }

    fn is_stale(&self, clip: usize) -> bool {
        self.seen_with[clip] != self.factors()
    }

    /// Whether factors have changed since gains were solved for.
    fn has_other_gains(&self) -> bool {
        self.is_rough || self.solved_at != self.factors()
    }

    /// Solves for the gains of the plan as it stands.
    fn solve(&mut self) -> Result<(), LivenError> {
        let file = self.plan.recipe()?;
        (self.solved_at, self.is_rough) = (self.factors(), false);
        self.layer_of = layer_of(self.plan);
        self.gains = match file.recipe().adds() {
            true => Some(solve(self.rig, file.recipe(), self.all_clips)?),
            false => None,
        };
        let gains = self.gains.as_ref();
        let of_clip = |&clip: &usize| gains.map_or_else(Recipe::default, |gains| gains.recipe(clip).clone());
        self.solved = self.chosen.iter().map(of_clip).collect();
        Ok(())
    }

    /// Clips that something was lowered for; none where nothing is left to play.
    fn clips_lowered_for(&self) -> Vec<usize> {
        let mut clips: Vec<usize> = self.steps.iter().map(|step| step.failure.clip).collect();
        clips.sort_unstable();
        clips.dedup();
        if self.gains.is_some() { clips } else { Vec::new() }
    }

    /// The recipe of a clip with the layers' factors.
    fn recipe(&self, clip: usize, factors: &[f64]) -> Recipe {
        let mut recipe = self.solved[clip].clone();
        for (effect, &layer) in recipe.effects.iter_mut().zip(&self.layer_of) {
            effect.gain *= factors[layer] / self.solved_at[layer];
        }
        recipe
    }

    /// Plays clips by the plan as it stands.
    fn look(&mut self, open: &[usize]) -> Result<Vec<Comparison>, LivenError> {
        let factors = self.factors();
        let each = open.len().div_ceil(rayon::current_num_threads()).max(1);
        let some = |open: &[usize]| -> Result<Vec<Comparison>, LivenError> {
            let mut checker = self.checker.with_recipe(&self.solved[0])?;
            let mut found = Vec::with_capacity(open.len());
            for &clip in open {
                checker.retune(&self.recipe(clip, &factors))?;
                let (played, settings) = self.clips[clip];
                let report = checker.clip_given(played, settings, RATE, &self.given, &|_| ())?;
                found.extend(report.comparison);
            }
            Ok(found)
        };
        let found: Vec<Vec<Comparison>> = open.par_chunks(each).map(some).collect::<Result<_, _>>()?;
        open.iter().for_each(|&clip| self.seen_with[clip].clone_from(&factors));
        Ok(found.into_iter().flatten().collect())
    }

    /// The gates that a clip fails.
    fn failures(&self, clip: usize, found: &Comparison, figures: &ClipFigures) -> Vec<Failure> {
        let style = self.plan.style;
        let mut failures = Vec::new();
        let mut add = |gate, label: &str, value: f64, most: f64, unit: Unit, place: Option<Place>| {
            // Of ratios, what they are beyond 1 counts.
            let none = if unit == Unit::Ratio { 1.0 } else { 0.0 };
            let strict = none + STRICT * (most - none);
            if let Some(place) = place.filter(|_| value > strict) {
                let factor = if value.is_finite() { 0.97 * (strict - none) / (value - none) } else { 0.0 };
                failures.push(Failure { gate, clip, label: label.to_owned(), value, most, unit, factor, place });
            }
        };
        let edge = |edge: &StrainedEdge| Place::Edge(edge.place.clone(), edge.other.clone());
        for limit in &LIMITS {
            let (value, most) = ((limit.value)(found), most(limit, style));
            let at = |location: &Location| Place::Vertex(location.clone());
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
                        "crossings" => found.crossings.worst.as_ref().map(at),
                        "penetration" => found.crossings.deepest.as_ref().map(|(deepest, _)| at(&deepest.place)),
                        "thinning" => found.thinnest.as_ref().map(|thinnest| at(&thinnest.place)),
                        _ => None,
                    };
                    add(name, "", value, most, limit.unit, place);
                }
            }
        }
        for layer in self.plan.layers.iter().filter(|layer| layer.is_on()) {
            if let Moved::Part(role) = layer.moved
                && let Some(part) = figures.parts.iter().find(|part| part.role == role)
            {
                add(STRENGTH, role.name(), part.strength, self.plan.range[1], Unit::Share, Some(Place::Part(role)));
            }
        }
        failures
    }

    /// Raises parts that some clip moves and that are seen too little there, as far as the liveliest clip allows.
    fn raise(&mut self, seen: &[Option<ClipFigures>]) -> bool {
        let [least, most] = self.plan.range;
        let mut raised = false;
        for (index, layer) in self.plan.layers.iter_mut().enumerate() {
            let Moved::Part(role) = layer.moved else { continue };
            let strengths = seen.iter().flatten().flat_map(|clip| &clip.parts).filter(|part| part.role == role);
            let (mut strongest, mut weakest) = (0.0f64, f64::INFINITY);
            for part in strengths {
                strongest = strongest.max(part.strength);
                if part.motion > MOVES {
                    weakest = weakest.min(part.strength);
                }
            }
            let factor = (1.1 * least / weakest).min(STRICT * most / strongest).min(MOST_RAISED);
            // What does not reach its strength now will not reach more.
            let asked = layer.effects.iter().map(|effect| effect.strength).fold(0.0, f64::max);
            if strongest >= 0.5 * asked && layer.factor == 1.0 && weakest < least && factor > 1.0 && factor.is_finite()
            {
                (layer.factor, self.raised[index]) = (factor, factor);
                layer.reasons.push(format!("× {factor:.1} for the calmer clips"));
                raised = true;
            }
        }
        raised
    }

    /// Lowers the layers that failures are to be blamed on.
    fn lower(&mut self, failures: &[Failure], round: usize) -> Result<(), LivenError> {
        for failure in failures {
            let key = (failure.gate, failure.clip, failure.label.clone());
            let none = if failure.unit == Unit::Ratio { 1.0 } else { 0.0 };
            let excess = failure.value - none;
            let response = match self.watched.get(&key) {
                None => Response::Blamed,
                // Was that any use, against what it would have been in proportion?
                Some(before) => match excess < before.excess * (1.0 - DEAF * (1.0 - before.factor)) {
                    true => before.response,
                    false if before.response == Response::Blamed && round < MOST_ROUNDS => Response::All,
                    false => Response::None,
                },
            };
            let is_on = |layer: &usize| self.plan.layers[*layer].is_on();
            let layers: Vec<usize> = match response {
                Response::Blamed => self.blamed(failure)?,
                Response::All => (0..self.plan.layers.len()).filter(is_on).collect(),
                Response::None => Vec::new(),
            };
            let is_last = round == MOST_ROUNDS && response == Response::Blamed;
            let factor = if is_last { 0.0 } else { failure.factor.clamp(0.2, 0.95) };
            if response == Response::None {
                self.steps.retain(|step| step.failure.key() != key);
            }
            self.watched.insert(key, Watched { excess, factor, response });
            let step = |layer| Step { layer, round, factor, failure: failure.clone() };
            self.steps.extend(layers.into_iter().map(step));
        }
        for (index, layer) in self.plan.layers.iter_mut().enumerate().filter(|(_, layer)| !layer.effects.is_empty()) {
            let of_round = |round: usize| {
                let own = self.steps.iter().filter(|step| step.layer == index && step.round == round);
                own.map(|step| step.factor).fold(1.0, f64::min)
            };
            let left = (0..=round).map(of_round).product::<f64>();
            layer.factor = if left < LEAST_LEFT { 0.0 } else { self.raised[index] * left };
        }
        Ok(())
    }

    /// Clips that were last seen with other factors: strengths go with them.
    fn rescale(&self, seen: &mut [Option<ClipFigures>]) {
        let now = self.factors();
        for (figures, before) in seen.iter_mut().zip(&self.seen_with) {
            for (layer, (&now, &before)) in self.plan.layers.iter().zip(now.iter().zip(before)) {
                let ratio = if before > 0.0 { now / before } else { 1.0 };
                let is_of = |part: &&mut PartFigures| layer.moved == Moved::Part(part.role);
                figures
                    .iter_mut()
                    .flat_map(|clip| &mut clip.parts)
                    .filter(is_of)
                    .for_each(|part| part.strength *= ratio);
            }
        }
    }

    /// Notes what was lowered, and what could not be cured; the gains of the plan.
    fn finish(self) -> Option<Solved> {
        let names: Vec<String> = (0..self.clips.len()).map(|clip| self.name(clip)).collect();
        let Self { plan, raised, steps, watched, gains, .. } = self;
        for step in steps.iter().filter(|step| step.failure.gate != STRENGTH) {
            let layer = &mut plan.layers[step.layer];
            let left = layer.factor / raised[step.layer];
            let Failure { gate, clip, .. } = step.failure;
            let lowered = Lowered { gate, words: step.failure.words(), clip: names[clip].clone(), left };
            // The first word of a gate in a clip tells how far it was off.
            if left < 1.0 && !layer.lowered.iter().any(|other| (other.gate, &other.clip) == (gate, &lowered.clip)) {
                layer.lowered.push(lowered);
            }
        }
        let mut told: Vec<(&str, usize)> = Vec::new();
        for ((gate, clip, _), _) in watched.iter().filter(|(_, watched)| watched.response == Response::None) {
            if !told.contains(&(gate, *clip)) {
                told.push((gate, *clip));
                plan.remarks.push(format!("{} in {}, whatever the strength", what(gate), names[*clip]));
            }
        }
        gains
    }

    /// Layers that move a place most, each played alone.
    fn blamed(&self, failure: &Failure) -> Result<Vec<usize>, LivenError> {
        let on: Vec<usize> = (0..self.plan.layers.len()).filter(|&layer| self.plan.layers[layer].is_on()).collect();
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
        let (clip, settings) = self.clips[failure.clip];
        let mut stage = Stage::new(self.rig, &self.solved[failure.clip])?;
        let motion = Arc::clone(stage.motion(clip, settings)?.motion());
        let mut workspace = Workspace::with(Outputs { directions: false, base: true, engine: false });
        let factors = self.factors();
        let mut moved = vec![0.0; factors.len()];
        for &layer in &on {
            let alone: Vec<f64> = (0..factors.len()).map(|at| if at == layer { factors[at] } else { 0.0 }).collect();
            let _ = stage.retune(&self.recipe(failure.clip, &alone))?;
            let playing = stage.resume(&motion)?;
            moved[layer] = failure.place.moved(self.rig, |time| {
                playing.frame(time, &mut workspace);
                &workspace
            });
        }
        let most = on.iter().map(|&layer| moved[layer]).fold(0.0, f64::max);
        Ok(on.into_iter().filter(|&layer| moved[layer] >= ALSO * most).collect())
    }
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
        (self.gate, self.clip, self.label.clone())
    }

    fn words(&self) -> String {
        let number = |value: f64| match self.unit {
            Unit::Share => percent(value),
            Unit::Ratio => format!("× {value:.2}"),
            Unit::Count => format!("{value:.1}"),
        };
        let beyond = if self.value > self.most { "beyond" } else { "too close to" };
        format!("{}, {}, {beyond} {},", what(self.gate), number(self.value), number(self.most))
    }
}
