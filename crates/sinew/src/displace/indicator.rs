//! The indicator 𝒟 (AS 4): how much a motion is braking, from 0 to 1.
//!
//! The default tells the time left to rest: `𝒟 = clamp(−a·b/(t_D‖b‖²), 0, 1)` for a velocity a and its acceleration b,
//! 0 where b = 0; 𝒟·b is continuous. The paper's `clamp(−a·b/D, 0, 1)` (raw) switches within a few milliseconds of
//! ordinary motion, which pops.

use glam::Vec3;

/// Which form, with its constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Indicator {
    /// Time to rest t_D in seconds.
    TimeToRest(f32),
    /// The paper's D for (v, a) and for (ω, α).
    Paper { linear: f32, angular: f32 },
}

impl Indicator {
    /// 𝒟(v, a).
    pub fn linear(self, v: Vec3, a: Vec3, size: f32) -> f32 {
        match self {
            Self::TimeToRest(time) => time_to_rest(v, a, time),
            Self::Paper { linear, .. } => paper(v, a, linear * size * size),
        }
    }

    /// 𝒟(ω, α).
    pub fn angular(self, omega: Vec3, alpha: Vec3) -> f32 {
        match self {
            Self::TimeToRest(time) => time_to_rest(omega, alpha, time),
            Self::Paper { angular, .. } => paper(omega, alpha, angular),
        }
    }
}

fn time_to_rest(a: Vec3, b: Vec3, time: f32) -> f32 {
    // Scaled by the largest component: squares of tiny accelerations underflow, those of huge ones overflow.
    let largest = b.abs().max_element();
    if largest == 0.0 {
        return 0.0;
    }
    let unit = b / largest;
    (-(a.dot(unit) / (unit.length_squared() * largest)) / time).clamp(0.0, 1.0)
}

fn paper(a: Vec3, b: Vec3, limit: f32) -> f32 {
    (-a.dot(b) / limit).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_braking_from_accelerating() {
        let d = Indicator::TimeToRest(0.05);
        let (v, a) = (Vec3::new(2.0, 0.0, 0.0), Vec3::new(-10.0, 0.0, 0.0));
        assert_eq!(d.linear(v, -a, 1.0), 0.0);
        assert_eq!(d.linear(v, Vec3::ZERO, 1.0), 0.0);
        assert_eq!(d.linear(v, a, 1.0), 1.0);
        // 0.02 s before rest.
        assert!((d.linear(v * 0.1, a, 1.0) - 0.4).abs() < 1e-6);
        assert!(d.angular(v * 1e-30, a * 1e-30).is_finite());
        let paper = Indicator::Paper { linear: 1.0, angular: 4.0 };
        assert_eq!(paper.linear(v, a, 1.0), 1.0);
        assert_eq!(paper.linear(v, -a, 1.0), 0.0);
        assert!((paper.linear(v, a * 0.01, 1.0) - 0.2).abs() < 1e-6);
    }
}
