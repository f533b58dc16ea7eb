//! How much each point of the skin feels of each limb.
//!
//! Weights in space cannot tell an arm from the flank it rests against, or a hand from the thigh it swings by: that is
//! their guarantee, and on a body their fault. So each point carries a share of every limb from the bind pose, which
//! its weights in space are multiplied by: `smoothstep(1 − g/(2√A))`, g the way along the skin from the points that
//! follow the limb and A the area of the skin that does. Over a joint and well beyond it shares are close to 1, and
//! weights are the paper's; a leg feels nothing of the other leg's foot. What is one-to-one is then the motion of
//! points that feel the same, so that folds are prevented along each limb and over its joints, and no longer between
//! limbs that meet.
//!
//! *Tried*: shares by the ratio of that way to the distance through the air, which are 1 all along a straight tube. In
//! a T-pose the air is no shorter, and a lowered hand sticks to the thigh. Spans by the thickness of what a point
//! belongs to keep bellies out of legs, but they change from vertex to vertex as skin weights do, and crossings double.
//!
//! Oracle: a leg that stands while the other is lifted; the same tube finely and coarsely meshed
//! (`tests/all/fold_over_free.rs`).

use super::real::{Real, Row};
use crate::bind_space::bind_spaces;
use crate::graph::JoinedSkin;
use crate::rig::{OfRig, Rig};
use crate::simd::LANES;
use glam::{DAffine3, DVec3};

/// A bone that no point follows by this much is no limb of its own.
const LEAST_HOLD: f32 = 0.3;
/// Points that follow a bone by this share of the most that any does are where the way along the skin starts. Those
/// that follow it less start with a part of its span behind them, so that no rounding of a weight moves the start by an
/// edge.
const FOLLOWS: f64 = 0.5;

/// How far along the skin a bone is felt, in roots of the area that follows it.
const SPAN: f64 = 2.0;

/// Which lines some points feel, and how much, from a lane of their row on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Felt<'a, T> {
    pub lines: &'a [u32],
    /// Per line, of all points of the row.
    pub shares: &'a [Row<T>],
    pub at: usize,
}

impl<T> Felt<'_, T> {
    /// Of one line; none where nobody feels it.
    pub fn share(&self, line: usize) -> Option<&Row<T>> {
        let found = self.lines.iter().position(|&felt| felt as usize == line)?;
        Some(&self.shares[found])
    }
}

/// What the points of a row feel.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeltRow<T> {
    lines: Vec<u32>,
    shares: Vec<Row<T>>,
}

impl<T: Real> FeltRow<T> {
    /// From what each point feels; lanes beyond the last take the first.
    pub fn new<'a>(points: impl Iterator<Item = &'a [(u32, f64)]> + Clone) -> Self {
        let mut lines: Vec<u32> = points.clone().flatten().map(|&(line, _)| line).collect();
        lines.sort_unstable();
        lines.dedup();
        let mut shares = vec![[T::default(); LANES]; lines.len()];
        let first = points.clone().next();
        for (lane, felt) in points.chain(first.into_iter().cycle()).take(LANES).enumerate() {
            for &(line, share) in felt {
                if let Ok(index) = lines.binary_search(&line) {
                    shares[index][lane] = T::of(share);
                }
            }
        }
        Self { lines, shares }
    }

    /// From a lane on.
    #[inline(always)]
    pub fn from(&self, at: usize) -> Felt<'_, T> {
        Felt { lines: &self.lines, shares: &self.shares, at }
    }
}

/// The skin of a rig in bind space, and how far it is along it from what follows each bone.
#[derive(Debug)]
pub(crate) struct BoundSkin {
    /// Per palette entry of its own character.
    pub bind_from_rest: Vec<DAffine3>,
    /// Per slot: where it is.
    pub places: Vec<DVec3>,
    /// Per bone: the most that any point follows it.
    pub holds: Vec<f32>,
    /// Per bone: how far along the skin it is felt.
    pub spans: Vec<f64>,
    /// Per bone that is a limb and slot: the way along the skin; infinite where there is none.
    pub ways: Vec<Vec<f32>>,
}

impl OfRig for BoundSkin {
    fn of(rig: &Rig) -> Self {
        let palette = rig.palette();
        let mut bind_from_rest = vec![DAffine3::IDENTITY; palette.len()];
        for character in 0..rig.characters().len() {
            for (index, bind) in bind_spaces(rig, character).into_iter().enumerate() {
                if palette[index].character as usize == character {
                    bind_from_rest[index] = bind;
                }
            }
        }
        let place = |slot: usize| {
            let entry = rig.main_influence(slot).map_or(0, |main| main.palette as usize);
            let bind = bind_from_rest.get(entry).copied().unwrap_or(DAffine3::IDENTITY);
            bind.transform_point3(rig.rest().get(slot).as_dvec3())
        };
        let places: Vec<DVec3> = (0..rig.slots()).map(place).collect();
        let is_filled = |slot: usize| slot % LANES < rig.rows()[slot / LANES].filled as usize;
        let is_skin = |slot: u32| is_filled(slot as usize) && !rig.is_rider(slot as usize);
        let mut followers: Vec<Vec<(f32, u32)>> = vec![Vec::new(); rig.skeleton().len()];
        for slot in (0..rig.slots() as u32).filter(|&slot| is_skin(slot)) {
            for influence in rig.influences(slot as usize) {
                let followers = &mut followers[palette[influence.palette as usize].bone.index()];
                match followers.last_mut() {
                    // Through two skins of the same bone.
                    Some((weight, last)) if *last == slot => *weight += influence.weight,
                    _ => followers.push((influence.weight, slot)),
                }
            }
        }
        let graph = rig.kept::<JoinedSkin>().graph.filtered(|a, b| is_skin(a) && is_skin(b)).measured(&places);
        let mut distances = vec![f64::INFINITY; rig.slots()];
        let most = |followers: &Vec<(f32, u32)>| followers.iter().map(|&(weight, _)| weight).fold(0.0, f32::max);
        let holds: Vec<f32> = followers.iter().map(most).collect();
        let mut areas = vec![0.0; rig.slots()];
        for corners in rig.point_triangles() {
            let [a, b, c] = corners.map(|slot| places[slot as usize]);
            let area = (b - a).cross(c - a).length() / 6.0;
            corners.iter().for_each(|&slot| areas[slot as usize] += area);
        }
        let span = |followers: &Vec<(f32, u32)>| {
            let area = |&(weight, slot): &(f32, u32)| f64::from(weight) * areas[slot as usize];
            SPAN * followers.iter().map(area).sum::<f64>().sqrt()
        };
        let spans: Vec<f64> = followers.iter().map(span).collect();
        let ways = followers.iter().zip(holds.iter().zip(&spans)).map(|(followers, (&hold, &span))| {
            if hold < LEAST_HOLD {
                return Vec::new();
            }
            let start = |&(weight, slot): &(f32, u32)| {
                let follows = f64::from(weight) / (FOLLOWS * f64::from(hold));
                (slot, (1.0 - follows).max(0.0) * span)
            };
            let mut ways = vec![f32::INFINITY; rig.slots()];
            let sources = followers.iter().map(start);
            graph.spread_from(sources, &mut distances, |slot, way, _| ways[slot as usize] = way as f32);
            ways
        });
        let ways = ways.collect();
        Self { bind_from_rest, places, holds, spans, ways }
    }
}

impl BoundSkin {
    /// Whether enough skin follows a bone for a limb.
    pub fn is_limb(&self, bone: usize) -> bool {
        self.holds[bone] >= LEAST_HOLD
    }
}

/// The share of a limb that a point feels, so far along the skin from what follows the limb, if that is felt over
/// `span`.
pub(crate) fn share(way: f64, span: f64) -> f64 {
    // Points without faces follow over no span.
    let near = if way > 0.0 { (1.0 - way / span).clamp(0.0, 1.0) } else { 1.0 };
    near * near * (3.0 - 2.0 * near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_what_each_point_feels() {
        let points = [vec![(3, 0.5), (7, 1.0)], vec![(1, 0.25)]];
        let row = FeltRow::<f64>::new(points.iter().map(Vec::as_slice));
        let felt = row.from(0);
        assert_eq!(felt.lines, [1, 3, 7]);
        let of = |line: usize, lane: usize| felt.share(line).map(|shares| shares[lane]);
        assert_eq!((of(1, 0), of(3, 0), of(7, 0)), (Some(0.0), Some(0.5), Some(1.0)));
        assert_eq!((of(1, 1), of(3, 1), of(7, 1)), (Some(0.25), Some(0.0), Some(0.0)));
        // Lanes beyond the last take the first.
        assert_eq!((of(1, 9), of(7, 15), of(2, 0)), (Some(0.0), Some(1.0), None));
    }

    #[test]
    fn shares_fall_smoothly_from_one_to_nothing() {
        assert_eq!((share(0.0, 2.0), share(1.0, 2.0), share(2.0, 2.0)), (1.0, 0.5, 0.0));
        assert_eq!((share(f64::INFINITY, 2.0), share(5.0, 2.0)), (0.0, 0.0));
        assert_eq!((share(0.0, 0.0), share(1.0, 0.0)), (1.0, 0.0));
    }
}
