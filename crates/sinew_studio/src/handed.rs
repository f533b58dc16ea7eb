//! Files that were handed over without a place on a disk: dropped into a browser's tab, or chosen there.
//!
//! What a .glTF keeps in files beside it is looked for by name among what was handed over with it, and put into the text
//! itself, so that the character is one file from then on.

use crate::character::{Character, Source};
use crate::document::{ChangeError, Document};
use serde_json::Value;
use sinew::RecipeFile;
use sinew_gltf::map_file::MapFile;
use std::path::Path;
use std::sync::Arc;

/// A file's name and what is in it.
pub type File = (String, Vec<u8>);

/// Extensions of characters.
pub const CHARACTERS: [&str; 3] = ["glb", "gltf", "vrm"];

/// Archives replaced by what is in them.
pub fn unpacked(files: Vec<File>) -> Vec<File> {
    let open = |(name, bytes): File| {
        if has_extension(&name, &["zip"]) { crate::stored_zip::read(&bytes) } else { vec![(name, bytes)] }
    };
    files.into_iter().flat_map(open).collect()
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let own = Path::new(name).extension().map(|own| own.to_string_lossy().to_lowercase());
    own.is_some_and(|own| extensions.contains(&own.as_str()))
}

/// The character among some files, as one file; `None` where there is none.
pub fn character_of(files: &[File]) -> Option<Source> {
    // Clips made by hand lie in a file of their own, which comes with the recipe.
    let is_character = |name: &str| has_extension(name, &CHARACTERS) && !name.ends_with(crate::keep::TAKES);
    let (name, bytes) = files.iter().find(|(name, _)| is_character(name))?;
    let whole = if has_extension(name, &["gltf"]) { gathered(bytes, files) } else { None };
    let bytes = whole.unwrap_or_else(|| bytes.clone()).into();
    Some(Source::Memory { name: name.clone(), bytes })
}

/// The text with what lies beside it inside; `None` where nothing does. What is missing is left for the importer to tell.
fn gathered(text: &[u8], files: &[File]) -> Option<Vec<u8>> {
    let mut json: Value = serde_json::from_slice(text).ok()?;
    let mut found = false;
    for list in ["buffers", "images"] {
        for entry in json.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(Value::String(uri)) = entry.get_mut("uri") else { continue };
            let Some((_, bytes)) = files.iter().find(|(name, _)| is_called(uri, name)) else { continue };
            *uri = format!("data:application/octet-stream;base64,{}", base64(bytes));
            found = true;
        }
    }
    if found { serde_json::to_vec(&json).ok() } else { None }
}

/// Browsers tell no folders, so only the last part of a path is compared.
fn is_called(uri: &str, name: &str) -> bool {
    let last = uri.rsplit(['/', '\\']).next().unwrap_or(uri);
    let mut bytes = last.bytes();
    let mut decoded = Vec::with_capacity(last.len());
    while let Some(byte) = bytes.next() {
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        decoded.push(match byte {
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => (16 * high + low) as u8,
                _ => return false,
            },
            byte => byte,
        });
    }
    decoded == name.as_bytes()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |bits, &byte| (bits << 8) | u32::from(byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The recipe among some files, with those of its maps that are there.
pub fn recipe_of(character: Arc<Character>, files: &[File]) -> Option<Result<Document, String>> {
    let (name, bytes) = files.iter().find(|(name, _)| has_extension(name, &["toml"]))?;
    let opened = || {
        let told = |error: ChangeError| format!("{name}: {error}");
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{name}: is no text"))?;
        let recipe = RecipeFile::parse(text).map_err(|error| told(error.into()))?;
        let mut maps = Vec::new();
        for map in recipe.maps() {
            let found = files.iter().find(|(name, _)| is_called(map, name));
            let (_, bytes) =
                found.ok_or_else(|| format!("{name}: names the map {map}; drop it together with the recipe"))?;
            let text = std::str::from_utf8(bytes).map_err(|_| format!("{map}: is no text"))?;
            maps.push(MapFile::from_text(map, text).map_err(|error| told(error.into()))?);
        }
        let mut document = Document::with_recipe(character, text, &maps).map_err(told)?;
        if let Some((_, bytes)) = files.iter().find(|(name, _)| name.ends_with(".strokes.json")) {
            document.take_drawn(&String::from_utf8_lossy(bytes)).map_err(told)?;
        }
        Ok(document)
    };
    Some(opened())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_test_vectors_of_rfc_4648() {
        let vectors =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        vectors.iter().for_each(|(plain, coded)| assert_eq!(base64(plain.as_bytes()), *coded));
    }

    #[test]
    fn names_are_compared_decoded_and_without_folders() {
        assert!(is_called("textures/big%20fox.png", "big fox.png") && is_called("a.bin", "a.bin"));
        assert!(!is_called("a%2", "a%2") && !is_called("b.bin", "a.bin"));
    }
}
