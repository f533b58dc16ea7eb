//! `cargo run -p sinew_gpu --example crowd [COUNT] [FILE]`: a herd of calves on the GPU, or of the character of a file, each
//! with its own clip, time and place, beside the same herd on the processor: what is uploaded and kept, how long it takes,
//! and how far apart they are.

#![allow(clippy::print_stdout, reason = "the table is what it is for")]

use glam::{DVec3, Quat, Vec3};
use sinew::{Cpu, CrowdScratch, DeformedMesh, Member, MotionSettings, RecipeFile, Rig, Stage, evaluate_crowd};
use sinew_gltf::Asset;
use sinew_gpu::{CrowdMember, Gpu, GpuCrowd};
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Frames that are timed; the fastest counts.
const FRAMES: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(4_000), |count| count.parse())?;
    let (rig, clips) = match std::env::args_os().nth(2) {
        Some(path) => {
            let asset = Asset::open(std::path::Path::new(&path))?;
            (asset.rig, asset.clips)
        }
        None => {
            let calf = sinew_zoo::build("calf")?;
            (Arc::new(Rig::build(&calf.raw)?.0), calf.clips)
        }
    };
    let recipe = RecipeFile::parse("version = 1\n[[effect]]\ntype = 'squash'\n[[effect]]\ntype = 'floppy'")?;
    let stage = Stage::new(&rig, recipe.recipe())?;
    let motion = |clip| stage.motion(clip, &MotionSettings::default());
    let playing = clips.iter().map(motion).collect::<Result<Vec<_>, _>>()?;
    let gpu = Gpu::new()?;
    let start = Instant::now();
    let mut crowd = GpuCrowd::new(&gpu, &stage, &playing, count)?;
    let prepared = start.elapsed();
    let size = rig.characters().first().map_or(1.0, |character| character.size);
    let side = (count as f32).sqrt().ceil();
    let members = |frame: usize| -> Vec<CrowdMember> {
        let member = |index: usize| CrowdMember {
            clip: index % playing.len(),
            time: index as f64 * 0.007 + frame as f64 / 30.0,
            translation: Vec3::new(index as f32 % side - side / 2.0, 0.0, (index as f32 / side).floor() - side / 2.0)
                * (1.5 * size as f32),
            rotation: Quat::from_rotation_y(index as f32),
            ..CrowdMember::default()
        };
        (0..count).map(member).collect()
    };
    println!("{}", gpu.name());
    println!(
        "{count} characters of {} vertices with {} clips, squash and floppy, each with its own clip, time and place",
        rig.vertex_count(),
        playing.len()
    );
    println!("clips sampled and uploaded in {:.2} s", prepared.as_secs_f64());
    println!(
        "on the GPU: {:.1} MB, {:.2} MB of it clips",
        crowd.device_bytes() as f64 / 1e6,
        crowd.clip_bytes() as f64 / 1e6
    );
    let mut mesh = DeformedMesh::default();
    let mut fastest = [f64::INFINITY; 2];
    for frame in 0..=FRAMES {
        let members = members(frame);
        let start = Instant::now();
        crowd.look(&members, &[]);
        let looked = start.elapsed().as_secs_f64();
        crowd.deform(&gpu, &members, &[])?;
        // Reading one waits for all.
        crowd.read_back(&gpu, count - 1, &mut mesh)?;
        let all = start.elapsed().as_secs_f64() - looked;
        // The first is compiled by the driver.
        if frame > 0 {
            fastest = [fastest[0].min(looked), fastest[1].min(all)];
        }
    }
    println!(
        "uploaded per character and frame: {} bytes, in {} dispatches",
        crowd.frame_bytes() / count,
        crowd.dispatches()
    );
    println!("a frame: {:.1} ms to see who is where, {:.0} ms on the GPU", fastest[0] * 1e3, fastest[1] * 1e3);
    let members = members(FRAMES);
    let wanted: Vec<_> =
        members.iter().map(|member| Member { playing: &playing[member.clip], time: member.time }).collect();
    for threads in [1, std::thread::available_parallelism().map_or(1, usize::from)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let cpu = Cpu { pool: (threads > 1).then_some(&pool), ..Cpu::serial() };
        let scratch = CrowdScratch::default();
        let mut fastest = f64::INFINITY;
        for _ in 0..FRAMES {
            let start = Instant::now();
            evaluate_crowd(&wanted, &cpu, &scratch, |_, _| ());
            fastest = fastest.min(start.elapsed().as_secs_f64());
        }
        println!("the processor, on {threads} threads: {:.0} ms", fastest * 1e3);
    }
    let worst = Mutex::new((0.0f64, 0.0f32, 0.0f64, 0usize));
    let crowd = Mutex::new(crowd);
    let failed = Mutex::new(None);
    evaluate_crowd(&wanted, &Cpu::serial(), &CrowdScratch::default(), |index, wanted| {
        let (Ok(mut crowd), Ok(mut worst)) = (crowd.lock(), worst.lock()) else { return };
        let (member, mut found) = (&members[index], DeformedMesh::default());
        if let (Err(error), Ok(mut failed)) = (crowd.read_back(&gpu, index, &mut found), failed.lock()) {
            *failed = Some(error);
            return;
        }
        let origin = wanted.origins[0] - crowd.packed().origin();
        let place = |p: DVec3| member.rotation.as_dquat() * (origin + p) + member.translation.as_dvec3();
        for (vertex, (position, normal)) in found.positions.iter().zip(&found.normals).enumerate() {
            let apart = position.as_dvec3().distance(place(wanted.positions[vertex].as_dvec3())) / size;
            let turned = normal.distance(member.rotation * wanted.normals[vertex]);
            worst.0 = worst.0.max(apart);
            worst.1 = worst.1.max(turned);
            worst.2 += f64::from(turned).powi(2);
            worst.3 += 1;
        }
    });
    if let Ok(Some(error)) = failed.into_inner() {
        return Err(error.into());
    }
    if let Ok((apart, turned, squares, vertices)) = worst.into_inner() {
        println!(
            "all {vertices} vertices: positions within {apart:.1e} of the size, normals within {turned:.1e} (rms {:.1e})",
            (squares / vertices as f64).sqrt()
        );
    }
    Ok(())
}
