//! Pictures and films as files. Writers take any `Write` (MP4: a path); whoever calls makes the finished file appear
//! under its name.
//!
//! | | for | |
//! |---|---|---|
//! | [`write_png`] | stills | |
//! | [`ApngWriter`] | films in full colour | one frame at a time |
//! | [`GifWriter`] | films that play everywhere | 255 colours for all frames together |
//! | [`Mp4Writer`] | films for players | needs the program `ffmpeg` |

mod apng;
mod gif_film;
mod median_cut;
mod mp4;
mod png_still;

pub use apng::ApngWriter;
pub use gif_film::{GifWriter, write_gif};
pub use mp4::Mp4Writer;
pub use png_still::write_png;

use crate::image::{Image, Size};

/// Frames per second, in 0.1…240.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRate(f64);

impl FrameRate {
    /// A rate; `None` outside 0.1…240.
    pub fn new(frames_per_second: f64) -> Option<Self> {
        (0.1..=240.0).contains(&frames_per_second).then_some(Self(frames_per_second))
    }

    /// Frames per second.
    pub fn frames_per_second(self) -> f64 {
        self.0
    }
}

/// Why a picture or film cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The PNG's writer or encoder failed.
    #[error("the PNG cannot be written: {0}")]
    Png(#[from] png::EncodingError),
    /// The GIF's writer or encoder failed.
    #[error("the GIF cannot be written: {0}")]
    Gif(#[from] gif::EncodingError),
    /// There is no frame.
    #[error("a film needs at least one frame")]
    NoFrames,
    /// A frame has another size than the film.
    #[error("frame {frame} is not the size of the film; draw all frames with one size")]
    FrameSize {
        /// From 0.
        frame: usize,
    },
    /// More or fewer frames than announced.
    #[error("the film was announced with {announced} frames and got {got}")]
    FrameCount {
        /// Announced.
        announced: u32,
        /// Written.
        got: u32,
    },
    /// The program that writes MP4 is not installed.
    #[error(
        "MP4 is written by the program `ffmpeg`, which is not installed: get it (`apt install ffmpeg`, `brew install \
         ffmpeg`, `winget install ffmpeg`), or write a .gif or an animated .png"
    )]
    NoFfmpeg,
    /// The program that writes MP4 failed.
    #[error("ffmpeg could not write the MP4: {0}")]
    Ffmpeg(String),
}

/// The smallest rectangle (left, top, size) outside which two pictures of one size agree; `None` if they agree
/// everywhere.
fn changed(before: &Image, now: &Image) -> Option<(u32, u32, Size)> {
    let width = now.size().width() as usize;
    let differs = |y: usize, x: usize| before.pixels()[y * width + x] != now.pixels()[y * width + x];
    let row_differs = |y: &usize| (0..width).any(|x| differs(*y, x));
    let height = now.size().height() as usize;
    let top = (0..height).find(row_differs)?;
    let bottom = (top..height).rev().find(row_differs)?;
    let left = (0..width).find(|&x| (top..=bottom).any(|y| differs(y, x)))?;
    let right = (left..width).rev().find(|&x| (top..=bottom).any(|y| differs(y, x)))?;
    let size = Size::new((right - left + 1) as u32, (bottom - top + 1) as u32)?;
    Some((left as u32, top as u32, size))
}

/// The pixels of a rectangle.
fn cropped(image: &Image, left: u32, top: u32, size: Size) -> impl Iterator<Item = &[[u8; 4]]> {
    let width = image.size().width() as usize;
    let columns = left as usize..(left + size.width()) as usize;
    image.pixels().chunks(width).skip(top as usize).take(size.height() as usize).map(move |row| &row[columns.clone()])
}
