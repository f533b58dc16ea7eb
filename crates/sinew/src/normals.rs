//! Normals after effects, from the faces.
//!
//! A *fan* is the set of faces around the display copies of one control point that share one rest normal: a smooth
//! corner is one fan, each side of a hard edge its own. The base's normal is turned by the smallest rotation that
//! takes the fan's mean normal (by area) in the base to the one after the effects, so hard edges and authored normals
//! survive, and where nothing moved the normal is the base's to the bit.

use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{LANES, Points};
use glam::Vec3;

/// The faces around each display corner.
#[derive(Clone, Debug)]
pub(crate) struct Fans {
    /// Per layer lane; unused lanes point to fan 0.
    of_layer_slot: Vec<u32>,
    ends: Vec<u32>,
    faces: Vec<u32>,
}

impl Fans {
    pub fn new(rig: &Rig) -> Self {
        let slots = rig.layer_slot_of_vertex();
        let mut keys: Vec<([u32; 4], u32)> = (0..rig.vertex_count())
            .map(|vertex| {
                let n = rig.layer_normals().get(slots[vertex] as usize) + Vec3::ZERO;
                ([rig.point_of_vertex()[vertex], n.x.to_bits(), n.y.to_bits(), n.z.to_bits()], vertex as u32)
            })
            .collect();
        keys.sort_unstable();
        let mut fan_of_vertex = vec![0u32; rig.vertex_count()];
        let mut count = 0u32;
        for fan in keys.chunk_by(|a, b| a.0 == b.0) {
            for &(_, vertex) in fan {
                fan_of_vertex[vertex as usize] = count;
            }
            count += 1;
        }
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(3 * rig.triangles().len());
        for (face, corners) in rig.triangles().iter().enumerate() {
            pairs.extend(corners.map(|vertex| (fan_of_vertex[vertex as usize], face as u32)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut ends = vec![0u32; count as usize];
        for &(fan, _) in &pairs {
            ends[fan as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut of_layer_slot = vec![0; rig.vertex_of_layer().len() * LANES];
        for (slot, &vertex) in rig.vertex_of_layer().iter().flatten().enumerate() {
            if vertex != NO_VERTEX {
                of_layer_slot[slot] = fan_of_vertex[vertex as usize];
            }
        }
        Self { of_layer_slot, ends, faces: pairs.into_iter().map(|(_, face)| face).collect() }
    }

    /// Turns the base's normals (and tangents) to the deformed surface. `turns` is scratch.
    pub fn carry(
        &self,
        rig: &Rig,
        base: &Points,
        deformed: &Points,
        turns: &mut Vec<(Vec3, f32)>,
        normals: &mut Points,
        tangents: Option<&mut Points>,
    ) {
        let face_normal = |points: &Points, face: u32| {
            let [a, b, c] = rig.point_triangles()[face as usize].map(|slot| points.get(slot as usize));
            (b - a).cross(c - a)
        };
        turns.clear();
        let mut start = 0;
        for &end in &self.ends {
            let (mut before, mut after) = (Vec3::ZERO, Vec3::ZERO);
            for &face in &self.faces[start as usize..end as usize] {
                before += face_normal(base, face);
                after += face_normal(deformed, face);
            }
            start = end;
            turns.push(turn(before, after));
        }
        let apply = |vectors: &mut Points| {
            for (slot, &fan) in self.of_layer_slot.iter().enumerate() {
                let (axis, share) = turns[fan as usize];
                if axis != Vec3::ZERO {
                    let n = vectors.get(slot);
                    let across = axis.cross(n);
                    vectors.set(slot, n + across + axis.cross(across) * share);
                }
            }
        };
        apply(normals);
        if let Some(tangents) = tangents {
            apply(tangents);
        }
    }
}

/// The smallest rotation from the direction of `a` to that of `b`, as (a×b, 1/(1+a·b)); none where it is not defined.
fn turn(a: Vec3, b: Vec3) -> (Vec3, f32) {
    let scaled = |v: Vec3| v / v.abs().max_element().max(f32::MIN_POSITIVE);
    let (a, b) = (scaled(a).normalize_or_zero(), scaled(b).normalize_or_zero());
    let cosine = a.dot(b);
    if a == b || a == Vec3::ZERO || b == Vec3::ZERO || cosine < -0.999_99 {
        return (Vec3::ZERO, 0.0);
    }
    (a.cross(b), 1.0 / (1.0 + cosine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_takes_one_direction_to_the_other() {
        for (a, b) in [(Vec3::X, Vec3::Y), (Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 2.0)), (Vec3::X, Vec3::X)] {
            let (axis, share) = turn(a * 1e-20, b * 1e12);
            let n = a.normalize();
            let across = axis.cross(n);
            assert!((n + across + axis.cross(across) * share).abs_diff_eq(b.normalize(), 1e-6));
        }
    }
}
