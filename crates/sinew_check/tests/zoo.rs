//! Measurements on characters and clips whose true figures are known.

use glam::{DAffine3, DVec3, Quat, Vec3};
use sinew::clip::Track;
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawRig, RawSkin};
use sinew::recipe::RecipeFile;
use sinew::{Clip, Curve, Interpolation, LocalTransform, Looping, MotionSettings, Recipe, Rig, Trs};
use sinew_check::limits::LIMITS;
use sinew_check::{Checker, ClipReport};
use sinew_zoo::ZooCharacter;

fn zoo(name: &str) -> ZooCharacter {
    sinew_zoo::build(name).expect("built in")
}

fn preset(name: &str) -> Recipe {
    RecipeFile::parse(sinew::presets::get(name).expect("a preset")).expect("sound").recipe().without_strength()
}

fn measure(raw: &RawRig, recipe: &Recipe, clip: &Clip, settings: &MotionSettings) -> ClipReport {
    let rig = std::sync::Arc::new(Rig::build(raw).expect("sound").0);
    let checker = Checker::new(&rig, recipe).expect("fits");
    checker.clip(clip, settings, 60.0, &|_| {}).expect("measurable")
}

fn clip(track: Track) -> Clip {
    Clip { name: "made".into(), tracks: vec![track] }
}

fn line(times: &[f64], values: &[Vec3]) -> Option<Curve<Vec3>> {
    Some(Curve::new(Interpolation::Linear, times.to_vec(), values.to_vec()).expect("sound"))
}

/// A character moved and turned as a whole keeps its volume and its triangles, whatever its size.
#[test]
fn rigid_motion_changes_nothing() {
    for scale in [0.02f32, 1.0, 200.0] {
        let mut calf = zoo("calf").raw;
        let LocalTransform::Trs(root) = &mut calf.bones[0].local else { panic!("by parts") };
        root.scale = DVec3::splat(f64::from(scale));
        let at = root.translation.as_vec3();
        let turn = Quat::from_rotation_y(2.0);
        let track = Track {
            node: 0,
            translation: line(&[0.0, 1.0], &[at, at + Vec3::new(3.0, 1.0, 0.0) * scale]),
            rotation: Some(
                Curve::new(Interpolation::Linear, vec![0.0, 1.0], vec![Quat::IDENTITY, turn]).expect("sound"),
            ),
            ..Track::default()
        };
        let report = measure(&calf, &Recipe::default(), &clip(track), &MotionSettings::default());
        assert_eq!(report.frames, 61);
        assert!(!report.volumes.is_empty());
        assert!(report.volumes.iter().all(|volume| volume.base.largest() < 1e-5), "{:?}", report.volumes);
        assert_eq!((report.base_triangles.turned, report.base_triangles.collapsed), (0, 0));
        assert_eq!((report.displacement, report.crack, report.seam), (None, None, None));
    }
}

/// Scaled by 1.1, the volume grows by 1.1³. Parts scaled away by their bones are hidden by intent: nothing collapses.
#[test]
fn volume_follows_scale() {
    let calf = zoo("calf");
    let grow = |to: f32| {
        let scale = line(&[0.0, 1.0], &[Vec3::ONE, Vec3::splat(to)]);
        measure(
            &calf.raw,
            &Recipe::default(),
            &clip(Track { node: 0, scale, ..Track::default() }),
            &MotionSettings::default(),
        )
    };
    let report = grow(1.1);
    for volume in &report.volumes {
        assert!((volume.base.most - (1.1f64.powi(3) - 1.0)).abs() < 1e-4, "{volume:?}");
        assert!(volume.base.least.abs() < 1e-5 && volume.base.most_time == 1.0, "{volume:?}");
    }
    let gone = grow(0.0);
    assert!(gone.volumes.iter().all(|volume| (volume.base.least + 1.0).abs() < 1e-6));
    assert_eq!((gone.base_triangles.turned, gone.base_triangles.collapsed), (0, 0));
}

/// A loop that ends 0.3 away from where it began, by the user's word: the seam shows just that.
#[test]
fn the_gap_of_a_seam_is_the_distance_between_its_keys() {
    let calf = zoo("calf");
    let LocalTransform::Trs(root) = calf.raw.bones[0].local else { panic!("by parts") };
    let at = root.translation.as_vec3();
    let track = Track {
        node: 0,
        translation: line(&[0.0, 0.5, 1.0], &[at, at + Vec3::Y, at + Vec3::X * 0.3]),
        ..Track::default()
    };
    let settings = MotionSettings { looping: Looping::Yes, ..MotionSettings::default() };
    let report = measure(&calf.raw, &Recipe::default(), &clip(track), &settings);
    let size = Rig::build(&calf.raw).expect("sound").0.characters()[0].size;
    let seam = report.seam.expect("a loop");
    assert!((seam.gap.value - 0.3 / size).abs() < 1e-6, "{seam:?}");
    // Up at 2 a second, then down at 2 and sideways at 0.6: the seam turns that round again.
    let (up, down) = (DVec3::new(0.0, 2.0, 0.0), DVec3::new(0.6, -2.0, 0.0));
    assert!((seam.kink.value - (up - down).length() / size).abs() < 1e-4, "{seam:?}");
    assert!((seam.usual_kink - (up - down).length() / size).abs() < 1e-4, "{seam:?}");
}

/// Effects on the built-in loops: the seam closes, velocity does not change more there than elsewhere, and the report
/// is the same at any number of threads. One clip of each; `SINEW_FULL` takes two, and threads of all.
#[test]
fn built_in_loops_are_sound() {
    let full = std::env::var_os("SINEW_FULL").is_some();
    let lively = preset("lively");
    for name in ["arm", "bird", "calf", "dancer", "flower", "snail"] {
        let character = zoo(name);
        let rig = std::sync::Arc::new(Rig::build(&character.raw).expect("sound").0);
        let checker = Checker::new(&rig, &lively).expect("fits");
        for clip in character.clips.iter().take(if full { 2 } else { 1 }) {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                pool.install(|| checker.clip(clip, &MotionSettings::default(), 30.0, &|_| {}).expect("measurable"))
            };
            let report = run(1);
            if full || name == "arm" {
                assert_eq!(report, run(3), "{name}");
            }
            let seam = report.seam.as_ref().expect("a loop");
            assert!(seam.gap.value < 1e-5, "{name} {}: {seam:?}", clip.name);
            assert!(seam.kink.value <= 1.2 * seam.usual_kink, "{name} {}: {seam:?}", clip.name);
            assert!(report.displacement.as_ref().expect("effects").value > 1e-3, "{name} {}", clip.name);
            assert_eq!(report.keys.jumps, [], "{name} {}", clip.name);
            assert_eq!(report.crack, None, "{name} {}", clip.name);
        }
    }
}

/// The volume about each bone: lost where linear blending bends, back with a correction, and in sum the whole.
#[test]
fn volumes_are_told_by_bone() {
    let arm = zoo("arm");
    let rig = std::sync::Arc::new(Rig::build(&arm.raw).expect("sound").0);
    let bend = arm.clips.iter().find(|clip| clip.name == "bend").expect("a clip that bends");
    let recipe = "version = 1\n[[correction]]\ntype = \"volume\"\nscope = \"segments\"\nshape = \"muscle\"\n";
    let recipe = RecipeFile::parse(recipe).expect("sound");
    let checker = Checker::new(&rig, recipe.recipe()).expect("fits");
    let report = checker.clip(bend, &MotionSettings::default(), 30.0, &|_| {}).expect("measurable");
    assert!((report.segments.iter().map(|segment| segment.share).sum::<f64>() - 1.0).abs() < 1e-3);
    let of = |name: &str| report.segments.iter().find(|segment| segment.bone == name).expect("a bone with skin");
    for name in ["upper_arm", "forearm"] {
        assert!(of(name).base.least < -0.01 && of(name).effects.largest() < 1e-6, "{:?}", of(name));
    }
    let whole = &report.volumes[0].base;
    let at_worst: f64 = report.segments.iter().map(|segment| segment.share * segment.base.least).sum();
    assert!((at_worst / whole.least - 1.0).abs() < 0.2, "{at_worst} against {whole:?}");
}

/// Two quads that meet at an edge, each on a bone of its own.
fn two_plates() -> RawRig {
    let bone = |name: &str| RawBone { name: name.into(), parent: None, local: LocalTransform::Trs(Trs::IDENTITY) };
    let plate = |from: f32, joint: u32| RawPrimitive {
        positions: [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[x, y]| Vec3::new(x + from, y, 0.0)).to_vec(),
        influences: RawInfluences { per_vertex: 1, joints: vec![joint; 4], weights: vec![1.0; 4] },
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        ..RawPrimitive::default()
    };
    let joint = |bone| RawJoint { bone, bone_from_rest: DAffine3::IDENTITY };
    RawRig {
        bones: vec![bone("left"), bone("right"), bone("mesh")],
        skins: vec![RawSkin { name: "skin".into(), joints: vec![joint(0), joint(1)] }],
        meshes: vec![RawMesh {
            name: "plates".into(),
            node: 2,
            binding: RawBinding::Skin(0),
            primitives: vec![plate(0.0, 0), plate(1.0, 1)],
            morph_weights: Vec::new(),
        }],
        animated: vec![1],
    }
}

#[test]
fn points_that_part_are_found() {
    let track = Track { node: 1, translation: line(&[0.0, 1.0], &[Vec3::ZERO, Vec3::X * 0.5]), ..Track::default() };
    let raw = two_plates();
    let report = measure(&raw, &Recipe::default(), &clip(track), &MotionSettings::default());
    let size = 5f64.sqrt();
    let parting = report.parting.expect("the plates part");
    assert!((parting.value - 0.5 / size).abs() < 1e-6, "{parting:?}");
    assert_eq!((parting.place.time, parting.place.node), (1.0, 2));
    assert_eq!(report.crack, None, "there are no effects");
    assert_eq!(report.volumes, [], "open surfaces have no volume");
}

/// A plate turned over or mirrored by its bone is sound. Pulled through itself by one corner's bone it is not.
#[test]
fn triangles_that_turn_over_are_found() {
    let mut raw = two_plates();
    let turn = Curve::new(Interpolation::Linear, vec![0.0, 1.0], vec![Quat::IDENTITY, Quat::from_rotation_y(3.0)]);
    let track = Track { node: 1, rotation: Some(turn.expect("sound")), ..Track::default() };
    let report = measure(&raw, &Recipe::default(), &clip(track), &MotionSettings::default());
    assert_eq!(report.base_triangles.turned, 0);
    let mirror = Track { node: 1, scale: line(&[0.0, 1.0], &[Vec3::new(-1.0, 1.0, 1.0); 2]), ..Track::default() };
    let report = measure(&raw, &Recipe::default(), &clip(mirror), &MotionSettings::default());
    assert_eq!((report.base_triangles.turned, report.base_triangles.collapsed), (0, 0));
    raw.meshes[0].primitives[1].influences.joints = vec![0, 0, 1, 0];
    let track = Track {
        node: 1,
        translation: line(&[0.0, 1.0], &[Vec3::ZERO, Vec3::new(-3.0, -3.0, 0.0)]),
        ..Track::default()
    };
    let report = measure(&raw, &Recipe::default(), &clip(track), &MotionSettings::default());
    assert_eq!(report.base_triangles.turned, 2, "both triangles at the corner");
    assert_eq!(report.first_turned[0].as_ref().expect("a place").primitive, 1);
}

#[test]
fn absurd_clips_are_refused() {
    let calf = zoo("calf");
    let rig = std::sync::Arc::new(Rig::build(&calf.raw).expect("sound").0);
    let checker = Checker::new(&rig, &Recipe::default()).expect("fits");
    let endless = clip(Track { node: 0, translation: line(&[0.0, 1e30], &[Vec3::ZERO, Vec3::X]), ..Track::default() });
    assert!(checker.clip(&endless, &MotionSettings::default(), 60.0, &|_| {}).is_err());
    let pose = clip(Track { node: 0, translation: line(&[0.5], &[Vec3::X]), ..Track::default() });
    assert_eq!(checker.clip(&pose, &MotionSettings::default(), 60.0, &|_| {}).expect("a pose").frames, 1);
}

/// What effects do against the base is the same at any scale, and nothing where they are switched off.
#[test]
fn comparisons_do_not_depend_on_scale() {
    let figures = |scale: f64, recipe: &Recipe| {
        let mut calf = zoo("calf");
        let LocalTransform::Trs(root) = &mut calf.raw.bones[0].local else { panic!("by parts") };
        root.scale = DVec3::splat(scale);
        let clip = &calf.clips[0];
        let moved: Vec<Track> = (clip.tracks.iter().cloned())
            .map(|track| if track.node == 0 { Track { translation: None, ..track } } else { track })
            .collect();
        let clip = Clip { name: clip.name.clone(), tracks: moved };
        let report = measure(&calf.raw, recipe, &clip, &MotionSettings::default());
        let comparison = report.comparison.expect("effects");
        LIMITS.map(|limit| (limit.name, (limit.value)(&comparison)))
    };
    let lively = preset("lively");
    let one = figures(1.0, &lively);
    for scale in [0.02, 200.0] {
        for ((name, a), (_, b)) in one.into_iter().zip(figures(scale, &lively)) {
            assert!((a - b).abs() <= 0.02 * a.abs() + 2e-5, "{name}: {a} at scale 1, {b} at {scale}");
        }
    }
    let idle = RecipeFile::parse("version = 1\n[[effect]]\ntype = \"floppy\"\ngain = 0\n").map(|f| f.recipe().clone());
    for (name, value) in figures(1.0, &idle.expect("sound")) {
        assert!(value == 0.0 || name.ends_with("strain") && value == 1.0, "{name}: {value}");
    }
}
