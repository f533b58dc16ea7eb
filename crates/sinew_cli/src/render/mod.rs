//! `sinew render FILE`: stills, contact sheets and films of a character, with and without effects.

mod args;
mod artist;
mod buffers;
mod film;
mod moments;
mod scenery;
mod survey;

pub use args::{RenderArgs, Viewpoint};
pub use artist::Shot;
pub use film::FilmFormat;
pub use scenery::Play;

use crate::fault::Fault;
use crate::gpu::Frames;
use crate::load::{Scene, load};
use crate::output::{Destination, Stopped};
use crate::played::find_clip;
use crate::progress::Progress;
use crate::recipe::{LoadedRecipe, Played};
use crate::talk::Talk;
use args::{Kind, MOST_FRAMES};
use artist::{Artist, Side};
use buffers::{BufferFolder, Seen};
use film::in_order;
use moments::Film;
use scenery::Scenery;
use sinew_gltf::Document;
use sinew_render::encode::{FrameRate, write_png};
use sinew_render::{Image, MAX_SIDE, Sheet, Size};
use sinew_show::Wardrobe;
use std::path::Path;

/// Sides of pictures that were not asked for.
const STILL_SIDE: u32 = 512;
const CELL_SIDE: u32 = 256;
const COLUMNS: u32 = 6;

/// How the result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    Png,
    Film(FilmFormat),
}

pub fn run(options: &RenderArgs, talk: &Talk) -> Result<(), Fault> {
    let storage = options.output.as_deref().map_or(Ok(Storage::Png), |path| storage(path, options.kind))?;
    let destination = options.output.as_deref().map(|path| Destination::new(path, options.force));
    destination.as_ref().map_or(Ok(()), Destination::check)?;
    let mut recipe = LoadedRecipe::asked(&options.recipe)?.with_strength(&options.strength)?;
    let mut scene = load(&options.input, &recipe.maps, &options.recipe.animations)?;
    let document = scene.document.take();
    talk.warnings(&scene.warnings);
    recipe.idle_words(&scene).iter().for_each(|words| talk.note(words));
    let clip = match &options.clip {
        Some(wanted) => Some(find_clip(&scene, wanted)?),
        None => (!scene.clips.is_empty()).then_some(0),
    };
    recipe.solve(&scene, &Played { clips: clip.as_slice(), base: options.base, looping: options.looping }, talk)?;
    let play = Play { clip: options.clip.as_deref(), base: options.base, looping: options.looping, backend: None };
    let frames = Frames::asked(options.gpu, talk)?;
    let sitting = Sitting::new(&scene, document.as_ref(), &recipe, Play { backend: frames.backend(), ..play }, talk)?;
    drop(document);

    let stage = &sitting.stage;
    let kind = kind(options, storage, stage)?;
    let film = film_of(options, kind, stage)?;
    let side = if kind == Kind::Sheet { CELL_SIDE } else { STILL_SIDE };
    let size = options.size.map_or_else(|| square(side), Ok)?;
    if kind == Kind::Sheet && film.times.len() as u64 * u64::from(size.width()) > u64::from(MAX_SIDE) {
        return Err(Fault::Usage(format!(
            "a contact sheet of {} pictures, each {} pixels wide, is wider than {MAX_SIDE} pixels; give fewer --frames \
             or a smaller --size",
            film.times.len(),
            size.width()
        )));
    }
    let shot = Shot {
        ghost: options.ghost,
        heat: options.heat.clone(),
        anatomy: options.anatomy,
        trajectories: options.trajectories.unwrap_or(0) as usize,
        skeleton: options.skeleton,
        muscles: options.muscles,
        wire: options.wire,
        transparent: options.transparent,
        ..Shot::plain(size, options.view)
    };
    let artist = sitting.artist(shot, &film.times)?;
    if stage.has_effects() {
        talk.note(&format!("effects move the skin by up to {:.1} % of its size", 100.0 * artist.farthest()));
    }

    if let Some(folder) = &options.buffers {
        let folder = BufferFolder::open(folder, options.force)?;
        let progress = Progress::new(talk, "buffers", film.times.len());
        let mut index = 0;
        let see = |time| Seen::new(&artist, &stage.moment(time));
        in_order(&film.times, see, |seen| {
            folder.write(&artist, index, &seen)?;
            index += 1;
            progress.advance();
            Ok::<(), Fault>(())
        })?;
    }
    let Some(destination) = destination else {
        frames.tell(talk);
        return Ok(());
    };
    match (kind, storage) {
        (Kind::Film, Storage::Film(format)) => {
            sitting.film(&artist, &film, format, options.compare, &destination, talk)?;
        }
        (Kind::Sheet, _) => sitting.sheet(&artist, &film.times, &destination, talk)?,
        _ => {
            let moment = film.times.first().copied().unwrap_or(0.0);
            write_still(&destination, &sitting.panel(&artist, moment, options.compare)?)?;
        }
    }
    frames.tell(talk);
    if destination != Destination::Stdout {
        talk.note(&format!("wrote {destination}"));
    }
    Ok(())
}

/// A character that sits for pictures: with its clip, its recipe and what it wears.
pub struct Sitting<'a> {
    pub stage: Scenery<'a>,
    wardrobe: Wardrobe,
    /// What the result is called beside the base.
    result: String,
}

impl<'a> Sitting<'a> {
    /// `document` is the file the scene lies in, for its materials.
    pub fn new(
        scene: &'a Scene,
        document: Option<&Document>,
        recipe: &LoadedRecipe,
        play: Play<'_>,
        talk: &Talk,
    ) -> Result<Self, Fault> {
        let stage = Scenery::new(scene, recipe, play)?;
        let (wardrobe, warnings) = Wardrobe::open(scene, document);
        talk.warnings(&warnings);
        let result = if recipe.file.is_empty() { "result" } else { last_part(&recipe.file) };
        Ok(Self { stage, wardrobe, result: result.to_owned() })
    }

    /// Someone who draws it, at these moments or others.
    pub fn artist(&self, shot: Shot, drawn: &[f64]) -> Result<Artist<'_>, Fault> {
        Artist::new(&self.stage, &self.wardrobe, shot, drawn)
    }

    /// Draws and writes a film; with `compare` the base is beside the result.
    pub fn film(
        &self,
        artist: &Artist<'_>,
        film: &Film,
        format: FilmFormat,
        compare: bool,
        destination: &Destination,
        talk: &Talk,
    ) -> Result<(), Fault> {
        let progress = Progress::new(talk, "drawing", film.times.len());
        film::write(destination, format, film, |time| self.panel(artist, time, compare), &progress)
    }

    /// Draws and writes a contact sheet: moments in columns, the base over the result.
    pub fn sheet(
        &self,
        artist: &Artist<'_>,
        times: &[f64],
        destination: &Destination,
        talk: &Talk,
    ) -> Result<(), Fault> {
        let progress = Progress::new(talk, "drawing", times.len());
        let (mut base, mut result) = (Vec::new(), Vec::new());
        let draw = |time| {
            let moment = self.stage.moment(time);
            let base = self.stage.has_effects().then(|| artist.picture(&moment, Side::Base));
            Ok((base, artist.picture(&moment, Side::Result)))
        };
        in_order(times, draw, |(without, with)| {
            base.extend(without);
            result.push(with);
            progress.advance();
            Ok::<(), Fault>(())
        })?;
        let columns: Vec<_> = times.iter().map(|time| format!("{time:.2} s")).collect();
        let title = format!("{} {}", last_part(&self.stage.scene.name), self.stage.clip);
        let (rows, cells) = match base.is_empty() {
            true => (Vec::new(), vec![result]),
            false => (vec!["base".to_owned(), self.result.clone()], vec![base, result]),
        };
        let sheet = Sheet { title: title.trim_end(), columns: &columns, rows: &rows, cells: &cells };
        write_still(destination, &sheet.compose().map_err(|error| Fault::Usage(error.to_string()))?)
    }

    /// One moment: the result, or both sides beside one another.
    fn panel(&self, artist: &Artist<'_>, time: f64, compare: bool) -> Result<Image, Fault> {
        let moment = self.stage.moment(time);
        let result = artist.picture(&moment, Side::Result);
        if !compare {
            return Ok(result);
        }
        let columns = ["base".to_owned(), self.result.clone()];
        let cells = [vec![artist.picture(&moment, Side::Base), result]];
        let sheet = Sheet { title: "", columns: &columns, rows: &[], cells: &cells };
        sheet.compose().map_err(|error| Fault::Usage(error.to_string()))
    }
}

/// A size with equal sides.
pub fn square(side: u32) -> Result<Size, Fault> {
    Size::new(side, side).ok_or_else(|| Fault::Usage(format!("pictures of {side} pixels cannot be drawn")))
}

fn write_still(destination: &Destination, image: &Image) -> Result<(), Fault> {
    destination.write(|out| -> Result<(), Stopped> {
        Ok(write_png(out, image).map_err(|error| Fault::in_file(destination, error))?)
    })
}

/// A file's name without its folders.
fn last_part(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

fn storage(path: &Path, kind: Option<Kind>) -> Result<Storage, Fault> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let format = match ending.as_deref() {
        None if path == Path::new("-") => "png",
        Some(ending) => ending,
        None => "",
    };
    match (format, kind) {
        ("png", Some(Kind::Film)) | ("apng", None | Some(Kind::Film)) => Ok(Storage::Film(FilmFormat::Apng)),
        ("gif", None | Some(Kind::Film)) => Ok(Storage::Film(FilmFormat::Gif)),
        ("mp4", None | Some(Kind::Film)) => Ok(Storage::Film(FilmFormat::Mp4)),
        ("png", _) => Ok(Storage::Png),
        ("apng" | "gif" | "mp4", _) => Err(Fault::Usage(format!(
            "{}: stills and contact sheets are PNG files; use the extension .png",
            path.display()
        ))),
        _ => Err(Fault::Usage(format!("{}: unknown file extension; use .png, .apng, .gif or .mp4", path.display()))),
    }
}

fn kind(options: &RenderArgs, storage: Storage, stage: &Scenery<'_>) -> Result<Kind, Fault> {
    let kind = match (options.kind, storage) {
        (Some(kind), _) => kind,
        (None, Storage::Film(_)) => Kind::Film,
        (None, Storage::Png) if options.time.is_some() || stage.span().length <= 0.0 => Kind::Still,
        (None, Storage::Png) => Kind::Sheet,
    };
    if options.time.is_some() && kind != Kind::Still {
        return Err(Fault::Usage("--time is for stills; contact sheets and films show the whole clip".into()));
    }
    Ok(kind)
}

/// The moments to draw.
fn film_of(options: &RenderArgs, kind: Kind, stage: &Scenery<'_>) -> Result<Film, Fault> {
    let span = stage.span();
    let rate: FrameRate = options.fps;
    match kind {
        Kind::Still => Ok(Film { times: vec![options.time.unwrap_or(span.start)], rate, whole: true }),
        Kind::Sheet => {
            let columns = options.frames.unwrap_or(COLUMNS) as usize;
            Ok(Film { times: span.spread(columns), rate, whole: true })
        }
        Kind::Film => {
            let most = usize::try_from(MOST_FRAMES).unwrap_or(usize::MAX);
            let film = span.film(rate, options.frames.map_or(most, |n| n as usize));
            if !film.whole && options.frames.is_none() {
                return Err(Fault::Usage(format!(
                    "the film would have more than {MOST_FRAMES} frames; draw the first N with --frames N, or lower --fps"
                )));
            }
            Ok(film)
        }
    }
}
