//! `sinew_bench kinodynamic`: milliseconds per frame of kinodynamic skinning, one thread.
//!
//! *Kinematic* is the base `fold-over-free` in 8 steps of second order, with and without its volume term; *dynamic* is linear
//! blending with a muscle in each of so many bones; *complete* is both, on 19 bones. Then the same over the number of
//! vertices, and over the samples of the muscles: a cost that is linear has equal times for each.
//!
//! Frames last long enough to be interrupted, so what counts is the time that the thread was on a processor (where the
//! system tells, as Linux does), in the mean over many frames.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sinew::correct::MuscleSpec;
use sinew::kinodynamic::FoldOverFreeSpec;
use sinew::recipe::{BaseSpec, CorrectionSpec, Normals};
use sinew::{Cpu, DeformedMesh, Frame, FrameIndependentGraph, Recipe, Scratch, evaluate};

use crate::data::{self, PosedFrame, Workload};

/// The name on the command line.
pub const NAME: &str = "kinodynamic";
const BONES: usize = 19;
const VERTICES: usize = 8_000;
const MUSCLES: usize = 12;
const SAMPLES: usize = 64;
/// How long each is measured, and by how many frames at least.
const PATIENCE: Duration = Duration::from_millis(700);
const FRAMES_AT_LEAST: u32 = 3;

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

/// Prints the three tables.
pub fn run() {
    let work = Workload::tube(VERTICES, BONES);
    println!("one frame, one thread, mean of many; {} vertices, {BONES} bones, 8 steps", work.positions.len());
    println!("{:<20} {:>9} {:>12} {:>12}", "", "ms", "per second", "/ blending");
    let mut blending = None;
    for kind in KINDS {
        let ms = milliseconds(kind, &work, SAMPLES);
        let blending = *blending.get_or_insert(ms);
        println!("{:<20} {ms:>9.3} {:>12.0} {:>12.1}", kind.name, 1e3 / ms, ms / blending);
    }
    println!("\n{:<20} {:>9} {:>9} {:>14}", "vertices", "", "ms", "µs per vertex");
    for vertices in [1_000, 3_000, 10_000, 30_000, 100_000] {
        let work = Workload::tube(vertices, BONES);
        let vertices = work.positions.len();
        for kind in [KINDS[2], KINDS[3], KINDS[4]] {
            let ms = milliseconds(kind, &work, SAMPLES);
            println!("{vertices:<20} {:>9} {ms:>9.3} {:>14.3}", kind.name, 1e3 * ms / vertices as f64);
        }
    }
    println!("\n{:<20} {:>9} {:>14}", "samples", "ms", "µs per sample");
    for samples in [16, 32, 64, 128, 256] {
        let ms = milliseconds(KINDS[3], &work, samples);
        let all = MUSCLES * samples;
        println!("{all:<20} {ms:>9.3} {:>14.3}", 1e3 * ms / all as f64);
    }
}

fn milliseconds(kind: Kind, work: &Workload, samples: usize) -> f64 {
    let share = if kind.volume { 0.5 } else { 0.0 };
    let free = FoldOverFreeSpec { steps: Some(8), alpha: share, beta: share, ..FoldOverFreeSpec::default() };
    let base = if kind.base { BaseSpec::FoldOverFree(free) } else { BaseSpec::Lbs };
    let mut muscles = CorrectionSpec::new("muscles").expect("a correction");
    muscles.values.set("samples", samples as f64).expect("samples in range");
    // Every bone but the last few has one.
    let bone = |k: usize| (format!("tube.{}", k + 1), MuscleSpec::default());
    muscles.muscles = (0..kind.muscles).map(bone).collect();
    let corrections = if kind.muscles > 0 { vec![muscles] } else { Vec::new() };
    let recipe = Recipe { base, corrections, normals: Normals::Faces, ..Recipe::default() };
    let graph = FrameIndependentGraph::build(&work.rig, &recipe).expect("the recipe fits the tube");
    assert_eq!(graph.muscles().len(), kind.muscles, "every muscle has a place");
    let PosedFrame { pose, world, kinematics } = &work.frame(&graph);
    let frame = Frame { rig: &work.rig, pose, world, kinematics, time: data::TIME };
    let (mut scratch, mut out) = (Scratch::default(), DeformedMesh::default());
    let mut draw = || evaluate(&graph, black_box(&frame), &Cpu::serial(), &mut scratch, black_box(&mut out));
    draw();
    let (begun, spent, mut frames) = (Instant::now(), on_processor(), 0);
    while frames < FRAMES_AT_LEAST || begun.elapsed() < PATIENCE {
        draw();
        frames += 1;
    }
    let spent = on_processor().zip(spent).map_or_else(|| begun.elapsed(), |(now, then)| now.saturating_sub(then));
    1e3 * spent.as_secs_f64() / f64::from(frames)
}

/// How long this thread has been on a processor.
fn on_processor() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
