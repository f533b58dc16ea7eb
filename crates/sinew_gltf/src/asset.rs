//! The door in: a file as it was read, and as a character that has been checked.

use crate::document::Document;
use crate::error::ImportError;
use crate::export::export;
use crate::import;
use crate::limits::{Limits, RAISE, beyond};
use crate::map_file::{self, MapFile, MapFileError};
use crate::springs::spring_nodes;
use crate::strip::strip;
use crate::vrm::humanoid;
use sinew::{Clip, RawRig, Rig, Warning};
use std::path::Path;
use std::sync::Arc;

/// A character ready to be evaluated, and the file it lies in.
#[derive(Clone, Debug)]
pub struct Asset {
    /// What it is called in messages.
    pub name: String,
    /// As it came in.
    pub raw: RawRig,
    /// As it is evaluated; built from `raw`.
    pub rig: Arc<Rig>,
    /// One per animation, in the file's order.
    pub clips: Vec<Clip>,
    /// What was repaired or looks wrong, from reading and from checking.
    pub warnings: Vec<Warning>,
    /// The file as it was, for writing it later; characters made in code lie in none.
    pub document: Option<Document>,
}

impl Asset {
    /// Reads and checks the file at `path`, with the buffers it keeps beside it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImportError> {
        RawAsset::open(path)?.check()
    }

    /// As [`Self::open`], from bytes already in memory. `name` stands for the file in messages; a file that keeps
    /// buffers outside is refused.
    pub fn from_slice(name: &str, bytes: &[u8]) -> Result<Self, ImportError> {
        RawAsset::from_slice(name, bytes)?.check()
    }

    /// As [`Self::open`], without what Sinew has added to the file: what is to be baked, also a second time.
    pub fn open_original(path: impl AsRef<Path>) -> Result<Self, ImportError> {
        let path = path.as_ref();
        RawAsset::from_original(path.display().to_string(), Document::open(path)?)?.check()
    }

    /// A character made in code as a file would have it, which can be baked and written.
    pub fn exported(name: impl Into<String>, raw: &RawRig, clips: &[Clip]) -> Result<Self, ImportError> {
        let name = name.into();
        match export(raw, clips) {
            Ok(document) => RawAsset::from_document(name, document)?.check(),
            Err(source) => Err(ImportError::Write { file: name, source }),
        }
    }

    /// Checks a character made in code, to the bit as it is; it lies in no file.
    pub fn from_raw(name: impl Into<String>, raw: RawRig, clips: Vec<Clip>) -> Result<Self, ImportError> {
        Self::build(name.into(), raw, clips, Vec::new(), None)
    }

    fn build(
        name: String,
        raw: RawRig,
        clips: Vec<Clip>,
        mut warnings: Vec<Warning>,
        document: Option<Document>,
    ) -> Result<Self, ImportError> {
        match Rig::build(&raw) {
            Ok((rig, found)) => {
                warnings.extend(found);
                let limit = document.as_ref().map_or_else(Limits::default, |document| document.limits).crowd;
                let (characters, vertices) = (rig.characters().len() as u64, rig.vertex_count() as u64);
                if characters > 1 && characters.saturating_mul(vertices) > limit {
                    let fault = beyond(characters, &format!("characters of {vertices} vertices together"), limit);
                    let fault = format!("{fault} for their product");
                    return Err(ImportError::TooLarge { file: name, element: "the file".into(), fault, remedy: RAISE });
                }
                let json = document.as_ref().map(|document| &document.json);
                let (roles, sprung) = json.map(|json| (humanoid(json), spring_nodes(json))).unwrap_or_default();
                warnings.extend((!sprung.is_empty()).then(|| springs_kept(sprung.len())));
                let rig = Arc::new(rig.told(&roles, &sprung).watching(&clips));
                Ok(Self { name, raw, rig, clips, warnings, document })
            }
            Err(source) => Err(ImportError::Rig { file: name, source }),
        }
    }
}

fn springs_kept(count: usize) -> Warning {
    Warning {
        code: "springs-kept",
        subject: "the file".into(),
        message: format!(
            "has springs on {count} {}, which players swing by themselves; they are kept, and effects leave alone what \
             those move",
            if count == 1 { "bone" } else { "bones" }
        ),
        remedy: "remove the springs from the file if effects are to move those parts",
    }
}

/// What a file holds, before it is checked: to be changed, painted on, or compared.
#[derive(Clone, Debug)]
pub struct RawAsset {
    /// What it is called in messages.
    pub name: String,
    /// All nodes as bones (a bone's index is its glTF node index), all skins, and every mesh instance that is skinned
    /// or rides on something that moves.
    pub raw: RawRig,
    /// One per animation, in the file's order.
    pub clips: Vec<Clip>,
    /// What was repaired or looks wrong.
    pub warnings: Vec<Warning>,
    /// The file as it was, for writing it later.
    pub document: Document,
}

impl RawAsset {
    /// Reads the file at `path`, with the buffers it keeps beside it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImportError> {
        let path = path.as_ref();
        Self::from_document(path.display().to_string(), Document::open(path)?)
    }

    /// As [`Self::open`], from bytes already in memory. `name` stands for the file in messages; a file that keeps
    /// buffers outside is refused.
    pub fn from_slice(name: &str, bytes: &[u8]) -> Result<Self, ImportError> {
        Self::from_document(name, Document::from_slice(name, bytes, None)?)
    }

    /// Reads characters and clips out of a document, which may have been changed since it was opened. `name` stands
    /// for the file in messages.
    pub fn from_document(name: impl Into<String>, document: Document) -> Result<Self, ImportError> {
        let name = name.into();
        let mut warnings = document.warnings.clone();
        let (raw, clips) = import::read(&document, &mut warnings).map_err(|fault| fault.in_file(&name))?;
        Ok(Self { name, raw, clips, warnings, document })
    }

    /// As [`Self::from_document`], with all that Sinew has added to the document taken off first: what is to be baked.
    pub fn from_original(name: impl Into<String>, mut document: Document) -> Result<Self, ImportError> {
        let name = name.into();
        match strip(&mut document) {
            Ok(_) => Self::from_document(name, document),
            Err(source) => Err(ImportError::Write { file: name, source }),
        }
    }

    /// Puts painted maps on the meshes they were painted on.
    pub fn paint(mut self, maps: &[MapFile]) -> Result<Self, MapFileError> {
        maps.iter().try_for_each(|map| map_file::apply(&mut self.raw, map))?;
        Ok(self)
    }

    /// Checks what was read.
    pub fn check(self) -> Result<Asset, ImportError> {
        let Self { name, raw, clips, warnings, document } = self;
        Asset::build(name, raw, clips, warnings, Some(document))
    }
}
