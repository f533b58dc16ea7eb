//! Attachments smoothed along the surface (EX 3.2): the mean of the neighbours' attachment points, put back on the
//! nearest line, a few times over. It closes the gaps on the inner side of bends.
//!
//! Without constraints it would draw everything together at last: EX stays below ten rounds, six are the default.
//! Points without neighbours stay.
//!
//! Oracle: on a straight tube the middle stays where it is; at a bend the widest gap shrinks in every round.

use super::direct::nearest_of;
use super::{Attachment, Line};
use crate::topology::Adjacency;
use glam::DVec3;

/// Rounds that close the gaps of most rigs.
pub const ROUNDS: usize = 6;

/// Smooths attachments in place.
pub fn smooth(adjacency: &Adjacency, lines: &[Line], attachments: &mut [Attachment], rounds: usize) {
    for _ in 0..rounds {
        let at: Vec<DVec3> = attachments.iter().map(|attachment| attachment.point(lines)).collect();
        for (point, attachment) in attachments.iter_mut().enumerate() {
            let neighbours = adjacency.of(point);
            if !neighbours.is_empty() {
                let sum: DVec3 = neighbours.iter().map(|&n| at[n as usize]).sum();
                *attachment = nearest_of(sum / neighbours.len() as f64, lines, 0..lines.len() as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::direct::nearest_line;
    use crate::attach::largest_gap;
    use crate::attach::tests::{bent, straight};

    #[test]
    fn the_middle_of_a_straight_tube_stays() {
        let (points, adjacency, lines) = straight();
        let mut attachments = nearest_line(&points, &lines);
        smooth(&adjacency, &lines, &mut attachments, ROUNDS);
        for (p, a) in points.iter().zip(&attachments).filter(|(p, _)| (p.y - 2.0).abs() < 1.3) {
            assert!((a.point(&lines) - DVec3::Y * p.y).length() < 1e-9, "{p}");
        }
    }

    #[test]
    fn gaps_at_a_bend_shrink_in_every_round() {
        let (points, adjacency, lines) = bent();
        let mut attachments = nearest_line(&points, &lines);
        let gap = |attachments: &[Attachment]| largest_gap(&adjacency, &lines, attachments).expect("edges").distance;
        let first = gap(&attachments);
        let mut last = first;
        for _ in 0..ROUNDS {
            smooth(&adjacency, &lines, &mut attachments, 1);
            let now = gap(&attachments);
            assert!(now <= last + 1e-12, "{last} → {now}");
            last = now;
        }
        assert!(last < 0.5 * first, "{first} → {last}");
    }
}
