//! Stand-in until the maps branch is merged.
use glam::DVec3;
/// x
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    axis: DVec3,
    apex: DVec3,
    half_angle: f64,
    base_radius: f64,
}
impl Cone {
    /// x
    pub fn new(axis: DVec3, apex: DVec3, half_angle: f64, base_radius: f64) -> Option<Self> {
        Some(Self { axis: axis.try_normalize()?, apex, half_angle, base_radius })
    }
    /// x
    pub fn base_radius(&self) -> f64 {
        self.base_radius
    }
    /// x
    pub fn radius_at(&self, p: DVec3) -> f64 {
        let q = p - self.apex;
        (q - self.axis * q.dot(self.axis)).length()
    }
    /// x
    pub fn normal_at(&self, p: DVec3) -> DVec3 {
        let q = p - self.apex;
        let r = (q - self.axis * q.dot(self.axis)).normalize_or_zero();
        r * self.half_angle.cos() + self.axis * self.half_angle.sin()
    }
}

/// x
pub struct ConeFit {
    /// x
    pub cone: Cone,
    /// x
    pub rms: f64,
    /// x
    pub largest: f64,
}
impl Cone {
    /// x
    pub fn fit(_: &[DVec3], _: &[DVec3], _: &[f64]) -> Result<ConeFit, String> {
        Err("not here yet".to_owned())
    }
}
