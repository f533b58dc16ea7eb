//! `sinew_bench springs`: what an iteration of the springs costs beside the plain loop, and one of ARAP.

use std::hint::black_box;
use std::time::Instant;

use glam::DVec3;
use sinew::recipe::CorrectionSpec;
use sinew::strokes::{Reach, Region};
use sinew::{Cpu, Recipe, Stage, Workspace};
use sinew_author::Arap;

use crate::data::{Skinned, Workload};
use crate::plain;

/// Iterations that a frame is timed with; the cost of one is the difference over the difference.
const FEW: f64 = 5.0;
const MANY: f64 = 45.0;
/// Frames that are timed at least; the fastest counts.
const FRAMES: usize = 5;

/// Prints the table.
pub fn run() {
    println!("one iteration on zoo:tube of 12 bones, one thread, beside the plain loop of linear blending\n");
    println!("{:<24} {:>9} {:>10} {:>9}", "case", "vertices", "ns/vertex", "/ plain");
    for vertices in [10_000, 100_000] {
        let work = Workload::tube(vertices, 12);
        let count = work.positions.len();
        let per_vertex = |secs: f64| secs * 1e9 / count as f64;
        let mut out = Skinned::for_workload(&work);
        let mut many = || (0..MANY as usize).for_each(|_| plain::skin(black_box(&work), black_box(&mut out)));
        let plain_ns = per_vertex(fastest(&mut many) / MANY);
        println!("{:<24} {count:>9} {plain_ns:>10.2} {:>9.2}", "plain loop", 1.0);
        for scheme in ["plain", "accelerated"] {
            let [few, many] = [FEW, MANY].map(|iterations| frame(&work, scheme, iterations));
            let ns = per_vertex((many - few) / (MANY - FEW));
            println!("{:<24} {count:>9} {ns:>10.2} {:>9.2}", format!("springs, {scheme}"), ns / plain_ns);
        }
    }
    let (count, passive, millis) = arap();
    println!("\nARAP, {count} vertices of which {passive} give way: {millis:.2} ms an iteration");
}

/// Seconds of a frame with so many iterations.
fn frame(work: &Workload, scheme: &str, iterations: f64) -> f64 {
    let mut springs = CorrectionSpec::new("springs").expect("there are springs");
    springs.values.set("iterations", iterations).expect("in range");
    springs.values.choose("until", "iterations").expect("a word");
    springs.values.choose("scheme", scheme).expect("a word");
    let recipe = Recipe { corrections: vec![springs], ..Recipe::default() };
    let stage = Stage::new(&work.rig, &recipe).expect("the recipe fits any rig");
    let mut workspace = Workspace::default();
    let mut posed = work.frame(&stage).on(&stage, &mut workspace);
    let mut run = || black_box(&mut posed).deform(&Cpu::serial());
    run();
    fastest(&mut run)
}

/// Seconds of the fastest of several runs, at least [`FRAMES`] and as many as a second has room for.
fn fastest(run: &mut dyn FnMut()) -> f64 {
    let all = Instant::now();
    let (mut best, mut runs) = (f64::INFINITY, 0);
    while runs < FRAMES || all.elapsed().as_secs_f64() < 1.0 {
        let clock = Instant::now();
        run();
        best = best.min(clock.elapsed().as_secs_f64());
        runs += 1;
    }
    best
}

/// Vertices, those that give way, and milliseconds of an iteration: a tube whose ends are held, one of them turned.
fn arap() -> (usize, usize, f64) {
    let work = Workload::tube(10_000, 2);
    let rig = &work.rig;
    let rest: Vec<DVec3> = (0..rig.slots()).map(|slot| rig.rest().get(slot).as_dvec3()).collect();
    let (low, high) = rest.iter().fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.y), h.max(p.y)));
    let is_end = |p: &DVec3| p.y < low + 0.1 * (high - low) || p.y > high - 0.1 * (high - low);
    let used: std::collections::BTreeSet<u32> = rig.point_of_vertex().iter().copied().collect();
    let ends: Vec<u32> = used.iter().copied().filter(|&slot| is_end(&rest[slot as usize])).collect();
    let region = Region::grow(&rest, rig.adjacency(), &ends, Reach::Rings(usize::MAX));
    let arap = Arap::new(&rest, rig.point_triangles(), &region).expect("both ends are held");
    let turn = glam::DQuat::from_rotation_y(1.0);
    let mut points = rest.clone();
    for &slot in &ends {
        let p = rest[slot as usize];
        points[slot as usize] = if p.y > 0.5 * (low + high) { turn * p } else { p };
    }
    let clock = |iterations: usize| {
        let mut run = || {
            black_box(arap.solve(&rest, &mut points.clone(), iterations));
        };
        fastest(&mut run) * 1e3
    };
    let millis = (clock(21) - clock(1)) / 20.0;
    (used.len(), region.passive().len(), millis)
}
