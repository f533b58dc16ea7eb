//! The camera that people turn about their character.

use glam::{DVec2, DVec3};
use sinew_render::{Camera, Lens, View};

/// A camera on a sphere about a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    /// What it looks at.
    pub target: DVec3,
    /// About the vertical axis, radians; 0 is from the front.
    pub azimuth: f64,
    /// Above the horizon, radians.
    pub elevation: f64,
    /// From the target, in scene units.
    pub distance: f64,
}

/// Between the lower and the upper border, radians.
pub const FIELD_OF_VIEW: f64 = 0.6;
/// Straight up and down have no up of their own.
const HIGHEST: f64 = 1.55;

impl Orbit {
    /// From a side, so that a ball fits.
    pub fn around(center: DVec3, radius: f64, view: View) -> Self {
        let (azimuth, elevation) = view.angles();
        let radius = if radius > 0.0 && radius.is_finite() { radius } else { 1.0 };
        let distance = 1.1 * radius / (0.5 * FIELD_OF_VIEW).sin();
        let center = if center.is_finite() { center } else { DVec3::ZERO };
        Self { target: center, azimuth, elevation: elevation.clamp(-HIGHEST, HIGHEST), distance }
    }

    /// The camera itself.
    pub fn camera(&self) -> Camera {
        let (sin_a, cos_a) = self.azimuth.sin_cos();
        let (sin_e, cos_e) = self.elevation.sin_cos();
        let back = DVec3::new(sin_a * cos_e, sin_e, cos_a * cos_e);
        let lens = Lens::Perspective { vertical_fov: FIELD_OF_VIEW };
        let look = |eye: DVec3, target: DVec3| Camera::look_at(eye, target, DVec3::Y, lens);
        // Where numbers have run away, a camera that there always is.
        look(self.target + back * self.distance, self.target).unwrap_or_else(|_| {
            look(DVec3::Z, DVec3::ZERO).unwrap_or_else(|_| unreachable!("one unit along z is a camera"))
        })
    }

    /// From an eye to a target, the right way up.
    pub fn seen_from(&self, eye: DVec3, target: DVec3) -> Self {
        let distance = eye.distance(target);
        let back = (eye - target) / distance;
        if !(distance > 0.0 && back.is_finite()) {
            return *self;
        }
        let elevation = back.y.clamp(-1.0, 1.0).asin().clamp(-HIGHEST, HIGHEST);
        Self { target, azimuth: back.x.atan2(back.z), elevation, distance }
    }

    /// Turned by a drag of so many heights of the picture.
    pub fn turn(&mut self, drag: DVec2) {
        self.azimuth -= 4.0 * drag.x;
        self.elevation = (self.elevation + 3.0 * drag.y).clamp(-HIGHEST, HIGHEST);
    }

    /// Moved across the picture by so many of its heights.
    pub fn pan(&mut self, drag: DVec2) {
        let camera = self.camera();
        let height = 2.0 * self.distance * (0.5 * FIELD_OF_VIEW).sin() / (0.5 * FIELD_OF_VIEW).cos();
        self.target += (camera.up() * drag.y - camera.right() * drag.x) * height;
    }

    /// Nearer by positive steps.
    pub fn zoom(&mut self, steps: f64) {
        let factor = (-0.15 * steps).clamp(-2.0, 2.0).exp();
        let distance = self.distance * factor;
        if distance.is_finite() && distance > f64::MIN_POSITIVE {
            self.distance = distance;
        }
    }

    /// Seen from a side.
    pub fn look_from(&mut self, view: View) {
        let (azimuth, elevation) = view.angles();
        (self.azimuth, self.elevation) = (azimuth, elevation.clamp(-HIGHEST, HIGHEST));
    }
}
