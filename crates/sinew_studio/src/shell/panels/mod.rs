//! Panels, one file each; all of them show and change one [`crate::shell::desk::Desk`].

pub mod bones;
pub mod check;
pub mod corrections;
pub mod draw;
pub mod effects;
pub mod keep;
pub mod paint;
pub mod style;
pub mod timeline;
pub mod why;
