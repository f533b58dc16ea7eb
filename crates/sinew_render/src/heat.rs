//! Colours for numbers: Viridis and Inferno (van der Walt & Smith 2015) for values from 0, the blue–white–red of
//! Moreland (2009) for signed ones.
//!
//! Viridis and Inferno are polynomials fitted to the published tables (the fit is Zucker's; off by less than 6 of 255); Moreland's is computed
//! from his construction in polar Lab ("Msh"), so it needs no table. Oracle: the published colours.

use crate::srgb::{byte_from_linear, decode, encode};

/// A scale of colours over 0…1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Palette {
    /// Dark blue to yellow, even in lightness.
    #[default]
    Viridis,
    /// Black to pale yellow through red, even in lightness.
    Inferno,
    /// Blue below, light grey in the middle, red above: for signed values.
    Diverging,
}

type Fit = [[f64; 3]; 7];

const VIRIDIS: Fit = [
    [0.2777273272, 0.0054073445, 0.3340998053],
    [0.1050930431, 1.4046135299, 1.3845901626],
    [-0.3308618287, 0.2148475595, 0.0950951630],
    [-4.6342304990, -5.7991009734, -19.3324409563],
    [6.2282699363, 14.1799333668, 56.6905526007],
    [4.7763849977, -13.7451453777, -65.3530326334],
    [-5.4354558559, 4.6458526122, 26.3124352496],
];

const INFERNO: Fit = [
    [0.0002189404, 0.0016510046, -0.0194808984],
    [0.1065134195, 0.5639564368, 3.9327123889],
    [11.6024930825, -3.9728539657, -15.9423941063],
    [-41.7039961314, 17.4363988821, 44.3541451987],
    [77.1629356994, -33.4023589421, -81.8073092574],
    [-71.3194282450, 32.6260642640, 73.2095198580],
    [25.1311262248, -12.2426689524, -23.0703250029],
];

impl Palette {
    /// sRGB colour at `t`, clamped to 0…1; NaN is the lower end.
    pub fn srgb(self, t: f64) -> [f64; 3] {
        let t = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) };
        match self {
            Self::Viridis => polynomial(&VIRIDIS, t),
            Self::Inferno => polynomial(&INFERNO, t),
            Self::Diverging => moreland(t),
        }
    }

    /// Linear RGBA at `t`: what meshes take.
    pub fn linear(self, t: f64) -> [f32; 4] {
        let [r, g, b] = self.srgb(t).map(|s| decode(s) as f32);
        [r, g, b, 1.0]
    }

    /// sRGB bytes at `t`: what pictures take.
    pub fn bytes(self, t: f64) -> [u8; 3] {
        let [r, g, b, _] = self.linear(t);
        [r, g, b].map(byte_from_linear)
    }
}

/// Which numbers the ends of a palette stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The colours.
    pub palette: Palette,
    /// Value of the palette's lower end.
    pub min: f64,
    /// Value of the palette's upper end.
    pub max: f64,
}

impl Scale {
    /// The scale that fits all values: from 0 upwards with `palette` if none is negative, else symmetric about 0 and
    /// diverging. Values that are not finite do not count.
    pub fn fit(values: impl IntoIterator<Item = f32>, palette: Palette) -> Self {
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for v in values.into_iter().filter(|v| v.is_finite()).map(f64::from) {
            (low, high) = (low.min(v), high.max(v));
        }
        let reach = high.max(-low);
        let reach = if reach > 0.0 { reach } else { 1.0 };
        if low < 0.0 || palette == Palette::Diverging {
            Self { palette: Palette::Diverging, min: -reach, max: reach }
        } else {
            Self { palette, min: 0.0, max: reach }
        }
    }

    /// Place of a value on the palette.
    pub fn place(&self, value: f64) -> f64 {
        let span = self.max - self.min;
        if span > 0.0 { (value - self.min) / span } else { 0.5 }
    }

    /// Linear RGBA per value, for [`crate::Mesh::colors`]; what is not finite becomes grey.
    pub fn colors(&self, values: &[f32]) -> Vec<[f32; 4]> {
        let color = |&v: &f32| {
            if v.is_finite() { self.palette.linear(self.place(f64::from(v))) } else { [0.5, 0.5, 0.5, 1.0] }
        };
        values.iter().map(color).collect()
    }
}

fn polynomial(fit: &Fit, t: f64) -> [f64; 3] {
    std::array::from_fn(|c| fit.iter().rev().fold(0.0, |sum, row| sum * t + row[c]).clamp(0.0, 1.0))
}

/// From blue to red through light grey, the hue turned towards grey so that neither half looks kinked.
fn moreland(t: f64) -> [f64; 3] {
    const WHITE: f64 = 88.0;
    let (end, part) = if t < 0.5 { ([59.0, 76.0, 192.0], 2.0 * t) } else { ([180.0, 4.0, 38.0], 2.0 - 2.0 * t) };
    let [m, s, h] = msh(end.map(|c| c / 255.0));
    let spin = s * (WHITE * WHITE - m * m).max(0.0).sqrt() / (m * libm::sin(s));
    let grey_hue = if h > -std::f64::consts::PI / 3.0 { h + spin } else { h - spin };
    let mix = |a: f64, b: f64| a + (b - a) * part;
    from_msh([mix(m, WHITE), mix(s, 0.0), mix(h, grey_hue)])
}

/// D65.
const REFERENCE: [f64; 3] = [0.95047, 1.0, 1.08883];

fn msh(srgb: [f64; 3]) -> [f64; 3] {
    let [r, g, b] = srgb.map(decode);
    let xyz = [
        0.4124564 * r + 0.3575761 * g + 0.1804375 * b,
        0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
        0.0193339 * r + 0.1191920 * g + 0.9503041 * b,
    ];
    let f = |i: usize| {
        let t = xyz[i] / REFERENCE[i];
        if t > 0.008856 { libm::cbrt(t) } else { 7.787 * t + 16.0 / 116.0 }
    };
    let lab = [116.0 * f(1) - 16.0, 500.0 * (f(0) - f(1)), 200.0 * (f(1) - f(2))];
    let m = (lab[0] * lab[0] + lab[1] * lab[1] + lab[2] * lab[2]).sqrt();
    [m, libm::acos(lab[0] / m), libm::atan2(lab[2], lab[1])]
}

fn from_msh([m, s, h]: [f64; 3]) -> [f64; 3] {
    let lab = [m * libm::cos(s), m * libm::sin(s) * libm::cos(h), m * libm::sin(s) * libm::sin(h)];
    let fy = (lab[0] + 16.0) / 116.0;
    let f = [fy + lab[1] / 500.0, fy, fy - lab[2] / 200.0];
    let [x, y, z] = std::array::from_fn(|i| {
        let cube = f[i] * f[i] * f[i];
        REFERENCE[i] * if cube > 0.008856 { cube } else { (f[i] - 16.0 / 116.0) / 7.787 }
    });
    [
        3.2404542 * x - 1.5371385 * y - 0.4985314 * z,
        -0.9692660 * x + 1.8760108 * y + 0.0415560 * z,
        0.0556434 * x - 0.2040259 * y + 1.0572252 * z,
    ]
    .map(|l| encode(l.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(palette: Palette, t: f64, hex: u32, tolerance: i32) {
        let want = [hex >> 16, hex >> 8 & 255, hex & 255];
        let got = palette.bytes(t);
        for c in 0..3 {
            assert!((i32::from(got[c]) - want[c] as i32).abs() <= tolerance, "{palette:?} {t}: {got:?} {want:?}");
        }
    }

    #[test]
    fn colours_are_the_published_ones() {
        let viridis = [0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30, 0xfde725];
        for (i, hex) in viridis.into_iter().enumerate() {
            close(Palette::Viridis, i as f64 / 8.0, hex, 6);
        }
        for (t, hex) in [(0.0, 0x000004), (0.5, 0xbc3754), (1.0, 0xfcffa4)] {
            close(Palette::Inferno, t, hex, 6);
        }
        for (t, hex) in [(0.0, 0x3b4cc0), (0.5, 0xdddddd), (1.0, 0xb40426)] {
            close(Palette::Diverging, t, hex, 2);
        }
    }

    #[test]
    fn lightness_of_viridis_and_inferno_rises() {
        for palette in [Palette::Viridis, Palette::Inferno] {
            let light = |i: i32| {
                let [r, g, b, _] = palette.linear(f64::from(i) / 64.0);
                0.2126 * r + 0.7152 * g + 0.0722 * b
            };
            assert!((1..=64).all(|i| light(i) > light(i - 1)), "{palette:?}");
        }
    }

    #[test]
    fn scales_fit_signed_and_unsigned_values() {
        let unsigned = Scale::fit([0.5, 2.0, f32::NAN], Palette::Viridis);
        assert_eq!((unsigned.palette, unsigned.min, unsigned.max), (Palette::Viridis, 0.0, 2.0));
        let signed = Scale::fit([0.5, -2.0, f32::INFINITY], Palette::Viridis);
        assert_eq!((signed.palette, signed.min, signed.max), (Palette::Diverging, -2.0, 2.0));
        assert!((signed.place(0.0) - 0.5).abs() < 1e-12);
        let flat = Scale::fit([0.0; 3], Palette::Inferno);
        assert!(flat.colors(&[0.0, f32::NAN]).as_flattened().iter().all(|c| c.is_finite()));
    }
}
