//! A bone taken by the hand and shaken: poses arrive one by one, and effects follow them as they come. The clip is left as
//! it is; what was done can be recorded as a clip of its own ([`Take`]).
//!
//! Skins that swing by themselves (`springs` with a history) stand in their balance meanwhile.
//!
//! Oracle: what is held comes to the pointer, what is let go comes back, a clip that nobody touches plays as it does from
//! its own curves, and a take plays again what was seen (tests below).

use crate::drawn::{Take, TakeTrack};
use glam::{DQuat, DVec3};
use sinew::{
    BoneId, Cpu, FilteredSignal, Kinematics, LiveKinematics, LocalTransform, Motion, Pose, PoseError, Skeleton, Stage,
    Trs, Workspace, WorldPose,
};

/// A bone in the hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grab {
    /// Which one.
    pub bone: BoneId,
    /// The place on it that is held, in its own frame.
    pub held: DVec3,
    /// Where that is drawn to, in the world.
    pub to: DVec3,
    /// The bone is carried along instead of turned about its joint.
    pub carries: bool,
}

/// Seconds in which the hand makes up most of the way to the pointer: pointers jump from picture to picture.
const REACH: f64 = 0.04;
/// Seconds in which half of what was done to a bone goes away after it was let go, and how many of these there are.
const HALF_LIFE: f64 = 0.06;
const LIVES: f64 = 24.0;
/// Longer steps on the clip's clock are cuts.
const LONGEST_STEP: f64 = 0.5;
/// Seconds between two keys of a take.
const KEY: f64 = 1.0 / 60.0;

/// How a bone differs from the clip, in its parent's frame.
#[derive(Clone, Copy, Debug)]
struct Offset {
    bone: BoneId,
    turned: DQuat,
    moved: DVec3,
    /// Seconds since it was let go.
    free: f64,
}

/// Poses as they come, and what is remembered of them.
#[derive(Debug)]
pub struct Shake {
    history: LiveKinematics,
    filtered: Vec<FilteredSignal>,
    kinematics: Kinematics,
    pose: Pose,
    world: WorldPose,
    offset: Option<Offset>,
    hand: Option<DVec3>,
    last: Option<f64>,
    recorded: Option<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    clock: f64,
    times: Vec<f64>,
    poses: Vec<Vec<LocalTransform>>,
}

/// A step of time as the studio sees it.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// On the clip's clock.
    pub time: f64,
    /// Seconds since the last one.
    pub dt: f64,
    /// Length of the clip, where it loops.
    pub period: Option<f64>,
}

impl Shake {
    /// Nothing has moved yet.
    pub fn new(stage: &Stage) -> Self {
        let filtered = stage.filtered_signals().to_vec();
        Self {
            history: LiveKinematics::new(stage.rig().skeleton(), &filtered).following(stage.hierarchy()),
            filtered,
            kinematics: stage.at_rest(),
            pose: stage.rig().rest_pose(),
            world: WorldPose::default(),
            offset: None,
            hand: None,
            last: None,
            recorded: None,
        }
    }

    /// The bone that is taken where a bone is wanted: what is given by a matrix cannot be moved, so its parent is.
    pub fn holdable(stage: &Stage, bone: BoneId) -> Option<BoneId> {
        let skeleton = stage.rig().skeleton();
        let is_free = |bone: &BoneId| matches!(skeleton.rest_locals()[bone.index()], LocalTransform::Trs(_));
        skeleton.ancestors(bone).find(is_free)
    }

    /// Other poses come, which these have nothing to do with.
    pub fn cut(&mut self) {
        self.history.reset();
        self.last = None;
    }

    /// The next pose, with the effects that follow it.
    pub fn step(
        &mut self,
        stage: &Stage,
        motion: Option<&Motion>,
        moment: Moment,
        grab: Option<&Grab>,
        workspace: &mut Workspace,
    ) -> Result<(), PoseError> {
        let rig = stage.rig();
        let skeleton = rig.skeleton();
        if self.filtered != stage.filtered_signals() {
            // The recipe asks for other filters, and these have seen nothing yet.
            *self = Self { offset: self.offset, hand: self.hand, recorded: self.recorded.take(), ..Self::new(stage) };
        }
        match motion {
            Some(motion) => motion.pose(moment.time, &mut self.pose),
            None => self.pose.clone_from(&rig.rest_pose()),
        }
        self.world.compose(skeleton, &self.pose);
        self.pull(skeleton, moment.dt, grab);
        if let Some(offset) = &self.offset {
            let local = &mut self.pose.locals[offset.bone.index()];
            let mut trs = local.to_trs();
            trs.rotation = (offset.turned * trs.rotation).normalize();
            trs.translation += offset.moved;
            *local = LocalTransform::Trs(trs);
            self.world.compose(skeleton, &self.pose);
        }
        if self.last.is_some_and(|last| is_cut(moment.time - last, moment.period)) {
            self.history.reset();
        }
        self.last = Some(moment.time);
        self.history.push(skeleton, &self.pose, &self.world, moment.dt, &mut self.kinematics);
        stage.posed(&self.pose, &self.kinematics, moment.time, workspace)?.deform(&Cpu::serial());
        if let Some(recorded) = &mut self.recorded {
            recorded.take(&self.pose, moment.dt);
        }
        Ok(())
    }

    /// Brings the bone nearer to the hand, or, let go, back to its clip.
    fn pull(&mut self, skeleton: &Skeleton, dt: f64, grab: Option<&Grab>) {
        let Some(grab) = grab else {
            self.hand = None;
            if let Some(offset) = &mut self.offset {
                let left = (-dt.max(0.0) / HALF_LIFE).exp2();
                offset.turned = DQuat::IDENTITY.slerp(offset.turned, left);
                offset.moved *= left;
                offset.free += dt.max(0.0);
            }
            self.offset = self.offset.filter(|offset| offset.free < LIVES * HALF_LIFE);
            return;
        };
        let joint = self.world.joint_origin(grab.bone);
        let held = self.world.world_from_bone(grab.bone).transform_point3(grab.held);
        let hand = self.hand.unwrap_or(held);
        let hand = hand.lerp(grab.to, 1.0 - (-dt.max(0.0) / REACH).exp());
        self.hand = Some(hand);
        let into_parent = self.world.world_from_parent(skeleton, grab.bone).inverse();
        let [from, to] = [held, hand].map(|place| into_parent.transform_vector3(place - joint));
        let offset = match (from.try_normalize(), to.try_normalize()) {
            (Some(from), Some(to)) if !grab.carries => {
                Offset { bone: grab.bone, turned: DQuat::from_rotation_arc(from, to), moved: DVec3::ZERO, free: 0.0 }
            }
            _ => Offset { bone: grab.bone, turned: DQuat::IDENTITY, moved: to - from, free: 0.0 },
        };
        self.offset = Some(offset).filter(|offset| offset.moved.is_finite() && offset.turned.is_finite());
    }

    /// Begins to record.
    pub fn record(&mut self) {
        self.recorded = Some(Recorded::default());
    }

    /// Seconds that were recorded so far; `None` while nothing is.
    pub fn recorded(&self) -> Option<f64> {
        self.recorded.as_ref().map(|recorded| recorded.clock)
    }

    /// What was recorded, as a take of that name; `None` where nothing has moved.
    pub fn take(&mut self, skeleton: &Skeleton, name: &str) -> Option<Take> {
        let recorded = self.recorded.take()?;
        if recorded.times.len() < 2 {
            return None;
        }
        let of_bone = |bone: BoneId| {
            let LocalTransform::Trs(rest) = skeleton.rest_locals()[bone.index()] else {
                // What is given by a matrix stays where it is.
                return None;
            };
            let keys: Vec<Trs> = recorded.poses.iter().map(|pose| pose[bone.index()].to_trs()).collect();
            let differs = |is_it: &dyn Fn(&Trs) -> bool| !keys.iter().all(is_it);
            let translation = differs(&|key| key.translation == rest.translation)
                .then(|| keys.iter().map(|key| key.translation.as_vec3().to_array()).collect());
            let rotation = differs(&|key| key.rotation == rest.rotation)
                .then(|| keys.iter().map(|key| key.rotation.as_quat().normalize().to_array()).collect());
            let scale = differs(&|key| key.scale == rest.scale)
                .then(|| keys.iter().map(|key| key.scale.as_vec3().to_array()).collect());
            let track = TakeTrack { node: skeleton.node(bone), translation, rotation, scale };
            (track.translation.is_some() || track.rotation.is_some() || track.scale.is_some()).then_some(track)
        };
        let tracks: Vec<TakeTrack> = skeleton.bones().filter_map(of_bone).collect();
        (!tracks.is_empty()).then(|| Take { name: name.to_owned(), times: recorded.times, tracks })
    }
}

impl Recorded {
    fn take(&mut self, pose: &Pose, dt: f64) {
        if self.times.is_empty() {
            self.clock = 0.0;
        } else if dt > 0.0 {
            self.clock += dt;
        }
        if self.times.last().is_none_or(|last| self.clock - last >= 0.9 * KEY) {
            self.times.push(self.clock);
            self.poses.push(pose.locals.clone());
        }
    }
}

/// Whether time has jumped; a loop that begins again has not.
fn is_cut(step: f64, period: Option<f64>) -> bool {
    let step = match period {
        Some(period) if step < 0.0 => step + period,
        _ => step,
    };
    !(0.0..=LONGEST_STEP).contains(&step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::Character;
    use crate::document::Document;
    use crate::player::Player;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const DT: f64 = 1.0 / 60.0;

    fn calf(preset: &str) -> Result<(Document, Player, BoneId), Box<dyn std::error::Error>> {
        let mut document = Document::new(Character::built_in("calf")?);
        document.choose_preset(preset)?;
        let mut player = Player::new(&document, 0)?;
        player.listen(Vec::new(), None);
        player.follow(&document)?;
        let skeleton = document.rig().skeleton();
        let head = skeleton.bones().find(|&bone| skeleton.name(bone).contains("head")).ok_or("no head")?;
        Ok((document, player, head))
    }

    fn held(player: &Player, bone: BoneId) -> (DVec3, DVec3) {
        let world = player.last().world;
        let place = world.joint_origin(bone) + DVec3::new(0.02, 0.1, 0.3);
        (world.world_from_bone(bone).inverse().transform_point3(place), place)
    }

    /// What is held comes to the pointer as far as its length allows, effects trail behind it, and let go it comes back.
    #[test]
    fn a_bone_follows_the_hand_and_comes_back() -> Outcome {
        let (_, mut player, head) = calf("jelly")?;
        player.frame(0.2);
        let (on_bone, place) = held(&player, head);
        let joint = player.last().world.joint_origin(head);
        let to = joint + DQuat::from_rotation_y(0.5) * (place - joint);
        let grab = Grab { bone: head, held: on_bone, to, carries: false };
        let still = |player: &mut Player, grab: Option<&Grab>| -> Result<f64, PoseError> {
            let frame = player.shake(0.2, DT, grab)?;
            let pairs = frame.result.positions.iter().zip(&frame.base.positions);
            Ok(pairs.map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max))
        };
        still(&mut player, None)?;
        let mut most = 0.0f64;
        for _ in 0..60 {
            most = most.max(still(&mut player, Some(&grab))?);
        }
        let reached = player.last().world.world_from_bone(head).transform_point3(on_bone);
        assert!(reached.distance(to) < 1e-3 * place.distance(joint), "{reached} for {to}");
        assert!(most > 0.0, "effects do not follow the hand");
        for _ in 0..120 {
            still(&mut player, None)?;
        }
        let back = player.last().world.world_from_bone(head).transform_point3(on_bone);
        assert!(back.distance(place) < 1e-9 * place.distance(joint), "{back} for {place}");
        Ok(())
    }

    /// Untouched, poses one by one are those of the clip, whatever effects make of them.
    #[test]
    fn an_untouched_clip_is_the_clip() -> Outcome {
        let (_, mut player, _) = calf("lively")?;
        for step in 0..40 {
            let time = 0.3 + DT * f64::from(step);
            let live = player.shake(time, DT, None)?.base.positions.clone();
            assert_eq!(live, player.frame(time).base.positions);
        }
        Ok(())
    }

    /// A take is a clip that plays again what was seen, is undone like anything, and changes no other clip.
    #[test]
    fn a_take_plays_again_what_was_seen() -> Outcome {
        let (mut document, mut player, head) = calf("lively")?;
        player.frame(0.2);
        let (on_bone, place) = held(&player, head);
        player.shake(0.2, DT, None)?;
        player.record();
        let mut seen = Vec::new();
        for step in 0..30 {
            let to = place + DVec3::new(0.2 * (0.4 * f64::from(step)).sin(), 0.0, 0.0);
            let grab = Grab { bone: head, held: on_bone, to, carries: false };
            seen.push(player.shake(0.2, DT, Some(&grab))?.base.positions.clone());
        }
        let before = document.text().clone();
        let clips = document.clip_names();
        let take = player.take("shake").ok_or("nothing was recorded")?;
        assert_eq!(take.times.len(), 30);
        document.add_take(take)?;
        assert_eq!(document.clip_names().len(), clips.len() + 1);
        let mut again = Player::new(&document, clips.len())?;
        let size = document.character().size() as f32;
        for (step, seen) in seen.iter().enumerate() {
            let frame = again.frame(DT * step as f64);
            let off = frame.base.positions.iter().zip(seen).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            assert!(off < 1e-5 * size, "{off} at key {step}");
        }
        document.undo();
        assert_eq!((document.clip_names(), document.text()), (clips, &before));
        Ok(())
    }
}
