//! The tests of `sinew_render` through its public interface: one program, because linking each file by itself took longer
//! than running it.

mod encode;
mod picture;
