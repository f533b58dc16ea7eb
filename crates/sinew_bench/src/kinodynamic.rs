//! `sinew_bench kinodynamic`: milliseconds per frame of kinodynamic skinning, one thread.
//!
//! *Kinematic* is the base `fold-over-free` in 8 steps of second order, with and without its volume term; *dynamic* is linear
//! blending with a muscle in each of so many bones; *complete* is both, on 19 bones. Then the same over the number of
//! vertices, and over the samples of the muscles: a cost that is linear has equal times for each. Last, two threads
//! against one.
//!
//! What counts is the fastest of many frames. Frames last long enough to be interrupted, so their mean, told beside it, is
//! over the time that the thread was on a processor (where the system tells, as Linux does).

use std::hint::black_box;
use std::time::{Duration, Instant};

use sinew::kinodynamic::FOLD_OVER_FREE;
use sinew::recipe::{BaseSpec, CorrectionSpec, Normals};
use sinew::table::Row;
use sinew::{Cpu, Recipe, Stage, Workspace};

use crate::data::Workload;

/// The name on the command line.
pub const NAME: &str = "kinodynamic";
const BONES: usize = 19;
const VERTICES: usize = 8_000;
const MUSCLES: usize = 12;
const SAMPLES: usize = 64;
/// How long each is measured, and by how many frames at least.
const PATIENCE: Duration = Duration::from_millis(700);
const FRAMES_AT_LEAST: u32 = 3;

/// What is measured: so many milliseconds.
struct Measured {
    fastest: f64,
    mean: f64,
}

/// What is measured.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    base: bool,
    volume: bool,
    muscles: usize,
}

const KINDS: [Kind; 5] = [
    Kind { name: "linear blending", base: false, volume: false, muscles: 0 },
    Kind { name: "kinematic", base: true, volume: false, muscles: 0 },
    Kind { name: "kinematic, volume", base: true, volume: true, muscles: 0 },
    Kind { name: "dynamic", base: false, volume: false, muscles: MUSCLES },
    Kind { name: "complete", base: true, volume: true, muscles: MUSCLES },
];

/// Prints the tables.
pub fn run() {
    let work = Workload::tube(VERTICES, BONES);
    println!("one frame, one thread; {} vertices, {BONES} bones, 8 steps", work.positions.len());
    println!("{:<20} {:>9} {:>12} {:>12} {:>9}", "", "ms", "per second", "/ blending", "mean ms");
    let mut blending = None;
    for kind in KINDS {
        let Measured { fastest, mean } = milliseconds(kind, &work, SAMPLES, &Cpu::serial());
        let blending = *blending.get_or_insert(fastest);
        let (name, ratio) = (kind.name, fastest / blending);
        println!("{name:<20} {fastest:>9.3} {:>12.0} {ratio:>12.1} {mean:>9.3}", 1e3 / fastest);
    }
    println!("\n{:<9} {:<18} {:>9} {:>14} {:>9}", "vertices", "", "ms", "µs per vertex", "mean ms");
    for vertices in [1_000, 3_000, 10_000, 30_000, 100_000] {
        let work = Workload::tube(vertices, BONES);
        let vertices = work.positions.len();
        for kind in [KINDS[2], KINDS[3], KINDS[4]] {
            let Measured { fastest, mean } = milliseconds(kind, &work, SAMPLES, &Cpu::serial());
            let each = 1e3 * fastest / vertices as f64;
            println!("{vertices:<9} {:<18} {fastest:>9.3} {each:>14.3} {mean:>9.3}", kind.name);
        }
    }
    println!("\n{:<20} {:>9} {:>14}", "samples", "ms", "µs per sample");
    for samples in [16, 32, 64, 128, 256] {
        let ms = milliseconds(KINDS[3], &work, samples, &Cpu::serial()).fastest;
        let all = MUSCLES * samples;
        println!("{all:<20} {ms:>9.3} {:>14.3}", 1e3 * ms / all as f64);
    }
    println!("\n{:<9} {:<18} {:>9} {:>9} {:>9}", "vertices", "", "1 thread", "2 threads", "times");
    for vertices in [VERTICES, 100_000] {
        let work = Workload::tube(vertices, BONES);
        let vertices = work.positions.len();
        for kind in [KINDS[2], KINDS[3], KINDS[4]] {
            let [one, two] = [1, 2].map(|threads| {
                let pool = pool(threads);
                milliseconds(kind, &work, SAMPLES, &Cpu { pool: Some(&pool), ..Cpu::serial() }).fastest
            });
            println!("{vertices:<9} {:<18} {one:>9.3} {two:>9.3} {:>9.2}", kind.name, one / two);
        }
    }
}

/// Evaluates what is called that so many times, and measures nothing; false if nothing is.
pub fn count(name: &str, frames: usize) -> bool {
    let Some(&kind) = KINDS.iter().find(|kind| kind.name == name) else { return false };
    drawn(kind, &Workload::tube(VERTICES, BONES), SAMPLES, &Cpu::serial(), |draw| (0..frames).for_each(|_| draw()));
    true
}

/// Threads that have a core each.
fn pool(threads: usize) -> rayon::ThreadPool {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let start = move |thread: usize| {
        if let Some(&core) = cores.iter().rev().nth(thread) {
            core_affinity::set_for_current(core);
        }
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(start).build().expect("threads")
}

/// Hands over what evaluates a frame.
fn drawn<T>(kind: Kind, work: &Workload, samples: usize, cpu: &Cpu<'_>, run: impl FnOnce(&mut dyn FnMut()) -> T) -> T {
    let share = if kind.volume { 0.5 } else { 0.0 };
    let mut base = BaseSpec::default();
    if kind.base {
        base = BaseSpec::of(&FOLD_OVER_FREE);
        for (name, value) in [("steps", 8.0), ("alpha", share), ("beta", share)] {
            base.values.set(name, value).expect("a value in range");
        }
    }
    let mut muscles = CorrectionSpec::new("muscles").expect("a correction");
    muscles.values.set("samples", samples as f64).expect("samples in range");
    // Every bone but the last few has one.
    for k in 0..kind.muscles {
        muscles.tables.add("muscles", &format!("tube.{}", k + 1), Row::default()).expect("a muscle");
    }
    let corrections = if kind.muscles > 0 { vec![muscles] } else { Vec::new() };
    let recipe = Recipe { base, corrections, normals: Normals::Faces, ..Recipe::default() };
    let stage = Stage::new(&work.rig, &recipe).expect("the recipe fits the tube");
    assert_eq!(stage.muscles().len(), kind.muscles, "every muscle has a place");
    let mut workspace = Workspace::default();
    let mut posed = work.frame(&stage).on(&stage, &mut workspace);
    run(&mut || black_box(&mut posed).deform(cpu))
}

fn milliseconds(kind: Kind, work: &Workload, samples: usize, cpu: &Cpu<'_>) -> Measured {
    drawn(kind, work, samples, cpu, |draw| {
        draw();
        let (begun, spent, mut fastest, mut frames) = (Instant::now(), on_processor(), Duration::MAX, 0);
        while frames < FRAMES_AT_LEAST || begun.elapsed() < PATIENCE {
            let begun = Instant::now();
            draw();
            fastest = fastest.min(begun.elapsed());
            frames += 1;
        }
        let told = on_processor().zip(spent).map(|(now, then)| now.saturating_sub(then));
        let spent = told.filter(|_| cpu.pool.is_none()).unwrap_or_else(|| begun.elapsed());
        let ms = |time: Duration| 1e3 * time.as_secs_f64();
        Measured { fastest: ms(fastest), mean: ms(spent) / f64::from(frames) }
    })
}

/// How long this thread has been on a processor.
fn on_processor() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
