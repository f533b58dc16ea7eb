//! Bones that follow another one than their parent: their motion against differences of world motion, and against the
//! same bone as a child of the one it follows.

use super::scene::*;
use glam::{DAffine3, DQuat, DVec3};
use sinew::clip::Track;
use sinew::*;
use std::f64::consts::TAU;

/// root → (hip → thigh → shin, foot); bones stand root, hip, foot, thigh, shin.
fn leg(scale: f64) -> Skeleton {
    let at = |x: f64, y: f64| Trs::from_translation(DVec3::new(x, y, 0.1 * x));
    let mut hip = at(0.3, 2.0);
    hip.scale = DVec3::splat(scale);
    Skeleton::build(&[
        bone("root", None, at(0.0, 0.0)),
        bone("hip", Some(0), hip),
        bone("thigh", Some(1), at(0.2, -0.8)),
        bone("shin", Some(2), at(0.0, -0.7)),
        bone("foot", Some(0), at(0.5, 0.4)),
    ])
    .unwrap()
}

fn named(skeleton: &Skeleton, name: &str) -> BoneId {
    skeleton.bones().find(|&bone| skeleton.name(bone) == name).unwrap()
}

fn foot_follows_shin(skeleton: &Skeleton) -> Hierarchy {
    let (foot, shin) = (named(skeleton, "foot"), named(skeleton, "shin"));
    Hierarchy::plain(skeleton).following(skeleton, foot, shin).unwrap()
}

/// Both turn and move, the shin's scale breathes.
fn busy(times: &[f64], interpolation: Interpolation) -> Vec<Track> {
    let wave = |node: usize, t: f64, k: f64| ((TAU * t) + 1.3 * node as f64 + k).sin();
    (0..5)
        .map(|node| {
            let rest = [DVec3::ZERO, DVec3::new(0.3, 2.0, 0.0), DVec3::new(0.2, -0.8, 0.0), DVec3::Y * -0.7, DVec3::X];
            let place =
                |t: f64| rest[node] + 0.2 * DVec3::new(wave(node, t, 0.0), wave(node, t, 1.0), wave(node, t, 2.0));
            let turn = |t: f64| {
                DQuat::from_scaled_axis(DVec3::new(wave(node, t, 3.0), 0.4 * wave(node, t, 4.0), wave(node, t, 5.0)))
            };
            let mut track = moves(node, translations(interpolation, times, place));
            track.rotation = Some(rotations(interpolation, times, turn));
            if node == 3 {
                let size = |t: f64| DVec3::splat(1.0 + 0.2 * wave(node, t, 6.0));
                track.scale = Some(translations(interpolation, times, size));
            }
            track
        })
        .collect()
}

struct Following {
    skeleton: Skeleton,
    tree: Hierarchy,
    motion: Motion,
    foot: BoneId,
    shin: BoneId,
}

impl Following {
    fn new(skeleton: &Skeleton, tracks: Vec<Track>, settings: &MotionSettings) -> Self {
        let tree = foot_follows_shin(skeleton);
        let filtered: Vec<_> = filters().into_iter().flat_map(|(filter, _)| all_filtered(filter)).collect();
        let sizes = vec![1.0; skeleton.len()];
        let puppet = Puppet { skeleton, bone_sizes: &sizes, morph_layout: &[], hierarchy: Some(&tree) };
        let motion = Motion::new(puppet, &clip(tracks), settings, &filtered).unwrap();
        let (foot, shin) = (named(skeleton, "foot"), named(skeleton, "shin"));
        Self { skeleton: skeleton.clone(), tree, motion, foot, shin }
    }

    fn world(&self, t: f64) -> WorldPose {
        let mut pose = Pose::rest(&self.skeleton);
        self.motion.pose(t, &mut pose);
        let mut world = WorldPose::default();
        world.compose(&self.skeleton, &pose);
        world
    }

    fn kinematics(&self, t: f64) -> Kinematics {
        let mut out = Kinematics::default();
        self.motion.kinematics(t, &self.world(t), &self.skeleton, &mut out);
        out
    }

    /// The foot in the frame of the shin.
    fn place(&self, t: f64) -> DAffine3 {
        let world = self.world(t);
        world.world_from_bone(self.shin).inverse() * world.world_from_bone(self.foot)
    }
}

/// Rotation of a transform that has one scale.
fn rotation(m: DAffine3) -> DQuat {
    DQuat::from_affine3(&DAffine3 { matrix3: m.matrix3 * m.matrix3.determinant().cbrt().recip(), ..m })
}

#[test]
fn rates_are_those_of_differences_of_world_motion() {
    for (interpolation, scale) in
        [(Interpolation::Linear, 1.0), (Interpolation::Linear, 3.0), (Interpolation::Linear, -2.0)]
    {
        let times = evenly(13, 6.0);
        let settings = MotionSettings { looping: Looping::No, ..exact() };
        let scene = Following::new(&leg(scale), busy(&times, interpolation), &settings);
        for k in 0..40 {
            // Between keys, where differences know no kink.
            let t = (f64::from(k % 12) + 0.1 + 0.02 * f64::from(k)) / 6.0;
            let h = 1e-4;
            let axes = scene.world(t).world_from_bone(scene.shin).matrix3;
            let turn = axes * axes.determinant().cbrt().recip();
            let place = |k: f64| scene.place(t + k * h);
            let (p, spin) = (
                |k: f64| place(k).translation,
                |k: f64| {
                    let log = |from: DQuat, to: DQuat| (to * from.conjugate()).to_scaled_axis();
                    let step = |d: f64| log(rotation(place(k - d)), rotation(place(k + d))) / (2.0 * d * h);
                    (4.0 * step(0.5) - step(1.0)) / 3.0
                },
            );
            let v = (8.0 * (p(1.0) - p(-1.0)) - (p(2.0) - p(-2.0))) / (12.0 * h);
            let a = (16.0 * (p(1.0) + p(-1.0)) - (p(2.0) + p(-2.0)) - 30.0 * p(0.0)) / (12.0 * h * h);
            let alpha = (8.0 * (spin(1.0) - spin(-1.0)) - (spin(2.0) - spin(-2.0))) / (12.0 * h);
            let m = scene.kinematics(t).bones[scene.foot.index()];
            let near = |found: DVec3, expected: DVec3, share: f64, what: &str| {
                assert_near(
                    found,
                    expected,
                    share * (1.0 + expected.length()),
                    format!("{what} at {t}, scale {scale}"),
                );
            };
            near(m.linear_velocity, axes * v, 1e-7, "v");
            near(m.angular_velocity, turn * spin(0.0), 1e-7, "spin");
            near(m.linear_acceleration, axes * a, 2e-5, "a");
            near(m.angular_acceleration, turn * alpha, 2e-5, "spin's rate");
        }
    }
}

/// The foot hung on the shin and keyed there; and on the root, with the keys of the same world motion.
#[test]
fn a_follower_moves_as_the_child_it_is_in_the_body() {
    let at = |x: f64, y: f64| Trs::from_translation(DVec3::new(x, y, 0.0));
    let body = Skeleton::build(&[
        bone("root", None, at(0.0, 0.0)),
        bone("hip", Some(0), at(0.3, 2.0)),
        bone("thigh", Some(1), at(0.2, -0.8)),
        bone("shin", Some(2), at(0.0, -0.7)),
        bone("foot", Some(3), at(0.0, -0.7)),
    ])
    .unwrap();
    let times = evenly(25, 24.0);
    let mut tracks = busy(&times, Interpolation::Linear);
    tracks[3].scale = None;
    tracks[4].translation = None;
    let child = Scene::new(&body, &clip(tracks.clone()), &MotionSettings::default());
    let dense = evenly(24 * 40 + 1, 24.0 * 40.0);
    let foot = named(&body, "foot");
    let in_root = |t: f64| {
        let world = child.world(t);
        world.world_from_bone(named(&body, "root")).inverse() * world.world_from_bone(foot)
    };
    tracks[4] = moves(4, translations(Interpolation::Linear, &dense, |t| in_root(t).translation));
    tracks[4].rotation = Some(rotations(Interpolation::Linear, &dense, |t| rotation(in_root(t))));
    let scene = Following::new(&leg(1.0), tracks, &MotionSettings::default());
    assert!(scene.motion.report().smoothing_box > 0.04, "the dense keys are not the measure");
    for k in 0..50 {
        let t = 0.0197 * f64::from(k);
        let (a, b) = (child.kinematics(t), scene.kinematics(t));
        for signal in SIGNALS {
            let (x, y) = (a.bones[foot.index()].get(signal), b.bones[scene.foot.index()].get(signal));
            assert_near(x, y, 2e-3 * (10.0 + x.length()), format!("{signal:?} at {t}"));
        }
        for (x, y) in a.filtered.iter().zip(&b.filtered) {
            let (x, y) = (x[foot.index()], y[scene.foot.index()]);
            assert_near(x, y, 5e-3 * (10.0 + x.length()), format!("filtered at {t}"));
        }
    }
}

#[test]
fn a_followers_motion_is_periodic_in_loops_and_of_no_frame_rate() {
    for per_second in [24.0, 60.0] {
        let times = evenly(per_second as usize + 1, per_second);
        let scene = Following::new(&leg(1.0), busy(&times, Interpolation::Linear), &MotionSettings::default());
        let period = scene.motion.report().period.expect("it loops");
        assert_eq!(scene.motion.moving().len(), 5);
        let near_seam = |t: f64| scene.kinematics(t).bones[scene.foot.index()];
        for signal in SIGNALS {
            let (before, after) = (near_seam(period - 1e-9).get(signal), near_seam(period + 1e-9).get(signal));
            assert_near(before, after, 1e-5 * (1.0 + after.length()), format!("{signal:?} over the seam"));
        }
        for k in 0..10 {
            let t = 0.0713 * f64::from(k);
            assert_eq!(bits(&scene.kinematics(t)), bits(&scene.kinematics(t)), "the same twice");
            let (a, b) = (scene.kinematics(t), scene.kinematics(t + period));
            for (x, y) in a.filtered.iter().zip(&b.filtered) {
                let (x, y) = (x[scene.foot.index()], y[scene.foot.index()]);
                assert_near(x, y, 1e-9 * (1.0 + x.length()), format!("one period after {t}"));
            }
        }
        // Played backwards, or a frame alone: the same bits.
        let again = Following::new(&leg(1.0), busy(&times, Interpolation::Linear), &MotionSettings::default());
        assert_eq!(bits(&again.kinematics(0.6)), bits(&scene.kinematics(0.6)));
    }
}

#[test]
fn a_step_of_the_followed_bone_is_an_impulse_of_the_follower() {
    let times = [0.0, 0.5, 1.0];
    let bend = |t: f64| DQuat::from_rotation_z(if t < 0.5 { 0.0 } else { 1.2 });
    let still = |node: usize| moves(node, translations(Interpolation::Linear, &times, |_| DVec3::X));
    let tracks = vec![turns(2, rotations(Interpolation::Step, &times, bend)), still(4)];
    let settings =
        MotionSettings { looping: Looping::No, smoothing: Smoothing::Box(0.05), ..MotionSettings::default() };
    let scene = Following::new(&leg(1.0), tracks, &settings);
    let steps = 4000;
    let (mut way, mut turned) = (DVec3::ZERO, DVec3::ZERO);
    for k in 0..steps {
        let t = (f64::from(k) + 0.5) / f64::from(steps);
        let axes = scene.world(t).world_from_bone(scene.shin).matrix3.transpose();
        let m = scene.kinematics(t).bones[scene.foot.index()];
        way += axes * m.linear_velocity / f64::from(steps);
        turned += axes * m.angular_velocity / f64::from(steps);
    }
    let (before, after) = (scene.place(0.4), scene.place(0.6));
    assert_near(way, after.translation - before.translation, 1e-4, "the way of the joint");
    assert_near(turned, (rotation(after) * rotation(before).conjugate()).to_scaled_axis(), 1e-4, "its turn");
}

#[test]
fn live_poses_move_a_follower_as_the_clip_does() {
    let times = evenly(961, 960.0);
    let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
    let scene = Following::new(&leg(1.0), busy(&times, Interpolation::Linear), &settings);
    let error = |steps: u32| {
        let filtered = scene.motion.filtered().to_vec();
        let mut live = LiveKinematics::new(&scene.skeleton, &filtered).following(&scene.tree);
        let (mut pose, mut out) = (Pose::rest(&scene.skeleton), Kinematics::default());
        for k in 0..=steps {
            let t = 0.8 * f64::from(k) / f64::from(steps);
            scene.motion.pose(t, &mut pose);
            live.push(&scene.skeleton, &pose, &scene.world(t), 0.8 / f64::from(steps), &mut out);
        }
        let truth = scene.kinematics(0.8);
        let apart = |place: usize| out.filtered[place][scene.foot.index()] - truth.filtered[place][scene.foot.index()];
        // The low-pass of v and of the spin.
        apart(0).length().max(apart(1).length())
    };
    let (coarse, fine) = (error(80), error(800));
    assert!(coarse < 0.05 && fine < 5e-3, "{coarse} {fine}");
}

#[test]
fn a_tree_has_no_cycle_and_an_order_in_which_parents_come_first() {
    let skeleton = leg(1.0);
    let plain = Hierarchy::plain(&skeleton);
    assert_eq!(plain.order(), skeleton.bones().collect::<Vec<_>>());
    let (root, hip, shin, foot) =
        (named(&skeleton, "root"), named(&skeleton, "hip"), named(&skeleton, "shin"), named(&skeleton, "foot"));
    assert!(plain.following(&skeleton, hip, shin).is_err(), "a descendant");
    assert!(plain.following(&skeleton, foot, foot).is_err(), "itself");
    let tree = foot_follows_shin(&skeleton);
    assert!(tree.following(&skeleton, hip, foot).is_err(), "what it carries by now");
    let place = |bone| tree.order().iter().position(|&b| b == bone).unwrap();
    assert!(place(foot) > place(shin) && tree.depth(foot) == 4);
    assert_eq!(tree.follows().len(), 1);
    // Back where the file has it: the plain tree again.
    assert_eq!(tree.following(&skeleton, foot, root).unwrap(), plain);
}
