//! The outline of a character as a camera sees it: its contour on the mesh, what of it is visible, and the part of it
//! that a stroke runs along (EX 7.3; SilSketch, Zimmermann et al. 2007).
//!
//! The contour's edges are cut into places a pixel and a half apart; those that nothing hides are kept. At a fold that
//! covers another the contour jumps from one edge of the mesh to another that is nowhere near it on the skin, though it
//! goes on in the picture: so the part between the ends of a stroke is searched in the picture, as the cheapest way
//! over places that are next to each other there, cheap near the stroke.
//!
//! Oracle: on a ball the outline is the circle of its tangents; a stroke near half of it finds that half
//! (tests/silhouettes.rs).

use crate::screen::ScreenStroke;
use glam::{DVec2, DVec3};
use sinew::strokes::silhouette::{Silhouette, View};
use sinew::strokes::surface::SurfaceTree;
use sinew::strokes::{Stroke, StrokeError};
use sinew_render::Projector;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Pixels between places on the outline.
const SPACING: f64 = 1.5;
/// Pixels that places may be apart and still follow each other, tried in turn: gaps are where an edge hides a little of
/// itself.
const GAPS: [f64; 3] = [4.0, 8.0, 20.0];
/// How much dearer the way is along contours inside the picture of the character than along its border.
const INNER: f64 = 4.0;
/// What lies nearer in front of the contour than this does not hide it, in sizes.
const HIDES: f64 = 0.004;

/// Why no outline was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OutlineError {
    /// Nothing is seen.
    #[error("the camera sees no outline: turn it to the character")]
    Unseen,
    /// Its ends are not joined.
    #[error(
        "no outline runs from the start of the stroke to its end; begin and end it on one outline of the character"
    )]
    Apart,
    /// The stroke.
    #[error(transparent)]
    Stroke(#[from] StrokeError),
}

/// A visible place of a contour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContourPlace {
    /// Column and row.
    pub pixel: DVec2,
    /// Vertices of its edge.
    pub edge: [u32; 2],
    /// How far it lies from the first to the second.
    pub share: f64,
    /// Whether there is background beside it.
    pub is_border: bool,
}

/// The visible contour of a surface.
#[derive(Clone, Debug)]
pub struct Contour {
    places: Vec<ContourPlace>,
}

impl Contour {
    /// What a camera sees of the contour of a surface of this size; `skin` is over the same triangles.
    /// Only what lies in `window` of the picture is looked at: its least and its largest column and row.
    pub fn new(
        view: &Projector,
        triangles: &[[u32; 3]],
        points: &[DVec3],
        skin: &SurfaceTree<'_>,
        size: f64,
        window: [DVec2; 2],
    ) -> Self {
        let camera = view.camera();
        let from = if view.is_perspective() { View::Eye(camera.eye()) } else { View::Parallel(-camera.back()) };
        let reach = crate::screen::depth_beyond(view, points);
        let mut places = Vec::new();
        // Of what is open, such as a skirt, the other side is seen too.
        let inside_out: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
        let mut edges = Silhouette::new(triangles, points, from).edges().to_vec();
        edges.extend_from_slice(Silhouette::new(&inside_out, points, from).edges());
        edges.sort_unstable();
        edges.dedup();
        for edge in edges {
            let ends = edge.map(|v| points[v as usize]);
            let seen = ends.map(|p| view.project(p)).map(|p| p.pixel().filter(|_| p.depth > camera.near()));
            let [Some(a), Some(b)] = seen.map(|pixel| pixel.map(DVec2::from)) else { continue };
            if a.max(b).cmplt(window[0]).any() || a.min(b).cmpgt(window[1]).any() {
                continue;
            }
            let steps = ((a.distance(b) / SPACING).ceil() as usize).clamp(1, 4096);
            let across = (b - a).perp().normalize_or(DVec2::X) * SPACING;
            for step in 0..=steps {
                // The shares are those of the picture: near enough on an edge's own length.
                let share = step as f64 / steps as f64;
                let pixel = a.lerp(b, share);
                let (origin, direction) = view.ray(pixel.x, pixel.y);
                let depth = view.project(ends[0].lerp(ends[1], share)).depth;
                let near = if view.is_perspective() { camera.near() } else { -reach };
                let before = depth - HIDES * size;
                if before > near && skin.crossing(origin + direction * near, origin + direction * before).is_some() {
                    continue;
                }
                let is_empty = |p: DVec2| crate::screen::skin_under(view, skin, p.into(), reach).is_none();
                let is_border = is_empty(pixel + across) || is_empty(pixel - across);
                places.push(ContourPlace { pixel, edge, share, is_border });
            }
        }
        Self { places }
    }

    /// Its places.
    pub fn places(&self) -> &[ContourPlace] {
        &self.places
    }

    /// The part between the ends of a stroke that the stroke runs along.
    pub fn along(&self, stroke: &ScreenStroke) -> Result<Part, OutlineError> {
        let drawn = Stroke::new(&stroke.flat())?;
        let line: Vec<DVec2> = (0..=STROKE_PLACES).map(|i| at(&drawn, i as f64 / STROKE_PLACES as f64)).collect();
        let away: Vec<f64> = self.places.iter().map(|place| distance(&line, place.pixel)).collect();
        let nearest = |p: DVec2| {
            let cost = |place: &ContourPlace| place.pixel.distance(p) + if place.is_border { 0.0 } else { INNER };
            (0..self.places.len()).min_by(|&a, &b| cost(&self.places[a]).total_cmp(&cost(&self.places[b])))
        };
        let (Some(start), Some(end)) = (nearest(line[0]), nearest(line[STROKE_PLACES])) else {
            return Err(OutlineError::Unseen);
        };
        // What a stroke at its largest distance costs twice.
        let scale = away[start].max(away[end]).max(0.02 * drawn.length()).max(GAPS[0]);
        let price = |index: usize| {
            let inner = if self.places[index].is_border { 1.0 } else { INNER };
            inner * (1.0 + (away[index] / scale).powi(2))
        };
        for gap in GAPS {
            let near = Near::new(&self.places, gap);
            let reached =
                near.spread(&self.places, &[start], |index, step| step * (1.0 + step / SPACING) * price(index));
            if reached[end].0.is_finite() {
                let mut path = vec![end];
                while let Some(before) = reached[path[path.len() - 1]].1 {
                    path.push(before);
                }
                path.reverse();
                let ways =
                    near.spread(
                        &self.places,
                        &path,
                        |index, step| {
                            if self.places[index].is_border { step } else { INNER * step }
                        },
                    );
                return Ok(Part::new(&self.places, &path, &ways, drawn));
            }
        }
        Err(OutlineError::Apart)
    }
}

/// Places looked at along a stroke.
const STROKE_PLACES: usize = 256;

/// A stroke in the picture at a fraction of its length.
pub(crate) fn at(stroke: &Stroke, t: f64) -> DVec2 {
    stroke.at(t).truncate()
}

fn distance(line: &[DVec2], p: DVec2) -> f64 {
    line.iter().map(|q| q.distance_squared(p)).fold(f64::INFINITY, f64::min).sqrt()
}

/// Part of an outline, with the stroke it is to follow.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its places, from one end to the other, with the fraction of its length.
    pub places: Vec<(f64, ContourPlace)>,
    /// All other places, with how far along the outline they lie from the part, contours inside the picture counting more;
    /// infinite where it does not lead there.
    pub others: Vec<(f64, ContourPlace)>,
    /// The stroke, in pixels.
    pub stroke: Stroke,
}

impl Part {
    fn new(all: &[ContourPlace], path: &[usize], ways: &[(f64, Option<usize>)], stroke: Stroke) -> Self {
        let mut lengths = vec![0.0];
        for pair in path.windows(2) {
            let step = all[pair[0]].pixel.distance(all[pair[1]].pixel);
            lengths.push(lengths[lengths.len() - 1] + step);
        }
        let whole = lengths[lengths.len() - 1];
        let fraction = |length: f64| if whole > 0.0 { length / whole } else { 0.0 };
        let places = path.iter().zip(lengths).map(|(&index, length)| (fraction(length), all[index])).collect();
        let others = all.iter().zip(ways).filter(|(_, way)| way.0 > 0.0).map(|(place, way)| (way.0, *place)).collect();
        Self { places, others, stroke }
    }

    /// Where each of its places is, and how far it is to go: to the same fraction of the stroke.
    pub fn moves(&self) -> Vec<(DVec2, DVec2)> {
        self.places.iter().map(|(t, place)| (place.pixel, at(&self.stroke, *t) - place.pixel)).collect()
    }

    /// As [`Part::moves`], but to the nearest place of the stroke about that fraction: for an outline that is there but
    /// for its corners, which fractions would push along it.
    pub fn corrections(&self) -> Vec<(DVec2, DVec2)> {
        /// Fractions about the own one that count.
        const ABOUT: f64 = 0.1;
        let line: Vec<DVec2> = (0..=STROKE_PLACES).map(|i| at(&self.stroke, i as f64 / STROKE_PLACES as f64)).collect();
        let nearest = |(t, place): &(f64, ContourPlace)| {
            let [first, last] = [t - ABOUT, t + ABOUT].map(|t| t.clamp(0.0, 1.0) * STROKE_PLACES as f64);
            let pieces = &line[first as usize..=last.ceil() as usize];
            let on = pieces.windows(2).map(|piece| {
                let way = piece[1] - piece[0];
                let along = (place.pixel - piece[0]).dot(way) / way.length_squared();
                piece[0] + way * if along.is_nan() { 0.0 } else { along.clamp(0.0, 1.0) }
            });
            let by = on.map(|p| p - place.pixel).min_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
            (place.pixel, by.unwrap_or(DVec2::ZERO))
        };
        self.places.iter().map(nearest).collect()
    }

    /// The moves that its vertices can make: of all that run linearly along edges, the nearest in the sense of least
    /// squares (Landweber's iteration, scaled by row sums, which converges whatever the shares).
    pub fn fitted(&self, moves: &[(DVec2, DVec2)]) -> Vec<(DVec2, DVec2)> {
        const ITERATIONS: usize = 60;
        let mut vertices: Vec<u32> = self.places.iter().flat_map(|(_, place)| place.edge).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let index = |v: u32| vertices.partition_point(|&known| known < v);
        let rows: Vec<[(usize, f64); 2]> = self
            .places
            .iter()
            .map(|(_, place)| [(index(place.edge[0]), 1.0 - place.share), (index(place.edge[1]), place.share)])
            .collect();
        let mut by = vec![DVec2::ZERO; vertices.len()];
        let run = |by: &[DVec2], row: &[(usize, f64); 2]| by[row[0].0] * row[0].1 + by[row[1].0] * row[1].1;
        for _ in 0..ITERATIONS {
            let mut sums = vec![(DVec2::ZERO, 0.0); vertices.len()];
            for (row, (_, wanted)) in rows.iter().zip(moves) {
                let left = *wanted - run(&by, row);
                for &(vertex, share) in row {
                    sums[vertex].0 += left * share;
                    sums[vertex].1 += share;
                }
            }
            for (by, (sum, weight)) in by.iter_mut().zip(sums) {
                if weight > 0.0 {
                    *by += sum / weight;
                }
            }
        }
        rows.iter().zip(moves).map(|(row, (at, _))| (*at, run(&by, row))).collect()
    }
}

/// Which places are next to each other in the picture.
struct Near {
    gap: f64,
    cells: BTreeMap<(i64, i64), Vec<usize>>,
}

impl Near {
    fn new(places: &[ContourPlace], gap: f64) -> Self {
        let mut cells: BTreeMap<(i64, i64), Vec<usize>> = BTreeMap::new();
        for (index, place) in places.iter().enumerate() {
            cells.entry(Self::cell(place.pixel, gap)).or_default().push(index);
        }
        Self { gap, cells }
    }

    fn cell(p: DVec2, gap: f64) -> (i64, i64) {
        ((p.x / gap).floor() as i64, (p.y / gap).floor() as i64)
    }

    /// The cheapest way from any of `seeds` to every place (Dijkstra 1959), with the place before it; `cost` is of a step
    /// of so many pixels to a place.
    fn spread(
        &self,
        places: &[ContourPlace],
        seeds: &[usize],
        cost: impl Fn(usize, f64) -> f64,
    ) -> Vec<(f64, Option<usize>)> {
        let mut found = vec![(f64::INFINITY, None); places.len()];
        // Costs are not negative: their bits are in their order.
        let mut front: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for &seed in seeds {
            found[seed].0 = 0.0;
            front.push(Reverse((0, seed)));
        }
        while let Some(Reverse((bits, index))) = front.pop() {
            let way = f64::from_bits(bits);
            if way > found[index].0 {
                continue;
            }
            let here = places[index].pixel;
            let (column, row) = Self::cell(here, self.gap);
            for cell in (-1..=1).flat_map(|y| (-1..=1).map(move |x| (column + x, row + y))) {
                for &next in self.cells.get(&cell).into_iter().flatten() {
                    let step = places[next].pixel.distance(here);
                    let sum = way + cost(next, step);
                    if step <= self.gap && sum < found[next].0 {
                        found[next] = (sum, Some(index));
                        front.push(Reverse((sum.to_bits(), next)));
                    }
                }
            }
        }
        found
    }
}
