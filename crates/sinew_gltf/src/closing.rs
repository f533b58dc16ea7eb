//! Closing keys that loops lack, in a document: the channels that need one get samplers of their own, with one key more.
//!
//! What is baked on top is noted together with them, so that [`strip`](crate::strip()) takes both off.

use crate::document::Document;
use crate::edit::Edit;
use crate::error::WriteError;
use crate::export::write_sampler;
use crate::view::View;
use serde_json::Value;
use sinew::clip::Track;
use sinew::{Clip, Warning};
use std::collections::HashSet;

impl Document {
    /// Replaces the keys of animations: those of each `before`, as it was read, by those of the clip beside it, where these are
    /// more. After an error nothing is changed.
    pub fn extend_clips(&mut self, clips: &[(usize, &Clip, &Clip)]) -> Result<Vec<Warning>, WriteError> {
        let mut changed = self.clone();
        let warnings = changed.pack()?;
        let mut edit = Edit::begin(&mut changed)?;
        for &(animation, before, after) in clips {
            for (channel, node, path) in channels(edit.json(), animation)? {
                let of = |clip: &Clip| clip.tracks.iter().find(|track| track.node == node).map(|t| keys(t, &path));
                if of(before) == of(after) {
                    continue;
                }
                let Some(track) = after.tracks.iter().find(|track| track.node == node) else { continue };
                let at = format!("/animations/{animation}");
                let Some(sampler) = write_sampler(&mut edit, &at, track, &path)? else { continue };
                edit.set(&format!("{at}/channels/{channel}/sampler"), sampler.into())?;
            }
        }
        edit.finish_unnoted()?;
        *self = changed;
        Ok(warnings)
    }
}

/// Number, node and path of each channel of an animation; of two for the same property the first, which is the one that is
/// read.
pub(crate) fn channels(json: &Value, animation: usize) -> Result<Vec<(usize, usize, String)>, WriteError> {
    let root = View::root(json);
    let view = root.entry("animations", animation)?;
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (number, channel) in view.list("channels")?.iter().enumerate() {
        let target = channel.need("target")?;
        let Some(node) = target.reference_at("node", "nodes")? else { continue };
        let path = target.need("path")?.text()?.to_owned();
        if seen.insert((node, path.clone())) {
            found.push((number, node, path));
        }
    }
    Ok(found)
}

/// Keys of a channel.
fn keys(track: &Track, path: &str) -> usize {
    match path {
        "translation" => track.translation.as_ref().map_or(0, |curve| curve.times().len()),
        "rotation" => track.rotation.as_ref().map_or(0, |curve| curve.times().len()),
        "scale" => track.scale.as_ref().map_or(0, |curve| curve.times().len()),
        "weights" => track.morph.as_ref().map_or(0, |curve| curve.times().len()),
        _ => 0,
    }
}
