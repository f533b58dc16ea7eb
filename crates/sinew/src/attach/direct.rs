//! Direct binding (EX 3.1): `t = clamp((v − P)·(C − P)/‖C − P‖²)` on the line with the shortest scale vector. (The
//! printed formula misses the square.)
//!
//! By skin weights, only the lines at the joint of largest weight are looked at: a hand beside the hip does not hang on
//! the leg.
//!
//! Oracle: on a straight tube t is the height; equals the exhaustive minimum.

use super::{Attachment, Line};
use glam::DVec3;

/// Each point on the nearest of all lines; the first of equals. There must be a line.
pub fn nearest_line(points: &[DVec3], lines: &[Line]) -> Vec<Attachment> {
    points.iter().map(|&p| nearest_of(p, lines, 0..lines.len() as u32)).collect()
}

/// Each point on the nearest of the lines that `allowed` gives for it; of all lines where it gives none.
pub fn nearest_allowed(
    points: &[DVec3],
    lines: &[Line],
    mut allowed: impl FnMut(usize, &mut Vec<u32>),
) -> Vec<Attachment> {
    let mut candidates = Vec::new();
    let bind = |(index, &p): (usize, &DVec3)| {
        candidates.clear();
        allowed(index, &mut candidates);
        if candidates.is_empty() {
            nearest_of(p, lines, 0..lines.len() as u32)
        } else {
            nearest_of(p, lines, candidates.iter().copied())
        }
    };
    points.iter().enumerate().map(bind).collect()
}

pub(super) fn nearest_of(p: DVec3, lines: &[Line], candidates: impl Iterator<Item = u32>) -> Attachment {
    let mut best = (f64::INFINITY, Attachment { line: 0, t: 0.0 });
    for line in candidates {
        let t = lines[line as usize].nearest(p);
        let distance = p.distance_squared(lines[line as usize].at(t));
        if distance < best.0 {
            best = (distance, Attachment { line, t });
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::tests::straight;

    #[test]
    fn a_straight_tube_hangs_at_its_own_height() {
        let (points, _, lines) = straight();
        for (p, a) in points.iter().zip(nearest_line(&points, &lines)) {
            assert!((a.point(&lines) - DVec3::Y * p.y).length() < 1e-12);
        }
        let second = nearest_allowed(&points, &lines, |_, lines| lines.push(1));
        assert!(second.iter().all(|a| a.line == 1));
        assert_eq!(nearest_allowed(&points, &lines, |_, _| ()), nearest_line(&points, &lines));
        let point = Line { start: DVec3::ONE, end: DVec3::ONE };
        assert_eq!(nearest_line(&[DVec3::ZERO], &[point])[0], Attachment { line: 0, t: 0.0 });
    }
}
