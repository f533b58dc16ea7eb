//! From what the user named to a checked rig: the one place where characters are loaded.

use crate::args::Input;
use crate::fault::Fault;
use crate::limits;
pub use sinew_gltf::Asset as Scene;
use sinew_gltf::map_file::{self, MapFile};
use sinew_gltf::{Document, ImportError, RawAsset};
use sinew_zoo::ZooCharacter;

/// Loads a character as it is and puts painted `maps` on it. Built-in characters lie in no file.
pub fn load(input: &Input, maps: &[MapFile]) -> Result<Scene, Fault> {
    match input {
        Input::Path(path) => {
            let document = Document::open_within(path, limits::chosen()).map_err(refused)?;
            checked(RawAsset::from_document(input.to_string(), document).map_err(refused)?, maps)
        }
        Input::Zoo(spec) => {
            let ZooCharacter { mut raw, clips, .. } = zoo(input, spec)?;
            let painted = maps.iter().try_for_each(|map| map_file::apply(&mut raw, map));
            painted.map_err(|error| Fault::in_file(input, error))?;
            Scene::from_raw(input.to_string(), raw, clips).map_err(refused)
        }
    }
}

/// As [`load`], in its file, both as they were before Sinew added anything.
pub fn load_original(input: &Input, maps: &[MapFile]) -> Result<Scene, Fault> {
    checked(RawAsset::from_original(input.to_string(), document(input)?).map_err(refused)?, maps)
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

/// Files of animations alone hold bones and nothing that they move.
pub fn require_skin(scene: &Scene) -> Result<(), Fault> {
    match scene.rig.vertex_count() {
        0 => Err(Fault::in_file(
            &scene.name,
            "contains no mesh that bones move, only bones and clips; give the file that has the character's meshes",
        )),
        _ => Ok(()),
    }
}
