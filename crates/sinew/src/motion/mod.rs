//! A clip as a function of time: pose, velocities and accelerations at any moment, without history.
//!
//! Source: VS 3.1–3.2, AS 3 and 6. A [`Motion`] is made once from a clip and never changes; whatever it tells depends
//! on the time asked for alone, so scrubbing equals playing and every frame rate agrees to the last bit.
//!
//! | file | what it holds |
//! |---|---|
//! | `sampling` | the pose |
//! | `derivatives` | exact rates of each channel in the parent's frame |
//! | `timeline`, `looping`, `travel` | span, period and cuts; whether a clip loops; roots that end elsewhere |
//! | `closing` | the key that a loop lacks, in a copy of its clip |
//! | `smoothing` | rates convolved with a B-spline |
//! | `filter`, `time_filter`, `oscillator`, `window` | what can be made of a signal's past: lag, derivative, wobble |
//! | `relative` | the rates of a bone against another one than its parent in the file |
//! | `moving_bone` | one bone over the clip, and the filters run over it |
//! | `kinematics` | the rates in world axes |
//! | `flesh_load` | what flesh feels in the bone's own frame, through the filters of muscles |
//! | `live` | the same for poses that arrive one by one |
//! | `runs` | what others ran over the clip |

mod closing;
mod derivatives;
mod filter;
mod flesh_load;
mod kinematics;
mod live;
mod looping;
mod moving_bone;
mod oscillator;
mod relative;
mod runs;
mod sampling;
mod smoothing;
mod time_filter;
mod timeline;
mod travel;
mod window;

pub use filter::{Filter, FilteredSignal};
pub use kinematics::{BoneMotion, Kinematics, Signal};
pub use live::LiveKinematics;
pub use looping::{Gap, LoopVerdict, Looping};
pub use oscillator::Oscillator;
pub use time_filter::{DerivativeFilter, TimeFilter};
pub use timeline::Ends;
pub use window::Window;

/// What a bone feels, in its own frame: its acceleration, how that changes along its axes, and which way is up.
pub(crate) type Felt = [DVec3; PARTS];

use crate::clip::Clip;
use crate::hierarchy::Hierarchy;
use crate::pose::{Pose, WorldPose};
use crate::skeleton::{BoneId, Skeleton};
use crate::stance::{Spans, Stance};
use derivatives::{Keys, RateCurve, Value};
use filter::FilterGrid;
use flesh_load::{FleshRuns, FleshWork, PARTS};
pub(crate) use flesh_load::{Whole, felt};
use glam::{DQuat, DVec3};
use looping::{BoneKeys, Judgement, judge};
use moving_bone::{Clock, MovingBone};
use relative::Relative;
use sampling::{BoneCurves, MorphWeights, PoseCurves, parts};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use timeline::Timeline;
use travel::Twist;

/// Clips shorter than this are poses.
const SHORTEST_CLIP_SECS: f64 = 1e-6;
/// Longest box of the smoothing: one frame of film.
const LONGEST_BOX_SECS: f64 = 1.0 / 24.0;
/// Shortest box; below, squares of its inverse leave the range in which anything can be told.
const SHORTEST_BOX_SECS: f64 = 1e-6;
/// Largest box as a share of the clip.
const BOX_SHARE_OF_CLIP: f64 = 1.0 / 8.0;

/// How rates of key-framed curves are smoothed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Smoothing {
    /// By the clip's own key spacing, at most 1/24 s and an eighth of the clip.
    #[default]
    Auto,
    /// By three boxes of this many seconds each, at most an eighth of the clip; 0 = exact derivatives.
    Box(f64),
}

/// What becomes of the steady part of a root that a loop takes elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Travel {
    /// Left out, so that a walk looks the same on the spot and across the room.
    #[default]
    Subtract,
    /// Part of the motion.
    Keep,
}

/// How to read a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionSettings {
    /// Whether it loops.
    pub looping: Looping,
    /// What stands before, after and on both sides of teleports.
    pub ends: Ends,
    /// Smoothing of rates.
    pub smoothing: Smoothing,
    /// The steady part of a travelling root.
    pub travel: Travel,
    /// Times in seconds at which the character is moved elsewhere or the shot is cut: the key interval that holds one
    /// is no motion, and nothing before it is remembered after it.
    pub teleports: Vec<f64>,
    /// When bones stand on the ground, in place of what is seen of them: names or roles (`@foot`), each with spans of
    /// seconds, which may be none. `*` and `?` match any; later entries win.
    pub contacts: Vec<(String, Spans)>,
    /// Most bytes the filters may keep.
    pub memory_limit: usize,
}

impl Default for MotionSettings {
    fn default() -> Self {
        Self {
            looping: Looping::Auto,
            ends: Ends::Rest,
            smoothing: Smoothing::Auto,
            travel: Travel::Subtract,
            teleports: Vec::new(),
            contacts: Vec::new(),
            memory_limit: 1 << 30,
        }
    }
}

/// Why a clip cannot be read as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MotionError {
    /// A track for a node that is not there.
    #[error("clip \"{clip}\" animates node {node}, but there are only {count} nodes")]
    NoSuchNode {
        /// The clip.
        clip: String,
        /// The node.
        node: usize,
        /// Nodes in the skeleton.
        count: usize,
    },
    /// A teleport outside the clip.
    #[error(
        "the teleport at {mark} s is outside clip \"{clip}\", which runs from {start} s to {end} s; move or remove it"
    )]
    TeleportOutside {
        /// The clip.
        clip: String,
        /// The mark in seconds.
        mark: f64,
        /// First key in seconds.
        start: f64,
        /// Last key in seconds.
        end: f64,
    },
    /// A smoothing box that is no length of time.
    #[error("smoothing = {secs} s is not usable; give 0 or a positive number of seconds (0: exact derivatives)")]
    BadSmoothing {
        /// The value given.
        secs: f64,
    },
    /// Contacts of a bone that is not there.
    #[error("no bone is named \"{pattern}\" (contacts of clip \"{clip}\"){}", crate::text::did_you_mean(.nearest))]
    NoSuchContact {
        /// The clip.
        clip: String,
        /// The name or role.
        pattern: String,
        /// The nearest there is.
        nearest: Option<String>,
    },
    /// The swinging skin would not fit.
    #[error(
        "skin that swings through clip \"{clip}\" takes {needed} bytes, more than the limit of {limit}; raise the limit, \
         shorten the clip, lower the frequency or use history = \"none\""
    )]
    SwingMemory {
        /// The clip.
        clip: String,
        /// Bytes needed.
        needed: u128,
        /// Bytes allowed.
        limit: usize,
    },
    /// The filters would not fit.
    #[error(
        "filtering clip \"{clip}\" ({bones} moving bones, {signals} filtered signals) takes {needed} bytes, more than \
         the limit of {limit}; raise the limit, shorten the clip or filter fewer signals (gamma 1 needs none)"
    )]
    FilterMemory {
        /// The clip.
        clip: String,
        /// Bones that move.
        bones: usize,
        /// Signals with a history.
        signals: usize,
        /// Bytes needed.
        needed: u128,
        /// Bytes allowed.
        limit: usize,
    },
}

/// What was found about a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionReport {
    /// First key in seconds.
    pub start: f64,
    /// Last key in seconds.
    pub last_key: f64,
    /// Period in seconds, of a loop.
    pub period: Option<f64>,
    /// Whether and how it loops.
    pub verdict: LoopVerdict,
    /// Width in seconds of each of the three boxes that smooth rates; 0 = exact derivatives.
    pub smoothing_box: f64,
    /// Median time between keys of channels that change, in seconds; `None` where nothing changes.
    pub key_spacing: Option<f64>,
    /// Bones that move.
    pub moving_bones: usize,
}

impl MotionReport {
    /// Whole width of the smoothing in seconds.
    pub fn smoothing_window(&self) -> f64 {
        3.0 * self.smoothing_box
    }

    /// Plain words, one finding per line.
    pub fn sentences(&self) -> Vec<String> {
        let mut lines = vec![self.verdict.to_string()];
        if let Some(period) = self.period {
            lines.push(format!("period {period:.4} s"));
        }
        lines.push(match (self.moving_bones, self.smoothing_window()) {
            (0, _) => "no bone moves".to_owned(),
            (_, 0.0) => "velocities are exact derivatives".to_owned(),
            (_, window) => format!("velocities are smoothed over {window:.4} s"),
        });
        lines
    }
}

/// What a clip moves.
#[derive(Clone, Copy, Debug)]
pub struct Puppet<'a> {
    /// The bones.
    pub skeleton: &'a Skeleton,
    /// Size L of each bone's character; 0 or missing: none.
    pub bone_sizes: &'a [f64],
    /// For each node with morph targets: the node, where its weights stand in [`Pose::morph_weights`], how many.
    pub morph_layout: &'a [(usize, usize, usize)],
    /// What bones move against; `None`: their parents in the skeleton.
    pub hierarchy: Option<&'a Hierarchy>,
}

impl Puppet<'_> {
    /// The same for two characters only if a motion made for one fits the other.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.skeleton.len().hash(&mut hasher);
        for bone in self.skeleton.bones() {
            (self.skeleton.parent(bone), self.skeleton.node(bone)).hash(&mut hasher);
            self.skeleton.rest_locals()[bone.index()].to_affine().to_cols_array().map(f64::to_bits).hash(&mut hasher);
        }
        self.bone_sizes.iter().for_each(|size| size.to_bits().hash(&mut hasher));
        self.morph_layout.hash(&mut hasher);
        for follow in self.hierarchy.map_or(&[][..], Hierarchy::follows) {
            (follow.bone, follow.parent).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// A clip bound to a skeleton. Immutable: every answer is a function of the time asked for.
#[derive(Clone, Debug)]
pub struct Motion {
    fingerprint: u64,
    hierarchy: Hierarchy,
    curves: PoseCurves,
    clock: Clock,
    moving: Vec<MovingBone>,
    moving_bones: Vec<BoneId>,
    filtered: Vec<FilteredSignal>,
    felt: FleshRuns,
    report: MotionReport,
    stance: Option<Stance>,
    runs: runs::Runs,
}

impl Motion {
    /// Binds `clip` to what it moves; `filtered` are the signals [`Motion::kinematics`] is to filter.
    pub fn new(
        puppet: Puppet<'_>,
        clip: &Clip,
        settings: &MotionSettings,
        filtered: &[FilteredSignal],
    ) -> Result<Self, MotionError> {
        let Puppet { skeleton, bone_sizes, morph_layout, .. } = puppet;
        let hierarchy = puppet.hierarchy.cloned().unwrap_or_else(|| Hierarchy::plain(skeleton));
        let (start, last_key) = clip.span().unwrap_or((0.0, 0.0));
        let mut curves = bind(skeleton, morph_layout, clip)?;
        let marks = marks(clip, &settings.teleports, start, last_key)?;
        let is_pose = last_key - start < SHORTEST_CLIP_SECS;
        let bones = if is_pose { Vec::new() } else { changing_bones(skeleton, bone_sizes, &curves, start) };
        let key_spacing = median_spacing(bones.iter());
        // The keys of a follower say little about its motion, whose roughness is that of the bones it follows.
        let own_spacing = median_spacing(bones.iter().filter(|keys| hierarchy.followed(keys.bone).is_none()));
        let judgement = if is_pose {
            Judgement { verdict: LoopVerdict::Pose, spacing: 0.0, goes_on: Vec::new() }
        } else {
            judge(&bones, key_spacing.unwrap_or(0.0), settings.looping)
        };
        let end = last_key + judgement.spacing;
        let timeline = Timeline {
            start,
            last_key,
            end,
            loops: judgement.loops(),
            marks,
            ends: settings.ends,
            box_secs: smoothing_box(settings.smoothing, own_spacing.or(key_spacing), end - start)?,
        };
        let mut moving: Vec<_> = Vec::with_capacity(bones.len());
        for (keys, &goes_on) in bones.into_iter().zip(&judgement.goes_on) {
            let closing = closing_placement(&keys, goes_on, &timeline);
            if let Ok(at) = curves.bones.binary_search_by_key(&keys.bone, |curves| curves.bone) {
                curves.bones[at].closing = closing;
            }
            if hierarchy.followed(keys.bone).is_some() {
                continue;
            }
            let bone = moving_bone(keys, skeleton, goes_on, closing, &timeline, settings.travel);
            if !(bone.linear.is_still() && bone.angular.is_still()) {
                moving.push(bone);
            }
        }
        if !is_pose && !hierarchy.follows().is_empty() {
            for follow in hierarchy.follows() {
                let (linear, angular) = Relative::new(skeleton, &curves, &timeline, follow).rates();
                if !(linear.is_still() && angular.is_still()) {
                    moving.push(MovingBone::new(follow.bone, Some(follow.parent), linear, angular));
                }
            }
            moving.sort_by_key(|moving| moving.bone);
        }
        let report = MotionReport {
            start,
            last_key,
            period: timeline.loops.then(|| timeline.length()),
            verdict: judgement.verdict,
            smoothing_box: timeline.box_secs,
            key_spacing,
            moving_bones: moving.len(),
        };
        let clock = Clock { grid: FilterGrid::new(start, end), timeline, filters: filter::Runs::new(filtered) };
        let felt = FleshRuns::new(filtered, start, end);
        let needed = clock.bytes_per_bone() * moving.len() as u128 + felt.bytes(skeleton.len());
        if needed > settings.memory_limit as u128 {
            return Err(MotionError::FilterMemory {
                clip: clip.name.clone(),
                bones: moving.len(),
                signals: filtered.len(),
                needed,
                limit: settings.memory_limit,
            });
        }
        let moving_bones = moving.iter().map(|moving| moving.bone).collect();
        let fingerprint = puppet.fingerprint();
        Ok(Self {
            fingerprint,
            hierarchy,
            curves,
            clock,
            moving,
            moving_bones,
            filtered: filtered.to_vec(),
            felt,
            report,
            stance: None,
            runs: runs::Runs::default(),
        })
    }

    /// Whether it was made for this.
    pub(crate) fn fits(&self, puppet: Puppet<'_>) -> bool {
        self.fingerprint == puppet.fingerprint()
    }

    /// What was found about the clip.
    pub fn report(&self) -> &MotionReport {
        &self.report
    }

    /// Bones whose v or ω against what they follow is not zero throughout, ascending.
    pub fn moving(&self) -> &[BoneId] {
        &self.moving_bones
    }

    /// The same with what was found of where its bones stand.
    pub(crate) fn standing(self, stance: Option<Stance>) -> Self {
        Self { stance, ..self }
    }

    /// Where its bones stand on the ground; `None` where nobody asked.
    pub fn stance(&self) -> Option<&Stance> {
        self.stance.as_ref()
    }

    /// What was run over it for others.
    pub(crate) fn runs(&self) -> &runs::Runs {
        &self.runs
    }

    /// Whether the motion is cut after a time and until another one.
    pub(crate) fn has_cut(&self, after: f64, until: f64) -> bool {
        !self.clock.timeline.marks_in(after, until).is_empty()
    }

    /// Whether it goes on before its start, and after cuts, as it was.
    pub(crate) fn continues(&self) -> bool {
        self.clock.timeline.ends == Ends::Continue
    }

    /// How much of what it does to the skin is seen at `t`: [`Motion::fade`].
    pub(crate) fn presence(&self, t: f64) -> f64 {
        if self.report.verdict == LoopVerdict::Pose { 1.0 } else { self.clock.timeline.presence(self.sample_time(t)) }
    }

    /// Where its curves have corners or cuts, ascending, from its start to its end.
    pub fn corners(&self) -> Vec<f64> {
        let timeline = &self.clock.timeline;
        let mut times = vec![timeline.start, timeline.last_key, timeline.end];
        times.extend_from_slice(&timeline.marks);
        for bone in &self.curves.bones {
            times.extend(bone.translation.iter().chain(&bone.scale).flat_map(|curve| curve.times()));
            times.extend(bone.rotation.iter().flat_map(|curve| curve.times()));
        }
        times.retain(|time| (timeline.start..=timeline.end).contains(time));
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// First and last moment, and whether it loops.
    pub(crate) fn span(&self) -> (f64, f64, bool) {
        let timeline = &self.clock.timeline;
        (timeline.start, timeline.end, timeline.loops)
    }

    /// The signals that [`Kinematics::filtered`] holds, in its order.
    pub fn filtered(&self) -> &[FilteredSignal] {
        &self.filtered
    }

    /// `t` clamped to the clip, or wrapped into it where it loops.
    pub fn sample_time(&self, t: f64) -> f64 {
        self.clock.timeline.sample_time(t)
    }

    /// The same for what is keyed: the end of a loop is not its start, so that a gap between them can be seen.
    pub(crate) fn key_time(&self, t: f64) -> f64 {
        let timeline = &self.clock.timeline;
        if (timeline.start..=timeline.end).contains(&t) { t } else { self.sample_time(t) }
    }

    /// The pose at `t`, clamped or wrapped. Bones the clip does not touch stand at rest; morph weights it does not
    /// touch keep what `out` holds.
    pub fn pose(&self, t: f64, out: &mut Pose) {
        let timeline = &self.clock.timeline;
        self.curves.sample(self.sample_time(t), timeline.last_key, timeline.end, out);
    }

    /// Velocities and accelerations at `t`, clamped or wrapped, in world axes; `world` is composed from
    /// [`Motion::pose`] at the same time with the skeleton the motion was made for. Allocates nothing once `out` has
    /// its size, but for the filters' history on the first call.
    pub fn kinematics(&self, t: f64, world: &WorldPose, skeleton: &Skeleton, out: &mut Kinematics) {
        let t = self.sample_time(t);
        let timeline = &self.clock.timeline;
        out.reset(skeleton.len(), self.filtered.len());
        for moving in &self.moving {
            let index = moving.bone.index();
            let motion = moving.motion(t, timeline);
            let axes = moving.axes(t, world, timeline);
            out.bones[index] = axes.map_all(&motion);
            for (column, entry) in out.filtered.iter_mut().zip(&self.filtered) {
                column[index] = out.bones[index].get(entry.signal);
            }
            moving.filtered(t, &motion, &self.clock, |place, signal, value| {
                out.filtered[place][index] = axes.map(signal, value);
            });
        }
        if !self.felt.is_empty() {
            self.feel(t, world, skeleton, out);
        }
    }

    /// Takes from `kinematics` at `t` what effects are not to see of it: a motion that does not loop begins and ends at
    /// rest, whatever its first and last keys do ([`Ends::Rest`]).
    pub fn fade(&self, t: f64, kinematics: &mut Kinematics) {
        let presence = self.presence(t);
        if presence < 1.0 {
            kinematics.scale(presence, &self.filtered);
        }
    }

    /// The filtered values of what bones feel.
    fn feel(&self, t: f64, world: &WorldPose, skeleton: &Skeleton, out: &mut Kinematics) {
        let timeline = &self.clock.timeline;
        let Kinematics { bones, filtered, memory } = out;
        memory.with(|own: &mut (FeltWork, FleshWork)| {
            let (work, flesh) = own;
            flesh.moments.clear();
            felt(&self.hierarchy, world, bones, &mut work.whole, flesh.moments.begin(t));
            let sample = |t: f64, inputs: &mut Vec<_>| self.sample_felt(t, skeleton, work, inputs);
            self.felt.filtered(t, timeline, sample, flesh, filtered);
        });
    }

    /// What each bone feels at `t`.
    pub(crate) fn felt_at<'w>(&self, t: f64, skeleton: &Skeleton, work: &'w mut FeltWork) -> &'w [Felt] {
        let mut out = std::mem::take(&mut work.felt);
        self.sample_felt(t, skeleton, work, &mut out);
        work.felt = out;
        &work.felt
    }

    fn sample_felt(&self, t: f64, skeleton: &Skeleton, work: &mut FeltWork, out: &mut Vec<Felt>) {
        let FeltWork { whole, pose, posed, motions, .. } = work;
        let (t, timeline) = (self.sample_time(t), &self.clock.timeline);
        pose.locals.clear();
        pose.locals.extend_from_slice(skeleton.rest_locals());
        self.pose(t, pose);
        posed.compose(skeleton, pose);
        motions.clear();
        motions.resize(skeleton.len(), BoneMotion::default());
        for moving in &self.moving {
            let axes = moving.axes(t, posed, timeline);
            motions[moving.bone.index()] = axes.map_all(&moving.motion(t, timeline));
        }
        felt(&self.hierarchy, posed, motions, whole, out);
    }
}

/// Memory of [`Motion::felt_at`].
#[derive(Default)]
pub(crate) struct FeltWork {
    whole: Vec<Whole>,
    pose: Pose,
    posed: WorldPose,
    motions: Vec<BoneMotion>,
    felt: Vec<Felt>,
}

/// Sorts the clip's curves by bone.
fn bind(skeleton: &Skeleton, morph_layout: &[(usize, usize, usize)], clip: &Clip) -> Result<PoseCurves, MotionError> {
    let mut bones: BTreeMap<BoneId, BoneCurves> = BTreeMap::new();
    let mut morphs = Vec::new();
    for track in &clip.tracks {
        let Some(bone) = skeleton.bone_of_node(track.node) else {
            return Err(MotionError::NoSuchNode { clip: clip.name.clone(), node: track.node, count: skeleton.len() });
        };
        if track.translation.is_some() || track.rotation.is_some() || track.scale.is_some() {
            let curves = bones.entry(bone).or_insert_with(|| {
                let rest = parts(skeleton.rest_locals()[bone.index()]);
                let closing = (rest.translation, rest.rotation);
                BoneCurves { bone, rest, translation: None, rotation: None, scale: None, closing }
            });
            curves.translation = track.translation.clone().or(curves.translation.take());
            curves.rotation = track.rotation.clone().or(curves.rotation.take());
            curves.scale = track.scale.clone().or(curves.scale.take());
        }
        if let Some(curve) = &track.morph {
            for &(_, offset, count) in morph_layout.iter().filter(|&&(node, _, _)| node == track.node) {
                let count = count.min(curve.targets());
                let mut first = vec![0.0; count];
                curve.sample(f64::NEG_INFINITY, &mut first);
                morphs.push(MorphWeights { curve: curve.clone(), offset, count, first });
            }
        }
    }
    for curves in bones.values_mut() {
        // A bone that does not move in the clip closes where it stands.
        if let Some(curve) = &curves.translation {
            curves.closing.0 = curve.sample(f64::NEG_INFINITY);
        }
        if let Some(curve) = &curves.rotation {
            curves.closing.1 = curve.sample(f64::NEG_INFINITY);
        }
    }
    Ok(PoseCurves { rest: skeleton.rest_locals().into(), bones: bones.into_values().collect(), morphs })
}

/// The teleports, checked, ascending and each once.
fn marks(clip: &Clip, teleports: &[f64], start: f64, end: f64) -> Result<Vec<f64>, MotionError> {
    if let Some(&mark) = teleports.iter().find(|&&mark| !(start..=end).contains(&mark)) {
        return Err(MotionError::TeleportOutside { clip: clip.name.clone(), mark, start, end });
    }
    let mut marks = teleports.to_vec();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    Ok(marks)
}

/// The bones whose translation or rotation changes, ascending, in f64.
fn changing_bones(skeleton: &Skeleton, bone_sizes: &[f64], curves: &PoseCurves, start: f64) -> Vec<BoneKeys> {
    let mut pose = Pose { locals: Vec::new(), morph_weights: Vec::new() };
    curves.sample(start, start, start, &mut pose);
    let mut world = WorldPose::default();
    world.compose(skeleton, &pose);
    let mut bones: Vec<BoneKeys> = Vec::new();
    for curves in &curves.bones {
        let translation = curves.translation.as_ref().map(Keys::from).filter(changes);
        let rotation = curves.rotation.as_ref().map(Keys::from).filter(changes);
        if translation.is_none() && rotation.is_none() {
            continue;
        }
        // A channel that stays put still says where the bone is.
        let here = parts(pose.locals[curves.bone.index()]);
        bones.push(BoneKeys {
            bone: curves.bone,
            name: skeleton.name(curves.bone).to_owned(),
            translation,
            rotation,
            rest: (here.translation, here.rotation),
            is_root: true,
            world_from_parent: world.world_from_parent(skeleton, curves.bone).matrix3,
            size: bone_sizes.get(curves.bone.index()).copied().unwrap_or(0.0),
        });
    }
    let mut moves_at_or_above = vec![false; skeleton.len()];
    let mut next = bones.iter_mut().peekable();
    for bone in skeleton.bones() {
        let above = skeleton.parent(bone).is_some_and(|parent| moves_at_or_above[parent.index()]);
        let here = next.next_if(|keys| keys.bone == bone).is_some_and(|keys| {
            keys.is_root = !above;
            keys.leaves_its_place()
        });
        moves_at_or_above[bone.index()] = above || here;
    }
    bones
}

fn changes<V: Value>(keys: &Keys<V>) -> bool {
    keys.values.windows(2).any(|pair| pair[0].way_to(pair[1]) != DVec3::ZERO)
        || (keys.times.len() > 1 && keys.tangents.iter().flatten().any(|&tangent| tangent != V::ZERO))
}

fn median_spacing<'a>(bones: impl Iterator<Item = &'a BoneKeys>) -> Option<f64> {
    let mut spacings = Vec::new();
    for keys in bones {
        let channels = [keys.translation.as_ref().map(|k| &k.times), keys.rotation.as_ref().map(|k| &k.times)];
        for times in channels.into_iter().flatten() {
            spacings.extend(times.windows(2).map(|pair| pair[1] - pair[0]));
        }
    }
    let middle = spacings.len().checked_sub(1)? / 2;
    Some(*spacings.select_nth_unstable_by(middle, f64::total_cmp).1)
}

fn smoothing_box(smoothing: Smoothing, key_spacing: Option<f64>, length: f64) -> Result<f64, MotionError> {
    let wanted = match smoothing {
        Smoothing::Auto => key_spacing.unwrap_or(0.0).min(LONGEST_BOX_SECS),
        Smoothing::Box(secs) if secs >= 0.0 && secs.is_finite() => secs,
        Smoothing::Box(secs) => return Err(MotionError::BadSmoothing { secs }),
    };
    Ok(if wanted == 0.0 { 0.0 } else { wanted.max(SHORTEST_BOX_SECS).min(BOX_SHARE_OF_CLIP * length) })
}

/// The even part of a bone's way from its first key to its last.
fn mean_twist(keys: &BoneKeys, timeline: &Timeline) -> Twist {
    Twist::between(keys.first(), keys.last(), timeline.last_key - timeline.start)
}

/// Where a loop's bone stands after one period.
fn closing_placement(keys: &BoneKeys, goes_on: bool, timeline: &Timeline) -> (DVec3, DQuat) {
    if goes_on { mean_twist(keys, timeline).carry(keys.first(), timeline.length()) } else { keys.first() }
}

fn moving_bone(
    mut keys: BoneKeys,
    skeleton: &Skeleton,
    goes_on: bool,
    mut closing: (DVec3, DQuat),
    timeline: &Timeline,
    travel: Travel,
) -> MovingBone {
    let (mut seam, mut frame_spin) = (DQuat::IDENTITY, DVec3::ZERO);
    let in_place = goes_on && keys.is_root && travel == Travel::Subtract;
    if in_place {
        let twist = mean_twist(&keys, timeline);
        if let Some(translation) = &mut keys.translation {
            twist.translation_in_place(translation, timeline.start);
        }
        if let Some(rotation) = &mut keys.rotation {
            twist.rotation_in_place(rotation, timeline.start);
        }
        frame_spin = twist.angular;
        closing = keys.first();
    } else if goes_on {
        seam = DQuat::from_scaled_axis(mean_twist(&keys, timeline).angular * timeline.length());
    }
    let lacks_key = timeline.end > timeline.last_key;
    let nearly_closes = timeline.loops && !lacks_key && (in_place || !goes_on);
    let drift = |gap: DVec3| if nearly_closes { gap / timeline.length() } else { DVec3::ZERO };
    let (first, last) = (keys.first(), keys.last());
    let linear = keys.translation.as_ref().map_or_else(RateCurve::default, |channel| {
        RateCurve::build(channel, timeline, lacks_key.then_some(closing.0), drift(last.0 - first.0))
    });
    let angular = keys.rotation.as_ref().map_or_else(RateCurve::default, |channel| {
        RateCurve::build(channel, timeline, lacks_key.then_some(closing.1), drift(first.1.way_to(last.1)))
    });
    MovingBone { seam, frame_spin, ..MovingBone::new(keys.bone, skeleton.parent(keys.bone), linear, angular) }
}
