//! Rigs made in code, written and read back.

use glam::{DAffine3, DQuat, DVec3, Quat, Vec3, Vec4};
use sinew::clip::{MorphCurve, Track};
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawMorph, RawPrimitive, RawRig, RawSkin};
use sinew::{Clip, Curve, Interpolation, LocalTransform, Trs};
use sinew_gltf::{RawAsset, export};

/// Pairs with weight, sorted: order and padding do not count.
fn pairs(influences: &RawInfluences) -> Vec<Vec<(u32, u32)>> {
    let vertices = influences.weights.len() / influences.per_vertex.max(1);
    let pair = |n: usize| (influences.joints[n], influences.weights[n].to_bits());
    (0..vertices)
        .map(|vertex| {
            let slots = vertex * influences.per_vertex..(vertex + 1) * influences.per_vertex;
            let mut pairs: Vec<_> = slots.filter(|&n| influences.weights[n] != 0.0).map(pair).collect();
            pairs.sort_unstable();
            pairs
        })
        .collect()
}

fn rounded(affine: DAffine3) -> [f32; 12] {
    affine.to_cols_array().map(|x| x as f32)
}

fn same_curve<T: PartialEq + std::fmt::Debug + sinew::clip::CurveValue>(
    a: &Option<Curve<T>>,
    b: &Option<Curve<T>>,
    what: &str,
) {
    let (Some(a), Some(b)) = (a, b) else { return assert_eq!(a.is_some(), b.is_some(), "{what}") };
    assert_eq!(a.interpolation(), b.interpolation(), "{what}");
    let times = |curve: &Curve<T>| curve.times().iter().map(|&time| time as f32).collect::<Vec<_>>();
    assert_eq!(times(a), times(b), "{what}");
    for key in 0..a.times().len() {
        assert_eq!(a.key_value(key), b.key_value(key), "{what}");
        assert_eq!(a.key_tangents(key), b.key_tangents(key), "{what}");
    }
}

/// Writes, reads, compares; `is_strict`: everything imported was there before.
fn round_trip(raw: &RawRig, clips: &[Clip], what: &str) {
    let bytes = export(raw, clips).unwrap_or_else(|e| panic!("{what}: {e}")).to_glb().expect("writable");
    let found = RawAsset::from_slice(what, &bytes).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.warnings, [], "{what}");
    assert_eq!(found.raw.bones.len(), raw.bones.len());
    for (a, b) in raw.bones.iter().zip(&found.raw.bones) {
        assert_eq!((&a.name, a.parent), (&b.name, b.parent), "{what}");
        let gap = (a.local.to_affine().matrix3 - b.local.to_affine().matrix3).to_cols_array();
        assert!(gap.iter().all(|x| x.abs() < 1e-15), "{what}: {gap:?}");
        assert_eq!(a.local.to_affine().translation, b.local.to_affine().translation, "{what}");
    }
    assert_eq!(found.raw.skins.len(), raw.skins.len());
    for (a, b) in raw.skins.iter().zip(&found.raw.skins) {
        assert_eq!(a.name, b.name);
        let joints = |s: &RawSkin| s.joints.iter().map(|j| (j.bone, rounded(j.bone_from_rest))).collect::<Vec<_>>();
        assert_eq!(joints(a), joints(b), "{what}");
    }
    assert_eq!(found.raw.meshes.len(), raw.meshes.len());
    for (a, b) in raw.meshes.iter().zip(&found.raw.meshes) {
        assert_eq!((&a.name, a.node, a.binding, &a.morph_weights), (&b.name, b.node, b.binding, &b.morph_weights));
        for (a, b) in a.primitives.iter().zip(&b.primitives) {
            assert_eq!(a.positions, b.positions, "{what}");
            assert_eq!(a.normals, b.normals, "{what}");
            assert_eq!(a.tangents, b.tangents, "{what}");
            assert_eq!(a.triangles, b.triangles, "{what}");
            assert_eq!(a.maps, b.maps, "{what}");
            assert_eq!(a.color, b.color, "{what}");
            assert_eq!(pairs(&a.influences), pairs(&b.influences), "{what}");
            assert_eq!(a.morphs.len(), b.morphs.len(), "{what}");
            for (m, n) in a.morphs.iter().zip(&b.morphs) {
                let zeros = vec![Vec3::ZERO; a.positions.len()];
                assert_eq!(m.positions.as_ref().unwrap_or(&zeros), n.positions.as_ref().unwrap_or(&zeros), "{what}");
                assert_eq!((&m.normals, &m.tangents), (&n.normals, &n.tangents), "{what}");
            }
        }
    }
    assert_eq!(found.clips.len(), clips.len());
    for (a, b) in clips.iter().zip(&found.clips) {
        assert_eq!(a.name, b.name);
        assert_eq!(a.tracks.len(), b.tracks.len());
        for (a, b) in a.tracks.iter().zip(&b.tracks) {
            assert_eq!(a.node, b.node);
            same_curve(&a.translation, &b.translation, what);
            same_curve(&a.rotation, &b.rotation, what);
            same_curve(&a.scale, &b.scale, what);
            assert_eq!(a.morph, b.morph, "{what}");
        }
    }
}

#[test]
fn every_built_in_character() {
    for entry in sinew_zoo::names() {
        let character = sinew_zoo::build(entry.name).expect("built in");
        round_trip(&character.raw, &character.clips, entry.name);
    }
}

/// Everything a rig can hold, once.
fn full() -> (RawRig, Vec<Clip>) {
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(0.1, 0.2, -0.3)];
    let morphs = vec![
        RawMorph {
            positions: Some(vec![Vec3::Z; 4]),
            normals: Some(vec![Vec3::X; 4]),
            tangents: Some(vec![Vec3::Y; 4]),
        },
        RawMorph::default(),
    ];
    let skinned = RawPrimitive {
        positions: positions.clone(),
        normals: Some(vec![Vec3::Z; 4]),
        tangents: Some(vec![Vec4::new(1.0, 0.0, 0.0, -1.0); 4]),
        influences: RawInfluences { per_vertex: 5, joints: (0..20).map(|n| n % 300).collect(), weights: vec![0.2; 20] },
        triangles: vec![[0, 1, 2], [2, 1, 3]],
        morphs: morphs.clone(),
        maps: vec![("belly".into(), vec![0.0, -1.0, 0.5, 2.0])],
        color: [0.1, 0.2, 0.3, 0.5],
        material: String::new(),
    };
    let rider = RawPrimitive { influences: RawInfluences::default(), ..skinned.clone() };
    let bone = |name: &str, parent, local| RawBone { name: name.into(), parent, local };
    let turned = Trs {
        translation: DVec3::new(0.1, -2.0, 1e-7),
        rotation: DQuat::from_rotation_y(0.3),
        scale: DVec3::new(1.0, 2.0, 0.5),
    };
    let sheared = DAffine3::from_cols_array(&[1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.2, 0.0, 1.0, 4.0, 5.0, 6.0]);
    let mut bones = vec![
        bone("root", None, LocalTransform::Trs(turned)),
        bone("", Some(0), LocalTransform::Matrix(sheared)),
        bone("hand", Some(0), LocalTransform::Trs(Trs::IDENTITY)),
        bone("mesh", None, LocalTransform::Trs(Trs::IDENTITY)),
    ];
    let first = bones.len();
    bones.extend((0..300).map(|n| bone(&format!("b{n}"), Some(0), LocalTransform::Trs(Trs::IDENTITY))));
    let joints = (0..300).map(|n| RawJoint { bone: first + n, bone_from_rest: sheared });
    let mesh = |name: &str, node, binding, primitive: &RawPrimitive| RawMesh {
        name: name.into(),
        node,
        binding,
        primitives: vec![primitive.clone(), primitive.clone()],
        morph_weights: vec![0.25, 0.0],
    };
    let raw = RawRig {
        skins: vec![RawSkin { name: "palette".into(), joints: joints.collect() }],
        meshes: vec![mesh("hand", 2, RawBinding::Node, &rider), mesh("mesh", 3, RawBinding::Skin(0), &skinned)],
        animated: vec![0],
        bones,
    };
    let (a, b) = (Quat::from_rotation_x(0.5), Quat::from_rotation_z(1.0));
    let cubic = Curve::new(Interpolation::CubicSpline, vec![0.0, 1.0], vec![b, a, a, b, b, a]).expect("sound");
    let clip = |interpolation, times: Vec<f64>, morph: Vec<f32>, rotation| Clip {
        name: format!("{interpolation:?}"),
        tracks: vec![
            Track {
                node: 0,
                translation: Some(
                    Curve::new(Interpolation::Step, vec![0.0, 0.5], vec![Vec3::X, Vec3::Y]).expect("sound"),
                ),
                rotation,
                scale: Some(Curve::new(Interpolation::Linear, vec![0.25], vec![Vec3::ONE]).expect("sound")),
                morph: None,
            },
            Track {
                node: 3,
                morph: Some(MorphCurve::new(interpolation, times, 2, morph).expect("sound")),
                ..Track::default()
            },
        ],
    };
    let clips = vec![
        clip(Interpolation::Linear, vec![0.0, 0.75], vec![0.1, 0.2, 0.3, 0.4], None),
        clip(Interpolation::Step, vec![0.5], vec![0.1, 0.2], None),
        clip(Interpolation::CubicSpline, vec![0.0, 1.0], (0..12).map(|n| n as f32).collect(), Some(cubic)),
    ];
    (raw, clips)
}

#[test]
fn everything_a_rig_can_hold() {
    let (raw, clips) = full();
    round_trip(&raw, &clips, "full");
}

#[test]
fn what_gltf_cannot_hold_is_refused() {
    let (raw, clips) = full();
    let mut twice = raw.clone();
    twice.meshes.push(twice.meshes[0].clone());
    assert!(export(&twice, &clips).expect_err("two meshes").to_string().contains("two meshes"));
    let mut lost = raw.clone();
    lost.bones[2].parent = Some(9999);
    assert!(export(&lost, &clips).is_err());
    let close = Curve::new(Interpolation::Linear, vec![1.0, 1.0 + 1e-12], vec![Vec3::X, Vec3::Y]).expect("sound");
    let clip = Clip { name: "close".into(), tracks: vec![Track { translation: Some(close), ..Track::default() }] };
    assert!(export(&raw, &[clip]).is_err());
    let mut broken = raw;
    broken.meshes[0].primitives[0].positions[1].y = f32::INFINITY;
    assert!(export(&broken, &clips).is_err());
}
