//! Numbers as they are met in files, and as nobody expects them.

use arbitrary::{Result, Unstructured};

/// Numbers at which something ends: ranges of types, precision, plain sense.
const EDGES: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    4.0,
    16.0,
    255.0,
    256.0,
    65_535.0,
    65_536.0,
    5126.0,
    2_147_483_648.0,
    4_294_967_295.0,
    9_007_199_254_740_993.0,
    1e-45,
    1e-12,
    1e12,
    1e20,
    3.5e38,
    1e300,
    -1e300,
];

/// Any number: of the edges, a small whole one, one of unit size, or whatever bits there are.
pub fn any(bytes: &mut Unstructured<'_>) -> Result<f64> {
    Ok(match bytes.int_in_range(0..=3)? {
        0 => *bytes.choose(&EDGES)?,
        1 => f64::from(bytes.arbitrary::<i8>()?),
        2 => unit(bytes)?,
        _ => Some(bytes.arbitrary::<f64>()?).filter(|number| number.is_finite()).unwrap_or(7.0),
    })
}

/// From −2 to 2.
pub fn unit(bytes: &mut Unstructured<'_>) -> Result<f64> {
    Ok(f64::from(bytes.arbitrary::<i16>()?) / 16_384.0)
}

/// Within a range, its ends among them.
pub fn between(bytes: &mut Unstructured<'_>, low: f64, high: f64) -> Result<f64> {
    Ok(match bytes.int_in_range(0..=7)? {
        0 => low,
        1 => high,
        _ => low + (high - low) * f64::from(bytes.arbitrary::<u16>()?) / 65_535.0,
    })
}
