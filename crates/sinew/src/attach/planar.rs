//! Planar binding (EX 3.2): planes at the joints part the skin between the lines that meet there.
//!
//! Two lines that leave a joint in directions u and w are parted by the plane through the joint with normal `u − w`: it
//! holds the half-way direction and the axis of the bend, for parent and child as for two siblings. A point belongs to
//! the line on whose side of all dividers it lies (the nearest, where several or none claim it), at
//! `t = d_P/(d_P + d_C)`, its distances to the nearest dividers at either end; a free end has a plane across the line.
//!
//! Dividers are plain data: turn one, and bind again.
//!
//! Oracle: on a straight tube t is the height; at a right angle the plane is the mitre, and no gap is wider than with
//! direct binding.

use super::direct::nearest_of;
use super::{Attachment, Line};
use glam::DVec3;

/// A plane at a joint: points with `normal·(p − point) ≥ 0` are the first line's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divider {
    /// The lines it parts.
    pub lines: [u32; 2],
    /// The joint it stands at, wherever it is moved to.
    pub joint: DVec3,
    /// A point of the plane.
    pub point: DVec3,
    /// Its normal, towards the first line; zero parts nothing.
    pub normal: DVec3,
}

impl Divider {
    /// Height of a point above the plane, on the side of `line`.
    fn height(&self, line: u32, p: DVec3) -> f64 {
        let height = self.normal.normalize_or_zero().dot(p - self.point);
        if line == self.lines[0] { height } else { -height }
    }
}

/// One divider per pair of lines that share an end, by the lines' numbers. Lines that leave a joint in the same
/// direction are not parted.
pub fn dividers(lines: &[Line]) -> Vec<Divider> {
    let mut dividers = Vec::new();
    for (b, second) in lines.iter().enumerate() {
        for (a, first) in lines[..b].iter().enumerate() {
            for (joint, far_a) in [(first.start, first.end), (first.end, first.start)] {
                for (other, far_b) in [(second.start, second.end), (second.end, second.start)] {
                    if joint == other {
                        let normal = (far_a - joint).normalize_or_zero() - (far_b - joint).normalize_or_zero();
                        dividers.push(Divider { lines: [a as u32, b as u32], joint, point: joint, normal });
                    }
                }
            }
        }
    }
    dividers
}

/// Each point on the line between whose dividers it lies.
pub fn between_dividers(points: &[DVec3], lines: &[Line], dividers: &[Divider]) -> Vec<Attachment> {
    let mut of_line: Vec<Vec<&Divider>> = vec![Vec::new(); lines.len()];
    for divider in dividers {
        for line in divider.lines {
            if let Some(list) = of_line.get_mut(line as usize) {
                list.push(divider);
            }
        }
    }
    let claims = |line: u32, p: DVec3| of_line[line as usize].iter().all(|divider| divider.height(line, p) >= 0.0);
    let bind = |&p: &DVec3| {
        let all = 0..lines.len() as u32;
        let nearest = if all.clone().any(|line| claims(line, p)) {
            nearest_of(p, lines, all.filter(|&line| claims(line, p)))
        } else {
            nearest_of(p, lines, all)
        };
        let line = &lines[nearest.line as usize];
        let towards_end = (line.end - line.start).normalize_or_zero();
        let distance = |end: DVec3, across: DVec3| {
            let at_end = of_line[nearest.line as usize].iter().filter(|divider| divider.joint == end);
            at_end
                .map(|divider| divider.height(nearest.line, p))
                .min_by(f64::total_cmp)
                .unwrap_or_else(|| across.dot(p - end))
                .max(0.0)
        };
        let (from, to) = (distance(line.start, towards_end), distance(line.end, -towards_end));
        let t = from / (from + to);
        Attachment { t: if t.is_nan() { nearest.t } else { t }, ..nearest }
    };
    points.iter().map(bind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::direct::nearest_line;
    use crate::attach::largest_gap;
    use crate::attach::tests::{bent, straight};

    #[test]
    fn a_straight_tube_hangs_at_its_own_height() {
        let (points, _, lines) = straight();
        let planes = dividers(&lines);
        assert_eq!(planes.len(), 1);
        for (p, a) in points.iter().zip(between_dividers(&points, &lines, &planes)) {
            assert!((a.point(&lines) - DVec3::Y * p.y).length() < 1e-12);
        }
    }

    #[test]
    fn at_a_bend_the_plane_is_the_mitre_and_closes_gaps() {
        let (points, adjacency, lines) = bent();
        let planes = dividers(&lines);
        // The first line comes along +y and the second leaves along +x: the mitre is y = 2 − (x − 0)… through the corner.
        assert!(planes[0].normal.normalize().distance(DVec3::new(-1.0, -1.0, 0.0).normalize()) < 1e-12);
        let direct = largest_gap(&adjacency, &lines, &nearest_line(&points, &lines)).expect("edges").distance;
        let planar = between_dividers(&points, &lines, &planes);
        let gap = largest_gap(&adjacency, &lines, &planar).expect("edges").distance;
        assert!(gap < 0.5 * direct, "planar {gap}, direct {direct}");
        for (p, a) in points.iter().zip(&planar) {
            assert_eq!(a.line, u32::from((*p - DVec3::Y * 2.0).dot(DVec3::new(1.0, 1.0, 0.0)) > 0.0), "{p}");
        }
    }

    #[test]
    fn siblings_are_parted_and_a_turned_divider_moves_the_border() {
        let arm = |x: f64| Line { start: DVec3::ZERO, end: DVec3::new(x, 1.0, 0.0) };
        let lines = [Line { start: -DVec3::Y, end: DVec3::ZERO }, arm(-1.0), arm(1.0)];
        let mut planes = dividers(&lines);
        assert_eq!(planes.len(), 3);
        let points = [DVec3::new(0.3, 0.9, 0.2), DVec3::new(-0.3, 0.9, 0.2), DVec3::new(0.1, -0.8, 0.0)];
        let lines_of =
            |planes: &[Divider]| between_dividers(&points, &lines, planes).iter().map(|a| a.line).collect::<Vec<_>>();
        assert_eq!(lines_of(&planes), [2, 1, 0]);
        let siblings = planes.iter_mut().find(|d| d.lines == [1, 2]).expect("siblings");
        siblings.point = DVec3::X * 0.5;
        assert_eq!(lines_of(&planes), [1, 1, 0]);
    }
}
