//! Attachments: where on the skeleton each point of the skin hangs (EX 3).
//!
//! A point v hangs at `a = P + t(C − P)` of one line P → C between joints; `s = v − a` is its *scale vector*. Bases and
//! springs move a with the bones and turn s. Neighbours should hang near each other: [`largest_gap`] measures it.
//!
//! | file | how points are bound |
//! |---|---|
//! | [`direct`] | the nearest line, of all or of those that the skin weights allow |
//! | [`planar`] | the line on whose side of all dividers the point lies |
//! | [`smoothed`] | any of them, smoothed along the surface and put back on the lines |
//! | [`hanging`] | the lines of a rig, its skin bound to them, and where bones take both |
//! | `even_weights` | which bones carry them on from there, evenly along the skin |
//! | [`skin`] | the same of a whole character, for programs |

pub mod direct;
pub(crate) mod even_weights;
pub mod hanging;
pub mod planar;
pub mod skin;
pub mod smoothed;

use crate::strokes::simplify::nearest_on_segment;
use crate::topology::Adjacency;
use glam::DVec3;

/// A bone as a line: from its joint to a child joint, or to the end of its skin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The joint.
    pub start: DVec3,
    /// The far end.
    pub end: DVec3,
}

impl Line {
    /// The place at a parameter.
    pub fn at(&self, t: f64) -> DVec3 {
        self.start.lerp(self.end, t)
    }

    /// Parameter in [0, 1] nearest to a point; 0 on a line without length.
    pub fn nearest(&self, p: DVec3) -> f64 {
        nearest_on_segment(p, self.start, self.end)
    }

    /// Distance of a point.
    pub fn distance(&self, p: DVec3) -> f64 {
        p.distance(self.at(self.nearest(p)))
    }
}

/// Where a point hangs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attachment {
    /// Index of the line.
    pub line: u32,
    /// Place along it, in [0, 1].
    pub t: f64,
}

impl Attachment {
    /// The attachment point on lines at any pose.
    pub fn point(&self, lines: &[Line]) -> DVec3 {
        lines[self.line as usize].at(self.t)
    }
}

/// The widest gap on the skeleton between the attachment points of two neighbours: the measure of continuity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// The neighbours.
    pub points: [u32; 2],
    /// Straight distance between their attachment points.
    pub distance: f64,
}

/// The widest gap; `None` without edges.
pub fn largest_gap(adjacency: &Adjacency, lines: &[Line], attachments: &[Attachment]) -> Option<Gap> {
    let at: Vec<DVec3> = attachments.iter().map(|attachment| attachment.point(lines)).collect();
    let mut widest: Option<Gap> = None;
    for (point, &here) in at.iter().enumerate() {
        for &n in adjacency.of(point).iter().filter(|&&n| n as usize > point) {
            let distance = here.distance(at[n as usize]);
            if widest.is_none_or(|gap| distance > gap.distance) {
                widest = Some(Gap { points: [point as u32, n], distance });
            }
        }
    }
    widest
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Points of a tube of radius `radius` about a path, in rings, with their faces.
    pub(crate) fn tube(
        path: impl Fn(f64) -> (DVec3, DVec3, DVec3),
        radius: f64,
        rings: usize,
        around: usize,
    ) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut points = Vec::new();
        for ring in 0..rings {
            let (centre, u, v) = path(ring as f64 / (rings - 1) as f64);
            for k in 0..around {
                let (sin, cos) = (TAU * k as f64 / around as f64).sin_cos();
                points.push(centre + (u * cos + v * sin) * radius);
            }
        }
        let at = |ring: usize, k: usize| (ring * around + k % around) as u32;
        let mut faces = Vec::new();
        for ring in 0..rings - 1 {
            for k in 0..around {
                let [a, b, c, d] = [at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
                faces.extend([[a, c, b], [a, d, c]]);
            }
        }
        (points, faces)
    }

    /// A straight tube along +Y of length 4 and radius 0.5 on two lines.
    pub(crate) fn straight() -> (Vec<DVec3>, Adjacency, Vec<Line>) {
        let (points, faces) = tube(|t| (DVec3::Y * (4.0 * t), DVec3::X, DVec3::Z), 0.5, 41, 16);
        let adjacency = Adjacency::new(points.len(), &faces);
        let joints = [DVec3::ZERO, DVec3::Y * 2.0, DVec3::Y * 4.0];
        (points, adjacency, joints.windows(2).map(|j| Line { start: j[0], end: j[1] }).collect())
    }

    /// A tube bent by a right angle at its middle joint, mitred.
    pub(crate) fn bent() -> (Vec<DVec3>, Adjacency, Vec<Line>) {
        let corner = DVec3::Y * 2.0;
        let path = |t: f64| {
            let s = 4.0 * t - 2.0;
            // Rings near the corner lie in the planes that fan about it.
            let turn = (s / 1.2 + 0.5).clamp(0.0, 1.0) * std::f64::consts::FRAC_PI_2;
            let centre = if s < 0.0 { corner + DVec3::Y * s } else { corner + DVec3::X * s };
            (centre, DVec3::new(turn.cos(), -turn.sin(), 0.0), DVec3::Z)
        };
        let (points, faces) = tube(path, 0.5, 41, 16);
        let adjacency = Adjacency::new(points.len(), &faces);
        let joints = [DVec3::ZERO, corner, DVec3::new(2.0, 2.0, 0.0)];
        (points, adjacency, joints.windows(2).map(|j| Line { start: j[0], end: j[1] }).collect())
    }

    #[test]
    fn gaps_of_a_straight_tube_are_its_edges_along_the_axis() {
        let (points, adjacency, lines) = straight();
        let attachments = direct::nearest_line(&points, &lines);
        let gap = largest_gap(&adjacency, &lines, &attachments).expect("edges");
        assert!((gap.distance - 0.1).abs() < 1e-12, "{gap:?}");
        assert!(largest_gap(&Adjacency::new(3, &[]), &lines, &attachments[..3]).is_none());
    }
}
