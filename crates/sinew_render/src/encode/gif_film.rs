//! Films as GIF: one palette for all frames, and of each frame only what changed.

use super::median_cut::Palette;
use super::{EncodeError, FrameRate, changed, cropped};
use crate::image::{Image, Size};
use std::io::Write;

/// Index of "nothing here", after at most 255 colours.
const CLEAR: u8 = 255;

/// Takes the frames of an endless film one by one. Frames with translucent pixels are cut at half opacity.
pub struct GifWriter<W: Write> {
    encoder: gif::Encoder<W>,
    palette: Palette,
    size: Size,
    rate: FrameRate,
    /// Frames add up only where nothing ever becomes clear again.
    opaque: bool,
    got: usize,
    last: Option<Image>,
}

impl<W: Write> GifWriter<W> {
    /// Starts a film whose colours are those of `samples`: all its frames, or some that show all there is to see. If
    /// they are opaque, all frames are taken to be.
    pub fn new(writer: W, samples: &[Image], rate: FrameRate) -> Result<Self, EncodeError> {
        let size = samples.first().ok_or(EncodeError::NoFrames)?.size();
        let palette = Palette::new(samples, usize::from(CLEAR));
        let mut colors: Vec<u8> = palette.colors().flatten().collect();
        colors.resize(3 * 256, 0);
        // Sides are at most 16,384: they fit.
        let mut encoder = gif::Encoder::new(writer, size.width() as u16, size.height() as u16, &colors)?;
        encoder.set_repeat(gif::Repeat::Infinite)?;
        let opaque = samples.iter().all(Image::is_opaque);
        Ok(Self { encoder, palette, size, rate, opaque, got: 0, last: None })
    }

    /// Adds a frame.
    pub fn frame(&mut self, image: &Image) -> Result<(), EncodeError> {
        if image.size() != self.size {
            return Err(EncodeError::FrameSize { frame: self.got });
        }
        let last = self.last.as_ref().filter(|_| self.opaque);
        let (left, top, part) = match last {
            Some(last) => changed(last, image).map_or((0, 0, None), |(l, t, s)| (l, t, Some(s))),
            None => (0, 0, Some(self.size)),
        };
        let palette = &mut self.palette;
        let (width, height, buffer) = match part {
            None => (1, 1, vec![CLEAR]),
            Some(part) => {
                let rows = cropped(image, left, top, part);
                let buffer = match last {
                    Some(last) => rows
                        .zip(cropped(last, left, top, part))
                        .flat_map(|(row, last)| row.iter().zip(last))
                        .map(|(now, last)| if now == last { CLEAR } else { palette.index(*now) })
                        .collect(),
                    None => rows.flatten().map(|p| if p[3] >= 128 { palette.index(*p) } else { CLEAR }).collect(),
                };
                (part.width() as u16, part.height() as u16, buffer)
            }
        };
        self.encoder.write_frame(&gif::Frame {
            delay: delay(self.got, self.rate),
            dispose: if self.opaque { gif::DisposalMethod::Keep } else { gif::DisposalMethod::Background },
            transparent: Some(CLEAR),
            left: left as u16,
            top: top as u16,
            width,
            height,
            buffer: buffer.into(),
            ..gif::Frame::default()
        })?;
        self.last = Some(image.clone());
        self.got += 1;
        Ok(())
    }

    /// Ends the film.
    pub fn finish(self) -> Result<(), EncodeError> {
        if self.got == 0 {
            return Err(EncodeError::NoFrames);
        }
        Ok(self.encoder.into_inner().map(drop)?)
    }
}

/// Writes an endless film of frames that are all there.
pub fn write_gif(writer: impl Write, frames: &[Image], rate: FrameRate) -> Result<(), EncodeError> {
    let mut film = GifWriter::new(writer, frames, rate)?;
    frames.iter().try_for_each(|image| film.frame(image))?;
    film.finish()
}

/// Hundredths of a second, rounded so that errors do not add up. Players take less than two for a slow film.
fn delay(frame: usize, rate: FrameRate) -> u16 {
    let at = |i: usize| (100.0 * i as f64 / rate.frames_per_second()).round();
    (at(frame + 1) - at(frame)).max(2.0) as u16
}
