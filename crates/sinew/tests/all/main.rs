//! The tests of `sinew` through its public interface: one program, because linking each file by itself took longer
//! than running it.

#![allow(clippy::print_stdout, reason = "figures and tables are read by hand")]

mod allocations;
mod base;
mod bind;
mod collide;
mod common;
mod cone;
mod conformance;
mod crowd;
mod curves;
mod displacements;
mod edits;
mod ends;
mod fold_over_free;
mod lift;
mod maps;
mod motion;
mod muscles;
mod normals;
mod parts;
mod planting;
mod points;
mod pointwise;
mod presets;
mod recipe;
mod retarget;
mod retune;
mod rigid;
mod sewn;
mod skirts;
mod springs;
mod strength;
mod volume;
