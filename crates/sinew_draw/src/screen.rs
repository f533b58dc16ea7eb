//! From the picture to the world: strokes in pixels, through a camera, onto the skin or onto a plane (EX 7.2, 7.4).
//!
//! On the skin a line of sight is cast against the triangles of the pose, so a point lies where the pixel shows it,
//! with triangle and barycentrics; a picture's buffers say the same at pixel centres only. Where a stroke leaves the
//! skin, or passes over an edge behind which the skin lies farther away, it falls into pieces. Off the skin it is drawn
//! on a plane: one that faces the camera through what is to be moved, or one that is given.
//!
//! Oracle: what is unprojected projects to the pixel it came from; the skin under it is that of the picture's own pick
//! (tests/screen.rs).

use glam::DVec3;
use serde::{Deserialize, Serialize};
use sinew::strokes::surface::SurfaceTree;
use sinew::strokes::{Sample, SurfacePoint, simplify};
use sinew_render::{Camera, CameraError, Lens, Projector, Size};

/// How far a sample may lie from the line that leaves it out, in heights of the picture: EX takes 8 of 1080 lines.
pub const TOLERANCE: f64 = 8.0 / 1080.0;
/// Ways into the picture, per way across it, beyond which two places of the skin are not neighbours.
const STEEP: f64 = 12.0;

/// Why a stroke cannot be put into the world.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScreenError {
    /// There is no sample.
    #[error("the stroke has no points: draw at least one")]
    Empty,
    /// A number that is none.
    #[error("point {index} of the stroke is not a usable number: remove it or draw it again")]
    NotFinite {
        /// Index of the sample.
        index: usize,
    },
    /// No sample lies on the skin.
    #[error("the stroke does not touch the skin: begin it on the character")]
    OffTheSkin,
    /// A line of sight that does not meet the plane in front of the camera.
    #[error("point {index} of the stroke does not meet the plane it is drawn on: turn the plane towards the camera")]
    OffThePlane {
        /// Index of the sample.
        index: usize,
    },
    /// A plane without direction.
    #[error("the plane's normal has no direction, or its point is not a number; give both, such as 0,0,1")]
    NoPlane,
    /// The picture has no pixels.
    #[error("the picture is {width} × {height} pixels; give from 1 to {} on each side", sinew_render::MAX_SIDE)]
    NoPicture {
        /// As given.
        width: u32,
        /// As given.
        height: u32,
    },
    /// The camera.
    #[error(transparent)]
    Camera(#[from] CameraError),
}

/// A camera as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CameraSpec {
    /// Where it stands.
    pub eye: [f64; 3],
    /// What it looks at.
    pub target: [f64; 3],
    /// What is up in the picture.
    #[serde(default = "upwards")]
    pub up: [f64; 3],
    /// Angle between the lower and the upper border, in degrees; 28 unless there is a height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fov: Option<f64>,
    /// Height of the picture in scene units: a parallel projection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<f64>,
    /// Width and height of the picture in pixels.
    pub size: [u32; 2],
}

fn upwards() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

impl CameraSpec {
    /// What maps its pixels.
    pub fn projector(&self) -> Result<Projector, ScreenError> {
        let [width, height] = self.size;
        let size = Size::new(width, height).ok_or(ScreenError::NoPicture { width, height })?;
        let lens = match self.height {
            Some(height) => Lens::Orthographic { height },
            None => Lens::Perspective { vertical_fov: self.fov.unwrap_or(28.0).to_radians() },
        };
        let [eye, target, up] = [self.eye, self.target, self.up].map(DVec3::from);
        Ok(Camera::look_at(eye, target, up, lens)?.projector(size))
    }
}

/// Where a pointer was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreenSample {
    /// Column and row, in pixels; rows run downwards.
    pub pixel: [f64; 2],
    /// Time in seconds, on the device's clock.
    pub time_secs: f64,
    /// From 0 to 1; 1 where the device has none.
    pub pressure: f64,
}

/// What a pointer drew over a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenStroke {
    view: Projector,
    samples: Vec<ScreenSample>,
}

/// A sample on the skin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkinSample {
    /// Where on the surface.
    pub place: SurfacePoint,
    /// Where in the world, and when.
    pub sample: Sample,
    /// As drawn.
    pub pressure: f64,
}

/// A plane in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    point: DVec3,
    normal: DVec3,
}

impl Plane {
    /// Through a point, across a direction.
    pub fn new(point: DVec3, normal: DVec3) -> Result<Self, ScreenError> {
        let normal = normal.try_normalize().filter(|_| point.is_finite()).ok_or(ScreenError::NoPlane)?;
        Ok(Self { point, normal })
    }

    /// Through the middle of some places (the joints that are to be posed, or what was drawn on the skin), facing the
    /// camera.
    pub fn facing(view: &Projector, places: &[DVec3]) -> Result<Self, ScreenError> {
        let middle = places.iter().sum::<DVec3>() / places.len() as f64;
        Self::new(middle, view.camera().back())
    }

    /// Its unit normal.
    pub fn normal(&self) -> DVec3 {
        self.normal
    }

    /// Where the line of sight through a pixel meets it; `None` behind the camera, or nowhere.
    pub fn under(&self, view: &Projector, [x, y]: [f64; 2]) -> Option<DVec3> {
        let (origin, direction) = view.ray(x, y);
        let depth = self.normal.dot(self.point - origin) / self.normal.dot(direction);
        let is_seen = depth.is_finite() && (depth > 0.0 || !view.is_perspective());
        is_seen.then(|| origin + direction * depth).filter(|place| place.is_finite())
    }
}

/// The place of the skin that a pixel shows; `None` beside the character. `reach` is a depth beyond all of the surface.
pub fn skin_under(
    view: &Projector,
    skin: &SurfaceTree<'_>,
    [x, y]: [f64; 2],
    reach: f64,
) -> Option<(SurfacePoint, f64)> {
    let (origin, direction) = view.ray(x, y);
    let near = if view.is_perspective() { view.camera().near() } else { -reach };
    let (from, to) = (origin + direction * near, origin + direction * reach);
    let (along, place) = skin.crossing(from, to)?;
    Some((place, near + (reach - near) * along))
}

/// A depth that no point of a surface lies beyond.
pub fn depth_beyond(view: &Projector, points: &[DVec3]) -> f64 {
    let deepest = points.iter().map(|p| view.project(*p).depth.abs()).fold(0.0, f64::max);
    2.0 * deepest + view.camera().near()
}

impl ScreenStroke {
    /// What was drawn, as it was drawn.
    pub fn new(view: Projector, samples: Vec<ScreenSample>) -> Result<Self, ScreenError> {
        let sound = |s: &ScreenSample| s.pixel.iter().chain([&s.time_secs, &s.pressure]).all(|x| x.is_finite());
        match samples.iter().position(|sample| !sound(sample)) {
            Some(index) => Err(ScreenError::NotFinite { index }),
            None if samples.is_empty() => Err(ScreenError::Empty),
            None => Ok(Self { view, samples }),
        }
    }

    /// The camera it was drawn through.
    pub fn view(&self) -> &Projector {
        &self.view
    }

    /// Its samples.
    pub fn samples(&self) -> &[ScreenSample] {
        &self.samples
    }

    /// The samples that matter, by a tolerance in pixels.
    pub fn simplified(&self, tolerance: f64) -> Self {
        // The time tells which they are: places may be passed twice.
        let flat = |(index, s): (usize, &ScreenSample)| Sample {
            position: DVec3::new(s.pixel[0], s.pixel[1], 0.0),
            time_secs: index as f64,
        };
        let flat: Vec<Sample> = self.samples.iter().enumerate().map(flat).collect();
        let kept = simplify(&flat, tolerance);
        Self { view: self.view, samples: kept.iter().map(|s| self.samples[s.time_secs as usize]).collect() }
    }

    /// As places in the picture: columns and rows.
    pub fn flat(&self) -> Vec<Sample> {
        let flat =
            |s: &ScreenSample| Sample { position: DVec3::new(s.pixel[0], s.pixel[1], 0.0), time_secs: s.time_secs };
        self.samples.iter().map(flat).collect()
    }

    /// Drawn on the skin, in pieces that each lie on neighbouring places of it.
    pub fn on_skin(&self, skin: &SurfaceTree<'_>, reach: f64) -> Result<Vec<Vec<SkinSample>>, ScreenError> {
        let mut pieces: Vec<Vec<SkinSample>> = Vec::new();
        let mut last: Option<(f64, [f64; 2])> = None;
        for s in &self.samples {
            let Some((place, depth)) = skin_under(&self.view, skin, s.pixel, reach) else {
                last = None;
                continue;
            };
            let (origin, direction) = self.view.ray(s.pixel[0], s.pixel[1]);
            let sample = Sample { position: origin + direction * depth, time_secs: s.time_secs };
            let goes_on = last.is_some_and(|(before, [x, y])| {
                let across = (s.pixel[0] - x).hypot(s.pixel[1] - y).max(1.0) * self.view.pixel_size(depth.min(before));
                (depth - before).abs() <= STEEP * across
            });
            if !goes_on {
                pieces.push(Vec::new());
            }
            last = Some((depth, s.pixel));
            if let Some(piece) = pieces.last_mut() {
                piece.push(SkinSample { place, sample, pressure: s.pressure });
            }
        }
        if pieces.is_empty() { Err(ScreenError::OffTheSkin) } else { Ok(pieces) }
    }

    /// Drawn on a plane.
    pub fn on_plane(&self, plane: &Plane) -> Result<Vec<Sample>, ScreenError> {
        let place = |(index, s): (usize, &ScreenSample)| {
            let position = plane.under(&self.view, s.pixel).ok_or(ScreenError::OffThePlane { index })?;
            Ok(Sample { position, time_secs: s.time_secs })
        };
        self.samples.iter().enumerate().map(place).collect()
    }
}
