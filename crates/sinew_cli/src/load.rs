//! From what the user named to a checked rig: the one place where characters are loaded.

use crate::args::Input;
use crate::fault::Fault;
use sinew::{Clip, RawRig, Rig, Warning};
use sinew_gltf::Document;
use sinew_gltf::map_file::{self, MapFile};
use std::sync::Arc;

/// A loaded character file.
pub struct Scene {
    /// What the user called it.
    pub name: String,
    /// As it came in.
    pub raw: RawRig,
    /// As it is evaluated.
    pub rig: Arc<Rig>,
    /// Its clips, in the file's order.
    pub clips: Vec<Clip>,
    /// What was repaired or looks wrong, from reading and from checking.
    pub warnings: Vec<Warning>,
}

/// The file itself, for commands that write or compare files; a built-in character as it would be written.
pub fn document(input: &Input) -> Result<(Document, Vec<Warning>), Fault> {
    match input {
        Input::Path(path) => sinew_gltf::open(path).map_err(|error| Fault::Failed(error.to_string())),
        Input::Zoo(spec) => {
            let character = zoo(input, spec)?;
            let document = sinew_gltf::export(&character.raw, &character.clips);
            Ok((document.map_err(|error| Fault::in_file(input, error))?, Vec::new()))
        }
    }
}

fn zoo(input: &Input, spec: &str) -> Result<sinew_zoo::ZooCharacter, Fault> {
    sinew_zoo::build(spec).map_err(|error| Fault::Usage(format!("{input}: {error}")))
}

/// As [`load`], with the file the character lies in, both as they were before Sinew added anything.
pub fn load_with_document(input: &Input, maps: &[MapFile]) -> Result<(Scene, Document), Fault> {
    let name = input.to_string();
    let (mut document, warnings) = document(input)?;
    sinew_gltf::strip(&mut document).map_err(|error| Fault::in_file(&name, error))?;
    let asset = sinew_gltf::interpret(&name, document, warnings).map_err(|error| Fault::Failed(error.to_string()))?;
    Ok((scene(name, asset.raw, asset.clips, asset.warnings, maps)?, asset.document))
}

/// As [`load`], with the file the character lies in, as it is.
pub fn load_to_change(input: &Input) -> Result<(Scene, Document), Fault> {
    let name = input.to_string();
    let (document, warnings) = document(input)?;
    let asset = sinew_gltf::interpret(&name, document, warnings).map_err(|error| Fault::Failed(error.to_string()))?;
    Ok((scene(name, asset.raw, asset.clips, asset.warnings, &[])?, asset.document))
}

/// As [`load`], with the file the character lies in, as it is; built-in characters lie in none.
pub fn load_as_it_is(input: &Input, maps: &[MapFile]) -> Result<(Scene, Option<Document>), Fault> {
    let name = input.to_string();
    match input {
        Input::Path(path) => {
            let asset = sinew_gltf::import(path).map_err(|error| Fault::Failed(error.to_string()))?;
            Ok((scene(name, asset.raw, asset.clips, asset.warnings, maps)?, Some(asset.document)))
        }
        Input::Zoo(spec) => {
            let character = zoo(input, spec)?;
            Ok((scene(name, character.raw, character.clips, Vec::new(), maps)?, None))
        }
    }
}

/// Loads a character and puts painted `maps` on it.
pub fn load(input: &Input, maps: &[MapFile]) -> Result<Scene, Fault> {
    Ok(load_as_it_is(input, maps)?.0)
}

fn scene(
    name: String,
    mut raw: RawRig,
    clips: Vec<Clip>,
    mut warnings: Vec<Warning>,
    maps: &[MapFile],
) -> Result<Scene, Fault> {
    for map in maps {
        map_file::apply(&mut raw, map).map_err(|error| Fault::in_file(&name, error))?;
    }
    let (rig, found) = Rig::build(&raw).map_err(|error| Fault::in_file(&name, error))?;
    warnings.extend(found);
    Ok(Scene { name, raw, rig: Arc::new(rig), clips, warnings })
}
