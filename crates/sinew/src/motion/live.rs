//! The same rates for poses that arrive one by one.
//!
//! Rates are differences of successive poses; the filters are the clip's with variable h, their input held over each
//! step instead of running straight: a difference is the mean rate over the step, so this is exact for poses that move
//! evenly between arrivals, where the straight form would lag by half a step. A filtered derivative is a mean over the
//! last step, as the rates are. The history is the caller's: it can be cloned, kept and reset.
//! Oracle: with short steps it gives what the clip's filters give, to second order.

use super::filter::{FilteredSignal, State};
use super::flesh_load::{PARTS, Whole, felt};
use super::kinematics::{BoneMotion, Kinematics, WorldAxes};
use super::sampling::parts;
use crate::clip::rotation_log;
use crate::hierarchy::Hierarchy;
use crate::polar::polar_rotation;
use crate::pose::{Pose, WorldPose};
use crate::skeleton::{BoneId, Skeleton};
use glam::{DMat3, DQuat, DVec3};

/// What is remembered of the poses seen so far.
#[derive(Clone, Debug)]
pub struct LiveKinematics {
    filtered: Vec<FilteredSignal>,
    hierarchy: Hierarchy,
    /// Placement of each bone in its parent or what it follows; empty before the first pose.
    placements: Vec<(DVec3, DQuat)>,
    /// Rates over the last step, in the parents' frames.
    motions: Vec<BoneMotion>,
    /// Length of the last step in seconds; 0 while there has been none.
    last_step: f64,
    /// Per entry of the filtered list, one state per bone.
    histories: Vec<Vec<State>>,
    /// Whether there is a history of what bones feel, and memory to tell it.
    has_felt: bool,
    whole: Vec<Whole>,
    felt: Vec<[DVec3; PARTS]>,
}

impl LiveKinematics {
    /// No history yet.
    pub fn new(skeleton: &Skeleton, filtered: &[FilteredSignal]) -> Self {
        let bones = skeleton.len();
        Self {
            filtered: filtered.to_vec(),
            hierarchy: Hierarchy::plain(skeleton),
            placements: Vec::with_capacity(bones),
            motions: vec![BoneMotion::default(); bones],
            last_step: 0.0,
            histories: vec![vec![State::ZERO; bones]; filtered.len()],
            has_felt: false,
            whole: Vec::new(),
            felt: Vec::new(),
        }
    }

    /// The same with bones that move against what they follow in a hierarchy of the same skeleton.
    pub fn following(self, hierarchy: &Hierarchy) -> Self {
        Self { hierarchy: hierarchy.clone(), ..self }
    }

    /// Forgets everything: for a teleport or a cut. The next pose is a first one.
    pub fn reset(&mut self) {
        self.placements.clear();
        self.motions.fill(BoneMotion::default());
        self.last_step = 0.0;
        self.has_felt = false;
        for history in &mut self.histories {
            history.fill(State::ZERO);
        }
    }

    /// Takes the pose `dt` seconds after the last one and writes the motion that led to it. The first pose has no
    /// motion; a step that is not a positive time leaves the history as it is.
    pub fn push(&mut self, skeleton: &Skeleton, pose: &Pose, world: &WorldPose, dt: f64, out: &mut Kinematics) {
        let bones = skeleton.len().min(pose.locals.len());
        if self.motions.len() != bones {
            self.reset();
            self.motions.resize(bones, BoneMotion::default());
            for history in &mut self.histories {
                history.resize(bones, State::ZERO);
            }
        }
        if self.placements.is_empty() {
            let Self { hierarchy, placements, .. } = self;
            placements.extend(skeleton.bones().take(bones).map(|bone| placement(hierarchy, pose, world, bone)));
        } else if dt > 0.0 && dt.is_finite() {
            self.advance(skeleton, pose, world, dt);
        }
        out.reset(skeleton.len(), self.filtered.len());
        for (bone, motion) in skeleton.bones().zip(&self.motions) {
            let index = bone.index();
            let moves = |history: &Vec<State>| history[index] != State::ZERO;
            if *motion == BoneMotion::default() && !self.histories.iter().any(moves) {
                continue;
            }
            let parent =
                self.hierarchy.parent(bone).map_or(DMat3::IDENTITY, |bone| world.world_from_bone(bone).matrix3);
            let axes = WorldAxes::new(parent, DQuat::IDENTITY);
            out.bones[index] = axes.map_all(motion);
            for ((column, entry), history) in out.filtered.iter_mut().zip(&self.filtered).zip(&self.histories) {
                column[index] = axes.map(entry.signal, entry.filter.read(history[index]));
            }
        }
        if self.filtered.iter().any(|entry| entry.signal.felt_part().is_some()) {
            self.feel(world, dt, out);
        }
    }

    /// What is felt depends on the bones above, so it comes after all of them. It starts quasi-statically.
    fn feel(&mut self, world: &WorldPose, dt: f64, out: &mut Kinematics) {
        felt(&self.hierarchy, world, &out.bones, &mut self.whole, &mut self.felt);
        let steps = dt > 0.0 && dt.is_finite();
        for ((column, entry), history) in out.filtered.iter_mut().zip(&self.filtered).zip(&mut self.histories) {
            let Some(part) = entry.signal.felt_part() else { continue };
            for ((slot, state), parts) in column.iter_mut().zip(history).zip(&self.felt) {
                if !self.has_felt {
                    *state = State::steady(parts[part]);
                } else if steps {
                    *state = entry.filter.kernel().hold(*state, parts[part], dt);
                }
                *slot = entry.filter.read(*state);
            }
        }
        self.has_felt = true;
    }

    fn advance(&mut self, skeleton: &Skeleton, pose: &Pose, world: &WorldPose, dt: f64) {
        // Rates belong to the middles of their steps.
        let between_middles = 0.5 * (dt + self.last_step);
        let first = self.last_step == 0.0;
        for bone in skeleton.bones().take(self.motions.len()) {
            let index = bone.index();
            let (from, to) = (self.placements[index], placement(&self.hierarchy, pose, world, bone));
            let before = self.motions[index];
            let linear_velocity = (to.0 - from.0) / dt;
            let angular_velocity = rotation_log(to.1 * from.1.conjugate()) / dt;
            let change = |now: DVec3, before: DVec3| if first { DVec3::ZERO } else { (now - before) / between_middles };
            let now = BoneMotion {
                linear_velocity,
                angular_velocity,
                linear_acceleration: change(linear_velocity, before.linear_velocity),
                angular_acceleration: change(angular_velocity, before.angular_velocity),
            };
            let finite = [now.linear_velocity, now.angular_velocity, now.linear_acceleration, now.angular_acceleration];
            let now = if finite.iter().all(|v| v.is_finite()) { now } else { BoneMotion::default() };
            let own =
                self.histories.iter_mut().zip(&self.filtered).filter(|(_, entry)| entry.signal.felt_part().is_none());
            for (history, entry) in own {
                history[index] = entry.filter.kernel().hold(history[index], now.get(entry.signal), dt);
            }
            self.motions[index] = now;
            self.placements[index] = to;
        }
        self.last_step = dt;
    }
}

/// Where a bone stands in its parent, or in what it follows instead.
fn placement(hierarchy: &Hierarchy, pose: &Pose, world: &WorldPose, bone: BoneId) -> (DVec3, DQuat) {
    match hierarchy.followed(bone) {
        None => {
            let trs = parts(pose.locals[bone.index()]);
            (trs.translation, trs.rotation)
        }
        Some(parent) => {
            let place = world.world_from_bone(parent).inverse() * world.world_from_bone(bone);
            (place.translation, DQuat::from_mat3(&polar_rotation(place.matrix3)))
        }
    }
}
