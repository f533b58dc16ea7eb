//! Between linear light and the sRGB bytes of pictures (IEC 61966-2-1), by tables, so that every machine gives the
//! same bytes.

use std::sync::LazyLock;

const ENCODE_STEPS: usize = 1 << 14;

static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|i| decode(i as f64 / 255.0) as f32));

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..=ENCODE_STEPS).map(|i| (encode(i as f64 / ENCODE_STEPS as f64) * 255.0 + 0.5) as u8).collect()
});

/// Linear light of an sRGB value in 0…1.
pub(crate) fn decode(s: f64) -> f64 {
    if s <= 0.04045 { s / 12.92 } else { libm::pow((s + 0.055) / 1.055, 2.4) }
}

/// sRGB value of linear light in 0…1.
pub(crate) fn encode(l: f64) -> f64 {
    if l <= 0.0031308 { 12.92 * l } else { 1.055 * libm::pow(l, 1.0 / 2.4) - 0.055 }
}

/// Linear light of an sRGB byte.
pub fn linear_from_byte(byte: u8) -> f32 {
    LINEAR[usize::from(byte)]
}

/// The sRGB byte of linear light; values outside 0…1 are clamped, NaN is black.
pub fn byte_from_linear(light: f32) -> u8 {
    Bytes::new().of(light)
}

/// [`byte_from_linear`] for many values in a row.
pub(crate) struct Bytes(&'static [u8]);

impl Bytes {
    pub fn new() -> Self {
        Self(&BYTES)
    }

    pub fn of(&self, light: f32) -> u8 {
        // NaN becomes 0 in the cast. By way of i32, which has an instruction of its own.
        self.0[(light.clamp(0.0, 1.0) * ENCODE_STEPS as f32 + 0.5) as i32 as usize]
    }
}

/// Linear RGB of an sRGB colour written as three bytes.
pub fn linear_rgb(rgb: [u8; 3]) -> [f32; 3] {
    rgb.map(linear_from_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for b in 0..=255 {
            assert_eq!(byte_from_linear(linear_from_byte(b)), b);
        }
        assert_eq!(byte_from_linear(f32::NAN), 0);
        assert_eq!(byte_from_linear(f32::INFINITY), 255);
    }

    #[test]
    fn middle_grey_is_where_the_standard_puts_it() {
        assert_eq!(byte_from_linear(0.5), 188);
        assert!((linear_from_byte(128) - 0.21586).abs() < 1e-5);
    }
}
