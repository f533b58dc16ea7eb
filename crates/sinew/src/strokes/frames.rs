//! Frames along a curve that turn about it as little as they can: double reflection (Wang, Jüttler, Zheng, Liu 2008).
//!
//! The frame at a node is reflected in the plane midway to the next node, then in the plane that takes the reflected
//! tangent to the true one: two reflections are a rotation, and its error in the turn about the tangent is of fourth
//! order in the step. Frenet frames, which EX names, flip at inflections and do not exist on straight parts.
//!
//! Oracle: on a plane curve the normal of the plane is carried unchanged; on a helix the frame turns about the tangent
//! against the Frenet frame by ∫τ ds; frames are orthonormal everywhere.

use super::curve::Stroke;
use glam::{DMat3, DVec3};

/// Frames of one stroke: columns are tangent, normal, binormal.
#[derive(Clone, Debug)]
pub struct Frames<'s> {
    stroke: &'s Stroke,
    /// Fraction and frame, ascending.
    nodes: Vec<(f64, DMat3)>,
}

impl<'s> Frames<'s> {
    /// Frames whose first normal is as near to `up` as it can be (the normal of the plane of a stroke drawn on one).
    pub fn new(stroke: &'s Stroke, up: DVec3) -> Self {
        Self::from_first(stroke, with_normal(stroke.tangent(0.0), up))
    }

    /// Frames that begin with those of another stroke, turned by the least rotation between the first tangents: the
    /// frames of an offset stroke against its baseline.
    pub fn carried_from(&self, stroke: &'s Stroke) -> Self {
        let first = self.at(0.0);
        let tangent = stroke.tangent(0.0);
        if tangent == first.x_axis || tangent == DVec3::ZERO {
            return Self::from_first(stroke, first);
        }
        let normal = least_turn(first.x_axis, tangent, first.y_axis);
        Self::from_first(stroke, with_normal(tangent, normal))
    }

    fn from_first(stroke: &'s Stroke, first: DMat3) -> Self {
        let mut nodes: Vec<(f64, DMat3)> = Vec::with_capacity(stroke.table().len());
        let mut from = (stroke.at(0.0), first);
        for t in stroke.table() {
            if let Some(&(last, _)) = nodes.last() {
                if t <= last {
                    continue;
                }
                let at = stroke.at(t);
                from = (at, double_reflection(from.0, &from.1, at, stroke.tangent(t)));
            }
            nodes.push((t, from.1));
        }
        Self { stroke, nodes }
    }

    /// The frame at a fraction of the length.
    pub fn at(&self, t: f64) -> DMat3 {
        let t = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) };
        let node = self.nodes.partition_point(|&(at, _)| at <= t).max(1) - 1;
        let (from, frame) = &self.nodes[node];
        if *from == t {
            return *frame;
        }
        double_reflection(self.stroke.at(*from), frame, self.stroke.at(t), self.stroke.tangent(t))
    }
}

fn double_reflection(from: DVec3, frame: &DMat3, to: DVec3, tangent: DVec3) -> DMat3 {
    let reflect = |v: DVec3, mirror: DVec3| {
        // Scaled first: a short way squared may leave the range.
        let mirror = mirror.normalize_or_zero();
        v - mirror * (2.0 * mirror.dot(v))
    };
    let way = to - from;
    let (normal, left) = (reflect(frame.y_axis, way), reflect(frame.x_axis, way));
    with_normal(tangent, reflect(normal, tangent - left))
}

/// The frame with this tangent and the normal nearest to `up`; any where neither says.
fn with_normal(tangent: DVec3, up: DVec3) -> DMat3 {
    let tangent =
        tangent.try_normalize().or_else(|| up.try_normalize().map(DVec3::any_orthonormal_vector)).unwrap_or(DVec3::X);
    let across = up.normalize_or_zero();
    let across = across - tangent * tangent.dot(across);
    // Below this `up` is the tangent but for rounding.
    let normal = if across.length_squared() > 1e-24 { across.normalize() } else { tangent.any_orthonormal_vector() };
    DMat3::from_cols(tangent, normal, tangent.cross(normal))
}

/// `v` turned by the least rotation that takes unit `from` to unit `to`; about any axis across if they are opposite.
pub(crate) fn least_turn(from: DVec3, to: DVec3, v: DVec3) -> DVec3 {
    let cosine = from.dot(to);
    if cosine > -1.0 + 1e-12 {
        let axis = from.cross(to);
        v * cosine + axis.cross(v) + axis * (axis.dot(v) / (1.0 + cosine))
    } else {
        let axis = from.any_orthonormal_vector();
        axis * (2.0 * axis.dot(v)) - v
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strokes::simplify::Sample;
    use std::f64::consts::TAU;

    fn stroke(points: impl Iterator<Item = DVec3>) -> Stroke {
        let sample = |(i, position): (usize, DVec3)| Sample { position, time_secs: i as f64 };
        Stroke::new(&points.enumerate().map(sample).collect::<Vec<_>>()).expect("finite points")
    }

    fn assert_orthonormal(m: DMat3) {
        let excess = (m.transpose() * m - DMat3::IDENTITY).to_cols_array();
        assert!(excess.iter().all(|e| e.abs() < 1e-12) && (m.determinant() - 1.0).abs() < 1e-12, "{m:?}");
    }

    #[test]
    fn the_normal_of_a_plane_is_carried_unchanged_through_inflections() {
        let wave = stroke((0..80).map(|i| DVec3::new(f64::from(i) * 0.1, (f64::from(i) * 0.3).sin(), 0.0)));
        let frames = Frames::new(&wave, DVec3::Z);
        for i in 0..=300 {
            let frame = frames.at(f64::from(i) / 300.0);
            assert_orthonormal(frame);
            assert!((frame.y_axis - DVec3::Z).length() < 1e-9);
            assert!((frame.x_axis - wave.tangent(f64::from(i) / 300.0)).length() < 1e-12);
        }
    }

    #[test]
    fn on_a_helix_the_frame_turns_against_frenets_by_the_torsion() {
        let (r, rise) = (1.0, 0.4);
        let point = |a: f64| DVec3::new(r * a.cos(), r * a.sin(), rise * a);
        let helix = stroke((0..400).map(|i| point(f64::from(i) * TAU * 2.0 / 399.0)));
        let torsion = rise / (r * r + rise * rise);
        let speed = (r * r + rise * rise).sqrt();
        // Away from the ends, where the curve begins straight.
        let (a0, a1) = (0.2 * TAU * 2.0, 0.8 * TAU * 2.0);
        let frames = Frames::new(&helix, DVec3::X);
        let turn = |a: f64| {
            let t = helix.nearest(point(a));
            let frame = frames.at(t);
            assert_orthonormal(frame);
            let (inward, tangent) = (DVec3::new(-a.cos(), -a.sin(), 0.0), frame.x_axis);
            inward.dot(tangent.cross(frame.y_axis)).atan2(inward.dot(frame.y_axis))
        };
        let expected = torsion * speed * (a1 - a0);
        let off = (turn(a1) - turn(a0) - expected).rem_euclid(TAU);
        assert!(off.min(TAU - off) < 1e-3, "{off}");
    }

    #[test]
    fn an_equal_stroke_has_equal_frames_bit_for_bit_and_points_have_frames_too() {
        let points =
            || (0..9).map(|i| DVec3::new(f64::from(i), (f64::from(i) * 0.9).sin(), (f64::from(i) * 0.4).cos()));
        let (a, b) = (stroke(points()), stroke(points()));
        let first = Frames::new(&a, DVec3::Y);
        let second = first.carried_from(&b);
        for i in 0..=100 {
            assert_eq!(first.at(f64::from(i) / 100.0), second.at(f64::from(i) / 100.0));
        }
        let dot = stroke(std::iter::once(DVec3::ONE));
        assert_orthonormal(Frames::new(&dot, DVec3::Y).at(0.5));
        let back = stroke([DVec3::ZERO, DVec3::X, DVec3::ZERO].into_iter());
        assert_orthonormal(Frames::new(&back, DVec3::X).at(1.0));
        assert!((least_turn(DVec3::X, -DVec3::X, DVec3::X) + DVec3::X).length() < 1e-12);
    }
}
