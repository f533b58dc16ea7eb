//! Films as GIF: one palette for all frames, and of each frame only what changed.

use super::median_cut::Palette;
use super::{EncodeError, FrameRate, changed, cropped};
use crate::image::Image;
use std::io::Write;

/// Index of "nothing here", after at most 255 colours.
const CLEAR: u8 = 255;

/// Writes an endless film. Frames with translucent pixels are cut at half opacity.
pub fn write_gif(writer: impl Write, frames: &[Image], rate: FrameRate) -> Result<(), EncodeError> {
    let size = frames.first().ok_or(EncodeError::NoFrames)?.size();
    if let Some(frame) = frames.iter().position(|f| f.size() != size) {
        return Err(EncodeError::FrameSize { frame });
    }
    let palette = Palette::new(frames, usize::from(CLEAR));
    let mut colors: Vec<u8> = palette.colors().as_flattened().to_vec();
    colors.resize(3 * 256, 0);
    // Sides are at most 16,384: they fit.
    let mut encoder = gif::Encoder::new(writer, size.width() as u16, size.height() as u16, &colors)?;
    encoder.set_repeat(gif::Repeat::Infinite)?;
    let opaque = frames.iter().all(Image::is_opaque);
    for (i, image) in frames.iter().enumerate() {
        // Frames add up only where nothing ever becomes clear again.
        let last = if opaque { i.checked_sub(1).map(|i| &frames[i]) } else { None };
        let (left, top, part) = match last {
            Some(last) => changed(last, image).map_or((0, 0, None), |(l, t, s)| (l, t, Some(s))),
            None => (0, 0, Some(size)),
        };
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
        encoder.write_frame(&gif::Frame {
            delay: delay(i, rate),
            dispose: if opaque { gif::DisposalMethod::Keep } else { gif::DisposalMethod::Background },
            transparent: Some(CLEAR),
            left: left as u16,
            top: top as u16,
            width,
            height,
            buffer: buffer.into(),
            ..gif::Frame::default()
        })?;
    }
    Ok(())
}

/// Hundredths of a second, rounded so that errors do not add up. Players take less than two for a slow film.
fn delay(frame: usize, rate: FrameRate) -> u16 {
    let at = |i: usize| (100.0 * i as f64 / rate.frames_per_second()).round();
    (at(frame + 1) - at(frame)).max(2.0) as u16
}
