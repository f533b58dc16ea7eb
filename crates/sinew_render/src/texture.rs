//! Textures: PNG and JPEG decoded, wrapped as glTF samplers say, filtered bilinearly on and between levels of a
//! half-size pyramid (Williams 1983).
//!
//! Filtering happens in linear light with colours weighted by alpha, so neither dark borders nor bright fringes appear.

use crate::image::{Image, MAX_SIDE, Size};
use crate::srgb::linear_from_byte;
use glam::DVec2;
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// What happens beyond the texture's border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wrap {
    /// It starts again.
    #[default]
    Repeat,
    /// It starts again, mirrored.
    Mirror,
    /// Its last row or column goes on.
    Clamp,
}

impl Wrap {
    fn index(self, i: i64, side: i64) -> usize {
        let wrapped = match self {
            Self::Repeat => i.rem_euclid(side),
            Self::Clamp => i.clamp(0, side - 1),
            Self::Mirror => {
                let m = i.rem_euclid(2 * side);
                m.min(2 * side - 1 - m)
            }
        };
        wrapped as usize
    }
}

/// Why a texture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextureError {
    /// Neither of the two formats glTF allows.
    #[error("the texture is neither PNG nor JPEG; save it as one of them")]
    UnknownFormat,
    /// A side is 0 or too large.
    #[error("the texture is {width} × {height} pixels; sides from 1 to {MAX_SIDE} can be drawn")]
    Size {
        /// As written in the file.
        width: usize,
        /// As written in the file.
        height: usize,
    },
    /// The PNG is damaged.
    #[error("the PNG texture is damaged ({0}); save it again")]
    Png(#[from] png::DecodingError),
    /// The JPEG is damaged.
    #[error("the JPEG texture is damaged ({0}); save it again")]
    Jpeg(String),
}

struct Level {
    width: usize,
    height: usize,
    /// Linear RGB times alpha, and alpha.
    texels: Vec<[f32; 4]>,
}

/// A picture to wrap around a mesh.
pub struct Texture {
    wrap: [Wrap; 2],
    levels: Vec<Level>,
}

impl std::fmt::Debug for Texture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Texture({} × {})", self.levels[0].width, self.levels[0].height)
    }
}

impl Texture {
    /// Reads a PNG or JPEG file's bytes.
    pub fn decode(bytes: &[u8], wrap: [Wrap; 2]) -> Result<Self, TextureError> {
        let image = match bytes {
            [0x89, b'P', b'N', b'G', ..] => decode_png(bytes)?,
            [0xFF, 0xD8, ..] => decode_jpeg(bytes)?,
            _ => return Err(TextureError::UnknownFormat),
        };
        Ok(Self::new(&image, wrap))
    }

    /// A texture of a picture, wrapped horizontally and vertically.
    pub fn new(image: &Image, wrap: [Wrap; 2]) -> Self {
        let texels = image.pixels().iter().map(|&[r, g, b, a]| {
            let alpha = f32::from(a) / 255.0;
            [linear_from_byte(r) * alpha, linear_from_byte(g) * alpha, linear_from_byte(b) * alpha, alpha]
        });
        let size = image.size();
        let mut levels =
            vec![Level { width: size.width() as usize, height: size.height() as usize, texels: texels.collect() }];
        while let Some(last) = levels.last()
            && (last.width > 1 || last.height > 1)
        {
            levels.push(halve(last));
        }
        Self { wrap, levels }
    }

    /// Linear RGBA at `uv`, seen from where `uv` changes by `right` and `down` per pixel.
    pub fn sample(&self, uv: DVec2, right: DVec2, down: DVec2) -> [f32; 4] {
        if !uv.is_finite() {
            return [1.0; 4];
        }
        let scale = DVec2::new(self.levels[0].width as f64, self.levels[0].height as f64);
        let area = (right * scale).length_squared().max((down * scale).length_squared());
        let top = (self.levels.len() - 1) as f32;
        // NaN falls to 0 in `max`.
        let lod = (0.5 * libm::log2f(area as f32)).max(0.0).min(top);
        let (level, part) = (lod as usize, lod.fract());
        let mut texel = self.bilinear(&self.levels[level], uv);
        if part > 0.0 {
            let coarse = self.bilinear(&self.levels[level + 1], uv);
            for i in 0..4 {
                texel[i] += (coarse[i] - texel[i]) * part;
            }
        }
        let [r, g, b, a] = texel;
        if a > 0.0 { [r / a, g / a, b / a, a] } else { [0.0; 4] }
    }

    fn bilinear(&self, level: &Level, uv: DVec2) -> [f32; 4] {
        let (x, y) = (uv.x * level.width as f64 - 0.5, uv.y * level.height as f64 - 0.5);
        let (x0, y0) = (x.floor(), y.floor());
        let (fx, fy) = ((x - x0) as f32, (y - y0) as f32);
        let column = |i: i64| self.wrap[0].index(i, level.width as i64);
        let row = |i: i64| self.wrap[1].index(i, level.height as i64) * level.width;
        // Saturating: far outside, wrapping has no digits left to be right in.
        let (xs, ys) = (
            [x0 as i64, (x0 as i64).saturating_add(1)].map(column),
            [y0 as i64, (y0 as i64).saturating_add(1)].map(row),
        );
        let [a, b, c, d] = [ys[0] + xs[0], ys[0] + xs[1], ys[1] + xs[0], ys[1] + xs[1]].map(|i| level.texels[i]);
        std::array::from_fn(|i| {
            let top = a[i] + (b[i] - a[i]) * fx;
            let bottom = c[i] + (d[i] - c[i]) * fx;
            top + (bottom - top) * fy
        })
    }
}

fn halve(fine: &Level) -> Level {
    let (width, height) = ((fine.width / 2).max(1), (fine.height / 2).max(1));
    let mut texels = Vec::with_capacity(width * height);
    // With an odd side the middle texels belong to two means, in part to each.
    let shares = |i: usize, coarse: usize, fine: usize| {
        let (low, high) = (i as f32 * fine as f32 / coarse as f32, (i + 1) as f32 * fine as f32 / coarse as f32);
        (low as usize..(high.ceil() as usize).min(fine)).map(move |u| (u, high.min((u + 1) as f32) - low.max(u as f32)))
    };
    for y in 0..height {
        for x in 0..width {
            let (mut sum, mut total) = ([0.0_f32; 4], 0.0_f32);
            for (v, down) in shares(y, height, fine.height) {
                for (u, across) in shares(x, width, fine.width) {
                    let texel = fine.texels[v * fine.width + u];
                    (0..4).for_each(|i| sum[i] += texel[i] * across * down);
                    total += across * down;
                }
            }
            texels.push(sum.map(|s| s / total));
        }
    }
    Level { width, height, texels }
}

fn checked(width: usize, height: usize) -> Result<Size, TextureError> {
    let side = |s: usize| u32::try_from(s).unwrap_or(u32::MAX);
    Size::new(side(width), side(height)).ok_or(TextureError::Size { width, height })
}

fn decode_png(bytes: &[u8]) -> Result<Image, TextureError> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let size = checked(reader.info().width as usize, reader.info().height as usize)?;
    let mut buffer = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let info = reader.next_frame(&mut buffer)?;
    buffer.truncate(info.buffer_size());
    let pixels = match info.color_type {
        png::ColorType::GrayscaleAlpha => buffer.chunks_exact(2).map(|p| [p[0], p[0], p[0], p[1]]).collect(),
        _ => buffer.chunks_exact(4).map(|p| [p[0], p[1], p[2], p[3]]).collect(),
    };
    Image::from_pixels(size, pixels).ok_or(TextureError::UnknownFormat)
}

fn decode_jpeg(bytes: &[u8]) -> Result<Image, TextureError> {
    let fault = |e: zune_jpeg::errors::DecodeErrors| TextureError::Jpeg(e.to_string());
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    decoder.decode_headers().map_err(fault)?;
    let (width, height) = decoder.dimensions().unwrap_or((0, 0));
    let size = checked(width, height)?;
    let rgb = decoder.decode().map_err(fault)?;
    let pixels = rgb.chunks_exact(3).map(|p| [p[0], p[1], p[2], 255]).collect();
    Image::from_pixels(size, pixels).ok_or_else(|| TextureError::Jpeg("its pixels do not fill its size".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checker(side: u32) -> Image {
        let size = Size::new(side, side).unwrap();
        let pixels =
            (0..side * side).map(|i| if (i % side + i / side).is_multiple_of(2) { [255; 4] } else { [0, 0, 0, 255] });
        Image::from_pixels(size, pixels.collect()).unwrap()
    }

    #[test]
    fn texel_centres_are_the_texels_and_wraps_are_wraps() {
        let size = Size::new(4, 1).unwrap();
        let image = Image::from_pixels(size, (0..4).map(|i| [i * 60, 0, 0, 255]).collect()).unwrap();
        let expect = |wrap: Wrap, i: i64| -> u8 {
            match wrap {
                Wrap::Repeat => [0, 60, 120, 180][i.rem_euclid(4) as usize],
                Wrap::Mirror => [0, 60, 120, 180, 180, 120, 60, 0][i.rem_euclid(8) as usize],
                Wrap::Clamp => [0, 60, 120, 180][i.clamp(0, 3) as usize],
            }
        };
        for wrap in [Wrap::Repeat, Wrap::Mirror, Wrap::Clamp] {
            let texture = Texture::new(&image, [wrap; 2]);
            for i in -9..9 {
                let uv = DVec2::new((i as f64 + 0.5) / 4.0, 0.5);
                let got = texture.sample(uv, DVec2::ZERO, DVec2::ZERO)[0];
                assert!((got - linear_from_byte(expect(wrap, i))).abs() < 1e-6, "{wrap:?} {i}");
            }
        }
    }

    #[test]
    fn from_afar_a_checkerboard_is_its_mean_light() {
        for side in [8, 7] {
            let texture = Texture::new(&checker(side), [Wrap::Repeat; 2]);
            let far = DVec2::new(1.0, 0.0);
            let [r, ..] = texture.sample(DVec2::new(0.3, 0.4), far, DVec2::new(0.0, 1.0));
            assert!((r - 0.5).abs() < 0.03, "{side}: {r}");
        }
    }

    #[test]
    fn no_place_is_out_of_reach() {
        let texture = Texture::new(&checker(4), [Wrap::Repeat, Wrap::Mirror]);
        for v in [f64::NAN, f64::INFINITY, 1e300, -1e300, 0.0] {
            for d in [f64::NAN, f64::INFINITY, 1e300, 0.0] {
                let texel = texture.sample(DVec2::new(v, 0.5), DVec2::new(d, 0.0), DVec2::ZERO);
                assert!(texel.iter().all(|t| t.is_finite()));
            }
        }
    }

    #[test]
    fn files_decode_or_say_what_is_wrong() {
        let image = checker(8);
        let mut bytes = Vec::new();
        crate::encode::write_png(&mut bytes, &image).unwrap();
        let read = decode_png(&bytes).unwrap();
        assert_eq!(read, image);
        for cut in 0..bytes.len() {
            // Without its last chunk a PNG has all its pixels.
            let read = Texture::decode(&bytes[..cut], [Wrap::Repeat; 2]);
            assert!(read.is_err() || cut > bytes.len() - 24);
        }
        assert!(matches!(Texture::decode(b"GIF89a", [Wrap::Repeat; 2]), Err(TextureError::UnknownFormat)));
        assert!(matches!(Texture::decode(&[0xFF, 0xD8, 0, 1], [Wrap::Repeat; 2]), Err(TextureError::Jpeg(_))));
    }

    /// A JPEG of one 8 × 8 block per component and nothing but its mean: the mean's difference from 128 has six bits,
    /// and one-bit codes say so and end the block.
    fn flat_jpeg(components: u8, data: &[u8]) -> Vec<u8> {
        let mut jpeg = vec![0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0, 8];
        jpeg.extend([1; 63]);
        jpeg.extend([0xFF, 0xC0, 0, 8 + 3 * components, 8, 0, 8, 0, 8, components]);
        (1..=components).for_each(|c| jpeg.extend([c, 0x11, 0]));
        for (table, symbol) in [(0x00, 6), (0x10, 0)] {
            jpeg.extend([0xFF, 0xC4, 0, 20, table, 1]);
            jpeg.extend([0; 15]);
            jpeg.push(symbol);
        }
        jpeg.extend([0xFF, 0xDA, 0, 6 + 2 * components, components]);
        (1..=components).for_each(|c| jpeg.extend([c, 0]));
        jpeg.extend([0, 63, 0]);
        jpeg.extend(data);
        jpeg.extend([0xFF, 0xD9]);
        jpeg
    }

    #[test]
    fn jpeg_in_colour_and_grey_decodes_to_what_its_coefficients_say() {
        // Y − 128 = 40, Cb − 128 = −40, Cr − 128 = 50, by the equations of JFIF.
        let color = [168.0 + 1.402 * 50.0, 168.0 + 0.344136 * 40.0 - 0.714136 * 50.0, 168.0 - 1.772 * 40.0];
        for (jpeg, want) in [(flat_jpeg(3, &[0x50, 0x2E, 0x64]), color), (flat_jpeg(1, &[0x50]), [168.0; 3])] {
            let image = decode_jpeg(&jpeg).unwrap();
            assert_eq!(image.size(), Size::new(8, 8).unwrap());
            for pixel in image.pixels() {
                assert!((0..3).all(|c| (f64::from(pixel[c]) - want[c]).abs() < 2.0), "{pixel:?} {want:?}");
            }
            for cut in 0..jpeg.len() {
                // Whatever is missing: pixels or an error, never a panic.
                let _ = Texture::decode(&jpeg[..cut], [Wrap::Repeat; 2]);
            }
        }
    }
}
