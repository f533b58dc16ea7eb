//! `sinew_bench crowd`: a herd of calves, each at its own time, on one thread and on all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sinew::recipe::Normals;
use sinew::{Cpu, CrowdScratch, Member, MotionSettings, Rig, Stage, evaluate_crowd};

use crate::cases;

/// Calves of the herd.
const HERD: usize = 4_000;
/// Frames that are timed; the fastest counts.
const FRAMES: usize = 3;

/// Prints the table.
pub fn run() {
    let calf = sinew_zoo::build("calf").expect("there is a calf");
    let rig = Arc::new(Rig::build(&calf.raw).expect("a sound rig").0);
    let (vertices, bones) = (rig.vertex_count(), rig.palette().len());
    println!(
        "{HERD} of zoo:calf, {vertices} vertices and {bones} bones each, squash and floppy, each at its own time\n"
    );
    println!("{:<34} {:>8} {:>12} {:>12} {:>12}", "normals", "threads", "frames/s", "calves/s", "ns/vertex");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, normals) in [("as engines blend them", Normals::Engine), ("exact", Normals::Exact)] {
        let stage = Stage::new(&rig, &cases::velocity(normals)).expect("the recipe fits any rig");
        let motion = |clip| stage.motion(clip, &MotionSettings::default()).expect("a clip that can be read");
        let playing: Vec<_> = calf.clips.iter().map(motion).collect();
        let members: Vec<_> = (0..HERD)
            .map(|index| Member { playing: &playing[index % playing.len()], time: index as f64 * 0.007 })
            .collect();
        for count in [1, threads] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads");
            let cpu = Cpu { pool: (count > 1).then_some(&pool), ..Cpu::serial() };
            let scratch = CrowdScratch::default();
            let touched = AtomicU64::new(0);
            let frame = || {
                let start = Instant::now();
                evaluate_crowd(&members, &cpu, &scratch, |_, calf| {
                    touched.fetch_add(u64::from(calf.positions[0].x.to_bits()), Ordering::Relaxed);
                });
                start.elapsed().as_secs_f64()
            };
            let seconds = (0..FRAMES).map(|_| frame()).fold(f64::INFINITY, f64::min);
            let ns = seconds * 1e9 / (HERD * vertices) as f64;
            println!("{name:<34} {count:>8} {:>12.2} {:>12.0} {ns:>12.2}", 1.0 / seconds, HERD as f64 / seconds);
        }
    }
    if let Some(megabytes) = peak_memory() {
        println!("\nlargest memory of the whole run: {megabytes:.0} MB");
    }
}

/// Of this process, where the system tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}
