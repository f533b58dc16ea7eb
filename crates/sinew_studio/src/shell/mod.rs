//! The window: panels about a picture, over one document.
//!
//! | module | what it shows |
//! |---|---|
//! | [`studio`] | all of it, and what keys do |
//! | [`desk`] | a document that is open, with all that its panels share |
//! | [`view`], [`gpu_easel`], [`orbit`], [`pick`] | the picture, on the GPU or without one, its camera, what is under the pointer |
//! | [`drawing`] | strokes over the picture |
//! | [`gizmo`] | a bone's centre, moved in the picture |
//! | [`portraits`] | cards with small pictures, made in idle time |
//! | [`panels`] | one file per panel |
//! | [`widgets`] | sliders of parameters, curves |

pub mod desk;
pub mod drawing;
pub mod gizmo;
pub mod gpu_easel;
pub mod orbit;
pub mod panels;
pub mod pick;
pub mod portraits;
pub mod studio;
pub mod view;
pub mod widgets;
