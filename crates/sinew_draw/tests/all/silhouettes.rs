//! Outlines redrawn: where the outline of the picture is afterwards, which the rasteriser says and not the code that
//! moved it, and that the edit follows the clip. `SINEW_FULL=1` draws ten views of each character, `SINEW_PICTURES=DIR`
//! keeps pictures.

use crate::common::{Photo, Subject, is_full};
use glam::{DVec2, DVec3};
use sinew::Recipe;
use sinew_draw::redraw::{Surface, redraw};
use sinew_draw::{ScreenSample, ScreenStroke};
use sinew_render::{Hit, Size, View};
use sinew_testkit::random::Random;
use std::collections::BTreeMap;

const SIDE: u32 = 1080;
/// How far outlines are redrawn, in sizes.
const AMOUNT: f64 = 0.03;

/// The longest border of what a picture shows, along the edges of pixels, as a ring; the inside is on one side.
fn border(hits: &[Option<Hit>], size: Size) -> Vec<DVec2> {
    let (w, h) = (i64::from(size.width()), i64::from(size.height()));
    let is_in = |x: i64, y: i64| (0..w).contains(&x) && (0..h).contains(&y) && hits[(y * w + x) as usize].is_some();
    let mut next: BTreeMap<(i64, i64), Vec<(i64, i64)>> = BTreeMap::new();
    for (x, y) in (0..h).flat_map(|y| (0..w).map(move |x| (x, y))).filter(|&(x, y)| is_in(x, y)) {
        let mut side = |from: (i64, i64), to: (i64, i64)| next.entry(from).or_default().push(to);
        if !is_in(x, y - 1) {
            side((x, y), (x + 1, y));
        }
        if !is_in(x + 1, y) {
            side((x + 1, y), (x + 1, y + 1));
        }
        if !is_in(x, y + 1) {
            side((x + 1, y + 1), (x, y + 1));
        }
        if !is_in(x - 1, y) {
            side((x, y + 1), (x, y));
        }
    }
    let mut longest: Vec<DVec2> = Vec::new();
    while let Some((&start, _)) = next.iter().next() {
        let (mut at, mut ring) = (start, Vec::new());
        while let Some(ways) = next.get_mut(&at) {
            ring.push(DVec2::new(at.0 as f64, at.1 as f64));
            let to = ways.pop().expect("a way");
            if ways.is_empty() {
                next.remove(&at);
            }
            at = to;
        }
        if ring.len() > longest.len() {
            longest = ring;
        }
    }
    longest
}

fn smooth(ring: &[DVec2], by: usize) -> Vec<DVec2> {
    let n = ring.len();
    let mean = |i: usize| (0..=2 * by).map(|k| ring[(i + n + k - by) % n]).sum::<DVec2>() / (2 * by + 1) as f64;
    (0..n).map(mean).collect()
}

fn nearest(line: &[DVec2], p: DVec2) -> f64 {
    line.iter().map(|q| q.distance_squared(p)).fold(f64::INFINITY, f64::min).sqrt()
}

/// A part of an outline and what an artist draws over it.
struct Drawn {
    /// On the ring, from, and how many.
    part: (usize, usize),
    /// Pixels.
    by: f64,
    stroke: Vec<DVec2>,
}

/// The outline of a part moved outward or inward by a smooth hump; `None` where no sensible line results: it would turn
/// too much, cross itself or the rest of the outline, or go through a thin limb.
fn drawn(ring: &[DVec2], hits: &[Option<Hit>], size: Size, start: usize, length: usize, by: f64) -> Option<Drawn> {
    let n = ring.len();
    // Pixel edges of a slanted line are √2 too long.
    let even = smooth(ring, 6);
    let at = |i: usize| even[(start + i) % n];
    let direction = |i: usize| (at(i + 8) - at(i + n - 8)).normalize_or_zero();
    let turned: f64 = (1..length).map(|i| direction(i).angle_to(direction(i - 1)).abs()).sum();
    if turned > 1.6 {
        return None;
    }
    // The inside lies to the right of the way, rows running downwards.
    let outward = |i: usize| -direction(i).perp();
    let hump = |i: usize| (std::f64::consts::PI * i as f64 / length as f64).sin().powi(2);
    let stroke: Vec<DVec2> = (0..=length).map(|i| at(i) + outward(i) * (by * hump(i))).collect();
    let forward = stroke.windows(2).enumerate().all(|(i, pair)| (pair[1] - pair[0]).dot(direction(i)) > 0.2);
    let is_in = |p: DVec2| {
        size.index(p.x as u32, p.y as u32).is_some_and(|index| p.min_element() >= 0.0 && hits[index].is_some())
    };
    // Room on the side it goes to: for twice the way, or the limb three times as thick.
    let room = |i: usize| {
        let steps = if by > 0.0 { 2.0 * by } else { -3.0 * by };
        (3..steps as usize).all(|d| is_in(at(i) + outward(i) * (d as f64 * by.signum())) == (by < 0.0))
    };
    let fits = stroke.iter().all(|p| p.min_element() > 4.0 && p.max_element() < f64::from(SIDE) - 4.0);
    (forward && fits && (0..=length).step_by(3).all(room)).then_some(Drawn {
        part: (start, length),
        by: by.abs(),
        stroke,
    })
}

struct Result {
    /// Share of the stroke that the new outline lies within two pixels of.
    met: f64,
    farthest: f64,
    /// How far skin on the rest of the outline went, in pixels.
    opposite: f64,
}

fn measure(photo: &Photo, triangles: &[[u32; 3]], before: &[DVec3], after: &[DVec3], drawn: &Drawn) -> Result {
    let now = border(&photo.hits(triangles, after), photo.size);
    let away: Vec<f64> = drawn.stroke.iter().map(|p| nearest(&now, *p)).collect();
    let met = away.iter().filter(|&&d| d <= 2.0).count() as f64 / away.len() as f64;
    // The rest of the outline: how far what its pixels see has gone. They lie up to a pixel inside it, where skin may give way
    // under an outline that stays to the pixel: that is none of it.
    let hits = photo.hits(triangles, before);
    let ring = border(&hits, photo.size);
    let n = ring.len();
    let (start, length) = drawn.part;
    let projector = photo.projector();
    // As far as the skin follows around the ends; along pixel edges a slanted line is √2 times as long.
    let beside = (3.0 * std::f64::consts::SQRT_2 * drawn.by) as usize;
    let mut opposite = 0.0f64;
    for i in length + beside..n.saturating_sub(beside) {
        let p = ring[(start + i) % n];
        for (x, y) in [(0.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (-1.0, -1.0)] {
            let index = photo.size.index((p.x + x).max(0.0) as u32, (p.y + y).max(0.0) as u32);
            let Some(hit) = index.and_then(|index| hits[index]) else { continue };
            let place = |points: &[DVec3]| {
                let corners = triangles[hit.triangle as usize].map(|v| points[v as usize]);
                let p: DVec3 = corners.iter().zip(hit.barycentrics).map(|(p, share)| *p * share).sum();
                DVec2::from(projector.project(p).pixel().expect("seen"))
            };
            let moved = place(before).distance(place(after));
            if moved > opposite {
                opposite = opposite.max(moved.min(nearest(&now, p)));
            }
        }
    }
    Result { met, farthest: away.iter().copied().fold(0.0, f64::max), opposite }
}

fn stroke_of(photo: &Photo, line: &[DVec2]) -> ScreenStroke {
    let sample =
        |(i, p): (usize, &DVec2)| ScreenSample { pixel: [p.x, p.y], time_secs: i as f64 * 0.01, pressure: 1.0 };
    ScreenStroke::new(photo.projector(), line.iter().enumerate().step_by(4).map(sample).collect()).expect("a stroke")
}

fn try_views(subject: &Subject, views: usize) -> Vec<usize> {
    let stage = subject.edit_stage();
    let size = subject.size();
    let clip = subject.clips.first();
    let time = clip.and_then(|clip| clip.span()).map_or(0.0, |(start, end)| start + 0.37 * (end - start));
    let (world, before) = subject.frame(&Recipe::default(), clip, time);
    let triangles = stage.skin().triangles();
    let surface = Surface { triangles, adjacency: stage.skin().adjacency(), points: &before, size };
    let mut random = Random::new(23);
    let mut failed = Vec::new();
    for view in 0..views {
        let azimuth = (view as f64 + 0.3) * std::f64::consts::TAU / 10.0;
        let elevation = 0.1 + 0.05 * (view % 3) as f64;
        let photo = Photo::framing(&before, View::Angles { azimuth, elevation }, SIDE);
        let hits = photo.hits(triangles, &before);
        let ring = border(&hits, photo.size);
        let middle = before.iter().sum::<DVec3>() / before.len() as f64;
        let projector = photo.projector();
        let pixel = projector.pixel_size(projector.project(middle).depth);
        let by = AMOUNT * size / pixel;
        let drawn = (0..4000)
            .find_map(|k| {
                let by = if (view + k / 1000) % 3 == 2 { -by } else { by };
                let length = (random.between(7.0, 12.0) * by.abs()) as usize;
                drawn(&ring, &hits, photo.size, random.below(ring.len()), length, by)
            })
            .expect("an outline that can be redrawn");
        let stroke = stroke_of(&photo, &drawn.stroke);
        let begun = std::time::Instant::now();
        let pulled = redraw(&surface, &stroke, None).expect("an outline under the stroke");
        let took = begun.elapsed();
        let result = measure(&photo, triangles, &before, &pulled.points, &drawn);
        println!(
            "{} view {view}: {:.1} % of the stroke met, {:.2} px at most; opposite {:.3} px; {took:.0?}",
            subject.name,
            100.0 * result.met,
            result.farthest,
            result.opposite
        );
        if let Some(folder) = std::env::var_os("SINEW_PICTURES") {
            let red = [220, 30, 30];
            let pictures = [("before", &before), ("after", &pulled.points)]
                .map(|(what, points)| (what, photo.draw(triangles, points, &[(&drawn.stroke, red)])));
            for (what, image) in pictures {
                let name = format!("{}-{view}-{what}.png", subject.name.replace([':', '.'], "_"));
                let file = std::fs::File::create(std::path::Path::new(&folder).join(name)).expect("a folder");
                sinew_render::encode::write_png(file, &image).expect("written");
            }
        }
        if result.met < 0.95 || result.opposite > 0.5 {
            failed.push(view);
        }
        if view == 0 {
            follows(subject, &world, &before, &pulled, time);
        }
    }
    failed
}

/// Stored as an edit it is met where it was drawn and neither fades nor pops over the clip.
fn follows(subject: &Subject, world: &sinew::WorldPose, before: &[DVec3], pulled: &sinew_author::Pulled, time: f64) {
    let size = subject.size();
    let (edited, recipe) = subject.with_edit("redrawn", world, before, pulled);
    let clip = edited.clips.first();
    let (_, there) = edited.frame(&recipe, clip, time);
    let farthest = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max) / size;
    let (off, made) = (farthest(&there, &pulled.points), farthest(before, &pulled.points));
    println!("  stored: moved {made:.4}, off {off:.1e} of the size");
    assert!(off < 1e-6);
    let Some((start, end)) = clip.and_then(|clip| clip.span()) else { return };
    for i in 0..=8 {
        let t = start + (end - start) * f64::from(i) / 8.0;
        let (plain, now) = (edited.frame(&Recipe::default(), clip, t).1, edited.frame(&recipe, clip, t).1);
        let moved = farthest(&plain, &now);
        assert!(moved > 0.6 * made && moved < 1.6 * made, "{moved} at {t} s, {made} where it was drawn");
    }
}

/// Meshes must be fine enough to follow what is drawn: chords of a tenth of the stroke.
#[test]
fn an_outline_is_redrawn_and_the_one_opposite_stays() {
    for name in ["calf", "dancer"] {
        let failed = try_views(&Subject::zoo(name), if is_full() { 10 } else { 1 });
        assert!(failed.is_empty(), "views {failed:?} of {name}: off the stroke, or the rest of the outline moved");
    }
}

#[test]
fn the_outline_of_a_real_character_is_redrawn() {
    let Some(subject) = Subject::real("CesiumMan_sub3.glb") else { return };
    let failed = try_views(&subject, if is_full() { 10 } else { 1 });
    assert!(failed.is_empty(), "views {failed:?}: off the stroke, or the rest of the outline moved");
}
