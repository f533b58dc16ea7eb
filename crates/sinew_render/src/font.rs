//! Letters made of strokes, so that captions are sharp at any height: each glyph is a few polylines on a grid 4 wide,
//! baseline at 2, x-height at 6, capitals up to 8, descenders down to 0. Drawn for Sinew.
//!
//! Two digits are a point (x, then y), a space joins points, a comma lifts the pen; a single point is a dot.

use crate::image::Image;

/// Grid units from the baseline to the top of capitals.
const CAPITAL: f32 = 6.0;
/// Grid units between letters.
const GAP: f32 = 1.9;
const SPACE: f32 = 2.2;
const UNKNOWN: &str = "02 08 38 32 02";

#[rustfmt::skip]
const GLYPHS: &[(char, &str)] = &[
    ('A', "02 28 42,14 34"), ('B', "02 08 38 47 46 35 05,35 44 43 32 02"), ('C', "47 38 18 07 03 12 32 43"),
    ('D', "02 08 28 47 43 22 02"), ('E', "38 08 02 32,05 25"), ('F', "38 08 02,05 25"),
    ('G', "47 38 18 07 03 12 32 43 45 25"), ('H', "02 08,42 48,05 45"), ('I', "08 02"), ('J', "38 33 22 12 03"),
    ('K', "02 08,48 04,15 42"), ('L', "08 02 32"), ('M', "02 08 25 48 42"), ('N', "02 08 42 48"),
    ('O', "12 03 07 18 38 47 43 32 12"), ('P', "02 08 38 47 46 35 05"), ('Q', "12 03 07 18 38 47 43 32 12,24 42"),
    ('R', "02 08 38 47 46 35 05,25 42"), ('S', "47 38 18 07 06 15 35 44 43 32 12 03"), ('T', "08 48,28 22"),
    ('U', "08 03 12 32 43 48"), ('V', "08 22 48"), ('W', "08 12 26 32 48"), ('X', "02 48,08 42"),
    ('Y', "08 25 48,25 22"), ('Z', "08 48 02 42"),
    ('a', "36 32,35 26 16 05 03 12 22 33"), ('b', "08 02,03 12 22 33 35 26 16 05"), ('c', "35 26 16 05 03 12 22 33"),
    ('d', "38 32,33 22 12 03 05 16 26 35"), ('e', "04 34 35 26 16 05 03 12 22 33"), ('f', "28 17 12,06 26"),
    ('g', "36 31 20 10 01,35 26 16 05 03 12 22 33"), ('h', "08 02,05 16 26 35 32"), ('i', "06 02,08"),
    ('j', "16 11 00,18"), ('k', "08 02,36 03,14 32"), ('l', "08 03 12"), ('m', "02 06,05 16 25 22,25 36 45 42"),
    ('n', "02 06,05 16 26 35 32"), ('o', "12 03 05 16 26 35 33 22 12"), ('p', "06 00,05 16 26 35 33 22 12 03"),
    ('q', "36 30,35 26 16 05 03 12 22 33"), ('r', "06 02,05 16 26"), ('s', "35 26 16 05 14 24 33 22 12 03"),
    ('t', "18 13 22,06 26"), ('u', "06 03 12 22 33,36 32"), ('v', "06 22 46"), ('w', "06 12 25 32 46"),
    ('x', "02 36,06 32"), ('y', "06 22,46 10 00"), ('z', "06 36 02 32"),
    ('0', "12 03 07 18 28 37 33 22 12"), ('1', "07 18 12"), ('2', "07 18 28 37 36 02 32"),
    ('3', "07 18 28 37 36 25 15,25 34 33 22 12 03"), ('4', "22 28 04 34"), ('5', "38 08 05 25 34 33 22 12 03"),
    ('6', "37 28 18 07 03 12 22 33 34 25 15 04"), ('7', "08 38 12"),
    ('8', "15 06 07 18 28 37 36 25 15 04 03 12 22 33 34 25"), ('9', "03 12 22 33 37 28 18 07 06 15 25 36"),
    ('!', "08 04,02"), ('"', "08 06,28 26"), ('#', "12 18,32 38,04 44,06 46"),
    ('$', "37 28 18 07 06 15 25 34 33 22 12 03,29 11"), ('%', "02 48,08 18 17 07 08,33 43 42 32 33"), ('&', "42 07 18 27 04 03 12 22 44"),
    ('\'', "08 06"), ('(', "19 07 03 11"), (')', "09 17 13 01"), ('*', "05 45,13 37,17 33"), ('+', "04 44,26 22"),
    (',', "12 01"), ('-', "04 34"), ('.', "02"), ('/', "01 39"), (':', "02,05"), (';', "12 01,15"), ('<', "36 04 32"),
    ('=', "03 33,05 35"), ('>', "06 34 02"), ('?', "07 18 28 37 36 14,12"),
    ('@', "42 12 03 07 18 38 47 44 33 24 25 36 46"), ('[', "19 09 01 11"), ('\\', "09 31"), (']', "09 19 11 01"),
    ('^', "06 18 26"), ('_', "01 41"), ('`', "08 16"), ('{', "29 18 16 05 14 12 21"), ('|', "09 01"),
    ('}', "09 18 16 25 14 12 01"), ('~', "04 15 33 44"), ('°', "07 18 27 16 07"), ('×', "03 36,06 33"),
    ('±', "05 45,27 23,02 42"), ('·', "04"), ('–', "04 34"), ('—', "04 44"), ('−', "04 34"), ('µ', "06 00,03 12 22 33,36 32"),
    ('…', "02,22,42"), ('→', "04 44,26 44 22"), ('²', "08 18 17 05 15"),
];

/// A glyph's polylines in grid units.
fn strokes(glyph: &'static str) -> impl Iterator<Item = Vec<[f32; 2]>> {
    glyph.split(',').map(|stroke| {
        let digit = |b: u8| f32::from(b.saturating_sub(b'0'));
        stroke
            .split(' ')
            .map(|point| point.as_bytes())
            .filter(|p| p.len() == 2)
            .map(|p| [digit(p[0]), digit(p[1])])
            .collect()
    })
}

fn glyph(letter: char) -> &'static str {
    GLYPHS.iter().find(|(c, _)| *c == letter).map_or(UNKNOWN, |(_, g)| g)
}

/// Grid units from a letter's left border to the next one's.
fn advance(letter: char) -> f32 {
    if letter == ' ' {
        return SPACE + GAP;
    }
    let right = strokes(glyph(letter)).flatten().map(|[x, _]| x).fold(0.0, f32::max);
    right + GAP
}

/// Width in pixels of a line of text whose capitals are `height` pixels high.
pub fn text_width(text: &str, height: f32) -> f32 {
    let units: f32 = text.chars().map(advance).sum();
    (units - GAP).max(0.0) * height / CAPITAL
}

/// Writes a line of text with its baseline's left end at (`left`, `baseline`), capitals `height` pixels high.
pub fn draw_text(image: &mut Image, text: &str, left: f32, baseline: f32, height: f32, rgb: [u8; 3]) {
    if !(left.is_finite() && baseline.is_finite() && height > 0.0 && height < 4096.0) {
        return;
    }
    let unit = height / CAPITAL;
    let radius = (0.075 * height).max(0.6);
    let mut pen = left;
    for letter in text.chars() {
        if letter != ' ' {
            draw_glyph(image, glyph(letter), [pen, baseline], unit, radius, rgb);
        }
        pen += advance(letter) * unit;
    }
}

/// Writes a line of text as [`draw_text`] does, centred on a column.
pub fn draw_text_centered(image: &mut Image, text: &str, center: f32, baseline: f32, height: f32, rgb: [u8; 3]) {
    draw_text(image, text, center - 0.5 * text_width(text, height), baseline, height, rgb);
}

fn draw_glyph(image: &mut Image, glyph: &'static str, at: [f32; 2], unit: f32, radius: f32, rgb: [u8; 3]) {
    let segments: Vec<[[f32; 2]; 2]> = strokes(glyph)
        .flat_map(|points| {
            let points: Vec<_> = points.iter().map(|[x, y]| [at[0] + x * unit, at[1] - (y - 2.0) * unit]).collect();
            let alone = (points.len() == 1).then(|| [points[0]; 2]);
            let pairs: Vec<_> = points.windows(2).map(|w| [w[0], w[1]]).collect();
            pairs.into_iter().chain(alone)
        })
        .collect();
    let range = |axis: usize| {
        let values = || segments.iter().flatten().map(|p| p[axis]);
        let low = values().fold(f32::INFINITY, f32::min) - radius - 1.0;
        let high = values().fold(f32::NEG_INFINITY, f32::max) + radius + 1.0;
        low.floor() as i64..high.ceil() as i64
    };
    for y in range(1) {
        for x in range(0) {
            let p = [x as f32 + 0.5, y as f32 + 0.5];
            let distance = segments.iter().map(|s| distance(p, s)).fold(f32::INFINITY, f32::min);
            let coverage = radius + 0.5 - distance;
            if coverage > 0.0 {
                image.blend(x, y, rgb, coverage);
            }
        }
    }
}

fn distance(p: [f32; 2], [a, b]: &[[f32; 2]; 2]) -> f32 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let (px, py) = (p[0] - a[0], p[1] - a[1]);
    let square = dx * dx + dy * dy;
    let t = if square > 0.0 { ((px * dx + py * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    let (ox, oy) = (px - dx * t, py - dy * t);
    (ox * ox + oy * oy).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Size;

    #[test]
    fn every_printable_letter_has_a_shape_of_its_own() {
        let mut seen = std::collections::BTreeMap::new();
        for letter in '!'..='~' {
            let shape = glyph(letter);
            assert_ne!(shape, UNKNOWN, "{letter}");
            assert!(strokes(shape).all(|s| !s.is_empty()), "{letter}");
            if let Some(other) = seen.insert(shape, letter) {
                panic!("{letter} looks like {other}");
            }
        }
    }

    #[test]
    fn text_stays_within_its_width_and_never_panics() {
        let mut page = Image::filled(Size::new(200, 40).unwrap(), [255; 4]);
        let width = text_width("Sinew 0.1 %", 14.0);
        draw_text(&mut page, "Sinew 0.1 %", 10.0, 28.0, 14.0, [0; 3]);
        for (i, p) in page.pixels().iter().enumerate() {
            let x = (i % 200) as f32;
            assert!(p[0] == 255 || (x >= 7.0 && x <= 13.0 + width));
        }
        assert!(page.pixels().iter().any(|p| p[0] < 40));
        for at in [f32::NAN, 1e30, -1e30, 0.0] {
            draw_text(&mut page, "\u{1F984}å", at, at, 14.0, [0; 3]);
            draw_text(&mut page, "A", 0.0, 9.0, at, [0; 3]);
        }
    }
}
