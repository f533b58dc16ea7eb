//! Between linear blending and dual quaternions: `p = (1 − f) p_LBS + f p_DQS`, f a factor times a painted map.
//!
//! Oracle: the ends of the range are the two to the bit.

use super::dqs::PIVOT;
use super::{Antipodality, Base, BaseEntry};
use crate::param::ParamSpec;

/// The base `blend`.
pub const BLEND: BaseEntry = BaseEntry {
    name: "blend",
    about: "Between linear blending and dual quaternions",
    params: &[ParamSpec::number("factor", "", [0.0, 1.0], 0.5, "0 is lbs, 1 is dqs"), PIVOT],
    mapped: Some("factor"),
    tables: &[],
    bind: |binding| Base::Blend(binding.painted("factor"), Antipodality::of(binding)),
};
