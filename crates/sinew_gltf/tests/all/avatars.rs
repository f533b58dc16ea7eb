//! What avatars tell: parts of the body by VRM's humanoid, and springs, which effects leave alone.

use glam::Vec3;
use serde_json::{Value, json};
use sinew::anatomy::Role;
use sinew::recipe::{EffectSpec, Planted, Sewn};
use sinew::{MotionSettings, Recipe, Stage, Workspace};
use sinew_gltf::{Asset, Document, RawAsset};
use sinew_zoo::ZooCharacter;

/// The dancer under names that say nothing.
fn nameless() -> (Document, Vec<String>) {
    let ZooCharacter { mut raw, clips, .. } = sinew_zoo::build("dancer").expect("built in");
    let names = raw.bones.iter().map(|bone| bone.name.clone()).collect();
    raw.bones.iter_mut().enumerate().for_each(|(n, bone)| bone.name = format!("J{n}"));
    (sinew_gltf::export(&raw, &clips).expect("a file"), names)
}

const PARTS: [(&str, &str, Role); 5] = [
    ("hips", "hips", Role::Spine),
    ("head", "head", Role::Head),
    ("upper_arm.L", "leftUpperArm", Role::Arm),
    ("thigh.R", "rightUpperLeg", Role::Leg),
    ("foot.R", "rightFoot", Role::Foot),
];

/// As an avatar, of version 0.x or 1.0, whose left forearm and all below it swings.
fn avatar(version: u32) -> (Asset, Vec<String>) {
    let (mut document, names) = nameless();
    let node = |name: &str| names.iter().position(|n| n == name).expect("a bone");
    document.json["extensions"] = match version {
        0 => {
            let bones = PARTS.map(|(name, part, _)| json!({"bone": part, "node": node(name)}));
            json!({"VRM": {
                "humanoid": {"humanBones": bones},
                "secondaryAnimation": {"boneGroups": [{"bones": [node("forearm.L")]}]},
                "blendShapeMaster": {"blendShapeGroups": [{"name": "Joy"}]},
            }})
        }
        _ => {
            let bones: serde_json::Map<String, Value> =
                PARTS.iter().map(|(name, part, _)| ((*part).to_owned(), json!({"node": node(name)}))).collect();
            let joints = ["forearm.L", "hand.L"].map(|name| json!({"node": node(name)}));
            json!({
                "VRMC_vrm": {"humanoid": {"humanBones": bones}, "expressions": {"preset": {"happy": {}}}},
                "VRMC_springBone": {"springs": [{"joints": joints}]},
            })
        }
    };
    let asset = RawAsset::from_document("avatar.vrm", document).expect("an avatar").check().expect("a character");
    (asset, names)
}

#[test]
fn humanoids_tell_what_bones_are() {
    for version in [0, 1] {
        let (asset, names) = avatar(version);
        let anatomy = sinew::Anatomy::of(&asset.rig);
        for (name, _, role) in PARTS {
            let node = names.iter().position(|n| n == name).expect("a bone");
            let bone = asset.rig.skeleton().bone_of_node(node).expect("a bone");
            assert_eq!(anatomy.bones()[bone.index()].role, role, "{name} of version {version}");
        }
        assert!(asset.warnings.iter().any(|w| w.code == "springs-kept" && w.message.contains("2 bones")));
    }
}

/// Vertices at some moments of the first clip.
fn played(asset: &Asset, effects: &[EffectSpec]) -> Vec<Vec3> {
    // Where hair is sewn to a head it goes with it, springs or not.
    let alone = Recipe { planted: Planted::None, sewn: Sewn::None, ..Recipe::default() };
    let stage = Stage::new(&asset.rig, &Recipe { effects: effects.to_vec(), ..alone }).expect("fits");
    let playing = stage.motion(&asset.clips[0], &MotionSettings::default()).expect("a motion");
    let mut workspace = Workspace::default();
    [0.2, 0.6, 1.1].iter().flat_map(|&time| playing.frame(time, &mut workspace).positions.clone()).collect()
}

#[test]
fn effects_leave_alone_what_springs_move() {
    let (asset, names) = avatar(1);
    let free = RawAsset::from_document("plain.glb", nameless().0).expect("a file").check().expect("a character");
    let swings =
        |joint: u32| ["forearm.L", "hand.L"].contains(&names[asset.raw.skins[0].joints[joint as usize].bone].as_str());
    let shares: Vec<f32> = (asset.raw.meshes.iter().flat_map(|mesh| &mesh.primitives))
        .flat_map(|primitive| {
            let influences = &primitive.influences;
            let pairs: Vec<_> = influences.joints.iter().zip(&influences.weights).collect();
            let swung = |own: &[(&u32, &f32)]| -> f32 {
                own.iter().filter(|(joint, _)| swings(**joint)).map(|(_, weight)| **weight).sum()
            };
            pairs.chunks(influences.per_vertex).map(swung).collect::<Vec<_>>()
        })
        .collect();
    let effects: Vec<EffectSpec> = sinew::registry::EFFECTS.iter().map(|&effect| EffectSpec::of(effect)).collect();
    let effects: Vec<EffectSpec> = effects.into_iter().filter(|effect| effect.cone.is_none()).collect();
    let (base, with, without) = (played(&asset, &[]), played(&asset, &effects), played(&free, &effects));
    let (mut alone, mut moved) = (0, 0);
    let size = asset.rig.characters()[0].size as f32;
    assert_eq!(base.len() % shares.len(), 0, "one share for each vertex");
    for (n, base) in base.iter().enumerate() {
        let share = shares[n % shares.len()];
        if share > 0.9999 {
            assert!(with[n].distance(*base) < 1e-5 * size, "vertex {n} moves by {}", with[n].distance(*base));
            alone += usize::from(without[n].distance(*base) > 1e-3 * size);
        } else if share == 0.0 {
            // The same but for what knowing the bones changes, such as which of them stand.
            assert!(with[n].distance(without[n]) < 1e-3 * size, "vertex {n}: {} and {}", with[n], without[n]);
            moved += usize::from(with[n].distance(*base) > 1e-3 * size);
        }
    }
    assert!(alone > 10 && moved > 100, "{alone}, {moved}");
}
