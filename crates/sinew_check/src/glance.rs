//! The same figures at a glance, for those who ask again and again while they change what is added to a clip.
//!
//! What follows from the base alone is found when a clip is first looked at, and kept: where it stands, what crosses in
//! it. Every frame is evaluated once. Nothing is told of trembling, jolts and single bones, and pieces that hardly move
//! against each other are not looked at for depth.

use crate::CheckError;
use crate::clip::frames;
use crate::compare::{Bearings, Compared, Comparing, Comparison, Given, Memory, Single, Skin, crossing_frames};
use crate::crossings::{Boxes, Crossed, Pairs};
use crate::footing::{self, Contact};
use crate::groups::Grouping;
use crate::location::place;
use crate::positions::{Positions, Subject, workspace};
use glam::DVec3;
use rayon::prelude::*;
use sinew::graph::GraphError;
use sinew::{Motion, Outputs, Recipe, Rig, Stage, Workspace};
use std::sync::Arc;

/// Frames a second of a check: strengths are told as by so many.
const CHECKED: f64 = 60.0;
/// Frames a thread takes at a time.
const CHUNK: usize = 16;

/// A character to be glanced at.
pub struct Onlooker {
    subject: Subject,
    skin: Arc<Skin>,
}

/// A clip to be glanced at, with what is known of its base.
pub struct View {
    name: String,
    motion: Arc<Motion>,
    times: Vec<f64>,
    /// Frames of a check, from each of these to the next.
    steps: usize,
    bearings: Bearings,
    rigid: Vec<usize>,
    known: Option<Known>,
}

/// What follows from the base of all frames.
struct Known {
    contacts: Vec<Contact>,
    /// Per contact: the frames at which it stands, and the skin that it stands on.
    spans: Vec<std::ops::Range<usize>>,
    soles: Vec<Vec<u32>>,
    /// What crosses at the frames that are looked at for that.
    crossing: Vec<Option<[Pairs; 2]>>,
}

/// What a run of frames showed.
struct Glanced {
    compared: Compared,
    /// Per frame, per contact: where it stands.
    means: Vec<Vec<Option<[DVec3; 2]>>>,
    crossed: Vec<Crossed>,
    crossing: Vec<Option<[Pairs; 2]>>,
    lost: Option<(usize, f64)>,
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

    /// A clip at `fps` frames a second or slightly more, so that both ends are met. Of what is given, contacts are found.
    pub fn view(&self, name: &str, motion: &Arc<Motion>, fps: f64, given: &Given) -> Result<View, CheckError> {
        let playing = self.subject.stage.resume(motion)?;
        let (times, _) = frames(playing.report(), fps, name)?;
        let mut workspace = glancing();
        playing.frame(times[0], &mut workspace);
        let (mut first, shape) = (Vec::new(), &self.skin.shape);
        shape.read(workspace.base(), &mut first);
        let groups = Grouping::brief(self.subject.rig(), shape, given.groups.as_ref());
        Ok(View {
            name: name.to_owned(),
            motion: Arc::clone(motion),
            times,
            steps: (CHECKED / fps).round().max(1.0) as usize,
            bearings: Bearings::new(&self.skin, &self.subject, groups, &first),
            rigid: given.rigid.clone(),
            known: None,
        })
    }

    /// Looks at a clip with what is added to it now.
    pub fn look(&self, view: &mut View) -> Result<Comparison, CheckError> {
        let comparing = view.bearings.of(&self.skin, &self.subject);
        let count = view.times.len();
        let runs: Vec<std::ops::Range<usize>> =
            (0..count).step_by(CHUNK).map(|from| from..(from + CHUNK).min(count)).collect();
        let runs: Vec<Glanced> = (runs.into_par_iter())
            .map_init(
                || (glancing(), Kept::default()),
                |(workspace, kept), run| self.run(view, &comparing, run, workspace, kept),
            )
            .collect::<Result<_, CheckError>>()?;
        let mut seen = Glanced::nothing(&comparing);
        runs.into_iter().for_each(|run| seen.join(run));
        if let Some((vertex, time)) = seen.lost {
            let mesh = place(self.subject.rig(), vertex, time).mesh;
            return Err(CheckError::NotFinite { clip: view.name.clone(), time, mesh });
        }
        let asked: Vec<f64> = crossing_frames(count).map(|frame| view.times[frame]).collect();
        let crossings = comparing.crossings_of(&asked, &seen.crossed);
        let known = match view.known.take() {
            Some(known) => known,
            None => {
                let known = self.known(view, &comparing, &seen.compared, std::mem::take(&mut seen.crossing))?;
                seen.means = self.means(view, &known)?;
                known
            }
        };
        let slips = comparing.slips_of(&known.contacts, &known.soles, &view.times, &seen.means);
        let single = Single { slips, crossings, trembling: None };
        let found = comparing.told(seen.compared, &view.rigid, &known.contacts, single, view.steps);
        view.known = Some(known);
        Ok(found)
    }

    /// Looks at a run of frames.
    fn run(
        &self,
        view: &View,
        comparing: &Comparing<'_>,
        run: std::ops::Range<usize>,
        workspace: &mut Workspace,
        kept: &mut Kept,
    ) -> Result<Glanced, CheckError> {
        let (playing, shape) = (self.subject.stage.resume(&view.motion)?, &self.skin.shape);
        let Kept { memory, boxes, before, next } = kept;
        let times = &view.times;
        let mut seen = Glanced::nothing(comparing);
        let crossing: Vec<usize> = crossing_frames(times.len()).collect();
        let last = times.len() - 1;
        let mut evaluate = |frame: usize, out: &mut Memory| {
            playing.frame(times[frame], workspace);
            out.read(shape, workspace);
        };
        if view.known.is_none() {
            evaluate(run.start.saturating_sub(1), next);
            before.clear();
            before.extend_from_slice(next.frame()[0]);
            evaluate(run.start, next);
        }
        for frame in run {
            let time = times[frame];
            if view.known.is_none() {
                std::mem::swap(memory, next);
                let (from, to) = (frame.saturating_sub(1), (frame + 1).min(last));
                evaluate(to, next);
                let around = [&before[..], next.frame()[0]];
                comparing.stand(memory.frame()[0], around, times[to] - times[from], &mut seen.compared);
                before.copy_from_slice(memory.frame()[0]);
            } else {
                evaluate(frame, memory);
            }
            let [base, effects] = memory.frame();
            let is_lost = |&point: &usize| !(base[point].is_finite() && effects[point].is_finite());
            if let Some(point) = (0..base.len()).find(is_lost) {
                seen.lost = Some((shape.vertex[point] as usize, time));
                break;
            }
            comparing.look_at(time, memory, &mut seen.compared);
            if let Ok(index) = crossing.binary_search(&frame) {
                let base = memory.frame()[0];
                let found = view.known.is_none().then(|| comparing.crossing_base(base, &mut boxes[0])).flatten();
                let in_base = view.known.as_ref().map_or(found.as_ref(), |known| known.crossing[index].as_ref());
                let glance = |in_base| comparing.crossing_glance(memory.frame(), in_base, boxes);
                seen.crossed.push(in_base.map_or_else(Crossed::default, glance));
                seen.crossing.push(found);
            }
            if let Some(known) = &view.known {
                seen.means.push(known.means(frame, memory.frame()));
            }
        }
        Ok(seen)
    }

    /// What follows from the base.
    fn known(
        &self,
        view: &View,
        comparing: &Comparing<'_>,
        seen: &Compared,
        crossing: Vec<Option<[Pairs; 2]>>,
    ) -> Result<Known, CheckError> {
        let (times, shape) = (&view.times, &self.skin.shape);
        let playing = self.subject.stage.resume(&view.motion)?;
        let contacts = comparing.contacts(times, seen);
        let span = |contact: &Contact| {
            times.partition_point(|&t| t < contact.from)..times.partition_point(|&t| t <= contact.to)
        };
        let spans: Vec<std::ops::Range<usize>> = contacts.iter().map(span).collect();
        let (mut workspace, mut base) = (glancing(), Vec::new());
        let mut soles = Vec::new();
        for (contact, span) in contacts.iter().zip(&spans) {
            let middle = usize::midpoint(span.start, span.end).min(times.len() - 1);
            playing.frame(times[middle], &mut workspace);
            shape.read(workspace.base(), &mut base);
            soles.push(footing::sole(shape, contact.bone, &base));
        }
        Ok(Known { contacts, spans, soles, crossing })
    }

    /// Where everything stands, per frame.
    fn means(&self, view: &View, known: &Known) -> Result<Vec<Vec<Option<[DVec3; 2]>>>, CheckError> {
        let playing = self.subject.stage.resume(&view.motion)?;
        let memory = || (glancing(), Memory::default());
        let of_frame = |(workspace, memory): &mut (Workspace, Memory), frame: usize| {
            if known.spans.iter().any(|span| span.contains(&frame)) {
                playing.frame(view.times[frame], workspace);
                memory.read(&self.skin.shape, workspace);
            }
            known.means(frame, memory.frame())
        };
        Ok((0..view.times.len()).into_par_iter().map_init(memory, of_frame).collect())
    }
}

impl Known {
    /// Where soles are at a frame, of those that stand then.
    fn means(&self, frame: usize, points: [&[DVec3]; 2]) -> Vec<Option<[DVec3; 2]>> {
        let of = |(span, sole): (&std::ops::Range<usize>, &Vec<u32>)| {
            span.contains(&frame).then(|| footing::means(sole, points))
        };
        self.spans.iter().zip(&self.soles).map(of).collect()
    }
}

impl Glanced {
    fn nothing(comparing: &Comparing<'_>) -> Self {
        let compared = comparing.nothing();
        Self { compared, means: Vec::new(), crossed: Vec::new(), crossing: Vec::new(), lost: None }
    }

    fn join(&mut self, later: Self) {
        self.compared.join(later.compared);
        self.means.extend(later.means);
        self.crossed.extend(later.crossed);
        self.crossing.extend(later.crossing);
        self.lost = self.lost.or(later.lost);
    }
}

fn glancing() -> Workspace {
    Workspace::with(Outputs { directions: false, base: true, engine: false })
}
