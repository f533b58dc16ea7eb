//! The tests of `sinew_cli` through its public interface: one program, because linking each file by itself took longer
//! than running it.

mod animations;
mod bake;
mod bind;
mod characters;
mod check;
mod common;
mod conventions;
mod demo;
mod edit;
mod examples;
mod frame;
mod gpu;
mod inspect;
mod limits;
mod liven;
mod malformed;
mod map;
mod pose;
mod presets;
mod render;
mod strip_and_diff;
mod writing;
