//! Normals after effects, from the faces.
//!
//! A *fan* is the set of faces around the display copies of one control point that share one rest normal: a smooth
//! corner is one fan, each side of a hard edge its own. The base's normal is turned by the smallest rotation that
//! takes the fan's mean normal (by area) in the base to the one after the effects, so hard edges and authored normals
//! survive, and where nothing moved the normal is the base's to the bit: rows of points that lie as the base put them,
//! among rows that do, are passed over. Where the base has torn its faces (rigid skinning at a twisted joint), so that
//! they no longer lie under its normals as they did at rest, there is nothing to turn from, and the mean after the
//! effects is taken.

use crate::lists::Lists;
use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{LANES, Points};
use glam::Vec3;
use rayon::prelude::*;

/// The faces around each display corner.
#[derive(Clone, Debug)]
pub(crate) struct Fans {
    /// Per layer lane.
    of_layer_slot: Vec<u32>,
    ends: Vec<u32>,
    faces: Vec<u32>,
    /// Per fan: at rest its faces lie under its normal.
    lies_under: Vec<bool>,
    row_of_fan: Vec<u32>,
    /// Rows that share a face with each row, itself included.
    near: Lists,
}

const NO_FAN: u32 = u32::MAX;
/// Faces or fans that a thread takes at once, at least.
const TOGETHER: usize = 2048;
/// Cosine of the widest angle between a normal and the faces under it.
const UNDER: f32 = 0.7;

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
        let mut first_vertex = Vec::new();
        let mut count = 0u32;
        let mut row_of_fan = Vec::new();
        for fan in keys.chunk_by(|a, b| a.0 == b.0) {
            first_vertex.push(fan[0].1);
            for &(_, vertex) in fan {
                fan_of_vertex[vertex as usize] = count;
            }
            count += 1;
            row_of_fan.push(fan[0].0[0] / LANES as u32);
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
        let mut of_layer_slot = vec![NO_FAN; rig.vertex_of_layer().len() * LANES];
        for (slot, &vertex) in rig.vertex_of_layer().iter().flatten().enumerate() {
            if vertex != NO_VERTEX {
                of_layer_slot[slot] = fan_of_vertex[vertex as usize];
            }
        }
        let mut lies_under = Vec::with_capacity(ends.len());
        for fan in pairs.chunk_by(|a, b| a.0 == b.0) {
            let normal = |&(_, face): &(u32, u32)| face_normal(rig.rest(), rig.point_triangles()[face as usize]);
            let mean: Vec3 = fan.iter().map(normal).sum();
            // Fans without faces have no mean and are not under anything.
            lies_under.resize(fan[0].0 as usize, false);
            let normal = rig.layer_normals().get(slots[first_vertex[fan[0].0 as usize] as usize] as usize);
            lies_under.push(unit(mean).dot(normal) > UNDER);
        }
        lies_under.resize(ends.len(), false);
        let near = rig.point_triangles().iter().flat_map(|corners| {
            let [a, b, c] = corners.map(|slot| slot / LANES as u32);
            [(a, a), (a, b), (a, c), (b, a), (b, b), (b, c), (c, a), (c, b), (c, c)]
        });
        let near = Lists::new(rig.rows().len(), near.collect());
        let faces = pairs.into_iter().map(|(_, face)| face).collect();
        Self { of_layer_slot, ends, faces, lies_under, row_of_fan, near }
    }

    /// Turns the base's normals (and tangents) to the deformed surface.
    #[allow(clippy::too_many_arguments, reason = "what normals are made from, and where they go")]
    pub fn carry(
        &self,
        rig: &Rig,
        base: &Points,
        deformed: &Points,
        pool: Option<&rayon::ThreadPool>,
        scratch: &mut FanScratch,
        normals: &mut Points,
        mut tangents: Option<&mut Points>,
    ) {
        let FanScratch { moved, turning, faces, turns } = scratch;
        moved.clear();
        moved.extend(base.rows.iter().zip(&deformed.rows).map(|(base, deformed)| base != deformed));
        turning.clear();
        turning.extend((0..moved.len()).map(|row| self.near.of(row).iter().any(|&near| moved[near as usize])));
        if !turning.contains(&true) {
            return;
        }
        faces.resize(rig.point_triangles().len(), [Vec3::ZERO; 2]);
        turns.resize(self.ends.len(), FanTurn::default());
        let turning = &*turning;
        let face = |(normals, &corners): (&mut [Vec3; 2], &[u32; 3])| {
            if corners.iter().any(|&slot| turning[slot as usize / LANES]) {
                *normals = [base, deformed].map(|points| face_normal(points, corners));
            }
        };
        let turn = |faces: &[[Vec3; 2]], fan: usize, turn: &mut FanTurn| {
            if turning[self.row_of_fan[fan] as usize] {
                let start = fan.checked_sub(1).map_or(0, |before| self.ends[before]);
                let (mut before, mut after) = (Vec3::ZERO, Vec3::ZERO);
                for &face in &self.faces[start as usize..self.ends[fan] as usize] {
                    let [was, is] = faces[face as usize];
                    before += was;
                    after += is;
                }
                *turn = FanTurn::new(before, after);
            }
        };
        match pool {
            None => {
                faces.iter_mut().zip(rig.point_triangles()).for_each(face);
                turns.iter_mut().enumerate().for_each(|(fan, out)| turn(faces, fan, out));
            }
            Some(pool) => pool.install(|| {
                faces.par_iter_mut().zip(rig.point_triangles()).with_min_len(TOGETHER).for_each(face);
                let turns = turns.par_iter_mut().enumerate().with_min_len(TOGETHER);
                turns.for_each(|(fan, out)| turn(faces, fan, out));
            }),
        }
        for (row, _) in rig.rows().iter().zip(turning).filter(|(_, turns)| **turns) {
            let layers = &row.layers;
            for slot in layers.start as usize * LANES..layers.end as usize * LANES {
                let fan = self.of_layer_slot[slot];
                if fan == NO_FAN {
                    continue;
                }
                let turn = &turns[fan as usize];
                if turn.before == turn.after {
                    continue;
                }
                let n = normals.get(slot);
                // Faces of a mirrored character are wound inward.
                let is_torn = self.lies_under[fan as usize] && n.dot(turn.before).abs() < UNDER;
                let is_usable = is_torn && turn.after != Vec3::ZERO;
                normals.set(slot, if is_usable { turn.after * n.dot(turn.after).signum() } else { turn.apply(n) });
                if let Some(tangents) = tangents.as_deref_mut() {
                    tangents.set(slot, turn.apply(tangents.get(slot)));
                }
            }
        }
    }
}

/// Memory for one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct FanScratch {
    /// Per row: something moved it from where the base put it.
    moved: Vec<bool>,
    /// Per row: something moved it, or a row beside it.
    turning: Vec<bool>,
    /// Of faces in such rows: normals by area, of the base and of the deformed surface.
    faces: Vec<[Vec3; 2]>,
    /// Of fans in such rows.
    turns: Vec<FanTurn>,
}

/// How the mean normal of a fan turned.
#[derive(Clone, Copy, Debug, Default)]
struct FanTurn {
    before: Vec3,
    after: Vec3,
    /// a×b, and 1/(1+a·b); none where the smallest rotation is not defined.
    axis: Vec3,
    share: f32,
}

impl FanTurn {
    fn new(before: Vec3, after: Vec3) -> Self {
        let (before, after) = (unit(before), unit(after));
        let cosine = before.dot(after);
        let turns = before != after && before != Vec3::ZERO && after != Vec3::ZERO && cosine >= -0.999_99;
        let (axis, share) = if turns { (before.cross(after), 1.0 / (1.0 + cosine)) } else { (Vec3::ZERO, 0.0) };
        Self { before, after, axis, share }
    }

    fn apply(&self, n: Vec3) -> Vec3 {
        let across = self.axis.cross(n);
        n + across + self.axis.cross(across) * self.share
    }
}

fn face_normal(points: &Points, corners: [u32; 3]) -> Vec3 {
    let [a, b, c] = corners.map(|slot| points.get(slot as usize));
    (b - a).cross(c - a)
}

/// Scaled first: a long vector squared may leave the range, and so may a short one.
fn unit(v: Vec3) -> Vec3 {
    (v / v.abs().max_element().max(f32::MIN_POSITIVE)).normalize_or_zero()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_takes_one_direction_to_the_other() {
        for (a, b) in [(Vec3::X, Vec3::Y), (Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 2.0)), (Vec3::X, Vec3::X)] {
            let turn = FanTurn::new(a * 1e-20, b * 1e12);
            assert!(turn.apply(a.normalize()).abs_diff_eq(b.normalize(), 1e-6));
        }
    }
}
