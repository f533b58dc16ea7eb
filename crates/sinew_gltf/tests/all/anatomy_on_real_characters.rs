//! What bones are, against labels set by eye, with their names and without, as a table:
//! `cargo test -p sinew_gltf --test all anatomy_on_real_characters -- --nocapture`.

use glam::{DAffine3, DMat3, DVec3, Vec3};
use sinew::anatomy::{Role, Side};
use sinew::pose::LocalTransform;
use sinew::{Anatomy, RawRig, Rig};
use sinew_gltf::Asset;
use sinew_testkit::assets::{asset, folder};

const LABELS: &str = include_str!("../anatomy_labels.txt");

/// File, and the role of each labelled node by name.
fn labels() -> Vec<(String, Vec<(String, Role)>)> {
    let mut found: Vec<(String, Vec<(String, Role)>)> = Vec::new();
    for line in LABELS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(file) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            found.push((file.to_owned(), Vec::new()));
        } else if let Some((role, names)) = line.split_once(':') {
            let role = Role::from_name(role).unwrap_or_else(|| panic!("no role {role}"));
            let (_, list) = found.last_mut().expect("a file first");
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
    for (file, labelled) in labels() {
        let Some(named) = raw(&file) else { return };
        judge(&file, &labelled, &named, &named, &mut scores[0]);
        judge(&file, &labelled, &named, &nameless(&named), &mut scores[1]);
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

const MAPPED: [&str; 5] =
    ["Fox.glb", "KayKit_Knight.glb", "Quaternius_Velociraptor.glb", "Quaternius_Frog.glb", "RobotExpressive.glb"];

#[test]
fn size_changes_nothing() {
    for raw in MAPPED.iter().filter_map(|file| raw(file)) {
        for raw in [nameless(&raw), raw] {
            let (rig, before) = anatomy(&raw);
            let (_, after) = anatomy(&mapped(&raw, DMat3::from_diagonal(DVec3::splat(128.0))));
            assert_eq!(before.bones(), after.bones());
            assert!((0..rig.slots()).all(|slot| before.role_of_point(slot) == after.role_of_point(slot)));
        }
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
                // Names say which side is left; without them the front does.
                let expected = match a.side {
                    Side::Left if !has_names => Side::Right,
                    Side::Right if !has_names => Side::Left,
                    side => side,
                };
                assert_eq!(b.side, expected, "{name}");
            }
        }
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
