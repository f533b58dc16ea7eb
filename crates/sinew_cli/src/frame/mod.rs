//! `sinew frame FILE`: frames in world space.

mod json;
mod motion_file;
mod ply;
mod snapshot;

use crate::args::{Format, FrameArgs, Moments};
use crate::fault::Fault;
use crate::load::{load, require_skin};
use crate::obj;
use crate::output::Destination;
use crate::played::find_clip;
use crate::recipe::{LoadedRecipe, Played};
use crate::talk::Talk;
use motion_file::MotionFile;
use snapshot::{Player, Snapshot};
use std::ffi::OsString;

pub fn run(options: &FrameArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    let format = format(options, &destination)?;
    let asked = if options.time.is_empty() { &[Moments::At(0.0)] } else { &options.time[..] };
    let times: Vec<f64> = asked.iter().flat_map(|moments| moments.seconds()).collect();
    let single = matches!(asked, [Moments::At(_)]);
    let destinations = match format {
        Format::Obj | Format::Ply if !single => numbered(options, &destination, times.len())?,
        _ => vec![destination],
    };
    destinations.iter().try_for_each(Destination::check)?;
    let hand_set = options.motion.as_deref().map(MotionFile::read).transpose()?;
    let mut recipe = LoadedRecipe::asked(&options.recipe)?.with_strength(&options.strength)?;
    let scene = load(&options.input, &recipe.maps, &options.recipe.animations)?;
    talk.warnings(&scene.warnings);
    // JSON holds the bones too.
    if matches!(format, Format::Obj | Format::Ply) {
        require_skin(&scene)?;
    }
    recipe.idle_words(&scene).iter().for_each(|words| talk.note(words));
    if options.clip.is_none() && (!options.time.is_empty() || options.looping.is_some()) {
        talk.note("--time and --loop have no effect without --clip: the nodes' default transforms are used");
    }
    let clips = options.clip.as_deref().map(|clip| find_clip(&scene, clip)).transpose()?;
    let played = Played { clips: clips.as_slice(), base: options.base, looping: options.looping };
    recipe.solve(&scene, &played, talk)?;
    let mut player = Player::new(&scene, &recipe, hand_set.as_ref(), options)?;
    player.muscle_findings().iter().for_each(|words| talk.note(words));
    let mut take = |time: f64| -> Result<Snapshot<'_>, Fault> {
        let snapshot = player.at(time)?;
        let moment = if single { String::new() } else { format!("at {time} s: ") };
        snapshot.findings().iter().for_each(|words| talk.note(&format!("{moment}{words}")));
        Ok(snapshot)
    };
    if format == Format::Json && !single {
        // Frame by frame: a clip may be longer than memory holds.
        for destination in &destinations {
            destination.write(|out| json::write_all(times.iter().map(|&time| take(time)), out))?;
        }
    } else {
        for (&time, destination) in times.iter().zip(&destinations) {
            let snapshot = take(time)?;
            destination.write(|out| match format {
                Format::Json => json::write(&snapshot, out),
                Format::Obj => obj::write(&scene.rig, &snapshot.deformed, out),
                Format::Ply => ply::write(&snapshot, out),
            })?;
        }
    }
    match &destinations[..] {
        [Destination::Stdout] | [] => {}
        [only] => talk.note(&format!("wrote {only}")),
        [first, .., last] => talk.note(&format!("wrote {} files, {first} to {last}", destinations.len())),
    }
    Ok(())
}

/// Files of a sequence, named as animation programs expect them: `walk.obj` → `walk.0000.obj`.
fn numbered(options: &FrameArgs, destination: &Destination, count: usize) -> Result<Vec<Destination>, Fault> {
    if *destination == Destination::Stdout {
        let remedy = "give a file name, or --format json";
        return Err(Fault::Usage(format!("this format writes one file per frame; {remedy}")));
    }
    let path = &options.output;
    let width = count.saturating_sub(1).to_string().len().max(4);
    let name = |index: usize| {
        let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
        name.push(format!(".{index:0width$}"));
        if let Some(ending) = path.extension() {
            name.push(".");
            name.push(ending);
        }
        Destination::new(&path.with_file_name(name), options.force)
    };
    Ok((0..count).map(name).collect())
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
            "{}: unknown file extension; use .obj, .ply or .json, or give --format",
            options.output.display()
        ))),
    }
}
