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

const RAISE: &str = "make it smaller, save it without interlacing, or raise all limits by --limits N";

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
    /// More pixels than may be decoded.
    #[error("the texture is {width} × {height} pixels, beyond the limit of {limit}; {RAISE}")]
    TooLarge {
        /// As written in the file.
        width: usize,
        /// As written in the file.
        height: usize,
        /// Pixels there may be.
        limit: u64,
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
        Self::decode_halved(bytes, wrap, 0, u64::MAX)
    }

    /// As [`Self::decode`], with both sides halved so many times while rows are read, so that a picture never stands in
    /// memory as large as it is. JPEG and interlaced PNG must: they are refused beyond `whole` pixels.
    pub fn decode_halved(bytes: &[u8], wrap: [Wrap; 2], halvings: u32, whole: u64) -> Result<Self, TextureError> {
        let level = match format(bytes)? {
            Format::Png => read_png(bytes, halvings, whole)?,
            Format::Jpeg => read_jpeg(bytes, halvings, whole)?,
        };
        Ok(Self::of_level(level, wrap))
    }

    /// Width and height that a PNG or JPEG file says it has.
    pub fn size_of(bytes: &[u8]) -> Result<Size, TextureError> {
        match format(bytes)? {
            Format::Png => {
                let reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
                checked(reader.info().width as usize, reader.info().height as usize)
            }
            Format::Jpeg => jpeg(bytes).map(|(_, size)| size),
        }
    }

    /// A texture of a picture, wrapped horizontally and vertically.
    pub fn new(image: &Image, wrap: [Wrap; 2]) -> Self {
        let size = image.size();
        let texels = image.pixels().iter().map(|&pixel| texel(pixel)).collect();
        Self::of_level(Level { width: size.width() as usize, height: size.height() as usize, texels }, wrap)
    }

    fn of_level(finest: Level, wrap: [Wrap; 2]) -> Self {
        let mut levels = vec![finest];
        while let Some(last) = levels.last()
            && (last.width > 1 || last.height > 1)
        {
            levels.push(halve(last));
        }
        Self { wrap, levels }
    }

    /// What happens beyond its borders, horizontally and vertically.
    pub fn wrap(&self) -> [Wrap; 2] {
        self.wrap
    }

    /// The pyramid from the finest level on: width, height, and rows of linear RGB times alpha, and alpha.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = (usize, usize, &[[f32; 4]])> {
        self.levels.iter().map(|level| (level.width, level.height, level.texels.as_slice()))
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

fn texel([r, g, b, a]: [u8; 4]) -> [f32; 4] {
    let alpha = f32::from(a) / 255.0;
    [linear_from_byte(r) * alpha, linear_from_byte(g) * alpha, linear_from_byte(b) * alpha, alpha]
}

enum Format {
    Png,
    Jpeg,
}

fn format(bytes: &[u8]) -> Result<Format, TextureError> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Ok(Format::Png),
        [0xFF, 0xD8, ..] => Ok(Format::Jpeg),
        _ => Err(TextureError::UnknownFormat),
    }
}

/// A level in the making: rows come in one by one, and squares of texels go out as their mean.
struct Halving {
    side: usize,
    fine: Size,
    sums: Vec<[f32; 4]>,
    rows: usize,
    level: Level,
}

impl Halving {
    fn new(fine: Size, halvings: u32) -> Self {
        let side = 1usize << halvings.min(31);
        let width = (fine.width() as usize).div_ceil(side);
        let height = (fine.height() as usize).div_ceil(side);
        let level = Level { width, height, texels: Vec::with_capacity(width * height) };
        Self { side, fine, sums: vec![[0.0; 4]; width], rows: 0, level }
    }

    /// A row of pixels, as many as the picture is wide.
    fn row(&mut self, pixels: impl Iterator<Item = [u8; 4]>) {
        if self.side == 1 {
            self.level.texels.extend(pixels.map(texel));
            return;
        }
        for (x, pixel) in pixels.enumerate().take(self.fine.width() as usize) {
            let (sum, texel) = (&mut self.sums[x / self.side], texel(pixel));
            (0..4).for_each(|i| sum[i] += texel[i]);
        }
        self.rows += 1;
        if self.rows == self.side {
            self.close();
        }
    }

    /// Hands out the squares that are open; those at the right border may be narrower.
    fn close(&mut self) {
        let width = self.fine.width() as usize;
        for (x, sum) in self.sums.iter_mut().enumerate() {
            let texels = (width - x * self.side).min(self.side) * self.rows;
            self.level.texels.push(std::mem::take(sum).map(|sum| sum / texels as f32));
        }
        self.rows = 0;
    }

    fn finish(mut self) -> Result<Level, TextureError> {
        if self.rows > 0 {
            self.close();
        }
        let whole = self.level.texels.len() == self.level.width * self.level.height;
        if whole { Ok(self.level) } else { Err(TextureError::UnknownFormat) }
    }
}

fn within(size: Size, limit: u64) -> Result<(), TextureError> {
    let (width, height) = (size.width() as usize, size.height() as usize);
    if width as u64 * height as u64 <= limit { Ok(()) } else { Err(TextureError::TooLarge { width, height, limit }) }
}

fn read_png(bytes: &[u8], halvings: u32, whole: u64) -> Result<Level, TextureError> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let size = checked(reader.info().width as usize, reader.info().height as usize)?;
    let (color_type, _) = reader.output_color_type();
    let pixel = |bytes: &[u8]| match *bytes {
        [grey, alpha] => [grey, grey, grey, alpha],
        [r, g, b, a] => [r, g, b, a],
        _ => [0; 4],
    };
    let bytes_per_pixel = color_type.samples();
    let mut level = Halving::new(size, halvings);
    if reader.info().interlaced {
        within(size, whole)?;
        let mut buffer = vec![0; reader.output_buffer_size().unwrap_or(0)];
        let info = reader.next_frame(&mut buffer)?;
        for row in buffer[..info.buffer_size()].chunks_exact(info.line_size) {
            level.row(row.chunks_exact(bytes_per_pixel).map(pixel));
        }
    } else {
        for _ in 0..size.height() {
            let Some(row) = reader.next_row()? else { break };
            level.row(row.data().chunks_exact(bytes_per_pixel).map(pixel));
        }
    }
    level.finish()
}

type JpegReader<'a> = JpegDecoder<Cursor<&'a [u8]>>;

/// A JPEG whose headers have been read.
fn jpeg(bytes: &[u8]) -> Result<(JpegReader<'_>, Size), TextureError> {
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| TextureError::Jpeg(error.to_string()))?;
    let (width, height) = decoder.dimensions().unwrap_or((0, 0));
    let size = checked(width, height)?;
    Ok((decoder, size))
}

fn read_jpeg(bytes: &[u8], halvings: u32, whole: u64) -> Result<Level, TextureError> {
    let (mut decoder, size) = jpeg(bytes)?;
    within(size, whole)?;
    let rgb = decoder.decode().map_err(|error| TextureError::Jpeg(error.to_string()))?;
    let mut level = Halving::new(size, halvings);
    for row in rgb.chunks_exact(3 * size.width() as usize) {
        level.row(row.chunks_exact(3).map(|p| [p[0], p[1], p[2], 255]));
    }
    level.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::srgb::byte_from_linear;

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
        let read = Texture::decode(&bytes, [Wrap::Repeat; 2]).unwrap();
        assert_eq!(read.levels[0].texels, Texture::new(&image, [Wrap::Repeat; 2]).levels[0].texels);
        assert_eq!(Texture::size_of(&bytes).unwrap(), image.size());
        for cut in 0..bytes.len() {
            // Without its last chunk a PNG has all its pixels.
            let read = Texture::decode(&bytes[..cut], [Wrap::Repeat; 2]);
            assert!(read.is_err() || cut > bytes.len() - 24);
        }
        assert!(matches!(Texture::decode(b"GIF89a", [Wrap::Repeat; 2]), Err(TextureError::UnknownFormat)));
        assert!(matches!(Texture::decode(&[0xFF, 0xD8, 0, 1], [Wrap::Repeat; 2]), Err(TextureError::Jpeg(_))));
    }

    #[test]
    fn halved_while_it_is_read_is_what_levels_are() {
        let image = checker(8);
        let mut bytes = Vec::new();
        crate::encode::write_png(&mut bytes, &image).unwrap();
        let whole = Texture::decode(&bytes, [Wrap::Repeat; 2]).unwrap();
        for halvings in 0..=3 {
            let halved = Texture::decode_halved(&bytes, [Wrap::Repeat; 2], halvings, 0).unwrap();
            let (found, expected) = (&halved.levels[0], &whole.levels[halvings as usize]);
            assert_eq!([found.width, found.height], [expected.width, expected.height]);
            for (found, expected) in found.texels.iter().zip(&expected.texels) {
                assert!((0..4).all(|i| (found[i] - expected[i]).abs() < 1e-6), "{found:?} {expected:?}");
            }
        }
        // Sides that do not divide: the squares at the border are smaller, and none is lost.
        let level = read_png(&bytes, 2, 0).unwrap();
        assert_eq!(level.texels.len(), 4);
        let mut odd = Halving::new(Size::new(3, 5).unwrap(), 1);
        (0..5).for_each(|_| odd.row([[255; 4]; 3].into_iter()));
        assert_eq!(odd.finish().unwrap().texels, vec![[1.0; 4]; 2 * 3]);
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
            assert_eq!(Texture::size_of(&jpeg).unwrap(), Size::new(8, 8).unwrap());
            let Level { width, height, texels } = read_jpeg(&jpeg, 0, 64).unwrap();
            assert_eq!([width, height], [8, 8]);
            for texel in texels {
                let pixel = texel.map(byte_from_linear);
                assert!((0..3).all(|c| (f64::from(pixel[c]) - want[c]).abs() < 2.0), "{pixel:?} {want:?}");
            }
            assert!(matches!(read_jpeg(&jpeg, 0, 63), Err(TextureError::TooLarge { limit: 63, .. })));
            for cut in 0..jpeg.len() {
                // Whatever is missing: pixels or an error, never a panic.
                let _ = Texture::decode(&jpeg[..cut], [Wrap::Repeat; 2]);
            }
        }
    }
}
