//! `sinew frame FILE`: one frame in world space.

mod json;
mod motion_file;
mod ply;
mod snapshot;

use crate::args::{Format, FrameArgs};
use crate::fault::Fault;
use crate::load::load;
use crate::obj;
use crate::output::Destination;
use crate::recipe::LoadedRecipe;
use crate::talk::Talk;
use motion_file::MotionFile;
use snapshot::Snapshot;

pub fn run(options: &FrameArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    let format = format(options, &destination)?;
    destination.check()?;
    let hand_set = options.motion.as_deref().map(MotionFile::read).transpose()?;
    let recipe = LoadedRecipe::asked(&options.recipe)?;
    let scene = load(&options.input, &recipe.maps)?;
    talk.warnings(&scene.warnings);
    recipe.idle_sections(&scene.clips).iter().for_each(|words| talk.note(words));
    if options.clip.is_none() && (options.time.is_some() || options.looping.is_some()) {
        talk.note("--time and --loop mean nothing without --clip: the nodes' default transforms are used");
    }
    let snapshot = Snapshot::take(&scene, &recipe, hand_set.as_ref(), options)?;
    snapshot.findings().iter().for_each(|words| talk.note(words));
    destination.write(|out| match format {
        Format::Json => json::write(&snapshot, out),
        Format::Obj => obj::write(&scene.rig, &snapshot.deformed, out),
        Format::Ply => ply::write(&snapshot, out),
    })?;
    if destination != Destination::Stdout {
        talk.note(&format!("wrote {}", options.output.display()));
    }
    Ok(())
}

fn format(options: &FrameArgs, destination: &Destination) -> Result<Format, Fault> {
    if let Some(format) = options.format {
        return Ok(format);
    }
    if *destination == Destination::Stdout {
        return Ok(Format::Json);
    }
    let ending = options.output.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("obj") => Ok(Format::Obj),
        Some("ply") => Ok(Format::Ply),
        Some("json") => Ok(Format::Json),
        _ => Err(Fault::Usage(format!(
            "{}: the ending tells no format; end it in .obj, .ply or .json, or give --format",
            options.output.display()
        ))),
    }
}
