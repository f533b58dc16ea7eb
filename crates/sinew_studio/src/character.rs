//! What was opened: a character with its clips and its looks, and where it came from.

use glam::DAffine3;
use sinew::DeformedMesh;
use sinew_gltf::{Asset, Document as File, ImportError, Limits, RawAsset};
use sinew_render::Mesh;
use sinew_show::{Bones, Piece, Wardrobe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a character came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file on disk.
    Path(PathBuf),
    /// A built-in character.
    BuiltIn(String),
    /// A file that was handed over without a place on a disk.
    Memory {
        /// What it was called.
        name: String,
        /// All of it.
        bytes: Arc<[u8]>,
    },
}

impl Source {
    /// As the command takes it.
    pub fn argument(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::BuiltIn(name) => format!("zoo:{name}"),
            Self::Memory { name, .. } => name.clone(),
        }
    }

    /// What people call it: the file's name without its folder and extension.
    pub fn title(&self) -> String {
        let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        match self {
            Self::Path(path) => stem(path).unwrap_or_else(|| self.argument()),
            Self::BuiltIn(name) => name.clone(),
            Self::Memory { name, .. } => stem(Path::new(name)).unwrap_or_else(|| self.argument()),
        }
    }

    /// The folder that things are saved in unless people say otherwise.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => path.parent(),
            Self::BuiltIn(_) | Self::Memory { .. } => None,
        }
    }
}

/// A character as it was before Sinew added anything to it.
#[derive(Debug)]
pub struct Character {
    /// Where it came from.
    pub source: Source,
    /// Rig, clips, and the file they lie in.
    pub asset: Asset,
    /// What it wears.
    pub wardrobe: Wardrobe,
    /// What is drawn of it.
    pub pieces: Vec<Piece>,
    /// Its joints as they are drawn.
    pub bones: Bones,
    /// What was repaired or looks wrong.
    pub warnings: Vec<String>,
}

/// Why nothing was opened, as the command would say it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file is refused.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A built-in character that does not exist.
    #[error("zoo:{name}: {fault}")]
    BuiltIn {
        /// As it was asked for.
        name: String,
        /// What is wrong.
        fault: String,
    },
    /// There is nothing to see.
    #[error("{file}: contains no mesh that bones or nodes move; open the file that has the character's meshes")]
    NothingMoves {
        /// The file.
        file: String,
    },
}

impl Character {
    /// Reads a file with the buffers and pictures beside it.
    pub fn open(path: &Path) -> Result<Arc<Self>, OpenError> {
        Self::reopen(&Source::Path(path.to_owned()))
    }

    /// A built-in one, as it would be written to a file, so that it can be exported like any other.
    pub fn built_in(name: &str) -> Result<Arc<Self>, OpenError> {
        Self::reopen(&Source::BuiltIn(name.to_owned()))
    }

    /// Reads a file that lies in memory.
    pub fn from_slice(name: &str, bytes: &Arc<[u8]>) -> Result<Arc<Self>, OpenError> {
        Self::reopen(&Source::Memory { name: name.to_owned(), bytes: Arc::clone(bytes) })
    }

    /// Whatever lies at a source; [`crate::opening`] does the same step by step.
    pub fn reopen(source: &Source) -> Result<Arc<Self>, OpenError> {
        let asset = Self::checked(RawAsset::from_original(source.argument(), Self::read(source)?)?)?;
        let (wardrobe, worn) = Wardrobe::open(&asset, asset.document.as_ref());
        let worn: Vec<String> = worn.iter().map(ToString::to_string).collect();
        Ok(Self::dressed_in(source.clone(), asset, wardrobe, &worn))
    }

    /// The file that it lies in.
    pub(crate) fn read(source: &Source) -> Result<File, OpenError> {
        match source {
            Source::Path(path) => Ok(File::open_within(path, Limits::default())?),
            Source::BuiltIn(name) => {
                let refuse = |fault: String| OpenError::BuiltIn { name: name.clone(), fault };
                let made = sinew_zoo::build(name).map_err(|error| refuse(error.to_string()))?;
                sinew_gltf::export(&made.raw, &made.clips).map_err(|error| refuse(error.to_string()))
            }
            Source::Memory { name, bytes } => Ok(File::from_slice(name, bytes, None)?),
        }
    }

    /// Its rig.
    pub(crate) fn checked(raw: RawAsset) -> Result<Asset, OpenError> {
        let asset = raw.check()?;
        if asset.rig.triangles().is_empty() {
            return Err(OpenError::NothingMoves { file: asset.name });
        }
        Ok(asset)
    }

    /// With what it wears, and what there was to say about that.
    pub(crate) fn dressed_in(source: Source, asset: Asset, wardrobe: Wardrobe, worn: &[String]) -> Arc<Self> {
        let warnings = asset.warnings.iter().map(ToString::to_string).chain(worn.iter().cloned()).collect();
        let (pieces, bones) = (Piece::all(&asset.rig), Bones::new(&asset.rig));
        Arc::new(Self { source, asset, wardrobe, pieces, bones, warnings })
    }

    /// What is drawn of a frame: every piece with what it wears, in the space about its character's origin.
    pub fn dressed<'a>(&'a self, mesh: &'a DeformedMesh) -> impl Iterator<Item = (&'a Piece, Mesh<'a>)> {
        let parts = self.asset.rig.parts();
        self.pieces.iter().filter_map(move |piece| {
            let part = parts.iter().find(|part| part.node == piece.node)?;
            let garment = self.wardrobe.garment(piece.node, piece.primitive, part.primitives.get(piece.primitive)?);
            let (positions, normals) = (&mesh.positions[piece.vertices.clone()], &mesh.normals[piece.vertices.clone()]);
            let dressed = Mesh {
                uvs: garment.uvs,
                colors: garment.colors,
                material: garment.material,
                ..Mesh::new(positions, normals, &piece.triangles)
            };
            Some((piece, dressed))
        })
    }

    /// The same, each at its place in the world.
    pub fn placed<'a>(&'a self, mesh: &'a DeformedMesh) -> impl Iterator<Item = (&'a Piece, Mesh<'a>)> {
        self.dressed(mesh).map(|(piece, dressed)| {
            let transform = DAffine3::from_translation(mesh.origins[piece.character]);
            (piece, Mesh { transform, ..dressed })
        })
    }

    /// Size of the largest character in the file, which lengths on the screen go by.
    pub fn size(&self) -> f64 {
        self.asset.rig.characters().iter().map(|character| character.size).fold(0.0, f64::max)
    }
}
