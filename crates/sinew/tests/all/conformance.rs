//! What holds for every effect of the registry, whatever it computes.

use crate::common::{Subject, bits, effect, effect_at_scale, largest_difference, recipe};
use glam::{DAffine3, DVec3, Vec3Swizzles};
use sinew::recipe::{EffectSpec, Planted};
use sinew::*;

fn every_effect() -> impl Iterator<Item = &'static str> {
    sinew::registry::EFFECTS.iter().map(|effect| effect.name())
}

/// Filters on, so that the whole path is taken.
fn filtered(name: &str) -> EffectSpec {
    filtered_at_scale(name, 1.0)
}

fn filtered_at_scale(name: &str, scale: f64) -> EffectSpec {
    let mut spec = effect_at_scale(name, &[], scale);
    for input in spec.effect.inputs() {
        if let sinew::displace::Input::LowPass(_, gamma) = input {
            spec.values.set(gamma, 0.6).unwrap();
        }
    }
    spec
}

fn stages() -> Vec<(&'static str, Subject)> {
    ["tube:vertices=1500,bones=9", "tube:vertices=300,bones=2"].map(|spec| (spec, Subject::zoo(spec))).into()
}

#[test]
fn any_order_and_any_thread_count_give_the_same_bits() {
    let pools = [1, 2, 3].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    for (_, subject) in stages() {
        for name in every_effect() {
            let stage = subject.stage(&recipe(vec![filtered(name)]));
            let motion = subject.motion(0, &MotionSettings::default(), &stage);
            let times: Vec<f64> = (0..12).map(|frame| f64::from(frame) / 24.0).collect();
            let forward: Vec<_> =
                times.iter().map(|&t| bits(&subject.at(&stage, &motion, t, &Cpu::serial()))).collect();
            for (frame, &time) in times.iter().enumerate().rev() {
                for pool in &pools {
                    let cpu = Cpu { pool: Some(pool), ..Cpu::serial() };
                    assert_eq!(bits(&subject.at(&stage, &motion, time, &cpu)), forward[frame], "{name} at {time}");
                }
            }
        }
    }
}

#[test]
fn reused_scratch_gives_the_same_bits_as_fresh() {
    let subject = Subject::zoo("tube:vertices=1500,bones=9");
    let small = Subject::zoo("tube:vertices=300,bones=2");
    let mut workspace = Workspace::default();
    for subject in [&subject, &small, &subject] {
        let stage = subject.stage(&recipe(vec![filtered("floppy")]));
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let fresh = subject.at(&stage, &motion, 0.3, &Cpu::serial());
        let reused = stage.resume(&motion).unwrap();
        assert_eq!(bits(reused.frame(0.3, &mut workspace)), bits(&fresh));
    }
}

#[test]
fn instruction_sets_agree() {
    for (_, subject) in stages() {
        for name in every_effect() {
            let stage = subject.stage(&recipe(vec![filtered(name)]));
            let motion = subject.motion(0, &MotionSettings::default(), &stage);
            let best = subject.at(&stage, &motion, 0.7, &Cpu::serial());
            let baseline = subject.at(&stage, &motion, 0.7, &Cpu { level: Level::baseline(), pool: None });
            assert!(largest_difference(&best, &baseline) <= 2e-6 * subject.size(), "{name}");
            #[cfg(target_arch = "x86_64")]
            if let (Some(avx2), Some(_)) = (Level::new().as_avx2(), Level::new().as_avx512()) {
                let avx2 = subject.at(&stage, &motion, 0.7, &Cpu { level: Level::Avx2(avx2), pool: None });
                assert_eq!(bits(&best), bits(&avx2), "{name}");
            }
        }
    }
}

#[test]
fn gain_zero_is_the_base_to_the_bit() {
    let subject = Subject::zoo("tube:vertices=1500,bones=9");
    let base = subject.stage(&Recipe::default());
    let skeleton = subject.rig.skeleton();
    for name in every_effect() {
        let mut spec = filtered(name);
        spec.gain = 0.0;
        let stage = subject.stage(&recipe(vec![spec]));
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let plain = subject.at(&base, &subject.motion(0, &MotionSettings::default(), &base), 0.4, &Cpu::serial());
        assert!(subject.at(&stage, &motion, 0.4, &Cpu::serial()).positions == plain.positions, "{name}");

        // At the largest speed there is.
        let mut kinematics = stage.at_rest();
        let fast = DVec3::splat(1e30);
        let motion = BoneMotion {
            linear_velocity: fast,
            angular_velocity: fast,
            linear_acceleration: fast,
            angular_acceleration: fast,
        };
        for bone in skeleton.bones() {
            kinematics.set_steady(bone, motion, stage.filtered_signals());
        }
        let rest = subject.rig.rest_pose();
        let still = subject.with(&base, &rest, &Kinematics::at_rest(skeleton.len(), 0), &Cpu::serial());
        assert!(subject.with(&stage, &rest, &kinematics, &Cpu::serial()).positions == still.positions, "{name}");
    }
}

/// With one gain for all points the affine parts of all effects are summed ahead; with a map they are evaluated point by
/// point.
#[test]
fn one_gain_for_all_and_a_map_of_it_move_the_skin_alike() {
    let mut zoo = sinew_zoo::build("tube:vertices=1500,bones=9").unwrap();
    let primitive = &mut zoo.raw.meshes[0].primitives[0];
    let mut painted = vec![1.0f32; primitive.positions.len()];
    painted[0] = 0.5;
    primitive.maps.push(("nearly".to_owned(), painted));
    let subject = Subject::new(&zoo.raw, zoo.clips);
    let odd = subject.rig.point_of_vertex()[0];
    // A cone's bone is the one with most gain below it, which a dot may decide.
    for name in every_effect().filter(|name| effect(name, &[]).cone.is_none()) {
        for gain in [1.0, -0.7] {
            let mut spec = filtered(name);
            spec.gain = gain;
            let alike = subject.stage(&recipe(vec![spec.clone()]));
            spec.map = Some("nearly".to_owned());
            let each = subject.stage(&recipe(vec![spec]));
            let motion = subject.motion(0, &MotionSettings::default(), &alike);
            for time in [0.1, 0.45, 0.8] {
                let [alike, each] = [&alike, &each].map(|stage| subject.at(stage, &motion, time, &Cpu::serial()));
                for vertex in 0..alike.positions.len() {
                    if subject.rig.point_of_vertex()[vertex] != odd {
                        let apart = f64::from(alike.positions[vertex].distance(each.positions[vertex]));
                        assert!(apart < 2e-6 * subject.size(), "{name}, vertex {vertex}: {apart:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_map_painted_zero_at_single_points_leaves_them_alone() {
    let mut zoo = sinew_zoo::build("tube:vertices=1500,bones=9").unwrap();
    let primitive = &mut zoo.raw.meshes[0].primitives[0];
    let count = primitive.positions.len();
    let painted: Vec<f32> = (0..count).map(|v| if v % 7 == 0 { 0.0 } else { (v % 5) as f32 * 0.5 - 1.0 }).collect();
    primitive.maps.push(("dots".to_owned(), painted.clone()));
    let subject = Subject::new(&zoo.raw, zoo.clips);
    let base = subject.stage(&Recipe::default());
    let plain = subject.at(&base, &subject.motion(0, &MotionSettings::default(), &base), 0.4, &Cpu::serial());
    for name in every_effect() {
        let mut spec = filtered(name);
        spec.map = Some("dots".to_owned());
        let stage = subject.stage(&recipe(vec![spec]));
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let out = subject.at(&stage, &motion, 0.4, &Cpu::serial());
        let mut moved = 0;
        for (vertex, &value) in painted.iter().enumerate() {
            if value == 0.0 {
                assert!(out.positions[vertex] == plain.positions[vertex], "{name} vertex {vertex}");
            } else {
                moved += usize::from(out.positions[vertex] != plain.positions[vertex]);
            }
        }
        assert!(moved > count / 2, "{name} moved {moved} of {count}");
    }
}

#[test]
fn every_end_of_every_range_stays_finite() {
    let subject = Subject::zoo("tube:vertices=300,bones=4");
    for name in every_effect() {
        for param in EffectSpec::new(name).unwrap().effect.params() {
            let ends = match param.kind {
                sinew::param::ParamKind::Number { min, max, .. } => [min, max],
                _ => [0.0, 1.0],
            };
            for value in ends {
                let stage = subject.stage(&recipe(vec![effect(name, &[(param.name, value)])]));
                let mut kinematics = stage.at_rest();
                for speed in [1e-30, 1.0, 1e4] {
                    let v = DVec3::new(speed, -0.3 * speed, 0.1 * speed);
                    let motion = BoneMotion {
                        linear_velocity: v,
                        angular_velocity: v.zxy(),
                        linear_acceleration: -v,
                        angular_acceleration: v.yzx(),
                    };
                    for bone in subject.rig.skeleton().bones() {
                        kinematics.set_steady(bone, motion, stage.filtered_signals());
                    }
                    subject.with(&stage, &subject.rig.rest_pose(), &kinematics, &Cpu::serial());
                }
            }
        }
    }
}

#[test]
fn frame_rates_agree_to_the_bit_at_common_times() {
    let subject = Subject::zoo("tube:vertices=300,bones=4");
    for name in every_effect() {
        let stage = subject.stage(&recipe(vec![filtered(name)]));
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let play = |fps: u32| -> Vec<(u64, Vec<u32>)> {
            (0..=fps)
                .map(|frame| f64::from(frame) / f64::from(fps))
                .map(|time| (time.to_bits(), bits(&subject.at(&stage, &motion, time, &Cpu::serial()))))
                .collect()
        };
        let reference = play(120);
        for fps in [24, 30, 60] {
            let mut common = 0;
            for (time, frame) in play(fps) {
                if let Some((_, other)) = reference.iter().find(|(other, _)| *other == time) {
                    assert_eq!(&frame, other, "{name} at {fps} fps");
                    common += 1;
                }
            }
            assert_eq!(common, fps + 1, "times of {fps} fps are among those of 120 fps");
        }
    }
}

#[test]
fn a_scene_a_hundred_times_as_large_moves_a_hundred_times_as_far() {
    let zoo = sinew_zoo::build("tube:vertices=300,bones=4").unwrap();
    let subject = Subject::new(&zoo.raw, zoo.clips.clone());
    // Everything with a length: positions, node translations, binds; rotations stay.
    let mut raw = zoo.raw.clone();
    for bone in &mut raw.bones {
        if let LocalTransform::Trs(trs) = &mut bone.local {
            trs.translation *= 100.0;
        }
    }
    for joint in raw.skins.iter_mut().flat_map(|skin| &mut skin.joints) {
        joint.bone_from_rest =
            DAffine3 { translation: joint.bone_from_rest.translation * 100.0, ..joint.bone_from_rest };
    }
    for position in raw.meshes.iter_mut().flat_map(|m| &mut m.primitives).flat_map(|p| &mut p.positions) {
        *position *= 100.0;
    }
    let large = Subject::new(&raw, zoo.clips);
    for name in every_effect() {
        for clip in 0..2 {
            let (a, b) = (
                subject.stage(&recipe(vec![filtered(name)])),
                large.stage(&recipe(vec![filtered_at_scale(name, 100.0)])),
            );
            let settings = MotionSettings::default();
            let (small_motion, large_motion) = (subject.motion(clip, &settings, &a), large.motion(clip, &settings, &b));
            for time in [0.0, 0.21, 0.77] {
                let small = subject.at(&a, &small_motion, time, &Cpu::serial());
                let large_frame = large.at(&b, &large_motion, time, &Cpu::serial());
                for (s, l) in small.positions.iter().zip(&large_frame.positions) {
                    assert!((s.as_dvec3() * 100.0).distance(l.as_dvec3()) <= 1e-5 * large.size(), "{name}");
                }
            }
        }
    }
}

#[test]
fn a_loop_is_periodic_and_its_seam_is_as_smooth_as_the_rest() {
    let subject = Subject::zoo("tube:vertices=300,bones=4");
    for name in every_effect() {
        let stage = subject.stage(&recipe(vec![filtered(name)]));
        let motion = subject.motion(0, &MotionSettings::default(), &stage);
        let period = motion.report().period.expect("the clip loops");
        let at = |time: f64| subject.at(&stage, &motion, time, &Cpu::serial());
        for time in [0.0, 0.1, 0.5, 1.3] {
            assert!(largest_difference(&at(time), &at(time + period)) <= 1e-6 * subject.size(), "{name}");
        }
        // Largest second difference of any vertex, across the seam and everywhere inside.
        let step = 1.0 / 240.0;
        let jolt = |time: f64| {
            let [a, b, c] = [time - step, time, time + step].map(|t| at(if t < 0.0 { t + period } else { t }));
            let second = |v: usize| (a.positions[v] - b.positions[v] * 2.0 + c.positions[v]).length();
            (0..a.positions.len()).map(second).fold(0.0, f32::max)
        };
        let inside = (20..300).step_by(7).map(|i| jolt(f64::from(i) * step)).fold(0.0, f32::max);
        let seam = jolt(0.0).max(jolt(period)).max(jolt(period - step));
        assert!(seam <= inside * 1.05, "{name}: {seam} at the seam, {inside} inside");
    }
}

/// Straight and turning: the displacement of the walk that travels is that of the walk on the spot, carried along.
#[test]
fn a_travelling_loop_is_displaced_as_its_in_place_version() {
    let zoo = sinew_zoo::build("tube:vertices=300,bones=4").unwrap();
    let wave = &zoo.clips[0];
    let period = wave.span().unwrap().1;
    let root = wave.tracks.iter().position(|track| track.node == 0).unwrap();
    for (turn, stride) in [(0.0, 1.5), (0.9, 0.0), (-0.7, 1.1)] {
        // A screw about an axis off to the side: E(t) = exp(t/T · twist).
        let carried = |t: f64| {
            let centre = DVec3::new(1.0, 0.0, 0.5);
            let rotation = glam::DQuat::from_rotation_y(turn * t / period);
            (rotation, centre - rotation * centre + DVec3::Y * (stride * t / period))
        };
        let mut clip = wave.clone();
        let track = &mut clip.tracks[root];
        let keys = track.rotation.as_ref().unwrap();
        let times = keys.times().to_vec();
        let rotations =
            times.iter().enumerate().map(|(k, &t)| (carried(t).0 * keys.key_value(k).as_dquat()).as_quat()).collect();
        let places = times.iter().map(|&t| carried(t).1.as_vec3()).collect();
        track.rotation = Some(Curve::new(Interpolation::Linear, times.clone(), rotations).unwrap());
        track.translation = Some(Curve::new(Interpolation::Linear, times, places).unwrap());
        let subject = Subject::new(&zoo.raw, vec![wave.clone(), clip]);
        let base = subject.stage(&Recipe::default());
        for name in ["floppy", "squash"] {
            // What stands on the ground is another matter: a tube that goes up leaves it.
            let stage = subject.stage(&Recipe { planted: Planted::None, ..recipe(vec![filtered(name)]) });
            // At keys, where both versions have the same pose.
            for key in [0, 7, 20, 41] {
                let time = f64::from(key) / 30.0;
                let moved = |clip: usize| -> Vec<DVec3> {
                    let settings = MotionSettings::default();
                    let out = subject.at(&stage, &subject.motion(clip, &settings, &stage), time, &Cpu::serial());
                    let plain = subject.at(&base, &subject.motion(clip, &settings, &base), time, &Cpu::serial());
                    out.positions.iter().zip(&plain.positions).map(|(a, b)| (*a - *b).as_dvec3()).collect()
                };
                let largest = moved(0).iter().map(|d| d.length()).fold(0.0, f64::max);
                assert!(largest > 1e-3 * subject.size());
                for (in_place, travelling) in moved(0).iter().zip(moved(1)) {
                    let apart = (carried(time).0 * *in_place).distance(travelling);
                    assert!(apart <= 1e-5 * subject.size(), "{name}, turn {turn}, stride {stride}: {apart}");
                }
            }
        }
    }
}
