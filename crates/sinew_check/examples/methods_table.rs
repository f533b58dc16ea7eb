//! What every method does to real characters and to a bent elbow: `cargo xtask methods-table`.
//!
//!     methods_table OUT.md                          the table of the manual
//!     methods_table - [NAMES] [FRAMES] [METHODS]    parts of names of characters (and of "elbow" and "fineness") and of
//!                                                   methods, with commas between; frames of a clip; prints the table
//!
//! Clips: all of up to 8, else 6.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that tells what it finds")]

#[path = "../tests/elbow/mod.rs"]
mod elbow;
#[path = "methods/fineness.rs"]
mod fineness;

use elbow::{Elbow, ROUND, placed};
use glam::DVec3;
use rayon::prelude::*;
use sinew::bind::{BindOptions, Method, bind_skin};
use sinew::{Clip, Cpu, Recipe, RecipeFile, Rig, Stage, Workspace};
use sinew_check::gauge::{Gauge, Reading};
use sinew_gltf::RawAsset;
use sinew_testkit::assets::{assets, folder};
use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

/// By name: the recipe, and how the skin is bound where not by the artist.
const METHODS: [(&str, &str, Option<Method>); 10] = [
    ("linear", "", None),
    ("volume", "[[correction]]\ntype = 'volume'", None),
    (
        "volume both muscle, fold-over",
        "[[correction]]\ntype = 'volume'\nscope = 'both'\nshape = 'muscle'\n[[correction]]\ntype = 'fold-over'",
        None,
    ),
    ("fold-over", "[[correction]]\ntype = 'fold-over'", None),
    ("fold-over-free", "base = 'fold-over-free'", None),
    ("springs", "[[correction]]\ntype = 'springs'", None),
    ("incremental-rotation", "base = 'incremental-rotation'", None),
    ("muscles", "[[correction]]\ntype = 'muscles'", None),
    ("heat", "", Some(Method::Heat)),
    ("distance", "", Some(Method::DISTANCE)),
];
/// Methods that are to halve the crossings.
const HALVE: [&str; 3] = ["fold-over", "fold-over-free", "springs"];
/// Methods that are about the shape of a bend as such.
const BENDS: std::ops::Range<usize> = 0..7;
const FRAMES: usize = 12;
/// Characters with more vertices are looked at in fewer frames.
const HEAVY: (usize, usize) = (9_000, 4);
/// Seconds between two frames that are held against each other.
const STEP: f64 = 1.0 / 480.0;
/// Share of the size: where the fastest point moves less within a step, a pop is held against this.
const STILL: f64 = 1e-3;
/// Characters that cross themselves less often tell nothing about halves.
const ENOUGH: usize = 20;

/// What a method does over the frames of a character.
#[derive(Clone, Copy)]
struct Seen {
    within: usize,
    between: usize,
    stretch: f64,
    thinnest: f64,
    /// Smallest and largest volume over that at rest.
    volume: [f64; 2],
    /// How far a point goes within a step at most, over linear blending's farthest.
    pop: f64,
    milliseconds: f64,
}

impl Seen {
    const NOTHING: Self = Self {
        within: 0,
        between: 0,
        stretch: 0.0,
        thinnest: f64::INFINITY,
        volume: [f64::INFINITY, f64::NEG_INFINITY],
        pop: 0.0,
        milliseconds: 0.0,
    };

    fn see(&mut self, reading: Reading) {
        self.within += reading.within;
        self.between += reading.between;
        self.stretch = self.stretch.max(reading.stretch);
        self.thinnest = self.thinnest.min(reading.thinnest);
        self.volume = [self.volume[0].min(reading.volume), self.volume[1].max(reading.volume)];
    }

    /// Whether it crosses no more than linear blending by 2 % or 5 pairs.
    fn is_no_worse(&self, linear: &Self) -> bool {
        let most = |linear: usize| linear + (linear / 50).max(5);
        self.within <= most(linear.within) && self.between <= most(linear.between)
    }
}

fn farthest(from: &[DVec3], to: &[DVec3]) -> f64 {
    from.iter().zip(to).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn recipe(text: &str) -> Result<Recipe, Box<dyn Error>> {
    Ok(RecipeFile::parse(&format!("version = 1\n{text}\n"))?.recipe().clone())
}

/// The rig as a method has it.
fn rig_of(asset: &RawAsset, method: Option<Method>) -> Result<Arc<Rig>, Box<dyn Error>> {
    let mut raw = asset.raw.clone();
    for skin in 0..if method.is_some() { raw.skins.len() } else { 0 } {
        bind_skin(&mut raw, skin, &BindOptions { method: method.unwrap_or(Method::Heat), influences: 4 })?;
    }
    Ok(Arc::new(Rig::build(&raw)?.0.watching(&asset.clips)))
}

fn chosen(clips: &[Clip]) -> impl Iterator<Item = &Clip> {
    let count = if clips.len() <= 8 { clips.len() } else { 6 };
    (0..count).map(move |k| &clips[k * clips.len() / count])
}

/// One character by several methods; the first is linear blending. `None` where most of the skin has no inside.
fn measure(asset: &RawAsset, methods: &[usize], frames: usize) -> Result<Option<Vec<Seen>>, Box<dyn Error>> {
    let rig = rig_of(asset, None)?;
    let size = rig.characters().iter().map(|character| character.size).fold(0.0, f64::max);
    let frames = if rig.vertex_count() > HEAVY.0 { frames.min(HEAVY.1) } else { frames };
    let mut workspace = Workspace::default();
    Stage::new(&rig, &Recipe::default())?.resting(&mut workspace).deform(&Cpu::serial());
    let mut gauge = Gauge::new(&rig, &placed(&rig, workspace.mesh()));
    if !gauge.is_nearly_closed() {
        return Ok(None);
    }
    let mut steps: Vec<f64> = Vec::new();
    let mut out = Vec::new();
    for &method in methods {
        let (_, text, bound) = METHODS[method];
        let rig = rig_of(asset, bound)?;
        let stage = Stage::new(&rig, &recipe(text)?)?;
        let (mut seen, mut looked, mut workspace) = (Seen::NOTHING, 0, Workspace::default());
        for clip in chosen(&asset.clips) {
            let playing = stage.motion(clip, &Default::default())?;
            let (start, end) = clip.span().unwrap_or_default();
            for frame in 0..frames {
                let time = start + (end - start) * (frame as f64 + 0.5) / frames as f64;
                playing.frame((time + STEP).min(end), &mut workspace);
                let next = placed(&rig, workspace.mesh());
                let begun = Instant::now();
                playing.frame(time, &mut workspace);
                seen.milliseconds += begun.elapsed().as_secs_f64() * 1e3;
                let points = placed(&rig, workspace.mesh());
                let step = farthest(&points, &next) / size;
                if steps.len() <= looked {
                    steps.push(step.max(STILL));
                }
                seen.pop = seen.pop.max(step / steps[looked]);
                seen.see(gauge.read(&points));
                looked += 1;
            }
        }
        seen.milliseconds /= looked.max(1) as f64;
        out.push(seen);
    }
    Ok(Some(out))
}

const HEAD: &str = "\
# What every method does to real characters

`cargo xtask methods-table` writes this page, from every skinned, animated character of `SINEW_ASSETS` whose skin is closed or
nearly so: all clips of up to 8, else 6; 12 frames of each, 4 of heavy characters. *crossings* are pairs of triangles that cross
and do not at rest, summed over all frames, within connected pieces and between them. *stretch* is the longest an edge gets and
*thinnest* the thinnest a limb gets, both over rest. *volume* is the smallest and largest over rest, in percent. *pop* is how far
any point goes within 1/480 s, over how far linear blending's fastest goes, or a thousandth of the size if that is more.

| character | method | crossings within | between | stretch | thinnest | volume | pop |
|---|---|---|---|---|---|---|---|
";

fn characters(only: &str, frames: usize, methods: &[usize], text: &mut String) -> Result<(), Box<dyn Error>> {
    let folder = folder().ok_or("SINEW_ASSETS must name the folder of characters")?;
    let paths = assets();
    let name =
        |path: &std::path::PathBuf| path.strip_prefix(&folder).unwrap_or(path).with_extension("").display().to_string();
    let names: Vec<String> = paths.iter().map(name).collect();
    // Of copies that differ in fineness alone, the coarse one.
    let finer = |name: &str| names.iter().any(|other| other != name && name.starts_with(&format!("{other}_sub")));
    let rows: Vec<_> = (paths.par_iter().zip(&names).with_max_len(1))
        .filter(|(_, name)| only.split(',').any(|word| name.contains(word)) && !finer(name))
        .filter_map(|(path, name)| {
            let asset =
                RawAsset::open(path).ok().filter(|asset| !asset.clips.is_empty() && !asset.raw.skins.is_empty())?;
            let outcome = measure(&asset, methods, frames).map_err(|error| format!("{name}: {error}")).transpose()?;
            eprintln!("{name}");
            Some(outcome.map(|seen| (name, seen)))
        })
        .collect::<Result<_, String>>()?;
    for (name, seen) in &rows {
        let linear = &seen[0];
        for (&method, seen) in methods.iter().zip(seen) {
            let Seen { within, between, stretch, thinnest, volume: [low, high], pop, milliseconds } = seen;
            let worse = if seen.is_no_worse(linear) { "" } else { " **!**" };
            let percent = |volume: f64| 100.0 * (volume - 1.0);
            let method = METHODS[method].0;
            eprintln!("{name:<28} {method:<30} {milliseconds:.1} ms");
            writeln!(
                text,
                "| {name} | {method} | {within}{worse} | {between} | {stretch:.2} | {thinnest:.2} | {:+.1} … {:+.1} | {pop:.1} |",
                percent(*low),
                percent(*high)
            )?;
        }
    }
    writeln!(
        text,
        "\n**!** marks more crossings than linear blending's by more than 2 % and 5 pairs, within or between.\n"
    )?;
    for (k, &method) in methods.iter().enumerate().skip(1) {
        let enough = rows.iter().filter(|row| row.1[0].within >= ENOUGH);
        let ratios: Vec<f64> = enough.map(|row| row.1[k].within as f64 / row.1[0].within as f64).collect();
        let worse: Vec<&str> =
            rows.iter().filter(|row| !row.1[k].is_no_worse(&row.1[0])).map(|row| row.0.as_str()).collect();
        let name = METHODS[method].0;
        write!(
            text,
            "- {name}: crossings within are {:.2} of linear blending's{} in the mean of {} characters where that has {ENOUGH} or \
             more; ",
            ratios.iter().sum::<f64>() / ratios.len() as f64,
            if HALVE.contains(&name) { " (to be at most 0.5)" } else { "" },
            ratios.len(),
        )?;
        match worse.len() {
            0 => writeln!(text, "nowhere more by 2 % and 5 pairs.")?,
            count => writeln!(text, "more on {count} of {}: {}.", rows.len(), worse.join(", "))?,
        }
    }
    Ok(())
}

/// The built-in arm, its elbow bent.
fn bends(methods: &[usize], text: &mut String) -> Result<(), Box<dyn Error>> {
    writeln!(
        text,
        "\n## A bent elbow\n\nThe built-in arm, its elbow bent from 0° to 150° in steps of 5°. *crossings* are summed over all angles; \
         *more than linear* is\nthe most by which any angle has more. *sharpness* is the largest turn of the outer line, seen at \
         2 % of the size, over that of a\ncircular arc about the joint: {ROUND} and less is round. *pop* is the farthest any point \
         goes within a step, over linear\nblending's.\n\n| method | crossings | more than linear | sharpness | at | pop | at |\n\
         |---|---|---|---|---|---|---|"
    )?;
    let elbow = Elbow::new();
    let mut gauge = Gauge::new(&elbow.rig, &elbow.rest);
    let angles: Vec<f64> = (0..=150).step_by(5).map(f64::from).collect();
    let mut linear: Vec<(usize, f64)> = Vec::new();
    for &method in methods.iter().filter(|&method| BENDS.contains(method)) {
        let (name, source, _) = METHODS[method];
        let recipe = recipe(source)?;
        let (mut sum, mut more, mut sharp, mut pop) = (0, 0_i64, (0.0, 0.0), (0.0, 0.0));
        let mut before: Option<Vec<DVec3>> = None;
        for (k, &degrees) in angles.iter().enumerate() {
            let frame = elbow.bent(&recipe, degrees);
            let crossings = gauge.read(&frame).within;
            let step = before.as_ref().map_or(0.0, |before| farthest(before, &frame));
            if linear.len() <= k {
                linear.push((crossings, step));
            }
            sum += crossings;
            more = more.max(crossings as i64 - linear[k].0 as i64);
            let sharpness = elbow.sharpness(&frame, degrees);
            sharp = if sharpness > sharp.0 { (sharpness, degrees) } else { sharp };
            let ratio = if linear[k].1 > 0.0 { step / linear[k].1 } else { 0.0 };
            pop = if ratio > pop.0 { (ratio, degrees) } else { pop };
            before = Some(frame);
        }
        writeln!(text, "| {name} | {sum} | {more} | {:.2} | {}° | {:.2} | {}° |", sharp.0, sharp.1, pop.0, pop.1)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let out = args.first().map_or("docs/methods.md", String::as_str);
    let only = args.get(1).map_or("", String::as_str);
    let frames = args.get(2).map_or(Ok(FRAMES), |frames| frames.parse())?;
    let wanted = args.get(3).map_or("", String::as_str);
    let is_wanted = |method: &usize| *method == 0 || wanted.split(',').any(|word| METHODS[*method].0.contains(word));
    let methods: Vec<usize> = (0..METHODS.len()).filter(is_wanted).collect();
    let mut text = HEAD.to_owned();
    characters(only, frames, &methods, &mut text)?;
    let is_asked = |part: &str| only.split(',').any(|word| part.contains(word));
    if is_asked("elbow") {
        bends(&methods, &mut text)?;
    }
    if is_asked("fineness") {
        let named = |name: &str| METHODS.iter().find(|method| method.0 == name).map(|method| recipe(method.1));
        fineness::table(|name| named(name).unwrap_or_else(|| recipe("")), &mut text)?;
    }
    if out == "-" {
        println!("{text}");
    } else {
        std::fs::write(out, text)?;
    }
    Ok(())
}
