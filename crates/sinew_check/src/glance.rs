//! The same figures at a glance, for those who ask again and again while they change what is added to a clip.
//!
//! What follows from the base alone is found when a clip is first looked at, and kept: where it stands, what crosses in
//! it. Every frame is evaluated once, crossings are looked for in the very frames of a check, and who has only lowered
//! something may look again at those frames alone that came near a limit. Nothing is told of trembling, jolts and single
//! bones, nor of gaps and depths that no gate takes notice of, nor of pieces that cross themselves but do not bend.

use crate::CheckError;
use crate::clip::frames;
use crate::compare::{
    Bearings, Compared, Comparing, Comparison, Given, Memory, STRENGTH, Single, Skin, Slip, crossing_frames,
};
use crate::crossings::{Boxes, Crossed};
use crate::footing::{self, Contact};
use crate::groups::{GroupKind, Grouping, quantile};
use crate::limits::{LIMITS, Limit, Unit};
use crate::location;
use crate::positions::{Positions, Subject, workspace};
use glam::DVec3;
use rayon::prelude::*;
use sinew::graph::GraphError;
use sinew::{Motion, Outputs, Recipe, Rig, Stage, Workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Frames a second of a check.
const CHECKED: f64 = 60.0;
/// Frames a thread takes at a time.
const CHUNK: usize = 16;
/// Of a limit: what comes nearer to it is looked at again.
const NEAR: f64 = 0.85;
/// Of the strength of a part: frames that move it farther tell its strength.
const LEADS: f64 = 0.9;
/// Points of a clip, frame by frame, that are kept rather than made again.
const KEPT_POINTS: usize = 1 << 20;

/// A character to be glanced at.
pub struct Onlooker {
    subject: Subject,
    skin: Arc<Skin>,
}

/// A clip to be glanced at, with what is known of its base.
pub struct View {
    name: String,
    motion: Arc<Motion>,
    /// Frames of a check. Of these, by their numbers:
    times: Vec<f64>,
    /// those that are looked at, ascending;
    asked: Vec<usize>,
    /// those at which crossings are looked for;
    crossing: Vec<usize>,
    /// those at which something came near a limit when all that are asked were looked at; empty before that is known.
    near: Near,
    bearings: Bearings,
    rigid: Vec<usize>,
    /// By frame: how many pairs cross within pieces of the base; `None` where too many triangles lie at one place.
    in_base: BTreeMap<usize, Option<usize>>,
    known: Option<Known>,
    /// By frame: what was seen last.
    moments: BTreeMap<usize, Moment>,
}

/// What someone who looks again wants to know.
pub struct Watch<'a> {
    /// The most that a figure may be.
    pub most: &'a dyn Fn(&Limit) -> f64,
    /// Names of the groups given whose strength is asked for.
    pub parts: &'a [&'a str],
}

/// Frames at which something came near a limit, and those at which crossings did.
#[derive(Clone, Default)]
struct Near {
    all: BTreeSet<usize>,
    crossing: BTreeSet<usize>,
}

/// What follows from the base of all frames.
struct Known {
    contacts: Vec<Contact>,
    /// Per contact: the skin that it stands on.
    soles: Vec<Vec<u32>>,
}

/// Per contact: where it stands, without effects and with them.
type Means = Vec<Option<[DVec3; 2]>>;

/// What a frame showed.
struct Moment {
    compared: Compared,
    means: Means,
    crossed: Option<Crossed>,
}

/// What a frame showed that was looked at for the first time.
#[derive(Default)]
struct First {
    /// Where everything is, unless that is too much to keep.
    points: Option<[Vec<DVec3>; 2]>,
    in_base: Option<Option<usize>>,
}

/// Memory a thread keeps.
#[derive(Default)]
struct Kept {
    memory: Memory,
    boxes: [Boxes; 2],
    /// The base of the frame before, and the next frame.
    before: Vec<DVec3>,
    next: Memory,
}

impl Onlooker {
    /// A character with what `recipe` adds to it.
    pub fn new(rig: &Arc<Rig>, recipe: &Recipe) -> Result<Self, GraphError> {
        let subject = Subject::new(rig, recipe)?;
        let mut rest = Positions::default();
        subject.rest(&mut workspace(), &mut rest);
        let skin = Arc::new(Skin::new(rig, &rest.base));
        Ok(Self { subject, skin })
    }

    /// The same character with another recipe; what was found out about its shape is kept.
    pub fn with_recipe(&self, recipe: &Recipe) -> Result<Self, GraphError> {
        Ok(Self { subject: Subject::new(self.subject.stage.rig(), recipe)?, skin: Arc::clone(&self.skin) })
    }

    /// Follows another recipe of the same base, as [`Stage::retune`] does.
    pub fn retune(&mut self, recipe: &Recipe) -> Result<(), GraphError> {
        // Motions are the caller's to keep or to make anew.
        let _ = self.subject.stage.retune(recipe)?;
        Ok(())
    }

    /// What it plays on.
    pub fn stage(&self) -> &Stage {
        &self.subject.stage
    }

    /// The pieces that the recipe never bends, as comparisons number them.
    pub fn rigid_pieces(&self) -> Vec<usize> {
        self.skin.pieces_within(&self.subject.stage.rigid_points())
    }

    /// A clip at one of so many frames of a check, the last one, and those at which crossings are looked for. Of what is given,
    /// contacts are found.
    pub fn view(&self, name: &str, motion: &Arc<Motion>, every: usize, given: &Given) -> Result<View, CheckError> {
        let playing = self.subject.stage.resume(motion)?;
        let (times, _) = frames(playing.report(), CHECKED, name)?;
        let mut workspace = glancing();
        playing.frame(times[0], &mut workspace);
        let (mut first, shape) = (Vec::new(), &self.skin.shape);
        shape.read(workspace.base(), &mut first);
        let groups = Grouping::brief(self.subject.rig(), shape, given.groups.as_ref());
        let crossing: Vec<usize> = crossing_frames(times.len()).collect();
        let is_asked = |&frame: &usize| {
            frame % every.max(1) == 0 || frame + 1 == times.len() || crossing.binary_search(&frame).is_ok()
        };
        Ok(View {
            name: name.to_owned(),
            motion: Arc::clone(motion),
            asked: (0..times.len()).filter(is_asked).collect(),
            crossing,
            near: Near::default(),
            bearings: Bearings::new(&self.skin, &self.subject, groups, &first),
            rigid: given.rigid.clone(),
            in_base: BTreeMap::new(),
            known: None,
            moments: BTreeMap::new(),
            times,
        })
    }

    /// Looks at a clip with what is added to it now.
    pub fn look(&self, view: &mut View) -> Result<Comparison, CheckError> {
        let comparing = view.bearings.of(&self.skin, &self.subject);
        let is_crossing = |frame: usize| view.crossing.binary_search(&frame).is_ok();
        let mut looked = self.moments(view, &comparing, &view.asked, &is_crossing)?;
        if view.known.is_none() {
            let mut seen = comparing.nothing();
            looked.iter().for_each(|(moment, _)| seen.join(&moment.compared));
            let known = self.known(view, &comparing, &seen)?;
            let means = self.means(view, &known, &looked)?;
            looked.iter_mut().zip(means).for_each(|((moment, _), means)| moment.means = means);
            view.known = Some(known);
        }
        for (&frame, (moment, first)) in view.asked.iter().zip(looked) {
            view.moments.insert(frame, moment);
            view.in_base.extend(first.in_base.map(|count| (frame, count)));
        }
        view.near = Near::default();
        Ok(self.told(view))
    }

    /// Looks again at the frames that came near a limit when all were looked at; of the others it tells what they showed then. For what
    /// has been lowered since: nothing that was within limits is beyond them.
    pub fn look_again(&self, view: &mut View, watch: &Watch<'_>) -> Result<Comparison, CheckError> {
        if view.known.is_none() {
            return self.look(view);
        }
        if view.near.all.is_empty() {
            view.near = view.nearer(&view.bearings.of(&self.skin, &self.subject), watch);
        }
        let near = view.near.clone();
        self.look_at(view, near)
    }

    /// The same, and from here on all frames of a check that lie beside those are looked at as well.
    pub fn look_closer(&self, view: &mut View, watch: &Watch<'_>) -> Result<Comparison, CheckError> {
        if view.known.is_none() {
            return self.look(view);
        }
        let mut near = view.nearer(&view.bearings.of(&self.skin, &self.subject), watch);
        near.all.append(&mut view.near.all);
        near.crossing.append(&mut view.near.crossing);
        let last = view.asked.len() - 1;
        for place in (0..=last).filter(|&place| near.all.contains(&view.asked[place])).collect::<Vec<_>>() {
            near.all.extend(view.asked[place.saturating_sub(1)] + 1..view.asked[(place + 1).min(last)]);
        }
        self.look_at(view, near)
    }

    fn look_at(&self, view: &mut View, near: Near) -> Result<Comparison, CheckError> {
        let frames: Vec<usize> = near.all.iter().copied().collect();
        let is_crossing = |frame: usize| near.crossing.contains(&frame);
        let looked = self.moments(view, &view.bearings.of(&self.skin, &self.subject), &frames, &is_crossing)?;
        for (frame, (mut moment, _)) in frames.into_iter().zip(looked) {
            let before = view.moments.remove(&frame).and_then(|moment| moment.crossed);
            moment.crossed = moment.crossed.or(before);
            view.moments.insert(frame, moment);
        }
        view.asked = view.moments.keys().copied().collect();
        view.near = near;
        Ok(self.told(view))
    }

    /// What was seen of a clip.
    fn told(&self, view: &View) -> Comparison {
        let comparing = view.bearings.of(&self.skin, &self.subject);
        let mut seen = comparing.nothing();
        view.moments.values().for_each(|moment| seen.join(&moment.compared));
        let crossed: Vec<Crossed> = view.moments.values().filter_map(|moment| moment.crossed.clone()).collect();
        let times: Vec<f64> = view.crossing.iter().map(|&frame| view.times[frame]).collect();
        let crossings = comparing.crossings_of(&times, &crossed);
        let contacts = view.known.as_ref().map_or(&[][..], |known| &known.contacts);
        let single = Single { slips: view.slips(&comparing), crossings, trembling: None };
        comparing.told(seen, &view.rigid, contacts, single, &view.asked)
    }

    /// Looks at some frames, ascending; at the very first time at all that are asked.
    fn moments(
        &self,
        view: &View,
        comparing: &Comparing<'_>,
        frames: &[usize],
        is_crossing: &(impl Fn(usize) -> bool + Sync),
    ) -> Result<Vec<(Moment, First)>, CheckError> {
        let runs: Vec<Vec<(Moment, First)>> = (0..frames.len())
            .into_par_iter()
            .step_by(CHUNK)
            .map(|from| from..(from + CHUNK).min(frames.len()))
            .map_init(
                || (glancing(), Kept::default()),
                |(workspace, kept), run| self.run(view, comparing, (frames, run), is_crossing, (workspace, kept)),
            )
            .collect::<Result<_, CheckError>>()?;
        Ok(runs.into_iter().flatten().collect())
    }

    /// Looks at a run of frames.
    fn run(
        &self,
        view: &View,
        comparing: &Comparing<'_>,
        (frames, run): (&[usize], Range<usize>),
        is_crossing: &impl Fn(usize) -> bool,
        (workspace, kept): (&mut Workspace, &mut Kept),
    ) -> Result<Vec<(Moment, First)>, CheckError> {
        let (playing, shape) = (self.subject.stage.resume(&view.motion)?, &self.skin.shape);
        let Kept { memory, boxes, before, next } = kept;
        let time_of = |place: usize| view.times[frames[place]];
        let is_kept = frames.len() * shape.vertex.len() <= KEPT_POINTS;
        let mut evaluate = |place: usize, out: &mut Memory| {
            playing.frame(time_of(place), workspace);
            out.read(shape, workspace);
        };
        if view.known.is_none() {
            evaluate(run.start.saturating_sub(1), next);
            before.clear();
            before.extend_from_slice(next.frame()[0]);
            evaluate(run.start, next);
        }
        let mut seen = Vec::with_capacity(run.len());
        for place in run {
            let (frame, time) = (frames[place], time_of(place));
            let (mut compared, mut first) = (comparing.nothing_noticed(), First::default());
            if view.known.is_none() {
                std::mem::swap(memory, next);
                let (from, to) = (place.saturating_sub(1), (place + 1).min(frames.len() - 1));
                evaluate(to, next);
                let around = [&before[..], next.frame()[0]];
                comparing.stand(memory.frame()[0], around, time_of(to) - time_of(from), &mut compared);
                before.copy_from_slice(memory.frame()[0]);
                first.points = is_kept.then(|| memory.frame().map(<[DVec3]>::to_vec));
            } else {
                evaluate(place, memory);
            }
            let [base, effects] = memory.frame();
            let is_lost = |&point: &usize| !(base[point].is_finite() && effects[point].is_finite());
            if let Some(point) = (0..base.len()).find(is_lost) {
                let mesh = location::place(self.subject.rig(), shape.vertex[point] as usize, time).mesh;
                return Err(CheckError::NotFinite { clip: view.name.clone(), time, mesh });
            }
            comparing.look_at(time, memory, &mut compared);
            let mut crossed = None;
            if is_crossing(frame) {
                let in_base = match view.in_base.get(&frame) {
                    Some(&known) => known,
                    None => {
                        *first.in_base.insert(comparing.crossing_base(memory.frame()[0], &view.rigid, &mut boxes[0]))
                    }
                };
                crossed = Some(in_base.map_or_else(Crossed::default, |count| {
                    let mut crossed = comparing.crossing_glance(memory.frame(), &view.rigid, boxes);
                    crossed.within[0] = count;
                    crossed
                }));
            }
            let means = view.known.as_ref().map_or(Vec::new(), |known| known.means(time, memory.frame()));
            seen.push((Moment { compared, means, crossed }, first));
        }
        Ok(seen)
    }

    /// What follows from the base.
    fn known(&self, view: &View, comparing: &Comparing<'_>, seen: &Compared) -> Result<Known, CheckError> {
        let times = view.asked_times();
        let playing = self.subject.stage.resume(&view.motion)?;
        let contacts = comparing.contacts(&times, seen);
        let (mut workspace, mut base) = (glancing(), Vec::new());
        let mut sole = |contact: &Contact| {
            let from = times.partition_point(|&t| t < contact.from);
            let to = times.partition_point(|&t| t <= contact.to);
            playing.frame(times[usize::midpoint(from, to).min(times.len() - 1)], &mut workspace);
            self.skin.shape.read(workspace.base(), &mut base);
            footing::sole(&self.skin.shape, contact.bone, &base)
        };
        let soles = contacts.iter().map(&mut sole).collect();
        Ok(Known { contacts, soles })
    }

    /// Where everything stands, by frame asked.
    fn means(&self, view: &View, known: &Known, looked: &[(Moment, First)]) -> Result<Vec<Means>, CheckError> {
        let playing = self.subject.stage.resume(&view.motion)?;
        let memory = || (glancing(), Memory::default());
        let of_frame = |(workspace, memory): &mut (Workspace, Memory), place: usize| {
            let time = view.times[view.asked[place]];
            if let Some([base, effects]) = &looked[place].1.points {
                return known.means(time, [base, effects]);
            }
            if known.contacts.iter().any(|contact| contact.holds(time)) {
                playing.frame(time, workspace);
                memory.read(&self.skin.shape, workspace);
            }
            known.means(time, memory.frame())
        };
        Ok((0..looked.len()).into_par_iter().map_init(memory, of_frame).collect())
    }
}

impl View {
    fn asked_times(&self) -> Vec<f64> {
        self.asked.iter().map(|&frame| self.times[frame]).collect()
    }

    fn slips(&self, comparing: &Comparing<'_>) -> Vec<Slip> {
        let Some(Known { contacts, soles }) = &self.known else { return Vec::new() };
        let means: Vec<Means> = self.moments.values().map(|moment| moment.means.clone()).collect();
        comparing.slips_of(contacts, soles, &self.asked_times(), &means)
    }

    /// The frames that tell how far parts are moved, and those at which something comes near a limit.
    fn nearer(&self, comparing: &Comparing<'_>, watch: &Watch<'_>) -> Near {
        let near = |name: &str| {
            let limit = LIMITS.iter().find(|limit| limit.name == name);
            limit.map_or(f64::INFINITY, |limit| {
                let none = if limit.unit == Unit::Ratio { 1.0 } else { 0.0 };
                none + NEAR * ((watch.most)(limit) - none)
            })
        };
        let [strain, gap, rigid, slip, ground, thinning, depth, crossings] =
            ["strain", "gap", "rigid", "slip", "ground", "thinning", "penetration", "crossings"].map(near);
        let shape = &comparing.skin.shape;
        let mut floor = vec![0.0f64; shape.sizes.len()];
        for moment in self.moments.values() {
            floor.iter_mut().zip(&moment.compared.ground).for_each(|(low, own)| *low = low.min(*own));
        }
        let crossed = || self.moments.values().filter_map(|moment| moment.crossed.as_ref());
        let pairs = crossed().map(|crossed| crossed.within[1]).sum::<usize>() as f64;
        let is_crossed = pairs > crossings * crossed().count() as f64;
        let slipping: Vec<Slip> = self.slips(comparing).into_iter().filter(|s| s.effects - s.base > slip).collect();
        let leading = self.leading(comparing, watch.parts);
        let is_crossing = |moment: &Moment| {
            moment.crossed.as_ref().is_some_and(|crossed| {
                crossed.deepest.map_or(0.0, |deepest| deepest.depth) > depth || is_crossed && crossed.within[1] > 0
            })
        };
        let comes_near = |(&frame, moment): (&usize, &Moment)| {
            let compared = &moment.compared;
            let sinks = |(character, &(height, ..)): (usize, &(f64, u32, f64))| {
                floor[character] - height > ground * shape.sizes[character]
            };
            let is_near = (compared.strains.iter().filter_map(|group| group.worst)).any(|edge| edge.strain > strain)
                || compared.gaps.iter().any(|worst| worst.gap > gap)
                || self.rigid.iter().any(|&piece| compared.distortions[piece].share > rigid)
                || 1.0 - compared.thinnest.ratio > thinning
                || compared.sunk.iter().enumerate().any(sinks)
                || slipping.iter().any(|slip| (slip.from..=slip.to).contains(&self.times[frame]))
                || is_crossing(moment)
                || leading.iter().any(|&(group, least)| compared.reach.iter().any(|groups| groups[group][0] > least));
            is_near.then_some(frame)
        };
        let crossing = self.moments.iter().filter(|(_, moment)| is_crossing(moment)).map(|(&frame, _)| frame);
        Near { all: self.moments.iter().filter_map(comes_near).collect(), crossing: crossing.collect() }
    }

    /// The groups of these parts, each with what frames that lead in it move it by.
    fn leading(&self, comparing: &Comparing<'_>, parts: &[&str]) -> Vec<(usize, f64)> {
        let leads = |group: usize| {
            let reach = self.moments.values().flat_map(|moment| &moment.compared.reach);
            LEADS * quantile(&mut reach.map(|groups| groups[group][0]).collect::<Vec<_>>(), STRENGTH)
        };
        let Grouping { kinds, names, .. } = comparing.groups;
        let is_part = |&group: &usize| kinds[group] == GroupKind::Given && parts.contains(&names[group].as_str());
        (0..comparing.groups.len()).filter(is_part).map(|group| (group, leads(group))).collect()
    }
}

impl Known {
    /// Where soles are at a moment, of those that stand then.
    fn means(&self, time: f64, points: [&[DVec3]; 2]) -> Means {
        let of = |(contact, sole): (&Contact, &Vec<u32>)| contact.holds(time).then(|| footing::means(sole, points));
        self.contacts.iter().zip(&self.soles).map(of).collect()
    }
}

fn glancing() -> Workspace {
    Workspace::with(Outputs { directions: false, base: true, engine: false })
}
