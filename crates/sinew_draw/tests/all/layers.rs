//! Pose layers: nothing outside their ease to the bit, the drawn pose at their time, sums, and the same as tracks.

use crate::common::Subject;
use glam::{DQuat, DVec3};
use sinew::clip::Track;
use sinew::motion::MotionSettings;
use sinew::{Clip, Curve, Interpolation, LocalTransform, Motion, Pose};
use sinew_draw::{Ease, Easing, Layers, PoseLayer};
use sinew_testkit::random::Random;

fn pose_at(subject: &Subject, clip: &Clip, time: f64) -> Pose {
    let motion = Motion::new(subject.rig.puppet(), clip, &MotionSettings::default(), &[]).expect("a motion");
    let mut pose = Pose::default();
    motion.pose(time, &mut pose);
    pose
}

/// Some bones turned and moved at random.
fn bent(subject: &Subject, pose: &Pose, random: &mut Random) -> Pose {
    let mut bent = pose.clone();
    for local in &mut bent.locals {
        if let LocalTransform::Trs(trs) = local
            && random.below(3) == 0
        {
            let mut v = || DVec3::from_array(std::array::from_fn(|_| random.between(-1.0, 1.0)));
            trs.rotation = DQuat::from_scaled_axis(v()) * trs.rotation;
            trs.translation += v() * (0.05 * subject.size());
        }
    }
    bent
}

fn farthest(subject: &Subject, a: &Pose, b: &Pose) -> f64 {
    let apart = |(a, b): (&LocalTransform, &LocalTransform)| {
        let (a, b) = (a.to_trs(), b.to_trs());
        let turn = 2.0 * (a.rotation - b.rotation).length().min((a.rotation + b.rotation).length());
        turn.max(a.translation.distance(b.translation) / subject.size())
    };
    a.locals.iter().zip(&b.locals).map(apart).fold(0.0, f64::max)
}

fn subjects() -> Vec<Subject> {
    let real = ["CesiumMan.glb", "Fox.glb", "Quaternius_Rat.glb", "RobotExpressive.glb"];
    [Subject::zoo("calf")].into_iter().chain(real.iter().filter_map(|file| Subject::real(file))).collect()
}

#[test]
fn outside_its_ease_a_layer_changes_nothing_to_the_bit() {
    let mut random = Random::new(7);
    for subject in subjects() {
        let skeleton = subject.rig.skeleton();
        let clip = &subject.clips[0];
        let (start, end) = clip.span().expect("keys");
        let time = start + 0.5 * (end - start);
        let (ease_in, ease_out) = (0.2 * (end - start), 0.15 * (end - start));
        let before = pose_at(&subject, clip, time);
        let after = bent(&subject, &before, &mut random);
        let ease = Ease { time, ease_in, ease_out, easing: Easing::SineInOut };
        let layer = PoseLayer::between(skeleton, &before, &after, ease).expect("nodes by parts");
        assert!(!layer.bones.is_empty());
        // As the data that a file holds.
        let text = serde_json::to_string(&layer).expect("text");
        assert_eq!(serde_json::from_str::<PoseLayer>(&text).expect("a layer"), layer);
        let layers = Layers::new(skeleton, std::slice::from_ref(&layer), None).expect("its bones");
        let mut there = before.clone();
        layers.apply(time, &mut there);
        let off = farthest(&subject, &there, &after);
        assert!(off < 1e-7, "{}: {off:e} off the pose it was made of", subject.name);
        for i in 0..=200 {
            let t = start + (end - start) * f64::from(i) / 200.0;
            let plain = pose_at(&subject, clip, t);
            let mut layered = plain.clone();
            layers.apply(t, &mut layered);
            if !(time - ease_in..=time + ease_out).contains(&t) {
                assert_eq!(layered.locals, plain.locals, "{} at {t} s", subject.name);
            }
        }
        // Two layers add up in either order.
        let other = PoseLayer { ease: Ease { time: time + 0.5 * ease_out, ..ease }, ..layer.clone() };
        let both = [[layer.clone(), other.clone()], [other, layer]]
            .map(|two| Layers::new(skeleton, &two, None).expect("their bones"));
        let [a, b] = both.map(|layers| {
            let mut pose = before.clone();
            layers.apply(time, &mut pose);
            pose
        });
        assert!(farthest(&subject, &a, &b) < 1e-12 && farthest(&subject, &a, &after) > 0.1);
    }
}

#[test]
fn tracks_of_a_layer_play_what_the_layer_says() {
    let mut random = Random::new(8);
    for subject in subjects() {
        let skeleton = subject.rig.skeleton();
        let clip = &subject.clips[0];
        let (start, end) = clip.span().expect("keys");
        let settings = MotionSettings::default();
        let motion = Motion::new(subject.rig.puppet(), clip, &settings, &[]).expect("a motion");
        let time = start + 0.45 * (end - start);
        let before = pose_at(&subject, clip, time);
        for easing in [Easing::Linear, Easing::CubicIn, Easing::QuarticOut, Easing::SineInOut] {
            let after = bent(&subject, &before, &mut random);
            let span = 0.3 * (end - start);
            let layer =
                PoseLayer::between(skeleton, &before, &after, Ease { time, ease_in: span, ease_out: span, easing });
            let layers = Layers::new(skeleton, &[layer.expect("nodes by parts")], None).expect("its bones");
            let written = layers.clip(skeleton, clip);
            let played = Motion::new(subject.rig.puppet(), &written, &settings, &[]).expect("a motion");
            let (mut within, mut outside) = (0.0f64, 0.0f64);
            for i in 0..=300 {
                let t = start + (end - start) * f64::from(i) / 300.0;
                let (mut wanted, mut got) = (Pose::default(), Pose::default());
                motion.pose(t, &mut wanted);
                layers.apply(t, &mut wanted);
                played.pose(t, &mut got);
                let off = farthest(&subject, &wanted, &got);
                if (t - time).abs() <= span { within = within.max(off) } else { outside = outside.max(off) }
            }
            println!("{} {easing:?}: {within:.1e} within, {outside:.1e} outside", subject.name);
            assert!(within < 2e-3 && outside < 1e-6, "{} {easing:?}", subject.name);
        }
    }
}

#[test]
fn cubic_and_stepped_tracks_stay_what_they_are() {
    let subject = Subject::zoo("tube:bones=4");
    let skeleton = subject.rig.skeleton();
    let bone = skeleton.bones().find(|&bone| skeleton.name(bone) == "tube.2").expect("a bone");
    let quat = |angle: f32| glam::Quat::from_rotation_x(angle);
    let zero = glam::Quat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    let rate = glam::Quat::from_xyzw(0.4, 0.1, 0.0, 0.0);
    let cubic = vec![zero, quat(0.0), rate, rate, quat(0.7), rate, rate, quat(-0.4), zero];
    let kinds = [(Interpolation::CubicSpline, cubic), (Interpolation::Step, vec![quat(0.0), quat(0.7), quat(-0.4)])];
    for (interpolation, values) in kinds {
        let curve = Curve::new(interpolation, vec![0.0, 1.0, 2.0], values).expect("a curve");
        let track = Track { node: skeleton.node(bone), rotation: Some(curve.clone()), ..Track::default() };
        let clip = Clip { name: "bend".into(), tracks: vec![track] };
        let before = pose_at(&subject, &clip, 1.2);
        let mut after = before.clone();
        if let LocalTransform::Trs(trs) = &mut after.locals[bone.index()] {
            trs.rotation = DQuat::from_rotation_z(0.8) * trs.rotation;
        }
        let ease = Ease { time: 1.2, ease_in: 0.5, ease_out: 0.3, easing: Easing::SineInOut };
        let layer = PoseLayer::between(skeleton, &before, &after, ease).expect("nodes by parts");
        let layers = Layers::new(skeleton, &[layer], None).expect("its bones");
        let written = layers.clip(skeleton, &clip);
        let changed = written.tracks[0].rotation.as_ref().expect("a curve");
        assert_eq!(changed.interpolation(), interpolation);
        assert_eq!((changed.times()[0], changed.key_value(0)), (0.0, curve.key_value(0)));
        assert_eq!(changed.key_tangents(0), curve.key_tangents(0));
        for i in 0..=400 {
            let t = f64::from(i) / 200.0;
            let mut wanted = pose_at(&subject, &clip, t);
            layers.apply(t, &mut wanted);
            let LocalTransform::Trs(wanted) = wanted.locals[bone.index()] else { panic!("by parts") };
            let off = changed.sample(t).angle_between(wanted.rotation);
            // A value that is held for a sixtieth of a second lags by as much.
            let most = if interpolation == Interpolation::Step { 0.06 } else { 1e-3 };
            assert!(off < if ease.weight(t) > 0.0 { most } else { 1e-6 }, "{interpolation:?} at {t}: {off}");
        }
    }
}

#[test]
fn faults_name_layer_and_bone() {
    let subject = Subject::zoo("tube:bones=4");
    let ease = Ease { time: 0.0, ease_in: 0.1, ease_out: 0.1, easing: Easing::Linear };
    let change = |bone: &str, turn: f64| sinew_draw::layer::BoneChange {
        bone: bone.to_owned(),
        node: 0,
        turn: [turn, 0.0, 0.0],
        shift: [0.0; 3],
    };
    let layer =
        |ease: Ease, bone: &str, turn: f64| PoseLayer { name: "wink".into(), ease, bones: vec![change(bone, turn)] };
    for (layer, words) in [
        (layer(ease, "nobody", 0.1), "\"wink\" moves the bone \"nobody\""),
        (layer(ease, "tube.1", f64::NAN), "not a number"),
        (layer(Ease { ease_in: -1.0, ..ease }, "tube.1", 0.1), "an ease of -1 s in"),
    ] {
        let told = Layers::new(subject.rig.skeleton(), &[layer], None).expect_err("a fault").to_string();
        assert!(told.contains(words), "{told}");
    }
}
