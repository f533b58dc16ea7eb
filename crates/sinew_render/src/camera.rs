//! Cameras, given or framed automatically. glTF axes: +Y up, a character looks along +Z, the camera looks along its
//! own −Z. World points are f64; pixel `(x, y)` has its centre at `(x + ½, y + ½)`, rows run downwards.
//!
//! *Framing.* With the eye at `(cx, cy, d)` in axes of the view, a point `(x, y, z)` lies right of the left border
//! and left of the right one iff `x + t z ≤ t d + cx` and `−x + t z ≤ t d − cx`, t = tan of half the horizontal
//! angle. With R, L the largest left-hand sides over all points: `cx = (R−L)/2`, `d = (R+L)/2t`; likewise
//! vertically, and the larger d counts. So the fit is exact, needs one pass over the points, and points of further
//! frames may be added at any time: one framing for a whole clip.

use crate::Size;
use glam::{DVec3, Vec3};
use std::f64::consts::PI;

/// How depth is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// Things further away are smaller.
    Perspective {
        /// Angle between the lower and the upper border, radians.
        vertical_fov: f64,
    },
    /// Parallel projection.
    Orthographic {
        /// Height of the picture in scene units.
        height: f64,
    },
}

/// Why a camera cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CameraError {
    /// Eye and target coincide, or a number is not finite.
    #[error("the camera's eye and target are the same point or not finite; move one of them")]
    NoDirection,
    /// Up is along the line of sight.
    #[error("the camera looks along its own up direction; give another up, for example 0,0,-1 when looking down")]
    NoUp,
    /// The angle is not between 0 and 180°.
    #[error("the camera's field of view is {degrees}°; it must be more than 0.01° and less than 179°")]
    FieldOfView {
        /// As given.
        degrees: f64,
    },
    /// The height is not positive.
    #[error("the orthographic camera's height is {height}; it must be a positive number of scene units")]
    Height {
        /// As given.
        height: f64,
    },
}

/// Where the picture is taken from. Always usable: axes are orthonormal, the lens is in range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    eye: DVec3,
    right: DVec3,
    up: DVec3,
    back: DVec3,
    lens: Lens,
    near: f64,
}

impl Camera {
    /// A camera at `eye` that looks at `target`. What is nearer than a thousandth of their distance is cut off.
    pub fn look_at(eye: DVec3, target: DVec3, up: DVec3, lens: Lens) -> Result<Self, CameraError> {
        match lens {
            Lens::Perspective { vertical_fov: fov } => {
                if !(fov > 0.01 * PI / 180.0 && fov < 179.0 * PI / 180.0) {
                    return Err(CameraError::FieldOfView { degrees: fov.to_degrees() });
                }
            }
            Lens::Orthographic { height } => {
                if !(height > 0.0 && height.is_finite()) {
                    return Err(CameraError::Height { height });
                }
            }
        }
        let distance = (eye - target).length();
        let back = (eye - target).try_normalize().filter(|_| distance.is_finite()).ok_or(CameraError::NoDirection)?;
        let up = up.try_normalize().ok_or(CameraError::NoUp)?;
        let across = up.cross(back);
        if across.length() < 1e-6 {
            return Err(CameraError::NoUp);
        }
        let right = across.normalize();
        Ok(Self { eye, right, up: back.cross(right), back, lens, near: NEAR * distance })
    }

    /// Where it stands.
    pub fn eye(&self) -> DVec3 {
        self.eye
    }

    /// Unit vector to the right of the picture, in the world.
    pub fn right(&self) -> DVec3 {
        self.right
    }

    /// Unit vector to the top of the picture, in the world.
    pub fn up(&self) -> DVec3 {
        self.up
    }

    /// Unit vector from the scene to the camera.
    pub fn back(&self) -> DVec3 {
        self.back
    }

    /// Its lens.
    pub fn lens(&self) -> Lens {
        self.lens
    }

    /// What is nearer (along the line of sight) is cut off.
    pub fn near(&self) -> f64 {
        self.near
    }

    /// The camera with a picture size: what maps points to pixels.
    pub fn projector(&self, size: Size) -> Projector {
        let half = 0.5 * f64::from(size.height());
        let (perspective, scale) = match self.lens {
            Lens::Perspective { vertical_fov } => (true, half / libm::tan(0.5 * vertical_fov)),
            Lens::Orthographic { height } => (false, 2.0 * half / height),
        };
        Projector { camera: *self, perspective, scale, center: [0.5 * f64::from(size.width()), half] }
    }
}

/// A point on its way to the picture: pixel coordinates are `x/w, y/w`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    /// Column times w.
    pub x: f64,
    /// Row times w.
    pub y: f64,
    /// The depth for a perspective lens, 1 for an orthographic one.
    pub w: f64,
    /// Distance from the eye along the line of sight, scene units.
    pub depth: f64,
}

impl Projected {
    /// Column and row, if the point is in front of the eye.
    pub fn pixel(&self) -> Option<[f64; 2]> {
        (self.w > 0.0).then(|| [self.x / self.w, self.y / self.w])
    }
}

/// Maps points to pixels and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projector {
    camera: Camera,
    perspective: bool,
    scale: f64,
    center: [f64; 2],
}

impl Projector {
    /// The camera.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// Whether the lens is a perspective one.
    pub fn is_perspective(&self) -> bool {
        self.perspective
    }

    /// A world point in the picture.
    pub fn project(&self, point: DVec3) -> Projected {
        let q = point - self.camera.eye;
        let depth = -q.dot(self.camera.back);
        let w = if self.perspective { depth } else { 1.0 };
        let x = self.center[0] * w + self.scale * q.dot(self.camera.right);
        let y = self.center[1] * w - self.scale * q.dot(self.camera.up);
        Projected { x, y, w, depth }
    }

    /// The line of sight through a place in the picture: a point, and a direction whose part along the camera's
    /// axis is 1, so that `origin + depth · direction` has that depth.
    pub fn ray(&self, x: f64, y: f64) -> (DVec3, DVec3) {
        let c = &self.camera;
        let across = c.right * ((x - self.center[0]) / self.scale) + c.up * ((self.center[1] - y) / self.scale);
        if self.perspective { (c.eye, across - c.back) } else { (c.eye + across, -c.back) }
    }

    /// Size of a pixel in scene units, at a depth.
    pub fn pixel_size(&self, depth: f64) -> f64 {
        if self.perspective { depth / self.scale } else { 1.0 / self.scale }
    }

    /// Depth of a key (see [`Projector::key_of_depth`]).
    pub fn depth_of_key(&self, key: f64) -> f64 {
        if self.perspective { 1.0 / key } else { -key }
    }

    /// What depth buffers compare: larger is nearer, and linear on the screen along any straight line.
    pub fn key_of_depth(&self, depth: f64) -> f64 {
        if self.perspective { 1.0 / depth } else { -depth }
    }
}

/// Where to look from. Angles are about the character: azimuth 0 is its front (+Z), a quarter turn its left (+X).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum View {
    /// From the front, a little from above.
    Front,
    /// From behind, a little from above.
    Back,
    /// From the character's left (+X), a little from above.
    Side,
    /// Between front and side, a little from above.
    #[default]
    ThreeQuarter,
    /// Straight from above, the character's front at the bottom of the picture.
    Top,
    /// Exactly from there.
    Angles {
        /// Radians about +Y, from +Z towards +X.
        azimuth: f64,
        /// Radians above the horizon.
        elevation: f64,
    },
}

impl View {
    /// Azimuth and elevation in radians.
    pub fn angles(self) -> (f64, f64) {
        let degrees = |azimuth: f64, elevation: f64| (azimuth.to_radians(), elevation.to_radians());
        match self {
            Self::Front => degrees(0.0, 7.0),
            Self::Back => degrees(180.0, 7.0),
            Self::Side => degrees(90.0, 7.0),
            Self::ThreeQuarter => degrees(36.0, 13.0),
            Self::Top => degrees(0.0, 90.0),
            Self::Angles { azimuth, elevation } => {
                let finite = |a: f64| if a.is_finite() { a } else { 0.0 };
                (finite(azimuth), finite(elevation).clamp(-PI / 2.0, PI / 2.0))
            }
        }
    }

    /// Right, up and back axes of a camera with this view.
    fn axes(self) -> [DVec3; 3] {
        let (azimuth, elevation) = self.angles();
        let (sa, ca) = (libm::sin(azimuth), libm::cos(azimuth));
        let (se, ce) = (libm::sin(elevation), libm::cos(elevation));
        let right = DVec3::new(ca, 0.0, -sa);
        let back = DVec3::new(sa * ce, se, ca * ce);
        [right, back.cross(right), back]
    }
}

/// The lens of an automatic framing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FramingLens {
    /// Perspective with this vertical angle in radians (clamped to 1°…120°).
    Perspective(f64),
    /// Parallel projection.
    Orthographic,
}

impl Default for FramingLens {
    /// 28°: a portrait lens, which keeps proportions honest.
    fn default() -> Self {
        Self::Perspective(28.0 * PI / 180.0)
    }
}

/// Finds the camera that shows all points it has been given; see the module's text.
#[derive(Clone, Debug)]
pub struct Framing {
    axes: [DVec3; 3],
    lens: FramingLens,
    aspect: f64,
    /// Tangents of half the angles, horizontally and vertically; 0 for a parallel projection.
    slope: [f64; 2],
    /// R, L, then up and down: the largest left-hand sides.
    reach: [f64; 4],
    /// Smallest and largest coordinate towards the camera.
    toward: [f64; 2],
}

/// What is cut off, as a part of the distance from eye to target.
const NEAR: f64 = 1e-3;

/// Part of the picture left free on each side.
const MARGIN: f64 = 0.07;

impl Framing {
    /// A framing without points yet.
    pub fn new(view: View, lens: FramingLens, size: Size) -> Self {
        let lens = match lens {
            FramingLens::Perspective(fov) if fov.is_finite() => {
                FramingLens::Perspective(fov.clamp(PI / 180.0, PI * 2.0 / 3.0))
            }
            FramingLens::Perspective(_) => FramingLens::default(),
            FramingLens::Orthographic => FramingLens::Orthographic,
        };
        let aspect = size.aspect();
        let slope = match lens {
            FramingLens::Perspective(fov) => {
                let t = libm::tan(0.5 * fov) * (1.0 - 2.0 * MARGIN);
                [t * aspect, t]
            }
            FramingLens::Orthographic => [0.0; 2],
        };
        let none = f64::NEG_INFINITY;
        Self { axes: view.axes(), lens, aspect, slope, reach: [none; 4], toward: [-none, none] }
    }

    /// Adds a point; points that are not finite are left out.
    pub fn include(&mut self, point: DVec3) {
        if !point.is_finite() {
            return;
        }
        let [x, y, z] = self.axes.map(|axis| axis.dot(point));
        let [tx, ty] = self.slope.map(|t| t * z);
        for (reach, candidate) in self.reach.iter_mut().zip([x + tx, tx - x, y + ty, ty - y]) {
            *reach = reach.max(candidate);
        }
        self.toward = [self.toward[0].min(z), self.toward[1].max(z)];
    }

    /// Adds points.
    pub fn include_points(&mut self, points: &[Vec3]) {
        for p in points {
            self.include(p.as_dvec3());
        }
    }

    /// Adds the corners of a box: simpler than all points, and looser.
    pub fn include_box(&mut self, min: DVec3, max: DVec3) {
        for i in 0..8 {
            let pick = |bit: usize, a: f64, b: f64| if i >> bit & 1 == 0 { a } else { b };
            self.include(DVec3::new(pick(0, min.x, max.x), pick(1, min.y, max.y), pick(2, min.z, max.z)));
        }
    }

    /// Adds all points of another framing with the same view, lens and size: frames can be looked at in any order.
    pub fn join(&mut self, other: &Self) {
        for (reach, theirs) in self.reach.iter_mut().zip(other.reach) {
            *reach = reach.max(theirs);
        }
        self.toward = [self.toward[0].min(other.toward[0]), self.toward[1].max(other.toward[1])];
    }

    /// The camera with the same direction and lens, at `distance` from the middle of the points.
    pub fn camera_at(&self, distance: f64) -> Result<Camera, CameraError> {
        let fitted = self.camera();
        let target = fitted.eye - fitted.back * (fitted.near / NEAR);
        Camera::look_at(target + fitted.back * distance, target, fitted.up, fitted.lens)
    }

    /// The camera. Without points, or with a single one, it shows a unit cube there.
    pub fn camera(&self) -> Camera {
        let [z0, z1] = self.toward;
        if z0 > z1 {
            let mut unit = self.clone();
            unit.include_box(DVec3::splat(-0.5), DVec3::splat(0.5));
            return unit.camera();
        }
        let [right, left, top, bottom] = self.reach;
        let center = [0.5 * (right - left), 0.5 * (top - bottom)];
        let half = [0.5 * (right + left), 0.5 * (top + bottom)];
        let [x, y, z] = self.axes;
        let (toward, lens) = match self.lens {
            FramingLens::Perspective(vertical_fov) => {
                ((half[0] / self.slope[0]).max(half[1] / self.slope[1]), Lens::Perspective { vertical_fov })
            }
            FramingLens::Orthographic => {
                let height = 2.0 * half[1].max(half[0] / self.aspect) / (1.0 - 2.0 * MARGIN);
                (z1 + (z1 - z0) + height, Lens::Orthographic { height })
            }
        };
        let distance = toward - 0.5 * (z0 + z1);
        let target = x * center[0] + y * center[1] + z * (0.5 * (z0 + z1));
        // A single point, or so far away that the extent is lost in rounding.
        let reach = target.abs().max_element();
        let fitted = Camera::look_at(target + z * distance, target, y, lens).ok().filter(|_| distance > 1e-9 * reach);
        fitted.unwrap_or_else(|| {
            let unit = (1e-3 * reach).max(1.0);
            let lens = match lens {
                Lens::Orthographic { .. } => Lens::Orthographic { height: unit },
                perspective => perspective,
            };
            Camera { eye: target + z * (4.0 * unit), right: x, up: y, back: z, lens, near: NEAR * 4.0 * unit }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(w: u32, h: u32) -> Size {
        Size::new(w, h).unwrap()
    }

    #[test]
    fn a_ray_goes_through_what_is_projected() {
        for lens in [Lens::Perspective { vertical_fov: 0.9 }, Lens::Orthographic { height: 3.0 }] {
            let eye = DVec3::new(1.0, 2.0, 5.0);
            let camera = Camera::look_at(eye, DVec3::new(0.2, 0.5, -0.3), DVec3::Y, lens).unwrap();
            let projector = camera.projector(size(640, 360));
            for p in [DVec3::ZERO, DVec3::new(0.4, 0.9, -0.7), DVec3::new(-1.0, 0.1, 1.2)] {
                let seen = projector.project(p);
                let [x, y] = seen.pixel().unwrap();
                let (origin, direction) = projector.ray(x, y);
                assert!((origin + direction * seen.depth - p).length() < 1e-12);
            }
        }
    }

    #[test]
    fn joined_framings_are_the_framing_of_all_points() {
        let points = [DVec3::new(0.0, 0.0, 0.0), DVec3::new(0.3, 1.7, 0.2), DVec3::new(-0.8, 1.1, -0.4)];
        for lens in [FramingLens::default(), FramingLens::Orthographic] {
            let empty = Framing::new(View::ThreeQuarter, lens, size(640, 360));
            let (mut all, mut joined) = (empty.clone(), empty.clone());
            for p in points {
                all.include(p);
                let mut one = empty.clone();
                one.include(p);
                joined.join(&one);
            }
            assert_eq!(joined.camera(), all.camera());
            // From twice as far the same direction, and the target in the middle of the picture all the same.
            let (near, far) = (all.camera_at(4.0).unwrap(), all.camera_at(8.0).unwrap());
            assert!((far.eye() - near.eye() - near.back() * 4.0).length() < 1e-9);
            let target = near.eye() - near.back() * 4.0;
            let [x, y] = far.projector(size(640, 360)).project(target).pixel().unwrap();
            assert!((x - 320.0).abs() < 1e-9 && (y - 180.0).abs() < 1e-9);
            assert!(all.camera_at(0.0).is_err() && all.camera_at(f64::NAN).is_err());
        }
    }

    #[test]
    fn framing_touches_the_margin_and_never_crosses_it() {
        let points = [DVec3::new(0.0, 0.0, 0.0), DVec3::new(0.3, 1.7, 0.2), DVec3::new(-0.8, 1.1, -0.4)];
        for scale in [0.02, 1.0, 200.0] {
            for lens in [FramingLens::default(), FramingLens::Orthographic] {
                for view in [View::Front, View::Side, View::ThreeQuarter, View::Top, View::Back] {
                    let size = size(500, 400);
                    let mut framing = Framing::new(view, lens, size);
                    points.iter().for_each(|p| framing.include(*p * scale));
                    let projector = framing.camera().projector(size);
                    let (mut slack, mut inside) = (f64::INFINITY, true);
                    for p in points {
                        let [x, y] = projector.project(p * scale).pixel().unwrap();
                        for (v, side) in [(x, 500.0), (y, 400.0)] {
                            let border = (v / side).min(1.0 - v / side);
                            slack = slack.min(border);
                            inside &= border > MARGIN - 1e-9;
                        }
                    }
                    assert!(inside, "{view:?} {lens:?}");
                    assert!((slack - MARGIN).abs() < 1e-9, "{view:?} {lens:?}: {slack}");
                }
            }
        }
    }

    #[test]
    fn nothing_and_a_single_point_can_be_framed() {
        let empty = Framing::new(View::Front, FramingLens::default(), size(64, 64));
        for point in [None, Some(DVec3::ZERO), Some(DVec3::new(1e7, -3.0, 2.0))] {
            for lens in [FramingLens::default(), FramingLens::Orthographic] {
                let mut framing = Framing::new(View::ThreeQuarter, lens, size(64, 64));
                framing.include(DVec3::NAN);
                if let Some(p) = point {
                    framing.include(p);
                }
                let seen = framing.camera().projector(size(64, 64)).project(point.unwrap_or(DVec3::ZERO));
                let [x, y] = seen.pixel().unwrap();
                // A cube's outline is not symmetric about the picture of its centre; a point is its own.
                let slack = if point.is_some() { 1.0 } else { 8.0 };
                assert!((x - 32.0).abs() < slack && (y - 32.0).abs() < slack, "{x} {y}");
            }
        }
        assert!(empty.camera().near() > 0.0);
    }

    #[test]
    fn views_look_where_they_say() {
        let toward = |view: View| view.axes()[2];
        assert!(toward(View::Side).x > 0.9 && toward(View::Front).z > 0.9 && toward(View::Top).y > 0.99);
        assert!((View::Top.axes()[1] + DVec3::Z).length() < 1e-12, "from above, the front is at the bottom");
    }

    #[test]
    fn cameras_that_cannot_be_are_refused() {
        let lens = Lens::Perspective { vertical_fov: 0.5 };
        assert_eq!(Camera::look_at(DVec3::ZERO, DVec3::ZERO, DVec3::Y, lens), Err(CameraError::NoDirection));
        assert_eq!(Camera::look_at(DVec3::Y, DVec3::ZERO, DVec3::Y, lens), Err(CameraError::NoUp));
        assert!(Camera::look_at(DVec3::NAN, DVec3::ZERO, DVec3::Y, lens).is_err());
        for fov in [0.0, -1.0, 4.0, f64::NAN] {
            let lens = Lens::Perspective { vertical_fov: fov };
            assert!(matches!(
                Camera::look_at(DVec3::Z, DVec3::ZERO, DVec3::Y, lens),
                Err(CameraError::FieldOfView { .. })
            ));
        }
    }
}
