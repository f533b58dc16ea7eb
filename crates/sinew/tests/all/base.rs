//! Oracles of base skinning (Kavan 2008; the blend formulas), on tubes built in code.

use crate::common::{Subject, based, largest_difference};
use glam::{DAffine3, DQuat, DVec3, Vec3};
use sinew::raw::*;
use sinew::recipe::BaseSpec;
use sinew::*;

/// Two bones on the y axis, the second at the middle; `w₂ = clamp((y + 2)/4)` on a tube from −3 to 3 of radius 1.
fn two_bone_tube(rings: usize) -> RawRig {
    let around = 16;
    let mut primitive = RawPrimitive { color: [1.0; 4], ..RawPrimitive::default() };
    primitive.influences.per_vertex = 2;
    for ring in 0..rings {
        let y = -3.0 + 6.0 * ring as f64 / (rings - 1) as f64;
        let w = ((y + 2.0) / 4.0).clamp(0.0, 1.0);
        for j in 0..around {
            let (sin, cos) = (std::f64::consts::TAU * j as f64 / around as f64).sin_cos();
            primitive.positions.push(DVec3::new(cos, y, sin).as_vec3());
            primitive.influences.joints.extend([0, 1]);
            primitive.influences.weights.extend([1.0 - w as f32, w as f32]);
        }
    }
    for ring in 0..rings - 1 {
        for j in 0..around {
            let at = |ring: usize, j: usize| (ring * around + j % around) as u32;
            let [a, b, c, d] = [at(ring, j), at(ring + 1, j), at(ring + 1, j + 1), at(ring, j + 1)];
            primitive.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    let bone = |parent| RawBone { name: String::new(), parent, local: LocalTransform::Trs(Trs::IDENTITY) };
    let joint = |bone| RawJoint { bone, bone_from_rest: DAffine3::IDENTITY };
    RawRig {
        bones: vec![bone(None), bone(Some(0)), bone(None)],
        skins: vec![RawSkin { name: String::new(), joints: vec![joint(0), joint(1)] }],
        meshes: vec![RawMesh {
            name: "tube".to_owned(),
            node: 2,
            binding: RawBinding::Skin(0),
            primitives: vec![primitive],
            morph_weights: Vec::new(),
        }],
        animated: vec![0, 1],
    }
}

fn posed(subject: &Subject, base: BaseSpec, locals: &[(usize, Trs)]) -> DeformedMesh {
    let stage = subject.stage(&Recipe { base, ..Recipe::default() });
    let mut pose = subject.rig.rest_pose();
    for &(node, trs) in locals {
        pose.locals[subject.rig.skeleton().bone_of_node(node).unwrap().index()] = LocalTransform::Trs(trs);
    }
    subject.with(&stage, &pose, &stage.at_rest(), &Cpu::serial())
}

fn turned(axis: DVec3, angle: f64) -> Trs {
    Trs { rotation: DQuat::from_axis_angle(axis, angle), ..Trs::IDENTITY }
}

fn bases() -> [BaseSpec; 5] {
    [
        BaseSpec::default(),
        based("dqs", &[]),
        based("dqs", &[("pivot", 1.0)]),
        based("blend", &[("factor", 0.37)]),
        based("rigid", &[]),
    ]
}

#[test]
fn rigid_motion_is_exact_to_rounding_in_every_base() {
    let subject = Subject::new(&two_bone_tube(16), Vec::new());
    let rest = subject.rig.rest();
    let motion = Trs {
        translation: DVec3::new(3.0, -7.0, 2.0),
        rotation: DQuat::from_scaled_axis(DVec3::new(1.0, 2.0, -0.5)),
        scale: DVec3::ONE,
    };
    for base in bases() {
        let out = posed(&subject, base.clone(), &[(0, motion)]);
        for (vertex, &slot) in subject.rig.point_of_vertex().iter().enumerate() {
            let truth = motion.to_affine().transform_point3(rest.get(slot as usize).as_dvec3());
            assert!(out.world_position(0, vertex).distance(truth) < 1e-6 * subject.size(), "{base:?}");
        }
    }
}

#[test]
fn a_twist_shrinks_lbs_by_the_formula_and_leaves_dqs_alone() {
    // An odd ring count has a ring at w = ½, where LBS collapses at 180°.
    let subject = Subject::new(&two_bone_tube(17), Vec::new());
    for degrees in [30.0f64, 90.0, 150.0, 180.0] {
        let angle = degrees.to_radians();
        let lbs = posed(&subject, BaseSpec::default(), &[(1, turned(DVec3::Y, angle))]);
        let dqs = posed(&subject, based("dqs", &[]), &[(1, turned(DVec3::Y, angle))]);
        for vertex in 0..lbs.positions.len() {
            let y = f64::from(lbs.positions[vertex].y);
            let w = ((y + 2.0) / 4.0).clamp(0.0, 1.0);
            let square = |p: Vec3| f64::from(p.x).powi(2) + f64::from(p.z).powi(2);
            let formula = 1.0 - 2.0 * w * (1.0 - w) * (1.0 - angle.cos());
            assert!((square(lbs.positions[vertex]) - formula).abs() < 2e-6, "{degrees}° at w = {w}");
            assert!((square(dqs.positions[vertex]).sqrt() - 1.0).abs() < 0.01, "{degrees}° at w = {w}");
        }
    }
}

#[test]
fn the_sign_of_input_quaternions_changes_nothing() {
    let subject = Subject::new(&two_bone_tube(16), Vec::new());
    let (root, child) = (turned(DVec3::new(0.6, 0.0, 0.8), 2.9), turned(DVec3::Z, 1.2));
    let flip = |trs: Trs| Trs { rotation: -trs.rotation, ..trs };
    for base in bases() {
        let plain = posed(&subject, base.clone(), &[(0, root), (1, child)]);
        for locals in
            [[(0, flip(root)), (1, child)], [(0, root), (1, flip(child))], [(0, flip(root)), (1, flip(child))]]
        {
            assert!(largest_difference(&plain, &posed(&subject, base.clone(), &locals)) < 1e-6 * subject.size());
        }
    }
}

#[test]
fn bases_agree_where_one_bone_has_all_the_weight() {
    let subject = Subject::new(&two_bone_tube(16), Vec::new());
    // Scale, shear and a mirror go through the stretch that is blended beside the rotations.
    let child = Trs {
        translation: DVec3::new(0.3, 1.0, 0.0),
        rotation: DQuat::from_scaled_axis(DVec3::new(0.4, -1.0, 2.0)),
        scale: DVec3::new(1.5, -0.5, 2.0),
    };
    let root = Trs { scale: DVec3::new(1.0, 2.0, 0.7), ..turned(DVec3::X, 0.8) };
    let lbs = posed(&subject, BaseSpec::default(), &[(0, root), (1, child)]);
    for base in bases() {
        let out = posed(&subject, base.clone(), &[(0, root), (1, child)]);
        let mut seen = 0;
        for (vertex, &slot) in subject.rig.point_of_vertex().iter().enumerate() {
            if subject.rig.rest().get(slot as usize).y.abs() >= 2.0 {
                let apart = out.positions[vertex].distance(lbs.positions[vertex]);
                assert!(f64::from(apart) < 2e-6 * subject.size(), "{base:?}: {apart}");
                assert!(out.normals[vertex].distance(lbs.normals[vertex]) < 1e-5, "{base:?}");
                seen += 1;
            }
        }
        assert!(seen > 50);
    }
}

#[test]
fn the_blend_runs_from_lbs_to_dqs() {
    let subject = Subject::new(&two_bone_tube(16), Vec::new());
    let bend = [(1, turned(DVec3::X, 1.5))];
    let blend = |factor| posed(&subject, based("blend", &[("factor", factor)]), &bend);
    let (lbs, dqs) = (posed(&subject, BaseSpec::default(), &bend), posed(&subject, based("dqs", &[]), &bend));
    assert!(largest_difference(&lbs, &dqs) > 0.01 * subject.size());
    assert!(largest_difference(&blend(0.0), &lbs) < 1e-6 * subject.size());
    assert!(largest_difference(&blend(1.0), &dqs) < 1e-6 * subject.size());
}

#[test]
fn ten_kilometres_away_nothing_is_lost() {
    let subject = Subject::new(&two_bone_tube(16), Vec::new());
    let bend = turned(DVec3::X, 1.1);
    let near = posed(&subject, BaseSpec::default(), &[(1, bend)]);
    let away = Trs::from_translation(DVec3::new(10_000.125, -37.0, 123_456.5));
    let far = posed(&subject, BaseSpec::default(), &[(0, away), (1, bend)]);
    for vertex in 0..near.positions.len() {
        let back = far.world_position(0, vertex) - away.translation;
        assert!(back.distance(near.world_position(0, vertex)) < 2e-6 * subject.size());
    }
}

#[test]
fn a_mesh_modelled_far_from_its_origin_keeps_its_shape() {
    let raw = two_bone_tube(16);
    let mut shifted = raw.clone();
    let offset = Vec3::new(4096.0, 0.0, -2048.0);
    for position in &mut shifted.meshes[0].primitives[0].positions {
        // Rounded as a file would hold it; both rigs hold the same numbers.
        *position = (*position + offset) - offset;
    }
    let near = Subject::new(&shifted, Vec::new());
    for position in &mut shifted.meshes[0].primitives[0].positions {
        *position += offset;
    }
    for joint in &mut shifted.skins[0].joints {
        joint.bone_from_rest = DAffine3::from_translation(-offset.as_dvec3());
    }
    let far = Subject::new(&shifted, Vec::new());
    let bend = [(1, turned(DVec3::X, 1.1))];
    let (a, b) = (posed(&near, BaseSpec::default(), &bend), posed(&far, BaseSpec::default(), &bend));
    assert!(largest_difference(&a, &b) < 2e-6 * near.size());
}

#[test]
fn morph_targets_come_before_skinning() {
    let mut raw = two_bone_tube(16);
    let count = raw.meshes[0].primitives[0].positions.len();
    let delta = Vec3::new(0.5, 0.25, -1.0);
    let morph = RawMorph { positions: Some(vec![delta; count]), ..RawMorph::default() };
    raw.meshes[0].primitives[0].morphs.push(morph);
    raw.meshes[0].morph_weights = vec![0.5];
    let subject = Subject::new(&raw, Vec::new());
    let mut moved = two_bone_tube(16);
    for position in &mut moved.meshes[0].primitives[0].positions {
        *position += delta * 0.5;
    }
    let reference = Subject::new(&moved, Vec::new());
    let bend = [(1, turned(DVec3::X, 1.1))];
    let (a, b) = (posed(&subject, BaseSpec::default(), &bend), posed(&reference, BaseSpec::default(), &bend));
    assert!(largest_difference(&a, &b) < 2e-6 * subject.size());
}

#[test]
fn ten_thousand_joints_in_a_chain_stay_small_and_quick() {
    let count = 10_000;
    let bones = (0..count)
        .map(|i: usize| RawBone {
            name: format!("b{i}"),
            parent: i.checked_sub(1),
            local: LocalTransform::Trs(Trs::from_translation(DVec3::Y * 0.001)),
        })
        .collect();
    let joints = (0..count)
        .map(|bone| RawJoint {
            bone,
            bone_from_rest: DAffine3::from_translation(DVec3::Y * (-0.001 * (bone + 1) as f64)),
        })
        .collect();
    let mut primitive = RawPrimitive::default();
    primitive.influences.per_vertex = 4;
    for vertex in 0..30_000u32 {
        let bone = (vertex / 3).min(count as u32 - 4);
        primitive.positions.push(Vec3::new((vertex % 3) as f32 * 0.1, bone as f32 * 0.001, (vertex % 2) as f32));
        primitive.influences.joints.extend([bone, bone + 1, bone + 2, bone + 3]);
        primitive.influences.weights.extend([0.25; 4]);
    }
    primitive.triangles = (0..29_998).map(|v| [v, v + 1, v + 2]).collect();
    let raw = RawRig {
        bones,
        skins: vec![RawSkin { name: String::new(), joints }],
        meshes: vec![RawMesh {
            name: String::new(),
            node: 0,
            binding: RawBinding::Skin(0),
            primitives: vec![primitive],
            morph_weights: Vec::new(),
        }],
        animated: vec![0],
    };
    let (rig, _) = Rig::build(&raw).unwrap();
    // A weight for every vertex and every bone above it would be 600 MB.
    assert!(rig.memory() < 10_000_000, "{} bytes", rig.memory());
}

#[test]
fn two_characters_far_apart_and_riders() {
    let mut raw = two_bone_tube(16);
    let other = two_bone_tube(16);
    let shift = raw.bones.len();
    raw.bones.extend(other.bones.iter().cloned().map(|mut bone| {
        bone.parent = bone.parent.map(|p| p + shift);
        bone
    }));
    raw.bones[shift].local = LocalTransform::Trs(Trs::from_translation(DVec3::X * 50_000.0));
    let mut skin = other.skins[0].clone();
    skin.joints.iter_mut().for_each(|joint| joint.bone += shift);
    raw.skins.push(skin);
    let mut mesh = other.meshes[0].clone();
    (mesh.node, mesh.binding) = (shift + 2, RawBinding::Skin(1));
    raw.meshes.push(mesh);
    // A sword in the first one's hand.
    let mut sword = other.meshes[0].clone();
    (sword.node, sword.binding) = (1, RawBinding::Node);
    sword.primitives[0].influences = RawInfluences::default();
    raw.meshes.push(sword);
    let subject = Subject::new(&raw, Vec::new());
    assert_eq!(subject.rig.characters().len(), 2);
    assert_eq!(subject.rig.parts().iter().map(|p| p.character).collect::<Vec<_>>(), [0, 1, 0]);
    assert!((subject.rig.characters()[1].size - subject.rig.characters()[0].size).abs() < 1e-9);
    let out = posed(&subject, BaseSpec::default(), &[(1, turned(DVec3::Z, 0.5))]);
    let sword = &subject.rig.parts()[2];
    for (offset, vertex) in sword.primitives[0].vertices.clone().enumerate() {
        let rest = other.meshes[0].primitives[0].positions[offset].as_dvec3();
        let truth = DQuat::from_rotation_z(0.5) * rest;
        assert!(out.world_position(0, vertex).distance(truth) < 1e-6 * subject.size());
    }
    let second = &subject.rig.parts()[1];
    for (offset, vertex) in second.primitives[0].vertices.clone().enumerate() {
        let rest = other.meshes[0].primitives[0].positions[offset].as_dvec3();
        assert!(out.world_position(1, vertex).distance(rest + DVec3::X * 50_000.0) < 1e-6 * subject.size());
    }
}
