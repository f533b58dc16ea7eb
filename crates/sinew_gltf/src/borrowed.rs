//! Clips taken from other files: put on this character's bones ([`sinew::retarget`]) and into its document.
//!
//! They go to the end of the document. What is baked on top of them is noted together with them, so that
//! [`strip`](crate::strip()) takes both off.

use crate::asset::RawAsset;
use crate::document::Document;
use crate::edit::Edit;
use crate::error::{Fault, ImportError, Kind, WriteError};
use crate::export::write_clip;
use crate::vrm::humanoid;
use sinew::retarget::{Performer, Retargeted, retarget};
use sinew::{Clip, RawRig, Warning};
use std::path::Path;

impl Document {
    /// Appends `clips` as animations; after an error it is unchanged.
    pub fn add_clips(&mut self, clips: &[Clip]) -> Result<(), WriteError> {
        let mut changed = self.clone();
        let warnings = changed.pack()?;
        changed.warnings.extend(warnings);
        let mut edit = Edit::begin(&mut changed)?;
        clips.iter().try_for_each(|clip| write_clip(&mut edit, clip))?;
        edit.finish_unnoted()?;
        *self = changed;
        Ok(())
    }
}

impl RawAsset {
    /// This character with the clips of `others` as well, retargeted to its bones; what was matched, and what either
    /// side has alone, is among the warnings.
    pub fn with_clips_of(self, others: &[RawAsset]) -> Result<Self, ImportError> {
        let Self { name, raw, clips: own, mut document, .. } = self;
        let mut taken: Vec<String> = own.iter().map(|clip| clip.name.clone()).collect();
        let mut told = Vec::new();
        for other in others {
            let refuse =
                |fault: String, remedy| Err(Fault::new(Kind::Invalid, "its clips", fault, remedy).in_file(&other.name));
            if other.clips.is_empty() {
                return refuse("are to be taken, but it has none".into(), "give a file with animations");
            }
            let roles = [humanoid(&other.document.json), humanoid(&document.json)];
            let source = Performer { raw: &other.raw, roles: &roles[0] };
            let mut made = retarget(&source, &other.clips, &Performer { raw: &raw, roles: &roles[1] });
            made.clips.retain(|clip| !clip.tracks.is_empty());
            if made.clips.is_empty() {
                let fault = format!(
                    "move {}, of which {name} has none that would move; its joints are {}",
                    listed(&other.raw, &made.source_only),
                    listed(&raw, &made.target_only)
                );
                return refuse(fault, "give a file whose bones have the same names, but for prefixes");
            }
            for clip in &mut made.clips {
                clip.name = unused(&clip.name, &other.name, &taken);
                taken.push(clip.name.clone());
            }
            document.add_clips(&made.clips).map_err(|source| ImportError::Write { file: name.clone(), source })?;
            told.extend(account(&made, other, &raw));
        }
        let mut asset = Self::from_document(name, document)?;
        asset.warnings.extend(told);
        Ok(asset)
    }
}

/// A name that no other clip has.
fn unused(name: &str, file: &str, taken: &[String]) -> String {
    let is_taken = |name: &String| taken.contains(name);
    let stem = Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let mut tried =
        std::iter::once(if name.is_empty() { stem.clone() } else { name.to_owned() }).chain((1..).map(|n| match n {
            1 => format!("{name} ({stem})"),
            n => format!("{name} ({stem} {n})"),
        }));
    tried.find(|name| !is_taken(name)).unwrap_or_default()
}

/// What was done, and what either side has alone.
fn account(made: &Retargeted, other: &RawAsset, raw: &RawRig) -> Vec<Warning> {
    let mut message = format!("gave {}: {} bones matched", counted(made.clips.len(), "clip"), made.pairs.len());
    if (made.scale - 1.0).abs() > 1e-3 {
        message += &format!("; ways are scaled by {:.3}", made.scale);
    }
    if made.legs > 0 {
        message += &format!("; {} brought to the height of the source's", counted(made.legs, "foot"));
    }
    if made.turned {
        message += "; the two face different ways, which was undone";
    }
    let mut warnings = vec![Warning {
        code: "animations-taken",
        subject: other.name.clone(),
        message,
        remedy: "look at the result: clips of other characters may need a hand",
    }];
    if !made.source_only.is_empty() {
        warnings.push(Warning {
            code: "animation-bones-missing",
            subject: other.name.clone(),
            message: format!("moves {}, which this character has not", listed(&other.raw, &made.source_only)),
            remedy: "rename bones in one of the files if they are meant to match",
        });
    }
    if !made.target_only.is_empty() {
        warnings.push(Warning {
            code: "animation-bones-still",
            subject: other.name.clone(),
            message: format!("has no bone for {}; they keep still", listed(raw, &made.target_only)),
            remedy: "rename bones in one of the files if they are meant to match",
        });
    }
    warnings
}

fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "foot") => format!("{count} feet"),
        _ => format!("{count} {what}s"),
    }
}

/// Nodes by name, not too many of them.
fn listed(raw: &RawRig, nodes: &[usize]) -> String {
    const SHOWN: usize = 8;
    let name = |&node: &usize| format!("\"{}\"", raw.bones[node].name);
    let mut words = nodes.iter().take(SHOWN).map(name).collect::<Vec<_>>().join(", ");
    if nodes.is_empty() {
        words = "no bone".into();
    } else if nodes.len() > SHOWN {
        words += &format!(" and {} more", nodes.len() - SHOWN);
    }
    words
}
