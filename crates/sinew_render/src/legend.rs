//! The scale of a heat map, as a bar beside the picture.

use crate::font::{draw_text, text_width};
use crate::heat::Scale;
use crate::image::Image;

/// Draws a bar with its end values, and what they measure, in the lower left corner.
pub fn draw_legend(image: &mut Image, scale: &Scale, label: &str) {
    const INK: [u8; 3] = [40, 44, 52];
    let size = image.size();
    let unit = (size.width().min(size.height()) as f32 / 512.0).clamp(0.4, 4.0);
    let (height, text) = ((10.0 * unit) as u32, 9.0 * unit);
    let (left, width) = ((18.0 * unit) as u32, (180.0 * unit) as u32);
    let bottom = size.height() as f32 - 16.0 * unit;
    let top = (bottom - text - 7.0 * unit) as i64 - i64::from(height);
    image.fill(i64::from(left) - 1, top - 1, width + 2, height + 2, INK, 0.5);
    for x in 0..width {
        let rgb = scale.palette.bytes(f64::from(x) / f64::from(width.saturating_sub(1).max(1)));
        image.fill(i64::from(left + x), top, 1, height, rgb, 1.0);
    }
    let (left, width) = (left as f32, width as f32);
    let [low, high] = [scale.min, scale.max].map(short);
    draw_text(image, &low, left, bottom, text, INK);
    draw_text(image, &high, left + width - text_width(&high, text), bottom, text, INK);
    if scale.min < 0.0 && scale.max > 0.0 {
        let zero = left + width * scale.place(0.0) as f32;
        draw_text(image, "0", zero - 0.5 * text_width("0", text), bottom, text, INK);
    }
    draw_text(image, label, left, top as f32 - 7.0 * unit, text, INK);
}

/// Draws colours with what they stand for, one below the other, in the upper left corner; what does not fit below starts a
/// new column.
pub fn draw_color_key(image: &mut Image, entries: &[([u8; 3], &str)]) {
    const INK: [u8; 3] = [40, 44, 52];
    let size = image.size();
    let unit = (size.width().min(size.height()) as f32 / 512.0).clamp(0.4, 4.0);
    let (side, text, step) = ((11.0 * unit) as u32, 9.0 * unit, 17.0 * unit);
    let widest = entries.iter().map(|(_, label)| text_width(label, text)).fold(0.0, f32::max);
    let column = side as f32 + widest + 18.0 * unit;
    let per_column = (((size.height() as f32 - 24.0 * unit) / step) as usize).max(1);
    for (index, (rgb, label)) in entries.iter().enumerate() {
        let left = 14.0 * unit + (index / per_column) as f32 * column;
        let top = 12.0 * unit + (index % per_column) as f32 * step;
        image.fill(left as i64 - 1, top as i64 - 1, side + 2, side + 2, INK, 0.7);
        image.fill(left as i64, top as i64, side, side, *rgb, 1.0);
        draw_text(image, label, left + side as f32 + 6.0 * unit, top + side as f32 - 1.0 * unit, text, INK);
    }
}

/// A number in few digits.
fn short(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".into()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.1e}")
    } else {
        let decimals = if size >= 100.0 {
            0
        } else if size >= 10.0 {
            1
        } else if size >= 1.0 {
            2
        } else if size >= 0.1 {
            3
        } else {
            4
        };
        let text = format!("{value:.decimals$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').into(),
            false => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Palette, Size};

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-0.25, "-0.25"),
            (123.4, "123"),
            (100.0, "100"),
            (0.0125, "0.0125"),
            (2e-5, "2.0e-5"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn the_key_shows_its_colours_and_fits_any_picture() {
        let entries = [([1, 2, 3], "spine"), ([250, 120, 0], "tail"), ([0, 90, 40], "prop")];
        for (w, h) in [(1, 1), (7, 300), (512, 512), (2000, 30)] {
            let mut image = Image::filled(Size::new(w, h).unwrap(), [255; 4]);
            draw_color_key(&mut image, &entries);
            if (w, h) == (512, 512) {
                assert!(entries.iter().all(|(rgb, _)| image.pixels().iter().any(|p| p[..3] == *rgb)));
            }
        }
    }

    #[test]
    fn the_bar_shows_the_palette_and_fits_any_picture() {
        let scale = Scale { palette: Palette::Viridis, min: 0.0, max: 0.2 };
        for (w, h) in [(1, 1), (7, 300), (512, 512), (2000, 100)] {
            let mut image = Image::filled(Size::new(w, h).unwrap(), [255; 4]);
            draw_legend(&mut image, &scale, "displacement, m");
            if (w, h) == (512, 512) {
                for t in [0.0, 1.0] {
                    assert!(image.pixels().iter().any(|p| p[..3] == Palette::Viridis.bytes(t)));
                }
            }
        }
    }
}
