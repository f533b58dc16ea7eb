//! Outlines redrawn (EX 7.3): the part of the outline under a stroke is moved to it, and the skin around follows.
//!
//! The skin is moved *in the picture*: every vertex near the part goes by the same displacement, in the plane of the
//! picture at its own depth, that the outline beside it goes by. What is moved as a function of its place in the picture
//! alone, without folding it, keeps its inside inside: the border of the result is where the border was taken, whatever
//! the skin does behind it. Handles on the contour and a solver around them (SilSketch's way) do not give that: other
//! vertices then make the outline.
//!
//! With d the distance from the part, in pixels, and o that from any other outline, a vertex takes `(1 − u²)²` of the
//! displacement, `u = max(d/ρ, 1.6 d/(d + o))`: all of it on the part, nothing at ρ, nothing on the far side of a limb or next to it. Skin that
//! only lies behind or in front in the picture is not reached: from the part one gets to the rest along the skin,
//! within ρ, and with growing distance along the skin it fades as well.
//!
//! A coarse mesh's edges are chords: with their ends on the stroke they cut every bend short. So the vertices of the contour
//! go where its edges, not its vertices, come nearest to the stroke in the sense of least squares; and as others may make the
//! outline once it has moved, that is done again until nothing is gained.
//!
//! Oracle: the outline of the result, drawn by another program, lies on the stroke, and the one opposite is where it was
//! (tests/silhouettes.rs).

use crate::outline::{Contour, ContourPlace, OutlineError, Part};
use crate::screen::ScreenStroke;
use glam::{DVec2, DVec3};
use sinew::strokes::surface::SurfaceTree;
use sinew::topology::Adjacency;
use sinew_author::Pulled;

/// Rounds at most.
const ROUNDS: usize = 8;
/// Of the square that the outline is off by: a round that gains less is the last.
const GAIN: f64 = 0.9;
/// Squared pixels that the outline may be off by in the mean without another round.
const CLOSE: f64 = 0.05;
/// ρ where none is given, in largest displacements: far enough not to fold.
const REACH: f64 = 3.0;
/// Where a stroke lies on the outline already: ρ in sizes.
const LEAST_REACH: f64 = 0.02;

/// Of the way through a limb, the inverse: beyond it nothing moves.
const THIN: f64 = 1.6;

/// A surface whose outline is redrawn.
#[derive(Clone, Copy)]
pub struct Surface<'a> {
    /// Corners, counter-clockwise seen from outside.
    pub triangles: &'a [[u32; 3]],
    /// Who is next to whom.
    pub adjacency: &'a Adjacency,
    /// Vertices at the pose that is drawn over.
    pub points: &'a [DVec3],
    /// Size of the character.
    pub size: f64,
}

/// The outline of a surface moved to a stroke. `reach` is how far around it the skin follows, in scene units.
pub fn redraw(surface: &Surface<'_>, stroke: &ScreenStroke, reach: Option<f64>) -> Result<Pulled, OutlineError> {
    let view = stroke.view();
    let camera = view.camera();
    let mut points = surface.points.to_vec();
    let mut inside = vec![0.0f64; points.len()];
    let mut best: Option<(f64, Pulled)> = None;
    let mut others: Option<Vec<(f64, ContourPlace)>> = None;
    for round in 0..=ROUNDS {
        let mut part = part(surface, &points, stroke)?;
        // What stays is what was there at first: folds of what has moved are none of it.
        part.others.clone_from(others.get_or_insert_with(|| part.others.clone()));
        let moves = if round == 0 { part.moves() } else { part.corrections() };
        let off = moves.iter().map(|(_, by)| by.length_squared()).sum::<f64>() / moves.len() as f64;
        let is_better = round > 0 && best.as_ref().is_none_or(|(least, _)| off < GAIN * least);
        if is_better {
            best = Some((off, Pulled { points: points.clone(), inside: inside.clone() }));
        }
        if round > 0 && (off < CLOSE || !is_better) {
            break;
        }
        let moves = part.fitted(&moves);
        let farthest = moves.iter().map(|(_, by)| by.length()).fold(0.0, f64::max);
        let shares = shares(surface, &points, stroke, &part, reach, farthest);
        for (vertex, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let projected = view.project(points[vertex]);
            let Some(pixel) = projected.pixel().map(DVec2::from) else { continue };
            let by = beside(&moves, pixel) * (share * view.pixel_size(projected.depth));
            points[vertex] += camera.right() * by.x - camera.up() * by.y;
            inside[vertex] = inside[vertex].max(share);
        }
    }
    Ok(best.map_or(Pulled { points, inside }, |(_, pulled)| pulled))
}

/// The part of the outline that a stroke is drawn over.
pub fn part(surface: &Surface<'_>, points: &[DVec3], stroke: &ScreenStroke) -> Result<Part, OutlineError> {
    let skin = SurfaceTree::new(surface.triangles, points).ok_or(OutlineError::Unseen)?;
    // The part lies about where the stroke is, and what is farther away decides nothing.
    let drawn = stroke.samples().iter().map(|s| DVec2::from(s.pixel));
    let [low, high] = drawn.fold([DVec2::INFINITY, DVec2::NEG_INFINITY], |[l, h], p| [l.min(p), h.max(p)]);
    let around = DVec2::splat((high - low).length().max(200.0));
    let window = [low - around, high + around];
    Contour::new(stroke.view(), surface.triangles, points, &skin, surface.size, window).along(stroke)
}

/// The displacement of the outline beside a place: that of its own places, near ones most.
fn beside(moves: &[(DVec2, DVec2)], place: DVec2) -> DVec2 {
    /// Pixels within which places count alike.
    const ALIKE: f64 = 0.5;
    let (mut sum, mut weights) = (DVec2::ZERO, 0.0);
    for (at, by) in moves {
        let squared = at.distance_squared(place) + ALIKE * ALIKE;
        let weight = 1.0 / (squared * squared);
        sum += *by * weight;
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { DVec2::ZERO }
}

/// How much of the displacement each vertex takes.
fn shares(
    surface: &Surface<'_>,
    points: &[DVec3],
    stroke: &ScreenStroke,
    part: &Part,
    reach: Option<f64>,
    farthest: f64,
) -> Vec<f64> {
    let view = stroke.view();
    let pixels: Vec<Option<(DVec2, f64)>> = points
        .iter()
        .map(|p| view.project(*p))
        .map(|p| p.pixel().filter(|_| p.depth > view.camera().near()).map(|pixel| (pixel.into(), p.depth)))
        .collect();
    let mut seeds: Vec<u32> = part.places.iter().flat_map(|(_, place)| place.edge).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let depths: Vec<f64> = seeds.iter().filter_map(|&v| pixels[v as usize]).map(|(_, depth)| depth).collect();
    let unit = view.pixel_size(depths.iter().sum::<f64>() / depths.len().max(1) as f64);
    let rho = reach.map_or((REACH * farthest).max(LEAST_REACH * surface.size / unit), |reach| reach / unit);
    let line: Vec<DVec2> = part.places.iter().map(|(_, place)| place.pixel).collect();
    // Where the outline goes on from the part it follows for half of ρ; the farther along, the more it stays.
    let goes_on = 0.5 * rho;
    let others: Vec<(DVec2, f64)> = part
        .others
        .iter()
        .map(|(way, place)| (place.pixel, 2.0 * (goes_on - way).max(0.0)))
        .filter(|(_, more)| *more < rho)
        .collect();
    let nearest =
        |to: &[DVec2], p: DVec2| to.iter().map(|q| q.distance_squared(p)).fold(f64::INFINITY, f64::min).sqrt();
    let mut shares = vec![0.0; points.len()];
    // Along the skin from the part, as far as the picture's distance allows; the way there is measured by edges.
    let mut ways = vec![f64::INFINITY; points.len()];
    seeds.iter().for_each(|&seed| ways[seed as usize] = 0.0);
    let mut front = seeds;
    let mut distances: Vec<Option<f64>> = vec![None; points.len()];
    while !front.is_empty() {
        let mut next = Vec::new();
        for &vertex in &front {
            let v = vertex as usize;
            let Some((pixel, _)) = pixels[v] else { continue };
            let d = *distances[v].get_or_insert_with(|| nearest(&line, pixel));
            if d >= rho {
                continue;
            }
            for &n in surface.adjacency.of(v) {
                let way = ways[v] + points[v].distance(points[n as usize]);
                if way < ways[n as usize] {
                    ways[n as usize] = way;
                    next.push(n);
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        front = next;
    }
    for (v, share) in shares.iter_mut().enumerate() {
        let (Some(d), Some((pixel, _))) = (distances[v].filter(|&d| d < rho), pixels[v]) else { continue };
        let o = others.iter().map(|(q, more)| q.distance(pixel) + more).fold(f64::INFINITY, f64::min);
        // On both outlines at once: where the part ends, which is drawn.
        let across = if d + o > 0.0 && o.is_finite() { THIN * d / (d + o) } else { 0.0 };
        let u = (d / rho).max(across).min(1.0);
        let way = (ways[v] / (unit * rho) / 3.0 - 1.0).clamp(0.0, 1.0);
        *share = (1.0 - u * u).powi(2) * (1.0 - way * way * (3.0 - 2.0 * way));
    }
    shares
}
