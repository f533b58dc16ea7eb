//! Small pictures of a character with a style or a recipe: the moment of a clip at which that moves it most, with the
//! original as a veil. A picture depends on the character and the clip alone, not on what is being worked on.
//!
//! Oracle: the moment is the largest of all that were looked at, by a count of its own (tests below).

use crate::character::Character;
use crate::document::Document;
use crate::jobs::{Done, Job, Task};
use crate::player::{Gains, Player};
use glam::DVec3;
use sinew_liven::Style;
use sinew_render::{Antialias, Framing, FramingLens, Ghost, Ground, Look, Scene, Size, View};
use std::sync::Arc;

/// What is shown on the character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A style, made for the clip.
    Style(Style),
    /// A recipe that is ready to use.
    Preset(&'static str),
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portrait {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Four bytes a pixel: red, green, blue, opacity.
    pub pixels: Vec<u8>,
}

/// Width and height of a picture in pixels: twice what is shown, for dense screens.
pub const SIDES: [u32; 2] = [232, 164];
/// Moments that are looked at.
const LOOKED_AT: u32 = 24;

impl Task {
    /// A picture of a character that nothing was done to.
    pub fn portrait(character: &Arc<Character>, subject: Subject, clip: usize) -> Self {
        Self { job: Job::Portrait(subject, clip), ..Self::new(&Document::new(Arc::clone(character)), Job::Solve) }
    }

    pub(crate) fn draw_portrait(&self, subject: Subject, clip: usize) -> Result<Done, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let asset = &self.character.asset;
        if clip >= asset.clips.len() {
            return Err(format!("{}: there is no such clip, and effects add to motion", asset.name));
        }
        let mut document = Document::new(Arc::clone(&self.character));
        let gains = match subject {
            Subject::Style(style) => {
                let (recipe, gains) = self.styled(style, clip)?;
                document.replace(style.name(), &recipe).map_err(|error| text(&error))?;
                gains
            }
            Subject::Preset(name) => {
                document.choose_preset(name).map_err(|error| text(&error))?;
                match Self::new(&document, Job::Solve).run(&|_, _, _| ()) {
                    Done::Solved(gains) => gains,
                    Done::Failed(why) => return Err(why),
                    _ => Gains::default(),
                }
            }
        };
        let mut player = Player::new(&document, clip).map_err(|error| text(&error))?;
        player.take_gains(document.recipe().recipe(), gains);
        player.follow(&document).map_err(|error| text(&error))?;
        let time = liveliest(&mut player);
        let frame = player.frame(time);
        let [width, height] = SIDES;
        let size = Size::new(width, height).ok_or("a picture without pixels")?;
        let mut framing = Framing::new(View::ThreeQuarter, FramingLens::default(), size);
        let mut lowest = f64::INFINITY;
        for piece in &self.character.pieces {
            for mesh in [frame.result, frame.base] {
                for place in &mesh.positions[piece.vertices.clone()] {
                    let place: DVec3 = place.as_dvec3() + mesh.origins[piece.character];
                    framing.include(place);
                    lowest = lowest.min(place.y);
                }
            }
        }
        let meshes = |mesh| self.character.placed(mesh).map(|(_, mesh)| mesh);
        let ghosts = meshes(frame.base).map(Ghost::new).collect();
        let scene = Scene { meshes: meshes(frame.result).collect(), ghosts, ..Scene::default() };
        let ground = if lowest.is_finite() { Ground::At(lowest) } else { Ground::None };
        let look = Look { ground, ..Look::default() };
        let image = sinew_render::draw(&scene, &framing.camera(), size, Antialias::Four, &look);
        let (width, height) = (width as usize, height as usize);
        Ok(Done::Portrait(Portrait { width, height, pixels: image.bytes().to_vec() }))
    }
}

/// When effects move the skin most, in the mean over all vertices; of equals the first.
pub fn liveliest(player: &mut Player) -> f64 {
    let span = player.span();
    let mut moved = Vec::new();
    let mut most = (f64::NEG_INFINITY, span.start);
    for step in 0..LOOKED_AT {
        let time = span.start + span.length * f64::from(step) / f64::from(LOOKED_AT);
        let rig = Arc::clone(player.stage().rig());
        player.frame(time).displacement(&rig, &mut moved);
        let sum: f64 = moved.iter().map(|share| f64::from(*share)).sum();
        if sum > most.0 {
            most = (sum, time);
        }
    }
    most.1
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn drawn(character: &Arc<Character>, subject: Subject) -> Result<Portrait, String> {
        match Task::portrait(character, subject, 0).run(&|_, _, _| ()) {
            Done::Portrait(portrait) => Ok(portrait),
            other => Err(format!("{other:?}")),
        }
    }

    /// The liveliest moment is found by summing distances from the two meshes themselves.
    #[test]
    fn the_liveliest_moment_is_shown() -> Outcome {
        let mut document = Document::new(Character::built_in("calf")?);
        document.choose_preset("jelly")?;
        let mut player = Player::new(&document, 0)?;
        let time = liveliest(&mut player);
        let mut moved = |time: f64| {
            let frame = player.frame(time);
            let pairs = frame.result.positions.iter().zip(&frame.base.positions);
            pairs.map(|(a, b)| f64::from(a.distance(*b))).sum::<f64>()
        };
        let shown = moved(time);
        assert!(shown > 0.0);
        let span = Player::new(&document, 0)?.span();
        for step in 0..LOOKED_AT {
            let other = moved(span.start + span.length * f64::from(step) / f64::from(LOOKED_AT));
            assert!(other <= shown * (1.0 + 1e-5), "{other} at step {step}, {shown} shown");
        }
        Ok(())
    }

    /// Recipes look different from one another and alike every time; a character without clips is refused in words.
    #[test]
    fn portraits_tell_recipes_apart() -> Outcome {
        let calf = Character::built_in("calf")?;
        let [jelly, heavy] = ["jelly", "heavy"].map(|name| drawn(&calf, Subject::Preset(name)));
        let (jelly, heavy) = (jelly?, heavy?);
        assert_eq!(jelly.pixels.len(), 4 * jelly.width * jelly.height);
        assert!(jelly != heavy && jelly == drawn(&calf, Subject::Preset("jelly"))?);
        let style = drawn(&calf, Subject::Style(Style::Cartoon))?;
        assert!(style != jelly);
        assert!(drawn(&calf, Subject::Preset("none of these")).is_err());
        Ok(())
    }
}
