//! Effects on real characters: seams stay closed, and hand-set motion moves what it should.

use glam::DVec3;
use sinew::cone::Cone;
use sinew::raw::RawBinding;
use sinew::recipe::EffectSpec;
use sinew::*;
use sinew_gltf::{Asset, RawAsset};
use sinew_testkit::assets::{asset, assets};
use std::collections::HashMap;
use std::sync::Arc;

fn stage_of(rig: &Arc<Rig>, effects: Vec<EffectSpec>) -> Stage {
    Stage::new(rig, &Recipe { effects, ..Recipe::default() }).expect("the recipe fits")
}

/// Every effect of the registry; those that need a cone get one above the character.
fn every_effect(rig: &Rig) -> Vec<EffectSpec> {
    let size = rig.characters().first().map_or(1.0, |c| c.size);
    let specs = sinew::registry::EFFECTS.iter().map(|&effect| EffectSpec::of(effect));
    specs
        .map(|mut spec| {
            if let Some(cone) = &mut spec.cone {
                cone.cone = Cone::new(DVec3::Y, DVec3::Y * (2.0 * size), 0.5, 0.01 * size).ok();
            }
            spec
        })
        .collect()
}

fn evaluated(stage: &Stage, pose: &Pose, kinematics: &Kinematics) -> DeformedMesh {
    let mut workspace = Workspace::default();
    stage.posed(pose, kinematics, 0.0, &mut workspace).expect("fits the rig").deform(&Cpu::serial());
    let out = workspace.take_mesh();
    assert!(out.positions.iter().all(|p| p.is_finite()));
    out
}

/// What copies share: mesh, position, joints and weights, as bits.
type Copies = (usize, [u32; 3], Vec<(u32, u32)>);

/// Copies as the file's own numbers tell them.
#[test]
fn seam_copies_end_at_identical_positions_under_every_effect() {
    let mut copies = 0;
    for path in assets() {
        let imported = RawAsset::open(&path).expect("imports");
        let vertices: usize = imported.raw.meshes.iter().flat_map(|m| &m.primitives).map(|p| p.positions.len()).sum();
        if vertices > 60_000 && std::env::var_os("SINEW_FULL").is_none() {
            continue;
        }
        let rig = Arc::new(Rig::build(&imported.raw).expect("builds").0);
        let mut groups: HashMap<Copies, Vec<usize>> = HashMap::new();
        let mut vertex = 0;
        for (mesh, raw) in imported.raw.meshes.iter().enumerate() {
            for primitive in &raw.primitives {
                let k = primitive.influences.per_vertex;
                for (v, p) in primitive.positions.iter().enumerate() {
                    let mut influences: Vec<(u32, u32)> = (v * k..(v + 1) * k)
                        .map(|i| (primitive.influences.joints[i], primitive.influences.weights[i].to_bits()))
                        .filter(|&(_, weight)| weight != 0)
                        .collect();
                    influences.sort_unstable();
                    let morphs = primitive.morphs.iter().any(|morph| morph.positions.is_some());
                    let key = if matches!(raw.binding, RawBinding::Skin(_)) && !morphs { mesh } else { usize::MAX };
                    if key != usize::MAX {
                        groups.entry((key, p.to_array().map(f32::to_bits), influences)).or_default().push(vertex);
                    }
                    vertex += 1;
                }
            }
        }
        let stage = stage_of(&rig, every_effect(&rig));
        let mut workspace = Workspace::default();
        for clip in imported.clips.iter().take(2) {
            let playing = stage.motion(clip, &MotionSettings::default()).expect("reads");
            let time = playing.report().start + 0.37 * (playing.report().last_key - playing.report().start);
            let out = playing.frame(time, &mut workspace);
            assert!(out.positions.iter().all(|p| p.is_finite()));
            for group in groups.values().filter(|group| group.len() > 1) {
                for &other in &group[1..] {
                    let (a, b) = (out.positions[group[0]], out.positions[other]);
                    assert!(a == b, "{}: vertices {} and {other} come apart: {a} {b}", path.display(), group[0]);
                    copies += 1;
                }
            }
        }
    }
    assert!(copies > 1_000 || assets().is_empty());
}

/// The authors' own rig with the neck's motion set by hand: each effect moves something, most where it is farthest from
/// the neck's axis.
#[test]
fn hand_set_motion_on_the_authors_rig() {
    let Some(path) = asset("Spot_velocity_skinning.glb") else { return };
    let Asset { rig, warnings, .. } = Asset::open(&path).expect("imports");
    assert!(warnings.is_empty());
    let rig = Arc::new(rig);
    let skeleton = rig.skeleton();
    let neck = skeleton.bones().find(|&bone| skeleton.name(bone) == "neck").expect("a neck");
    let size = rig.characters()[0].size;
    let pose = rig.rest_pose();
    let base = stage_of(&rig, Vec::new());
    let still = evaluated(&base, &pose, &base.at_rest());
    let mut world = WorldPose::default();
    world.compose(skeleton, &pose);
    let (axis, origin) = (DVec3::X, world.joint_origin(neck));
    let moved = |effects: Vec<EffectSpec>, braking: bool| {
        let stage = stage_of(&rig, effects);
        let mut kinematics = stage.at_rest();
        let motion = BoneMotion {
            angular_velocity: axis * 6.0,
            angular_acceleration: axis * if braking { -60.0 } else { 60.0 },
            ..BoneMotion::default()
        };
        stage.set_steady(&mut kinematics, neck, motion);
        let out = evaluated(&stage, &pose, &kinematics);
        (0..out.positions.len()).map(|v| f64::from(out.positions[v].distance(still.positions[v]))).collect::<Vec<_>>()
    };
    let distance = |v: usize| axis.cross(still.world_position(0, v) - origin).length();
    let cases = [
        ("squash", false),
        ("floppy", false),
        ("follow-through", true),
        ("acceleration-drag", false),
        ("centrifugal-stretch", false),
        ("wobble", false),
    ];
    for (name, braking) in cases {
        let spec = EffectSpec::new(name).expect("an effect");
        let found = moved(vec![spec], braking);
        let (at, most) = found.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).expect("vertices");
        assert!(most >= 0.005 * size, "{name}: {:.3} % of size", 100.0 * most / size);
        let reach = (0..found.len()).filter(|&v| found[v] > 0.0).map(distance).fold(0.0, f64::max);
        assert!(distance(at) >= 0.75 * reach, "{name}: moves most at {} of {reach}", distance(at));
        // What the neck does not carry stays where it is.
        assert!(found.iter().filter(|&&d| d == 0.0).count() > found.len() / 4, "{name}");
    }
    let all = cases.iter().filter_map(|(name, _)| EffectSpec::new(name)).collect();
    let most = moved(all, false).into_iter().fold(0.0, f64::max);
    assert!(most >= 0.005 * size && most.is_finite());
}
