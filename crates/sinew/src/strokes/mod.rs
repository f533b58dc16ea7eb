//! Strokes as geometry: what a mouse, a pen or a 3D controller draws, made fit to pose and to edit with (EX 7).
//!
//! | file | what it holds |
//! |---|---|
//! | [`mod@simplify`] | Ramer–Douglas–Peucker: the samples that matter |
//! | [`curve`] | the composite Bézier curve through them, by arc length |
//! | [`frames`] | frames along a curve that turn as little as they can |
//! | [`posing`] | bones chosen by a baseline stroke, posed by an offset stroke |
//! | [`surface`] | strokes that lie on a surface and follow it |
//! | [`region`] | the part of a surface that an edit reaches |
//! | [`silhouette`] | the outline of a surface from a view |
//!
//! All of it works in world space and f64, knows no window, and is scale-free: tolerances are the caller's, in the
//! stroke's own units.

pub mod curve;
pub mod frames;
pub mod posing;
pub mod region;
pub mod silhouette;
pub mod simplify;
pub mod surface;

pub use curve::{Stroke, StrokeError};
pub use frames::Frames;
pub use posing::{Fit, Selection, pose_by_offset};
pub use region::{Reach, Region};
pub use simplify::{Sample, simplify};
pub use surface::{SurfacePoint, SurfaceStroke};
