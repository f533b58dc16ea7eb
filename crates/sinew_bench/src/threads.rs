//! `sinew_bench threads`: what two threads gain over one, and how near linear blending comes to copying memory.

use std::hint::black_box;

use sinew::base::{BaseEntry, DQS};
use sinew::kinodynamic::FOLD_OVER_FREE;
use sinew::recipe::{BaseSpec, Normals};
use sinew::{Cpu, DeformedRows, Recipe, Stage, Workspace};

use crate::PATIENCE;
use crate::cases;
use crate::data::Workload;
use crate::stopwatch::Stopwatch;

/// Bytes of a vertex that linear blending has to read and write: rest and result, position and normal, four weights.
const LBS_BYTES: f64 = 12.0 * 4.0 + 16.0;

/// Prints the table.
pub fn run() {
    let work = Workload::tube(100_000, 12);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    let count = work.positions.len() as f64;
    println!("zoo:tube of {count} vertices and 12 bones, nanoseconds per vertex\n");
    println!("{:<34} {:>10} {:>12} {:>8}", "case", "one thread", "two threads", "gain");
    let line = |name: &str, [one, two]: [f64; 2]| {
        println!("{name:<34} {:>10.2} {:>12.2} {:>7.2}x", one * 1e9 / count, two * 1e9 / count, one / two);
    };
    let of_base = |base: &'static BaseEntry| Recipe { base: BaseSpec::of(base), ..Recipe::default() };
    let mut lbs_rows = f64::NAN;
    for (name, recipe) in [
        ("lbs", Recipe::default()),
        ("dqs", of_base(&DQS)),
        ("velocity", cases::velocity(Normals::Engine)),
        ("velocity, exact normals", cases::velocity(Normals::Exact)),
        ("velocity, normals from faces", cases::velocity(Normals::Faces)),
        ("volume of the whole", cases::corrected("volume", "whole")),
        ("volume of segments too", cases::corrected("volume", "both")),
        ("springs", cases::corrected("springs", "")),
        ("fold-over-free", of_base(&FOLD_OVER_FREE)),
    ] {
        let stage = Stage::new(&work.rig, &recipe).expect("the recipe fits any rig");
        let (mut workspace, mut rows) = (Workspace::default(), DeformedRows::default());
        let mut posed = work.frame(&stage).on(&stage, &mut workspace);
        let cpus = [Cpu::serial(), Cpu { pool: Some(&pool), ..Cpu::serial() }];
        line(name, cpus.map(|cpu| time(|| black_box(&mut posed).deform(&cpu))));
        if name == "lbs" {
            let both = cpus.map(|cpu| time(|| black_box(&mut posed).deform_rows(&cpu, &mut rows)));
            line("lbs, in rows", both);
            lbs_rows = both[1];
        }
    }
    // As many bytes as the blending moves, half of them read and half written.
    let floats = (count * LBS_BYTES / 8.0) as usize;
    let (from, mut to) = (vec![1.0f32; floats], vec![0.0f32; floats]);
    let copy = |to: &mut [f32]| {
        let half = to.len() / 2;
        let (left, right) = to.split_at_mut(half);
        let (first, second) = black_box(&from[..]).split_at(half);
        pool.join(|| left.copy_from_slice(first), || right.copy_from_slice(second));
    };
    let seconds = time(|| copy(black_box(&mut to)));
    line("copying as many bytes", [seconds, seconds]);
    println!("\ntwo threads blend in rows at {:.0} % of the speed they copy at", 100.0 * seconds / lbs_rows);
}

fn time(frame: impl FnMut()) -> f64 {
    let mut stopwatch = Stopwatch::new(PATIENCE);
    stopwatch.time(frame);
    stopwatch.fastest().as_secs_f64()
}
