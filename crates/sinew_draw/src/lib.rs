//! Drawing: strokes over a picture of a character that pose its bones, sculpt its skin and redraw its outline (EX 7).
//!
//! A room of its own, above the solvers of [`sinew_author`] and beside any window: [`sinew`] knows no camera and
//! [`sinew_author`] no picture, while everything here begins with pixels of a [`sinew_render`] camera. Programs call it
//! at pointer events; nothing here opens files, windows or threads.
//!
//! | module | what it holds |
//! |---|---|
//! | [`screen`] | strokes in pixels, put on the skin or on a plane |
//! | [`drawn`] | strokes as they are asked for, in the world or in pixels |
//! | [`edits`] | surface edits made of them, for recipes |
//! | [`pose_strokes`] | bones posed by them |
//! | [`ease`] | when something drawn comes, holds and goes |
//! | [`layer`] | a pose that was drawn as a layer on a clip, and as its tracks |
//! | [`outline`] | what is seen of a contour, and the part of it that a stroke runs along |
//! | [`mod@redraw`] | that part moved to the stroke, the skin around it following |

pub mod drawn;
pub mod ease;
pub mod edits;
pub mod layer;
pub mod outline;
pub mod pose_strokes;
pub mod redraw;
pub mod screen;

pub use drawn::Canvas;
pub use ease::{Cycle, Ease, Easing};
pub use layer::{LayerError, Layers, PoseLayer};
pub use outline::{Contour, OutlineError};
pub use redraw::redraw;
pub use screen::{CameraSpec, Plane, ScreenError, ScreenSample, ScreenStroke, SkinSample};
