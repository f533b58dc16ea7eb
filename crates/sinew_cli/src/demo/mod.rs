//! `sinew demo`: the main job on built-in characters. Each is baked with a preset that suits it; models, contact sheets,
//! films and a page that shows them side by side go into a new folder.

mod page;

use crate::args::Input;
use crate::bake::baked;
use crate::fault::Fault;
use crate::load::{Scene, load_original};
use crate::output::{Destination, to_new_folder};
use crate::played::find_clip;
use crate::recipe::{LoadedRecipe, Played};
use crate::render::{FilmFormat, Play, Shot, Sitting, Viewpoint, square};
use crate::talk::Talk;
use clap::Args;
use page::{Exhibit, page};
use sinew_export::{BakedFile, Options};
use sinew_gltf::Document;
use sinew_render::View;
use sinew_render::encode::FrameRate;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The folder to create.
    #[arg(long, short, value_name = "DIR", default_value = "sinew-demo")]
    pub out: PathBuf,

    /// Show this character alone; may be given several times [default: all].
    #[arg(long, value_name = "CHARACTER", value_parser = SHOWS.map(|show| show.character))]
    pub only: Vec<String>,
}

/// What is shown.
struct Show {
    character: &'static str,
    clip: &'static str,
    preset: &'static str,
    view: View,
    about: &'static str,
}

const SHOWS: [Show; 7] = [
    Show {
        character: "calf",
        clip: "look",
        preset: "cartoon",
        view: View::ThreeQuarter,
        about: "The head follows late and overshoots; ears and muzzle trail behind it.",
    },
    Show {
        character: "bird",
        clip: "flap",
        preset: "cartoon",
        view: View::ThreeQuarter,
        about: "A single bone: everything that bends and stretches here comes from the effect.",
    },
    Show {
        character: "flower",
        clip: "sway",
        preset: "cartoon",
        view: View::ThreeQuarter,
        about: "Petals and leaves drag behind the stem, the blossom last of all.",
    },
    Show {
        character: "dancer",
        clip: "twirl",
        preset: "cloth-twirl",
        view: View::ThreeQuarter,
        about: "The skirt flies outward in the turn and comes after it; the body keeps its place.",
    },
    Show {
        character: "snail",
        clip: "peer",
        preset: "jelly",
        view: View::Angles { azimuth: 60_f64.to_radians(), elevation: 8_f64.to_radians() },
        about: "Eyes on stalks, late and never quite at rest.",
    },
    Show {
        character: "arm",
        clip: "wave",
        preset: "lively",
        view: View::ThreeQuarter,
        about: "The hand follows the wrist, and the fingers follow the hand.",
    },
    Show {
        character: "tube",
        clip: "wave",
        preset: "jelly",
        view: View::ThreeQuarter,
        about: "The simplest case: a tube with four bones, each on a spring.",
    },
];

/// Sides of films and of a sheet's pictures.
const FILM_SIDE: u32 = 512;
const SHEET_SIDE: u32 = 160;
/// Odd: clips that do something twice would show the same pictures twice.
const SHEET_COLUMNS: usize = 7;
/// Frames per second and seconds of a film.
const FILM_RATE: f64 = 25.0;
const FILM_SECS: f64 = 2.0;

pub fn run(options: &DemoArgs, talk: &Talk) -> Result<(), Fault> {
    let start = Instant::now();
    to_new_folder(&options.out, |folder| {
        let is_asked = |show: &&Show| options.only.is_empty() || options.only.iter().any(|name| name == show.character);
        let shows = SHOWS.iter().filter(is_asked);
        let exhibits = shows.map(|show| show.exhibit(folder, talk)).collect::<Result<Vec<_>, _>>()?;
        let page = page(&exhibits);
        Destination::new(&folder.join("index.html"), false).write(|out| out.write_all(page.as_bytes()))
    })?;
    let page = options.out.join("index.html");
    talk.note(&format!("open {} ({:.0} s)", page.display(), start.elapsed().as_secs_f64()));
    Ok(())
}

impl Show {
    fn scene(&self) -> Result<Scene, Fault> {
        load_original(&Input::Zoo(self.character.to_owned()), &[], &[])
    }

    /// The clip, to be drawn as it is baked.
    fn sitting<'a>(&self, scene: &'a Scene, recipe: &'a mut LoadedRecipe, talk: &Talk) -> Result<Sitting<'a>, Fault> {
        let clips = [find_clip(scene, self.clip)?];
        recipe.solve(scene, &Played { clips: &clips, ..Played::default() }, talk)?;
        Sitting::new(scene, None, recipe, Play { clip: Some(self.clip), ..Play::default() }, talk)
    }

    /// Bakes and draws one character into `folder`.
    fn exhibit(&self, folder: &Path, talk: &Talk) -> Result<Exhibit, Fault> {
        let Self { character, clip, preset, view, about } = self;
        let start = Instant::now();
        let mut recipe = LoadedRecipe::preset(preset)?;
        let scene = self.scene()?;
        talk.note(&format!("{} with {}", scene.name, recipe.file));
        let bytes = |document: &Document| document.to_glb().map_err(|error| Fault::in_file(&scene.name, error));
        let before = scene.document.as_ref().map(bytes).transpose()?.map_or(0, |file| file.len());
        let chosen = [find_clip(&scene, clip)?];
        let refuse = |failure| Fault::in_file(&scene.name, failure);
        let done = baked(&scene, &recipe, &chosen, &Options::default(), talk, refuse)?;
        let baked_secs = start.elapsed().as_secs_f64();
        let model = bytes(&done.document)?;
        let [model_name, film_name, sheet_name] = ["glb", "gif", "png"].map(|ending| format!("{character}.{ending}"));
        let file = |name: &str| Destination::new(&folder.join(name), false);
        file(&model_name).write(|out| -> io::Result<()> { out.write_all(&model) })?;

        let sitting = self.sitting(&scene, &mut recipe, talk)?;
        let span = sitting.stage.span();
        let shot = |side| Ok::<_, Fault>(Shot::plain(square(side)?, Viewpoint { view: *view, distance: None }));
        let rate = FrameRate::new(FILM_RATE).ok_or_else(|| Fault::Failed("the films have no rate".into()))?;
        let film = span.film(rate, (FILM_RATE * FILM_SECS) as usize);
        let artist = sitting.artist(shot(FILM_SIDE)?, &film.times)?;
        sitting.film(&artist, &film, FilmFormat::Gif, true, &file(&film_name), talk)?;
        let times = span.spread(SHEET_COLUMNS);
        let artist = sitting.artist(shot(SHEET_SIDE)?, &times)?;
        sitting.sheet(&artist, &times, &file(&sheet_name), talk)?;
        Ok(Exhibit {
            title: format!("{} “{clip}” with {preset}", capitalised(character)),
            about,
            command: format!("sinew bake zoo:{character} --clip {clip} --preset {preset} -o {model_name}"),
            film: film_name,
            sheet: sheet_name,
            model: model_name,
            facts: facts(&done, before, model.len(), baked_secs),
        })
    }
}

/// What the bake reports, in words.
fn facts(done: &BakedFile, before: usize, after: usize, secs: f64) -> Vec<(&'static str, String)> {
    let report = &done.report;
    let of_all =
        |share: &dyn Fn(&sinew_bake::report::GroupReport) -> f64| report.groups.iter().map(share).fold(0.0, f64::max);
    let moved = of_all(&|group| 100.0 * group.displacement.length / group.size);
    let mean = of_all(&|group| 100.0 * group.error.mean / group.size);
    let keys: usize = report.clips.iter().map(|clip| clip.keys).sum();
    let mut facts = vec![
        ("effects move the skin by", format!("up to {moved:.1} % of the character's size")),
        ("morph targets", report.most_targets().to_string()),
        ("weights", format!("{keys} keys for {} samples", report.frames)),
        ("error", format!("{:.3} % of the size at most, {mean:.4} % on average", 100.0 * report.largest_share())),
    ];
    if let Some(seam) = report.clips.iter().find_map(|clip| clip.seam) {
        facts.push(("loop seam", format!("{:.4} % of the size", 100.0 * seam.position)));
    }
    facts.push(("size of the file", format!("{} kB, without effects {} kB", after / 1000, before / 1000)));
    facts.push(("baked in", format!("{secs:.1} s")));
    facts
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;

    #[test]
    fn everything_shown_exists_and_every_character_is_shown_once() {
        let mut characters: Vec<_> = SHOWS.iter().map(|show| show.character).collect();
        characters.sort_unstable();
        let mut all: Vec<_> = sinew_zoo::names().iter().map(|entry| entry.name).collect();
        all.sort_unstable();
        assert_eq!(characters, all);
        for show in &SHOWS {
            let scene = load(&Input::Zoo(show.character.to_owned()), &[], &[]).expect("built in");
            let clip = &scene.clips[find_clip(&scene, show.clip).expect("its clip")];
            assert!(clip.span().is_some_and(|(start, end)| end - start <= FILM_SECS));
            let mut recipe = LoadedRecipe::preset(show.preset).expect("a preset");
            let sitting = show.sitting(&scene, &mut recipe, &Talk::new(true));
            assert!(sitting.is_ok(), "{} cannot be drawn with {}", show.character, show.preset);
        }
    }
}
