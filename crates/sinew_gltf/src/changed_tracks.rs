//! Tracks of an animation replaced: channels that differ get samplers of their own, properties that had none get channels.
//!
//! Oracle: read again, the animation plays the clip it was given, and channels that did not differ keep their samplers
//! (`tests/changed_tracks.rs`).

use crate::closing::channels;
use crate::document::Document;
use crate::edit::Edit;
use crate::error::WriteError;
use crate::export::write_sampler;
use serde_json::json;
use sinew::clip::Track;
use sinew::{Clip, Warning};

impl Document {
    /// Replaces those tracks of an animation, which was read as `before`, that differ in `after`. After an error nothing is
    /// changed.
    pub fn replace_tracks(
        &mut self,
        animation: usize,
        before: &Clip,
        after: &Clip,
    ) -> Result<Vec<Warning>, WriteError> {
        let mut changed = self.clone();
        let warnings = changed.pack()?;
        let mut edit = Edit::begin(&mut changed)?;
        let known = channels(edit.json(), animation)?;
        let at = format!("/animations/{animation}");
        for track in &after.tracks {
            let was = before.tracks.iter().find(|other| other.node == track.node);
            for path in ["translation", "rotation", "scale", "weights"] {
                if was.is_some_and(|was| is_same(was, track, path)) {
                    continue;
                }
                let Some(sampler) = write_sampler(&mut edit, &at, track, path)? else { continue };
                match known.iter().find(|(_, node, known)| *node == track.node && known == path) {
                    Some((channel, ..)) => edit.set(&format!("{at}/channels/{channel}/sampler"), sampler.into())?,
                    None => {
                        let target = json!({"node": track.node, "path": path});
                        edit.push(&format!("{at}/channels"), json!({"sampler": sampler, "target": target}))?;
                    }
                }
            }
        }
        edit.finish_unnoted()?;
        *self = changed;
        Ok(warnings)
    }
}

fn is_same(a: &Track, b: &Track, path: &str) -> bool {
    match path {
        "translation" => a.translation == b.translation,
        "rotation" => a.rotation == b.rotation,
        "scale" => a.scale == b.scale,
        _ => a.morph == b.morph,
    }
}
