//! glTF in, and what Sinew noted in it taken off again.

use crate::characters::{baked, documents, play, tube};
use crate::mutation::change;
use arbitrary::Unstructured;
use sinew::recipe::RecipeFile;
use sinew_gltf::{Asset, Document, RawAsset, strip};

fn lively() -> RecipeFile {
    RecipeFile::parse(sinew::presets::get("lively").expect("a preset")).expect("a recipe")
}

/// Any bytes, as a file.
pub fn import(bytes: &[u8]) {
    if let Ok(asset) = Asset::from_slice("fuzz", bytes) {
        play(&asset, &lively());
        written_is_read(&asset);
    }
}

pub fn import_seeds() -> Vec<Vec<u8>> {
    documents().iter().map(|document| document.to_glb().expect("written")).collect()
}

/// A sound file, changed by its structure.
pub fn import_changed(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let Ok(mut document) = bytes.choose(documents()).cloned() else { return };
    if change(&mut document, None, &mut bytes).is_err() {
        return;
    }
    // Written down first: it is files that must be read again, not whatever a program holds in memory.
    if let Ok(bytes) = document.to_glb() {
        import(&bytes);
    }
}

/// What was read can be written, and is then read as the same.
fn written_is_read(asset: &Asset) {
    let Some(Ok(bytes)) = asset.document.as_ref().map(Document::to_glb) else { return };
    let again = Asset::from_slice("again", &bytes).expect("own output is read");
    assert_eq!(asset.raw.bones.len(), again.raw.bones.len());
    assert_eq!(asset.rig.vertex_count(), again.rig.vertex_count());
}

/// A baked file whose note alone was changed: it gives back the original or is refused. Where other things changed it
/// gives back something that can be read, if the whole could.
pub fn strip_changed(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let mut document = baked().clone();
    let mut note_alone = bytes.arbitrary().unwrap_or(true);
    let root = note_alone.then_some("/asset/extras/sinew");
    if change(&mut document, root, &mut bytes).is_err() {
        return;
    }
    // A note of version 1 is not protected against itself.
    note_alone &= document.json.pointer("/asset/extras/sinew/check").is_some();
    let reads =
        |document: &Document| RawAsset::from_document("fuzz", document.clone()).and_then(RawAsset::check).is_ok();
    let was_read = reads(&document);
    let before = document.clone();
    match strip(&mut document) {
        Ok(true) if note_alone => {
            let original = tube().document.as_ref().expect("in a file");
            assert_eq!(document.json, original.json, "another document came back");
            assert_eq!(document.buffers, original.buffers, "other bytes came back");
        }
        Ok(true) => assert!(reads(&document) || !was_read, "cannot be read any more"),
        Ok(false) | Err(_) => assert!(before.json == document.json && before.buffers == document.buffers),
    }
}
