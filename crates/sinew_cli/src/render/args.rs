//! The command line of `sinew render` as plain values.

use crate::args::{Input, LoopName, RecipeArgs, StrengthArgs, base_named, seconds};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sinew::base::BaseEntry;
use sinew_render::encode::FrameRate;
use sinew_render::{MAX_SIDE, Size, View};
use std::path::PathBuf;

/// More frames than this are no film but a mistake.
pub const MOST_FRAMES: i64 = 100_000;
/// More paths than this hide the character.
const MOST_PATHS: i64 = 1_000;

#[derive(Debug, Args)]
pub struct RenderArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME, zoo:tube:bones=12.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    pub input: Input,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub strength: StrengthArgs,

    /// The clip, by name or, if no clip has that name, by number from 0 [default: the first].
    #[arg(long, value_name = "NAME|N")]
    pub clip: Option<String>,

    /// What to draw. By default the file extension decides: a still or contact sheet for .png, a film for .apng, .gif
    /// and .mp4.
    #[arg(long = "as", value_name = "KIND")]
    pub kind: Option<Kind>,

    /// Draw a still of this moment: seconds on the clip's own clock, clamped to the clip or wrapped if it loops.
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub time: Option<f64>,

    /// Columns of a contact sheet, spread over the clip [default: 6]; for a film, only the first N frames [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_FRAMES))]
    pub frames: Option<u32>,

    /// Frames per second of a film; for a loop, the nearest rate at which it repeats seamlessly.
    #[arg(long, value_name = "F", default_value = "30", value_parser = rate)]
    pub fps: FrameRate,

    /// Picture size in pixels: 512, or 640x360 [default: 512; 256 in contact sheets].
    #[arg(long, value_name = "N|WxH", value_parser = size)]
    pub size: Option<Size>,

    /// Viewpoint: a name, or YAW,PITCH in degrees (0,0 is the front, 90,0 the character's left side), optionally with the
    /// distance in character sizes. The camera stays still and frames the whole clip.
    #[arg(long, value_name = "VIEW", default_value = "three-quarter", value_parser = viewpoint, allow_hyphen_values = true,
        long_help = VIEW_HELP)]
    pub view: Viewpoint,

    /// Show the base beside the result in stills and films; contact sheets always do.
    #[arg(long)]
    pub compare: bool,

    /// Overlay the base on the result as a blue ghost.
    #[arg(long)]
    pub ghost: bool,

    /// Colour the skin by how far effects move it, or by a painted map.
    #[arg(long, value_name = "MAP", num_args = 0..=1, default_missing_value = DISPLACEMENT)]
    pub heat: Option<String>,

    /// Colour by what each part is (spine, arm, ear, cape, sword), with a key; `sinew inspect --anatomy` says why.
    #[arg(long, conflicts_with = "heat")]
    pub anatomy: bool,

    /// Draw the paths of N vertices over the last half second: red with effects, blue without.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "12",
        value_parser = clap::value_parser!(u32).range(1..=MOST_PATHS))]
    pub trajectories: Option<u32>,

    /// Draw the bones.
    #[arg(long)]
    pub skeleton: bool,

    /// Draw the muscles of the recipe as rings, where their bones have them.
    #[arg(long)]
    pub muscles: bool,

    /// Draw the edges of triangles.
    #[arg(long)]
    pub wire: bool,

    /// Transparent background.
    #[arg(long)]
    pub transparent: bool,

    /// Base skinning to use instead of the recipe's [default without a recipe: lbs].
    #[arg(long, value_name = "B", value_parser = base_named())]
    pub base: Option<&'static BaseEntry>,

    /// Whether the clip loops; auto decides from its keys.
    #[arg(long = "loop", value_name = "yes|no|auto")]
    pub looping: Option<LoopName>,

    /// Output file, or - for a PNG on stdout; the file extension selects the format.
    #[arg(long, short, value_name = "OUT.{png,apng,gif,mp4}", required_unless_present = "buffers")]
    pub output: Option<PathBuf>,

    /// Write per-pixel buffers into this folder, frame by frame: colour (PNG), depth, normal, position, primitive and
    /// barycentrics (NumPy .npy).
    #[arg(long, value_name = "DIR")]
    pub buffers: Option<PathBuf>,

    /// Make frames on the GPU; the picture itself is drawn as always.
    #[arg(long)]
    pub gpu: bool,

    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// The heat map that no mesh carries.
pub const DISPLACEMENT: &str = "displacement";

const VIEW_HELP: &str = "\
Viewpoint: front, back, side, three-quarter or top; or YAW,PITCH in degrees (0,0 is the front, 90,0 the \
character's left side) and, optionally, the distance in character sizes: 30,10,2. The camera stays still and \
frames the whole clip";

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// One moment.
    Still,
    /// Moments of the clip in columns, base over result.
    Sheet,
    /// The clip, in its own time.
    Film,
}

/// Where the camera stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewpoint {
    /// Direction.
    pub view: View,
    /// In sizes of the character; without it as near as the clip allows.
    pub distance: Option<f64>,
}

fn rate(given: &str) -> Result<FrameRate, String> {
    let rate = given.parse().ok().and_then(FrameRate::new);
    rate.ok_or_else(|| "give frames per second from 0.1 to 240, such as 30".to_owned())
}

fn size(given: &str) -> Result<Size, String> {
    let (width, height) = given.split_once(['x', '×']).unwrap_or((given, given));
    let sides = width.parse().ok().zip(height.parse().ok());
    let size = sides.and_then(|(width, height)| Size::new(width, height));
    size.ok_or_else(|| format!("give pixels from 1 to {MAX_SIDE}, such as 512 or 640x360"))
}

fn viewpoint(given: &str) -> Result<Viewpoint, String> {
    let named = match given {
        "front" => Some(View::Front),
        "back" => Some(View::Back),
        "side" => Some(View::Side),
        "three-quarter" => Some(View::ThreeQuarter),
        "top" => Some(View::Top),
        _ => None,
    };
    if let Some(view) = named {
        return Ok(Viewpoint { view, distance: None });
    }
    let numbers: Option<Vec<f64>> =
        given.split(',').map(|n| n.trim().parse().ok().filter(|n: &f64| n.is_finite())).collect();
    let angles = |yaw: f64, pitch: f64| View::Angles { azimuth: yaw.to_radians(), elevation: pitch.to_radians() };
    match numbers.as_deref() {
        Some(&[yaw, pitch]) => Ok(Viewpoint { view: angles(yaw, pitch), distance: None }),
        Some(&[yaw, pitch, distance]) if distance > 0.0 => {
            Ok(Viewpoint { view: angles(yaw, pitch), distance: Some(distance) })
        }
        _ => Err("give front, back, side, three-quarter, top, or YAW,PITCH[,DISTANCE] such as 30,10 or 30,10,2".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_names_or_degrees() {
        assert_eq!(viewpoint("side"), Ok(Viewpoint { view: View::Side, distance: None }));
        let Ok(Viewpoint { view, distance }) = viewpoint("-90, 30,2.5") else { panic!("three numbers") };
        assert_eq!(distance, Some(2.5));
        let (azimuth, elevation) = view.angles();
        assert!((azimuth + 90_f64.to_radians()).abs() < 1e-12 && (elevation - 30_f64.to_radians()).abs() < 1e-12);
        for bad in ["", "left", "30", "30,NaN", "30,10,0", "30,10,-1", "1,2,3,4"] {
            assert!(viewpoint(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_one_side_or_two() {
        assert_eq!(size("512"), Ok(Size::new(512, 512).unwrap()));
        assert_eq!(size("640x360"), Ok(Size::new(640, 360).unwrap()));
        for bad in ["", "0", "x", "12x", "-5", "99999", "12.5"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
