//! Sinew Studio: direct, paint and export livelier characters in a window.
//!
//! What is worked on is a library without a window; the window only shows it and hands on what people do.
//!
//! | module | what it holds |
//! |---|---|
//! | [`character`], [`opening`] | what was opened, and how it comes in |
//! | [`document`], [`history`] | recipe and painted maps, and every change of them, to be undone |
//! | [`brush`], [`drawn`] | painting on the skin, drawing over the picture |
//! | [`shake`] | a bone shaken by hand, live and recorded |
//! | [`player`] | the document in motion: follows every change between two frames |
//! | [`jobs`] | what takes longer than a moment: styles, strengths, checks, bakes |
//! | [`wire`] | jobs as plain data, for workers |
//! | [`stored_zip`] | several files as one |
//! | [`portrait`], [`pictures`] | small pictures of the character with a style; stills and films |
//! | [`why`] | which effect and which bone moved a point how far |
//! | [`keep`], [`recovery`], [`handed`] | files that are saved, what is left after a crash, files without a place on a disk |
//! | [`words`] | everything the window says |
//! | `shell` | the window (feature `window`) |
//! | `browser` | what a browser's tab has in place of a disk, threads and dialogs |
//!
//! ```
//! use sinew_studio::character::Character;
//! use sinew_studio::document::Document;
//!
//! let calf = Character::built_in("calf")?;
//! let mut document = Document::new(calf);
//! document.choose_preset("lively")?;
//! document.undo();
//! assert!(!document.recipe().recipe().adds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(all(target_arch = "wasm32", feature = "window"))]
pub mod browser;
pub mod brush;
pub mod character;
pub mod document;
pub mod drawn;
pub mod handed;
pub mod history;
pub mod jobs;
pub mod keep;
pub mod opening;
pub mod pictures;
pub mod player;
pub mod portrait;
pub mod recovery;
pub mod shake;
#[cfg(feature = "window")]
pub mod shell;
pub mod stored_zip;
pub mod why;
pub mod wire;
pub mod words;
