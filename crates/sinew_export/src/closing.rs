//! Loops that lack the key that closes them get it in the copy that is baked.

use crate::ExportError;
use sinew::{Motion, RecipeFile};
use sinew_gltf::Asset;

/// A loop that got its closing key.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedClip {
    /// The clip.
    pub name: String,
    /// How long after its last key that is, in seconds.
    pub seconds: f64,
}

/// The character with the closing keys that `clips` lack, and which these are; `None` where they lack none.
pub fn closed(
    asset: &Asset,
    recipe: &RecipeFile,
    clips: &[usize],
) -> Result<Option<(Asset, Vec<ClosedClip>)>, ExportError> {
    let mut found = Vec::new();
    for (index, clip) in clips.iter().filter_map(|&index| Some((index, asset.clips.get(index)?))) {
        // A clip that cannot be bound is refused by whoever plays it.
        let Ok(motion) = Motion::new(asset.rig.puppet(), clip, &recipe.motion(&clip.name), &[]) else { continue };
        if let Some((with_key, seconds)) = motion.closed(clip, asset.rig.skeleton()) {
            found.push((index, with_key, ClosedClip { name: clip.name.clone(), seconds }));
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut changed = asset.clone();
    let pairs: Vec<_> = found.iter().map(|(index, clip, _)| (*index, &asset.clips[*index], clip)).collect();
    if let Some(document) = &mut changed.document {
        let failed = |source| ExportError::Write { file: asset.name.clone(), source };
        let warnings = document.extend_clips(&pairs).map_err(failed)?;
        changed.warnings.extend(warnings);
    }
    let mut closed = Vec::with_capacity(found.len());
    for (index, clip, told) in found {
        changed.clips[index] = clip;
        closed.push(told);
    }
    Ok(Some((changed, closed)))
}
