//! Stills as PNG.

use super::EncodeError;
use crate::image::Image;
use std::io::Write;

/// Writes a PNG, without an alpha channel where the picture is opaque.
pub fn write_png(writer: impl Write, image: &Image) -> Result<(), EncodeError> {
    let mut encoder = png::Encoder::new(writer, image.size().width(), image.size().height());
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let opaque = image.is_opaque();
    encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
    let mut writer = encoder.write_header()?;
    if opaque {
        let rgb: Vec<u8> = image.pixels().iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
        writer.write_image_data(&rgb)?;
    } else {
        writer.write_image_data(image.bytes())?;
    }
    writer.finish()?;
    Ok(())
}
