//! From what the user named to a checked rig: the one place where characters are loaded.

use crate::args::Input;
use crate::fault::Fault;
use crate::limits;
use sinew::clip::Track;
pub use sinew_gltf::Asset as Scene;
use sinew_gltf::map_file::{self, MapFile};
use sinew_gltf::{Document, ImportError, RawAsset};
use sinew_zoo::ZooCharacter;

/// Loads a character as it is, with the clips of `animations` besides, and puts painted `maps` on it. Built-in characters
/// lie in no file unless they are given such clips.
pub fn load(input: &Input, maps: &[MapFile], animations: &[Input]) -> Result<Scene, Fault> {
    match input {
        Input::Zoo(spec) if animations.is_empty() => {
            let ZooCharacter { mut raw, clips, .. } = zoo(input, spec)?;
            let painted = maps.iter().try_for_each(|map| map_file::apply(&mut raw, map));
            painted.map_err(|error| Fault::in_file(input, error))?;
            Scene::from_raw(input.to_string(), raw, clips).map_err(refused)
        }
        _ => {
            let asset = RawAsset::from_document(input.to_string(), document(input)?).map_err(refused)?;
            checked(animated(asset, animations)?, maps)
        }
    }
}

/// `asset` with the clips of other files.
fn animated(asset: RawAsset, animations: &[Input]) -> Result<RawAsset, Fault> {
    if animations.is_empty() {
        return Ok(asset);
    }
    let other = |input: &Input| RawAsset::from_document(input.to_string(), document(input)?).map_err(refused);
    let others = animations.iter().map(other).collect::<Result<Vec<_>, Fault>>()?;
    asset.with_clips_of(&others).map_err(refused)
}

/// As [`load`], in its file, both as they were before Sinew added anything.
pub fn load_original(input: &Input, maps: &[MapFile], animations: &[Input]) -> Result<Scene, Fault> {
    let asset = RawAsset::from_original(input.to_string(), document(input)?).map_err(refused)?;
    checked(animated(asset, animations)?, maps)
}

/// As [`load`], with the file the character lies in, as it is.
pub fn load_to_change(input: &Input) -> Result<(Scene, Document), Fault> {
    let document = document(input)?;
    let asset = RawAsset::from_document(input.to_string(), document.clone()).map_err(refused)?;
    Ok((checked(asset, &[])?, document))
}

/// The file itself, for commands that write or compare files; a built-in character as it would be written.
pub fn document(input: &Input) -> Result<Document, Fault> {
    match input {
        Input::Path(path) => Document::open_within(path, limits::chosen()).map_err(refused),
        Input::Zoo(spec) => {
            let character = zoo(input, spec)?;
            sinew_gltf::export(&character.raw, &character.clips).map_err(|error| Fault::in_file(input, error))
        }
    }
}

fn zoo(input: &Input, spec: &str) -> Result<ZooCharacter, Fault> {
    sinew_zoo::build(spec).map_err(|error| Fault::Usage(format!("{input}: {error}")))
}

fn checked(asset: RawAsset, maps: &[MapFile]) -> Result<Scene, Fault> {
    let name = asset.name.clone();
    asset.paint(maps).map_err(|error| Fault::in_file(name, error))?.check().map_err(refused)
}

/// The message names the file.
fn refused(error: ImportError) -> Fault {
    Fault::Failed(error.to_string())
}

/// Files of animations alone hold bones and nothing that they move; others move by morph targets alone.
pub fn require_skin(scene: &Scene) -> Result<(), Fault> {
    if scene.rig.vertex_count() > 0 {
        return Ok(());
    }
    let tracks = || scene.clips.iter().flat_map(|clip| &clip.tracks);
    let is_node = |track: &Track| track.translation.is_some() || track.rotation.is_some() || track.scale.is_some();
    let words = if tracks().any(|track| track.morph.is_some()) && !tracks().any(is_node) {
        "moves by morph targets alone: effects add to the motion of bones and nodes, and none moves; animate its \
         bones, or take the clips of another file by --animations"
    } else {
        "contains no mesh that bones move, only bones and clips; give the file that has the character's meshes, and \
         this one as its --animations"
    };
    Err(Fault::in_file(&scene.name, words))
}
