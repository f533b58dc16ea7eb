//! Strokes as they are asked for: places in the world, or pixels of a camera.

use crate::screen::{CameraSpec, Plane, ScreenSample, ScreenStroke};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use sinew::Rig;
use sinew::strokes::{Sample, Stroke, simplify};
use sinew_render::Projector;

/// A plane that is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlaneSpec {
    /// A place on it.
    pub point: [f64; 3],
    /// Across it.
    pub normal: [f64; 3],
}

/// Through what strokes are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    /// The camera's.
    pub view: Projector,
    plane: Option<Plane>,
}

impl Canvas {
    /// `None` where points are places in the world.
    pub fn of(camera: Option<&CameraSpec>, plane: Option<&PlaneSpec>) -> Result<Option<Self>, String> {
        let Some(camera) = camera else {
            return match plane {
                None => Ok(None),
                Some(_) => Err("a plane is drawn on through a camera; give the camera too".to_owned()),
            };
        };
        let view = camera.projector().map_err(|fault| fault.to_string())?;
        let plane = plane.map(|plane| Plane::new(plane.point.into(), plane.normal.into())).transpose();
        Ok(Some(Self { view, plane: plane.map_err(|fault| fault.to_string())? }))
    }

    /// Pixels, simplified by a tolerance in pixels.
    pub fn stroke(&self, points: &[Vec<f64>], what: &str, tolerance: f64) -> Result<ScreenStroke, String> {
        let sample = |(index, point): (usize, &Vec<f64>)| match point[..] {
            [x, y] => Ok(ScreenSample { pixel: [x, y], time_secs: index as f64, pressure: 1.0 }),
            [x, y, time_secs] => Ok(ScreenSample { pixel: [x, y], time_secs, pressure: 1.0 }),
            [x, y, time_secs, pressure] => Ok(ScreenSample { pixel: [x, y], time_secs, pressure }),
            _ => Err(format!(
                "the {what}: point {index} has {} numbers; give column, row and, optionally, seconds and pressure",
                point.len()
            )),
        };
        let samples = points.iter().enumerate().map(sample).collect::<Result<Vec<_>, String>>()?;
        let stroke = ScreenStroke::new(self.view, samples).map_err(|fault| format!("the {what}: {fault}"))?;
        Ok(stroke.simplified(tolerance))
    }

    /// The plane given, or the one through some places that faces the camera.
    pub fn plane(&self, places: &[DVec3]) -> Result<Plane, String> {
        self.plane.map_or_else(|| Plane::facing(&self.view, places).map_err(|fault| fault.to_string()), Ok)
    }
}

/// A stroke of a file in the world, simplified.
pub fn stroke(points: &[Vec<f64>], what: &str, tolerance: f64) -> Result<Stroke, String> {
    let sample = |(index, point): (usize, &Vec<f64>)| match point[..] {
        [x, y, z] => Ok(Sample { position: DVec3::new(x, y, z), time_secs: index as f64 }),
        [x, y, z, time_secs] => Ok(Sample { position: DVec3::new(x, y, z), time_secs }),
        _ => {
            Err(format!("the {what}: point {index} has {} numbers; give x, y, z and, optionally, seconds", point.len()))
        }
    };
    let samples = points.iter().enumerate().map(sample).collect::<Result<Vec<_>, String>>()?;
    smooth(&simplify(&samples, tolerance), what)
}

/// The curve through samples.
pub fn smooth(samples: &[Sample], what: &str) -> Result<Stroke, String> {
    Stroke::new(samples).map_err(|fault| format!("the {what}: {fault}"))
}

/// A length of a file, or so many sizes.
pub fn length(given: Option<f64>, default: f64, what: &str) -> Result<f64, String> {
    match given {
        None => Ok(default),
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Some(value) => Err(format!("the {what} is {value}; give a length of 0 or more")),
    }
}

/// A character of a file, by number or by name.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum CharacterName {
    /// Among all of the file.
    Number(usize),
    /// As its node is called.
    Name(String),
}

impl CharacterName {
    /// Its number; in words where there is none.
    pub fn find(&self, rig: &Rig) -> Result<usize, String> {
        let characters = rig.characters();
        let found = match self {
            Self::Number(number) => Some(*number).filter(|&number| number < characters.len()),
            Self::Name(name) => characters.iter().position(|character| character.name == *name),
        };
        found.ok_or_else(|| {
            let names = characters.iter().enumerate().map(|(index, c)| format!("{index} \"{}\"", c.name));
            format!("there is no such character; the file has {}", names.collect::<Vec<_>>().join(", "))
        })
    }
}
