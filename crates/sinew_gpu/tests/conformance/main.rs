//! What the GPU makes is what the processor makes, by one function for whatever adapter there is: bases, effects, presets and
//! what else a recipe can ask for, on built-in and real characters. A sample by a seed; everything with `SINEW_FULL=1`.

#![allow(clippy::print_stderr, reason = "what was compared and what was skipped")]

mod crowd;

use glam::Vec3;
use sinew::{
    Clip, Cpu, Curve, DeformedMesh, Interpolation, LocalTransform, MotionSettings, Recipe, RecipeFile, Stage, Workspace,
};
use sinew_gltf::Asset;
use sinew_gpu::conformance::{self, Case, Staged, Tally, cases};
use sinew_gpu::{Gpu, GpuCharacter, GpuError, gpu_support};
use sinew_testkit::random::Random;
use std::sync::OnceLock;

fn is_full() -> bool {
    std::env::var_os("SINEW_FULL").is_some_and(|full| full == "1")
}

/// The adapter; `None` where there is none, which is said, and fails where nothing may be skipped.
fn gpu() -> Option<&'static Gpu> {
    static GPU: OnceLock<Result<Gpu, GpuError>> = OnceLock::new();
    match GPU.get_or_init(Gpu::new) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            assert!(matches!(error, GpuError::NoAdapter { .. }), "{error}");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{error}, and CI=true allows no skipping");
            eprintln!("SKIPPED: {error}; `cargo xtask gpu` installs a driver that needs no GPU");
            None
        }
    }
}

fn painted(name: &str, mut raw: sinew::RawRig, clips: Vec<Clip>) -> Asset {
    conformance::paint(&mut raw);
    Asset::from_raw(name, raw, clips).unwrap()
}

fn built_in() -> Vec<Asset> {
    let of = |name: &str| {
        let zoo = sinew_zoo::build(name).unwrap();
        painted(name, zoo.raw, zoo.clips)
    };
    let names = sinew_zoo::names().iter().map(|entry| entry.name);
    names.map(|name| if name == "tube" { "tube:vertices=1500,bones=9" } else { name }).map(of).collect()
}

fn real() -> Vec<Asset> {
    let found = sinew_testkit::assets::assets();
    let opened = found.iter().filter_map(|path| Asset::open(path).ok());
    opened.map(|asset| painted(&asset.name.clone(), asset.raw, asset.clips)).collect()
}

/// The stage of a case, where the GPU makes its frames; what it does not make, it says so of.
fn staged(asset: &Asset, case: &Case) -> Option<(Stage, RecipeFile)> {
    RecipeFile::parse(&case.text).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    match conformance::staged(&asset.rig, case) {
        Staged::Here(staged) => Some(*staged),
        Staged::Elsewhere(why) => {
            assert!(!why.to_string().is_empty());
            None
        }
        // Not every character has what every recipe names.
        Staged::Nowhere => None,
    }
}

fn conform(assets: &[Asset], seed: u64) {
    let Some(gpu) = gpu() else { return };
    let cases = cases();
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let mut play = |asset: &Asset, case: &Case, clips: &[usize], times: usize, random: &mut Random| {
        let Some((stage, file)) = staged(asset, case) else { return };
        let mut character = GpuCharacter::new(gpu, &stage).unwrap();
        for &clip in clips {
            let Some(clip) = asset.clips.get(clip) else { continue };
            let Ok(playing) = stage.motion(clip, &file.motion(&clip.name)) else { continue };
            for _ in 0..times {
                let time = random.between(0.0, seconds(clip));
                let what = format!("{} as {}, {} at {time:.3}", asset.name, case.name, clip.name);
                tally.compare(gpu, &mut character, &playing, time, &what).unwrap();
            }
        }
    };
    if is_full() {
        for asset in assets {
            let clips: Vec<usize> = (0..asset.clips.len().min(12)).collect();
            cases.iter().for_each(|case| play(asset, case, &clips, 5, &mut random));
        }
    } else {
        for case in &cases {
            let asset = &assets[random.below(assets.len())];
            let clip = random.below(asset.clips.len());
            play(asset, case, &[clip], 1, &mut random);
        }
    }
    let Tally { frames, position, normal, uncertain, vertices, faults, told, .. } = tally;
    eprintln!(
        "{}: {frames} frames; positions within {position:.1e} of the size, normals within {normal:.1e}; {uncertain} of {vertices} normals are no more certain on the processor",
        gpu.name()
    );
    assert!(frames > 0);
    assert!(faults == 0, "{faults} faults, some of them:\n{}", told.join("\n"));
}

#[test]
fn built_in_characters() {
    conform(&built_in(), 1);
}

#[test]
fn real_characters() {
    let assets = real();
    if !assets.is_empty() {
        conform(&assets, 2);
    }
}

/// One character in one pose after another, on one upload: the same bits whatever came between.
#[test]
fn frames_repeat_to_the_bit() {
    let Some(gpu) = gpu() else { return };
    for (asset, case) in built_in().iter().zip(cases().iter().cycle().skip(1).step_by(5)) {
        let Some((stage, file)) = staged(asset, case) else { continue };
        let clip = &asset.clips[0];
        let playing = stage.motion(clip, &file.motion(&clip.name)).unwrap();
        let mut character = GpuCharacter::new(gpu, &stage).unwrap();
        let mut again = GpuCharacter::new(gpu, &stage).unwrap();
        let frame = |character: &mut GpuCharacter, time: f64| {
            let (mut workspace, mut mesh) = (Workspace::default(), DeformedMesh::default());
            character.deform(gpu, &playing.at(time, &mut workspace).plan(&Cpu::serial()).unwrap()).unwrap();
            character.read_back(gpu, &mut mesh).unwrap();
            let bits = |v: f32| v.to_bits();
            let positions = mesh.positions.iter().flat_map(|p| p.to_array()).map(bits);
            let normals = mesh.normals.iter().flat_map(|n| n.to_array()).map(bits);
            positions.chain(normals).collect::<Vec<u32>>()
        };
        let times = [0.1, 0.55, 0.9].map(|share| share * seconds(clip));
        let forward = times.map(|time| frame(&mut character, time));
        for (time, forward) in times.iter().zip(&forward).rev() {
            assert!(frame(&mut again, *time) == *forward, "{} as {}", asset.name, case.name);
        }
    }
}

/// A gain of 0 is the base to the bit, and following a recipe is what a new upload gives.
#[test]
fn gain_zero_is_the_base_and_sliders_are_followed() {
    let Some(gpu) = gpu() else { return };
    let asset = &built_in()[3];
    let clip = &asset.clips[0];
    for effect in sinew::registry::EFFECTS.iter().filter(|effect| !effect.needs_cone()) {
        let text = format!(
            "version = 1\nrigid = 'none'\nsewn = 'none'\nplanted = 'none'\n[[effect]]\ntype = '{}'\nmap = 'spots'",
            effect.name()
        );
        let mut recipe = RecipeFile::parse(&text).unwrap().recipe().clone();
        let mut stage = Stage::new(&asset.rig, &recipe).unwrap();
        let mut character = GpuCharacter::new(gpu, &stage).unwrap();
        let frame = |character: &mut GpuCharacter, stage: &Stage| {
            let playing = stage.motion(clip, &MotionSettings::default()).unwrap();
            let (mut workspace, mut mesh) = (Workspace::default(), DeformedMesh::default());
            let mut posed = playing.at(0.3 * seconds(clip), &mut workspace);
            character.deform(gpu, &posed.plan(&Cpu::serial()).unwrap()).unwrap();
            character.read_back(gpu, &mut mesh).unwrap();
            mesh
        };
        let base = Stage::new(&asset.rig, &Recipe::default()).unwrap();
        let base = frame(&mut GpuCharacter::new(gpu, &base).unwrap(), &base);
        for gain in [0.5, 0.0, 2.0] {
            recipe.effects[0].gain = gain;
            let retuned = stage.retune(&recipe).unwrap();
            assert!(!retuned.rebuilt, "a slider uploads numbers alone");
            character.retune(gpu, &stage, retuned).unwrap();
            let followed = frame(&mut character, &stage);
            let anew = frame(&mut GpuCharacter::new(gpu, &stage).unwrap(), &stage);
            assert!(followed.positions == anew.positions && followed.normals == anew.normals, "{}", effect.name());
            let is_base = followed.positions == base.positions && followed.normals == base.normals;
            assert_eq!(is_base, gain == 0.0, "{} at {gain}", effect.name());
        }
    }
}

/// The same character a hundred times as large is the same picture.
#[test]
fn size_changes_nothing() {
    let Some(gpu) = gpu() else { return };
    for name in ["calf", "dancer"] {
        let zoo = sinew_zoo::build(name).unwrap();
        let frame = |factor: f32| {
            let (raw, clips) = scaled(&zoo, factor);
            let asset = Asset::from_raw(name, raw, clips).unwrap();
            let file = RecipeFile::parse(sinew::presets::get("lively").unwrap()).unwrap();
            let stage = Stage::new(&asset.rig, &file.recipe().without_strength()).unwrap();
            gpu_support(&stage).unwrap();
            let playing = stage.motion(&asset.clips[0], &file.motion(&asset.clips[0].name)).unwrap();
            let mut character = GpuCharacter::new(gpu, &stage).unwrap();
            let what = format!("{name} times {factor}");
            let mut tally = Tally::default();
            tally.compare(gpu, &mut character, &playing, 0.4, &what).unwrap();
            assert!(tally.faults == 0, "{:?}", tally.told);
            let mut mesh = DeformedMesh::default();
            character.read_back(gpu, &mut mesh).unwrap();
            (mesh, asset.rig.characters()[0].size)
        };
        let ((small, size), (large, _)) = (frame(1.0), frame(100.0));
        for (a, b) in small.positions.iter().zip(&large.positions) {
            assert!(f64::from(a.distance(*b / 100.0)) < 1e-5 * size, "{name}");
        }
    }
}

/// Where a clip ends.
fn seconds(clip: &Clip) -> f64 {
    clip.span().map_or(0.0, |span| span.1)
}

/// Without slopes, which are not told.
fn plain(interpolation: Interpolation) -> Interpolation {
    match interpolation {
        Interpolation::Step => Interpolation::Step,
        _ => Interpolation::Linear,
    }
}

/// Everything with a length in it, times a factor.
fn scaled(zoo: &sinew_zoo::ZooCharacter, factor: f32) -> (sinew::RawRig, Vec<Clip>) {
    let (mut raw, mut clips) = (zoo.raw.clone(), zoo.clips.clone());
    for bone in &mut raw.bones {
        match &mut bone.local {
            LocalTransform::Trs(trs) => trs.translation *= f64::from(factor),
            LocalTransform::Matrix(matrix) => matrix.translation *= f64::from(factor),
        }
    }
    for joint in raw.skins.iter_mut().flat_map(|skin| &mut skin.joints) {
        joint.bone_from_rest.translation *= f64::from(factor);
    }
    for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        primitive.positions.iter_mut().for_each(|p| *p *= factor);
        let moved = primitive.morphs.iter_mut().flat_map(|morph| &mut morph.positions);
        moved.flatten().for_each(|p| *p *= factor);
    }
    for track in clips.iter_mut().flat_map(|clip| &mut clip.tracks) {
        let larger = |curve: &Curve<Vec3>| {
            let values = (0..curve.times().len()).map(|key| curve.key_value(key) * factor).collect();
            Curve::new(plain(curve.interpolation()), curve.times().to_vec(), values).unwrap()
        };
        track.translation = track.translation.as_ref().map(larger);
    }
    (raw, clips)
}

/// A frame of another character is refused.
#[test]
fn foreign_plans_are_refused() {
    let Some(gpu) = gpu() else { return };
    let [calf, bird] = ["calf", "bird"].map(|name| {
        let zoo = sinew_zoo::build(name).unwrap();
        Asset::from_raw(name, zoo.raw, zoo.clips).unwrap()
    });
    let stage = |asset: &Asset| Stage::new(&asset.rig, &Recipe::default()).unwrap();
    let mut character = GpuCharacter::new(gpu, &stage(&calf)).unwrap();
    let (other, mut workspace) = (stage(&bird), Workspace::default());
    let mut posed = other.resting(&mut workspace);
    assert_eq!(character.deform(gpu, &posed.plan(&Cpu::serial()).unwrap()), Err(GpuError::ForeignPlan));
}

/// Frames and sliders make nothing on the GPU, and what a frame is planned and packed in is there after the first; with exact
/// normals too.
#[test]
fn frames_and_sliders_make_nothing() {
    let Some(gpu) = gpu() else { return };
    let asset = &built_in()[0];
    let clip = &asset.clips[0];
    let exact =
        "version = 1\nnormals = 'exact'\n[[effect]]\ntype = 'floppy'\nmap = 'spots'\n[[effect]]\ntype = 'squash'";
    for text in [sinew::presets::get("lively").unwrap(), exact] {
        let file = RecipeFile::parse(text).unwrap();
        let mut recipe = file.recipe().without_strength();
        let mut stage = Stage::new(&asset.rig, &recipe).unwrap();
        let motion = std::sync::Arc::clone(stage.motion(clip, &file.motion(&clip.name)).unwrap().motion());
        let mut character = GpuCharacter::new(gpu, &stage).unwrap();
        let (mut workspace, mut mesh) = (Workspace::default(), DeformedMesh::default());
        let mut made = None;
        for frame in 0..12 {
            recipe.effects[0].gain = 0.5 + 0.1 * f64::from(frame);
            let retuned = stage.retune(&recipe).unwrap();
            assert!(!retuned.rebuilt);
            character.retune(gpu, &stage, retuned).unwrap();
            let playing = stage.resume(&motion).unwrap();
            let time = 0.07 * f64::from(frame);
            character.deform(gpu, &playing.at(time, &mut workspace).plan(&Cpu::serial()).unwrap()).unwrap();
            character.read_back(gpu, &mut mesh).unwrap();
            assert_eq!(*made.get_or_insert(gpu.made()), gpu.made(), "frame {frame}");
        }
        let packed = sinew_shaders::PackedRig::new(&stage.arrays().unwrap());
        let mut words = Vec::with_capacity(packed.most_frame_words);
        let playing = stage.resume(&motion).unwrap();
        let mut frame = |time: f64| {
            let mut posed = playing.at(time, &mut workspace);
            packed.pack_frame(&posed.plan(&Cpu::serial()).unwrap(), &mut words)
        };
        // Whatever a loop has of feet on the ground has been seen once.
        (0..20).for_each(|step| _ = frame(0.05 * f64::from(step)));
        let allocated = allocation_counter::measure(|| (0..20).for_each(|step| _ = frame(0.05 * f64::from(step))));
        assert_eq!(allocated.count_total, 0);
    }
}
