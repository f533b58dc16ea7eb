//! One clip, frame by frame.

use crate::CheckError;
use crate::compare::{Bearings, Compared, Comparing, Comparison, Given, Memory, Skin};
use crate::cracks::Coincident;
use crate::groups::Grouping;
use crate::keys::{KeyReport, keys};
use crate::location::{Extreme, Location, Worst, place};
use crate::positions::{Positions, Subject, workspace};
use crate::seam::{Around, Seam};
use crate::shape::Piece;
use crate::surface::{Enclosure, SoundTriangles, TriangleReport, Turned, enclosures, volume};
use rayon::prelude::*;
use sinew::correct::SegmentVolume;
use sinew::{Clip, LoopVerdict, MotionReport, MotionSettings, Playing, Recipe, Rig, Stage, Workspace};
use std::sync::Arc;

/// Frames a thread takes at a time.
const CHUNK: usize = 32;
/// Frames of a clip: beyond it, a number in the file is more likely wrong than meant.
const MOST_FRAMES: f64 = 1e6;

/// A character ready to be measured.
pub struct Checker {
    subject: Subject,
    enclosures: Vec<Enclosure>,
    triangles: SoundTriangles,
    coincident: Coincident,
    /// Per segment: its part of its character's volume; 0 where it has none of its own that means something.
    shares: Vec<f64>,
    /// Per segment: the name of its bone.
    bones: Vec<String>,
    /// What effects are compared on; `None` where there are none.
    skin: Option<Arc<Skin>>,
}

/// What was measured of one clip. Lengths are shares of the size; what effects add is 0 where there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipReport {
    /// Name of the clip.
    pub name: String,
    /// Frames looked at.
    pub frames: usize,
    /// Span, period and loop.
    pub motion: MotionReport,
    /// The keys themselves.
    pub keys: KeyReport,
    /// The seam; `None` where the clip does not loop.
    pub seam: Option<Seam>,
    /// Displacement by effects in the first frame of a clip that does not loop.
    pub first_frame: Option<Extreme>,
    /// Largest displacement by effects.
    pub displacement: Option<Extreme>,
    /// Volume of each part that encloses one, in the order of the rig's parts.
    pub volumes: Vec<VolumeDrift>,
    /// Volume of what follows each bone, of bones whose skin has an inside.
    pub segments: Vec<SegmentDrift>,
    /// Triangles in the base.
    pub base_triangles: TriangleReport,
    /// What effects do to triangles.
    pub effect_triangles: TriangleReport,
    /// Where triangles first turn over and collapse: in the base, by effects.
    pub first_turned: [Option<Location>; 2],
    /// Likewise for collapsed ones.
    pub first_collapsed: [Option<Location>; 2],
    /// How far vertices that lie together at rest part in the base.
    pub parting: Option<Extreme>,
    /// What effects add to that.
    pub crack: Option<Extreme>,
    /// Everything held against the same frame without effects; `None` where there are none.
    pub comparison: Option<Comparison>,
}

/// How the volume of a part changes: ratios to that at rest, less 1.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeDrift {
    /// The mesh node.
    pub node: usize,
    /// Name of the mesh.
    pub mesh: String,
    /// In the base.
    pub base: Drift,
    /// With effects.
    pub effects: Drift,
}

/// How the volume of what follows one bone most changes: ratios to that at rest, less 1. An estimate: a segment has no
/// surface of its own where it meets its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentDrift {
    /// Name of the bone.
    pub bone: String,
    /// Its part of the character's volume.
    pub share: f64,
    /// In the base.
    pub base: Drift,
    /// With effects.
    pub effects: Drift,
}

/// The least and the most of a ratio less 1, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Largest loss, at most 0 unless there is always a gain.
    pub least: f64,
    /// When, in seconds.
    pub least_time: f64,
    /// Largest gain.
    pub most: f64,
    /// When, in seconds.
    pub most_time: f64,
}

impl Drift {
    const NONE: Self = Self { least: f64::INFINITY, least_time: 0.0, most: f64::NEG_INFINITY, most_time: 0.0 };

    fn see(&mut self, ratio: f64, time: f64) {
        if ratio < self.least {
            (self.least, self.least_time) = (ratio, time);
        }
        if ratio > self.most {
            (self.most, self.most_time) = (ratio, time);
        }
    }

    fn join(&mut self, later: &Self) {
        self.see(later.least, later.least_time);
        self.see(later.most, later.most_time);
    }

    /// The larger of loss and gain.
    pub fn largest(&self) -> f64 {
        self.least.abs().max(self.most.abs())
    }
}

/// Of the character's volume: a segment of less is a rounding of its borders.
const LEAST_SHARE: f64 = 1e-3;
/// Faces that a segment needs to have a shape.
const LEAST_FACES: usize = 16;

/// What a run of frames showed.
struct Seen {
    displacement: Worst,
    kink: Worst,
    parting: Worst,
    crack: Worst,
    volumes: Vec<[Drift; 2]>,
    segments: Vec<[Drift; 2]>,
    base: Turned,
    effects: Turned,
    lost: Option<(usize, f64)>,
    compared: Option<Compared>,
}

impl Checker {
    /// A character with what `recipe` adds to it; a recipe without effects measures the character as it is.
    pub fn new(rig: &Arc<Rig>, recipe: &Recipe) -> Result<Self, CheckError> {
        Self::sharing(rig, recipe, None)
    }

    /// The same character with another recipe; what was found out about its shape is kept.
    pub fn with_recipe(&self, recipe: &Recipe) -> Result<Self, CheckError> {
        Self::sharing(self.subject.stage.rig(), recipe, self.skin.as_ref())
    }

    fn sharing(rig: &Arc<Rig>, recipe: &Recipe, skin: Option<&Arc<Skin>>) -> Result<Self, CheckError> {
        let subject = Subject::new(rig, recipe)?.metered();
        let mut rest = Positions::default();
        subject.rest(&mut workspace(), &mut rest);
        let skin = match skin {
            Some(skin) => Some(Arc::clone(skin)),
            None => subject.has_effects.then(|| Arc::new(Skin::new(rig, &rest.base))),
        };
        Ok(Self {
            skin,
            enclosures: enclosures(rig, &rest.base),
            triangles: SoundTriangles::new(rig),
            coincident: Coincident::new(&subject, &rest.base),
            bones: rest.base_segments.iter().map(|s| rig.skeleton().name(s.bone).to_owned()).collect(),
            shares: sound_shares(rig, &rest.base_segments),
            subject,
        })
    }

    /// Follows another recipe of the same base, as [`sinew::Stage::retune`] does.
    pub fn retune(&mut self, recipe: &Recipe) -> Result<(), CheckError> {
        // Motions are made anew for every clip.
        let _ = self.subject.stage.retune(recipe)?;
        self.subject.has_effects = recipe.adds();
        Ok(())
    }

    /// What it plays on.
    pub fn stage(&self) -> &Stage {
        &self.subject.stage
    }

    /// Whether there are effects to measure.
    pub fn has_effects(&self) -> bool {
        self.subject.has_effects
    }

    /// What each part encloses.
    pub fn enclosures(&self) -> &[Enclosure] {
        &self.enclosures
    }

    /// Vertices that lie on others at rest without being joined to them.
    pub fn coincident(&self) -> usize {
        self.coincident.len()
    }

    /// Connected pieces of skin, as comparisons number them; none where there are no effects.
    pub fn pieces(&self) -> &[Piece] {
        self.skin.as_ref().map_or(&[], |skin| skin.pieces())
    }

    /// Whether so many triangles lie at one place that crossings and gaps are not looked for.
    pub fn is_crowded(&self) -> bool {
        self.skin.as_ref().is_some_and(|skin| skin.is_crowded())
    }

    /// The pieces that the recipe never bends, as comparisons number them.
    pub fn rigid_pieces(&self) -> Vec<usize> {
        let rigid = self.subject.stage.rigid_points();
        self.skin.as_ref().map_or_else(Vec::new, |skin| skin.pieces_within(&rigid))
    }

    /// Measures a clip at `fps` frames per second or slightly more, so that both ends are met. `progress` is told how
    /// many more frames are done, from any thread.
    pub fn clip(
        &self,
        clip: &Clip,
        settings: &MotionSettings,
        fps: f64,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<ClipReport, CheckError> {
        self.clip_given(clip, settings, fps, &Given::default(), progress)
    }

    /// The same, with what the caller knows of the character.
    pub fn clip_given(
        &self,
        clip: &Clip,
        settings: &MotionSettings,
        fps: f64,
        given: &Given,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<ClipReport, CheckError> {
        let subject = &self.subject;
        let rig = subject.rig();
        let playing = subject.stage.motion(clip, settings)?;
        let report = playing.report().clone();
        let (times, fps) = frames(&report, fps, &clip.name)?;
        let skin = self.skin.as_ref().filter(|_| subject.has_effects);
        let bearings = skin.map(|skin| {
            let (mut first, mut base) = (Positions::default(), Vec::new());
            subject.frame(&playing, times[0], &mut workspace(), &mut first);
            skin.shape.gather(&first.base, &mut base);
            let groups = Grouping::new(rig, &skin.shape, given.groups.as_ref());
            Bearings::new(skin, subject, groups, &base)
        });
        let comparing = bearings.as_ref().zip(skin).map(|(bearings, skin)| bearings.of(skin, subject));
        let runs: Vec<std::ops::Range<usize>> =
            (0..times.len()).step_by(CHUNK).map(|from| from..(from + CHUNK).min(times.len())).collect();
        let seen: Vec<Seen> = runs
            .into_par_iter()
            .map_init(
                || (workspace(), [Positions::default(), Positions::default(), Positions::default()], Memory::default()),
                |(workspace, frames, memory), run| {
                    let count = run.len();
                    let seen = self.look(&playing, &times, run, fps, comparing.as_ref(), workspace, frames, memory);
                    progress(count);
                    seen
                },
            )
            .collect();
        let mut seen = seen.into_iter().fold(self.nothing(comparing.as_ref()), join);
        if let Some((vertex, time)) = seen.lost {
            let mesh = place(rig, vertex, time).mesh;
            return Err(CheckError::NotFinite { clip: clip.name.clone(), time, mesh });
        }
        let compared = comparing.as_ref().zip(seen.compared.take());
        let comparison = compared.map(|(comparing, seen)| comparing.comparison(&playing, &times, given, seen));
        let extreme = |worst: Worst| (worst.value > 0.0).then(|| worst.extreme(rig));
        let at = |spot: Option<(usize, f64)>| spot.map(|(vertex, time)| place(rig, vertex, time));
        let (base, effects) = (seen.base.report(), seen.effects.report());
        let segments =
            self.shares.iter().zip(&self.bones).zip(&seen.segments).filter(|((share, _), _)| **share > LEAST_SHARE);
        let volumes = self.enclosures.iter().zip(&seen.volumes).filter(|(enclosure, _)| enclosure.volume != 0.0);
        Ok(ClipReport {
            name: clip.name.clone(),
            frames: times.len(),
            keys: keys(rig, clip, &settings.teleports),
            seam: self.seam(&playing, &times, fps, seen.kink.value),
            first_frame: if report.period.is_none() { self.first_frame(&playing, times[0]) } else { None },
            motion: report,
            displacement: extreme(seen.displacement),
            volumes: volumes
                .map(|(enclosure, &[base, effects])| VolumeDrift {
                    node: enclosure.node,
                    mesh: enclosure.mesh.clone(),
                    base,
                    effects,
                })
                .collect(),
            segments: segments
                // What loses more than all it has is no volume.
                .filter(|(_, [base, _])| base.least > -1.0)
                .map(|((&share, bone), &[base, effects])| SegmentDrift { bone: bone.clone(), share, base, effects })
                .collect(),
            first_turned: [at(base.first_turned), at(effects.first_turned)],
            first_collapsed: [at(base.first_collapsed), at(effects.first_collapsed)],
            base_triangles: base,
            effect_triangles: effects,
            parting: extreme(seen.parting),
            crack: extreme(seen.crack),
            comparison,
        })
    }

    fn nothing(&self, comparing: Option<&Comparing<'_>>) -> Seen {
        Seen {
            displacement: Worst::default(),
            kink: Worst::default(),
            parting: Worst::default(),
            crack: Worst::default(),
            volumes: vec![[Drift::NONE; 2]; self.enclosures.len()],
            segments: vec![[Drift::NONE; 2]; self.shares.len()],
            base: Turned::new(self.triangles.count),
            effects: Turned::new(self.triangles.count),
            lost: None,
            compared: comparing.map(Comparing::nothing),
        }
    }

    /// Looks at the frames of `run`; `frames` is memory for the frame, the one before and the one after.
    #[expect(clippy::too_many_arguments, reason = "the clip, the run of it, and memory a thread keeps")]
    fn look(
        &self,
        playing: &Playing<'_>,
        times: &[f64],
        run: std::ops::Range<usize>,
        fps: f64,
        comparing: Option<&Comparing<'_>>,
        workspace: &mut Workspace,
        frames: &mut [Positions; 3],
        memory: &mut Memory,
    ) -> Seen {
        let subject = &self.subject;
        let mut seen = self.nothing(comparing);
        let evaluate = |frame: usize, workspace: &mut Workspace, out: &mut Positions| {
            if let Some(&time) = times.get(frame) {
                subject.frame(playing, time, workspace, out);
            }
        };
        if let Some(before) = run.start.checked_sub(1) {
            evaluate(before, workspace, &mut frames[0]);
        }
        evaluate(run.start, workspace, &mut frames[1]);
        for frame in run {
            evaluate(frame + 1, workspace, &mut frames[2]);
            let [before, now, after] = frames;
            let time = times[frame];
            let is_lost = |&vertex: &usize| !(now.base[vertex].is_finite() && now.effects[vertex].is_finite());
            if let Some(vertex) = (0..now.base.len()).find(is_lost) {
                seen.lost.get_or_insert((vertex, time));
                return seen;
            }
            let is_inner = frame > 0 && frame + 1 < times.len();
            for vertex in 0..now.base.len() {
                let size = subject.size(vertex);
                let position = now.effects[vertex];
                seen.displacement.see(position.distance(now.base[vertex]) / size, vertex, time);
                if is_inner {
                    let change = (after.effects[vertex] - position) - (position - before.effects[vertex]);
                    seen.kink.see(change.length() * fps / size, vertex, time);
                }
            }
            for (enclosure, [base, effects]) in self.enclosures.iter().zip(&mut seen.volumes) {
                if enclosure.volume != 0.0 {
                    base.see(volume(&now.base, &enclosure.triangles) / enclosure.volume - 1.0, time);
                    effects.see(volume(&now.effects, &enclosure.triangles) / enclosure.volume - 1.0, time);
                }
            }
            let both = now.base_segments.iter().zip(&now.effect_segments);
            for ((in_base, with_effects), [base, effects]) in both.zip(&mut seen.segments) {
                if in_base.rest > 0.0 {
                    base.see(in_base.change / in_base.rest, time);
                    effects.see(with_effects.change / in_base.rest, time);
                }
            }
            self.triangles.look(now, subject.has_effects, time, &mut seen.base, &mut seen.effects);
            self.coincident.look(subject, now, time, &mut seen.parting, &mut seen.crack);
            if let (Some(comparing), Some(compared)) = (comparing, &mut seen.compared) {
                let (from, to) = (frame.saturating_sub(1), (frame + 1).min(times.len() - 1));
                let around = [if from < frame { &*before } else { &*now }, if to > frame { &*after } else { &*now }];
                comparing.look(now, (around, times[to] - times[from]), time, memory, compared);
            }
            frames.rotate_left(1);
        }
        seen
    }

    fn seam(&self, playing: &Playing<'_>, times: &[f64], fps: f64, usual_kink: f64) -> Option<Seam> {
        let report = playing.report();
        let travels = matches!(report.verdict, LoopVerdict::Travelling { .. });
        let (&[first, second, ..], &[.., before, last]) = (times, times) else { return None };
        report.period?;
        let mut workspace = workspace();
        let mut frame = |time: f64| {
            let mut out = Positions::default();
            self.subject.frame(playing, time, &mut workspace, &mut out);
            out
        };
        let around =
            Around { first: frame(first), second: frame(second), last_but_one: frame(before), last: frame(last) };
        Some(around.seam(&self.subject, travels, (first, last), fps, usual_kink))
    }

    fn first_frame(&self, playing: &Playing<'_>, time: f64) -> Option<Extreme> {
        let mut frame = Positions::default();
        self.subject.frame(playing, time, &mut workspace(), &mut frame);
        let mut worst = Worst::default();
        for (vertex, (a, b)) in frame.base.iter().zip(&frame.effects).enumerate() {
            worst.see(a.distance(*b) / self.subject.size(vertex), vertex, time);
        }
        (worst.value > 0.0).then(|| worst.extreme(self.subject.rig()))
    }
}

fn join(mut first: Seen, later: Seen) -> Seen {
    first.displacement.join(later.displacement);
    first.kink.join(later.kink);
    first.parting.join(later.parting);
    first.crack.join(later.crack);
    for (a, b) in first.volumes.iter_mut().zip(&later.volumes) {
        a.iter_mut().zip(b).for_each(|(a, b)| a.join(b));
    }
    for (a, b) in first.segments.iter_mut().zip(&later.segments) {
        a.iter_mut().zip(b).for_each(|(a, b)| a.join(b));
    }
    first.base.join(&later.base);
    first.effects.join(&later.effects);
    first.lost = first.lost.or(later.lost);
    if let (Some(first), Some(later)) = (&mut first.compared, later.compared) {
        first.join(&later);
    }
    first
}

/// [`shares`] of the segments whose volume means something: of enough faces, in a surface without a border there.
fn sound_shares(rig: &Rig, segments: &[SegmentVolume]) -> Vec<f64> {
    let mut edges: Vec<([u32; 2], usize)> = Vec::with_capacity(3 * rig.point_triangles().len());
    for (face, &[a, b, c]) in
        rig.point_triangles().iter().enumerate().filter(|(_, [a, b, c])| a != b && b != c && c != a)
    {
        edges.extend([[a, b], [b, c], [c, a]].map(|[a, b]| ([a.min(b), a.max(b)], face)));
    }
    edges.sort_unstable();
    let bones = rig.skeleton().len();
    let (mut faces, mut is_open) = (vec![0usize; bones], vec![false; bones]);
    let corners = |face: usize| rig.point_triangles()[face].map(|slot| rig.main_bone(slot as usize));
    for of_edge in edges.chunk_by(|a, b| a.0 == b.0) {
        for &(_, face) in of_edge {
            for bone in corners(face).into_iter().flatten() {
                faces[bone.index()] += 1;
                is_open[bone.index()] |= of_edge.len() != 2;
            }
        }
    }
    // A face was counted at three edges and three corners.
    let is_sound = |s: &SegmentVolume| faces[s.bone.index()] >= 9 * LEAST_FACES && !is_open[s.bone.index()];
    let all = shares(segments, rig.characters().len());
    segments.iter().zip(all).map(|(segment, share)| if is_sound(segment) { share } else { 0.0 }).collect()
}

/// What each segment has of its character's volume.
fn shares(segments: &[SegmentVolume], characters: usize) -> Vec<f64> {
    let mut totals = vec![0.0; characters];
    segments.iter().for_each(|segment| totals[segment.character] += segment.rest);
    let share = |segment: &SegmentVolume| segment.rest / totals[segment.character];
    segments.iter().map(|segment| if segment.rest > 0.0 { share(segment) } else { 0.0 }).collect()
}

/// Evenly spaced times from the first key to the last, both included, and the rate they really have.
pub(crate) fn frames(report: &MotionReport, fps: f64, clip: &str) -> Result<(Vec<f64>, f64), CheckError> {
    let (start, end) = (report.start, report.last_key);
    let wanted = (end - start) * fps;
    if !(0.0..=MOST_FRAMES).contains(&wanted) {
        return Err(CheckError::TooManyFrames { clip: clip.to_owned(), seconds: end - start, fps });
    }
    // A clip of 2 s keyed in f32 is 1.9999999 s long.
    let steps = (wanted - 1e-3).ceil().max(0.0) as u32;
    if steps == 0 {
        return Ok((vec![start], fps));
    }
    let time = |step: u32| if step == steps { end } else { start + (end - start) * f64::from(step) / f64::from(steps) };
    Ok(((0..=steps).map(time).collect(), f64::from(steps) / (end - start)))
}
