//! A picture: sRGB bytes with straight alpha.

/// Largest side of a picture, in pixels.
pub const MAX_SIDE: u32 = 16_384;

/// Width and height in pixels, each in 1…[`MAX_SIDE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
}

impl Size {
    /// A size; `None` if a side is 0 or larger than [`MAX_SIDE`].
    pub fn new(width: u32, height: u32) -> Option<Self> {
        let fits = |side| (1..=MAX_SIDE).contains(&side);
        (fits(width) && fits(height)).then_some(Self { width, height })
    }

    /// Pixels in a row.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(self) -> u32 {
        self.height
    }

    /// Width over height.
    pub fn aspect(self) -> f64 {
        f64::from(self.width) / f64::from(self.height)
    }

    /// Number of pixels.
    pub fn pixels(self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Index of a pixel in row order; `None` outside.
    pub fn index(self, x: u32, y: u32) -> Option<usize> {
        (x < self.width && y < self.height).then(|| y as usize * self.width as usize + x as usize)
    }
}

/// RGBA, 8 bits each, sRGB, straight alpha, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    size: Size,
    rgba: Vec<[u8; 4]>,
}

impl Image {
    /// A picture of one colour.
    pub fn filled(size: Size, rgba: [u8; 4]) -> Self {
        Self { size, rgba: vec![rgba; size.pixels()] }
    }

    /// A picture from its pixels in row order; `None` if their number is not the size's.
    pub fn from_pixels(size: Size, rgba: Vec<[u8; 4]>) -> Option<Self> {
        (rgba.len() == size.pixels()).then_some(Self { size, rgba })
    }

    /// Its size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Pixels in row order.
    pub fn pixels(&self) -> &[[u8; 4]] {
        &self.rgba
    }

    /// Bytes in row order: what encoders take.
    pub fn bytes(&self) -> &[u8] {
        self.rgba.as_flattened()
    }

    /// One pixel; `None` outside.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        self.size.index(x, y).map(|i| self.rgba[i])
    }

    /// Whether every pixel covers what is behind it.
    pub fn is_opaque(&self) -> bool {
        self.rgba.iter().all(|p| p[3] == 255)
    }

    /// Lays `rgb` over a pixel with `coverage` in 0…1; outside the picture nothing happens.
    pub fn blend(&mut self, x: i64, y: i64, rgb: [u8; 3], coverage: f32) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
        let Some(index) = self.size.index(x, y) else { return };
        let pixel = &mut self.rgba[index];
        let over = coverage.clamp(0.0, 1.0);
        let under = f32::from(pixel[3]) / 255.0 * (1.0 - over);
        let alpha = over + under;
        if alpha > 0.0 {
            for (channel, new) in pixel.iter_mut().zip(rgb) {
                *channel = ((f32::from(new) * over + f32::from(*channel) * under) / alpha + 0.5) as u8;
            }
            pixel[3] = (alpha * 255.0 + 0.5) as u8;
        }
    }

    /// Fills a rectangle; what lies outside is cut off.
    pub fn fill(&mut self, left: i64, top: i64, width: u32, height: u32, rgb: [u8; 3], coverage: f32) {
        for y in top.max(0)..top.saturating_add(i64::from(height)).min(i64::from(self.size.height)) {
            for x in left.max(0)..left.saturating_add(i64::from(width)).min(i64::from(self.size.width)) {
                self.blend(x, y, rgb, coverage);
            }
        }
    }

    /// Copies `other` with its top left corner at the given pixel; what lies outside is cut off.
    pub fn paste(&mut self, other: &Image, left: u32, top: u32) {
        let Some(columns) = self.size.width.checked_sub(left) else { return };
        let columns = columns.min(other.size.width) as usize;
        for y in 0..other.size.height {
            let (Some(to), Some(from)) = (self.size.index(left, top.saturating_add(y)), other.size.index(0, y)) else {
                return;
            };
            self.rgba[to..to + columns].copy_from_slice(&other.rgba[from..from + columns]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_cut_off() {
        let mut page = Image::filled(Size::new(4, 3).unwrap(), [0, 0, 0, 255]);
        let stamp = Image::filled(Size::new(3, 3).unwrap(), [9, 9, 9, 255]);
        page.paste(&stamp, 3, 2);
        page.paste(&stamp, 40, 2);
        page.blend(-1, 0, [255; 3], 1.0);
        page.fill(-5, 2, 6, 100, [7; 3], 1.0);
        assert_eq!(page.pixel(3, 2), Some([9, 9, 9, 255]));
        assert_eq!(page.pixel(0, 2), Some([7, 7, 7, 255]));
        assert_eq!(page.pixels().iter().filter(|p| p[0] != 0).count(), 2);
    }

    #[test]
    fn blending_over_nothing_keeps_the_colour() {
        let mut page = Image::filled(Size::new(1, 1).unwrap(), [0; 4]);
        page.blend(0, 0, [200, 100, 50], 0.5);
        assert_eq!(page.pixel(0, 0), Some([200, 100, 50, 128]));
    }
}
