//! Input at its worst: long, short, huge, flat. Nothing panics, nothing is NaN, nothing big is allocated.

use super::scene::*;
use glam::{DQuat, DVec3, Quat, Vec3};
use sinew::clip::{MorphCurve, Track};
use sinew::raw::RawBone;
use sinew::{
    BoneMotion, Curve, Ends, Filter, Interpolation, Kinematics, LocalTransform, LoopVerdict, Looping, Motion,
    MotionError, MotionSettings, Pose, Puppet, Skeleton, Smoothing, Travel,
};

fn finite_everywhere(scene: &Scene) {
    let report = scene.motion.report();
    let (a, b) = (report.start, report.last_key);
    for t in [
        a,
        b,
        0.5 * (a + b),
        a + 1e-3 * (b - a),
        b + 1.0,
        a - 1.0,
        1e300,
        -1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ] {
        let kinematics = scene.kinematics(t);
        for value in bits(&kinematics) {
            assert!(f64::from_bits(value).is_finite(), "at {t}: {kinematics:?}");
        }
        let world = scene.world(t);
        for bone in scene.skeleton.bones() {
            assert!(!world.world_from_bone(bone).is_nan());
        }
    }
    assert!(!report.sentences().is_empty());
}

/// Whether to run everything or a sample.
fn full() -> bool {
    std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1")
}

fn every_setting() -> impl Iterator<Item = MotionSettings> {
    let loopings = [Looping::Auto, Looping::Yes, Looping::No];
    loopings.into_iter().flat_map(|looping| {
        [Ends::Rest, Ends::Continue].into_iter().flat_map(move |ends| {
            [Smoothing::Auto, Smoothing::Box(0.0), Smoothing::Box(1e-300), Smoothing::Box(1e9)].into_iter().flat_map(
                move |smoothing| {
                    [Travel::Subtract, Travel::Keep].into_iter().map(move |travel| MotionSettings {
                        looping,
                        ends,
                        smoothing,
                        travel,
                        ..MotionSettings::default()
                    })
                },
            )
        })
    })
}

#[test]
fn extreme_clips_stay_finite_and_small() {
    let mut random = Random(4);
    let skeleton = chain(3);
    let spans: Vec<Vec<f64>> = vec![
        vec![0.0],
        vec![5.0],
        vec![0.0, 3e9],
        vec![-3e9, 0.0, 1.0, 2.0, 3e9],
        vec![0.0, 5e-324, 1e-300, 1.0],
        vec![0.0, 1e-310],
        vec![0.0, 1e-9, 1e-7, 2e-6],
        vec![1e9, 1e9 + 1e-6, 1e9 + 2e-6],
        vec![-1e38, 1e38],
        (0..40).map(|k| 0.01 * f64::from(k)).collect(),
    ];
    for times in &spans {
        for huge in [1.0_f32, 1e-38, 3e38] {
            for interpolation in [Interpolation::Linear, Interpolation::Step, Interpolation::CubicSpline] {
                let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
                let track = |node, random: &mut Random| {
                    let count = times.len() * per_key;
                    let vectors: Vec<Vec3> = (0..count).map(|_| random.vector().as_vec3() * huge).collect();
                    let quats: Vec<Quat> =
                        (0..count).map(|_| random.rotation(3.0).as_quat() * huge.clamp(1e-10, 1e15)).collect();
                    Track {
                        node,
                        translation: Some(Curve::new(interpolation, times.clone(), vectors.clone()).unwrap()),
                        rotation: Some(Curve::new(interpolation, times.clone(), quats).unwrap()),
                        scale: Some(Curve::new(interpolation, times.clone(), vectors).unwrap()),
                        morph: None,
                    }
                };
                let tracks: Vec<Track> = (0..3).map(|node| track(node, &mut random)).collect();
                for mut settings in every_setting() {
                    if !full() && random.unit() > 0.03 {
                        continue;
                    }
                    finite_everywhere(&Scene::new(&skeleton, &clip(tracks.clone()), &settings));
                    if times.len() > 1 {
                        settings.teleports = vec![times[times.len() / 2], times[0], times[times.len() - 1]];
                        finite_everywhere(&Scene::new(&skeleton, &clip(tracks.clone()), &settings));
                    }
                }
            }
        }
    }
}

#[test]
fn a_clip_without_length_is_a_pose() {
    let skeleton = chain(1);
    let tracks = vec![turns(0, rotations(Interpolation::Linear, &[0.5], |_| DQuat::from_rotation_x(1.0)))];
    let scene = Scene::new(&skeleton, &clip(tracks), &MotionSettings::default());
    assert_eq!(scene.motion.report().verdict, LoopVerdict::Pose);
    assert!(scene.motion.moving().is_empty());
    let mut pose = Pose::rest(&skeleton);
    scene.motion.pose(17.0, &mut pose);
    assert!(pose.locals[0].to_trs().rotation.angle_between(DQuat::from_rotation_x(1.0)) < 1e-6);
}

#[test]
fn flat_and_singular_nodes_stay_finite() {
    let matrix = glam::DAffine3::from_scale(DVec3::new(1.0, 0.0, 0.0));
    let bones = [
        RawBone { name: "flat".into(), parent: None, local: LocalTransform::Matrix(matrix) },
        bone("child", Some(0), sinew::Trs::IDENTITY),
    ];
    let skeleton = Skeleton::build(&bones).unwrap();
    let times = evenly(10, 30.0);
    let turn = |t: f64| DQuat::from_rotation_x(5.0 * t);
    let tracks = vec![
        turns(1, rotations(Interpolation::Linear, &times, turn)),
        moves(0, translations(Interpolation::Linear, &times, |t| DVec3::X * t)),
    ];
    finite_everywhere(&Scene::new(&skeleton, &clip(tracks), &MotionSettings::default()));
}

#[test]
fn faults_are_named() {
    let skeleton = chain(1);
    let times = evenly(31, 30.0);
    let tracks = || vec![turns(0, rotations(Interpolation::Linear, &times, DQuat::from_rotation_x))];
    let error = |tracks: Vec<Track>, settings: MotionSettings| {
        Scene::try_new(&skeleton, &clip(tracks), &settings, 1.0).map(|_| ()).unwrap_err()
    };
    let settings = MotionSettings { teleports: vec![0.5, 1.5], ..MotionSettings::default() };
    let outside = error(tracks(), settings);
    assert!(outside.to_string().contains("1.5 s") && outside.to_string().contains("from 0 s to 1 s"), "{outside}");
    let nan = MotionSettings { teleports: vec![f64::NAN], ..MotionSettings::default() };
    assert!(matches!(error(tracks(), nan), MotionError::TeleportOutside { .. }));
    for secs in [-1.0, f64::NAN, f64::INFINITY] {
        let settings = MotionSettings { smoothing: Smoothing::Box(secs), ..MotionSettings::default() };
        assert!(matches!(error(tracks(), settings), MotionError::BadSmoothing { .. }));
    }
    let settings = MotionSettings { memory_limit: 1000, ..MotionSettings::default() };
    // 481 nodes, one bone, vectors of 24 bytes: for each of four signals one that low-pass and derivative share, and
    // two for the oscillator.
    assert!(matches!(
        error(tracks(), settings),
        MotionError::FilterMemory { needed: 138_528, limit: 1000, bones: 1, .. }
    ));
    let stranger = vec![turns(7, rotations(Interpolation::Linear, &times, DQuat::from_rotation_x))];
    assert!(matches!(error(stranger, MotionSettings::default()), MotionError::NoSuchNode { node: 7, .. }));
}

#[test]
fn morph_weights_follow_their_curves_and_leave_others_alone() {
    let skeleton = chain(2);
    let curve = MorphCurve::new(Interpolation::Linear, vec![0.0, 1.0], 2, vec![0.0, 1.0, 1.0, 0.0]).unwrap();
    let tracks = vec![Track { node: 1, morph: Some(curve), ..Track::default() }];
    let layout = [(0, 0, 1), (1, 1, 2)];
    let motion = Motion::new(
        Puppet { skeleton: &skeleton, bone_sizes: &[1.0; 2], morph_layout: &layout, hierarchy: None },
        &clip(tracks),
        &MotionSettings::default(),
        &[],
    )
    .unwrap();
    let mut pose = Pose::rest(&skeleton);
    pose.morph_weights = vec![0.7, 9.0, 9.0];
    motion.pose(0.25, &mut pose);
    assert_eq!(pose.morph_weights, [0.7, 0.25, 0.75]);
}

#[test]
fn a_motion_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Motion>();
}

#[test]
fn motion_set_by_hand_has_always_been_so() {
    let skeleton = chain(3);
    let filtered: Vec<_> = filters().into_iter().flat_map(|(filter, _)| all_filtered(filter)).collect();
    let mut kinematics = Kinematics::at_rest(3, filtered.len());
    let motion =
        BoneMotion { angular_velocity: DVec3::Z * 2.0, linear_acceleration: DVec3::X, ..BoneMotion::default() };
    let bone = skeleton.bone_of_node(1).unwrap();
    kinematics.set_steady(bone, motion, &filtered);
    assert_eq!(kinematics.bones[1], motion);
    assert_eq!(kinematics.bones[2], BoneMotion::default());
    for (column, entry) in kinematics.filtered.iter().zip(&filtered) {
        let changes = matches!(entry.filter, Filter::Derivative(_));
        assert_eq!(column[1], if changes { DVec3::ZERO } else { motion.get(entry.signal) });
        assert_eq!(column[0], DVec3::ZERO);
    }
}
