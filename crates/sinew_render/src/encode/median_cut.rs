//! A palette for many pictures: median cut (Heckbert 1982), cutting where the spread is largest (Wu 1991).
//!
//! Colours are counted in 2¹⁸ bins (6 bits per channel) that keep their mean, so flat backgrounds stay exact. One
//! palette for a whole film: nothing flickers, and equal pixels stay equal from frame to frame.

use crate::image::Image;

const BINS: usize = 1 << 18;

fn bin([r, g, b, _]: [u8; 4]) -> usize {
    usize::from(r >> 2) << 12 | usize::from(g >> 2) << 6 | usize::from(b >> 2)
}

#[derive(Clone, Copy)]
struct Color {
    bin: usize,
    mean: [f64; 3],
    count: f64,
}

/// Up to `N` colours and the way from any pixel to the nearest.
pub struct Palette {
    colors: Vec<[f64; 3]>,
    /// Per bin, filled as bins are asked for.
    nearest: Vec<Option<u8>>,
}

impl Palette {
    /// The palette of pictures' opaque pixels, with at most `limit` colours (at most 256).
    pub fn new<'a>(images: impl IntoIterator<Item = &'a Image>, limit: usize) -> Self {
        let mut sums = vec![[0_u64; 4]; BINS];
        for pixel in images.into_iter().flat_map(Image::pixels).filter(|p| p[3] >= 128) {
            let sum = &mut sums[bin(*pixel)];
            (0..3).for_each(|c| sum[c] += u64::from(pixel[c]));
            sum[3] += 1;
        }
        let colors = sums.iter().enumerate().filter(|(_, s)| s[3] > 0).map(|(bin, s)| {
            let count = s[3] as f64;
            Color { bin, mean: [0, 1, 2].map(|c| s[c] as f64 / count), count }
        });
        let mut boxes = vec![colors.collect::<Vec<_>>()];
        while boxes.len() < limit.min(256) {
            let spreads = boxes.iter().map(|b| spread(b).0);
            let (worst, spread) = spreads.enumerate().fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
            if spread <= 0.0 {
                break;
            }
            let (low, high) = cut(std::mem::take(&mut boxes[worst]));
            boxes[worst] = low;
            boxes.push(high);
        }
        boxes.retain(|b| !b.is_empty());
        let palette: Vec<[f64; 3]> = boxes.iter().map(|b| moments(b).0).collect();
        let mut palette = Self { colors: palette, nearest: vec![None; BINS] };
        for color in boxes.iter().flatten() {
            palette.nearest[color.bin] = Some(palette.search(color.mean));
        }
        palette
    }

    /// The colours.
    pub fn colors(&self) -> impl Iterator<Item = [u8; 3]> {
        self.colors.iter().map(|p| p.map(|c| (c + 0.5) as u8))
    }

    /// Index of the colour nearest to a pixel. Pixels that no picture of the palette had count as their bin's middle.
    pub fn index(&mut self, pixel: [u8; 4]) -> u8 {
        let bin = bin(pixel);
        if let Some(index) = self.nearest[bin] {
            return index;
        }
        let middle = [12, 6, 0].map(|shift| (((bin >> shift & 63) << 2) + 2) as f64);
        let index = self.search(middle);
        self.nearest[bin] = Some(index);
        index
    }

    fn search(&self, color: [f64; 3]) -> u8 {
        let distance = |p: &[f64; 3]| (0..3).map(|c| (p[c] - color[c]) * (p[c] - color[c])).sum::<f64>();
        let best = self.colors.iter().enumerate().map(|(i, p)| (i, distance(p)));
        best.fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a }).0 as u8
    }
}

/// Mean and variance times count, per channel.
fn moments(colors: &[Color]) -> ([f64; 3], [f64; 3]) {
    let count: f64 = colors.iter().map(|c| c.count).sum();
    let mean = [0, 1, 2].map(|i| colors.iter().map(|c| c.mean[i] * c.count).sum::<f64>() / count);
    let spread =
        [0, 1, 2].map(|i| colors.iter().map(|c| (c.mean[i] - mean[i]) * (c.mean[i] - mean[i]) * c.count).sum());
    (mean, spread)
}

/// The largest spread and its channel. Counts are damped, or large backgrounds would take all colours.
fn spread(colors: &[Color]) -> (f64, usize) {
    if colors.len() < 2 {
        return (0.0, 0);
    }
    let count: f64 = colors.iter().map(|c| c.count).sum();
    let (_, spread) = moments(colors);
    let channel = (0..3).fold(0, |best, i| if spread[i] > spread[best] { i } else { best });
    (spread[channel] / count.sqrt(), channel)
}

fn cut(mut colors: Vec<Color>) -> (Vec<Color>, Vec<Color>) {
    let (_, channel) = spread(&colors);
    let middle = moments(&colors).0[channel];
    colors.sort_by(|a, b| a.mean[channel].total_cmp(&b.mean[channel]).then(a.bin.cmp(&b.bin)));
    let at = colors.partition_point(|c| c.mean[channel] <= middle).clamp(1, colors.len() - 1);
    let high = colors.split_off(at);
    (colors, high)
}
