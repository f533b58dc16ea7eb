//! Remapping: a function of the value alone.

use super::PointMap;

/// A checked change of values. Maps may be signed: zero and the sign are kept where that makes sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remap(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Range { from: [f32; 2], to: [f32; 2] },
    Gamma(f32),
    Invert,
    Clamp(f32, f32),
    Threshold(f32),
}

/// Why a remapping was refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RemapError {
    /// A bound that is not a finite number.
    #[error("a bound is {0}: give a finite number")]
    NotFinite(f32),
    /// A source range of no width.
    #[error("the source range from {0} to {0} has no width: give two different bounds")]
    EmptyRange(f32),
    /// Bounds the wrong way round.
    #[error("the lower bound {low} is above the upper one {high}: swap them")]
    Swapped {
        /// The lower.
        low: f32,
        /// The upper.
        high: f32,
    },
    /// An exponent that is not positive.
    #[error("gamma is {0}: give a number above 0 (below 1 raises the middle, above 1 lowers it)")]
    Gamma(f32),
}

impl Remap {
    /// Takes `from[0]` to `to[0]` and `from[1]` to `to[1]`, straight in between and beyond.
    pub fn range(from: [f32; 2], to: [f32; 2]) -> Result<Self, RemapError> {
        finite(&[from[0], from[1], to[0], to[1]])?;
        if from[0] == from[1] {
            return Err(RemapError::EmptyRange(from[0]));
        }
        Ok(Self(Kind::Range { from, to }))
    }

    /// `±|v|^gamma`, keeping the sign.
    pub fn gamma(gamma: f32) -> Result<Self, RemapError> {
        if gamma.is_finite() && gamma > 0.0 { Ok(Self(Kind::Gamma(gamma))) } else { Err(RemapError::Gamma(gamma)) }
    }

    /// `1 − v`.
    pub fn invert() -> Self {
        Self(Kind::Invert)
    }

    /// Cuts values at both bounds.
    pub fn clamp(low: f32, high: f32) -> Result<Self, RemapError> {
        finite(&[low, high])?;
        if low > high { Err(RemapError::Swapped { low, high }) } else { Ok(Self(Kind::Clamp(low, high))) }
    }

    /// 1 from the threshold on, 0 below it.
    pub fn threshold(at: f32) -> Result<Self, RemapError> {
        finite(&[at])?;
        Ok(Self(Kind::Threshold(at)))
    }

    /// The new value of `v`.
    pub fn value(self, v: f32) -> f32 {
        match self.0 {
            Kind::Range { from: [a, b], to: [c, d] } => {
                let share = (f64::from(v) - f64::from(a)) / (f64::from(b) - f64::from(a));
                (f64::from(c) + share * (f64::from(d) - f64::from(c))) as f32
            }
            Kind::Gamma(gamma) => v.abs().powf(gamma).copysign(v),
            Kind::Invert => 1.0 - v,
            Kind::Clamp(low, high) => v.clamp(low, high),
            Kind::Threshold(at) => f32::from(u8::from(v >= at)),
        }
    }
}

impl PointMap {
    /// Changes every value; results that overflow become 0.
    pub fn remap(&mut self, remap: Remap) {
        self.apply(|v| remap.value(v));
    }
}

fn finite(bounds: &[f32]) -> Result<(), RemapError> {
    bounds.iter().find(|bound| !bound.is_finite()).map_or(Ok(()), |&bound| Err(RemapError::NotFinite(bound)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() -> Result<(), RemapError> {
        for (remap, v, expected) in [
            (Remap::range([0.0, 2.0], [1.0, -1.0])?, 0.5, 0.5),
            (Remap::range([0.0, 2.0], [1.0, -1.0])?, 3.0, -2.0),
            (Remap::gamma(2.0)?, -0.5, -0.25),
            (Remap::gamma(0.5)?, 0.0, 0.0),
            (Remap::invert(), 0.25, 0.75),
            (Remap::clamp(-1.0, 0.5)?, 0.75, 0.5),
            (Remap::threshold(0.5)?, 0.5, 1.0),
            (Remap::threshold(0.5)?, 0.4999, 0.0),
        ] {
            assert_eq!(remap.value(v), expected, "{remap:?} of {v}");
        }
        Ok(())
    }

    #[test]
    fn faults() {
        assert_eq!(Remap::range([1.0, 1.0], [0.0, 1.0]), Err(RemapError::EmptyRange(1.0)));
        assert_eq!(Remap::clamp(1.0, 0.0), Err(RemapError::Swapped { low: 1.0, high: 0.0 }));
        assert_eq!(Remap::gamma(0.0), Err(RemapError::Gamma(0.0)));
        assert!(Remap::gamma(f32::NAN).is_err() && Remap::threshold(f32::INFINITY).is_err());
    }
}
