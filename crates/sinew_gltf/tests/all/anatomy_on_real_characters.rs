//! What bones are, against labels set by eye, with their names and without, as a table:
//! `cargo test -p sinew_gltf --test all anatomy_on_real_characters -- --nocapture`.

use glam::{DAffine3, DMat3, DVec3, Vec3};
use sinew::anatomy::{Place, Role, Side};
use sinew::maps::RestSurface;
use sinew::pose::LocalTransform;
use sinew::{Anatomy, RawRig, Rig};
use sinew_gltf::Asset;
use sinew_testkit::assets::{asset, folder};
use std::collections::BTreeSet;

const LABELS: &str = include_str!("../anatomy_labels.txt");

/// A file, the role of each labelled node by name, and where parts without bones of their own are: middle and radius, in
/// shares of the box around the character at rest.
#[derive(Default)]
struct Labels {
    file: String,
    bones: Vec<(String, Role)>,
    parts: Vec<(Role, DVec3, f64)>,
}

fn labels() -> Vec<Labels> {
    let mut found: Vec<Labels> = Vec::new();
    for line in LABELS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(file) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            found.push(Labels { file: file.to_owned(), ..Labels::default() });
        } else if let Some((role, place)) = line.strip_prefix("part ").and_then(|line| line.split_once(':')) {
            let role = Role::from_name(role).unwrap_or_else(|| panic!("no role {role}"));
            let numbers: Vec<f64> = place.split_whitespace().map(|number| number.parse().unwrap()).collect();
            let [x, y, z, radius] = numbers[..] else { panic!("{line}: x y z radius") };
            found.last_mut().expect("a file first").parts.push((role, DVec3::new(x, y, z), radius));
        } else if let Some((role, names)) = line.split_once(':') {
            let role = Role::from_name(role).unwrap_or_else(|| panic!("no role {role}"));
            let list = &mut found.last_mut().expect("a file first").bones;
            list.extend(names.split_whitespace().map(|name| (name.to_owned(), role)));
        }
    }
    found
}

fn raw(file: &str) -> Option<RawRig> {
    Some(Asset::open(&asset(file)?).unwrap().raw)
}

fn anatomy(raw: &RawRig) -> (Rig, Anatomy) {
    let (rig, _) = Rig::build(raw).unwrap();
    let anatomy = Anatomy::of(&rig);
    (rig, anatomy)
}

/// The rig with nothing left to read.
fn nameless(raw: &RawRig) -> RawRig {
    let mut raw = raw.clone();
    raw.bones.iter_mut().enumerate().for_each(|(node, bone)| bone.name = format!("bone_{node}"));
    for (index, mesh) in raw.meshes.iter_mut().enumerate() {
        mesh.name = format!("mesh_{index}");
        mesh.primitives.iter_mut().for_each(|primitive| primitive.material = "material".into());
    }
    raw
}

/// Per role: right, found, labelled.
type Score = [[usize; 3]; Role::ALL.len()];

fn judge(file: &str, labelled: &[(String, Role)], named: &RawRig, judged: &RawRig, score: &mut Score) {
    let (rig, anatomy) = anatomy(judged);
    for (name, _) in labelled {
        assert!(named.bones.iter().any(|bone| bone.name == *name), "{file}: no node {name}");
    }
    for (node, bone) in named.bones.iter().enumerate() {
        let Some(id) = rig.skeleton().bone_of_node(node) else { continue };
        let found = anatomy.bone(id);
        assert!((0.0..=1.0).contains(&found.confidence) && !found.reason.is_empty(), "{file}: {}", bone.name);
        let truth = labelled.iter().find(|(name, _)| *name == bone.name).map(|&(_, role)| role);
        match truth {
            Some(truth) => {
                score[truth as usize][2] += 1;
                score[found.role as usize][1] += 1;
                score[truth as usize][0] += usize::from(found.role == truth);
                if found.role != truth && std::env::var_os("SINEW_FULL").is_some() {
                    println!("{file}: {} is {truth}, found {} ({})", bone.name, found.role, found.reason);
                }
            }
            None if matches!(found.role, Role::Prop | Role::Eye) => score[found.role as usize][1] += 1,
            None => {}
        }
    }
}

#[test]
fn bones_are_what_they_look_like() {
    if folder().is_none() {
        return;
    }
    let mut scores: [Score; 2] = [[[0; 3]; Role::ALL.len()]; 2];
    for Labels { file, bones, .. } in labels() {
        let Some(named) = raw(&file) else { return };
        judge(&file, &bones, &named, &named, &mut scores[0]);
        judge(&file, &bones, &named, &nameless(&named), &mut scores[1]);
    }
    let percent = |part: usize, whole: usize| match whole {
        0 => "      –".to_owned(),
        _ => format!("{:5.1} %", 100.0 * part as f64 / whole as f64),
    };
    println!("{:<12}{:>8}   precision and recall with names   without names", "role", "bones");
    for role in Role::ALL {
        let [[right, found, labelled], [bare_right, bare_found, _]] = scores.map(|score| score[role as usize]);
        if labelled + found + bare_found > 0 {
            let (precision, recall) = (percent(right, found), percent(right, labelled));
            let (bare_precision, bare_recall) = (percent(bare_right, bare_found), percent(bare_right, labelled));
            println!("{role:<12}{labelled:>8}   {precision} {recall}                   {bare_precision} {bare_recall}");
        }
    }
    let [all, bare] = scores.map(|score| {
        let sum = |column: usize| score.iter().map(|row| row[column]).sum::<usize>();
        (sum(0), sum(2))
    });
    println!("all: {} of the labelled bones with names, {} without", percent(all.0, all.1), percent(bare.0, bare.1));
    for role in [Role::Prop, Role::Eye] {
        for score in &scores {
            let [right, found, _] = score[role as usize];
            assert!(right as f64 >= 0.95 * found as f64, "{role}: {right} of {found} are right");
        }
        let [right, _, labelled] = scores[0][role as usize];
        assert!(labelled > 0 && right as f64 >= 0.9 * labelled as f64, "{role}: {right} of {labelled} were found");
    }
    assert!(all.0 as f64 >= 0.95 * all.1 as f64, "{} of {} with names", all.0, all.1);
    assert!(bare.0 as f64 >= 0.75 * bare.1 as f64, "{} of {} without names", bare.0, bare.1);
}

/// Ears and eyes that no bone of their own moves: role, middle in shares of the box at rest.
fn parts(rig: &Rig, anatomy: &Anatomy) -> Vec<(Role, DVec3)> {
    let surface = RestSurface::new(rig);
    let points = surface.points();
    let skin: Vec<usize> = (0..rig.slots())
        .filter(|&slot| anatomy.piece_of_point(slot).is_some_and(|piece| !anatomy.pieces()[piece].rider))
        .collect();
    let (low, high) = skin
        .iter()
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), &slot| (a.min(points[slot]), b.max(points[slot])));
    let middle = |slots: &[usize]| {
        let sum: DVec3 = slots.iter().map(|&slot| points[slot]).sum();
        (sum / slots.len() as f64 - low) / (high - low)
    };
    let of_places = anatomy.places().iter().map(|place| {
        let slots: Vec<usize> = place.points.iter().map(|&slot| slot as usize).collect();
        assert!(slots.iter().all(|&slot| anatomy.role_of_point(slot) == place.role));
        (place.role, middle(&slots))
    });
    let of_pieces = anatomy.pieces().iter().enumerate().filter_map(|(index, piece)| {
        let role = piece.role.filter(|&role| role == Role::Eye && !piece.rider)?;
        let mine = |slot: &usize| anatomy.piece_of_point(*slot) == Some(index);
        let slots: Vec<usize> = skin.iter().copied().filter(mine).collect();
        Some((role, middle(&slots)))
    });
    of_places.chain(of_pieces).collect()
}

/// Every ear and eye found is where one was seen, and nearly all that were seen are found.
#[test]
fn parts_without_bones_are_where_they_look_to_be() {
    if folder().is_none() {
        return;
    }
    println!("{:<8}{:>8}   precision and recall with names   without names", "part", "seen");
    for role in [Role::Ear, Role::Eye] {
        let (mut seen, mut score) = (0, [[0usize; 2]; 2]);
        for Labels { file, parts: labelled, .. } in labels() {
            let Some(named) = raw(&file) else { return };
            let labelled: Vec<_> = labelled.into_iter().filter(|part| part.0 == role).collect();
            seen += labelled.len();
            for (score, judged) in score.iter_mut().zip([named.clone(), nameless(&named)]) {
                let (rig, anatomy) = anatomy(&judged);
                for (_, middle) in parts(&rig, &anatomy).into_iter().filter(|part| part.0 == role) {
                    let right = labelled.iter().any(|&(_, place, radius)| place.distance(middle) < radius);
                    score[0] += usize::from(right);
                    score[1] += 1;
                    if !right {
                        println!("{file}: no {role} at {middle:.3}");
                    }
                }
            }
        }
        let [[right, found], [bare_right, bare_found]] = score;
        println!(
            "{role:<8}{seen:>8}   {right} of {found}, {right} of {seen}   {bare_right} of {bare_found}, {bare_right} of {seen}"
        );
        for [right, found] in score {
            assert!(right as f64 >= 0.95 * found as f64, "{role}: {right} of {found} are right");
        }
        assert!(seen > 0 && right as f64 >= 0.8 * seen as f64, "{role}: {right} of {seen} were found");
    }
}

/// The same rig after a linear map of space.
fn mapped(raw: &RawRig, map: DMat3) -> RawRig {
    let map = DAffine3::from_mat3(map);
    let inverse = map.inverse();
    let mut raw = raw.clone();
    for bone in &mut raw.bones {
        bone.local = LocalTransform::Matrix(map * bone.local.to_affine() * inverse);
    }
    for joint in raw.skins.iter_mut().flat_map(|skin| &mut skin.joints) {
        joint.bone_from_rest = map * joint.bone_from_rest * inverse;
    }
    let turned = map.matrix3.determinant() < 0.0;
    for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        let place = |p: &mut Vec3| *p = map.transform_vector3(p.as_dvec3()).as_vec3();
        primitive.positions.iter_mut().for_each(place);
        (primitive.normals, primitive.tangents) = (None, None);
        primitive.morphs.iter_mut().for_each(|morph| morph.positions.iter_mut().flatten().for_each(place));
        if turned {
            primitive.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        }
    }
    raw
}

const MAPPED: [&str; 6] = [
    "Fox.glb",
    "Quaternius_farm/Cow.gltf",
    "KayKit_Knight.glb",
    "Quaternius_Velociraptor.glb",
    "Quaternius_Frog.glb",
    "RobotExpressive.glb",
];

#[test]
fn size_changes_nothing() {
    for raw in MAPPED.iter().filter_map(|file| raw(file)) {
        for raw in [nameless(&raw), raw] {
            let (rig, before) = anatomy(&raw);
            let (_, after) = anatomy(&mapped(&raw, DMat3::from_diagonal(DVec3::splat(128.0))));
            assert_eq!(before.bones(), after.bones());
            assert_eq!(before.places(), after.places());
            assert!((0..rig.slots()).all(|slot| before.role_of_point(slot) == after.role_of_point(slot)));
        }
    }
}

/// Names say which side is left; without them the front does.
fn mirrored(side: Side, has_names: bool) -> Side {
    match side {
        Side::Left if !has_names => Side::Right,
        Side::Right if !has_names => Side::Left,
        side => side,
    }
}

#[test]
fn a_mirrored_rig_has_mirrored_findings() {
    let mirror = DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0));
    for raw in MAPPED.iter().filter_map(|file| raw(file)) {
        for (raw, has_names) in [(nameless(&raw), false), (raw, true)] {
            let (rig, before) = anatomy(&raw);
            let (_, after) = anatomy(&mapped(&raw, mirror));
            for bone in rig.skeleton().bones() {
                let (a, b) = (before.bone(bone), after.bone(bone));
                let name = rig.skeleton().name(bone);
                assert_eq!((a.role, a.segment), (b.role, b.segment), "{name}");
                assert_eq!(b.side, mirrored(a.side, has_names), "{name}");
            }
            // Mirrored space puts the same points first on the other side.
            let told = |places: &[Place]| places.iter().map(|p| (p.role, p.points.clone())).collect::<BTreeSet<_>>();
            assert_eq!(told(before.places()), told(after.places()));
            let count = |side: Side| before.places().iter().filter(|place| place.side == side).count();
            assert_eq!(count(Side::Left), count(Side::Right));
            for place in before.places() {
                let other = after.places().iter().find(|other| other.points == place.points).unwrap();
                assert_eq!(other.side, mirrored(place.side, has_names));
            }
        }
    }
}

/// The words of a human rig in the order of [`CONVENTIONS`]' columns.
const CONVENTIONS: [[&str; 6]; 20] = [
    ["hips", "mixamorig:Hips", "DEF-spine", "pelvis", "J_Bip_C_Hips", "Bip01 Pelvis"],
    ["spine", "mixamorig:Spine", "DEF-spine.001", "spine_01", "J_Bip_C_Spine", "Bip01 Spine"],
    ["chest", "mixamorig:Spine1", "DEF-spine.003", "spine_02", "J_Bip_C_Chest", "Bip01 Spine1"],
    ["head", "mixamorig:Head", "DEF-spine.006.head", "head", "J_Bip_C_Head", "Bip01 Head"],
    ["upperarm.l", "mixamorig:LeftArm", "DEF-upper_arm.L", "upperarm_l", "J_Bip_L_UpperArm", "Bip01 L UpperArm"],
    ["lowerarm.l", "mixamorig:LeftForeArm", "DEF-forearm.L", "lowerarm_l", "J_Bip_L_LowerArm", "Bip01 L Forearm"],
    ["wrist.l", "mixamorig:LeftHand", "DEF-hand.L", "hand_l", "J_Bip_L_Hand", "Bip01 L Hand"],
    ["hand.l", "mixamorig:LeftHandMiddle1", "DEF-f_middle.01.L", "middle_01_l", "J_Bip_L_Middle1", "Bip01 L Finger0"],
    ["upperarm.r", "mixamorig:RightArm", "DEF-upper_arm.R", "upperarm_r", "J_Bip_R_UpperArm", "Bip01 R UpperArm"],
    ["lowerarm.r", "mixamorig:RightForeArm", "DEF-forearm.R", "lowerarm_r", "J_Bip_R_LowerArm", "Bip01 R Forearm"],
    ["wrist.r", "mixamorig:RightHand", "DEF-hand.R", "hand_r", "J_Bip_R_Hand", "Bip01 R Hand"],
    ["hand.r", "mixamorig:RightHandMiddle1", "DEF-f_middle.01.R", "middle_01_r", "J_Bip_R_Middle1", "Bip01 R Finger0"],
    ["upperleg.l", "mixamorig:LeftUpLeg", "DEF-thigh.L", "thigh_l", "J_Bip_L_UpperLeg", "Bip01 L Thigh"],
    ["lowerleg.l", "mixamorig:LeftLeg", "DEF-shin.L", "calf_l", "J_Bip_L_LowerLeg", "Bip01 L Calf"],
    ["foot.l", "mixamorig:LeftFoot", "DEF-foot.L", "foot_l", "J_Bip_L_Foot", "Bip01 L Foot"],
    ["toes.l", "mixamorig:LeftToeBase", "DEF-toe.L", "ball_l", "J_Bip_L_ToeBase", "Bip01 L Toe0"],
    ["upperleg.r", "mixamorig:RightUpLeg", "DEF-thigh.R", "thigh_r", "J_Bip_R_UpperLeg", "Bip01 R Thigh"],
    ["lowerleg.r", "mixamorig:RightLeg", "DEF-shin.R", "calf_r", "J_Bip_R_LowerLeg", "Bip01 R Calf"],
    ["foot.r", "mixamorig:RightFoot", "DEF-foot.R", "foot_r", "J_Bip_R_Foot", "Bip01 R Foot"],
    ["toes.r", "mixamorig:RightToeBase", "DEF-toe.R", "ball_r", "J_Bip_R_ToeBase", "Bip01 R Toe0"],
];

/// The same man in the words of Mixamo, Rigify, Unreal, VRM and Bip01 is the same man.
#[test]
fn other_names_for_the_same_bones_change_nothing() {
    let Some(named) = raw("KayKit_Barbarian.glb") else { return };
    let (rig, before) = anatomy(&named);
    for convention in 1..CONVENTIONS[0].len() {
        let mut renamed = named.clone();
        for bone in &mut renamed.bones {
            if let Some(words) = CONVENTIONS.iter().find(|words| words[0] == bone.name) {
                bone.name = words[convention].to_owned();
            }
        }
        let (_, after) = anatomy(&renamed);
        for bone in rig.skeleton().bones() {
            let (a, b) = (before.bone(bone), after.bone(bone));
            assert_eq!((a.role, a.side), (b.role, b.side), "{}", renamed.bones[rig.skeleton().node(bone)].name);
        }
        assert_eq!(before.points(), after.points());
    }
}

/// The same triangles from last to first.
fn reordered(raw: &RawRig) -> RawRig {
    let mut raw = raw.clone();
    for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        primitive.triangles.reverse();
    }
    raw
}

#[test]
fn the_order_of_triangles_changes_nothing() {
    for raw in MAPPED.iter().filter_map(|file| raw(file)) {
        let (_, before) = anatomy(&raw);
        let (_, after) = anatomy(&reordered(&raw));
        assert_eq!(before.bones(), after.bones());
        assert_eq!(before.points(), after.points());
    }
}

#[test]
fn roles_can_be_set_by_hand() {
    let Some(raw) = raw("Fox.glb") else { return };
    let (rig, anatomy) = anatomy(&raw);
    let (set, matched) = anatomy.clone().with_role(&rig, "b_Tail*", Role::Prop);
    assert_eq!(matched, 3);
    for slot in 0..rig.slots() {
        match anatomy.role_of_point(slot) {
            Role::Tail => assert_eq!(set.role_of_point(slot), Role::Prop),
            _ => assert_ne!(set.role_of_point(slot), Role::Tail),
        }
    }
    assert!(!anatomy.places().is_empty());
    let (set, _) = anatomy.clone().with_role(&rig, "b_Head*", Role::Head);
    assert!(set.places().is_empty() && !set.points().contains(&Role::Ear));
    assert_eq!(anatomy.with_role(&rig, "nobody", Role::Ear).1, 0);
}

/// What cannot be understood is unknown, with a reason, and no error.
#[test]
fn odd_rigs_are_unknown() {
    for file in ["RiggedSimple.glb", "SimpleSkin.gltf", "asset_generator/Animation_Skin_01.gltf"] {
        let Some(raw) = raw(file) else { return };
        let (_, anatomy) = anatomy(&raw);
        for found in anatomy.bones() {
            assert!(matches!(found.role, Role::Unknown | Role::Helper), "{file}: {found:?}");
            assert!(!found.reason.is_empty());
        }
    }
}
