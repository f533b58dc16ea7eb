//! Effects follow the body: characters whose feet, hands or eyes are hung on the root look as they did, and characters
//! whose trees are right are left alone.

use glam::{DAffine3, Vec3};
use sinew::clip::Track;
use sinew::hierarchy::Reason;
use sinew::raw::{RawBone, RawInfluences, RawJoint, RawPrimitive};
use sinew::*;
use sinew_gltf::{Asset, RawAsset};
use sinew_testkit::assets::{asset, assets};
use std::sync::Arc;

/// Keys per second of what is re-hung.
const RATE: f64 = 240.0;

fn node_named(raw: &RawRig, name: &str) -> usize {
    raw.bones.iter().position(|bone| bone.name == name).unwrap_or_else(|| panic!("no bone {name}"))
}

/// The topmost bone above a node.
fn top(raw: &RawRig, node: usize) -> usize {
    let mut node = node;
    while let Some(parent) = raw.bones[node].parent {
        node = parent;
    }
    node
}

fn parts(m: DAffine3) -> Trs {
    let (scale, rotation, translation) = m.to_scale_rotation_translation();
    Trs { translation, rotation, scale }
}

/// Hangs `bone` on `onto` with the same world motion, keyed densely.
fn re_hang(raw: &mut RawRig, clips: &mut [Clip], bone: usize, onto: usize) {
    let (rig, _) = Rig::build(raw).expect("builds");
    let skeleton = rig.skeleton();
    let id = |node: usize| skeleton.bone_of_node(node).expect("a bone");
    let place = |pose: &Pose| {
        let mut world = WorldPose::default();
        world.compose(skeleton, pose);
        parts(world.world_from_bone(id(onto)).inverse() * world.world_from_bone(id(bone)))
    };
    for clip in clips.iter_mut() {
        let Some((start, end)) = clip.span() else { continue };
        let motion = Motion::new(rig.puppet(), clip, &MotionSettings::default(), &[]).expect("reads");
        let intervals = (RATE * (end - start)).ceil().max(1.0) as usize;
        let times: Vec<f64> = (0..=intervals).map(|k| start + (end - start) * (k as f64 / intervals as f64)).collect();
        let mut placed = Vec::new();
        for &t in &times {
            let mut pose = Pose::rest(skeleton);
            motion.pose(t.min(end), &mut pose);
            placed.push(place(&pose));
        }
        if end <= start {
            continue;
        }
        // A loop ends where it begins as exactly as its keys do.
        let linear = Interpolation::Linear;
        let translation = placed.iter().map(|p| p.translation.as_vec3()).collect();
        let rotation = placed.iter().map(|p| p.rotation.as_quat()).collect();
        let scale: Vec<Vec3> = placed.iter().map(|p| p.scale.as_vec3()).collect();
        let morph = clip.tracks.iter().find(|track| track.node == bone).and_then(|track| track.morph.clone());
        clip.tracks.retain(|track| track.node != bone);
        clip.tracks.push(Track {
            node: bone,
            translation: Some(Curve::new(linear, times.clone(), translation).expect("sound keys")),
            rotation: Some(Curve::new(linear, times.clone(), rotation).expect("sound keys")),
            scale: Some(Curve::new(linear, times, scale).expect("sound keys")),
            morph,
        });
    }
    let rest = place(&rig.rest_pose());
    raw.bones[bone].parent = Some(onto);
    raw.bones[bone].local = LocalTransform::Trs(rest);
    if !raw.animated.contains(&bone) {
        raw.animated.push(bone);
    }
}

fn stage(rig: &Arc<Rig>, preset: &str) -> Stage {
    let recipe = RecipeFile::parse(presets::get(preset).expect("a preset")).expect("parses");
    Stage::new(rig, &recipe.recipe().without_strength()).expect("fits")
}

/// Largest distance between two characters over a clip, in sizes: of their bases, and of the results.
fn apart(a: &Stage, b: &Stage, clips: [&Clip; 2]) -> [f64; 2] {
    let play = |looping| {
        let settings = MotionSettings { looping, ..MotionSettings::default() };
        [a.motion(clips[0], &settings).expect("reads"), b.motion(clips[1], &settings).expect("reads")]
    };
    let mut playing = play(Looping::Auto);
    if playing[0].report().period.is_some() != playing[1].report().period.is_some() {
        // A closing key that is missing is not seen to be where keys are dense.
        playing = play(Looping::No);
    }
    let report = playing[0].report().clone();
    let size = a.rig().characters().iter().map(|c| c.size).fold(0.0, f64::max);
    let outputs = Outputs { base: true, ..Outputs::default() };
    let (mut first, mut second) = (Workspace::with(outputs), Workspace::with(outputs));
    let mut largest = [0.0f64; 2];
    for k in 0..16 {
        let t = report.start + (report.last_key - report.start) * (f64::from(k) + 0.3) / 16.0;
        playing[0].frame(t, &mut first);
        playing[1].frame(t, &mut second);
        for (found, (x, y)) in largest.iter_mut().zip([(first.base(), second.base()), (first.mesh(), second.mesh())]) {
            let distances = x.positions.iter().zip(&y.positions).map(|(p, q)| f64::from(p.distance(*q)) / size);
            *found = distances.fold(*found, f64::max);
        }
    }
    largest
}

/// Re-hangs bones on the root and asks that each is found where it was, and that nothing looks otherwise.
fn stays_itself(name: &str, raw: &RawRig, clips: &[Clip], bones: &[&str]) {
    let (mut other, mut other_clips) = (raw.clone(), clips.to_vec());
    for bone in bones {
        let node = node_named(raw, bone);
        re_hang(&mut other, &mut other_clips, node, top(raw, node));
    }
    let own = Asset::from_raw(name, raw.clone(), clips.to_vec()).expect("builds");
    assert!(own.rig.hierarchy().follows().is_empty(), "{name}: {:?}", own.rig.hierarchy().follows());
    let hung = Asset::from_raw(name, other, other_clips).expect("builds");
    let skeleton = hung.rig.skeleton();
    for bone in bones {
        let node = node_named(raw, bone);
        let followed = hung.rig.hierarchy().followed(skeleton.bone_of_node(node).expect("a bone"));
        let expected = raw.bones[node].parent.map(|parent| raw.bones[parent].name.as_str());
        assert_eq!(followed.map(|bone| skeleton.name(bone)), expected, "{name}: {bone}");
    }
    let most_clips = if full() { usize::MAX } else { 2 };
    for preset in ["lively", "cartoon"] {
        let stages = [stage(&own.rig, preset), stage(&hung.rig, preset)];
        let plain = Recipe { hierarchy: recipe::HierarchySpec::Plain, ..stages[1].recipe().clone() };
        let plain = Stage::new(&hung.rig, &plain).expect("fits");
        for (a, b) in
            own.clips.iter().zip(&hung.clips).filter(|(a, _)| a.span().is_some_and(|(s, e)| e > s)).take(most_clips)
        {
            let [base, result] = apart(&stages[0], &stages[1], [a, b]);
            let [_, torn] = apart(&stages[0], &plain, [a, b]);
            println!(
                "{name} {preset} {}: bases {:.4} %, results {:.3} %, by the file's tree {:.2} %",
                a.name,
                100.0 * base,
                100.0 * result,
                100.0 * torn
            );
            assert!(base < 2e-4, "{name} {preset} {}: bases {base}", a.name);
            assert!(result < 2e-3, "{name} {preset} {}: results {result}", a.name);
        }
    }
}

fn full() -> bool {
    std::env::var_os("SINEW_FULL").is_some()
}

#[test]
fn real_characters_with_feet_and_hands_on_the_root_look_as_before() {
    let subjects: [(&str, &[&str]); 5] = [
        ("Fox.glb", &["b_LeftFoot01_017", "b_RightFoot01_021", "b_LeftHand_011", "b_RightHand_08"]),
        ("CesiumMan.glb", &["leg_joint_L_3", "leg_joint_R_3"]),
        ("RiggedFigure.glb", &["arm_joint_L_3", "arm_joint_R_3"]),
        ("MakeHuman_skirt.glb", &["foot_l", "foot_r", "hand_l", "hand_r"]),
        ("KayKit_Knight.glb", &["foot.l", "foot.r"]),
    ];
    for (file, bones) in subjects {
        let Some(path) = asset(file) else { return };
        let read = RawAsset::open(path).expect("imports");
        let clips = &read.clips[..read.clips.len().min(if full() { 8 } else { 2 })];
        stays_itself(file, &read.raw, clips, bones);
    }
}

#[test]
fn characters_made_in_code_with_feet_and_hands_on_the_root_look_as_before() {
    let subjects: [(&str, &[&str]); 2] = [
        ("dancer", &["foot.L", "foot.R", "hand.L", "hand.R"]),
        ("calf", &["foot.front.L", "foot.front.R", "foot.hind.L", "foot.hind.R"]),
    ];
    for (name, bones) in subjects {
        let zoo = sinew_zoo::build(name).expect("a character");
        stays_itself(name, &zoo.raw, &zoo.clips, bones);
    }
}

/// A piece of skin of its own, carried by a bone of its own on the foot: a buckle.
#[test]
fn a_loose_piece_on_the_root_follows_what_it_touches() {
    let zoo = sinew_zoo::build("dancer").expect("a character");
    let mut raw = zoo.raw;
    let foot = node_named(&raw, "foot.L");
    let (rig, _) = Rig::build(&raw).expect("builds");
    let mut world = WorldPose::default();
    world.compose(rig.skeleton(), &rig.rest_pose());
    let at = world.world_from_bone(rig.skeleton().bone_of_node(foot).expect("a bone"));
    // The lowest point of the skin: on the sole.
    let positions = || raw.meshes[0].primitives.iter().flat_map(|primitive| &primitive.positions);
    let sole = positions().copied().filter(|p| p.x > 0.0).reduce(|a, b| if b.y < a.y { b } else { a }).expect("skin");
    let joint = RawJoint { bone: raw.bones.len(), bone_from_rest: at.inverse() };
    raw.bones.push(RawBone { name: "buckle".into(), parent: Some(foot), local: LocalTransform::Trs(Trs::IDENTITY) });
    raw.skins[0].joints.push(joint);
    let corners = [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];
    let palette = raw.skins[0].joints.len() as u32 - 1;
    let faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    let buckle = RawPrimitive {
        positions: corners.iter().map(|corner| sole + 0.01 * *corner).collect(),
        influences: RawInfluences { per_vertex: 1, joints: vec![palette; 6], weights: vec![1.0; 6] },
        triangles: faces.to_vec(),
        ..RawPrimitive::default()
    };
    let mut mesh = raw.meshes[0].clone();
    mesh.primitives = vec![buckle];
    raw.meshes.push(mesh);
    stays_itself("dancer with a buckle", &raw, &zoo.clips, &["buckle"]);
}

#[test]
fn recipes_name_other_trees() {
    let zoo = sinew_zoo::build("dancer").expect("a character");
    let asset = Asset::from_raw("dancer", zoo.raw, zoo.clips).expect("builds");
    let stage = |text: &str| {
        let recipe = RecipeFile::parse(&format!("version = 1\n{text}")).expect("parses");
        Stage::new(&asset.rig, recipe.recipe())
    };
    let told = stage("[hierarchy]\n\"hand.L\" = \"head\"").expect("fits");
    let name = |bone: BoneId| asset.rig.skeleton().name(bone).to_owned();
    let follows: Vec<_> = told.hierarchy().follows().iter().map(|f| (name(f.bone), name(f.parent))).collect();
    assert_eq!(follows, [("hand.L".to_owned(), "head".to_owned())]);
    let back = stage("hierarchy = { \"hand.L\" = \"forearm.L\" }").expect("fits");
    assert!(back.hierarchy().follows().is_empty());
    let unknown = stage("[hierarchy]\n\"hand.L\" = \"haed\"").expect_err("no such bone").to_string();
    assert!(unknown.contains("did you mean \"head\""), "{unknown}");
    let circular = stage("[hierarchy]\n\"spine\" = \"hand.L\"").expect_err("a cycle").to_string();
    assert!(circular.contains("\"spine\" cannot follow \"hand.L\""), "{circular}");
}

#[test]
fn characters_with_right_trees_are_left_alone() {
    let mut found = Vec::new();
    for path in assets() {
        let read = RawAsset::open(&path).expect("imports");
        let Ok(asset) = read.check() else { continue };
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let skeleton = asset.rig.skeleton();
        for follow in asset.rig.hierarchy().follows() {
            let evidence = match follow.reason {
                Reason::Skin(evidence) | Reason::Touch(evidence) => evidence,
                Reason::Told => continue,
            };
            println!(
                "{name}: {} follows {} (file: {}): share {:.2}, strays {:.4} against {:.4}, {}",
                skeleton.name(follow.bone),
                skeleton.name(follow.parent),
                skeleton.parent(follow.bone).map_or("", |parent| skeleton.name(parent)),
                evidence.share,
                evidence.strays,
                evidence.strays_in_file,
                if matches!(follow.reason, Reason::Skin(_)) { "skin" } else { "touch" },
            );
        }
        if !asset.rig.hierarchy().follows().is_empty() {
            found.push(name);
        }
    }
    let with_ik = [
        "Cow",
        "KnightCharacter",
        "Quaternius_Apatosaurus",
        "Quaternius_Frog",
        "Quaternius_Rat",
        "Quaternius_Velociraptor",
        "RobotExpressive",
    ];
    for name in found {
        assert!(with_ik.contains(&name.as_str()), "{name} has a right tree");
    }
}

/// Edges against the base: largest and 99.9th percentile of how much longer they are.
fn strains(stage: &Stage, clip: &Clip) -> [f64; 2] {
    let Ok(playing) = stage.motion(clip, &MotionSettings::default()) else { return [1.0; 2] };
    let report = playing.report();
    let (start, length) = (report.start, report.last_key - report.start);
    let mut workspace = Workspace::with(Outputs { base: true, ..Outputs::default() });
    let mut strains = Vec::new();
    for k in 0..24 {
        playing.at(start + length * f64::from(k) / 24.0, &mut workspace).deform(&Cpu::serial());
        for t in stage.rig().triangles() {
            for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
                let length =
                    |mesh: &DeformedMesh| f64::from(mesh.positions[a as usize].distance(mesh.positions[b as usize]));
                let base = length(workspace.base());
                if base > 1e-4 * stage.rig().characters()[0].size {
                    strains.push(length(workspace.mesh()) / base);
                }
            }
        }
    }
    strains.sort_by(f64::total_cmp);
    let at = |share: f64| strains.get(((strains.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(1.0);
    [at(1.0), at(0.999)]
}

/// A leg that ends in a foot on the root holds together.
#[test]
fn feet_on_the_root_stay_on_their_legs() {
    for file in [
        "Quaternius_Rat.glb",
        "Quaternius_Velociraptor.glb",
        "Quaternius_Apatosaurus.glb",
        "Quaternius_Frog.glb",
        "Quaternius_Snake.glb",
        "Quaternius_knight/KnightCharacter.gltf",
        "Quaternius_farm/Cow.gltf",
    ] {
        let Some(path) = asset(file) else { return };
        let asset = Asset::open(path).expect("opens");
        let clips = if std::env::var_os("SINEW_FULL").is_some() { asset.clips.len() } else { 2 };
        for preset in ["lively", "cartoon"] {
            let by_body = stage(&asset.rig, preset);
            let recipe = Recipe { hierarchy: recipe::HierarchySpec::Plain, ..by_body.recipe().clone() };
            let by_file = Stage::new(&asset.rig, &recipe).expect("fits");
            let (mut before, mut after) = ([0.0f64; 2], [0.0f64; 2]);
            for clip in asset.clips.iter().take(clips) {
                for (sum, stage) in [(&mut before, &by_file), (&mut after, &by_body)] {
                    let found = strains(stage, clip);
                    *sum = [sum[0].max(found[0]), sum[1].max(found[1])];
                }
            }
            println!(
                "{file} {preset}: largest ×{:.2} → ×{:.2}, 99.9th percentile ×{:.3} → ×{:.3}",
                before[0], after[0], before[1], after[1]
            );
            assert!(after[0] <= before[0] * 1.001 && after[1] <= before[1] * 1.001, "{file} {preset}");
        }
    }
}
