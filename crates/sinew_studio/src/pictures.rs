//! Stills and films of the document: a camera that stays where it is and sees the whole clip, as `sinew render` has it.
//!
//! Oracle: the bytes are those that the command line of [`Reel::command`] writes (tests/document.rs).

use crate::document::Document;
use crate::jobs::{Done, Job, Task};
use crate::keep::quoted;
use crate::player::{Frame, Player, Span};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use sinew_render::encode::{ApngWriter, EncodeError, FrameRate, GifWriter, write_png};
use sinew_render::{
    Antialias, Camera, Framing, FramingLens, Ghost, Ground, Image, Look, Scene, Size, SkeletonStyle, View, Wire,
    skeleton,
};
use std::path::Path;

/// What is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// One moment, as PNG.
    #[default]
    Still,
    /// The clip, as GIF.
    Gif,
    /// The clip, as animated PNG.
    Apng,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Still, Self::Gif, Self::Apng];

    /// Extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Still => "png",
            Self::Gif => "gif",
            Self::Apng => "apng",
        }
    }
}

/// A picture or a film to be made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reel {
    /// Which.
    pub kind: Kind,
    /// Of the clip with this number.
    pub clip: usize,
    /// A still's moment.
    pub time: f64,
    /// Where the camera stands: about the vertical axis, and above the horizon, in degrees.
    pub view: [f64; 2],
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Frames per second of a film.
    pub fps: f64,
    /// The original as a veil.
    pub ghost: bool,
    /// Bones.
    pub skeleton: bool,
    /// Edges.
    pub wire: bool,
}

/// Moments per second at which a clip is looked over for the camera's sake, and how many at most.
const RATE: f64 = 60.0;
const MOST: f64 = 600.0;
/// Frames whose colours stand for all of a GIF's.
const GIF_SAMPLES: usize = 12;
/// A film with more frames is a mistake.
const MOST_FRAMES: usize = 100_000;

impl Reel {
    /// The command that makes the same of a saved recipe.
    pub fn command(&self, document: &Document, recipe: &Path, output: &Path) -> String {
        let mut line = format!("sinew render {}", document.subject(recipe));
        if let Some(name) = document.clip_names().get(self.clip) {
            line.push_str(&format!(" --clip {}", quoted(name)));
        }
        let [yaw, pitch] = self.view;
        let [width, height] = self.size;
        line.push_str(&format!(" --view {yaw},{pitch} --size {width}x{height}"));
        match self.kind {
            Kind::Still => line.push_str(&format!(" --time {}", self.time)),
            Kind::Gif | Kind::Apng => line.push_str(&format!(" --fps {}", self.fps)),
        }
        for (is_wanted, option) in [(self.ghost, "ghost"), (self.skeleton, "skeleton"), (self.wire, "wire")] {
            if is_wanted {
                line.push_str(&format!(" --{option}"));
            }
        }
        format!("{line} -o {}", quoted(&output.display().to_string()))
    }
}

/// Times of a film, and the rate at which it plays.
fn film(span: Span, rate: FrameRate) -> (Vec<f64>, FrameRate) {
    let fps = rate.frames_per_second();
    let closes = span.loops && span.length > 0.0;
    // The last key counts where rounding puts it a hair beyond the last step.
    let count = if closes { (span.length * fps).round().max(1.0) } else { (span.length * fps + 1e-6).floor() + 1.0 };
    // A loop of one frame may have no rate of its own.
    let rate = FrameRate::new(count / span.length).filter(|_| closes).unwrap_or(rate);
    let time = |index: usize| match closes {
        true => span.start + span.length * index as f64 / count,
        false => span.start + index as f64 / fps,
    };
    ((0..(count as usize).min(MOST_FRAMES + 1)).map(time).collect(), rate)
}

/// Moments at which a clip is looked over.
fn grid(span: Span) -> Vec<f64> {
    let count = (span.length * RATE).ceil().clamp(1.0, MOST) as usize + usize::from(!span.loops);
    let steps = if span.loops { count } else { count.saturating_sub(1) };
    if steps == 0 || span.length <= 0.0 {
        return vec![span.start];
    }
    (0..count).map(|index| span.start + span.length * index as f64 / steps as f64).collect()
}

impl Task {
    /// A picture or film of the document as it is.
    pub fn reel(document: &Document, reel: Reel) -> Self {
        Self::new(document, Job::Reel(reel))
    }

    pub(crate) fn draw_reel(&self, reel: Reel, progress: &(dyn Fn(&str, usize, usize) + Sync)) -> Result<Done, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let [width, height] = reel.size;
        let size = Size::new(width, height).ok_or("a picture of this size cannot be drawn")?;
        let rate = FrameRate::new(reel.fps).ok_or("give frames per second from 0.1 to 240")?;
        let document = self.document().map_err(|error| text(&error))?;
        let mut player = Player::new(&document, reel.clip).map_err(|error| text(&error))?;
        if document.recipe().recipe().is_unsolved() {
            match Self::new(&document, Job::Solve).run(&|_, _, _| ()) {
                Done::Solved(gains) => player.take_gains(document.recipe().recipe(), gains),
                Done::Failed(why) => return Err(why),
                _ => {}
            }
            player.follow(&document).map_err(|error| text(&error))?;
        }
        let span = player.span();
        let (times, rate) = match reel.kind {
            Kind::Still => (vec![reel.time], rate),
            Kind::Gif | Kind::Apng => film(span, rate),
        };
        if times.len() > MOST_FRAMES {
            return Err(format!("the film would have more than {MOST_FRAMES} frames; take fewer a second"));
        }
        let mut easel = Easel::new(&document, player, reel, size, &times);
        let mut bytes = Vec::new();
        let failed = |error: EncodeError| error.to_string();
        let frames = times.len();
        let mut drawn = |index: usize| {
            progress("drawing", index, frames);
            easel.draw(times[index])
        };
        match reel.kind {
            Kind::Still => write_png(&mut bytes, &drawn(0)).map_err(failed)?,
            Kind::Apng => {
                let count = u32::try_from(frames).map_err(|error| text(&error))?;
                let mut writer = ApngWriter::new(&mut bytes, size, rate, count).map_err(failed)?;
                (0..frames).try_for_each(|index| writer.frame(&drawn(index)).map_err(failed))?;
                writer.finish().map_err(failed)?;
            }
            Kind::Gif => {
                let step = frames.div_ceil(GIF_SAMPLES).max(1);
                let samples: Vec<Image> = (0..frames).step_by(step).map(&mut drawn).collect();
                let mut writer = GifWriter::new(&mut bytes, &samples, rate).map_err(failed)?;
                drop(samples);
                (0..frames).try_for_each(|index| writer.frame(&drawn(index)).map_err(failed))?;
                writer.finish().map_err(failed)?;
            }
        }
        Ok(Done::Pictured(bytes))
    }
}

/// Draws moments of a document, all from one camera.
struct Easel<'a> {
    document: &'a Document,
    player: Player,
    reel: Reel,
    size: Size,
    camera: Camera,
    look: Look,
}

impl<'a> Easel<'a> {
    fn new(document: &'a Document, mut player: Player, reel: Reel, size: Size, drawn: &[f64]) -> Self {
        let [azimuth, elevation] = reel.view.map(f64::to_radians);
        let mut framing = Framing::new(View::Angles { azimuth, elevation }, FramingLens::default(), size);
        let mut ground = f64::INFINITY;
        let looked_at = grid(player.span());
        for &time in looked_at.iter().chain(drawn) {
            let frame = moment(&mut player, time);
            for part in document.rig().parts() {
                for vertex in part.primitives.iter().flat_map(|primitive| primitive.vertices.clone()) {
                    let base = frame.base.world_position(part.character, vertex);
                    framing.include(base);
                    framing.include(frame.result.world_position(part.character, vertex));
                    if base.y.is_finite() {
                        ground = ground.min(base.y);
                    }
                }
            }
        }
        let ground = if ground.is_finite() { Ground::At(ground) } else { Ground::None };
        Self { document, player, reel, size, camera: framing.camera(), look: Look { ground, ..Look::default() } }
    }

    fn draw(&mut self, time: f64) -> Image {
        let character = self.document.character();
        let frame = moment(&mut self.player, time);
        let mut scene =
            Scene { meshes: character.placed(frame.result).map(|(_, mesh)| mesh).collect(), ..Scene::default() };
        if self.reel.wire {
            scene.meshes.iter_mut().for_each(|mesh| mesh.wire = Some(Wire::default()));
        }
        if self.reel.ghost && self.document.recipe().recipe().adds() {
            scene.ghosts = character.placed(frame.base).map(|(_, mesh)| Ghost::new(mesh)).collect();
        }
        if self.reel.skeleton {
            let thickness = self.size.width().min(self.size.height()) as f32;
            let style = SkeletonStyle { width: 0.01 * thickness, ..SkeletonStyle::default() };
            let bones = &character.bones;
            let origins: Vec<DVec3> = bones.joints.iter().map(|&bone| frame.world.joint_origin(bone)).collect();
            (scene.lines, scene.dots) = skeleton(&origins, &bones.parents, &style);
        }
        sinew_render::draw(&scene, &self.camera, self.size, Antialias::Four, &self.look)
    }
}

/// A moment, within the clip or wrapped into it.
fn moment(player: &mut Player, time: f64) -> Frame<'_> {
    let time = player.motion().map_or(time, |motion| motion.sample_time(time));
    player.frame(time)
}
