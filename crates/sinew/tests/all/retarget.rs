//! Clips of one character on another: the same one is as before, one of other proportions stands as high, names may
//! have prefixes, and what only one side has is told.

use glam::{DAffine3, DQuat, DVec3};
use sinew::raw::{RawBone, RawSkin};
use sinew::retarget::{Performer, Retargeted, retarget};
use sinew::{Clip, LocalTransform, RawRig, Trs};
use sinew_zoo::ZooCharacter;

fn dancer() -> ZooCharacter {
    sinew_zoo::build("dancer").expect("built in")
}

fn plain(raw: &RawRig) -> Performer<'_> {
    Performer { raw, roles: &[] }
}

/// Places of all nodes, from the definition of a node tree: without a clip where they rest.
fn worlds(raw: &RawRig, clip: Option<&Clip>, time: f64) -> Vec<DAffine3> {
    let local = |node: usize| {
        let mut local = raw.bones[node].local.to_trs();
        let tracks = clip.into_iter().flat_map(|clip| &clip.tracks).filter(|track| track.node == node);
        for track in tracks {
            local.translation = track.translation.as_ref().map_or(local.translation, |curve| curve.sample(time));
            local.rotation = track.rotation.as_ref().map_or(local.rotation, |curve| curve.sample(time));
            local.scale = track.scale.as_ref().map_or(local.scale, |curve| curve.sample(time));
        }
        local.to_affine()
    };
    (0..raw.bones.len())
        .map(|node| {
            let above = std::iter::successors(raw.bones[node].parent, |&node| raw.bones[node].parent);
            above.fold(local(node), |world, node| local(node) * world)
        })
        .collect()
}

fn node(raw: &RawRig, name: &str) -> usize {
    raw.bones.iter().position(|bone| bone.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The dancer with limbs longer by `factor` of their name, standing on the same ground and bound there.
fn rebuilt(raw: &RawRig, factor: impl Fn(&str) -> f64) -> RawRig {
    let mut other = raw.clone();
    for bone in &mut other.bones {
        let mut local = bone.local.to_trs();
        local.translation *= factor(&bone.name);
        bone.local = LocalTransform::Trs(local);
    }
    let lowest = |raw: &RawRig| worlds(raw, None, 0.0)[node(raw, "foot.L")].translation.y;
    let sunk = lowest(raw) - lowest(&other);
    let hips = node(&other, "hips");
    let mut local = other.bones[hips].local.to_trs();
    local.translation.y += sunk;
    other.bones[hips].local = LocalTransform::Trs(local);
    rebind(&mut other);
    other
}

fn rebind(raw: &mut RawRig) {
    let rest = worlds(raw, None, 0.0);
    for RawSkin { joints, .. } in &mut raw.skins {
        joints.iter_mut().for_each(|joint| joint.bone_from_rest = rest[joint.bone].inverse());
    }
}

fn times(clip: &Clip) -> impl Iterator<Item = f64> + use<> {
    let (start, end) = clip.span().expect("keys");
    (0..=200).map(move |n| start + (end - start) * f64::from(n) / 200.0)
}

/// How far feet are off, in lengths of a leg, from how high they are in the source above where they rest.
fn feet_off(source: (&RawRig, &Clip), target: (&RawRig, &Clip)) -> f64 {
    let legs = |raw: &RawRig, side: &str| {
        let rest = worlds(raw, None, 0.0);
        let [thigh, shin, foot] = ["thigh", "shin", "foot"].map(|part| node(raw, &format!("{part}.{side}")));
        let place = |node: usize| rest[node].translation;
        (foot, place(thigh).distance(place(shin)) + place(shin).distance(place(foot)), place(foot).y)
    };
    let mut worst = 0.0f64;
    for time in times(source.1) {
        let (s, t) = (worlds(source.0, Some(source.1), time), worlds(target.0, Some(target.1), time));
        for side in ["L", "R"] {
            let height = |raw: &RawRig, worlds: &[DAffine3]| {
                let (foot, length, rest) = legs(raw, side);
                (worlds[foot].translation.y - rest) / length
            };
            worst = worst.max((height(source.0, &s) - height(target.0, &t)).abs());
        }
    }
    worst
}

#[test]
fn the_same_character_moves_as_before() {
    let ZooCharacter { raw, clips, .. } = dancer();
    let Retargeted { clips: made, pairs, source_only, target_only, scale, .. } =
        retarget(&plain(&raw), &clips, &plain(&raw));
    assert!(pairs.iter().all(|(source, target)| source == target));
    assert_eq!((source_only.len(), target_only.len()), (0, 0));
    assert!((scale - 1.0).abs() < 1e-9);
    for (before, after) in clips.iter().zip(&made) {
        assert_eq!(before.name, after.name);
        for time in times(before) {
            for (a, b) in worlds(&raw, Some(before), time).iter().zip(worlds(&raw, Some(after), time)) {
                let apart = a.translation.distance(b.translation);
                assert!(apart < 2e-5, "{} at {time}: {apart}", before.name);
            }
        }
    }
}

#[test]
fn feet_are_as_high_on_other_proportions() {
    let ZooCharacter { raw, clips, .. } = dancer();
    // Larger throughout; long thighs and short shins; short legs; a long body with wide hips and long arms.
    let builds: [&dyn Fn(&str) -> f64; 4] = [
        &|_| 3.7,
        &|name| {
            if name.starts_with("shin") {
                1.6
            } else if name.starts_with("foot") {
                0.7
            } else {
                1.0
            }
        },
        &|name| if name.starts_with("shin") || name.starts_with("foot") { 0.5 } else { 1.0 },
        &|name| {
            if name.starts_with("thigh") {
                1.4
            } else if name.contains("arm") {
                1.7
            } else {
                1.2
            }
        },
    ];
    for (number, build) in builds.iter().enumerate() {
        let other = rebuilt(&raw, build);
        let made = retarget(&plain(&raw), &clips, &plain(&other));
        assert_eq!(made.legs, 2, "build {number}");
        for (before, after) in clips.iter().zip(&made.clips) {
            let off = feet_off((&raw, before), (&other, after));
            println!(
                "build {number}, {}: feet off by {:.3} % of a leg, scale {:.3}",
                before.name,
                100.0 * off,
                made.scale
            );
            assert!(off < 0.02, "build {number}, {}: {off}", before.name);
        }
        // And back again.
        let back = retarget(&plain(&other), &made.clips, &plain(&raw));
        for (before, after) in clips.iter().zip(&back.clips) {
            assert!(feet_off((&raw, before), (&raw, after)) < 0.02);
        }
    }
}

#[test]
fn prefixes_rest_poses_and_facing_do_not_matter() {
    let ZooCharacter { raw, clips, .. } = dancer();
    let mut other = raw.clone();
    for (number, bone) in other.bones.iter_mut().enumerate() {
        let name = &bone.name;
        bone.name = match number % 4 {
            0 => format!("mixamorig:{name}"),
            1 => format!("Armature|{}", name.to_uppercase()),
            2 => name.clone(),
            _ => format!("{}.001", name.replace('.', "_")),
        };
    }
    let made = retarget(&plain(&raw), &clips, &plain(&other));
    assert!(made.target_only.is_empty(), "{:?}", made.target_only);
    // The other way round, facing backwards, with arms that rest half-way down.
    let hips = node(&raw, "hips");
    let mut local = other.bones[hips].local.to_trs();
    let about = DQuat::from_rotation_y(std::f64::consts::PI);
    (local.rotation, local.translation) = (about * local.rotation, about * local.translation);
    other.bones[hips].local = LocalTransform::Trs(local);
    let rest = worlds(&other, None, 0.0);
    for (arm, above) in [("upper_arm.L", "chest"), ("upper_arm.R", "chest")] {
        let (arm, above) = (node(&raw, arm), node(&raw, above));
        let towards = (rest[arm].translation - rest[above].translation) * DVec3::new(1.0, 0.0, 1.0);
        let lowered = DQuat::from_axis_angle(towards.normalize().cross(DVec3::NEG_Y).normalize(), 0.7);
        let turn = |world: &DAffine3| world.to_scale_rotation_translation().1;
        let mut local = other.bones[arm].local.to_trs();
        local.rotation = turn(&rest[above]).inverse() * lowered * turn(&rest[above]) * local.rotation;
        other.bones[arm].local = LocalTransform::Trs(local);
    }
    rebind(&mut other);
    let made = retarget(&plain(&raw), &clips, &plain(&other));
    assert!(made.turned);
    for (before, after) in clips.iter().zip(&made.clips) {
        for time in times(before).step_by(10) {
            let (a, b) = (worlds(&raw, Some(before), time), worlds(&other, Some(after), time));
            for name in ["foot.L", "head", "hand.L", "hand.R", "shin.R"] {
                let node = node(&raw, name);
                let apart = (about * a[node].translation).distance(b[node].translation);
                assert!(apart < 2e-3, "{} at {time}: {name} is {apart} apart", before.name);
            }
        }
    }
}

#[test]
fn what_one_side_lacks_is_told_and_the_rest_moves() {
    let ZooCharacter { raw, clips, .. } = dancer();
    let mut other = raw.clone();
    let (spine, hand) = (node(&raw, "spine"), node(&raw, "hand.L"));
    other.bones[spine].name = "belly".into();
    other.bones[hand].name = "hook".into();
    let made = retarget(&plain(&raw), &clips, &plain(&other));
    // The spine has its place between hips and chest; of the hand nobody knows.
    assert!(made.pairs.contains(&(spine, spine)));
    assert_eq!(made.source_only, [hand]);
    assert_eq!(made.target_only, [hand]);
    // Numbered from the other end: arms that would be tied in knots are left alone.
    let (upper, lower) = (node(&raw, "upper_arm.R"), node(&raw, "forearm.R"));
    other.bones[upper].name = "forearm.R".into();
    other.bones[lower].name = "upper_arm.R".into();
    let made = retarget(&plain(&raw), &clips, &plain(&other));
    assert!(made.pairs.iter().all(|(source, target)| source == target), "by place, not by name: {:?}", made.pairs);
    // What the source does between two pairs is done by the second: the head is turned as before.
    other.bones.push(RawBone {
        name: "collar".into(),
        parent: Some(node(&raw, "chest")),
        local: LocalTransform::Trs(Trs::from_translation(DVec3::ZERO)),
    });
    let (neck, collar) = (node(&raw, "neck"), other.bones.len() - 1);
    other.bones[neck].parent = Some(collar);
    other.bones[neck].name = "stalk".into();
    let made = retarget(&plain(&raw), &clips, &plain(&other));
    assert!(made.source_only.contains(&neck));
    let head = node(&raw, "head");
    for time in times(&clips[0]).step_by(10) {
        let (a, b) = (worlds(&raw, Some(&clips[0]), time)[head], worlds(&other, Some(&made.clips[0]), time)[head]);
        assert!((a.matrix3 - b.matrix3).to_cols_array().iter().all(|x| x.abs() < 1e-4), "at {time}");
    }
    other.bones.iter_mut().enumerate().for_each(|(n, bone)| bone.name = format!("x{n}"));
    let none = retarget(&plain(&raw), &clips, &plain(&other));
    assert!(none.clips.is_empty() && none.pairs.is_empty());
}

#[test]
fn parts_of_a_human_body_match_across_programs() {
    let ZooCharacter { raw, clips, .. } = dancer();
    let rename = |names: &[(&str, &str)]| {
        let mut other = raw.clone();
        other.bones.iter_mut().for_each(|bone| bone.name = format!("node {}", bone.name.len()));
        for (from, to) in names {
            other.bones[node(&raw, from)].name = (*to).to_owned();
        }
        other
    };
    let mixamo =
        rename(&[("hips", "mixamorig:Hips"), ("thigh.L", "mixamorig:LeftUpLeg"), ("shin.L", "mixamorig:LeftLeg")]);
    let unreal = rename(&[("hips", "pelvis"), ("thigh.L", "thigh_l"), ("shin.L", "calf_l")]);
    let expected = ["hips", "thigh.L", "shin.L"].map(|name| (node(&raw, name), node(&raw, name)));
    let pairs = retarget(&plain(&mixamo), &clips, &plain(&unreal)).pairs;
    assert!(expected.iter().all(|pair| pairs.contains(pair)), "{pairs:?}");
    let vrm = rename(&[]);
    let roles = [("hips", "hips"), ("thigh.L", "leftUpperLeg"), ("shin.L", "leftLowerLeg")];
    let roles = roles.map(|(name, role)| (node(&raw, name), role.to_owned()));
    let pairs = retarget(&plain(&mixamo), &clips, &Performer { raw: &vrm, roles: &roles }).pairs;
    assert!(expected.iter().all(|pair| pairs.contains(pair)), "{pairs:?}");
}
