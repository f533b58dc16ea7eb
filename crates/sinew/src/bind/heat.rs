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

/// How well the skin conducts. The paper has 1, with which the border between two bones is about as wide as the limb is
/// thick; artists paint it about a third as wide.
pub(super) const CONDUCTANCE: f64 = 0.15;
/// Distances this close, as a ratio, are equal.
const EQUAL: f64 = 1.0001;

/// What a point follows by itself: the nearest bone, shared among equals; `None` where it is not in sight.
pub(super) fn source(shell: &Shell, limbs: &Limbs, bones: &[u32], point: usize) -> Option<Source> {
    let bones = bones_by_distance(shell, limbs, bones, point);
    let distance = bones.first()?.distance;
    let equals = bones.iter().take_while(|seen| seen.distance <= distance * EQUAL);
    let bones: Vec<u32> = equals.filter(|seen| by_ray(shell, point, seen.place)).map(|seen| seen.bone).collect();
    let share = 1.0 / bones.len() as f64;
    (!bones.is_empty()).then(|| Source { weights: bones.into_iter().map(|bone| (bone, share)).collect(), distance })
}
