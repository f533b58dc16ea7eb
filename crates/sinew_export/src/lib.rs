//! Effects into files: what a recipe adds to a character, written so that any engine or modelling tool plays it.
//!
//! ```no_run
//! use sinew::{RecipeFile, presets};
//! use sinew_gltf::Asset;
//!
//! let fox = Asset::open_original("fox.glb")?;
//! let lively = RecipeFile::parse(presets::get("lively").ok_or("no such preset")?)?;
//! let baked = sinew_export::bake(&fox, &lively, &sinew_export::Options::default())?;
//! println!("{} morph targets", baked.report.most_targets());
//! baked.document.save("fox-lively.glb")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | way out | what is written |
//! |---|---|
//! | [`bake`], [`bake_clips`] | the file itself with morph targets and curves of their weights |
//! | [`Sequence`] | one clip frame by frame: point caches (PC2, MDD) and OBJ |
//!
//! This is where `sinew_bake`, which knows no files, meets `sinew_gltf`, which knows no bake.

mod closing;
mod layer;
mod sequence;
mod size;

pub use closing::ClosedClip;
pub use sequence::Sequence;
pub use sinew_bake::{Options, Progress, Tolerance};
pub use sinew_gltf::{PackedBytes, Packing};
pub use size::{Oversize, SizePoint};

use sinew::recipe::StrengthOver;
use sinew::strength::{Finding, Solved, StrengthError, solve};
use sinew::{Backend, Clip, MotionSettings, RecipeFile};
use sinew_bake::report::Report;
use sinew_bake::{BakeClip, BakeFailure, Baked, Subject, bake_again};
use sinew_gltf::layer::{LayerReport, add};
use sinew_gltf::{Asset, Document, WriteError};
use size::Search;

/// A file with baked effects, not yet written.
#[derive(Clone, Debug)]
pub struct BakedFile {
    /// The file, with morph targets and their weights.
    pub document: Document,
    /// What was baked, and how well.
    pub report: Report,
    /// What was done to the file.
    pub added: LayerReport,
    /// Node and primitive of skins whose weights were repaired.
    pub repaired: Vec<(usize, usize)>,
    /// The gains found for the strengths that the recipe asks for.
    pub strength: Vec<Finding>,
    /// Loops that got the key that closes them.
    pub closed: Vec<ClosedClip>,
    /// What the bytes that were added are packed to.
    pub packed: Option<PackedBytes>,
    /// Tolerances that were tried to keep within the bytes allowed, and what came of them; empty where none are set.
    pub sizes: Vec<SizePoint>,
}

/// What the file is to be, and who makes its frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shipping<'a> {
    /// How what is added is packed.
    pub packing: Option<Packing>,
    /// Most bytes it may have. Where the tolerance asks for more, nothing is written, or, if the bake is to be as good as it
    /// can ([`Options::best_effort`]), the smallest tolerance that fits is looked for.
    pub max_bytes: Option<u64>,
    /// Who makes frames; `None` for the processor.
    pub backend: Option<&'a dyn Backend>,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The character lies in no file that something could be added to.
    #[error("{file}: was made in code and has no file; create one with `Asset::exported`")]
    NoFile {
        /// The character.
        file: String,
    },
    /// Its rig has the targets of an earlier bake already.
    #[error("{file}: has been baked before; read it with `Asset::open_original`, which leaves the bake out")]
    BakedBefore {
        /// The file.
        file: String,
    },
    /// A clip that does not exist.
    #[error("{file}: there is no clip {clip}; there are {clips}, counted from 0")]
    NoSuchClip {
        /// The file.
        file: String,
        /// The clip named.
        clip: usize,
        /// Clips there are.
        clips: usize,
    },
    /// No gain could be found for a strength.
    #[error("{file}: {source}")]
    Strength {
        /// The file.
        file: String,
        /// Why.
        source: StrengthError,
    },
    /// The effects could not be baked or played.
    #[error("{file}: {source}")]
    Bake {
        /// The file.
        file: String,
        /// Why.
        source: BakeFailure,
    },
    /// The file has more bytes than it may.
    #[error("{file}: {source}")]
    TooLarge {
        /// The file.
        file: String,
        /// What was tried.
        source: Box<Oversize>,
    },
    /// The file could not be changed or written.
    #[error("{file}: {source}")]
    Write {
        /// The file.
        file: String,
        /// Why.
        source: WriteError,
    },
}

/// Bakes all clips of a character into a copy of its file.
pub fn bake(asset: &Asset, recipe: &RecipeFile, options: &Options) -> Result<BakedFile, ExportError> {
    let all: Vec<usize> = (0..asset.clips.len()).collect();
    bake_clips(asset, recipe, &all, options, &|_| ())
}

/// Bakes some clips of a character into a copy of its file. `progress` is told of every frame evaluated, from any
/// thread.
pub fn bake_clips(
    asset: &Asset,
    recipe: &RecipeFile,
    clips: &[usize],
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<BakedFile, ExportError> {
    bake_solved(asset, recipe, clips, None, options, progress)
}

/// As [`bake_clips`], with gains that were found before for this recipe over the clips it measures strengths over.
pub fn bake_solved(
    asset: &Asset,
    recipe: &RecipeFile,
    clips: &[usize],
    gains: Option<Solved>,
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<BakedFile, ExportError> {
    bake_shipped(asset, recipe, clips, gains, options, &Shipping::default(), progress)
}

/// As [`bake_solved`], packed and within so many bytes.
pub fn bake_shipped(
    asset: &Asset,
    recipe: &RecipeFile,
    clips: &[usize],
    gains: Option<Solved>,
    options: &Options,
    shipping: &Shipping<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<BakedFile, ExportError> {
    let file = || asset.name.clone();
    let document = asset.document.as_ref().ok_or_else(|| ExportError::NoFile { file: file() })?;
    if document.has_layer() {
        return Err(ExportError::BakedBefore { file: file() });
    }
    let with_keys = closing::closed(asset, recipe, clips)?;
    let (asset, closed) = with_keys.as_ref().map_or((asset, &[][..]), |(asset, closed)| (asset, closed));
    let mut played = clips.iter().map(|&clip| bake_clip(asset, recipe, clip)).collect::<Result<Vec<_>, _>>()?;
    let solved = gains.map_or_else(|| solved(asset, recipe, &played), Ok)?;
    let places: Vec<usize> = clips.iter().enumerate().map(|(index, &clip)| place(recipe, index, clip)).collect();
    let first = places.first().copied().unwrap_or(0);
    let has_own_gains = recipe.recipe().has_own_gains();
    let subject = Subject { raw: &asset.raw, rig: &asset.rig, recipe: solved.recipe(first), backend: shipping.backend };
    if has_own_gains {
        let clips = played.iter_mut().zip(&places).skip(1);
        clips.for_each(|(clip, &place)| clip.recipe = Some(solved.recipe(place)));
    }
    let told = if has_own_gains { &places[..] } else { &[first] };
    let strength: Vec<Finding> = told.iter().flat_map(|&place| solved.findings_of(place)).cloned().collect();
    let mut search = Search::new(options, shipping.max_bytes);
    let made = |baked: Baked| {
        let (layer, mut report) = layer::morph_layer(asset, baked, clips, recipe.to_string());
        report.tolerance = options.tolerance;
        let mut document = asset.document.clone().ok_or_else(|| ExportError::NoFile { file: file() })?;
        document.packing = shipping.packing;
        let written = |source| ExportError::Write { file: file(), source };
        let added = add(&mut document, &layer).map_err(written)?;
        let packed = document.packed_bytes().map_err(written)?;
        let bytes = shipping.max_bytes.map(|_| document.glb_bytes()).transpose().map_err(written)?;
        let repaired = layer.repaired_skins.iter().map(|skin| (skin.node, skin.primitive)).collect();
        let (strength, closed) = (strength.clone(), closed.to_vec());
        Ok((BakedFile { document, report, added, repaired, strength, closed, packed, sizes: Vec::new() }, bytes))
    };
    let failed = |source| ExportError::Bake { file: file(), source };
    let tried =
        bake_again(subject, &played, options, progress, |baked| search.look(baked.map_err(failed).and_then(made)));
    tried.map_err(failed)?;
    search.found(&file())
}

/// The recipe with gains in place of strengths. Those of all clips are measured over all clips of the file, whichever are
/// played, so that each moves as it does beside the others.
fn solved(asset: &Asset, recipe: &RecipeFile, played: &[BakeClip<'_>]) -> Result<Solved, ExportError> {
    let clips: Vec<(&Clip, MotionSettings)> = match recipe.recipe().strength_over {
        StrengthOver::All | StrengthOver::Balanced => {
            asset.clips.iter().map(|clip| (clip, recipe.motion(&clip.name))).collect()
        }
        StrengthOver::Each => played.iter().map(|clip| (clip.clip, clip.settings.clone())).collect(),
    };
    let solved = solve(&asset.rig, recipe.recipe(), &clips);
    solved.map_err(|source| ExportError::Strength { file: asset.name.clone(), source })
}

/// The place of a clip among those that [`solved`] measures: `index` among those that are played, `clip` of the file.
fn place(recipe: &RecipeFile, index: usize, clip: usize) -> usize {
    match recipe.recipe().strength_over {
        StrengthOver::Each => index,
        StrengthOver::All | StrengthOver::Balanced => clip,
    }
}

/// A clip with how the recipe reads it.
fn bake_clip<'a>(asset: &'a Asset, recipe: &RecipeFile, clip: usize) -> Result<BakeClip<'a>, ExportError> {
    let clips = asset.clips.len();
    let found = asset.clips.get(clip).ok_or_else(|| ExportError::NoSuchClip { file: asset.name.clone(), clip, clips });
    found.map(|clip| BakeClip { clip, settings: recipe.motion(&clip.name), recipe: None })
}
