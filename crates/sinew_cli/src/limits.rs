//! The limits of this run: those of the library, times what `--limits` says.

use sinew_gltf::Limits;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of the factor.
static FACTOR: AtomicU64 = AtomicU64::new(1.0f64.to_bits());

/// Takes the factor that was given.
pub fn choose(factor: f64) {
    FACTOR.store(factor.to_bits(), Ordering::Relaxed);
}

/// What files may ask for.
pub fn chosen() -> Limits {
    Limits::default().times(f64::from_bits(FACTOR.load(Ordering::Relaxed)))
}

/// A factor as it is given.
pub fn factor(given: &str) -> Result<f64, String> {
    match given.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("give a factor such as 4".to_owned()),
    }
}
