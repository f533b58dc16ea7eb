//! Rigid skinning: each point follows its largest influence alone.
//!
//! Oracle: equal to LBS where one bone has weight 1.

use super::{Base, BaseEntry, largest_influences};
use crate::rig::Rig;
use crate::simd::LANES;

/// The base `rigid`.
pub const RIGID: BaseEntry = BaseEntry {
    name: "rigid",
    about: "Each point follows its strongest bone only",
    params: &[],
    mapped: None,
    tables: &[],
    bind: |binding| rigid(binding.rig),
};

/// All weight on the largest influence, on the lower palette index among equals.
fn rigid(rig: &Rig) -> Base {
    let mut weights = vec![[0.0; LANES]; rig.skin_weights().len()];
    for (row, largest) in rig.rows().iter().zip(largest_influences(rig)) {
        for (lane, entry) in largest.into_iter().enumerate() {
            weights[row.skin.start as usize + entry as usize][lane] = 1.0;
        }
    }
    Base::Rigid(weights)
}
