//! The tests of `sinew_bake` through its public interface: one program, because linking each file by itself took longer
//! than running it.

mod ends;
mod flattened;
mod hidden;
mod real_characters;
mod scale;
