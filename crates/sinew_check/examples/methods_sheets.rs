//! A sheet of characters per method, linear blending above and the method below: `cargo xtask methods-sheets`.
//!
//!     methods_sheets FOLDER [NAMES] [METHODS] [SIDE]    parts of names of characters and of methods, with commas between;
//!                                                       pixels of a picture
//!
//! Each pair is drawn at the moment, of those looked at, where the method takes the skin farthest from linear blending: what
//! it does best, and worst. With all characters and methods a page that shows the sheets is written beside them.

#![allow(clippy::print_stdout, reason = "a program that tells what it finds")]

use glam::{DVec3, Vec3};
use sinew::bind::{BindOptions, Method, bind_skin};
use sinew::{Recipe, RecipeFile, Rig, Stage, Workspace};
use sinew_gltf::RawAsset;
use sinew_render::{Antialias, Framing, FramingLens, Image, Look, Mesh, Scene, Sheet, Size, View, draw, encode};
use sinew_testkit::assets::folder;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// By name: the recipe, and how the skin is bound where not by the artist.
const METHODS: [(&str, &str, Option<Method>); 11] = [
    ("volume", "[[correction]]\ntype = 'volume'", None),
    (
        "volume both muscle, fold-over",
        "[[correction]]\ntype = 'volume'\nscope = 'both'\nshape = 'muscle'\n[[correction]]\ntype = 'fold-over'",
        None,
    ),
    ("fold-over", "[[correction]]\ntype = 'fold-over'", None),
    ("fold-over-free", "base = 'fold-over-free'", None),
    ("springs", "[[correction]]\ntype = 'springs'", None),
    ("springs with a history", "[[correction]]\ntype = 'springs'\nhistory = 'live'", None),
    ("incremental-rotation", "base = 'incremental-rotation'", None),
    ("scale-vectors", "base = 'scale-vectors'", None),
    ("muscles", "[[correction]]\ntype = 'muscles'", None),
    ("heat weights", "", Some(Method::Heat)),
    ("distance weights", "", Some(Method::DISTANCE)),
];
/// Characters that anyone may show: CC0.
const CHARACTERS: [(&str, &str); 8] = [
    ("human", "MakeHuman_skirt.glb"),
    ("barbarian", "KayKit_Barbarian.glb"),
    ("knight", "Quaternius_knight/KnightCharacter.gltf"),
    ("frog", "Quaternius_Frog.glb"),
    ("rat", "Quaternius_Rat.glb"),
    ("cow", "Quaternius_farm/Cow.gltf"),
    ("apatosaurus", "Quaternius_Apatosaurus.glb"),
    ("velociraptor", "Quaternius_Velociraptor.glb"),
];
/// Clips and frames of each that are looked at.
const CLIPS: usize = 4;
const FRAMES: usize = 10;
/// Share of the skin that a move is told by: a spike of a few vertices shows, but a single one does not decide.
const FARTHEST: f64 = 0.98;
const SIDE: u32 = 112;
/// Above the sheets.
const PAGE: &str = "\
# What every method does to eight characters

`cargo xtask methods-sheets` draws these sheets and writes this page; what is good and what is not is said in the
[gallery](../README.md). Linear blending is above, the method below, at the moment where it takes the skin farthest from linear
blending; the figure is how far, of the size. Characters: human by MakeHuman (Data Collection AB, Joel Palmius, Jonas Hauquier),
barbarian by Kay Lousberg, all others by Quaternius; all CC0.
";
/// Linear RGBA.
const SKIN: [f32; 4] = [0.42, 0.55, 0.58, 1.0];

fn rig_of(asset: &RawAsset, method: Option<Method>) -> Result<Arc<Rig>, Box<dyn Error>> {
    let mut raw = asset.raw.clone();
    for skin in 0..if method.is_some() { raw.skins.len() } else { 0 } {
        bind_skin(&mut raw, skin, &BindOptions { method: method.unwrap_or(Method::Heat), influences: 4 })?;
    }
    Ok(Arc::new(Rig::build(&raw)?.0.watching(&asset.clips)))
}

/// A frame in world space.
struct Seen {
    points: Vec<DVec3>,
    normals: Vec<Vec3>,
}

impl Seen {
    fn of(rig: &Rig, workspace: &Workspace) -> Self {
        let mesh = workspace.mesh();
        let character = |v: usize| rig.character_of_point(rig.point(v)).unwrap_or(0);
        let points = (0..rig.vertex_count()).map(|v| mesh.world_position(character(v), v)).collect();
        Self { points, normals: mesh.normals.clone() }
    }

    fn apart(&self, other: &Self) -> f64 {
        let mut moves: Vec<f64> = self.points.iter().zip(&other.points).map(|(a, b)| a.distance(*b)).collect();
        let place = (FARTHEST * (moves.len().max(1) - 1) as f64) as usize;
        if moves.is_empty() { 0.0 } else { *moves.select_nth_unstable_by(place, f64::total_cmp).1 }
    }
}

fn drawn(rig: &Rig, seen: &Seen, framing: &Framing, side: Size) -> Image {
    let centre = seen.points.iter().sum::<DVec3>() / seen.points.len().max(1) as f64;
    let positions: Vec<Vec3> = seen.points.iter().map(|p| (*p - centre).as_vec3()).collect();
    let mut mesh = Mesh::new(&positions, &seen.normals, rig.triangles());
    mesh.transform = glam::DAffine3::from_translation(centre);
    mesh.material.base_color = SKIN;
    let scene = Scene { meshes: vec![mesh], ..Scene::default() };
    draw(&scene, &framing.camera(), side, Antialias::Eight, &Look::default())
}

/// The pair of a character, and how far the skin went, of the size.
fn pair(asset: &RawAsset, text: &str, bound: Option<Method>, side: Size) -> Result<([Image; 2], f64), Box<dyn Error>> {
    let recipe = RecipeFile::parse(&format!("version = 1\n{text}\n"))?.recipe().clone();
    let rigs = [rig_of(asset, None)?, rig_of(asset, bound)?];
    let stages = [Stage::new(&rigs[0], &Recipe::default())?, Stage::new(&rigs[1], &recipe)?];
    let size = rigs[0].characters().iter().map(|character| character.size).fold(0.0, f64::max);
    let mut workspace = Workspace::default();
    let mut best: Option<(f64, [Seen; 2])> = None;
    let clips: Vec<_> = asset.clips.iter().filter(|clip| clip.span().is_some_and(|(from, to)| to > from)).collect();
    let count = clips.len().min(CLIPS);
    for clip in (0..count).map(|k| clips[k * clips.len() / count]) {
        let (start, end) = clip.span().unwrap_or_default();
        let playing = [&stages[0], &stages[1]].map(|stage| stage.motion(clip, &Default::default()));
        let [base, result] = playing;
        let (base, result) = (base?, result?);
        for frame in 0..FRAMES {
            let time = start + (end - start) * (frame as f64 + 0.5) / FRAMES as f64;
            base.frame(time, &mut workspace);
            let before = Seen::of(&rigs[0], &workspace);
            result.frame(time, &mut workspace);
            let after = Seen::of(&rigs[1], &workspace);
            let apart = before.apart(&after);
            if best.as_ref().is_none_or(|best| apart > best.0) {
                best = Some((apart, [before, after]));
            }
        }
    }
    let (apart, seen) = best.ok_or("no clip moves")?;
    let mut framing = Framing::new(View::default(), FramingLens::default(), side);
    seen[0].points.iter().for_each(|&p| framing.include(p));
    let [base, result] = [0, 1].map(|k| drawn(&rigs[k], &seen[k], &framing, side));
    Ok(([base, result], apart / size))
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let out = Path::new(args.first().ok_or("name a folder to write to")?);
    let word = |index: usize| args.get(index).map_or("", String::as_str);
    let among = |words: &str, name: &str| words.split(',').any(|word| name.contains(word));
    let side = word(3).parse().unwrap_or(SIDE);
    let side = Size::new(side, side).ok_or("a picture needs pixels")?;
    let folder = folder().ok_or("SINEW_ASSETS must name the folder of characters")?;
    let mut assets = Vec::new();
    for (name, file) in CHARACTERS.iter().filter(|(name, _)| among(word(1), name)) {
        assets.push(((*name).to_owned(), RawAsset::open(folder.join(file))?));
    }
    std::fs::create_dir_all(out)?;
    let mut page = PAGE.to_owned();
    for (method, text, bound) in METHODS.iter().filter(|method| among(word(2), method.0)) {
        let (mut columns, mut cells) = (Vec::new(), vec![Vec::new(), Vec::new()]);
        for (name, asset) in &assets {
            let ([base, result], apart) =
                pair(asset, text, *bound, side).map_err(|error| format!("{method}, {name}: {error}"))?;
            println!("{method}, {name}: {:.1} % of the size", 100.0 * apart);
            columns.push(format!("{name} {:.1} %", 100.0 * apart));
            cells[0].push(base);
            cells[1].push(result);
        }
        let rows =
            [if bound.is_some() { "the artist's weights" } else { "linear blending" }.to_owned(), (*method).to_owned()];
        let sheet = Sheet { title: "", columns: &columns, rows: &rows, cells: &cells }.compose()?;
        let file = format!("methods-{}.png", method.replace([' ', ','], "-").replace("--", "-"));
        page += &format!("\n**{method}**\n\n![]({file})\n");
        let file = std::fs::File::create(out.join(file))?;
        encode::write_png(std::io::BufWriter::new(file), &sheet)?;
    }
    if word(1).is_empty() && word(2).is_empty() {
        std::fs::write(out.join("README.md"), page)?;
    }
    Ok(())
}
