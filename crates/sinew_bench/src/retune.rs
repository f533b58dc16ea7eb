//! `sinew_bench retune`: what it costs to change a number, or a painted map, beside a frame.

use std::hint::black_box;

use sinew::maps::PointMap;
use sinew::recipe::CorrectionSpec;
use sinew::{Cpu, Recipe, RecipeFile, Stage, Workspace, presets};

use crate::PATIENCE;
use crate::data::Workload;
use crate::stopwatch::Stopwatch;

/// Prints the table.
pub fn run() {
    let work = Workload::tube(10_000, 12);
    println!("changes on zoo:tube of 10,000 vertices and 12 bones, one thread, beside a frame and a new stage\n");
    println!("{:<34} {:>9} {:>9} {:>9} {:>9}", "change", "frame ms", "ms", "/ frame", "new ms");
    let lively = RecipeFile::parse(presets::get("lively").expect("a preset")).expect("sound");
    let mut lively = lively.recipe().without_strength();
    // The tube has no ears.
    lively.effects.retain(|effect| effect.parts.is_empty());
    let with = |name: &str| {
        let correction = CorrectionSpec::new(name).expect("a correction");
        Recipe { corrections: vec![correction], ..Recipe::default() }
    };
    number(&work, "lively: an amount", &lively, |recipe, on| {
        recipe.effects[0].values.set("rotation", if on { 0.07 } else { 0.09 }).expect("in range");
    });
    number(&work, "lively: a gain", &lively, |recipe, on| recipe.effects[0].gain = if on { 1.0 } else { 0.8 });
    paint(&work, "lively: a painted map", &lively, |recipe, map| recipe.effects[0].map = Some(map));
    number(&work, "volume: gain", &with("volume"), |recipe, on| {
        recipe.corrections[0].gain = if on { 1.0 } else { 0.8 }
    });
    number(&work, "volume: alpha", &with("volume"), |recipe, on| {
        recipe.corrections[0].values.set("alpha", if on { 1.0 } else { 2.0 }).expect("in range");
    });
    paint(&work, "volume: a painted map", &with("volume"), |recipe, map| recipe.corrections[0].map = Some(map));
    number(&work, "springs: gain", &with("springs"), |recipe, on| {
        recipe.corrections[0].gain = if on { 1.0 } else { 0.8 }
    });
    number(&work, "springs: surface", &with("springs"), |recipe, on| {
        recipe.corrections[0].values.set("surface", if on { 1.0 } else { 2.0 }).expect("in range");
    });
    paint(&work, "springs: a painted map", &with("springs"), |recipe, map| recipe.corrections[0].map = Some(map));
}

fn number(work: &Workload, name: &str, recipe: &Recipe, set: impl Fn(&mut Recipe, bool)) {
    let [one, other] = [true, false].map(|on| {
        let mut recipe = recipe.clone();
        set(&mut recipe, on);
        recipe
    });
    let mut stage = Stage::new(&work.rig, &one).expect("fits any rig");
    let mut on = true;
    let millis = fastest(|| {
        on = !on;
        let retuned = stage.retune(black_box(if on { &one } else { &other })).expect("fits any rig");
        assert!(!retuned.rebuilt, "{name} is a number");
    });
    row(work, name, &stage, millis);
}

fn paint(work: &Workload, name: &str, recipe: &Recipe, set: impl Fn(&mut Recipe, String)) {
    let mut recipe = recipe.clone();
    set(&mut recipe, "paint".to_owned());
    let maps = [3, 5].map(|k| PointMap::from_fn(&work.rig, |slot| ((slot * k) as f32 * 0.01).sin().abs()));
    let mut stage = Stage::new(&work.rig, &Recipe::default()).expect("fits any rig");
    let paint = |stage: &mut Stage, k: usize| stage.repaint("paint", maps[k].clone()).expect("made for the rig");
    let _ = paint(&mut stage, 0);
    let _ = stage.retune(&recipe).expect("the map is there");
    let mut on = false;
    let millis = fastest(|| {
        on = !on;
        let retuned = paint(black_box(&mut stage), usize::from(on));
        assert!(!retuned.rebuilt, "{name} is values");
    });
    row(work, name, &stage, millis);
}

fn row(work: &Workload, name: &str, stage: &Stage, millis: f64) {
    let mut workspace = Workspace::default();
    let mut posed = work.frame(stage).on(stage, &mut workspace);
    let frame = fastest(|| black_box(&mut posed).deform(&Cpu::serial()));
    let mut anew = Stage::new(&work.rig, &Recipe::default()).expect("fits any rig");
    for map in stage.painted() {
        let _ = anew.repaint(&map.name, PointMap::from_vertex_map(&work.rig, map)).expect("made for the rig");
    }
    let built = fastest(|| {
        let _ = anew.retune(stage.recipe()).expect("fits");
        let _ = anew.retune(&Recipe::default()).expect("fits any rig");
    });
    println!("{name:<34} {frame:>9.3} {millis:>9.4} {:>9.4} {built:>9.2}", millis / frame);
}

fn fastest(run: impl FnMut()) -> f64 {
    let mut watch = Stopwatch::new(PATIENCE);
    watch.time(run);
    watch.fastest().as_secs_f64() * 1e3
}
