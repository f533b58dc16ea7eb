//! Which samples a triangle covers: edge functions in integers (Pineda 1988) on a grid of 1/256 pixel, with the
//! top-left rule. Integers are exact, so of two triangles that share an edge exactly one covers each sample on it.

use std::ops::Range;

/// Grid steps per pixel.
pub const SUBPIXEL: i64 = 256;

/// Places in a pixel, as offsets from its centre in grid steps; the first is the centre itself, which decides ids and
/// picking, the others make up the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Colour from the centre alone.
    One,
    /// Rotated grid of four.
    Four,
    /// The usual eight of graphics hardware: no two on a row or a column.
    Eight,
}

impl Pattern {
    /// Offsets, the centre first.
    pub fn offsets(self) -> &'static [(i64, i64)] {
        match self {
            Self::One => &ONE,
            Self::Four => &FOUR,
            Self::Eight => &EIGHT,
        }
    }

    /// Number of samples, the centre included.
    pub fn samples(self) -> usize {
        self.offsets().len()
    }

    /// Offset of a sample in pixels.
    pub fn offset(self, sample: usize) -> [f64; 2] {
        let (x, y) = self.offsets()[sample];
        [x as f64 / SUBPIXEL as f64, y as f64 / SUBPIXEL as f64]
    }
}

/// [`Pattern::One`].
pub const ONE: [(i64, i64); 1] = [(0, 0)];
/// [`Pattern::Four`].
pub const FOUR: [(i64, i64); 5] = [(0, 0), (-32, -96), (96, -32), (-96, 32), (32, 96)];
/// [`Pattern::Eight`].
pub const EIGHT: [(i64, i64); 9] =
    [(0, 0), (16, -48), (-16, 48), (80, 16), (-48, -80), (-80, 80), (-112, -16), (48, 112), (112, -112)];

/// A triangle (or what clipping left of one) on the grid, of positive area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The triangle it is of.
    pub setup: u32,
    /// Columns of the corners, grid steps.
    pub x: [i32; 3],
    /// Rows of the corners, grid steps.
    pub y: [i32; 3],
}

impl Piece {
    /// From corners in pixels; `None` if no area is left on the grid.
    pub fn new(setup: u32, corners: [[f64; 2]; 3]) -> Option<Self> {
        let grid = |v: f64| (v * SUBPIXEL as f64).round() as i32;
        let mut x = corners.map(|c| grid(c[0]));
        let mut y = corners.map(|c| grid(c[1]));
        let [dx1, dx2] = [1, 2].map(|i| i64::from(x[i]) - i64::from(x[0]));
        let [dy1, dy2] = [1, 2].map(|i| i64::from(y[i]) - i64::from(y[0]));
        let area = dx1 * dy2 - dx2 * dy1;
        if area == 0 {
            return None;
        }
        if area < 0 {
            x.swap(1, 2);
            y.swap(1, 2);
        }
        Some(Self { setup, x, y })
    }

    /// Pixel rows it may touch.
    pub fn rows(&self) -> Range<i64> {
        span(self.y)
    }
}

fn span(v: [i32; 3]) -> Range<i64> {
    let [a, b, c] = v.map(i64::from);
    a.min(b).min(c).div_euclid(SUBPIXEL)..a.max(b).max(c).div_euclid(SUBPIXEL) + 1
}

/// Calls `hit(x, y, mask)` for each pixel with a covered sample; bit s of the mask is sample s of the `N` offsets.
pub fn cover<const N: usize>(
    piece: &Piece,
    rows: Range<i64>,
    width: i64,
    offsets: &[(i64, i64); N],
    mut hit: impl FnMut(i64, i64, u32),
) {
    let full = (1_u32 << N) - 1;
    let columns = span(piece.x);
    let columns = columns.start.max(0)..columns.end.min(width);
    let touched = piece.rows();
    let rows = touched.start.max(rows.start)..touched.end.min(rows.end);

    // E(p) = a (p.x − x₀) + b (p.y − y₀), positive inside; a left edge has a > 0, a top edge a = 0 and b > 0.
    let mut step = [(0_i64, 0_i64); 3];
    let mut start = [0_i64; 3];
    let mut offset = [[0_i64; N]; 3];
    let mut least = [0_i64; 3];
    let mut most = [0_i64; 3];
    for edge in 0..3 {
        let next = (edge + 1) % 3;
        let [x0, y0] = [i64::from(piece.x[edge]), i64::from(piece.y[edge])];
        let (a, b) = (y0 - i64::from(piece.y[next]), i64::from(piece.x[next]) - x0);
        let owns_its_border = a > 0 || (a == 0 && b > 0);
        let half = SUBPIXEL / 2;
        start[edge] = a * (columns.start * SUBPIXEL + half - x0) + b * (rows.start * SUBPIXEL + half - y0)
            - i64::from(!owns_its_border);
        step[edge] = (a * SUBPIXEL, b * SUBPIXEL);
        offset[edge] = offsets.map(|(ox, oy)| a * ox + b * oy);
        least[edge] = offset[edge].iter().copied().fold(0, i64::min);
        most[edge] = offset[edge].iter().copied().fold(0, i64::max);
    }

    for y in rows {
        let mut e = start;
        let mut entered = false;
        for x in columns.clone() {
            let outside = (e[0] + most[0]) | (e[1] + most[1]) | (e[2] + most[2]);
            if outside >= 0 {
                entered = true;
                let inside = (e[0] + least[0]) | (e[1] + least[1]) | (e[2] + least[2]);
                let mask = if inside >= 0 {
                    full
                } else {
                    (0..N).fold(0, |mask, s| {
                        let sign = (e[0] + offset[0][s]) | (e[1] + offset[1][s]) | (e[2] + offset[2][s]);
                        mask | u32::from(sign >= 0) << s
                    })
                };
                if mask != 0 {
                    hit(x, y, mask);
                }
            } else if entered {
                break;
            }
            for edge in 0..3 {
                e[edge] += step[edge].0;
            }
        }
        for edge in 0..3 {
            start[edge] += step[edge].1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count<const N: usize>(pieces: &[Piece], side: i64, offsets: &[(i64, i64); N]) -> Vec<u32> {
        let samples = N;
        let mut counts = vec![0; (side * side) as usize * samples];
        for piece in pieces {
            cover(piece, 0..side, side, offsets, |x, y, mask| {
                for s in 0..samples {
                    counts[(y * side + x) as usize * samples + s] += mask >> s & 1;
                }
            });
        }
        counts
    }

    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn a_fan_covers_every_sample_of_the_picture_exactly_once() {
        let mut seed = 7;
        for round in 0..300 {
            {
                // Corners around the picture, and a centre that sometimes falls on sample positions.
                let mut center = [0, 1].map(|_| 4.0 + 8.0 * random(&mut seed));
                if round % 2 == 0 {
                    center = center.map(|c| (c * 8.0).round() / 8.0);
                }
                let ring = [[-1.0, -1.0], [8.0, -2.0], [17.0, -1.0], [18.0, 9.0], [17.0, 17.0], [-1.0, 17.0]];
                let pieces: Vec<_> = (0..ring.len())
                    .filter_map(|i| Piece::new(0, [center, ring[i], ring[(i + 1) % ring.len()]]))
                    .collect();
                assert!(count(&pieces, 16, &ONE).iter().all(|&n| n == 1));
                assert!(count(&pieces, 16, &FOUR).iter().all(|&n| n == 1));
                assert!(count(&pieces, 16, &EIGHT).iter().all(|&n| n == 1));
            }
        }
    }

    #[test]
    fn coverage_agrees_with_the_sign_test_in_floating_point() {
        let mut seed = 3;
        for _ in 0..300 {
            let corners = [0, 1, 2].map(|_| [0, 1].map(|_| 24.0 * random(&mut seed) - 4.0));
            let Some(piece) = Piece::new(0, corners) else { continue };
            let counts = count(&[piece], 16, &FOUR);
            let c = [0, 1, 2].map(|i| [piece.x[i], piece.y[i]].map(|v| f64::from(v) / SUBPIXEL as f64));
            for (i, n) in counts.into_iter().enumerate() {
                let (pixel, sample) = (i / 5, i % 5);
                let [ox, oy] = Pattern::Four.offset(sample);
                let p = [(pixel % 16) as f64 + 0.5 + ox, (pixel / 16) as f64 + 0.5 + oy];
                let side = |a: [f64; 2], b: [f64; 2]| (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
                let e = [side(c[0], c[1]), side(c[1], c[2]), side(c[2], c[0])];
                let least = e.into_iter().fold(f64::INFINITY, f64::min);
                if least != 0.0 {
                    assert_eq!(n == 1, least > 0.0, "{corners:?} at {p:?}");
                }
            }
        }
    }
}
