//! Weights as heat (Baran, Popović 2007, "Automatic rigging and animation of 3D characters").
//!
//! Each bone is held at temperature 1 and all others at 0; the skin takes the temperature of the nearest bone, if that
//! is in sight, and conducts along itself (`conduction`).
//!
//! Why this one beside the paper's: influence spreads along the skin, so neighbouring fingers do not share it however
//! close they are, and it falls off smoothly where inverse distances have creases and far bones always have a say. Bounded
//! biharmonic weights need a mesh of the volume, which open and self-cutting characters do not have; geodesic voxels need
//! a resolution that fits the thinnest finger.
//!
//! Oracle: on a hand no finger follows its neighbour.

use super::conduction::Source;
use super::shell::Shell;
use super::sight::{bones_by_distance, by_ray};
use crate::limbs::Limbs;

/// Bones all but as near as the nearest share with it, by this power of the ratio of distances: half way between two bones a few
/// percent of the way decide. The paper's step would follow the unevenness of the skin from one point to the next.
const SHARED: f64 = 100.0;
/// Shares this large are those of bones as near as the nearest.
const EQUAL: f64 = 0.999;
/// Smaller shares do not count.
const LEAST_SHARE: f64 = 0.05;

/// What a point follows by itself: the nearest bone, shared with those all but as near; `None` where the nearest is not in
/// sight.
pub(super) fn source(shell: &Shell, limbs: &Limbs, bones: &[u32], point: usize) -> Option<Source> {
    let bones = bones_by_distance(shell, limbs, bones, point);
    let nearest = bones.first()?;
    let distance = nearest.distance;
    let share = |d: f64| if d > 0.0 { (distance / d).powf(SHARED) } else { 1.0 };
    let shared = bones.iter().map(|seen| (seen, share(seen.distance))).take_while(|&(_, share)| share > LEAST_SHARE);
    let in_sight = shared.filter(|(seen, _)| by_ray(shell, point, seen.place));
    let mut weights: Vec<(u32, f64)> = in_sight.map(|(seen, share)| (seen.bone, share)).collect();
    if weights.first()?.1 < EQUAL {
        return None;
    }
    let sum: f64 = weights.iter().map(|w| w.1).sum();
    weights.iter_mut().for_each(|w| w.1 /= sum);
    Some(Source { weights, distance })
}
