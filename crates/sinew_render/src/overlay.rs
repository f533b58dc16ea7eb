//! Lines and dots over the picture: skeletons, trajectories, marks. Widths are in pixels, edges are anti-aliased by
//! distance, and what surfaces hide can be hidden, dimmed or drawn all the same.
//!
//! A line is taken as a thin round tube: its depth is that of the side towards the eye, so a line that lies on a
//! surface is seen.

use crate::camera::Projector;
use crate::raster::Pattern;
use glam::DVec3;

/// A place on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePoint {
    /// In the world.
    pub position: DVec3,
    /// Linear RGBA, straight alpha.
    pub color: [f32; 4],
    /// Pixels.
    pub width: f32,
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// In order.
    pub points: Vec<LinePoint>,
    /// Opacity left where surfaces hide it: 0 is depth-tested, 1 is on top.
    pub hidden: f32,
}

impl Line {
    /// A line of one colour and width.
    pub fn new(positions: impl IntoIterator<Item = DVec3>, color: [f32; 4], width: f32, hidden: f32) -> Self {
        let points = positions.into_iter().map(|position| LinePoint { position, color, width });
        Self { points: points.collect(), hidden }
    }

    /// The path of a vertex over time, oldest first: faint and thin at its beginning.
    pub fn trajectory(positions: &[DVec3], rgb: [f32; 3], width: f32) -> Self {
        let last = positions.len().saturating_sub(1).max(1) as f32;
        let points = positions.iter().enumerate().map(|(i, &position)| {
            let age = i as f32 / last;
            let [r, g, b] = rgb;
            LinePoint { position, color: [r, g, b, 0.15 + 0.85 * age], width: width * (0.4 + 0.6 * age) }
        });
        Self { points: points.collect(), hidden: 0.25 }
    }
}

/// A round mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// In the world.
    pub position: DVec3,
    /// Linear RGBA, straight alpha.
    pub color: [f32; 4],
    /// Pixels.
    pub diameter: f32,
    /// Opacity left where surfaces hide it: 0 is depth-tested, 1 is on top.
    pub hidden: f32,
}

/// A skeleton's look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkeletonStyle {
    /// Linear RGB of bones.
    pub bone: [f32; 3],
    /// Linear RGB of joints.
    pub joint: [f32; 3],
    /// Linear RGB around both.
    pub outline: [f32; 3],
    /// Width of a bone at its root, pixels.
    pub width: f32,
    /// Opacity left where surfaces hide it.
    pub hidden: f32,
}

impl Default for SkeletonStyle {
    fn default() -> Self {
        Self { bone: [1.0, 0.62, 0.12], joint: [1.0, 0.95, 0.85], outline: [0.05, 0.03, 0.02], width: 5.0, hidden: 0.8 }
    }
}

/// Bones from parents' origins to their own, tapering, with a dot per joint: `parents[i]` is the parent of origin i.
pub fn skeleton(origins: &[DVec3], parents: &[Option<usize>], style: &SkeletonStyle) -> (Vec<Line>, Vec<Dot>) {
    let opaque = |[r, g, b]: [f32; 3]| [r, g, b, 1.0];
    let (mut outlines, mut lines, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    let taper = |from: DVec3, to: DVec3, color: [f32; 4], extra: f32| Line {
        points: vec![
            LinePoint { position: from, color, width: style.width + extra },
            LinePoint { position: to, color, width: 0.35 * style.width + extra },
        ],
        hidden: style.hidden,
    };
    for (i, &to) in origins.iter().enumerate() {
        if let Some(&from) = parents.get(i).copied().flatten().and_then(|p| origins.get(p)) {
            outlines.push(taper(from, to, opaque(style.outline), 2.0));
            lines.push(taper(from, to, opaque(style.bone), 0.0));
        }
        let dot = |rgb, diameter| Dot { position: to, color: opaque(rgb), diameter, hidden: style.hidden };
        dots.push(dot(style.outline, 1.1 * style.width + 2.0));
        dots.push(dot(style.joint, 1.1 * style.width));
    }
    outlines.append(&mut lines);
    (outlines, dots)
}

/// A line's piece or a dot (both ends the same) in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// From and to.
    pub ends: [StrokeEnd; 2],
}

/// An end of a [`Stroke`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrokeEnd {
    /// Column, pixels.
    pub x: f32,
    /// Row, pixels.
    pub y: f32,
    /// What depth buffers compare, see [`Projector::key_of_depth`].
    pub depth_key: f64,
    /// Pixels.
    pub radius: f32,
    /// Linear RGBA, straight alpha.
    pub color: [f32; 4],
}

impl Stroke {
    /// The part of a segment in front of the near plane; `None` where nothing is.
    pub fn new(a: &LinePoint, b: &LinePoint, projector: &Projector) -> Option<Self> {
        let near = projector.camera().near();
        let [da, db] = [a, b].map(|p| projector.project(p.position).depth - near);
        if !(da.is_finite() && db.is_finite()) || (da < 0.0 && db < 0.0) {
            return None;
        }
        let end = |from: &LinePoint, to: &LinePoint, inside: f64, other: f64| {
            let t = if inside < 0.0 { inside / (inside - other) } else { 0.0 };
            let p = projector.project(from.position + (to.position - from.position) * t);
            let depth = p.depth.max(near);
            let w = if projector.is_perspective() { depth } else { 1.0 };
            let (x, y) = ((p.x / w) as f32, (p.y / w) as f32);
            let mix = |a: f32, b: f32| a + (b - a) * t as f32;
            let color: [f32; 4] = std::array::from_fn(|c| mix(from.color[c], to.color[c]));
            let radius = 0.5 * mix(from.width, to.width).clamp(0.0, 1e4);
            let fine = x.is_finite() && y.is_finite() && radius.is_finite() && color.iter().all(|c| c.is_finite());
            fine.then(|| StrokeEnd { x, y, depth_key: projector.key_of_depth(depth), radius, color })
        };
        Some(Self { ends: [end(a, b, da, db)?, end(b, a, db, da)?] })
    }

    /// A dot; `None` where nothing is in front of the near plane.
    pub fn of_dot(dot: &Dot, projector: &Projector) -> Option<Self> {
        let point = LinePoint { position: dot.position, color: dot.color, width: dot.diameter };
        Self::new(&point, &point, projector)
    }
}

struct Path {
    strokes: Vec<Stroke>,
    hidden: f32,
    rows: [f32; 2],
}

/// Lines and dots on the screen.
pub(crate) struct Overlay {
    paths: Vec<Path>,
    projector: Projector,
}

impl Overlay {
    pub fn new(lines: &[Line], dots: &[Dot], projector: &Projector) -> Self {
        let path = |strokes: Vec<Stroke>, hidden: f32| {
            let rows = strokes.iter().flat_map(|s| s.ends).fold([f32::INFINITY, f32::NEG_INFINITY], |[a, b], e| {
                [a.min(e.y - e.radius - 1.0), b.max(e.y + e.radius + 1.0)]
            });
            Path { strokes, hidden: hidden.clamp(0.0, 1.0), rows }
        };
        let lines = lines.iter().map(|line| {
            let strokes = line.points.windows(2).filter_map(|w| Stroke::new(&w[0], &w[1], projector));
            path(strokes.collect(), line.hidden)
        });
        let dots = dots.iter().map(|dot| path(Stroke::of_dot(dot, projector).into_iter().collect(), dot.hidden));
        let paths = lines.chain(dots).filter(|p| !p.strokes.is_empty()).collect();
        Self { paths, projector: *projector }
    }

    /// Lays everything over a band of rows: premultiplied linear RGBA, with the depth keys of all samples.
    pub fn paint(&self, first_row: usize, width: usize, pixels: &mut [[f32; 4]], keys: &[f32], pattern: Pattern) {
        let rows = pixels.len() / width;
        let (top, bottom) = (first_row as f32, (first_row + rows) as f32);
        let samples = pattern.samples();
        let mut cover: Vec<(f32, [f32; 4])> = Vec::new();
        for path in &self.paths {
            if path.rows[1] < top || path.rows[0] > bottom {
                continue;
            }
            // One path covers a pixel once, however many of its strokes meet there.
            cover.clear();
            cover.resize(pixels.len(), (0.0, [0.0; 4]));
            for stroke in &path.strokes {
                let [a, b] = stroke.ends;
                let reach = a.radius.max(b.radius) + 1.0;
                let range = |low: f32, high: f32, from: f32, to: f32| {
                    ((low - reach).max(from) - from) as usize..((high + reach).min(to) - from).max(0.0).ceil() as usize
                };
                let columns = range(a.x.min(b.x), a.x.max(b.x), 0.0, width as f32);
                for y in range(a.y.min(b.y), a.y.max(b.y), top, bottom) {
                    for x in columns.clone() {
                        let (t, distance) = nearest(stroke, x as f32 + 0.5, (first_row + y) as f32 + 0.5);
                        let radius = a.radius + (b.radius - a.radius) * t;
                        // Thinner than a pixel: fainter instead.
                        let coverage = (radius.max(0.5) + 0.5 - distance).clamp(0.0, 1.0) * (2.0 * radius).min(1.0);
                        let i = y * width + x;
                        if coverage > cover[i].0 {
                            let seen = self.seen(stroke, t, radius, &keys[i * samples..(i + 1) * samples]);
                            let mut color: [f32; 4] =
                                std::array::from_fn(|c| a.color[c] + (b.color[c] - a.color[c]) * t);
                            color[3] *= coverage * (seen + (1.0 - seen) * path.hidden);
                            cover[i] = (coverage, color);
                        }
                    }
                }
            }
            for (pixel, (coverage, [r, g, b, alpha])) in pixels.iter_mut().zip(&cover) {
                if *coverage > 0.0 {
                    for (channel, new) in pixel.iter_mut().zip([*r, *g, *b, 1.0]) {
                        *channel += (new - *channel) * alpha;
                    }
                }
            }
        }
    }

    /// Part of a pixel's samples in front of which the stroke passes.
    fn seen(&self, stroke: &Stroke, t: f32, radius: f32, keys: &[f32]) -> f32 {
        let [a, b] = stroke.ends.map(|e| e.depth_key);
        let depth = self.projector.depth_of_key(a + (b - a) * f64::from(t));
        let front = depth - (f64::from(radius) + 1.0) * self.projector.pixel_size(depth);
        let key = self.projector.key_of_depth(front.max(self.projector.camera().near())) as f32;
        let samples = if keys.len() > 1 { &keys[1..] } else { keys };
        samples.iter().filter(|&&k| key >= k).count() as f32 / samples.len() as f32
    }
}

/// Place of the nearest point on the stroke, 0…1, and its distance in pixels.
fn nearest(stroke: &Stroke, x: f32, y: f32) -> (f32, f32) {
    let [a, b] = stroke.ends;
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let square = dx * dx + dy * dy;
    let t = if square > 0.0 { (((x - a.x) * dx + (y - a.y) * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    let (ox, oy) = (x - a.x - dx * t, y - a.y - dy * t);
    (t, (ox * ox + oy * oy).sqrt())
}
