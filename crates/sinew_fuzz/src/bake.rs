//! Recipes of random effects and corrections within their ranges, baked on a tiny rig.

use crate::characters::tube;
use crate::number;
use arbitrary::{Result, Unstructured};
use sinew::base::BASES;
use sinew::correct::CORRECTIONS;
use sinew::param::{ParamKind, ParamSpec};
use sinew::recipe::RecipeFile;
use sinew::registry::EFFECTS;
use sinew_bake::Options;
use sinew_gltf::Asset;
use std::fmt::Write;

/// A sound recipe bakes or is refused in words; a baked file is read, and gives back the original.
pub fn bake_random(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let Ok(text) = made(&mut bytes) else { return };
    // Parameters that exclude each other are refused.
    let Ok(recipe) = RecipeFile::parse(&text) else { return };
    let options = Options { fps: 8.0, best_effort: true, max_targets: Some(6), ..Options::default() };
    let Ok(baked) = sinew_export::bake_clips(tube(), &recipe, &[0], &options, &|_| ()) else { return };
    let file = baked.document.to_glb().expect("written");
    let again = Asset::from_slice("baked", &file).expect("own output is read");
    let mut document = again.document.expect("in a file");
    sinew_gltf::strip(&mut document).expect("stripped");
    let original = tube().document.as_ref().expect("in a file");
    assert_eq!(document.json, original.json, "{text}");
    assert_eq!(document.buffers, original.buffers, "{text}");
}

pub fn seeds() -> Vec<Vec<u8>> {
    (0..6u8).map(|n| (0..80u8).map(|k| k.wrapping_mul(2 * n + 1).wrapping_add(n)).collect()).collect()
}

/// The text of a recipe.
pub fn made(bytes: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::from("version = 1\n");
    if bytes.ratio(1u8, 3u8)? {
        let base = bytes.choose(BASES)?;
        let _ = writeln!(text, "base = \"{}\"", base.name);
    }
    if bytes.ratio(1u8, 4u8)? {
        let _ = writeln!(text, "strength = {}", number::between(bytes, 0.001, 0.3)?);
    }
    for _ in 0..bytes.int_in_range(0..=3)? {
        let effect = bytes.choose(EFFECTS)?;
        let _ = writeln!(text, "[[effect]]\ntype = \"{}\"", effect.name());
        values(effect.params(), &mut text, bytes)?;
    }
    for _ in 0..bytes.int_in_range(0..=1)? {
        let correction = bytes.choose(CORRECTIONS)?;
        let _ = writeln!(text, "[[correction]]\ntype = \"{}\"", correction.name);
        values(correction.params, &mut text, bytes)?;
    }
    Ok(text)
}

fn values(params: &[ParamSpec], text: &mut String, bytes: &mut Unstructured<'_>) -> Result<()> {
    for param in params {
        if !bytes.ratio(1u8, 2u8)? {
            continue;
        }
        let name = param.name;
        let _ = match param.kind {
            ParamKind::Number { min, max, .. } => {
                writeln!(text, "{name} = {:?}", number::between(bytes, min, max.min(1e6))?)
            }
            ParamKind::Switch { .. } => writeln!(text, "{name} = {}", bytes.arbitrary::<bool>()?),
            ParamKind::Choice { words } => writeln!(text, "{name} = \"{}\"", bytes.choose(words)?),
        };
    }
    Ok(())
}
