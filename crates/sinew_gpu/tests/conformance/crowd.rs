//! A crowd on the GPU is the crowd that the processor makes, whoever is in it and wherever he stands.

use super::{built_in, gpu, is_full, seconds};
use glam::{DVec3, Quat, Vec3, Vec4};
use sinew::{
    Cpu, CrowdScratch, DeformedMesh, Member, MotionSettings, NoCrowd, Playing, Recipe, RecipeFile, Stage, Workspace,
    evaluate_crowd,
};
use sinew_gltf::Asset;
use sinew_gpu::conformance::cases;
use sinew_gpu::{CrowdMember, Gpu, GpuCrowd, GpuError};
use sinew_testkit::random::Random;
use std::sync::Mutex;

/// Of a character's size.
const NEAR: f64 = 1e-5;
/// Squash and floppy, and whatever a recipe does by itself.
const SOFT: &str = "version = 1\n[[effect]]\ntype = 'squash'\n[[effect]]\ntype = 'floppy'";
/// The same with no say of the skin as a whole.
const LOOSE: &str = "version = 1\nrigid = 'none'\nsewn = 'none'\nplanted = 'none'\n";

fn calf() -> Asset {
    let zoo = sinew_zoo::build("calf").unwrap();
    Asset::from_raw("calf", zoo.raw, zoo.clips).unwrap()
}

fn stage(asset: &Asset, text: &str) -> Stage {
    Stage::new(&asset.rig, RecipeFile::parse(text).unwrap().recipe()).unwrap()
}

fn playing<'s>(asset: &Asset, stage: &'s Stage) -> Vec<Playing<'s>> {
    let motion = |clip| stage.motion(clip, &MotionSettings::default()).unwrap();
    asset.clips.iter().map(motion).collect()
}

/// Members on a square field, each with a clip and time of its own.
fn members(asset: &Asset, count: usize, seed: u64) -> Vec<CrowdMember> {
    let mut random = Random::new(seed);
    let size = asset.rig.characters()[0].size as f32;
    let side = (count as f32).sqrt().ceil();
    let member = |index: usize| {
        let clip = random.below(asset.clips.len());
        let place =
            Vec3::new(index as f32 % side, 0.0, (index as f32 / side).floor()) - Vec3::new(side, 0.0, side) * 0.5;
        CrowdMember {
            clip,
            time: random.between(-1.0, 3.0) * seconds(&asset.clips[clip]),
            gain: 1.0,
            translation: place * size * 1.5,
            rotation: Quat::from_rotation_y(random.between(0.0, 6.3) as f32),
            scale: random.between(0.8, 1.2) as f32,
        }
    };
    (0..count).map(member).collect()
}

/// Where a member has a vertex of its frame.
fn placed(crowd: &GpuCrowd, member: &CrowdMember, mesh: &DeformedMesh, vertex: usize) -> DVec3 {
    let p = mesh.origins[0] - crowd.packed().origin() + mesh.positions[vertex].as_dvec3();
    member.rotation.as_dquat() * (p * f64::from(member.scale)) + member.translation.as_dvec3()
}

/// What is farthest from what the processor makes, in sizes, and in units of normals.
fn farthest(
    gpu: &Gpu,
    asset: &Asset,
    crowd: &mut GpuCrowd,
    playing: &[Playing<'_>],
    members: &[CrowdMember],
) -> (f64, f32) {
    assert_eq!(crowd.deform(gpu, members, &[]).unwrap(), members.len());
    let size = asset.rig.characters()[0].size;
    let wanted: Vec<_> =
        members.iter().map(|member| Member { playing: &playing[member.clip], time: member.time }).collect();
    let worst = Mutex::new((0.0f64, 0.0f32));
    let crowd = Mutex::new(crowd);
    evaluate_crowd(&wanted, &Cpu::serial(), &CrowdScratch::default(), |index, wanted| {
        let (mut crowd, member) = (crowd.lock().unwrap(), &members[index]);
        let mut found = DeformedMesh::default();
        crowd.read_back(gpu, index, &mut found).unwrap();
        let mut worst = worst.lock().unwrap();
        for (vertex, (position, normal)) in found.positions.iter().zip(&found.normals).enumerate() {
            let apart = position.as_dvec3().distance(placed(&crowd, member, wanted, vertex));
            worst.0 = worst.0.max(apart / (size * f64::from(member.scale)));
            worst.1 = worst.1.max(normal.distance(member.rotation * wanted.normals[vertex]));
        }
    });
    worst.into_inner().unwrap()
}

#[test]
fn a_herd_is_what_the_processor_makes() {
    let Some(gpu) = gpu() else { return };
    let asset = calf();
    let stage = stage(&asset, SOFT);
    let playing = playing(&asset, &stage);
    let members = members(&asset, if is_full() { 4_000 } else { 40 }, 3);
    let mut crowd = GpuCrowd::new(gpu, &stage, &playing, members.len()).unwrap();
    let (apart, turned) = farthest(gpu, &asset, &mut crowd, &playing, &members);
    eprintln!(
        "{} calves of {} vertices: {apart:.1e} of the size, normals {turned:.1e}; {} bytes each and frame, {:.1} MB on the GPU, {:.1} MB of it clips, {} dispatches",
        members.len(),
        asset.rig.vertex_count(),
        crowd.frame_bytes() / members.len(),
        crowd.device_bytes() as f64 / 1e6,
        crowd.clip_bytes() as f64 / 1e6,
        crowd.dispatches()
    );
    assert!(apart <= NEAR, "{apart:.1e}");
    assert!(crowd.frame_bytes() <= 64 * members.len());
}

/// Every recipe of which a crowd can be made.
#[test]
fn crowds_of_every_recipe() {
    let Some(gpu) = gpu() else { return };
    let assets = built_in();
    let mut random = Random::new(5);
    let mut compared = 0;
    for case in cases().into_iter().step_by(if is_full() { 1 } else { 19 }) {
        let asset = &assets[random.below(assets.len())];
        let file = RecipeFile::parse(&case.text).unwrap();
        let Ok(stage) = Stage::new(&asset.rig, &file.recipe().without_strength()) else { continue };
        if let Err(why) = stage.crowd() {
            assert!(!why.to_string().is_empty());
            continue;
        }
        let playing = playing(asset, &stage);
        let members = members(asset, 3, 7 + compared);
        let mut crowd = match GpuCrowd::new(gpu, &stage, &playing, members.len()) {
            Err(GpuError::NoCrowd(NoCrowd::Morphs)) => continue,
            made => made.unwrap(),
        };
        let (apart, _) = farthest(gpu, asset, &mut crowd, &playing, &members);
        eprintln!("{} as {}: {apart:.1e}, clips {:.1} MB", asset.name, case.name, crowd.clip_bytes() as f64 / 1e6);
        assert!(apart <= NEAR, "{} as {}: {apart:.1e}", asset.name, case.name);
        compared += 1;
    }
    assert!(compared > 2, "{compared}");
}

/// A member's gain is that of all effects.
#[test]
fn gains_of_members_are_those_of_effects() {
    let Some(gpu) = gpu() else { return };
    let asset = calf();
    let text = format!("{LOOSE}[[effect]]\ntype = 'squash'\n[[effect]]\ntype = 'floppy'\n[[effect]]\ntype = 'wobble'");
    let stage = stage(&asset, &text);
    let clips = playing(&asset, &stage);
    let mut crowd = GpuCrowd::new(gpu, &stage, &clips, 4).unwrap();
    for gain in [0.0, 0.5, 1.0, -2.0] {
        let members: Vec<_> = members(&asset, 4, 11).into_iter().map(|member| CrowdMember { gain, ..member }).collect();
        let mut recipe = stage.recipe().clone();
        recipe.effects.iter_mut().for_each(|effect| effect.gain *= f64::from(gain));
        let other = Stage::new(&asset.rig, &recipe).unwrap();
        let (apart, _) = farthest(gpu, &asset, &mut crowd, &playing(&asset, &other), &members);
        assert!(apart <= NEAR, "at {gain}: {apart:.1e}");
    }
}

/// What does not fit into one buffer goes into several, and nothing is seen of where one ends.
#[test]
fn crowds_are_split_where_buffers_end() {
    let Some(_) = gpu() else { return };
    let asset = calf();
    let stage = stage(&asset, &format!("{LOOSE}[[effect]]\ntype = 'squash'\n[[effect]]\ntype = 'floppy'"));
    let playing = playing(&asset, &stage);
    let members = members(&asset, 90, 13);
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).unwrap();
    let required_limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 21, ..wgpu::Limits::default() };
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..wgpu::DeviceDescriptor::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    let gpu = Gpu::with_device(device, queue).unwrap();
    let mut crowd = GpuCrowd::new(&gpu, &stage, &playing, members.len()).unwrap();
    let (apart, _) = farthest(&gpu, &asset, &mut crowd, &playing, &members);
    let pages: Vec<_> = crowd.pages().map(|page| page.members.len()).collect();
    assert!(pages.len() > 1 && pages.iter().sum::<usize>() == members.len(), "{pages:?}");
    assert!(apart <= NEAR, "{apart:.1e}");
}

/// What is left out is behind a plane as a whole.
#[test]
fn only_what_is_behind_a_plane_is_left_out() {
    let Some(gpu) = gpu() else { return };
    let asset = calf();
    let stage = stage(&asset, SOFT);
    let playing = playing(&asset, &stage);
    let size = asset.rig.characters()[0].size as f32;
    let mut members = members(&asset, 200, 17);
    members.iter_mut().enumerate().for_each(|(index, member)| member.gain = [1.0, 0.3, 0.0][index % 3]);
    let mut crowd = GpuCrowd::new(gpu, &stage, &playing, members.len()).unwrap();
    let planes = [Vec4::new(1.0, 0.0, 0.0, 3.0 * size), Vec4::new(-0.6, 0.0, 0.8, 5.0 * size)];
    let seen = crowd.deform(gpu, &members, &planes).unwrap();
    assert!((40..190).contains(&seen), "{seen}");
    assert_eq!(crowd.frame_bytes(), 52 * seen);
    let (seen, mut found) = (crowd.seen().to_vec(), DeformedMesh::default());
    crowd.deform(gpu, &members, &[]).unwrap();
    for place in 0..members.len() {
        crowd.read_back(gpu, place, &mut found).unwrap();
        let is_behind =
            planes.iter().any(|plane| found.positions.iter().all(|p| plane.truncate().dot(*p) + plane.w < 0.0));
        assert!(is_behind || seen.contains(&(place as u32)), "member {place} is in view");
    }
    // Boxes are not much larger than what they hold.
    let swept = crowd.swept(0).unwrap();
    assert!((swept.high - swept.low).max_element() < 2.0 * size, "{swept:?}");
}

/// A crowd's frame makes nothing on the GPU and nothing here.
#[test]
fn frames_of_a_crowd_make_nothing() {
    let Some(gpu) = gpu() else { return };
    let asset = calf();
    let stage = stage(&asset, SOFT);
    let playing = playing(&asset, &stage);
    let mut members = members(&asset, 50, 19);
    let mut crowd = GpuCrowd::new(gpu, &stage, &playing, members.len()).unwrap();
    let mut mesh = DeformedMesh::default();
    let mut made = None;
    for frame in 0..6 {
        members.iter_mut().for_each(|member| member.time += 0.03);
        let allocated = allocation_counter::measure(|| crowd.look(&members, &[Vec4::new(1.0, 0.0, 0.0, 9.0)]));
        assert_eq!(allocated.count_total, 0);
        crowd.deform(gpu, &members, &[]).unwrap();
        crowd.read_back(gpu, frame, &mut mesh).unwrap();
        assert_eq!(*made.get_or_insert(gpu.made()), gpu.made(), "frame {frame}");
    }
    members.push(CrowdMember::default());
    assert_eq!(crowd.deform(gpu, &members, &[]), Err(GpuError::Crowded { seen: 51, most: 50 }));
}

/// What a crowd cannot be made of is said.
#[test]
fn what_no_crowd_is_made_of_is_said() {
    let asset = calf();
    let why = |text: &str| stage(&asset, &format!("version = 1\n{text}")).crowd().err();
    let floppy = "[[effect]]\ntype = 'floppy'\n";
    assert_eq!(why(floppy), None);
    assert!(matches!(why("base = 'incremental-rotation'"), Some(NoCrowd::Nodes(_))));
    assert!(matches!(why("[[correction]]\ntype = 'bulge'"), Some(NoCrowd::Nodes(_))));
    assert!(matches!(why("base = 'fold-over-free'"), Some(NoCrowd::Plan(_))));
    assert!(matches!(why(&format!("normals = 'engine'\n{floppy}")), Some(NoCrowd::Directions)));
    let keyed = format!("{floppy}max_angle = [[0.0, 0.5], [1.0, 1.0]]");
    assert!(matches!(why(&keyed), Some(NoCrowd::Keyed(_))), "{:?}", why(&keyed));
    let mut workspace = Workspace::default();
    let foreign = Stage::new(&asset.rig, &Recipe::default()).unwrap();
    assert!(foreign.resting(&mut workspace).sample(&Cpu::serial(), &mut sinew::CrowdSample::default()).is_ok());
}
