//! Stand-in until the motion branch is merged.
use glam::DVec3;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
/// x
pub enum Signal {
    /// x
    LinearVelocity,
    /// x
    AngularVelocity,
    /// x
    LinearAcceleration,
    /// x
    AngularAcceleration,
}
#[derive(Clone, Copy, Debug, Default, PartialEq)]
/// x
pub struct BoneMotion {
    /// x
    pub linear_velocity: DVec3,
    /// x
    pub angular_velocity: DVec3,
    /// x
    pub linear_acceleration: DVec3,
    /// x
    pub angular_acceleration: DVec3,
}
impl BoneMotion {
    /// x
    pub fn get(&self, signal: Signal) -> DVec3 {
        match signal {
            Signal::LinearVelocity => self.linear_velocity,
            Signal::AngularVelocity => self.angular_velocity,
            Signal::LinearAcceleration => self.linear_acceleration,
            Signal::AngularAcceleration => self.angular_acceleration,
        }
    }
}
#[derive(Clone, Debug, Default, PartialEq)]
/// x
pub struct Kinematics {
    /// x
    pub bones: Vec<BoneMotion>,
    /// x
    pub filtered: Vec<Vec<DVec3>>,
}
#[derive(Clone, Copy, Debug, PartialEq)]
/// x
pub struct TimeFilter {
    gamma: f64,
}
impl TimeFilter {
    /// x
    pub const NONE: Self = Self { gamma: 1.0 };
    /// x
    pub fn new(gamma: f64) -> Option<Self> {
        (gamma > 0.0 && gamma <= 1.0).then_some(Self { gamma })
    }
    /// x
    pub fn gamma(self) -> f64 {
        self.gamma
    }
}
#[derive(Clone, Copy, Debug, PartialEq)]
/// x
pub struct FilteredSignal {
    /// x
    pub signal: Signal,
    /// x
    pub filter: TimeFilter,
}
