//! Bones posed by strokes on real characters: joints on their targets, directions and lengths as promised.
//! `SINEW_FULL=1` draws 200 strokes on each of five characters.

use crate::common::{Subject, is_full};
use glam::DVec3;
use sinew::strokes::posing::Posing;
use sinew::strokes::{Fit, Frames, Sample, Selection, Stroke, pose_by_offset};
use sinew::{BoneId, Pose, WorldPose};
use sinew_testkit::random::Random;

fn stroke(points: impl IntoIterator<Item = DVec3>) -> Stroke {
    let samples: Vec<Sample> = points.into_iter().map(|position| Sample { position, time_secs: 0.0 }).collect();
    Stroke::new(&samples).expect("finite")
}

/// Chains of joints from each leaf upward, the topmost first, as far as bones have a length.
fn chains(subject: &Subject, world: &WorldPose) -> Vec<Vec<BoneId>> {
    let skeleton = subject.rig.skeleton();
    let is_joint = |bone: BoneId| subject.rig.palette().iter().any(|entry| entry.bone == bone);
    let is_leaf = |bone: BoneId| !skeleton.bones().any(|other| skeleton.parent(other) == Some(bone) && is_joint(other));
    let mut chains = Vec::new();
    for leaf in skeleton.bones().filter(|&bone| is_joint(bone) && is_leaf(bone)) {
        let mut chain: Vec<BoneId> = skeleton.ancestors(leaf).take_while(|&bone| is_joint(bone)).collect();
        if !chain.contains(&leaf) {
            chain.insert(0, leaf);
        }
        chain.reverse();
        let apart = |pair: &[BoneId]| world.joint_origin(pair[0]).distance(world.joint_origin(pair[1]));
        let nowhere = chain.windows(2).rposition(|pair| apart(pair) < 1e-3 * subject.size());
        let chain = chain.split_off(nowhere.map_or(0, |index| index + 1));
        if chain.len() >= 3 {
            chains.push(chain);
        }
    }
    chains
}

fn composed(subject: &Subject, pose: &Pose) -> WorldPose {
    let mut world = WorldPose::default();
    world.compose(subject.rig.skeleton(), pose);
    world
}

#[test]
fn two_hundred_strokes_on_five_characters() {
    let real = ["CesiumMan.glb", "Fox.glb", "Quaternius_Snake.glb", "RiggedFigure.glb"];
    let subjects = [Subject::zoo("calf")].into_iter().chain(real.iter().filter_map(|file| Subject::real(file)));
    for subject in subjects {
        let skeleton = subject.rig.skeleton();
        let size = subject.size();
        let pose = subject.rig.rest_pose();
        let world = composed(&subject, &pose);
        let chains = chains(&subject, &world);
        assert!(!chains.is_empty(), "{} has chains", subject.name);
        let mut random = Random::new(200);
        let (mut on_target, mut off_angle, mut off_curve) = (0.0f64, 0.0f64, 0.0f64);
        let (mut off_local, mut off_length) = (0.0f64, 0.0f64);
        for _ in 0..if is_full() { 200 } else { 40 } {
            let chain = &chains[random.below(chains.len())];
            let chain = &chain[random.below(chain.len() - 2)..];
            let joints: Vec<DVec3> = chain.iter().map(|&bone| world.joint_origin(bone)).collect();
            let mut jitter = |by: f64| DVec3::from_array(std::array::from_fn(|_| random.between(-by, by) * size));
            let baseline = stroke(joints.iter().map(|p| *p + jitter(0.01)));
            // A smooth wave that begins at the first joint, with room for the chain: bones are chords and take more of it than
            // their length.
            let way: f64 = joints.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
            let along = jitter(1.0).normalize_or(DVec3::X);
            let aside = along.cross(jitter(1.0)).normalize_or(along.any_orthonormal_vector());
            let up = along.cross(aside);
            let bend = |t: f64| along * t + aside * (0.25 * (4.0 * t).sin()) + up * (0.15 * (1.0 - (3.0 * t).cos()));
            let offset = stroke((0..=24).map(|i| joints[0] + bend(f64::from(i) / 24.0) * (1.3 * way)));
            let selection = Selection::by_baseline(&world, chain.iter().copied(), &baseline, f64::INFINITY);
            let mut pose_by = |stretch: bool, fit: Fit| {
                let posing = Posing { up: DVec3::Z, stretch, fit, is_free: &|_| false };
                let posed = pose_by_offset(skeleton, &pose, &selection, [&baseline, &offset], &posing);
                if !stretch {
                    // What a bone's length is kept in: where files scale bones unevenly, if only by rounding, its length in the
                    // world turns with it.
                    let local = |pose: &Pose, bone: BoneId| pose.locals[bone.index()].to_trs().translation.length();
                    for &bone in chain {
                        let (is, was) = (local(&posed, bone), local(&pose, bone));
                        off_local = off_local.max(if was > 0.0 { (is / was - 1.0).abs() } else { is });
                    }
                }
                composed(&subject, &posed)
            };
            let frames = Frames::new(&baseline, DVec3::Z);
            let carried = frames.carried_from(&offset);
            let targets: Vec<DVec3> = selection
                .bones()
                .iter()
                .map(|s| offset.at(s.t) + carried.at(s.t) * frames.at(s.t).transpose() * s.displacement)
                .collect();
            let stretched = pose_by(true, Fit::Offset);
            let kept = pose_by(false, Fit::Offset);
            let laid = pose_by(false, Fit::Curve);
            let bones: Vec<BoneId> = selection.bones().iter().map(|s| s.bone).collect();
            for (index, (&bone, &target)) in bones.iter().zip(&targets).enumerate() {
                on_target = on_target.max(stretched.joint_origin(bone).distance(target) / size);
                if index > 0 {
                    let above = bones[index - 1];
                    let [is, was] = [&kept, &world].map(|world| world.joint_origin(bone) - world.joint_origin(above));
                    let wanted = target - kept.joint_origin(above);
                    off_angle = off_angle.max(is.angle_between(wanted).to_degrees());
                    off_length = off_length.max((is.length() / was.length() - 1.0).abs());
                    let joint = laid.joint_origin(bone);
                    let laid_length = joint.distance(laid.joint_origin(above));
                    off_length = off_length.max((laid_length / was.length() - 1.0).abs());
                    off_curve = off_curve.max(offset.at(offset.nearest(joint)).distance(joint) / offset.length());
                }
            }
        }
        println!(
            "{}: stretched {on_target:.1e} of the size off; kept {off_angle:.1e}°, {off_local:.1e} of a length, \
             {off_length:.1e} in the world; \
             on the curve {off_curve:.1e} of its length",
            subject.name
        );
        assert!(on_target < 1e-6 && off_angle < 0.1 && off_curve < 0.01, "{}", subject.name);
        assert!(off_local < 1e-9 && off_length < 1e-6, "{}", subject.name);
    }
}
