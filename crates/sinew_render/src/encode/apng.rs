//! Films as animated PNG, which viewers without animation show as the first frame. Of each further frame only the
//! rectangle that changed is stored.

use super::{EncodeError, FrameRate, changed, cropped};
use crate::image::{Image, Size};
use std::io::Write;

/// Takes the frames of an endless film one by one.
pub struct ApngWriter<W: Write> {
    writer: png::Writer<W>,
    size: Size,
    announced: u32,
    got: u32,
    last: Option<Image>,
}

impl<W: Write> ApngWriter<W> {
    /// Starts a film of `frames` frames.
    pub fn new(writer: W, size: Size, rate: FrameRate, frames: u32) -> Result<Self, EncodeError> {
        if frames == 0 {
            return Err(EncodeError::NoFrames);
        }
        let mut encoder = png::Encoder::new(writer, size.width(), size.height());
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_animated(frames, 0)?;
        encoder.set_frame_delay(100, (100.0 * rate.frames_per_second()).round() as u16)?;
        encoder.set_blend_op(png::BlendOp::Source)?;
        encoder.set_dispose_op(png::DisposeOp::None)?;
        Ok(Self { writer: encoder.write_header()?, size, announced: frames, got: 0, last: None })
    }

    /// Adds a frame.
    pub fn frame(&mut self, image: &Image) -> Result<(), EncodeError> {
        if image.size() != self.size {
            return Err(EncodeError::FrameSize { frame: self.got as usize });
        }
        if self.got == self.announced {
            return Err(EncodeError::FrameCount { announced: self.announced, got: self.got.saturating_add(1) });
        }
        match &self.last {
            None => self.writer.write_image_data(image.bytes())?,
            Some(last) => {
                // A frame without change still takes its time: one pixel of it is stored again.
                let (left, top, size) =
                    changed(last, image).or_else(|| Some((0, 0, Size::new(1, 1)?))).unwrap_or((0, 0, self.size));
                self.writer.reset_frame_position()?;
                self.writer.set_frame_dimension(size.width(), size.height())?;
                self.writer.set_frame_position(left, top)?;
                let pixels: Vec<u8> =
                    cropped(image, left, top, size).flat_map(|row| row.as_flattened()).copied().collect();
                self.writer.write_image_data(&pixels)?;
            }
        }
        self.last = Some(image.clone());
        self.got += 1;
        Ok(())
    }

    /// Ends the film.
    pub fn finish(self) -> Result<(), EncodeError> {
        if self.got != self.announced {
            return Err(EncodeError::FrameCount { announced: self.announced, got: self.got });
        }
        Ok(self.writer.finish()?)
    }
}
