//! Vertices that lie on each other at rest without being joined, and how far they part in motion.
//!
//! Copies with the same position, weights and morphs are one control point and cannot part. What is left are copies
//! with other weights: two meshes that meet at the neck, or lips that touch. These part in the base already where they
//! are meant to; a crack is what effects add to that.

use crate::location::Worst;
use crate::positions::{Positions, Subject};
use glam::DVec3;

/// Groups of vertices that lie together at rest, one vertex per control point.
pub(crate) struct Coincident {
    groups: Vec<Vec<u32>>,
}

impl Coincident {
    /// Groups the vertices of each character by their place at rest, to the bit.
    pub fn new(subject: &Subject, rest: &[DVec3]) -> Self {
        let points = subject.rig().point_of_vertex();
        let key = |vertex: usize| {
            // Adding zero turns −0 into 0.
            let place = (rest[vertex] + DVec3::ZERO).to_array().map(f64::to_bits);
            (subject.character_of_vertex[vertex], place, points[vertex])
        };
        let mut vertices: Vec<u32> = (0..u32::try_from(rest.len()).unwrap_or(u32::MAX)).collect();
        vertices.sort_by_key(|&vertex| key(vertex as usize));
        vertices.dedup_by_key(|vertex| points[*vertex as usize]);
        let together = |a: &u32, b: &u32| {
            let (a, b) = (key(*a as usize), key(*b as usize));
            (a.0, a.1) == (b.0, b.1)
        };
        Self { groups: vertices.chunk_by(together).filter(|g| g.len() > 1).map(<[u32]>::to_vec).collect() }
    }

    /// Vertices in groups.
    pub fn len(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// How far the members of a group part in a frame, as shares of the size: in the base, and what effects add.
    pub fn look(&self, subject: &Subject, frame: &Positions, time: f64, base: &mut Worst, added: &mut Worst) {
        for group in &self.groups {
            let first = group[0] as usize;
            for &other in &group[1..] {
                let other = other as usize;
                let size = subject.size(other);
                let apart = |points: &[DVec3]| points[first].distance(points[other]) / size;
                let (in_base, with_effects) = (apart(&frame.base), apart(&frame.effects));
                base.see(in_base, other, time);
                added.see(with_effects - in_base, other, time);
            }
        }
    }
}
